//! Making graphs by following steps: of one process, of a product, of a graph with more facts.

use shoal_dbm::{ClockBounds, Constraint, Zone};
use std::{collections::HashMap, time::Instant};

use super::{Arc, GraphNode, GraphRefusal, MOST_NODES, Privacy, Reducer, StateGraph, canon};
use crate::system::{Conjunction, Dnf, ProcessSystem, ValueMask};

/// Computes steps of a set of processes.
pub(super) struct ProcessStepper<'s, 'm> {
    pub(super) system: &'s ProcessSystem<'m>,
    pub(super) members: Vec<usize>,
    pub(super) timers: Vec<usize>,
    pub(super) privacy: Privacy,
    /// Whether facts about cells that others write are kept.
    tracked: bool,
    /// For each timer of the system, what it is compared with by processes outside and by properties.
    limits: Vec<ClockBounds>,
}

impl<'s, 'm> ProcessStepper<'s, 'm> {
    pub(super) fn new(system: &'s ProcessSystem<'m>, members: &[usize], tracked: bool) -> Self {
        let privacy = Privacy::new(system, members);
        let is_member = |owner: Option<(shoal_model::SortId, u32)>| match owner {
            None => true,
            Some((sort, element)) => {
                system.process(sort, element).is_none_or(|process| members.contains(&process))
            }
        };
        // Of a timer that others set nothing is known: they may have done so at any moment.
        let is_known = |timer: &usize| is_member(system.timers[*timer].owner) && !privacy.set_outside[*timer];
        let timers: Vec<usize> = (0..system.timers.len()).filter(is_known).collect();
        let mut limits = system.common_limits.clone();
        for (_, other) in system.processes.iter().enumerate().filter(|(at, _)| !members.contains(at)) {
            other.limits.join(|_| ValueMask::MAX, &mut limits);
        }
        ProcessStepper { system, members: members.to_vec(), timers, privacy, tracked, limits }
    }

    /// The number of a timer in zones; nothing if they are not about it.
    pub(super) fn clock(&self, timer: usize) -> Option<usize> {
        self.timers.binary_search(&timer).ok().map(|at| at + 1)
    }

    /// A constraint on timers as one on the clocks of zones.
    pub(super) fn local_constraint(&self, constraint: &Constraint) -> Option<Constraint> {
        let clock = |global: usize| if global == 0 { Some(0) } else { self.clock(global - 1) };
        Some(Constraint {
            left: clock(constraint.left)?,
            right: clock(constraint.right)?,
            bound: constraint.bound,
        })
    }

    /// Forgets what is not kept: facts about cells that others write, where they are not tracked.
    fn settle(&self, facts: &mut [ValueMask]) {
        for (cell, fact) in facts.iter_mut().enumerate() {
            if !self.tracked && !self.privacy.is_exact(cell) {
                *fact = self.privacy.private[cell];
            }
        }
    }

    /// The node where it starts.
    pub(super) fn start(&self) -> Option<GraphNode> {
        let cells = self.system.cells.iter().enumerate();
        let mut facts: Vec<ValueMask> =
            cells.map(|(cell, def)| self.privacy.private[cell] & (1 << def.start)).collect();
        self.settle(&mut facts);
        let mut zone = Zone::zero(self.timers.len());
        zone.constrain_all(self.invariant(&facts)).then_some(GraphNode { facts, zone, shielded: Vec::new() })
    }

    /// What the invariants of the processes say about the clocks. A part that depends on what is not known is left out:
    /// the graph then has states too many, never too few.
    pub(super) fn invariant(&self, facts: &[ValueMask]) -> Vec<Constraint> {
        let own = self.members.iter().flat_map(|process| &self.system.processes[*process].invariant);
        let mut constraints = Vec::new();
        for dnf in own.chain(&self.system.invariant) {
            constraints.extend(self.required(dnf, facts));
        }
        constraints
    }

    /// The constraints that a disjunction comes to where the facts leave only one of its parts.
    fn required(&self, dnf: &Dnf, facts: &[ValueMask]) -> Vec<Constraint> {
        let possible = |cell: usize| facts[cell] | self.privacy.outside[cell];
        let parts: Vec<&Conjunction> = dnf
            .iter()
            .filter(|part| part.cells.iter().all(|(cell, mask)| possible(*cell) & mask != 0))
            .collect();
        let Some(first) = parts.first() else {
            // No part is possible: nothing satisfies it.
            return vec![Constraint { left: 0, right: 0, bound: shoal_dbm::Bound::BELOW_ZERO }];
        };
        // What all parts ask for is asked for; more, where one of them is left. The rest of a union is no zone.
        let shared = first
            .timers
            .iter()
            .filter(|constraint| parts.iter().all(|part| part.timers.contains(constraint)));
        shared.filter_map(|constraint| self.local_constraint(constraint)).collect()
    }

    /// Lets time pass in a node as long as the invariants hold.
    pub(super) fn elapsed(&self, node: &GraphNode) -> Option<Zone> {
        let mut zone = node.zone.clone();
        zone.up();
        zone.constrain_all(self.invariant(&node.facts)).then_some(zone)
    }

