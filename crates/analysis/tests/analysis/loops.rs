//! Loops over a sort: rounds that commute and rounds that do not.

use shoal_analysis::BreakKind;
use shoal_model::{Argument, BinaryOp, Domain, Quantifier, StmtKind};

use crate::{
    assert_broken, assert_proved, breaks,
    builder::{Build, REFERENCE, VARIABLE, by_ref, peek, read},
};

#[test]
fn the_trap_is_found() {
    let mut b = Build::new();
    let p = b.p;
    let owner = b.var("p", p);
    let i = b.bound("i", p);
    let stmt = b.set(&owner, b.value(i));
    let span = stmt.span;
    b.rule_with_loop(i, vec![stmt]);
    let reason = "`p` gets a value that depends on which element comes last in the loop";
    assert_broken(&b.model, BreakKind::LastWrite, reason);
    assert_eq!(breaks(&b.model)[0].span, span);
    assert!(shoal_analysis::symmetry(&b.model).sorts[b.data].is_proved());
}

#[test]
fn the_trap_is_found_under_a_condition() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let owner = b.var("owner", p);
    let s = b.per_proc("s", state);
    let i = b.bound("i", p);
    let stmt = b.set(&owner, b.value(i));
    let stmt = b.when(b.is_state(&b.of(&s, i), 2), vec![stmt]);
    b.rule_with_loop(i, vec![stmt]);
    assert!(!breaks(&b.model).is_empty());
}

#[test]
fn each_round_may_write_what_is_its_own() {
    let mut b = Build::new();
    let (p, state, count) = (b.p, b.state, b.count);
    let node = b.record(&[("state", state), ("count", count)]);
    let nodes = b.per_proc("n", node);
    let i = b.bound("i", p);
    let mine = b.of(&nodes, i);
    let (state, count) = (b.field(&mine, "state"), b.field(&mine, "count"));
    let body = vec![b.set(&state, b.state(0)), b.add_to(&count, 1)];
    let double = b.binary(BinaryOp::Mul, read(&count), b.number(2));
    let guarded = b.set(&count, double);
    let guarded = b.when(b.is_state(&state, 1), vec![guarded]);
    b.rule_with_loop(i, [body, vec![guarded]].concat());
    assert_proved(&b.model);
}

#[test]
fn a_round_may_not_read_what_another_writes() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let a = b.per_proc("a", state);
    let (i, j) = (b.bound("i", p), b.bound("j", p));
    let stmt = b.set(&b.of(&a, i), read(&b.of(&a, j)));
    let stmt = b.for_each(i, vec![stmt]);
    b.rule(&[j], None, vec![stmt]);
    assert_broken(&b.model, BreakKind::CrossRead, "reads `a[j]`, which other rounds of the loop write");
}

#[test]
fn a_round_may_not_write_into_another() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let (a, next) = (b.per_proc("a", state), b.per_proc("next", p));
    let i = b.bound("i", p);
    let there = b.at(&a, read(&b.of(&next, i)));
    // The same value everywhere: fine.
    let constant = b.set(&there, b.state(0));
    b.rule_with_loop(i, vec![constant]);
    assert_proved(&b.model);
    let i = b.bound("i", p);
    let s = b.per_proc("s", state);
    let there = b.at(&a, read(&b.of(&next, i)));
    let stmt = b.set(&there, read(&b.of(&s, i)));
    b.rule_with_loop(i, vec![stmt]);
    let reason = "`a[next[i]]` gets a value that depends on which element comes last in the loop";
    assert_broken(&b.model, BreakKind::LastWrite, reason);
}

#[test]
fn the_position_of_the_index_matters() {
    let mut b = Build::new();
    let (p, bool) = (b.p, b.bool);
    let row = b.array(p, bool);
    let m = b.per_proc("m", row);
    let (i, j) = (b.bound("i", p), b.bound("j", p));
    let (ij, ji) = (b.of(&b.of(&m, i), j), b.of(&b.of(&m, j), i));
    let ok = b.set(&ij, b.truth(true));
    let inner = b.for_each(j, vec![ok]);
    b.rule_with_loop(i, vec![inner]);
    assert_proved(&b.model);
    let (i, j) = (b.bound("i", p), b.bound("j", p));
    let transpose = b.set(&ij, read(&ji));
    let inner = b.for_each(j, vec![transpose]);
    b.rule_with_loop(i, vec![inner]);
    assert_broken(&b.model, BreakKind::CrossRead, "reads `m[j][i]`, which other rounds of the loop write");
}

