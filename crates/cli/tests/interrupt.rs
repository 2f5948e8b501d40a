//! Ctrl-C ends a search with a summary.
#![cfg(unix)]

use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

use crate::common::Folder;

/// A thousand million states: no machine is done with it before the signal comes.
const LARGE: &str = "
type digit: 0..999;
var x: array [0..2] of digit;
startstate begin for i: 0..2 do x[i] := 0; end; end;
ruleset i: 0..2; d: digit do rule \"set\" true ==> begin x[i] := d; end; end;
invariant \"small\" x[0] < 1000;
";

#[test]
fn an_interrupted_search_says_what_it_found_and_ends_in_130() {
    // Whoever ends processes (a terminal that closes, a system that shuts down, a batch queue) sends one of these.
    for signal in ["-INT", "-TERM", "-HUP"] {
        interrupted_by(signal);
    }
}

fn interrupted_by(signal: &str) {
    let folder = Folder::with(&[("large.m", LARGE)]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_shoal"))
        // The limits are for the case that the signal does not work.
        .args(["check", "large.m", "--json", "--time", "30", "--memory", "500MB"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    // The search runs when there is progress.
    while !line.contains("\"progress\"") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the search ended by itself");
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last: serde_json::Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!((last["event"].as_str(), last["exit_code"].as_u64()), (Some("finished"), Some(130)));
    assert_eq!(last["properties"][0]["limit"], "interrupted");
}
