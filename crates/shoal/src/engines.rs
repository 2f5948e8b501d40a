//! Running the engine that the plan names; where `auto` chose one that lacks something, the next.

use shoal_explicit::Refusal;
use shoal_model::{Job, Logic, Model, Observer, Outcome, PropertyId, PropertyKind, Unsupported};

use crate::{
    CheckOptions, Engine, Error, Plan,
    checkpoint::{Files, about},
};

/// The engine for these properties, and why, where nobody asked for one.
pub(crate) fn choose(model: &Model, asked: &[PropertyId]) -> (Engine, Option<&'static str>) {
    let branching =
        |id: &PropertyId| matches!(model.properties[*id].kind, PropertyKind::Temporal(Logic::Ctl, _));
    match asked.iter().any(branching) {
        true => (Engine::Symbolic, Some("sets of states as decision diagrams: formulas of branching time")),
        false => (Engine::Explicit, None),
    }
}

/// Runs the engine of the plan; gives why the search could not be saved, if it was to be.
pub(crate) fn run(
    model: &Model,
    plan: &mut Plan,
    job: &Job,
    options: &CheckOptions,
    observer: &mut dyn Observer,
) -> Result<(Outcome, Option<String>), Error> {
    match plan.engine {
        Engine::Explicit => explicit(model, job, options, observer),
        engine => {
            let saves = options.checkpoints.save.is_some() || options.checkpoints.resume.is_some();
            if saves {
                let construct = "saving a search and going on with it".into();
                return Err(Error::Unsupported(Unsupported { engine: engine.name(), construct, span: None }));
            }
            let outcome = match engine {
                Engine::Counters => shoal_counters::check(model, job, options.counters, observer),
                Engine::Symbolic | Engine::Explicit => shoal_symbolic::check(model, job, observer),
            };
            Ok((outcome.map_err(Error::Unsupported)?, None))
        }
    }
}

fn explicit(
    model: &Model,
    job: &Job,
    options: &CheckOptions,
    observer: &mut dyn Observer,
) -> Result<(Outcome, Option<String>), Error> {
    let mut files = Files::new(&options.checkpoints, model, job)?;
    let outcome = shoal_explicit::check_and_keep(model, job, observer, &mut files);
    let outcome = outcome.map_err(|refusal| match (refusal, &options.checkpoints.resume) {
        (Refusal::Unsupported(unsupported), _) => Error::Unsupported(unsupported),
        (Refusal::Saved(error), Some(folder)) => about(folder, &error),
        (Refusal::Saved(error), None) => Error::Internal(error.to_string()),
    })?;
    Ok((outcome, files.problem))
}
