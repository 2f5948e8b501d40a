//! The end of a search: what only all states can decide, and the outcome.

use std::ops::ControlFlow;

use shoal_model::{Outcome, PropertyResult, Reason, StopReason, Storage, Verdict, Violation};

use super::{SHARDS, Search, is_exact, total};
use crate::{
    canon::Canon,
    monitor::{Monitor, Watch},
    possible::Edges,
    report::{Problem, Where},
    shards::{join, split},
    support::reaches_whole_orbits,
    visited::{collisions, probability},
    worker::read,
};

impl Search<'_, '_> {
    /// The outcome.
    pub(super) fn finish(mut self) -> Outcome {
        // The search may have been stopped within a level.
        let _ = self.settle();
        self.stop = self.stop.take().or(self.shared.program.full().map(StopReason::Elements));
        self.lengths = self.shared.shards.lengths();
        match self.job.strategy.storage {
            Storage::Hashes if self.beyond == 0 => self.omissions = collisions(self.states()),
            _ => {}
        }
        if self.stop.is_none() && !is_exact(self.job.strategy.storage) {
            self.stop = Some(StopReason::Omission(probability(self.omissions)));
        }
        if self.stop.is_none() {
            self.decide_by_all_states();
        }
        let stop = self.stop.take();
        let result = |monitor: &Monitor| {
            let verdict = match (&monitor.verdict, monitor.watch, &stop) {
                (Some(verdict), ..) => verdict.clone(),
                (None, Watch::Never, _) => {
                    Verdict::Unknown(StopReason::Internal("explicit: a property it does not decide".into()))
                }
                (None, Watch::Given, _) | (None, _, None) => Verdict::Holds,
                (None, _, Some(reason)) => Verdict::Unknown(reason.clone()),
            };
            PropertyResult { property: monitor.property, verdict }
        };
        let results = read(&self.shared.monitors).all.iter().map(result).collect();
        self.statistics.memory_bytes = self.memory();
        self.statistics.states = self.states();
        self.statistics.states_full =
            (0..SHARDS).try_fold(0u128, |sum, shard| sum.checked_add(self.shared.shards.read(shard).full?));
        if self.beyond > 0 {
            self.statistics.states_full =
                (!self.canon.as_ref().is_some_and(Canon::reduces)).then_some(u128::from(self.beyond));
        }
        if self.canon.as_ref().is_some_and(Canon::reduces)
            && !reaches_whole_orbits(self.shared.model, &self.symmetric)
        {
            self.statistics.states_full = None;
        }
        for shard in 0..SHARDS {
            let shard = self.shared.shards.read(shard);
            self.statistics.fresh.iter_mut().zip(&shard.fresh).for_each(|(sum, fresh)| *sum += fresh);
        }
        let seen: u64 = self.statistics.levels.iter().sum();
        if seen < self.statistics.states {
            // The search ended within a level.
            self.statistics.levels.push(self.statistics.states - seen);
        }
        self.statistics.depth = Some((self.statistics.levels.len() as u64).saturating_sub(1));
        self.statistics.time = self.began.elapsed();
        self.statistics.searching = Some(self.searching.elapsed());
        Outcome { results, statistics: self.statistics }
    }

    /// Decides what only all states can decide.
    fn decide_by_all_states(&mut self) {
        let hopeless = self.hopeless();
        let open = |monitor: &Monitor| monitor.verdict.is_none().then_some(monitor.watch);
        let watches: Vec<_> = read(&self.shared.monitors).all.iter().map(open).collect();
        for (at, watch) in watches.into_iter().enumerate() {
            let _ = match watch {
                Some(Watch::Cover(_) | Watch::CoverCheck | Watch::CoverDeadlock(_)) => {
                    self.violation(at, Violation { reason: Reason::NeverCovered, trace: None })
                }
                Some(Watch::Possible(_, goal)) => match hopeless.get(goal).copied().flatten() {
                    Some(state) => self.violated(at, Where::At(state), Problem::NotPossible),
                    None => ControlFlow::Continue(()),
                },
                // Violated only by what was found, if at all.
                Some(
                    Watch::Invariant(_) | Watch::Faults | Watch::Deadlock(_) | Watch::Given | Watch::Never,
                )
                | None => ControlFlow::Continue(()),
            };
        }
        // The search was complete, whatever it found in the end.
        self.stop = None;
    }

    /// For each goal, a state nearest to a start from which it cannot be reached.
    fn hopeless(&self) -> Vec<Option<u32>> {
        let goals = read(&self.shared.monitors).goals;
        if goals == 0 {
            return Vec::new();
        }
        let mut before = [0; SHARDS];
        for shard in 1..SHARDS {
            before[shard] = before[shard - 1] + self.lengths[shard - 1] as usize;
        }
        let dense = |number: u32| {
            let (shard, local) = split(number);
            before[shard] + local as usize
        };
        let guards: Vec<_> = (0..SHARDS).map(|shard| self.shared.shards.read(shard)).collect();
        let parts: Vec<&Edges> = guards.iter().filter_map(|guard| guard.edges.as_ref()).collect();
        let hopeful = Edges::hopeful(&parts, goals, total(&self.lengths) as usize, dense);
        let ends = self.begins.iter().skip(1).chain([&self.lengths]);
        let levels: Vec<_> = self.begins.iter().zip(ends).collect();
        let first = |hopeful: Vec<bool>| {
            levels.iter().find_map(|(starts, ends)| {
                let states = (0..SHARDS).flat_map(|shard| {
                    (starts[shard]..ends[shard]).filter_map(move |local| join(shard, local))
                });
                states.into_iter().find(|number| !hopeful[dense(*number)])
            })
        };
        hopeful.into_iter().map(first).collect()
    }
}
