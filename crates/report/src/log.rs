//! Logs of running systems: one JSON object a line, and a small file that says what its events are in a model.
//!
//! ```toml
//! event = "op"                    # the field that says what happened; "event" if left out
//! hidden = ["take effect*"]       # rules that leave no event; "*" is the rest of a name, and alone all rules that no event names
//!
//! [events.pop]                    # an event {"op": "pop", "thread": 7, "value": 3}
//! rule = "pop returns"            # or rules = [...]; the event's own name if left out
//! args = { t = "{thread}" }       # a parameter, and what it was; {field} is filled in from the event
//! state = { "got[{thread}]" = "{value}" }     # a part of the state after the step, as traces name it
//!
//! [elements]                      # values of these fields are elements of a sort, numbered as they come
//! thread = "proc"
//!
//! [values]                        # other words for values of the model
//! "nil" = "undefined"
//! ```
//!
//! An event that the file does not name is a step of the rule with its name; fields with the names of its parameters say what these
//! were. So a log in the words of the model needs no such file.

mod map;
mod tell;

use std::collections::BTreeMap;

use serde_json::Value as Json;
use shoal::{Loaded, Observation, StateCell, symmetry_of_steps};
use shoal_model::{Model, RuleId, SortId, Type, TypeId, TypedId, Value};

pub use self::{
    map::{EventMap, LogMap},
    tell::{logged_steps, write_stuck},
};
use crate::changes::index_name;

/// A log in the words of a model.
#[derive(Clone, Debug)]
pub struct Log {
    /// The events, in order.
    pub events: Vec<LogEvent>,
    /// The rules that leave no event.
    pub hidden: Vec<RuleId>,
}

/// An event of a log.
#[derive(Clone, Debug)]
pub struct LogEvent {
    /// The line it stands on, from 1.
    pub line: usize,
    /// The line itself.
    pub text: String,
    /// What it says.
    pub observed: Observation,
}

impl Log {
    /// What is observed, event by event.
    pub fn observations(&self) -> Vec<Observation> {
        self.events.iter().map(|event| event.observed.clone()).collect()
    }
}

/// Reads a log. The error says what does not fit the model, and on which line.
pub fn read_log(loaded: &Loaded, text: &str, map: &LogMap) -> Result<Log, String> {
    let model = &loaded.model;
    let mut reader = LogReader { loaded, map, places: places(model), elements: BTreeMap::new() };
    let mut events = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let at = |error: String| format!("line {}: {error}", number + 1);
        let json: Json =
            serde_json::from_str(line).map_err(|error| at(format!("not a JSON object: {error}")))?;
        let observed = reader.event(&json).map_err(at)?;
        events.push(LogEvent { line: number + 1, text: line.trim().to_string(), observed });
    }
    Ok(Log { events, hidden: reader.hidden()? })
}

/// A part of a state that has a name.
type NamedPlaces = BTreeMap<String, (StateCell, TypeId)>;

struct LogReader<'a> {
    loaded: &'a Loaded,
    map: &'a LogMap,
    places: NamedPlaces,
    /// What the log calls the elements of each sort, in the order in which they come.
    elements: BTreeMap<SortId, Vec<String>>,
}

