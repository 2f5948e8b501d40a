//! `run.json`: what was asked, with everything that was left open filled in, and what was found out, so that the run can be repeated.

use serde_json::{Value as Json, json};
use shoal_model::Verdict;

use crate::{Run, invariant_certificate::fnv};

/// What makes a file known as one of ours.
pub const RECORD_KIND: &str = "shoal run";

/// A run that was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRun {
    /// The version that ran.
    pub version: String,
    /// What was typed, from the command on, with what was left open.
    pub arguments: Vec<String>,
    /// The files of all models, each with what it is known by.
    pub files: Vec<(String, String)>,
    /// What was found out.
    pub results: Vec<RecordedVerdict>,
}

/// A verdict that was written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedVerdict {
    /// The file as it was named.
    pub file: String,
    /// The property.
    pub property: String,
    /// `holds`, `violated` or `unknown`.
    pub verdict: String,
    /// How many steps the counterexample has.
    pub steps: Option<u64>,
    /// How many states were stored, where all were searched.
    pub states: Option<u64>,
}

impl RecordedRun {
    /// Writes down what was found out about some models.
    pub fn of(arguments: Vec<String>, runs: &[Run<'_>]) -> RecordedRun {
        let (mut files, mut results) = (Vec::new(), Vec::new());
        for run in runs {
            let sources = run.sources().files();
            files.extend(sources.map(|file| (file.name().to_string(), fnv(file.text()))));
            let statistics = &run.outcome().statistics;
            for result in &run.outcome().results {
                let (verdict, steps) = match &result.verdict {
                    Verdict::Holds => ("holds", None),
                    Verdict::Violated(violation) => {
                        ("violated", violation.trace.as_ref().map(|trace| trace.steps.len() as u64))
                    }
                    Verdict::Unknown(_) => ("unknown", None),
                };
                results.push(RecordedVerdict {
                    file: run.file.to_string(),
                    property: run.property(result).title(),
                    verdict: verdict.to_string(),
                    steps,
                    states: statistics.exhaustive.then_some(statistics.states),
                });
            }
        }
        RecordedRun { version: env!("CARGO_PKG_VERSION").to_string(), arguments, files, results }
    }

    /// The file.
    pub fn write(&self) -> String {
        let file = |(name, print): &(String, String)| json!({ "name": name, "fnv": print });
        let result = |it: &RecordedVerdict| {
            json!({
                "file": it.file, "property": it.property, "verdict": it.verdict, "steps": it.steps,
                "states": it.states,
            })
        };
        let document = json!({
            "schema": 1, "kind": RECORD_KIND, "shoal": self.version, "arguments": self.arguments,
            "files": self.files.iter().map(file).collect::<Vec<_>>(),
            "results": self.results.iter().map(result).collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }

    /// Reads the file.
    pub fn read(text: &str) -> Result<RecordedRun, String> {
        let document: Json =
            serde_json::from_str(text).map_err(|error| format!("not a JSON file: {error}"))?;
        if document["kind"] != RECORD_KIND || document["schema"] != 1 {
            return Err("this is not a run that was written down by this version".into());
        }
        let word = |json: &Json| json.as_str().map(str::to_string).ok_or("a text is missing");
        let list = |json: &Json| json.as_array().cloned().ok_or("a list is missing");
        let mut record = RecordedRun {
            version: word(&document["shoal"])?,
            arguments: Vec::new(),
            files: Vec::new(),
            results: Vec::new(),
        };
        for argument in list(&document["arguments"])? {
            record.arguments.push(word(&argument)?);
        }
        for file in list(&document["files"])? {
            record.files.push((word(&file["name"])?, word(&file["fnv"])?));
        }
        for result in list(&document["results"])? {
            record.results.push(RecordedVerdict {
                file: word(&result["file"])?,
                property: word(&result["property"])?,
                verdict: word(&result["verdict"])?,
                steps: result["steps"].as_u64(),
                states: result["states"].as_u64(),
            });
        }
        Ok(record)
    }

    /// What is otherwise in another record.
    pub fn differences(&self, now: &RecordedRun) -> Vec<String> {
        let mut found = Vec::new();
        let known =
            |it: &&RecordedVerdict, of: &RecordedVerdict| it.file == of.file && it.property == of.property;
        for then in &self.results {
            let what = format!("{}: {}", then.file, then.property);
            let Some(now) = now.results.iter().find(|it| known(it, then)) else {
                found.push(format!("{what}: was {}, is not asked", then.verdict));
                continue;
            };
            if then.verdict != now.verdict {
                found.push(format!("{what}: was {}, is {}", then.verdict, now.verdict));
            }
            let shown = |number: Option<u64>| number.map_or("none".into(), |number| number.to_string());
            for (noun, then, now) in [("steps", then.steps, now.steps), ("states", then.states, now.states)] {
                if then != now {
                    found.push(format!("{what}: {noun} were {}, are {}", shown(then), shown(now)));
                }
            }
        }
        found
    }
}
