//! Shoal beside Rumur: wall time from source file to verdict, on one machine in one run.

mod order;
mod recorded;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use shoal_peers::{PeerRun, mean, ratio, run_rumur, run_shoal, shown};

use super::build_shoal;
use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench explicit [--threads N] [--seconds S] [--no-symmetry] [--partial-order] [FILE.m...]

Runs `shoal check --dialect rumur --first` and Rumur (rumur, then gcc -O3, then its checker) on each file, from source to
verdict, and prints states, seconds (in all / of the search alone), peak memory of the process by state, and how many
times faster Shoal is: in all, searching, and searching with one thread each. A run that is not done after S seconds (30;
with one thread half of that) is ended; then the numbers of states found until then are compared instead.
Without files: models of the corpus with more than 100,000 states (../shared/corpus), then the processor time beside what
was recorded of CMurphi there (or states by second, where a run was cut off), then German's protocol without reduction, what two threads gain, and what the orbits are that heuristics miss. Needs: apt-get install rumur gcc

With --partial-order: Shoal alone, with and without that reduction, on the files, or on those of the corpus and some that are
shipped (without symmetry).";

/// Models of the corpus that both tools read, with more than 100,000 states; with `*`, without symmetry reduction.
const CORPUS: &[&str] = &[
    "melver+cmurphi/ex/mux/mcslock2.m",
    "melver+cmurphi/ex/mux/n_peterson.m",
    "*melver+cmurphi/ex/mux/mcslock1.m",
    "*melver+cmurphi/ex/mux/mcslock2.m",
    "civic-fv+romp/tests/deepdense.m",
    "civic-fv+romp/tests/deepsparse.m",
    "civic-fv+romp/tests/lck9_Bug3.m",
    "civic-fv+romp/tests/n_peterson_bug1.m",
    "*civic-fv+romp/tests/heterogen/ruMI.m",
    "civic-fv+romp/tests/heterogen/ruMI_werror.m",
    "lyj238Gmail+newParaVerifier/examples/n_g2k.m",
    "lyj238Gmail+newParaVerifier/examples/n_germanSimp.m",
    "lyj238Gmail+newParaVerifier/examples/n_flash_nodata.m",
    "lyj238Gmail+newParaVerifier/examples/n_flash_data.m",
    "Smattr+rumur/misc/pending-queue.m",
    "Smattr+rumur/misc/zebra-puzzle.m",
    "murphi2chisel+Multi-verify-Engines-for-Cache-Coherence-Protocols-Murphi2Chisel/src/benchmark/benchmark4/cache_error_1.m",
];

/// Shipped models with more than 5,000,000 states if they are not reduced. The first is German's protocol.
const LARGE: &[(&str, &[&str])] = &[
    ("models/murphi/german.m", &["N=5", "VALUES=1"]),
    ("models/murphi/german.m", &["N=5"]),
    ("models/murphi/mcs_lock.m", &["N=6"]),
];

/// How often these are run, with one thread and with two.
const TURNS: usize = 5;

/// Shipped models in which elements point to each other, or several sorts are permuted together.
const ORBITS: &[&str] =
    &["orbit_grid", "orbit_matrix", "orbit_matrix_full", "orbit_pointers", "mcs_lock", "german"];

/// What the user asks for.
struct ExplicitSettings {
    threads: u32,
    limit: Duration,
    /// Files, and whether to reduce by symmetry.
    models: Vec<(PathBuf, bool)>,
    /// Whether no files are named.
    all: bool,
    /// Whether to show what partial order reduction gains, and nothing else.
    orders: bool,
}

/// What both tools are to run.
#[derive(Clone)]
struct BenchAsk {
    file: PathBuf,
    /// Constants of the model with other values, for Shoal.
    set: &'static [&'static str],
    symmetry: PeerSymmetry,
    threads: u32,
    limit: Duration,
}

/// How representatives are found; Shoal's are always exact.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PeerSymmetry {
    Off,
    Heuristic,
    Exhaustive,
}

