//! Saved traces, and walks.

use std::{fs, path::Path};

use crate::common::{BROKEN, COUNTER, FAULT, Folder};

#[test]
fn a_trace_is_saved_shown_replayed_and_converted() {
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    folder.shoal(&["check", "lock.m"]).expect(1);
    let shown = folder.shoal(&["trace", "show", "lock.1.itf.json"]).expect(0);
    assert!(shown.out.contains("2  enter(p = proc_2)  inside[proc_2]: false → true"), "{}", shown.out);
    folder.shoal(&["trace", "show", "lock.1.itf.json", "--positions"]).expect(0).says("at lock.m:7:3");
    let full = folder.shoal(&["trace", "show", "lock.1.itf.json", "--full"]).expect(0);
    full.says("inside = [proc_1: true, proc_2: true]");
    folder.shoal(&["trace", "replay", "lock.1.itf.json"]).expect(1).says("as the trace says");
    let text = folder.shoal(&["trace", "convert", "lock.1.itf.json", "--to", "json"]).expect(0).out;
    let steps: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(steps[2]["changes"][0]["place"], "inside[proc_2]");
    folder.shoal(&["trace", "convert", "lock.1.itf.json", "--to", "dot", "-o", "t.dot"]).expect(0);
    assert!(folder.read("t.dot").starts_with("digraph"));
}

/// Objects have names that stay, and it is said where each was made: in text, in JSON and in saved traces.
#[test]
fn objects_are_named_by_where_they_were_made() {
    let model = "typedef Node { byte key; Node &next }
Node &top;
init { Node &n;
  n = new Node; n.key = 1; top = n;
  atomic { n = new Node; n.next = top; top = new Node };
  delete n; n.key = 2 }
";
    let folder = Folder::with(&[("stack.dpml", model)]);
    let ran = folder.shoal(&["check", "stack.dpml"]).expect(1);
    let ran = ran
        .says("a reference to a deleted element is followed")
        .says("Node#1 created at stack.dpml:4:3, step 1");
    ran.says("Node#2 created at stack.dpml:5:12, step 4").says("Node#3 created at stack.dpml:5:40, step 4");
    let saved: serde_json::Value = serde_json::from_str(&folder.read("stack.1.itf.json")).unwrap();
    let objects = &saved["#meta"]["objects"];
    assert_eq!(objects[1]["name"], "Node#2");
    assert_eq!(objects[2]["position"], "stack.dpml:5:40");
    assert_eq!(objects[2]["step"], 4);
    let events = folder.shoal(&["check", "stack.dpml", "--json", "--trace", "none"]).expect(1).events();
    let violated = events.iter().find(|event| event["verdict"] == "violated").unwrap();
    assert_eq!(violated["objects"][0]["name"], "Node#1");
    assert_eq!(violated["objects"].as_array().unwrap().len(), 3);
    folder.shoal(&["trace", "replay", "stack.1.itf.json"]).expect(1).says("as the trace says");
}

#[test]
fn the_options_of_the_run_are_kept_in_the_trace() {
    let model = COUNTER.replace("x <= LAST", "x < 20");
    let folder = Folder::with(&[("counter.m", &model)]);
    folder.shoal(&["check", "counter.m", "--set", "LAST=25", "--trace", "out.itf.json"]).expect(1);
    folder.shoal(&["trace", "replay", "out.itf.json"]).expect(1).says("after 20 steps");
}

#[test]
fn faults_replay_too() {
    let folder = Folder::with(&[("fault.m", FAULT)]);
    folder.shoal(&["check", "fault.m"]).expect(1);
    folder.shoal(&["trace", "replay", "fault.1.itf.json"]).expect(1).says("a value is outside the range");
}

#[test]
fn several_traces_get_several_names_and_none_means_none() {
    let model = COUNTER.to_string() + "invariant \"a\" x != 2;\ninvariant \"b\" x != 3;\n";
    let folder = Folder::with(&[("counter.m", &model)]);
    let files = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.ends_with(".json"));
        names.sort();
        names
    };
    folder.shoal(&["check", "counter.m", "--trace", "none"]).expect(1);
    assert!(files().is_empty());
    folder.shoal(&["check", "counter.m", "--trace", "t.json"]).expect(1);
    assert_eq!(files(), ["t.2.json", "t.json"]);
    folder.shoal(&["check", "counter.m", "--first"]).expect(1).says("stopped at the violation");
    assert_eq!(files(), ["counter.1.itf.json", "t.2.json", "t.json"]);
    folder
        .shoal(&["check", "counter.m", "--trace", "no/such/folder/t.json"])
        .expect(1)
        .says("cannot be saved");
}

