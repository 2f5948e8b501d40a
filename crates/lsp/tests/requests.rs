//! What is answered to each request, on a Murphi model.

use serde_json::{Value, json};

use crate::client::{Client, position};

const URI: &str = "file:///models/lock.m";
const LOCK: &str = "const N: 2;
type proc: scalarset(N);
     state: enum { Idle, Inside };
var inside: array [proc] of state;
var turns: 0..3;
function busy(p: proc): boolean;
begin
  return inside[p] = Inside;
end;
startstate begin for p: proc do inside[p] := Idle; end; turns := 0; end;
ruleset p: proc do
  rule \"enter\" inside[p] = Idle ==> begin inside[p] := Inside; turns := turns; end;
  rule \"leave\" busy(p) ==> begin inside[p] := Idle; end;
end;
invariant \"one at most\" forall p: proc do forall q: proc do inside[p] = Inside & inside[q] = Inside -> p = q end end;
invariant \"few\" turns <= 3;
";

fn opened() -> Client {
    let mut client = Client::new();
    assert_eq!(client.open(URI, LOCK), Vec::<Value>::new());
    client
}

#[test]
fn errors_come_while_typing_and_go_again() {
    let mut client = opened();
    client.change(URI, 2, json!([{"text": LOCK.replace("turns := turns", "turnss := turns")}]));
    let found = client.diagnostics(URI, 2);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0]["severity"].as_u64(), found[0]["source"].as_str()), (Some(1), Some("shoal")));
    assert!(found[0]["message"].as_str().unwrap().contains("did you mean `turns`?"), "{found:?}");
    assert_eq!(found[0]["range"]["start"]["line"], 11);
    // The mistake can be mended from its message.
    let params =
        json!({"textDocument": {"uri": URI}, "range": found[0]["range"], "context": {"diagnostics": []}});
    let actions = client.request("textDocument/codeAction", params);
    let edit = &actions[0]["edit"]["changes"][URI][0];
    assert_eq!(edit["newText"], "turns");
    client.change(URI, 3, json!([{"range": edit["range"], "text": edit["newText"]}]));
    assert_eq!(client.diagnostics(URI, 3), Vec::<Value>::new());
    assert!(client.leave());
}

#[test]
fn only_the_newest_text_counts() {
    let mut client = opened();
    for version in 2..20 {
        client.change(URI, version, json!([{"text": format!("{LOCK}\n-- {version}")}]));
    }
    client.change(URI, 20, json!([{"text": "var x: 0..1; startstate begin y := 0; end;"}]));
    assert!(client.diagnostics(URI, 20)[0]["message"].as_str().unwrap().contains('y'));
}

#[test]
fn names_are_found_where_they_are_declared_and_used() {
    let mut client = opened();
    let place = "inside[p] = Inside;";
    let definition = client.at("textDocument/definition", URI, LOCK, place, json!({}));
    assert_eq!(definition["range"]["start"], position(LOCK, "inside: array"));
    let function = client.at("textDocument/definition", URI, LOCK, "busy(p) ==>", json!({}));
    assert_eq!(function["range"]["start"], position(LOCK, "busy(p: proc)"));
    let parameter = client.at("textDocument/definition", URI, LOCK, "p] = Idle ==>", json!({}));
    assert_eq!(parameter["range"]["start"], position(LOCK, "p: proc do\n  rule"));
    let all = client.at(
        "textDocument/references",
        URI,
        LOCK,
        place,
        json!({"context": {"includeDeclaration": true}}),
    );
    assert_eq!(all.as_array().unwrap().len(), 8);
    let marked = client.at("textDocument/documentHighlight", URI, LOCK, "turns <= 3", json!({}));
    assert_eq!(marked.as_array().unwrap().len(), 5);
    let hover = client.at("textDocument/hover", URI, LOCK, place, json!({}));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("var inside"), "{hover}");
    let sort = client.at("textDocument/hover", URI, LOCK, "proc: scalarset", json!({}));
    assert!(sort["contents"]["value"].as_str().unwrap().contains("2 elements, symmetric: proved"), "{sort}");
    assert_eq!(client.at("textDocument/hover", URI, LOCK, "begin\n", json!({})), Value::Null);
}

