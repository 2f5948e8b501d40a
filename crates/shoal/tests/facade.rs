//! The library as another program uses it.

use shoal::{
    CheckOptions, Deadlock, Error, LoadOptions, Quiet, Simulation, Status, Verdict, check, load, load_text,
};

const COUNTER: &str = "
var x: 0..9;
startstate begin x := 0; end;
rule \"up\" x < 9 ==> begin x := x + 1; end;
rule \"reset\" x = 9 ==> begin x := 0; end;
invariant \"small\" x <= 9;
invariant \"not five\" x != 5;
";

fn counter() -> shoal::Loaded {
    load_text("counter.m", COUNTER, &LoadOptions::default()).unwrap()
}

#[test]
fn a_check_reports_verdicts_traces_and_causes() {
    let loaded = counter();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    assert_eq!(report.status(), Status::Violated);
    let (property, violation) = report.violations().next().unwrap();
    assert_eq!(loaded.model.properties[property].name, "not five");
    assert_eq!(violation.trace.as_ref().unwrap().steps.len(), 5);
    assert_eq!(report.causes[&property][0].reads[0].0, "x");
    assert!(report.outcome.statistics.exhaustive && report.unsettled.is_empty());
    assert!(shoal::replay(&loaded, violation.trace.as_ref().unwrap()).is_ok());
}

#[test]
fn limits_and_choices_are_obeyed() {
    let loaded = counter();
    let mut options = CheckOptions { properties: vec!["small".into()], ..CheckOptions::default() };
    let report = check(&loaded, &options, &mut Quiet).unwrap();
    assert_eq!((report.status(), report.outcome.results.len()), (Status::Holds, 1));
    options.limits.depth = Some(2);
    let report = check(&loaded, &options, &mut Quiet).unwrap();
    assert!(
        matches!(report.outcome.results[0].verdict, Verdict::Unknown(_))
            && !report.outcome.statistics.exhaustive
    );
    // The engine stops as soon as the only property is decided.
    let options = CheckOptions { properties: vec!["not five".into()], ..CheckOptions::default() };
    assert!(!check(&loaded, &options, &mut Quiet).unwrap().outcome.statistics.exhaustive);
}

#[test]
fn an_observer_can_end_a_search() {
    struct Impatient;
    impl shoal::Observer for Impatient {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let large = "type n: 0..99; var x: array [1..4] of n; startstate begin for i: 1..4 do x[i] := 0; end; end;\n\
                 ruleset i: 1..4; v: n do rule true ==> begin x[i] := v; end; end; invariant \"i\" x[1] < 100;";
    let loaded = load_text("large.m", large, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Impatient).unwrap();
    assert_eq!(report.status(), Status::Interrupted);
}

#[test]
fn mistakes_of_the_user_are_told_apart() {
    let options = LoadOptions::default();
    assert!(matches!(load("no/such/file.m", &options), Err(Error::File { .. })));
    assert!(matches!(load_text("model.pdf", "x", &options), Err(Error::UnknownLanguage { .. })));
    let Err(Error::Source(rejected)) = load_text("bad.m", "var x: nothing;", &options) else { panic!() };
    assert!(rejected.diagnostics.has_errors());
    let options = CheckOptions { properties: vec!["smal".into()], ..CheckOptions::default() };
    let error = check(&counter(), &options, &mut Quiet).unwrap_err();
    assert!(error.to_string().contains("did you mean \"small\"?") && !error.is_internal());
}

#[test]
fn deadlocks_can_be_redefined() {
    let text = "var x: boolean; startstate begin x := true; end; rule x ==> begin x := true; end;";
    let status = |deadlock| {
        let loaded = load_text("still.m", text, &LoadOptions { deadlock, ..LoadOptions::default() }).unwrap();
        check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap().status()
    };
    assert_eq!(status(Deadlock::Stuttering), Status::Violated);
    assert_eq!(status(Deadlock::Stuck), Status::Holds);
    assert_eq!(status(Deadlock::Off), Status::Holds);
}

#[test]
fn a_simulation_steps_goes_back_and_repeats() {
    let loaded = counter();
    let walk = |seed| {
        let mut simulation = Simulation::new(&loaded.model, seed).unwrap();
        while simulation.trace().is_none_or(|trace| trace.steps.len() < 5) {
            simulation.step().unwrap();
        }
        simulation
    };
    let mut simulation = walk(7);
    assert_eq!(simulation.trace(), walk(7).trace());
    assert_eq!(simulation.findings(&loaded.asked).len(), 1);
    assert!(simulation.back() && simulation.findings(&loaded.asked).is_empty());
    while simulation.back() {}
    assert!(simulation.trace().is_none());
    assert_eq!(simulation.moves().len(), 1);
}

#[test]
fn a_quotient_is_smaller_than_the_graph() {
    let text = "type p: scalarset(3); var x: array [p] of boolean; startstate begin for i: p do x[i] := false; end; end;\n\
                ruleset i: p do rule true ==> begin x[i] := !x[i]; end; end;";
    let loaded = load_text("flip.m", text, &LoadOptions::default()).unwrap();
    let plan = shoal::plan(&loaded, &CheckOptions::default());
    assert!(plan.reason.contains("up to 6: symmetric in p"), "{}", plan.reason);
    assert_eq!(shoal::graph(&loaded, &[], 100).unwrap().nodes.len(), 8);
    assert_eq!(shoal::graph(&loaded, &plan.symmetric, 100).unwrap().nodes.len(), 4);
    assert!(!shoal::graph(&loaded, &[], 3).unwrap().complete);
}
