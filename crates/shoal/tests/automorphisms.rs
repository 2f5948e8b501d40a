//! Searches reduced by automorphisms against those that are not: verdicts, replayed traces, numbers of states.

use std::collections::BTreeSet;

use shoal_model::{
    Job, Limits, MirrorSearch, Model, Order, Outcome, PartialOrder, PropertyId, Quiet, Reduction, Strategy,
    Watch,
};
use shoal_syntax::SourceMap;

use crate::random::{pids, replayed::violations};

fn load(text: &str) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("model.pml", text);
    let (model, diagnostics) = shoal_promela::load(&sources, id, &shoal_promela::Options::default());
    model.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"))
}

fn run(model: &Model, automorphisms: bool, strategy: Strategy) -> Outcome {
    let limits = Limits { memory: Some(1 << 28), states: Some(20_000), ..Limits::default() };
    let properties = model.properties.ids().collect();
    let automorphisms = if automorphisms { MirrorSearch::First } else { MirrorSearch::Never };
    let job =
        Job { automorphisms, watch: Watch::start(limits), threads: 2, strategy, ..Job::new(properties) };
    shoal_explicit::check(model, &job, &mut Quiet).expect("the engine takes it")
}

fn violated(model: &Model, outcome: &Outcome, text: &str) -> BTreeSet<PropertyId> {
    violations(model, outcome, text).into_keys().collect()
}

fn is_reduced(outcome: &Outcome) -> bool {
    outcome.statistics.reductions.iter().any(|it| matches!(it, Reduction::Automorphisms(_)))
}

fn mutex(count: usize) -> String {
    let others: Vec<String> = (1..=count).map(|at| format!("st[{at}] != C")).collect();
    let runs = vec!["run user()"; count].join("; ");
    format!(
        "mtype = {{ N, T, C }}; mtype st[{}] = N;
proctype user() {{ do
  :: d_step {{ st[_pid] == N -> st[_pid] = T }}
  :: d_step {{ st[_pid] == T && {} -> st[_pid] = C }}
  :: d_step {{ st[_pid] == C -> st[_pid] = N }}
od }}
init {{ atomic {{ {runs} }} }}",
        count + 1,
        others.join(" && ")
    )
}

/// One state of each orbit: how many idle, how many try, and whether one is in; and the one before processes are made.
#[test]
fn one_state_of_each_orbit_is_stored() {
    for count in 2..=10_u64 {
        let model = load(&mutex(count as usize));
        let all = run(&model, false, Strategy::default()).statistics.states;
        assert_eq!(all, 1 + (1 << count) + count * (1 << (count - 1)), "{count}");
        let reduced = run(&model, true, Strategy::default());
        assert!(is_reduced(&reduced));
        assert_eq!(reduced.statistics.states, 2 * count + 2, "{count}");
    }
}

/// A violation by one process is found for all, and told of a run that there is.
#[test]
fn violations_are_runs_of_the_model() {
    let text = mutex(4).replace("st[_pid] == C -> ", "st[_pid] == C -> assert(st[3] != T);");
    let model = load(&text);
    let reduced = run(&model, true, Strategy::default());
    assert!(is_reduced(&reduced));
    assert_eq!(
        violated(&model, &reduced, &text),
        violated(&model, &run(&model, false, Strategy::default()), &text)
    );
}

/// Six processes that count.
const COUNTING: &str = "byte st[6]; active [6] proctype P() { do :: st[_pid] = (st[_pid] + 1) % 6 od }";

fn searched(text: &str, job: Job) -> (Model, Outcome) {
    let model = load(text);
    let limits = Limits { memory: Some(1 << 28), ..Limits::default() };
    let properties = model.properties.ids().collect();
    let job = Job { properties, watch: Watch::start(limits), threads: 2, ..job };
    let outcome = shoal_explicit::check(&model, &job, &mut Quiet).expect("the engine takes it");
    (model, outcome)
}

