//! Bypassing internal transitions.

use std::time::Instant;

use super::{
    Arc, GraphRefusal, Privacy, Reducer, StateGraph,
    explore::{ProcessStepper, finish},
    reduce::asked,
};
use crate::system::ProcessSystem;

/// Joins internal transitions with what follows them.
///
/// A variable is internal if nobody outside and no property uses it. A rule is internal if it touches only internal
/// variables and no timer. An arc `v1 -> v2` of an internal rule is taken away, and for each arc that leaves `v2` one is
/// added that leaves `v1` and does both, if what `v1` records of other variables and of timers implies what `v2` does and
/// the invariants of both say the same.
///
/// Unlike in the paper, an added arc carries the moves of both arcs: with the rule of the second alone a later merge would
/// evaluate its guard on the record of `v1` and find it false. Arcs on a cycle of internal transitions stay: without them a
/// process that runs for ever would not run at all. What can be reached stays the same as far as other variables can tell;
/// branching time does not, so [`super::check`] refuses it on such a graph.
pub fn bypass_internal_transition(
    system: &ProcessSystem<'_>,
    graph: &StateGraph,
) -> Result<StateGraph, GraphRefusal> {
    let began = Instant::now();
    let stepper = ProcessStepper::new(system, &graph.members, graph.tracked);
    let internal = internal_cells(system, graph);
    let mut arcs = graph.arcs.clone();
    let bypassed: Vec<(usize, Arc)> = graph
        .arcs
        .iter()
        .enumerate()
        .flat_map(|(from, arcs)| arcs.iter().map(move |arc| (from, arc)))
        .filter(|(from, arc)| {
            is_internal(system, arc, &internal)
                && arc.target != *from
                && arc.permutation.is_empty()
                && implies(&stepper, graph, *from, arc.target, &internal)
        })
        .map(|(from, arc)| (from, arc.clone()))
        .collect();
    let next_internal =
        |node: usize| bypassed.iter().filter(move |(from, _)| *from == node).map(|(_, arc)| arc.target);
    for (from, arc) in &bypassed {
        shoal_model::look();
        if reaches(arc.target, *from, &next_internal) {
            continue;
        }
        let Some(at) = arcs[*from].iter().position(|known| known == arc) else { continue };
        arcs[*from].remove(at);
        for second in arcs[arc.target].clone() {
            let moves = [arc.moves.as_slice(), &second.moves].concat();
            let joined = Arc { moves, ..second };
            // Two ways to the same node that differ only in what is internal are one.
            let seen = visible(system, &joined, &internal);
            let same = |known: &Arc| {
                known.target == joined.target
                    && known.permutation == joined.permutation
                    && visible(system, known, &internal) == seen
            };
            if !arcs[*from].iter().any(same) {
                arcs[*from].push(joined);
            }
        }
    }
    let mut reduced = StateGraph { arcs, ..graph.clone() }.trimmed();
    finish(&mut reduced, graph, Reducer::Bypass, began);
    reduced.bypassed = true;
    Ok(reduced)
}

/// Whether a node can be reached from another.
fn reaches<I: Iterator<Item = usize>>(from: usize, to: usize, next: &impl Fn(usize) -> I) -> bool {
    let mut seen = vec![from];
    let mut at = 0;
    while at < seen.len() {
        if seen[at] == to {
            return true;
        }
        for found in next(seen[at]) {
            if !seen.contains(&found) {
                seen.push(found);
            }
        }
        at += 1;
    }
    false
}

/// For each cell, whether only the graph's processes use it and no property does.
fn internal_cells(system: &ProcessSystem<'_>, graph: &StateGraph) -> Vec<bool> {
    let privacy = Privacy::new(system, &graph.members);
    let mut internal: Vec<bool> =
        (0..system.cells.len()).map(|cell| privacy.is_exact(cell) && !privacy.read_outside[cell]).collect();
    let (asked, _) = asked(system, graph);
    internal.iter_mut().zip(asked).for_each(|(internal, asked)| *internal &= !asked);
    internal
}

fn is_internal(system: &ProcessSystem<'_>, arc: &Arc, internal: &[bool]) -> bool {
    visible(system, arc, internal).is_empty()
}

/// The moves of an arc that are not internal.
fn visible(system: &ProcessSystem<'_>, arc: &Arc, internal: &[bool]) -> Vec<(usize, usize)> {
    let is_internal = |(process, rule): &&(usize, usize)| {
        let rule = &system.processes[*process].rules[*rule];
        rule.resets.is_empty()
            && rule.guard.timers.is_empty()
            && rule.guard.cells.iter().all(|(cell, _)| internal[*cell])
            && rule.assigns.iter().all(|(cell, _)| internal[*cell])
    };
    arc.moves.iter().filter(|step| !is_internal(step)).copied().collect()
}

/// Whether what a node records of timers and of variables that are not internal implies what another does, and their
/// invariants are the same.
fn implies(
    stepper: &ProcessStepper<'_, '_>,
    graph: &StateGraph,
    from: usize,
    to: usize,
    internal: &[bool],
) -> bool {
    let (from, to) = (&graph.nodes[from], &graph.nodes[to]);
    let facts = from.facts.iter().zip(&to.facts).zip(internal);
    let (mut here, mut there) = (stepper.invariant(&from.facts), stepper.invariant(&to.facts));
    here.sort();
    there.sort();
    facts.into_iter().all(|((from, to), internal)| *internal || from & !to == 0)
        && to.zone.includes(&from.zone)
        && here == there
}
