//! What a register is used for, found in the whole program: that decides its type.

use std::collections::BTreeSet;

use super::ast::{self, InfixOp, Program};

/// How a register is used, and those that it is assigned to or compared with: they have one type.
pub(super) struct Usage<'p> {
    names: BTreeSet<&'p str>,
    /// Whether somebody has said what one of them can hold.
    pub(super) declared: bool,
    /// The families whose indices it is assigned or compared with.
    pub(super) families: BTreeSet<&'p str>,
    /// The numbers it is assigned or compared with.
    pub(super) numbers: BTreeSet<i64>,
    /// Whether it is computed with.
    pub(super) arithmetic: bool,
    /// Whether it is compared by more than equality.
    pub(super) ordered: bool,
    registers: BTreeSet<&'p str>,
}

impl<'p> Usage<'p> {
    pub(super) fn of(name: &'p str, program: &'p Program) -> Usage<'p> {
        let mut names = BTreeSet::from([name]);
        loop {
            let usage = Usage::of_all(names.clone(), program);
            if usage.names == names {
                return usage;
            }
            names = usage.names;
        }
    }

    fn of_all(names: BTreeSet<&'p str>, program: &'p Program) -> Usage<'p> {
        let register = |variable: &&ast::Variable| !variable.clock;
        let registers = program.variables.iter().filter(register);
        let mut usage = Usage {
            declared: false,
            registers: registers.map(|variable| variable.name.node.as_str()).collect(),
            names,
            families: BTreeSet::new(),
            numbers: BTreeSet::new(),
            arithmetic: false,
            ordered: false,
        };
        usage.declared = program.variables.iter().any(|variable| usage.declares(variable).is_some());
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

    /// What one of the registers can hold, if somebody has said so.
    pub(super) fn declares<'v>(&self, variable: &'v ast::Variable) -> Option<&'v (ast::Expr, ast::Expr)> {
        let own = !variable.clock && self.names.contains(variable.name.node.as_str());
        variable.values.as_ref().filter(|_| own)
    }

    fn is(&self, expr: &ast::Expr) -> bool {
        match &expr.kind {
            ast::ExprKind::Name(name) => self.names.contains(name.as_str()),
            ast::ExprKind::Index(name, _) => self.names.contains(name.node.as_str()),
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
                ast::ExprKind::Name(name) => match scope.iter().rev().find(|(known, _)| known == name) {
                    Some((_, family)) => drop(self.families.insert(*family)),
                    None => self.names.extend(self.registers.get(name.as_str())),
                },
                ast::ExprKind::Index(name, _) => self.names.extend(self.registers.get(name.node.as_str())),
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
                } else if !matches!(op, InfixOp::And | InfixOp::Or | InfixOp::Implies) {
                    self.meet(left, right, scope);
                    self.ordered |=
                        !matches!(op, InfixOp::Eq | InfixOp::Ne) && (self.is(left) || self.is(right));
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
