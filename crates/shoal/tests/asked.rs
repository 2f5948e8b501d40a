//! Expressions in the language of a model: read by its own front end, or refused; and they mean in each state what they say.

use std::path::Path;

use shoal::{LoadOptions, Loaded, Simulation, model::State};

fn gallery(name: &str, set: &[(&str, i64)]) -> Loaded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
    let set = set.iter().map(|(name, value)| (name.to_string(), *value)).collect();
    // A net asks nothing by itself.
    let target = name.ends_with("pnml").then(|| "eating1>=1,eating2>=1".to_string());
    shoal::load(path, &LoadOptions { set, target, ..LoadOptions::default() }).unwrap()
}

/// A few states: the first start, then whatever a seeded walk comes to.
fn states(loaded: &Loaded) -> Vec<State> {
    let mut walk = Simulation::new(&loaded.model, 3).unwrap();
    let mut seen = Vec::new();
    for _ in 0..40 {
        let mut moves = walk.moves();
        moves.retain(|next| next.result.is_ok());
        let Some(chosen) = walk.choose(&moves) else { break };
        walk.take(&moves[chosen]);
        seen.extend(walk.state().cloned());
    }
    assert!(seen.len() > 3, "the walk ends after {}", seen.len());
    seen
}

/// A model of the gallery, its constants, an expression and its opposite.
type Case = (&'static str, &'static [(&'static str, i64)], &'static str, &'static str);

/// One expression that is sometimes true, and its opposite; what is no expression is refused.
#[test]
fn every_language_can_be_asked() {
    let cases: [Case; 10] = [
        ("murphi/german_bug.m", &[], "owned", "!owned"),
        ("promela/peterson.pml", &[], "inside == 1", "!(inside == 1)"),
        ("promela/lost_update.pml", &[], "account >= 15", "account < 15"),
        ("heap/treiber_stack.dpml", &[], "top == null", "top != null"),
        ("sgm/fischer.vpl", &[("A", 2)], "mode(A[1]) = M1", "not (mode(A[1]) = M1)"),
        ("uppaal/station.xta", &[], "Train(0).Bridge", "not Train(0).Bridge"),
        ("red/mcs.red", &[], "L == NULL", "L != NULL"),
        ("beacon/update.bp", &[("Thread", 2)], "lock & !updating", "!lock | updating"),
        ("beacon/update.tts", &[("Thread", 2)], "shared = 0", "shared != 0"),
        ("beacon/dining.pnml", &[], "eating1 >= 1", "eating1 < 1"),
    ];
    for (file, set, holds, not) in cases {
        let loaded = gallery(file, set);
        let ask =
            |text: &str| shoal::ask(&loaded, text).unwrap_or_else(|error| panic!("{file}: {text}: {error}"));
        let (one, other) = (ask(holds), ask(not));
        assert!(one.is_condition() && other.is_condition(), "{file}");
        for state in states(&loaded) {
            assert_ne!(one.holds(&state), other.holds(&state), "{file}: {holds}");
        }
        for wrong in ["no_such_name_here", "(", "x) (y", ""] {
            assert!(shoal::ask(&loaded, wrong).is_err(), "{file}: {wrong:?} is no expression");
        }
    }
}

/// Values, where they are no truth values.
#[test]
fn values_are_shown_as_they_are() {
    for (file, set, text, first) in [
        ("murphi/german_bug.m", None, "serving", "NoRequest"),
        ("promela/peterson.pml", None, "inside + 2", "2"),
        ("uppaal/station.xta", None, "Box.waiting", "0"),
        ("beacon/dining.pnml", None, "eating1 + 3", "3"),
        ("sgm/fischer.vpl", Some(("A", 2)), "lock", "null"),
    ] {
        let loaded = gallery(file, set.as_slice());
        let asked = shoal::ask(&loaded, text).unwrap_or_else(|error| panic!("{file}: {text}: {error}"));
        let value = asked.value(&states(&loaded)[0]).unwrap();
        assert_eq!(loaded.model.show(&value).to_string(), first, "{file}: {text}");
    }
}

/// What is put behind an expression is not made a part of the model.
#[test]
fn more_than_an_expression_is_refused() {
    let loaded = gallery("murphi/german_bug.m", &[]);
    assert!(shoal::ask(&loaded, "owned); invariant \"more\" (true").is_err());
    let loaded = gallery("uppaal/station.xta", &[]);
    assert!(shoal::ask(&loaded, "true)\nE<> (true").is_err());
    let loaded = gallery("promela/peterson.pml", &[]);
    assert!(shoal::ask(&loaded, "true) } ltl more { [] (true").is_err());
}
