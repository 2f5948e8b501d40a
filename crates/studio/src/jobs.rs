//! Checks: two run at a time, the others wait. What happens is kept, so that who comes later is told all of it.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Condvar, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};
use shoal::{
    Cancel, CheckOptions, Decided, EngineKind, Error, Event, Folder, Limits, Report, Session, Verdict,
    Violation, Watch,
    model::{PropertyId, StopReason, TypedId},
    syntax::Advice,
};
use shoal_report::{
    Arguments, Run, blame_as_json, range_as_json, reason_in_words, session_event, violation_trace,
};

use crate::{
    OpenOptions, Studio,
    api::{Answered, Call, CallError, advise, diagnostics},
    locked,
    models::ModelCall,
    news::ServerNews,
};

/// So many checks run at once, and so many may wait.
const AT_ONCE: usize = 2;
const MOST_WAITING: usize = 16;
/// So many checks are remembered.
const KEPT: usize = 40;
/// Time and memory of a check that does not say, and the most that it may say.
const SECONDS: u64 = 60;
const MOST_SECONDS: u64 = 24 * 3_600;
const MEGABYTES: u64 = 2_000;
const MOST_MEGABYTES: u64 = 1 << 20;
/// Progress is told no more often.
const BREATH: Duration = Duration::from_millis(250);
/// A reader of events hears something so often, so that one who has gone is noticed.
const PING: Duration = Duration::from_secs(15);

/// The checks there are.
#[derive(Debug)]
pub(crate) struct Jobs {
    list: Mutex<(usize, VecDeque<Arc<CheckJob>>)>,
    slots: Arc<Slots>,
    news: Arc<ServerNews>,
    /// What each of those that run at once may have.
    threads: usize,
    most_megabytes: u64,
}

/// How many checks run, and which wait: who came first goes first.
#[derive(Debug, Default)]
struct Slots {
    taken: Mutex<(usize, BTreeSet<usize>)>,
    freed: Condvar,
}

/// A check.
#[derive(Debug)]
pub(crate) struct CheckJob {
    pub(crate) id: usize,
    call: ModelCall,
    options: JobOptions,
    news: Arc<ServerNews>,
    cancel: Cancel,
    session: OnceLock<Session>,
    state: Mutex<JobState>,
    changed: Condvar,
}

/// What is asked of a check.
#[derive(Clone, Debug)]
struct JobOptions {
    properties: Vec<String>,
    engine: Option<EngineKind>,
    seconds: u64,
    megabytes: u64,
    all: bool,
    no_symmetry: bool,
    threads: usize,
}

/// How far a check is.
#[derive(Debug, Default)]
struct JobState {
    stage: Stage,
    began: Option<Instant>,
    seconds: f64,
    decided: BTreeMap<PropertyId, Decided>,
    report: Option<Report>,
    error: Option<(String, Vec<Json>)>,
    /// What was told, but for progress, of which only the last counts.
    told: Vec<String>,
    progress: Option<(usize, String)>,
    heard: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Waiting,
    Running,
    Finished,
}

impl Stage {
    fn word(self) -> &'static str {
        match self {
            Stage::Waiting => "waiting",
            Stage::Running => "running",
            Stage::Finished => "finished",
        }
    }
}

impl Jobs {
    /// With what a server has for all checks together.
    pub(crate) fn new(options: &OpenOptions, news: Arc<ServerNews>) -> Jobs {
        let threads = options.threads.unwrap_or(CheckOptions::default().threads);
        let most_megabytes = options.memory_mb.map_or(MOST_MEGABYTES, |all| all / AT_ONCE as u64).max(1);
        Jobs {
            list: Mutex::default(),
            slots: Arc::default(),
            news,
            threads: (threads / AT_ONCE).max(1),
            most_megabytes,
        }
    }

