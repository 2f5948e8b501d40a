//! Multisets, sequences and sorts that grow.

use shoal_interpret::Firing;
use shoal_model::*;

use crate::build::*;

#[test]
fn a_bag_in_a_state_is_sorted_and_without_gaps() {
    let mut build = Build::new();
    let ty = build.bag(3, build.int());
    let x = build.var("x", ty);
    let body = vec![build.put_in(&x, build.n(3)), build.put_in(&x, build.n(1)), build.put_in(&x, build.n(2))];
    build.start(Locals::new(), body);
    assert_eq!(values(&build.done()), [bag(&[1, 2, 3])]);
}

#[test]
fn a_full_bag_faults() {
    let mut build = Build::new();
    let ty = build.bag(1, build.int());
    let x = build.var("x", ty);
    let add = build.put_in(&x, build.n(2));
    let span = add.span;
    let body = vec![build.put_in(&x, build.n(1)), add];
    build.start(Locals::new(), body);
    assert_eq!(fault(&build.done()), (FaultKind::Full, span));
}

#[test]
fn adding_fills_the_first_free_slot_and_positions_stay_within_a_step() {
    // x = {5, 6, 7} in this order of slots; for i in slots: if x[i] = 5, remove it and add 8 (in the same slot).
    let mut build = Build::new();
    let ty = build.bag(3, build.int());
    let x = build.var("x", ty);
    let order = build.sequence(9, build.int());
    let seen = build.var("seen", order);
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", build.int());
    let here = build.slot(&x, &i);
    let swap =
        vec![build.stmt(StmtKind::MultisetRemove(x.clone(), build.read(&i))), build.put_in(&x, build.n(8))];
    let body = vec![
        build.put_in(&x, build.n(5)),
        build.put_in(&x, build.n(6)),
        build.put_in(&x, build.n(7)),
        build.each(
            &i,
            Domain::Slots(x.clone()),
            vec![build.when(build.is(&here, 5), swap), build.insert(&seen, None, build.read(&here))],
        ),
    ];
    build.start(locals, body);
    let expected = Value::Sequence(vec![int(8), int(6), int(7)]);
    assert_eq!(values(&build.done()), [bag(&[6, 7, 8]), expected]);
}

#[test]
fn using_a_free_slot_faults() {
    type Use = fn(&Build, &Place, &Place, &Place) -> Stmt;
    let uses: [Use; 2] = [
        |b, x, i, _| b.stmt(StmtKind::MultisetRemove(x.clone(), b.read(i))),
        |b, x, i, y| b.set(y, b.read(&b.slot(x, i))),
    ];
    for uses in uses {
        let mut build = Build::new();
        let ty = build.bag(1, build.int());
        let x = build.var("x", ty);
        let y = build.var("y", build.int());
        let mut locals = Locals::new();
        let i = build.bound(&mut locals, "i", build.int());
        let remove = build.stmt(StmtKind::MultisetRemove(x.clone(), build.read(&i)));
        let body = vec![
            build.put_in(&x, build.n(5)),
            build.each(&i, Domain::Slots(x.clone()), vec![remove, uses(&build, &x, &i, &y)]),
        ];
        build.start(locals, body);
        assert_eq!(fault(&build.done()).0, FaultKind::EmptySlot);
    }
}

#[test]
fn a_reference_into_a_slot_that_is_emptied_faults() {
    let mut build = Build::new();
    let ty = build.bag(1, build.int());
    let x = build.var("x", ty);
    let y = build.var("y", build.int());
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", build.int());
    let a = build.local(&mut locals, "a", build.int(), READABLE);
    let body = vec![
        build.put_in(&x, build.n(5)),
        build.each(
            &i,
            Domain::Slots(x.clone()),
            vec![
                build.bind(&a, Argument::Place(build.slot(&x, &i))),
                build.set(&y, build.read(&a)),
                build.stmt(StmtKind::MultisetRemove(x.clone(), build.read(&i))),
                build.set(&y, build.read(&a)),
            ],
        ),
    ];
    build.start(locals, body);
    assert_eq!(fault(&build.done()).0, FaultKind::EmptySlot);
}

#[test]
fn removing_by_a_condition_tests_all_first() {
    // Remove those that are less than the number of elements.
    let mut build = Build::new();
    let ty = build.bag(4, build.int());
    let x = build.var("x", ty);
    let n = build.var("n", build.int());
    let mut locals = Locals::new();
    let i = build.bound(&mut locals, "i", build.int());
    let condition = build.op(BinaryOp::Lt, build.read(&build.slot(&x, &i)), build.len(&x));
    let mut body: Vec<Stmt> = [1, 2, 3, 4].iter().map(|value| build.put_in(&x, build.n(*value))).collect();
    body.push(build.stmt(StmtKind::MultisetRemoveIf { place: x.clone(), local: local_id(&i), condition }));
    body.push(build.set(&n, build.len(&x)));
    build.start(locals, body);
    assert_eq!(values(&build.done()), [bag(&[4]), int(1)]);
}

