//! The contract of the engines beyond verdicts (`kinds` has those): what one lacks, cannot evaluate or has no time for takes
//! nothing else with it, and what is not decided is not green.

use std::time::{Duration, Instant};

use shoal::{
    Beyond, CheckOptions, EngineKind, Error, LoadOptions, Loaded, Quiet, Report, Status, Verdict, check,
    load_text,
};
use shoal_interpret::explore;
use shoal_model::{Limits, PropertyKind, StopReason, Watch};

/// A model with symmetric elements, a step that may fail, and something that ends.
const MODEL: &str = "
const N: 2;
type P: scalarset(N);
var s: array [P] of 0..3; x: 0..3;
startstate begin for p: P do s[p] := 0; end; x := 0; end;
ruleset p: P do
  rule \"up\" s[p] < 2 ==> begin s[p] := s[p] + 1; STEP end;
  rule \"down\" s[p] = 2 & x < 2 ==> begin s[p] := 1; x := x + 1; end;
end;
";

const ENGINES: [Option<EngineKind>; 7] = [
    None,
    Some(EngineKind::Explicit),
    Some(EngineKind::Symbolic),
    Some(EngineKind::Counters),
    Some(EngineKind::Cover),
    Some(EngineKind::Views),
    Some(EngineKind::Timed),
];

