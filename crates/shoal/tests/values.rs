//! `sup`, `inf` and `bounds` of UPPAAL's queries, against a graph of regions that shares no code with Shoal.

use std::collections::BTreeSet;

use shoal::{CheckOptions, LoadOptions, Quiet, Sources, Verdict};

use crate::random::{compared, dose, numbers::Numbers, salt};

/// Clocks beyond this are not told apart by the oracle.
const CAP: u8 = 24;

/// A clock: its integral part, and the place of its fraction among those of both clocks; 0 is none.
type Clock = (u8, u8);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    at: usize,
    clocks: [Clock; 2],
    v: i64,
}

struct Edge {
    from: usize,
    to: usize,
    /// Clock, comparison, bound.
    guard: Option<(usize, &'static str, u8)>,
    /// The integer has this value.
    flag: Option<i64>,
    /// Clock, and what it is set to.
    reset: Option<(usize, u8)>,
    /// Added to the integer, which turns around at its ends.
    add: i64,
}

/// An automaton with clocks `x0` and `x1` and an integer `v` in -3..3.
struct Automaton {
    /// Of each location: clock, whether strictly, bound.
    invariants: Vec<Option<(usize, bool, u8)>>,
    edges: Vec<Edge>,
}

fn compare((whole, rest): Clock, op: &str, bound: u8) -> bool {
    match op {
        ">=" => whole >= bound,
        ">" => whole > bound || whole == bound && rest > 0,
        "<=" => whole < bound || whole == bound && rest == 0,
        _ => whole < bound,
    }
}

fn turned(v: i64) -> i64 {
    if v > 3 { -3 } else { v }
}

/// Places of fractions without gaps.
fn tidied(mut clocks: [Clock; 2]) -> [Clock; 2] {
    let places: BTreeSet<u8> = clocks.iter().map(|clock| clock.1).filter(|place| *place > 0).collect();
    for clock in clocks.iter_mut().filter(|clock| clock.1 > 0) {
        clock.1 = 1 + places.iter().position(|place| *place == clock.1).expect("it is among them") as u8;
    }
    clocks
}

/// The next region in time.
fn later(mut clocks: [Clock; 2]) -> [Clock; 2] {
    let bounded = |clock: &Clock| clock.0 <= CAP;
    if clocks.iter().any(|clock| bounded(clock) && clock.1 == 0) {
        for clock in clocks.iter_mut().filter(|clock| bounded(clock)) {
            *clock = if *clock == (CAP, 0) { (CAP + 1, 0) } else { (clock.0, clock.1 + 1) };
        }
    } else {
        let most = clocks.iter().map(|clock| clock.1).max().unwrap_or(0);
        for clock in clocks.iter_mut().filter(|clock| most > 0 && clock.1 == most) {
            *clock = (clock.0 + 1, 0);
        }
    }
    tidied(clocks)
}

impl Automaton {
    fn new(numbers: &mut Numbers) -> Automaton {
        let count = 2 + numbers.below(2);
        let invariant = |numbers: &mut Numbers| {
            (numbers.below(3) > 0)
                .then(|| (numbers.below(2), numbers.below(3) == 0, 1 + numbers.below(4) as u8))
        };
        let invariants = (0..count).map(|_| invariant(numbers)).collect();
        let edge = |numbers: &mut Numbers| Edge {
            from: numbers.below(count),
            to: numbers.below(count),
            guard: (numbers.below(2) == 0).then(|| {
                (numbers.below(2), [">=", ">", "<=", "<"][numbers.below(4)], 1 + numbers.below(4) as u8)
            }),
            flag: (numbers.below(4) == 0).then(|| numbers.below(3) as i64 - 1),
            reset: (numbers.below(4) > 0)
                .then(|| (numbers.below(2), if numbers.below(4) == 0 { 2 } else { 0 })),
            add: numbers.below(3) as i64,
        };
        let edges = (0..2 + numbers.below(4)).map(|_| edge(numbers)).collect();
        Automaton { invariants, edges }
    }

