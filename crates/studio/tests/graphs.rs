//! The graph of all states.

use serde_json::json;
use shoal_studio::Body;

use crate::common::{COUNTER, Client, LOCK, gallery};

#[test]
fn a_graph_is_looked_at_from_far_and_from_near() {
    let client = Client::with(&[("a.m", COUNTER), ("lock.m", LOCK)]);
    let graph = client.post("graphs", json!({ "file": "a.m" }), "graph");
    assert_eq!((&graph["states"], &graph["steps"], &graph["complete"]), (&json!(5), &json!(8), &json!(true)));
    let id = graph["graph"].as_str().unwrap();
    let view = client.post(&format!("graphs/{id}/view"), json!({ "around": 0, "radius": 1 }), "graph_view");
    assert_eq!(view["about"].as_array().unwrap().len(), 2);
    assert_eq!(view["about"][1]["more"], 1);
    let found = client.post(&format!("graphs/{id}/find"), json!({ "expression": "x >= 3" }), "graph_found");
    assert_eq!(found["count"], 2);
    let path = client.post(
        &format!("graphs/{id}/path"),
        json!({ "from": 0, "to": found["states"][0] }),
        "graph_path",
    );
    assert_eq!(path["steps"].as_array().unwrap().len(), 3);
    let together = client.post(&format!("graphs/{id}/view"), json!({ "collapse": ["x > 2"] }), "graph_view");
    let counts: Vec<&serde_json::Value> =
        together["about"].as_array().unwrap().iter().map(|it| &it["count"]).collect();
    assert_eq!(counts, [3, 2]);
    let by_variable = client.post(
        &format!("graphs/{id}/view"),
        json!({ "collapse": ["x"], "filter": "x < 4" }),
        "graph_view",
    );
    assert_eq!(by_variable["about"].as_array().unwrap().len(), 4);
    assert!(
        client.refused("POST", &format!("graphs/{id}/view"), Some(json!({ "collapse": ["y"] }))).0 >= 400
    );
    assert_eq!(client.refused("POST", "graphs/99/view", Some(json!({}))).0, 404);

    let lock = client.post("graphs", json!({ "file": "lock.m", "quotient": true }), "graph");
    assert_eq!((&lock["states"], &lock["symmetric"]), (&json!(6), &json!(["proc"])));
    let all = client.post("graphs", json!({ "file": "lock.m" }), "graph");
    assert_eq!(all["states"], 32);
    let answer = client.studio.answer(client.request(
        "GET",
        &format!("graphs/{}/overview", all["graph"].as_str().unwrap()),
        None,
    ));
    let Body::Whole(bytes) = answer.body else { panic!("parts") };
    let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
    assert_eq!((&header["nodes"], &header["edges"]), (&json!(32), &json!(160)));
    assert_eq!(bytes.len(), 4 + length + 32 * 9 + 160 * 8);
}

/// What is there stays where it is when more of the graph is shown.
#[test]
fn what_was_shown_stays() {
    let client = Client::with(&[("german_bug.m", &gallery("murphi/german_bug.m"))]);
    let graph =
        client.post("graphs", json!({ "file": "german_bug.m", "quotient": true, "limit": 2000 }), "graph");
    let path = format!("graphs/{}/view", graph["graph"].as_str().unwrap());
    let first = client.post(&path, json!({ "around": 0, "radius": 3 }), "graph_view");
    let place = |view: &serde_json::Value| -> Vec<(u64, f64)> {
        let nodes = view["picture"]["nodes"].as_array().unwrap().iter().map(|it| it["x"].as_f64().unwrap());
        view["about"].as_array().unwrap().iter().map(|it| it["state"].as_u64().unwrap()).zip(nodes).collect()
    };
    let known: serde_json::Map<_, _> =
        place(&first).iter().map(|(state, x)| (state.to_string(), json!(x))).collect();
    let more = client.post(&path, json!({ "around": 0, "radius": 4, "known": known }), "graph_view");
    assert!(place(&more).len() > place(&first).len());
    let later: std::collections::HashMap<u64, f64> = place(&more).into_iter().collect();
    let mut moved: Vec<f64> = place(&first).iter().map(|(state, x)| (later[state] - x).abs()).collect();
    moved.sort_by(f64::total_cmp);
    assert!(moved[moved.len() / 2] < 40.0, "{moved:?}");
}

