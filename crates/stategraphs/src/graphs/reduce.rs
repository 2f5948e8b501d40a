//! The reducers that identify nodes: shielded timers, shielded variables, symmetry.

use std::{collections::HashMap, time::Instant};

use super::{
    Arc, GraphNode, GraphRefusal, Privacy, Reducer, StateGraph,
    canon::{GraphCanon, add_images, compose, image_move, inverse},
    explore::{ProcessStepper, finish},
};
use crate::system::{ProcessSystem, ValueMask};

/// The reducer by Lemma 2: a timer that is reset before it is read, on every way from a node, is forgotten there.
///
/// This is the liveness of the timer in the *graph*, not in the locations: an arc that other reducers have taken away
/// reads nothing. (The paper's Definition 4 wants the reset before the step that enters the invariant that reads it;
/// a reset on that very step must count, or no timer would ever be shielded.) Timers of properties are never forgotten,
/// nor are those that others read.
pub fn shield_clock(system: &ProcessSystem<'_>, graph: &StateGraph) -> StateGraph {
    let began = Instant::now();
    let stepper = ProcessStepper::new(system, &graph.members, graph.tracked);
    let (_, asked) = asked(system, graph);
    let is_read = |timer: &usize| asked[*timer] || stepper.privacy.timed_outside[*timer];
    let always: Vec<bool> = graph.timers.iter().map(is_read).collect();
    let live = liveness(
        graph,
        graph.timers.len(),
        |node| reads_of_invariant(&stepper, &graph.nodes[node], &always),
        |arc, after| {
            // What is read before the step: backwards over its moves.
            let mut live = if arc.permutation.is_empty() {
                after.to_vec()
            } else {
                let mut before = vec![false; after.len()];
                for (clock, live) in after.iter().enumerate() {
                    let timer = system.kinship.image_timer(graph.timers[clock], &inverse(&arc.permutation));
                    if let Ok(at) = graph.timers.binary_search(&timer) {
                        before[at] = *live;
                    }
                }
                before
            };
            for (process, rule) in arc.moves.iter().rev() {
                let rule = &system.processes[*process].rules[*rule];
                for (timer, _) in &rule.resets {
                    if let Ok(at) = graph.timers.binary_search(timer) {
                        live[at] = always[at];
                    }
                }
                for timer in rule.guard.clocks() {
                    if let Ok(at) = graph.timers.binary_search(&timer) {
                        live[at] = true;
                    }
                }
            }
            live
        },
    );
    let shielded = graph.nodes.iter().zip(&live).map(|(node, live)| {
        let mut node = node.clone();
        node.shielded.clear();
        for (clock, _) in live.iter().enumerate().filter(|(_, live)| !**live) {
            node.zone.free(clock + 1);
            node.shielded.push(graph.timers[clock]);
        }
        node
    });
    let reduced = identify(graph, shielded.collect());
    let mut reduced = folded_again(system, reduced);
    finish(&mut reduced, graph, Reducer::ShieldClock, began);
    reduced
}

/// In a graph that symmetry has folded, nodes whose records have become images of each other are one, too.
fn folded_again(system: &ProcessSystem<'_>, graph: StateGraph) -> StateGraph {
    match graph.folded {
        true => fold(system, &graph).unwrap_or(graph),
        false => graph,
    }
}

fn reads_of_invariant(stepper: &ProcessStepper<'_, '_>, node: &GraphNode, always: &[bool]) -> Vec<bool> {
    let mut reads = always.to_vec();
    for constraint in stepper.invariant(&node.facts) {
        for clock in [constraint.left, constraint.right].into_iter().filter(|clock| *clock > 0) {
            reads[clock - 1] = true;
        }
    }
    reads
}

/// Which cells and which timers the properties mention. In a graph that symmetry has folded, a process of a node may stand for any like
/// it, so what is asked of one is asked of all.
pub(super) fn asked(system: &ProcessSystem<'_>, graph: &StateGraph) -> (Vec<bool>, Vec<bool>) {
    let (mut cells, mut timers) = (vec![false; system.cells.len()], vec![false; system.timers.len()]);
    let properties = system.model.properties.iter();
    let asked = properties.filter(|property| !matches!(property.kind, shoal_model::PropertyKind::Assume(_)));
    for condition in asked.flat_map(|property| property.kind.conditions()) {
        system.mention(condition, &mut cells, &mut timers);
    }
    if graph.folded {
        add_images(system, &graph.members, &mut cells, &mut timers);
    }
    (cells, timers)
}

