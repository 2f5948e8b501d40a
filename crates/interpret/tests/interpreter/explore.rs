//! The brute-force oracle, and that what it finds is confirmed.

use shoal_interpret::{confirm, explore::Exploration, explore::explore};
use shoal_model::*;

use crate::build::*;

/// Explores, and confirms every violation that is found.
pub fn explored(model: &Model) -> Exploration {
    let exploration = explore(model, 10_000).unwrap();
    for (property, violation) in &exploration.violations {
        assert_eq!(confirm(model, *property, violation), Ok(()), "{}", model.properties[*property].name);
        let steps = violation.trace.as_ref().map_or(0, |trace| trace.steps.len());
        assert_eq!(exploration.violated[property], steps);
    }
    exploration
}

/// `x` counts from 0 to 3; a rule steps up and one goes back to 0 from 1 and 2.
pub fn counter() -> (Build, Place) {
    let mut build = Build::new();
    let small = build.range(0, 3);
    let x = build.var("x", small);
    let body = vec![build.put(&x, 0)];
    build.start(Locals::new(), body);
    let below = build.op(BinaryOp::Lt, build.read(&x), build.n(3));
    let body = vec![build.set(&x, build.add(build.read(&x), build.n(1)))];
    build.rule("up", below, body);
    let inside =
        build.and(vec![build.op(BinaryOp::Gt, build.read(&x), build.n(0)), build.not(build.is(&x, 3))]);
    let body = vec![build.put(&x, 0)];
    build.rule("reset", inside, body);
    (build, x)
}

#[test]
fn counts_states_steps_and_depth() {
    let (build, _) = counter();
    let found = explored(&build.done());
    assert_eq!((found.states, found.transitions, found.depth, found.complete), (4, 5, 3, true));
    assert_eq!(
        found.reached.iter().map(|state| state.values[0].clone()).collect::<Vec<_>>(),
        [0, 1, 2, 3].map(int)
    );
}

#[test]
fn finds_every_kind_of_violation_at_its_least_depth() {
    let (mut build, x) = counter();
    let invariant = build.invariant("below 2", build.op(BinaryOp::Lt, build.read(&x), build.n(2)));
    let stuck = build.property("stuck", PropertyKind::Deadlock(DeadlockKind::Stuck));
    let end = closed(build.is(&x, 3));
    let fine = build.property("ends", PropertyKind::Deadlock(DeadlockKind::StuckUnless(end)));
    let expr = build.is(&x, 0);
    let home = build.property("home", PropertyKind::AlwaysPossible(closed(expr)));
    let expr = build.is(&x, 3);
    let away = build.property("away", PropertyKind::AlwaysPossible(closed(expr)));
    let expr = build.is(&x, 3);
    let covered = build.property("three", PropertyKind::Cover(Some(closed(expr))));
    let expr = build.is(&x, 4);
    let never = build.property("four", PropertyKind::Cover(Some(closed(expr))));
    let found = explored(&build.done());
    let expected = [(invariant, 2), (stuck, 3), (home, 3), (never, 0)];
    assert_eq!(found.violated, expected.into_iter().collect());
    assert!(found.undecided.is_empty());
    for holds in [fine, away, covered] {
        assert!(!found.violations.contains_key(&holds));
    }
    assert_eq!(found.violations[&stuck].reason, Reason::Deadlock);
    assert_eq!(found.violations[&home].reason, Reason::NotPossible);
    assert_eq!(found.violations[&never].reason, Reason::NeverCovered);
}

