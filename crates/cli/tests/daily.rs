//! What is used every day around a check: tests from models, logs, expectations, runs that are repeated, settings of a folder.

use serde_json::Value;

use crate::common::{BROKEN, COUNTER, Folder};

/// Two processes and one token.
const TOKEN: &str = r#"
type proc: scalarset(2);
var holder: proc; inside: array [proc] of boolean;
startstate "begin" for p: proc do inside[p] := false; end; end;
ruleset p: proc do
  rule "take" isundefined(holder) ==> holder := p; end;
  rule "enter" !isundefined(holder) & holder = p & !inside[p] ==> inside[p] := true; end;
  rule "leave" inside[p] ==> inside[p] := false; undefine holder; end;
end;
rule "never" false ==> end;
cover "somebody is inside" exists p: proc do inside[p] end;
"#;

#[test]
fn tests_cover_rules_pairs_and_goals() {
    let folder = Folder::with(&[("token.m", TOKEN)]);
    let ran = folder.shoal(&["testgen", "token.m", "--format", "itf,json"]).expect(0);
    let ran =
        ran.says("rules           3 of 4").says("pairs of rules  3 of 3").says("goals           1 of 1");
    ran.says("! never happens  rule \"never\"");
    let document: Value = serde_json::from_str(&folder.read("token.tests/token.tests.json")).unwrap();
    assert_eq!((&document["kind"], &document["complete"]), (&"shoal tests".into(), &true.into()));
    let tests = document["tests"].as_array().unwrap();
    let steps: Vec<&Value> = tests.iter().flat_map(|test| test["steps"].as_array().unwrap()).collect();
    assert!(steps.iter().any(|step| step["rule"] == "enter" && step["args"]["p"] == "proc_1"));
    assert!(steps.iter().any(|step| step["state"]["inside[proc_1]"] == true));
    // Each test is a trace that replays.
    for number in 1..=tests.len() {
        let trace = format!("token.tests/token.{number}.itf.json");
        folder.shoal(&["trace", "replay", &trace]).expect(0).says("✓ replayed");
    }
    // A goal of one's own; one that is never reached is told by the exit code, and a search that is cut short too.
    folder.shoal(&["testgen", "token.m", "--goal", "inside[proc_1]"]).expect(2);
    let goal = "exists p: proc do inside[p] & holder != p end";
    folder.shoal(&["testgen", "token.m", "--goal", goal]).expect(1).says("! never happens");
    folder.shoal(&["testgen", "token.m", "--states", "2"]).expect(3).says("? not complete");
    folder.shoal(&["testgen", "token.m", "--cover", "rules", "--length", "1"]).expect(0).says("rules");
}

#[test]
fn a_log_is_a_behaviour_or_it_is_said_why_not() {
    let log = "{\"event\": \"take\", \"p\": \"proc_1\"}\n\n{\"event\": \"enter\", \"p\": \"proc_1\"}\n";
    let bad = format!("{log}{{\"event\": \"take\", \"p\": \"proc_2\"}}\n");
    let hidden = "{\"what\": {\"is\": \"in\"}, \"who\": 7}\n{\"what\": {\"is\": \"out\"}, \"who\": 7}\n";
    let map = "event = \"what.is\"\nhidden = [\"*\"]\n[events.in]\nrule = \"enter\"\nargs = { p = \"{who}\" }\n\
        state = { \"inside[{who}]\" = true }\n[events.out]\nrules = [\"leave\"]\nargs = { p = \"{who}\" }\n[elements]\nwho = \"proc\"\n";
    let folder = Folder::with(&[
        ("token.m", TOKEN),
        ("good.ndjson", log),
        ("bad.ndjson", &bad),
        ("hidden.ndjson", hidden),
        ("map.toml", map),
        ("twice.ndjson", &hidden.replace("out", "in")),
    ]);
    let validate =
        |log: &str, more: &[&str]| folder.shoal(&[&["trace", "validate", log, "token.m"], more].concat());
    validate("good.ndjson", &[]).expect(0).says("2 events, a run of 2 steps");
    let ran = validate("bad.ndjson", &["--trace", "run.itf.json"]).expect(1).says("line 4 of the log");
    ran.says("take(p = proc_2)  may not fire: `isundefined(holder)`").says("enabled    leave(p = proc_1)");
    folder.shoal(&["trace", "replay", "run.itf.json"]).expect(0).says("2 steps");
    validate("hidden.ndjson", &["--map", "map.toml"]).expect(0).says("2 events, a run of 3 steps");
    let ran = validate("twice.ndjson", &["--map", "map.toml"]).expect(1);
    ran.says("line 2 of the log").says("`inside[p]` is true").says("inside[proc_1] = true");
    // What is wrong with the files is said by line and name.
    let wrong = Folder::with(&[
        ("token.m", TOKEN),
        ("a", "{\"event\": \"tkae\"}\n"),
        ("b", "{\"event\": \"take\", \"p\": \"x\"}"),
    ]);
    wrong
        .shoal(&["trace", "validate", "a", "token.m"])
        .expect(2)
        .says("line 1: the model has no rule \"tkae\"");
    wrong.shoal(&["trace", "validate", "b", "token.m"]).expect(2).says("the parameter `p` cannot be `x`");
    wrong.shoal(&["trace", "validate", "token.m", "token.m"]).expect(2).says("not a JSON object");
}

