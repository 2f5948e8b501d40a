//! Lanes of a run of which only the states are known: no model says who acts, so the run itself has to.

use shoal_model::{Model, Trace, Type, TypeId, TypedId, Value, VarId};

use super::{Actor, Key, Lane, LaneKind, Lanes, VarOwner, is_message};
use crate::{Directions, values::is_neutral};

/// What was read off a run of who takes part in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedParts {
    /// Variables that have an entry for each of some parts, and the names of these parts, in the order of the entries.
    pub families: Vec<(Vec<VarId>, Vec<String>)>,
    /// Parts that have variables of their own.
    pub singles: Vec<(String, Vec<VarId>)>,
    /// What all of them share is called so.
    pub shared: String,
    /// Whose the steps of each rule are: the name of a part, or nobody's.
    pub actors: Vec<Option<String>>,
}

impl Lanes {
    /// The lanes of a run that says itself who takes part.
    pub(crate) fn observed(model: &Model, trace: &Trace, parts: &ObservedParts) -> Lanes {
        let mut lanes = Lanes::nobody(model, &Directions::default());
        for (vars, names) in &parts.families {
            let Some(first) = vars.first() else { continue };
            let family = lanes.add_family(Key::Agents(*first), names.clone());
            vars.iter().for_each(|var| lanes.owners[var.index()] = VarOwner::Entry(family));
        }
        for (name, vars) in &parts.singles {
            let lane = lanes.add_part(name.clone());
            vars.iter().for_each(|var| lanes.owners[var.index()] = VarOwner::Lane(lane));
        }
        for (rule, actor) in parts.actors.iter().enumerate() {
            let lane = actor.as_ref().and_then(|name| lanes.lanes.iter().position(|it| it.name == *name));
            lanes.actors[rule] = lane.map_or(Actor::Shared, Actor::Lane);
        }
        lanes.lanes.push(Lane {
            name: parts.shared.clone(),
            kind: LaneKind::Shared,
            family: None,
            sort: None,
        });
        lanes.observe_mailboxes(model, trace);
        lanes
    }

    /// Bags and lists that begin empty and that something is taken out of, and what begins with a value that says nothing and is
    /// written by others than its owner. A bag that only grows tells what has happened.
    fn observe_mailboxes(&mut self, model: &Model, trace: &Trace) {
        let foreign = self.seen_written_by_others(model, trace);
        for (id, var) in model.vars.enumerate() {
            let start = trace.state.value(id);
            let states = || trace.states().map(|state| state.value(id));
            let carries = is_neutral(model, var.ty, start)
                && model.type_contains(var.ty, &|part| {
                    matches!(part, Type::Multiset { .. } | Type::Sequence { .. })
                })
                && states().zip(states().skip(1)).any(|(old, new)| loses_some(old, new))
                && !self.names_parts(model, var.ty);
            let post = match model.kind(var.ty) {
                Type::Array { element, .. } => {
                    foreign[id.index()] && is_message(model, *element) && is_neutral(model, var.ty, start)
                }
                _ => false,
            };
            self.mailboxes[id.index()] = carries || post;
        }
    }

    /// The variables of parts that others have written in the run.
    fn seen_written_by_others(&self, model: &Model, trace: &Trace) -> Vec<bool> {
        let mut foreign = vec![false; model.vars.len()];
        for (step, before) in trace.steps.iter().zip(trace.states()) {
            let actor = self.actor(model, step.rule, &step.args);
            for var in model.vars.ids() {
                let (Value::Array(old), Value::Array(new)) = (before.value(var), step.state.value(var))
                else {
                    continue;
                };
                let changed = (0..old.len()).filter(|at| old.get(*at) != new.get(*at));
                let others = changed.map(|at| self.owner(model, var, &[at]).0).any(|owner| owner != actor);
                foreign[var.index()] |= others;
            }
        }
        foreign
    }

    /// Whether what lies in a bag are the names of parts: who has voted is no message.
    fn names_parts(&self, model: &Model, ty: TypeId) -> bool {
        match model.kind(ty) {
            Type::Multiset { element, .. } | Type::Sequence { element, .. } | Type::Array { element, .. } => {
                self.names_parts(model, *element)
            }
            Type::Enum { variants } => {
                !variants.is_empty()
                    && variants.iter().all(|name| self.lanes.iter().any(|lane| lane.name == *name))
            }
            _ => false,
        }
    }
}

/// Whether something that lay in a bag or a list, or in one of several, is there no more.
fn loses_some(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Multiset(old), Value::Multiset(new)) => old.iter().any(|item| !new.contains(item)),
        (Value::Sequence(old), Value::Sequence(new)) => new.len() < old.len(),
        (Value::Array(old), Value::Array(new)) => old.iter().zip(new).any(|(old, new)| loses_some(old, new)),
        _ => false,
    }
}
