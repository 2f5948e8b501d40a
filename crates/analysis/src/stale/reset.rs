//! The reduced Model: stale values are undefined at the end of every step.

use std::collections::BTreeSet;

use shoal_model::{
    Argument, Domain, Expr, ExprKind, Local, LocalId, LocalKind, Model, Node, OutputItem, Place, Projection,
    Root, Rule, Stmt, StmtKind, TypeId, UnaryOp, Value, walk_block, walk_expr,
};
use shoal_syntax::Span;

use super::{
    Stale,
    parts::{PartStep, VarParts, is_local},
};
use crate::activity::{end_with, truth_type};

/// The model with conditions in an order that reads references last: `m.to = me & m.direct` reads whom a message is for even
/// where that does not matter. Only where nothing can fault, so that the order does not matter either.
pub(super) fn references_last(model: &Model, parts: &VarParts) -> Model {
    let mut ordered = model.clone();
    let order = ResetOrder { model, parts };
    for rule in ordered.rules.iter_mut() {
        let safe = order.safe_locals(rule);
        rule.guard.iter_mut().for_each(|guard| order.expr(guard, &safe));
        order.block(&mut rule.code.body, &safe);
    }
    ordered
}

struct ResetOrder<'a> {
    model: &'a Model,
    parts: &'a VarParts,
}

impl ResetOrder<'_> {
    /// Locals that always have a value.
    fn safe_locals(&self, rule: &Rule) -> BTreeSet<LocalId> {
        let bound = |(_, local): &(LocalId, &Local)| local.kind == LocalKind::Bound;
        rule.code.locals.enumerate().filter(bound).map(|(id, _)| id).collect()
    }

    fn block(&self, block: &mut [Stmt], safe: &BTreeSet<LocalId>) {
        for stmt in block {
            match &mut stmt.kind {
                StmtKind::If(arms, other) => {
                    for (condition, block) in arms {
                        self.expr(condition, safe);
                        self.block(block, safe);
                    }
                    self.block(other, safe);
                }
                StmtKind::For { body, .. } => self.block(body, safe),
                _ => {}
            }
        }
    }

    fn expr(&self, expr: &mut Expr, safe: &BTreeSet<LocalId>) {
        match &mut expr.kind {
            ExprKind::And(of) | ExprKind::Or(of) => {
                of.iter_mut().for_each(|operand| self.expr(operand, safe));
                if of.iter().all(|operand| self.cannot_fault(operand, safe)) {
                    of.sort_by_key(|operand| self.reads_reference(operand));
                }
            }
            ExprKind::Unary(UnaryOp::Not, of) => self.expr(of, safe),
            ExprKind::Implies(a, b) => {
                self.expr(a, safe);
                self.expr(b, safe);
            }
            _ => {}
        }
    }

    fn reads_reference(&self, expr: &Expr) -> bool {
        let mut found = false;
        walk_expr(expr, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Read(place) | ExprKind::Peek(place), ty, .. }) = node {
                found |= matches!(place.root, Root::Var(_)) && !self.model.sorts_of(*ty).is_empty();
            }
        });
        found
    }

    /// Whether evaluating an expression never faults: it reads what is always defined and compares.
    fn cannot_fault(&self, expr: &Expr, safe: &BTreeSet<LocalId>) -> bool {
        match &expr.kind {
            ExprKind::Const(_) => true,
            ExprKind::Read(place) | ExprKind::Peek(place) => self.is_safe(place, safe),
            ExprKind::Unary(UnaryOp::Not, of) => self.cannot_fault(of, safe),
            ExprKind::Equal(a, b) | ExprKind::Implies(a, b) => {
                self.cannot_fault(a, safe) && self.cannot_fault(b, safe)
            }
            ExprKind::And(of) | ExprKind::Or(of) => of.iter().all(|operand| self.cannot_fault(operand, safe)),
            ExprKind::Quantified { domain: Domain::Type(_), body, .. } => self.cannot_fault(body, safe),
            ExprKind::IsUndefined(_)
            | ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, _)
            | ExprKind::Binary(..)
            | ExprKind::Cond(..)
            | ExprKind::Quantified { .. }
            | ExprKind::Call(..)
            | ExprKind::IsMember(..)
            | ExprKind::Ordinal(_)
            | ExprKind::ElementAt(..)
            | ExprKind::Entry(..)
            | ExprKind::Len(_)
            | ExprKind::Exists(_) => false,
        }
    }

    fn is_safe(&self, place: &Place, safe: &BTreeSet<LocalId>) -> bool {
        if let Root::Local(local) = place.root {
            return place.path.is_empty() && safe.contains(&local);
        }
        let Some((part, element)) = self.parts.at(place) else { return false };
        self.parts.defined.contains(&part)
            && element.is_none_or(|element| {
                let fits = self.parts.all[part].of.is_some_and(|(index, _)| index == element.ty);
                fits && self.cannot_fault(element, safe)
            })
    }
}

