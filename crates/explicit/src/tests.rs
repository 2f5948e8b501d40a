//! Whole checks on small models whose answers are known.

mod large;
mod narrow;
mod packed;

use shoal_model::{
    BinaryOp, Cancel, CheckKind, Code, DeadlockKind, Domain, During, ExprKind, FaultKind, Function, IndexVec,
    Job, Limits, Observer, Outcome, Progress, PropertyId, PropertyKind, Quiet, Reason, SortId, Stmt,
    StmtKind, StopReason, Type, TypeId, TypedId, Value, Verdict, Violation, Watch,
};

use crate::testing::*;

/// A square of truth values over one sort of 4, flipped one by one; with or without the diagonal.
fn matrix(diagonal: bool) -> (Build, SortId) {
    let mut b = Build::new();
    let (sort, s) = b.sort(4);
    let row = b.array(s, b.boolean());
    let square = b.array(s, row);
    let m = b.var(square);
    let cell = |b: &Build, i, j| b.at(b.at(b.var_place(m), local(i, s)), local(j, s));
    let clear = stmt(StmtKind::Clear(b.var_place(m)));
    b.start(vec![clear]);
    let differ =
        b.bool(ExprKind::Unary(shoal_model::UnaryOp::Not, Box::new(b.equal(local(0, s), local(1, s)))));
    let flip = b.bool(ExprKind::Unary(shoal_model::UnaryOp::Not, Box::new(read(cell(&b, 0, 1)))));
    let body = vec![assign(cell(&b, 0, 1), flip)];
    b.rule(&[s, s], (!diagonal).then_some(differ), body);
    (b, sort)
}

/// `array[s] of s`, all entries settable.
fn pointers(size: u32) -> (Build, SortId) {
    let mut b = Build::new();
    let (sort, s) = b.sort(size);
    let array = b.array(s, s);
    let a = b.var(array);
    // Every start entry points to itself: the same for all elements.
    let each = shoal_model::TypedId::from_index(0);
    let body = vec![assign(b.at(b.var_place(a), local(0, s)), local(0, s))];
    b.start(vec![stmt(StmtKind::For { local: each, domain: Domain::Type(s), body })]);
    let start = b.model.starts.iter_mut().next().unwrap();
    let kind = shoal_model::LocalKind::Bound;
    start.code.locals.push(shoal_model::Local { name: "i".into(), ty: s, kind, span: span() });
    let set = vec![assign(b.at(b.var_place(a), local(0, s)), local(1, s))];
    b.rule(&[s, s], None, set);
    (b, sort)
}

#[test]
fn orbits_are_counted_exactly() {
    for (diagonal, all, orbits) in [(false, 4096, 218), (true, 65_536, 3044)] {
        let (b, sort) = matrix(diagonal);
        assert_eq!(b.check(&[]).statistics.states, all);
        let statistics = b.check(&[sort]).statistics;
        assert_eq!((statistics.states, statistics.states_full), (orbits, Some(u128::from(all))));
    }
    let (b, sort) = pointers(5);
    assert_eq!(b.check(&[]).statistics.states, 3125);
    let statistics = b.check(&[sort]).statistics;
    assert_eq!((statistics.states, statistics.states_full), (47, Some(3125)));
}

#[test]
fn several_sorts_are_permuted_together() {
    // Which of 3 processes has which of 2 data, or none; every way reachable.
    let mut b = Build::new();
    let (p, process) = b.sort(3);
    let (d, data) = b.sort(2);
    let array = b.array(process, data);
    let holds = b.var(array);
    let last = b.var(process);
    b.start(vec![]);
    let set = vec![
        assign(b.at(b.var_place(holds), local(0, process)), local(1, data)),
        assign(b.var_place(last), local(0, process)),
    ];
    b.rule(&[process, data], None, set);
    // 1 start, then the last process has one of 2 data and the others any of 3: 3 * 2 * 9 states.
    assert_eq!(b.check(&[]).statistics.states, 1 + 54);
    // With processes alike: the others are a bag of 2 out of 3. 1 + 2 * 6.
    assert_eq!(b.check(&[p]).statistics.states, 1 + 12);
    // With data alike too: the datum of the last one is the first; nothing else is changed. 1 + 6.
    let statistics = b.check(&[p, d]).statistics;
    assert_eq!((statistics.states, statistics.states_full), (1 + 6, Some(55)));
}

