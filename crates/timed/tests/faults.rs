//! What faults is a violation, with a run that leads there; in guards, updates, invariants, functions and what is asked.

use shoal_model::{FaultKind, Job, Model, PropertyId, PropertyKind, Quiet, Reason, Verdict};
use shoal_syntax::SourceMap;
use shoal_template::Options;
use shoal_uppaal as uppaal;

use crate::common;

/// The kinds of fault that violate each property, in order; nothing where it holds.
fn faults(model: &Model) -> Vec<Option<FaultKind>> {
    let asked = |kind: &PropertyKind| !matches!(kind, PropertyKind::Assume(_));
    let asked = model.properties.enumerate().filter(|(_, property)| asked(&property.kind));
    let asked: Vec<PropertyId> = asked.map(|(id, _)| id).collect();
    let outcome = shoal_timed::check(model, &Job::new(asked), &mut Quiet).unwrap();
    let fault = |result: &shoal_model::PropertyResult| match &result.verdict {
        Verdict::Holds => None,
        Verdict::Unknown(reason) => panic!("{reason}"),
        Verdict::Violated(violation) => {
            shoal_interpret::confirm(model, result.property, violation).unwrap();
            let reason = match &violation.reason {
                Reason::After(_, reason) => reason,
                reason => reason,
            };
            match reason {
                Reason::Fault(_, fault) => Some(fault.kind.clone()),
                other => panic!("{other:?}"),
            }
        }
    };
    outcome.results.iter().map(fault).collect()
}

/// The fault that a model without queries has.
fn alone(text: &str) -> Option<FaultKind> {
    xta(text, "").pop().flatten()
}

fn xta(text: &str, queries: &str) -> Vec<Option<FaultKind>> {
    let mut sources = SourceMap::new();
    let id = sources.add("m.xta", text);
    let queries = sources.add("m.q", queries);
    let (model, diagnostics) = uppaal::load_xta(&sources, id, Some(queries), &Options::default());
    faults(&model.unwrap_or_else(|| panic!("{diagnostics:?}")))
}

/// One process with one edge to where it came from.
fn looping(declarations: &str, location: &str, edge: &str) -> String {
    format!(
        "{declarations} process P() {{ state A {location}, B; init A; trans A -> A {{ {edge} }}; }} system P;"
    )
}

#[test]
fn every_place_in_which_something_can_fault() {
    let cases = [
        ("clock x; int[0,3] v;", "", "guard x >= 1; assign v = v + 1;", FaultKind::OutOfRange),
        (
            "clock x; int v; int w[2];",
            "",
            "guard x > 1; assign w[v] = 1, v = v + 1;",
            FaultKind::IndexOutOfRange,
        ),
        ("clock x; int v = 2;", "", "guard x < 9 && 6 / v < 7; assign v = v - 1;", FaultKind::DivisionByZero),
        (
            "clock x; int v = 2; int w[3];",
            "",
            "guard x >= 2 && w[v] == 0; assign v = v + 1;",
            FaultKind::IndexOutOfRange,
        ),
        (
            "clock x; int v; int w[3];",
            "{ x <= 9 && w[v] == 0 }",
            "assign v = v + 1;",
            FaultKind::IndexOutOfRange,
        ),
        (
            "clock x; int v; int f(int n) { return 5 % (3 - n); }",
            "",
            "assign v = v + 1, v = v + 0 * f(v);",
            FaultKind::DivisionByZero,
        ),
        ("clock x; chan c[2]; int v;", "", "sync c[v / v]!;", FaultKind::DivisionByZero),
        ("int v; int w[2];", "", "assign v = v + 1, w[v] = 1;", FaultKind::IndexOutOfRange),
        ("clock x; bool b; int v = 32767;", "", "assign v = v + 1;", FaultKind::OutOfRange),
    ];
    for (declarations, location, edge, kind) in cases {
        let mut text = looping(declarations, location, edge);
        if edge.contains("sync") {
            text = text.replace(
                "system P",
                "process Q() { state A; init A; trans A -> A { sync c[0]?; }; } system P, Q",
            );
        }
        assert_eq!(alone(&text), Some(kind), "{text}");
    }
    assert_eq!(
        xta("const int n = 2; int[0,2] v = n + 1 - 1; process P() { state A; init A; } system P;", ""),
        [None]
    );
    assert_eq!(
        xta("int[0,2] v = 3; process P() { state A; init A; } system P;", ""),
        [Some(FaultKind::OutOfRange)]
    );
}

/// A part that is not evaluated does not fault: clocks decide.
#[test]
fn what_is_not_evaluated_does_not_fault() {
    let guarded = looping("clock x; int v = 5; int w[2];", "{ x <= 2 }", "guard x > 2 && w[v] == 0;");
    assert_eq!(alone(&guarded), None);
    let either = looping("clock x; int v = 5; int w[2];", "{ x <= 2 }", "guard x <= 2 || w[v] == 0;");
    assert_eq!(alone(&either), None);
}

/// An invariant that cannot be evaluated does not hold; other formulas too.
#[test]
fn what_is_asked_may_fault() {
    let text = looping("clock x; int[0,3] v; int w[2];", "", "guard v < 3 && x > 1; assign v = v + 1;");
    let index = || Some(FaultKind::IndexOutOfRange);
    assert_eq!(
        xta(&text, "A[] w[v] == 0\nA<> w[v] == 1\nA[] x >= 0 or w[v] == 0"),
        [index(), index(), None, index()]
    );
}

/// The numbers that a register can have are also those of the registers it is assigned.
#[test]
fn registers_that_meet_have_one_type() {
    let text = "
        automata A : i = 1..2;
        clock x[1..total(A)];
        register b, c;
        automaton A[i] {
          initially P;
          mode P { when c = 0 may goto Q; c := 3; }
          mode Q { when x[i] > 1 may goto P; b := c; c := 0; }
        }
        verify all_paths ( henceforth not {b = 3} );";
    let model = common::load(text);
    let job = Job::new(model.properties.ids().collect());
    let outcome = shoal_timed::check(&model, &job, &mut Quiet).unwrap();
    let holds: Vec<bool> = outcome.results.iter().map(|it| matches!(it.verdict, Verdict::Holds)).collect();
    assert_eq!(holds, [false, true]);
}
