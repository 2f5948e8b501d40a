//! Places, domains and expressions.

use shoal_syntax::Span;

use super::{Check, code::Verifier, fail, known};
use crate::{
    BinaryOp, Domain, Expr, ExprKind, LocalKind, Place, Projection, Quantifier, Root, Type, TypeId, UnaryOp,
};

impl Verifier<'_> {
    pub(super) fn writable(&self, place: &Place) -> Check {
        self.place(place)?;
        if let Root::Local(local) = place.root {
            match self.locals[local].kind {
                LocalKind::Variable | LocalKind::Reference { writable: true } => {}
                _ => return fail(place.span, format!("`{}` may not be written", self.locals[local].name)),
            }
        }
        Ok(())
    }

    pub(super) fn place(&self, place: &Place) -> Check {
        let mut ty = match place.root {
            Root::Var(var) => {
                known(&self.model.vars, var, place.span)?;
                self.model.vars[var].ty
            }
            Root::Local(local) => {
                known(self.locals, local, place.span)?;
                self.locals[local].ty
            }
        };
        for projection in &place.path {
            ty = match (projection, self.model.kind(ty)) {
                (Projection::Field(position), Type::Record { fields })
                    if (*position as usize) < fields.len() =>
                {
                    fields[*position as usize].ty
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    self.value_for(index, *of)?;
                    if matches!(index.kind, ExprKind::Peek(_)) {
                        return fail(index.span, "an index may be undefined");
                    }
                    *element
                }
                (Projection::Slot(slot), Type::Multiset { element, .. }) => {
                    self.slot(slot)?;
                    *element
                }
                (Projection::Item(item), Type::Sequence { element, .. }) => {
                    self.integer(item)?;
                    *element
                }
                _ => return fail(place.span, "a path does not fit the type it leads into"),
            };
        }
        if self.model.same_values(ty, place.ty) {
            Ok(())
        } else {
            fail(place.span, "a place has another type")
        }
    }

    pub(super) fn slot(&self, slot: &Expr) -> Check {
        match &slot.kind {
            ExprKind::Read(Place { root: Root::Local(local), path, .. }) if path.is_empty() => {
                self.bound(*local, slot.span)
            }
            _ => fail(slot.span, "a slot is not named by a bound variable"),
        }
    }

    pub(super) fn element_of_multiset(&self, place: &Place) -> Check<TypeId> {
        match self.model.kind(place.ty) {
            Type::Multiset { element, .. } => Ok(*element),
            _ => fail(place.span, "not a multiset"),
        }
    }

    pub(super) fn element_of_sequence(&self, place: &Place) -> Check<TypeId> {
        match self.model.kind(place.ty) {
            Type::Sequence { element, .. } => Ok(*element),
            _ => fail(place.span, "not a sequence"),
        }
    }

    pub(super) fn domain(&self, domain: &Domain, span: Span) -> Check {
        match domain {
            Domain::Type(ty) => {
                known(&self.model.types, *ty, span)?;
                // Elements are finitely many in every instance, whether or not their number is known.
                let is_finite = |ty: TypeId| {
                    matches!(self.model.kind(ty), Type::Ref { .. }) || self.model.cardinality(ty).is_some()
                };
                match self.model.kind(*ty) {
                    Type::Union { members } if members.iter().all(|member| is_finite(*member)) => Ok(()),
                    _ if is_finite(*ty) => Ok(()),
                    _ => fail(span, "a domain is not finite"),
                }
            }
            Domain::Range { from, to, by } => {
                self.integer(from)?;
                self.integer(to)?;
                self.integer(by)
            }
            Domain::Slots(place) => {
                self.place(place)?;
                self.element_of_multiset(place).map(|_| ())
            }
        }
    }

    pub(super) fn truth(&self, expr: &Expr) -> Check {
        self.expr(expr)?;
        if matches!(self.model.kind(expr.ty), Type::Bool) {
            Ok(())
        } else {
            fail(expr.span, "not a truth value")
        }
    }

    pub(super) fn integer(&self, expr: &Expr) -> Check {
        self.expr(expr)?;
        if matches!(self.model.kind(expr.ty), Type::Int { .. }) {
            Ok(())
        } else {
            fail(expr.span, "not an integer")
        }
    }

    pub(super) fn value_for(&self, value: &Expr, ty: TypeId) -> Check {
        self.expr_or_peek(value)?;
        let resets_clock = matches!(self.model.kind(ty), Type::Clock)
            && matches!(self.model.kind(value.ty), Type::Int { .. });
        if resets_clock || self.model.may_meet(value.ty, ty) {
            Ok(())
        } else {
            fail(value.span, "a value has a type that its target cannot take")
        }
    }

    pub(super) fn expr_or_peek(&self, expr: &Expr) -> Check {
        match &expr.kind {
            ExprKind::Peek(place) => self.place(place),
            ExprKind::Cond(condition, then, other) => {
                self.truth(condition)?;
                self.expr_or_peek(then)?;
                self.expr_or_peek(other)
            }
            _ => self.expr(expr),
        }
    }

    pub(super) fn expr(&self, expr: &Expr) -> Check {
        known(&self.model.types, expr.ty, expr.span)?;
        self.kind_fits_type(expr)?;
        match &expr.kind {
            ExprKind::Const(value) => match self.model.ordinal(expr.ty, value) {
                Some(_) => Ok(()),
                None => fail(expr.span, "a constant does not belong to its type"),
            },
            ExprKind::Peek(_) => fail(expr.span, "an undefined value may go where it must not"),
            ExprKind::Read(place) => self.place(place),
            ExprKind::IsUndefined(place) => {
                self.place(place)?;
                if self.model.kind(place.ty).is_scalar() {
                    Ok(())
                } else {
                    fail(expr.span, "not a scalar place")
                }
            }
            ExprKind::Unary(UnaryOp::Not, operand) => self.truth(operand),
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, operand) => self.integer(operand),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right),
            ExprKind::Equal(left, right) => {
                self.expr_or_peek(left)?;
                self.value_for(right, left.ty)
            }
            ExprKind::And(operands) | ExprKind::Or(operands) => {
                operands.iter().try_for_each(|operand| self.truth(operand))
            }
            ExprKind::Implies(left, right) => {
                self.truth(left)?;
                self.truth(right)
            }
            ExprKind::Cond(condition, then, other) => {
                self.truth(condition)?;
                self.expr(then)?;
                self.expr(other)
            }
            ExprKind::Quantified { local, domain, body, .. } => {
                self.bound(*local, expr.span)?;
                self.domain(domain, expr.span)?;
                self.truth(body)
            }
            ExprKind::Call(function, arguments) => {
                self.call(*function, arguments, expr.span)?;
                match self.model.functions[*function].result {
                    Some(_) => Ok(()),
                    None => fail(expr.span, "a procedure is used as a value"),
                }
            }
            ExprKind::IsMember(value, ty) => {
                known(&self.model.types, *ty, expr.span)?;
                self.expr_or_peek(value)
            }
            ExprKind::Ordinal(value) => self.expr(value),
            ExprKind::ElementAt(sort, value) => {
                known(&self.model.sorts, *sort, expr.span)?;
                self.integer(value)
            }
            ExprKind::Entry(table, value) => {
                known(&self.model.tables, *table, expr.span)?;
                self.integer(value)
            }
            ExprKind::Len(place) => self.place(place),
            ExprKind::Exists(value) => {
                self.expr(value)?;
                if self.model.sorts_of(value.ty).is_empty() {
                    fail(expr.span, "not a reference")
                } else {
                    Ok(())
                }
            }
        }
    }

    /// That the type an expression says it has is one its kind can have.
    pub(super) fn kind_fits_type(&self, expr: &Expr) -> Check {
        let ty = self.model.kind(expr.ty);
        let fits = match &expr.kind {
            ExprKind::Const(_) | ExprKind::Cond(..) => true,
            ExprKind::Read(place) | ExprKind::Peek(place) => self.model.same_values(place.ty, expr.ty),
            ExprKind::Call(function, _) => {
                known(&self.model.functions, *function, expr.span)?;
                let result = self.model.functions[*function].result;
                result.is_none_or(|result| self.model.same_values(result, expr.ty))
            }
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, _)
            | ExprKind::Ordinal(_)
            | ExprKind::Entry(..)
            | ExprKind::Len(_) => {
                matches!(ty, Type::Int { .. })
            }
            ExprKind::Binary(BinaryOp::Add, left, _) if *self.model.kind(left.ty) == Type::Clock => {
                *ty == Type::Clock
            }
            ExprKind::Binary(op, ..) if !op.compares() => matches!(ty, Type::Int { .. }),
            ExprKind::Quantified { quantifier: Quantifier::Count, .. } => matches!(ty, Type::Int { .. }),
            ExprKind::ElementAt(sort, _) => self.model.sorts_of(expr.ty).contains(sort),
            _ => matches!(ty, Type::Bool),
        };
        if fits { Ok(()) } else { fail(expr.span, "an expression cannot have the type it says") }
    }

    pub(super) fn binary(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Check {
        let compares = op.compares();
        let operand = |operand: &Expr| {
            self.expr(operand)?;
            match self.model.kind(operand.ty) {
                Type::Int { .. } => Ok(()),
                // A number may be added to a clock: `x < y + 3`.
                Type::Clock if compares || op == BinaryOp::Add && std::ptr::eq(operand, left) => Ok(()),
                _ => fail(operand.span, "an operand is not an integer"),
            }
        };
        operand(left)?;
        operand(right)
    }
}
