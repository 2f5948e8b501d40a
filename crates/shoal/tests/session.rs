//! Checks as objects: events, several at once, and their end.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use shoal::{
    CheckOptions, EngineKind, Event, Limits, LoadOptions, Report, Session, Sources, Status, Verdict, Watch,
    model::{PropertyId, StopReason},
};

fn session(name: &str, text: &str) -> Session {
    Session::load(&Sources::text(name, text), &LoadOptions::default()).unwrap()
}

fn run(session: &Session, options: &CheckOptions) -> (Vec<Event>, Report) {
    let mut events = Vec::new();
    let report = session.run(options, &mut |event| events.push(event)).unwrap();
    (events, report)
}

/// Something of states, which is decided soon, and something of branching time, which another engine decides.
const MIXED: &str = "
var x: 0..5;
startstate x := 0; end;
rule \"up\" x < 5 ==> x := x + 1; end;
rule \"back\" x = 5 ==> x := 0; end;
invariant \"small\" x < 4;
invariant \"in range\" x < 6;
ctl \"again\" AG EF x = 0;
";

fn verdicts(events: &[Event]) -> Vec<(PropertyId, bool)> {
    let decided = events.iter().filter_map(|event| match event {
        Event::Verdict(decided) => Some((decided.property, matches!(decided.verdict, Verdict::Violated(_)))),
        _ => None,
    });
    decided.collect()
}

#[test]
fn a_run_tells_its_plan_its_phases_and_each_verdict_once() {
    let session = session("mixed.m", MIXED);
    let (events, report) = run(&session, &CheckOptions::default());
    assert!(matches!(&events[0], Event::Planned(plan) if plan.tasks == report.plan.tasks));
    let told = verdicts(&events);
    let asked: BTreeSet<PropertyId> = session.loaded().asked.iter().copied().collect();
    assert_eq!(told.len(), asked.len());
    assert_eq!(told.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>(), asked);
    for (property, violated) in told {
        let known = report.of(property).unwrap();
        assert_eq!(violated, matches!(known.verdict, Verdict::Violated(_)));
        assert!(known.statistics.is_some() && known.confirmed);
        assert_eq!(known.causes.is_empty(), !violated);
    }
}

/// That something was found is told before the verdict, which comes after it was replayed.
#[test]
fn what_is_found_is_told_before_its_verdict() {
    let session = session("mixed.m", MIXED);
    let (events, _) = run(&session, &CheckOptions::default());
    let violated = events.iter().position(|event| match event {
        Event::Verdict(decided) => session.loaded().model.properties[decided.property].name == "small",
        _ => false,
    });
    let found = events.iter().position(|event| matches!(event, Event::Found(_)));
    assert!(found.unwrap() < violated.unwrap());
}

/// Where a bound of the model is reached, what seemed to hold is not known, and nothing else was ever said.
#[test]
fn what_a_bound_makes_unknown_is_never_told_to_hold() {
    let text =
        "active proctype p() { do :: run q() od } proctype q() { end: 0 } byte x; ltl t { [] (x == 0) }";
    let session = session("many.pml", text);
    let (events, report) = run(&session, &CheckOptions::default());
    for event in &events {
        let Event::Verdict(decided) = event else { continue };
        let known = report.of(decided.property).unwrap().verdict;
        assert_eq!(matches!(decided.verdict, Verdict::Holds), matches!(known, Verdict::Holds), "{decided:?}");
    }
    assert_eq!(report.status(), Status::Unknown);
}

/// As many states as nobody waits for.
const ENDLESS: &str = "
var a: 0..999; b: 0..999; c: 0..999;
startstate a := 0; b := 0; c := 0; end;
rule a < 999 ==> a := a + 1; end;
rule b < 999 ==> b := b + 1; end;
rule c < 999 ==> c := c + 1; end;
invariant \"in range\" a < 1000;
";

#[test]
fn two_run_at_once_and_one_is_cancelled() {
    let (endless, short) = (session("endless.m", ENDLESS), session("mixed.m", MIXED));
    // Both are started with the same options: who ends the one does not end the other.
    let limits = Limits { time: Some(Duration::from_secs(60)), memory: Some(2 << 30), ..Limits::default() };
    let options = CheckOptions { watch: Watch::start(limits), ..CheckOptions::default() };
    let long = endless.start(options.clone()).unwrap();
    let first = long.events().find(|event| matches!(event, Event::Progress(_)));
    assert!(matches!(first, Some(Event::Progress(progress)) if progress.states > 0));
    let other = short.start(options).unwrap();
    assert!(!long.is_finished());
    let began = Instant::now();
    long.cancel();
    let report = long.wait().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(report.status(), Status::Interrupted);
    assert!(matches!(report.outcome.results[0].verdict, Verdict::Unknown(StopReason::Interrupted)));
    assert_eq!(other.wait().unwrap().status(), Status::Violated);
}

#[test]
fn who_drops_a_run_ends_it() {
    let running = session("endless.m", ENDLESS).start(CheckOptions::default()).unwrap();
    let cancel = running.canceller();
    drop(running);
    assert!(cancel.is_cancelled());
}

#[test]
fn an_unknown_property_and_an_engine_that_refuses_are_errors_of_the_run() {
    let session = session("mixed.m", MIXED);
    let asked = |name: &str| CheckOptions { properties: vec![name.into()], ..CheckOptions::default() };
    assert!(session.plan(&asked("smal")).is_err());
    assert!(session.start(asked("smal")).unwrap().wait().is_err());
    let timed = CheckOptions { engine: Some(EngineKind::Cover), ..asked("again") };
    assert!(session.start(timed).unwrap().wait().is_err());
}