/// Still violated, no longer violated, of another model: a saved trace is a test of the model.
#[test]
fn a_replay_has_three_outcomes() {
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    folder.shoal(&["check", "lock.m"]).expect(1);
    let change = |from: &str, to: &str| {
        assert!(BROKEN.contains(from));
        fs::write(folder.path().join("lock.m"), BROKEN.replace(from, to)).unwrap();
        folder.shoal(&["trace", "replay", "lock.1.itf.json"])
    };
    change("rule \"never\" false", "\n\nrule \"never\" 1 = 2").expect(1).says("as the trace says");

    let gone = |from: &str, to: &str| change(from, to).expect(0).says("✓ no longer violated");
    gone("!inside[p] ==>", "!inside[p] & forall q: proc do !inside[q] end ==>")
        .says("step 2 does not happen: its guard does not hold");
    gone(
        "begin inside[p] := true;",
        "begin inside[p] := true; for q: proc do if q != p then inside[q] := false; end; end;",
    )
    .says("step 2 does not happen: it leads to another state")
    .says("in the trace → now  inside[proc_1]: true → false");
    gone("!(inside[p] & inside[q])", "(inside[p] | !inside[p])")
        .says("the condition holds in the last state");

    let other = |from: &str, to: &str| change(from, to).expect(2);
    other("\"enter\"", "\"go in\"").says("the trace does not fit the model").says("the model has changed");
    other("inside: array", "within: array").says("error");
    other("at most one is inside", "mutex").says("the trace does not fit the model").says("no property");
    other("startstate", "startstat").says("error");
}

/// What a walk finds is saved with it.
#[test]
fn a_walk_keeps_its_violation() {
    let folder = Folder::with(&[("fault.m", FAULT), ("lock.m", BROKEN)]);
    folder.shoal(&["sim", "lock.m", "--seed", "1", "--steps", "200", "--trace", "w.json"]).expect(1);
    folder
        .shoal(&["trace", "replay", "w.json"])
        .expect(1)
        .says("\"at most one is inside\"")
        .says("as the trace says");
    folder.shoal(&["trace", "show", "w.json"]).expect(0).says("✗ violated");
    folder.shoal(&["sim", "fault.m", "--seed", "1", "--trace", "f.json"]).expect(1);
    folder.shoal(&["trace", "replay", "f.json"]).expect(1).says("a value is outside the range");
    folder.shoal_with_input(&["sim", "-i", "lock.m", "--trace", "i.json"], "1\n1\n").expect(1);
    folder.shoal(&["trace", "replay", "i.json"]).expect(1).says("as the trace says");
}

/// An infinite run leads back in its picture.
#[test]
fn the_picture_of_an_infinite_run_has_its_loop() {
    let model = COUNTER.to_string() + "ltl \"stays\" <> [] x = 0;\n";
    let folder = Folder::with(&[("counter.m", &model)]);
    folder.shoal(&["check", "counter.m"]).expect(1);
    let dot = folder.shoal(&["trace", "convert", "counter.1.itf.json", "--to", "dot"]).expect(0).out;
    let back = dot.lines().filter_map(|line| line.trim().strip_prefix('s')?.split_once(" -> s"));
    let number = |text: &str| text.split(' ').next().unwrap().parse::<usize>().unwrap();
    assert!(back.map(|(from, to)| (number(from), number(to))).any(|(from, to)| to <= from), "{dot}");
}

