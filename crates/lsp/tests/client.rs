//! The editor's side of the protocol.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value, json};

/// An editor that talks to a server on another thread.
pub(crate) struct Client {
    input: BufReader<UnixStream>,
    output: UnixStream,
    server: Option<JoinHandle<bool>>,
    next: u64,
    /// What the server said without being asked, oldest first.
    said: Vec<Value>,
}

impl Client {
    /// An editor that is past the introductions.
    pub(crate) fn new() -> Client {
        let mut client = Client::silent();
        let capabilities = json!({
            "window": {"workDoneProgress": true}, "workspace": {"codeLens": {"refreshSupport": true}},
        });
        let result = client.request("initialize", json!({"capabilities": capabilities}));
        assert_eq!(result["serverInfo"]["name"], "shoal");
        client.notify("initialized", json!({}));
        client
    }

    /// An editor that has not said anything.
    pub(crate) fn silent() -> Client {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let reader = BufReader::new(theirs.try_clone().unwrap());
        let server = thread::spawn(move || shoal_lsp::serve(reader, theirs).unwrap());
        let output = ours.try_clone().unwrap();
        Client { input: BufReader::new(ours), output, server: Some(server), next: 0, said: Vec::new() }
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.output.write_all(bytes).unwrap();
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// The result of a request; its error where it has none.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.read();
            if message["id"] == id && message.get("method").is_none() {
                return message.get("result").unwrap_or(&message["error"]).clone();
            }
            self.said.push(message);
        }
    }

    /// The next thing that the server says by this method.
    pub(crate) fn heard(&mut self, method: &str) -> Value {
        if let Some(at) = self.said.iter().position(|message| message["method"] == method) {
            return self.said.remove(at)["params"].take();
        }
        loop {
            let mut message = self.read();
            if message["method"] == method {
                return message["params"].take();
            }
            self.said.push(message);
        }
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert_ne!(self.input.read_line(&mut line).unwrap(), 0, "the server is gone");
            match line.trim_end() {
                "" => break,
                header => length = header.strip_prefix("Content-Length: ").unwrap().parse().unwrap(),
            }
        }
        let mut body = vec![0; length];
        self.input.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    pub(crate) fn open(&mut self, uri: &str, text: &str) -> Vec<Value> {
        let document = json!({"uri": uri, "languageId": "", "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
        self.diagnostics(uri, 1)
    }

    pub(crate) fn change(&mut self, uri: &str, version: i64, changes: Value) {
        let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": changes});
        self.notify("textDocument/didChange", params);
    }

    /// What is wrong in a version of a document.
    pub(crate) fn diagnostics(&mut self, uri: &str, version: i64) -> Vec<Value> {
        loop {
            let params = self.heard("textDocument/publishDiagnostics");
            if params["uri"] == uri && params["version"] == version {
                return params["diagnostics"].as_array().unwrap().clone();
            }
        }
    }

    /// Asks about a place: the first time that a text stands in the document, and so many characters on.
    pub(crate) fn at(&mut self, method: &str, uri: &str, text: &str, place: &str, more: Value) -> Value {
        let mut params = json!({"textDocument": {"uri": uri}, "position": position(text, place)});
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        self.request(method, params)
    }

    /// Says goodbye; whether the server was content.
    pub(crate) fn leave(mut self) -> bool {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.server.take().unwrap().join().unwrap()
    }

    /// Leaves without a word.
    pub(crate) fn vanish(mut self) -> bool {
        self.output.shutdown(std::net::Shutdown::Both).unwrap();
        self.server.take().unwrap().join().unwrap()
    }
}

/// Where a text stands in another the first time (of ASCII texts).
pub(crate) fn position(text: &str, place: &str) -> Value {
    let offset = text.find(place).unwrap();
    let before = &text[..offset];
    let line = before.matches('\n').count();
    json!({"line": line, "character": offset - before.rfind('\n').map_or(0, |at| at + 1)})
}