#[test]
fn writes_that_are_the_same_in_every_round_are_fine() {
    let mut b = Build::new();
    let (p, d, bool, count) = (b.p, b.d, b.bool, b.count);
    let (ready, total, limit) = (b.var("ready", bool), b.var("total", count), b.var("limit", count));
    let per_data = b.array(d, bool);
    let flags = b.var("b", per_data);
    let (i, j) = (b.bound("i", p), b.bound("j", d));
    let inner = b.set(&b.of(&flags, j), b.truth(false));
    let body = vec![
        b.set(&ready, b.truth(false)),
        b.set(&ready, b.truth(true)),
        b.set(&total, read(&limit)),
        b.for_each(j, vec![inner]),
    ];
    b.rule_with_loop(i, body);
    assert_proved(&b.model);
}

#[test]
fn a_write_under_a_condition_that_others_change_is_not() {
    let mut b = Build::new();
    let (p, bool) = (b.p, b.bool);
    let (ready, other) = (b.var("ready", bool), b.var("other", bool));
    let i = b.bound("i", p);
    let inner = b.set(&other, b.truth(true));
    let body = vec![b.when(read(&ready), vec![inner]), b.set(&ready, b.truth(true))];
    b.rule_with_loop(i, body);
    assert_broken(&b.model, BreakKind::CrossRead, "reads `ready`, which other rounds of the loop write");
}

#[test]
fn found_may_be_set_by_any_round() {
    let mut b = Build::new();
    let (p, bool, state) = (b.p, b.bool, b.state);
    let (found, s) = (b.var("found", bool), b.per_proc("s", state));
    let i = b.bound("i", p);
    let set = b.set(&found, b.truth(true));
    let stmt = b.when(b.is_state(&b.of(&s, i), 2), vec![set]);
    b.rule_with_loop(i, vec![stmt]);
    assert_proved(&b.model);
}

#[test]
fn found_may_not_be_set_to_two_values_nor_be_read() {
    let mut b = Build::new();
    let (p, bool, state) = (b.p, b.bool, b.state);
    let (found, s) = (b.var("found", bool), b.per_proc("s", state));
    let i = b.bound("i", p);
    let (yes, no) = (b.set(&found, b.truth(true)), b.set(&found, b.truth(false)));
    let arms = vec![(b.is_state(&b.of(&s, i), 2), vec![yes])];
    let stmt = b.stmt(StmtKind::If(arms, vec![no]));
    b.rule_with_loop(i, vec![stmt]);
    let reason = "`found` gets a value that depends on which element comes last in the loop";
    assert_broken(&b.model, BreakKind::LastWrite, reason);

    let mut b = Build::new();
    let (found, s) = (b.var("found", bool), b.per_proc("s", state));
    let i = b.bound("i", p);
    let yes = b.set(&found, b.truth(true));
    let mine = b.set(&b.of(&s, i), b.state(0));
    let body = vec![b.when(b.not(read(&found)), vec![mine, yes])];
    b.rule_with_loop(i, body);
    assert_broken(&b.model, BreakKind::CrossRead, "reads `found`, which other rounds of the loop write");
}

#[test]
fn the_value_may_be_a_parameter_of_the_rule() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let (owner, s) = (b.var("owner", p), b.per_proc("s", state));
    let (i, me) = (b.bound("i", p), b.bound("me", p));
    let set = b.set(&owner, b.value(me));
    let stmt = b.when(b.is_state(&b.of(&s, i), 2), vec![set]);
    let stmt = b.for_each(i, vec![stmt]);
    b.rule(&[me], None, vec![stmt]);
    assert_proved(&b.model);
}

