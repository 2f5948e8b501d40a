//! When memory is full: states go to the disk, and what is in memory is looked up there later; see [`crate::runs`].

use std::io;

use shoal_model::internal;

use super::{LevelSource, Together, apart};
use crate::{
    judge::{JudgedState, Watched},
    report::Where,
    runs::{DiskRuns, StateFiles, sort},
    search::{Crew, SHARDS, Search},
    shards::Shard,
    worker::{EventKind, note, read},
};

impl<'m> Search<'_, 'm> {
    /// Moves what is in memory to the disk: at first all levels, later what may be new.
    pub(super) fn spill(&mut self, crew: &mut Crew<'_, '_, 'm>, group: &mut Together<'_>) -> io::Result<()> {
        match group.disk.take() {
            Some(disk) => self.spill_levels(group, disk),
            None => self.spill_new(crew, group),
        }
    }

    fn spill_levels<'p>(&mut self, group: &mut Together<'p>, disk: &'p mut dyn StateFiles) -> io::Result<()> {
        let shared = self.shared;
        let words = shared.layout.words();
        let runs = group.runs.insert(DiskRuns::new(disk, words));
        let now = shared.shards.lengths();
        let mut starts = [0; SHARDS];
        for (level, ends) in group.ends.iter().chain([&now]).enumerate() {
            let mut states: Vec<Vec<u64>> = vec![Vec::new(); SHARDS];
            for (shard, states) in states.iter_mut().enumerate() {
                shared.shards.read(shard).states(starts[shard]..ends[shard], words, states);
            }
            runs.add_to_level(level, &mut states)?;
            starts = *ends;
        }
        // What is still to be expanded is no longer in memory either.
        if let Some(LevelSource::Memory { level, done, whole }) = &group.source {
            let rest = (0..SHARDS).map(|shard| {
                let mut states = Vec::new();
                let locals = level.cut(shard, *done, *whole)..level.cut(shard, *whole, *whole);
                shared.shards.read(shard).states(locals, words, &mut states);
                states
            });
            group.source = Some(LevelSource::Disk(runs.rest(rest)?));
        }
        for shard in 0..SHARDS {
            let mut guard = shared.shards.write(shard);
            let states = sorted(&guard, words);
            runs.add_known(shard, &states)?;
            guard.store.clear();
            guard.unsure = true;
        }
        Ok(())
    }

    /// Looks on the disk which of the states in memory are new, and adds them to the level that is being found.
    pub(super) fn spill_new(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        group: &mut Together<'_>,
    ) -> io::Result<()> {
        let shared = self.shared;
        let Some(runs) = &mut group.runs else { return Ok(()) };
        let words = shared.layout.words();
        let depth = read(apart(shared)).inserting;
        let monitors = read(&shared.monitors);
        let watched = Watched::new(&monitors);
        let mut cells = vec![0; shared.layout.cells()];
        let mut new = Vec::with_capacity(SHARDS);
        for shard in 0..SHARDS {
            let mut guard = shared.shards.write(shard);
            let mut states = sorted(&guard, words);
            guard.store.clear();
            runs.retain_new(shard, &mut states, &mut || self.job.watch.check().is_ok())?;
            runs.add_known(shard, &states)?;
            for state in states.chunks_exact(words) {
                let orbit = match &mut self.canon {
                    Some(canon) => {
                        shared.layout.unpack(state, &mut cells);
                        canon.canonicalise(&mut cells)
                    }
                    None => Some(1),
                };
                guard.full = guard.full.zip(orbit).and_then(|(full, orbit)| full.checked_add(orbit));
                crew.worker.judge.look_at(&monitors, &watched, state, &mut |seen| {
                    let place = || Where::State(depth, state.to_vec());
                    match seen {
                        JudgedState::Wrong(at, problem) => {
                            note(&mut group.events, at, || EventKind::Wrong(place(), problem))
                        }
                        JudgedState::Fault(at, problem) => {
                            note(&mut group.events, at, || EventKind::Late(place(), problem))
                        }
                        JudgedState::Covered(at) => note(&mut group.events, at, || EventKind::Holds),
                        JudgedState::Goal(_) => internal!("what is always possible is not decided on disk"),
                    }
                });
            }
            new.push(states);
        }
        runs.add_to_level(depth as usize, &mut new)
    }
}

/// The states of a shard, sorted.
fn sorted(shard: &Shard, words: usize) -> Vec<u64> {
    let mut states = Vec::new();
    shard.states(0..shard.store.len() as u32, words, &mut states);
    sort(&mut states, words);
    states
}
