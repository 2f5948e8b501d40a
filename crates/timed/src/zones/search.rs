//! Breadth-first search of lumped zones.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use shoal_model::{
    Condition, DeadlockKind, Job, Model, Observer, Outcome, Progress, PropertyId, PropertyKind,
    PropertyResult, Reason, Reduction, RuleId, SortId, Statistics, StopReason, TypedId, Unsupported, Verdict,
    Violation,
};

use super::{
    layout::{can_class, can_lump, unsupported},
    machine::{Machine, Stop},
    state::{Counting, State},
    steps::{Steps, Trouble},
    trace,
};

/// A state that is kept.
pub(crate) struct Kept {
    pub(crate) state: State,
    /// Where it comes from: the state before and the number of the step among its steps; or the number of the start.
    pub(crate) from: Option<usize>,
    pub(crate) ordinal: usize,
    depth: u32,
    /// Whether another state includes it.
    pub(crate) covered: bool,
}

/// A search.
pub(crate) struct Search<'m> {
    pub(crate) steps: Steps<'m>,
    pub(crate) kept: Vec<Kept>,
    index: HashMap<Vec<i64>, Vec<u32>>,
    transitions: u64,
    fired: Vec<u64>,
    fresh: Vec<u64>,
    bytes: u64,
    began: Instant,
}

/// How a search ended.
pub(crate) enum End {
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
    let temporal = |id: &PropertyId| crate::tctl::is_temporal(&model.properties[*id].kind);
    let (temporal, states): (Vec<PropertyId>, Vec<PropertyId>) =
        job.properties.iter().copied().partition(temporal);
    if temporal.is_empty() {
        return check_states(model, job, options, observer);
    }
    let mut outcome = crate::tctl::check(model, &Job { properties: temporal, ..job.clone() }, observer)?;
    if !states.is_empty() {
        let mut others = check_states(model, &Job { properties: states, ..job.clone() }, options, observer)?;
        others.results.append(&mut outcome.results);
        others.statistics.time += outcome.statistics.time;
        outcome = others;
    }
    let place = |id: PropertyId| job.properties.iter().position(|it| *it == id);
    outcome.results.sort_by_key(|result| place(result.property));
    Ok(outcome)
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
        matches!(model.properties[*property].kind, PropertyKind::Deadlock(DeadlockKind::StuckUnless(_)))
    };
    let named = job.properties.iter().any(conditional)
        || asks_deadlock(model, job) && !super::deadlock::can_lump(model);
    let lumps = |sort: &SortId| {
        !named && job.symmetric.contains(sort) && can_class(model, *sort) && can_lump(model, *sort)
    };
    let lumped: Vec<SortId> = model.sorts.ids().filter(lumps).collect();
    search_with(model, job, &lumped, Counting { cut: None }, options, observer)
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
    let mut search = Search::new(steps(model, lumped, counting, options)?);
    search.steps.futures = asks_deadlock(model, job);
    let mut results: Vec<Option<Verdict>> = vec![None; job.properties.len()];
    let end = search.run(job, observer, &mut results)?;
    let (exhaustive, stop) = match end {
        End::All => (true, None),
        End::Decided => (false, None),
        End::Stopped(reason) => (false, Some(reason)),
    };
    let mut outcome = Outcome { results: Vec::new(), statistics: search.statistics(exhaustive, lumped) };
    for (position, property) in job.properties.iter().enumerate() {
        let covers = matches!(model.properties[*property].kind, PropertyKind::Cover(_));
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

fn asks_deadlock(model: &Model, job: &Job) -> bool {
    let deadlock =
        |property: &PropertyId| matches!(model.properties[*property].kind, PropertyKind::Deadlock(_));
    job.properties.iter().any(deadlock)
}

/// The steps of a model with some sorts lumped.
fn steps<'m>(
    model: &'m Model,
    lumped: &[SortId],
    counting: Counting,
    options: Options,
) -> Result<Steps<'m>, Unsupported> {
    let classes: Vec<SortId> = model.sorts.ids().filter(|sort| can_class(model, *sort)).collect();
    Steps::new(model, &classes, pinned(model, lumped), counting, !options.coarse)
}

/// The steps of a model in which every element has its name.
pub(crate) fn steps_by_name(model: &Model) -> Result<Steps<'_>, Unsupported> {
    steps(model, &[], Counting { cut: None }, Options::default())
}

