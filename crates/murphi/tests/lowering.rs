//! What the front end makes of source text: the printed model, and the messages for what is wrong.

use shoal_model::{Model, print_model};
use shoal_murphi::{Dialect, Options, load};
use shoal_syntax::{Diagnostics, SourceMap};

fn try_load(text: &str, options: &Options) -> (Option<Model>, Diagnostics) {
    let mut sources = SourceMap::new();
    let id = sources.add("test.m", text);
    load(&sources, id, options)
}

fn printed(text: &str, dialect: Dialect) -> String {
    let (model, diagnostics) = try_load(text, &Options { dialect, ..Options::default() });
    print_model(&model.unwrap_or_else(|| panic!("{diagnostics:?}")))
}

/// The lines that the body of the only rule `r` has in the printed form, with its head.
fn rule_lines(declarations: &str, rule: &str, dialect: Dialect) -> Vec<String> {
    let text = format!("{declarations}\nstartstate begin end;\n{rule}");
    let printed = printed(&text, dialect);
    printed
        .lines()
        .skip_while(|line| !line.starts_with("rule"))
        .take_while(|line| !line.starts_with("no run-time errors"))
        .map(|line| line.trim().to_string())
        .collect()
}

/// The codes of the messages for a text that is wrong.
fn codes(text: &str) -> Vec<&'static str> {
    let (model, diagnostics) = try_load(text, &Options::default());
    assert!(model.is_none(), "nothing was found to be wrong with {text}");
    diagnostics.iter().map(|diagnostic| diagnostic.code.0).collect()
}

const PROCS: &str = "type P: scalarset(3); R: 0..3; var p, q: P; x, y: R; a: array [P] of R;";

#[test]
fn copies_of_undefined_values_differ_by_dialect() {
    let rule = "rule \"r\" begin x := y; end;";
    assert_eq!(rule_lines(PROCS, rule, Dialect::Cmurphi), ["rule \"r\"", "x := peek y"]);
    assert_eq!(rule_lines(PROCS, rule, Dialect::Rumur), ["rule \"r\"", "x := y"]);
}

#[test]
fn scalarset_comparisons_differ_by_dialect_and_others_do_not() {
    let rule = "rule \"r\" p = q & x = y ==> end;";
    let cmurphi = rule_lines(PROCS, rule, Dialect::Cmurphi);
    assert_eq!(cmurphi, ["rule \"r\" when ((peek p = peek q) & (x = y))"]);
    let rumur = rule_lines(PROCS, rule, Dialect::Rumur);
    assert_eq!(rumur, ["rule \"r\" when ((p = q) & (x = y))"]);
}

#[test]
fn value_parameters_are_references_in_cmurphi_and_copies_in_rumur() {
    let text = format!("{PROCS} procedure f(v: R); begin x := v; end; startstate begin f(y); f(2); end;");
    assert!(printed(&text, Dialect::Cmurphi).contains("function f(ref v: R)"));
    let rumur = printed(&text, Dialect::Rumur);
    assert!(rumur.contains("function f(v: R)") && rumur.contains("f(peek y)"), "{rumur}");
}

#[test]
fn nested_groups_become_parameters_and_bindings() {
    let declarations = "type P: scalarset(2); var net: array [P] of multiset [3] of P; p: P;";
    let rule = "ruleset i: P do alias c: net[i] do choose m: c do
        rule \"r\" c[m] = i ==> multisetremove(m, c); end; end; end; end;";
    let lines = rule_lines(declarations, rule, Dialect::Cmurphi);
    assert_eq!(
        lines,
        [
            "rule \"r\" for i in P, m in slots of net[i] let c -> &net[i]; when (peek c[m] = peek i)",
            "remove c[m]"
        ]
    );
}

#[test]
fn properties_in_rulesets_quantify_and_liveness_is_asked_of_each() {
    let text = format!(
        "{PROCS} startstate begin end;
        ruleset i: P do
          invariant \"inv\" a[i] < 3;
          cover \"cov\" a[i] = 1;
          liveness \"live\" a[i] = 2;
        end;"
    );
    let printed = printed(&text, Dialect::Rumur);
    assert!(printed.contains("invariant \"inv\": (forall i in P: (a[i] < 3))"), "{printed}");
    assert!(printed.contains("cover \"cov\": (exists i in P: (a[i] = 1))"), "{printed}");
    assert!(
        printed.contains("liveness \"live [i = P_2]\": (forall i in P: ((i = P_2) -> (a[i] = 2)))"),
        "{printed}"
    );
}

#[test]
fn a_search_loop_over_a_sort_does_not_depend_on_the_order() {
    let text = format!(
        "{PROCS} function f(): boolean; begin for i: P do if a[i] = 1 then return true; end; end; return false; end;
        startstate begin x := f() ? 1 : 0; end;"
    );
    assert!(printed(&text, Dialect::Cmurphi).contains("if (exists i in P: (a[i] = 1))"));
}

