//! A run told by who does what.

use shoal_analysis::symmetry_of_steps;
use shoal_interpret::Blame;
use shoal_model::{Model, PropertyId, SortId, Trace, Violation};
use shoal_story::{Directions, ObservedParts, Story, Telling, Wrong};

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
    let story = story(loaded, &model, violation.trace.as_ref()?, Some(wrong))?;
    Some(Told { model, story, causes })
}

fn story(loaded: &Loaded, model: &Model, trace: &Trace, wrong: Option<Wrong<'_>>) -> Option<Story> {
    let symmetry = symmetry_of_steps(model);
    let symmetric: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    let directions = Directions::of(&loaded.sources);
    shoal_story::tell(model, trace, Telling { directions: &directions, symmetric: &symmetric, wrong })
}

/// The parts of a condition that are false at the end of a violation's run, on a model with as many elements as the run has.
pub fn blamed(model: &Model, property: PropertyId, violation: &Violation) -> Vec<Blame> {
    check::blame(model, property, violation)
}

/// The story of a run that shows nothing wrong.
pub fn tell_walk(loaded: &Loaded, trace: &Trace) -> Option<Told> {
    let model = loaded.model.sized_as(&trace.state);
    let story = story(loaded, &model, trace, None)?;
    Some(Told { model, story, causes: Vec::new() })
}

/// The story of a run of which only the states are known: the rules of the model are names, and who takes part was read off the states.
pub fn tell_observed(loaded: &Loaded, trace: &Trace, parts: &ObservedParts) -> Option<Told> {
    let model = loaded.model.clone();
    let mut story = shoal_story::tell_observed(&model, trace, parts)?;
    story.strange.push("told from the file alone: its model is not here".into());
    Some(Told { model, story, causes: Vec::new() })
}
