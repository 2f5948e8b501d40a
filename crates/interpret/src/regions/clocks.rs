//! Values of clocks, and what they are compared with.

use shoal_model::{
    Expr, ExprKind, Model, Node, OrInternal, Ratio, Type, Value, walk_code, walk_condition, walk_expr,
};

pub(super) fn whole(number: u64) -> Ratio {
    Ratio::new(number, 1).or_internal("one is not zero")
}

pub(super) fn fraction(value: Ratio) -> Ratio {
    let (numerator, denominator) = value.parts();
    Ratio::new(numerator % denominator, denominator).or_internal("a denominator is not zero")
}

pub(super) fn minus(value: Ratio, other: Ratio) -> Option<Ratio> {
    let ((a, b), (c, d)) = (value.parts(), other.parts());
    Ratio::new(a.checked_mul(d)?.checked_sub(c.checked_mul(b)?)?, b.checked_mul(d)?)
}

pub(super) fn half(value: Ratio) -> Option<Ratio> {
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

/// The greatest constant that a clock of a model is compared with; nothing if it is not known, or not small.
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
        let most = match (&other.kind, model.kind(other.ty)) {
            (ExprKind::Const(Value::Int(value)), _) => Some(*value),
            (ExprKind::Read(_), Type::Int { hi, .. }) => Some(*hi),
            _ => None,
        };
        let most = most.filter(|most| *most < 1 << 20).map(|most| most.max(0).unsigned_abs());
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
