//! The timed engine: reachability by zones in which like processes are counted, not named, and formulas with bounds on time.

mod any;
mod bounds;
mod deadlock;
mod formulas;
mod graph;
mod layout;
mod machine;
mod screen;
mod search;
mod state;
mod steps;
mod trace;

pub use graph::{ClockFact, ZoneGraph, ZoneNode, graph, without_clocks, zones_along};
pub use search::{Options, check, check_with, supports};
pub use shoal_tctl::is_temporal;
