//! Statements: assignment, control, references, calls, checks, choices.

use shoal_interpret::Firing;
use shoal_model::*;

use crate::build::*;

#[test]
fn an_assignment_checks_the_range_and_points_at_the_value() {
    let mut build = Build::new();
    let digit = build.range(0, 9);
    let x = build.var("x", digit);
    let value = build.n(10);
    let span = value.span;
    let body = vec![build.put(&x, 9), build.set(&x, value)];
    build.start(Locals::new(), body);
    assert_eq!(fault(&build.done()), (FaultKind::OutOfRange, span));
}

#[test]
fn an_assignment_evaluates_the_value_before_the_place() {
    let mut build = Build::new();
    let digit = build.range(0, 9);
    let array = build.array(digit, digit);
    let x = build.var("x", array);
    let value = build.op(BinaryOp::Div, build.n(1), build.n(0));
    let span = value.span;
    let body = vec![build.set(&build.at(&x, build.n(10)), value)];
    build.start(Locals::new(), body);
    assert_eq!(fault(&build.done()), (FaultKind::DivisionByZero, span));

    // The place is found before the range is checked.
    let mut build = Build::new();
    let digit = build.range(0, 9);
    let array = build.array(digit, digit);
    let x = build.var("x", array);
    let index = build.n(10);
    let span = index.span;
    let body = vec![build.set(&build.at(&x, index), build.n(10))];
    build.start(Locals::new(), body);
    assert_eq!(fault(&build.done()), (FaultKind::IndexOutOfRange, span));
}

#[test]
fn a_peeked_undefined_value_can_be_assigned_and_composites_keep_undefined_parts() {
    let mut build = Build::new();
    let digit = build.range(0, 9);
    let pair = build.record(&[("a", digit), ("b", digit)]);
    let (x, y, p, q) =
        (build.var("x", digit), build.var("y", digit), build.var("p", pair), build.var("q", pair));
    let body = vec![
        build.put(&y, 1),
        build.set(&y, build.peek(&x)),
        build.put(&build.field(&p, 1), 3),
        build.set(&q, build.read(&p)),
    ];
    build.start(Locals::new(), body);
    let copy = Value::Record(vec![Value::Undefined, int(3)]);
    assert_eq!(values(&build.done()), [Value::Undefined, Value::Undefined, copy.clone(), copy]);
}

#[test]
fn clear_and_undefine() {
    let mut build = Build::new();
    let sort = build.sort("P", SortSize::Fixed(2));
    let (must, may) = (build.reference(sort, false), build.reference(sort, true));
    let digit = build.range(3, 9);
    let bag_type = build.bag(2, digit);
    let all = build.record(&[("must", must), ("may", may), ("digit", digit), ("bag", bag_type)]);
    let (x, y) = (build.var("x", all), build.var("y", all));
    let mut body = vec![];
    for place in [&x, &y] {
        body.push(build.put(&build.field(place, 2), 5));
        body.push(build.put_in(&build.field(place, 3), build.n(5)));
    }
    body.push(build.stmt(StmtKind::Clear(x.clone())));
    body.push(build.stmt(StmtKind::Undefine(y.clone())));
    build.start(Locals::new(), body);
    let cleared = Value::Record(vec![Value::Elem(sort, 0), Value::Null, int(3), bag(&[])]);
    let undefined = Value::Record(vec![Value::Undefined, Value::Undefined, Value::Undefined, bag(&[])]);
    assert_eq!(values(&build.done()), [cleared, undefined]);
}

#[test]
fn while_runs_as_often_as_its_limit_and_no_more() {
    for (limit, ends) in [(3, true), (2, false)] {
        let mut build = Build::new();
        let x = build.var("x", build.int());
        let condition = build.op(BinaryOp::Lt, build.read(&x), build.n(3));
        let round = build.set(&x, build.add(build.read(&x), build.n(1)));
        let stmt = build.stmt(StmtKind::While { condition, body: vec![round], limit });
        let span = stmt.span;
        let body = vec![build.put(&x, 0), stmt];
        build.start(Locals::new(), body);
        let model = build.done();
        if ends {
            assert_eq!(values(&model), [int(3)]);
        } else {
            assert_eq!(fault(&model), (FaultKind::LoopLimit, span));
        }
    }
}

