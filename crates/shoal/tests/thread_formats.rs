//! The languages of threads: dialects, the same program in two languages, and mutated files.
//!
//! `SHOAL_FUZZ_SECONDS=600 cargo test --release -p shoal --test main thread_formats::` looks longer.

#![allow(clippy::print_stderr)]

use std::{
    fs,
    panic::catch_unwind,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use proptest::prelude::*;
use shoal::{CheckOptions, LoadOptions, Quiet, Status, Watch, check, load, load_text};

use crate::random::{
    boolean::{self, Shown},
    choices::Choices,
    nets::{self, Played},
};

fn decided(name: &str, text: &str, options: &LoadOptions) -> (Status, Option<u64>) {
    let loaded = load_text(name, text, options).unwrap_or_else(|error| panic!("{text}: {error}"));
    let report = check(&loaded, &CheckOptions { jit: false, ..CheckOptions::default() }, &mut Quiet).unwrap();
    let threads = report.proved.iter().find_map(|proved| proved.elements).map(|elements| elements.0);
    (report.status(), threads)
}

#[test]
fn equality_binds_as_in_each_dialect() {
    let program = "decl a := 0, b := 0, c := 0; void main() begin 0: assert(!(a & b = c)); end";
    let (loose, _) = decided("a.bp", program, &LoadOptions::default());
    let (tight, _) = decided("a.nbp", program, &LoadOptions::default());
    // (a & b) = c is true here, a & (b = c) is false.
    assert_eq!((loose, tight), (Status::Violated, Status::Holds));
    let error = load_text("a.nbp", program.replace("!(a & b = c)", "a ? b : c"), &LoadOptions::default());
    assert!(error.unwrap_err().to_string().contains("not supported: `?:`"));
}

/// Threads that wait, for any number and for each small number of threads.
#[test]
fn a_broadcast_wakes_all_that_wait() {
    let program = |before: &str, after: &str| {
        format!(
            "decl ready := F; void main() begin decl x; x := ready;
             more: goto another, signal;
             another: start_thread goto worker; goto more;
             signal: {before} broadcast; {after} goto more;
             worker: x := T; wait; assert(ready & x); ready := F; wait; assert(ready); end"
        )
    };
    // A thread that lowers the flag spoils it for another one.
    for (before, after, least) in
        [("ready := T;", "", Some(2)), ("", "", Some(2)), ("", "ready := T;", Some(2))]
    {
        let text = program(before, after);
        let (status, threads) = decided("w.bp", &text, &LoadOptions::default());
        assert_eq!((status, threads), (Status::Violated, least), "{text}");
        for count in 1..=4 {
            let sized = LoadOptions { set: vec![("Thread".into(), count)], ..LoadOptions::default() };
            let (status, _) = decided("w.bp", &text, &sized);
            let expected = least.is_some_and(|least| least <= count as u64);
            assert_eq!(status == Status::Violated, expected, "{count} threads: {text}");
        }
    }
}

/// Compares what Shoal says of a program with what running its tree shows, for one to three threads and for any number.
/// Whether an assertion can fail, if that could be shown.
fn compare_program(bytes: &[u8]) -> Option<bool> {
    const STATES: usize = 20_000;
    let program = boolean::program(&mut Choices::new(bytes));
    let (name, text) = program.text();
    let mut fails = None;
    for any in [false, true] {
        let init = Some(if any { "unbounded" } else { "single" }.to_string());
        let options = LoadOptions { init: init.clone(), ..LoadOptions::default() };
        let loaded = match load_text(name, text.as_str(), &options) {
            Ok(loaded) => loaded,
            Err(error) => {
                assert!(error.to_string().contains("atomic section"), "{error}\n{text}");
                return None;
            }
        };
        let report =
            check(&loaded, &CheckOptions { jit: false, ..CheckOptions::default() }, &mut Quiet).unwrap();
        if loaded.asked.is_empty() {
            return None;
        }
        let (status, threads) = (report.status(), report.proved.iter().find_map(|proved| proved.elements));
        for most in 1..=3 {
            let shown = boolean::run(&program, most, any, STATES);
            if shown == Shown::TooMuch {
                break;
            }
            let context =
                || format!("{most} threads, {init:?}, for any number {status:?} {threads:?}\n{text}");
            let sized = LoadOptions { set: vec![("Thread".into(), most as i64)], ..options.clone() };
            let (bounded, _) = decided(name, &text, &sized);
            assert_eq!(
                bounded == Status::Violated,
                shown == Shown::Fails,
                "{bounded:?}, {shown:?}: {}",
                context()
            );
            assert!(status == Status::Violated || shown == Shown::Never, "{}", context());
            if let Some((count, fewest)) = threads {
                assert!(shown == Shown::Fails || count > most as u64, "{}", context());
                assert!(shown == Shown::Never || !fewest || count <= most as u64, "{}", context());
            }
            fails = Some(fails == Some(true) || shown == Shown::Fails);
        }
    }
    fails
}

/// Compares what Shoal says of a net, in each format that can say it, with the token game. Whether a target is reached, if
/// the game showed it.
fn compare_net(bytes: &[u8]) -> Option<bool> {
    let net = nets::net(&mut Choices::new(bytes));
    let played = net.play(3, 3_000, 12);
    let spec = net.spec();
    let mut forms = vec![("a.spec", spec, None)];
    forms.extend(net.pnml().map(|(text, target)| ("a.pnml", text, Some(target))));
    for (name, text, target) in forms {
        let (status, _) = decided(name, &text, &LoadOptions { target, ..LoadOptions::default() });
        match (played, status) {
            (Played::Reached, Status::Violated) | (Played::Unknown, Status::Violated | Status::Holds) => {}
            (Played::Never, Status::Holds) => {}
            // With more tokens than were played with.
            (Played::Never, Status::Violated) if !net.is_fixed() => {}
            // A small net with large numbers may be too much.
            (Played::Unknown, Status::Unknown) => {}
            _ => panic!("{played:?}, but {status:?}:\n{text}"),
        }
    }
    (played != Played::Unknown).then_some(played == Played::Reached)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("SHOAL_RANDOM_MODELS").ok().and_then(|n| n.parse().ok()).unwrap_or(60),
        max_shrink_iters: 20_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn programs_do_what_their_source_says(bytes in proptest::collection::vec(any::<u8>(), 0..160)) {
        compare_program(&bytes);
    }

    #[test]
    fn nets_play_the_token_game(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        compare_net(&bytes);
    }
}

/// The generator is of use only if its programs are read, and if some of them fail.
#[test]
fn random_programs_are_worth_running() {
    let mut random = Random(1);
    let (mut shown, mut failed) = (0, 0);
    for _ in 0..40 {
        let bytes: Vec<u8> = (0..120).map(|_| random.below(256) as u8).collect();
        if let Some(fails) = compare_program(&bytes) {
            shown += 1;
            failed += usize::from(fails);
        }
    }
    assert!(shown > 8 && failed > 3 && failed < shown, "dull: {shown} programs, {failed} of them fail");
}

fn corpus() -> Option<PathBuf> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/threads");
    corpus.is_dir().then_some(corpus)
}

