//! Reductions change no verdict: inactive variables are reset, symmetric states are one, in diagrams and outside. On
//! the pointer models the numbers of states are those that other programs have counted.

mod templates;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use shoal::{
    CheckOptions, Engine, Error, Limits, LoadOptions, Loaded, Report, Representatives, Strategy as Search,
    check, load, load_text,
};
use shoal_interpret::explore;
use shoal_model::{Quiet, Verdict, Watch};

fn model(name: &str, n: i64) -> Loaded {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/red").join(name);
    load(path, &LoadOptions { set: vec![("M".into(), n)], ..LoadOptions::default() }).unwrap()
}

/// How a model is checked.
#[derive(Clone, Copy, Debug)]
struct How {
    engine: Engine,
    symmetry: bool,
    dead_variables: bool,
    representatives: Representatives,
}

const PLAIN: How = How {
    engine: Engine::Explicit,
    symmetry: false,
    dead_variables: false,
    representatives: Representatives::Exact,
};

fn run(loaded: &Loaded, how: How) -> Result<Report, Error> {
    let options = CheckOptions {
        engine: Some(how.engine),
        symmetry: how.symmetry,
        dead_variables: Some(how.dead_variables),
        strategy: Search { representatives: how.representatives, ..Search::default() },
        patience: None,
        jit: false,
        // Room for diagrams is made at once, so a lot of it takes a while.
        watch: Watch::start(Limits { memory: Some(1 << 26), ..Limits::default() }),
        threads: 1,
        ..CheckOptions::default()
    };
    check(loaded, &options, &mut Quiet)
}

fn states(loaded: &Loaded, how: How) -> u64 {
    let report = run(loaded, how).unwrap();
    for result in &report.outcome.results {
        assert!(matches!(result.verdict, Verdict::Holds), "{how:?}: {result:?}");
    }
    report.outcome.statistics.states
}

