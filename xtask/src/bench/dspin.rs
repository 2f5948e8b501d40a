//! The two models of Iosif (ASE 2001), with a reference beside the paper's columns and ours.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{bench::build_shoal, tidy::root};

const USAGE: &str = "\
usage: cargo xtask bench dspin [--quick]

Checks models/heap with objects numbered as they are reached, and with numbers as they come (--no-symmetry), and prints the
states beside those of a plain program that was written for comparison, and beside the paper's, whose models are not known
in detail. The last columns are the time that a step takes, with canonical objects and without, on one thread: the paper
has 1.4 times. It is the time of the search alone, without what comes before it: reading and translating the model, and
searching until it is known how many objects there is to be room for. --quick leaves out what takes longer than a few seconds. All orders of steps
are searched (--no-partial-order).";

/// A model at a size: what the reference counts (canonical, numbered), and the paper (the same).
type DspinLine = (&'static str, &'static [(&'static str, u32)], [&'static str; 2], [&'static str; 2]);

const LINES: &[DspinLine] = &[
    ("ordered_list", &[("N", 3)], ["774", "1080"], ["-", "-"]),
    ("ordered_list", &[("N", 4)], ["2552", "4565"], ["-", "-"]),
    ("ordered_list", &[("N", 5)], ["7542", "17592"], ["-", "-"]),
    ("ordered_list", &[("N", 6)], ["20792", "63643"], ["-", "-"]),
    ("ordered_list", &[("N", 7)], ["54654", "219965"], ["-", "-"]),
    ("ordered_list", &[("N", 8)], ["138776", "734497"], ["296159", "766297"]),
    ("ordered_list", &[("N", 9)], ["343206", "-"], ["727714", "2296690"]),
    ("ordered_list", &[("N", 10)], ["831272", "-"], ["1752870", "> 4620120"]),
    ("btree", &[("N", 3), ("K", 2), ("D", 2)], ["613", "95770"], ["5861", "28222"]),
    ("btree", &[("N", 2), ("K", 2), ("D", 3)], ["238", "14802"], ["6664", "171329"]),
    ("btree", &[("N", 2), ("K", 4), ("D", 3)], ["1798", "-"], ["18215", "> 2094080"]),
    ("btree", &[("N", 3), ("K", 2), ("D", 3)], ["861", "1447888"], ["-", "-"]),
];

/// The same B-trees where processes are interchangeable, too.
const PROCESSES: &[(u32, u32, u32, &str)] =
    &[(3, 2, 2, "150"), (2, 2, 3, "125"), (2, 4, 3, "923"), (3, 2, 3, "211")];

/// Prints the tables.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let quick = match args {
        [] => false,
        [option] if option == "--quick" => true,
        _ => return Err(USAGE.into()),
    };
    let shoal = build_shoal()?;
    println!(
        "| model | reference | paper | states | reference | paper | numbered | ns a step | numbered | times |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (model, set, reference, paper) in LINES {
        let large = reference[1].len() > 6 || reference[1] == "-";
        if quick && large {
            continue;
        }
        let name: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let canonical = run(&shoal, model, &name, &[])?;
        let numbered = match paper[1].starts_with('>') {
            true => None,
            false => Some(run(&shoal, model, &name, &["--no-symmetry"])?),
        };
        let of_numbered = numbered.as_ref().map_or("- | - | -".to_string(), |numbered| {
            let times = canonical.step() / numbered.step();
            format!("{:.0} | {:.0} | {times:.2}", canonical.step(), numbered.step())
        });
        println!(
            "| {model} {} | {} | {} | {} | {} | {} | {} | {of_numbered} |",
            name.join(" "),
            reference[0],
            paper[0],
            canonical.states,
            reference[1],
            paper[1],
            numbered.map_or("-".to_string(), |numbered| numbered.states.to_string()),
        );
    }
    println!(
        "\nB-trees whose processes are interchangeable, too\n\n| N, K, D | reference | states |\n|---|--:|--:|"
    );
    for (n, k, d, reference) in PROCESSES {
        let set = [format!("N={n}"), format!("K={k}"), format!("D={d}")];
        let run = run(&shoal, "btree", &set, &["--process-symmetry"])?;
        println!("| {n}, {k}, {d} | {reference} | {} |", run.states);
    }
    Ok(())
}

/// What a run took.
struct DspinRun {
    states: u64,
    transitions: f64,
    seconds: f64,
}

impl DspinRun {
    /// Nanoseconds a step.
    fn step(&self) -> f64 {
        self.seconds * 1e9 / self.transitions.max(1.0)
    }
}

fn run(shoal: &Path, model: &str, set: &[String], options: &[&str]) -> Result<DspinRun, String> {
    let mut command = Command::new(shoal);
    command.args(["check", "--json", "--quiet", "--trace", "none", "--threads", "1", "--time", "900"]);
    command
        .arg("--no-partial-order")
        .args(options)
        .arg(root().join("models/heap").join(model).with_extension("dpml"));
    set.iter().for_each(|set| {
        command.args(["--set", set]);
    });
    let output =
        command.stderr(Stdio::null()).output().map_err(|error| format!("cannot run shoal: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let finished: Value = serde_json::from_str(text.lines().last().unwrap_or_default())
        .map_err(|error| format!("shoal: {error}"))?;
    if finished["exit_code"] != 0 {
        return Err(format!("{model} {set:?} {options:?} ended with {}", finished["exit_code"]));
    }
    let property = &finished["properties"][0];
    Ok(DspinRun {
        states: property["states"].as_u64().unwrap_or(0),
        transitions: property["transitions"].as_f64().unwrap_or(0.0),
        seconds: property["search_seconds"].as_f64().unwrap_or(0.0),
    })
}
