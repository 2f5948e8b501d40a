//! `cargo xtask soak`: every hunt for disagreements, with fresh seeds, for as long as there is time.
//!
//! A hunt is a test that makes random models (or damages files) and compares what does not share code: engines with the
//! interpreter, front ends with other readers of their languages, reductions with brute force. The gate runs each with a fixed seed and
//! a small dose; here they run round after round with `PROPTEST_RNG_SEED` of the round and a larger dose. What is compared is
//! counted by the tests themselves, in the file that `SHOAL_TALLY` names, where they do; else by the dose.
//!
//! At their ends hunts also assert that what they compared was worth it (some hold, some fail), with messages that begin with
//! `dull:`. With other seeds and doses than the gate's that may fail by chance: it is told, and no disagreement.

mod mutate;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{
    process::{Interference, watch},
    programs::{ProgramKind, build},
    tidy::root,
};
use mutate::Gallery;

const USAGE: &str =
    "usage: cargo xtask soak --minutes M [--seed S] [--only WORD] [--release] [--inputs N] [--shoal PROGRAM]";

/// Where hunts are: the package, the beginning of the names of its tests, and how many models a round takes.
const HUNTS: &[(&str, &str, u32)] = &[
    ("shoal", "random_models::", 100),
    ("shoal", "random_ltl::", 100),
    ("shoal", "random_ctl::", 100),
    ("shoal", "random_promela::", 60),
    ("shoal", "random_spin::", 40),
    ("shoal", "named::", 40),
    ("shoal", "failing::", 40),
    ("shoal", "stubborn::", 150),
    ("shoal", "symmetric::", 60),
    ("shoal", "thread_formats::", 40),
    ("shoal", "red::", 150),
    ("shoal", "reductions::", 30),
    ("shoal", "heap::random", 30),
    ("shoal", "export_murphi::random", 100),
    ("shoal", "reuse::", 300),
    ("shoal", "values::", 60),
    ("shoal", "walks::", 8),
    ("shoal", "refine::", 60),
    ("shoal", "threads::", 60),
    ("shoal", "saved_searches::", 1000),
    ("shoal", "automorphisms::", 60),
    ("shoal", "contest::", 60),
    ("shoal", "coloured::", 60),
    ("shoal", "alike::", 400),
    ("shoal", "beyond::", 1),
    ("shoal-automorphism", "", 60),
    ("shoal-timed", "random::", 60),
    ("shoal-timed", "random_networks::", 60),
    ("shoal-timed", "random_code::", 60),
    ("shoal-timed", "tctl::", 30),
    ("shoal-verify", "random_systems::", 60),
    ("shoal-verify", "views::random", 100),
    ("shoal-verify", "damaged::", 200),
    ("shoal-views", "random::", 40),
];
/// Changed inputs in a round, unless said otherwise.
const INPUTS: usize = 150;
/// The hunt that is no test.
const MUTATED: &str = "mutated inputs";
/// The name of the command among programs.
const COMMAND: &str = "the command";
/// How far apart the seeds of rounds are: more than any hunt takes in a round.
const STRIDE: u64 = 10_000;
/// The most time of the processor that one hunt may take in a round: the clock would count what the machine does beside it.
const PATIENCE: Duration = Duration::from_secs(900);

/// SplitMix64.
pub(crate) struct SoakNumbers(u64);

impl SoakNumbers {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * bound as u128) >> 64) as usize
    }
}

/// What was compared and how often it was wrong, by kind.
#[derive(Default)]
pub(crate) struct SoakTally(BTreeMap<String, (u64, u64)>);

impl SoakTally {
    pub(crate) fn add(&mut self, kind: &str, compared: u64) {
        self.0.entry(kind.to_string()).or_default().0 += compared;
    }

    fn wrong(&mut self, kind: &str) {
        self.0.entry(kind.to_string()).or_default().1 += 1;
    }

    fn print(&self) {
        println!("\n{:<40} {:>12} {:>14}", "kind", "compared", "disagreements");
        for (kind, (compared, wrong)) in &self.0 {
            println!("{kind:<40} {compared:>12} {wrong:>14}");
        }
    }

    fn disagreements(&self) -> u64 {
        self.0.values().map(|(_, wrong)| wrong).sum()
    }
}

