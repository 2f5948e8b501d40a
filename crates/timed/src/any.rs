//! Any number of like processes: numbers from a cut on are not told apart.
//!
//! A class has 1, 2, ... members, or so many as the cut or more; taking one out of "two or more" leaves one, or two or
//! more. Every run with any number of processes is a run of this abstraction, so what holds in it holds for every number.
//! A violation in it need not be one: then the cut is raised, and if that does not help the answer is that it is not known.

use shoal_model::{
    Failing, Job, Model, Observer, OnlyProgress, Outcome, PropertyId, PropertyKind, SortId, SortSize,
    StopReason, Unsupported, Verdict,
};
use shoal_tctl::unsupported;

use super::{
    layout::{can_class, can_lump},
    search::{Options, search_with},
    state::Counting,
};

/// The greatest cut that is tried.
const GREATEST_CUT: u32 = 4;

/// Whether a model has a sort of any size.
pub(crate) fn is_any(model: &Model) -> bool {
    model.sorts.iter().any(|sort| sort.size == SortSize::Any)
}

/// Whether a property says that no run comes to something: every run is a run of the abstraction, with the same values and
/// indices, so it faults there too if it faults.
pub(crate) fn is_of_runs(kind: &PropertyKind) -> bool {
    match kind {
        PropertyKind::Invariant(_)
        | PropertyKind::NoFaults
        | PropertyKind::Assertion
        | PropertyKind::Assume(_) => true,
        PropertyKind::Bound
        | PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Deadlock(_)
        | PropertyKind::Temporal(..)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_) => false,
    }
}

/// Decides properties for every number of elements. No verdict is a violation: see the crate's notes.
///
/// An element that is named is told apart from those that are counted, so that instances with fewer elements than are named are not
/// seen. A property speaks of no instance without the elements that it names itself, but of some without those that others name: so
/// each property that names any is decided alone.
pub(crate) fn check(model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Unsupported> {
    let (naming, plain): (Vec<PropertyId>, Vec<PropertyId>) =
        job.properties.iter().copied().partition(|id| names(&model.properties[*id].kind));
    let groups = std::iter::once(plain).chain(naming.into_iter().map(|id| vec![id]));
    let mut all: Option<Outcome> = None;
    for properties in groups.filter(|properties| !properties.is_empty()) {
        let alone = asking(model, &properties);
        let mut found = check_together(&alone, &Job { properties, ..job.clone() }, observer)?;
        if let Some(before) = all {
            found.results = [before.results, found.results].concat();
            found.failing = before.failing.or(found.failing);
            found.statistics.time += before.statistics.time;
        }
        all = Some(found);
    }
    Ok(all.unwrap_or_else(|| Outcome::unknown(&[], &StopReason::NoStart)))
}

/// Whether a property names an element.
fn names(kind: &PropertyKind) -> bool {
    kind.conditions().into_iter().any(|condition| !shoal_analysis::mirror::named(condition).is_empty())
}

/// The model without the properties that name an element, but for some of them and what is given.
fn asking(model: &Model, properties: &[PropertyId]) -> Model {
    let mut alone = model.clone();
    for (id, property) in model.properties.enumerate() {
        let is_given = matches!(property.kind, PropertyKind::Assume(_));
        if !is_given && !properties.contains(&id) && names(&property.kind) {
            alone.properties[id].kind = PropertyKind::Unclear("it is decided alone".into());
        }
    }
    alone
}

fn check_together(model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Unsupported> {
    for (id, sort) in model.sorts.enumerate() {
        if sort.size == SortSize::Any
            && !(job.symmetric.contains(&id) && can_class(model, id) && can_lump(model, id))
        {
            return unsupported(
                format!("any number of `{}`, which is not symmetric", sort.name),
                Some(sort.span),
            );
        }
    }
    if super::bounds::are_asked(model) {
        return unsupported("differences of clocks for any number", None);
    }
    for property in &job.properties {
        if !is_of_runs(&model.properties[*property].kind) {
            return unsupported(
                "other properties than invariants, assertions and faults for any number",
                Some(model.properties[*property].span),
            );
        }
    }
    let lumped: Vec<SortId> = model
        .sorts
        .ids()
        .filter(|id| job.symmetric.contains(id) && can_class(model, *id) && can_lump(model, *id))
        .collect();
    let mut cut = 2;
    loop {
        let counting = Counting { cut: Some(cut) };
        // A start that fails has no trace, and would be told at once as if it were a violation.
        let progress = &mut OnlyProgress(observer);
        let mut outcome = search_with(model, job, &lumped, counting, Options::default(), progress)?;
        let found = |outcome: &Outcome| {
            outcome.failing != Failing::Nothing
                || outcome.results.iter().any(|result| matches!(result.verdict, Verdict::Violated(_)))
        };
        if !found(&outcome) || cut == GREATEST_CUT {
            for result in &mut outcome.results {
                if matches!(result.verdict, Verdict::Violated(_)) {
                    result.verdict = Verdict::Unknown(StopReason::Counts(cut));
                }
            }
            // A state stands for no definite number of states.
            outcome.statistics.states_full = None;
            return Ok(outcome);
        }
        cut += 1;
    }
}