    /// The node that moves lead to, after some time; nothing if they are not possible.
    pub(super) fn post(&self, node: &GraphNode, moves: &[(usize, usize)]) -> Option<GraphNode> {
        let mut zone = self.elapsed(node)?;
        let mut facts = node.facts.clone();
        for (process, rule) in moves {
            let rule = &self.system.processes[*process].rules[*rule];
            for (cell, mask) in &rule.guard.cells {
                if (facts[*cell] | self.privacy.outside[*cell]) & mask == 0 {
                    return None;
                }
                facts[*cell] &= mask;
            }
            if !zone.constrain_all(
                rule.guard.timers.iter().filter_map(|constraint| self.local_constraint(constraint)),
            ) {
                return None;
            }
            for (cell, value) in &rule.assigns {
                facts[*cell] = self.privacy.private[*cell] & (1 << value);
            }
            for (timer, value) in &rule.resets {
                if let Some(clock) = self.clock(*timer) {
                    zone.reset(clock, *value);
                }
            }
        }
        self.settle(&mut facts);
        if !zone.constrain_all(self.invariant(&facts)) {
            return None;
        }
        zone.extrapolate_m(&self.limits(&facts));
        Some(GraphNode { facts, zone, shielded: Vec::new() })
    }

    /// What the timers of zones are compared with from a state of the members on.
    fn limits(&self, facts: &[ValueMask]) -> Vec<ClockBounds> {
        let mut limits = self.limits.clone();
        for process in &self.members {
            self.system.processes[*process].limits.join(|cell| facts[cell], &mut limits);
        }
        self.timers.iter().map(|timer| limits[*timer]).collect()
    }

    fn graph(&self, nodes: Vec<GraphNode>, arcs: Vec<Vec<Arc>>) -> StateGraph {
        StateGraph {
            members: self.members.clone(),
            timers: self.timers.clone(),
            nodes,
            arcs,
            reducers: Vec::new(),
            tracked: self.tracked,
            bypassed: false,
            folded: false,
            time: std::time::Duration::ZERO,
        }
    }
}

/// A step of an exploration: the arc without its target, the node it leads to, and what that node comes from.
type ExploredStep<T> = (Arc, GraphNode, T);

/// Nodes, and the arcs that leave each.
type GraphExploration = (Vec<GraphNode>, Vec<Vec<Arc>>);

/// Follows steps from a start, to so many nodes. Nodes with equal records are one, unless `apart`: then only if they come from the same.
fn explore<T: Clone + Eq + std::hash::Hash>(
    start: (GraphNode, T),
    apart: bool,
    most: usize,
    mut steps: impl FnMut(&GraphNode, &T) -> Vec<ExploredStep<T>>,
) -> Result<GraphExploration, GraphRefusal> {
    let origin = |from: &T| apart.then(|| from.clone());
    let mut index = HashMap::from([((start.0.clone(), origin(&start.1)), 0)]);
    let mut all = vec![start];
    let mut arcs: Vec<Vec<Arc>> = Vec::new();
    while arcs.len() < all.len() {
        shoal_model::look();
        let (node, from) = all[arcs.len()].clone();
        let mut leaving: Vec<Arc> = Vec::new();
        for (mut arc, next, next_from) in steps(&node, &from) {
            arc.target = *index.entry((next.clone(), origin(&next_from))).or_insert_with(|| {
                all.push((next, next_from));
                all.len() - 1
            });
            if !leaving.contains(&arc) {
                leaving.push(arc);
            }
        }
        arcs.push(leaving);
        if all.len() > most {
            return Err(GraphRefusal::TooLarge(most));
        }
    }
    Ok((all.into_iter().map(|(node, _)| node).collect(), arcs))
}

fn arc(moves: Vec<(usize, usize)>) -> Arc {
    Arc { moves, target: 0, permutation: Vec::new(), counted: true }
}

/// The graph of one process.
pub fn base(system: &ProcessSystem<'_>, process: usize) -> Result<StateGraph, GraphRefusal> {
    let began = Instant::now();
    let stepper = ProcessStepper::new(system, &[process], false);
    let start = stepper.start().ok_or(GraphRefusal::Empty)?;
    let rules = 0..system.processes[process].rules.len();
    let (nodes, arcs) = explore((start, ()), false, MOST_NODES, |node, ()| {
        let moves = rules.clone().map(|rule| vec![(process, rule)]);
        moves.filter_map(|moves| Some((arc(moves.clone()), stepper.post(node, &moves)?, ()))).collect()
    })?;
    let mut graph = stepper.graph(nodes, arcs);
    graph.time = began.elapsed();
    Ok(graph)
}

/// The product of two graphs of different processes.
pub fn merge(
    system: &ProcessSystem<'_>,
    left: &StateGraph,
    right: &StateGraph,
) -> Result<StateGraph, GraphRefusal> {
    merge_within(system, left, right, MOST_NODES)
}

