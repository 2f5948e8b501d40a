//! Saving a search between two rounds, and going on with it later.
//!
//! What is saved is what the next round depends on: the states with their origins, the steps if they are asked
//! for, how far the level is, and what was counted. Tables are built again. Verdicts other than of covers are not
//! saved: once something is wrong nothing is saved any more, and a search that goes on from before finds it again.

use std::{
    io::{self, Read, Write},
    sync::PoisonError,
};

use shoal_model::{StopReason, Verdict};

use super::{Level, LevelPosition, READ_AGAIN, SHARDS, Search, total};
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
        let found = self.late.is_some()
            || self.faults.iter().any(Option::is_some)
            || read(&self.shared.monitors).all.iter().any(|it| wrong(&it.verdict));
        // Steps and labels that were given up cannot be had again.
        let whole = self.shared.sink.is_empty() || self.keeps();
        if !found && whole && self.position.is_some() {
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
        put_all(out, self.statistics.spent.len(), self.statistics.spent.iter().copied())?;
        for shard in 0..SHARDS {
            self.shared.shards.read(shard).write(out)?;
        }
        self.kripke.write(out)
    }

    /// Makes this search the one that was saved. What cannot be is refused: a list of another length, a number that is too great, a
    /// level that ends behind the last state.
    pub(super) fn restore(&mut self, input: &mut dyn Read) -> io::Result<()> {
        self.restore_verdicts(input)?;
        let (starts, ends) = (get_exactly(input)?, get_exactly(input)?);
        let (done, left) = (get(input)?, get(input)?);
        self.expanded = get(input)?;
        self.statistics.put_off = get(input)?;
        get_list(input, &mut self.statistics.levels)?;
        self.statistics.fired = get_as_many(input, self.statistics.fired.len())?;
        self.statistics.transitions = self.statistics.fired.iter().sum();
        self.statistics.spent = get_as_many(input, self.statistics.spent.len())?;
        for shard in 0..SHARDS {
            self.shared.shards.write(shard).read(input, &self.shared.shards.budget)?;
        }
        self.lengths = self.shared.shards.lengths();
        self.kripke.read(input, &self.lengths, &self.shared.shards.budget)?;
        // Not again what was read before it was saved.
        while self.read_at <= self.expanded {
            self.read_at = self.read_at.saturating_mul(READ_AGAIN);
        }
        let level = Level { starts, ends };
        let fits =
            (0..SHARDS).all(|shard| starts[shard] <= ends[shard] && ends[shard] <= self.lengths[shard]);
        if !fits || total(&ends) - total(&starts) != done.saturating_add(left) {
            return Err(damaged());
        }
        self.position = Some(LevelPosition { level, done, left });
        // Nothing is left over; the reader looks whether this is the end that was written.
        match input.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(damaged()),
        }
    }

    fn restore_verdicts(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let mut monitors = self.shared.monitors.write().unwrap_or_else(PoisonError::into_inner);
        let decided = get_as_many(input, monitors.all.len())?;
        for (monitor, decided) in monitors.all.iter_mut().zip(decided) {
            monitor.verdict = match decided {
                0 => None,
                1 => Some(Verdict::Holds),
                _ => return Err(damaged()),
            };
        }
        Ok(())
    }
}

/// Reads a list that has so many numbers.
fn get_as_many(input: &mut dyn Read, count: usize) -> io::Result<Vec<u64>> {
    let mut list = Vec::new();
    get_list(input, &mut list)?;
    if list.len() == count { Ok(list) } else { Err(damaged()) }
}
