//! What may happen in a state: instances, guards, steps, time.

use std::{
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
};

use shoal_model::{
    Condition, DeadlockKind, Domain, Expr, Fault, GuardFaults, IndexVec, Local, LocalId, OrInternal,
    PropertyId, PropertyKind, Ratio, Rule, RuleId, StartId, State, Value,
};

use crate::{
    Interpreter,
    machine::{AddressHop, ExecStop, Executed, LocalCell, ReferenceMachine, ValueAddress},
    regions::half,
    values::advance,
};

/// A rule and the values of its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    /// The rule.
    pub rule: RuleId,
    /// A value for each parameter. Fewer where the domain of the next parameter faults; such an instance never
    /// fires, and its guard is that fault.
    pub args: Vec<Value>,
}

/// What firing comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Firing {
    /// The new state.
    State(State),
    /// The step faults.
    Fault(Fault),
    /// An assumption in the body failed: the step does not exist.
    Discarded,
}

/// One run of a body: one for each combination of the values its choices take, first values first.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The values taken, in the order of the choices.
    pub choices: Vec<Value>,
    /// What it comes to.
    pub result: Firing,
    /// The properties covered on the way; none if the step does not exist.
    pub covered: Vec<PropertyId>,
    /// The text of each output statement on the way.
    pub output: Vec<String>,
}

/// What may happen in a state as far as guards tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Enabled {
    /// The instances that may fire: their guards hold and their rules have the least priority number of those.
    pub instances: Vec<Instance>,
    /// The instances whose guards fault; none where faults in guards disable.
    pub faults: Vec<(Instance, Fault)>,
}

/// Everything that happens next in a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NextSteps {
    /// The instances that may fire, with each of their runs.
    pub branches: Vec<(Instance, Branch)>,
    /// The instances whose guards fault; none where faults in guards disable.
    pub faults: Vec<(Instance, Fault)>,
}

