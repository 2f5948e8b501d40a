//! What breaks or pins a sort other than loops over it.

use shoal_analysis::{BreakKind, symmetry};
use shoal_model::{Argument, Domain, ExprKind, Quantifier, SortSize, StmtKind, Type};

use crate::{
    assert_broken, assert_proved, breaks,
    builder::{Build, VARIABLE, expr, read},
};

#[test]
fn constants_pin_wherever_they_stand() {
    let mut b = Build::new();
    let (p, bool) = (b.p, b.bool);
    let (owner, flag) = (b.var("owner", p), b.per_proc("flag", bool));
    let set = b.set(&owner, b.element(2));
    b.rule(&[], None, vec![set]);
    let first = read(&b.at(&flag, b.element(0)));
    b.invariant(first);
    assert_proved(&b.model);
    assert_eq!(Vec::from_iter(symmetry(&b.model).sorts[b.proc].pinned.clone()), [0, 2]);
    assert!(symmetry(&b.model).sorts[b.data].pinned.is_empty());
}

#[test]
fn numbers_of_elements_break() {
    let mut b = Build::new();
    let (p, count) = (b.p, b.count);
    let (owner, n) = (b.var("owner", p), b.var("n", count));
    let ordinal = expr(ExprKind::Ordinal(Box::new(read(&owner))), b.int);
    let set = b.set(&n, ordinal);
    b.rule(&[], None, vec![set]);
    assert_broken(&b.model, BreakKind::Ordinal, "the number of an element of `Proc` is used");

    let mut b = Build::new();
    let owner = b.var("owner", p);
    let first = expr(ExprKind::ElementAt(b.proc, Box::new(b.number(0))), p);
    let set = b.set(&owner, first);
    b.rule(&[], None, vec![set]);
    assert_broken(&b.model, BreakKind::ElementAt, "an element of `Proc` is found by its number");
}

#[test]
fn ordinals_of_other_things_do_not() {
    let mut b = Build::new();
    let (state, count) = (b.state, b.count);
    let (s, n) = (b.var("s", state), b.var("n", count));
    let ordinal = expr(ExprKind::Ordinal(Box::new(read(&s))), b.int);
    let set = b.set(&n, ordinal);
    b.rule(&[], None, vec![set]);
    assert_proved(&b.model);
}

#[test]
fn clear_breaks_if_a_reference_gets_the_first_element() {
    let cleared = |make: &dyn Fn(&mut Build) -> shoal_model::TypeId| {
        let mut b = Build::new();
        let ty = make(&mut b);
        let place = b.var("x", ty);
        let stmt = b.stmt(StmtKind::Clear(place));
        b.rule(&[], None, vec![stmt]);
        breaks(&b.model)
    };
    assert_eq!(cleared(&|b| b.p)[0].reason, "`clear` gives a reference into `Proc` its first element");
    assert_eq!(cleared(&|b| b.record(&[("owner", b.p)])).len(), 1);
    assert_eq!(cleared(&|b| b.ty(Type::Union { members: vec![b.p, b.d] })).len(), 1);
    assert!(cleared(&|b| b.ty(Type::Union { members: vec![b.d, b.p] })).is_empty());
    assert!(cleared(&|b| b.ty(Type::Ref { sort: b.proc, nullable: true })).is_empty());
    assert!(cleared(&|b| b.array(b.p, b.bool)).is_empty());
    assert!(cleared(&|b| b.bag(b.p)).is_empty());
}

#[test]
fn a_sort_of_one_is_always_symmetric() {
    let mut b = Build::new();
    let p = b.p;
    let owner = b.var("owner", p);
    let i = b.bound("i", p);
    let stmt = b.set(&owner, b.value(i));
    b.rule_with_loop(i, vec![stmt]);
    assert!(!breaks(&b.model).is_empty());
    b.model.sorts[b.proc].size = SortSize::Fixed(1);
    assert_proved(&b.model);
}

#[test]
fn loops_over_unions_count_for_each_sort_in_them() {
    let mut b = Build::new();
    let (p, d) = (b.p, b.d);
    let either = b.ty(Type::Union { members: vec![p, d] });
    let x = b.var("x", either);
    let i = b.bound("i", either);
    let stmt = b.set(&x, b.value(i));
    b.rule_with_loop(i, vec![stmt]);
    let found = symmetry(&b.model);
    assert!(!found.sorts[b.proc].is_proved() && !found.sorts[b.data].is_proved());
}

