//! Checking a model in which ranges that nothing orders are sorts, and telling of the model it was made of.
//!
//! Nobody sees those sorts: the names and numbers of a report are those of the source.

use shoal_analysis::{SortedRanges, ranges_as_sorts, symmetry_of_steps};
use shoal_model::{
    During, GuardFaults, Job, Model, Observer, Outcome, Progress, PropertyId, PropertyKind, Reason,
    Reduction, Verdict, Violation,
};

use crate::{CheckOptions, EngineKind, Error, Loaded, engines::Engine, inactive, load::MURPHI};

/// Whether ranges of a model are made sorts for a job. All that may fault must be noticed: a quantifier over a sort looks at
/// elements that one over a range does not come to.
pub(crate) fn apply(loaded: &Loaded, options: &CheckOptions, engine: EngineKind, job: &Job) -> bool {
    let model = &loaded.model;
    let saves = options.checkpoints.save.is_some() || options.checkpoints.resume.is_some();
    let kind = |property: &PropertyId| &model.properties[*property].kind;
    let is_followed = |property: &PropertyId| match kind(property) {
        PropertyKind::Invariant(_)
        | PropertyKind::Assertion
        | PropertyKind::NoFaults
        | PropertyKind::Deadlock(_)
        | PropertyKind::Cover(_) => true,
        PropertyKind::Assume(_)
        | PropertyKind::Bound
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Temporal(..)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_) => false,
    };
    loaded.language == MURPHI
        && engine == EngineKind::Explicit
        && options.symmetry
        && !saves
        && job.checked.is_empty()
        && model.guard_faults == GuardFaults::Violate
        && !model.properties.iter().any(|property| matches!(property.kind, PropertyKind::Assume(_)))
        && job.properties.iter().all(is_followed)
        && job.properties.iter().any(|property| matches!(kind(property), PropertyKind::NoFaults))
}

/// Runs an engine on the model with ranges as sorts. Nothing if there are none, or if something faults: then it must be seen
/// where the ranges are ranges.
pub(crate) fn run(
    model: &Model,
    engine: &mut dyn Engine,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, Error> {
    let Some(made) = ranges_as_sorts(model) else { return Ok(None) };
    let symmetry = symmetry_of_steps(&made.model);
    if !job.symmetric.iter().all(|sort| symmetry.sorts[*sort].is_proved()) {
        return Ok(None);
    }
    let symmetric = job.symmetric.iter().copied().chain(made.ids()).collect();
    let asked = Job { symmetric, ..job.clone() };
    let mut inner = RangesObserver { observer, model, made: &made };
    let mut outcome = match engine.check(&made.model, &asked, &mut inner) {
        Err(Error::Unsupported(_)) => return Ok(None),
        found => found?,
    };
    let is_fault = |property: PropertyId| matches!(model.properties[property].kind, PropertyKind::NoFaults);
    let holds = |verdict: &Verdict| matches!(verdict, Verdict::Holds);
    let clear = outcome.results.iter().all(|it| !is_fault(it.property) || holds(&it.verdict));
    if !clear && outcome.results.iter().any(|it| holds(&it.verdict)) {
        return Ok(None);
    }
    for result in &mut outcome.results {
        let is_fault = is_fault(result.property);
        let Verdict::Violated(violation) = &mut result.verdict else { continue };
        let Some(told) = tell(model, &made, violation).filter(|_| !is_fault) else { return Ok(None) };
        **violation = told;
    }
    name_ranges(&made, &mut outcome.statistics.reductions);
    Ok(Some(outcome))
}

/// A violation in terms of the model with ranges; nothing if its run is none there.
pub(crate) fn tell(model: &Model, made: &SortedRanges, violation: &Violation) -> Option<Violation> {
    let trace = match &violation.trace {
        Some(trace) => Some(inactive::again(model, &made.trace(trace))?),
        None => None,
    };
    let mut reason = violation.reason.clone();
    if let Reason::Fault(During::Start(_, args, choices) | During::Body(_, args, choices), _) = &mut reason {
        args.iter_mut().chain(choices).for_each(|value| made.number(value));
    }
    if let Reason::Fault(During::Guard(_, args), _) = &mut reason {
        args.iter_mut().for_each(|value| made.number(value));
    }
    Some(Violation { reason, trace })
}

/// Names the sorts that were ranges: the reader's model does not have them.
fn name_ranges(made: &SortedRanges, reductions: &mut Vec<Reduction>) {
    let mut names = Vec::new();
    for reduction in &mut *reductions {
        if let Reduction::Symmetry(sorts) = reduction {
            for range in made.sorts.iter().filter(|range| sorts.contains(&range.sort)) {
                names.push(range.name.clone());
            }
            sorts.retain(|sort| made.sorts.iter().all(|range| range.sort != *sort));
        }
    }
    reductions.retain(|reduction| *reduction != Reduction::Symmetry(Vec::new()));
    if !names.is_empty() {
        reductions.push(Reduction::Ranges(names));
    }
}

/// Passes on how the search goes, in terms of the model with ranges. Faults wait until they are seen there.
struct RangesObserver<'o> {
    observer: &'o mut dyn Observer,
    model: &'o Model,
    made: &'o SortedRanges,
}

impl Observer for RangesObserver<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.observer.progress(progress);
    }

    fn violation(&mut self, property: PropertyId, violation: &Violation) {
        if !matches!(self.model.properties[property].kind, PropertyKind::NoFaults)
            && let Some(violation) = tell(self.model, self.made, violation)
        {
            self.observer.violation(property, &violation);
        }
    }
}
