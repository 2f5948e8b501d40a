//! Running a saved trace again.

use shoal_model::{PropertyId, Trace, Violation};

use crate::{Error, Loaded};

/// Runs a trace again, step by step, with the reference interpreter.
pub fn replay(loaded: &Loaded, trace: &Trace) -> Result<(), String> {
    shoal_interpret::replay(&loaded.model.sized_as(&trace.state), trace).map_err(|error| error.to_string())
}

/// Runs the trace of a violation again and looks whether the property is violated at its end as it says.
pub fn replay_violation(loaded: &Loaded, property: &str, violation: &Violation) -> Result<(), String> {
    let id = find(loaded, property).map_err(|error| error.to_string())?;
    let sized = crate::check::sized(loaded, violation);
    shoal_interpret::confirm(sized.as_ref().unwrap_or(&loaded.model), id, violation)
        .map_err(|error| error.to_string())
}

fn find(loaded: &Loaded, property: &str) -> Result<PropertyId, Error> {
    let found = crate::select(loaded, &[property.to_string()])?;
    Ok(found[0])
}
