//! Ranges that become sorts.

use shoal_analysis::{RangeSort, ranges_as_sorts, symmetry};
use shoal_model::{Domain, SortSize, StmtKind, Type, Value, verify};

use crate::hints::{Nodes, nodes};

#[test]
fn a_range_that_nothing_orders_becomes_a_sort() {
    let Nodes { b, node, .. } = nodes();
    let made = ranges_as_sorts(&b.model).unwrap();
    assert_eq!(verify(&made.model), Ok(()));
    let [RangeSort { sort, name, least: 1 }] = &made.sorts[..] else { panic!("one sort") };
    assert_eq!(name, "Node");
    assert_eq!(*made.model.kind(node), Type::Ref { sort: *sort, nullable: false });
    let declared = &made.model.sorts[*sort];
    assert_eq!((declared.size, declared.first), (SortSize::Fixed(3), 1));
    assert!(symmetry(&made.model).sorts[*sort].is_proved());
}

#[test]
fn its_elements_are_shown_as_the_numbers_they_were() {
    let made = ranges_as_sorts(&nodes().b.model).unwrap();
    let sort = made.sorts[0].sort;
    let mut value =
        Value::Record(vec![Value::Elem(sort, 1), Value::Multiset(vec![Some(Value::Elem(sort, 0)), None])]);
    made.number(&mut value);
    assert_eq!(value, Value::Record(vec![Value::Int(2), Value::Multiset(vec![Some(Value::Int(1)), None])]));
}

#[test]
fn what_is_counted_with_stays_a_range() {
    let mut nodes = nodes();
    let body = vec![nodes.b.set(&nodes.owner, nodes.b.number(1))];
    nodes.b.rule(&[], None, body);
    assert!(ranges_as_sorts(&nodes.b.model).is_none());
}

#[test]
fn a_loop_whose_last_round_decides_keeps_it_a_range() {
    let mut nodes = nodes();
    let i = nodes.b.bound("i", nodes.node);
    let body = vec![nodes.b.set(&nodes.owner, nodes.b.value(i))];
    let body = vec![nodes.b.stmt(StmtKind::For { local: i, domain: Domain::Type(nodes.node), body })];
    nodes.b.rule(&[], None, body);
    assert!(ranges_as_sorts(&nodes.b.model).is_none());
}
