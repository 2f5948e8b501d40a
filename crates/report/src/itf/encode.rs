//! Values as ITF.

use serde_json::{Map, Value as Json, json};
use shoal_model::{Model, State, Type, TypeId, TypedId, Value};

use crate::changes::index_name;

/// A state with its `#meta`.
pub(super) fn state(model: &Model, state: &State, index: usize, mut meta: Map<String, Json>) -> Json {
    meta.insert("index".into(), json!(index));
    meta.sort_keys();
    let mut object = Map::new();
    object.insert("#meta".into(), Json::Object(meta));
    for (id, var) in model.vars.enumerate() {
        object.insert(var.name.clone(), value(model, var.ty, state.value(id)));
    }
    Json::Object(object)
}

fn value(model: &Model, ty: TypeId, of: &Value) -> Json {
    match (model.kind(ty), of) {
        (_, Value::Undefined | Value::Null) => labelled("#unserializable", model.show(of).to_string().into()),
        (_, Value::Bool(value)) => json!(value),
        (_, Value::Int(value)) => integer(*value),
        (Type::Record { fields }, Value::Record(values)) => {
            let fields = fields.iter().zip(values);
            fields.map(|(field, of)| (field.name.clone(), value(model, field.ty, of))).collect()
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            let entry =
                |(position, of)| Json::Array(vec![key(model, *index, position), value(model, *element, of)]);
            labelled("#map", values.iter().enumerate().map(entry).collect())
        }
        (Type::Multiset { element, .. }, Value::Multiset(slots)) => bag(model, *element, slots),
        (Type::Sequence { element, .. }, Value::Sequence(values)) => {
            values.iter().map(|of| value(model, *element, of)).collect()
        }
        _ => json!(model.show(of).to_string()),
    }
}

fn key(model: &Model, index: TypeId, position: usize) -> Json {
    match model.value_at(index, position as u64) {
        Some(of) => value(model, index, &of),
        None => json!(index_name(model, index, position)),
    }
}

fn bag(model: &Model, element: TypeId, slots: &[Option<Value>]) -> Json {
    let mut counts: Vec<(&Value, i64)> = Vec::new();
    for of in slots.iter().flatten() {
        match counts.iter_mut().find(|(known, _)| *known == of) {
            Some((_, count)) => *count += 1,
            None => counts.push((of, 1)),
        }
    }
    let entries = counts.into_iter();
    let entry = |(of, count)| Json::Array(vec![value(model, element, of), integer(count)]);
    labelled("#map", entries.map(entry).collect())
}

fn integer(value: i64) -> Json {
    labelled("#bigint", value.to_string().into())
}

/// An object with one field. (The macro `json` would copy what it holds, and what holds that once more.)
fn labelled(label: &str, of: Json) -> Json {
    Json::Object(Map::from_iter([(label.to_string(), of)]))
}

/// Scalars in a form that needs no type to be read again.
pub(super) fn exact_list(model: &Model, values: &[Value]) -> Json {
    values.iter().map(|value| exact(model, value)).collect()
}

fn exact(model: &Model, value: &Value) -> Json {
    match value {
        Value::Bool(value) => json!(value),
        Value::Int(value) => integer(*value),
        Value::Enum(ty, _) => json!({ "constant": model.show(value).to_string(), "type": ty.index() }),
        Value::Elem(sort, element) => json!({ "sort": model.sorts[*sort].name, "element": element }),
        Value::Null => Json::Null,
        _ => json!({ "#unserializable": model.show(value).to_string() }),
    }
}
