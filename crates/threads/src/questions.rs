//! From questions about a net to properties of its Model.

use shoal_model::{BinaryOp, Condition, DeadlockKind, Expr, Property, PropertyKind};

use crate::{
    make::{Maker, RuleLocals},
    mcc::{MarkingFormula, MarkingQuestion, NetQuestion, TokenSum},
};

/// A net that is asked about.
pub(crate) trait AskedNet {
    /// How many tokens a place has.
    fn tokens(&self, maker: &Maker, place: usize) -> Expr;
    /// Whether a transition can fire.
    fn enabled(&self, maker: &Maker, locals: &mut RuleLocals, rule: usize) -> Expr;
}

/// The property that a question asks for.
pub(crate) fn property(maker: &Maker, question: &NetQuestion, net: &dyn AskedNet) -> Property {
    let mut writer = QuestionWriter { maker, net, locals: RuleLocals::default() };
    let kind = match &question.asked {
        Ok(asked) => writer.kind(asked).unwrap_or_else(PropertyKind::Unclear),
        Err(why) => PropertyKind::Unclear(why.clone()),
    };
    Property { name: question.name.clone(), kind, span: question.span }
}

struct QuestionWriter<'a> {
    maker: &'a Maker,
    net: &'a dyn AskedNet,
    locals: RuleLocals,
}

impl QuestionWriter<'_> {
    fn kind(&mut self, asked: &MarkingQuestion) -> Result<PropertyKind, String> {
        let (formula, wanted) = match asked {
            MarkingQuestion::Possibly(formula) => (formula, true),
            MarkingQuestion::Always(formula) => (formula, false),
        };
        let (stuck, expr) = self.beside_deadlock(formula, wanted)?;
        let expr = if wanted { expr } else { self.maker.not(expr) };
        let condition = Condition { locals: std::mem::take(&mut self.locals.locals), expr };
        Ok(match (asked, stuck) {
            (MarkingQuestion::Possibly(_), true) => PropertyKind::CoverDeadlock(condition),
            (MarkingQuestion::Possibly(_), false) => PropertyKind::Cover(Some(condition)),
            (MarkingQuestion::Always(_), true) => {
                PropertyKind::Deadlock(DeadlockKind::StuckUnless(condition))
            }
            (MarkingQuestion::Always(_), false) => PropertyKind::Invariant(condition),
        })
    }

    /// The markings where a formula has a truth value: those that satisfy a condition and, perhaps, are deadlocks.
    fn beside_deadlock(&mut self, formula: &MarkingFormula, wanted: bool) -> Result<(bool, Expr), String> {
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
    fn truth(&mut self, formula: &MarkingFormula, wanted: bool) -> Result<Expr, String> {
        match formula {
            MarkingFormula::Truth(truth) => Ok(self.maker.constant(*truth == wanted)),
            MarkingFormula::Not(of) => self.truth(of, !wanted),
            MarkingFormula::All(of) | MarkingFormula::Any(of) => {
                let parts = of.iter().map(|part| self.truth(part, wanted));
                let parts = parts.collect::<Result<Vec<_>, _>>()?;
                let all = matches!(formula, MarkingFormula::All(_)) == wanted;
                Ok(if all { self.maker.and(parts) } else { self.maker.or(parts) })
            }
            MarkingFormula::AtMost(left, right) => {
                // left <= right, or right < left.
                let (left, right) = self.sides(left, right);
                let op = if wanted { BinaryOp::Le } else { BinaryOp::Gt };
                Ok(self.maker.binary(op, left, right))
            }
            MarkingFormula::Fireable(rules) => {
                let one = |rule: &usize| self.net.enabled(self.maker, &mut self.locals, *rule);
                let some = self.maker.or(rules.iter().map(one).collect());
                Ok(if wanted { some } else { self.maker.not(some) })
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
        let places = places.iter().map(|place| self.net.tokens(self.maker, *place));
        let number = Some(self.maker.number(constant)).filter(|_| constant != 0 || places.len() == 0);
        let add = |sum: Expr, more: Expr| self.maker.binary(BinaryOp::Add, sum, more);
        places.chain(number).reduce(add).unwrap_or_else(|| self.maker.number(0))
    }
}