    /// What checks may have.
    pub(crate) fn limits(&self) -> Json {
        json!({ "at_once": AT_ONCE, "waiting": MOST_WAITING, "seconds": SECONDS, "memory_mb": MEGABYTES.min(self.most_megabytes),
            "most_memory_mb": self.most_megabytes, "threads": self.threads })
    }

    pub(crate) fn all(&self) -> Vec<Arc<CheckJob>> {
        locked(&self.list).1.iter().cloned().collect()
    }

    pub(crate) fn find(&self, id: &str) -> Result<Arc<CheckJob>, CallError> {
        let found = locked(&self.list).1.iter().find(|job| job.id.to_string() == id).cloned();
        found.ok_or_else(|| CallError::missing(format!("there is no run {id}: check again")))
    }

    pub(crate) fn cancel(&self, id: &str) -> Result<Arc<CheckJob>, CallError> {
        let job = self.find(id)?;
        job.cancel.cancel();
        // One that waits for its turn looks again; it waits, or has not looked yet, while nobody else has the lock.
        let _taken = locked(&self.slots.taken);
        self.slots.freed.notify_all();
        Ok(job)
    }

    fn start(
        &self,
        folder: &Folder,
        call: ModelCall,
        options: JobOptions,
    ) -> Result<Arc<CheckJob>, CallError> {
        let job = {
            let mut list = locked(&self.list);
            let open = list.1.iter().filter(|job| !job.is_over()).count();
            if open >= AT_ONCE + MOST_WAITING {
                return Err(CallError::new(429, "busy", format!("{open} checks run or wait already")));
            }
            list.0 += 1;
            let job = Arc::new(CheckJob {
                id: list.0,
                call,
                options,
                news: self.news.clone(),
                cancel: Cancel::default(),
                session: OnceLock::new(),
                state: Mutex::default(),
                changed: Condvar::new(),
            });
            list.1.push_back(job.clone());
            // The oldest that is over goes.
            let oldest = list.1.iter().position(|job| job.is_over());
            if let Some(at) = oldest.filter(|_| list.1.len() > KEPT) {
                list.1.remove(at);
            }
            job
        };
        locked(&self.slots.taken).1.insert(job.id);
        job.tell(Stage::Waiting, 0);
        let (own, folder, slots) = (job.clone(), folder.clone(), self.slots.clone());
        let started = shoal::on_large_stack(move || own.work(&folder, &slots));
        match started {
            Ok(_) => Ok(job),
            Err(error) => {
                locked(&self.slots.taken).1.remove(&job.id);
                job.fail(Error::NoThread(error.to_string()));
                Err(CallError::new(503, "busy", format!("there is no thread: {error}")))
            }
        }
    }
}

/// A place among those that run; given back when it is dropped.
struct Slot<'s>(&'s Slots);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        locked(&self.0.taken).0 -= 1;
        self.0.freed.notify_all();
    }
}

impl Slots {
    /// Waits for a place. Nothing if the check was cancelled before.
    fn take(&self, id: usize, cancel: &Cancel) -> Option<Slot<'_>> {
        let mut taken = locked(&self.taken);
        while !cancel.is_cancelled() {
            if taken.0 < AT_ONCE && taken.1.first() == Some(&id) {
                taken.0 += 1;
                taken.1.remove(&id);
                // There may be room for the next one, too.
                self.freed.notify_all();
                return Some(Slot(self));
            }
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
        taken.1.remove(&id);
        self.freed.notify_all();
        None
    }
}

/// A mistake of ours in the middle of a check leaves it finished and not for ever running.
struct Finish<'j>(&'j CheckJob);

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        if !self.0.is_over() {
            self.0.fail(Error::Internal("the check ended in the middle".into()));
        }
    }
}

impl CheckJob {
    fn is_over(&self) -> bool {
        locked(&self.state).stage == Stage::Finished
    }

    /// Changes what is known and wakes who listens.
    fn change(&self, change: impl FnOnce(&mut JobState)) {
        let known = |state: &JobState| (state.stage, state.decided.len());
        let (before, after) = {
            let mut state = locked(&self.state);
            let before = known(&state);
            change(&mut state);
            (before, known(&state))
        };
        self.changed.notify_all();
        if before != after {
            self.tell(after.0, after.1);
        }
    }

