//! Whether what a running system has logged is a behaviour of its model.
//!
//! After each event the set of states is known that the model may be in: those that the rules of the event lead to, as far as the
//! values that the log tells fit, and those that rules which leave no event lead on to. Where it becomes empty the log is no
//! behaviour; the shortest run to the nearest miss says why.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use shoal_interpret::{Blame, Firing, Instance, Interpreter, StateCell};
use shoal_model::{Fault, RuleId, StartId, State, Step, StopReason, Trace, Value, Watch, under};

use crate::{Error, Loaded};

/// So many ways to begin are tried.
const MOST_STARTS: usize = 100_000;

/// What an event tells of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// The rules that it may be a step of.
    pub rules: Vec<RuleId>,
    /// Parameters by name, and what they were; the others may be anything.
    pub args: Vec<(String, Value)>,
    /// Parts of the state after the step, and what they were.
    pub after: Vec<(StateCell, Value)>,
}

/// How a log is gone through.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogOptions {
    /// Rules that leave no event.
    pub hidden: Vec<RuleId>,
    /// So many states are kept in mind after one event.
    pub states: usize,
    /// When to end.
    pub watch: Watch,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions { hidden: Vec::new(), states: 100_000, watch: Watch::default() }
    }
}

/// A run of the model that a log, or its beginning, tells of.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedRun {
    /// The shortest such run.
    pub trace: Trace,
    /// For each step, the event that tells of it, from 0; none for a step that leaves no event.
    pub events: Vec<Option<usize>>,
}

/// What became of a log.
#[derive(Clone, Debug, PartialEq)]
pub enum Validated {
    /// It is a behaviour of the model: a run that it tells of.
    Behaviour(Box<LoggedRun>),
    /// It is none.
    Stuck(Box<StuckLog>),
}

/// The first event that no step of the model fits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StuckLog {
    /// The event, from 0.
    pub event: usize,
    /// A shortest run of the events before it, to the state that comes nearest.
    pub run: LoggedRun,
    /// How many states the model may be in before the event.
    pub states: usize,
    /// Why each rule of the event, in that state, does not fit.
    pub misses: Vec<Miss>,
    /// What may happen in that state instead.
    pub possible: Vec<(RuleId, Vec<Value>)>,
}

/// Why a step does not fit an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    /// The rule.
    pub rule: RuleId,
    /// The values of its parameters.
    pub args: Vec<Value>,
    /// Why.
    pub why: MissedBy,
}

/// Why a step does not fit an event.
#[derive(Clone, Debug, PartialEq)]
pub enum MissedBy {
    /// It may not fire: the part of its guard that is false, if that is known.
    Disabled(Option<Box<Blame>>),
    /// A rule that takes precedence may fire.
    Priority,
    /// It ends in a fault.
    Faults(Fault),
    /// An assumption drops the state that it leads to.
    Dropped,
    /// It leads to other values than the log tells: where, what the log says, what it is.
    Otherwise(Vec<(StateCell, Value, Value)>),
}

/// The kind of a miss, and how far a step came.
type Distance = (u8, Reverse<usize>);

impl MissedBy {
    /// How far it is from what the log says. A guard is read from left to right: the later it fails, the nearer it was.
    fn distance(&self) -> Distance {
        match self {
            MissedBy::Otherwise(cells) => (0, Reverse(usize::MAX - cells.len())),
            MissedBy::Dropped | MissedBy::Faults(_) => (1, Reverse(0)),
            MissedBy::Priority => (2, Reverse(0)),
            MissedBy::Disabled(blame) => {
                (3, Reverse(blame.as_ref().map_or(0, |blame| blame.span.start as usize)))
            }
        }
    }
}

/// Says whether a log is a behaviour of a model. Models with clocks are refused: an event does not say how much time has passed.
pub fn validate_log(loaded: &Loaded, log: &[Observation], options: &LogOptions) -> Result<Validated, Error> {
    if loaded.model.has_clocks() {
        return Err(Error::NotRunnable("logs of models with clocks are not supported".into()));
    }
    let interpreter =
        Interpreter::new(&loaded.model).map_err(|error| Error::NotRunnable(error.to_string()))?;
    let first = loaded.model.rules.iter().next().map(|rule| rule.priority);
    let ranked = loaded.model.rules.iter().any(|rule| Some(rule.priority) != first);
    let mut search = LogSearch { interpreter, options, ranked, nodes: Vec::new() };
    under(&options.watch, || search.run(log)).map_err(Error::Stopped)?
}

/// A state that the model may be in, and how it got there.
struct LogNode {
    state: State,
    /// How many steps it takes from a start.
    depth: usize,
    came: Came,
}

enum Came {
    Start(StartId, Vec<Value>, Vec<Value>),
    Step { from: usize, instance: Instance, choices: Vec<Value>, event: Option<usize> },
}

struct LogSearch<'m, 'o> {
    interpreter: Interpreter<'m>,
    options: &'o LogOptions,
    /// Whether some rules take precedence over others.
    ranked: bool,
    nodes: Vec<LogNode>,
}

