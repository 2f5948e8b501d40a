//! Objects end to end: the counts of the literature, agreement with the reference interpreter and with brute force, room that
//! grows, and what goes wrong.

use std::{collections::BTreeSet, path::Path};

use shoal::{CheckOptions, LoadOptions, Loaded, PromelaOptions, Report, Status, check, load, load_text};
use shoal_interpret::explore;
use shoal_model::{
    FaultKind, Model, Quiet, Reason, Reduction, SortId, State, StopReason, Strategy, TypedId, Value, Verdict,
    Watch,
};

/// In all orders, so that states can be counted.
fn run(loaded: &Loaded, symmetric: bool) -> Report {
    let strategy = Strategy::default();
    let options = CheckOptions { symmetry: symmetric, strategy, ..CheckOptions::default() };
    check(loaded, &options, &mut Quiet).unwrap()
}

/// With all reductions.
fn run_reduced(loaded: &Loaded) -> Report {
    check(loaded, &CheckOptions::default(), &mut Quiet).unwrap()
}

fn gallery(name: &str, set: &[(&str, i64)], promela: &PromelaOptions) -> Loaded {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/heap").join(name);
    let set = set.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    load(&file, &LoadOptions { set, promela: promela.clone(), ..LoadOptions::default() }).unwrap()
}

fn text(text: &str, promela: &PromelaOptions) -> Loaded {
    load_text("model.dpml", text, &LoadOptions { promela: promela.clone(), ..LoadOptions::default() })
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn states(loaded: &Loaded, symmetric: bool) -> u64 {
    let report = run(loaded, symmetric);
    assert_eq!(report.status(), Status::Holds);
    report.outcome.statistics.states
}

#[test]
fn one_state_stands_for_all_layouts_of_a_heap() {
    for (n, symmetric, numbered) in [(3, 774, 1_080), (4, 2_552, 4_565), (5, 7_542, 17_592)] {
        let loaded = gallery("ordered_list.dpml", &[("N", n)], &PromelaOptions::default());
        assert_eq!((states(&loaded, true), states(&loaded, false)), (symmetric, numbered), "N = {n}");
    }
}

#[test]
fn processes_are_interchangeable_too() {
    for (n, k, d, heap, both) in [(3, 2, 2, 613, 150), (2, 2, 3, 238, 125), (2, 4, 3, 1_798, 923)] {
        let set = [("N", n), ("K", k), ("D", d)];
        let loaded = gallery("btree.dpml", &set, &PromelaOptions::default());
        assert_eq!(states(&loaded, true), heap);
        let promela = PromelaOptions { symmetric_processes: true, ..PromelaOptions::default() };
        assert_eq!(states(&gallery("btree.dpml", &set, &promela), true), both);
    }
    let loaded = gallery("btree.dpml", &[("N", 2), ("K", 2), ("D", 3)], &PromelaOptions::default());
    assert_eq!(states(&loaded, false), 14_802);
}

#[test]
fn independent_steps_are_taken_in_one_order() {
    let processes = PromelaOptions { symmetric_processes: true, ..PromelaOptions::default() };
    let fewer = |loaded: &Loaded| {
        let report = run_reduced(loaded);
        assert_eq!(report.status(), Status::Holds);
        let statistics = &report.outcome.statistics;
        assert!(statistics.reductions.contains(&Reduction::PartialOrder), "{:?}", statistics.reductions);
        assert!(statistics.states < states(loaded, true));
    };
    fewer(&gallery("ordered_list.dpml", &[("N", 4)], &PromelaOptions::default()));
    fewer(&text("byte x; active [3] proctype P() { bit b; end: do :: !b -> b = 1; x++ od }", &processes));
}

#[test]
fn processes_that_use_their_number_are_told_apart() {
    let promela = PromelaOptions { symmetric_processes: true, ..PromelaOptions::default() };
    let alike = "byte x; active [3] proctype P() { bit b; end: do :: !b -> b = 1; x++ od }";
    assert_eq!(states(&text(alike, &promela), true), 20);
    let told = "byte x; active [3] proctype P() { bit b; end: do :: !b -> b = 1; x = _pid od }";
    let plain = states(&text(told, &PromelaOptions::default()), true);
    assert_eq!(states(&text(told, &promela), true), plain);
}

const LIST: &str = "typedef Node { Node &next } Node &head; byte k;
    active proctype P() { Node &n;
      end: do :: k < MOST -> atomic { n = new Node; n.next = head; head = n; n = null; k++ } od }";

#[test]
fn the_heap_grows_as_far_as_it_must() {
    let long = LIST.replace("MOST", "40");
    assert_eq!(states(&text(&long, &PromelaOptions::default()), true), 81);
    let limited = text(&long, &PromelaOptions { heap: Some(10), ..PromelaOptions::default() });
    let report = run(&limited, true);
    assert_eq!(report.status(), Status::Unknown);
    let stopped = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Elements(_)));
    assert!(report.outcome.results.iter().all(|result| stopped(&result.verdict)));
}

