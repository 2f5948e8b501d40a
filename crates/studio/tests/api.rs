//! Calls and their answers.

use std::time::Instant;

use serde_json::json;
use shoal_studio::{Body, OpenOptions, Response};

use crate::common::{COUNTER, Client, ENDLESS, LOCK, MUTEX, gallery};

#[test]
fn files_are_listed_read_and_written() {
    let client = Client::with(&[
        ("a.m", COUNTER),
        ("deep/b.pml", "init { skip }"),
        ("notes.txt", "x"),
        (".hidden.m", "x"),
    ]);
    let files = client.get("files", "files");
    let paths: Vec<&str> =
        files["files"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.m", "deep/b.pml"]);
    let read = client.get("files/a.m", "file");
    assert_eq!(read["text"], COUNTER);
    let info = client.get("info", "info");
    assert!(info["engines"].as_array().unwrap().contains(&json!("explicit")));

    let text = COUNTER.replace("x < 3", "x < 5");
    // Who has read another text does not write over this one.
    let stale = json!({ "text": text, "hash": "0" });
    assert_eq!(client.refused("PUT", "files/a.m", Some(stale)), (412, "changed".into()));
    let saved = client.ask("PUT", "files/a.m", Some(json!({ "text": text, "hash": read["hash"] })), "saved");
    assert_eq!(client.get("files/a.m", "file")["hash"], saved["hash"]);
    client.ask("PUT", "files/deep/new.m", Some(json!({ "text": COUNTER })), "saved");
    assert_eq!(std::fs::read_to_string(client.folder.path().join("deep/new.m")).unwrap(), COUNTER);
}

#[test]
fn what_is_typed_is_diagnosed() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let good = client.post("diagnose", json!({ "file": "a.m" }), "diagnosed");
    assert_eq!(good["ok"], true);
    let bad = client.post(
        "diagnose",
        json!({ "file": "a.m", "text": COUNTER.replace("x < 3", "y < 3") }),
        "diagnosed",
    );
    assert_eq!(bad["ok"], false);
    assert_ne!(bad["hash"], good["hash"]);
    let first = &bad["diagnostics"][0];
    assert_eq!((&first["range"]["line"], &first["severity"]), (&json!(6), &json!("error")));
    let model = client.post("model", json!({ "file": "a.m" }), "model");
    assert_eq!(model["rules"].as_array().unwrap().len(), 3);
    assert_eq!(model["properties"][0]["name"], "small");
    let lock = client.post("model", json!({ "file": "lock.m", "text": LOCK, "set": { "N": 3 } }), "model");
    assert_eq!((&lock["sorts"][0]["size"], &lock["sorts"][0]["proved"]), (&json!(3), &json!(true)));
    assert_eq!(
        client.refused("POST", "model", Some(json!({ "file": "a.m", "text": "var" }))),
        (422, "source".into())
    );
    let unknown = json!({ "file": "a.m", "colour": "red" });
    assert_eq!(client.refused("POST", "model", Some(unknown)), (400, "arguments".into()));
}

