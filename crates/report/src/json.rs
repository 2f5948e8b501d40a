//! The machine's view: one JSON object a line, each with `schema` and `event`.

use serde_json::{Map, Value as Json, json};
use shoal::{Blame, Event, Loaded, Plan};
use shoal_model::{
    Model, Progress, PropertyId, PropertyResult, Reduction, SortId, SortSize, Statistics, StopReason,
    TypedId, Verdict,
};
use shoal_syntax::{Diagnostic, Severity, SourceMap, Span, Words};

use crate::{
    Run, StepText, Suite,
    objects::{Created, with_stable_names},
    text,
};

/// The version of the events. It changes when a field changes its meaning or goes away.
pub(crate) const SCHEMA: u32 = 1;

pub(crate) fn event(name: &str, file: Option<&str>) -> Map<String, Json> {
    let mut object = Map::new();
    object.insert("schema".into(), json!(SCHEMA));
    object.insert("event".into(), json!(name));
    if let Some(file) = file {
        object.insert("file".into(), json!(file));
    }
    object
}

pub(crate) fn line(object: Map<String, Json>) -> String {
    Json::Object(object).to_string()
}

/// A model was loaded and its check begins.
pub fn started_event(file: &str, loaded: &Loaded, plan: &Plan) -> String {
    let model = &loaded.model;
    let mut object = event("started", Some(file));
    object.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
    object.insert("model".into(), json!(model.name));
    object.insert("scope".into(), scope(model));
    object.insert("symmetric".into(), sort_names(model, &plan.symmetric));
    object.insert("rules".into(), json!(model.rules.len()));
    object.insert("properties".into(), json!(plan.asked.len()));
    object.insert("plan".into(), json!(plan.reason));
    line(object)
}

/// How far a search is.
pub fn progress_event(file: &str, progress: &Progress) -> String {
    let mut object = event("progress", Some(file));
    object.insert("states".into(), json!(progress.states));
    object.insert("transitions".into(), json!(progress.transitions));
    object.insert("frontier".into(), json!(progress.frontier));
    object.insert("depth".into(), json!(progress.depth));
    object.insert("memory_bytes".into(), json!(progress.memory_bytes));
    object.insert("seconds".into(), json!(progress.elapsed.as_secs_f64()));
    line(object)
}

/// What happens while a model is checked, for those who show it as it comes; nothing for what has no form here. The whole of
/// a verdict is told by [`verdict_event`] when there is a report.
pub fn session_event(file: &str, loaded: &Loaded, happened: &Event) -> Option<String> {
    let name = |id: &PropertyId| json!(loaded.model.properties[*id].name);
    match happened {
        Event::Planned(plan) => Some(started_event(file, loaded, plan)),
        Event::Progress(progress) => Some(progress_event(file, progress)),
        Event::Phase(phase) => {
            let mut object = event("phase", Some(file));
            object.insert("task".into(), json!(phase.task));
            object.insert("tasks".into(), json!(phase.tasks));
            object.insert("engine".into(), json!(phase.engine.name()));
            object.insert("properties".into(), phase.properties.iter().map(name).collect());
            Some(line(object))
        }
        Event::Found(property) => {
            let mut object = event("found", Some(file));
            object.insert("name".into(), name(property));
            Some(line(object))
        }
        Event::Verdict(decided) => {
            let property = &loaded.model.properties[decided.property];
            let mut object = event("decided", Some(file));
            object.insert("name".into(), json!(property.name));
            object.insert("kind".into(), json!(property.kind.noun()));
            object.insert("verdict".into(), json!(verdict(&decided.verdict)));
            object.insert("engine".into(), json!(decided.engine));
            let reason = match &decided.verdict {
                Verdict::Holds => None,
                Verdict::Unknown(reason) => Some(reason.to_string()),
                Verdict::Violated(violation) => {
                    Some(text::reason_in_words(&loaded.model, &loaded.sources, &violation.reason))
                }
            };
            object.insert("reason".into(), json!(reason));
            Some(line(object))
        }
        _ => None,
    }
}

/// The verdict on one property, with the counterexample.
pub fn verdict_event(run: &Run<'_>, result: &PropertyResult) -> String {
    let mut object = event("verdict", Some(run.file));
    object.extend(property(run, result));
    object.insert("position".into(), position(run.sources(), run.property(result).span));
    if let Verdict::Violated(violation) = &result.verdict {
        let causes = run.causes(result.property);
        object.insert("conjuncts".into(), causes.iter().map(|cause| conjunct(run, cause)).collect());
        if let Some(trace) = &violation.trace {
            let (named, objects) = with_stable_names(run.model(), trace);
            let steps =
                crate::shown_steps(run.model(), Some(run.sources()), &named, &run.shows(result.property));
            object.insert("steps".into(), steps_as_json(&steps));
            if !objects.is_empty() {
                let created = |it: &Created| json!({ "name": it.name, "step": it.step, "position": position(run.sources(), it.span) });
                object.insert("objects".into(), objects.iter().map(created).collect());
            }
        }
    }
    line(object)
}

