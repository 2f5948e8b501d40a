//! Checking a model in which inactive variables are reset, and telling of the model it was made of.

use shoal_analysis::{
    Activity, Forgetful, ObservedRuns, Reduced, Refreshed, activity, forget, narrowed, reduce, refresh,
};
use shoal_interpret::{Firing, Instance, Interpreter};
use shoal_model::{
    DeadlockKind, Job, Model, Observer, Outcome, PartialOrder, Progress, PropertyId, PropertyKind,
    PropertyResult, Reason, Reduction, State, StopReason, Trace, Verdict, Violation,
};

use crate::{CheckOptions, Error, Loaded, engines::Engine, load::RED};

/// The active conditions of variables of elements that are not always active, as far as runs of the model let them be guessed.
pub fn active_conditions(model: &Model) -> Vec<Activity> {
    let narrowed = narrowed(model);
    activity(model, &learn(narrowed.as_ref().unwrap_or(model)))
}

/// Whether inactive variables are reset where nobody says so. The counts of Murphi models, and of Promela models without
/// reduction, are compared with those of other tools.
pub(crate) fn by_default(loaded: &Loaded, options: &CheckOptions) -> bool {
    let of_agents = !loaded.model.agents.is_empty() && options.strategy.partial_order != PartialOrder::Off;
    of_agents || loaded.language == RED
}

/// How often a guess is mended before nothing is guessed any more.
const GUESSES: usize = 8;

