//! What a step changes, whose it is, and in whole values: a message that is written field by field is one change.

use shoal_interpret::StateCell;
use shoal_model::{Model, State, Type, TypeId, TypedId, Value};

use crate::{
    lanes::{Lanes, is_channel, is_slots},
    values::short_value,
};

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Whose it is.
    pub lane: usize,
    /// What is changed, without what the lane says already; empty where the lane says it all.
    pub path: String,
    /// The value before; nothing for something added to a bag.
    pub old: Option<String>,
    /// The value after; nothing for something taken from a bag.
    pub new: Option<String>,
    /// What kind of change it is.
    pub kind: ChangeKind,
    /// The part of the state that is changed; nothing where an object comes or goes.
    pub cell: Option<StateCell>,
}

/// What kind of change something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A value becomes another.
    Set,
    /// A process goes on to another place.
    Moved,
    /// An object comes to be.
    Created,
    /// An object is deleted.
    Deleted,
}

/// A change, before it is known whether it is a message.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    pub(crate) change: Change,
    /// Where, the type of what is there, what was there and what is; nothing where an object comes or goes.
    pub(crate) values: Option<(StateCell, TypeId, Value, Value)>,
}

/// What differs between two states.
pub(crate) fn between(model: &Model, lanes: &Lanes, old: &State, new: &State) -> Vec<Raw> {
    let mut finder = Finder { model, lanes, found: Vec::new() };
    for (var, declared) in model.vars.enumerate() {
        // What a language keeps for itself (`_nr_pr`) is nobody's business.
        if declared.name.starts_with('_') || lanes.is_hidden(var) {
            continue;
        }
        let cell = StateCell { var, path: Vec::new() };
        finder.compare(declared.ty, &declared.name, cell, old.value(var), new.value(var));
    }
    // Of others, which may be ranges in this run, elements neither come nor go.
    for (id, sort) in model.sorts.enumerate().filter(|(_, sort)| sort.is_growing()) {
        let size = old.live[id.index()].len().max(new.live[id.index()].len()) as u32;
        for element in 0..size {
            let kind = match (old.is_live(id, element), new.is_live(id, element)) {
                (false, true) => ChangeKind::Created,
                (true, false) => ChangeKind::Deleted,
                _ => continue,
            };
            finder.comes_or_goes(kind, sort.element_name(element));
        }
    }
    finder.found
}

struct Finder<'a> {
    model: &'a Model,
    lanes: &'a Lanes,
    found: Vec<Raw>,
}

/// Records with more parts than this are taken apart even if several of them change.
const SMALL: usize = 8;

