//! Stepping by hand.

use serde_json::{Value as Json, json};

use crate::common::{COUNTER, Client, LOCK, gallery};

#[test]
fn moves_are_offered_with_what_they_do() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let walk = |path: &str| {
        client.post("walk", json!({ "file": "a.m", "path": path, "watch": ["x + 1", "y"] }), "walk")
    };
    assert_eq!(walk("")["steps"], Json::Null);
    let start = walk("0");
    assert_eq!((&start["steps"], &start["moves"][0]["label"]), (&json!(0), &json!("up")));
    assert_eq!(start["watched"][0]["result"]["value"], "1");
    assert!(start["watched"][1]["result"]["error"].is_string());
    let two = walk("0.0.0");
    assert_eq!(two["moves"][0]["violates"], json!(["small"]));
    assert_eq!(two["moves"][1]["same_as"], 1, "{two:#}");
    assert_eq!(two["moves"][0]["changes"], json!(["x: 2 → 3"]));
    let why = two["disabled"].as_array().unwrap();
    assert_eq!(
        (why.len(), &why[0]["label"], &why[0]["reads"][0]["value"]),
        (1, &json!("never"), &json!("2"))
    );
    assert_eq!(walk("0.0.0.0")["findings"][0]["name"], "small");
    // A path that does not lead so far says where it ends.
    let left = walk("0.0.9.1");
    assert_eq!((&left["path"], &left["left"]), (&json!("0.0"), &json!(2)));
    assert_eq!(client.refused("POST", "walk", Some(json!({ "file": "a.m", "path": "0.x" }))).0, 400);
}

#[test]
fn like_moves_are_shown_once() {
    let client = Client::with(&[("lock.m", LOCK)]);
    let walk = |path: &str| client.post("walk", json!({ "file": "lock.m", "path": path }), "walk");
    let like = |walk: &Json| -> Vec<u64> {
        walk["moves"].as_array().unwrap().iter().map(|it| it["like"].as_u64().unwrap()).collect()
    };
    assert_eq!(like(&walk("0")), [0, 0, 0, 0, 0]);
    // One is inside: the other four are alike, and it is not.
    let mut after = like(&walk("0.0"));
    after.sort();
    after.dedup();
    assert_eq!(after.len(), 2);
}

