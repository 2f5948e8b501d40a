//! Promela end to end: counts of SPIN, agreement with the reference interpreter, bounds, and what goes wrong.

use std::{
    fs,
    path::{Path, PathBuf},
};

use shoal::{
    CheckOptions, Deadlock, Error, LoadOptions, PromelaOptions, Report, Status, Strategy, check, load,
    load_text,
};
use shoal_interpret::explore;
use shoal_model::{Quiet, StopReason, Verdict};

/// Small models and how many states SPIN stores for them (`spin -o1 -o2 -o3 -a`, `gcc -DNOREDUCE -DSAFETY`, `pan -E`).
const COUNTED: &[(&str, u64)] = &[
    // Who has a higher priority and can move, moves, also in the middle of an atomic sequence.
    (
        "byte x, y; active [2] proctype Low() { x++; y++; x-- }
         active proctype High() priority 3 { x == 2 -> y = 9; (y > 9) }",
        52,
    ),
    (
        "byte x; proctype A(byte n) { x = n; x = n + 1 }
         init { atomic { run A(1) priority 2; run A(3) priority 5; run A(5) }; x = 9 }",
        22,
    ),
    (
        "byte x, y;
         active proctype A() priority 5 { set_priority(1, 8); x = _priority; _priority = 1; y = get_priority(1); x = 3 }
         active proctype B() priority 2 { x++; x++; _priority--; y = get_priority(7); set_priority(_pid, 2); x = 5 }",
        14,
    ),
    (
        "byte x, y; active proctype A() { do :: x < 3 -> x++ :: timeout -> y = 1; break od }
         active proctype B() priority 2 { x == 2 -> y = 2; timeout; y = 3 }
         active proctype C() priority 3 provided (y < 2) { (x > 0) -> x = 2; y == 1 }",
        17,
    ),
    // Whether another process could move.
    (
        "byte x, y; active proctype A() { x = 1; (y == 1); x = 2 } active proctype B() { x == 1; y = 1; x == 3 }
         active proctype E() { !enabled(0) -> y = y + 2; enabled(1); x = enabled(0) + 2 * enabled(7) }",
        40,
    ),
    // SPIN's numbers of locations: what is inside of a statement comes before it.
    (
        "byte x, s; active proctype A() {
             x = 1; if :: else -> skip :: x == 1 -> x = 2 fi; do :: x < 3 -> x++ :: x == 3 -> break od;
             atomic { x = 4; x = 5 }; d_step { x = 6; x = 7 }; { x = 8 }; for (x : 1 .. 2) { skip }; end: goto away; skip; away: x = 9 }
         active proctype B() { do :: s = (s * 3 + pc_value(0)) % 13 :: s == 5 -> break od }",
        285,
    ),
    // An order of messages that is kept.
    (
        "chan a = [2] of { byte, bit }; chan b = [1] of { byte }; byte x;
         trace { do :: a!1,_ :: a!2,1 -> break od; end: do :: a!_,0 :: b?7 od }
         active proctype A() { a!1,0; a!2,1; b!7; a!9,0 }
         active proctype B() { bit z; end: do :: a?x,z :: b?7 od }",
        18,
    ),
    // A variable that never holds a channel, and is not used.
    (
        "chan c; chan d = [1] of { byte }; byte x;
         active proctype A() { x = 1; if :: x == 2 -> c?x :: else -> d!1 fi }",
        5,
    ),
    // Atomic sequences with choice, and one that blocks in its middle.
    ("byte x; active [2] proctype P() { atomic { x==0 -> x=1; if :: x=2 :: x=3 fi; x==3; x = 0 } }", 12),
    // Jumps between atomic sequences, and out of them.
    (
        "chan c = [1] of {byte}; byte n, m, x;
         active proctype R() { c!0;
         I: do :: atomic { c?m -> x = 1; advance: x = 2; n = n+1; if :: c!1; goto E :: c!2; goto E fi }
               :: x == 99 -> skip od;
         E: do :: atomic { c?m -> if :: m+1 == n -> x = 5; goto I :: m == n -> goto advance fi }
               :: n > 2 -> break od }",
        16,
    ),
    // Blocks at the end of an atomic sequence: the next sequence is another step.
    (
        "byte x, y; active proctype P() { atomic { if :: x == 0 -> { y = 1 } :: else -> { goto l } fi };
         d_step { x = 1; y = 2 }; atomic { if :: x == 1 -> { x = 2; y = 1 } :: else -> { skip } fi }; x = 3; l: skip }",
        7,
    ),
    // Channels that a typedef declares, in arrays of arrays.
    (
        "typedef Lines { byte n; chan to[2] = [1] of { byte } }; Lines from[2]; byte x;
         active [2] proctype P() { byte me = _pid; from[1 - me].to[me]!me + 1; from[me].to[1 - me]?x; from[me].n = x }",
        32,
    ),
    // A record as a parameter.
    (
        "typedef Pair { byte a; byte b }; byte x; proctype P(byte n; Pair p) { x = p.a; x = p.b + n }
         init { Pair q; q.b = 3; run P(1, q); q.a = 7 }",
        11,
    ),
    // A counted loop that makes processes, which go in the reverse order.
    (
        "proctype m(byte p; byte q) { skip }
         init { byte i; atomic { for (i : 0 .. 3) { run m(i, (i * 3 + 1) % 5) } } }",
        33,
    ),
    // Jumps lead to the label of their own expansion of an inline, however far it is.
    (
        "byte n, m; inline f(v) { if :: v == 0 -> goto out :: else -> skip fi;
         m = 1; m = 2; m = 3; m = 4; m = 5; m = 6; m = 7; m = 8; out: n++ }
         active proctype P() { f(0); f(n); f(0); m = 9 }",
        18,
    ),
    // An inline in an inline with the same label: SPIN takes the name to be that of the outer one.
    (
        "byte n, m; inline f() { if :: n == 0 -> goto out :: else fi; m = 1; out: n++ }
         inline g() { if :: n == 5 -> goto out :: else fi; f(); m = 2; out: n = n + 2 }
         active proctype P() { g(); g() }",
        11,
    ),
    // `else` of an `if` at the beginning of an option looks at the options before it only.
    (
        "byte x = 1, y; active proctype P() { do :: if :: x == 0 -> y = 1 :: else -> y = 2 fi :: x = 2 -> break od }",
        8,
    ),
    // What escapes from around an `unless` is stronger than its own escape, and escapes from that too.
    (
        "byte x, y; active proctype A() { { { x = 1; y = 1 } unless { y = 2 }; x = 2 } unless { x == 5 } }
         active proctype B() { x = 5 }",
        13,
    ),
    // While a message is handed over, only what can take it escapes from the receive; and that comes first.
    (
        "chan a = [0] of { byte }; byte x; active proctype R() { end: { a?1 } unless { x == 0 -> x = 2 } }
         active proctype S() { end: a!1; x = x + 3 }",
        7,
    ),
    (
        "chan a = [0] of { byte }; byte x; active proctype R() { { a?_; x = 1 } unless { a?_; x = 2 } }
         active proctype S() { a!1; (x > 0); assert(x == 2) }",
        7,
    ),
    (
        "chan a = [0] of { byte }; chan b = [1] of { byte }; byte x;
         active proctype R() { { a?1; x = 1 } unless { if :: a?2; x = 2 :: b?_; x = 3 :: d_step { a?3; x = 4 } fi } }
         active proctype S() { if :: a!1 :: a!2 :: a!3 :: b!1; a!1 fi; x = x + 5 }",
        41,
    ),
    // Who is younger than the maker may have gone before it makes others, and then numbers are others.
    (
        "byte x; proctype W() { x = _pid } init { atomic { run W(); run W() }; x = _pid }
         active proctype A() { x = 4 }",
        103,
    ),
    // In an inline, SPIN chooses from a range step by step.
    ("byte x; inline any() { select(x : 0 .. 1) } active proctype A() { x = 1; any(); x = 2 }", 9),
    // Everywhere else it is one step only as its lexer sees it: a name without `_`, two numbers, one line, at most 33 values.
    ("byte x; active proctype A() { select ( x:0..3 ); skip }", 13),
    ("byte x_; active proctype A() { select(x_ : 1 .. 3); x_ = 7 }", 11),
    ("int x; active proctype A() { select(x : -2 .. 1); x = 7 }", 14),
    ("int x; active proctype A() { select(x : (0) .. 3) }", 16),
    ("int x; active proctype A() { select(x :\n 0 .. 3); skip }", 20),
    ("int x; active proctype A() { select(x : 0 .. 3\n); skip }", 20),
    ("mtype = { red, green, blue }; mtype m; active proctype A() { select(m : blue .. red); skip }", 15),
    ("#define L 3\n#define ANY(a) select(a : 0 .. L)\nint x; active proctype A() { ANY(x); skip }", 13),
    ("int x; active proctype A() { select(x : 1 .. 33) }", 67),
    // Atomic sequences that hand over to each other, again and again.
    (
        "chan a = [0] of { byte }; active proctype P() { atomic { a!1; a?2; a!3 } }
         active proctype Q() { atomic { a?1; a!2; a?3 } }",
        4,
    ),
    // A process is one of those that it counts when its variables get their first values.
    (
        "proctype R(byte a) { byte y = a + 1; byte n = _nr_pr; assert(y == 4 && n == 2) }
         active proctype P() { byte x = _nr_pr; assert(x == 1); run R(3) }",
        6,
    ),
    // Peterson's lock.
    (
        "bool wants[2]; byte turn, inside;
         active [2] proctype user() { byte other = 1 - _pid;
         again: wants[_pid] = true; turn = _pid; (!wants[other] || turn == other); inside++;
         critical: assert(inside == 1); inside--; wants[_pid] = false; goto again }",
        38,
    ),
];

