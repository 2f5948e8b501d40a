//! On what grounds the scalarsets of the corpus are reduced by, and how many states that leaves beside its peers.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value as Json;

use crate::{bench::build_shoal, tidy::root};

const USAGE: &str = "usage: cargo xtask bench symmetry [--seconds S] [FILE.m...]";

/// What came of a model.
#[derive(Default)]
struct SymmetryResult {
    /// Each sort with two elements or more, and on what grounds it is reduced by.
    sorts: Vec<(String, &'static str)>,
    verdict: String,
    states: Option<u64>,
    seconds: f64,
}

/// Prints a table, a row for each model that has scalarsets.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let mut words = args.iter();
    let (mut seconds, mut files) = (20u32, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => {
                seconds = words.next().and_then(|text| text.parse().ok()).ok_or(USAGE)?;
            }
            option if option.starts_with("--") => return Err(USAGE.into()),
            file => files.push(PathBuf::from(file)),
        }
    }
    let corpus = root().join("../shared/corpus/murphi");
    if files.is_empty() {
        if !corpus.is_dir() {
            return Err(format!("no corpus, and no files named\n{USAGE}"));
        }
        collect(&corpus, &mut files).map_err(|error| error.to_string())?;
    }
    files.sort();
    let shoal = build_shoal()?;
    let peers = [recorded(&corpus, "cmurphi-results.csv"), recorded(&corpus, "rumur-results.csv")];
    println!("| model | sorts | verdict | states | CMurphi | Rumur | s |\n|---|---|---|--:|--:|--:|--:|");
    let mut sums: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| has_scalarsets(file)) {
        let found = run(&shoal, file, seconds)?;
        found.sorts.iter().for_each(|(_, grounds)| *sums.entry(grounds).or_default() += 1);
        let name = file.strip_prefix(&corpus).unwrap_or(file).display().to_string();
        let peer = |at: usize| peers[at].get(&name).cloned().unwrap_or_else(|| "–".into());
        let sorts: Vec<String> =
            found.sorts.iter().map(|(sort, grounds)| format!("{sort} {grounds}")).collect();
        let states = found.states.map_or("–".into(), |states| states.to_string());
        println!(
            "| {name} | {} | {} | {states} | {} | {} | {:.2} |",
            sorts.join(", "),
            found.verdict,
            peer(0),
            peer(1),
            found.seconds
        );
    }
    println!("\nsorts: {sums:?}");
    Ok(())
}

/// All models in a folder and those in it.
pub(super) fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "m") {
            files.push(path);
        }
    }
    Ok(())
}

fn has_scalarsets(file: &Path) -> bool {
    fs::read(file).is_ok_and(|text| String::from_utf8_lossy(&text).to_lowercase().contains("scalarset"))
}

/// The states that a peer stored, by model; more than those where it did not finish.
fn recorded(corpus: &Path, file: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(corpus.join(file)).unwrap_or_default();
    let mut lines = text.lines().map(fields);
    let Some(heads) = lines.next() else { return BTreeMap::new() };
    let column = |name: &str| heads.iter().position(|head| head == name);
    let (Some(verdict), Some(states)) = (column("verdict"), column("states")) else { return BTreeMap::new() };
    let row = |fields: Vec<String>| {
        let states = fields.get(states)?.parse::<u64>().ok()?;
        let sign = if fields.get(verdict)? == "timeout" { "> " } else { "" };
        Some((fields[0].clone(), format!("{sign}{states}")))
    };
    lines.filter_map(row).collect()
}

/// The fields of a line; those with commas are in quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => {
                if let Some(field) = fields.last_mut() {
                    field.push(letter);
                }
            }
        }
    }
    fields
}

fn run(shoal: &Path, file: &Path, seconds: u32) -> Result<SymmetryResult, String> {
    let mut command = Command::new(shoal);
    command.args(["check", "--json", "--trace", "none", "--threads", "1", "--time", &format!("{seconds}s")]);
    let output = command.arg(file).output().map_err(|error| error.to_string())?;
    let mut found = SymmetryResult { verdict: "not read".into(), ..SymmetryResult::default() };
    let mut broken = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(event) = serde_json::from_str::<Json>(line) else { continue };
        if let Some(message) = event["message"].as_str().filter(|_| event["code"] == "W0001") {
            broken.push_str(message);
        }
        let (Some(verdict), Some(scope)) = (event["verdict"].as_str(), event["scope"].as_object()) else {
            continue;
        };
        // A violation outweighs what holds, and what is not known does, too.
        if found.verdict != "violated" && (verdict != "holds" || found.verdict == "not read") {
            found.verdict = verdict.into();
        }
        found.states = event["states"].as_u64();
        found.seconds = event["seconds"].as_f64().unwrap_or_default();
        let large = |size: &Json| size.as_u64().is_none_or(|size| size > 1);
        let sorts = scope.iter().filter(|(_, size)| large(size));
        found.sorts = sorts.map(|(sort, _)| (sort.clone(), grounds(&event, sort, &broken))).collect();
    }
    Ok(found)
}

/// On what grounds a search reduced by a sort.
fn grounds(event: &Json, sort: &str, broken: &str) -> &'static str {
    let named = |kind: &str| {
        let reductions = event["reductions"].as_array();
        reductions.into_iter().flatten().any(|reduction| {
            reduction["kind"] == kind
                && reduction["sorts"].as_array().is_some_and(|sorts| sorts.iter().any(|it| it == sort))
        })
    };
    if named("symmetry checked") {
        "checked"
    } else if named("symmetry") {
        "proved"
    } else if broken.contains(&format!("`{sort}` is not symmetric")) {
        "broken"
    } else if broken.contains(&format!("`{sort}` is not shown")) {
        "open"
    } else {
        "not used"
    }
}