#[test]
fn a_name_is_changed_everywhere_or_not_at_all() {
    let mut client = opened();
    let edits = client.at("textDocument/rename", URI, LOCK, "turns := 0", json!({"newName": "rounds"}));
    assert_eq!(edits["changes"][URI].as_array().unwrap().len(), 5, "{edits}");
    for (name, why) in
        [("inside", "stands in the text already"), ("1x", "is not a name"), ("", "is not a name")]
    {
        let refused = client.at("textDocument/rename", URI, LOCK, "turns := 0", json!({"newName": name}));
        assert!(refused["message"].as_str().unwrap().contains(why), "{refused}");
    }
    // What a comment says is not a name.
    let text = format!("-- turns are counted\n{LOCK}");
    client.change(URI, 2, json!([{"text": text}]));
    let edits = client.at("textDocument/rename", URI, &text, "turns := 0", json!({"newName": "rounds"}));
    assert_eq!(edits["changes"][URI].as_array().unwrap().len(), 5, "{edits}");
}

/// Sorts where they are used, types, constants, values and fields: the Model has no use for them, the text does.
#[test]
fn what_the_model_does_not_keep_is_a_name_too() {
    let mut client = opened();
    for (used, declared, count) in [
        ("N);", "N: 2;", 2),
        ("proc do inside", "proc: scalarset", 7),
        ("state;", "state: enum", 2),
        ("Idle; end; turns", "Idle, Inside", 4),
    ] {
        let definition = client.at("textDocument/definition", URI, LOCK, used, json!({}));
        assert_eq!(definition["range"]["start"], position(LOCK, declared), "{used}");
        let all = client.at(
            "textDocument/references",
            URI,
            LOCK,
            used,
            json!({"context": {"includeDeclaration": true}}),
        );
        assert_eq!(all.as_array().unwrap().len(), count, "{used}: {all}");
        let edits = client.at("textDocument/rename", URI, LOCK, used, json!({"newName": "other"}));
        assert_eq!(edits["changes"][URI].as_array().unwrap().len(), count, "{used}: {edits}");
    }
    let hover = client.at("textDocument/hover", URI, LOCK, "Idle; end; turns", json!({}));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("a value of state"), "{hover}");
    let hover = client.at("textDocument/hover", URI, LOCK, "N);", json!({}));
    assert!(hover["contents"]["value"].as_str().unwrap().contains("const N: 2;"), "{hover}");
    // A text with errors has names, and they are not changed.
    let broken = LOCK.replace("turns := turns", "turns := := turns");
    client.change(URI, 2, json!([{"text": broken}]));
    let definition = client.at("textDocument/definition", URI, &broken, "Idle; end; turns", json!({}));
    assert_eq!(definition["range"]["start"], position(&broken, "Idle, Inside"));
    let refused =
        client.at("textDocument/rename", URI, &broken, "Idle; end; turns", json!({"newName": "other"}));
    assert!(refused["message"].as_str().unwrap().contains("errors"), "{refused}");
}