#[test]
fn a_check_tells_verdicts_coverage_and_runs() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let run = client.check(json!({ "file": "a.m" }));
    let property =
        |name: &str| run["properties"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(property("small")["verdict"], "violated");
    assert_eq!(property("small")["steps"], 3);
    assert_eq!(property("in range")["verdict"], "holds");
    let rules = run["coverage"]["rules"].as_array().unwrap();
    assert_eq!(rules[2]["fired"], 0, "{rules:?}");
    assert!(rules[0]["fired"].as_u64().unwrap() > 0);

    let id = property("small")["trace"].as_str().unwrap();
    let story = client.get(&format!("traces/{id}/story?level=0"), "trace");
    assert_eq!((&story["steps"], &story["can_be_saved"]), (&json!(3), &json!(true)));
    assert_eq!(story["violated"]["name"], "small");
    let row = client.get(&format!("traces/{id}/rows/3"), "row");
    assert_eq!(row["row"]["findings"][0]["name"], "small");
    assert_eq!(row["row"]["state"], json!([{ "place": "x", "value": "3", "changed": true }]));
    client.get(&format!("traces/{id}/rows/0"), "row");
    assert_eq!(client.refused("GET", &format!("traces/{id}/rows/4"), None).0, 404);
    let values = client.post(&format!("traces/{id}/evaluate"), json!({ "expression": "x < 2" }), "values");
    assert_eq!(
        values["values"],
        json!([{ "from": 0, "to": 1, "value": "true" }, { "from": 2, "to": 3, "value": "false" }])
    );
    assert_eq!(
        client.refused("POST", &format!("traces/{id}/evaluate"), Some(json!({ "expression": "y" }))).0,
        422
    );
    for (how, word) in [
        ("itf", "#meta"),
        ("html", "<!DOCTYPE html>"),
        ("mermaid", "sequenceDiagram"),
        ("plantuml", "@startuml"),
        ("text", "→"),
    ] {
        let answer =
            client.studio.answer(client.request("GET", &format!("traces/{id}/export?as={how}"), None));
        let Body::Whole(bytes) = answer.body else { panic!("parts") };
        assert!(String::from_utf8(bytes).unwrap().contains(word), "{how}");
    }
    // A model with errors is said to have them.
    let run = client.check(json!({ "file": "a.m", "text": "var x" }));
    assert!(run["error"].is_string() && !run["diagnostics"].as_array().unwrap().is_empty());
    client.get("runs", "runs");
}

#[test]
fn events_of_a_run_are_told_from_the_beginning() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let run = client.check(json!({ "file": "a.m" }));
    let response = client.studio.answer(client.request("GET", &format!("runs/{}/events", run["id"]), None));
    let Body::Parts(mut next) = response.body else { panic!("not in parts") };
    let mut told = String::new();
    while let Some(part) = next() {
        told += &String::from_utf8(part).unwrap();
    }
    for event in ["started", "phase", "decided", "over"] {
        assert!(told.contains(&format!("\"event\":\"{event}\"")), "{event}: {told}");
    }
}

#[test]
fn two_checks_run_at_once_others_wait_and_all_are_stopped_soon() {
    let client = Client::with(&[("endless.m", ENDLESS)]);
    let body = || json!({ "file": "endless.m", "memory_mb": 8000 });
    let begin = || client.post("runs", body(), "one_run")["run"]["id"].as_u64().unwrap();
    let (one, two, three) = (begin(), begin(), begin());
    let path = |id: u64| format!("runs/{id}");
    client.wait(&path(one), |run| run["stage"] == "running" && !run["progress"].is_null());
    client.wait(&path(two), |run| run["stage"] == "running");
    assert_eq!(client.get(&path(three), "one_run")["run"]["stage"], "waiting");
    for id in [three, one, two] {
        let asked = Instant::now();
        client.ask("DELETE", &path(id), None, "one_run");
        let run = client.wait(&path(id), |run| run["stage"] == "finished");
        assert_eq!(run["cancelled"], true);
        // Asked for: 500 ms. The gate's machine has three times that.
        assert!(asked.elapsed().as_millis() < 1_500, "{:?}", asked.elapsed());
    }
}

#[test]
fn saved_runs_are_opened_with_their_model() {
    let client = Client::with(&[("deep/german_bug.m", &gallery("murphi/german_bug.m"))]);
    let run = client.check(json!({ "file": "deep/german_bug.m" }));
    let id =
        run["properties"].as_array().unwrap().iter().find_map(|it| it["trace"].as_str()).unwrap().to_string();
    let answer = client.studio.answer(client.request("GET", &format!("traces/{id}/export"), None));
    let Body::Whole(itf) = answer.body else { panic!("parts") };
    std::fs::write(client.folder.path().join("deep/g.itf.json"), itf).unwrap();
    let story = client.get("traces/f%3Adeep%2Fg.itf.json/story?level=2", "trace");
    assert_eq!(story["file"], "deep/german_bug.m");
    assert!(story["arrows"].as_array().unwrap().iter().any(|arrow| arrow["kind"] == "in flight"));
    assert_eq!(client.refused("GET", "traces/f%3Amissing.itf.json/story", None).0, 404);
    assert_eq!(client.refused("GET", "traces/9.9/story", None).0, 404);
}