/// The same; elements of some sorts change places if the model does not name them.
pub(crate) fn steps_folded<'m>(model: &'m Model, sorts: &[SortId]) -> Result<Steps<'m>, Unsupported> {
    let mut steps = steps_by_name(model)?;
    let symmetry = shoal_analysis::symmetry(model);
    for sort in sorts.iter().filter(|sort| can_class(model, **sort) && can_lump(model, **sort)) {
        let named = &symmetry.sorts[*sort].pinned;
        let all = 0..model.sorts[*sort].fixed_size().unwrap_or(0);
        steps.free[sort.index()] = all.filter(|element| !named.contains(element)).collect();
    }
    Ok(steps)
}

/// The elements that are told apart, by sort: those that the model names, or all.
fn pinned(model: &Model, lumped: &[SortId]) -> Vec<Vec<u32>> {
    let symmetry = shoal_analysis::symmetry(model);
    let of = |sort: SortId| match lumped.contains(&sort) {
        true => symmetry.sorts[sort].pinned.iter().copied().collect(),
        false => (0..model.sorts[sort].fixed_size().unwrap_or(0)).collect(),
    };
    model.sorts.ids().map(of).collect()
}

/// Says what the engine lacks before it starts.
fn support(model: &Model, job: &Job) -> Result<(), Unsupported> {
    for property in &job.properties {
        let property = &model.properties[*property];
        match &property.kind {
            PropertyKind::Invariant(_)
            | PropertyKind::Cover(Some(_))
            | PropertyKind::NoFaults
            | PropertyKind::Assume(_)
            | PropertyKind::Bound
            | PropertyKind::Assertion => {}
            PropertyKind::Deadlock(DeadlockKind::Stuck | DeadlockKind::StuckUnless(_)) => {}
            PropertyKind::Deadlock(DeadlockKind::Stuttering) => {
                return unsupported("stuttering deadlocks", Some(property.span));
            }
            PropertyKind::Cover(None) => return unsupported("covers inside of steps", Some(property.span)),
            kind if crate::tctl::is_temporal(kind) => {}
            _ => return unsupported("a temporal formula of linear time", Some(property.span)),
        }
    }
    Ok(())
}

impl<'m> Search<'m> {
    pub(crate) fn new(steps: Steps<'m>) -> Self {
        let rules = steps.model.rules.len();
        Search {
            steps,
            kept: Vec::new(),
            index: HashMap::new(),
            transitions: 0,
            fired: vec![0; rules],
            fresh: vec![0; rules],
            bytes: 0,
            began: Instant::now(),
        }
    }

    /// Keeps a state unless one that is kept includes it. States that it includes are kept no longer.
    pub(crate) fn keep(&mut self, state: State, from: Option<usize>, ordinal: usize) -> bool {
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
        self.kept.push(Kept { state, from, ordinal, depth, covered: false });
        true
    }

    pub(crate) fn run(
        &mut self,
        job: &Job,
        observer: &mut dyn Observer,
        results: &mut [Option<Verdict>],
    ) -> Result<End, Unsupported> {
        let mut ordinal = 0;
        loop {
            let mut found = Vec::new();
            let more =
                self.steps.start_with(ordinal, false, &mut |machine| found.push(machine.state.clone()));
            match more {
                Ok(true) => {}
                Ok(false) => break,
                Err(trouble) => return self.trouble(trouble),
            }
            // Starts in one blank state are told apart by their place in the list.
            for (at, state) in found.into_iter().enumerate() {
                let state = self.settled(state)?;
                self.keep(state, None, trace::ordinal(ordinal, at));
            }
            ordinal += 1;
        }
        let mut next = 0;
        let mut looked = Instant::now();
        let mut stored_at_violation = None;
        while next < self.kept.len() {
            if !self.kept[next].covered {
                self.judge(next, job, observer, results)?;
                if results.iter().any(Option::is_some) && stored_at_violation.is_none() {
                    stored_at_violation = Some(self.kept.len() as u64);
                }
                if !results.is_empty() && results.iter().all(Option::is_some) {
                    return Ok(End::Decided);
                }
                for rule in self.steps.model.rules.ids() {
                    self.expand(next, rule)?;
                }
            }
            next += 1;
            if next % 64 == 0
                && let Some(reason) = self.limit(job, observer, next, stored_at_violation, &mut looked)
            {
                return Ok(End::Stopped(reason));
            }
        }
        Ok(End::All)
    }

