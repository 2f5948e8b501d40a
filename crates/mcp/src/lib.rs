//! The server for agents: Shoal's tools over the Model Context Protocol, one JSON object a line.
//!
//! [`serve`] reads requests and writes answers until its input ends. Tools run in threads of their own, each under a budget that
//! is an argument of the call, and are cancelled by the client. Files are read below one folder and nowhere else, and none are
//! written. The protocol over a pipe is a dozen of methods, written here; the field's library would bring a runtime and 70
//! crates for them.
//!
//! - `protocol`: requests, answers, errors
//! - `tools`: the nine tools and what they say of themselves
//! - `book`: chapters, messages and examples that come with the program

mod book;
mod protocol;
mod tools;

use std::{
    collections::HashMap,
    io::{self, BufRead, Write},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use serde_json::{Map, Value as Json, json};
use shoal::{Cancel, Folder};

use protocol::{ProtocolError, RpcRequest, parse};
use tools::{ToolAnswer, ToolDesk};

/// So many tools run at once.
const MOST_AT_ONCE: usize = 4;

/// Longer requests are refused.
const LONGEST_REQUEST: usize = 64 << 20;

/// The versions of the protocol that are spoken, the newest first.
const VERSIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// Answers requests until there are none. Models are read below `root` only.
pub fn serve(root: &Path, input: impl BufRead, output: impl Write + Send + 'static) -> io::Result<()> {
    let server = AgentServer {
        out: Arc::new(Mutex::new(Box::new(output))),
        desk: Arc::new(ToolDesk::new(Folder::new(root)?)),
        running: Arc::default(),
    };
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for line in lines(input) {
        threads.retain(|thread| !thread.is_finished());
        threads.extend(server.take(&line?));
    }
    // Nobody listens any more.
    for cancel in locked(&server.running).values() {
        cancel.cancel();
    }
    threads.into_iter().for_each(|thread| drop(thread.join()));
    Ok(())
}

/// The lines of the input, none longer than is allowed.
fn lines(mut input: impl BufRead) -> impl Iterator<Item = io::Result<String>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        let mut limited = io::Read::take(&mut input, LONGEST_REQUEST as u64 + 1);
        match limited.read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) if line.len() > LONGEST_REQUEST => {
                Some(Err(io::Error::new(io::ErrorKind::InvalidData, "a request is too long")))
            }
            Ok(_) => Some(Ok(String::from_utf8_lossy(&line).into_owned())),
            Err(error) => Some(Err(error)),
        }
    })
}

/// A mutex that a thread has left in the middle holds nothing half done: entries are put in and taken out whole.
fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Output = Arc<Mutex<Box<dyn Write + Send>>>;

struct AgentServer {
    out: Output,
    desk: Arc<ToolDesk>,
    /// The calls that run, by the text of their ids.
    running: Arc<Mutex<HashMap<String, Cancel>>>,
}

/// Writes a message. If nobody reads it there is nobody left to tell.
fn send(out: &Output, message: &Json) {
    let mut out = locked(out);
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}

