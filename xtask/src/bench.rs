//! Shoal beside Rumur: wall time from source file to verdict, on one machine in one run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench [--no-symmetry] FILE.m...

Runs `shoal check --dialect rumur --first` and Rumur (rumur, gcc -O3, one thread) on each file and prints
states, seconds from source to verdict, and the ratio. Without files: models/murphi at larger sizes is up to you;
name the files you care about. Needs: apt-get install rumur gcc";

/// One tool's run on one model.
struct Run {
    states: String,
    time: Duration,
}

/// Prints a table of both tools on the given models.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let full = args.iter().any(|arg| arg == "--no-symmetry");
    let files: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    if files.is_empty() {
        return Err(USAGE.into());
    }
    let shoal = build_shoal()?;
    println!("| model | shoal states | shoal s | rumur states | rumur s (with gcc) | rumur / shoal |");
    println!("|---|--:|--:|--:|--:|--:|");
    for file in files {
        let ours = run_shoal(&shoal, Path::new(file), full)?;
        let theirs = run_rumur(Path::new(file), full)?;
        let ratio = theirs.time.as_secs_f64() / ours.time.as_secs_f64();
        println!(
            "| {file} | {} | {:.2} | {} | {:.2} | {ratio:.1} |",
            ours.states,
            ours.time.as_secs_f64(),
            theirs.states,
            theirs.time.as_secs_f64(),
        );
    }
    Ok(())
}

fn build_shoal() -> Result<PathBuf, String> {
    crate::cargo(&["build", "--release", "--quiet", "--package", "shoal-cli"])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release/shoal"))
}

fn run_shoal(shoal: &Path, file: &Path, full: bool) -> Result<Run, String> {
    let mut command = Command::new(shoal);
    command
        .args(["check", "--json", "--quiet", "--first", "--trace", "none", "--dialect", "rumur"])
        .arg(file);
    if full {
        command.arg("--no-symmetry");
    }
    let start = Instant::now();
    let output = text_of(&mut command)?;
    let time = start.elapsed();
    let finished = output.lines().last().unwrap_or_default();
    let finished: serde_json::Value =
        serde_json::from_str(finished).map_err(|error| format!("shoal: {error}"))?;
    let states = finished["properties"][0]["states"].to_string();
    Ok(Run { states, time })
}

fn run_rumur(file: &Path, full: bool) -> Result<Run, String> {
    let folder = std::env::temp_dir().join("shoal-bench");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (source, program) = (folder.join("model.c"), folder.join("model"));
    let symmetry = if full { "off" } else { "heuristic" };
    let start = Instant::now();
    let translate = ["--threads", "1", "--symmetry-reduction", symmetry, "--output"];
    text_of(Command::new("rumur").args(translate).arg(&source).arg(file))?;
    let compile = ["-std=c11", "-O3", "-march=native", "-mcx16", "-w", "-lpthread"];
    text_of(Command::new("gcc").arg(&source).arg("-o").arg(&program).args(compile))?;
    let output = text_of(&mut Command::new(&program))?;
    let time = start.elapsed();
    let states = output.split(" states,").next().and_then(|head| head.split_whitespace().last());
    Ok(Run { states: states.unwrap_or("?").to_string(), time })
}

/// What a command prints. Its exit code is not looked at: a violation is an answer too.
fn text_of(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", command.get_program().display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
