//! One gallery, every engine: the same verdicts, the same numbers of states and of orbits, shortest traces of one length.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use shoal::{
    BroadcastMode, CheckOptions, CounterOptions, Engine, Error, LoadOptions, Loaded, Report, check, load,
    load_text,
};
use shoal_model::{Limits, Logic, PropertyKind, Quiet, Reduction, StopReason, Verdict, Watch};

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
    /// Whether representatives in diagrams are tried.
    representatives: bool,
    symbolic: usize,
    /// Of these, how many have orbits that were compared.
    orbits: usize,
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
                watch: Watch::start(limits.clone()),
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
        if self.representatives {
            let report = run(Engine::Symbolic, true, whole);
            if let Some((result, _)) = self.take(path, loaded, "symbolic, orbits", report) {
                self.orbits += 1;
                self.same(path, "symbolic, orbits", &result, &orbits);
            }
        }
        let serial = CounterOptions { broadcast: BroadcastMode::Serial, ..whole };
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
            // Networks that are multisets of messages are beyond diagrams.
            let protocols = ["msi_directory", "mesi_eviction", "two_level"];
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            if protocols.iter().any(|name| stem.starts_with(name)) {
                continue;
            }
            // Counters take it, but not in a moment.
            tally.counts = !path.ends_with("german.m");
            // Some take long; those that are there for their orbits do not.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            tally.representatives = name.starts_with("orbit_") || name.starts_with("election");
            let loaded = load(&path, &LoadOptions::default()).unwrap();
            tally.compare(&path, &loaded, &Limits::default());
        }
    }
    assert!(tally.wrong.is_empty() && tally.open.is_empty(), "{tally:#?}");
    let refused = |what: &str| tally.refused.keys().filter(|it| it.starts_with(what)).collect::<Vec<_>>();
    assert_eq!(refused("symbolic"), Vec::<&String>::new());
    assert!(tally.symbolic >= 27 && tally.orbits == 5 && tally.counted >= 15, "{tally:#?}");
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
        let [chosen, symbolic] = [None, Some(Engine::Symbolic)].map(|engine| {
            let report =
                check(&loaded, &CheckOptions { engine, ..CheckOptions::default() }, &mut Quiet).unwrap();
            formulas += report.outcome.results.iter().filter(|result| branching(result.property)).count();
            found(&loaded, &report).unwrap().0
        });
        assert_eq!(chosen, symbolic, "{}", loaded.model.name);
    }
    assert!(formulas >= 8, "{formulas} formulas");
}

/// Readers and writers, a thousand of each, take no more nodes than in the paper (table 1).
#[test]
fn a_thousand_readers_and_writers_take_few_nodes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/utool/readers_writers.m");
    let set = ["R", "W"].map(|name| (name.to_string(), 1000)).to_vec();
    let loaded = load(path, &LoadOptions { set, ..LoadOptions::default() }).unwrap();
    let options = CheckOptions { engine: Some(Engine::Counters), ..CheckOptions::default() };
    let statistics = check(&loaded, &options, &mut Quiet).unwrap().outcome.statistics;
    assert_eq!(statistics.states, 504_004_501);
    assert!(statistics.nodes_peak.is_some_and(|nodes| nodes <= 2_864), "{:?}", statistics.nodes_peak);
}

/// Of the two examples of the paper, exactly the local states are left that it lists.
#[test]
fn local_states_are_those_of_the_paper() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/utool");
    for (model, conceivable, kept) in [("figure_1.m", 32, 10), ("ascii.m", 5120, 355)] {
        let loaded = load(folder.join(model), &LoadOptions::default()).unwrap();
        let states = &shoal::local_states(&loaded, &Watch::default()).sorts[0];
        assert_eq!((states.conceivable, &states.kept), (conceivable, &Ok(kept)), "{model}");
    }
    let loaded = load(folder.join("figure_1.m"), &LoadOptions::default()).unwrap();
    let states = &shoal::local_states(&loaded, &Watch::default()).sorts[0];
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

/// Checks a model by counters and by the explicit engine; gives the states of both, or what counters refuse.
fn counted(text: &str, counters: CounterOptions) -> Result<(u64, u64), String> {
    let loaded = load_text("counted.m", text, &LoadOptions::default()).unwrap();
    let run = |engine| {
        let options = CheckOptions { engine: Some(engine), counters, ..CheckOptions::default() };
        check(&loaded, &options, &mut Quiet)
    };
    let orbits = found(&loaded, &run(Engine::Explicit).unwrap()).unwrap();
    match run(Engine::Counters) {
        Ok(report) => {
            let states = found(&loaded, &report).unwrap();
            assert_eq!(states.0, orbits.0);
            Ok((states.1, orbits.1))
        }
        Err(Error::Unsupported(refusal)) => Err(refusal.construct),
        Err(error) => panic!("{error}"),
    }
}