impl LogReader<'_> {
    fn event(&mut self, json: &Json) -> Result<Observation, String> {
        let field = &self.map.event;
        let name = word(json, field).ok_or_else(|| format!("the event has no field {field:?}"))?;
        let own = EventMap::default();
        let event = self.map.events.get(&name).unwrap_or(&own);
        let rules = match event.rules.is_empty() {
            true => self.rules(&name)?,
            false => event.rules.iter().map(|rule| self.rules(rule)).collect::<Result<Vec<_>, _>>()?.concat(),
        };
        let (mut args, mut after) = (Vec::new(), Vec::new());
        for (parameter, template) in &event.args {
            let text = self.filled(template, json)?;
            args.push((parameter.clone(), self.argument(&rules, parameter, &text)?));
        }
        if event.args.is_empty() && event.rules.is_empty() {
            for parameter in self.parameters(&rules) {
                if let Some(text) = self.field(json, &parameter)? {
                    args.push((parameter.clone(), self.argument(&rules, &parameter, &text)?));
                }
            }
        }
        for (place, template) in &event.state {
            let place = self.filled(place, json)?;
            let text = self.filled(template, json)?;
            let Some((cell, ty)) = self.places.get(&place) else {
                return Err(format!("the model has no `{place}`{}", self.near(&place)));
            };
            let value = value_of(&self.loaded.model, *ty, &text);
            let of = || self.loaded.model.show_type(*ty);
            let value =
                value.ok_or_else(|| format!("`{place}` cannot be `{text}`: it is of type {}", of()))?;
            after.push((cell.clone(), value));
        }
        Ok(Observation { rules, args, after })
    }

    /// The rules that a name or a pattern stands for.
    fn rules(&self, pattern: &str) -> Result<Vec<RuleId>, String> {
        let rules = self.loaded.model.rules.enumerate();
        let found: Vec<RuleId> = rules.filter(|(_, it)| fits(&it.name, pattern)).map(|(id, _)| id).collect();
        match found.is_empty() {
            true => Err(format!("the model has no rule {pattern:?}")),
            false => Ok(found),
        }
    }

    fn hidden(&self) -> Result<Vec<RuleId>, String> {
        let mut told = Vec::new();
        for (name, event) in &self.map.events {
            let own = [name.clone()];
            let names = if event.rules.is_empty() { &own[..] } else { &event.rules[..] };
            for rule in names {
                told.extend(self.rules(rule)?);
            }
        }
        let mut hidden = Vec::new();
        for pattern in &self.map.hidden {
            hidden.extend(self.rules(pattern)?.into_iter().filter(|rule| !told.contains(rule)));
        }
        Ok(hidden)
    }

    /// The names of the parameters that some of these rules have.
    fn parameters(&self, rules: &[RuleId]) -> Vec<String> {
        let mut names = Vec::new();
        for rule in rules.iter().map(|rule| &self.loaded.model.rules[*rule]) {
            names.extend(rule.params.iter().map(|parameter| rule.code.locals[parameter.local].name.clone()));
        }
        names.sort();
        names.dedup();
        names
    }

    fn argument(&self, rules: &[RuleId], name: &str, text: &str) -> Result<Value, String> {
        let model = &self.loaded.model;
        let mut types = Vec::new();
        for rule in rules.iter().map(|rule| &model.rules[*rule]) {
            let named = rule.params.iter().map(|it| &rule.code.locals[it.local]).find(|it| it.name == name);
            types.extend(named.map(|local| local.ty));
        }
        if types.is_empty() {
            return Err(format!("the rule has no parameter `{name}`"));
        }
        let value = types.iter().find_map(|ty| value_of(model, *ty, text));
        value.ok_or_else(|| format!("the parameter `{name}` cannot be `{text}`"))
    }

    /// A text with the fields of an event put in.
    fn filled(&mut self, template: &str, json: &Json) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((field, behind)) = after.split_once('}') else {
                return Err(format!("`{template}` has a brace that is not closed"));
            };
            let text = self.field(json, field)?;
            filled += before;
            filled += &text.ok_or_else(|| format!("the event has no field {field:?}"))?;
            rest = behind;
        }
        Ok(filled + rest)
    }

    /// A field in the words of the model.
    fn field(&mut self, json: &Json, field: &str) -> Result<Option<String>, String> {
        let Some(text) = word(json, field) else { return Ok(None) };
        match self.map.elements.get(field) {
            Some(sort) => self.element(sort, &text).map(Some),
            None => Ok(Some(self.map.values.get(&text).cloned().unwrap_or(text))),
        }
    }

    /// The element that a word of the log stands for. Which one does not matter, as they are interchangeable.
    fn element(&mut self, sort: &str, text: &str) -> Result<String, String> {
        let model = &self.loaded.model;
        let Some((id, found)) = model.sorts.enumerate().find(|(_, known)| known.name == sort) else {
            return Err(format!("the model has no sort `{sort}`"));
        };
        if !self.elements.contains_key(&id) {
            let symmetry = symmetry_of_steps(model);
            let known = &symmetry.sorts[id];
            if !known.is_proved() || !known.pinned.is_empty() {
                return Err(format!(
                    "the elements of `{sort}` are not proved to be interchangeable: say under [values] which is which"
                ));
            }
        }
        let known = self.elements.entry(id).or_default();
        let number = known.iter().position(|it| it == text).unwrap_or_else(|| {
            known.push(text.to_string());
            known.len() - 1
        });
        match found.fixed_size() {
            Some(size) if number >= size as usize => {
                Err(format!("{text:?} is one more than the {size} elements of `{sort}`"))
            }
            _ => Ok(found.element_name(number as u32)),
        }
    }

    fn near(&self, place: &str) -> String {
        let head = place.split(['[', '.']).next().unwrap_or(place);
        let mut alike = self.places.keys().filter(|known| known.split(['[', '.']).next() == Some(head));
        alike.next().map_or(String::new(), |known| format!("; it has `{known}`"))
    }
}

