//! The nine tools, the budgets, and what must not happen.

use std::{fs, time::Instant};

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::client::Client;

const COUNTER: &str = "const LAST: 5; var x: 0..LAST;
startstate \"zero\" x := 0; end;
rule \"up\" x < LAST ==> x := x + 1; end;
rule \"back\" x = LAST ==> x := 0; end;
invariant \"small\" x < 3;
invariant \"in range\" x <= LAST;
";

const ENDLESS: &str = "var a: 0..999; b: 0..999; c: 0..999;
startstate a := 0; b := 0; c := 0; end;
rule a < 999 ==> a := a + 1; end; rule b < 999 ==> b := b + 1; end; rule c < 999 ==> c := c + 1; end;
invariant \"in range\" a < 1000;";

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("root")).unwrap();
    fs::write(folder.path().join("root/counter.m"), COUNTER).unwrap();
    fs::write(folder.path().join("secret.m"), COUNTER).unwrap();
    fs::write(folder.path().join("root/in.h"), "#define LIMIT 3\n").unwrap();
    folder
}

fn client(folder: &TempDir) -> Client {
    Client::new(&folder.path().join("root"))
}

#[test]
fn a_model_is_diagnosed_described_checked_and_looked_at() {
    let folder = folder();
    let mut client = client(&folder);
    let (text, found, wrong) = client.call("diagnose", json!({ "text": COUNTER.replace("x + 1", "y + 1") }));
    assert!(!wrong && found["ok"] == json!(false) && found["diagnostics"][0]["line"] == json!(3), "{found}");
    assert!(text.contains("E0201"), "{text}");
    let (_, fine, _) = client.call("diagnose", json!({ "file": "counter.m" }));
    assert_eq!(fine, json!({ "ok": true, "diagnostics": [] }));
    let (text, known, _) = client.call("describe", json!({ "file": "counter.m", "set": { "LAST": 7 } }));
    assert!(
        text.contains("rule \"up\"") && text.contains("0..7") && known["rules"] == json!(["up", "back"]),
        "{text}"
    );

    let (text, report, _) = client.call("check", json!({ "file": "counter.m" }));
    assert_eq!(report["status"], "violated");
    let verdicts: Vec<&str> = (0..4).map(|at| report["verdicts"][at]["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["violated", "holds", "holds", "holds"]);
    let small = &report["verdicts"][0];
    assert_eq!((small["name"].as_str(), small["steps"].as_u64()), (Some("small"), Some(3)));
    assert!(text.contains("✗ violated  invariant \"small\"") && text.contains("x < 3"), "{text}");

    let id = small["trace"].as_str().unwrap().to_string();
    let (steps, about, _) = client.call("trace", json!({ "id": id, "from": 2, "to": 3 }));
    assert!(steps.contains("x  1 → 2") || steps.contains("x: 1 → 2"), "{steps}");
    assert!(!steps.contains("0 → 1") && about["steps"] == json!(3), "{steps}");
    let (states, _, _) = client.call("trace", json!({ "id": id, "as": "states", "from": 3 }));
    assert!(states.contains("state 3\n  x = 3"), "{states}");
    let (lanes, _, _) = client.call("trace", json!({ "id": id, "as": "lanes" }));
    assert!(lanes.contains("conjunct"), "{lanes}");
    let (values, structure, _) = client.call("evaluate", json!({ "trace": id, "expression": "x * 2" }));
    assert_eq!(structure["values"], json!(["0", "2", "4", "6"]), "{values}");
    let (values, _, _) = client.call("evaluate", json!({ "trace": id, "expression": "x > 1" }));
    assert_eq!(values, "states 0 to 1: false\nstates 2 to 3: true\n");
    assert!(client.call("trace", json!({ "id": "t99" })).2);
}

#[test]
fn a_model_is_walked_through_and_states_are_found() {
    let folder = folder();
    let mut client = client(&folder);
    let (text, before, _) = client.call("walk", json!({ "file": "counter.m" }));
    assert!(text.starts_with("before the start") && before["moves"][0]["name"] == "zero", "{text}");
    let (text, there, _) = client.call("walk", json!({ "file": "counter.m", "path": "0.0.0.0" }));
    assert!(text.contains("x = 3") && text.contains("✗ invariant \"small\""), "{text}");
    assert_eq!(there["moves"], json!([{ "name": "up", "faults": false }]));
    assert!(client.call("walk", json!({ "file": "counter.m", "path": "0.5" })).2);
    let (value, _, _) =
        client.call("evaluate", json!({ "file": "counter.m", "path": "0.0.0", "expression": "x + 10" }));
    assert_eq!(value, "12");
    let (text, found, _) = client.call("find_state", json!({ "file": "counter.m", "expression": "x = 4" }));
    assert!(text.starts_with("found after 4 steps") && found["found"] == json!(true), "{text}");
    let (text, none, _) =
        client.call("find_state", json!({ "file": "counter.m", "expression": "x = 4 & x = 2" }));
    assert!(text.contains("no such state") && none["found"] == json!(false), "{text}");
    for not_one in ["x = 4); invariant \"more\" (x = 1", "x +", "nobody", "x + 1"] {
        let (text, _, wrong) =
            client.call("find_state", json!({ "file": "counter.m", "expression": not_one }));
        assert!(wrong, "{not_one}: {text}");
    }
}

#[test]
fn what_is_written_can_be_read() {
    let folder = folder();
    let mut client = client(&folder);
    assert!(client.call("explain", json!({ "what": "e0201" })).0.contains("E0201"));
    assert!(client.call("explain", json!({ "what": "properties" })).0.contains('#'));
    assert!(client.call("explain", json!({ "what": "flux capacitor" })).2);
    let (text, found, _) = client.call("examples", json!({ "query": "german bug" }));
    assert!(found["models"][0] == "murphi/german_bug.m" && text.contains("scalarset"), "{text}");
    assert!(client.call("examples", json!({})).0.lines().count() > 10);
    // Every example loads.
    let (_, all, _) = client.call("examples", json!({}));
    for name in all["models"].as_array().unwrap() {
        let uri = format!("shoal://models/{}", name.as_str().unwrap());
        let read = client.ask("resources/read", json!({ "uri": uri }));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap().to_string();
        let language = uri.rsplit('.').next().unwrap().to_string();
        let (said, found, _) = client.call("diagnose", json!({ "text": text, "language": language }));
        assert!(found["ok"] == json!(true), "{uri}: {said}");
    }
    let listed = client.ask("resources/list", json!({}));
    for resource in listed["result"]["resources"].as_array().unwrap() {
        let read = client.ask("resources/read", json!({ "uri": resource["uri"] }));
        assert!(read["result"]["contents"][0]["text"].as_str().unwrap().len() > 100, "{resource}");
    }
    for prompt in client.ask("prompts/list", json!({}))["result"]["prompts"].as_array().unwrap() {
        let text = client
            .ask("prompts/get", json!({ "name": prompt["name"], "arguments": { "file": "counter.m" } }));
        assert!(text["result"]["messages"][0]["content"]["text"].is_string(), "{text}");
    }
}

/// Every path out of the folder, in every argument that takes one.
#[test]
fn nothing_outside_of_the_folder_is_read() {
    let folder = folder();
    let outside = folder.path().join("secret.m").display().to_string();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, folder.path().join("root/link.m")).unwrap();
    let mut client = client(&folder);
    let paths = [
        "../secret.m",
        &outside,
        "/etc/passwd",
        "a/../../secret.m",
        "link.m",
        "",
        "counter.m\0",
        "nowhere.m",
        ".",
    ];
    for path in paths {
        for tool in ["diagnose", "describe", "check", "walk"] {
            let (text, _, wrong) = client.call(tool, json!({ "file": path }));
            assert!(wrong && !text.contains("invariant") && !text.contains("root:"), "{tool} {path}: {text}");
        }
    }
    let include = |name: &str| json!({ "text": format!("#include \"{name}\"\nactive proctype p() {{ assert(LIMIT == 3) }}"), "language": "pml" });
    assert_eq!(client.call("diagnose", include("in.h")).1["ok"], json!(true));
    for path in ["/etc/passwd", "../secret.m"] {
        let (text, found, _) = client.call("diagnose", include(path));
        assert!(
            found["ok"] == json!(false) && !text.contains("root:") && !text.contains("startstate"),
            "{text}"
        );
    }
}

#[test]
fn budgets_hold_and_calls_are_cancelled_one_by_one() {
    let folder = folder();
    let mut client = client(&folder);
    let began = Instant::now();
    let (text, report, _) = client.call("check", json!({ "text": ENDLESS, "seconds": 1 }));
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    assert_eq!(report["status"], "unknown", "{text}");
    assert!(text.contains("time limit") && text.contains("`seconds`") && !text.contains("--"), "{text}");

    let arguments = json!({ "text": ENDLESS, "seconds": 300 });
    let params = json!({ "name": "check", "arguments": arguments, "_meta": { "progressToken": "p" } });
    let long = client.request("tools/call", params);
    loop {
        let message = client.heard();
        if message["method"] == "notifications/progress" {
            assert_eq!(message["params"]["progressToken"], "p");
            break;
        }
    }
    // Another call is answered meanwhile, and the first is never.
    assert!(!client.call("examples", json!({})).2);
    client.say(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": long } })
            .to_string(),
    );
    assert_eq!(client.call("check", json!({ "file": "counter.m" })).1["status"], "violated");
    assert!(!client.told.iter().any(|message| message["id"] == json!(long)));
}

#[test]
fn what_is_wrong_with_a_call_is_said() {
    let folder = folder();
    let mut client = client(&folder);
    for (arguments, about) in [
        (json!({}), "`file` or `text`"),
        (json!({ "file": "counter.m", "text": "x" }), "`file` or `text`"),
        (json!({ "file": 3 }), "`file` is a text"),
        (json!({ "file": "counter.m", "second": 3 }), "`second`"),
        (json!({ "file": "counter.m", "seconds": -1 }), "`seconds`"),
        (json!({ "file": "counter.m", "set": { "LAST": "many" } }), "`LAST`"),
        (json!({ "file": "counter.m", "set": { "LATS": 3 } }), "LAST"),
        (json!({ "file": "counter.m", "properties": ["smal"] }), "small"),
    ] {
        let (text, _, wrong) = client.call("check", arguments.clone());
        assert!(wrong && text.contains(about), "{arguments}: {text}");
    }
    let code = |answer: Json| answer["error"]["code"].as_i64();
    assert_eq!(code(client.ask("nonsense", json!({}))), Some(-32601));
    assert_eq!(code(client.ask("tools/call", json!({ "name": "rm" }))), Some(-32602));
    assert_eq!(code(client.ask("resources/read", json!({ "uri": "file:///etc/passwd" }))), Some(-32602));
    client.say("{ not json");
    assert_eq!(code(client.heard()), Some(-32700));
    assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
}

/// The nine tools say what they take, and take it: no argument of a schema is refused as unknown.
#[test]
fn the_tools_take_what_they_say_they_take() {
    let folder = folder();
    let mut client = client(&folder);
    let tools = client.ask("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    assert_eq!(tools.len(), 9);
    let id = client.call("check", json!({ "file": "counter.m" })).1["verdicts"][0]["trace"].clone();
    for tool in tools {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        let mut arguments = serde_json::Map::new();
        for (name, schema) in properties {
            let value = match (name.as_str(), schema["type"].as_str().unwrap()) {
                ("text" | "language", _) | ("trace", _) => continue,
                ("file", _) => json!("counter.m"),
                ("id", _) => id.clone(),
                ("as", _) => json!("steps"),
                ("expression", _) => json!("x = 1"),
                ("path", _) => json!("0"),
                ("what", _) => json!("murphi"),
                ("query", _) => json!("peterson"),
                (_, "integer") => json!(3),
                (_, "array") => json!(["small"]),
                (_, "object") => json!({ "LAST": 4 }),
                other => panic!("{other:?}"),
            };
            arguments.insert(name.clone(), value);
        }
        let name = tool["name"].as_str().unwrap();
        let (text, _, wrong) = client.call(name, Json::Object(arguments));
        assert!(!wrong, "{name}: {text}");
    }
}
