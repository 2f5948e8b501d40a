//! Temporal properties from source text to verdict.

use shoal::{CheckOptions, LoadOptions, Report, check, load_text};
use shoal_model::{During, Limits, Quiet, Reason, StopReason, Verdict, Violation, Watch};

fn run(text: &str, options: &CheckOptions) -> Report {
    let loaded = load_text("test.m", text, &LoadOptions::default()).unwrap();
    check(&loaded, options, &mut Quiet).unwrap()
}

/// The verdict on the first property.
fn verdict(text: &str) -> Verdict {
    run(text, &CheckOptions::default()).outcome.results[0].verdict.clone()
}

fn holds(text: &str) -> bool {
    match verdict(text) {
        Verdict::Holds => true,
        Verdict::Violated(_) => false,
        Verdict::Unknown(reason) => panic!("{reason}"),
    }
}

fn violation(text: &str) -> Violation {
    match verdict(text) {
        Verdict::Violated(violation) => *violation,
        other => panic!("{other:?}"),
    }
}

/// Counts up to 3 and stays there; may rest on the way.
const COUNTER: &str = "var n: 0..3; startstate begin n := 0; end;
    rule \"up\" n < 3 ==> n := n + 1; end;
    rule \"rest\" n < 3 ==> end;";

#[test]
fn a_run_may_rest_for_ever_unless_that_is_unfair() {
    let with =
        |fairness: &str| COUNTER.replace("startstate", &format!("ltl <> n = 3; {fairness} startstate"));
    assert!(!holds(&with("")));
    assert!(!holds(&with("fairness n = 0 | n = 3;")), "it may rest at 0");
    assert!(holds(&with("fairness n = 3;")));
}

/// What is said of no run at all is told as such, by every engine; what is said of some run is not.
#[test]
fn a_formula_that_holds_of_no_run_is_told() {
    let text = |formula: &str, constraint: &str| {
        format!(
            "var n: 0..3; startstate begin n := 0; end; {formula} {constraint} rule n < 3 ==> n := n + 1; end;"
        )
    };
    for formula in ["ltl [] n < 2;", "ctl AG n < 2;"] {
        for (constraint, expected) in [
            ("fairness n = 2;", "no run is fair"),
            ("assume n < 2;", "assumptions leave no run"),
            ("fairness n = 3;", ""),
            ("", ""),
        ] {
            let report = run(&text(formula, constraint), &CheckOptions::default());
            let holds = matches!(report.outcome.results[0].verdict, Verdict::Holds);
            let notes = &report.outcome.statistics.notes;
            let told = notes.iter().any(|note| !expected.is_empty() && note.starts_with(expected));
            assert_eq!(holds, !expected.is_empty(), "{formula} {constraint}");
            assert_eq!(told, holds, "{formula} {constraint}: {notes:?}");
        }
    }
}

#[test]
fn where_nothing_happens_the_state_stays() {
    let text = "var n: 0..3; startstate begin n := 0; end; ltl <> [] n = 3; ltl [] <> n = 0;
        rule n < 3 ==> n := n + 1; end;";
    let report = run(text, &CheckOptions::default());
    assert!(matches!(report.outcome.results[0].verdict, Verdict::Holds));
    let Verdict::Violated(violation) = &report.outcome.results[1].verdict else { panic!() };
    let trace = violation.trace.as_ref().unwrap();
    assert_eq!((trace.steps.len(), trace.loops_to), (3, Some(3)));
}

#[test]
fn runs_that_an_assumption_ends_do_not_count_and_an_error_is_no_step() {
    let assumed =
        "var n: 0..3; startstate begin n := 0; end; ltl [] n < 2; assume n < 2; rule begin n := n + 1; end;";
    assert!(holds(assumed));
    let error = "var n: 0..3; startstate begin n := 0; end; ltl <> n = 9 - 5; rule begin n := n + 1; end;";
    assert!(!holds(error), "where every step is an error the state stays");
}

