//! Small models whose counters can be counted by hand, and the interpreter beside them.

use shoal_interpret::explore;
use shoal_model::{Job, Model, Outcome, PropertyId, Quiet, SortId, Verdict};
use shoal_syntax::SourceMap;

use shoal_counters::{BroadcastMode, Options, check};

fn model(text: &str) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("test.m", text);
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &shoal_murphi::Options::default());
    model.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

fn counted(model: &Model, options: Options) -> Outcome {
    let symmetry = shoal_analysis::symmetry(model);
    let symmetric: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    assert!(!symmetric.is_empty(), "something is to be counted");
    let job = Job { symmetric, ..Job::new(model.properties.ids().collect()) };
    check(model, &job, options, &mut Quiet).unwrap_or_else(|lacks| panic!("{lacks}"))
}

fn violated(outcome: &Outcome) -> Vec<PropertyId> {
    let is_violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
    assert!(
        !outcome.results.iter().any(|it| matches!(it.verdict, Verdict::Unknown(_))),
        "{:?}",
        outcome.results
    );
    outcome.results.iter().filter(|it| is_violated(&it.verdict)).map(|it| it.property).collect()
}

/// The same verdicts as the interpreter, and so many counters states, in every way to count.
fn agrees(text: &str, states: Option<u64>) {
    let model = model(text);
    let reference = explore(&model, 20_000).unwrap();
    assert!(reference.complete);
    let expected: Vec<PropertyId> = reference.violated.keys().copied().collect();
    let plain = Options::default();
    let ways = [
        plain,
        Options { explicit: true, ..plain },
        Options { accelerate: !plain.accelerate, ..plain },
        Options { reduce: !plain.reduce, ..plain },
    ];
    for options in ways {
        let outcome = counted(&model, options);
        assert_eq!(violated(&outcome), expected, "{options:?}\n{text}");
        if let Some(states) = states.filter(|_| outcome.statistics.exhaustive) {
            assert_eq!(outcome.statistics.states, states, "{options:?}\n{text}");
        }
    }
}

const TOGGLES: &str = "
const N: 5;
type pid: scalarset(N);
var on: array [pid] of boolean;
startstate begin for p: pid do on[p] := false; end; end;
ruleset p: pid do
  rule !on[p] ==> begin on[p] := true; end;
  rule on[p] ==> begin on[p] := false; end;
end;
";

#[test]
fn toggles_are_counted() {
    // How many are on: none to five.
    agrees(TOGGLES, Some(6));
    let all_on = "invariant \"one is off\" exists p: pid do !on[p] end;\n";
    let model = model(&(TOGGLES.to_string() + all_on));
    let outcome = counted(&model, Options::default());
    let trace = outcome.results.iter().find_map(|result| match &result.verdict {
        Verdict::Violated(violation) => violation.trace.clone(),
        Verdict::Holds | Verdict::Unknown(_) => None,
    });
    assert_eq!(trace.unwrap().steps.len(), 5, "all five go on");
}

#[test]
fn a_lock_excludes_and_without_one_two_are_inside() {
    let lock = |guard: &str| {
        format!(
            "const N: 4;
             type pid: scalarset(N); place: enum {{ Idle, Wants, Inside }};
             var at: array [pid] of place; free: boolean;
             startstate begin for p: pid do at[p] := Idle; end; free := true; end;
             ruleset p: pid do
               rule at[p] = Idle ==> begin at[p] := Wants; end;
               rule at[p] = Wants & {guard} ==> begin at[p] := Inside; free := false; end;
               rule at[p] = Inside ==> begin at[p] := Idle; free := true; end;
             end;
             invariant \"alone\" forall p: pid do forall q: pid do
               p != q -> !(at[p] = Inside & at[q] = Inside) end end;"
        )
    };
    // Nobody inside: 0 to 4 want. One inside: 0 to 3 want.
    agrees(&lock("free"), Some(9));
    agrees(&lock("true"), None);
}

#[test]
fn loops_over_all_elements_move_everybody() {
    let text = TOGGLES.replace(
        "ruleset p: pid do",
        "rule \"all off\" exists p: pid do on[p] end ==> begin for p: pid do on[p] := false; end; end;
         ruleset p: pid do",
    );
    for broadcast in [BroadcastMode::Serial, BroadcastMode::default()] {
        let model = model(&text);
        let outcome = counted(&model, Options { broadcast, ..Options::default() });
        assert_eq!(violated(&outcome), [], "{broadcast:?}");
    }
    agrees(&text, None);
}
