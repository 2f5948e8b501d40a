//! Mutated templates through the whole front end: whatever the text, there is no panic, and there is a model or an error.
//!
//! `PROPTEST_CASES=100000` looks longer.

use std::{fs, path::Path, sync::LazyLock};

use proptest::prelude::*;
use shoal_syntax::{Diagnostics, SourceMap};
use shoal_template::{Options, red, vpl};

/// The gallery's models with this ending, each cut into words, symbols and the white space between them.
fn seeds(folder: &str) -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "red" || ending == "vpl"));
    files.sort();
    files.iter().map(|file| words(&fs::read_to_string(file).unwrap())).collect()
}

fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for character in text.chars() {
        let kind = (character.is_alphanumeric() || character == '_', character.is_whitespace());
        match words.last_mut() {
            Some(word) if last == Some(kind) && kind != (false, false) => word.push(character),
            _ => words.push(character.to_string()),
        }
        last = Some(kind);
    }
    words
}

/// One change: what kind, where, and with what.
type Change = (u8, usize, usize);

static SEEDS: LazyLock<[Vec<Vec<String>>; 2]> = LazyLock::new(|| [seeds("red"), seeds("sgm")]);

const STRANGE: [&str; 12] = [
    "(",
    ")",
    "-",
    "99999999999999999999",
    "9223372036854775807",
    "é",
    "\0",
    "->",
    "NULL",
    "P",
    "free",
    "forall",
];

fn mutated(seeds: &[Vec<String>], seed: usize, changes: &[Change]) -> String {
    let mut words = seeds[seed % seeds.len()].clone();
    for (kind, at, with) in changes {
        if words.is_empty() {
            break;
        }
        let (at, with) = (at % words.len(), with % words.len());
        match kind % 5 {
            0 => drop(words.remove(at)),
            1 => words[at] = words[with].clone(),
            2 => words.insert(at, words[with].clone()),
            3 => words[at] = STRANGE[with % STRANGE.len()].to_string(),
            _ => words.truncate(at.max(words.len() / 2)),
        }
    }
    words.concat()
}

/// Whether there is a model or an error, and no mistake of Shoal's own.
fn is_settled(model: bool, diagnostics: &Diagnostics) -> bool {
    model != diagnostics.has_errors() && !diagnostics.iter().any(|it| it.code.0 == "E0901")
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn no_text_makes_a_front_end_panic(seed in any::<usize>(), changes in prop::collection::vec(any::<Change>(), 1..6)) {
        for (seeds, is_red) in SEEDS.iter().zip([true, false]) {
            let text = mutated(seeds, seed, &changes);
            let mut sources = SourceMap::new();
            let id = sources.add("fuzz", text.as_str());
            let (model, diagnostics) = match is_red {
                true => red::load(&sources, id, &Options::default()),
                false => {
                    let (loaded, diagnostics) = vpl::load(&sources, id, &Options::default());
                    (loaded.map(|(model, _)| model), diagnostics)
                }
            };
            prop_assert!(is_settled(model.is_some(), &diagnostics), "{text}\n{diagnostics:?}");
        }
    }
}

#[test]
fn deep_and_long_texts_are_refused() {
    for text in [
        format!("const M = {}1{};", "(".repeat(100_000), ")".repeat(100_000)),
        format!("const M = {}1;", "1 + ".repeat(100_000)),
        format!("safe {}true;", "not ".repeat(100_000)),
        format!("safe {}true;", "true and ".repeat(100_000)),
        format!("safe {}x;", "forall p ".repeat(100_000)),
    ] {
        let mut sources = SourceMap::new();
        let id = sources.add("deep.red", text);
        let (model, diagnostics) = red::load(&sources, id, &Options::default());
        assert!(model.is_none() && diagnostics.has_errors());
    }
}
