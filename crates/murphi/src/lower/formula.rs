//! Temporal formulas and fairness.
//!
//! The Model has no quantifiers over formulas: one is written out, with a formula for each value, in which the variable
//! is a constant. An engine sees by itself that the formulas for two elements of a symmetric sort are mirror images.

use shoal_model::{Condition, Formula, Interval, Logic, PropertyKind};
use shoal_syntax::Span;

use super::{Lowerer, OrReported, fold, rule::RuleGroup, scope::Symbol};
use crate::{ast, codes};

/// More conditions than this are not written out for one property.
const MOST_CONDITIONS: usize = 20_000;

/// How many conditions may still be written out, and whether that was too few. If it was, what is written is no formula.
struct Allowance {
    left: usize,
    exceeded: bool,
}

impl Lowerer<'_> {
    pub(crate) fn temporal(&mut self, property: &ast::Temporal, heads: &[RuleGroup<'_>]) {
        self.in_pure = true;
        let mut allowance = Allowance { left: MOST_CONDITIONS, exceeded: false };
        let formula = self.under_heads(heads, &property.formula, &mut allowance);
        self.in_pure = false;
        let Ok(formula) = formula else { return };
        let name = match &property.name {
            Some(name) => name.node.clone(),
            None => self.text_as_name(property.formula.span),
        };
        let logic = if property.branching { Logic::Ctl } else { Logic::Ltl };
        let kind = match allowance.exceeded {
            // The other properties are none the worse for it.
            true => PropertyKind::Unclear(format!(
                "there are more than {MOST_CONDITIONS} conditions when its quantifiers are written out"
            )),
            false => PropertyKind::Temporal(logic, formula),
        };
        self.new_property(name, kind, property.span);
    }

    /// In a ruleset, one constraint for each value.
    pub(crate) fn fairness(&mut self, condition: &ast::Expr, heads: &[RuleGroup<'_>], span: Span) {
        self.in_pure = true;
        self.begin_code();
        let bound = self.enter_condition(heads);
        let condition = self.condition(condition);
        self.leave(heads);
        self.in_pure = false;
        if heads.iter().any(|head| matches!(head, RuleGroup::Choose(..))) {
            let message = "a fairness constraint cannot be about the slots of a multiset";
            let _: OrReported<()> = self.error(codes::UNSUPPORTED, span, message);
            return;
        }
        let (Ok(bound), Ok(expr)) = (bound, condition) else { return };
        let locals = std::mem::take(&mut self.locals);
        let instances = self.instances(&locals, bound, expr);
        self.model.fairness.extend(instances.into_iter().map(|(_, condition)| condition));
    }

    /// The formula for all values of the rulesets around it.
    fn under_heads(
        &mut self,
        heads: &[RuleGroup<'_>],
        formula: &ast::Formula,
        allowance: &mut Allowance,
    ) -> OrReported<Formula> {
        let Some((head, inner)) = heads.split_first() else { return self.formula(formula, allowance) };
        match *head {
            RuleGroup::Quantifiers(quantifiers) => {
                let each = self.for_each(quantifiers, allowance, &mut |lowerer, allowance| {
                    lowerer.under_heads(inner, formula, allowance)
                });
                Ok(join(each?, Formula::And))
            }
            RuleGroup::Aliases(aliases) => {
                self.scopes.enter();
                self.begin_code();
                aliases.iter().for_each(|alias| self.substitute_alias(alias));
                let formula = self.under_heads(inner, formula, allowance);
                self.scopes.leave();
                formula
            }
            RuleGroup::Choose(..) => {
                let message = "a temporal property cannot be about the slots of a multiset";
                self.error(codes::UNSUPPORTED, formula.span, message)
            }
        }
    }

    fn formula(&mut self, formula: &ast::Formula, allowance: &mut Allowance) -> OrReported<Formula> {
        let always = Interval::default();
        Ok(match &formula.kind {
            ast::FormulaKind::Atom(expr) => self.atom(expr, allowance)?,
            ast::FormulaKind::Not(of) => Formula::Not(self.boxed(of, allowance)?),
            ast::FormulaKind::And(of) => Formula::And(self.formulas(of, allowance)?),
            ast::FormulaKind::Or(of) => Formula::Or(self.formulas(of, allowance)?),
            ast::FormulaKind::Implies(a, b) => {
                let (a, b) = (self.boxed(a, allowance), self.formula(b, allowance));
                Formula::Or(vec![Formula::Not(a?), b?])
            }
            ast::FormulaKind::Always(of) => Formula::Always(always, self.boxed(of, allowance)?),
            ast::FormulaKind::Eventually(of) => Formula::Eventually(always, self.boxed(of, allowance)?),
            ast::FormulaKind::Next(of) => Formula::Next(self.boxed(of, allowance)?),
            ast::FormulaKind::Until(a, b) => {
                let (a, b) = (self.boxed(a, allowance), self.boxed(b, allowance));
                Formula::Until(always, a?, b?)
            }
            ast::FormulaKind::Release(a, b) => {
                let (a, b) = (self.boxed(a, allowance), self.boxed(b, allowance));
                Formula::Release(always, a?, b?)
            }
            ast::FormulaKind::AllPaths(of) => Formula::AllPaths(self.boxed(of, allowance)?),
            ast::FormulaKind::SomePath(of) => Formula::SomePath(self.boxed(of, allowance)?),
            ast::FormulaKind::Quantified { kind, quantifiers, body } => {
                let each = self.for_each(quantifiers, allowance, &mut |lowerer, allowance| {
                    lowerer.formula(body, allowance)
                })?;
                match kind {
                    ast::QuantifierKind::Forall => join(each, Formula::And),
                    ast::QuantifierKind::Exists => join(each, Formula::Or),
                }
            }
        })
    }

    fn boxed(&mut self, formula: &ast::Formula, allowance: &mut Allowance) -> OrReported<Box<Formula>> {
        self.formula(formula, allowance).map(Box::new)
    }

    fn formulas(&mut self, formulas: &[ast::Formula], allowance: &mut Allowance) -> OrReported<Vec<Formula>> {
        let lowered: Vec<OrReported<Formula>> =
            formulas.iter().map(|it| self.formula(it, allowance)).collect();
        lowered.into_iter().collect()
    }

    /// A condition with locals of its own.
    fn atom(&mut self, expr: &ast::Expr, allowance: &mut Allowance) -> OrReported<Formula> {
        if allowance.left == 0 {
            allowance.exceeded = true;
            return Ok(Formula::And(Vec::new()));
        }
        allowance.left -= 1;
        self.begin_code();
        let expr = self.condition(expr)?;
        Ok(Formula::Atom(Condition { locals: std::mem::take(&mut self.locals), expr }))
    }

    /// What is made of a formula for each combination of the values of some quantifiers.
    fn for_each(
        &mut self,
        quantifiers: &[ast::Quantifier],
        allowance: &mut Allowance,
        make: &mut dyn FnMut(&mut Self, &mut Allowance) -> OrReported<Formula>,
    ) -> OrReported<Vec<Formula>> {
        let Some((quantifier, inner)) = quantifiers.split_first() else {
            return Ok(vec![make(self, allowance)?]);
        };
        self.begin_code();
        self.scopes.enter();
        let bound = self.rule_quantifier(quantifier);
        self.scopes.leave();
        let values = self.domain_values(&bound?.1);
        let mut all = Vec::new();
        for (value, ty) in values {
            self.scopes.enter();
            let constant = fold::literal(value, ty, quantifier.name.span);
            self.declare(&quantifier.name, Symbol::Constant(constant));
            let found = self.for_each(inner, allowance, make);
            self.scopes.leave();
            all.extend(found?);
            if allowance.exceeded {
                break;
            }
        }
        Ok(all)
    }
}

/// A junction, unless it is of one formula.
fn join(mut formulas: Vec<Formula>, make: fn(Vec<Formula>) -> Formula) -> Formula {
    match formulas.pop() {
        Some(only) if formulas.is_empty() => only,
        last => {
            formulas.extend(last);
            make(formulas)
        }
    }
}
