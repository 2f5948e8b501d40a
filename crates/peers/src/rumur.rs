//! Rumur: translated to C, compiled, run.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    PeerRun,
    process::{ScratchFolder, build, watch},
};

/// Rumur with options of its own, compiled by `gcc -O3`.
pub fn run_rumur(file: &Path, options: &[&str], threads: u32, limit: Duration) -> Result<PeerRun, String> {
    let folder = ScratchFolder::new("rumur")?;
    let (source, program) = (folder.path().join("model.c"), folder.path().join("model"));
    let start = Instant::now();
    let threads = threads.to_string();
    let mut translate = Command::new("rumur");
    build(translate.args(["--threads", &threads]).args(options).arg("--output").arg(&source).arg(file))?;
    let compile = ["-std=c11", "-O3", "-march=native", "-mcx16", "-w", "-lpthread"];
    build(Command::new("gcc").arg(&source).arg("-o").arg(&program).args(compile))?;
    let left = limit.saturating_sub(start.elapsed()).as_secs().max(1);
    // Line by line, so that the last number of states is not lost when time is up.
    let began = Instant::now();
    let mut search = Command::new("timeout");
    search.args([&left.to_string(), "stdbuf", "-oL"]).arg(&program);
    let (output, peak) = watch(&mut search)?;
    let (time, search) = (start.elapsed(), began.elapsed());
    let done = output.contains("Status:");
    let verdict = match done {
        true if output.contains("No error found") => "holds",
        true => "violated",
        false => "unknown",
    };
    Ok(PeerRun { states: states(&output), time, search, peak, done, nodes: None, verdict })
}

/// The number of states that the checker found: the summary has it. Before, each thread says now and then how many all
/// of them have stored.
fn states(output: &str) -> u64 {
    let number = |text: &str| text.split_whitespace().last()?.parse::<u64>().ok();
    let summary = output.rsplit_once(" states, ").and_then(|(head, _)| number(head));
    summary.unwrap_or_else(|| {
        let stored = output.lines().filter_map(|line| number(line.split_once(" states explored")?.0));
        stored.max().unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::states;

    #[test]
    fn states_of_a_run_that_ended_and_of_one_that_was_cut_off() {
        let ended =
            "Status:\n\n\tNo error found.\n\nState Space Explored:\n\n\t12 states, 34 rules fired in 0s.\n";
        assert_eq!(states(ended), 12);
        let cut = "\t 10000 states explored in 1s, with 3 rules fired\n\t 20000 states explored in 2s, ...\n";
        assert_eq!(states(cut), 20000);
        assert_eq!(states(""), 0);
    }
}
