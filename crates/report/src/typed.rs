//! A state with a value that somebody typed: the place as it is shown, the value checked by its type.

use shoal_model::{Model, Ratio, State, Type, TypeId, Value};

use crate::{changes::index_name, render_value};

/// So many values are named where another is wanted.
const NAMED: usize = 12;

/// A state in which one place, written as a state is shown, has another value. Why not, if there is no such place or value.
pub fn with_typed_value(model: &Model, state: &State, place: &str, text: &str) -> Result<State, String> {
    let mut state = state.clone();
    for (var, value) in model.vars.iter().zip(&mut state.values) {
        if let Some((ty, leaf)) = leaf(model, var.ty, &var.name, value, place) {
            *leaf = value_of(model, ty, text.trim()).map_err(|why| format!("{place} is {why}"))?;
            return Ok(state);
        }
    }
    Err(format!("there is no variable {place}"))
}

/// The part of a value that stands at a place.
fn leaf<'v>(
    model: &Model,
    ty: TypeId,
    here: &str,
    value: &'v mut Value,
    place: &str,
) -> Option<(TypeId, &'v mut Value)> {
    let rest = place.strip_prefix(here)?;
    match (model.kind(ty), value) {
        (Type::Record { fields }, Value::Record(values)) => {
            fields.iter().zip(values).find_map(|(field, value)| {
                leaf(model, field.ty, &format!("{here}.{}", field.name), value, place)
            })
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            values.iter_mut().enumerate().find_map(|(at, value)| {
                leaf(model, *element, &format!("{here}[{}]", index_name(model, *index, at)), value, place)
            })
        }
        (_, value) => rest.is_empty().then_some((ty, value)),
    }
}

/// The value of a type that a text is; what the type holds, if it is none.
fn value_of(model: &Model, ty: TypeId, text: &str) -> Result<Value, String> {
    if text == render_value(model, ty, &Value::Undefined) {
        return Ok(Value::Undefined);
    }
    match model.kind(ty) {
        Type::Int { lo, hi } => {
            let number = text.parse().ok().filter(|number| (*lo..=*hi).contains(number));
            number.map(Value::Int).ok_or_else(|| format!("a number from {lo} to {hi}"))
        }
        Type::Clock => {
            let (over, under) = text.split_once('/').unwrap_or((text, "1"));
            let parts = over.trim().parse().ok().zip(under.trim().parse().ok());
            let time = parts.and_then(|(over, under)| Ratio::new(over, under));
            time.map(Value::Clock).ok_or_else(|| "a clock, and shows a time such as 3 or 3/2".into())
        }
        Type::Bool | Type::Enum { .. } | Type::Ref { .. } | Type::Union { .. } => {
            let found = model.values(ty).find(|value| render_value(model, ty, value) == text);
            found.ok_or_else(|| {
                let names: Vec<String> =
                    model.values(ty).take(NAMED).map(|value| render_value(model, ty, &value)).collect();
                let more = if names.len() == NAMED { ", …" } else { "" };
                format!("one of {}{more}", names.join(", "))
            })
        }
        Type::Record { .. } | Type::Array { .. } | Type::Multiset { .. } | Type::Sequence { .. } => {
            Err("no single value: only those are typed".into())
        }
    }
}
