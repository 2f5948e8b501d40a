//! One gallery, every engine: the same verdicts, the same numbers of states and of orbits, shortest traces of one length.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use shoal::{
    Broadcast, CheckOptions, CounterOptions, Engine, Error, LoadOptions, Loaded, Report, check, load,
};
use shoal_model::{Limits, Logic, PropertyKind, Quiet, Reduction, Verdict};

/// The violated properties with the lengths of their traces, and the number of states.
type Found = (Vec<(String, usize)>, u64);

fn found(loaded: &Loaded, report: &Report) -> Result<Found, String> {
    let mut violated = Vec::new();
    for result in &report.outcome.results {
        match &result.verdict {
            Verdict::Holds => {}
            Verdict::Violated(violation) => {
                let length = violation.trace.as_ref().map_or(0, |trace| trace.steps.len());
                violated.push((loaded.model.properties[result.property].name.clone(), length));
            }
            Verdict::Unknown(reason) => return Err(reason.to_string()),
        }
    }
    Ok((violated, report.outcome.statistics.states))
}

/// How many models the engines were compared on, and what they refused or left open.
#[derive(Debug, Default)]
struct Tally {
    /// Whether counters are tried.
    counts: bool,
    symbolic: usize,
    counted: usize,
    refused: BTreeMap<String, usize>,
    open: Vec<String>,
    wrong: Vec<String>,
}

impl Tally {
    /// Runs a model with all engines and compares what they find.
    fn compare(&mut self, path: &Path, loaded: &Loaded, limits: &Limits) {
        // What all engines take: no temporal formulas.
        let plain = |id| !matches!(loaded.model.properties[id].kind, PropertyKind::Temporal(..));
        let names = loaded.asked.iter().filter(|id| plain(**id));
        let properties: Vec<String> = names.map(|id| loaded.model.properties[*id].name.clone()).collect();
        let run = |engine, symmetry, counters| {
            let options = CheckOptions {
                properties: properties.clone(),
                engine: Some(engine),
                symmetry,
                counters,
                patience: None,
                limits: limits.clone(),
                ..CheckOptions::default()
            };
            check(loaded, &options, &mut Quiet)
        };
        let whole = CounterOptions { reduce: false, ..CounterOptions::default() };
        let explicit = |symmetry| {
            let report = run(Engine::Explicit, symmetry, whole).ok()?;
            Some((found(loaded, &report).ok()?, report.outcome.statistics.reductions))
        };
        // What the explicit engine does not finish tells nothing.
        let (Some((full, _)), Some((orbits, reduced))) = (explicit(false), explicit(true)) else { return };
        if let Some((result, _)) = self.take(path, loaded, "symbolic", run(Engine::Symbolic, false, whole)) {
            self.symbolic += 1;
            self.same(path, "symbolic", &result, &full);
        }
        let serial = CounterOptions { broadcast: Broadcast::Serial, ..whole };
        let ways = [
            ("counters", whole),
            ("counters, one state at a time", CounterOptions { explicit: true, ..whole }),
            ("counters, serial", serial),
        ];
        let counts = self.counts;
        for (what, options) in ways.into_iter().filter(|_| counts) {
            let report = run(Engine::Counters, true, options);
            let Some((mut result, by)) = self.take(path, loaded, what, report) else { break };
            self.counted += 1;
            // Where only some sorts can be counted, there are more classes than orbits.
            if by != reduced {
                result.1 = orbits.1;
            }
            self.same(path, what, &result, &orbits);
        }
    }

    fn take(
        &mut self,
        path: &Path,
        loaded: &Loaded,
        what: &str,
        report: Result<Report, Error>,
    ) -> Option<(Found, Vec<Reduction>)> {
        let complaint = match report {
            Ok(report) => match found(loaded, &report) {
                Ok(result) => return Some((result, report.outcome.statistics.reductions)),
                Err(reason) => {
                    self.open.push(format!("{}: {what}: {reason}", path.display()));
                    return None;
                }
            },
            Err(Error::Unsupported(refusal)) => {
                *self.refused.entry(format!("{what}: {}", refusal.construct)).or_default() += 1;
                return None;
            }
            Err(error) => error,
        };
        self.wrong.push(format!("{}: {what}: {complaint}", path.display()));
        None
    }

    fn same(&mut self, path: &Path, what: &str, result: &Found, expected: &Found) {
        if result != expected {
            self.wrong.push(format!("{}: {what}: {result:?}, not {expected:?}", path.display()));
        }
    }
}

