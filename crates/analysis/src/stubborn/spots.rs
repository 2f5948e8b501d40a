//! Spots: the scalar parts of the state, each element of an array by itself. A multiset or a sequence is one spot.

use std::collections::BTreeSet;

use shoal_model::{BitSet, Model, OrInternal, Type, TypeId, TypedId};

use crate::{
    FieldPath,
    effects::{AbstractValue, AccessBase, AccessPath, AccessStep},
};

/// Models with more spots are not looked at: every instance is compared with every other, spot by spot.
const MOST_SPOTS: usize = 1 << 14;

/// The spots of a model, by number.
pub(super) struct Spots<'m> {
    model: &'m Model,
    /// The first spot of each variable.
    firsts: Vec<usize>,
    pub(super) count: usize,
    /// Those that are never undefined.
    pub(super) defined: BitSet,
}

impl<'m> Spots<'m> {
    /// The spots of a model in which these slots may be undefined, or all if nothing is known. Nothing if there are too many
    /// spots or their number is not fixed.
    pub(super) fn new(model: &'m Model, blank: Option<&BTreeSet<FieldPath>>) -> Option<Self> {
        let (mut firsts, mut count) = (Vec::new(), 0);
        for var in model.vars.iter() {
            firsts.push(count);
            count += size(model, var.ty)?;
            if count > MOST_SPOTS {
                return None;
            }
        }
        let mut spots = Spots { model, firsts, count, defined: BitSet::new(count) };
        if let Some(blank) = blank {
            for var in model.vars.ids() {
                let mut slot = FieldPath { var, fields: Vec::new() };
                spots.define(spots.firsts[var.index()], model.vars[var].ty, &mut slot, blank);
            }
        }
        Some(spots)
    }

    /// Notes which of the spots from one on are never undefined; they belong to a part of a variable.
    fn define(&mut self, mut first: usize, ty: TypeId, slot: &mut FieldPath, blank: &BTreeSet<FieldPath>) {
        let model = self.model;
        match model.kind(ty) {
            Type::Record { fields } => {
                for (at, field) in (0..).zip(fields) {
                    slot.fields.push(at);
                    self.define(first, field.ty, slot, blank);
                    slot.fields.pop();
                    first += size(model, field.ty).or_internal("parts of what has a size have one");
                }
            }
            Type::Array { index, element } => {
                let length = size(model, *element).or_internal("parts of what has a size have one");
                for at in 0..model.cardinality(*index).or_internal("an array has a finite index") as usize {
                    self.define(first + at * length, *element, slot, blank);
                }
            }
            Type::Multiset { .. } | Type::Sequence { .. } => {}
            _ if blank.contains(slot) => {}
            _ => self.defined.extend([first]),
        }
    }

    /// The spots of a location. Nothing if it may be anywhere.
    pub(super) fn of(&self, location: &AccessPath) -> Option<SpotReach> {
        let mut firsts = match location.base {
            AccessBase::Var(var) => vec![self.firsts[var.index()]],
            AccessBase::Local(_) => return Some(SpotReach { spots: Vec::new(), exact: false }),
            AccessBase::Referent(_) => return None,
        };
        let (mut ty, mut exact) = (location.ty, true);
        for step in &location.path {
            match (step, self.model.kind(ty)) {
                (AccessStep::Field(field), Type::Record { fields }) => {
                    let before = fields.iter().take(*field as usize);
                    let offset = before.map(|field| size(self.model, field.ty)).sum::<Option<usize>>()?;
                    firsts.iter_mut().for_each(|first| *first += offset);
                    ty = fields.get(*field as usize)?.ty;
                }
                (AccessStep::Index(at), Type::Array { index, element }) => {
                    let length = size(self.model, *element)?;
                    let position = match at {
                        AbstractValue::Const(value) => self.model.ordinal(*index, value),
                        _ => None,
                    };
                    exact &= position.is_some();
                    let positions = match position {
                        Some(position) => position..position + 1,
                        None => 0..self.model.cardinality(*index)?,
                    };
                    let entries = |first: usize| {
                        positions.clone().map(move |position| first + position as usize * length)
                    };
                    firsts = firsts.into_iter().flat_map(entries).collect();
                    ty = *element;
                }
                // What is in a multiset or a sequence is at its spot.
                _ => {
                    exact = false;
                    break;
                }
            }
        }
        let length = size(self.model, ty)?;
        exact &= self.model.kind(ty).is_scalar();
        Some(SpotReach { spots: firsts.into_iter().flat_map(|first| first..first + length).collect(), exact })
    }
}

/// The spots that a location may be at.
pub(super) struct SpotReach {
    pub(super) spots: Vec<usize>,
    /// Whether it is one, and is there in any case.
    pub(super) exact: bool,
}

/// How many spots a value has.
fn size(model: &Model, ty: TypeId) -> Option<usize> {
    match model.kind(ty) {
        Type::Record { fields } => fields.iter().map(|field| size(model, field.ty)).sum(),
        Type::Array { index, element } => {
            usize::try_from(model.cardinality(*index)?).ok()?.checked_mul(size(model, *element)?)
        }
        Type::Clock => None,
        _ => Some(1),
    }
}