impl Finder<'_> {
    fn comes_or_goes(&mut self, kind: ChangeKind, name: String) {
        let text = Some(name);
        let (old, new) = if kind == ChangeKind::Created { (None, text) } else { (text, None) };
        let change = Change { lane: self.lanes.shared(), path: String::new(), old, new, kind, cell: None };
        self.found.push(Raw { change, values: None });
    }

    fn compare(&mut self, ty: TypeId, name: &str, cell: StateCell, old: &Value, new: &Value) {
        if old == new {
            return;
        }
        // The entries of another object are not there; that it comes or goes is said elsewhere.
        if *new == Value::Undefined && matches!(self.model.kind(ty), Type::Record { .. } | Type::Array { .. })
        {
            return;
        }
        match (self.model.kind(ty), old, new) {
            (Type::Record { fields }, Value::Record(before), Value::Record(after))
                if !self.is_whole(ty, &cell, before, after) =>
            {
                for (at, field) in fields.iter().enumerate() {
                    let part = deeper(&cell, at);
                    let name =
                        if name.is_empty() { field.name.clone() } else { format!("{name}.{}", field.name) };
                    self.compare(field.ty, &name, part, &before[at], &after[at]);
                }
            }
            // Messages move up in their row of places: what comes and goes is seen from all of it.
            (Type::Array { .. }, Value::Array(_), Value::Array(_))
                if self.lanes.is_mailbox(cell.var) && cell.path.len() == 1 && is_slots(self.model, ty) =>
            {
                self.push(ty, name, cell, old, new);
            }
            (Type::Array { index, element }, Value::Array(before), Value::Array(after)) => {
                for at in 0..before.len().max(after.len()) {
                    let nothing = &Value::Undefined;
                    let (old, new) = (before.get(at).unwrap_or(nothing), after.get(at).unwrap_or(nothing));
                    let part = deeper(&cell, at);
                    // An entry that says whose it is need not be named again.
                    let owned =
                        cell.path.is_empty() && self.lanes.owner(self.model, cell.var, &part.path).1 == 1;
                    let alone =
                        || self.lanes.is_all_of_family(self.model, cell.var) || is_most(self.model, *element);
                    let name = match owned {
                        true if self.lanes.place(cell.var).is_some() || alone() => String::new(),
                        true => name.to_string(),
                        false => format!("{name}[{}]", index_name(self.model, *index, at)),
                    };
                    self.compare(*element, &name, part, old, new);
                }
            }
            (Type::Multiset { element, .. }, Value::Multiset(before), Value::Multiset(after))
                if !self.lanes.is_mailbox(cell.var) =>
            {
                self.come_and_go(*element, name, &cell, before, after);
            }
            _ => self.push(ty, name, cell, old, new),
        }
    }

    /// What comes into a bag that carries no messages, and what goes.
    fn come_and_go(
        &mut self,
        ty: TypeId,
        name: &str,
        cell: &StateCell,
        before: &[Option<Value>],
        after: &[Option<Value>],
    ) {
        let lane = self.lanes.owner(self.model, cell.var, &cell.path).0;
        let text = |value: &Option<Value>| value.as_ref().map(|value| short_value(self.model, ty, value));
        let gone = before.iter().filter(|item| !after.contains(item)).map(|item| (text(item), None));
        let come = after.iter().filter(|item| !before.contains(item)).map(|item| (None, text(item)));
        let changes = gone.chain(come).map(|(old, new)| Raw {
            change: Change {
                lane,
                path: name.into(),
                old,
                new,
                kind: ChangeKind::Set,
                cell: Some(cell.clone()),
            },
            values: None,
        });
        let changes: Vec<Raw> = changes.collect();
        self.found.extend(changes);
    }

    /// Whether a change of a record is told as a whole: a channel, or a small record of which several parts change.
    fn is_whole(&self, ty: TypeId, cell: &StateCell, before: &[Value], after: &[Value]) -> bool {
        let scalar =
            |value: &Value| !matches!(value, Value::Record(_) | Value::Array(_) | Value::Multiset(_));
        let changed = before.iter().zip(after).filter(|(old, new)| old != new).count();
        let blank = |values: &[Value]| values.iter().all(is_blank);
        let is_agent = self.lanes.place(cell.var).is_some();
        let mailbox = self.lanes.is_mailbox(cell.var) && before.iter().all(scalar);
        is_channel(self.model, ty)
            || mailbox
            || !is_agent && !cell.path.is_empty() && blank(before) != blank(after)
            || !is_agent && changed > 1 && before.len() <= SMALL && before.iter().chain(after).all(scalar)
    }

    fn push(&mut self, ty: TypeId, name: &str, cell: StateCell, old: &Value, new: &Value) {
        let (lane, _) = self.lanes.owner(self.model, cell.var, &cell.path);
        let of_agent = cell.path.len().checked_sub(1).map(|last| cell.path[last]);
        let moves = self.lanes.place(cell.var).is_some_and(|field| of_agent == Some(field))
            || self.lanes.is_program_counter(cell.var);
        let own_name = &self.lanes.lanes()[lane].name;
        let path = match name.strip_prefix(own_name.as_str()) {
            Some("") => "",
            Some(rest) if rest.starts_with('.') => &rest[1..],
            _ => name,
        };
        let text = |value: &Value| Some(short_value(self.model, ty, value));
        let kind = if moves { ChangeKind::Moved } else { ChangeKind::Set };
        let values = Some((cell.clone(), ty, old.clone(), new.clone()));
        let change =
            Change { lane, path: path.into(), old: text(old), new: text(new), kind, cell: Some(cell) };
        self.found.push(Raw { change, values });
    }
}

/// Whether a record holds most of what a part knows, as the locals of a thread do: its name says nothing then.
fn is_most(model: &Model, ty: TypeId) -> bool {
    const MANY: usize = 6;
    matches!(model.kind(ty), Type::Record { fields } if fields.len() >= MANY)
}

/// Whether there is nothing in a value.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Undefined => true,
        Value::Record(values) | Value::Array(values) | Value::Sequence(values) => values.iter().all(is_blank),
        Value::Multiset(slots) => slots.iter().flatten().next().is_none(),
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Enum(..)
        | Value::Elem(..)
        | Value::Clock(_) => false,
    }
}

fn deeper(cell: &StateCell, at: usize) -> StateCell {
    let mut path = cell.path.clone();
    path.push(at);
    StateCell { var: cell.var, path }
}

pub(crate) fn index_name(model: &Model, index: TypeId, at: usize) -> String {
    match (model.value_at(index, at as u64), model.kind(index)) {
        (Some(value), _) => model.show(&value).to_string(),
        (None, Type::Ref { sort, .. }) => model.sorts[*sort].element_name(at as u32),
        (None, _) => at.to_string(),
    }
}