impl<'m> Interpreter<'m> {
    fn machine(&self, state: &State) -> ReferenceMachine<'m> {
        let mut machine = ReferenceMachine::new(self.model, state);
        machine.turning = self.turning;
        machine
    }

    /// All valuations of the parameters of all starts.
    pub fn start_instances(&self) -> Vec<(StartId, Vec<Value>)> {
        let mut machine = self.machine(&self.model.blank_state());
        let mut all = Vec::new();
        for (id, start) in self.model.starts.enumerate() {
            all.extend(valuations(&mut machine, start, usize::MAX).into_iter().map(|args| (id, args)));
        }
        all
    }

    /// The first so many ways to begin, with what comes of each; those that an assumption drops do not count. There may be
    /// more than anyone can write down: a counter without bound begins anywhere.
    pub fn starts_up_to(&self, most: usize) -> Vec<(StartId, Vec<Value>, Branch)> {
        let mut machine = ReferenceMachine::new(self.model, &self.model.blank_state());
        let mut all = Vec::new();
        for (id, start) in self.model.starts.enumerate() {
            for args in valuations(&mut machine, start, most) {
                let mut script = Some(Vec::new());
                while let Some(choices) = script.take().filter(|_| all.len() < most) {
                    let BodyRun { branch, trail, .. } =
                        self.run(&self.model.blank_state(), start, &args, choices);
                    let kept = branch.filter(|branch| branch.result != Firing::Discarded);
                    all.extend(kept.map(|branch| (id, args.clone(), branch)));
                    script = next_script(trail);
                }
            }
        }
        all
    }

    /// Runs a start, for each combination of its choices. None if the arguments are not of its domains.
    pub fn run_start(&self, start: StartId, args: &[Value]) -> Vec<Branch> {
        let start = self.model.starts.get(start);
        start.map_or(Vec::new(), |start| self.run_all(&self.model.blank_state(), start, args))
    }

    /// The first so many outcomes of a start: with many choices there may be more than anyone wants.
    pub fn run_start_up_to(&self, most: usize, start: StartId, args: &[Value]) -> Vec<Branch> {
        let start = self.model.starts.get(start);
        start.map_or(Vec::new(), |start| self.run_up_to(most, &self.model.blank_state(), start, args))
    }

    /// Runs a start with these choices, if there is such a run.
    pub fn run_start_with(&self, start: StartId, args: &[Value], choices: &[Value]) -> Option<Branch> {
        let start = self.model.starts.get(start)?;
        self.run_exactly(&self.model.blank_state(), start, args, choices)
    }

    /// All valuations of the parameters of all rules in this state. Of equal elements of a multiset a parameter
    /// takes the first (and those that parameters before it have taken).
    pub fn instances(&self, state: &State) -> Vec<Instance> {
        let mut machine = self.machine(state);
        let mut all = Vec::new();
        for (id, rule) in self.model.rules.enumerate() {
            all.extend(
                valuations(&mut machine, rule, usize::MAX)
                    .into_iter()
                    .map(|args| Instance { rule: id, args }),
            );
        }
        all
    }

    /// Whether the guard of an instance holds. It does not if the arguments are not of the rule's domains.
    pub fn guard(&self, state: &State, instance: &Instance) -> Result<bool, Fault> {
        self.guard_on(&mut self.machine(state), instance)
    }

    /// Guards change nothing, so many can be evaluated on one machine.
    fn guard_on(&self, machine: &mut ReferenceMachine<'m>, instance: &Instance) -> Result<bool, Fault> {
        let Some(rule) = self.model.rules.get(instance.rule) else { return Ok(false) };
        let frame = machine.frame(&rule.code.locals, None);
        machine.push(frame);
        let holds = prepare(machine, rule, &instance.args).and_then(|prepared| match &rule.guard {
            Some(guard) if prepared => machine.truth(guard),
            _ => Ok(prepared),
        });
        machine.pop();
        match holds {
            Ok(holds) => Ok(holds),
            Err(ExecStop::Fault(fault)) if self.model.guard_faults == GuardFaults::Violate => Err(fault),
            Err(ExecStop::Fault(_) | ExecStop::Discarded | ExecStop::NoRun) => Ok(false),
        }
    }

    /// The instances that may fire in a state, and those whose guards fault.
    pub fn enabled(&self, state: &State) -> Enabled {
        let mut machine = self.machine(state);
        let mut enabled = Enabled::default();
        for instance in self.instances(state) {
            match self.guard_on(&mut machine, &instance) {
                Ok(true) => enabled.instances.push(instance),
                Ok(false) => {}
                Err(fault) => enabled.faults.push((instance, fault)),
            }
        }
        let priority = |instance: &Instance| self.model.rules[instance.rule].priority;
        let least = enabled.instances.iter().map(priority).min();
        enabled.instances.retain(|instance| Some(priority(instance)) == least);
        enabled
    }

    /// Runs the body of an instance, for each combination of its choices. Does not ask for its guard.
    pub fn fire(&self, state: &State, instance: &Instance) -> Vec<Branch> {
        let rule = self.model.rules.get(instance.rule);
        rule.map_or(Vec::new(), |rule| self.run_all(state, rule, &instance.args))
    }

    /// Runs the body of an instance with these choices, if there is such a run. Does not ask for its guard.
    pub fn fire_with(&self, state: &State, instance: &Instance, choices: &[Value]) -> Option<Branch> {
        self.run_exactly(state, self.model.rules.get(instance.rule)?, &instance.args, choices)
    }

    /// Everything that happens next in a state. The new states may be ones that an assumption of the model drops.
    pub fn steps(&self, state: &State) -> NextSteps {
        let mut statements = usize::MAX;
        self.steps_within(state, &mut statements).or_internal("nobody runs that many statements")
    }

    /// The same, if it takes no more statements than these, which it uses up.
    pub(crate) fn steps_within(&self, state: &State, statements: &mut usize) -> Option<NextSteps> {
        let enabled = self.enabled(state);
        let mut steps = NextSteps { branches: Vec::new(), faults: enabled.faults };
        for instance in enabled.instances {
            let rule = &self.model.rules[instance.rule];
            let branches = self.run_within(statements, state, rule, &instance.args)?;
            steps.branches.extend(branches.into_iter().map(|branch| (instance.clone(), branch)));
        }
        Some(steps)
    }

    /// Whether a condition holds in a state.
    pub fn holds(&self, state: &State, condition: &Condition) -> Result<bool, Fault> {
        let mut machine = self.machine(state);
        machine.assumes = false;
        machine.push(machine.frame(&condition.locals, None));
        match machine.truth(&condition.expr) {
            Ok(holds) => Ok(holds),
            Err(ExecStop::Fault(fault)) => Err(fault),
            // Choices do not occur in conditions.
            Err(ExecStop::Discarded | ExecStop::NoRun) => Ok(false),
        }
    }

    /// What an expression is in a state; its bound variables are among these locals.
    pub fn value(
        &self,
        state: &State,
        locals: &IndexVec<LocalId, Local>,
        expr: &Expr,
    ) -> Result<Value, Fault> {
        let mut machine = self.machine(state);
        machine.assumes = false;
        machine.push(machine.frame(locals, None));
        match machine.eval(expr) {
            Ok(value) => Ok(value),
            Err(ExecStop::Fault(fault)) => Err(fault),
            // Choices do not occur in expressions.
            Err(ExecStop::Discarded | ExecStop::NoRun) => Ok(Value::Undefined),
        }
    }

    /// The first of the model's assumptions that drops a state, if one does. Where evaluating one faults, the
    /// state is dropped too.
    pub fn dropped_by(&self, state: &State) -> Result<Option<PropertyId>, (PropertyId, Fault)> {
        for (id, property) in self.model.properties.enumerate() {
            if let PropertyKind::Assume(Some(condition)) = &property.kind
                && !self.holds(state, condition).map_err(|fault| (id, fault))?
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Whether a state is a deadlock of a kind; time does not pass. A fault is one of the deadlock's condition.
    pub fn is_deadlock(&self, state: &State, kind: &DeadlockKind) -> Result<bool, Fault> {
        // One step is enough to know that it is none.
        let Enabled { instances, faults } = self.enabled(state);
        let goes_on = |instance: &Instance| {
            self.fire(state, instance).iter().any(|branch| is_progress(state, kind, &branch.result))
        };
        if faults.iter().any(|(_, fault)| fault.kind.goes_on()) || instances.iter().any(goes_on) {
            return Ok(false);
        }
        self.is_stuck_for_good(state, kind)
    }

    /// The same, where the steps of the state are known.
    pub(crate) fn is_deadlock_given(
        &self,
        state: &State,
        kind: &DeadlockKind,
        steps: &NextSteps,
    ) -> Result<bool, Fault> {
        let moves = |(_, branch): &(Instance, Branch)| is_progress(state, kind, &branch.result);
        let checks = |(_, fault): &(Instance, Fault)| fault.kind.goes_on();
        if steps.faults.iter().any(checks) || steps.branches.iter().any(moves) {
            return Ok(false);
        }
        self.is_stuck_for_good(state, kind)
    }

    /// Whether a state without steps is a deadlock.
    fn is_stuck_for_good(&self, state: &State, kind: &DeadlockKind) -> Result<bool, Fault> {
        match kind {
            DeadlockKind::Stuck | DeadlockKind::Stuttering => Ok(true),
            // Not a question of steps: see `regions`.
            DeadlockKind::Timelock => Ok(false),
            DeadlockKind::StuckUnless(condition) => Ok(!self.holds(state, condition)?),
        }
    }

    /// The state after some time, if time may pass: `while_time_passes` holds before and after, and no urgent rule
    /// is enabled before. (In between is not looked at: the condition is taken to be convex, and the guards of
    /// urgent rules not to depend on clocks.) No time may always pass.
    pub fn delay(&self, state: &State, delay: Ratio) -> Option<State> {
        if delay == Ratio::ZERO {
            return Some(state.clone());
        }
        let urgent = |instance: &Instance| self.model.rules[instance.rule].urgent;
        let instances = self.instances(state);
        if instances.iter().any(|instance| urgent(instance) && self.guard(state, instance) == Ok(true)) {
            return None;
        }
        let values = state.values.iter().map(|value| advance(value.clone(), delay)).collect::<Option<_>>()?;
        let after = State { values, live: state.live.clone() };
        let may_pass = |state: &State| match &self.model.while_time_passes {
            Some(condition) => self.holds(state, condition) == Ok(true),
            None => true,
        };
        (may_pass(state) && may_pass(&after)).then_some(after)
    }

    /// Lets time pass from one moment to the next in which something that is looked at changes, and tells of each: how much
    /// time has passed, the state then, and its steps. The first is now; ends where time may not pass or nothing changes any
    /// more, or when the visitor has seen enough.
    pub fn wait(&self, state: &State, visit: &mut dyn FnMut(Ratio, &State, NextSteps) -> ControlFlow<()>) {
        let (mut now, mut passed) = (state.clone(), Ratio::ZERO);
        // Whether the moment is one between two that matter.
        let mut between = false;
        // What a step sets and then compares comes out the same for ever: beyond all constants nothing changes any more.
        let end = self.settled_after();
        loop {
            let turning = Mutex::new(Vec::new());
            let watching = Interpreter { turning: Some(&turning), ..*self };
            let steps = watching.steps(&now);
            for (_, branch) in &steps.branches {
                if let Firing::State(next) = &branch.result {
                    let _ = watching.dropped_by(next);
                }
            }
            if let Some(condition) = &self.model.while_time_passes {
                let _ = watching.holds(&now, condition);
            }
            if visit(passed, &now, steps).is_break() {
                return;
            }
            let turning = turning.into_inner().unwrap_or_else(PoisonError::into_inner);
            let next = turning.iter().copied().filter(|after| *after > Ratio::ZERO).min();
            let at_turn = turning.contains(&Ratio::ZERO) && !between;
            between = at_turn;
            let delay = match (at_turn, next) {
                (true, Some(next)) => half(next),
                (true, None) => Ratio::new(1, 1),
                (false, next) => next,
            };
            let Some(delay) = delay else { return };
            let (Some(later), Some(sum)) = (self.delay(&now, delay), passed.checked_add(delay)) else {
                return;
            };
            if end.is_some_and(|end| sum > end) {
                return;
            }
            (now, passed) = (later, sum);
        }
    }

    /// Whether nothing can happen, however long one waits: no step leads to a state that no assumption drops.
    pub fn is_stuck(&self, state: &State) -> bool {
        let mut stuck = true;
        self.wait(state, &mut |_, _, steps| {
            let leads_on = |(_, branch): &(Instance, Branch)| match &branch.result {
                Firing::State(next) => self.dropped_by(next) == Ok(None),
                Firing::Fault(fault) => fault.kind.goes_on(),
                Firing::Discarded => false,
            };
            stuck = !steps.branches.iter().any(leads_on);
            if stuck { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        stuck
    }

    /// Whether a state is a deadlock of a kind, where time passes too. (A timelock is not looked for.)
    pub fn is_deadlock_in_time(&self, state: &State, kind: &DeadlockKind) -> Result<bool, Fault> {
        match kind {
            _ if !self.has_clocks() => self.is_deadlock(state, kind),
            DeadlockKind::Stuck => Ok(self.is_stuck(state)),
            DeadlockKind::StuckUnless(condition) => {
                Ok(self.is_stuck(state) && !self.holds(state, condition)?)
            }
            DeadlockKind::Stuttering | DeadlockKind::Timelock => Ok(false),
        }
    }

    /// Whether the arguments are of the domains of a rule. (They are no others where a domain faults.)
    pub(crate) fn fits(&self, state: &State, rule: &Rule, args: &[Value]) -> bool {
        let mut machine = self.machine(state);
        machine.push(machine.frame(&rule.code.locals, None));
        !matches!(prepare(&mut machine, rule, args), Ok(false))
    }

    fn run_all(&self, state: &State, rule: &Rule, args: &[Value]) -> Vec<Branch> {
        self.run_up_to(usize::MAX, state, rule, args)
    }

    /// All branches of a body, if it takes no more statements than these, which it uses up.
    fn run_within(
        &self,
        statements: &mut usize,
        state: &State,
        rule: &Rule,
        args: &[Value],
    ) -> Option<Vec<Branch>> {
        let mut branches = Vec::new();
        let mut script = Some(Vec::new());
        while let Some(choices) = script {
            let BodyRun { branch, trail, executed } = self.run(state, rule, args, choices);
            *statements = statements.checked_sub(executed)?;
            branches.extend(branch);
            script = next_script(trail);
        }
        Some(branches)
    }

    /// Runs a body until there are so many branches, or all.
    fn run_up_to(&self, most: usize, state: &State, rule: &Rule, args: &[Value]) -> Vec<Branch> {
        let mut branches = Vec::new();
        let mut script = Vec::new();
        loop {
            let BodyRun { branch, trail, .. } = self.run(state, rule, args, script);
            branches.extend(branch);
            match next_script(trail).filter(|_| branches.len() < most) {
                Some(next) => script = next,
                None => return branches,
            }
        }
    }

    fn run_exactly(&self, state: &State, rule: &Rule, args: &[Value], choices: &[Value]) -> Option<Branch> {
        let BodyRun { branch, .. } = self.run(state, rule, args, choices.to_vec());
        branch.filter(|branch| branch.choices == choices)
    }

    /// Runs a body once. The choices follow the script, and are the first possible after it.
    fn run(&self, state: &State, rule: &Rule, args: &[Value], script: Vec<Value>) -> BodyRun {
        let mut machine = self.machine(state);
        machine.script = script;
        machine.push(machine.frame(&rule.code.locals, None));
        let end = prepare(&mut machine, rule, args).and_then(|prepared| {
            if prepared { machine.block(&rule.code.body).map(|_| ()) } else { Err(ExecStop::NoRun) }
        });
        let end = end.and_then(|()| machine.collect(rule.span));
        let (trail, executed) = (std::mem::take(&mut machine.trail), machine.executed);
        let choices = trail.iter().map(|(values, taken)| values[*taken].clone()).collect();
        let (mut covered, output) =
            (std::mem::take(&mut machine.covered), std::mem::take(&mut machine.output));
        let result = match end {
            Ok(()) => Firing::State(machine.into_state()),
            Err(ExecStop::Fault(fault)) => Firing::Fault(fault),
            Err(ExecStop::Discarded) => {
                covered.clear();
                Firing::Discarded
            }
            Err(ExecStop::NoRun) => return BodyRun { branch: None, trail, executed },
        };
        BodyRun { branch: Some(Branch { choices, result, covered, output }), trail, executed }
    }
}

/// One run of a body.
struct BodyRun {
    /// What it comes to, unless a choice had nothing to choose from.
    branch: Option<Branch>,
    /// The choices made: what there was to choose from, and which was taken.
    trail: Vec<(Vec<Value>, usize)>,
    /// How many statements it took.
    executed: usize,
}

/// Whether an outcome of a step keeps a state from being a deadlock.
fn is_progress(state: &State, kind: &DeadlockKind, result: &Firing) -> bool {
    match (result, kind) {
        (Firing::State(next), DeadlockKind::Stuttering) => next != state,
        (Firing::State(_), DeadlockKind::Stuck | DeadlockKind::StuckUnless(_) | DeadlockKind::Timelock) => {
            true
        }
        // What faults is no step, unless only a check fails.
        (Firing::Fault(fault), _) => fault.kind.goes_on(),
        (Firing::Discarded, _) => false,
    }
}

/// The script of the run after the one with this trail, as an odometer counts: the last choice that has another
/// value takes it, and what comes after begins anew.
fn next_script(mut trail: Vec<(Vec<Value>, usize)>) -> Option<Vec<Value>> {
    while let Some((values, taken)) = trail.pop() {
        if taken + 1 < values.len() {
            trail.push((values, taken + 1));
            return Some(trail.into_iter().map(|(values, taken)| values[taken].clone()).collect());
        }
    }
    None
}

/// Gives the parameters their values and makes the rule's bindings. False if the arguments do not fit.
pub(crate) fn prepare<'a>(
    machine: &mut ReferenceMachine<'a>,
    rule: &'a Rule,
    args: &[Value],
) -> Executed<bool> {
    for (position, param) in rule.params.iter().enumerate() {
        match args.get(position) {
            Some(arg) if machine.is_of(&param.domain, arg)? => {
                machine.set(param.local, LocalCell::Value(arg.clone()));
            }
            Some(_) => return Ok(false),
            // A domain that faults does so however few arguments there are.
            None => return machine.domain(&param.domain).map(|_| false),
        }
    }
    machine.bind(&rule.bindings)?;
    Ok(args.len() == rule.params.len())
}

/// The first so many valuations of a rule's parameters.
fn valuations<'a>(machine: &mut ReferenceMachine<'a>, rule: &'a Rule, most: usize) -> Vec<Vec<Value>> {
    let frame = machine.frame(&rule.code.locals, None);
    machine.push(frame);
    let mut all = Valuations { all: Vec::new(), most };
    extend(machine, rule, &mut Vec::new(), &mut Vec::new(), &mut all);
    machine.pop();
    all.all
}

/// Valuations, up to a number of them.
struct Valuations {
    all: Vec<Vec<Value>>,
    most: usize,
}

impl Valuations {
    fn push(&mut self, args: Vec<Value>) {
        if !self.full() {
            self.all.push(args);
        }
    }

    fn full(&self) -> bool {
        self.all.len() >= self.most
    }
}

/// Adds all valuations that begin with `args`. `taken` are the slots among them.
fn extend<'a>(
    machine: &mut ReferenceMachine<'a>,
    rule: &'a Rule,
    args: &mut Vec<Value>,
    taken: &mut Vec<(ValueAddress, usize)>,
    all: &mut Valuations,
) {
    let Some(param) = rule.params.get(args.len()) else {
        all.push(args.clone());
        return;
    };
    let values = match machine.domain(&param.domain) {
        Ok(values) => values,
        Err(ExecStop::Fault(_)) => {
            all.push(args.clone());
            return;
        }
        Err(ExecStop::Discarded | ExecStop::NoRun) => return,
    };
    let bag = match &param.domain {
        Domain::Slots(place) => machine.locate(place).ok().map(|location| (location, place.span)),
        Domain::Type(_) | Domain::Range { .. } => None,
    };
    let mut seen = Vec::new();
    for value in values {
        machine.tick();
        if all.full() {
            return;
        }
        let slot = value.as_int().and_then(|slot| usize::try_from(slot).ok());
        let mut slots_taken = 0;
        if let (Some((bag, span)), Some(slot)) = (&bag, slot) {
            // Slots with equal elements are the same, unless one of them is taken already.
            let is_taken = taken.contains(&(bag.clone(), slot)).then_some(slot);
            let mut location = bag.clone();
            location.push(AddressHop::Slot(slot));
            let key = (machine.get(&location, *span).ok().cloned(), is_taken);
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            taken.push((bag.clone(), slot));
            slots_taken = 1;
        }
        machine.set(param.local, LocalCell::Value(value.clone()));
        args.push(value);
        extend(machine, rule, args, taken, all);
        args.pop();
        taken.truncate(taken.len() - slots_taken);
    }
}
