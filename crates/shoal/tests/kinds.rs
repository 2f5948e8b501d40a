//! Every kind of property, held and violated, on every engine, with every way to use symmetry, to search and to store: an
//! engine agrees with the truth, or it refuses by name. The truth is written here, and the interpreter agrees with it where it
//! says something.

use std::collections::BTreeSet;

use shoal::{
    CheckOptions, EngineKind, Error, LoadOptions, Loaded, Order, PartialOrder, PromelaOptions, Quiet, Report,
    Representatives, Sources, Storage, Strategy, Verdict, check, load_sources,
};
use shoal_interpret::{decide_branching, explore};
use shoal_model::{Asks, DeadlockKind, Logic, PropertyKind, StopReason};

/// A model and whether each of its properties holds.
struct Row {
    file: &'static str,
    text: String,
    options: LoadOptions,
    truth: &'static [(&'static str, bool)],
}

fn row(file: &'static str, text: impl Into<String>, truth: &'static [(&'static str, bool)]) -> Row {
    Row { file, text: text.into(), options: LoadOptions::default(), truth }
}

const MURPHI: &str = "
type P: scalarset(2);
var s: array [P] of 0..3; x: 0..3;
startstate begin for p: P do s[p] := 0; end; x := 0; end;
ruleset p: P do
  rule \"up\" s[p] < 2 ==> begin
    s[p] := s[p] + 1;
    assert \"below three\" s[p] < 3; cover \"two\" s[p] = 2; cover \"three\" s[p] = 3;
  end;
  rule \"down\" s[p] = 2 & x < 2 ==> begin s[p] := 1; x := x + 1; assume \"given\" x < 3; end;
end;
invariant \"small\" forall p: P do s[p] < 3 end;
invariant \"never done\" x < 2;
cover \"done\" x = 2;
cover \"overdone\" x = 3;
liveness \"can be done\" x = 2;
liveness \"can be begun\" x = 1;
ltl \"comes to an end\" <> x = 2;
ltl \"goes on\" [] <> x = 1;
ltl \"each leaves\" forall p: P do [] (s[p] = 2 -> <> x = 2) end;
ltl \"each stays\" forall p: P do [] s[p] = 0 end;
ctl \"must end\" AF x = 2;
ctl \"may rest\" EG x = 0;
ctl \"each may rise\" forall p: P do AG (s[p] = 1 & x < 2 -> EF s[p] = 2) end;
ctl \"one must rise\" exists p: P do AX s[p] = 1 end;
";
const OF_MURPHI: &[(&str, bool)] = &[
    ("below three", true),
    ("two", true),
    ("three", false),
    ("small", true),
    ("never done", false),
    ("done", true),
    ("overdone", false),
    ("can be done", true),
    ("can be begun", false),
    ("comes to an end", true),
    ("goes on", false),
    ("each leaves", true),
    ("each stays", false),
    ("must end", true),
    ("may rest", false),
    ("each may rise", true),
    ("one must rise", false),
    ("no run-time errors", true),
    ("deadlock", false),
];

/// An index that is left, in a step and in a property, and a step that never ends.
const FAULTY: &str = "
type P: scalarset(2);
var s: array [P] of 0..2; t: array [0..1] of 0..1;
startstate begin for p: P do s[p] := 0; end; t[0] := 0; t[1] := 0; end;
ruleset p: P do
  rule \"up\" begin t[s[p]] := 1; s[p] := s[p] + 1; end;
  rule \"look\" begin assert \"below two\" s[p] < 2; end;
end;
invariant \"nobody is above\" forall p: P do s[p] <= 2 end;
invariant \"an index\" forall p: P do t[s[p]] <= 1 end;
";
const OF_FAULTY: &[(&str, bool)] = &[
    ("below two", false),
    ("nobody is above", true),
    ("an index", false),
    ("no run-time errors", false),
    // A check that fails is a step all the same.
    ("deadlock", true),
];

const LOCK: &str = "
const N: 3;
type P: scalarset(N);
var s: array [P] of 0..1; free: boolean;
startstate begin for p: P do s[p] := 0; end; free := true; end;
ruleset p: P do
  rule \"take\" s[p] = 0 & free ==> begin s[p] := 1; free := false; end;
  rule \"give\" s[p] = 1 ==> begin s[p] := 0; free := true; end;
end;
invariant \"one\" forall p: P do forall q: P do p = q | s[p] = 0 | s[q] = 0 end end;
invariant \"none\" forall p: P do s[p] = 0 end;
";

const PROMELA: &str = "
byte n; bool stuck;
active [2] proctype A() { do :: n < 3 -> n++ :: n >= 3 -> break od; assert(n < 4) }
active proctype B() { n == 3 -> stuck = true; false }
ltl rises { <> (n >= 3) }
ltl stays { [] (n < 3) }
";
const ENDS: &str = "byte n; active [2] proctype A() { n++; n == 2; assert(n == 2) } proctype B() { n = 7 }";
const RUNS: &str =
    "byte n; proctype P() { if :: n < 2 -> n++; run P() :: else -> skip fi; false } init { run P() }";

/// Without clocks and with one that nothing looks at: time may pass in both.
const UPPAAL: &str = "
int v; process P() { state A, B, C; init A;
  trans A -> A { guard v < 2; assign v := v + 1; }, A -> B { guard v == 2; }, A -> C { guard v == 1; assign v := 5; }; }
system P;
";
const OF_UPPAAL: &[(&str, bool)] = &[
    ("A[] v <= 5", true),
    ("A[] v <= 2", false),
    ("E<> P.B", true),
    ("E<> P.B and v == 5", false),
    ("E<> deadlock", true),
    ("E<> deadlock and P.C", true),
    ("E<> deadlock and P.A", false),
    ("E<> v == 1 and deadlock", false),
    ("A[] not deadlock", false),
    ("A[] deadlock imply v != 1", true),
    ("A[] deadlock imply P.B", false),
    ("A<> P.A", true),
    ("A<> P.B", false),
    ("E[] P.A", true),
    ("E[] P.C", false),
    ("P.B --> v == 2", true),
    ("v == 1 --> v == 2", false),
    ("sup: v", true),
    ("no run-time errors", true),
];

const TIMED: &str = "
clock x; int v;
process P() { state A { x <= 5 }, B, C { x <= 7 }; init A;
  trans A -> B { guard x >= 2; assign v := 3; }, B -> C { guard x < 4; }; }
system P;
";
const OF_TIMED: &[(&str, bool)] = &[
    ("A[] P.B imply x >= 2", true),
    ("A[] P.C imply x >= 4", false),
    ("E<> P.C and x >= 7", true),
    ("E<> P.C and x > 7", false),
    ("E<> deadlock and P.B", true),
    ("E<> deadlock and P.B and x < 4", false),
    ("A[] not deadlock", false),
    ("A[] deadlock imply not P.A", true),
    ("A<> P.B", true),
    ("A<> P.C", false),
    ("E[] P.A", false),
    ("E[] not P.C", true),
    ("P.A --> P.B", true),
    ("P.B --> P.C", false),
    ("sup{P.C}: x", true),
    ("no run-time errors", true),
];

const AUTOMATA: &str = "
automata A : i = 1..2; clock x[1..total(A)]; register lock;
automaton A[i] { initially M1 and lock = 0;
  mode M1 { when lock = 0 may goto M2; x[i] := 0; lock := i; }
  mode M2 { invariant x[i] <= 2; when x[i] >= 1 may goto NEXT; lock := 0; }
  mode M3 { invariant x[i] <= 2; } }
verify \"one at a time\": all_paths ( henceforth not {mode(A[1]) = M2 and mode(A[2]) = M2} );
verify \"never the second\": all_paths ( henceforth not {mode(A[2]) = M2} );
verify \"soon back\": all_paths ( henceforth ( mode(A[1]) = M2 implies all_paths ( eventually [<= 2] mode(A[1]) = M1 ) ) );
verify \"at once back\": all_paths ( henceforth ( mode(A[1]) = M2 implies all_paths ( eventually [<= 1] mode(A[1]) = M1 ) ) );
verify \"time goes on\": all_paths ( henceforth not timelock );
verify \"always a step\": all_paths ( henceforth not deadlock );
";

fn few(processes: u32) -> LoadOptions {
    let promela = PromelaOptions { processes, ..PromelaOptions::default() };
    LoadOptions { promela, ..LoadOptions::default() }
}

fn rows() -> Vec<Row> {
    let any = LoadOptions { any: vec!["N".into()], ..LoadOptions::default() };
    let stuck = LoadOptions { deadlock: shoal::Deadlock::Stuck, ..LoadOptions::default() };
    vec![
        row("all.m", MURPHI, OF_MURPHI),
        row("faulty.m", FAULTY, OF_FAULTY),
        row(
            "lock.m",
            LOCK,
            &[("one", true), ("none", false), ("no run-time errors", true), ("deadlock", true)],
        ),
        Row { options: any, ..row("lock.m", LOCK, &[("one", true), ("none", false)]) },
        Row { options: stuck.clone(), ..row("all.m", MURPHI, &[("small", true), ("deadlock", false)]) },
        Row { options: stuck, ..row("lock.m", LOCK, &[("deadlock", true)]) },
        row(
            "asserts.pml",
            PROMELA,
            &[
                ("assertions", false),
                ("rises", true),
                ("stays", false),
                ("no run-time errors", true),
                ("invalid end states", false),
            ],
        ),
        row(
            "ends.pml",
            ENDS,
            &[("assertions", true), ("no run-time errors", true), ("invalid end states", true)],
        ),
        Row {
            options: few(3),
            ..row(
                "runs.pml",
                RUNS,
                &[("at most 3 processes of a proctype", true), ("invalid end states", false)],
            )
        },
        row("plain.xta", UPPAAL, OF_UPPAAL),
        row("clock.xta", format!("clock x; {UPPAAL}"), OF_UPPAAL),
        row("timed.xta", TIMED, OF_TIMED),
        row(
            "back.vpl",
            AUTOMATA.replace("NEXT", "M1"),
            &[
                ("one at a time", true),
                ("never the second", false),
                ("soon back", true),
                ("at once back", false),
                ("time goes on", true),
                ("always a step", true),
            ],
        ),
        row(
            "stop.vpl",
            AUTOMATA.replace("NEXT", "M3"),
            &[("one at a time", true), ("time goes on", false), ("always a step", false)],
        ),
        row("two.tts", "1 2\n0 0 -> 0 1\n0|1,1\n", &[("0|1,1 is unreachable", false)]),
        row("gone.tts", "2 2\n0 0 -> 1 1\n0|1\n", &[("0|1 is unreachable", true)]),
    ]
}

impl Row {
    fn load(&self) -> Loaded {
        let mut sources = Sources::text(self.file, self.text.as_str());
        if let Some(stem) = self.file.strip_suffix(".xta") {
            let asked = self.truth.iter().map(|(query, _)| *query).filter(|it| !it.starts_with("no "));
            sources = sources.with(format!("{stem}.q"), asked.collect::<Vec<_>>().join("\n"));
        }
        load_sources(&sources, &self.options).unwrap_or_else(|error| panic!("{}: {error}", self.file))
    }

    /// Whether a property holds, if that is written down.
    fn truth(&self, name: &str) -> Option<bool> {
        self.truth.iter().find(|(it, _)| *it == name).map(|(_, holds)| *holds)
    }

    /// The interpreter does not contradict what is written down, and every line of that is about a property.
    fn confirm(&self, loaded: &Loaded) {
        let properties = || loaded.model.properties.iter();
        for (name, _) in self.truth {
            assert!(properties().any(|it| it.name == *name), "{}: {name} is not asked", self.file);
        }
        let Ok(explored) = explore(&loaded.model, 10_000) else { return };
        let branching = decide_branching(&loaded.model, 10_000).unwrap_or_default();
        for id in &loaded.asked {
            let property = &loaded.model.properties[*id];
            let found = match property.kind.asks() {
                Asks::States if !loaded.model.has_clocks() => Some(!explored.violated.contains_key(id)),
                Asks::Formula(Logic::Ctl) => {
                    branching.iter().find(|(known, _)| known == id).map(|(_, holds)| *holds)
                }
                Asks::States
                | Asks::Timelocks
                | Asks::Formula(Logic::Ltl | Logic::Tctl)
                | Asks::Extreme
                | Asks::Unclear(_) => None,
            };
            if let (Some(found), Some(truth)) = (found, self.truth(&property.name)) {
                assert_eq!(found, truth, "{}: the interpreter on {}", self.file, property.name);
            }
        }
    }
}

const ENGINES: [Option<EngineKind>; 7] = [
    None,
    Some(EngineKind::Explicit),
    Some(EngineKind::Symbolic),
    Some(EngineKind::Counters),
    Some(EngineKind::Cover),
    Some(EngineKind::Views),
    Some(EngineKind::Timed),
];

/// Every engine with every way to use symmetry, and every way to search and to store with those that have them.
fn ways() -> Vec<CheckOptions> {
    let mut ways = Vec::new();
    let base = CheckOptions::default;
    for engine in ENGINES {
        ways.push(CheckOptions { engine, symmetry: false, ..base() });
        for representatives in
            [Representatives::Exact, Representatives::Fast, Representatives::Gasr, Representatives::Multiple]
        {
            ways.push(CheckOptions {
                engine,
                strategy: Strategy { representatives, ..base().strategy },
                ..base()
            });
        }
    }
    for order in [Order::DepthFirst, Order::Backward] {
        for engine in [None, Some(EngineKind::Symbolic)] {
            ways.push(CheckOptions { engine, strategy: Strategy { order, ..base().strategy }, ..base() });
        }
    }
    for storage in [Storage::Tree, Storage::Hashes, Storage::Bits] {
        let order = if storage == Storage::Bits { Order::DepthFirst } else { Order::BreadthFirst };
        ways.push(CheckOptions { strategy: Strategy { storage, order, ..base().strategy }, ..base() });
    }
    for partial_order in [PartialOrder::Off, PartialOrder::Stubborn] {
        ways.push(CheckOptions { strategy: Strategy { partial_order, ..base().strategy }, ..base() });
    }
    ways.push(CheckOptions { jit: false, ..base() });
    ways.push(CheckOptions { dead_variables: Some(true), ..base() });
    ways.push(CheckOptions { dead_variables: Some(false), threads: 1, ..base() });
    ways
}

/// Whether a way is for some properties or some models only.
fn is_special(options: &CheckOptions) -> bool {
    let Strategy { order, representatives, storage, .. } = options.strategy;
    options.engine.is_some()
        || order != Order::BreadthFirst
        || storage != Storage::Exact
        || matches!(representatives, Representatives::Gasr | Representatives::Multiple)
}

/// Whether a way may leave something open that it was not asked to refuse.
fn is_partial(options: &CheckOptions) -> bool {
    matches!(options.strategy.storage, Storage::Hashes | Storage::Bits)
}

/// Compares verdicts with the truth; how many were decided.
fn agree(what: &str, row: &Row, loaded: &Loaded, options: &CheckOptions, report: &Report) -> usize {
    let mut decided = 0;
    for (at, result) in report.outcome.results.iter().enumerate() {
        let name = &loaded.model.properties[result.property].name;
        let Some(truth) = row.truth(name) else { continue };
        let holds = match &result.verdict {
            Verdict::Holds => true,
            Verdict::Violated(_) => false,
            Verdict::Unknown(StopReason::Unsupported(_)) if is_special(options) => continue,
            // Another property of the model says that a step fails.
            Verdict::Unknown(StopReason::NotFollowed) if truth => {
                decided += 1;
                continue;
            }
            // Views do not prove everything.
            Verdict::Unknown(StopReason::AnyNumber(_)) if options.engine == Some(EngineKind::Views) => {
                continue;
            }
            Verdict::Unknown(reason) => {
                let internal = matches!(reason, StopReason::Internal(_));
                assert!(is_partial(options) && !internal, "{what}: {name}: {reason}");
                continue;
            }
        };
        assert_eq!(holds, truth, "{what}: {name}");
        let engine = report.statistics_of(at).map(|statistics| statistics.engine);
        assert!(engine.is_some_and(|engine| !engine.is_empty()), "{what}: nobody decided {name}");
        decided += 1;
    }
    decided
}

/// The kinds of properties, in words. A new one does not compile without a word, and the test below wants it in a row.
fn word(kind: &PropertyKind) -> &'static str {
    match kind {
        PropertyKind::Invariant(_) => "invariant",
        PropertyKind::Assertion => "assertion",
        PropertyKind::NoFaults => "no faults",
        PropertyKind::Bound => "bound",
        PropertyKind::Deadlock(DeadlockKind::Stuck) => "stuck",
        PropertyKind::Deadlock(DeadlockKind::Stuttering) => "stuttering",
        PropertyKind::Deadlock(DeadlockKind::Timelock) => "timelock",
        PropertyKind::Deadlock(DeadlockKind::StuckUnless(_)) => "stuck unless",
        PropertyKind::Assume(_) => "assume",
        PropertyKind::Cover(Some(_)) => "cover",
        PropertyKind::Cover(None) => "cover in a step",
        PropertyKind::CoverDeadlock(_) => "cover deadlock",
        PropertyKind::AlwaysPossible(_) => "always possible",
        PropertyKind::Temporal(Logic::Ltl, _) => "ltl",
        PropertyKind::Temporal(Logic::Ctl, _) => "ctl",
        PropertyKind::Temporal(Logic::Tctl, _) => "tctl",
        PropertyKind::Extreme(_) => "value",
        PropertyKind::Unclear(_) => "unclear",
    }
}

const KINDS: [&str; 16] = [
    "invariant",
    "assertion",
    "no faults",
    "bound",
    "stuck",
    "stuttering",
    "timelock",
    "stuck unless",
    "cover",
    "cover in a step",
    "cover deadlock",
    "always possible",
    "ltl",
    "ctl",
    "tctl",
    "value",
];

#[test]
fn every_engine_agrees_on_every_kind_of_property_or_refuses_it_by_name() {
    let mut asked = BTreeSet::new();
    let mut decided_by = BTreeSet::new();
    for row in rows() {
        let loaded = row.load();
        row.confirm(&loaded);
        for property in loaded.model.properties.iter() {
            if let Some(holds) = row.truth(&property.name) {
                asked.insert((word(&property.kind), holds));
            }
        }
        for options in ways() {
            let CheckOptions { engine, symmetry, strategy, .. } = &options;
            let what = format!("{} by {engine:?}, symmetry {symmetry}, {strategy:?}", row.file);
            let report = match check(&loaded, &options, &mut Quiet) {
                Ok(report) => report,
                Err(Error::Unsupported(_) | Error::Call(_)) => continue,
                Err(error) => panic!("{what}: {error}"),
            };
            if agree(&what, &row, &loaded, &options, &report) > 0 {
                decided_by.insert(engine.map(EngineKind::name));
            }
        }
    }
    for kind in KINDS {
        assert!(asked.contains(&(kind, true)), "nothing holds of the kind {kind}");
        // A value has no violation, and where a bound is reached nothing is known.
        assert!(
            ["value", "bound"].contains(&kind) || asked.contains(&(kind, false)),
            "nothing is violated of the kind {kind}"
        );
    }
    assert_eq!(decided_by.len(), ENGINES.len(), "{decided_by:?}");
}

#[test]
fn where_a_model_has_no_room_nothing_holds() {
    let loaded = Row { options: few(2), ..row("runs.pml", RUNS, &[]) }.load();
    let mut decided = 0;
    for options in ways() {
        let Ok(report) = check(&loaded, &options, &mut Quiet) else { continue };
        for result in &report.outcome.results {
            let open = matches!(
                result.verdict,
                Verdict::Unknown(StopReason::Bound(_) | StopReason::Unsupported(_) | StopReason::Omission(_))
            );
            assert!(open, "{:?} by {:?}", result.verdict, options.engine);
            decided += 1;
        }
    }
    assert!(decided > 20, "{decided}");
}
