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
    time::{Duration, Instant},
};

use shoal::{Saving, Watch, model::StopReason};

use crate::{allocation::AllocationGuard, exit::ExitKind};

/// How often is looked.
const EVERY: Duration = Duration::from_millis(20);
/// What it may take to notice that the work is to end.
const NOTICE: Duration = Duration::from_millis(800);

/// What was known when the work was ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SoFar {
    Violated,
    NotViolated,
}

impl SoFar {
    /// How the process ends for a reason.
    pub(crate) fn exit(self, reason: &StopReason) -> ExitKind {
        match (self, reason) {
            (_, StopReason::Interrupted) => ExitKind::Interrupted,
            (SoFar::Violated, _) => ExitKind::Violated,
            (SoFar::NotViolated, _) => ExitKind::Inconclusive,
        }
    }
}

/// Guards the limits of a piece of work until it is dropped.
pub(crate) struct LimitGuard(Arc<AtomicBool>);

impl LimitGuard {
    /// Guards the limits of a watch. Where one is passed by far, `tell` is called and the process ends, as violated if that is what
    /// it tells; but not while a search is being saved, nor before what comes of it had time to be said.
    pub(crate) fn of(
        watch: &Watch,
        saving: &Saving,
        tell: impl FnOnce(&StopReason) -> SoFar + Send + 'static,
    ) -> LimitGuard {
        let done = Arc::new(AtomicBool::new(false));
        let (watch, saving, ended) = (watch.clone(), saving.clone(), done.clone());
        let mut memory = AllocationGuard::announced();
        let look = move || {
            let (mut asked_to_end, mut saved) = (None, None::<Instant>);
            memory.begin();
            while !ended.load(Ordering::Relaxed) {
                if memory.refused() {
                    // Without a limit of ours it is what the system allows, which is about what there is.
                    let most = watch.limits().memory.or_else(shoal::resident_memory);
                    let reason = StopReason::Memory(most.unwrap_or(0));
                    let so_far = tell(&reason);
                    std::process::exit(so_far.exit(&reason).code().into());
                }
                if saving.is_going_on() {
                    saved = Some(Instant::now());
                } else if saved.is_none_or(|saved| saved.elapsed() > NOTICE)
                    && let Some(reason) = passed(&watch, &mut asked_to_end)
                {
                    let so_far = tell(&reason);
                    std::process::exit(so_far.exit(&reason).code().into());
                }
                thread::sleep(EVERY);
            }
        };
        // Without a thread there is no guard; the work itself looks at the limits all the same.
        let _ = thread::Builder::new().name("guard".into()).stack_size(1 << 20).spawn(look);
        LimitGuard(done)
    }
}

impl Drop for LimitGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The limit that the work has passed by more than it takes to notice it. Remembers since when somebody wants it to end.
fn passed(watch: &Watch, asked_to_end: &mut Option<Instant>) -> Option<StopReason> {
    if watch.canceller().is_cancelled() && asked_to_end.get_or_insert_with(Instant::now).elapsed() > NOTICE {
        return Some(StopReason::Interrupted);
    }
    let limits = watch.limits();
    let late = |time: &Duration| watch.elapsed() > *time + *time * 2 / 25 + NOTICE;
    if let Some(time) = limits.time.filter(late) {
        return Some(StopReason::Time(time));
    }
    let memory = limits.memory?;
    let large = memory.saturating_add(memory / 12).saturating_add(56 << 20);
    (shoal::resident_memory()? > large).then_some(StopReason::Memory(memory))
}
