//! Graphs of timed models: what the interpreter can do is in them, and what is in them can be done.

use std::path::Path;

use shoal::{LoadOptions, Loaded, ModelGraph, MoveKind, Simulation, Watch, load};
use shoal_model::{Ratio, State, Value};

use crate::random::salt;

fn timed(file: &str, set: &[(&str, i64)]) -> Loaded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(file);
    let set = set.iter().map(|(name, value)| ((*name).to_string(), *value)).collect();
    load(path, &LoadOptions { set, ..LoadOptions::default() }).unwrap()
}

fn models() -> Vec<(&'static str, Loaded)> {
    let all: [(&str, &[(&str, i64)]); 4] = [
        ("sgm/fischer.vpl", &[("A", 2)]),
        ("sgm/fischer_bug.vpl", &[("A", 2)]),
        ("uppaal/fischer.xta", &[("N", 2)]),
        ("uppaal/station.xta", &[("N", 2)]),
    ];
    all.into_iter().map(|(file, set)| (file, timed(file, set))).collect()
}

/// All nodes that a state is in.
fn nodes_of(loaded: &Loaded, graph: &ModelGraph, state: &State) -> Vec<usize> {
    let mut one = ModelGraph::default();
    let mut is_in = |node: &usize| {
        one.nodes = vec![graph.nodes[*node].clone()];
        one.zones = vec![graph.zones[*node].clone()];
        one.locate(&loaded.model, state).is_some()
    };
    (0..graph.nodes.len()).filter(|node| is_in(node)).collect()
}

/// A walk at random, at random times, goes along the steps of the graph.
#[test]
fn walks_stay_in_the_graph() {
    for (name, loaded) in models() {
        let graph = shoal::graph(&loaded, &[], 20_000, &Watch::default()).unwrap();
        assert!(graph.complete && !graph.zones.is_empty(), "{name}");
        for seed in 0..6 {
            let mut walk = Simulation::new(&loaded.model, seed + salt()).unwrap();
            let mut now: Vec<usize> = Vec::new();
            for _ in 0..40 {
                let moments: Vec<Ratio> = walk.moments();
                if walk.state().is_some() && !moments.is_empty() {
                    let moment = moments[(seed as usize * 7 + now.len()) % moments.len()];
                    walk.wait(moment);
                }
                let Some(next) = walk.step() else { break };
                let Ok(state) = &next.result else { break };
                let here = nodes_of(&loaded, &graph, state);
                now = match next.what {
                    MoveKind::Start(_) => {
                        here.into_iter().filter(|node| graph.initial.contains(node)).collect()
                    }
                    MoveKind::Rule(rule) => {
                        let taken = |edge: &&shoal::Edge| {
                            now.contains(&edge.from) && edge.rule == rule && edge.args == next.args
                        };
                        let to: Vec<usize> = graph.edges.iter().filter(taken).map(|edge| edge.to).collect();
                        here.into_iter().filter(|node| to.contains(node)).collect()
                    }
                };
                assert!(!now.is_empty(), "{name}, seed {seed}: a step leads out of the graph: {state:?}");
            }
        }
    }
}

/// The run to a violation goes along zones of which each has what the clocks show.
#[test]
fn zones_along_a_run_have_it() {
    let loaded = timed("sgm/fischer_bug.vpl", &[("A", 2)]);
    let report = shoal::check(&loaded, &shoal::CheckOptions::default(), &mut shoal::Quiet).unwrap();
    let found = report.outcome.results.iter().find_map(|result| match &result.verdict {
        shoal::Verdict::Violated(violation) => violation.trace.clone(),
        shoal::Verdict::Holds | shoal::Verdict::Unknown(_) => None,
    });
    let trace = found.expect("it is violated");
    let zones = shoal::zones_along(&loaded.model, &trace, &Watch::default())
        .unwrap()
        .expect("the run is found again");
    assert_eq!(zones.len(), trace.steps.len() + 1);
    for (state, facts) in trace.states().zip(&zones) {
        let clocks = shoal::story::clocks_of(&loaded.model, state);
        let shows = |name: &str| clocks.iter().find(|(known, _)| known == name).map(|(_, shows)| *shows);
        assert!(facts.iter().all(|fact| fact.holds(&shows)), "{facts:?} {clocks:?}");
    }
    assert!(zones.iter().flatten().count() > 0);
    // A run with a step that is none is not found.
    let mut other = trace;
    if let Some(step) = other.steps.last_mut() {
        step.args = vec![Value::Undefined];
    }
    assert_eq!(shoal::zones_along(&loaded.model, &other, &Watch::default()).unwrap(), None);
}

#[test]
fn like_processes_change_places_and_limits_are_kept() {
    let loaded = timed("sgm/fischer.vpl", &[("A", 3)]);
    let all = shoal::graph(&loaded, &[], 20_000, &Watch::default()).unwrap();
    let sorts = shoal::graph_symmetry(&loaded);
    let folded = shoal::graph(&loaded, &sorts, 20_000, &Watch::default()).unwrap();
    assert!(all.complete && folded.complete);
    assert_eq!(folded.symmetric, sorts);
    assert!(folded.nodes.len() * 2 < all.nodes.len(), "{} {}", folded.nodes.len(), all.nodes.len());
    let some = shoal::graph(&loaded, &[], 10, &Watch::default()).unwrap();
    assert!(some.nodes.len() == 10 && !some.complete);
    let asked = shoal::ask(&loaded, "x[1] <= 1").unwrap();
    assert!(asked.reads_clocks());
    assert!(!shoal::ask(&loaded, "lock = 1").unwrap().reads_clocks());
}
