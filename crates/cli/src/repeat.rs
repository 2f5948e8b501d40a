//! `shoal repeat`: does again what was written down.

use std::path::Path;

use clap::Parser;
use shoal_report::{RecordedRun, fnv, plural};

use crate::{
    args::{Args, Command},
    check,
    exit::{CommandFailure, ExitKind},
    output::Console,
    progress::listen,
};

/// Exit code 0 if everything comes out as it was, 1 if something does not, 2 if a file has changed since.
pub(crate) fn run(console: &Console, file: &Path) -> Result<ExitKind, CommandFailure> {
    let wrong = |error: String| CommandFailure::wrong(format_args!("{}: {error}", file.display()));
    let record = RecordedRun::read(&shoal::read_text(file)?).map_err(wrong)?;
    for (name, print) in &record.files {
        if fnv(&shoal::read_text(name)?) != *print {
            return Err(wrong(format!("{name} has changed since the run was written down")));
        }
    }
    let words = std::iter::once("shoal").chain(record.arguments.iter().map(String::as_str));
    let args = Args::try_parse_from(words)
        .map_err(|error| wrong(format!("the arguments are not understood: {error}")))?;
    let Command::Check(mut args) = args.command else {
        return Err(wrong("what was written down is no check".into()));
    };
    // What it wrote besides is there already.
    (args.record, args.junit, args.sarif, args.html) = (None, None, None, None);
    args.page = Default::default();
    (args.certificate, args.trace) = (None, Some("none".into()));
    let now = check::recorded(console, &args, &listen())?;
    if now.version != record.version {
        console
            .line(format_args!("written down by Shoal {}, done again by {}", record.version, now.version))?;
    }
    let differences = record.differences(&now);
    for difference in &differences {
        console.line(format_args!("{}  {difference}", console.palette.bad("✗ otherwise")))?;
    }
    if !differences.is_empty() {
        return Ok(ExitKind::Violated);
    }
    let verdicts = plural(record.results.len() as u64, "verdict", "verdicts");
    console.line(format_args!("{}  {verdicts}, as they were", console.palette.good("✓ the same")))?;
    Ok(ExitKind::Good)
}
