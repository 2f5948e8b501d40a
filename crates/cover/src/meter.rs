//! What a search may still use.

use std::time::{Duration, Instant};

use shoal_certificate::Overflow;
use shoal_model::{Observer, Progress, StopReason, Watch};

/// Why a search ended without an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum MeterStop {
    /// A limit, or the user.
    Limit(StopReason),
    /// A number left its range, or something grew beyond what can be handled.
    Overflow,
}

impl From<Overflow> for MeterStop {
    fn from(_: Overflow) -> MeterStop {
        MeterStop::Overflow
    }
}

/// Watches time, memory and the user.
pub struct Meter<'a> {
    watch: &'a Watch,
    observer: &'a mut dyn Observer,
    start: Instant,
    reported: Instant,
    ticks: u64,
    /// Configurations stored so far, by all searches.
    pub(crate) stored: u64,
    /// Steps taken so far, by all searches.
    pub(crate) steps: u64,
    /// Bytes in use, about.
    pub(crate) bytes: u64,
}

/// How often the observer is told.
const REPORT: Duration = Duration::from_millis(200);

impl<'a> Meter<'a> {
    /// Begins to count.
    pub fn new(watch: &'a Watch, observer: &'a mut dyn Observer) -> Meter<'a> {
        let now = Instant::now();
        Meter { watch, observer, start: now, reported: now, ticks: 0, stored: 0, steps: 0, bytes: 0 }
    }

    /// What limits the work.
    pub(crate) fn watch(&self) -> &Watch {
        self.watch
    }

    /// Called often; looks at the clock now and then.
    pub(crate) fn tick(&mut self) -> Result<(), MeterStop> {
        self.ticks += 1;
        if self.ticks & 0xff == 0 { self.look() } else { Ok(()) }
    }

    /// Looks at everything.
    pub(crate) fn look(&mut self) -> Result<(), MeterStop> {
        self.watch.check().map_err(MeterStop::Limit)?;
        let now = Instant::now();
        if let Some(states) = self.watch.limits().states.filter(|states| self.stored > *states) {
            return Err(MeterStop::Limit(StopReason::States(states)));
        }
        self.room(0)?;
        if now - self.reported > REPORT {
            self.reported = now;
            self.observer.progress(&Progress {
                states: self.stored,
                transitions: self.steps,
                frontier: 0,
                depth: 0,
                memory_bytes: self.bytes,
                elapsed: now - self.start,
            });
        }
        Ok(())
    }

    /// Whether so many bytes more would fit.
    pub(crate) fn room(&self, bytes: u64) -> Result<(), MeterStop> {
        self.watch.check_memory(self.bytes.saturating_add(bytes)).map_err(MeterStop::Limit)
    }

    /// The time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
