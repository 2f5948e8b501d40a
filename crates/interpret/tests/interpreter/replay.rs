//! Replay and confirmation, above all of forged traces.

use shoal_interpret::{ReplayError, StepError, confirm, confirm_within, explore::explore, replay};
use shoal_model::*;

use crate::{build::*, explore::counter};

fn state_of(x: i64) -> State {
    State { values: vec![int(x)], live: vec![] }
}

/// A run of [`counter`] to `last` by the rule `up`.
fn run_to(last: i64) -> Trace {
    let step = |x| Step {
        delay: Ratio::ZERO,
        rule: RuleId::from_index(0),
        args: vec![],
        choices: vec![],
        state: state_of(x),
    };
    Trace {
        start: StartId::from_index(0),
        args: vec![],
        choices: vec![],
        state: state_of(0),
        steps: (1..=last).map(step).collect(),
        loops_to: None,
    }
}

fn fails_at(at: usize, why: StepError) -> Result<(), ReplayError> {
    Err(ReplayError::Step { at, why })
}

#[test]
fn honest_traces_replay() {
    let (build, _) = counter();
    let model = build.done();
    for last in 0..=3 {
        assert_eq!(replay(&model, &run_to(last)), Ok(()));
    }
    // 0, 1, 2, 0, ...
    let mut lasso = run_to(3);
    lasso.steps[2].rule = RuleId::from_index(1);
    lasso.steps[2].state = state_of(0);
    lasso.loops_to = Some(0);
    assert_eq!(replay(&model, &lasso), Ok(()));
    lasso.loops_to = Some(1);
    assert_eq!(replay(&model, &lasso), Err(ReplayError::LoopOpen));
    lasso.loops_to = Some(3);
    assert_eq!(replay(&model, &lasso), Err(ReplayError::LoopOpen));
}

#[test]
fn forged_traces_do_not_replay() {
    let (build, _) = counter();
    let model = build.done();
    let forged = |change: fn(&mut Trace)| {
        let mut trace = run_to(3);
        change(&mut trace);
        replay(&model, &trace)
    };
    let other = |x| StepError::OtherState(Box::new(state_of(x)));
    assert_eq!(forged(|t| t.start = StartId::from_index(5)), fails_at(0, StepError::NoInstance));
    assert_eq!(forged(|t| t.args = vec![int(1)]), fails_at(0, StepError::NoInstance));
    assert_eq!(forged(|t| t.choices = vec![int(1)]), fails_at(0, StepError::WrongChoices));
    assert_eq!(forged(|t| t.state = state_of(1)), fails_at(0, other(0)));
    assert_eq!(forged(|t| t.steps[1].state = state_of(3)), fails_at(2, other(2)));
    assert_eq!(forged(|t| t.steps[1].state.values.clear()), fails_at(2, other(2)));
    assert_eq!(forged(|t| t.steps[0].rule = RuleId::from_index(1)), fails_at(1, StepError::Disabled));
    assert_eq!(forged(|t| t.steps[0].rule = RuleId::from_index(7)), fails_at(1, StepError::NoInstance));
    assert_eq!(forged(|t| t.steps[0].args = vec![int(1)]), fails_at(1, StepError::NoInstance));
    assert_eq!(forged(|t| t.steps[0].choices = vec![int(1)]), fails_at(1, StepError::WrongChoices));
    assert_eq!(forged(|t| t.steps.push(t.steps[2].clone())), fails_at(4, StepError::Disabled));
}

#[test]
fn priorities_assumptions_and_discarded_steps_are_respected() {
    let (mut build, x) = counter();
    let rule =
        Rule { guard: Some(build.is(&x, 1)), priority: -1, ..build.a_rule("first", Locals::new(), vec![]) };
    build.model.rules.push(rule);
    let model = build.done();
    assert_eq!(replay(&model, &run_to(2)), fails_at(2, StepError::Priority));

    let (mut build, x) = counter();
    let expr = build.not(build.is(&x, 2));
    let assume = build.property("assumed", PropertyKind::Assume(Some(closed(expr))));
    let model = build.done();
    assert_eq!(replay(&model, &run_to(1)), Ok(()));
    assert_eq!(replay(&model, &run_to(2)), fails_at(2, StepError::Dropped(assume)));

    let (mut build, _) = counter();
    let assume = build.property("assumed", PropertyKind::Assume(None));
    let check = build.check(CheckKind::Assume, build.t(false), assume);
    build.model.rules[RuleId::from_index(0)].code.body.push(check);
    assert_eq!(replay(&build.done(), &run_to(1)), fails_at(1, StepError::Discarded));
}

