//! The operators that the languages of process templates have in common.

use shoal_model::BinaryOp;

/// Operators between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InfixOp {
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

impl InfixOp {
    /// The operator of the Model, if it is one on numbers.
    pub fn arithmetic(self) -> Option<BinaryOp> {
        match self {
            InfixOp::Add => Some(BinaryOp::Add),
            InfixOp::Sub => Some(BinaryOp::Sub),
            InfixOp::Mul => Some(BinaryOp::Mul),
            InfixOp::Div => Some(BinaryOp::Div),
            InfixOp::Rem => Some(BinaryOp::Rem),
            _ => None,
        }
    }

    /// The comparison of the Model, if it is one by order.
    pub fn order(self) -> Option<BinaryOp> {
        match self {
            InfixOp::Lt => Some(BinaryOp::Lt),
            InfixOp::Le => Some(BinaryOp::Le),
            InfixOp::Gt => Some(BinaryOp::Gt),
            InfixOp::Ge => Some(BinaryOp::Ge),
            _ => None,
        }
    }
}
