//! Every language is served, and no beginning of a file is too little.

use std::{fs, path::Path, time::Duration};

use serde_json::json;

use crate::client::Client;

fn models() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut found = Vec::new();
    for folder in fs::read_dir(root).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|ending| ending != "q") {
                found.push((
                    format!("file://{}", path.canonicalize().unwrap().display()),
                    fs::read_to_string(&path).unwrap(),
                ));
            }
        }
    }
    found.sort();
    found
}

/// No model of the gallery has an error, each has an outline, and every property that stands in a text has a lens.
#[test]
fn the_gallery_is_served() {
    let mut client = Client::new();
    for (uri, text) in models() {
        let found = client.open(&uri, &text);
        // A net without a target asks nothing; that is an error, and not one of the text.
        assert!(found.iter().all(|it| it["severity"] != 1 || it["code"] == "E0705"), "{uri}: {found:?}");
        if !found.is_empty() && found[0]["code"] == "E0705" {
            continue;
        }
        let about = json!({"textDocument": {"uri": uri}});
        let outline = client.request("textDocument/documentSymbol", about.clone());
        // Nets have places and transitions without places in their text.
        let is_net = uri.ends_with(".spec") || uri.ends_with(".pnml") || uri.ends_with(".tts");
        assert!(is_net || !outline.as_array().unwrap().is_empty(), "{uri}");
        assert!(
            !client.request("textDocument/codeLens", about.clone()).as_array().unwrap().is_empty(),
            "{uri}"
        );
        client.notify("textDocument/didClose", about);
    }
    assert!(client.leave());
}

/// A text that is cut off anywhere is an error at most, soon.
#[test]
fn every_beginning_of_a_file_is_answered() {
    let mut client = Client::new();
    let mut seen = Vec::new();
    for (uri, text) in models() {
        let ending = uri.rsplit('.').next().unwrap().to_string();
        if seen.contains(&ending) || text.len() > 20_000 {
            continue;
        }
        seen.push(ending);
        client.open(&uri, &text);
        for (version, percent) in (2..).zip((0..100).step_by(9)) {
            let mut cut = text.len() * percent / 100;
            while !text.is_char_boundary(cut) {
                cut -= 1;
            }
            let began = std::time::Instant::now();
            client.change(&uri, version, json!([{"text": &text[..cut]}]));
            client.diagnostics(&uri, version);
            assert!(began.elapsed() < Duration::from_secs(20), "{uri} cut at {cut}");
        }
    }
    assert!(seen.len() >= 9, "{seen:?}");
}

/// Two thousand lines: what is wrong is told while one goes on typing. (A build for developers on a busy machine takes its time; a
/// release answers within some milliseconds.)
#[test]
fn a_long_text_is_answered_soon() {
    let mut text = String::from(
        "type proc: scalarset(3);\nvar x: array [proc] of 0..3;\nstartstate\n  for p: proc do x[p] := 0; end;\nend;\n",
    );
    for number in 0..220 {
        text += &format!(
            "ruleset p: proc do\n  rule \"step {number}\"\n    x[p] < 3\n  ==>\n    if x[p] = {} then\n      x[p] := 0;\n    end;\n  end;\nend;\n",
            number % 4
        );
    }
    assert!(text.lines().count() > 1_980);
    let mut client = Client::new();
    let uri = "file:///long.m";
    assert!(client.open(uri, &text).is_empty());
    let slip = text.replacen("x[p] := 0;\n    end;\n  end;", "z[p] := 0;\n    end;\n  end;", 1);
    let mut least = Duration::MAX;
    for version in 2..8 {
        let began = std::time::Instant::now();
        client.change(uri, version, json!([{"text": if version % 2 == 0 { &slip } else { &text }}]));
        let found = client.diagnostics(uri, version);
        least = least.min(began.elapsed());
        assert_eq!(found.len(), usize::from(version % 2 == 0));
    }
    assert!(least < Duration::from_millis(900), "{least:?}");
    let about = json!({"textDocument": {"uri": uri}});
    assert!(client.request("textDocument/foldingRange", about).as_array().unwrap().len() > 400);
    assert!(client.leave());
}

/// In every language names lead to where they are declared, and are changed everywhere so that the model stays the same.
#[test]
fn names_of_every_language() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    for (file, used, declared) in [
        ("murphi/german.m", "Exclusive then", "Exclusive"),
        ("promela/peterson.pml", "inside++", "inside"),
        ("promela/leader_ring.pml", "N]", "N"),
        ("heap/treiber_stack.dpml", "top == old", "top;"),
        ("sgm/fischer.vpl", "M3; x[i]", "M3"),
        ("red/mcs_bug.red", "locked = FALSE", "locked"),
        ("uppaal/fischer.xta", "taken; assign x = 0; },\n    req", "taken"),
        ("uppaal/fischer.xta", "wait -> cs", "wait"),
        ("beacon/update.bp", "updating", "updating"),
    ] {
        let path = root.join(file).canonicalize().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let uri = format!("file://{}", path.display());
        let mut client = Client::new();
        client.open(&uri, &text);
        let definition = client.at("textDocument/definition", &uri, &text, used, json!({}));
        let start = &definition["range"]["start"];
        let line = text.lines().nth(start["line"].as_u64().unwrap_or(u64::MAX) as usize);
        let there = line.and_then(|line| line.get(start["character"].as_u64().unwrap() as usize..));
        assert!(there.is_some_and(|there| there.starts_with(declared)), "{file}: {used}: {definition}");
        let uses = client.at(
            "textDocument/references",
            &uri,
            &text,
            used,
            json!({"context": {"includeDeclaration": true}}),
        );
        assert!(uses.as_array().is_some_and(|uses| uses.len() >= 2), "{file}: {used}: {uses}");
        let hover = client.at("textDocument/hover", &uri, &text, used, json!({}));
        assert!(hover["contents"]["value"].is_string(), "{file}: {used}: {hover}");
        let edits = client.at("textDocument/rename", &uri, &text, used, json!({"newName": "another_name"}));
        let changed = edits["changes"][&uri].as_array().map_or(0, Vec::len);
        assert_eq!(Some(changed), uses.as_array().map(Vec::len), "{file}: {used}: {edits}");
    }
}
