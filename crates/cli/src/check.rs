//! `shoal check`.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use shoal::{
    Cancel, CheckOptions, Engine, Error, Loaded, Report, Status, Watch,
    model::{DeadlockKind, Model, PropertyId, PropertyKind, StopReason, Verdict, print_formula},
    syntax::Diagnostics,
};
use shoal_report::{
    Cause, Certificate, ClaimOfInvariant, Level, OpenInvariant, Origin, Run, Shown, Suite, coverage_event,
    diagnostic_event, digest, error_event, finished_event, profile_event, render_diagnostics, started_event,
    verdict_event, write_certificate, write_junit, write_lanes, write_profile, write_run, write_sarif,
    write_states_certificate, write_trace, write_verdicts, write_views_certificate,
};

use crate::{
    args::{AcceptChoice, CheckArgs, EngineChoice, ModelArgs, SymmetryChoice, TraceView},
    cover_set,
    exit::{Exit, Failure},
    files::{self, Kind},
    guard::Guard,
    output::{self, Console, write_to},
    pages::{self, cause},
    progress::{Watcher, listen},
    source,
};

pub(crate) fn run(console: &Console, args: &CheckArgs) -> Result<Exit, Failure> {
    run_under(console, args, &listen())
}

/// Checks until somebody wants it to end.
pub(crate) fn run_under(console: &Console, args: &CheckArgs, cancel: &Cancel) -> Result<Exit, Failure> {
    if args.files.len() > 1 && (args.checkpoint.is_some() || args.resume.is_some()) {
        return Err(Failure::wrong("--checkpoint and --resume are for one model at a time"));
    }
    let mut session = Session { console, args, cancel: cancel.clone(), numbers: HashMap::new() };
    let mut files = Vec::new();
    for path in &args.files {
        if session.cancel.is_cancelled() {
            break;
        }
        files.push(session.check_file(path)?);
    }
    let mut exit = files.iter().fold(Exit::Good, |exit, file| exit.worse(file.exit));
    if session.cancel.is_cancelled() {
        exit = exit.worse(Exit::Interrupted);
    }
    session.summarise(&files, exit)?;
    Ok(exit)
}

struct Session<'a> {
    console: &'a Console,
    args: &'a CheckArgs,
    cancel: Cancel,
    /// How many traces have been saved for each name of a model.
    numbers: HashMap<String, usize>,
}

/// A file that was checked, or could not be.
struct Checked {
    file: String,
    time: Duration,
    exit: Exit,
    checked: Option<Answer>,
    failure: Option<Failure>,
}

struct Answer {
    loaded: Loaded,
    report: Report,
    diagnostics: Diagnostics,
    causes: BTreeMap<PropertyId, Vec<Cause>>,
    shows: BTreeMap<PropertyId, Vec<Shown>>,
    traces: BTreeMap<PropertyId, String>,
    notes: BTreeMap<PropertyId, String>,
    certificates: BTreeMap<PropertyId, String>,
    /// The violations told by who does what, if they are to be shown so.
    lanes: BTreeMap<PropertyId, String>,
}

