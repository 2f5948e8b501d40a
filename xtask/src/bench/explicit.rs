//! Shoal beside Rumur: wall time from source file to verdict, on one machine in one run.

use std::{path::PathBuf, time::Duration};

use super::{
    build_shoal,
    run::{Run, run_rumur, run_shoal},
};
use crate::tidy::root;

const USAGE: &str = "\
usage: cargo xtask bench explicit [--threads N] [--seconds S] [--no-symmetry] [FILE.m...]

Runs `shoal check --dialect rumur --first` and Rumur (rumur, then gcc -O3, then its checker) on each file, from source to
verdict, and prints states, seconds (in all / of the search alone), peak memory of the process by state, and how many
times faster Shoal is (in all / searching). A run that is not done after S seconds (60) is ended; then the numbers of
states found until then are compared instead. Without files: models of the corpus with more than 100,000 states
(../shared/corpus). Needs: apt-get install rumur gcc";

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

/// What the user asks for.
struct Settings {
    threads: u32,
    limit: Duration,
    /// Files, and whether to reduce by symmetry.
    models: Vec<(PathBuf, bool)>,
}

/// Prints a table of both tools on the given models.
pub(crate) fn bench(args: &[String]) -> Result<(), String> {
    let settings = settings(args)?;
    let shoal = build_shoal()?;
    println!(
        "| model | shoal states | s | bytes/state | rumur states | s | bytes/state | rumur / shoal | searching |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut ratios = [Vec::new(), Vec::new()];
    for (file, symmetry) in &settings.models {
        let (limit, threads) = (settings.limit, settings.threads);
        let mut options = vec!["--first", "--dialect", "rumur"];
        options.extend((!symmetry).then_some("--no-symmetry"));
        let ours = run_shoal(&shoal, file, &options, threads, limit)?;
        let symmetric = if *symmetry { "heuristic" } else { "off" };
        let theirs = run_rumur(file, &["--symmetry-reduction", symmetric], threads, limit)?;
        let found = [ratio(&ours, &theirs, |run| run.time), ratio(&ours, &theirs, |run| run.search)];
        ratios.iter_mut().zip(found).for_each(|(ratios, ratio)| ratios.extend(ratio));
        // A run that was cut off would have taken longer.
        let sign = match (ours.done, theirs.done) {
            (true, false) => "> ",
            (false, true) => "< ",
            _ => "",
        };
        let [whole, search] =
            found.map(|ratio| ratio.map_or("?".to_string(), |ratio| format!("{sign}{ratio:.1}")));
        let name = file.file_name().map_or_else(String::new, |name| name.display().to_string());
        let mark = if *symmetry { "" } else { " (no symmetry)" };
        println!("| {name}{mark} | {} | {} | {whole} | {search} |", cell(&ours), cell(&theirs));
    }
    let [whole, search] = &ratios;
    if !whole.is_empty() {
        let [count, threads] = [whole.len(), settings.threads as usize];
        println!(
            "\ngeometric mean of {count} models, {threads} threads: {:.1}, searching {:.1}; least {:.1}",
            mean(whole),
            mean(search),
            whole.iter().copied().fold(f64::INFINITY, f64::min)
        );
    }
    Ok(())
}

/// The geometric mean.
pub(super) fn mean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// How many times faster: by time if one is done, else by states found in the time allowed; nothing if the peer did not
/// say how many it has found.
fn ratio(ours: &Run, theirs: &Run, time: impl Fn(&Run) -> Duration) -> Option<f64> {
    match (ours.done, theirs.done, theirs.states) {
        (false, false, 0) => None,
        (false, false, states) => Some(ours.states as f64 / states as f64),
        _ => Some(time(theirs).as_secs_f64() / time(ours).as_secs_f64().max(0.001)),
    }
}

fn cell(run: &Run) -> String {
    let sign = if run.done { "" } else { "> " };
    let bytes = run.peak.checked_div(run.states).map_or("?".to_string(), |bytes| bytes.to_string());
    let [time, search] = [run.time, run.search].map(|time| time.as_secs_f64());
    format!("{sign}{} | {sign}{time:.2} / {search:.2} | {bytes}", run.states)
}

fn settings(args: &[String]) -> Result<Settings, String> {
    let mut words = args.iter();
    let mut settings = Settings { threads: 2, limit: Duration::from_secs(60), models: Vec::new() };
    let mut symmetry = true;
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<u32>().ok()).ok_or(USAGE);
        match word.as_str() {
            "--threads" => settings.threads = number()?,
            "--seconds" => settings.limit = Duration::from_secs(number()?.into()),
            "--no-symmetry" => symmetry = false,
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
        settings.models = CORPUS.iter().map(model).collect();
    }
    Ok(settings)
}
