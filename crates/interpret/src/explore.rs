//! Every reachable state by brute force: the oracle that engines are compared with. No symmetry, no tricks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use shoal_model::{
    Condition, DeadlockKind, During, Fault, Model, PropertyId, PropertyKind, Ratio, Reason, StartId, State,
    Step, Trace, Type, Value, Violation,
};

use crate::{Branch, Firing, Instance, Interpreter, NextSteps, NotRunnable, replay::fault_property};

/// What was found.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// How many states are reachable, those that assumptions drop not counted.
    pub states: usize,
    /// How many steps there are: one for each instance and combination of choices that leads to a state, new or
    /// not, dropped or not.
    pub transitions: u64,
    /// The greatest distance from a start.
    pub depth: usize,
    /// Whether all reachable states were seen. Never for a model with clocks: time does not pass here.
    pub complete: bool,
    /// The properties that are violated, and the fewest steps it takes to get there.
    pub violated: BTreeMap<PropertyId, usize>,
    /// A violation of each of those, with a shortest trace.
    pub violations: BTreeMap<PropertyId, Violation>,
    /// The properties that were not decided: temporal ones, and where not all states were seen, those of which no
    /// violation was.
    pub undecided: BTreeSet<PropertyId>,
    /// Whether a step or a start fails, or an assumption faults: nothing was seen of what is behind it.
    pub fails: bool,
    /// The states, nearest first.
    pub reached: Vec<State>,
}

/// How many statements are run for each state that may be kept, and in any case: a body with choices in a loop has more and longer
/// ways through than the model has states.
const STATEMENTS_A_STATE: usize = 5_000;
const STATEMENTS_AT_LEAST: usize = 5_000_000;

/// Explores a model breadth first, up to a number of states (and a number of statements that grows with it).
pub fn explore(model: &Model, limit_states: usize) -> Result<Exploration, NotRunnable> {
    Ok(BruteForce::new(Interpreter::new(model)?, limit_states, None).run())
}

/// Another state with the same future, up to names: `fold(state)` is some permutation of the elements of `state`.
pub type StateFold<'f> = &'f dyn Fn(&State) -> State;

/// The same, where one state stands for all that fold to it: larger instances are seen to their end. It is for models in
/// which the elements that are permuted are interchangeable. There are no `violations`: what leads from one folded state to the
/// next is no run.
pub fn explore_folded(
    model: &Model,
    limit_states: usize,
    fold: StateFold<'_>,
) -> Result<Exploration, NotRunnable> {
    let found = BruteForce::new(Interpreter::new(model)?, limit_states, Some(fold)).run();
    Ok(Exploration { violations: BTreeMap::new(), ..found })
}

/// Whether a state that satisfies a condition can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reachability {
    Reached,
    Never,
    OutOfBudget,
}

/// Looks for a state that satisfies a condition, from a state and through up to `budget` states.
pub(crate) fn can_reach(
    interpreter: &Interpreter<'_>,
    from: &State,
    condition: &Condition,
    budget: usize,
) -> Reachability {
    let mut seen = HashSet::from([from.clone()]);
    let mut queue = VecDeque::from([from.clone()]);
    while let Some(state) = queue.pop_front() {
        if interpreter.holds(&state, condition) == Ok(true) {
            return Reachability::Reached;
        }
        for (_, branch) in interpreter.steps(&state).branches {
            if let Firing::State(next) = branch.result
                && interpreter.dropped_by(&next) == Ok(None)
                && seen.insert(next.clone())
            {
                queue.push_back(next);
            }
        }
        if seen.len() > budget {
            return Reachability::OutOfBudget;
        }
    }
    Reachability::Never
}

/// How a state is reached.
#[derive(Clone)]
enum ReachedBy {
    Start { start: StartId, args: Vec<Value>, choices: Vec<Value> },
    Step { from: usize, instance: Instance, choices: Vec<Value> },
}

struct ExploredState {
    state: State,
    depth: usize,
    origin: ReachedBy,
    /// The states that lead here, for going backwards.
    before: Vec<usize>,
}

struct BruteForce<'m> {
    interpreter: Interpreter<'m>,
    limit: usize,
    /// How many statements may still be run.
    statements: usize,
    fold: Option<StateFold<'m>>,
    /// Whether a state was left out for a limit.
    full: bool,
    nodes: Vec<ExploredState>,
    /// By state, and by what was met and folds to it.
    index: HashMap<State, usize>,
    transitions: u64,
    covered: BTreeSet<PropertyId>,
    /// For each property `AlwaysPossible`, the states where it holds.
    goals: BTreeMap<PropertyId, Vec<usize>>,
    violations: BTreeMap<PropertyId, (usize, Violation)>,
    fails: bool,
}

impl<'m> BruteForce<'m> {
    fn new(interpreter: Interpreter<'m>, limit: usize, fold: Option<StateFold<'m>>) -> Self {
        BruteForce {
            interpreter,
            limit,
            statements: limit.saturating_mul(STATEMENTS_A_STATE).max(STATEMENTS_AT_LEAST),
            fold,
            full: false,
            nodes: Vec::new(),
            index: HashMap::new(),
            transitions: 0,
            covered: BTreeSet::new(),
            goals: BTreeMap::new(),
            violations: BTreeMap::new(),
            fails: false,
        }
    }

