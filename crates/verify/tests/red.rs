//! Any number of processes that point to each other: models in Red, beside brute force.

use shoal_interpret::explore;
use shoal_model::{Model, PropertyId, State, Watch};
use shoal_syntax::SourceMap;
use shoal_template::{Options, Setting};
use shoal_verify::{check_windows, missing_window};
use shoal_views::{Budget, ViewConfig, abstraction};

fn load(name: &str, setting: Setting) -> Model {
    let path = format!("{}/../../models/red/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a model of the gallery");
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let options = Options { set: vec![("M".into(), setting)], ..Options::default() };
    let (model, diagnostics) = shoal_red::load(&sources, id, &options);
    assert!(!diagnostics.has_errors(), "{name}: {diagnostics:?}");
    model.expect("a model")
}

/// All is proved with these views, the checker agrees, and all windows onto states of instances with up to 4 processes are
/// among them.
fn proves(name: &str, config: &ViewConfig) {
    let model = load(name, Setting::Any);
    let asked: Vec<PropertyId> = model.properties.ids().collect();
    let mut stop = || false;
    let mut budget = Budget { runs: 3_000_000, stop: &mut stop };
    let found = abstraction(&model, &asked, config, &mut budget).expect("it is supported");
    println!("{name}: {} views, {} runs", found.views, found.runs);
    assert_eq!(found.proved, asked, "{name}: {:?}", found.failed);
    check_windows(&model, &found.invariant, &found.proved, &[], Some(1_000), &Watch::default())
        .unwrap_or_else(|doubt| panic!("{name}: {doubt:?}"));
    for number in 1..=4 {
        let instance = load(name, Setting::Number(number));
        let searched = explore(&instance, 3_000).expect("it can be run");
        assert!(searched.violated.is_empty(), "{name} with {number}");
        if config.order.is_none() && number >= config.elements[0] as i64 {
            let states: Vec<(&Model, &State)> =
                searched.reached.iter().map(|state| (&instance, state)).collect();
            assert_eq!(missing_window(&model, &found.invariant, &states), Ok(None), "{name} with {number}");
        }
    }
}

#[test]
fn leaders_of_any_number_of_processes() {
    proves(
        "leader.red",
        &ViewConfig { elements: vec![1], least: Vec::new(), bits: true, order: None, more: 3 },
    );
}

#[test]
fn a_cycle_of_any_number_of_processes() {
    proves(
        "cycle.red",
        &ViewConfig { elements: vec![2], least: Vec::new(), bits: false, order: Some(0), more: 4 },
    );
}

#[test]
fn what_is_more_than_a_number_of_processes_is_refused() {
    let (name, message) = ("buffer.red", "is the number of no processes");
    let path = format!("{}/../../models/red/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut sources = SourceMap::new();
    let id = sources.add(name, std::fs::read_to_string(path).expect("a model of the gallery"));
    let options = Options { set: vec![("M".into(), Setting::Any)], ..Options::default() };
    let (model, diagnostics) = shoal_red::load(&sources, id, &options);
    assert!(model.is_none() && format!("{diagnostics:?}").contains(message), "{diagnostics:?}");
}
