//! Mutated models through the whole front end: whatever the text, there is no panic, and there is a model or an error.
//!
//! Runs for a few seconds; `SHOAL_FUZZ_SECONDS=600` makes it longer, `SHOAL_FUZZ_SEED=7` other.

use std::{
    fs,
    panic::catch_unwind,
    path::Path,
    time::{Duration, Instant},
};

use shoal_murphi::{Dialect, Options, load};
use shoal_syntax::SourceMap;

/// Words that a mutation puts in, beside those of the models.
const WORDS: &[&str] = &[
    "begin",
    "end",
    "rule",
    "ruleset",
    "do",
    "var",
    "type",
    "const",
    "==>",
    ":=",
    "=",
    "->",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ":",
    ",",
    ".",
    "..",
    "forall",
    "exists",
    "if",
    "then",
    "elsif",
    "else",
    "switch",
    "case",
    "alias",
    "choose",
    "multiset",
    "union",
    "scalarset",
    "array",
    "of",
    "record",
    "enum",
    "undefined",
    "isundefined",
    "ismember",
    "clear",
    "undefine",
    "put",
    "error",
    "assert",
    "assume",
    "cover",
    "liveness",
    "invariant",
    "startstate",
    "function",
    "procedure",
    "return",
    "while",
    "for",
    "to",
    "by",
    "multisetadd",
    "multisetremove",
    "multisetcount",
    "multisetremovepred",
    "true",
    "false",
    "boolean",
    "real",
    "0",
    "1",
    "9223372036854775807",
    "-1",
    "0x10",
    "\"s\"",
    "x",
    "?",
    "|",
    "&",
    "!",
    "~",
    "<<",
    "∧",
    "¬",
    "≔",
    "\u{feff}",
    "\0",
    "é",
];

/// A small random number generator; the quality does not matter.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The gallery, each model cut into words and the white space between them.
fn seeds() -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/murphi");
    let files = fs::read_dir(folder).expect("the gallery").map(|entry| entry.expect("a file").path());
    let mut seeds: Vec<Vec<String>> =
        files.map(|file| split(&fs::read_to_string(file).expect("a model"))).collect();
    seeds.sort();
    assert!(!seeds.is_empty());
    seeds
}

fn split(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last_kind = None;
    for character in text.chars() {
        let kind = (character.is_alphanumeric() || character == '_', character.is_whitespace());
        match words.last_mut() {
            Some(word) if last_kind == Some(kind) && kind != (false, false) => word.push(character),
            _ => words.push(character.to_string()),
        }
        last_kind = Some(kind);
    }
    words
}

/// A few random changes to one of the seeds.
fn mutate(random: &mut Random, seeds: &[Vec<String>]) -> String {
    let mut words = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(words.len());
        let until = (at + 1 + random.below(8)).min(words.len());
        match random.below(7) {
            0 => drop(words.drain(at..until)),
            1 => {
                let copy: Vec<String> = words[at..until].to_vec();
                words.splice(at..at, copy);
            }
            2 => words.insert(at, format!(" {} ", WORDS[random.below(WORDS.len())])),
            3 => words[at] = WORDS[random.below(WORDS.len())].to_string(),
            4 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let to = (from + random.below(40)).min(other.len());
                words.splice(at..at, other[from..to].to_vec());
            }
            5 => words.truncate(at.max(1)),
            _ => {
                let other = random.below(words.len());
                words.swap(at, other);
            }
        }
        if words.is_empty() {
            words.push("rule".into());
        }
    }
    words.concat()
}

#[test]
fn no_text_makes_the_front_end_panic() {
    let seeds = seeds();
    let mut random = Random(number("SHOAL_FUZZ_SEED", 0x5eed) | 1);
    let end = Instant::now() + Duration::from_secs(number("SHOAL_FUZZ_SECONDS", 4));
    let (mut runs, mut accepted) = (0_u64, 0_u64);
    while Instant::now() < end {
        let text = mutate(&mut random, &seeds);
        let dialect = if random.below(2) == 0 { Dialect::Cmurphi } else { Dialect::Rumur };
        let outcome = catch_unwind(|| {
            let mut sources = SourceMap::new();
            let id = sources.add("fuzz.m", text.as_str());
            let (model, diagnostics) = load(&sources, id, &Options { dialect, ..Options::default() });
            let internal = diagnostics.iter().any(|diagnostic| diagnostic.code.0 == "E0900");
            (model.is_some(), diagnostics.has_errors(), internal)
        });
        let Ok((model, errors, internal)) = outcome else {
            panic!("this text makes the front end panic:\n{text}")
        };
        assert!(model != errors, "neither a model nor an error, or both:\n{text}");
        assert!(!internal, "a malformed model:\n{text}");
        runs += 1;
        accepted += u64::from(model);
    }
    // Both sides of the front end were exercised.
    assert!(runs > 50 && accepted > 0 && accepted < runs, "{accepted} of {runs} texts were accepted");
}
