//! Damaged certificates of views and of states: what is accepted is still a proof. `SHOAL_RANDOM_MODELS` says how many.

use shoal_interpret::explore;
use shoal_model::{Model, PropertyId, SortSize, State, Watch};
use shoal_report::{
    AnyCertificate, ClaimOfInvariant, Origin, digest, read_any_certificate, write_states_certificate,
    write_views_certificate,
};
use shoal_syntax::SourceMap;
use shoal_verify::{check_states, check_windows, missing_window};
use shoal_views::{Budget, ViewConfig, abstraction};

use crate::random_systems::{Random, damaged};

/// A lock with a holder; one of what is claimed is wrong, and shows only with two.
const LOCK: &str = "
const N: 2;
type P: scalarset(N); s: enum { Idle, Waits, Holds };
var c: array [P] of s; holder: P; free: boolean; next: array [P] of P;
startstate \"start\" begin for p: P do c[p] := Idle; undefine next[p]; end; undefine holder; free := true; end;
ruleset p: P do
  rule \"ask\" c[p] = Idle ==> begin c[p] := Waits; end;
  rule \"take\" c[p] = Waits & forall q: P do c[q] != Holds end ==> begin c[p] := Holds; holder := p; free := false; end;
  rule \"give\" c[p] = Holds ==> begin c[p] := Idle; undefine holder; free := true; end;
  rule \"point\" !isundefined(holder) & isundefined(next[p]) ==> begin next[p] := holder; end;
end;
invariant \"one holds\" forall p: P do forall q: P do p = q | c[p] != Holds | c[q] != Holds end end;
invariant \"the holder holds\" forall p: P do c[p] = Holds -> !isundefined(holder) & holder = p end;
invariant \"one waits\" forall p: P do forall q: P do p = q | c[p] != Waits | c[q] != Waits end end;
";

fn load(number: Option<i64>) -> Model {
    let mut sources = SourceMap::new();
    let id = sources.add("lock.m", LOCK);
    let mut options = shoal_murphi::Options::default();
    match number {
        None => options.any.push("N".into()),
        Some(number) => options.set.push(("N".into(), number)),
    }
    let (model, diagnostics) = shoal_murphi::load(&sources, id, &options);
    assert!(!diagnostics.has_errors(), "{diagnostics:?}");
    model.expect("a model")
}

fn claim(model: &Model, properties: &[PropertyId]) -> ClaimOfInvariant {
    ClaimOfInvariant {
        origin: Origin { file: "lock.m".into(), ..Origin::default() },
        model: digest(model),
        properties: properties.iter().map(|property| model.properties[*property].name.clone()).collect(),
    }
}

/// The properties that a certificate names; nothing if it is not of this model.
fn claimed(model: &Model, claim: &ClaimOfInvariant) -> Option<Vec<PropertyId>> {
    let find =
        |name: &String| model.properties.enumerate().find(|(_, it)| it.name == *name).map(|(id, _)| id);
    let found: Vec<PropertyId> = claim.properties.iter().map(find).collect::<Option<_>>()?;
    (claim.model == digest(model) && !found.is_empty()).then_some(found)
}

/// Now and then a claim is replaced by another one: whoever damages on purpose does that.
fn mangle(text: &str, random: &mut Random) -> String {
    let names = ["one holds", "the holder holds", "one waits", "no run-time errors", "deadlock"];
    match random.below(4) {
        0 => {
            let (from, to) = (names[random.below(5) as usize], names[random.below(5) as usize]);
            text.replace(from, to)
        }
        1 => damaged(&damaged(text, random), random),
        _ => damaged(text, random),
    }
}

fn count() -> u32 {
    std::env::var("SHOAL_RANDOM_MODELS").ok().and_then(|text| text.parse().ok()).unwrap_or(40)
}

