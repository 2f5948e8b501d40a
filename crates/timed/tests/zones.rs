//! Lumped zones: counts, verdicts and replayed runs.

use shoal_model::{Job, Model, Outcome, PropertyId, PropertyKind, Quiet, SortId, Verdict};
use shoal_syntax::SourceMap;
use shoal_template::{Options, Setting};
use shoal_vpl as vpl;

/// Fischer's protocol in the form that timed automata tools come with; `{wait}` is how long a process waits.
const FISCHER: &str = "
    automata A : i = 1..3;
    clock x[1..total(A)];
    register id;
    automaton A[i] {
      initially Idle;
      mode Idle { when id = 0 may goto Req; x[i] := 0; }
      mode Req { invariant x[i] <= 10; when x[i] <= 10 may goto Wait; x[i] := 0; id := i; }
      mode Wait { when id = 0 may goto Req; x[i] := 0; when x[i] > {wait} and id = i may goto Cs; }
      mode Cs { when True may goto Idle; id := 0; }
    }
    verify all_paths ( henceforth forall i, j : A { i <> j implies not {mode(A[i]) = Cs and mode(A[j]) = Cs} } );
";

fn load(text: &str, size: i64) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("test.vpl", text);
    let (loaded, diagnostics) = vpl::load(
        &sources,
        id,
        &Options { set: vec![("A".into(), Setting::Number(size))], ..Options::default() },
    );
    loaded.unwrap_or_else(|| panic!("{diagnostics:?}")).0
}

fn job(model: &Model, symmetric: bool) -> Job {
    let asked = model
        .properties
        .enumerate()
        .filter(|(_, property)| !matches!(property.kind, PropertyKind::Assume(_)));
    let properties: Vec<PropertyId> = asked.map(|(id, _)| id).collect();
    let symmetric: Vec<SortId> = if symmetric { model.sorts.ids().collect() } else { Vec::new() };
    Job { symmetric, ..Job::new(properties) }
}

fn check(model: &Model, symmetric: bool, coarse: bool) -> Outcome {
    shoal_timed::check_with(model, &job(model, symmetric), shoal_timed::Options { coarse }, &mut Quiet)
        .unwrap()
}

fn holds(outcome: &Outcome) -> bool {
    outcome.results.iter().all(|result| matches!(result.verdict, Verdict::Holds))
}

#[test]
fn orbits_add_up_to_the_states_without_lumping() {
    for (size, full) in [(3, 65), (4, 220), (5, 727), (6, 2378), (7, 7737)] {
        let model = load(&FISCHER.replace("{wait}", "10"), size);
        let outcome = check(&model, true, false);
        assert!(holds(&outcome));
        let plain = if size < 6 { check(&model, false, false).statistics.states } else { full };
        assert_eq!((outcome.statistics.states_full, plain), (Some(u128::from(full)), full));
    }
}

#[test]
fn a_wrong_delay_is_found_and_replays() {
    for size in [2, 3, 10, 40] {
        let model = load(&FISCHER.replace("{wait}", "9"), size);
        let outcome = check(&model, true, false);
        let Verdict::Violated(violation) = &outcome.results[0].verdict else { panic!("it holds for {size}") };
        shoal_interpret::confirm(&model, outcome.results[0].property, violation).unwrap();
    }
}

#[test]
fn nothing_faults_for_any_number() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/sgm/fischer.vpl");
    let mut sources = shoal_syntax::SourceMap::new();
    let id = sources.add("fischer.vpl", std::fs::read_to_string(path).unwrap());
    let set = vec![("A".to_string(), shoal_template::Setting::Any)];
    let options = shoal_template::Options { set, ..shoal_template::Options::default() };
    let (model, diagnostics) = shoal_vpl::load(&sources, id, &options);
    let model = model.unwrap_or_else(|| panic!("{diagnostics:?}")).0;
    let asked = |kind: &shoal_model::PropertyKind| !matches!(kind, shoal_model::PropertyKind::Assume(_));
    let asked = model.properties.enumerate().filter(|(_, property)| asked(&property.kind));
    let properties: Vec<_> = asked.map(|(id, _)| id).collect();
    let job =
        shoal_model::Job { symmetric: model.sorts.ids().collect(), ..shoal_model::Job::new(properties) };
    let outcome = shoal_timed::check(&model, &job, &mut shoal_model::Quiet).unwrap();
    for result in &outcome.results {
        let name = &model.properties[result.property].name;
        assert!(matches!(result.verdict, shoal_model::Verdict::Holds), "{name}: {:?}", result.verdict);
    }
}
