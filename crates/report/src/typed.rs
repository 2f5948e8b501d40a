//! A state with a value that somebody typed: the place as it is shown, the value checked by its type.

use shoal_model::{Model, Ratio, State, Type, TypeId, TypedId, Value};

use crate::{changes::index_name, render_value};

/// So many values are named where another is wanted.
const NAMED: usize = 12;

/// A state in which one place, written as a state is shown, has another value. Why not, if there is no such place or value.
pub fn with_typed_value(model: &Model, state: &State, place: &str, text: &str) -> Result<State, String> {
    let mut state = state.clone();
    let live = state.live.clone();
    for (var, value) in model.vars.iter().zip(&mut state.values) {
        if let Some((ty, leaf)) = leaf(model, var.ty, &var.name, value, place) {
            *leaf = value_of(model, &live, ty, text.trim()).map_err(|why| format!("{place} is {why}"))?;
            return Ok(state);
        }
    }
    Err(format!("there is no variable {place}"))
}

/// The part of a value that stands at a place, however many parts that has.
fn leaf<'v>(
    model: &Model,
    ty: TypeId,
    here: &str,
    value: &'v mut Value,
    place: &str,
) -> Option<(TypeId, &'v mut Value)> {
    let rest = place.strip_prefix(here)?;
    if rest.is_empty() {
        return Some((ty, value));
    }
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
        _ => None,
    }
}

/// The value of a type that a text is; what the type holds, if it is none. Lists, bags and records are written as they are shown.
fn value_of(model: &Model, live: &[Vec<bool>], ty: TypeId, text: &str) -> Result<Value, String> {
    if text == render_value(model, ty, &Value::Undefined) {
        return Ok(Value::Undefined);
    }
    let all = |element: TypeId, texts: Vec<&str>| -> Result<Vec<Value>, String> {
        let one =
            |text| value_of(model, live, element, text).map_err(|why| format!("a list, and {text} is {why}"));
        texts.into_iter().map(one).collect()
    };
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
            let mut values = scalars(model, live, ty);
            let found = values.iter().position(|value| render_value(model, ty, value) == text);
            found.map(|at| values.swap_remove(at)).ok_or_else(|| {
                let names: Vec<String> =
                    values.iter().take(NAMED).map(|value| render_value(model, ty, value)).collect();
                let more = if values.len() > NAMED { ", …" } else { "" };
                format!("one of {}{more}", names.join(", "))
            })
        }
        Type::Sequence { capacity, element } => {
            let inside = between(text, "[", "]").ok_or("a list such as [] or [a, b]")?;
            let values = all(*element, parts(inside))?;
            match values.len() as u64 <= u64::from(*capacity) {
                true => Ok(Value::Sequence(values)),
                false => Err(format!("a list of at most {capacity}")),
            }
        }
        Type::Multiset { capacity, element } => {
            let inside = between(text, "{|", "|}").ok_or("a bag such as {||} or {|a, b|}")?;
            // As states have them: sorted, and nothing in between.
            let mut values = all(*element, parts(inside))?;
            values.sort();
            match values.len() as u64 <= u64::from(*capacity) {
                true => Ok(Value::Multiset(values.into_iter().map(Some).collect())),
                false => Err(format!("a bag of at most {capacity}")),
            }
        }
        Type::Array { index, element } => {
            let inside = between(text, "[", "]").ok_or("an array such as [a, b]")?;
            let size =
                model.cardinality(*index).ok_or("an array over objects: its entries are typed one by one")?;
            let values = all(*element, parts(inside))?;
            match size == values.len() as u64 {
                true => Ok(Value::Array(values)),
                false => Err(format!("an array of {size} entries")),
            }
        }
        Type::Record { fields } => {
            let wanted = || {
                let names: Vec<String> = fields.iter().map(|field| format!("{}: …", field.name)).collect();
                format!("a record {{{}}}", names.join(", "))
            };
            let parts = parts(between(text, "{", "}").ok_or_else(wanted)?);
            if parts.len() != fields.len() {
                return Err(wanted());
            }
            let field = |(field, part): (&shoal_model::Field, &str)| {
                let value = part
                    .strip_prefix(field.name.as_str())
                    .and_then(|rest| rest.trim_start().strip_prefix(':'));
                let value = value.ok_or_else(wanted)?.trim();
                value_of(model, live, field.ty, value)
                    .map_err(|why| format!("a record, and {} is {why}", field.name))
            };
            fields.iter().zip(parts).map(field).collect::<Result<_, _>>().map(Value::Record)
        }
    }
}

/// The values of a scalar type; of a growing sort, the elements there are.
fn scalars(model: &Model, live: &[Vec<bool>], ty: TypeId) -> Vec<Value> {
    let sort = match model.kind(ty) {
        Type::Ref { sort, .. } if model.sorts[*sort].fixed_size().is_none() => *sort,
        _ => return model.values(ty).collect(),
    };
    let nullable = matches!(model.kind(ty), Type::Ref { nullable: true, .. });
    let is_there = |(at, live): (usize, &bool)| live.then_some(Value::Elem(sort, at as u32));
    let there = live.get(sort.index()).into_iter().flatten().enumerate().filter_map(is_there);
    nullable.then_some(Value::Null).into_iter().chain(there).collect()
}

/// What stands between two signs.
fn between<'t>(text: &'t str, open: &str, close: &str) -> Option<&'t str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

/// The parts of a list, which are separated by commas outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let (mut found, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                found.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[from..].trim());
    found
}
