//! What is refused of the corpus, by language and by reason.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{bench::build_shoal, tidy::root};

const USAGE: &str = "usage: cargo xtask bench refused [--files] [FOLDER]";

/// The languages by the endings of their files.
const LANGUAGES: &[(&str, &[&str])] = &[
    ("Murphi", &["m"]),
    ("Promela", &["pml", "pm", "pr", "prom", "prm", "promela", "spin"]),
    ("boolean programs", &["bp", "nbp"]),
    ("thread transition systems", &["tts"]),
    ("nets", &["spec", "pnml"]),
    ("UPPAAL", &["xta", "xml"]),
    ("VPL", &["vpl"]),
    ("Red", &["red"]),
];

/// The files that are refused for a reason.
type Refusals = BTreeMap<String, BTreeSet<PathBuf>>;

/// Prints how many files of each language are read, and a table of what is wrong with the others.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let (mut names, mut corpus) = (false, root().join("../shared/corpus"));
    for word in args {
        match word.as_str() {
            "--files" => names = true,
            option if option.starts_with("--") => return Err(USAGE.into()),
            folder => corpus = PathBuf::from(folder),
        }
    }
    if !corpus.is_dir() {
        return Err(format!("no corpus at {}\n{USAGE}", corpus.display()));
    }
    let mut files = Vec::new();
    collect(&corpus, &mut files).map_err(|error| error.to_string())?;
    files.sort();
    let shoal = build_shoal()?;
    for (language, endings) in LANGUAGES {
        let has_ending = |file: &&PathBuf| {
            file.extension().and_then(|ending| ending.to_str()).is_some_and(|it| endings.contains(&it))
        };
        let own: Vec<&PathBuf> = files.iter().filter(has_ending).collect();
        if !own.is_empty() {
            table(language, &own, &refusals(&shoal, &own)?, names.then_some(&corpus));
        }
    }
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

fn table(language: &str, files: &[&PathBuf], refusals: &Refusals, named: Option<&PathBuf>) {
    let refused: usize = refusals.values().map(BTreeSet::len).sum();
    println!("\n{language}: {} of {} files are read\n", files.len() - refused, files.len());
    if refusals.is_empty() {
        return;
    }
    println!("| files | why |\n|--:|---|");
    let mut rows: Vec<(&String, &BTreeSet<PathBuf>)> = refusals.iter().collect();
    rows.sort_by_key(|(why, files)| (std::cmp::Reverse(files.len()), (*why).clone()));
    for (why, files) in rows {
        println!("| {} | {why} |", files.len());
        for (corpus, file) in
            named.into_iter().flat_map(|corpus| files.iter().map(move |file| (corpus, file)))
        {
            println!("|  | {} |", file.strip_prefix(corpus).unwrap_or(file).display());
        }
    }
}

/// Asks for each file what the model is; files that are none are grouped by the first thing that is wrong.
fn refusals(shoal: &Path, files: &[&PathBuf]) -> Result<Refusals, String> {
    let mut found = Refusals::new();
    for file in files {
        let mut command = Command::new(shoal);
        command.args(["explain", "--no-config"]).arg(file);
        let output = command.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            continue;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().find(|line| line.starts_with("error")).unwrap_or("nothing is said");
        found.entry(general(first)).or_default().insert((*file).clone());
    }
    Ok(found)
}

/// A message without the names and numbers of one model. What is not supported is called by its name.
fn general(message: &str) -> String {
    if message.contains("not supported") {
        return message.to_string();
    }
    let parts = message.split('`').enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 0 { part.to_string() } else { "`…`".into() });
    let (code, words) = parts.collect::<String>().split_once("]: ").map_or_else(
        || (String::new(), message.to_string()),
        |(code, words)| (format!("{code}]: "), words.to_string()),
    );
    let digits = |letter: char| if letter.is_ascii_digit() { '#' } else { letter };
    code + &words.chars().map(digits).collect::<String>()
}