#[test]
fn the_value_may_be_a_copy_of_what_stays_the_same() {
    let build = |stays: bool| {
        let mut b = Build::new();
        let (p, state) = (b.p, b.state);
        let (s, old, new) = (b.per_proc("s", state), b.var("old", state), b.var("new", state));
        let i = b.bound("i", p);
        let from = if stays { new } else { b.of(&s, i) };
        let set = b.set(&old, read(&from));
        let stmt = b.when(b.is_state(&b.of(&s, i), 2), vec![set]);
        b.rule_with_loop(i, vec![stmt]);
        b
    };
    assert_proved(&build(true).model);
    assert!(!breaks(&build(false).model).is_empty());
}

#[test]
fn a_copy_that_was_passed_to_a_procedure_belongs_to_the_call() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let message = b.record(&[("state", state)]);
    let (inbox, x) = (b.per_proc("inbox", message), b.var("x", state));
    let m = b.local("m", message, VARIABLE);
    let body = vec![b.set(&x, read(&b.field(&b.the(m), "state")))];
    let f = b.function(&[m], None, body);
    let i = b.bound("i", p);
    let stmt = b.call(f, vec![Argument::Value(read(&b.of(&inbox, i)))]);
    b.rule_with_loop(i, vec![stmt]);
    let reason = "`x` gets a value that depends on which element comes last in the loop";
    assert_broken(&b.model, BreakKind::LastWrite, reason);
}

#[test]
fn counting_is_fine() {
    let mut b = Build::new();
    let (p, state, count) = (b.p, b.state, b.count);
    let (n, s, load) = (b.var("n", count), b.per_proc("s", state), b.per_proc("load", count));
    let i = b.bound("i", p);
    let one = b.add_to(&n, 1);
    let sum = b.binary(BinaryOp::Add, read(&n), read(&b.of(&load, i)));
    let body = vec![b.when(b.is_state(&b.of(&s, i), 2), vec![one]), b.set(&n, sum)];
    b.rule_with_loop(i, body);
    assert_proved(&b.model);
}

#[test]
fn counting_up_and_down_is_not_nor_is_counting_and_looking() {
    let mut b = Build::new();
    let (p, state, count) = (b.p, b.state, b.count);
    let (n, s) = (b.var("n", count), b.per_proc("s", state));
    let i = b.bound("i", p);
    let (up, down) = (b.add_to(&n, 1), b.add_to(&n, -1));
    let body = vec![b.when(b.is_state(&b.of(&s, i), 2), vec![up]), down];
    b.rule_with_loop(i, body);
    assert_broken(
        &b.model,
        BreakKind::LastWrite,
        "`n` is changed in a way that depends on the order of the loop",
    );

    let mut b = Build::new();
    let (n, ticket) = (b.var("n", count), b.per_proc("ticket", count));
    let i = b.bound("i", p);
    let body = vec![b.add_to(&n, 1), b.set(&b.of(&ticket, i), read(&n))];
    b.rule_with_loop(i, body);
    assert_broken(&b.model, BreakKind::CrossRead, "reads `n`, which other rounds of the loop write");
}

#[test]
fn disjunctions_are_fine_if_they_cannot_fault() {
    let mut b = Build::new();
    let (p, bool) = (b.p, b.bool);
    let (any, flag) = (b.var("any", bool), b.per_proc("flag", bool));
    let i = b.bound("i", p);
    let on = b.equal(peek(&b.of(&flag, i)), b.truth(true));
    let stmt = b.set(&any, b.or(vec![read(&any), on]));
    b.rule_with_loop(i, vec![stmt]);
    assert_proved(&b.model);
    // If `flag[i]` is undefined in one round, it depends on the rounds before whether it is looked at.
    let i = b.bound("i", p);
    let stmt = b.set(&any, b.or(vec![read(&any), read(&b.of(&flag, i))]));
    b.rule_with_loop(i, vec![stmt]);
    assert!(!breaks(&b.model).is_empty());
}

