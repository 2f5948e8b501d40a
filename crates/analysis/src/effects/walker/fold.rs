//! Values that are known though they are computed: of expressions that need no state.

use std::collections::BTreeMap;

use shoal_model::{
    Argument, Expr, ExprKind, LocalId, LocalKind, Model, Place, Root, Stmt, StmtKind, UnaryOp, Value,
};

use super::Walker;
use crate::effects::AbstractValue;

/// Calls are followed no deeper than this.
const DEPTH: usize = 4;

/// The values of locals, as far as they are known.
type LocalValues<'k> = &'k dyn Fn(LocalId) -> Option<Value>;

impl Walker<'_> {
    /// The value of an expression, if it is the same in all states and needs no more than a few comparisons and sums: such as
    /// the right neighbour of an element that is known. Whether computing it faults is not said.
    pub(super) fn fold(&self, expr: &Expr) -> Option<Value> {
        let known = |local| match self.values.get(&self.local(local)) {
            Some(AbstractValue::Const(value)) => Some(value.clone()),
            _ => None,
        };
        value(self.model, expr, &known, 0)
    }
}

fn value(model: &Model, expr: &Expr, known: LocalValues<'_>, depth: usize) -> Option<Value> {
    let of = |expr: &Expr| value(model, expr, known, depth);
    let truth = |expr: &Expr| match of(expr) {
        Some(Value::Bool(truth)) => Some(truth),
        _ => None,
    };
    match &expr.kind {
        ExprKind::Const(value) => Some(value.clone()),
        ExprKind::Read(place) | ExprKind::Peek(place) => bound(place).and_then(known),
        ExprKind::Unary(UnaryOp::Not, operand) => truth(operand).map(|truth| Value::Bool(!truth)),
        ExprKind::Unary(UnaryOp::Neg, operand) => of(operand)?.as_int()?.checked_neg().map(Value::Int),
        ExprKind::Binary(op, left, right) => op.apply(of(left)?.as_int()?, of(right)?.as_int()?).ok(),
        ExprKind::Equal(left, right) => Some(Value::Bool(of(left)? == of(right)?)),
        ExprKind::And(operands) => decided(operands, false, truth),
        ExprKind::Or(operands) => decided(operands, true, truth),
        ExprKind::Cond(condition, then, other) => of(if truth(condition)? { then } else { other }),
        ExprKind::Call(function, arguments) if depth < DEPTH => {
            let function = &model.functions[*function];
            let mut locals = BTreeMap::new();
            for (param, argument) in function.params.iter().zip(arguments) {
                let passed = match argument {
                    Argument::Value(value) => of(value),
                    Argument::Place(place) => bound(place).and_then(known),
                };
                let writable = function.code.locals[*param].kind == LocalKind::Reference { writable: true };
                locals.insert(*param, passed.filter(|_| !writable)?);
            }
            returned(model, &function.code.body, &|local| locals.get(&local).cloned(), depth + 1)?
        }
        _ => None,
    }
}

/// The local that a place is the whole of.
fn bound(place: &Place) -> Option<LocalId> {
    match place.root {
        Root::Local(local) if place.path.is_empty() => Some(local),
        _ => None,
    }
}

/// Whether an operand is what decides; they are evaluated until one is.
fn decided(operands: &[Expr], by: bool, truth: impl Fn(&Expr) -> Option<bool>) -> Option<Value> {
    for operand in operands {
        if truth(operand)? == by {
            return Some(Value::Bool(by));
        }
    }
    Some(Value::Bool(!by))
}

/// What a block returns, if it does and that is known; nothing is done but to return.
fn returned(model: &Model, block: &[Stmt], known: LocalValues<'_>, depth: usize) -> Option<Option<Value>> {
    for stmt in block {
        match &stmt.kind {
            StmtKind::Return(Some(expr)) => return Some(Some(value(model, expr, known, depth)?)),
            StmtKind::If(arms, other) => {
                let mut taken = &other[..];
                for (condition, arm) in arms {
                    if value(model, condition, known, depth)? == Value::Bool(true) {
                        taken = arm;
                        break;
                    }
                }
                if let Some(found) = returned(model, taken, known, depth)? {
                    return Some(Some(found));
                }
            }
            _ => return None,
        }
    }
    Some(None)
}
