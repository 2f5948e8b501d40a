//! A browser without a window, driven over WebDriver: a dozen calls over HTTP.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value as Json, json};

/// A browser that is open. It is closed when it is dropped.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

/// Nothing that is waited for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What an element is called in the protocol.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

impl Browser {
    /// Nothing, and it is said, where there is no browser; unless `SHOAL_BROWSER=required`.
    pub(crate) fn open() -> Option<Browser> {
        let driver =
            Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut driver) = driver else {
            assert_ne!(std::env::var("SHOAL_BROWSER").as_deref(), Ok("required"), "there is no chromedriver");
            println!("skipped: no browser (apt-get install chromium chromium-driver)");
            return None;
        };
        let out = BufReader::new(driver.stdout.take().unwrap());
        let port = out.lines().map_while(Result::ok).find_map(|line| {
            line.split_once("started successfully on port ")
                .and_then(|(_, port)| port.trim_end_matches('.').parse().ok())
        });
        let mut browser =
            Browser { driver, port: port.expect("the port of chromedriver"), session: String::new() };
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1400,900",
        ];
        let options = json!({ "args": arguments, "prefs": { "download.prompt_for_download": false } });
        let wanted = json!({ "capabilities": { "alwaysMatch": { "browserName": "chrome", "timeouts": { "script": 120_000 }, "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } } } });
        let session = browser.call("POST", "/session", Some(&wanted));
        browser.session = session["sessionId"].as_str().expect("a session").to_string();
        Some(browser)
    }

    fn call(&self, method: &str, path: &str, body: Option<&Json>) -> Json {
        let body = body.map(Json::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )
        .unwrap();
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line).unwrap() > 2 {
            let lower = line.to_ascii_lowercase();
            if let Some(size) = lower.strip_prefix("content-length:") {
                length = size.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).unwrap();
        let answer: Json = serde_json::from_slice(&answer).unwrap();
        let value = &answer["value"];
        value.clone()
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Json>) -> Json {
        let value = self.call(method, &format!("/session/{}{path}", self.session), body);
        assert!(
            value["error"].is_null(),
            "{method} {path} {body:?}: {} {}",
            value["error"],
            value["message"]
        );
        value
    }

    pub(crate) fn go(&self, address: &str) {
        self.ask("POST", "/url", Some(&json!({ "url": address })));
    }

    /// Opens a page anew, even if only what is behind the `#` differs.
    pub(crate) fn fresh(&self, address: &str) {
        self.go("about:blank");
        self.go(address);
    }

    pub(crate) fn address(&self) -> String {
        self.ask("GET", "/url", None).as_str().unwrap().to_string()
    }

    pub(crate) fn reload(&self) {
        self.ask("POST", "/refresh", Some(&json!({})));
    }

    /// Runs a script in the page; what it returns.
    pub(crate) fn run(&self, script: &str) -> Json {
        self.ask("POST", "/execute/sync", Some(&json!({ "script": script, "args": [] })))
    }

    /// Runs a script that calls its last argument when it is done; what it calls it with.
    pub(crate) fn run_later(&self, script: &str) -> Json {
        self.ask("POST", "/execute/async", Some(&json!({ "script": script, "args": [] })))
    }

    /// Waits until an expression is true in the page.
    pub(crate) fn until(&self, expression: &str) -> Duration {
        let began = Instant::now();
        while began.elapsed() < PATIENCE {
            if self.run(&format!("return Boolean({expression})")) == true {
                return began.elapsed();
            }
            thread::sleep(Duration::from_millis(20));
        }
        let text = self.run("return document.body.innerText");
        panic!(
            "{expression} is not true after {PATIENCE:?} in\n{}\n{:?}",
            text.as_str().unwrap_or_default(),
            self.logs()
        );
    }

    /// Waits for a text in the page.
    pub(crate) fn sees(&self, text: &str) -> Duration {
        self.until(&format!("document.body.innerText.includes({})", json!(text)))
    }

    fn find(&self, selector: &str) -> String {
        self.until(&format!("document.querySelector({})", json!(selector)));
        let found =
            self.ask("POST", "/element", Some(&json!({ "using": "css selector", "value": selector })));
        found[ELEMENT].as_str().unwrap().to_string()
    }

    /// Clicks on an element; on the one in its place if the page was drawn again meanwhile.
    pub(crate) fn click(&self, selector: &str) {
        for _ in 0..20 {
            let path = format!("/session/{}/element/{}/click", self.session, self.find(selector));
            let clicked = self.call("POST", &path, Some(&json!({})));
            match clicked["error"].as_str() {
                None => return,
                Some("stale element reference") => thread::sleep(Duration::from_millis(50)),
                Some(error) => panic!("{selector}: {error} {}", clicked["message"]),
            }
        }
        panic!("{selector} does not stay");
    }

    pub(crate) fn type_into(&self, selector: &str, text: &str) {
        let element = self.find(selector);
        self.ask("POST", &format!("/element/{element}/value"), Some(&json!({ "text": text })));
    }

    /// Presses keys, wherever the focus is.
    pub(crate) fn press(&self, keys: &str) {
        let each = |key: char| {
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        };
        let actions: Vec<Json> = keys.chars().flat_map(each).collect();
        self.act(&json!([{ "type": "key", "id": "keys", "actions": actions }]));
    }

    /// Presses a key while another is held.
    pub(crate) fn press_with(&self, held: &str, key: &str) {
        self.press_all(&[held], key);
    }

    /// Presses a key while others are held.
    pub(crate) fn press_all(&self, held: &[&str], key: &str) {
        let action = |kind: &str, key: &str| json!({ "type": kind, "value": key });
        let mut actions: Vec<Json> = held.iter().map(|held| action("keyDown", held)).collect();
        actions.extend([action("keyDown", key), action("keyUp", key)]);
        actions.extend(held.iter().map(|held| action("keyUp", held)));
        self.act(&json!([{ "type": "key", "id": "keys", "actions": actions }]));
    }

    /// Draws an element to the side with the mouse.
    pub(crate) fn drag(&self, selector: &str, by: i32) {
        let element = json!({ ELEMENT: self.find(selector) });
        let to = |x: i32, origin: &Json| json!({ "type": "pointerMove", "x": x, "y": 0, "origin": origin, "duration": 30 });
        let (down, up) =
            (json!({ "type": "pointerDown", "button": 0 }), json!({ "type": "pointerUp", "button": 0 }));
        let actions = [to(0, &element), down, to(by, &json!("pointer")), up];
        self.act(&json!([{ "type": "pointer", "id": "mouse", "actions": actions }]));
    }

    fn act(&self, actions: &Json) {
        self.ask("POST", "/actions", Some(&json!({ "actions": actions })));
    }

    /// Makes the window so wide and high, or as it was.
    pub(crate) fn resize(&self, size: Option<(u32, u32)>) {
        let (command, params) = match size {
            Some((width, height)) => (
                "Emulation.setDeviceMetricsOverride",
                json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false }),
            ),
            None => ("Emulation.clearDeviceMetricsOverride", json!({})),
        };
        self.ask("POST", "/goog/cdp/execute", Some(&json!({ "cmd": command, "params": params })));
    }

    /// Cuts the browser off from every server, or lets it talk again.
    pub(crate) fn cut_off(&self, is: bool) {
        let conditions = json!({ "offline": is, "latency": 0, "throughput": 100_000_000 });
        self.ask("POST", "/chromium/network_conditions", Some(&json!({ "network_conditions": conditions })));
    }

    /// What scripts complained of.
    pub(crate) fn logs(&self) -> Vec<String> {
        let log = self.ask("POST", "/se/log", Some(&json!({ "type": "browser" })));
        let complaints = log.as_array().into_iter().flatten().filter(|it| it["level"] == "SEVERE");
        let messages = complaints.map(|it| it["message"].to_string());
        // That a call is refused is told by the page.
        messages.filter(|message| !message.contains("Failed to load resource")).collect()
    }

    /// Saves what is seen where `SHOAL_PICTURES` says.
    pub(crate) fn picture(&self, name: &str) {
        let Ok(folder) = std::env::var("SHOAL_PICTURES") else { return };
        let picture = self.ask("GET", "/screenshot", None);
        std::fs::write(format!("{folder}/{name}.png"), decoded(picture.as_str().unwrap())).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Also after a test has failed: a browser that nobody closes stays. A second panic would end the process.
        if !self.session.is_empty() {
            let path = format!("/session/{}", self.session);
            let _ = catch_unwind(AssertUnwindSafe(|| self.call("DELETE", &path, None)));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Bytes from Base64.
fn decoded(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for part in text.bytes().filter_map(value) {
        bits = bits << 6 | u32::from(part);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
