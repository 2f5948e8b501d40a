//! The search: breadth first, so that counterexamples are shortest, in rounds that threads do together.

mod anew;
mod checkpoint;
mod crew;
mod deep;
mod end;
mod findings;
mod reading;
mod size;
mod together;

use std::{
    collections::HashMap,
    io,
    ops::ControlFlow,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use shoal_automorphism::Automorphisms;
use shoal_code::{Layout, Program, Steps, compile, compile_for};
use shoal_model::{
    Fault, Job, MirrorSearch, Model, Observer, OrInternal, Order, Outcome, PartialOrder, Progress,
    PropertyId, Reduction, RuleId, SortId, Statistics, StopReason, Storage, Strategy, Unsupported, Verdict,
    Violation, internal,
};
use shoal_team::{Dismiss, Team};

use crate::{
    apart::{ApartRound, Party},
    batch::{Batch, RecordShape},
    canon::Canon,
    equivariance::Suspicion,
    kripke::{Kripke, StepSink, WantedSteps},
    monitor::Monitors,
    narrow, order,
    report::{Problem, Reporter, Where},
    shards::{SHARDS, Shards, StoreRefused},
    support::{ENGINE, accept, unsupported},
    visited::Visited,
    worker::{EventKind, Level, LevelPiece, PropertyEvent, Round, Shared, Worker, read},
};

use anew::{AnewWith, FoundMirrors};
pub(crate) use checkpoint::Nowhere;
pub use checkpoint::{Keeper, Save};
use crew::{Crew, TeamPhase};
pub(crate) use findings::{Backwards, Findings, KripkeView, ReadOutcome, SearchReader, Spending};
use size::{PIECES, pieces};
pub(crate) use together::SavedLevels;
use together::{Agreed, Together};

/// How often the observer hears of the search.
const REPORT_EVERY: Duration = Duration::from_millis(200);
/// So many states are expanded before the first look at the clock: what is found at once is found under any limit.
const FIRST: u64 = 1 << 10;
/// Rounds with fewer states are done by one thread; in debug builds very few are, for the tests' sake.
const ALONE: usize = if cfg!(debug_assertions) { 4 } else { 256 };
/// With how many states what was found is read for the first time, and with how many times as many again: what is wrong near a
/// start is found without the rest, and reading in vain costs a third of what it does in the end.
const FIRST_READ: u64 = if cfg!(debug_assertions) { 32 } else { 1 << 14 };
const READ_AGAIN: u64 = 4;

impl From<Unsupported> for Refusal {
    fn from(unsupported: Unsupported) -> Self {
        Refusal::Unsupported(unsupported)
    }
}

/// Why there is no outcome.
#[derive(Debug)]
pub enum Refusal {
    /// The engine cannot take the model.
    Unsupported(Unsupported),
    /// The saved search cannot be read.
    Saved(io::Error),
}

/// Decides the properties of a job that are not temporal; see [`crate::check_and_keep`]. Somebody may read the states and steps.
pub(crate) fn check_and_keep(
    model: &Model,
    job: &Job,
    observer: &mut dyn Observer,
    keeper: &mut dyn Keeper,
    mut reader: Option<&mut dyn SearchReader>,
) -> Result<Outcome, Refusal> {
    let mut saved = keeper.resume().map_err(Refusal::Saved)?;
    let mut job = job.clone();
    let mut asymmetries = Vec::new();
    let mut observer = FirstViolations::new(observer);
    let mut beginning = Beginning { saved: saved.take(), ..Beginning::default() };
    loop {
        let reader = reader.as_mut().map(|reader| &mut **reader as &mut dyn SearchReader);
        let ended = run(model, &job, &mut observer, keeper, &mut beginning, reader, None)?;
        let mut outcome = match ended {
            SearchRunEnd::Outcome(outcome) => *outcome,
            SearchRunEnd::Anew(AnewWith::Mirrors(found)) => {
                beginning.mirrors = Some(found);
                continue;
            }
            SearchRunEnd::Anew(AnewWith::AllOrders) => {
                job.strategy.partial_order = PartialOrder::Off;
                continue;
            }
        };
        let Some(last) = outcome.statistics.asymmetries.pop() else {
            outcome.statistics.asymmetries = asymmetries;
            return Ok(outcome);
        };
        job.checked.retain(|sort| *sort != last.sort);
        asymmetries.push(last);
    }
}

/// Decides the properties of a job together with other processes, or with a disk; see [`crate::check_apart`].
pub(crate) fn check_with(
    model: &Model,
    job: &Job,
    observer: &mut dyn Observer,
    party: &mut Party<'_>,
) -> Result<Outcome, Refusal> {
    let Strategy { order, storage, .. } = job.strategy;
    if (order, storage) != (Order::BreadthFirst, Storage::Exact) {
        let lacking = "a search on disk or by several processes that is not breadth first with whole states";
        return Err(Refusal::Unsupported(unsupported(lacking, None)));
    }
    // What is not proved symmetric would have to be checked together.
    let job = Job { checked: Vec::new(), ..job.clone() };
    match run(model, &job, observer, &mut Nowhere, &mut Beginning::default(), None, Some(party))? {
        SearchRunEnd::Outcome(outcome) => Ok(*outcome),
        SearchRunEnd::Anew(_) => internal!("a search together with others does not begin anew"),
    }
}

/// What a search begins with.
#[derive(Default)]
struct Beginning {
    /// A search that is gone on with.
    saved: Option<Box<dyn io::Read>>,
    /// When the first search began, if this one begins anew.
    began: Option<Instant>,
    /// Automorphisms that a search without them has found.
    mirrors: Option<FoundMirrors>,
}

/// How a search ends.
enum SearchRunEnd {
    Outcome(Box<Outcome>),
    /// It is worth while to begin anew.
    Anew(AnewWith),
}

/// Tells an observer of each violation once, though a search that begins anew finds it again.
pub(crate) struct FirstViolations<'o> {
    inner: &'o mut dyn Observer,
    told: Vec<PropertyId>,
}

