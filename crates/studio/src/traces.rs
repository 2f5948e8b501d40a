//! Runs that were found by checks, or opened from files: told once, then looked at row by row.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value as Json, json};
use shoal::{
    CheckOptions, Limits, LoadOptions, Loaded, Session, Simulation, Told, Trace, Violation, Watch,
    model::{PropertyId, State},
};
use shoal_report::{
    Arguments, Origin, SavedTrace, StoryDetail, ViolationPage, blame_as_json, read_trace, reason_in_words,
    row_as_json, story_as_json, why_violated, write_lanes, write_mermaid, write_plantuml, write_trace,
    write_violation_page,
};

use crate::{
    Studio,
    api::{Answered, Call, CallError, object},
    http::Response,
    locked,
    models::ModelCall,
};

/// So many runs are kept as they were told.
const KEPT: usize = 16;
/// A run that shows that something can happen is looked for so long, and in so much memory.
const PATIENCE: Duration = Duration::from_secs(30);
const MEMORY: u64 = 2 << 30;
/// So wide are lanes as text.
const WIDTH: usize = 160;

/// The runs that were looked at last.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    kept: Mutex<VecDeque<Arc<OpenTrace>>>,
}

/// A run that somebody looks at.
#[derive(Debug)]
pub(crate) struct OpenTrace {
    id: String,
    pub(crate) session: Session,
    wrong: Option<(PropertyId, Violation)>,
    pub(crate) trace: Trace,
    told: Told,
    /// As it is saved; nothing if its check is not over yet.
    itf: Option<String>,
    file: String,
    hash: String,
}

impl OpenTrace {
    pub(crate) fn loaded(&self) -> &Loaded {
        self.session.loaded()
    }

    /// As it is saved, if it can be.
    pub(crate) fn saved(&self) -> Option<SavedTrace> {
        read_trace(self.itf.as_deref()?).ok()
    }

    pub(crate) fn file(&self) -> &str {
        &self.file
    }
}

impl Studio {
    /// The run with an id: `7.2` is property 2 of run 7, `w7.2` a run that shows that it holds, `f:PATH` a file.
    pub(crate) fn trace(&self, id: &str) -> Result<Arc<OpenTrace>, CallError> {
        let known = locked(&self.traces.kept).iter().find(|open| open.id == id).cloned();
        // One that cannot be saved yet is looked at again.
        if let Some(open) = known.filter(|open| open.itf.is_some() && !id.starts_with("f:")) {
            return Ok(open);
        }
        let open = Arc::new(match (id.strip_prefix("f:"), id.strip_prefix('w')) {
            (Some(path), _) => self.open_file(id, path)?,
            (None, Some(shown)) => self.open_witness(id, shown)?,
            (None, None) => self.open_found(id)?,
        });
        let mut kept = locked(&self.traces.kept);
        kept.retain(|known| known.id != id);
        kept.push_back(open.clone());
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(open)
    }

    fn open_found(&self, id: &str) -> Result<OpenTrace, CallError> {
        let missing = || CallError::missing(format!("there is no trace {id}: check again"));
        let (run, property) = id.split_once('.').ok_or_else(missing)?;
        let job = self.jobs.find(run)?;
        let number = property.parse().map_err(|_| missing())?;
        let (session, property, violation) = job.violation(number).ok_or_else(missing)?;
        let trace = violation.trace.clone().ok_or_else(missing)?;
        let told = shoal::tell(session.loaded(), property, &violation).ok_or_else(missing)?;
        let call: &ModelCall = job.call();
        let (file, hash) = (call.file.clone(), call.hash());
        let itf = job.saved(property);
        Ok(OpenTrace {
            id: id.into(),
            session,
            wrong: Some((property, violation)),
            trace,
            told,
            itf,
            file,
            hash,
        })
    }

