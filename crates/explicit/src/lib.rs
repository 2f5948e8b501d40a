//! The explicit engine: packed states, canonical representatives, breadth-first search.
//!
//! [`check`] decides the properties of a job by visiting every reachable state, or exactly one of each orbit of
//! the sorts that the job names. [`graph()`] gives the states and steps themselves.
//!
//! The parts, in the order a model passes them:
//!
//! - `support`: what is refused, by name, before anything starts.
//! - `layout`, `bag`: a state as a row of cells, its packed form, multisets in normal form.
//! - `code`, `compile`: rules, functions and conditions become flat code on cells, once.
//! - `exec`, `step`: the machine that runs the code, and everything that can happen in a state.
//! - `jit`: the same code as the machine's own, made with Cranelift when the search begins.
//! - `canon`: the representative of a state's orbit.
//! - `store`, `shards`: the states that were seen.
//! - `expand`, `batch`: the successors of some states.
//! - `worker`, `team`: what one thread does, and how threads meet.
//! - `search`, `monitor`, `possible`: the search, and the properties while it runs.
//! - `temporal`: formulas of linear time, on the graph of all states.
//! - `trace`, `report`: counterexamples on concrete states.

mod bag;
mod batch;
mod bytes;
mod canon;
mod code;
mod compile;
mod exec;
mod expand;
mod graph;
mod jit;
mod layout;
mod monitor;
mod possible;
mod report;
mod search;
mod shards;
mod step;
mod store;
mod support;
mod team;
mod temporal;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trace;
mod worker;

pub use graph::{Edge, Graph, graph};
pub use search::{Keeper, Refusal, Save};
pub use temporal::{check, check_and_keep};