/// Runs an engine on the model with inactive variables reset; nothing if no variable is ever inactive.
pub(crate) fn run(
    model: &Model,
    engine: &mut dyn Engine,
    job: &Job,
    asked_for: bool,
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, Error> {
    if !model.agents.is_empty() {
        return forgetful(model, engine, job, observer);
    }
    if let Some(outcome) = of_elements(model, engine, job, asked_for, observer)? {
        return Ok(Some(outcome));
    }
    if asked_for { refreshed(model, engine, job, observer) } else { Ok(None) }
}

/// Runs the engine on the model with stale values reset; nothing if there are none, or if it is not the same model.
fn refreshed(
    model: &Model,
    engine: &mut dyn Engine,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, Error> {
    let Some(Refreshed { model: fresh, parts }) = refresh(model) else { return Ok(None) };
    let Some(no_faults) = no_faults(model) else { return Ok(None) };
    let mut asked = job.clone();
    let added = !asked.properties.contains(&no_faults);
    asked.properties.extend(Some(no_faults).filter(|_| added));
    let mut inner = InactiveObserver { observer: &mut *observer, guess: Some(no_faults) };
    let mut outcome = engine.check(&fresh, &asked, &mut inner)?;
    let mut about = outcome.results.iter().filter(|result| result.property == no_faults);
    match about.next().map(|result| &result.verdict) {
        Some(Verdict::Holds) => {}
        Some(Verdict::Unknown(reason)) => {
            let reason = reason.clone();
            doubt(&mut outcome, &reason);
        }
        Some(Verdict::Violated(_)) | None => return Ok(None),
    }
    outcome.results.retain(|result| !added || result.property != no_faults);
    outcome.statistics.reductions.push(Reduction::Inactive(parts));
    outcome.statistics.states_full = None;
    tell(model, engine, job, observer, &mut outcome)?;
    Ok(Some(outcome))
}

/// That nothing faults.
pub(crate) fn no_faults(model: &Model) -> Option<PropertyId> {
    let mut properties = model.properties.enumerate();
    properties.find(|(_, property)| property.kind == PropertyKind::NoFaults).map(|(id, _)| id)
}

/// Resets variables of elements.
fn of_elements(
    model: &Model,
    engine: &mut dyn Engine,
    job: &Job,
    asked_for: bool,
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, Error> {
    let narrowed = narrowed(model);
    let begun = narrowed.as_ref().unwrap_or(model);
    let mut seen = learn(begun);
    for round in 0..=GUESSES {
        if round == GUESSES {
            seen = ObservedRuns::default();
        }
        let activities = activity(begun, &seen);
        if activities.is_empty() {
            return Ok(None);
        }
        let Reduced { model: reduced, guess } = reduce(begun, &activities);
        let mut asked = job.clone();
        asked.properties.extend(guess);
        let mut observer = InactiveObserver { observer: &mut *observer, guess };
        let mut outcome = match engine.check(&reduced, &asked, &mut observer) {
            // The resets may be what the engine does not take; it is told who asked for them.
            Err(Error::Unsupported(_)) if !asked_for => return Ok(None),
            found => found?,
        };
        let about_guess = |result: &PropertyResult| Some(result.property) == guess;
        let at = outcome.results.iter().position(about_guess);
        let guessed = at.map(|at| outcome.results.remove(at).verdict);
        if let Some(Verdict::Violated(violation)) = &guessed {
            if !observe(model, violation, &mut seen) {
                seen = ObservedRuns::default();
            }
            continue;
        }
        if let Some(Verdict::Unknown(reason)) = guessed {
            doubt(&mut outcome, &reason);
        }
        let shown = activities.iter().flat_map(|it| it.shown(model)).map(|(name, _)| name);
        outcome.statistics.reductions.push(Reduction::Inactive(shown.collect()));
        // These are states of the reduced model, too.
        outcome.statistics.states_full = None;
        tell(model, engine, job, &mut observer, &mut outcome)?;
        return Ok(Some(outcome));
    }
    Ok(None)
}

/// Runs the engine on a model whose agents forget: what is dead there is known, not guessed.
fn forgetful(
    model: &Model,
    engine: &mut dyn Engine,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<Option<Outcome>, Error> {
    let Some(Forgetful { model: reduced, fields }) = forget(model) else { return Ok(None) };
    let mut outcome = engine.check(&reduced, job, observer)?;
    outcome.statistics.reductions.push(Reduction::Inactive(fields));
    outcome.statistics.states_full = None;
    tell(model, engine, job, observer, &mut outcome)?;
    Ok(Some(outcome))
}

/// Passes on how the search goes, but not what only the reduced model asks.
struct InactiveObserver<'o> {
    observer: &'o mut dyn Observer,
    /// What is not passed on.
    guess: Option<PropertyId>,
}

impl Observer for InactiveObserver<'_> {
    fn progress(&mut self, progress: &Progress) {
        self.observer.progress(progress);
    }

    fn violation(&mut self, property: PropertyId, violation: &Violation) {
        if Some(property) != self.guess {
            self.observer.violation(property, violation);
        }
    }
}

/// Where a guess was not confirmed, only a run that can be replayed shows anything.
fn doubt(outcome: &mut Outcome, reason: &StopReason) {
    for result in &mut outcome.results {
        let shown = match &result.verdict {
            Verdict::Violated(violation) => {
                !matches!(violation.reason, Reason::NeverCovered | Reason::NotPossible)
            }
            Verdict::Holds => false,
            Verdict::Unknown(_) => true,
        };
        if !shown {
            result.verdict = Verdict::Unknown(reason.clone());
        }
    }
}

/// Steps of random walks that conditions are guessed from.
const STEPS: usize = 1500;
/// Steps of one walk.
const WALK: usize = 150;

/// Walks through a model at random, always in the same way.
fn learn(model: &Model) -> ObservedRuns {
    if !ObservedRuns::is_of_use(model) {
        return ObservedRuns::default();
    }
    let mut seen = ObservedRuns::none_yet(model);
    let Ok(interpreter) = Interpreter::new(model) else { return ObservedRuns::default() };
    let made = |(start, args)| interpreter.run_start_up_to(16, start, args);
    let starts: Vec<State> = interpreter
        .start_instances()
        .iter()
        .take(16)
        .flat_map(|(start, args)| made((*start, args)))
        .filter_map(|branch| reached(branch.result))
        .take(16)
        .collect();
    let mut random = 1_u64;
    let mut pick = |count: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % count
    };
    let mut steps = 0;
    while steps < STEPS && !starts.is_empty() {
        let mut state = starts[pick(starts.len())].clone();
        for _ in 0..WALK {
            steps += 1;
            seen.look_at(&state);
            let mut next = Vec::new();
            for (instance, branch) in interpreter.steps(&state).branches {
                if let Some(after) = reached(branch.result) {
                    seen.observe(&state, &instance.args, &after);
                    next.push(after);
                }
            }
            if next.is_empty() {
                break;
            }
            state = next[pick(next.len())].clone();
        }
    }
    seen
}

fn reached(firing: Firing) -> Option<State> {
    match firing {
        Firing::State(state) => Some(state),
        _ => None,
    }
}

/// Learns from a run on which a guess was wrong; says whether there was anything to learn.
fn observe(model: &Model, violation: &Violation, seen: &mut ObservedRuns) -> bool {
    let Some(trace) = violation.trace.as_ref().and_then(|trace| again(model, trace)) else { return false };
    let looked_at = trace.states().fold(false, |new, state| seen.look_at(state) | new);
    let steps = trace.states().zip(&trace.steps);
    steps.fold(looked_at, |new, (before, step)| seen.observe(before, &step.args, &step.state) | new)
}

/// Makes the violations of the reduced model violations of the model.
fn tell(
    model: &Model,
    engine: &mut dyn Engine,
    job: &Job,
    observer: &mut dyn Observer,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let mut failing = outcome.failing.clone();
    for result in &mut outcome.results {
        let Verdict::Violated(violation) = &mut result.verdict else { continue };
        let Some(trace) = &mut violation.trace else { continue };
        let Some(run) = again(model, trace) else {
            let why = "its run is none of the model that was not reduced";
            result.verdict = Verdict::Unknown(StopReason::Internal(why.into()));
            continue;
        };
        *trace = run;
        if moves_on(model, result.property, trace) {
            let alone = Job { properties: vec![result.property], ..job.clone() };
            let exact = engine.check(model, &alone, observer)?;
            failing = failing.or(exact.failing);
            if let Some(found) = exact.results.into_iter().next() {
                result.verdict = found.verdict;
            }
        }
    }
    outcome.failing = failing;
    Ok(())
}

/// Whether a run to a deadlock of the reduced model ends in none of the model itself: a step that changes nothing but inactive
/// variables leads to another state all the same.
pub(crate) fn moves_on(model: &Model, property: PropertyId, run: &Trace) -> bool {
    let PropertyKind::Deadlock(kind @ DeadlockKind::Stuttering) = &model.properties[property].kind else {
        return false;
    };
    Interpreter::new(model).is_ok_and(|interpreter| interpreter.is_deadlock(run.last(), kind) == Ok(false))
}

/// The run with the same steps in the model that was not reduced.
pub(crate) fn again(model: &Model, trace: &Trace) -> Option<Trace> {
    let interpreter = Interpreter::new(model).ok()?;
    let branch = interpreter.run_start_with(trace.start, &trace.args, &trace.choices)?;
    let mut run = Trace { state: reached(branch.result)?, steps: Vec::new(), ..trace.clone() };
    let go = |run: &mut Trace, step: &shoal_model::Step| {
        let instance = Instance { rule: step.rule, args: step.args.clone() };
        let branch = interpreter.fire_with(run.last(), &instance, &step.choices)?;
        let state = reached(branch.result)?;
        run.steps.push(shoal_model::Step { state, ..step.clone() });
        Some(())
    };
    trace.steps.iter().try_for_each(|step| go(&mut run, step))?;
    // After one round of a loop, what is inactive has the values that it has after every further round.
    if let Some(to) = trace.loops_to.filter(|to| *to < trace.steps.len())
        && run.states().nth(to) != Some(run.last())
    {
        run.loops_to = Some(trace.steps.len());
        trace.steps[to..].iter().try_for_each(|step| go(&mut run, step))?;
    }
    Some(run)
}
