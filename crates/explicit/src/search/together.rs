//! The search of a process that is not alone, or has a disk: rounds, levels, and what is agreed at their ends; see [`crate::apart`].

mod agree;
mod back;
mod disk;
mod save;
mod share;

use std::{
    io,
    ops::ControlFlow,
    sync::{PoisonError, RwLock, RwLockWriteGuard},
};

use shoal_model::{Model, OrInternal, PropertyId, StopReason, Verdict, internal};

use super::{ALONE, Crew, Level, LevelPiece, SHARDS, Search, pieces, total};
use crate::{
    apart::{Alone, ApartRound, Arrived, Exchange, LostContact, Packet, Party},
    batch::Batch,
    runs::{DiskRuns, LevelFiles, LevelReader, StateFiles},
    shards::StoreRefused,
    worker::{EventKind, PropertyEvent, Shared, note, read},
};
use agree::{LevelReports, stop_code, stop_reason};
use save::Counted;
pub(crate) use save::{SavedLevels, rooms};

/// States that a thread expands in a round: enough that a round takes longer than to agree on it.
const ROUND: u64 = if cfg!(debug_assertions) { 400 } else { 1 << 15 };
/// So many states every process finds by itself, before they share the work: from them it is seen who should own what, and
/// smaller models never need the network.
const SAMPLE: u64 = if cfg!(debug_assertions) { 100 } else { 50_000 };

/// What a process says of itself before its parcels: states, steps, bytes, and whether and why it wants to stop.
const HEAD: usize = 5;

/// All processes, as this one knows them.
pub(super) struct Together<'p> {
    exchange: &'p mut dyn Exchange,
    alone: Alone,
    /// Whether they share the work, and how many rounds were sent and not received.
    shares: bool,
    sent: u64,
    disk: Option<&'p mut dyn StateFiles>,
    runs: Option<DiskRuns<'p>>,
    /// What is still to be expanded of the present level.
    source: Option<LevelSource>,
    /// In memory, where each level ends in each shard.
    ends: Vec<[u32; SHARDS]>,
    /// How many rounds the next level has.
    rounds: u64,
    /// What was noticed in this level.
    events: Vec<PropertyEvent>,
    covered: Vec<PropertyId>,
    is_lost: bool,
    /// Where the search is saved, whether somebody wants that (1), and now (2), the name of the run, how many levels were written, and
    /// what was counted when the last one was complete.
    saves: Option<&'p mut dyn LevelFiles>,
    saving: u64,
    run: Option<u64>,
    saved: usize,
    counted: Counted,
    /// What to go on with.
    resumes: Option<&'p mut dyn LevelFiles>,
    resumed: Option<&'p SavedLevels>,
}

/// What all processes agree on in the end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreed {
    pub(super) states: u64,
    pub(super) full: Option<u128>,
    pub(super) bytes: u64,
}

/// States of a level that are still to be expanded.
enum LevelSource {
    Memory { level: Box<Level>, done: u64, whole: u64 },
    Disk(LevelReader),
}