/// The fault that the first violated property ends with.
fn fault(loaded: &Loaded) -> Option<FaultKind> {
    let report = run(loaded, true);
    report.outcome.results.iter().find_map(|result| match &result.verdict {
        Verdict::Violated(violation) => match &violation.reason {
            Reason::Fault(_, fault) => Some(fault.kind.clone()),
            _ => None,
        },
        _ => None,
    })
}

#[test]
fn what_goes_wrong_with_objects_is_named() {
    let head = "typedef Node { byte key; Node &next } Node &p, &q; active proctype P() ";
    let leaks = PromelaOptions { leaks: true, ..PromelaOptions::default() };
    let plain = PromelaOptions::default();
    let limited = PromelaOptions { heap: Some(6), ..PromelaOptions::default() };
    for (body, options, expected) in [
        ("{ p.key = 1 }", &plain, Some(FaultKind::NullReference)),
        ("{ p = new Node; q = p; delete p; q.key = 1 }", &plain, Some(FaultKind::DanglingReference)),
        ("{ p = new Node; q = p; delete p; q.key = 1 }", &limited, Some(FaultKind::DanglingReference)),
        ("{ p = new Node; q = p; delete p; p = null; delete q }", &plain, Some(FaultKind::DanglingReference)),
        // The number of what was deleted is not given out again while somebody points there.
        (
            "{ p = new Node; q = p; delete p; p = new Node; q.key = 1 }",
            &plain,
            Some(FaultKind::DanglingReference),
        ),
        ("{ p = new Node; p = null }", &plain, None),
        ("{ p = new Node; p = null }", &leaks, Some(FaultKind::LostElement)),
        ("{ p = new Node; delete p; p = null }", &leaks, None),
        ("{ p = new Node; p.next = new Node; q = p.next; delete p; p = null; delete q }", &leaks, None),
    ] {
        assert_eq!(fault(&text(&format!("{head}{body}"), options)), expected, "{body}");
    }
}

/// Programs with functions, all of whose assertions hold.
const FUNCTIONS: &[&str] = &[
    // Recursion, with other processes in between.
    "int r; byte ticks;
     function fact(int n) : int { int m; if :: n <= 1 -> return 1 :: else -> m = fact(n - 1); return n * m fi }
     active proctype P() { r = fact(5); assert(r == 120) }
     active proctype Q() { do :: ticks < 3 -> ticks++ :: else -> break od }",
    // Pointers as parameters and results, and a function that comes to its end without a value.
    "typedef Node { byte key; Node &next } Node &head;
     function push(byte k) { Node &n; atomic { n = new Node; n.key = k; n.next = head; head = n } }
     function find(Node &from; byte k) : Node & {
        Node &c; c = from;
        do :: c == null -> break :: c != null && c.key == k -> break :: else -> c = c.next od;
        return c
     }
     active proctype P() { Node &x; push(1); push(2); push(3); x = find(head, 2); assert(x.key == 2 && x.next.key == 1);
        x = find(head, 9); assert(x == null) }",
    // Functions in variables; two processes in the same function at a time.
    "byte a, b; ftype f = null;
     function one(byte x) : byte { return x + 1 }
     function two(byte x) : byte { byte y; y = one(x); return y * 2 }
     active proctype P() { f = two; a = f(3); assert(a == 8) }
     active proctype Q() { b = one(6); assert(b == 7) }",
];

