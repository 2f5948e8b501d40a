//! Protocols with any number of elements: what views decide of the scalarsets of the corpus.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value as Json;

use crate::{
    bench::{build_shoal, symmetry::collect},
    tidy::root,
};

const USAGE: &str = "usage: cargo xtask bench any [--seconds S] [FILE.m...]";

/// What came of a model when one of its scalarsets has any number of elements.
struct AnyResult {
    sort: String,
    /// How much is known: the more the better.
    rank: AnyRank,
    /// How many properties hold for any number, and of how many.
    held: usize,
    asked: usize,
    note: String,
    seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum AnyRank {
    Refused,
    Unknown,
    /// Some properties are proved.
    Partly,
    Proved,
    Violated,
}

/// Prints a table, a row for each protocol that has scalarsets, with the sort of which most is known.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let mut words = args.iter();
    let (mut seconds, mut files) = (60u32, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => seconds = words.next().and_then(|text| text.parse().ok()).ok_or(USAGE)?,
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
        // Tests of a language are no protocols.
        files.retain(|file| !file.to_string_lossy().contains("rumur/tests"));
    }
    files.sort();
    let shoal = build_shoal()?;
    println!("| model | any number of | verdict | properties | CPU s | |\n|---|---|---|--:|--:|---|");
    let mut sums: BTreeMap<AnyRank, usize> = BTreeMap::new();
    for file in &files {
        let Some(sorts) = scalarsets(file) else { continue };
        let mut best: Option<AnyResult> = None;
        for sort in sorts {
            let found = run(&shoal, file, &sort, seconds)?;
            if best.as_ref().is_none_or(|best| best.rank < found.rank) {
                best = Some(found);
            }
        }
        let Some(found) = best else { continue };
        *sums.entry(found.rank).or_default() += 1;
        let name = file.strip_prefix(&corpus).unwrap_or(file).display();
        let AnyResult { sort, rank, held, asked, note, seconds } = found;
        let verdict = format!("{rank:?}").to_lowercase();
        println!("| {name} | {sort} | {verdict} | {held}/{asked} | {seconds:.2} | {note} |");
    }
    println!("\n{sums:?}");
    Ok(())
}

/// The names of the scalarsets of a file; nothing if it has none.
fn scalarsets(file: &Path) -> Option<Vec<String>> {
    let text = fs::read(file).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut names: Vec<String> = Vec::new();
    for line in text.lines() {
        let code = line.split("--").next().unwrap_or("");
        let lower = code.to_lowercase();
        for (at, _) in lower.match_indices("scalarset") {
            let before = code.get(..at).unwrap_or("").trim_end();
            let before = before.strip_suffix(':').unwrap_or("").trim_end();
            let name: String =
                before.chars().rev().take_while(|it| it.is_alphanumeric() || *it == '_').collect();
            let name: String = name.chars().rev().collect();
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    (!names.is_empty()).then_some(names)
}

fn run(shoal: &Path, file: &Path, sort: &str, seconds: u32) -> Result<AnyResult, String> {
    let mut command = Command::new(shoal);
    command.args(["check", "--json", "--trace", "none", "--threads", "1", "--time", &format!("{seconds}s")]);
    let output = command
        .args(["--deadlock", "off", "--set", &format!("{sort}=any")])
        .arg(file)
        .output()
        .map_err(|error| error.to_string())?;
    let (mut held, mut asked, mut violated, mut spent) = (0, 0, false, 0.0);
    let mut note = String::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Ok(event) = serde_json::from_str::<Json>(line) else { continue };
        let Some(verdict) = event["verdict"].as_str() else { continue };
        asked += 1;
        held += usize::from(verdict == "holds");
        violated |= verdict == "violated";
        spent = event["seconds"].as_f64().unwrap_or(spent);
        let why = ["proof", "note", "reason", "message"].iter().find_map(|key| event[key].as_str());
        if verdict != "holds" || note.is_empty() {
            note = why.unwrap_or("").to_string();
        }
    }
    if asked == 0 {
        note = String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("").to_string();
    }
    let rank = match (asked, violated) {
        (0, _) => AnyRank::Refused,
        (_, true) => AnyRank::Violated,
        (asked, false) if asked == held => AnyRank::Proved,
        (_, false) if held > 0 => AnyRank::Partly,
        (_, false) => AnyRank::Unknown,
    };
    let note: String = note.replace('|', "/").chars().take(140).collect();
    Ok(AnyResult { sort: sort.into(), rank, held, asked, note, seconds: spent })
}
