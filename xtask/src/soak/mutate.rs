//! Inputs that nobody wrote: models of the gallery with something changed, through every command that reads them.
//!
//! Whatever the text, a command ends by itself with an exit code of the contract other than "a mistake in Shoal", within the time that it was
//! given. The memory it may map is bounded from outside, so that one that asks for too much is noticed.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::{MUTATED, SoakNumbers, SoakTally};
use crate::{
    process::{Interference, watch},
    tidy::{entries, root},
};

/// What each run may take, as it is told.
const SECONDS: f64 = 1.0;
const MEMORY: &str = "200MB";
/// What it may really take: a second and a tenth more, and what it takes to start and to write.
const MOST: Duration = Duration::from_millis(2600);
/// The endings of the names of what is read.
const ENDINGS: [&str; 14] =
    ["m", "pml", "pm", "dpml", "vpl", "red", "xta", "xml", "q", "bp", "nbp", "tts", "spec", "pnml"];
/// The bound on what it may map, in kilobytes.
const MAPPED: &str = "6000000";

/// Larger files of others are left alone: most of what is changed in them would be far from what is read.
const LARGEST: u64 = 12_000;

/// The models of the gallery, and small ones of others where they are at hand, by the ending of their names.
pub(super) struct Gallery {
    files: BTreeMap<String, Vec<(PathBuf, String)>>,
}

impl Gallery {
    pub(super) fn read() -> Gallery {
        let mut gallery = Gallery { files: BTreeMap::new() };
        gallery.add(&root().join("models"), u64::MAX);
        gallery.add(&root().join("../shared/corpus"), LARGEST);
        gallery
    }

    /// Adds the files below a folder that have an ending of a language.
    fn add(&mut self, folder: &Path, largest: u64) {
        for path in entries(folder) {
            if path.is_dir() {
                self.add(&path, largest);
                continue;
            }
            let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            let fits = fs::metadata(&path).is_ok_and(|data| data.len() <= largest);
            // Queries are of no use without their model.
            let alone = ending == "q" && !path.with_extension("xta").exists();
            if ENDINGS.contains(&ending.as_str())
                && fits
                && !alone
                && let Ok(text) = fs::read_to_string(&path)
            {
                self.files.entry(ending).or_default().push((path, text));
            }
        }
    }

    /// Runs one changed model; gives what is wrong with how it ended.
    pub(super) fn try_one(
        &self,
        shoal: &Path,
        folder: &Path,
        numbers: &mut SoakNumbers,
        tally: &mut SoakTally,
    ) -> Result<(), String> {
        // Each language as often as any other, however many files there are of it.
        let endings: Vec<&String> = self.files.keys().collect();
        let ending = endings[numbers.below(endings.len())].clone();
        let files = &self.files[&ending];
        let (path, text) = &files[numbers.below(files.len())];
        let others: Vec<&str> = files.iter().map(|it| it.1.as_str()).collect();
        let changed = change(text, &others, numbers);
        // A file of queries is read beside its model.
        let name = format!("model.{ending}");
        let _ = fs::remove_file(folder.join("model.q"));
        if ending == "q" {
            fs::copy(path.with_extension("xta"), folder.join("model.xta"))
                .map_err(|error| error.to_string())?;
        }
        fs::write(folder.join(&name), &changed).map_err(|error| error.to_string())?;
        let model = if ending == "q" { "model.xta".to_string() } else { name };
        let words = call(&model, numbers);
        tally.add(&format!("{MUTATED}: {ending}"), 1);
        let Some(wrong) = run(shoal, folder, &words)? else { return Ok(()) };
        let kept = keep(&changed, &ending, numbers)?;
        Err(format!("{wrong}: shoal {} with {} as {model}", words.join(" "), kept.display()))
    }
}

/// A command and its options.
fn call(model: &str, numbers: &mut SoakNumbers) -> Vec<String> {
    let engines = ["explicit", "symbolic", "counters", "timed", "cover", "views"];
    let limits = format!("--time {SECONDS} --memory {MEMORY}");
    let check = format!("check --quiet --trace none --threads 1 {limits}");
    let language = model.rsplit('.').next().unwrap_or_default();
    let words = match numbers.below(9) {
        5 if language == "vpl" => format!("script --reducers rw,sc,sm {limits}"),
        5 if ["bp", "tts", "spec", "pnml"].contains(&language) => format!("{check} --cover-set"),
        0 => format!("{check} --engine {}", engines[numbers.below(engines.len())]),
        1 => format!("{check} --json --no-symmetry"),
        2 => format!("sim --steps 20 --seed 1 {limits}"),
        3 => format!("explain {limits}"),
        4 => format!("graph --limit 30 {limits}"),
        _ => check,
    };
    words.split(' ').map(String::from).chain([model.to_string()]).collect()
}

