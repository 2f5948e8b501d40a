//! The end of a search: what only all states can decide, and the outcome.

use std::ops::ControlFlow;

use shoal_model::{Failing, Outcome, PropertyResult, Reason, StopReason, Storage, Verdict, Violation};

use super::{Backwards, KripkeView, SHARDS, Search, is_exact};
use crate::{
    canon::Canon,
    monitor::{Monitor, MonitorKind},
    report::{Problem, Where},
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
        let stop = self.stop.clone();
        if stop.is_none() {
            self.decide_by_all_states();
        }
        self.statistics.memory_bytes = self.agreed.map_or_else(|| self.memory(), |agreed| agreed.bytes);
        // The last reading changes nothing but what is read.
        let _ = self.read_now(Some(stop.clone().or(self.lost.clone())));
        let result = |monitor: &Monitor| {
            let verdict = match (&monitor.verdict, monitor.watch, &stop) {
                (Some(verdict), ..) => verdict.clone(),
                (None, MonitorKind::Never, _) => {
                    Verdict::Unknown(StopReason::Internal("explicit: a property it does not decide".into()))
                }
                (None, MonitorKind::Possible(..), None) => match &self.lost {
                    Some(reason) => Verdict::Unknown(reason.clone()),
                    None => Verdict::Holds,
                },
                (None, MonitorKind::Given, _) | (None, _, None) => Verdict::Holds,
                (None, _, Some(reason)) => Verdict::Unknown(reason.clone()),
            };
            PropertyResult { property: monitor.property, verdict }
        };
        let monitors = read(&self.shared.monitors);
        let results = monitors.all.iter().filter(|monitor| monitor.is_asked).map(result).collect();
        let failing = if monitors.fails() { Failing::Step } else { Failing::Nothing };
        drop(monitors);
        self.statistics.states = self.states();
        self.statistics.states_full = match self.agreed {
            Some(agreed) => agreed.full,
            None => (0..SHARDS)
                .try_fold(0u128, |sum, shard| sum.checked_add(self.shared.shards.read(shard).full?)),
        };
        if self.beyond > 0 {
            self.statistics.states_full =
                (!self.canon.as_ref().is_some_and(Canon::reduces)).then_some(u128::from(self.beyond));
        }
        if self.canon.as_ref().is_some_and(Canon::reduces) && !self.reaches_whole_orbits() {
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
        Outcome { results, failing, statistics: self.statistics }
    }

    /// Whether every state of a reached orbit is reached, as far as that is known: what is checked is checked of steps in
    /// representatives only.
    fn reaches_whole_orbits(&self) -> bool {
        self.symmetric.iter().all(|sort| self.job.symmetric.contains(sort))
            && reaches_whole_orbits(self.shared.model, &self.symmetric)
    }

    /// Decides what only all states can decide.
    fn decide_by_all_states(&mut self) {
        let hopeless = self.hopeless().unwrap_or_else(|reason| {
            self.lost.get_or_insert(reason);
            Vec::new()
        });
        let open = |monitor: &Monitor| monitor.verdict.is_none().then_some(monitor.watch);
        let watches: Vec<_> = read(&self.shared.monitors).all.iter().map(open).collect();
        for (at, watch) in watches.into_iter().enumerate() {
            let _ = match watch {
                Some(MonitorKind::Cover(_) | MonitorKind::CoverCheck | MonitorKind::CoverDeadlock(_)) => {
                    self.violation(at, Violation { reason: Reason::NeverCovered, trace: None })
                }
                Some(MonitorKind::Possible(_, goal)) => match hopeless.get(goal).copied().flatten() {
                    Some(state) => self.violated(at, Where::At(state), Problem::NotPossible),
                    None => ControlFlow::Continue(()),
                },
                // Violated only by what was found, if at all.
                Some(
                    MonitorKind::Invariant(_)
                    | MonitorKind::Faults
                    | MonitorKind::Deadlock(_)
                    | MonitorKind::Failing
                    | MonitorKind::Given
                    | MonitorKind::Never,
                )
                | None => ControlFlow::Continue(()),
            };
        }
    }

    /// For each goal, a state nearest to a start from which it cannot be reached. The error says why that cannot be found out.
    fn hopeless(&self) -> Result<Vec<Option<u32>>, StopReason> {
        let goals = read(&self.shared.monitors).goals;
        if goals == 0 || self.lost.is_some() {
            return Ok(Vec::new());
        }
        let graph = KripkeView::new(&self.shared.shards, &self.kripke);
        let bytes = self.memory() + Backwards::bytes(&graph) + graph.len() as u64 * 5;
        if let Some(limit) = self.job.watch.memory().filter(|limit| bytes > *limit) {
            return Err(StopReason::Memory(limit));
        }
        let (backwards, depths) = (Backwards::new(&graph), graph.depths());
        let first = |goal: usize| {
            let reached = graph.numbers().enumerate().filter(|(_, number)| graph.is_goal(*number, goal));
            let hopeful = graph.before_some(reached.map(|(at, _)| at), &backwards);
            let hopeless = graph.numbers().enumerate().filter(|(at, _)| !hopeful[*at]);
            hopeless.min_by_key(|(at, _)| depths[*at]).map(|(_, number)| number)
        };
        Ok((0..goals).map(first).collect())
    }
}
