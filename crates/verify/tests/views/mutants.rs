//! Mistakes in the engine are noticed: by the checker, or by brute force on small instances.
#![allow(clippy::print_stdout)]

use shoal_verify::Doubt;
use shoal_views::{Mutant, with_mutant};

use super::random::{Case, case, fixed_case};

/// Colours that predicates speak of, changed one by one and in loops.
const COLOURS: &str = "
const N: 3;
type P: scalarset(N); colour: enum { X, Y };
var c: array [P] of colour; g: boolean;
startstate \"start\" begin for p: P do c[p] := X; end; g := false; end;
ruleset p: P do
  rule \"y\" c[p] = X & forall q: P do c[q] != Y end ==> begin c[p] := Y; end;
  rule \"x\" c[p] = Y ==> begin c[p] := X; end;
  rule \"off\" exists q: P do c[q] = Y & g end ==> begin g := false; end;
  rule \"flip\" c[p] = X ==> begin g := !g; end;
  rule \"all\" g ==> begin for q: P do c[q] := X; end; end;
end;
invariant \"one\" forall p: P do forall q: P do p = q | c[p] != Y | c[q] != Y end end;
";

/// What a start leaves as it is, and what is written all at once.
const MARKS: &str = "
const N: 3;
type P: scalarset(N);
var b: array [P] of boolean; g: boolean;
startstate \"start\" begin g := false; end;
ruleset p: P do
  rule \"set\" exists q: P do isundefined(b[q]) end ==> begin b[p] := true; end;
  rule \"unset\" !isundefined(b[p]) ==> begin undefine b; end;
end;
rule \"all\" forall q: P do !isundefined(b[q]) end ==> begin g := true; end;
invariant \"fine\" true;
";

/// References to elements that are not shown, and which of them are the same.
const STARS: &str = "
const N: 3;
type P: scalarset(N);
var own: P; old: P; g: boolean; h: boolean; c: array [P] of boolean;
startstate \"start\" begin g := false; h := false; for p: P do c[p] := false; end; end;
ruleset p: P do
  rule \"own\" isundefined(own) ==> begin own := p; end;
  rule \"old\" isundefined(old) ==> begin old := p; end;
  rule \"mark\" g ==> begin c[p] := true; end;
  rule \"copy\" !isundefined(own) ==> begin c[p] := c[own]; end;
end;
rule \"same\" !isundefined(own) & !isundefined(old) & own = old ==> begin g := true; end;
rule \"other\" !isundefined(own) & !isundefined(old) & own != old ==> begin h := true; end;
invariant \"fine\" true;
";

/// Elements that point to each other.
const LINKS: &str = "
const N: 3;
type P: scalarset(N);
var n: array [P] of P; own: P; g: boolean;
startstate \"start\" begin g := false; end;
ruleset p: P do
  rule \"own\" isundefined(own) ==> begin own := p; end;
  rule \"point\" !isundefined(own) & isundefined(n[p]) ==> begin n[p] := own; end;
  rule \"next\" !isundefined(own) & !isundefined(n[p]) & n[p] = own ==> begin undefine own; end;
  rule \"two\" !isundefined(n[p]) & !isundefined(n[n[p]]) & n[n[p]] = p ==> begin g := true; end;
  rule \"self\" exists q: P do !isundefined(n[q]) & n[q] = q end ==> begin g := false; end;
end;
invariant \"fine\" true;
";

/// Two that differ.
const PAIRS: &str = "
const N: 3;
type P: scalarset(N);
var c: array [P] of boolean; g: boolean; b: array [P] of boolean;
startstate \"start\" begin g := false; for p: P do c[p] := false; b[p] := false; end; end;
ruleset p: P do
  rule \"c\" forall q: P do !c[q] end ==> begin c[p] := true; end;
  rule \"b\" exists q: P do q != p & c[q] end ==> begin b[p] := true; end;
end;
rule \"see\" true ==> begin for q: P do if c[q] then g := true; end; end; end;
invariant \"one\" forall p: P do forall q: P do p = q | !c[p] | !c[q] end end;
";