#[test]
fn choices_are_followed() {
    let mut build = Build::new();
    let small = build.range(1, 3);
    let x = build.var("x", small);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", small);
    let body = vec![build.choose(&i, Domain::Type(small)), build.set(&x, build.read(&i))];
    build.start(locals, body);
    let model = build.done();
    let trace = |choices: &[Value], x| Trace { choices: choices.to_vec(), state: state_of(x), ..run_to(0) };
    assert_eq!(replay(&model, &trace(&[int(2)], 2)), Ok(()));
    let other = StepError::OtherState(Box::new(state_of(2)));
    assert_eq!(replay(&model, &trace(&[int(2)], 3)), fails_at(0, other));
    assert_eq!(replay(&model, &trace(&[], 1)), fails_at(0, StepError::WrongChoices));
    assert_eq!(replay(&model, &trace(&[int(4)], 1)), fails_at(0, StepError::WrongChoices));
    assert_eq!(replay(&model, &trace(&[int(2), int(1)], 2)), fails_at(0, StepError::WrongChoices));
}

#[test]
fn time_must_be_allowed_to_pass() {
    let mut build = Build::new();
    let clock = build.ty(Type::Clock);
    let x = build.var("x", clock);
    let bound = build.op(BinaryOp::Le, build.read(&x), build.n(2));
    build.model.while_time_passes = Some(closed(bound));
    let guard = build.op(BinaryOp::Ge, build.read(&x), build.n(1));
    let body = vec![build.put(&x, 0)];
    let rule = build.rule("tick", guard, body);
    build.start(Locals::new(), vec![]);
    let model = build.done();
    let start = State { values: vec![Value::Clock(Ratio::ZERO)], live: vec![] };
    let trace = |delay| Trace {
        state: start.clone(),
        steps: vec![Step { delay, rule, args: vec![], choices: vec![], state: start.clone() }],
        ..run_to(0)
    };
    let time = |n| Ratio::new(n, 2).unwrap();
    assert_eq!(replay(&model, &trace(time(3))), Ok(()));
    assert_eq!(replay(&model, &trace(time(1))), fails_at(1, StepError::Disabled));
    assert_eq!(replay(&model, &trace(time(5))), fails_at(1, StepError::NoDelay(time(5))));
}

fn violation(reason: Reason, trace: Option<Trace>) -> Violation {
    Violation { reason, trace }
}

#[test]
fn false_conditions_are_confirmed_and_true_ones_are_not() {
    let (mut build, x) = counter();
    let invariant = build.invariant("below 2", build.op(BinaryOp::Lt, build.read(&x), build.n(2)));
    let stuck = build.property("stuck", PropertyKind::Deadlock(DeadlockKind::Stuck));
    let model = build.done();
    let claim =
        |property, reason, last: Option<i64>| confirm(&model, property, &violation(reason, last.map(run_to)));
    assert_eq!(claim(invariant, Reason::ConditionFalse, Some(2)), Ok(()));
    assert_eq!(claim(invariant, Reason::ConditionFalse, Some(1)), Err(ReplayError::ConditionHolds));
    assert_eq!(claim(invariant, Reason::ConditionFalse, None), Err(ReplayError::WrongTrace));
    assert_eq!(claim(invariant, Reason::Deadlock, Some(3)), Err(ReplayError::WrongReason));
    assert_eq!(claim(stuck, Reason::Deadlock, Some(3)), Ok(()));
    assert_eq!(claim(stuck, Reason::Deadlock, Some(2)), Err(ReplayError::NotDeadlock));
    assert_eq!(claim(stuck, Reason::NeverCovered, None), Err(ReplayError::WrongReason));
    assert_eq!(claim(PropertyId::from_index(9), Reason::Deadlock, Some(3)), Err(ReplayError::WrongReason));
    // The reason is right, the way there is not.
    let mut trace = run_to(2);
    trace.steps.remove(0);
    let other = StepError::OtherState(Box::new(state_of(1)));
    assert_eq!(
        confirm(&model, invariant, &violation(Reason::ConditionFalse, Some(trace))),
        fails_at(1, other)
    );
}

