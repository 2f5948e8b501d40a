//! Formulas of branching time on random models: the explicit and the symbolic engine and the engine of counters against brute
//! force.

use std::fmt::Write;

use proptest::prelude::*;
use shoal_counters::{BroadcastMode, Options};
use shoal_interpret::{ReplayError, confirm, decide_branching};
use shoal_model::{
    Job, Limits, Logic, Model, Outcome, PropertyId, PropertyKind, Quiet, Reason, SortId, Verdict, Watch,
};
use shoal_syntax::SourceMap;

/// A small model of processes that move between places, with a flag and a number that all share; and formulas.
pub(crate) fn model(bytes: &[u8]) -> String {
    let mut at = 0;
    let mut pick = |count: usize| {
        let byte = bytes.get(at).copied().unwrap_or(0);
        at += 1;
        usize::from(byte) % count
    };
    let mut text = format!("const N: {};\n", 1 + pick(4));
    text.push_str("type P: scalarset(N); L: enum { A, B, C };\nvar l: array [P] of L; f: array [P] of boolean; g: boolean; n: 0..2; h: P;\n");
    text.push_str("startstate begin for i: P do l[i] := A; f[i] := false; end; g := false; n := 0; end;\n");
    let places = ["A", "B", "C"];
    for rule in 0..1 + pick(5) {
        let _ = writeln!(text, "ruleset i: P do rule \"r{rule}\" l[i] = {}", places[pick(3)]);
        match pick(11) {
            1 => text.push_str(" & g"),
            2 => text.push_str(" & !g"),
            3 => text.push_str(" & n < 2"),
            4 => text.push_str(" & exists j: P do j != i & l[j] = B end"),
            5 => text.push_str(" & forall j: P do l[j] != C end"),
            6 => text.push_str(" & f[i]"),
            7 => text.push_str(" & forall j: P do j = i | !f[j] end"),
            8 => text.push_str(" & isundefined(h)"),
            9 => text.push_str(" & !isundefined(h) & h = i"),
            10 => text.push_str(" & !isundefined(h) & f[h]"),
            _ => {}
        }
        text.push_str(" ==>\n");
        for _ in 0..1 + pick(2) {
            let place = places[pick(3)];
            match pick(16) {
                0 | 1 => drop(writeln!(text, "  l[i] := {place};")),
                2 => text.push_str("  g := !g;\n"),
                3 => text.push_str("  if n < 2 then n := n + 1; else n := 0; end;\n"),
                4 => text.push_str("  f[i] := !f[i];\n"),
                5 => drop(writeln!(
                    text,
                    "  for j: P do if l[j] = {place} then l[j] := A; f[j] := g; end; end;"
                )),
                6 => drop(writeln!(text, "  if g then l[i] := {place}; else f[i] := true; end;")),
                7 => text.push_str("  for j: P do f[j] := false; end;\n"),
                10 => text.push_str("  h := i;\n"),
                11 => text.push_str("  undefine h;\n"),
                12 => drop(writeln!(text, "  if !isundefined(h) then l[h] := {place}; f[h] := g; end;")),
                14 => text.push_str(
                    "  if exists j: P do f[j] end then n := 0; for j: P do if f[j] then n := n + 1; end; end; end;\n",
                ),
                13 => text.push_str("  if g then h := i; end;\n"),
                // Neither is idempotent: a second time would lead on.
                8 => text.push_str("  for j: P do f[j] := !f[j]; end;\n"),
                9 => drop(writeln!(
                    text,
                    "  for j: P do switch l[j] case A: l[j] := B; case B: l[j] := {place}; else l[j] := A; end; end;"
                )),
                _ => drop(writeln!(text, "  if exists j: P do f[j] end then l[i] := {place}; end;")),
            }
        }
        text.push_str("end; end;\n");
    }
    let fair = pick(4);
    if fair % 2 == 1 {
        let _ = writeln!(text, "fairness {};", atom(&mut pick));
    }
    if fair / 2 == 1 {
        let of_element =
            ["l[i] != C", "f[i]", "l[i] = A | g", "isundefined(h) | h != i | f[i]", "!f[i] & l[i] = B"];
        let _ = writeln!(text, "ruleset i: P do fairness {}; end;", of_element[pick(5)]);
    }
    if pick(5) == 1 {
        let _ = writeln!(text, "assume !({});", atom(&mut pick));
    }
    for number in 0..1 + pick(3) {
        let _ = writeln!(text, "ctl \"c{number}\" {};", formula(&mut pick, 3));
    }
    if pick(2) == 1 {
        text.push_str("ctl \"one\" forall i: P do AG (l[i] = B -> AF l[i] != B) end;\n");
    }
    if pick(3) == 1 {
        text.push_str("ctl \"two\" forall i: P do forall j: P do AG (l[i] = B & f[j] -> EG !(l[j] = C & i != j)) end end;\n");
    }
    text
}

