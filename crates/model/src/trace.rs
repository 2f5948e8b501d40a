//! States and traces.

use crate::{Ratio, RuleId, SortId, StartId, TypedId, Value, VarId};

/// A value for each variable, in order, and which elements of growing sorts exist.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State {
    /// The value of each variable.
    pub values: Vec<Value>,
    /// For each sort, by element, whether it exists. Empty for sorts that do not grow.
    pub live: Vec<Vec<bool>>,
}

impl State {
    /// The value of a variable.
    pub fn value(&self, var: VarId) -> &Value {
        &self.values[var.index()]
    }

    /// Whether an element of a growing sort exists.
    pub fn is_live(&self, sort: SortId, element: u32) -> bool {
        self.live[sort.index()].get(element as usize).copied().unwrap_or(false)
    }
}

/// A run of a model from a start state.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The start.
    pub start: StartId,
    /// The values of its parameters.
    pub args: Vec<Value>,
    /// The values taken by its choices, in the order they were made.
    pub choices: Vec<Value>,
    /// The state it makes.
    pub state: State,
    /// What happens then.
    pub steps: Vec<Step>,
    /// For an infinite run: after the last step the run goes on from the state before this step (so `0` is the
    /// start state). If there is no such step, nothing can happen in the last state, and it stays for ever.
    pub loops_to: Option<usize>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Time that passes first.
    pub delay: Ratio,
    /// The rule that fires.
    pub rule: RuleId,
    /// The values of its parameters.
    pub args: Vec<Value>,
    /// The values taken by its choices, in the order they were made.
    pub choices: Vec<Value>,
    /// The state it leads to.
    pub state: State,
}

impl Trace {
    /// The last state.
    pub fn last(&self) -> &State {
        self.steps.last().map_or(&self.state, |step| &step.state)
    }

    /// The start state and the state after each step.
    pub fn states(&self) -> impl Iterator<Item = &State> {
        std::iter::once(&self.state).chain(self.steps.iter().map(|step| &step.state))
    }
}
