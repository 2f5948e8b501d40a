//! `shoal trace`.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use shoal::{Difference, LoadOptions, Loaded, Replayed, Told, Violation, model::PropertyId, syntax::escaped};
use shoal_report::{
    LabelledGraph, LanesRoom, LoneTrace, Origin, PageHead, Palette, SavedTrace, StepText, StoryDetail,
    ViolationPage, changes, plural, read_trace, saved_steps, steps_as_json, why_violated, write_dot,
    write_lanes, write_loop, write_mermaid, write_page, write_plantuml, write_states, write_steps,
    write_table, write_trace, write_violation_page,
};

use crate::{
    args::{LimitArgs, PageArgs, PictureArgs, TraceArgs, TraceCommand, TraceFormat, TraceView},
    exit::{CommandFailure, ExitKind},
    files::FileKind,
    output::{self, Console, write_to},
    pages,
    progress::listen,
};

pub(crate) fn run(console: &Console, args: &TraceArgs) -> Result<ExitKind, CommandFailure> {
    match &args.command {
        TraceCommand::Show { file, picture: PictureArgs { html: Some(page), page: args, .. }, .. } => {
            show_page(console, file, page, *args)
        }
        TraceCommand::Show { file, picture, .. } if picture.how == TraceView::Lanes => {
            show_lanes(console, file, picture)
        }
        TraceCommand::Show { file, picture, .. } if picture.how == TraceView::Table => {
            let width = picture.width.unwrap_or_else(output::width);
            let trace = read(file)?;
            console.write(|out| {
                writeln!(out, "{}\n", console.palette.strong(title(file, &trace)))?;
                write_table(out, &trace, width, console.palette)
            })?;
            Ok(ExitKind::Good)
        }
        TraceCommand::Minimise { file, output, limits } => minimise(console, file, output.as_deref(), limits),
        TraceCommand::Show { file, positions, full, .. } => show(console, file, *positions, *full),
        TraceCommand::Replay { file, model } => replay(console, file, model.as_deref()),
        TraceCommand::Validate(args) => crate::validate::run(console, args),
        TraceCommand::Convert { file, to, output } => convert(console, file, *to, output.as_deref()),
    }
}

fn read(file: &Path) -> Result<SavedTrace, CommandFailure> {
    let text = shoal::read_text(file)?;
    read_trace(&text).map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", file.display())))
}

fn show(console: &Console, file: &Path, positions: bool, full: bool) -> Result<ExitKind, CommandFailure> {
    let trace = read(file)?;
    let palette = console.palette;
    console.show(|out| {
        writeln!(out, "{}", palette.strong(title(file, &trace)))?;
        write_said(out, &trace, palette)?;
        writeln!(out)?;
        let mut steps = saved_steps(&trace);
        if !positions {
            steps.iter_mut().for_each(|step| step.position = None);
        }
        match full {
            true => write_states(out, &trace, &steps, palette)?,
            false => write_steps(out, &steps, palette)?,
        }
        write_loop(out, trace.loops_to(), trace.len(), palette)
    })?;
    Ok(ExitKind::Good)
}

/// Who does what.
fn show_lanes(console: &Console, file: &Path, picture: &PictureArgs) -> Result<ExitKind, CommandFailure> {
    let trace = read(file)?;
    let known = story_of(file, &trace)?;
    let (palette, told) = (console.palette, &known.told);
    let level = StoryDetail::of(picture.level).unwrap_or(StoryDetail::Folded);
    let width = picture.width.unwrap_or_else(output::width);
    let names: Vec<&str> = told.story.lanes.iter().map(|lane| lane.name.as_str()).collect();
    if let Some(strange) = picture.lanes.iter().find(|lane| !names.contains(&lane.as_str())) {
        let message = format!("there is no lane {strange}; there are {}", names.join(", "));
        return Err(CommandFailure::wrong(message));
    }
    console.write(|out| {
        let above = above_lanes(file, &trace, &known, palette)?;
        out.write_all(&above)?;
        let above = above.iter().filter(|byte| **byte == b'\n').count();
        let room = LanesRoom { width, above, lanes: &picture.lanes };
        write_lanes(out, &told.model, &told.story, level, room, palette)
    })?;
    Ok(ExitKind::Good)
}

