//! Mutated models for the tests of front ends: whatever the text, there is no panic, and there is a model or an error.
//!
//! Runs for a few seconds; `SHOAL_FUZZ_SECONDS=600` makes it longer, `SHOAL_FUZZ_SEED=7` other.

use std::{
    fs,
    panic::{RefUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

use shoal_syntax::{Diagnostics, SourceMap};

/// A small random number generator; the quality does not matter.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The gallery, each model cut into words, symbols and the white space between them.
fn seeds(folders: &[&str]) -> Vec<Vec<String>> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut files = Vec::new();
    for folder in folders {
        files.extend(fs::read_dir(models.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    files.sort();
    assert!(!files.is_empty());
    files.iter().map(|file| split(&fs::read_to_string(file).unwrap())).collect()
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
fn mutated(random: &mut Random, seeds: &[Vec<String>], strange: &[&str]) -> String {
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
            2 => words.insert(at, format!(" {} ", strange[random.below(strange.len())])),
            3 => words[at] = strange[random.below(strange.len())].to_string(),
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
            words.push(strange[0].into());
        }
    }
    words.concat()
}

/// Reads mutations of the models in some folders, with words beside their own that changes put in. `choose` chooses options,
/// `load` says whether there is a model.
pub(crate) fn fuzz<Options: RefUnwindSafe + std::fmt::Debug>(
    folders: &[&str],
    strange: &str,
    mut choose: impl FnMut(&mut Random) -> Options,
    load: impl Fn(&str, &Options) -> (bool, Diagnostics) + RefUnwindSafe,
) {
    let (seeds, strange) = (seeds(folders), strange.split_whitespace().collect::<Vec<_>>());
    let mut random = Random(number("SHOAL_FUZZ_SEED", 0x5eed) | 1);
    let end = Instant::now() + Duration::from_secs(number("SHOAL_FUZZ_SECONDS", 4));
    let (mut runs, mut accepted) = (0_u64, 0_u64);
    while Instant::now() < end {
        let text = mutated(&mut random, &seeds, &strange);
        let options = choose(&mut random);
        let Ok((model, diagnostics)) = catch_unwind(|| load(&text, &options)) else {
            panic!("this text makes the front end panic ({options:?}):\n{text}")
        };
        let errors = diagnostics.has_errors();
        assert!(model != errors, "neither a model nor an error, or both ({options:?}):\n{text}");
        let internal = diagnostics.iter().any(|diagnostic| diagnostic.message.contains("mistake in Shoal"));
        assert!(!internal, "a malformed model ({options:?}):\n{text}");
        runs += 1;
        accepted += u64::from(model);
    }
    // Both sides of the front end were exercised.
    assert!(runs > 50 && accepted > 0 && accepted < runs, "{accepted} of {runs} texts were accepted");
}

/// A text as a source of its own.
pub(crate) fn alone(text: &str) -> (SourceMap, shoal_syntax::SourceId) {
    let mut sources = SourceMap::new();
    let id = sources.add("fuzz", text);
    (sources, id)
}
