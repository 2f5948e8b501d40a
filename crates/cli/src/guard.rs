//! The last resort: a limit holds also where the work does not notice it.
//!
//! Everything that may take long asks the watch. Should a part of it fail to (one operation of a library, one step that takes
//! for ever), the process says what it was told to say and ends, a moment after the work should have ended by itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use shoal::{Watch, model::StopReason};

use crate::exit::Exit;

/// How often is looked.
const EVERY: Duration = Duration::from_millis(20);

/// Guards the limits of a piece of work until it is dropped.
pub(crate) struct Guard(Arc<AtomicBool>);

impl Guard {
    /// Guards the limits of a watch. Where one is passed by far, `tell` is called and the process ends.
    pub(crate) fn of(watch: &Watch, tell: impl FnOnce(&StopReason) + Send + 'static) -> Guard {
        let done = Arc::new(AtomicBool::new(false));
        let (watch, ended) = (watch.clone(), done.clone());
        let look = move || {
            while !ended.load(Ordering::Relaxed) {
                if let Some(reason) = passed(&watch) {
                    tell(&reason);
                    std::process::exit(Exit::Inconclusive.code().into());
                }
                thread::sleep(EVERY);
            }
        };
        // Without a thread there is no guard; the work itself looks at the limits all the same.
        let _ = thread::Builder::new().name("guard".into()).stack_size(1 << 20).spawn(look);
        Guard(done)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The limit that the work has passed by more than it takes to notice it.
fn passed(watch: &Watch) -> Option<StopReason> {
    let limits = watch.limits();
    let late = |time: &Duration| watch.elapsed() > *time + *time * 2 / 25 + Duration::from_millis(800);
    if let Some(time) = limits.time.filter(late) {
        return Some(StopReason::Time(time));
    }
    let memory = limits.memory?;
    let large = memory.saturating_add(memory / 12).saturating_add(56 << 20);
    (shoal::resident_memory()? > large).then_some(StopReason::Memory(memory))
}