/// Makes the model in which all that is stale is undefined at the end of each step.
pub(super) fn reset(mut model: Model, parts: &VarParts, stale: &[Stale]) -> Model {
    let truth = truth_type(&mut model);
    let reset = StaleReset { parts, stale, truth };
    for start in model.starts.iter_mut() {
        let ending = reset.ending(start, true);
        end_with(&mut start.code.body, &ending);
    }
    for rule in model.rules.iter_mut() {
        let ending = reset.ending(rule, false);
        reset.strict(rule);
        end_with(&mut rule.code.body, &ending);
    }
    model.made_by("resetting what is stale")
}

struct StaleReset<'a> {
    parts: &'a VarParts,
    stale: &'a [Stale],
    truth: TypeId,
}

/// For whom something is reset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whom {
    /// It belongs to no element.
    Shared,
    /// The element that a local of the rule is.
    Local(LocalId),
    Everybody,
}

impl StaleReset<'_> {
    /// Every use of what is reset reads it.
    fn strict(&self, rule: &mut Rule) {
        let strict = |expr: &mut Expr| {
            if let ExprKind::Peek(place) = &expr.kind
                && let Some((part, _)) = self.parts.at(place)
                && self.stale.iter().any(|it| it.part == part)
            {
                expr.kind = ExprKind::Read(place.clone());
            }
        };
        rule.guard.iter_mut().for_each(|guard| each_expr(guard, &strict));
        each_in_block(&mut rule.code.body, &strict);
    }

    /// What a rule has to reset: what it writes, and what it writes the controls of.
    fn ending(&self, rule: &mut Rule, all: bool) -> Vec<Stmt> {
        let params: BTreeSet<LocalId> = rule.params.iter().map(|param| param.local).collect();
        let mut written: BTreeSet<(usize, Whom)> = BTreeSet::new();
        walk_block(&rule.code.body, &mut |node| {
            let Node::Stmt(stmt) = node else { return };
            let Some(place) = stmt.kind.written() else { return };
            let element = place.path.iter().find_map(|step| match step {
                Projection::Index(element) => Some(element),
                _ => None,
            });
            for part in self.parts.under(place) {
                let whom = match (self.parts.all[part].of, element) {
                    (None, _) => Whom::Shared,
                    (Some(_), Some(element)) => params
                        .iter()
                        .find(|param| is_local(element, **param))
                        .map_or(Whom::Everybody, |param| Whom::Local(*param)),
                    (Some(_), None) => Whom::Everybody,
                };
                written.insert((part, whom));
            }
        });
        let mut ending = Vec::new();
        for stale in self.stale {
            let of = self.parts.all[stale.part].of;
            let mut whom: BTreeSet<Whom> = BTreeSet::new();
            for (part, by) in &written {
                if *part == stale.part || stale.controls.contains(part) {
                    whom.insert(match (of, by) {
                        (None, _) => Whom::Shared,
                        (Some(_), Whom::Shared) => Whom::Everybody,
                        (Some(_), by) => *by,
                    });
                }
            }
            match of {
                None if all || !whom.is_empty() => ending.push(self.unless_active(stale, None)),
                None => {}
                Some((index, _)) if all || whom.contains(&Whom::Everybody) => {
                    let name = "$element".to_string();
                    let span = rule.span;
                    let local =
                        rule.code.locals.push(Local { name, ty: index, kind: LocalKind::Bound, span });
                    let body = vec![self.unless_active(stale, Some((local, index)))];
                    let kind = StmtKind::For { local, domain: Domain::Type(index), body };
                    ending.push(Stmt { kind, span });
                }
                Some(_) => {
                    for whom in whom {
                        if let Whom::Local(local) = whom {
                            let ty = rule.code.locals[local].ty;
                            ending.push(self.unless_active(stale, Some((local, ty))));
                        }
                    }
                }
            }
        }
        ending
    }

    fn unless_active(&self, stale: &Stale, element: Option<(LocalId, TypeId)>) -> Stmt {
        let span = Span::default();
        let undefine = Stmt { kind: StmtKind::Undefine(self.place(stale.part, element)), span };
        let kind = match stale.active.is_empty() {
            true => return undefine,
            false => {
                let keep = vec![(self.active(stale, element, &[], 0), Vec::new())];
                StmtKind::If(keep, vec![undefine])
            }
        };
        Stmt { kind, span }
    }

    /// Whether the controls from `at` on have values with which it is active, given those before.
    fn active(&self, stale: &Stale, element: Option<(LocalId, TypeId)>, before: &[Value], at: usize) -> Expr {
        let fits = |tuple: &&Vec<Value>| tuple.starts_with(before);
        let mut values: Vec<Value> =
            stale.active.iter().filter(fits).map(|tuple| tuple[at].clone()).collect();
        values.dedup();
        let arm = |value: &Value| {
            let place = self.place(stale.controls[at], element);
            let ty = place.ty;
            let span = Span::default();
            let now = Expr { ty, span, kind: ExprKind::Peek(place) };
            let wanted = Expr { ty, span, kind: ExprKind::Const(value.clone()) };
            let test = self.truth(ExprKind::Equal(Box::new(now), Box::new(wanted)));
            if at + 1 == stale.controls.len() {
                return test;
            }
            let before: Vec<Value> = before.iter().chain([value]).cloned().collect();
            self.truth(ExprKind::And(vec![test, self.active(stale, element, &before, at + 1)]))
        };
        self.truth(ExprKind::Or(values.iter().map(arm).collect()))
    }

    fn place(&self, part: usize, element: Option<(LocalId, TypeId)>) -> Place {
        let span = Span::default();
        let part = &self.parts.all[part];
        let step = |hop: &PartStep| match (hop, element) {
            (PartStep::Field(at), _) => Projection::Field(*at),
            (PartStep::Element, Some((local, ty))) => {
                let place = Place { root: Root::Local(local), path: Vec::new(), ty, span };
                Projection::Index(Expr { kind: ExprKind::Read(place), ty, span })
            }
            (PartStep::Element, None) => shoal_model::internal!("a part of an element, and no element"),
        };
        let path = part.path.iter().map(step).collect();
        Place { root: Root::Var(part.var), path, ty: part.ty, span }
    }

    fn truth(&self, kind: ExprKind) -> Expr {
        Expr { kind, ty: self.truth, span: Span::default() }
    }
}

