//! What can be known of a Model without running it: symmetry proved or broken, and why.
//!
//! - [`symmetry`] says for each sort whether its elements really are interchangeable, which of them the
//!   model names, and which line is to blame if they are not; [`symmetry_of_steps`] does not look at the starts, [`symmetry_of_starts`] at nothing else.
//! - [`scalarset_hints`] finds integer ranges that could be sorts, and [`ranges_as_sorts`] makes a Model in which they are.
//! - [`is_data`] says which sorts are only copied and compared, and [`open_data`] makes a Model with any number of their values.
//! - [`loosen`] makes a Model in which loops that keep their last element keep any.
//! - [`with_spare`] makes a Model that claims that values of data are left that no state holds: then more of them change nothing.
//! - [`liveness()`] says which values of an element can still matter, where its control variable stands.
//! - [`activity()`] says under which conditions a value of an element can still be read, and [`reduce`] makes a Model in
//!   which the others are undefined; [`narrowed`] makes one that does not begin with all their values.
//! - [`forget`] makes a Model in which agents forget what they will not read any more.
//! - [`refresh`] makes a Model in which values that nothing will read any more are undefined.
//! - [`without_unread`] makes a Model in which nothing is kept that nothing reads.
//! - [`undefinable`] says which parts of the state may be undefined.
//! - [`mirror`] finds which conjuncts of a formula say the same of other elements.
//! - [`unseen`] says which steps of agents conditions cannot notice.
//! - [`foresee`] makes a Model whose starts drop choices as soon as an assumption is certain to drop them.
//! - [`with_arrivals`] makes a Model that remembers in which order elements came to satisfy a predicate ([`arrivals`]).
//! - [`parts`] says which instances of rules are independent of each other.
//! - [`effects`] says what a piece of code reads and writes, seen through references and calls; the analyses
//!   are built on it.
//!
//! The analyses take models that pass [`shoal_model::verify`].

mod activity;
mod arrivals;
mod commute;
mod data;
mod dead;
mod defined;
pub mod effects;
mod hints;
mod liveness;
mod loops;
mod loosen;
pub mod mirror;
mod mutant;
mod order;
mod ranges;
mod spare;
mod stale;
mod starts;
mod stubborn;
mod symmetry;
mod unread;

pub use activity::{Activity, ObservedRuns, Reduced, activity, narrowed, reduce};
pub use arrivals::{Arrival, ArrivalList, arrivals, with_arrivals};
pub use data::{is_data, open_data};
pub use dead::{Forgetful, forget};
pub use defined::{FieldPath, undefinable};
pub use hints::{Hint, Uses, scalarset_hints};
pub use liveness::{Liveness, liveness};
pub use loosen::loosen;
#[cfg(feature = "mutants")]
pub use mutant::{AnalysisMutant, with_mutant};
pub use order::unseen;
pub use ranges::{RangeSort, SortedRanges, open_ranges, ranges_as_sorts, ranges_like};
pub use spare::with_spare;
pub use stale::{Refreshed, refresh};
pub use starts::foresee;
pub use stubborn::parts;
pub use symmetry::{
    Break, BreakKind, SortSymmetry, Suspects, Symmetry, fixed, symmetry, symmetry_of_starts,
    symmetry_of_steps,
};
pub use unread::{WithoutUnread, without_unread};