#[test]
fn expectations_in_comments_are_honoured() {
    let good = format!(
        "-- shoal: verdict=violated property=\"at most one is inside\" depth=2 states=3 full=4\n{BROKEN}"
    );
    let bad =
        format!("-- shoal: set LAST=3 verdict=holds states=4\n-- shoal: verdict=holds states=11\n{COUNTER}");
    let folder = Folder::with(&[("good.m", &good), ("bad.m", &bad), ("none.m", COUNTER)]);
    folder.shoal(&["check", "--expect", "good.m"]).expect(0).says("✓ as expected  good.m:1: violated");
    let ran = folder.shoal(&["check", "--expect", "good.m", "bad.m"]).expect(1);
    ran.says("✓ as expected  bad.m:1: holds with LAST=3")
        .says("✗ otherwise  bad.m:2")
        .says("states: 10, expected 11");
    folder.shoal(&["check", "--expect", "none.m"]).expect(2).says("no comment says what is expected");
}

#[test]
fn a_run_that_was_written_down_is_repeated() {
    let folder = Folder::with(&[("lock.m", BROKEN), ("counter.m", COUNTER)]);
    folder
        .shoal(&["check", "lock.m", "counter.m", "--set", "N=3", "--record", "run.json", "--quiet"])
        .expect(2);
    folder.shoal(&["check", "lock.m", "--set", "N=3", "--record", "run.json", "--quiet"]).expect(1);
    let record: Value = serde_json::from_str(&folder.read("run.json")).unwrap();
    let typed = record["arguments"].as_array().unwrap();
    assert!(typed.iter().any(|word| word.as_str().unwrap().starts_with("--threads=")), "{typed:?}");
    assert_eq!(record["results"][0]["verdict"], "violated");
    folder.shoal(&["repeat", "run.json"]).expect(0).says("✓ the same  3 verdicts, as they were");
    let other = folder.read("run.json").replacen("\"violated\"", "\"holds\"", 1);
    std::fs::write(folder.path().join("other.json"), other).unwrap();
    folder.shoal(&["repeat", "other.json"]).expect(1).says("was holds, is violated");
    std::fs::write(folder.path().join("lock.m"), format!("{BROKEN}\n")).unwrap();
    folder.shoal(&["repeat", "run.json"]).expect(2).says("lock.m has changed");
    folder.shoal(&["repeat", "lock.m"]).expect(2);
}

