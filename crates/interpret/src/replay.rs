//! Traces and violations are believed only after they have been run again here.

use std::fmt;

use shoal_model::{
    DeadlockKind, During, Fault, FaultKind, Formula, GuardFaults, Interval, Logic, Model, OrInternal,
    PropertyId, PropertyKind, Ratio, Reason, State, Trace, Violation,
};

use crate::{
    Branch, Firing, Instance, Interpreter, NotRunnable, branching,
    explore::{Reachability, can_reach},
    lasso::Lasso,
    regions,
};

/// How many states [`confirm`] looks at to see that something cannot be reached.
pub const BUDGET: usize = 100_000;

/// Why a trace or a violation is not believed.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplayError {
    /// The model cannot be run at all.
    NotRunnable(NotRunnable),
    /// A step of the trace does not happen.
    Step {
        /// Which: 0 is the start, 1 the first step.
        at: usize,
        /// Why not.
        why: StepError,
    },
    /// The run does not come back to where it is said to go on.
    LoopOpen,
    /// The violation has no trace but needs one, or has one but is of nothing that a trace leads to.
    WrongTrace,
    /// A property cannot be violated for such a reason.
    WrongReason,
    /// The condition holds in the last state.
    ConditionHolds,
    /// What is said to fault does not fault, or cannot happen there.
    NoFault,
    /// It faults in another way.
    OtherFault(Fault),
    /// The last state is no deadlock.
    NotDeadlock,
    /// The formula is true of the run.
    FormulaHolds,
    /// The run is not one of those that the property speaks of: a fairness constraint does not hold again and again.
    Unfair,
    /// A state that satisfies the property can be reached from the last state after all.
    Possible,
    /// So many states were looked at and none satisfies the property, but there are more: not confirmed, and not
    /// refuted.
    NotConfirmed {
        /// The states looked at.
        budget: usize,
    },
}

/// Why a step does not happen.
#[derive(Clone, Debug, PartialEq)]
pub enum StepError {
    /// There is no such start or rule, or not with such arguments.
    NoInstance,
    /// So much time may not pass before it.
    NoDelay(Ratio),
    /// Its guard does not hold.
    Disabled,
    /// Its guard faults.
    GuardFaults(Fault),
    /// An enabled rule goes first.
    Priority,
    /// Its choices cannot be made so.
    WrongChoices,
    /// It faults.
    Faults(Fault),
    /// An assumption in its body fails.
    Discarded,
    /// It leads to another state, this one.
    OtherState(Box<State>),
    /// An assumption of the model drops the state it leads to.
    Dropped(PropertyId),
}

impl From<NotRunnable> for ReplayError {
    fn from(error: NotRunnable) -> Self {
        ReplayError::NotRunnable(error)
    }
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::NotRunnable(error) => error.fmt(f),
            ReplayError::Step { at: 0, why } => write!(f, "the start does not happen: {why}"),
            ReplayError::Step { at, why } => write!(f, "step {at} does not happen: {why}"),
            ReplayError::LoopOpen => f.write_str("the run does not come back to where it goes on"),
            ReplayError::WrongTrace => f.write_str("the violation needs a trace, or must have none"),
            ReplayError::WrongReason => f.write_str("the property cannot be violated for this reason"),
            ReplayError::ConditionHolds => f.write_str("the condition holds in the last state"),
            ReplayError::NoFault => f.write_str("what is said to fault does not"),
            ReplayError::OtherFault(fault) => write!(f, "there is another fault: {}", fault.kind),
            ReplayError::NotDeadlock => f.write_str("the last state is no deadlock"),
            ReplayError::FormulaHolds => f.write_str("the formula is true of the run"),
            ReplayError::Unfair => f.write_str("the run is not fair"),
            ReplayError::Possible => {
                f.write_str("a state that satisfies the property can be reached from the last state")
            }
            ReplayError::NotConfirmed { budget } => write!(f, "not confirmed within {budget} states"),
        }
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepError::NoInstance => f.write_str("there is no such instance"),
            StepError::NoDelay(delay) => write!(f, "{delay} units of time may not pass before it"),
            StepError::Disabled => f.write_str("its guard does not hold"),
            StepError::GuardFaults(fault) => write!(f, "its guard faults: {}", fault.kind),
            StepError::Priority => f.write_str("a rule of higher priority is enabled"),
            StepError::WrongChoices => f.write_str("its choices cannot be made so"),
            StepError::Faults(fault) => write!(f, "{}", fault.kind),
            StepError::Discarded => f.write_str("an assumption in its body fails"),
            StepError::OtherState(_) => f.write_str("it leads to another state"),
            StepError::Dropped(_) => f.write_str("an assumption of the model drops its state"),
        }
    }
}