fn states(report: &Report) -> u64 {
    report.outcome.statistics.states
}

/// Checks with all orders of steps.
fn run(loaded: &shoal::Loaded) -> Report {
    check(loaded, &all_orders(), &mut Quiet).unwrap()
}

fn all_orders() -> CheckOptions {
    CheckOptions { strategy: Strategy::default(), ..CheckOptions::default() }
}

#[test]
fn states_are_those_of_spin_and_of_the_interpreter() {
    for (text, count) in COUNTED {
        let options = LoadOptions { deadlock: Deadlock::Off, ..LoadOptions::default() };
        let loaded =
            load_text("model.pml", *text, &options).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(states(&run(&loaded)), *count, "{text}");
        let reference = explore(&loaded.model, 10_000).unwrap();
        assert_eq!(reference.states as u64, *count, "{text}");
    }
}

#[test]
fn a_bound_that_is_reached_is_no_verdict() {
    let text = "proctype P(byte n) { if :: n > 0 -> run P(n - 1) :: else fi } init { run P(5) }";
    for (processes, status) in [(3, Status::Unknown), (8, Status::Holds)] {
        let promela = PromelaOptions { processes, ..PromelaOptions::default() };
        let loaded =
            load_text("spawn.pml", text, &LoadOptions { promela, ..LoadOptions::default() }).unwrap();
        let report = run(&loaded);
        assert_eq!(report.status(), status);
        let bound = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Bound(_)));
        let all = report.outcome.results.iter().all(|result| bound(&result.verdict));
        assert_eq!(all, status == Status::Unknown);
    }
}

