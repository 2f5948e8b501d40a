//! Saved searches that were damaged: none is accepted, whatever was done to it.
//!
//! `SHOAL_RANDOM_MODELS=20000 PROPTEST_RNG_SEED=7` tries more of them, and others.

use std::{
    fs,
    path::{Path, PathBuf},
};

use shoal::{CheckOptions, Checkpoints, Error, LoadOptions, Loaded, Report, check, load_text};
use shoal_model::{Limits, Quiet, Statistics, Watch};

use crate::random::{compared, dose, numbers::Numbers};

/// Five steps in, nothing is wrong yet; what goes wrong comes later, so a search that is fooled says "holds".
const MODEL: &str = "
const N: 4;
type pid: scalarset(N); place: enum { Idle, Wants, Inside };
var at: array [pid] of place; ticket: 0..9;
startstate begin for p: pid do at[p] := Idle; end; ticket := 0; end;
ruleset p: pid do
  rule \"ask\" at[p] = Idle & ticket < 9 ==> begin at[p] := Wants; ticket := ticket + 1; end;
  rule \"enter\" at[p] = Wants & (ticket = 7 | forall q: pid do at[q] != Inside end) ==> begin at[p] := Inside; end;
  rule \"leave\" at[p] = Inside ==> begin at[p] := Idle; end;
end;
rule \"again\" ticket = 9 ==> begin ticket := 0; end;
invariant \"alone\" forall p: pid do forall q: pid do p != q -> !(at[p] = Inside & at[q] = Inside) end end;
cover \"busy\" ticket = 3;
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("shoal-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("search.shoal")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn model() -> Loaded {
    load_text("saved.m", MODEL, &LoadOptions::default()).unwrap()
}

/// Runs to a depth and saves there, or goes on from what was saved.
fn run(loaded: &Loaded, save: Option<(&Path, u64)>, resume: Option<&Path>) -> Result<Report, Error> {
    let watch = Watch::start(Limits { depth: save.map(|(_, depth)| depth), ..Limits::default() });
    let checkpoints = Checkpoints {
        save: save.map(|(folder, _)| folder.to_path_buf()),
        resume: resume.map(Path::to_path_buf),
        ..Checkpoints::default()
    };
    let options = CheckOptions { watch, checkpoints, threads: 1, ..CheckOptions::default() };
    check(loaded, &options, &mut Quiet)
}

/// What a resumed search must know as well as one that was never saved.
fn counts(statistics: &Statistics) -> (u64, u64, Vec<u64>, Vec<u64>, Vec<u64>) {
    let it = statistics.clone();
    (it.states, it.transitions, it.levels, it.fired, it.fresh)
}

#[test]
fn a_resumed_search_has_counted_everything() {
    let (loaded, folder) = (model(), Folder::new("counted"));
    let whole = run(&loaded, None, None).unwrap();
    run(&loaded, Some((&folder.0, 5)), None).unwrap();
    let resumed = run(&loaded, None, Some(&folder.0)).unwrap();
    assert_eq!(counts(&resumed.outcome.statistics), counts(&whole.outcome.statistics));
    assert_eq!(resumed.status(), whole.status());
}

#[test]
fn no_damaged_search_is_accepted() {
    let (loaded, folder) = (model(), Folder::new("damaged"));
    run(&loaded, Some((&folder.0, 5)), None).unwrap();
    let saved = fs::read(folder.file()).unwrap();
    let mut numbers = Numbers::from_environment();
    for number in 0..dose(1000) {
        let (how, damaged) = damage(&saved, &mut numbers);
        if damaged == saved {
            continue;
        }
        fs::write(folder.file(), &damaged).unwrap();
        match run(&loaded, None, Some(&folder.0)) {
            Err(Error::File { problem, .. }) => {
                assert!(!problem.is_empty());
                compared("damaged checkpoint");
            }
            Err(other) => panic!("{number}: {how}: {other}"),
            Ok(report) => panic!("{number}: {how}: accepted, and {:?}", report.status()),
        }
    }
}

