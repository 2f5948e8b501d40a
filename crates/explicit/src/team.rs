//! Threads that do the same thing at the same time: the caller says what, helps, and waits for all.

use std::{
    hint,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Expand states.
    Expand,
    /// Store successors.
    Absorb,
    /// Go home.
    Quit,
}

/// How often a thread looks again before it sleeps. Phases follow each other closely, and to wake a thread takes longer
/// than most waits do.
const LOOKS: usize = 1 << 12;

/// How the caller and the threads meet.
pub(crate) struct Team {
    state: Mutex<State>,
    begin: Condvar,
    end: Condvar,
    /// Counts the phases, so that a thread sees when there is a new one. Changed under the lock.
    count: AtomicU64,
    /// How many threads are still busy with the present phase. Changed under the lock.
    busy: AtomicUsize,
}

struct State {
    phase: Phase,
    threads: usize,
    panicked: bool,
}

impl Team {
    pub(crate) fn new() -> Team {
        let state = State { phase: Phase::Quit, threads: 0, panicked: false };
        Team {
            state: Mutex::new(state),
            begin: Condvar::new(),
            end: Condvar::new(),
            count: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, awake for a while and then asleep, until something is so; others make it so under the lock.
    fn wait(&self, changed: &Condvar, is: impl Fn() -> bool) -> MutexGuard<'_, State> {
        for _ in 0..LOOKS {
            if is() {
                break;
            }
            hint::spin_loop();
        }
        let mut state = self.lock();
        while !is() {
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state
    }

    /// A thread joins; between phases only. Gives the number of phases so far.
    pub(crate) fn join(&self) -> u64 {
        self.lock().threads += 1;
        self.count.load(Ordering::Relaxed)
    }

    /// A thread that has joined could not be started.
    pub(crate) fn leave(&self) {
        self.lock().threads -= 1;
    }

    /// What a thread does that has joined: it works until it may quit.
    pub(crate) fn work(&self, mut seen: u64, mut work: impl FnMut(Phase)) {
        loop {
            let phase = self.wait(&self.begin, || self.count.load(Ordering::Relaxed) != seen).phase;
            seen += 1;
            if phase == Phase::Quit {
                return;
            }
            let done = Done(self);
            work(phase);
            drop(done);
        }
    }

    /// Begins a phase.
    pub(crate) fn start(&self, phase: Phase) {
        let mut state = self.lock();
        state.phase = phase;
        self.busy.store(state.threads, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.begin.notify_all();
    }

    /// Waits until all threads are done with the phase.
    pub(crate) fn finish(&self) {
        let state = self.wait(&self.end, || self.busy.load(Ordering::Relaxed) == 0);
        assert!(!state.panicked, "a thread of the search has panicked");
    }
}

/// Says that a thread is done, also when it panics: the others would wait for ever.
struct Done<'t>(&'t Team);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.panicked |= std::thread::panicking();
        if self.0.busy.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.end.notify_one();
        }
    }
}

/// Lets the threads quit when it goes out of scope.
pub(crate) struct Dismiss<'t>(pub(crate) &'t Team);

impl Drop for Dismiss<'_> {
    fn drop(&mut self) {
        self.0.start(Phase::Quit);
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    #[test]
    fn all_are_done_when_a_phase_is() {
        let (team, sum) = (Team::new(), AtomicU64::new(0));
        thread::scope(|scope| {
            let _dismiss = Dismiss(&team);
            for _ in 0..3 {
                let (team, sum, seen) = (&team, &sum, team.join());
                scope.spawn(move || {
                    team.work(seen, |phase| {
                        let more = if phase == Phase::Expand { 1 } else { 100 };
                        sum.fetch_add(more, Ordering::Relaxed);
                    });
                });
            }
            for round in 1..=200 {
                team.start(Phase::Expand);
                team.finish();
                // Now and then so long that they are asleep.
                thread::sleep(Duration::from_micros(if round % 50 == 0 { 2000 } else { 0 }));
                team.start(Phase::Absorb);
                team.finish();
                assert_eq!(sum.load(Ordering::Relaxed), round * 303);
            }
        });
    }
}
