//! `shoal explain`.

use shoal::{CheckOptions, model::print_model};
use shoal_report::{ExplainView, error_page, render_diagnostics, write_explain};

use crate::{
    args::{ExplainArgs, LimitArgs},
    exit::{CommandFailure, ExitKind},
    output::{self, Console},
    progress::listen,
    words::advise,
};

pub(crate) fn run(console: &Console, args: &ExplainArgs) -> Result<ExitKind, CommandFailure> {
    if let Some(code) = args.what.to_str().filter(|what| is_code(what)) {
        return explain_code(console, &code.to_ascii_uppercase());
    }
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.what);
    let loaded = shoal::load(&args.what, &args.model_args.load_options(&watch))?;
    if !loaded.diagnostics.is_empty() {
        let text = render_diagnostics(&loaded.sources, &loaded.diagnostics, advise, console.error_palette);
        output::complain_coloured(text, console.error_palette);
    }
    if args.model {
        console.write(|out| write!(out, "{}", print_model(&loaded.model)))?;
        return Ok(ExitKind::Good);
    }
    let plan = shoal::plan(&loaded, &CheckOptions::default());
    let file = args.what.display().to_string();
    let view = ExplainView::of(&file, &loaded, &plan, args.active, &watch);
    console.show(|out| write_explain(out, &view, console.palette))?;
    Ok(ExitKind::Good)
}

/// A letter and four digits.
fn is_code(what: &str) -> bool {
    let mut chars = what.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.clone().count() == 4
        && chars.all(|c| c.is_ascii_digit())
}

fn explain_code(console: &Console, code: &str) -> Result<ExitKind, CommandFailure> {
    match error_page(code) {
        Some(text) => {
            console.show(|out| writeln!(out, "{}", text.trim_end()))?;
            Ok(ExitKind::Good)
        }
        None => Err(CommandFailure::wrong(format_args!("there is no page about the code {code}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_a_letter_and_four_digits() {
        assert!(is_code("E0201") && !is_code("german.m") && !is_code("E021"));
    }
}