#[test]
fn faults_violate_no_faults_wherever_they_happen_and_assertions_their_own_property() {
    // In a body, at x = 2.
    let (mut build, x) = counter();
    let none = build.property("no faults", PropertyKind::NoFaults);
    let assertion = build.property("never 1", PropertyKind::Assertion);
    let body = vec![build.check(CheckKind::Assert, build.t(false), assertion)];
    build.rule("asserts", build.is(&x, 1), body);
    let body = vec![build.put(&x, 9)];
    build.rule("leaves", build.is(&x, 2), body);
    let found = explored(&build.done());
    assert_eq!(found.violated, [(none, 2), (assertion, 1)].into_iter().collect());
    assert_eq!((found.states, found.transitions), (4, 5));

    // In a guard, at x = 1.
    let (mut build, x) = counter();
    let none = build.property("no faults", PropertyKind::NoFaults);
    let zero = build.op(BinaryOp::Sub, build.read(&x), build.n(1));
    build.rule("divides", build.eq(build.op(BinaryOp::Div, build.n(1), zero), build.n(7)), vec![]);
    let found = explored(&build.done());
    assert_eq!(found.violated, [(none, 1)].into_iter().collect());

    // In an invariant, at x = 0; where it cannot be evaluated, the invariant does not hold either.
    let (mut build, x) = counter();
    let none = build.property("no faults", PropertyKind::NoFaults);
    let division = build.op(BinaryOp::Div, build.n(1), build.read(&x));
    let invariant = build.invariant("divides", build.op(BinaryOp::Ge, division, build.n(0)));
    let found = explored(&build.done());
    assert_eq!(found.violated, [(none, 0), (invariant, 0)].into_iter().collect());
    let Reason::Fault(during, fault) = &found.violations[&none].reason else { panic!() };
    assert_eq!((during, &fault.kind), (&During::Property(invariant), &FaultKind::DivisionByZero));

    // In an assumption: the state is not explored.
    let (mut build, x) = counter();
    let none = build.property("no faults", PropertyKind::NoFaults);
    let less = build.op(BinaryOp::Sub, build.read(&x), build.n(2));
    let division = build.op(BinaryOp::Div, build.n(1), less);
    let expr = build.op(BinaryOp::Le, division, build.n(9));
    build.property("assumed", PropertyKind::Assume(Some(closed(expr))));
    let found = explored(&build.done());
    assert_eq!(found.violated, [(none, 2)].into_iter().collect());
    assert_eq!(found.states, 2);

    // In a start.
    let mut build = Build::new();
    let none = build.property("no faults", PropertyKind::NoFaults);
    let small = build.range(0, 3);
    let x = build.var("x", small);
    let body = vec![build.put(&x, 4)];
    build.start(Locals::new(), body);
    let found = explored(&build.done());
    assert_eq!(found.violated, [(none, 0)].into_iter().collect());
    assert!(found.violations[&none].trace.is_none());
}

#[test]
fn assumptions_drop_states_after_their_steps_are_counted() {
    let (mut build, x) = counter();
    let stuck = build.property("stuttering", PropertyKind::Deadlock(DeadlockKind::Stuttering));
    let expr = build.op(BinaryOp::Lt, build.read(&x), build.n(2));
    build.property("assumed", PropertyKind::Assume(Some(closed(expr))));
    let found = explored(&build.done());
    assert_eq!((found.states, found.transitions), (2, 3));
    assert!(!found.violations.contains_key(&stuck));
}

#[test]
fn checks_in_bodies_cover_unless_the_step_is_discarded() {
    for discards in [false, true] {
        let (mut build, x) = counter();
        let cover = build.property("covered", PropertyKind::Cover(None));
        let assume = build.property("assumed", PropertyKind::Assume(None));
        let body = vec![
            build.check(CheckKind::Cover, build.is(&x, 2), cover),
            build.check(CheckKind::Assume, build.t(!discards), assume),
        ];
        build.rule("look", build.t(true), body);
        let found = explored(&build.done());
        assert_eq!(found.violated.contains_key(&cover), discards);
        assert_eq!(found.transitions, if discards { 5 } else { 9 });
    }
}

