//! Properties that name elements, on random models: what is decided by default, without symmetry and by each engine is what the
//! interpreter says, whether it is asked of states, of runs or of branches.
//!
//! The source language has no names for elements of scalarsets, so a property of all elements is read and one of its instances
//! is kept.

use proptest::prelude::*;
use shoal::{CheckOptions, EngineKind, LoadOptions, Loaded, Quiet, Verdict, check, load_text};
use shoal_interpret::{decide_branching, explore};
use shoal_model::{
    Condition, Formula, Logic, Property, PropertyId, PropertyKind, StopReason, TypedId, Value,
};

use crate::random::{choices::Choices, compared, tableau};

/// Models with more states than this are skipped.
const MOST_STATES: usize = 400;

/// Conditions about two elements, which never fault.
const CONDITIONS: &[&str] = &[
    "l[k] = B",
    "f[k]",
    "(!isundefined(h) & h = k)",
    "l[k] = l[j]",
    "(f[j] -> l[k] = A)",
    "(l[k] != C | g)",
    "(l[j] = B & l[k] != B)",
];

/// What is asked of such conditions, and in which logic.
const FORMULAS: &[(&str, &str)] = &[
    ("ltl", "[] <> C"),
    ("ltl", "<> C"),
    ("ltl", "[] (C -> <> D)"),
    ("ltl", "(C until D)"),
    ("ltl", "<> [] C"),
    ("ctl", "AG EF C"),
    ("ctl", "AF C"),
    ("ctl", "EG C"),
    ("ctl", "AG (C -> EF D)"),
    ("ctl", "(EX C & AX D)"),
];

const ENGINES: [Option<EngineKind>; 4] =
    [None, Some(EngineKind::Explicit), Some(EngineKind::Symbolic), Some(EngineKind::Counters)];

/// The instance of a formula for one element: the first conjunctions are over all of them.
fn instance(formula: &Formula, elements: &[usize]) -> Formula {
    match (formula, elements) {
        (Formula::And(all), [element, others @ ..]) if !all.is_empty() => {
            instance(&all[element % all.len()], others)
        }
        _ => formula.clone(),
    }
}

/// The condition of `AG condition`.
fn condition(formula: &Formula) -> Option<&Condition> {
    match formula {
        Formula::Atom(condition) => Some(condition),
        Formula::AllPaths(of) | Formula::Always(_, of) => condition(of),
        _ => None,
    }
}

