//! Locals that get a value, and calls, which give the callee's parameters theirs.

use std::rc::Rc;

use shoal_model::{Argument, Domain, FunctionId, LocalId, LocalKind, Place, Root};

use super::{Activation, Walker, known::ends, meet};
use crate::effects::{AbstractValue, AccessBase, AccessPath, CodeEffect, Deps, Fact, LocalRef, Written};
use crate::mutant::{self, AnalysisMutant};

impl<'a> Walker<'a> {
    pub(super) fn bind_over(&mut self, local: LocalId, domain: &'a Domain) -> Deps {
        let deps = self.domain(domain);
        self.fix(local, deps.clone());
        deps
    }

    /// Gives a bound local a new value, which is not known but stays.
    pub(super) fn fix(&mut self, local: LocalId, deps: Deps) {
        let ty = self.frame.locals[local].ty;
        let local = self.local(local);
        self.forget(local);
        self.ranging.insert(local, ty);
        self.values.insert(local, AbstractValue::Fixed(local));
        Rc::make_mut(&mut self.facts).push(Fact::Is(AbstractValue::Fixed(local), ty));
        self.origins.insert(local, deps);
        self.out.bound.insert(local);
    }

    /// What was known in terms of the local's old value does not hold of the new one.
    pub(super) fn forget(&mut self, local: LocalRef) {
        let sym = AbstractValue::Fixed(local);
        self.covered.retain(|location| !location.mentions(local));
        self.known.retain(|(location, known)| *known != sym && location.base != AccessBase::Local(local));
        if self.facts.iter().any(|fact| fact.mentions(&sym)) {
            Rc::make_mut(&mut self.facts).retain(|fact| !fact.mentions(&sym));
        }
    }

    /// Parameters that get copies and are never written have one value, if an unknown one.
    pub(super) fn fix_params(&mut self, function: FunctionId) {
        for param in &self.model.functions[function].params {
            if let (LocalKind::Variable, true) = self.target(*param) {
                let param = self.local(*param);
                self.values.insert(param, AbstractValue::Fixed(param));
            }
        }
    }

    /// Binds `target` to an argument that stands in the present activation.
    pub(super) fn pass(&mut self, argument: &'a Argument, target: LocalRef, kind: LocalKind, fixed: bool) {
        match (argument, kind) {
            (Argument::Place(place), LocalKind::Reference { .. }) => {
                let (location, deps) = self.resolve(place);
                self.references.insert(target, location);
                self.origins.insert(target, deps);
            }
            (Argument::Place(place), _) => {
                let deps = self.read(place);
                let parts = self.parts_at(place.root, &place.path);
                self.give(target, AbstractValue::Unknown, deps, fixed);
                self.know(
                    &AccessPath { base: AccessBase::Local(target), ty: place.ty, path: vec![] },
                    &parts,
                );
            }
            (Argument::Value(value), kind) => {
                let deps = self.expr(value);
                let (sym, parts) = (self.sym(value), self.parts(value));
                let location = AccessPath { base: AccessBase::Local(target), ty: value.ty, path: vec![] };
                if let LocalKind::Reference { .. } = kind {
                    self.references.insert(target, location.clone());
                }
                self.give(target, sym, deps, fixed);
                self.know(&location, &parts);
            }
        }
    }

    pub(super) fn give(&mut self, target: LocalRef, sym: AbstractValue, deps: Deps, fixed: bool) {
        self.forget(target);
        self.origins.insert(target, deps);
        self.out.bound.insert(target);
        match (fixed, sym) {
            (false, _) => drop(self.values.remove(&target)),
            (true, AbstractValue::Unknown) => drop(self.values.insert(target, AbstractValue::Fixed(target))),
            (true, sym) => drop(self.values.insert(target, sym)),
        }
    }

    /// Walks a call; the result hangs on whatever was looked at on the way.
    pub(super) fn call(&mut self, function: FunctionId, arguments: &'a [Argument]) -> Deps {
        let span = self.span;
        if self.stack.contains(&function) {
            return self.recursion(function, arguments);
        }
        let callee = &self.model.functions[function];
        self.activations += 1;
        let mut frame = Activation::of_code(self.activations, &callee.code);
        for (param, argument) in callee.params.iter().zip(arguments) {
            let fixed = !frame.assigned.contains(param);
            self.pass(argument, frame.local(*param), callee.code.locals[*param].kind, fixed);
        }
        let (control, facts) = (self.control.clone(), Rc::clone(&self.facts));
        self.control.extend(self.frame.left.iter().copied());
        std::mem::swap(&mut self.frame, &mut frame);
        self.stack.push(function);
        self.block(&callee.code.body);
        self.stack.pop();
        std::mem::swap(&mut self.frame, &mut frame);
        (self.control, self.facts) = (control, facts);
        self.span = span;
        if let Some(reached) = frame.reached.take() {
            let end = (std::mem::take(&mut self.covered), std::mem::take(&mut self.known));
            // To fall off the end of a function that has a result is a fault.
            let falls_off = callee.result.is_none() && !ends(&callee.code.body);
            let forgotten = mutant::is(AnalysisMutant::ReturnsAreForgotten);
            let reached = if forgotten {
                end
            } else if falls_off {
                meet(Some(reached), end)
            } else {
                reached
            };
            (self.covered, self.known) = reached;
        }
        self.drop_from(frame.activation);
        self.returned = frame.result.take().unwrap_or_default();
        self.frame.mentioned.extend(frame.mentioned.iter().copied());
        frame.mentioned
    }

    /// Forgets the locals of activations from this one on: they are gone.
    fn drop_from(&mut self, activation: u32) {
        let is_gone =
            |of: &AccessPath| matches!(of.base, AccessBase::Local(of) if of.activation >= activation);
        self.known.retain(|(location, _)| !is_gone(location));
        self.covered.retain(|location| !is_gone(location));
        self.references.retain(|of, _| of.activation < activation);
        self.values.retain(|of, _| of.activation < activation);
        self.origins.retain(|of, _| of.activation < activation);
    }

    pub(super) fn recursion(&mut self, function: FunctionId, arguments: &'a [Argument]) -> Deps {
        self.event(CodeEffect::Recursion(function));
        let mut deps = Deps::new();
        for argument in arguments {
            match argument {
                Argument::Value(value) => deps.extend(self.expr(value)),
                Argument::Place(place) => {
                    deps.extend(self.read(place));
                    if self.is_writable(place) {
                        self.write(place, Written::Changed, Deps::new());
                    }
                }
            }
        }
        self.returned.clear();
        deps
    }

    pub(super) fn is_writable(&self, place: &Place) -> bool {
        match place.root {
            Root::Var(_) => true,
            Root::Local(local) => matches!(
                self.frame.locals[local].kind,
                LocalKind::Variable | LocalKind::Reference { writable: true }
            ),
        }
    }
}
