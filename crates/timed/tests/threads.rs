//! Searches on several threads: what is found, and where limits end them, does not depend on how many there are.

use std::time::{Duration, Instant};

use shoal_model::{Job, Limits, Model, PropertyId, PropertyKind, Quiet, StopReason, Verdict, Watch};
use shoal_syntax::SourceMap;
use shoal_template::{Options, Setting};

use crate::common::on_threads;

/// Fischer's protocol, in which a process waits for so long. With names, every process more takes four times as many states.
fn fischer(processes: i64, wait: u32) -> Model {
    let text = format!(
        "automata A : i = 1..3;
         clock x[1..total(A)];
         register id;
         automaton A[i] {{
           initially Idle;
           mode Idle {{ when id = 0 may goto Req; x[i] := 0; }}
           mode Req {{ invariant x[i] <= 10; when x[i] <= 10 may goto Wait; x[i] := 0; id := i; }}
           mode Wait {{ when id = 0 may goto Req; x[i] := 0; when x[i] > {wait} and id = i may goto Cs; }}
           mode Cs {{ when True may goto Idle; id := 0; }}
         }}
         verify all_paths (henceforth
           forall i, j : A {{ i <> j implies not {{mode(A[i]) = Cs and mode(A[j]) = Cs}} }});"
    );
    let mut sources = SourceMap::new();
    let id = sources.add("fischer.vpl", text);
    let set = vec![("A".into(), Setting::Number(processes))];
    let (loaded, diagnostics) = shoal_vpl::load(&sources, id, &Options { set, ..Options::default() });
    loaded.unwrap_or_else(|| panic!("{diagnostics:?}")).0
}

fn job(model: &Model, limits: Limits) -> Job {
    let asked = |kind: &PropertyKind| !matches!(kind, PropertyKind::Assume(_));
    let asked = model.properties.enumerate().filter(|(_, property)| asked(&property.kind));
    let asked: Vec<PropertyId> = asked.map(|(id, _)| id).collect();
    Job { watch: Watch::start(limits), ..Job::new(asked) }
}

#[test]
fn threads_take_part() {
    let model = fischer(4, 10);
    let (outcome, threads) = on_threads(&model, &job(&model, Limits::default()), "4 processes");
    assert_eq!((outcome.statistics.states, threads), (220, 3));
    assert!(outcome.results.iter().all(|result| matches!(result.verdict, Verdict::Holds)));
}

#[test]
fn limits_end_a_search_in_the_same_state() {
    let model = fischer(5, 10);
    let limits = [
        Limits { states: Some(100), ..Limits::default() },
        Limits { depth: Some(5), ..Limits::default() },
        Limits { memory: Some(60_000), ..Limits::default() },
    ];
    for limits in limits {
        let (outcome, _) = on_threads(&model, &job(&model, limits.clone()), &format!("{limits:?}"));
        let ended = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(_));
        assert!(outcome.results.iter().any(|result| ended(&result.verdict)), "{limits:?}");
        assert!(outcome.statistics.states < 727, "{limits:?}");
    }
}

#[test]
fn after_a_violation_patience_ends_in_the_same_state() {
    let model = fischer(5, 9);
    let whole = job(&model, Limits::default());
    for patience in [None, Some(0), Some(50)] {
        let (outcome, _) = on_threads(&model, &Job { patience, ..whole.clone() }, "a wrong delay");
        let violated = |verdict: &Verdict| matches!(verdict, Verdict::Violated(_));
        assert!(outcome.results.iter().any(|result| violated(&result.verdict)), "{patience:?}");
    }
}

#[test]
fn time_and_the_wish_to_stop_end_all_threads() {
    let model = fischer(9, 10);
    let ends = |limits: Limits, cancelled: bool| {
        let job = Job { threads: 3, ..job(&model, limits) };
        let began = Instant::now();
        let outcome = std::thread::scope(|scope| {
            let canceller = job.watch.canceller();
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                cancelled.then(|| canceller.cancel());
            });
            shoal_timed::check(&model, &job, &mut Quiet).unwrap()
        });
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        match &outcome.results[0].verdict {
            Verdict::Unknown(reason) => reason.clone(),
            verdict => panic!("it is decided: {verdict:?}"),
        }
    };
    let time = Duration::from_millis(200);
    assert_eq!(ends(Limits { time: Some(time), ..Limits::default() }, false), StopReason::Time(time));
    assert_eq!(ends(Limits::default(), true), StopReason::Interrupted);
}
