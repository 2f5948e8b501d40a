//! Which call is whose. Every answer is a JSON object with `schema`; what is wrong is in `error`.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use shoal::{
    Error,
    syntax::{Advice, Diagnostics, SourceMap},
};
use shoal_report::{Arguments, range_as_json};

use crate::{
    Studio,
    guard::HttpRefusal,
    http::{Body, Request, Response, percent_decoded},
};

/// The version of the answers. It changes when a field changes its meaning or goes away.
const SCHEMA: u32 = 1;

/// Why a call is not answered.
#[derive(Debug)]
pub(crate) struct CallError {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) diagnostics: Vec<Json>,
}

impl CallError {
    pub(crate) fn new(status: u16, code: &str, message: impl Into<String>) -> CallError {
        CallError { status, code: code.into(), message: message.into(), diagnostics: Vec::new() }
    }

    pub(crate) fn missing(what: impl Into<String>) -> CallError {
        CallError::new(404, "not-found", what)
    }
}

impl From<String> for CallError {
    fn from(message: String) -> CallError {
        CallError::new(400, "arguments", message)
    }
}

impl From<Error> for CallError {
    fn from(error: Error) -> CallError {
        let message = error.to_string();
        match error {
            Error::Source(rejected) => CallError {
                diagnostics: diagnostics(&rejected.sources, &rejected.diagnostics),
                ..CallError::new(422, "source", "the model has errors")
            },
            Error::File { .. } => CallError::new(404, "file", message),
            Error::Stopped(_) => CallError::new(422, "stopped", message),
            Error::Internal(_) => CallError::new(500, "internal", message),
            _ => CallError::new(422, "not-possible", message),
        }
    }
}

/// What a call gives: an object, or something that is not JSON.
pub(crate) enum Answered {
    Object(u16, Json),
    Other(Response),
}

pub(crate) type Call = Result<Answered, CallError>;

/// An answer that is an object.
pub(crate) fn object(json: Json) -> Call {
    Ok(Answered::Object(200, json))
}

/// Advice in the words of the page.
pub(crate) fn advise(advice: &Advice) -> String {
    match advice {
        Advice::MoreTime => "allow more seconds, or make the model smaller".into(),
        Advice::MoreMemory => "allow more memory, or make the model smaller".into(),
        Advice::AllProperties => "check this property alone, or all however long it takes".into(),
        Advice::ChooseNumber => "choose a number of processes".into(),
        other => other.to_string(),
    }
}

/// What was said about sources.
pub(crate) fn diagnostics(sources: &SourceMap, all: &Diagnostics) -> Vec<Json> {
    let one = |it: &shoal::syntax::Diagnostic| {
        let severity = match it.severity {
            shoal::syntax::Severity::Error => "error",
            shoal::syntax::Severity::Warning => "warning",
            shoal::syntax::Severity::Note => "note",
        };
        let also = |label: &shoal::syntax::Label| json!({ "range": range_as_json(sources, label.span), "text": label.text });
        json!({
            "severity": severity,
            "code": it.code.0,
            "message": it.message,
            "range": range_as_json(sources, it.primary.span),
            "also": it.secondary.iter().map(also).collect::<Vec<_>>(),
            "help": it.hint(advise),
        })
    };
    all.iter().map(one).collect()
}

/// A refusal as an answer.
pub(crate) fn refused((status, code, message): HttpRefusal) -> Response {
    as_response(Err(CallError::new(status, code, message)))
}

fn as_response(answer: Call) -> Response {
    let (status, mut body) = match answer {
        Ok(Answered::Other(response)) => return response,
        Ok(Answered::Object(status, body)) => (status, body),
        Err(error) => {
            let mut inner = json!({ "code": error.code, "message": error.message });
            if !error.diagnostics.is_empty() {
                inner["diagnostics"] = Json::Array(error.diagnostics);
            }
            (error.status, json!({ "error": inner }))
        }
    };
    body["schema"] = json!(SCHEMA);
    Response::new(status, "application/json; charset=utf-8", body.to_string())
}

/// Answers a call.
pub(crate) fn answer(studio: &Arc<Studio>, request: Request) -> Response {
    as_response(route(studio, &request))
}

/// The arguments in the body of a request.
fn arguments(request: &Request) -> Result<Arguments, CallError> {
    if request.body.is_empty() {
        return Ok(Arguments::new(Map::new(), &request.cancel));
    }
    match serde_json::from_slice(&request.body) {
        Ok(Json::Object(given)) => Ok(Arguments::new(given, &request.cancel)),
        Ok(_) => Err(CallError::from("the body of a call is an object".to_string())),
        Err(error) => Err(CallError::from(format!("the body is no JSON: {error}"))),
    }
}

