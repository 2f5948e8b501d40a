//! What a register is used for, found in the whole program: that decides its type.

use std::collections::BTreeSet;

use super::ast::{self, Op, Program};

/// How a register is used: what decides its type.
pub(super) struct Usage<'p> {
    name: &'p str,
    /// The families whose indices it is assigned or compared with.
    pub(super) families: BTreeSet<&'p str>,
    /// The numbers it is assigned or compared with.
    pub(super) numbers: BTreeSet<i64>,
    /// Whether it is computed with.
    pub(super) arithmetic: bool,
    /// Whether it is compared by more than equality.
    pub(super) ordered: bool,
}

impl<'p> Usage<'p> {
    pub(super) fn of(name: &'p str, program: &'p Program) -> Usage<'p> {
        let mut usage = Usage {
            name,
            families: BTreeSet::new(),
            numbers: BTreeSet::new(),
            arithmetic: false,
            ordered: false,
        };
        for automaton in &program.automata {
            let mut scope = vec![(automaton.index.node.as_str(), automaton.name.node.as_str())];
            automaton.initially.iter().for_each(|expr| usage.walk(expr, &mut scope));
            for mode in &automaton.modes {
                mode.invariant.iter().for_each(|expr| usage.walk(expr, &mut scope));
                for transition in &mode.moves {
                    usage.walk(&transition.when, &mut scope);
                    for (target, value) in &transition.assigns {
                        usage.meet(target, value, &mut scope);
                        usage.walk(target, &mut scope);
                        usage.walk(value, &mut scope);
                    }
                }
            }
        }
        for goal in &program.goals {
            usage.walk(&goal.formula, &mut Vec::new());
        }
        usage
    }

    fn is(&self, expr: &ast::Expr) -> bool {
        match &expr.kind {
            ast::ExprKind::Name(name) => name == self.name,
            ast::ExprKind::Index(name, _) => name.node == self.name,
            _ => false,
        }
    }

    /// Two expressions are compared, or the one assigned to the other.
    fn meet(&mut self, left: &'p ast::Expr, right: &'p ast::Expr, scope: &mut [(&'p str, &'p str)]) {
        for (this, other) in [(left, right), (right, left)] {
            if !self.is(this) {
                continue;
            }
            match &other.kind {
                ast::ExprKind::Number(number) => {
                    self.numbers.insert(*number);
                }
                ast::ExprKind::Name(name) => {
                    let index = scope.iter().rev().find(|(known, _)| known == name);
                    self.families.extend(index.map(|(_, family)| *family));
                }
                ast::ExprKind::Index(..) => {}
                _ => self.arithmetic = true,
            }
        }
    }

    fn walk(&mut self, expr: &'p ast::Expr, scope: &mut Vec<(&'p str, &'p str)>) {
        use ast::ExprKind as K;
        match &expr.kind {
            K::Binary(op, left, right) => {
                if op.arithmetic().is_some() {
                    self.arithmetic |= self.is(left) || self.is(right);
                } else if !matches!(op, Op::And | Op::Or | Op::Implies) {
                    self.meet(left, right, scope);
                    self.ordered |= !matches!(op, Op::Eq | Op::Ne) && (self.is(left) || self.is(right));
                }
                self.walk(left, scope);
                self.walk(right, scope);
            }
            K::Quantified(_, names, family, of) => {
                scope.extend(names.iter().map(|name| (name.node.as_str(), family.node.as_str())));
                self.walk(of, scope);
                scope.truncate(scope.len() - names.len());
            }
            K::Not(of) | K::Minus(of) | K::Index(_, of) | K::Paths(_, of) | K::Temporal(.., of) => {
                self.walk(of, scope)
            }
            K::Until(_, left, right) => {
                self.walk(left, scope);
                self.walk(right, scope);
            }
            K::Call(_, arguments) => arguments.iter().for_each(|argument| self.walk(argument, scope)),
            K::Number(_) | K::Bool(_) | K::Name(_) => {}
        }
    }
}