#[test]
fn outline_colours_and_hints() {
    let mut client = opened();
    let about = json!({"textDocument": {"uri": URI}});
    let outline = client.request("textDocument/documentSymbol", about.clone());
    let names: Vec<&str> = outline.as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    for name in ["proc", "inside", "busy", "enter", "leave", "one at most"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let tokens = client.request("textDocument/semanticTokens/full", about.clone());
    let data = tokens["data"].as_array().unwrap();
    assert!(data.len() >= 5 * 20 && data.len().is_multiple_of(5));
    let hints = client.request("textDocument/inlayHint", about.clone());
    assert_eq!(hints[0]["label"], "2 elements, symmetric: proved");
    let completions = client.request(
        "textDocument/completion",
        json!({"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}),
    );
    let labels: Vec<&str> =
        completions.as_array().unwrap().iter().filter_map(|it| it["label"].as_str()).collect();
    for label in ["proc", "inside", "busy", "Idle", "Inside"] {
        assert!(labels.contains(&label), "{label} in {labels:?}");
    }
}

#[test]
fn a_property_is_checked_from_its_line() {
    let mut client = opened();
    let lenses = client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}}));
    let lens = lenses
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["command"]["title"].as_str().unwrap().contains("one at most"));
    let command = lens.unwrap()["command"].clone();
    client.request("workspace/executeCommand", command);
    assert_eq!(client.heard("$/progress")["value"]["kind"], "begin");
    let found = client.diagnostics(URI, 1);
    let violated =
        found.iter().find(|it| it["message"].as_str().unwrap().contains("is violated in 2 steps")).unwrap();
    let steps = violated["relatedInformation"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    assert!(steps[0]["message"].as_str().unwrap().starts_with("step 1: enter (p = "));
    assert!(
        found
            .iter()
            .any(|it| it["message"].as_str().unwrap().contains("is false for p = proc_1, q = proc_2")),
        "{found:?}"
    );
    let lenses = client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}})).to_string();
    assert!(lenses.contains("✗ violated in 2 steps"));
    // Of another text nothing is known.
    client.change(URI, 2, json!([{"text": format!("{LOCK}\n")}]));
    assert_eq!(client.diagnostics(URI, 2), Vec::<Value>::new());
    let lenses = client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}})).to_string();
    assert!(!lenses.contains("violated"));
    client.request("workspace/executeCommand", json!({"command": "shoal.check", "arguments": [URI, "few"]}));
    assert_eq!(client.diagnostics(URI, 2), Vec::<Value>::new());
    let lenses = client.request("textDocument/codeLens", json!({"textDocument": {"uri": URI}})).to_string();
    assert!(lenses.contains("✓ holds"), "{lenses}");
}

#[test]
fn a_check_is_stopped() {
    let mut client = Client::new();
    let endless = "var x: array [0..40] of boolean; startstate begin for i: 0..40 do x[i] := false; end; end;
        ruleset i: 0..40 do rule \"flip\" true ==> begin x[i] := !x[i]; end; end; invariant \"true\" true;";
    assert_eq!(client.open(URI, endless), Vec::<Value>::new());
    client.request("workspace/executeCommand", json!({"command": "shoal.check", "arguments": [URI]}));
    client.heard("window/workDoneProgress/create");
    let token = client.heard("$/progress")["token"].clone();
    client.notify("window/workDoneProgress/cancel", json!({"token": token}));
    let began = std::time::Instant::now();
    let found = client.diagnostics(URI, 1);
    assert!(began.elapsed() < std::time::Duration::from_secs(30));
    assert!(found.iter().any(|it| it["message"].as_str().unwrap().starts_with("not decided")), "{found:?}");
    assert!(client.leave());
}

#[test]
fn the_protocol_is_kept() {
    let mut client = Client::silent();
    let early = client.request("textDocument/hover", json!({}));
    assert_eq!(early["code"], -32002);
    client.request(
        "initialize",
        json!({"capabilities": {"general": {"positionEncodings": ["utf-8", "utf-16"]}}}),
    );
    assert_eq!(client.request("no/such/method", json!({}))["code"], -32601);
    assert_eq!(
        client.request("textDocument/hover", json!({"textDocument": {"uri": "file:///x.m"}}))["code"],
        -32602
    );
    client.notify("no/such/notification", json!(null));
    assert!(client.leave());
    assert!(!Client::new().vanish());
    let mut junk = Client::silent();
    junk.raw(b"hello\r\n\r\n");
    assert!(!junk.vanish());
}
