//! Any number of elements, on files as they are: ranges that nothing orders, and values that are stale.

use shoal::{CheckOptions, Deadlock, LoadOptions, Report, check, load_text};
use shoal_model::{Quiet, Verdict};

fn decide(text: &str, any: &str) -> Report {
    // One element alone may have nothing to do.
    let options = LoadOptions { any: vec![any.into()], deadlock: Deadlock::Off, ..LoadOptions::default() };
    let loaded = load_text("model.m", text, &options).unwrap_or_else(|error| panic!("{error}"));
    check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap()
}

fn verdict<'r>(report: &'r Report, text: &str, name: &str) -> &'r Verdict {
    let loaded = load_text("model.m", text, &LoadOptions::default()).unwrap();
    let mut all = loaded.model.properties.enumerate();
    let (id, _) = all.find(|(_, property)| property.name == name).unwrap();
    &report.outcome.results.iter().find(|result| result.property == id).unwrap().verdict
}

const MUTEX: &str = "const N: 3; type client: 1..N; var turn: boolean; at: array [client] of enum { idle, busy };
    startstate turn := true; for c: client do at[c] := idle end end;
    ruleset c: client do
      rule \"enter\" at[c] = idle & turn ==> at[c] := busy; turn := false end;
      rule \"leave\" at[c] = busy ==> at[c] := idle; turn := true end;
    end;
    invariant \"alone\" forall c: client do forall d: client do c != d -> !(at[c] = busy & at[d] = busy) end end;";

#[test]
fn a_range_that_nothing_orders_has_any_number_of_values() {
    for (text, any) in [(MUTEX.to_string(), "N"), (MUTEX.replace("1..N", "1..3"), "client")] {
        let report = decide(&text, any);
        for name in ["alone", "no run-time errors"] {
            let verdict = verdict(&report, &text, name);
            assert!(matches!(verdict, Verdict::Holds), "{name}: {verdict:?}");
        }
    }
}

#[test]
fn a_violation_is_told_in_numbers() {
    let text = MUTEX.replace("turn := false", "turn := turn");
    let report = decide(&text, "N");
    let Verdict::Violated(violation) = verdict(&report, &text, "alone") else { panic!("it is wrong") };
    let trace = violation.trace.as_ref().unwrap();
    assert_eq!(trace.steps.len(), 2);
    assert!(trace.steps.iter().all(|step| matches!(step.args[..], [shoal_model::Value::Int(_)])));
}

#[test]
fn a_range_of_numbers_is_refused() {
    for text in [
        MUTEX.replace("at[c] = idle & turn", "at[c] = idle & turn & c < 3"),
        MUTEX.replace("at[c] = idle & turn", "at[c] = idle & turn & at[1] = idle"),
    ] {
        let options = LoadOptions { any: vec!["N".into()], ..LoadOptions::default() };
        let error = load_text("model.m", &text, &options).expect_err("it depends on N in another way");
        assert!(format!("{error}").contains("E0218") || format!("{error:?}").contains("E0218"), "{error:?}");
    }
}

/// A quantifier over a range ends where it is decided, one over a scalarset looks at all: here the first element decides and
/// the others fault.
#[test]
fn what_faults_only_in_a_scalarset_is_no_fault() {
    let text = "const N: 2; type client: 1..N; var at: array [client] of boolean; go: boolean;
        ruleset c: client do startstate at[c] := true; go := true end end;
        rule \"look\" go & exists c: client do !isundefined(at[c]) & at[c] end ==> go := !go end;
        rule \"ask\" !go & exists c: client do at[c] end ==> go := true end;
        invariant \"true\" go | !go;";
    let report = decide(text, "N");
    let brute = {
        let options = LoadOptions { set: vec![("N".into(), 2)], ..LoadOptions::default() };
        let loaded = load_text("model.m", text, &options).unwrap();
        let options = CheckOptions { symmetry: false, ..CheckOptions::default() };
        check(&loaded, &options, &mut Quiet).unwrap()
    };
    // With two clients, the start that defines the second faults where the first is asked.
    let faults =
        |report: &Report| matches!(verdict(report, text, "no run-time errors"), Verdict::Violated(_));
    assert_eq!(faults(&report), faults(&brute));
}

const MAIL: &str = "const N: 3; type node: scalarset(N);
    type message: record cmd: enum { none, ask, tell }; whom: node; from: node end;
    var box: message; has: array [node] of boolean;
    ruleset n: node do startstate box.cmd := none; box.whom := n; box.from := n;
      for m: node do has[m] := false end; has[n] := true end end;
    ruleset a: node; b: node do
      rule \"ask\" a != b & box.cmd = none & !has[a] ==> box.cmd := ask; box.whom := b; box.from := a end;
      rule \"tell\" box.cmd = ask & box.whom = b & has[b] & box.from = a ==>
        box.cmd := tell; box.whom := a; has[b] := false end;
      rule \"no\" box.cmd = ask & box.whom = b & !has[b] ==> box.cmd := none end;
      rule \"take\" box.cmd = tell & box.whom = a ==> has[a] := true; box.cmd := none end;
    end;
    invariant \"one\" forall a: node do forall b: node do a != b -> !(has[a] & has[b]) end end;";

#[test]
fn stale_values_are_reset_where_nothing_will_read_them() {
    let loaded = load_text("mail.m", MAIL, &LoadOptions::default()).unwrap();
    let states = |dead_variables: bool| {
        let options = CheckOptions {
            symmetry: false,
            dead_variables: Some(dead_variables),
            engine: Some(shoal::Engine::Explicit),
            ..CheckOptions::default()
        };
        let report = check(&loaded, &options, &mut Quiet).unwrap();
        let holds = |name: &str| matches!(verdict(&report, MAIL, name), Verdict::Holds);
        assert!(holds("one") && holds("no run-time errors"));
        report.outcome.statistics.states
    };
    // Who has it; with a question, who asks whom; with an answer, who is told.
    assert_eq!(states(true), 3 + 3 * 2 * 2 + 3);
    assert!(states(false) > states(true));
    let report = decide(MAIL, "N");
    assert!(matches!(verdict(&report, MAIL, "one"), Verdict::Holds), "{:?}", report.outcome.results);
}

/// Who is either a node or the home has any number of values as well.
#[test]
fn stale_values_are_reset_beside_unions_of_any_size() {
    let text = MAIL
        .replace("var box", "type party: union { node, enum { home } }; var last: party; var box")
        .replace("box.cmd := none; box.whom := n;", "last := n; box.cmd := none; box.whom := n;")
        .replace(
            "invariant",
            "ruleset p: party do rule \"note\" box.cmd = none & last != p ==> last := p end end; invariant",
        );
    let report = decide(&text, "N");
    for name in ["one", "no run-time errors"] {
        let verdict = verdict(&report, &text, name);
        assert!(matches!(verdict, Verdict::Holds), "{name}: {verdict:?}");
    }
}
