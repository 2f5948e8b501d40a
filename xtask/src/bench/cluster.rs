//! Several processes on this machine: the same counts as one, how much of the processor is lost, bytes on the wire, and what happens
//! when one is killed.
//!
//! Efficiency is the processor's time of the plain search on one thread over that of all processes together, so it does not depend on how
//! many cores there are; what else the machine does makes it vary.

use std::{fs, net::TcpListener, path::Path, process::Command, thread, time::Duration};

use serde_json::Value;

use super::build_shoal;
use crate::{
    process::{Interference, ProgramEnd, watch},
    tidy::root,
};

const MODELS: &[(&str, &[&str])] = &[
    ("murphi/german.m", &["--set", "N=5", "--no-symmetry"]),
    ("murphi/german.m", &["--set", "N=6"]),
    ("murphi/peterson.m", &["--set", "N=6", "--no-symmetry"]),
    ("murphi/network_multiset.m", &["--set", "N=7"]),
    ("murphi/german_bug.m", &["--set", "N=4"]),
    ("promela/leader_ring.pml", &["--no-partial-order"]),
];
/// How often a process is killed, and when a run is given up.
const KILLS: u64 = 20;
const PATIENCE: Duration = Duration::from_secs(600);
/// In how much time the others must have noticed that one was killed.
const NOTICE: Duration = Duration::from_secs(15);

