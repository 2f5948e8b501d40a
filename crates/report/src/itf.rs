//! Traces in ITF, the JSON format of Apalache's ADR 15, which many viewers and libraries read.
//!
//! The format has no place for what fired, so that stands in the `#meta` of each state, as the format allows:
//! the rule with its arguments as text and, under `shoal`, exactly enough to run the step again. The `#meta`
//! of the trace names the model, the options that change its meaning, the property and what is wrong with it: `blame` has the parts of
//! its condition that are false at the end, `lanes` the parts of the model, and each state says which of them made the step to it (`lane`).
//!
//! | in the model | in ITF |
//! |---|---|
//! | truth value | `true` |
//! | integer | `{"#bigint": "7"}` |
//! | constant of an enumeration, element of a sort | its name |
//! | undefined, null | `{"#unserializable": "undefined"}` |
//! | clock | its value as text: `"3/2"` |
//! | record | an object |
//! | array | `{"#map": [[index, element], ...]}` |
//! | multiset | `{"#map": [[element, how many], ...]}`, as in TLA⁺'s module Bags |
//! | sequence | a list |

mod alone;
mod decode;
mod encode;
mod reason;
mod show;

use std::{borrow::Cow, fmt};

use serde_json::{Map, Value as Json, json};
use shoal_model::{Model, Rule, State, Trace, TypedId, Value, Violation};
use shoal_story::{Directions, Lanes};
use shoal_syntax::{SourceMap, acts, escaped};

pub use alone::LoneTrace;

use crate::{
    Origin, blame_as_json, names,
    objects::{Created, with_stable_names},
};

/// A trace that was read. It can be shown as it is, and run again with its model.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedTrace {
    document: Json,
}

/// A file is not a trace, or not one of this model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError(pub String);

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TraceError {}

/// A trace as ITF. `violation` is what the trace shows, with the name of the property, if it shows anything.
pub fn write_trace(
    model: &Model,
    sources: &SourceMap,
    origin: &Origin,
    trace: &Trace,
    violation: Option<(&str, &Violation)>,
) -> String {
    let mut meta = Map::new();
    meta.insert("format".into(), json!("ITF"));
    meta.insert("format-description".into(), json!("https://apalache-mc.org/docs/adr/015adr-trace.html"));
    meta.insert("description".into(), json!(format!("made by Shoal {}", env!("CARGO_PKG_VERSION"))));
    meta.insert("source".into(), json!(origin.file));
    if let Some((property, violation)) = violation {
        meta.insert("status".into(), json!("violation"));
        meta.insert("property".into(), json!(property));
        meta.insert("reason".into(), reason::encode(model, sources, &violation.reason));
        let blamed = blamed(model, sources, property, violation);
        if !blamed.is_empty() {
            meta.insert("blame".into(), Json::Array(blamed));
        }
    }
    let sized = model.sized_as(&trace.state);
    let lanes = Lanes::of(&sized, trace, &Directions::of(sources));
    let names: Vec<&str> = lanes.lanes().iter().map(|lane| lane.name.as_str()).collect();
    meta.insert("lanes".into(), json!(names));
    let set: Map<String, Json> =
        origin.set.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let options: Map<String, Json> =
        origin.options.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    meta.insert("shoal".into(), json!({ "schema": 1, "set": set, "options": options }));
    let (_, objects) = with_stable_names(model, trace);
    if !objects.is_empty() {
        meta.insert("objects".into(), objects.iter().map(|object| created(sources, object)).collect());
    }

    let mut document = Map::new();
    document.insert("#meta".into(), Json::Object(meta));
    document.insert("vars".into(), model.vars.iter().map(|var| json!(var.name)).collect());
    if let Some(target) = trace.loops_to {
        document.insert("loop".into(), json!(target));
    }
    document.insert("states".into(), states(model, sources, trace, &lanes));
    format!("{:#}\n", Json::Object(document))
}