/// Whom a reference leads to, and who refers to whom.
const OWNERS: [&str; 2] = [
    "
const N: 3;
type P: scalarset(N);
var own: P; n: array [P] of P; h: array [P] of boolean; once: boolean;
startstate \"start\" begin once := true; for p: P do h[p] := false; end; end;
ruleset p: P do
  rule \"own\" once ==> begin own := p; once := false; end;
  rule \"point\" !isundefined(own) & isundefined(n[p]) ==> begin n[p] := own; undefine own; end;
  rule \"see\" !isundefined(n[p]) & exists q: P do q = n[p] & q != p end ==> begin h[p] := true; end;
end;
invariant \"fine\" true;
",
    "
const N: 3;
type P: scalarset(N);
var own: P; n: array [P] of P; d: array [P] of boolean;
startstate \"start\" begin for p: P do d[p] := false; end; end;
ruleset p: P do
  rule \"own\" isundefined(own) ==> begin own := p; end;
  rule \"point\" !isundefined(own) & isundefined(n[p]) ==> begin n[p] := own; undefine own; end;
  rule \"pointed\" isundefined(own) & exists q: P do !isundefined(n[q]) & n[q] = p & q != p end ==> begin d[p] := true; end;
end;
invariant \"fine\" true;
",
];

/// Elements that wait in line.
const QUEUE: &str = "
const N: 3;
type P: scalarset(N); s: enum { Out, Waits, In };
var c: array [P] of s; tail: P; ahead: array [P] of P;
startstate \"start\" begin for p: P do c[p] := Out; end; end;
ruleset p: P do
  rule \"come\" c[p] = Out ==> begin if !isundefined(tail) then ahead[p] := tail; end; tail := p; c[p] := Waits; end;
  rule \"enter\" c[p] = Waits & isundefined(ahead[p]) ==> begin c[p] := In; end;
  rule \"leave\" c[p] = In ==> begin c[p] := Out; if tail = p then undefine tail; end;
    for q: P do if !isundefined(ahead[q]) & ahead[q] = p then undefine ahead[q]; end; end; end;
end;
invariant \"there is a tail\" (exists p: P do c[p] != Out end) -> !isundefined(tail);
";

/// What a start leaves as it is.
const BLANK: &str = "
const N: 3;
type P: scalarset(N);
var b: array [P] of boolean; g: boolean;
startstate \"start\" begin g := false; end;
ruleset p: P do rule \"set\" isundefined(b[p]) ==> begin b[p] := true; end; end;
rule \"see\" exists q: P do isundefined(b[q]) end ==> begin g := true; end;
invariant \"fine\" true;
";

/// What one step changes of all: an array, what belongs to none, what a loop writes.
const ALL_AT_ONCE: [&str; 3] = [
    "
const N: 3;
type P: scalarset(N);
var b: array [P] of boolean; g: boolean;
startstate \"start\" begin g := false; for p: P do b[p] := true; end; end;
rule \"unset\" !g ==> begin undefine b; g := true; end;
rule \"see\" exists q: P do isundefined(b[q]) end ==> begin g := false; end;
invariant \"fine\" true;
",
    "
const N: 3;
type P: scalarset(N);
var c: array [P] of boolean; g: boolean; h: boolean;
startstate \"start\" begin g := false; h := false; for p: P do c[p] := true; end; end;
rule \"on\" !g ==> begin g := true; end;
rule \"see\" exists q: P do c[q] & g end ==> begin h := true; end;
invariant \"fine\" true;
",
    "
const N: 3;
type P: scalarset(N);
var c: array [P] of boolean; h: boolean;
startstate \"start\" begin h := false; for p: P do c[p] := false; end; end;
rule \"all\" !h ==> begin for q: P do c[q] := true; end; end;
rule \"see\" exists q: P do c[q] end ==> begin h := true; end;
invariant \"one\" forall p: P do forall q: P do p = q | !c[p] | !c[q] end end;
",
];

/// What a step asks about after it has changed it: of what belongs to none, and of all.
const ASKED_AFTERWARDS: [&str; 2] = [
    "
const N: 3;
type P: scalarset(N);
var c: array [P] of boolean; g: boolean; h: boolean;
startstate \"start\" begin g := false; h := false; for p: P do c[p] := false; end; end;
ruleset p: P do rule \"c\" forall q: P do !c[q] end ==> begin c[p] := true; end; end;
rule \"see\" true ==> begin g := true; if exists q: P do c[q] & g end then h := true; end; g := false; end;
invariant \"fine\" true;
",
    "
const N: 3;
type P: scalarset(N);
var b: array [P] of boolean; g: array [P] of boolean;
startstate \"start\" begin for p: P do b[p] := false; g[p] := false; end; end;
ruleset p: P do
  rule \"all\" true ==> begin
    for q: P do b[q] := true; end;
    if exists q: P do q != p & b[q] end then g[p] := true; end;
    for q: P do b[q] := false; end;
  end;
end;
invariant \"fine\" true;
",
];

