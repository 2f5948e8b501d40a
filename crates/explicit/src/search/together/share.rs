//! The moment at which processes that have all found the same begin to share the work.

use std::ops::ControlFlow;

use shoal_model::{StopReason, internal};

use super::{Together, apart, write};
use crate::{
    apart::LostContact,
    owner::{KEY, Owner, Sample},
    runs::sort,
    search::{Crew, SHARDS, Search, total},
    store::{Inserted, NONE, fold},
};

/// So many states of the last level are expanded to see where steps lead.
const STEPS: usize = 4096;

impl<'m> Search<'_, 'm> {
    /// Shares the work: every process keeps what it owns of what all of them have found.
    pub(super) fn share(&mut self, crew: &mut Crew<'_, '_, 'm>, group: &mut Together<'_>) -> ControlFlow<()> {
        if group.runs.is_some() {
            // Too little memory even for what is needed to begin.
            return self.stop(StopReason::Memory(self.job.watch.memory().unwrap_or_else(|| self.memory())));
        }
        let owner = self.choose_owner(crew, group);
        let index = group.exchange.index();
        let words = self.shared.layout.words();
        let mut own_ends = Vec::with_capacity(group.ends.len());
        let mut levels: Vec<Vec<Vec<u64>>> = Vec::new();
        let mut starts = [0; SHARDS];
        for ends in &group.ends {
            let own = |shard: usize| {
                let mut states = Vec::new();
                self.shared.shards.read(shard).states(starts[shard]..ends[shard], words, &mut states);
                let mine = states.chunks_exact(words).filter(|state| owner.of(state) == index);
                mine.collect::<Vec<_>>().concat()
            };
            levels.push((0..SHARDS).map(own).collect());
            starts = *ends;
        }
        for shard in 0..SHARDS {
            let mut guard = self.shared.shards.write(shard);
            guard.store.clear();
            // What was counted before is the first process's.
            guard.full = guard.full.map(|full| if index == 0 { full } else { 0 });
        }
        for level in levels {
            for (shard, states) in level.into_iter().enumerate() {
                let mut guard = self.shared.shards.write(shard);
                for state in states.chunks_exact(words) {
                    match guard.store.insert(state, NONE, 0) {
                        Inserted::New(_) => {}
                        Inserted::Known(_) => internal!("a state is of one level"),
                        Inserted::Full => {
                            return self
                                .stop(StopReason::Memory(self.job.watch.memory().unwrap_or_default()));
                        }
                    }
                }
            }
            own_ends.push(self.shared.shards.lengths());
        }
        group.ends = own_ends;
        self.lengths = self.shared.shards.lengths();
        if index > 0 {
            self.statistics.transitions = 0;
            self.statistics.put_off = 0;
            self.statistics.fired.fill(0);
            self.statistics.spent.fill(0);
        }
        // All must have chosen alike.
        let check = owner.fingerprint();
        write(apart(self.shared)).owner = owner;
        group.shares = true;
        let last = group.ends.len() - 1;
        let before = last.checked_sub(1).map_or(0, |before| total(&group.ends[before]));
        let own = total(&self.lengths) - before;
        let check = self.statistics.levels.iter().fold(check, |sum: u64, level| fold(sum ^ level, KEY));
        match group.gather(vec![own.div_ceil(self.per_round()), own, check]) {
            Ok(all) => {
                let level = self.statistics.levels.last().copied();
                let agree = all.iter().all(|it| it.len() == 3 && it[2] == check);
                if !agree || Some(all.iter().map(|it| it[1]).sum()) != level {
                    return self.lose(
                        group,
                        LostContact(
                            "the processes found different states before they shared the work".into(),
                        ),
                    );
                }
                group.rounds = all.iter().map(|it| it[0]).max().unwrap_or(0);
                ControlFlow::Continue(())
            }
            Err(lost) => self.lose(group, lost),
        }
    }

    /// Who owns what, from all states so far and some steps of the last level.
    fn choose_owner(&mut self, crew: &mut Crew<'_, '_, 'm>, group: &mut Together<'_>) -> Owner {
        let words = self.shared.layout.words();
        let of = |from: [u32; SHARDS], to: &[u32; SHARDS]| {
            let mut states = Vec::new();
            for shard in 0..SHARDS {
                self.shared.shards.read(shard).states(from[shard]..to[shard], words, &mut states);
            }
            sort(&mut states, words);
            states
        };
        let all = of([0; SHARDS], &self.lengths);
        let before = group.ends.len().checked_sub(2).map_or([0; SHARDS], |at| group.ends[at]);
        let last = of(before, &self.lengths);
        let every = (last.len() / words).div_ceil(STEPS).max(1);
        let mut steps = Vec::new();
        for state in last.chunks_exact(words).step_by(every) {
            for after in crew.worker.successors(self.shared, state).chunks_exact(words) {
                steps.extend_from_slice(state);
                steps.extend_from_slice(after);
            }
        }
        let bits = self.shared.layout.bits() as usize;
        let sample = Sample { words, bits, states: &all, last: &last, steps: &steps };
        Owner::choose(&sample, group.exchange.processes())
    }
}