/// States, each by its hash, with the shortest way to it.
#[derive(Default)]
struct Layer {
    known: HashMap<State, usize>,
    waiting: BinaryHeap<Reverse<(usize, usize)>>,
}

impl LogSearch<'_, '_> {
    fn run(&mut self, log: &[Observation]) -> Result<Validated, Error> {
        let mut layer = self.starts()?;
        for (event, observed) in log.iter().enumerate() {
            let now = self.closed(layer)?;
            layer = self.after(&now, event, observed)?;
            if layer.known.is_empty() {
                return Ok(Validated::Stuck(Box::new(self.stuck(&now, event, observed)?)));
            }
        }
        let last = layer.known.values().copied().min_by_key(|node| self.nodes[*node].depth);
        let last = last.ok_or_else(|| Error::NotRunnable("the model has no start".into()))?;
        Ok(Validated::Behaviour(Box::new(self.run_to(last)?)))
    }

    fn starts(&mut self) -> Result<Layer, Error> {
        let foreseen = shoal_analysis::foresee(self.interpreter.model());
        let ahead = foreseen.as_ref().and_then(|model| Interpreter::new(model).ok());
        let starts = ahead.as_ref().unwrap_or(&self.interpreter).starts_up_to(MOST_STARTS);
        if starts.len() == MOST_STARTS {
            return Err(Error::NotRunnable("there are too many ways to begin".into()));
        }
        let mut layer = Layer::default();
        for (start, args, branch) in starts {
            let Firing::State(state) = branch.result else { continue };
            if self.interpreter.dropped_by(&state) == Ok(None) {
                self.add(&mut layer, state, 0, Came::Start(start, args, branch.choices))?;
            }
        }
        Ok(layer)
    }

    /// Adds a state to a layer, unless it is there with a way that is as short.
    fn add(&mut self, layer: &mut Layer, state: State, depth: usize, came: Came) -> Result<(), Error> {
        self.options.watch.check().map_err(Error::Stopped)?;
        if layer.known.get(&state).is_some_and(|node| self.nodes[*node].depth <= depth) {
            return Ok(());
        }
        if layer.known.len() >= self.options.states {
            return Err(Error::Stopped(StopReason::States(self.options.states as u64)));
        }
        let node = self.nodes.len();
        layer.known.insert(state.clone(), node);
        layer.waiting.push(Reverse((depth, node)));
        self.nodes.push(LogNode { state, depth, came });
        Ok(())
    }

    /// The states of a layer and those that steps without an event lead on to, nearest to a start first.
    fn closed(&mut self, mut layer: Layer) -> Result<Vec<usize>, Error> {
        let mut done = Vec::new();
        while let Some(Reverse((depth, node))) = layer.waiting.pop() {
            // A shorter way was found after this one.
            if layer.known.get(&self.nodes[node].state) != Some(&node) {
                continue;
            }
            done.push(node);
            let state = self.nodes[node].state.clone();
            for instance in self.enabled(&state, &self.options.hidden) {
                for branch in self.interpreter.fire(&state, &instance) {
                    let Firing::State(next) = branch.result else { continue };
                    if self.interpreter.dropped_by(&next) == Ok(None) {
                        let instance = instance.clone();
                        let came = Came::Step { from: node, instance, choices: branch.choices, event: None };
                        self.add(&mut layer, next, depth + 1, came)?;
                    }
                }
            }
        }
        Ok(done)
    }

    /// The instances of some rules that may fire.
    fn enabled(&self, state: &State, rules: &[RuleId]) -> Vec<Instance> {
        if self.ranked {
            let mut enabled = self.interpreter.enabled(state).instances;
            enabled.retain(|instance| rules.contains(&instance.rule));
            return enabled;
        }
        let mut instances = self.instances(state, rules);
        instances.retain(|instance| self.interpreter.guard(state, instance) == Ok(true));
        instances
    }

    fn instances(&self, state: &State, rules: &[RuleId]) -> Vec<Instance> {
        let mut instances = self.interpreter.instances(state);
        instances.retain(|instance| rules.contains(&instance.rule));
        instances
    }

    /// Whether the arguments are as an event says.
    fn fits(&self, instance: &Instance, observed: &Observation) -> bool {
        let rule = &self.interpreter.model().rules[instance.rule];
        observed.args.iter().all(|(name, value)| {
            let position = rule.params.iter().position(|it| rule.code.locals[it.local].name == *name);
            position.and_then(|position| instance.args.get(position)) == Some(value)
        })
    }