#[test]
fn what_can_happen_is_shown_by_a_run() {
    let text = format!("{COUNTER}cover \"top\" x = 4;\nctl \"may be two\" EF x = 2;\n");
    let client = Client::with(&[("a.m", &text)]);
    let run = client.check(json!({ "file": "a.m", "all": true }));
    for (name, steps) in [("top", 4), ("may be two", 2)] {
        let property = run["properties"].as_array().unwrap().iter().find(|it| it["name"] == name).unwrap();
        assert_eq!(property["verdict"], "holds", "{property}");
        let id = property["witness"].as_str().unwrap();
        let story = client.get(&format!("traces/{id}/story"), "trace");
        assert_eq!((&story["steps"], &story["violated"]), (&json!(steps), &json!(null)));
        client.get(&format!("traces/{id}/rows/1"), "row");
    }
    let small = run["properties"].as_array().unwrap().iter().find(|it| it["name"] == "in range").unwrap();
    assert!(small["witness"].is_null());
}

/// The first run that a check finds.
fn first_trace(client: &Client, file: &str) -> String {
    let run = client.check(json!({ "file": file }));
    let found = run["properties"].as_array().unwrap().iter().find_map(|it| it["trace"].as_str());
    found.unwrap_or_else(|| panic!("{run:#}")).to_string()
}

#[test]
fn two_runs_are_put_beside_each_other() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let bad = first_trace(&client, "a.m");
    // up, down, up: a walk that parts from the run at its second step.
    let good = "p%3A0.0.1.0%3A%3Aa.m";
    let story = client.get(&format!("traces/{good}/story"), "trace");
    assert_eq!((&story["steps"], &story["violated"]), (&json!(3), &json!(null)));
    let both = client.get(&format!("traces/{bad}/compare?with={good}"), "compared");
    assert_eq!(both["aligned"], true);
    let rows: Vec<(Option<u64>, Option<u64>)> = both["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["left"].as_u64(), row["right"].as_u64()))
        .collect();
    assert_eq!(rows.len(), 5, "{rows:?}");
    assert_eq!(rows[..2], [(Some(0), Some(0)), (Some(1), Some(1))]);
    assert!(rows.contains(&(None, Some(2))), "{rows:?}");
    assert_eq!(both["first"], 2);
    let same = client.get(&format!("traces/{bad}/compare?with={bad}"), "compared");
    assert!(same["first"].is_null());
    assert_eq!(client.refused("GET", &format!("traces/{bad}/compare"), None).0, 400);
    assert_eq!(client.refused("GET", "traces/p%3A9.9%3A%3Aa.m/story", None).0, 422);
    assert_eq!(client.refused("GET", "traces/p%3A0%3AN%3Aa.m/story", None).0, 400);
}

