//! The symbolic engine: sets of states as decision diagrams.
//!
//! [`check`] decides the properties of a job. The parts, in the order a model passes them:
//!
//! - `dd`, `bits`, `value`: diagrams, and values that depend on the state.
//! - `machine`, `run`, `worlds`: code is executed, and conditions are asked, on all states at once.
//! - `layout`, `starts`, `encode`: the bits of a state; the model as a transition system.
//! - `split`, `tail`: rules case by case, and what they do at their ends as steps of their own.
//! - `system`, `stage`, `sets`: relations and images, what they are made of, unions that are not made.
//! - `question`, `decide`, `backward`: properties as sets of states, and how they are decided.
//! - `symmetry`: representatives of orbits in place of sets of states.
//! - `ctl`, `witness`: formulas of branching time, and runs that show something.
//! - `concrete`: the same machine on single states, for traces.
//!
//! The crate `counters` uses all but `encode` and `engine`: its states are numbers of elements.

mod backward;
pub mod bits;
pub mod concrete;
pub mod ctl;
pub mod dd;
pub mod decide;
mod encode;
mod engine;
pub mod layout;
pub mod machine;
pub mod members;
pub mod question;
pub mod run;
pub mod sets;
mod split;
mod stage;
mod starts;
pub mod symmetry;
pub mod system;
mod tail;
pub mod value;
mod witness;
pub mod worlds;

pub use encode::{Trouble, assumptions};
pub use engine::{check, decides, fairness, start_faults, stopped, supports};