#[test]
fn a_limit_leaves_things_undecided() {
    let (mut build, x) = counter();
    let invariant = build.invariant("below 2", build.op(BinaryOp::Lt, build.read(&x), build.n(2)));
    let found = explore(&build.done(), 2).unwrap();
    assert_eq!((found.states, found.complete), (2, false));
    assert!(found.undecided.contains(&invariant));
}

#[test]
fn choices_and_bags_explore() {
    // Choose a digit, put it into a bag of 2: the bags of up to 2 of 3 digits are 1 + 3 + 6.
    let mut build = Build::new();
    let none = build.property("no faults", PropertyKind::NoFaults);
    let digit = build.range(1, 3);
    let ty = build.bag(2, digit);
    let x = build.var("x", ty);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", digit);
    let body = vec![build.choose(&i, Domain::Type(digit)), build.put_in(&x, build.read(&i))];
    let rule = build.a_rule("put", locals, body);
    build.model.rules.push(rule);
    build.start(Locals::new(), vec![]);
    let found = explored(&build.done());
    assert_eq!((found.states, found.transitions, found.depth), (10, 12, 2));
    assert_eq!(found.violated, [(none, 2)].into_iter().collect());
}

#[test]
fn mutual_exclusion_by_a_token() {
    // Two processes and a token: a process with the token may enter, and hands it on when it leaves. Without
    // the token in the guard, both enter.
    for broken in [false, true] {
        let mut build = Build::new();
        let sort = build.sort("P", SortSize::Fixed(2));
        let process = build.reference(sort, false);
        let inside = build.array(process, build.bool());
        let (inside, token) = (build.var("inside", inside), build.var("token", process));
        let mut locals = Locals::new();
        let p = build.bound(&mut locals, "p", process);
        let here = build.at(&inside, build.read(&p));
        let holds = build.or(vec![build.t(broken), build.eq(build.read(&token), build.read(&p))]);
        let params = vec![Parameter { local: local_id(&p), domain: Domain::Type(process) }];
        let guard = Some(build.and(vec![build.not(build.read(&here)), holds]));
        let body = vec![build.set(&here, build.t(true))];
        let rule = Rule { params, guard, ..build.a_rule("enter", locals, body) };
        build.model.rules.push(rule);

        let mut locals = Locals::new();
        let p = build.bound(&mut locals, "p", process);
        let q = build.bound(&mut locals, "q", process);
        let here = build.at(&inside, build.read(&p));
        let params = [&p, &q]
            .map(|param| Parameter { local: local_id(param), domain: Domain::Type(process) })
            .to_vec();
        let guard = Some(build.read(&here));
        let body = vec![build.set(&here, build.t(false)), build.set(&token, build.read(&q))];
        let rule = Rule { params, guard, ..build.a_rule("leave", locals, body) };
        build.model.rules.push(rule);

        let mut locals = Locals::new();
        let p = build.bound(&mut locals, "p", process);
        let first = build.elem(sort, 0);
        let all = vec![build.set(&build.at(&inside, build.read(&p)), build.t(false))];
        let body = vec![build.each(&p, Domain::Type(process), all), build.set(&token, first)];
        build.start(locals, body);

        let mut locals = Locals::new();
        let (a, b) = (build.bound(&mut locals, "a", process), build.bound(&mut locals, "b", process));
        let both = build.and(vec![
            build.not(build.eq(build.read(&a), build.read(&b))),
            build.read(&build.at(&inside, build.read(&a))),
            build.read(&build.at(&inside, build.read(&b))),
        ]);
        let some = build.exists(&b, Domain::Type(process), both);
        let expr = build.not(build.exists(&a, Domain::Type(process), some));
        let condition = Condition { locals, expr };
        let mutex = build.property("mutex", PropertyKind::Invariant(condition));
        let found = explored(&build.done());
        let expected = if broken { (8, Some(&2)) } else { (4, None) };
        assert_eq!((found.states, found.violated.get(&mutex)), expected);
    }
}
