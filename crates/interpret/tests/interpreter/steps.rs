//! Instances, guards, priorities, deadlocks, assumptions, time.

use shoal_interpret::{Firing, Instance, Interpreter};
use shoal_model::*;

use crate::build::*;

/// The arguments of all instances of the only rule, in the state of the only start.
fn arguments(model: &Model) -> Vec<Vec<Value>> {
    let interpreter = Interpreter::new(model).unwrap();
    interpreter.instances(&state(model)).into_iter().map(|instance| instance.args).collect()
}

fn parameter(local: &Place, domain: Domain) -> Parameter {
    Parameter { local: local_id(local), domain }
}

#[test]
fn sorts_of_any_size_cannot_be_run() {
    let mut build = Build::new();
    build.sort("Thread", SortSize::Any);
    let model = build.done();
    let error = Interpreter::new(&model).unwrap_err();
    assert_eq!(error.name, "Thread");
    assert!(error.to_string().contains("`Thread`"));
}

#[test]
fn a_rule_has_an_instance_for_each_valuation_and_later_domains_may_use_earlier_parameters() {
    let mut build = Build::new();
    let small = build.range(1, 3);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", small);
    let j = build.bound(&mut locals, "j", build.int());
    let domain =
        Domain::Range { from: Box::new(build.read(&i)), to: Box::new(build.n(3)), by: Box::new(build.n(2)) };
    let params = vec![parameter(&i, Domain::Type(small)), parameter(&j, domain)];
    let rule = Rule { params, ..build.a_rule("r", locals, vec![]) };
    build.model.rules.push(rule);
    build.start(Locals::new(), vec![]);
    let pairs = [[1, 1], [1, 3], [2, 2], [3, 3]];
    assert_eq!(arguments(&build.done()), pairs.map(|pair| pair.map(int).to_vec()));
}

#[test]
fn starts_have_parameters_too() {
    let mut build = Build::new();
    let small = build.range(1, 2);
    let x = build.var("x", small);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", small);
    let body = vec![build.set(&x, build.read(&i))];
    let params = vec![parameter(&i, Domain::Type(small))];
    let start = Rule { params, ..build.a_rule("s", locals, body) };
    let start = build.model.starts.push(start);
    let model = build.done();
    let interpreter = Interpreter::new(&model).unwrap();
    assert_eq!(interpreter.start_instances(), [(start, vec![int(1)]), (start, vec![int(2)])]);
    let Firing::State(state) = &interpreter.run_start(start, &[int(2)])[0].result else { panic!() };
    assert_eq!(state.values, [int(2)]);
    assert_eq!(interpreter.run_start(start, &[int(3)]), []);
}

/// A bag `{4, 4, 5}` and a rule with parameters over its slots that takes them out.
fn takers(count: usize) -> Model {
    let mut build = Build::new();
    let digit = build.range(0, 9);
    let ty = build.bag(3, digit);
    let x = build.var("x", ty);
    let mut locals = Locals::new();
    let slots: Vec<Place> = (0..count).map(|_| build.bound(&mut locals, "i", build.int())).collect();
    let body = slots.iter().map(|i| build.stmt(StmtKind::MultisetRemove(x.clone(), build.read(i)))).collect();
    let params = slots.iter().map(|i| parameter(i, Domain::Slots(x.clone()))).collect();
    let rule = Rule { params, ..build.a_rule("take", locals, body) };
    build.model.rules.push(rule);
    let body = [4, 5, 4].iter().map(|value| build.put_in(&x, build.n(*value))).collect();
    build.start(Locals::new(), body);
    build.done()
}

#[test]
fn equal_elements_of_a_bag_give_one_instance() {
    let model = takers(1);
    assert_eq!(arguments(&model), [[int(0)], [int(2)]]);
    let interpreter = Interpreter::new(&model).unwrap();
    let before = state(&model);
    let branch = &interpreter.fire(&before, &instance(RuleId::from_index(0), &[int(0)]))[0];
    let Firing::State(after) = &branch.result else { panic!() };
    assert_eq!(after.values, [bag(&[4, 5])]);
}

