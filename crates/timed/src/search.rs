//! Breadth-first search of lumped zones.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use shoal_dbm::Constraint;
use shoal_model::{
    Condition, DeadlockKind, During, Failing, FaultKind, Job, Logic, Model, Observer, OnlyProgress, Outcome,
    Progress, PropertyId, PropertyKind, PropertyResult, Reason, Reduction, RuleId, SortId, Statistics,
    StopReason, TypedId, Unsupported, Verdict, Violation, Watch,
};
use shoal_tctl::{TctlHalt, unsupported};

use super::{
    layout::{ZoneLayout, can_class, can_lump},
    state::{Counting, ZoneState},
    steps::{RunEnd, ZoneSteps},
    trace,
};

/// A state that is kept.
pub(crate) struct KeptState {
    pub(crate) state: ZoneState,
    /// Where it comes from: the state before and the number of the step among its steps; or the number of the start.
    pub(crate) from: Option<usize>,
    pub(crate) ordinal: usize,
    depth: u32,
    /// Whether another state includes it.
    pub(crate) covered: bool,
}

/// A step that faults: of which rule, the so many-th of those that do.
pub(crate) struct Faulting {
    pub(crate) rule: RuleId,
    pub(crate) nth: usize,
    pub(crate) kind: FaultKind,
}

/// A search.
pub(crate) struct ZoneSearch<'m> {
    pub(crate) steps: ZoneSteps<'m>,
    pub(crate) kept: Vec<KeptState>,
    index: HashMap<Vec<i64>, Vec<u32>>,
    transitions: u64,
    fired: Vec<u64>,
    fresh: Vec<u64>,
    bytes: u64,
    began: Instant,
    /// Whether some step or start fails.
    pub(crate) fails: bool,
}

/// How a search ended.
pub(crate) enum SearchFinish {
    All,
    /// Everything that was asked is known before all was seen.
    Decided,
    Stopped(StopReason),
}

/// What the engine is asked beside the job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep the bounds of clocks coarse: one for all locations.
    pub coarse: bool,
}