/// A model, and its properties that name elements.
fn named(bytes: &[u8], asked: &[u8]) -> (Loaded, String) {
    let mut choices = Choices::new(asked);
    let over_all = |body: &str| format!("forall k: P do forall j: P do {body} end end");
    let mut text = crate::random_ctl::model(bytes);
    text += &format!("ctl \"named states\" {};\n", over_all(&format!("AG ({})", choices.one_of(CONDITIONS))));
    for number in 0..2 {
        let (logic, formula) = FORMULAS[choices.pick(FORMULAS.len())];
        let (c, d) = (choices.one_of(CONDITIONS), choices.one_of(CONDITIONS));
        let formula = over_all(&formula.replace('C', "#").replace('D', d).replace('#', c));
        text += &format!("{logic} \"named {number}\" {formula};\n");
    }
    let elements = [choices.pick(3), choices.pick(3)];
    let mut loaded = load_text("random.m", text.as_str(), &LoadOptions::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let all: Vec<PropertyId> = loaded.model.properties.ids().collect();
    for id in all {
        let Property { name, kind, span } = loaded.model.properties[id].clone();
        let PropertyKind::Temporal(logic, formula) = kind else { continue };
        if !name.starts_with("named") {
            continue;
        }
        let formula = instance(&formula, &elements);
        if let Some(condition) = condition(&formula).filter(|_| name == "named states") {
            for kind in [
                PropertyKind::Invariant(condition.clone()),
                PropertyKind::Cover(Some(condition.clone())),
                PropertyKind::AlwaysPossible(condition.clone()),
            ] {
                let id = loaded.model.properties.push(Property { name: name.clone(), kind, span });
                loaded.asked.push(id);
            }
        }
        loaded.model.properties[id].kind = PropertyKind::Temporal(logic, formula);
    }
    (loaded, text)
}

/// What the interpreter says; nothing if there are too many states.
fn expected(loaded: &Loaded) -> Option<Vec<(PropertyId, bool)>> {
    let model = &loaded.model;
    let reference = explore(model, MOST_STATES).ok().filter(|explored| explored.complete)?;
    let branches = decide_branching(model, MOST_STATES)?;
    let holds = |id: &PropertyId| match &model.properties[*id].kind {
        PropertyKind::Temporal(Logic::Ltl, formula) => tableau::holds(model, formula, MOST_STATES),
        PropertyKind::Temporal(..) => branches.iter().find(|(it, _)| it == id).map(|(_, holds)| *holds),
        _ => Some(!reference.violated.contains_key(id)),
    };
    Some(loaded.asked.iter().filter_map(|id| Some((*id, holds(id)?))).collect())
}

/// Whether it was compared, and how many properties that name an element hold and do not.
fn compare(bytes: &[u8], asked: &[u8]) -> Option<(usize, usize)> {
    let (loaded, text) = named(bytes, asked);
    let expected = expected(&loaded)?;
    for (engine, symmetry) in ENGINES.iter().flat_map(|engine| [(*engine, true), (*engine, false)]) {
        let options = CheckOptions { engine, symmetry, ..CheckOptions::default() };
        let report = match check(&loaded, &options, &mut Quiet) {
            Ok(report) => report,
            Err(error) if engine.is_some() && !error.is_internal() => continue,
            Err(error) => panic!("{engine:?}: {error}\n{text}"),
        };
        for (id, holds) in &expected {
            let result = report.outcome.results.iter().find(|result| result.property == *id).unwrap();
            let Property { name, kind, .. } = &loaded.model.properties[*id];
            let what = format!("{engine:?}, symmetry {symmetry}: {name} {kind:?}\n{text}");
            match &result.verdict {
                Verdict::Holds => assert!(*holds, "it does not hold; {what}"),
                Verdict::Violated(_) => assert!(!*holds, "it holds; {what}"),
                Verdict::Unknown(StopReason::Unsupported(_)) if engine.is_some() => {}
                // An assumption drops every start: all would hold of a model without runs.
                Verdict::Unknown(StopReason::NoStart) => assert!(*holds, "nothing can be violated; {what}"),
                Verdict::Unknown(reason) => panic!("{reason}; {what}"),
            }
        }
    }
    compared("properties that name elements");
    let is_named = |id: PropertyId| loaded.model.properties[id].name.starts_with("named");
    let count =
        |wanted: bool| expected.iter().filter(|(id, holds)| is_named(*id) && *holds == wanted).count();
    Some((count(true), count(false)))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: crate::random::dose(6),
        max_shrink_iters: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_names_elements_is_decided_as_without_symmetry(
        bytes in proptest::collection::vec(any::<u8>(), 20..80),
        asked in proptest::collection::vec(any::<u8>(), 16),
    ) {
        compare(&bytes, &asked);
    }
}

/// The test is of use only if such properties hold and fail, and name an element.
#[test]
fn properties_that_name_elements_are_worth_checking() {
    let mut seed = 3_u64;
    let mut bytes = |count: usize| -> Vec<u8> {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        };
        (0..count).map(|_| next()).collect()
    };
    let (mut hold, mut fail) = (0, 0);
    for _ in 0..4 {
        let (model, asked) = (bytes(60), bytes(16));
        let (loaded, text) = named(&model, &asked);
        let mut names = 0;
        for property in loaded.model.properties.iter().filter(|it| it.name.starts_with("named")) {
            for condition in property.kind.conditions() {
                shoal_model::walk_condition(condition, &mut |node| {
                    names += usize::from(matches!(node, shoal_model::Node::Expr(shoal_model::Expr {
                        kind: shoal_model::ExprKind::Const(Value::Elem(sort, _)), ..
                    }) if sort.index() == 0));
                });
            }
        }
        assert!(names > 0, "no element is named\n{text}");
        if let Some(found) = compare(&model, &asked) {
            (hold, fail) = (hold + found.0, fail + found.1);
        }
    }
    assert!(hold >= 2 && fail >= 2, "dull: {hold} hold, {fail} fail");
}