#[test]
fn faults_are_confirmed_by_kind_and_span() {
    let (mut build, x) = counter();
    let none = build.property("no faults", PropertyKind::NoFaults);
    let assertion = build.property("assertion", PropertyKind::Assertion);
    let value = build.n(9);
    let span = value.span;
    let body = vec![build.set(&x, value)];
    let rule = build.rule("leaves", build.is(&x, 2), body);
    let model = build.done();
    let fault = Fault { kind: FaultKind::OutOfRange, span };
    let body = |rule| During::Body(rule, vec![], vec![]);
    let claim = |property, during, fault: &Fault, last: Option<i64>| {
        let reason = Reason::Fault(during, fault.clone());
        confirm(&model, property, &violation(reason, last.map(run_to)))
    };
    assert_eq!(claim(none, body(rule), &fault, Some(2)), Ok(()));
    // Where the guard does not hold, the body does not fault.
    assert_eq!(claim(none, body(rule), &fault, Some(1)), Err(ReplayError::NoFault));
    assert_eq!(claim(none, body(RuleId::from_index(0)), &fault, Some(2)), Err(ReplayError::NoFault));
    let elsewhere = Fault { span: Default::default(), ..fault.clone() };
    assert_eq!(claim(none, body(rule), &elsewhere, Some(2)), Err(ReplayError::OtherFault(fault.clone())));
    let other = Fault { kind: FaultKind::Undefined, ..fault.clone() };
    assert_eq!(claim(none, body(rule), &other, Some(2)), Err(ReplayError::OtherFault(fault.clone())));
    assert_eq!(claim(assertion, body(rule), &fault, Some(2)), Err(ReplayError::WrongReason));
    assert_eq!(claim(none, body(rule), &fault, None), Err(ReplayError::WrongTrace));
    assert_eq!(claim(none, During::Guard(rule, vec![]), &fault, Some(2)), Err(ReplayError::NoFault));
    assert_eq!(claim(none, During::Property(none), &fault, Some(2)), Err(ReplayError::NoFault));
    let start = During::Start(StartId::from_index(0), vec![], vec![]);
    assert_eq!(claim(none, start.clone(), &fault, None), Err(ReplayError::NoFault));
    assert_eq!(claim(none, start, &fault, Some(0)), Err(ReplayError::WrongTrace));
}

#[test]
fn what_is_not_possible_is_confirmed_within_a_budget() {
    let (mut build, x) = counter();
    let expr = build.is(&x, 0);
    let home = build.property("home", PropertyKind::AlwaysPossible(closed(expr)));
    // A second variable makes what is reachable from x = 3 large.
    let digit = build.range(0, 9);
    let y = build.var("y", digit);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", digit);
    let body = vec![build.choose(&i, Domain::Type(digit)), build.set(&y, build.read(&i))];
    let rule = Rule { guard: Some(build.is(&x, 3)), ..build.a_rule("roll", locals, body) };
    build.model.rules.push(rule);
    let model = build.done();
    let found = explore(&model, 1000).unwrap();
    let violation = &found.violations[&home];
    assert_eq!(confirm(&model, home, violation), Ok(()));
    let out = Err(ReplayError::NotConfirmed { budget: 5 });
    assert_eq!(confirm_within(&model, home, violation, 5), out);
    let mut early = violation.clone();
    early.trace.as_mut().unwrap().steps.pop();
    assert_eq!(confirm(&model, home, &early), Err(ReplayError::Possible));
}

#[test]
fn errors_are_sentences() {
    let error = ReplayError::Step { at: 2, why: StepError::Disabled };
    assert_eq!(error.to_string(), "step 2 does not happen: its guard does not hold");
    assert_eq!(ReplayError::NotConfirmed { budget: 7 }.to_string(), "not confirmed within 7 states");
}
