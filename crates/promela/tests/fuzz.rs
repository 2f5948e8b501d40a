//! Mutated models through the whole front end: whatever the text, there is no panic, and there is a model or an error.
//!
//! `SHOAL_FUZZ_SECONDS=600` looks longer, `SHOAL_FUZZ_SEED=7` elsewhere.

use std::{
    fs,
    panic::catch_unwind,
    path::Path,
    time::{Duration, Instant},
};

use shoal_promela::{Options, load};
use shoal_syntax::SourceMap;

/// What a change puts in, beside words of the models. Not a number that makes many processes: those only cost time.
const WORDS: &str = "atomic d_step do od if fi :: ; -> { } ( ) [ ] goto break else unless timeout skip run proctype active init \
    never ltl inline typedef chan of byte bit int short unsigned mtype pid hidden xr xs assert printf len empty nfull ! !! ? ?? \
    eval _ _pid _nr_pr _last np_ @ : , . .. = == ++ -- && || & ~ - / % << 0 1 -1 2147483648 99999999999999999999 'a' \"s\" \
    #define #include #ifdef #endif ## \\ new delete null & function return ftype for in select provided priority c_code [] <> U X \
    é \u{0}";

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

/// The gallery's lines, each cut at white space. A line end matters in this language, so it is a word.
fn seeds() -> Vec<Vec<String>> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut files = Vec::new();
    for folder in ["promela", "heap"] {
        files.extend(fs::read_dir(models.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    files.sort();
    let words = |text: String| -> Vec<String> {
        let spaced: String = text
            .chars()
            .map(|it| if it.is_alphanumeric() || it == '_' { it.to_string() } else { format!(" {it} ") })
            .collect();
        spaced.split(' ').filter(|word| !word.is_empty()).map(String::from).collect()
    };
    files.into_iter().map(|file| words(fs::read_to_string(file).unwrap())).collect()
}

fn mutated(random: &mut Random, seeds: &[Vec<String>], strange: &[&str]) -> String {
    let mut words = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(5) {
        let at = random.below(words.len());
        let until = (at + 1 + random.below(9)).min(words.len());
        match random.below(5) {
            0 => drop(words.drain(at..until)),
            1 => words.insert(at, strange[random.below(strange.len())].into()),
            2 => words[at] = strange[random.below(strange.len())].into(),
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let part = other[from..(from + 30).min(other.len())].to_vec();
                words.splice(at..at, part);
            }
            _ => {
                let other = random.below(words.len());
                words.swap(at, other);
            }
        }
        if words.is_empty() {
            words.push("init".into());
        }
    }
    // Symbols of two characters were cut in the middle.
    let text = words.join(" ");
    [
        ": :", "- >", "= =", "& &", "| |", "! =", "< =", "> =", "+ +", "- -", ". .", "! !", "? ?", "/ /",
        "/ *", "* /",
    ]
    .iter()
    .fold(text, |text, pair| text.replace(pair, &pair.replace(' ', "")))
    .replace("# ", "#")
}

#[test]
fn no_text_makes_the_front_end_panic() {
    let (seeds, strange) = (seeds(), WORDS.split_whitespace().collect::<Vec<_>>());
    let mut random = Random(number("SHOAL_FUZZ_SEED", 0x5eed) | 1);
    let end = Instant::now() + Duration::from_secs(number("SHOAL_FUZZ_SECONDS", 4));
    let (mut runs, mut accepted) = (0_u32, 0_u32);
    while Instant::now() < end {
        let text = mutated(&mut random, &seeds, &strange);
        let options = Options {
            dynamic: random.below(2) == 0,
            merge: random.below(2) == 0,
            weak_fairness: random.below(2) == 0,
            symmetric_processes: random.below(2) == 0,
            processes: 3,
            ..Options::default()
        };
        let outcome = catch_unwind(|| {
            let mut sources = SourceMap::new();
            let id = sources.add("fuzz.pml", text.as_str());
            let (model, diagnostics) = load(&sources, id, &options);
            let internal = diagnostics.iter().any(|diagnostic| diagnostic.code.0 == "E0901");
            (model.is_some(), diagnostics.has_errors(), internal)
        });
        let Ok((model, errors, internal)) = outcome else {
            panic!("this text makes the front end panic ({options:?}):\n{text}")
        };
        assert!(model != errors, "neither a model nor an error, or both ({options:?}):\n{text}");
        assert!(!internal, "a malformed model ({options:?}):\n{text}");
        runs += 1;
        accepted += u32::from(model);
    }
    // Both sides of the front end were exercised.
    assert!(runs > 50 && accepted > 0 && accepted < runs, "{accepted} of {runs} texts were accepted");
}
