//! What an engine has found, after it was checked by the interpreter.

use std::collections::BTreeMap;

use shoal_interpret::confirm;
use shoal_model::{Model, Outcome, PropertyId, Reason, Verdict};

/// The properties that are violated, each with how long its trace is. Every trace replays.
pub(crate) fn violations(model: &Model, outcome: &Outcome, text: &str) -> BTreeMap<PropertyId, usize> {
    let mut found = BTreeMap::new();
    for result in &outcome.results {
        match &result.verdict {
            Verdict::Holds => {}
            Verdict::Violated(violation) => {
                // A proof that nothing satisfying can be reached has nothing to replay within a small budget.
                if !matches!(violation.reason, Reason::NeverCovered) {
                    confirm(model, result.property, violation)
                        .unwrap_or_else(|error| panic!("a trace does not replay: {error:?}\n{text}"));
                }
                let depth = violation.trace.as_ref().map_or(0, |trace| trace.steps.len());
                found.insert(result.property, depth);
            }
            Verdict::Unknown(reason) => panic!("no limit was given, but {reason}\n{text}"),
        }
    }
    found
}