/// Names may hold anything: what is shown does nothing.
#[test]
fn no_name_acts_on_the_terminal() {
    let model = "var x: 0..3;\nstartstate \"s\u{1b}[2J\" begin x := 0; end;\n\
        rule \"up\u{1b}]0;t\u{7}\u{9b}\u{202e}\" true ==> begin put \"\u{1b}[1m\"; x := x + 1; end;\n\
        invariant \"odd\u{8}\u{1}\" x < 2;\n";
    let folder = Folder::with(&[("odd.m", model)]);
    let calls: [&[&str]; 9] = [
        &["check", "odd.m"],
        &["check", "odd.m", "--quiet"],
        &["check", "odd.m", "--json"],
        &["check", "odd.m", "--profile"],
        &["sim", "odd.m", "--seed", "1"],
        &["explain", "odd.m"],
        &["trace", "show", "odd.1.itf.json"],
        &["trace", "replay", "odd.1.itf.json"],
        &["graph", "odd.m", "--format", "dot"],
    ];
    let acts = |text: &str| text.chars().any(|it| it.is_control() && it != '\n' || it == '\u{202e}');
    for call in calls {
        let ran = folder.shoal(call);
        assert!(ran.code.is_some_and(|code| code < 2), "{call:?}: {}", ran.err);
        assert!(!acts(&ran.out) && !acts(&ran.err), "{call:?}: {:?} {:?}", ran.out, ran.err);
        // Colours are ours; nothing else is let through.
        let coloured = folder.shoal(&[&["--color", "always"], call].concat());
        let plain =
            coloured.out.split("\u{1b}[").map(|part| part.split_once('m').map_or(part, |(_, rest)| rest));
        assert!(!acts(&plain.collect::<String>()), "{call:?}: {:?}", coloured.out);
    }
    for call in [&["graph", "odd.m", "--format", "svg"][..], &["graph", "odd.m", "--format", "aut"]] {
        assert!(!acts(&folder.shoal(call).expect(0).out), "{call:?}");
    }
    let svg = folder.shoal(&["graph", "odd.m", "--format", "svg"]).expect(0).out;
    roxmltree::Document::parse(&svg).unwrap();
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_and_no_file_of_others_replaced() {
    let folder = Folder::with(&[("lock.m", BROKEN), ("notes.txt", "precious")]);
    let notes = folder.path().join("notes.txt");
    std::os::unix::fs::symlink(&notes, folder.path().join("lock.1.itf.json")).unwrap();
    std::os::unix::fs::symlink(&notes, folder.path().join("link")).unwrap();
    // The verdict stands, the trace does not.
    folder.shoal(&["check", "lock.m"]).expect(1).says("the trace cannot be saved");
    for to in ["link", "notes.txt"] {
        folder.shoal(&["check", "lock.m", "--trace", to]).expect(1).says("the trace cannot be saved");
        folder.shoal(&["check", "lock.m", "--trace", "none", "--junit", to]).expect(2);
        folder.shoal(&["check", "lock.m", "--trace", "none", "--sarif", to]).expect(2);
        folder.shoal(&["graph", "lock.m", "-o", to]).expect(2);
        folder.shoal(&["sim", "lock.m", "--seed", "1", "--steps", "1", "--trace", to]).expect(2);
        assert_eq!(folder.read("notes.txt"), "precious");
    }
    for _ in 0..2 {
        folder
            .shoal(&["check", "lock.m", "--trace", "t.json", "--junit", "j.xml", "--sarif", "s.json"])
            .expect(1);
        folder.shoal(&["graph", "lock.m", "-o", "g.dot"]).expect(0);
    }
    let said =
        folder.shoal(&["check", "lock.m", "--quiet", "--trace", "none", "--junit", "/dev/stdout"]).expect(1);
    assert!(said.out.contains("<testsuites"), "{}", said.out);
}

#[test]
fn files_that_are_no_traces_are_refused() {
    let folder = Folder::with(&[
        ("empty.json", ""),
        ("cut.json", "{\"states\": ["),
        ("list.json", "[]"),
        ("none.json", "{\"states\": []}"),
        ("odd.json", "{\"states\": [1, 2]}"),
    ]);
    for name in ["empty.json", "cut.json", "list.json", "none.json", "odd.json", "missing.json"] {
        folder.shoal(&["trace", "show", name]).expect(2).says(name);
        folder.shoal(&["trace", "replay", name, "lock.m"]).expect(2);
    }
}

#[test]
fn mangled_traces_never_crash() {
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    folder.shoal(&["check", "lock.m"]).expect(1);
    let good = folder.read("lock.1.itf.json");
    let mangled = [
        good.replace("\"rule\": 0", "\"rule\": 99"),
        good.replace("\"element\": 0", "\"element\": 77"),
        good.replace("\"proc\"", "\"prok\""),
        good.replace("true\n", "{\"#bigint\": \"7\"}\n"),
        good.replace("\"start\": 0", "\"start\": -1"),
        good.replace("#map", "#mop"),
        good.replace("condition-false", "deadlock"),
        good.replace("\"delay\": \"0\"", "\"delay\": \"1/0\""),
    ];
    for text in mangled {
        assert_ne!(text, good);
        fs::write(folder.path().join("bad.json"), text).unwrap();
        folder.shoal(&["trace", "show", "bad.json"]).expect(0);
        folder.shoal(&["trace", "replay", "bad.json"]).expect(2);
    }
}

#[test]
fn traces_of_other_tools_can_be_shown() {
    let other = r##"{ "vars": ["x", "s"], "states": [
        { "x": 1, "s": { "#set": [1, 2] } }, { "x": { "#bigint": "2" }, "s": { "#set": [1, 2] } } ] }"##;
    let folder = Folder::with(&[("other.itf.json", other), ("lock.m", BROKEN)]);
    folder.shoal(&["trace", "show", "other.itf.json"]).expect(0).says("x: 1 → 2");
    folder.shoal(&["trace", "replay", "other.itf.json"]).expect(2).says("does not name its model");
    folder
        .shoal(&["trace", "replay", "other.itf.json", "lock.m"])
        .expect(2)
        .says("only traces made by Shoal");
    // Nobody takes part by name: one lane for all.
    folder.shoal(&["trace", "show", "other.itf.json", "--as", "lanes"]).expect(0).says("x 1 → 2");
}

