//! The timed engine: zones, lumped zones, state-graphs and their manipulators.

pub mod dbm;
pub mod federation;
pub mod graphs;
mod halt;
pub mod sequence;
pub mod system;
mod tctl;
mod zones;

pub use zones::{Options, check, check_with, supports};