struct SoakOptions {
    minutes: f64,
    seed: u64,
    only: Option<String>,
    release: bool,
    /// Changed inputs in a round.
    inputs: usize,
    /// The command to try, instead of one that is built.
    shoal: Option<PathBuf>,
}

impl SoakOptions {
    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }

    /// The hunts that are wanted.
    fn hunts(&self) -> impl Iterator<Item = &'static (&'static str, &'static str, u32)> {
        HUNTS.iter().filter(|(package, filter, _)| self.wants(&format!("{package} {filter}")))
    }
}

pub(crate) fn soak(args: &[String]) -> Result<(), String> {
    let options = parse(args)?;
    let programs = programs(&options)?;
    let folder = std::env::temp_dir().join(format!("shoal-soak-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let tally = hunt(&options, &programs, &folder);
    let _ = fs::remove_dir_all(&folder);
    let tally = tally?;
    tally.print();
    match tally.disagreements() {
        0 => Ok(()),
        count => Err(format!("{count} disagreements")),
    }
}

fn parse(args: &[String]) -> Result<SoakOptions, String> {
    // A seed that can be typed again.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut options = SoakOptions {
        minutes: 0.0,
        seed: now.as_secs() % 1_000_000,
        only: None,
        release: false,
        inputs: INPUTS,
        shoal: None,
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(USAGE);
        match word.as_str() {
            "--minutes" => options.minutes = value()?.parse().map_err(|_| USAGE)?,
            "--seed" => options.seed = value()?.parse().map_err(|_| USAGE)?,
            "--only" => options.only = Some(value()?.clone()),
            "--release" => options.release = true,
            "--inputs" => options.inputs = value()?.parse().map_err(|_| USAGE)?,
            "--shoal" => options.shoal = Some(program(value()?)?),
            _ => return Err(USAGE.into()),
        }
    }
    if options.minutes <= 0.0 { Err(USAGE.into()) } else { Ok(options) }
}

/// Where a program is, from every folder.
fn program(path: &str) -> Result<PathBuf, String> {
    fs::canonicalize(path).map_err(|error| format!("{path}: {error}"))
}

/// Builds the tests and the command, where they are needed; gives the program of tests of each package, and the command.
fn programs(options: &SoakOptions) -> Result<BTreeMap<String, PathBuf>, String> {
    if let (Some(shoal), None) = (&options.shoal, options.hunts().next()) {
        return Ok(BTreeMap::from([(COMMAND.into(), shoal.clone())]));
    }
    let profile: &[&str] = if options.release { &["--release"] } else { &[] };
    // All of the workspace, as the gate builds it: a few packages alone have other features, and so other dependencies to build.
    let mut found = executables(&[&["test", "--workspace", "--no-run", "--tests"], profile].concat())?;
    if let Some(shoal) = &options.shoal {
        found.insert(COMMAND.into(), shoal.clone());
    }
    Ok(found)
}

/// Test programs by package, and the command, which tests of it need.
fn executables(args: &[&str]) -> Result<BTreeMap<String, PathBuf>, String> {
    let mut found = BTreeMap::new();
    for program in build(args, true)? {
        let folder = program.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let package = if folder == "shoal" { folder } else { format!("shoal-{folder}") };
        match program.kind {
            // A program of tests of its own goes before the tests inside a crate.
            ProgramKind::Tests => drop(found.insert(package, program.path)),
            ProgramKind::UnitTests => drop(found.entry(package).or_insert(program.path)),
            ProgramKind::Command if program.target == "shoal" => {
                found.insert(COMMAND.into(), program.path);
            }
            ProgramKind::Command => {}
        }
    }
    Ok(found)
}

fn hunt(
    options: &SoakOptions,
    programs: &BTreeMap<String, PathBuf>,
    folder: &Path,
) -> Result<SoakTally, String> {
    let end = Instant::now() + Duration::from_secs_f64(60.0 * options.minutes);
    println!("seed {}: repeat with --seed {}", options.seed, options.seed);
    let mut tally = SoakTally::default();
    let gallery = Gallery::read();
    for round in 0.. {
        // Some hunts count on from it, others take their numbers from it.
        let seed = options.seed.wrapping_add(round * STRIDE);
        for (package, filter, dose) in options.hunts() {
            if Instant::now() >= end {
                return Ok(tally);
            }
            let program =
                programs.get(*package).ok_or(format!("cargo did not build the tests of {package}"))?;
            run_hunt(program, &format!("{package} {filter}"), filter, *dose, seed, folder, &mut tally)?;
        }
        let mut numbers = SoakNumbers(seed);
        for _ in 0..if options.wants(MUTATED) { options.inputs } else { 0 } {
            let shoal = programs.get(COMMAND).ok_or("cargo did not build the command")?;
            if Instant::now() >= end {
                return Ok(tally);
            }
            if let Err(wrong) = gallery.try_one(shoal, folder, &mut numbers, &mut tally) {
                println!("✗ seed {seed}: {wrong}");
                tally.wrong(MUTATED);
            }
        }
        if Instant::now() >= end {
            break;
        }
    }
    Ok(tally)
}

/// Runs the tests whose names begin so, with a seed.
fn run_hunt(
    program: &Path,
    name: &str,
    filter: &str,
    dose: u32,
    seed: u64,
    folder: &Path,
    tally: &mut SoakTally,
) -> Result<(), String> {
    let counted = folder.join("tally");
    let _ = fs::remove_file(&counted);
    let mut tests = Command::new(program);
    tests.arg(filter).current_dir(root());
    tests.env("PROPTEST_RNG_SEED", seed.to_string()).env("SHOAL_RANDOM_MODELS", dose.to_string());
    tests
        .env("SHOAL_RANDOM_SYSTEMS", dose.to_string())
        .env("SHOAL_RANDOM_FIRST", seed.to_string())
        .env("SHOAL_VIEWS_MODELS", dose.to_string())
        .env("SHOAL_VIEWS_SEED", seed.to_string())
        .env("SHOAL_TALLY", &counted)
        .env("PROPTEST_FAILURE_PERSISTENCE", "off");
    let ended = watch(&mut tests, Interference { cpu: Some(PATIENCE), ..Interference::default() })?;
    if ended.output.contains("running 0 tests") {
        return Err(format!("{name}: no test of {} begins so", program.display()));
    }
    let lines = fs::read_to_string(&counted).unwrap_or_default();
    match lines.is_empty() {
        true => tally.add(name, dose.into()),
        false => lines.lines().for_each(|kind| tally.add(kind, 1)),
    }
    if ended.status.is_some_and(|status| status.success()) {
        return Ok(());
    }
    let dull = ended.status.is_some() && is_only_dull(&ended.output);
    if !dull {
        tally.wrong(name);
    }
    let kept = root().join("target/soak");
    let file = kept.join(format!("{}-{seed}.txt", name.replace([' ', ':'], "_")));
    fs::create_dir_all(&kept)
        .and_then(|()| fs::write(&file, &ended.output))
        .map_err(|error| error.to_string())?;
    let how = match ended.status {
        None => "✗ does not end",
        Some(_) if dull => "! compared too little of interest",
        Some(_) => "✗ fails",
    };
    println!(
        "{how}: {name}: PROPTEST_RNG_SEED={seed} SHOAL_RANDOM_MODELS={dose} {} {filter}; it said {}",
        program.display(),
        file.display()
    );
    Ok(())
}

/// Whether all that tests complain of is that what they compared was not worth it.
fn is_only_dull(output: &str) -> bool {
    let mut lines = output.lines();
    let mut complaints = std::iter::from_fn(|| {
        lines.find(|line| line.contains(" panicked at "))?;
        Some(lines.next().is_some_and(|message| message.starts_with("dull: ")))
    });
    // One at least: what ends in another way than by a panic is no complaint of this kind.
    complaints.next() == Some(true) && complaints.all(|dull| dull)
}

#[cfg(test)]
mod tests {
    use super::is_only_dull;

    #[test]
    fn only_what_was_not_worth_it_is_no_disagreement() {
        let dull = "thread 'a' (1) panicked at b.rs:1:5:\ndull: 3 yes, 0 no\nstack backtrace:\n";
        let wrong = "thread 'c' (2) panicked at d.rs:1:5:\nseed 3: it holds?\n";
        assert!(is_only_dull(dull) && is_only_dull(&dull.repeat(2)));
        assert!(!is_only_dull(&format!("{dull}{wrong}")) && !is_only_dull(&format!("{wrong}{dull}")));
        assert!(!is_only_dull("test result: FAILED") && !is_only_dull("thread 'a' panicked at b.rs:1:5:"));
    }
}
