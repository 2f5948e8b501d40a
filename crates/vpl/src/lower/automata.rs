//! Automata: the start, their rules and invariants.

use super::super::ast;
use super::super::ast::InfixOp;
use super::{Lowerer, RegisterContent, VplVariable};
use shoal_model::{
    Code, Domain, Expr, ExprKind, LocalId, LocalKind, Parameter, Place, Property, PropertyKind, Stmt,
    StmtKind, Type, Value, VarId,
};
use shoal_syntax::{
    Span,
    cursor::{Parsed, error, unknown},
};
use shoal_template::{build::plain_rule, codes};

impl<'p> Lowerer<'p> {
    /// Start, rules and invariants.
    pub(super) fn automata(&mut self) -> Parsed<()> {
        let start = self.start();
        if self.item(start).is_none() {
            self.scope.clear();
            self.b.take_locals();
        }
        for family in 0..self.families.len() {
            let automaton = self.families[family].automaton;
            for mode in &automaton.modes {
                for transition in &mode.moves {
                    let made = self.rule(family, mode, transition);
                    if self.item(made).is_none() {
                        self.b.take_locals();
                    }
                    self.scope.clear();
                }
            }
        }
        self.invariant()
    }

    /// Every register is 0 and every automaton in its first mode, unless `initially` says otherwise.
    pub(super) fn start(&mut self) -> Parsed<()> {
        let span = self.program.families[0].name.span;
        let (mut body, mut held) = (Vec::new(), Vec::new());
        let variables: Vec<VplVariable> = self.variables.values().copied().collect();
        for variable in variables {
            if !variable.clock {
                // The least value of a reference is nobody; of integers, 0 is asked for.
                let place = self.b.place(variable.var, span);
                match (variable.holds, self.zero_of(variable.var)) {
                    (RegisterContent::Integers, Some(zero)) => body.push(self.b.assign_all(place, zero)),
                    _ => body.push(Stmt { kind: StmtKind::Clear(place), span }),
                }
            }
        }
        for family in 0..self.families.len() {
            let automaton = self.families[family].automaton;
            let local = self.index_local(family, &automaton.index.node, automaton.index.span);
            self.scope.push((&automaton.index.node, local, family));
            let mut first = 0;
            let mut inner = Vec::new();
            if let Some(initially) = &automaton.initially {
                self.initially(family, initially, &mut first, &mut inner)?;
            }
            let mode = self.mode_place(family, self.b.read_local(local, span), span);
            let value = self.mode_constant(family, first, span);
            inner.insert(0, self.b.assign(mode, value, span));
            let set = inner.iter().any(|stmt| self.sets_clock(stmt));
            let invariant = automaton.modes[first].invariant.as_ref().map(|holds| self.condition(holds));
            let domain = Domain::Type(self.b.locals[local].ty);
            body.push(Stmt { kind: StmtKind::For { local, domain, body: inner }, span });
            self.scope.pop();
            if let Some(invariant) = invariant {
                let span = invariant.span;
                // What a clock is set to may be more than an upper bound allows.
                let plain = if set { self.b.not(self.b.not(invariant)) } else { invariant };
                held.push(self.b.quantified(true, local, plain, span));
            }
        }
        body.extend(self.b.holds_at_start(held, span));
        let code = Code { locals: self.b.take_locals(), body };
        self.b.model.starts.push(plain_rule("start", Vec::new(), None, code, span));
        Ok(())
    }

