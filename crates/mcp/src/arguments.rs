//! What a call of a tool gives, checked: an argument that a tool does not know is a mistake, not a detail.

use std::time::Duration;

use serde_json::{Map, Value as Json};
use shoal::{Cancel, Limits, Watch};

/// The arguments of a call. Each is taken once; what is left over is refused.
pub(crate) struct Arguments(pub(crate) Map<String, Json>);

/// Why a tool cannot answer, in a sentence.
pub(crate) type Refused = String;

/// Time and memory of a call that does not say, and the most that it may say.
const SECONDS: u64 = 30;
const MOST_SECONDS: u64 = 3_600;
const MEGABYTES: u64 = 1_024;
const MOST_MEGABYTES: u64 = 1 << 20;

impl Arguments {
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Refused> {
        match self.0.remove(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` is a text")),
        }
    }

    pub(crate) fn needed(&mut self, name: &str) -> Result<String, Refused> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    pub(crate) fn number(&mut self, name: &str, most: u64) -> Result<Option<u64>, Refused> {
        match self.0.remove(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => match value.as_u64().filter(|number| *number <= most) {
                Some(number) => Ok(Some(number)),
                None => Err(format!("`{name}` is a number from 0 to {most}")),
            },
        }
    }

    pub(crate) fn list(&mut self, name: &str) -> Result<Vec<String>, Refused> {
        let wrong = || format!("`{name}` is a list of texts");
        match self.0.remove(name) {
            None | Some(Json::Null) => Ok(Vec::new()),
            Some(Json::Array(items)) => {
                items.iter().map(|item| item.as_str().map(String::from).ok_or_else(wrong)).collect()
            }
            Some(_) => Err(wrong()),
        }
    }

    /// Values by name.
    pub(crate) fn settings(&mut self, name: &str) -> Result<Vec<(String, Json)>, Refused> {
        match self.0.remove(name) {
            None | Some(Json::Null) => Ok(Vec::new()),
            Some(Json::Object(settings)) => Ok(settings.into_iter().collect()),
            Some(_) => Err(format!("`{name}` is an object: names of constants and their values")),
        }
    }

    /// The budget of a call, whose clock begins to run.
    pub(crate) fn watch(&mut self, cancel: &Cancel) -> Result<Watch, Refused> {
        let seconds = self.number("seconds", MOST_SECONDS)?.unwrap_or(SECONDS);
        let megabytes = self.number("memory_mb", MOST_MEGABYTES)?.unwrap_or(MEGABYTES);
        let time = Some(Duration::from_secs(seconds));
        let limits = Limits { time, memory: Some(megabytes << 20), ..Limits::default() };
        Ok(Watch::start(limits).cancelled_by(cancel))
    }

    /// Refuses what nobody has taken.
    pub(crate) fn end(&self) -> Result<(), Refused> {
        match self.0.keys().next() {
            Some(name) => Err(format!("there is no argument `{name}`")),
            None => Ok(()),
        }
    }
}
