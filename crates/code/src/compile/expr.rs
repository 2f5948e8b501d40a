//! Expressions: scalars to registers, composites to addresses.

use shoal_model::{
    Argument, BinaryOp, Expr, ExprKind, FaultKind, Node, OrInternal, Place, Quantifier, Root, Type, TypedId,
    UnaryOp, Value, internal,
};

use super::{
    Compiler, LocalBinding,
    place::Address,
    scalar::{Form, Scalar},
};
use crate::{
    code::{FALSE, IntRange, Op, Outside, Reg, TRUE},
    layout::{AtomKind, atoms},
};

impl Compiler<'_> {
    /// Evaluates a scalar that is used: it is not undefined.
    pub(super) fn scalar(&mut self, expr: &Expr) -> Scalar {
        let scalar = self.scalar_or_undefined(expr);
        self.defined(scalar, expr.span)
    }

    /// Evaluates a scalar that may be undefined if it is peeked.
    pub(super) fn scalar_or_undefined(&mut self, expr: &Expr) -> Scalar {
        let ty = expr.ty;
        let raw = |reg| Scalar::new(ty, Form::Raw(reg));
        match &expr.kind {
            ExprKind::Const(value) => Scalar::new(ty, Form::Const(value.clone())),
            ExprKind::Read(place) | ExprKind::Peek(place) => {
                if let Some(bound) = self.bound_value(place) {
                    return bound;
                }
                let address = self.place(place);
                if matches!(expr.kind, ExprKind::Peek(_)) {
                    Scalar::new(place.ty, Form::Maybe(self.peek(address)))
                } else {
                    Scalar::new(place.ty, Form::Code(self.load(address, expr.span)))
                }
            }
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                let (src, dst) = (self.integer(operand), self.temp());
                let site = self.site(expr.span);
                self.emit(Op::Negate { dst, src, site });
                raw(dst)
            }
            ExprKind::Unary(UnaryOp::BitNot, operand) => {
                let (src, dst) = (self.integer(operand), self.temp());
                self.emit(Op::Complement { dst, src });
                raw(dst)
            }
            ExprKind::Binary(op, left, right) if !compares(*op) => {
                let (left, right) = (self.integer(left), self.integer(right));
                let (dst, site) = (self.temp(), self.site(expr.span));
                self.emit(match op {
                    BinaryOp::Add => Op::Add { dst, left, right, site },
                    BinaryOp::Sub => Op::Sub { dst, left, right, site },
                    op => Op::Binary { op: *op, dst, left, right, site },
                });
                raw(dst)
            }
            ExprKind::Cond(condition, then, other) => self.conditional(expr, condition, then, other),
            ExprKind::Quantified { quantifier: Quantifier::Count, local, domain, body } => {
                raw(self.count(*local, domain, body))
            }
            ExprKind::Call(function, arguments) => self.call_scalar(*function, arguments, expr.span),
            ExprKind::Ordinal(value) => self.ordinal(expr, value),
            ExprKind::ElementAt(sort, number) => {
                let src = self.integer(number);
                let hi = i64::from(self.model.sorts[*sort].fixed_size().unwrap_or(0)) - 1;
                let outside = Outside::Fault(FaultKind::IndexOutOfRange, expr.span);
                let elements = atoms(self.model, ty);
                let first = elements.iter().find(|atom| atom.kind == AtomKind::Elem(*sort));
                let add = first.map_or(1, |atom| atom.first as i64);
                let (dst, range) = (self.temp(), self.range(IntRange { lo: 0, hi, add, outside }));
                self.emit(Op::Encode { dst, src, range });
                Scalar::new(ty, Form::Code(dst))
            }
            ExprKind::Entry(table, position) => {
                let (index, dst) = (self.integer(position), self.temp());
                let (table, site) = (table.index() as u32, self.site(expr.span));
                self.emit(Op::Entry { dst, index, table, site });
                raw(dst)
            }
            ExprKind::Len(place) => {
                let address = self.place(place);
                let address = self.address(address);
                let (dst, bag) = (self.temp(), self.bag(place.ty));
                self.emit(Op::BagLen { dst, address, bag });
                raw(dst)
            }
            _ => Scalar::new(ty, Form::Code(self.truth(expr))),
        }
    }

    /// The value of a bound local, which stands in a register.
    fn bound_value(&self, place: &Place) -> Option<Scalar> {
        match (place.root, &place.path[..]) {
            (Root::Local(local), []) => match self.slots[local.index()] {
                LocalBinding::Bound(reg, shown) => Some(Scalar::shown(reg, shown, place.ty)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Evaluates an integer as it is.
    pub(super) fn integer(&mut self, expr: &Expr) -> Reg {
        let scalar = self.scalar(expr);
        self.raw(&scalar)
    }

    /// A truth value as a code.
    fn truth(&mut self, expr: &Expr) -> Reg {
        let dst = self.temp();
        let end = self.label();
        let mark = self.next;
        self.emit(Op::Const { dst, value: FALSE });
        self.branch(expr, false, end);
        self.emit(Op::Const { dst, value: TRUE });
        self.bind(end);
        self.next = mark;
        dst
    }

    fn conditional(&mut self, expr: &Expr, condition: &Expr, then: &Expr, other: &Expr) -> Scalar {
        let dst = self.temp();
        let (otherwise, end) = (self.label(), self.label());
        let integers = self.is_integer(expr.ty) && !peeks(then) && !peeks(other);
        let arm = |this: &mut Self, arm: &Expr| {
            let mark = this.next;
            let src = if integers {
                this.integer(arm)
            } else {
                let scalar = this.scalar_or_undefined(arm);
                this.code(&scalar, expr.ty, Outside::Fault(FaultKind::OutOfRange, arm.span))
            };
            this.emit(Op::Move { dst, src });
            this.next = mark;
        };
        self.branch(condition, false, otherwise);
        arm(self, then);
        self.jump(end);
        self.bind(otherwise);
        arm(self, other);
        self.bind(end);
        let form = match () {
            () if integers => Form::Raw(dst),
            () if peeks(then) || peeks(other) => Form::Maybe(dst),
            () => Form::Code(dst),
        };
        Scalar::new(expr.ty, form)
    }

    fn ordinal(&mut self, expr: &Expr, value: &Expr) -> Scalar {
        let scalar = self.scalar(value);
        let dst = self.temp();
        if let Type::Int { lo, .. } = self.model.kind(value.ty) {
            let (left, right) = (self.raw(&scalar), self.constant(*lo));
            let site = self.site(expr.span);
            self.emit(Op::Sub { dst, left, right, site });
        } else {
            let src = self.code(&scalar, value.ty, Outside::Fault(FaultKind::OutOfRange, value.span));
            self.emit(Op::Offset { dst, src, add: -1 });
        }
        Scalar::new(expr.ty, Form::Raw(dst))
    }

    /// Evaluates a composite value: the address where it is. If something is evaluated before the value is
    /// used that may change it, `keep` must be set: then it is a copy.
    pub(super) fn composite(&mut self, expr: &Expr, keep: bool) -> Reg {
        match &expr.kind {
            ExprKind::Read(place) | ExprKind::Peek(place) => {
                let address = self.place(place);
                let from = self.address(address);
                if !keep {
                    return from;
                }
                let length = self.size(expr.ty);
                let cells = self.alloc(length);
                let to = self.address(Address::Frame(cells));
                self.emit(Op::Copy { to, from, length });
                to
            }
            ExprKind::Cond(condition, then, other) => {
                let dst = self.temp();
                let (otherwise, end) = (self.label(), self.label());
                self.branch(condition, false, otherwise);
                let src = self.composite(then, keep);
                self.emit(Op::Move { dst, src });
                self.jump(end);
                self.bind(otherwise);
                let src = self.composite(other, keep);
                self.emit(Op::Move { dst, src });
                self.bind(end);
                dst
            }
            ExprKind::Call(function, arguments) => {
                let window = self.call(*function, arguments, expr.span);
                self.address(Address::Frame(window))
            }
            other => internal!("no expression of a composite type: {other:?}"),
        }
    }

    /// Evaluates a value and drops it.
    pub(super) fn evaluate(&mut self, expr: &Expr) {
        if self.is_scalar(expr.ty) {
            self.scalar_or_undefined(expr);
        } else {
            self.composite(expr, false);
        }
    }

    pub(super) fn call_scalar(
        &mut self,
        function: shoal_model::FunctionId,
        arguments: &[Argument],
        span: shoal_syntax::Span,
    ) -> Scalar {
        let window = self.call(function, arguments, span);
        let ty = self.model.functions[function].result.or_internal("a call that has a value");
        Scalar::new(ty, Form::Code(window))
    }
}

pub(super) fn compares(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

/// Whether a value may be undefined because it is peeked.
pub(super) fn peeks(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Peek(_) => true,
        ExprKind::Cond(_, then, other) => peeks(then) || peeks(other),
        _ => false,
    }
}

/// Whether an expression contains a call, which may change variables.
pub(super) fn calls(expr: &Expr) -> bool {
    let mut result = false;
    shoal_model::walk_expr(expr, &mut |node| {
        result |= matches!(node, Node::Expr(Expr { kind: ExprKind::Call(..), .. }));
    });
    result
}

/// Whether finding a place contains a call.
pub(super) fn place_calls(place: &Place) -> bool {
    let mut result = false;
    shoal_model::walk_place(place, &mut |node| {
        result |= matches!(node, Node::Expr(Expr { kind: ExprKind::Call(..), .. }));
    });
    result
}

/// The truth of a constant, if it is one.
pub(super) fn known_truth(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Const(Value::Bool(value)) => Some(*value),
        _ => None,
    }
}
