//! `shoal refine`.

use shoal::{LoadOptions, Refined, model::StopReason};
use shoal_report::{grouped, offence_in_words, refined_event, write_offence};

use crate::{
    args::{LimitArgs, RefineArgs},
    exit::{CommandFailure, ExitKind},
    output::Console,
    progress::{ProgressWatcher, listen},
};

/// Decides whether a program refines a specification. Exit code 0 if it does, 1 if not.
pub(crate) fn run(console: &Console, args: &RefineArgs) -> Result<ExitKind, CommandFailure> {
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.program);
    let options = LoadOptions { init: args.init.clone(), watch: watch.clone(), ..LoadOptions::default() };
    let (program, spec) = shoal::load_refinement(&args.program, &args.spec, &options)?;
    let (file, other) = (args.program.display().to_string(), args.spec.display().to_string());
    let refined = {
        let mut watcher = ProgressWatcher::new(watch.memory(), false);
        if args.json {
            watcher = watcher.with_events(console, &file);
        }
        let refined = shoal::refine(&program, &spec, &watch, &mut watcher);
        watcher.finish();
        refined?
    };
    let palette = console.palette;
    let (verdict, exit, note, offence) = match &refined {
        Refined::Yes(situations) => {
            let note = format!("{} situations, among other threads like it", grouped(*situations));
            ("holds", ExitKind::Good, note, None)
        }
        Refined::No(offence) => {
            let note = offence_in_words(&program.model, offence);
            ("violated", ExitKind::Violated, note, Some(offence))
        }
        Refined::Unknown(reason) => {
            let interrupted = matches!(reason, StopReason::Interrupted);
            let exit = if interrupted { ExitKind::Interrupted } else { ExitKind::Inconclusive };
            ("unknown", exit, reason.to_string(), None)
        }
    };
    if args.json {
        let offence = offence.map(|offence| (&program.model, &program.sources, &**offence));
        console.line(refined_event((&file, &other), verdict, &note, offence, exit.code()))?;
        return Ok(exit);
    }
    match exit {
        ExitKind::Good => {
            console.line(format_args!("{}  {file} refines {other}", palette.good("✓ holds")))?
        }
        ExitKind::Violated => {
            console.line(format_args!("{}  {file} does not refine {other}", palette.bad("✗ violated")))?;
        }
        _ => console.line(format_args!("{}  whether {file} refines {other}", palette.doubt("? unknown")))?,
    }
    match offence {
        Some(offence) => {
            console.show(|out| write_offence(out, &program.model, &program.sources, offence, palette))?;
        }
        None => console.line(format_args!("  {note}"))?,
    }
    Ok(exit)
}