/// What SPIN calls an error when it comes there, by the property that is violated.
const WRONG: &[(&str, &str)] = &[
    (
        "chan c = [1] of { chan }; chan k; proctype A() { chan l = [2] of { byte }; c!l }
         init { run A(); c?k; (_nr_pr == 1); k!1 }",
        "channels that are used exist",
    ),
    (
        "chan c = [1] of { chan }; chan k; proctype A() { chan l = [0] of { byte }; c!l }
         active proctype B() { c?k; (_nr_pr == 1); k!1 } init { run A() }",
        "channels that are used exist",
    ),
    (
        "chan r = [0] of { byte }; chan k; active proctype A() { if :: len(r) > 5 -> k = r :: else fi; k!1 }
         active proctype B() { r?1 }",
        "channels that are used exist",
    ),
    (
        "chan r = [0] of { byte }; active proctype A() { if :: r?[1] :: else fi } active proctype B() { r!1 }",
        "no rendezvous channel is polled",
    ),
    (
        "byte x; active D_proctype P() { if :: x == 0 -> x = 1 :: x < 2 -> x = 2 fi }",
        "D_proctype is deterministic",
    ),
    (
        "chan c = [0] of { byte }; byte x; active proctype S() { c!1 }
         active D_proctype P() { if :: c?1 -> x = 1 :: c?x -> x = 2 fi }",
        "D_proctype is deterministic",
    ),
    // One conjunct is false and the other faults.
    (
        "byte s[2]; active proctype u() { do :: s[0] = 1 :: s[0] = 0 od } ltl p { <>(s[0] == 1) && <>(s[2] == 1) }",
        "p",
    ),
    (
        "byte s[2]; active proctype u() { do :: s[0] = 1 :: s[0] = 0 od } ltl p { [](s[0] < 2 -> <>(s[2] == 1)) }",
        "p",
    ),
];