impl<'p> Together<'p> {
    pub(super) fn new(model: &Model, party: &'p mut Party<'_>) -> Together<'p> {
        // A search that found out that it needs more room begins anew.
        let resumed = party.resumed.as_ref().filter(|saved| saved.rooms() == rooms(model));
        Together {
            saves: reborrow(&mut party.saves),
            saving: 0,
            run: None,
            saved: 0,
            counted: Counted::default(),
            resumes: reborrow(&mut party.resumes),
            resumed,
            exchange: &mut *party.exchange,
            alone: Alone::default(),
            shares: false,
            sent: 0,
            disk: match &mut party.disk {
                Some(disk) => Some(&mut **disk),
                None => None,
            },
            runs: None,
            source: None,
            ends: Vec::new(),
            rounds: 0,
            events: Vec::new(),
            covered: Vec::new(),
            is_lost: false,
        }
    }

    fn exchange(&mut self) -> &mut dyn Exchange {
        if self.shares { self.exchange } else { &mut self.alone }
    }

    fn send(&mut self, packets: Vec<Packet>) -> Result<(), LostContact> {
        self.sent += 1;
        self.exchange().send(packets)
    }

    fn receive(&mut self) -> Result<Vec<Packet>, LostContact> {
        self.sent -= 1;
        self.exchange().receive()
    }

    /// Tells all processes something and hears what they all tell, in their order. What was sent and not received is of no use
    /// any more.
    fn gather(&mut self, words: Vec<u64>) -> Result<Vec<Packet>, LostContact> {
        while self.sent > 0 {
            self.receive()?;
        }
        let processes = self.exchange().processes();
        self.send(vec![words; processes])?;
        self.receive()
    }

    /// Opens a level.
    fn open(&mut self, level: usize) -> LevelSource {
        match &mut self.runs {
            Some(runs) => LevelSource::Disk(runs.level(level)),
            None => {
                let starts = level.checked_sub(1).map_or([0; SHARDS], |before| self.ends[before]);
                let level = Level { starts, ends: self.ends[level] };
                let whole = total(&level.ends) - total(&level.starts);
                LevelSource::Memory { whole, level: Box::new(level), done: 0 }
            }
        }
    }

    /// Takes some more states of a level, none at its end.
    fn next(
        &mut self,
        shared: &Shared<'_>,
        source: &mut LevelSource,
        most: u64,
        states: &mut Vec<u64>,
    ) -> io::Result<()> {
        states.clear();
        match source {
            LevelSource::Memory { level, done, whole } => {
                let to = done.saturating_add(most).min(*whole);
                for shard in 0..SHARDS {
                    let locals = level.cut(shard, *done, *whole)..level.cut(shard, to, *whole);
                    shared.shards.read(shard).states(locals, shared.layout.words(), states);
                }
                *done = to;
                Ok(())
            }
            LevelSource::Disk(reader) => {
                let runs = self.runs.as_mut().or_internal("a level on disk has runs");
                runs.more(reader, most as usize, states)
            }
        }
    }
}

/// The same files, for a shorter time.
fn reborrow<'p>(files: &'p mut Option<&mut dyn LevelFiles>) -> Option<&'p mut dyn LevelFiles> {
    match files {
        Some(files) => Some(&mut **files),
        None => None,
    }
}