#[test]
fn damaged_certificates_of_views_prove_nothing_else() {
    let model = load(None);
    let asked: Vec<PropertyId> = model.properties.ids().collect();
    let mut stop = || false;
    let mut budget = Budget { runs: 100_000, stop: &mut stop };
    let config = ViewConfig { elements: vec![1], least: Vec::new(), bits: true, order: None, more: 3 };
    let found = abstraction(&model, &asked, &config, &mut budget).expect("it is supported");
    let mut text = Vec::new();
    write_views_certificate(&mut text, &claim(&model, &found.proved), &found.invariant)
        .expect("it is written");
    let text = String::from_utf8(text).expect("it is text");
    let instances: Vec<(Model, Vec<State>)> = [2, 3]
        .into_iter()
        .map(|number| {
            let instance = load(Some(number));
            let states = explore(&instance, 100_000).expect("it runs").reached;
            (instance, states)
        })
        .collect();
    let states: Vec<(&Model, &State)> =
        instances.iter().flat_map(|(model, states)| states.iter().map(move |state| (model, state))).collect();
    let (mut random, mut read, mut accepted) = (Random(11), 0, 0);
    let watch = Watch::default();
    for number in 0..=count() {
        // The first is whole.
        let text = if number == 0 { text.clone() } else { mangle(&text, &mut random) };
        let Ok(AnyCertificate::Views(said, invariant)) = read_any_certificate(&mut text.as_bytes()) else {
            continue;
        };
        let Some(properties) = claimed(&model, &said) else { continue };
        read += 1;
        if check_windows(&model, &invariant, &properties, &[], None, &watch).is_err() {
            assert!(number > 0, "the whole certificate is accepted");
            continue;
        }
        accepted += 1;
        for property in properties {
            assert!(found.proved.contains(&property), "{:?}\n{text}", model.properties[property].name);
        }
        assert_eq!(missing_window(&model, &invariant, &states), Ok(None), "{text}");
    }
    assert!(read > count() / 10 && accepted > 0, "dull: {read} read, {accepted} accepted");
    println!("{} damaged certificates of views: {read} can be read, {accepted} accepted", count());
}

#[test]
fn damaged_certificates_of_states_prove_nothing_else() {
    let model = load(Some(3));
    let searched = explore(&model, 100_000).expect("it runs");
    let holding: Vec<PropertyId> =
        model.properties.ids().filter(|id| !searched.violated.contains_key(id)).collect();
    // One of each orbit: the checker finds the others.
    let symmetric: Vec<_> =
        model.sorts.ids().filter(|id| model.sorts[*id].size == SortSize::Fixed(3)).collect();
    let mut kept: Vec<State> = Vec::new();
    let watch = Watch::default();
    for state in &searched.reached {
        let known = [&kept[..], std::slice::from_ref(state)].concat();
        let orbits =
            |states: &[State]| shoal_verify::count_orbits(&model, &symmetric, states).expect("few alike");
        if orbits(&known) > kept.len() {
            kept.push(state.clone());
        }
    }
    assert!(kept.len() * 3 < searched.states, "{} of {}", kept.len(), searched.states);
    let mut text = Vec::new();
    write_states_certificate(&mut text, &claim(&model, &holding), &symmetric, &kept).expect("it is written");
    let text = String::from_utf8(text).expect("it is text");
    let (mut random, mut read, mut accepted) = (Random(12), 0, 0);
    for number in 0..=count() {
        let text = if number == 0 { text.clone() } else { mangle(&text, &mut random) };
        let Ok(AnyCertificate::States(said, states)) = read_any_certificate(&mut text.as_bytes()) else {
            continue;
        };
        let Some(properties) = claimed(&model, &said) else { continue };
        // Which sorts may be reduced by is for the analysis to say.
        if states.symmetric.iter().any(|sort| !symmetric.contains(sort)) {
            continue;
        }
        read += 1;
        let checked = check_states(&model, &states.symmetric, &states.states, &properties, None, &watch);
        if checked.is_err() {
            assert!(number > 0, "the whole certificate is accepted: {checked:?}");
            continue;
        }
        accepted += 1;
        for property in properties {
            assert!(holding.contains(&property), "{:?}\n{text}", model.properties[property].name);
        }
        let all = [&states.states[..], &searched.reached[..]].concat();
        let orbits =
            |some: &[State]| shoal_verify::count_orbits(&model, &states.symmetric, some).expect("few alike");
        assert_eq!(orbits(&all), orbits(&states.states), "{text}");
    }
    assert!(read > count() / 10 && accepted > 0, "dull: {read} read, {accepted} accepted");
    println!("{} damaged certificates of states: {read} can be read, {accepted} accepted", count());
}
