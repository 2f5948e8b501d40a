//! What is said of wrong texts, and that one mistake is told once.

use shoal_syntax::{Diagnostic, SourceId};

use super::parse;

fn errors(text: &str) -> Vec<Diagnostic> {
    parse(SourceId(0), text).1.iter().cloned().collect()
}

/// The one error of a text.
fn error(text: &str) -> Diagnostic {
    let mut errors = errors(text);
    assert_eq!(errors.len(), 1, "{text}\n{errors:#?}");
    errors.remove(0)
}

/// Code and message, with the help if there is one.
fn told(text: &str) -> String {
    let error = error(text);
    let help = error.help.map(|help| format!(" / {help}")).unwrap_or_default();
    format!("{} {}{help}", error.code.0, error.message)
}

fn in_rule(text: &str) -> String {
    told(&format!("rule \"r\" begin {text} end; rule begin end;"))
}

#[test]
fn slips_in_statements() {
    for (text, expected) in [
        ("x = 1;", "E0112 expected `:=` in an assignment, found `=` / `:=` assigns and `=` compares"),
        (
            "x := y := 1",
            "E0111 expected `;` after this statement, found `:=` / `:=` assigns; to compare, write `=`",
        ),
        (
            "if x := 1 then y := 2 end",
            "E0112 expected `then` after the condition, found `:=` / `:=` assigns; to compare, write `=`",
        ),
        ("x := 1 y := 2;", "E0111 expected `;` after this statement, found the name `y`"),
        ("if x then y := 1 end z := 2", "E0111 expected `;` after this statement, found the name `z`"),
        ("x += 1;", "E0110 expected `:=` or `(` after `x`, found `+`"),
        ("x++;", "E0110 expected `:=` or `(` after `x`, found `+`"),
        (
            "if x and y then z := 1 end",
            "E0110 expected `then` after the condition, found the name `and` / `and` is written `&`",
        ),
        (
            "if not x then z := 1 end",
            "E0110 expected `then` after the condition, found the name `x` / `not` is written `!`",
        ),
        (
            "if x <> y then z := 1 end",
            "E0110 expected an expression, found `>` / `not equal` is written `!=`",
        ),
        (
            "retrun x;",
            "E0110 expected `:=` or `(` after `retrun`, found the name `x` / did you mean `return`?",
        ),
        (
            "p;",
            "E0110 expected `:=` or `(` after `p`, found `;` / a procedure is called with parentheses: `p()`",
        ),
        (
            "while x dn y := 1 end",
            "E0110 expected `do` after the condition, found the name `dn` / did you mean `do`?",
        ),
        (
            "for i = 0 to 3 do x := i end",
            "E0112 expected `:=` before the first value, found `=` / a loop over numbers is written `i := 0 to 3`, one over a type `i: T`",
        ),
        (
            "for i in T do x := i end",
            "E0110 expected `:` and a type or `:=` and a first value, found the name `in` / a variable ranges over a type with `:`, as in `i: Node`",
        ),
        ("error x;", "E0110 expected a string after `error`, found the name `x`"),
        (
            "a[1, 2] := 3;",
            "E0110 expected `]` after the index, found `,` / each index has its own brackets: `a[i][j]`",
        ),
        (
            "switch x case 1 y := 1; case 2: y := 2 end",
            "E0110 expected `:` after the values of a `case`, found the name `y`",
        ),
        ("x := 99999999999999999999", "E0105 this number does not fit 64 bits"),
        ("v := not x;", "E0111 expected `;` after this statement, found the name `x` / `not` is written `!`"),
        (
            "switch x case 1: y := 1; default: y := 2; end",
            "E0110 expected a statement, found the name `default` / the last case of a `switch` is written `else`, without `:`",
        ),
        (
            "if a then b := 1; elseif c then b := 2; end",
            "E0110 expected `:=` or `(` after `elseif`, found the name `c` / did you mean `elsif`?",
        ),
        (
            "if a then begin b := 1; end",
            "E0114 expected `endif` or `end`, found the keyword `begin` / `begin` stands only before the statements of a rule or procedure",
        ),
        ("x := ;", "E0110 expected an expression, found `;`"),
        (
            "if x then { y := 1 }; end",
            "E0110 expected a statement, found `{` / braces enclose only the members of `enum` and `union`; blocks close with `end`",
        ),
    ] {
        assert_eq!(in_rule(text), expected, "{text}");
    }
}

#[test]
fn operators_that_do_not_associate() {
    for (text, expected) in [
        ("0 <= x <= 3", "`<=` cannot follow `<=` without parentheses / write `0 <= x & x <= ..`"),
        (
            "a -> b -> c",
            "`->` cannot follow `->` without parentheses / write `(a -> b) -> ..` or `a -> (b -> ..)`",
        ),
        (
            "a = b = c",
            "`=` cannot follow `=` without parentheses / write `(a = b) = ..`, or two comparisons joined by `&`",
        ),
        (
            "a ? b : c ? d : e",
            "a second `?` cannot follow the first without parentheses / write `a ? b : (c ? d : e)`",
        ),
    ] {
        assert_eq!(told(&format!("invariant {text};")), format!("E0116 {expected}"), "{text}");
    }
}

