//! Every model of the gallery says in its head comments what is to be found out about it:
//!
//!     -- shoal: [set NAME=VALUE|any ...] verdict=holds|violated|unknown [states=N] [inactive=N] [full=N] [property="NAME"] [depth=N]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use shoal::{
    CheckOptions, Expectation, ExpectedVerdict, LoadOptions, PartialOrder, Report, Status, Strategy, check,
    expectations, load,
};
use shoal_model::{Quiet, Reduction, Verdict};

#[test]
fn models_meet_their_expectations() {
    meet_expectations("murphi", "m", 40);
}

#[test]
fn promela_models_meet_their_expectations() {
    meet_expectations("promela", "pml", 10);
    meet_expectations("heap", "dpml", 5);
}

#[test]
fn models_of_many_components_meet_their_expectations() {
    meet_expectations("utool", "m", 5);
}

#[test]
fn timed_models_meet_their_expectations() {
    meet_expectations("sgm", "vpl", 10);
    meet_expectations("uppaal", "xta", 6);
}

#[test]
fn models_with_pointers_meet_their_expectations() {
    meet_expectations("red", "red", 15);
    meet_expectations("red", "m", 6);
}

#[test]
fn timed_models_are_the_same_on_two_threads() {
    for (folder, ending) in [("sgm", "vpl"), ("uppaal", "xta")] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(folder);
        let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|found| found == ending)) {
            for expected in expectations(&fs::read_to_string(&file).unwrap()).unwrap() {
                let told = |threads: usize| {
                    let options = CheckOptions { threads, ..CheckOptions::default() };
                    let mut outcome = run(&file, &expected, options).outcome;
                    let statistics = &mut outcome.statistics;
                    (statistics.time, statistics.searching, statistics.threads) = (Duration::ZERO, None, 0);
                    statistics.spent.clear();
                    format!("{outcome:?}")
                };
                assert_eq!(told(1), told(2), "{}: {expected}", file.display());
            }
        }
    }
}

/// Checks all models of a folder, which have at least so many expectations.
fn meet_expectations(folder: &str, ending: &str, least: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut lines = 0;
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|found| found == ending)) {
        let expectations = expectations(&fs::read_to_string(file).unwrap()).unwrap();
        assert!(!expectations.is_empty(), "{} has no expectations", file.display());
        for expectation in expectations {
            lines += 1;
            for difference in differences(file, &expectation) {
                wrong.push(format!("{} {expectation}: {difference}", file.display()));
            }
        }
    }
    assert!(lines >= least, "only {lines} expectations");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What differs from an expectation.
fn differences(file: &Path, expected: &Expectation) -> Vec<String> {
    let reduced = run(file, expected, CheckOptions::default());
    let mut wrong = Vec::new();
    let verdict = match reduced.status() {
        Status::Holds => ExpectedVerdict::Holds,
        Status::Violated => ExpectedVerdict::Violated,
        _ => ExpectedVerdict::Unknown,
    };
    let mut compare = |what: &str, expected: Option<u64>, found: u64| {
        if expected.is_some_and(|expected| expected != found) {
            wrong.push(format!("{what}: expected {}, found {found}", expected.unwrap_or_default()));
        }
    };
    compare("states", expected.states, reduced.outcome.statistics.states);
    if expected.full.is_some() {
        let options =
            CheckOptions { symmetry: false, dead_variables: Some(false), ..CheckOptions::default() };
        compare("full", expected.full, run(file, expected, options).outcome.statistics.states);
    }
    if expected.inactive.is_some() {
        let options = CheckOptions { symmetry: false, dead_variables: Some(true), ..CheckOptions::default() };
        compare("inactive", expected.inactive, run(file, expected, options).outcome.statistics.states);
    }
    if let (Some(name), Some(depth)) = (&expected.property, expected.depth) {
        compare("depth", Some(depth), depth_of(&reduced, file, expected, name));
    }
    if Some(verdict) != expected.verdict {
        wrong.push(format!("verdict: expected {expected}, found {verdict}"));
    }
    wrong
}

fn run(file: &Path, expected: &Expectation, how: CheckOptions) -> Report {
    let loaded = load(file, &options(expected)).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    // States and depths are those of all orders of steps.
    let all = CheckOptions { strategy: Strategy::default(), ..how.clone() };
    let report = check(&loaded, &all, &mut Quiet).unwrap();
    // Agents go first where nothing else is said; otherwise stubborn sets are asked for, in models that do not take long.
    let explicit =
        report.outcome.statistics.engine == "explicit" && report.outcome.statistics.states < 10_000;
    if !loaded.model.agents.is_empty() || explicit {
        let partial_order = match loaded.model.agents.is_empty() {
            true => PartialOrder::Stubborn,
            false => how.strategy.partial_order,
        };
        let strategy = Strategy { partial_order, ..how.strategy };
        let some = check(&loaded, &CheckOptions { strategy, ..how.clone() }, &mut Quiet).unwrap();
        assert_eq!(some.status(), report.status(), "{}: with partial order reduction", file.display());
        assert!(some.outcome.statistics.states <= report.outcome.statistics.states, "{}", file.display());
    }
    // How much room objects need is tried out before code is translated; a small search ends there.
    let objects = loaded.model.has_unfixed_sorts();
    // The conditions under which variables are reset may be too much code for a search to begin within a second.
    let resets = |reduction: &Reduction| matches!(reduction, Reduction::Inactive(_));
    let small = !objects && !report.outcome.statistics.reductions.iter().any(resets);
    let native = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    if report.outcome.statistics.engine == "explicit" && small && native {
        assert!(report.outcome.statistics.compiled, "{}: something is interpreted", file.display());
    }
    report
}

fn options(expected: &Expectation) -> LoadOptions {
    LoadOptions { set: expected.set.clone(), any: expected.any.clone(), ..LoadOptions::default() }
}

/// The length of the counterexample to a property; a number no trace has if it is not violated.
fn depth_of(report: &Report, file: &Path, expected: &Expectation, name: &str) -> u64 {
    let loaded = load(file, &options(expected)).unwrap();
    let found = report.outcome.results.iter().find_map(|result| match &result.verdict {
        Verdict::Violated(violation) if loaded.model.properties[result.property].name == name => {
            violation.trace.as_ref().map(|trace| trace.steps.len() as u64)
        }
        _ => None,
    });
    found.unwrap_or(u64::MAX)
}
