//! What a search did, for a user who wants it to do less: which rules took the steps, how wide the levels are, what a
//! state costs.

use std::io::{self, Write};

use serde_json::json;
use shoal_model::{Rule, Statistics, TypedId};

use crate::{
    Palette, Run, grouped,
    json::{event, large, line, position},
    plural, size,
};

/// So many levels are written as numbers; more are drawn, so many to a line.
const LEVELS_AS_NUMBERS: usize = 12;
const COLUMNS: usize = 60;

/// What a rule did.
struct RuleProfile<'a> {
    rule: &'a Rule,
    fired: u64,
    /// How many states it was the first to lead to, if that was counted.
    fresh: Option<u64>,
    /// Its share of the time that steps took, if that was measured.
    time: Option<f64>,
}

/// The rules in the order of the source.
fn rules<'a>(run: &Run<'a>) -> Vec<RuleProfile<'a>> {
    let Statistics { fired, fresh, spent, .. } = &run.outcome().statistics;
    let all: u64 = spent.iter().sum();
    let count = |counts: &[u64], at: usize| counts.get(at).copied();
    let profile = |(id, rule): (shoal_model::RuleId, &'a Rule)| RuleProfile {
        rule,
        fired: count(fired, id.index()).unwrap_or(0),
        fresh: count(fresh, id.index()),
        time: count(spent, id.index()).filter(|_| all > 0).map(|spent| share(spent, all)),
    };
    run.model().rules.enumerate().map(profile).collect()
}

/// A part of a whole, between 0 and 1.
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// How many states one that is stored stands for, if that is known.
fn compression(statistics: &Statistics) -> Option<f64> {
    statistics
        .states_full
        .filter(|_| statistics.states > 0)
        .map(|full| full as f64 / statistics.states as f64)
}

fn bytes_per_state(statistics: &Statistics) -> f64 {
    share(statistics.memory_bytes, statistics.states)
}

fn states_per_second(statistics: &Statistics) -> f64 {
    statistics.states as f64 / statistics.time.as_secs_f64().max(1e-9)
}

/// Writes what a search did as a table for people.
pub fn write_profile(out: &mut dyn Write, run: &Run<'_>, palette: Palette) -> io::Result<()> {
    let statistics = &run.outcome().statistics;
    writeln!(out)?;
    writeln!(out, "{}", palette.strong(format!("profile of {}", run.file)))?;
    writeln!(out)?;
    write_rules(out, run, palette)?;
    writeln!(out)?;
    let mut row =
        |name: &str, text: String| writeln!(out, "  {}  {text}", palette.faint(format!("{name:<9}")));
    row("levels", levels(&statistics.levels))?;
    if let Some(factor) = compression(statistics) {
        row("symmetry", format!("a stored state stands for {factor:.2} states on average"))?;
    }
    row("state", format!("{} packed", plural(statistics.state_bits, "bit", "bits")))?;
    let bytes = bytes_per_state(statistics);
    row("memory", format!("{}, {bytes:.1} bytes per state", size(statistics.memory_bytes)))?;
    let code = if statistics.compiled { "compiled" } else { "interpreted" };
    let speed = grouped(states_per_second(statistics) as u128);
    let threads = plural(statistics.threads as u64, "thread", "threads");
    row("speed", format!("{speed} states per second, {code}, {threads}"))
}

