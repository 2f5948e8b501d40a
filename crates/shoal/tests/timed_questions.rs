//! What is asked of models with clocks is answered: by a verdict, or by `unknown` and why. No option, no other question and no limit
//! takes an answer away.

use shoal::{
    CheckOptions, Deadlock, LoadOptions, Loaded, Quiet, Report, Sources, Status, Verdict, Watch, check,
    load_sources, load_text, plan,
};
use shoal_model::{Cancel, Limits, Observer, PropertyId, PropertyKind, StopReason, Violation};

fn any(name: &str) -> LoadOptions {
    LoadOptions { any: vec![name.into()], ..LoadOptions::default() }
}

fn decide(loaded: &Loaded) -> Report {
    check(loaded, &CheckOptions::default(), &mut Quiet).unwrap_or_else(|error| panic!("{error}"))
}

fn verdict<'r>(loaded: &Loaded, report: &'r Report, name: &str) -> &'r Verdict {
    let named = |id: PropertyId| loaded.model.properties[id].name == name;
    let mut results = report.outcome.results.iter();
    &results.find(|result| named(result.property)).unwrap_or_else(|| panic!("{name} is not answered")).verdict
}

fn is_named(loaded: &Loaded, report: &Report, name: &str) -> &'static str {
    match verdict(loaded, report, name) {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(StopReason::Internal(why)) => panic!("{name}: {why}"),
        Verdict::Unknown(_) => "unknown",
    }
}

/// One of them takes the only token, and then all stand still; with `clock`, each has a clock.
fn takers(clock: bool) -> String {
    let (declared, reset) = if clock { ("clock x[id];", ", x[me] := 0") } else { ("", "") };
    format!(
        "const int N = 3; typedef scalar[N] id; int[0,1] taken; {declared}
         process P(const id me) {{ state A, B; init A; trans A -> B {{ guard taken == 0; assign taken := 1{reset}; }}; }}
         system P;"
    )
}

#[test]
fn a_written_question_about_deadlocks_is_answered_for_any_number_and_whatever_deadlock_is_asked() {
    let queries =
        ["A[] not deadlock", "A[] taken == 1 imply not deadlock", "A[] taken == 0 imply not deadlock"];
    for clock in [true, false] {
        for deadlock in [Deadlock::Auto, Deadlock::Off, Deadlock::Stuck] {
            for options in [any("N"), LoadOptions::default()] {
                let sources = Sources::text("m.xta", takers(clock)).with("m.q", queries.join("\n"));
                let options = LoadOptions { deadlock, ..options };
                let loaded = load_sources(&sources, &options).unwrap();
                for query in queries {
                    let asked = loaded.asked.iter().any(|id| loaded.model.properties[*id].name == query);
                    assert!(asked, "{query} with {options:?}");
                }
                let report = decide(&loaded);
                assert_ne!(is_named(&loaded, &report, queries[0]), "holds");
                assert_ne!(is_named(&loaded, &report, queries[1]), "holds");
                assert_ne!(is_named(&loaded, &report, queries[2]), "violated");
                assert_ne!(report.status(), Status::Holds);
                if options.any.is_empty() {
                    assert_eq!(is_named(&loaded, &report, queries[0]), "violated");
                    assert_eq!(is_named(&loaded, &report, queries[2]), "holds");
                }
            }
        }
    }
}

#[test]
fn goals_about_deadlocks_and_timelocks_are_answered_for_any_number() {
    let text = "automata A : i = 1..3; clock x[1..total(A)]; register b : 0..1;
        automaton A[i] { initially P; mode P { when b = 0 may goto Q; b := 1; x[i] := 0; }
          mode Q { invariant x[i] <= 2; } }
        verify \"alone\": all_paths (henceforth forall i, j : A { i <> j implies not {mode(A[i]) = Q and mode(A[j]) = Q} });
        verify \"moves\": all_paths (henceforth not deadlock);
        verify \"time goes on\": all_paths (henceforth not timelock);";
    let loaded = load_text("m.vpl", text, &any("A")).unwrap();
    let report = decide(&loaded);
    assert_eq!(is_named(&loaded, &report, "alone"), "holds");
    // One that is in `Q` stays there, and after two units of time no time passes any more.
    assert_eq!(is_named(&loaded, &report, "moves"), "violated");
    assert_eq!(is_named(&loaded, &report, "time goes on"), "violated");
    let only = CheckOptions { properties: vec!["moves".into()], ..CheckOptions::default() };
    assert_eq!(check(&loaded, &only, &mut Quiet).unwrap().outcome.results.len(), 1);
}

#[test]
fn only_what_nobody_wrote_is_left_out() {
    let text = "var x: boolean; startstate x := true end; rule x ==> x := false end;";
    let options = LoadOptions { deadlock: Deadlock::Off, ..LoadOptions::default() };
    for (file, text) in [("m.m", text), ("m.pml", "active proctype p() { false }")] {
        let of_deadlocks = |options: &LoadOptions| {
            let loaded = load_text(file, text, options).unwrap();
            let kinds = loaded.asked.iter().map(|id| loaded.model.properties[*id].kind.clone());
            kinds.filter(|kind| matches!(kind, PropertyKind::Deadlock(_))).count()
        };
        assert_eq!((of_deadlocks(&LoadOptions::default()), of_deadlocks(&options)), (1, 0), "{file}");
    }
}