    /// Tells everybody how far it is.
    fn tell(&self, stage: Stage, decided: usize) {
        let file = &self.call.file;
        self.news.tell(json!({ "event": "run", "run": self.id, "file": file, "stage": stage.word(), "decided": decided }));
    }

    fn fail(&self, error: Error) {
        let (message, found) = match error {
            Error::Source(rejected) => {
                ("the model has errors".to_string(), diagnostics(&rejected.sources, &rejected.diagnostics))
            }
            other => (other.to_string(), Vec::new()),
        };
        self.change(|state| {
            state.error = Some((message, found));
            state.finish();
        });
    }

    /// Waits for its turn, loads the model and checks it.
    fn work(&self, folder: &Folder, slots: &Slots) {
        let _finish = Finish(self);
        let Some(_slot) = slots.take(self.id, &self.cancel) else {
            return self.fail(Error::Stopped(StopReason::Interrupted));
        };
        let limits = Limits {
            time: Some(Duration::from_secs(self.options.seconds)),
            memory: Some(self.options.megabytes << 20),
            ..Limits::default()
        };
        let watch = Watch::start(limits).cancelled_by(&self.cancel);
        self.change(|state| (state.stage, state.began) = (Stage::Running, Some(Instant::now())));
        let loaded = match self.call.load(folder, watch.clone()) {
            Ok(loaded) => loaded,
            Err(error) => return self.fail(error),
        };
        let session = self.session.get_or_init(|| Session::of(loaded));
        let ran = session.run(&self.options.options(watch), &mut |event| self.hear(session, event));
        match ran {
            Ok(report) => self.change(|state| {
                state.report = Some(report);
                state.finish();
            }),
            Err(error) => self.fail(error),
        }
    }

    fn hear(&self, session: &Session, event: Event) {
        let Some(line) = session_event(&self.call.file, session.loaded(), &event) else { return };
        self.change(|state| match event {
            // A few a second are enough for anybody, and the first is there at once.
            Event::Progress(_) if state.heard.is_some_and(|heard| heard.elapsed() < BREATH) => {}
            Event::Progress(_) => {
                state.heard = Some(Instant::now());
                let number = state.progress.as_ref().map_or(0, |(number, _)| number + 1);
                state.progress = Some((number, line));
            }
            Event::Verdict(decided) => {
                state.decided.insert(decided.property, *decided);
                state.told.push(line);
            }
            _ => state.told.push(line),
        });
    }

    /// What happens, from the beginning, as a browser listens to it. Each call waits for the next.
    pub(crate) fn events(self: Arc<Self>) -> impl FnMut() -> Option<Vec<u8>> + Send {
        let (mut told, mut progress, mut ended) = (0, None, false);
        move || {
            let mut state = locked(&self.state);
            loop {
                if let Some(line) = state.told.get(told) {
                    told += 1;
                    return Some(format!("data: {line}\n\n").into_bytes());
                }
                if let Some((number, line)) =
                    state.progress.as_ref().filter(|(number, _)| progress != Some(*number))
                {
                    progress = Some(*number);
                    return Some(format!("data: {line}\n\n").into_bytes());
                }
                if state.stage == Stage::Finished {
                    if ended {
                        return None;
                    }
                    ended = true;
                    return Some(
                        format!("data: {}\n\n", json!({ "schema": 1, "event": "over", "run": self.id }))
                            .into_bytes(),
                    );
                }
                let (woken, waited) =
                    self.changed.wait_timeout(state, PING).unwrap_or_else(PoisonError::into_inner);
                state = woken;
                if waited.timed_out() {
                    return Some(b": still here\n\n".to_vec());
                }
            }
        }
    }