    /// A run that shows that a property holds.
    fn open_witness(&self, id: &str, shown: &str) -> Result<OpenTrace, CallError> {
        let missing = || CallError::missing(format!("there is no trace {id}: check again"));
        let (run, property) = shown.split_once('.').ok_or_else(missing)?;
        let job = self.jobs.find(run)?;
        let number = property.parse().map_err(|_| missing())?;
        let (session, property) = job.shown(number).ok_or_else(missing)?;
        let watch = Watch::start(Limits { time: Some(PATIENCE), memory: Some(MEMORY), ..Limits::default() });
        let options = CheckOptions { watch, ..CheckOptions::default() };
        let loaded = session.loaded();
        let trace = shoal::witness(loaded, property, &options)?.ok_or_else(missing)?;
        let told = shoal::tell_walk(loaded, &trace).ok_or_else(missing)?;
        let call: &ModelCall = job.call();
        let (file, hash) = (call.file.clone(), call.hash());
        let origin = Origin::of(loaded, &file);
        let itf = Some(write_trace(&loaded.model, &loaded.sources, &origin, &trace, None));
        Ok(OpenTrace { id: id.into(), session, wrong: None, trace, told, itf, file, hash })
    }

    fn open_file(&self, id: &str, path: &str) -> Result<OpenTrace, CallError> {
        let text = self.folder.read(path)?;
        let cannot = |why: String| CallError::new(422, "trace", format!("{path}: {why}"));
        let saved = read_trace(&text).map_err(|error| cannot(error.to_string()))?;
        let Some(source) = saved.source() else {
            return Err(cannot("the trace does not name its model".into()));
        };
        let file =
            self.model_of(path, source).ok_or_else(|| cannot(format!("its model {source} is not here")))?;
        let origin = saved.origin();
        let options = LoadOptions::restored(origin.set.clone(), &origin.options).map_err(cannot)?;
        let sources = self.folder.sources(&file)?;
        let loaded = shoal::load_sources(&sources, &options)?;
        let does_not_fit = |error: String| cannot(format!("the trace does not fit the model: {error}"));
        let violation = saved.violation(&loaded.model).map_err(|error| does_not_fit(error.to_string()))?;
        let named = |property: &str| {
            loaded.model.properties.enumerate().find(|(_, known)| known.name == property).map(|(id, _)| id)
        };
        let wrong = saved.property().and_then(named).zip(violation);
        let trace = saved.decode(&loaded.model).map_err(|error| does_not_fit(error.to_string()))?;
        shoal::replay(&loaded, &trace).map_err(does_not_fit)?;
        let told = match &wrong {
            Some((property, violation)) => shoal::tell(&loaded, *property, violation),
            None => shoal::tell_walk(&loaded, &trace),
        };
        let told = told.ok_or_else(|| cannot("there is no run to tell".into()))?;
        let hash =
            loaded.sources.files().next().map_or(String::new(), |file| crate::models::hash_of(file.text()));
        let session = Session::of(loaded);
        Ok(OpenTrace { id: id.into(), session, wrong, trace, told, itf: Some(text), file, hash })
    }

    /// The model that a trace names: as it is named, or beside the trace.
    fn model_of(&self, trace: &str, source: &str) -> Option<String> {
        let name = Path::new(source).file_name()?.to_str()?;
        let beside = Path::new(trace).with_file_name(name).to_str()?.to_string();
        [source.to_string(), beside].into_iter().find(|path| self.folder.read(path).is_ok())
    }

    pub(crate) fn story(&self, id: &str, level: Option<&str>) -> Call {
        let open = self.trace(id)?;
        let level = level.map_or(Some(1), |level| level.parse().ok()).and_then(StoryDetail::of);
        let level = level.ok_or_else(|| "the level is a number from 0 to 3".to_string())?;
        let loaded = open.loaded();
        let told = &open.told;
        let mut answer = story_as_json(&told.model, &loaded.sources, &told.story, level);
        answer["trace"] = json!(open.id);
        answer["file"] = json!(open.file);
        answer["hash"] = json!(open.hash);
        answer["can_be_saved"] = json!(open.itf.is_some());
        answer["violated"] = match &open.wrong {
            None => Json::Null,
            Some((property, violation)) => {
                let why = why_violated(&told.model, &loaded.sources, *property, violation, &told.causes);
                let line = |(name, text): &(&str, String)| json!({ "name": name, "text": text });
                let causes =
                    told.causes.iter().map(|cause| blame_as_json(&told.model, &loaded.sources, cause));
                json!({
                    "name": loaded.model.properties[*property].name,
                    "title": loaded.model.properties[*property].title(),
                    "reason": reason_in_words(&told.model, &loaded.sources, &violation.reason),
                    "why": why.iter().map(line).collect::<Vec<_>>(),
                    "causes": causes.collect::<Vec<_>>(),
                })
            }
        };
        object(answer)
    }

