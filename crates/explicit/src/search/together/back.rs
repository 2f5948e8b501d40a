//! The way to a violation, found by expanding the levels before it again.

use std::{
    ops::ControlFlow,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

use shoal_model::{OrInternal, StopReason};

use super::{ROUND, Together, apart, write};
use crate::{
    report::Where,
    search::{ALONE, Crew, Level, Search, pieces},
    worker::read,
};

/// How long the way to a violation may be looked for after there is no time left.
const MOMENT: Duration = Duration::from_secs(5);

impl<'m> Search<'_, 'm> {
    /// Tells what is wrong in the least states, nearest to a start first.
    pub(super) fn tell_wrong(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        group: &mut Together<'_>,
        mut wrong: Vec<(u32, usize, Vec<u64>)>,
    ) -> ControlFlow<()> {
        wrong.sort();
        for (depth, at, words) in wrong {
            let open = read(&self.shared.monitors).all.get(at).is_some_and(|it| it.verdict.is_none());
            if !open {
                continue;
            }
            let is_new = depth == read(apart(self.shared)).inserting;
            let problem = crew.worker.again(self.shared, at, &words, is_new);
            let problem = problem.or_internal("what is wrong in a state is wrong in it again");
            let Some(path) = self.way_to(crew, group, depth, words)? else {
                // It is violated, but what cannot be shown is not said.
                let ended = self.job.watch.check().err();
                let reason = ended.unwrap_or_else(|| {
                    StopReason::Lost("a process had no time to find the way to a violation".into())
                });
                self.stop.get_or_insert(reason);
                return ControlFlow::Break(());
            };
            self.violated(at, Where::Along(path), problem)?;
        }
        ControlFlow::Continue(())
    }

    /// A shortest way from a start to a state: of the states that lead to it, the least, and so on. Nothing if there is no time for it.
    fn way_to(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        group: &mut Together<'_>,
        depth: u32,
        words: Vec<u64>,
    ) -> ControlFlow<(), Option<Vec<Vec<u64>>>> {
        let began = Instant::now();
        let round = {
            let round = read(apart(self.shared));
            (round.depth, round.inserting)
        };
        let mut path = vec![words];
        for level in (0..depth).rev() {
            let found = self.least_before(crew, group, level, path[path.len() - 1].clone(), began);
            let words = match group.gather(found) {
                Ok(words) => words,
                Err(lost) => {
                    self.lose(group, lost)?;
                    return ControlFlow::Continue(None);
                }
            };
            if words.iter().any(|words| words.first() == Some(&1)) {
                return ControlFlow::Continue(None);
            }
            let least = words
                .into_iter()
                .filter_map(|words| words.get(1..).map(<[u64]>::to_vec))
                .filter(|it| !it.is_empty())
                .min();
            path.push(least.or_internal("a state of a level is reached from the level before"));
        }
        path.reverse();
        let mut own = write(apart(self.shared));
        (own.depth, own.inserting, own.target) = (round.0, round.1, None);
        ControlFlow::Continue(Some(path))
    }

    /// The least own state of a level that leads to a state, after a word that says whether there was no time.
    fn least_before(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        group: &mut Together<'_>,
        level: u32,
        target: Vec<u64>,
        began: Instant,
    ) -> Vec<u64> {
        let mut source = group.open(level as usize);
        {
            let mut round = write(apart(self.shared));
            (round.depth, round.target) = (level, Some(target));
        }
        let mut least: Option<Vec<u64>> = None;
        loop {
            let states = {
                let mut round = write(apart(self.shared));
                let most = ROUND * self.job.threads.max(1) as u64;
                if let Err(error) = group.next(self.shared, &mut source, most, &mut round.states) {
                    self.stop.get_or_insert(StopReason::Disk(error.to_string()));
                    return vec![1];
                }
                (round.states.len() / self.shared.layout.words()) as u64
            };
            if states == 0 {
                return std::iter::once(0).chain(least.into_iter().flatten()).collect();
            }
            if self.job.watch.check().is_err() && began.elapsed() > MOMENT {
                return vec![1];
            }
            self.plan_round(pieces(0, states, self.job.threads), Level::NONE);
            self.shared.abandon.store(false, Ordering::Relaxed);
            crew.expand(self.job.threads > 1 && states as usize >= ALONE, || true);
            let batches = read(&self.shared.round).pieces.len();
            for batch in &self.shared.batches[..batches] {
                let mut batch = write(batch);
                batch.events.clear();
                let found = batch.before.take();
                least = least.into_iter().chain(found).min();
            }
        }
    }
}
