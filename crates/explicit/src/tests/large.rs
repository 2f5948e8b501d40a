//! States of more words than are put back in line, and bodies that write more cells than the journal has room for.

use shoal_model::{BinaryOp, Domain, Local, LocalKind, StmtKind, TypeId, TypedId};

use crate::testing::*;

/// A rule that does something for all numbers of a type.
fn for_all(b: &mut Build, numbers: TypeId, body: Vec<shoal_model::Stmt>) {
    let each = StmtKind::For { local: TypedId::from_index(0), domain: Domain::Type(numbers), body };
    b.rule(&[], None, vec![stmt(each)]);
    let rule = b.model.rules.iter_mut().last().unwrap();
    let kind = LocalKind::Bound;
    rule.code.locals.push(Local { name: "i".into(), ty: numbers, kind, span: span() });
}

#[test]
fn large_states_are_put_back() {
    let mut b = Build::new();
    let index = b.range(0, 39);
    // One to a word.
    let wide = b.range(0, 1 << 40);
    let row = b.array(index, wide);
    let a = b.var(row);
    let [eight, seven, most] = [7, 6, 38].map(|last| b.range(0, last));
    b.start(vec![stmt(StmtKind::Clear(b.var_place(a)))]);
    let cell = |b: &Build, at| b.at(b.var_place(a), at);
    // One of the first eight is flipped; the first eight move up by one; all are as the last, which stays 0.
    let flipped = b.binary(BinaryOp::Sub, b.int(1), read(cell(&b, local(0, eight))));
    let flip = vec![assign(cell(&b, local(0, eight)), flipped)];
    b.rule(&[eight], None, flip);
    let next = b.binary(BinaryOp::Add, local(0, seven), b.int(1));
    let shift = assign(cell(&b, local(0, seven)), read(cell(&b, next)));
    for_all(&mut b, seven, vec![shift]);
    let zero = assign(cell(&b, local(0, most)), read(cell(&b, b.int(39))));
    for_all(&mut b, most, vec![zero]);
    let statistics = b.check(&[]).statistics;
    assert_eq!((statistics.states, statistics.state_bits), (256, 40 * 41));
    assert_eq!(statistics.fired, [8 * 256, 256, 256]);
    assert!(statistics.spent.iter().all(|spent| *spent > 0));
}
