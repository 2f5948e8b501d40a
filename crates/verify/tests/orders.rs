//! Views that show in which order elements came: what they prove, and that the checker accepts it.

use shoal_model::{Model, PropertyId, Watch};
use shoal_verify::check_windows;
use shoal_views::{Abstraction, Budget, Mutant, ViewConfig, abstraction, with_mutant};

use crate::gallery::load;

fn views(model: &Model, count: usize, order: Option<usize>) -> Abstraction {
    let asked: Vec<PropertyId> = model.properties.ids().collect();
    let mut stop = || false;
    let mut budget = Budget { runs: 30_000_000, stop: &mut stop };
    let config = ViewConfig { elements: vec![count], least: Vec::new(), bits: false, order, more: 4 };
    abstraction(model, &asked, &config, &mut budget).expect("it is supported")
}

#[test]
fn the_queue_of_a_lock_is_one_queue() {
    let model = load("mcs_lock.m", &["N"]);
    let found = views(&model, 2, Some(0));
    assert_eq!(found.proved.len(), model.properties.len(), "{:?}", found.failed);
    let looked = check_windows(&model, &found.invariant, &found.proved, &[], Some(2_000), &Watch::default());
    let looked = looked.unwrap_or_else(|doubt| panic!("{doubt:?}"));
    assert_eq!(looked.all, found.views);
}

/// Views that were not there when they were looked for may be found later, and so may views that would have been looked at:
/// who forgets that, and does not look once more at the end, ends with fewer views than steps lead to.
#[test]
fn forgotten_dependencies_are_noticed() {
    let model = load("mcs_lock.m", &["N"]);
    assert_eq!(views(&model, 2, None).views, 721);
    for mutant in [Mutant::AbsenceIsForgotten, Mutant::PresenceIsForgotten] {
        let found = with_mutant(mutant, || views(&model, 2, None));
        assert!(found.views < 721, "{mutant:?}: {} views", found.views);
    }
}
