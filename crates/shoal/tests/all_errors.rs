//! Every language tells all mistakes of a file at once.

use shoal::{Error, LoadOptions, load_text};

/// The errors that a text has.
fn errors(name: &str, text: &str) -> Vec<String> {
    match load_text(name, text, &LoadOptions::default()) {
        Err(Error::Source(rejected)) => {
            let errors =
                rejected.diagnostics.iter().filter(|it| it.severity == shoal::syntax::Severity::Error);
            errors.map(|diagnostic| diagnostic.message.clone()).collect()
        }
        Err(other) => panic!("{name}: {other}"),
        Ok(_) => panic!("{name}: no errors"),
    }
}

/// Texts in which `no1`, `no2`, ... are not declared.
const UNKNOWN: [(&str, &str, usize); 6] = [
    (
        "a.m",
        "var x: 0..3; startstate begin x := no1; end; rule x = no2 ==> begin x := no3; end; invariant x < no4;",
        4,
    ),
    (
        "a.pml",
        "byte x; active proctype P() { no1 = 1; x = no2; if :: no3 -> x = 1 :: else -> no4 = 2 fi } active proctype Q() { no5 = 1 }",
        5,
    ),
    ("a.bp", "decl g; void main() begin no1 := T; g := no2; if (no3) then no4 := F; fi; assert(no5); end", 5),
    (
        "a.xta",
        "clock x; int n; process P() { state A { x < no1 }, B; init A;
         trans A -> B { guard no2 > 1; assign n = no3, n = no4; }, B -> A { guard no5 == 2; }; } system P;",
        5,
    ),
    (
        "a.vpl",
        "automata A : i = 1..2; register r; automaton A[i] { mode M { invariant no1 = 0; when no2 = 1 may goto M; r := no3; } }
         verify all_paths (henceforth no4 = 1); verify all_paths (henceforth no5 = 1);",
        5,
    ),
    (
        "a.red",
        "global discrete g : 0..2; process n : 2 { mode a { when no1 == 1 may g = no2; g = no3; goto a; } }
         safe no4 == 1; safe no5 == 1;",
        5,
    ),
];

#[test]
fn every_unknown_name_is_told() {
    for (name, text, count) in UNKNOWN {
        let errors = errors(name, text);
        for number in 1..=count {
            let wanted = format!("`no{number}`");
            assert!(errors.iter().any(|error| error.contains(&wanted)), "{name}: {wanted} in {errors:?}");
        }
        assert_eq!(errors.len(), count, "{name}: {errors:?}");
    }
}

/// Texts with so many slips of syntax, each in an item of its own.
const SLIPS: [(&str, &str, usize); 8] = [
    (
        "b.xta",
        "clock x; int = 3; int f() { int y = ; return 1; } int n; process P() { clock ; state A { x < }, B { x > 1 2 }, C D, E;
         init ; trans A -> B { guard x > ; sync ; assign n = , n = 2; }, B A { guard x < 1; }, B -> ; } Q = ; R = P(); system R, ;",
        14,
    ),
    (
        "c.xta",
        "clock x; process P() { state A; init A; trans A -> A { guard x > 1; assign x = 0 } ; system P;",
        3,
    ),
    (
        "b.xml",
        "<nta><declaration>clock x; int = 3; int n; bool ;</declaration><template><name>P</name><declaration>int m</declaration>
         <location id='a'><label kind='invariant'>x &lt;</label></location><location id='b'/><location/><init ref='a'/>
         <transition><source ref='a'/><target ref='b'/><label kind='guard'>x ></label><label kind='assignment'>n = , n = 2</label></transition>
         <strange/></template><system>Q = ; system P, ;</system></nta>",
        10,
    ),
    ("b.m", "var x: 0..3; startstate begin x := ; end; rule x = ==> begin x := 1; end; invariant < 4;", 3),
    ("b.pml", "byte x; active proctype P() { x = ; x = 1; x ! ; x = 2 } active proctype Q() { x = 3 4 }", 3),
    ("b.bp", "decl g; void main() begin g := ; if g then g T; fi; assert(); end", 3),
    (
        "b.vpl",
        "automata A : i = 1..2; register r; automaton A[i] { mode M { when may goto M; when True may M; } }
         verify all_paths (henceforth ); verify all_paths (henceforth r = 1);",
        3,
    ),
    (
        "b.red",
        "global discrete g : 0..2; process n : 2 { mode a { when may goto a; when true goto a; } }
         safe ; safe g == 1;",
        3,
    ),
];

#[test]
fn reading_goes_on_after_a_slip() {
    for (name, text, count) in SLIPS {
        let errors = errors(name, text);
        assert_eq!(errors.len(), count, "{name}: {errors:?}");
    }
}
