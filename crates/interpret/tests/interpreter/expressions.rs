//! Expressions: arithmetic, undefined values, short circuits, quantifiers.

use shoal_model::*;

use crate::build::*;

/// The value of an operation on two integers.
fn op(op: BinaryOp, a: i64, b: i64) -> Result<Value, FaultKind> {
    let build = Build::new();
    let expr = build.op(op, build.n(a), build.n(b));
    let span = expr.span;
    eval(build, expr).map_err(|(kind, at)| {
        assert_eq!(at, span);
        kind
    })
}

#[test]
fn arithmetic_is_on_64_bits_and_faults_on_overflow() {
    use BinaryOp::*;
    use FaultKind::*;
    assert_eq!(op(Add, 2, 3), Ok(int(5)));
    assert_eq!(op(Add, i64::MAX, 1), Err(Overflow));
    assert_eq!(op(Sub, i64::MIN, 1), Err(Overflow));
    assert_eq!(op(Mul, 1 << 40, 1 << 40), Err(Overflow));
    assert_eq!(op(Div, -7, 2), Ok(int(-3)));
    assert_eq!(op(Rem, -7, 2), Ok(int(-1)));
    assert_eq!(op(Rem, 7, -2), Ok(int(1)));
    assert_eq!(op(Div, 1, 0), Err(DivisionByZero));
    assert_eq!(op(Rem, 1, 0), Err(DivisionByZero));
    assert_eq!(op(Div, i64::MIN, -1), Err(Overflow));
    assert_eq!(op(Rem, i64::MIN, -1), Ok(int(0)));
    let build = Build::new();
    let expr = build.neg(build.n(i64::MIN));
    assert_eq!(eval(build, expr).unwrap_err().0, Overflow);
}

#[test]
fn bits_and_shifts() {
    use BinaryOp::*;
    assert_eq!(op(BitAnd, 12, 10), Ok(int(8)));
    assert_eq!(op(BitOr, 12, 10), Ok(int(14)));
    assert_eq!(op(BitXor, 12, 10), Ok(int(6)));
    assert_eq!(op(Shl, 3, 2), Ok(int(12)));
    assert_eq!(op(Shl, 1, 63), Ok(int(i64::MIN)));
    assert_eq!(op(Shl, 3, 64), Ok(int(0)));
    assert_eq!(op(Shl, 12, -2), Ok(int(3)));
    assert_eq!(op(Shl, -1, i64::MIN), Ok(int(-1)));
    assert_eq!(op(Shr, -8, 1), Ok(int(-4)));
    assert_eq!(op(Shr, -8, 99), Ok(int(-1)));
    assert_eq!(op(Shr, 8, 99), Ok(int(0)));
    assert_eq!(op(Shr, 3, -2), Ok(int(12)));
}

#[test]
fn comparisons() {
    use BinaryOp::*;
    assert_eq!(op(Lt, 1, 2), Ok(Value::Bool(true)));
    assert_eq!(op(Ge, 1, 2), Ok(Value::Bool(false)));
    assert_eq!(op(Le, 2, 2), Ok(Value::Bool(true)));
    assert_eq!(op(Gt, 2, 2), Ok(Value::Bool(false)));
}

#[test]
fn reading_an_undefined_scalar_faults_and_peeking_does_not() {
    let mut build = Build::new();
    let x = build.var("x", build.bool());
    let read = build.read(&x);
    let span = read.span;
    assert_eq!(eval(build, read), Err((FaultKind::Undefined, span)));

    let mut build = Build::new();
    let x = build.var("x", build.bool());
    let peek = build.peek(&x);
    assert_eq!(eval(build, peek), Ok(Value::Undefined));

    let mut build = Build::new();
    let x = build.var("x", build.bool());
    let test = build.and(vec![
        build.is_undefined(&x),
        build.eq(build.peek(&x), build.peek(&x)),
        build.not(build.eq(build.peek(&x), build.t(true))),
    ]);
    assert_eq!(eval(build, test), Ok(Value::Bool(true)));
}

