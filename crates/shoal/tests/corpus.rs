//! Models by other people, against what the peers say of them.
//!
//! The models are not in the project: where `../shared/corpus` is absent the tests say so and pass. `rumur-unreduced.csv`
//! holds figures that we measured with Rumur 2022.08.20 and `--symmetry-reduction off`; the figures with symmetry stand
//! beside the corpus. Models with more than `SHOAL_CORPUS_STATES` states (30,000 by default) are left for long runs.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use shoal::{CheckOptions, Deadlock, Dialect, LoadOptions, Report, Status, check, load};
use shoal_model::{Limits, Quiet, Watch};

/// The corpus of Murphi models, if this machine has it.
fn corpus() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/murphi");
    if folder.is_dir() {
        return Some(folder);
    }
    #[allow(clippy::print_stderr)]
    {
        eprintln!("skipped: no corpus");
    }
    None
}

fn most_states() -> u64 {
    std::env::var("SHOAL_CORPUS_STATES").ok().and_then(|text| text.parse().ok()).unwrap_or(30_000)
}

/// One row of a table: the columns by name.
struct Row(Vec<(String, String)>);

impl Row {
    fn get(&self, column: &str) -> &str {
        self.0.iter().find(|(name, _)| name == column).map_or("", |(_, value)| value)
    }

    fn number(&self, column: &str) -> u64 {
        self.get(column).parse().unwrap_or(0)
    }
}

/// The rows of a CSV file; a field in quotes may have commas and doubled quotes.
fn table(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = text.lines().map(fields);
    let names = lines.next().expect("a head");
    lines.map(|fields| Row(names.iter().cloned().zip(fields).collect())).collect()
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => fields.last_mut().expect("a field").push(character),
        }
    }
    fields
}

fn run(file: &Path, dialect: Dialect, deadlock: Deadlock, symmetry: bool) -> Result<Report, String> {
    let options = LoadOptions { dialect, deadlock, ..LoadOptions::default() };
    let loaded = load(file, &options).map_err(|error| format!("does not load: {error}"))?;
    let limits =
        Limits { time: Some(Duration::from_secs(300)), ..CheckOptions::default().watch.limits().clone() };
    let options =
        CheckOptions { symmetry, watch: Watch::start(limits), patience: Some(0), ..CheckOptions::default() };
    check(&loaded, &options, &mut Quiet).map_err(|error| format!("is not checked: {error}"))
}

fn verdict(report: &Report) -> &'static str {
    match report.status() {
        Status::Holds => "no error",
        Status::Violated => "error found",
        _ => "unknown",
    }
}

#[test]
fn verdicts_states_and_rules_fired_are_those_of_rumur_without_symmetry() {
    let Some(corpus) = corpus() else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/rumur-unreduced.csv");
    let mut compared = 0;
    let mut wrong = Vec::new();
    for row in table(&here).iter().filter(|row| row.number("states") <= most_states()) {
        let deadlock = if row.get("deadlock") == "off" { Deadlock::Off } else { Deadlock::Stuttering };
        compared += 1;
        let report = match run(&corpus.join(row.get("file")), Dialect::Rumur, deadlock, false) {
            Ok(report) => report,
            Err(problem) => {
                wrong.push(format!("{} {problem}", row.get("file")));
                continue;
            }
        };
        let statistics = &report.outcome.statistics;
        let found = (verdict(&report), statistics.states, statistics.transitions);
        let expected = (row.get("verdict"), row.number("states"), row.number("rules"));
        // A search that stops at an error has seen a part that depends on the order of the search.
        if found.0 != expected.0 || (found.0 == "no error" && found != expected) {
            wrong.push(format!("{}: expected {expected:?}, found {found:?}", row.get("file")));
        }
    }
    assert!(compared > 250, "only {compared} models compared");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Peers' verdicts with symmetry on, and their numbers of states as upper bounds of ours.
fn compare_reduced(table_name: &str, dialect: Dialect) {
    let Some(corpus) = corpus() else { return };
    let mut compared = 0;
    let mut wrong = Vec::new();
    // A peer that ran out of room says "error" too, but has not decided anything.
    let decided = |row: &&Row| {
        matches!(row.get("verdict"), "no error" | "error found")
            && !row.get("error_kind").starts_with("Internal")
    };
    let rows = table(&corpus.join(table_name));
    for row in rows.iter().filter(decided).filter(|row| row.number("states") <= most_states()) {
        compared += 1;
        let report = match run(&corpus.join(row.get("file")), dialect, Deadlock::Auto, true) {
            Ok(report) => report,
            Err(problem) => {
                wrong.push(format!("{} {problem}", row.get("file")));
                continue;
            }
        };
        let states = report.outcome.statistics.states;
        // Peers believe every scalarset; where Shoal shows that one is not symmetric, their count is no bound.
        let believed = !report.plan.warnings.is_empty();
        let more = verdict(&report) == "no error" && states > row.number("states") && !believed;
        if verdict(&report) != row.get("verdict") || more {
            let (expected, number) = (row.get("verdict"), row.number("states"));
            let found = verdict(&report);
            wrong.push(format!("{}: expected {expected} {number}, found {found} {states}", row.get("file")));
        }
    }
    assert!(compared > 12, "only {compared} models compared");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn verdicts_are_those_of_rumur_and_orbits_are_no_more_than_its_states() {
    compare_reduced("rumur-results.csv", Dialect::Rumur);
}

#[test]
fn verdicts_are_those_of_cmurphi_and_orbits_are_no_more_than_its_states() {
    compare_reduced("cmurphi-results.csv", Dialect::Cmurphi);
}
