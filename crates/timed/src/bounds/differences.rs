//! Differences of clocks that are asked for.
//!
//! The abstractions by greatest constants forget how far clocks are apart. Where that is asked for, zones are first cut along
//! every such difference, so that each piece lies on one side of each; a piece keeps its sides when it is abstracted (Bengtsson
//! and Yi's normalisation with splitting). Time does not change a difference; a reset makes it a comparison of one clock
//! with a constant, so both clocks have that constant, and the greatest number that clocks are set to, among their limits.

use shoal_dbm::{Bound, Constraint};
use shoal_model::{
    BinaryOp, Expr, ExprKind, Model, Node, StmtKind, Type, TypedId, Unsupported, walk_code, walk_expr,
};
use shoal_tctl::unsupported;

use super::reader::{ClockReader, NamedClock};
use crate::{layout::ZoneLayout, state::ZoneState};

/// `left - right` is asked to be within bounds.
pub(super) struct ClockDifference {
    left: NamedClock,
    right: NamedClock,
    bounds: Vec<Bound>,
}

/// All differences that a model asks for.
pub(super) fn all(
    reader: &ClockReader<'_>,
    conditions: &[&Expr],
) -> Result<Vec<ClockDifference>, Unsupported> {
    let mut found: Vec<ClockDifference> = Vec::new();
    let mut failed = Ok(());
    for condition in conditions {
        walk_expr(condition, &mut |node| {
            let Node::Expr(expr) = node else { return };
            let (op, left, right) = match &expr.kind {
                ExprKind::Binary(op, left, right) if op.compares() => (Some(*op), left, right),
                ExprKind::Equal(left, right) => (None, left, right),
                _ => return,
            };
            let is_clock = |expr: &Expr| *reader.model.kind(expr.ty) == Type::Clock;
            if !is_clock(left) || !is_clock(right) {
                return;
            }
            match reader.difference(left, right) {
                Ok((left, right, c)) => {
                    let (least, most) = (Bound::less(c), Bound::at_most(c));
                    let bounds = match op {
                        Some(BinaryOp::Lt | BinaryOp::Ge) => vec![least],
                        Some(BinaryOp::Le | BinaryOp::Gt) => vec![most],
                        _ => vec![least, most],
                    };
                    found.push(ClockDifference { left, right, bounds });
                }
                Err(problem) => failed = Err(problem),
            }
        });
    }
    failed.map(|()| found)
}

/// Whether a model compares clocks with each other.
pub(crate) fn are_asked(model: &Model) -> bool {
    let is_clock = |expr: &Expr| *model.kind(expr.ty) == Type::Clock;
    let mut found = false;
    for condition in super::all_conditions(model) {
        walk_expr(condition, &mut |node| {
            if let Node::Expr(expr) = node
                && let ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right) = &expr.kind
            {
                found |= is_clock(left) && is_clock(right);
            }
        });
    }
    found
}

/// Whether a model compares clocks with each other that elements of a sort have: then they are told apart.
pub(crate) fn concern_elements(model: &Model, layout: &ZoneLayout) -> Result<bool, Unsupported> {
    let differences = all(&ClockReader { model, layout }, &super::all_conditions(model))?;
    let own = |clock: &NamedClock| !matches!(clock, NamedClock::Global(_));
    Ok(differences.iter().any(|difference| own(&difference.left) || own(&difference.right)))
}

/// The greatest number that a clock is set to.
pub(super) fn greatest_reset(reader: &ClockReader<'_>) -> Result<i32, Unsupported> {
    let model = reader.model;
    let mut greatest = Ok(0);
    let mut look = |node: Node<'_>| {
        let Node::Stmt(stmt) = node else { return };
        let StmtKind::Assign(place, value) = &stmt.kind else { return };
        if *model.kind(place.ty) == Type::Clock
            && let Ok(so_far) = greatest
        {
            greatest = reader.greatest(value).map(|value| value.max(so_far));
        }
    };
    let rules = model.rules.iter().chain(model.starts.iter()).map(|rule| &rule.code);
    rules
        .chain(model.functions.iter().map(|function| &function.code))
        .for_each(|code| walk_code(code, &mut look));
    greatest
}

impl ClockDifference {
    /// What is asked of the clocks of a state.
    pub(super) fn of(&self, layout: &ZoneLayout, state: &ZoneState) -> Vec<Constraint> {
        let mut found = Vec::new();
        for left in clocks(self.left, layout, state) {
            for right in clocks(self.right, layout, state).into_iter().filter(|right| *right != left) {
                found.extend(self.bounds.iter().map(|bound| Constraint { left, right, bound: *bound }));
            }
        }
        found
    }
}

/// The clocks of a state that a clock of the model may be.
fn clocks(clock: NamedClock, layout: &ZoneLayout, state: &ZoneState) -> Vec<usize> {
    match clock {
        NamedClock::Global(clock) => vec![1 + clock],
        NamedClock::Local(sort, clock, _) => {
            let classes = (0..state.classes.len()).filter(|class| state.classes[*class].sort == sort.index());
            let members = classes
                .flat_map(|class| (0..state.classes[class].shown()).map(move |member| (class, member)));
            members.map(|(class, member)| state.clock_of(layout, class, member) + clock).collect()
        }
        NamedClock::Unknown => (1..state.zone.dim()).collect(),
    }
}

/// That a difference is with what is known.
pub(super) fn unknown<T>(expr: &Expr) -> Result<T, Unsupported> {
    unsupported(
        "a difference of clocks compared with what is not known before the model runs",
        Some(expr.span),
    )
}
