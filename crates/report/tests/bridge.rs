//! The example that holds a model and its implementation against each other, and implementations that are wrong.

#[path = "../examples/bridge.rs"]
mod example;

use std::sync::atomic::{AtomicBool, Ordering};

use example::{Handles, Real, follow, judge, load, log_of, tests};

/// Forgets that the end of the whole is the end of its parts.
#[derive(Default)]
struct Forgetful([AtomicBool; 2]);

impl Handles for Forgetful {
    fn cancel(&self, part: bool) -> bool {
        !self.0[usize::from(part)].swap(true, Ordering::SeqCst)
    }

    fn is_cancelled(&self, part: bool) -> bool {
        self.0[usize::from(part)].load(Ordering::SeqCst)
    }
}

/// Tells everybody that they were the first.
struct Boastful;

impl Handles for Boastful {
    fn cancel(&self, _: bool) -> bool {
        true
    }

    fn is_cancelled(&self, _: bool) -> bool {
        false
    }
}

#[test]
fn tests_from_the_model_pass_on_the_real_thing_and_fail_on_a_wrong_one() {
    let loaded = load(2).unwrap();
    let document = tests(&loaded).unwrap();
    let tests = document["tests"].as_array().unwrap();
    assert_eq!(document["complete"], true);
    assert!(!tests.is_empty());
    for test in tests {
        follow(test, &Real::new()).unwrap();
    }
    assert!(tests.iter().any(|test| follow(test, &Forgetful::default()).is_err()));
}

#[test]
fn logs_of_threads_are_behaviours() {
    let loaded = load(3).unwrap();
    for _ in 0..5 {
        judge(&loaded, &log_of(&Real::new(), 3, 6)).unwrap();
    }
}

#[test]
fn a_log_that_is_none_is_explained_by_the_shortest_run() {
    let loaded = load(2).unwrap();
    // Two threads are told to be the first: what a flag that is read and then set would do.
    let log = r#"{"event": "call", "t": 10, "o": "Cancel", "h": "Whole"}
{"event": "call", "t": 11, "o": "Cancel", "h": "Whole"}
{"event": "return", "t": 11, "r": true}
{"event": "return", "t": 10, "r": true}
"#;
    let why = judge(&loaded, log).unwrap_err();
    assert!(why.contains("line 4 of the log"), "{why}");
    assert!(why.contains("return(t = thread_1, r = true)  may not fire"), "{why}");
    assert!(why.contains("result[thread_1] = false"), "{why}");
    assert!(judge(&loaded, &log.replace("\"t\": 10, \"r\": true", "\"t\": 10, \"r\": false")).is_ok());
    // A wrong one in fact: it is found out by what a single thread is told.
    assert!(judge(&loaded, &log_of(&Boastful, 1, 8)).is_err());
    let more = judge(&loaded, &log.replace("11, \"o\"", "12, \"o\"").replace("11, \"r\"", "13, \"r\""));
    assert!(more.unwrap_err().contains("one more than the 2 elements"));
}
