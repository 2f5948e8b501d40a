//! Tests for what implements a model, in JSON that a test program reads without knowing the model.

use serde_json::{Map, Value as Json, json};
use shoal::{Loaded, TestGoal, TestItem, Tests};
use shoal_model::{Model, Rule, State, Trace, Type, TypeId, Value};

use crate::{
    Origin,
    changes::index_name,
    names::{arguments, render_value},
};

/// What a test shows, in words.
pub fn item_name(loaded: &Loaded, goals: &[TestGoal], item: TestItem) -> String {
    let rule = |id| {
        let rule: &Rule = &loaded.model.rules[id];
        rule.name.clone()
    };
    match item {
        TestItem::Rule(id) => format!("rule {:?}", rule(id)),
        TestItem::Pair(first, second) => format!("rule {:?}, then {:?}", rule(first), rule(second)),
        TestItem::Goal(goal) => goals.get(goal).map_or("a goal".into(), |goal| goal.name.clone()),
    }
}

/// All tests in one document: each a list of states with what led there.
pub fn tests_document(loaded: &Loaded, origin: &Origin, goals: &[TestGoal], tests: &Tests) -> Json {
    let model = &loaded.model;
    let name = |item: &TestItem| json!(item_name(loaded, goals, *item));
    let runs = tests.runs.iter().map(|run| {
        json!({
            "covers": run.covers.iter().map(name).collect::<Vec<_>>(),
            "steps": steps(model, &run.trace),
        })
    });
    let set: Map<String, Json> =
        origin.set.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "schema": 1, "kind": "shoal tests", "model": origin.file, "set": set,
        "states": tests.states, "complete": tests.complete,
        "missing": tests.missing.iter().map(name).collect::<Vec<_>>(),
        "tests": runs.collect::<Vec<_>>(),
    })
}

fn steps(model: &Model, trace: &Trace) -> Vec<Json> {
    let start = &model.starts[trace.start];
    let mut steps = vec![step(model, start, &trace.args, None, &trace.state)];
    for (made, before) in trace.steps.iter().zip(trace.states()) {
        steps.push(step(model, &model.rules[made.rule], &made.args, Some(before), &made.state));
    }
    steps
}

fn step(model: &Model, rule: &Rule, args: &[Value], before: Option<&State>, after: &State) -> Json {
    let args = arguments(model, rule, args, before).into_iter().zip(args);
    let args = args.map(|((name, text), value)| (name, plain(value, text)));
    let args: Map<String, Json> = args.collect();
    let mut state = Map::new();
    for (id, var) in model.vars.enumerate() {
        leaves(model, var.ty, &var.name, after.value(id), &mut state);
    }
    json!({ "rule": rule.name, "args": args, "state": state })
}

/// Numbers and truth values as such, what is undefined as nothing, and everything else by its name.
fn plain(value: &Value, text: String) -> Json {
    match value {
        Value::Bool(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::Undefined | Value::Null => Json::Null,
        _ => json!(text),
    }
}

fn leaves(model: &Model, ty: TypeId, place: &str, value: &Value, state: &mut Map<String, Json>) {
    match (model.kind(ty), value) {
        (Type::Record { fields }, Value::Record(values)) => {
            for (field, value) in fields.iter().zip(values) {
                leaves(model, field.ty, &format!("{place}.{}", field.name), value, state);
            }
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            for (position, value) in values.iter().enumerate() {
                let place = format!("{place}[{}]", index_name(model, *index, position));
                leaves(model, *element, &place, value, state);
            }
        }
        _ => drop(state.insert(place.to_string(), plain(value, render_value(model, ty, value)))),
    }
}