impl BenchAsk {
    fn shoal(&self, shoal: &Path) -> Result<PeerRun, String> {
        let mut options = vec!["--first", "--dialect", "rumur"];
        options.extend((self.symmetry == PeerSymmetry::Off).then_some("--no-symmetry"));
        options.extend(self.set.iter().flat_map(|set| ["--set", *set]));
        run_shoal(shoal, &self.file, &options, self.threads, self.limit)
    }

    fn rumur(&self) -> Result<PeerRun, String> {
        let symmetry = match self.symmetry {
            PeerSymmetry::Off => "off",
            PeerSymmetry::Heuristic => "heuristic",
            PeerSymmetry::Exhaustive => "exhaustive",
        };
        run_rumur(&self.file, &["--symmetry-reduction", symmetry], self.threads, self.limit)
    }
}

/// Prints tables of both tools.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let settings = settings(args)?;
    let shoal = build_shoal()?;
    if settings.orders {
        return order::orders(&shoal, &settings);
    }
    beside_rumur(&shoal, &settings)?;
    if settings.all {
        recorded::beside_cmurphi(&shoal, &settings)?;
        recorded::shipped(&shoal, &settings)?;
        threads(&shoal)?;
        orbits(&shoal)?;
    }
    Ok(())
}

/// Both tools on the models: speed and memory.
fn beside_rumur(shoal: &Path, settings: &ExplicitSettings) -> Result<(), String> {
    println!(
        "| model | shoal states | s | bytes/state | rumur states | s | bytes/state | faster | searching | one thread |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut ratios = [Vec::new(), Vec::new(), Vec::new()];
    let mut larger = Vec::new();
    for (file, symmetry) in &settings.models {
        let symmetry = if *symmetry { PeerSymmetry::Heuristic } else { PeerSymmetry::Off };
        let (threads, limit) = (settings.threads, settings.limit);
        let ask = BenchAsk { file: file.clone(), set: &[], symmetry, threads, limit };
        let both = |ask: &BenchAsk| Ok::<_, String>([ask.shoal(shoal)?, ask.rumur()?]);
        let several = both(&ask)?;
        let one = both(&BenchAsk { threads: 1, limit: limit / 2, ..ask })?;
        let found = [
            (ratio(&several, |run| run.time), &several),
            (ratio(&several, |run| run.search), &several),
            (ratio(&one, |run| run.search), &one),
        ];
        ratios.iter_mut().zip(found).for_each(|(ratios, (ratio, _))| ratios.extend(ratio));
        let [all, search, alone] = found.map(|(ratio, runs)| shown(ratio, runs));
        let name = file.file_name().map_or_else(String::new, |name| name.display().to_string());
        let mark = if symmetry == PeerSymmetry::Off { " (no symmetry)" } else { "" };
        let [ours, theirs] = &several;
        if bytes(ours) > bytes(theirs) {
            larger.push(format!("{name}{mark}"));
        }
        println!("| {name}{mark} | {} | {} | {all} | {search} | {alone} |", cell(ours), cell(theirs));
    }
    let [all, search, alone] = &ratios;
    if !all.is_empty() {
        let [count, threads] = [all.len(), settings.threads as usize];
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "\ngeometric mean of {count} models, {threads} threads: {:.1}, least {least:.1};",
            mean(all)
        );
        println!("searching {:.1}; one thread each, searching {:.1}", mean(search), mean(alone));
        println!(
            "more memory by state than Rumur: {}",
            if larger.is_empty() { "none".into() } else { larger.join(", ") }
        );
    }
    Ok(())
}