#[test]
fn what_is_an_error_in_spin_is_a_violation() {
    for (text, property) in WRONG {
        for options in [all_orders(), CheckOptions::default()] {
            let loaded = load_text("wrong.pml", *text, &LoadOptions::default())
                .unwrap_or_else(|error| panic!("{text}: {error}"));
            let report =
                check(&loaded, &options, &mut Quiet).unwrap_or_else(|error| panic!("{text}: {error}"));
            let violated = |name: &str| {
                report.outcome.results.iter().any(|result| {
                    loaded.model.properties[result.property].name == name
                        && matches!(result.verdict, Verdict::Violated(_))
                })
            };
            assert!(violated(property), "{text}");
        }
    }
}

/// Who has been slow takes a node that was given again for the one it knew.
#[test]
fn what_was_deleted_is_not_compared_and_may_be_given_again() {
    let text = "typedef N { byte v; N &next } N &top = new N; bit go, over;
        active proctype Slow() { N &t, &n; t = top; n = t.next; go = 1; over == 1;
            atomic { if :: top == t -> assert(n == t.next) :: else fi } }
        active proctype Fast() { N &x, &y; go == 1; x = top; top = x.next; delete x; x = null;
            y = new N; y.next = new N; top = y; y = null; over = 1 }";
    for (reuse, wrong) in [(false, "no pointer to a deleted object is compared"), (true, "assertions")] {
        let promela = PromelaOptions { reuse, dynamic: true, ..PromelaOptions::default() };
        let options = LoadOptions { promela, ..LoadOptions::default() };
        let loaded = load_text("aba.dpml", text, &options).unwrap_or_else(|error| panic!("{error}"));
        let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        let results = report.outcome.results.iter();
        let violated: Vec<&str> = results
            .filter(|result| matches!(result.verdict, Verdict::Violated(_)))
            .map(|result| loaded.model.properties[result.property].name.as_str())
            .collect();
        assert_eq!(violated, [wrong]);
    }
}

/// All orders are as many states as SPIN has with -DNOREDUCE.
#[test]
fn few_orders_are_enough() {
    for (text, all, few) in [
        // Nobody else touches what either does.
        ("active [3] proctype P() { byte i; do :: i < 4 -> i++ :: else -> break od }", 1_111, 31),
        // Each channel has one reader and one writer.
        (
            "chan a = [2] of { byte }; chan b = [2] of { byte };
             proctype N(chan in, out) { byte x; out!1; do :: in?x -> out!x od }
             init { atomic { run N(a, b); run N(b, a) } }",
            17,
            14,
        ),
        // A loop of steps that may go first does not put off the others for ever.
        (
            "active [2] proctype A() { byte l; do :: l = 0 :: { false } unless { assert(l != 0) } od }
             active proctype B() { byte l; do :: l = 0; l = 0 od }",
            2,
            2,
        ),
    ] {
        let loaded = load_text("few.pml", text, &LoadOptions::default()).unwrap();
        let (full, reduced) = (run(&loaded), check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap());
        assert_eq!(full.status(), reduced.status(), "{text}");
        assert_eq!(states(&full), all, "{text}");
        assert!(states(&reduced) <= few, "{}: {text}", states(&reduced));
    }
}