#[test]
fn functions_are_called_and_come_back() {
    for source in FUNCTIONS {
        let loaded = text(source, &PromelaOptions::default());
        let reference = explore(&loaded.model, 20_000).unwrap();
        assert!(reference.complete);
        assert_eq!(states(&loaded, false), reference.states as u64, "{source}");
        assert!(states(&loaded, true) <= reference.states as u64);
    }
    let wrong = "int r; function f() : int { return 2 } active proctype P() { r = f(); assert(r == 3) }";
    assert_eq!(run(&text(wrong, &PromelaOptions::default()), true).status(), Status::Violated);
    let nothing = "ftype f; active proctype P() { f(1) } function g(int x) { skip }";
    assert_eq!(run(&text(nothing, &PromelaOptions::default()), true).status(), Status::Violated);
}

/// Renumbers the elements of a growing sort: where each is to go.
fn renamed(value: &Value, sort: SortId, to: &[u32]) -> Value {
    let all = |values: &[Value]| values.iter().map(|value| renamed(value, sort, to)).collect();
    match value {
        Value::Elem(of, element) if *of == sort => Value::Elem(sort, to[*element as usize]),
        Value::Record(values) => Value::Record(all(values)),
        Value::Array(values) => Value::Array(all(values)),
        other => other.clone(),
    }
}

/// The least of all states that differ from this one in the numbers of objects only; there are at most `room` of them.
fn least(model: &Model, state: &State, room: u32) -> (Vec<Value>, Vec<bool>) {
    let sort = SortId::from_index(0);
    let heap = model.vars.iter().position(|var| var.name.starts_with("heap of")).unwrap();
    permutations(room)
        .into_iter()
        .map(|to| {
            let mut live = vec![false; room as usize];
            let mut entries = vec![Value::Undefined; room as usize];
            let Value::Array(cells) = &state.values[heap] else { panic!("no heap") };
            for (at, cell) in cells.iter().enumerate() {
                live[to[at] as usize] = state.live[sort.index()][at];
                entries[to[at] as usize] = renamed(cell, sort, &to);
            }
            let mut values: Vec<Value> = state.values.iter().map(|value| renamed(value, sort, &to)).collect();
            values[heap] = Value::Array(entries);
            (values, live)
        })
        .min()
        .unwrap()
}

fn permutations(n: u32) -> Vec<Vec<u32>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let put = |rest: &Vec<u32>, at: usize| {
        let mut all = rest.clone();
        all.insert(at, n - 1);
        all
    };
    shorter.iter().flat_map(|rest| (0..=rest.len()).map(|at| put(rest, at)).collect::<Vec<_>>()).collect()
}

/// A generator of numbers that is good enough for tests.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A program with two processes that make at most three objects and do things to pointers.
fn program(random: &mut Random) -> String {
    let pointers = ["p", "q", "l"];
    let options = |random: &mut Random| {
        let mut text = String::new();
        for _ in 0..3 + random.below(3) {
            let [a, b] = [0; 2].map(|_| pointers[random.below(3) as usize]);
            let option = match random.below(7) {
                0 | 1 => {
                    format!("atomic {{ made < 3 -> made++; {a} = new Node; {a}.key = {} }}", random.below(2))
                }
                2 => format!("{a} = {b}"),
                3 => format!("atomic {{ {a} != null && {a} != dead -> {a}.next = {b} }}"),
                4 => format!("atomic {{ {a} != null && {a} != dead -> {b} = {a}.next }}"),
                5 => {
                    format!("atomic {{ dead == null && {a} != null -> dead = {a}; delete {a}; {a} = null }}")
                }
                _ => format!("{a} = null"),
            };
            text += &format!(" :: {option}");
        }
        text
    };
    let (first, second) = (options(random), options(random));
    format!(
        "typedef Node {{ bit key; Node &next }} Node &p, &q, &dead; byte made;
         active proctype P() {{ Node &l; end: do{first} od }}
         active proctype Q() {{ Node &l; end: do{second} od }}"
    )
}

