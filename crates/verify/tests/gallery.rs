//! Proofs by views of models of the gallery are accepted.

use shoal_model::{Model, PropertyId, PropertyKind, SortSize, Watch};
use shoal_syntax::SourceMap;
use shoal_verify::check_windows;
use shoal_views::{Abstraction, Budget, ViewConfig, abstraction};

pub(crate) fn load(name: &str, any: &[&str]) -> Model {
    let any = any.iter().map(ToString::to_string).collect();
    read(name, shoal_murphi::Options { any, ..shoal_murphi::Options::default() })
}

fn read(name: &str, options: shoal_murphi::Options) -> Model {
    let path = format!("{}/../../models/murphi/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("a model of the gallery");
    let mut sources = SourceMap::new();
    let id = sources.add(name, text);
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &options);
    assert!(!diagnostics.has_errors(), "{name}");
    model.expect("a model")
}

fn views(model: &Model, counts: &[usize], bits: bool, more: usize) -> Abstraction {
    let mut counts = counts.iter();
    let count = |size: SortSize| match size {
        SortSize::Any => counts.next().copied().unwrap_or(0),
        SortSize::Fixed(_) | SortSize::Growing { .. } => 0,
    };
    let elements = model.sorts.iter().map(|sort| sort.size).map(count).collect();
    let asked: Vec<PropertyId> = model.properties.ids().collect();
    let mut stop = || false;
    let mut budget = Budget { runs: 30_000_000, stop: &mut stop };
    abstraction(
        model,
        &asked,
        &ViewConfig { elements, least: Vec::new(), bits, order: None, more },
        &mut budget,
    )
    .expect("it is supported")
}

#[test]
fn proofs_of_the_gallery_are_accepted() {
    for (name, any, counts, bits, runs) in [
        ("two_phase_commit.m", &["N"][..], &[1][..], false, None),
        ("msi_bus.m", &["N"], &[1], true, None),
        ("msi_bus.m", &["N", "VALUES"], &[1, 0], true, None),
        ("german.m", &["N", "VALUES"], &[1, 0], true, Some(2_000)),
    ] {
        let model = load(name, any);
        let found = views(&model, counts, bits, 3);
        // That something can always happen is shown in ways that the checker may not follow.
        let mut proved = found.proved.clone();
        proved.retain(|id| !matches!(model.properties[*id].kind, PropertyKind::Deadlock(_)));
        let looked = check_windows(&model, &found.invariant, &proved, &[], runs, &Watch::default());
        let looked = looked.unwrap_or_else(|doubt| panic!("{name}: {doubt:?}"));
        assert_eq!(looked.all, found.views, "{name}");
        assert!(runs.is_some() || looked.windows == looked.all, "{name}");
        assert!(found.proved.len() > 2, "{name}");
    }
}
