//! The shapes of expressions and statements that everybody needs who makes a Model. What can be computed is ([`fold`]).

use shoal_syntax::Span;

use crate::{
    BinaryOp, Domain, Expr, ExprKind, LocalId, Place, Quantifier, Stmt, StmtKind, TypeId, UnaryOp, Value,
    fold,
};

/// Makes expressions and statements. It knows the types that results have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExprBuilder {
    /// The type of truth values.
    pub boolean: TypeId,
    /// The type of integers.
    pub integer: TypeId,
}

impl ExprBuilder {
    /// A constant.
    pub fn constant(self, value: Value, ty: TypeId, span: Span) -> Expr {
        Expr { kind: ExprKind::Const(value), ty, span }
    }

    /// A number.
    pub fn int(self, value: i64, span: Span) -> Expr {
        self.constant(Value::Int(value), self.integer, span)
    }

    /// A truth value.
    pub fn truth(self, value: bool, span: Span) -> Expr {
        self.constant(Value::Bool(value), self.boolean, span)
    }

    /// What a place holds.
    pub fn read(self, place: Place) -> Expr {
        let (ty, span) = (place.ty, place.span);
        Expr { kind: ExprKind::Read(place), ty, span }
    }

    fn of_truth(self, kind: ExprKind, span: Span) -> Expr {
        Expr { kind, ty: self.boolean, span }
    }

    /// An operator on integers, or a comparison of integers or clocks. What can be computed is.
    pub fn binary(self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
        let ty = if op.compares() { self.boolean } else { self.integer };
        fold::binary(op, left, right, ty, span)
    }

    /// Whether two values are the same.
    pub fn equal(self, left: Expr, right: Expr, span: Span) -> Expr {
        fold::equal(left, right, self.boolean, span)
    }

    /// The opposite.
    pub fn not(self, of: Expr) -> Expr {
        let span = of.span;
        match of.kind {
            ExprKind::Unary(UnaryOp::Not, inner) => *inner,
            _ => fold::unary(UnaryOp::Not, of, self.boolean, span),
        }
    }

    /// Whether all hold, from the first to the last. What is always true is left out.
    pub fn and(self, parts: Vec<Expr>, span: Span) -> Expr {
        let flat = parts.into_iter().flat_map(|part| match part.kind {
            ExprKind::And(inner) => inner,
            _ => vec![part],
        });
        fold::junction(true, flat, self.boolean, span)
    }

    /// Whether one holds, from the first to the last. What is always false is left out.
    pub fn or(self, parts: Vec<Expr>, span: Span) -> Expr {
        let flat = parts.into_iter().flat_map(|part| match part.kind {
            ExprKind::Or(inner) => inner,
            _ => vec![part],
        });
        fold::junction(false, flat, self.boolean, span)
    }

    /// Whether the second holds if the first does.
    pub fn implies(self, left: Expr, right: Expr, span: Span) -> Expr {
        self.of_truth(ExprKind::Implies(Box::new(left), Box::new(right)), span)
    }

    /// One of two values.
    pub fn cond(self, condition: Expr, yes: Expr, no: Expr) -> Expr {
        let (ty, span) = (yes.ty, condition.span);
        fold::conditional(condition, yes, no, ty, span)
    }

    /// A quantifier: a number for [`Quantifier::Count`], else a truth value.
    pub fn quantified(
        self,
        quantifier: Quantifier,
        local: LocalId,
        domain: Domain,
        body: Expr,
        span: Span,
    ) -> Expr {
        let ty = match quantifier {
            Quantifier::Forall | Quantifier::Exists => self.boolean,
            Quantifier::Count => self.integer,
        };
        Expr { kind: ExprKind::Quantified { quantifier, local, domain, body: Box::new(body) }, ty, span }
    }

    /// The integers from one to another.
    pub fn range(self, from: Expr, to: Expr) -> Domain {
        let by = self.int(1, from.span);
        Domain::Range { from: Box::new(from), to: Box::new(to), by: Box::new(by) }
    }

    /// Writes a value to a place.
    pub fn assign(self, place: Place, value: Expr, span: Span) -> Stmt {
        Stmt { kind: StmtKind::Assign(place, value), span }
    }

    /// Does one thing or another.
    pub fn when(self, condition: Expr, yes: Vec<Stmt>, no: Vec<Stmt>) -> Vec<Stmt> {
        let span = condition.span;
        match condition.kind {
            ExprKind::Const(Value::Bool(true)) => yes,
            ExprKind::Const(Value::Bool(false)) => no,
            _ => vec![Stmt { kind: StmtKind::If(vec![(condition, yes)], no), span }],
        }
    }
}