/// Runs a command; what is wrong with how it ended, if anything is.
fn run(shoal: &Path, folder: &Path, words: &[String]) -> Result<Option<String>, String> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {MAPPED}; exec \"$0\" \"$@\"")).arg(shoal).args(words);
    // Others may be using the machine: what counts is the processor time.
    let interference = Interference { cpu: Some(MOST), wall: Some(40 * MOST), ..Interference::default() };
    let ended = watch(command.current_dir(folder), interference)?;
    let code = ended.status.and_then(|status| status.code());
    let last = ended.output.lines().find(|line| line.contains("internal error")).unwrap_or_default();
    Ok(match (ended.status, code) {
        (None, _) => Some(format!("goes on after {:.1} s of processor time", ended.cpu.as_secs_f64())),
        (Some(_), Some(0..=3)) => None,
        (Some(_), Some(code)) => Some(format!("exit code {code} ({last})")),
        (Some(status), None) => Some(format!("{status}")),
    })
}

/// Keeps an input that something is wrong with.
fn keep(text: &str, ending: &str, numbers: &mut SoakNumbers) -> Result<PathBuf, String> {
    let folder = root().join("target/soak");
    let path = folder.join(format!("{:08x}.{ending}", numbers.below(1 << 32)));
    fs::create_dir_all(&folder).and_then(|()| fs::write(&path, text)).map_err(|error| error.to_string())?;
    Ok(path)
}

/// Numbers where something may overflow.
const EXTREMES: [&str; 12] = [
    "0",
    "1",
    "-1",
    "2",
    "63",
    "64",
    "255",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "99999999999999999999",
];

/// A text with one to four changes.
fn change(text: &str, others: &[&str], numbers: &mut SoakNumbers) -> String {
    let mut words = pieces(text);
    for _ in 0..=numbers.below(4) {
        if words.is_empty() {
            break;
        }
        let at = numbers.below(words.len());
        match numbers.below(9) {
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[numbers.below(words.len())].clone()),
            2 => words[at] = words[numbers.below(words.len())].clone(),
            3 => {
                let other = pieces(others[numbers.below(others.len())]);
                words[at] = other.get(numbers.below(other.len().max(1))).cloned().unwrap_or_default();
            }
            4 => {
                // Half of the changes to numbers go to extremes, the other half to their neighbours.
                let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
                let numerals: Vec<usize> = (0..words.len()).filter(|at| is_number(&words[*at])).collect();
                if let Some(at) = numerals.get(numbers.below(numerals.len().max(1))) {
                    words[*at] = EXTREMES[numbers.below(EXTREMES.len())].to_string();
                }
            }
            5 => {
                let to = (at + 1 + numbers.below(30)).min(words.len());
                drop(words.drain(at..to));
            }
            6 => {
                let to = (at + 1 + numbers.below(30)).min(words.len());
                let again: Vec<String> = words[at..to].to_vec();
                words.splice(at..at, again);
            }
            7 => {
                let odd = ['\0', '\u{1b}', '\u{feff}', 'é', '"', '(', '{', '}', ';', '\u{202e}'];
                words[at].push(odd[numbers.below(odd.len())]);
            }
            _ => words.truncate(at + 1),
        }
    }
    words.concat()
}

/// A text cut into words, signs and gaps.
fn pieces(text: &str) -> Vec<String> {
    let class = |character: char| match character {
        _ if character.is_alphabetic() || character == '_' => 0,
        _ if character.is_ascii_digit() => 1,
        _ if character.is_whitespace() => 2,
        _ => 3,
    };
    let mut pieces: Vec<String> = Vec::new();
    let mut before = 4;
    for character in text.chars() {
        let now = class(character);
        match pieces.last_mut() {
            Some(last) if now == before && now != 3 => last.push(character),
            _ => pieces.push(character.into()),
        }
        before = now;
    }
    pieces
}
