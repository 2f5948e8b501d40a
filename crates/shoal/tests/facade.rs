//! The library as another program uses it.

use shoal::{
    CheckOptions, Deadlock, Engine, Error, Limits, LoadOptions, Quiet, Simulation, Status, Verdict, Watch,
    check, load, load_text, model::print_formula,
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

/// Who asks may be passed over for ever.
const UNFAIR: &str = "
type pid: scalarset(2); place: enum {Idle, Want, Have};
var s: array [pid] of place; free: boolean;
startstate begin for p: pid do s[p] := Idle; end; free := true; end;
ruleset p: pid do
rule s[p] = Idle ==> begin s[p] := Want; end;
rule s[p] = Want & free ==> begin s[p] := Have; free := false; end;
rule s[p] = Have ==> begin s[p] := Idle; free := true; end;
end;
ctl \"fair\" forall p: pid do AG (s[p] = Want -> AF s[p] = Have) end;
ctl \"alone\" AG (exists p: pid do s[p] = Have end -> EX AX forall p: pid do s[p] = Idle end);
";

/// For each state of a counterexample, which parts of the formula hold and fail there: on the run alone where the formula
/// speaks of all paths, else on all states.
#[test]
fn a_counterexample_says_what_it_shows_in_each_state() {
    let loaded = load_text("unfair.m", UNFAIR, &LoadOptions::default()).unwrap();
    for engine in [Engine::Symbolic, Engine::Counters] {
        let options = CheckOptions { engine: Some(engine), ..CheckOptions::default() };
        let report = check(&loaded, &options, &mut Quiet).unwrap();
        let shown = |at: usize| -> Vec<(usize, bool, String)> {
            let claims = &report.claims[&report.outcome.results[at].property];
            let text = |claim: &shoal::Claim| print_formula(&loaded.model, &claim.formula);
            claims.iter().map(|claim| (claim.state, claim.holds, text(claim))).collect()
        };
        let fair = shown(0);
        assert_eq!(fair[0], (0, false, "A G (!(s[pid_1] = Want) | A F (s[pid_1] = Have))".into()));
        assert_eq!(fair[1], (1, true, "(s[pid_1] = Want)".into()));
        let last = fair.last().unwrap().0;
        for state in 1..=last {
            assert!(fair.contains(&(state, false, "A F (s[pid_1] = Have)".into())), "{fair:?}");
            assert!(fair.contains(&(state, false, "(s[pid_1] = Have)".into())), "{fair:?}");
        }
        let alone = shown(1);
        let next = "E X A X (forall p in pid: (s[p] = Idle))";
        assert_eq!(alone.last().unwrap(), &(2, false, next.to_string()));
        assert_eq!(alone.iter().map(|(state, _, _)| *state).collect::<Vec<_>>(), [0, 1, 2, 2]);
    }
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
    options.watch = Watch::start(Limits { depth: Some(2), ..Limits::default() });
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
fn a_search_can_be_cancelled() {
    let options = CheckOptions::default();
    options.watch.canceller().cancel();
    let large = "type n: 0..99; var x: array [1..4] of n; startstate begin for i: 1..4 do x[i] := 0; end; end;\n\
                 ruleset i: 1..4; v: n do rule true ==> begin x[i] := v; end; end; invariant \"i\" x[1] < 100;";
    let loaded = load_text("large.m", large, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &options, &mut Quiet).unwrap();
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
    assert_eq!(shoal::graph(&loaded, &[], 100, &Watch::default()).unwrap().nodes.len(), 8);
    assert_eq!(shoal::graph(&loaded, &plan.symmetric, 100, &Watch::default()).unwrap().nodes.len(), 4);
    assert!(!shoal::graph(&loaded, &[], 3, &Watch::default()).unwrap().complete);
}

#[test]
fn several_graphs_are_declared_at_once() {
    let text = "
        automata A : i = 1..3; clock x[1..total(A)]; register lock;
        automaton A[i] {
          initially Out;
          mode Out { when lock = 0 may goto In; lock := i; x[i] := 0; }
          mode In  { invariant x[i] <= 1; when x[i] <= 1 may goto Out; lock := 0; }
        }
        verify \"one at a time\": all_paths ( henceforth not {mode(A[1]) = In and mode(A[2]) = In} );
        manipulation
          graph g[1..2], h, k;
          g[1] := merge_graph(A[1], A[2]);
          g[2] := merge_graph(g[1], A[3]);
          h := shield_clock(read_write(g[2]));
          k := symmetry(h);
          if size(k) < size(h) { model_check(k); }";
    let workshop = shoal::load_workshop_text("a.vpl", text, &LoadOptions::default()).unwrap();
    let (mut made, mut holds) = (Vec::new(), Vec::new());
    workshop
        .run(&mut |_, event| match event {
            shoal::ScriptEvent::Made(done) => made.push(done.name),
            shoal::ScriptEvent::Checked(done, _, answer, _) => holds.push((done.name, answer)),
            shoal::ScriptEvent::Print(..) => {}
        })
        .unwrap();
    assert!(["g[1]", "g[2]", "h", "k"].iter().all(|name| made.iter().any(|own| own == name)), "{made:?}");
    assert_eq!(holds, [("k".to_string(), Some(true))]);
}