/// The rules that took steps, the one that took most first.
fn write_rules(out: &mut dyn Write, run: &Run<'_>, palette: Palette) -> io::Result<()> {
    let steps = run.outcome().statistics.transitions;
    let mut rules: Vec<RuleProfile<'_>> = rules(run);
    rules.retain(|rule| rule.fired > 0);
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.fired));
    let mut table =
        vec![["rule", "at", "fired", "of steps", "new states", "of fired", "of time"].map(String::from)];
    table.extend(rules.iter().map(|profile| {
        let RuleProfile { rule, fired, fresh, time } = *profile;
        [
            format!("{:?}", rule.name),
            run.sources().locate(rule.span).to_string(),
            grouped(fired),
            percent(share(fired, steps)),
            fresh.map_or("?".into(), grouped),
            fresh.map_or("?".into(), |fresh| percent(share(fresh, fired))),
            time.map_or("?".into(), percent),
        ]
    }));
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [name, at, fired, of_steps, fresh, of_fired, of_time] = std::array::from_fn(width);
    for (number, [a, b, c, d, e, f, g]) in table.iter().enumerate() {
        let left = format!("  {a:<name$}  {b:<at$}  {c:>fired$}  {d:>of_steps$}");
        let text = format!("{left}  {e:>fresh$}  {f:>of_fired$}  {g:>of_time$}");
        match number {
            0 => writeln!(out, "{}", palette.faint(text))?,
            _ => writeln!(out, "{text}")?,
        }
    }
    Ok(())
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The new states of each level: numbers if they are few, else a drawing and the widest one.
fn levels(levels: &[u64]) -> String {
    if levels.len() <= LEVELS_AS_NUMBERS {
        return levels.iter().map(|states| grouped(*states)).collect::<Vec<_>>().join(" + ");
    }
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let columns = levels.chunks(levels.len().div_ceil(COLUMNS));
    let heights: Vec<u64> = columns.map(|part| part.iter().copied().max().unwrap_or(0)).collect();
    let most = heights.iter().copied().max().unwrap_or(0);
    let bar = |height: &u64| {
        BARS[((share(*height, most) * BARS.len() as f64).ceil() as usize).clamp(1, BARS.len()) - 1]
    };
    let drawing: String = heights.iter().map(bar).collect();
    let at = levels.iter().position(|states| *states == most).unwrap_or(0);
    let widest = plural(most, "new state", "new states");
    format!("{drawing}  {} levels, most at distance {at}: {widest}", levels.len())
}

/// What a search did.
pub fn profile_event(run: &Run<'_>) -> String {
    let statistics = &run.outcome().statistics;
    let rule = |profile: RuleProfile<'_>| {
        json!({
            "rule": profile.rule.name,
            "position": position(run.sources(), profile.rule.span),
            "fired": profile.fired,
            "share": share(profile.fired, statistics.transitions),
            "fresh": profile.fresh,
            "time_share": profile.time,
        })
    };
    let mut object = event("profile", Some(run.file));
    let mut put = |name: &str, value| drop(object.insert(name.into(), value));
    put("engine", json!(statistics.engine));
    put("rules", rules(run).into_iter().map(rule).collect());
    put("levels", json!(statistics.levels));
    put("states", json!(statistics.states));
    if let Some(full) = statistics.states_full {
        put("states_full", large(full));
    }
    put("orbit_compression", json!(compression(statistics)));
    put("transitions", json!(statistics.transitions));
    put("state_bits", json!(statistics.state_bits));
    put("memory_bytes", json!(statistics.memory_bytes));
    put("bytes_per_state", json!(bytes_per_state(statistics)));
    put("seconds", json!(statistics.time.as_secs_f64()));
    put("states_per_second", json!(states_per_second(statistics)));
    put("compiled", json!(statistics.compiled));
    put("threads", json!(statistics.threads));
    line(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_levels_are_numbers_and_many_are_drawn() {
        assert_eq!(levels(&[1, 20, 3000]), format!("1 + 20 + {}", grouped(3000u64)));
        let many: Vec<u64> = (0..=100).chain((0..100).rev()).collect();
        let text = levels(&many);
        assert!(
            text.contains('█') && text.ends_with("201 levels, most at distance 100: 100 new states"),
            "{text}"
        );
        assert!(
            text.starts_with("▁▁▁▂") && text.chars().filter(|c| "▁▂▃▄▅▆▇█".contains(*c)).count() <= COLUMNS
        );
    }
}
