//! Shoal beside SPIN: wall time from source file to verdict, and the speed of the search, on one machine in one run.

mod corpus;

use std::{path::PathBuf, time::Duration};

use shoal_peers::{PeerRun, mean, run_shoal, run_spin};

use super::build_shoal;
use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench promela [--threads N] [--seconds S] [FILE...]
       cargo xtask bench promela --corpus|--recorded [--seconds S] [PART OF A PATH...]

For each model, from source to verdict with partial order reduction: `shoal check` with N threads (2) against SPIN
(spin -a, gcc -O2 -DSAFETY, pan) on one core. Then the speed of the search without it, in states per second on one thread
each, of `shoal check --no-partial-order` and of spin -o1 -o2 -o3 -a with -DNOREDUCE; there the numbers of states are to be
the same. A run that is not done after S seconds (120) is ended. Without files: models of the corpus with more than 100,000
states (../shared/corpus). Invalid end states are not asked for: most of these models have some.
With --corpus: all models of the corpus, or those named. What differs is listed: states without reductions, and verdicts with
and without them, each within S seconds (20) of processor time. What SPIN says is kept in target/spin-corpus.tsv: delete it
for other limits. With --recorded: the numbers of states that were recorded of SPIN in the corpus, beside ours.
Needs: apt-get install spin gcc";

/// Models of the corpus with more than 100,000 states.
const CORPUS: &[&str] = &[
    "utwente-fmt+spins/tests/beem/all/at.4.pm",
    "utwente-fmt+spins/tests/beem/all/bopdp.3.pm",
    "utwente-fmt+spins/tests/beem/all/brp.3.pm",
    "utwente-fmt+spins/tests/beem/all/fischer.4.pm",
    "utwente-fmt+spins/tests/beem/all/lamport.6.pm",
    "utwente-fmt+spins/tests/beem/all/loyd.2.pm",
    "utwente-fmt+spins/tests/beem/all/msmie.4.pm",
    "utwente-fmt+spins/tests/beem/all/peterson.4.pm",
    "utwente-fmt+spins/tests/beem/all/phils.5.pm",
    "utwente-fmt+spins/tests/beem/all/public_subscribe.2.pm",
    "utwente-fmt+spins/tests/beem/all/sorter.3.pm",
    "utwente-fmt+spins/tests/beem/all/szymanski.4.pm",
    "utwente-fmt+spins/tests/beem/all/telephony.3.pm",
    "utwente-fmt+spins/tests/case_studies/phils/philo.pml",
    "nimble-code+Spin/Examples/sort.pml",
];

/// What the user asks for.
struct PromelaSettings {
    threads: u32,
    limit: Duration,
    files: Vec<PathBuf>,
}

/// Prints a table of both tools on the given models.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    if let [mode, rest @ ..] = args
        && let Some(compare) = comparison(mode)
    {
        return match rest {
            [option, seconds, words @ ..] if option == "--seconds" => {
                compare(Duration::from_secs(seconds.parse().map_err(|_| USAGE)?), words)
            }
            words => compare(Duration::from_secs(20), words),
        };
    }
    let PromelaSettings { threads, limit, files } = settings(args)?;
    let shoal = build_shoal()?;
    println!(
        "| model | shoal states | s | spin states | s | spin / shoal | raw states | raw of spin | states/s of shoal | of spin | ratio |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let (mut times, mut speeds) = (Vec::new(), Vec::new());
    let reduced = ["--deadlock", "off"];
    let raw = ["--deadlock", "off", "--no-partial-order"];
    for file in &files {
        let ours = run_shoal(&shoal, file, &reduced, threads, limit)?;
        let theirs = run_spin(file, true, false, limit)?;
        let time = theirs.time.as_secs_f64() / ours.time.as_secs_f64().max(0.001);
        let (fast, slow) = (run_shoal(&shoal, file, &raw, 1, limit)?, run_spin(file, false, false, limit)?);
        let ratio = speed(&fast) / speed(&slow).max(1.0);
        let name = file.file_name().map_or_else(String::new, |name| name.display().to_string());
        println!(
            "| {name} | {} | {} | {time:.1} | {} | {} | {:.0} | {:.0} | {ratio:.2} |",
            cell(&ours),
            cell(&theirs),
            fast.states,
            slow.states,
            speed(&fast),
            speed(&slow)
        );
        times.extend(ours.done.then_some(time));
        speeds.extend((slow.states > 0 && fast.states > 0).then_some(ratio));
    }
    let faster = times.iter().filter(|ratio| **ratio > 1.0).count();
    println!(
        "\nfrom source to verdict faster on {faster} of {} models with {threads} threads, geometric mean {:.1}; states per \
         second on one thread, geometric mean {:.2}",
        files.len(),
        mean(&times),
        mean(&speeds)
    );
    Ok(())
}

/// What is compared instead, with a limit for each run and words that paths contain.
type Comparison = fn(Duration, &[String]) -> Result<(), String>;

fn comparison(mode: &str) -> Option<Comparison> {
    match mode {
        "--corpus" => Some(corpus::compare),
        "--recorded" => Some(corpus::compare_recorded),
        _ => None,
    }
}

/// States per second.
fn speed(run: &PeerRun) -> f64 {
    run.states as f64 / run.search.as_secs_f64().max(0.001)
}

fn cell(run: &PeerRun) -> String {
    let sign = if run.done { "" } else { "> " };
    format!("{} | {sign}{:.2}", run.states, run.time.as_secs_f64())
}

fn settings(args: &[String]) -> Result<PromelaSettings, String> {
    let mut words = args.iter();
    let mut settings = PromelaSettings { threads: 2, limit: Duration::from_secs(120), files: Vec::new() };
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<u32>().ok()).ok_or(USAGE);
        match word.as_str() {
            "--threads" => settings.threads = number()?,
            "--seconds" => settings.limit = Duration::from_secs(number()?.into()),
            option if option.starts_with("--") => return Err(USAGE.into()),
            file => settings.files.push(file.into()),
        }
    }
    if settings.files.is_empty() {
        let corpus = root().join("../shared/corpus/promela");
        if !corpus.is_dir() {
            return Err(format!("no corpus, and no files named\n{USAGE}"));
        }
        settings.files = CORPUS.iter().map(|name| corpus.join(name)).collect();
    }
    Ok(settings)
}