    fn run(mut self) -> Exploration {
        self.starts();
        let mut next = 0;
        while next < self.nodes.len() && !self.full {
            self.expand(next);
            next += 1;
        }
        self.finish()
    }

    fn starts(&mut self) {
        for (start, args) in self.interpreter.start_instances() {
            for Branch { choices, result, covered, .. } in self.interpreter.run_start(start, &args) {
                self.covered.extend(covered);
                match result {
                    Firing::State(state) => {
                        self.reach(state, ReachedBy::Start { start, args: args.clone(), choices });
                    }
                    Firing::Fault(fault) => {
                        self.fault(During::Start(start, args.clone(), choices), fault, 0, None);
                    }
                    Firing::Discarded => {}
                }
            }
        }
    }

    /// Everything there is to say of one state.
    fn expand(&mut self, node: usize) {
        let state = self.nodes[node].state.clone();
        let Some(steps) = self.interpreter.steps_within(&state, &mut self.statements) else {
            self.full = true;
            return;
        };
        self.judge(node, &state, &steps);
        for (instance, fault) in steps.faults {
            self.fault_in(During::Guard(instance.rule, instance.args), fault, node);
        }
        for (instance, Branch { choices, result, covered, .. }) in steps.branches {
            self.covered.extend(covered);
            match result {
                Firing::State(next) => {
                    self.transitions += 1;
                    self.reach(next, ReachedBy::Step { from: node, instance, choices });
                }
                Firing::Fault(fault) => {
                    self.fault_in(During::Body(instance.rule, instance.args, choices), fault, node);
                }
                Firing::Discarded => {}
            }
        }
    }

    /// Evaluates the properties in a state.
    fn judge(&mut self, node: usize, state: &State, steps: &NextSteps) {
        let model = self.interpreter.model();
        for (id, property) in model.properties.enumerate() {
            let (value, bad, reason) = match &property.kind {
                PropertyKind::Invariant(condition) => {
                    (self.interpreter.holds(state, condition), false, Reason::ConditionFalse)
                }
                PropertyKind::Deadlock(kind) => {
                    (self.interpreter.is_deadlock_given(state, kind, steps), true, Reason::Deadlock)
                }
                PropertyKind::CoverDeadlock(condition) => {
                    if self.interpreter.is_deadlock_given(state, &DeadlockKind::Stuck, steps) == Ok(true) {
                        match self.interpreter.holds(state, condition) {
                            Ok(true) => drop(self.covered.insert(id)),
                            Ok(false) => {}
                            Err(fault) => self.property_faults(id, fault, node),
                        }
                    }
                    continue;
                }
                PropertyKind::Cover(Some(condition)) | PropertyKind::AlwaysPossible(condition) => {
                    match (self.interpreter.holds(state, condition), &property.kind) {
                        (Ok(true), PropertyKind::Cover(_)) => {
                            self.covered.insert(id);
                        }
                        (Ok(true), _) => self.goals.entry(id).or_default().push(node),
                        (Ok(false), _) => {}
                        (Err(fault), _) => self.property_faults(id, fault, node),
                    }
                    continue;
                }
                PropertyKind::Assertion
                | PropertyKind::Bound
                | PropertyKind::NoFaults
                | PropertyKind::Assume(_)
                | PropertyKind::Cover(None)
                | PropertyKind::Extreme(_)
                | PropertyKind::Unclear(_)
                | PropertyKind::Temporal(..) => continue,
            };
            match value {
                Ok(value) if value == bad => self.record_in(id, reason, node),
                Ok(_) => {}
                Err(fault) => self.property_faults(id, fault, node),
            }
        }
    }

    /// The condition of a property faults in a state: that violates the property, unless it only wants to see some state, and
    /// that nothing faults.
    fn property_faults(&mut self, property: PropertyId, fault: Fault, node: usize) {
        if self.interpreter.model().properties[property].kind.fails_where_it_faults() {
            let reason = Reason::Fault(During::Property(property), fault.clone());
            self.record_in(property, reason, node);
        }
        self.fault_in(During::Property(property), fault, node);
    }

    /// A state is reached, perhaps for the first time.
    fn reach(&mut self, state: State, origin: ReachedBy) {
        let (depth, from) = match &origin {
            ReachedBy::Start { .. } => (0, None),
            ReachedBy::Step { from, .. } => (self.nodes[*from].depth + 1, Some(*from)),
        };
        if let Some(known) = self.index.get(&state) {
            self.nodes[*known].before.extend(from);
            return;
        }
        let state = match self.fold {
            Some(fold) => {
                let folded = fold(&state);
                if let Some(known) = self.index.get(&folded).copied() {
                    self.nodes[known].before.extend(from);
                    self.index.insert(state, known);
                    return;
                }
                folded
            }
            None => state,
        };
        let dropped = self.interpreter.dropped_by(&state);
        let node = ExploredState { state, depth, origin, before: from.into_iter().collect() };
        match dropped {
            Ok(Some(_)) => {}
            Err((property, fault)) => {
                let trace = self.trace(&node);
                self.fault(During::Property(property), fault, depth, Some(trace));
            }
            Ok(None) if self.nodes.len() >= self.limit => self.full = true,
            Ok(None) => {
                self.index.insert(node.state.clone(), self.nodes.len());
                self.nodes.push(node);
            }
        }
    }