/// Whether a name is one that a pattern means: itself, or what begins as it does before a star.
fn fits(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(head) => name.starts_with(head),
        None => name == pattern,
    }
}

/// A field of an object as a word; `a.b` is a field of a field.
fn word(json: &Json, field: &str) -> Option<String> {
    let found = field.split('.').try_fold(json, |json, part| json.get(part))?;
    match found {
        Json::String(text) => Some(text.clone()),
        Json::Null => Some("null".into()),
        Json::Bool(_) | Json::Number(_) => Some(found.to_string()),
        Json::Array(_) | Json::Object(_) => None,
    }
}

/// A value by what it is called.
fn value_of(model: &Model, ty: TypeId, text: &str) -> Option<Value> {
    if text == "undefined" {
        return Some(Value::Undefined);
    }
    match model.kind(ty) {
        Type::Bool => text.parse().ok().map(Value::Bool),
        Type::Int { .. } => {
            let value = Value::Int(text.parse().ok()?);
            model.ordinal(ty, &value).map(|_| value)
        }
        Type::Enum { variants } => {
            let position = variants.iter().position(|name| name == text)?;
            Some(Value::Enum(ty, position as u32))
        }
        Type::Ref { nullable: true, .. } if text == "null" => Some(Value::Null),
        Type::Ref { sort, .. } => {
            model.sorts[*sort].element_named(text).map(|element| Value::Elem(*sort, element))
        }
        Type::Union { members } => members.iter().find_map(|member| value_of(model, *member, text)),
        Type::Record { .. }
        | Type::Array { .. }
        | Type::Multiset { .. }
        | Type::Sequence { .. }
        | Type::Clock => None,
    }
}

/// The parts of a state that hold one value, by what traces call them.
fn places(model: &Model) -> NamedPlaces {
    let mut places = NamedPlaces::new();
    let state = model.blank_state();
    for (id, var) in model.vars.enumerate() {
        let cell = StateCell { var: id, path: Vec::new() };
        add_places(model, &var.name, (cell, var.ty), &state.values[id.index()], &mut places);
    }
    places
}

fn add_places(
    model: &Model,
    name: &str,
    (cell, ty): (StateCell, TypeId),
    value: &Value,
    places: &mut NamedPlaces,
) {
    let within = |position: usize| {
        let mut cell = cell.clone();
        cell.path.push(position);
        cell
    };
    match (model.kind(ty), value) {
        (Type::Record { fields }, Value::Record(values)) => {
            for (position, (field, value)) in fields.iter().zip(values).enumerate() {
                let name = format!("{name}.{}", field.name);
                add_places(model, &name, (within(position), field.ty), value, places);
            }
        }
        (Type::Array { index, element }, Value::Array(values)) => {
            for (position, value) in values.iter().enumerate() {
                let name = format!("{name}[{}]", index_name(model, *index, position));
                add_places(model, &name, (within(position), *element), value, places);
            }
        }
        _ => drop(places.insert(name.to_string(), (cell, ty))),
    }
}
