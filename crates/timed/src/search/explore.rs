//! Breadth-first search of lumped zones. States are looked at by any thread (`look`, `crew`), but what is seen in them is taken in
//! in the order in which they were found: so what is kept, counted and told does not depend on the number of threads.

use std::time::{Duration, Instant};

use shoal_dbm::Constraint;
use shoal_model::{
    During, Failing, Job, Observer, Progress, PropertyId, PropertyKind, Reason, Reduction, SortId,
    Statistics, StopReason, TypedId, Unsupported, Verdict, Violation,
};
use shoal_tctl::TctlHalt;

use super::{
    Faulting, crew,
    kept::KeptZones,
    look::{SeenSteps, ZoneSight, ZoneSightKind, blamed},
};
use crate::{
    deadlock,
    state::ZoneState,
    steps::{RunEnd, ZoneSteps},
    trace,
};

/// A search.
pub(crate) struct ZoneSearch<'m> {
    pub(crate) steps: ZoneSteps<'m>,
    pub(crate) kept: KeptZones,
    /// What is decided of the properties of the job.
    pub(crate) results: Vec<Option<Verdict>>,
    transitions: u64,
    fired: Vec<u64>,
    fresh: Vec<u64>,
    began: Instant,
    /// When progress was last told.
    told: Instant,
    /// How many states there were when the first violation was found.
    stored_at_violation: Option<u64>,
    /// Whether some step or start fails.
    pub(crate) fails: bool,
    /// How many threads searched.
    pub(super) threads: usize,
}

/// How a search ended.
pub(crate) enum SearchFinish {
    All,
    /// Everything that was asked is known before all was seen.
    Decided,
    Stopped(StopReason),
}

impl<'m> ZoneSearch<'m> {
    pub(crate) fn new(steps: ZoneSteps<'m>, job: &Job) -> Self {
        let rules = steps.model.rules.len();
        let now = Instant::now();
        ZoneSearch {
            steps,
            kept: KeptZones::default(),
            results: vec![None; job.properties.len()],
            transitions: 0,
            fired: vec![0; rules],
            fresh: vec![0; rules],
            began: now,
            told: now,
            stored_at_violation: None,
            fails: false,
            threads: 1,
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

    /// Searches until all is seen, or all that is asked is known, or a limit is reached: what was found until then stays.
    pub(crate) fn run(
        &mut self,
        job: &Job,
        observer: &mut dyn Observer,
    ) -> Result<SearchFinish, Unsupported> {
        let started = self.start(job, observer);
        let ended = started.and_then(|()| crew::explore(self, job, observer));
        ended.or_else(|halt| halt.reason().map(SearchFinish::Stopped))
    }

    /// Keeps the states that the starts lead to.
    fn start(&mut self, job: &Job, observer: &mut dyn Observer) -> Result<(), TctlHalt> {
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
                self.start_in(state, trace::ordinal(ordinal, at))?;
            }
            for (during, fault) in faults {
                self.fails = true;
                if let Some(position) = blamed(self.steps.model, job, &fault.kind, &self.results) {
                    let violation = Violation { reason: Reason::Fault(during, fault), trace: None };
                    self.report(job.properties[position], position, violation, observer);
                }
            }
        }
        Ok(())
    }

    /// Keeps a state that a start has just led to.
    fn start_in(&mut self, state: ZoneState, ordinal: usize) -> Result<(), TctlHalt> {
        if let Some(reached) = self.kept.look_up(self.steps.settled(state)?) {
            self.kept.keep(reached, None, ordinal);
        }
        Ok(())
    }

    /// Takes in what a state says of the properties. Whether all that is asked is decided then.
    pub(super) fn take_sights(
        &mut self,
        at: usize,
        sights: Vec<ZoneSight>,
        job: &Job,
        observer: &mut dyn Observer,
    ) -> Result<bool, TctlHalt> {
        for sight in sights {
            self.tell(at, sight, job, observer)?;
        }
        let violated = |it: &Option<Verdict>| matches!(it, Some(Verdict::Violated(_)));
        if self.stored_at_violation.is_none() && self.results.iter().any(violated) {
            self.stored_at_violation = Some(self.kept.len() as u64);
        }
        Ok(!self.results.is_empty() && self.results.iter().all(Option::is_some))
    }

    /// Takes in the steps of a state, and leaves room for those of another.
    pub(super) fn take_steps(
        &mut self,
        at: usize,
        seen: &mut SeenSteps,
        job: &Job,
        observer: &mut dyn Observer,
    ) -> Result<(), TctlHalt> {
        for (rule, count) in seen.fired.drain(..) {
            self.transitions += count;
            self.fired[rule.index()] += count;
        }
        for (rule, ordinal, reached) in seen.reached.drain(..) {
            if self.kept.keep(reached, Some(at), ordinal) {
                self.fresh[rule.index()] += 1;
            }
        }
        for faulting in seen.faults.drain(..) {
            self.step_faults(at, &faulting, job, observer)?;
        }
        seen.halt.take().map_or(Ok(()), Err)
    }

