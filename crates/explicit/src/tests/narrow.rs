//! States without room for what is never undefined.

use shoal_model::{BinaryOp, ExprKind, StmtKind};

use crate::testing::*;

/// Two flags of each of three elements, of which the rules do something; how many bits a state has, and how many states
/// there are, with and without symmetry.
fn bits(rules: impl Fn(&mut Build, [shoal_model::VarId; 2], shoal_model::TypeId)) -> (u64, u64, u64) {
    let mut b = Build::new();
    let (sort, s) = b.sort(3);
    let row = b.array(s, b.boolean());
    let flags = [b.var(row), b.var(row)];
    b.start(flags.map(|flag| stmt(StmtKind::Clear(b.var_place(flag)))).to_vec());
    let set = assign(b.at(b.var_place(flags[0]), local(0, s)), b.truth(true));
    b.rule(&[s], None, vec![set]);
    rules(&mut b, flags, s);
    let (all, orbits) = (b.check(&[]).statistics, b.check(&[sort]).statistics);
    assert_eq!(all.state_bits, orbits.state_bits);
    (all.state_bits, all.states, orbits.states)
}

#[test]
fn what_is_never_undefined_has_no_room_for_it() {
    let copy = |b: &Build, from, to, s| {
        let value = expr(ExprKind::Peek(b.at(b.var_place(from), local(0, s))), b.boolean());
        assign(b.at(b.var_place(to), local(0, s)), value)
    };
    assert_eq!(bits(|_, _, _| {}), (6, 8, 4));
    let copies = bits(|b, [a, c], s| b.rule(&[s], None, vec![copy(b, a, c, s)]));
    assert_eq!(copies, (6, 27, 10));
    // One is made undefined; then the other by the copy.
    let undefine = |b: &Build, var, s| stmt(StmtKind::Undefine(b.at(b.var_place(var), local(0, s))));
    let one = bits(|b, [_, c], s| b.rule(&[s], None, vec![undefine(b, c, s)]));
    assert_eq!(one, (3 + 6, 64, 20));
    let both = bits(|b, [a, c], s| {
        b.rule(&[s], None, vec![undefine(b, a, s)]);
        b.rule(&[s], None, vec![copy(b, a, c, s)]);
    });
    assert_eq!(both, (12, 7 * 7 * 7, 84));
}

#[test]
fn what_some_start_leaves_undefined_has_room_for_it() {
    let mut b = Build::new();
    let (sort, s) = b.sort(3);
    let row = b.array(s, b.boolean());
    let (a, c) = (b.var(row), b.var(row));
    b.start(vec![stmt(StmtKind::Clear(b.var_place(a))), stmt(StmtKind::Clear(b.var_place(c)))]);
    b.start(vec![stmt(StmtKind::Clear(b.var_place(a)))]);
    let set = assign(b.at(b.var_place(a), local(0, s)), b.truth(true));
    b.rule(&[s], None, vec![set]);
    let statistics = b.check(&[sort]).statistics;
    assert_eq!((statistics.states, statistics.state_bits), (8, 3 + 6));
    // The other has, too, if it may get that: of each element both are then undefined, or one is and the other is not.
    let value = expr(ExprKind::Peek(b.at(b.var_place(c), local(0, s))), b.boolean());
    let copy = assign(b.at(b.var_place(a), local(0, s)), value);
    b.rule(&[s], None, vec![copy]);
    let statistics = b.check(&[sort]).statistics;
    assert_eq!((statistics.states, statistics.state_bits), (4 + 10, 6 + 6));
}

/// Thirty-five cells with three values each, of which three change; two bits for each would be too many for a word.
#[test]
fn cells_with_few_values_are_put_together() {
    for (length, bits) in [(30, 60), (35, 64), (39, 64), (40, 64), (41, 82)] {
        let mut b = Build::new();
        let (index, number) = (b.range(0, length - 1), b.range(0, 2));
        let row = b.array(index, number);
        let a = b.var(row);
        b.start(vec![stmt(StmtKind::Clear(b.var_place(a)))]);
        let cell = |b: &Build, at| b.at(b.var_place(a), at);
        let next = |b: &Build, at: shoal_model::Expr| {
            let sum = b.binary(BinaryOp::Add, read(cell(b, at.clone())), b.int(1));
            assign(cell(b, at), b.binary(BinaryOp::Rem, sum, b.int(3)))
        };
        // Known when the code is made, and not.
        let known = vec![next(&b, b.int(3))];
        b.rule(&[], None, known);
        let some = [0, 17].map(|at| b.equal(local(0, index), b.int(at)));
        let some = b.bool(ExprKind::Or(some.to_vec()));
        let body = vec![next(&b, local(0, index))];
        b.rule(&[index], Some(some), body);
        let statistics = b.check(&[]).statistics;
        assert_eq!((statistics.states, statistics.transitions), (27, 81));
        assert_eq!(statistics.state_bits, bits, "{length}");
    }
}