#[test]
fn a_condition_that_faults_violates_its_formula() {
    let text = "var n: 0..3; startstate begin n := 0; end; ltl [] n < 9; rule begin undefine n; end;";
    let violation = violation(text);
    assert!(matches!(violation.reason, Reason::Fault(During::Property(_), _)), "{violation:?}");
    assert_eq!(violation.trace.map(|trace| trace.steps.len()), Some(1));
    let guarded = "var n: 0..3; startstate begin n := 0; end; ltl [] (isundefined(n) | n < 9); rule begin undefine n; end;";
    assert!(holds(guarded));
}

/// A token goes round; where it is next is any other element, so a loop can close only up to a permutation.
const TOKEN: &str = "const N: 4; type P: scalarset(N); var at, from: P; moves: boolean;
    ruleset p: P do startstate begin at := p; from := p; moves := false; end end;
    ltl \"f\" FORMULA;
    ruleset p: P do rule \"pass\" p != at & p != from ==> from := at; at := p; moves := true; end end;";

#[test]
fn loops_that_close_up_to_a_permutation_are_unrolled() {
    // No state is followed by itself, whoever has the token.
    let never_rests = TOKEN.replace("FORMULA", "[] <> !moves");
    let violation = violation(&never_rests);
    let trace = violation.trace.unwrap();
    assert!(trace.loops_to.is_some_and(|to| to < trace.steps.len()));
    // One element is followed: it can be passed over for ever, and it need not be.
    assert!(!holds(&TOKEN.replace("FORMULA", "forall p: P do [] <> at = p end")));
    assert!(
        holds(&TOKEN.replace("FORMULA", "exists p: P do [] <> at = p end")),
        "someone has it again and again"
    );
    assert!(holds(&TOKEN.replace("FORMULA", "forall p: P do [] (at = p -> next at != p) end")));
}

#[test]
fn symmetry_is_lost_neither_for_the_followed_element_nor_for_others() {
    let text =
        TOKEN.replace("N: 4", "N: 6").replace("FORMULA", "forall p: P do [] (at = p -> next at != p) end");
    let report = run(&text, &CheckOptions { properties: vec!["f".into()], ..CheckOptions::default() });
    let full = run(
        &text,
        &CheckOptions { properties: vec!["f".into()], symmetry: false, ..CheckOptions::default() },
    );
    assert!(report.outcome.statistics.states <= 6, "{:?}", report.outcome.statistics);
    assert!(full.outcome.statistics.states > 30);
    // The other properties do not notice that one element is followed.
    let other = run(&text, &CheckOptions::default());
    assert!(other.outcome.statistics.states <= 2, "{:?}", other.outcome.statistics);
}

#[test]
fn limits_end_in_unknown() {
    let text =
        "var n: 0..1000; startstate begin n := 0; end; ltl [] n < 2000; rule n < 1000 ==> n := n + 1; end;";
    let limits = Limits { states: Some(100), ..Limits::default() };
    let options = CheckOptions {
        properties: vec!["[] n < 2000".into()],
        watch: Watch::start(limits),
        ..CheckOptions::default()
    };
    let report = run(text, &options);
    assert!(matches!(report.outcome.results[0].verdict, Verdict::Unknown(StopReason::States(100))));
    // What was seen may be enough.
    let text = text.replace("n < 2000", "n < 50").replace("rule", "rule n < 1000 ==> end; rule");
    let options = CheckOptions { properties: vec!["[] n < 50".into()], ..options };
    assert!(matches!(run(&text, &options).outcome.results[0].verdict, Verdict::Violated(_)));
}

/// A clock with very many states, and a lamp beside it that need never be lit.
const LAMP: &str = "var n: array [1..5] of 0..40; lit: boolean;
    startstate begin for i: 1..5 do n[i] := 0; end; lit := false; end;
    ruleset i: 1..5 do rule \"tick\" true ==> begin n[i] := (n[i] + 1) % 41; end; end;
    rule \"rest\" true ==> end;
    rule \"light\" true ==> begin lit := true; end;";

/// What is violated near a start is found without the rest: there are more than two hundred million states.
#[test]
fn a_violation_near_a_start_is_found_soon() {
    let report = run(&format!("{LAMP} ltl \"lit\" <> lit;"), &CheckOptions::default());
    assert!(matches!(report.outcome.results[0].verdict, Verdict::Violated(_)));
    // After a violation the search goes on for a while, for the other properties.
    assert!(report.outcome.statistics.states < 200_000, "{}", report.outcome.statistics.states);
}

