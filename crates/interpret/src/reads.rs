//! What a step looks at, and why an instance may not fire: what an explanation of a run is made from.

use shoal_model::{State, Value, VarId};

use crate::{
    Blame, Interpreter,
    blame::blamed,
    machine::{Executed, ReferenceMachine, ValueAddress},
    step::{Instance, prepare},
};

/// A part of a state: a variable, and the way into it by the positions of fields and entries. What lies in a bag or a list
/// has no position that lasts, so the way ends there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateCell {
    /// The variable.
    pub var: VarId,
    /// The way into its value.
    pub path: Vec<usize>,
}

impl StateCell {
    /// Whether one is the other or a part of it.
    pub fn meets(&self, other: &StateCell) -> bool {
        let shorter = self.path.len().min(other.path.len());
        self.var == other.var && self.path[..shorter] == other.path[..shorter]
    }
}

impl<'m> Interpreter<'m> {
    /// The cells that an instance looks at when it is tried and fires with these choices; until it faults, if it does.
    pub fn reads(&self, state: &State, instance: &Instance, choices: &[Value]) -> Vec<StateCell> {
        self.looks_at(state, instance, Some(choices))
    }

    /// The cells that the guard of an instance looks at.
    pub fn guard_reads(&self, state: &State, instance: &Instance) -> Vec<StateCell> {
        self.looks_at(state, instance, None)
    }

    /// What an instance looks at when it is tried, and when it then fires if choices are given.
    fn looks_at(&self, state: &State, instance: &Instance, fires: Option<&[Value]>) -> Vec<StateCell> {
        let Some(rule) = self.model().rules.get(instance.rule) else { return Vec::new() };
        let mut machine = ReferenceMachine::new(self.model(), state);
        machine.script = fires.unwrap_or_default().to_vec();
        machine.read = Some(Vec::new());
        machine.push(machine.frame(&rule.code.locals, None));
        // A step that faults or is dropped has looked at something before, and that is what is asked.
        let _ = prepare(&mut machine, rule, &instance.args).and_then(|_| {
            if let Some(guard) = &rule.guard {
                machine.truth(guard)?;
            }
            match fires {
                Some(_) => machine.block(&rule.code.body).map(|_| ()),
                None => Ok(()),
            }
        });
        distinct(machine.read.take())
    }

    /// Why an instance may not fire: the first part of its guard that is false. Nothing if it may, if its guard faults, or
    /// if it has no such instance.
    pub fn why_disabled(&self, state: &State, instance: &Instance) -> Option<Blame> {
        let rule = self.model().rules.get(instance.rule)?;
        let guard = rule.guard.as_ref()?;
        let mut machine = ReferenceMachine::new(self.model(), state);
        machine.push(machine.frame(&rule.code.locals, None));
        let prepared: Executed<bool> = prepare(&mut machine, rule, &instance.args);
        if !prepared.ok()? || machine.truth(guard).ok()? {
            return None;
        }
        blamed(machine, &rule.code.locals, guard)
    }
}

/// The cells of a log, each once.
pub(crate) fn distinct(log: Option<Vec<StateCell>>) -> Vec<StateCell> {
    let mut cells = log.unwrap_or_default();
    cells.sort();
    cells.dedup();
    cells
}

/// The part of the state that a location is, if it is one.
pub(crate) fn cell(location: &ValueAddress) -> Option<StateCell> {
    let (var, path) = location.in_state()?;
    Some(StateCell { var, path })
}