#[test]
fn an_element_that_only_a_start_names_is_like_the_others() {
    let mut b = Build::new();
    let (sort, s) = b.sort(3);
    let v = b.var(s);
    let first = expr(ExprKind::Const(Value::Elem(sort, 0)), s);
    b.start(vec![assign(b.var_place(v), first)]);
    let set = vec![assign(b.var_place(v), local(0, s))];
    b.rule(&[s], None, set);
    assert_eq!(b.check(&[sort]).statistics.states, 1);
}

#[test]
fn sixty_four_idle_elements_are_no_trouble() {
    let mut b = Build::new();
    let (sort, s) = b.sort(64);
    let phase = b.range(0, 2);
    let array = b.array(s, phase);
    let a = b.var(array);
    let owner = b.var(s);
    let cell = |b: &Build| b.at(b.var_place(a), local(0, s));
    b.start(vec![stmt(StmtKind::Clear(b.var_place(a)))]);
    let free = b.bool(ExprKind::IsUndefined(b.var_place(owner)));
    let zero = b.equal(read(cell(&b)), b.int(0));
    let one = b.equal(read(cell(&b)), b.int(1));
    let body = vec![assign(cell(&b), b.int(1))];
    b.rule(&[s], Some(zero), body);
    let body = vec![assign(cell(&b), b.int(2)), assign(b.var_place(owner), local(0, s))];
    let guard = b.bool(ExprKind::And(vec![free, one]));
    b.rule(&[s], Some(guard), body);
    // How many are at 1 (0 to 64, no owner; or 0 to 63 and an owner).
    let outcome = b.check(&[sort]);
    assert_eq!(outcome.statistics.states, 65 + 64);
    assert!(outcome.statistics.time.as_secs() < 20);
}

#[test]
fn elements_that_own_each_a_thing_are_no_trouble() {
    // Processes take things in turn: any matching is reachable, one orbit for each number of pairs.
    let mut b = Build::new();
    let (p, process) = b.sort(12);
    let (t, thing) = b.sort(12);
    let owns = b.array(process, thing);
    let owns = b.var(owns);
    let taken = b.array(thing, b.boolean());
    let taken = b.var(taken);
    b.start(vec![stmt(StmtKind::Clear(b.var_place(taken)))]);
    let own = b.at(b.var_place(owns), local(0, process));
    let took = b.at(b.var_place(taken), local(1, thing));
    let nothing = b.bool(ExprKind::IsUndefined(own.clone()));
    let free = b.bool(ExprKind::Unary(shoal_model::UnaryOp::Not, Box::new(read(took.clone()))));
    let guard = b.bool(ExprKind::And(vec![nothing, free]));
    let body = vec![assign(own, local(1, thing)), assign(took, b.truth(true))];
    b.rule(&[process, thing], Some(guard), body);
    assert_eq!(b.check(&[p, t]).statistics.states, 13);
}

#[test]
fn multisets_of_references_are_permuted_and_sorted() {
    let mut b = Build::new();
    let (sort, s) = b.sort(4);
    let bag = b.ty(Type::Multiset { capacity: 3, element: s });
    let v = b.var(bag);
    b.start(vec![]);
    let add = vec![stmt(StmtKind::MultisetAdd(b.var_place(v), local(0, s)))];
    let room = b.binary(BinaryOp::Lt, expr(ExprKind::Len(b.var_place(v)), b.integer()), b.int(3));
    b.rule(&[s], Some(room), add);
    // Bags of up to 3 out of 4 kinds: 1 + 4 + 10 + 20; up to renaming, the partitions of 0 to 3.
    assert_eq!(b.check(&[]).statistics.states, 35);
    let statistics = b.check(&[sort]).statistics;
    assert_eq!((statistics.states, statistics.states_full), (1 + 1 + 2 + 3, Some(35)));
    // Removal takes one instance for equal elements.
    let slots = Domain::Slots(b.var_place(v));
    let remove = vec![stmt(StmtKind::MultisetRemove(b.var_place(v), local(0, b.integer())))];
    let before = b.check(&[]).statistics.transitions;
    b.rule_over(vec![(b.integer(), slots)], None, remove);
    // One for each distinct element: sum over bags. Sizes 1: 4. 2: 4 + 6*2. 3: 4 + 12*2 + 4*3.
    assert_eq!(b.check(&[]).statistics.transitions - before, 4 + 16 + 40);
}

