//! Formulas of linear time, and never claims.

use shoal_model::{Condition, Formula, IndexVec, Interval, Logic, Property, PropertyKind};

use super::{Lowerer, Outcome};
use crate::{
    ast::{Expr, ExprKind, Temporal, Temporal2},
    codes,
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
        if let Some(claim) = self.program.nevers.first() {
            let _ = self.error::<()>(codes::UNSUPPORTED, claim.name.span, "not supported: never claims");
        }
    }

    fn formula(&mut self, expr: &Expr) -> Outcome<Formula> {
        if !is_temporal(expr) {
            self.locals = IndexVec::new();
            let expr = self.condition(expr, None)?;
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
                let message =
                    "temporal operators stand under `!`, `&&`, `||`, `->`, `<->` and each other only";
                return self.error(codes::MISPLACED, expr.span, message);
            }
        })
    }
}

/// Whether an expression has a temporal operator.
fn is_temporal(expr: &Expr) -> bool {
    let mut found = false;
    crate::walk::walk_expr(expr, &mut |node| {
        found |= matches!(node, crate::walk::Node::Expr(expr)
            if matches!(expr.kind, ExprKind::Temporal(..) | ExprKind::Temporal2(..)));
    });
    found
}
