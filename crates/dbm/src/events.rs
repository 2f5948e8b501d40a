//! What steps do to clocks, and backwards.

use crate::zone::{Constraint, Zone, exactly};

/// Something that happened to the clocks, for finding times.
#[derive(Clone, Debug, PartialEq)]
pub enum ClockEvent {
    /// A constraint had to hold.
    Holds(Constraint),
    /// A clock was set.
    Set(usize, i32),
}

/// The valuations from which what happened leads into a zone: backwards, a clock that was set may have been anything.
pub fn undone(events: &[ClockEvent], mut zone: Zone) -> Option<Zone> {
    for event in events.iter().rev() {
        match event {
            ClockEvent::Holds(constraint) => zone.constrain(*constraint).then_some(())?,
            ClockEvent::Set(clock, value) => {
                zone.constrain_all(exactly(*clock, *value)).then_some(())?;
                zone.free(*clock);
            }
        }
    }
    Some(zone)
}