/// The least solution of `live(v) = reads(v) or, for an arc to v', before(arc, live(v'))`.
fn liveness(
    graph: &StateGraph,
    width: usize,
    reads: impl Fn(usize) -> Vec<bool>,
    before: impl Fn(&Arc, &[bool]) -> Vec<bool>,
) -> Vec<Vec<bool>> {
    let mut live: Vec<Vec<bool>> = (0..graph.nodes.len()).map(&reads).collect();
    let mut comes_from: Vec<Vec<usize>> = vec![Vec::new(); graph.nodes.len()];
    for (node, arcs) in graph.arcs.iter().enumerate() {
        arcs.iter().for_each(|arc| comes_from[arc.target].push(node));
    }
    let mut queue: Vec<usize> = (0..graph.nodes.len()).collect();
    let mut queued = vec![true; graph.nodes.len()];
    while let Some(node) = queue.pop() {
        shoal_model::look();
        queued[node] = false;
        let mut now = live[node].clone();
        for arc in &graph.arcs[node] {
            let found = before(arc, &live[arc.target]);
            (0..width).for_each(|at| now[at] |= found[at]);
        }
        if now != live[node] {
            live[node] = now;
            for from in &comes_from[node] {
                if !std::mem::replace(&mut queued[*from], true) {
                    queue.push(*from);
                }
            }
        }
    }
    live
}

/// The graph with other records; nodes whose records have become equal are one, with the arcs of all of them.
fn identify(graph: &StateGraph, records: Vec<GraphNode>) -> StateGraph {
    let mut index: HashMap<GraphNode, usize> = HashMap::new();
    let mut nodes = Vec::new();
    let mut number = Vec::new();
    for (old, node) in records.into_iter().enumerate() {
        // What was bypassed makes equal records behave differently.
        if graph.bypassed {
            number.push(old);
            nodes.push(node);
            continue;
        }
        let fresh = nodes.len();
        let at = *index.entry(node.clone()).or_insert(fresh);
        if at == fresh {
            nodes.push(node);
        }
        number.push(at);
    }
    let mut arcs: Vec<Vec<Arc>> = vec![Vec::new(); nodes.len()];
    for (old, leaving) in graph.arcs.iter().enumerate() {
        for arc in leaving {
            let arc = Arc { target: number[arc.target], ..arc.clone() };
            let same = |known: &Arc| {
                known.moves == arc.moves && known.target == arc.target && known.permutation == arc.permutation
            };
            match arcs[number[old]].iter_mut().find(|known| same(known)) {
                Some(known) => known.counted |= arc.counted,
                None => arcs[number[old]].push(arc),
            }
        }
    }
    StateGraph { nodes, arcs, ..graph.clone() }.trimmed()
}

/// Forgets a variable where, on every way from a node, it is written before it is read, nobody outside reads it and no
/// property mentions it. The paper uses this reducer and never defines it.
pub fn shield_variables(system: &ProcessSystem<'_>, graph: &StateGraph) -> StateGraph {
    let began = Instant::now();
    let privacy = Privacy::new(system, &graph.members);
    let width = system.cells.len();
    let mut always = privacy.read_outside.clone();
    let (asked, _) = asked(system, graph);
    always.iter_mut().zip(asked).for_each(|(always, asked)| *always |= asked);
    for process in &graph.members {
        let invariants = system.processes[*process].invariant.iter().flatten();
        invariants.flat_map(|part| &part.cells).for_each(|(cell, _)| always[*cell] = true);
    }
    system.invariant.iter().flatten().flat_map(|part| &part.cells).for_each(|(cell, _)| always[*cell] = true);
    // Cells of a folded graph are forgotten only if no arc exchanges processes: else their names would move.
    let live = liveness(
        graph,
        width,
        |_| always.clone(),
        |arc, after| {
            let mut live = after.to_vec();
            if !arc.permutation.is_empty() {
                return vec![true; width];
            }
            for (process, rule) in arc.moves.iter().rev() {
                let rule = &system.processes[*process].rules[*rule];
                rule.assigns.iter().for_each(|(cell, _)| live[*cell] = always[*cell]);
                rule.guard.cells.iter().for_each(|(cell, _)| live[*cell] = true);
            }
            live
        },
    );
    let shielded = graph.nodes.iter().zip(&live).map(|(node, live)| {
        let mut node = node.clone();
        for (cell, live) in live.iter().enumerate() {
            if !live {
                node.facts[cell] |= privacy.private[cell];
            }
        }
        node
    });
    let reduced = identify(graph, shielded.collect::<Vec<GraphNode>>());
    let mut reduced = folded_again(system, reduced);
    finish(&mut reduced, graph, Reducer::ShieldVariables, began);
    reduced
}

