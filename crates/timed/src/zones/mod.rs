//! Reachability by zones in which like processes are counted, not named.

mod any;
mod bounds;
mod deadlock;
pub(crate) mod layout;
pub(crate) mod machine;
pub(crate) mod search;
pub(crate) mod state;
pub(crate) mod steps;
pub(crate) mod trace;

pub use search::{Options, check, check_with, supports};