#[test]
fn two_parameters_can_take_two_equal_elements() {
    let expected = [[0, 0], [0, 1], [0, 2], [2, 0], [2, 2]];
    assert_eq!(arguments(&takers(2)), expected.map(|slots| slots.map(int).to_vec()));
}

#[test]
fn a_domain_that_faults_is_a_guard_that_faults() {
    let mut build = Build::new();
    let x = build.var("x", build.int());
    let small = build.range(1, 2);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", small);
    let j = build.bound(&mut locals, "j", build.int());
    let read = build.read(&x);
    let span = read.span;
    let domain = Domain::Range { from: Box::new(build.n(1)), to: Box::new(read), by: Box::new(build.n(1)) };
    let params = vec![parameter(&i, Domain::Type(small)), parameter(&j, domain)];
    let rule = Rule { params, ..build.a_rule("r", locals, vec![]) };
    let rule = build.model.rules.push(rule);
    build.start(Locals::new(), vec![]);
    let model = build.done();
    assert_eq!(arguments(&model), [[int(1)], [int(2)]]);
    let enabled = Interpreter::new(&model).unwrap().enabled(&state(&model));
    assert_eq!(enabled.instances, []);
    let fault = Fault { kind: FaultKind::Undefined, span };
    assert_eq!(enabled.faults[0], (instance(rule, &[int(1)]), fault));
}

#[test]
fn guards_see_bindings_and_faults_in_them_violate_or_disable() {
    for faults in [GuardFaults::Violate, GuardFaults::Disable] {
        let mut build = Build::new();
        build.model.guard_faults = faults;
        let (x, y) = (build.var("x", build.int()), build.var("y", build.int()));
        let mut locals = Locals::new();
        let a = build.local(&mut locals, "a", build.int(), WRITABLE);
        let bindings = vec![Binding { local: local_id(&a), to: Argument::Place(x.clone()) }];
        let body = vec![build.put(&a, 5)];
        let guard = Some(build.is(&a, 1));
        let rule = Rule { bindings, guard, ..build.a_rule("good", locals, body) };
        let good = build.model.rules.push(rule);
        let bad = build.rule("bad", build.is(&y, 1), vec![]);
        let body = vec![build.put(&x, 1)];
        build.start(Locals::new(), body);
        let model = build.done();
        let interpreter = Interpreter::new(&model).unwrap();
        let enabled = interpreter.enabled(&state(&model));
        assert_eq!(enabled.instances, [instance(good, &[])]);
        let guard = interpreter.guard(&state(&model), &instance(bad, &[]));
        match faults {
            GuardFaults::Violate => {
                assert_eq!(enabled.faults.len(), 1);
                assert_eq!(guard.unwrap_err().kind, FaultKind::Undefined);
            }
            GuardFaults::Disable => {
                assert_eq!(enabled.faults, []);
                assert_eq!(guard, Ok(false));
            }
        }
        let Firing::State(next) = &interpreter.fire(&state(&model), &instance(good, &[]))[0].result else {
            panic!()
        };
        assert_eq!(next.values[0], int(5));
    }
}

#[test]
fn arguments_outside_the_domains_are_no_instance() {
    let model = takers(1);
    let interpreter = Interpreter::new(&model).unwrap();
    let state = state(&model);
    let rule = RuleId::from_index(0);
    for args in [&[int(3)][..], &[], &[int(0), int(0)], &[Value::Bool(true)]] {
        assert_eq!(interpreter.guard(&state, &instance(rule, args)), Ok(false));
        assert_eq!(interpreter.fire(&state, &instance(rule, args)), []);
    }
    assert_eq!(interpreter.guard(&state, &instance(RuleId::from_index(9), &[])), Ok(false));
}

#[test]
fn only_enabled_rules_of_the_least_priority_number_may_fire() {
    let mut build = Build::new();
    let x = build.var("x", build.int());
    let mut add = |name: &str, priority: i64, when: i64| {
        let guard = Some(build.op(BinaryOp::Ge, build.read(&x), build.n(when)));
        let rule = Rule { guard, priority, ..build.a_rule(name, Locals::new(), vec![]) };
        build.model.rules.push(rule)
    };
    let (_never, low, middle) = (add("never", 1, 9), add("low", 7, 0), add("middle", 5, 1));
    let body = vec![build.put(&x, 1)];
    build.start(Locals::new(), body);
    let model = build.done();
    let interpreter = Interpreter::new(&model).unwrap();
    assert_eq!(interpreter.enabled(&state(&model)).instances, [instance(middle, &[])]);
    let mut earlier = state(&model);
    earlier.values[0] = int(0);
    assert_eq!(interpreter.enabled(&earlier).instances, [instance(low, &[])]);
}