#[test]
fn loops_over_ranges_have_an_order() {
    let mut b = Build::new();
    let count = b.count;
    let x = b.var("x", count);
    let i = b.bound("i", count);
    let stmt = b.set(&x, b.value(i));
    b.rule_with_loop(i, vec![stmt]);
    assert_proved(&b.model);
}

/// A rule `if exists i: Proc do f() end then end`, where `f` has effects or has none.
fn quantifier_calling(effects: bool) -> Build {
    let mut b = Build::new();
    let (p, bool) = (b.p, b.bool);
    let flag = b.var("flag", bool);
    let local = b.local("own", bool, VARIABLE);
    let target = if effects { flag } else { b.the(local) };
    let result = b.truth(true);
    let body = vec![b.set(&target, b.truth(true)), b.stmt(StmtKind::Return(Some(result)))];
    let f = b.function(&[], Some(bool), body);
    let i = b.bound("i", p);
    let call = b.call_value(f, Vec::<Argument>::new());
    let exists = b.quantified(Quantifier::Exists, i, Domain::Type(p), call);
    let stmt = b.when(exists, vec![]);
    b.rule(&[], None, vec![stmt]);
    b
}

#[test]
fn quantifiers_must_not_have_effects() {
    assert_proved(&quantifier_calling(false).model);
    let reason = "a function with effects is called for each element in turn";
    assert_broken(&quantifier_calling(true).model, BreakKind::Effects, reason);
}

/// A loop over the slots of a bag of `element`s that keeps the last.
fn last_of_bag(fill: bool, of_procs: bool) -> Build {
    let mut b = Build::new();
    let element = if of_procs { b.p } else { b.count };
    let (p, int) = (b.p, b.int);
    let ty = b.bag(element);
    let (net, last) = (b.var("net", ty), b.var("last", element));
    let load = b.per_proc("load", b.count);
    let m = b.bound("m", int);
    let stmt = b.set(&last, read(&b.of(&net, m)));
    let stmt = b.for_slots(m, &net, vec![stmt]);
    b.rule(&[], None, vec![stmt]);
    if fill {
        let i = b.bound("i", p);
        let add = b.stmt(StmtKind::MultisetAdd(net, read(&b.of(&load, i))));
        b.rule_with_loop(i, vec![add]);
    }
    b
}

#[test]
fn the_order_of_slots_shows_the_order_of_elements() {
    assert!(!breaks(&last_of_bag(false, true).model).is_empty());
    // A bag of numbers is sorted by the numbers, unless a loop over processes has just filled it.
    assert_proved(&last_of_bag(false, false).model);
    assert!(!breaks(&last_of_bag(true, false).model).is_empty());
}

#[test]
fn every_slot_may_be_treated_alike() {
    let mut b = Build::new();
    let (p, int) = (b.p, b.int);
    let ty = b.bag(p);
    let net = b.var("net", ty);
    let m = b.bound("m", int);
    let slot = b.value(m);
    let stmt = b.stmt(StmtKind::MultisetRemove(net.clone(), slot));
    let stmt = b.for_slots(m, &net, vec![stmt]);
    b.rule(&[], None, vec![stmt]);
    assert_proved(&b.model);
}

#[test]
fn an_ordinary_protocol_is_proved() {
    // Rules of the German protocol's kind: send to one, invalidate the others, count and collect.
    let mut b = Build::new();
    let (p, bool, state) = (b.p, b.bool, b.state);
    let channel = b.record(&[("cmd", state), ("data", b.d)]);
    let (chan, sharers, inv) =
        (b.per_proc("chan", channel), b.per_proc("sharers", bool), b.per_proc("inv", bool));
    let owner = b.var("owner", p);
    let (me, j) = (b.bound("me", p), b.bound("j", p));
    let copy = b.set(&b.of(&inv, j), read(&b.of(&sharers, j)));
    let mine = b.field(&b.of(&chan, me), "cmd");
    let all = b.bound("all", p);
    let none = b.quantified(Quantifier::Forall, all, Domain::Type(p), b.not(read(&b.of(&sharers, all))));
    let guard = b.and(vec![b.is_state(&mine, 1), none]);
    let body = vec![
        b.for_each(j, vec![copy]),
        b.set(&mine, b.state(0)),
        b.set(&owner, b.value(me)),
        b.stmt(StmtKind::Undefine(b.field(&b.of(&chan, me), "data"))),
    ];
    b.rule(&[me], Some(guard), body);
    let found = symmetry(&b.model);
    assert_proved(&b.model);
    assert!(found.sorts[b.data].is_proved() && found.sorts[b.proc].pinned.is_empty());
}