/// The same, given up where it has more nodes than somebody wants.
pub fn merge_within(
    system: &ProcessSystem<'_>,
    left: &StateGraph,
    right: &StateGraph,
    most: usize,
) -> Result<StateGraph, GraphRefusal> {
    let began = Instant::now();
    if let Some(shared) = left.members.iter().find(|process| right.members.contains(process)) {
        return Err(GraphRefusal::Shared(system.processes[*shared].name.clone()));
    }
    let mut members = [left.members.as_slice(), &right.members].concat();
    members.sort_unstable();
    let stepper = ProcessStepper::new(system, &members, left.tracked || right.tracked);
    let start = stepper.start().ok_or(GraphRefusal::Empty)?;
    let components = [left, right];
    let shields = [Shields::new(&stepper, left), Shields::new(&stepper, right)];
    let apart = left.bypassed || right.bypassed;
    let (nodes, arcs) = explore((start, [0, 0]), apart, most, |node, from: &[usize; 2]| {
        let mut steps = Vec::new();
        for (side, component) in components.iter().enumerate() {
            for old in &component.arcs[from[side]] {
                let Some(mut next) = stepper.post(node, &old.moves) else { continue };
                if !old.permutation.is_empty() {
                    next = canon::image(system, &stepper.timers, &next, &old.permutation);
                }
                let mut next_from = *from;
                next_from[side] = old.target;
                for (shields, at) in shields.iter().zip(next_from) {
                    shields.apply(at, &mut next);
                }
                let arc = Arc { counted: true, target: 0, ..old.clone() };
                steps.push((arc, next, next_from));
            }
        }
        steps
    })?;
    let mut graph = stepper.graph(nodes, arcs);
    graph.bypassed = apart;
    graph.folded = left.folded || right.folded;
    graph.time = left.time + right.time + began.elapsed();
    Ok(graph)
}

/// What a component has shielded stays shielded in a product: nobody reads it there before it is written either.
struct Shields<'g> {
    graph: &'g StateGraph,
    /// The timers of the product.
    timers: Vec<usize>,
    /// The cells that the component knows exactly, unless it has shielded them, and all their values.
    cells: Vec<(usize, ValueMask)>,
}

impl<'g> Shields<'g> {
    fn new(stepper: &ProcessStepper<'_, '_>, graph: &'g StateGraph) -> Shields<'g> {
        let own = Privacy::new(stepper.system, &graph.members);
        let exact = (0..stepper.system.cells.len()).filter(|cell| own.is_exact(*cell));
        let cells =
            exact.map(|cell| (cell, own.private[cell])).filter(|(_, mask)| mask.count_ones() > 1).collect();
        Shields { graph, timers: stepper.timers.clone(), cells }
    }

    fn apply(&self, component: usize, product: &mut GraphNode) {
        for timer in &self.graph.nodes[component].shielded {
            if let (Ok(at), Err(to)) =
                (self.timers.binary_search(timer), product.shielded.binary_search(timer))
            {
                product.zone.free(at + 1);
                product.shielded.insert(to, *timer);
            }
        }
        for (cell, all) in &self.cells {
            if self.graph.nodes[component].facts[*cell] == *all {
                product.facts[*cell] = *all;
            }
        }
    }
}

/// The reducer by Lemma 1: follows what each variable can still be, and drops the arcs that this refutes.
pub fn read_write(system: &ProcessSystem<'_>, graph: &StateGraph) -> Result<StateGraph, GraphRefusal> {
    let began = Instant::now();
    let stepper = ProcessStepper::new(system, &graph.members, true);
    let mut start = stepper.start().ok_or(GraphRefusal::Empty)?;
    start.zone = graph.nodes[0].zone.clone();
    start.shielded = graph.nodes[0].shielded.clone();
    let (nodes, arcs) = explore((start, 0), graph.bypassed, MOST_NODES, |node, from: &usize| {
        let mut steps = Vec::new();
        for old in &graph.arcs[*from] {
            let Some(mut next) = stepper.post(node, &old.moves) else { continue };
            if !old.permutation.is_empty() {
                next = canon::image(system, &stepper.timers, &next, &old.permutation);
            }
            let known = &graph.nodes[old.target];
            next.zone = known.zone.clone();
            next.shielded = known.shielded.clone();
            // What the graph has shielded stays shielded.
            for (cell, fact) in next.facts.iter_mut().enumerate() {
                if stepper.privacy.is_exact(cell) {
                    *fact = known.facts[cell];
                }
            }
            steps.push((Arc { target: 0, ..old.clone() }, next, old.target));
        }
        steps
    })?;
    let mut reduced = stepper.graph(nodes, arcs);
    finish(&mut reduced, graph, Reducer::ReadWrite, began);
    Ok(reduced)
}

/// What a reduced graph keeps of the one it is made of.
pub(super) fn finish(reduced: &mut StateGraph, from: &StateGraph, reducer: Reducer, began: Instant) {
    reduced.reducers = from.reducers.clone();
    reduced.reducers.push(reducer);
    reduced.tracked |= from.tracked;
    reduced.bypassed |= from.bypassed;
    reduced.folded |= from.folded;
    reduced.time = from.time + began.elapsed();
}