#[test]
fn bags_are_equal_whatever_their_slots() {
    let mut build = Build::new();
    let ty = build.bag(3, build.int());
    let (x, y) = (build.var("x", ty), build.var("y", ty));
    let body = vec![
        build.put_in(&x, build.n(1)),
        build.put_in(&x, build.n(2)),
        build.put_in(&y, build.n(2)),
        build.put_in(&y, build.n(1)),
    ];
    build.start(Locals::new(), body);
    let expr = build.eq(build.read(&x), build.read(&y));
    assert_eq!(eval(build, expr), Ok(Value::Bool(true)));
}

#[test]
fn sequences_insert_remove_and_fault() {
    let run = |last: fn(&Build, &Place) -> Stmt| {
        let mut build = Build::new();
        let ty = build.sequence(3, build.int());
        let x = build.var("x", ty);
        let body =
            vec![build.insert(&x, None, build.n(1)), build.insert(&x, None, build.n(2)), last(&build, &x)];
        build.start(Locals::new(), body);
        match outcome(&build.done()) {
            Firing::State(state) => Ok(state.values.into_iter().next().unwrap()),
            Firing::Fault(fault) => Err(fault.kind),
            Firing::Discarded => unreachable!(),
        }
    };
    let items = |items: &[i64]| Ok(Value::Sequence(items.iter().copied().map(int).collect()));
    assert_eq!(run(|b, x| b.insert(x, Some(b.n(0)), b.n(9))), items(&[9, 1, 2]));
    assert_eq!(run(|b, x| b.insert(x, Some(b.n(2)), b.n(9))), items(&[1, 2, 9]));
    assert_eq!(run(|b, x| b.insert(x, Some(b.n(3)), b.n(9))), Err(FaultKind::IndexOutOfRange));
    assert_eq!(run(|b, x| b.insert(x, Some(b.n(-1)), b.n(9))), Err(FaultKind::IndexOutOfRange));
    assert_eq!(run(|b, x| b.stmt(StmtKind::Remove(x.clone(), b.n(0)))), items(&[2]));
    assert_eq!(run(|b, x| b.stmt(StmtKind::Remove(x.clone(), b.n(2)))), Err(FaultKind::IndexOutOfRange));
    assert_eq!(run(|b, x| b.put(&b.item(x, b.n(1)), 7)), items(&[1, 7]));
    assert_eq!(run(|b, x| b.put(&b.item(x, b.n(2)), 7)), Err(FaultKind::IndexOutOfRange));
    assert_eq!(run(|b, x| b.stmt(StmtKind::Clear(x.clone()))), items(&[]));
    let fill = run(|b, x| {
        let push = |n| b.insert(x, None, b.n(n));
        b.when(b.t(true), vec![push(3), push(4)])
    });
    assert_eq!(fill, Err(FaultKind::Full));
}

/// A heap of cells with a number each, and two references.
struct Heap {
    build: Build,
    sort: SortId,
    cells: Place,
    p: Place,
    q: Place,
}

fn heap(limit: Option<u32>) -> Heap {
    let mut build = Build::new();
    let sort = build.sort("Cell", SortSize::Growing { limit, lost: shoal_model::Lost::Stays });
    let cell = build.reference(sort, true);
    let digit = build.range(0, 9);
    let content = build.record(&[("n", digit), ("next", cell)]);
    let index = build.reference(sort, false);
    let array = build.array(index, content);
    let cells = build.var("cells", array);
    let (p, q) = (build.var("p", cell), build.var("q", cell));
    Heap { build, sort, cells, p, q }
}

impl Heap {
    /// `cells[reference].n := value`
    fn write(&self, reference: &Place, value: i64) -> Stmt {
        let cell = self.build.at(&self.cells, self.build.read(reference));
        self.build.put(&self.build.field(&cell, 0), value)
    }

    fn run(mut self, body: Vec<Stmt>) -> Result<State, FaultKind> {
        self.build.start(Locals::new(), body);
        match outcome(&self.build.done()) {
            Firing::State(state) => Ok(state),
            Firing::Fault(fault) => Err(fault.kind),
            Firing::Discarded => unreachable!(),
        }
    }
}

#[test]
fn created_elements_have_undefined_entries_and_take_the_lowest_free_number() {
    let heap = heap(None);
    let (b, sort) = (&heap.build, heap.sort);
    let body = vec![
        b.create(&heap.p, sort),
        b.create(&heap.q, sort),
        heap.write(&heap.p, 1),
        heap.write(&heap.q, 2),
        b.delete(&heap.p),
        b.create(&heap.p, sort),
    ];
    let state = heap.run(body).unwrap();
    let entry = |n| Value::Record(vec![n, Value::Undefined]);
    assert_eq!(state.live, [vec![true, true]]);
    assert_eq!(state.values[0], Value::Array(vec![entry(Value::Undefined), entry(int(2))]));
    assert_eq!(state.values[1], Value::Elem(sort, 0));
}

