//! What is searched to decide a property: which elements are counted, and which keep their names.

mod crew;
mod explore;
mod kept;
mod look;

use shoal_model::{
    DeadlockKind, During, Job, Logic, Model, Observer, OnlyProgress, Outcome, PropertyId, PropertyKind,
    PropertyResult, Reason, SortId, Statistics, TypedId, Unsupported, Verdict, Violation, Watch,
};
use shoal_tctl::{TctlHalt, unsupported};

use super::{
    layout::{ZoneLayout, can_class, can_lump},
    state::Counting,
    steps::ZoneSteps,
};
pub(crate) use explore::{SearchFinish, ZoneSearch};
pub(crate) use look::Faulting;

/// What the engine is asked beside the job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep the bounds of clocks coarse: one for all locations.
    pub coarse: bool,
}

/// Decides the properties of a model.
pub fn check(model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Unsupported> {
    check_with(model, job, Options::default(), observer)
}

/// The same, with options.
pub fn check_with(
    model: &Model,
    job: &Job,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    support(model, job)?;
    if super::any::is_any(model) {
        return super::any::check(model, job, observer);
    }
    let temporal = |id: &PropertyId| shoal_tctl::is_temporal(&model.properties[*id].kind);
    let (temporal, states): (Vec<PropertyId>, Vec<PropertyId>) =
        job.properties.iter().copied().partition(temporal);
    // Where like elements are counted not every deadlock is seen: they are looked for in a search of their own.
    let apart = !job.symmetric.is_empty() && !super::deadlock::can_lump(model);
    let (deadlocks, states): (Vec<PropertyId>, Vec<PropertyId>) =
        states.into_iter().partition(|id| apart && is_deadlock(&model.properties[*id].kind));
    // What is asked of states is decided first: it takes less, and stays if a limit ends the rest.
    let mut outcome: Option<Outcome> = None;
    for (properties, of_runs) in [(states, false), (deadlocks, false), (temporal, true)] {
        if properties.is_empty() {
            continue;
        }
        let part = Job { properties, ..job.clone() };
        let decided = match of_runs {
            true => crate::formulas::check(model, &part, observer)?,
            false => check_states(model, &part, options, observer)?,
        };
        outcome = Some(match outcome {
            Some(before) => joined(before, decided),
            None => decided,
        });
    }
    let Some(mut outcome) = outcome else { return check_states(model, job, options, observer) };
    let place = |id: PropertyId| job.properties.iter().position(|it| *it == id);
    outcome.results.sort_by_key(|result| place(result.property));
    Ok(outcome)
}

/// What two searches found, with the figures of the first.
fn joined(mut one: Outcome, mut other: Outcome) -> Outcome {
    one.results.append(&mut other.results);
    one.failing = one.failing.or(other.failing);
    one.statistics.time += other.statistics.time;
    one.statistics.notes.append(&mut other.statistics.notes);
    one
}

/// Decides properties of single states.
fn check_states(
    model: &Model,
    job: &Job,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    // How a deadlock that is one only in some states is to be found where like elements are counted is not known.
    let conditional = |property: &PropertyId| {
        let kind = &model.properties[*property].kind;
        matches!(kind, PropertyKind::Deadlock(DeadlockKind::StuckUnless(_)) | PropertyKind::CoverDeadlock(_))
    };
    let apart = super::bounds::are_asked(model)
        && super::bounds::concern_elements(model, &ZoneLayout::new(model, &[])?)?;
    let conditional = job.properties.iter().any(conditional);
    let deadlock = asks_deadlock(model, job) && !super::deadlock::can_lump(model);
    if deadlock
        && !apart
        && !conditional
        && let Some(outcome) = holds_folded(model, job, observer)?
    {
        return Ok(outcome);
    }
    let named = apart || conditional || deadlock;
    let lumps = |sort: &SortId| {
        !named && job.symmetric.contains(sort) && can_class(model, *sort) && can_lump(model, *sort)
    };
    let lumped: Vec<SortId> = model.sorts.ids().filter(lumps).collect();
    search_with(model, job, &lumped, Counting { cut: None }, options, observer)
}

/// Decides properties in a search in which every element keeps its clocks, but like elements change places. Nothing if they do not
/// all hold: what is to be shown is then found among states in which every element has its name.
fn holds_folded(
    model: &Model,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, Unsupported> {
    let steps = match steps_folded(model, job) {
        Ok(steps) if steps.folds() => steps,
        Ok(_) => return Ok(None),
        Err(halt) => return Ok(Some(Outcome::unknown(&job.properties, &halt.reason()?))),
    };
    let folded = |sort: &SortId| steps.free[sort.index()].len() > 1;
    let folded: Vec<SortId> = model.sorts.ids().filter(folded).collect();
    let outcome = search_steps(steps, job, &folded, &mut OnlyProgress(observer))?;
    let covers = |result: &PropertyResult| {
        matches!(
            model.properties[result.property].kind,
            PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_)
        )
    };
    let is_final = |result: &PropertyResult| match &result.verdict {
        Verdict::Holds => !covers(result),
        Verdict::Unknown(_) => true,
        Verdict::Violated(_) => false,
    };
    if !outcome.results.iter().all(is_final) {
        return Ok(None);
    }
    // (How many states one of them stands for is not kept.)
    let statistics = Statistics { states_full: None, ..outcome.statistics };
    Ok(Some(Outcome { statistics, ..outcome }))
}

/// Searches with some sorts lumped, and counts as they are said to add up.
pub(crate) fn search_with(
    model: &Model,
    job: &Job,
    lumped: &[SortId],
    counting: Counting,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    let steps = match steps(model, &job.properties, lumped, counting, options, &job.watch) {
        Ok(steps) => steps,
        Err(halt) => return Ok(Outcome::unknown(&job.properties, &halt.reason()?)),
    };
    search_steps(steps, job, lumped, observer)
}

/// Searches by some steps, in which some sorts are reduced by symmetry.
fn search_steps(
    steps: ZoneSteps<'_>,
    job: &Job,
    lumped: &[SortId],
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    let model = steps.model;
    let mut search = ZoneSearch::new(steps, job);
    search.steps.futures = asks_deadlock(model, job);
    let end = search.run(job, observer)?;
    let (exhaustive, stop) = match end {
        SearchFinish::All => (true, None),
        SearchFinish::Decided => (false, None),
        SearchFinish::Stopped(reason) => (false, Some(reason)),
    };
    let statistics = search.statistics(exhaustive, lumped);
    let mut outcome = Outcome { results: Vec::new(), failing: search.failing(), statistics };
    for (position, property) in job.properties.iter().enumerate() {
        let kind = &model.properties[*property].kind;
        let covers = matches!(kind, PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_));
        let verdict = match (search.results[position].take(), &stop) {
            (Some(verdict), _) => verdict,
            (None, Some(reason)) => Verdict::Unknown(reason.clone()),
            (None, None) if covers => {
                Verdict::Violated(Box::new(Violation { reason: Reason::NeverCovered, trace: None }))
            }
            (None, None) => Verdict::Holds,
        };
        outcome.results.push(PropertyResult { property: *property, verdict });
    }
    Ok(outcome)
}