#[test]
fn engines_agree_on_the_gallery() {
    let mut tally = Tally::default();
    for folder in ["murphi", "utool"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(folder);
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            // The one has millions of states without patience, the other 1,300 local states without reduction.
            if ["german_bug.m", "ascii.m"].iter().any(|name| path.ends_with(name)) {
                continue;
            }
            // Hundreds of local states: counters do not come to an end.
            tally.counts = !path.ends_with("german.m");
            let loaded = load(&path, &LoadOptions::default()).unwrap();
            tally.compare(&path, &loaded, &Limits::default());
        }
    }
    assert!(tally.wrong.is_empty() && tally.open.is_empty(), "{tally:#?}");
    let refused = |what: &str| tally.refused.keys().filter(|it| it.starts_with(what)).collect::<Vec<_>>();
    assert_eq!(refused("symbolic"), Vec::<&String>::new());
    assert!(tally.symbolic >= 27 && tally.counted >= 15, "{tally:#?}");
}

/// Models by other people, as far as they are small: some of the least, or all with as many states as
/// `SHOAL_CORPUS_AGREE` says.
#[test]
fn engines_agree_on_the_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/murphi");
    if !corpus.is_dir() {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: no corpus");
        }
        return;
    }
    let long = std::env::var("SHOAL_CORPUS_AGREE").ok().and_then(|text| text.parse().ok());
    let limits = Limits {
        states: Some(long.unwrap_or(30)),
        time: Some(Duration::from_secs(if long.is_some() { 60 } else { 2 })),
        ..Limits::default()
    };
    let mut tally = Tally { counts: true, ..Tally::default() };
    let mut files = Vec::new();
    let mut folders = vec![corpus];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.retain(|path| path.extension().is_some_and(|it| it == "m"));
    files.sort();
    for path in files.iter().step_by(if long.is_some() { 1 } else { 12 }) {
        if let Ok(loaded) = load(path, &LoadOptions::default()) {
            tally.compare(path, &loaded, &limits);
        }
    }
    assert!(tally.wrong.is_empty(), "{tally:#?}");
    assert!(tally.symbolic >= 10, "{tally:#?}");
    if long.is_some() {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("{tally:#?}");
        }
    }
}

/// Formulas of the gallery are decided by the engine that `auto` chooses, and by the symbolic engine, alike.
#[test]
fn formulas_of_the_gallery_hold_on_counters_and_on_all_states() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/utool");
    let mut formulas = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let loaded = load(entry.unwrap().path(), &LoadOptions::default()).unwrap();
        let branching =
            |id| matches!(loaded.model.properties[id].kind, PropertyKind::Temporal(Logic::Ctl, _));
        for engine in [None, Some(Engine::Symbolic)] {
            let report =
                check(&loaded, &CheckOptions { engine, ..CheckOptions::default() }, &mut Quiet).unwrap();
            formulas += report.outcome.results.iter().filter(|result| branching(result.property)).count();
            assert_eq!(found(&loaded, &report).unwrap().0, Vec::new());
        }
    }
    assert!(formulas >= 8, "{formulas} formulas");
}

/// Of the two examples of the paper, exactly the local states are left that it lists.
#[test]
fn local_states_are_those_of_the_paper() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/utool");
    for (model, conceivable, kept) in [("figure_1.m", 32, 10), ("ascii.m", 5120, 355)] {
        let loaded = load(folder.join(model), &LoadOptions::default()).unwrap();
        let states = &shoal::local_states(&loaded)[0];
        assert_eq!((states.conceivable, &states.kept), (conceivable, &Ok(kept)), "{model}");
    }
    let loaded = load(folder.join("figure_1.m"), &LoadOptions::default()).unwrap();
    let states = &shoal::local_states(&loaded)[0];
    let live: Vec<Vec<String>> = states.points.iter().map(|point| point.live.clone()).collect();
    let kept: Vec<Option<usize>> = states.points.iter().map(|point| point.kept).collect();
    assert_eq!(kept, [1, 2, 1, 2, 1, 1, 1, 1].map(Some));
    let expected: Vec<Vec<String>> = (0..8)
        .map(|line| match line {
            1 => vec!["nonempty".to_string()],
            3 => vec!["locked".to_string()],
            _ => Vec::new(),
        })
        .collect();
    assert_eq!((states.control.as_deref(), live), (Some("pc"), expected));
}