/// Decides the properties of a model.
pub fn check(model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Unsupported> {
    check_with(model, job, Options::default(), observer)
}

/// The same, with options.
pub fn check_with(
    model: &Model,
    job: &Job,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    support(model, job)?;
    if super::any::is_any(model) {
        return super::any::check(model, job, observer);
    }
    let temporal = |id: &PropertyId| shoal_tctl::is_temporal(&model.properties[*id].kind);
    let (temporal, states): (Vec<PropertyId>, Vec<PropertyId>) =
        job.properties.iter().copied().partition(temporal);
    // Where like elements are counted not every deadlock is seen: they are looked for in a search of their own.
    let apart = !job.symmetric.is_empty() && !super::deadlock::can_lump(model);
    let (deadlocks, states): (Vec<PropertyId>, Vec<PropertyId>) =
        states.into_iter().partition(|id| apart && is_deadlock(&model.properties[*id].kind));
    // What is asked of states is decided first: it takes less, and stays if a limit ends the rest.
    let mut outcome: Option<Outcome> = None;
    for (properties, of_runs) in [(states, false), (deadlocks, false), (temporal, true)] {
        if properties.is_empty() {
            continue;
        }
        let part = Job { properties, ..job.clone() };
        let decided = match of_runs {
            true => crate::formulas::check(model, &part, observer)?,
            false => check_states(model, &part, options, observer)?,
        };
        outcome = Some(match outcome {
            Some(before) => joined(before, decided),
            None => decided,
        });
    }
    let Some(mut outcome) = outcome else { return check_states(model, job, options, observer) };
    let place = |id: PropertyId| job.properties.iter().position(|it| *it == id);
    outcome.results.sort_by_key(|result| place(result.property));
    Ok(outcome)
}

/// What two searches found, with the figures of the first.
fn joined(mut one: Outcome, mut other: Outcome) -> Outcome {
    one.results.append(&mut other.results);
    one.failing = one.failing.or(other.failing);
    one.statistics.time += other.statistics.time;
    one.statistics.notes.append(&mut other.statistics.notes);
    one
}

/// Decides properties of single states.
fn check_states(
    model: &Model,
    job: &Job,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    // How a deadlock that is one only in some states is to be found where like elements are counted is not known.
    let conditional = |property: &PropertyId| {
        let kind = &model.properties[*property].kind;
        matches!(kind, PropertyKind::Deadlock(DeadlockKind::StuckUnless(_)) | PropertyKind::CoverDeadlock(_))
    };
    let apart = super::bounds::are_asked(model)
        && super::bounds::concern_elements(model, &ZoneLayout::new(model, &[])?)?;
    let conditional = job.properties.iter().any(conditional);
    let deadlock = asks_deadlock(model, job) && !super::deadlock::can_lump(model);
    if deadlock
        && !apart
        && !conditional
        && let Some(outcome) = holds_folded(model, job, observer)?
    {
        return Ok(outcome);
    }
    let named = apart || conditional || deadlock;
    let lumps = |sort: &SortId| {
        !named && job.symmetric.contains(sort) && can_class(model, *sort) && can_lump(model, *sort)
    };
    let lumped: Vec<SortId> = model.sorts.ids().filter(lumps).collect();
    search_with(model, job, &lumped, Counting { cut: None }, options, observer)
}

/// Decides properties in a search in which every element keeps its clocks, but like elements change places. Nothing if they do not
/// all hold: what is to be shown is then found among states in which every element has its name.
fn holds_folded(
    model: &Model,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, Unsupported> {
    let steps = match steps_folded(model, job) {
        Ok(steps) if steps.folds() => steps,
        Ok(_) => return Ok(None),
        Err(halt) => return Ok(Some(Outcome::unknown(&job.properties, &halt.reason()?))),
    };
    let folded = |sort: &SortId| steps.free[sort.index()].len() > 1;
    let folded: Vec<SortId> = model.sorts.ids().filter(folded).collect();
    let outcome = search_steps(steps, job, &folded, &mut OnlyProgress(observer))?;
    let covers = |result: &PropertyResult| {
        matches!(
            model.properties[result.property].kind,
            PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_)
        )
    };
    let is_final = |result: &PropertyResult| match &result.verdict {
        Verdict::Holds => !covers(result),
        Verdict::Unknown(_) => true,
        Verdict::Violated(_) => false,
    };
    if !outcome.results.iter().all(is_final) {
        return Ok(None);
    }
    // (How many states one of them stands for is not kept.)
    let statistics = Statistics { states_full: None, ..outcome.statistics };
    Ok(Some(Outcome { statistics, ..outcome }))
}

/// Searches with some sorts lumped, and counts as they are said to add up.
pub(crate) fn search_with(
    model: &Model,
    job: &Job,
    lumped: &[SortId],
    counting: Counting,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    let steps = match steps(model, &job.properties, lumped, counting, options, &job.watch) {
        Ok(steps) => steps,
        Err(halt) => return Ok(Outcome::unknown(&job.properties, &halt.reason()?)),
    };
    search_steps(steps, job, lumped, observer)
}

/// Searches by some steps, in which some sorts are reduced by symmetry.
fn search_steps(
    steps: ZoneSteps<'_>,
    job: &Job,
    lumped: &[SortId],
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    let model = steps.model;
    let mut search = ZoneSearch::new(steps);
    search.steps.futures = asks_deadlock(model, job);
    let mut results: Vec<Option<Verdict>> = vec![None; job.properties.len()];
    let end = search.run(job, observer, &mut results)?;
    let (exhaustive, stop) = match end {
        SearchFinish::All => (true, None),
        SearchFinish::Decided => (false, None),
        SearchFinish::Stopped(reason) => (false, Some(reason)),
    };
    let statistics = search.statistics(exhaustive, lumped);
    let mut outcome = Outcome { results: Vec::new(), failing: search.failing(), statistics };
    for (position, property) in job.properties.iter().enumerate() {
        let kind = &model.properties[*property].kind;
        let covers = matches!(kind, PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_));
        let verdict = match (results[position].take(), &stop) {
            (Some(verdict), _) => verdict,
            (None, Some(reason)) => Verdict::Unknown(reason.clone()),
            (None, None) if covers => {
                Verdict::Violated(Box::new(Violation { reason: Reason::NeverCovered, trace: None }))
            }
            (None, None) => Verdict::Holds,
        };
        outcome.results.push(PropertyResult { property: *property, verdict });
    }
    Ok(outcome)
}

