//! Random models against brute force: what is proved holds in all small instances, and every view of every reachable
//! state of instances with a few elements more than a view is among the views found.
//!
//! `SHOAL_VIEWS_MODELS` is how many models are made (the dose of the gate is small), `SHOAL_VIEWS_SEED` the first seed.
#![allow(clippy::print_stdout)]

use shoal_interpret::{explore, explore_folded};
use shoal_model::{Model, PropertyId, PropertyKind, SortId, SortSize, State};
use shoal_syntax::SourceMap;
use shoal_views::{Budget, Failure, ViewConfig, abstraction_and_test};

use crate::permute;

/// A plain generator of random numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides
    }

    fn of<'a>(&mut self, options: &[&'a str]) -> &'a str {
        options[self.roll(options.len())]
    }
}

/// A condition on the element `p` (and what belongs to no element).
fn condition(dice: &mut Dice) -> String {
    let simple = [
        "c[p] = X",
        "c[p] = Y",
        "c[p] != Z",
        "b[p]",
        "!b[p]",
        "g",
        "!g",
        "h = 0",
        "h < 2",
        "isundefined(own)",
        "!isundefined(own) & own = p",
        "!isundefined(own) & own != p",
        "isundefined(n[p])",
        "!isundefined(n[p]) & n[p] = p",
        "!isundefined(n[p]) & c[n[p]] = X",
        "!isundefined(n[p]) & !isundefined(own) & n[p] = own",
        "!isundefined(own) & b[own]",
        "forall q: P do c[q] != Y end",
        "exists q: P do b[q] end",
        "forall q: P do q = p | !b[q] end",
        "exists q: P do q != p & c[q] = c[p] end",
        "exists q: P do !isundefined(n[q]) & n[q] = p end",
        "!isundefined(u) & ismember(u, P)",
        "!isundefined(u) & u = Nobody",
        "marked(p)",
        "forall q: P do forall r: P do q = r | c[q] != Z | c[r] != Z end end",
        "multisetcount(i: bag, bag[i].who = p) = 0",
        "multisetcount(i: bag, true) < 2",
    ];
    let mut text = dice.of(&simple).to_string();
    for _ in 0..dice.roll(3) {
        let word = dice.of(&["&", "&", "|"]);
        text = format!("({text}) {word} ({})", dice.of(&simple));
    }
    text
}

fn action(dice: &mut Dice) -> String {
    let simple = [
        "c[p] := X;",
        "c[p] := Y;",
        "c[p] := Z;",
        "b[p] := true;",
        "b[p] := false;",
        "g := !g;",
        "g := true;",
        "if h < 2 then h := h + 1; end;",
        "h := 0;",
        "own := p;",
        "undefine own;",
        "n[p] := own;",
        "n[p] := p;",
        "undefine n[p];",
        "if !isundefined(n[p]) then c[n[p]] := Y; end;",
        "if !isundefined(own) then n[p] := own; end;",
        "if !isundefined(own) then b[own] := true; end;",
        "if !isundefined(n[p]) then own := n[p]; end;",
        "for q: P do b[q] := false; end;",
        "for q: P do if c[q] = Y then c[q] := X; end; end;",
        "for q: P do if q != p then b[q] := g; end; end;",
        "for q: P do if b[q] then g := true; end; end;",
        "for q: P do n[q] := p; end;",
        "if exists q: P do c[q] = Z end then g := false; end;",
        "u := p;",
        "u := Nobody;",
        "undefine u;",
        "mark(p);",
        "undefine b;",
        "if !isundefined(u) & ismember(u, P) then own := u; end;",
        "if multisetcount(i: bag, true) < 2 then m.who := p; m.what := c[p]; multisetadd(m, bag); end;",
        "multisetremovepred(i: bag, bag[i].who = p, bag);",
        "x := c[p]; c[p] := Y; g := x = Y;",
        "for q: P do x := c[q]; if x = Z then b[q] := true; end; end;",
    ];
    let mut text = String::new();
    for _ in 0..=dice.roll(3) {
        text += dice.of(&simple);
        text.push(' ');
    }
    // What is sent is what is written here: `multisetremovepred` has the bag first.
    text.replace(
        "multisetremovepred(i: bag, bag[i].who = p, bag);",
        "multisetremovepred(i: bag, bag[i].who = p);",
    )
}

