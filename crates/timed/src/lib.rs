//! The timed engine: zones, lumped zones, state-graphs and their manipulators.

pub mod dbm;
pub mod graphs;
pub mod sequence;
pub mod system;
mod zones;

pub use zones::{Options, check, check_with};