impl std::error::Error for ReplayError {}

/// Runs a trace again: every step with the given arguments and choices; the states must be the same.
pub fn replay(model: &Model, trace: &Trace) -> Result<(), ReplayError> {
    let interpreter = Interpreter::new(model)?;
    interpreter.replay(trace, interpreter.has_clocks())
}

/// Replays the trace of a violation, then checks that its reason really holds at the end of it.
///
/// That a cover is never reached has no trace and is not checked. That something is not possible any more is
/// checked by looking at up to [`BUDGET`] states.
pub fn confirm(model: &Model, property: PropertyId, violation: &Violation) -> Result<(), ReplayError> {
    confirm_within(model, property, violation, BUDGET)
}

/// The same as [`confirm`] with another budget.
pub fn confirm_within(
    model: &Model,
    property: PropertyId,
    violation: &Violation,
    budget: usize,
) -> Result<(), ReplayError> {
    let interpreter = Interpreter::new(model)?;
    let kind = &model.properties.get(property).ok_or(ReplayError::WrongReason)?.kind;
    if let Some(trace) = &violation.trace {
        let timed = interpreter.has_clocks() || matches!(kind, PropertyKind::Temporal(Logic::Tctl, _));
        interpreter.replay(trace, timed)?;
    }
    let last = violation.trace.as_ref().map(Trace::last);
    let (reason, delay) = match &violation.reason {
        Reason::After(delay, reason) => (reason.as_ref(), *delay),
        reason => (reason, Ratio::ZERO),
    };
    let why = StepError::NoDelay(delay);
    let at = violation.trace.as_ref().map_or(0, |trace| trace.steps.len() + 1);
    let later =
        last.map(|last| interpreter.delay(last, delay).ok_or(ReplayError::Step { at, why })).transpose()?;
    let last = later.as_ref();
    match (reason, kind, last) {
        (Reason::NeverCovered, PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_), None) => Ok(()),
        (Reason::Fault(during, fault), _, last) => {
            // A property answers for its own conditions (and a temporal one for those of fairness).
            let own = *during == During::Property(property);
            if !own && fault_property(model, fault) != Some(property) {
                return Err(ReplayError::WrongReason);
            }
            interpreter.confirm_fault(during, fault, last)
        }
        (Reason::ConditionFalse, PropertyKind::Invariant(condition), Some(last)) => {
            match interpreter.holds(last, condition) {
                Ok(false) => Ok(()),
                Ok(true) => Err(ReplayError::ConditionHolds),
                Err(fault) => Err(ReplayError::OtherFault(fault)),
            }
        }
        (Reason::Deadlock, PropertyKind::Deadlock(DeadlockKind::Timelock), Some(last)) => {
            match regions::diverges_from(&interpreter, last, budget)? {
                false => Ok(()),
                true => Err(ReplayError::NotDeadlock),
            }
        }
        (Reason::Deadlock, PropertyKind::Deadlock(deadlock), Some(last)) => {
            match interpreter.is_deadlock_in_time(last, deadlock) {
                Ok(true) => Ok(()),
                Ok(false) => Err(ReplayError::NotDeadlock),
                Err(fault) => Err(ReplayError::OtherFault(fault)),
            }
        }
        (Reason::NotPossible, PropertyKind::AlwaysPossible(condition), Some(last))
            if interpreter.has_clocks() =>
        {
            let goal = Formula::Eventually(Interval::default(), Box::new(Formula::Atom(condition.clone())));
            let possible = Formula::SomePath(Box::new(goal));
            match regions::holds_from(&interpreter, last, &possible, budget)? {
                false => Ok(()),
                true => Err(ReplayError::Possible),
            }
        }
        (Reason::NotPossible, PropertyKind::AlwaysPossible(condition), Some(last)) => {
            match can_reach(&interpreter, last, condition, budget) {
                Reachability::Never => Ok(()),
                Reachability::Reached => Err(ReplayError::Possible),
                Reachability::OutOfBudget => Err(ReplayError::NotConfirmed { budget }),
            }
        }
        (Reason::FormulaFalse, PropertyKind::Temporal(Logic::Ltl, formula), Some(_)) => {
            match violation.trace.as_ref().and_then(Lasso::new) {
                Some(lasso) => lasso.confirm(&interpreter, formula),
                None => Err(ReplayError::WrongTrace),
            }
        }
        (Reason::FormulaFalse, PropertyKind::Temporal(Logic::Ctl, formula), Some(_)) => {
            match &violation.trace {
                Some(trace) => branching::confirm(&interpreter, formula, trace, budget),
                None => Err(ReplayError::WrongTrace),
            }
        }
        (Reason::FormulaFalse, PropertyKind::Temporal(Logic::Tctl, formula), Some(_)) => {
            match &violation.trace {
                Some(trace) => regions::confirm(&interpreter, formula, trace, budget),
                None => Err(ReplayError::WrongTrace),
            }
        }
        (Reason::NeverCovered, PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_), Some(_))
        | (Reason::ConditionFalse, PropertyKind::Invariant(_), None)
        | (Reason::Deadlock, PropertyKind::Deadlock(_), None)
        | (Reason::NotPossible, PropertyKind::AlwaysPossible(_), None) => Err(ReplayError::WrongTrace),
        (
            Reason::NeverCovered
            | Reason::ConditionFalse
            | Reason::Deadlock
            | Reason::NotPossible
            | Reason::FormulaFalse
            | Reason::After(..),
            _,
            _,
        ) => Err(ReplayError::WrongReason),
    }
}