#[test]
fn bags_may_be_filled_but_not_looked_into() {
    let mut b = Build::new();
    let p = b.p;
    let ty = b.bag(p);
    let net = b.var("net", ty);
    let i = b.bound("i", p);
    let add = b.stmt(StmtKind::MultisetAdd(net.clone(), b.value(i)));
    b.rule_with_loop(i, vec![add.clone()]);
    assert_proved(&b.model);
    // Which entries equal the round's own element is no business of others.
    let (i, j) = (b.bound("i", p), b.bound("j", b.int));
    let seen = b.equal(read(&b.of(&net, j)), b.value(i));
    let count = b.quantified(Quantifier::Count, j, Domain::Slots(net.clone()), seen);
    let none = b.equal(count, b.number(0));
    let stmt = b.when(none, vec![add.clone()]);
    b.rule_with_loop(i, vec![stmt]);
    assert_proved(&b.model);
    // Whether all of them do is.
    let (i, j) = (b.bound("i", p), b.bound("j", b.int));
    let seen = b.equal(read(&b.of(&net, j)), b.value(i));
    let all = b.quantified(Quantifier::Forall, j, Domain::Slots(net.clone()), seen);
    let stmt = b.when(all, vec![add]);
    b.rule_with_loop(i, vec![stmt]);
    assert_broken(&b.model, BreakKind::CrossRead, "reads `net`, which other rounds of the loop write");
}

#[test]
fn lists_are_in_the_order_of_the_loop() {
    let mut b = Build::new();
    let p = b.p;
    let ty = b.ty(shoal_model::Type::Sequence { capacity: 4, element: p });
    let queue = b.var("queue", ty);
    let i = b.bound("i", p);
    let value = b.value(i);
    let stmt = b.stmt(StmtKind::Insert { place: queue, at: None, value });
    b.rule_with_loop(i, vec![stmt]);
    assert!(!breaks(&b.model).is_empty());
}

/// `for i do t := a[i]; c[i] := t end`, and then perhaps `x := t`.
fn with_temporary(first_write: bool, read_after: bool, write_between: bool) -> Build {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let (a, c, x) = (b.per_proc("a", state), b.per_proc("c", state), b.var("x", state));
    let i = b.bound("i", p);
    let t = b.local("t", state, VARIABLE);
    let t = b.the(t);
    let (write, use_it) = (b.set(&t, read(&b.of(&a, i))), b.set(&b.of(&c, i), read(&t)));
    let body = if first_write { vec![write, use_it] } else { vec![use_it, write] };
    let mut all = vec![b.for_each(i, body)];
    if write_between {
        all.push(b.set(&t, b.state(0)));
    }
    if read_after {
        all.push(b.set(&x, read(&t)));
    }
    b.rule(&[], None, all);
    b
}

#[test]
fn temporaries_belong_to_the_round_if_nothing_is_handed_on() {
    assert_proved(&with_temporary(true, false, false).model);
    assert_proved(&with_temporary(true, true, true).model);
    assert!(!breaks(&with_temporary(true, true, false).model).is_empty());
    assert!(!breaks(&with_temporary(false, false, false).model).is_empty());
}

#[test]
fn temporaries_are_followed_through_fields_branches_and_inner_loops() {
    let mut b = Build::new();
    let (p, d, state, count) = (b.p, b.d, b.state, b.count);
    let message = b.record(&[("state", state), ("count", count)]);
    let (out, n, s) = (b.per_proc("out", message), b.per_proc("n", count), b.per_proc("s", state));
    let (i, j) = (b.bound("i", p), b.bound("j", d));
    let m = b.local("m", message, VARIABLE);
    let k = b.local("k", count, VARIABLE);
    let (m, k) = (b.the(m), b.the(k));
    let (state, mcount) = (b.field(&m, "state"), b.field(&m, "count"));
    let (one, two) = (b.set(&mcount, b.number(1)), b.set(&mcount, b.number(2)));
    let arms = vec![(b.is_state(&b.of(&s, i), 0), vec![one])];
    let up = b.add_to(&k, 1);
    let body = vec![
        b.set(&state, read(&b.of(&s, i))),
        b.stmt(StmtKind::If(arms, vec![two])),
        b.set(&b.of(&out, i), read(&m)),
        b.set(&k, b.number(0)),
        b.for_each(j, vec![up]),
        b.set(&b.of(&n, i), read(&k)),
    ];
    b.rule_with_loop(i, body.clone());
    assert_proved(&b.model);
    // If the field `state` is written last, that of the round before is handed on.
    let (mut other, rule) = (b.model.clone(), b.model.rules.ids().next().unwrap());
    let StmtKind::For { body, .. } = &mut other.rules[rule].code.body[0].kind else { panic!() };
    body.rotate_left(1);
    let reasons: Vec<String> = breaks(&other).into_iter().map(|found| found.reason).collect();
    assert!(reasons.contains(&"reads `m`, which other rounds of the loop write".into()), "{reasons:?}");
}