    fn sets_clock(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                let clock = *self.b.model.kind(place.ty) == Type::Clock;
                clock && value.kind != ExprKind::Const(Value::Int(0))
            }
            _ => false,
        }
    }

    pub(super) fn zero_of(&self, var: VarId) -> Option<Expr> {
        let mut ty = self.b.model.vars[var].ty;
        if let Type::Array { element, .. } = self.b.model.kind(ty) {
            ty = *element;
        }
        let zero = matches!(self.b.model.kind(ty), Type::Int { lo, hi } if *lo < 0 && *hi >= 0);
        zero.then(|| self.b.int(0, self.b.model.vars[var].span))
    }

    /// The conjuncts of an `initially`: a mode, or a variable and its value.
    pub(super) fn initially(
        &mut self,
        family: usize,
        expr: &'p ast::Expr,
        first: &mut usize,
        body: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        use ast::ExprKind as K;
        match &expr.kind {
            K::Bool(true) => Ok(()),
            K::Binary(InfixOp::And, left, right) => {
                self.initially(family, left, first, body)?;
                self.initially(family, right, first, body)
            }
            K::Name(name) if self.families[family].modes.contains(&name.as_str()) => {
                *first = self.mode_number(family, name, expr.span)?;
                Ok(())
            }
            K::Binary(InfixOp::Eq, left, right) => {
                let (place, variable) = self.target(left)?;
                let value = self.value_for(variable, right)?;
                body.push(self.b.assign(place, value, expr.span));
                Ok(())
            }
            _ => error(codes::UNSUPPORTED, expr.span, "`initially` takes a mode and values, joined by `and`"),
        }
    }

    pub(super) fn index_local(&mut self, family: usize, name: &str, span: Span) -> LocalId {
        let sort = self.families[family].sort;
        let ty = self.b.reference(sort, false);
        self.b.local(name, ty, LocalKind::Bound, span)
    }

    pub(super) fn mode_place(&self, family: usize, element: Expr, span: Span) -> Place {
        self.b.index(self.b.place(self.families[family].mode, span), element, span)
    }

    pub(super) fn mode_constant(&self, family: usize, mode: usize, span: Span) -> Expr {
        let ty = self.families[family].mode_type;
        self.b.constant(Value::Enum(ty, mode as u32), ty, span)
    }

    pub(super) fn mode_number(&self, family: usize, name: &str, span: Span) -> Parsed<usize> {
        let modes = &self.families[family].modes;
        match modes.iter().position(|mode| *mode == name) {
            Some(mode) => Ok(mode),
            None => unknown(name, span, modes.iter().copied()),
        }
    }

    pub(super) fn in_mode(&self, family: usize, element: Expr, mode: usize, span: Span) -> Expr {
        let place = self.mode_place(family, element, span);
        self.b.equal(self.b.read(place), self.mode_constant(family, mode, span), span)
    }

    fn assignment(&mut self, left: &'p ast::Expr, right: &'p ast::Expr) -> Parsed<Stmt> {
        let (place, variable) = self.target(left)?;
        let value = self.value_for(variable, right)?;
        Ok(self.b.assign(place, value, left.span.to(right.span)))
    }

    pub(super) fn rule(
        &mut self,
        family: usize,
        mode: &'p ast::Mode,
        transition: &'p ast::Move,
    ) -> Parsed<()> {
        let automaton = self.families[family].automaton;
        let span = transition.span;
        let local = self.index_local(family, &automaton.index.node, automaton.index.span);
        self.scope.push((&automaton.index.node, local, family));
        let source = self.mode_number(family, &mode.name.node, mode.name.span)?;
        let target = self.mode_number(family, &transition.target.node, transition.target.span)?;
        let element = self.b.read_local(local, automaton.index.span);
        let here = self.in_mode(family, element.clone(), source, mode.name.span);
        let when = self.condition(&transition.when);
        let guard = self.b.and(vec![here, when], transition.when.span);
        let mut body = Vec::new();
        for (left, right) in &transition.assigns {
            let made = self.assignment(left, right);
            body.extend(self.item(made));
        }
        if target != source {
            let place = self.mode_place(family, element, transition.target.span);
            let value = self.mode_constant(family, target, transition.target.span);
            body.push(self.b.assign(place, value, transition.target.span));
        }
        self.scope.pop();
        let domain = Domain::Type(self.b.locals[local].ty);
        let params = vec![Parameter { local, domain }];
        let code = Code { locals: self.b.take_locals(), body };
        let name = format!("{} -> {}", mode.name.node, transition.target.node);
        self.b.model.rules.push(plain_rule(&name, params, Some(guard), code, span));
        Ok(())
    }

    /// What must hold in every state and while time passes: every automaton's invariant of the mode it is in.
    pub(super) fn invariant(&mut self) -> Parsed<()> {
        let mut parts = Vec::new();
        for family in 0..self.families.len() {
            let automaton = self.families[family].automaton;
            let local = self.index_local(family, &automaton.index.node, automaton.index.span);
            self.scope.push((&automaton.index.node, local, family));
            let mut modes = Vec::new();
            for (position, mode) in automaton.modes.iter().enumerate() {
                let Some(invariant) = &mode.invariant else { continue };
                let holds = self.condition(invariant);
                if holds.kind != ExprKind::Const(Value::Bool(true)) {
                    let element = self.b.read_local(local, invariant.span);
                    let here = self.in_mode(family, element, position, mode.name.span);
                    modes.push(self.b.implies(here, holds, invariant.span));
                }
            }
            self.scope.pop();
            if !modes.is_empty() {
                let body = self.b.and(modes, automaton.name.span);
                parts.push(self.b.quantified(true, local, body, automaton.name.span));
            }
        }
        let span = self.program.automata[0].name.span;
        let any = !parts.is_empty();
        let expr = self.b.and(parts, span);
        let condition = self.b.condition(expr);
        if any {
            let kind = PropertyKind::Assume(Some(condition.clone()));
            self.b.model.properties.push(Property { name: "invariants of modes".into(), kind, span });
        }
        if self.program.variables.iter().any(|variable| variable.clock) {
            self.b.model.while_time_passes = Some(condition);
        }
        Ok(())
    }
}
