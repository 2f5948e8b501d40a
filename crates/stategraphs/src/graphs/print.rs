//! Graphs as text, DOT and AUT.

use shoal_dbm::Bound;
use std::fmt::Write;

use super::{GraphNode, Privacy, StateGraph, reduce::is_unknown};
use crate::system::{ProcessSystem, show_value};

/// The arcs of a graph with the names of what they do.
fn label(system: &ProcessSystem<'_>, moves: &[(usize, usize)]) -> String {
    let name = |(process, rule): &(usize, usize)| {
        let process = &system.processes[*process];
        format!("{}: {}", process.name, system.model.rules[process.rules[*rule].rule].name)
    };
    moves.iter().map(name).collect::<Vec<_>>().join("; ")
}

/// What a node records.
fn record(system: &ProcessSystem<'_>, graph: &StateGraph, privacy: &Privacy, node: &GraphNode) -> String {
    let mut parts = Vec::new();
    for (cell, def) in system.cells.iter().enumerate() {
        let (fact, private) = (node.facts[cell], privacy.private[cell]);
        let owned = def.owner.and_then(|(sort, element)| system.process(sort, element));
        if private == 0
            || is_unknown(fact, private)
            || owned.is_some_and(|process| !graph.members.contains(&process))
        {
            continue;
        }
        let values: Vec<String> = (0..def.size)
            .filter(|at| fact & (1 << at) != 0)
            .map(|at| show_value(system.model, def.ty, at))
            .collect();
        match (values.as_slice(), privacy.outside[cell] == 0) {
            ([value], true) => parts.push(format!("{}={value}", def.name)),
            (_, true) => parts.push(format!("{} in {{{}}}", def.name, values.join(","))),
            ([], false) => parts.push(format!("{} not private", def.name)),
            (_, false) => parts.push(format!("{} may be {}", def.name, values.join(","))),
        }
    }
    let clock = |at: usize| system.timers[graph.timers[at - 1]].name.as_str();
    for i in 0..node.zone.dim() {
        for j in 0..node.zone.dim() {
            let bound = node.zone.get(i, j);
            let Some(c) = bound.constant().filter(|_| i != j && !(i == 0 && bound == Bound::ZERO)) else {
                continue;
            };
            let sign = if bound.is_strict() { "<" } else { "<=" };
            parts.push(match (i, j) {
                (i, 0) => format!("{}{sign}{c}", clock(i)),
                (0, j) => format!("{}{sign}{}", -c, clock(j)),
                (i, j) => format!("{}-{}{sign}{c}", clock(i), clock(j)),
            });
        }
    }
    parts.join(" ")
}

/// One line a node, one a counted arc.
pub fn to_text(system: &ProcessSystem<'_>, graph: &StateGraph) -> String {
    let privacy = Privacy::new(system, &graph.members);
    let mut text = String::new();
    for (number, node) in graph.nodes.iter().enumerate() {
        let _ = writeln!(text, "{number}: {}", record(system, graph, &privacy, node));
        for arc in graph.arcs[number].iter().filter(|arc| arc.counted) {
            let renamed = if arc.permutation.is_empty() { "" } else { " (renamed)" };
            let _ = writeln!(text, "    {} -> {}{renamed}", label(system, &arc.moves), arc.target);
        }
    }
    text
}

/// What each node records, and each counted arc: from, what it does, to. For pictures.
pub fn to_parts(
    system: &ProcessSystem<'_>,
    graph: &StateGraph,
) -> (Vec<String>, Vec<(usize, String, usize)>) {
    let privacy = Privacy::new(system, &graph.members);
    let nodes = graph.nodes.iter().map(|node| record(system, graph, &privacy, node)).collect();
    let arcs = graph.arcs.iter().enumerate().flat_map(|(number, arcs)| {
        let counted = arcs.iter().filter(|arc| arc.counted);
        counted.map(move |arc| (number, label(system, &arc.moves), arc.target))
    });
    (nodes, arcs.collect())
}

/// For Graphviz.
pub fn to_dot(system: &ProcessSystem<'_>, graph: &StateGraph) -> String {
    let privacy = Privacy::new(system, &graph.members);
    let mut text = "digraph {\n  node [shape=box];\n".to_string();
    for (number, node) in graph.nodes.iter().enumerate() {
        let _ = writeln!(text, "  {number} [label={:?}];", record(system, graph, &privacy, node));
    }
    for (number, arcs) in graph.arcs.iter().enumerate() {
        for arc in arcs.iter().filter(|arc| arc.counted) {
            let _ = writeln!(text, "  {number} -> {} [label={:?}];", arc.target, label(system, &arc.moves));
        }
    }
    text.push_str("}\n");
    text
}

/// For CADP and other tools: `des (first, arcs, nodes)`, then an arc a line.
pub fn to_aut(system: &ProcessSystem<'_>, graph: &StateGraph) -> String {
    let mut text = format!("des (0, {}, {})\n", graph.arc_count(), graph.node_count());
    for (number, arcs) in graph.arcs.iter().enumerate() {
        for arc in arcs.iter().filter(|arc| arc.counted) {
            let _ = writeln!(text, "({number}, {:?}, {})", label(system, &arc.moves), arc.target);
        }
    }
    text
}
