//! Random small systems: state-graphs with every sequence of reducers, zones with and without lumping must agree.

mod common;

use common::{Random, automata, load};
use shoal_model::{
    DeadlockKind, Job, Limits, Model, Property, PropertyId, PropertyKind, Quiet, SortId, Strategy, Verdict,
};
use shoal_timed::{
    graphs::{Answer, Reducer, check},
    sequence,
    system::System,
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

/// Whether the question is answered yes by the zone engine; a no is run again.
fn zones(model: &Model, property: PropertyId, symmetric: bool, text: &str) -> bool {
    let symmetry = shoal_analysis::symmetry(model);
    let sorts: Vec<SortId> =
        model.sorts.ids().filter(|sort| symmetric && symmetry.sorts[*sort].is_proved()).collect();
    let properties = vec![property];
    let job = Job {
        properties,
        symmetric: sorts,
        limits: Limits::default(),
        patience: None,
        jit: false,
        threads: 1,
        strategy: Strategy::default(),
    };
    let outcome = shoal_timed::check(model, &job, &mut Quiet).unwrap();
    match &outcome.results[0].verdict {
        Verdict::Holds => true,
        Verdict::Violated(violation) => {
            shoal_interpret::confirm(model, property, violation)
                .unwrap_or_else(|error| panic!("{error}\n{text}"));
            false
        }
        Verdict::Unknown(reason) => panic!("{reason}\n{text}"),
    }
}

#[test]
fn graphs_and_zones_agree() {
    let count = std::env::var("SHOAL_RANDOM_SYSTEMS").ok().and_then(|count| count.parse().ok()).unwrap_or(50);
    use Reducer::{Bypass, ReadWrite, ShieldClock, ShieldVariables, Symmetry};
    let sequences: [&[Reducer]; 11] = [
        &[],
        &[ReadWrite],
        &[ShieldClock],
        &[ShieldVariables],
        &[Symmetry],
        &[Bypass],
        &[ReadWrite, ShieldClock],
        &[ReadWrite, ShieldClock, Symmetry],
        &[ReadWrite, Symmetry, ShieldClock],
        &[ReadWrite, ShieldVariables, ShieldClock, Symmetry],
        &[ReadWrite, Bypass],
    ];
    let (mut yes, mut no) = (0, 0);
    for seed in 0..count {
        let text = system(seed);
        let model = load(&text);
        let asked = model
            .properties
            .enumerate()
            .find(|(_, property)| matches!(property.kind, PropertyKind::Invariant(_)));
        let property = asked.unwrap().0;
        let expected = zones(&model, property, true, &text);
        assert_eq!(zones(&model, property, false, &text), expected, "seed {seed}\n{text}");
        let system = System::new(&model).unwrap();
        for reducers in sequences {
            let graph = sequence::fold(&system, reducers, usize::MAX, &mut |_, _| {});
            let graph =
                graph.unwrap_or_else(|refusal| panic!("seed {seed}, {reducers:?}: {refusal}\n{text}"));
            let answer = check(&system, &graph, property).unwrap();
            let holds = matches!(answer, Answer::Holds);
            assert_eq!(holds, expected, "seed {seed}, {reducers:?}: {answer:?}\n{text}");
        }
        if expected { yes += 1 } else { no += 1 }
    }
    assert!(yes > count / 10 && no > count / 10, "{yes} yes, {no} no");
}

/// Deadlocks with like processes counted, with all of them named, and on the region graph.
#[test]
fn deadlocks_are_found() {
    let count = std::env::var("SHOAL_RANDOM_SYSTEMS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let (mut yes, mut no) = (0, 0);
    for seed in 0..count {
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
    assert!(yes > count / 10 && no > count / 10, "{yes} yes, {no} no");
}