    /// A violation that was found: the model, the property, why and how.
    pub(crate) fn violation(&self, property: usize) -> Option<(Session, PropertyId, Violation)> {
        let session = self.session.get()?;
        let property = session.loaded().model.properties.ids().nth(property)?;
        let state = locked(&self.state);
        match &state.decided.get(&property)?.verdict {
            Verdict::Violated(violation) => Some((session.clone(), property, (**violation).clone())),
            Verdict::Holds | Verdict::Unknown(_) => None,
        }
    }

    /// A property that holds and of which a run shows that.
    pub(crate) fn shown(&self, property: usize) -> Option<(Session, PropertyId)> {
        let session = self.session.get()?;
        let property = session.loaded().model.properties.ids().nth(property)?;
        let holds = matches!(locked(&self.state).decided.get(&property)?.verdict, Verdict::Holds);
        (holds && shoal::has_witness(&session.loaded().model, property)).then(|| (session.clone(), property))
    }

    /// The run of a violation as it is saved; nothing before the check is over.
    pub(crate) fn saved(&self, property: PropertyId) -> Option<String> {
        let session = self.session.get()?;
        let state = locked(&self.state);
        let run = Run::new(session.loaded(), state.report.as_ref()?).named(&self.call.file);
        violation_trace(&run, property)
    }

    pub(crate) fn call(&self) -> &ModelCall {
        &self.call
    }

    pub(crate) fn as_json(&self) -> Json {
        let state = locked(&self.state);
        let seconds = match (state.stage, state.began) {
            (Stage::Running, Some(began)) => began.elapsed().as_secs_f64(),
            _ => state.seconds,
        };
        let progress: Json = state
            .progress
            .as_ref()
            .and_then(|(_, line)| serde_json::from_str(line).ok())
            .unwrap_or(Json::Null);
        let (error, found) = match &state.error {
            Some((message, found)) => (json!(message), found.clone()),
            None => (Json::Null, Vec::new()),
        };
        let session = self.session.get();
        let report = state.report.as_ref();
        json!({
            "id": self.id,
            "file": self.call.file,
            "hash": self.call.hash(),
            "set": self.call.settings(),
            "stage": state.stage.word(),
            "cancelled": self.cancel.is_cancelled(),
            "seconds": seconds,
            "progress": progress,
            "error": error,
            "diagnostics": found,
            "properties": session.map(|session| self.properties(session, &state)).unwrap_or_default(),
            "coverage": session.zip(report).map(|(session, report)| coverage(session, report)),
            "plan": report.map(|report| report.plan.reason.clone()),
            "statistics": report.map(statistics),
            "advice": report.and_then(|report| report.advice()).map(|advice| advice_json(&advice)),
        })
    }

    fn properties(&self, session: &Session, state: &JobState) -> Vec<Json> {
        let loaded = session.loaded();
        let model = &loaded.model;
        let asked = shoal::select(loaded, &self.options.properties).unwrap_or_default();
        let one = |id: &PropertyId| {
            let property = &model.properties[*id];
            let mut entry = json!({ "id": id.index(), "name": property.name, "title": property.title(), "kind": property.kind.noun(),
                "range": range_as_json(&loaded.sources, property.span), "verdict": null, "reason": null, "engine": null, "steps": null, "causes": [], "trace": null, "witness": null });
            let Some(decided) = state.decided.get(id) else { return entry };
            entry["engine"] = json!(decided.engine);
            let (word, reason) = match &decided.verdict {
                Verdict::Holds => {
                    let id = || format!("w{}.{}", self.id, id.index());
                    entry["witness"] = json!(shoal::has_witness(model, decided.property).then(id));
                    ("holds", None)
                }
                Verdict::Unknown(reason) => ("unknown", Some(reason.to_string())),
                Verdict::Violated(violation) => {
                    entry["steps"] = json!(violation.trace.as_ref().map(|trace| trace.steps.len()));
                    entry["trace"] =
                        json!(violation.trace.as_ref().map(|_| format!("{}.{}", self.id, id.index())));
                    let causes =
                        decided.causes.iter().map(|cause| blame_as_json(model, &loaded.sources, cause));
                    entry["causes"] = causes.collect();
                    ("violated", Some(reason_in_words(model, &loaded.sources, &violation.reason)))
                }
            };
            entry["verdict"] = json!(word);
            entry["reason"] = json!(reason);
            entry
        };
        asked.iter().map(one).collect()
    }
}