impl<'o> FirstViolations<'o> {
    pub(crate) fn new(inner: &'o mut dyn Observer) -> FirstViolations<'o> {
        FirstViolations { inner, told: Vec::new() }
    }
}

impl Observer for FirstViolations<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.inner.progress(progress);
    }

    fn violation(&mut self, property: PropertyId, violation: &Violation) {
        if !self.told.contains(&property) {
            self.told.push(property);
            self.inner.violation(property, violation);
        }
    }
}

/// The sorts of which symmetry is to be checked, and what is to be checked of them. Only a breadth-first search that takes all
/// steps does so: of one that leaves out orders of steps it is not enough to know the states that it finds.
fn suspicion(
    model: &Model,
    job: &Job,
    steps: Steps,
    layout: &Layout,
    program: &Program,
) -> Result<Option<Suspicion>, Unsupported> {
    let checks =
        job.strategy.order == Order::BreadthFirst && steps == Steps::All && !model.has_unfixed_sorts();
    match checks && !job.checked.is_empty() {
        true => Suspicion::new(model, layout, program, &job.checked).map(Some),
        false => Ok(None),
    }
}

fn run(
    model: &Model,
    job: &Job,
    observer: &mut dyn Observer,
    keeper: &mut dyn Keeper,
    beginning: &mut Beginning,
    reader: Option<&mut dyn SearchReader>,
    party: Option<&mut Party<'_>>,
) -> Result<SearchRunEnd, Refusal> {
    let began = *beginning.began.get_or_insert_with(Instant::now);
    let layout = accept(model, job)?;
    let foreseen = shoal_analysis::foresee(model);
    let model = foreseen.as_ref().unwrap_or(model);
    let program = compile(model, &layout, ENGINE)?.under(&job.watch);
    let blank = narrow::blank(model, &layout, &program, &job.watch);
    let is_apart = party.is_some();
    // What one search may do to states has not been tried where several processes share them.
    let may_mirror = reader.is_none() && !is_apart && anew::may_mirror(model, job);
    let (mirrors, again) = beginning.mirrors.take().map(|found| (found.mirrors, found.states)).unzip();
    let mirrors = match mirrors {
        Some(found) => Some(found),
        None if may_mirror && job.automorphisms == MirrorSearch::First => anew::mirrors(model, job, None),
        None => None,
    };
    // A representative need not be a state that is reached: a cell may be undefined in it that never is otherwise.
    let blank = blank.filter(|_| mirrors.is_none());
    let parts = (reader.is_none() && !is_apart).then(|| order::parts(model, job, blank.as_ref())).flatten();
    let (parts, all_orders) = match parts {
        Some(Err(why)) => (None, Some(why)),
        found => (found.and_then(Result::ok), None),
    };
    let narrowed = blank.and_then(|blank| narrow::narrowed(model, &layout, &blank));
    let (layout, mut program) = match (narrowed, parts) {
        (None, None) => (layout, program),
        (narrowed, parts) => {
            let layout = narrowed.unwrap_or(layout);
            let program = compile_for(model, &layout, parts, ENGINE)?.under(&job.watch);
            (layout, program)
        }
    };
    let steps = match &reader {
        Some(reader) => reader.steps(&mut program),
        None => order::for_search(model, job, is_apart, &mut program),
    };
    let suspicion = suspicion(model, job, steps, &layout, &program)?;
    let checked: &[SortId] = if suspicion.is_some() { &job.checked } else { &[] };
    let symmetric = [&job.symmetric[..], checked].concat();
    let canon = || {
        let found = match &mirrors {
            Some(mirrors) => Canon::by_automorphisms(model, &layout, mirrors).map(Some),
            None => Canon::new(model, &layout, &symmetric, job.strategy.representatives),
        };
        found.map_err(|refused| Refusal::Unsupported(refused.words()))
    };
    let (orbits, packed) = match canon()? {
        Some(canon) => (true, canon.takes_packed()),
        None => (false, true),
    };
    if job.jit {
        // What is checked of symmetry is run on cells.
        program.translate(&layout, packed && steps == Steps::All && suspicion.is_none());
    }
    let monitors = Monitors::new(model, &program, job);
    let sink = sink(&program, &monitors, reader.as_deref());
    accept_strategy(job, &sink)?;
    // Some is left for what waits to be stored, and for sorting.
    let limit = match &party {
        Some(Party { disk: Some(_), .. }) => job.watch.memory().map(|limit| limit / 4 * 3),
        Some(_) | None => job.watch.memory(),
    };
    let batch = || RwLock::new(Batch::new(layout.words(), orbits, model.rules.len()));
    let shared = Shared {
        model,
        layout: &layout,
        program: &program,
        shards: Shards::new(&layout, model.rules.len(), limit, &sink, job.strategy.storage, !is_apart),
        watch: job.watch.clone(),
        suspicion: suspicion.as_ref(),
        steps,
        all_steps: job.strategy.order != Order::BreadthFirst,
        apart: is_apart.then(|| {
            let shape = RecordShape::new(layout.words(), orbits);
            RwLock::new(ApartRound::new(&layout, shape))
        }),
        keeps: AtomicBool::new(!sink.is_empty()),
        sink,
        monitors: RwLock::new(monitors),
        round: RwLock::new(Round { pieces: Vec::new(), level: Level::NONE, shards: Vec::new() }),
        batches: (0..PIECES).map(|_| batch()).collect(),
        next: AtomicUsize::new(0),
        abandon: AtomicBool::new(false),
    };
    let team = Team::new(TeamPhase::ALL);
    let reader = reader.map(|reader| reader as &mut dyn SearchReader);
    let mut search = Search::new(&shared, job, observer, canon()?, began, symmetric.clone(), reader);
    match &mirrors {
        Some(mirrors) => search.is_mirrored_by(mirrors, again),
        None => search.may_mirror = may_mirror && job.automorphisms == MirrorSearch::WhenLarge,
    }
    search.may_reorder = job.adapts && !is_apart && steps != Steps::All && search.reader.is_none();
    search.statistics.notes.extend(all_orders.map(|why| format!("steps were taken in all orders, as {why}")));
    if let Some(mut saved) = beginning.saved.take() {
        search.restore(&mut *saved).map_err(Refusal::Saved)?;
    }
    thread::scope(|scope| {
        let _dismiss = Dismiss(&team);
        let worker = Worker::new(&shared, canon()?);
        let mut crew = Crew {
            scope,
            team: &team,
            shared: &shared,
            worker,
            canon: &canon,
            asked: job.threads,
            others: 0,
        };
        let ends = match job.strategy.order {
            _ if let Some(party) = party => {
                search.together(&mut crew, &mut Together::new(shared.model, party))
            }
            Order::BreadthFirst => search.run(&mut crew, keeper),
            Order::DepthFirst => {
                let (storage, limit) = (job.strategy.storage, job.watch.memory());
                let budget = shared.shards.budget.clone();
                let mut visited = Visited::new(&layout, storage, limit, budget);
                let ends = search.in_depth(&mut crew.worker, &mut visited);
                search.omissions = visited.omissions();
                ends
            }
            Order::Walk { seed } => search.walk(&mut crew.worker, seed),
            // Refused above.
            Order::Backward => ControlFlow::Continue(()),
        };
        let exact = is_exact(job.strategy.storage);
        search.statistics.exhaustive = ends.is_continue() && exact && program.full().is_none();
        search.statistics.threads = search.together_threads.unwrap_or_else(|| crew.threads());
        search.save_at_stop(keeper);
        Ok::<(), Refusal>(())
    })?;
    if let Some(how) = search.anew.take() {
        return Ok(SearchRunEnd::Anew(how));
    }
    if let Some(error) = search.unreadable.take() {
        return Err(Refusal::Saved(error));
    }
    let mut outcome = search.finish();
    if let Some(mirrors) = &mirrors {
        share_fired(mirrors, &mut outcome.statistics.fired);
    }
    Ok(SearchRunEnd::Outcome(Box::new(outcome)))
}

