//! A random walk never finds what a check says does not exist: over the whole gallery, from several seeds.

use std::{fs, path::Path, time::Duration};

use shoal::{CheckOptions, Error, LoadOptions, Loaded, Simulation, check, load};
use shoal_model::{FaultKind, Limits, PropertyId, PropertyKind, Quiet, Verdict, Watch};

use crate::random::{compared, dose, salt};

/// Steps of a walk.
const STEPS: usize = 40;

/// The models of the gallery that can be walked through: those with any number of threads have to be given one.
fn gallery() -> Vec<(String, Loaded)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let folders = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        folders.flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path()).collect();
    // Nets in this format begin with any number of tokens.
    files.retain(|file| file.extension().is_some_and(|ending| ending != "q" && ending != "spec"));
    files.sort();
    assert!(files.len() > 80);
    let read = |file: &std::path::PathBuf| {
        let set = match file.extension().and_then(|ending| ending.to_str()) {
            Some("bp" | "tts") => vec![("Thread".to_string(), 3)],
            _ => Vec::new(),
        };
        // What a net is asked stands in its head.
        let text = fs::read_to_string(file).unwrap();
        let words = text.lines().take(2).flat_map(str::split_whitespace);
        let target = words.filter_map(|word| word.strip_prefix("target=")).map(String::from).next();
        let loaded = load(file, &LoadOptions { set, target, ..LoadOptions::default() });
        let loaded = loaded.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (file.display().to_string(), loaded)
    };
    files.iter().map(read).collect()
}

/// The properties that a walk finds violated.
fn violated(loaded: &Loaded, seed: u64) -> Result<Vec<PropertyId>, Error> {
    let mut simulation = Simulation::new(&loaded.model, seed)?;
    for _ in 0..=STEPS {
        let Some(next) = simulation.step() else { break };
        let found = match &next.result {
            Ok(_) => simulation.findings(&loaded.asked).into_iter().map(|(property, _)| property).collect(),
            Err(fault) => match fault.kind {
                FaultKind::Assertion(property) => vec![property],
                _ => {
                    let is_no_faults =
                        |id: &PropertyId| loaded.model.properties[*id].kind == PropertyKind::NoFaults;
                    loaded.asked.iter().copied().filter(is_no_faults).collect()
                }
            },
        };
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

#[test]
fn a_walk_finds_only_what_a_check_finds() {
    let mut walked = 0;
    for (file, loaded) in gallery() {
        for seed in 0..u64::from(dose(3)) {
            let found = violated(&loaded, seed ^ salt()).unwrap_or_else(|error| panic!("{file}: {error}"));
            walked += 1;
            compared("walk against check");
            for property in found {
                let name = loaded.model.properties[property].name.clone();
                let limits = Limits { time: Some(Duration::from_secs(20)), ..Limits::default() };
                let options = CheckOptions {
                    properties: vec![name.clone()],
                    watch: Watch::start(limits),
                    ..CheckOptions::default()
                };
                let report =
                    check(&loaded, &options, &mut Quiet).unwrap_or_else(|error| panic!("{file}: {error}"));
                let holds = report
                    .outcome
                    .results
                    .iter()
                    .any(|it| it.property == property && matches!(it.verdict, Verdict::Holds));
                assert!(!holds, "{file}, seed {seed}: a walk violates {name:?}, which is said to hold");
            }
        }
    }
    assert!(walked > 150, "dull: {walked} walks");
}
