//! Models made by hand, one for each way to keep or break a symmetry.

mod builder;
mod effects;
mod hints;
mod loops;
mod mutants;
mod random;
mod ranges;
mod spare;
mod symmetry;

use shoal_analysis::{Break, BreakKind};
use shoal_model::{Model, SortId, TypedId, verify};

/// What breaks the sort `Proc`.
fn breaks(model: &Model) -> Vec<Break> {
    assert_eq!(verify(model), Ok(()));
    shoal_analysis::symmetry(model).sorts[SortId::from_index(0)].breaks.clone()
}

#[track_caller]
fn assert_proved(model: &Model) {
    assert_eq!(breaks(model), []);
}

/// The first break has this kind and this reason.
#[track_caller]
fn assert_broken(model: &Model, kind: BreakKind, reason: &str) {
    let breaks = breaks(model);
    let found = breaks.iter().map(|found| (found.kind, found.reason.as_str())).next();
    assert_eq!(found, Some((kind, reason)));
}
