//! From questions about a net to properties of its Model.

use shoal_model::{BinaryOp, Condition, DeadlockKind, Expr, Property, PropertyKind, VarId};

use crate::{
    make::Maker,
    mcc::{MarkingFormula, MarkingQuestion, NetQuestion, TokenSum},
    net::{Net, within},
};

/// The property that a question asks for.
pub(crate) fn property(maker: &Maker, question: &NetQuestion, net: &Net, vars: &[VarId]) -> Property {
    let writer = QuestionWriter { maker, net, vars };
    let kind = match &question.asked {
        Ok(asked) => writer.kind(asked).unwrap_or_else(PropertyKind::Unclear),
        Err(why) => PropertyKind::Unclear(why.clone()),
    };
    Property { name: question.name.clone(), kind, span: question.span }
}

struct QuestionWriter<'a> {
    maker: &'a Maker,
    net: &'a Net,
    vars: &'a [VarId],
}

impl QuestionWriter<'_> {
    fn kind(&self, asked: &MarkingQuestion) -> Result<PropertyKind, String> {
        let condition = |expr: Expr| Condition { locals: Default::default(), expr };
        match asked {
            MarkingQuestion::Possibly(formula) => Ok(match self.beside_deadlock(formula, true)? {
                (true, besides) => PropertyKind::CoverDeadlock(condition(besides)),
                (false, plain) => PropertyKind::Cover(Some(condition(plain))),
            }),
            MarkingQuestion::Always(formula) => Ok(match self.beside_deadlock(formula, false)? {
                (true, besides) => {
                    let unless = condition(self.maker.not(besides));
                    PropertyKind::Deadlock(DeadlockKind::StuckUnless(unless))
                }
                (false, violated) => PropertyKind::Invariant(condition(self.maker.not(violated))),
            }),
        }
    }

    /// The markings where a formula has a truth value: those that satisfy a condition and, perhaps, are deadlocks.
    fn beside_deadlock(&self, formula: &MarkingFormula, wanted: bool) -> Result<(bool, Expr), String> {
        match (formula, wanted) {
            (MarkingFormula::Deadlock, true) => Ok((true, self.maker.constant(true))),
            (MarkingFormula::Not(of), _) => self.beside_deadlock(of, !wanted),
            (MarkingFormula::All(parts), true) | (MarkingFormula::Any(parts), false) => {
                let parts = parts.iter().map(|part| self.beside_deadlock(part, wanted));
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                let stuck = parts.iter().any(|(stuck, _)| *stuck);
                Ok((stuck, self.maker.and(parts.into_iter().map(|(_, part)| part).collect())))
            }
            _ => Ok((false, self.truth(formula, wanted)?)),
        }
    }

    /// Where a formula has a truth value. Negations are brought to the comparisons, where the provers know them.
    fn truth(&self, formula: &MarkingFormula, wanted: bool) -> Result<Expr, String> {
        let parts = |parts: &[MarkingFormula]| -> Result<Vec<Expr>, String> {
            parts.iter().map(|part| self.truth(part, wanted)).collect()
        };
        let signed = |expr: Expr| if wanted { expr } else { self.maker.not(expr) };
        match formula {
            MarkingFormula::Truth(truth) => Ok(self.maker.constant(*truth == wanted)),
            MarkingFormula::Not(of) => self.truth(of, !wanted),
            MarkingFormula::All(of) if wanted => Ok(self.maker.and(parts(of)?)),
            MarkingFormula::Any(of) if !wanted => Ok(self.maker.and(parts(of)?)),
            MarkingFormula::All(of) | MarkingFormula::Any(of) => Ok(self.maker.or(parts(of)?)),
            MarkingFormula::AtMost(left, right) => {
                // left <= right, or right < left.
                let (left, right) = self.sides(left, right);
                let op = if wanted { BinaryOp::Le } else { BinaryOp::Gt };
                Ok(self.maker.binary(op, left, right))
            }
            MarkingFormula::Fireable(rules) => {
                let enabled = rules.iter().map(|rule| self.enabled(*rule)).collect();
                Ok(signed(self.maker.or(enabled)))
            }
            MarkingFormula::Deadlock => Err("not supported: `deadlock` in this place of a formula".into()),
        }
    }

    /// Two sums to compare: what is taken off on one side is added on the other.
    fn sides(&self, left: &TokenSum, right: &TokenSum) -> (Expr, Expr) {
        let places = |one: &[usize], other: &[usize]| [one, other].concat();
        let (plus, minus) = (places(&left.plus, &right.minus), places(&right.plus, &left.minus));
        (self.sum(&plus, left.constant), self.sum(&minus, right.constant))
    }

    fn sum(&self, places: &[usize], constant: i64) -> Expr {
        let read = |place: &usize| self.maker.read(self.maker.global(self.vars[*place]));
        let places = places.iter().map(read);
        let number = Some(self.maker.number(constant)).filter(|_| constant != 0 || places.len() == 0);
        let add = |sum: Expr, more: Expr| self.maker.binary(BinaryOp::Add, sum, more);
        places.chain(number).reduce(add).unwrap_or_else(|| self.maker.number(0))
    }

    /// Whether a transition can fire.
    fn enabled(&self, rule: usize) -> Expr {
        let guard = self.net.rules[rule].guard.iter();
        self.maker
            .and(guard.flat_map(|(place, bounds)| within(self.maker, self.vars[*place], *bounds)).collect())
    }
}