    fn text(&self) -> String {
        let location = |(at, invariant): (usize, &Option<(usize, bool, u8)>)| match invariant {
            Some((clock, strict, bound)) => {
                format!("L{at} {{ x{clock} {} {bound} }}", if *strict { "<" } else { "<=" })
            }
            None => format!("L{at}"),
        };
        let locations: Vec<String> = self.invariants.iter().enumerate().map(location).collect();
        let edge = |edge: &Edge| {
            let clock = edge.guard.map(|(clock, op, bound)| format!("x{clock} {op} {bound}"));
            let flag = edge.flag.map(|flag| format!("v == {flag}"));
            let guards: Vec<String> = clock.into_iter().chain(flag).collect();
            let guard = match guards.is_empty() {
                true => String::new(),
                false => format!("guard {}; ", guards.join(" && ")),
            };
            let reset = edge.reset.map(|(clock, value)| format!("x{clock} = {value}, ")).unwrap_or_default();
            let add = edge.add;
            format!(
                "L{} -> L{} {{ {guard}assign {reset}v = (v + {add} > 3 ? -3 : v + {add}); }}",
                edge.from, edge.to
            )
        };
        let edges: Vec<String> = self.edges.iter().map(edge).collect();
        format!(
            "clock x0, x1; int[-3,3] v;\nprocess P() {{\nstate {};\ninit L0;\ntrans\n{};\n}}\nsystem P;\n",
            locations.join(", "),
            edges.join(",\n")
        )
    }

    fn allowed(&self, point: &Point) -> bool {
        self.invariants[point.at].is_none_or(|(clock, strict, bound)| {
            compare(point.clocks[clock], if strict { "<" } else { "<=" }, bound)
        })
    }

    fn next(&self, point: &Point) -> Vec<Point> {
        let mut found = vec![Point { clocks: later(point.clocks), ..point.clone() }];
        for edge in self.edges.iter().filter(|edge| edge.from == point.at) {
            let clock = edge.guard.is_none_or(|(clock, op, bound)| compare(point.clocks[clock], op, bound));
            if !clock || edge.flag.is_some_and(|flag| flag != point.v) {
                continue;
            }
            let mut clocks = point.clocks;
            if let Some((clock, value)) = edge.reset {
                clocks[clock] = (value, 0);
            }
            found.push(Point { at: edge.to, clocks: tidied(clocks), v: turned(point.v + edge.add) });
        }
        found.retain(|point| self.allowed(point));
        found
    }

