//! What differs between two states, leaf by leaf, with the full name of each place.

use std::fmt;

use shoal::ClockFact;
use shoal_model::{Model, State, Type, TypeId, TypedId, Value};

use crate::names::render_value;

/// A place whose value differs between two states. Of a bag, an element that was added or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceChange {
    /// The place, such as `Chan[Client_1].Cmd`.
    pub place: String,
    /// The value before; none for something added.
    pub old: Option<String>,
    /// The value after; none for something removed.
    pub new: Option<String>,
}

impl fmt::Display for PlaceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => write!(f, "{}: {old} → {new}", self.place),
            (None, Some(new)) => write!(f, "{}: + {new}", self.place),
            (Some(old), None) => write!(f, "{}: − {old}", self.place),
            (None, None) => write!(f, "{}", self.place),
        }
    }
}

/// What is different in `new`.
pub fn changes(model: &Model, old: &State, new: &State) -> Vec<PlaceChange> {
    let mut found = Vec::new();
    for (id, var) in model.vars.enumerate() {
        compare(model, var.ty, &var.name, old.value(id), new.value(id), &mut found);
    }
    // Of others, which may be ranges in this run, elements neither come nor go.
    for (id, sort) in model.sorts.enumerate().filter(|(_, sort)| sort.is_growing()) {
        let size = old.live[id.index()].len().max(new.live[id.index()].len()) as u32;
        for element in 0..size {
            let name = sort.element_name(element);
            match (old.is_live(id, element), new.is_live(id, element)) {
                (false, true) => {
                    found.push(PlaceChange { place: sort.name.clone(), old: None, new: Some(name) })
                }
                (true, false) => {
                    found.push(PlaceChange { place: sort.name.clone(), old: Some(name), new: None })
                }
                _ => {}
            }
        }
    }
    found
}

/// A whole state, one leaf a line.
pub fn render_state(model: &Model, state: &State) -> Vec<String> {
    let mut lines = Vec::new();
    for (id, var) in model.vars.enumerate() {
        leaves(model, var.ty, &var.name, state.value(id), &mut lines);
    }
    lines
}

/// The states of a node of a graph: what they have in common, and what is known of their clocks.
pub fn render_node(model: &Model, state: &State, clocks: &[ClockFact]) -> Vec<String> {
    let mut lines = render_state(model, state);
    lines.extend(clocks.iter().map(ToString::to_string));
    lines
}

fn compare(model: &Model, ty: TypeId, place: &str, old: &Value, new: &Value, found: &mut Vec<PlaceChange>) {
    if old == new {
        return;
    }
    match (model.kind(ty), old, new) {
        (Type::Record { fields }, Value::Record(old), Value::Record(new)) => {
            for (field, (old, new)) in fields.iter().zip(old.iter().zip(new)) {
                compare(model, field.ty, &format!("{place}.{}", field.name), old, new, found);
            }
        }
        (Type::Array { index, element }, Value::Array(old), Value::Array(new)) => {
            for position in 0..old.len().max(new.len()) {
                let nothing = &Value::Undefined;
                let (old, new) = (old.get(position).unwrap_or(nothing), new.get(position).unwrap_or(nothing));
                // Most of a large array stays as it is, and a name takes longer than to see that.
                if old == new {
                    continue;
                }
                let place = format!("{place}[{}]", index_name(model, *index, position));
                compare(model, *element, &place, old, new, found);
            }
        }
        (Type::Multiset { element, .. }, Value::Multiset(old), Value::Multiset(new)) => {
            compare_bags(model, *element, place, old, new, found);
        }
        _ => found.push(PlaceChange {
            place: place.into(),
            old: Some(render_value(model, ty, old)),
            new: Some(render_value(model, ty, new)),
        }),
    }
}

fn compare_bags(
    model: &Model,
    ty: TypeId,
    place: &str,
    old: &[Option<Value>],
    new: &[Option<Value>],
    found: &mut Vec<PlaceChange>,
) {
    let mut added: Vec<&Value> = new.iter().flatten().collect();
    for value in old.iter().flatten() {
        match added.iter().position(|other| *other == value) {
            Some(position) => drop(added.remove(position)),
            None => found.push(PlaceChange {
                place: place.into(),
                old: Some(render_value(model, ty, value)),
                new: None,
            }),
        }
    }
    for value in added {
        found.push(PlaceChange { place: place.into(), old: None, new: Some(render_value(model, ty, value)) });
    }
}

fn leaves(model: &Model, ty: TypeId, place: &str, value: &Value, lines: &mut Vec<String>) {
    match (model.kind(ty), value) {
        (Type::Record { fields }, Value::Record(values)) => {
            for (field, value) in fields.iter().zip(values) {
                leaves(model, field.ty, &format!("{place}.{}", field.name), value, lines);
            }
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            for (position, value) in values.iter().enumerate() {
                let place = format!("{place}[{}]", index_name(model, *index, position));
                leaves(model, *element, &place, value, lines);
            }
        }
        // A zone says what it may show.
        (Type::Clock, Value::Undefined) => {}
        _ => lines.push(format!("{place} = {}", render_value(model, ty, value))),
    }
}

/// The name of the index at a position of an array. An array over a growing sort has no fixed set of indices.
pub(crate) fn index_name(model: &Model, index: TypeId, position: usize) -> String {
    if let Some(value) = model.value_at(index, position as u64) {
        return model.show(&value).to_string();
    }
    match model.kind(index) {
        Type::Ref { sort, .. } => model.sorts[*sort].element_name(position as u32),
        _ => position.to_string(),
    }
}