#[test]
fn a_loop_fixes_its_domain_first() {
    // for i := 1 to n: n := n + 1
    let mut build = Build::new();
    let n = build.var("n", build.int());
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", build.int());
    let (from, to, by) = (Box::new(build.n(1)), Box::new(build.read(&n)), Box::new(build.n(1)));
    let more = build.set(&n, build.add(build.read(&n), build.n(1)));
    let body = vec![build.put(&n, 3), build.each(&i, Domain::Range { from, to, by }, vec![more])];
    build.start(locals, body);
    assert_eq!(values(&build.done()), [int(6)]);
}

#[test]
fn return_keeps_what_was_done() {
    let mut build = Build::new();
    let x = build.var("x", build.int());
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", build.int());
    let leave = build.when(build.eq(build.read(&i), build.n(2)), vec![build.stmt(StmtKind::Return(None))]);
    let domain = build.span_of_range(1, 5, 1);
    let round = vec![build.set(&x, build.read(&i)), leave];
    let body = vec![build.each(&i, domain, round), build.put(&x, 99)];
    build.start(locals, body);
    assert_eq!(values(&build.done()), [int(2)]);
}

#[test]
fn a_reference_binds_its_place_once() {
    // a -> x[i]; i := 2; a := 7
    let mut build = Build::new();
    let index = build.range(1, 2);
    let array = build.array(index, build.int());
    let (x, i) = (build.var("x", array), build.var("i", index));
    let mut locals = Locals::new();
    let a = build.local(&mut locals, "a", build.int(), WRITABLE);
    let body = vec![
        build.put(&i, 1),
        build.bind(&a, Argument::Place(build.at(&x, build.read(&i)))),
        build.put(&i, 2),
        build.put(&a, 7),
    ];
    build.start(locals, body);
    assert_eq!(values(&build.done()), [Value::Array(vec![int(7), Value::Undefined]), int(2)]);
}

#[test]
fn a_reference_to_a_value_is_a_snapshot() {
    let mut build = Build::new();
    let (x, y) = (build.var("x", build.int()), build.var("y", build.int()));
    let mut locals = Locals::new();
    let a = build.local(&mut locals, "a", build.int(), READABLE);
    let b = build.local(&mut locals, "b", build.int(), READABLE);
    let body = vec![
        build.put(&x, 1),
        build.bind(&a, Argument::Value(build.read(&x))),
        // A reference to the temporary.
        build.bind(&b, Argument::Place(a.clone())),
        build.put(&x, 2),
        build.set(&y, build.add(build.read(&a), build.read(&b))),
    ];
    build.start(locals, body);
    assert_eq!(values(&build.done()), [int(2), int(2)]);
}

#[test]
fn var_parameters_alias_freely() {
    // f(var a, var b): a := a + 1; b := b + a   called as f(x, x)
    let mut build = Build::new();
    let x = build.var("x", build.int());
    let mut locals = Locals::new();
    let a = build.local(&mut locals, "a", build.int(), WRITABLE);
    let b = build.local(&mut locals, "b", build.int(), WRITABLE);
    let body = vec![
        build.set(&a, build.add(build.read(&a), build.n(1))),
        build.set(&b, build.add(build.read(&b), build.read(&a))),
    ];
    let f = build.function(locals, &[&a, &b], None, body);
    let call = StmtKind::Call(f, vec![Argument::Place(x.clone()), Argument::Place(x.clone())]);
    let body = vec![build.put(&x, 1), build.stmt(call)];
    build.start(Locals::new(), body);
    assert_eq!(values(&build.done()), [int(4)]);
}

