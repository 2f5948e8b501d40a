//! Deciding properties on a graph.

use std::collections::HashSet;

use shoal_model::{Condition, PropertyId, PropertyKind};

use super::{GraphNode, GraphRefusal, Privacy, StateGraph, canon, explore::ProcessStepper, formulas};
use crate::system::{Dnf, ProcessSystem};

/// What a graph says about a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphAnswer {
    /// It holds.
    Holds,
    /// It does not. For what can be reached, the moves that lead there.
    Violated(Vec<(usize, usize)>),
    /// The graph is of some of the processes only, and has states that need not be: a violation in it proves nothing.
    Unknown(Vec<(usize, usize)>),
    /// A limit was reached.
    GaveUp(String),
}

/// More images of nodes than this are not looked at for a property that is not symmetric.
const MOST_IMAGES: usize = 2_000_000;

/// Decides a property. That something always holds or can happen is looked for node by node; the other formulas are
/// evaluated on the states of nodes (see [`formulas`]).
///
/// Where processes were folded by symmetry and a condition names some of them, it is evaluated on every image of a node.
pub fn check(
    system: &ProcessSystem<'_>,
    graph: &StateGraph,
    id: PropertyId,
) -> Result<GraphAnswer, GraphRefusal> {
    let property = &system.model.properties[id];
    let (goal, reached) = match &property.kind {
        PropertyKind::Invariant(condition) => (dnf(system, condition, false)?, false),
        PropertyKind::Cover(Some(condition)) => (dnf(system, condition, true)?, true),
        // What could fault has been refused: values and indices of a system are constants.
        PropertyKind::NoFaults => return Ok(GraphAnswer::Holds),
        // Only the start has some, and a start in which one fails has been refused.
        PropertyKind::Assertion => return Ok(GraphAnswer::Holds),
        kind if shoal_tctl::is_temporal(kind) => return formulas::check(system, graph, id),
        _ => {
            let why = "not decided on state-graphs; `shoal check` decides it";
            return Err(GraphRefusal::Property(why.into()));
        }
    };
    let mentioned = goal.iter().flat_map(|part| &part.cells).map(|(cell, _)| *cell);
    let privacy = Privacy::new(system, &graph.members);
    let closed = graph.is_closed(system);
    if let Some(cell) = mentioned.into_iter().find(|cell| !closed && !privacy.is_exact(*cell)) {
        let name = &system.cells[cell].name;
        let why = format!("the graph does not know `{name}`, which others change");
        return Err(GraphRefusal::Property(why));
    }
    let found = find(system, graph, &goal)?;
    Ok(match (found, reached) {
        (Some(_), true) if closed => GraphAnswer::Holds,
        (Some(moves), true) => GraphAnswer::Unknown(moves),
        (Some(moves), false) if closed => GraphAnswer::Violated(moves),
        (Some(moves), false) => GraphAnswer::Unknown(moves),
        (None, true) => GraphAnswer::Violated(Vec::new()),
        (None, false) => GraphAnswer::Holds,
    })
}

fn dnf(system: &ProcessSystem<'_>, condition: &Condition, positive: bool) -> Result<Dnf, GraphRefusal> {
    let dnf = if positive { system.states(condition) } else { system.violations(condition) };
    dnf.map_err(|unsupported| GraphRefusal::Property(unsupported.to_string()))
}

/// A node, the real names of its processes, and where it comes from: which visit, and the moves from there.
type NodeVisit = (usize, Vec<usize>, Option<(usize, Vec<(usize, usize)>)>);

/// The moves to a state that satisfies the goal, fewest first.
fn find(
    system: &ProcessSystem<'_>,
    graph: &StateGraph,
    goal: &Dnf,
) -> Result<Option<Vec<(usize, usize)>>, GraphRefusal> {
    let stepper = ProcessStepper::new(system, &graph.members, graph.tracked);
    let identity: Vec<usize> = (0..system.processes.len()).collect();
    let names_matter = graph.folded && !canon::is_symmetric(system, &graph.members, goal);
    // From the node's names to the real ones. Where nothing is folded, always the identity.
    let mut seen = HashSet::from([(0, identity.clone())]);
    let mut queue: Vec<NodeVisit> = vec![(0, identity, None)];
    let mut next = 0;
    while next < queue.len() {
        let (node, names, _) = queue[next].clone();
        let record = canon::image(system, &graph.timers, &graph.nodes[node], &names);
        if satisfies(&stepper, &record, goal) {
            let mut moves: Vec<Vec<(usize, usize)>> = Vec::new();
            let mut at = next;
            while let (.., Some((before, step))) = &queue[at] {
                moves.push(step.clone());
                at = *before;
            }
            return Ok(Some(moves.into_iter().rev().flatten().collect()));
        }
        for arc in &graph.arcs[node] {
            let names_after = match arc.permutation.is_empty() || !names_matter {
                true => names.clone(),
                false => canon::compose(&canon::inverse(&arc.permutation), &names),
            };
            if seen.insert((arc.target, names_after.clone())) {
                let step = arc.moves.iter().map(|step| canon::image_move(system, *step, &names)).collect();
                queue.push((arc.target, names_after, Some((next, step))));
            }
        }
        next += 1;
        if queue.len() > MOST_IMAGES {
            return Err(GraphRefusal::TooLarge(MOST_IMAGES));
        }
    }
    Ok(None)
}

/// Whether some state of a node, after some time, satisfies one of the conjunctions.
fn satisfies(stepper: &ProcessStepper<'_, '_>, node: &GraphNode, goal: &Dnf) -> bool {
    goal.iter().any(|part| {
        let possible = |cell: usize| node.facts[cell] | stepper.privacy.outside[cell];
        if part.cells.iter().any(|(cell, mask)| possible(*cell) & mask == 0) {
            return false;
        }
        match stepper.elapsed(node) {
            Some(mut zone) => {
                let local = part.timers.iter().map(|constraint| stepper.local_constraint(constraint));
                local.flatten().all(|constraint| zone.constrain(constraint))
            }
            None => false,
        }
    })
}
