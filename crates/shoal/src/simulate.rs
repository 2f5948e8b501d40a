//! Walking through a model: at random with a seed, or by hand.

use std::{collections::HashSet, ops::ControlFlow};

use shoal_interpret::{Blame, Branch, Firing, Instance, Interpreter};
use shoal_model::{
    During, Fault, Model, PropertyId, PropertyKind, Ratio, Reason, RuleId, SortId, StartId, State, Step,
    Swap, Trace, TypedId, Value,
};

use crate::Error;

/// So many ways to begin are offered.
const MOST_STARTS: usize = 1_000;

/// A walk: a trace that grows. It stands before the start until a first move is made.
///
/// A single step may take long, if a model says so; [`crate::under`] ends it when a watch does.
#[derive(Clone, Debug)]
pub struct Simulation<'m> {
    interpreter: Interpreter<'m>,
    random: SplitMix,
    trace: Option<Trace>,
    /// Time that has passed since the last step, and the state then.
    waited: Option<(Ratio, State)>,
}

/// Why a rule may not fire.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DisabledRule {
    /// The rule.
    pub rule: RuleId,
    /// The values of its parameters, of one instance that may not fire.
    pub args: Vec<Value>,
    /// The first part of its guard that is false.
    pub why: Blame,
}

/// So many rules that may not fire are looked at, and so many instances of each.
/// Half time units that can be waited for, if nothing else happens.
const HALVES: u64 = 20;
const MOST_DISABLED: usize = 300;
const MOST_INSTANCES: usize = 8;

/// With so many moves, later moments are not looked at.
const MOST_MOVES: usize = 10_000;

/// Something that may happen next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Move {
    /// The time that passes before.
    pub delay: Ratio,
    /// The start or the rule.
    pub what: MoveKind,
    /// The values of its parameters.
    pub args: Vec<Value>,
    /// The values that its choices take.
    pub choices: Vec<Value>,
    /// The state it leads to, or the fault it ends in.
    pub result: Result<State, Fault>,
    /// What it puts out on the way.
    pub output: Vec<String>,
}

/// A start or a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MoveKind {
    /// A start.
    Start(StartId),
    /// A rule.
    Rule(RuleId),
}

/// What a walk goes to.
pub enum WalkGoal<'g> {
    /// A state in which something holds.
    Holds(&'g mut dyn FnMut(&State) -> bool),
    /// A step of a rule.
    Fires(RuleId),
}

impl WalkGoal<'_> {
    fn holds(&mut self, state: &State) -> bool {
        match self {
            WalkGoal::Holds(holds) => holds(state),
            WalkGoal::Fires(_) => false,
        }
    }

    fn fires(&self, what: MoveKind) -> bool {
        match self {
            WalkGoal::Holds(_) => false,
            WalkGoal::Fires(rule) => what == MoveKind::Rule(*rule),
        }
    }
}

impl Move {
    /// What a violation says was going on.
    pub fn during(&self) -> During {
        match self.what {
            MoveKind::Start(start) => During::Start(start, self.args.clone(), self.choices.clone()),
            MoveKind::Rule(rule) => During::Body(rule, self.args.clone(), self.choices.clone()),
        }
    }
}

impl<'m> Simulation<'m> {
    /// A walk that has not begun. The same model and seed give the same random walk.
    pub fn new(model: &'m Model, seed: u64) -> Result<Self, Error> {
        let interpreter = Interpreter::new(model).map_err(|error| Error::NotRunnable(error.to_string()))?;
        Ok(Simulation { interpreter, random: SplitMix(seed), trace: None, waited: None })
    }

    /// A walk that goes on from the end of a run of this model.
    pub fn going_on(model: &'m Model, run: Trace, seed: u64) -> Result<Self, Error> {
        Ok(Simulation { trace: Some(run), ..Simulation::new(model, seed)? })
    }