/// States in a second on one thread, and what a second thread gains.
fn threads(shoal: &Path) -> Result<(), String> {
    println!(
        "\n| model, no symmetry, best of {TURNS} | states | states/s, one thread | two threads | gain | bytes/state |"
    );
    println!("|---|--:|--:|--:|--:|--:|");
    for (file, set) in LARGE {
        let limit = Duration::from_secs(120);
        let ask = BenchAsk { file: root().join(file), set, symmetry: PeerSymmetry::Off, threads: 1, limit };
        let (one, two) = best(&ask, &BenchAsk { threads: 2, ..ask.clone() }, shoal)?;
        let [alone, together] =
            [&one, &two].map(|run| run.states as f64 / run.search.as_secs_f64().max(0.001));
        let gain = together / alone;
        let (states, name, memory) = (one.states, set.join(" "), bytes(&one));
        println!("| {file} {name} | {states} | {alone:.0} | {together:.0} | {gain:.2} | {memory} |");
    }
    Ok(())
}

/// Of several runs of each, by turns, those that searched for the least time: a machine that does something else beside
/// makes any of them longer.
fn best(one: &BenchAsk, other: &BenchAsk, shoal: &Path) -> Result<(PeerRun, PeerRun), String> {
    let mut best = (one.shoal(shoal)?, other.shoal(shoal)?);
    for _ in 1..TURNS {
        let (first, second) = (one.shoal(shoal)?, other.shoal(shoal)?);
        if first.search < best.0.search {
            best.0 = first;
        }
        if second.search < best.1.search {
            best.1 = second;
        }
    }
    Ok(best)
}

/// How many states Rumur's heuristic keeps for each that is needed.
fn orbits(shoal: &Path) -> Result<(), String> {
    println!("\n| model | shoal states | rumur exhaustive | rumur heuristic | heuristic / shoal |");
    println!("|---|--:|--:|--:|--:|");
    for name in ORBITS {
        let file = root().join(format!("models/murphi/{name}.m"));
        let limit = Duration::from_secs(20);
        let ask = BenchAsk { file, set: &[], symmetry: PeerSymmetry::Heuristic, threads: 1, limit };
        let ours = ask.shoal(shoal)?;
        let heuristic = ask.rumur()?;
        let exhaustive = BenchAsk { symmetry: PeerSymmetry::Exhaustive, ..ask }.rumur()?;
        let factor = heuristic.states as f64 / ours.states.max(1) as f64;
        let [ours, exhaustive, heuristic] = [&ours, &exhaustive, &heuristic].map(count);
        println!("| {name} | {ours} | {exhaustive} | {heuristic} | {factor:.2} |");
    }
    Ok(())
}

fn bytes(run: &PeerRun) -> u64 {
    run.peak.checked_div(run.states).unwrap_or(0)
}

/// The number of states; `>` if the run was cut off.
fn count(run: &PeerRun) -> String {
    format!("{}{}", if run.done { "" } else { "> " }, run.states)
}

fn cell(run: &PeerRun) -> String {
    let sign = if run.done { "" } else { "> " };
    let [time, search] = [run.time, run.search].map(|time| time.as_secs_f64());
    format!("{} | {sign}{time:.2} / {search:.2} | {}", count(run), bytes(run))
}

fn settings(args: &[String]) -> Result<ExplicitSettings, String> {
    let mut words = args.iter();
    let limit = Duration::from_secs(30);
    let mut settings = ExplicitSettings { threads: 2, limit, models: Vec::new(), all: false, orders: false };
    let mut symmetry = true;
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<u32>().ok()).ok_or(USAGE);
        match word.as_str() {
            "--threads" => settings.threads = number()?,
            "--seconds" => settings.limit = Duration::from_secs(number()?.into()),
            "--no-symmetry" => symmetry = false,
            "--partial-order" => settings.orders = true,
            option if option.starts_with("--") => return Err(USAGE.into()),
            file => settings.models.push((file.into(), symmetry)),
        }
    }
    if settings.models.is_empty() {
        let corpus = root().join("../shared/corpus/murphi");
        if !corpus.is_dir() {
            return Err(format!("no corpus, and no files named\n{USAGE}"));
        }
        let model = |name: &&str| (corpus.join(name.trim_start_matches('*')), !name.starts_with('*'));
        settings.all = true;
        settings.models = CORPUS.iter().map(model).collect();
    }
    Ok(settings)
}