/// The verdict on a property by a fault of one of its conditions in some state; nothing if there is no such state.
pub(crate) fn fault_of(
    model: &Model,
    job: &Job,
    property: PropertyId,
    observer: &mut dyn Observer,
) -> Result<Option<Verdict>, TctlHalt> {
    let everything = Job { properties: Vec::new(), patience: None, ..job.clone() };
    let mut search = ZoneSearch::new(steps_by_name(model, &job.watch)?, &everything);
    if let SearchFinish::Stopped(reason) = search.run(&everything, observer)? {
        return Ok(Some(Verdict::Unknown(reason)));
    }
    for (at, kept) in search.kept.iter().enumerate() {
        for condition in model.properties[property].kind.conditions() {
            for (fault, way) in search.steps.judge(&kept.state, condition, true)?.faults {
                if kept.state.zone.clone().constrain_all(way.iter().copied()) {
                    let reason = Reason::Fault(During::Property(property), fault);
                    return Ok(Some(Verdict::Violated(Box::new(search.shown(at, reason, &way)?))));
                }
            }
        }
    }
    Ok(None)
}

fn is_deadlock(kind: &PropertyKind) -> bool {
    matches!(kind, PropertyKind::Deadlock(_) | PropertyKind::CoverDeadlock(_))
}

