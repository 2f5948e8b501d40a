//! What is printed and written.

use crate::common::{BROKEN, COUNTER, FAULT, Folder};
use serde_json::Value;

#[test]
fn text_says_the_verdict_the_cause_the_steps_and_what_to_type() {
    let ran = Folder::with(&[("lock.m", BROKEN)]).shoal(&["check", "lock.m"]).expect(1);
    let expected = r#"lock.m: 3 properties, proc = 2 (symmetric: proved), state 2 bits

✗ violated  invariant "at most one is inside"
  conjunct   lock.m:12:51  inside[p] & inside[q]
  because    p = proc_1, q = proc_2
  where      inside[proc_1] = true, inside[proc_2] = true
  trace      2 steps, replayed and confirmed

    0  outside
    1  enter(p = proc_1)  inside[proc_1]: false → true
    2  enter(p = proc_2)  inside[proc_2]: false → true

  shoal trace show lock.1.itf.json

✓ holds     no run-time errors                 proc = 2
✓ holds     no deadlock                        proc = 2
! never fired  rule "never"                               lock.m:10:1

explicit engine, symmetry in proc: 3 states for 4, "#;
    assert!(ran.out.starts_with(expected), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}') && ran.err.is_empty());
}

#[test]
fn colour_only_when_asked_for() {
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    assert!(
        folder.shoal(&["check", "lock.m", "--color", "always"]).out.contains("\u{1b}[1m\u{1b}[31m✗ violated")
    );
    assert!(!folder.shoal(&["check", "lock.m", "--color", "never"]).out.contains('\u{1b}'));
}

#[test]
fn a_sort_that_is_not_symmetric_is_reported_and_the_run_goes_on() {
    let trap = "type t: scalarset(3);\nvar x: t;\nstartstate begin for i: t do x := i; end; end;\n\
                rule true ==> begin for i: t do x := i; end; end;\ninvariant \"defined\" !isundefined(x);\n";
    let folder = Folder::with(&[("trap.m", trap)]);
    let ran = folder.shoal(&["check", "trap.m", "--deadlock", "off"]).expect(0);
    assert!(ran.err.contains("warning[W0001]") && ran.err.contains("trap.m:4:"), "{}", ran.err);
    folder.shoal(&["explain", "trap.m"]).expect(0).says("not proved: a search checks");
    folder.shoal(&["explain", "trap.m", "--model"]).expect(0).says("sort t: 3");
    let quiet = folder.shoal(&["check", "trap.m", "--deadlock", "off", "--no-symmetry"]).expect(0);
    assert_eq!(quiet.err, "");
}

#[test]
fn as_many_verdicts_come_as_the_first_event_says() {
    let accept = "byte y; active proctype B() { do :: atomic { y = 1; accept: y = 0 } od }";
    let assumed = "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end; assume x < 3;\n\
                   invariant \"a\" x < 9; invariant \"b\" x < 8;";
    let folder = Folder::with(&[("accept.pml", accept), ("assumed.m", assumed)]);
    for arguments in [
        ["accept.pml", "--acceptance"].as_slice(),
        &["assumed.m", "--dialect", "rumur"],
        &["assumed.m", "--dialect", "rumur", "--property", "a"],
    ] {
        let events = folder.shoal(&[&["check", "--json"], arguments].concat()).events();
        let of = |name: &str| events.iter().filter(|event| event["event"] == name).count() as u64;
        let started = events.iter().find(|event| event["event"] == "started").unwrap();
        assert_eq!(started["properties"].as_u64(), Some(of("verdict")), "{arguments:?}");
    }
}

