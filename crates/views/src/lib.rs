//! The views engine: any number of elements, by what a few of them can look like.
//!
//! A *view* shows a few elements of each sort that has any number of them, what belongs to no element, and of other
//! elements only which references lead to the same one and what some of them satisfy. The engine finds a set of views that
//! has all views of all reachable states of all instances; a property that no structure made of such views violates holds
//! for any number of elements. The parts:
//!
//! - `cell`, `layout`, `structure`: structures and their normal form.
//! - `chain`: what must be so where elements are kept in a list.
//! - `effects`, `closed`, `system`: what the text of the model tells: context predicates, what loops do.
//! - `screen`, `sieve`: guards that are false whoever takes the step, and guards that are decided without a run.
//! - `task`, `decision`, `machine`, `step`: running code where not everything is known.
//! - `store`, `expand`, `join`, `branch`: the views found, adding an element in every way they allow, going on with it.
//! - `shared`: what is turned down while an element is thought of.
//! - `search`, `judge`, `deadlock`: closing the set of views under all steps, and asking the properties.
//! - `ladder`: small instances and coarse views first, then larger and finer ones.
//! - `invariant`: the views found as plain data, for whoever checks them.
//! - `words`: views for people.
#![deny(missing_docs)]

mod branch;
mod cell;
mod chain;
mod closed;
mod deadlock;
mod decision;
mod effects;
mod expand;
mod invariant;
mod join;
mod judge;
mod ladder;
mod layout;
mod machine;
mod mutant;
mod screen;
mod search;
mod shared;
mod sieve;
mod step;
mod store;
mod structure;
mod system;
mod task;
mod words;

pub use ladder::{Climb, Finding, Instances, ProofObstacle, Searched, climb};
pub use layout::Lacking;
#[cfg(feature = "mutants")]
pub use mutant::{Mutant, with_mutant};
pub use search::{Abstraction, Budget, Failure, ViewConfig, abstraction, abstraction_and_test};
pub use words::ViewInWords;