fn loaded(step: &str, asked: &str) -> Loaded {
    let text = MODEL.replace("STEP", step) + asked;
    load_text("table.m", text.clone(), &LoadOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn what_one_engine_lacks_does_not_take_the_others_with_it() {
    let asked = "invariant \"small\" x < 2; ctl \"b\" EF x = 2; ltl \"l\" <> x = 2;";
    let loaded = loaded("", asked);
    let engine = |report: &Report, name: &str| {
        let place = report.outcome.results.iter().position(|it| {
            let property = &loaded.model.properties[it.property];
            property.name == name
        });
        report.statistics_of(place.unwrap()).map(|statistics| statistics.engine)
    };
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    assert_eq!(engine(&report, "small"), Some("explicit"));
    assert_eq!(engine(&report, "l"), Some("explicit"));
    assert_eq!(engine(&report, "b"), Some("explicit"));
    assert_eq!(report.status(), Status::Violated);
    // The engine that was asked for decides what it can; the rest is unknown, and says why.
    let options = CheckOptions { engine: Some(EngineKind::Symbolic), ..CheckOptions::default() };
    let report = check(&loaded, &options, &mut Quiet).unwrap();
    assert_eq!((engine(&report, "small"), engine(&report, "l")), (Some("symbolic"), None));
    let unknown = |result: &shoal_model::PropertyResult| match &result.verdict {
        Verdict::Unknown(StopReason::Unsupported(why)) => Some(why.clone()),
        _ => None,
    };
    let why: Vec<String> = report.outcome.results.iter().filter_map(unknown).collect();
    assert_eq!(why, ["the symbolic engine does not support formulas of linear time"]);
    // Where it decides nothing at all, the call is wrong.
    let options = CheckOptions { properties: vec!["l".into()], ..options };
    assert!(matches!(check(&loaded, &options, &mut Quiet), Err(Error::Unsupported(_))));
}

#[test]
fn what_is_asked_of_every_model_is_told_where_all_that_is_written_is_refused() {
    let loaded = loaded("", "ltl \"l\" <> x = 2;");
    let beyond = Beyond { thin: true, ..Beyond::default() };
    let options = CheckOptions { beyond, ..CheckOptions::default() };
    let report = check(&loaded, &options, &mut Quiet).unwrap();
    // It comes to a deadlock.
    assert_eq!(report.status(), Status::Violated);
    let is_unknown = |result: &&shoal_model::PropertyResult| matches!(result.verdict, Verdict::Unknown(_));
    assert_eq!(report.outcome.results.iter().filter(is_unknown).count(), 1, "{:?}", report.outcome.results);
    assert!(report.outcome.results.len() > 1);
}

/// Which runs are fair is not known where a constraint cannot be evaluated, so no formula holds.
#[test]
fn fairness_that_cannot_be_evaluated_violates_every_formula() {
    let flat =
        "var x: 0..1; h: 0..1; startstate x := 0 end; rule x = 0 ==> x := 1 end; rule x = 1 ==> x := 0 end;
        fairness \"f\" h != 1; ctl \"c\" AG x = 0; ctl \"d\" EF x = 1; ctl \"e\" AF x = 1;";
    let counted = "type P: scalarset(3); var a: array [P] of 0..1; h: 0..1;
        startstate for p: P do a[p] := 0 end end;
        ruleset p: P do rule a[p] = 0 ==> a[p] := 1 end; rule a[p] = 1 ==> a[p] := 0 end end;
        fairness \"f\" h != 1; ctl \"c\" AG forall p: P do a[p] = 0 end;";
    for (text, engines) in [(flat, &ENGINES[..3]), (counted, &ENGINES[..4])] {
        let loaded = load_text("unfair.m", text, &LoadOptions::default()).unwrap();
        for engine in engines {
            let options = CheckOptions { engine: *engine, ..CheckOptions::default() };
            let report = check(&loaded, &options, &mut Quiet).unwrap();
            for result in &report.outcome.results {
                let property = &loaded.model.properties[result.property];
                if matches!(property.kind, PropertyKind::Temporal(..)) {
                    let verdict = &result.verdict;
                    assert!(
                        matches!(verdict, Verdict::Violated(_)),
                        "{engine:?}: {}: {verdict:?}",
                        property.name
                    );
                }
            }
        }
    }
}

/// One conjunct is false and another cannot be evaluated: violated, and confirmed.
#[test]
fn a_conjunct_that_faults_does_not_hide_one_that_is_false() {
    let text = "var x: 0..1; u: 0..1; startstate x := 0 end; rule true ==> x := 1 - x end;
        ctl \"c\" (AG x = 0) & (EF u = 0); ctl \"d\" (EF u = 0) & (EG x = 0); ltl \"l\" ([] x = 0) & (<> u = 0);";
    let loaded = load_text("conjuncts.m", text, &LoadOptions::default()).unwrap();
    for engine in &ENGINES[..3] {
        let options = CheckOptions { engine: *engine, ..CheckOptions::default() };
        let report = check(&loaded, &options, &mut Quiet).unwrap();
        for result in &report.outcome.results {
            let property = &loaded.model.properties[result.property];
            let refused = matches!(result.verdict, Verdict::Unknown(StopReason::Unsupported(_)));
            if matches!(property.kind, PropertyKind::Temporal(..)) && !refused {
                let verdict = &result.verdict;
                assert!(
                    matches!(verdict, Verdict::Violated(_)),
                    "{engine:?}: {}: {verdict:?}",
                    property.name
                );
            }
        }
    }
}

/// Two indices over 101 elements are 10,201 conditions; over 150 they are too many, which is nobody else's affair.
#[test]
fn a_formula_that_is_too_large_is_unknown_beside_others_that_are_decided() {
    let text = |size: u32| {
        format!("type P: scalarset({size}); var s: array [P] of boolean; busy: boolean;
        startstate for p: P do s[p] := false end; busy := false end;
        ruleset p: P do rule !busy ==> s[p] := true; busy := true end; rule s[p] ==> s[p] := false; busy := false end end;
        invariant \"it\" busy = exists p: P do s[p] end;
        ctl \"pair\" forall i: P do forall j: P do AG (s[i] & s[j] -> i = j) end end;")
    };
    for (size, status) in [(101, Status::Holds), (150, Status::Unknown)] {
        let loaded = load_text("pair.m", text(size), &LoadOptions::default()).unwrap();
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        assert_eq!(report.status(), status, "{size}: {:?}", report.outcome.results);
        let unknown = report.outcome.results.iter().filter(|it| matches!(it.verdict, Verdict::Unknown(_)));
        assert_eq!(unknown.count(), usize::from(size == 150));
    }
}

#[test]
fn nothing_asked_is_nothing_known() {
    let text = "var x: 0..1; startstate begin x := 0; end; rule begin x := 1 - x; end;";
    let mut loaded = load_text("none.m", text, &LoadOptions::default()).unwrap();
    loaded.asked.clear();
    assert_eq!(check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap().status(), Status::Unknown);
}

#[test]
fn a_query_that_is_not_understood_is_unknown_beside_others_that_are_decided() {
    let mut loaded = loaded("", "invariant \"it\" x < 3;");
    let span = loaded.model.properties[loaded.asked[0]].span;
    let kind = PropertyKind::Unclear("`sup` is not supported".into());
    let id = loaded.model.properties.push(shoal_model::Property { name: "sup: x".into(), kind, span });
    loaded.asked.push(id);
    for engine in ENGINES {
        let options = CheckOptions { engine, ..CheckOptions::default() };
        let Ok(report) = check(&loaded, &options, &mut Quiet) else { continue };
        let last = report.outcome.results.last().unwrap();
        assert!(matches!(&last.verdict, Verdict::Unknown(StopReason::Unclear(why)) if why.contains("`sup`")));
        assert!(matches!(report.status(), Status::Unknown | Status::Violated));
    }
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let decided = |result: &&shoal_model::PropertyResult| !matches!(result.verdict, Verdict::Unknown(_));
    assert_eq!(report.outcome.results.iter().filter(decided).count(), loaded.asked.len() - 1);
}

#[test]
fn a_model_without_a_start_holds_nothing() {
    let text = "var x: 0..1; startstate begin x := 0; end; assume \"never\" x = 1; invariant \"it\" x = 1;";
    let loaded = load_text("none.m", text, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let no_start = |result: &shoal_model::PropertyResult| {
        matches!(result.verdict, Verdict::Unknown(StopReason::NoStart))
    };
    assert!(report.outcome.results.iter().all(no_start), "{:?}", report.outcome.results);
}

/// Steps, guards and conditions that no limit would wait for, in a state where one property is violated already.
const ENDLESS: &[&str] = &[
    "rule x = 3 & exists i: 0..2000000000 do exists j: 0..2000000000 do i + j < 0 end end ==> x := 0 end;",
    "ruleset i: 0..2000000000; j: 0..2000000000 do rule x = 3 & i + j < 0 ==> x := 0 end end;",
    "rule x = 3 ==> for i: 0..2000000000 do for j: 0..2000000000 do if i + j < 0 then x := 0 end end end end;",
    "rule x = 3 & long(0) ==> x := 0 end;",
    "rule x = 3 & deep(30) ==> x := 0 end;",
    "invariant \"long\" x < 3 | forall i: 0..2000000000 do forall j: 0..2000000000 do i + j >= 0 end end;",
    "rule x = 3 ==> x := 0 end; ltl \"long\" [] (x < 3 | forall i: 0..2000000000 do forall j: 0..2000000000 do i + j >= 0 end end);",
];

#[test]
fn a_limit_ends_a_step_in_the_middle_and_takes_no_verdict_with_it() {
    let base = "var x: 0..3;
        function long(n: 0..1): boolean; var i: 0..9; begin
          i := 0; while i < 9 do i := 1 - i; end; return true; end;
        function deep(n: 0..40): boolean; begin
          if n = 0 then return false; end; return deep(n - 1) | deep(n - 1); end;
        startstate x := 0 end; rule \"step\" x < 3 ==> x := x + 1 end; invariant \"small\" x < 2;\n";
    let options = LoadOptions { while_limit: u64::MAX, ..LoadOptions::default() };
    for (number, text) in ENDLESS.iter().enumerate() {
        let loaded = load_text("endless.m", format!("{base}{text}"), &options)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        let limits = Limits { time: Some(Duration::from_millis(120)), ..Limits::default() };
        // Machine code, byte code, two threads.
        let (jit, threads) = [(true, 1), (false, 1), (true, 2)][number % 3];
        let began = Instant::now();
        let options = CheckOptions { watch: Watch::start(limits), jit, threads, ..CheckOptions::default() };
        let report = check(&loaded, &options, &mut Quiet).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(began.elapsed() < Duration::from_secs(5), "{text}: {:?}", began.elapsed());
        for result in &report.outcome.results {
            let name = loaded.model.properties[result.property].name.as_str();
            match &result.verdict {
                Verdict::Violated(_) => assert_eq!(name, "small", "{text}"),
                Verdict::Unknown(StopReason::Time(_)) => assert_ne!(name, "small", "{text}"),
                // A formula of linear time is decided after the others.
                Verdict::Holds if text.contains("ltl") => assert!(!["small", "long"].contains(&name)),
                other => panic!("{text}: {name} {other:?}"),
            }
        }
    }
}

/// Models in which a state has only steps that fault, and the same with another step.
const FAULTY: &[(&str, &str, &str)] = &[
    ("faulty.m", "var x: 0..1; startstate x := 0 end; rule x = 0 ==> x := 1 end; rule x = 1 ==> x := x + 1 end;", "rule x = 1 ==> x := 0 end;"),
    ("faulty.m", "var x, y: 0..1; startstate x := 0 end; rule x = 0 ==> x := 1 end; rule x = 1 & y = 0 ==> x := 0 end;", "rule x = 1 ==> x := 0 end;"),
    (
        "faulty.m",
        "type P: scalarset(2); var s: array [P] of 0..1; startstate for p: P do s[p] := 0 end end;
         ruleset p: P do rule s[p] = 0 ==> s[p] := 1 end; rule s[p] = 1 & forall q: P do s[q] = 1 end ==> s[p] := s[p] + 1 end end;",
        "ruleset p: P do rule s[p] = 1 ==> s[p] := 0 end end;",
    ),
    ("faulty.pml", "byte t[2]; byte i; active proctype A() { i = 5; t[i] = 1 }", ""),
];

#[test]
fn a_state_whose_steps_all_fault_is_a_deadlock() {
    for (name, text, another) in FAULTY {
        for (text, dies) in [((*text).to_string(), true), (format!("{text}\n{another}"), false)] {
            if !dies && another.is_empty() {
                continue;
            }
            let loaded = load_text(name, text.as_str(), &LoadOptions::default()).unwrap();
            let reference = explore(&loaded.model, 1000).unwrap();
            let is_asked =
                |kind: &PropertyKind| matches!(kind, PropertyKind::NoFaults | PropertyKind::Deadlock(_));
            let mut decided = 0;
            for (engine, symmetry) in ENGINES.iter().flat_map(|engine| [(*engine, true), (*engine, false)]) {
                let options = CheckOptions { engine, symmetry, ..CheckOptions::default() };
                let report = match check(&loaded, &options, &mut Quiet) {
                    Ok(report) => report,
                    Err(error) if engine.is_some() && !error.is_internal() => continue,
                    Err(error) => panic!("{engine:?}: {error}"),
                };
                for result in &report.outcome.results {
                    let kind = &loaded.model.properties[result.property].kind;
                    if !is_asked(kind) {
                        continue;
                    }
                    let wrong = dies || *kind == PropertyKind::NoFaults;
                    assert_eq!(reference.violated.contains_key(&result.property), wrong, "{text}");
                    match &result.verdict {
                        Verdict::Unknown(StopReason::Unsupported(_)) if engine.is_some() => continue,
                        // Another step fails.
                        Verdict::Unknown(StopReason::NotFollowed) if !wrong => {}
                        Verdict::Unknown(reason) => panic!("{engine:?}: {reason}\n{text}"),
                        verdict => assert_eq!(
                            matches!(verdict, Verdict::Violated(_)),
                            wrong,
                            "{engine:?} {kind:?}\n{text}"
                        ),
                    }
                    decided += 1;
                }
            }
            assert!(decided >= 4, "{decided} verdicts\n{text}");
        }
    }
}

/// Models in which the condition of "it" cannot be evaluated in some state, and can be in others.
const UNEVALUABLE: &[(&str, &str)] = &[
    ("it.m", "invariant \"it\" t[x] = 0;"),
    ("it.m", "invariant \"it\" 3 / x < 4 | x > 3;"),
    ("it.m", "liveness \"it\" t[x] = 0;"),
    ("it.m", "ctl \"it\" AG EF t[x] = 0;"),
    ("it.m", "ltl \"it\" [] <> t[x] = 0;"),
];

const INDEXED: &str = "
var x: 0..3; t: array [0..2] of 0..1;
startstate begin x := 1; for i: 0..2 do t[i] := 0; end; end;
rule \"up\" begin x := (x + 1) % 4; end;
";

fn named(loaded: &Loaded, name: &str) -> shoal_model::PropertyId {
    loaded.model.properties.enumerate().find(|(_, property)| property.name == name).unwrap().0
}

#[test]
fn what_cannot_be_evaluated_does_not_hold_even_if_nothing_else_is_asked() {
    for (name, asked) in UNEVALUABLE {
        let loaded = load_text(name, format!("{INDEXED}{asked}").as_str(), &LoadOptions::default()).unwrap();
        let it = named(&loaded, "it");
        let reference = explore(&loaded.model, 1000).unwrap();
        let temporal = matches!(loaded.model.properties[it].kind, PropertyKind::Temporal(..));
        assert!(temporal || reference.violated.contains_key(&it), "{asked}");
        let mut decided = 0;
        for engine in ENGINES {
            let options = CheckOptions { engine, properties: vec!["it".into()], ..CheckOptions::default() };
            let report = match check(&loaded, &options, &mut Quiet) {
                Ok(report) => report,
                Err(error) if engine.is_some() && !error.is_internal() => continue,
                Err(error) => panic!("{engine:?}: {error}"),
            };
            match &report.outcome.results[0].verdict {
                Verdict::Violated(_) => decided += 1,
                Verdict::Unknown(StopReason::Unsupported(_)) if engine.is_some() => {}
                verdict => panic!("{engine:?} {verdict:?}: {asked}"),
            }
        }
        assert!(decided >= 2, "{decided} verdicts: {asked}");
    }
}

#[test]
fn a_query_about_runs_leaves_the_others_decided_where_there_are_no_clocks() {
    let model = "int v; process P() { state A, B; init A; trans A -> A { guard v < 2; assign v := v + 1; },
        A -> B { guard v == 2; }; } system P;";
    let queries = "E<> P.B\nA[] v <= 2\nA[] v < 2\nE<> v == 3\nA[] not deadlock\nA<> P.B\n";
    let texts = shoal::Sources::text("it.xta", model).with("it.q", queries);
    let loaded = shoal::load_sources(&texts, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let wanted = [("E<> P.B", true), ("A[] v <= 2", true), ("A[] v < 2", false), ("E<> v == 3", false)];
    let wanted = wanted.into_iter().chain([("A[] not deadlock", false), ("A<> P.B", false)]);
    for (query, holds) in wanted {
        let id = named(&loaded, query);
        let result = report.outcome.results.iter().find(|result| result.property == id).unwrap();
        match &result.verdict {
            Verdict::Holds => assert!(holds, "{query}"),
            Verdict::Violated(_) => assert!(!holds, "{query}"),
            verdict @ Verdict::Unknown(_) => panic!("{query}: {verdict:?}"),
        }
    }
}

#[test]
fn a_file_without_queries_asks_nothing() {
    let uppaal = "process P() { state A, B; init A; trans A -> B { }; } system P;";
    let vpl = "automata A : i = 1..2; automaton A[i] { initially P; mode P { when True may goto P; } }";
    for (name, text) in [("silent.xta", uppaal), ("silent.vpl", vpl)] {
        let loaded = load_text(name, text, &LoadOptions::default()).unwrap();
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        assert_eq!(report.status(), Status::Unknown, "{name}");
        let stuck = LoadOptions { deadlock: shoal::Deadlock::Stuck, ..LoadOptions::default() };
        let loaded = load_text(name, text, &stuck).unwrap();
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        assert_ne!(report.status(), Status::Unknown, "{name}: a deadlock is asked for");
    }
}

#[test]
fn an_option_that_the_language_does_not_have_is_refused() {
    let target = LoadOptions { target: Some("x>=1".into()), ..LoadOptions::default() };
    let divergent = LoadOptions { divergent: true, ..LoadOptions::default() };
    let mut progress = LoadOptions::default();
    progress.promela.progress = true;
    let model = "var x: 0..1; startstate begin x := 0; end; rule begin x := 1 - x; end;";
    for options in [target, divergent, progress] {
        let error = load_text("plain.m", model, &options).unwrap_err().to_string();
        assert!(error.contains("means nothing in Murphi models"), "{error}");
    }
    assert!(load_text("plain.m", model, &LoadOptions::default()).is_ok());
}

#[test]
fn a_trace_of_one_of_two_properties_of_a_name_replays() {
    let text = "var x: 0..2; startstate begin x := 0; end; rule begin x := (x + 1) % 3; end;
        invariant \"it\" x < 3; invariant \"it\" x < 2;";
    let loaded = load_text("twice.m", text, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let mut violations = report.outcome.results.iter().filter_map(|result| match &result.verdict {
        Verdict::Violated(violation) => Some(violation),
        Verdict::Holds | Verdict::Unknown(_) => None,
    });
    let violation = violations.next().unwrap();
    assert_eq!(shoal::replay_violation(&loaded, "it", violation), shoal::Replayed::Violated);
}

/// A step fails an assertion, and what would be wrong lies behind it: nothing is said to hold, whether or not the failure is asked about.
#[test]
fn nothing_holds_behind_a_step_that_fails() {
    let murphi = "var x: 0..3; startstate x := 0 end; rule x = 0 ==> assert x = 1 \"checked\"; x := 1; end;\n\
                  rule x = 1 ==> x := 2 end; invariant \"never two\" x != 2; cover \"one\" x = 1; cover \"none\" x = 0;\n\
                  ltl \"stays\" [] x = 0; ltl \"goes\" <> x = 1;";
    let promela = "byte x, a[2]; byte i = 5; active proctype P() { assert(x == 1); a[i] = 1; x = 1 }\n\
                   ltl stays { [] (x == 0) } ltl goes { <> (x == 1) }";
    let faulty = "var x: 0..3; startstate x := 0 end; rule x = 0 ==> x := 4; end; rule x = 0 ==> x := 1; end;\n\
                  rule x = 1 ==> x := 0 end; invariant \"never two\" x != 2; cover \"none\" x = 0;";
    for (name, text, stays) in
        [("behind.m", murphi, &["none"][..]), ("behind.pml", promela, &[]), ("faulty.m", faulty, &["none"])]
    {
        let loaded = load_text(name, text, &LoadOptions::default()).unwrap();
        let names: Vec<String> =
            loaded.asked.iter().map(|id| loaded.model.properties[*id].name.clone()).collect();
        let alone = names.iter().map(|name| vec![name.clone()]).chain([Vec::new()]);
        for properties in alone {
            let options = CheckOptions { properties, ..CheckOptions::default() };
            let report = check(&loaded, &options, &mut Quiet).unwrap();
            for result in &report.outcome.results {
                let property = &loaded.model.properties[result.property].name;
                let holds = matches!(result.verdict, Verdict::Holds);
                assert_eq!(
                    holds,
                    stays.contains(&property.as_str()),
                    "{name}: {property}: {:?}",
                    result.verdict
                );
            }
        }
    }
}

/// Jumps in a circle through the `unless` that they are in, and `timeout` where nobody waits for it.
#[test]
fn circles_through_unless_end_and_timeout_in_formulas_is_refused() {
    let circle = "byte x; active proctype P() { L: { goto L } unless { x == 1 -> x = 2 }; x = 3 }";
    let loaded = load_text("circle.pml", circle, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    assert!(report.outcome.statistics.states <= 2, "{:?}", report.outcome.statistics.states);
    let timeout = "byte x; active proctype A() { x = 1; (x == 7) } ltl p { <> timeout }";
    let refused = load_text("timeout.pml", timeout, &LoadOptions::default());
    let text = format!("{:?}", refused.err());
    assert!(text.contains("not supported: `timeout` in a formula"), "{text}");
}
