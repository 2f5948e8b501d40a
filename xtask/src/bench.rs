//! Shoal beside Rumur: wall time from source file to verdict, on one machine in one run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench explicit [--threads N] [--seconds S] [--no-symmetry] [FILE.m...]

Runs `shoal check --dialect rumur --first` and Rumur (rumur, then gcc -O3, then its checker) on each file, from source to
verdict, and prints states, seconds and how many times faster Shoal is. A run that is not done after S seconds (60) is
ended; then the numbers of states found until then are compared instead. Without files: models of the corpus with more
than 100,000 states (../shared/corpus). Needs: apt-get install rumur gcc";

/// Models of the corpus that both tools read, with more than 100,000 states; with `*`, without symmetry reduction.
const CORPUS: &[&str] = &[
    "melver+cmurphi/ex/mux/mcslock2.m",
    "melver+cmurphi/ex/mux/n_peterson.m",
    "*melver+cmurphi/ex/mux/mcslock1.m",
    "*melver+cmurphi/ex/mux/mcslock2.m",
    "civic-fv+romp/tests/deepdense.m",
    "civic-fv+romp/tests/deepsparse.m",
    "civic-fv+romp/tests/lck9_Bug3.m",
    "civic-fv+romp/tests/n_peterson_bug1.m",
    "*civic-fv+romp/tests/heterogen/ruMI.m",
    "civic-fv+romp/tests/heterogen/ruMI_werror.m",
    "lyj238Gmail+newParaVerifier/examples/n_g2k.m",
    "lyj238Gmail+newParaVerifier/examples/n_germanSimp.m",
    "lyj238Gmail+newParaVerifier/examples/n_flash_nodata.m",
    "lyj238Gmail+newParaVerifier/examples/n_flash_data.m",
    "Smattr+rumur/misc/pending-queue.m",
    "Smattr+rumur/misc/zebra-puzzle.m",
    "murphi2chisel+Multi-verify-Engines-for-Cache-Coherence-Protocols-Murphi2Chisel/src/benchmark/benchmark4/cache_error_1.m",
];

/// What the user asks for.
struct Settings {
    threads: u32,
    limit: Duration,
    /// Files, and whether to reduce by symmetry.
    models: Vec<(PathBuf, bool)>,
}

/// One tool's run on one model.
struct Run {
    states: u64,
    time: Duration,
    done: bool,
}

/// Prints a table of both tools on the given models.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let settings = settings(args)?;
    let shoal = build_shoal()?;
    println!("| model | shoal states | shoal s | rumur states | rumur s | rumur / shoal |");
    println!("|---|--:|--:|--:|--:|--:|");
    let mut logs = Vec::new();
    for (file, symmetry) in &settings.models {
        let ours = run_shoal(&shoal, file, *symmetry, &settings)?;
        let theirs = run_rumur(file, *symmetry, &settings)?;
        let ratio = ratio(&ours, &theirs);
        logs.extend(ratio.map(f64::ln));
        let ratio = ratio.map_or("?".to_string(), |ratio| format!("{ratio:.1}"));
        let name = file.file_name().map_or_else(String::new, |name| name.display().to_string());
        let mark = if *symmetry { "" } else { " (no symmetry)" };
        println!("| {name}{mark} | {} | {} | {ratio} |", cell(&ours), cell(&theirs));
    }
    if !logs.is_empty() {
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        println!("\ngeometric mean of {} models, {} threads: {mean:.1}", logs.len(), settings.threads);
    }
    Ok(())
}

/// How many times faster: by time if one is done, else by states found in the time allowed; nothing if the peer did not
/// say how many it has found.
fn ratio(ours: &Run, theirs: &Run) -> Option<f64> {
    match (ours.done, theirs.done, theirs.states) {
        (false, false, 0) => None,
        (false, false, states) => Some(ours.states as f64 / states as f64),
        _ => Some(theirs.time.as_secs_f64() / ours.time.as_secs_f64().max(0.001)),
    }
}