/// A counter from 0 to `hi` with a step up, and what may be added to it.
fn counter(hi: i64) -> (Build, shoal_model::VarId) {
    let mut b = Build::new();
    let range = b.range(0, hi);
    let n = b.var(range);
    b.start(vec![assign(b.var_place(n), b.int(0))]);
    let up = b.binary(BinaryOp::Add, read(b.var_place(n)), b.int(1));
    let guard = b.binary(BinaryOp::Lt, read(b.var_place(n)), b.int(hi));
    let body = vec![assign(b.var_place(n), up)];
    b.rule(&[], Some(guard), body);
    (b, n)
}

#[test]
fn properties_are_decided_with_shortest_traces() {
    let (mut b, n) = counter(9);
    let below = b.binary(BinaryOp::Lt, read(b.var_place(n)), b.int(5));
    let nine = b.equal(read(b.var_place(n)), b.int(9));
    let three = b.equal(read(b.var_place(n)), b.int(3));
    b.property(PropertyKind::Invariant(condition(below)));
    b.property(PropertyKind::NoFaults);
    b.property(PropertyKind::Deadlock(DeadlockKind::Stuck));
    b.property(PropertyKind::Deadlock(DeadlockKind::StuckUnless(condition(nine.clone()))));
    b.property(PropertyKind::Cover(Some(condition(three.clone()))));
    b.property(PropertyKind::Cover(Some(condition(b.truth(false)))));
    b.property(PropertyKind::AlwaysPossible(condition(nine)));
    b.property(PropertyKind::AlwaysPossible(condition(three)));
    let outcome = b.check(&[]);
    assert_eq!(verdicts(&outcome), "V5 H V9 H H V H V4");
    assert_eq!(outcome.statistics.states, 10);
    assert_eq!((outcome.statistics.depth, outcome.statistics.fired), (Some(9), vec![9]));
}

#[test]
fn a_step_back_to_the_same_state_is_stuttering() {
    let (mut b, n) = counter(2);
    let same = vec![assign(b.var_place(n), read(b.var_place(n)))];
    b.rule(&[], None, same);
    b.property(PropertyKind::Deadlock(DeadlockKind::Stuck));
    b.property(PropertyKind::Deadlock(DeadlockKind::Stuttering));
    assert_eq!(verdicts(&b.check(&[])), "H V2");
}

#[test]
fn only_the_least_priority_fires() {
    let (mut b, n) = counter(9);
    let back = vec![assign(b.var_place(n), b.int(0))];
    let at_two = b.equal(read(b.var_place(n)), b.int(2));
    b.rule(&[], Some(at_two), back);
    b.model.rules.iter_mut().last().unwrap().priority = -1;
    assert_eq!(b.check(&[]).statistics.states, 3);
}

#[test]
fn limits_give_unknown_and_what_is_known_stays() {
    let (mut b, n) = counter(1_000_000);
    let below = b.binary(BinaryOp::Lt, read(b.var_place(n)), b.int(5));
    b.property(PropertyKind::Invariant(condition(below)));
    b.property(PropertyKind::NoFaults);
    let open = |outcome: &Outcome| match &outcome.results[1].verdict {
        Verdict::Unknown(reason) => reason.clone(),
        other => panic!("{other:?}"),
    };
    let reason = |limits: Limits| {
        let outcome = b.check_within(&[], limits);
        assert!(matches!(outcome.results[0].verdict, Verdict::Violated(_)));
        open(&outcome)
    };
    let none = Limits::default;
    assert_eq!(reason(Limits { states: Some(100), ..none() }), StopReason::States(100));
    assert_eq!(reason(Limits { depth: Some(50), ..none() }), StopReason::Depth(50));
    assert_eq!(reason(Limits { memory: Some(1 << 20), ..none() }), StopReason::Memory(1 << 20));
    let time = std::time::Duration::from_nanos(1);
    // No time at all: nothing has been found by then.
    assert_eq!(open(&b.check_within(&[], Limits { time: Some(time), ..none() })), StopReason::Time(time));
}

