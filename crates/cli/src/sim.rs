//! `shoal sim`: a random walk, or one by hand.

use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use shoal::{
    Loaded, Move, Simulation, Watch,
    model::{FaultKind, Model, PropertyId, PropertyKind, Reason, Violation},
};
use shoal_report::{Origin, StepText, changes, move_name, reason_in_words, write_step, write_trace};

use crate::{
    args::{LimitArgs, SimArgs},
    exit::{CommandFailure, ExitKind},
    files::FileKind,
    interactive,
    output::{self, Console, write_to},
    progress::listen,
};

/// Where what changed is written: steps come one by one, so the widest is not known.
pub(crate) const COLUMN: usize = 48;

pub(crate) fn run(console: &Console, args: &SimArgs) -> Result<ExitKind, CommandFailure> {
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.file);
    let loaded = crate::source::load(&args.file, &args.model.load_options(&watch))?;
    let seed = args.seed.unwrap_or_else(seed_from_time);
    let mut simulation = Simulation::new(&loaded.model, seed)?;
    let (exit, wrong) = match args.interactive {
        true => {
            let exit = interactive::run(console, &loaded, &mut simulation)?;
            (exit, simulation.findings(&loaded.asked))
        }
        false => walk(console, &loaded, &mut simulation, args, (seed, &watch))?,
    };
    if let Some(path) = &args.trace {
        save(console, &loaded, &simulation, args, path, wrong.first())?;
    }
    Ok(exit)
}

fn walk(
    console: &Console,
    loaded: &Loaded,
    simulation: &mut Simulation<'_>,
    args: &SimArgs,
    (seed, watch): (u64, &Watch),
) -> Result<(ExitKind, Vec<(PropertyId, Reason)>), CommandFailure> {
    let palette = console.palette;
    console.line(palette.strong(format_args!("{}: random walk, seed {seed}", args.file.display())))?;
    let mut wrong = Vec::new();
    // The start is not a step.
    for _ in 0..=args.steps {
        if watch.check().is_err() || console.is_closed() {
            break;
        }
        let before = simulation.state().cloned();
        // One step may take longer than there is time.
        let Ok(next) = shoal::under(watch, || simulation.step()) else { break };
        let Some(next) = next else {
            console.line("no rule is enabled: the walk ends here")?;
            break;
        };
        let number = simulation.trace().map_or(0, |trace| trace.steps.len());
        let step =
            step_text(&loaded.model, before.as_ref(), &next, number + usize::from(next.result.is_err()));
        console.show(|out| write_step(out, &step, COLUMN, palette))?;
        wrong = shoal::under(watch, || problems(loaded, simulation, &next)).unwrap_or_default();
        if !wrong.is_empty() {
            break;
        }
    }
    report(console, loaded, &wrong)?;
    match (wrong.is_empty(), watch.check()) {
        (false, _) => Ok((ExitKind::Violated, wrong)),
        (true, Err(reason)) => Err(shoal::Error::Stopped(reason).into()),
        (true, Ok(())) => Ok((ExitKind::Good, wrong)),
    }
}

/// What is wrong after a move: the move itself, or the state it led to.
pub(crate) fn problems(
    loaded: &Loaded,
    simulation: &Simulation<'_>,
    last: &Move,
) -> Vec<(PropertyId, Reason)> {
    match &last.result {
        Ok(_) => simulation.findings(&loaded.asked),
        Err(fault) => {
            let property = match fault.kind {
                FaultKind::Assertion(property) => Some(property),
                _ => loaded.asked.iter().copied().find(|id| is_no_faults(&loaded.model, *id)),
            };
            property
                .map(|property| (property, Reason::Fault(last.during(), fault.clone()).after(last.delay)))
                .into_iter()
                .collect()
        }
    }
}

fn is_no_faults(model: &Model, property: PropertyId) -> bool {
    model.properties[property].kind == PropertyKind::NoFaults
}

/// Says what is wrong, if anything is.
pub(crate) fn report(
    console: &Console,
    loaded: &Loaded,
    wrong: &[(PropertyId, Reason)],
) -> Result<(), CommandFailure> {
    for (property, reason) in wrong {
        let name = &loaded.model.properties[*property].name;
        let reason = reason_in_words(&loaded.model, &loaded.sources, reason);
        console.line(format_args!("{}  {name:?}: {reason}", console.palette.bad("✗ violated")))?;
    }
    Ok(())
}

/// A move as a line of a trace.
pub(crate) fn step_text(
    model: &Model,
    before: Option<&shoal::model::State>,
    next: &Move,
    number: usize,
) -> StepText {
    let changes = match (before, &next.result) {
        (Some(before), Ok(after)) => changes(model, before, after),
        _ => Vec::new(),
    };
    StepText {
        number,
        label: move_name(model, before, next),
        position: None,
        changes,
        output: next.output.clone(),
        shows: Vec::new(),
    }
}

/// Saves the walk, and with it what is wrong at its end, so that it can be replayed as any other violation.
fn save(
    console: &Console,
    loaded: &Loaded,
    simulation: &Simulation<'_>,
    args: &SimArgs,
    path: &Path,
    wrong: Option<&(PropertyId, Reason)>,
) -> Result<(), CommandFailure> {
    let Some(trace) = simulation.trace() else {
        output::complain("the walk did not reach a state: there is no trace to save");
        return Ok(());
    };
    let origin = Origin::of(loaded, &args.file.display().to_string());
    let violation = wrong.map(|(property, reason)| {
        let violation = Violation { reason: reason.clone(), trace: Some(trace.clone()) };
        (loaded.model.properties[*property].name.as_str(), violation)
    });
    let shown = violation.as_ref().map(|(property, violation)| (*property, violation));
    let text = write_trace(&loaded.model, &loaded.sources, &origin, trace, shown);
    write_to(console, Some(path), FileKind::Trace, |out| out.write_all(text.as_bytes()))
}

fn seed_from_time() -> u64 {
    // Six digits are enough for a walk to be another one, and can be typed again.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_micros() as u64 % 1_000_000
}
