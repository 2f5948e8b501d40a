//! One gallery, every engine: the same verdicts, the same numbers of states and of orbits, shortest traces of one length.

use std::{fs, path::Path};

use shoal::{CheckOptions, CounterOptions, Engine, Error, LoadOptions, Loaded, Report, check, load};
use shoal_model::{Logic, PropertyKind, Quiet, Verdict};

/// The violated properties with the lengths of their traces, and the number of states.
fn found(loaded: &Loaded, report: &Report) -> (Vec<(String, usize)>, u64) {
    let violated = report.outcome.results.iter().filter_map(|result| match &result.verdict {
        Verdict::Holds => None,
        Verdict::Violated(violation) => {
            let length = violation.trace.as_ref().map_or(0, |trace| trace.steps.len());
            Some((loaded.model.properties[result.property].name.clone(), length))
        }
        Verdict::Unknown(reason) => panic!("{}: {reason}", loaded.model.name),
    });
    (violated.collect(), report.outcome.statistics.states)
}

#[test]
fn engines_agree_on_the_gallery() {
    let (mut symbolic, mut counted) = (0, 0);
    for folder in ["murphi", "utool"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(folder);
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            // The one has millions of states without patience, the other 1,300 local states without reduction.
            if ["german_bug.m", "ascii.m"].iter().any(|name| path.ends_with(name)) {
                continue;
            }
            let loaded = load(&path, &LoadOptions::default()).unwrap();
            // What all engines take: no temporal formulas.
            let plain = |id| !matches!(loaded.model.properties[id].kind, PropertyKind::Temporal(..));
            let names = loaded.asked.iter().filter(|id| plain(**id));
            let properties: Vec<String> = names.map(|id| loaded.model.properties[*id].name.clone()).collect();
            let run = |engine, symmetry, counters| {
                let options = CheckOptions {
                    properties: properties.clone(),
                    engine: Some(engine),
                    symmetry,
                    counters,
                    patience: None,
                    ..CheckOptions::default()
                };
                check(&loaded, &options, &mut Quiet)
            };
            let mut plain = CounterOptions { reduce: false, ..CounterOptions::default() };
            let full = run(Engine::Explicit, false, plain).unwrap();
            match run(Engine::Symbolic, false, plain) {
                Ok(report) => {
                    symbolic += 1;
                    assert_eq!(found(&loaded, &report), found(&loaded, &full), "{}", path.display());
                }
                Err(Error::Unsupported(what)) => {
                    assert_eq!(what.construct, "multisets", "{}", path.display())
                }
                Err(error) => panic!("{}: {error}", path.display()),
            }
            let orbits = run(Engine::Explicit, true, plain).unwrap();
            for explicit in [false, true] {
                plain.explicit = explicit;
                match run(Engine::Counters, true, plain) {
                    Ok(report) => {
                        counted += 1;
                        let (counts, expected) = (found(&loaded, &report), found(&loaded, &orbits));
                        assert_eq!(counts.0, expected.0, "{}", path.display());
                        // Where only some sorts can be counted, there are more classes than orbits.
                        let all =
                            report.outcome.statistics.reductions == orbits.outcome.statistics.reductions;
                        assert!(!all || counts.1 == expected.1, "{}: {counts:?}", path.display());
                    }
                    Err(Error::Unsupported(_)) => {}
                    Err(error) => panic!("{}: {error}", path.display()),
                }
            }
        }
    }
    assert!(symbolic >= 26 && counted >= 10, "{symbolic} symbolic, {counted} counted");
}

/// Formulas of the gallery are decided by the engine that `auto` chooses, and by the symbolic engine, alike.
#[test]
fn formulas_of_the_gallery_hold_on_counters_and_on_all_states() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/utool");
    let mut formulas = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let loaded = load(entry.unwrap().path(), &LoadOptions::default()).unwrap();
        let branching =
            |id| matches!(loaded.model.properties[id].kind, PropertyKind::Temporal(Logic::Ctl, _));
        for engine in [None, Some(Engine::Symbolic)] {
            let report =
                check(&loaded, &CheckOptions { engine, ..CheckOptions::default() }, &mut Quiet).unwrap();
            formulas += report.outcome.results.iter().filter(|result| branching(result.property)).count();
            assert_eq!(found(&loaded, &report).0, Vec::new());
        }
    }
    assert!(formulas >= 8, "{formulas} formulas");
}

/// Of the two examples of the paper, exactly the local states are left that it lists.
#[test]
fn local_states_are_those_of_the_paper() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/utool");
    for (model, conceivable, kept) in [("figure_1.m", 32, 10), ("ascii.m", 5120, 355)] {
        let loaded = load(folder.join(model), &LoadOptions::default()).unwrap();
        let states = &shoal::local_states(&loaded)[0];
        assert_eq!((states.conceivable, &states.kept), (conceivable, &Ok(kept)), "{model}");
    }
    let loaded = load(folder.join("figure_1.m"), &LoadOptions::default()).unwrap();
    let states = &shoal::local_states(&loaded)[0];
    let live: Vec<Vec<String>> = states.points.iter().map(|(_, live)| live.clone()).collect();
    let expected: Vec<Vec<String>> = (0..8)
        .map(|line| match line {
            1 => vec!["nonempty".to_string()],
            3 => vec!["locked".to_string()],
            _ => Vec::new(),
        })
        .collect();
    assert_eq!((states.control.as_deref(), live), (Some("pc"), expected));
}
