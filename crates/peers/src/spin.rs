//! SPIN: translated to C, compiled, run on one core.

use std::{
    fs,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    PeerRun,
    process::{ScratchFolder, build, watch},
};

/// SPIN's search for violated assertions, and for invalid end states if they are asked for: with partial order reduction
/// and all that it does by default, or raw.
pub fn run_spin(file: &Path, reduced: bool, end_states: bool, limit: Duration) -> Result<PeerRun, String> {
    let folder = ScratchFolder::new("spin")?;
    let file = fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let start = Instant::now();
    let mut translate = Command::new("spin");
    let mut compile = Command::new("gcc");
    compile.args(["-O2", "-DSAFETY", "-DNOCLAIM", "-DMEMLIM=8000", "-w", "-o", "pan", "pan.c"]);
    if !reduced {
        translate.args(["-o1", "-o2", "-o3"]);
        compile.arg("-DNOREDUCE");
    }
    build(translate.arg("-a").arg(&file).current_dir(folder.path()))?;
    build(compile.current_dir(folder.path()))?;
    let left = limit.saturating_sub(start.elapsed()).as_secs().max(1);
    let began = Instant::now();
    let mut search = Command::new("timeout");
    search.args([&left.to_string(), "./pan", "-m10000000", "-n"]).current_dir(folder.path());
    if !end_states {
        search.arg("-E");
    }
    let (output, peak) = watch(&mut search)?;
    let (time, search) = (start.elapsed(), began.elapsed());
    let states = output.lines().find_map(|line| line.trim().strip_suffix("states, stored"));
    let states = states.and_then(|text| text.trim().parse::<f64>().ok()).unwrap_or(0.0) as u64;
    let done = states > 0 && !output.contains("max search depth too small");
    let verdict = match output.contains("errors: 0") {
        true if done => "holds",
        false if states > 0 => "violated",
        _ => "unknown",
    };
    Ok(PeerRun { states, time, search, peak, done, nodes: None, verdict })
}
