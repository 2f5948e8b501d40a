//! The loop that holds it together: messages come in, texts are read and properties decided on other threads.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, Write},
    path::Path,
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use serde_json::{Value, json};
use shoal::{Progress, model::Cancel};

use crate::{
    analysis::{TextAnalysis, TextReading},
    answers::{self, DocumentView},
    checks::{self, CheckOutcome, PropertyStanding, RunningCheck},
    protocol::{
        self, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, REQUEST_FAILED, SERVER_NOT_INITIALIZED,
    },
    text::{Encoding, IndexedText},
};

/// Front ends and engines recurse as deeply as a model nests.
const STACK: usize = 256 << 20;
/// So many checks run at a time.
const CHECKS: usize = 2;

/// A document that is open in the editor.
pub(crate) struct Document {
    text: IndexedText,
    version: i64,
    language: Option<String>,
    analysis: Option<Arc<TextAnalysis>>,
    /// The last analysis that had a model, for what is to be completed while the text has errors.
    good: Option<Arc<TextAnalysis>>,
    /// Ends the reading of a text that is not the newest any more.
    reading: Cancel,
    /// What was found, and of which version.
    verdicts: BTreeMap<String, (i64, PropertyStanding)>,
    /// How often each rule fired when everything was searched last, and of which version that is.
    fired: Option<(i64, Vec<u64>)>,
    /// Requests that wait until the newest text has been read.
    waiting: Vec<(Value, String, Value)>,
}

impl Document {
    /// What is known of a property in the text as it is now: never of an older one.
    pub(crate) fn verdict(&self, property: &str) -> Option<&PropertyStanding> {
        let (version, known) = self.verdicts.get(property)?;
        (*version == self.version).then_some(known)
    }

    /// How often each rule fires in the text as it is now, if that is known.
    pub(crate) fn fired(&self) -> Option<&[u64]> {
        let (version, fired) = self.fired.as_ref()?;
        (*version == self.version).then_some(fired)
    }

    /// The ending of files in the language that the editor names.
    pub(crate) fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    /// The last analysis with a model; the newest if there is none.
    pub(crate) fn last_good(&self) -> &Arc<TextAnalysis> {
        match (&self.good, &self.analysis) {
            (Some(good), _) => good,
            (None, Some(newest)) => newest,
            (None, None) => shoal::model::internal!("a document was asked about before it was read"),
        }
    }
}

/// What the loop hears.
enum ServerEvent {
    Message(Value),
    /// The editor is gone.
    Closed,
    Read(String, TextAnalysis),
    Progress(i64, Progress),
    Checked {
        uri: String,
        version: i64,
        token: i64,
        checked: CheckOutcome,
    },
}

type Reply = Result<Value, (i64, String)>;

/// Serves an editor until it says `exit`, or is gone. The result is whether it said `shutdown` before.
pub fn serve(mut input: impl BufRead + Send + 'static, output: impl Write) -> io::Result<bool> {
    let (events, inbox) = channel();
    let sender = events.clone();
    thread::spawn(move || {
        while let Ok(Some(message)) = protocol::read(&mut input) {
            if sender.send(ServerEvent::Message(message)).is_err() {
                return;
            }
        }
        let _ = sender.send(ServerEvent::Closed);
    });
    let mut server = LanguageServer {
        output,
        events,
        encoding: Encoding::Utf16,
        initialized: false,
        shut_down: false,
        tells_progress: false,
        refreshes_lenses: false,
        documents: BTreeMap::new(),
        running: Vec::new(),
        queue: Vec::new(),
        next: 0,
    };
    server.run(&inbox)?;
    Ok(server.shut_down)
}

struct LanguageServer<W> {
    output: W,
    events: Sender<ServerEvent>,
    encoding: Encoding,
    initialized: bool,
    shut_down: bool,
    tells_progress: bool,
    refreshes_lenses: bool,
    documents: BTreeMap<String, Document>,
    running: Vec<RunningCheck>,
    /// Checks that wait for others: the document and the properties.
    queue: Vec<(String, Vec<String>)>,
    /// The number of the next request or token of ours.
    next: i64,
}