/// Where an object was made. In states it has a number that another may have had before.
fn created(sources: &SourceMap, object: &Created) -> Json {
    let Created { name, in_states, step, span } = object;
    json!({ "name": name, "in_states": in_states, "step": step, "position": sources.locate(*span) })
}

/// The parts of a condition that are false at the end, for readers without the model.
fn blamed(model: &Model, sources: &SourceMap, property: &str, violation: &Violation) -> Vec<Json> {
    let known = model.properties.enumerate().find(|(_, known)| known.name == property);
    let (Some((property, _)), Some(trace)) = (known, &violation.trace) else { return Vec::new() };
    let sized = model.sized_as(&trace.state);
    let causes = shoal::blamed(&sized, property, violation);
    causes.iter().map(|cause| blame_as_json(&sized, sources, cause)).collect()
}

fn states(model: &Model, sources: &SourceMap, trace: &Trace, lanes: &Lanes) -> Json {
    let start = &model.starts[trace.start];
    let mut meta = fired(model, sources, start, &trace.args, None);
    meta.insert(
        "shoal".into(),
        json!({
            "start": trace.start.index(),
            "args": encode::exact_list(model, &trace.args),
            "choices": encode::exact_list(model, &trace.choices),
            "live": trace.state.live,
        }),
    );
    let mut states = vec![encode::state(model, &trace.state, 0, meta)];
    for (position, (step, before)) in trace.steps.iter().zip(trace.states()).enumerate() {
        let mut meta = fired(model, sources, &model.rules[step.rule], &step.args, Some(before));
        meta.insert("lane".into(), json!(lanes.lanes()[lanes.actor(model, step.rule, &step.args)].name));
        meta.insert(
            "shoal".into(),
            json!({
                "rule": step.rule.index(),
                "args": encode::exact_list(model, &step.args),
                "choices": encode::exact_list(model, &step.choices),
                "delay": step.delay.to_string(),
                "live": step.state.live,
            }),
        );
        states.push(encode::state(model, &step.state, position + 1, meta));
    }
    Json::Array(states)
}

/// What a person or a viewer wants to know of what fired.
fn fired(
    model: &Model,
    sources: &SourceMap,
    rule: &Rule,
    args: &[Value],
    before: Option<&State>,
) -> Map<String, Json> {
    let args: Map<String, Json> = names::arguments(model, rule, args, before)
        .into_iter()
        .map(|(name, value)| (name, json!(value)))
        .collect();
    let mut meta = Map::new();
    meta.insert("rule".into(), json!(rule.name));
    meta.insert("args".into(), Json::Object(args));
    meta.insert("position".into(), json!(sources.locate(rule.span)));
    meta
}

/// Reads an ITF trace, made by Shoal or by another tool.
pub fn read_trace(text: &str) -> Result<SavedTrace, TraceError> {
    let mut document: Json =
        serde_json::from_str(text).map_err(|error| TraceError(format!("not a JSON file: {error}")))?;
    escape_names(&mut document);
    let states = document.get("states").and_then(Json::as_array);
    let states = states.ok_or_else(|| TraceError("not an ITF trace: it has no list `states`".into()))?;
    if states.is_empty() {
        return Err(TraceError("the trace has no states".into()));
    }
    match states.iter().position(|state| !state.is_object()) {
        Some(position) => Err(TraceError(format!("state {position} of the trace is not an object"))),
        None => Ok(SavedTrace { document }),
    }
}

/// Escapes the names in a trace as those of the model are when it is loaded; see [`escaped`]. Where the model is found stays as it is.
fn escape_names(document: &mut Json) {
    document.get_mut("states").into_iter().for_each(escape_all);
    let Some(meta) = document.get_mut("#meta") else { return };
    for name in ["property", "reason", "objects", "blame", "lanes"] {
        meta.get_mut(name).into_iter().for_each(escape_all);
    }
}

