//! A search that was killed goes on where it was saved; one that is out of memory says so.
#![cfg(unix)]

use std::{
    process::{Child, Command, Stdio},
    thread::sleep,
    time::Duration,
};

use crate::common::Folder;
use serde_json::Value;

/// Two hundred thousand states, in debug builds a few seconds' work.
const MODEL: &str = "
const N: 60;
type digit: 0..N-1;
var x: array [0..2] of digit;
startstate begin for i: 0..2 do x[i] := 0; end; end;
ruleset i: 0..2 do
  rule \"up\" x[i] < N-1 ==> begin x[i] := x[i] + 1; end;
  rule \"reset\" x[i] = N-1 ==> begin x[i] := 0; end;
end;
invariant \"small\" x[0] < N;
liveness \"back\" x[0] = 0 & x[1] = 0 & x[2] = 0;
";

fn shoal(folder: &Folder, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shoal"));
    command.args(["check", "model.m", "--dialect", "rumur", "--json", "--threads", "2"]).args(args);
    command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The exit code, and what is said in the end.
fn finished(child: Child) -> (Option<i32>, Value) {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), serde_json::from_str(text.lines().last().unwrap()).unwrap())
}

/// Verdicts and counts, without times.
fn said(finished: &Value) -> Vec<String> {
    let fields = ["name", "verdict", "states", "transitions", "depth"];
    let properties = finished["properties"].as_array().unwrap().iter();
    properties.map(|property| fields.map(|field| property[field].to_string()).join(" ")).collect()
}

#[test]
fn a_killed_search_goes_on_to_the_same_end() {
    let folder = Folder::with(&[("model.m", MODEL)]);
    let (code, whole) = finished(shoal(&folder, &[]));
    assert_eq!(code, Some(0));
    assert_eq!(whole["properties"][0]["states"], 216_000);

    let mut child = shoal(&folder, &["--checkpoint", "saved", "--checkpoint-every", "0.01"]);
    let file = folder.path().join("saved/search.shoal");
    while !file.exists() && child.try_wait().unwrap().is_none() {
        sleep(Duration::from_millis(5));
    }
    sleep(Duration::from_millis(30));
    // SIGKILL. Should it have ended by then, the last checkpoint is there all the same.
    child.kill().unwrap();
    child.wait().unwrap();
    let (code, resumed) = finished(shoal(&folder, &["--resume", "saved"]));
    assert_eq!((code, said(&resumed)), (Some(0), said(&whole)));

    // A limit ends the search with a checkpoint, too, and another number of threads may go on.
    let (code, _) = finished(shoal(&folder, &["--depth", "40", "--checkpoint", "deep"]));
    assert_eq!(code, Some(3));
    let (code, resumed) = finished(shoal(&folder, &["--resume", "deep"]));
    assert_eq!((code, said(&resumed)), (Some(0), said(&whole)));

    // Another model is refused.
    let (code, refused) = finished(shoal(&folder, &["--resume", "saved", "--set", "N=61"]));
    assert_eq!(code, Some(2));
    assert!(refused["errors"][0]["message"].as_str().unwrap().contains("another model"), "{refused}");
    let (code, refused) = finished(shoal(&folder, &["--resume", "nowhere"]));
    assert_eq!(code, Some(2));
    assert!(refused["errors"][0]["message"].as_str().unwrap().contains("no saved search"), "{refused}");
}

#[test]
fn a_search_out_of_memory_is_inconclusive() {
    let folder = Folder::with(&[("model.m", MODEL)]);
    let (code, ended) = finished(shoal(&folder, &["--memory", "2MB", "--property", "small"]));
    assert_eq!(code, Some(3));
    let property = &ended["properties"][0];
    assert_eq!((property["verdict"].as_str(), property["limit"].as_str()), (Some("unknown"), Some("memory")));
    assert!(property["states"].as_u64().unwrap() > 10_000, "{property}");
    assert!(property["memory_bytes"].as_u64().unwrap() <= 2_000_000, "{property}");
}

/// The limit is one on the process: all that grows with the search is counted.
#[test]
fn a_search_takes_no_more_memory_than_it_may() {
    const LIMIT: u64 = 20_000_000;
    let folder = Folder::with(&[("model.m", MODEL)]);
    let peak = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shoal"));
        command.args(["check", "model.m", "--dialect", "rumur", "--property", "small", "--set", "N=250"]);
        command.args(args).current_dir(folder.path());
        shoal_peers::watch(&mut command).unwrap()
    };
    // A run that is over at once is rarely looked at when it has the most.
    let small = (0..5).map(|_| peak(&["--depth", "2"]).1).max().unwrap_or(0);
    for threads in ["1", "2"] {
        let (said, large) = peak(&["--memory", &LIMIT.to_string(), "--threads", threads]);
        assert!(said.contains("memory limit"), "{said}");
        assert!(large > LIMIT && large < small + LIMIT / 10 * 11 + (4 << 20), "{small} {large}");
    }
}
