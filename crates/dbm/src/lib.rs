//! What clocks can be: zones as difference bound matrices ([`Zone`]), unions of them ([`Federation`]), and what steps do to
//! them ([`ClockEvent`]). [`ranks`] tells processes apart by such bounds.

mod comparison;
mod events;
mod federation;
pub mod ranks;
mod zone;

pub use comparison::{constraint, difference};
pub use events::{ClockEvent, undone};
pub use federation::Federation;
pub use zone::{Bound, ClockBounds, Constraint, LARGEST_CONSTANT, Zone, exactly};
