//! Processes that point to each other: what a memory fault is, what breaks the symmetry of addresses, and the engines
//! against the reference interpreter on random small programs.

mod anomaly;
mod roles;

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use shoal::{CheckOptions, Engine, Error, LoadOptions, Loaded, Report, Status, check, load, load_text};
use shoal_interpret::{Firing, Interpreter, confirm, explore};
use shoal_model::{
    FaultKind, Job, Limits, MirrorSearch, Model, Order, Outcome, PropertyId, Quiet, Reason, SortId, Strategy,
    Verdict, Watch,
};

use crate::random::permute;

fn read(text: &str) -> Loaded {
    load_text("test.red", text, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(loaded: &Loaded, engine: Engine, symmetry: bool) -> Report {
    let options = CheckOptions {
        engine: Some(engine),
        symmetry,
        dead_variables: Some(false),
        ..CheckOptions::default()
    };
    check(loaded, &options, &mut Quiet).unwrap()
}

/// Both engines, with and without symmetry, find the same number of states of the whole space.
fn states(text: &str) -> u64 {
    let loaded = read(text);
    let states = run(&loaded, Engine::Explicit, false).outcome.statistics.states;
    assert_eq!(run(&loaded, Engine::Symbolic, false).outcome.statistics.states, states);
    states
}

/// The fault of the first violation, and the text where it is.
fn fault(text: &str) -> (FaultKind, String) {
    let loaded = read(text);
    let faults = [Engine::Explicit, Engine::Symbolic].map(|engine| {
        let report = run(&loaded, engine, true);
        let (_, violation) = report.violations().next().expect("a violation");
        match &violation.reason {
            Reason::Fault(_, fault) => (fault.kind.clone(), loaded.sources.snippet(fault.span).to_string()),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(faults[0], faults[1]);
    faults[0].clone()
}

const HEAD: &str =
    "global pointer g; global discrete c : 0..2; local pointer y, z; local discrete x : 0..2;\n";

fn node(transitions: &str, rest: &str) -> String {
    format!("{HEAD}process node : 2 {{ mode 0 {{ {transitions} }} mode 1 {{ }} }} {rest}")
}

#[test]
fn an_action_that_faults_is_a_memory_fault() {
    let zero = "initially zero;";
    let null = (FaultKind::NullReference, "y".to_string());
    assert_eq!(fault(&node("when true may y->x = 1; goto 1;", zero)), null);
    assert_eq!(fault(&node("when true may x = y->x; goto 1;", zero)), null);
    let longer = fault(&node("when true may y = P; x = y->z->y->x; goto 1;", zero));
    assert_eq!(longer, (FaultKind::NullReference, "y->z".to_string()));
    let range = fault(&node("when true may c = c + 1; goto 0;", zero));
    assert_eq!(range, (FaultKind::OutOfRange, "c + 1".to_string()));
    let division = fault(&node("when true may c = 2 / c; goto 0;", zero));
    assert_eq!(division, (FaultKind::DivisionByZero, "2 / c".to_string()));
    let address = fault(&node("when true may y = P + P; goto 1;", zero));
    assert_eq!(address.0, FaultKind::IndexOutOfRange);
    let index = fault(&node("when true may c = x[c]; goto 1;", zero));
    assert_eq!(index.0, FaultKind::IndexOutOfRange);
}

#[test]
fn a_guard_that_faults_does_not_fire() {
    let zero = "initially zero;";
    assert_eq!(states(&node("when y->x == 0 may goto 1;", zero)), 1);
    assert_eq!(states(&node("when y->x != 0 may goto 1;", zero)), 1);
    assert_eq!(states(&node("when not (y->x == 0) may goto 1;", zero)), 1);
    assert_eq!(states(&node("when y == NULL may goto 1;", zero)), 4);
}

#[test]
fn strict_connectives_look_at_both_sides() {
    let either = node("when y == NULL or y->x == 0 may goto 1;", "initially zero;");
    let implied = node("when y != NULL implies y->x == 0 may goto 1;", "initially zero;");
    for text in [either, implied] {
        assert_eq!(states(&text), 4);
        assert_eq!(states(&format!("connectives short; {text}")), 4);
        assert_eq!(states(&format!("connectives strict; {text}")), 1);
    }
    // Without faults both are the same.
    let plain = node("when y == NULL and x == 0 or c == 1 may c = 1 - c; goto 1;", "initially zero;");
    assert_eq!(states(&plain), states(&format!("connectives strict; {plain}")));
}

#[test]
fn variables_begin_as_initially_says() {
    let nothing = |rest: &str| states(&node("when false may goto 1;", rest));
    assert_eq!(nothing("initially zero;"), 1);
    let small = "local pointer y; local discrete x : 1..2; process node : 2 { mode 0 { } }";
    assert_eq!(states(small), 3 * 3 * 2 * 2);
    assert_eq!(states(&format!("{small} initially free;")), 36);
    assert_eq!(states(&format!("{small} initially zero but free y where y[1] != y[2];")), 6);
    assert_eq!(nothing("initially zero but free g, free x;"), 27);
    assert_eq!(nothing("initially zero but free g, c = 1 where g != NULL;"), 2);
    let loaded = read(&node(
        "when false may goto 1;",
        "initially zero but y = P, c = 2; safe forall p (y[p] == p and c == 2);",
    ));
    assert_eq!(run(&loaded, Engine::Explicit, true).status(), Status::Holds);
    let pinned = "initially free but g = 1, c = 0, x = 0, z = NULL where y[1] == 2 and y[2] == 1;";
    assert_eq!(nothing(pinned), 1);
}

#[test]
fn what_counts_processes_breaks_their_symmetry_by_name() {
    let reasons = |transition: &str| {
        let loaded = read(&node(transition, "initially zero;"));
        let symmetry = shoal_analysis::symmetry(&loaded.model);
        let sort = &symmetry.sorts[loaded.model.sorts.ids().next().unwrap()];
        let shown = |found: &shoal_analysis::Break| loaded.sources.snippet(found.span).to_string();
        (sort.breaks.iter().map(shown).collect::<Vec<_>>(), sort.pinned.iter().copied().collect::<Vec<u32>>())
    };
    let nothing = (Vec::new(), Vec::new());
    assert_eq!(reasons("when y == NULL and z != P may y = P; x = 1; goto 1;").0, nothing.0);
    assert_eq!(reasons("when g == NULL may g = P; goto 1;"), nothing);
    assert_eq!(reasons("when g == 1 may goto 1;"), (Vec::new(), vec![0]));
    assert_eq!(reasons("when x[2] == 1 may goto 1;"), (Vec::new(), vec![1]));
    assert_eq!(reasons("when P < g may goto 1;").0, ["P", "g"]);
    assert_eq!(reasons("when true may c = P; goto 1;").0, ["P"]);
    assert_eq!(reasons("when true may g = c; goto 1;").0, ["c"]);
    // And the engines still agree.
    states(&node(
        "when P < 2 may g = P + 1; c = g; goto 1; when g == 2 and x[1] == 0 may goto 1;",
        "initially zero;",
    ));
}

#[test]
fn swap_exchanges_two_variables() {
    let text = node(
        "when x == 0 may x = 2; y = P; swap(x, c); swap(g, y); goto 1;",
        "initially zero but c = 1; safe forall p (mode[p] == 1 implies x[p] == 1 or x[p] == 2);",
    );
    assert_eq!(states(&text), 5);
    assert_eq!(run(&read(&text), Engine::Explicit, true).status(), Status::Holds);
    // A variable may have that name.
    let named =
        "global discrete swap : 0..1; process node : 1 { mode 0 { when swap == 0 may swap = 1; goto 0; } }
        initially zero;";
    assert_eq!(states(named), 2);
}

#[test]
fn families_share_addresses_and_cells_are_passive() {
    let text = "
        global pointer head; local pointer next; local discrete full : 0..1;
        process worker : 2 { mode fill { when head != NULL and head->full == 0 and head->mode == passive may
          head->full = 1; head = head->next; goto done; } mode done { } }
        process cell : 2;
        initially zero but head = 3, next[3] = 4;
        safe \"workers are not filled\": forall p : worker (full[p] == 0);
        safe \"cells stay cells\": forall p : cell (mode[p] == passive) and exists p (mode[p] != passive);";
    assert_eq!(states(text), 4);
    assert_eq!(run(&read(text), Engine::Explicit, true).outcome.statistics.states, 3);
    assert_eq!(run(&read(text), Engine::Explicit, true).status(), Status::Holds);
}

#[test]
fn a_process_of_one_family_is_none_of_another() {
    let text = |guard: &str| {
        format!(
            "process node : 2 {{ mode 0 {{ when {guard} may goto 1; }} mode 1 {{ }} }}
        process cell : 1; initially zero;
        safe \"still\": forall p : node, q, r : cell (mode[p] == 0 and p != q and q == r);"
        )
    };
    let status = |guard: &str| run(&read(&text(guard)), Engine::Explicit, true).status();
    assert_eq!(status("exists p : cell (p == P)"), Status::Holds);
    assert_eq!(status("forall p : cell, q : node (p == q)"), Status::Holds);
    assert_eq!(status("exists p : cell (p != P)"), Status::Violated);
    assert_eq!(status("exists p : cell, q : node (q == P and p != q)"), Status::Violated);
}

#[test]
fn wrong_texts_are_refused_with_a_place() {
    let code = |text: &str| match load_text("wrong.red", text, &LoadOptions::default()) {
        Err(Error::Source(rejected)) => rejected.diagnostics.iter().map(|it| it.code.0).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    let one = |transition: &str| code(&node(transition, ""));
    assert_eq!(one("when true may q = 1; goto 1;"), ["E0311"]);
    assert_eq!(one("when true may goto 7;"), ["E0311"]);
    assert_eq!(one("when x may goto 1;"), ["E0313"]);
    assert_eq!(one("when x->y == P may goto 1;"), ["E0313"]);
    assert_eq!(one("when y->g == P may goto 1;"), ["E0313"]);
    assert_eq!(one("when g == 5 may goto 1;"), ["E0315"]);
    assert_eq!(one("when true may mode = 1; goto 1;"), ["E0317"]);
    assert_eq!(one("when true may swap(mode, x); goto 1;"), ["E0317"]);
    assert_eq!(one("when true may swap(y->x, x); goto 1;"), ["E0317"]);
    assert_eq!(one("when true may swap(y, x); goto 1;"), ["E0313"]);
    assert_eq!(code(&node("when true may goto 1;", "safe x == 0;")), ["E0313"]);
    assert_eq!(code(&node("when true may goto 1;", "safe P == 0;")), ["E0313"]);
    assert_eq!(code("process node : 0 { mode 0 { } }"), ["E0315"]);
    assert_eq!(code("process node : 2;"), ["E0318"]);
    assert_eq!(code("const M = 2;"), ["E0318"]);
}

#[test]
fn engines_agree_on_the_models() {
    for model in [
        "mcs",
        "mcs_free",
        "mcs_bug",
        "leader",
        "leader_bug",
        "cycle",
        "cycle_bug",
        "buffer",
        "readers_writers",
    ] {
        let path = format!("{}/../../models/red/{model}.red", env!("CARGO_MANIFEST_DIR"));
        let options = LoadOptions { set: vec![("M".into(), 2)], ..LoadOptions::default() };
        let loaded = load(path, &options).unwrap();
        let said = |engine, symmetry| {
            let options = CheckOptions {
                engine: Some(engine),
                symmetry,
                dead_variables: Some(false),
                patience: None,
                ..CheckOptions::default()
            };
            let report = check(&loaded, &options, &mut Quiet).unwrap();
            (violations(&loaded.model, &report.outcome), report.outcome.statistics.states)
        };
        let (full, reduced) = (said(Engine::Explicit, false), said(Engine::Explicit, true));
        assert_eq!(full, said(Engine::Symbolic, false), "{model}");
        assert_eq!(full.0, reduced.0, "{model}");
        // Backwards from a fault of a semaphore there are far more states than can be reached.
        if ["buffer", "readers_writers"].contains(&model) {
            continue;
        }
        let strategy = Strategy { order: Order::Backward, ..Strategy::default() };
        let options = CheckOptions {
            engine: Some(Engine::Symbolic),
            strategy,
            patience: None,
            ..CheckOptions::default()
        };
        let backward = check(&loaded, &options, &mut Quiet).unwrap();
        assert_eq!(full.0, violations(&loaded.model, &backward.outcome), "{model}");
    }
}

/// The length of the shortest counterexample of each violated property; all are replayed.
fn violations(model: &Model, outcome: &Outcome) -> BTreeMap<PropertyId, usize> {
    let mut found = BTreeMap::new();
    for result in &outcome.results {
        match &result.verdict {
            // It is not known what is behind a step that fails; as far as was seen, both say the same.
            Verdict::Holds | Verdict::Unknown(shoal_model::StopReason::NotFollowed) => {}
            Verdict::Violated(violation) => {
                confirm(model, result.property, violation).expect("a violation replays");
                found.insert(result.property, violation.trace.as_ref().map_or(0, |trace| trace.steps.len()));
            }
            Verdict::Unknown(reason) => panic!("no limit was given, but {reason}"),
        }
    }
    found
}

/// Writes a program, taking every decision from the bytes.
struct Writer<'b> {
    bytes: &'b [u8],
}

impl Writer<'_> {
    fn below(&mut self, bound: u8) -> u8 {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        first % bound
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u8) as usize]
    }

    /// A pointer's value.
    fn address(&mut self) -> &'static str {
        self.of(&["P", "NULL", "g", "y", "z", "y->z", "g->y", "g->y->z", "z->z->y", "y[g]", "y[P]->z"])
    }

    fn number(&mut self) -> &'static str {
        self.of(&[
            "0",
            "1",
            "2",
            "x",
            "c",
            "y->x",
            "g->x",
            "z->y->x",
            "x + 1",
            "1 - y->x",
            "2 * g->x + c",
            "x / c",
        ])
    }

    fn condition(&mut self) -> String {
        match self.below(7) {
            0 => "true".into(),
            1 | 2 => format!("{} {} {}", self.address(), self.of(&["==", "!="]), self.address()),
            3 => format!("{} {} {}", self.number(), self.of(&["==", "<", "!="]), self.number()),
            4 => format!("g->mode == {}", self.below(2)),
            5 => format!("not ({})", self.condition()),
            _ => {
                format!("({} {} {})", self.condition(), self.of(&["and", "or", "implies"]), self.condition())
            }
        }
    }

    fn action(&mut self) -> String {
        match self.below(2) {
            0 => format!(
                "{} = {};",
                self.of(&["g", "y", "z", "y->z", "g->y", "g->y->z", "y[g]"]),
                self.address()
            ),
            _ => format!("{} = {};", self.of(&["c", "x", "y->x", "g->x", "g->z->x"]), self.number()),
        }
    }

    fn program(&mut self) -> String {
        let mut text = HEAD.to_string();
        text += self.of(&["", "connectives strict;\n"]);
        let families: &[&str] = match self.below(3) {
            0 => &["a : 2", "b : 1"],
            1 => &["a : 3"],
            _ => &["a : 2"],
        };
        let mut mode = 0;
        for family in families {
            text += &format!("process {family} {{\n");
            let first = mode;
            for _ in 0..2 {
                text += &format!("  mode {mode} {{\n");
                for _ in 0..=self.below(2) {
                    let (when, mut actions) = (self.condition(), String::new());
                    for _ in 0..self.below(3) {
                        actions += &self.action();
                    }
                    text += &format!("    when {when} may {actions} goto {};\n", first + self.below(2));
                }
                text += "  }\n";
                mode += 1;
            }
            text += "}\n";
        }
        text += self.of(&[
            "initially zero;",
            "initially zero but free g;",
            "initially zero but y = P;",
            "initially zero but free y where g == NULL;",
        ]);
        text += self.of(&[
            "",
            "\nsafe forall p, q (p != q implies not (mode[p] == 1 and mode[q] == 1));",
            "\nsafe exists p (y[p] == NULL or x[p] < 2);",
            "\nsafe forall p (y[p]->x != 2);",
        ]);
        text
    }
}

