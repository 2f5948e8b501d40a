//! Constants, computed while a model is made.
//!
//! An operator on constants becomes a constant, unless it faults: that is left for the run to report. What stands before an
//! operand that decides is still evaluated, for it may fault, so it stays; what stands behind it is not, so it goes.

use shoal_syntax::Span;

use crate::{BinaryOp, Expr, ExprKind, TypeId, UnaryOp, Value};

/// The value of an expression that is constant.
pub fn constant(expr: &Expr) -> Option<&Value> {
    match &expr.kind {
        ExprKind::Const(value) => Some(value),
        _ => None,
    }
}

/// A constant expression.
pub fn literal(value: Value, ty: TypeId, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(value), ty, span }
}

/// A unary operator, computed if it can be.
pub fn unary(op: UnaryOp, operand: Expr, ty: TypeId, span: Span) -> Expr {
    let value = match (op, constant(&operand)) {
        (UnaryOp::Not, Some(Value::Bool(value))) => Some(Value::Bool(!value)),
        (UnaryOp::Neg, Some(Value::Int(value))) => value.checked_neg().map(Value::Int),
        (UnaryOp::BitNot, Some(Value::Int(value))) => Some(Value::Int(!value)),
        _ => None,
    };
    match value {
        Some(value) => literal(value, ty, span),
        None => Expr { kind: ExprKind::Unary(op, Box::new(operand)), ty, span },
    }
}

/// A binary operator, computed if it can be.
pub fn binary(op: BinaryOp, left: Expr, right: Expr, ty: TypeId, span: Span) -> Expr {
    let value = match (constant(&left), constant(&right)) {
        (Some(Value::Int(left)), Some(Value::Int(right))) => op.apply(*left, *right).ok(),
        _ => None,
    };
    match value {
        Some(value) => literal(value, ty, span),
        None => Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span },
    }
}

/// `left = right`, computed if it can be.
pub fn equal(left: Expr, right: Expr, ty: TypeId, span: Span) -> Expr {
    match (constant(&left), constant(&right)) {
        (Some(left), Some(right)) => literal(Value::Bool(left == right), ty, span),
        _ => Expr { kind: ExprKind::Equal(Box::new(left), Box::new(right)), ty, span },
    }
}

/// The conjunction (`unit` is true) or disjunction (`unit` is false) of truth values. Operands that are constant are
/// dropped or end the evaluation.
pub fn junction(unit: bool, operands: impl IntoIterator<Item = Expr>, ty: TypeId, span: Span) -> Expr {
    let mut kept = Vec::new();
    for operand in operands {
        match constant(&operand) {
            Some(Value::Bool(value)) if *value == unit => {}
            Some(Value::Bool(_)) => {
                kept.push(operand);
                break;
            }
            _ => kept.push(operand),
        }
    }
    match kept.len() {
        0 => literal(Value::Bool(unit), ty, span),
        1 => kept.remove(0),
        _ if unit => Expr { kind: ExprKind::And(kept), ty, span },
        _ => Expr { kind: ExprKind::Or(kept), ty, span },
    }
}

/// `left -> right`, computed if it can be.
pub fn implies(left: Expr, right: Expr, ty: TypeId, span: Span) -> Expr {
    match constant(&left) {
        Some(Value::Bool(true)) => right,
        Some(Value::Bool(false)) => literal(Value::Bool(true), ty, span),
        _ => Expr { kind: ExprKind::Implies(Box::new(left), Box::new(right)), ty, span },
    }
}

/// `condition ? then : otherwise`, computed if it can be.
pub fn conditional(condition: Expr, then: Expr, otherwise: Expr, ty: TypeId, span: Span) -> Expr {
    match constant(&condition) {
        Some(Value::Bool(true)) => then,
        Some(Value::Bool(false)) => otherwise,
        _ => {
            Expr { kind: ExprKind::Cond(Box::new(condition), Box::new(then), Box::new(otherwise)), ty, span }
        }
    }
}