#[test]
fn connectives_go_from_left_to_right_and_stop() {
    // `x` is undefined: whatever reads it faults.
    let stops: [fn(&Build, Expr) -> Expr; 5] = [
        |b, x| b.not(b.and(vec![b.t(false), x])),
        |b, x| b.or(vec![b.t(true), x]),
        |b, x| b.implies(b.t(false), x),
        |b, x| b.cond(b.t(true), b.t(true), x),
        |b, x| b.cond(b.t(false), x, b.t(true)),
    ];
    for stops in stops {
        let mut build = Build::new();
        let x = build.var("x", build.bool());
        let expr = stops(&build, build.read(&x));
        assert_eq!(eval(build, expr), Ok(Value::Bool(true)));
    }
    let goes_on: [fn(&Build, Expr) -> Expr; 3] = [
        |b, x| b.and(vec![b.t(true), x, b.t(false)]),
        |b, x| b.or(vec![x, b.t(true)]),
        |b, x| b.implies(b.t(true), x),
    ];
    for goes_on in goes_on {
        let mut build = Build::new();
        let x = build.var("x", build.bool());
        let expr = goes_on(&build, build.read(&x));
        assert_eq!(eval(build, expr).unwrap_err().0, FaultKind::Undefined);
    }
}

/// `exists i in domain: i = 0 | x[i]` with `x` undefined everywhere: true at the first value, a fault after.
fn exists_that_faults_later(sorted: bool) -> Result<Value, FaultKind> {
    let mut build = Build::new();
    let sort = build.sort("P", SortSize::Fixed(2));
    let index = if sorted { build.reference(sort, false) } else { build.range(0, 1) };
    let array = build.array(index, build.bool());
    let x = build.var("x", array);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", index);
    let first = match sorted {
        true => build.elem(sort, 0),
        false => build.n(0),
    };
    let body = build.or(vec![build.eq(build.read(&i), first), build.read(&build.at(&x, build.read(&i)))]);
    let expr = build.exists(&i, Domain::Type(index), body);
    build.start(locals, vec![]);
    eval(build, expr).map_err(|(kind, _)| kind)
}

#[test]
fn quantifiers_over_sorts_look_at_all_elements_and_others_stop() {
    assert_eq!(exists_that_faults_later(false), Ok(Value::Bool(true)));
    assert_eq!(exists_that_faults_later(true), Err(FaultKind::Undefined));
}

#[test]
fn quantifiers_over_slots_look_at_all_of_them() {
    let mut build = Build::new();
    let digit = build.range(0, 9);
    let kind = build.bag(3, digit);
    let all = build.var("all", kind);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", build.int());
    let zero = build.is(&build.slot(&all, &i), 0);
    let division = build.op(
        BinaryOp::Div,
        build.n(1),
        build.op(BinaryOp::Sub, build.read(&build.slot(&all, &i)), build.n(1)),
    );
    let body = build.or(vec![zero, build.eq(division, build.n(1))]);
    let expr = build.exists(&i, Domain::Slots(all.clone()), body);
    let body = vec![build.put_in(&all, build.n(0)), build.put_in(&all, build.n(1))];
    build.start(locals, body);
    assert_eq!(eval(build, expr).unwrap_err().0, FaultKind::DivisionByZero);
}

#[test]
fn ranges_go_up_or_down_by_a_step() {
    for (from, to, by, expected) in
        [(1, 3, 1, 3), (3, 1, -1, 3), (1, 4, 2, 2), (3, 1, 1, 0), (i64::MAX - 1, i64::MAX, 1, 2)]
    {
        let mut build = Build::new();
        let mut locals = Locals::new();
        let i = build.bound(&mut locals, "i", build.int());
        let domain = build.span_of_range(from, to, by);
        let expr = build.quantified(Quantifier::Count, &i, domain, build.t(true));
        build.start(locals, vec![]);
        assert_eq!(eval(build, expr), Ok(int(expected)), "{from} to {to} by {by}");
    }
    let mut build = Build::new();
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", build.int());
    let domain = build.span_of_range(1, 2, 0);
    let Domain::Range { by, .. } = &domain else { unreachable!() };
    let span = by.span;
    let expr = build.forall(&i, domain, build.t(true));
    build.start(locals, vec![]);
    assert_eq!(eval(build, expr), Err((FaultKind::ZeroStep, span)));
}

#[test]
fn count_looks_at_all() {
    let mut build = Build::new();
    let index = build.range(1, 5);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", index);
    let body = build.op(BinaryOp::Gt, build.read(&i), build.n(2));
    let expr = build.quantified(Quantifier::Count, &i, Domain::Type(index), body);
    build.start(locals, vec![]);
    assert_eq!(eval(build, expr), Ok(int(3)));
}