/// `x = 0` at the start, and one rule with this body.
fn one_rule(body: impl FnOnce(&mut Build, &Place) -> Vec<Stmt>) -> Model {
    let mut build = Build::new();
    let x = build.var("x", build.int());
    let body = body(&mut build, &x);
    let rule = build.a_rule("r", Locals::new(), body);
    build.model.rules.push(rule);
    let init = vec![build.put(&x, 0)];
    build.start(Locals::new(), init);
    build.done()
}

/// Whether the start state is a deadlock: by rules that are stuck, by stuttering.
fn deadlocks(model: &Model) -> [bool; 2] {
    let interpreter = Interpreter::new(model).unwrap();
    [DeadlockKind::Stuck, DeadlockKind::Stuttering]
        .map(|kind| interpreter.is_deadlock(&state(model), &kind).unwrap())
}

#[test]
fn deadlocks_by_either_definition() {
    assert_eq!(deadlocks(&one_rule(|b, x| vec![b.put(x, 1)])), [false, false]);
    // A rule that changes nothing is no progress to those who look for it.
    assert_eq!(deadlocks(&one_rule(|b, x| vec![b.put(x, 0)])), [false, true]);
    // A step that an assumption in its body undoes does not exist.
    let discarded = one_rule(|b, x| {
        let p = b.property("p", PropertyKind::Assume(None));
        vec![b.put(x, 1), b.check(CheckKind::Assume, b.t(false), p)]
    });
    assert_eq!(deadlocks(&discarded), [true, true]);
    // A step whose state an assumption of the model drops is progress.
    let dropped = one_rule(|b, x| {
        let assume = closed(b.is(x, 0));
        b.property("p", PropertyKind::Assume(Some(assume)));
        vec![b.put(x, 1)]
    });
    assert_eq!(deadlocks(&dropped), [false, false]);
    // A check that fails is passed.
    let fails = one_rule(|b, _| {
        let p = b.property("p", PropertyKind::Assertion);
        vec![b.check(CheckKind::Assert, b.t(false), p)]
    });
    assert_eq!(deadlocks(&fails), [false, false]);
    // A step that faults is none.
    let faults = one_rule(|b, x| vec![b.set(x, b.op(BinaryOp::Div, b.n(1), b.n(0)))]);
    assert_eq!(deadlocks(&faults), [true, true]);
    // Nor is one whose guard faults.
    let mut model = faults;
    model.rules[RuleId::from_index(0)].guard = {
        let b = Build::new();
        Some(b.eq(b.op(BinaryOp::Div, b.n(1), b.n(0)), b.n(1)))
    };
    verify(&model).unwrap();
    assert_eq!(deadlocks(&model), [true, true]);
    model.guard_faults = GuardFaults::Disable;
    assert_eq!(deadlocks(&model), [true, true]);
}

#[test]
fn a_state_where_all_may_end_is_no_deadlock() {
    for (end, expected) in [(0, false), (1, true)] {
        let model = one_rule(|b, _| {
            let p = b.property("p", PropertyKind::Assume(None));
            vec![b.check(CheckKind::Assume, b.t(false), p)]
        });
        let mut b = Build::default();
        b.model = model;
        let x = Place { root: Root::Var(VarId::from_index(0)), path: vec![], ty: b.int(), span: b.span() };
        let kind = DeadlockKind::StuckUnless(closed(b.is(&x, end)));
        b.property("d", PropertyKind::Deadlock(kind.clone()));
        let model = b.done();
        let interpreter = Interpreter::new(&model).unwrap();
        assert_eq!(interpreter.is_deadlock(&state(&model), &kind), Ok(expected));
    }
}

