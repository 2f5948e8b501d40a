//! The counts that were recorded of SPIN (`spin-results.csv` of the corpus): without reductions (RAW, `spin -o1 -o2 -o3 -a`),
//! and without partial order reduction alone (NOREDUCE, `spin -a`), where counts differ as far as other variables are
//! found to be dead.

use std::{collections::BTreeMap, fs, time::Duration};

use super::{
    CorpusAnswer, corpus,
    ours::{MERGED, RAW, Shoal},
};
use crate::bench::build_shoal;

/// Prints for each recorded search that was complete and found nothing wrong what Shoal counts.
pub(in super::super) fn compare(limit: Duration, words: &[String]) -> Result<(), String> {
    let corpus = corpus()?;
    let table = fs::read_to_string(corpus.join("spin-results.csv")).map_err(|error| error.to_string())?;
    let shoal = Shoal::copy(build_shoal()?, limit)?;
    let mut tally: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    println!("| model | mode | SPIN | Shoal | |\n|---|---|--:|--:|---|");
    for line in table.lines().skip(1) {
        let Some(row) = RecordedSearch::of(line) else { continue };
        if !words.is_empty() && !words.iter().any(|word| row.path.contains(word.as_str())) {
            continue;
        }
        let answer = shoal.counted(&corpus.join(row.path), row.options)?;
        let (shown, equal) = match &answer {
            CorpusAnswer::Done { states, .. } => (states.to_string(), *states == row.states),
            CorpusAnswer::Limit => ("limit".to_string(), false),
            CorpusAnswer::Refused(why) => (why.clone(), false),
        };
        let (same, all) = tally.entry(row.mode).or_default();
        *all += 1;
        *same += u32::from(equal);
        let note = if equal { "" } else { "differs" };
        println!("| {} | {} | {} | {shown} | {note} |", row.model, row.mode, row.states);
    }
    for (mode, (same, all)) in tally {
        println!("{mode}: {same} of {all} counts are the same");
    }
    Ok(())
}

/// A search that was recorded.
struct RecordedSearch<'t> {
    model: &'t str,
    path: &'t str,
    mode: &'t str,
    options: &'static [&'static str],
    states: u64,
}

impl RecordedSearch<'_> {
    /// A line of the table, if it is of a search without partial order reduction that came to its end, found nothing wrong
    /// and looked at the model alone.
    fn of(line: &str) -> Option<RecordedSearch<'_>> {
        let cells: Vec<&str> = line.split(',').collect();
        let [model, path, mode, states, _, _, errors, ..] = cells[..] else { return None };
        let options = match mode {
            "RAW" => RAW,
            "NOREDUCE" => MERGED,
            _ => return None,
        };
        if errors != "0" || !cells.contains(&"yes") || line.contains("with claim") {
            return None;
        }
        Some(RecordedSearch { model, path, mode, options, states: states.parse().ok()? })
    }
}
