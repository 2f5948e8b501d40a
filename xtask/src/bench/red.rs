//! Tables 2 to 7 of the Red paper (Wang, Schmidt, Yu, Huang, Wang: BDD-based safety-analysis of concurrent software with
//! pointer data structures), with our columns beside theirs, and the same models in Murphi with Rumur.

mod counts;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use shoal_peers::{PeerRun, run_rumur, run_shoal};

use super::build_shoal;
use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench red [--seconds S] [--peers S] [--threads N] [--quick | --large] [MODEL...]

Counts states of models/red without symmetry, by both engines, beside the reference's numbers (--quick: 3 processes only).
Then checks them at the sizes of the paper's tables 2 to 7 and at twice the largest of them (--quick: up to 5 processes
only; --large: MCS with 12 and the leader with 20 as well, which take minutes each): the explicit engine and the symbolic
one of Shoal with their defaults, the symbolic one with the paper's symmetry (gasr), all from source to verdict, and Rumur
on the same models in Murphi (rumur, gcc -O3, search). `exact` is the number of states that the reference has where
inactive variables are eliminated and symmetry is exact, and in brackets that with the paper's symmetry; where an engine
finds another number, there is a `!`. A run that is not done after S seconds (explicit: 200, or 900 with --large; symbolic
and Rumur, --peers: 10) is ended; its states are those found until then, and larger sizes are not tried. The paper's times
are of a 2.1 GHz Pentium 4 with 256 MB (its Murphi: 3.1, -sym2, with compilation).";

/// A table of the paper.
struct PaperTable {
    model: &'static str,
    title: &'static str,
    /// Size; the paper's seconds for Red with symmetry reduction and for Murphi; the reference's number of states.
    lines: &'static [(u32, &'static str, &'static str, Option<u64>)],
    /// From this size on, only with --large.
    large: u32,
    /// The reference's numbers of states with the paper's symmetry, from 3 processes on. Where processes have roles, it
    /// exchanges them across roles, under which the start is not invariant; that is not done here.
    gasr: &'static [u64],
}

const TABLES: &[PaperTable] = &[
    PaperTable {
        model: "mcs",
        title: "Table 2, the MCS lock",
        lines: &[
            (3, "0.30", "2.77", Some(145)),
            (4, "2.14", "25.40", Some(592)),
            (5, "11.41", "error", Some(2_383)),
            (6, "64.43", "-", Some(9_550)),
            (7, "461.71", "-", Some(38_221)),
            (8, "2,933.40", "-", None),
            (9, "15,137.08", "-", None),
            (10, "71,676.51", "-", None),
            (12, "-", "-", None),
        ],
        large: 12,
        gasr: &[196, 1_304, 10_432, 99_868],
    },
    PaperTable {
        model: "leader",
        title: "Table 3, the election of leaders",
        lines: &[
            (3, "0.01", "2.68", Some(16)),
            (4, "0.01", "2.50", Some(37)),
            (5, "0.02", "2.49", Some(87)),
            (6, "0.01", "3.58", Some(209)),
            (7, "0.02", "41.86", Some(512)),
            (8, "0.02", "error", Some(1_276)),
            (9, "0.04", "-", None),
            (10, "0.05", "-", None),
            (14, "-", "-", None),
            (16, "-", "-", None),
            (20, "-", "-", None),
        ],
        large: 20,
        gasr: &[25, 100, 506, 3_140],
    },
    PaperTable {
        model: "cycle",
        title: "Table 4, the doubly linked cycle",
        lines: &[
            (3, "0.03", "2.62", Some(4)),
            (4, "0.11", "2.61", Some(5)),
            (5, "0.30", "2.37", Some(6)),
            (6, "0.66", "2.37", Some(7)),
            (7, "1.42", "3.25", Some(8)),
            (8, "2.80", "11.98", Some(9)),
            (9, "5.20", "error", Some(10)),
            (10, "9.23", "-", Some(11)),
            (20, "-", "-", Some(21)),
        ],
        large: u32::MAX,
        gasr: &[5, 10, 23, 64],
    },
    PaperTable {
        model: "buffer",
        title: "Table 5, the bounded buffer",
        lines: &[
            (3, "1.84", "3.14", Some(304)),
            (4, "6.93", "3.03", Some(776)),
            (5, "26.48", "3.89", Some(1_486)),
            (6, "65.62", "5.63", Some(2_768)),
            (7, "254.07", "20.02", Some(4_239)),
            (8, "417.63", "140.57", Some(6_396)),
            (9, "1,059.98", "error", None),
            (10, "1,538.85", "-", None),
            (11, "3,151.59", "-", None),
            (12, "4,321.84", "-", None),
            (13, "7,777.07", "-", None),
            (26, "-", "-", None),
        ],
        large: u32::MAX,
        gasr: &[],
    },
    PaperTable {
        model: "readers_writers",
        title: "Table 6, readers and writers",
        lines: &[
            (3, "1.25", "3.38", Some(132)),
            (4, "2.90", "3.08", Some(218)),
            (5, "23.73", "3.58", Some(532)),
            (6, "42.71", "5.22", Some(738)),
            (7, "276.57", "42.24", Some(1_650)),
            (8, "440.48", "276.76", Some(2_103)),
            (9, "1,898.16", "error", None),
            (10, "2,547.08", "-", None),
            (11, "7,696.00", "-", None),
            (12, "9,732.03", "-", None),
            (13, "23,941.32", "-", None),
            (26, "-", "-", None),
        ],
        large: u32::MAX,
        gasr: &[],
    },
    PaperTable {
        model: "region",
        title: "Table 7, the conditional critical region",
        lines: &[
            (3, "40.14", "4.00", Some(213)),
            (4, "751.14", "6.78", Some(617)),
            (5, "5,428.41", "46.09", Some(1_475)),
            (6, "23,197.71", "error", Some(3_080)),
            (7, "75,229.25", "-", Some(5_825)),
            (8, "-", "-", Some(10_217)),
            (14, "-", "-", None),
        ],
        large: u32::MAX,
        gasr: &[486, 2_536, 11_704, 50_482],
    },
];