#[test]
fn assumptions_drop_states() {
    let mut build = Build::new();
    let x = build.var("x", build.int());
    let expr = build.op(BinaryOp::Lt, build.read(&x), build.n(2));
    let assume = build.property("small", PropertyKind::Assume(Some(closed(expr))));
    let body = vec![build.put(&x, 1)];
    build.start(Locals::new(), body);
    let model = build.done();
    let interpreter = Interpreter::new(&model).unwrap();
    let mut state = state(&model);
    assert_eq!(interpreter.dropped_by(&state), Ok(None));
    state.values[0] = int(2);
    assert_eq!(interpreter.dropped_by(&state), Ok(Some(assume)));
    state.values[0] = Value::Undefined;
    assert_eq!(interpreter.dropped_by(&state).unwrap_err().1.kind, FaultKind::Undefined);
}

#[test]
fn a_failed_assumption_disables_in_a_guard_and_does_nothing_in_a_property() {
    let mut build = Build::new();
    let p = build.property("p", PropertyKind::Assume(None));
    let body = vec![
        build.check(CheckKind::Assume, build.t(false), p),
        build.stmt(StmtKind::Return(Some(build.t(true)))),
    ];
    let f = build.function(Locals::new(), &[], Some(build.bool()), body);
    let rule = build.rule("r", build.call(f, vec![]), vec![]);
    let condition = closed(build.call(f, vec![]));
    build.start(Locals::new(), vec![]);
    let model = build.done();
    let interpreter = Interpreter::new(&model).unwrap();
    assert_eq!(interpreter.guard(&state(&model), &instance(rule, &[])), Ok(false));
    assert_eq!(interpreter.holds(&state(&model), &condition), Ok(true));
}

/// Two clocks (one in a record), time may pass while the first is at most 5.
fn timed(urgent: bool) -> Model {
    let mut build = Build::new();
    let clock = build.ty(Type::Clock);
    let record = build.record(&[("c", clock)]);
    let (x, y) = (build.var("x", clock), build.var("y", record));
    let bound = build.op(BinaryOp::Le, build.read(&x), build.n(5));
    build.model.while_time_passes = Some(closed(bound));
    let late = build.op(BinaryOp::Gt, build.n(10), build.read(&build.field(&y, 0)));
    // Whether an urgent rule may fire does not depend on clocks.
    let guard = Some(build.and(vec![late, build.eq(build.read(&x), build.n(0))])).filter(|_| !urgent);
    let rule = Rule { guard, urgent, ..build.a_rule("r", Locals::new(), vec![]) };
    build.model.rules.push(rule);
    build.start(Locals::new(), vec![]);
    build.done()
}

#[test]
fn time_passes_for_all_clocks_while_it_may() {
    let time = |n, d| Ratio::new(n, d).unwrap();
    let model = timed(false);
    let interpreter = Interpreter::new(&model).unwrap();
    let start = state(&model);
    let later = interpreter.delay(&start, time(5, 2)).unwrap();
    let moved = Value::Clock(time(5, 2));
    assert_eq!(later.values, [moved.clone(), Value::Record(vec![moved])]);
    assert!(interpreter.delay(&later, time(5, 2)).is_some());
    assert_eq!(interpreter.delay(&later, time(3, 1)), None);
    // Clocks compare with integers and with one another.
    assert_eq!(interpreter.guard(&start, &instance(RuleId::from_index(0), &[])), Ok(true));
    assert_eq!(interpreter.guard(&later, &instance(RuleId::from_index(0), &[])), Ok(false));
}

#[test]
fn urgent_rules_stop_time_but_not_a_delay_of_nothing() {
    let model = timed(true);
    let interpreter = Interpreter::new(&model).unwrap();
    let start = state(&model);
    assert_eq!(interpreter.delay(&start, Ratio::new(1, 2).unwrap()), None);
    assert_eq!(interpreter.delay(&start, Ratio::ZERO), Some(start));
}

#[test]
fn steps_are_all_branches_of_all_that_may_fire() {
    let model = takers(1);
    let interpreter = Interpreter::new(&model).unwrap();
    let steps = interpreter.steps(&state(&model));
    let fired: Vec<&Instance> = steps.branches.iter().map(|(instance, _)| instance).collect();
    let rule = RuleId::from_index(0);
    assert_eq!(fired, [&instance(rule, &[int(0)]), &instance(rule, &[int(2)])]);
    assert_eq!(steps.faults, []);
}