/// One node for all its images under permutations of like processes. Arcs carry the permutation that leads from the
/// state they reach to the node that stands for it. Of moves that a permutation of the source exchanges, one is counted.
pub fn symmetry(system: &ProcessSystem<'_>, graph: &StateGraph) -> Result<StateGraph, GraphRefusal> {
    let began = Instant::now();
    let mut reduced = fold(system, graph)?;
    finish(&mut reduced, graph, Reducer::Symmetry, began);
    Ok(reduced)
}

fn fold(system: &ProcessSystem<'_>, graph: &StateGraph) -> Result<StateGraph, GraphRefusal> {
    let canon = GraphCanon::new(system, &graph.members, &graph.timers)?;
    let canonical: Vec<(GraphNode, Vec<usize>)> =
        graph.nodes.iter().inspect(|_| shoal_model::look()).map(|node| canon.canonical(node, None)).collect();
    let mut index: HashMap<&GraphNode, usize> = HashMap::new();
    let mut chosen = Vec::new();
    for (old, (node, _)) in canonical.iter().enumerate() {
        if graph.bypassed {
            chosen.push(old);
            continue;
        }
        index.entry(node).or_insert_with(|| {
            chosen.push(old);
            chosen.len() - 1
        });
    }
    let number = |old: usize| if graph.bypassed { old } else { index[&canonical[old].0] };
    let representatives = keep_start(&graph.nodes[0], &canonical);
    let mut arcs = Vec::new();
    for old in &chosen {
        shoal_model::look();
        let (node, to_representative) = &representatives[*old];
        let mut leaving: Vec<Arc> = Vec::new();
        let mut seen: Vec<(Vec<usize>, GraphNode, usize)> = Vec::new();
        for arc in &graph.arcs[*old] {
            let undone = inverse(to_representative);
            let permutation = compose(&compose(&undone, &arc.permutation), &representatives[arc.target].1);
            let moves: Vec<(usize, usize)> =
                arc.moves.iter().map(|step| image_move(system, *step, to_representative)).collect();
            let identity = permutation.iter().enumerate().all(|(from, to)| from == *to);
            let target = number(arc.target);
            let marked = canon.canonical(node, moves.first().map(|(who, _)| *who)).0;
            let rules: Vec<usize> = moves.iter().map(|(_, rule)| *rule).collect();
            let key = (rules, marked, target);
            let counted = !seen.contains(&key);
            if counted {
                seen.push(key);
            }
            let permutation = if identity { Vec::new() } else { permutation };
            leaving.push(Arc { moves, target, permutation, counted });
        }
        arcs.push(leaving);
    }
    let nodes = chosen.iter().map(|old| representatives[*old].0.clone()).collect();
    Ok(StateGraph { nodes, arcs, folded: true, ..graph.clone() }.trimmed())
}

/// The node that stands for each, and a permutation that leads to it: the canonical one, but for the images of the start, for which the
/// start stands itself. No arc leads to it that could say who is who, and products and questions begin there with the real names.
/// (A start has images other than itself where something was forgotten of one process and not of another.)
fn keep_start(start: &GraphNode, canonical: &[(GraphNode, Vec<usize>)]) -> Vec<(GraphNode, Vec<usize>)> {
    let Some((first, to_first)) = canonical.first() else { return Vec::new() };
    let undone = inverse(to_first);
    let representative = |(node, permutation): &(GraphNode, Vec<usize>)| match node == first {
        true => (start.clone(), compose(permutation, &undone)),
        false => (node.clone(), permutation.clone()),
    };
    canonical.iter().map(representative).collect()
}

/// Whether a set of values is all that a cell can have; for printing.
pub(super) fn is_unknown(mask: ValueMask, private: ValueMask) -> bool {
    mask == private && private.count_ones() > 1
}