/// Who takes part is read off the states where there is no model: of other tools, or because it is gone.
#[test]
fn runs_without_their_model_have_lanes() {
    let state = |one: &str, two: &str, inbox: &str| {
        format!(
            "{{ \"pc\": {{ \"#map\": [[\"n1\", \"{one}\"], [\"n2\", \"{two}\"]] }}, \"inbox\": {{ \"#map\": [[\"n1\", []], [\"n2\", [{inbox}]]] }} }}"
        )
    };
    let states =
        [state("idle", "idle", ""), state("sent", "idle", "\"hello\""), state("sent", "greeted", "")];
    let other = format!("{{ \"states\": [{}] }}", states.join(", "));
    let folder = Folder::with(&[("other.itf.json", &other), ("lock.m", BROKEN)]);
    let lanes = folder.shoal(&["trace", "show", "other.itf.json", "--as", "lanes"]).expect(0);
    lanes
        .says("n1")
        .says("hello ─▶ n2")
        .says("◀─ n1: hello")
        .says("pc idle → greeted")
        .says("from the file alone");
    folder
        .shoal(&["trace", "convert", "other.itf.json", "--to", "mermaid"])
        .expect(0)
        .says("sequenceDiagram");
    folder.shoal(&["trace", "show", "other.itf.json", "--html", "other.html"]).expect(0);
    assert!(folder.read("other.html").contains("hello") && !folder.read("other.html").contains("replayed"));
    folder.shoal(&["trace", "minimise", "other.itf.json"]).expect(2).says("its model is not here");
    // One of ours says who its parts are.
    folder.shoal(&["check", "lock.m"]).expect(1);
    let known = folder.shoal(&["trace", "show", "lock.1.itf.json", "--as", "lanes"]).expect(0).out;
    fs::remove_file(folder.path().join("lock.m")).unwrap();
    let alone = folder.shoal(&["trace", "show", "lock.1.itf.json", "--as", "lanes"]).expect(0).out;
    for lane in ["proc_1", "proc_2"] {
        assert!(known.contains(lane) && alone.contains(lane), "{known}\n{alone}");
    }
}

#[test]
fn a_walk_is_the_same_for_the_same_seed_and_replays() {
    let folder = Folder::with(&[("counter.m", COUNTER)]);
    let walk = |seed: &str| {
        folder.shoal(&["sim", "counter.m", "--seed", seed, "--steps", "7", "--trace", "w.json"]).expect(0).out
    };
    assert_eq!(walk("5"), walk("5"));
    assert!(walk("5").contains("  7  up"), "{}", walk("5"));
    folder.shoal(&["trace", "replay", "w.json"]).expect(0).says("7 steps");
}