fn asks_deadlock(model: &Model, job: &Job) -> bool {
    job.properties.iter().any(|property| is_deadlock(&model.properties[*property].kind))
}

/// The steps of a model with some sorts lumped, for deciding some properties.
fn steps<'m>(
    model: &'m Model,
    properties: &[PropertyId],
    lumped: &[SortId],
    counting: Counting,
    options: Options,
    watch: &Watch,
) -> Result<ZoneSteps<'m>, TctlHalt> {
    let classes: Vec<SortId> = model.sorts.ids().filter(|sort| can_class(model, *sort)).collect();
    ZoneSteps::new(model, &classes, pinned(model, properties, lumped), counting, !options.coarse, watch)
}

/// The steps of a model in which every element has its name.
pub(crate) fn steps_by_name<'m>(model: &'m Model, watch: &Watch) -> Result<ZoneSteps<'m>, TctlHalt> {
    steps(model, &[], &[], Counting { cut: None }, Options::default(), watch)
}

/// The same; elements of the symmetric sorts change places if neither the model nor a property of the job names them.
pub(crate) fn steps_folded<'m>(model: &'m Model, job: &Job) -> Result<ZoneSteps<'m>, TctlHalt> {
    let mut steps = steps_by_name(model, &job.watch)?;
    let fixed = shoal_analysis::fixed(model, &job.properties);
    for sort in job.symmetric.iter().filter(|sort| can_class(model, **sort) && can_lump(model, **sort)) {
        let named = &fixed[*sort];
        let all = 0..model.sorts[*sort].fixed_size().unwrap_or(0);
        steps.free[sort.index()] = all.filter(|element| !named.contains(element)).collect();
    }
    Ok(steps)
}

/// The elements that are told apart, by sort: those that the model or a property names, or all.
fn pinned(model: &Model, properties: &[PropertyId], lumped: &[SortId]) -> Vec<Vec<u32>> {
    let fixed = shoal_analysis::fixed(model, properties);
    let of = |sort: SortId| match lumped.contains(&sort) {
        true => fixed[sort].iter().copied().collect(),
        false => (0..model.sorts[sort].fixed_size().unwrap_or(0)).collect(),
    };
    model.sorts.ids().map(of).collect()
}

/// Whether the engine decides a property of a model, as far as that can be seen without translating it.
pub fn supports(model: &Model, id: PropertyId) -> Result<(), Unsupported> {
    let property = &model.properties[id];
    let lacks = |construct: &str| unsupported(construct, Some(property.span));
    if super::any::is_any(model) && !super::any::is_of_runs(&property.kind) {
        return lacks("other properties than invariants, assertions and faults for any number");
    }
    match &property.kind {
        PropertyKind::Invariant(_)
        | PropertyKind::Cover(Some(_))
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::NoFaults
        | PropertyKind::Assume(_)
        | PropertyKind::Bound
        | PropertyKind::Assertion
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Deadlock(
            DeadlockKind::Stuck | DeadlockKind::StuckUnless(_) | DeadlockKind::Timelock,
        )
        | PropertyKind::Temporal(Logic::Tctl, _) => Ok(()),
        // Without clocks such a formula speaks of steps. Read in dense time, where a run may wait for ever, it would be
        // another formula.
        PropertyKind::Temporal(Logic::Ctl, _) if !model.has_clocks() => {
            lacks("formulas of branching time in a model without clocks")
        }
        PropertyKind::Temporal(Logic::Ctl, _) => Ok(()),
        PropertyKind::Temporal(Logic::Ltl, _) => lacks("a temporal formula of linear time"),
        PropertyKind::Deadlock(DeadlockKind::Stuttering) => lacks("stuttering deadlocks"),
        PropertyKind::Cover(None) => lacks("covers inside of steps"),
        PropertyKind::Extreme(_) => lacks(property.kind.asks().words()),
        PropertyKind::Unclear(why) => lacks(why),
    }
}

/// Says what the engine lacks before it starts.
fn support(model: &Model, job: &Job) -> Result<(), Unsupported> {
    job.properties.iter().try_for_each(|property| supports(model, *property))
}
