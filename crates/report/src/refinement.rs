//! How a program leaves its specification, as text and as JSON.

use std::io::{self, Write};

use serde_json::json;
use shoal_cover::Offence;
use shoal_model::{Model, State, Type};
use shoal_syntax::SourceMap;

use crate::{
    Palette, StepText, changes, instance_name_in,
    json::{event, line},
    names::render_value,
    steps_as_json, write_steps,
};

/// The steps of the path.
fn steps(model: &Model, sources: &SourceMap, offence: &Offence) -> Vec<StepText> {
    let text = |number, label, position, changes| StepText {
        number,
        label,
        position,
        changes,
        output: Vec::new(),
        shows: Vec::new(),
    };
    let mut lines = vec![text(0, "a thread begins".to_string(), None, Vec::new())];
    let mut before = &offence.start;
    for (at, step) in offence.steps.iter().enumerate() {
        let (label, position) = match &step.rule {
            Some((rule, args, _)) => {
                let span = model.place_of(*rule, args);
                (instance_name_in(model, before, *rule, args), Some(sources.locate(span)))
            }
            None => ("other threads".to_string(), None),
        };
        lines.push(text(at + 1, label, position, changes(model, before, &step.state)));
        before = &step.state;
    }
    lines
}

/// The values of the shared variables.
fn shared(model: &Model, state: &State) -> String {
    let global = |ty| !matches!(model.kind(ty), Type::Array { .. });
    let vars = model.vars.enumerate().filter(|(_, var)| global(var.ty) && !var.name.starts_with('$'));
    let parts: Vec<String> = vars
        .map(|(id, var)| format!("{}={}", var.name, render_value(model, var.ty, state.value(id))))
        .collect();
    parts.join(" ")
}

/// What the specification does not have, in a line.
pub fn offence_in_words(model: &Model, offence: &Offence) -> String {
    let last = offence.steps.last().map_or(&offence.start, |step| &step.state);
    let list = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" or ");
    let name =
        |number: Option<i64>| number.map_or("no shared state".to_string(), |number| number.to_string());
    let values = shared(model, last);
    if let Some(fault) = &offence.fault {
        return format!("{}; no specification has such a step", fault.kind);
    }
    let (from, to) = (name(offence.shared.0), name(offence.shared.1));
    match offence.steps.is_empty() {
        true => format!("the specification begins in shared state {from}, the program in {to} ({values})"),
        false => format!(
            "no step from shared state {from} to {to} ({values}) out of local state {}",
            list(&offence.locals)
        ),
    }
}

/// Writes the path and why it is an offence.
pub fn write_offence(
    out: &mut dyn Write,
    model: &Model,
    sources: &SourceMap,
    offence: &Offence,
    palette: Palette,
) -> io::Result<()> {
    writeln!(out, "  because    {}", offence_in_words(model, offence))?;
    writeln!(out, "  path       {} steps, replayed and confirmed\n", offence.steps.len())?;
    writeln!(out, "  begins with {}", shared(model, &offence.start))?;
    write_steps(out, &steps(model, sources, offence), palette)
}

/// The end of a call: what came of it. Without an offence, `verdict` says it all.
pub fn refined_event(
    files: (&str, &str),
    verdict: &str,
    note: &str,
    offence: Option<(&Model, &SourceMap, &Offence)>,
    exit_code: u8,
) -> String {
    let mut object = event("finished", Some(files.0));
    object.insert("specification".into(), json!(files.1));
    object.insert("verdict".into(), json!(verdict));
    object.insert("note".into(), json!(note));
    if let Some((model, sources, offence)) = offence {
        object.insert("shared".into(), json!([offence.shared.0, offence.shared.1]));
        object.insert("locals".into(), json!(offence.locals));
        object.insert("steps".into(), steps_as_json(&steps(model, sources, offence)));
    }
    object.insert("exit_code".into(), json!(exit_code));
    line(object)
}