#[test]
fn a_walk_ends_at_a_violation() {
    let folder = Folder::with(&[("fault.m", FAULT), ("lock.m", BROKEN)]);
    folder.shoal(&["sim", "fault.m", "--seed", "1"]).expect(1).says("a value is outside the range");
    folder.shoal(&["sim", "lock.m", "--seed", "1", "--steps", "200"]).expect(1).says("at most one is inside");
}

#[test]
fn stepping_by_hand_reads_commands() {
    let folder = Folder::with(&[("lock.m", BROKEN), ("counter.m", COUNTER)]);
    let ran = folder.shoal_with_input(&["sim", "-i", "lock.m"], "1\ns\nb\n2\nx\n99\n?\nq\n").expect(0);
    assert!(ran.out.contains("1) enter(p = proc_1)"), "{}", ran.out);
    assert!(ran.out.contains("inside[proc_1] = true"), "{}", ran.out);
    assert!(ran.out.contains("inside[proc_2]: false → true"), "{}", ran.out);
    assert!(ran.out.contains("there is no move \"x\"") && ran.out.contains("there is no move \"99\""));
    assert!(ran.out.contains("take the last move back"));
    folder.shoal_with_input(&["sim", "-i", "lock.m"], "1\n1\n").expect(1).says("✗ violated");
    folder
        .shoal_with_input(&["sim", "-i", "lock.m"], "b\nb\nb\nr x\n")
        .expect(0)
        .says("this is the beginning");
}

/// A message that is sent and never taken, with names that a page could mistake for its own.
const HOSTILE: &str = "
    type proc: scalarset(2); word: enum { None, Ask };
    var mail: array [proc] of word; seen: boolean; heard: 0..2; asked: array [proc] of boolean;
    startstate begin seen := false; heard := 0; for p: proc do mail[p] := None; asked[p] := false; end; end;
    ruleset p: proc do
      rule \"client <script>alert(1)</script> asks\" !asked[p] ==> begin asked[p] := true; mail[p] := Ask; end;
      rule \"server takes; end\" mail[p] = Ask & !seen ==> begin mail[p] := None; seen := true; heard := heard + 1; end;
    end;
    invariant \"nobody </title> is heard\" !(seen & forall p: proc do asked[p] end);
";

#[test]
fn a_run_is_told_in_lanes_in_diagrams_and_on_a_page() {
    let folder = Folder::with(&[("mail.m", HOSTILE)]);
    folder.shoal(&["check", "mail.m", "--first", "--html", "pages"]).expect(1);
    let lanes =
        folder.shoal(&["trace", "show", "mail.1.itf.json", "--as", "lanes", "--width", "100"]).expect(0);
    let lanes = lanes.says("Ask ─▶ ").says("◀─ proc_");
    assert!(lanes.out.lines().all(|line| line.chars().count() <= 110), "{}", lanes.out);
    let narrow =
        folder.shoal(&["trace", "show", "mail.1.itf.json", "--as", "lanes", "--width", "40"]).expect(0);
    narrow.says("proc_1");
    let shown = ["trace", "show", "mail.1.itf.json", "--as", "lanes", "--lanes"];
    let one = folder.shoal(&[&shown[..], &["proc_1"]].concat()).expect(0).says("Ask ─▶ ");
    assert!(!one.out.lines().any(|line| line.trim_start().starts_with("proc_2")), "{}", one.out);
    folder.shoal(&[&shown[..], &["proc_9"]].concat()).expect(2).says("there is no lane proc_9");
    folder
        .shoal(&["check", "mail.m", "--first", "--show", "lanes", "--trace", "none"])
        .expect(1)
        .says("Ask ─▶ ");
    let mermaid = folder.shoal(&["trace", "convert", "mail.1.itf.json", "--to", "mermaid"]).expect(0).out;
    assert!(mermaid.starts_with("sequenceDiagram") && mermaid.contains("->>"), "{mermaid}");
    assert!(!mermaid.contains("<script"), "{mermaid}");
    let plant = folder.shoal(&["trace", "convert", "mail.1.itf.json", "--to", "plantuml"]).expect(0).out;
    assert!(plant.starts_with("@startuml") && plant.trim_end().ends_with("@enduml"), "{plant}");

    folder.shoal(&["trace", "show", "mail.1.itf.json", "--html", "run.html"]).expect(0);
    for page in ["run.html", "pages/index.html", "pages/mail.1.html"] {
        let text = folder.read(page);
        assert!(text.starts_with("<!DOCTYPE html>") && text.trim_end().ends_with("</html>"), "{page}");
        assert!(!text.contains("<script") && text.contains("default-src 'none'"), "{page}");
        assert_eq!(text.matches("</title>").count(), text.matches("<title>").count(), "{page}");
    }
    // The same run is the same page, and a page of ours may be written again.
    let first = folder.read("run.html");
    folder.shoal(&["trace", "show", "mail.1.itf.json", "--html", "run.html"]).expect(0);
    assert_eq!(first, folder.read("run.html"));
    // With the date, or without the model.
    assert!(first.contains("startstate begin") && !first.contains(" UTC</p>"), "{first}");
    let again = |more: &[&str]| {
        folder
            .shoal(&[&["trace", "show", "mail.1.itf.json", "--html", "run.html"][..], more].concat())
            .expect(0);
        folder.read("run.html")
    };
    assert!(again(&["--stamp"]).contains(" UTC</p>"));
    let bare = again(&["--no-source"]);
    assert!(!bare.contains("startstate begin") && bare.contains("<svg"), "{bare}");
    folder.shoal(&["check", "mail.m", "--first", "--html", "pages", "--stamp", "--no-source"]).expect(1);
    for page in ["pages/index.html", "pages/mail.1.html"] {
        let text = folder.read(page);
        assert!(text.contains(" UTC</p>") && !text.contains("startstate begin"), "{page}");
    }
    folder.shoal(&["trace", "show", "mail.1.itf.json", "--stamp"]).expect(2).says("--html");
}

