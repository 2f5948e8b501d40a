//! `shoal watch`: checks again whenever a file is saved.

use std::{
    fs,
    path::PathBuf,
    thread,
    time::{Duration, SystemTime},
};

use crate::{
    args::CheckArgs,
    check,
    exit::{CommandFailure, ExitKind},
    output::Console,
    progress::listen,
};

/// How often files are looked at. Editors save within less.
const EVERY: Duration = Duration::from_millis(200);

pub(crate) fn run(console: &Console, args: &CheckArgs) -> Result<ExitKind, CommandFailure> {
    let cancel = listen();
    let mut seen = Vec::new();
    while !cancel.is_cancelled() {
        let now = times(&args.files);
        if now != seen {
            seen = now;
            if let Err(failure) = check::run_under(console, args, &cancel) {
                failure.report(console);
            }
            if !cancel.is_cancelled() {
                console.line(console.palette.faint("— again when a file is saved; Ctrl-C ends it"))?;
            }
        }
        thread::sleep(EVERY);
    }
    Ok(ExitKind::Good)
}

/// When each file was written last; nothing while an editor has it away.
fn times(files: &[PathBuf]) -> Vec<Option<SystemTime>> {
    files.iter().map(|file| fs::metadata(file).and_then(|about| about.modified()).ok()).collect()
}