impl<W: Write> LanguageServer<W> {
    fn run(&mut self, inbox: &Receiver<ServerEvent>) -> io::Result<()> {
        for event in inbox {
            match event {
                ServerEvent::Closed => break,
                ServerEvent::Message(message) if message["method"] == "exit" => break,
                ServerEvent::Message(message) => self.message(&message)?,
                ServerEvent::Read(uri, analysis) => self.read(&uri, analysis)?,
                ServerEvent::Progress(token, progress) => self.progress(token, &progress)?,
                ServerEvent::Checked { uri, version, token, checked } => {
                    self.checked(&uri, version, token, checked)?
                }
            }
        }
        // Nobody waits for what is still running.
        self.stop_checks();
        for document in self.documents.values() {
            document.reading.cancel();
        }
        Ok(())
    }

    fn stop_checks(&self) {
        for running in &self.running {
            running.cancel.cancel();
        }
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        protocol::write(&mut self.output, message)
    }

    fn notify(&mut self, method: &str, params: Value) -> io::Result<()> {
        self.send(&protocol::notification(method, params))
    }

    /// Asks the editor for something whose answer does not matter.
    fn ask(&mut self, method: &str, params: Value) -> io::Result<()> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
    }

    fn message(&mut self, message: &Value) -> io::Result<()> {
        // An answer to what we asked.
        let Some(method) = message["method"].as_str() else { return Ok(()) };
        let params = &message["params"];
        let Some(id) = message.get("id") else { return self.notified(method, params) };
        let reply = match method {
            "initialize" => Ok(self.initialize(params)),
            _ if !self.initialized => Err((SERVER_NOT_INITIALIZED, "`initialize` comes first".into())),
            _ if self.shut_down => Err((INVALID_REQUEST, "the server was shut down".into())),
            "shutdown" => {
                self.shut_down = true;
                Ok(Value::Null)
            }
            "workspace/executeCommand" => self.execute(params)?,
            "textDocument/foldingRange" | "textDocument/formatting" => self.of_text(method, params),
            _ => return self.requested(id, method, params),
        };
        self.send(&protocol::answer(id, reply))
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.initialized = true;
        let client = &params["capabilities"];
        let encodings = client["general"]["positionEncodings"].as_array();
        let utf8 = encodings.is_some_and(|all| all.iter().any(|encoding| encoding == "utf-8"));
        self.encoding = if utf8 { Encoding::Utf8 } else { Encoding::Utf16 };
        self.tells_progress = client["window"]["workDoneProgress"] == true;
        self.refreshes_lenses = client["workspace"]["codeLens"]["refreshSupport"] == true;
        json!({
            "serverInfo": {"name": "shoal", "version": env!("CARGO_PKG_VERSION")},
            "capabilities": {
                "positionEncoding": if utf8 { "utf-8" } else { "utf-16" },
                "textDocumentSync": {"openClose": true, "change": 2},
                "hoverProvider": true, "definitionProvider": true, "referencesProvider": true,
                "documentHighlightProvider": true, "documentSymbolProvider": true,
                "renameProvider": {"prepareProvider": true},
                "completionProvider": {"triggerCharacters": ["."]},
                "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor.rewrite"]},
                "codeLensProvider": {"resolveProvider": false},
                "inlayHintProvider": true, "foldingRangeProvider": true, "documentFormattingProvider": true,
                "semanticTokensProvider": {
                    "legend": {"tokenTypes": answers::TOKEN_TYPES, "tokenModifiers": answers::TOKEN_MODIFIERS}, "full": true,
                },
                "executeCommandProvider": {"commands": ["shoal.check", "shoal.stop"]},
            },
        })
    }

    fn notified(&mut self, method: &str, params: &Value) -> io::Result<()> {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default().to_string();
        match method {
            "textDocument/didOpen" => {
                let opened = &params["textDocument"];
                let text = opened["text"].as_str().unwrap_or_default().to_string();
                self.documents.insert(
                    uri.clone(),
                    Document {
                        text: IndexedText::new(text, self.encoding),
                        version: opened["version"].as_i64().unwrap_or_default(),
                        language: ending_of(opened["languageId"].as_str().unwrap_or_default()),
                        analysis: None,
                        good: None,
                        reading: Cancel::default(),
                        verdicts: BTreeMap::new(),
                        fired: None,
                        waiting: Vec::new(),
                    },
                );
                self.start_reading(&uri);
            }
            "textDocument/didChange" => {
                let Some(document) = self.documents.get_mut(&uri) else { return Ok(()) };
                for change in params["contentChanges"].as_array().into_iter().flatten() {
                    if let Some(text) = document.text.changed(change) {
                        document.text = text;
                    }
                }
                document.version = params["textDocument"]["version"].as_i64().unwrap_or(document.version + 1);
                self.start_reading(&uri);
            }
            "textDocument/didClose" => {
                if let Some(document) = self.documents.remove(&uri) {
                    document.reading.cancel();
                    for (id, ..) in document.waiting {
                        self.send(&protocol::answer(&id, Ok(Value::Null)))?;
                    }
                }
                self.notify("textDocument/publishDiagnostics", json!({"uri": uri, "diagnostics": []}))?;
            }
            "$/cancelRequest" => return self.cancel_request(&params["id"]),
            "window/workDoneProgress/cancel" => {
                let token = params["token"].as_i64();
                for running in self.running.iter().filter(|running| Some(running.token) == token) {
                    running.cancel.cancel();
                }
            }
            // What else an editor tells (saved, opened a folder, ...) changes nothing here.
            _ => {}
        }
        Ok(())
    }

    /// A request that still waits for a text to be read is answered at once, as cancelled.
    fn cancel_request(&mut self, id: &Value) -> io::Result<()> {
        const CANCELLED: i64 = -32800;
        let mut found = false;
        for document in self.documents.values_mut() {
            let before = document.waiting.len();
            document.waiting.retain(|(waiting, ..)| waiting != id);
            found |= document.waiting.len() < before;
        }
        if found {
            self.send(&protocol::answer(id, Err((CANCELLED, "cancelled".into()))))?;
        }
        Ok(())
    }

    /// Reads the newest text on another thread; what is being read of an older one is given up.
    fn start_reading(&mut self, uri: &str) {
        let open = self.documents.iter().map(|(uri, document)| (path_of(uri), document.text.text.clone()));
        let others: BTreeMap<String, String> = open.collect();
        let Some(document) = self.documents.get_mut(uri) else { return };
        document.reading.cancel();
        document.reading = Cancel::default();
        let name = path_of(uri);
        let reading = TextReading {
            // The ending of the name says more than the editor's guess: `.m` is many languages.
            language: document.language.clone().filter(|_| !has_known_ending(&name)),
            name,
            text: document.text.text.clone(),
            version: document.version,
            others,
            cancel: document.reading.clone(),
        };
        let (events, uri) = (self.events.clone(), uri.to_string());
        spawn(move || drop(events.send(ServerEvent::Read(uri, reading.read()))));
    }

    fn read(&mut self, uri: &str, analysis: TextAnalysis) -> io::Result<()> {
        let Some(document) = self.documents.get_mut(uri) else { return Ok(()) };
        if analysis.version != document.version {
            return Ok(());
        }
        let analysis = Arc::new(analysis);
        if analysis.loaded.is_some() {
            document.good = Some(analysis.clone());
        }
        document.analysis = Some(analysis);
        let waiting = std::mem::take(&mut document.waiting);
        self.publish(uri)?;
        for (id, method, params) in waiting {
            self.requested(&id, &method, &params)?;
        }
        Ok(())
    }

    fn publish(&mut self, uri: &str) -> io::Result<()> {
        let Some(view) = self.view(uri) else { return Ok(()) };
        let params = answers::diagnostics(&view);
        self.notify("textDocument/publishDiagnostics", params)
    }

    /// A document whose newest text has been read.
    fn view<'s>(&'s self, uri: &'s str) -> Option<DocumentView<'s>> {
        let document = self.documents.get(uri)?;
        let analysis = document.analysis.as_ref().filter(|it| it.version == document.version)?;
        Some(DocumentView { uri, text: &document.text, analysis, document })
    }

    /// Answers what is asked about a document, now or when its newest text has been read.
    fn requested(&mut self, id: &Value, method: &str, params: &Value) -> io::Result<()> {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let reply = match self.view(uri) {
            Some(view) => about(&view, method, params),
            None => match self.documents.get_mut(uri) {
                Some(document) => {
                    document.waiting.push((id.clone(), method.to_string(), params.clone()));
                    return Ok(());
                }
                None if method.starts_with("textDocument/") => {
                    Err((INVALID_PARAMS, format!("{uri} is not open")))
                }
                None => Err((METHOD_NOT_FOUND, format!("{method} is not supported"))),
            },
        };
        self.send(&protocol::answer(id, reply))
    }

    /// What is asked of a text as it stands, whatever is wrong with it: it need not have been read.
    fn of_text(&self, method: &str, params: &Value) -> Reply {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let Some(document) = self.documents.get(uri) else {
            return Err((INVALID_PARAMS, format!("{uri} is not open")));
        };
        let name = path_of(uri);
        let language = document.language.as_deref().filter(|_| !has_known_ending(&name));
        Ok(match method {
            "textDocument/foldingRange" => answers::folds(&document.text, &name, language),
            _ => answers::formatting(&document.text, &name, language),
        })
    }

    fn execute(&mut self, params: &Value) -> io::Result<Reply> {
        let arguments = params["arguments"].as_array().map(Vec::as_slice).unwrap_or_default();
        let words: Vec<String> = arguments.iter().filter_map(Value::as_str).map(str::to_string).collect();
        match (params["command"].as_str(), words.split_first()) {
            (Some("shoal.check"), Some((uri, properties))) => {
                if !self.documents.contains_key(uri) {
                    return Ok(Err((INVALID_PARAMS, format!("{uri} is not open"))));
                }
                self.queue.push((uri.clone(), properties.to_vec()));
                self.start_checks()?;
                Ok(Ok(Value::Null))
            }
            (Some("shoal.stop"), _) => {
                self.queue.clear();
                self.stop_checks();
                Ok(Ok(Value::Null))
            }
            (command, _) => {
                Ok(Err((INVALID_PARAMS, format!("there is no command {command:?} with these arguments"))))
            }
        }
    }

    fn start_checks(&mut self) -> io::Result<()> {
        while self.running.len() < CHECKS && !self.queue.is_empty() {
            let (uri, properties) = self.queue.remove(0);
            let Some(view) = self.view(&uri) else { continue };
            let Some(loaded) = view.analysis.loaded.clone() else { continue };
            let version = view.analysis.version;
            self.next += 1;
            let (token, cancel) = (self.next, Cancel::default());
            self.running.push(RunningCheck { cancel: cancel.clone(), token });
            if self.tells_progress {
                self.ask("window/workDoneProgress/create", json!({"token": token}))?;
                let value = json!({"kind": "begin", "title": "shoal check", "cancellable": true});
                self.notify("$/progress", json!({"token": token, "value": value}))?;
            }
            let events = self.events.clone();
            spawn(move || {
                let tell = events.clone();
                let mut tell =
                    |progress: &Progress| drop(tell.send(ServerEvent::Progress(token, progress.clone())));
                let checked = checks::run(&loaded, properties, &cancel, &mut tell);
                drop(events.send(ServerEvent::Checked { uri, version, token, checked }));
            });
        }
        Ok(())
    }

    fn progress(&mut self, token: i64, progress: &Progress) -> io::Result<()> {
        if !self.tells_progress || !self.running.iter().any(|running| running.token == token) {
            return Ok(());
        }
        let message = format!("{} states, depth {}", progress.states, progress.depth);
        self.notify("$/progress", json!({"token": token, "value": {"kind": "report", "message": message}}))
    }

    fn checked(&mut self, uri: &str, version: i64, token: i64, checked: CheckOutcome) -> io::Result<()> {
        self.running.retain(|running| running.token != token);
        if self.tells_progress {
            self.notify("$/progress", json!({"token": token, "value": {"kind": "end"}}))?;
        }
        match checked {
            Ok(found) => {
                if let Some(document) = self.documents.get_mut(uri) {
                    let known = found.known.into_iter().map(|(name, known)| (name, (version, known)));
                    document.verdicts.extend(known);
                    document.fired = found.fired.map(|fired| (version, fired)).or(document.fired.take());
                }
                self.publish(uri)?;
                if self.refreshes_lenses {
                    self.ask("workspace/codeLens/refresh", Value::Null)?;
                }
            }
            Err(message) => self.notify("window/showMessage", json!({"type": 1, "message": message}))?,
        }
        self.start_checks()
    }
}

