//! What was done to state-graphs, one JSON object a step.

use std::time::Duration;

use serde_json::json;

use crate::json::SCHEMA;

/// Something that was done to a state-graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphStep<'a> {
    /// The graph's name.
    pub name: &'a str,
    /// What was done.
    pub operation: &'a str,
    /// How many nodes it has now.
    pub nodes: usize,
    /// How many arcs.
    pub arcs: usize,
    /// How long that took.
    pub time: Duration,
}

/// A step: the graph's name, the operation, its size and how long it took; for a check, what was found.
pub fn graph_event(done: GraphStep<'_>, checked: Option<(&str, Option<bool>, &str)>) -> String {
    let mut event = json!({
        "schema": SCHEMA,
        "event": "graph",
        "name": done.name,
        "operation": done.operation,
        "nodes": done.nodes,
        "arcs": done.arcs,
        "seconds": done.time.as_secs_f64(),
    });
    if let Some((property, holds, text)) = checked {
        event["property"] = json!(property);
        event["verdict"] = json!(match holds {
            Some(true) => "holds",
            Some(false) => "violated",
            None => "unknown",
        });
        event["text"] = json!(text);
    }
    event.to_string()
}
