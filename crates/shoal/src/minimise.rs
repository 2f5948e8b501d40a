//! Runs made short: what a random walk or a search in depth found is often long for no reason.
//!
//! Steps are left out, many at a time and then fewer, as long as what is left still runs and ends in the same way. Every run on the
//! way is run by the interpreter from its start, and what comes out is confirmed as any violation is.

use shoal_interpret::{Firing, Instance, Interpreter, ReplayError};
use shoal_model::{
    Model, PropertyId, PropertyKind, Reason, State, Step, StopReason, Trace, Violation, Watch,
};

use crate::{Error, Loaded, check};

/// A violation of the same property, for the same reason, with no more steps than the given one: none of them can be left out
/// alone. As short as it became when the watch ends.
pub fn minimise(
    loaded: &Loaded,
    property: PropertyId,
    violation: &Violation,
    watch: &Watch,
) -> Result<Violation, Error> {
    let Some(trace) = &violation.trace else {
        return Err(Error::NotRunnable("there is no run".into()));
    };
    if trace.loops_to.is_some() {
        return Err(Error::NotRunnable("a run that goes on for ever cannot be made shorter".into()));
    }
    let sized = check::sized(loaded, violation);
    let model = sized.as_ref().unwrap_or(&loaded.model);
    let interpreter = Interpreter::new(model).map_err(|error| Error::NotRunnable(error.to_string()))?;
    let mut best = violation.clone();
    let work = Shorten { model, interpreter: &interpreter, property, violation };
    // What is known when the watch ends is a run, too.
    let _ = shoal_interpret::under(watch, || work.run(trace, &mut best));
    match shoal_interpret::confirm(model, property, &best) {
        Ok(()) => Ok(best),
        // Then none that is shorter was confirmed either: this is the run that was given.
        Err(ReplayError::NotConfirmed { budget }) => Err(Error::Stopped(StopReason::States(budget as u64))),
        Err(error) => Err(Error::Internal(format!("a run made short does not replay: {error}"))),
    }
}

struct Shorten<'a> {
    model: &'a Model,
    interpreter: &'a Interpreter<'a>,
    property: PropertyId,
    violation: &'a Violation,
}

impl Shorten<'_> {
    fn run(&self, trace: &Trace, best: &mut Violation) {
        let mut steps = trace.steps.clone();
        without_circles(&trace.state, &mut steps);
        if let Some(shorter) = self.try_steps(trace, &steps) {
            keep(best, &mut steps, shorter);
        } else {
            steps.clone_from(&trace.steps);
        }
        let mut size = steps.len().div_ceil(2).max(1);
        loop {
            let before = steps.len();
            let mut at = 0;
            while at < steps.len() {
                let rest: Vec<Step> =
                    steps[..at].iter().chain(steps.iter().skip(at + size)).cloned().collect();
                match self.try_steps(trace, &rest) {
                    Some(shorter) => keep(best, &mut steps, shorter),
                    None => at += size,
                }
            }
            if size == 1 && steps.len() == before {
                return;
            }
            size = if size == 1 { 1 } else { size.div_ceil(2) };
        }
    }

    /// The run of these steps, if there is one that ends as it should; it may end before all are made.
    fn try_steps(&self, from: &Trace, steps: &[Step]) -> Option<Violation> {
        let mut trace = Trace { steps: Vec::new(), ..from.clone() };
        let condition = match (&self.model.properties[self.property].kind, &self.violation.reason) {
            (PropertyKind::Invariant(condition), Reason::ConditionFalse) => Some(condition),
            _ => None,
        };
        let is_over = |state: &State| {
            condition.is_some_and(|condition| self.interpreter.holds(state, condition) == Ok(false))
        };
        for step in steps {
            if is_over(trace.last()) {
                break;
            }
            let before = self.interpreter.delay(trace.last(), step.delay)?;
            let instance = Instance { rule: step.rule, args: step.args.clone() };
            if self.interpreter.guard(&before, &instance) != Ok(true) {
                return None;
            }
            match self.interpreter.fire_with(&before, &instance, &step.choices)?.result {
                Firing::State(state) if self.interpreter.dropped_by(&state) == Ok(None) => {
                    trace.steps.push(Step { state, ..step.clone() });
                }
                Firing::State(_) | Firing::Fault(_) | Firing::Discarded => return None,
            }
        }
        let shorter = Violation { reason: self.violation.reason.clone(), trace: Some(trace) };
        shoal_interpret::confirm(self.model, self.property, &shorter).is_ok().then_some(shorter)
    }
}

fn keep(best: &mut Violation, steps: &mut Vec<Step>, shorter: Violation) {
    if let Some(trace) = &shorter.trace {
        steps.clone_from(&trace.steps);
    }
    *best = shorter;
}

/// Leaves out what leads from a state back to itself.
fn without_circles(start: &State, steps: &mut Vec<Step>) {
    let mut at = 0;
    while at < steps.len() {
        let here = if at == 0 { start } else { &steps[at - 1].state };
        match steps.iter().rposition(|step| step.state == *here).filter(|last| *last >= at) {
            Some(last) => drop(steps.drain(at..=last)),
            None => at += 1,
        }
    }
}
