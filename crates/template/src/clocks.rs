//! Comparisons of clocks: with a number, or with each other. Each is brought into one of two forms: a clock against a number,
//! or a clock against another to which a number is added.

use shoal_model::{BinaryOp, Expr, ExprKind, Type, UnaryOp, Value};
use shoal_syntax::{
    Span,
    cursor::{Parsed, error},
};

use crate::{build::TemplateBuilder, codes};

/// A number with more values than this is not taken apart.
const MOST_VALUES: i64 = 256;

/// What is added and what is taken off on the left side of a comparison with 0.
#[derive(Default)]
struct ClockSum {
    plus: Vec<Expr>,
    minus: Vec<Expr>,
    numbers_plus: Vec<Expr>,
    numbers_minus: Vec<Expr>,
}

impl TemplateBuilder {
    /// Whether an expression is one of clocks.
    pub fn is_clock(&self, expr: &Expr) -> bool {
        *self.model.kind(expr.ty) == Type::Clock
    }

    /// A sum or difference with a clock in it: it has no value, but can be compared.
    pub fn clock_sum(&self, op: BinaryOp, left: Expr, right: Expr, span: Span) -> Parsed<Expr> {
        if !matches!(op, BinaryOp::Add | BinaryOp::Sub) {
            return error(codes::UNSUPPORTED, span, "not supported: arithmetic on clocks");
        }
        let ty = if self.is_clock(&left) { left.ty } else { right.ty };
        Ok(Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span })
    }

    /// A comparison with a clock in it; without an operator, whether the two are equal.
    pub fn compare_clocks(&self, op: Option<BinaryOp>, left: Expr, right: Expr, span: Span) -> Parsed<Expr> {
        let mut sum = ClockSum::default();
        self.collect_sum(left, true, &mut sum);
        self.collect_sum(right, false, &mut sum);
        let ClockSum { mut plus, mut minus, numbers_plus, numbers_minus } = sum;
        let build = |left: Expr, right: Expr, op: Option<BinaryOp>| match op {
            Some(op) => self.binary(op, left, right, span),
            None => self.equal(left, right, span),
        };
        match (plus.pop(), minus.pop(), plus.len() + minus.len()) {
            (Some(clock), None, 0) => Ok(build(clock, self.total(numbers_minus, numbers_plus, span), op)),
            (None, Some(clock), 0) => {
                Ok(build(clock, self.total(numbers_plus, numbers_minus, span), op.map(BinaryOp::mirrored)))
            }
            (Some(one), Some(other), 0) => {
                match folded(&self.total(numbers_minus.clone(), numbers_plus.clone(), span)) {
                    Some(apart) if apart >= 0 => Ok(build(one, self.later(other, apart, span), op)),
                    Some(apart) => Ok(build(self.later(one, apart.saturating_neg(), span), other, op)),
                    None => {
                        let compare = |apart: i64| match apart >= 0 {
                            true => build(one.clone(), self.later(other.clone(), apart, span), op),
                            false => build(
                                self.later(one.clone(), apart.saturating_neg(), span),
                                other.clone(),
                                op,
                            ),
                        };
                        self.for_each_value(numbers_minus, numbers_plus, compare, span)
                    }
                }
            }
            _ => error(codes::UNSUPPORTED, span, "not supported: sums of clocks"),
        }
    }

    /// A comparison with a number that is known only when the model runs, but has few values: what it says for each of them.
    fn for_each_value(
        &self,
        plus: Vec<Expr>,
        minus: Vec<Expr>,
        compare: impl Fn(i64) -> Expr,
        span: Span,
    ) -> Parsed<Expr> {
        let range = |number: &Expr| match (folded(number), self.model.kind(number.ty)) {
            (Some(value), _) => Some((value, value)),
            (None, Type::Int { lo, hi }) => Some((*lo, *hi)),
            (None, _) => None,
        };
        let sum = |numbers: &[Expr]| {
            numbers.iter().map(range).try_fold((0_i64, 0_i64), |sum, next| {
                let (lo, hi) = next?;
                Some((sum.0.checked_add(lo)?, sum.1.checked_add(hi)?))
            })
        };
        let values = sum(&plus).zip(sum(&minus)).and_then(|(plus, minus)| {
            let (lo, hi) = (plus.0.checked_sub(minus.1)?, plus.1.checked_sub(minus.0)?);
            hi.checked_sub(lo).filter(|most| *most < MOST_VALUES).map(|_| lo..=hi)
        });
        let Some(values) = values else {
            let what =
                "not supported: a difference of clocks compared with a number that may have very many values";
            return error(codes::UNSUPPORTED, span, what);
        };
        let total = self.total(plus, minus, span);
        let part = |value: i64| {
            self.implies(self.equal(total.clone(), self.int(value, span), span), compare(value), span)
        };
        Ok(self.and(values.map(part).collect(), span))
    }

    /// A clock with a number added.
    fn later(&self, clock: Expr, number: i64, span: Span) -> Expr {
        if number == 0 {
            return clock;
        }
        let (ty, number) = (clock.ty, self.int(number, span));
        Expr { kind: ExprKind::Binary(BinaryOp::Add, Box::new(clock), Box::new(number)), ty, span }
    }

    fn collect_sum(&self, expr: Expr, positive: bool, sum: &mut ClockSum) {
        match expr.kind {
            ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right)
                if *self.model.kind(expr.ty) == Type::Clock =>
            {
                self.collect_sum(*left, positive, sum);
                self.collect_sum(*right, positive == (op == BinaryOp::Add), sum);
            }
            _ if self.is_clock(&expr) && positive => sum.plus.push(expr),
            _ if self.is_clock(&expr) => sum.minus.push(expr),
            _ if positive => sum.numbers_plus.push(expr),
            _ => sum.numbers_minus.push(expr),
        }
    }

    /// Numbers that are added and taken off.
    fn total(&self, plus: Vec<Expr>, minus: Vec<Expr>, span: Span) -> Expr {
        let add = |numbers: Vec<Expr>| {
            numbers.into_iter().reduce(|sum, number| self.binary(BinaryOp::Add, sum, number, span))
        };
        match (add(plus), add(minus)) {
            (None, None) => self.int(0, span),
            (Some(plus), None) => plus,
            (plus, Some(minus)) => {
                let plus = plus.unwrap_or_else(|| self.int(0, span));
                let whole = self.binary(BinaryOp::Sub, plus, minus, span);
                folded(&whole).map_or(whole, |number| self.int(number, span))
            }
        }
    }
}

/// The value of an expression of constants.
fn folded(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Const(Value::Int(value)) => Some(*value),
        ExprKind::Unary(UnaryOp::Neg, of) => folded(of)?.checked_neg(),
        ExprKind::Binary(op, left, right) => op.apply(folded(left)?, folded(right)?).ok()?.as_int(),
        _ => None,
    }
}