fn route(studio: &Arc<Studio>, request: &Request) -> Call {
    let Some(path) = request.path.strip_prefix("/api/v1/") else {
        return Err(CallError::missing("there is only version 1 of the calls"));
    };
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    // The name of a file has slashes in it, however they are written.
    if first == "files" && !rest.is_empty() {
        let Some(name) = percent_decoded(rest) else {
            return Err(CallError::from("the path is no text".to_string()));
        };
        return match request.method.as_str() {
            "GET" => studio.file(&name),
            "PUT" => studio.save(&name, &mut arguments(request)?),
            _ => Err(not_so()),
        };
    }
    let parts: Option<Vec<String>> = path.split('/').map(percent_decoded).collect();
    let parts = parts.ok_or_else(|| CallError::from("the path is no text".to_string()))?;
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut given = arguments(request)?;
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", ["info"]) => object(studio.info()),
        ("GET", ["files"]) => object(studio.files()),
        ("GET", ["events"]) => {
            let last = request.head("last-event-id").and_then(|last| last.trim().parse().ok());
            Ok(Answered::Other(in_parts(studio.listen(last))))
        }
        ("POST", ["expression"]) => studio.expression(&mut given),
        ("POST", ["diagnose"]) => studio.diagnose(&mut given),
        ("POST", ["model"]) => studio.model(&mut given),
        ("GET", ["runs"]) => {
            object(json!({ "runs": studio.jobs.all().iter().map(|job| job.as_json()).collect::<Vec<_>>() }))
        }
        ("POST", ["runs"]) => studio.check(&mut given),
        ("GET", ["runs", id]) => object(json!({ "run": studio.jobs.find(id)?.as_json() })),
        ("DELETE", ["runs", id]) => object(json!({ "run": studio.jobs.cancel(id)?.as_json() })),
        ("GET", ["runs", id, "events"]) => Ok(Answered::Other(in_parts(studio.jobs.find(id)?.events()))),
        ("POST", ["traces"]) => studio.upload(&mut given),
        ("GET", ["traces", id, "story"]) => {
            studio.story(id, request.asked("level"), request.asked("from"), request.asked("to"))
        }
        ("GET", ["traces", id, "rows", number]) => studio.row(id, number),
        ("GET", ["traces", id, "export"]) => studio.export(id, request.asked("as").unwrap_or("itf")),
        ("GET", ["traces", id, "walk"]) => studio.walk_of(id, request.asked("row")),
        ("GET", ["traces", id, "compare"]) => studio.compare(id, request.asked("with")),
        ("GET", ["traces", id, "writers"]) => studio.writers(id, request.asked("place")),
        ("POST", ["traces", id, "direct"]) => studio.direct(id, &mut given),
        ("POST", ["traces", id, "keep"]) => studio.keep_trace(id),
        ("POST", ["traces", id, "evaluate"]) => studio.evaluate(id, &mut given),
        ("POST", ["walk"]) => studio.walk(&mut given),
        ("POST", ["walk", "on"]) => studio.walk_on(&mut given),
        ("POST", ["desk"]) => studio.desk_shown(&mut given),
        ("POST", ["desk", "preview"]) => studio.desk_preview(&mut given),
        ("POST", ["desk", "check"]) => studio.desk_check(&mut given),
        ("POST", ["desk", "picture"]) => studio.desk_picture(&mut given),
        ("POST", ["desk", "print"]) => studio.desk_print(&mut given),
        ("POST", ["desk", "sequence"]) => studio.desk_sequence(&mut given),
        ("POST", ["any"]) => studio.any_number(&mut given),
        ("POST", ["graphs"]) => studio.state_graph(&mut given),
        ("GET", ["graphs", id, "overview"]) => studio.graph_overview(id),
        ("POST", ["graphs", id, "view"]) => studio.graph_view(id, &mut given),
        ("POST", ["graphs", id, "find"]) => studio.graph_find(id, &mut given),
        ("POST", ["graphs", id, "locate"]) => studio.graph_locate(id, &mut given),
        ("POST", ["graphs", id, "path"]) => studio.graph_path(id, &mut given),
        (
            _,
            [
                "info" | "files" | "events" | "expression" | "diagnose" | "model" | "runs" | "walk"
                | "traces" | "desk" | "graphs" | "any",
                ..,
            ],
        ) => Err(not_so()),
        _ => Err(CallError::missing("there is no such call")),
    }
}

/// An answer that comes as things happen.
fn in_parts(next: impl FnMut() -> Option<Vec<u8>> + Send + 'static) -> Response {
    let mut response = Response::new(200, "text/event-stream; charset=utf-8", "");
    response.body = Body::Parts(Box::new(next));
    response
}

fn not_so() -> CallError {
    CallError::new(405, "method", "that cannot be done there")
}
