//! Partial order reduction by stubborn sets: models where it is known what it does, and random small models, which keep the
//! verdicts of the interpreter, which takes all steps in all orders.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicUsize, Ordering},
};

use proptest::prelude::*;
use shoal_interpret::explore;
use shoal_model::{Job, Model, Outcome, PartialOrder, PropertyId, Quiet, Reduction, SortId, Strategy};
use shoal_murphi::Dialect;

use crate::random::{
    concurrent,
    generate::{self, load},
    replayed::violations,
};

/// Models with more states than this are skipped: the interpreter is slow.
const MOST_STATES: usize = 1500;

/// What the engine says with the reduction, where the properties allow it.
fn run(model: &Model, symmetric: &[SortId], threads: usize, jit: bool) -> Outcome {
    let strategy = Strategy { partial_order: PartialOrder::Stubborn, ..Strategy::default() };
    let properties = model.properties.ids().collect();
    let job = Job { symmetric: symmetric.to_vec(), threads, jit, strategy, ..Job::new(properties) };
    shoal_explicit::check(model, &job, &mut Quiet).expect("the engine takes every Murphi model")
}

/// What is violated, after each trace was replayed.
fn violated(model: &Model, outcome: &Outcome, text: &str) -> BTreeSet<PropertyId> {
    violations(model, outcome, text).into_keys().collect()
}

/// How many models were compared, and in how many the reduction saved states.
static COMPARED: AtomicUsize = AtomicUsize::new(0);
static SMALLER: AtomicUsize = AtomicUsize::new(0);

fn check_model(text: &str, dialect: Dialect) {
    let model = load(text, dialect);
    let reference = explore(&model, MOST_STATES).expect("Murphi models can be run");
    if !reference.complete {
        return;
    }
    let expected: BTreeSet<PropertyId> = reference.violated.keys().copied().collect();
    let full = run(&model, &[], 1, true);
    assert_eq!(violated(&model, &full, text), expected, "violations with stubborn sets\n{text}");
    let same = |other: Outcome, what: &str| {
        assert_eq!(violated(&model, &other, text), expected, "violations, {what}\n{text}");
        let counts = |outcome: &Outcome| {
            (outcome.statistics.states, outcome.statistics.transitions, outcome.statistics.put_off)
        };
        assert_eq!(counts(&full), counts(&other), "{what}\n{text}");
    };
    same(run(&model, &[], 2, true), "two threads");
    same(run(&model, &[], 1, false), "interpreted");
    let symmetry = shoal_analysis::symmetry(&model);
    let proved: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    let orbits = run(&model, &proved, 1, true);
    assert_eq!(violated(&model, &orbits, text), expected, "violations with orbits as well\n{text}");
    assert!(full.statistics.states as usize <= reference.states, "states\n{text}");
    let used = full.statistics.reductions.contains(&Reduction::PartialOrder);
    COMPARED.fetch_add(usize::from(used), Ordering::Relaxed);
    SMALLER.fetch_add(usize::from((full.statistics.states as usize) < reference.states), Ordering::Relaxed);
}

fn cases() -> u32 {
    crate::random::dose(150)
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: cases(),
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_model_keeps_its_verdicts(
        bytes in proptest::collection::vec(any::<u8>(), 0..160),
        rumur in any::<bool>(),
    ) {
        let dialect = if rumur { Dialect::Rumur } else { Dialect::Cmurphi };
        check_model(&generate::model(&bytes), dialect);
    }
}

/// Processes keep their verdicts, and not only because the reduction never does anything.
#[test]
fn processes_keep_their_verdicts() {
    let mut runner = proptest::test_runner::TestRunner::new(config());
    let input = (proptest::collection::vec(any::<u8>(), 0..100), any::<bool>());
    let result = runner.run(&input, |(bytes, rumur)| {
        let dialect = if rumur { Dialect::Rumur } else { Dialect::Cmurphi };
        check_model(&concurrent::model(&bytes), dialect);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    let (compared, smaller) = (COMPARED.load(Ordering::Relaxed), SMALLER.load(Ordering::Relaxed));
    assert!(smaller * 20 > cases() as usize, "{smaller} of {compared} models were smaller");
}

/// Processes that count to two, each for itself.
fn counters(more: &str) -> String {
    format!(
        "type P: scalarset(4); var c: array [P] of 0..2; d: boolean;
startstate begin for p: P do c[p] := 0; end; d := false; end;
ruleset p: P do rule \"count\" c[p] < 2 ==> begin c[p] := c[p] + 1; end; end;
{more}"
    )
}

/// The outcome without symmetry, and the names of what is violated.
fn outcome(text: &str) -> (Outcome, Vec<String>) {
    let model = load(text, Dialect::Rumur);
    let outcome = run(&model, &[], 1, true);
    let names = violated(&model, &outcome, text).into_iter().map(|id| model.properties[id].name.clone());
    let names = names.collect();
    (outcome, names)
}

#[test]
fn one_order_of_independent_steps_is_enough() {
    let (outcome, violated) = outcome(&counters(""));
    // The deadlock at the end is found by counting one after the other.
    assert_eq!((outcome.statistics.states, outcome.statistics.put_off), (9, 6));
    assert_eq!(violated.len(), 1);
    assert_eq!(outcome.statistics.reductions, [Reduction::PartialOrder]);
}

#[test]
fn what_an_invariant_sees_is_not_put_off() {
    let all = "invariant \"all\" exists p: P do c[p] < 2 end;";
    let (full, violated) = outcome(&counters(all));
    assert_eq!((full.statistics.states, violated.len()), (81, 2), "every step is visible");
    let none = "invariant \"none\" !d;";
    let (reduced, violated) = outcome(&counters(none));
    assert_eq!((reduced.statistics.states, violated.len()), (9, 1), "no step is visible");
}

#[test]
fn a_fault_is_not_lost_to_a_step_that_mends_it() {
    // The second guard faults until the first rule has fired, though both ask for another value of `d`.
    let text = "var d: boolean; z: 0..1;
startstate begin d := false; end;
rule \"mend\" d = false ==> begin z := 0; end;
rule \"fault\" z = 0 & d = true ==> begin d := false; end;";
    let (_, violated) = outcome(text);
    assert!(violated.iter().any(|name| name.contains("fault") || name.contains("error")), "{violated:?}");
}

#[test]
fn a_property_that_needs_all_orders_is_named() {
    let (outcome, _) = outcome(&counters("liveness \"always\" d;"));
    assert_eq!(outcome.statistics.states, 81);
    assert_eq!(
        outcome.statistics.notes,
        ["steps were taken in all orders, as a property asks what is always possible"]
    );
}
