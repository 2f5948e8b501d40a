//! Places: where they are, and what an access of one tells.

use std::rc::Rc;

use shoal_model::{Expr, ExprKind, LocalId, LocalKind, Place, Projection, Root, Type};

use super::Walker;
use crate::effects::{
    AbstractValue, Access, AccessBase, AccessKind, AccessPath, AccessStep, Deps, LocalRef, Written,
    update::same_place,
};

impl<'a> Walker<'a> {
    pub(super) fn change(&mut self, place: &'a Place, deps: Deps) {
        self.read(place);
        self.write(place, Written::Changed, deps);
    }

    pub(super) fn write(&mut self, place: &'a Place, written: Written, mut deps: Deps) {
        let (location, path_deps) = self.resolve(place);
        deps.extend(path_deps);
        self.access(place, location, AccessKind::Write(written), deps);
    }

    pub(super) fn cover(&mut self, location: &AccessPath) {
        let own = matches!(location.base, AccessBase::Local(_));
        if own && location.path.iter().all(|step| step.sym() != Some(&AbstractValue::Unknown)) {
            self.covered.push(location.clone());
        }
    }

    pub(super) fn is_covered(&self, location: &AccessPath) -> bool {
        let written = self
            .covered
            .iter()
            .any(|covered| covered.base == location.base && location.path.starts_with(&covered.path));
        if written {
            return true;
        }
        // A record is covered if all its fields are.
        match location.end(self.model).map(|ty| self.model.kind(ty)) {
            Some(Type::Record { fields }) => (0..fields.len() as u32).all(|field| {
                let mut part = location.clone();
                part.path.push(AccessStep::Field(field));
                self.is_covered(&part)
            }),
            _ => false,
        }
    }

    pub(super) fn read(&mut self, place: &'a Place) -> Deps {
        let (location, mut deps) = self.resolve(place);
        if let AccessBase::Local(local) = location.base {
            deps.extend(self.mention(local));
            if self.frame.is_bound(place) {
                return deps;
            }
        }
        self.access(place, location, AccessKind::Read, deps.clone());
        deps
    }

    pub(super) fn access(
        &mut self,
        place: &'a Place,
        location: AccessPath,
        action: AccessKind,
        mut deps: Deps,
    ) {
        if self.is_spent() {
            return;
        }
        deps.extend(self.control.iter().chain(&self.frame.left).copied());
        let (facts, locals) = (Rc::clone(&self.facts), self.frame.locals);
        let mut access = Access {
            location,
            action,
            exposed: false,
            made: Vec::new(),
            deps,
            facts,
            span: self.span,
            place,
            locals,
        };
        access.exposed = access.uses_old_value() && !self.is_covered(&access.location);
        if access.exposed {
            let inside = self.covered.iter().filter(|covered| access.location.contains(covered));
            access.made = inside.cloned().collect();
        }
        if !access.uses_old_value() {
            self.cover(&access.location);
        }
        if let AccessKind::Write(written) = &access.action {
            self.learn(&access.location, written);
        }
        self.out.accesses.push(access);
    }

