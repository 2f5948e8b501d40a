//! The operators that the languages of process templates have in common.

use shoal_model::BinaryOp;

/// Operators between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// And.
    And,
    /// Or.
    Or,
    /// Implies.
    Implies,
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// At most.
    Le,
    /// More.
    Gt,
    /// At least.
    Ge,
    /// Plus.
    Add,
    /// Minus.
    Sub,
    /// Times.
    Mul,
    /// Divided by.
    Div,
    /// Remainder.
    Rem,
}

impl Op {
    /// The operator of the Model, if it is one on numbers.
    pub fn arithmetic(self) -> Option<BinaryOp> {
        match self {
            Op::Add => Some(BinaryOp::Add),
            Op::Sub => Some(BinaryOp::Sub),
            Op::Mul => Some(BinaryOp::Mul),
            Op::Div => Some(BinaryOp::Div),
            Op::Rem => Some(BinaryOp::Rem),
            _ => None,
        }
    }

    /// The comparison of the Model, if it is one by order.
    pub fn order(self) -> Option<BinaryOp> {
        match self {
            Op::Lt => Some(BinaryOp::Lt),
            Op::Le => Some(BinaryOp::Le),
            Op::Gt => Some(BinaryOp::Gt),
            Op::Ge => Some(BinaryOp::Ge),
            _ => None,
        }
    }
}
