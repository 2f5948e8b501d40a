//! What happens to processes that search together when something fails: a clear end, soon, and never a wrong verdict. What was saved
//! before is gone on with, by another number of processes, and comes to the right counts.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    net::TcpStream,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    network::{HostPlace, Network},
    together::{ClusterBench, PATIENCE, Subject, code, counted, watch_all},
};
use crate::process::{Interference, ProgramEnd};

/// In how much time the others must have noticed that one is lost.
const NOTICE: Duration = Duration::from_secs(15);
/// How long processes wait for one that has not come yet.
const COMING: Duration = Duration::from_secs(30);
const PROCESSES: usize = 3;

/// A search that is disturbed again and again.
pub(super) struct Disturbed<'b> {
    bench: &'b ClusterBench,
    subject: Subject,
    expected: Vec<Value>,
    /// What it takes undisturbed.
    whole: Duration,
}

/// How processes ended after one was lost.
#[derive(Default)]
struct Ends {
    lost: usize,
    done: usize,
    resumed: usize,
    anew: usize,
    latest: Duration,
}

impl<'b> Disturbed<'b> {
    pub(super) fn new(bench: &'b ClusterBench, subject: Subject) -> Result<Disturbed<'b>, String> {
        let expected = counted(&bench.alone(&subject, &["--threads", "1", "--storage", "thin"])?)?;
        let began = Instant::now();
        bench.together(&HostPlace::Loopback, &subject, PROCESSES, &[], |_| Interference::default())?;
        Ok(Disturbed { bench, subject, expected, whole: began.elapsed() })
    }

    /// Moments of the whole run, without a visible order.
    fn moment(&self, time: u32) -> Duration {
        self.whole.mul_f64((0.5 + f64::from(time) * 0.618_034).fract())
    }

    /// Kills processes.
    pub(super) fn kills(&self, times: u32) -> Result<(), String> {
        let mut ends = Ends::default();
        for time in 0..times {
            let (after, victim) = (self.moment(time), time as usize % PROCESSES);
            let kill = |process| match process == victim {
                true => Interference { signal: Some(("KILL", after)), ..Interference::default() },
                false => Interference { wall: Some(PATIENCE), ..Interference::default() },
            };
            let place = HostPlace::Loopback;
            let saving = self.saving()?;
            let runs = self.bench.together(&place, &self.subject, PROCESSES, &saving, kill)?;
            let others = runs.iter().enumerate().filter(|(process, _)| *process != victim);
            ends.see(others, after, &self.expected)?;
            self.resume(&place, 1 + time as usize % 4, &mut ends)?;
        }
        ends.tell(&format!("{times} kills"));
        Ok(())
    }

    /// Cuts links, and goes on when they are mended.
    pub(super) fn cuts(&self, times: u32) -> Result<(), String> {
        let place = match Network::new(PROCESSES) {
            Ok(network) => HostPlace::Namespaces(network),
            Err(why) => {
                println!("links: skipped, no network of namespaces ({why})");
                return Ok(());
            }
        };
        let HostPlace::Namespaces(network) = &place else { return Ok(()) };
        let mut ends = Ends::default();
        for time in 0..times {
            let (after, victim) = (self.moment(time + 7), time as usize % PROCESSES);
            let saving = self.saving()?;
            let limit = |_| Interference { wall: Some(PATIENCE), ..Interference::default() };
            let runs = thread::scope(|scope| {
                let cut = scope.spawn(move || {
                    thread::sleep(after);
                    network.set_link(victim, false)
                });
                let runs = self.bench.together(&place, &self.subject, PROCESSES, &saving, limit);
                cut.join().map_err(|_| "who cuts links has ended".to_string())??;
                runs
            })?;
            network.set_link(victim, true)?;
            ends.see(runs.iter().enumerate(), after, &self.expected)?;
            self.resume(&place, 1 + time as usize % PROCESSES, &mut ends)?;
        }
        ends.tell(&format!("{times} links cut"));
        for rate in ["100mbit", "20mbit"] {
            network.set_rate(Some(rate))?;
            let limit = |_| Interference { wall: Some(PATIENCE), ..Interference::default() };
            let runs = self.bench.together(&place, &self.subject, 2, &[], limit)?;
            self.agree(&runs[0], &format!("links of {rate}"))?;
            println!(
                "links of {rate}: 2 processes, the right counts after {:.1} s",
                runs[0].wall.as_secs_f64()
            );
        }
        Ok(())
    }

    /// Strangers, a wrong secret, another program.
    pub(super) fn strangers(&self) -> Result<(), String> {
        let place = HostPlace::Loopback;
        let limit = Interference { wall: Some(PATIENCE), ..Interference::default() };
        self.bench.write_hosts(&place, 2)?;
        let hosts = fs::read_to_string(self.bench.folder.join("hosts")).map_err(|error| error.to_string())?;
        let first = hosts.lines().next().unwrap_or_default().to_string();
        let runs = thread::scope(|scope| {
            let bench = self.bench;
            let zero = bench.process(&place, &self.subject, 0, &[]);
            let one = bench.process(&place, &self.subject, 1, &[]);
            let zero = scope.spawn(move || watch_all(vec![(zero, limit)]));
            let _strangers = call(&first);
            let one = watch_all(vec![(one, limit)])?;
            drop(one);
            zero.join().map_err(|_| "a watcher has ended".to_string())?
        })?;
        self.agree(&runs[0], "with strangers")?;
        println!("strangers that send junk, nothing, or call 200 times: the right counts");
        self.bench.write_secret("wrong", "another one, as long as it must be")?;
        self.refused("a wrong secret", &self.bench.shoal, &["--secret-file", "wrong"], "secret")?;
        let other = self.other_program()?;
        self.refused("another program", &other, &[], "another program")?;
        self.refused("other options", &self.bench.shoal, &["--depth", "3"], "something else")
    }

    /// Two processes, the second of which differs: both end soon and say why.
    fn refused(&self, what: &str, program: &Path, more: &[&str], why: &str) -> Result<(), String> {
        let place = HostPlace::Loopback;
        let limit = Interference { wall: Some(COMING + NOTICE), ..Interference::default() };
        self.bench.write_hosts(&place, 2)?;
        let other = ClusterBench { shoal: program.to_path_buf(), folder: self.bench.folder.clone() };
        let zero = self.bench.process(&place, &self.subject, 0, &[]);
        let one = other.process(&place, &self.subject, 1, more);
        for (process, run) in watch_all(vec![(zero, limit), (one, limit)])?.iter().enumerate() {
            if code(run) != Some(2) || run.wall > NOTICE || !run.output.contains(why) {
                return Err(format!(
                    "{what}: process {process} ended with {:?} after {:?}: {}",
                    code(run),
                    run.wall,
                    run.output
                ));
            }
        }
        println!("{what}: both processes end with exit code 2 and say so");
        Ok(())
    }

    /// The same program with a byte more.
    fn other_program(&self) -> Result<PathBuf, String> {
        let failed = |error: std::io::Error| error.to_string();
        let other = self.bench.folder.join("other-shoal");
        fs::copy(&self.bench.shoal, &other).map_err(failed)?;
        OpenOptions::new()
            .append(true)
            .open(&other)
            .and_then(|mut file| file.write_all(b"\n"))
            .map_err(failed)?;
        Ok(other)
    }

    /// Saves as often as it can, in an empty folder.
    fn saving(&self) -> Result<[&'static str; 4], String> {
        let saved = self.bench.folder.join("saved");
        if saved.exists() {
            fs::remove_dir_all(&saved).map_err(|error| error.to_string())?;
        }
        Ok(["--checkpoint", "saved", "--checkpoint-every", "1"])
    }

    /// Goes on with what was saved, or begins anew if nothing was.
    fn resume(&self, place: &HostPlace, processes: usize, ends: &mut Ends) -> Result<(), String> {
        let saved = fs::read_dir(self.bench.folder.join("saved")).map(Iterator::flatten);
        let is_saved = saved
            .is_ok_and(|mut files| files.any(|file| file.path().extension().is_some_and(|it| it == "head")));
        if !is_saved {
            ends.anew += 1;
            return Ok(());
        }
        ends.resumed += 1;
        let resume = ["--resume", "saved"];
        let limit = |_| Interference { wall: Some(PATIENCE), ..Interference::default() };
        let run = match processes {
            1 => self.bench.alone(&self.subject, &["--storage", "thin", "--resume", "saved"])?,
            _ => {
                let mut runs = self.bench.together(place, &self.subject, processes, &resume, limit)?;
                runs.swap_remove(0)
            }
        };
        self.agree(&run, &format!("gone on with by {processes} processes"))
    }

    fn agree(&self, run: &ProgramEnd, how: &str) -> Result<(), String> {
        let found = counted(run)?;
        match found == self.expected {
            true => Ok(()),
            false => Err(format!("{how}: {found:?} instead of {:?}", self.expected)),
        }
    }
}

impl Ends {
    /// Sees how processes ended after one was disturbed.
    fn see<'r>(
        &mut self,
        runs: impl Iterator<Item = (usize, &'r ProgramEnd)>,
        after: Duration,
        expected: &[Value],
    ) -> Result<(), String> {
        for (process, run) in runs {
            let noticed = run.wall.saturating_sub(after);
            match code(run) {
                // Whoever shows a verdict shows the right one.
                Some(0) if process > 0 || counted(run)? == expected => self.done += 1,
                Some(3) if noticed < NOTICE => {
                    self.lost += 1;
                    self.latest = self.latest.max(noticed);
                }
                // Those that have not found each other yet say that instead.
                Some(2) if noticed < COMING + NOTICE => self.lost += 1,
                code => {
                    let output = &run.output;
                    return Err(format!("process {process} ended with {code:?} after {noticed:?}: {output}"));
                }
            }
        }
        Ok(())
    }

    fn tell(&self, what: &str) {
        let Ends { lost, done, resumed, anew, latest } = self;
        println!(
            "{what}: {lost} processes ended without a verdict, the slowest after {:.1} s; {done} had the right one; {resumed} searches were \
             gone on with, by 1 to 4 processes, to the right counts; in {anew} nothing was saved yet",
            latest.as_secs_f64()
        );
    }
}

/// Calls a process that waits for others, as strangers do: one says nothing, some send junk, many call and go.
fn call(address: &str) -> Vec<TcpStream> {
    let began = Instant::now();
    let mut strangers = Vec::new();
    while strangers.len() < 200 && began.elapsed() < NOTICE {
        match TcpStream::connect(address) {
            Ok(mut socket) => {
                // They do not care whether they are heard.
                let _ = match strangers.len() % 4 {
                    0 => Ok(()),
                    1 => socket.write_all(b"GET / HTTP/1.1\r\n\r\n"),
                    2 => socket.write_all(&[0xff; 300]),
                    _ => socket.write_all(&[&b"shoal cluster 1\n"[..], &[0; 200]].concat()),
                };
                strangers.push(socket);
            }
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    }
    strangers
}