#[test]
fn deleted_elements_leave_a_gap_and_dangling_references() {
    let heap = heap(None);
    let (b, sort) = (&heap.build, heap.sort);
    let body = vec![b.create(&heap.p, sort), b.create(&heap.q, sort), b.delete(&heap.p)];
    let state = heap.run(body).unwrap();
    assert_eq!(state.live, [vec![false, true]]);
    let blank = Value::Record(vec![Value::Undefined, Value::Undefined]);
    assert_eq!(state.values[0], Value::Array(vec![Value::Undefined, blank]));
    assert_eq!(state.values[1], Value::Elem(sort, 0));
}

#[test]
fn free_numbers_at_the_end_are_forgotten() {
    let heap = heap(None);
    let (b, sort) = (&heap.build, heap.sort);
    let clean = b.stmt(StmtKind::Undefine(heap.p.clone()));
    let body = vec![b.create(&heap.p, sort), b.delete(&heap.p), clean];
    let blank = heap.build.model.blank_state();
    assert_eq!(heap.run(body).unwrap(), blank);
}

#[test]
fn following_null_or_dangling_references_faults() {
    let null = |h: &Heap| h.build.set(&h.p, h.build.constant(Value::Null, h.p.ty));
    let h = heap(None);
    let body = vec![null(&h), h.write(&h.p, 1)];
    assert_eq!(h.run(body), Err(FaultKind::NullReference));
    let h = heap(None);
    let body = vec![null(&h), h.build.delete(&h.p)];
    assert_eq!(h.run(body), Err(FaultKind::NullReference));
    let h = heap(None);
    let body = vec![h.build.create(&h.p, h.sort), h.build.delete(&h.p), h.write(&h.p, 1)];
    assert_eq!(h.run(body), Err(FaultKind::DanglingReference));
    let h = heap(None);
    let body = vec![h.build.create(&h.p, h.sort), h.build.delete(&h.p), h.build.delete(&h.p)];
    assert_eq!(h.run(body), Err(FaultKind::DanglingReference));
}

#[test]
fn a_sort_has_a_limit_at_a_time() {
    let h = heap(Some(1));
    let body = vec![h.build.create(&h.p, h.sort), h.build.delete(&h.p), h.build.create(&h.p, h.sort)];
    assert!(h.run(body).is_ok());
    let h = heap(Some(1));
    let body = vec![h.build.create(&h.p, h.sort), h.build.create(&h.q, h.sort)];
    assert_eq!(h.run(body), Err(FaultKind::SortLimit));
}

#[test]
fn existence_domains_and_least_values_follow_the_population() {
    let mut h = heap(None);
    let b = &mut h.build;
    let any = b.reference(h.sort, true);
    let live = b.reference(h.sort, false);
    let [some, none, gone, count, all] = ["some", "none", "gone", "count", "all"].map(|name| {
        let ty = if name == "count" || name == "all" { b.int() } else { b.bool() };
        b.var(name, ty)
    });
    let mut locals = Locals::new();
    let i = b.bound(&mut locals, "i", live);
    let j = b.bound(&mut locals, "j", any);
    let exists = |b: &Build, of: &Place| b.expr(ExprKind::Exists(Box::new(b.read(of))), b.bool());
    let body = vec![
        b.create(&h.p, h.sort),
        b.set(&gone, exists(b, &h.p)),
        b.set(&some, b.read(&gone)),
        b.set(&h.q, b.read(&h.p)),
        b.create(&h.p, h.sort),
        b.create(&h.p, h.sort),
        b.delete(&h.q),
        b.set(&gone, b.not(exists(b, &h.q))),
        b.stmt(StmtKind::Clear(h.q.clone())),
        b.set(&none, b.not(exists(b, &h.q))),
        b.set(&count, b.quantified(Quantifier::Count, &i, Domain::Type(live), b.t(true))),
        b.set(&all, b.quantified(Quantifier::Count, &j, Domain::Type(any), b.t(true))),
    ];
    h.build.start(locals, body);
    let values = values(&h.build.done());
    let yes = Value::Bool(true);
    assert_eq!(values[2..], [Value::Null, yes.clone(), yes.clone(), yes, int(2), int(3)]);
}

#[test]
fn local_and_nested_arrays_grow_too() {
    let mut h = heap(None);
    let b = &mut h.build;
    let index = b.reference(h.sort, false);
    let row = b.array(index, b.int());
    let matrix = b.array(index, row);
    let m = b.var("m", matrix);
    let mut locals = Locals::new();
    let l = b.local(&mut locals, "l", matrix, LocalKind::Variable);
    let at = |b: &Build, m: &Place, i: &Place, j: &Place| b.at(&b.at(m, b.read(i)), b.read(j));
    let body = vec![
        b.create(&h.p, h.sort),
        b.create(&h.q, h.sort),
        b.put(&at(b, &l, &h.p, &h.q), 1),
        b.put(&at(b, &l, &h.q, &h.p), 2),
        b.set(&m, b.read(&l)),
    ];
    h.build.start(locals, body);
    let row = |a, b| Value::Array(vec![a, b]);
    let expected = Value::Array(vec![row(Value::Undefined, int(1)), row(int(2), Value::Undefined)]);
    assert_eq!(values(&h.build.done())[3], expected);
}