/// All files below a folder with one of these endings.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, endings, found),
            false if path.extension().is_some_and(|end| endings.iter().any(|known| end == *known)) => {
                found.push(path);
            }
            false => {}
        }
    }
    found.sort();
}

/// A program has the verdict of the transition system that was made of it, and of the same program in the other dialect.
#[test]
fn the_same_program_has_the_same_verdict() {
    let Some(corpus) = corpus() else {
        eprintln!("skipped: no corpus");
        return;
    };
    let mut programs = Vec::new();
    files(&corpus, &["bp"], &mut programs);
    let single = || LoadOptions { init: Some("single".into()), ..LoadOptions::default() };
    let status = |path: &Path| {
        let loaded = load(path, &single()).unwrap();
        check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap().status()
    };
    let mut pairs = (0, 0);
    for program in programs {
        let (system, numbered) = (program.with_extension("tts"), program.with_extension("nbp"));
        if system.is_file() {
            assert_eq!(status(&program), status(&system), "{}", program.display());
            pairs.0 += 1;
        }
        // Some of the numbered ones go to numbers that are not there.
        if numbered.is_file() && load(&numbered, &single()).is_ok() {
            assert_eq!(status(&program), status(&numbered), "{}", program.display());
            pairs.1 += 1;
        }
    }
    assert!(pairs.0 > 10 && pairs.1 > 8, "{pairs:?}");
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit.max(1) as u64) as usize
    }
}