    /// The states after an event.
    fn after(&mut self, now: &[usize], event: usize, observed: &Observation) -> Result<Layer, Error> {
        let mut layer = Layer::default();
        for node in now {
            let LogNode { state, depth, .. } = &self.nodes[*node];
            let (state, depth) = (state.clone(), *depth);
            let mut enabled = self.enabled(&state, &observed.rules);
            enabled.retain(|instance| self.fits(instance, observed));
            for instance in enabled {
                for branch in self.interpreter.fire(&state, &instance) {
                    let Firing::State(next) = branch.result else { continue };
                    let fits = unlike(&next, observed).is_empty();
                    if fits && self.interpreter.dropped_by(&next) == Ok(None) {
                        let instance = instance.clone();
                        let choices = branch.choices;
                        let came = Came::Step { from: *node, instance, choices, event: Some(event) };
                        self.add(&mut layer, next, depth + 1, came)?;
                    }
                }
            }
        }
        Ok(layer)
    }

    /// Why no step fits: told of the state that comes nearest, and of those the one with the shortest run.
    fn stuck(&self, now: &[usize], event: usize, observed: &Observation) -> Result<StuckLog, Error> {
        let far = (u8::MAX, Reverse(0));
        let mut nearest: Option<(Distance, usize, Vec<Miss>)> = None;
        for node in now {
            let mut misses = self.misses(&self.nodes[*node].state, observed);
            misses.sort_by_key(|miss| miss.why.distance());
            let distance = misses.first().map_or(far, |miss| miss.why.distance());
            let is_nearer = |(known, at, _): &(Distance, usize, Vec<Miss>)| {
                (distance, self.nodes[*node].depth) < (*known, self.nodes[*at].depth)
            };
            if nearest.as_ref().is_none_or(is_nearer) {
                nearest = Some((distance, *node, misses));
            }
        }
        let (_, node, misses) = nearest.ok_or_else(|| Error::NotRunnable("the model has no start".into()))?;
        let enabled = self.interpreter.enabled(&self.nodes[node].state).instances;
        let possible = enabled.into_iter().map(|instance| (instance.rule, instance.args)).collect();
        Ok(StuckLog { event, run: self.run_to(node)?, states: now.len(), misses, possible })
    }

    fn misses(&self, state: &State, observed: &Observation) -> Vec<Miss> {
        let enabled = self.enabled(state, &observed.rules);
        let mut misses = Vec::new();
        for instance in self.instances(state, &observed.rules) {
            if !self.fits(&instance, observed) {
                continue;
            }
            let mut miss = |why| misses.push(Miss { rule: instance.rule, args: instance.args.clone(), why });
            if !enabled.contains(&instance) {
                miss(match self.interpreter.guard(state, &instance) {
                    Ok(true) => MissedBy::Priority,
                    Ok(false) => {
                        MissedBy::Disabled(self.interpreter.why_disabled(state, &instance).map(Box::new))
                    }
                    Err(fault) => MissedBy::Faults(fault),
                });
                continue;
            }
            for branch in self.interpreter.fire(state, &instance) {
                match branch.result {
                    Firing::State(next) if unlike(&next, observed).is_empty() => miss(MissedBy::Dropped),
                    Firing::State(next) => miss(MissedBy::Otherwise(unlike(&next, observed))),
                    Firing::Fault(fault) => miss(MissedBy::Faults(fault)),
                    Firing::Discarded => miss(MissedBy::Dropped),
                }
            }
        }
        misses
    }

    /// The run to a state, replayed.
    fn run_to(&self, mut node: usize) -> Result<LoggedRun, Error> {
        let (mut steps, mut events) = (Vec::new(), Vec::new());
        let (start, args, choices) = loop {
            let LogNode { state, came, .. } = &self.nodes[node];
            match came {
                Came::Start(start, args, choices) => break (*start, args.clone(), choices.clone()),
                Came::Step { from, instance, choices, event } => {
                    steps.push(Step {
                        delay: shoal_model::Ratio::ZERO,
                        rule: instance.rule,
                        args: instance.args.clone(),
                        choices: choices.clone(),
                        state: state.clone(),
                    });
                    events.push(*event);
                    node = *from;
                }
            }
        };
        steps.reverse();
        events.reverse();
        let state = self.nodes[node].state.clone();
        let trace = Trace { start, args, choices, state, steps, loops_to: None };
        shoal_interpret::replay(self.interpreter.model(), &trace)
            .map_err(|error| Error::Internal(format!("the run of a log does not replay: {error}")))?;
        Ok(LoggedRun { trace, events })
    }
}

/// Where a state is not as an event says.
fn unlike(state: &State, observed: &Observation) -> Vec<(StateCell, Value, Value)> {
    let mut unlike = Vec::new();
    for (cell, value) in &observed.after {
        let found = value_in(state, cell);
        if found != *value {
            unlike.push((cell.clone(), value.clone(), found));
        }
    }
    unlike
}

/// What is in a part of a state; undefined where there is no such part.
fn value_in(state: &State, cell: &StateCell) -> Value {
    let mut value = state.value(cell.var);
    for position in &cell.path {
        let part = match value {
            Value::Record(parts) | Value::Array(parts) => parts.get(*position),
            _ => None,
        };
        match part {
            Some(part) => value = part,
            None => return Value::Undefined,
        }
    }
    value.clone()
}