/// Conditions on starts, and how they may be joined.
const GIVEN: [&str; 10] = [
    "forall p (next[p] != p)",
    "exists p (next[p] == NULL)",
    "forall p, q (p != q implies next[p] != next[q])",
    "L != NULL",
    "L == NULL",
    "forall p (next[p] == NULL or next[p]->next != p)",
    "forall p (v[p] == 1 implies next[p] == NULL)",
    "exists p (v[p] == 1 and L == p)",
    "forall p (next[p] != NULL implies next[p]->v == 0)",
    "L->next == NULL",
];

fn with_starts(given: &str, most: u32) -> String {
    format!(
        "const M = {most};
        global pointer L; local pointer next; local discrete v : 0..1;
        process node : M {{ mode 0 {{ when L == P may goto 1; }} mode 1 {{ when next == NULL may goto 0; }} }}
        initially free where {given};
        safe \"nobody\": forall p (mode[p] == 0);"
    )
}

/// Whoever looks ahead begins where all others do, in the same order, and tries less.
#[test]
fn starts_that_look_ahead_are_the_same() {
    let mut random = crate::random::salt().wrapping_add(1);
    let mut pick = |count: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % count
    };
    let count = std::env::var("SHOAL_RANDOM_MODELS").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    let (mut fewer, mut kept) = (0, 0);
    for _ in 0..count {
        let parts: Vec<&str> = (0..1 + pick(3)).map(|_| GIVEN[pick(GIVEN.len())]).collect();
        let given = match pick(4) {
            0 => format!("not ({})", parts.join(" and ")),
            1 => format!("({})", parts.join(" or ")),
            _ => parts.join(" and "),
        };
        let text = with_starts(&given, 2);
        let model = read(&text).model;
        let plain = Interpreter::new(&model).unwrap();
        let all: Vec<_> = plain
            .start_instances()
            .into_iter()
            .flat_map(|(start, args)| {
                plain.run_start(start, &args).into_iter().map(move |run| (start, args.clone(), run))
            })
            .collect();
        let left: Vec<_> = all.iter().filter(|(.., run)| run.result != Firing::Discarded).cloned().collect();
        let better = shoal_analysis::foresee(&model).expect("a start with choices");
        shoal_model::verify(&better).unwrap();
        let ahead = Interpreter::new(&better).unwrap();
        assert_eq!(ahead.starts_up_to(usize::MAX), left, "{text}");
        let tried: usize =
            ahead.start_instances().iter().map(|(start, args)| ahead.run_start(*start, args).len()).sum();
        assert!(tried <= all.len(), "{text}");
        fewer += usize::from(tried < all.len());
        kept += left.len();
        agrees(&text);
    }
    assert!(fewer > count / 3 && kept > count, "dull: {fewer} of {count} tried less, {kept} starts");
    // Nine processes: of many thousand millions of ways ten are left, and two that differ by more than names.
    let given = "L == NULL and forall p (v[p] == 0) and forall p (next[p] == NULL or next[p] == p)
        and forall p, q (p != q implies not (next[p] == p and next[q] == q))";
    let large = run(&read(&with_starts(given, 9)), Engine::Explicit, true);
    assert_eq!((large.status(), large.outcome.statistics.states), (Status::Holds, 2));
}

