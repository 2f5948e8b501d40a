//! Steps that fail, on random models: where one does, nothing that is said of all states or runs holds, whichever property is asked,
//! by whichever engine and with whichever use of symmetry; where none does, nothing is left open for that reason. The interpreter
//! says which steps fail.

use proptest::prelude::*;
use shoal::{
    CheckOptions, EngineKind, LoadOptions, Loaded, Order, Quiet, Representatives, Sources, Strategy, Verdict,
    check, load_sources,
};
use shoal_interpret::{Exploration, decide_branching, explore};
use shoal_model::{Formula, PropertyId, PropertyKind, Reason, StopReason};

use crate::random::{choices::Choices, compared};

/// Models with more states than this are skipped.
const MOST_STATES: usize = 3_000;

/// A model with failing steps, in some language.
struct Case {
    file: &'static str,
    text: String,
    /// What is asked in a file of its own.
    queries: Option<String>,
    /// What stands before the text, and changes nothing: a clock that nothing looks at.
    clock: &'static str,
    /// The number of elements is any.
    any: bool,
}

impl Case {
    fn load(&self, clock: &str, any: bool, number: u32) -> Loaded {
        let text = format!("{clock}{}", self.text.replace("NUMBER", &number.to_string()));
        let mut sources = Sources::text(self.file, text.clone());
        if let Some(queries) = &self.queries {
            sources = sources.with(self.file.replace(".xta", ".q"), queries.clone());
        }
        let options =
            LoadOptions { any: if any { vec!["N".into()] } else { Vec::new() }, ..LoadOptions::default() };
        load_sources(&sources, &options).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }
}

/// Statements of Murphi that may fail.
const FAILS: &[&str] = &[
    "",
    "assert \"one\" x != K;",
    "assert \"other\" forall q: P do s[q] != K end;",
    "if x = K then error \"stop\"; end;",
    "t[x] := 1;",
    "x := x + 2;",
    "if s[p] = K then t[x + K] := 0; end;",
    "clear t; undefine t[0]; if t[0] = K then x := 0; end;",
];

fn murphi(choices: &mut Choices<'_>) -> String {
    let mut text = "const N: NUMBER; type P: scalarset(N);
var s: array [P] of 0..3; x: 0..3; t: array [0..2] of 0..1;
startstate \"start\" begin for p: P do s[p] := 0; end; x := 0; for i: 0..2 do t[i] := 0; end; end;\n"
        .to_string();
    if choices.pick(12) == 11 {
        text += "startstate \"bad\" begin for p: P do s[p] := 1; end; for i: 0..2 do t[i] := 0; end; x := 0; error \"bad\"; end;\n";
    }
    let digit = |choices: &mut Choices<'_>| choices.one_of(&["3", "2", "1", "0"]);
    let guards = ["s[p] < K", "x < K", "s[p] = K", "x = K", "s[p] = 1 & x < K", "t[x] = 0 & s[p] < K"];
    let bodies = ["s[p] := s[p] + 1;", "if x < 3 then x := x + 1; end;", "s[p] := 0;", "x := 0;"];
    for _ in 0..2 + choices.pick(3) {
        let guard = choices.one_of(&guards).replace('K', digit(choices));
        let fails = choices.one_of(FAILS).replace('K', digit(choices));
        let (one, other) = (choices.one_of(&bodies), choices.one_of(&bodies));
        text += &format!("ruleset p: P do rule {guard} ==> begin {fails} {one} {other} end; end;\n");
    }
    match choices.pick(6) {
        4 => text += &format!("assume \"given\" x != {};\n", digit(choices)),
        5 => text += "assume \"given\" t[x] = 0;\n",
        _ => {}
    }
    for (name, asked) in [
        ("invariant \"low\"", "x != K"),
        ("invariant \"few\"", "forall p: P do s[p] != K end"),
        ("cover \"seen\"", "x = K"),
        ("liveness \"back\"", "x = K"),
        ("ctl \"all\"", "AG x != K"),
        ("ctl \"some\"", "EF x = K"),
        ("ctl \"again\"", "AG EF x = 0"),
        ("ctl \"next\"", "EX x = K"),
        ("ctl \"stays\"", "EG x != K"),
        ("ctl \"comes\"", "AF x = K"),
        ("ltl \"never\"", "[] x != K"),
        ("ltl \"here\"", "x != K"),
        ("ltl \"often\"", "[]<> x = K"),
    ] {
        text += &format!("{name} {};\n", asked.replace('K', digit(choices)));
    }
    if choices.pick(4) == 3 {
        text += "invariant \"index\" t[x] <= 1;\n";
    }
    // Where no run that was seen is fair, whatever is said of all fair ones is true.
    if choices.pick(5) == 4 {
        text += &format!("fairness \"fair\" x = {};\n", digit(choices));
    }
    text
}

