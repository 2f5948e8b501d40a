//! Updates whose order does not matter: `x := x + 1`, `x := x | e`.

use shoal_model::{
    BinaryOp, Expr, ExprKind, IndexVec, Local, LocalId, LocalKind, Model, Place, Projection, Root, SortSize,
    Stmt, StmtKind, Type, TypeId, UnaryOp, Value,
};

use super::Written;
use crate::mutant::{self, AnalysisMutant};

/// If `place := value` updates the old value, how, and the operands other than the old value.
pub(super) fn update<'a>(
    model: &Model,
    locals: &IndexVec<LocalId, Local>,
    place: &Place,
    value: &'a Expr,
) -> Option<(Written, Vec<&'a Expr>)> {
    let old = |expr: &Expr| matches!(&expr.kind, ExprKind::Read(read) if same_place(read, place));
    match &value.kind {
        ExprKind::Binary(BinaryOp::Add, left, right) => {
            let other = if old(left) {
                right
            } else if old(right) {
                left
            } else {
                return None;
            };
            let written = match sign(model, other)? {
                Sign::NotNegative => Written::Increased,
                Sign::NotPositive => Written::Decreased,
            };
            Some((written, vec![other]))
        }
        ExprKind::Binary(BinaryOp::Sub, left, right) if old(left) => {
            let written = match sign(model, right)? {
                Sign::NotNegative => Written::Decreased,
                Sign::NotPositive => Written::Increased,
            };
            Some((written, vec![right]))
        }
        // The old value decides whether the others are evaluated, and the old value depends on the order of
        // the updates; so they must not fault. And it must come first: if it is undefined, every order faults.
        ExprKind::Or(operands) | ExprKind::And(operands) => {
            let (first, others) = operands.split_first()?;
            if !old(first) || !others.iter().all(|other| cannot_fault(model, locals, other)) {
                return None;
            }
            let raised = matches!(value.kind, ExprKind::Or(_));
            let written = if raised { Written::Raised } else { Written::Lowered };
            Some((written, others.iter().collect()))
        }
        _ => None,
    }
}

/// `if conditions & value > place then place := value end`, or the like.
pub(super) struct ExtremeUpdate<'a> {
    pub(super) written: Written,
    pub(super) conditions: &'a [Expr],
    pub(super) value: &'a Expr,
    pub(super) place: &'a Place,
}

/// Whether all that a branch does is to keep the higher or the lower of two values. Then which rounds of a loop come to write
/// depends on their order, but not what stays, nor whether that leaves its range.
pub(super) fn extreme<'a>(arms: &'a [(Expr, Vec<Stmt>)], other: &'a [Stmt]) -> Option<ExtremeUpdate<'a>> {
    let ([(condition, block)], []) = (arms, other) else { return None };
    let block = if mutant::is(AnalysisMutant::ExtremesKeepMore) { block.get(..1)? } else { block };
    let [Stmt { kind: StmtKind::Assign(place, value), .. }] = block else { return None };
    let (last, conditions) = match &condition.kind {
        ExprKind::And(operands) => operands.split_last()?,
        _ => (condition, &[][..]),
    };
    let ExprKind::Binary(op, left, right) = &last.kind else { return None };
    let old = |expr: &Expr| matches!(&expr.kind, ExprKind::Read(read) if same_place(read, place));
    let value_first = match (old(left), old(right)) {
        (false, true) if same_expr(left, value) => true,
        (true, false) if same_expr(right, value) => false,
        _ => return None,
    };
    let written = match (op, value_first) {
        (BinaryOp::Gt | BinaryOp::Ge, true) | (BinaryOp::Lt | BinaryOp::Le, false) => Written::Highest,
        (BinaryOp::Lt | BinaryOp::Le, true) | (BinaryOp::Gt | BinaryOp::Ge, false) => Written::Lowest,
        _ => return None,
    };
    Some(ExtremeUpdate { written, conditions, value, place })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    NotNegative,
    NotPositive,
}

