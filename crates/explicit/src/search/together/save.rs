//! Saving a search by several processes, or on disk, and going on with it with any number of processes.
//!
//! A level never changes once it is complete, so each process writes its part of each level once: sorted, in segments, as
//! [`crate::runs`] does. What was counted goes into a file of its own, the head, which is written last: where the heads of all processes
//! are there, everything is. Whoever goes on reads all parts of all levels and keeps what it owns, as if it had just arrived.

use std::{
    io::{self, Read},
    ops::ControlFlow,
    sync::PoisonError,
    time::{SystemTime, UNIX_EPOCH},
};

use shoal_model::{Model, OrInternal as _, SortSize, StopReason, Verdict};

use super::{SAMPLE, Together, apart, write};
use crate::{
    apart::{Arrived, LostContact, Packet},
    bytes::{damaged, get, get_list, put, put_all},
    runs::{LevelFiles, SegmentReader, SegmentWriter, Writing, sort},
    search::{Crew, SHARDS, Search, total},
    shards::shard,
    store::hash,
    worker::read,
};

/// States that are read or written at a time.
const PART: u64 = if cfg!(debug_assertions) { 100 } else { 1 << 16 };
/// What the names of heads end in.
const HEAD: &str = "head";
const STATES: &str = "states";

/// The name of a file: which run saved it, the level, the process and how many there were, and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileName {
    run: u64,
    level: usize,
    index: usize,
    processes: usize,
    kind: &'static str,
}

impl FileName {
    fn text(&self) -> String {
        let FileName { run, level, index, processes, kind } = self;
        format!("{run:016x}-{level:05}-{index}-of-{processes}.{kind}")
    }

    /// Nothing if it is no name of ours.
    fn read(text: &str) -> Option<FileName> {
        let (name, kind) = text.split_once('.')?;
        let kind = [HEAD, STATES].into_iter().find(|it| *it == kind)?;
        let parts: Vec<&str> = name.split('-').collect();
        let [run, level, index, "of", processes] = parts[..] else { return None };
        let found = FileName {
            run: u64::from_str_radix(run, 16).ok()?,
            level: level.parse().ok()?,
            index: index.parse().ok()?,
            processes: processes.parse().ok()?,
            kind,
        };
        (found.text() == text).then_some(found)
    }
}

/// What a process has counted up to the end of a level.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    transitions: u64,
    put_off: u64,
    fired: Vec<u64>,
    full: Option<u128>,
}

/// The head of what a process has saved.
struct Head {
    words: u64,
    bits: u64,
    rooms: Vec<u64>,
    levels: Vec<u64>,
    /// For each property, whether it is known to hold.
    decided: Vec<u64>,
    counted: Counted,
}

impl Head {
    fn write(&self, out: &mut dyn Writing) -> io::Result<()> {
        let list = |out: &mut dyn Writing, list: &[u64]| put_all(out, list.len(), list.iter().copied());
        put(out, self.words)?;
        put(out, self.bits)?;
        list(out, &self.rooms)?;
        list(out, &self.levels)?;
        list(out, &self.decided)?;
        list(out, &self.counted.fired)?;
        put(out, self.counted.transitions)?;
        put(out, self.counted.put_off)?;
        put(out, u64::from(self.counted.full.is_some()))?;
        let full = self.counted.full.unwrap_or(0);
        put(out, full as u64)?;
        put(out, (full >> 64) as u64)
    }

    fn read(input: &mut dyn Read) -> io::Result<Head> {
        let list = |input: &mut dyn Read| {
            let mut list = Vec::new();
            get_list(input, &mut list).map(|()| list)
        };
        let (words, bits) = (get(input)?, get(input)?);
        let (rooms, levels, decided, fired) = (list(input)?, list(input)?, list(input)?, list(input)?);
        let (transitions, put_off) = (get(input)?, get(input)?);
        let (known, low, high) = (get(input)?, get(input)?, get(input)?);
        let full = match known {
            0 => None,
            1 => Some(u128::from(low) | u128::from(high) << 64),
            _ => return Err(damaged()),
        };
        if decided.iter().any(|it| *it > 1) || input.read(&mut [0])? != 0 {
            return Err(damaged());
        }
        let counted = Counted { transitions, put_off, fired, full };
        Ok(Head { words, bits, rooms, levels, decided, counted })
    }

    /// Whether two processes have saved the same search.
    fn agrees_with(&self, other: &Head) -> bool {
        let same = |head: &Head| (head.words, head.bits, head.rooms.clone(), head.levels.clone());
        let lengths = |head: &Head| (head.decided.len(), head.counted.fired.len());
        same(self) == same(other) && lengths(self) == lengths(other)
    }
}

