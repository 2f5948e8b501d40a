//! Formulas of branching time on a graph.
//!
//! Nodes are entry zones, which are no bisimulation: they do not tell which of their states can stay. So a formula is not
//! evaluated node by node, but on the states of nodes: the clocks may be whatever they are in a node after some time, and
//! sets of states are federations in each node. A state of a node takes the steps that the state of the system takes which
//! it stands for, as long as every step that is possible in a node has an arc. That is so for all reducers but the one that
//! bypasses transitions, so they keep all formulas that do not mention what they forget.
//!
//! A graph of some processes has runs too many: what holds on all of them holds, what is on none of them does not happen, and
//! about the rest nothing is known.

use std::{collections::HashMap, time::Duration};

use shoal_dbm::{ClockEvent, Federation, Zone};
use shoal_model::{Condition, Formula, PropertyId, Runs, Watch};
use shoal_tctl::{Arena, ArenaEdge, ArenaLocation, Computed, Space, TctlHalt, ZoneSet};

use super::{
    Arc, GraphAnswer, GraphNode, GraphRefusal, Privacy, StateGraph,
    canon::{self, compose, image_move, inverse},
    explore::ProcessStepper,
};
use crate::system::{Dnf, ProcessSystem};

/// More locations than this are not made of the images of nodes.
const MOST_LOCATIONS: usize = 50_000;
/// A formula is given up after this time.
const MOST_TIME: Duration = Duration::from_secs(300);

/// Decides a temporal property.
pub(super) fn check(
    system: &ProcessSystem<'_>,
    graph: &StateGraph,
    id: PropertyId,
) -> Result<GraphAnswer, GraphRefusal> {
    let property = &system.model.properties[id];
    let refused = GraphRefusal::Property;
    if graph.bypassed {
        let why = "internal transitions have been bypassed, which keeps only what can be reached";
        return Err(refused(why.into()));
    }
    shoal_tctl::support(system.model, id).map_err(|unsupported| refused(unsupported.to_string()))?;
    let formula = shoal_tctl::formula(&property.kind);
    known(system, graph, &formula).map_err(refused)?;
    let states = GraphStates::new(system, graph, &formula)?;
    let watch = Watch::default().within(MOST_TIME);
    let found = shoal_tctl::violation(&states.arena, &states, Runs::Divergent, &property.kind, &watch);
    let closed = graph.is_closed(system);
    match found {
        Ok(None) if closed || is_universal(&formula) => Ok(GraphAnswer::Holds),
        Ok(Some((_, run))) if closed || is_existential(&formula) => {
            Ok(GraphAnswer::Violated(states.moves(&run.edges())))
        }
        Ok(None) => Ok(GraphAnswer::Unknown(Vec::new())),
        Ok(Some((_, run))) => Ok(GraphAnswer::Unknown(states.moves(&run.edges()))),
        Err(TctlHalt::Stopped(reason)) => Ok(GraphAnswer::GaveUp(reason.to_string())),
        Err(TctlHalt::Lost) => Ok(GraphAnswer::GaveUp("the run to show has become too long".into())),
        Err(TctlHalt::Unsupported(unsupported)) => Err(refused(unsupported.to_string())),
    }
}

/// Whether a formula speaks of all paths only, so that it stays true where there are fewer.
fn is_universal(formula: &Formula) -> bool {
    match formula {
        Formula::Not(of) => is_existential(of),
        Formula::And(of) | Formula::Or(of) => of.iter().all(is_universal),
        Formula::AllPaths(path) => parts_of_path(path).into_iter().all(is_universal),
        Formula::SomePath(_) => false,
        Formula::Atom(_) => true,
        // Below a quantifier over paths these were taken apart.
        Formula::Next(_)
        | Formula::Always(..)
        | Formula::Eventually(..)
        | Formula::Until(..)
        | Formula::Release(..)
        | Formula::Never(_) => false,
    }
}

/// Whether a formula speaks of some path only, so that it stays false where there are fewer.
fn is_existential(formula: &Formula) -> bool {
    match formula {
        Formula::Not(of) => is_universal(of),
        Formula::And(of) | Formula::Or(of) => of.iter().all(is_existential),
        Formula::SomePath(path) => parts_of_path(path).into_iter().all(is_existential),
        Formula::AllPaths(_) => false,
        Formula::Atom(_) => true,
        Formula::Next(_)
        | Formula::Always(..)
        | Formula::Eventually(..)
        | Formula::Until(..)
        | Formula::Release(..)
        | Formula::Never(_) => false,
    }
}

