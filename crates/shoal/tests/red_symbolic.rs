//! Processes that point to each other, in diagrams: the reference counts of the six benchmarks, starts that leave variables
//! free, chains of any length, and ways back from a violation.
//!
//! `SHOAL_RED_LARGE=1` adds the larger instances, which take minutes.

use shoal::{CheckOptions, Engine, LoadOptions, Loaded, Report, check, load, load_text};
use shoal_interpret::confirm;
use shoal_model::{Order, Quiet, Reason, Representatives, Strategy, Verdict};

fn model(name: &str, processes: i64) -> Loaded {
    let path = format!("{}/../../models/red/{name}.red", env!("CARGO_MANIFEST_DIR"));
    load(path, &LoadOptions { set: vec![("M".into(), processes)], ..LoadOptions::default() }).unwrap()
}

fn text(text: &str) -> Loaded {
    load_text("test.red", text, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// How a model is checked.
#[derive(Clone, Copy)]
enum Way {
    Raw,
    Inactive,
    Reduced(Representatives),
    Backward,
}

fn run(loaded: &Loaded, engine: Engine, way: Way) -> Report {
    check(loaded, &options(engine, way), &mut Quiet).unwrap()
}

fn options(engine: Engine, way: Way) -> CheckOptions {
    let order = if matches!(way, Way::Backward) { Order::Backward } else { Order::default() };
    let representatives = match way {
        Way::Reduced(representatives) => representatives,
        _ => Representatives::default(),
    };
    CheckOptions {
        engine: Some(engine),
        symmetry: matches!(way, Way::Reduced(_)),
        dead_variables: Some(!matches!(way, Way::Raw | Way::Backward)),
        patience: None,
        strategy: Strategy { order, representatives, ..Strategy::default() },
        ..CheckOptions::default()
    }
}

fn states(loaded: &Loaded, engine: Engine, way: Way) -> u64 {
    run(loaded, engine, way).outcome.statistics.states
}

fn large() -> bool {
    std::env::var_os("SHOAL_RED_LARGE").is_some()
}

/// The model, its number of processes, and the reference counts: all states, inactive variables reset, Red's symmetry,
/// orbits. Red's symmetry also exchanges producers with consumers and readers with writers, which are not alike here: for
/// these two models its count is left out.
type Row = (&'static str, i64, Option<u64>, Option<u64>, Option<u64>, Option<u64>);

const SMALL: &[Row] = &[
    ("mcs", 3, Some(14_962), Some(824), Some(196), Some(145)),
    ("mcs", 4, None, Some(13_280), None, Some(592)),
    ("leader", 3, Some(68), Some(68), Some(25), Some(16)),
    ("leader", 4, Some(536), Some(536), Some(100), Some(37)),
    ("leader", 5, Some(5_562), Some(5_562), Some(506), Some(87)),
    ("cycle", 3, Some(152), Some(16), Some(5), Some(4)),
    ("cycle", 4, Some(3_992), Some(65), Some(10), Some(5)),
    ("buffer", 3, Some(6_534), Some(547), None, Some(304)),
    ("readers_writers", 3, Some(256), Some(256), None, Some(132)),
    ("readers_writers", 4, None, Some(745), None, Some(218)),
    ("region", 3, Some(8_978), Some(1_169), None, Some(213)),
];

const LARGE: &[Row] = &[
    ("mcs", 4, Some(999_660), None, Some(1_304), None),
    ("mcs", 5, None, Some(265_872), Some(10_432), Some(2_383)),
    ("leader", 6, Some(72_148), Some(72_148), Some(3_140), Some(209)),
    ("cycle", 5, Some(205_622), Some(326), Some(23), Some(6)),
    ("cycle", 6, None, Some(1_957), Some(64), Some(7)),
    ("buffer", 4, Some(168_850), Some(2_542), None, Some(776)),
    ("buffer", 5, None, Some(12_405), None, Some(1_486)),
    ("buffer", 6, None, Some(60_084), None, Some(2_768)),
    ("readers_writers", 4, Some(17_291), None, None, None),
    ("readers_writers", 5, Some(905_616), Some(4_718), None, Some(532)),
    ("readers_writers", 6, None, Some(16_053), None, Some(738)),
    ("region", 3, None, None, Some(486), None),
    ("region", 4, Some(379_600), Some(12_068), Some(2_536), Some(617)),
    ("region", 5, None, Some(124_127), Some(11_704), Some(1_475)),
];

#[test]
fn the_counts_are_those_of_the_reference() {
    let rows = SMALL.iter().chain(LARGE.iter().filter(|_| large()));
    for (name, processes, raw, inactive, gasr, orbits) in rows {
        let loaded = model(name, *processes);
        let ways = [
            (raw, Way::Raw),
            (inactive, Way::Inactive),
            (gasr, Way::Reduced(Representatives::Gasr)),
            (orbits, Way::Reduced(Representatives::Exact)),
        ];
        for (column, (expected, way)) in ways.into_iter().enumerate() {
            if let Some(expected) = expected {
                let found = states(&loaded, Engine::Symbolic, way);
                assert_eq!(found, *expected, "{name} with {processes} processes, column {column}");
            }
        }
    }
}

/// Sorting by whole local states until nothing changes is not always one state of each orbit, but never more states than
/// Red's one pass leaves, and far fewer where there are many processes.
#[test]
fn sorted_images_leave_fewer_states_than_one_pass() {
    for (name, processes, gasr, orbits) in
        [("mcs", 3, 196, 145), ("leader", 4, 100, 37), ("leader", 5, 506, 87), ("cycle", 4, 10, 5)]
    {
        let sorted = states(&model(name, processes), Engine::Symbolic, Way::Reduced(Representatives::Fast));
        assert!((orbits..gasr).contains(&sorted), "{name} {processes}: {sorted}");
    }
}

/// The text of a model, with every variable free at the start.
fn freed(name: &str, processes: i64, but: &str) -> Loaded {
    let path = format!("{}/../../models/red/{name}.red", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).unwrap();
    let (before, after) = source.split_once("initially").unwrap();
    let (_, after) = after.split_once(';').unwrap();
    let source = format!("{before}initially free{but};{after}");
    let options = LoadOptions { set: vec![("M".into(), processes)], ..LoadOptions::default() };
    load_text("free.red", &source, &options).unwrap()
}

#[test]
fn free_starts_are_sets() {
    // Only one variable is read before it is written, so these are the counts with that one free.
    assert_eq!(states(&freed("mcs", 3, ""), Engine::Symbolic, Way::Inactive), 2_837);
    assert_eq!(states(&model("mcs_free", 3), Engine::Symbolic, Way::Inactive), 2_837);
    assert_eq!(states(&freed("leader", 5, ""), Engine::Symbolic, Way::Inactive), 7_002);
    let small = freed("leader", 4, "");
    let all = states(&small, Engine::Explicit, Way::Raw);
    assert_eq!(states(&small, Engine::Symbolic, Way::Raw), all);
    // Sixteen million starts, which nobody wants to take one by one.
    let many = freed("leader", 7, "");
    assert!(run(&many, Engine::Symbolic, Way::Inactive).outcome.statistics.exhaustive);
    if large() {
        assert_eq!(states(&freed("mcs", 4, ""), Engine::Symbolic, Way::Inactive), 55_536);
    }
}

#[test]
fn what_is_said_of_free_starts_holds_and_their_traces_replay() {
    let ring = "
        local pointer next; local discrete x : 0..3;
        process node : 3 {
          mode 0 { when next == P may x = 1; goto 1; when next->next == P may next->x = 2; goto 1; }
          mode 1 { }
        }";
    let given = "initially free but x = 0 where forall p (next[p] != NULL);";
    for (start, bad) in [(given, "x[p] == 2"), (given, "next[p] == NULL"), ("", "x[p] == 3 and mode[p] == 1")]
    {
        let loaded = text(&format!("{ring} {start} safe not exists p ({bad});"));
        let [explicit, symbolic] =
            [Engine::Explicit, Engine::Symbolic].map(|engine| run(&loaded, engine, Way::Raw));
        assert_eq!(explicit.outcome.statistics.states, symbolic.outcome.statistics.states, "{start} {bad}");
        assert_eq!(lengths(&loaded, &explicit), lengths(&loaded, &symbolic), "{start} {bad}");
    }
    // A start can fault with some of its choices and not with others.
    let faulty =
        text("global discrete c, d : 0..9; process node : 2 { mode 0 { } } initially free but d = 9 / c;");
    for engine in [Engine::Explicit, Engine::Symbolic] {
        let report = run(&faulty, engine, Way::Raw);
        let (_, violation) = report.violations().next().expect("a fault");
        assert!(matches!(violation.reason, Reason::Fault(..)), "{:?}", violation.reason);
    }
}

/// The length of the shortest counterexample of each violated property, or nothing where it holds; all are replayed.
fn lengths(loaded: &Loaded, report: &Report) -> Vec<Option<usize>> {
    let length = |result: &shoal_model::PropertyResult| match &result.verdict {
        // As far as was seen: a step that fails is not followed.
        Verdict::Holds | Verdict::Unknown(shoal_model::StopReason::NotFollowed) => None,
        Verdict::Violated(violation) => {
            confirm(&loaded.model, result.property, violation).expect("a violation replays");
            Some(violation.trace.as_ref().map_or(0, |trace| trace.steps.len()))
        }
        Verdict::Unknown(reason) => panic!("no limit was given, but {reason}"),
    };
    report.outcome.results.iter().map(length).collect()
}

#[test]
fn traces_are_shortest_forwards_and_backwards() {
    let mut names = vec![("mcs_bug", true), ("leader_bug", true), ("cycle_bug", true), ("buffer_bug", false)];
    names.push(("readers_writers_bug", false));
    if large() {
        names.push(("region_bug", false));
    }
    for (name, all) in names {
        let loaded = model(name, 3);
        let found = lengths(&loaded, &run(&loaded, Engine::Explicit, Way::Raw));
        assert!(found.iter().any(Option::is_some), "{name} has a mistake");
        assert_eq!(found, lengths(&loaded, &run(&loaded, Engine::Symbolic, Way::Raw)), "{name}");
        let reduced = [Way::Inactive, Way::Reduced(Representatives::Exact)];
        for way in reduced.into_iter().chain([Way::Reduced(Representatives::Gasr)]) {
            assert_eq!(found, lengths(&loaded, &run(&loaded, Engine::Symbolic, way)), "{name}");
        }
        // Backwards from a fault of a semaphore there are far more states than can be reached: all wrong queues.
        if all {
            assert_eq!(found, lengths(&loaded, &run(&loaded, Engine::Symbolic, Way::Backward)), "{name}");
        }
    }
}

/// A violation that is found long before all states are.
#[test]
fn the_mistake_of_the_region_is_found_by_both_engines() {
    let loaded = model("region_bug", 3);
    for engine in [Engine::Explicit, Engine::Symbolic] {
        let properties = vec!["one in the region".into()];
        let options = CheckOptions { properties, ..options(engine, Way::Raw) };
        assert_eq!(lengths(&loaded, &check(&loaded, &options, &mut Quiet).unwrap()), [Some(38)]);
    }
}

/// Backwards through semaphores, from where somebody has got through some of them.
#[test]
fn ways_through_semaphores_are_found_backwards() {
    for (name, modes) in
        [("buffer", [2, 3, 4, 8]), ("readers_writers", [2, 5, 12, 13]), ("region", [3, 6, 14, 15])]
    {
        let path = format!("{}/../../models/red/{name}.red", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(path).unwrap();
        for mode in modes {
            let goal = format!("{source} safe \"goal\": forall p (mode[p] != {mode});");
            let two = LoadOptions { set: vec![("M".into(), 2)], ..LoadOptions::default() };
            let loaded = load_text("goal.red", &goal, &two).unwrap();
            let ways = [(Engine::Explicit, Way::Raw), (Engine::Symbolic, Way::Backward)];
            let [forwards, backwards] = ways.map(|(engine, way)| {
                let options = CheckOptions { properties: vec!["goal".into()], ..options(engine, way) };
                lengths(&loaded, &check(&loaded, &options, &mut Quiet).unwrap())
            });
            assert!(forwards[0].is_some(), "{name} {mode}");
            assert_eq!(forwards, backwards, "{name} {mode}");
        }
    }
}

#[test]
fn chains_of_any_length_are_read_and_written() {
    let head = "global pointer g; local pointer y; local discrete x : 0..20;";
    let start = "initially zero but free y, g = 2, x = 1;";
    for transition in [
        // Recurrent: what is written is read on the way.
        "when y != NULL and y->x < 6 may y->x = 3 * y->x + x; goto 1;",
        "when y != NULL and y->y != NULL and y->y->y != NULL and y->y->y->x < 6 may y->y->y->x = 3 * y->y->y->x + 1; goto 1;",
        "when g->y->y->x == 1 may g->y->y = P; g->y->x = g->y->y->x + g->x; g = g->y; goto 1;",
        // The first hop is written before the second is followed.
        "when y != NULL may y->y = y; y = y->y->y; y->x = y->x + 2; goto 1;",
        // Faults in the middle of a chain.
        "when y != NULL may y->y->x = 2; goto 1;",
    ] {
        let loaded = text(&format!(
            "{head} process node : 3 {{ mode 0 {{ {transition} }} mode 1 {{ }} }} {start}
             safe \"small\": forall p (x[p] < 13);"
        ));
        let explicit = run(&loaded, Engine::Explicit, Way::Raw);
        for way in [Way::Raw, Way::Backward] {
            let symbolic = run(&loaded, Engine::Symbolic, way);
            assert_eq!(lengths(&loaded, &explicit), lengths(&loaded, &symbolic), "{transition}");
        }
        assert_eq!(
            explicit.outcome.statistics.states,
            states(&loaded, Engine::Symbolic, Way::Raw),
            "{transition}"
        );
    }
}