/// A rule whose steps are images of another's fires in the states that are not stored, as often as the other does in those that
/// are.
fn share_fired(mirrors: &Automorphisms, fired: &mut [u64]) {
    let mut most: HashMap<RuleId, u64> = HashMap::new();
    for (class, fired) in mirrors.rules.iter().zip(&*fired) {
        let known = most.entry(*class).or_default();
        *known = (*known).max(*fired);
    }
    for (class, fired) in mirrors.rules.iter().zip(fired).filter(|(_, fired)| **fired == 0) {
        *fired = most.get(class).copied().or_internal("the class of a rule");
    }
}

/// Whether the properties can be decided in the way that is asked for.
fn accept_strategy(job: &Job, sink: &StepSink) -> Result<(), Refusal> {
    let Strategy { order, storage, .. } = job.strategy;
    let lacking = match order {
        Order::DepthFirst | Order::Walk { .. } if storage == Storage::Tree => {
            "tree compression in a search that is not breadth first"
        }
        Order::Backward => "a search backwards, which the symbolic engine does",
        Order::BreadthFirst if storage == Storage::Bits => {
            "bitstate hashing in a search that is not in depth"
        }
        Order::DepthFirst | Order::Walk { .. } if !sink.is_empty() => {
            "what is always possible, in a search that is not breadth first"
        }
        _ => return Ok(()),
    };
    Err(Refusal::Unsupported(unsupported(lacking, None)))
}