/// The verdict on a property by a fault of one of its conditions in some state; nothing if there is no such state.
pub(crate) fn fault_of(
    model: &Model,
    job: &Job,
    property: PropertyId,
    observer: &mut dyn Observer,
) -> Result<Option<Verdict>, TctlHalt> {
    let mut search = ZoneSearch::new(steps_by_name(model, &job.watch)?);
    let everything = Job { properties: Vec::new(), patience: None, ..job.clone() };
    if let SearchFinish::Stopped(reason) = search.run(&everything, observer, &mut [])? {
        return Ok(Some(Verdict::Unknown(reason)));
    }
    for (at, kept) in search.kept.iter().enumerate() {
        for condition in model.properties[property].kind.conditions() {
            for (fault, way) in search.steps.judge(&kept.state, condition, true)?.faults {
                if kept.state.zone.clone().constrain_all(way.iter().copied()) {
                    let reason = Reason::Fault(During::Property(property), fault);
                    return Ok(Some(Verdict::Violated(Box::new(search.shown(at, reason, &way)?))));
                }
            }
        }
    }
    Ok(None)
}

fn is_deadlock(kind: &PropertyKind) -> bool {
    matches!(kind, PropertyKind::Deadlock(_) | PropertyKind::CoverDeadlock(_))
}

fn asks_deadlock(model: &Model, job: &Job) -> bool {
    job.properties.iter().any(|property| is_deadlock(&model.properties[*property].kind))
}

/// The steps of a model with some sorts lumped, for deciding some properties.
fn steps<'m>(
    model: &'m Model,
    properties: &[PropertyId],
    lumped: &[SortId],
    counting: Counting,
    options: Options,
    watch: &Watch,
) -> Result<ZoneSteps<'m>, TctlHalt> {
    let classes: Vec<SortId> = model.sorts.ids().filter(|sort| can_class(model, *sort)).collect();
    ZoneSteps::new(model, &classes, pinned(model, properties, lumped), counting, !options.coarse, watch)
}

/// The steps of a model in which every element has its name.
pub(crate) fn steps_by_name<'m>(model: &'m Model, watch: &Watch) -> Result<ZoneSteps<'m>, TctlHalt> {
    steps(model, &[], &[], Counting { cut: None }, Options::default(), watch)
}

/// The same; elements of the symmetric sorts change places if neither the model nor a property of the job names them.
pub(crate) fn steps_folded<'m>(model: &'m Model, job: &Job) -> Result<ZoneSteps<'m>, TctlHalt> {
    let mut steps = steps_by_name(model, &job.watch)?;
    let fixed = shoal_analysis::fixed(model, &job.properties);
    for sort in job.symmetric.iter().filter(|sort| can_class(model, **sort) && can_lump(model, **sort)) {
        let named = &fixed[*sort];
        let all = 0..model.sorts[*sort].fixed_size().unwrap_or(0);
        steps.free[sort.index()] = all.filter(|element| !named.contains(element)).collect();
    }
    Ok(steps)
}

/// The elements that are told apart, by sort: those that the model or a property names, or all.
fn pinned(model: &Model, properties: &[PropertyId], lumped: &[SortId]) -> Vec<Vec<u32>> {
    let fixed = shoal_analysis::fixed(model, properties);
    let of = |sort: SortId| match lumped.contains(&sort) {
        true => fixed[sort].iter().copied().collect(),
        false => (0..model.sorts[sort].fixed_size().unwrap_or(0)).collect(),
    };
    model.sorts.ids().map(of).collect()
}

