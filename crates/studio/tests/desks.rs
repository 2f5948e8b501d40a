//! The desk, and what is recorded of it.

use serde_json::{Value as Json, json};
use shoal::{LoadOptions, ScriptEvent};

use crate::common::{Client, gallery};

fn desk(client: &Client, file: &str, set: &Json, steps: &[String]) -> Json {
    client.post("desk", json!({ "file": file, "set": set, "steps": steps }), "desk")
}

#[test]
fn boxes_are_merged_reduced_checked_and_drawn() {
    let client = Client::with(&[("fischer.vpl", &gallery("sgm/fischer.vpl")), ("a.m", "var x: 0..1;")]);
    let set = json!({ "A": 12 });
    let start = desk(&client, "fischer.vpl", &set, &[]);
    let names: Vec<&str> =
        start["boxes"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    // In the order of their numbers.
    assert_eq!((names[1], names[9], names.len()), ("A[2]", "A[10]", 12));
    let steps = ["merge A[1] A[2]", "rw g1", "sc g1", "sm g1"].map(String::from);
    let made = desk(&client, "fischer.vpl", &set, &steps);
    let last = made["boxes"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&last["name"], &last["processes"], &last["reducers"]),
        (&json!("g1"), &json!(["A[1]", "A[2]"]), &json!(["rw", "sc", "sm"]))
    );
    assert_eq!(made["done"].as_array().unwrap().len(), 4);
    // Back is a shorter list.
    let before = desk(&client, "fischer.vpl", &set, &steps[..1]);
    let sizes = |desk: &Json| desk["boxes"].as_array().unwrap().last().unwrap()["nodes"].as_u64().unwrap();
    assert!(sizes(&made) < sizes(&before));
    let body = |name: &str| json!({ "file": "fischer.vpl", "set": set, "steps": steps, "box": name });
    let preview = client.post("desk/preview", body("g1"), "desk_preview");
    assert_eq!(preview["reducers"].as_array().unwrap().len(), 5);
    let checked = client.post("desk/check", body("g1"), "desk_checked");
    assert_eq!(checked["properties"][0]["holds"], Json::Null, "an open graph knows nothing");
    let picture = client.post("desk/picture", body("g1"), "desk_picture");
    assert_eq!(picture["picture"]["nodes"].as_array().unwrap().len() as u64, sizes(&made));
    for wrong in ["merge A[1] A[99]", "merge A[1] A[1]", "xx g1", "rw g9"] {
        let body = json!({ "file": "fischer.vpl", "set": set, "steps": [wrong] });
        assert!(client.refused("POST", "desk", Some(body)).0 >= 400, "{wrong}");
    }
    assert_eq!(client.refused("POST", "desk", Some(json!({ "file": "a.m", "steps": [] }))).0, 422);
}

#[test]
fn a_sequence_is_found_and_closes_the_graph() {
    let client = Client::with(&[("fischer.vpl", &gallery("sgm/fischer.vpl"))]);
    let set = json!({ "A": 4 });
    let body = |strategy: &str| json!({ "file": "fischer.vpl", "set": set, "steps": [], "strategy": strategy, "seconds": 600 });
    for strategy in ["rw,sc,sm", "paper", "auto"] {
        let found = client.post("desk/sequence", body(strategy), "desk_sequence");
        let steps: Vec<String> =
            found["steps"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().into()).collect();
        let made = desk(&client, "fischer.vpl", &set, &steps);
        let last = made["boxes"].as_array().unwrap().last().unwrap().clone();
        assert_eq!(last["closed"], true, "{strategy}");
        let check = json!({ "file": "fischer.vpl", "set": set, "steps": steps, "box": last["name"] });
        assert_eq!(
            client.post("desk/check", check, "desk_checked")["properties"][0]["holds"],
            true,
            "{strategy}"
        );
    }
}

/// What is recorded of any session runs to the same sizes, for every VPL model of the gallery.
#[test]
fn recorded_sessions_run_to_the_same_sizes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/sgm");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    let mut compared = 0;
    for path in files.iter().filter(|path| path.extension().is_some_and(|it| it == "vpl")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let client = Client::with(&[(name, &std::fs::read_to_string(path).unwrap())]);
        // As few processes as there may be where that can be said.
        let set = match client
            .refused("POST", "desk", Some(json!({ "file": name, "set": { "A": 3 }, "steps": [] })))
            .0
        {
            200 => json!({ "A": 3 }),
            _ => json!({}),
        };
        let start = desk(&client, name, &set, &[]);
        let own: Vec<String> =
            start["boxes"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().into()).collect();
        let mut steps = vec![format!("rw {}", own[0])];
        if own.len() > 1 {
            steps.push(format!("merge {} {}", own[0], own[1]));
            steps.extend(["sc g1".into(), "rw g1".into(), "sv g1".into()]);
        }
        if own.len() > 2 {
            steps.push(format!("sc {}", own[2]));
            steps.push(format!("merge {} g1", own[2]));
            steps.push("rw g2".into());
        }
        let made = desk(&client, name, &set, &steps);
        let wanted: Vec<(u64, u64)> = made["done"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["nodes"].as_u64().unwrap(), it["arcs"].as_u64().unwrap()))
            .collect();
        let numbers =
            set.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.as_i64().unwrap()));
        let options = LoadOptions { set: numbers.collect(), ..LoadOptions::default() };
        let recorded = made["recorded"].as_str().unwrap();
        let workshop = shoal::load_workshop_text(name, recorded, &options)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{recorded}"));
        let mut found = Vec::new();
        let ran = workshop.run(&mut |_, event| {
            if let ScriptEvent::Made(done) = event {
                found.push((done.nodes as u64, done.arcs as u64));
            }
        });
        ran.unwrap_or_else(|error| panic!("{name}: {error}\n{recorded}"));
        assert_eq!(found, wanted, "{name}\n{recorded}");
        compared += 1;
    }
    assert!(compared >= 8, "{compared}");
}

/// A merge is given up where somebody says, and a box is printed for other tools.
#[test]
fn merges_are_guarded_and_boxes_are_printed() {
    let client = Client::with(&[("fischer.vpl", &gallery("sgm/fischer.vpl"))]);
    let body = |more: Json| {
        let mut body = json!({ "file": "fischer.vpl", "set": { "A": 3 }, "steps": ["merge A[1] A[2]"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let (status, _) = client.refused("POST", "desk", Some(body(json!({ "most": 10 }))));
    assert_eq!(status, 422);
    let made = client.post("desk", body(json!({ "most": 1000 })), "desk");
    let nodes = made["done"][0]["nodes"].as_u64().unwrap();
    assert!(nodes > 10, "{made:#}");
    let print = |how: &str| {
        let printed = client.post("desk/print", body(json!({ "box": "g1", "as": how })), "desk_print");
        printed["text"].as_str().unwrap().to_string()
    };
    assert!(print("aut").starts_with("des (0, ") && print("dot").starts_with("digraph"), "{}", print("aut"));
    assert!(print("text").lines().count() as u64 >= nodes, "{}", print("text"));
    let wrong = client.refused("POST", "desk/print", Some(body(json!({ "box": "g1", "as": "png" }))));
    assert_eq!(wrong.0, 400);
}
