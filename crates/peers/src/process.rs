//! Processes: what they print, how long they take, how much memory they had.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::PeerRun;

/// `shoal check`, called by its path, with options of its own.
pub fn run_shoal(
    shoal: &Path,
    file: &Path,
    options: &[&str],
    threads: u32,
    limit: Duration,
) -> Result<PeerRun, String> {
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
    let verdict = verdict(&finished);
    Ok(PeerRun {
        states: first["states"].as_u64().unwrap_or(0),
        time,
        search: Duration::try_from_secs_f64(seconds).unwrap_or(time),
        peak,
        done: verdict != "unknown",
        nodes: first["nodes_peak"].as_u64(),
        verdict,
    })
}

/// The verdict on all that peers know too: formulas of temporal logic are left out.
fn verdict(finished: &serde_json::Value) -> &'static str {
    let none = Vec::new();
    let properties = finished["properties"].as_array().unwrap_or(&none);
    let asked =
        || properties.iter().filter(|one| !["ltl", "ctl", "tctl"].iter().any(|kind| one["kind"] == *kind));
    let some = |verdict: &str| asked().any(|one| one["verdict"] == verdict);
    match finished["exit_code"].as_u64() {
        _ if some("violated") => "violated",
        _ if some("unknown") => "unknown",
        Some(0 | 1 | 3) => "holds",
        _ => "refused",
    }
}

/// What a command prints, and the most memory that it or one of its children had, in bytes.
pub fn watch(command: &mut Command) -> Result<(String, u64), String> {
    let child = command.stderr(Stdio::null()).stdout(Stdio::piped()).spawn();
    let child = child.map_err(|error| cannot_run(command, &error))?;
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
pub fn text_of(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(Stdio::null()).output().map_err(|error| cannot_run(command, &error))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command that has to succeed: a translator or a compiler.
pub(crate) fn build(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| cannot_run(command, &error))?;
    if output.status.success() {
        return Ok(());
    }
    // Compilers complain on one of the two streams; the first line tells most.
    let said = [output.stderr, output.stdout].concat();
    let said =
        String::from_utf8_lossy(&said).lines().find(|line| !line.trim().is_empty()).map(str::to_string);
    Err(format!("{} refuses: {}", command.get_program().display(), said.unwrap_or_default()))
}

fn cannot_run(command: &Command, error: &std::io::Error) -> String {
    format!("cannot run {}: {error}", command.get_program().display())
}

/// A folder for what a peer generates, gone when it is dropped.
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    pub(crate) fn new(tool: &str) -> Result<ScratchFolder, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("shoal-{tool}-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(ScratchFolder(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
