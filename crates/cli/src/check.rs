//! `shoal check`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use shoal::{
    Cancel, CheckOptions, Engine, Event, Evidence, Loaded, Observer, Report, Saving, Session, Status, Watch,
    model::{PropertyResult, StopReason, Verdict},
    syntax::{Diagnostics, SourceMap},
};
use shoal_report::{
    RecordedRun, Run, Saved, Suite, coverage_event, diagnostic_event, error_event, finished_event,
    profile_event, render_diagnostics, started_event, verdict_event, violation_trace, write_certified,
    write_junit, write_profile, write_run, write_sarif, write_verdicts,
};

mod expect;

use crate::{
    args::{AcceptChoice, CheckArgs, EngineChoice, SymmetryChoice, TraceView},
    cluster, cover_set,
    exit::{CommandFailure, ExitKind},
    files::{self, FileKind},
    guard::{LimitGuard, SoFar},
    output::{self, Console, write_to},
    pages,
    progress::{ProgressWatcher, listen},
    source,
    words::advise,
};

pub(crate) fn run(console: &Console, args: &CheckArgs) -> Result<ExitKind, CommandFailure> {
    run_under(console, args, &listen())
}

/// Checks until somebody wants it to end.
pub(crate) fn run_under(
    console: &Console,
    args: &CheckArgs,
    cancel: &Cancel,
) -> Result<ExitKind, CommandFailure> {
    if args.files.len() > 1 && (args.checkpoint.is_some() || args.resume.is_some()) {
        return Err(CommandFailure::wrong("--checkpoint and --resume are for one model at a time"));
    }
    if args.files.len() > 1 && args.hosts.process.is_some() {
        return Err(CommandFailure::wrong("--hosts is for one model at a time"));
    }
    if args.show == TraceView::Table {
        return Err(CommandFailure::wrong(
            "a table is made of a saved trace: shoal trace show FILE --as table",
        ));
    }
    if args.expect {
        return expect::run(console, args, cancel);
    }
    let mut call = CheckCall::new(console, args, cancel);
    let files = call.check_files()?;
    if let Some(path) = &args.record {
        let text = record(args, &files).write();
        write_to(console, Some(path), FileKind::Run, |out| out.write_all(text.as_bytes()))?;
    }
    let mut exit = files.iter().fold(ExitKind::Good, |exit, file| exit.worse(file.exit));
    if call.cancel.is_cancelled() {
        exit = exit.worse(ExitKind::Interrupted);
    }
    call.summarise(&files, exit)?;
    Ok(exit)
}

/// Checks, and says what was asked and found out.
pub(crate) fn recorded(
    console: &Console,
    args: &CheckArgs,
    cancel: &Cancel,
) -> Result<RecordedRun, CommandFailure> {
    let mut call = CheckCall::new(console, args, cancel);
    let files = call.check_files()?;
    Ok(record(args, &files))
}

/// What was asked, with what was left open, and what was found out.
fn record(args: &CheckArgs, files: &[CheckedFile]) -> RecordedRun {
    let mut arguments = args.typed.clone();
    let options = check_options(args, &Watch::default());
    if args.threads.is_none() {
        arguments.push(format!("--threads={}", options.threads));
    }
    if args.limits.memory.is_none() {
        arguments.extend(shoal::default_memory_limit().map(|bytes| format!("--memory={bytes}")));
    }
    let runs: Vec<Run<'_>> =
        files.iter().filter_map(|file| file.checked.as_ref().map(|answer| answer.run(&file.file))).collect();
    RecordedRun::of(arguments, &runs)
}

/// One call of the command.
struct CheckCall<'a> {
    console: &'a Console,
    args: &'a CheckArgs,
    cancel: Cancel,
    saving: Saving,
    /// How many traces have been saved for each name of a model.
    numbers: HashMap<String, usize>,
    /// What is known of the file that is checked.
    known: Arc<Mutex<Vec<KnownVerdict>>>,
}

/// A property that is decided while others are not.
struct KnownVerdict {
    holds: bool,
    title: String,
}

/// A file that was checked, or could not be.
struct CheckedFile {
    file: String,
    time: Duration,
    exit: ExitKind,
    checked: Option<CheckAnswer>,
    failure: Option<CommandFailure>,
}