#[test]
fn random_programs_agree_with_the_interpreter_and_with_brute_force() {
    let count = crate::random::dose(25).into();
    let mut compared = 0;
    for seed in 0..count {
        let source = program(&mut Random(seed ^ crate::random::salt()));
        let loaded = text(&source, &PromelaOptions::default());
        let reference = explore(&loaded.model, 3_000).unwrap();
        if !reference.complete {
            continue;
        }
        let (raw, reduced) = (run(&loaded, false), run(&loaded, true));
        let wrong = |report: &Report| report.status() == Status::Violated;
        assert_eq!(wrong(&raw), wrong(&run_reduced(&loaded)), "seed {seed}, orders: {source}");
        let leaks = text(&source, &PromelaOptions { leaks: true, ..PromelaOptions::default() });
        assert_eq!(wrong(&run(&leaks, true)), wrong(&run_reduced(&leaks)), "seed {seed}, leaks: {source}");
        assert_eq!(wrong(&raw), wrong(&reduced), "seed {seed}: {source}");
        if wrong(&raw) {
            continue;
        }
        assert_eq!(raw.outcome.statistics.states, reference.states as u64, "seed {seed}: {source}");
        let graph = shoal::graph(&loaded, &[], 10_000, &Watch::default()).unwrap();
        let orbits: BTreeSet<_> = graph.nodes.iter().map(|state| least(&loaded.model, state, 3)).collect();
        assert_eq!(reduced.outcome.statistics.states, orbits.len() as u64, "seed {seed}: {source}");
        compared += 1;
    }
    assert!(compared > count / 3, "dull: only {compared} of {count} programs were compared");
}

/// An array of objects is an object with an array in it, of which an index leads to a part.
#[test]
fn arrays_of_objects_are_objects_with_arrays() {
    let body = "&p, &q; byte n;
        active [2] proctype P() { byte i; do :: n < 4 -> atomic { i = n % 3; n++ }; MADE; p AT i WHAT = p AT i WHAT + _pid + 1; q = p;
            assert(q AT i WHAT <= 3) :: n >= 4 -> break od }";
    let array = format!("typedef T {{ byte key }} T {body}")
        .replace("MADE", "if :: p = new T[3] :: p != null fi")
        .replace(" AT i WHAT", "[i].key");
    let boxed = format!("typedef I {{ byte key }} typedef T {{ I items[3] }} T {body}")
        .replace("MADE", "if :: p = new T :: p != null fi")
        .replace(" AT i WHAT", ".items[i].key");
    let (array, boxed) = (text(&array, &PromelaOptions::default()), text(&boxed, &PromelaOptions::default()));
    for symmetric in [false, true] {
        let counts = [&array, &boxed].map(|loaded| run(loaded, symmetric).outcome.statistics.states);
        assert_eq!(counts[0], counts[1], "symmetry: {symmetric}");
    }
    let fields = "typedef Node { byte key = 7; Node &next } Node &a, &b; active proctype P() { a = new Node[3]; b = new Node[2]; ";
    let reuse = PromelaOptions { reuse: true, ..PromelaOptions::default() };
    for (rest, is_wrong) in [
        (
            "assert(a[2].key == 7 && a.key == 7); a[1].key = 2; b[1].next = a; assert(b[1].next[1].key == 2 && a.key == 7) }",
            false,
        ),
        ("a[2].key = 1; b[2].key = 1 }", true),
        ("b[1].next = a; a = b; b = a[1].next; assert(b[2].key == 7); delete b; a = null }", false),
        ("b = a; delete a; b[0].key = 1 }", true),
    ] {
        for options in [&PromelaOptions::default(), &reuse] {
            let loaded = text(&format!("{fields}{rest}"), options);
            let explored = explore(&loaded.model, 10_000).unwrap();
            assert_eq!(run(&loaded, true).status() != Status::Holds, is_wrong, "{rest}");
            assert_eq!(!explored.violated.is_empty(), is_wrong, "{rest}");
        }
    }
    for wrong in ["a = new Node[0] }", "a = new Node[b.key] }", "a = b[1] }"] {
        let options = LoadOptions::default();
        assert!(load_text("model.dpml", format!("{fields}{wrong}"), &options).is_err(), "{wrong}");
    }
}
