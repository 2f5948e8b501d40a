//! Running a saved trace again.

use shoal_interpret::{ReplayError, StepError};
use shoal_model::{GuardFaults, PropertyId, State, Trace, Violation};

use crate::Loaded;

/// What became of a violation when its trace was run again, on a model that may have changed since.
#[derive(Clone, Debug, PartialEq)]
pub enum Replayed {
    /// The run happens, and the property is violated at its end as the trace says.
    Violated,
    /// Something else is wrong on the way or at the end: what.
    ViolatedOtherwise(String),
    /// The violation is gone: the run ends otherwise now, or does not happen any more.
    Differs(Difference),
    /// It is not known, as it was not looked at long enough.
    Unsettled(String),
    /// The trace is not one of this model: why.
    DoesNotFit(String),
}

/// The first thing that is not as a trace says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The step at which it shows, 0 for the start; nothing if the whole run happens and only its end is judged otherwise.
    pub step: Option<usize>,
    /// What it is, in words.
    pub words: String,
    /// Where a step leads to another state: that of the trace, and the one it leads to now.
    pub states: Option<(State, State)>,
}

/// Runs a trace again, step by step, with the reference interpreter.
pub fn replay(loaded: &Loaded, trace: &Trace) -> Result<(), String> {
    shoal_interpret::replay(&loaded.model.sized_as(&trace.state), trace).map_err(|error| error.to_string())
}

/// Runs the trace of a violation again and looks whether the property is violated at its end as it says.
pub fn replay_violation(loaded: &Loaded, property: &str, violation: &Violation) -> Replayed {
    let named = match crate::select(loaded, &[property.to_string()]) {
        Ok(named) => named,
        Err(error) => return Replayed::DoesNotFit(error.to_string()),
    };
    let sized = crate::check::sized(loaded, violation);
    let model = sized.as_ref().unwrap_or(&loaded.model);
    // Several properties may bear one name: the trace is of one that it violates, or of none.
    let mut first = None;
    let is_named = |id: &PropertyId| {
        let known = &loaded.model.properties[*id];
        known.name == property || known.title() == property
    };
    for id in named.into_iter().filter(is_named) {
        match shoal_interpret::confirm(model, id, violation) {
            Ok(()) => return Replayed::Violated,
            Err(error) => drop(first.get_or_insert(error)),
        }
    }
    match first {
        Some(error) => explain(loaded.model.guard_faults, violation, error),
        None => Replayed::DoesNotFit(format!("no property is selected by {property:?}")),
    }
}

/// What an error of the replay says of the violation. Every kind is named: one that is forgotten must not read as "no longer violated".
fn explain(guard_faults: GuardFaults, violation: &Violation, error: ReplayError) -> Replayed {
    let words = error.to_string();
    let ends_otherwise = |words: String| {
        let words = format!("the run happens as saved, but {words}");
        Replayed::Differs(Difference { step: None, words, states: None })
    };
    match error {
        ReplayError::NotRunnable(_) | ReplayError::WrongTrace | ReplayError::WrongReason => {
            Replayed::DoesNotFit(words)
        }
        ReplayError::Step { at, why } => match why {
            StepError::NoInstance => Replayed::DoesNotFit(words),
            // Where a guard that faults is false, the rule is only disabled.
            StepError::GuardFaults(_) if guard_faults == GuardFaults::Disable => {
                Replayed::Differs(Difference { step: Some(at), words, states: None })
            }
            StepError::GuardFaults(_) | StepError::Faults(_) => Replayed::ViolatedOtherwise(words),
            StepError::OtherState(found) => {
                let saved = violation.trace.as_ref().and_then(|trace| trace.states().nth(at).cloned());
                let states = saved.map(|saved| (saved, *found));
                Replayed::Differs(Difference { step: Some(at), words, states })
            }
            StepError::NoDelay(_)
            | StepError::Disabled
            | StepError::Priority
            | StepError::WrongChoices
            | StepError::Discarded
            | StepError::Dropped(_) => Replayed::Differs(Difference { step: Some(at), words, states: None }),
        },
        ReplayError::OtherFault(_) => Replayed::ViolatedOtherwise(words),
        ReplayError::LoopOpen
        | ReplayError::ConditionHolds
        | ReplayError::NoFault
        | ReplayError::NotDeadlock
        | ReplayError::FormulaHolds
        | ReplayError::Unfair
        | ReplayError::Possible => ends_otherwise(words),
        ReplayError::NotConfirmed { .. } => Replayed::Unsettled(words),
    }
}
