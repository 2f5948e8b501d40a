//! Random small models: the engine against the reference interpreter, with and without symmetry, and orbits counted
//! by brute force over all permutations.

use std::{collections::BTreeSet, time::Duration};

use proptest::prelude::*;
use shoal_interpret::{Exploration, confirm, explore};
use shoal_model::{
    Job, Limits, Model, Order, Outcome, Quiet, Reason, Representatives, SortId, State, Statistics,
    StopReason, Storage, Strategy, Type, Verdict, Watch,
};

use crate::random::{
    compared,
    generate::{self, load},
    permute,
    replayed::violations,
};

/// Models with more states than this are skipped: the interpreter is slow.
const MOST_STATES: usize = 1500;

/// What the engine says, which must not depend on the number of threads nor on whether the model is compiled.
fn run(model: &Model, symmetric: &[SortId]) -> Outcome {
    let search = |threads, jit, strategy| {
        let properties = model.properties.ids().collect();
        let job = Job { symmetric: symmetric.to_vec(), jit, threads, strategy, ..Job::new(properties) };
        shoal_explicit::check(model, &job, &mut Quiet)
    };
    let check = |threads, jit| {
        let outcome = search(threads, jit, Strategy::default());
        outcome.expect("the engine takes every Murphi model")
    };
    let outcome = check(1, true);
    assert_eq!(said(&outcome), said(&check(2, true)), "one thread and two");
    assert_eq!(said(&outcome), said(&check(1, false)), "compiled and interpreted");
    let hashes = Strategy { storage: Storage::Hashes, ..Strategy::default() };
    let fast = Strategy { representatives: Representatives::Fast, ..Strategy::default() };
    let deep = Strategy { order: Order::DepthFirst, ..Strategy::default() };
    let tree = Strategy { storage: Storage::Tree, ..Strategy::default() };
    assert_eq!(said(&outcome), said(&search(2, true, tree).expect("the engine takes it")), "as trees");
    for strategy in [hashes, fast, deep] {
        // What is always possible is asked breadth first only.
        if let Ok(other) = search(2, true, strategy) {
            agree(model, &outcome, &other, strategy);
        }
    }
    outcome
}

/// Another strategy finds the same violations, perhaps by other ways.
fn agree(model: &Model, outcome: &Outcome, other: &Outcome, strategy: Strategy) {
    for (expected, found) in outcome.results.iter().zip(&other.results) {
        match (&expected.verdict, &found.verdict) {
            (Verdict::Holds, Verdict::Holds) => {}
            (Verdict::Violated(_), Verdict::Violated(violation)) => {
                if !matches!(violation.reason, Reason::NeverCovered) {
                    confirm(model, found.property, violation).expect("a violation replays");
                }
            }
            // Nothing is proved by hashes.
            (Verdict::Holds, Verdict::Unknown(StopReason::Omission(_))) => {}
            (Verdict::Violated(violation), Verdict::Unknown(StopReason::Omission(_))) => {
                assert!(matches!(violation.reason, Reason::NeverCovered | Reason::NotPossible));
            }
            (expected, found) => panic!("{strategy:?}: {found:?} instead of {expected:?}"),
        }
    }
    let (states, others) = (outcome.statistics.states, other.statistics.states);
    // A search that has nothing left to find out ends somewhere.
    let ended = |outcome: &Outcome| {
        let open = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Omission(_)));
        !outcome.statistics.exhaustive && !outcome.results.iter().any(|result| open(&result.verdict))
    };
    match strategy.representatives {
        _ if ended(outcome) || ended(other) => {}
        Representatives::Exact => assert_eq!(states, others, "{strategy:?}"),
        _ => assert!(states <= others, "{strategy:?}"),
    }
}

/// All that is found, but not how long it took.
fn said(outcome: &Outcome) -> String {
    let Statistics { states, states_full, levels, fired, fresh, .. } = &outcome.statistics;
    format!("{:?} {states} {states_full:?} {levels:?} {fired:?} {fresh:?}", outcome.results)
}

fn check_model(text: &str, dialect: shoal_murphi::Dialect) {
    let model = load(text, dialect);
    let reference: Exploration = explore(&model, MOST_STATES).expect("Murphi models can be run");
    if !reference.complete {
        return;
    }
    let expected = &reference.violated;
    check_symbolic(text, dialect);
    compared("explicit engine against interpreter");
    let full = run(&model, &[]);
    assert_eq!(&violations(&model, &full, text), expected, "violations without symmetry\n{text}");
    let counts = (full.statistics.states as usize, full.statistics.transitions);
    // An engine that has decided everything need not look at the rest.
    if full.statistics.exhaustive {
        assert_eq!(
            counts,
            (reference.states, reference.transitions),
            "states and steps without symmetry\n{text}"
        );
    }
    let symmetry = shoal_analysis::symmetry(&model);
    let proved: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    let reduced = run(&model, &proved);
    assert_eq!(&violations(&model, &reduced, text), expected, "violations with symmetry\n{text}");
    // Where an element is named (by a liveness property in a ruleset), only the others may be permuted.
    if proved.iter().all(|sort| symmetry.sorts[*sort].pinned.is_empty()) {
        let states: BTreeSet<State> = reference.reached.iter().cloned().collect();
        let (orbits, closed) = permute::orbits(&model, &states, &proved);
        assert!(closed, "a sort was called symmetric, but the reachable states are not\n{text}");
        if reduced.statistics.exhaustive {
            assert_eq!(reduced.statistics.states as usize, orbits, "orbits\n{text}");
            assert_eq!(reduced.statistics.states_full, Some(reference.states as u128), "full states\n{text}");
        }
    }
}

