//! How random models are made, and what is done with every one of them.

pub(crate) mod boolean;
pub(crate) mod brute;
pub(crate) mod choices;
pub(crate) mod concurrent;
pub(crate) mod generate;
pub(crate) mod loops;
pub(crate) mod nets;
pub(crate) mod numbers;
#[allow(dead_code)]
pub(crate) mod permute;
pub(crate) mod pids;
pub(crate) mod promela;
pub(crate) mod promela_for_spin;
pub(crate) mod replayed;
pub(crate) mod tableau;

use std::{fs::OpenOptions, io::Write};

/// How many random models to look at: few in the gate, as many as `SHOAL_RANDOM_MODELS` says in longer runs.
pub(crate) fn dose(few: u32) -> u32 {
    std::env::var("SHOAL_RANDOM_MODELS").ok().and_then(|count| count.parse().ok()).unwrap_or(few)
}

/// Changes the seeds of tests that count them: others for every `PROPTEST_RNG_SEED` but the gate's.
pub(crate) fn salt() -> u64 {
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    seed.map_or(0, |seed| seed.wrapping_sub(1) << 24)
}

/// Notes that something was compared, for `cargo xtask soak`, which names the file in `SHOAL_TALLY`.
pub(crate) fn compared(kind: &str) {
    let Some(file) = std::env::var_os("SHOAL_TALLY") else { return };
    let file = OpenOptions::new().create(true).append(true).open(file);
    file.and_then(|mut file| writeln!(file, "{kind}")).expect("the tally can be written");
}
