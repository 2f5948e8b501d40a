//! A [`Program`] to a Model.
//!
//! A family of processes is a sort; a local variable is an array over all processes; a transition is a rule for each
//! process of its family. A guard that faults does not fire ([`GuardFaults::Disable`]), and an action that faults is a
//! memory fault.

use shoal_model::{
    CheckKind, Code, Domain, GuardFaults, LocalKind, Model, Parameter, Place, Property, PropertyKind, Root,
    Stmt, StmtKind, Type, TypeId,
};
use shoal_syntax::{
    Diagnostic, Span,
    cursor::{Parsed, error, text_as_name, unknown},
};
use shoal_template::{
    Options,
    build::{TemplateBuilder, plain_rule},
    codes,
};

use super::{
    ast::{self, Act, But, Chain, Program},
    declare::{PASSIVE, RedDeclarations, RedVariable},
    expr::{RedScope, RedTarget},
};

/// The model of a program, or all that is wrong with it.
pub(super) fn lower(program: &Program, text: &str, options: &Options) -> Result<Model, Vec<Diagnostic>> {
    let mut b = TemplateBuilder::new();
    // Without what is declared, nothing can be said about the rest.
    let declared = RedDeclarations::new(&mut b, program, options).map_err(|error| vec![*error])?;
    let mut lowerer = Lowerer { scope: RedScope::new(b, declared, program.strict), program };
    let start = lowerer.start();
    lowerer.item(start);
    for family in 0..program.families.len() {
        for mode in &program.families[family].modes {
            for transition in &mode.moves {
                let rule = lowerer.rule(family, mode, transition);
                lowerer.item(rule);
            }
        }
    }
    lowerer.properties(text);
    lowerer.scope.b.model.guard_faults = GuardFaults::Disable;
    lowerer.scope.b.finish()
}

struct Lowerer<'p> {
    scope: RedScope<'p>,
    program: &'p Program,
}

impl<'p> Lowerer<'p> {
    /// Ends an item of the program: what is wrong with it is kept, and nothing else of it.
    fn item(&mut self, made: Parsed<()>) {
        if self.scope.b.item(made).is_none() {
            self.scope.own = None;
            self.scope.b.take_locals();
        }
    }

    fn rule(&mut self, family: usize, mode: &'p ast::Mode, transition: &'p ast::Move) -> Parsed<()> {
        let scope = &mut self.scope;
        let span = transition.span;
        let ty = scope.declared.families[family].ty;
        let own = scope.process_local("P", ty, span);
        scope.own = Some(own);
        let modes = &scope.declared.modes;
        let source = modes.constant(&scope.b, &mode.label.node, mode.label.span)?;
        let target = modes.constant(&scope.b, &transition.target.node, transition.target.span)?;
        let process = |span| scope.b.read_local(own, span);
        let here = |span| scope.b.index(scope.b.place(modes.var, span), process(span), span);
        let is_here = scope.b.equal(scope.b.read(here(mode.label.span)), source.clone(), mode.label.span);
        let goes = (target.kind != source.kind)
            .then(|| scope.b.assign(here(transition.target.span), target, transition.target.span));
        let when = scope.truth(&transition.when);
        let when = scope.b.item_or_true(when, transition.when.span);
        let guard = scope.b.and(vec![is_here, when], transition.when.span);
        let mut body = Vec::new();
        for act in &transition.actions {
            let made = match act {
                Act::Assign(action) => self.action(action).map(|stmt| vec![stmt]),
                Act::Swap(first, second) => self.swap(first, second).map(Vec::from),
            };
            body.extend(self.scope.b.item(made).into_iter().flatten());
        }
        body.extend(goes);
        self.scope.own = None;
        let params = vec![Parameter { local: own, domain: Domain::Type(ty) }];
        let code = Code { locals: self.scope.b.take_locals(), body };
        let name = format!("{} -> {}", mode.label.node, transition.target.node);
        self.scope.b.model.rules.push(plain_rule(&name, params, Some(guard), code, span));
        Ok(())
    }

