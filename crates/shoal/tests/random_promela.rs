//! Random small Promela models: the explicit engine against the interpreter, and with partial order reduction against
//! itself without; and where what is dead is forgotten, against where it is kept.

use std::collections::BTreeSet;

use proptest::prelude::*;
use shoal_interpret::explore;
use shoal_model::{
    Job, Limits, Model, Order, Outcome, PartialOrder, PropertyId, PropertyKind, Quiet, Reduction, SortId,
    Strategy, Watch, verify,
};
use shoal_syntax::SourceMap;

use crate::random::{promela as generate, replayed::violations};

/// Models with more states than this are skipped.
const MOST_STATES: usize = 400;

fn load(text: &str, options: &shoal_promela::Options) -> Option<Model> {
    let mut sources = SourceMap::new();
    let id = sources.add("random.pml", text);
    let (model, diagnostics) = shoal_promela::load(&sources, id, options);
    // What is refused by name is refused here as well; a second `else` at one place is refused by SPIN, too.
    let is_refused = |code: &str, message: &str| {
        code == "E0630" || (code == "E0612" && message.starts_with("a second `else`"))
    };
    let refused = diagnostics.iter().all(|found| is_refused(found.code.0, &found.message));
    assert!(model.is_some() || refused, "the generator wrote a wrong model: {diagnostics:?}\n{text}");
    model
}

fn is_temporal(model: &Model, id: PropertyId) -> bool {
    matches!(model.properties[id].kind, PropertyKind::Temporal(..))
}

fn run(model: &Model, jit: bool, strategy: Strategy) -> Outcome {
    run_up_to(model, &[], jit, strategy)
}

/// With some sorts taken as symmetric.
fn run_up_to(model: &Model, symmetric: &[SortId], jit: bool, strategy: Strategy) -> Outcome {
    let limits = Limits { memory: Some(1 << 28), ..Limits::default() };
    let properties = model.properties.ids().collect();
    let symmetric = symmetric.to_vec();
    let job =
        Job { symmetric, watch: Watch::start(limits), jit, threads: 2, strategy, ..Job::new(properties) };
    shoal_explicit::check(model, &job, &mut Quiet).expect("the engine takes it")
}

/// The properties that are violated; every trace replays.
fn violated(model: &Model, outcome: &Outcome, text: &str) -> BTreeSet<PropertyId> {
    violations(model, outcome, text).into_keys().collect()
}

/// Says how many states there are with and without reduction, if the model is small enough.
fn check_model(text: &str) -> Option<(u64, u64)> {
    let model = load(text, &shoal_promela::Options::default())?;
    verify(&model).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    let reference = explore(&model, MOST_STATES).expect("Promela models can be run");
    if !reference.complete {
        return None;
    }
    let full = run(&model, true, Strategy::default());
    let expected = violated(&model, &full, text);
    let plain: BTreeSet<PropertyId> =
        expected.iter().copied().filter(|id| !is_temporal(&model, *id)).collect();
    assert_eq!(plain, reference.violated.keys().copied().collect(), "violations\n{text}");
    if full.statistics.exhaustive {
        assert_eq!(full.statistics.states as usize, reference.states, "states\n{text}");
        assert_eq!(full.statistics.transitions, reference.transitions, "steps\n{text}");
    }
    let reduce = Strategy { partial_order: PartialOrder::Agents, ..Strategy::default() };
    let mut states = full.statistics.states;
    for (jit, order) in
        [(true, Order::BreadthFirst), (false, Order::BreadthFirst), (false, Order::DepthFirst)]
    {
        let reduced = run(&model, jit, Strategy { order, ..reduce });
        assert_eq!(
            violated(&model, &reduced, text),
            expected,
            "violations with reduction, {order:?}\n{text}"
        );
        assert!(reduced.statistics.states <= full.statistics.states, "more states, {order:?}\n{text}");
        if reduced.statistics.reductions.contains(&Reduction::PartialOrder) {
            states = reduced.statistics.states;
        }
    }
    check_processes(text, &names(&model, &expected));
    if let Some(forgetful) = shoal_analysis::forget(&model) {
        verify(&forgetful.model).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
        for strategy in [Strategy::default(), reduce] {
            let reduced = run(&forgetful.model, true, strategy);
            let found = violated(&forgetful.model, &reduced, text);
            assert_eq!(found, expected, "violations where {:?} are reset\n{text}", forgetful.fields);
            assert!(reduced.statistics.states <= full.statistics.states, "more states\n{text}");
            states = states.min(reduced.statistics.states);
        }
    }
    check_merged(text, &names(&model, &plain), full.statistics.states);
    Some((full.statistics.states, states))
}

/// The order of properties is that in which the front end comes to them.
fn names(model: &Model, properties: &BTreeSet<PropertyId>) -> BTreeSet<String> {
    properties.iter().map(|id| model.properties[*id].name.clone()).collect()
}

/// Steps that are merged make no difference, but for the states in between. Who moved is only noted.
fn check_merged(text: &str, expected: &BTreeSet<String>, states: u64) {
    // One of them for each model: all would take as long as everything else together.
    let (merge, weak_fairness) = [(true, false), (true, true), (false, true)][text.len() % 3];
    let options = shoal_promela::Options { merge, weak_fairness, ..shoal_promela::Options::default() };
    let Some(model) = load(text, &options) else { return };
    verify(&model).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    let forgetful = shoal_analysis::forget(&model).map(|forgetful| forgetful.model);
    for model in [Some(model), forgetful].into_iter().flatten() {
        for partial_order in [PartialOrder::Off, PartialOrder::Agents] {
            let merged = run(&model, true, Strategy { partial_order, ..Strategy::default() });
            let mut found = violated(&model, &merged, text);
            found.retain(|id| !is_temporal(&model, *id));
            assert_eq!(
                names(&model, &found),
                *expected,
                "violations, merged {merge}, fair {weak_fairness}, partial order {partial_order:?}\n{text}"
            );
            assert!(weak_fairness || merged.statistics.states <= states, "more states when merged\n{text}");
        }
    }
}

/// The same model with interchangeable processes, where they are proved to be.
fn check_processes(text: &str, expected: &BTreeSet<String>) {
    let options = shoal_promela::Options { symmetric_processes: true, ..shoal_promela::Options::default() };
    let Some(model) = load(text, &options) else { return };
    let symmetry = shoal_analysis::symmetry(&model);
    let proved: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    for partial_order in [PartialOrder::Off, PartialOrder::Agents].into_iter().filter(|_| !proved.is_empty())
    {
        let strategy = Strategy { partial_order, ..Strategy::default() };
        let found = violated(&model, &run_up_to(&model, &proved, true, strategy), text);
        assert_eq!(
            names(&model, &found),
            *expected,
            "violations with symmetry, partial order {partial_order:?}\n{text}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: crate::random::dose(50),
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn orders_that_are_left_out_make_no_difference(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        check_model(&generate::model(&bytes));
    }
}

/// The generator is of use only if its models do something, and if something is left out.
#[test]
fn random_models_are_worth_checking() {
    let mut seed = 1_u64;
    let (mut checked, mut smaller) = (0, 0);
    for _ in 0..20 {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        };
        let bytes: Vec<u8> = (0..100).map(|_| next()).collect();
        if let Some((full, reduced)) = check_model(&generate::model(&bytes)) {
            checked += 1;
            smaller += usize::from(reduced < full);
        }
    }
    assert!(checked > 5 && smaller > 2, "dull: {checked} models, {smaller} of them smaller with reduction");
}