#[test]
fn constants_are_folded_and_set() {
    let text =
        "const N: 3; M: N * 2; DEBUG: false; type R: 0..M; var x: R; startstate begin x := M - 1; end;";
    assert!(printed(text, Dialect::Cmurphi).contains("x := 5"));
    let set = vec![("N".to_string(), 5), ("DEBUG".to_string(), 1)];
    let (model, _) = try_load(text, &Options { set, ..Options::default() });
    let printed = print_model(&model.expect("the constants can be set"));
    assert!(printed.contains("type R = 0..10") && printed.contains("x := 9"), "{printed}");
    let (model, diagnostics) = try_load(text, &Options { set: vec![("n".into(), 1)], ..Options::default() });
    assert!(model.is_none());
    assert_eq!(diagnostics.iter().next().and_then(|d| d.help.clone()), Some("did you mean `N`?".into()));
}

#[test]
fn a_switch_is_a_ladder() {
    let declarations = "type E: enum { A, B, C }; var e: E; x: 0..3;";
    let rule = "rule \"r\" begin switch e case A, B: x := 1; else x := 2; end; end;";
    let lines = rule_lines(declarations, rule, Dialect::Cmurphi);
    assert_eq!(lines, ["rule \"r\"", "if ((e = A) | (e = B))", "x := 1", "else", "x := 2"]);
}

#[test]
fn bitwise_and_logical_operators_are_told_apart_by_type() {
    let rule = "rule \"r\" begin x := (x & 1) | y; b := b & b | !b; end;";
    let lines = rule_lines("var x, y: 0..3; b: boolean;", rule, Dialect::Rumur);
    assert_eq!(lines[1..], ["x := ((x bitand 1) bitor y)", "b := ((b & b) | !b)"]);
}

#[test]
fn several_mistakes_are_reported_in_one_run() {
    let text = "type P: scalarset(2); var p: P; x: 0..1;
        startstate begin z := 1; x := p; p := 1; end;
        rule \"r\" x ==> x.f := 1; end;
        rule \"s\" p < p ==> x[1] := 0; end;";
    assert_eq!(codes(text), ["E0201", "E0204", "E0204", "E0204", "E0208", "E0204", "E0204", "E0209"]);
}

#[test]
fn each_mistake_has_its_code() {
    let start = "startstate begin end;";
    for (text, code) in [
        ("var x: T; startstate begin end;".to_string(), "E0201"),
        (format!("var x: boolean; x: boolean; {start}"), "E0202"),
        (format!("type T: enum {{ A }}; S: enum {{ A }}; {start}"), "E0202"),
        ("type T: boolean; var x: boolean; startstate begin x := T; end;".to_string(), "E0203"),
        (format!("var n: 0..3; type T: 0..n; {start}"), "E0205"),
        (format!("type T: 3..1; {start}"), "E0206"),
        (format!("type T: scalarset(0); {start}"), "E0206"),
        ("const C: 1; startstate begin C := 2; end;".to_string(), "E0207"),
        ("procedure f(x: 0..1); begin x := 1; end; startstate begin f(0); end;".to_string(), "E0207"),
        ("procedure f(var x: 0..1); begin end; startstate begin f(0); end;".to_string(), "E0210"),
        ("procedure f(); begin end; startstate begin f(1); end;".to_string(), "E0210"),
        ("function f(): boolean; begin return; end; startstate begin end;".to_string(), "E0211"),
        (
            "var x: boolean; function f(): boolean; begin x := true; return x; end;
             startstate begin end; rule f() ==> end;"
                .to_string(),
            "E0212",
        ),
        (
            "var m, n: multiset [2] of boolean; startstate begin end; choose i: m do rule n[i] ==> end; end;"
                .to_string(),
            "E0213",
        ),
        ("var x: boolean;".to_string(), "E0214"),
        (format!("var x: real(4, 2); {start}"), "E0215"),
        (format!("externfun f(): boolean \"f.h\"; {start}"), "E0215"),
        ("var x: boolean; startstate begin liveness x; end;".to_string(), "E0217"),
    ] {
        assert_eq!(codes(&text), [code], "{text}");
    }
}

#[test]
fn clearing_a_scalarset_is_a_warning() {
    let text = format!("{PROCS} startstate begin clear a; clear p; end;");
    let (model, diagnostics) = try_load(&text, &Options::default());
    assert!(model.is_some());
    assert_eq!(diagnostics.iter().map(|d| d.code.0).collect::<Vec<_>>(), ["W0301"]);
}

