//! Reachability by zones in which like processes are counted, not named.

mod any;
mod bounds;
mod deadlock;
mod layout;
mod machine;
mod search;
mod state;
mod steps;
mod trace;

pub use search::{Options, check, check_with};
