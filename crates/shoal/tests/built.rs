//! A model made in Rust is a model like any other.

use shoal::{
    CheckOptions, LoadOptions, Loaded, Quiet, Status, check, load_text,
    model::{Model, Property, PropertyKind, print_model},
};

#[path = "../examples/model_in_rust.rs"]
mod model_in_rust;

/// The same in Murphi.
fn in_murphi(processes: u32) -> String {
    format!(
        "const N: {processes};
        type process: scalarset(N); number: 0..N-1; phase: enum {{Idle, Waits, Served}};
        var stands: array [process] of phase; ticket: array [process] of number; next: number; serving: number;
        startstate for p: process do stands[p] := Idle; end; next := 0; serving := 0; end;
        ruleset p: process do
          rule stands[p] = Idle ==> stands[p] := Waits; ticket[p] := next; next := (next + 1) % N; end;
          rule stands[p] = Waits & ticket[p] = serving ==> stands[p] := Served; end;
          rule stands[p] = Served ==>
            stands[p] := Idle; undefine ticket[p]; serving := (serving + 1) % N;
          end;
        end;"
    )
}

#[test]
fn a_model_made_in_rust_is_checked_as_the_same_in_a_language() {
    for processes in 1..5 {
        let model = model_in_rust::tickets(processes, true).unwrap();
        let (status, violated, states) = model_in_rust::check(model).unwrap();
        assert_eq!((status, violated.len()), (Status::Holds, 0));
        let loaded = load_text("tickets.m", in_murphi(processes), &LoadOptions::default()).unwrap();
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        assert_eq!(states, report.outcome.statistics.states, "{processes} processes");
    }
    let model = model_in_rust::tickets(3, false).unwrap();
    let (status, violated, _) = model_in_rust::check(model).unwrap();
    assert_eq!((status, violated), (Status::Violated, vec!["one at a time".to_string()]));
}

#[test]
fn the_printed_form_stands_for_the_source() {
    let model = model_in_rust::tickets(2, true).unwrap();
    let text = print_model(&model);
    let loaded = Loaded::of_model(model).unwrap();
    assert_eq!(loaded.sources.files().next().unwrap().text(), text);
    assert!(text.contains("take a ticket"), "{text}");
}

#[test]
fn what_is_not_well_formed_is_refused() {
    let condition =
        model_in_rust::tickets(2, true).unwrap().properties.iter().find_map(|it| match &it.kind {
            PropertyKind::Invariant(condition) => Some(condition.clone()),
            _ => None,
        });
    // The condition speaks of variables that an empty model does not have.
    let mut model = Model::default();
    let kind = PropertyKind::Invariant(condition.unwrap());
    model.properties.push(Property { name: "lost".into(), kind, span: Default::default() });
    assert!(Loaded::of_model(model).is_err());
}