    /// Lets time pass and makes the state one of those that are kept.
    pub(crate) fn settled(&self, state: State) -> Result<State, Unsupported> {
        let mut machine =
            Machine::new(self.steps.model, &self.steps.layout, self.steps.counting, state, Vec::new());
        self.steps.elapse(&mut machine)?;
        let mut state = machine.state;
        self.steps.settle(&mut state);
        Ok(state)
    }

    fn expand(&mut self, from: usize, rule: RuleId) -> Result<(), Unsupported> {
        let mut found = Vec::new();
        let fired = self
            .steps
            .fire(&self.kept[from].state, rule, false, &mut |machine| found.push(machine.state.clone()));
        if let Err(trouble) = fired {
            return self.trouble(trouble);
        }
        for (at, state) in found.into_iter().enumerate() {
            self.transitions += 1;
            self.fired[rule.index()] += 1;
            let state = self.settled(state)?;
            if self.keep(state, Some(from), trace::ordinal(rule.index(), at)) {
                self.fresh[rule.index()] += 1;
            }
        }
        Ok(())
    }

    /// Evaluates the properties in a state.
    fn judge(
        &mut self,
        at: usize,
        job: &Job,
        observer: &mut dyn Observer,
        results: &mut [Option<Verdict>],
    ) -> Result<(), Unsupported> {
        for (position, property) in job.properties.iter().enumerate() {
            if results[position].is_some() {
                continue;
            }
            let (condition, wanted): (&Condition, bool) = match &self.steps.model.properties[*property].kind {
                PropertyKind::Invariant(condition) => (condition, false),
                PropertyKind::Cover(Some(condition)) => (condition, true),
                PropertyKind::Deadlock(kind) => {
                    if let Some(violation) = super::deadlock::find(self, at, kind)? {
                        observer.violation(*property, &violation);
                        results[position] = Some(Verdict::Violated(Box::new(violation)));
                    }
                    continue;
                }
                _ => continue,
            };
            let Some(constraints) = self.satisfiable(at, condition, wanted)? else { continue };
            results[position] = Some(if wanted {
                Verdict::Holds
            } else {
                let violation = match self.steps.counting.cut {
                    // In a state of no definite number of elements there is nothing to run again.
                    Some(_) => Violation { reason: Reason::ConditionFalse, trace: None },
                    None => {
                        let (trace, rest) = trace::rebuild(self, at, &constraints, false)?;
                        Violation { reason: Reason::ConditionFalse.after(rest), trace: Some(trace) }
                    }
                };
                if violation.trace.is_some() {
                    observer.violation(*property, &violation);
                }
                Verdict::Violated(Box::new(violation))
            });
        }
        Ok(())
    }

    /// Constraints under which a condition has a truth value in a state, if there are clock values that satisfy them.
    pub(crate) fn satisfiable(
        &self,
        at: usize,
        condition: &Condition,
        wanted: bool,
    ) -> Result<Option<Vec<crate::dbm::Constraint>>, Unsupported> {
        let state = &self.kept[at].state;
        let steps = &self.steps;
        let mut machine = Machine::new(steps.model, &steps.layout, steps.counting, state.clone(), Vec::new());
        match machine.condition(condition, wanted) {
            Ok(ways) => {
                Ok(ways.into_iter().find(|way| state.zone.clone().constrain_all(way.iter().copied())))
            }
            Err(Stop::Unsupported(unsupported)) => Err(unsupported),
            Err(Stop::Fault(fault)) => {
                unsupported(format!("a condition that faults: {}", fault.kind), Some(fault.span))
            }
            Err(Stop::NoRun) => Ok(None),
        }
    }

    /// A fault, or something that the engine lacks.
    pub(crate) fn trouble<T>(&self, trouble: Trouble) -> Result<T, Unsupported> {
        let wrong = match trouble {
            Trouble::Unsupported(unsupported) => return Err(unsupported),
            Trouble::Wrong(wrong) => wrong,
        };
        unsupported(format!("a step that faults: {}", wrong.fault.kind), Some(wrong.fault.span))
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
            engine: super::layout::ENGINE,
            reductions: if lumped.is_empty() {
                Vec::new()
            } else {
                vec![Reduction::Symmetry(lumped.to_vec())]
            },
            exhaustive,
            states: current().count() as u64,
            states_full: full,
            transitions: self.transitions,
            depth: depth.into(),
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
