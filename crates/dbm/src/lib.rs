//! What clocks can be: zones as difference bound matrices ([`Zone`]), unions of them ([`Federation`]), and what steps do to
//! them ([`ClockEvent`]).

mod comparison;
mod events;
mod federation;
mod zone;

pub use comparison::{constraint, difference};
pub use events::{ClockEvent, undone};
pub use federation::Federation;
pub use zone::{Bound, ClockBounds, Constraint, LARGEST_CONSTANT, Zone, exactly};