#[test]
fn a_temporary_that_an_outer_round_reads_again_is_live() {
    let mut b = Build::new();
    let (p, d, state) = (b.p, b.d, b.state);
    let (a, x) = (b.per_proc("a", state), b.var("x", state));
    let (i, j) = (b.bound("i", p), b.bound("j", d));
    let t = b.local("t", state, VARIABLE);
    let t = b.the(t);
    let write = b.set(&t, read(&b.of(&a, i)));
    let inner = b.for_each(i, vec![write]);
    let use_it = b.set(&x, read(&t));
    let body = vec![b.set(&t, b.state(0)), b.for_each(j, vec![use_it, inner])];
    b.rule(&[], None, body);
    let reason = "`t` gets a value that depends on which element comes last in the loop";
    assert_broken(&b.model, BreakKind::LastWrite, reason);
}

#[test]
fn what_is_known_to_differ_is_apart() {
    let build = |guarded: bool| {
        let mut b = Build::new();
        let (p, state) = (b.p, b.state);
        let a = b.per_proc("a", state);
        let (i, me) = (b.bound("i", p), b.bound("me", p));
        let stmt = b.set(&b.of(&a, i), read(&b.of(&a, me)));
        let other = b.not(b.equal(b.value(i), b.value(me)));
        let stmt = if guarded { b.when(other, vec![stmt]) } else { stmt };
        let stmt = b.for_each(i, vec![stmt]);
        b.rule(&[me], None, vec![stmt]);
        b
    };
    assert_proved(&build(true).model);
    assert!(!breaks(&build(false).model).is_empty());
}

#[test]
fn returning_from_a_loop_breaks() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let s = b.per_proc("s", state);
    let i = b.bound("i", p);
    let leave = b.stmt(StmtKind::Return(None));
    let stmt = b.when(b.is_state(&b.of(&s, i), 2), vec![leave]);
    b.rule_with_loop(i, vec![stmt]);
    let reason = "the loop is left early, so it depends on the order which rounds it has";
    assert_broken(&b.model, BreakKind::EarlyExit, reason);
}

#[test]
fn assertions_are_fine_but_not_assumptions() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let s = b.per_proc("s", state);
    let i = b.bound("i", p);
    let condition = b.is_state(&b.of(&s, i), 2);
    let (check, mine) = (b.assert(condition.clone()), b.set(&b.of(&s, i), b.state(0)));
    b.rule_with_loop(i, vec![check, mine]);
    assert_proved(&b.model);
    let i = b.bound("i", p);
    let stmt = b.assume(condition);
    b.rule_with_loop(i, vec![stmt]);
    let found = breaks(&b.model);
    assert_eq!(found[0].kind, BreakKind::DroppedStep);
}

#[test]
fn a_check_must_not_look_at_what_other_rounds_write() {
    let mut b = Build::new();
    let (p, count) = (b.p, b.count);
    let n = b.var("n", count);
    let i = b.bound("i", p);
    let small = b.binary(BinaryOp::Lt, read(&n), b.number(3));
    let body = vec![b.add_to(&n, 1), b.assert(small)];
    b.rule_with_loop(i, body);
    assert_broken(&b.model, BreakKind::CrossRead, "reads `n`, which other rounds of the loop write");
}

#[test]
fn inner_while_loops_may_touch_what_is_owned() {
    let mut b = Build::new();
    let (p, count) = (b.p, b.count);
    let (n, total) = (b.per_proc("n", count), b.var("total", count));
    let i = b.bound("i", p);
    let mine = b.of(&n, i);
    let positive = b.binary(BinaryOp::Gt, read(&mine), b.number(0));
    let down = b.add_to(&mine, -1);
    let body = vec![down];
    let stmt = b.stmt(StmtKind::While { condition: positive, body, limit: 10 });
    b.rule_with_loop(i, vec![stmt]);
    assert_proved(&b.model);
    let i = b.bound("i", p);
    let positive = b.binary(BinaryOp::Gt, read(&total), b.number(0));
    let body = vec![b.add_to(&total, -1)];
    let stmt = b.stmt(StmtKind::While { condition: positive, body, limit: 10 });
    b.rule_with_loop(i, vec![stmt]);
    assert!(!breaks(&b.model).is_empty());
}