#[test]
fn claims_and_formulas_agree() {
    let process = "byte x; active proctype P() { do :: x < 3 -> x++ :: x == 3 -> x = 0 od }";
    for (claim, status) in [
        ("never { do :: x == 2 -> break :: else od }", Status::Violated),
        ("never { do :: x == 7 -> break :: else od }", Status::Holds),
        ("never { do :: true :: x != 2 -> goto accept od; accept: do :: x != 2 od }", Status::Holds),
        ("ltl { [] (x != 2) }", Status::Violated),
        ("ltl { [] <> (x == 2) }", Status::Holds),
        ("ltl { <> [] (x != 2) }", Status::Violated),
        ("ltl { (x == 0) U (x == 1) }", Status::Holds),
    ] {
        let loaded = load_text("claim.pml", format!("{process}\n{claim}"), &LoadOptions::default()).unwrap();
        assert_eq!(run(&loaded).status(), status, "{claim}");
    }
}

/// What `pan -a` and `pan -a -f` say.
#[test]
fn weak_fairness_is_that_of_spin() {
    use Status::{Holds, Violated};
    for (text, any, fair) in [
        // Who can always move does.
        (
            "byte x, y; active proctype A() { do :: x = 1 - x od } active proctype B() { y = 1 }
             ltl p { <> (y == 1) }",
            Violated,
            Holds,
        ),
        // Who can move now and then need not.
        (
            "byte s = 1, in; active [2] proctype P()
             { do :: atomic { s > 0 -> s-- }; if :: _pid == 0 -> in = 1 :: else fi; s++ od }
             ltl p { <> (in == 1) }",
            Violated,
            Violated,
        ),
        // A rendezvous is a step of the sender's.
        (
            "chan c = [0] of { byte }; byte got; active proctype S() { do :: c!1 od }
             active proctype R1() { byte v; do :: c?v od } active proctype R2() { byte v; c?v; got = 1 }
             ltl p { <> (got == 1) }",
            Violated,
            Violated,
        ),
        // Whoever takes part in one has moved.
        (
            "chan c = [0] of { byte }; byte got; active proctype S() { do :: c!1 od }
             active proctype R() { byte v; do :: c?v :: got = 1 od }
             ltl p { <> (got == 1) }",
            Violated,
            Violated,
        ),
        // Nothing is put off where nothing can happen.
        ("byte x; active proctype P() { x = 1 } ltl p { [] <> (x == 0) }", Violated, Violated),
        // A timeout is a step of whoever waits for it.
        (
            "byte x, y; active proctype A() { do :: timeout -> x = 1 - x od }
             active proctype B() { do :: timeout -> y = 1 od } ltl p { <> (y == 1) }",
            Violated,
            Violated,
        ),
        // Several processes, each to be fair to.
        (
            "byte x[3]; active [3] proctype P() { do :: x[_pid] = 1 - x[_pid] od }
             ltl p { []<> (x[0] == 1) && []<> (x[1] == 1) && []<> (x[2] == 0) }",
            Violated,
            Holds,
        ),
    ] {
        for (weak_fairness, status) in [(false, any), (true, fair)] {
            let promela = PromelaOptions { weak_fairness, ..PromelaOptions::default() };
            let options = LoadOptions { promela, deadlock: Deadlock::Off, ..LoadOptions::default() };
            let loaded = load_text("fair.pml", text, &options).unwrap();
            let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
            assert_eq!(report.status(), status, "{weak_fairness}: {text}");
        }
    }
}