/// Whether the engine decides a property of a model, as far as that can be seen without translating it.
pub fn supports(model: &Model, id: PropertyId) -> Result<(), Unsupported> {
    let property = &model.properties[id];
    let lacks = |construct: &str| unsupported(construct, Some(property.span));
    if super::any::is_any(model) && !super::any::is_of_runs(&property.kind) {
        return lacks("other properties than invariants, assertions and faults for any number");
    }
    match &property.kind {
        PropertyKind::Invariant(_)
        | PropertyKind::Cover(Some(_))
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::NoFaults
        | PropertyKind::Assume(_)
        | PropertyKind::Bound
        | PropertyKind::Assertion
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Deadlock(
            DeadlockKind::Stuck | DeadlockKind::StuckUnless(_) | DeadlockKind::Timelock,
        )
        | PropertyKind::Temporal(Logic::Tctl, _) => Ok(()),
        // Without clocks such a formula speaks of steps. Read in dense time, where a run may wait for ever, it would be
        // another formula.
        PropertyKind::Temporal(Logic::Ctl, _) if !model.has_clocks() => {
            lacks("formulas of branching time in a model without clocks")
        }
        PropertyKind::Temporal(Logic::Ctl, _) => Ok(()),
        PropertyKind::Temporal(Logic::Ltl, _) => lacks("a temporal formula of linear time"),
        PropertyKind::Deadlock(DeadlockKind::Stuttering) => lacks("stuttering deadlocks"),
        PropertyKind::Cover(None) => lacks("covers inside of steps"),
        PropertyKind::Extreme(_) => lacks(property.kind.asks().words()),
        PropertyKind::Unclear(why) => lacks(why),
    }
}

/// Says what the engine lacks before it starts.
fn support(model: &Model, job: &Job) -> Result<(), Unsupported> {
    job.properties.iter().try_for_each(|property| supports(model, *property))
}

/// The place of the undecided property that a fault violates: its own if it is an assertion's, else that nothing faults.
fn blamed(model: &Model, job: &Job, kind: &FaultKind, results: &[Option<Verdict>]) -> Option<usize> {
    let answers = |id: &PropertyId| match kind {
        FaultKind::Assertion(property) => id == property,
        _ => model.properties[*id].kind == PropertyKind::NoFaults,
    };
    job.properties.iter().position(answers).filter(|position| results[*position].is_none())
}

/// Whether it is asked that nothing faults, and not decided.
fn asks_faults(model: &Model, job: &Job, results: &[Option<Verdict>]) -> bool {
    let asks = |id: &PropertyId| model.properties[*id].kind == PropertyKind::NoFaults;
    job.properties.iter().position(asks).is_some_and(|position| results[position].is_none())
}

/// A property is violated.
fn report(
    property: PropertyId,
    violation: Violation,
    observer: &mut dyn Observer,
    result: &mut Option<Verdict>,
) {
    // What cannot be shown may turn out to be none: see the module `any`.
    if violation.trace.is_some() || matches!(violation.reason, Reason::Fault(During::Start(..), _)) {
        observer.violation(property, &violation);
    }
    *result = Some(Verdict::Violated(Box::new(violation)));
}

impl<'m> ZoneSearch<'m> {
    pub(crate) fn new(steps: ZoneSteps<'m>) -> Self {
        let rules = steps.model.rules.len();
        ZoneSearch {
            steps,
            kept: Vec::new(),
            index: HashMap::new(),
            transitions: 0,
            fired: vec![0; rules],
            fresh: vec![0; rules],
            bytes: 0,
            began: Instant::now(),
            fails: false,
        }
    }

    /// Whether a step fails. Where numbers from some on are not told apart, it may be none of the model.
    pub(crate) fn failing(&self) -> Failing {
        match (self.fails, self.steps.counting.cut) {
            (false, _) => Failing::Nothing,
            (true, None) => Failing::Step,
            (true, Some(cut)) => Failing::Open(None, StopReason::Counts(cut)),
        }
    }