/// How often each rule fired.
pub fn coverage_event(run: &Run<'_>) -> String {
    let fired = &run.outcome().statistics.fired;
    let rule = |(id, rule): (shoal_model::RuleId, &shoal_model::Rule)| {
        json!({
            "rule": rule.name,
            // The greatest number stands for one that does not fit.
            "fired": fired.get(id.index()).filter(|count| **count < u64::MAX),
            "position": position(run.sources(), rule.span),
        })
    };
    let mut object = event("coverage", Some(run.file));
    object.insert("exhaustive".into(), json!(run.outcome().statistics.exhaustive));
    object.insert("rules".into(), run.model().rules.enumerate().map(rule).collect());
    object.insert("never_fired".into(), run.never_fired().map(|(_, rule)| json!(rule.name)).collect());
    line(object)
}

/// What a front end or an analysis had to say about a source.
pub fn diagnostic_event(file: &str, sources: &SourceMap, diagnostic: &Diagnostic, words: Words) -> String {
    let label = |label: &shoal_syntax::Label| json!({ "position": position(sources, label.span), "text": label.text });
    let mut object = event("diagnostic", Some(file));
    object.insert("severity".into(), json!(severity(diagnostic.severity)));
    object.insert("code".into(), json!(diagnostic.code.0));
    object.insert("message".into(), json!(diagnostic.message));
    object.insert("position".into(), position(sources, diagnostic.primary.span));
    object.insert("also".into(), diagnostic.secondary.iter().map(label).collect());
    object.insert("help".into(), json!(diagnostic.hint(words)));
    line(object)
}

/// Something that kept a file from being checked.
pub fn error_event(file: Option<&str>, message: &str) -> String {
    let mut object = event("error", file);
    object.insert("message".into(), json!(message));
    line(object)
}

/// The end of a call: every property of every file, and the exit code.
pub fn finished_event(suites: &[Suite<'_>], exit_code: u8) -> String {
    let mut properties = Vec::new();
    for run in suites.iter().filter_map(|suite| suite.run) {
        for result in &run.outcome().results {
            let mut object = Map::new();
            object.insert("file".into(), json!(run.file));
            object.extend(property(run, result));
            properties.push(Json::Object(object));
        }
    }
    let errors: Vec<Json> = suites
        .iter()
        .filter_map(|suite| suite.error.map(|error| json!({ "file": suite.file, "message": error })))
        .collect();
    let mut object = event("finished", None);
    object.insert("exit_code".into(), json!(exit_code));
    object.insert("errors".into(), Json::Array(errors));
    object.insert("properties".into(), Json::Array(properties));
    line(object)
}

/// The fields that the contract promises for each property.
fn property(run: &Run<'_>, result: &PropertyResult) -> Map<String, Json> {
    let property = run.property(result);
    let mut object = Map::new();
    let mut put = |name: &str, value: Json| drop(object.insert(name.into(), value));
    put("name", json!(property.name));
    put("kind", json!(property.kind.noun()));
    put("verdict", json!(verdict(&result.verdict)));
    put("scope", scope(run.model()));
    match run.statistics(result) {
        Some(statistics) => work(run.model(), statistics, &mut put),
        // No engine took it.
        None => {
            for name in ["engine", "states", "transitions", "depth", "seconds", "memory_bytes"] {
                put(name, Json::Null);
            }
            put("reductions", json!([]));
        }
    }
    if let Some(note) = run.note(result.property) {
        put("note", json!(note));
    }
    if let Some(path) = run.certificate(result.property) {
        put("certificate", json!(path));
    }
    match &result.verdict {
        Verdict::Holds => {}
        Verdict::Unknown(reason) => {
            put("reason", json!(reason.to_string()));
            put("limit", json!(limit(reason)));
        }
        Verdict::Violated(violation) => {
            put("reason", json!(text::violation_in_words(run, result.property, violation)));
            put("trace_length", json!(violation.trace.as_ref().map(|trace| trace.steps.len())));
            put("trace", json!(run.trace(result.property)));
        }
    }
    object
}

/// What the engine did that a verdict came from. Numbers are numbers however large they are.
fn work(model: &Model, statistics: &Statistics, put: &mut impl FnMut(&str, Json)) {
    put("engine", json!(statistics.engine));
    let reductions = statistics.reductions.iter().map(|reduction| reduction_json(model, reduction));
    put("reductions", reductions.collect());
    put("states", exact(statistics.states, statistics.states_exact.as_deref()));
    if let Some(full) = statistics.states_full {
        put("states_full", large(full));
    }
    put("transitions", exact(statistics.transitions, statistics.transitions_exact.as_deref()));
    put("depth", json!(statistics.depth));
    if statistics.reductions.contains(&Reduction::PartialOrder) {
        put("put_off", json!(statistics.put_off));
    }
    put("seconds", json!(statistics.time.as_secs_f64()));
    if let Some(searching) = statistics.searching {
        put("search_seconds", json!(searching.as_secs_f64()));
    }
    put("memory_bytes", json!(statistics.memory_bytes));
    if let (Some(peak), Some(transition)) = (statistics.nodes_peak, statistics.nodes_transition) {
        put("nodes_peak", json!(peak));
        put("nodes_transition", json!(transition));
    }
    if !statistics.notes.is_empty() {
        put("notes", json!(statistics.notes));
    }
}

/// A number whose digits are given where it may not fit.
pub(crate) fn exact(number: u64, digits: Option<&str>) -> Json {
    digits.and_then(|digits| serde_json::from_str(digits).ok()).unwrap_or_else(|| json!(number))
}

/// A number of any size is a number.
pub(crate) fn large(number: u128) -> Json {
    exact(0, Some(&number.to_string()))
}

fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Violated(_) => "violated",
        Verdict::Unknown(_) => "unknown",
    }
}

