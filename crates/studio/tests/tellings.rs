//! Runs without their model, and how those with one are told: written into the model from the page. A server that runs already.

use std::thread;

use serde_json::{Value as Json, json};
use shoal_studio::{Body, OpenOptions, open, running};

use crate::common::{COUNTER, Client, gallery};

/// A run of another tool: two nodes, a message from one to the other, and a set that only grows.
pub(crate) const OTHER: &str = r##"{
  "#meta": { "format": "ITF", "source": "token.qnt", "status": "violation" },
  "vars": ["pc", "inbox", "seen", "mbt::actionTaken", "mbt::nondetPicks"],
  "states": [
    { "pc": { "#map": [["n1", "idle"], ["n2", "idle"]] }, "inbox": { "#map": [["n1", { "#set": [] }], ["n2", { "#set": [] }]] },
      "seen": { "#set": [] }, "mbt::actionTaken": "init", "mbt::nondetPicks": { "node": { "tag": "None", "value": { "#tup": [] } } } },
    { "pc": { "#map": [["n1", "waiting"], ["n2", "idle"]] }, "inbox": { "#map": [["n1", { "#set": [] }], ["n2", { "#set": [{ "kind": "token", "from": "n1" }] }]] },
      "seen": { "#set": ["n1"] }, "mbt::actionTaken": "send", "mbt::nondetPicks": { "node": { "tag": "Some", "value": "n1" } } },
    { "pc": { "#map": [["n1", "waiting"], ["n2", "critical"]] }, "inbox": { "#map": [["n1", { "#set": [] }], ["n2", { "#set": [] }]] },
      "seen": { "#set": ["n1", "n2"] }, "mbt::actionTaken": "receive", "mbt::nondetPicks": { "node": { "tag": "Some", "value": "n2" } } },
    { "pc": { "#map": [["n1", "critical"], ["n2", "critical"]] }, "inbox": { "#map": [["n1", { "#set": [] }], ["n2", { "#set": [] }]] },
      "seen": { "#set": ["n1", "n2"] }, "mbt::actionTaken": "enter", "mbt::nondetPicks": { "node": { "tag": "Some", "value": "n1" } } }
  ]
}"##;

fn lanes(story: &Json) -> Vec<&str> {
    story["lanes"].as_array().unwrap().iter().map(|lane| lane["name"].as_str().unwrap()).collect()
}

#[test]
fn runs_of_other_tools_are_told_from_their_file() {
    let client = Client::with(&[("other.itf.json", OTHER), ("a.m", COUNTER)]);
    let story = client.get("traces/f%3Aother.itf.json/story", "trace");
    assert_eq!((&story["alone"], &story["steps"]), (&json!(true), &json!(3)));
    assert_eq!(lanes(&story), ["n1", "n2", "shared"]);
    assert!(story["violated"].is_object());
    // The message goes from who sends it to who takes it; the set that only grows is no message.
    let arrows = story["arrows"].as_array().unwrap();
    assert_eq!(arrows.len(), 1, "{arrows:?}");
    assert_eq!((&arrows[0]["from_row"], &arrows[0]["to_row"]), (&json!(1), &json!(2)));
    assert!(arrows[0]["label"].as_str().unwrap().contains("token"));
    let row = client.get("traces/f%3Aother.itf.json/rows/3", "row");
    assert_eq!((&row["row"]["rule"], &row["row"]["range"]), (&json!("enter(node = n1)"), &json!(null)));
    assert_eq!(row["row"]["changes"][0]["new"], "critical");
    let writers = client.get("traces/f%3Aother.itf.json/writers?place=pc%5Bn1%5D", "writers");
    assert_eq!(writers["rows"], json!([1, 3]));
    let values =
        client.post("traces/f%3Aother.itf.json/evaluate", json!({ "expression": "pc[n1]" }), "values");
    assert_eq!(values["values"].as_array().unwrap().len(), 3);
    // It can be taken along, and not be run.
    for how in ["html", "mermaid", "text", "itf"] {
        let path = format!("traces/f%3Aother.itf.json/export?as={how}");
        let answer = client.studio.answer(client.request("GET", &path, None));
        let Body::Whole(bytes) = answer.body else { panic!("parts") };
        assert!(answer.status == 200 && String::from_utf8(bytes).unwrap().contains("token"), "{how}");
    }
    assert_eq!(client.refused("GET", "traces/f%3Aother.itf.json/walk?row=1", None), (422, "no-model".into()));
    assert_eq!(
        client.refused("POST", "traces/f%3Aother.itf.json/keep", Some(json!({}))),
        (422, "no-model".into())
    );
    assert_eq!(client.refused("GET", "traces/m%3Af%3Aother.itf.json/story", None), (422, "no-model".into()));
}

