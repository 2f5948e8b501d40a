//! Steps and labels while a search goes on: linked after each round, given up where there is no memory for them, and read.

use std::{
    ops::ControlFlow,
    sync::{PoisonError, atomic::Ordering},
};

use shoal_model::StopReason;

use super::{Crew, Findings, KripkeView, READ_AGAIN, ReadOutcome, Search, Spending, total};
use crate::{
    monitor::{Monitor, MonitorKind},
    shards::{SHARDS, StoreRefused},
    worker::{Shared, read},
};

impl<'m> Search<'_, 'm> {
    /// Keeps the steps of a round.
    pub(super) fn link(&mut self, crew: &mut Crew<'_, '_, 'm>, together: bool) -> ControlFlow<()> {
        if !self.keeps() {
            return ControlFlow::Continue(());
        }
        let pieces = read(&self.shared.round).pieces.len();
        let (mut firsts, mut nothing) = ([0; SHARDS], true);
        for batch in &self.shared.batches[..pieces] {
            let sketch = &mut batch.write().unwrap_or_else(PoisonError::into_inner).sketch;
            sketch.firsts = firsts;
            nothing &= sketch.is_empty();
            firsts.iter_mut().zip(&sketch.counts).for_each(|(first, count)| *first += count);
        }
        if nothing {
            return ControlFlow::Continue(());
        }
        crew.link(together);
        for batch in &self.shared.batches[..pieces] {
            if !self.kripke.add(read(batch).sketch.linked(), &self.shared.shards.budget) {
                let goes_on = self.gives_up_steps();
                return if goes_on { ControlFlow::Continue(()) } else { self.stop_for_memory() };
            }
        }
        ControlFlow::Continue(())
    }

    /// Whether steps and labels are kept.
    pub(super) fn keeps(&self) -> bool {
        self.shared.keeps.load(Ordering::Relaxed)
    }

    /// Where there is no memory to store a state: there may be if steps and labels are given up. What only they can tell
    /// will not be known, but the rest may.
    pub(super) fn make_room(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        together: bool,
        allowance: Option<u64>,
        shards: &[usize],
    ) {
        let full = |shard: &usize| self.shared.shards.read(*shard).refused == Some(StoreRefused::Memory);
        if !shards.iter().any(full) || !self.gives_up_steps() {
            return;
        }
        for shard in shards {
            self.shared.shards.write(*shard).refused = None;
        }
        // What was stored is known, and what was noticed is noted once.
        let stored = total(&self.shared.shards.lengths()) - total(&self.lengths);
        crew.absorb(together, allowance.map(|left| left.saturating_sub(stored)));
    }

    /// Gives up steps and labels for lack of memory, if they are kept and something is asked that does not need them.
    pub(super) fn gives_up_steps(&mut self) -> bool {
        let gives_up = self.keeps() && !self.has_no_other();
        if gives_up {
            let memory = self.memory();
            self.lost.get_or_insert(StopReason::Memory(self.job.watch.memory().unwrap_or(memory)));
            self.forget_steps();
        }
        gives_up
    }

    /// Whether nothing is asked but what needs steps.
    fn has_no_other(&self) -> bool {
        let monitors = read(&self.shared.monitors);
        let other = |monitor: &Monitor| {
            let other = match monitor.watch {
                MonitorKind::Possible(..)
                | MonitorKind::Failing
                | MonitorKind::Given
                | MonitorKind::Never => false,
                MonitorKind::Invariant(_)
                | MonitorKind::Faults
                | MonitorKind::Deadlock(_)
                | MonitorKind::Cover(_)
                | MonitorKind::CoverDeadlock(_)
                | MonitorKind::CoverCheck => true,
            };
            other && monitor.verdict.is_none()
        };
        !monitors.all.iter().any(other)
    }

    fn forget_steps(&mut self) {
        self.shared.keeps.store(false, Ordering::Relaxed);
        self.shared.shards.drop_labels();
        self.kripke.clear(&self.shared.shards.budget);
    }

    /// Lets the reader see what there is, from time to time.
    pub(super) fn read_so_far(&mut self) -> ControlFlow<()> {
        if self.expanded < self.read_at {
            return ControlFlow::Continue(());
        }
        self.read_at = self.expanded.saturating_mul(READ_AGAIN);
        self.read_now(None)
    }

    /// Lets the reader see what there is.
    pub(super) fn read_now(&mut self, end: Option<Option<StopReason>>) -> ControlFlow<()> {
        if !self.keeps() && end.is_none() {
            return ControlFlow::Continue(());
        }
        let progress = self.progress();
        let Some(reader) = &mut self.reader else { return ControlFlow::Continue(()) };
        let Shared { model, layout, program, ref shards, .. } = *self.shared;
        let mut explored = Findings {
            model,
            layout,
            program,
            shards,
            canon: self.canon.as_mut(),
            graph: KripkeView::new(shards, &self.kripke),
            faults: &self.faults,
            end,
            budget: Spending::new(self.job, self.observer, progress, self.began),
        };
        let ReadOutcome { violated, done } = reader.read(&mut explored);
        drop(explored);
        if done {
            self.reader = None;
            if read(&self.shared.monitors).goals == 0 {
                self.forget_steps();
            }
            if read(&self.shared.monitors).nothing_is_open() {
                return ControlFlow::Break(());
            }
        }
        if violated { self.lose_patience() } else { ControlFlow::Continue(()) }
    }
}
