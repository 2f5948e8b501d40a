//! What stands behind properties that hold, in a form that can be written down and checked by others.

use std::sync::Arc;

use shoal_certificate::{Config, OpenInvariant, Proof};
use shoal_cover::CountedModel;
use shoal_model::{DeadlockKind, PropertyId, PropertyKind, SortId, State, Verdict, Watch};

use crate::{Error, Loaded, Report};

/// Why some properties of a model hold.
#[non_exhaustive]
pub struct Certified<'m> {
    /// The properties.
    pub properties: Vec<PropertyId>,
    /// Why they hold.
    pub evidence: Evidence<'m>,
}

/// Why properties hold.
#[non_exhaustive]
pub enum Evidence<'m> {
    /// A counter system and a proof about it.
    Counters {
        /// The system.
        counted: Box<CountedModel<'m>>,
        /// What must not be covered.
        targets: Vec<Config>,
        /// Why it cannot be.
        proof: &'m Proof,
    },
    /// What a few elements can look like among any number.
    Views(Arc<OpenInvariant>),
    /// All states of a finite model, one of each orbit by these sorts.
    States(Vec<SortId>, Vec<State>),
    /// There are more states than anybody wants to write down.
    TooManyStates,
}

/// More states than this have no certificate.
const MOST_CERTIFIED: usize = 5_000_000;

/// Gives what stands behind the properties that hold, one piece after the other. Each is made when it is given, as they may be
/// large.
pub fn certificates<E: From<Error>>(
    loaded: &Loaded,
    report: &Report,
    watch: &Watch,
    mut give: impl FnMut(Certified<'_>) -> Result<(), E>,
) -> Result<(), E> {
    for proved in report.proved.iter().filter(|proved| holds(report, proved.property)) {
        let Some(proof) = &proved.proof else { continue };
        let counted = Box::new(crate::count(loaded, watch)?);
        let targets = counted.targets(proved.property).map_err(Error::Unsupported)?;
        let evidence = Evidence::Counters { counted, targets, proof };
        give(Certified { properties: vec![proved.property], evidence })?;
    }
    for (views, properties) in by_views(loaded, report) {
        give(Certified { properties, evidence: Evidence::Views(views.clone()) })?;
    }
    let properties = by_states(loaded, report);
    if !properties.is_empty() {
        let evidence = match crate::states(loaded, MOST_CERTIFIED, watch)? {
            Some((symmetric, states)) => Evidence::States(symmetric, states),
            None => Evidence::TooManyStates,
        };
        give(Certified { properties, evidence })?;
    }
    Ok(())
}

fn holds(report: &Report, property: PropertyId) -> bool {
    let mut results = report.outcome.results.iter();
    results.any(|result| result.property == property && matches!(result.verdict, Verdict::Holds))
}

/// Properties that the same views prove have one certificate.
fn by_views<'r>(loaded: &Loaded, report: &'r Report) -> Vec<(&'r Arc<OpenInvariant>, Vec<PropertyId>)> {
    // That something can always happen is shown in another way, and checked by itself.
    let is_deadlock =
        |property: PropertyId| matches!(loaded.model.properties[property].kind, PropertyKind::Deadlock(_));
    let mut found: Vec<(&Arc<OpenInvariant>, Vec<PropertyId>)> = Vec::new();
    for proved in report.proved.iter().filter(|proved| holds(report, proved.property)) {
        let Some(views) = &proved.views else { continue };
        let own = is_deadlock(proved.property);
        let same = |(known, others): &&mut (&Arc<OpenInvariant>, Vec<PropertyId>)| {
            **known == *views && is_deadlock(others[0]) == own
        };
        match found.iter_mut().find(same) {
            Some((_, properties)) => properties.push(proved.property),
            None => found.push((views, vec![proved.property])),
        }
    }
    found
}

fn by_states(loaded: &Loaded, report: &Report) -> Vec<PropertyId> {
    let model = &loaded.model;
    if model.has_unfixed_sorts() || model.has_clocks() {
        return Vec::new();
    }
    let properties = report.outcome.results.iter().map(|result| result.property);
    // What has a proof needs no states: there may be no end of them.
    let proved = |id: &PropertyId| report.proved.iter().any(|it| it.property == *id && it.proof.is_some());
    let told =
        |id: &PropertyId| holds(report, *id) && !proved(id) && is_of_states(&model.properties[*id].kind);
    properties.filter(told).collect()
}

/// Whether states by themselves tell that such a property holds.
fn is_of_states(kind: &PropertyKind) -> bool {
    match kind {
        PropertyKind::Invariant(_)
        | PropertyKind::NoFaults
        | PropertyKind::Assertion
        | PropertyKind::Deadlock(
            DeadlockKind::Stuck | DeadlockKind::Stuttering | DeadlockKind::StuckUnless(_),
        ) => true,
        PropertyKind::Deadlock(DeadlockKind::Timelock)
        | PropertyKind::Bound
        | PropertyKind::Assume(_)
        | PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_)
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Temporal(..) => false,
    }
}
