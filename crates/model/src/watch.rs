//! When work is to end: one object for the deadline, the memory and the wish to stop.
//!
//! A [`Watch`] is started once, before the source is read, and handed to everything that may take long: front ends,
//! analyses, engines, replay. Whoever loops calls [`Watch::check`] (or [`Ticker::tick`], where a round takes less than
//! looking at the clock) and passes a [`StopReason`] on. A part of the work that has less time of its own gets
//! [`Watch::within`]: its deadline is never later than that of the whole, and the wish to stop reaches it too.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::StopReason;

/// What is allowed. A limit that is reached ends in [`Verdict::Unknown`](crate::Verdict::Unknown).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Wall time.
    pub time: Option<Duration>,
    /// Memory in bytes, of what the engine stores.
    pub memory: Option<u64>,
    /// Number of steps from a start.
    pub depth: Option<u64>,
    /// Number of states stored.
    pub states: Option<u64>,
}

/// Asks work to end, from any thread. Clones are the same handle.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Wish>);

#[derive(Debug, Default)]
struct Wish {
    end: AtomicBool,
    /// Whoever ends the whole ends each part of it.
    whole: Option<Cancel>,
}

impl Cancel {
    /// Asks for the end; whether that was the first time.
    pub fn cancel(&self) -> bool {
        !self.0.end.swap(true, Ordering::SeqCst)
    }

    /// Whether somebody asked for the end.
    pub fn is_cancelled(&self) -> bool {
        self.0.end.load(Ordering::Relaxed) || self.0.whole.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// A handle for a part of the work: it ends that part alone, and this one ends both.
    #[must_use]
    pub fn child(&self) -> Cancel {
        Cancel(Arc::new(Wish { end: AtomicBool::default(), whole: Some(self.clone()) }))
    }
}

/// Measures the memory of the whole process in bytes, where that is known.
pub type Gauge = fn() -> Option<u64>;

/// How often the gauge is read, at most: starts alone fill a megabyte in a millisecond.
const GAUGE_EVERY: Duration = Duration::from_millis(5);

/// What an engine counts of its memory is exact; what the process has beside it (the program, the source, the Model) is
/// not counted. So the gauge stops work only this far beyond the limit.
fn with_slack(limit: u64) -> u64 {
    limit.saturating_add(limit / 20).saturating_add(40 << 20)
}

/// The clock, the memory and the wish to stop of a piece of work. Cheap to clone; clones share the clock and the wish.
#[derive(Clone, Debug)]
pub struct Watch {
    limits: Limits,
    began: Instant,
    deadline: Option<Instant>,
    cancel: Cancel,
    gauge: Option<(Gauge, Arc<AtomicU64>)>,
}

/// Two watches are equal if they allow the same.
impl PartialEq for Watch {
    fn eq(&self, other: &Watch) -> bool {
        self.limits == other.limits
    }
}

impl Eq for Watch {}

impl Default for Watch {
    /// A watch without limits.
    fn default() -> Self {
        Watch::start(Limits::default())
    }
}

impl Watch {
    /// Starts the clock.
    pub fn start(limits: Limits) -> Watch {
        let began = Instant::now();
        // A time that no clock can reach is no limit.
        let deadline = limits.time.and_then(|time| began.checked_add(time));
        Watch { limits, began, deadline, cancel: Cancel::default(), gauge: None }
    }

    /// The same watch, stopped by this handle.
    #[must_use]
    pub fn cancelled_by(mut self, cancel: &Cancel) -> Watch {
        self.cancel = cancel.clone();
        self
    }

    /// The same watch, which also looks at the memory of the whole process.
    #[must_use]
    pub fn with_gauge(mut self, gauge: Gauge) -> Watch {
        self.gauge = Some((gauge, Arc::default()));
        self
    }

    /// The handle that ends all work under this watch.
    pub fn canceller(&self) -> Cancel {
        self.cancel.clone()
    }

    /// What is allowed in all.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The memory allowed, in bytes.
    pub fn memory(&self) -> Option<u64> {
        self.limits.memory
    }

    /// Since the watch was started.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Until the deadline; nothing without one.
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// A watch for a part of the work, which may take so long from now on, and no longer than the whole.
    #[must_use]
    pub fn within(&self, time: Duration) -> Watch {
        let mut part = self.clone();
        if let Some(own) = Instant::now().checked_add(time)
            && self.deadline.is_none_or(|whole| own < whole)
        {
            part.deadline = Some(own);
            part.limits.time = Some(time);
        }
        part
    }

    /// A watch for a part of the work that has this share (`part` of `whole`) of the time that is left.
    #[must_use]
    pub fn share(&self, part: u32, whole: u32) -> Watch {
        match self.time_left() {
            Some(left) => self.within(left * part / whole.max(1)),
            None => self.clone(),
        }
    }

