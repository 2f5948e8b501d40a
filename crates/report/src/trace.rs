//! The steps of a run as text: what fired, and only what changed.

use std::io::{self, Write};

use shoal_model::{Model, Ratio, Trace};
use shoal_syntax::SourceMap;

use crate::{Palette, PlaceChange, SavedTrace, changes, instance_name_in, plural, start_name};

/// One line of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepText {
    /// The number: 0 is the start.
    pub number: usize,
    /// What fired.
    pub label: String,
    /// Where it stands in the source.
    pub position: Option<String>,
    /// What it changed.
    pub changes: Vec<PlaceChange>,
    /// What it put out on the way.
    pub output: Vec<String>,
    /// What the run shows of a formula in the state it leads to.
    pub shows: Vec<ShownClaim>,
}

/// That a part of a formula holds or fails in a state of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownClaim {
    /// Which state, by number.
    pub state: usize,
    /// The part, as text.
    pub formula: String,
    /// Whether it holds.
    pub holds: bool,
}

/// The lines of a run, with what it shows of a formula.
pub fn shown_steps(
    model: &Model,
    sources: Option<&SourceMap>,
    trace: &Trace,
    shows: &[ShownClaim],
) -> Vec<StepText> {
    let mut lines = trace_steps(model, sources, trace);
    for shown in shows {
        if let Some(line) = lines.get_mut(shown.state) {
            line.shows.push(shown.clone());
        }
    }
    lines
}

/// The lines of a run.
pub fn trace_steps(model: &Model, sources: Option<&SourceMap>, trace: &Trace) -> Vec<StepText> {
    let locate = |span| sources.map(|sources| sources.locate(span));
    let mut lines = vec![StepText {
        number: 0,
        label: start_name(model, trace.start, &trace.args),
        position: locate(model.starts[trace.start].span),
        changes: Vec::new(),
        output: Vec::new(),
        shows: Vec::new(),
    }];
    for (number, (step, before)) in trace.steps.iter().zip(trace.states()).enumerate() {
        let name = instance_name_in(model, before, step.rule, &step.args);
        lines.push(StepText {
            number: number + 1,
            label: if step.delay == Ratio::ZERO { name } else { format!("after {}: {name}", step.delay) },
            position: locate(model.place_of(step.rule, &step.args)),
            changes: changes(model, before, &step.state),
            output: Vec::new(),
            shows: Vec::new(),
        });
    }
    lines
}

/// The lines of a saved run, without its model.
pub fn saved_steps(trace: &SavedTrace) -> Vec<StepText> {
    trace.steps()
}

/// The widest label that what changed may stand beside.
const WIDEST: usize = 52;

/// Writes lines, what changed in a column of its own where there is room for one. Positions are written where they
/// are given.
pub fn write_steps(out: &mut dyn Write, steps: &[StepText], palette: Palette) -> io::Result<()> {
    let column = column_of_changes(steps, palette);
    steps.iter().try_for_each(|step| write_step(out, step, column, palette))
}

/// Writes the lines of a saved run as [`write_steps`] does, each followed by what every variable is then.
pub fn write_states(
    out: &mut dyn Write,
    trace: &SavedTrace,
    steps: &[StepText],
    palette: Palette,
) -> io::Result<()> {
    let column = column_of_changes(steps, palette);
    for step in steps {
        write_step(out, step, column, palette)?;
        for (name, value) in trace.values(step.number) {
            writeln!(out, "       {}", palette.faint(format_args!("{name} = {value}")))?;
        }
    }
    Ok(())
}