#[test]
fn choices_stay_with_their_round() {
    let mut b = Build::new();
    let (p, bool) = (b.p, b.bool);
    let flag = b.per_proc("flag", bool);
    let (i, c) = (b.bound("i", p), b.bound("c", bool));
    let body = vec![b.choose(c), b.set(&b.of(&flag, i), b.value(c))];
    b.rule_with_loop(i, body);
    assert_proved(&b.model);
    let shared = b.var("shared", bool);
    let (i, c) = (b.bound("i", p), b.bound("c", bool));
    let body = vec![b.choose(c), b.set(&shared, b.value(c))];
    b.rule_with_loop(i, body);
    assert!(!breaks(&b.model).is_empty());
}

#[test]
fn references_are_seen_through() {
    let build = |own: bool| {
        let mut b = Build::new();
        let (p, state) = (b.p, b.state);
        let node = b.record(&[("state", state)]);
        let nodes = b.per_proc("n", node);
        let (i, me) = (b.bound("i", p), b.bound("me", p));
        let alias = b.local("alias", node, REFERENCE);
        let target = b.of(&nodes, if own { i } else { me });
        let bind = b.bind(alias, by_ref(&target));
        let s = b.field(&b.the(alias), "state");
        let set = b.set(&s, b.state(1));
        let unlike = b.when(b.is_state(&s, 0), vec![set]);
        let stmt = b.for_each(i, vec![bind, unlike]);
        b.rule(&[me], None, vec![stmt]);
        b
    };
    assert_proved(&build(true).model);
    assert!(!breaks(&build(false).model).is_empty());
}

/// `for i do f(place, i) end` with `procedure f(var x: State; k: Proc) begin x := s[k] end`.
fn calling(own: bool) -> Build {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let (s, a, shared) = (b.per_proc("s", state), b.per_proc("a", state), b.var("shared", state));
    let (x, k) = (b.local("x", state, REFERENCE), b.local("k", p, VARIABLE));
    let body = vec![b.set(&b.the(x), read(&b.of(&s, k)))];
    let f = b.function(&[x, k], None, body);
    let i = b.bound("i", p);
    let target = if own { b.of(&a, i) } else { shared };
    let stmt = b.call(f, vec![by_ref(&target), Argument::Value(b.value(i))]);
    b.rule_with_loop(i, vec![stmt]);
    b
}

#[test]
fn procedures_are_walked_into() {
    assert_proved(&calling(true).model);
    let reason = "`x` gets a value that depends on which element comes last in the loop";
    assert_broken(&calling(false).model, BreakKind::LastWrite, reason);
}

#[test]
fn an_index_passed_by_value_is_the_index() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let a = b.per_proc("a", state);
    let k = b.local("k", p, VARIABLE);
    let mine = b.of(&a, k);
    let reset = b.set(&mine, b.state(0));
    let body = vec![b.when(b.is_state(&mine, 1), vec![reset])];
    let f = b.function(&[k], None, body);
    let i = b.bound("i", p);
    let stmt = b.call(f, vec![Argument::Value(b.value(i))]);
    b.rule_with_loop(i, vec![stmt]);
    assert_proved(&b.model);
}

#[test]
fn a_return_in_a_procedure_decides_what_it_does_after() {
    let build = |early: bool| {
        let mut b = Build::new();
        let (p, d, state, bool) = (b.p, b.d, b.state, b.bool);
        let s = b.per_proc("s", state);
        let ty = b.array(d, bool);
        let flags = b.var("flags", ty);
        let (k, j) = (b.local("k", p, VARIABLE), b.bound("j", d));
        let leave = b.stmt(StmtKind::Return(None));
        let leave = b.when(b.is_state(&b.of(&s, k), 1), vec![leave]);
        // Not the same constant, so that only being the same in every round can save it.
        let here = b.of(&flags, j);
        let (yes, no) = (b.set(&here, b.truth(true)), b.set(&here, b.truth(false)));
        let body = if early { vec![yes, leave, no] } else { vec![yes, no] };
        let stmt = b.for_each(j, body);
        let f = b.function(&[k], None, vec![stmt]);
        let i = b.bound("i", p);
        let stmt = b.call(f, vec![Argument::Value(b.value(i))]);
        b.rule_with_loop(i, vec![stmt]);
        b
    };
    assert_proved(&build(false).model);
    let found = breaks(&build(true).model);
    assert_eq!(found[0].kind, BreakKind::LastWrite);
}

