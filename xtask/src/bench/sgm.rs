//! The tables of state-graph manipulators: the paper's counts beside ours, and the zone engine on many processes.

use std::{
    process::Command,
    time::{Duration, Instant},
};

use crate::{bench::build_shoal, tidy::root};

/// A row of a table: the model, its number of processes, the reducers, how many processes are merged, and what the paper
/// has after 2, 3, ... of them.
struct Row(&'static str, u32, &'static str, usize, &'static str);

const ROWS: &[Row] = &[
    Row("fischer", 11, "rw,sc", 4, "31/70 184/594 1033/4316"),
    Row(
        "fischer",
        11,
        "rw,sc,sm",
        11,
        "16/35 39/109 76/247 130/472 204/810 301/1290 424/1944 - 760/3937 219/1063",
    ),
    Row("fischer", 11, "rw,sm,sc", 8, "16/35 39/109 76/247 130/472 204/810 301/1290 424/1944"),
    Row("ring_untimed", 7, "", 7, "20/40 88/264 368/1472 1504/7520 6080/36480 14/14"),
    Row("ring_untimed", 7, "rw", 7, "12/20 36/84 108/324 324/1188 972/4212 14/14"),
    Row("ring_timed", 7, "rw", 6, "19/33 96/225 483/1397 2492/8155 11965/42443"),
    Row("small_mutex", 8, "rw", 5, "14/28 57/165 203/746 725/3040"),
    Row("small_mutex", 8, "rw,sc,sm", 8, "6/11 12/29 20/58 30/100 42/157 56/231 72/324"),
    Row("csma_cd", 4, "rw,sm,sc", 4, "56/192 579/2996 1219/3751"),
    Row("patho", 4, "rw", 4, "37/89 443/1470 832/2186"),
    Row("calculator2", 11, "rw,sv", 11, "3/34 2/22 2/23 3/37 4/53 5/71 7/84 8/78 9/68 11/61"),
];

/// The zone engine: model and numbers of processes.
const ZONES: &[(&str, &[u32])] =
    &[("fischer", &[10, 20, 50, 100]), ("fischer_bug", &[100]), ("csma_cd", &[10, 50, 100])];

/// Prints the tables. With `--long`, Fischer with 1000 processes and CSMA/CD with 300 too.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let shoal = build_shoal()?;
    let folder = root().join("models/sgm");
    println!(
        "| model | reducers | paper, nodes/arcs after 2, 3, ... processes | shoal | s |\n|---|---|---|---|--:|"
    );
    for Row(model, size, reducers, upto, paper) in ROWS {
        let mut command = Command::new(&shoal);
        command.args(["script", "--json", "--reducers", reducers, "--upto", &upto.to_string()]);
        command.args(["--set", &format!("A={size}")]).arg(folder.join(format!("{model}.vpl")));
        let begun = Instant::now();
        let output = command.output().map_err(|error| error.to_string())?;
        let time = begun.elapsed();
        let text = String::from_utf8_lossy(&output.stdout);
        let counts: Vec<String> = text.lines().filter_map(counts).collect();
        let shown = if reducers.is_empty() { "none" } else { reducers };
        println!("| {model} | {shown} | {paper} | {} | {:.2} |", counts.join(" "), time.as_secs_f64());
    }
    println!("\n| model | processes | verdict | states | stand for | s |\n|---|--:|---|--:|--:|--:|");
    for (model, sizes) in ZONES {
        for size in *sizes {
            zones(&shoal, model, &size.to_string())?;
        }
        zones(&shoal, model, "any")?;
    }
    if args.iter().any(|arg| arg == "--long") {
        zones(&shoal, "csma_cd", "300")?;
        zones(&shoal, "fischer", "1000")?;
    }
    Ok(())
}

/// `nodes/arcs` of a step.
fn counts(line: &str) -> Option<String> {
    let step: serde_json::Value = serde_json::from_str(line).ok()?;
    if step["operation"] != "merge and reduce" {
        return None;
    }
    Some(format!("{}/{}", step["nodes"], step["arcs"]))
}

fn zones(shoal: &std::path::Path, model: &str, size: &str) -> Result<(), String> {
    let mut command = Command::new(shoal);
    command.args([
        "check",
        "--json",
        "--quiet",
        "--trace",
        "none",
        "--time",
        "300",
        "--set",
        &format!("A={size}"),
    ]);
    let begun = Instant::now();
    let output = command
        .arg(root().join(format!("models/sgm/{model}.vpl")))
        .output()
        .map_err(|error| error.to_string())?;
    let time: Duration = begun.elapsed();
    let text = String::from_utf8_lossy(&output.stdout);
    let finished: serde_json::Value =
        serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap_or_default();
    let first = &finished["properties"][0];
    let verdict = first["verdict"].as_str().unwrap_or("refused");
    println!(
        "| {model} | {size} | {verdict} | {} | {} | {:.2} |",
        first["states"],
        first["states_full"],
        time.as_secs_f64()
    );
    Ok(())
}