fn sign(model: &Model, expr: &Expr) -> Option<Sign> {
    let of_range = |lo: i64, hi: i64| match (lo, hi) {
        (0.., _) => Some(Sign::NotNegative),
        (_, ..=0) => Some(Sign::NotPositive),
        _ => None,
    };
    let of_type = |ty: TypeId| match model.kind(ty) {
        Type::Int { lo, hi } => of_range(*lo, *hi),
        _ => None,
    };
    let same = |left: Sign, right: Sign| (left == right).then_some(left);
    match &expr.kind {
        ExprKind::Const(Value::Int(value)) => of_range(*value, *value),
        ExprKind::Unary(UnaryOp::Neg, operand) => sign(model, operand).map(Sign::opposite),
        ExprKind::Quantified { .. } | ExprKind::Len(_) => Some(Sign::NotNegative),
        ExprKind::Read(place) => of_type(place.ty),
        ExprKind::Call(function, _) => of_type(model.functions[*function].result?),
        ExprKind::Cond(_, then, other) => same(sign(model, then)?, sign(model, other)?),
        ExprKind::Binary(op, left, right) => {
            let (left, right) = (sign(model, left)?, sign(model, right)?);
            match op {
                BinaryOp::Add => same(left, right),
                BinaryOp::Sub => same(left, right.opposite()),
                BinaryOp::Mul | BinaryOp::Div if left == right => Some(Sign::NotNegative),
                BinaryOp::Mul | BinaryOp::Div => Some(Sign::NotPositive),
                BinaryOp::Rem => Some(left),
                _ => None,
            }
        }
        _ => None,
    }
}

impl Sign {
    fn opposite(self) -> Self {
        match self {
            Sign::NotNegative => Sign::NotPositive,
            Sign::NotPositive => Sign::NotNegative,
        }
    }
}

/// Whether two places of one statement are the same. Only places that are plainly so: no calls on the way.
pub(super) fn same_place(a: &Place, b: &Place) -> bool {
    let same_step = |steps: (&Projection, &Projection)| match steps {
        (Projection::Field(a), Projection::Field(b)) => a == b,
        (Projection::Index(a), Projection::Index(b))
        | (Projection::Slot(a), Projection::Slot(b))
        | (Projection::Item(a), Projection::Item(b)) => same_expr(a, b),
        _ => false,
    };
    a.root == b.root && a.path.len() == b.path.len() && a.path.iter().zip(&b.path).all(same_step)
}

fn same_expr(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Const(a), ExprKind::Const(b)) => a == b,
        (ExprKind::Read(a) | ExprKind::Peek(a), ExprKind::Read(b) | ExprKind::Peek(b)) => same_place(a, b),
        _ => false,
    }
}

/// Whether evaluating the expression surely succeeds. Reading may find an undefined value, so only bound
/// locals are read.
fn cannot_fault(model: &Model, locals: &IndexVec<LocalId, Local>, expr: &Expr) -> bool {
    let safe = |expr: &Expr| cannot_fault(model, locals, expr);
    match &expr.kind {
        ExprKind::Const(_) => true,
        ExprKind::Read(place) => is_bound(locals, place),
        ExprKind::Peek(place) | ExprKind::IsUndefined(place) => path_cannot_fault(model, locals, place),
        ExprKind::Unary(UnaryOp::Not, operand) => safe(operand),
        ExprKind::IsMember(operand, _) | ExprKind::Exists(operand) => safe(operand),
        ExprKind::Equal(left, right) | ExprKind::Implies(left, right) => safe(left) && safe(right),
        ExprKind::And(operands) | ExprKind::Or(operands) => operands.iter().all(safe),
        _ => false,
    }
}

fn is_bound(locals: &IndexVec<LocalId, Local>, place: &Place) -> bool {
    match place.root {
        Root::Local(local) => {
            place.path.is_empty() && locals.get(local).is_some_and(|local| local.kind == LocalKind::Bound)
        }
        Root::Var(_) => false,
    }
}

fn path_cannot_fault(model: &Model, locals: &IndexVec<LocalId, Local>, place: &Place) -> bool {
    let mut ty = match place.root {
        Root::Var(var) => model.vars[var].ty,
        Root::Local(local) => locals[local].ty,
    };
    for step in &place.path {
        ty = match (step, model.kind(ty)) {
            (Projection::Field(field), Type::Record { fields }) => fields[*field as usize].ty,
            (Projection::Index(at), Type::Array { index, element })
                if index_fits(model, locals, at, *index) =>
            {
                *element
            }
            _ => return false,
        };
    }
    true
}

/// Whether an index is surely inside: a bound local of the index type, which has no null and loses no element.
fn index_fits(model: &Model, locals: &IndexVec<LocalId, Local>, at: &Expr, index: TypeId) -> bool {
    let ExprKind::Read(place) = &at.kind else { return false };
    let stays = match model.kind(index) {
        Type::Ref { sort, nullable } => {
            !nullable && matches!(model.sorts[*sort].size, SortSize::Fixed(_) | SortSize::Any)
        }
        Type::Bool | Type::Int { .. } | Type::Enum { .. } => true,
        Type::Union { .. }
        | Type::Record { .. }
        | Type::Array { .. }
        | Type::Multiset { .. }
        | Type::Sequence { .. }
        | Type::Clock => false,
    };
    stays && is_bound(locals, place) && model.same_values(place.ty, index)
}
