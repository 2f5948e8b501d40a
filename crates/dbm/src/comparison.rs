//! Comparisons of clocks as constraints.

use shoal_model::BinaryOp;

use crate::zone::{Bound, Constraint};

/// `x op c` for clock `clock` as a constraint.
pub fn constraint(clock: usize, op: BinaryOp, c: i32) -> Option<Constraint> {
    difference(clock, 0, op, c)
}

/// The same for the difference of two clocks.
pub fn difference(left: usize, right: usize, op: BinaryOp, c: i32) -> Option<Constraint> {
    Some(match op {
        BinaryOp::Lt => Constraint { left, right, bound: Bound::less(c) },
        BinaryOp::Le => Constraint { left, right, bound: Bound::at_most(c) },
        BinaryOp::Gt => Constraint { left: right, right: left, bound: Bound::less(-c) },
        BinaryOp::Ge => Constraint { left: right, right: left, bound: Bound::at_most(-c) },
        _ => return None,
    })
}