#[test]
fn recursion_in_a_loop_is_not_followed() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let a = b.per_proc("a", state);
    let next = shoal_model::TypedId::from_index(0);
    let k = b.local("k", p, VARIABLE);
    let again = b.call(next, vec![Argument::Value(b.value(k))]);
    let body = vec![b.set(&b.of(&a, k), b.state(0)), again];
    let f = b.function(&[k], None, body);
    let i = b.bound("i", p);
    let stmt = b.call(f, vec![Argument::Value(b.value(i))]);
    b.rule_with_loop(i, vec![stmt]);
    let reason = "the recursive procedure `f` is called in the loop, and its effects are not followed";
    assert_broken(&b.model, BreakKind::NotFollowed, reason);
}

#[test]
fn reference_parameters_of_a_procedure_may_be_the_same_place() {
    let build = |same_index: bool| {
        let mut b = Build::new();
        let (p, state) = (b.p, b.state);
        let per_proc = b.array(p, state);
        let (x, y) = (b.local("x", per_proc, REFERENCE), b.local("y", per_proc, REFERENCE));
        let (i, k) = (b.bound("i", p), b.local("k", p, VARIABLE));
        let from = b.of(&b.the(y), if same_index { i } else { k });
        let stmt = b.set(&b.of(&b.the(x), i), read(&from));
        let stmt = b.for_each(i, vec![stmt]);
        b.function(&[x, y, k], None, vec![stmt]);
        b
    };
    assert_proved(&build(true).model);
    assert!(!breaks(&build(false).model).is_empty());
}

#[test]
fn a_reference_parameter_may_be_a_part_of_a_variable() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let a = b.per_proc("a", state);
    let (x, i) = (b.local("x", state, REFERENCE), b.bound("i", p));
    let stmt = b.set(&b.of(&a, i), read(&b.the(x)));
    let stmt = b.for_each(i, vec![stmt]);
    b.function(&[x], None, vec![stmt]);
    assert_broken(&b.model, BreakKind::CrossRead, "reads `x`, which other rounds of the loop write");
}

#[test]
fn nothing_is_created_in_a_loop() {
    let mut b = Build::new();
    let span = shoal_syntax::Span::default();
    let size = shoal_model::SortSize::Growing { limit: Some(4), lost: shoal_model::Lost::Stays };
    let heap = b.model.sorts.push(shoal_model::Sort { name: "Cell".into(), size, first: 1, span });
    let cell = b.ty(shoal_model::Type::Ref { sort: heap, nullable: true });
    let p = b.p;
    let own = b.per_proc("own", cell);
    let i = b.bound("i", p);
    let stmt = b.stmt(StmtKind::Create(b.of(&own, i), heap));
    b.rule_with_loop(i, vec![stmt]);
    assert_broken(&b.model, BreakKind::Population, "elements are created in the order of the loop");
    assert!(shoal_analysis::symmetry(&b.model).sorts[heap].is_proved());
}

#[test]
fn calls_that_unfold_without_end_are_given_up() {
    let mut b = Build::new();
    let (p, state) = (b.p, b.state);
    let a = b.per_proc("a", state);
    let k = b.local("k", p, VARIABLE);
    let body = vec![b.set(&b.of(&a, k), b.state(0))];
    let mut f = b.function(&[k], None, body);
    for _ in 0..30 {
        let k = b.local("k", p, VARIABLE);
        let twice = (0..2).map(|_| b.call(f, vec![Argument::Value(b.value(k))])).collect();
        f = b.function(&[k], None, twice);
    }
    let i = b.bound("i", p);
    let stmt = b.call(f, vec![Argument::Value(b.value(i))]);
    b.rule_with_loop(i, vec![stmt]);
    let reason = "the loop is too large to check with all that it calls";
    assert_broken(&b.model, BreakKind::NotFollowed, reason);
}
