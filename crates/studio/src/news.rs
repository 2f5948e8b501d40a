//! What happens, told to who listens: files that change on the disk, checks that begin, decide and end.
//!
//! The disk is looked at only while somebody listens, so that a server nobody looks at does nothing.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use serde_json::{Value as Json, json};

use crate::{Studio, locked, models::kind_of};

/// So many events are kept for those who come back.
const KEPT: usize = 200;
/// So often the disk is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// A listener hears something so often, so that one who has gone is noticed.
const PING: Duration = Duration::from_secs(15);

/// What has happened.
#[derive(Debug, Default)]
pub(crate) struct ServerNews {
    log: Mutex<NewsLog>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct NewsLog {
    /// How many events there were.
    count: u64,
    /// The last of them with their numbers, which begin at one.
    kept: VecDeque<(u64, String)>,
    /// The files as they were, and when that was.
    files: Option<BTreeMap<String, FileStamp>>,
    looked: Option<Instant>,
}

/// What tells whether a file has changed.
type FileStamp = (u64, Option<SystemTime>);

impl ServerNews {
    /// Tells something that has happened.
    pub(crate) fn tell(&self, what: Json) {
        locked(&self.log).add(what);
        self.changed.notify_all();
    }
}

impl NewsLog {
    fn add(&mut self, mut what: Json) {
        what["schema"] = json!(1);
        self.count += 1;
        self.kept.push_back((self.count, what.to_string()));
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
    }

    /// The first event after one, with its number.
    fn after(&self, number: u64) -> Option<&(u64, String)> {
        self.kept.iter().find(|(known, _)| *known > number)
    }

    /// Whether events after one are not kept any more.
    fn has_lost(&self, number: u64) -> bool {
        self.kept.front().is_some_and(|(first, _)| number + 1 < *first)
    }

    /// Tells which files are not as they were.
    fn compare(&mut self, now: BTreeMap<String, FileStamp>) {
        if let Some(before) = &self.files {
            let differs = |path: &&String| before.get(*path) != now.get(*path);
            let mut paths: Vec<&String> = before.keys().chain(now.keys()).filter(differs).collect();
            paths.sort();
            paths.dedup();
            if !paths.is_empty() {
                let what = json!({ "event": "files-changed", "paths": paths });
                self.add(what);
            }
        }
        self.files = Some(now);
        self.looked = Some(Instant::now());
    }
}

impl Studio {
    /// What happens from now on, or after the event that somebody heard last, as a browser listens to it.
    pub(crate) fn listen(
        self: &Arc<Self>,
        last: Option<u64>,
    ) -> impl FnMut() -> Option<Vec<u8>> + Send + use<> {
        let studio = self.clone();
        studio.look_at_files();
        let now = locked(&studio.news.log).count;
        // A number of an earlier server says nothing.
        let mut heard = last.filter(|last| *last <= now).unwrap_or(now);
        let mut begun = false;
        let mut spoke = Instant::now();
        move || {
            if !begun {
                begun = true;
                return Some(b"retry: 1000\n: here\n\n".to_vec());
            }
            loop {
                let log = locked(&studio.news.log);
                if log.has_lost(heard) {
                    heard = log.count;
                    let line = json!({ "schema": 1, "event": "missed" });
                    return Some(format!("id: {heard}\ndata: {line}\n\n").into_bytes());
                }
                if let Some((number, line)) = log.after(heard) {
                    heard = *number;
                    spoke = Instant::now();
                    return Some(format!("id: {number}\ndata: {line}\n\n").into_bytes());
                }
                if spoke.elapsed() >= PING {
                    spoke = Instant::now();
                    return Some(b": still here\n\n".to_vec());
                }
                let waited = studio.news.changed.wait_timeout(log, LOOK);
                let (log, _) = waited.unwrap_or_else(PoisonError::into_inner);
                drop(log);
                studio.look_at_files();
            }
        }
    }

    /// Looks at the disk, unless somebody has just done so.
    fn look_at_files(&self) {
        let fresh = |log: &NewsLog| log.looked.is_some_and(|looked| looked.elapsed() < LOOK);
        if fresh(&locked(&self.news.log)) {
            return;
        }
        let entries = self.folder.list().into_iter().filter(|entry| kind_of(&entry.path).is_some());
        let now = entries.map(|entry| (entry.path, (entry.bytes, entry.modified))).collect();
        locked(&self.news.log).compare(now);
        self.news.changed.notify_all();
    }
}