fn escape_all(json: &mut Json) {
    match json {
        Json::String(text) => {
            if let Cow::Owned(shown) = escaped(text) {
                *text = shown;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(escape_all),
        Json::Object(fields) => {
            fields.values_mut().for_each(escape_all);
            if fields.keys().any(|name| name.contains(acts)) {
                let all = std::mem::take(fields);
                *fields = all.into_iter().map(|(name, value)| (escaped(&name).into_owned(), value)).collect();
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

impl SavedTrace {
    /// The file of the model, where the trace says so.
    pub fn source(&self) -> Option<&str> {
        self.meta("source").and_then(Json::as_str)
    }

    /// The property that the trace speaks of.
    pub fn property(&self) -> Option<&str> {
        self.meta("property").and_then(Json::as_str)
    }

    /// What is wrong at the end of the trace, in words.
    pub fn reason(&self) -> Option<&str> {
        self.meta("reason")?.get("text")?.as_str()
    }

    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        let list = |name: &str| {
            let object = self.meta("shoal").and_then(|shoal| shoal.get(name)).and_then(Json::as_object);
            object.into_iter().flatten()
        };
        let number = |(name, value): (&String, &Json)| Some((name.clone(), value.as_i64()?));
        let text = |(name, value): (&String, &Json)| Some((name.clone(), value.as_str()?.to_string()));
        Origin {
            file: self.source().unwrap_or_default().to_string(),
            set: list("set").filter_map(number).collect(),
            options: list("options").filter_map(text).collect(),
        }
    }

    /// Where an infinite run goes on after its last step: the number of a state.
    pub fn loops_to(&self) -> Option<usize> {
        self.document.get("loop").and_then(Json::as_u64).map(|to| to as usize)
    }

    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.states().len() - 1
    }

    /// Whether it is a start and nothing else.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The trace as one of this model. Fails if it was not made by Shoal or does not fit the model.
    pub fn decode(&self, model: &Model) -> Result<Trace, TraceError> {
        decode::trace(model, self)
    }

    /// The violation that the trace shows, if it says that it shows one.
    pub fn violation(&self, model: &Model) -> Result<Option<Violation>, TraceError> {
        let Some(reason) = self.meta("reason") else { return Ok(None) };
        let reason = reason::decode(model, reason)?;
        Ok(Some(Violation { reason, trace: Some(self.decode(model)?) }))
    }

    /// Whether Shoal has made it, so that it can be run again with its model.
    pub fn is_ours(&self) -> bool {
        self.meta("shoal").is_some()
    }

    /// Whether the file says that it shows a violation.
    pub fn is_violation(&self) -> bool {
        self.reason().is_some() || self.meta("status").and_then(Json::as_str) == Some("violation")
    }

    /// The run, told from the file alone: of another tool, or without its model. `name` is what it is a run of.
    pub fn told_alone(&self, name: &str) -> Result<LoneTrace, TraceError> {
        alone::told(self, name)
    }

    /// The parts of the model, where the trace names them; what they share is the last.
    fn lanes(&self) -> Vec<String> {
        let names = self.meta("lanes").and_then(Json::as_array);
        names.into_iter().flatten().filter_map(Json::as_str).map(String::from).collect()
    }

    /// The lines of the trace as text, from nothing but what the file says.
    pub(crate) fn steps(&self) -> Vec<crate::StepText> {
        show::steps(self)
    }

    /// What every variable is in a state of the run, by number.
    pub(crate) fn values(&self, number: usize) -> Vec<(String, String)> {
        self.states().get(number).map(show::values).unwrap_or_default()
    }

    /// The same, with the parts of what has parts one by one.
    pub(crate) fn leaves(&self, number: usize) -> Vec<(String, String)> {
        self.states().get(number).map(show::leaves).unwrap_or_default()
    }

    fn meta(&self, name: &str) -> Option<&Json> {
        self.document.get("#meta")?.get(name)
    }

    fn states(&self) -> &[Json] {
        // Checked when the trace was read.
        self.document["states"].as_array().map_or(&[], Vec::as_slice)
    }
}
