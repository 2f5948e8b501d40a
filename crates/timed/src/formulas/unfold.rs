//! The automaton of a whole model: its locations are what the discrete variables can be, its edges the steps between them.

use std::{cell::RefCell, collections::HashMap};

use shoal_dbm::{Constraint, Zone};
use shoal_model::{Condition, Job, Model, Observer, RuleId, TypedId, Value};
use shoal_tctl::{Arena, ArenaEdge, ArenaLocation, Computed, Space, TctlHalt, unsupported};

use crate::{
    search::{SearchFinish, ZoneSearch, steps_folded},
    state::{ZoneState, clocks},
    steps::{RunEnd, ZoneSteps},
    trace::parameters,
};

/// The step of the model that an edge is.
pub(super) struct EdgeLabel {
    pub(super) rule: RuleId,
    pub(super) args: Vec<Value>,
    pub(super) choices: Vec<Value>,
}

/// A start: which of the model, its arguments and choices.
pub(super) struct UnfoldStart {
    pub(super) ordinal: usize,
    pub(super) args: Vec<Value>,
    pub(super) choices: Vec<Value>,
}

/// The automaton of a model.
pub(super) struct ModelAutomaton<'m> {
    pub(super) search: ZoneSearch<'m>,
    pub(super) arena: Arena,
    /// What the discrete variables are in each location. The zones say nothing.
    pub(super) states: Vec<ZoneState>,
    /// What each edge is.
    pub(super) labels: Vec<EdgeLabel>,
    /// What each start is.
    pub(super) starts: Vec<UnfoldStart>,
    /// Atoms that fault in some location.
    pub(super) faulting: RefCell<Vec<Condition>>,
}

impl Space for ModelAutomaton<'_> {
    fn atom(&self, condition: &Condition) -> Computed {
        let in_location = |(location, state): (&ArenaLocation, &ZoneState)| {
            let judged = self.steps().judge(state, condition, true)?;
            if !judged.faults.is_empty() {
                self.faulting.borrow_mut().push(condition.clone());
            }
            let zone = |way: &Vec<Constraint>| {
                let mut zone = location.domain.clone();
                zone.constrain_all(way.iter().copied()).then_some(zone)
            };
            Ok(judged.ways.iter().filter_map(zone).collect())
        };
        self.arena.locations.iter().zip(&self.states).map(in_location).collect()
    }

    fn greatest(&self) -> i64 {
        self.search.steps.bounds.greatest()
    }

    fn compares_clocks(&self) -> bool {
        self.search.steps.bounds.compares_clocks()
    }
}