#[test]
fn a_folder_has_options_by_default_and_what_is_typed_counts_more() {
    let folder = Folder::with(&[
        ("counter.m", COUNTER),
        ("shoal.toml", "[check]\nquiet = true\nset = { LAST = 4 }\ndepth = 2\n"),
    ]);
    folder.shoal(&["check", "counter.m"]).expect(3);
    let ran = folder.shoal(&["check", "counter.m", "--depth", "20", "--json"]).expect(0);
    let events = ran.events();
    assert_eq!(events.last().unwrap()["properties"][0]["states"], 5);
    folder.shoal(&["check", "counter.m", "--no-config"]).expect(0).says("10 states");
    std::fs::write(folder.path().join("shoal.toml"), "[check]\nquite = true\n").unwrap();
    folder.shoal(&["check", "counter.m"]).expect(2).says("`check` has no option `quite`");
}

#[test]
fn texts_are_laid_out_and_mean_the_same() {
    let folder = Folder::with(&[("counter.m", COUNTER), ("x.pml", "init { skip }")]);
    folder.shoal(&["fmt", "--check", "counter.m"]).expect(1).says("would be laid out otherwise");
    let before = folder.shoal(&["explain", "--model", "counter.m"]).expect(0).out;
    folder.shoal(&["fmt", "counter.m"]).expect(0).says("counter.m: laid out");
    assert_ne!(folder.read("counter.m"), COUNTER);
    folder.shoal(&["fmt", "--check", "counter.m"]).expect(0);
    assert_eq!(folder.shoal(&["explain", "--model", "counter.m"]).expect(0).out, before);
    folder.shoal(&["fmt", "x.pml"]).expect(2).says("not supported");
}

/// What editors colour texts by is made from the words of the front ends, and stands in the repository as it is made.
#[test]
fn grammars_are_current() {
    let folder = Folder::new();
    folder.shoal(&["grammars", "made"]).expect(0);
    let editors = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors");
    let mut count = 0;
    let mut waiting = vec![folder.path().join("made")];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        count += 1;
        let name = path.strip_prefix(folder.path().join("made")).unwrap();
        let kept = std::fs::read_to_string(editors.join(name)).unwrap_or_default();
        let made = std::fs::read_to_string(&path).unwrap();
        assert!(kept == made, "{} is not current: `cargo xtask grammars` makes it", name.display());
    }
    assert_eq!(count, 6 * 3 + 2);
    // The extension knows every language and every ending.
    let package: Value =
        serde_json::from_str(&std::fs::read_to_string(editors.join("vscode/package.json")).unwrap()).unwrap();
    for language in shoal::vocabularies() {
        let languages = package["contributes"]["languages"].as_array().unwrap();
        let known = languages.iter().find(|it| it["id"] == language.id).unwrap();
        let endings: Vec<Value> = language.endings.iter().map(|it| Value::from(format!(".{it}"))).collect();
        assert_eq!(known["extensions"].as_array().unwrap(), &endings, "{}", language.id);
        let grammars = package["contributes"]["grammars"].as_array().unwrap();
        assert!(grammars.iter().any(|it| it["language"] == language.id));
    }
}

/// Lines fit the terminal: what is too long goes on below, and nothing is lost.
#[test]
fn output_fits_the_terminal() {
    let model = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/murphi/german_bug.m");
    let folder = Folder::with(&[("german_bug.m", &std::fs::read_to_string(model).unwrap())]);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let arguments: [&[&str]; 4] = [
        &["check", "german_bug.m", "--trace", "t.itf.json"],
        &["trace", "show", "t.itf.json"],
        &["explain", "german_bug.m"],
        &["sim", "german_bug.m", "--seed", "3", "--steps", "20"],
    ];
    for arguments in arguments {
        let wide = folder.shoal(arguments).out;
        for width in [60, 80, 100] {
            let narrow = folder.shoal_within(arguments, width).out;
            let longest = narrow.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(longest.chars().count() <= width, "{arguments:?} at {width}: {longest}");
            // Times differ from run to run.
            let told = |text: &str| {
                words(text).split(' ').filter(|word| !word.contains(|it: char| it.is_ascii_digit())).count()
            };
            assert_eq!(told(&narrow), told(&wide), "{arguments:?} at {width}");
        }
    }
}
