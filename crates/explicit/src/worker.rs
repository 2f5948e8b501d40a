//! What one thread does: expand states into successors, and store successors.
//!
//! A round of the search has two phases. First, pieces of the level are expanded, each into a batch of its own.
//! Then each shard takes its successors out of all batches, in the order of the pieces. So what is stored, in
//! which order, with which origin, and what is noticed, does not depend on which thread did what.

use std::{
    ops::ControlFlow,
    sync::{
        PoisonError, RwLock, RwLockReadGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use shoal_code::{Layout, Program, Stepper, Steps, Visitor};
use shoal_model::{Model, OrInternal, StopReason, Violation, Watch};

use crate::{
    absorb::{Absorber, GROUP, Groups},
    apart::ApartRound,
    batch::Batch,
    canon::Canon,
    equivariance::{EquivarianceChecker, Suspicion},
    expand::{Expander, Filling, KnownStates as Stored},
    judge::{Dropped, Judge, JudgedState, Watched},
    kripke::StepSink,
    monitor::Monitors,
    report::{Problem, Where},
    shards::{SHARDS, ShardReader, Shards, join},
    store::NONE,
};

/// Something that concerns a property of the job, by its position among the monitors.
#[derive(Clone, Debug)]
pub(crate) struct PropertyEvent {
    pub(crate) at: usize,
    pub(crate) what: EventKind,
}

#[derive(Clone, Debug)]
pub(crate) enum EventKind {
    /// It holds: what it asks for was found.
    Holds,
    /// Something is wrong.
    Wrong(Where, Problem),
    /// A property faults in a state that the present level leads to: something that faults in this level has a
    /// shorter trace.
    Late(Where, Problem),
    /// A start faults.
    Start(Violation),
}

/// Adds an event unless there is one for the same property. Where places are states, the least one counts, so that it does not
/// matter in which order they are found.
pub(crate) fn note(events: &mut Vec<PropertyEvent>, at: usize, what: impl FnOnce() -> EventKind) {
    match events.iter_mut().find(|event| event.at == at) {
        None => events.push(PropertyEvent { at, what: what() }),
        Some(PropertyEvent { what: known, .. }) if known.state().is_some() => {
            let what = what();
            if what.state() < known.state() {
                *known = what;
            }
        }
        Some(_) => {}
    }
}

impl EventKind {
    /// The state it is about, by its distance from a start and its words, where it is known by these.
    pub(crate) fn state(&self) -> Option<(u32, &[u64])> {
        match self {
            EventKind::Wrong(Where::State(depth, words), _)
            | EventKind::Late(Where::State(depth, words), _) => Some((*depth, words)),
            EventKind::Wrong(..) | EventKind::Late(..) | EventKind::Holds | EventKind::Start(_) => None,
        }
    }
}

/// Where a level is in each shard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    pub(crate) starts: [u32; SHARDS],
    pub(crate) ends: [u32; SHARDS],
}

impl Level {
    /// No states.
    pub(crate) const NONE: Level = Level { starts: [0; SHARDS], ends: [0; SHARDS] };

    /// How many states it has.
    fn states(&self) -> u64 {
        self.starts.iter().zip(&self.ends).map(|(start, end)| u64::from(end - start)).sum()
    }

    /// The shards in which it has states.
    fn shards(&self) -> impl Iterator<Item = usize> {
        (0..SHARDS).filter(|shard| self.starts[*shard] < self.ends[*shard])
    }

    /// Where the first part of it ends in a shard. The parts of a level take about the same share of each shard: what
    /// was found at about the same time is then expanded at about the same time, and has many successors in common.
    pub(crate) fn cut(&self, shard: usize, part: u64, whole: u64) -> u32 {
        let (start, end) = (self.starts[shard], self.ends[shard]);
        start + (u64::from(end - start) * part / whole.max(1)) as u32
    }
}

/// Some states of a level: the part from one number of states to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelPiece {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// The successors of so many states are waited for together.
const AHEAD: usize = 32;
/// How large the parts of a piece are that are taken from one shard after the other.
pub(crate) const SLICE: usize = 32 * SHARDS;

/// How many states may be expanded before rules are timed in one: that is done in the first ones, and then so seldom that it
/// costs nothing.
fn untimed(expanded: u64) -> usize {
    match expanded {
        ..64 => 0,
        _ => (expanded.next_multiple_of(512) - expanded) as usize,
    }
}

/// The work of a round.
pub(crate) struct Round {
    pub(crate) pieces: Vec<LevelPiece>,
    pub(crate) level: Level,
    /// The shards that have successors to store.
    pub(crate) shards: Vec<usize>,
}

/// What all threads look at.
pub(crate) struct Shared<'m> {
    pub(crate) model: &'m Model,
    pub(crate) layout: &'m Layout,
    pub(crate) program: &'m Program,
    pub(crate) monitors: RwLock<Monitors>,
    pub(crate) shards: Shards,
    /// What ends the search.
    pub(crate) watch: Watch,
    /// What is to be checked of symmetry.
    pub(crate) suspicion: Option<&'m Suspicion>,
    /// Which steps are taken.
    pub(crate) steps: Steps,
    /// Whether all successors of a state are wanted, and not only those that may be new.
    pub(crate) all_steps: bool,
    /// In a search of several processes, or on disk: the round of this process.
    pub(crate) apart: Option<RwLock<ApartRound>>,
    /// What is kept beside states, and whether it still is.
    pub(crate) sink: StepSink,
    pub(crate) keeps: AtomicBool,
    pub(crate) round: RwLock<Round>,
    /// One for each piece of a round.
    pub(crate) batches: Vec<RwLock<Batch>>,
    /// The next piece or shard of the round that nobody has taken.
    pub(crate) next: AtomicUsize,
    /// Set to end the first phase of a round; what it found is then of no use.
    pub(crate) abandon: AtomicBool,
}