struct CheckAnswer {
    session: Session,
    report: Report,
    diagnostics: Diagnostics,
    saved: Saved,
    /// Why not all that was to be saved is; the verdicts stand.
    unsaved: Option<CommandFailure>,
}

impl CheckAnswer {
    fn run<'a>(&'a self, file: &'a str) -> Run<'a> {
        Run::new(self.session.loaded(), &self.report).named(file).saved(&self.saved).in_words(advise)
    }
}

impl<'a> CheckCall<'a> {
    fn new(console: &'a Console, args: &'a CheckArgs, cancel: &Cancel) -> CheckCall<'a> {
        let (saving, numbers, known) = (Saving::default(), HashMap::new(), Arc::default());
        CheckCall { console, args, cancel: cancel.clone(), saving, numbers, known }
    }

    fn check_files(&mut self) -> Result<Vec<CheckedFile>, CommandFailure> {
        let mut files = Vec::new();
        for path in &self.args.files {
            if self.cancel.is_cancelled() {
                break;
            }
            files.push(self.check_file(path)?);
        }
        Ok(files)
    }

    fn check_file(&mut self, path: &Path) -> Result<CheckedFile, CommandFailure> {
        let file = shoal::syntax::escaped(&path.display().to_string()).into_owned();
        let watch = self.args.limits.watch_to(self.args.depth, &self.cancel);
        let _guard = self.guard(&watch, &file);
        let answer = match self.decide(path, &file, &watch) {
            Ok(answer) => answer,
            Err(failure) => return self.failed(file, watch.elapsed(), failure),
        };
        let exit = match answer.report.status() {
            Status::Holds => ExitKind::Good,
            Status::Violated if was_interrupted(&answer.report) => ExitKind::Interrupted,
            Status::Violated => ExitKind::Violated,
            Status::Unknown if self.accepts(&answer.report) => ExitKind::Good,
            Status::Unknown => ExitKind::Inconclusive,
            Status::Interrupted => ExitKind::Interrupted,
            Status::Internal => ExitKind::Internal,
        };
        let mut checked =
            CheckedFile { file, time: watch.elapsed(), exit, checked: Some(answer), failure: None };
        if self.args.hosts.follows() {
            // The first process tells.
            return Ok(checked);
        }
        self.show(&checked)?;
        if let Some(failure) = checked.checked.as_mut().and_then(|answer| answer.unsaved.take()) {
            failure.report(self.console);
            checked.exit = checked.exit.worse(failure.exit());
        }
        if let (Some(folder), Some(answer)) = (&self.args.html, &checked.checked) {
            let run = answer.run(&checked.file);
            pages::save(
                folder,
                &checked.file,
                answer.session.loaded(),
                &answer.report,
                &run,
                self.args.page,
            )?;
        }
        if self.args.cover_set
            && let Some(answer) = &checked.checked
        {
            let loaded = answer.session.loaded();
            let found = cover_set::show(self.console, self.args, &checked.file, loaded, &watch);
            match found {
                Ok(exit) => checked.exit = checked.exit.worse(exit),
                Err(failure) => {
                    failure.report(self.console);
                    checked.exit = checked.exit.worse(failure.exit());
                }
            }
        }
        Ok(checked)
    }

    /// Whether all that is not known is so for a reason that the user accepts: a state may have been missed.
    fn accepts(&self, report: &Report) -> bool {
        let fine = |verdict: &Verdict| match verdict {
            Verdict::Holds => true,
            Verdict::Unknown(StopReason::Omission(_)) => {
                self.args.accept == Some(AcceptChoice::Probabilistic)
            }
            Verdict::Unknown(_) | Verdict::Violated(_) => false,
        };
        !report.outcome.results.is_empty()
            && report.outcome.results.iter().all(|result| fine(&result.verdict))
    }

    /// What is said should the work not end when it has to.
    fn guard(&self, watch: &Watch, file: &str) -> LimitGuard {
        let (file, json, junit) = (file.to_string(), self.args.json, self.args.junit.clone());
        let (watch_time, known) = (watch.clone(), self.known.clone());
        LimitGuard::of(watch, &self.saving, move |reason| {
            let known = std::mem::take(&mut *known.lock().unwrap_or_else(PoisonError::into_inner));
            let said =
                |it: &KnownVerdict| format!("{} {}", if it.holds { "holds" } else { "violated" }, it.title);
            let message = match known.is_empty() {
                true => format!("nothing is decided: {reason}"),
                false if json => {
                    let said: Vec<String> = known.iter().map(said).collect();
                    format!("not all is decided: {reason}; before that: {}", said.join(", "))
                }
                false => format!("not all is decided: {reason}"),
            };
            let suite = Suite {
                file: &file,
                run: None,
                error: Some(&message),
                diagnostics: None,
                time: watch_time.elapsed(),
                words: advise,
            };
            let mut text = Vec::new();
            if let Some(path) = junit.filter(|_| write_junit(&mut text, std::slice::from_ref(&suite)).is_ok())
            {
                // The exit code says it all the same.
                let _ = files::save(&path, FileKind::Junit, |out| out.write_all(&text));
            }
            let so_far = if known.iter().all(|it| it.holds) { SoFar::NotViolated } else { SoFar::Violated };
            let exit = so_far.exit(reason).code();
            match json {
                true => {
                    println!("{}\n{}", error_event(Some(&file), &message), finished_event(&[suite], exit))
                }
                false => {
                    for KnownVerdict { holds, title } in &known {
                        println!("{}  {title}", if *holds { "✓ holds   " } else { "✗ violated" });
                    }
                    println!("? unknown   {file}: {message}");
                }
            }
            so_far
        })
    }

    fn decide(&mut self, path: &Path, file: &str, watch: &Watch) -> Result<CheckAnswer, CommandFailure> {
        let session = Session::of(source::load(path, &self.args.model.load_options(watch))?);
        let loaded = session.loaded();
        let mut options = self.check_options(watch);
        cluster::find(self.args, loaded, &mut options)?;
        let plan = session.plan(&options)?;
        let mut diagnostics = loaded.diagnostics.clone();
        diagnostics.extend(plan.warnings.clone());
        if self.args.json {
            self.console.line(started_event(file, loaded, &plan))?;
        }
        self.warn(loaded, &diagnostics, file)?;
        let mut watcher = ProgressWatcher::new(watch.memory(), self.args.quiet || self.args.hosts.follows());
        if self.args.json {
            watcher = watcher.with_events(self.console, file);
        }
        let known = self.known.clone();
        known.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let mut show = |event: Event| match event {
            Event::Progress(progress) => watcher.progress(&progress),
            Event::Verdict(decided) => {
                let title = loaded.model.properties[decided.property].title();
                let holds = match decided.verdict {
                    Verdict::Holds => true,
                    Verdict::Violated(_) => false,
                    Verdict::Unknown(_) => return,
                };
                known.lock().unwrap_or_else(PoisonError::into_inner).push(KnownVerdict { holds, title });
            }
            _ => {}
        };
        let report = session.run_as_planned(plan, &options, &mut show);
        watcher.finish();
        let report = report?;
        let found = shoal::asymmetry_warnings(loaded, &report.outcome.statistics.asymmetries);
        self.warn(loaded, &found, file)?;
        diagnostics.extend(found);
        if let Some(problem) = &report.unsaved {
            output::complain(format!("warning: the search could not be saved: {problem}"));
        }
        let mut answer = CheckAnswer { session, report, diagnostics, saved: Saved::default(), unsaved: None };
        if self.args.hosts.follows() {
            return Ok(answer);
        }
        self.save_traces(&mut answer, file);
        answer.unsaved = self.save_certificates(&mut answer, file).err();
        Ok(answer)
    }

    fn check_options(&self, watch: &Watch) -> CheckOptions {
        let mut options = check_options(self.args, watch);
        options.checkpoints.saving.clone_from(&self.saving);
        options
    }

    /// Says what is to be said about the source.
    fn warn(&self, loaded: &Loaded, diagnostics: &Diagnostics, file: &str) -> Result<(), CommandFailure> {
        if !self.args.json {
            if !diagnostics.is_empty() && !self.args.quiet {
                let text =
                    render_diagnostics(&loaded.sources, diagnostics, advise, self.console.error_palette);
                output::complain_coloured(text, self.console.error_palette);
            }
            return Ok(());
        }
        for diagnostic in diagnostics {
            self.console.line(diagnostic_event(file, &loaded.sources, diagnostic, advise))?;
        }
        Ok(())
    }

    fn failed(
        &self,
        file: String,
        time: Duration,
        failure: CommandFailure,
    ) -> Result<CheckedFile, CommandFailure> {
        if self.args.json {
            if let CommandFailure::Shoal(shoal::Error::Source(rejected)) = &failure {
                for diagnostic in &rejected.diagnostics {
                    self.console.line(diagnostic_event(&file, &rejected.sources, diagnostic, advise))?;
                }
            }
            self.console.line(error_event(Some(&file), &failure.to_string()))?;
        } else {
            failure.report(self.console);
        }
        Ok(CheckedFile { file, time, exit: failure.exit(), checked: None, failure: Some(failure) })
    }

    fn show(&self, checked: &CheckedFile) -> Result<(), CommandFailure> {
        let Some(answer) = &checked.checked else { return Ok(()) };
        let mut run = answer.run(&checked.file);
        if self.args.json {
            for result in &answer.report.outcome.results {
                self.console.line(verdict_event(&run, result))?;
            }
            self.console.line(coverage_event(&run))?;
            return if self.args.profile { self.console.line(profile_event(&run)) } else { Ok(()) };
        }
        if self.args.show == TraceView::Lanes {
            run = run.in_lanes(output::width());
        }
        let palette = self.console.palette;
        match self.args.quiet {
            true => self.console.show(|out| write_verdicts(out, &run, palette))?,
            false => self.console.show(|out| write_run(out, &run, palette))?,
        }
        match self.args.profile {
            true => self.console.show(|out| write_profile(out, &run, palette)),
            false => Ok(()),
        }
    }

    /// The formats that speak of all files at once.
    fn summarise<'c>(&self, files: &'c [CheckedFile], exit: ExitKind) -> Result<(), CommandFailure> {
        let run = |file: &'c CheckedFile| file.checked.as_ref().map(|answer| answer.run(&file.file));
        let runs: Vec<Option<Run<'_>>> = files.iter().map(run).collect();
        let messages: Vec<Option<String>> =
            files.iter().map(|file| file.failure.as_ref().map(ToString::to_string)).collect();
        let suites: Vec<Suite<'_>> = files
            .iter()
            .zip(&runs)
            .zip(&messages)
            .map(|((file, run), message)| Suite {
                file: &file.file,
                run: run.as_ref(),
                error: message.as_deref(),
                diagnostics: file.diagnostics(),
                time: file.time,
                words: advise,
            })
            .collect();
        if let Some(path) = &self.args.junit {
            write_to(self.console, Some(path), FileKind::Junit, |out| write_junit(out, &suites))?;
        }
        if let Some(path) = &self.args.sarif {
            write_to(self.console, Some(path), FileKind::Sarif, |out| write_sarif(out, &suites))?;
        }
        if self.args.json {
            self.console.line(finished_event(&suites, exit.code()))?;
        }
        Ok(())
    }

    /// Saves the trace of each violation. One that cannot be saved is a pity, not an error.
    fn save_traces(&mut self, answer: &mut CheckAnswer, file: &str) {
        let loaded = answer.session.loaded();
        for (id, violation) in answer.report.violations() {
            if violation.trace.is_none() {
                continue;
            }
            let Some(path) = self.trace_path(&loaded.model.name) else { break };
            let run = Run::new(loaded, &answer.report).named(file);
            let Some(text) = violation_trace(&run, id) else { continue };
            match files::save(&path, FileKind::Trace, |out| out.write_all(text.as_bytes())) {
                Ok(()) => drop(answer.saved.traces.insert(id, path.display().to_string())),
                Err(error) => {
                    output::complain(format_args!("{}: the trace cannot be saved: {error}", path.display()));
                }
            }
        }
    }

    /// Saves the certificate of each property that holds.
    fn save_certificates(&self, answer: &mut CheckAnswer, file: &str) -> Result<(), CommandFailure> {
        let Some(path) = &self.args.certificate else { return Ok(()) };
        let loaded = answer.session.loaded();
        let run = Run::new(loaded, &answer.report).named(file);
        let watch = self.args.limits.watch(&self.cancel);
        let (mut count, mut too_many) = (0, false);
        shoal::certificates(loaded, &answer.report, &watch, |certified| {
            if let Evidence::TooManyStates = certified.evidence {
                output::complain(format_args!("{file}: there are too many states for a certificate"));
                too_many = true;
                return Ok(());
            }
            count += 1;
            let path = if count == 1 { path.clone() } else { numbered(path, count) };
            files::save(&path, FileKind::Certificate, |out| write_certified(out, &run, &certified).map(drop))
                .map_err(|error| CommandFailure::wrong(format_args!("{}: {error}", path.display())))?;
            let name = path.display().to_string();
            answer.saved.certificates.extend(certified.properties.iter().map(|id| (*id, name.clone())));
            Ok::<(), CommandFailure>(())
        })?;
        let is_left = |result: &&PropertyResult| {
            matches!(result.verdict, Verdict::Holds)
                && !answer.saved.certificates.contains_key(&result.property)
        };
        for result in answer.report.outcome.results.iter().filter(is_left).filter(|_| !too_many) {
            let title = loaded.model.properties[result.property].title();
            output::complain(format_args!(
                "{file}: no certificate for {title}: what shows that it holds cannot be written down"
            ));
        }
        Ok(())
    }

    /// Where the next trace goes: `german.1.itf.json`, or as the user said, with a number from the second on.
    fn trace_path(&mut self, model: &str) -> Option<PathBuf> {
        match &self.args.trace {
            None => {
                let number = self.next_number(model);
                Some(PathBuf::from(format!("{model}.{number}.itf.json")))
            }
            Some(path) if path == Path::new("none") => None,
            Some(path) => match self.next_number("") {
                1 => Some(path.clone()),
                number => Some(numbered(path, number)),
            },
        }
    }

    fn next_number(&mut self, name: &str) -> usize {
        let number = self.numbers.entry(name.to_string()).or_insert(0);
        *number += 1;
        *number
    }
}