    /// A watch for a part of the work that may store so many states.
    #[must_use]
    pub fn with_states(&self, states: Option<u64>) -> Watch {
        let mut part = self.clone();
        part.limits.states = states;
        part
    }

    /// A watch for a part of the work that may use so many bytes.
    #[must_use]
    pub fn with_memory(&self, bytes: Option<u64>) -> Watch {
        let mut part = self.clone();
        part.limits.memory = bytes;
        part
    }

    /// Whether to go on: nobody asked for the end, there is time left, and the process is not too large.
    pub fn check(&self) -> Result<(), StopReason> {
        if self.cancel.is_cancelled() {
            return Err(StopReason::Interrupted);
        }
        if self.deadline.is_none() && self.gauge.is_none() {
            return Ok(());
        }
        let now = Instant::now();
        if let Some(deadline) = self.deadline
            && now >= deadline
        {
            return Err(StopReason::Time(self.limits.time.unwrap_or(deadline - self.began)));
        }
        self.gauged(now)
    }

    /// Whether to go on with so many bytes in use.
    pub fn check_memory(&self, bytes: u64) -> Result<(), StopReason> {
        match self.limits.memory {
            Some(limit) if bytes > limit => Err(StopReason::Memory(limit)),
            _ => Ok(()),
        }
    }

    /// A ticker, for loops whose rounds take less than looking at the clock.
    pub fn ticker(&self) -> Ticker<'_> {
        Ticker { watch: self, left: TICKS }
    }

    fn gauged(&self, now: Instant) -> Result<(), StopReason> {
        let (Some((gauge, last)), Some(limit)) = (&self.gauge, self.limits.memory) else { return Ok(()) };
        let at = u64::try_from((now - self.began).as_millis()).unwrap_or(u64::MAX);
        let every = GAUGE_EVERY.as_millis() as u64;
        if at < last.load(Ordering::Relaxed).saturating_add(every) {
            return Ok(());
        }
        last.store(at, Ordering::Relaxed);
        match gauge() {
            Some(bytes) if bytes > with_slack(limit) => Err(StopReason::Memory(limit)),
            _ => Ok(()),
        }
    }
}

/// Rounds between two looks at the clock.
const TICKS: u32 = 256;

/// Looks at a watch every few hundred rounds of a loop.
#[derive(Clone, Debug)]
pub struct Ticker<'w> {
    watch: &'w Watch,
    left: u32,
}

impl Ticker<'_> {
    /// One round more: whether to go on.
    #[inline]
    pub fn tick(&mut self) -> Result<(), StopReason> {
        if self.left > 0 {
            self.left -= 1;
            return Ok(());
        }
        self.left = TICKS;
        self.watch.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_no_later_than_the_whole() {
        let limits = Limits { time: Some(Duration::ZERO), ..Limits::default() };
        let whole = Watch::start(limits);
        assert_eq!(whole.check(), Err(StopReason::Time(Duration::ZERO)));
        assert_eq!(whole.within(Duration::from_secs(9)).check(), Err(StopReason::Time(Duration::ZERO)));
        let whole = Watch::default();
        assert_eq!(whole.check(), Ok(()));
        assert!(whole.within(Duration::ZERO).check().is_err());
        assert_eq!(whole.check(), Ok(()));
    }

    #[test]
    fn the_wish_to_stop_reaches_every_part() {
        let whole = Watch::default();
        let part = whole.within(Duration::from_secs(100)).with_states(Some(3));
        assert_eq!(part.check(), Ok(()));
        assert!(whole.canceller().cancel());
        assert_eq!(part.check(), Err(StopReason::Interrupted));
        assert!(!whole.canceller().cancel());
    }

    #[test]
    fn a_part_can_be_ended_alone() {
        let whole = Cancel::default();
        let (one, other) = (whole.child(), whole.child());
        assert!(one.cancel() && one.is_cancelled() && !other.is_cancelled() && !whole.is_cancelled());
        assert!(whole.cancel() && other.is_cancelled());
    }

    #[test]
    fn a_ticker_looks_now_and_then() {
        let watch = Watch::default();
        let mut ticker = watch.ticker();
        watch.canceller().cancel();
        let rounds = (0..10_000).take_while(|_| ticker.tick().is_ok()).count();
        assert_eq!(rounds, TICKS as usize);
    }

    #[test]
    fn the_gauge_stops_what_nobody_counts() {
        let limits = Limits { memory: Some(1 << 20), ..Limits::default() };
        let watch = Watch::start(limits).with_gauge(|| Some(1 << 30));
        std::thread::sleep(GAUGE_EVERY);
        assert_eq!(watch.check(), Err(StopReason::Memory(1 << 20)));
    }
}
