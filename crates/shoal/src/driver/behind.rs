//! What is behind a step that fails, by an error or a failed assertion, is not seen: nothing that is said of all states, or of all
//! runs, is known then.

use shoal_model::{
    During, Formula, Model, PropertyId, PropertyKind, PropertyResult, Reason, StopReason, Verdict,
};

/// Whether the property is one that says which steps fail.
pub(super) fn says_what_fails(model: &Model, property: PropertyId) -> bool {
    matches!(model.properties[property].kind, PropertyKind::Assertion | PropertyKind::NoFaults)
}

/// Whether a verdict shows a step, or a start, that fails.
pub(super) fn fails_a_step(verdict: &Verdict) -> bool {
    fn is_step(reason: &Reason) -> bool {
        match reason {
            Reason::Fault(During::Start(..) | During::Guard(..) | During::Body(..), _) => true,
            Reason::After(_, reason) => is_step(reason),
            // What faults in a condition fails no step.
            Reason::Fault(During::Property(_), _)
            | Reason::ConditionFalse
            | Reason::Deadlock
            | Reason::NeverCovered
            | Reason::NotPossible
            | Reason::FormulaFalse => false,
        }
    }
    matches!(verdict, Verdict::Violated(violation) if is_step(&violation.reason))
}

/// Takes back what is not known where a step fails.
pub(super) fn not_followed(model: &Model, results: &mut [PropertyResult]) {
    for result in results {
        let kind = &model.properties[result.property].kind;
        let taken_back = match &result.verdict {
            Verdict::Holds => is_of_all(kind),
            Verdict::Violated(violation) => violation.reason == Reason::NeverCovered,
            Verdict::Unknown(_) => false,
        };
        if taken_back {
            result.verdict = Verdict::Unknown(StopReason::NotFollowed);
        }
    }
}

/// Whether a property that holds says something of all states or runs, and not only that there is one.
fn is_of_all(kind: &PropertyKind) -> bool {
    match kind {
        PropertyKind::Invariant(_)
        | PropertyKind::Deadlock(_)
        | PropertyKind::Assertion
        | PropertyKind::NoFaults
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Extreme(_) => true,
        PropertyKind::Temporal(_, formula) => !shows_a_run(formula),
        // One state was seen; or something else is said of it.
        PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::Assume(_)
        | PropertyKind::Bound
        | PropertyKind::Unclear(_) => false,
    }
}

/// Whether one run, up to some state, shows that a formula is true: it has no part that is about all runs, or about where a run ends.
fn shows_a_run(formula: &Formula) -> bool {
    match formula {
        Formula::Atom(_) => true,
        Formula::And(parts) | Formula::Or(parts) => parts.iter().all(shows_a_run),
        Formula::SomePath(path) => match &**path {
            Formula::Next(of) | Formula::Eventually(_, of) => shows_a_run(of),
            Formula::Until(_, one, other) => shows_a_run(one) && shows_a_run(other),
            Formula::Always(..)
            | Formula::Release(..)
            | Formula::Atom(_)
            | Formula::Not(_)
            | Formula::And(_)
            | Formula::Or(_)
            | Formula::AllPaths(_)
            | Formula::SomePath(_)
            | Formula::Never(_) => false,
        },
        Formula::Not(_)
        | Formula::AllPaths(_)
        | Formula::Next(_)
        | Formula::Always(..)
        | Formula::Eventually(..)
        | Formula::Until(..)
        | Formula::Release(..)
        | Formula::Never(_) => false,
    }
}