/// Whether a model has multisets. The symbolic engine takes very long for some of those, so only small ones are compared.
fn has_bags(model: &Model) -> bool {
    let has_bags = |ty| model.type_contains(ty, &|kind| matches!(kind, Type::Multiset { .. }));
    model.vars.iter().any(|var| has_bags(var.ty))
}

/// The most states of models with multisets: these are left to longer runs, as a few of them take most of the time.
fn most_with_bags() -> usize {
    if std::env::var_os("SHOAL_RANDOM_MODELS").is_some() { 200 } else { 0 }
}

/// The symbolic engine, multisets and all: the same verdicts, shortest traces, states and steps. Says whether it took the model.
fn check_symbolic(text: &str, dialect: shoal_murphi::Dialect) -> bool {
    let model = load(text, dialect);
    let reference: Exploration = explore(&model, MOST_STATES).expect("Murphi models can be run");
    if !reference.complete {
        return false;
    }
    let properties = model.properties.ids().collect();
    let bags = has_bags(&model);
    if bags && reference.states > most_with_bags() {
        return false;
    }
    // Short enough that a round of a soak, in which most models have multisets, ends in its time.
    let time = bags.then_some(Duration::from_secs(3));
    let limits = Limits { memory: Some(1 << 26), time, ..Limits::default() };
    let job = Job { watch: Watch::start(limits), ..Job::new(properties) };
    let outcome = match shoal_symbolic::check(&model, &job, &mut Quiet) {
        Ok(outcome) => outcome,
        Err(_) if bags => return false,
        Err(lacks) => panic!("the engine takes it, but {lacks}\n{text}"),
    };
    let open =
        |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Time(_) | StopReason::Memory(_)));
    if bags && outcome.results.iter().any(|result| open(&result.verdict)) {
        return false;
    }
    compared("symbolic engine against interpreter");
    assert_eq!(violations(&model, &outcome, text), reference.violated, "violations, symbolic\n{text}");
    if outcome.statistics.exhaustive {
        let counts = (outcome.statistics.states as usize, outcome.statistics.transitions);
        assert_eq!(counts, (reference.states, reference.transitions), "states and steps, symbolic\n{text}");
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: crate::random::dose(400),
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn engines_agree_with_the_interpreter(
        bytes in proptest::collection::vec(any::<u8>(), 0..160),
        rumur in any::<bool>(),
    ) {
        let dialect = if rumur { shoal_murphi::Dialect::Rumur } else { shoal_murphi::Dialect::Cmurphi };
        check_model(&generate::model(&bytes), dialect);
    }
}

/// The generator is of use only if its models do something: most have more than one state and some are symmetric.
#[test]
fn random_models_are_worth_checking() {
    let mut seed = 1_u64;
    let (mut moving, mut reduced, mut symbolic) = (0, 0, 0);
    for _ in 0..60 {
        let bytes: Vec<u8> = (0..120)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            })
            .collect();
        let text = generate::model(&bytes);
        let model = load(&text, shoal_murphi::Dialect::Cmurphi);
        let Ok(reference) = explore(&model, MOST_STATES) else { continue };
        moving += usize::from(reference.states > 2);
        symbolic += usize::from(check_symbolic(&text, shoal_murphi::Dialect::Cmurphi));
        let symmetry = shoal_analysis::symmetry(&model);
        reduced += usize::from(model.sorts.ids().any(|sort| symmetry.sorts[sort].is_proved()));
    }
    assert!(moving >= 30 && reduced >= 30, "dull: {moving} models move, {reduced} have a symmetric sort");
    // Most models of this length have multisets; see `most_with_bags`.
    assert!(symbolic >= 3, "dull: {symbolic} models were taken by the symbolic engine");
}

#[test]
fn bodies_that_write_more_than_the_journal_holds_go_on_in_the_interpreter() {
    let text = "
        const N: 40;
        var a: array [1..N] of 0..3;
            x: 0..5;
        startstate
          for i: 1..N do a[i] := 0 end;
          x := 0;
        end;
        rule x < 5 ==>
          var k: 0..5; last: 0..3;
        begin
          k := x;
          for i: 1..N do
            a[i] := (a[i] + k) % 4;
            last := a[i];
          end;
          x := k + 1;
          assert last = a[N];
        end;
        invariant a[1] = a[N];
        invariant x < 5;
    ";
    check_model(text, shoal_murphi::Dialect::Cmurphi);
}

#[test]
fn arms_that_run_late_are_interpreted_and_then_translated() {
    // A rule that is translated before its last arms have run, with calls, a message in work and a bag that each arm writes to.
    let text = "
        type P: scalarset(2);
          M: record src: P; n: 0..7; end;
        var x: 0..7; own: array [P] of 0..3;
          net: multiset [3] of M;
        procedure send(p: P; n: 0..7);
        var m: M;
        begin
          m.src := p; m.n := n;
          if multisetcount(i: net, true) < 3 then multisetadd(m, net); end;
        end;
        startstate x := 0; for p: P do own[p] := 0; end; end;
        ruleset p: P do
          rule x < 7 ==>
          begin
            switch x
              case 0: send(p, 1);
              case 1: own[p] := 1; send(p, 2);
              case 2: multisetremovepred(i: net, net[i].src = p); send(p, 3);
              case 3: own[p] := 2;
              case 4: send(p, 5); assert own[p] < 3;
              else own[p] := 3; multisetremovepred(i: net, net[i].n > 2);
            end;
            x := x + 1;
          end;
          rule own[p] > 0 ==> own[p] := own[p] - 1; end;
          choose i: net do
            rule net[i].src = p ==> own[p] := 1; multisetremove(i, net); end;
          end;
        end;
        invariant forall p: P do own[p] < 3 end;
        invariant multisetcount(i: net, net[i].n = 7) = 0;
    ";
    check_model(text, shoal_murphi::Dialect::Cmurphi);
}
