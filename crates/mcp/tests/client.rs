//! A client that says one thing after the other.

use std::{
    collections::VecDeque,
    io::{self, BufReader, Read, Write},
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::{Value as Json, json};

/// A pipe: what is written into one end is read from the other, until the writer is gone.
#[derive(Default)]
struct Pipe {
    bytes: Mutex<(VecDeque<u8>, bool)>,
    more: Condvar,
}

struct End(Arc<Pipe>);

impl Read for End {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut state = self.0.bytes.lock().unwrap();
        while state.0.is_empty() && !state.1 {
            state = self.0.more.wait(state).unwrap();
        }
        let count = out.len().min(state.0.len());
        for (to, from) in out.iter_mut().zip(state.0.drain(..count)) {
            *to = from;
        }
        Ok(count)
    }
}

/// What the server writes, line by line.
struct Lines(Sender<Json>, Vec<u8>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            if *byte != b'\n' {
                self.1.push(*byte);
                continue;
            }
            let line = String::from_utf8(std::mem::take(&mut self.1)).expect("text");
            let _ = self.0.send(serde_json::from_str(&line).expect("one JSON object a line"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) struct Client {
    pipe: Arc<Pipe>,
    answers: Receiver<Json>,
    server: Option<JoinHandle<io::Result<()>>>,
    next: u64,
    /// Messages that nobody has asked for.
    pub(crate) told: Vec<Json>,
}

impl Client {
    /// A server for a folder, and a client that has said hello to it.
    pub(crate) fn new(root: &Path) -> Client {
        let pipe = Arc::new(Pipe::default());
        let (sender, answers) = channel();
        let (input, root) = (End(pipe.clone()), root.to_path_buf());
        let server =
            thread::spawn(move || shoal_mcp::serve(&root, BufReader::new(input), Lines(sender, Vec::new())));
        let mut client = Client { pipe, answers, server: Some(server), next: 0, told: Vec::new() };
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test" } });
        let greeting = client.ask("initialize", hello);
        assert_eq!(greeting["result"]["protocolVersion"], "2025-06-18");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    pub(crate) fn say(&self, line: &str) {
        let mut state = self.pipe.bytes.lock().unwrap();
        state.0.extend(line.bytes().chain([b'\n']));
        self.pipe.more.notify_all();
    }

    /// Sends a request and gives its id.
    pub(crate) fn request(&mut self, method: &str, params: Json) -> u64 {
        self.next += 1;
        self.say(
            &json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }).to_string(),
        );
        self.next
    }

    /// The next message.
    pub(crate) fn heard(&mut self) -> Json {
        self.answers.recv_timeout(Duration::from_secs(120)).expect("an answer")
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Json {
        loop {
            let message = self.heard();
            if message["id"] == json!(id) {
                return message;
            }
            self.told.push(message);
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: Json) -> Json {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Calls a tool: its text, its structure, and whether it is an error.
    pub(crate) fn call(&mut self, tool: &str, arguments: Json) -> (String, Json, bool) {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        assert!(result.is_object(), "{answer}");
        let text = result["content"][0]["text"].as_str().expect("text").to_string();
        assert!(text.len() < 8_200, "{} bytes", text.len());
        (text, result["structuredContent"].clone(), result["isError"] == json!(true))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.pipe.bytes.lock().unwrap().1 = true;
        self.pipe.more.notify_all();
        if let Some(server) = self.server.take() {
            server.join().expect("no panic").expect("no error");
        }
    }
}
