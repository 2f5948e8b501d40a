//! What Shoal says of a model.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value;
use shoal_peers::watch;

use super::{Claims, CorpusAnswer};

/// The command, and the processor time that it may take.
pub(super) struct Shoal {
    path: PathBuf,
    limit: Duration,
}

/// Takes all steps in all orders.
pub(super) const RAW: &[&str] = &["--no-partial-order"];
/// The states that SPIN has by default, but for partial order reduction.
pub(super) const MERGED: &[&str] = &["--no-partial-order", "--merge", "--dead-variables"];

impl Shoal {
    /// A copy of the command, so that what is built meanwhile does not change the answers.
    pub(super) fn copy(built: PathBuf, limit: Duration) -> Result<Shoal, String> {
        let path = std::env::temp_dir().join(format!("shoal-of-corpus-{}", std::process::id()));
        fs::copy(built, &path).map_err(|error| error.to_string())?;
        Ok(Shoal { path, limit })
    }

    /// Without partial order reduction. Where it stops early because everything is decided, the states are counted
    /// without asking for end states.
    pub(super) fn counted(&self, file: &Path, options: &[&str]) -> Result<CorpusAnswer, String> {
        let (first, _) = self.ask(file, options)?;
        let CorpusAnswer::Done { wrong, .. } = &first else { return Ok(first) };
        if !wrong.contains("end state") {
            return Ok(first);
        }
        Ok(match self.ask(file, &[options, &["--deadlock", "off"]].concat())?.0 {
            CorpusAnswer::Done { states, .. } => CorpusAnswer::Done { states, wrong: wrong.clone() },
            other => other,
        })
    }

    /// What it says of formulas and claims, and of all others together.
    pub(super) fn ask(&self, file: &Path, options: &[&str]) -> Result<(CorpusAnswer, Claims), String> {
        let mut claims = Claims::new();
        let Some(report) = self.report(file, options)? else { return Ok((CorpusAnswer::Limit, claims)) };
        if report["exit_code"] == 2 {
            let why = report["errors"][0]["message"].as_str().unwrap_or("?");
            // The place comes first.
            let why = why.split_once(": ").map_or(why, |(_, why)| why);
            return Ok((CorpusAnswer::Refused(why.into()), claims));
        }
        let (mut states, mut wrong, mut unknown) = (0, BTreeSet::new(), false);
        for property in report["properties"].as_array().into_iter().flatten() {
            let violated = match property["verdict"].as_str() {
                Some("violated") => Some(true),
                Some("holds") => Some(false),
                _ => None,
            };
            let Some(kind) = kind_of(property["kind"].as_str().unwrap_or_default()) else {
                claims.extend(property["name"].as_str().map(|name| (name.to_string(), violated)));
                continue;
            };
            states = states.max(property["states"].as_u64().unwrap_or(0));
            unknown |= violated.is_none();
            wrong.extend((violated == Some(true)).then(|| kind.to_string()));
        }
        let undecided = unknown && wrong.is_empty();
        Ok((if undecided { CorpusAnswer::Limit } else { CorpusAnswer::Done { states, wrong } }, claims))
    }

    /// What it writes at the end; nothing if it took longer than it may.
    fn report(&self, file: &Path, options: &[&str]) -> Result<Option<Value>, String> {
        // The limit is one of processor time, so that what else runs does not change answers.
        let script = format!("ulimit -t {}; exec \"$@\"", self.limit.as_secs());
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh"]).arg(&self.path);
        command.args(["check", "--json", "--quiet", "--trace", "none", "--threads", "1", "--memory", "2G"]);
        let (output, _) = watch(command.args(options).arg(file))?;
        let last: Option<Value> = output.lines().last().and_then(|last| serde_json::from_str(last).ok());
        Ok(last.filter(|last| last["event"] == "finished"))
    }
}

impl Drop for Shoal {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// What SPIN's verifier would say.
fn kind_of(kind: &str) -> Option<&'static str> {
    match kind {
        "assertion" => Some("assertion"),
        "deadlock" => Some("end state"),
        "no run-time errors" | "bound" => Some("error"),
        _ => None,
    }
}
