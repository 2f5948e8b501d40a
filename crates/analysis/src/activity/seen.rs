//! What runs of a model have shown: what elements look like that a plain variable comes to point to.

use std::collections::{BTreeMap, BTreeSet};

use shoal_model::{Model, State, Type, TypeId, TypedId, Value, VarId};

use super::{
    atoms::{Atoms, ViewAtom, indices},
    cube::{Cube, CubeUnion},
};

/// What runs of a model have shown. Without runs, nothing is guessed.
#[derive(Clone, Debug, Default)]
pub struct ObservedRuns {
    indices: Vec<Atoms>,
    /// By variable, and whether the element is a parameter of the rule that makes the variable point to it.
    views: BTreeMap<(TypeId, VarId, bool), BTreeSet<Cube>>,
    /// The whole views of all elements, by the type of their index.
    everybody: BTreeMap<TypeId, BTreeSet<Cube>>,
}

impl ObservedRuns {
    /// Nothing seen yet, but all that was not seen is taken to be impossible.
    pub fn none_yet(model: &Model) -> ObservedRuns {
        let indices = indices(model).into_iter().map(|index| Atoms::new(model, index)).collect();
        ObservedRuns { indices, ..ObservedRuns::default() }
    }

    /// Whether there is a variable of which something could be guessed: one that points to an element.
    pub fn is_of_use(model: &Model) -> bool {
        let refers = |ty: &Type| matches!(ty, Type::Ref { .. });
        let plain = |ty| model.kind(ty).is_scalar() && model.type_contains(ty, &refers);
        let linked = |ty| matches!(model.kind(ty), Type::Array { .. }) && model.type_contains(ty, &refers);
        model.vars.iter().any(|var| plain(var.ty)) && model.vars.iter().any(|var| linked(var.ty))
    }

    /// Takes note of a step of an instance with these arguments: which elements plain variables point to that did not
    /// before, and what those looked like.
    /// Says whether that is new.
    pub fn observe(&mut self, before: &State, args: &[Value], after: &State) -> bool {
        let mut new = false;
        for atoms in &self.indices {
            for atom in atoms.atoms.iter().filter(|atom| !atom.own) {
                let now = after.value(atom.var);
                if now != before.value(atom.var)
                    && let Some(element) = atoms.elements.iter().position(|element| element == now)
                    && let Some(view) = view(atoms, before, element, false)
                {
                    let key = (atoms.index, atom.var, args.contains(now));
                    new |= self.views.entry(key).or_default().insert(view);
                }
            }
        }
        new
    }

    /// Takes note of what all elements look like in a state. Says whether that is new.
    pub fn look_at(&mut self, state: &State) -> bool {
        let mut new = false;
        for atoms in &self.indices {
            let views = (0..atoms.elements.len()).filter_map(|element| view(atoms, state, element, true));
            let known = self.everybody.entry(atoms.index).or_default();
            views.for_each(|view| new |= known.insert(view));
        }
        new
    }

    /// The whole views of elements that were seen.
    pub(crate) fn everybody(&self, index: TypeId) -> &BTreeSet<Cube> {
        const NOBODY: &BTreeSet<Cube> = &BTreeSet::new();
        self.everybody.get(&index).unwrap_or(NOBODY)
    }

    /// The views of elements that a plain variable came to point to; nothing if there were no runs.
    pub(crate) fn pointed_to(&self, atoms: &Atoms, at: usize, acting: bool) -> Option<CubeUnion> {
        self.indices.iter().find(|known| known.index == atoms.index)?;
        let views = self.views.get(&(atoms.index, atoms.atoms[at].var, acting)).cloned().unwrap_or_default();
        Some(views.into_iter().fold(CubeUnion::default(), CubeUnion::with))
    }
}

/// What an element holds in a state, and what the plain variables are, if the whole view is asked for; else nothing is
/// said of them.
fn view(atoms: &Atoms, state: &State, element: usize, whole: bool) -> Option<Cube> {
    let class = |(at, atom): (usize, &ViewAtom)| {
        if !atom.own {
            let of_plain = || atoms.class(at, state.value(atom.var), &atoms.elements[element]);
            return if whole { of_plain().map(|class| 1 << class) } else { Some(atom.full()) };
        }
        let Value::Array(entries) = &state.values[atom.var.index()] else { return None };
        let entry = entries.get(element)?;
        let value = atom.fields.iter().try_fold(entry, |value, field| match value {
            Value::Record(parts) => parts.get(*field as usize),
            _ => None,
        });
        // A part that was reset says nothing.
        match value? {
            Value::Undefined if !whole => Some(atom.full()),
            value => Some(1 << atoms.class(at, value, &atoms.elements[element])?),
        }
    };
    Some(Cube(atoms.atoms.iter().enumerate().map(class).collect::<Option<_>>()?))
}