/// Compares processes with one. With `--quick`, small models and few kills.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let quick = args.iter().any(|arg| arg == "--quick");
    let shoal = build_shoal()?;
    let folder = std::env::temp_dir().join(format!("shoal-bench-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let outcome =
        compare(&shoal, &folder, quick).and_then(|()| kill(&shoal, &folder, if quick { 3 } else { KILLS }));
    fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    outcome
}

fn compare(shoal: &Path, folder: &Path, quick: bool) -> Result<(), String> {
    println!(
        "{:<40} {:>10} {:>9} {:>8} {:>8} {:>10}",
        "", "states", "processes", "CPU s", "of plain", "bytes/state"
    );
    for (file, options) in MODELS.iter().skip(if quick { 3 } else { 0 }) {
        let name = format!("{file} {}", options.join(" "));
        let plain = run(shoal, folder, file, &[options, &["--threads", "1"][..]].concat())?;
        let thin =
            run(shoal, folder, file, &[options, &["--threads", "1", "--storage", "thin"][..]].concat())?;
        let expected = counted(&thin)?;
        let seconds = plain.cpu.as_secs_f64();
        println!("{name:<40} {:>10} {:>9} {seconds:>8.2}", expected[0].to_string(), "plain");
        println!(
            "{:<40} {:>10} {:>9} {:>8.2} {:>8.2}",
            "",
            "",
            1,
            thin.cpu.as_secs_f64(),
            seconds / thin.cpu.as_secs_f64()
        );
        for processes in [2, 4] {
            let runs = together(shoal, folder, file, options, processes, |_| Interference::default())?;
            if counted(&runs[0])? != expected {
                return Err(format!(
                    "{name}: {processes} processes found {:?} instead of {expected:?}",
                    counted(&runs[0])?
                ));
            }
            let cpu: f64 = runs.iter().map(|run| run.cpu.as_secs_f64()).sum();
            let bytes: f64 = sent(&runs[0]).map_or(0.0, |bytes| bytes * processes as f64);
            let states = expected[0].as_f64().unwrap_or(1.0).max(1.0);
            println!(
                "{:<40} {:>10} {processes:>9} {cpu:>8.2} {:>8.2} {:>10.1}",
                "",
                "",
                seconds / cpu,
                bytes / states
            );
        }
    }
    Ok(())
}

/// Kills a process at many moments: every other one ends soon, with exit code 3 or with the right verdict if it was done.
fn kill(shoal: &Path, folder: &Path, times: u64) -> Result<(), String> {
    let (file, options) = ("murphi/german.m", ["--set", "N=5", "--no-symmetry"]);
    let (mut lost, mut done) = (0, 0);
    for time in 0..times {
        // Spread over what the run takes, without a visible order.
        let after = Duration::from_millis(100 + time * 7919 % 4000);
        let victim = (time % 3) as usize;
        let interference = |process| match process == victim {
            true => Interference { signal: Some(("KILL", after)), ..Interference::default() },
            false => Interference { wall: Some(after + PATIENCE), ..Interference::default() },
        };
        let runs = together(shoal, folder, file, &options, 3, interference)?;
        for (process, run) in runs.iter().enumerate().filter(|(process, _)| *process != victim) {
            match run.status.as_ref().and_then(std::process::ExitStatus::code) {
                Some(0) => done += 1,
                // Those that have not found each other yet say that instead.
                Some(2 | 3) if run.wall < after + NOTICE + Duration::from_secs(30) => lost += 1,
                code => {
                    return Err(format!(
                        "process {process} ended with {code:?} after {:?}: {}",
                        run.wall, run.output
                    ));
                }
            }
        }
    }
    println!(
        "{times} kills: {lost} processes ended without a verdict, {done} were done before; none was wrong"
    );
    Ok(())
}

fn run(shoal: &Path, folder: &Path, file: &str, options: &[&str]) -> Result<ProgramEnd, String> {
    let mut command = Command::new(shoal);
    command.arg("check").arg(root().join("models").join(file)).args(options);
    command
        .args(["--json", "--profile", "--trace", "none", "--engine", "explicit", "--all"])
        .current_dir(folder);
    watch(&mut command, Interference { wall: Some(PATIENCE), ..Interference::default() })
}

/// Runs processes that search together.
fn together(
    shoal: &Path,
    folder: &Path,
    file: &str,
    options: &[&str],
    processes: usize,
    interference: impl Fn(usize) -> Interference + Sync,
) -> Result<Vec<ProgramEnd>, String> {
    let failed = |error: std::io::Error| error.to_string();
    let listeners: Vec<TcpListener> =
        (0..processes).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<Result<_, _>>().map_err(failed)?;
    let lines: Vec<String> = listeners
        .iter()
        .map(|listener| listener.local_addr().map(|address| format!("{address}\n")))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    drop(listeners);
    fs::write(folder.join("hosts"), lines.concat()).map_err(failed)?;
    let secret = folder.join("secret");
    fs::write(&secret, "of no use to anybody").map_err(failed)?;
    #[cfg(unix)]
    fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).map_err(failed)?;
    thread::scope(|scope| {
        let start = |process: usize| {
            let interference = interference(process);
            let number = process.to_string();
            scope.spawn(move || {
                let mut command = Command::new(shoal);
                command.arg("check").arg(root().join("models").join(file)).args(options);
                command.args([
                    "--json",
                    "--profile",
                    "--trace",
                    "none",
                    "--engine",
                    "explicit",
                    "--all",
                    "--threads",
                    "1",
                ]);
                command.args(["--hosts", "hosts", "--secret-file", "secret", "--process", &number]);
                watch(command.current_dir(folder), interference)
            })
        };
        let running: Vec<_> = (0..processes).map(start).collect();
        running.into_iter().map(|run| run.join().map_err(|_| "a watcher has ended".to_string())?).collect()
    })
}

/// What must be the same: states, steps, levels, orbits, verdicts and traces.
fn counted(run: &ProgramEnd) -> Result<Vec<Value>, String> {
    let events = run.output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut counts = Vec::new();
    for event in events.filter(|event| event["event"] == "verdict" || event["event"] == "profile") {
        let names = ["states", "transitions", "states_full", "verdict", "steps", "levels"];
        counts.extend(names.map(|name| event[name].clone()));
    }
    if counts.is_empty() { Err(format!("there is no verdict: {}", run.output)) } else { Ok(counts) }
}

/// How many bytes the first process sent, as its notes say.
fn sent(run: &ProgramEnd) -> Option<f64> {
    let (_, behind) = run.output.split_once("this one sent ")?;
    behind.split_whitespace().next()?.parse().ok()
}