/// One way to damage a file.
fn damage(saved: &[u8], numbers: &mut Numbers) -> (String, Vec<u8>) {
    let mut bytes = saved.to_vec();
    let at = numbers.below(bytes.len());
    let how = match numbers.below(7) {
        0 => {
            bytes[at] ^= 1 << numbers.below(8);
            format!("a bit of byte {at}")
        }
        1 => {
            bytes[at] = numbers.below(256) as u8;
            format!("byte {at}")
        }
        2 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        3 => {
            bytes.extend((0..=numbers.below(40)).map(|byte| byte as u8));
            "longer".into()
        }
        4 => {
            // A number set to a small one: this is how a count becomes another.
            let word = at / 8 * 8;
            let value = numbers.below(3) as u64;
            bytes[word..].iter_mut().zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
            format!("word at {word} is {value}")
        }
        5 => {
            let (from, length) = (numbers.below(bytes.len()), numbers.below(64));
            let part: Vec<u8> = bytes[from..].iter().copied().take(length).collect();
            bytes[at..].iter_mut().zip(part).for_each(|(to, from)| *to = from);
            format!("{length} bytes copied from {from} to {at}")
        }
        _ => {
            let to = (at + 1 + numbers.below(64)).min(bytes.len());
            bytes.drain(at..to);
            format!("without {at}..{to}")
        }
    };
    (how, bytes)
}

#[test]
fn a_file_that_is_no_saved_search_is_not_replaced() {
    let (loaded, folder) = (model(), Folder::new("others"));
    fs::write(folder.file(), "my thesis").unwrap();
    let report = run(&loaded, Some((&folder.0, 5)), None).unwrap();
    assert!(report.unsaved.is_some_and(|problem| problem.contains("no saved search")));
    assert_eq!(fs::read(folder.file()).unwrap(), b"my thesis");
    assert!(matches!(run(&loaded, None, Some(&folder.0)), Err(Error::File { .. })));
}

#[cfg(unix)]
#[test]
fn no_link_is_followed() {
    let (loaded, folder) = (model(), Folder::new("links"));
    let target = folder.0.join("target");
    fs::write(&target, "precious").unwrap();
    for name in ["search.shoal", "search.shoal.new"] {
        std::os::unix::fs::symlink(&target, folder.0.join(name)).unwrap();
        let _ = run(&loaded, Some((&folder.0, 5)), None).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        let _ = fs::remove_file(folder.0.join(name));
    }
}

/// A formula that reads the search is decided from what was saved with it: steps and labels.
#[test]
fn a_resumed_search_decides_formulas_as_the_whole_one() {
    let formulas = [
        "ltl \"f\" [] ((exists p: pid do at[p] = Wants end) -> <> exists p: pid do at[p] != Wants end);",
        "ltl \"f\" [] <> ticket = 0;",
        "ltl \"f\" [] !(ticket = 7);",
        "ctl \"f\" AG EF ticket = 0;",
        "ctl \"f\" AG AF ticket = 0;",
    ];
    for formula in formulas {
        let text = MODEL.replace("invariant \"alone\"", "invariant \"none\" true | ") + formula;
        let text = text.replace("cover \"busy\" ticket = 3;", "");
        let loaded = load_text("saved.m", &text, &LoadOptions::default()).unwrap();
        let folder = Folder::new("formulas");
        let whole = run(&loaded, None, None).unwrap();
        run(&loaded, Some((&folder.0, 5)), None).unwrap();
        assert!(folder.file().exists(), "{formula}");
        let resumed = run(&loaded, None, Some(&folder.0)).unwrap();
        let verdicts = |report: &Report| -> Vec<String> {
            let results = report.outcome.results.iter();
            results.map(|result| format!("{:?}", std::mem::discriminant(&result.verdict))).collect()
        };
        assert_eq!(verdicts(&resumed), verdicts(&whole), "{formula}");
        assert_eq!(resumed.status(), whole.status(), "{formula}");
    }
}