#[test]
fn walks_go_on_at_random_and_until() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let on = |more: Json| {
        let mut body = json!({ "file": "a.m", "path": "0" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.post("walk/on", body, "walked_on")
    };
    assert_eq!(on(json!({ "seed": 3 })), on(json!({ "seed": 3 })));
    assert_eq!(on(json!({ "seed": 3 }))["path"].as_str().unwrap().split('.').count(), 21);
    assert_eq!(on(json!({ "until": "x = 3" }))["path"], "0.0.0.0");
    let never = on(json!({ "until": "x = 5" }));
    assert_eq!((&never["found"], &never["path"]), (&json!(false), &json!("0")));
    assert_eq!(client.refused("POST", "walk/on", Some(json!({ "file": "a.m", "until": "x" }))).0, 400);
}

#[test]
fn time_passes_when_it_is_asked_to() {
    let client = Client::with(&[("fischer.vpl", &gallery("sgm/fischer.vpl"))]);
    let walk = |path: &str| {
        client.post("walk", json!({ "file": "fischer.vpl", "set": { "A": 2 }, "path": path }), "walk")
    };
    let start = walk("0");
    assert!(
        start["moments"].as_array().unwrap().len() > 1 || start["moves"].as_array().unwrap().len() > 1,
        "{start:#}"
    );
    let waited = walk("0.w1~2");
    assert_eq!((&waited["waited"], &waited["left"]), (&json!("1/2"), &json!(0)));
    let clocks = waited["state"].to_string();
    assert!(clocks.contains("1/2"), "{clocks}");
}

/// A run as a walk leads to the same state, in every language, and from any row of it.
#[test]
fn runs_become_walks() {
    let models = [
        ("murphi/german_bug.m", json!({})),
        ("promela/lost_update.pml", json!({})),
        ("heap/use_after_free.dpml", json!({})),
        ("red/buffer_bug.red", json!({})),
    ];
    let mut walked = 0;
    for (model, set) in models {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(model);
        if !path.exists() {
            continue;
        }
        let name = model.rsplit('/').next().unwrap();
        let client = Client::with(&[(name, &gallery(model))]);
        let run = client.check(json!({ "file": name, "set": set }));
        let Some(found) = run["properties"].as_array().unwrap().iter().find(|it| it["trace"].is_string())
        else {
            panic!("{model}: {run:#}");
        };
        let (id, steps) = (found["trace"].as_str().unwrap(), found["steps"].as_u64().unwrap());
        for row in [0, steps / 2, steps] {
            let walk = client.get(&format!("traces/{id}/walk?row={row}"), "walk_of");
            let state = client.get(&format!("traces/{id}/rows/{row}"), "row")["row"]["state"].clone();
            let body = json!({ "file": walk["file"], "set": walk["set"], "path": walk["path"] });
            let there = client.post("walk", body, "walk");
            assert_eq!(there["left"], 0, "{model}");
            let values = |state: &Json| -> Vec<Json> {
                state.as_array().unwrap().iter().map(|it| it["value"].clone()).collect()
            };
            assert_eq!(values(&there["state"]), values(&state), "{model} row {row}");
        }
        walked += 1;
    }
    assert!(walked >= 2, "{walked}");
}

/// A state that is typed is checked by its types, and a walk goes on from it; as a run it begins there.
#[test]
fn walks_begin_in_states_that_are_typed() {
    let client = Client::with(&[("a.m", COUNTER), ("fischer.vpl", &gallery("sgm/fischer.vpl"))]);
    let walk = |path: &str| client.post("walk", json!({ "file": "a.m", "path": path }), "walk");
    let typed = walk("0.0.sx=5");
    assert_eq!((&typed["steps"], &typed["left"]), (&json!(0), &json!(0)), "{typed:#}");
    assert_eq!(typed["state"][0]["value"], "5");
    let names: Vec<&str> =
        typed["moves"].as_array().unwrap().iter().map(|it| it["label"].as_str().unwrap()).collect();
    assert!(names.contains(&"never"), "{names:?}");
    for (path, why) in [
        ("0.sx=6", "x is a number from 0 to 5"),
        ("0.sx=red", "x is a number from 0 to 5"),
        ("0.sy=1", "there is no variable y"),
        ("sx=1", "there is no state yet"),
    ] {
        assert_eq!(walk(path)["why_left"], why, "{path}");
    }
    assert_eq!(client.refused("POST", "walk", Some(json!({ "file": "a.m", "path": "0.sx" }))).0, 400);
    let run = client.get("traces/p%3A0.sx%3D5.0%3A%3Aa.m/story", "trace");
    assert_eq!(run["steps"], 1);
    // Entries of arrays, elements and clocks; a dot in a place is written as %2E.
    let timed = |path: &str| {
        client.post("walk", json!({ "file": "fischer.vpl", "set": { "A": 2 }, "path": path }), "walk")
    };
    assert!(timed("0.sx%5BA_1%5D=3/2")["state"].to_string().contains("3/2"));
    assert!(timed("0.sx%5BA_1%5D=-1")["why_left"].as_str().unwrap().contains("is a clock"));
    let german = Client::with(&[("german.m", &gallery("murphi/german.m"))]);
    let path = "0.scache%5Bclient_1%5D%2Estate=Exclusive";
    let there = german.post("walk", json!({ "file": "german.m", "path": path }), "walk");
    let value = there["state"].as_array().unwrap().iter().find(|it| it["place"] == "cache[client_1].state");
    assert_eq!(value.unwrap()["value"], "Exclusive");
    let wrong =
        german.post("walk", json!({ "file": "german.m", "path": path.replace("Exclusive", "Red") }), "walk");
    assert!(wrong["why_left"].as_str().unwrap().contains("is one of Invalid, "), "{}", wrong["why_left"]);
}

/// A walk at random ends after a rule that somebody marked; and the nearest step of any rule is found.
#[test]
fn walks_stop_after_rules() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let on = |more: Json| {
        let mut body = json!({ "file": "a.m", "path": "0" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.post("walk/on", body, "walked_on")
    };
    let stopped = on(json!({ "seed": 3, "stops": ["down"] }));
    let note = stopped["note"].as_str().unwrap();
    assert!(note.starts_with("stopped after down, move "), "{note}");
    let path = stopped["path"].as_str().unwrap();
    let story = client.post("walk", json!({ "file": "a.m", "path": path }), "walk")["story"].clone();
    let last = story["blocks"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("down"), "{last}");
    assert_eq!(on(json!({ "fires": "down" }))["path"], "0.0.1");
    let never = on(json!({ "fires": "never" }));
    assert_eq!(never["found"], false);
    for wrong in [json!({ "file": "a.m", "fires": "sideways" }), json!({ "file": "a.m", "stops": ["x"] })] {
        assert_eq!(client.refused("POST", "walk/on", Some(wrong)).0, 400);
    }
}

/// Lists, bags, records in them and references are typed as they are shown.
#[test]
fn values_of_several_parts_are_typed_as_they_are_shown() {
    let channel = "chan c = [2] of { byte, bool };
active proctype A() { byte x; do :: c!1,true :: c?x,_ od }
";
    let bag = "type msg: record kind: 0..2; urgent: boolean; end;
var net: multiset [3] of msg; at: array [0..1] of 0..3;
startstate at[0] := 0; at[1] := 0; end;
choose n: net do rule \"take\" net[n].urgent ==> multisetremove(n, net); end; end;
rule \"rest\" true ==> at[0] := 1; end;
";
    let client = Client::with(&[("c.pml", channel), ("bag.m", bag)]);
    let walk = |file: &str, typed: &[(&str, &str)]| {
        let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let typed: Vec<String> =
            typed.iter().map(|(place, value)| format!("s{}", escaped(&format!("{place}={value}")))).collect();
        client.post("walk", json!({ "file": file, "path": format!("0.{}", typed.join(".")) }), "walk")
    };
    let shown = |answer: &serde_json::Value, place: &str| {
        let found = answer["state"].as_array().unwrap().iter().find(|it| it["place"] == place);
        found.unwrap_or_else(|| panic!("{answer:#}"))["value"].as_str().unwrap().to_string()
    };
    // A channel as a whole, and a message of it.
    let full = walk(
        "c.pml",
        &[("c", "{len: 1, messages: [{1: 7, 2: 1}, {1: 0, 2: 0}]}"), ("c.messages[1]", "{1: 9, 2: 0}")],
    );
    assert_eq!(full["left"], 0, "{}", full["why_left"]);
    let place = |place: &str| shown(&full, place);
    assert_eq!(
        (place("c.len"), place("c.messages[0].1"), place("c.messages[1].1")),
        ("1".into(), "7".into(), "9".into())
    );
    for (wrong, why) in [
        ("7", "a record {len: …, messages: …}"),
        ("{len: 1, messages: [{1: 7, 2: 1}]}", "an array of 2 entries"),
        ("{len: 1, messages: [{1: 700, 2: 1}, {1: 0, 2: 0}]}", "a number from 0 to 255"),
    ] {
        let left = walk("c.pml", &[("c", wrong)]);
        assert!(left["why_left"].as_str().unwrap().contains(why), "{wrong}: {}", left["why_left"]);
    }
    let net = walk("bag.m", &[("net", "{|{kind: 2, urgent: true}, {kind: 1, urgent: false}|}")]);
    assert_eq!(net["left"], 0, "{}", net["why_left"]);
    // Elements that may be taken are moves.
    let names: Vec<&str> =
        net["moves"].as_array().unwrap().iter().map(|it| it["rule"].as_str().unwrap()).collect();
    assert_eq!(names, ["take", "rest"]);
    assert_eq!(shown(&net, "net"), "{|{kind: 1, urgent: false}, {kind: 2, urgent: true}|}");
    let left = walk("bag.m", &[("net", "{|{kind: 2}|}")]);
    assert!(left["why_left"].as_str().unwrap().contains("{kind: …, urgent: …}"), "{}", left["why_left"]);
    // Objects that there are.
    let heap = client.folder.path().join("h.dpml");
    std::fs::write(&heap, crate::common::gallery("heap/use_after_free.dpml")).unwrap();
    let mut path = String::from("0");
    let object = loop {
        let now = client.post("walk", json!({ "file": "h.dpml", "path": path }), "walk");
        let known =
            now["state"].as_array().unwrap().iter().find(|it| it["value"].as_str().unwrap().contains('#'));
        if let Some(known) = known {
            break known.clone();
        }
        path += ".0";
    };
    let typed = format!("{}={}", object["place"].as_str().unwrap(), object["value"].as_str().unwrap());
    let typed: String = typed.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let same = client.post("walk", json!({ "file": "h.dpml", "path": format!("{path}.s{typed}") }), "walk");
    assert_eq!(same["left"], 0, "{}", same["why_left"]);
}