/// Steps are given up where there is no memory for them, and what does not need them is still decided.
#[test]
fn steps_are_given_up_before_states() {
    let few = LAMP.replace("1..5", "1..3").replace("0..40", "0..20").replace("41", "21");
    let text = format!(
        "{few} invariant \"fine\" n[1] <= 20; ltl \"soon\" [] (lit -> <> (lit & n[1] >= 0)) & [] <> n[2] >= 0;
         liveness \"zero\" n[1] = 0; ltl \"hard\" [] (n[1] = 3 -> ((n[1] = 3) until (n[1] = 4 | n[1] = 3)));"
    );
    let memory = |memory| {
        let watch = Watch::start(Limits { memory: Some(memory), ..Limits::default() });
        run(&text, &CheckOptions { watch, ..CheckOptions::default() })
    };
    let verdicts = |report: Report| -> Vec<Verdict> {
        report.outcome.results.into_iter().map(|result| result.verdict).collect()
    };
    let all = verdicts(memory(1 << 30));
    assert!(all.iter().all(|verdict| matches!(verdict, Verdict::Holds)), "{all:?}");
    let mut given_up = 0;
    for bytes in (18..24).flat_map(|bits| [1 << bits, 3 << (bits - 1)]) {
        let mut held = 0;
        let mut lacked = 0;
        for verdict in verdicts(memory(bytes)) {
            match verdict {
                Verdict::Holds => held += 1,
                Verdict::Unknown(StopReason::Memory(_)) => lacked += 1,
                other => panic!("{bytes} {other:?}"),
            }
        }
        given_up += usize::from(held > 0 && lacked > 0);
    }
    assert!(given_up > 0, "in no case were steps given up and states not");
}

/// Fairness to each of many elements is asked of one that stands for all: no element has to be told from the others.
#[test]
fn fairness_to_each_element_keeps_them_interchangeable() {
    let text = "const N: 12; type P: scalarset(N); S: enum { I, W, C }; var s: array [P] of S;
        startstate begin for i: P do s[i] := I; end; end;
        ruleset i: P do
          rule \"w\" s[i] = I ==> s[i] := W; end;
          rule \"e\" s[i] = W & forall j: P do s[j] != C end ==> s[i] := C; end;
          rule \"l\" s[i] = C ==> s[i] := I; end;
          fairness \"leaves\" s[i] != C;
          fairness \"wants\" s[i] != I;
        end;
        ctl \"some\" AG AF (exists i: P do s[i] = C end);
        ctl \"each\" forall i: P do AG (s[i] = W -> AF s[i] = C) end;
        ctl \"never\" AG (exists i: P do s[i] = I end -> AF forall i: P do s[i] = W end);
        ltl \"some again\" [] <> (exists i: P do s[i] = C end);
        ltl \"each again\" forall i: P do [] <> (s[i] = C) end;
        ltl \"wants again\" forall i: P do [] <> (s[i] != I) end;";
    let loaded = load_text("fair.m", text, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions { threads: 1, ..Default::default() }, &mut Quiet).unwrap();
    let verdict = |name: &str| {
        let found =
            report.outcome.results.iter().find(|it| loaded.model.properties[it.property].name == name);
        match &found.unwrap().verdict {
            Verdict::Holds => true,
            Verdict::Violated(violation) => {
                let loops = violation.trace.as_ref().is_some_and(|trace| trace.loops_to.is_some());
                assert!(loops, "{name} is violated by a run that goes on for ever");
                false
            }
            Verdict::Unknown(reason) => panic!("{name}: {reason}"),
        }
    };
    let holds = ["some", "some again", "wants again"].map(verdict);
    let fails = ["each", "never", "each again"].map(verdict);
    // Everybody may want and nobody enter: then nothing happens, unless somebody does.
    assert_eq!((holds, fails), ([true; 3], [false; 3]));
    let most = report.work.iter().map(|work| work.states).max();
    assert!(most.unwrap() < 1_000, "{most:?}");
}
