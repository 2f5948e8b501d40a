//! The explicit engine: packed states, canonical representatives, breadth-first search.
//!
//! [`check`] decides the properties of a job by visiting every reachable state, or exactly one of each orbit of
//! the sorts that the job names. [`graph()`] gives the states and steps themselves.
//!
//! What happens in a state is run by [`shoal_code`]. The parts, in the order a model passes them:
//!
//! - `support`: what is refused, by name, before anything starts.
//! - `room`: room for elements that come and go.
//! - `canon`: the representative of a state's orbit.
//! - `equivariance`: whether elements are treated alike, where that is not proved.
//! - `store`, `table`, `cpu`, `shards`, `kept`, `tree`, `visited`: the states that were seen.
//! - `expand`, `batch`, `recent`: the successors of some states.
//! - `apart`, `owner`, `runs`: searches that do not fit in one memory.
//! - `worker`, `absorb`: what one thread does (`shoal_team`: how threads meet).
//! - `search`, `monitor`, `judge`: the search, and the properties while it runs.
//! - `kripke`: the steps and labels that a search keeps where more is asked than of single states.
//! - `temporal`: formulas of linear and of branching time, which read them.
//! - `trace`, `report`: counterexamples on concrete states.

mod absorb;
mod apart;
mod batch;
mod bytes;
mod canon;
mod cpu;
mod equivariance;
mod expand;
mod graph;
mod judge;
mod kept;
mod kripke;
mod monitor;
mod narrow;
mod order;
mod owner;
mod recent;
mod report;
mod room;
mod runs;
mod search;
mod shards;
mod store;
mod support;
mod table;
mod temporal;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod trace;
mod tree;
mod visited;
mod worker;

pub use apart::{Alone, Exchange, LostContact, Packet, Party, check_apart, supports_apart};
pub use graph::{Edge, Graph, graph};
pub use runs::{LevelFiles, StateFiles, Writing};
pub use search::{Keeper, Refusal, Save};
pub use support::supports;
pub use temporal::{check, check_and_keep};
