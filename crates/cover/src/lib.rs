//! The coverability engine: what any number of identical parts can do.
mod antichain;
mod backward;
mod build;
mod certificate;
mod check;
mod config;
mod directed;
mod forward;
mod linear;
mod meter;
mod portfolio;
mod refine;
mod run;
mod system;
mod views;

pub use build::{ENGINE, is_net};
pub use certificate::Proof;
pub use check::{Counted, Coverage, Finding, check};
pub use config::{Config, OMEGA, Overflow, Token, Tokens};
pub use linear::Weights;
pub use meter::{Meter, Stop};
pub use portfolio::{Answer, Choice, Prover, covering_set, decide};
pub use refine::{Happening, Offence, Refinement, refine};
pub use run::Run;
pub use system::{Arcs, System, Transfer, Transition};
pub use views::Views;