#[test]
fn indices_outside_undefined_or_null_fault_at_the_index() {
    let mut build = Build::new();
    let index = build.range(1, 2);
    let array = build.array(index, build.bool());
    let x = build.var("x", array);
    let index = build.n(3);
    let span = index.span;
    let expr = build.read(&build.at(&x, index));
    assert_eq!(eval(build, expr), Err((FaultKind::IndexOutOfRange, span)));

    let mut build = Build::new();
    let sort = build.sort("P", SortSize::Fixed(2));
    let index = build.reference(sort, false);
    let maybe = build.reference(sort, true);
    let array = build.array(index, build.bool());
    let (x, p) = (build.var("x", array), build.var("p", maybe));
    let body = vec![build.set(&p, build.constant(Value::Null, maybe))];
    build.start(Locals::new(), body);
    let index = build.read(&p);
    let span = index.span;
    let expr = build.read(&build.at(&x, index));
    assert_eq!(eval(build, expr), Err((FaultKind::NullReference, span)));
}

#[test]
fn unions_know_their_members() {
    let mut build = Build::new();
    let sort = build.sort("P", SortSize::Fixed(2));
    let process = build.reference(sort, false);
    let home = build.enumeration(&["Home"]);
    let node = build.ty(Type::Union { members: vec![process, home] });
    let x = build.var("x", node);
    let member =
        |build: &Build, ty| build.expr(ExprKind::IsMember(Box::new(build.peek(&x)), ty), build.bool());
    let undefined = build.or(vec![member(&build, process), member(&build, home)]);
    let before = build.var("before", build.bool());
    let mut body = vec![build.set(&before, undefined)];
    body.push(build.set(&x, build.constant(Value::Enum(home, 0), home)));
    let ordinal = build.expr(ExprKind::Ordinal(Box::new(build.read(&x))), build.int());
    let after = build.and(vec![
        build.not(build.read(&before)),
        build.not(member(&build, process)),
        member(&build, home),
        build.eq(ordinal, build.n(2)),
    ]);
    build.start(Locals::new(), body);
    assert_eq!(eval(build, after), Ok(Value::Bool(true)));

    // A value of one member does not fit the other.
    let mut build = Build::new();
    let sort = build.sort("P", SortSize::Fixed(2));
    let process = build.reference(sort, false);
    let home = build.enumeration(&["Home"]);
    let node = build.ty(Type::Union { members: vec![process, home] });
    let (x, p) = (build.var("x", node), build.var("p", process));
    let value = build.read(&x);
    let span = value.span;
    let body = vec![build.set(&x, build.constant(Value::Enum(home, 0), home)), build.set(&p, value)];
    build.start(Locals::new(), body);
    assert_eq!(fault(&build.done()), (FaultKind::OutOfRange, span));
}

#[test]
fn elements_by_number() {
    for (number, expected) in
        [(1, Ok(1)), (2, Err(FaultKind::IndexOutOfRange)), (-1, Err(FaultKind::IndexOutOfRange))]
    {
        let mut build = Build::new();
        let sort = build.sort("P", SortSize::Fixed(2));
        let ty = build.reference(sort, false);
        let expr = build.expr(ExprKind::ElementAt(sort, Box::new(build.n(number))), ty);
        let found = eval(build, expr).map_err(|(kind, _)| kind);
        assert_eq!(found, expected.map(|element| Value::Elem(sort, element)));
    }
}

#[test]
fn deep_expressions_inside_deep_calls_do_not_exhaust_the_stack() {
    // f(n) = 0 + (0 + (... n = 0 ? 0 : f(n - 1))), as deep as calls and front ends allow.
    let mut build = Build::new();
    let mut locals = Locals::new();
    let n = build.local(&mut locals, "n", build.int(), LocalKind::Variable);
    let this = FunctionId::from_index(0);
    let less = build.op(BinaryOp::Sub, build.read(&n), build.n(1));
    let again = build.expr(ExprKind::Call(this, vec![Argument::Value(less)]), build.int());
    let mut expr = build.cond(build.is(&n, 0), build.n(0), again);
    for _ in 0..490 {
        expr = build.add(build.n(0), expr);
    }
    let body = vec![build.stmt(StmtKind::Return(Some(expr)))];
    build.function(locals, &[&n], Some(build.int()), body);
    let expr = build.call(this, vec![Argument::Value(build.n(CALL_DEPTH as i64 - 1))]);
    assert_eq!(eval(build, expr), Ok(int(0)));
}
