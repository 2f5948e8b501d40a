//! `shoal explain`.

use shoal::{CheckOptions, model::print_model};
use shoal_report::{ExplainView, render_diagnostics, write_explain};

use crate::{
    args::{ExplainArgs, LimitArgs},
    exit::{Exit, Failure},
    output::{self, Console},
    progress::listen,
    words::advise,
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
        output::complain(render_diagnostics(
            &loaded.sources,
            &loaded.diagnostics,
            advise,
            console.error_palette,
        ));
    }
    if args.model {
        console.write(|out| write!(out, "{}", print_model(&loaded.model)))?;
        return Ok(Exit::Good);
    }
    let plan = shoal::plan(&loaded, &CheckOptions::default());
    let file = args.what.display().to_string();
    let view = ExplainView::of(&file, &loaded, &plan, &watch);
    console.write(|out| write_explain(out, &view, console.palette))?;
    Ok(Exit::Good)
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