/// Without any reduction, with inactive variables reset, with symmetry on top: by single states and in diagrams.
#[test]
fn pointer_models_have_the_states_that_others_have_counted() {
    let table: &[(&str, i64, Option<u64>, u64, u64)] = &[
        ("mcs.red", 3, Some(14_962), 824, 145),
        ("mcs.red", 4, None, 13_280, 592),
        ("leader.red", 3, Some(68), 68, 16),
        ("leader.red", 4, Some(536), 536, 37),
        ("cycle.red", 3, Some(152), 16, 4),
        ("cycle.red", 4, Some(3_992), 65, 5),
        ("cycle.red", 5, None, 326, 6),
        ("buffer.red", 3, Some(6_534), 547, 304),
        ("buffer.red", 4, None, 2_542, 776),
        ("readers_writers.red", 3, Some(256), 256, 132),
        ("readers_writers.red", 4, Some(17_291), 745, 218),
        ("region.red", 3, Some(8_978), 1_169, 213),
    ];
    let mut wrong = Vec::new();
    for (name, n, raw, inactive, exact) in table {
        let loaded = model(name, *n);
        let reset = How { dead_variables: true, ..PLAIN };
        let orbits = How { symmetry: true, ..reset };
        let mut runs = vec![(reset, *inactive), (orbits, *exact)];
        runs.extend(raw.map(|raw| (PLAIN, raw)));
        // Larger ones take the symbolic engine more than a moment.
        if *n == 3 {
            let diagrams = |how| How { engine: Engine::Symbolic, ..how };
            runs.extend([(diagrams(reset), *inactive), (diagrams(orbits), *exact)]);
        }
        for (how, expected) in runs {
            let found = states(&loaded, how);
            if found != expected {
                wrong.push(format!("{name} {n}, {how:?}: {found} instead of {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The reduction of the paper keeps more states than there are orbits; how many was counted by another program. Where
/// processes have roles, that program exchanges them all the same (see `red/roles.rs`); here they are exchanged within their
/// role only, and there are fewer states than without symmetry.
#[test]
fn one_pass_by_pointers_keeps_as_many_states_as_others_have_counted() {
    let mut wrong = Vec::new();
    for (name, n, expected) in [
        ("mcs.red", 3, 196),
        ("mcs.red", 4, 1_304),
        ("leader.red", 3, 25),
        ("leader.red", 4, 100),
        ("cycle.red", 4, 10),
        ("region.red", 3, 486),
        ("buffer.red", 3, 457),
        ("readers_writers.red", 3, 186),
    ] {
        let how = How {
            engine: Engine::Symbolic,
            symmetry: true,
            dead_variables: true,
            representatives: Representatives::Gasr,
        };
        let found = states(&model(name, n), how);
        if found != expected {
            wrong.push(format!("{name} {n}: {found} instead of {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// As in the paper, but that numbers of modes in a row are joined.
#[test]
fn active_conditions_of_the_lock_are_those_of_the_paper() {
    let expected = [
        ("next", "mode in 2..4 and prev != P, or mode in 1, 5..9"),
        ("prev", "mode in 1..4"),
        ("locked", "mode in 4..5"),
    ];
    let expected: Vec<(String, String)> =
        expected.iter().map(|(name, condition)| (name.to_string(), condition.to_string())).collect();
    let text = include_str!("reductions/mcs.m");
    for loaded in [load_text("mcs.m", text, &LoadOptions::default()).unwrap(), model("mcs.red", 3)] {
        let found = shoal::active_conditions(&loaded.model);
        let found: Vec<_> = found.iter().flat_map(|it| it.shown(&loaded.model)).collect();
        assert_eq!(found, expected);
    }
}

/// Written as two assignments, the exchange of the lock does not read what it overwrites, so less is active than in the
/// paper. That value is the same in all states, and there are as many of them.
#[test]
fn an_exchange_in_two_assignments_reads_less() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/red/mcs.red");
    let text = std::fs::read_to_string(path).unwrap();
    let apart = text.replace("swap(prev, L);", "prev = L; L = P;");
    assert_ne!(text, apart);
    let loaded = load_text("mcs.red", &apart, &LoadOptions::default()).unwrap();
    let conditions = shoal::active_conditions(&loaded.model);
    let shown: Vec<_> = conditions.iter().flat_map(|it| it.shown(&loaded.model)).collect();
    assert!(shown.contains(&("prev".into(), "mode in 2..4".into())), "{shown:?}");
    let reset = How { dead_variables: true, ..PLAIN };
    assert_eq!([states(&loaded, PLAIN), states(&loaded, reset)], [14_962, 824]);
    assert_eq!(states(&loaded, How { symmetry: true, ..reset }), 145);
}

/// What is violated, with the lengths of shortest traces.
fn violations(report: &Report) -> Vec<(shoal_model::PropertyId, usize)> {
    let length = |violation: &shoal_model::Violation| violation.trace.as_ref().map_or(0, |it| it.steps.len());
    report.violations().map(|(property, violation)| (property, length(violation))).collect()
}

/// Every combination of reductions finds what the interpreter finds.
fn agree(text: &str) {
    let loaded = load_text("random.m", text, &LoadOptions::default())
        .unwrap_or_else(|error| panic!("the generator wrote a wrong model: {error}\n{text}"));
    let reference = explore(&loaded.model, 3_000).unwrap();
    if !reference.complete {
        return;
    }
    let expected: Vec<_> = reference.violated.iter().map(|(property, depth)| (*property, *depth)).collect();
    for dead_variables in [false, true] {
        let mut orbits = None;
        for engine in [Engine::Explicit, Engine::Symbolic] {
            for symmetry in [false, true] {
                let how = How { engine, symmetry, dead_variables, ..PLAIN };
                let report = run(&loaded, how).unwrap_or_else(|error| panic!("{how:?}: {error}\n{text}"));
                assert_eq!(violations(&report), expected, "{how:?}\n{text}");
                // An engine that has decided everything need not look at the rest.
                if !report.outcome.statistics.exhaustive {
                    continue;
                }
                let found = report.outcome.statistics.states;
                match engine {
                    Engine::Explicit if !symmetry && !dead_variables => {
                        assert_eq!(found as usize, reference.states, "{how:?}\n{text}");
                    }
                    Engine::Explicit if symmetry => orbits = Some(found),
                    // A guess that was mended may have been mended in another way.
                    Engine::Symbolic if symmetry && !dead_variables => {
                        assert_eq!(found, orbits.unwrap_or(found), "{how:?}\n{text}");
                    }
                    _ => {}
                }
            }
        }
    }
    for representatives in [Representatives::Gasr, Representatives::Multiple] {
        let how = How { engine: Engine::Symbolic, symmetry: true, dead_variables: true, representatives };
        let report = run(&loaded, how).unwrap_or_else(|error| panic!("{how:?}: {error}\n{text}"));
        assert_eq!(violations(&report), expected, "{how:?}\n{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: crate::random::dose(24),
        max_shrink_iters: 4_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn reductions_agree_on_random_templates(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        agree(&templates::model(&bytes));
    }
}
