//! A model and what implements it, held against each other both ways: Shoal's own [`Cancel`] and `models/murphi/cancel.m`.
//!
//! - *Tests from the model*: runs that cover every rule, every pair of rules and every goal are made, and the implementation does
//!   what they say, step by step; what it answers must be what the model says.
//! - *Logs of the implementation*: threads use one `Cancel` at the same time, each logs its calls and what they return, and the
//!   log must be a behaviour of the model.
//!
//! `cargo run -p shoal-report --example bridge`

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use serde_json::{Value as Json, json};
use shoal::{
    Cancel, Error, LoadOptions, Loaded, LogOptions, TestOptions, Validated, generate_tests, goals_of,
    validate_log,
};
use shoal_report::{LogMap, Origin, Palette, read_log, tests_document, write_stuck};

const MODEL: &str = include_str!("../../../models/murphi/cancel.m");
const MAP: &str = include_str!("cancel.toml");

/// What the model speaks of. A test may put something else in the place of the real thing, to see that it is noticed.
pub(crate) trait Handles: Sync {
    /// Asks for the end of the whole or of the part; whether that was the first time.
    fn cancel(&self, part: bool) -> bool;
    /// Whether the whole or the part is to end.
    fn is_cancelled(&self, part: bool) -> bool;
}

/// The implementation: a handle, and another for a part of the work.
pub(crate) struct Real {
    whole: Cancel,
    part: Cancel,
}

impl Real {
    pub(crate) fn new() -> Real {
        let whole = Cancel::default();
        Real { part: whole.child(), whole }
    }
}

impl Handles for Real {
    fn cancel(&self, part: bool) -> bool {
        if part { self.part.cancel() } else { self.whole.cancel() }
    }

    fn is_cancelled(&self, part: bool) -> bool {
        if part { self.part.is_cancelled() } else { self.whole.is_cancelled() }
    }
}

pub(crate) fn load(threads: i64) -> Result<Loaded, Error> {
    let set = vec![("N".to_string(), threads)];
    shoal::load_text("cancel.m", MODEL, &LoadOptions { set, ..LoadOptions::default() })
}

/// The tests that the model gives, as another program would read them.
pub(crate) fn tests(loaded: &Loaded) -> Result<Json, Error> {
    let mut options = TestOptions::default();
    options.goals = goals_of(loaded);
    let tests = generate_tests(loaded, &options)?;
    Ok(tests_document(loaded, &Origin::of(loaded, "cancel.m"), &options.goals, &tests))
}

/// Does what a test says. What a thread is told when a call takes effect must be what the model has as its result.
pub(crate) fn follow(test: &Json, real: &dyn Handles) -> Result<(), String> {
    let steps = test["steps"].as_array().ok_or("a test has steps")?;
    for (before, step) in steps.iter().zip(steps.iter().skip(1)) {
        if step["rule"] != "take effect" {
            continue;
        }
        let thread = step["args"]["t"].as_str().unwrap_or_default();
        let of = |state: &Json, what: &str| state["state"][format!("{what}[{thread}]")].clone();
        let part = of(before, "on") == "Part";
        let told = match of(before, "busy") == "Cancel" {
            true => real.cancel(part),
            false => real.is_cancelled(part),
        };
        let said = of(step, "result");
        if said != json!(told) {
            return Err(format!("{thread} is told {told}, where the model says {said}"));
        }
    }
    Ok(())
}

/// Lets threads use one implementation at the same time, and gives the log: the number of a line is drawn before a call and
/// after its return, so that a call lies between its two lines.
pub(crate) fn log_of(real: &dyn Handles, threads: usize, calls: usize) -> String {
    let (turn, lines) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let log = |event: Json| {
        let number = turn.fetch_add(1, Ordering::SeqCst);
        lines.lock().unwrap_or_else(PoisonError::into_inner).push((number, event));
    };
    thread::scope(|scope| {
        for me in 0..threads {
            let log = &log;
            scope.spawn(move || {
                for call in 0..calls {
                    // Mostly looks, so that the end does not come at once.
                    let (part, cancels) = ((call + me) % 2 == 1, call % 4 == 3);
                    let operation = if cancels { "Cancel" } else { "Look" };
                    let handle = if part { "Part" } else { "Whole" };
                    log(json!({"event": "call", "t": me, "o": operation, "h": handle}));
                    let told = if cancels { real.cancel(part) } else { real.is_cancelled(part) };
                    log(json!({"event": "return", "t": me, "r": told}));
                    thread::yield_now();
                }
            });
        }
    });
    let mut lines = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
    lines.sort_by_key(|(number, _)| *number);
    lines.into_iter().map(|(_, event)| format!("{event}\n")).collect()
}

/// Whether a log is a behaviour of the model; why not, if it is none.
pub(crate) fn judge(loaded: &Loaded, log: &str) -> Result<(), String> {
    let map = LogMap::read(MAP)?;
    let log = read_log(loaded, log, &map)?;
    let mut options = LogOptions::default();
    options.hidden.clone_from(&log.hidden);
    match validate_log(loaded, &log.observations(), &options).map_err(|error| error.to_string())? {
        Validated::Behaviour(_) => Ok(()),
        Validated::Stuck(stuck) => {
            let mut text = Vec::new();
            write_stuck(&mut text, loaded, &log, &stuck, Palette::plain())
                .map_err(|error| error.to_string())?;
            Err(String::from_utf8_lossy(&text).into_owned())
        }
    }
}

#[allow(dead_code, clippy::print_stdout, reason = "an example prints; the tests use the rest of it")]
fn main() -> Result<(), String> {
    let loaded = load(2).map_err(|error| error.to_string())?;
    let document = tests(&loaded).map_err(|error| error.to_string())?;
    let tests = document["tests"].as_array().map_or(&[][..], Vec::as_slice);
    for test in tests {
        follow(test, &Real::new())?;
    }
    println!("{} tests from the model pass on the implementation", tests.len());
    let loaded = load(3).map_err(|error| error.to_string())?;
    for _ in 0..20 {
        judge(&loaded, &log_of(&Real::new(), 3, 8))?;
    }
    println!("20 logs of three threads are behaviours of the model");
    Ok(())
}
