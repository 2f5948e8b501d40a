//! No text makes the parser panic, overflow or run for ever.

use proptest::prelude::*;
use shoal_syntax::SourceId;

use super::super::MAX_DEPTH;
use super::{parse, program};

/// Two small models that between them use every construct.
const MODELS: [&str; 2] = [
    "const N: 3; type Node: scalarset(N); Home: enum { H1, H2 }; All: union { Node, Home };
     Msg: record src, dst: All; val: 0..N - 1; end;
     var net: multiset [N] of Msg; owner: array [Node] of boolean; x: 0x0..7;
     externfun f(a: Node): boolean \"f.h\";
     procedure send(var m: Msg; to_node: Node;); var t: Msg; begin t := m; t.dst := to_node; multisetadd(t, net); end;
     function free(n: Node): boolean; begin return !owner[n] & forall m: Node; k := 0 to 2 by 1 do m != n -> true end; end;
     choose i: net do alias m: net[i] do rule 20 \"r\" ismember(m.src, Node) ==> multisetremove(i, net); endrule; endalias; endchoose;
     ruleset n: Node : rule \"own\" free(n) ==> owner[n] := true; undefine x; clear owner; end; end;
     startstate \"s\" for n: Node do owner[n] := false; end; x := undefined; multisetremovepred(i: net, true); end;
     invariant \"one\" multisetcount(i: net, net[i].val = 0) <= 2 ? true : x = 1;",
    "var a, b: boolean; x: 0..255
     startstate begin a := true; x := 0 end
     rule \"step\" x < 255 && !a = b || ~x & 1 = 0 ==> var t: 0..255; begin
       switch x case 0, 1: x := x + 1 << 2; case 2: put \"two\"; put x; else error \"no\" endswitch;
       if a then b := a elsif b then assert a \"m\" else while x > 0 do x := x - 1; end end;
       assume x != 3; cover a; return;
     end
     cover \"c\" ∃ i := 0 to 3 do i ≤ x ∧ ¬a end
     assume a → b -- last
     liveness b = isundefined(x)",
];

#[test]
fn the_models_are_correct() {
    MODELS.iter().for_each(|model| drop(program(model)));
}

/// Parses and sees to it that every place is in the text.
fn survive(text: &str) {
    let (_, diagnostics) = parse(SourceId(0), text);
    for diagnostic in &diagnostics {
        let labels = diagnostic.secondary.iter().chain([&diagnostic.primary]);
        for label in labels {
            let range = label.span.start as usize..label.span.end as usize;
            assert!(text.get(range).is_some(), "{diagnostic:?}");
        }
    }
}

#[test]
fn truncated_models() {
    for model in MODELS {
        for (end, _) in model.char_indices() {
            survive(&model[..end]);
        }
    }
}

#[test]
fn models_with_a_word_missing_or_twice() {
    for model in MODELS {
        let words: Vec<&str> = model.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
        for at in 0..words.len() {
            survive(&[&words[..at], &words[at + 1..]].concat().concat());
            survive(&[&words[..=at], &words[at..]].concat().concat());
        }
    }
}

/// Runs in a thread with half the stack that a test has.
fn on_a_small_stack(text: String) -> Vec<&'static str> {
    let work = move || parse(SourceId(0), &text).1.iter().map(|d| d.code.0).collect();
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work);
    thread.expect("a thread").join().expect("no overflow")
}