fn promela(choices: &mut Choices<'_>) -> String {
    let fails = ["skip", "assert(m != K)", "a[m] = 1", "assert(false)", "a[n] = K", "m = 7 / (K - n)"];
    let digit = |text: &str, choices: &mut Choices<'_>| {
        let digit = choices.one_of(&["3", "2", "1", "0"]);
        text.replace('K', digit)
    };
    let option = |choices: &mut Choices<'_>| {
        let guard = digit(choices.one_of(&["n < K", "n == K", "m < K", "m == K"]), choices);
        let fail = digit(choices.one_of(&fails), choices);
        let step = choices.one_of(&["n++", "m++", "n = 0", "break"]);
        format!(":: {guard} -> {fail}; {step} ")
    };
    let (one, two) = (option(choices), option(choices));
    let three = option(choices).replace("break", "skip");
    let (low, back) = (choices.one_of(&["3", "2", "1"]), choices.one_of(&["3", "2", "1"]));
    format!(
        "byte n, m; byte a[2];
active [2] proctype A() {{ do {one} {two} :: n > 3 || m > 3 -> break od }}
active proctype B() {{ if {three} :: n == 1 -> skip fi; m = 2 }}
ltl low {{ [] (m < {low}) }}
ltl back {{ <> (n == {back}) }}\n"
    )
}

fn uppaal(choices: &mut Choices<'_>) -> (String, String) {
    let fails = ["", "", "w := w + 1,", "a[v] := 1,", "w := v - K,", "w := 4 / (v - K),"];
    let digit = |text: &str, choices: &mut Choices<'_>| {
        let digit = choices.one_of(&["3", "2", "1", "0"]);
        text.replace('K', digit)
    };
    let mut edges = Vec::new();
    for _ in 0..2 + choices.pick(3) {
        let guard = digit(choices.one_of(&["v < K", "v == K", "w < K", "a[v] == 0 and v < K"]), choices);
        let fail = digit(choices.one_of(&fails), choices);
        let step = choices.one_of(&["v := v + 1", "v := 0", "w := 0"]);
        let (from, to) = (choices.one_of(&["A", "B"]), choices.one_of(&["A", "B"]));
        edges.push(format!("{from} -> {to} {{ guard {guard}; assign {fail} {step}; }}"));
    }
    let text = format!(
        "int[0,4] v; int[0,1] w; int[0,1] a[3];
process P() {{ state A, B; init A; trans {}; }}
system P;\n",
        edges.join(", ")
    );
    let asked = ["A[] v != K", "E<> v == K", "A[] P.A or w != K", "E<> P.B", "A<> v == K", "E[] v != K"];
    let queries: Vec<String> = asked.iter().map(|query| digit(query, choices)).collect();
    (text, queries.join("\n"))
}

fn case(language: usize, bytes: &[u8]) -> Case {
    let choices = &mut Choices::new(bytes);
    match language {
        0 | 1 => {
            let (text, any) = (murphi(choices), language == 1);
            Case { file: "failing.m", text, queries: None, clock: "", any }
        }
        2 => Case { file: "failing.pml", text: promela(choices), queries: None, clock: "", any: false },
        _ => {
            let (text, queries) = uppaal(choices);
            let clock = if language == 3 { "" } else { "clock idle; " };
            Case { file: "failing.xta", text, queries: Some(queries), clock, any: false }
        }
    }
}

