//! Why a step could be taken: what its guard looked at, and the step that had put that there.

use shoal_interpret::{Instance, Interpreter, StateCell};
use shoal_model::{Model, State, Trace, Type, TypeId, Value};

use crate::{changes::index_name, values::short_value};

/// Something that a guard looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Because {
    /// The place, such as `order[client_1]`.
    pub place: String,
    /// What was there.
    pub value: String,
    /// The number of the step that put it there; 0 if it was so from the start.
    pub row: usize,
}

/// What the guard of a step looked at, and who wrote it last. Nothing for the start. What a language keeps for itself is left out.
pub fn because(model: &Model, trace: &Trace, number: usize) -> Vec<Because> {
    let step = number.checked_sub(1).and_then(|at| trace.steps.get(at));
    let (Some(step), Ok(interpreter)) = (step, Interpreter::new(model)) else { return Vec::new() };
    let states: Vec<&State> = trace.states().collect();
    let waited = interpreter.delay(states[number - 1], step.delay);
    let before = waited.as_ref().unwrap_or(states[number - 1]);
    let instance = Instance { rule: step.rule, args: step.args.clone() };
    let one = |cell: StateCell| {
        let (place, ty) = named(model, &cell)?;
        let value = short_value(model, ty, value_at(before, &cell)?);
        Some(Because { place, value, row: last_written(&interpreter, trace, &states[..number], &cell) })
    };
    interpreter.guard_reads(before, &instance).into_iter().filter_map(one).collect()
}

/// The last of the steps between some states that changed a cell. Clocks that only went on were not changed.
fn last_written(interpreter: &Interpreter<'_>, trace: &Trace, states: &[&State], cell: &StateCell) -> usize {
    let writes = |at: &usize| {
        let (before, after) = (value_at(states[*at - 1], cell), value_at(states[*at], cell));
        let waited = || interpreter.delay(states[*at - 1], trace.steps[*at - 1].delay);
        before != after && waited().as_ref().map_or(before, |waited| value_at(waited, cell)) != after
    };
    (1..states.len()).rev().find(writes).unwrap_or(0)
}

/// What a cell is called, and its type. Nothing of what a language keeps for itself.
fn named(model: &Model, cell: &StateCell) -> Option<(String, TypeId)> {
    let var = &model.vars[cell.var];
    let (mut name, mut ty) = (var.name.clone(), var.ty);
    for at in &cell.path {
        match model.kind(ty) {
            Type::Record { fields } => {
                let field = fields.get(*at)?;
                name = format!("{name}.{}", field.name);
                ty = field.ty;
            }
            Type::Array { index, element } => {
                name = format!("{name}[{}]", index_name(model, *index, *at));
                ty = *element;
            }
            _ => return None,
        }
    }
    (!var.name.starts_with('_')).then_some((name, ty))
}

/// What is in a cell; nothing if the state has no such cell.
pub(crate) fn value_at<'a>(state: &'a State, cell: &StateCell) -> Option<&'a Value> {
    cell.path.iter().try_fold(state.value(cell.var), |value, at| match value {
        Value::Record(values) | Value::Array(values) => values.get(*at),
        _ => None,
    })
}
