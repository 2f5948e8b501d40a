//! Threads that do the same thing at the same time: the caller says what, helps, and waits for all.

use std::{
    hint,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TeamPhase {
    /// Expand states.
    Expand,
    /// Store successors.
    Absorb,
    /// Find where steps lead.
    Link,
    /// Go home.
    Quit,
}

const PHASES: [TeamPhase; 4] = [TeamPhase::Expand, TeamPhase::Absorb, TeamPhase::Link, TeamPhase::Quit];

/// How often a thread looks again before it sleeps. Phases follow each other closely, and to wake a thread takes longer
/// than most waits do.
const LOOKS: usize = 1 << 10;

/// How the caller and the threads meet.
pub(crate) struct Team {
    /// Counts the phases, so that a thread sees when there is a new one, and says which it is: see [`Team::start`].
    phase: AtomicU64,
    threads: AtomicUsize,
    /// How many threads are still busy with the present phase.
    busy: AtomicUsize,
    panicked: AtomicBool,
    begin: Bell,
    end: Bell,
}

impl Team {
    pub(crate) fn new() -> Team {
        Team {
            phase: AtomicU64::new(0),
            threads: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            begin: Bell::default(),
            end: Bell::default(),
        }
    }

    /// A thread joins; between phases only. Gives the number of phases so far.
    pub(crate) fn join(&self) -> u64 {
        self.threads.fetch_add(1, Ordering::Relaxed);
        self.phase.load(Ordering::Relaxed) / PHASES.len() as u64
    }

    /// A thread that has joined could not be started.
    pub(crate) fn leave(&self) {
        self.threads.fetch_sub(1, Ordering::Relaxed);
    }

    /// What a thread does that has joined: it works until it may quit.
    pub(crate) fn work(&self, mut seen: u64, mut work: impl FnMut(TeamPhase)) {
        let phases = PHASES.len() as u64;
        loop {
            self.begin.wait(|| self.phase.load(Ordering::Acquire) / phases != seen);
            seen += 1;
            let phase = PHASES[(self.phase.load(Ordering::Acquire) % phases) as usize];
            if phase == TeamPhase::Quit {
                return;
            }
            let done = DoneSignal(self);
            work(phase);
            drop(done);
        }
    }

    /// Begins a phase.
    pub(crate) fn start(&self, phase: TeamPhase) {
        self.busy.store(self.threads.load(Ordering::Relaxed), Ordering::Relaxed);
        let phases = PHASES.len() as u64;
        let count = self.phase.load(Ordering::Relaxed) / phases + 1;
        self.phase.store(count * phases + phase as u64, Ordering::Release);
        self.begin.ring();
    }

    /// Waits until all threads are done with the phase.
    pub(crate) fn finish(&self) {
        self.end.wait(|| self.busy.load(Ordering::Acquire) == 0);
        assert!(!self.panicked.load(Ordering::Relaxed), "a thread of the search has panicked");
    }
}

/// Wakes those who wait for something to become so.
#[derive(Default)]
struct Bell {
    lock: Mutex<()>,
    rings: Condvar,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, awake for a while and then asleep, until something is so. Who makes it so rings afterwards.
    fn wait(&self, is: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            if is() {
                return;
            }
            hint::spin_loop();
        }
        let mut guard = self.lock();
        while !is() {
            guard = self.rings.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn ring(&self) {
        // Who has looked in vain under the lock is asleep once it is free.
        drop(self.lock());
        self.rings.notify_all();
    }
}

/// Says that a thread is done, also when it panics: the others would wait for ever.
struct DoneSignal<'t>(&'t Team);

impl Drop for DoneSignal<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.panicked.store(true, Ordering::Relaxed);
        }
        if self.0.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.end.ring();
        }
    }
}

/// Lets the threads quit when it goes out of scope.
pub(crate) struct Dismiss<'t>(pub(crate) &'t Team);

impl Drop for Dismiss<'_> {
    fn drop(&mut self) {
        self.0.start(TeamPhase::Quit);
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
                        let more = if phase == TeamPhase::Expand { 1 } else { 100 };
                        sum.fetch_add(more, Ordering::Relaxed);
                    });
                });
            }
            for round in 1..=200 {
                team.start(TeamPhase::Expand);
                team.finish();
                // Now and then so long that they are asleep.
                thread::sleep(Duration::from_micros(if round % 50 == 0 { 2000 } else { 0 }));
                team.start(TeamPhase::Absorb);
                team.finish();
                assert_eq!(sum.load(Ordering::Relaxed), round * 303);
            }
        });
    }
}