/// The fault of a rule body made of one statement, in a model with a few variables.
fn fault_of(body: impl FnOnce(&mut Build, &Vars) -> Stmt) -> Option<FaultKind> {
    let mut b = Build::new();
    let (_, reference) = b.sort(2);
    let small = b.range(0, 3);
    let array = b.array(small, small);
    let sort = b.model.sorts.ids().next().unwrap();
    let nullable = b.ty(Type::Ref { sort, nullable: true });
    let of_elements = b.array(reference, small);
    let bag = b.ty(Type::Multiset { capacity: 1, element: small });
    let vars = Vars {
        small: b.var(small),
        array: b.var(array),
        nullable: b.var(nullable),
        of_elements: b.var(of_elements),
        bag: b.var(bag),
    };
    let null = expr(ExprKind::Const(Value::Null), nullable);
    b.start(vec![assign(b.var_place(vars.nullable), null)]);
    b.property(PropertyKind::NoFaults);
    b.property(PropertyKind::Assertion);
    let body = body(&mut b, &vars);
    b.rule(&[], None, vec![body]);
    let outcome = b.check(&[]);
    outcome.results.iter().find_map(|result| match &result.verdict {
        Verdict::Violated(violation) => match &violation.reason {
            Reason::Fault(During::Body(..), fault) => Some(fault.kind.clone()),
            other => panic!("{other:?}"),
        },
        _ => None,
    })
}

struct Vars {
    small: shoal_model::VarId,
    array: shoal_model::VarId,
    nullable: shoal_model::VarId,
    of_elements: shoal_model::VarId,
    bag: shoal_model::VarId,
}

#[test]
fn every_kind_of_fault_is_found() {
    let set = |b: &Build, v: &Vars, value| assign(b.var_place(v.small), value);
    let one = |b: &Build| b.int(1);
    assert_eq!(fault_of(|b, v| set(b, v, b.int(3))), None);
    assert_eq!(fault_of(|b, v| set(b, v, b.int(4))), Some(FaultKind::OutOfRange));
    assert_eq!(
        fault_of(|b, v| set(b, v, b.binary(BinaryOp::Add, read(b.var_place(v.small)), one(b)))),
        Some(FaultKind::Undefined)
    );
    assert_eq!(
        fault_of(|b, v| set(b, v, b.binary(BinaryOp::Div, one(b), b.int(0)))),
        Some(FaultKind::DivisionByZero)
    );
    assert_eq!(
        fault_of(|b, v| set(b, v, b.binary(BinaryOp::Mul, b.int(i64::MAX), b.int(2)))),
        Some(FaultKind::Overflow)
    );
    let far = |b: &Build| b.binary(BinaryOp::Add, b.int(2), b.int(2));
    assert_eq!(
        fault_of(|b, v| assign(b.at(b.var_place(v.array), far(b)), one(b))),
        Some(FaultKind::IndexOutOfRange)
    );
    assert_eq!(
        fault_of(|b, v| assign(b.at(b.var_place(v.of_elements), read(b.var_place(v.nullable))), one(b))),
        Some(FaultKind::NullReference)
    );
    let forever = |b: &Build| StmtKind::While { condition: b.truth(true), body: vec![], limit: 10 };
    assert_eq!(fault_of(|b, _| stmt(forever(b))), Some(FaultKind::LoopLimit));
    let property = shoal_model::TypedId::from_index(1);
    let error = StmtKind::Check { kind: CheckKind::Assert, condition: None, property };
    assert_eq!(fault_of(|_, _| stmt(error)), Some(FaultKind::Assertion(property)));
    let full = |b: &Build, v: &Vars| stmt(StmtKind::MultisetAdd(b.var_place(v.bag), b.int(1)));
    assert_eq!(
        fault_of(|b, v| stmt(StmtKind::If(vec![(b.truth(true), vec![full(b, v), full(b, v)])], vec![]))),
        Some(FaultKind::Full)
    );
}

