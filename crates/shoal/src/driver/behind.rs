//! What is behind a step that fails, by an error or a failed assertion, is not seen: nothing that is said of all states, or of all
//! runs, is known then.

use shoal_model::{
    Formula, Logic, Model, PropertyId, PropertyKind, PropertyResult, Reason, StopReason, Verdict,
};

/// Takes back what is not known where a step fails.
pub(super) fn not_followed(model: &Model, results: &mut [PropertyResult]) {
    for result in results {
        if is_of_all(&model.properties[result.property].kind, &result.verdict) {
            result.verdict = Verdict::Unknown(StopReason::NotFollowed);
        }
    }
}

/// Why something is not known that holds as far as no step fails.
pub(super) fn doubted(model: &Model, (of, reason): &(Option<PropertyId>, StopReason)) -> Verdict {
    let words = |why: &str| {
        let name = of.map_or("no step fails", |of| model.properties[of].name.as_str());
        StopReason::AnyNumber(format!("it holds as far as no step fails, but {name:?} is not decided: {why}"))
    };
    Verdict::Unknown(match reason {
        StopReason::AnyNumber(why) | StopReason::Unsupported(why) | StopReason::Unclear(why) => words(why),
        StopReason::Counts(_) | StopReason::Overflow => words(&reason.to_string()),
        StopReason::Time(_)
        | StopReason::Memory(_)
        | StopReason::Depth(_)
        | StopReason::States(_)
        | StopReason::Disk(_)
        | StopReason::Lost(_)
        | StopReason::Interrupted
        | StopReason::Elements(_)
        | StopReason::Bound(_)
        | StopReason::OtherViolation
        | StopReason::NotFollowed
        | StopReason::Omission(_)
        | StopReason::Walks(_)
        | StopReason::NoStart
        | StopReason::Granted(_)
        | StopReason::Internal(_) => reason.clone(),
    })
}

/// Whether a verdict says something of all states or runs, and not only that there is one.
pub(super) fn is_of_all(kind: &PropertyKind, verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Holds => holds_of_all(kind),
        Verdict::Violated(violation) => violation.reason == Reason::NeverCovered,
        Verdict::Unknown(_) => false,
    }
}

/// The same of a property that holds.
fn holds_of_all(kind: &PropertyKind) -> bool {
    match kind {
        PropertyKind::Invariant(_)
        | PropertyKind::Deadlock(_)
        | PropertyKind::Assertion
        | PropertyKind::NoFaults
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Extreme(_) => true,
        // Of all runs, even if it has no temporal operator: it is true where no run is fair, and there may be one behind the step.
        PropertyKind::Temporal(Logic::Ltl, _) => true,
        PropertyKind::Temporal(Logic::Ctl | Logic::Tctl, formula) => !shows_a_run(formula),
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