/// What `pan -l` and `pan -a` say, without and with `-f`.
#[test]
fn labels_under_weak_fairness_are_those_of_spin() {
    use Status::{Holds, Violated};
    let other = "byte x, y; active proctype A() { do :: x = 1 - x od }";
    for (text, any, fair) in [
        ("active proctype B() { do :: y = 1; progress: y = 0 od }", Violated, Holds),
        ("active proctype B() { progress: y = 1; do :: y = 1 - y od }", Violated, Violated),
        (
            "active proctype B() { do :: y == 0 -> accept: skip od } active proctype C() { y = 1 }",
            Violated,
            Holds,
        ),
        (
            "active proctype B() { do :: y < 2 -> accept: skip od } active proctype C() { y = 1 }",
            Violated,
            Violated,
        ),
    ] {
        for (weak_fairness, status) in [(false, any), (true, fair)] {
            let progress = text.contains("progress");
            let promela = PromelaOptions {
                weak_fairness,
                progress,
                acceptance: !progress,
                ..PromelaOptions::default()
            };
            let options = LoadOptions { promela, deadlock: Deadlock::Off, ..LoadOptions::default() };
            let loaded = load_text("labels.pml", format!("{other} {text}"), &options).unwrap();
            let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
            assert_eq!(report.status(), status, "{weak_fairness}: {text}");
        }
    }
}

/// States do not show a label that is passed in the middle of an atomic sequence, where SPIN sees it, or before an option, where SPIN
/// takes none: nothing is said then.
#[test]
fn labels_that_no_state_shows_are_not_overlooked() {
    for (body, status) in [
        ("atomic { y = 1; accept: y = 0 }", Status::Unknown),
        ("atomic { y = 1; if :: y == 1 -> accept: (y == 1) :: else fi; y = 0 }", Status::Unknown),
        ("accept: y = 1", Status::Unknown),
        ("y = 1; accept: atomic { y = 1; y = 0 }", Status::Violated),
        ("atomic { y = 1; y = 0 }", Status::Holds),
    ] {
        let promela = PromelaOptions { acceptance: true, ..PromelaOptions::default() };
        let options = LoadOptions { promela, deadlock: Deadlock::Off, ..LoadOptions::default() };
        let text = format!("byte y; active proctype B() {{ do :: {body} od }}");
        let loaded = load_text("hidden.pml", text, &options).unwrap();
        assert_eq!(run(&loaded).status(), status, "{body}");
    }
}

/// Who promises what is not so would have merging leave out runs.
#[test]
fn broken_promises_are_violations() {
    let text = |promise: &str| {
        format!(
            "chan c = [1] of {{ byte }}; active proctype S() {{ c!1; c!2 }}
             active proctype R() {{ {promise} byte v; c?v; v = 0 }} active proctype Q() {{ byte v; c?v }}"
        )
    };
    for (promise, merge, status) in [
        ("xr c;", true, Status::Violated),
        ("xr c;", false, Status::Holds),
        ("xs c;", true, Status::Violated),
        ("", true, Status::Holds),
    ] {
        let promela = PromelaOptions { merge, ..PromelaOptions::default() };
        let options = LoadOptions { promela, deadlock: Deadlock::Off, ..LoadOptions::default() };
        let loaded = load_text("promise.pml", text(promise), &options).unwrap();
        assert_eq!(run(&loaded).status(), status, "{promise} {merge}");
        let few = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        assert_eq!(few.status(), status, "{promise} {merge}, not all orders");
    }
}