    fn action(&mut self, action: &'p ast::Action) -> Parsed<Stmt> {
        if action.target.hops.last().unwrap_or(&action.target.head).node == "mode" {
            return only_by_goto(action.target.span);
        }
        let RedTarget { place, holds } = self.scope.place(&action.target)?;
        let value = self.scope.value_for(holds, &action.value)?;
        Ok(self.scope.b.assign(place, value, action.span))
    }

    /// Each of two variables gets what the other had. An arrow could lead elsewhere once one of them has changed.
    fn swap(&mut self, first: &'p Chain, second: &'p Chain) -> Parsed<[Stmt; 3]> {
        for chain in [first, second] {
            if !chain.hops.is_empty() || chain.index.is_some() {
                let message = "`swap` takes global variables and the process's own, without arrows";
                return error(codes::UNSUPPORTED, chain.span, message);
            }
            if chain.head.node == "mode" {
                return only_by_goto(chain.span);
            }
        }
        let span = first.span.to(second.span);
        let RedTarget { place: one, holds } = self.scope.place(first)?;
        let other = self.scope.place(second)?;
        if holds != other.holds {
            return error(codes::WRONG_KIND, span, "a pointer and a number cannot be swapped");
        }
        let b = &mut self.scope.b;
        let kept = b.local("$kept", one.ty, LocalKind::Variable, span);
        let place = Place { root: Root::Local(kept), path: Vec::new(), ty: one.ty, span };
        Ok([
            b.assign(place, b.read(one.clone()), span),
            b.assign(one, b.read(other.place.clone()), span),
            b.assign(other.place, b.read_local(kept, span), span),
        ])
    }

    /// Every process is in the first mode of its family; variables are 0 or NULL, or anything.
    fn start(&mut self) -> Parsed<()> {
        let initially = self.program.initially.as_ref();
        let span = initially.map_or(self.program.families[0].name.span, |initially| initially.span);
        let mut body = Vec::new();
        for family in 0..self.program.families.len() {
            body.push(self.first_mode(family)?);
        }
        let variables = self.scope.declared.variables.clone();
        for variable in &variables {
            let stmt = match self.is_free(variable) {
                true => self.anything(variable, span),
                false => self.zero(variable, span),
            };
            body.push(stmt);
        }
        for but in initially.iter().flat_map(|initially| &initially.but) {
            match but {
                But::Free(name) if !variables.iter().any(|variable| variable.name == name.node) => {
                    return unknown(&name.node, name.span, variables.iter().map(|variable| variable.name));
                }
                But::Free(_) => {}
                But::Set(action) => body.push(self.set(action)?),
            }
        }
        if let Some(given) = initially.and_then(|initially| initially.given.as_ref()) {
            let condition = Some(self.scope.truth(given)?);
            let name = "initially".to_string();
            let assumed = Property { name, kind: PropertyKind::Assume(None), span: given.span };
            let property = self.scope.b.model.properties.push(assumed);
            let kind = StmtKind::Check { kind: CheckKind::Assume, condition, property };
            body.push(Stmt { kind, span: given.span });
        }
        let code = Code { locals: self.scope.b.take_locals(), body };
        self.scope.b.model.starts.push(plain_rule("start", Vec::new(), None, code, span));
        Ok(())
    }

    fn first_mode(&mut self, family: usize) -> Parsed<Stmt> {
        let program = &self.program.families[family];
        let label = program.modes.first().map_or(PASSIVE, |mode| &mode.label.node);
        let span = program.name.span;
        let scope = &mut self.scope;
        let first = scope.declared.modes.constant(&scope.b, label, span)?;
        let ty = scope.declared.families[family].ty;
        let local = scope.process_local("P", ty, span);
        let process = scope.b.read_local(local, span);
        let place = scope.b.index(scope.b.place(scope.declared.modes.var, span), process, span);
        let body = vec![scope.b.assign(place, first, span)];
        Ok(scope.b.for_each(local, body, span))
    }

