//! Any number of elements, on files as they are: ranges that nothing orders, and values that are stale.

use shoal::{CheckOptions, Deadlock, LoadOptions, Report, check, load_text};
use shoal_model::{Quiet, StopReason, Verdict};

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

/// Constraints are written out for the number of elements in the file; the run that is found has others.
#[test]
fn fairness_to_each_element_is_no_obstacle_to_a_violation() {
    for size in 1..4 {
        let text = format!("const N: {size}; type P: scalarset(N); var z: boolean; a: array [P] of 0..1;
            startstate z := true; for p: P do a[p] := 0 end end;
            ruleset p: P do rule a[p] = 0 ==> a[p] := 1 end; rule a[p] = 1 ==> a[p] := 0 end end;
            invariant \"inv\" !z; invariant \"two\" forall p: P do forall q: P do p = q | a[p] = 0 | a[q] = 0 end end;
            ruleset p: P do fairness \"fair\" a[p] = 1 end;
            ltl \"each\" forall p: P do [] <> a[p] = 1 end;");
        let report = decide(&text, "N");
        for name in ["inv", "two"] {
            assert!(matches!(verdict(&report, &text, name), Verdict::Violated(_)), "{size}: {name}");
        }
        // It holds of every number, which nobody proves.
        assert!(matches!(verdict(&report, &text, "each"), Verdict::Unknown(_)), "{size}");
    }
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

/// What nothing reads is left out: the loop that keeps its last element there breaks no symmetry, and freedom from deadlock is decided.
/// Where something reads it, it is kept.
#[test]
fn what_nothing_reads_is_left_out() {
    let text = "const N: 3; type P: scalarset(N); sta: record has: array [P] of boolean; last: P; end;
var s: sta;
startstate for p: P do s.has[p] := false; end; end;
ruleset p: P do
  rule \"swap\" true ==> var next: sta; begin next := s; next.has[p] := !s.has[p];
    for q: P do if s.has[q] then next.last := q; end; end; s := next; end;
end;
invariant \"some\" forall p: P do s.has[p] | !s.has[p] end;
";
    let decided = |text: &str, name: &str| {
        let options = LoadOptions { any: vec!["N".into()], ..LoadOptions::default() };
        let loaded = load_text("model.m", text, &options).unwrap();
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        verdict(&report, text, name).clone()
    };
    for name in ["some", "no run-time errors", "deadlock"] {
        assert!(matches!(decided(text, name), Verdict::Holds), "{name}: {:?}", decided(text, name));
    }
    let read = format!("{text}invariant \"last\" isundefined(s.last) | s.has[s.last] | true;\n");
    assert!(!matches!(decided(&read, "deadlock"), Verdict::Holds));
}

/// Who is either a node or the home has any number of values as well.
/// A step that changes nothing but a stale value is none of the model in which such values are reset, but it is one of the model.
#[test]
fn a_step_that_changes_a_stale_value_is_no_deadlock() {
    let text = "const N: 3; type P: scalarset(N);
var n: 0..2; k: 0..1; s: array [P] of boolean;
startstate n := 0; k := 0; for z: P do s[z] := false; end; end;
rule \"one\" true ==> n := 2; end;
rule \"other\" k = 1 ==> n := 1; end;
";
    let ask = |text: &str| {
        let options = LoadOptions { any: vec!["N".into()], ..LoadOptions::default() };
        let loaded = load_text("model.m", text, &options).unwrap();
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        verdict(&report, text, "deadlock").clone()
    };
    let Verdict::Violated(violation) = ask(text) else { panic!("{:?}", ask(text)) };
    assert_eq!(violation.trace.unwrap().steps.len(), 1);
    let goes_on = ask(&format!("{text}rule \"back\" true ==> n := 1; end;\n"));
    let internal = matches!(goes_on, Verdict::Unknown(StopReason::Internal(_)));
    assert!(!internal && !matches!(goes_on, Verdict::Violated(_)), "{goes_on:?}");
}

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

/// Processes that take a lock; nothing asks which of them is which.
const SPIN_LOCK: &str = "#define N 3
bool lock = false; byte inside = 0;
active [N] proctype P() {
    do :: atomic { !lock -> lock = true }; inside++; assert(inside == 1); inside--; lock = false od
}";

fn load_processes(text: &str) -> Result<shoal::Loaded, shoal::Error> {
    load_text("model.pml", text, &LoadOptions { any: vec!["N".into()], ..LoadOptions::default() })
}

#[test]
fn any_number_of_promela_processes() {
    let loaded = load_processes(SPIN_LOCK).unwrap_or_else(|error| panic!("{error}"));
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    let (deadlock, others): (Vec<_>, Vec<_>) = report.outcome.results.iter().partition(|result| {
        matches!(loaded.model.properties[result.property].kind, shoal_model::PropertyKind::Deadlock(_))
    });
    assert!(others.len() >= 2 && others.iter().all(|result| matches!(result.verdict, Verdict::Holds)));
    // It is asked as of every model, and not said to be violated.
    assert!(deadlock.len() == 1 && !matches!(deadlock[0].verdict, Verdict::Violated(_)));
    // Without the bit being set, two are inside.
    let wrong = SPIN_LOCK.replace("lock = true }", "skip }");
    let loaded = load_processes(&wrong).unwrap_or_else(|error| panic!("{error}"));
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    assert!(report.outcome.results.iter().any(|result| matches!(result.verdict, Verdict::Violated(_))));
}

/// Whatever depends on how many processes there are, or on their numbers, is refused.
#[test]
fn numbers_of_promela_processes_are_refused() {
    for (what, by) in [
        ("bool lock = false;", "bool lock = false; byte most = N;"),
        ("bool lock = false;", "bool lock = false; byte flag[N];"),
        ("bool lock = false;", "#if N > 10\nbool lock = true;\n#else\nbool lock = false;\n#endif\n"),
        ("od\n", "od;\n break_out: skip\n"),
        ("!lock -> lock = true", "!lock && _nr_pr == 3 -> lock = true"),
    ] {
        let text = SPIN_LOCK.replace(what, by);
        assert_ne!(text, SPIN_LOCK);
        let Ok(loaded) = load_processes(&text) else { continue };
        // What is not refused has the same meaning for every number.
        assert!(what.starts_with("od"), "{by} is not refused");
        assert!(loaded.model.sorts.iter().any(|sort| sort.size == shoal_model::SortSize::Any));
    }
    // Who asks for its number is told apart.
    let text = SPIN_LOCK.replace("!lock -> lock = true", "!lock && _pid < 2 -> lock = true");
    if let Ok(loaded) = load_processes(&text) {
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        let proved = |result: &shoal_model::PropertyResult| matches!(result.verdict, Verdict::Holds);
        assert!(!report.outcome.results.iter().all(proved), "processes with numbers are interchanged");
    }
}

/// A count and a multiset whose bounds move apart with the number of clients, and an invariant that denies `exists`.
const BOUNDS: &str = "const N: 3; type client: scalarset(N);
    var t: -N..N; pool: multiset [N] of client; at: array [client] of boolean;
    startstate t := 0; for c: client do at[c] := false end end;
    ruleset c: client do
      rule \"in\" t = 0 & !at[c] ==> t := t + 1; at[c] := true; multisetadd(c, pool) end;
      rule \"out\" at[c] ==> t := t - 1; at[c] := false; multisetremovepred(i: pool, pool[i] = c) end;
    end;
    invariant \"few\" t >= 0;
    invariant \"alone\" !exists c: client do exists d: client do c != d & at[c] & at[d] end end;";

#[test]
fn bounds_that_move_apart_are_never_reached_or_end_the_proof() {
    let report = decide(BOUNDS, "N");
    for name in ["few", "alone", "no run-time errors"] {
        let verdict = verdict(&report, BOUNDS, name);
        assert!(matches!(verdict, Verdict::Holds), "{name}: {verdict:?}");
    }
    // Whoever comes is counted: the count grows with the number of clients.
    let text = BOUNDS.replace("t = 0 & !at[c]", "!at[c]");
    let report = decide(&text, "N");
    assert!(matches!(verdict(&report, &text, "alone"), Verdict::Violated(_)));
    assert!(matches!(verdict(&report, &text, "few"), Verdict::Unknown(_)));
    // The least value depends on the number.
    let text = BOUNDS.replace("startstate t := 0", "startstate clear t");
    let options = LoadOptions { any: vec!["N".into()], ..LoadOptions::default() };
    let error = load_text("model.m", &text, &options).expect_err("its start depends on N");
    assert!(format!("{error:?}").contains("E0218"), "{error:?}");
}

/// A token goes to the last of those that wait: whoever that is, nobody else has it.
const LAST: &str = "const N: 3; type client: scalarset(N);
    var at: array [client] of enum { idle, waits, has }; next: client; free: boolean;
    startstate for c: client do at[c] := idle; next := c end; free := true end;
    ruleset c: client do
      rule \"ask\" at[c] = idle ==> at[c] := waits end;
      rule \"grant\" at[c] = waits & free ==>
        for d: client do if at[d] = waits then next := d end end;
        if at[next] = waits then at[next] := has; free := false end end;
      rule \"give back\" at[c] = has ==> at[c] := idle; free := true end;
    end;
    invariant \"alone\" forall c: client do forall d: client do c != d -> !(at[c] = has & at[d] = has) end end;
    invariant \"never the first\" forall c: client do at[c] = has -> c = next end;
    invariant \"nobody\" forall c: client do at[c] != has end;";

#[test]
fn a_loop_that_keeps_its_last_element_may_keep_any() {
    let report = decide(LAST, "N");
    for name in ["alone", "never the first", "no run-time errors"] {
        let verdict = verdict(&report, LAST, name);
        assert!(matches!(verdict, Verdict::Holds), "{name}: {verdict:?}");
    }
    assert!(matches!(verdict(&report, LAST, "nobody"), Verdict::Violated(_)));
}

/// What a round reads that another has written is not left to chance: here the element before is counted on.
#[test]
fn a_loop_that_reads_what_it_keeps_is_left_alone() {
    let text = LAST.replace("then next := d end end;", "& d != next then next := d end end;");
    let report = decide(&text, "N");
    let verdict = verdict(&report, &text, "alone");
    assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
}

/// Four places that values are put into, one after the other.
const VALUES: &str = "const N: 2; type value: scalarset(N); place: 1..4;
    var held: array [place] of value; last: place;
    startstate last := 1; undefine held end;
    ruleset v: value do rule \"put\" true ==> held[last] := v; last := last % 4 + 1 end end;
    invariant \"two alike\" (exists p: place do isundefined(held[p]) end) |
      exists p: place do exists q: place do p != q & held[p] = held[q] end end;
    invariant \"some place is last\" last < 5;";

/// Only with four values all places can differ, and with five, one for each place and one to put, more do nothing else.
#[test]
fn one_instance_shows_what_any_number_of_values_does() {
    let report = decide(VALUES, "value");
    assert!(matches!(verdict(&report, VALUES, "two alike"), Verdict::Violated(_)));
    let note = |report: &Report| report.proved.iter().filter_map(|it| it.note.clone()).collect::<Vec<_>>();
    assert!(
        note(&report).iter().any(|note| note.contains("N = 4") || note.contains("value = 4")),
        "{:?}",
        note(&report)
    );
    let text = VALUES.replace("(exists p: place do isundefined", "true | (exists p: place do isundefined");
    let report = decide(&text, "value");
    for name in ["two alike", "some place is last", "no run-time errors"] {
        let verdict = verdict(&report, &text, name);
        assert!(matches!(verdict, Verdict::Holds), "{name}: {verdict:?}");
    }
}