/// What is asked about a document whose text has been read.
fn about(view: &DocumentView<'_>, method: &str, params: &Value) -> Reply {
    let failed = |message: String| (REQUEST_FAILED, message);
    Ok(match method {
        "textDocument/documentSymbol" => answers::outline(view),
        "textDocument/semanticTokens/full" => answers::tokens(view),
        "textDocument/inlayHint" => answers::hints(view),
        "textDocument/codeLens" => answers::lenses(view),
        "textDocument/codeAction" => answers::actions(view, params),
        "textDocument/completion" => answers::completion(view),
        "textDocument/hover" => answers::hover(view, params).unwrap_or(Value::Null),
        "textDocument/definition" => answers::definition(view, params).unwrap_or(Value::Null),
        "textDocument/references" => answers::references(view, params).unwrap_or(Value::Null),
        "textDocument/documentHighlight" => answers::highlights(view, params).unwrap_or(Value::Null),
        "textDocument/prepareRename" => answers::prepare_rename(view, params).map_err(failed)?,
        "textDocument/rename" => answers::rename(view, params).map_err(failed)?,
        _ => return Err((METHOD_NOT_FOUND, format!("{method} is not supported"))),
    })
}

fn spawn(work: impl FnOnce() + Send + 'static) {
    // Without a thread nothing can be read: the request stays unanswered, and the editor says so.
    let _ = thread::Builder::new().stack_size(STACK).spawn(work);
}

/// The path that a URI of a file is of; another URI as it is.
pub(crate) fn path_of(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_string() };
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, more)) = rest.split_first() {
        let code = || u8::from_str_radix(std::str::from_utf8(more.get(..2)?).ok()?, 16).ok();
        match (first, code()) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &more[2..];
            }
            _ => {
                bytes.push(first);
                rest = more;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn has_known_ending(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| shoal::is_known_ending(&ending.to_string_lossy()))
}

/// The ending of files in the language that an editor names.
fn ending_of(language: &str) -> Option<String> {
    let ending = match language {
        "murphi" => "m",
        "promela" => "pml",
        "dspin" => "dpml",
        "vpl" => "vpl",
        "red" => "red",
        "uppaal" => "xta",
        "boolean-program" => "bp",
        _ => return None,
    };
    Some(ending.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded() {
        assert_eq!(path_of("file:///a%20b/%C3%BC.m"), "/a b/ü.m");
        assert_eq!(path_of("untitled:1"), "untitled:1");
        assert_eq!(path_of("file:///50%"), "/50%");
    }
}