    fn is_free(&self, variable: &RedVariable<'_>) -> bool {
        let Some(initially) = &self.program.initially else { return true };
        let named = |but: &But| matches!(but, But::Free(name) if name.node == variable.name);
        // What is set for every process is not first chosen.
        let set = |but: &But| {
            matches!(but, But::Set(action) if action.target.head.node == variable.name
                && action.target.index.is_none() && action.target.hops.is_empty())
        };
        !initially.but.iter().any(set) && (!initially.zero || initially.but.iter().any(named))
    }

    /// A value that depends on nothing, for a variable or for each of its elements.
    fn anything(&mut self, variable: &RedVariable<'_>, span: Span) -> Stmt {
        let b = &mut self.scope.b;
        let place = b.place(variable.var, span);
        match *b.model.kind(place.ty) {
            Type::Array { index, element } => {
                let local = b.local("P", index, LocalKind::Bound, span);
                let entry = b.index(place, b.read_local(local, span), span);
                let body = choice(b, entry, element, span);
                b.for_each(local, body, span)
            }
            _ => {
                let ty = place.ty;
                let body = choice(b, place, ty, span);
                // A block of its own, for a choice holds to the end of the block.
                let always = b.truth(true, span);
                Stmt { kind: StmtKind::If(vec![(always, body)], Vec::new()), span }
            }
        }
    }

    /// NULL, or 0, or the least value where 0 is outside of the range.
    fn zero(&mut self, variable: &RedVariable<'_>, span: Span) -> Stmt {
        let b = &mut self.scope.b;
        let place = b.place(variable.var, span);
        let scalar = match *b.model.kind(place.ty) {
            Type::Array { element, .. } => element,
            _ => place.ty,
        };
        match *b.model.kind(scalar) {
            Type::Int { lo, hi } if lo < 0 && hi >= 0 => {
                let zero = b.int(0, span);
                b.assign_all(place, zero)
            }
            _ => Stmt { kind: StmtKind::Clear(place), span },
        }
    }

    /// `x = 3`, of a local variable for every process.
    fn set(&mut self, action: &'p ast::Action) -> Parsed<Stmt> {
        let target = &action.target;
        let variable = self.scope.declared.variable(&target.head.node);
        let of_each = variable.is_some_and(|variable| variable.local) && target.index.is_none();
        if !of_each {
            return self.action(action);
        }
        let ty = self.scope.declared.process;
        let own = self.scope.process_local("P", ty, action.span);
        self.scope.own = Some(own);
        let body = vec![self.action(action)?];
        self.scope.own = None;
        Ok(self.scope.b.for_each(own, body, action.span))
    }

    fn properties(&mut self, text: &str) {
        let span = self.program.families[0].name.span;
        let faults = Property { name: "memory fault".into(), kind: PropertyKind::NoFaults, span };
        self.scope.b.model.properties.push(faults);
        for property in &self.program.properties {
            let name = match &property.name {
                Some(name) => name.clone(),
                None => text_as_name(text, property.condition.span),
            };
            let expr = self.scope.truth(&property.condition);
            let expr = self.scope.b.item_or_true(expr, property.span);
            let kind = PropertyKind::Invariant(self.scope.b.condition(expr));
            self.scope.b.model.properties.push(Property { name, kind, span: property.span });
        }
    }
}

fn only_by_goto<T>(span: Span) -> Parsed<T> {
    error(codes::UNSUPPORTED, span, "a mode changes by `goto` only")
}

fn choice(b: &mut TemplateBuilder, place: Place, ty: TypeId, span: Span) -> Vec<Stmt> {
    let chosen = b.local("$value", ty, LocalKind::Bound, span);
    let choose = Stmt { kind: StmtKind::Choose { local: chosen, domain: Domain::Type(ty) }, span };
    let value = b.read_local(chosen, span);
    vec![choose, b.assign(place, value, span)]
}