impl Session<'_> {
    fn check_file(&mut self, path: &Path) -> Result<Checked, Failure> {
        let file = path.display().to_string();
        let watch = self.args.limits.watch_to(self.args.depth, &self.cancel);
        let _guard = self.guard(&watch, &file);
        let answer = match self.decide(path, &file, &watch) {
            Ok(answer) => answer,
            Err(failure) => return self.failed(file, watch.elapsed(), failure),
        };
        let exit = match answer.report.status() {
            Status::Holds => Exit::Good,
            Status::Violated if was_interrupted(&answer.report) => Exit::Interrupted,
            Status::Violated => Exit::Violated,
            Status::Unknown if self.accepts(&answer.report) => Exit::Good,
            Status::Unknown => Exit::Inconclusive,
            Status::Interrupted => Exit::Interrupted,
            Status::Internal => Exit::Internal,
        };
        let mut checked = Checked { file, time: watch.elapsed(), exit, checked: Some(answer), failure: None };
        self.show(&checked)?;
        if let (Some(folder), Some(answer), Some(run)) = (&self.args.html, &checked.checked, checked.run()) {
            pages::save(folder, &answer.loaded, &answer.report, &run)?;
        }
        if self.args.cover_set
            && let Some(answer) = &checked.checked
        {
            let found = cover_set::show(self.console, self.args, &checked.file, &answer.loaded, &watch);
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
    fn guard(&self, watch: &Watch, file: &str) -> Guard {
        let (file, json, junit) = (file.to_string(), self.args.json, self.args.junit.clone());
        let watch_time = watch.clone();
        Guard::of(watch, move |reason| {
            let message = format!("nothing is decided: {reason}");
            let suite = Suite {
                file: &file,
                run: None,
                error: Some(&message),
                diagnostics: None,
                time: watch_time.elapsed(),
            };
            let mut text = Vec::new();
            if let Some(path) = junit.filter(|_| write_junit(&mut text, std::slice::from_ref(&suite)).is_ok())
            {
                // The exit code says it all the same.
                let _ = files::save(&path, Kind::Junit, |out| out.write_all(&text));
            }
            match json {
                true => println!("{}\n{}", error_event(Some(&file), &message), finished_event(&[suite], 3)),
                false => println!("? unknown   {file}: {message}"),
            }
        })
    }

    fn decide(&mut self, path: &Path, file: &str, watch: &Watch) -> Result<Answer, Failure> {
        let loaded = source::load(path, &self.args.model.load_options(watch))?;
        let options = self.check_options(watch);
        shoal::select(&loaded, &options.properties)?;
        let plan = shoal::plan(&loaded, &options);
        let mut diagnostics = loaded.diagnostics.clone();
        diagnostics.extend(plan.warnings.clone());
        self.announce(&loaded, &plan, &diagnostics, file)?;
        let mut watcher = Watcher::new(watch.memory(), self.args.quiet);
        if self.args.json {
            watcher = watcher.with_events(self.console, file);
        }
        let report = shoal::check_as_planned(&loaded, plan, &options, &mut watcher);
        watcher.finish();
        let report = report?;
        let found = shoal::asymmetry_warnings(&loaded, &report.outcome.statistics.asymmetries);
        self.warn(&loaded, &found, file)?;
        diagnostics.extend(found);
        if let Some(problem) = &report.unsaved {
            output::complain(format!("warning: the search could not be saved: {problem}"));
        }
        let traces = self.save_traces(&loaded, &report, file);
        let causes =
            report.causes.iter().map(|(id, parts)| (*id, parts.iter().map(cause).collect())).collect();
        let shows = report.claims.iter().map(|(id, claims)| (*id, shown(&loaded.model, claims))).collect();
        let words = |proved: &shoal::Proved| Some((proved.property, proved.words(&loaded)?));
        let notes = report.proved.iter().filter_map(words).collect();
        let certificates = self.save_certificates(&loaded, &report, file)?;
        let lanes = self.lanes(&loaded, &report);
        Ok(Answer { loaded, report, diagnostics, causes, shows, traces, notes, certificates, lanes })
    }

    /// The violations in columns, if that is how they are to be shown.
    fn lanes(&self, loaded: &Loaded, report: &Report) -> BTreeMap<PropertyId, String> {
        if self.args.show == TraceView::Diff {
            return BTreeMap::new();
        }
        let mut all = BTreeMap::new();
        for (property, violation) in report.violations() {
            let Some(told) = shoal::tell(loaded, property, violation) else { continue };
            let mut text = Vec::new();
            let (width, palette) = (output::width(), self.console.palette);
            let written = write_lanes(&mut text, &told.model, &told.story, Level::Folded, width, palette);
            if written.is_ok() {
                all.insert(property, String::from_utf8_lossy(&text).into_owned());
            }
        }
        all
    }

    fn check_options(&self, watch: &Watch) -> CheckOptions {
        let mut options = CheckOptions {
            properties: self.args.property.clone(),
            engine: match self.args.engine {
                EngineChoice::Explicit => Some(Engine::Explicit),
                EngineChoice::Symbolic => Some(Engine::Symbolic),
                EngineChoice::Counters => Some(Engine::Counters),
                EngineChoice::Cover => Some(Engine::Cover),
                EngineChoice::Views => Some(Engine::Views),
                EngineChoice::Timed => Some(Engine::Timed),
                EngineChoice::Auto => None,
            },
            counters: self.args.counters.options(),
            symmetry: !self.args.no_symmetry && self.args.symmetry != SymmetryChoice::Off,
            trust: self.args.symmetry == SymmetryChoice::Trust,
            dead_variables: self.args.dead_variables(),
            strategy: self.args.strategy(),
            jit: !self.args.no_jit,
            patience: self.args.patience(),
            watch: watch.clone(),
            ..CheckOptions::default()
        };
        options.threads = self.args.threads.map_or(options.threads, |threads| threads as usize);
        options.checkpoints.save.clone_from(&self.args.checkpoint);
        options.checkpoints.every = self.args.checkpoint_every;
        options.checkpoints.resume.clone_from(&self.args.resume);
        options
    }

    /// What is known before the search: events, or warnings about the source.
    fn announce(
        &self,
        loaded: &Loaded,
        plan: &shoal::Plan,
        diagnostics: &Diagnostics,
        file: &str,
    ) -> Result<(), Failure> {
        if self.args.json {
            self.console.line(started_event(file, &loaded.model, &plan.symmetric, &plan.reason))?;
        }
        self.warn(loaded, diagnostics, file)
    }

    /// Says what is to be said about the source.
    fn warn(&self, loaded: &Loaded, diagnostics: &Diagnostics, file: &str) -> Result<(), Failure> {
        if !self.args.json {
            if !diagnostics.is_empty() && !self.args.quiet {
                let text = render_diagnostics(&loaded.sources, diagnostics, self.console.error_palette);
                output::complain(text);
            }
            return Ok(());
        }
        for diagnostic in diagnostics {
            self.console.line(diagnostic_event(file, &loaded.sources, diagnostic))?;
        }
        Ok(())
    }

    fn failed(&self, file: String, time: Duration, failure: Failure) -> Result<Checked, Failure> {
        if self.args.json {
            if let Failure::Shoal(shoal::Error::Source(rejected)) = &failure {
                for diagnostic in &rejected.diagnostics {
                    self.console.line(diagnostic_event(&file, &rejected.sources, diagnostic))?;
                }
            }
            self.console.line(error_event(Some(&file), &failure.to_string()))?;
        } else {
            failure.report(self.console);
        }
        Ok(Checked { file, time, exit: failure.exit(), checked: None, failure: Some(failure) })
    }

    fn show(&self, checked: &Checked) -> Result<(), Failure> {
        let Some(run) = checked.run() else { return Ok(()) };
        if self.args.json {
            for result in &run.outcome.results {
                self.console.line(verdict_event(&run, result))?;
            }
            self.console.line(coverage_event(&run))?;
            return if self.args.profile { self.console.line(profile_event(&run)) } else { Ok(()) };
        }
        let palette = self.console.palette;
        match self.args.quiet {
            true => self.console.write(|out| write_verdicts(out, &run, palette))?,
            false => self.console.write(|out| write_run(out, &run, palette))?,
        }
        match self.args.profile {
            true => self.console.write(|out| write_profile(out, &run, palette)),
            false => Ok(()),
        }
    }

    /// The formats that speak of all files at once.
    fn summarise(&self, files: &[Checked], exit: Exit) -> Result<(), Failure> {
        let runs: Vec<Option<Run<'_>>> = files.iter().map(Checked::run).collect();
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
            })
            .collect();
        if let Some(path) = &self.args.junit {
            write_to(self.console, Some(path), Kind::Junit, |out| write_junit(out, &suites))?;
        }
        if let Some(path) = &self.args.sarif {
            write_to(self.console, Some(path), Kind::Sarif, |out| write_sarif(out, &suites))?;
        }
        if self.args.json {
            self.console.line(finished_event(&suites, exit.code()))?;
        }
        Ok(())
    }

    /// Saves the trace of each violation. One that cannot be saved is a pity, not an error.
    fn save_traces(&mut self, loaded: &Loaded, report: &Report, file: &str) -> BTreeMap<PropertyId, String> {
        let mut saved = BTreeMap::new();
        for (id, violation) in report.violations() {
            let Some(trace) = &violation.trace else { continue };
            let Some(path) = self.trace_path(&loaded.model.name) else { break };
            let property = &loaded.model.properties[id].name;
            let mut origin = origin(file, &self.args.model);
            let number = report.proved.iter().find(|it| it.property == id).and_then(|it| it.number);
            match number {
                Some(number) => fix_number(&mut origin, number),
                None => fix_sizes(&mut origin, &loaded.model, &loaded.model.sized_as(&trace.state)),
            }
            let text =
                write_trace(&loaded.model, &loaded.sources, &origin, trace, Some((property, violation)));
            match files::save(&path, Kind::Trace, |out| out.write_all(text.as_bytes())) {
                Ok(()) => drop(saved.insert(id, path.display().to_string())),
                Err(error) => {
                    output::complain(format_args!("{}: the trace cannot be saved: {error}", path.display()));
                }
            }
        }
        saved
    }

    /// Saves the certificate of each property that holds.
    fn save_certificates(
        &self,
        loaded: &Loaded,
        report: &Report,
        file: &str,
    ) -> Result<BTreeMap<PropertyId, String>, Failure> {
        let mut saved = BTreeMap::new();
        let Some(path) = &self.args.certificate else { return Ok(saved) };
        let origin = origin(file, &self.args.model);
        let mut count = 0;
        let mut next = || {
            count += 1;
            if count == 1 { path.clone() } else { numbered(path, count) }
        };
        for proved in &report.proved {
            let Some(proof) = &proved.proof else { continue };
            let counted = shoal::count(loaded, &Watch::default())?;
            let name = |shared: bool, at: u32| match shared {
                true => counted.shared_name(at),
                false => counted.place_name(at),
            };
            let property = &loaded.model.properties[proved.property].name;
            let (system, targets) =
                (counted.system(), counted.targets(proved.property).map_err(Error::Unsupported)?);
            let certificate =
                Certificate { origin: &origin, property, system, targets: &targets, proof, name: &name };
            let path = next();
            save_certificate(&path, |out| write_certificate(out, &certificate))?;
            saved.insert(proved.property, path.display().to_string());
        }
        let name = |property: &PropertyId| loaded.model.properties[*property].name.clone();
        let claim = |properties: &[PropertyId]| ClaimOfInvariant {
            origin: origin.clone(),
            model: digest(&loaded.model),
            properties: properties.iter().map(name).collect(),
        };
        // Properties that the same views prove have one certificate.
        let holds = |property: PropertyId| {
            let mut results = report.outcome.results.iter();
            results.any(|result| result.property == property && matches!(result.verdict, Verdict::Holds))
        };
        let mut by_views: Vec<(&OpenInvariant, Vec<PropertyId>)> = Vec::new();
        for proved in report.proved.iter().filter(|proved| holds(proved.property)) {
            let Some(views) = &proved.views else { continue };
            // That something can always happen is shown in another way, and checked by itself.
            let is_deadlock = |property: PropertyId| {
                matches!(loaded.model.properties[property].kind, PropertyKind::Deadlock(_))
            };
            let own = is_deadlock(proved.property);
            let same = |(known, others): &&mut (&OpenInvariant, Vec<PropertyId>)| {
                **known == **views && is_deadlock(others[0]) == own
            };
            match by_views.iter_mut().find(same) {
                Some((_, properties)) => properties.push(proved.property),
                None => by_views.push((views, vec![proved.property])),
            }
        }
        for (views, properties) in by_views {
            let path = next();
            save_certificate(&path, |out| write_views_certificate(out, &claim(&properties), views))?;
            saved.extend(properties.iter().map(|property| (*property, path.display().to_string())));
        }
        let finite = !loaded.model.has_unfixed_sorts() && !loaded.model.has_clocks();
        let by_states: Vec<PropertyId> = report
            .outcome
            .results
            .iter()
            .map(|result| result.property)
            .filter(|property| {
                finite && holds(*property) && is_of_states(&loaded.model.properties[*property].kind)
            })
            .collect();
        if !by_states.is_empty() {
            let watch = self.args.limits.watch(&self.cancel);
            match shoal::states(loaded, MOST_CERTIFIED, &watch)? {
                Some((symmetric, states)) => {
                    let path = next();
                    save_certificate(&path, |out| {
                        write_states_certificate(out, &claim(&by_states), &symmetric, &states)
                    })?;
                    saved.extend(by_states.iter().map(|property| (*property, path.display().to_string())));
                }
                None => output::complain(format_args!("{file}: there are too many states for a certificate")),
            }
        }
        Ok(saved)
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

/// What a trace must say to be replayed.
/// More states than this have no certificate.
const MOST_CERTIFIED: usize = 5_000_000;

/// Whether states by themselves tell that such a property holds.
fn is_of_states(kind: &PropertyKind) -> bool {
    match kind {
        PropertyKind::Invariant(_)
        | PropertyKind::NoFaults
        | PropertyKind::Assertion
        | PropertyKind::Deadlock(
            DeadlockKind::Stuck | DeadlockKind::Stuttering | DeadlockKind::StuckUnless(_),
        ) => true,
        PropertyKind::Deadlock(DeadlockKind::Timelock)
        | PropertyKind::Bound
        | PropertyKind::Assume(_)
        | PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::Unclear(_)
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Temporal(..) => false,
    }
}

fn save_certificate(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    files::save(path, Kind::Certificate, write)
        .map_err(|error| Failure::wrong(format_args!("{}: {error}", path.display())))
}

pub(crate) fn origin(file: &str, args: &ModelArgs) -> Origin {
    let options = args.load_options(&Watch::default());
    Origin { file: file.to_string(), options: options.saved(), set: options.set }
}

/// A trace has so many elements, even if the model may have any number of them.
fn fix_sizes(origin: &mut Origin, model: &shoal::model::Model, sized: &shoal::model::Model) {
    let any = origin.options.iter().position(|(name, _)| name == "any");
    let names: Option<String> = any.map(|at| origin.options.remove(at).1);
    for (id, sort) in model.sorts.enumerate() {
        let Some(size) = sized.sorts[id].fixed_size().filter(|_| sort.fixed_size().is_none()) else {
            continue;
        };
        let names = names.clone().unwrap_or_else(|| sort.name.clone());
        origin.set.extend(names.split(',').map(|name| (name.to_string(), i64::from(size))));
    }
}

/// A run of the instance with a number is a run of the model with that number.
fn fix_number(origin: &mut Origin, number: u32) {
    if let Some(at) = origin.options.iter().position(|(name, _)| name == "any") {
        let names = origin.options.remove(at).1;
        origin.set.extend(names.split(',').map(|name| (name.to_string(), i64::from(number))));
    }
}

fn was_interrupted(report: &Report) -> bool {
    let interrupted = |verdict: &Verdict| matches!(verdict, Verdict::Unknown(StopReason::Interrupted));
    report.outcome.results.iter().any(|result| interrupted(&result.verdict))
}

fn shown(model: &Model, claims: &[shoal::Claim]) -> Vec<Shown> {
    let text = |claim: &shoal::Claim| Shown {
        state: claim.state,
        formula: print_formula(model, &claim.formula),
        holds: claim.holds,
    };
    claims.iter().map(text).collect()
}

impl Checked {
    fn run(&self) -> Option<Run<'_>> {
        let answer = self.checked.as_ref()?;
        Some(Run {
            file: &self.file,
            model: &answer.loaded.model,
            sources: &answer.loaded.sources,
            outcome: &answer.report.outcome,
            work: &answer.report.work,
            decided_by: &answer.report.decided_by,
            symmetric: &answer.report.plan.symmetric,
            causes: &answer.causes,
            shows: &answer.shows,
            traces: &answer.traces,
            unsettled: &answer.report.unsettled,
            notes: &answer.notes,
            certificates: &answer.certificates,
            lanes: &answer.lanes,
        })
    }

    fn diagnostics(&self) -> Option<(&shoal::syntax::SourceMap, &Diagnostics)> {
        match (&self.checked, &self.failure) {
            (Some(answer), _) => Some((&answer.loaded.sources, &answer.diagnostics)),
            (None, Some(Failure::Shoal(shoal::Error::Source(rejected)))) => {
                Some((&rejected.sources, &rejected.diagnostics))
            }
            _ => None,
        }
    }
}