/// Programs with more states than this are skipped: the interpreter is slow.
const MOST_STATES: usize = 3_000;

fn agrees(text: &str) {
    let model = read(text).model;
    let reference = explore(&model, MOST_STATES).expect("it can be run");
    if !reference.complete {
        return;
    }
    let job = |symmetric: &[SortId]| Job {
        properties: model.properties.ids().collect(),
        noticed: Vec::new(),
        symmetric: symmetric.to_vec(),
        automorphisms: MirrorSearch::Never,
        checked: Vec::new(),
        watch: Watch::start(Limits { memory: Some(1 << 26), ..Limits::default() }),
        patience: None,
        jit: true,
        threads: 1,
        strategy: Strategy::default(),
        adapts: false,
    };
    let symmetry = shoal_analysis::symmetry(&model);
    let proved: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    assert_eq!(proved.len(), model.sorts.len(), "addresses are only compared\n{text}");
    let full = shoal_explicit::check(&model, &job(&[]), &mut Quiet).unwrap();
    let reduced = shoal_explicit::check(&model, &job(&proved), &mut Quiet).unwrap();
    let symbolic = shoal_symbolic::check(&model, &job(&[]), &mut Quiet).unwrap();
    let strategy = Strategy { order: Order::Backward, ..Strategy::default() };
    let backward = shoal_symbolic::check(&model, &Job { strategy, ..job(&[]) }, &mut Quiet).unwrap();
    for outcome in [&full, &reduced, &symbolic, &backward] {
        assert_eq!(violations(&model, outcome), reference.violated, "{text}");
    }
    if full.statistics.exhaustive {
        assert_eq!(full.statistics.states as usize, reference.states, "{text}");
    }
    if symbolic.statistics.exhaustive {
        assert_eq!(symbolic.statistics.states as usize, reference.states, "{text}");
    }
    if reduced.statistics.exhaustive {
        let all: BTreeSet<_> = reference.reached.iter().cloned().collect();
        let (orbits, _) = permute::orbits(&model, &all, &proved);
        assert_eq!(reduced.statistics.states as usize, orbits, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: crate::random::dose(150),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn engines_agree_on_random_programs(bytes in prop::collection::vec(any::<u8>(), 20..80)) {
        agrees(&Writer { bytes: &bytes }.program());
    }
}
