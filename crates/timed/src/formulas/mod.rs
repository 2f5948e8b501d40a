//! Formulas of branching time about a model: it is unfolded into an automaton with every element by name, but for a sort whose
//! elements may be exchanged, states that differ only in names are one location: an edge then says how clocks change places,
//! and a run who is who.

mod trace;
mod unfold;

use std::time::Instant;

use shoal_model::{
    Job, Model, Observer, Outcome, PropertyKind, PropertyResult, Runs, Unsupported, Verdict, Violation, under,
};
use shoal_tctl::unsupported;

use self::unfold::ModelAutomaton;
use crate::search::fault_of;

/// Decides temporal properties.
pub(crate) fn check(model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Unsupported> {
    let began = Instant::now();
    if let Some(condition) = model.fairness.first() {
        return unsupported("fairness in a model with time", Some(condition.expr.span));
    }
    for property in &job.properties {
        shoal_tctl::support(model, *property)?;
    }
    let automaton = match ModelAutomaton::new(model, job, observer) {
        Ok(automaton) => automaton,
        Err(halt) => return Ok(Outcome::unknown(&job.properties, &halt.reason()?)),
    };
    let folded = automaton.search.steps.folds();
    let mut statistics = automaton.search.statistics(true, if folded { &job.symmetric } else { &[] });
    // What a state stands for is not counted there.
    statistics.states_full = statistics.states_full.filter(|_| !folded);
    let mut results = Vec::new();
    for property in &job.properties {
        let work = || decide(model, job, &automaton, &model.properties[*property].kind);
        let mut verdict = under(&job.watch, work).unwrap_or_else(|reason| Ok(Verdict::Unknown(reason)))?;
        // An atom that faults where the model never comes is no matter.
        if !automaton.faulting.take().is_empty() {
            match fault_of(model, job, *property, observer) {
                Ok(faults) => verdict = faults.unwrap_or(verdict),
                Err(halt) => verdict = Verdict::Unknown(halt.reason()?),
            }
        }
        if let Verdict::Violated(violation) = &verdict {
            observer.violation(*property, violation);
        }
        results.push(PropertyResult { property: *property, verdict });
    }
    if model.runs == Runs::Divergent {
        let notes = || shoal_tctl::notes(&automaton.arena, &automaton, model.runs, &job.watch);
        statistics.notes = under(&job.watch, notes).unwrap_or_default();
    }
    statistics.notes.extend(automaton.search.fails.then(|| FAULT.to_string()));
    statistics.time = began.elapsed();
    Ok(Outcome { results, failing: automaton.search.failing(), statistics })
}

const FAULT: &str = "a step that faults is no step of a run that a temporal formula speaks of";

/// The verdict on a property.
fn decide(
    model: &Model,
    job: &Job,
    automaton: &ModelAutomaton<'_>,
    kind: &PropertyKind,
) -> Result<Verdict, Unsupported> {
    let violation = shoal_tctl::violation(&automaton.arena, automaton, model.runs, kind, &job.watch);
    let verdict = violation.and_then(|violation| match violation {
        Some((reason, run)) => {
            let trace = Some(trace::of_run(&run, automaton)?);
            Ok(Verdict::Violated(Box::new(Violation { reason, trace })))
        }
        None => Ok(Verdict::Holds),
    });
    verdict.or_else(|halt| halt.reason().map(Verdict::Unknown))
}