/// States of `spin -o1 -o2 -a`, with merging, compiled with -DNOREDUCE -DSAFETY.
#[test]
fn merged_steps_are_those_of_spin() {
    for (text, count) in [
        // Who can escape from an option escapes from all, from the last option first.
        ("byte x; active proctype P() { do :: { x == 5 } unless { x = 1 } :: x = 2 -> break od; x = 3 }", 2),
        ("byte x; active proctype P() { if :: { x == 5 } unless { x = 1 } :: x = 2 fi; x = 3 }", 4),
        (
            "byte x; active proctype P() { do :: x = 2 -> break :: { x == 5; x = 6 } unless { x == 0; x = 1 } :: x = 4 -> break od; x = 3 }",
            7,
        ),
        (
            "byte x; active proctype P() { if :: { x == 5 } unless { x = 1 } :: { x == 6 } unless { x == 9; x = 2 } :: x = 3 fi }",
            3,
        ),
        (
            "byte x; active proctype P() { { if :: { x == 5 } unless { x = 1 } :: { x == 6 } unless { x = 2 } :: x = 3 fi } unless { x == 7 } }",
            3,
        ),
        (
            "byte x; active proctype P() { if :: { x == 6 } unless { if :: x = 1 :: x = 2 fi } :: x = 3 fi }",
            5,
        ),
        // A loop in a loop.
        (
            "init { byte i; byte x; x = 1;
               for (i : 0 .. 2) { short j; for (j : 0 .. 3) { assert(0 == 0); printf(\"a\") } }
               x = 2; printf(\"b\"); x = 3 }",
            26,
        ),
        // Atomic sequences with what follows them, and an `else` that begins nothing.
        (
            "byte g; chan c = [1] of { byte };
             active [2] proctype P() { byte x; byte y;
               do :: atomic { g < 3 -> g++; x = g; c!x }; y = x; x = 0; printf(\"a\")
                  :: atomic { c?y -> x = y }; x++; y = 0
                  :: else -> x = 0; y = x; break
               od;
               (x == 0); y = 1; assert(y == 1); g = g }",
            299,
        ),
        // Channels that others have promised not to use.
        (
            "chan q = [2] of { byte };
             active proctype S() { xs q; byte i, k;
               do :: i < 3 -> q!i; k = i; i = i + 1 :: else -> break od; k = 0; i = 0 }
             active proctype R() { xr q; byte v, w;
               do :: q?v; w = v; v = 0 :: nempty(q) -> w = 3; v = 1 od }",
            33,
        ),
    ] {
        let promela = PromelaOptions { merge: true, ..PromelaOptions::default() };
        let options = LoadOptions { promela, deadlock: Deadlock::Off, ..LoadOptions::default() };
        let loaded = load_text("merge.pml", text, &options).unwrap();
        assert_eq!(states(&run(&loaded)), count, "{text}");
        assert_eq!(explore(&loaded.model, 10_000).unwrap().states as u64, count, "{text}");
    }
}

/// A pointer is compared and followed, and nothing else.
#[test]
fn pointers_are_no_numbers() {
    let head =
        "typedef N { byte k; N &next } N &a = new N; chan c = [1] of { N & }; byte x; active proctype P() {";
    for wrong in ["a", "a + 1 > 0", "x = a", "!a", "(x -> a : x) == 1", "c?eval(x)", "c!!a", "c!7", "x = P:b"]
    {
        let text = format!("{head} N &b; {wrong} }}");
        let options = LoadOptions {
            promela: PromelaOptions { dynamic: true, ..PromelaOptions::default() },
            ..LoadOptions::default()
        };
        let Err(Error::Source(rejected)) = load_text("wrong.dpml", &*text, &options) else {
            panic!("{wrong} is accepted");
        };
        let codes: Vec<&str> = rejected.diagnostics.iter().map(|found| found.code.0).collect();
        assert!(codes.contains(&"E0624"), "{wrong}: {codes:?}");
    }
}

#[test]
fn mistakes_are_named() {
    for (text, code) in [
        ("init { y = 1 }", "E0620"),
        ("byte x; init { x = }", "E0610"),
        ("init { goto nowhere }", "E0626"),
        ("init { break }", "E0612"),
        ("proctype P() { skip }", "E0632"),
        ("init { c_code { x } }", "E0630"),
        ("chan c = [0] of { byte }; trace { c!1 } init { c!1 }", "E0630"),
        ("chan c = [2] of { byte }; trace { c!1 } init { c!!1 }", "E0630"),
        ("notrace { skip } init { skip }", "E0612"),
        ("chan c = [0] of { byte }; init { c!1 } active proctype P() priority 2 { c?1 }", "E0630"),
        ("active [2] proctype P() { enabled(1 - _pid) }", "E0630"),
        ("byte x; active proctype P() { atomic { x = 1; x = pc_value(0) } }", "E0630"),
        ("byte x; active proctype P() { { x = pc_value(0) } unless { x == 2 } }", "E0630"),
        ("active proctype P() priority 256 { skip }", "E0623"),
        ("byte x; active proctype P() { STDIN?x }", "E0630"),
        ("byte x; chan STDIN; active proctype P() { STDIN?x }", "E0630"),
        ("#include \"nothing.h\"\ninit { skip }", "E0605"),
        ("chan c = [1] of { byte }; init { c!1,2 }", "E0625"),
        ("chan c = [1] of { byte }; init { c[1]!1 }", "E0624"),
        ("typedef T { byte n }; T t[2]; init { t.n = 1 }", "E0624"),
    ] {
        let Err(Error::Source(rejected)) = load_text("wrong.pml", text, &LoadOptions::default()) else {
            panic!("{text} is accepted");
        };
        let codes: Vec<&str> = rejected.diagnostics.iter().map(|found| found.code.0).collect();
        assert!(codes.contains(&code), "{text}: {codes:?}");
    }
}

#[test]
fn truncated_models_are_read_without_a_panic() {
    for folder in ["promela", "heap"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(folder);
        for file in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&file).unwrap();
            for end in (0..text.len()).step_by(41).filter(|end| text.is_char_boundary(*end)) {
                let _ = load_text(&name, &text[..end], &LoadOptions::default());
            }
        }
    }
}

/// The corpus of Promela models, if this machine has it.
fn corpus() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/promela");
    if folder.is_dir() {
        return Some(folder);
    }
    #[allow(clippy::print_stderr)]
    {
        eprintln!("skipped: no corpus");
    }
    None
}

#[test]
fn recorded_counts_of_the_corpus() {
    let Some(corpus) = corpus() else { return };
    let most = std::env::var("SHOAL_CORPUS_STATES").ok().and_then(|text| text.parse().ok()).unwrap_or(50_000);
    let table = fs::read_to_string(corpus.join("spin-results.csv")).unwrap();
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let row: Vec<&str> = line.split(',').collect();
        let (path, mode, verdict) = (row[1], row[2], row[7]);
        let count: f64 = row[3].parse().unwrap_or(0.0);
        if mode != "RAW" || verdict != "ok" || count == 0.0 || count as u64 > most {
            continue;
        }
        let options = LoadOptions { deadlock: Deadlock::Off, ..LoadOptions::default() };
        let loaded = load(corpus.join(path), &options).unwrap_or_else(|error| panic!("{path}: {error}"));
        let asked = CheckOptions { properties: vec!["no run-time errors".into()], ..all_orders() };
        let report = check(&loaded, &asked, &mut Quiet).unwrap();
        assert_eq!(states(&report), count as u64, "{path}");
        compared += 1;
    }
    assert!(compared >= 5, "only {compared} models compared");
}

/// As in SPIN, `->` and `<->` between conditions are parts of one condition, of which the first guards the second.
#[test]
fn what_stands_before_an_arrow_guards_what_stands_behind_it() {
    let text = "byte s[2]; byte i; active proctype u() { do :: i = (i + 1) % 3 od }
        ltl a { [] (i < 2 -> s[i] == 0) } ltl b { [] (i >= 2 || s[i] == 0) } ltl c { [] (i < 2 implies s[i] == 0) }
        ltl d { [] ((i < 2 -> s[i] == 0) && !(i < 2 -> s[i] == 1 && i == 2) || i == 2) } ltl e { [] (i < 2 <-> i != 2) }
        ltl f { [] (s[i] == 0) }";
    let loaded = load_text("arrow.pml", text, &LoadOptions::default()).unwrap();
    let report = check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
    for result in &report.outcome.results {
        let name = loaded.model.properties[result.property].name.as_str();
        let violated = matches!(result.verdict, Verdict::Violated(_));
        assert_eq!(violated, name == "f", "{name}: {:?}", result.verdict);
    }
}
