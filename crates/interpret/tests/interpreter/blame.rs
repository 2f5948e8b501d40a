//! Which part of a false condition is to blame.

use shoal_interpret::{Blame, blame};
use shoal_model::*;

use crate::build::*;

/// `x: array [P] of int` with the values 1, 2, 3, and `y = 2`.
fn model() -> (Build, SortId, TypeId, Place, Place) {
    let mut build = Build::new();
    let sort = build.sort("P", SortSize::Fixed(3));
    let process = build.reference(sort, false);
    let array = build.array(process, build.int());
    let (x, y) = (build.var("x", array), build.var("y", build.int()));
    let mut body = vec![build.put(&y, 2)];
    for element in 0..3 {
        let index = build.elem(sort, element);
        body.push(build.put(&build.at(&x, index), i64::from(element) + 1));
    }
    build.start(Locals::new(), body);
    (build, sort, process, x, y)
}

fn blamed(build: Build, locals: Locals, expr: Expr) -> Vec<Blame> {
    let condition = Condition { locals, expr };
    let mut build = build;
    build.property("p", PropertyKind::Invariant(condition.clone()));
    let model = build.done();
    blame(&model, &state(&model), &condition)
}

#[test]
fn the_first_false_conjunct_and_the_first_witness() {
    let (build, sort, process, x, y) = model();
    let mut locals = Locals::new();
    let p = build.bound(&mut locals, "p", process);
    let here = build.at(&x, build.read(&p));
    let leaf = build.op(BinaryOp::Lt, build.read(&here), build.read(&y));
    let span = leaf.span;
    let body = build.implies(build.t(true), build.and(vec![build.t(true), leaf]));
    let all = build.forall(&p, Domain::Type(process), body);
    let expr = build.and(vec![build.is(&y, 2), all, build.t(false)]);
    let found = blamed(build, locals, expr);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].span, span);
    assert_eq!(found[0].text, "(x[p] < y)");
    assert!(!found[0].value);
    assert_eq!(found[0].bindings, [("p".to_string(), Value::Elem(sort, 1))]);
    assert_eq!(found[0].reads, [("x[P_2]".to_string(), int(2)), ("y".to_string(), int(2))]);
}

#[test]
fn negated_existence_and_disjunction() {
    let (build, sort, process, x, y) = model();
    let mut locals = Locals::new();
    let p = build.bound(&mut locals, "p", process);
    let here = build.at(&x, build.read(&p));
    let leaf = build.eq(build.read(&here), build.n(3));
    let span = leaf.span;
    let body = build.or(vec![build.is(&y, 7), leaf]);
    let expr = build.not(build.exists(&p, Domain::Type(process), body));
    let found = blamed(build, locals, expr);
    assert_eq!((found[0].span, found[0].value), (span, true));
    assert_eq!(found[0].bindings, [("p".to_string(), Value::Elem(sort, 2))]);
}

#[test]
fn a_disjunction_is_to_blame_as_a_whole_unless_it_has_one_part() {
    let (build, _, _, _, y) = model();
    let expr = build.or(vec![build.is(&y, 3), build.is(&y, 4)]);
    let span = expr.span;
    let found = blamed(build, Locals::new(), expr);
    assert_eq!(found[0].span, span);
    assert_eq!(found[0].reads, [("y".to_string(), int(2))]);

    let (build, _, _, _, y) = model();
    let leaf = build.is(&y, 3);
    let span = leaf.span;
    let expr = build.cond(build.is(&y, 2), build.or(vec![leaf]), build.t(true));
    assert_eq!(blamed(build, Locals::new(), expr)[0].span, span);
}

#[test]
fn a_failed_existence_names_no_element() {
    let (build, _, process, x, _) = model();
    let mut locals = Locals::new();
    let p = build.bound(&mut locals, "p", process);
    let body = build.is(&build.at(&x, build.read(&p)), 9);
    let expr = build.exists(&p, Domain::Type(process), body);
    let span = expr.span;
    let found = blamed(build, locals, expr);
    assert_eq!(found[0].span, span);
    assert_eq!((found[0].bindings.len(), found[0].reads.len()), (0, 0));
}

#[test]
fn what_holds_or_faults_is_not_blamed() {
    let (build, _, _, _, y) = model();
    let expr = build.is(&y, 2);
    assert_eq!(blamed(build, Locals::new(), expr), []);
    let (build, ..) = model();
    let expr = build.eq(build.op(BinaryOp::Div, build.n(1), build.n(0)), build.n(0));
    assert_eq!(blamed(build, Locals::new(), expr), []);
}
