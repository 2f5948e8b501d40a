//! Running Shoal and Rumur, from source to verdict, with a limit of time.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// One tool's run on one model.
pub(super) struct Run {
    /// States found.
    pub(super) states: u64,
    /// From source to verdict.
    pub(super) time: Duration,
    /// Of that, the search.
    pub(super) search: Duration,
    /// The most memory that the search had, in bytes.
    pub(super) peak: u64,
    /// Whether it came to its end in time.
    pub(super) done: bool,
    /// The most nodes that diagrams had, if there were any.
    pub(super) nodes: Option<u64>,
    /// The verdict on the first property, where the tool says it so that it can be read.
    pub(super) verdict: String,
}

pub(super) fn run_shoal(
    shoal: &Path,
    file: &Path,
    options: &[&str],
    threads: u32,
    limit: Duration,
) -> Result<Run, String> {
    let mut command = Command::new(shoal);
    command.args(["check", "--json", "--quiet", "--trace", "none"]).args(options).arg(file);
    command.args(["--threads", &threads.to_string()]);
    command.args(["--time", &limit.as_secs().to_string()]);
    let start = Instant::now();
    let (output, peak) = watch(&mut command)?;
    let time = start.elapsed();
    let finished = output.lines().last().unwrap_or_default();
    let finished: serde_json::Value =
        serde_json::from_str(finished).map_err(|error| format!("shoal: {error}"))?;
    let first = &finished["properties"][0];
    let seconds = first["seconds"].as_f64().unwrap_or(0.0);
    Ok(Run {
        states: first["states"].as_u64().unwrap_or(0),
        time,
        search: Duration::try_from_secs_f64(seconds).unwrap_or(time),
        peak,
        done: finished["exit_code"] != 3,
        nodes: first["nodes_peak"].as_u64(),
        verdict: first["verdict"].as_str().unwrap_or("refused").into(),
    })
}

pub(super) fn run_rumur(file: &Path, options: &[&str], threads: u32, limit: Duration) -> Result<Run, String> {
    let folder = std::env::temp_dir().join("shoal-bench");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (source, program) = (folder.join("model.c"), folder.join("model"));
    let start = Instant::now();
    let threads = threads.to_string();
    let mut translate = Command::new("rumur");
    translate.args(["--threads", &threads]).args(options).arg("--output").arg(&source).arg(file);
    text_of(&mut translate)?;
    let compile = ["-std=c11", "-O3", "-march=native", "-mcx16", "-w", "-lpthread"];
    text_of(Command::new("gcc").arg(&source).arg("-o").arg(&program).args(compile))?;
    let left = limit.saturating_sub(start.elapsed()).as_secs().max(1);
    // Line by line, so that the last number of states is not lost when time is up.
    let began = Instant::now();
    let mut search = Command::new("timeout");
    search.args([&left.to_string(), "stdbuf", "-oL"]).arg(&program);
    let (output, peak) = watch(&mut search)?;
    let (time, search) = (start.elapsed(), began.elapsed());
    let (states, done) = (rumur_states(&output), output.contains("Status:"));
    let verdict = if output.contains("No error found") { "holds" } else { "violated" };
    Ok(Run { states, time, search, peak, done, nodes: None, verdict: verdict.into() })
}

/// The number of states that the checker found: the summary has it. Before, each thread says now and then how many all
/// of them have stored.
fn rumur_states(output: &str) -> u64 {
    let number = |text: &str| text.split_whitespace().last()?.parse::<u64>().ok();
    let summary = output.rsplit_once(" states, ").and_then(|(head, _)| number(head));
    summary.unwrap_or_else(|| {
        let stored = output.lines().filter_map(|line| number(line.split_once(" states explored")?.0));
        stored.max().unwrap_or(0)
    })
}

/// What a command prints, and the most memory that it or one of its children had, in bytes.
pub(super) fn watch(command: &mut Command) -> Result<(String, u64), String> {
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
pub(super) fn text_of(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