/// A search that turns out to be large looks for automorphisms and begins anew; a small one does not look.
#[test]
fn a_large_search_begins_anew_with_automorphisms() {
    let later = || Job { automorphisms: MirrorSearch::WhenLarge, ..Job::new(Vec::new()) };
    let (_, all) = searched(COUNTING, Job::new(Vec::new()));
    assert_eq!(all.statistics.states, 6_u64.pow(6));
    let (_, reduced) = searched(COUNTING, later());
    assert!(is_reduced(&reduced) && reduced.statistics.exhaustive);
    assert_eq!(reduced.statistics.states, 462, "multisets of 6 numbers below 6");
    assert!(reduced.statistics.notes.iter().any(|note| note.contains("began anew")));
    let (_, small) = searched(&mutex(6), later());
    assert!(!is_reduced(&small));
    // What is wrong at the very end is found, and told of a run that there is.
    let text = "byte st[5], done; active [5] proctype P() { do
        :: atomic { st[_pid] < 7 -> st[_pid]++ }
        :: atomic { st[_pid] == 7 -> st[_pid] = 8; done++; assert(done < 5) } od }";
    let (model, found) = searched(text, later());
    assert!(is_reduced(&found));
    let (_, plain) = searched(text, Job::new(Vec::new()));
    assert_eq!(violated(&model, &found, text), violated(&model, &plain, text));
    assert!(!violated(&model, &found, text).is_empty());
}

/// Where no steps are put off, all orders are taken; where some are, that goes on.
#[test]
fn partial_order_reduction_that_gains_nothing_ends() {
    let strategy = Strategy { partial_order: PartialOrder::Agents, ..Strategy::default() };
    let orders = |text: &str, adapts: bool| {
        let (_, outcome) = searched(text, Job { strategy, adapts, ..Job::new(Vec::new()) });
        (outcome.statistics.states, outcome.statistics.reductions.contains(&Reduction::PartialOrder))
    };
    let in_vain = mutex(11);
    assert_eq!(orders(&in_vain, false), (13_313, true));
    assert_eq!(orders(&in_vain, true), (13_313, false));
    let gains = "byte n; active [2] proctype P() { byte i, j; do :: i < 40 -> i++; j = i; n = (n + j) % 7 :: else -> i = 0 od }";
    let (with, without) = (orders(gains, true), orders(gains, false));
    assert_eq!(with, without);
    assert!(with.1 && with.0 > 8_192, "dull: {with:?}");
}

#[test]
fn random_models_come_out_the_same() {
    let mut seed = 7_u64;
    let (mut compared, mut smaller) = (0, 0);
    for _ in 0..crate::random::dose(60) {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 56) as u8
        };
        let bytes: Vec<u8> = (0..60).map(|_| next()).collect();
        let text = pids::model(&bytes);
        let model = load(&text);
        let plain = run(&model, false, Strategy::default());
        if !plain.statistics.exhaustive {
            continue;
        }
        let expected = violated(&model, &plain, &text);
        for (order, partial_order) in [
            (Order::BreadthFirst, PartialOrder::Off),
            (Order::BreadthFirst, PartialOrder::Agents),
            (Order::DepthFirst, PartialOrder::Agents),
        ] {
            let strategy = Strategy { order, partial_order, ..Strategy::default() };
            let reduced = run(&model, true, strategy);
            assert_eq!(violated(&model, &reduced, &text), expected, "{order:?} {partial_order:?}\n{text}");
            assert!(reduced.statistics.states <= plain.statistics.states, "more states\n{text}");
            compared += usize::from(is_reduced(&reduced));
            smaller += usize::from(
                is_reduced(&reduced)
                    && partial_order == PartialOrder::Off
                    && reduced.statistics.states < plain.statistics.states,
            );
        }
    }
    assert!(compared > 2 && smaller > 0, "dull: {compared} compared, {smaller} smaller");
}
