//! The clocks that expressions read, and the constants they are compared with.

use shoal_dbm::{ClockBounds, LARGEST_CONSTANT};
use shoal_model::{
    BinaryOp, Expr, ExprKind, LocalId, Model, Node, Place, Projection, Root, SortId, Type, UnaryOp,
    Unsupported, Value, walk_expr,
};
use shoal_tctl::unsupported;

use super::differences::unknown;
use crate::layout::ZoneLayout;

/// A clock that an expression names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NamedClock {
    Global(usize),
    /// Of an element of a lumped sort, and whether it is the element in question.
    Local(SortId, usize, bool),
    Unknown,
}

pub(super) struct ClockReader<'m> {
    pub(super) model: &'m Model,
    pub(super) layout: &'m ZoneLayout,
}

impl ClockReader<'_> {
    /// Tells of every comparison of a clock in an expression that may be true or false.
    pub(super) fn clock_reads(
        &self,
        expr: &Expr,
        me: Option<LocalId>,
        tell: &mut dyn FnMut(NamedClock, ClockBounds),
    ) -> Result<(), Unsupported> {
        self.reads(expr, me, true, &mut |clock, limits| {
            let most = limits.lower.max(limits.upper);
            tell(clock, ClockBounds { lower: most, upper: most });
        })
    }

    /// The same for an expression that is going to be true (or false): a comparison bounds from one side only. Where something
    /// may fault, what is not evaluated then matters too, and that is where a comparison comes out otherwise.
    pub(super) fn signed_reads(
        &self,
        expr: &Expr,
        me: Option<LocalId>,
        positive: bool,
        tell: &mut dyn FnMut(NamedClock, ClockBounds),
    ) -> Result<(), Unsupported> {
        match may_fault(expr) {
            true => self.clock_reads(expr, me, tell),
            false => self.reads(expr, me, positive, tell),
        }
    }

    fn reads(
        &self,
        expr: &Expr,
        me: Option<LocalId>,
        positive: bool,
        tell: &mut dyn FnMut(NamedClock, ClockBounds),
    ) -> Result<(), Unsupported> {
        let is_clock = |expr: &Expr| *self.model.kind(expr.ty) == Type::Clock;
        match &expr.kind {
            // A reset makes it a comparison of one clock.
            ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right)
                if is_clock(left) && is_clock(right) =>
            {
                let (left, right, c) = self.difference(left, right)?;
                let most = Some(c.abs());
                tell(left, ClockBounds { lower: most, upper: most });
                tell(right, ClockBounds { lower: most, upper: most });
                Ok(())
            }
            ExprKind::Binary(op, left, right) if is_clock(left) || is_clock(right) => {
                let (clock, other, op) =
                    if is_clock(left) { (left, right, *op) } else { (right, left, op.mirrored()) };
                let most = Some(self.greatest(other)?);
                let limits = match matches!(op, BinaryOp::Lt | BinaryOp::Le) == positive {
                    true => ClockBounds { lower: None, upper: most },
                    false => ClockBounds { lower: most, upper: None },
                };
                tell(self.clock(clock, me), limits);
                Ok(())
            }
            ExprKind::Equal(left, right) if is_clock(left) || is_clock(right) => {
                let (clock, other) = if is_clock(left) { (left, right) } else { (right, left) };
                let most = Some(self.greatest(other)?);
                tell(self.clock(clock, me), ClockBounds { lower: most, upper: most });
                Ok(())
            }
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                parts.iter().try_for_each(|part| self.reads(part, me, positive, tell))
            }
            ExprKind::Unary(UnaryOp::Not, of) => self.reads(of, me, !positive, tell),
            ExprKind::Implies(left, right) => {
                self.reads(left, me, !positive, tell)?;
                self.reads(right, me, positive, tell)
            }
            ExprKind::Quantified { body, .. } => self.reads(body, me, positive, tell),
            ExprKind::Cond(condition, then, other) => {
                self.clock_reads(condition, me, tell)?;
                self.reads(then, me, positive, tell)?;
                self.reads(other, me, positive, tell)
            }
            // A comparison of clocks may not stand in these: the machine refuses it where it evaluates them.
            ExprKind::Binary(..)
            | ExprKind::Equal(..)
            | ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, _)
            | ExprKind::Call(..)
            | ExprKind::IsMember(..)
            | ExprKind::Ordinal(_)
            | ExprKind::ElementAt(..)
            | ExprKind::Entry(..)
            | ExprKind::Exists(_) => Ok(()),
            ExprKind::Const(_)
            | ExprKind::Read(_)
            | ExprKind::Peek(_)
            | ExprKind::IsUndefined(_)
            | ExprKind::Len(_) => Ok(()),
        }
    }

    /// Two clocks that are compared, and the number that their difference is compared with.
    pub(super) fn difference(
        &self,
        left: &Expr,
        right: &Expr,
    ) -> Result<(NamedClock, NamedClock, i32), Unsupported> {
        let ((one, more), (other, most)) = (self.term(left)?, self.term(right)?);
        match i32::try_from(most - more).ok().filter(|c| i64::from(c.abs()) <= LARGEST_CONSTANT) {
            Some(c) => Ok((one, other, c)),
            None => unknown(left),
        }
    }

    /// A clock, and the number that is added to it.
    fn term(&self, expr: &Expr) -> Result<(NamedClock, i64), Unsupported> {
        match &expr.kind {
            ExprKind::Read(_) => Ok((self.clock(expr, None), 0)),
            ExprKind::Binary(BinaryOp::Add, clock, more) => match (self.term(clock)?, self.interval(more)) {
                ((clock, so_far), Some((lo, hi))) if lo == hi && hi.abs() <= LARGEST_CONSTANT => {
                    Ok((clock, so_far + hi))
                }
                _ => unknown(expr),
            },
            _ => unknown(expr),
        }
    }

    /// The greatest value that an integer expression can have.
    pub(super) fn greatest(&self, expr: &Expr) -> Result<i32, Unsupported> {
        match self.interval(expr) {
            Some((_, hi)) if hi <= LARGEST_CONSTANT => Ok(hi.max(0) as i32),
            _ => unsupported("a clock compared with what is not known to be small", Some(expr.span)),
        }
    }

    pub(super) fn interval(&self, expr: &Expr) -> Option<(i64, i64)> {
        match &expr.kind {
            ExprKind::Const(Value::Int(value)) => Some((*value, *value)),
            ExprKind::Read(place) => match self.model.kind(place.ty) {
                Type::Int { lo, hi } => Some((*lo, *hi)),
                _ => None,
            },
            ExprKind::Cond(_, then, other) => {
                let (a, b) = (self.interval(then)?, self.interval(other)?);
                Some((a.0.min(b.0), a.1.max(b.1)))
            }
            ExprKind::Entry(table, _) => {
                let entries = &self.model.tables[*table].entries;
                Some((*entries.iter().min()?, *entries.iter().max()?))
            }
            ExprKind::Unary(UnaryOp::Neg, of) => self.interval(of).map(|(lo, hi)| (-hi, -lo)),
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), left, right) => {
                let (a, b) = (self.interval(left)?, self.interval(right)?);
                let mut ends = Vec::new();
                for x in [a.0, a.1] {
                    for y in [b.0, b.1] {
                        ends.push(op.apply(x, y).ok()?.as_int()?);
                    }
                }
                Some((*ends.iter().min()?, *ends.iter().max()?))
            }
            ExprKind::Binary(BinaryOp::Div, left, _) => {
                let (lo, hi) = self.interval(left)?;
                let most = lo.abs().max(hi.abs());
                Some((-most, most))
            }
            ExprKind::Binary(BinaryOp::Rem, left, right) => {
                let (a, b) = (self.interval(left)?, self.interval(right)?);
                let most = b.0.abs().max(b.1.abs()).min(a.0.abs().max(a.1.abs()));
                Some((-most, most))
            }
            _ => match self.model.kind(expr.ty) {
                Type::Int { lo, hi } if *hi <= LARGEST_CONSTANT => Some((*lo, *hi)),
                _ => None,
            },
        }
    }

    pub(super) fn clock(&self, expr: &Expr, me: Option<LocalId>) -> NamedClock {
        let ExprKind::Read(place) = &expr.kind else { return NamedClock::Unknown };
        self.clock_at(place, me)
    }

    /// A clock, as far as its place is plain: a variable, or an entry of an array over a lumped sort.
    pub(super) fn clock_at(&self, place: &Place, me: Option<LocalId>) -> NamedClock {
        let Root::Var(var) = place.root else { return NamedClock::Unknown };
        let home = self.layout.home(var);
        match (home.sort, place.path.as_slice()) {
            (None, []) => NamedClock::Global(home.at.clocks),
            (Some(sort), [Projection::Index(index)]) => {
                NamedClock::Local(sort, home.at.clocks, me.is_some() && local_of(index) == me)
            }
            _ => NamedClock::Unknown,
        }
    }
}

/// The local that an expression reads.
pub(crate) fn local_of(expr: &Expr) -> Option<LocalId> {
    match &expr.kind {
        ExprKind::Read(Place { root: Root::Local(local), path, .. }) if path.is_empty() => Some(*local),
        _ => None,
    }
}

/// Whether evaluating an expression may fault.
fn may_fault(expr: &Expr) -> bool {
    let mut may = false;
    let known = |projection: &Projection| match projection {
        Projection::Index(index) => matches!(index.kind, ExprKind::Const(_)) || local_of(index).is_some(),
        Projection::Field(_) => true,
        Projection::Slot(_) | Projection::Item(_) => false,
    };
    walk_expr(expr, &mut |node| match node {
        Node::Expr(inner) => {
            may |= match &inner.kind {
                // Sums of what fits into 32 bits do not overflow.
                ExprKind::Binary(op, ..) => matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::Mul),
                ExprKind::Call(..) | ExprKind::Entry(..) | ExprKind::ElementAt(..) => true,
                _ => false,
            }
        }
        Node::Place(place) => may |= !place.path.iter().all(known),
        Node::Stmt(_) => {}
    });
    may
}
