//! The whole corpus beside SPIN: numbers of states without reductions, and verdicts with and without them.

mod known;
mod ours;
mod recorded;
mod spin;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use known::KnownSearches;
use ours::Shoal;

use super::super::build_shoal;
use crate::tidy::root;

pub(super) use recorded::compare as compare_recorded;

/// Endings of files that are models. What only stands in includes is refused by both.
const ENDINGS: &[&str] = &["pml", "prom", "promela", "prm", "pr", "pm", "spin"];

/// For each formula and claim of a model, whether it is violated, where that is decided.
type Claims = BTreeMap<String, Option<bool>>;

/// What a tool says about a model.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CorpusAnswer {
    /// The states that it has, and what is wrong with the model.
    Done {
        states: u64,
        wrong: BTreeSet<String>,
    },
    /// A limit was reached.
    Limit,
    Refused(String),
}

impl CorpusAnswer {
    fn is_refused(&self) -> bool {
        matches!(self, CorpusAnswer::Refused(_))
    }

    fn fails(&self) -> bool {
        matches!(self, CorpusAnswer::Done { wrong, .. } if wrong.contains("assertion"))
    }
}

/// Where the corpus is.
fn corpus() -> Result<PathBuf, String> {
    fs::canonicalize(root().join("../shared/corpus/promela")).map_err(|_| "no corpus".to_string())
}

/// Compares all models whose path contains one of the words.
pub(super) fn compare(limit: Duration, words: &[String]) -> Result<(), String> {
    let corpus = corpus()?;
    let shoal = Shoal::copy(build_shoal()?, limit)?;
    let mut files = Vec::new();
    collect(&corpus, &mut files)?;
    files.sort();
    let mut known = KnownSearches::read();
    let mut tally: BTreeMap<String, u32> = BTreeMap::new();
    for file in files {
        let name = file.strip_prefix(&corpus).unwrap_or(&file).display().to_string();
        if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
            continue;
        }
        let (class, notes) = compare_one(&shoal, &mut known, &name, &file, limit)?;
        if class != "the same" {
            println!("{class}: {name}: {}", notes.join("; "));
        }
        *tally.entry(class).or_insert(0) += 1;
    }
    println!();
    for (class, count) in tally {
        println!("{count:5}  {class}");
    }
    Ok(())
}

/// How a model compares, and what is to be said of it.
fn compare_one(
    shoal: &Shoal,
    known: &mut KnownSearches,
    name: &str,
    file: &Path,
    limit: Duration,
) -> Result<(String, Vec<String>), String> {
    let theirs = known.or_ask(name, || spin::ask(file, limit))?;
    let raw = shoal.counted(file, ours::RAW)?;
    let mut notes = differences(&theirs, &raw, true);
    if theirs.is_refused() || raw.is_refused() {
        return Ok((class_of(&theirs, &raw, &notes), notes));
    }
    let (few, formulas) = shoal.ask(file, &[])?;
    if theirs != CorpusAnswer::Limit && raw != CorpusAnswer::Limit {
        notes.extend(differences(&theirs, &few, false).into_iter().map(|note| format!("reduced: {note}")));
    }
    if !theirs.fails() {
        let claims = known.or_ask_claims(name, || spin::claims(file, formulas.keys(), limit))?;
        notes.extend(claims_differ(&claims, &formulas));
    }
    Ok((class_of(&theirs, &raw, &notes), notes))
}

fn class_of(theirs: &CorpusAnswer, ours: &CorpusAnswer, notes: &[String]) -> String {
    match (theirs, ours) {
        (CorpusAnswer::Refused(_), CorpusAnswer::Refused(_)) => "refused by both".into(),
        (CorpusAnswer::Refused(_), _) => "refused by SPIN".into(),
        (_, CorpusAnswer::Refused(why)) => format!("refused ({why})"),
        (CorpusAnswer::Limit, _) | (_, CorpusAnswer::Limit) => "a limit reached".into(),
        _ if notes.is_empty() => "the same".into(),
        _ => "different".into(),
    }
}

fn differences(theirs: &CorpusAnswer, ours: &CorpusAnswer, counts: bool) -> Vec<String> {
    let mut notes = Vec::new();
    match (theirs, ours) {
        (CorpusAnswer::Done { states: a, wrong: x }, CorpusAnswer::Done { states: b, wrong: y }) => {
            // SPIN goes on behind an assertion that fails, and finds more there.
            let same = x == y || (x.contains("assertion") && y.contains("assertion"));
            if !same {
                notes.push(format!("SPIN {x:?}, Shoal {y:?}"));
            } else if counts && a != b && !x.contains("assertion") && !x.contains("error") {
                notes.push(format!("SPIN {a} states, Shoal {b}"));
            }
        }
        (CorpusAnswer::Refused(why), CorpusAnswer::Refused(too)) => notes.push(format!("{why} / {too}")),
        (CorpusAnswer::Refused(why), _) | (_, CorpusAnswer::Refused(why)) => notes.push(why.clone()),
        (CorpusAnswer::Limit, CorpusAnswer::Done { states, .. }) => {
            notes.push(format!("of SPIN; Shoal {states} states"))
        }
        (CorpusAnswer::Done { states, .. }, CorpusAnswer::Limit) => {
            notes.push(format!("of Shoal; SPIN {states} states"))
        }
        (CorpusAnswer::Limit, CorpusAnswer::Limit) => {}
    }
    notes
}

/// Where both have decided a formula in another way.
fn claims_differ(theirs: &Claims, ours: &Claims) -> Vec<String> {
    let word = |wrong: bool| if wrong { "violated" } else { "holds" };
    let both = theirs.iter().filter_map(|(name, theirs)| Some((name, (*theirs)?, (*ours.get(name)?)?)));
    let differ = both.filter(|(_, theirs, ours)| theirs != ours);
    differ
        .map(|(name, theirs, ours)| format!("{name}: SPIN {}, Shoal {}", word(theirs), word(ours)))
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().and_then(|ending| ending.to_str()).is_some_and(|it| ENDINGS.contains(&it))
        {
            files.push(path);
        }
    }
    Ok(())
}
