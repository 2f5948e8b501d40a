//! The shapes of expressions and statements that everybody needs who makes a Model, and the one place where they are simplified.
//!
//! A simplification must not lose a fault: what stands before an operand that decides is evaluated, so it stays; what stands
//! behind it is not, so it goes.

use shoal_syntax::Span;

use crate::{
    BinaryOp, Domain, Expr, ExprKind, LocalId, Place, Quantifier, Stmt, StmtKind, TypeId, UnaryOp, Value,
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
        let value = match (&left.kind, &right.kind) {
            (ExprKind::Const(Value::Int(a)), ExprKind::Const(Value::Int(b))) => op.apply(*a, *b).ok(),
            _ => None,
        };
        match value {
            Some(value) => self.constant(value, ty, span),
            None => Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span },
        }
    }

    /// Whether two values are the same.
    pub fn equal(self, left: Expr, right: Expr, span: Span) -> Expr {
        match (&left.kind, &right.kind) {
            (ExprKind::Const(a), ExprKind::Const(b)) => self.truth(a == b, span),
            _ => self.of_truth(ExprKind::Equal(Box::new(left), Box::new(right)), span),
        }
    }

    /// The opposite.
    pub fn not(self, of: Expr) -> Expr {
        let span = of.span;
        match of.kind {
            ExprKind::Const(Value::Bool(value)) => self.truth(!value, span),
            ExprKind::Unary(UnaryOp::Not, inner) => *inner,
            _ => self.of_truth(ExprKind::Unary(UnaryOp::Not, Box::new(of)), span),
        }
    }

    /// Whether all hold, from the first to the last. What is always true is left out.
    pub fn and(self, parts: Vec<Expr>, span: Span) -> Expr {
        self.joined(parts, true, span)
    }

    /// Whether one holds, from the first to the last. What is always false is left out.
    pub fn or(self, parts: Vec<Expr>, span: Span) -> Expr {
        self.joined(parts, false, span)
    }

    /// A conjunction, whose neutral part is `true`, or a disjunction, whose neutral part is `false`.
    fn joined(self, parts: Vec<Expr>, neutral: bool, span: Span) -> Expr {
        let mut all = Vec::new();
        for part in parts {
            match part.kind {
                ExprKind::Const(Value::Bool(value)) if value == neutral => {}
                // Nothing behind it is ever evaluated.
                ExprKind::Const(Value::Bool(_)) => {
                    all.push(part);
                    break;
                }
                ExprKind::And(inner) if neutral => all.extend(inner),
                ExprKind::Or(inner) if !neutral => all.extend(inner),
                _ => all.push(part),
            }
        }
        match all.len() {
            0 => self.truth(neutral, span),
            1 => all.swap_remove(0),
            _ if neutral => self.of_truth(ExprKind::And(all), span),
            _ => self.of_truth(ExprKind::Or(all), span),
        }
    }

    /// Whether the second holds if the first does.
    pub fn implies(self, left: Expr, right: Expr, span: Span) -> Expr {
        self.of_truth(ExprKind::Implies(Box::new(left), Box::new(right)), span)
    }

    /// One of two values.
    pub fn cond(self, condition: Expr, yes: Expr, no: Expr) -> Expr {
        let (ty, span) = (yes.ty, condition.span);
        match condition.kind {
            ExprKind::Const(Value::Bool(true)) => yes,
            ExprKind::Const(Value::Bool(false)) => no,
            _ => Expr { kind: ExprKind::Cond(Box::new(condition), Box::new(yes), Box::new(no)), ty, span },
        }
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
