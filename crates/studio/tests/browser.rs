//! The page in a real browser: scenarios, one after the other in one browser, as opening one is what takes time.
//!
//! Each scenario opens what it needs, so that any of them can be run alone: `SHOAL_SCENARIO=clocks` runs those with that word in their
//! name. One that fails does not end the others.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use shoal_studio::{OpenOptions, Studio, open};

use crate::{
    budgets,
    common::{COUNTER, LOCK, MUTEX, gallery},
    driver::Browser,
    scenarios,
};

/// A model whose names try to be more than names.
const HOSTILE: &str = "var x: 0..3;
startstate x := 0; end;
rule \"<img src=x onerror=document.title='caught'>\" x < 3 ==> x := x + 1; end;
invariant \"</script><script>document.title='caught'</script>\" x < 2;
";

/// A run of ten thousand steps.
pub(crate) const LONG: &str = "var x: 0..10000; y: 0..9;
startstate x := 0; y := 0; end;
rule \"up\" x < 10000 ==> x := x + 1; y := (y + 1) % 10; end;
invariant \"short\" x < 10000;
";

/// A hundred thousand states and four hundred thousand steps.
pub(crate) const LARGE: &str = "var x: 0..316; y: 0..316;
startstate x := 0; y := 0; end;
rule \"right\" true ==> x := (x + 1) % 317; end;
rule \"left\" true ==> x := (x + 316) % 317; end;
rule \"down\" true ==> y := (y + 1) % 317; end;
rule \"up\" true ==> y := (y + 316) % 317; end;
";

/// A way that is gone once, in steps of one, or of two where that is even.
const ONE_WAY: &str = "var x: 0..6;
startstate x := 0; end;
rule \"step\" x < 6 ==> x := x + 1; end;
rule \"leap\" x = 2 ==> x := x + 2; end;
";

/// The models of the gallery that scenarios open.
const GALLERY: [&str; 17] = [
    "murphi/german_bug.m",
    "murphi/starvation.m",
    "murphi/dining_bug.m",
    "murphi/symmetry_trap.m",
    "promela/lost_update.pml",
    "promela/peterson.pml",
    "heap/use_after_free.dpml",
    "sgm/fischer.vpl",
    "sgm/fischer_bug.vpl",
    "red/mcs_bug.red",
    "uppaal/station.xta",
    "uppaal/station.q",
    "uppaal/fischer.xta",
    "uppaal/fischer.q",
    "beacon/update_bug.bp",
    "beacon/ticket_lock.spec",
    "beacon/update.tts",
];

/// A folder, and a server for it.
pub(crate) struct Site {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) address: String,
    pub(crate) studio: Arc<Studio>,
    /// Where the first violation of a model is shown, once it was found.
    pub(crate) runs: Mutex<BTreeMap<String, String>>,
}

impl Site {
    /// With these files.
    pub(crate) fn with(files: &[(&str, String)], options: OpenOptions) -> Site {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let opened = open(folder.path(), options).unwrap();
        let (address, studio) = (opened.address(), opened.studio().clone());
        thread::spawn(move || opened.serve());
        Site { folder, address, studio, runs: Mutex::default() }
    }

    /// With everything that the scenarios need.
    fn full() -> Site {
        let own = [("counter.m", COUNTER), ("mine.m", COUNTER), ("theirs.m", COUNTER), ("lock.m", LOCK)];
        let own = own.into_iter().chain([("mutex.m", MUTEX), ("oneway.m", ONE_WAY)]);
        let own = own.chain([("hostile.m", HOSTILE)]);
        let mut files: Vec<(&str, String)> = own.map(|(name, text)| (name, text.to_string())).collect();
        files.extend(budgets::models());
        for path in GALLERY {
            let name = Path::new(path).file_name().unwrap().to_str().unwrap();
            files.push((name, gallery(path)));
        }
        let editor = Some("vscode://file{path}:{line}".into());
        Site::with(&files, OpenOptions { editor, ..OpenOptions::default() })
    }

    /// The address of a screen.
    pub(crate) fn at(&self, hash: &str) -> String {
        format!("{}/#/{hash}", self.address.split_once("/?").unwrap().0)
    }

    /// What a file holds now.
    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }
}

#[test]
fn the_workbench_works_in_a_browser() {
    let Some(browser) = Browser::open() else { return };
    let site = Site::full();
    scenarios::frame::without_the_token(&browser, &site);
    browser.go(&site.address);
    browser.sees("counter.m");
    assert!(!browser.address().contains(site.studio.token()), "the token stays in the address");
    let only = std::env::var("SHOAL_SCENARIO").unwrap_or_default();
    let (mut failed, mut ran) = (Vec::new(), 1);
    for (name, scenario) in scenarios::ALL.iter().filter(|(name, _)| name.contains(&only)) {
        let passes = || {
            let began = Instant::now();
            let done = catch_unwind(AssertUnwindSafe(|| {
                scenario(&browser, &site);
                let logs = browser.logs();
                assert!(logs.is_empty(), "scripts complain: {logs:?}");
            }));
            let mark = if done.is_ok() { "" } else { "  FAILED" };
            println!("  {:>5} ms  {name}{mark}", began.elapsed().as_millis());
            if done.is_err() {
                let _ = browser.logs();
            }
            done.is_ok()
        };
        ran += 1;
        // A browser on a busy machine may be late once; what is wrong is wrong again.
        if !passes() && !passes() {
            failed.push(*name);
        }
    }
    println!("{ran} scenarios in the browser, {} failed", failed.len());
    assert!(failed.is_empty(), "{failed:?}");
}
