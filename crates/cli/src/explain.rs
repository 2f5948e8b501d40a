//! `shoal explain`.

use shoal::{CheckOptions, model::print_model};
use shoal_report::{ActiveView, BreakView, ExplainView, HintView, LocalView, SortView, write_explain};

use crate::{
    args::{ExplainArgs, LimitArgs},
    exit::{Exit, Failure},
    output::{self, Console},
    progress::listen,
};

/// The page of the book about error codes.
const ERRORS: &str = include_str!("../errors.md");

pub(crate) fn run(console: &Console, args: &ExplainArgs) -> Result<Exit, Failure> {
    if let Some(code) = args.what.to_str().filter(|what| is_code(what)) {
        return explain_code(console, &code.to_ascii_uppercase());
    }
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.what);
    let loaded = shoal::load(&args.what, &args.model_args.load_options(&watch))?;
    if !loaded.diagnostics.is_empty() {
        let text =
            shoal_report::render_diagnostics(&loaded.sources, &loaded.diagnostics, console.error_palette);
        output::complain(text);
    }
    if args.model {
        console.write(|out| write!(out, "{}", print_model(&loaded.model)))?;
        return Ok(Exit::Good);
    }
    let plan = shoal::plan(&loaded, &CheckOptions::default());
    let file = args.what.display().to_string();
    let known = shoal::local_states(&loaded, &watch);
    let view = ExplainView {
        file: &file,
        model: &loaded.model,
        sources: &loaded.sources,
        sorts: sorts(&loaded, &plan),
        locals: locals(known.sorts),
        plain: known.plain,
        active: active(&loaded),
        hints: hints(&loaded),
        plan: &plan.reason,
    };
    console.write(|out| write_explain(out, &view, console.palette))?;
    Ok(Exit::Good)
}

fn sorts(loaded: &shoal::Loaded, plan: &shoal::Plan) -> Vec<SortView> {
    let symmetry = shoal::symmetry_of_steps(&loaded.model);
    let view = |(sort, known): (shoal::model::SortId, &shoal::SortSymmetry)| SortView {
        sort,
        pinned: known.pinned.iter().copied().collect(),
        breaks: known
            .breaks
            .iter()
            .map(|found| BreakView { span: found.span, reason: found.reason.clone() })
            .collect(),
        checked: plan.checked.contains(&sort),
    };
    symmetry.sorts.enumerate().map(view).collect()
}

fn locals(known: Vec<shoal::LocalStates>) -> Vec<LocalView> {
    let count = |known: &shoal::LocalStates| {
        let live = known.live.map_or(String::new(), |live| format!(", {live} with live variables only"));
        let kept = match &known.kept {
            Ok(kept) => format!(", {kept} that an element may reach: these are counted"),
            Err(why) => format!("; not counted: {why}"),
        };
        format!("{} conceivable{live}{kept}", known.conceivable)
    };
    let view = |known: shoal::LocalStates| LocalView {
        sort: known.sort,
        count: count(&known),
        control: known.control,
        points: known.points.iter().map(|it| (it.at.clone(), it.live.clone(), kept(it))).collect(),
        ranges: known.ranges,
    };
    known.into_iter().map(view).collect()
}

/// How many of the local states at a control point are kept, and why the others are not.
fn kept(point: &shoal::Point) -> String {
    let Some(kept) = point.kept else { return String::new() };
    if kept == 0 {
        return "; no element comes here".into();
    }
    let dead = point.conceivable - point.telling;
    let missed = point.telling.saturating_sub(kept as u128);
    let mut dropped = Vec::new();
    if dead > 0 {
        dropped.push(format!("{dead} differ only in what is not live"));
    }
    if missed > 0 {
        dropped.push(format!("{missed} no element reaches"));
    }
    let dropped = if dropped.is_empty() { String::new() } else { format!(": {}", dropped.join(", ")) };
    let ranges: String = point.ranges.iter().map(|(var, values)| format!("; {var} {values}")).collect();
    format!("; {kept} of {} kept{dropped}{ranges}", point.conceivable)
}

/// For each sort with variables that are not always active, their conditions.
fn active(loaded: &shoal::Loaded) -> Vec<ActiveView> {
    let conditions = shoal::active_conditions(&loaded.model);
    let view = |known: shoal::Activity| ActiveView { index: known.index, shown: known.shown(&loaded.model) };
    conditions.into_iter().map(view).collect()
}

fn hints(loaded: &shoal::Loaded) -> Vec<HintView> {
    let hints = shoal::scalarset_hints(&loaded.model);
    let name = |ty| loaded.model.show_type(ty).to_string();
    hints
        .into_iter()
        .map(|hint| HintView {
            name: hint.name,
            with: hint.with.into_iter().map(name).collect(),
            span: hint.span,
        })
        .collect()
}

/// A letter and four digits.
fn is_code(what: &str) -> bool {
    let mut chars = what.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.clone().count() == 4
        && chars.all(|c| c.is_ascii_digit())
}

fn explain_code(console: &Console, code: &str) -> Result<Exit, Failure> {
    match section(ERRORS, code) {
        Some(text) => {
            console.line(text.trim_end())?;
            Ok(Exit::Good)
        }
        None => Err(Failure::wrong(format_args!("there is no page about the code {code}"))),
    }
}

/// The section of a Markdown text whose heading contains a word: up to the next heading of its rank or above.
fn section(text: &str, word: &str) -> Option<String> {
    let rank = |line: &str| line.chars().take_while(|c| *c == '#').count();
    let mut found: Option<(usize, Vec<&str>)> = None;
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let heading = if in_code { 0 } else { rank(line) };
        match &mut found {
            Some((own, _)) if heading > 0 && heading <= *own => break,
            Some((_, lines)) => lines.push(line),
            None if heading > 0 && line.contains(word) => {
                found = Some((heading, vec![line.trim_start_matches('#').trim()]));
            }
            None => {}
        }
    }
    found.map(|(_, lines)| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_where_the_next_begins() {
        let text =
            "# Errors\n\n## E0001: one\nfirst\n```\n# no heading\n```\n### more\nx\n## E0002: two\nsecond\n";
        assert_eq!(section(text, "E0001").unwrap(), "E0001: one\nfirst\n```\n# no heading\n```\n### more\nx");
        assert_eq!(section(text, "E0002").unwrap(), "E0002: two\nsecond");
        assert_eq!(section(text, "E0003"), None);
        assert!(is_code("E0201") && !is_code("german.m") && !is_code("E021"));
    }
}