#[test]
fn runs_are_followed_made_short_and_kept_as_tests() {
    let client = Client::with(&[("deep/german_bug.m", &gallery("murphi/german_bug.m"))]);
    let id = first_trace(&client, "deep/german_bug.m");
    let writers = client.get(&format!("traces/{id}/writers?place=owned"), "writers");
    assert!(!writers["rows"].as_array().unwrap().is_empty());
    let nothing = client.get(&format!("traces/{id}/writers?place=nowhere"), "writers");
    assert_eq!(nothing["rows"], json!([]));
    let long = client.get(&format!("traces/{id}/story"), "trace")["steps"].as_u64().unwrap();
    let short = client.get(&format!("traces/m%3A{id}/story"), "trace");
    assert!(short["steps"].as_u64().unwrap() <= long && short["violated"].is_object());
    let kept = client.post(&format!("traces/m%3A{id}/keep"), json!({}), "kept");
    assert_eq!(kept["path"], "deep/german_bug.1.itf.json");
    let again = client.post(&format!("traces/{id}/keep"), json!({}), "kept");
    assert_eq!(again["path"], "deep/german_bug.2.itf.json");
    let opened = client.get("traces/f%3Adeep%2Fgerman_bug.1.itf.json/story", "trace");
    assert_eq!(opened["steps"], short["steps"]);
    assert_eq!(client.refused("GET", &format!("traces/m%3Am%3A{id}/story"), None).0, 400);
}

/// The parts of an answer that comes as things happen, until one has a word in it.
fn hear(response: Response, word: &str) -> String {
    let Body::Parts(mut next) = response.body else { panic!("not in parts") };
    let began = Instant::now();
    let mut told = String::new();
    while !told.contains(word) {
        assert!(began.elapsed().as_secs() < 30, "{word} does not come: {told}");
        told += &String::from_utf8(next().unwrap()).unwrap();
    }
    told
}

