//! Which steps what is wrong at the end hangs on: the run sliced backwards from the cells that the failing part read.

use shoal_interpret::{Instance, Interpreter, StateCell};
use shoal_model::{During, Reason, State, Trace};

use crate::{Row, Wrong, because::value_at};

/// Marks the rows that do not matter. Where what is wrong hangs on the whole state (nothing can move, or the run goes on for
/// ever), all of them do.
pub(crate) fn mark(interpreter: &Interpreter<'_>, trace: &Trace, wrong: Wrong<'_>, rows: &mut [Row]) {
    let Some(mut needed) = needed_at_end(interpreter, trace, wrong) else { return };
    let states: Vec<&State> = trace.states().collect();
    for row in rows.iter_mut().rev() {
        let (before, after) = (states[row.number - 1], states[row.number]);
        row.relevant = needed.iter().any(|cell| value_at(before, cell) != value_at(after, cell));
        if row.relevant {
            let step = &trace.steps[row.number - 1];
            let instance = Instance { rule: step.rule, args: step.args.clone() };
            let waited = interpreter.delay(before, step.delay);
            needed.extend(interpreter.reads(waited.as_ref().unwrap_or(before), &instance, &step.choices));
            needed.sort();
            needed.dedup();
        }
    }
}

fn needed_at_end(interpreter: &Interpreter<'_>, trace: &Trace, wrong: Wrong<'_>) -> Option<Vec<StateCell>> {
    match wrong.reason {
        Reason::ConditionFalse => {
            let cells: Vec<StateCell> = wrong.causes.iter().flat_map(|cause| cause.cells.clone()).collect();
            (!cells.is_empty()).then_some(cells)
        }
        Reason::Fault(During::Body(rule, args, choices), _) => {
            let instance = Instance { rule: *rule, args: args.clone() };
            Some(interpreter.reads(trace.last(), &instance, choices))
        }
        Reason::Fault(During::Guard(rule, args), _) => {
            Some(interpreter.reads(trace.last(), &Instance { rule: *rule, args: args.clone() }, &[]))
        }
        Reason::After(_, reason) => needed_at_end(interpreter, trace, Wrong { reason, ..wrong }),
        Reason::Fault(During::Start(..) | During::Property(_), _)
        | Reason::Deadlock
        | Reason::NeverCovered
        | Reason::NotPossible
        | Reason::FormulaFalse => None,
    }
}