/// What is kept beside states: for goals, and for who reads the search.
fn sink(program: &Program, monitors: &Monitors, reader: Option<&dyn SearchReader>) -> StepSink {
    let pc = |property: &PropertyId| {
        program.condition(*property).or_internal("a condition that is asked for is compiled")
    };
    let conditions = reader.map_or(Vec::new(), |reader| reader.conditions().iter().map(pc).collect());
    let wanted = match (monitors.goals, reader) {
        (0, Some(reader)) => reader.wanted(),
        (0, None) => WantedSteps::default(),
        _ => WantedSteps::all(),
    };
    StepSink { conditions, goals: monitors.goals, wanted }
}

/// Whether every state is known again.
fn is_exact(storage: Storage) -> bool {
    matches!(storage, Storage::Exact | Storage::Tree)
}

struct Search<'s, 'm> {
    shared: &'s Shared<'m>,
    job: &'s Job,
    observer: &'s mut dyn Observer,
    /// For traces.
    canon: Option<Canon>,
    /// The sorts that states are reduced by.
    symmetric: Vec<SortId>,
    /// Whether automorphisms may be looked for, and how often they were.
    may_mirror: bool,
    looks: usize,
    /// Whether it may still turn out that no order of steps is left out.
    may_reorder: bool,
    /// How to begin anew, if that is better.
    anew: Option<AnewWith>,
    /// How many states each shard has.
    lengths: [u32; SHARDS],
    /// Who reads what is found, and with how many states the next time.
    reader: Option<&'s mut dyn SearchReader>,
    read_at: u64,
    /// The steps that are kept, or why they are not any more.
    kripke: Kripke,
    lost: Option<StopReason>,
    /// For each condition that is kept, a state nearest to a start in which it faults.
    faults: Vec<Option<(u32, Fault)>>,
    expanded: u64,
    /// Where the next round begins; nothing before the first level and after the last.
    position: Option<LevelPosition>,
    statistics: Statistics,
    stop: Option<StopReason>,
    /// The first fault of a property in a state that the present level leads to, and which monitor it concerns.
    late: Option<(usize, Where, Problem)>,
    /// Once there is a violation: how many states may be stored in all.
    give_up_at: Option<u64>,
    /// How many states were found that are not in the shards, and bytes that are used beside them.
    beyond: u64,
    beside: u64,
    /// Bytes of the batches, which are in the budget, and how many batches the last round had.
    waiting: Vec<u64>,
    last_batches: usize,
    /// With other processes: what they have agreed on, the steps and bytes of the others, and the threads of all.
    agreed: Option<Agreed>,
    elsewhere: (u64, u64),
    together_threads: Option<usize>,
    /// Why a saved search could not be gone on with.
    unreadable: Option<io::Error>,
    /// How many states were missed, as is to be expected.
    omissions: f64,
    began: Instant,
    /// When there was something to search with.
    searching: Instant,
    reported: Instant,
}