impl JobState {
    fn finish(&mut self) {
        self.stage = Stage::Finished;
        self.seconds = self.began.map_or(0.0, |began| began.elapsed().as_secs_f64());
    }
}

impl JobOptions {
    fn take(given: &mut Arguments, jobs: &Jobs) -> Result<JobOptions, CallError> {
        let engine = match given.text("engine")?.as_deref() {
            None | Some("auto") => None,
            Some(name) => {
                Some(EngineKind::named(name).ok_or_else(|| format!("there is no engine {name:?}"))?)
            }
        };
        Ok(JobOptions {
            properties: given.list("properties")?,
            engine,
            seconds: given.number("seconds", MOST_SECONDS)?.unwrap_or(SECONDS),
            megabytes: given
                .number("memory_mb", jobs.most_megabytes)?
                .unwrap_or(MEGABYTES.min(jobs.most_megabytes)),
            all: given.truth("all")?,
            no_symmetry: given.truth("no_symmetry")?,
            threads: jobs.threads,
        })
    }

    fn options(&self, watch: Watch) -> CheckOptions {
        let base = CheckOptions::default();
        CheckOptions {
            properties: self.properties.clone(),
            engine: self.engine,
            symmetry: !self.no_symmetry,
            patience: if self.all { None } else { base.patience },
            threads: self.threads,
            watch,
            ..base
        }
    }
}

impl Studio {
    /// Begins a check.
    pub(crate) fn check(&self, given: &mut Arguments) -> Call {
        let call = ModelCall::take(&self.folder, given)?;
        let options = JobOptions::take(given, &self.jobs)?;
        given.end()?;
        let job = self.jobs.start(&self.folder, call, options)?;
        Ok(Answered::Object(202, json!({ "run": job.as_json() })))
    }
}

/// How often each rule fired.
fn coverage(session: &Session, report: &Report) -> Json {
    let (model, sources) = (&session.loaded().model, &session.loaded().sources);
    let statistics = &report.outcome.statistics;
    let all: u64 = statistics.spent.iter().sum();
    let rule = |(id, rule): (shoal::model::RuleId, &shoal::model::Rule)| {
        let known = |counts: &[u64]| counts.get(id.index()).copied().filter(|count| *count < u64::MAX);
        let (fired, fresh) = (known(&statistics.fired), known(&statistics.fresh));
        // Its share of the time that steps took, where that was measured.
        let time = known(&statistics.spent).filter(|_| all > 0).map(|spent| spent as f64 / all as f64);
        json!({ "rule": rule.name, "fired": fired, "fresh": fresh, "time": time, "range": range_as_json(sources, rule.span) })
    };
    json!({ "exhaustive": statistics.exhaustive, "rules": model.rules.enumerate().map(rule).collect::<Vec<_>>() })
}

fn statistics(report: &Report) -> Json {
    let statistics = &report.outcome.statistics;
    json!({
        "engine": statistics.engine,
        "states": statistics.states,
        "transitions": statistics.transitions,
        "depth": statistics.depth,
        "memory_bytes": statistics.memory_bytes,
        "levels": statistics.levels,
    })
}

/// What would help, with the argument that does it where there is one.
fn advice_json(advice: &Advice) -> Json {
    let action = match advice {
        Advice::MoreTime => Some("seconds"),
        Advice::MoreMemory => Some("memory_mb"),
        Advice::AllProperties => Some("all"),
        _ => None,
    };
    json!({ "text": advise(advice), "action": action })
}