/// Visits all expressions of statements.
fn each_in_block(block: &mut [Stmt], visit: &dyn Fn(&mut Expr)) {
    for stmt in block {
        match &mut stmt.kind {
            StmtKind::Assign(place, value) | StmtKind::MultisetAdd(place, value) => {
                each_in_place(place, visit);
                each_expr(value, visit);
            }
            StmtKind::MultisetRemove(place, at) | StmtKind::Remove(place, at) => {
                each_in_place(place, visit);
                each_expr(at, visit);
            }
            StmtKind::Clear(place) | StmtKind::Undefine(place) | StmtKind::Create(place, _) => {
                each_in_place(place, visit);
            }
            StmtKind::If(arms, other) => {
                for (condition, block) in arms {
                    each_expr(condition, visit);
                    each_in_block(block, visit);
                }
                each_in_block(other, visit);
            }
            StmtKind::While { condition, body, .. } => {
                each_expr(condition, visit);
                each_in_block(body, visit);
            }
            StmtKind::For { domain, body, .. } => {
                each_in_domain(domain, visit);
                each_in_block(body, visit);
            }
            StmtKind::Bind(bindings) => {
                bindings.iter_mut().for_each(|binding| each_in_argument(&mut binding.to, visit));
            }
            StmtKind::Choose { domain, .. } => each_in_domain(domain, visit),
            StmtKind::Check { condition, .. } => {
                condition.iter_mut().for_each(|condition| each_expr(condition, visit));
            }
            StmtKind::Return(value) => value.iter_mut().for_each(|value| each_expr(value, visit)),
            StmtKind::Call(_, arguments) => {
                arguments.iter_mut().for_each(|argument| each_in_argument(argument, visit));
            }
            StmtKind::Output(items) => {
                for item in items {
                    match item {
                        OutputItem::Text(_) => {}
                        OutputItem::Value(value) => each_expr(value, visit),
                    }
                }
            }
            StmtKind::MultisetRemoveIf { place, condition, .. } => {
                each_in_place(place, visit);
                each_expr(condition, visit);
            }
            StmtKind::Insert { place, at, value } => {
                each_in_place(place, visit);
                at.iter_mut().chain([value]).for_each(|expr| each_expr(expr, visit));
            }
            StmtKind::Delete(value) => each_expr(value, visit),
        }
    }
}

