//! `shoal bench`: Shoal beside the tool that its users came from, on their own models.

use std::{env, path::Path, thread, time::Duration};

use shoal_peers::{Peer, PeerRun, mean, ratio, run_shoal, shown};
use shoal_report::{grouped, seconds};

use crate::{
    args::BenchArgs,
    exit::{CommandFailure, ExitKind},
    output::{self, Console},
};

/// A row of the table.
type BenchRow = [String; 7];

/// Runs both tools on every model and prints a table. Exit code 0 if both answer the same, 1 if they contradict each other,
/// 3 if one of them came to no answer in time, 2 if a model has no peer here.
pub(crate) fn run(console: &Console, args: &BenchArgs) -> Result<ExitKind, CommandFailure> {
    let shoal =
        env::current_exe().map_err(|error| CommandFailure::wrong(format_args!("where am I: {error}")))?;
    let cores = || thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let threads = args.threads.unwrap_or_else(cores);
    let limit = Duration::from_secs(args.time);
    let (mut rows, mut ratios, mut exit) = (Vec::new(), Vec::new(), ExitKind::Good);
    for file in &args.files {
        let peer = peer_of(file)?;
        let failed = |why: String| CommandFailure::wrong(format_args!("{}: {why}", file.display()));
        let ours =
            run_shoal(&shoal, file, peer.options_of_shoal(args.raw), threads, limit).map_err(failed)?;
        if ours.verdict == "refused" {
            return Err(failed("Shoal refuses this model: `shoal check` says why".into()));
        }
        let both = [ours, peer.run(file, args.raw, threads, limit).map_err(failed)?];
        let faster = ratio(&both, |run| run.time);
        ratios.extend(faster);
        exit = exit.worse(judge(file, peer, &both, args.raw));
        rows.push(row(file, peer, &both, faster));
    }
    print(console, &rows)?;
    if ratios.len() > 1 {
        let (mean, count) = (mean(&ratios), ratios.len());
        console.line(format_args!(
            "\nfrom source to verdict {mean:.1} times faster, geometric mean of {count} models"
        ))?;
    }
    Ok(exit)
}

fn peer_of(file: &Path) -> Result<Peer, CommandFailure> {
    let name = file.display();
    let none = || {
        CommandFailure::wrong(format_args!(
            "{name}: no peer is known for this language (.m: Rumur, .pml: SPIN)"
        ))
    };
    let peer = Peer::of(file).ok_or_else(none)?;
    let tool = peer.name();
    match peer.is_installed() {
        true => Ok(peer),
        false => Err(CommandFailure::wrong(format_args!(
            "{name}: {tool} and gcc are needed: apt-get install {tool} gcc"
        ))),
    }
}

/// Whether the tools agree; where they do not, it is said.
fn judge(file: &Path, peer: Peer, [ours, theirs]: &[PeerRun; 2], raw: bool) -> ExitKind {
    if !ours.done || !theirs.done {
        return ExitKind::Inconclusive;
    }
    let (name, tool) = (file.display(), peer.name());
    if ours.verdict != theirs.verdict {
        output::complain(format_args!("{name}: Shoal says {}, {tool} says {}", ours.verdict, theirs.verdict));
        return ExitKind::Violated;
    }
    // A search that found a violation ends where it found it.
    if raw && ours.verdict == "holds" && ours.states != theirs.states {
        output::complain(format_args!(
            "{name}: Shoal found {} states, {tool} {}",
            ours.states, theirs.states
        ));
        return ExitKind::Violated;
    }
    ExitKind::Good
}

fn row(file: &Path, peer: Peer, both: &[PeerRun; 2], faster: Option<f64>) -> BenchRow {
    let verdict = |tool: &str, run: &PeerRun| format!("{tool}: {}", run.verdict);
    let [ours, theirs] = both;
    let time = |run: &PeerRun| if run.done { seconds(run.time) } else { format!("> {}", seconds(run.time)) };
    [
        file.display().to_string(),
        verdict("shoal", ours),
        grouped(ours.states),
        time(ours),
        format!("{}, {}", verdict(peer.name(), theirs), grouped(theirs.states)),
        time(theirs),
        shown(faster, both),
    ]
}

fn print(console: &Console, rows: &[BenchRow]) -> Result<(), CommandFailure> {
    let head = ["model", "verdict", "states", "time", "peer, states", "time", "faster"].map(str::to_string);
    let width = |at: usize| rows.iter().chain([&head]).map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 7] = std::array::from_fn(width);
    let line = |row: &BenchRow| {
        let cells = row.iter().zip(widths).enumerate().map(|(at, (cell, width))| match at {
            0 | 1 | 4 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    console.line(console.palette.faint(line(&head)))?;
    rows.iter().try_for_each(|row| console.line(line(row)))
}
