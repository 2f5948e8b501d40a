//! Small pieces of the Model, made short.

use shoal_model::{
    BinaryOp, Binding, Domain, Expr, ExprBuilder, ExprKind, LocalKind, Place, Projection, Quantifier, Root,
    Stmt, StmtKind, Type, TypeId, UnaryOp, Value,
};
use shoal_syntax::Span;

use super::Lowerer;

/// The least and the greatest value of an expression, as far as its form tells.
pub(super) type ValueRange = (i64, i64);

/// The numbers of C's `int`.
pub(super) const INT: ValueRange = (i32::MIN as i64, i32::MAX as i64);

impl Lowerer<'_> {
    fn make(&self) -> ExprBuilder {
        ExprBuilder { boolean: self.boolean, integer: self.integer }
    }

    pub(super) fn int(&self, value: i64, span: Span) -> Expr {
        self.make().int(value, span)
    }

    pub(super) fn truth(&self, value: bool, span: Span) -> Expr {
        self.make().truth(value, span)
    }

    pub(super) fn read(&self, place: Place) -> Expr {
        self.make().read(place)
    }

    pub(super) fn binary(&self, op: BinaryOp, left: Expr, right: Expr) -> Expr {
        let span = left.span;
        self.make().binary(op, left, right, span)
    }

    pub(super) fn equal(&self, left: Expr, right: Expr) -> Expr {
        let span = left.span;
        self.make().equal(left, right, span)
    }

    pub(super) fn not(&self, of: Expr) -> Expr {
        self.make().not(of)
    }

    pub(super) fn and(&self, parts: Vec<Expr>, span: Span) -> Expr {
        self.make().and(parts, span)
    }

    pub(super) fn or(&self, parts: Vec<Expr>, span: Span) -> Expr {
        self.make().or(parts, span)
    }

    pub(super) fn cond(&self, condition: Expr, yes: Expr, no: Expr) -> Expr {
        self.make().cond(condition, yes, no)
    }

    pub(super) fn exists(&self, local: shoal_model::LocalId, domain: Domain, body: Expr) -> Expr {
        let span = body.span;
        self.make().quantified(Quantifier::Exists, local, domain, body, span)
    }

    pub(super) fn range_domain(&self, from: Expr, to: Expr) -> Domain {
        self.make().range(from, to)
    }

    pub(super) fn assign(&self, place: Place, value: Expr) -> Stmt {
        let span = place.span;
        self.make().assign(place, value, span)
    }

    pub(super) fn when(&self, condition: Expr, yes: Vec<Stmt>, no: Vec<Stmt>) -> Vec<Stmt> {
        self.make().when(condition, yes, no)
    }

    pub(super) fn bind(&self, local: shoal_model::LocalId, value: Expr) -> Stmt {
        let span = value.span;
        let to = shoal_model::Argument::Value(value);
        Stmt { kind: StmtKind::Bind(vec![Binding { local, to }]), span }
    }

    pub(super) fn var_place(&self, var: shoal_model::VarId, span: Span) -> Place {
        Place { root: Root::Var(var), path: Vec::new(), ty: self.model.vars[var].ty, span }
    }

    pub(super) fn local_place(&self, local: shoal_model::LocalId, span: Span) -> Place {
        Place { root: Root::Local(local), path: Vec::new(), ty: self.locals[local].ty, span }
    }

    pub(super) fn read_local(&self, local: shoal_model::LocalId, span: Span) -> Expr {
        self.read(self.local_place(local, span))
    }

    pub(super) fn field(&self, mut place: Place, field: usize) -> Place {
        if let Type::Record { fields } = self.model.kind(place.ty) {
            place.ty = fields[field].ty;
        }
        place.path.push(Projection::Field(field as u32));
        place
    }

    pub(super) fn index(&self, mut place: Place, index: Expr) -> Place {
        if let Type::Array { element, .. } = self.model.kind(place.ty) {
            place.ty = *element;
        }
        place.path.push(Projection::Index(index));
        place
    }

    /// Gives every part the value 0.
    pub(super) fn zero(&mut self, place: &Place) -> Vec<Stmt> {
        let span = place.span;
        if self.least_is_zero(place.ty) {
            return vec![Stmt { kind: StmtKind::Clear(place.clone()), span }];
        }
        match self.model.kind(place.ty).clone() {
            Type::Record { fields } => {
                (0..fields.len()).flat_map(|field| self.zero(&self.field(place.clone(), field))).collect()
            }
            Type::Array { index, .. } if matches!(self.model.kind(index), Type::Ref { .. }) => {
                // Elements of a sort are not named, so that they stay interchangeable.
                let local = self.new_local("$k", index, LocalKind::Bound, span);
                let body = self.zero(&self.index(place.clone(), self.read_local(local, span)));
                vec![Stmt { kind: StmtKind::For { local, domain: Domain::Type(index), body }, span }]
            }
            Type::Array { index, .. } => {
                let count = self.model.cardinality(index).unwrap_or(0) as i64;
                (0..count)
                    .flat_map(|at| {
                        let at = self.int(at, span);
                        self.zero(&self.index(place.clone(), at))
                    })
                    .collect()
            }
            _ => vec![self.assign(place.clone(), self.int(0, span))],
        }
    }

    fn least_is_zero(&self, ty: TypeId) -> bool {
        match self.model.kind(ty) {
            Type::Int { lo, .. } => *lo == 0,
            Type::Record { fields } => fields.iter().all(|field| self.least_is_zero(field.ty)),
            Type::Array { element, .. } => self.least_is_zero(*element),
            _ => true,
        }
    }

    /// The values that an expression can have.
    pub(super) fn range(&self, expr: &Expr) -> ValueRange {
        let of_type = || match self.model.kind(expr.ty) {
            Type::Int { lo, hi } if *lo >= INT.0 && *hi <= INT.1 => (*lo, *hi),
            Type::Bool => (0, 1),
            _ => INT,
        };
        match &expr.kind {
            ExprKind::Const(Value::Int(value)) => (*value, *value),
            ExprKind::Cond(_, a, b) => {
                let (a, b) = (self.range(a), self.range(b));
                (a.0.min(b.0), a.1.max(b.1))
            }
            ExprKind::Unary(UnaryOp::Neg, of) => {
                let of = self.range(of);
                (of.1.saturating_neg(), of.0.saturating_neg())
            }
            ExprKind::Unary(UnaryOp::BitNot, of) => {
                let of = self.range(of);
                (!of.1, !of.0)
            }
            ExprKind::Binary(op, a, b) => self.range_of(*op, self.range(a), self.range(b)),
            ExprKind::Ordinal(of) => {
                let count = self.model.cardinality(of.ty).unwrap_or(1);
                (0, i64::try_from(count).unwrap_or(i64::MAX) - 1)
            }
            _ => of_type(),
        }
    }

    fn range_of(&self, op: BinaryOp, a: ValueRange, b: ValueRange) -> ValueRange {
        let corners = |f: &dyn Fn(i64, i64) -> i64| {
            let all = [f(a.0, b.0), f(a.0, b.1), f(a.1, b.0), f(a.1, b.1)];
            (all.iter().copied().min().unwrap_or(INT.0), all.iter().copied().max().unwrap_or(INT.1))
        };
        let magnitude = a.0.saturating_abs().max(a.1.saturating_abs());
        match op {
            BinaryOp::Add => (a.0.saturating_add(b.0), a.1.saturating_add(b.1)),
            BinaryOp::Sub => (a.0.saturating_sub(b.1), a.1.saturating_sub(b.0)),
            BinaryOp::Mul => corners(&i64::saturating_mul),
            BinaryOp::Div => (magnitude.saturating_neg(), magnitude),
            BinaryOp::Rem => {
                let most =
                    b.0.saturating_abs().max(b.1.saturating_abs()).saturating_sub(1).min(magnitude).max(0);
                (if a.0 < 0 { -most } else { 0 }, most)
            }
            BinaryOp::BitAnd if a.0 >= 0 && b.0 >= 0 => (0, a.1.min(b.1)),
            BinaryOp::BitAnd if b.0 >= 0 => (0, b.1),
            BinaryOp::BitAnd if a.0 >= 0 => (0, a.1),
            BinaryOp::BitOr | BinaryOp::BitXor if a.0 >= 0 && b.0 >= 0 => {
                let most = (a.1 | b.1) as u64;
                (
                    0,
                    (most.checked_add(1).and_then(u64::checked_next_power_of_two).unwrap_or(1 << 62) - 1)
                        as i64,
                )
            }
            BinaryOp::Shr if a.0 >= 0 && b.0 >= 0 => (0, a.1),
            BinaryOp::Shl if a.0 >= 0 && b.0 >= 0 && b.1 < 31 => (0, a.1.saturating_mul(1 << b.1)),
            BinaryOp::Shl => (i64::MIN, i64::MAX),
            op if op.compares() => (0, 1),
            _ => INT,
        }
    }
}
