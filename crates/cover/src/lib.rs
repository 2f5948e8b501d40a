//! The coverability engine: what any number of identical parts can do.
mod antichain;
mod backward;
mod build;
mod check;
mod directed;
mod forward;
mod index;
mod linear;
mod meter;
mod pairs;
mod portfolio;
mod refine;
mod run;
mod views;

pub use build::{ENGINE, is_net};
pub use check::{CountedModel, CoverFinding, Coverage, check, counts, supports};
pub use meter::{Meter, MeterStop};
pub use portfolio::{Prover, ProverChoice, TargetAnswer, covering_set, decide};
pub use refine::{Happening, Offence, Refinement, refine};
pub use run::CoveringRun;
