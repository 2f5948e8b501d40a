//! Threads that do the same thing at the same time: the caller says what, helps, and waits for all.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

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

/// How the caller and the threads meet.
pub(crate) struct Team {
    state: Mutex<State>,
    begin: Condvar,
    end: Condvar,
}

struct State {
    phase: Phase,
    /// Counts the phases, so that a thread sees when there is a new one.
    count: u64,
    threads: usize,
    /// How many threads are still busy with the present phase.
    busy: usize,
    panicked: bool,
}

impl Team {
    pub(crate) fn new() -> Team {
        let state = State { phase: Phase::Quit, count: 0, threads: 0, busy: 0, panicked: false };
        Team { state: Mutex::new(state), begin: Condvar::new(), end: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A thread joins; between phases only. Gives the number of phases so far.
    pub(crate) fn join(&self) -> u64 {
        let mut state = self.lock();
        state.threads += 1;
        state.count
    }

    /// A thread that has joined could not be started.
    pub(crate) fn leave(&self) {
        self.lock().threads -= 1;
    }

    /// What a thread does that has joined: it works until it may quit.
    pub(crate) fn work(&self, mut seen: u64, mut work: impl FnMut(Phase)) {
        loop {
            let mut state = self.lock();
            while state.count == seen {
                state = self.begin.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            seen = state.count;
            let phase = state.phase;
            drop(state);
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
        state.count += 1;
        state.busy = state.threads;
        self.begin.notify_all();
    }

    /// Waits until all threads are done with the phase.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        while state.busy > 0 {
            state = self.end.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        assert!(!state.panicked, "a thread of the search has panicked");
    }
}

/// Says that a thread is done, also when it panics: the others would wait for ever.
struct Done<'t>(&'t Team);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.panicked |= std::thread::panicking();
        state.busy -= 1;
        if state.busy == 0 {
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
