//! Runs that were found by checks, or opened from files: told once, then looked at row by row.

use std::{
    collections::VecDeque,
    io,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value as Json, json};
use shoal::{
    CheckOptions, ClockFact, Limits, LoadOptions, Loaded, Session, Simulation, Told, Trace, Violation, Watch,
    model::{Model, PropertyId, State},
};
use shoal_report::{
    Arguments, LanesRoom, LoneTrace, Origin, PageHead, PageOptions, SavedTrace, StoryDetail, TraceError,
    ViolationPage, blame_as_json, changes, instance_name, read_trace, reason_in_words, render_state,
    row_as_json, story_as_json, why_violated, write_lanes, write_mermaid, write_page, write_plantuml,
    write_trace, write_violation_page,
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
/// Zones of longer runs are not worked out.
const MOST_ZONES: usize = 2_000;
/// So many runs that were sent are kept.
const UPLOADS: usize = 8;
/// So wide are lanes as text.
const WIDTH: usize = 160;

/// The runs that were looked at last.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    kept: Mutex<VecDeque<Arc<OpenTrace>>>,
    /// Those that were sent: how many there were, and the last of them with their numbers.
    sent: Mutex<(usize, VecDeque<SentTrace>)>,
}

/// A run that was sent: its number, its name and its text.
type SentTrace = (usize, String, String);

impl Traces {
    /// Runs of a model are told anew when they are looked at again.
    pub(crate) fn forget(&self, file: &str) {
        locked(&self.kept).retain(|open| open.file != file);
    }
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
    /// What the file says, where there is no model that could say it.
    alone: Option<SavedTrace>,
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

    /// One page that a browser opens.
    fn write_page(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let (loaded, told, options) = (self.loaded(), &self.told, &PageOptions::default());
        if let Some((property, violation)) = &self.wrong {
            let command = &format!("shoal check {}", self.file);
            let page = ViolationPage { file: &self.file, property: *property, violation, command, options };
            return write_violation_page(out, &page, loaded, told);
        }
        let said = self.alone.as_ref();
        let why = said.and_then(|saved| saved.reason()).map(|reason| ("because", reason.to_string()));
        let head = PageHead {
            file: &self.file,
            violated: said.filter(|it| it.is_violation()).map(|it| it.property().unwrap_or_default()),
            why: why.as_slice(),
            replayed: said.is_none(),
            command: &format!("shoal studio {}", self.file),
            marked: &[],
            options,
        };
        write_page(out, &told.model, &loaded.sources, &told.story, &head)
    }

    /// Of the text that its model had.
    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }

    /// That its model is here, without which it can only be looked at.
    pub(crate) fn needs_model(&self) -> Result<(), CallError> {
        match self.alone {
            None => Ok(()),
            Some(_) => {
                Err(CallError::new(422, "no-model", "its model is not here: it can only be looked at"))
            }
        }
    }

    /// What a file says that its run shows, where there is no model that could say it.
    fn said(&self) -> Json {
        let Some(saved) = self.alone.as_ref().filter(|saved| saved.is_violation()) else { return Json::Null };
        let name = saved.property().unwrap_or("as the file says");
        let why: Vec<Json> =
            saved.reason().map(|text| json!({ "name": "because", "text": text })).into_iter().collect();
        json!({ "name": name, "title": name, "reason": saved.reason().unwrap_or_default(), "why": why, "causes": [] })
    }
}

