//! Shoal beside Rumur: wall time from source file to verdict, on one machine in one run.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::build_shoal;
use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench explicit [--threads N] [--seconds S] [--no-symmetry] [FILE.m...]

Runs `shoal check --dialect rumur --first` and Rumur (rumur, then gcc -O3, then its checker) on each file, from source to
verdict, and prints states, seconds (in all / of the search alone), peak memory of the process by state, and how many
times faster Shoal is (in all / searching). A run that is not done after S seconds (60) is ended; then the numbers of
states found until then are compared instead. Without files: models of the corpus with more than 100,000 states
(../shared/corpus). Needs: apt-get install rumur gcc";

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
    /// From source to verdict.
    time: Duration,
    /// Of that, the search.
    search: Duration,
    /// The most memory that the search had, in bytes.
    peak: u64,
    done: bool,
}

/// Prints a table of both tools on the given models.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let settings = settings(args)?;
    let shoal = build_shoal()?;
    println!(
        "| model | shoal states | s | bytes/state | rumur states | s | bytes/state | rumur / shoal | searching |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut ratios = [Vec::new(), Vec::new()];
    for (file, symmetry) in &settings.models {
        let ours = run_shoal(&shoal, file, *symmetry, &settings)?;
        let theirs = run_rumur(file, *symmetry, &settings)?;
        let found = [ratio(&ours, &theirs, |run| run.time), ratio(&ours, &theirs, |run| run.search)];
        ratios.iter_mut().zip(found).for_each(|(ratios, ratio)| ratios.extend(ratio));
        // A run that was cut off would have taken longer.
        let sign = match (ours.done, theirs.done) {
            (true, false) => "> ",
            (false, true) => "< ",
            _ => "",
        };
        let [whole, search] =
            found.map(|ratio| ratio.map_or("?".to_string(), |ratio| format!("{sign}{ratio:.1}")));
        let name = file.file_name().map_or_else(String::new, |name| name.display().to_string());
        let mark = if *symmetry { "" } else { " (no symmetry)" };
        println!("| {name}{mark} | {} | {} | {whole} | {search} |", cell(&ours), cell(&theirs));
    }
    let [whole, search] = &ratios;
    if !whole.is_empty() {
        let [count, threads] = [whole.len(), settings.threads as usize];
        println!(
            "\ngeometric mean of {count} models, {threads} threads: {:.1}, searching {:.1}; least {:.1}",
            mean(whole),
            mean(search),
            whole.iter().copied().fold(f64::INFINITY, f64::min)
        );
    }
    Ok(())
}

/// The geometric mean.
fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// How many times faster: by time if one is done, else by states found in the time allowed; nothing if the peer did not
/// say how many it has found.
fn ratio(ours: &Run, theirs: &Run, time: impl Fn(&Run) -> Duration) -> Option<f64> {
    match (ours.done, theirs.done, theirs.states) {
        (false, false, 0) => None,
        (false, false, states) => Some(ours.states as f64 / states as f64),
        _ => Some(time(theirs).as_secs_f64() / time(ours).as_secs_f64().max(0.001)),
    }
}

fn cell(run: &Run) -> String {
    let sign = if run.done { "" } else { "> " };
    let bytes = run.peak.checked_div(run.states).map_or("?".to_string(), |bytes| bytes.to_string());
    let [time, search] = [run.time, run.search].map(|time| time.as_secs_f64());
    format!("{sign}{} | {sign}{time:.2} / {search:.2} | {bytes}", run.states)
}

fn settings(args: &[String]) -> Result<Settings, String> {
    let mut words = args.iter();
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
    let (output, peak) = watch(&mut command)?;
    let time = start.elapsed();
    let finished = output.lines().last().unwrap_or_default();
    let finished: serde_json::Value =
        serde_json::from_str(finished).map_err(|error| format!("shoal: {error}"))?;
    let states = finished["properties"][0]["states"].as_u64().unwrap_or(0);
    let seconds = finished["properties"][0]["seconds"].as_f64().unwrap_or(0.0);
    let search = Duration::try_from_secs_f64(seconds).unwrap_or(time);
    Ok(Run { states, time, search, peak, done: finished["exit_code"] != 3 })
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
    let began = Instant::now();
    let mut search = Command::new("timeout");
    search.args([&left.to_string(), "stdbuf", "-oL"]).arg(&program);
    let (output, peak) = watch(&mut search)?;
    let (time, search) = (start.elapsed(), began.elapsed());
    Ok(Run { states: rumur_states(&output), time, search, peak, done: output.contains("Status:") })
}

/// The number of states that the checker found: the summary has it; before, each thread says how many it has explored.
fn rumur_states(output: &str) -> u64 {
    let number = |text: &str| text.split_whitespace().last()?.parse::<u64>().ok();
    let summary = output.rsplit_once(" states, ").and_then(|(head, _)| number(head));
    summary.unwrap_or_else(|| {
        let explored = output.lines().filter_map(|line| {
            let (head, _) = line.split_once(" states explored")?;
            let (thread, count) = head.split_once(':').unwrap_or(("", head));
            Some((thread.to_string(), number(count)?))
        });
        explored.collect::<HashMap<String, u64>>().values().sum()
    })
}

/// What a command prints, and the most memory that it or one of its children had, in bytes.
fn watch(command: &mut Command) -> Result<(String, u64), String> {
    let child = command.stderr(Stdio::null()).stdout(Stdio::piped()).spawn();
    let child = child.map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    let id = child.id();
    let ended = Arc::new(AtomicBool::new(false));
    let peak = thread::spawn({
        let ended = ended.clone();
        move || {
            let mut peak = 0;
            while !ended.load(Ordering::Relaxed) {
                peak = peak.max(memory_of(id));
                thread::sleep(Duration::from_millis(5));
            }
            peak
        }
    });
    let output = child.wait_with_output().map_err(|error| error.to_string());
    ended.store(true, Ordering::Relaxed);
    let peak = peak.join().unwrap_or(0);
    Ok((String::from_utf8_lossy(&output?.stdout).into_owned(), peak))
}

/// The most memory that a process or one of its children has had, in bytes.
fn memory_of(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let own = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) * 1024;
    let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    children.split_whitespace().filter_map(|child| child.parse().ok()).map(memory_of).fold(own, u64::max)
}

/// What a command prints. Its exit code is not looked at: a violation is an answer too.
fn text_of(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