#[test]
fn a_fault_in_a_guard_or_a_property_belongs_to_no_faults() {
    let (mut b, _) = counter(3);
    let range = b.range(0, 1);
    let x = b.var(range);
    let undefined = b.equal(read(b.var_place(x)), b.int(0));
    b.property(PropertyKind::NoFaults);
    b.property(PropertyKind::Invariant(condition(undefined.clone())));
    let outcome = b.check(&[]);
    // The invariant does not hold where it cannot be evaluated.
    assert_eq!(verdicts(&outcome), "V0 V0");
    b.rule(&[], Some(undefined), vec![]);
    b.model.properties = b.model.properties.iter().take(1).cloned().collect();
    let outcome = b.check(&[]);
    let Verdict::Violated(violation) = &outcome.results[0].verdict else { panic!() };
    assert!(matches!(violation.reason, Reason::Fault(During::Guard(..), _)));
    b.model.guard_faults = shoal_model::GuardFaults::Disable;
    assert_eq!(verdicts(&b.check(&[])), "H");
}

#[test]
fn choices_give_several_outcomes() {
    let mut b = Build::new();
    let range = b.range(0, 9);
    let n = b.var(range);
    b.start(vec![]);
    let choice = shoal_model::TypedId::from_index(0);
    let domain = Domain::Range { from: Box::new(b.int(9)), to: Box::new(b.int(1)), by: Box::new(b.int(-2)) };
    let body =
        vec![stmt(StmtKind::Choose { local: choice, domain }), assign(b.var_place(n), local(0, b.integer()))];
    let done = b.bool(ExprKind::IsUndefined(b.var_place(n)));
    b.rule(&[], Some(done), body);
    let kind = shoal_model::LocalKind::Bound;
    let ty = b.integer();
    let locals = &mut b.model.rules.iter_mut().next().unwrap().code.locals;
    locals.push(shoal_model::Local { name: "c".into(), ty, kind, span: span() });
    let outcome = b.check(&[]);
    assert_eq!((outcome.statistics.states, outcome.statistics.transitions), (6, 5));
    let graph = crate::graph(&b.model, &[], 100, &Watch::default()).unwrap();
    assert_eq!((graph.nodes.len(), graph.edges.len(), graph.complete), (6, 5, true));
    assert_eq!(graph.initial, [0]);
    assert!(!crate::graph(&b.model, &[], 3, &Watch::default()).unwrap().complete);
}

#[test]
fn what_is_not_supported_is_named() {
    let mut b = Build::new();
    let clock = b.ty(Type::Clock);
    b.var(clock);
    let error = crate::graph(&b.model, &[], 10, &Watch::default()).unwrap_err();
    assert_eq!(error.construct, "clocks");
}

#[test]
fn the_first_violation_or_the_user_ends_the_search() {
    let (mut b, n) = counter(1_000_000);
    let below = b.binary(BinaryOp::Lt, read(b.var_place(n)), b.int(5));
    b.property(PropertyKind::NoFaults);
    b.property(PropertyKind::Invariant(condition(below)));
    let properties: Vec<_> = b.model.properties.ids().collect();
    let mut job = Job { patience: Some(0), jit: true, ..Job::new(properties) };
    let outcome = crate::check(&b.model, &job, &mut Quiet).unwrap();
    assert!(matches!(outcome.results[0].verdict, Verdict::Unknown(StopReason::OtherViolation)));
    assert!(matches!(outcome.results[1].verdict, Verdict::Violated(_)));

    /// Asks to stop when it first hears of the search.
    struct Impatient(Cancel, usize);
    impl Observer for Impatient {
        fn progress(&mut self, _: &Progress) {
            self.0.cancel();
        }
        fn violation(&mut self, _: PropertyId, _: &Violation) {
            self.1 += 1;
        }
    }
    job.patience = None;
    // Long enough on any machine.
    let (mut long, n) = counter(1 << 30);
    let below = long.binary(BinaryOp::Lt, read(long.var_place(n)), long.int(5));
    long.property(PropertyKind::NoFaults);
    long.property(PropertyKind::Invariant(condition(below)));
    let mut observer = Impatient(job.watch.canceller(), 0);
    let outcome = crate::check(&long.model, &job, &mut observer).unwrap();
    assert!(matches!(outcome.results[0].verdict, Verdict::Unknown(StopReason::Interrupted)));
    assert_eq!(observer.1, 1);
}