/// Engines, and ways to use symmetry and to search with them.
fn ways() -> Vec<CheckOptions> {
    let base = CheckOptions::default;
    let mut ways = Vec::new();
    for engine in [
        None,
        Some(EngineKind::Explicit),
        Some(EngineKind::Symbolic),
        Some(EngineKind::Counters),
        Some(EngineKind::Cover),
        Some(EngineKind::Views),
        Some(EngineKind::Timed),
    ] {
        ways.push(CheckOptions { engine, ..base() });
        ways.push(CheckOptions { engine, symmetry: false, ..base() });
    }
    let engine = Some(EngineKind::Symbolic);
    for representatives in [Representatives::Gasr, Representatives::Multiple] {
        ways.push(CheckOptions {
            engine,
            strategy: Strategy { representatives, ..base().strategy },
            ..base()
        });
    }
    for (engine, order) in [(engine, Order::Backward), (None, Order::DepthFirst)] {
        ways.push(CheckOptions { engine, strategy: Strategy { order, ..base().strategy }, ..base() });
    }
    let explicit = shoal::CounterOptions { explicit: true, ..base().counters };
    ways.push(CheckOptions { engine: Some(EngineKind::Counters), counters: explicit, ..base() });
    ways.push(CheckOptions { dead_variables: Some(true), ..base() });
    ways
}

/// Whether a formula asks for one run up to a state, at most: then it can hold though a step fails.
fn is_of_one_run(kind: &PropertyKind) -> bool {
    match kind {
        PropertyKind::Temporal(_, Formula::SomePath(path)) => {
            matches!(**path, Formula::Eventually(..) | Formula::Next(_))
        }
        PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_) | PropertyKind::Assume(_) => true,
        _ => false,
    }
}

/// What is known of a model: what a few instances do.
struct Truth {
    instances: Vec<(Exploration, Vec<(PropertyId, bool)>)>,
}

impl Truth {
    fn fails(&self) -> bool {
        self.instances.iter().any(|(explored, _)| explored.fails)
    }

    /// Whether the property holds in all instances, as far as is known.
    fn holds(&self, property: PropertyId) -> Option<bool> {
        let of_one = |(explored, branching): &(Exploration, Vec<(PropertyId, bool)>)| {
            let decided = !explored.undecided.contains(&property);
            let found = branching.iter().find(|(id, _)| *id == property).map(|(_, holds)| *holds);
            decided.then(|| !explored.violated.contains_key(&property)).or(found)
        };
        self.instances.iter().try_fold(true, |all, instance| Some(all && of_one(instance)?))
    }
}

fn truth(case: &Case) -> Option<Truth> {
    let sizes = if case.any { 1..=3 } else { 2..=2 };
    let mut instances = Vec::new();
    for size in sizes {
        let loaded = case.load("", false, size);
        let explored = explore(&loaded.model, MOST_STATES).ok()?;
        if !explored.complete {
            return None;
        }
        let branching = decide_branching(&loaded.model, MOST_STATES).unwrap_or_default();
        instances.push((explored, branching));
    }
    Some(Truth { instances })
}

/// Looks at one verdict.
fn judge(what: &str, kind: &PropertyKind, verdict: &Verdict, holds: Option<bool>, case: &Case, fails: bool) {
    match verdict {
        Verdict::Holds => {
            assert!(!fails || is_of_one_run(kind), "a step fails, and yet it holds: {what}");
            // For any number something may be covered with more than were looked at.
            let known = if case.any && is_of_one_run(kind) { None } else { holds };
            assert_ne!(known, Some(false), "it does not hold: {what}");
        }
        Verdict::Violated(violation) => {
            let never = violation.reason == Reason::NeverCovered;
            assert!(!(fails && never), "a step fails, and yet nothing is covered: {what}");
            let known = if case.any { None } else { holds };
            assert_ne!(known, Some(true), "it holds: {what}");
        }
        Verdict::Unknown(StopReason::NotFollowed) => {
            assert!(fails || case.any, "no step fails: {what}");
        }
        Verdict::Unknown(StopReason::Internal(why)) => panic!("{why}: {what}"),
        Verdict::Unknown(_) => {}
    }
}