#[test]
fn value_parameters_are_checked_copies() {
    // f(a: 0..9): x := 5; return a
    let mut build = Build::new();
    let digit = build.range(0, 9);
    let x = build.var("x", build.int());
    let y = build.var("y", digit);
    let mut locals = Locals::new();
    let a = build.local(&mut locals, "a", digit, LocalKind::Variable);
    let body = vec![build.put(&x, 5), build.stmt(StmtKind::Return(Some(build.read(&a))))];
    let f = build.function(locals, &[&a], Some(digit), body);
    let argument = build.read(&x);
    let span = argument.span;
    let body = vec![
        build.put(&x, 1),
        build.set(&y, build.call(f, vec![Argument::Value(build.read(&x))])),
        build.put(&x, 10),
        build.set(&y, build.call(f, vec![Argument::Value(argument)])),
    ];
    build.start(Locals::new(), body);
    let mut model = build.done();
    assert_eq!(fault(&model), (FaultKind::OutOfRange, span));
    model.starts[StartId::from_index(0)].code.body.truncate(2);
    assert_eq!(values(&model), [int(5), int(1)]);
}

#[test]
fn results_are_checked_and_must_be_there() {
    let result_fault = |body: fn(&Build, &Place) -> Stmt| {
        let mut build = Build::new();
        let digit = build.range(0, 9);
        let y = build.var("y", build.int());
        let x = build.var("x", digit);
        let stmt = body(&build, &x);
        let f = build.function(Locals::new(), &[], Some(digit), vec![stmt]);
        let body = vec![build.set(&y, build.call(f, vec![]))];
        build.start(Locals::new(), body);
        fault(&build.done()).0
    };
    assert_eq!(result_fault(|b, _| b.stmt(StmtKind::Return(Some(b.n(10))))), FaultKind::OutOfRange);
    assert_eq!(result_fault(|b, x| b.stmt(StmtKind::Return(Some(b.peek(x))))), FaultKind::Undefined);
    assert_eq!(result_fault(|b, _| b.stmt(StmtKind::Output(vec![]))), FaultKind::NoResult);
}

#[test]
fn locals_are_undefined_on_each_entry() {
    // f(): if isundefined(l) then l := 1; x := x + 1
    let mut build = Build::new();
    let x = build.var("x", build.int());
    let mut locals = Locals::new();
    let l = build.local(&mut locals, "l", build.int(), LocalKind::Variable);
    let more = vec![build.put(&l, 1), build.set(&x, build.add(build.read(&x), build.n(1)))];
    let body = vec![build.when(build.is_undefined(&l), more)];
    let f = build.function(locals, &[], None, body);
    let body =
        vec![build.put(&x, 0), build.stmt(StmtKind::Call(f, vec![])), build.stmt(StmtKind::Call(f, vec![]))];
    build.start(Locals::new(), body);
    assert_eq!(values(&build.done()), [int(2)]);
}

#[test]
fn calls_may_be_nested_so_deeply_and_no_deeper() {
    // f(n) = n = 1 ? 1 : f(n - 1): n calls nested.
    for (depth, fits) in [(CALL_DEPTH, true), (CALL_DEPTH + 1, false)] {
        let mut build = Build::new();
        let mut locals = Locals::new();
        let n = build.local(&mut locals, "n", build.int(), LocalKind::Variable);
        let f = FunctionId::from_index(0);
        let less = build.op(BinaryOp::Sub, build.read(&n), build.n(1));
        let again = build.expr(ExprKind::Call(f, vec![Argument::Value(less)]), build.int());
        let span = again.span;
        let value = build.cond(build.is(&n, 1), build.n(1), again);
        let body = vec![build.stmt(StmtKind::Return(Some(value)))];
        build.function(locals, &[&n], Some(build.int()), body);
        let expr = build.call(f, vec![Argument::Value(build.n(depth as i64))]);
        let expected = if fits { Ok(int(1)) } else { Err((FaultKind::CallDepth, span)) };
        assert_eq!(eval(build, expr), expected);
    }
}