    pub(crate) fn row(&self, id: &str, number: &str) -> Call {
        let open = self.trace(id)?;
        let missing = || CallError::missing("there is no such row");
        let at: usize = number.parse().map_err(|_| missing())?;
        let loaded = open.loaded();
        let told = &open.told;
        let mut row =
            row_as_json(&told.model, &loaded.sources, &told.story, &open.trace, at).ok_or_else(missing)?;
        // What is wrong already on the way.
        let mut run = open.trace.clone();
        run.steps.truncate(at);
        run.loops_to = None;
        let walk = Simulation::going_on(&told.model, run, 0)?;
        let findings = walk.findings(&loaded.asked);
        row["findings"] = findings
            .iter()
            .map(|(property, reason)| {
                json!({ "name": loaded.model.properties[*property].name, "reason": reason_in_words(&told.model, &loaded.sources, reason) })
            })
            .collect();
        object(json!({ "row": row }))
    }

    /// The value of an expression in every state of a run; states in which it is the same are together.
    pub(crate) fn evaluate(&self, id: &str, given: &mut Arguments) -> Call {
        let open = self.trace(id)?;
        let watch: Watch = given.watch(&shoal::Cancel::default())?;
        let expression = given.needed("expression")?;
        given.end()?;
        let mut loaded = open.loaded().clone();
        loaded.options.watch = watch.clone();
        let asked = shoal::ask(&loaded, &expression)?;
        let value = |state: &State| match asked.value(state) {
            Ok(value) => open.told.model.show(&value).to_string(),
            Err(fault) => format!("✗ {}", fault.kind),
        };
        let values: Vec<String> = shoal::under(&watch, || open.trace.states().map(value).collect())
            .map_err(shoal::Error::Stopped)?;
        let mut at = 0;
        let mut same = Vec::new();
        for values in values.chunk_by(|one, other| one == other) {
            same.push(json!({ "from": at, "to": at + values.len() - 1, "value": values[0] }));
            at += values.len();
        }
        object(json!({ "expression": expression, "values": same }))
    }

    /// A run in a format of others.
    pub(crate) fn export(&self, id: &str, how: &str) -> Call {
        let open = self.trace(id)?;
        let (loaded, told) = (open.loaded(), &open.told);
        let mut out = Vec::new();
        let cannot = |what: &str| CallError::new(422, "not-possible", what.to_string());
        let (kind, ending) = match how {
            "itf" => {
                let itf = open.itf.as_ref().ok_or_else(|| cannot("the check is not over yet"))?;
                out = itf.clone().into_bytes();
                ("application/json; charset=utf-8", "itf.json")
            }
            "html" => {
                let (property, violation) =
                    open.wrong.as_ref().ok_or_else(|| cannot("the run shows no violation"))?;
                let page = ViolationPage {
                    file: &open.file,
                    property: *property,
                    violation,
                    command: &format!("shoal check {}", open.file),
                };
                write_violation_page(&mut out, &page, loaded, told)
                    .map_err(|error| cannot(&error.to_string()))?;
                ("text/html; charset=utf-8", "html")
            }
            "mermaid" | "plantuml" | "text" => {
                let written = match how {
                    "mermaid" => write_mermaid(&mut out, &told.model, &told.story, StoryDetail::Folded),
                    "plantuml" => write_plantuml(&mut out, &told.model, &told.story, StoryDetail::Folded),
                    _ => {
                        let palette = shoal_report::Palette::plain();
                        write_lanes(&mut out, &told.model, &told.story, StoryDetail::Folded, WIDTH, palette)
                    }
                };
                written.map_err(|error| cannot(&error.to_string()))?;
                ("text/plain; charset=utf-8", if how == "text" { "txt" } else { how })
            }
            other => return Err(CallError::from(format!("there is no format {other:?}"))),
        };
        let stem = Path::new(&open.file).file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        let plain: String =
            stem.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect();
        let response = Response::new(200, kind, out)
            .with("Content-Disposition", format!("attachment; filename=\"{plain}.{ending}\""));
        Ok(Answered::Other(response))
    }
}