fn parts_of_path(path: &Formula) -> Vec<&Formula> {
    match path {
        Formula::Always(_, of) | Formula::Eventually(_, of) => vec![of],
        Formula::Until(_, a, b) | Formula::Release(_, a, b) => vec![a, b],
        other => vec![other],
    }
}

/// The states of a graph.
struct GraphStates<'s, 'm, 'g> {
    stepper: ProcessStepper<'s, 'm>,
    arena: Arena,
    /// What each location records.
    records: Vec<GraphNode>,
    /// Which arc each edge is, and the real names of the processes where it begins; none if names do not matter.
    arcs: Vec<(&'g Arc, Option<Vec<usize>>)>,
}

impl<'s, 'm, 'g> GraphStates<'s, 'm, 'g> {
    /// Makes a location of each node; where processes were folded and an atom names some of them, of each image of a node.
    fn new(
        system: &'s ProcessSystem<'m>,
        graph: &'g StateGraph,
        formula: &Formula,
    ) -> Result<Self, GraphRefusal> {
        let symmetric = |condition: &&Condition| {
            let dnf = states_of(system, condition);
            dnf.is_ok_and(|(dnf, _)| canon::is_symmetric(system, &graph.members, &dnf))
        };
        let named = graph.folded && !formula.atoms().iter().all(symmetric);
        let stepper = ProcessStepper::new(system, &graph.members, graph.tracked);
        let start = vec![0; stepper.timers.len()];
        let arena = Arena {
            locations: Vec::new(),
            edges: Vec::new(),
            starts: vec![(0, start, Vec::new())],
            clocks: stepper.timers.len(),
        };
        let mut states = GraphStates { stepper, arena, records: Vec::new(), arcs: Vec::new() };
        states.explore(system, graph, named)?;
        Ok(states)
    }

    fn explore(
        &mut self,
        system: &ProcessSystem<'_>,
        graph: &'g StateGraph,
        named: bool,
    ) -> Result<(), GraphRefusal> {
        let identity: Vec<usize> = (0..system.processes.len()).collect();
        let mut index = HashMap::from([((0, identity.clone()), 0)]);
        let mut all = vec![(0, identity)];
        self.add(&graph.nodes[0]);
        let mut next = 0;
        while next < all.len() {
            let (node, names) = all[next].clone();
            for arc in &graph.arcs[node] {
                let moved = named && !arc.permutation.is_empty();
                let after = if moved { compose(&inverse(&arc.permutation), &names) } else { names.clone() };
                let to = *index.entry((arc.target, after.clone())).or_insert_with(|| {
                    let record = &graph.nodes[arc.target];
                    match named {
                        true => self.add(&canon::image(system, &graph.timers, record, &after)),
                        false => self.add(record),
                    }
                    all.push((arc.target, after));
                    all.len() - 1
                });
                let places = if named { Vec::new() } else { self.places(arc) };
                let events = self.events(arc, &names);
                let changed = if named { Vec::new() } else { arc.permutation.clone() };
                self.arena.connect(ArenaEdge { from: next, to, events, places, names: changed });
                self.arcs.push((arc, named.then(|| names.clone())));
            }
            if all.len() > MOST_LOCATIONS {
                return Err(GraphRefusal::TooLarge(MOST_LOCATIONS));
            }
            next += 1;
        }
        Ok(())
    }

    fn add(&mut self, record: &GraphNode) {
        // The invariant holds where a node is entered, so there is always something left.
        let room = self.stepper.elapsed(record).unwrap_or_else(|| record.zone.clone());
        self.arena.locations.push(ArenaLocation::new(room.clone(), Some(room)));
        self.records.push(record.clone());
    }

    /// What the moves of an arc ask of clocks and do to them.
    fn events(&self, arc: &Arc, names: &[usize]) -> Vec<ClockEvent> {
        let mut events = Vec::new();
        for step in &arc.moves {
            let (who, rule) = image_move(self.stepper.system, *step, names);
            let rule = &self.stepper.system.processes[who].rules[rule];
            let guard = rule.guard.timers.iter().filter_map(|it| self.stepper.local_constraint(it));
            events.extend(guard.map(ClockEvent::Holds));
            let resets = rule.resets.iter();
            events.extend(
                resets
                    .filter_map(|(timer, value)| Some(ClockEvent::Set(self.stepper.clock(*timer)?, *value))),
            );
        }
        events
    }