const WAYS: [CounterOptions; 2] = [
    CounterOptions {
        explicit: false,
        broadcast: BroadcastMode::Composed,
        accelerate: true,
        reduce: false,
        thorough: true,
    },
    CounterOptions {
        explicit: true,
        broadcast: BroadcastMode::Composed,
        accelerate: false,
        reduce: true,
        thorough: true,
    },
];

/// Anybody could have any number if nothing were known of the number that is taken.
#[test]
fn local_states_are_few_where_plain_variables_are_known() {
    let text = "
const N: 3;
type process: scalarset(N); number: 0..99;
var g: number; x: array [process] of number; owner: process;
startstate begin g := 0; for p: process do x[p] := 0; end; undefine owner; end;
ruleset p: process do
  rule \"take\" isundefined(owner) ==>
    owner := p; x[p] := g; if g = 2 then g := 0; else g := g + 1; end;
  end;
  rule \"give\" !isundefined(owner) & owner = p ==> undefine owner; end;
end;
invariant \"small\" g <= 2;";
    for counters in WAYS {
        assert_eq!(counted(text, counters), Ok((37, 37)));
        let refused = counted(text, CounterOptions { thorough: false, ..counters });
        assert!(refused.is_err_and(|it| it.contains("more than")));
    }
    let loaded = load_text("numbers.m", text, &LoadOptions::default()).unwrap();
    assert_eq!(
        shoal::local_states(&loaded, &Watch::default()).plain,
        [("g".to_string(), "0..2".to_string())]
    );
}

/// What is known of one element at a time does not say that there are no two owners, so anybody could be late; and the
/// loop would move those who are.
#[test]
fn local_states_are_few_where_two_elements_exclude_each_other() {
    let text = "
const N: 4;
type client: scalarset(N); place: enum { Idle, Owner, Leaving };
var s: array [client] of place; late: array [client] of 0..2500; owned: boolean; told: boolean;
startstate begin
  for c: client do s[c] := Idle; late[c] := 0; end;
  owned := false; told := false;
end;
ruleset c: client do
  rule \"take\" s[c] = Idle & !owned ==> s[c] := Owner; owned := true; end;
  rule \"leave\" s[c] = Owner ==> s[c] := Leaving; end;
  rule \"done\" s[c] = Leaving ==> s[c] := Idle; owned := false; end;
  ruleset n: 0..2500 do rule \"late\" s[c] = Leaving & !owned ==> late[c] := n; end; end;
  rule \"tell\" s[c] = Owner & !told ==>
    told := true;
    for d: client do if late[d] > 0 then s[d] := Owner; end; end;
  end;
end;
invariant \"one\" forall c: client do forall d: client do c != d & s[c] = Owner -> s[d] = Idle end end;";
    for counters in WAYS {
        assert_eq!(counted(text, counters), Ok((6, 6)));
        let refused = counted(text, CounterOptions { thorough: false, ..counters });
        assert!(refused.is_err_and(|it| it.contains("ways between their local states")));
    }
    let loaded = load_text("owners.m", text, &LoadOptions::default()).unwrap();
    let known = shoal::local_states(&loaded, &Watch::default());
    assert_eq!((&known.sorts[0].kept, known.plain), (&Ok(3), Vec::new()));
}

/// The clock is looked at within a rule, however much there is to do in it.
#[test]
fn time_ends_what_engines_make_of_a_model() {
    let text = "
type process: scalarset(3);
var x: 0..1000; y: array [process] of 0..1;
startstate begin x := 0; for p: process do y[p] := 0; end; end;
ruleset p: process do
  rule true ==> y[p] := 1; for i: 0..4000000 do if x > 999 then x := 0; else x := x + 1; end; end; end;
end;
invariant \"some\" x <= 1000;";
    let loaded = load_text("long.m", text, &LoadOptions::default()).unwrap();
    for engine in [Engine::Symbolic, Engine::Counters] {
        let limits = Limits { time: Some(Duration::from_millis(100)), ..Limits::default() };
        let options =
            CheckOptions { engine: Some(engine), watch: Watch::start(limits), ..CheckOptions::default() };
        let begun = Instant::now();
        let report = check(&loaded, &options, &mut Quiet).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(20), "{engine:?}: {:?}", begun.elapsed());
        let stopped = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Time(_)));
        assert!(report.outcome.results.iter().all(|it| stopped(&it.verdict)), "{:?}", report.outcome.results);
    }
}
