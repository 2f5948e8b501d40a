//! Searching in depth, and random walks: what is expanded next is at the end of a path.
//!
//! A state's way from a start is on the path itself, so nothing but the knowledge that it was seen need be kept of it.

use std::ops::ControlFlow;

use shoal_model::{StopReason, Verdict};

use super::{Level, LevelPiece, Search};
use crate::{
    judge::{Dropped, JudgedState, Watched},
    report::Where,
    shards::SHARDS,
    store::{NONE, fold},
    visited::{Visit, Visited},
    worker::{EventKind, PropertyEvent, Worker, read},
};

/// How many steps a random walk takes before the next begins, and how many all take together, unless limits say else.
const WALK: u64 = 1_000;
const ALL_WALKS: u64 = 1_000_000;

/// A state and the rule (or start) that led to it.
type Reached = (usize, Vec<u64>);

/// A state that is to be expanded.
struct PendingState {
    depth: usize,
    reached: Reached,
}

impl<'m> Search<'_, 'm> {
    /// Expands the state that was found last first.
    pub(super) fn in_depth(&mut self, worker: &mut Worker<'m>, visited: &mut Visited) -> ControlFlow<()> {
        self.plan_round(vec![LevelPiece { from: 0, to: 0 }], Level::NONE);
        if let Err(reason) = worker.starts(self.shared, &self.job.watch) {
            return self.stop(reason);
        }
        let (mut path, mut stack) = (Vec::new(), Vec::new());
        self.push_new(worker, &path, visited, &mut stack)?;
        let mut cut = None;
        while let Some(PendingState { depth, reached }) = stack.pop() {
            path.truncate(depth);
            path.push(reached);
            if let Some(limit) = self.job.limits().depth.filter(|limit| depth as u64 >= *limit) {
                cut = Some(limit);
                continue;
            }
            worker.expand_one(self.shared, &path[depth].1);
            self.expanded += 1;
            self.push_new(worker, &path, visited, &mut stack)?;
            self.beside = visited.bytes() + self.bytes_of(stack.len() + path.len());
            self.look_around()?;
        }
        cut.map_or(ControlFlow::Continue(()), |limit| self.stop(StopReason::Depth(limit)))
    }

    /// Puts the successors that were not seen before on the stack.
    fn push_new(
        &mut self,
        worker: &mut Worker<'m>,
        path: &[Reached],
        visited: &mut Visited,
        stack: &mut Vec<PendingState>,
    ) -> ControlFlow<()> {
        self.heed_path(path)?;
        let shared = self.shared;
        let batch = read(&shared.batches[0]);
        for record in (0..SHARDS).flat_map(|shard| batch.records(shard)) {
            if visited.knows(record.state, record.hash) {
                continue;
            }
            let reached = (record.step.rule as usize, record.state.to_vec());
            if !self.judge(worker, path, &reached)? {
                continue;
            }
            let full = self.job.limits().memory.is_some_and(|limit| self.memory() > limit);
            if full || visited.insert(record.state, record.hash) == Visit::Full {
                return self
                    .stop(StopReason::Memory(self.job.limits().memory.unwrap_or_else(|| self.memory())));
            }
            self.count(path.len(), (record.step.parent != NONE).then_some(reached.0));
            if let Some(limit) = self.job.limits().states.filter(|limit| self.states() > *limit) {
                return self.stop(StopReason::States(limit));
            }
            self.keep_patience()?;
            stack.push(PendingState { depth: path.len(), reached });
        }
        ControlFlow::Continue(())
    }

    /// Walks at random until a limit is reached.
    pub(super) fn walk(&mut self, worker: &mut Worker<'m>, seed: u64) -> ControlFlow<()> {
        self.plan_round(vec![LevelPiece { from: 0, to: 0 }], Level::NONE);
        let length = self.job.limits().depth.unwrap_or(WALK);
        let most = if self.job.limits().time.is_some() { u64::MAX } else { ALL_WALKS };
        let mut random = Random(seed);
        loop {
            let mut path = Vec::new();
            if let Err(reason) = worker.starts(self.shared, &self.job.watch) {
                return self.stop(reason);
            }
            while let Some(next) = self.random_successor(worker, &path, &mut random)? {
                self.count(path.len(), Some(next.0).filter(|_| !path.is_empty()));
                path.push(next);
                self.expanded += 1;
                if self.expanded >= most {
                    return self.stop(StopReason::Walks(self.expanded));
                }
                self.look_around()?;
                if path.len() as u64 > length {
                    break;
                }
                worker.expand_one(self.shared, &path[path.len() - 1].1);
            }
            if path.is_empty() {
                // There is no start to walk from.
                return ControlFlow::Continue(());
            }
        }
    }

    /// Takes one of the successors that no assumption drops.
    fn random_successor(
        &mut self,
        worker: &mut Worker<'m>,
        path: &[Reached],
        random: &mut Random,
    ) -> ControlFlow<(), Option<Reached>> {
        self.heed_path(path)?;
        let shared = self.shared;
        let batch = read(&shared.batches[0]);
        let mut left: Vec<_> = (0..SHARDS).flat_map(|shard| batch.records(shard)).collect();
        while !left.is_empty() {
            let record = left.swap_remove(random.below(left.len()));
            let reached = (record.step.rule as usize, record.state.to_vec());
            if self.judge(worker, path, &reached)? {
                return ControlFlow::Continue(Some(reached));
            }
        }
        ControlFlow::Continue(None)
    }

    /// Looks at the properties of a state beyond the path. False if an assumption drops it.
    fn judge(&mut self, worker: &mut Worker<'m>, path: &[Reached], state: &Reached) -> ControlFlow<(), bool> {
        let monitors = read(&self.shared.monitors);
        let (mut seen, mut failing) = (Vec::new(), None);
        let drops = match worker.judge.drops(&monitors, &state.1) {
            Dropped::No => {
                let watched = Watched::new(&monitors);
                worker.judge.look_at(&monitors, &watched, &state.1, &mut |it| seen.push(it));
                false
            }
            Dropped::Quietly => true,
            Dropped::Fault(at, problem) => {
                failing = problem.fault().and_then(|fault| monitors.of_failing(&fault.kind));
                seen.extend(at.map(|at| JudgedState::Fault(at, problem)));
                true
            }
        };
        drop(monitors);
        self.stop_if_a_run_was()?;
        if let Some(at) = failing {
            self.decide(at, Verdict::Holds)?;
        }
        let place = || Where::Path(path.iter().chain([state]).cloned().collect());
        for it in seen {
            match it {
                JudgedState::Covered(at) => self.decide(at, Verdict::Holds)?,
                JudgedState::Wrong(at, problem) | JudgedState::Fault(at, problem) => {
                    self.violated(at, place(), problem)?
                }
                // What can be reached from where is not asked in depth.
                JudgedState::Goal(_) => {}
            }
        }
        ControlFlow::Continue(!drops)
    }

    /// Takes notice of what happened in the last state of the path.
    fn heed_path(&mut self, path: &[Reached]) -> ControlFlow<()> {
        self.stop_if_a_run_was()?;
        let (_, events) = self.collect();
        let here = |place| match place {
            Where::At(_) => Where::Path(path.to_vec()),
            other @ (Where::Dropped(..) | Where::Path(_) | Where::State(..) | Where::Along(_)) => other,
        };
        let events = events.into_iter().map(|PropertyEvent { at, what }| {
            let what = match what {
                EventKind::Wrong(place, problem) | EventKind::Late(place, problem) => {
                    EventKind::Wrong(here(place), problem)
                }
                other => other,
            };
            PropertyEvent { at, what }
        });
        self.heed(events.collect())
    }

    fn count(&mut self, depth: usize, rule: Option<usize>) {
        self.beyond += 1;
        if self.statistics.levels.len() <= depth {
            self.statistics.levels.resize(depth + 1, 0);
        }
        self.statistics.levels[depth] += 1;
        if let Some(rule) = rule {
            self.statistics.fresh[rule] += 1;
        }
    }

    /// Bytes that so many states on a path or a stack take.
    fn bytes_of(&self, states: usize) -> u64 {
        (states * (size_of::<PendingState>() + self.shared.layout.words() * 8)) as u64
    }
}

/// Numbers without a visible order.
struct Random(u64);

impl Random {
    /// A number below another.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(fold(self.0, 0xe703_7ed1_a0b4_28db)) * end as u128) >> 64) as usize
    }
}