const WORDS: &[&str] = &[
    " 0 ",
    " 4294967296 ",
    "99999999999999999999",
    "-1",
    "->",
    "+>",
    "~>",
    "|",
    "/",
    ",",
    ";",
    "'",
    "*",
    "(",
    ")",
    "begin",
    "end",
    "goto ",
    "decl ",
    "constrain ",
    "start_thread ",
    "atomic_begin;",
    "wait;",
    ">=",
    "in [",
    "]",
    "rules",
    "target ",
    "init ",
    "<place id='p'/>",
    "</net>",
    "<arc/>",
    "\u{fc}",
    "\u{0}",
    "\n",
    "schoose[",
    "if ",
    "fi",
    "while ",
];

fn mutate(text: &str, random: &mut Random) -> String {
    let mut text = text.to_string();
    let place = |text: &str, at: usize| {
        (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    };
    for _ in 0..1 + random.below(4) {
        let from = place(&text, random.below(text.len() + 1));
        let to = place(&text, from + random.below(12)).max(from);
        match random.below(3) {
            0 => text.replace_range(from..to, ""),
            1 => text.insert_str(from, WORDS[random.below(WORDS.len())]),
            _ => {
                let part = text[from..to].to_string();
                let at = place(&text, random.below(text.len() + 1));
                text.insert_str(at, &part);
            }
        }
    }
    text
}

/// Whatever the text, there is no panic, and there is a model or an error.
#[test]
fn mutated_files_are_models_or_errors() {
    let seconds = std::env::var("SHOAL_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3);
    let mut all = Vec::new();
    let endings = ["bp", "nbp", "tts", "spec", "pnml"];
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/beacon"), &endings, &mut all);
    corpus().iter().for_each(|corpus| files(corpus, &endings, &mut all));
    let short = |path: &PathBuf| fs::metadata(path).is_ok_and(|about| about.len() < 8_000);
    let texts: Vec<(String, String)> = all
        .iter()
        .filter(|path| short(path))
        .filter_map(|path| {
            let ending = path.extension()?.to_str()?;
            Some((format!("a.{ending}"), fs::read_to_string(path).ok()?))
        })
        .collect();
    let mut random =
        Random(std::env::var("SHOAL_FUZZ_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1));
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut models, mut errors) = (0, 0);
    while Instant::now() < end {
        let (name, text) = &texts[random.below(texts.len())];
        let text = mutate(text, &mut random);
        let target = ["0|0", "p>=1", "eating1>=1"][random.below(3)];
        let target = (random.below(3) == 0 || name.ends_with("pnml")).then(|| target.to_string());
        let options = LoadOptions { target, ..LoadOptions::default() };
        match catch_unwind(|| load_text(name, text.as_str(), &options).is_ok()) {
            Ok(true) => models += 1,
            Ok(false) => errors += 1,
            Err(_) => panic!("{name}:\n{text}"),
        }
    }
    assert!(models > 5 && errors > 20, "dull: {models} models, {errors} errors");
}

/// The counter systems that certificates speak of are those of the models, as the interpreter sees them.
#[test]
fn the_interpreter_agrees_with_the_counter_system() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/beacon");
    let mut looked = 0;
    for name in
        ["update.tts", "update.bp", "barrier.bp", "readers_writers.bp", "double_checked.bp", "thread_pool.bp"]
    {
        let loaded = load(folder.join(name), &LoadOptions::default()).unwrap();
        let counted = shoal::count(&loaded, &Watch::default()).unwrap();
        for property in &loaded.asked {
            let audit = shoal::audit(&loaded, &counted, *property, true, &Watch::default()).unwrap();
            let audit = audit.expect("threads").unwrap();
            assert_eq!(audit.situations, audit.all);
            looked += audit.situations;
        }
    }
    assert!(looked > 300, "{looked}");
    // The system of another model does not pass: a step is missing.
    let text = |step: &str| format!("3 3\n0 0 -> 1 1\n{step}1 1 -> 0 0\n1|1,1\n");
    let small = load_text("a.tts", text(""), &LoadOptions::default()).unwrap();
    let large = load_text("a.tts", text("1 1 -> 0 1\n"), &LoadOptions::default()).unwrap();
    let counted = shoal::count(&small, &Watch::default()).unwrap();
    let found =
        shoal::audit(&large, &counted, large.asked[0], false, &Watch::default()).unwrap().expect("threads");
    assert!(found.unwrap_err().contains("lacks a step"));
}
