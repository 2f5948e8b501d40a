//! Data of which one instance shows all, by brute force: small models with two or three places that hold values.

use shoal_analysis::{is_data, with_spare};
use shoal_interpret::explore;
use shoal_model::{Model, PropertyId, SortId, SortSize};
use shoal_syntax::SourceMap;

const ACTIONS: &[&str] = &[
    "a := e;",
    "b := a;",
    "if !isundefined(b) then c[1] := b end;",
    "if isundefined(a) then a := e; else b := e end;",
    "undefine a;",
    "if !isundefined(a) & !isundefined(b) & a = b then go := !go end;",
    "c[2] := c[1]; c[1] := a;",
    "if go then undefine c end;",
];

const CLAIMS: &[&str] = &[
    "isundefined(a) | isundefined(b) | a = b",
    "isundefined(c[1]) | isundefined(c[2]) | c[1] = c[2]",
    "isundefined(a) | isundefined(b) | isundefined(c[1]) | a = b | b = c[1] | a = c[1]",
    "go",
];

fn text(number: usize) -> String {
    let action = |at: usize| ACTIONS[number / ACTIONS.len().pow(at as u32) % ACTIONS.len()];
    let claims: String =
        CLAIMS.iter().enumerate().map(|(at, claim)| format!("invariant \"{at}\" {claim};\n")).collect();
    format!(
        "type value: scalarset(2); var a: value; b: value; c: array [1..2] of value; go: boolean;
         startstate go := true end;
         ruleset e: value do rule \"x\" begin {} end; rule \"y\" go ==> {} {} end; end;
         {claims}",
        action(0),
        action(1),
        action(2),
    )
}

/// What is violated with so many values, and whether more do nothing else.
fn searched(model: &Model, sort: SortId, values: u32) -> (Vec<PropertyId>, bool) {
    let mut instance = model.clone();
    instance.sorts[sort].size = SortSize::Fixed(values);
    let (instance, spare) = with_spare(&instance, &[sort]).expect("one value is chosen");
    let mut found = explore(&instance, 100_000).expect("it can be run");
    assert!(found.complete, "it is small");
    let enough = found.violated.remove(&spare).is_none();
    (found.violated.into_keys().filter(|id| model.properties[*id].name != "deadlock").collect(), enough)
}

#[test]
fn values_to_spare_show_all() {
    let (mut late, mut enough) = (0, 0);
    for number in (0..512).step_by(7) {
        let text = text(number);
        let mut sources = SourceMap::new();
        let id = sources.add("values.m", text.as_str());
        let (model, diagnostics) = shoal_murphi::load(&sources, id, &shoal_murphi::Options::default());
        assert!(!diagnostics.has_errors(), "{text}\n{diagnostics:?}");
        let model = model.expect("a model");
        let sort = model.sorts.ids().next().expect("values");
        assert!(is_data(&model, sort));
        let found: Vec<_> = (1..=6).map(|values| searched(&model, sort, values)).collect();
        let first = found.iter().position(|(_, enough)| *enough).expect("four places hold at most four");
        assert!(
            found.iter().all(|(violated, _)| violated.iter().all(|it| found[first].0.contains(it))),
            "{text}"
        );
        assert!(found[first..].iter().all(|(_, enough)| *enough), "{text}");
        late += usize::from(found[0].0 != found[first].0);
        enough += usize::from(first < 4);
    }
    assert!(late > 8 && enough > 8, "the models are dull: {late}, {enough}");
}
