//! What a call of a server gives, checked: an argument that it does not know is a mistake, not a detail.

use std::{collections::HashMap, time::Duration};

use serde_json::{Map, Value as Json};
use shoal::{Cancel, Limits, Watch};

/// The arguments of a call. Each is taken once; what is left over is refused.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    given: Map<String, Json>,
    cancel: Cancel,
}

/// Constants with new values, and those that stand for any number.
pub type ConstantValues = (Vec<(String, i64)>, Vec<String>);

/// Why a call cannot be answered, in a sentence.
pub type ArgumentRefusal = String;

/// Time and memory of a call that does not say, and the most that it may say.
const SECONDS: u64 = 30;
const MOST_SECONDS: u64 = 3_600;
const MEGABYTES: u64 = 1_024;
const MOST_MEGABYTES: u64 = 1 << 20;

impl Arguments {
    /// Those of a call that may be cancelled.
    pub fn new(given: Map<String, Json>, cancel: &Cancel) -> Arguments {
        Arguments { given, cancel: cancel.clone() }
    }

    /// A text, if it is given.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, ArgumentRefusal> {
        match self.given.remove(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` is a text")),
        }
    }

    /// A text that must be given.
    pub fn needed(&mut self, name: &str) -> Result<String, ArgumentRefusal> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    /// A number, if it is given.
    pub fn number(&mut self, name: &str, most: u64) -> Result<Option<u64>, ArgumentRefusal> {
        match self.given.remove(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => match value.as_u64().filter(|number| *number <= most) {
                Some(number) => Ok(Some(number)),
                None => Err(format!("`{name}` is a number from 0 to {most}")),
            },
        }
    }

    /// A list of texts; empty if it is not given.
    pub fn list(&mut self, name: &str) -> Result<Vec<String>, ArgumentRefusal> {
        let wrong = || format!("`{name}` is a list of texts");
        match self.given.remove(name) {
            None | Some(Json::Null) => Ok(Vec::new()),
            Some(Json::Array(items)) => {
                items.iter().map(|item| item.as_str().map(String::from).ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Values by name.
    pub fn settings(&mut self, name: &str) -> Result<Vec<(String, Json)>, ArgumentRefusal> {
        match self.given.remove(name) {
            None | Some(Json::Null) => Ok(Vec::new()),
            Some(Json::Object(settings)) => Ok(settings.into_iter().collect()),
            Some(_) => Err(format!("`{name}` is an object: names of constants and their values")),
        }
    }

    /// Whether something is said to be so; false if it is not given.
    pub fn truth(&mut self, name: &str) -> Result<bool, ArgumentRefusal> {
        match self.given.remove(name) {
            None | Some(Json::Null) => Ok(false),
            Some(Json::Bool(truth)) => Ok(truth),
            Some(_) => Err(format!("`{name}` is true or false")),
        }
    }

    /// Numbers by number: `{"7": 120.5}`; empty if it is not given.
    pub fn places(&mut self, name: &str) -> Result<HashMap<usize, f64>, ArgumentRefusal> {
        let pair = |(key, value): (String, Json)| Some((key.parse().ok()?, value.as_f64()?));
        let all = self.settings(name)?;
        all.into_iter()
            .map(pair)
            .collect::<Option<_>>()
            .ok_or_else(|| format!("`{name}` is numbers by number"))
    }

    /// New values for constants: numbers, or "any".
    pub fn constants(&mut self, name: &str) -> Result<ConstantValues, ArgumentRefusal> {
        let (mut set, mut any) = (Vec::new(), Vec::new());
        for (name, value) in self.settings(name)? {
            match (value.as_i64(), value.as_str()) {
                (Some(number), _) => set.push((name, number)),
                (None, Some("any")) => any.push(name),
                _ => return Err(format!("the value of `{name}` is a number or \"any\"")),
            }
        }
        Ok((set, any))
    }

    /// The budget of a call, whose clock begins to run.
    pub fn watch(&mut self) -> Result<Watch, ArgumentRefusal> {
        let seconds = self.number("seconds", MOST_SECONDS)?.unwrap_or(SECONDS);
        let megabytes = self.number("memory_mb", MOST_MEGABYTES)?.unwrap_or(MEGABYTES);
        let time = Some(Duration::from_secs(seconds));
        let limits = Limits { time, memory: Some(megabytes << 20), ..Limits::default() };
        Ok(Watch::start(limits).cancelled_by(&self.cancel))
    }

    /// Refuses what nobody has taken.
    pub fn end(&self) -> Result<(), ArgumentRefusal> {
        match self.given.keys().next() {
            Some(name) => Err(format!("there is no argument `{name}`")),
            None => Ok(()),
        }
    }
}