    /// Keeps a state unless one that is kept includes it. States that it includes are kept no longer.
    pub(crate) fn keep(&mut self, state: ZoneState, from: Option<usize>, ordinal: usize) -> bool {
        let bucket = self.index.entry(state.key()).or_default();
        if bucket.iter().any(|other| self.kept[*other as usize].state.zone.includes(&state.zone)) {
            return false;
        }
        let kept = &mut self.kept;
        bucket.retain(|other| {
            let covered = state.zone.includes(&kept[*other as usize].state.zone);
            kept[*other as usize].covered |= covered;
            !covered
        });
        bucket.push(kept.len() as u32);
        let depth = from.map_or(0, |from| kept[from].depth + 1);
        let words = 2 * state.globals.len()
            + state.classes.iter().map(|class| 2 * class.cells.len() + 10).sum::<usize>()
            + 20;
        self.bytes += (8 * words + 4 * state.zone.dim() * state.zone.dim()) as u64;
        self.kept.push(KeptState { state, from, ordinal, depth, covered: false });
        true
    }

    /// Searches until all is seen, or all that is asked is known, or a limit is reached: what was found until then stays.
    pub(crate) fn run(
        &mut self,
        job: &Job,
        observer: &mut dyn Observer,
        results: &mut [Option<Verdict>],
    ) -> Result<SearchFinish, Unsupported> {
        self.explore(job, observer, results).or_else(|halt| halt.reason().map(SearchFinish::Stopped))
    }

    fn explore(
        &mut self,
        job: &Job,
        observer: &mut dyn Observer,
        results: &mut [Option<Verdict>],
    ) -> Result<SearchFinish, TctlHalt> {
        self.start(job, observer, results)?;
        let mut next = 0;
        let mut looked = Instant::now();
        let mut stored_at_violation = None;
        while next < self.kept.len() {
            if !self.kept[next].covered {
                self.judge(next, job, observer, results)?;
                let violated = |it: &Option<Verdict>| matches!(it, Some(Verdict::Violated(_)));
                if stored_at_violation.is_none() && results.iter().any(violated) {
                    stored_at_violation = Some(self.kept.len() as u64);
                }
                if !results.is_empty() && results.iter().all(Option::is_some) {
                    return Ok(SearchFinish::Decided);
                }
                for rule in self.steps.model.rules.ids() {
                    for faulting in self.expand(next, rule)? {
                        self.step_faults(next, &faulting, job, observer, results)?;
                    }
                }
            }
            next += 1;
            if let Some(reason) = self.limit(job, observer, next, stored_at_violation, &mut looked) {
                return Ok(SearchFinish::Stopped(reason));
            }
        }
        Ok(SearchFinish::All)
    }

    /// Keeps the states that the starts lead to.
    fn start(
        &mut self,
        job: &Job,
        observer: &mut dyn Observer,
        results: &mut [Option<Verdict>],
    ) -> Result<(), TctlHalt> {
        for ordinal in 0.. {
            let (mut found, mut faults) = (Vec::new(), Vec::new());
            let steps = &self.steps;
            let more = steps.start_with(ordinal, false, &mut |machine, end| match end {
                RunEnd::State => found.push(machine.state.clone()),
                RunEnd::GuardFault(fault) | RunEnd::Fault(fault) => {
                    let args = trace::parameters(steps, machine, true, ordinal);
                    let during = During::Start(steps.start_of(ordinal), args, machine.choices.clone());
                    faults.push((during, fault));
                }
            })?;
            if !more {
                break;
            }
            // Starts in one blank state are told apart by their place in the list.
            for (at, state) in found.into_iter().enumerate() {
                let state = self.steps.settled(state)?;
                self.keep(state, None, trace::ordinal(ordinal, at));
            }
            for (during, fault) in faults {
                self.fails = true;
                if let Some(position) = blamed(self.steps.model, job, &fault.kind, results) {
                    let violation = Violation { reason: Reason::Fault(during, fault), trace: None };
                    report(job.properties[position], violation, observer, &mut results[position]);
                }
            }
        }
        Ok(())
    }