/// Whether a step fails, if the model was compared.
fn compare(language: usize, bytes: &[u8], one_by_one: bool) -> Option<bool> {
    let case = case(language, bytes);
    let truth = truth(&case)?;
    let loaded = case.load(case.clock, case.any, 2);
    let names: Vec<String> =
        loaded.asked.iter().map(|id| loaded.model.properties[*id].name.clone()).collect();
    let mut asked = vec![Vec::new()];
    if one_by_one {
        asked.extend(names.into_iter().map(|name| vec![name]));
    }
    for options in ways() {
        for properties in &asked {
            let options = CheckOptions { properties: properties.clone(), ..options.clone() };
            let CheckOptions { engine, symmetry, strategy, .. } = &options;
            let report = match check(&loaded, &options, &mut Quiet) {
                Ok(report) => report,
                Err(error) if !error.is_internal() => continue,
                Err(error) => panic!("{error}"),
            };
            for result in &report.outcome.results {
                let property = &loaded.model.properties[result.property];
                let what = format!(
                    "{:?} by {engine:?}, symmetry {symmetry}, {strategy:?}, asked {properties:?}\n{}{}",
                    property.name, case.clock, case.text
                );
                // Where time may pass, a formula is another one.
                let temporal = matches!(property.kind, PropertyKind::Temporal(..)) && !case.clock.is_empty();
                // Asked for alone, that nothing faults is not asked of the conditions of other properties.
                let alone = property.kind == PropertyKind::NoFaults && !properties.is_empty();
                let holds = truth.holds(result.property).filter(|_| !temporal && !alone);
                judge(&what, &property.kind, &result.verdict, holds, &case, truth.fails());
            }
        }
    }
    compared("models with steps that fail");
    Some(truth.fails())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: crate::random::dose(10),
        max_shrink_iters: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_holds_behind_a_step_that_fails(
        language in 0..5_usize,
        bytes in proptest::collection::vec(any::<u8>(), 20..70),
    ) {
        compare(language, &bytes, true);
    }
}

/// The test is of use only if steps fail, and do not, in every language.
#[test]
fn models_in_which_steps_fail_are_worth_checking() {
    for language in 0..5 {
        let (mut fail, mut fine) = (0, 0);
        for seed in 0..24_u64 {
            let mut numbers = crate::random::numbers::Numbers::with_seed(seed + 1);
            let bytes: Vec<u8> = (0..60).map(|_| numbers.below(256) as u8).collect();
            match truth(&case(language, &bytes)) {
                Some(truth) if truth.fails() => fail += 1,
                Some(_) => fine += 1,
                None => {}
            }
        }
        assert!(fail >= 3 && fine >= 3, "dull: language {language}: {fail} fail, {fine} do not");
    }
}

/// A rule asserts what is false on the only way to a state that is bad.
const ONLY_WAY: &str = "const N: 2; type P: scalarset(N);
var s: array [P] of 0..3;
startstate begin for p: P do s[p] := 0; end; end;
ruleset p: P do
  rule \"on\" s[p] = 0 ==> begin s[p] := 1; end;
  rule \"way\" s[p] = 1 ==> begin assert \"fine\" false; s[p] := 2; end;
  rule \"bad\" s[p] = 2 ==> begin s[p] := 3; end;
end;
invariant \"mutex\" forall p: P do s[p] != 3 end;
cover \"bad is seen\" exists p: P do s[p] = 3 end;
ctl \"never\" AG forall p: P do s[p] != 3 end;
";

#[test]
fn a_failure_that_is_not_asked_about_hides_nothing() {
    let case = Case { file: "way.m", text: ONLY_WAY.into(), queries: None, clock: "", any: false };
    for any in [false, true] {
        let loaded = case.load("", any, 2);
        let mut open = 0;
        for options in ways() {
            for name in ["mutex", "bad is seen", "never", "deadlock"] {
                let options = CheckOptions { properties: vec![name.into()], ..options.clone() };
                let Ok(report) = check(&loaded, &options, &mut Quiet) else { continue };
                assert_eq!(report.outcome.results.len(), 1);
                match &report.outcome.results[0].verdict {
                    Verdict::Unknown(StopReason::NotFollowed) => open += 1,
                    Verdict::Unknown(StopReason::Internal(why)) => panic!("{why}"),
                    Verdict::Unknown(_) => {}
                    verdict => panic!("{name} by {:?}, any {any}: {verdict:?}", options.engine),
                }
            }
        }
        assert!(open >= if any { 3 } else { 25 }, "{open}");
    }
}

