//! Threads that do the same thing at the same time: the caller says what, helps, and waits for all.
//!
//! An engine that searches in rounds says by a type of its own what there is to do in a round, one *phase* after the other. What
//! the threads do in a phase, and who may read and write what meanwhile, is the engine's affair.

use std::{
    hint,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    thread::{self, Scope},
};

/// The stack of a thread. Code that nests deeper keeps a stack of its own.
const STACK: usize = 16 << 20;

/// How often a thread looks again before it sleeps. Phases follow each other closely, and to wake a thread takes longer
/// than most waits do.
const LOOKS: usize = 1 << 10;

/// How the caller and the threads meet.
pub struct Team<P: 'static> {
    /// What there can be to do.
    phases: &'static [P],
    /// Counts the phases, so that a thread sees when there is a new one, and says which it is: see [`Team::announce`].
    phase: AtomicU64,
    threads: AtomicUsize,
    /// How many threads are still busy with the present phase.
    busy: AtomicUsize,
    panicked: AtomicBool,
    begin: Bell,
    end: Bell,
}

impl<P: Copy + PartialEq + Sync> Team<P> {
    /// A team without threads yet, for phases of these kinds.
    pub fn new(phases: &'static [P]) -> Self {
        Team {
            phases,
            phase: AtomicU64::new(0),
            threads: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            panicked: AtomicBool::new(false),
            begin: Bell::default(),
            end: Bell::default(),
        }
    }

    /// Starts a thread, between phases only: it does what it is given, which has to end in [`Team::work`] with the ticket that it
    /// gets. False if the system has no thread to give.
    pub fn hire<'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        name: &str,
        work: impl FnOnce(Ticket) + Send + 'scope,
    ) -> bool {
        self.threads.fetch_add(1, Ordering::Relaxed);
        let ticket = Ticket(self.phase.load(Ordering::Relaxed) / self.kinds());
        let thread = thread::Builder::new().name(name.to_string()).stack_size(STACK);
        let hired = thread.spawn_scoped(scope, move || work(ticket)).is_ok();
        if !hired {
            self.threads.fetch_sub(1, Ordering::Relaxed);
        }
        hired
    }

    /// What a thread does that was hired: it works until it may quit.
    pub fn work(&self, Ticket(mut seen): Ticket, mut work: impl FnMut(P)) {
        loop {
            self.begin.wait(|| self.phase.load(Ordering::Acquire) / self.kinds() != seen);
            seen += 1;
            let number = (self.phase.load(Ordering::Acquire) % self.kinds()) as usize;
            let Some(phase) = self.phases.get(number) else { return };
            let done = DoneSignal { busy: &self.busy, panicked: &self.panicked, end: &self.end };
            work(*phase);
            drop(done);
        }
    }

    /// Begins a phase.
    pub fn start(&self, phase: P) {
        let number = self.phases.iter().position(|it| *it == phase);
        self.announce(number.expect("a team is told of all its phases when it is made"));
    }

    /// Waits until all threads are done with the phase.
    pub fn finish(&self) {
        self.end.wait(|| self.busy.load(Ordering::Acquire) == 0);
        assert!(!self.panicked.load(Ordering::Relaxed), "a thread of the search has panicked");
    }
}

impl<P> Team<P> {
    /// The kinds of phases; the last is that there is nothing more to do.
    fn kinds(&self) -> u64 {
        self.phases.len() as u64 + 1
    }

    fn announce(&self, number: usize) {
        self.busy.store(self.threads.load(Ordering::Relaxed), Ordering::Relaxed);
        let count = self.phase.load(Ordering::Relaxed) / self.kinds() + 1;
        self.phase.store(count * self.kinds() + number as u64, Ordering::Release);
        self.begin.ring();
    }
}

/// How many phases there were when a thread was hired.
#[derive(Debug)]
pub struct Ticket(u64);

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
struct DoneSignal<'t> {
    busy: &'t AtomicUsize,
    panicked: &'t AtomicBool,
    end: &'t Bell,
}

impl Drop for DoneSignal<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.panicked.store(true, Ordering::Relaxed);
        }
        if self.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.end.ring();
        }
    }
}

/// Lets the threads quit when it goes out of scope.
pub struct Dismiss<'t, P: 'static>(pub &'t Team<P>);

impl<P> Drop for Dismiss<'_, P> {
    fn drop(&mut self) {
        self.0.announce(self.0.phases.len());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[derive(Clone, Copy, PartialEq)]
    enum Chore {
        Ones,
        Hundreds,
    }

    #[test]
    fn all_are_done_when_a_phase_is() {
        let (team, sum) = (Team::new(&[Chore::Ones, Chore::Hundreds]), AtomicU64::new(0));
        thread::scope(|scope| {
            let _dismiss = Dismiss(&team);
            for _ in 0..3 {
                let (team, sum) = (&team, &sum);
                let hired = team.hire(scope, "test", move |ticket| {
                    team.work(ticket, |chore| {
                        let more = match chore {
                            Chore::Ones => 1,
                            Chore::Hundreds => 100,
                        };
                        sum.fetch_add(more, Ordering::Relaxed);
                    });
                });
                assert!(hired);
            }
            for round in 1..=200 {
                team.start(Chore::Ones);
                team.finish();
                // Now and then so long that they are asleep.
                thread::sleep(Duration::from_micros(if round % 50 == 0 { 2000 } else { 0 }));
                team.start(Chore::Hundreds);
                team.finish();
                assert_eq!(sum.load(Ordering::Relaxed), round * 303);
            }
        });
    }

    #[test]
    #[should_panic(expected = "a thread of the search has panicked")]
    fn a_panic_of_one_is_one_of_all() {
        let team = Team::new(&[Chore::Ones]);
        thread::scope(|scope| {
            let _dismiss = Dismiss(&team);
            let team = &team;
            team.hire(scope, "test", move |ticket| team.work(ticket, |_| panic!("here")));
            team.start(Chore::Ones);
            team.finish();
        });
    }
}
