//! Rates of clocks. A clock that is stopped, or runs at another rate, is of no consequence if nothing ever looks at it (simulations
//! measure with such clocks); then it may as well run like the others. Anything else is refused.

use shoal_model::{Model, Node, Place, PropertyKind, Root, VarId, walk_code, walk_condition, walk_expr};
use shoal_syntax::{Span, cursor::Parsed};

use super::{ExprView, Lowerer, unsupported};
use crate::ast;

/// Why a query that looks at such a clock is not decided.
const STOPPED: &str = "not supported: a clock that is stopped or runs at another rate";

impl<'n> Lowerer<'n> {
    /// `x' == e`, in an invariant: it says nothing about states.
    pub(super) fn rate(
        &mut self,
        clock: &'n ast::Expr,
        rate: &'n ast::Expr,
        view: &ExprView<'n>,
    ) -> Parsed<()> {
        if !self.in_invariant {
            return unsupported("rates of clocks outside of invariants", clock.span);
        }
        if self.constant(rate, view).is_ok_and(|rate| rate == 1) {
            return Ok(());
        }
        let place = self.place(clock, view)?;
        match place.root {
            Root::Var(var) if self.has_clock(place.ty) => self.rated.push((var, clock.span)),
            _ => return unsupported("rates of what is no clock of the model", clock.span),
        }
        // It may name what does not exist.
        self.integer(rate, view).map(|_| ())
    }

    /// Refuses clocks whose rate matters.
    pub(super) fn settle_rates(&mut self) -> Parsed<()> {
        for (var, span) in std::mem::take(&mut self.rated) {
            let model = &mut self.b.model;
            if is_read_by_steps(model, var) {
                return unsupported(
                    "stopwatches: a clock that is stopped, or runs at another rate, and is looked at",
                    span,
                );
            }
            for property in model.properties.iter_mut() {
                if is_read_by(&property.kind, var) {
                    property.kind = PropertyKind::Unclear(STOPPED.into());
                }
            }
        }
        Ok(())
    }
}

/// Counts the places of a variable that are looked at: all but those that are only written.
struct LookCounter {
    var: VarId,
    /// What is written has been taken off before it is visited.
    count: i64,
}

impl LookCounter {
    fn of(var: VarId) -> LookCounter {
        LookCounter { var, count: 0 }
    }

    fn note(&mut self, node: Node<'_>) {
        let own = |place: &Place| place.root == Root::Var(self.var);
        match node {
            Node::Place(place) if own(place) => self.count += 1,
            // The place that a statement writes is visited after it.
            Node::Stmt(stmt) if stmt.kind.written().is_some_and(own) => self.count -= 1,
            _ => {}
        }
    }
}

fn is_read_by_steps(model: &Model, var: VarId) -> bool {
    let mut looks = LookCounter::of(var);
    for rule in model.rules.iter().chain(model.starts.iter()) {
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut |node| looks.note(node)));
        walk_code(&rule.code, &mut |node| looks.note(node));
    }
    model.functions.iter().for_each(|function| walk_code(&function.code, &mut |node| looks.note(node)));
    model.while_time_passes.iter().for_each(|held| walk_condition(held, &mut |node| looks.note(node)));
    looks.count != 0
}

fn is_read_by(kind: &PropertyKind, var: VarId) -> bool {
    let mut looks = LookCounter::of(var);
    kind.conditions()
        .into_iter()
        .for_each(|condition| walk_condition(condition, &mut |node| looks.note(node)));
    if let PropertyKind::Extreme(extreme) = kind {
        [&extreme.given, &extreme.of]
            .into_iter()
            .for_each(|expr| walk_expr(expr, &mut |node| looks.note(node)));
    }
    looks.count != 0
}

/// A rate as it is written, if a comparison is one.
pub(super) fn written<'n>(
    left: &'n ast::Expr,
    right: &'n ast::Expr,
) -> Option<(&'n ast::Expr, &'n ast::Expr)> {
    match (&left.kind, &right.kind) {
        (ast::ExprKind::Rate(clock), _) => Some((clock, right)),
        (_, ast::ExprKind::Rate(clock)) => Some((clock, left)),
        _ => None,
    }
}

/// Where a rate stands that is not compared.
pub(super) fn alone<T>(span: Span) -> Parsed<T> {
    unsupported("rates of clocks in this place", span)
}