impl AgentServer {
    /// Answers a line; the thread if a tool runs in one.
    fn take(&self, line: &str) -> Option<JoinHandle<()>> {
        if line.trim().is_empty() {
            return None;
        }
        let request = match parse(line) {
            Ok(request) => request,
            Err((id, problem)) => {
                send(&self.out, &problem.answer(&id));
                return None;
            }
        };
        let Some(id) = request.id.clone() else {
            self.notified(&request);
            return None;
        };
        if request.method == "tools/call" {
            return self.call(id, &request.params);
        }
        let answer = match self.answer(&request) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(problem) => problem.answer(&id),
        };
        send(&self.out, &answer);
        None
    }

    fn notified(&self, request: &RpcRequest) {
        if request.method == "notifications/cancelled"
            && let Some(id) = request.params.get("requestId")
            && let Some(cancel) = locked(&self.running).get(&id.to_string())
        {
            cancel.cancel();
        }
    }

    fn answer(&self, request: &RpcRequest) -> Result<Json, ProtocolError> {
        let text = |name: &str| request.params.get(name).and_then(Json::as_str).unwrap_or_default();
        match request.method.as_str() {
            "initialize" => Ok(greeting(text("protocolVersion"))),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({ "tools": tools::list() })),
            "resources/list" => Ok(json!({ "resources": book::resources() })),
            "resources/templates/list" => Ok(json!({ "resourceTemplates": [] })),
            "resources/read" => book::resource(text("uri"))
                .map(|text| json!({ "contents": [text] }))
                .ok_or_else(|| ProtocolError::params(format!("there is no resource {:?}", text("uri")))),
            "prompts/list" => Ok(json!({ "prompts": book::prompts() })),
            "prompts/get" => {
                let given = request.params.get("arguments").and_then(Json::as_object);
                book::prompt(text("name"), given.unwrap_or(&Map::new()))
                    .ok_or_else(|| ProtocolError::params(format!("there is no prompt {:?}", text("name"))))
            }
            other => Err(ProtocolError::method(other)),
        }
    }

    /// Runs a tool in a thread.
    fn call(&self, id: Json, params: &Map<String, Json>) -> Option<JoinHandle<()>> {
        let refuse = |problem: ProtocolError| {
            send(&self.out, &problem.answer(&id));
            None
        };
        let name = params.get("name").and_then(Json::as_str).unwrap_or_default().to_string();
        if !tools::NAMES.contains(&name.as_str()) {
            return refuse(ProtocolError::params(format!("there is no tool {name:?}")));
        }
        let given = match params.get("arguments") {
            None | Some(Json::Null) => Map::new(),
            Some(Json::Object(given)) => given.clone(),
            Some(_) => return refuse(ProtocolError::params("the arguments of a tool are an object")),
        };
        let cancel = Cancel::default();
        {
            let mut running = locked(&self.running);
            if running.len() >= MOST_AT_ONCE {
                return refuse(ProtocolError::busy(format!("{MOST_AT_ONCE} tools run already")));
            }
            if running.contains_key(&id.to_string()) {
                return refuse(ProtocolError::params("a call with this id runs already"));
            }
            running.insert(id.to_string(), cancel.clone());
        }
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
        let (out, desk, running) = (self.out.clone(), self.desk.clone(), self.running.clone());
        let (own, failed) = (id.clone(), self.out.clone());
        let thread = shoal::on_large_stack(move || {
            let mut tell = |done: u64, words: &str| {
                if let Some(token) = &token {
                    let params = json!({ "progressToken": token, "progress": done, "message": words });
                    let method = "notifications/progress";
                    send(&out, &json!({ "jsonrpc": "2.0", "method": method, "params": params }));
                }
            };
            let answer = desk.run(&name, given, &cancel, &mut tell);
            locked(&running).remove(&own.to_string());
            // Who has cancelled a call does not want its answer.
            if !cancel.is_cancelled() {
                send(&out, &json!({ "jsonrpc": "2.0", "id": own, "result": answer.as_json() }));
            }
        });
        match thread {
            Ok(thread) => Some(thread),
            Err(error) => {
                locked(&self.running).remove(&id.to_string());
                send(&failed, &ProtocolError::busy(format!("there is no thread: {error}")).answer(&id));
                None
            }
        }
    }
}

/// What a client is told first.
fn greeting(wanted: &str) -> Json {
    let version = VERSIONS.into_iter().find(|known| *known == wanted).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {}, "resources": {}, "prompts": {} },
        "serverInfo": { "name": "shoal", "version": env!("CARGO_PKG_VERSION") },
        "instructions": "Shoal checks models of systems with many identical parts (Murphi, Promela, UPPAAL, VPL, Red, boolean \
            programs, nets). Start with `examples` or `explain` for the language, `diagnose` a text until it has no errors, then `check` \
            it. A violated property comes with a run; `trace`, `walk` and `evaluate` look at it. `unknown` is not `holds`: raise the budget \
            or make the model smaller.",
    })
}

impl ToolAnswer {
    /// The answer as the protocol has it.
    fn as_json(&self) -> Json {
        let mut result =
            json!({ "content": [{ "type": "text", "text": self.text }], "isError": self.is_error });
        if let Some(structure) = &self.structure {
            result["structuredContent"] = structure.clone();
        }
        result
    }
}
