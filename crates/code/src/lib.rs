//! Compiled next-state code: what a [`Model`](shoal_model::Model) does, made fast.
//!
//! [`accept`] says whether a model can be run and where everything lies in a state; [`compile`] makes its code;
//! a [`Stepper`] runs through everything that can happen in a state and tells a [`Visitor`].
//!
//! The parts, in the order a model passes them:
//!
//! - `support`: what is refused, by name, before anything starts.
//! - `layout`, `bag`: a state as a row of cells, its packed form, multisets in normal form.
//! - `code`, `compile`: rules, functions and conditions become flat code on cells, once.
//! - `exec`, `step`: the machine that runs the code, and everything that can happen in a state.
//! - `stubborn`: which parts of a model are enough in a state.
//! - `jit`: the same code as the machine's own, made with Cranelift when a search begins. It is a feature of the crate, on by
//!   default; without it everything is interpreted, with the same results, and a build takes a third of the time.

// Without machine code nobody calls what only it needs.
#![cfg_attr(not(feature = "jit"), allow(dead_code))]

mod bag;
mod code;
mod compile;
mod exec;
mod fields;
#[cfg(feature = "jit")]
mod jit;
#[cfg(not(feature = "jit"))]
#[path = "no_jit.rs"]
mod jit;
mod layout;
mod runs;
mod step;
mod stubborn;
mod support;

pub use bag::{Bag, normalise, normalise_changed};
pub use code::{Pc, Program, RuleCode};
pub use compile::{compile, compile_for};
pub use exec::{Halt, Machine};
pub use layout::{Atom, AtomKind, CellBits, CellStep, Layout, Population, atoms};
pub use step::{Stepper, Steps, Visitor, args};
pub use support::accept;
