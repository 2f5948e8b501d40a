//! `shoal check --cover-set`: everything that can be covered.

use shoal::{Loaded, Watch, model::StopReason};
use shoal_report::{cover_set_event, write_cover_set};

use crate::{
    args::CheckArgs,
    exit::{CommandFailure, ExitKind},
    output::Console,
    progress::ProgressWatcher,
};

/// Prints the minimal coverability set of a model.
pub(crate) fn show(
    console: &Console,
    args: &CheckArgs,
    file: &str,
    loaded: &Loaded,
    watch: &Watch,
) -> Result<ExitKind, CommandFailure> {
    let mut watcher = ProgressWatcher::new(watch.memory(), args.quiet);
    if args.json {
        watcher = watcher.with_events(console, file);
    }
    let found = shoal::cover_set(loaded, watch, &mut watcher);
    watcher.finish();
    match found? {
        Ok(set) => {
            match args.json {
                true => console.line(cover_set_event(file, &set))?,
                false => console.show(|out| write_cover_set(out, &set, console.palette))?,
            }
            Ok(ExitKind::Good)
        }
        Err(reason) => {
            let unknown = console.palette.doubt("? unknown");
            if !args.json {
                console.line(format_args!("{unknown}  everything that can be covered: {reason}"))?;
            }
            let interrupted = matches!(reason, StopReason::Interrupted);
            Ok(if interrupted { ExitKind::Interrupted } else { ExitKind::Inconclusive })
        }
    }
}