fn atom(pick: &mut dyn FnMut(usize) -> usize) -> &'static str {
    [
        "g",
        "n = 0",
        "exists i: P do l[i] = B end",
        "forall i: P do l[i] != C end",
        "exists i: P do f[i] end",
        "n = 2",
        "!isundefined(h)",
        "!isundefined(h) -> l[h] = B",
        "exists i: P do f[i] & (isundefined(h) | h != i) end",
    ][pick(9)]
}

fn formula(pick: &mut dyn FnMut(usize) -> usize, depth: usize) -> String {
    if depth == 0 {
        return format!("({})", atom(pick));
    }
    let inner = |pick: &mut dyn FnMut(usize) -> usize| formula(pick, depth - 1);
    match pick(12) {
        0 => format!("({})", atom(pick)),
        1 => format!("!({})", inner(pick)),
        2 => format!("({} & {})", inner(pick), inner(pick)),
        3 => format!("({} -> {})", inner(pick), inner(pick)),
        4 => format!("AG {}", inner(pick)),
        5 => format!("EG {}", inner(pick)),
        6 => format!("AF {}", inner(pick)),
        7 => format!("EF {}", inner(pick)),
        8 => format!("AX {}", inner(pick)),
        9 => format!("EX {}", inner(pick)),
        10 => format!("A [{} U {}]", inner(pick), inner(pick)),
        _ => format!("E [{} R {}]", inner(pick), inner(pick)),
    }
}

fn load(text: &str) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("random.m", text);
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &shoal_murphi::Options::default());
    model.unwrap_or_else(|| panic!("the generator wrote a wrong model: {diagnostics:?}\n{text}"))
}

fn compare(model: &Model, outcome: &Outcome, expected: &[(PropertyId, bool)], what: &str, text: &str) {
    for (id, holds) in expected {
        let result = outcome.results.iter().find(|result| result.property == *id).unwrap();
        match &result.verdict {
            Verdict::Holds => {
                assert!(*holds, "{what} says that {} holds\n{text}", model.properties[*id].name)
            }
            Verdict::Violated(violation) => {
                assert!(!*holds, "{what} says that {} is violated\n{text}", model.properties[*id].name);
                assert_eq!(violation.reason, Reason::FormulaFalse);
                match confirm(model, *id, violation) {
                    Ok(()) | Err(ReplayError::NotConfirmed { .. }) => {}
                    Err(error) => panic!("{what}: {error}\n{text}"),
                }
            }
            Verdict::Unknown(reason) => panic!("{what}: {reason}\n{text}"),
        }
    }
}

fn check(text: &str) {
    let model = load(text);
    let Some(expected) = decide_branching(&model, 3_000) else { return };
    let ctl = |id: &PropertyId| matches!(model.properties[*id].kind, PropertyKind::Temporal(Logic::Ctl, _));
    let properties: Vec<PropertyId> = model.properties.ids().filter(ctl).collect();
    let limits = Limits { memory: Some(1 << 26), ..Limits::default() };
    let symmetry = shoal_analysis::symmetry(&model);
    let symmetric: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    for (symmetric, threads) in [(Vec::new(), 1), (symmetric.clone(), 2)] {
        let what = format!("explicit, {} symmetric sorts", symmetric.len());
        let job = Job { symmetric, jit: true, threads, ..Job::new(properties.clone()) };
        let outcome = shoal_explicit::check(&model, &job, &mut Quiet).expect("the engine takes it");
        compare(&model, &outcome, &expected, &what, text);
    }
    let job = Job { symmetric, watch: Watch::start(limits), ..Job::new(properties) };
    let outcome = shoal_symbolic::check(&model, &job, &mut Quiet).expect("the engine takes it");
    compare(&model, &outcome, &expected, "symbolic", text);
    if job.symmetric.is_empty() {
        return;
    }
    for broadcast in [BroadcastMode::Composed, BroadcastMode::Simultaneous, BroadcastMode::Serial] {
        let options = Options { broadcast, ..Default::default() };
        let outcome = shoal_counters::check(&model, &job, options, &mut Quiet)
            .unwrap_or_else(|refusal| panic!("{refusal}\n{text}"));
        compare(&model, &outcome, &expected, &format!("counters, {broadcast:?}"), text);
    }
}