    /// Where the permutation of an arc takes the clocks.
    fn places(&self, arc: &Arc) -> Vec<usize> {
        if arc.permutation.is_empty() {
            return Vec::new();
        }
        let system = self.stepper.system;
        let place = |(at, timer): (usize, &usize)| {
            let image = system.kinship.image_timer(*timer, &arc.permutation);
            self.stepper.clock(image).unwrap_or(at + 1)
        };
        self.stepper.timers.iter().enumerate().map(place).collect()
    }

    /// The moves of a run, by the real names of processes.
    fn moves(&self, edges: &[usize]) -> Vec<(usize, usize)> {
        let mut names: Vec<usize> = (0..self.stepper.system.processes.len()).collect();
        let mut moves = Vec::new();
        for edge in edges {
            let (arc, known) = &self.arcs[*edge];
            names = known.clone().unwrap_or(names);
            moves.extend(arc.moves.iter().map(|step| image_move(self.stepper.system, *step, &names)));
            if !arc.permutation.is_empty() {
                names = compose(&inverse(&arc.permutation), &names);
            }
        }
        moves
    }

    /// The part of a location that satisfies one of the conjunctions.
    fn part(&self, location: usize, dnf: &Dnf) -> Federation {
        let (room, record) = (&self.arena.locations[location].domain, &self.records[location]);
        let zone = |part: &crate::system::Conjunction| -> Option<Zone> {
            part.cells.iter().all(|(cell, mask)| record.facts[*cell] & mask != 0).then_some(())?;
            let mut zone = room.clone();
            let local = part.timers.iter().filter_map(|constraint| self.stepper.local_constraint(constraint));
            zone.constrain_all(local).then_some(zone)
        };
        dnf.iter().filter_map(zone).collect()
    }
}

impl Space for GraphStates<'_, '_, '_> {
    fn atom(&self, condition: &Condition) -> Computed {
        let (dnf, positive) = states_of(self.stepper.system, condition)?;
        let of = |location: usize| {
            let part = self.part(location, &dnf);
            let all = || Federation::from(self.arena.locations[location].domain.clone());
            if positive { part } else { all().minus(&part) }
        };
        let set: ZoneSet = (0..self.records.len()).map(of).collect();
        Ok(set)
    }

    fn greatest(&self) -> i64 {
        let limits = self.stepper.system.timers.iter().map(|timer| timer.limits);
        let ends = limits.flat_map(|limits| [limits.lower, limits.upper]).flatten();
        ends.max().unwrap_or(0).into()
    }

    fn compares_clocks(&self) -> bool {
        // State-graphs refuse models that do.
        false
    }
}

/// The states in which a condition holds, or else those in which it does not: whichever is a small disjunction.
fn states_of(
    system: &ProcessSystem<'_>,
    condition: &Condition,
) -> Result<(Dnf, bool), shoal_model::Unsupported> {
    let positive = system.states(condition).map(|dnf| (dnf, true));
    positive.or_else(|_| system.violations(condition).map(|dnf| (dnf, false)))
}

/// Says what a formula mentions that the graph does not know.
fn known(system: &ProcessSystem<'_>, graph: &StateGraph, formula: &Formula) -> Result<(), String> {
    let privacy = Privacy::new(system, &graph.members);
    let (mut cells, mut timers) = (vec![false; system.cells.len()], vec![false; system.timers.len()]);
    formula.atoms().iter().for_each(|atom| system.mention(atom, &mut cells, &mut timers));
    let cell = (0..cells.len()).find(|cell| cells[*cell] && !privacy.is_exact(*cell));
    let timer = (0..timers.len()).find(|timer| timers[*timer] && graph.timers.binary_search(timer).is_err());
    let name = cell.map(|cell| &system.cells[cell].name);
    match name.or(timer.map(|timer| &system.timers[timer].name)) {
        Some(name) => Err(format!("the graph does not know `{name}`, which others change")),
        None => Ok(()),
    }
}
