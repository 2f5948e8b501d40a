//! Permuting the elements of sorts in a state, the slow and obvious way.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
};

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

/// One of the permutations of a state, mostly the same for all of them: elements are put in an order of what the state says of
/// them, whatever they are called. Where that is the same of two elements their order stays, so a few states may have more than
/// one such image; none has a wrong one.
pub(crate) fn folded(model: &Model, state: &State, sorts: &[SortId]) -> State {
    let identity = permutations(model, &[]).remove(0);
    let mut looks: Looks = identity.iter().map(|elements| vec![0; elements.len()]).collect();
    // Twice: the second time, what elements look like is told of those that refer to them.
    for _ in 0..2 {
        let mut next = looks.clone();
        for sort in sorts {
            for (element, seen) in next[sort.index()].iter_mut().enumerate() {
                let focus = (*sort, element as u32);
                let values = model.vars.iter().zip(&state.values);
                let parts = values.map(|(var, value)| look(model, var.ty, value, focus, &looks));
                *seen = digest(&parts.collect::<Vec<_>>());
            }
        }
        looks = next;
    }
    let mut permutation = identity;
    for sort in sorts {
        let looks = &looks[sort.index()];
        let mut order: Vec<usize> = (0..looks.len()).collect();
        order.sort_by_key(|element| looks[*element]);
        order.iter().enumerate().for_each(|(to, from)| permutation[sort.index()][*from] = to as u32);
    }
    permute(model, state, &permutation)
}

/// By sort and element: a number for what is known of it.
type Looks = Vec<Vec<u64>>;

fn digest(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// What a value says to one element, whatever elements are called.
fn look(model: &Model, ty: TypeId, value: &Value, focus: (SortId, u32), looks: &Looks) -> u64 {
    match (model.kind(ty), value) {
        (_, Value::Elem(sort, element)) if (*sort, *element) == focus => 1,
        (_, Value::Elem(sort, element)) => digest(&(sort.index(), looks[sort.index()][*element as usize])),
        (Type::Record { fields }, Value::Record(values)) => {
            let fields = fields.iter().zip(values);
            digest(
                &fields.map(|(field, value)| look(model, field.ty, value, focus, looks)).collect::<Vec<_>>(),
            )
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            let entries = model.values(*index).zip(values);
            let entry = |(at, value): (Value, &Value)| {
                (look(model, *index, &at, focus, looks), look(model, *element, value, focus, looks))
            };
            let mut entries: Vec<(u64, u64)> = entries.map(entry).collect();
            entries.sort_unstable();
            digest(&entries)
        }
        (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
            let slot =
                |slot: &Option<Value>| slot.as_ref().map(|value| look(model, *element, value, focus, looks));
            let mut slots: Vec<Option<u64>> = slots.iter().map(slot).collect();
            slots.sort_unstable();
            digest(&slots)
        }
        (_, value) => digest(value),
    }
}
