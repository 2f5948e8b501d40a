//! Random small systems: state-graphs with every sequence of reducers, zones with and without lumping must agree.

use crate::common::{Random, automata, formula, load, on_threads};
use shoal_model::{DeadlockKind, Job, Model, Property, PropertyId, PropertyKind, Quiet, SortId, Verdict};
use shoal_stategraphs::{
    graphs::{GraphAnswer, GraphRefusal, Reducer, check},
    sequence,
    system::ProcessSystem,
};

/// A system and a random question.
fn system(seed: u64) -> String {
    let mut random = Random::new(seed);
    let count = 2 + random.below(2);
    let (text, modes) = automata(&mut random, count);
    let (a, b) = (random.below(modes), random.below(modes));
    let question = match random.below(4) {
        0 => format!("forall i, j : A {{ i <> j implies not {{mode(A[i]) = M{a} and mode(A[j]) = M{b}}} }}"),
        1 => format!("not {{mode(A[1]) = M{a} and mode(A[2]) = M{b}}}"),
        2 => format!("forall i : A {{ mode(A[i]) = M{a} implies x[i] <= 2 }}"),
        _ => format!("forall i : A {{ not {{lock = i and flag = 1 and mode(A[i]) = M{a}}} }}"),
    };
    text + &format!("verify all_paths ( henceforth {question} );\n")
}

/// What the timed engine says of a property.
fn verdict(model: &Model, property: PropertyId, symmetric: bool) -> Verdict {
    let symmetry = shoal_analysis::symmetry(model);
    let sorts: Vec<SortId> =
        model.sorts.ids().filter(|sort| symmetric && symmetry.sorts[*sort].is_proved()).collect();
    let job = Job { symmetric: sorts, ..Job::new(vec![property]) };
    if !shoal_timed::is_temporal(&model.properties[property].kind) {
        return on_threads(model, &job, "a random system").0.results.remove(0).verdict;
    }
    shoal_timed::check(model, &job, &mut Quiet).unwrap().results.remove(0).verdict
}

/// Whether the question is answered yes by the zone engine; a no is run again.
fn zones(model: &Model, property: PropertyId, symmetric: bool, text: &str) -> bool {
    match verdict(model, property, symmetric) {
        Verdict::Holds => true,
        Verdict::Violated(violation) => {
            shoal_interpret::confirm(model, property, &violation)
                .unwrap_or_else(|error| panic!("{error}\n{text}"));
            false
        }
        Verdict::Unknown(reason) => panic!("{reason}\n{text}"),
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|count| count.parse().ok()).unwrap_or(otherwise)
}

use Reducer::{Bypass, ReadWrite, ShieldClock, ShieldVariables, Symmetry};

/// Sequences of reducers that keep all formulas.
const SEQUENCES: [&[Reducer]; 10] = [
    &[],
    &[ReadWrite],
    &[ShieldClock],
    &[ShieldVariables],
    &[Symmetry],
    &[ReadWrite, ShieldClock],
    &[ReadWrite, ShieldClock, Symmetry],
    &[ReadWrite, Symmetry, ShieldClock],
    &[Symmetry, ShieldVariables, ReadWrite],
    &[ReadWrite, ShieldVariables, ShieldClock, Symmetry],
];

#[test]
fn graphs_and_zones_agree() {
    let (first, count) = (number("SHOAL_RANDOM_FIRST", 0), number("SHOAL_RANDOM_SYSTEMS", 50));
    let yes =
        (first..first + count).filter(|seed| graphs_agree(&system(*seed), &format!("seed {seed}"))).count();
    let no = count as usize - yes;
    assert!(yes as u64 > count / 10 && no as u64 > count / 10, "dull: {yes} yes, {no} no");
}

/// A register that nobody reads before it is written, except in the process that the question names: in a folded graph that one may
/// stand at any number.
#[test]
fn what_is_asked_of_one_process_is_kept_of_all_like_it() {
    let text = "automata A : i = 1..3;
        clock x[1..total(A)];
        register flag;
        automaton A[i] {
          mode M0 { invariant True; when x[i] = 1 may goto M0; x[i] := 0; flag := 0; }
          mode M1 { invariant True; when flag = 0 may goto M1; flag := 0; }
        }
        verify all_paths ( henceforth not {mode(A[1]) = M1 and mode(A[2]) = M0} );";
    assert!(graphs_agree(text, "three processes"));
}

/// Whether the question of a system is answered yes: by zones with and without lumping, and by graphs with every sequence of reducers.
fn graphs_agree(text: &str, name: &str) -> bool {
    let model = load(text);
    let asked = model
        .properties
        .enumerate()
        .find(|(_, property)| matches!(property.kind, PropertyKind::Invariant(_)));
    let property = asked.unwrap().0;
    let expected = zones(&model, property, true, text);
    assert_eq!(zones(&model, property, false, text), expected, "{name}\n{text}");
    let system = ProcessSystem::new(&model).unwrap();
    for reducers in SEQUENCES.iter().copied().chain([&[Bypass][..], &[ReadWrite, Bypass]]) {
        let graph = sequence::fold(&system, reducers, usize::MAX, &mut |_, _| {});
        let graph = match graph {
            Ok(graph) => graph,
            // Some graphs do not end, most where bypassing keeps every clock as it is; it is said, and nothing of what is asked.
            Err(GraphRefusal::TooLarge(_)) => continue,
            Err(refusal) => panic!("{name}, {reducers:?}: {refusal}\n{text}"),
        };
        let answer = check(&system, &graph, property).unwrap();
        let holds = matches!(answer, GraphAnswer::Holds);
        assert_eq!(holds, expected, "{name}, {reducers:?}: {answer:?}\n{text}");
    }
    expected
}

