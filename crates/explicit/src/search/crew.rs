//! The threads of a search.

use std::{sync::atomic::Ordering, thread::Scope};

use shoal_team::Team;

use super::Refusal;
use crate::{
    canon::Canon,
    worker::{Shared, Worker, link},
};

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TeamPhase {
    /// Expand states.
    Expand,
    /// Store successors.
    Absorb,
    /// Find where steps lead.
    Link,
}

impl TeamPhase {
    pub(super) const ALL: &'static [TeamPhase] = &[TeamPhase::Expand, TeamPhase::Absorb, TeamPhase::Link];
}

/// The calling thread's worker, and the others once there is enough to do for them.
pub(super) struct Crew<'scope, 'env, 'm> {
    pub(super) scope: &'scope Scope<'scope, 'env>,
    pub(super) team: &'env Team<TeamPhase>,
    pub(super) shared: &'env Shared<'m>,
    pub(super) worker: Worker<'m>,
    pub(super) canon: &'env (dyn Fn() -> Result<Option<Canon>, Refusal> + Sync),
    /// How many threads are asked for that do not run yet.
    pub(super) asked: usize,
    /// How many run beside the calling thread.
    pub(super) others: usize,
}

impl<'env, 'm: 'env> Crew<'_, 'env, 'm> {
    /// Starts the threads, if that has not been done. Where the system has none to give, fewer do.
    fn call(&mut self) {
        for _ in 1..std::mem::replace(&mut self.asked, 1) {
            let (team, shared, canon) = (self.team, self.shared, self.canon);
            let hired = team.hire(self.scope, "shoal search", move |ticket| {
                let Ok(canon) = canon() else { return };
                let mut worker = Worker::new(shared, canon);
                team.work(ticket, |phase| match phase {
                    TeamPhase::Expand => worker.expand(shared, || true),
                    TeamPhase::Absorb => worker.absorb(shared, None),
                    TeamPhase::Link => link(shared),
                });
            });
            self.others += usize::from(hired);
        }
    }

    /// How many threads there are.
    pub(super) fn threads(&self) -> usize {
        1 + self.others
    }

    /// Expands the pieces of the round.
    pub(super) fn expand(&mut self, together: bool, go_on: impl FnMut() -> bool) {
        self.shared.next.store(0, Ordering::Relaxed);
        if together {
            self.call();
            self.team.start(TeamPhase::Expand);
        }
        self.worker.expand(self.shared, go_on);
        if together {
            self.team.finish();
        }
    }

    /// Finds where the steps of the round lead, as far as they are kept.
    pub(super) fn link(&mut self, together: bool) {
        self.shared.next.store(0, Ordering::Relaxed);
        if together {
            self.team.start(TeamPhase::Link);
        }
        link(self.shared);
        if together {
            self.team.finish();
        }
    }

    /// Stores the successors of the round.
    pub(super) fn absorb(&mut self, together: bool, allowance: Option<u64>) {
        self.shared.next.store(0, Ordering::Relaxed);
        let together = together && allowance.is_none();
        if together {
            self.team.start(TeamPhase::Absorb);
        }
        self.worker.absorb(self.shared, allowance);
        if together {
            self.team.finish();
        }
    }
}