fn cell(run: &Run) -> String {
    let sign = if run.done { "" } else { "> " };
    format!("{sign}{} | {sign}{:.2}", run.states, run.time.as_secs_f64())
}

fn settings(args: &[String]) -> Result<Settings, String> {
    let mut words = args.iter();
    if words.next().map(String::as_str) != Some("explicit") {
        return Err(USAGE.into());
    }
    let mut settings = Settings { threads: 2, limit: Duration::from_secs(60), models: Vec::new() };
    let mut symmetry = true;
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<u32>().ok()).ok_or(USAGE);
        match word.as_str() {
            "--threads" => settings.threads = number()?,
            "--seconds" => settings.limit = Duration::from_secs(number()?.into()),
            "--no-symmetry" => symmetry = false,
            option if option.starts_with("--") => return Err(USAGE.into()),
            file => settings.models.push((file.into(), symmetry)),
        }
    }
    if settings.models.is_empty() {
        let corpus = root().join("../shared/corpus/murphi");
        if !corpus.is_dir() {
            return Err(format!("no corpus, and no files named\n{USAGE}"));
        }
        let model = |name: &&str| (corpus.join(name.trim_start_matches('*')), !name.starts_with('*'));
        settings.models = CORPUS.iter().map(model).collect();
    }
    Ok(settings)
}

pub(crate) fn build_shoal() -> Result<PathBuf, String> {
    crate::cargo(&["build", "--release", "--quiet", "--package", "shoal-cli"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release/shoal"))
}

fn run_shoal(shoal: &Path, file: &Path, symmetry: bool, settings: &Settings) -> Result<Run, String> {
    let mut command = Command::new(shoal);
    command
        .args(["check", "--json", "--quiet", "--first", "--trace", "none", "--dialect", "rumur"])
        .arg(file);
    command.args(["--threads", &settings.threads.to_string()]);
    command.args(["--time", &settings.limit.as_secs().to_string()]);
    if !symmetry {
        command.arg("--no-symmetry");
    }
    let start = Instant::now();
    let output = text_of(&mut command)?;
    let time = start.elapsed();
    let finished = output.lines().last().unwrap_or_default();
    let finished: serde_json::Value =
        serde_json::from_str(finished).map_err(|error| format!("shoal: {error}"))?;
    let states = finished["properties"][0]["states"].as_u64().unwrap_or(0);
    Ok(Run { states, time, done: finished["exit_code"] != 3 })
}

fn run_rumur(file: &Path, symmetry: bool, settings: &Settings) -> Result<Run, String> {
    let folder = std::env::temp_dir().join("shoal-bench");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (source, program) = (folder.join("model.c"), folder.join("model"));
    let symmetry = if symmetry { "heuristic" } else { "off" };
    let start = Instant::now();
    let threads = settings.threads.to_string();
    let translate = ["--threads", &threads, "--symmetry-reduction", symmetry, "--output"];
    text_of(Command::new("rumur").args(translate).arg(&source).arg(file))?;
    let compile = ["-std=c11", "-O3", "-march=native", "-mcx16", "-w", "-lpthread"];
    text_of(Command::new("gcc").arg(&source).arg("-o").arg(&program).args(compile))?;
    let left = settings.limit.saturating_sub(start.elapsed()).as_secs().max(1);
    // Line by line, so that the last number of states is not lost when time is up.
    let output = text_of(Command::new("stdbuf").args(["-oL", "timeout", &left.to_string()]).arg(&program))?;
    let time = start.elapsed();
    Ok(Run { states: rumur_states(&output), time, done: output.contains("Status:") })
}

/// The last number of states that the checker printed: its progress lines and its summary have one.
fn rumur_states(output: &str) -> u64 {
    let number = |head: &str| head.split_whitespace().last().and_then(|word| word.parse().ok());
    output.rsplit(" states").find_map(number).unwrap_or(0)
}

/// What a command prints. Its exit code is not looked at: a violation is an answer too.
fn text_of(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
