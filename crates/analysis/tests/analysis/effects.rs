//! Footprints.

use shoal_analysis::effects::{
    AbstractValue, AccessBase, AccessKind, AccessStep, CodeEffect, Written, of_condition, of_function,
    of_rule,
};
use shoal_model::{Argument, PropertyKind, StmtKind};

use crate::builder::{Build, REFERENCE, VARIABLE, by_ref, read, var_of};

#[test]
fn a_rule_reads_and_writes_through_calls() {
    let mut b = Build::new();
    let (p, state, count) = (b.p, b.state, b.count);
    let (a, n, s) = (b.per_proc("a", state), b.var("n", count), b.var("s", state));
    let (x, k) = (b.local("x", state, REFERENCE), b.local("k", p, VARIABLE));
    let body = vec![b.set(&b.the(x), read(&b.of(&a, k)))];
    let f = b.function(&[x, k], None, body);
    let me = b.bound("me", p);
    let body = vec![b.call(f, vec![by_ref(&s), Argument::Value(b.value(me))]), b.add_to(&n, 1)];
    b.rule(&[me], None, body);
    let footprint = of_rule(&b.model, b.model.rules.iter().next().unwrap());
    assert_eq!(Vec::from_iter(footprint.reads()), [var_of(&a), var_of(&n)]);
    assert_eq!(Vec::from_iter(footprint.writes()), [var_of(&n), var_of(&s)]);
    let of_a =
        footprint.accesses.iter().find(|access| access.location.base == AccessBase::Var(var_of(&a))).unwrap();
    let [AccessStep::Index(AbstractValue::Fixed(index))] = of_a.location.path.as_slice() else {
        panic!("{of_a:?}")
    };
    assert_eq!((index.activation, index.local), (0, me));
    assert_eq!(footprint.accesses.last().unwrap().action, AccessKind::Write(Written::Increased));
}

#[test]
fn a_function_by_itself_writes_what_it_is_given() {
    let mut b = Build::new();
    let count = b.count;
    let x = b.local("x", count, REFERENCE);
    let body = vec![b.set(&b.the(x), b.number(1)), b.stmt(StmtKind::Return(None))];
    let f = b.function(&[x], None, body);
    let footprint = of_function(&b.model, f);
    assert!(matches!(footprint.accesses[0].location.base, AccessBase::Referent(_)));
    assert_eq!(footprint.events[0].0, CodeEffect::Return);
    assert!(footprint.reads().is_empty());
}

#[test]
fn a_condition_only_reads() {
    let mut b = Build::new();
    let bool = b.bool;
    let flag = b.var("flag", bool);
    b.invariant(read(&flag));
    let property = b.model.properties.iter().last().unwrap();
    let PropertyKind::Invariant(condition) = &property.kind else { panic!() };
    let footprint = of_condition(&b.model, condition);
    assert_eq!(Vec::from_iter(footprint.reads()), [var_of(&flag)]);
    assert!(footprint.writes().is_empty());
}
