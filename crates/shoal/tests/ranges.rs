//! Ranges that nothing orders are searched as sorts, and nobody sees it but in the number of states.

use shoal::{CheckOptions, LoadOptions, Report, Status, check, load_text};
use shoal_interpret::explore;
use shoal_model::{Quiet, Reduction, Value};

/// A lock; `{T}` is what its processes are.
const LOCK: &str = "
const N: 3;
type Node: {T}; S: enum {Idle, Want, Own};
var st: array [Node] of S; owner: Node; taken: boolean;
startstate begin for i: Node do st[i] := Idle; end; taken := false; undefine owner; end;
ruleset i: Node do
  rule \"want\" st[i] = Idle ==> begin st[i] := Want; end;
  rule \"take\" st[i] = Want & {G} ==> begin st[i] := Own; taken := true; owner := i; end;
  rule \"leave\" st[i] = Own ==> begin st[i] := Idle; taken := false; undefine owner; end;
end;
invariant \"one\" forall i: Node do forall j: Node do st[i] = Own & st[j] = Own -> i = j end end;
invariant \"owner\" taken -> st[owner] = Own;
";

fn lock(node: &str, guard: &str) -> String {
    LOCK.replace("{T}", node).replace("{G}", guard)
}

fn run(text: &str, symmetry: bool) -> Report {
    let loaded =
        load_text("model.m", text, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    check(&loaded, &CheckOptions { symmetry, ..CheckOptions::default() }, &mut Quiet).unwrap()
}

fn ranges(report: &Report) -> Vec<String> {
    let named = report.outcome.statistics.reductions.iter().filter_map(|reduction| match reduction {
        Reduction::Ranges(names) => Some(names.clone()),
        Reduction::Symmetry(_)
        | Reduction::Checked(_)
        | Reduction::Trusted(_)
        | Reduction::Automorphisms(_)
        | Reduction::Inactive(_)
        | Reduction::PartialOrder => None,
    });
    named.flatten().collect()
}

#[test]
fn a_range_is_reduced_by_as_a_scalarset_is() {
    let (range, scalarset) = (lock("1..N", "!taken"), lock("scalarset(N)", "!taken"));
    let reduced = run(&range, true);
    assert_eq!((reduced.status(), ranges(&reduced)), (Status::Holds, vec!["Node".to_string()]));
    assert_eq!(reduced.outcome.statistics.states, run(&scalarset, true).outcome.statistics.states);
    let whole = run(&range, false);
    let model = load_text("model.m", &range, &LoadOptions::default()).unwrap().model;
    let all = explore(&model, 1000).unwrap();
    assert!(all.complete && ranges(&whole).is_empty());
    assert_eq!(whole.outcome.statistics.states, all.reached.len() as u64);
    assert_eq!(reduced.outcome.statistics.states_full, Some(all.reached.len() as u128));
}

#[test]
fn its_values_are_numbers_in_traces() {
    let report = run(&lock("1..N", "true"), true);
    assert_eq!((report.status(), ranges(&report)), (Status::Violated, vec!["Node".to_string()]));
    for (_, violation) in report.violations() {
        let trace = violation.trace.as_ref().unwrap();
        assert!(!trace.steps.is_empty());
        for step in &trace.steps {
            assert!(matches!(step.args[..], [Value::Int(1..=3)]), "{:?}", step.args);
        }
    }
}

/// A quantifier over a range does not come to what would fault, one over a sort does.
#[test]
fn what_faults_is_what_faults_in_the_range() {
    let text = "
type Node: 1..3;
var flag: array [Node] of boolean; done: boolean;
startstate begin
  undefine flag; done := false;
  for i: Node do if !done then flag[i] := true; done := true; end; end;
end;
rule \"look\" exists j: Node do flag[j] end ==> begin done := !done; end;
";
    for symmetry in [true, false] {
        let report = run(text, symmetry);
        assert_eq!((report.status(), ranges(&report)), (Status::Holds, Vec::new()));
        assert_eq!(report.outcome.statistics.states, 2);
    }
}