/// Processes that lock with a register and a delay, and goals about some of them by name.
const LOCK: &str = "automata A : i = 1..3; clock x[1..total(A)]; register lock;
    automaton A[i] { initially Idle and lock = 0;
      mode Idle { when lock = 0 may goto Ask; x[i] := 0; }
      mode Ask { invariant x[i] < 1; when x[i] < 1 may goto Wait; x[i] := 0; lock := i; }
      mode Wait { when x[i] >= 1 and lock = i may goto In; when lock <> i may goto Idle; }
      mode In { when True may goto Idle; lock := 0; } }
    verify \"alone\": all_paths (henceforth forall i, j : A { i <> j implies not {mode(A[i]) = In and mode(A[j]) = In} });
    ";

#[test]
fn a_goal_that_names_elements_takes_no_verdict_from_the_others() {
    let goals = [
        ("two apart", "all_paths (henceforth not {mode(A[1]) = In and mode(A[2]) = In})", "holds"),
        ("never in", "all_paths (henceforth not {mode(A[3]) = In})", "violated"),
        ("sometimes in", "exists_path (eventually mode(A[2]) = In)", "holds"),
        ("at last", "all_paths (eventually mode(A[2]) = In)", "violated"),
        (
            "three",
            "exists_path (eventually exists i, j, k : A { i <> j and j <> k and i <> k and mode(A[i]) = Ask \
             and mode(A[j]) = Ask and mode(A[k]) = Ask })",
            "holds",
        ),
    ];
    let written = |(name, goal, _): &(&str, &str, &str)| format!("verify {name:?}: {goal};\n");
    let all = LOCK.to_string() + &goals.iter().map(written).collect::<String>();
    let texts = goals.iter().map(|goal| LOCK.to_string() + &written(goal)).chain([all]);
    for text in texts {
        let loaded = load_text("m.vpl", text, &any("A")).unwrap();
        let report = decide(&loaded);
        assert_eq!(is_named(&loaded, &report, "alone"), "holds");
        for (name, _, truth) in goals {
            if loaded.model.properties.iter().any(|property| property.name == name) {
                assert_eq!(is_named(&loaded, &report, name), truth, "{name}");
            }
        }
    }
}

/// Ends a check at the first violation.
struct Enough(Cancel);

impl Observer for Enough {
    fn violation(&mut self, _: PropertyId, _: &Violation) {
        self.0.cancel();
    }
}

#[test]
fn what_is_asked_of_states_is_decided_before_formulas_and_stays() {
    let sources = Sources::text(
        "m.xta",
        "clock x; process P() { state A { x <= 2 }, B; init A; trans A -> B { guard x >= 1; }; } system P;",
    );
    let sources = sources.with("m.q", "P.A --> P.B\nA[] not P.B");
    let loaded = load_sources(&sources, &LoadOptions::default()).unwrap();
    let cancel = Cancel::default();
    let watch = Watch::start(Limits::default()).cancelled_by(&cancel);
    let options = CheckOptions { watch, ..CheckOptions::default() };
    let tasks = plan(&loaded, &options).tasks;
    let first = |task: &shoal::Task| loaded.model.properties[task.properties[0]].name.clone();
    assert_eq!((first(&tasks[0]), first(&tasks[1])), ("A[] not P.B".into(), "P.A --> P.B".into()));
    let report = check(&loaded, &options, &mut Enough(cancel)).unwrap();
    assert_eq!(is_named(&loaded, &report, "A[] not P.B"), "violated");
    assert!(matches!(verdict(&loaded, &report, "P.A --> P.B"), Verdict::Unknown(StopReason::Interrupted)));
}

#[test]
fn a_mark_before_a_text_is_no_part_of_it() {
    let marked = |text: &str| format!("\u{feff}{text}");
    let sources = Sources::text("m.xta", marked(&takers(true))).with("m.q", marked("A[] taken <= 1"));
    let loaded = load_sources(&sources, &LoadOptions::default()).unwrap();
    assert_eq!(is_named(&loaded, &decide(&loaded), "A[] taken <= 1"), "holds");
    let texts = [
        ("m.bp", "void main() begin skip; end"),
        (
            "m.spec",
            "vars\n x y\n\nrules\n x >= 1 ->\n  x' = x-1,\n  y' = y+1;\n\ninit\n x = 2, y = 0\n\ntarget\n y >= 3\n",
        ),
        ("m.tts", "2 2\n0 0 -> 1 1\n0 1 -> 0 1\n"),
    ];
    for (file, text) in texts {
        let target = (file == "m.tts").then(|| "1|1".to_string());
        let options = LoadOptions { target, ..LoadOptions::default() };
        let read = |text: String| match load_text(file, text, &options) {
            Ok(loaded) => loaded,
            Err(error) => panic!("{file}: {error}"),
        };
        assert_eq!(read(marked(text)).model, read(text.to_string()).model);
    }
}

/// A zone is a matrix of all clocks. How large it is is known before it is made.
#[test]
fn so_many_clocks_that_one_zone_is_too_large_are_refused() {
    let text = "automata A : i = 1..5000; clock x[1..total(A)];
        automaton A[i] { initially M; mode M { when x[i] > 3 may goto N; x[i] := 0; } mode N { } }
        verify all_paths (henceforth not {mode(A[1]) = N});";
    let loaded = load_text("many.vpl", text, &LoadOptions::default()).unwrap();
    let options = CheckOptions { symmetry: false, ..CheckOptions::default() };
    let report = check(&loaded, &options, &mut Quiet).unwrap();
    assert_eq!(report.status(), Status::Unknown, "{:?}", report.outcome.results);
}