/// An address that others reach is opened only where that is said.
#[test]
fn the_workbench_listens_elsewhere_only_where_that_is_said() {
    let folder = Folder::with(&[("mail.m", HOSTILE)]);
    folder.shoal(&["studio", ".", "--bind", "0.0.0.0"]).expect(2).says("--allow-remote");
    folder.shoal(&["studio", ".", "--bind", "everywhere"]).expect(2);
}

/// A walk that met a violation by chance is left with what it needs, and what is left replays.
#[test]
fn walks_are_made_short() {
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    // One that is long: the shortest has two steps.
    let seed = (1..60).find(|seed| {
        let seed = seed.to_string();
        let walk = ["sim", "lock.m", "--seed", &seed, "--steps", "200", "--trace", "walk.itf.json"];
        folder.shoal(&walk);
        let saved: serde_json::Value = serde_json::from_str(&folder.read("walk.itf.json")).unwrap();
        saved["#meta"]["status"] == "violation" && saved["states"].as_array().unwrap().len() > 4
    });
    assert!(seed.is_some(), "no walk is long");
    folder.shoal(&["trace", "minimise", "walk.itf.json"]).expect(0).says("2 steps of");
    folder
        .shoal(&["trace", "replay", "walk.min.itf.json"])
        .expect(1)
        .says("after 2 steps, as the trace says");
    folder.shoal(&["sim", "lock.m", "--seed", "1", "--steps", "0", "--trace", "none.itf.json"]);
    folder.shoal(&["trace", "minimise", "none.itf.json"]).expect(2).says("shows no violation");
}

/// That no run stays in B takes more to see than the interpreter looks at: that is no mistake of ours.
#[test]
fn a_run_that_is_not_confirmed_is_not_made_shorter() {
    let model = "clock x, y, z;
        process P() { state A { x <= 90 }, B; init A; trans A -> A { guard x >= 40; assign x := 0; },
          A -> A { guard y >= 70; assign y := 0; }, A -> B { guard z >= 50; assign z := 0; }, B -> A { }; } system P;";
    let folder = Folder::with(&[("slow.xta", model), ("slow.q", "E[] P.B")]);
    folder.shoal(&["check", "slow.xta"]).expect(1);
    folder.shoal(&["trace", "minimise", "slow.1.itf.json"]).expect(3);
}