/// What a trace is, and what is wrong at its end.
fn above_lanes(
    file: &Path,
    trace: &SavedTrace,
    known: &LoadedTrace,
    palette: Palette,
) -> io::Result<Vec<u8>> {
    let LoadedTrace { loaded, told, wrong } = known;
    let mut out = Vec::new();
    writeln!(out, "{}", palette.strong(title(file, trace)))?;
    match wrong {
        Some((property, violation)) => {
            writeln!(out, "{}  {}", palette.bad("✗ violated"), told.model.properties[*property].title())?;
            let why = why_violated(&told.model, &loaded.sources, *property, violation, &told.causes);
            // That an assertion fails is said by where it stands.
            for (name, text) in why.into_iter().filter(|(name, _)| *name != "error" || told.causes.is_empty())
            {
                writeln!(out, "  {}  {text}", palette.faint(format!("{name:<9}")))?;
            }
        }
        None => write_said(&mut out, trace, palette)?,
    }
    writeln!(out)?;
    Ok(out)
}

/// What the file says that the trace shows.
fn write_said(out: &mut dyn io::Write, trace: &SavedTrace, palette: Palette) -> io::Result<()> {
    let violated = palette.bad("✗ violated");
    match (trace.property().unwrap_or_default(), trace.reason()) {
        (property, Some(reason)) => writeln!(out, "{violated}  {property:?}: {reason}"),
        ("", None) if trace.is_violation() => writeln!(out, "{violated}  as the file says"),
        (property, None) if trace.is_violation() => writeln!(out, "{violated}  {property:?}"),
        _ => Ok(()),
    }
}

/// A saved trace with its model, or with what stands for that where there is none.
struct LoadedTrace {
    loaded: Loaded,
    told: Told,
    /// What it shows, if it shows anything.
    wrong: Option<(PropertyId, Violation)>,
}