#[test]
fn deep_nests_are_refused() {
    let n = 100_000;
    for (open, close) in [("invariant ", ""), ("rule begin ", ""), ("var x: ", "")] {
        for nest in [
            "(",
            "!",
            "-",
            "a[",
            "f(",
            "a ? ",
            "forall i: ",
            "forall i: T do ",
            "if a then ",
            "else if a then ",
            "x := ",
            "while ",
            "for i: T do ",
            "switch x case 1: ",
            "alias a: b do ",
            "ruleset i: T do ",
            "record a: ",
            "array [",
            "array [T] of ",
            "union { ",
            "choose i: m do ",
            "a -> b || c && d | e ^ f & !g = h << i + j * (",
            "isundefined(a[",
            "ismember(a, array [",
            "multisetcount(i: m, ",
        ] {
            let text = format!("{open}{}{close}", nest.repeat(n));
            assert!(!on_a_small_stack(text).is_empty(), "{open}{nest}");
        }
    }
    let nest = |depth: usize| format!("invariant {}x{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(on_a_small_stack(nest(MAX_DEPTH)), ["E0117"]);
    assert_eq!(on_a_small_stack(nest(MAX_DEPTH - 10)), [""; 0]);
    let blocks =
        |depth: usize| format!("rule begin {} {} end", "if a then ".repeat(depth), "end;".repeat(depth));
    assert_eq!(on_a_small_stack(blocks(MAX_DEPTH + 1)), ["E0117"]);
    assert_eq!(on_a_small_stack(blocks(MAX_DEPTH - 10)), [""; 0]);
}

#[test]
fn long_chains_are_fine() {
    let n = 20_000;
    for text in [
        format!("invariant x {}", "& x = 1 ".repeat(n)),
        format!("invariant x {}", "| (x - 1 = 2) ".repeat(n)),
        format!("invariant 0 = x {}", "+ 1 - x ".repeat(n)),
        format!("rule begin if x then y := 1 {} end end", "elsif x then y := 1; ".repeat(n)),
        format!("rule begin switch x {} end end", "case 1: y := 1; ".repeat(n)),
        format!("rule begin x{} := 1 end", ".a[0]".repeat(n)),
        format!("rule begin {} end", "x := 1; ".repeat(n)),
    ] {
        assert_eq!(on_a_small_stack(text), [""; 0]);
    }
    assert_eq!(on_a_small_stack(format!("invariant x {}", "= x ".repeat(n))), ["E0116"]);
}

/// Words and symbols, so that the soup is thick with near misses.
const SOUP: &[&str] = &[
    "alias",
    "array",
    "assert",
    "assume",
    "begin",
    "boolean",
    "by",
    "case",
    "choose",
    "clear",
    "const",
    "cover",
    "do",
    "else",
    "elsif",
    "end",
    "endif",
    "endfor",
    "endchoose",
    "endrule",
    "enum",
    "error",
    "exists",
    "externfun",
    "for",
    "forall",
    "function",
    "if",
    "invariant",
    "ismember",
    "isundefined",
    "multiset",
    "multisetadd",
    "multisetcount",
    "of",
    "procedure",
    "put",
    "real",
    "record",
    "return",
    "rule",
    "ruleset",
    "scalarset",
    "startstate",
    "switch",
    "then",
    "to",
    "true",
    "type",
    "undefine",
    "undefined",
    "union",
    "var",
    "while",
    "x",
    "y",
    "T",
    "1",
    "0x2",
    "1.5",
    "\"s\"",
    "\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ":",
    ".",
    "..",
    ":=",
    "==>",
    "->",
    "?",
    "|",
    "||",
    "&",
    "!",
    "~",
    "=",
    "!=",
    "<",
    "+",
    "-",
    "*",
    "$",
    "--",
    "/*",
    "\n",
    "¬",
    "“",
];

proptest! {
    #[test]
    fn token_soup(words in prop::collection::vec(prop::sample::select(SOUP), 0..200)) {
        survive(&words.join(" "));
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        survive(&text);
    }

    #[test]
    fn mutated_models(model in prop::sample::select(&MODELS[..]), edits in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(SOUP)), 1..6)) {
        let mut words: Vec<&str> = model.split_inclusive(|c: char| !c.is_alphanumeric()).collect();
        for (at, word) in &edits {
            let at = at.index(words.len());
            words[at] = word;
        }
        survive(&words.join(" "));
    }
}