    fn reached(&self) -> Vec<Point> {
        let start = Point { at: 0, clocks: [(0, 0); 2], v: 0 };
        let mut seen = BTreeSet::from([start.clone()]);
        let mut waiting = vec![start];
        while let Some(point) = waiting.pop() {
            for next in self.next(&point) {
                if seen.insert(next.clone()) {
                    waiting.push(next);
                }
            }
        }
        seen.into_iter().collect()
    }
}

const NO_STATE: &str = "no state that can be reached satisfies the condition";

/// What the least and greatest values of a clock are; nothing for one beyond the cap.
fn clock_values(points: &[&Point], clock: usize) -> [Option<String>; 2] {
    let codes = || points.iter().map(|point| point.clocks[clock]).map(|(whole, rest)| (whole, rest > 0));
    let (Some(least), Some(most)) = (codes().min(), codes().max()) else {
        return [Some(NO_STATE.into()), Some(NO_STATE.into())];
    };
    let inf = match least {
        (whole, false) => format!(">= {whole}"),
        (whole, true) => format!("> {whole}"),
    };
    let sup = match most {
        (whole, false) => format!("<= {whole}"),
        (whole, true) => format!("< {}", whole + 1),
    };
    [Some(inf).filter(|_| least.0 <= CAP), Some(sup).filter(|_| most.0 <= CAP)]
}

fn integer_values(points: &[&Point]) -> [Option<String>; 2] {
    let values = || points.iter().map(|point| point.v);
    let word = |value: Option<i64>| Some(value.map_or(NO_STATE.into(), |value| value.to_string()));
    [word(values().min()), word(values().max())]
}

/// What Shoal says of each value that queries ask for.
fn answers(text: &str, queries: &str) -> Vec<String> {
    let sources = Sources::text("random.xta", text).with("random.q", queries);
    let loaded = shoal::load_sources(&sources, &LoadOptions::default()).expect("the model is read");
    let report = shoal::check(&loaded, &CheckOptions::default(), &mut Quiet).expect("it is checked");
    let of = |result: &shoal::model::PropertyResult| {
        let proved = report.proved.iter().find(|proved| proved.property == result.property);
        match &result.verdict {
            Verdict::Holds => proved.and_then(|proved| proved.words(&loaded)).expect("there is a value"),
            verdict => format!("{verdict:?}"),
        }
    };
    let is_value = |result: &&shoal::model::PropertyResult| {
        let kind = &loaded.model.properties[result.property].kind;
        matches!(kind, shoal::model::PropertyKind::Extreme(_))
    };
    report.outcome.results.iter().filter(is_value).map(of).collect()
}

#[test]
fn values_are_those_of_the_regions() {
    let (mut exact, mut endless) = (0, 0);
    for seed in 0..u64::from(dose(25)) {
        let mut numbers = Numbers::with_seed(salt().wrapping_add(seed));
        let automaton = Automaton::new(&mut numbers);
        let text = automaton.text();
        let points = automaton.reached();
        let goal = numbers.below(automaton.invariants.len());
        let there: Vec<&Point> = points.iter().filter(|point| point.at == goal && point.v != 1).collect();
        let all: Vec<&Point> = points.iter().collect();
        let queries = format!("bounds: x0, v\nbounds{{P.L{goal} && v != 1}}: x1, x0, v\n");
        let expected = [
            clock_values(&all, 0),
            integer_values(&all),
            clock_values(&there, 1),
            clock_values(&there, 0),
            integer_values(&there),
        ];
        let found = answers(&text, &queries);
        assert_eq!(found.len(), 10, "seed {seed}\n{text}{queries}{found:?}");
        for (found, expected) in found.iter().zip(expected.iter().flatten()) {
            match expected {
                Some(expected) => {
                    assert_eq!(found, expected, "seed {seed}\n{text}{queries}");
                    exact += 1;
                }
                // Beyond what the oracle tells apart.
                None if found == "unbounded" => endless += 1,
                None => {
                    let far = found.split(' ').nth(1).and_then(|bound| bound.parse::<u64>().ok());
                    assert!(
                        far.is_some_and(|far| far > u64::from(CAP)),
                        "seed {seed}: {found}\n{text}{queries}"
                    );
                }
            }
        }
        compared("values of clocks and integers");
    }
    assert!(exact > 0 && endless > 0, "dull: {exact} values, {endless} without end");
}

#[test]
fn values_are_said_and_what_has_none_is_unknown() {
    let text = "clock x; int v; int a[2];\nprocess P() { state A { x <= 7 }, B; init A;\n\
                trans A -> B { guard x > 2; assign v = 12, x = 0; }; }\nsystem P;\n";
    let asked = |query: &str| answers(text, query);
    assert_eq!(asked("sup: x"), ["unbounded"]);
    assert_eq!(asked("sup{P.A}: x, v"), ["<= 7", "0"]);
    assert_eq!(asked("inf{P.B} : v"), ["12"]);
    assert_eq!(asked("bounds{P.A and x > 2}: x"), ["> 2", "<= 7"]);
    assert_eq!(asked("sup{v == 5}: x"), [NO_STATE]);
    // A state that counts, where time ends: the clock grows before.
    let stops = "clock x, y; process P() { state A { y <= 3 }, B { y <= 2 }; init A;\n\
                 trans A -> B { guard y >= 1; }, A -> A { guard y > 2; assign y = 2; }; }\nsystem P;\n";
    assert_eq!(answers(stops, "sup{P.B}: x"), ["unbounded"]);
    assert_eq!(answers(stops, "sup{P.B}: y"), ["<= 2"]);
    // An index that is out of range in some state: nobody knows the value then.
    let unknown = asked("sup: a[v]");
    assert!(unknown[0].contains("run-time error"), "{unknown:?}");
}
