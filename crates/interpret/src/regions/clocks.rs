//! Values of clocks, and what they are compared with.

use shoal_model::{
    BinaryOp, Expr, ExprKind, Model, Node, OrInternal, Ratio, Type, UnaryOp, Value, walk_code,
    walk_condition, walk_expr,
};

pub(super) fn whole(number: u64) -> Ratio {
    Ratio::new(number, 1).or_internal("one is not zero")
}

pub(super) fn fraction(value: Ratio) -> Ratio {
    let (numerator, denominator) = value.parts();
    Ratio::new(numerator % denominator, denominator).or_internal("a denominator is not zero")
}

pub(crate) fn minus(value: Ratio, other: Ratio) -> Option<Ratio> {
    let ((a, b), (c, d)) = (value.parts(), other.parts());
    Ratio::new(a.checked_mul(d)?.checked_sub(c.checked_mul(b)?)?, b.checked_mul(d)?)
}

pub(crate) fn half(value: Ratio) -> Option<Ratio> {
    let (numerator, denominator) = value.parts();
    Ratio::new(numerator, denominator.checked_mul(2)?)
}

pub(super) fn each_clock(value: &Value, tell: &mut dyn FnMut(Ratio)) {
    match value {
        Value::Clock(clock) => tell(*clock),
        Value::Array(parts) | Value::Record(parts) => parts.iter().for_each(|part| each_clock(part, tell)),
        _ => {}
    }
}

pub(super) fn map_clocks(value: Value, map: &dyn Fn(Ratio) -> Ratio) -> Value {
    match value {
        Value::Clock(clock) => Value::Clock(map(clock)),
        Value::Array(parts) => Value::Array(parts.into_iter().map(|part| map_clocks(part, map)).collect()),
        Value::Record(parts) => Value::Record(parts.into_iter().map(|part| map_clocks(part, map)).collect()),
        other => other,
    }
}

/// The least and the greatest value that an integer expression may have, as far as its types and constants tell.
fn values_of(model: &Model, expr: &Expr) -> Option<(i64, i64)> {
    let of = |expr: &Expr| values_of(model, expr);
    match &expr.kind {
        ExprKind::Const(Value::Int(value)) => Some((*value, *value)),
        ExprKind::Unary(UnaryOp::Neg, inner) => {
            let (least, most) = of(inner)?;
            Some((most.checked_neg()?, least.checked_neg()?))
        }
        ExprKind::Cond(_, then, other) => {
            let (a, b) = (of(then)?, of(other)?);
            Some((a.0.min(b.0), a.1.max(b.1)))
        }
        ExprKind::Entry(table, _) => {
            let entries = &model.tables[*table].entries;
            Some((*entries.iter().min()?, *entries.iter().max()?))
        }
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul), left, right) => {
            let (a, b) = (of(left)?, of(right)?);
            let corners = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
            let values = corners.map(|(a, b)| op.apply(a, b).ok().and_then(|value| value.as_int()));
            let values = values.into_iter().collect::<Option<Vec<i64>>>()?;
            Some((*values.iter().min()?, *values.iter().max()?))
        }
        // No farther from 0 than what is divided.
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, left, _) => {
            let (least, most) = of(left)?;
            let most = least.checked_abs()?.max(most.checked_abs()?);
            Some((-most, most))
        }
        _ => match model.kind(expr.ty) {
            Type::Int { lo, hi } => Some((*lo, *hi)),
            _ => None,
        },
    }
}

/// The greatest constant that a clock of a model is compared with; nothing if two clocks are compared.
pub(super) fn greatest_constant(model: &Model) -> Option<u64> {
    let mut greatest = Some(0);
    let is_clock = |expr: &Expr| *model.kind(expr.ty) == Type::Clock;
    let mut look = |node: Node<'_>| {
        let Node::Expr(expr) = node else { return };
        let (ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right)) = &expr.kind else { return };
        let other = match (is_clock(left), is_clock(right)) {
            (true, false) => right,
            (false, true) => left,
            (true, true) => return greatest = None,
            (false, false) => return,
        };
        let most = values_of(model, other).map(|(_, most)| most.max(0).unsigned_abs());
        greatest = greatest.zip(most).map(|(greatest, most)| greatest.max(most));
    };
    for rule in model.rules.iter().chain(model.starts.iter()) {
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut look));
        walk_code(&rule.code, &mut look);
    }
    model.functions.iter().for_each(|function| walk_code(&function.code, &mut look));
    let conditions = model.properties.iter().flat_map(|property| property.kind.conditions());
    for condition in conditions.chain(&model.while_time_passes) {
        walk_condition(condition, &mut look);
    }
    greatest
}
