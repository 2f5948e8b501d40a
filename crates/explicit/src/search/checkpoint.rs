//! Saving a search between two rounds, and going on with it later.
//!
//! What is saved is what the next round depends on: the states with their origins, the steps if they are asked
//! for, how far the level is, and what was counted. Tables are built again. Verdicts other than of covers are not
//! saved: once something is wrong nothing is saved any more, and a search that goes on from before finds it again.

use std::io::{self, Read, Write};

use shoal_model::{StopReason, Verdict};

use super::{Level, Position, SHARDS, Search};
use crate::{
    bytes::{damaged, get, get_exactly, get_list, put, put_all},
    worker::read,
};

/// Writes a saved search; called by a [`Keeper`] with the place to write to.
pub type Save<'a> = &'a mut dyn FnMut(&mut dyn Write) -> io::Result<()>;

/// Keeps saved searches.
pub trait Keeper {
    /// Whether the search is to be saved now. Asked often.
    fn due(&mut self) -> bool;
    /// Saves the search. What goes wrong is the keeper's to remember: the search goes on.
    fn save(&mut self, save: Save<'_>);
    /// A saved search to go on with. Asked once.
    fn resume(&mut self) -> io::Result<Option<Box<dyn Read>>>;
}

/// Keeps nothing.
pub(crate) struct Nowhere;

impl Keeper for Nowhere {
    fn due(&mut self) -> bool {
        false
    }
    fn save(&mut self, _: Save<'_>) {}
    fn resume(&mut self) -> io::Result<Option<Box<dyn Read>>> {
        Ok(None)
    }
}

impl Search<'_, '_> {
    /// Saves the search if it is time to.
    pub(super) fn save_if_due(&mut self, keeper: &mut dyn Keeper) {
        if keeper.due() {
            self.save(keeper);
        }
    }

    /// Saves the search when it was stopped between two rounds.
    pub(super) fn save_at_stop(&mut self, keeper: &mut dyn Keeper) {
        if let Some(StopReason::Time(_) | StopReason::Depth(_) | StopReason::Interrupted) = self.stop {
            self.save(keeper);
        }
    }

    fn save(&self, keeper: &mut dyn Keeper) {
        let wrong = |verdict: &Option<Verdict>| matches!(verdict, Some(Verdict::Violated(_)));
        let found =
            self.late.is_some() || read(&self.shared.monitors).all.iter().any(|it| wrong(&it.verdict));
        if !found && self.position.is_some() {
            keeper.save(&mut |out| self.write(out));
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(position) = &self.position else { return Ok(()) };
        let monitors = read(&self.shared.monitors);
        let decided = monitors.all.iter().map(|monitor| u64::from(monitor.verdict.is_some()));
        put_all(out, monitors.all.len(), decided)?;
        put_all(out, SHARDS, position.level.starts.iter().map(|it| u64::from(*it)))?;
        put_all(out, SHARDS, position.level.ends.iter().map(|it| u64::from(*it)))?;
        put(out, position.done)?;
        put(out, position.left)?;
        put(out, self.expanded)?;
        put(out, self.statistics.put_off)?;
        put_all(out, self.statistics.levels.len(), self.statistics.levels.iter().copied())?;
        put_all(out, self.statistics.fired.len(), self.statistics.fired.iter().copied())?;
        let begins = self.begins.iter().flatten().map(|it| u64::from(*it));
        put_all(out, self.begins.len() * SHARDS, begins)?;
        for shard in 0..SHARDS {
            self.shared.shards.read(shard).write(out)?;
        }
        Ok(())
    }

    /// Makes this search the one that was saved.
    pub(super) fn restore(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let mut decided = Vec::new();
        get_list(input, &mut decided)?;
        if let Ok(mut monitors) = self.shared.monitors.write() {
            for (monitor, _) in monitors.all.iter_mut().zip(decided).filter(|(_, decided)| *decided != 0) {
                monitor.verdict = Some(Verdict::Holds);
            }
        }
        let (starts, ends) = (get_exactly(input)?, get_exactly(input)?);
        let (done, left) = (get(input)?, get(input)?);
        self.position = Some(Position { level: Level { starts, ends }, done, left });
        self.expanded = get(input)?;
        self.statistics.put_off = get(input)?;
        get_list(input, &mut self.statistics.levels)?;
        let mut fired = Vec::new();
        get_list(input, &mut fired)?;
        if fired.len() != self.statistics.fired.len() {
            return Err(damaged());
        }
        self.statistics.transitions = fired.iter().sum();
        self.statistics.fired = fired;
        let mut begins = Vec::new();
        get_list(input, &mut begins)?;
        let level = |level: &[u64; SHARDS]| level.map(|it| it as u32);
        self.begins = begins.as_chunks().0.iter().map(level).collect();
        for shard in 0..SHARDS {
            self.shared.shards.write(shard).read(input, &self.shared.shards.budget)?;
        }
        self.lengths = self.shared.shards.lengths();
        Ok(())
    }
}