#[test]
fn every_json_event_has_a_schema_and_the_last_one_tells_all() {
    let folder = Folder::with(&[("lock.m", BROKEN), ("counter.m", COUNTER), ("bad.m", "var x\n")]);
    let ran = folder.shoal(&["check", "lock.m", "counter.m", "bad.m", "--json"]).expect(2);
    let events = ran.events();
    assert!(events.iter().all(|event| event["schema"] == 1));
    let of = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((of("started"), of("coverage"), of("finished"), of("error")), (2, 2, 1, 1));
    assert!(of("diagnostic") >= 1);
    let last = events.last().unwrap();
    assert_eq!((last["event"].as_str(), last["exit_code"].as_u64()), (Some("finished"), Some(2)));
    assert_eq!(last["errors"][0]["file"], "bad.m");
    for property in last["properties"].as_array().unwrap() {
        for field in ["name", "kind", "verdict", "engine"] {
            assert!(property[field].is_string(), "{field} in {property}");
        }
        for field in ["states", "transitions", "depth", "seconds", "memory_bytes"] {
            assert!(property[field].is_number(), "{field} in {property}");
        }
        assert!(property["scope"].is_object() && property["reductions"].is_array());
    }
    let violated = &last["properties"][0];
    assert_eq!(violated["verdict"], "violated");
    assert_eq!(violated["scope"], serde_json::json!({ "proc": 2 }));
    assert_eq!(violated["trace"], "lock.1.itf.json");
    assert_eq!((violated["states"].as_u64(), violated["states_full"].as_u64()), (Some(3), Some(4)));
    let coverage = events.iter().find(|event| event["event"] == "coverage").unwrap();
    assert_eq!(coverage["never_fired"], serde_json::json!(["never"]));
}

#[test]
fn an_unknown_verdict_has_its_reason_in_json() {
    let folder = Folder::with(&[("counter.m", COUNTER)]);
    let events = folder.shoal(&["check", "counter.m", "--depth", "2", "--json"]).expect(3).events();
    let property = &events.last().unwrap()["properties"][0];
    assert_eq!((property["verdict"].as_str(), property["limit"].as_str()), (Some("unknown"), Some("depth")));
    assert!(property["reason"].as_str().unwrap().contains("depth limit"));
}

#[test]
fn junit_has_a_case_for_each_property() {
    let folder = Folder::with(&[("lock.m", BROKEN), ("counter.m", COUNTER), ("bad.m", "var x\n")]);
    folder.shoal(&["check", "lock.m", "counter.m", "bad.m", "--junit", "report.xml"]).expect(2);
    let text = folder.read("report.xml");
    let document = roxmltree::Document::parse(&text).unwrap();
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!((count("testsuite"), count("failure"), count("error")), (3, 1, 1));
    assert_eq!(count("testcase"), 3 + 3 + 1);
    let failure = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    assert!(failure.attribute("message").unwrap().contains("p = proc_1, q = proc_2"));
    assert!(failure.text().unwrap().contains("enter(p = proc_2)"));
}