/// A guard, also after a thread has panicked: the panic is reported elsewhere.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// A thread's own machines and buffers.
pub(crate) struct Worker<'m> {
    stepper: Stepper<'m>,
    expander: Expander<'m>,
    pub(crate) judge: Judge<'m>,
    checker: Option<EquivarianceChecker<'m>>,
    /// States that are to be expanded, and their numbers.
    packed: Vec<u64>,
    numbers: Vec<u32>,
    groups: Groups,
    /// How many states it has expanded, and what rules took in those that were timed.
    expanded: u64,
    spent: Vec<u64>,
}

impl<'m> Worker<'m> {
    pub(crate) fn new(shared: &Shared<'m>, canon: Option<Canon>) -> Worker<'m> {
        let Shared { model, layout, program, suspicion, .. } = *shared;
        Worker {
            checker: suspicion.map(|suspicion| EquivarianceChecker::new(model, layout, program, suspicion)),
            stepper: Stepper::new(model, layout, program),
            expander: Expander::new(model, layout, program, canon, shared.all_steps),
            judge: Judge::new(layout, program),
            packed: Vec::new(),
            numbers: Vec::new(),
            groups: Groups::default(),
            expanded: 0,
            spent: vec![0; model.rules.len()],
        }
    }

    /// Runs the starts into the first batch. The error says why not all of them were run.
    pub(crate) fn starts(&mut self, shared: &Shared<'m>, watch: &Watch) -> Result<(), StopReason> {
        let monitors = read(&shared.monitors);
        let mut batch = shared.batches[0].write().unwrap_or_else(PoisonError::into_inner);
        batch.clear();
        let record = 8 * batch.shape.length() as u64;
        let mut visitor = self.expander.filling(&monitors, &mut batch);
        visitor.begin(NONE);
        // All starts wait in one batch. When its parts grow, which they do together, it takes twice its size for a moment.
        if let Some(limit) = watch.memory() {
            visitor.leave_room_for(limit / 2 / record);
        }
        match self.stepper.starts_within(watch, &mut visitor)? {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => {
                let limit = watch.memory().or_internal("starts break off only where memory has a limit");
                Err(StopReason::Memory(limit))
            }
        }
    }

    /// Expands one state into the first batch.
    pub(crate) fn expand_one(&mut self, shared: &Shared<'m>, state: &[u64]) {
        let monitors = read(&shared.monitors);
        let mut batch = shared.batches[0].write().unwrap_or_else(PoisonError::into_inner);
        batch.clear();
        let mut visitor = self.expander.filling(&monitors, &mut batch);
        visitor.begin(0);
        let _ = self.stepper.expand_steps(state, shared.steps, &mut visitor);
        visitor.finish(state);
    }

    /// The states that a state leads to, all of them. They are not remembered, as nobody stores them.
    pub(crate) fn successors(&mut self, shared: &Shared<'m>, state: &[u64]) -> Vec<u64> {
        self.expander.take_all_steps(true);
        self.expander.forget_recent();
        self.expand_one(shared, state);
        self.expander.forget_recent();
        let batch = read(&shared.batches[0]);
        (0..SHARDS).flat_map(|shard| batch.records(shard)).flat_map(|record| record.state).copied().collect()
    }

    /// What is wrong for a property in a state, found again: when it is expanded, or because it is new.
    pub(crate) fn again(
        &mut self,
        shared: &Shared<'m>,
        at: usize,
        state: &[u64],
        is_new: bool,
    ) -> Option<Problem> {
        if !is_new {
            self.expand_one(shared, state);
            let batch = read(&shared.batches[0]);
            let event = batch.events.iter().find(|event| event.at == at)?;
            return match &event.what {
                EventKind::Wrong(_, problem) | EventKind::Late(_, problem) => Some(problem.clone()),
                EventKind::Holds | EventKind::Start(_) => None,
            };
        }
        let monitors = read(&shared.monitors);
        if let Dropped::Fault(_, problem) = self.judge.drops(&monitors, state) {
            return Some(problem);
        }
        let mut found = None;
        self.judge.look_at(&monitors, &Watched::new(&monitors), state, &mut |seen| match seen {
            JudgedState::Wrong(of, problem) | JudgedState::Fault(of, problem) if of == at => {
                found = found.take().or(Some(problem));
            }
            JudgedState::Wrong(..)
            | JudgedState::Fault(..)
            | JudgedState::Covered(_)
            | JudgedState::Goal(_) => {}
        });
        found
    }

    /// Expands pieces of the round until there are none left. After each slice, `go_on` says whether to go on.
    pub(crate) fn expand(&mut self, shared: &Shared<'m>, mut go_on: impl FnMut() -> bool) {
        let monitors = read(&shared.monitors);
        let round = read(&shared.round);
        let apart = shared.apart.as_ref().map(read);
        let back = apart.as_ref().is_some_and(|apart| apart.target.is_some());
        self.expander.take_all_steps(shared.all_steps || back);
        let stored = || round.level.ends.iter().map(|end| u64::from(*end)).sum();
        self.expander.fit(apart.as_ref().map_or_else(stored, |apart| apart.stored));
        while !shared.abandon.load(Ordering::Relaxed) {
            let at = shared.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = round.pieces.get(at) else { break };
            let mut batch = shared.batches[at].write().unwrap_or_else(PoisonError::into_inner);
            batch.clear();
            self.expand_piece(shared, &monitors, &round, *piece, &mut batch, &mut go_on);
            batch.spent.swap_with_slice(&mut self.spent);
            if let Some(apart) = &apart {
                apart.finish(&mut batch);
            }
        }
    }

    fn expand_piece(
        &mut self,
        shared: &Shared<'m>,
        monitors: &Monitors,
        round: &Round,
        piece: LevelPiece,
        batch: &mut Batch,
        go_on: &mut impl FnMut() -> bool,
    ) {
        let Worker { stepper, expander, packed, numbers, expanded, spent, .. } = self;
        let shards = ShardReader::new(&shared.shards);
        let apart = shared.apart.as_ref().map(read);
        let mut visitor = expander.filling(monitors, batch);
        match &apart {
            Some(apart) => visitor.tell_states_of(apart),
            None => visitor.look_into_store(&shards),
        }
        if matches!(shared.steps, Steps::Ample | Steps::Stubborn) {
            visitor.put_off_to_later(Stored { shards: &shards, ends: &round.level.ends });
        }
        if shared.keeps.load(Ordering::Relaxed) {
            visitor.keep_steps(&shared.sink, &shards);
        }
        let words = shared.layout.words();
        let whole = round.level.states();
        for from in (piece.from..piece.to).step_by(SLICE) {
            if shared.abandon.load(Ordering::Relaxed) {
                return;
            }
            let to = (from + SLICE as u64).min(piece.to);
            packed.clear();
            numbers.clear();
            if let Some(apart) = &apart {
                numbers.extend(from as u32..to as u32);
                packed.extend_from_slice(&apart.states[from as usize * words..to as usize * words]);
            }
            for shard in round.level.shards().filter(|_| apart.is_none()) {
                let locals = round.level.cut(shard, from, whole)..round.level.cut(shard, to, whole);
                numbers.extend(
                    locals
                        .clone()
                        .map(|local| join(shard, local).or_internal("a state that is stored has a number")),
                );
                shards.get(shard).states(locals, words, packed);
            }
            let mut states = NumberedStates { states: packed, numbers, words };
            while !states.numbers.is_empty() {
                *expanded += states.run(stepper, &mut visitor, untimed(*expanded));
                let Some(state) = states.next(&mut visitor) else { break };
                let _ = match untimed(*expanded) {
                    0 => stepper.expand_timed(state, shared.steps, &mut visitor, spent),
                    _ => stepper.expand_steps(state, shared.steps, &mut visitor),
                };
                *expanded += 1;
                visitor.finish(state);
            }
            if !go_on() {
                shared.abandon.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Stores the successors of shards of the round until there are none left. No more than `allowance` new states
    /// are stored, if it is given.
    pub(crate) fn absorb(&mut self, shared: &Shared<'m>, mut allowance: Option<u64>) {
        let monitors = read(&shared.monitors);
        let round = read(&shared.round);
        let batches: Vec<_> = shared.batches[..round.pieces.len()].iter().map(read).collect();
        let apart = shared.apart.as_ref().map(read);
        let watched = Watched::new(&monitors);
        let keeps = shared.keeps.load(Ordering::Relaxed);
        while let Some(shard) = round.shards.get(shared.next.fetch_add(1, Ordering::Relaxed)) {
            let mut guard = shared.shards.write(*shard);
            let mut absorber = Absorber {
                shared,
                monitors: &monitors,
                watched: &watched,
                shard: &mut guard,
                number: *shard,
                allowance: &mut allowance,
                judge: &mut self.judge,
                checker: self.checker.as_mut(),
                keeps,
                depth: apart.as_ref().map(|apart| apart.inserting),
            };
            absorber.shard.numbers.clear();
            // A shard that takes no more says so itself.
            let _ = match &apart {
                Some(apart) => absorber.all(apart.shape, apart.groups(*shard, GROUP), &mut self.groups),
                None => {
                    let Some(first) = batches.first() else { continue };
                    let all = batches.iter().flat_map(|batch| batch.groups(*shard, GROUP));
                    absorber.all(first.shape, all, &mut self.groups)
                }
            };
        }
    }
}

/// Puts together what the batches say of steps that are kept, and the numbers of the states that they lead to.
pub(crate) fn link(shared: &Shared<'_>) {
    let pieces = read(&shared.round).pieces.len();
    let shards: Vec<_> = (0..SHARDS).map(|shard| shared.shards.read(shard)).collect();
    loop {
        let at = shared.next.fetch_add(1, Ordering::Relaxed);
        if at >= pieces {
            return;
        }
        let mut batch = shared.batches[at].write().unwrap_or_else(PoisonError::into_inner);
        let firsts = batch.sketch.firsts;
        batch.sketch.link(std::array::from_fn(|shard| {
            let numbers = &shards[shard].numbers;
            numbers.get(firsts[shard] as usize..).or_internal("a batch begins within its shard's numbers")
        }));
    }
}

/// States that are to be expanded.
struct NumberedStates<'w> {
    states: &'w [u64],
    numbers: &'w [u32],
    words: usize,
}

impl<'w> NumberedStates<'w> {
    /// The next state, of which a visitor will be told what happens.
    #[inline]
    fn next(&mut self, visitor: &mut Filling<'_, '_, '_>) -> Option<&'w [u64]> {
        let (state, others) = self.states.split_at_checked(self.words)?;
        let (number, numbers) = self.numbers.split_first()?;
        (self.states, self.numbers) = (others, numbers);
        visitor.begin(*number);
        Some(state)
    }

    /// Expands so many states together, or as many as can be, and gives how many.
    fn run(&mut self, stepper: &mut Stepper<'_>, visitor: &mut Filling<'_, '_, '_>, most: usize) -> u64 {
        if most == 0 || !stepper.runs() || !visitor.takes_packed() {
            return 0;
        }
        let mut all = 0;
        loop {
            let left = &self.states[..self.states.len().min((most - all) * self.words)];
            let done = stepper.run(left);
            if done == 0 {
                return all as u64;
            }
            for from in (0..done).step_by(AHEAD) {
                let to = (from + AHEAD).min(done);
                visitor.look_ahead(stepper.successors(from..to));
                for at in from..to {
                    let Some(state) = self.next(visitor) else { break };
                    visitor.packed(state, stepper.successors(at..at + 1));
                    visitor.finish(state);
                }
            }
            all += done;
        }
    }
}
