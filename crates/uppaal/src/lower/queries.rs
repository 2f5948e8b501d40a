//! Queries to properties.
//!
//! `deadlock` may stand anywhere in a formula of one state: then there are two formulas, one for states in which it is true
//! and one for the others.

use shoal_model::{
    Condition, DeadlockKind, Expr, ExprKind, Extreme, Formula, Interval, Logic, Property, PropertyKind,
    UnaryOp, Value,
};

use super::{ExprView, Lowerer, unsupported};
use crate::ast::{self, Asked, ExprKind as K, Query, Values};
use shoal_syntax::cursor::Parsed;

impl<'n> Lowerer<'n> {
    pub(super) fn query(&mut self, query: &'n Query) -> Parsed<()> {
        let asked = query.asked.as_ref().map_err(Clone::clone)?;
        let eventually = |formula| Formula::Eventually(Interval::default(), Box::new(formula));
        let always = |formula| Formula::Always(Interval::default(), Box::new(formula));
        let on_all_paths = |formula| Formula::AllPaths(Box::new(formula));
        let temporal = |formula| PropertyKind::Temporal(Logic::Tctl, formula);
        let kinds = match asked {
            Asked::Values { asks, given, of } => return self.values(query, *asks, given.as_ref(), of),
            Asked::Always(expr) => self.always(expr)?,
            Asked::Possibly(expr) => vec![self.possibly(expr)?],
            Asked::Inevitably(expr) => {
                vec![temporal(on_all_paths(eventually(Formula::Atom(self.asked(expr)?))))]
            }
            Asked::Potentially(expr) => {
                vec![temporal(Formula::SomePath(Box::new(always(Formula::Atom(self.asked(expr)?)))))]
            }
            Asked::LeadsTo(from, to) => {
                let not_yet = Formula::Not(Box::new(Formula::Atom(self.asked(from)?)));
                let reached = on_all_paths(eventually(Formula::Atom(self.asked(to)?)));
                vec![temporal(on_all_paths(always(Formula::Or(vec![not_yet, reached]))))]
            }
        };
        for kind in kinds {
            self.b.model.properties.push(Property { name: query.text.clone(), kind, span: query.span });
        }
        Ok(())
    }

    /// `A[] p`
    fn always(&mut self, expr: &'n ast::Expr) -> Parsed<Vec<PropertyKind>> {
        if !mentions_deadlock(expr) {
            return Ok(vec![PropertyKind::Invariant(self.asked(expr)?)]);
        }
        let (stuck, moving) = (self.given_deadlock(expr, true)?, self.given_deadlock(expr, false)?);
        let free = || PropertyKind::Deadlock(DeadlockKind::Stuck);
        match (constant(&stuck.expr), constant(&moving.expr)) {
            (Some(false), Some(true)) => Ok(vec![free()]),
            (_, Some(true)) => Ok(vec![PropertyKind::Deadlock(DeadlockKind::StuckUnless(stuck))]),
            // Where there is no deadlock at all, the formula for the other states is one for all.
            (Some(false), None) => Ok(vec![free(), PropertyKind::Invariant(moving)]),
            _ => unsupported("`deadlock` in this place of a query", expr.span),
        }
    }

    /// `E<> p`
    fn possibly(&mut self, expr: &'n ast::Expr) -> Parsed<PropertyKind> {
        if !mentions_deadlock(expr) {
            return Ok(PropertyKind::Cover(Some(self.asked(expr)?)));
        }
        let (stuck, moving) = (self.given_deadlock(expr, true)?, self.given_deadlock(expr, false)?);
        match constant(&moving.expr) {
            Some(false) => Ok(PropertyKind::CoverDeadlock(stuck)),
            _ => unsupported("`deadlock` in this place of a query", expr.span),
        }
    }