#[test]
fn sarif_has_results_with_places_and_code_flows() {
    let folder = Folder::with(&[("lock.m", BROKEN), ("fault.m", FAULT), ("bad.m", "var x\n")]);
    folder.shoal(&["check", "lock.m", "fault.m", "bad.m", "missing.m", "--sarif", "report.sarif"]).expect(2);
    let report: Value = serde_json::from_str(&folder.read("report.sarif")).unwrap();
    assert_eq!(report["version"], "2.1.0");
    let run = &report["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "Shoal");
    let results = run["results"].as_array().unwrap();
    let violated: Vec<&Value> = results.iter().filter(|result| result["ruleId"] == "violated").collect();
    // In the one model two like processes meet; in the other a step is an error, and there is no other: a deadlock too.
    assert_eq!(violated.len(), 3);
    // A flow for each of the two, who take a step each; the start is the first one's.
    let flows = violated[0]["codeFlows"][0]["threadFlows"].as_array().unwrap();
    assert_eq!((flows.len(), &flows[1]["id"]), (2, &Value::from("proc_2")));
    assert_eq!(flows[1]["locations"][0]["executionOrder"], 2);
    let flow = flows[0]["locations"].as_array().unwrap();
    assert_eq!(flow.len(), 2);
    assert!(
        flow[1]["location"]["message"]["text"].as_str().unwrap().contains("inside[proc_1]: false → true")
    );
    let fault = violated[1]["codeFlows"][0]["threadFlows"][0]["locations"].as_array().unwrap();
    assert_eq!(fault.last().unwrap()["location"]["physicalLocation"]["region"]["startLine"], 4);
    let prints: Vec<&Value> = results.iter().map(|it| &it["partialFingerprints"]["shoal/v1"]).collect();
    assert!(prints.iter().all(|print| print.is_string()) && prints[0] != prints[1]);
    // What moves down the file is known again.
    let moved = format!("-- a line\n{BROKEN}");
    let again = Folder::with(&[("lock.m", &moved), ("fault.m", FAULT), ("bad.m", "var x\n")]);
    again.shoal(&["check", "lock.m", "fault.m", "bad.m", "missing.m", "--sarif", "report.sarif"]).expect(2);
    let again: Value = serde_json::from_str(&again.read("report.sarif")).unwrap();
    let again = again["runs"][0]["results"].as_array().unwrap();
    assert!(again.iter().map(|it| &it["partialFingerprints"]["shoal/v1"]).eq(prints));
    for result in results {
        assert!(
            result["message"]["text"].is_string() && result["locations"][0]["physicalLocation"].is_object()
        );
        let known = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert!(known.iter().any(|rule| rule["id"] == result["ruleId"]));
    }
}

#[test]
fn graphs_are_full_or_quotients() {
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    let full = folder.shoal(&["graph", "lock.m", "--format", "aut"]).expect(0);
    assert!(full.out.starts_with("des (0, 8, 4)\n"), "{}", full.out);
    let quotient = folder.shoal(&["graph", "lock.m", "--format", "aut", "--quotient"]).expect(0);
    assert!(quotient.out.starts_with("des (0, 6, 3)\n"), "{}", quotient.out);
    folder.shoal(&["graph", "lock.m", "-o", "lock.dot"]).expect(0);
    assert!(folder.read("lock.dot").contains("label=\"enter(p = proc_1)\""));
}

#[test]
fn a_profile_says_which_rules_took_the_steps() {
    let folder = Folder::with(&[("lock.m", BROKEN)]);
    let ran = folder.shoal(&["check", "lock.m", "--profile", "--threads", "1"]).expect(1);
    let rules = [
        r#"  rule     at          fired  of steps  new states  of fired  of time"#,
        r#"  "enter"  lock.m:7:3      3    50.0 %           2    66.7 %"#,
        r#"  "leave"  lock.m:8:3      3    50.0 %           0     0.0 %"#,
    ];
    for line in rules {
        assert!(ran.out.contains(line), "{}", ran.out);
    }
    let expected = r#"

  levels     1 + 1 + 1
  symmetry   a stored state stands for 1.33 states on average
  state      2 bits packed
  memory     "#;
    assert!(ran.out.contains(expected), "{}", ran.out);
    assert!(ran.out.contains(" bytes per state\n") && ran.out.ends_with(", 1 thread\n"), "{}", ran.out);
    assert!(!folder.shoal(&["check", "lock.m"]).out.contains("profile"));

    let events = folder.shoal(&["check", "lock.m", "--profile", "--json"]).expect(1).events();
    let profile = events.iter().find(|event| event["event"] == "profile").unwrap();
    let counts = |name: &str| -> Vec<u64> {
        profile["rules"].as_array().unwrap().iter().map(|rule| rule[name].as_u64().unwrap()).collect()
    };
    assert_eq!((counts("fired"), counts("fresh")), (vec![3, 3, 0], vec![2, 0, 0]));
    let shares = profile["rules"].as_array().unwrap().iter().map(|rule| rule["time_share"].as_f64().unwrap());
    assert!((shares.sum::<f64>() - 1.0).abs() < 1e-6);
    assert_eq!((&profile["levels"], &profile["state_bits"]), (&serde_json::json!([1, 1, 1]), &2.into()));
    assert!(profile["orbit_compression"].as_f64().unwrap() > 1.3 && profile["compiled"].is_boolean());
    assert!(profile["states_per_second"].is_number() && profile["bytes_per_state"].is_number());
    let without = folder.shoal(&["check", "lock.m", "--json"]).expect(1).events();
    assert!(without.iter().all(|event| event["event"] != "profile"));
}

/// A model of another language as Murphi text has its verdicts; what is left out and who reads it is said.
#[test]
fn promela_comes_out_as_murphi() {
    const PROGRAM: &str =
        "byte x; active proctype p() { x = 3; assert(x == 3); x = x + 1 }\nltl small { [] (x < 9) }\n";
    let folder = Folder::with(&[("p.pml", PROGRAM)]);
    let exported = folder.shoal(&["export", "p.pml", "--to", "murphi", "-o", "p.m"]).expect(0);
    for said in [
        "left out: ltl",
        "shoal check --deadlock stuck, rumur --deadlock-detection stuck",
        "CMurphi does not",
    ] {
        assert!(exported.err.contains(said), "{}", exported.err);
    }
    folder.shoal(&["check", "p.m", "--deadlock", "stuck"]).expect(0);
    let asked = folder.shoal(&["export", "p.pml", "--to", "murphi", "--property", "x"]).expect(2);
    assert!(asked.err.contains("Murphi text asks all"), "{}", asked.err);
}
