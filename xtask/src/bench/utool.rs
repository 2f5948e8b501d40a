//! The three tables of Emerson and Wahl (CHARME 2005), with our columns beside theirs.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use serde_json::Value;

use crate::{bench::build_shoal, tidy::root};

const USAGE: &str = "\
usage: cargo xtask bench utool [--quick]

Checks models/utool with the engine of counters at the sizes of the paper's tables and beyond (--quick: the paper's sizes
only), and prints the peak of live nodes, the nodes of the steps and seconds beside the paper's figures. The paper's times
are of a 1.4 GHz PC with 256 MB.";

/// A line of a table: the size, and what the paper says.
type UtoolLine = (u32, &'static str);

const READERS_WRITERS: &[UtoolLine] = &[
    (8, "1,082 | 0.0 s"),
    (10, "1,082 | 0.0 s"),
    (16, "1,379 | 0.1 s"),
    (30, "1,379 | 0.1 s"),
    (100, "1,973 | 0.2 s"),
    (1000, "2,864 | 1.5 s"),
    (10_000, "- | -"),
    (100_000, "- | -"),
];

const MCS: &[UtoolLine] = &[
    (5, "16,583 -> 3,022 | 0.1 s"),
    (10, "71,224 -> 9,366 | 0.6 s"),
    (15, "156,421 -> 17,070 | 1.5 s"),
    (30, "785,411 -> 68,332 | 19.4 s"),
    (50, "2,643,540 -> 207,370 | 145.9 s"),
    (70, "5,586,017 -> 454,360 | 10:18 min"),
    (700, "- | -"),
];

const BRIDGE: &[UtoolLine] = &[
    (4, "4,177 | 21,699 | 2.1 s"),
    (8, "5,190 | 66,864 | 7.7 s"),
    (16, "6,203 | 209,157 | 55.3 s"),
    (32, "7,216 | 586,938 | 8:30 min"),
    (64, "8,229 | 1,955,509 | 1:12 h"),
    (640, "- | - | -"),
];

/// Prints the tables.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let quick = match args {
        [] => false,
        [option] if option == "--quick" => true,
        _ => return Err(USAGE.into()),
    };
    let shoal = build_shoal()?;
    let wanted = |line: &&UtoolLine| !quick || !line.1.starts_with('-');

    println!("Table 1, readers and writers: r = w, counters in diagrams\n");
    println!("| r = w | paper: nodes | time | states | nodes | s |\n|--:|--:|--:|--:|--:|--:|");
    for (size, paper) in READERS_WRITERS.iter().filter(wanted) {
        let run = run(&shoal, "readers_writers.m", &[("R", *size), ("W", *size)], &[])?;
        println!("| {size} | {paper} | {} | {} | {:.2} |", run.states, run.peak, run.seconds);
    }
    println!("\nThe same, one state at a time (the paper: 159,625,349 rules fired at 100)\n");
    println!("| r = w | states | steps | s |\n|--:|--:|--:|--:|");
    for size in [8, 16, 30, 100] {
        let run = run(&shoal, "readers_writers.m", &[("R", size), ("W", size)], &["--no-diagrams"])?;
        println!("| {size} | {} | {} | {:.2} |", run.states, run.steps, run.seconds);
    }
    println!("\nTable 2, spin lock: with all local states -> with live variables only\n");
    println!("| n | paper: nodes | time | nodes without | nodes with | s with |\n|--:|--:|--:|--:|--:|--:|");
    for (size, paper) in MCS.iter().filter(wanted) {
        let whole = match *size <= 30 {
            true => run(&shoal, "mcs_spin.m", &[("N", *size)], &["--no-local-reduction"])?.peak,
            false => "-".into(),
        };
        let reduced = run(&shoal, "mcs_spin.m", &[("N", *size)], &[])?;
        println!("| {size} | {paper} | {whole} | {} | {:.2} |", reduced.peak, reduced.seconds);
    }
    println!(
        "\nTable 3, bridge: the paper's serial broadcast; ours one by one too, all at once, class by class\n"
    );
    println!(
        "| n | paper: steps | nodes | time | one by one: steps | nodes | s | at once: steps | nodes | s | by class: steps | nodes | s |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (size, paper) in BRIDGE.iter().filter(wanted) {
        let mut line = format!("| {size} | {paper} |");
        for how in ["serial", "simultaneous", "auto"] {
            let run = run(&shoal, "bridge.m", &[("N", *size)], &["--broadcast", how])?;
            line += &format!(" {} | {} | {:.2} |", run.transition, run.peak, run.seconds);
        }
        println!("{line}");
    }
    println!("\nLocal states (the paper: 32 to 10, and 5,120 to 355)\n");
    for model in ["figure_1.m", "ascii.m"] {
        println!("- {model}: {}", local_states(&shoal, model)?);
    }
    Ok(())
}

/// What `shoal explain` says of the local states of a model.
fn local_states(shoal: &Path, model: &str) -> Result<String, String> {
    let output = Command::new(shoal)
        .arg("explain")
        .arg(root().join("models/utool").join(model))
        .output()
        .map_err(|error| format!("cannot run shoal: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().skip_while(|line| *line != "local states").nth(1);
    line.map(|line| line.trim().to_owned()).ok_or_else(|| format!("{model}: no local states explained"))
}

/// What a run took, as it is printed.
struct UtoolRun {
    states: String,
    steps: String,
    peak: String,
    transition: String,
    seconds: f64,
}

fn run(shoal: &Path, model: &str, set: &[(&str, u32)], options: &[&str]) -> Result<UtoolRun, String> {
    let mut command = Command::new(shoal);
    command.args(["check", "--json", "--quiet", "--trace", "none", "--engine", "counters", "--time", "900"]);
    command.args(options).arg(root().join("models/utool").join(model));
    for (name, value) in set {
        command.args(["--set", &format!("{name}={value}")]);
    }
    let begun = Instant::now();
    let output =
        command.stderr(Stdio::null()).output().map_err(|error| format!("cannot run shoal: {error}"))?;
    let seconds = begun.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stdout);
    let finished: Value = serde_json::from_str(text.lines().last().unwrap_or_default())
        .map_err(|error| format!("shoal: {error}"))?;
    if finished["exit_code"] != 0 {
        return Err(format!("{model} {set:?} {options:?} ended with {}", finished["exit_code"]));
    }
    let property = &finished["properties"][0];
    let show = |name: &str| match &property[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Ok(UtoolRun {
        states: show("states"),
        steps: show("transitions"),
        peak: show("nodes_peak"),
        transition: show("nodes_transition"),
        seconds,
    })
}
