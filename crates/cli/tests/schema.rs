//! Every line that a command with `--json` prints is as the published schema says.

use serde_json::Value as Json;

use crate::{
    common::{BROKEN, COUNTER, FAULT, Folder},
    validator::Validator,
};

const SCHEMA: &str = include_str!("../../../docs/src/events.schema.json");

/// Checks all lines of a call and gives the events that it had.
fn events(folder: &Folder, validator: &Validator, args: &[&str]) -> Vec<String> {
    let ran = folder.shoal(args);
    assert!(!ran.out.is_empty(), "{args:?} prints nothing: {}", ran.err);
    let mut seen = Vec::new();
    for line in ran.out.lines() {
        let event: Json =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{args:?}: {error}: {line}"));
        if let Err(why) = validator.check(&validator.0, &event, "event") {
            panic!("{args:?}: {why}\n{line}");
        }
        seen.push(event["event"].as_str().unwrap_or_default().to_string());
    }
    seen
}

fn model(name: &str) -> String {
    format!("{}/../../models/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_commands_print_is_as_the_schema_says() {
    let files = [
        ("broken.m", BROKEN),
        ("counter.m", COUNTER),
        ("fault.m", FAULT),
        ("wrong.m", "var x: 0..3; startstate y := 0; end;"),
        ("spec.tts", "2 2\n0 0 -> 1 1\n1 0 -> 1 1\n1|1,1\n"),
        ("program.bp", "decl x;\nvoid main() begin\n  x := 0;\n  x := 1;\nend\n"),
        (
            "ctl.m",
            "var x: 0..2; startstate x := 0; end; rule x < 2 ==> x := x + 1; end; rule x = 2 ==> x := 1; end;
            ctl \"stay\" EG x = 0; ltl \"again\" [] <> x = 0;",
        ),
    ];
    let folder = Folder::with(&files);
    let validator = Validator(serde_json::from_str(SCHEMA).unwrap());
    let (fischer, german, queue) =
        (model("sgm/fischer.vpl"), model("murphi/two_phase_commit.m"), model("heap/use_after_free.dpml"));
    let calls: &[&[&str]] = &[
        &[
            "check",
            "--json",
            "--profile",
            "broken.m",
            "counter.m",
            "fault.m",
            "wrong.m",
            "missing.m",
            "--trace",
            "none",
        ],
        &["check", "--json", "broken.m", "--trace", "t.itf.json"],
        &["check", "--json", "ctl.m"],
        &["check", "--json", "counter.m", "--depth", "2"],
        &["check", "--json", "counter.m", "--time", "0"],
        &["check", "--json", "counter.m", "--engine", "cover"],
        &["check", "--json", "spec.tts", "--cover-set", "--certificate", "c.json"],
        &["check", "--json", &german, "--set", "N=any"],
        &["check", "--json", &fischer, "--set", "A=2"],
        &["check", "--json", &queue, "--trace", "none"],
        &["script", "--json", "--reducers", "rw,sc,sm", "--set", "A=4", &fischer],
        &["refine", "--json", "program.bp", "spec.tts"],
    ];
    let mut seen: Vec<String> = calls.iter().flat_map(|args| events(&folder, &validator, args)).collect();
    seen.sort();
    seen.dedup();
    let wanted = [
        "cover_set",
        "coverage",
        "diagnostic",
        "error",
        "finished",
        "graph",
        "profile",
        "started",
        "verdict",
    ];
    for event in wanted {
        assert!(seen.iter().any(|it| it == event), "{event} is not among {seen:?}");
    }
}

/// The test itself: what is missing, too much or of another type is found.
#[test]
fn the_schema_refuses_what_is_not_an_event() {
    let validator = Validator(serde_json::from_str(SCHEMA).unwrap());
    let fits =
        |text: &str| validator.check(&validator.0, &serde_json::from_str(text).unwrap(), "event").is_ok();
    assert!(fits(r#"{"schema":1,"event":"error","message":"x"}"#));
    for wrong in [
        r#"{"schema":2,"event":"error","message":"x"}"#,
        r#"{"schema":1,"event":"error"}"#,
        r#"{"schema":1,"event":"error","message":3}"#,
        r#"{"schema":1,"event":"error","message":"x","more":1}"#,
        r#"{"schema":1,"event":"nonsense"}"#,
    ] {
        assert!(!fits(wrong), "{wrong}");
    }
}