#[test]
fn checks_assert_assume_and_cover() {
    let run = |kind: CheckKind, property: PropertyKind, holds: bool| {
        let mut build = Build::new();
        let property = build.property("p", property);
        let stmt = build.check(kind, build.t(holds), property);
        let span = stmt.span;
        build.start(Locals::new(), vec![stmt]);
        let model = build.done();
        (branches(&model).remove(0), property, span)
    };
    let (branch, property, span) = run(CheckKind::Assert, PropertyKind::Assertion, false);
    assert_eq!(branch.result, Firing::Fault(Fault { kind: FaultKind::Assertion(property), span }));
    let (branch, ..) = run(CheckKind::Assert, PropertyKind::Assertion, true);
    assert!(matches!(branch.result, Firing::State(_)));
    let (branch, ..) = run(CheckKind::Assume, PropertyKind::Assume(None), false);
    assert_eq!(branch.result, Firing::Discarded);
    let (branch, property, _) = run(CheckKind::Cover, PropertyKind::Cover(None), true);
    assert_eq!(branch.covered, [property]);
    let (branch, ..) = run(CheckKind::Cover, PropertyKind::Cover(None), false);
    assert_eq!(branch.covered, []);

    // An error statement is an assertion of nothing.
    let mut build = Build::new();
    let property = build.property("p", PropertyKind::Assertion);
    let body = vec![build.stmt(StmtKind::Check { kind: CheckKind::Assert, condition: None, property })];
    build.start(Locals::new(), body);
    assert_eq!(fault(&build.done()).0, FaultKind::Assertion(property));
}

#[test]
fn choices_branch_in_every_combination() {
    // choose a in 1..2; if a = 2 then choose b in bool end; x := a
    let mut build = Build::new();
    let small = build.range(1, 2);
    let x = build.var("x", small);
    let mut locals = Locals::new();
    let a = build.bound(&mut locals, "a", small);
    let b = build.bound(&mut locals, "b", build.bool());
    let second = build.choose(&b, Domain::Type(build.bool()));
    let body = vec![
        build.choose(&a, Domain::Type(small)),
        build.when(build.is(&a, 2), vec![second]),
        build.set(&x, build.read(&a)),
    ];
    build.start(locals, body);
    let model = build.done();
    let found: Vec<Vec<Value>> = branches(&model).into_iter().map(|branch| branch.choices).collect();
    let expected = [vec![int(1)], vec![int(2), Value::Bool(false)], vec![int(2), Value::Bool(true)]];
    assert_eq!(found, expected);
}

#[test]
fn a_choice_from_nothing_has_no_outcome() {
    let mut build = Build::new();
    let mut locals = Locals::new();
    let a = build.bound(&mut locals, "a", build.int());
    let domain = build.span_of_range(2, 1, 1);
    let body = vec![build.choose(&a, domain)];
    build.start(locals, body);
    assert_eq!(branches(&build.done()), []);
}

#[test]
fn output_is_text() {
    let mut build = Build::new();
    let colour = build.enumeration(&["Red", "Blue"]);
    let (x, y) = (build.var("x", colour), build.var("y", colour));
    let items = vec![
        OutputItem::Text("x is ".into()),
        OutputItem::Value(build.read(&x)),
        OutputItem::Text(", y is ".into()),
        OutputItem::Value(build.peek(&y)),
    ];
    let body = vec![
        build.set(&x, build.constant(Value::Enum(colour, 1), colour)),
        build.stmt(StmtKind::Output(items)),
    ];
    build.start(Locals::new(), body);
    assert_eq!(branches(&build.done())[0].output, ["x is Blue, y is undefined"]);
}

#[test]
fn clocks_are_reset_to_integers_from_0() {
    for (value, fits) in [(3, true), (-1, false)] {
        let mut build = Build::new();
        let clock = build.ty(Type::Clock);
        let x = build.var("x", clock);
        let body = vec![build.put(&x, value)];
        build.start(Locals::new(), body);
        let model = build.done();
        if fits {
            assert_eq!(values(&model), [Value::Clock(Ratio::new(3, 1).unwrap())]);
        } else {
            assert_eq!(fault(&model).0, FaultKind::OutOfRange);
        }
    }
}