/// The property a fault violates: its own, if it is an assertion's, else the model's `NoFaults`, if it has one.
pub(crate) fn fault_property(model: &Model, fault: &Fault) -> Option<PropertyId> {
    match fault.kind {
        FaultKind::Assertion(property) => Some(property),
        _ => {
            let mut properties = model.properties.enumerate();
            properties.find(|(_, property)| property.kind == PropertyKind::NoFaults).map(|(id, _)| id)
        }
    }
}

impl Interpreter<'_> {
    /// Runs a trace again. In time, a run may wait for ever, and a loop may lead back to a state that no formula tells from the
    /// first.
    fn replay(&self, trace: &Trace, timed: bool) -> Result<(), ReplayError> {
        let fails = |at: usize| move |why: StepError| ReplayError::Step { at, why };

        let last = trace.steps.len();
        self.replay_start(trace, last == 0).map_err(fails(0))?;
        let mut state = &trace.state;
        for (position, step) in trace.steps.iter().enumerate() {
            let at = position + 1;
            let before =
                self.delay(state, step.delay).ok_or(StepError::NoDelay(step.delay)).map_err(fails(at))?;
            let instance = Instance { rule: step.rule, args: step.args.clone() };
            self.may_fire(&before, &instance).map_err(fails(at))?;
            let branch = self.fire_with(&before, &instance, &step.choices);
            self.leads_to(branch, &step.state, at == last).map_err(fails(at))?;
            state = &step.state;
        }
        match trace.loops_to {
            None => Ok(()),
            Some(to) if to < last && trace.states().nth(to) == Some(trace.last()) => Ok(()),
            // With clocks, where no formula can tell them apart; or time passes and nothing else happens.
            Some(to) if to < last && timed => {
                let first = trace.states().nth(to).or_internal("a loop leads to a state of the run");
                self.in_one_region(first, trace.last()).then_some(()).ok_or(ReplayError::LoopOpen)
            }
            Some(to) if to == last && timed => {
                self.can_wait(state).then_some(()).ok_or(ReplayError::LoopOpen)
            }
            // Nothing happens any more: only where nothing can.
            Some(to) if to == last && self.is_deadlock(state, &DeadlockKind::Stuck) == Ok(true) => Ok(()),
            Some(_) => Err(ReplayError::LoopOpen),
        }
    }

    fn replay_start(&self, trace: &Trace, is_last: bool) -> Result<(), StepError> {
        match self.model.starts.get(trace.start) {
            Some(start) if self.fits(&self.model.blank_state(), start, &trace.args) => {}
            _ => return Err(StepError::NoInstance),
        }
        let branch = self.run_start_with(trace.start, &trace.args, &trace.choices);
        self.leads_to(branch, &trace.state, is_last)
    }

    /// Checks that an instance may fire.
    fn may_fire(&self, state: &State, instance: &Instance) -> Result<(), StepError> {
        let rule = match self.model.rules.get(instance.rule) {
            Some(rule) if self.fits(state, rule, &instance.args) => rule,
            _ => return Err(StepError::NoInstance),
        };
        if !self.guard(state, instance).map_err(StepError::GuardFaults)? {
            return Err(StepError::Disabled);
        }
        // Where all rules are equal there is no need to look at the others.
        if self.model.rules.iter().all(|other| other.priority >= rule.priority) {
            return Ok(());
        }
        let rivals = self.enabled(state).instances;
        if rivals.iter().any(|rival| self.model.rules[rival.rule].priority < rule.priority) {
            return Err(StepError::Priority);
        }
        Ok(())
    }

    /// Checks that a run ends in a state, and that no assumption drops it. An assumption that faults drops its
    /// state too, but the fault is a violation that the last state of a trace may show.
    fn leads_to(&self, branch: Option<Branch>, state: &State, is_last: bool) -> Result<(), StepError> {
        match branch.ok_or(StepError::WrongChoices)?.result {
            Firing::State(found) if found != *state => Err(StepError::OtherState(Box::new(found))),
            Firing::State(_) => match self.dropped_by(state) {
                Ok(None) => Ok(()),
                Ok(Some(property)) => Err(StepError::Dropped(property)),
                Err((_, _)) if is_last => Ok(()),
                Err((property, _)) => Err(StepError::Dropped(property)),
            },
            Firing::Fault(fault) => Err(StepError::Faults(fault)),
            Firing::Discarded => Err(StepError::Discarded),
        }
    }

    fn confirm_fault(
        &self,
        during: &During,
        expected: &Fault,
        last: Option<&State>,
    ) -> Result<(), ReplayError> {
        let found = match (during, last) {
            (During::Start(start, args, choices), None) => {
                self.run_start_with(*start, args, choices).and_then(fault_of)
            }
            (During::Guard(rule, args), Some(state)) => {
                let instance = Instance { rule: *rule, args: args.clone() };
                match self.model.guard_faults {
                    GuardFaults::Violate => self.guard(state, &instance).err(),
                    GuardFaults::Disable => None,
                }
            }
            (During::Body(rule, args, choices), Some(state)) => {
                let instance = Instance { rule: *rule, args: args.clone() };
                match self.may_fire(state, &instance) {
                    Ok(()) => self.fire_with(state, &instance, choices).and_then(fault_of),
                    Err(_) => None,
                }
            }
            (During::Property(property), Some(state)) => {
                let property = self.model.properties.get(*property).ok_or(ReplayError::WrongReason)?;
                return self.confirm_property_fault(&property.kind, expected, state);
            }
            (During::Start(..), Some(_))
            | (During::Guard(..) | During::Body(..) | During::Property(_), None) => {
                return Err(ReplayError::WrongTrace);
            }
        };
        match found {
            Some(fault) if fault == *expected => Ok(()),
            Some(fault) => Err(ReplayError::OtherFault(fault)),
            None => Err(ReplayError::NoFault),
        }
    }

    /// A property can have several conditions: one of them must fault as expected.
    fn confirm_property_fault(
        &self,
        kind: &PropertyKind,
        expected: &Fault,
        state: &State,
    ) -> Result<(), ReplayError> {
        let faults: Vec<Fault> = match kind {
            // Its condition is asked only where nothing can happen.
            PropertyKind::Deadlock(deadlock @ DeadlockKind::StuckUnless(_)) => {
                self.is_deadlock(state, deadlock).err().into_iter().collect()
            }
            _ => {
                let fairness = match kind {
                    PropertyKind::Temporal(..) => self.model.fairness.as_slice(),
                    _ => &[],
                };
                let conditions = kind.conditions().into_iter().chain(fairness);
                conditions.filter_map(|condition| self.holds(state, condition).err()).collect()
            }
        };
        if faults.contains(expected) {
            return Ok(());
        }
        Err(faults.into_iter().next().map_or(ReplayError::NoFault, ReplayError::OtherFault))
    }
}

fn fault_of(branch: Branch) -> Option<Fault> {
    match branch.result {
        Firing::Fault(fault) => Some(fault),
        Firing::State(_) | Firing::Discarded => None,
    }
}
