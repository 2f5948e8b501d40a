//! Queries to properties.

use shoal_model::{Condition, DeadlockKind, Expr, Formula, Interval, Logic, Property, PropertyKind};

use super::{Lowerer, View};
use crate::{
    cursor::Parsed,
    uppaal::ast::{self, Asked, ExprKind as K, Query},
};

impl<'n> Lowerer<'n> {
    pub(super) fn query(&mut self, query: &'n Query) -> Parsed<()> {
        let asked = query.asked.as_ref().map_err(Clone::clone)?;
        let eventually = |formula| Formula::Eventually(Interval::default(), Box::new(formula));
        let always = |formula| Formula::Always(Interval::default(), Box::new(formula));
        let on_all_paths = |formula| Formula::AllPaths(Box::new(formula));
        let temporal = |formula| PropertyKind::Temporal(Logic::Tctl, formula);
        let kind = match asked {
            Asked::Always(expr) => self.always(expr)?,
            Asked::Possibly(expr) => PropertyKind::Cover(Some(self.asked(expr)?)),
            Asked::Inevitably(expr) => temporal(on_all_paths(eventually(Formula::Atom(self.asked(expr)?)))),
            Asked::Potentially(expr) => {
                temporal(Formula::SomePath(Box::new(always(Formula::Atom(self.asked(expr)?)))))
            }
            Asked::LeadsTo(from, to) => {
                let not_yet = Formula::Not(Box::new(Formula::Atom(self.asked(from)?)));
                let reached = on_all_paths(eventually(Formula::Atom(self.asked(to)?)));
                temporal(on_all_paths(always(Formula::Or(vec![not_yet, reached]))))
            }
        };
        self.b.model.properties.push(Property { name: query.text.clone(), kind, span: query.span });
        Ok(())
    }

    /// `A[] p`, where `p` may say that there is no deadlock, or none unless something holds.
    fn always(&mut self, expr: &'n ast::Expr) -> Parsed<PropertyKind> {
        let kind = match &expr.kind {
            _ if no_deadlock(expr) => DeadlockKind::Stuck,
            K::Binary("imply", left, right) if no_deadlock(right) => {
                let left = self.truth_here(left)?;
                let unless = self.b.not(left);
                DeadlockKind::StuckUnless(self.b.condition(unless))
            }
            K::Binary("||", left, right) if no_deadlock(left) || no_deadlock(right) => {
                let unless = if no_deadlock(left) { right } else { left };
                DeadlockKind::StuckUnless(self.asked(unless)?)
            }
            _ => return Ok(PropertyKind::Invariant(self.asked(expr)?)),
        };
        Ok(PropertyKind::Deadlock(kind))
    }

    fn asked(&mut self, expr: &'n ast::Expr) -> Parsed<Condition> {
        let truth = self.truth_here(expr)?;
        Ok(self.b.condition(truth))
    }

    fn truth_here(&mut self, expr: &'n ast::Expr) -> Parsed<Expr> {
        // A query before this one may have been left half done.
        self.b.take_locals();
        let view = View { scope: self.globals.clone(), ..View::default() };
        self.truth(expr, &view)
    }
}

/// `not deadlock`
fn no_deadlock(expr: &ast::Expr) -> bool {
    matches!(&expr.kind, K::Not(of) if matches!(of.kind, K::Deadlock))
}
