//! Places: where they are, and what an access of one tells.

use shoal_model::{Expr, ExprKind, LocalId, LocalKind, Place, Projection, Root, Type};

use super::Walker;
use crate::effects::{Access, Action, Base, Deps, LocalRef, Location, Step, Sym, Written};

impl<'a> Walker<'a> {
    pub(super) fn change(&mut self, place: &'a Place, deps: Deps) {
        self.read(place);
        self.write(place, Written::Changed, deps);
    }

    pub(super) fn write(&mut self, place: &'a Place, written: Written, mut deps: Deps) {
        let (location, path_deps) = self.resolve(place);
        deps.extend(path_deps);
        self.access(place, location, Action::Write(written), deps);
    }

    pub(super) fn cover(&mut self, location: &Location) {
        let own = matches!(location.base, Base::Local(local) if local.activation == 0);
        if own && location.path.iter().all(|step| step.sym() != Some(&Sym::Unknown)) {
            self.covered.push(location.clone());
        }
    }

    pub(super) fn is_covered(&self, location: &Location) -> bool {
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
                part.path.push(Step::Field(field));
                self.is_covered(&part)
            }),
            _ => false,
        }
    }

    pub(super) fn read(&mut self, place: &'a Place) -> Deps {
        let (location, mut deps) = self.resolve(place);
        if let Base::Local(local) = location.base {
            deps.extend(self.mention(local));
            if self.frame.is_bound(place) {
                return deps;
            }
        }
        self.access(place, location, Action::Read, deps.clone());
        deps
    }

    pub(super) fn access(&mut self, place: &'a Place, location: Location, action: Action, mut deps: Deps) {
        if self.is_spent() {
            return;
        }
        deps.extend(self.control.iter().chain(&self.frame.left).copied());
        let (differ, locals) = (self.differ.clone(), self.frame.locals);
        let mut access =
            Access { location, action, exposed: false, deps, differ, span: self.span, place, locals };
        access.exposed = access.uses_old_value() && !self.is_covered(&access.location);
        if !access.uses_old_value() {
            self.cover(&access.location);
        }
        self.out.accesses.push(access);
    }

    pub(super) fn mention(&mut self, local: LocalRef) -> Deps {
        let mut deps = self.origins.get(&local).cloned().unwrap_or_default();
        deps.insert(local);
        self.frame.mentioned.extend(deps.iter().copied());
        deps
    }

    /// The location of a place, and what it hangs on: the indices on its path.
    pub(super) fn resolve(&mut self, place: &'a Place) -> (Location, Deps) {
        let (mut location, mut deps) = self.root(place.root);
        for projection in &place.path {
            let step = match projection {
                Projection::Field(field) => Step::Field(*field),
                Projection::Index(at) => Step::Index(self.selector(at, &mut deps)),
                Projection::Slot(at) => Step::Slot(self.selector(at, &mut deps)),
                Projection::Item(at) => Step::Item(self.selector(at, &mut deps)),
            };
            location.path.push(step);
        }
        (location, deps)
    }

    pub(super) fn selector(&mut self, at: &'a Expr, deps: &mut Deps) -> Sym {
        deps.extend(self.expr(at));
        self.sym(at)
    }

    pub(super) fn root(&self, root: Root) -> (Location, Deps) {
        match root {
            Root::Var(var) => {
                let location = Location { base: Base::Var(var), ty: self.model.vars[var].ty, path: vec![] };
                (location, Deps::new())
            }
            Root::Local(local) => self.local_root(local),
        }
    }

    pub(super) fn local_root(&self, local: LocalId) -> (Location, Deps) {
        let (def, local) = (&self.frame.locals[local], self.local(local));
        let at = |base| Location { base, ty: def.ty, path: vec![] };
        match def.kind {
            LocalKind::Bound | LocalKind::Variable => (at(Base::Local(local)), Deps::new()),
            LocalKind::Reference { .. } => {
                let deps = self.origins.get(&local).cloned().unwrap_or_default();
                let location = self.references.get(&local).cloned();
                (location.unwrap_or_else(|| at(Base::Referent(local))), deps)
            }
        }
    }

    /// What is known of the value of an expression.
    pub(super) fn sym(&self, expr: &Expr) -> Sym {
        match &expr.kind {
            ExprKind::Const(value) => Sym::Const(value.clone()),
            ExprKind::Read(place) | ExprKind::Peek(place) if place.path.is_empty() => {
                match self.root(place.root).0 {
                    Location { base: Base::Local(local), path, .. } if path.is_empty() => {
                        let bound = self.frame.is_bound(place).then_some(Sym::Fixed(local));
                        self.values.get(&local).cloned().or(bound).unwrap_or(Sym::Unknown)
                    }
                    _ => Sym::Unknown,
                }
            }
            _ => self.fold(expr).map_or(Sym::Unknown, Sym::Const),
        }
    }
}
