//! What is undefined comes into the state by many ways. States have no room for it where it cannot come, so each way must be seen.

use shoal::{CheckOptions, LoadOptions, Verdict, check, load_text};
use shoal_interpret::explore;
use shoal_model::Quiet;

/// Whether the invariant "defined" of a model is violated: the explicit engine must say what the interpreter finds, in as many states.
fn is_violated(text: &str) -> bool {
    let loaded =
        load_text("model.m", text, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut properties = loaded.model.properties.enumerate();
    let (defined, _) = properties.find(|(_, property)| property.name == "defined").unwrap();
    let found = explore(&loaded.model, 10_000).unwrap();
    assert!(found.complete);
    let violated = found.violated.contains_key(&defined);
    for (jit, threads) in [(true, 1), (false, 1), (true, 2)] {
        let options = CheckOptions { jit, threads, symmetry: false, ..CheckOptions::default() };
        let report = check(&loaded, &options, &mut Quiet).unwrap();
        assert_eq!(report.outcome.statistics.states, found.states as u64, "{text}");
        let result = report.outcome.results.iter().find(|result| result.property == defined).unwrap();
        assert_eq!(matches!(result.verdict, Verdict::Violated(_)), violated, "{text}");
    }
    violated
}

/// Whether rules may make a part of the variable `v` undefined.
fn comes(declared: &str, rules: &str) -> bool {
    is_violated(&format!(
        "type Pair: record a: 0..1; b: 0..1; end;
         var v: Pair; {declared}
         {rules}
         startstate begin v.a := 0; v.b := 0; end;
         invariant \"defined\" !isundefined(v.b);"
    ))
}

#[test]
fn out_of_a_multiset() {
    let net = "net: multiset[2] of Pair;";
    let take =
        "choose i: net do rule \"take\" begin v := net[i]; multisetremovepred(j: net, true); end; end;";
    let send = |how: &str| {
        format!(
            "rule \"send\" multisetcount(i: net, true) < 2 ==> var m: Pair; begin {how} multisetadd(m, net); end; {take}"
        )
    };
    assert!(comes(net, &send("undefine m; m.a := 1;")));
    assert!(comes(net, &send("m.a := 1;")));
    assert!(!comes(net, &send("m.a := 1; m.b := 1;")));
    assert!(comes(net, &send("m.a := 1; m.b := 1; if v.a = 0 then undefine m; m.a := 1; end;")));
}

#[test]
fn through_references() {
    let procedure = "procedure give(var p: Pair); begin p.a := 1; end;";
    let rule = |how: &str| format!("{procedure} rule \"r\" var m: Pair; begin {how} v := m; end;");
    assert!(comes("", &rule("give(m);")));
    assert!(!comes("", &rule("m.b := 0; give(m);")));
    let forget = "procedure forget(var p: Pair); begin undefine p; p.a := 1; end;";
    assert!(comes("", &format!("{forget} rule \"r\" begin forget(v); end;")));
    // An alias sees what becomes of what it stands for.
    let alias = "rule \"r\" var m: Pair; begin m.a := 1; m.b := 1;
                 alias x: m do undefine m; m.a := 0; v.a := x.a; v := x; end; end;";
    assert!(comes("", alias));
}

#[test]
fn out_of_loops_and_results() {
    let rounds = "rule \"r\" var m: Pair; begin m.a := 0; m.b := 1;
                  for i: 0..1 do v := m; undefine m; m.a := 1; end; end;";
    assert!(comes("", rounds));
    let result = |how: &str| {
        format!("function f(): Pair; var m: Pair; begin {how} return m; end; rule \"r\" begin v := f(); end;")
    };
    assert!(comes("", &result("m.a := 1;")));
    assert!(!comes("", &result("m.a := 1; m.b := 0;")));
}

#[test]
fn by_what_starts_put_into_multisets() {
    let text = |how: &str| {
        format!(
            "type Pair: record a: 0..1; b: 0..1; end;
             var v: Pair; net: multiset[2] of Pair;
             startstate var m: Pair; begin v.a := 0; v.b := 0; {how} multisetadd(m, net); end;
             choose i: net do rule \"take\" begin v := net[i]; end; end;
             invariant \"defined\" !isundefined(v.b);"
        )
    };
    assert!(is_violated(&text("m.a := 1;")));
    assert!(!is_violated(&text("m.a := 1; m.b := 0;")));
}
