//! Mistakes in the analysis of loops are noticed by brute force over all permutations.
#![allow(clippy::print_stdout)]

use std::collections::BTreeSet;

use shoal_analysis::{AnalysisMutant, symmetry_of_steps, with_mutant};
use shoal_interpret::explore;
use shoal_model::{Model, SortId, State};
use shoal_syntax::SourceMap;

use crate::random::{brute::is_symmetric, loops};

/// What random models have seldom: each of these is not symmetric, for a reason of its own.
const FIXED: &[&str] = &[
    // Which of the elements was met last is kept with the highest value.
    "for i: P do if v[i] > top then top := v[i]; last := i; end; end;",
    // Known of this round only: the other rounds write what is read.
    "for i: P do v[i] := 1; if i != r then if v[r] = 1 then hit[i] := true; end; end; end;",
    // Up in some rounds, down in others: whether the range is left depends on which come first.
    "top := 0; for i: P do if v[i] = 0 then top := top + 1; else top := top - 1; end; end;",
    // What the last round left is read.
    "for i: P do m.who := i; v[m.who] := 1; end; last := m.who;",
    // The scratch of a round is that of the round before it.
    "m.who := r; for i: P do hit[i] := (m.who = r); m.who := i; end;",
    "for i: P do if v[i] = 0 then hit[i] := true; return; end; end;",
    // Whether the bag is full depends on who comes first.
    "for i: P do if v[i] = 1 then multisetremovepred(k: bag, bag[k] = i); else multisetadd(i, bag); end; end;",
    // Where the message goes is known in the first round of the inner loop, and is not in the second.
    "for i: P do m.who := i; for j := 1 to 2 do hit[m.who] := v[i] = 1; m.who := r; end; end;",
    // It is known at the end of the procedure, and not where that is left early.
    "for i: P do m.who := i; maybe(m, r); hit[m.who] := v[i] = 1; end;",
    "for i: P do top := v[i] + 1; end;",
    // It was known before something else was written there.
    "if !isundefined(last) then for i: P do m.who := i; m.who := last; hit[m.who] := v[i] = 1; end; end;",
];

/// A model with a body for its one rule with effects.
fn with_body(body: &str) -> String {
    format!(
        "
type P: scalarset(3); M: record who: P; n: 0..3; end;
var v: array [P] of 0..1; hit: array [P] of boolean; top: 0..3; last: P; bag: multiset [3] of P;
procedure keep(m: M); begin if top < 3 then v[m.who] := 1 - v[m.who]; end; end;
procedure maybe(var m: M; p: P); begin if v[p] = 1 then m.who := p; return; end; hit[m.who] := true; end;
startstate begin for i: P do v[i] := 0; hit[i] := false; end; top := 0; undefine last; undefine bag; end;
ruleset r: P do
  rule \"turn\" v[r] = 0 ==> begin v[r] := 1; end;
  rule \"name\" isundefined(last) ==> begin last := r; end;
  rule \"act\" true ==> var m: M; begin undefine m; m.n := 0; {body} end;
end;
"
    )
}

/// These are symmetric, and that is proved.
#[test]
fn what_commutes_is_proved() {
    for body in [
        "top := 0; for i: P do if v[i] > top then top := v[i]; end; end;",
        "for i: P do if hit[i] & top < v[i] then top := v[i]; end; end;",
        "for i: P do m.who := i; keep(m); end;",
        "for i: P do if hit[i] then top := (top + 2 * v[i]) % 4; end; end;",
    ] {
        let model = load(&with_body(body));
        assert_eq!(proved(&model).len(), usize::from(!body.contains('%')), "{body}");
    }
}

fn load(text: &str) -> Model {
    let mut sources = SourceMap::default();
    let id = sources.add("model.m", text);
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &shoal_murphi::Options::default());
    model.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"))
}

/// Models, the sorts of each that are proved, and their states, as far as there are not too many.
fn cases() -> Vec<(Model, Vec<SortId>, BTreeSet<State>)> {
    let random = (0..SEEDS).map(loops::seeded);
    let texts = FIXED.iter().map(|body| with_body(body)).chain(random);
    let case = |text: String| {
        let model = load(&text);
        let found = explore(&model, 2_000).unwrap();
        let states: BTreeSet<State> = found.reached.iter().cloned().collect();
        let proved = proved(&model);
        found.complete.then_some((model, proved, states))
    };
    texts.filter_map(case).collect()
}

const SEEDS: u64 = 60;

fn proved(model: &Model) -> Vec<SortId> {
    let known = symmetry_of_steps(model);
    model.sorts.ids().filter(|sort| known.sorts[*sort].is_proved()).collect()
}

#[test]
fn mistakes_are_noticed() {
    let cases = cases();
    println!("{} models", cases.len());
    let mut missed = Vec::new();
    for mutant in AnalysisMutant::ALL {
        let mut wrong = 0;
        for (model, honest, states) in &cases {
            let claimed = with_mutant(mutant, || proved(model));
            wrong += usize::from(claimed != *honest && !is_symmetric(model, states, &claimed));
        }
        println!("{mutant:?}: {wrong} wrong proofs");
        if wrong == 0 {
            missed.push(mutant);
        }
    }
    assert!(AnalysisMutant::ALL.len() - missed.len() >= 10, "{missed:?}");
}