fn each_in_argument(argument: &mut Argument, visit: &dyn Fn(&mut Expr)) {
    match argument {
        Argument::Place(place) => each_in_place(place, visit),
        Argument::Value(value) => each_expr(value, visit),
    }
}

fn each_in_domain(domain: &mut Domain, visit: &dyn Fn(&mut Expr)) {
    match domain {
        Domain::Type(_) => {}
        Domain::Range { from, to, by } => {
            [from, to, by].into_iter().for_each(|bound| each_expr(bound, visit));
        }
        Domain::Slots(place) => each_in_place(place, visit),
    }
}

fn each_in_place(place: &mut Place, visit: &dyn Fn(&mut Expr)) {
    for step in &mut place.path {
        match step {
            Projection::Field(_) => {}
            Projection::Index(at) | Projection::Slot(at) | Projection::Item(at) => each_expr(at, visit),
        }
    }
}

fn each_expr(expr: &mut Expr, visit: &dyn Fn(&mut Expr)) {
    match &mut expr.kind {
        ExprKind::Const(_) => {}
        ExprKind::Read(place)
        | ExprKind::Peek(place)
        | ExprKind::IsUndefined(place)
        | ExprKind::Len(place) => each_in_place(place, visit),
        ExprKind::Unary(_, of)
        | ExprKind::IsMember(of, _)
        | ExprKind::Ordinal(of)
        | ExprKind::ElementAt(_, of)
        | ExprKind::Entry(_, of)
        | ExprKind::Exists(of) => each_expr(of, visit),
        ExprKind::Binary(_, a, b) | ExprKind::Equal(a, b) | ExprKind::Implies(a, b) => {
            each_expr(a, visit);
            each_expr(b, visit);
        }
        ExprKind::And(of) | ExprKind::Or(of) => of.iter_mut().for_each(|operand| each_expr(operand, visit)),
        ExprKind::Cond(a, b, c) => [a, b, c].into_iter().for_each(|part| each_expr(part, visit)),
        ExprKind::Quantified { domain, body, .. } => {
            each_in_domain(domain, visit);
            each_expr(body, visit);
        }
        ExprKind::Call(_, arguments) => {
            arguments.iter_mut().for_each(|argument| each_in_argument(argument, visit));
        }
    }
    visit(expr);
}