impl<'m> ModelAutomaton<'m> {
    /// Unfolds a model, as far as can be reached.
    pub(super) fn new(
        model: &'m Model,
        job: &Job,
        observer: &mut dyn Observer,
    ) -> Result<ModelAutomaton<'m>, TctlHalt> {
        let everything = Job { properties: Vec::new(), patience: None, ..job.clone() };
        let mut search = ZoneSearch::new(steps_folded(model, job)?, &everything);
        if let SearchFinish::Stopped(reason) = search.run(&everything, observer)? {
            return Err(reason.into());
        }
        let clocks = search.kept.first().map_or(0, |kept| kept.state.zone.dim() - 1);
        let arena = Arena { clocks, locations: Vec::new(), edges: Vec::new(), starts: Vec::new() };
        let (states, labels, starts) = (Vec::new(), Vec::new(), Vec::new());
        let mut automaton =
            ModelAutomaton { search, arena, states, labels, starts, faulting: RefCell::default() };
        let mut index = HashMap::new();
        for at in 0..automaton.search.kept.len() {
            automaton.edges_of(at, &mut index)?;
        }
        automaton.find_starts(&mut index)?;
        Ok(automaton)
    }

    fn steps(&self) -> &ZoneSteps<'m> {
        &self.search.steps
    }

    /// The location of a state, where its clocks have gone, and what its elements are called there.
    fn folded(
        &mut self,
        state: &ZoneState,
        index: &mut HashMap<Vec<i64>, usize>,
    ) -> Result<(usize, Vec<usize>, Vec<usize>), TctlHalt> {
        if !self.steps().folds() {
            return Ok((self.location(state, index)?, Vec::new(), Vec::new()));
        }
        let (steps, mut folded) = (self.steps(), state.clone());
        folded.zone = Zone::universe(self.arena.clocks);
        let was = folded.fold(&steps.layout, &steps.free);
        let mut places: Vec<usize> = (1..=self.arena.clocks).collect();
        let mut names: Vec<usize> = (0..steps.offset(steps.free.len())).collect();
        for (new, old) in was.into_iter().enumerate() {
            let (from, to) = (&state.classes[old], &folded.classes[new]);
            let (start, end) =
                (state.clock_of(&steps.layout, old, 0), folded.clock_of(&steps.layout, new, 0));
            for at in 0..clocks(&steps.layout, from.sort) {
                places[start - 1 + at] = end + at;
            }
            let number = |name: i64| steps.offset(from.sort) + name.max(0) as usize;
            names[number(from.cells[0])] = number(to.cells[0]);
        }
        Ok((self.location(&folded, index)?, places, names))
    }

    fn location(
        &mut self,
        state: &ZoneState,
        index: &mut HashMap<Vec<i64>, usize>,
    ) -> Result<usize, TctlHalt> {
        let key = state.key();
        if let Some(known) = index.get(&key) {
            return Ok(*known);
        }
        let mut state = state.clone();
        state.zone = Zone::universe(self.arena.clocks);
        let steps = self.steps();
        let invariant = match steps.is_urgent(&state)? {
            true => None,
            false => invariant(steps, &state)?,
        };
        let domain = domain(steps, &state)?;
        index.insert(key, self.states.len());
        self.arena.locations.push(ArenaLocation::new(domain, invariant));
        self.states.push(state);
        Ok(self.states.len() - 1)
    }

    /// The edges that a state of the search can take.
    fn edges_of(&mut self, at: usize, index: &mut HashMap<Vec<i64>, usize>) -> Result<(), TctlHalt> {
        if self.search.kept[at].covered {
            return Ok(());
        }
        let from_state = self.search.kept[at].state.clone();
        let from = self.location(&from_state, index)?;
        for rule in self.steps().model.rules.ids() {
            let mut found = Vec::new();
            let steps = self.steps();
            steps.fire(&from_state, rule, true, &mut |machine, end| {
                if let RunEnd::State = end {
                    let args = parameters(steps, machine, false, rule.index());
                    let events = machine.events.take().unwrap_or_default();
                    found.push((machine.state.clone(), args, machine.choices.clone(), events));
                }
            })?;
            for (state, args, choices, events) in found {
                let (to, places, names) = self.folded(&state, index)?;
                let known = self.arena.locations[from].leaving.iter().any(|number| {
                    let (edge, label) = (&self.arena.edges[*number], &self.labels[*number]);
                    edge.to == to && label.rule == rule && label.args == args && edge.events == events
                });
                if !known {
                    self.arena.connect(ArenaEdge { from, to, events, places, names });
                    self.labels.push(EdgeLabel { rule, args, choices });
                }
            }
        }
        Ok(())
    }

    fn find_starts(&mut self, index: &mut HashMap<Vec<i64>, usize>) -> Result<(), TctlHalt> {
        let mut ordinal = 0;
        loop {
            let mut found = Vec::new();
            let steps = self.steps();
            let more = steps.start_with(ordinal, true, &mut |machine, end| {
                if let RunEnd::State = end {
                    let args = parameters(steps, machine, true, ordinal);
                    found.push((machine.state.clone(), args, machine.choices.clone()));
                }
            })?;
            if !more {
                return Ok(());
            }
            for (state, args, choices) in found {
                let (location, places, names) = self.folded(&state, index)?;
                let value = |clock: usize| state.zone.get(clock, 0).constant().unwrap_or(0);
                let mut clocks: Vec<i32> = (1..=self.arena.clocks).map(value).collect();
                for (at, place) in places.iter().enumerate() {
                    clocks[place - 1] = value(at + 1);
                }
                self.arena.starts.push((location, clocks, names));
                self.starts.push(UnfoldStart { ordinal, args, choices });
            }
            ordinal += 1;
        }
    }
}

/// Where time may pass in a location; nothing if nowhere.
fn invariant(steps: &ZoneSteps<'_>, state: &ZoneState) -> Result<Option<Zone>, TctlHalt> {
    let mut zone = state.zone.clone();
    let Some(condition) = &steps.model.while_time_passes else { return Ok(Some(zone)) };
    match steps.judge(state, condition, true)?.ways.as_slice() {
        [] => Ok(None),
        [only] => Ok(zone.constrain_all(only.iter().copied()).then_some(zone)),
        _ => unsupported("an invariant with `or` between clocks", Some(condition.expr.span)),
    }
}

/// What the clocks may be in a location: what is given, where that is a zone.
fn domain(steps: &ZoneSteps<'_>, state: &ZoneState) -> Result<Zone, TctlHalt> {
    let mut zone = state.zone.clone();
    for given in &steps.given {
        if let [only] = steps.judge(state, given, true)?.ways.as_slice() {
            let before = zone.clone();
            if !zone.constrain_all(only.iter().copied()) {
                zone = before;
            }
        }
    }
    Ok(zone)
}