/// What the user asks for.
struct RedSettings {
    threads: u32,
    limit: Option<Duration>,
    peers: Duration,
    quick: bool,
    large: bool,
    models: Vec<String>,
}

impl RedSettings {
    fn wants(&self, table: &PaperTable, size: u32) -> bool {
        (!self.quick || size <= 5) && (self.large || size < table.large)
    }

    /// How long a tool may take.
    fn limit(&self, tool: Tool) -> Duration {
        match tool {
            Tool::Explicit => self.limit.unwrap_or(Duration::from_secs(if self.large { 900 } else { 200 })),
            _ => self.peers,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tool {
    Explicit,
    Symbolic,
    Gasr,
    Rumur,
}

const TOOLS: [(Tool, &str); 4] = [
    (Tool::Explicit, "explicit"),
    (Tool::Symbolic, "symbolic"),
    (Tool::Gasr, "gasr"),
    (Tool::Rumur, "Rumur"),
];

/// Prints the tables, and who was the fastest where.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let settings = settings(args)?;
    let shoal = build_shoal()?;
    let wanted = |model: &str| settings.models.is_empty() || settings.models.iter().any(|it| it == model);
    counts::print(&shoal, settings.threads, &|model, size| wanted(model) && (!settings.quick || size < 4))?;
    let mut summary = Vec::new();
    for table in TABLES.iter().filter(|table| wanted(table.model)) {
        summary.push(print_table(&shoal, table, &settings)?);
    }
    println!("Who is the fastest at which sizes, and the largest size that each can do:\n");
    println!("| model | fastest | {} |\n|---|---|--:|--:|--:|--:|", TOOLS.map(|(_, name)| name).join(" | "));
    summary.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Prints a table; gives its line of the summary.
fn print_table(shoal: &Path, table: &PaperTable, settings: &RedSettings) -> Result<String, String> {
    println!("{}: models/red/{}.red\n", table.title, table.model);
    println!(
        "| M | paper: Red s | Murphi s | exact (gasr) | explicit: states | s | symbolic: states | nodes | s | gasr: states | nodes | s | Rumur: states | s | fastest |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|");
    // A tool that did not come to its end is not asked for more.
    let mut able = [true; TOOLS.len()];
    let mut largest = TOOLS.map(|_| "-".to_string());
    let mut winners: Vec<(u32, &str)> = Vec::new();
    for (size, red, murphi, exact) in table.lines.iter().filter(|line| settings.wants(table, line.0)) {
        let gasr = table.gasr.get(*size as usize - 3).copied();
        let mut runs: Vec<Option<PeerRun>> = Vec::new();
        for (at, (tool, _)) in TOOLS.into_iter().enumerate() {
            let run = if able[at] { Some(run(shoal, tool, table.model, *size, settings)?) } else { None };
            able[at] = run.as_ref().is_some_and(|run| run.done);
            if let Some(run) = run.as_ref().filter(|run| run.done) {
                largest[at] = format!("{size} ({:.1} s)", run.time.as_secs_f64());
            }
            runs.push(run);
        }
        winners.push((*size, fastest(&runs)));
        let shown = |number: Option<u64>| number.map_or("-".into(), |number| number.to_string());
        let shown_runs = runs.iter().zip(TOOLS).map(|(run, (tool, _))| match tool {
            Tool::Explicit => cells(run.as_ref(), *exact, false),
            Tool::Symbolic => cells(run.as_ref(), *exact, true),
            Tool::Gasr => cells(run.as_ref(), gasr, true),
            Tool::Rumur => cells(run.as_ref(), None, false),
        });
        println!(
            "| {size} | {red} | {murphi} | {} ({}) | {} | {} |",
            shown(*exact),
            shown(gasr),
            shown_runs.collect::<Vec<_>>().join(" | "),
            fastest(&runs)
        );
    }
    println!();
    let runs = winners.chunk_by(|left, right| left.1 == right.1);
    let shown = |run: &[(u32, &str)]| match run {
        [(size, tool)] => format!("{tool} {size}"),
        [(first, tool), .., (last, _)] => format!("{tool} {first}..{last}"),
        [] => String::new(),
    };
    let winners = runs.map(shown).collect::<Vec<_>>().join(", ");
    Ok(format!("| {} | {winners} | {} |", table.model, largest.join(" | ")))
}

fn run(shoal: &Path, tool: Tool, model: &str, size: u32, settings: &RedSettings) -> Result<PeerRun, String> {
    let folder = root().join("models/red");
    let (threads, limit) = (settings.threads, settings.limit(tool));
    let engine: &[&str] = match tool {
        Tool::Explicit => &["--engine", "explicit"],
        Tool::Symbolic => &["--engine", "symbolic"],
        Tool::Gasr => &["--engine", "symbolic", "--symmetry", "gasr"],
        Tool::Rumur => {
            let file = resized(&folder.join(format!("{model}.m")), size)?;
            return run_rumur(&file, &["--deadlock-detection", "off"], threads, limit);
        }
    };
    let set = format!("M={size}");
    let options = [engine, &["--set", &set]].concat();
    run_shoal(shoal, &folder.join(format!("{model}.red")), &options, threads, limit)
}

/// The model with another number of processes: Rumur takes no constants from its command line.
fn resized(file: &Path, size: u32) -> Result<PathBuf, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let resize = |line: &str| match line.starts_with("const M:") {
        true => format!("const M: {size};\n"),
        false => format!("{line}\n"),
    };
    let folder = std::env::temp_dir().join("shoal-bench");
    let copy = folder.join("red.m");
    let write = || {
        fs::create_dir_all(&folder)?;
        fs::write(&copy, text.lines().map(resize).collect::<String>())
    };
    write().map_err(|error: std::io::Error| error.to_string())?;
    Ok(copy)
}

/// States, nodes if there are any, and seconds; a verdict or a number that is not expected is shown.
fn cells(run: Option<&PeerRun>, exact: Option<u64>, nodes: bool) -> String {
    let Some(run) = run else { return if nodes { "- | - | -".into() } else { "- | -".into() } };
    let sign = if run.done { "" } else { "> " };
    let verdict =
        if run.done && run.verdict != "holds" { format!(" ({})", run.verdict) } else { String::new() };
    let doubt = if run.done && exact.is_some_and(|exact| exact != run.states) { "!" } else { "" };
    let found = match nodes {
        true => format!("{}{doubt} | {sign}{}", run.states, run.nodes.unwrap_or(0)),
        false => format!("{}{doubt}", run.states),
    };
    format!("{sign}{found}{verdict} | {sign}{:.2}", run.time.as_secs_f64())
}

fn fastest(runs: &[Option<PeerRun>]) -> &'static str {
    let done = runs
        .iter()
        .zip(TOOLS)
        .filter_map(|(run, (_, tool))| Some((run.as_ref().filter(|run| run.done)?, tool)));
    done.min_by_key(|(run, _)| run.time).map_or("-", |(_, tool)| tool)
}

fn settings(args: &[String]) -> Result<RedSettings, String> {
    let (limit, peers) = (None, Duration::from_secs(10));
    let mut settings =
        RedSettings { threads: 2, limit, peers, quick: false, large: false, models: Vec::new() };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<u32>().ok()).ok_or(USAGE);
        match word.as_str() {
            "--threads" => settings.threads = number()?,
            "--seconds" => settings.limit = Some(Duration::from_secs(number()?.into())),
            "--peers" => settings.peers = Duration::from_secs(number()?.into()),
            "--quick" => settings.quick = true,
            "--large" => settings.large = true,
            model if TABLES.iter().any(|table| table.model == model) => settings.models.push(model.into()),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(settings)
}
