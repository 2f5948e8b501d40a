//! A run told by who does what.

use shoal_interpret::Blame;
use shoal_model::{Model, PropertyId, Trace, Violation};
use shoal_story::{Story, Wrong};

use crate::{Loaded, check};

/// A run that was told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Told {
    /// The model that it is a run of: with as many elements as the run has, where the model has any number.
    pub model: Model,
    /// Who does what.
    pub story: Story,
    /// The parts of a condition that are false at its end.
    pub causes: Vec<Blame>,
}

/// The story of a violation. Nothing if there is no run.
pub fn tell(loaded: &Loaded, property: PropertyId, violation: &Violation) -> Option<Told> {
    let model = check::sized(loaded, violation).unwrap_or_else(|| loaded.model.clone());
    let causes = check::blame(&model, property, violation);
    let wrong = Wrong { property, reason: &violation.reason, causes: &causes };
    let story = shoal_story::tell(&model, violation.trace.as_ref()?, Some(wrong))?;
    Some(Told { model, story, causes })
}

/// The parts of a condition that are false at the end of a violation's run, on a model with as many elements as the run has.
pub fn blamed(model: &Model, property: PropertyId, violation: &Violation) -> Vec<Blame> {
    check::blame(model, property, violation)
}

/// The story of a run that shows nothing wrong.
pub fn tell_walk(loaded: &Loaded, trace: &Trace) -> Option<Told> {
    let model = loaded.model.sized_as(&trace.state);
    let story = shoal_story::tell(&model, trace, None)?;
    Some(Told { model, story, causes: Vec::new() })
}