/// A search that was saved whole.
pub(crate) struct SavedLevels {
    run: u64,
    heads: Vec<Head>,
}

impl SavedLevels {
    /// The one with the most levels.
    pub(crate) fn find(files: &mut dyn LevelFiles) -> io::Result<SavedLevels> {
        let names: Vec<FileName> = files.names()?.iter().filter_map(|name| FileName::read(name)).collect();
        let heads = || names.iter().filter(|name| name.kind == HEAD);
        let part = |of: &FileName, index: usize| FileName { index, ..of.clone() };
        let whole = |first: &&FileName| {
            first.index == 0 && (0..first.processes).all(|index| names.contains(&part(first, index)))
        };
        let found = heads().filter(whole).max_by_key(|name| (name.level, name.run));
        let Some(first) = found else { return Err(io::ErrorKind::NotFound.into()) };
        let read = |index| Head::read(&mut *files.open(&part(first, index).text())?);
        let heads: Vec<Head> = (0..first.processes).map(read).collect::<io::Result<_>>()?;
        let fits = |head: &Head| head.agrees_with(&heads[0]) && head.levels.len() == first.level + 1;
        if heads.iter().all(fits) { Ok(SavedLevels { run: first.run, heads }) } else { Err(damaged()) }
    }

    /// How much room there was for the elements of each sort that grows.
    pub(crate) fn rooms(&self) -> &[u64] {
        &self.heads[0].rooms
    }

    fn name(&self, level: usize, index: usize) -> String {
        FileName { run: self.run, level, index, processes: self.heads.len(), kind: STATES }.text()
    }
}

/// How much room a model has for the elements of each sort that grows.
pub(crate) fn rooms(model: &Model) -> Vec<u64> {
    let room = |sort: &shoal_model::Sort| match sort.size {
        SortSize::Growing { limit, .. } => Some(u64::from(limit.unwrap_or(u32::MAX))),
        SortSize::Fixed(_) | SortSize::Any => None,
    };
    model.sorts.iter().filter_map(room).collect()
}

