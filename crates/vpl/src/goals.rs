//! What is to be verified: formulas to properties.

use shoal_model::{DeadlockKind, Formula, Interval, Logic, Property, PropertyKind};

use super::{
    ast::{self, InfixOp},
    lower::Lowerer,
};
use shoal_syntax::cursor::{Parsed, error, text_as_name};
use shoal_template::codes;

impl<'p> Lowerer<'p> {
    pub(super) fn goals(&mut self) {
        for goal in &self.program.goals {
            let name = match &goal.name {
                Some(name) => name.clone(),
                None => text_as_name(self.text, goal.formula.span),
            };
            let kind = self.goal(&goal.formula);
            self.scope.clear();
            if let Some(kind) = self.item(kind) {
                self.b.model.properties.push(Property { name, kind, span: goal.span });
            }
        }
    }

    /// The commonest formulas have kinds of their own.
    fn goal(&mut self, formula: &'p ast::Expr) -> Parsed<PropertyKind> {
        use ast::ExprKind as K;
        let unbounded = |bounds: &ast::Bounds| bounds.from.is_none() && bounds.to.is_none();
        if let K::Paths(all, path) = &formula.kind
            && let K::Temporal(always, bounds, of) = &path.kind
            && unbounded(bounds)
        {
            if let (true, true, Some(kind)) = (*all, *always, stuck(of)) {
                if kind == DeadlockKind::Timelock
                    && !self.program.variables.iter().any(|variable| variable.clock)
                {
                    return error(codes::UNSUPPORTED, of.span, "a timelock needs clocks, and there are none");
                }
                return Ok(PropertyKind::Deadlock(kind));
            }
            if *all == *always && !is_temporal(of) {
                let expr = self.truth(of)?;
                let condition = self.b.condition(expr);
                return Ok(if *all {
                    PropertyKind::Invariant(condition)
                } else {
                    PropertyKind::Cover(Some(condition))
                });
            }
            if let (true, true, K::Paths(false, inner)) = (*all, *always, &of.kind)
                && let K::Temporal(false, bounds, goal) = &inner.kind
                && unbounded(bounds)
                && !is_temporal(goal)
            {
                let expr = self.truth(goal)?;
                return Ok(PropertyKind::AlwaysPossible(self.b.condition(expr)));
            }
        }
        let formula = self.formula(formula)?;
        Ok(PropertyKind::Temporal(Logic::Tctl, formula))
    }

    fn formula(&mut self, expr: &'p ast::Expr) -> Parsed<Formula> {
        use ast::ExprKind as K;
        if !is_temporal(expr) {
            let expr = self.truth(expr)?;
            return Ok(Formula::Atom(self.b.condition(expr)));
        }
        let interval = |bounds: &ast::Bounds| Interval { from: bounds.from, to: bounds.to };
        Ok(match &expr.kind {
            K::Not(of) => Formula::Not(Box::new(self.formula(of)?)),
            K::Binary(InfixOp::And, left, right) => {
                Formula::And(vec![self.formula(left)?, self.formula(right)?])
            }
            K::Binary(InfixOp::Or, left, right) => {
                Formula::Or(vec![self.formula(left)?, self.formula(right)?])
            }
            K::Binary(InfixOp::Implies, left, right) => {
                Formula::Or(vec![Formula::Not(Box::new(self.formula(left)?)), self.formula(right)?])
            }
            K::Paths(all, path) => {
                let path = Box::new(match &path.kind {
                    K::Temporal(true, bounds, of) => {
                        Formula::Always(interval(bounds), Box::new(self.formula(of)?))
                    }
                    K::Temporal(false, bounds, of) => {
                        Formula::Eventually(interval(bounds), Box::new(self.formula(of)?))
                    }
                    K::Until(bounds, left, right) => {
                        let (left, right) = (self.formula(left)?, self.formula(right)?);
                        Formula::Until(interval(bounds), Box::new(left), Box::new(right))
                    }
                    _ => {
                        return error(
                            codes::WRONG_KIND,
                            path.span,
                            "a path needs `henceforth`, `eventually` or `until`",
                        );
                    }
                });
                if *all { Formula::AllPaths(path) } else { Formula::SomePath(path) }
            }
            K::Temporal(..) | K::Until(..) => {
                return error(
                    codes::WRONG_KIND,
                    expr.span,
                    "say of which paths: `all_paths (...)` or `exists_path (...)`",
                );
            }
            K::Quantified(..) => {
                return error(
                    codes::UNSUPPORTED,
                    expr.span,
                    "a quantifier over temporal formulas is not supported",
                );
            }
            _ => return error(codes::WRONG_KIND, expr.span, "a formula is needed here"),
        })
    }
}

/// `not deadlock` and `not timelock`.
fn stuck(expr: &ast::Expr) -> Option<DeadlockKind> {
    let ast::ExprKind::Not(of) = &expr.kind else { return None };
    match &of.kind {
        ast::ExprKind::Name(name) if name == "deadlock" => Some(DeadlockKind::Stuck),
        ast::ExprKind::Name(name) if name == "timelock" => Some(DeadlockKind::Timelock),
        _ => None,
    }
}

fn is_temporal(expr: &ast::Expr) -> bool {
    use ast::ExprKind as K;
    match &expr.kind {
        K::Paths(..) | K::Temporal(..) | K::Until(..) => true,
        K::Not(of) | K::Minus(of) | K::Quantified(.., of) | K::Index(_, of) => is_temporal(of),
        K::Binary(_, left, right) => is_temporal(left) || is_temporal(right),
        K::Call(_, arguments) => arguments.iter().any(is_temporal),
        K::Number(_) | K::Bool(_) | K::Name(_) => false,
    }
}