/// 65,536 states without symmetry: rounds with many pieces, tables that grow while threads fill them.
#[test]
fn what_is_found_does_not_depend_on_the_threads() {
    let (mut b, sort) = matrix(true);
    b.property(PropertyKind::NoFaults);
    b.property(PropertyKind::Deadlock(DeadlockKind::Stuttering));
    for symmetric in [vec![], vec![sort]] {
        let run = |threads| {
            let properties = b.model.properties.ids().collect();
            let job = Job { symmetric: symmetric.clone(), jit: true, threads, ..Job::new(properties) };
            let outcome = crate::check(&b.model, &job, &mut Quiet).unwrap();
            let it = outcome.statistics;
            let starts = it.states - it.fresh.iter().sum::<u64>();
            assert!(
                starts > 0 && starts <= it.levels[0] && it.fresh.iter().zip(&it.fired).all(|(a, b)| a <= b)
            );
            format!(
                "{:?} {:?} {:?} {:?} {:?}",
                outcome.results, it.levels, it.fired, it.fresh, it.states_full
            )
        };
        let alone = run(1);
        assert!([2, 3, 8].into_iter().all(|threads| run(threads) == alone));
    }
}

/// A rule that calls a function of this body with a result, and drops the result.
fn call(body: impl FnOnce(&Build, TypeId) -> Vec<Stmt>) -> Option<FaultKind> {
    let mut b = Build::new();
    let small = b.range(0, 3);
    b.start(vec![]);
    b.property(PropertyKind::NoFaults);
    let code = Code { locals: IndexVec::new(), body: body(&b, small) };
    let (name, params) = ("f".to_string(), vec![]);
    b.model.functions.push(Function { name, params, result: Some(small), code, span: span() });
    b.rule(&[], None, vec![stmt(StmtKind::Call(TypedId::from_index(0), vec![]))]);
    match &b.check(&[]).results[0].verdict {
        Verdict::Violated(violation) => match &violation.reason {
            Reason::Fault(_, fault) => Some(fault.kind.clone()),
            other => panic!("{other:?}"),
        },
        _ => None,
    }
}

#[test]
fn functions_return_recur_and_fault() {
    let again = |ty| expr(ExprKind::Call(TypedId::from_index(0), vec![]), ty);
    assert_eq!(call(|b, _| vec![stmt(StmtKind::Return(Some(b.int(3))))]), None);
    assert_eq!(call(|b, _| vec![stmt(StmtKind::Return(Some(b.int(4))))]), Some(FaultKind::OutOfRange));
    assert_eq!(call(|_, _| vec![]), Some(FaultKind::NoResult));
    assert_eq!(call(|_, ty| vec![stmt(StmtKind::Return(Some(again(ty))))]), Some(FaultKind::CallDepth));
}

#[test]
fn deep_expressions_do_not_exhaust_the_stack() {
    let (mut b, n) = counter(3);
    let mut deep = read(b.var_place(n));
    let mut truth = b.truth(true);
    for _ in 0..250 {
        deep = b.binary(BinaryOp::Sub, deep, b.int(0));
        truth =
            b.bool(ExprKind::Cond(Box::new(truth.clone()), Box::new(b.truth(true)), Box::new(truth.clone())));
        // Not twice as much code each time.
        let ExprKind::Cond(_, _, other) = &mut truth.kind else { unreachable!() };
        **other = b.truth(false);
        truth = b.bool(ExprKind::Unary(shoal_model::UnaryOp::Not, Box::new(truth)));
    }
    let small = b.binary(BinaryOp::Le, deep, b.int(3));
    b.property(PropertyKind::Invariant(condition(small)));
    b.property(PropertyKind::Cover(Some(condition(truth))));
    assert_eq!(verdicts(&b.check(&[])), "H H");
}