/// One page that a browser opens.
fn show_page(
    console: &Console,
    file: &Path,
    page: &Path,
    args: PageArgs,
) -> Result<ExitKind, CommandFailure> {
    let saved = read(file)?;
    let LoadedTrace { loaded, told, wrong } = story_of(file, &saved)?;
    let options = &pages::options(args);
    let name = &loaded.model.name;
    let Some((property, violation)) = wrong else {
        let why: Vec<(&'static str, String)> =
            saved.reason().map(|reason| ("because", reason.to_string())).into_iter().collect();
        let head = PageHead {
            file: name,
            violated: saved.is_violation().then(|| saved.property().unwrap_or_default()),
            why: &why,
            replayed: has_model(file, &saved).is_some(),
            command: &format!("shoal trace show {} --as lanes", file.display()),
            marked: &[],
            options,
        };
        write_to(console, Some(page), FileKind::Page, |out| {
            write_page(out, &told.model, &loaded.sources, &told.story, &head)
        })?;
        return Ok(ExitKind::Good);
    };
    let command = &format!("shoal trace replay {}", file.display());
    let page_of = ViolationPage { file: name, property, violation: &violation, command, options };
    write_to(console, Some(page), FileKind::Page, |out| write_violation_page(out, &page_of, &loaded, &told))?;
    Ok(ExitKind::Good)
}

/// Where the model of a trace is, if the trace can be run again and the model is there.
fn has_model(file: &Path, saved: &SavedTrace) -> Option<PathBuf> {
    let source = saved.source().filter(|_| saved.is_ours())?;
    Some(find_model(file, source)).filter(|path| path.exists())
}

/// The story of a saved trace: with its model, or from the file alone.
fn story_of(file: &Path, saved: &SavedTrace) -> Result<LoadedTrace, CommandFailure> {
    if let Some(model) = has_model(file, saved) {
        return story_with(file, saved, &model);
    }
    let source = saved.source().map(Path::new).unwrap_or(file);
    let name = source.file_name().unwrap_or_default().to_string_lossy();
    let lone = saved.told_alone(name.trim_end_matches(".itf.json"));
    let LoneTrace { loaded, told, .. } =
        lone.map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", file.display())))?;
    Ok(LoadedTrace { loaded, told, wrong: None })
}

/// The story of a saved trace, and the model that it is a run of.
fn story_with(file: &Path, saved: &SavedTrace, model: &Path) -> Result<LoadedTrace, CommandFailure> {
    let wrong = |error: String| CommandFailure::wrong(format_args!("{}: {error}", file.display()));
    let loaded = shoal::load(model, &load_options(&saved.origin())?)?;
    let does_not_fit = |error: String| wrong(format!("the trace does not fit the model: {error}"));
    let violation = saved.violation(&loaded.model).map_err(|error| does_not_fit(error.to_string()))?;
    let named = |property: &str| {
        loaded.model.properties.enumerate().find(|(_, known)| known.name == property).map(|(id, _)| id)
    };
    let shows = saved.property().and_then(named).zip(violation);
    let told = match &shows {
        Some((property, violation)) => shoal::tell(&loaded, *property, violation),
        None => {
            let trace = saved.decode(&loaded.model).map_err(|error| does_not_fit(error.to_string()))?;
            shoal::replay(&loaded, &trace).map_err(does_not_fit)?;
            shoal::tell_walk(&loaded, &trace)
        }
    };
    let told = told.ok_or_else(|| wrong("there is no run to tell".into()))?;
    Ok(LoadedTrace { loaded, told, wrong: shows })
}

fn title(file: &Path, trace: &SavedTrace) -> String {
    let steps = plural(trace.len() as u64, "step", "steps");
    let of = trace.source().map(|source| format!(" of {}", escaped(source))).unwrap_or_default();
    format!("{}: {steps}{of}", file.display())
}

fn replay(console: &Console, file: &Path, model: Option<&Path>) -> Result<ExitKind, CommandFailure> {
    let saved = read(file)?;
    let wrong = |error: String| CommandFailure::wrong(format_args!("{}: {error}", file.display()));
    let path = match (model, saved.source()) {
        (Some(model), _) => model.to_path_buf(),
        (None, Some(source)) => find_model(file, source),
        (None, None) => {
            return Err(wrong("the trace does not name its model; give it as a second argument".into()));
        }
    };
    let loaded = shoal::load(&path, &load_options(&saved.origin())?)?;
    let does_not_fit = |error: String| wrong(format!("the trace does not fit the model: {error}"));
    let violation = saved.violation(&loaded.model).map_err(|error| does_not_fit(error.to_string()))?;
    let (Some(violation), Some(property)) = (violation, saved.property()) else {
        return replay_walk(console, file, &loaded, &saved);
    };
    let steps = plural(saved.len() as u64, "step", "steps");
    let property_name = escaped(property);
    match shoal::replay_violation(&loaded, property, &violation) {
        Replayed::Violated => {
            let reason = escaped(saved.reason().unwrap_or_default());
            let verdict = console.palette.bad("✗ violated").to_string();
            console.line(format_args!(
                "{verdict}  {property_name:?} after {steps}, as the trace says: {reason}"
            ))?;
            Ok(ExitKind::Violated)
        }
        Replayed::ViolatedOtherwise(how) => {
            let verdict = console.palette.bad("✗ violated").to_string();
            console.line(format_args!(
                "{verdict}  {property_name:?}, in another way than the trace says: {how}"
            ))?;
            Ok(ExitKind::Violated)
        }
        Replayed::Differs(difference) => {
            let verdict = console.palette.good("✓ no longer violated").to_string();
            console.line(format_args!("{verdict}  {property_name:?}: {}", difference.words))?;
            show_difference(console, &loaded, &difference)?;
            Ok(ExitKind::Good)
        }
        Replayed::Unsettled(why) => {
            let verdict = console.palette.doubt("? unknown").to_string();
            console.line(format_args!("{verdict}  {property_name:?}: {why}"))?;
            Ok(ExitKind::Inconclusive)
        }
        Replayed::DoesNotFit(why) => Err(does_not_fit(why)),
    }
}

/// Leaves steps out and saves what is left.
fn minimise(
    console: &Console,
    file: &Path,
    output: Option<&Path>,
    limits: &LimitArgs,
) -> Result<ExitKind, CommandFailure> {
    let saved = read(file)?;
    let Some(model) = has_model(file, &saved) else {
        return Err(CommandFailure::wrong(format_args!("{}: its model is not here", file.display())));
    };
    let LoadedTrace { loaded, wrong, .. } = story_with(file, &saved, &model)?;
    let Some((property, violation)) = wrong else {
        return Err(CommandFailure::wrong(format_args!("{}: the trace shows no violation", file.display())));
    };
    let watch = limits.watch(&listen());
    let shorter = shoal::minimise(&loaded, property, &violation, &watch)?;
    let Some(trace) = &shorter.trace else {
        return Err(CommandFailure::wrong(format_args!("{}: there is no run", file.display())));
    };
    let name = &loaded.model.properties[property].name;
    let text = write_trace(&loaded.model, &loaded.sources, &saved.origin(), trace, Some((name, &shorter)));
    let beside = || {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        file.with_file_name(format!("{}.min.itf.json", name.trim_end_matches(".itf.json")))
    };
    let path = output.map_or_else(beside, Path::to_path_buf);
    write_to(console, Some(&path), FileKind::Trace, |out| out.write_all(text.as_bytes()))?;
    let steps = plural(trace.steps.len() as u64, "step", "steps");
    console.line(format_args!("{} of {}: shoal trace show {}", steps, saved.len(), path.display()))?;
    Ok(ExitKind::Good)
}

/// Runs a walk again that shows no violation: it happens, or it does not fit the model.
fn replay_walk(
    console: &Console,
    file: &Path,
    loaded: &Loaded,
    saved: &SavedTrace,
) -> Result<ExitKind, CommandFailure> {
    let wrong = |error: String| {
        CommandFailure::wrong(format_args!("{}: the trace does not fit the model: {error}", file.display()))
    };
    let trace = saved.decode(&loaded.model).map_err(|error| wrong(error.to_string()))?;
    shoal::replay(loaded, &trace).map_err(wrong)?;
    let steps = plural(saved.len() as u64, "step", "steps");
    console.line(format_args!("{}  {steps}", console.palette.good("✓ replayed")))?;
    Ok(ExitKind::Good)
}

/// What a step changes now and what the trace says it changes.
fn show_difference(
    console: &Console,
    loaded: &Loaded,
    difference: &Difference,
) -> Result<(), CommandFailure> {
    let Some((saved, found)) = &difference.states else { return Ok(()) };
    for change in changes(&loaded.model, saved, found) {
        console.line(format_args!("    in the trace → now  {change}"))?;
    }
    Ok(())
}

/// The model as it was named, or next to the trace.
pub(crate) fn find_model(trace: &Path, source: &str) -> PathBuf {
    let named = PathBuf::from(source);
    let beside = trace.parent().zip(named.file_name()).map(|(folder, name)| folder.join(name));
    match beside {
        Some(beside) if !named.exists() && beside.exists() => beside,
        _ => named,
    }
}

/// The options that the trace was made with.
pub(crate) fn load_options(origin: &Origin) -> Result<LoadOptions, CommandFailure> {
    LoadOptions::restored(origin.set.clone(), &origin.options).map_err(CommandFailure::Wrong)
}

fn convert(
    console: &Console,
    file: &Path,
    to: TraceFormat,
    output: Option<&Path>,
) -> Result<ExitKind, CommandFailure> {
    let trace = read(file)?;
    let steps = saved_steps(&trace);
    let kind = match to {
        TraceFormat::Text | TraceFormat::Json => FileKind::Text,
        TraceFormat::Dot => FileKind::Dot,
        TraceFormat::Mermaid | TraceFormat::Plantuml => {
            let Told { model, story, .. } = story_of(file, &trace)?.told;
            write_to(console, output, FileKind::Text, |out| match to {
                TraceFormat::Mermaid => write_mermaid(out, &model, &story, StoryDetail::Folded),
                _ => write_plantuml(out, &model, &story, StoryDetail::Folded),
            })?;
            return Ok(ExitKind::Good);
        }
    };
    write_to(console, output, kind, |out| match to {
        TraceFormat::Text => {
            write_steps(out, &steps, Palette::plain())?;
            write_loop(out, trace.loops_to(), trace.len(), Palette::plain())
        }
        TraceFormat::Json => writeln!(out, "{:#}", steps_as_json(&steps)),
        TraceFormat::Dot | TraceFormat::Mermaid | TraceFormat::Plantuml => {
            write_dot(out, &as_graph(file, &steps, trace.loops_to()))
        }
    })?;
    Ok(ExitKind::Good)
}

/// A path of nodes, each with what the step to it changed; an infinite run leads back.
fn as_graph(file: &Path, steps: &[StepText], loops_to: Option<usize>) -> LabelledGraph {
    let edge = |step: &StepText| (step.number - 1, step.label.clone(), step.number);
    let back = loops_to.map(|to| (steps.len() - 1, "and so on".to_string(), to));
    let node = |step: &StepText| {
        let changes: Vec<String> = step.changes.iter().map(ToString::to_string).collect();
        format!("{}\n{}", step.number, changes.join("\n")).trim_end().to_string()
    };
    LabelledGraph {
        name: file.display().to_string(),
        nodes: steps.iter().map(node).collect(),
        starts: vec![0],
        edges: steps.iter().skip(1).map(edge).chain(back).collect(),
    }
}