/// A start that is not symmetric, as of the process that is asked about more is kept: the real names are those of the start.
#[test]
fn folding_keeps_the_names_of_the_start() {
    let text = "automata A : i = 1..2;
        clock x[1..total(A)];
        register lock, flag;
        automaton A[i] {
          mode M0 { invariant True; when flag = 1 and lock = 0 may goto M0; x[i] := 0; }
          mode M1 { invariant True; when lock = 0 may goto M0; }
        }
        verify {all_paths (eventually {mode(A[2]) = M1})};";
    let model = load(text);
    let system = ProcessSystem::new(&model).unwrap();
    let reducers = [ReadWrite, ShieldVariables, ShieldClock, Symmetry];
    let graph = sequence::fold(&system, &reducers, usize::MAX, &mut |_, _| {}).unwrap();
    let asked = model.properties.enumerate().find(|(_, it)| matches!(it.kind, PropertyKind::Temporal(..)));
    let answer = check(&system, &graph, asked.unwrap().0).unwrap();
    assert!(matches!(answer, GraphAnswer::Violated(_)), "{answer:?}");
}

/// Nested formulas with bounds: on graphs with every sequence of reducers as on the model. (That those are right, the region
/// graph says.) Where transitions are bypassed they are refused.
#[test]
fn formulas_on_graphs() {
    let (first, count) = (number("SHOAL_RANDOM_FIRST", 0), number("SHOAL_RANDOM_SYSTEMS", 12));
    let (mut yes, mut no, mut open) = (0, 0, 0);
    for seed in first..first + count {
        let mut random = Random::new(seed + 2_000_000);
        let processes = 2 + u64::from(random.below(4) == 0);
        let (mut text, modes) = automata(&mut random, processes);
        for _ in 0..2 {
            let depth = 1 + random.below(2);
            text += &format!("verify {{{}}};\n", formula(&mut random, modes, depth, processes));
        }
        let model = load(&text);
        let temporal = |kind: &PropertyKind| {
            matches!(kind, PropertyKind::Temporal(..) | PropertyKind::AlwaysPossible(_))
        };
        let asked = model.properties.enumerate().filter(|(_, property)| temporal(&property.kind));
        let asked: Vec<PropertyId> = asked.map(|(id, _)| id).collect();
        let expected: Vec<bool> = asked
            .iter()
            .map(|id| match verdict(&model, *id, false) {
                Verdict::Unknown(reason) => panic!("{reason}\n{text}"),
                verdict => matches!(verdict, Verdict::Holds),
            })
            .collect();
        let system = ProcessSystem::new(&model).unwrap();
        for reducers in SEQUENCES {
            let context = |text: &str| format!("seed {seed}, {reducers:?}\n{text}");
            let mut part = None;
            let graph = sequence::fold(&system, reducers, usize::MAX, &mut |processes, graph| {
                if processes < system.processes.len() {
                    part = Some(graph.clone());
                }
            });
            let graph = graph.unwrap_or_else(|refusal| panic!("{refusal} {}", context(&text)));
            for (id, expected) in asked.iter().zip(&expected) {
                let holds = match check(&system, &graph, *id) {
                    Ok(holds) => holds,
                    // It is said to be too large, and nothing of what is asked.
                    Err(GraphRefusal::TooLarge(_)) => {
                        open += 1;
                        continue;
                    }
                    Err(refusal) => panic!("{refusal} {}", context(&text)),
                };
                assert_eq!(matches!(holds, GraphAnswer::Holds), *expected, "{holds:?} {}", context(&text));
                // A graph of some processes says nothing wrong.
                match part.as_ref().map(|part| check(&system, part, *id)) {
                    Some(Ok(GraphAnswer::Holds)) => assert!(*expected, "open: {}", context(&text)),
                    Some(Ok(GraphAnswer::Violated(_))) => assert!(!*expected, "open: {}", context(&text)),
                    Some(Ok(_)) => open += 1,
                    _ => {}
                }
                if *expected { yes += 1 } else { no += 1 }
            }
        }
        let graph = sequence::fold(&system, &[Bypass], usize::MAX, &mut |_, _| {}).unwrap();
        assert!(asked.iter().all(|id| check(&system, &graph, *id).is_err()));
    }
    assert!(yes > count && no > count, "dull: {yes} yes, {no} no, {open} not known");
}

/// Deadlocks with like processes counted, with all of them named, and on the region graph.
#[test]
fn deadlocks_are_found() {
    let (first, count) = (number("SHOAL_RANDOM_FIRST", 0), number("SHOAL_RANDOM_SYSTEMS", 60));
    let (mut yes, mut no) = (0, 0);
    for seed in first..first + count {
        let mut random = Random::new(seed + 1_000_000);
        let count = 1 + random.below(3);
        let (text, _) = automata(&mut random, count);
        let mut model = load(&text);
        let kind = PropertyKind::Deadlock(DeadlockKind::Stuck);
        let span = shoal_syntax::Span::default();
        let property = model.properties.push(Property { name: "no deadlock".into(), kind, span });
        let found = zones(&model, property, true, &text);
        assert_eq!(zones(&model, property, false, &text), found, "seed {seed}\n{text}");
        if let Ok(regions) = shoal_interpret::regions(&model, 3_000) {
            assert_eq!(!regions.has_deadlock(), found, "seed {seed}\n{text}");
        }
        if found { yes += 1 } else { no += 1 }
    }
    assert!(yes > count / 10 && no > count / 10, "dull: {yes} yes, {no} no");
}
