//! ITF as values of a model: the inverse of `encode`. What does not fit the model is an error, never a panic.

use serde_json::Value as Json;
use shoal_model::{
    Model, Ratio, RuleId, SortId, SortSize, StartId, State, Step, Trace, Type, TypeId, TypedId, Value,
};

use super::{SavedTrace, TraceError};

type Decoded<T> = std::result::Result<T, TraceError>;

fn wrong<T>(message: impl Into<String>) -> Decoded<T> {
    Err(TraceError(message.into()))
}

pub(super) fn trace(model: &Model, saved: &SavedTrace) -> Decoded<Trace> {
    let states = saved.states();
    let shoal = shoal_meta(&states[0], 0)?;
    let start = id::<StartId>(shoal, "start", model.starts.len(), 0)?;
    let mut steps = Vec::new();
    for (position, json) in states.iter().enumerate().skip(1) {
        let shoal = shoal_meta(json, position)?;
        steps.push(Step {
            delay: ratio(shoal.get("delay").and_then(Json::as_str).unwrap_or("0"))?,
            rule: id::<RuleId>(shoal, "rule", model.rules.len(), position)?,
            args: exact_list(model, shoal, "args")?,
            choices: exact_list(model, shoal, "choices")?,
            state: state(model, json, shoal, position)?,
        });
    }
    for (position, step) in steps.iter().enumerate() {
        same_name(&states[position + 1], &model.rules[step.rule].name, position + 1)?;
    }
    let loops_to = saved.document.get("loop").and_then(Json::as_u64).map(|to| to as usize);
    if loops_to.is_some_and(|to| to >= states.len()) {
        return wrong("the trace loops to a state that it does not have");
    }
    Ok(Trace {
        start,
        args: exact_list(model, shoal, "args")?,
        choices: exact_list(model, shoal, "choices")?,
        state: state(model, &states[0], shoal, 0)?,
        steps,
        loops_to,
    })
}

fn shoal_meta(state: &Json, position: usize) -> Decoded<&Json> {
    match state.get("#meta").and_then(|meta| meta.get("shoal")) {
        Some(meta) => Ok(meta),
        None => wrong(format!(
            "state {position} does not say which rule fired: only traces made by Shoal can be replayed"
        )),
    }
}

fn id<I: TypedId>(meta: &Json, name: &str, count: usize, position: usize) -> Decoded<I> {
    match meta.get(name).and_then(Json::as_u64) {
        Some(index) if (index as usize) < count => Ok(I::from_index(index as usize)),
        _ => wrong(format!("state {position} of the trace names a {name} that the model does not have")),
    }
}

/// The rule is found by its number; if the model was changed since, its name tells.
fn same_name(state: &Json, name: &str, position: usize) -> Decoded<()> {
    match state["#meta"].get("rule").and_then(Json::as_str) {
        Some(saved) if saved != name => wrong(format!(
            "step {position} of the trace fires rule {saved:?}, which is {name:?} in the model now: the model has changed"
        )),
        _ => Ok(()),
    }
}

fn state(model: &Model, json: &Json, meta: &Json, position: usize) -> Decoded<State> {
    let mut values = Vec::new();
    for var in model.vars.iter() {
        let Some(json) = json.get(&var.name) else {
            return wrong(format!("state {position} of the trace has no value for `{}`", var.name));
        };
        match value(model, var.ty, json) {
            Some(value) => values.push(value),
            None => {
                let what = format!("the value of `{}` in state {position} of the trace", var.name);
                return wrong(format!("{what} does not belong to {}", model.show_type(var.ty)));
            }
        }
    }
    Ok(State { values, live: live(model, meta) })
}

fn live(model: &Model, meta: &Json) -> Vec<Vec<bool>> {
    let of = |sort: SortId| -> Vec<bool> {
        let list = meta.get("live").and_then(|live| live.get(sort.index())).and_then(Json::as_array);
        match model.sorts[sort].size {
            SortSize::Growing { .. } => list.into_iter().flatten().filter_map(Json::as_bool).collect(),
            SortSize::Fixed(_) | SortSize::Any => Vec::new(),
        }
    };
    model.sorts.ids().map(of).collect()
}