/// The printed form of a formula.
fn formula(text: &str) -> String {
    let text = format!(
        "type P: scalarset(2); var x, next: boolean; n: 0..3; a: array [P] of boolean; startstate begin end; ltl \"f\" {text};"
    );
    let printed = printed(&text, Dialect::Cmurphi);
    let line = printed.lines().find_map(|line| line.strip_prefix("ltl \"f\": ")).map(str::to_string);
    line.unwrap_or_else(|| panic!("{printed}"))
}

#[test]
fn temporal_operators_bind_as_documented() {
    for (text, expected) in [
        ("[] x", "G x"),
        ("always (x -> <> n = 1)", "G (!x | F (n = 1))"),
        ("!x = true | [] <> x", "((x != true) | G F x)"),
        ("[] x & <> x -> [] x", "(!(G x & F x) | G x)"),
        ("x U n = 1 until x", "(x U ((n = 1) U x))"),
        ("x release n > 0", "(x R (n > 0))"),
        ("(x & n = 1) & [] (n + 1) * 2 = 4", "((x & (n = 1)) & G (((n + 1) * 2) = 4))"),
        // A condition is one, so that its parts guard each other.
        ("[] (isundefined(n) | n = 1 & x)", "G (isundefined(n) | ((n = 1) & x))"),
        // A word that the model declares is a name.
        ("<> next", "F next"),
        ("eventually !next", "F !next"),
        ("forall i: P do [] a[i] end", "(G a[P_1] & G a[P_2])"),
        ("exists i := 1 to 2 do <> n = i end", "(F (n = 1) | F (n = 2))"),
    ] {
        assert_eq!(formula(text), expected, "{text}");
    }
    assert_eq!(formula("[] forall i: P do a[i] end"), "G (forall i in P: a[i])");
}

#[test]
fn temporal_properties_stand_in_rulesets_and_are_checked() {
    let text = "type P: scalarset(2); var a: array [P] of boolean; startstate begin end;
        ruleset i: P do fairness a[i]; alias b: a[i] do ltl \"f\" <> b end end;";
    let printed = printed(text, Dialect::Cmurphi);
    assert_eq!(printed.lines().filter(|line| line.starts_with("fairness")).count(), 2, "{printed}");
    assert!(printed.contains("ltl \"f\": (F a[P_1] & F a[P_2])"), "{printed}");
    let start = "var n: 0..3; startstate begin n := 0; end;";
    assert_eq!(codes(&format!("{start} ltl [] n;")), ["E0204"]);
    assert_eq!(codes(&format!("{start} ltl forall i: 0..9 do <> m = i end;")), ["E0201"]);
    assert_eq!(codes(&format!("{start} fairness n + 1;")), ["E0204"]);
    assert_eq!(codes(&format!("{start} ltl [] (n = 1 -> <> );")), ["E0110"]);
}

#[test]
fn a_function_may_write_its_own_locals_through_aliases_and_parameters() {
    let model = |body: &str| {
        format!(
            "var x: 0..3;
             procedure set(var q: 0..3; v: 0..3); begin q := v; end;
             procedure pass(var q: 0..3; v: 0..3); begin alias r: q do set(r, v); end; end;
             function f(p: 0..3): 0..3; var l: 0..3; begin l := p; {body} return l; end;
             startstate begin x := 0; end;
             invariant f(x) = 3 - x;"
        )
    };
    let pure = [
        "alias a: l do a := 3 - l; end;",
        "set(l, 3 - l);",
        "alias a: l do alias b: a do pass(b, 3 - p); end; end;",
    ];
    for body in pure {
        assert!(try_load(&model(body), &Options::default()).0.is_some(), "{body}");
    }
    for body in
        ["alias a: x do a := 3; end;", "set(x, 3);", "alias a: x do alias b: a do pass(b, 3); end; end;"]
    {
        assert_eq!(codes(&model(body)), ["E0212"], "{body}");
    }
}

#[test]
fn without_a_step_a_range_goes_down_in_rumur_where_its_bounds_are_no_constants() {
    let steps = |range: &str, dialect| {
        let rule = format!("rule \"r\" true ==> begin for i := {range} do x := i; end; end;");
        let lines = rule_lines("var a, b, x: 0..3;", &rule, dialect);
        lines
            .iter()
            .find(|line| line.contains("for "))
            .cloned()
            .unwrap_or_else(|| panic!("no loop in {lines:?}"))
    };
    assert!(steps("a to b", Dialect::Rumur).contains("-1"), "{}", steps("a to b", Dialect::Rumur));
    assert!(!steps("a to b", Dialect::Cmurphi).contains("-1"));
    assert!(!steps("0 to 3", Dialect::Rumur).contains("-1"));
    assert!(!steps("a to b by 1", Dialect::Rumur).contains("-1"));
}
