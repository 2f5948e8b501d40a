//! Permuting the elements of sorts in a state, the slow and obvious way.

use std::collections::BTreeSet;

use shoal_model::{Model, SortId, State, Type, TypeId, TypedId, Value};

/// For each sort, where each element goes.
pub(crate) type Permutation = Vec<Vec<u32>>;

/// All permutations of the given sorts, each combined with each; other sorts stay as they are.
pub(crate) fn permutations(model: &Model, sorts: &[SortId]) -> Vec<Permutation> {
    let identity: Permutation =
        model.sorts.iter().map(|sort| (0..sort.fixed_size().unwrap_or(0)).collect()).collect();
    let mut all = vec![identity];
    for sort in sorts {
        let size = model.sorts[*sort].fixed_size().unwrap_or(0);
        all = all
            .iter()
            .flat_map(|base| {
                orders(size).into_iter().map(|order| {
                    let mut permutation = base.clone();
                    permutation[sort.index()] = order;
                    permutation
                })
            })
            .collect();
    }
    all
}

fn orders(size: u32) -> Vec<Vec<u32>> {
    (0..size).fold(vec![Vec::new()], |partial, next| {
        partial
            .iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, next);
                    order
                })
            })
            .collect()
    })
}

/// The state with its elements permuted.
pub(crate) fn permute(model: &Model, state: &State, permutation: &Permutation) -> State {
    let values = model.vars.iter().zip(&state.values);
    State {
        values: values.map(|(var, value)| permute_value(model, var.ty, value, permutation)).collect(),
        live: state.live.clone(),
    }
}

fn permute_value(model: &Model, ty: TypeId, value: &Value, permutation: &Permutation) -> Value {
    match (model.kind(ty), value) {
        (_, Value::Elem(sort, element)) => Value::Elem(*sort, permutation[sort.index()][*element as usize]),
        (Type::Record { fields }, Value::Record(values)) => {
            let fields = fields.iter().zip(values);
            Value::Record(
                fields.map(|(field, value)| permute_value(model, field.ty, value, permutation)).collect(),
            )
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            let mut result = values.clone();
            for (ordinal, value) in values.iter().enumerate() {
                let from = model.value_at(*index, ordinal as u64).expect("an index");
                let to = permute_value(model, *index, &from, permutation);
                let to = model.ordinal(*index, &to).expect("an index");
                result[to as usize] = permute_value(model, *element, value, permutation);
            }
            Value::Array(result)
        }
        (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
            let mut slots: Vec<Option<Value>> = slots
                .iter()
                .map(|slot| slot.as_ref().map(|value| permute_value(model, *element, value, permutation)))
                .collect();
            slots.sort();
            Value::Multiset(slots)
        }
        (_, value) => value.clone(),
    }
}

/// The number of orbits in a set of states, and whether the set is closed under the permutations.
pub(crate) fn orbits(model: &Model, states: &BTreeSet<State>, sorts: &[SortId]) -> (usize, bool) {
    let permutations = permutations(model, sorts);
    let mut representatives = BTreeSet::new();
    let mut closed = true;
    for state in states {
        let orbit = permutations.iter().map(|permutation| permute(model, state, permutation));
        let mut least = state.clone();
        for member in orbit {
            closed &= states.contains(&member);
            least = least.min(member);
        }
        representatives.insert(least);
    }
    (representatives.len(), closed)
}