#[test]
fn what_happens_is_told_to_who_listens() {
    let client = Client::with(&[("a.m", COUNTER), ("b.m", COUNTER)]);
    let listen = |last: Option<&str>| {
        let request = client.request("GET", "events", None);
        client.studio.answer(match last {
            Some(last) => request.header("Last-Event-ID", last),
            None => request,
        })
    };
    let listener = listen(None);
    let run = client.check(json!({ "file": "a.m" }))["id"].clone();
    let told = hear(listener, "\"stage\":\"finished\"");
    let events = |told: &str| -> Vec<serde_json::Value> {
        let lines = told.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    for event in events(&told) {
        client.validate("news", &event);
        assert_eq!((&event["event"], &event["run"]), (&json!("run"), &run), "{event}");
    }
    // Waiting, running, each verdict, over.
    assert!(events(&told).len() >= 4, "{told}");
    // Who comes back is told what was told meanwhile, and nothing twice.
    let ids: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    let again = hear(listen(Some(ids[0])), "\"stage\":\"finished\"");
    assert_eq!(events(&again), events(&told)[1..]);

    let listener = listen(None);
    std::fs::write(client.folder.path().join("b.m"), format!("{COUNTER}-- more\n")).unwrap();
    std::fs::write(client.folder.path().join("new.m"), COUNTER).unwrap();
    std::fs::write(client.folder.path().join("notes.txt"), "nobody asks").unwrap();
    std::fs::remove_file(client.folder.path().join("a.m")).unwrap();
    let told = hear(listener, "files-changed");
    let changed = events(&told).pop().unwrap();
    client.validate("news", &changed);
    assert_eq!(changed["paths"], json!(["a.m", "b.m", "new.m"]));
}

#[test]
fn a_run_that_was_saved_elsewhere_is_sent_and_opened() {
    let client = Client::with(&[("deep/german_bug.m", &gallery("murphi/german_bug.m")), ("a.m", COUNTER)]);
    let id = first_trace(&client, "deep/german_bug.m");
    let answer = client.studio.answer(client.request("GET", &format!("traces/{id}/export"), None));
    let Body::Whole(itf) = answer.body else { panic!("parts") };
    let itf = String::from_utf8(itf).unwrap();
    let sent = client.post("traces", json!({ "itf": itf, "name": "mine.itf.json" }), "uploaded");
    assert_eq!(sent["file"], "deep/german_bug.m");
    let path = format!("traces/{}/story", sent["trace"].as_str().unwrap().replace(':', "%3A"));
    let story = client.get(&path, "trace");
    assert_eq!((&story["steps"], story["violated"].is_object()), (&sent["steps"], true));
    // Some rows of it alone.
    let some = client.get(&format!("{path}?level=0&from=3&to=5"), "trace");
    let rows: Vec<u64> =
        some["blocks"].as_array().unwrap().iter().map(|block| block["last"].as_u64().unwrap()).collect();
    assert_eq!(rows, [3, 4, 5]);
    assert_eq!(client.refused("GET", &format!("{path}?from=x"), None).0, 400);
    // Nothing was written, and nothing that does not fit is kept.
    assert_eq!(client.get("files", "files")["files"].as_array().unwrap().len(), 2);
    for wrong in ["", "{}", "[1"] {
        assert_eq!(client.refused("POST", "traces", Some(json!({ "itf": wrong }))).0, 422, "{wrong:.40}");
    }
    // Of many, the last are kept.
    for _ in 0..8 {
        client.post("traces", json!({ "itf": itf }), "uploaded");
    }
    assert_eq!(client.refused("GET", "traces/u%3A99/story", None).0, 404);
}

#[test]
fn a_step_says_what_made_it_possible() {
    let client = Client::with(&[("german_bug.m", &gallery("murphi/german_bug.m"))]);
    let id = first_trace(&client, "german_bug.m");
    let row = |number: usize| client.get(&format!("traces/{id}/rows/{number}"), "row")["row"].clone();
    assert_eq!(row(0)["because"], json!([]));
    // Nobody has written yet what the first step needs.
    let first = row(1);
    assert!(!first["because"].as_array().unwrap().is_empty());
    assert!(first["because"].as_array().unwrap().iter().all(|it| it["row"] == 0), "{first}");
    // Home takes the request that the step before has put there.
    let second = row(2);
    let asked =
        second["because"].as_array().unwrap().iter().find(|it| it["place"] == "request[client_1]").unwrap();
    assert_eq!((&asked["row"], &asked["value"]), (&json!(1), &json!("WantExclusive")), "{second}");
    for number in 1..=9 {
        let row = row(number);
        let before = |it: &serde_json::Value| it["row"].as_u64().unwrap() < number as u64;
        assert!(row["because"].as_array().unwrap().iter().all(before), "{row}");
    }
}

#[test]
fn expressions_are_judged_as_they_are_typed() {
    let client = Client::with(&[("a.m", COUNTER)]);
    let ask =
        |text: &str| client.post("expression", json!({ "file": "a.m", "expression": text }), "expression");
    assert_eq!((&ask("x < 2")["ok"], &ask("x < 2")["condition"]), (&json!(true), &json!(true)));
    assert_eq!(ask("x + 1")["condition"], false);
    let wrong = ask("x +");
    assert_eq!((&wrong["ok"], &wrong["condition"]), (&json!(false), &json!(null)));
    assert!(!wrong["diagnostics"].as_array().unwrap().is_empty());
    assert_eq!(ask("y")["ok"], false);
}

#[test]
fn rules_say_their_share_of_the_time() {
    let client = Client::with(&[("mutex.m", MUTEX)]);
    let run = client.check(json!({ "file": "mutex.m", "engine": "explicit" }));
    let rules = run["coverage"]["rules"].as_array().unwrap();
    let shares: Vec<f64> = rules.iter().map(|rule| rule["time"].as_f64().unwrap()).collect();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{shares:?}");
}

#[test]
fn what_checks_may_have_is_said_and_kept() {
    let options = OpenOptions { threads: Some(6), memory_mb: Some(600), ..OpenOptions::default() };
    let client = Client::opened(&[("a.m", COUNTER)], options);
    let limits = client.get("info", "info")["limits"].clone();
    assert_eq!(
        (&limits["threads"], &limits["most_memory_mb"], &limits["memory_mb"]),
        (&json!(3), &json!(300), &json!(300))
    );
    assert_eq!(client.refused("POST", "runs", Some(json!({ "file": "a.m", "memory_mb": 301 }))).0, 400);
    client.check(json!({ "file": "a.m", "memory_mb": 300 }));
}