/// Writes a saved run as a table: a row a state, a column for each place that changes, and how many do not. Columns that
/// do not fit the width come in a table of their own.
pub fn write_table(
    out: &mut dyn Write,
    trace: &SavedTrace,
    width: usize,
    palette: Palette,
) -> io::Result<()> {
    let states: Vec<Vec<(String, String)>> = (0..=trace.len()).map(|number| trace.leaves(number)).collect();
    let mut places: Vec<&str> = Vec::new();
    for (name, _) in states.iter().flatten() {
        if !places.contains(&name.as_str()) {
            places.push(name);
        }
    }
    let value = |number: usize, place: &str| {
        states[number].iter().find(|(name, _)| name == place).map_or("", |(_, value)| value.as_str())
    };
    let (changing, steady): (Vec<&str>, Vec<&str>) =
        places.into_iter().partition(|place| (1..states.len()).any(|at| value(at, place) != value(0, place)));
    let wide = |place: &str| {
        let values = (0..states.len()).map(|at| value(at, place).chars().count());
        values.chain([place.chars().count()]).max().unwrap_or(0).min(MOST_IN_A_CELL)
    };
    let mut columns = changing.as_slice();
    while !columns.is_empty() {
        let mut taken = 0;
        let mut used = 5;
        while let Some(place) =
            columns.get(taken).filter(|place| taken == 0 || used + wide(place) + 2 <= width)
        {
            used += wide(place) + 2;
            taken += 1;
        }
        let (shown, rest) = columns.split_at(taken);
        columns = rest;
        write!(out, "{:>4} ", "")?;
        for place in shown {
            write!(out, " {} ", palette.strong(format!("{:<1$}", clipped(place), wide(place))))?;
        }
        writeln!(out)?;
        for number in 0..states.len() {
            write!(out, "{number:>4} ")?;
            for place in shown {
                let text = format!("{:<1$}", clipped(value(number, place)), wide(place));
                let is_new = number > 0 && value(number, place) != value(number - 1, place);
                match is_new {
                    true => write!(out, " {} ", palette.strong(text))?,
                    false => write!(out, " {} ", palette.faint(text))?,
                }
            }
            writeln!(out)?;
        }
        writeln!(out)?;
    }
    match steady.len() as u64 {
        0 => Ok(()),
        count => writeln!(
            out,
            "{}",
            palette.faint(format_args!("{} never change", plural(count, "place", "places")))
        ),
    }
}

/// More of a value does not fit into a table.
const MOST_IN_A_CELL: usize = 40;

fn clipped(text: &str) -> String {
    match text.chars().count() > MOST_IN_A_CELL {
        true => text.chars().take(MOST_IN_A_CELL - 1).chain(['…']).collect(),
        false => text.into(),
    }
}

/// Where what changed stands: beside the widest label that leaves room for it.
fn column_of_changes(steps: &[StepText], palette: Palette) -> usize {
    let widths = steps.iter().map(|step| step.label.chars().count());
    widths.filter(|width| *width <= widest(palette)).max().unwrap_or(0)
}

/// The widest label beside which there is room for what changed.
fn widest(palette: Palette) -> usize {
    const ROOM: usize = 50;
    palette.width.map_or(WIDEST, |width| width.saturating_sub(ROOM).clamp(4, WIDEST))
}

/// Writes one line, what changed in the given column.
pub fn write_step(out: &mut dyn Write, step: &StepText, column: usize, palette: Palette) -> io::Result<()> {
    let width = step.label.chars().count();
    let column = column.min(widest(palette));
    write!(out, "  {:>3}  {}", step.number, palette.strong(&step.label))?;
    let beside = usize::from(width <= column).min(step.changes.len());
    let (first, changed) = step.changes.split_at(beside);
    if let [change] = first {
        write!(out, "{}  {change}", " ".repeat(column - width))?;
    }
    writeln!(out)?;
    let margin = " ".repeat(column + 9);
    for change in changed {
        writeln!(out, "{margin}{change}")?;
    }
    for line in &step.output {
        writeln!(out, "{margin}{}", palette.faint(format_args!("» {line}")))?;
    }
    if step.number > 0 && step.changes.is_empty() {
        writeln!(out, "{margin}{}", palette.faint("nothing changed"))?;
    }
    for ShownClaim { formula, holds, .. } in &step.shows {
        let word = if *holds { "holds" } else { "fails" };
        writeln!(out, "       {}", palette.faint(format_args!("{word}  {formula}")))?;
    }
    match &step.position {
        Some(position) => writeln!(out, "       {}", palette.faint(format_args!("at {position}"))),
        None => Ok(()),
    }
}

/// Writes how an infinite run goes on after its last step.
pub fn write_loop(
    out: &mut dyn Write,
    loops_to: Option<usize>,
    steps: usize,
    palette: Palette,
) -> io::Result<()> {
    let text = match loops_to {
        None => return Ok(()),
        Some(to) if to == steps => "then nothing happens any more".to_string(),
        Some(to) => format!("then again from step {}, for ever", to + 1),
    };
    writeln!(out, "    {}  {}", palette.strong("…"), palette.strong(text))
}
