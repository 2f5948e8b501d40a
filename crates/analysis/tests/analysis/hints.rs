//! Ranges that could be scalarsets.

use shoal_analysis::{Hint, scalarset_hints};
use shoal_model::{Argument, BinaryOp, Domain, Quantifier, Stmt, StmtKind, Type, TypeId, verify};

use crate::builder::{Build, VARIABLE, by_ref, read};

/// A model in which `Node: 1..3` is used as a scalarset is: `owner: Node`, `flag: array [Node] of bool`.
pub(crate) struct Nodes {
    pub(crate) b: Build,
    pub(crate) node: TypeId,
    pub(crate) owner: shoal_model::Place,
    flag: shoal_model::Place,
}

pub(crate) fn nodes() -> Nodes {
    let mut b = Build::new();
    let node = b.named("Node", Type::Int { lo: 1, hi: 3 });
    let bool = b.bool;
    let flags = b.array(node, bool);
    let (owner, flag) = (b.var("owner", node), b.var("flag", flags));
    let (me, j) = (b.bound("me", node), b.bound("j", node));
    let quiet = b.quantified(Quantifier::Forall, j, Domain::Type(node), b.not(read(&b.of(&flag, j))));
    let guard = b.and(vec![b.equal(read(&owner), b.value(me)), quiet]);
    let body = vec![b.set(&owner, b.value(me)), b.set(&b.at(&flag, read(&owner)), b.truth(true))];
    b.rule(&[me], Some(guard), body);
    Nodes { b, node, owner, flag }
}

fn hints(b: &Build) -> Vec<Hint> {
    assert_eq!(verify(&b.model), Ok(()));
    scalarset_hints(&b.model)
}

#[test]
fn a_range_used_as_a_scalarset_is_found() {
    let Nodes { b, node, .. } = nodes();
    let [hint] = hints(&b).try_into().unwrap();
    assert_eq!((hint.ty, hint.name.as_str()), (node, "Node"));
    assert_eq!((hint.uses.arrays, hint.uses.domains), (1, 2));
    assert!(hint.with.is_empty());
}

/// Whether there is still a hint with one more rule.
fn still_with(add: impl FnOnce(&mut Nodes) -> Vec<Stmt>) -> bool {
    let mut nodes = nodes();
    let body = add(&mut nodes);
    nodes.b.rule(&[], None, body);
    !hints(&nodes.b).is_empty()
}

#[test]
fn numbers_are_not_hinted_at() {
    assert!(!still_with(|n| vec![n.b.set(&n.owner, n.b.number(1))]));
    assert!(!still_with(|n| vec![n.b.add_to(&n.owner, 1)]));
    assert!(!still_with(|n| {
        let condition = n.b.equal(read(&n.owner), n.b.number(1));
        vec![n.b.when(condition, vec![])]
    }));
    assert!(!still_with(|n| {
        let condition = n.b.binary(BinaryOp::Lt, read(&n.owner), n.b.number(2));
        vec![n.b.when(condition, vec![])]
    }));
    assert!(!still_with(|n| vec![n.b.set(&n.b.at(&n.flag, n.b.number(1)), n.b.truth(true))]));
    assert!(!still_with(|n| vec![n.b.stmt(StmtKind::Clear(n.owner.clone()))]));
    assert!(!still_with(|n| {
        let count = n.b.count;
        let other = n.b.var("n", count);
        vec![n.b.set(&other, read(&n.owner))]
    }));
    assert!(!still_with(|n| {
        let i = n.b.bound("i", n.node);
        let (from, to) = (Box::new(read(&n.owner)), Box::new(n.b.number(3)));
        let domain = Domain::Range { from, to, by: Box::new(n.b.number(1)) };
        vec![n.b.stmt(StmtKind::For { local: i, domain, body: vec![] })]
    }));
}

#[test]
fn loops_over_it_must_commute() {
    assert!(still_with(|n| {
        let i = n.b.bound("i", n.node);
        let stmt = n.b.set(&n.b.of(&n.flag, i), n.b.truth(false));
        vec![n.b.for_each(i, vec![stmt])]
    }));
    assert!(!still_with(|n| {
        let i = n.b.bound("i", n.node);
        let stmt = n.b.set(&n.owner, n.b.value(i));
        vec![n.b.for_each(i, vec![stmt])]
    }));
}

#[test]
fn copies_may_go_through_other_names_records_and_calls() {
    let mut nodes = nodes();
    let other = nodes.b.ty(Type::Int { lo: 1, hi: 3 });
    let b = &mut nodes.b;
    let message = b.record(&[("from", other)]);
    let m = b.var("m", message);
    let k = b.local("k", other, VARIABLE);
    let body = vec![b.set(&b.field(&m, "from"), b.value(k))];
    let f = b.function(&[k], None, body);
    let body = vec![b.call(f, vec![Argument::Value(read(&nodes.owner))])];
    b.rule(&[], None, body);
    let [hint] = hints(b).try_into().unwrap();
    assert_eq!((hint.ty, hint.with), (nodes.node, vec![other]));
    // And a use as a number far away is seen.
    let b = &mut nodes.b;
    let body = vec![b.set(&b.field(&m, "from"), b.number(2))];
    b.rule(&[], None, body);
    assert!(hints(b).is_empty());
}

#[test]
fn references_join_the_types_of_both_sides() {
    let mut nodes = nodes();
    let b = &mut nodes.b;
    let other = b.ty(Type::Int { lo: 1, hi: 3 });
    let x = b.local("x", other, crate::builder::REFERENCE);
    let body = vec![b.set(&b.the(x), b.number(1))];
    let f = b.function(&[x], None, body);
    let body = vec![b.call(f, vec![by_ref(&nodes.owner)])];
    b.rule(&[], None, body);
    assert!(hints(b).is_empty());
}

#[test]
fn sorts_and_plain_integers_are_not_hinted_at() {
    let mut b = Build::new();
    let p = b.p;
    let owner = b.var("owner", p);
    let me = b.bound("me", p);
    let set = b.set(&owner, b.value(me));
    b.rule(&[me], None, vec![set]);
    assert!(hints(&b).is_empty());
}
