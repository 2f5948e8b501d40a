//! Protocols with any number of elements: what views decide of the scalarsets of the corpus.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::Value as Json;

use crate::{
    bench::{build_shoal, symmetry::collect},
    process::{Interference, watch},
    tidy::root,
};

const USAGE: &str = "usage: cargo xtask bench any [--seconds S] [--shoal PROGRAM] [FILE.m...]";

/// What came of a model when one of its scalarsets has any number of elements.
struct AnyResult {
    sort: String,
    /// How much is known: the more the better.
    rank: AnyRank,
    /// How many properties hold for any number, and of how many. Freedom from deadlock is not among them.
    held: usize,
    asked: usize,
    deadlock: String,
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

/// Prints a table, a row for each protocol that has scalarsets, with the first sort that decides it, or that of which most is
/// known. Each sort has so many seconds of processor time.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let mut words = args.iter();
    let (mut seconds, mut shoal, mut files) = (60u32, None, Vec::new());
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => seconds = words.next().and_then(|text| text.parse().ok()).ok_or(USAGE)?,
            "--shoal" => shoal = Some(words.next().map(PathBuf::from).ok_or(USAGE)?),
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
    let shoal = shoal.map_or_else(build_shoal, Ok)?;
    println!("| model | any number of | verdict | properties | deadlock | CPU s | |");
    println!("|---|---|---|--:|---|--:|---|");
    let mut sums: BTreeMap<AnyRank, usize> = BTreeMap::new();
    for file in &files {
        let Some(sorts) = scalarsets(file) else { continue };
        let mut best: Option<AnyResult> = None;
        for sort in sorts {
            let found = run(&shoal, file, &sort, seconds)?;
            if best.as_ref().is_none_or(|best| best.rank < found.rank) {
                best = Some(found);
            }
            if best.as_ref().is_some_and(|best| best.rank >= AnyRank::Proved) {
                break;
            }
        }
        let Some(found) = best else { continue };
        *sums.entry(found.rank).or_default() += 1;
        let name = file.strip_prefix(&corpus).unwrap_or(file).display();
        let AnyResult { sort, rank, held, asked, deadlock, note, seconds } = found;
        let verdict = format!("{rank:?}").to_lowercase();
        println!("| {name} | {sort} | {verdict} | {held}/{asked} | {deadlock} | {seconds:.2} | {note} |");
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
    let limit = Duration::from_secs(u64::from(seconds));
    let mut command = Command::new(shoal);
    command.args(["check", "--json", "--trace", "none", "--threads", "1", "--memory", "6GB"]);
    command.args(["--set", &format!("{sort}=any")]).arg(file);
    let patience =
        Interference { interrupt: Some(limit), cpu: Some(2 * limit), wall: Some(20 * limit), signal: None };
    let ended = watch(&mut command, patience)?;
    let (mut held, mut asked, mut violated) = (0, 0, false);
    let (mut note, mut deadlock) = (String::new(), "-".to_string());
    for line in ended.output.lines() {
        let Ok(event) = serde_json::from_str::<Json>(line) else { continue };
        let Some(verdict) = event["verdict"].as_str().filter(|_| event["event"] == "verdict") else {
            continue;
        };
        let why = ["proof", "note", "reason", "message"].iter().find_map(|key| event[key].as_str());
        let why = why.unwrap_or("");
        if event["kind"] == "deadlock" {
            deadlock = verdict.to_string();
            if verdict == "violated" && note.is_empty() {
                note = format!("deadlock: {why}");
            }
            continue;
        }
        asked += 1;
        violated |= verdict == "violated";
        held += usize::from(verdict == "holds");
        if verdict != "holds" || note.is_empty() {
            note = why.to_string();
        }
    }
    if asked == 0 {
        note = match ended.status {
            None => "not read in the time".into(),
            Some(_) => ended.output.lines().find(|line| line.contains("error")).unwrap_or("").to_string(),
        };
    }
    let rank = match (asked, violated, deadlock == "violated") {
        (_, true, _) => AnyRank::Violated,
        (1.., _, _) if asked == held => AnyRank::Proved,
        (_, _, true) => AnyRank::Violated,
        (0, ..) => AnyRank::Refused,
        (..) if held > 0 => AnyRank::Partly,
        (..) => AnyRank::Unknown,
    };
    let note: String = note.replace('|', "/").chars().take(140).collect();
    let seconds = ended.cpu.as_secs_f64();
    Ok(AnyResult { sort: sort.into(), rank, held, asked, deadlock, note, seconds })
}
