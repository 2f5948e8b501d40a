//! Numbers of states without symmetry, as the reference has them: of the whole model, and with inactive variables
//! eliminated; by both engines.

use std::{path::Path, time::Duration};

use shoal_peers::{PeerRun, run_shoal};

use crate::tidy::root;

/// The model, its size, and the reference's numbers of states: all, and with inactive variables eliminated.
type CountsRow = (&'static str, u32, Option<u64>, Option<u64>);

const ROWS: &[CountsRow] = &[
    ("mcs", 3, Some(14_962), Some(824)),
    ("mcs", 4, Some(999_660), Some(13_280)),
    ("mcs", 5, None, Some(265_872)),
    ("leader", 3, Some(68), Some(68)),
    ("leader", 4, Some(536), Some(536)),
    ("leader", 5, Some(5_562), Some(5_562)),
    ("leader", 6, Some(72_148), Some(72_148)),
    ("cycle", 3, Some(152), Some(16)),
    ("cycle", 4, Some(3_992), Some(65)),
    ("cycle", 5, Some(205_622), Some(326)),
    ("cycle", 6, None, Some(1_957)),
    ("buffer", 3, Some(6_534), Some(547)),
    ("buffer", 4, Some(168_850), Some(2_542)),
    ("buffer", 5, None, Some(12_405)),
    ("buffer", 6, None, Some(60_084)),
    ("readers_writers", 3, Some(256), Some(256)),
    ("readers_writers", 4, Some(17_291), Some(745)),
    ("readers_writers", 5, Some(905_616), Some(4_718)),
    ("readers_writers", 6, None, Some(16_053)),
    ("region", 3, Some(8_978), Some(1_169)),
    ("region", 4, Some(379_600), Some(12_068)),
    ("region", 5, None, Some(124_127)),
];

/// A run may take so long.
const LIMIT: Duration = Duration::from_secs(60);

/// Prints the table, and how many numbers are as they should be. `wanted` says which models and sizes.
pub(super) fn print(shoal: &Path, threads: u32, wanted: &dyn Fn(&str, u32) -> bool) -> Result<(), String> {
    println!("Numbers of states without symmetry (in brackets the seconds); `!`: not the reference's\n");
    println!("| model | M | all | explicit | symbolic | inactive eliminated | explicit | symbolic |");
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    let (mut equal, mut all) = (0, 0);
    for (model, size, raw, inactive) in ROWS.iter().filter(|row| wanted(row.0, row.1)) {
        let mut cells = Vec::new();
        for (expected, option) in [(raw, "--no-dead-variables"), (inactive, "--dead-variables")] {
            let Some(expected) = expected else {
                cells.extend(["-".into(), "-".into(), "-".into()]);
                continue;
            };
            cells.push(expected.to_string());
            for engine in ["explicit", "symbolic"] {
                let file = root().join(format!("models/red/{model}.red"));
                let set = format!("M={size}");
                let options = ["--engine", engine, "--symmetry", "off", option, "--set", &set];
                let run = run_shoal(shoal, &file, &options, threads, LIMIT)?;
                all += 1;
                equal += usize::from(run.done && run.states == *expected);
                cells.push(cell(&run, *expected));
            }
        }
        println!("| {model} | {size} | {} |", cells.join(" | "));
    }
    println!("\n{equal} of {all} numbers are the reference's.\n");
    Ok(())
}

fn cell(run: &PeerRun, expected: u64) -> String {
    let seconds = run.time.as_secs_f64();
    match run.done {
        false => format!("> {} (> {seconds:.1})", run.states),
        true if run.states == expected => format!("{} ({seconds:.1})", run.states),
        true => format!("{}! ({seconds:.1})", run.states),
    }
}