fn limit(reason: &StopReason) -> &'static str {
    match reason {
        StopReason::Time(_) => "time",
        StopReason::Memory(_) => "memory",
        StopReason::Depth(_) => "depth",
        StopReason::States(_) => "states",
        StopReason::Overflow => "overflow",
        StopReason::Interrupted => "interrupted",
        StopReason::Elements(_) => "elements",
        StopReason::Bound(_) => "bound",
        StopReason::OtherViolation => "violation",
        StopReason::Disk(_) => "disk",
        StopReason::Lost(_) => "lost",
        StopReason::Omission(_) => "omission",
        StopReason::Walks(_) => "walks",
        StopReason::Counts(_) => "counts",
        StopReason::Unclear(_) => "not-understood",
        StopReason::AnyNumber(_) => "any-number",
        StopReason::Granted(_) => "not symmetric",
        StopReason::NoStart => "no start",
        StopReason::NotFollowed => "not followed",
        StopReason::Unsupported(_) => "unsupported",
        StopReason::Internal(_) => "internal",
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn scope(model: &Model) -> Json {
    let size = |size: SortSize| match size {
        SortSize::Fixed(size) => json!(size),
        SortSize::Growing { limit: Some(limit), .. } => json!({ "up_to": limit }),
        SortSize::Growing { limit: None, .. } => json!("growing"),
        SortSize::Any => json!("any"),
    };
    model.sorts.iter().map(|sort| (sort.name.clone(), size(sort.size))).collect()
}

fn reduction_json(model: &Model, reduction: &Reduction) -> Json {
    match reduction {
        Reduction::Symmetry(sorts) => json!({ "kind": "symmetry", "sorts": sort_names(model, sorts) }),
        Reduction::Checked(sorts) => json!({ "kind": "symmetry checked", "sorts": sort_names(model, sorts) }),
        Reduction::Trusted(sorts) => json!({ "kind": "symmetry trusted", "sorts": sort_names(model, sorts) }),
        Reduction::Ranges(names) => json!({ "kind": "symmetry of ranges", "ranges": names }),
        Reduction::Automorphisms(which) => json!({ "kind": "automorphisms", "which": which }),
        Reduction::Inactive(variables) => json!({ "kind": "inactive", "variables": variables }),
        Reduction::PartialOrder => json!({ "kind": "partial order" }),
    }
}

fn sort_names(model: &Model, sorts: &[SortId]) -> Json {
    sorts.iter().map(|sort| json!(model.sorts[*sort].name)).collect()
}

pub(crate) fn position(sources: &SourceMap, span: Span) -> Json {
    let file = sources.file(span.source);
    let position = file.position(span.start);
    json!({ "file": file.name(), "line": position.line, "column": position.column })
}

fn conjunct(run: &Run<'_>, cause: &Blame) -> Json {
    let object = |pairs: &[(String, shoal_model::Value)]| -> Json {
        pairs.iter().map(|(name, value)| (name.clone(), json!(run.model().show(value).to_string()))).collect()
    };
    json!({
        "text": crate::one_line(run.sources().snippet(cause.span)),
        "position": position(run.sources(), cause.span),
        "bindings": object(&cause.bindings),
        "reads": object(&cause.reads),
    })
}

/// Steps as a list: number, what fired, where it stands, what changed.
pub fn steps_as_json(steps: &[StepText]) -> Json {
    let change =
        |change: &crate::PlaceChange| json!({ "place": change.place, "old": change.old, "new": change.new });
    let shown = |shown: &crate::ShownClaim| json!({ "formula": shown.formula, "holds": shown.holds });
    let step = |step: &StepText| {
        json!({
            "step": step.number,
            "label": step.label,
            "position": step.position,
            "changes": step.changes.iter().map(change).collect::<Vec<_>>(),
            "shows": step.shows.iter().map(shown).collect::<Vec<_>>(),
        })
    };
    steps.iter().map(step).collect()
}