/// The round of a search that has one.
fn apart<'s>(shared: &'s Shared<'_>) -> &'s RwLock<ApartRound> {
    shared.apart.as_ref().or_internal("a search with others has rounds of its own")
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl<'m> Search<'_, 'm> {
    /// Searches with others, or with a disk.
    pub(super) fn together(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        group: &mut Together<'_>,
    ) -> ControlFlow<()> {
        self.statistics.fresh.clear();
        let flow = self.levels(crew, group);
        if !group.is_lost && group.shares {
            if let Err(lost) = self.sum_up(crew, group) {
                let _ = self.lose(group, lost);
            }
        } else {
            self.agreed =
                Some(Agreed { states: self.own_states(group), full: self.own_full(), bytes: self.memory() });
        }
        if group.shares {
            let bytes = group.exchange.bytes_sent();
            self.statistics.notes.push(format!(
                "{} processes searched; {}; this one has {} states and sent {bytes} bytes to others",
                group.exchange.processes(),
                read(apart(self.shared)).owner.describe(),
                self.own_states(group),
            ));
        }
        if let Some(runs) = &mut group.runs {
            self.statistics.notes.push(format!("{} states were kept on disk", runs.states()));
            runs.clear();
        }
        let decided = || read(&self.shared.monitors).all_decided();
        match (&self.stop, flow) {
            (Some(_), _) => ControlFlow::Break(()),
            (None, ControlFlow::Break(())) if !decided() => {
                internal!("a search that ends early has a reason, or nothing left to decide")
            }
            (None, flow) => flow,
        }
    }

    fn levels(&mut self, crew: &mut Crew<'_, '_, 'm>, group: &mut Together<'_>) -> ControlFlow<()> {
        group.saving = u64::from(group.saves.is_some());
        let mut is_level_open = self.resume_levels(crew, group)?;
        if !is_level_open {
            self.plan_round(vec![LevelPiece { from: 0, to: 0 }], Level::NONE);
            if let Err(reason) = crew.worker.starts(self.shared, &self.job.watch) {
                self.stop = Some(reason);
            }
            self.take_starts(crew, group)?;
        }
        loop {
            let stopped = self.stop.is_some();
            // One that was read is complete, and agreed on.
            if !std::mem::take(&mut is_level_open) && self.end_level(crew, group)? == 0 {
                return if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
            }
            if !group.shares && group.exchange.processes() > 1 && self.own_states(group) >= SAMPLE {
                self.share(crew, group)?;
            }
            self.note_counts(group);
            if group.saving > 1 {
                self.save_levels(group)?;
            }
            let depth = self.statistics.levels.len() as u64 - 1;
            if let Some(limit) = self.job.limits().depth.filter(|limit| depth >= *limit) {
                let stopped = self.stop(StopReason::Depth(limit));
                self.save_levels_at_stop(group)?;
                return stopped;
            }
            if self.expand_level(crew, group, depth as u32).is_break() {
                self.save_levels_at_stop(group)?;
                if !group.is_lost {
                    self.end_level(crew, group)?;
                }
                return ControlFlow::Break(());
            }
        }
    }

    /// Stores the start states: every process finds all of them, as they are found before the work is shared.
    fn take_starts(&mut self, crew: &mut Crew<'_, '_, 'm>, group: &mut Together<'_>) -> ControlFlow<()> {
        {
            let mut batch = write(&self.shared.batches[0]);
            read(apart(self.shared)).pack(&mut batch);
        }
        let packets = self.packets(group);
        self.heard(group, |group| group.send(packets))?;
        self.take_round(crew, group)
    }

    /// Expands a level together with the others.
    fn expand_level(
        &mut self,
        crew: &mut Crew<'_, '_, 'm>,
        group: &mut Together<'_>,
        depth: u32,
    ) -> ControlFlow<()> {
        group.source = Some(group.open(depth as usize));
        {
            let mut round = write(apart(self.shared));
            (round.depth, round.inserting, round.target) = (depth, depth + 1, None);
        }
        for number in 0..group.rounds {
            // Shards are cut in proportion, so that a round may take a few states less than it could: the last one takes the rest.
            let most = if number + 1 == group.rounds { u64::MAX } else { self.per_round() };
            self.expand_round(crew, group, most);
            let packets = self.packets(group);
            self.heard(group, |group| group.send(packets))?;
            // One round is on its way while the next is made.
            if number > 0 {
                self.take_round(crew, group)?;
            }
        }
        if group.rounds > 0 {
            self.take_round(crew, group)?;
        }
        // A state that is not expanded would be a hole in the proof.
        if self.stop.is_none() && self.fill_round(group, 1) > 0 {
            internal!("a level has more states than its rounds take");
        }
        group.source = None;
        ControlFlow::Continue(())
    }

    /// Expands the next states of a level into batches. If the search is to stop, there are none.
    fn expand_round(&mut self, crew: &mut Crew<'_, '_, 'm>, group: &mut Together<'_>, most: u64) {
        let states = self.fill_round(group, most);
        self.plan_round(pieces(0, states, self.job.threads), Level::NONE);
        let together = self.job.threads > 1 && states as usize >= ALONE;
        if states > 0 {
            // What ends it is told to the others.
            let _ = self.expand(crew, together);
        }
        self.expanded += states;
    }

    /// Reads the states of the next round; gives how many there are.
    fn fill_round(&mut self, group: &mut Together<'_>, most: u64) -> u64 {
        let mut round = write(apart(self.shared));
        round.stored = self.own_states(group);
        let mut source = group.source.take().or_internal("a level that is expanded has been opened");
        if self.stop.is_some() {
            round.states.clear();
        } else if let Err(error) = group.next(self.shared, &mut source, most, &mut round.states) {
            self.stop = Some(StopReason::Disk(error.to_string()));
            round.states.clear();
        }
        group.source = Some(source);
        (round.states.len() / self.shared.layout.words()) as u64
    }

    /// Adds up what the batches of the round say, and makes a packet for each process of their parcels.
    fn packets(&mut self, group: &mut Together<'_>) -> Vec<Packet> {
        let batches = read(&self.shared.round).pieces.len();
        let processes = group.exchange().processes();
        let mut packets: Vec<Packet> = vec![vec![0; HEAD]; processes];
        for batch in &self.shared.batches[..batches] {
            let mut batch = write(batch);
            self.count_steps(&batch);
            group.covered.append(&mut batch.covered);
            for PropertyEvent { at, what } in batch.events.drain(..) {
                note(&mut group.events, at, || what);
            }
            // Incomplete batches are of no use.
            if self.stop.is_none() {
                packets
                    .iter_mut()
                    .zip(&batch.parcels)
                    .for_each(|(packet, parcel)| packet.extend_from_slice(parcel));
            }
        }
        let stop = self.stop.as_ref().map_or([0, 0], stop_code);
        let head = [self.own_states(group), self.statistics.transitions, self.memory(), stop[0], stop[1]];
        packets.iter_mut().for_each(|packet| packet[..HEAD].copy_from_slice(&head));
        packets
    }

    /// Waits for what arrives in a round, stores it, and sees whether to go on.
    fn take_round(&mut self, crew: &mut Crew<'_, '_, 'm>, group: &mut Together<'_>) -> ControlFlow<()> {
        let packets = self.heard(group, Together::receive)?;
        if packets.iter().any(|packet| packet.len() < HEAD) {
            return self.lose(group, LostContact("a packet is not what a process sends".into()));
        }
        let stop = self.hear_heads(&packets);
        let shape = read(apart(self.shared)).shape;
        let arrived: Option<Vec<Arrived>> =
            packets.into_iter().map(|packet| Arrived::read(packet, HEAD, shape)).collect();
        let Some(arrived) = arrived else {
            return self.lose(group, LostContact("a packet is not what a process sends".into()));
        };
        self.store(crew, group, arrived);
        match stop {
            Some(reason) => {
                // One's own reason may be another than the one that all go by.
                self.stop = Some(reason);
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }

    /// Adds up what processes say of themselves; the reason to stop, if one of them has one, or the sum is one.
    fn hear_heads(&mut self, packets: &[Packet]) -> Option<StopReason> {
        let sum = |at: usize| packets.iter().map(|packet| packet[at]).sum::<u64>();
        let (states, steps, bytes) = (sum(0), sum(1), sum(2));
        self.agreed = Some(Agreed { states, full: None, bytes });
        self.elsewhere = (steps.saturating_sub(self.statistics.transitions), bytes);
        let stop = packets.iter().find_map(|packet| stop_reason(&packet[3], &packet[4]));
        let too_many = self.job.limits().states.filter(|most| states > *most).map(StopReason::States);
        let patience = self.give_up_at.filter(|most| states >= *most).map(|_| StopReason::OtherViolation);
        stop.or(too_many).or(patience)
    }

    /// Stores what has arrived. What does not fit in memory goes to the disk, if there is one.
    fn store(&mut self, crew: &mut Crew<'_, '_, 'm>, group: &mut Together<'_>, arrived: Vec<Arrived>) {
        {
            let mut round = write(apart(self.shared));
            round.arrived = arrived;
            let mut shared = write(&self.shared.round);
            shared.shards = (0..SHARDS).filter(|shard| round.has_some_for(*shard)).collect();
        }
        let waiting: u64 = read(apart(self.shared)).arrived.iter().map(Arrived::bytes).sum();
        let mut fits = self.shared.shards.budget.take(waiting, 0);
        if fits {
            fits = self.absorb_arrived(crew);
            self.shared.shards.budget.give(waiting);
        }
        if !fits && group.disk.is_some() | group.runs.is_some() && self.stop.is_none() {
            if let Err(error) = self.spill(crew, group) {
                self.stop = Some(self.job.watch.check().err().unwrap_or(StopReason::Disk(error.to_string())));
            } else {
                // What was stored before is found again on the disk.
                fits = self.absorb_arrived(crew);
            }
        }
        if !fits && self.stop.is_none() {
            let limit = self.job.watch.memory().unwrap_or_else(|| self.memory());
            self.stop = Some(StopReason::Memory(limit));
        }
        let shards = read(&self.shared.round).shards.clone();
        for shard in shards {
            for PropertyEvent { at, what } in std::mem::take(&mut self.shared.shards.write(shard).events) {
                note(&mut group.events, at, || what);
            }
        }
        self.lengths = self.shared.shards.lengths();
        write(apart(self.shared)).arrived.clear();
        if let (None, Some(reason)) = (&self.stop, self.shared.program.stopped()) {
            self.stop = Some(reason.clone());
        }
    }

    /// Stores what has arrived; false if there is no memory for all of it.
    fn absorb_arrived(&mut self, crew: &mut Crew<'_, '_, 'm>) -> bool {
        crew.absorb(self.job.threads > 1, None);
        let mut fits = true;
        for shard in read(&self.shared.round).shards.iter() {
            match self.shared.shards.write(*shard).refused.take() {
                None => {}
                Some(StoreRefused::Memory) => fits = false,
                Some(StoreRefused::Time | StoreRefused::Number) => {
                    internal!("nothing else is limited in a shard")
                }
            }
        }
        fits
    }

    /// How many states this process has.
    fn own_states(&self, group: &Together<'_>) -> u64 {
        group.runs.as_ref().map_or_else(|| total(&self.lengths), DiskRuns::states)
    }

    /// How many states are like those of this process; nothing if a search was stopped, as what has arrived is then counted and
    /// not yet told apart.
    fn own_full(&self) -> Option<u128> {
        if self.stop.is_some() {
            return None;
        }
        (0..SHARDS).try_fold(0u128, |sum, shard| sum.checked_add(self.shared.shards.read(shard).full?))
    }

    /// At the end of a level: agrees on how many new states there are, and on what was noticed. Gives how many there are.
    fn end_level(&mut self, crew: &mut Crew<'_, '_, 'm>, group: &mut Together<'_>) -> ControlFlow<(), u64> {
        if group.runs.is_some()
            && let Err(error) = self.spill_new(crew, group)
        {
            let ended = self.job.watch.check().err();
            self.stop.get_or_insert_with(|| ended.unwrap_or(StopReason::Disk(error.to_string())));
        }
        let level = self.statistics.levels.len();
        let own = match &group.runs {
            Some(runs) => runs.states_of(level),
            None => total(&self.lengths) - group.ends.last().map_or(0, total),
        };
        group.ends.push(self.lengths);
        let words = self.level_report(group, own);
        let reports = match group.gather(words) {
            Ok(reports) => reports,
            Err(lost) => return stopped(self.lose(group, lost)),
        };
        let mut all = LevelReports::default();
        for report in &reports {
            if all.add(report, self.shared.layout.words()).is_none() {
                return stopped(self.lose(group, LostContact("a report is not what a process sends".into())));
            }
        }
        (group.rounds, group.saving) = (all.rounds, all.saving);
        if all.new > 0 {
            self.statistics.levels.push(all.new);
        }
        self.agreed =
            Some(Agreed { states: self.statistics.levels.iter().sum(), full: None, bytes: all.bytes });
        self.stop = self.stop.take().or(all.stop.clone());
        for property in &all.covered {
            let at = *property as usize;
            let open = read(&self.shared.monitors).all.get(at).is_some_and(|it| it.verdict.is_none());
            if open {
                self.decide(at, Verdict::Holds)?;
            }
        }
        // Faults of starts are the same everywhere.
        let starts: Vec<PropertyEvent> =
            group.events.drain(..).filter(|event| matches!(event.what, EventKind::Start(_))).collect();
        group.covered.clear();
        self.heed(starts)?;
        self.tell_wrong(crew, group, all.wrong)?;
        match all.stop {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(all.new),
        }
    }

    /// States of this process in a round.
    fn per_round(&self) -> u64 {
        ROUND * self.job.threads.max(1) as u64
    }

    /// Adds up what all processes have counted.
    fn sum_up(&mut self, crew: &Crew<'_, '_, 'm>, group: &mut Together<'_>) -> Result<(), LostContact> {
        let full = self.own_full();
        let mut words =
            vec![self.own_states(group), self.statistics.transitions, self.statistics.put_off, self.memory()];
        words.extend([crew.threads() as u64, u64::from(full.is_some())]);
        words.extend(full.map_or([0, 0], |full| [full as u64, (full >> 64) as u64]));
        words.extend(self.statistics.fired.iter().chain(&self.statistics.spent));
        let length = words.len();
        let all = group.gather(words)?;
        if all.iter().any(|words| words.len() != length) {
            return Err(LostContact("a report is not what a process sends".into()));
        }
        let sum = |at: usize| all.iter().map(|words| words[at]).sum::<u64>();
        let each =
            |words: &Packet| (words[5] == 1).then(|| u128::from(words[6]) | u128::from(words[7]) << 64);
        let full = all.iter().try_fold(0u128, |total, words| total.checked_add(each(words)?));
        self.agreed = Some(Agreed { states: sum(0), full, bytes: sum(3) });
        self.elsewhere = (0, sum(3));
        (self.statistics.transitions, self.statistics.put_off) = (sum(1), sum(2));
        self.together_threads = Some(sum(4) as usize);
        let rules = self.statistics.fired.len();
        self.statistics.fired = (0..rules).map(|rule| sum(8 + rule)).collect();
        self.statistics.spent = (0..rules).map(|rule| sum(8 + rules + rule)).collect();
        Ok(())
    }

    /// What this process says at the end of a level; see [`LevelReports::add`].
    fn level_report(&self, group: &mut Together<'_>, own: u64) -> Vec<u64> {
        let stop = self.stop.as_ref().map_or([0, 0], stop_code);
        let saving = group.saves.as_mut().map_or(0, |saves| 1 + u64::from(saves.due()));
        let mut words = vec![own, own.div_ceil(self.per_round()), self.memory(), saving, stop[0], stop[1]];
        let monitors = read(&self.shared.monitors);
        let seen =
            group.events.iter().filter(|event| matches!(event.what, EventKind::Holds)).map(|event| event.at);
        let all = monitors.all.iter().enumerate();
        let checked = all.filter(|(_, it)| group.covered.contains(&it.property)).map(|(at, _)| at);
        let covered: Vec<u64> = checked.chain(seen).map(|at| at as u64).collect();
        words.push(covered.len() as u64);
        words.extend(covered);
        for event in &group.events {
            if let Some((depth, state)) = event.what.state() {
                words.extend([event.at as u64, u64::from(depth)]);
                words.extend_from_slice(state);
            }
        }
        words
    }

    /// What an exchange gives, or the end of the search.
    fn heard<'p, T>(
        &mut self,
        group: &mut Together<'p>,
        ask: impl FnOnce(&mut Together<'p>) -> Result<T, LostContact>,
    ) -> ControlFlow<(), T> {
        match ask(group) {
            Ok(heard) => ControlFlow::Continue(heard),
            Err(lost) => stopped(self.lose(group, lost)),
        }
    }

    /// The others cannot be heard any more.
    fn lose(&mut self, group: &mut Together<'_>, LostContact(why): LostContact) -> ControlFlow<()> {
        group.is_lost = true;
        self.stop(StopReason::Lost(why))
    }

    /// Counts the steps of a batch.
    fn count_steps(&mut self, batch: &Batch) {
        for (sum, fired) in self.statistics.fired.iter_mut().zip(&batch.fired) {
            *sum += fired;
            self.statistics.transitions += fired;
        }
        self.statistics.put_off += batch.put_off;
        self.statistics.spent.iter_mut().zip(&batch.spent).for_each(|(sum, spent)| *sum += spent);
    }
}

/// The end, whatever would have come.
fn stopped<T>(flow: ControlFlow<()>) -> ControlFlow<(), T> {
    match flow {
        ControlFlow::Break(()) | ControlFlow::Continue(()) => ControlFlow::Break(()),
    }
}