/// Steps that change nothing of some elements and something of others, which read nothing of them: a mark that is there already, and a
/// round of a loop that gives somebody else what that one has. Nothing in them fails.
const NOTHING_CHANGES: [&str; 2] = [
    "
const N: 3;
type P: scalarset(N); colour: enum { X, Y };
var c: array [P] of colour; b: array [P] of boolean; d: array [P] of boolean;
startstate \"start\" begin for p: P do c[p] := X; b[p] := false; d[p] := false; end; end;
ruleset p: P do
  rule \"mark\" true ==> begin b[p] := true; end;
  rule \"paint\" !b[p] ==> begin c[p] := Y; end;
  rule \"see\" c[p] = X & exists q: P do b[q] & c[q] = Y end ==> begin d[p] := true; end;
end;
invariant \"nobody sees\" forall p: P do !d[p] end;
",
    "
const N: 3;
type P: scalarset(N);
var x: array [P] of boolean; w: array [P] of boolean; own: P; g: boolean;
startstate \"start\" begin g := false; for p: P do x[p] := false; w[p] := false; end; end;
ruleset p: P do
  rule \"own\" isundefined(own) ==> begin own := p; end;
  rule \"x\" !x[p] ==> begin x[p] := true; end;
  rule \"w\" !w[p] ==> begin w[p] := true; end;
  rule \"give\" !isundefined(own) ==> begin for q: P do if w[q] then x[own] := true; g := true; end; end; end;
end;
invariant \"not given\" !g;
",
];

fn cases() -> Vec<Case> {
    let fixed = [
        (COLOURS, 1, true),
        (MARKS, 1, true),
        (STARS, 1, false),
        (LINKS, 1, false),
        (LINKS, 1, true),
        (PAIRS, 2, false),
        (PAIRS, 1, true),
        (PAIRS, 1, false),
        (OWNERS[0], 1, false),
        (OWNERS[1], 1, false),
        (BLANK, 1, true),
        (ALL_AT_ONCE[0], 1, true),
        (ALL_AT_ONCE[1], 1, true),
        (ALL_AT_ONCE[2], 1, true),
        (ASKED_AFTERWARDS[0], 1, false),
        (ASKED_AFTERWARDS[1], 1, false),
        (NOTHING_CHANGES[0], 1, true),
        (NOTHING_CHANGES[1], 1, false),
    ];
    let fixed = fixed.into_iter().map(|(text, count, bits)| fixed_case(text, count, bits));
    let ordered = fixed_case(QUEUE, 1, false).ordered(0).expect("somebody waits");
    fixed.chain([ordered]).collect()
}

/// How a mistake is noticed in a model, if it is.
fn noticed(mutant: Mutant, case: &mut Case) -> Option<&'static str> {
    let found = with_mutant(mutant, || case.prove()).ok()?;
    if let Err(Doubt::Rejected(_)) = case.check(&found, 1_000) {
        return Some("by the checker");
    }
    case.search();
    case.wrong(&found).map(|_| "by brute force")
}

#[test]
fn every_mistake_is_noticed() {
    let more: u64 =
        std::env::var("SHOAL_RANDOM_MODELS").ok().and_then(|count| count.parse().ok()).unwrap_or(0);
    let mut cases = cases();
    for case in &cases {
        let found = case.prove().unwrap_or_else(|failure| panic!("{failure:?}: {}", case.text()));
        assert_eq!(case.check(&found, 1_000), Ok(()), "without a mistake: {}", case.text());
    }
    let mut missed = Vec::new();
    for mutant in Mutant::ALL {
        let mut how =
            cases.iter_mut().enumerate().find_map(|(at, case)| Some((at as u64, noticed(mutant, case)?)));
        for seed in 1..more + 1 {
            if how.is_none()
                && let Some(mut case) = case(seed)
            {
                how = noticed(mutant, &mut case).map(|how| (seed, how));
            }
        }
        match how {
            Some((which, how)) => println!("{mutant:?}: {which}, {how}"),
            None => missed.push(mutant),
        }
    }
    println!("missed: {missed:?}");
    assert!(missed.is_empty(), "{missed:?}");
}

/// Every view of small instances is there, and nothing is proved that they violate.
#[test]
fn what_a_write_changes_depends_on_what_was_there() {
    for (text, bits) in NOTHING_CHANGES.into_iter().zip([true, false]) {
        let mut case = fixed_case(text, 1, bits);
        let found = case.prove().unwrap_or_else(|failure| panic!("{failure:?}: {text}"));
        case.search();
        assert_eq!(case.wrong(&found), None, "{text}");
    }
}