impl Studio {
    /// The run with an id: `7.2` is property 2 of run 7, `w7.2` a run that shows that it holds, `f:PATH` a file, `p:0.4.1:N=3:FILE` a walk,
    /// `u:3` one that was sent, and `m:ID` another run made short.
    pub(crate) fn trace(&self, id: &str) -> Result<Arc<OpenTrace>, CallError> {
        let known = locked(&self.traces.kept).iter().find(|open| open.id == id).cloned();
        // One that cannot be saved yet is looked at again.
        let changes = |id: &str| id.contains("f:") || id.contains("p:");
        if let Some(open) = known.filter(|open| open.itf.is_some() && !changes(id)) {
            return Ok(open);
        }
        let open = Arc::new(match id.split_once(':') {
            Some(("f", path)) => self.open_file(id, path)?,
            Some(("u", number)) => self.open_sent(id, number)?,
            Some(("p", walk)) => self.open_walk(id, walk)?,
            Some(("m", long)) => self.open_short(id, long)?,
            Some(_) => return Err(CallError::missing(format!("there is no trace {id}"))),
            None => match id.strip_prefix('w') {
                Some(shown) => self.open_witness(id, shown)?,
                None => self.open_found(id)?,
            },
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
        let call: &ModelCall = job.call();
        let file = call.file.clone();
        let (session, hash) = self.lately_directed(session, &file, call.hash());
        let told = shoal::tell(session.loaded(), property, &violation).ok_or_else(missing)?;
        let itf = job.saved(property);
        Ok(OpenTrace {
            id: id.into(),
            session,
            wrong: Some((property, violation)),
            trace,
            told,
            itf,
            alone: None,
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
        let call: &ModelCall = job.call();
        let file = call.file.clone();
        let (session, hash) = self.lately_directed(session, &file, call.hash());
        let loaded = session.loaded();
        let trace = shoal::witness(loaded, property, &options)?.ok_or_else(missing)?;
        let told = shoal::tell_walk(loaded, &trace).ok_or_else(missing)?;
        let origin = Origin::of(loaded, &file);
        let itf = Some(write_trace(&loaded.model, &loaded.sources, &origin, &trace, None));
        Ok(OpenTrace { id: id.into(), session, wrong: None, trace, told, itf, alone: None, file, hash })
    }

    /// A walk by hand as a run: its moves, the values of constants, and the model.
    fn open_walk(&self, id: &str, walk: &str) -> Result<OpenTrace, CallError> {
        let mut parts = walk.splitn(3, ':');
        let (Some(path), Some(set), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(CallError::from("a walk is its moves, constants and model".to_string()));
        };
        let call = ModelCall::named(&self.folder, file, set)?;
        let session = self.session(&call)?;
        let loaded = session.loaded();
        let watch = Watch::start(Limits { time: Some(PATIENCE), memory: Some(MEMORY), ..Limits::default() });
        let trace = crate::walks::run_of(loaded, path, &watch)?;
        let told =
            shoal::tell_walk(loaded, &trace).ok_or_else(|| CallError::missing("there is no run to tell"))?;
        let itf = write_trace(&loaded.model, &loaded.sources, &Origin::of(loaded, file), &trace, None);
        let hash = call.hash();
        Ok(OpenTrace {
            id: id.into(),
            session,
            wrong: None,
            trace,
            told,
            itf: Some(itf),
            alone: None,
            file: file.into(),
            hash,
        })
    }

    /// A run that shows the same with no step that could be left out.
    fn open_short(&self, id: &str, long: &str) -> Result<OpenTrace, CallError> {
        if long.starts_with("m:") {
            return Err(CallError::from("that is as short as it becomes".to_string()));
        }
        let open = self.trace(long)?;
        open.needs_model()?;
        let cannot = |what: &str| CallError::new(422, "not-possible", what.to_string());
        let (property, violation) =
            open.wrong.as_ref().ok_or_else(|| cannot("the run shows no violation"))?;
        let watch = Watch::start(Limits { time: Some(PATIENCE), memory: Some(MEMORY), ..Limits::default() });
        let (loaded, session) = (open.loaded(), open.session.clone());
        let violation = shoal::minimise(loaded, *property, violation, &watch)?;
        let missing = || cannot("there is no run to tell");
        let trace = violation.trace.clone().ok_or_else(missing)?;
        let told = shoal::tell(loaded, *property, &violation).ok_or_else(missing)?;
        let origin = Origin::of(loaded, &open.file);
        let name = loaded.model.properties[*property].name.as_str();
        let itf = write_trace(&told.model, &loaded.sources, &origin, &trace, Some((name, &violation)));
        let (file, hash) = (open.file.clone(), open.hash.clone());
        Ok(OpenTrace {
            id: id.into(),
            session,
            wrong: Some((*property, violation)),
            trace,
            told,
            itf: Some(itf),
            alone: None,
            file,
            hash,
        })
    }

    /// Takes a run that somebody sends: it is kept as long as few others come, and nothing is written.
    pub(crate) fn upload(&self, given: &mut Arguments) -> Call {
        let (itf, name) = (given.needed("itf")?, given.text("name")?);
        given.end()?;
        let name = name.unwrap_or_else(|| "a run".into());
        let number = {
            let mut sent = locked(&self.traces.sent);
            sent.0 += 1;
            let number = sent.0;
            sent.1.push_back((number, name, itf));
            if sent.1.len() > UPLOADS {
                sent.1.pop_front();
            }
            number
        };
        let opened = self.trace(&format!("u:{number}"));
        if opened.is_err() {
            locked(&self.traces.sent).1.retain(|(known, ..)| *known != number);
        }
        let open = opened?;
        object(json!({ "trace": open.id, "file": open.file, "steps": open.trace.steps.len() }))
    }

    fn open_sent(&self, id: &str, number: &str) -> Result<OpenTrace, CallError> {
        let sent =
            locked(&self.traces.sent).1.iter().find(|(known, ..)| known.to_string() == number).cloned();
        let (_, name, text) =
            sent.ok_or_else(|| CallError::missing(format!("there is no run {id}: send it again")))?;
        self.open_saved(id, &name, text)
    }

    fn open_file(&self, id: &str, path: &str) -> Result<OpenTrace, CallError> {
        let text = self.folder.read(path)?;
        self.open_saved(id, path, text)
    }

    /// A run as it was saved, with the model that it names.
    fn open_saved(&self, id: &str, path: &str, text: String) -> Result<OpenTrace, CallError> {
        let cannot = |why: String| CallError::new(422, "trace", format!("{path}: {why}"));
        let saved = read_trace(&text).map_err(|error| cannot(error.to_string()))?;
        let source = saved.source().filter(|_| saved.is_ours());
        let Some(file) = source.and_then(|source| self.model_of(path, source)) else {
            return open_alone(id, path, text, saved).map_err(|error| cannot(error.to_string()));
        };
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
        Ok(OpenTrace { id: id.into(), session, wrong, trace, told, itf: Some(text), alone: None, file, hash })
    }

    /// The model that a trace names: as it is named, beside the trace, or the only one of that name.
    fn model_of(&self, trace: &str, source: &str) -> Option<String> {
        let name = Path::new(source).file_name()?.to_str()?;
        let beside = Path::new(trace).with_file_name(name).to_str()?.to_string();
        let near = [source.to_string(), beside].into_iter().find(|path| self.folder.read(path).is_ok());
        near.or_else(|| {
            let named = |path: &String| Path::new(path).file_name().is_some_and(|it| it == name);
            let mut all = self.folder.list().into_iter().map(|entry| entry.path).filter(named);
            all.next().filter(|_| all.next().is_none())
        })
    }

    /// A run, told: all of it, or the rows from one to another.
    pub(crate) fn story(&self, id: &str, level: Option<&str>, from: Option<&str>, to: Option<&str>) -> Call {
        let row = |text: Option<&str>| text.map(|text| text.parse::<u64>()).transpose();
        let rows = row(from).and_then(|from| Ok((from.unwrap_or(0), row(to)?.unwrap_or(u64::MAX))));
        let (from, to) = rows.map_err(|_| "`from` and `to` are numbers of rows".to_string())?;
        let open = self.trace(id)?;
        let level = level.map_or(Some(1), |level| level.parse().ok()).and_then(StoryDetail::of);
        let level = level.ok_or_else(|| "the level is a number from 0 to 3".to_string())?;
        let loaded = open.loaded();
        let told = &open.told;
        let mut answer = story_as_json(&told.model, &loaded.sources, &told.story, level);
        if (from, to) != (0, u64::MAX) {
            keep_rows(&mut answer, from, to);
        }
        answer["trace"] = json!(open.id);
        answer["file"] = json!(open.file);
        answer["hash"] = json!(open.hash);
        answer["can_be_saved"] = json!(open.itf.is_some());
        answer["zones"] = zones(&told.model, &open.trace);
        answer["alone"] = json!(open.alone.is_some());
        answer["violated"] = match &open.wrong {
            None => open.said(),
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
        let state = open.trace.states().nth(at).ok_or_else(missing)?.clone();
        let here = Trace {
            start: open.trace.start,
            args: Vec::new(),
            choices: Vec::new(),
            state,
            steps: Vec::new(),
            loops_to: None,
        };
        let walk = Simulation::going_on(&told.model, here, 0)?;
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
        let watch: Watch = given.watch()?;
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

    /// Two runs beside each other: like steps in one row, by what they are called; and whether the states after them are the same.
    pub(crate) fn compare(&self, id: &str, with: Option<&str>) -> Call {
        let with = with.ok_or_else(|| "the run to compare with is missing".to_string())?;
        let (left, right) = (self.trace(id)?, self.trace(with)?);
        let watch = Watch::start(Limits { time: Some(PATIENCE), memory: Some(MEMORY), ..Limits::default() });
        let answer = shoal::under(&watch, || beside(&left, &right)).map_err(shoal::Error::Stopped)?;
        object(answer)
    }

    /// The steps that change a place.
    pub(crate) fn writers(&self, id: &str, place: Option<&str>) -> Call {
        let place = place.ok_or_else(|| "`place` is missing".to_string())?;
        let open = self.trace(id)?;
        let states: Vec<&State> = open.trace.states().collect();
        let writes = |pair: &[&State]| {
            changes(&open.told.model, pair[0], pair[1]).iter().any(|change| change.place == place)
        };
        let rows: Vec<usize> =
            states.windows(2).enumerate().filter(|(_, pair)| writes(pair)).map(|(at, _)| at + 1).collect();
        object(json!({ "place": place, "rows": rows }))
    }

    /// Saves a run beside its model, as a test: `shoal trace replay` says whether it is still wrong.
    pub(crate) fn keep_trace(&self, id: &str) -> Call {
        const MOST: usize = 1_000;
        if self.read_only {
            return Err(CallError::new(403, "read-only", "nothing is written"));
        }
        let open = self.trace(id)?;
        open.needs_model()?;
        let itf =
            open.itf.as_ref().ok_or_else(|| CallError::new(409, "not-yet", "the check is not over yet"))?;
        let stem = Path::new(&open.file).with_extension("");
        let name = |number: usize| format!("{}.{number}.itf.json", stem.display());
        let free = (1..MOST).map(name).find(|name| self.folder.read(name).is_err());
        let path =
            free.ok_or_else(|| CallError::new(409, "full", "there are too many runs of this model"))?;
        self.folder.write(&path, itf)?;
        object(json!({ "path": path, "command": format!("shoal trace replay {path}") }))
    }

    /// A run in a format of others.
    pub(crate) fn export(&self, id: &str, how: &str) -> Call {
        let open = self.trace(id)?;
        let told = &open.told;
        let mut out = Vec::new();
        let cannot = |what: &str| CallError::new(422, "not-possible", what.to_string());
        let (kind, ending) = match how {
            "itf" => {
                let itf = open.itf.as_ref().ok_or_else(|| cannot("the check is not over yet"))?;
                out = itf.clone().into_bytes();
                ("application/json; charset=utf-8", "itf.json")
            }
            "html" => {
                open.write_page(&mut out).map_err(|error| cannot(&error.to_string()))?;
                ("text/html; charset=utf-8", "html")
            }
            "mermaid" | "plantuml" | "text" => {
                let written = match how {
                    "mermaid" => write_mermaid(&mut out, &told.model, &told.story, StoryDetail::Folded),
                    "plantuml" => write_plantuml(&mut out, &told.model, &told.story, StoryDetail::Folded),
                    _ => {
                        let (room, palette) = (LanesRoom::wide(WIDTH), shoal_report::Palette::plain());
                        write_lanes(&mut out, &told.model, &told.story, StoryDetail::Folded, room, palette)
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

/// A run of another tool, or one whose model is not here.
fn open_alone(id: &str, path: &str, text: String, saved: SavedTrace) -> Result<OpenTrace, TraceError> {
    let source = Path::new(saved.source().unwrap_or(path));
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let LoneTrace { loaded, trace, told } = saved.told_alone(name.trim_end_matches(".itf.json"))?;
    Ok(OpenTrace {
        id: id.into(),
        session: Session::of(loaded),
        wrong: None,
        trace,
        told,
        hash: crate::models::hash_of(&text),
        itf: Some(text),
        alone: Some(saved),
        file: path.into(),
    })
}

/// Leaves the blocks and messages of some rows in a story. Messages keep their places in the list, as blocks name them by these.
fn keep_rows(story: &mut Json, from: u64, to: u64) {
    let number = |block: &Json, end: &str| block[end].as_u64().unwrap_or(0);
    let mut before = 0;
    if let Some(blocks) = story["blocks"].as_array_mut() {
        blocks.retain(|block| match block["kind"] == "left" {
            // What is left out has no numbers: it stands after the block before it.
            true => (from..=to).contains(&before),
            false => {
                before = number(block, "last");
                before >= from && number(block, "first") <= to
            }
        });
    }
}

/// What the clocks could show after each step, had the steps been taken at other times; nothing if that is not known.
fn zones(model: &Model, trace: &Trace) -> Json {
    if !model.has_clocks() || trace.steps.len() > MOST_ZONES {
        return Json::Null;
    }
    let watch = Watch::start(Limits { time: Some(Duration::from_secs(2)), ..Limits::default() });
    let Ok(Some(zones)) = shoal::zones_along(model, trace, &watch) else { return Json::Null };
    let fact = |fact: &ClockFact| match fact {
        ClockFact::Range { clock, least, most } => Some(
            json!({ "clock": clock, "text": fact.to_string(), "least": least.0, "most": most.map(|it| it.0) }),
        ),
        ClockFact::Apart { .. } => None,
    };
    zones.iter().map(|facts| facts.iter().filter_map(fact).collect::<Json>()).collect()
}

/// The names of the steps of a run.
fn labels(open: &OpenTrace) -> Vec<String> {
    open.trace.steps.iter().map(|step| instance_name(&open.told.model, step.rule, &step.args)).collect()
}

fn beside(left: &OpenTrace, right: &OpenTrace) -> Json {
    let (labels_left, labels_right) = (labels(left), labels(right));
    let (rows, whole) = shoal::story::align(&labels_left, &labels_right);
    let (states_left, states_right): (Vec<&State>, Vec<&State>) =
        (left.trace.states().collect(), right.trace.states().collect());
    // Models that differ may still have variables of the same names.
    let comparable = left.told.model.vars.len() == right.told.model.vars.len() && left.hash == right.hash;
    let same = |one: usize, other: usize| match comparable {
        true => states_left[one] == states_right[other],
        false => {
            render_state(&left.told.model, states_left[one])
                == render_state(&right.told.model, states_right[other])
        }
    };
    let start =
        json!({ "left": 0, "right": 0, "label_left": "start", "label_right": "start", "same": same(0, 0) });
    let row = |row: &shoal::story::Beside| {
        let same = row.left.zip(row.right).map(|(one, other)| same(one + 1, other + 1));
        json!({
            "left": row.left.map(|at| at + 1),
            "right": row.right.map(|at| at + 1),
            "label_left": row.left.map(|at| &labels_left[at]),
            "label_right": row.right.map(|at| &labels_right[at]),
            "same": same,
        })
    };
    let rows: Vec<Json> = std::iter::once(start).chain(rows.iter().map(row)).collect();
    let differs = |row: &Json| row["same"] != json!(true);
    let about = |open: &OpenTrace| {
        let property =
            open.wrong.as_ref().map(|(property, _)| open.loaded().model.properties[*property].title());
        json!({ "trace": open.id, "file": open.file, "steps": open.trace.steps.len(), "violated": property })
    };
    json!({
        "left": about(left),
        "right": about(right),
        "first": rows.iter().position(differs),
        "aligned": whole,
        "rows": rows,
    })
}