impl<'s, 'm> Search<'s, 'm> {
    fn new(
        shared: &'s Shared<'m>,
        job: &'s Job,
        observer: &'s mut dyn Observer,
        canon: Option<Canon>,
        began: Instant,
        symmetric: Vec<SortId>,
        reader: Option<&'s mut dyn SearchReader>,
    ) -> Self {
        let reduces = canon.as_ref().is_some_and(Canon::reduces);
        let checked =
            (reduces && shared.suspicion.is_some()).then(|| Reduction::Checked(job.checked.clone()));
        let reduced = reduces.then(|| Reduction::Symmetry(symmetric.clone()));
        let statistics = Statistics {
            engine: ENGINE,
            reductions: reduced.into_iter().chain(checked).chain(order::reduction(shared.steps)).collect(),
            fired: vec![0; shared.model.rules.len()],
            fresh: vec![0; shared.model.rules.len()],
            spent: vec![0; shared.model.rules.len()],
            state_bits: shared.layout.bits(),
            compiled: shared.program.is_native(),
            ..Statistics::default()
        };
        Search {
            shared,
            job,
            observer,
            canon,
            symmetric,
            may_mirror: false,
            looks: 0,
            may_reorder: false,
            anew: None,
            lengths: [0; SHARDS],
            give_up_at: reader.as_ref().and_then(|reader| reader.give_up_at()),
            reader,
            read_at: FIRST_READ,
            kripke: Kripke::default(),
            lost: None,
            faults: vec![None; shared.sink.conditions.len()],
            expanded: 0,
            position: None,
            statistics,
            stop: None,
            late: None,
            beyond: 0,
            beside: 0,
            waiting: vec![0; shared.batches.len()],
            last_batches: 0,
            agreed: None,
            elsewhere: (0, 0),
            together_threads: None,
            unreadable: None,
            omissions: 0.0,
            began,
            searching: Instant::now(),
            reported: began,
        }
    }

