//! The engines beside each other, on the models of the gallery and of the corpus: verdicts, states and orbits.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use shoal_peers::watch;

use super::build_shoal;
use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench agree [--seconds S] [PART OF A PATH...]

Checks all Murphi models of models/ and of ../shared/corpus, or those named, with the explicit engine, with all states and
with one of each orbit; then with the symbolic engine in both ways and with counters in both ways. What differs is listed:
verdicts, and where nothing is violated the numbers of states or of orbits. A run ends after S seconds (4).";

/// A way to check a model beside the explicit engine.
struct EngineWay {
    name: &'static str,
    options: &'static [&'static str],
    /// Whether it is beside the orbits, and not all states.
    orbits: bool,
}

const WAYS: &[EngineWay] = &[
    EngineWay { name: "symbolic", options: &["--engine", "symbolic", "--symmetry", "off"], orbits: false },
    EngineWay { name: "symbolic, orbits", options: &["--engine", "symbolic"], orbits: true },
    EngineWay { name: "counters", options: &["--engine", "counters", "--no-local-reduction"], orbits: true },
    EngineWay {
        name: "counters, one state at a time",
        options: &["--engine", "counters", "--no-local-reduction", "--no-diagrams"],
        orbits: true,
    },
];

/// What an engine says about a model.
enum EngineAnswer {
    Done(EngineDone),
    Limit,
    Refused(String),
}

struct EngineDone {
    states: u64,
    violated: BTreeSet<String>,
    /// The sorts that it has reduced by.
    sorts: String,
}

/// Compares the engines on all models whose path contains one of the words.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let (seconds, words) = match args {
        [option, seconds, words @ ..] if option == "--seconds" => (seconds.as_str(), words),
        [option, ..] if option.starts_with('-') => return Err(USAGE.into()),
        words => ("4", words),
    };
    // A copy, so that what is built meanwhile does not change the answers.
    let shoal = std::env::temp_dir().join(format!("shoal-agree-{}", std::process::id()));
    fs::copy(build_shoal()?, &shoal).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    for folder in ["models", "../shared/corpus/murphi"] {
        collect(&root().join(folder), &mut files)?;
    }
    files.sort();
    let mut tally: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    for file in &files {
        let name = file.display().to_string();
        if words.is_empty() || words.iter().any(|word| name.contains(word)) {
            let mut note = |way: &str, class: String| {
                *tally.entry(way.into()).or_default().entry(class).or_default() += 1;
            };
            compare(&shoal, file, seconds, &mut note)?;
        }
    }
    let _ = fs::remove_file(&shoal);
    for (way, classes) in tally {
        println!("\n{way}");
        for (class, count) in classes {
            println!("{count:5}  {class}");
        }
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "m") {
            files.push(path);
        }
    }
    Ok(())
}

/// Checks a model in all ways, lists what differs and notes what comes of each way.
fn compare(
    shoal: &Path,
    file: &Path,
    seconds: &str,
    note: &mut dyn FnMut(&str, String),
) -> Result<(), String> {
    let all = ask(shoal, file, &["--engine", "explicit", "--symmetry", "off"], seconds)?;
    let orbits = ask(shoal, file, &["--engine", "explicit"], seconds)?;
    for (way, answer) in [("explicit", &all), ("explicit, orbits", &orbits)] {
        note(
            way,
            match answer {
                EngineAnswer::Done(_) => "done".into(),
                EngineAnswer::Limit => "out of time or memory".into(),
                EngineAnswer::Refused(_) => "not a model, or refused".into(),
            },
        );
    }
    for way in WAYS {
        let EngineAnswer::Done(expected) = (if way.orbits { &orbits } else { &all }) else { continue };
        if way.orbits && expected.sorts.is_empty() {
            note(way.name, "no sort to reduce by".into());
            continue;
        }
        let class = match ask(shoal, file, way.options, seconds)? {
            EngineAnswer::Done(found) => match differs(&found, expected) {
                None if found.sorts != expected.sorts => "the same verdicts, by fewer sorts".into(),
                None => "the same".into(),
                Some(difference) => {
                    println!("{}: {}: {difference}", file.display(), way.name);
                    "NOT THE SAME".into()
                }
            },
            EngineAnswer::Limit => "out of time or memory".into(),
            EngineAnswer::Refused(construct) => format!("refused: {construct}"),
        };
        note(way.name, class);
    }
    Ok(())
}

/// What is not the same, if anything is.
fn differs(found: &EngineDone, expected: &EngineDone) -> Option<String> {
    if found.violated != expected.violated {
        return Some(format!("violated {:?}, not {:?}", found.violated, expected.violated));
    }
    // What is violated ends a search, each in its own order.
    let comparable = found.violated.is_empty() && found.sorts == expected.sorts;
    (comparable && found.states != expected.states)
        .then(|| format!("{} states, not {}", found.states, expected.states))
}

fn ask(shoal: &Path, file: &Path, options: &[&str], seconds: &str) -> Result<EngineAnswer, String> {
    let mut command = Command::new(shoal);
    command.args(["check", "--json", "--quiet", "--trace", "none", "--memory", "3G", "--time", seconds]);
    let (output, _) = watch(command.args(options).arg(file))?;
    let finished: Value = serde_json::from_str(output.lines().last().unwrap_or_default())
        .map_err(|error| format!("{}: {options:?}: {error}", file.display()))?;
    let none = Vec::new();
    let properties = finished["properties"].as_array().unwrap_or(&none);
    let named = |verdict: &str| {
        let those = properties.iter().filter(|one| one["verdict"] == verdict);
        those.filter_map(|one| one["name"].as_str().map(String::from)).collect::<BTreeSet<_>>()
    };
    let Some(first) = properties.first() else {
        return Ok(EngineAnswer::Refused(construct(
            finished["errors"][0]["message"].as_str().unwrap_or_default(),
        )));
    };
    if !named("unknown").is_empty() {
        return Ok(EngineAnswer::Limit);
    }
    let sorts = first["reductions"].as_array().unwrap_or(&none).iter();
    let sorts = sorts.filter(|one| one["kind"] == "symmetry").map(|one| one["sorts"].to_string());
    Ok(EngineAnswer::Done(EngineDone {
        states: first["states"].as_u64().unwrap_or(0),
        violated: named("violated"),
        sorts: sorts.collect(),
    }))
}

/// What an engine refuses, without the names that a model gives.
fn construct(message: &str) -> String {
    let said = message.split("does not support ").nth(1).unwrap_or("the model is not accepted");
    said.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "_" }).collect()
}
