//! Shoal beside what was recorded of CMurphi (`cmurphi-results.csv` of the corpus): the processor time of its search, which
//! does not count what its compiler and g++ took before. Of Shoal, the processor time of the whole command is told, and of
//! the search: that is what it takes more than the same command that looks at the starts alone (`--depth 0`), which reads,
//! proves and translates all the same.

use std::{fs, path::Path, time::Duration};

use shoal_peers::{PeerRun, mean, run_shoal};

use super::{ExplicitSettings, count};
use crate::tidy::root;

/// Searches of fewer states are over before they can be measured.
const FEWEST_STATES: u64 = 20_000;

/// Protocols that are shipped, in the style of generators: unions of nodes, bags for virtual channels, records that loops fill in.
const SHIPPED: &[(&str, &str)] =
    &[("msi_directory", "CACHES=5"), ("mesi_eviction", "CACHES=5"), ("two_level", "CPUS=3")];

/// What was recorded of a model.
struct RecordedModel {
    file: String,
    /// Whether the search came to its end without an error: only then it is the same search.
    whole: bool,
    states: u64,
    seconds: f64,
}

/// The protocols of the corpus, on one thread and on two.
pub(super) fn beside_cmurphi(shoal: &Path, settings: &ExplicitSettings) -> Result<(), String> {
    let corpus = root().join("../shared/corpus/murphi");
    let table = fs::read_to_string(corpus.join("cmurphi-results.csv"));
    let Ok(table) = table else {
        println!("\nskipped: nothing recorded of CMurphi in ../shared/corpus");
        return Ok(());
    };
    println!(
        "\n| model | shoal states | cpu s, one thread | of it the search | search s, two threads | cmurphi states | cpu s | times, searching | in all |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut ratios = [Vec::new(), Vec::new()];
    for record in records(&table)? {
        let file = corpus.join(&record.file);
        let timed = |options: &[&str]| timed(shoal, &file, options, settings.limit);
        let (one, seconds) = timed(&["--first"])?;
        let (_, before_search) = timed(&["--first", "--depth", "0"])?;
        let search = (seconds - before_search).max(0.01);
        let two = run_shoal(shoal, &file, &["--first"], 2, settings.limit)?;
        // Where one of them was cut off, or sees more states than the other, states by second are compared.
        let times = |seconds: f64| match record.whole && one.done && one.states <= record.states {
            true => record.seconds / seconds,
            false => one.states as f64 / seconds / (record.states as f64 / record.seconds),
        };
        let [searching, in_all] = [search, seconds.max(0.01)].map(times);
        ratios[0].push(searching);
        ratios[1].push(in_all);
        let sign = if record.whole { "" } else { "> " };
        println!(
            "| {} | {} | {seconds:.2} | {search:.2} | {:.2} | {sign}{} | {:.2} | {searching:.1} | {in_all:.1} |",
            record.file,
            count(&one),
            two.search.as_secs_f64(),
            record.states,
            record.seconds,
        );
    }
    println!();
    for (ratios, what) in ratios.iter().zip(["searching", "in all"]) {
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!("geometric mean of {} models, {what}: {:.1}, least {least:.1}", ratios.len(), mean(ratios));
    }
    Ok(())
}

/// The protocols that are shipped, on one thread and on two.
pub(super) fn shipped(shoal: &Path, settings: &ExplicitSettings) -> Result<(), String> {
    println!("\n| model | with | states | cpu s, one thread | search s, two threads |");
    println!("|---|---|--:|--:|--:|");
    for (name, set) in SHIPPED {
        let (file, options) = (root().join(format!("models/murphi/{name}.m")), ["--set", *set]);
        let (one, seconds) = timed(shoal, &file, &options, settings.limit)?;
        let two = run_shoal(shoal, &file, &options, 2, settings.limit)?;
        println!("| `{name}` | {set} | {} | {seconds:.2} | {:.2} |", count(&one), two.search.as_secs_f64());
    }
    Ok(())
}

/// A run on one thread, and the processor time of the whole command.
fn timed(shoal: &Path, file: &Path, options: &[&str], limit: Duration) -> Result<(PeerRun, f64), String> {
    let before = children()?;
    let run = run_shoal(shoal, file, options, 1, limit)?;
    Ok((run, (children()? - before).as_secs_f64()))
}

fn records(table: &str) -> Result<Vec<RecordedModel>, String> {
    let mut lines = table.lines().map(fields);
    let head = lines.next().ok_or("an empty table")?;
    let column = |name: &str| head.iter().position(|it| it == name).ok_or(format!("no column {name}"));
    let [file, verdict, states, seconds] =
        [column("file")?, column("verdict")?, column("states")?, column("check_user_s")?];
    let record = |line: Vec<String>| {
        Some(RecordedModel {
            file: line.get(file)?.clone(),
            whole: line.get(verdict)? == "no error",
            states: line.get(states)?.parse().ok()?,
            seconds: line.get(seconds)?.parse().ok()?,
        })
    };
    // Lines without numbers are of models that CMurphi does not take.
    Ok(lines.filter_map(record).filter(|record| record.states > FEWEST_STATES).collect())
}

/// The fields of a line, where quotes keep commas.
fn fields(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            _ => field.push(letter),
        }
    }
    fields.push(field);
    fields
}

/// The processor time of all children that have ended, as Linux says it in hundredths of a second.
fn children() -> Result<Duration, String> {
    let said = fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    // The second field is a name in parentheses, which may have blanks; the sixteenth is asked for.
    let after = said.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks = after.split_whitespace().nth(13).and_then(|ticks| ticks.parse::<u64>().ok());
    ticks.map(|ticks| Duration::from_millis(ticks * 10)).ok_or_else(|| "no processor times in /proc".into())
}