/// A node of a timed model is a zone: what the clocks show is a part of it, and what asks for clocks has no answer.
#[test]
fn timed_models_have_graphs_of_zones() {
    let client = Client::with(&[("fischer_bug.vpl", &gallery("sgm/fischer_bug.vpl"))]);
    let model = json!({ "file": "fischer_bug.vpl", "set": { "A": 2 } });
    let graph = client.post("graphs", model.clone(), "graph");
    assert_eq!((&graph["timed"], &graph["complete"]), (&json!(true), &json!(true)));
    let mut folded = model.clone();
    folded["quotient"] = json!(true);
    let folded = client.post("graphs", folded, "graph");
    assert_eq!(folded["symmetric"], json!(["A"]));
    assert!(folded["states"].as_u64() < graph["states"].as_u64());
    let id = graph["graph"].as_str().unwrap();
    let view = client.post(&format!("graphs/{id}/view"), json!({ "around": 0, "radius": 4 }), "graph_view");
    let texts: Vec<String> =
        view["about"].as_array().unwrap().iter().map(|it| it["text"].to_string()).collect();
    assert!(texts.iter().any(|text| text.contains("x[")), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("undefined")), "{texts:?}");
    let refused =
        client.refused("POST", &format!("graphs/{id}/find"), Some(json!({ "expression": "x[1] <= 1" })));
    assert_eq!(refused, (422, "not-supported".into()));
    // The states of a run are found in it.
    let run = client.check(model);
    let trace = run["properties"].as_array().unwrap().iter().find_map(|it| it["trace"].as_str()).unwrap();
    let steps = client.get(&format!("traces/{trace}/story"), "trace")["steps"].as_u64().unwrap();
    for row in 0..=steps {
        let found = client.post(
            &format!("graphs/{id}/locate"),
            json!({ "trace": trace, "row": row }),
            "graph_located",
        );
        assert!(found["state"].is_u64(), "row {row}");
    }
}

/// A part of a graph: one side of a state, without some rules, for other tools; a way that is a run.
#[test]
fn a_part_is_cut_down_and_taken_along() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let graph = client.post("graphs", json!({ "file": "a.m" }), "graph");
    let id = graph["graph"].as_str().unwrap();
    let path = format!("graphs/{id}/view");
    let count = |more: serde_json::Value| {
        let view = client.post(&path, more, "graph_view");
        (view["about"].as_array().unwrap().len(), view["picture"]["edges"].as_array().unwrap().len())
    };
    assert_eq!(count(json!({ "radius": 9 })), (5, 8));
    assert_eq!(count(json!({ "radius": 9, "without": ["down"] })), (5, 4));
    assert_eq!(count(json!({ "radius": 9, "without": ["down", "up"] })), (1, 0));
    assert_eq!(count(json!({ "radius": 9, "around": 2, "side": "after" })).0, 5);
    for wrong in [json!({ "without": ["sideways"] }), json!({ "side": "beside" }), json!({ "as": "png" })] {
        assert_eq!(client.refused("POST", &path, Some(wrong)).0, 400);
    }
    for (how, begins) in [("svg", "<svg"), ("dot", "digraph"), ("aut", "des ("), ("graphml", "<?xml")] {
        let body = json!({ "radius": 9, "as": how });
        let answer = client.studio.answer(client.request("POST", &path, Some(&body)));
        let Body::Whole(bytes) = answer.body else { panic!("parts") };
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.trim_start().starts_with(begins), "{how}: {text}");
    }
    let way = client.post(&format!("graphs/{id}/path"), json!({ "from": 1, "to": 3 }), "graph_path");
    let run = client.get(&format!("traces/p:{}::a.m/story", way["walk"].as_str().unwrap()), "trace");
    assert_eq!(run["steps"], 3);
    let there = client.post(&format!("graphs/{id}/find"), json!({ "depth": 2 }), "graph_found");
    assert_eq!((&there["count"], &there["states"]), (&json!(1), &json!([2])));
    assert_eq!(client.refused("POST", &format!("graphs/{id}/find"), Some(json!({}))).0, 400);
}
