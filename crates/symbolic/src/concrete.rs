//! Single states and steps between them: from runs of bits to traces.
//!
//! The machine on one state is an ordinary interpreter. It finds again which instance of which rule leads from one state
//! of a run to the next, and what exactly is wrong in the last.

use shoal_model::{
    Condition, DeadlockKind, During, Fault, GuardFaults, Model, PropertyId, PropertyKind, Ratio, Reason,
    RuleId, StartId, State, Step, Trace, Value, Violation, Watch,
};

use crate::{
    dd::{Dd, DdHalt, DdResult},
    decide::Why,
    encode::{blamed, constants, state_of},
    machine::SymbolicMachine,
    run,
    starts::Started,
};

/// A model, to be run one state at a time.
pub struct Concrete<'m> {
    model: &'m Model,
    dd: Dd,
}

/// An instance of a rule that takes a step, its choices, and the state it leads to.
pub type TakenInstance = (RuleId, Vec<Value>, Vec<Value>, State);

impl<'m> Concrete<'m> {
    /// Runs this model.
    pub fn new(model: &'m Model) -> DdResult<Concrete<'m>> {
        Ok(Concrete { model, dd: Dd::small(&Watch::default())? })
    }

    fn machine(&self, state: &State) -> SymbolicMachine<'m> {
        SymbolicMachine::new(self.model, &self.dd, constants(self.model, &self.dd, state))
    }

