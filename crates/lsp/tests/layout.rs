//! Folding and formatting: of every model of the gallery, and of every beginning of a text.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use shoal::{LoadOptions, Sources, load_sources, model::print_model, vocabulary_of};

use crate::client::{Client, position};

fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_path_buf()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        } else if path.extension().is_some_and(|it| endings.iter().any(|ending| it == *ending)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A text that was laid out is laid out as it is, and is the same model.
fn keeps_its_meaning(path: &Path) -> Result<bool, String> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(false) };
    let name = path.display().to_string();
    let once = shoal::formatted(&name, &text, None).ok_or_else(|| format!("{name}: not laid out"))?;
    let twice = shoal::formatted(&name, &once, None).ok_or_else(|| format!("{name}: not laid out twice"))?;
    if once != twice {
        let at = once.lines().zip(twice.lines()).find(|(one, two)| one != two);
        return Err(format!("{name}: laid out otherwise the second time: {at:?}"));
    }
    let model = |text: &str| {
        let sources = Sources::text(name.as_str(), text);
        let mut model = load_sources(&sources, &LoadOptions::default()).ok()?.model;
        // A property without a name is called by its text.
        model.properties.iter_mut().for_each(|property| property.name.clear());
        Some(print_model(&model))
    };
    match (model(&text), model(&once)) {
        (None, None) => Ok(false),
        (before, after) if before == after => Ok(true),
        _ => Err(format!("{name}: another model when laid out")),
    }
}

#[test]
fn what_is_laid_out_means_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let gallery = files(&root.join("models"), &["m", "vpl"]);
    let corpus = files(&root.join("../shared/corpus"), &["m", "vpl"]);
    if corpus.is_empty() {
        #[allow(clippy::print_stderr)]
        {
            eprintln!("skipped: no corpus");
        }
    }
    let small = |path: &&PathBuf| fs::metadata(path).is_ok_and(|about| about.len() < 60_000);
    let (mut wrong, mut same) = (Vec::new(), 0);
    for path in gallery.iter().chain(corpus.iter().filter(small)) {
        match keeps_its_meaning(path) {
            Ok(loaded) => same += usize::from(loaded),
            Err(error) => wrong.push(error),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same >= gallery.len(), "only {same} of {} models", gallery.len());
}

/// The smallest file of each language, cut off anywhere: an error at most, and folds and layout all the same.
#[test]
fn no_beginning_of_a_text_is_too_little() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    for ending in ["m", "pml", "dpml", "vpl", "red", "xta", "bp", "tts", "spec", "pnml"] {
        let size = |path: &PathBuf| fs::metadata(path).map_or(u64::MAX, |about| about.len());
        let path = files(&models, &[ending]).into_iter().min_by_key(size).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let name = format!("cut.{ending}");
        let vocabulary = vocabulary_of(&name, None);
        // A comment at the head of a file says nothing new when it is cut.
        let head = text.find("\n\n").unwrap_or_default();
        for (end, _) in text.char_indices().skip_while(|(at, _)| *at < head) {
            let cut = &text[..end];
            let _ = load_sources(&Sources::text(name.as_str(), cut), &LoadOptions::default());
            if let Some(vocabulary) = vocabulary {
                vocabulary.folds(cut);
            }
            if let Some(laid_out) = shoal::formatted(&name, cut, None) {
                assert_eq!(
                    shoal::formatted(&name, &laid_out, None).as_deref(),
                    Some(laid_out.as_str()),
                    "{name} at {end}"
                );
            }
        }
    }
}

/// Three slips in three statements are three errors. (Of UPPAAL files the first slip of a text is told, and all unknown names.)
#[test]
fn all_errors_of_a_text_are_found() {
    let texts = [
        (
            "a.m",
            "var x: 0..3;\nstartstate x := 0; end;\nrule x < 3 ==> x := x + ); end;\nrule x = 3 ==> x := ); end;\nrule x = 2 ==> x := 1 + ); end;\n",
        ),
        (
            "a.pml",
            "byte x;\nactive proctype P() {\n  x = );\n  x = 1;\n  x = 2 + );\n  x = 3;\n  x = ) + 1\n}\n",
        ),
        (
            "a.vpl",
            "automata A : i = 1..2;\nclock x[1..total(A)];\nautomaton A[i] {\n  initially M and x[i] = 0;\n  mode M {\n    invariant x[i] <= );\n    when x[i] >= ) may goto M;\n  }\n  mode N { when ) may goto M; }\n}\nverify \"v\": true;\n",
        ),
        (
            "a.red",
            "global discrete g : 0..);\nprocess p : 2 {\n  mode 0 {\n    when g == ) may g = 0; goto 1;\n    when true may g = 1; goto 1;\n  }\n  mode 1 { when true may g = ); goto 0; }\n}\nsafe \"s\": g >= 0;\n",
        ),
        (
            "a.bp",
            "decl x := F;\nvoid main() begin\n  x := );\n  x := T;\n  x := F | );\n  if x then x := ); fi;\nend\n",
        ),
    ];
    for (name, text) in texts {
        let Err(shoal::Error::Source(rejected)) =
            load_sources(&Sources::text(name, text), &LoadOptions::default())
        else {
            panic!("{name} has no errors");
        };
        let lines: Vec<_> =
            rejected.diagnostics.iter().map(|it| rejected.sources.locate(it.primary.span)).collect();
        assert_eq!(lines.len(), 3, "{name}: {lines:?}");
        // Without the slips there is a model, or another error: not those three.
        let mended = text
            .replace(')', "0")
            .replace("P(0", "P()")
            .replace("main(0", "main()")
            .replace("total(A0", "total(A)");
        let again = load_sources(&Sources::text(name, mended.as_str()), &LoadOptions::default());
        let errors = again.err().map_or(0, |error| match error {
            shoal::Error::Source(rejected) => rejected.diagnostics.iter().count(),
            _ => 0,
        });
        assert!(errors <= 1, "{name}: {mended}");
    }
}

#[test]
fn an_editor_is_told_folds_and_changes() {
    let mut client = Client::new();
    let uri = "file:///lock.m";
    let text =
        "-- one\n-- two\nvar x:0..3;\nstartstate\nx:=0;\nend;\nrule x<3 ==>\n  x := x+1;\nend;\nrule x :=\n";
    client.open(uri, text);
    let about = json!({"textDocument": {"uri": uri}});
    let folds = client.request("textDocument/foldingRange", about.clone());
    assert_eq!(folds[0], json!({"startLine": 0, "endLine": 1, "kind": "comment"}));
    assert_eq!(folds.as_array().unwrap().len(), 3, "{folds}");
    let edits =
        client.request("textDocument/formatting", json!({"textDocument": {"uri": uri}, "options": {}}));
    // From the first line that changes to the last.
    assert_eq!(edits[0]["range"]["start"], json!({"line": 2, "character": 0}));
    assert!(
        edits[0]["newText"].as_str().unwrap().starts_with("var x: 0..3;\nstartstate\n  x := 0;\nend;\n"),
        "{edits}"
    );
    // What stands behind the cursor is completed with the words of the language, too.
    let items = client.request(
        "textDocument/completion",
        json!({"textDocument": {"uri": uri}, "position": position(text, "rule x :=")}),
    );
    assert!(items.as_array().unwrap().iter().any(|item| item["label"] == "ruleset"), "{items}");
    assert!(client.leave());
}
