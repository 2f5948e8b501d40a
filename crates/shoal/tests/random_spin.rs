//! A second reader of Promela: random programs as SPIN understands them, against what the front end makes of them.
//!
//! Every error that Shoal finds SPIN finds too, and either both find one or none. Where SPIN finds no error but invalid end
//! states, the numbers of states are the same: behind an error Shoal does not go on. `SHOAL_RANDOM_MODELS` programs are
//! compared, from the seed `PROPTEST_RNG_SEED` on.
#![allow(clippy::print_stderr)]

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Output},
};

use shoal_interpret::explore;
use shoal_syntax::SourceMap;

use crate::random::promela_for_spin::program;

/// Programs with more states than this are skipped.
const MOST_STATES: usize = 4_000;

/// What is found wrong, in words that both have.
pub(crate) type Found = BTreeSet<&'static str>;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The choices of a program.
pub(crate) fn choices(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as u8
    };
    (0..400).map(|_| next()).collect()
}

/// States and what is wrong; nothing if there are too many, or the program is refused by name.
pub(crate) fn by_shoal(text: &str) -> Option<(usize, Found)> {
    let mut sources = SourceMap::new();
    let id = sources.add("random.pml", text);
    let (model, diagnostics) = shoal_promela::load(&sources, id, &shoal_promela::Options::default());
    let refused = |code: &str| ["E0612", "E0624", "E0630"].contains(&code);
    let Some(model) = model else {
        assert!(
            diagnostics.iter().all(|it| refused(it.code.0) || it.code.0.starts_with('W')),
            "{diagnostics:?}\n{text}"
        );
        return None;
    };
    let explored = explore(&model, MOST_STATES).expect("Promela models can be run");
    let word = |name: &str| match name {
        "assertions" => "assertion",
        "invalid end states" => "end",
        "D_proctype is deterministic" | "the trace is deterministic" => "determinism",
        "trace" | "notrace" => "trace",
        "no rendezvous channel is polled" => "poll",
        "no process asks whether itself is enabled" => "itself",
        "priorities are 1 to 255" => "priority",
        "channels that are used exist" | "no run-time errors" => "fault",
        other => panic!("{other}\n{text}"),
    };
    let found = explored.violated.keys().map(|id| word(&model.properties[*id].name)).collect();
    explored.complete.then_some((explored.states, found))
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<Output> {
    Command::new("timeout").args(["20", program]).args(arguments).current_dir(folder).output().ok()
}

/// The same by SPIN, and whether it ended with the first thing that was wrong; nothing if it refuses the program or does not
/// finish.
fn by_spin(text: &str, compiler: &str, folder: &Path) -> Option<(usize, Found, bool)> {
    let translate = ["-o1", "-o2", "-o3", "-a", "random.pml"];
    run("spin", &translate, folder).filter(|output| output.status.success())?;
    let compile = ["-w", "-DNOREDUCE", "-DSAFETY", "-DVECTORSZ=4096", "-o", "pan", "pan.c"];
    run(compiler, &compile, folder).filter(|output| output.status.success())?;
    let output = run("./pan", &["-c0", "-m200000"], folder)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.contains("max search depth too small") {
        return None;
    }
    let states = said.lines().find_map(|line| line.trim().strip_suffix("states, stored"))?;
    let is_error = |line: &&str| {
        line.strip_prefix("pan:").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let word = |line: &str| {
        // An index out of range is an "assertion violated - invalid array index".
        let words = [
            ("array index", "fault"),
            ("assertion violated", "assertion"),
            ("block in d_step", "assertion"),
            ("invalid end", "end"),
            ("non-determinism", "determinism"),
            ("event_trace error", "trace"),
            ("poll", "poll"),
            ("thisproc", "itself"),
            ("priority is out of range", "priority"),
            ("chan name", "fault"),
            ("bad queue", "fault"),
        ];
        let found = words.iter().find(|(said, _)| line.contains(said));
        found.map(|(_, word)| *word).unwrap_or_else(|| panic!("{line}\n{text}"))
    };
    let ends = ["thisproc", "priority is out of range", "bad queue"];
    let ended = said.lines().filter(is_error).any(|line| ends.iter().any(|said| line.contains(said)));
    let states = states.trim().parse::<f64>().ok()? as usize;
    Some((states, said.lines().filter(is_error).map(word).collect(), ended))
}

/// What is different for the two, nothing if they agree; whether states were compared. Nothing at all if one of them does not
/// take the program.
pub(crate) fn difference(text: &str, compiler: &str, folder: &Path) -> Option<(Option<String>, bool)> {
    // Written first, so that it is there if Shoal does not end.
    fs::write(folder.join("random.pml"), text).ok()?;
    let (states, ours) = by_shoal(text)?;
    let (stored, theirs, ended) = by_spin(text, compiler, folder)?;
    let counts = theirs.iter().all(|found| *found == "end");
    // Behind a run-time error SPIN goes on with any value; here nothing follows, and that is an end.
    let ours: Found =
        ours.iter().copied().filter(|found| *found != "end" || !ours.contains("fault")).collect();
    // Of what is wrong, SPIN finds only a part if it ends at once.
    let agree = ours.is_empty() == theirs.is_empty()
        && (ended || ours.is_subset(&theirs))
        && (!counts || (states, &ours) == (stored, &theirs));
    let difference = format!("{states} states {ours:?}, SPIN {stored} {theirs:?}");
    Some(((!agree).then_some(difference), counts))
}

/// A simpler list of choices for which the two still differ.
pub(crate) fn shrunk(mut bytes: Vec<u8>, compiler: &str, folder: &Path) -> Vec<u8> {
    let differs = |bytes: &[u8]| {
        difference(&program(bytes), compiler, folder).is_some_and(|(difference, _)| difference.is_some())
    };
    let mut chunk = bytes.len() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at < bytes.len() {
            let end = (at + chunk).min(bytes.len());
            let without: Vec<u8> = bytes[..at].iter().chain(&bytes[end..]).copied().collect();
            let mut simpler = bytes.clone();
            simpler[at..end].fill(0);
            if program(&without).len() < program(&bytes).len() && differs(&without) {
                bytes = without;
                continue;
            }
            if program(&simpler).len() < program(&bytes).len() && differs(&simpler) {
                bytes = simpler;
            }
            at = end;
        }
        chunk /= 2;
    }
    bytes
}

#[test]
fn programs_mean_what_they_mean_to_spin() {
    let is_there = |tool: &str| Command::new(tool).arg("-v").output().is_ok();
    let compiler = ["tcc", "gcc"].into_iter().find(|tool| is_there(tool));
    let Some(compiler) = compiler.filter(|_| is_there("spin")) else {
        eprintln!("skipped: no spin");
        return;
    };
    let folder = std::env::temp_dir().join(format!("shoal-second-reader-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let first = number("PROPTEST_RNG_SEED").unwrap_or(1);
    let (mut compared, mut counted, mut wrong) = (0, 0, Vec::new());
    for seed in first..first + number("SHOAL_RANDOM_MODELS").unwrap_or(12) {
        let bytes = choices(seed);
        let Some((different, counts)) = difference(&program(&bytes), compiler, &folder) else { continue };
        compared += 1;
        counted += usize::from(counts);
        if different.is_some() {
            let text = program(&shrunk(bytes, compiler, &folder));
            let different = difference(&text, compiler, &folder).and_then(|(different, _)| different);
            wrong.push(format!("seed {seed}: {}\n{text}", different.unwrap_or_default()));
        }
    }
    let _ = fs::remove_dir_all(&folder);
    eprintln!("seeds from {first}: {compared} programs compared with SPIN, {counted} of them by states");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
