//! Running the engine that the plan names; where `auto` chose one that lacks something, the next.

use shoal_explicit::Refusal;
use shoal_model::{
    Job, Logic, Model, Observer, Order, Outcome, PropertyId, PropertyKind, SortSize, Storage, Type,
    Unsupported,
};

use crate::{
    CheckOptions, Engine, Error, Plan,
    checkpoint::{Files, about},
};

/// The engine for these properties, where nobody asked for one.
pub(crate) fn choose(model: &Model, asked: &[PropertyId]) -> Engine {
    let branching =
        |id: &PropertyId| matches!(model.properties[*id].kind, PropertyKind::Temporal(Logic::Ctl, _));
    if has_clocks(model) {
        Engine::Timed
    } else if model.sorts.iter().any(|sort| sort.size == SortSize::Any) || shoal_cover::is_net(model) {
        Engine::Cover
    } else if asked.iter().any(branching) {
        Engine::Symbolic
    } else {
        Engine::Explicit
    }
}

/// Whether time plays a part in a model.
pub(crate) fn has_clocks(model: &Model) -> bool {
    model.vars.iter().any(|var| model.type_contains(var.ty, &|part| *part == Type::Clock))
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
            if saves(options) {
                return Err(lacking(engine, "saving a search and going on with it"));
            }
            if !is_plain(options) {
                return Err(lacking(engine, "another order of the search, or another storage"));
            }
            let outcome = match engine {
                Engine::Counters => shoal_counters::check(model, job, options.counters, observer),
                Engine::Timed => shoal_timed::check(model, job, observer),
                _ => shoal_symbolic::check(model, job, observer),
            };
            Ok((outcome.map_err(Error::Unsupported)?, None))
        }
    }
}

fn saves(options: &CheckOptions) -> bool {
    options.checkpoints.save.is_some() || options.checkpoints.resume.is_some()
}

/// Whether the search is breadth first and keeps whole states.
fn is_plain(options: &CheckOptions) -> bool {
    (options.strategy.order, options.strategy.storage) == (Order::BreadthFirst, Storage::Exact)
}

fn lacking(engine: Engine, construct: &str) -> Error {
    Error::Unsupported(Unsupported { engine: engine.name(), construct: construct.into(), span: None })
}

fn explicit(
    model: &Model,
    job: &Job,
    options: &CheckOptions,
    observer: &mut dyn Observer,
) -> Result<(Outcome, Option<String>), Error> {
    if saves(options) && !is_plain(options) {
        let construct = "saving a search that is not breadth first or does not keep whole states";
        return Err(lacking(Engine::Explicit, construct));
    }
    let mut files = Files::new(&options.checkpoints, model, job)?;
    let outcome = shoal_explicit::check_and_keep(model, job, observer, &mut files);
    let outcome = outcome.map_err(|refusal| match (refusal, &options.checkpoints.resume) {
        (Refusal::Unsupported(unsupported), _) => Error::Unsupported(unsupported),
        (Refusal::Saved(error), Some(folder)) => about(folder, &error),
        (Refusal::Saved(error), None) => Error::Internal(error.to_string()),
    })?;
    Ok((outcome, files.problem))
}
