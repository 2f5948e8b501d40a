//! Models of the gallery whose sets of views are known.

use shoal_model::{Model, PropertyId, SortSize};
use shoal_syntax::SourceMap;
use shoal_views::{Abstraction, Budget, Failure, ViewConfig, abstraction};

fn load(name: &str, any: &[&str]) -> Model {
    let path = format!("{}/../../models/murphi/{name}", env!("CARGO_MANIFEST_DIR"));
    read(name, &std::fs::read_to_string(path).expect("a model of the gallery"), any)
}

fn read(name: &str, text: &str, any: &[&str]) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let any = any.iter().map(ToString::to_string).collect();
    let options = shoal_murphi::Options { any, ..shoal_murphi::Options::default() };
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &options);
    assert!(!diagnostics.has_errors(), "{name}");
    model.expect("a model")
}

/// Views of so many elements of the sorts with any number, in their order.
fn views(model: &Model, counts: &[usize], bits: bool, more: usize) -> Result<Abstraction, Failure> {
    let mut counts = counts.iter();
    let count = |size: SortSize| match size {
        SortSize::Any => counts.next().copied().unwrap_or(0),
        SortSize::Fixed(_) | SortSize::Growing { .. } => 0,
    };
    let elements = model.sorts.iter().map(|sort| sort.size).map(count).collect();
    let asked: Vec<PropertyId> = model.properties.ids().collect();
    let mut stop = || false;
    let mut budget = Budget { runs: 3_000_000, stop: &mut stop };
    abstraction(
        model,
        &asked,
        &ViewConfig { elements, least: Vec::new(), bits, order: None, more },
        &mut budget,
    )
}

fn proved(model: &Model, found: &Abstraction) -> Vec<String> {
    found.proved.iter().map(|property| model.properties[*property].name.clone()).collect()
}

/// A model, what has any number in it, how many elements of each a view has, whether it has bits, and how many views there are.
type Case = (&'static str, &'static [&'static str], &'static [usize], bool, usize);

#[test]
fn the_views_of_the_gallery() {
    let cases: [Case; 4] = [
        ("two_phase_commit.m", &["N"], &[1], false, 27),
        ("msi_bus.m", &["N"], &[1], true, 66),
        ("msi_bus.m", &["N", "VALUES"], &[1, 0], true, 33),
        ("german.m", &["N", "VALUES"], &[1, 0], true, 263),
    ];
    for (name, any, counts, bits, count) in cases {
        let model = load(name, any);
        let found = views(&model, counts, bits, 3).expect("it is supported");
        assert_eq!(found.views, count, "{name}");
        // Whether something can always happen is seen with fewer bits.
        let mut proved = proved(&model, &found);
        proved.retain(|name| name != "deadlock");
        assert_eq!(proved.len(), model.properties.len() - 1, "{name}: {proved:?} {:?}", found.failed);
    }
}

#[test]
fn views_without_bits_do_not_prove_what_is_about_somebody() {
    let model = load("msi_bus.m", &["N"]);
    let found = views(&model, &[1], false, 3).expect("it is supported");
    assert!(!proved(&model, &found).contains(&"memory is fresh unless modified elsewhere".into()));
}

/// With the order in which threads came, the queue of a lock is known to be one queue.
#[test]
fn the_order_of_coming_proves_what_is_about_a_whole_queue() {
    let model = load("mcs_lock.m", &["N"]);
    let asked: Vec<PropertyId> = model.properties.ids().collect();
    let mut stop = || false;
    let mut budget = Budget { runs: 5_000_000, stop: &mut stop };
    let config = ViewConfig { elements: vec![2], least: Vec::new(), bits: false, order: Some(0), more: 4 };
    let found = abstraction(&model, &asked, &config, &mut budget).expect("it is supported");
    assert_eq!((found.views, found.proved.len()), (1229, asked.len()), "{:?}", found.failed);
}

/// Threads that wait for each other's nodes refer to no thread; their order is that of who watches a node.
#[test]
fn the_order_of_coming_is_that_of_a_part_of_a_question() {
    let model = load("clh_lock.m", &["N"]);
    let asked: Vec<PropertyId> = model.properties.ids().collect();
    let mut stop = || false;
    let mut budget = Budget { runs: 300_000, stop: &mut stop };
    let (elements, least) = (vec![2, 1], vec![1, 2]);
    let config = ViewConfig { elements, least, bits: false, order: Some(0), more: 4 };
    let found = abstraction(&model, &asked, &config, &mut budget).expect("it is supported");
    assert_eq!((found.views, found.proved.len()), (511, asked.len()), "{:?}", found.failed);
}

/// Memory is stale only while some cache answers for it: whoever did so before a step that changes all caches does so after it, or
/// the step makes another. What a function asks of an element is asked of others, too.
#[test]
fn who_satisfied_something_before_a_loop_is_looked_at() {
    let text = "
const N: 3;
type cache: scalarset(N); line: enum { M, O, S, I };
var state: array [cache] of line; stale: boolean;
function answers(l: line): boolean; begin return l = M | l = O; end;
startstate begin for c: cache do state[c] := I; end; stale := false; end;
ruleset c: cache do
  rule \"read\" state[c] = I ==> begin
    for d: cache do if state[d] = M then state[d] := O; end; end; state[c] := S; end;
  rule \"write\" state[c] != M ==> begin
    for d: cache do state[d] := I; end; state[c] := M; stale := true; end;
  rule \"write back\" answers(state[c]) ==> begin state[c] := I; stale := false; end;
end;
invariant \"stale\" stale -> exists c: cache do answers(state[c]) end;
";
    let model = read("stale.m", text, &["N"]);
    let found = views(&model, &[1], true, 3).expect("it is supported");
    assert!(proved(&model, &found).contains(&"stale".into()), "{:?}", found.failed);
}