    /// The first step from a state to one that is wanted.
    pub fn step(&self, state: &State, wanted: &dyn Fn(&State) -> bool) -> DdResult<Option<TakenInstance>> {
        let machine = self.machine(state);
        let mut enabled = Vec::new();
        for (id, rule) in self.model.rules.enumerate() {
            for args in run::valuations(&machine, rule)? {
                if run::guard(&machine, rule, &args)?.holds.is_true() {
                    enabled.push((id, rule, args));
                }
            }
        }
        let least = enabled.iter().map(|(_, rule, _)| rule.priority).min();
        for (id, rule, args) in enabled {
            if Some(rule.priority) != least {
                continue;
            }
            for after in run::runs(&machine, rule, &args, &self.dd.yes())? {
                if after.dead.is_false() {
                    let next = state_of(&after, state);
                    if wanted(&next) {
                        return Ok(Some((id, args, run::choices(&after), next)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// The state that a start makes with these arguments and choices.
    pub fn start(&self, start: StartId, args: &[Value], choices: &[Value]) -> DdResult<Option<State>> {
        let blank = self.model.blank_state();
        for after in run::runs(&self.machine(&blank), &self.model.starts[start], args, &self.dd.yes())? {
            if after.dead.is_false() && run::choices(&after) == choices {
                return Ok(Some(state_of(&after, &blank)));
            }
        }
        Ok(None)
    }

    /// The choices with which an instance leads from a state to one that is wanted, and that state.
    pub fn fire(
        &self,
        state: &State,
        rule: RuleId,
        args: &[Value],
        wanted: &dyn Fn(&State) -> bool,
    ) -> DdResult<Option<(Vec<Value>, State)>> {
        for after in run::runs(&self.machine(state), &self.model.rules[rule], args, &self.dd.yes())? {
            if after.dead.is_false() {
                let next = state_of(&after, state);
                if wanted(&next) {
                    return Ok(Some((run::choices(&after), next)));
                }
            }
        }
        Ok(None)
    }

    /// The trace through these states.
    pub fn trace(
        &self,
        starts: &[Started],
        states: &[State],
        loops_to: Option<usize>,
    ) -> DdResult<Option<Trace>> {
        let Some((first, rest)) = states.split_first() else { return Ok(None) };
        let Some((start, args, choices, _)) = starts.iter().find(|(_, _, _, state)| state == first) else {
            return Ok(None);
        };
        let mut trace = Trace {
            start: *start,
            args: args.clone(),
            choices: choices.clone(),
            state: first.clone(),
            steps: Vec::new(),
            loops_to,
        };
        for (at, state) in rest.iter().enumerate() {
            match self.step(&states[at], &|next| next == state)? {
                Some((rule, args, choices, state)) => {
                    trace.steps.push(Step { delay: Ratio::ZERO, rule, args, choices, state });
                }
                // Nothing happens any more.
                None if *state == states[at] => {
                    trace.loops_to = Some(at);
                    break;
                }
                None => return Ok(None),
            }
        }
        Ok(Some(trace))
    }

    /// The violation that a trace shows.
    pub fn violation(&self, property: PropertyId, trace: Trace, why: Why) -> DdResult<Violation> {
        let last = trace.last();
        let reason = match (why, &self.model.properties[property].kind) {
            (Why::NotPossible, _) => Reason::NotPossible,
            (Why::Formula, _) => Reason::FormulaFalse,
            (Why::Faults, kind) => {
                let mut fault = self.own_fault(last, kind)?;
                if matches!(kind, PropertyKind::Temporal(..)) {
                    for condition in &self.model.fairness {
                        fault = fault.or(self.condition(last, condition)?.1);
                    }
                }
                self.reason(fault.map(|fault| (During::Property(property), fault)))?
            }
            (Why::Bad, PropertyKind::Assertion) => self.reason(self.fault(last, Some(property))?)?,
            (Why::Bad, PropertyKind::NoFaults) => self.reason(self.fault(last, None)?)?,
            (Why::Bad, kind) => match self.own_fault(last, kind)? {
                Some(fault) => Reason::Fault(During::Property(property), fault),
                None if matches!(kind, PropertyKind::Deadlock(_)) => Reason::Deadlock,
                None => Reason::ConditionFalse,
            },
        };
        Ok(Violation { reason, trace: Some(trace) })
    }

    /// What faults in the conditions of a property.
    fn own_fault(&self, state: &State, kind: &'m PropertyKind) -> DdResult<Option<Fault>> {
        let mut fault = None;
        for condition in kind.conditions() {
            fault = fault.or(self.condition(state, condition)?.1);
        }
        Ok(fault)
    }

    fn reason(&self, found: Option<(During, Fault)>) -> DdResult<Reason> {
        match found {
            Some((during, fault)) => Ok(Reason::Fault(during, fault)),
            None => Err(DdHalt::Lacks { construct: "a fault that cannot be found again".into(), span: None }),
        }
    }

    fn condition(&self, state: &State, condition: &'m Condition) -> DdResult<(bool, Option<Fault>)> {
        let mut machine = self.machine(state);
        let holds = machine.holds(condition)?.is_true();
        Ok((holds, machine.faults.into_iter().next().map(|(_, fault)| fault)))
    }

    /// The first fault in a state that violates a property: an assertion, or what is no assertion.
    fn fault(&self, state: &State, of: Option<PropertyId>) -> DdResult<Option<(During, Fault)>> {
        let machine = self.machine(state);
        let is_it = |fault: &Fault| blamed(fault) == of;
        let mut enabled = Vec::new();
        let mut guard_faults = false;
        for (id, rule) in self.model.rules.enumerate() {
            for args in run::valuations(&machine, rule)? {
                let guard = run::guard(&machine, rule, &args)?;
                if let Some((_, fault)) = guard.faults.first()
                    && self.model.guard_faults == GuardFaults::Violate
                {
                    guard_faults = true;
                    if is_it(fault) {
                        return Ok(Some((During::Guard(id, args), fault.clone())));
                    }
                } else if guard.holds.is_true() {
                    enabled.push((id, rule, args));
                }
            }
        }
        let least = enabled.iter().map(|(_, rule, _)| rule.priority).min();
        let mut moves = guard_faults;
        for (id, rule, args) in enabled {
            if Some(rule.priority) != least {
                continue;
            }
            for after in run::runs(&machine, rule, &args, &self.dd.yes())? {
                moves |= after.dropped.is_false();
                if let Some((_, fault)) = after.faults.first()
                    && is_it(fault)
                {
                    return Ok(Some((During::Body(id, args, run::choices(&after)), fault.clone())));
                }
            }
        }
        for (id, property) in self.model.properties.enumerate() {
            if matches!(property.kind, PropertyKind::Temporal(..)) {
                continue;
            }
            if moves && matches!(property.kind, PropertyKind::Deadlock(DeadlockKind::StuckUnless(_))) {
                continue;
            }
            for condition in property.kind.conditions() {
                if let (_, Some(fault)) = self.condition(state, condition)?
                    && is_it(&fault)
                {
                    return Ok(Some((During::Property(id), fault)));
                }
            }
        }
        Ok(None)
    }
}