fn value(model: &Model, ty: TypeId, json: &Json) -> Option<Value> {
    let kind = model.kind(ty);
    if let Some(text) = json.get("#unserializable").and_then(Json::as_str) {
        return match (text, kind) {
            ("undefined", _) => Some(Value::Undefined),
            ("null", Type::Ref { nullable: true, .. } | Type::Union { .. }) => Some(Value::Null),
            _ => None,
        };
    }
    match kind {
        Type::Bool => json.as_bool().map(Value::Bool),
        Type::Int { .. } => {
            let value = Value::Int(integer(json)?);
            model.ordinal(ty, &value).map(|_| value)
        }
        Type::Enum { variants } => {
            let position = variants.iter().position(|name| Some(name.as_str()) == json.as_str())?;
            Some(Value::Enum(ty, position as u32))
        }
        Type::Ref { sort, .. } => element(model, *sort, json.as_str()?),
        Type::Union { members } => members.iter().find_map(|member| value(model, *member, json)),
        Type::Record { fields } => {
            let fields = fields.iter().map(|field| value(model, field.ty, json.get(&field.name)?));
            fields.collect::<Option<_>>().map(Value::Record)
        }
        Type::Array { index, element } => {
            let values: Vec<Value> =
                map(json)?.map(|(_, of)| value(model, *element, of)).collect::<Option<_>>()?;
            let (length, most) = (values.len() as u64, model.cardinality(*index));
            // Over a sort that grows there are as many entries as there have been elements at a time.
            let grows = |sort: &SortId| matches!(model.sorts[*sort].size, SortSize::Growing { .. });
            let fits = match model.sorts_of(*index).iter().any(grows) {
                true => most.is_none_or(|most| length <= most),
                false => most.is_none_or(|most| length == most),
            };
            fits.then_some(Value::Array(values))
        }
        Type::Multiset { capacity, element } => bag(model, *capacity, *element, json),
        Type::Sequence { capacity, element } => {
            let items = json.as_array().filter(|items| items.len() <= *capacity as usize)?;
            items.iter().map(|item| value(model, *element, item)).collect::<Option<_>>().map(Value::Sequence)
        }
        Type::Clock => ratio(json.as_str()?).ok().map(Value::Clock),
    }
}

fn map(json: &Json) -> Option<impl Iterator<Item = (&Json, &Json)>> {
    let entries = json.get("#map")?.as_array()?;
    let complete = entries.iter().all(|entry| entry.as_array().is_some_and(|pair| pair.len() == 2));
    complete.then(|| entries.iter().map(|entry| (&entry[0], &entry[1])))
}

fn bag(model: &Model, capacity: u32, ty: TypeId, json: &Json) -> Option<Value> {
    let mut slots = Vec::new();
    for (element, count) in map(json)? {
        let element = value(model, ty, element)?;
        let count = usize::try_from(integer(count)?).ok()?;
        if slots.len().checked_add(count)? > capacity as usize {
            return None;
        }
        slots.extend(std::iter::repeat_n(Some(element), count));
    }
    slots.sort();
    Some(Value::Multiset(slots))
}

fn element(model: &Model, sort: SortId, name: &str) -> Option<Value> {
    model.sorts[sort].element_named(name).map(|element| Value::Elem(sort, element))
}

fn integer(json: &Json) -> Option<i64> {
    match json.get("#bigint") {
        Some(text) => text.as_str()?.parse().ok(),
        None => json.as_i64(),
    }
}

pub(super) fn ratio(text: &str) -> Decoded<Ratio> {
    let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
    let parsed = numerator.parse().ok().zip(denominator.parse().ok());
    match parsed.and_then(|(numerator, denominator)| Ratio::new(numerator, denominator)) {
        Some(ratio) => Ok(ratio),
        None => wrong(format!("the trace has a time that is no number: {text:?}")),
    }
}

/// The inverse of `encode::exact_list`.
pub(super) fn exact_list(model: &Model, meta: &Json, name: &str) -> Decoded<Vec<Value>> {
    let list = meta.get(name).and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().map(|json| exact(model, json)).collect()
}

fn exact(model: &Model, json: &Json) -> Decoded<Value> {
    let value = match json {
        Json::Null => Some(Value::Null),
        Json::Bool(value) => Some(Value::Bool(*value)),
        _ if json.get("#bigint").is_some() => integer(json).map(Value::Int),
        _ if json.get("constant").is_some() => constant(model, json),
        _ if json.get("sort").is_some() => sort_element(model, json),
        _ => Some(Value::Undefined),
    };
    match value {
        Some(value) => Ok(value),
        None => wrong(format!("the trace has an argument that the model does not know: {json}")),
    }
}

/// A constant of the type with the saved number, or of any type that has it if types have moved.
fn constant(model: &Model, json: &Json) -> Option<Value> {
    let name = json.get("constant")?.as_str()?;
    let of = |ty: TypeId| match model.kind(ty) {
        Type::Enum { variants } => {
            variants.iter().position(|variant| variant == name).map(|at| Value::Enum(ty, at as u32))
        }
        _ => None,
    };
    let saved = json.get("type").and_then(Json::as_u64).filter(|index| *index < model.types.len() as u64);
    let saved = saved.and_then(|index| of(TypeId::from_index(index as usize)));
    saved.or_else(|| model.types.ids().find_map(of))
}

fn sort_element(model: &Model, json: &Json) -> Option<Value> {
    let name = json.get("sort")?.as_str()?;
    let (sort, of) = model.sorts.enumerate().find(|(_, sort)| sort.name == name)?;
    let element = u32::try_from(json.get("element")?.as_u64()?).ok()?;
    of.fixed_size().is_none_or(|size| element < size).then_some(Value::Elem(sort, element))
}
