//! `shoal trace validate`: is what a running system has logged a behaviour of the model?

use shoal::{LogOptions, Validated, validate_log};
use shoal_report::{LogMap, Origin, plural, read_log, write_stuck, write_trace};

use crate::{
    args::{LimitArgs, ValidateArgs},
    exit::{CommandFailure, ExitKind},
    files::FileKind,
    output::{Console, write_to},
    progress::listen,
};

pub(crate) fn run(console: &Console, args: &ValidateArgs) -> Result<ExitKind, CommandFailure> {
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.model);
    let loaded = shoal::load(&args.model, &args.model_args.load_options(&watch))?;
    let map = match &args.map {
        Some(path) => LogMap::read(&shoal::read_text(path)?)
            .map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", path.display())))?,
        None => LogMap::default(),
    };
    let log = read_log(&loaded, &shoal::read_text(&args.log)?, &map)
        .map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", args.log.display())))?;
    let mut options = LogOptions::default();
    options.hidden.clone_from(&log.hidden);
    options.states = args.states;
    options.watch = watch;
    let found = validate_log(&loaded, &log.observations(), &options)?;
    let (trace, exit) = match &found {
        Validated::Behaviour(run) => {
            console.line(format_args!(
                "{}  {}: {}, a run of {}",
                console.palette.good("✓ behaviour"),
                args.log.display(),
                plural(log.events.len() as u64, "event", "events"),
                plural(run.trace.steps.len() as u64, "step", "steps"),
            ))?;
            (&run.trace, ExitKind::Good)
        }
        Validated::Stuck(stuck) => {
            console.show(|out| write_stuck(out, &loaded, &log, stuck, console.palette))?;
            (&stuck.run.trace, ExitKind::Violated)
        }
    };
    if let Some(path) = &args.trace {
        let origin = Origin::of(&loaded, &args.model.display().to_string());
        let text = write_trace(&loaded.model, &loaded.sources, &origin, trace, None);
        write_to(console, Some(path), FileKind::Trace, |out| out.write_all(text.as_bytes()))?;
    }
    Ok(exit)
}