impl<'m> Search<'_, 'm> {
    /// What this process has counted, before the next level is expanded.
    pub(super) fn note_counts(&self, group: &mut Together<'_>) {
        if group.saving > 0 {
            let (transitions, put_off) = (self.statistics.transitions, self.statistics.put_off);
            group.counted =
                Counted { transitions, put_off, fired: self.statistics.fired.clone(), full: self.own_full() };
        }
    }

    /// Saves the search when it was stopped, up to the last level that is complete.
    pub(super) fn save_levels_at_stop(&mut self, group: &mut Together<'_>) -> ControlFlow<()> {
        let stopped = matches!(
            self.stop,
            Some(
                StopReason::Time(_) | StopReason::Depth(_) | StopReason::Interrupted | StopReason::Memory(_)
            )
        );
        if group.saving > 0 && stopped && !group.is_lost {
            self.save_levels(group)
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Saves the levels that are complete, together with all processes. What goes wrong is the keeper's to remember.
    pub(super) fn save_levels(&mut self, group: &mut Together<'_>) -> ControlFlow<()> {
        // As long as every process has all states there are few of them.
        let alone = !group.shares && group.exchange.processes() > 1;
        let wrong = |verdict: &Option<Verdict>| matches!(verdict, Some(Verdict::Violated(_)));
        let found = self.late.is_some()
            || self.faults.iter().any(Option::is_some)
            || read(&self.shared.monitors).all.iter().any(|it| wrong(&it.verdict));
        if alone || found {
            return ControlFlow::Continue(());
        }
        let run = match group.run {
            Some(run) => run,
            None => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let own = (now.as_nanos() as u64) ^ (u64::from(std::process::id()) << 40);
                // All go by the name that the first one has for it.
                let all = self.heard(group, |group| group.gather(vec![own]))?;
                match all.first().and_then(|words| words.first()) {
                    Some(run) => *group.run.insert(*run),
                    None => {
                        return self.lose(group, LostContact("a report is not what a process sends".into()));
                    }
                }
            }
        };
        let mut saves = group.saves.take();
        let written = match &mut saves {
            Some(saves) => self.write_levels(group, &mut **saves, run),
            None => Err(io::Error::other("a process was not told where to save")),
        };
        let all = self.heard(group, |group| group.gather(vec![u64::from(written.is_ok())]));
        if let Some(saves) = &mut saves {
            let is_saved = |all: &[Packet]| all.iter().all(|words| words[..] == [1]);
            let saved = matches!(&all, ControlFlow::Continue(all) if is_saved(all));
            let done = match (written, saved) {
                (Ok(()), true) => self.remove_old(group, &mut **saves, run),
                (Ok(()), false) => Err(io::Error::other("another process could not save its part")),
                (Err(error), _) => Err(error),
            };
            saves.saved(done);
        }
        group.saves = saves;
        // Where somebody is lost the search is over.
        all.map_continue(drop)
    }

    fn file(&self, group: &Together<'_>, run: u64, level: usize, kind: &'static str) -> FileName {
        let (index, processes) = (group.exchange.index(), group.exchange.processes());
        FileName { run, level, index, processes, kind }
    }

    /// Writes the levels that were not written before, and then what was counted.
    fn write_levels(
        &mut self,
        group: &mut Together<'_>,
        saves: &mut dyn LevelFiles,
        run: u64,
    ) -> io::Result<()> {
        let last = group.ends.len() - 1;
        let layout = self.shared.layout;
        for level in group.saved..=last {
            let name = self.file(group, run, level, STATES).text();
            let mut out = SegmentWriter::new(saves.create(&name)?, layout.words());
            let mut source = group.open(level);
            let mut states = Vec::new();
            loop {
                group.next(self.shared, &mut source, PART, &mut states)?;
                if states.is_empty() {
                    break;
                }
                sort(&mut states, layout.words());
                out.segment(&states)?;
            }
            out.finish()?;
        }
        group.saved = last + 1;
        let monitors = read(&self.shared.monitors);
        let decided = monitors.all.iter().map(|monitor| u64::from(monitor.verdict.is_some())).collect();
        let head = Head {
            words: layout.words() as u64,
            bits: layout.bits(),
            rooms: rooms(self.shared.model),
            levels: self.statistics.levels[..=last].to_vec(),
            decided,
            counted: group.counted.clone(),
        };
        let mut out = saves.create(&self.file(group, run, last, HEAD).text())?;
        head.write(&mut *out)?;
        out.finish()
    }

    /// Removes what was saved before, now that all is there that takes its place: each process what is its own, the first one also
    /// what processes have saved that are no more.
    fn remove_old(&self, group: &Together<'_>, saves: &mut dyn LevelFiles, run: u64) -> io::Result<()> {
        let (index, processes) = (group.exchange.index(), group.exchange.processes());
        let last = group.ends.len() - 1;
        for name in saves.names()? {
            let Some(file) = FileName::read(&name) else { continue };
            let own = file.index == index || index == 0 && file.index >= processes;
            let old = file.run != run || file.kind == HEAD && file.level < last;
            if own && old {
                saves.remove(&name)?;
            }
        }
        Ok(())
    }

    /// Goes on where a saved search ended; false if there is none.
    pub(super) fn resume_levels(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        group: &mut Together<'_>,
    ) -> ControlFlow<(), bool> {
        let (Some(saved), Some(files)) = (group.resumed.take(), group.resumes.take()) else {
            return ControlFlow::Continue(false);
        };
        match self.read_levels(crew, group, saved, files) {
            Ok(ControlFlow::Continue(())) => ControlFlow::Continue(true),
            Ok(ControlFlow::Break(())) => ControlFlow::Break(()),
            Err(error) => {
                let stop = StopReason::Disk(error.to_string());
                self.unreadable = Some(error);
                super::stopped(self.stop(stop))
            }
        }
    }

    fn read_levels(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        group: &mut Together<'_>,
        saved: &SavedLevels,
        files: &mut dyn LevelFiles,
    ) -> io::Result<ControlFlow<()>> {
        let first = &saved.heads[0];
        let layout = self.shared.layout;
        let monitors = read(&self.shared.monitors).all.len();
        let lengths = (first.words, first.bits, first.decided.len(), first.counted.fired.len());
        if lengths != (layout.words() as u64, layout.bits(), monitors, self.statistics.fired.len()) {
            return Err(damaged());
        }
        for (level, expected) in first.levels.iter().enumerate() {
            {
                let mut round = write(apart(self.shared));
                (round.depth, round.inserting) = (level.saturating_sub(1) as u32, level as u32);
            }
            let mut count = 0;
            for index in 0..saved.heads.len() {
                let input = files.open(&saved.name(level, index))?;
                count += match self.read_part(crew, group, SegmentReader::new(input, layout.words()))? {
                    ControlFlow::Continue(count) => count,
                    ControlFlow::Break(()) => return Ok(ControlFlow::Break(())),
                };
            }
            if count != *expected {
                return Err(damaged());
            }
            if group.runs.is_some() {
                self.spill_new(crew, group)?;
            }
            group.ends.push(self.lengths);
            self.statistics.levels.push(count);
            let many = self.own_states(group) >= SAMPLE;
            if !group.shares && group.exchange.processes() > 1 && many && self.share(crew, group).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.take_counts(group, saved);
        self.begin_again(group)
    }

    /// Stores the states of a part of a level that this process owns; gives how many there are in all.
    fn read_part(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        group: &mut Together<'_>,
        mut states: SegmentReader,
    ) -> io::Result<ControlFlow<(), u64>> {
        let mut count = 0;
        loop {
            let (words, more) = self.arriving(group, &mut states)?;
            count += more;
            if more == 0 {
                return Ok(ControlFlow::Continue(count));
            }
            let shape = read(apart(self.shared)).shape;
            let arrived = Arrived::read(words, 0, shape).or_internal("a parcel is read as it was made");
            self.store(crew, group, vec![arrived]);
            if let (None, Err(reason)) = (&self.stop, self.job.watch.check()) {
                self.stop = Some(reason);
            }
            if self.stop.is_some() {
                return Ok(ControlFlow::Break(()));
            }
        }
    }

    /// Some more states, as a parcel of those that this process owns, and how many were read.
    fn arriving(&self, group: &Together<'_>, states: &mut SegmentReader) -> io::Result<(Vec<u64>, u64)> {
        let round = read(apart(self.shared));
        let mut shards: Vec<Vec<u64>> = vec![Vec::new(); SHARDS];
        let mut count = 0;
        while count < PART && states.next()? {
            count += 1;
            let state = states.state();
            if !group.shares || round.owner.of(state) == group.exchange.index() {
                round.shape.put_bare(state, &mut shards[shard(hash(state))]);
            }
        }
        Ok((Arrived::parcel(&shards, round.shape), count))
    }

    /// What all processes have counted, as if the first one had; before the work is shared, every one has.
    fn take_counts(&mut self, group: &mut Together<'_>, saved: &SavedLevels) {
        let all = || saved.heads.iter().map(|head| &head.counted);
        let counts = !group.shares || group.exchange.index() == 0;
        let sum = |of: fn(&Counted) -> u64| if counts { all().map(of).sum() } else { 0 };
        self.statistics.transitions = sum(|it| it.transitions);
        self.statistics.put_off = sum(|it| it.put_off);
        for (at, fired) in self.statistics.fired.iter_mut().enumerate() {
            *fired = if counts { all().map(|it| it.fired[at]).sum() } else { 0 };
        }
        let full = all().try_fold(0u128, |sum, it| sum.checked_add(it.full?));
        for shard in 0..SHARDS {
            let own = shard == 0 && counts;
            self.shared.shards.write(shard).full = if own { full } else { Some(0) };
        }
        let mut monitors = self.shared.monitors.write().unwrap_or_else(PoisonError::into_inner);
        for (at, monitor) in monitors.all.iter_mut().enumerate() {
            if saved.heads.iter().any(|head| head.decided[at] == 1) {
                monitor.verdict = Some(Verdict::Holds);
            }
        }
        let levels = &self.statistics.levels;
        self.expanded = levels[..levels.len() - 1].iter().sum();
    }

    /// Agrees on the rounds of the next level. What all have must be what was saved: no state twice, none lost.
    fn begin_again(&mut self, group: &mut Together<'_>) -> io::Result<ControlFlow<()>> {
        let level = group.ends.len() - 1;
        let own = match &group.runs {
            Some(runs) => runs.states_of(level),
            None => {
                total(&self.lengths) - level.checked_sub(1).map_or(0, |before| total(&group.ends[before]))
            }
        };
        let words = vec![own.div_ceil(self.per_round()), self.own_states(group)];
        let all = match group.gather(words) {
            Ok(all) => all,
            Err(lost) => return Ok(self.lose(group, lost)),
        };
        if all.iter().any(|words| words.len() != 2) {
            return Ok(self.lose(group, LostContact("a report is not what a process sends".into())));
        }
        group.rounds = all.iter().map(|words| words[0]).max().unwrap_or(0);
        let states: u64 = all.iter().map(|words| words[1]).sum();
        if states == self.statistics.levels.iter().sum() {
            Ok(ControlFlow::Continue(()))
        } else {
            Err(damaged())
        }
    }
}
