//! Rules that work on packed states alone: they are left for the interpreter in guards and in the middle of bodies, and
//! have more successors than may wait.

use shoal_code::compile;
use shoal_model::{BinaryOp, PropertyKind, StmtKind};

use crate::{support::ENGINE, testing::*};

/// Four counters and a place to point to one of them; the counters count to 3, the last step of one of them is wrong.
fn counters(wide: i64) -> Build {
    let mut b = Build::new();
    let (_, s) = b.sort(4);
    let number = b.range(0, wide);
    let row = b.array(s, number);
    let (a, p, q) = (b.var(row), b.var(s), b.var(s));
    b.start(vec![stmt(StmtKind::Clear(b.var_place(a))), stmt(StmtKind::Clear(b.var_place(p)))]);
    let cell = |b: &Build, index| b.at(b.var_place(a), index);
    let less = |b: &Build, index| b.binary(BinaryOp::Lt, read(cell(b, index)), b.int(3));
    let up = |b: &Build, index: shoal_model::Expr| {
        let sum = b.binary(BinaryOp::Add, read(cell(b, index.clone())), b.int(1));
        assign(cell(b, index), sum)
    };
    // One that is known when the code is made, one that is pointed to, and where it points.
    let (guard, body) = (less(&b, local(0, s)), vec![up(&b, local(0, s))]);
    b.rule(&[s], Some(guard), body);
    let pointed = read(b.var_place(p));
    let (guard, body) = (less(&b, pointed.clone()), vec![up(&b, pointed.clone()), up(&b, pointed)]);
    b.rule(&[], Some(guard), body);
    let point = assign(b.var_place(p), local(0, s));
    b.rule(&[s], None, vec![point]);
    // Something is undefined; in the body, after something was written.
    let first = || b.at(b.var_place(a), read(b.var_place(q)));
    let all = b.equal(read(cell(&b, read(b.var_place(p)))), b.int(3));
    let wrong = vec![assign(b.var_place(p), read(b.var_place(p))), assign(first(), b.int(0))];
    b.rule(&[], Some(all), wrong);
    let invariant = b.binary(BinaryOp::Le, read(cell(&b, read(b.var_place(p)))), b.int(4));
    b.property(PropertyKind::Invariant(condition(invariant)));
    b.property(PropertyKind::NoFaults);
    b
}

#[test]
fn packed_states_and_cells_find_the_same() {
    for (wide, words) in [(5, 1), (1 << 20, 2), (1 << 30, 3), (1 << 40, 4)] {
        let b = counters(wide);
        let layout = shoal_code::accept(&b.model, ENGINE).unwrap();
        let mut program = compile(&b.model, &layout, ENGINE).unwrap();
        program.translate(&layout, true);
        assert_eq!((layout.words(), program.works_on_packed()), (words, (true, true)));
        // On cells, what judges packed states is made when there have been many.
        program.translate(&layout, false);
        assert_eq!(program.works_on_packed(), (false, false));
        let outcome = b.check(&[]);
        assert_eq!(verdicts(&outcome), "H V2");
        assert!(outcome.statistics.states > 1000);
    }
}

/// Thirteen writes in a body are few, and four times as many when the body is there once for each element.
#[test]
fn bodies_that_write_much_when_they_are_unrolled() {
    let mut b = Build::new();
    let (_, s) = b.sort(4);
    let number = b.range(0, 3);
    let row = b.array(s, number);
    let a = b.var(row);
    b.start(vec![stmt(StmtKind::Clear(b.var_place(a)))]);
    let cell = || b.at(b.var_place(a), local(0, s));
    let same = (0..12).map(|_| assign(cell(), read(cell())));
    let up = assign(cell(), b.binary(BinaryOp::Add, read(cell()), b.int(1)));
    let body = same.chain([up]).collect();
    let guard = b.binary(BinaryOp::Lt, read(cell()), b.int(3));
    b.rule(&[s], Some(guard), body);
    b.property(PropertyKind::NoFaults);
    let outcome = b.check(&[]);
    assert_eq!((verdicts(&outcome).as_str(), outcome.statistics.states), ("H", 256));
}
