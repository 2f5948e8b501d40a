//! A log that is no behaviour, in words.

use std::io::{self, Write};

use shoal::{Loaded, LoggedRun, Miss, MissedBy, StateCell, StuckLog};
use shoal_model::{Model, Type};

use super::Log;
use crate::{
    Palette, StepText, changes::index_name, instance_name_in, one_line, plural, render_value, trace_steps,
    write_steps,
};

/// So many of the things that might have happened instead are named.
const NAMED: usize = 8;
/// Of a long run, what happened before the last so many steps is left out.
const LAST_STEPS: usize = 12;

/// The lines of a run, each with the line of the log that tells of it.
pub fn logged_steps(loaded: &Loaded, log: &Log, run: &LoggedRun) -> Vec<StepText> {
    let mut steps = trace_steps(&loaded.model, None, &run.trace);
    for (step, event) in steps.iter_mut().skip(1).zip(&run.events) {
        let place = match event.and_then(|event| log.events.get(event)) {
            Some(event) => format!("line {} of the log", event.line),
            None => "no event".into(),
        };
        step.position = Some(place);
    }
    steps
}

/// Writes why a log is no behaviour: the event, the shortest run up to it, and what is in its way.
pub fn write_stuck(
    out: &mut dyn Write,
    loaded: &Loaded,
    log: &Log,
    stuck: &StuckLog,
    palette: Palette,
) -> io::Result<()> {
    let model = &loaded.model;
    let event = &log.events[stuck.event];
    writeln!(
        out,
        "{}  line {} of the log: {}",
        palette.bad("✗ no behaviour"),
        event.line,
        one_line(&event.text)
    )?;
    let steps = logged_steps(loaded, log, &stuck.run);
    let told = stuck.run.events.iter().flatten().count();
    writeln!(
        out,
        "  before     {}, a run of {}",
        plural(told as u64, "event", "events"),
        plural(stuck.run.trace.steps.len() as u64, "step", "steps")
    )?;
    writeln!(out)?;
    let skipped = steps.len().saturating_sub(LAST_STEPS);
    if skipped > 1 {
        writeln!(out, "    …  {}", palette.faint(plural(skipped as u64, "line before", "lines before")))?;
    }
    write_steps(out, if skipped > 1 { &steps[skipped..] } else { &steps }, palette)?;
    writeln!(out)?;
    if stuck.misses.is_empty() {
        writeln!(out, "  no step with these arguments is one of the model's")?;
    }
    let state = stuck.run.trace.last();
    for miss in stuck.misses.iter().take(NAMED) {
        let name = instance_name_in(model, state, miss.rule, &miss.args);
        writeln!(out, "  {}  {}", palette.strong(name), reason(loaded, miss))?;
    }
    if stuck.states > 1 {
        let others = plural(stuck.states as u64 - 1, "other state", "other states");
        writeln!(
            out,
            "  {}",
            palette.faint(format_args!("in {others} that fit the log so far it does not fit either"))
        )?;
    }
    let instead: Vec<String> = stuck
        .possible
        .iter()
        .take(NAMED)
        .map(|(rule, args)| instance_name_in(model, state, *rule, args))
        .collect();
    match stuck.possible.len() {
        0 => writeln!(out, "  in this state no rule is enabled"),
        all if all > NAMED => {
            writeln!(out, "  enabled    {}, and {} more", instead.join(", "), all - NAMED)
        }
        _ => writeln!(out, "  enabled    {}", instead.join(", ")),
    }
}

fn reason(loaded: &Loaded, miss: &Miss) -> String {
    let model = &loaded.model;
    match &miss.why {
        MissedBy::Disabled(Some(blame)) => {
            let reads: Vec<String> =
                blame.reads.iter().map(|(name, value)| format!("{name} = {}", model.show(value))).collect();
            let where_ =
                if reads.is_empty() { String::new() } else { format!(" where {}", reads.join(", ")) };
            let value = if blame.value { "true" } else { "false" };
            format!("may not fire: `{}` is {value}{where_}", one_line(&blame.text))
        }
        MissedBy::Disabled(None) => "may not fire".into(),
        MissedBy::Priority => "may not fire: a rule that takes precedence may".into(),
        MissedBy::Faults(fault) => format!("ends in an error: {}", fault.kind),
        MissedBy::Dropped => "leads to a state that an assumption drops".into(),
        MissedBy::Otherwise(cells) => {
            let unlike = cells.iter().map(|(cell, told, found)| {
                let (place, ty) = place_name(model, cell);
                let shown = |value| render_value(model, ty, value);
                format!("{place} = {}, where the log says {}", shown(found), shown(told))
            });
            format!("leads to {}", unlike.collect::<Vec<_>>().join("; "))
        }
    }
}

/// What a part of a state is called.
fn place_name(model: &Model, cell: &StateCell) -> (String, shoal_model::TypeId) {
    let var = &model.vars[cell.var];
    let (mut name, mut ty) = (var.name.clone(), var.ty);
    for position in &cell.path {
        match model.kind(ty) {
            Type::Record { fields } if *position < fields.len() => {
                name += &format!(".{}", fields[*position].name);
                ty = fields[*position].ty;
            }
            Type::Array { index, element } => {
                name += &format!("[{}]", index_name(model, *index, *position));
                ty = *element;
            }
            _ => break,
        }
    }
    (name, ty)
}