    /// Takes all steps of a rule. Gives those that fault.
    fn expand(&mut self, from: usize, rule: RuleId) -> Result<Vec<Faulting>, TctlHalt> {
        let (mut found, mut faults) = (Vec::new(), Vec::new());
        self.steps.fire(&self.kept[from].state, rule, false, &mut |machine, end| match end {
            RunEnd::State => found.push(machine.state.clone()),
            RunEnd::GuardFault(fault) | RunEnd::Fault(fault) => {
                faults.push(Faulting { rule, nth: faults.len(), kind: fault.kind });
            }
        })?;
        for (at, state) in found.into_iter().enumerate() {
            self.transitions += 1;
            self.fired[rule.index()] += 1;
            let state = self.steps.settled(state)?;
            if self.keep(state, Some(from), trace::ordinal(rule.index(), at)) {
                self.fresh[rule.index()] += 1;
            }
        }
        Ok(faults)
    }

    /// A step of a kept state faults: that violates a property.
    fn step_faults(
        &mut self,
        at: usize,
        faulting: &Faulting,
        job: &Job,
        observer: &mut dyn Observer,
        results: &mut [Option<Verdict>],
    ) -> Result<(), TctlHalt> {
        self.fails = true;
        let Some(position) = blamed(self.steps.model, job, &faulting.kind, results) else { return Ok(()) };
        let violation = match self.steps.counting.cut {
            // As for a condition that is false.
            Some(_) => Violation { reason: Reason::ConditionFalse, trace: None },
            None => trace::to_fault(self, at, faulting)?,
        };
        report(job.properties[position], violation, observer, &mut results[position]);
        Ok(())
    }

    /// Evaluates the properties in a state.
    fn judge(
        &mut self,
        at: usize,
        job: &Job,
        observer: &mut dyn Observer,
        results: &mut [Option<Verdict>],
    ) -> Result<(), TctlHalt> {
        for (position, property) in job.properties.iter().enumerate() {
            let kind = &self.steps.model.properties[*property].kind;
            // What is decided may still fault.
            let faults_matter = asks_faults(self.steps.model, job, results)
                && matches!(kind, PropertyKind::Invariant(_) | PropertyKind::Cover(Some(_)));
            if results[position].is_some() && !faults_matter {
                continue;
            }
            let (condition, wanted): (&Condition, bool) = match kind {
                PropertyKind::Invariant(condition) => (condition, false),
                PropertyKind::Cover(Some(condition)) => (condition, true),
                PropertyKind::Deadlock(kind) => {
                    if let Some(violation) = super::deadlock::find(self, at, kind)? {
                        report(*property, violation, observer, &mut results[position]);
                    }
                    continue;
                }
                PropertyKind::CoverDeadlock(condition) => {
                    if super::deadlock::covers(self, at, condition)? {
                        results[position] = Some(Verdict::Holds);
                    }
                    continue;
                }
                PropertyKind::NoFaults
                | PropertyKind::Assertion
                | PropertyKind::Bound
                | PropertyKind::Assume(_) => continue,
                PropertyKind::Extreme(_)
                | PropertyKind::Unclear(_)
                | PropertyKind::Cover(None)
                | PropertyKind::AlwaysPossible(_)
                | PropertyKind::Temporal(..) => {
                    return unsupported("this property among those of single states", None);
                }
            };
            let state = &self.kept[at].state;
            let judged = self.steps.judge(state, condition, wanted)?;
            let possible = |way: &&Vec<Constraint>| state.zone.clone().constrain_all(way.iter().copied());
            let way = judged.ways.iter().find(possible).filter(|_| results[position].is_none());
            if let Some(way) = way {
                // That something can be reached is shown as well: a run for which there are no times is none.
                let violation = self.shown(at, Reason::ConditionFalse, way)?;
                match wanted {
                    true => results[position] = Some(Verdict::Holds),
                    false => report(*property, violation, observer, &mut results[position]),
                }
            }
            let faults = judged.faults.iter().find(|(_, way)| possible(&way));
            if let Some((fault, way)) = faults {
                let reason = Reason::Fault(During::Property(*property), fault.clone());
                // An invariant that cannot be evaluated does not hold.
                let own = (!wanted && results[position].is_none()).then_some(position);
                let to_blame = blamed(self.steps.model, job, &fault.kind, results);
                for position in own.into_iter().chain(to_blame) {
                    let violation = self.shown(at, reason.clone(), way)?;
                    report(job.properties[position], violation, observer, &mut results[position]);
                }
            }
        }
        Ok(())
    }

