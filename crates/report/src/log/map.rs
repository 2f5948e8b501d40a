//! The small file that says what the events of a log are in a model.

use std::collections::BTreeMap;

use toml_edit::{DocumentMut, Item, TableLike};

/// What the events of a log are in a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMap {
    /// The field of an event that says what happened.
    pub event: String,
    /// The rules that leave no event: names, or beginnings of names with a star behind them.
    pub hidden: Vec<String>,
    /// The events, by name.
    pub events: BTreeMap<String, EventMap>,
    /// Fields whose values are elements of a sort, with its name.
    pub elements: BTreeMap<String, String>,
    /// What values of the log are called in the model.
    pub values: BTreeMap<String, String>,
}

/// What one kind of event is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventMap {
    /// The rules that it may be a step of; none for the one with its name.
    pub rules: Vec<String>,
    /// What parameters were: texts with fields in braces.
    pub args: Vec<(String, String)>,
    /// What parts of the state are afterwards.
    pub state: Vec<(String, String)>,
}

impl Default for LogMap {
    fn default() -> Self {
        LogMap {
            event: "event".into(),
            hidden: Vec::new(),
            events: BTreeMap::new(),
            elements: BTreeMap::new(),
            values: BTreeMap::new(),
        }
    }
}

impl LogMap {
    /// Reads the file, which is in TOML. What it says that is not known is an error.
    pub fn read(text: &str) -> Result<LogMap, String> {
        let document: DocumentMut = text.parse().map_err(|error| format!("{error}"))?;
        let mut map = LogMap::default();
        for (key, item) in document.iter() {
            match key {
                "event" => map.event = text_of(key, item)?,
                "hidden" => map.hidden = texts_of(key, item)?,
                "elements" => map.elements = pairs_of(key, item)?.into_iter().collect(),
                "values" => map.values = pairs_of(key, item)?.into_iter().collect(),
                "events" => {
                    for (name, item) in table_of(key, item)?.iter() {
                        map.events.insert(name.to_string(), event(name, item)?);
                    }
                }
                other => return Err(unknown(other)),
            }
        }
        Ok(map)
    }
}

fn event(name: &str, item: &Item) -> Result<EventMap, String> {
    let mut event = EventMap::default();
    for (key, item) in table_of(name, item)?.iter() {
        match key {
            "rule" => event.rules.push(text_of(key, item)?),
            "rules" => event.rules.extend(texts_of(key, item)?),
            "args" => event.args = pairs_of(key, item)?,
            "state" => event.state = pairs_of(key, item)?,
            other => return Err(unknown(other)),
        }
    }
    Ok(event)
}

fn unknown(key: &str) -> String {
    format!("there is no setting `{key}`")
}

fn table_of<'i>(key: &str, item: &'i Item) -> Result<&'i dyn TableLike, String> {
    item.as_table_like().ok_or_else(|| format!("`{key}` is to be a table"))
}

fn text_of(key: &str, item: &Item) -> Result<String, String> {
    item.as_str().map(str::to_string).ok_or_else(|| format!("`{key}` is to be a text"))
}

fn texts_of(key: &str, item: &Item) -> Result<Vec<String>, String> {
    let wrong = || format!("`{key}` is to be a list of texts");
    let list = item.as_array().ok_or_else(wrong)?;
    list.iter().map(|text| text.as_str().map(str::to_string).ok_or_else(wrong)).collect()
}

/// Names, each with a text; numbers and truth values are taken as such.
fn pairs_of(key: &str, item: &Item) -> Result<Vec<(String, String)>, String> {
    let pairs = table_of(key, item)?.iter().map(|(name, item)| {
        let text = match (item.as_str(), item.as_integer(), item.as_bool()) {
            (Some(text), ..) => text.to_string(),
            (_, Some(number), _) => number.to_string(),
            (.., Some(truth)) => truth.to_string(),
            _ => return Err(format!("`{key}.{name}` is to be a text")),
        };
        Ok((name.to_string(), text))
    });
    pairs.collect()
}