fn model(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..8 {
        dice.roll(2);
    }
    let mut text = "
const N: 3;
type
  P: scalarset(N);
  colour: enum { X, Y, Z };
  perhaps: union { P, enum { Nobody } };
  message: record who: P; what: colour; end;
var
  c: array [P] of colour;
  b: array [P] of boolean;
  n: array [P] of P;
  g: boolean;
  h: 0..2;
  own: P;
  u: perhaps;
  bag: multiset [2] of message;
function marked(p: P): boolean; begin return b[p] | c[p] = Z; end;
procedure mark(p: P); begin if c[p] = X then b[p] := true; end; end;
startstate
begin
  for p: P do c[p] := X; b[p] := false; undefine n[p]; end;
  g := false; h := 0; undefine own; undefine u;
end;
"
    .to_string();
    // Without rules that make things move, most random models have five states.
    let base = [
        "c[p] = X ==> c[p] := Y;",
        "c[p] = Y & !g ==> c[p] := Z; g := true;",
        "c[p] = Z ==> c[p] := X; g := false;",
        "isundefined(own) ==> own := p;",
        "!isundefined(own) & own = p ==> undefine own;",
        "!isundefined(own) & isundefined(n[p]) ==> n[p] := own;",
        "b[p] = false ==> b[p] := true;",
    ];
    for number in 0..2 + dice.roll(3) {
        let (guard, body) = dice.of(&base).split_once("==>").unwrap_or_default();
        text += &format!("ruleset p: P do rule \"base {number}\" {guard} ==> begin {body} end; end;\n");
    }
    for number in 0..1 + dice.roll(4) {
        let (guard, body) = (condition(&mut dice), action(&mut dice));
        text += &format!(
            "ruleset p: P do rule \"r{number}\" {guard} ==> var x: colour; m: message; begin {body} end; end;\n"
        );
    }
    if dice.roll(4) == 0 {
        text += "choose i: bag do rule \"receive\" c[bag[i].who] != Z ==> begin own := bag[i].who; multisetremove(i, bag); end; end;\n";
    }
    let claims = [
        "forall p: P do forall q: P do p = q | c[p] != Z | c[q] != Z end end",
        "forall p: P do !(c[p] = Z & b[p]) end",
        "!isundefined(own) -> c[own] != Z",
        "forall p: P do isundefined(n[p]) | n[p] != p end",
        "g -> exists p: P do c[p] = Z end",
        "forall p: P do c[p] = Z -> g end",
        "forall p: P do !isundefined(n[p]) -> !isundefined(own) end",
        "isundefined(u)",
        "forall p: P do multisetcount(i: bag, bag[i].who = p) < 2 end",
        "h < 2",
    ];
    for number in 0..3 {
        let claim = dice.of(&claims);
        text += &format!("invariant \"i{number}\" {claim};\n");
    }
    text
}

fn read(text: &str, any: bool, number: u32) -> Option<Model> {
    let mut sources = SourceMap::new();
    let id = sources.add("random.m", text);
    let mut options = shoal_murphi::Options::default();
    match any {
        true => options.any.push("N".into()),
        false => options.set.push(("N".into(), i64::from(number))),
    }
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &options);
    assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
    model
}

#[derive(Default, Debug)]
struct Tally {
    proved: usize,
    violated: usize,
    open: usize,
    refused: usize,
    asymmetric: usize,
    stopped: usize,
    /// Instances with four and five elements of which all states were seen, and those that were cut.
    whole: [usize; 2],
    cut: [usize; 2],
}

/// States of an instance that are looked at.
const STATES: usize = 1_000;
/// Elements of the largest instance.
const LARGEST: u32 = 5;
/// Elements of the largest instance that is searched as it is. Of larger ones, one state stands for those that differ in
/// names.
const PLAIN: u32 = 3;