    /// A violation in a state, where constraints on its clocks hold.
    fn shown(&self, at: usize, reason: Reason, constraints: &[Constraint]) -> Result<Violation, TctlHalt> {
        // Elements have changed places on the way: who wants to see it searches among those with names.
        if self.steps.folds() {
            return Ok(Violation { reason, trace: None });
        }
        Ok(match self.steps.counting.cut {
            // In a state of no definite number of elements there is nothing to run again.
            Some(_) => Violation { reason: Reason::ConditionFalse, trace: None },
            None => {
                let (trace, rest) = trace::rebuild(self, at, constraints, false)?;
                Violation { reason: reason.after(rest), trace: Some(trace) }
            }
        })
    }

    fn limit(
        &self,
        job: &Job,
        observer: &mut dyn Observer,
        next: usize,
        stored: Option<u64>,
        looked: &mut Instant,
    ) -> Option<StopReason> {
        let (limits, states) = (job.limits(), self.kept.len() as u64);
        if let Some(limit) = limits.states.filter(|limit| states > *limit) {
            return Some(StopReason::States(limit));
        }
        if let Some(limit) = limits.memory.filter(|limit| self.bytes > *limit) {
            return Some(StopReason::Memory(limit));
        }
        if let Some(limit) = limits.depth.filter(|limit| u64::from(self.kept[next - 1].depth) > *limit) {
            return Some(StopReason::Depth(limit));
        }
        if let (Some(patience), Some(stored)) = (job.patience, stored)
            && states > stored + patience
        {
            return Some(StopReason::OtherViolation);
        }
        let elapsed = self.began.elapsed();
        if let Err(reason) = job.watch.check() {
            return Some(reason);
        }
        if looked.elapsed() > Duration::from_millis(200) {
            *looked = Instant::now();
            observer.progress(&Progress {
                states,
                transitions: self.transitions,
                frontier: states - next as u64,
                depth: self.kept[next - 1].depth.into(),
                memory_bytes: self.bytes,
                elapsed,
            });
        }
        None
    }

    pub(crate) fn statistics(&self, exhaustive: bool, lumped: &[SortId]) -> Statistics {
        let current = || self.kept.iter().filter(|kept| !kept.covered);
        let sorts = self.steps.model.sorts.len();
        let full = current().try_fold(0_u128, |sum, kept| sum.checked_add(kept.state.orbit(sorts)?));
        let depth = self.kept.iter().map(|kept| kept.depth).max().unwrap_or(0);
        let mut levels = vec![0; depth as usize + 1];
        self.kept.iter().for_each(|kept| levels[kept.depth as usize] += 1);
        Statistics {
            engine: shoal_tctl::ENGINE,
            reductions: if lumped.is_empty() {
                Vec::new()
            } else {
                vec![Reduction::Symmetry(lumped.to_vec())]
            },
            exhaustive,
            states: current().count() as u64,
            states_full: full,
            transitions: self.transitions,
            depth: Some(depth.into()),
            levels,
            fired: self.fired.clone(),
            fresh: self.fresh.clone(),
            time: self.began.elapsed(),
            memory_bytes: self.bytes,
            state_bits: 0,
            compiled: false,
            threads: 1,
            ..Statistics::default()
        }
    }
}