#[test]
fn closers() {
    let wrong = error("rule begin if x then y := 1; endfor; end");
    assert_eq!((wrong.code.0, wrong.message.as_str()), ("E0113", "`endfor` cannot close this `if`"));
    assert_eq!(wrong.secondary[0].text, "opened here");
    let missing = error("rule begin if x then y := 1; endrule; rule begin end");
    assert_eq!(
        (missing.code.0, missing.message.as_str()),
        ("E0114", "expected `endif` or `end`, found the keyword `endrule`")
    );
    assert_eq!(
        told("rule begin end; end;"),
        "E0115 `end` closes nothing / everything before it is closed already"
    );
    assert_eq!(told("rule begin if x then"), "E0114 expected `endif` or `end`, found the end of the file");
    assert_eq!(
        told("invariant forall i: T do x;"),
        "E0110 expected `endforall` or `end` after the condition, found `;`"
    );
    let record = error("type t: record a: T; var x: t; rule begin end");
    assert_eq!(record.message, "expected `endrecord` or `end`, found the keyword `var`");
}

#[test]
fn else_if_is_explained() {
    for text in [
        "rule begin if a then x := 1; else if b then x := 2; endif; endrule; rule begin end",
        "rule begin if a then x := 1; else if b then x := 2; end; end; rule begin end;",
    ] {
        let error = error(text);
        assert_eq!(
            error.help.as_deref(),
            Some("to add a condition to an `if`, write `elsif` instead of `else if`")
        );
        assert_eq!(error.secondary.len(), 2);
    }
}

#[test]
fn rule_headers() {
    for (text, expected) in [
        (
            "rule \"t\" z := !z; end;",
            "E0118 the statements of a rule without a guard need `begin` before them / write `rule \"name\" begin .. end` or `rule \"name\" guard ==> .. end`",
        ),
        (
            "rule \"t\" p(z); end;",
            "E0118 the statements of a rule without a guard need `begin` before them / write `rule \"name\" begin .. end` or `rule \"name\" guard ==> .. end`",
        ),
        (
            "rule \"t\" z = 1 begin z := 2; end;",
            "E0118 expected `==>` after the guard, found the keyword `begin` / `==>` stands between the guard and `begin`",
        ),
        ("rule \"t\" z = 1 & ==> z := 2; end;", "E0110 expected an expression, found `==>`"),
        (
            "rule \"t\" z => begin z := 2; end;",
            "E0118 `=>` means nothing in Murphi / write `==>` between a guard and its statements, `->` for \"implies\", `>=` to compare",
        ),
        (
            "rul \"t\" begin end;",
            "E0110 expected a declaration, procedure, rule or property, found the name `rul` / did you mean `rule`?",
        ),
        (
            "var x: boolean; rulset i: T do end",
            "E0110 expected a declaration, procedure, rule or property, found the name `rulset` / did you mean `ruleset`?",
        ),
        (
            "pctl [x until <= 3 y] < 1",
            "E0120 `pctl` formulas are not supported / probabilistic models of CMurphi cannot be checked",
        ),
        (
            "var x: boolean; ctl \"live\" A [x & AF x];",
            "E0110 expected `U` or `R` between two formulas, found `]`",
        ),
    ] {
        let first = text.lines().next().unwrap_or("");
        assert_eq!(told(text), expected, "{first}");
    }
}

#[test]
fn declarations() {
    for (text, expected) in [
        ("var x boolean; y: T;", "E0110 expected `:` after the name, found the keyword `boolean`"),
        (
            "var end: boolean; y: T;",
            "E0119 expected a name, found the keyword `end` / a keyword cannot be a name, whatever the case of its letters",
        ),
        ("var x: T, y: T;", "E0110 expected `;` after this declaration, found `,`"),
        ("type t: record a: T, b: T; end;", "E0110 expected `;` after this declaration, found `,`"),
        (
            "// comment\nvar y: T;",
            "E0110 expected a declaration, procedure, rule or property, found `/` / a comment begins with `--`",
        ),
        ("var x: ; y: T;", "E0110 expected a type, found `;`"),
        ("var x: 3; y: T;", "E0110 expected `..` and the end of the range, found `;`"),
        (
            "type t: enum { A B }; u: T;",
            "E0110 expected `}` or `,` after a member of the enum, found the name `B`",
        ),
        (
            "type t: array [T] record a: T; end; u: T;",
            "E0110 expected `of` before the type of the elements, found the keyword `record`",
        ),
        ("const N = 3; M: 2;", "E0110 expected `:` after the name, found `=`"),
        (
            "procedure p; begin x := 1; end; var x: T;",
            "E0110 expected `(` before the parameters (even if there are none), found `;`",
        ),
    ] {
        assert_eq!(told(text), expected, "{text}");
    }
}

#[test]
fn independent_errors_are_all_reported() {
    let text = "const N = 3;
        var x: boolean; y 0..3;
        startstate begin x = true; y := 0; end;
        rule \"a\" x & ==> y := ; x := false; end;
        rule \"b\" begin if x thn y := 1; end; for i: do y := 2 end; put end;
        invariant 0 <= y <= 3;
        invariant x;";
    let lines: Vec<usize> = errors(text)
        .iter()
        .map(|d| text[..d.primary.span.start as usize].matches('\n').count() + 1)
        .collect();
    assert_eq!(lines, [1, 2, 3, 4, 4, 5, 5, 5, 6]);
}

#[test]
fn lexical_errors_come_along() {
    let text = "var x: boolean;\nrule \"a begin x := 1; end;\ninvariant x $ y; /* never closed";
    let codes: Vec<&str> = errors(text).iter().map(|d| d.code.0).collect();
    assert_eq!(&codes[..3], ["E0103", "E0101", "E0104"]);
}
