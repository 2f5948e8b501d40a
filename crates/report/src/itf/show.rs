//! A saved trace as text, from nothing but what the file says, so that traces of other tools can be shown too.

use serde_json::Value as Json;

use super::SavedTrace;
use crate::{PlaceChange, StepText};

pub(super) fn steps(saved: &SavedTrace) -> Vec<StepText> {
    let states = saved.states();
    let line = |(number, state): (usize, &Json)| {
        let mut changes = Vec::new();
        if let Some(before) = number.checked_sub(1).and_then(|before| states.get(before)) {
            let nothing = &Json::Null;
            for (name, new) in variables(state) {
                compare(before.get(name).unwrap_or(nothing), new, name, &mut changes);
            }
        }
        let position = state.get("#meta").and_then(|meta| meta.get("position")).and_then(Json::as_str);
        StepText {
            number,
            label: label(state, number),
            position: position.map(String::from),
            changes,
            output: Vec::new(),
            shows: Vec::new(),
        }
    };
    states.iter().enumerate().map(line).collect()
}

/// What every variable of a state is.
pub(super) fn values(state: &Json) -> Vec<(String, String)> {
    variables(state).map(|(name, value)| (name.clone(), text(value))).collect()
}

/// Every place of a state that has no parts, and what is there.
pub(super) fn leaves(state: &Json) -> Vec<(String, String)> {
    let mut found = Vec::new();
    variables(state).for_each(|(name, value)| add_leaves(name, value, &mut found));
    found
}

fn add_leaves(place: &str, value: &Json, found: &mut Vec<(String, String)>) {
    match (entries(value), value.as_object().filter(|_| is_record(value))) {
        (Some(entries), _) => {
            entries
                .iter()
                .for_each(|(key, value)| add_leaves(&format!("{place}[{}]", text(key)), value, found));
        }
        (None, Some(fields)) => {
            fields.iter().for_each(|(name, value)| add_leaves(&format!("{place}.{name}"), value, found));
        }
        (None, None) => found.push((place.into(), text(value))),
    }
}

/// The variables in which other tools keep what a step is called, and what it chose (Quint, and models for Apalache).
const ACTIONS: [&str; 3] = ["mbt::actionTaken", "action_taken", "actionTaken"];
const CHOICES: &str = "mbt::nondetPicks";

/// The variables of a state, without those that say how it came to be.
pub(super) fn variables(state: &Json) -> impl Iterator<Item = (&String, &Json)> {
    let says = rule_in_meta(state).is_none();
    let aside =
        move |name: &str| name.starts_with('#') || says && (ACTIONS.contains(&name) || name == CHOICES);
    state.as_object().into_iter().flatten().filter(move |(name, _)| !aside(name))
}

fn rule_in_meta(state: &Json) -> Option<&str> {
    let meta = state.get("#meta")?;
    ["rule", "action"].iter().find_map(|name| meta.get(name)?.as_str())
}

/// What a step is called, and its arguments.
pub(super) fn label(state: &Json, number: usize) -> String {
    let in_variable = || ACTIONS.iter().find_map(|name| state.get(name)?.as_str());
    let Some(rule) = rule_in_meta(state).or_else(in_variable) else {
        return if number == 0 { "start".into() } else { "step".into() };
    };
    let args: Vec<String> =
        arguments(state).iter().map(|(name, value)| format!("{name} = {}", text(value))).collect();
    let gap = if rule.contains(' ') { " " } else { "" };
    if args.is_empty() { rule.into() } else { format!("{rule}{gap}({})", args.join(", ")) }
}

/// The values that a step is about.
pub(super) fn picks(state: &Json) -> Vec<String> {
    arguments(state).iter().map(|(_, value)| text(value)).collect()
}

/// The arguments of a step, where the file has them. What was not chosen is left out.
fn arguments(state: &Json) -> Vec<(&String, &Json)> {
    let given = state.get("#meta").and_then(|meta| meta.get("args")).and_then(Json::as_object);
    let chosen = state.get(CHOICES).and_then(Json::as_object);
    let given = given.into_iter().flatten();
    let chosen =
        chosen.into_iter().flatten().filter_map(|(name, option)| match option.get("tag")?.as_str()? {
            "Some" => Some((name, option.get("value")?)),
            _ => None,
        });
    given.chain(chosen).collect()
}

fn fields(old: &Json, new: &Json, place: &str, found: &mut Vec<PlaceChange>) {
    let empty = serde_json::Map::new();
    let old = old.as_object().unwrap_or(&empty);
    for (name, new) in new.as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        compare(old.get(name).unwrap_or(&Json::Null), new, &place, found);
    }
}

fn compare(old: &Json, new: &Json, place: &str, found: &mut Vec<PlaceChange>) {
    if old == new {
        return;
    }
    match (entries(old), entries(new)) {
        (Some(old), Some(new)) => compare_maps(&old, &new, place, found),
        _ if is_record(old) && is_record(new) => fields(old, new, place, found),
        _ => found.push(PlaceChange { place: place.into(), old: Some(text(old)), new: Some(text(new)) }),
    }
}

/// Keys come and go only in bags, so those are shown as elements.
fn compare_maps(old: &[(&Json, &Json)], new: &[(&Json, &Json)], place: &str, found: &mut Vec<PlaceChange>) {
    let get = |map: &[(&Json, &Json)], key: &Json| {
        map.iter().find(|(known, _)| *known == key).map(|pair| pair.1.clone())
    };
    for (key, value) in old {
        match get(new, key) {
            Some(new) => compare(value, &new, &format!("{place}[{}]", text(key)), found),
            None => found.push(PlaceChange { place: place.into(), old: Some(text(key)), new: None }),
        }
    }
    for (key, _) in new.iter().filter(|(key, _)| get(old, key).is_none()) {
        found.push(PlaceChange { place: place.into(), old: None, new: Some(text(key)) });
    }
}

pub(super) fn entries(json: &Json) -> Option<Vec<(&Json, &Json)>> {
    let pair = |entry: &'_ Json| entry.as_array().filter(|pair| pair.len() == 2).is_some();
    let list = json.get("#map")?.as_array()?;
    list.iter().all(pair).then(|| list.iter().map(|entry| (&entry[0], &entry[1])).collect())
}

pub(super) fn is_record(json: &Json) -> bool {
    json.as_object().is_some_and(|object| !object.keys().any(|key| key.starts_with('#')))
}

pub(super) fn text(json: &Json) -> String {
    let list = |items: &[Json]| items.iter().map(text).collect::<Vec<_>>().join(", ");
    let items = |name: &str| json.get(name).and_then(Json::as_array);
    match json {
        Json::String(text) => text.clone(),
        Json::Array(items) => format!("[{}]", list(items)),
        Json::Object(object) => {
            if let Some(text) = object.get("#bigint").or(object.get("#unserializable")).and_then(Json::as_str)
            {
                return text.into();
            }
            if let Some(items) = items("#tup") {
                return format!("({})", list(items));
            }
            if let Some(items) = items("#set") {
                return format!("{{{}}}", list(items));
            }
            if let Some(map) = entries(json) {
                let parts = map.iter().map(|(key, value)| format!("{}: {}", text(key), text(value)));
                return format!("[{}]", parts.collect::<Vec<_>>().join(", "));
            }
            let parts = object.iter().map(|(name, value)| format!("{name}: {}", text(value)));
            format!("{{{}}}", parts.collect::<Vec<_>>().join(", "))
        }
        _ => json.to_string(),
    }
}