/// A state has no successors at all where every step fails, however many such states there are in a row.
#[test]
fn many_states_from_which_every_step_fails_are_expanded() {
    let text = "var x: 0..999; d: 1..2;
ruleset a: 0..999 do startstate begin x := a; d := 1; end; end;
rule \"f\" true ==> begin x := 5; d := 0; end;
";
    let case = Case { file: "all.m", text: text.into(), queries: None, clock: "", any: false };
    let report = check(&case.load("", false, 2), &CheckOptions::default(), &mut Quiet).unwrap();
    for result in &report.outcome.results {
        assert!(matches!(result.verdict, Verdict::Violated(_)), "{:?}", result.verdict);
    }
}

/// No run that was seen is fair, but there may be one behind the step that fails: even what has no temporal operator is not known.
#[test]
fn what_is_said_of_fair_runs_is_not_known_behind_a_step_that_fails() {
    let text = "var m: 0..2; b: boolean;
startstate begin m := 0; b := false; end;
rule \"fails\" true ==> begin m := 3; end;
rule \"stays\" true ==> begin m := 0; end;
fairness \"fair\" m = 1;
ltl \"here\" b;
ltl \"next\" next b;
";
    let case = Case { file: "fair.m", text: text.into(), queries: None, clock: "", any: false };
    let loaded = case.load("", false, 2);
    for name in ["here", "next"] {
        let options = CheckOptions { properties: vec![name.into()], ..CheckOptions::default() };
        let report = check(&loaded, &options, &mut Quiet).unwrap();
        let verdict = &report.outcome.results[0].verdict;
        assert!(matches!(verdict, Verdict::Unknown(StopReason::NotFollowed)), "{name}: {verdict:?}");
    }
}

/// A condition that cannot be evaluated is found before the step that fails.
#[test]
fn a_condition_that_faults_does_not_hide_a_step_that_fails() {
    let text = "var x: 0..4; t: array [0..2] of 0..1;
startstate begin x := 0; for i: 0..2 do t[i] := 0; end; end;
rule \"up\" x < 3 ==> begin x := x + 1; end;
rule \"way\" x = 3 ==> begin t[x] := 1; x := 4; end;
invariant \"faults\" t[x + 1] = 0;
invariant \"behind\" x != 4;
invariant \"before\" x <= 3;
";
    for (text, fails) in [(text.to_string(), true), (text.replace("t[x] := 1;", ""), false)] {
        let case = Case { file: "order.m", text, queries: None, clock: "", any: false };
        let loaded = case.load("", false, 2);
        let mut seen = 0;
        for options in ways() {
            let Ok(report) = check(&loaded, &options, &mut Quiet) else { continue };
            for result in &report.outcome.results {
                match (loaded.model.properties[result.property].name.as_str(), &result.verdict) {
                    ("behind", Verdict::Unknown(StopReason::NotFollowed)) if fails => seen += 1,
                    ("behind", Verdict::Violated(_)) if !fails => seen += 1,
                    ("behind", Verdict::Unknown(StopReason::Unsupported(_))) => {}
                    ("behind", verdict) => panic!("{verdict:?} by {:?}", options.engine),
                    _ => {}
                }
            }
        }
        assert!(seen >= 8, "{seen}");
    }
}

/// A start that fails has no trace, and an abstraction no number of elements to show it with.
#[test]
fn a_start_that_fails_is_no_error_for_any_number() {
    let text = "const N: NUMBER; type P: scalarset(N); var s: array [P] of 0..1;
startstate \"fine\" begin for p: P do s[p] := 0; end; end;
startstate \"bad\" begin for p: P do s[p] := 1; end; error \"bad\"; end;
ruleset p: P do rule s[p] = 0 ==> begin s[p] := 1; end; end;
invariant \"given\" forall p: P do s[p] = s[p] end;
";
    let case = Case { file: "start.m", text: text.into(), queries: None, clock: "", any: true };
    let loaded = case.load("", true, 2);
    for engine in [None, Some(EngineKind::Timed)] {
        let options = CheckOptions { engine, ..CheckOptions::default() };
        let report = check(&loaded, &options, &mut Quiet).unwrap();
        for result in &report.outcome.results {
            match &result.verdict {
                Verdict::Unknown(StopReason::Internal(why)) => panic!("{why}"),
                Verdict::Unknown(_) | Verdict::Violated(_) => {}
                Verdict::Holds => panic!("{result:?} by {engine:?}"),
            }
        }
    }
}
