//! Values of clocks, and what they are compared with.

use shoal_model::{
    BinaryOp, Expr, ExprKind, Model, Node, OrInternal, Ratio, Stmt, StmtKind, Type, UnaryOp, Value,
    walk_code, walk_condition, walk_expr,
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

/// What clocks of a model are compared with.
#[derive(Clone, Copy)]
pub(super) struct Compared {
    /// The greatest constant; where clocks are compared with each other, none that matters after a reset is greater.
    pub(super) greatest: u64,
    /// Whether two clocks are compared with each other.
    pub(super) apart: bool,
}

/// What clocks of a model are compared with; nothing if that is not known.
pub(super) fn compared(model: &Model) -> Option<Compared> {
    let (mut greatest, mut apart, mut reset) = (Some(0), false, Some(0));
    let most_of = |expr: &Expr| values_of(model, expr).map(|(_, most)| most.max(0).unsigned_abs());
    let is_clock = |expr: &Expr| *model.kind(expr.ty) == Type::Clock;
    let mut look = |node: Node<'_>| {
        if let Node::Stmt(Stmt { kind: StmtKind::Assign(place, value), .. }) = node
            && *model.kind(place.ty) == Type::Clock
        {
            reset = reset.zip(most_of(value)).map(|(reset, most)| reset.max(most));
        }
        let Node::Expr(expr) = node else { return };
        let (ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right)) = &expr.kind else { return };
        let other = match (is_clock(left), is_clock(right)) {
            (true, false) => right,
            (false, true) => left,
            // What is added to clocks is looked at by itself: see below.
            (true, true) => return apart = true,
            (false, false) => return,
        };
        let most = most_of(other);
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
    match apart {
        true => greatest.zip(reset).map(|(greatest, reset)| Compared { greatest: greatest + reset, apart }),
        false => greatest.map(|greatest| Compared { greatest, apart }),
    }
}

/// The same clocks, nearer to each other and to 0 where they are farther apart than a number: by whole numbers, so that all that
/// is within it stays as it is.
pub(super) fn drawn_together(mut clocks: Vec<Ratio>, most: u64) -> Vec<(Ratio, Ratio)> {
    clocks.sort();
    clocks.dedup();
    let (mut last, mut drawn) = (Ratio::ZERO, 0);
    let mut map = Vec::new();
    for clock in clocks {
        let gap = minus(clock, last).or_internal("clocks are in order");
        drawn += (gap.parts().0 / gap.parts().1).saturating_sub(most + 1);
        map.push((clock, minus(clock, whole(drawn)).or_internal("a clock is as far from 0 as its gaps")));
        last = clock;
    }
    map
}
