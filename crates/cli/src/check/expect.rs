//! `shoal check --expect`: is what the comments of a model say found out about it?

use std::path::Path;

use shoal::{Cancel, Expectation, Sources, expectations, unmet};

use super::check_options;
use crate::{
    args::CheckArgs,
    exit::{CommandFailure, ExitKind},
    output::Console,
};

pub(super) fn run(console: &Console, args: &CheckArgs, cancel: &Cancel) -> Result<ExitKind, CommandFailure> {
    let mut exit = ExitKind::Good;
    for file in &args.files {
        exit = exit.worse(file_as_expected(console, args, cancel, file)?);
    }
    Ok(if cancel.is_cancelled() { exit.worse(ExitKind::Interrupted) } else { exit })
}

fn file_as_expected(
    console: &Console,
    args: &CheckArgs,
    cancel: &Cancel,
    file: &Path,
) -> Result<ExitKind, CommandFailure> {
    let sources = Sources::file(file)?;
    let name = file.display();
    let expected = expectations(sources.main())
        .map_err(|error| CommandFailure::wrong(format_args!("{name}: {error}")))?;
    if expected.is_empty() {
        return Err(CommandFailure::wrong(format_args!(
            "{name}: no comment says what is expected, such as `shoal: verdict=holds`"
        )));
    }
    let mut exit = ExitKind::Good;
    for expectation in &expected {
        if cancel.is_cancelled() {
            break;
        }
        let watch = args.limits.watch_to(args.depth, cancel);
        let load = args.model.load_options(&watch);
        let unmet = unmet(&sources, expectation, &load, &check_options(args, &watch))?;
        exit = exit.worse(tell(console, args, file, expectation, &unmet)?);
    }
    Ok(exit)
}

fn tell(
    console: &Console,
    args: &CheckArgs,
    file: &Path,
    expectation: &Expectation,
    unmet: &[String],
) -> Result<ExitKind, CommandFailure> {
    let (name, line) = (file.display(), expectation.line);
    if unmet.is_empty() {
        if !args.quiet {
            console.line(format_args!(
                "{}  {name}:{line}: {expectation}",
                console.palette.good("✓ as expected")
            ))?;
        }
        return Ok(ExitKind::Good);
    }
    console.line(format_args!(
        "{}  {name}:{line}: expected {expectation}; {}",
        console.palette.bad("✗ otherwise"),
        unmet.join("; ")
    ))?;
    Ok(ExitKind::Violated)
}
