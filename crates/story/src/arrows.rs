//! Messages: what is put where others look for it, and who takes it.

use std::collections::BTreeMap;

use shoal_interpret::StateCell;
use shoal_model::{Model, Type, TypeId, Value};

use crate::{
    Arrow, Change, Target,
    changes::Raw,
    lanes::{Lanes, is_channel, is_slots},
    values::{is_neutral, short_value},
};

/// What is under way.
pub(crate) struct Mail<'a> {
    lanes: &'a Lanes,
    /// For each place where messages lie: those that were sent there and not taken, first sent first.
    boxes: BTreeMap<StateCell, Vec<Sent>>,
    /// Who took a message from there last.
    takers: BTreeMap<StateCell, usize>,
    arrows: Vec<Arrow>,
}

struct Sent {
    from: (usize, usize),
    value: Value,
    label: String,
}

impl<'a> Mail<'a> {
    pub(crate) fn new(lanes: &'a Lanes) -> Self {
        Mail { lanes, boxes: BTreeMap::new(), takers: BTreeMap::new(), arrows: Vec::new() }
    }

    /// Takes the messages out of the changes of a row; gives back what is left.
    pub(crate) fn sort_out(&mut self, model: &Model, row: usize, lane: usize, raw: Vec<Raw>) -> Vec<Change> {
        let mut rest = Vec::new();
        for raw in raw {
            // Of a part of a message by itself nobody knows whether it is one.
            let mail = raw.values.filter(|(cell, ty, ..)| {
                self.lanes.is_mailbox(cell.var) && (cell.path.len() <= 1 || holds_many(model, *ty))
            });
            let Some((cell, ty, old, new)) = mail else {
                rest.push(raw.change);
                continue;
            };
            let (gone, come) = moved(model, ty, &old, &new);
            if gone.is_empty() && come.is_empty() {
                rest.push(raw.change);
                continue;
            }
            let over = !gone.is_empty() && !come.is_empty() && !holds_many(model, ty);
            for (ty, value) in gone {
                self.take(model, (row, lane), &cell, ty, &value, over);
            }
            for (ty, value) in come {
                let label = short_value(model, ty, &value);
                let sent = Sent { from: (row, lane), value, label };
                self.boxes.entry(cell.clone()).or_default().push(sent);
            }
        }
        rest
    }

    /// A message is gone: taken by whoever acts, or written over by another.
    fn take(
        &mut self,
        model: &Model,
        at: (usize, usize),
        cell: &StateCell,
        ty: TypeId,
        value: &Value,
        over: bool,
    ) {
        self.takers.insert(cell.clone(), at.1);
        let waiting = self.boxes.entry(cell.clone()).or_default();
        let sent = waiting.iter().position(|sent| sent.value == *value);
        // What was there from the start was sent by nobody; whoever takes it, the step says so.
        let Some(sent) = sent.map(|position| waiting.remove(position)) else {
            let (label, shared) = (short_value(model, ty, value), self.lanes.shared());
            self.arrows.push(Arrow { from: (0, shared), to: Target::Taken(at.0, at.1), label });
            return;
        };
        let own = over && sent.from.1 == at.1;
        let to = if own { Target::Lost(at.0) } else { Target::Taken(at.0, at.1) };
        self.arrows.push(Arrow { from: sent.from, to, label: sent.label });
    }

    /// All messages; those that nobody took are still under way.
    pub(crate) fn finish(mut self, model: &Model) -> Vec<Arrow> {
        for (cell, waiting) in std::mem::take(&mut self.boxes) {
            let taker = self.takers.get(&cell).copied();
            let owner = self.lanes.owner(model, cell.var, &cell.path).0;
            for sent in waiting {
                // Who is said to take them, or whoever took another message from there, or else whose it is.
                let other = |lane: &usize| *lane != sent.from.1;
                let shared = self.lanes.shared();
                let known = Some(owner).filter(|owner| *owner != shared || !self.lanes.has_agents());
                let home = Some(shared).filter(|_| owner == sent.from.1);
                let said = self.lanes.addressee(cell.var);
                let to = said.or(taker.filter(other)).or(known.filter(other)).or(home.filter(other));
                self.arrows.push(Arrow { from: sent.from, to: Target::InFlight(to), label: sent.label });
            }
        }
        self.arrows
    }
}

type Messages = Vec<(TypeId, Value)>;

/// The messages that went from a place and those that came to it.
fn moved(model: &Model, ty: TypeId, old: &Value, new: &Value) -> (Messages, Messages) {
    let (before, after) = (contents(model, ty, old), contents(model, ty, new));
    let mut come = after;
    let mut gone = Vec::new();
    for message in before {
        match come.iter().position(|other| *other == message) {
            Some(position) => drop(come.remove(position)),
            None => gone.push(message),
        }
    }
    (gone, come)
}

fn holds_many(model: &Model, ty: TypeId) -> bool {
    is_channel(model, ty)
        || is_slots(model, ty)
        || matches!(model.kind(ty), Type::Multiset { .. } | Type::Sequence { .. })
}

/// The messages that lie in a place.
fn contents(model: &Model, ty: TypeId, value: &Value) -> Messages {
    match (model.kind(ty), value) {
        (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
            slots.iter().flatten().map(|value| (*element, value.clone())).collect()
        }
        (Type::Sequence { element, .. }, Value::Sequence(items)) => {
            items.iter().map(|value| (*element, value.clone())).collect()
        }
        (Type::Record { fields }, Value::Record(values)) if is_channel(model, ty) => {
            match (values.as_slice(), model.kind(fields[1].ty)) {
                ([Value::Int(len), Value::Array(slots)], Type::Array { element, .. }) => {
                    let full = slots.iter().take(usize::try_from(*len).unwrap_or(0));
                    full.map(|value| (*element, value.clone())).collect()
                }
                _ => Vec::new(),
            }
        }
        (Type::Array { element, .. }, Value::Array(slots)) if is_slots(model, ty) => {
            let full = slots.iter().filter(|value| !is_neutral(model, *element, value));
            full.map(|value| (*element, value.clone())).collect()
        }
        _ if is_neutral(model, ty, value) => Vec::new(),
        _ => vec![(ty, value.clone())],
    }
}
