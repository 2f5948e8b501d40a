//! Work that knows no limits, under a watch.
//!
//! What a model means does not depend on how much time there is, so nothing in the interpreter returns "no time left"; nor does
//! an operation on sets of clock values. Work that must end is ended from outside: whoever is within [`under`] looks at the watch
//! now and then, and where there is no time left the stack is unwound to there. Nothing is lost by it where that work changes
//! nothing but its own copies.

use std::{
    any::Any,
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use crate::{StopReason, Watch};

thread_local! {
    /// The watch that the work on this thread is under.
    static PRESENT: RefCell<Option<Arc<Watch>>> = const { RefCell::new(None) };
}

/// Evaluations between two looks at the watch.
const TICKS: u32 = 1 << 12;

/// What unwinds the stack.
struct Ended(StopReason);

/// Does work on this thread, or ends it when the watch says so.
pub fn under<T>(watch: &Watch, work: impl FnOnce() -> T) -> Result<T, StopReason> {
    let outer = PRESENT.with(|present| present.replace(Some(Arc::new(watch.clone()))));
    let result = catch_unwind(AssertUnwindSafe(work));
    PRESENT.with(|present| present.replace(outer));
    result.map_err(|payload: Box<dyn Any + Send>| match payload.downcast::<Ended>() {
        Ok(ended) => ended.0,
        Err(other) => resume_unwind(other),
    })
}

/// Looks at the watch that this thread's work is under, if there is one: for operations that take long each.
pub fn look() {
    let stopped = PRESENT.with(|present| present.borrow().as_deref().map(Watch::check));
    if let Some(Err(reason)) = stopped {
        resume_unwind(Box::new(Ended(reason)));
    }
}

/// What looks at the watch every few thousand evaluations.
#[derive(Clone)]
pub struct Clock {
    watch: Option<Arc<Watch>>,
    left: u32,
}

impl Clock {
    /// The watch that this thread's work is under, if there is one.
    pub fn present() -> Clock {
        Clock { watch: PRESENT.with(|present| present.borrow().clone()), left: TICKS }
    }

    /// One evaluation more.
    #[inline]
    pub fn tick(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.left = TICKS;
            if let Some(Err(reason)) = self.watch.as_deref().map(Watch::check) {
                resume_unwind(Box::new(Ended(reason)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn work_ends_when_its_watch_says_so() {
        let endless = || {
            let mut clock = Clock::present();
            loop {
                clock.tick();
            }
        };
        let watch = Watch::default().within(Duration::from_millis(5));
        assert!(matches!(under::<()>(&watch, endless), Err(StopReason::Time(_))));
        // What is not under a watch is not ended, and the outer watch is there again after an inner one.
        assert_eq!(under(&watch, || 1), Ok(1));
        let inner = || under::<()>(&Watch::default().within(Duration::ZERO), endless).is_err();
        assert_eq!(under(&Watch::default(), inner), Ok(true));
        assert!(Clock::present().watch.is_none());
    }
}
