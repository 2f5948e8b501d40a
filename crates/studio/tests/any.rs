//! Any number of parts.

use serde_json::json;

use crate::common::{COUNTER, Client, LOCK, MUTEX, gallery};

#[test]
fn counters_covering_sets_and_certificates_are_shown() {
    let client = Client::with(&[("a.spec", &gallery("beacon/ticket_lock.spec")), ("b.m", LOCK)]);
    let known = client.post("any", json!({ "file": "a.spec" }), "any_number");
    let property = &known["properties"][0];
    assert_eq!(
        (&property["verdict"], &property["evidence"], &property["audit"]),
        (&json!("holds"), &json!("counters"), &json!("accepted"))
    );
    let nodes = known["counters"]["picture"]["nodes"].as_array().unwrap();
    assert!(nodes.iter().any(|node| node["lines"] == json!(["idle", "ω at the start"])), "{nodes:?}");
    // As many as anybody wants are idle, and one is served at a time.
    let tokens =
        known["cover"]["elements"].as_array().unwrap().iter().flat_map(|it| it["tokens"].as_array().unwrap());
    let critical: Vec<_> =
        tokens.filter(|token| token["place"] == "critical").map(|token| &token["count"]).collect();
    assert!(!critical.is_empty() && critical.iter().all(|count| **count == 1), "{critical:?}");
    let known = client.post("any", json!({ "file": "b.m", "set": { "proc": "any" } }), "any_number");
    let wrong =
        known["properties"].as_array().unwrap().iter().find(|it| it["verdict"] == "violated").unwrap();
    assert_eq!(wrong["elements"], json!({ "count": 2, "least": true }));
}

#[test]
fn views_are_shown_and_checked() {
    let client = Client::with(&[("mutex.m", MUTEX)]);
    let known = client.post("any", json!({ "file": "mutex.m", "set": { "N": "any" } }), "any_number");
    assert_eq!(known["open"], json!(["proc"]));
    let properties = known["properties"].as_array().unwrap();
    let alone = properties.iter().find(|it| it["name"] == "one inside").unwrap();
    assert_eq!((&alone["verdict"], &alone["evidence"]), (&json!("holds"), &json!("views")));
    assert!(alone["audit"].as_str().unwrap().starts_with("accepted"), "{alone}");
    assert!(known["counters"]["refused"].is_string(), "{}", known["counters"]);
    let proof = &known["views"][0];
    assert!(proof["count"].as_u64().unwrap() >= proof["views"].as_array().unwrap().len() as u64, "{proof}");
}

#[test]
fn parts_that_are_counted_are_said_to_be() {
    let client = Client::with(&[("lock.m", LOCK), ("counter.m", COUNTER)]);
    for file in ["lock.m", "counter.m"] {
        let refused = client.refused("POST", "any", Some(json!({ "file": file })));
        assert_eq!(refused, (422, "counted".to_string()), "{file}");
    }
}