#[test]
fn a_trace_is_a_table_and_keeps_who_is_to_blame() {
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    folder.shoal(&["check", "lock.m"]).expect(1);
    let table = folder.shoal(&["trace", "show", "lock.1.itf.json", "--as", "table"]).expect(0).out;
    let line = |start: &str| {
        table.lines().find(|line| line.trim_start().starts_with(start)).unwrap_or_default().to_string()
    };
    assert!(
        line("inside[").contains("inside[proc_1]") && line("inside[").contains("inside[proc_2]"),
        "{table}"
    );
    assert_eq!(line("2 ").split_whitespace().collect::<Vec<_>>(), ["2", "true", "true"], "{table}");
    folder.shoal(&["check", "lock.m", "--show", "table"]).expect(2).says("--as table");
    let saved: serde_json::Value = serde_json::from_str(&folder.read("lock.1.itf.json")).unwrap();
    assert!(saved["#meta"]["blame"][0]["text"].is_string(), "{saved:#}");
    assert!(saved["#meta"]["lanes"].as_array().unwrap().contains(&"proc_1".into()), "{saved:#}");
    assert_eq!(saved["states"][1]["#meta"]["lane"], "proc_1", "{saved:#}");
}

/// Lines of a run that is told in short, with all that stands above it, at the widths of terminals.
fn glances(folder: &Folder, trace: &str) -> Vec<usize> {
    let shown = |width: &&str| {
        let args = ["trace", "show", trace, "--as", "lanes", "--level", "2", "--width", width];
        folder.shoal(&args).expect(0).out.lines().count()
    };
    ["80", "100", "150"].iter().map(shown).collect()
}

/// A run that is told in short is taken in at a glance, in every language and on every terminal.
#[test]
fn a_run_in_short_fits_a_screen() {
    for model in [
        "murphi/german_bug.m",
        "murphi/dining_bug.m",
        "promela/lost_update.pml",
        "heap/use_after_free.dpml",
        "sgm/fischer_bug.vpl",
        "red/mcs_bug.red",
        "beacon/rockall_bug.bp",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(model);
        let folder = Folder::with(&[("empty", "")]);
        folder.shoal(&["check", path.to_str().unwrap(), "--first", "--trace", "run.itf.json"]).expect(1);
        let lines = glances(&folder, "run.itf.json");
        assert!(lines.iter().all(|lines| *lines <= 25), "{model}: {lines:?}");
    }
}

/// Steps of one part that follow each other are told by what they leave behind, what is shared with whose steps they are, and that
/// processes begin is not told.
#[test]
fn a_turn_is_told_by_what_it_leaves_behind() {
    let model = "byte total; bit busy;
proctype adder() { byte own;
  busy = 1; own = total; own = own + 1; own = own + 1; total = own; busy = 0; own = 0;
  assert(total < 2) }
init { run adder() }
";
    let folder = Folder::with(&[("adder.pml", model)]);
    folder.shoal(&["check", "adder.pml", "--first"]).expect(1);
    let shown = folder
        .shoal(&["trace", "show", "adder.1.itf.json", "--as", "lanes", "--level", "2", "--width", "100"])
        .expect(0)
        .says("total 0 → 2");
    assert!(!shown.out.contains("busy") && !shown.out.contains("run adder"), "{}", shown.out);
}

/// Counterexamples of models of others that nobody understood in a minute.
#[test]
#[allow(clippy::print_stderr)]
fn hard_runs_in_short_fit_a_screen() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    if !corpus.is_dir() {
        eprintln!("skipped: no corpus");
        return;
    }
    for model in [
        "promela/nimble-code+Spin/Examples/snoopy.pml",
        "promela/nimble-code+Spin/Examples/hajek.pml",
        "promela/utwente-fmt+spins/tests/case_studies/giop/giop1.pr",
        "murphi/Smattr+rumur/misc/pending-queue-4k.m",
        "murphi/civic-fv+romp/tests/heterogen/ruMI_werror.m",
    ] {
        let path = corpus.join(model);
        let folder = Folder::with(&[("empty", "")]);
        folder.shoal(&["check", path.to_str().unwrap(), "--first", "--trace", "run.itf.json"]).expect(1);
        let lines = glances(&folder, "run.itf.json");
        assert!(lines.iter().all(|lines| *lines <= 25), "{model}: {lines:?}");
    }
}