/// `out.itf.json` becomes `out.2.itf.json`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let (stem, ending) = name.split_once('.').unwrap_or((&name, "itf.json"));
    path.with_file_name(format!("{stem}.{number}.{ending}"))
}

fn was_interrupted(report: &Report) -> bool {
    let interrupted = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Interrupted));
    report.outcome.results.iter().any(|result| interrupted(&result.verdict))
}

impl CheckedFile {
    fn diagnostics(&self) -> Option<(&SourceMap, &Diagnostics)> {
        match (&self.checked, &self.failure) {
            (Some(answer), _) => Some((&answer.session.loaded().sources, &answer.diagnostics)),
            (None, Some(CommandFailure::Shoal(shoal::Error::Source(rejected)))) => {
                Some((&rejected.sources, &rejected.diagnostics))
            }
            _ => None,
        }
    }
}

/// The options of a search.
fn check_options(args: &CheckArgs, watch: &Watch) -> CheckOptions {
    let mut options = CheckOptions {
        properties: args.property.clone(),
        engine: match args.engine {
            EngineChoice::Explicit => Some(Engine::Explicit),
            EngineChoice::Symbolic => Some(Engine::Symbolic),
            EngineChoice::Counters => Some(Engine::Counters),
            EngineChoice::Cover => Some(Engine::Cover),
            EngineChoice::Views => Some(Engine::Views),
            EngineChoice::Timed => Some(Engine::Timed),
            EngineChoice::Auto => None,
        },
        counters: args.counters.options(),
        symmetry: !args.no_symmetry && args.symmetry != SymmetryChoice::Off,
        automorphisms: args.automorphisms,
        trust: args.symmetry == SymmetryChoice::Trust,
        dead_variables: args.dead_variables(),
        strategy: args.strategy(),
        jit: !args.no_jit,
        patience: args.patience(),
        watch: watch.clone(),
        ..CheckOptions::default()
    };
    options.beyond = args.beyond();
    if options.beyond.is_used() || args.hosts.process.is_some() {
        // No other engine has one.
        options.engine = options.engine.or(Some(Engine::Explicit));
    }
    options.threads = args.threads.map_or(options.threads, |threads| threads as usize);
    options.checkpoints.save.clone_from(&args.checkpoint);
    options.checkpoints.every = args.checkpoint_every;
    options.checkpoints.resume.clone_from(&args.resume);
    options
}
