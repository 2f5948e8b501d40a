//! Agents: parts of a model that move by themselves, and what is known of the order of their steps.
//!
//! A front end that knows of processes says so here. Nothing in it changes what the model means: an engine may use it to
//! look at few rules in a state, and to leave out orders of steps that make no difference (partial order reduction, by
//! ample sets).

use crate::{Condition, RuleId, VarId};

/// A family of agents: the entries of a variable, each with a control location.
#[derive(Clone, Debug, PartialEq)]
pub struct Agents {
    /// A record, or an array of records with an agent in each.
    pub var: VarId,
    /// The field of the record that holds the control location; of a finite scalar type.
    pub field: u32,
    /// What is known of each location, by its position among the values of the field's type.
    pub locations: Vec<Location>,
}

/// What is known of a control location.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Location {
    /// The rules whose guard begins with the test that the agent is here. If the agents are an array, the first parameter
    /// of each rule runs through its indices and says which agent it is. A rule belongs to one location at most.
    pub rules: Vec<RuleId>,
    /// When the agent may go first; `None` is never. Where it holds, whatever the other agents do before the agent moves
    /// neither makes one of these rules able to fire or unable, nor changes what it does, and they could as well do it
    /// afterwards, with the same result. The condition's first local is the index of the agent, if the agents are an array.
    pub goes_first: Option<Condition>,
    /// Whether this location is one of those at which all loops are cut: each way of an agent through locations where it
    /// may go first, back to where it began, passes one.
    pub cuts_loops: bool,
    /// Fields of the record that nothing reads before they are written, while the agent goes on from here: neither a rule
    /// nor the condition of an agent's location nor a property. What they hold makes no difference.
    pub dead: Vec<u32>,
    /// Whether other rules may do what the rules here do: control passes here within a step.
    pub passed: bool,
}
