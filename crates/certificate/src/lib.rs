//! Counter systems and proofs about them, and invariants of models with any number of elements, as plain data.
//!
//! Provers, the checker and what is written to files have these in common, and nothing else: the checker depends on no
//! prover.
mod config;
mod open;
mod proof;
mod system;
mod views;
mod weights;

pub use config::{Config, OMEGA, Overflow, PlaceTokens, Tokens, below, count_in, counted, minus, plus};
pub use open::{OpenCell, OpenHop, OpenInvariant, OpenPlace, OpenPredicate, OpenView};
pub use proof::Proof;
pub use system::{Arcs, System, Transfer, Transition};
pub use views::{Views, get, ones, put};
pub use weights::Weights;