    /// The model that is walked through.
    pub fn model(&self) -> &'m Model {
        self.interpreter.model()
    }

    /// Begins again in a state that somebody thought of: no step leads to it.
    pub fn begin_at(&mut self, state: State) {
        if let Some(trace) = &mut self.trace {
            *trace = Trace { state, steps: Vec::new(), ..trace.clone() };
            self.waited = None;
        }
    }

    /// The walk so far; nothing before the first move.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// The state that the walk has reached.
    pub fn state(&self) -> Option<&State> {
        match &self.waited {
            Some((_, state)) => Some(state),
            None => self.trace.as_ref().map(Trace::last),
        }
    }

    /// Lets time pass. False, and nothing happens, if so much may not pass.
    pub fn wait(&mut self, delay: Ratio) -> bool {
        let before = self.waited.as_ref().map_or(Ratio::ZERO, |(waited, _)| *waited);
        let after = self.state().and_then(|state| self.interpreter.delay(state, delay));
        let (Some(after), Some(sum)) = (after, before.checked_add(delay)) else { return false };
        self.waited = (sum != Ratio::ZERO).then_some((sum, after));
        true
    }

    /// The time that has passed since the last step.
    pub fn waited(&self) -> Ratio {
        self.waited.as_ref().map_or(Ratio::ZERO, |(waited, _)| *waited)
    }

    /// The moments from now on in which something that is looked at changes, one between any two of them, and half time units as long
    /// as time may pass. Only now, where none may pass; none, where no clock shows it.
    pub fn moments(&self) -> Vec<Ratio> {
        let mut moments = Vec::new();
        let Some(state) = self.state().filter(|_| self.model().has_clocks()) else { return moments };
        self.interpreter.wait(state, &mut |passed, _, _| {
            moments.push(passed);
            match moments.len() < MOST_MOVES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        // An open end is no moment, and a walk may want to go near it.
        for half in (1..=HALVES).filter_map(|count| Ratio::new(count, 2)) {
            if !moments.contains(&half) && self.interpreter.delay(state, half).is_some() {
                moments.push(half);
            }
        }
        moments.sort();
        moments
    }

    /// The rules of which nothing may fire now, each with the first part of its guard that is false.
    pub fn disabled(&self) -> Vec<DisabledRule> {
        let Some(state) = self.state() else { return Vec::new() };
        let mut seen = vec![0; self.interpreter.model().rules.len()];
        let mut found: Vec<DisabledRule> = Vec::new();
        let instances = self.interpreter.instances(state);
        for instance in &instances {
            if self.interpreter.guard(state, instance) == Ok(true) {
                seen[instance.rule.index()] = MOST_INSTANCES;
            }
        }
        for instance in instances {
            let seen = &mut seen[instance.rule.index()];
            if *seen >= MOST_INSTANCES || found.len() >= MOST_DISABLED {
                continue;
            }
            *seen += 1;
            if let Some(why) = self.interpreter.why_disabled(state, &instance) {
                *seen = MOST_INSTANCES;
                found.push(DisabledRule { rule: instance.rule, args: instance.args, why });
            }
        }
        found
    }

    /// For each of some moves, the first that is like it: the same rule, with elements of these sorts exchanged that this state
    /// does not tell apart. The sorts must be known to be symmetric.
    pub fn alike(&self, moves: &[Move], symmetric: &[SortId]) -> Vec<usize> {
        let model = self.interpreter.model();
        let mut first: Vec<usize> = (0..moves.len()).collect();
        let Some(state) = self.state() else { return first };
        for at in 0..moves.len() {
            let like = |earlier: &usize| {
                first[*earlier] == *earlier && is_like(model, state, symmetric, &moves[*earlier], &moves[at])
            };
            if let Some(earlier) = (0..at).find(like) {
                first[at] = earlier;
            }
        }
        first
    }

    /// Everything that may happen next, each as soon as it may. States that an assumption drops are left out.
    pub fn moves(&self) -> Vec<Move> {
        first_of_each(self.moves_in_time())
    }

    /// The shortest way from here to what somebody looks for, as the numbers of moves; and how many states were looked at. No way
    /// if there is none among so many states.
    pub fn find(&self, mut goal: WalkGoal<'_>, most: usize) -> (Option<Vec<usize>>, usize) {
        let Some(state) = self.state() else { return (None, 0) };
        if goal.holds(state) {
            return (Some(Vec::new()), 1);
        }
        // Each state with the one it was reached from and the number of the move.
        let mut seen: Vec<(State, usize, usize)> = vec![(state.clone(), 0, 0)];
        let mut known: HashSet<State> = HashSet::from([state.clone()]);
        let mut at = 0;
        while at < seen.len() && seen.len() < most {
            let moves = first_of_each(self.moves_at(&seen[at].0));
            for (number, next) in moves.into_iter().enumerate() {
                let Ok(state) = next.result else { continue };
                let fires = goal.fires(next.what);
                if !fires && !known.insert(state.clone()) {
                    continue;
                }
                let found = fires || goal.holds(&state);
                seen.push((state, at, number));
                if found {
                    return (Some(way(&seen)), seen.len());
                }
            }
            at += 1;
        }
        (None, seen.len())
    }

    /// The number of one of some moves, at random; nothing if there is none.
    pub fn choose(&mut self, moves: &[Move]) -> Option<usize> {
        (!moves.is_empty()).then(|| self.random.below(moves.len()))
    }

    /// The number of the move that a step of a run of this model is, and the time to wait before; nothing if it is none of those
    /// that are offered.
    pub fn number_of(&mut self, step: &Step) -> Option<(Ratio, usize)> {
        let is_it = |next: &Move| {
            next.what == MoveKind::Rule(step.rule) && next.args == step.args && next.choices == step.choices
        };
        let moves = self.moves();
        if let Some(at) = moves.iter().position(|next| is_it(next) && next.delay == step.delay) {
            return Some((Ratio::ZERO, at));
        }
        let mut later = self.clone();
        if !later.wait(step.delay) {
            return None;
        }
        let at = later.moves().iter().position(|next| is_it(next) && next.delay == Ratio::ZERO)?;
        Some((step.delay, at))
    }

    /// The same at every moment in which something changes while time passes.
    fn moves_in_time(&self) -> Vec<Move> {
        match self.state() {
            Some(state) => self.moves_at(state),
            None => self.starts(),
        }
    }

    fn moves_at(&self, state: &State) -> Vec<Move> {
        // Each step is short; a search makes many.
        shoal_model::look();
        let mut moves = Vec::new();
        self.interpreter.wait(state, &mut |delay, _, steps| {
            for (instance, branch) in steps.branches {
                let next = self.as_move(MoveKind::Rule(instance.rule), instance.args, branch);
                moves.extend(next.map(|next| Move { delay, ..next }));
            }
            match moves.len() < MOST_MOVES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        moves
    }

    /// The first of the ways to begin: there may be more than anyone can choose from.
    fn starts(&self) -> Vec<Move> {
        let foreseen = shoal_analysis::foresee(self.interpreter.model());
        let ahead = foreseen.as_ref().and_then(|model| Interpreter::new(model).ok());
        let starts = ahead.as_ref().unwrap_or(&self.interpreter).starts_up_to(MOST_STARTS);
        let moves = starts.into_iter();
        moves.filter_map(|(start, args, branch)| self.as_move(MoveKind::Start(start), args, branch)).collect()
    }

    fn as_move(&self, what: MoveKind, args: Vec<Value>, branch: Branch) -> Option<Move> {
        let result = match branch.result {
            Firing::State(state) if self.interpreter.dropped_by(&state) != Ok(None) => return None,
            Firing::State(state) => Ok(state),
            Firing::Fault(fault) => Err(fault),
            Firing::Discarded => return None,
        };
        let delay = Ratio::ZERO;
        Some(Move { delay, what, args, choices: branch.choices, result, output: branch.output })
    }

    /// Makes a move that [`Simulation::moves`] gave. One that ends in a fault leads nowhere.
    pub fn take(&mut self, next: &Move) {
        let Ok(state) = &next.result else { return };
        let (args, choices, state) = (next.args.clone(), next.choices.clone(), state.clone());
        match (&mut self.trace, next.what) {
            (None, MoveKind::Start(start)) => {
                self.trace = Some(Trace { start, args, choices, state, steps: Vec::new(), loops_to: None });
            }
            (Some(trace), MoveKind::Rule(rule)) => {
                let waited = self.waited.take().map_or(Ratio::ZERO, |(waited, _)| waited);
                let delay = waited.checked_add(next.delay).unwrap_or(next.delay);
                trace.steps.push(Step { delay, rule, args, choices, state });
            }
            _ => {}
        }
    }

    /// Takes the last move back. False before the first move.
    pub fn back(&mut self) -> bool {
        if self.waited.take().is_some() {
            return true;
        }
        let Some(trace) = &mut self.trace else { return false };
        if trace.steps.pop().is_none() {
            self.trace = None;
        }
        true
    }

    /// Makes a move at random and gives it; nothing where there is none.
    pub fn step(&mut self) -> Option<Move> {
        let mut moves = self.moves_in_time();
        if moves.is_empty() {
            return None;
        }
        let chosen = moves.swap_remove(self.random.below(moves.len()));
        self.take(&chosen);
        Some(chosen)
    }

    fn some_step_faults(&self, state: &State) -> bool {
        let faults = |(_, branch): &(Instance, Branch)| matches!(branch.result, Firing::Fault(_));
        self.interpreter.steps(state).branches.iter().any(faults)
    }

    /// What is wrong in the state that the walk has reached: invariants that are false, properties and guards
    /// that fault, deadlocks.
    pub fn findings(&self, asked: &[PropertyId]) -> Vec<(PropertyId, Reason)> {
        self.state().map(|state| self.findings_in(state, asked)).unwrap_or_default()
    }

    /// The same of any state of the model.
    pub fn findings_in(&self, state: &State, asked: &[PropertyId]) -> Vec<(PropertyId, Reason)> {
        let model = self.interpreter.model();
        let asks_faults = |id: &&PropertyId| model.properties[**id].kind == PropertyKind::NoFaults;
        let no_faults = asked.iter().find(asks_faults).copied();
        let mut found = Vec::new();
        for id in asked.iter().copied() {
            let result = match &model.properties[id].kind {
                PropertyKind::Invariant(condition) => self.interpreter.holds(state, condition),
                PropertyKind::Deadlock(kind) => {
                    let moves = self.interpreter.is_deadlock_in_time(state, kind).map(|is| !is);
                    // Where a step faults the walk goes on with it, and that is what is wrong.
                    if moves != Ok(true) && self.some_step_faults(state) { Ok(true) } else { moves }
                }
                PropertyKind::Assertion
                | PropertyKind::NoFaults
                | PropertyKind::Bound
                | PropertyKind::Assume(_)
                | PropertyKind::Cover(_)
                | PropertyKind::CoverDeadlock(_)
                | PropertyKind::AlwaysPossible(_)
                | PropertyKind::Temporal(..)
                | PropertyKind::Extreme(_)
                | PropertyKind::Unclear(_) => Ok(true),
            };
            match (result, &model.properties[id].kind) {
                (Ok(true), _) => {}
                (Ok(false), PropertyKind::Deadlock(_)) => found.push((id, Reason::Deadlock)),
                (Ok(false), _) => found.push((id, Reason::ConditionFalse)),
                (Err(fault), _) => found.push((id, Reason::Fault(During::Property(id), fault))),
            }
        }
        if let Some(property) = no_faults {
            for (instance, fault) in self.interpreter.enabled(state).faults {
                found.push((property, Reason::Fault(During::Guard(instance.rule, instance.args), fault)));
            }
        }
        found
    }
}

/// Each move as soon as it may be made.
fn first_of_each(in_time: Vec<Move>) -> Vec<Move> {
    let mut known = HashSet::new();
    let is_first = |next: &Move| known.insert((next.what, next.args.clone(), next.choices.clone()));
    in_time.into_iter().filter(is_first).collect()
}

/// The numbers of the moves that lead to the last of some states.
fn way(seen: &[(State, usize, usize)]) -> Vec<usize> {
    let mut numbers = Vec::new();
    let mut at = seen.len().saturating_sub(1);
    while at > 0 {
        let (_, from, number) = &seen[at];
        numbers.push(*number);
        at = *from;
    }
    numbers.reverse();
    numbers
}

/// Whether one move is another with two elements exchanged that a state does not tell apart.
fn is_like(model: &Model, state: &State, symmetric: &[SortId], one: &Move, other: &Move) -> bool {
    let (MoveKind::Rule(rule), true) = (one.what, one.what == other.what && one.delay == other.delay) else {
        return false;
    };
    let differing = one.args.iter().zip(&other.args).chain(one.choices.iter().zip(&other.choices));
    let mut differing = differing.filter(|(left, right)| left != right);
    let Some((Value::Elem(sort, left), Value::Elem(of, right))) = differing.next() else { return false };
    if sort != of || !symmetric.contains(sort) || model.rules.get(rule).is_none() {
        return false;
    }
    let swap = Swap { sort: *sort, left: *left, right: *right };
    let exchanged = |value: &Value| match value {
        Value::Elem(of, element) if of == sort && element == left => Value::Elem(*sort, *right),
        Value::Elem(of, element) if of == sort && element == right => Value::Elem(*sort, *left),
        value => value.clone(),
    };
    let same = |left: &[Value], right: &[Value]| left.iter().map(exchanged).eq(right.iter().cloned());
    same(&one.args, &other.args) && same(&one.choices, &other.choices) && swap.state(model, state) == *state
}

/// SplitMix64: a walk must be the same with every version of every library, so the numbers are made here.
#[derive(Clone, Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound, by the high bits of a product: no bound is large enough for its bias to show.
    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}
