//! Formulas of linear time, and never claims.

use std::rc::Rc;

use shoal_model::{
    Automaton, Condition, Formula, IndexVec, Interval, Logic, ObserverState, OrInternal, Property,
    PropertyKind,
};
use shoal_syntax::Span;

use super::{Lowerer, OrReported};
use crate::{
    ast::{Expr, ExprKind, Proctype, StmtKind, Temporal, Temporal2},
    codes,
    flow::ElementKind,
};

impl Lowerer<'_> {
    /// The properties of `ltl` and `never`.
    pub(super) fn formulas(&mut self) {
        for (position, formula) in self.program.formulas.iter().enumerate() {
            let span = formula.name.as_ref().map_or(formula.formula.span, |name| name.span);
            let name = match &formula.name {
                Some(name) => name.node.to_string(),
                None => format!("ltl_{position}"),
            };
            if let Ok(formula) = self.formula(&formula.formula) {
                let kind = PropertyKind::Temporal(Logic::Ltl, formula);
                self.model.properties.push(Property { name, kind, span });
            }
        }
        for claim in &self.program.nevers {
            if let Ok(observer) = self.observer(claim) {
                let kind = PropertyKind::Temporal(Logic::Ltl, Formula::Never(observer));
                let (name, span) = (claim.name.node.to_string(), claim.name.span);
                self.model.properties.push(Property { name, kind, span });
            }
        }
        self.cycles();
    }

    /// No run passes locations of a kind again and again, or every run does, if the caller asks.
    fn cycles(&mut self) {
        let span = self.program.proctypes[0].name.span;
        let again = |of: Formula| {
            let whole = Interval::default();
            Formula::Always(whole, Box::new(Formula::Eventually(whole, Box::new(of))))
        };
        if self.options.progress {
            let atom = Formula::Atom(self.somebody_at("progress", span));
            let kind = PropertyKind::Temporal(Logic::Ltl, again(atom));
            self.model.properties.push(Property { name: "progress".into(), kind, span });
        }
        if self.options.acceptance {
            let kind = match self.hidden_label("accept") {
                // A formula about states would hold whatever happens.
                Some(label) => PropertyKind::Unclear(format!(
                    "not supported: the label `{label}` can be passed without a state that shows it"
                )),
                None => {
                    let atom = Formula::Atom(self.somebody_at("accept", span));
                    PropertyKind::Temporal(Logic::Ltl, Formula::Not(Box::new(again(atom))))
                }
            };
            self.model.properties.push(Property { name: "acceptance".into(), kind, span });
        }
    }

    /// A label with such a name that can be passed without a state that shows it: in the middle of an atomic sequence, or where no
    /// process waits, as before the first statement of an option.
    fn hidden_label(&self, prefix: &str) -> Option<Rc<str>> {
        self.procs.iter().find_map(|proc| {
            let flow = &proc.flow;
            let steps = proc.locations.iter().flat_map(|location| flow.outgoing(*location));
            let inside = steps.filter(|step| flow.is_atomic(step.element));
            let passed = inside.map(|step| flow.target(step.element)).find_map(|at| flow.mark(at, prefix));
            passed.or_else(|| flow.mark_nowhere(&proc.locations, prefix))
        })
    }

    fn somebody_at(&mut self, prefix: &str, span: Span) -> Condition {
        self.locals = IndexVec::new();
        let expr = self.marked(prefix, span);
        Condition { locals: std::mem::take(&mut self.locals), expr }
    }

    /// A never claim as an observer. Its end accepts whatever comes.
    fn observer(&mut self, claim: &Proctype) -> OrReported<Automaton> {
        let flow = match crate::flow::flow(claim, self.program, &std::collections::HashSet::new()) {
            Ok(flow) => flow,
            Err(wrong) => {
                self.diagnostics.extend(wrong);
                return Err(super::Reported);
            }
        };
        let locations = flow.locations();
        let mut states = Vec::new();
        for location in &locations {
            let ends = *location == flow.end;
            self.locals = IndexVec::new();
            let mut guards = Vec::new();
            let mut otherwise = None;
            for step in flow.outgoing(*location) {
                let element = &flow.elements[step.element];
                let target = if ends { *location } else { flow.target(step.element) };
                let to = locations.iter().position(|it| *it == target);
                let to = to.or_internal("a step of a claim leads to one of its locations");
                match &element.kind {
                    ElementKind::Basic(kind) => match &**kind {
                        StmtKind::Expr(expr) => guards.push((self.condition(expr, None)?, to)),
                        StmtKind::Else => otherwise = Some((to, element.span)),
                        // Where it fails, the run is wrong whatever comes.
                        StmtKind::Assert(expr) => {
                            let holds = self.condition(expr, None)?;
                            guards.push((self.not(holds.clone()), locations.len()));
                            guards.push((holds, to));
                        }
                        _ => return self.refuse_claim(element.span),
                    },
                    ElementKind::DStep(..) => return self.refuse_claim(element.span),
                    _ => guards.push((self.truth(true, element.span), to)),
                }
            }
            if let Some((to, span)) = otherwise {
                let some = self.or(guards.iter().map(|(guard, _)| guard.clone()).collect(), span);
                guards.push((self.not(some), to));
            }
            let locals = std::mem::take(&mut self.locals);
            let step = |(expr, to)| (Condition { locals: locals.clone(), expr }, to);
            let steps = guards.into_iter().map(step).collect();
            let name = match crate::flow::label_of(&flow, *location) {
                Some(label) => label.to_string(),
                None => format!("line {}", self.line(flow.elements[*location].span)),
            };
            let accepting = ends || flow.is_marked(*location, "accept");
            states.push(ObserverState { name, accepting, steps });
        }
        let locals = IndexVec::new();
        let always = Condition { locals, expr: self.truth(true, claim.name.span) };
        let steps = vec![(always, locations.len())];
        states.push(ObserverState { name: "failed".into(), accepting: true, steps });
        Ok(Automaton { states })
    }

    fn refuse_claim<T>(&mut self, span: Span) -> OrReported<T> {
        let message = "not supported: a never claim with other statements than conditions and jumps";
        self.error(codes::UNSUPPORTED, span, message)
    }

    fn formula(&mut self, expr: &Expr) -> OrReported<Formula> {
        if !is_temporal(expr) {
            self.locals = IndexVec::new();
            let expr = self.state_condition(expr)?;
            return Ok(Formula::Atom(Condition { locals: std::mem::take(&mut self.locals), expr }));
        }
        let whole = Interval::default();
        let boxed = |lowerer: &mut Self, expr: &Expr| lowerer.formula(expr).map(Box::new);
        Ok(match &expr.kind {
            ExprKind::Not(of) => Formula::Not(boxed(self, of)?),
            ExprKind::And(a, b) => Formula::And(vec![self.formula(a)?, self.formula(b)?]),
            ExprKind::Or(a, b) => Formula::Or(vec![self.formula(a)?, self.formula(b)?]),
            ExprKind::Temporal(Temporal::Always, of) => Formula::Always(whole, boxed(self, of)?),
            ExprKind::Temporal(Temporal::Eventually, of) => Formula::Eventually(whole, boxed(self, of)?),
            ExprKind::Temporal(Temporal::Next, of) => Formula::Next(boxed(self, of)?),
            ExprKind::Temporal2(op, a, b) => {
                let (a, b) = (self.formula(a)?, self.formula(b)?);
                let not = |of: &Formula| Formula::Not(Box::new(of.clone()));
                match op {
                    Temporal2::Until => Formula::Until(whole, Box::new(a), Box::new(b)),
                    Temporal2::Release => Formula::Release(whole, Box::new(a), Box::new(b)),
                    // `a W b` is `b V (a || b)`.
                    Temporal2::WeakUntil => {
                        let either = Formula::Or(vec![a, b.clone()]);
                        Formula::Release(whole, Box::new(b), Box::new(either))
                    }
                    Temporal2::Implies => Formula::Or(vec![not(&a), b]),
                    Temporal2::Equivalent => Formula::Or(vec![
                        Formula::And(vec![a.clone(), b.clone()]),
                        Formula::And(vec![not(&a), not(&b)]),
                    ]),
                }
            }
            _ => {
                return self.misplaced(expr.span);
            }
        })
    }

    /// A condition on one state. It is one condition, in which a part guards what stands behind it (`i < 2 -> a[i] == 0`), also
    /// where it has the connectives that only formulas have.
    fn state_condition(&mut self, expr: &Expr) -> OrReported<shoal_model::Expr> {
        if !has_connective(expr) {
            return self.condition(expr, None);
        }
        let span = expr.span;
        Ok(match &expr.kind {
            ExprKind::Not(of) => {
                let of = self.state_condition(of)?;
                self.not(of)
            }
            ExprKind::And(a, b) => {
                let both = vec![self.state_condition(a)?, self.state_condition(b)?];
                self.and(both, span)
            }
            ExprKind::Or(a, b) => {
                let either = vec![self.state_condition(a)?, self.state_condition(b)?];
                self.or(either, span)
            }
            ExprKind::Temporal2(Temporal2::Implies, a, b) => {
                let (a, b) = (self.state_condition(a)?, self.state_condition(b)?);
                let not = self.not(a);
                self.or(vec![not, b], span)
            }
            ExprKind::Temporal2(Temporal2::Equivalent, a, b) => {
                let (a, b) = (self.state_condition(a)?, self.state_condition(b)?);
                let neither = vec![self.not(a.clone()), self.not(b.clone())];
                let either = vec![self.and(vec![a, b], span), self.and(neither, span)];
                self.or(either, span)
            }
            _ => return self.misplaced(span),
        })
    }

    fn misplaced<T>(&mut self, span: Span) -> OrReported<T> {
        let message = "temporal operators stand under `!`, `&&`, `||`, `->`, `<->` and each other only";
        self.error(codes::MISPLACED, span, message)
    }
}

/// Whether an expression says anything of other states than this one.
fn is_temporal(expr: &Expr) -> bool {
    any_part(expr, |kind| match kind {
        ExprKind::Temporal(..) => true,
        ExprKind::Temporal2(op, ..) => !op.is_connective(),
        _ => false,
    })
}

/// Whether an expression has a connective that only formulas have.
fn has_connective(expr: &Expr) -> bool {
    any_part(expr, |kind| matches!(kind, ExprKind::Temporal2(op, ..) if op.is_connective()))
}

fn any_part(expr: &Expr, is_such: impl Fn(&ExprKind) -> bool) -> bool {
    let mut found = false;
    crate::walk::walk_expr(expr, &mut |node| {
        found |= matches!(node, crate::walk::SyntaxNode::Expr(expr) if is_such(&expr.kind));
    });
    found
}
