//! What the clocks of a run show, as a picture of time needs it.

use shoal_interpret::Interpreter;
use shoal_model::{Model, Ratio, State, Trace, Type, TypeId, Value};

/// One clock.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockLine {
    /// Its name.
    pub name: String,
    /// What it shows: at the start, then just before and just after each step.
    pub moments: Vec<Moment>,
}

/// What a clock shows at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The time since the start.
    pub time: Ratio,
    /// What the clock shows; nothing where it is not there.
    pub shows: Option<Ratio>,
}

/// All clocks of a run; none if times are too large to be added up.
pub(crate) fn of(interpreter: &Interpreter<'_>, trace: &Trace) -> Vec<ClockLine> {
    let model = interpreter.model();
    if !model.has_clocks() {
        return Vec::new();
    }
    let mut time = Ratio::ZERO;
    let mut lines: Vec<ClockLine> = Vec::new();
    note(model, &mut lines, time, &trace.state);
    for (step, before) in trace.steps.iter().zip(trace.states()) {
        let Some(now) = time.checked_add(step.delay) else { return Vec::new() };
        time = now;
        let waited = interpreter.delay(before, step.delay);
        note(model, &mut lines, time, waited.as_ref().unwrap_or(before));
        note(model, &mut lines, time, &step.state);
    }
    lines
}

fn note(model: &Model, lines: &mut Vec<ClockLine>, time: Ratio, state: &State) {
    let mut found = Vec::new();
    for (id, var) in model.vars.enumerate() {
        clocks_in(model, var.ty, &var.name, state.value(id), &mut found);
    }
    for line in lines.iter_mut() {
        let shows = found.iter().find(|(name, _)| *name == line.name).map(|(_, shows)| *shows);
        line.moments.push(Moment { time, shows });
    }
    for (name, shows) in found {
        if lines.iter().all(|line| line.name != name) {
            // A clock of a process that has just begun was not there before.
            let before = lines.first().map_or(0, |line| line.moments.len().saturating_sub(1));
            let mut moments = vec![Moment { time: Ratio::ZERO, shows: None }; before];
            moments.push(Moment { time, shows: Some(shows) });
            lines.push(ClockLine { name, moments });
        }
    }
}

fn clocks_in(model: &Model, ty: TypeId, name: &str, value: &Value, found: &mut Vec<(String, Ratio)>) {
    match (model.kind(ty), value) {
        (Type::Clock, Value::Clock(shows)) => found.push((name.to_string(), *shows)),
        (Type::Record { fields }, Value::Record(values)) => {
            for (field, value) in fields.iter().zip(values) {
                clocks_in(model, field.ty, &format!("{name}.{}", field.name), value, found);
            }
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            for (at, value) in values.iter().enumerate() {
                let at = match model.value_at(*index, at as u64) {
                    Some(entry) => model.show(&entry).to_string(),
                    None => at.to_string(),
                };
                clocks_in(model, *element, &format!("{name}[{at}]"), value, found);
            }
        }
        _ => {}
    }
}
