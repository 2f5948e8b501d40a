//! A folder with models and a client that asks without a socket. Every answer is held against the schema.

use std::{path::Path, sync::Arc, thread, time::Duration};

use serde_json::{Value as Json, json};
use shoal::Folder;
use shoal_studio::{Body, OpenOptions, Request, Response, Studio};

use crate::validator::Validator;

/// The port that the server says it has.
pub(crate) const PORT: u16 = 7421;

const SCHEMA: &str = include_str!("../../../docs/src/studio.schema.json");

pub(crate) const COUNTER: &str = "var x: 0..5;
startstate x := 0; end;
rule \"up\" x < 4 ==> x := x + 1; end;
rule \"down\" x > 0 ==> x := x - 1; end;
rule \"never\" x = 5 ==> x := 0; end;
invariant \"small\" x < 3;
invariant \"in range\" x <= 5;
";

/// A search that nobody waits for.
pub(crate) const ENDLESS: &str = "type bit: 0..1;
var x: array [0..39] of bit;
startstate for i: 0..39 do x[i] := 0; end; end;
ruleset i: 0..39 do rule \"flip\" true ==> x[i] := 1 - x[i]; end; end;
invariant \"fine\" x[0] < 2;
";

pub(crate) const LOCK: &str = "const N: 5;
type proc: scalarset(N);
var inside: array [proc] of boolean;
startstate for p: proc do inside[p] := false; end; end;
ruleset p: proc do
  rule \"enter\" !inside[p] ==> inside[p] := true; end;
  rule \"leave\" inside[p] ==> inside[p] := false; end;
end;
invariant \"one inside\" forall p: proc do forall q: proc do inside[p] & inside[q] -> p = q end end;
";

/// A lock that knows who has it.
pub(crate) const MUTEX: &str = "const N: 3;
type proc: scalarset(N);
var owner: proc; taken: boolean;
    inside: array [proc] of boolean;
startstate for p: proc do inside[p] := false; end; taken := false; undefine owner; end;
ruleset p: proc do
  rule \"take\" !taken ==> taken := true; owner := p; end;
  rule \"enter\" taken & owner = p & !inside[p] ==> inside[p] := true; end;
  rule \"leave\" inside[p] ==> inside[p] := false; taken := false; undefine owner; end;
end;
invariant \"one inside\" forall p: proc do forall q: proc do inside[p] & inside[q] -> p = q end end;
";

pub(crate) struct Client {
    pub(crate) studio: Arc<Studio>,
    pub(crate) folder: tempfile::TempDir,
    validator: Validator,
}

/// A model of the gallery.
pub(crate) fn gallery(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
    std::fs::read_to_string(path).unwrap()
}

impl Client {
    pub(crate) fn with(files: &[(&str, &str)]) -> Client {
        Client::opened(files, OpenOptions::default())
    }

    pub(crate) fn opened(files: &[(&str, &str)], options: OpenOptions) -> Client {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let studio = Studio::new(Folder::new(folder.path()).unwrap(), PORT, options).unwrap();
        let validator = Validator(serde_json::from_str(SCHEMA).unwrap());
        Client { studio: Arc::new(studio), folder, validator }
    }

    /// A request as a client with the token makes it.
    pub(crate) fn request(&self, method: &str, path: &str, body: Option<&Json>) -> Request {
        let mut request = Request::new(method, &format!("/api/v1/{path}"))
            .header("Host", &format!("127.0.0.1:{PORT}"))
            .header("Authorization", &format!("Bearer {}", self.studio.token()));
        if let Some(body) = body {
            request.body = body.to_string().into_bytes();
            let length = request.body.len().to_string();
            request = request.header("Content-Type", "application/json").header("Content-Length", &length);
        }
        request
    }

    /// Asks, and holds the answer against the definition in the schema that it is to fit.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<Json>, is: &str) -> Json {
        let (status, answer) = read(self.studio.answer(self.request(method, path, body.as_ref())));
        let schema = json!({ "$ref": format!("#/$defs/{is}") });
        if let Err(why) = self.validator.check(&schema, &answer, is) {
            panic!("{method} {path}: {status}: {why}\n{answer:#}");
        }
        assert_eq!(status >= 400, is == "error", "{status} {answer}");
        answer
    }

    /// Holds something that was told against a definition in the schema.
    pub(crate) fn validate(&self, is: &str, told: &Json) {
        let schema = json!({ "$ref": format!("#/$defs/{is}") });
        if let Err(why) = self.validator.check(&schema, told, is) {
            panic!("{why}\n{told:#}");
        }
    }

    pub(crate) fn get(&self, path: &str, is: &str) -> Json {
        self.ask("GET", path, None, is)
    }

    pub(crate) fn post(&self, path: &str, body: Json, is: &str) -> Json {
        self.ask("POST", path, Some(body), is)
    }

    /// The status and the code of a refusal.
    pub(crate) fn refused(&self, method: &str, path: &str, body: Option<Json>) -> (u16, String) {
        let (status, answer) = read(self.studio.answer(self.request(method, path, body.as_ref())));
        (status, answer["error"]["code"].as_str().unwrap_or_default().to_string())
    }

    /// Checks and waits for the end.
    pub(crate) fn check(&self, body: Json) -> Json {
        let run = self.post("runs", body, "one_run")["run"]["id"].clone();
        self.wait(&format!("runs/{run}"), |run| run["stage"] == "finished")
    }

    /// Looks at a run until it is as it should be.
    pub(crate) fn wait(&self, path: &str, is_so: impl Fn(&Json) -> bool) -> Json {
        let mut run = Json::Null;
        for _ in 0..1_200 {
            run = self.get(path, "one_run")["run"].clone();
            if is_so(&run) {
                return run;
            }
            thread::sleep(Duration::from_millis(25));
        }
        panic!("{path} takes too long: {run:#}");
    }
}

/// The status of an answer and what it holds.
pub(crate) fn read(response: Response) -> (u16, Json) {
    let Body::Whole(bytes) = response.body else { panic!("an answer in parts") };
    let text = String::from_utf8(bytes).unwrap();
    (response.status, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
}
