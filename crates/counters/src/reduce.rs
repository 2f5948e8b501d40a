//! Fewer local states: what cannot matter any more is forgotten.

use std::collections::BTreeMap;

use shoal_analysis::{Liveness, liveness};
use shoal_model::{Model, OrInternal, SortId, Type, TypeId, Value, VarId};

use crate::{compile::LocalState, support::Tracked};

/// Forgets the values of variables that are not live.
pub(crate) struct LivenessReduction {
    sorts: BTreeMap<SortId, (Vec<VarId>, Liveness)>,
}

impl LivenessReduction {
    /// By the live variables of each counted sort.
    pub(crate) fn new(model: &Model, tracked: &Tracked) -> LivenessReduction {
        let of = |sort: &SortId| Some((*sort, (cells(model, *sort), liveness(model, *sort)?)));
        LivenessReduction { sorts: tracked.keys().filter_map(of).collect() }
    }

    /// No reduction at all.
    pub(crate) fn none() -> LivenessReduction {
        LivenessReduction { sorts: BTreeMap::new() }
    }

    /// The local state without what is not live in it.
    pub(crate) fn apply(&self, sort: SortId, mut state: LocalState) -> LocalState {
        let Some((cells, liveness)) = self.sorts.get(&sort) else { return state };
        let control = cells.iter().position(|var| *var == liveness.control);
        let Some(live) = control.and_then(|at| liveness.live.get(&state[at])) else { return state };
        for (var, value) in cells.iter().zip(&mut state) {
            if liveness.variables.contains(var) && !live.contains(var) {
                *value = Value::Undefined;
            }
        }
        state
    }
}

/// The variable that each cell of a local state belongs to.
pub(crate) fn cells(model: &Model, sort: SortId) -> Vec<VarId> {
    let count = |(id, var): (VarId, &shoal_model::Var)| vec![id; leaves(model, var.ty, sort, false)];
    model.vars.enumerate().flat_map(count).collect()
}

fn leaves(model: &Model, ty: TypeId, sort: SortId, inside: bool) -> usize {
    match model.kind(ty) {
        Type::Record { fields } => fields.iter().map(|field| leaves(model, field.ty, sort, inside)).sum(),
        Type::Array { index, element } => match model.kind(*index) {
            Type::Ref { sort: of, nullable: false } if *of == sort => leaves(model, *element, sort, true),
            _ => {
                leaves(model, *element, sort, inside)
                    * model.cardinality(*index).or_internal("an array has a finite index") as usize
            }
        },
        _ => usize::from(inside),
    }
}