    /// The entries of a bag that a condition on a slot asks for, if all it asks is whether the slot has a certain value.
    pub(super) fn key(&self, bag: &Place, local: LocalId, condition: &'a Expr) -> Option<&'a Expr> {
        if !self.keyed {
            return None;
        }
        let ExprKind::Equal(left, right) = &condition.kind else { return None };
        let is_slot = |expr: &Expr| match &expr.kind {
            ExprKind::Read(place) | ExprKind::Peek(place) => is_slot_of(place, bag, local),
            _ => false,
        };
        let value = match (is_slot(left), is_slot(right)) {
            (true, false) => right,
            (false, true) => left,
            _ => return None,
        };
        (self.sym(value) != AbstractValue::Unknown).then_some(value)
    }

    /// Accesses a part of a bag.
    pub(super) fn access_part(
        &mut self,
        bag: &'a Place,
        part: AccessStep,
        action: AccessKind,
        mut deps: Deps,
    ) {
        let (mut location, path_deps) = self.resolve(bag);
        deps.extend(path_deps);
        location.path.push(part);
        self.access(bag, location, action, deps);
    }

    pub(super) fn mention(&mut self, local: LocalRef) -> Deps {
        let mut deps = self.origins.get(&local).cloned().unwrap_or_default();
        deps.insert(local);
        self.frame.mentioned.extend(deps.iter().copied());
        deps
    }

    /// The location of a place, and what it hangs on: the indices on its path.
    pub(super) fn resolve(&mut self, place: &'a Place) -> (AccessPath, Deps) {
        let (mut location, mut deps) = self.root(place.root);
        for projection in &place.path {
            let step = match projection {
                Projection::Field(field) => AccessStep::Field(*field),
                Projection::Index(at) => AccessStep::Index(self.selector(at, &mut deps)),
                Projection::Slot(at) => AccessStep::Slot(self.selector(at, &mut deps)),
                Projection::Item(at) => AccessStep::Item(self.selector(at, &mut deps)),
            };
            location.path.push(step);
        }
        (location, deps)
    }

    pub(super) fn selector(&mut self, at: &'a Expr, deps: &mut Deps) -> AbstractValue {
        deps.extend(self.expr(at));
        self.sym(at)
    }

    pub(super) fn root(&self, root: Root) -> (AccessPath, Deps) {
        match root {
            Root::Var(var) => {
                let location =
                    AccessPath { base: AccessBase::Var(var), ty: self.model.vars[var].ty, path: vec![] };
                (location, Deps::new())
            }
            Root::Local(local) => self.local_root(local),
        }
    }

    pub(super) fn local_root(&self, local: LocalId) -> (AccessPath, Deps) {
        let (def, local) = (&self.frame.locals[local], self.local(local));
        let at = |base| AccessPath { base, ty: def.ty, path: vec![] };
        match def.kind {
            LocalKind::Bound | LocalKind::Variable => (at(AccessBase::Local(local)), Deps::new()),
            LocalKind::Reference { .. } => {
                let deps = self.origins.get(&local).cloned().unwrap_or_default();
                let location = self.references.get(&local).cloned();
                (location.unwrap_or_else(|| at(AccessBase::Referent(local))), deps)
            }
        }
    }

    /// What is known of the value of an expression.
    pub(super) fn sym(&self, expr: &Expr) -> AbstractValue {
        match &expr.kind {
            ExprKind::Const(value) => AbstractValue::Const(value.clone()),
            ExprKind::Read(place) | ExprKind::Peek(place) => self.sym_at(place),
            _ => self.fold(expr).map_or(AbstractValue::Unknown, AbstractValue::Const),
        }
    }

    /// What is known of the value at a place.
    pub(super) fn sym_at(&self, place: &Place) -> AbstractValue {
        let Some(location) = self.fields_from(place.root, &place.path) else { return AbstractValue::Unknown };
        let fixed = match location.base {
            AccessBase::Local(local) if location.path.is_empty() => {
                let bound = self.frame.is_bound(place).then_some(AbstractValue::Fixed(local));
                self.values.get(&local).cloned().or(bound)
            }
            AccessBase::Local(_) | AccessBase::Var(_) | AccessBase::Referent(_) => None,
        };
        let written = || self.known.iter().find(|(known, _)| *known == location).map(|(_, sym)| sym.clone());
        fixed.or_else(written).unwrap_or(AbstractValue::Unknown)
    }
}

/// Whether a place is the slot of a bag that a local stands for.
fn is_slot_of(place: &Place, bag: &Place, local: LocalId) -> bool {
    let Some((Projection::Slot(slot), before)) = place.path.split_last() else { return false };
    let is_local = |place: &Place| place.root == Root::Local(local) && place.path.is_empty();
    let before = Place { path: before.to_vec(), ..place.clone() };
    matches!(&slot.kind, ExprKind::Read(place) | ExprKind::Peek(place) if is_local(place))
        && same_place(&before, bag)
}