    /// `sup{p}: x, y`: a property for each value.
    fn values(
        &mut self,
        query: &'n Query,
        asks: Values,
        given: Option<&'n (String, ast::Expr)>,
        of: &'n [(String, ast::Expr)],
    ) -> Parsed<()> {
        let ways: &[(bool, &str)] = match asks {
            Values::Least => &[(false, "inf")],
            Values::Greatest => &[(true, "sup")],
            Values::Both => &[(false, "inf"), (true, "sup")],
        };
        let among = given.map(|(text, _)| format!("{{{text}}}")).unwrap_or_default();
        let mut properties = Vec::new();
        for (text, expr) in of {
            for (greatest, word) in ways {
                let kind = self.extreme(*greatest, given.map(|(_, given)| given), expr)?;
                let name = match ways.len() * of.len() {
                    1 => query.text.clone(),
                    _ => format!("{word}{among}: {text}"),
                };
                properties.push(Property { name, kind, span: query.span });
            }
        }
        for property in properties {
            self.b.model.properties.push(property);
        }
        Ok(())
    }

    fn extreme(
        &mut self,
        greatest: bool,
        given: Option<&'n ast::Expr>,
        of: &'n ast::Expr,
    ) -> Parsed<PropertyKind> {
        self.b.take_locals();
        let view = ExprView { scope: self.globals.clone(), ..ExprView::default() };
        let measured = self.value(of, &view)?;
        let measured = match self.is_clock(&measured) {
            true if matches!(measured.kind, ExprKind::Read(_)) => measured,
            true => return unsupported("the least or greatest value of a sum of clocks", of.span),
            false => self.as_integer(measured)?,
        };
        let given = match given {
            Some(given) => self.truth(given, &view)?,
            None => self.b.truth(true, of.span),
        };
        // The locals are of both.
        let Condition { locals, expr } = self.b.condition(given);
        let integer = self.b.integer;
        Ok(PropertyKind::Extreme(Extreme { greatest, locals, given: expr, of: measured, integer }))
    }

    fn asked(&mut self, expr: &'n ast::Expr) -> Parsed<Condition> {
        // A query before this one may have been left half done.
        self.b.take_locals();
        let view = ExprView { scope: self.globals.clone(), ..ExprView::default() };
        let truth = self.truth(expr, &view)?;
        Ok(self.b.condition(truth))
    }

    /// A formula where `deadlock` is true, or false.
    fn given_deadlock(&mut self, expr: &'n ast::Expr, truth: bool) -> Parsed<Condition> {
        self.deadlock = Some(truth);
        let condition = self.asked(expr);
        self.deadlock = None;
        condition
    }
}

fn mentions_deadlock(expr: &ast::Expr) -> bool {
    match &expr.kind {
        K::Deadlock => true,
        K::Number(_) | K::Bool(_) | K::Name(_) => false,
        K::Index(a, b) | K::Binary(_, a, b) => mentions_deadlock(a) || mentions_deadlock(b),
        K::Dot(of, _) | K::Not(of) | K::Minus(of) | K::Rate(of) | K::Quantified(_, _, _, of) => {
            mentions_deadlock(of)
        }
        K::Call(_, arguments) => arguments.iter().any(mentions_deadlock),
        K::CallOf(of, _, arguments) => mentions_deadlock(of) || arguments.iter().any(mentions_deadlock),
        K::Cond(a, b, c) => [a, b, c].into_iter().any(|part| mentions_deadlock(part)),
        K::Assign(assign) => mentions_deadlock(&assign.to) || mentions_deadlock(&assign.value),
    }
}

/// The truth of a condition, where that can be told from its form.
fn constant(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Const(Value::Bool(truth)) => Some(*truth),
        ExprKind::Unary(UnaryOp::Not, of) => constant(of).map(|truth| !truth),
        ExprKind::And(parts) => junction(parts, false),
        ExprKind::Or(parts) => junction(parts, true),
        ExprKind::Implies(left, right) => match (constant(left), constant(right)) {
            (Some(false), _) | (_, Some(true)) => Some(true),
            (Some(true), right) => right,
            _ => None,
        },
        ExprKind::Quantified { body, .. } => constant(body),
        ExprKind::Cond(condition, then, other) => match constant(condition) {
            Some(true) => constant(then),
            Some(false) => constant(other),
            None => constant(then).filter(|truth| constant(other) == Some(*truth)),
        },
        _ => None,
    }
}

/// Parts of which one with the truth value `ends` decides.
fn junction(parts: &[Expr], ends: bool) -> Option<bool> {
    let parts: Vec<Option<bool>> = parts.iter().map(constant).collect();
    match parts.contains(&Some(ends)) {
        true => Some(ends),
        false => parts.iter().all(|part| *part == Some(!ends)).then_some(!ends),
    }
}