/// What is wrong with what the engine makes of a model, if anything.
fn wrong(seed: u64, tally: &mut Tally) -> Option<String> {
    let text = model(seed);
    let open = read(&text, true, 0)?;
    let symmetry = shoal_analysis::symmetry(&open);
    if open.sorts.ids().any(|sort| {
        open.sorts[sort].size == SortSize::Any
            && (!symmetry.sorts[sort].is_proved() || !symmetry.sorts[sort].pinned.is_empty())
    }) {
        tally.asymmetric += 1;
        return None;
    }
    let mut dice = Dice(seed.wrapping_add(77).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let count = 1 + dice.roll(2);
    let config = ViewConfig {
        elements: vec![count],
        least: Vec::new(),
        bits: dice.roll(2) == 0,
        order: None,
        more: 3,
    };
    let asked: Vec<PropertyId> = open.properties.ids().collect();
    let mut states: Vec<(Model, State)> = Vec::new();
    let mut instances = Vec::new();
    for number in count as u32..=LARGEST {
        let instance = read(&text, false, number)?;
        let sorts: Vec<SortId> = instance.sorts.ids().collect();
        let found = match number <= PLAIN {
            true => explore(&instance, STATES),
            false => explore_folded(&instance, STATES, &|state| permute::folded(&instance, state, &sorts)),
        };
        let found = found.expect("it can be run");
        if let Some(at) = number.checked_sub(4) {
            let seen = if found.complete { &mut tally.whole } else { &mut tally.cut };
            seen[at as usize] += 1;
        }
        if number as usize <= count + 2 {
            states.extend(found.reached.iter().map(|state| (instance.clone(), state.clone())));
        }
        instances.push((number, found));
    }
    let mut stop = || false;
    let mut budget = Budget { runs: 60_000, stop: &mut stop };
    let (found, missing) = match abstraction_and_test(&open, &asked, &config, &mut budget, &states) {
        Ok(found) => found,
        Err(Failure::Lacking(lacking)) => {
            assert!(!lacking.what.contains("internal"), "seed {seed}: {}\n{text}", lacking.what);
            tally.refused += 1;
            return None;
        }
        Err(Failure::Stopped) => {
            tally.stopped += 1;
            return None;
        }
    };
    if let Some(missing) = missing {
        return Some(format!(
            "seed {seed}, {config:?}: a view of a reachable state is missing: {missing}\n{text}"
        ));
    }
    let is_safety = |id: &PropertyId| {
        matches!(open.properties[*id].kind, PropertyKind::Invariant(_) | PropertyKind::NoFaults)
    };
    for property in &asked {
        let proved = found.proved.contains(property);
        let violated = instances.iter().find(|(_, found)| found.violated.contains_key(property));
        if let (true, Some((number, _))) = (proved, violated) {
            let name = &open.properties[*property].name;
            return Some(format!(
                "seed {seed}, {config:?}: {name:?} is proved, and violated with {number}\n{text}"
            ));
        }
        if is_safety(property) {
            match (proved, violated) {
                (true, _) => tally.proved += 1,
                (false, Some(_)) => tally.violated += 1,
                (false, None) => tally.open += 1,
            }
        }
    }
    None
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

#[test]
fn random_models_agree_with_brute_force() {
    let (first, count) = (number("SHOAL_VIEWS_SEED", 1), number("SHOAL_VIEWS_MODELS", 12));
    let mut tally = Tally::default();
    for seed in first..first + count {
        if let Some(wrong) = wrong(seed, &mut tally) {
            panic!("{wrong}");
        }
    }
    println!("{count} models: {tally:?}");
    assert!(count < 12 || (tally.proved > 0 && tally.violated > 0), "dull: {tally:?}");
}

/// Where it is forgotten who depends on what, and nothing is done once more at the end, views are missing.
#[cfg(feature = "mutants")]
#[test]
fn forgotten_dependencies_are_noticed() {
    use shoal_views::{Mutant, with_mutant};
    let seeds = |name: &str, known: &[u64]| match std::env::var(name) {
        Ok(last) => (1..=last.parse().expect("a number")).collect::<Vec<u64>>(),
        Err(_) => known.to_vec(),
    };
    for (mutant, known) in
        [(Mutant::AbsenceIsForgotten, &[298, 908][..]), (Mutant::PresenceIsForgotten, &[1][..])]
    {
        let seeds = seeds("SHOAL_VIEWS_MUTANT_SEEDS", known);
        let noticed = |seed: &u64| with_mutant(mutant, || wrong(*seed, &mut Tally::default())).is_some();
        let by: Vec<u64> = seeds.into_iter().filter(noticed).collect();
        println!("{mutant:?} is noticed by {by:?}");
        assert!(!by.is_empty(), "{mutant:?} is not noticed");
    }
}