    fn fault_in(&mut self, during: During, fault: Fault, node: usize) {
        self.notice(&during);
        if let Some(property) = fault_property(self.interpreter.model(), &fault) {
            self.record_in(property, Reason::Fault(during, fault), node);
        }
    }

    fn fault(&mut self, during: During, fault: Fault, depth: usize, trace: Option<Trace>) {
        self.notice(&during);
        if let Some(property) = fault_property(self.interpreter.model(), &fault) {
            self.record(property, depth, Violation { reason: Reason::Fault(during, fault), trace });
        }
    }

    /// Something fails: whether that is a step.
    fn notice(&mut self, during: &During) {
        self.fails |= match during {
            During::Start(..) | During::Guard(..) | During::Body(..) => true,
            During::Property(id) => {
                matches!(self.interpreter.model().properties[*id].kind, PropertyKind::Assume(_))
            }
        };
    }

    /// A violation that is seen in a state. The run to it is made only if it is kept: most states of a model that is wrong are.
    fn record_in(&mut self, property: PropertyId, reason: Reason, node: usize) {
        let depth = self.nodes[node].depth;
        if self.is_nearest(property, depth) {
            let trace = Some(self.trace(&self.nodes[node]));
            self.record(property, depth, Violation { reason, trace });
        }
    }

    /// Keeps the violation that takes the fewest steps.
    fn record(&mut self, property: PropertyId, depth: usize, violation: Violation) {
        if self.is_nearest(property, depth) {
            self.violations.insert(property, (depth, violation));
        }
    }

    fn is_nearest(&self, property: PropertyId, depth: usize) -> bool {
        self.violations.get(&property).is_none_or(|(known, _)| depth < *known)
    }

    /// A shortest run to a state.
    fn trace(&self, node: &ExploredState) -> Trace {
        let mut steps = Vec::new();
        let mut node = node;
        loop {
            match node.origin.clone() {
                ReachedBy::Step { from, instance: Instance { rule, args }, choices } => {
                    let state = node.state.clone();
                    steps.push(Step { delay: Ratio::ZERO, rule, args, choices, state });
                    node = &self.nodes[from];
                }
                ReachedBy::Start { start, args, choices } => {
                    steps.reverse();
                    return Trace { start, args, choices, state: node.state.clone(), steps, loops_to: None };
                }
            }
        }
    }

    /// Decides what only all states can decide.
    fn finish(mut self) -> Exploration {
        let model = self.interpreter.model();
        let has_clocks =
            model.vars.iter().any(|var| model.type_contains(var.ty, &|part| *part == Type::Clock));
        let complete = !self.full && !has_clocks;
        let mut undecided = BTreeSet::new();
        for (id, property) in model.properties.enumerate() {
            match &property.kind {
                PropertyKind::Temporal(..) | PropertyKind::Extreme(_) | PropertyKind::Unclear(_) => {
                    undecided.insert(id);
                }
                PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_) if self.covered.contains(&id) => {}
                PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_) if complete => {
                    self.record(id, 0, Violation { reason: Reason::NeverCovered, trace: None });
                }
                // What faults is told where it first does: that needs no other state.
                PropertyKind::AlwaysPossible(_) if self.violations.contains_key(&id) => {}
                PropertyKind::AlwaysPossible(_) if complete => {
                    if let Some(node) = self.first_hopeless(id) {
                        let node = &self.nodes[node];
                        let violation =
                            Violation { reason: Reason::NotPossible, trace: Some(self.trace(node)) };
                        self.record(id, node.depth, violation);
                    }
                }
                PropertyKind::Assume(_) => {}
                _ if !complete && !self.violations.contains_key(&id) => {
                    undecided.insert(id);
                }
                _ => {}
            }
        }
        Exploration {
            fails: self.fails,
            states: self.nodes.len(),
            transitions: self.transitions,
            depth: self.nodes.last().map_or(0, |node| node.depth),
            complete,
            violated: self.violations.iter().map(|(id, (depth, _))| (*id, *depth)).collect(),
            violations: self.violations.into_iter().map(|(id, (_, violation))| (id, violation)).collect(),
            undecided,
            reached: self.nodes.into_iter().map(|node| node.state).collect(),
        }
    }

    /// The nearest state from which no state can be reached where the property holds.
    fn first_hopeless(&self, property: PropertyId) -> Option<usize> {
        let mut hopeful = vec![false; self.nodes.len()];
        let mut queue = self.goals.get(&property).cloned().unwrap_or_default();
        while let Some(node) = queue.pop() {
            if !std::mem::replace(&mut hopeful[node], true) {
                queue.extend(&self.nodes[node].before);
            }
        }
        hopeful.iter().position(|hopeful| !hopeful)
    }
}
