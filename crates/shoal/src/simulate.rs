//! Walking through a model: at random with a seed, or by hand.

use std::ops::ControlFlow;

use shoal_interpret::{Branch, Firing, Instance, Interpreter};
use shoal_model::{
    During, Fault, Model, PropertyId, PropertyKind, Ratio, Reason, RuleId, StartId, State, Step, Trace, Value,
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
    random: Random,
    trace: Option<Trace>,
}

/// With so many moves, later moments are not looked at.
const MOST_MOVES: usize = 10_000;

/// Something that may happen next.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Move {
    /// The time that passes before.
    pub delay: Ratio,
    /// The start or the rule.
    pub what: What,
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
pub enum What {
    /// A start.
    Start(StartId),
    /// A rule.
    Rule(RuleId),
}

impl Move {
    /// What a violation says was going on.
    pub fn during(&self) -> During {
        match self.what {
            What::Start(start) => During::Start(start, self.args.clone(), self.choices.clone()),
            What::Rule(rule) => During::Body(rule, self.args.clone(), self.choices.clone()),
        }
    }
}

impl<'m> Simulation<'m> {
    /// A walk that has not begun. The same model and seed give the same random walk.
    pub fn new(model: &'m Model, seed: u64) -> Result<Self, Error> {
        let interpreter = Interpreter::new(model).map_err(|error| Error::NotRunnable(error.to_string()))?;
        Ok(Simulation { interpreter, random: Random(seed), trace: None })
    }

    /// The walk so far; nothing before the first move.
    pub fn trace(&self) -> Option<&Trace> {
        self.trace.as_ref()
    }

    /// The state that the walk has reached.
    pub fn state(&self) -> Option<&State> {
        self.trace.as_ref().map(Trace::last)
    }

    /// Everything that may happen next, each as soon as it may. States that an assumption drops are left out.
    pub fn moves(&self) -> Vec<Move> {
        let mut moves: Vec<Move> = Vec::new();
        for next in self.moves_in_time() {
            let same = |known: &Move| {
                (known.what, &known.args, &known.choices) == (next.what, &next.args, &next.choices)
            };
            if !moves.iter().any(same) {
                moves.push(next);
            }
        }
        moves
    }

    /// The same at every moment in which something changes while time passes.
    fn moves_in_time(&self) -> Vec<Move> {
        let Some(state) = self.state() else { return self.starts() };
        let mut moves = Vec::new();
        self.interpreter.wait(state, &mut |delay, _, steps| {
            for (instance, branch) in steps.branches {
                let next = self.as_move(What::Rule(instance.rule), instance.args, branch);
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
        moves.filter_map(|(start, args, branch)| self.as_move(What::Start(start), args, branch)).collect()
    }

    fn as_move(&self, what: What, args: Vec<Value>, branch: Branch) -> Option<Move> {
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
            (None, What::Start(start)) => {
                self.trace = Some(Trace { start, args, choices, state, steps: Vec::new(), loops_to: None });
            }
            (Some(trace), What::Rule(rule)) => {
                trace.steps.push(Step { delay: next.delay, rule, args, choices, state });
            }
            _ => {}
        }
    }

    /// Takes the last move back. False before the first move.
    pub fn back(&mut self) -> bool {
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
        let Some(state) = self.state() else { return Vec::new() };
        let model = self.interpreter.model();
        let asks_faults = |id: &&PropertyId| model.properties[**id].kind == PropertyKind::NoFaults;
        let no_faults = asked.iter().find(asks_faults).copied();
        let mut found = Vec::new();
        for id in asked.iter().copied() {
            let result = match &model.properties[id].kind {
                PropertyKind::Invariant(condition) => self.interpreter.holds(state, condition),
                // Where a step faults the walk goes on with it, and that is what is wrong.
                PropertyKind::Deadlock(_) if self.some_step_faults(state) => Ok(true),
                PropertyKind::Deadlock(kind) => {
                    self.interpreter.is_deadlock_in_time(state, kind).map(|is| !is)
                }
                _ => Ok(true),
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

/// SplitMix64: a walk must be the same with every version of every library, so the numbers are made here.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
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