    /// A step of a kept state faults: that violates a property.
    fn step_faults(
        &mut self,
        at: usize,
        faulting: &Faulting,
        job: &Job,
        observer: &mut dyn Observer,
    ) -> Result<(), TctlHalt> {
        self.fails = true;
        let Some(position) = blamed(self.steps.model, job, &faulting.kind, &self.results) else {
            return Ok(());
        };
        let violation = match self.steps.counting.cut {
            // As for a condition that is false.
            Some(_) => Violation { reason: Reason::ConditionFalse, trace: None },
            None => trace::to_fault(self, at, faulting)?,
        };
        self.report(job.properties[position], position, violation, observer);
        Ok(())
    }

    /// A property is violated.
    fn report(
        &mut self,
        property: PropertyId,
        position: usize,
        violation: Violation,
        observer: &mut dyn Observer,
    ) {
        // What cannot be shown may turn out to be none: see the module `any`.
        if violation.trace.is_some() || matches!(violation.reason, Reason::Fault(During::Start(..), _)) {
            observer.violation(property, &violation);
        }
        self.results[position] = Some(Verdict::Violated(Box::new(violation)));
    }

    /// Takes in what a kept state says of a property, unless that is decided.
    fn tell(
        &mut self,
        at: usize,
        ZoneSight { position, what }: ZoneSight,
        job: &Job,
        observer: &mut dyn Observer,
    ) -> Result<(), TctlHalt> {
        let (property, open) = (job.properties[position], self.results[position].is_none());
        let covers = matches!(self.steps.model.properties[property].kind, PropertyKind::Cover(_));
        match what {
            ZoneSightKind::Way(_) | ZoneSightKind::Deadlock(_) | ZoneSightKind::CoversDeadlock if !open => {}
            ZoneSightKind::Way(way) => {
                // That something can be reached is shown as well: a run for which there are no times is none.
                let violation = self.shown(at, Reason::ConditionFalse, &way)?;
                match covers {
                    true => self.results[position] = Some(Verdict::Holds),
                    false => self.report(property, position, violation, observer),
                }
            }
            ZoneSightKind::Fault(fault, way) => {
                let reason = Reason::Fault(During::Property(property), fault.clone());
                // An invariant that cannot be evaluated does not hold.
                let own = (!covers && open).then_some(position);
                let to_blame = blamed(self.steps.model, job, &fault.kind, &self.results);
                for position in own.into_iter().chain(to_blame) {
                    let violation = self.shown(at, reason.clone(), &way)?;
                    self.report(job.properties[position], position, violation, observer);
                }
            }
            ZoneSightKind::Deadlock(zone) => {
                let violation = deadlock::shown(self, at, &zone)?;
                self.report(property, position, violation, observer);
            }
            ZoneSightKind::CoversDeadlock => self.results[position] = Some(Verdict::Holds),
        }
        Ok(())
    }

    /// A violation in a state, where constraints on its clocks hold.
    pub(super) fn shown(
        &self,
        at: usize,
        reason: Reason,
        constraints: &[Constraint],
    ) -> Result<Violation, TctlHalt> {
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

    /// Why to go no further than the first so many states, if there is a reason.
    pub(super) fn limit(
        &mut self,
        job: &Job,
        observer: &mut dyn Observer,
        next: usize,
    ) -> Option<StopReason> {
        let (limits, states) = (job.limits(), self.kept.len() as u64);
        let depth = u64::from(self.kept[next - 1].depth);
        if let Some(limit) = limits.states.filter(|limit| states > *limit) {
            return Some(StopReason::States(limit));
        }
        if let Some(limit) = limits.memory.filter(|limit| self.kept.bytes() > *limit) {
            return Some(StopReason::Memory(limit));
        }
        if let Some(limit) = limits.depth.filter(|limit| depth > *limit) {
            return Some(StopReason::Depth(limit));
        }
        if let (Some(patience), Some(stored)) = (job.patience, self.stored_at_violation)
            && states > stored + patience
        {
            return Some(StopReason::OtherViolation);
        }
        if let Err(reason) = job.watch.check() {
            return Some(reason);
        }
        let now = Instant::now();
        if now - self.told > Duration::from_millis(200) {
            self.told = now;
            observer.progress(&Progress {
                states,
                transitions: self.transitions,
                frontier: states - next as u64,
                depth,
                memory_bytes: self.kept.bytes(),
                elapsed: now - self.began,
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
            memory_bytes: self.kept.bytes(),
            state_bits: 0,
            compiled: false,
            threads: self.threads,
            ..Statistics::default()
        }
    }
}