    fn run(&mut self, crew: &mut Crew<'_, '_, 'm>, keeper: &mut dyn Keeper) -> ControlFlow<()> {
        if self.position.is_none() {
            if let Err(reason) = crew.worker.starts(self.shared, &self.job.watch) {
                return self.stop(reason);
            }
            self.plan_round(vec![LevelPiece { from: 0, to: 0 }], Level::NONE);
            self.absorb(crew, false)?;
            self.settle()?;
            self.next_level([0; SHARDS]);
        }
        while let Some(position) = self.position.clone() {
            if position.left == 0 {
                self.settle()?;
                self.next_level(position.level.ends);
            } else {
                self.round(crew, position)?;
                self.save_if_due(keeper);
                self.look_for_better()?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Begins the level that begins here, if there is one.
    fn next_level(&mut self, starts: [u32; SHARDS]) {
        self.shared.shards.forget_before(&starts);
        let ends = self.lengths;
        let left = total(&ends) - total(&starts);
        self.position = (left > 0).then_some(LevelPosition { level: Level { starts, ends }, done: 0, left });
        if left > 0 {
            self.statistics.levels.push(left);
        }
    }

    /// Expands some more states of a level and stores their successors.
    fn round(&mut self, crew: &mut Crew<'_, '_, 'm>, mut position: LevelPosition) -> ControlFlow<()> {
        let depth = self.statistics.levels.len() as u64 - 1;
        if let Some(limit) = self.job.limits().depth.filter(|limit| depth >= *limit) {
            return self.stop(StopReason::Depth(limit));
        }
        let states = self.round_size().min(position.left);
        let pieces = pieces(position.done, states, self.job.threads);
        position.done += states;
        position.left -= states;
        self.plan_round(pieces, position.level);
        let together = self.job.threads > 1 && states as usize >= ALONE;
        self.expand(crew, together)?;
        self.expanded += states;
        self.absorb(crew, together)?;
        self.link(crew, together)?;
        self.position = Some(position);
        self.read_so_far()?;
        self.look_around()
    }

    fn plan_round(&mut self, pieces: Vec<LevelPiece>, level: Level) {
        let mut round = self.shared.round.write().unwrap_or_else(PoisonError::into_inner);
        round.pieces = pieces;
        round.level = level;
    }

    fn expand(&mut self, crew: &mut Crew<'_, '_, 'm>, together: bool) -> ControlFlow<()> {
        self.shared.abandon.store(false, Ordering::Relaxed);
        crew.expand(together, || self.look_around().is_continue());
        self.stop_if_a_run_was()?;
        if self.stop.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Stores the successors of the round and takes notice of what was found.
    fn absorb(&mut self, crew: &mut Crew<'_, '_, 'm>, together: bool) -> ControlFlow<()> {
        let (candidates, events) = self.collect();
        let fits = self.count_waiting() || self.gives_up_steps() && self.count_waiting();
        if !fits {
            self.heed(events)?;
            return self.stop_for_memory();
        }
        let states = total(&self.lengths);
        let most = [self.job.limits().states, self.give_up_at].into_iter().flatten().min();
        // Only if they could become too many, they are counted one by one.
        let allowance = most.filter(|most| states + candidates > *most);
        let allowance = allowance.map(|most| most.saturating_sub(states));
        crew.absorb(together, allowance);
        let shards = read(&self.shared.round).shards.clone();
        self.make_room(crew, together, allowance, &shards);
        self.look_for_asymmetry(&shards)?;
        self.heed(events)?;
        let mut refused = None;
        for shard in shards {
            let mut guard = self.shared.shards.write(shard);
            self.lengths[shard] = guard.store.len() as u32;
            refused = refused.or(guard.refused.take());
            for (condition, state, fault) in guard.labels.iter_mut().flat_map(|it| it.faults.drain(..)) {
                self.faults[condition].get_or_insert((state, fault));
            }
            let events = std::mem::take(&mut guard.events);
            drop(guard);
            self.heed(events)?;
        }
        self.stop_if_a_run_was()?;
        match refused {
            Some(StoreRefused::Memory) => self.stop_for_memory(),
            // The watch stays as it is: it says the same again.
            Some(StoreRefused::Time) => match self.job.watch.check() {
                Err(reason) => self.stop(reason),
                Ok(()) => self.stop(StopReason::Interrupted),
            },
            Some(StoreRefused::Number)
                if self.give_up_at.is_some_and(|most| total(&self.lengths) >= most) =>
            {
                self.stop(StopReason::OtherViolation)
            }
            Some(StoreRefused::Number) => {
                self.stop(StopReason::States(self.job.limits().states.unwrap_or(0)))
            }
            None => self.keep_patience(),
        }
    }

    /// Whether elements are not treated alike in a new state. Then the search ends here, before anything is concluded from
    /// that state.
    fn look_for_asymmetry(&mut self, shards: &[usize]) -> ControlFlow<()> {
        let found = shards.iter().find_map(|shard| self.shared.shards.write(*shard).asymmetry.take());
        // Effects that are not all there are no difference.
        match found.filter(|_| self.shared.program.stopped().is_none()) {
            Some(found) => {
                self.statistics.asymmetries.push(*found);
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }

    /// Adds up what the batches of the round say, and finds the shards that have something to store. Gives the
    /// number of successors and what was noticed.
    fn collect(&mut self) -> (u64, Vec<PropertyEvent>) {
        let mut round = self.shared.round.write().unwrap_or_else(PoisonError::into_inner);
        let mut monitors = self.shared.monitors.write().unwrap_or_else(PoisonError::into_inner);
        let batches = &self.shared.batches[..round.pieces.len()];
        let (mut candidates, mut events) = (0, Vec::new());
        let mut used = [false; SHARDS];
        for batch in batches {
            let mut batch = batch.write().unwrap_or_else(PoisonError::into_inner);
            candidates += batch.reached();
            events.append(&mut batch.events);
            for (sum, fired) in self.statistics.fired.iter_mut().zip(&batch.fired) {
                *sum += fired;
                self.statistics.transitions += fired;
            }
            self.statistics.put_off += batch.put_off;
            self.statistics.spent.iter_mut().zip(&batch.spent).for_each(|(sum, spent)| *sum += spent);
            for property in batch.covered.drain(..) {
                for monitor in monitors.all.iter_mut().filter(|monitor| monitor.property == property) {
                    monitor.verdict.get_or_insert(Verdict::Holds);
                }
            }
            batch.mark(&mut used);
        }
        round.shards.clear();
        round.shards.extend((0..SHARDS).filter(|shard| used[*shard]));
        (candidates, events)
    }

    /// Counts the memory of successors that wait to be stored, which they keep for the next round. False if it is too much.
    fn count_waiting(&mut self) -> bool {
        let batches = read(&self.shared.round).pieces.len();
        // Those of the last round have grown since they were counted if its steps were linked; all others are as they were.
        let grown = batches.max(std::mem::replace(&mut self.last_batches, batches));
        let now: Vec<u64> = self.shared.batches[..grown].iter().map(|batch| read(batch).bytes()).collect();
        let more = now.iter().sum::<u64>() - self.waiting[..grown].iter().sum::<u64>();
        let fits = self.shared.shards.budget.take(more, 0);
        if fits {
            self.waiting[..grown].copy_from_slice(&now);
        }
        fits
    }

    fn stop_for_memory(&mut self) -> ControlFlow<()> {
        let limit = self.job.watch.memory().unwrap_or_else(|| self.memory());
        self.stop(StopReason::Memory(limit))
    }

    fn stop(&mut self, reason: StopReason) -> ControlFlow<()> {
        self.stop = Some(reason);
        ControlFlow::Break(())
    }

    /// Looks at the clock and at the user.
    /// Ends the search if the watch has ended a run of code: what is known of the state it was in is not all.
    fn stop_if_a_run_was(&mut self) -> ControlFlow<()> {
        match self.shared.program.stopped().cloned() {
            Some(reason) => self.stop(reason),
            None => ControlFlow::Continue(()),
        }
    }

    fn look_around(&mut self) -> ControlFlow<()> {
        if let Some(sort) = self.shared.program.full() {
            return self.stop(StopReason::Elements(sort));
        }
        // The first look comes at once: there may be no time left.
        if (1..FIRST).contains(&self.expanded) {
            return ControlFlow::Continue(());
        }
        if let Err(reason) = self.job.watch.check() {
            return self.stop(reason);
        }
        let now = Instant::now();
        if now.duration_since(self.reported) < REPORT_EVERY {
            return ControlFlow::Continue(());
        }
        self.reported = now;
        self.observer.progress(&self.progress());
        ControlFlow::Continue(())
    }

    fn progress(&self) -> Progress {
        let states = self.states();
        Progress {
            states,
            transitions: self.statistics.transitions + self.elsewhere.0,
            frontier: states.saturating_sub(self.expanded),
            depth: (self.statistics.levels.len() as u64).saturating_sub(1),
            memory_bytes: self.memory().max(self.elsewhere.1),
            elapsed: self.began.elapsed(),
        }
    }

    fn memory(&self) -> u64 {
        self.shared.shards.budget.used() + self.beside
    }

    /// How many states were found.
    fn states(&self) -> u64 {
        self.agreed.map_or_else(|| total(&self.lengths) + self.beyond, |agreed| agreed.states)
    }

    /// Takes notice of what was found.
    fn heed(&mut self, events: Vec<PropertyEvent>) -> ControlFlow<()> {
        for PropertyEvent { at, what } in events {
            if read(&self.shared.monitors).all[at].verdict.is_some() {
                continue;
            }
            match what {
                EventKind::Holds => self.decide(at, Verdict::Holds)?,
                EventKind::Wrong(place, problem) => self.violated(at, place, problem)?,
                EventKind::Late(place, problem) => {
                    self.late.get_or_insert((at, place, problem));
                }
                EventKind::Start(violation) => self.violation(at, violation)?,
            }
        }
        ControlFlow::Continue(())
    }

    /// After a level: what faults in the states it leads to, unless something faulted in the level itself.
    fn settle(&mut self) -> ControlFlow<()> {
        match self.late.take() {
            Some((at, place, problem)) if read(&self.shared.monitors).all[at].verdict.is_none() => {
                self.violated(at, place, problem)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn violated(&mut self, at: usize, place: Where, problem: Problem) -> ControlFlow<()> {
        let Shared { model, layout, program, ref shards, .. } = *self.shared;
        let mut reporter = Reporter::new(model, layout, program, shards, self.canon.as_mut());
        let violation = reporter.violation(place, problem);
        self.violation(at, violation)
    }

    fn violation(&mut self, at: usize, violation: Violation) -> ControlFlow<()> {
        let (property, is_asked) = {
            let monitor = &read(&self.shared.monitors).all[at];
            (monitor.property, monitor.is_asked)
        };
        if !is_asked {
            return self.decide(at, Verdict::Violated(Box::new(violation)));
        }
        self.observer.violation(property, &violation);
        self.decide(at, Verdict::Violated(Box::new(violation)))?;
        self.lose_patience()
    }

    /// Something is wrong.
    fn lose_patience(&mut self) -> ControlFlow<()> {
        if let (Some(patience), None) = (self.job.patience, self.give_up_at) {
            self.give_up_at = Some(self.states() + patience);
        }
        self.keep_patience()
    }

    /// After a violation the search goes on only for so long.
    fn keep_patience(&mut self) -> ControlFlow<()> {
        match self.give_up_at {
            Some(limit) if self.states() >= limit => self.stop(StopReason::OtherViolation),
            _ => ControlFlow::Continue(()),
        }
    }

    fn decide(&mut self, at: usize, verdict: Verdict) -> ControlFlow<()> {
        let mut monitors = self.shared.monitors.write().unwrap_or_else(PoisonError::into_inner);
        monitors.all[at].verdict = Some(verdict);
        // Who reads steps has nothing to wait for if these were given up.
        let read = self.reader.is_none() || self.lost.is_some();
        let done = read && monitors.all_decided();
        if done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// How many states there are in all shards.
fn total(lengths: &[u32; SHARDS]) -> u64 {
    lengths.iter().map(|length| u64::from(*length)).sum()
}

/// How far a level has been expanded.
#[derive(Clone)]
struct LevelPosition {
    level: Level,
    /// How many states are done, and how many are left.
    done: u64,
    left: u64,
}