#[test]
fn a_run_whose_model_is_gone_keeps_its_lanes() {
    let client = Client::with(&[("german_bug.m", &gallery("murphi/german_bug.m"))]);
    let run = client.check(json!({ "file": "german_bug.m" }));
    let id = run["properties"].as_array().unwrap().iter().find_map(|it| it["trace"].as_str()).unwrap();
    let answer = client.studio.answer(client.request("GET", &format!("traces/{id}/export"), None));
    let Body::Whole(itf) = answer.body else { panic!("parts") };
    let itf = String::from_utf8(itf).unwrap().replace("german_bug.m", "lost.m");
    let sent = client.post("traces", json!({ "itf": itf, "name": "lost.itf.json" }), "uploaded");
    let path = format!("traces/{}/story", sent["trace"].as_str().unwrap().replace(':', "%3A"));
    let alone = client.get(&path, "trace");
    let known = client.get(&format!("traces/{id}/story"), "trace");
    assert_eq!((&alone["alone"], &known["alone"]), (&json!(true), &json!(false)));
    assert_eq!(lanes(&alone), lanes(&known));
    assert_eq!(alone["violated"]["name"], known["violated"]["name"]);
}

#[test]
fn a_variable_is_moved_to_a_lane() {
    let text = gallery("murphi/german_bug.m");
    let client = Client::with(&[("g.m", &text)]);
    let run = client.check(json!({ "file": "g.m" }));
    let id = run["properties"].as_array().unwrap().iter().find_map(|it| it["trace"].as_str()).unwrap();
    let path = format!("traces/{id}");
    let before = client.get(&format!("{path}/story"), "trace");
    assert!(!lanes(&before).contains(&"memory unit"));
    let told = client.post(
        &format!("{path}/direct"),
        json!({ "variable": "owned", "how": "lane", "lane": "memory unit" }),
        "directed",
    );
    assert_eq!(told["line"], "-- shoal: lane memory unit = owned");
    // Nothing before it moves, and the run is told anew.
    let written = client.get("files/g.m", "file");
    assert!(written["text"].as_str().unwrap().starts_with(&text));
    let after = client.get(&format!("{path}/story"), "trace");
    assert!(lanes(&after).contains(&"memory unit"), "{:?}", lanes(&after));
    assert_eq!(after["hash"], written["hash"]);
    client.post(&format!("{path}/direct"), json!({ "variable": "latest", "how": "hide" }), "directed");
    assert!(client.get("files/g.m", "file")["text"].as_str().unwrap().ends_with("-- shoal: hide latest\n"));
    let direct = |body: Json| client.refused("POST", &format!("{path}/direct"), Some(body));
    assert_eq!(direct(json!({ "variable": "nothing", "how": "hide" })).0, 404);
    assert_eq!(direct(json!({ "variable": "owned", "how": "lane", "lane": "a = b" })).0, 400);
    // Another text than the one that was run is left alone.
    std::fs::write(client.folder.path().join("g.m"), format!("-- mine\n{text}")).unwrap();
    assert_eq!(direct(json!({ "variable": "owned", "how": "hide" })), (412, "changed".into()));
}

#[test]
fn a_second_server_for_a_folder_is_the_first() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.m"), COUNTER).unwrap();
    assert_eq!(running(folder.path(), false), None);
    let opened = open(folder.path(), OpenOptions::default()).unwrap();
    opened.announce();
    let address = opened.address();
    thread::spawn(move || opened.serve());
    // The same folder by another name, with the same rights.
    assert_eq!(running(&folder.path().join("."), false), Some(address));
    assert_eq!(running(folder.path(), true), None);
    let other = tempfile::tempdir().unwrap();
    assert_eq!(running(other.path(), false), None);
    // One that has ended is not given.
    let ended = open(other.path(), OpenOptions::default()).unwrap();
    ended.announce();
    drop(ended);
    assert_eq!(running(other.path(), false), None);
}
