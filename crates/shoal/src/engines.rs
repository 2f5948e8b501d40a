//! Running the engine that the plan names; where `auto` chose one that lacks something, the next.

use shoal_explicit::Refusal;
use shoal_model::{
    Job, Logic, Model, Observer, Order, Outcome, PropertyId, PropertyKind, Quiet, Representatives, SortSize,
    Storage, Type, Unsupported,
};

use crate::{
    CheckOptions, Engine, Error, Loaded, Plan,
    checkpoint::{Files, about},
};

/// The engine for these properties, where nobody asked for one.
pub(crate) fn choose(loaded: &Loaded, asked: &[PropertyId], options: &CheckOptions) -> Engine {
    let model = &loaded.model;
    let branching =
        |id: &PropertyId| matches!(model.properties[*id].kind, PropertyKind::Temporal(Logic::Ctl, _));
    let timed =
        |id: &PropertyId| matches!(model.properties[*id].kind, PropertyKind::Temporal(Logic::Tctl, _));
    if has_clocks(model) || asked.iter().any(timed) {
        Engine::Timed
    } else if shoal_cover::is_net(model) {
        Engine::Cover
    } else if model.sorts.iter().any(|sort| sort.size == SortSize::Any) {
        if can_count(model, asked, options) { Engine::Cover } else { Engine::Views }
    } else if asked.iter().any(branching) {
        Engine::Symbolic
    } else {
        Engine::Explicit
    }
}

/// Whether elements can be counted, and all that is asked decided by that.
fn can_count(model: &Model, asked: &[PropertyId], options: &CheckOptions) -> bool {
    let is_safety = |id: &PropertyId| {
        matches!(
            model.properties[*id].kind,
            PropertyKind::Invariant(_) | PropertyKind::NoFaults | PropertyKind::Assertion
        )
    };
    let mut quiet = Quiet;
    let mut meter = shoal_cover::Meter::new(&options.watch, &mut quiet);
    asked.iter().all(is_safety) && shoal_cover::Counted::of(model, &mut meter).is_ok()
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
    let engine = plan.engine;
    if engine == Engine::Explicit {
        return explicit(model, job, options, observer);
    }
    refuse(engine, options)?;
    let outcome = match (options.engine, engine) {
        (_, Engine::Timed) => shoal_timed::check(model, job, observer),
        (_, Engine::Symbolic) if options.strategy.order == Order::Backward => {
            shoal_symbolic::check(model, job, observer)
        }
        (_, Engine::Counters) => shoal_counters::check(model, job, options.counters, observer),
        (Some(_), _) => shoal_symbolic::check(model, job, observer),
        (None, _) => branching(model, plan, job, options, observer),
    };
    Ok((outcome.map_err(Error::Unsupported)?, None))
}

/// Formulas of branching time: on counters where the model allows it, else on sets of states. Those of linear time, which
/// neither takes, are decided by the explicit engine.
fn branching(
    model: &Model,
    plan: &mut Plan,
    job: &Job,
    options: &CheckOptions,
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    let linear =
        |id: &PropertyId| matches!(model.properties[*id].kind, PropertyKind::Temporal(Logic::Ltl, _));
    let (linear, rest): (Vec<PropertyId>, Vec<PropertyId>) = job.properties.iter().copied().partition(linear);
    let part = Job { properties: rest, ..job.clone() };
    let counted = match part.symmetric.is_empty() {
        true => None,
        // Where that takes long, sets of states are the better choice.
        false => {
            let counters = shoal_counters::Options { thorough: false, ..options.counters };
            shoal_counters::check(model, &part, counters, observer).ok()
        }
    };
    let mut outcome = match counted {
        Some(outcome) => {
            plan.engine = Engine::Counters;
            plan.reason =
                "counters engine: formulas of branching time about elements that can be counted".into();
            outcome
        }
        None => shoal_symbolic::check(model, &part, observer)?,
    };
    if !linear.is_empty() {
        let others = Job { properties: linear, ..job.clone() };
        outcome.results.extend(shoal_explicit::check(model, &others, observer)?.results);
        let place = |id: PropertyId| job.properties.iter().position(|it| *it == id);
        outcome.results.sort_by_key(|result| place(result.property));
    }
    Ok(outcome)
}

/// What only the explicit engine can do; backwards goes only the symbolic one.
pub(crate) fn refuse(engine: Engine, options: &CheckOptions) -> Result<(), Error> {
    if saves(options) {
        return Err(lacking(engine, "saving a search and going on with it"));
    }
    let backward = (Order::Backward, Storage::Exact);
    let strategy = (options.strategy.order, options.strategy.storage);
    match is_plain(options) || engine == Engine::Symbolic && strategy == backward {
        true => Ok(()),
        false => Err(lacking(engine, "another order of the search, or another storage")),
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
    let how = options.strategy.representatives;
    if matches!(how, Representatives::Gasr | Representatives::Multiple) {
        return Err(lacking(
            Engine::Explicit,
            "representatives that are meant for diagrams (--engine symbolic)",
        ));
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