/// The explicit engine and counters, with and without diagrams: the same verdicts, traces and orbits.
fn count(text: &str) {
    let mut model = load(text);
    // What formulas name is not told apart here.
    for property in model.properties.iter_mut() {
        if matches!(property.kind, PropertyKind::Temporal(..)) {
            property.kind = PropertyKind::Assertion;
        }
    }
    model.fairness.clear();
    let symmetry = shoal_analysis::symmetry(&model);
    let symmetric: Vec<SortId> = model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
    if symmetric.is_empty() {
        return;
    }
    let properties = model.properties.ids().collect();
    let job = Job { symmetric, ..Job::new(properties) };
    let found = |outcome: Outcome| -> (u64, Vec<Option<usize>>) {
        let depth = |verdict: &Verdict| match verdict {
            Verdict::Violated(violation) => violation.trace.as_ref().map(|trace| trace.steps.len()),
            _ => None,
        };
        for result in &outcome.results {
            if let Verdict::Violated(violation) = &result.verdict {
                confirm(&model, result.property, violation).unwrap_or_else(|error| panic!("{error}\n{text}"));
            }
        }
        (outcome.statistics.states, outcome.results.iter().map(|result| depth(&result.verdict)).collect())
    };
    let expected = found(shoal_explicit::check(&model, &job, &mut Quiet).unwrap());
    for explicit in [false, true] {
        let options = Options { explicit, reduce: false, ..Default::default() };
        let counted = found(shoal_counters::check(&model, &job, options, &mut Quiet).unwrap());
        assert_eq!(counted, expected, "counters, explicit: {explicit}\n{text}");
        let reduced = Options { explicit, ..Default::default() };
        let reduced = found(shoal_counters::check(&model, &job, reduced, &mut Quiet).unwrap());
        assert_eq!(reduced.1, expected.1, "counters with fewer local states\n{text}");
        assert!(reduced.0 <= expected.0, "counters with fewer local states\n{text}");
    }
    let options = Options { broadcast: BroadcastMode::Serial, reduce: false, ..Default::default() };
    let serial = found(shoal_counters::check(&model, &job, options, &mut Quiet).unwrap());
    assert_eq!(serial, expected, "counters, serial\n{text}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: crate::random::dose(100),
        max_shrink_iters: 5_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn engines_agree_with_brute_force(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        check(&model(&bytes));
        count(&model(&bytes));
    }
}

/// The generators are of use only if both answers come up.
#[test]
fn random_formulas_are_worth_checking() {
    let mut seed = 1_u64;
    let (mut hold, mut fail) = (0, 0);
    for _ in 0..60 {
        let bytes: Vec<u8> = (0..80)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 56) as u8
            })
            .collect();
        let Some(found) = decide_branching(&load(&model(&bytes)), 3_000) else { continue };
        hold += found.iter().filter(|(_, holds)| *holds).count();
        fail += found.iter().filter(|(_, holds)| !holds).count();
    }
    assert!(hold >= 20 && fail >= 20, "dull: {hold} hold, {fail} fail");
}

/// Two elements that change places change the state, though not the counters: that is no deadlock.
#[test]
fn changing_places_is_a_change() {
    count(
        "type P: scalarset(2); var h: P; f: array [P] of boolean;
         startstate begin for i: P do f[i] := false; end; end;
         ruleset i: P do rule \"take\" true ==> h := i; end; end;",
    );
    count(
        "type P: scalarset(3); var l: array [P] of 0..1;
         startstate begin for i: P do l[i] := 0; end; end;
         ruleset i: P do rule \"first\" forall j: P do l[j] = 0 end ==> l[i] := 1; end; end;
         ruleset i: P; j: P do rule \"swap\" l[i] = 1 & l[j] = 0 ==> l[i] := 0; l[j] := 1; end; end;",
    );
}

/// Moves are not taken many times at once through states that an assumption drops.
#[test]
fn acceleration_stops_where_assumptions_fail() {
    count(
        "type P: scalarset(6); var l: array [P] of 0..1;
         startstate begin for i: P do l[i] := 0; end; end;
         ruleset i: P do rule \"go\" l[i] = 0 ==> l[i] := 1; end; end;
         assume (exists i: P do exists j: P do i != j & l[i] = 1 & l[j] = 1 end end)
             -> forall i: P do l[i] = 1 end;
         invariant \"some left\" exists i: P do l[i] = 0 end;",
    );
}
