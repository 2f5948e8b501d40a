//! The nine tools.

use std::{collections::VecDeque, fmt::Write as _, sync::Mutex};

use serde_json::{Map, Value as Json, json};
use shoal::{
    Cancel, CheckOptions, Error, Event, Folder, LoadOptions, Loaded, Move, Plan, Session, Simulation,
    Sources, Told, Violation, Watch,
    model::{Fault, PropertyId, Reason, SortSize, State, StopReason, Trace, Value, Verdict},
    syntax::{Advice, Diagnostics, Severity, SourceMap},
};
use shoal_report::{
    ArgumentRefusal, Arguments, LanesRoom, Palette, Run, StoryDetail, changes, error_page, move_name,
    one_line, reason_in_words, render_diagnostics, render_state, shown_steps, why_violated, write_lanes,
    write_steps,
};

use crate::{book, locked};

/// The tools, in the order one uses them.
pub(crate) const NAMES: [&str; 9] =
    ["diagnose", "describe", "check", "trace", "walk", "evaluate", "find_state", "explain", "examples"];

/// Longer answers are cut, and say so.
const LONGEST: usize = 8_000;
/// So many traces are kept; the oldest is forgotten.
const KEPT: usize = 32;
/// So many moves and rows are shown.
const MOST_MOVES: usize = 60;
/// So wide are lanes.
const WIDTH: usize = 110;
/// Walks of more steps are refused.
const LONGEST_WALK: usize = 10_000;

/// What a tool says.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolAnswer {
    pub(crate) text: String,
    pub(crate) structure: Option<Json>,
    pub(crate) is_error: bool,
}

/// A run that was found, with the model it is a run of.
#[derive(Clone)]
struct KeptRun {
    id: String,
    session: Session,
    property: PropertyId,
    violation: Violation,
}

/// What the tools share.
pub(crate) struct ToolDesk {
    folder: Folder,
    kept: Mutex<(usize, VecDeque<KeptRun>)>,
}

/// Tells how far a tool is.
type Tell<'t> = &'t mut dyn FnMut(u64, &str);

impl ToolDesk {
    pub(crate) fn new(folder: Folder) -> ToolDesk {
        ToolDesk { folder, kept: Mutex::new((0, VecDeque::new())) }
    }

    /// Runs a tool. What is wrong with a model or a call is an answer, as the client is to read it.
    pub(crate) fn run(
        &self,
        name: &str,
        given: Map<String, Json>,
        cancel: &Cancel,
        tell: Tell<'_>,
    ) -> ToolAnswer {
        let mut given = Arguments::new(given, cancel);
        let answer = match name {
            "diagnose" => self.diagnose(&mut given),
            "describe" => self.describe(&mut given),
            "check" => self.check(&mut given, tell),
            "trace" => self.trace(&mut given),
            "walk" => self.walk(&mut given),
            "evaluate" => self.evaluate(&mut given),
            "find_state" => self.find_state(&mut given, tell),
            "explain" => explain(&mut given),
            "examples" => examples(&mut given),
            other => Err(format!("there is no tool {other:?}")),
        };
        let mut answer = answer.unwrap_or_else(|text| ToolAnswer { text, structure: None, is_error: true });
        if answer.text.len() > LONGEST {
            let mut end = LONGEST;
            while !answer.text.is_char_boundary(end) {
                end -= 1;
            }
            let left = answer.text.len() - end;
            answer.text.truncate(end);
            let _ = write!(answer.text, "\n… {left} bytes more: ask for less (`from`, `to`, `level`)");
        }
        answer
    }

    /// The model that a call is about: a file below the root, or a text.
    fn load(&self, given: &mut Arguments, watch: &Watch) -> Result<Session, Loading> {
        let (file, text, language) = (given.text("file")?, given.text("text")?, given.text("language")?);
        let (set, any) = given.constants("set")?;
        let sources = match (file, text) {
            (Some(file), None) => self.folder.sources(&file)?,
            (None, Some(text)) => {
                let ending = language.clone().unwrap_or_else(|| "m".into());
                Sources::text(format!("text.{ending}"), text).resolved_by(self.folder.resolver())
            }
            _ => return Err("either `file` or `text` is needed".to_string().into()),
        };
        let options = LoadOptions { set, any, language, watch: watch.clone(), ..LoadOptions::default() };
        Ok(Session::load(&sources, &options)?)
    }

    /// The same, where a model with errors is an answer.
    fn loaded(&self, given: &mut Arguments, watch: &Watch) -> Result<Session, ArgumentRefusal> {
        self.load(given, watch).map_err(|error| match error {
            Loading::Refused(why) => why,
            Loading::Shoal(Error::Source(rejected)) => told(&rejected.sources, &rejected.diagnostics),
            Loading::Shoal(error) => error.to_string(),
        })
    }

    fn diagnose(&self, given: &mut Arguments) -> Result<ToolAnswer, ArgumentRefusal> {
        let watch = given.watch()?;
        let loaded = self.load(given, &watch);
        given.end()?;
        let (sources, diagnostics) = match &loaded {
            Ok(session) => (&session.loaded().sources, &session.loaded().diagnostics),
            Err(Loading::Shoal(Error::Source(rejected))) => (&rejected.sources, &rejected.diagnostics),
            Err(Loading::Shoal(error)) => return Err(error.to_string()),
            Err(Loading::Refused(why)) => return Err(why.clone()),
        };
        let text = match diagnostics.is_empty() {
            true => "no errors and no warnings".to_string(),
            false => told(sources, diagnostics),
        };
        let one = |it: &shoal::syntax::Diagnostic| {
            let file = sources.file(it.primary.span.source);
            let at = file.position(it.primary.span.start);
            json!({
                "severity": match it.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                    Severity::Note => "note",
                },
                "code": it.code.0,
                "message": it.message,
                "file": file.name(),
                "line": at.line,
                "column": at.column,
                "help": it.hint(advise),
            })
        };
        let list: Vec<Json> = diagnostics.iter().map(one).collect();
        let structure = json!({ "ok": loaded.is_ok(), "diagnostics": list });
        Ok(ToolAnswer { text, structure: Some(structure), is_error: false })
    }

    fn describe(&self, given: &mut Arguments) -> Result<ToolAnswer, ArgumentRefusal> {
        let watch = given.watch()?;
        let session = self.loaded(given, &watch)?;
        given.end()?;
        let plan = shoal::plan(session.loaded(), &CheckOptions { watch, ..CheckOptions::default() });
        Ok(described(session.loaded(), &plan))
    }

    fn check(&self, given: &mut Arguments, tell: Tell<'_>) -> Result<ToolAnswer, ArgumentRefusal> {
        let watch = given.watch()?;
        let properties = given.list("properties")?;
        let level = given.number("level", 3)?.unwrap_or(2);
        let session = self.loaded(given, &watch)?;
        given.end()?;
        let options = CheckOptions { properties, watch, ..CheckOptions::default() };
        let report = run(&session, &options, tell)?;
        let loaded = session.loaded();
        let mut text = String::new();
        let mut verdicts = Vec::new();
        for result in &report.outcome.results {
            let property = &loaded.model.properties[result.property];
            let mut entry = json!({ "name": property.name, "kind": property.kind.noun() });
            let statistics = report.of(result.property).and_then(|known| known.statistics);
            entry["engine"] = json!(statistics.map(|statistics| statistics.engine));
            entry["states"] = json!(statistics.map(|statistics| statistics.states));
            match &result.verdict {
                Verdict::Holds => {
                    entry["verdict"] = json!("holds");
                    let _ = writeln!(text, "✓ holds     {}", property.title());
                }
                Verdict::Unknown(reason) => {
                    entry["verdict"] = json!("unknown");
                    entry["reason"] = json!(reason.to_string());
                    let _ = writeln!(text, "? unknown   {}: {reason}", property.title());
                }
                Verdict::Violated(violation) => {
                    entry["verdict"] = json!("violated");
                    entry["reason"] =
                        json!(reason_in_words(&loaded.model, &loaded.sources, &violation.reason));
                    entry["steps"] = json!(violation.trace.as_ref().map(|trace| trace.steps.len()));
                    let id = self.keep(&session, result.property, violation);
                    entry["trace"] = json!(id);
                    let _ = writeln!(text, "✗ violated  {}  (trace {id})", property.title());
                    let told = shoal::tell(loaded, result.property, violation);
                    text += &violated(loaded, result.property, violation, told.as_ref(), level as u8);
                }
            }
            verdicts.push(entry);
        }
        if report.outcome.results.is_empty() {
            text += "? unknown   nothing is asked of the model\n";
        }
        let sizes: Vec<String> =
            loaded.model.sorts.iter().map(|sort| format!("{} = {}", sort.name, size(sort.size))).collect();
        if !sizes.is_empty() {
            let _ = writeln!(text, "checked with {}", sizes.join(", "));
        }
        let statistics = &report.outcome.statistics;
        let _ = writeln!(text, "{} engine, {} states", statistics.engine, statistics.states);
        let never: Vec<&str> =
            Run::new(loaded, &report).never_fired().map(|(_, rule)| rule.name.as_str()).collect();
        if statistics.exhaustive && !never.is_empty() {
            let _ = writeln!(text, "rules that never fired: {}", never.join(", "));
        }
        if let Some(advice) = report.advice() {
            let _ = writeln!(text, "{}", advise(&advice));
        }
        let status = match report.status() {
            shoal::Status::Holds => "holds",
            shoal::Status::Violated => "violated",
            shoal::Status::Unknown => "unknown",
            shoal::Status::Interrupted => "interrupted",
            shoal::Status::Internal => "internal error",
        };
        let never = if statistics.exhaustive { json!(never) } else { Json::Null };
        let structure = json!({ "status": status, "verdicts": verdicts, "never_fired": never });
        Ok(ToolAnswer { text, structure: Some(structure), is_error: false })
    }

    /// Keeps a run and gives it a name.
    fn keep(&self, session: &Session, property: PropertyId, violation: &Violation) -> String {
        let mut kept = locked(&self.kept);
        kept.0 += 1;
        let id = format!("t{}", kept.0);
        kept.1.push_back(KeptRun {
            id: id.clone(),
            session: session.clone(),
            property,
            violation: violation.clone(),
        });
        if kept.1.len() > KEPT {
            kept.1.pop_front();
        }
        id
    }

    fn kept(&self, id: &str) -> Result<KeptRun, ArgumentRefusal> {
        let kept = locked(&self.kept);
        let found = kept.1.iter().find(|kept| kept.id == id).cloned();
        found.ok_or_else(|| {
            format!("there is no trace {id:?}: the last {KEPT} that `check` and `find_state` gave are kept")
        })
    }

    fn trace(&self, given: &mut Arguments) -> Result<ToolAnswer, ArgumentRefusal> {
        let kept = self.kept(&given.needed("id")?)?;
        let how = given.text("as")?.unwrap_or_else(|| "steps".into());
        let level = given.number("level", 3)?.unwrap_or(1);
        let from = given.number("from", u64::MAX)?.unwrap_or(0) as usize;
        let to = given.number("to", u64::MAX)?.map_or(usize::MAX, |to| to as usize);
        given.end()?;
        let loaded = kept.session.loaded();
        let trace = kept.violation.trace.as_ref().ok_or("nothing can be shown: there is no run")?;
        let model = loaded.model.sized_as(&trace.state);
        let text = match how.as_str() {
            "lanes" => {
                let told = shoal::tell(loaded, kept.property, &kept.violation);
                violated(loaded, kept.property, &kept.violation, told.as_ref(), level as u8)
            }
            "steps" => {
                let mut steps = shown_steps(&model, Some(&loaded.sources), trace, &[]);
                steps.retain(|step| (from..=to).contains(&step.number));
                written(|out| write_steps(out, &steps, Palette::plain()))
            }
            "states" => {
                let mut text = String::new();
                for (number, state) in trace.states().enumerate().filter(|(at, _)| (from..=to).contains(at)) {
                    let _ = writeln!(text, "state {number}\n  {}", render_state(&model, state).join("\n  "));
                }
                text
            }
            other => return Err(format!("`as` is lanes, steps or states, not {other:?}")),
        };
        let structure = json!({ "id": kept.id, "property": loaded.model.properties[kept.property].name,
            "steps": trace.steps.len(), "loops_to": trace.loops_to });
        Ok(ToolAnswer { text, structure: Some(structure), is_error: false })
    }

    fn walk(&self, given: &mut Arguments) -> Result<ToolAnswer, ArgumentRefusal> {
        let watch = given.watch()?;
        let path = path(&given.text("path")?.unwrap_or_default())?;
        let session = self.loaded(given, &watch)?;
        given.end()?;
        let loaded = session.loaded();
        shoal::under(&watch, || {
            let mut simulation = Simulation::new(&loaded.model, 0).map_err(|error| error.to_string())?;
            follow(&mut simulation, &path, loaded)?;
            let moves = simulation.moves();
            let state = simulation.state();
            let mut text = String::new();
            match state {
                Some(state) => {
                    let _ = writeln!(text, "state after {} moves\n  {}", path.len(), render_state(&loaded.model, state).join("\n  "));
                }
                None => text += "before the start\n",
            }
            let findings = simulation.findings(&loaded.asked);
            for (property, reason) in &findings {
                let _ = writeln!(text, "{}", wrong(loaded, *property, reason));
            }
            let _ = writeln!(text, "moves ({}):", moves.len());
            for (number, next) in moves.iter().enumerate().take(MOST_MOVES) {
                let _ = writeln!(text, "  {number}  {}", shown(loaded, state, next));
            }
            if moves.len() > MOST_MOVES {
                let _ = writeln!(text, "  … {} more", moves.len() - MOST_MOVES);
            }
            let name = |next: &Move| json!({ "name": move_name(&loaded.model, state, next), "faults": next.result.is_err() });
            let moves: Vec<Json> = moves.iter().take(MOST_MOVES).map(name).collect();
            let found: Vec<String> = findings.iter().map(|(property, reason)| wrong(loaded, *property, reason)).collect();
            let structure = json!({ "moves": moves, "findings": found });
            Ok(ToolAnswer { text, structure: Some(structure), is_error: false })
        })
        .unwrap_or_else(|reason| Err(stopped(&reason)))
    }

    fn evaluate(&self, given: &mut Arguments) -> Result<ToolAnswer, ArgumentRefusal> {
        let watch = given.watch()?;
        let expression = given.needed("expression")?;
        let id = given.text("trace")?;
        let steps = path(&given.text("path")?.unwrap_or_default())?;
        let kept = id.map(|id| self.kept(&id)).transpose()?;
        let session = match &kept {
            Some(kept) => kept.session.clone(),
            None => self.loaded(given, &watch)?,
        };
        given.end()?;
        let loaded = session.loaded();
        let asked = shoal::ask(loaded, &expression).map_err(refusal)?;
        shoal::under(&watch, || {
            let states: Vec<State> = match &kept {
                Some(kept) => kept.violation.trace.iter().flat_map(Trace::states).cloned().collect(),
                None => {
                    let mut simulation =
                        Simulation::new(&loaded.model, 0).map_err(|error| error.to_string())?;
                    follow(&mut simulation, &steps, loaded)?;
                    simulation.state().cloned().into_iter().collect()
                }
            };
            if states.is_empty() {
                return Err(
                    "there is no state: a walk begins with a move to a start (`path`: \"0\")".to_string()
                );
            }
            let values: Vec<String> = states.iter().map(|state| value(loaded, asked.value(state))).collect();
            let text = match values.len() {
                1 => values[0].clone(),
                _ => rows(&values),
            };
            Ok(ToolAnswer { text, structure: Some(json!({ "values": values })), is_error: false })
        })
        .unwrap_or_else(|reason| Err(stopped(&reason)))
    }

    fn find_state(&self, given: &mut Arguments, tell: Tell<'_>) -> Result<ToolAnswer, ArgumentRefusal> {
        let watch = given.watch()?;
        let expression = given.needed("expression")?;
        let session = self.loaded(given, &watch)?;
        given.end()?;
        let asked = shoal::ask(session.loaded(), &expression).map_err(refusal)?;
        if !asked.is_condition() {
            return Err("the expression is not a condition".into());
        }
        let (loaded, never) = asked.never();
        let session = Session::of(loaded.clone());
        let properties = vec![loaded.model.properties[never].name.clone()];
        let report = run(&session, &CheckOptions { properties, watch, ..CheckOptions::default() }, tell)?;
        let known = report.of(never).ok_or("the expression was not asked")?;
        let states = known.statistics.map_or(0, |statistics| statistics.states);
        Ok(match known.verdict {
            Verdict::Violated(violation) => {
                let id = self.keep(&session, never, violation);
                let steps = violation.trace.as_ref().map_or(0, |trace| trace.steps.len());
                let told = shoal::tell(loaded, never, violation);
                let run = violated(loaded, never, violation, told.as_ref(), 1);
                let text = format!("found after {steps} steps (trace {id})\n{run}");
                ToolAnswer {
                    text,
                    structure: Some(json!({ "found": true, "trace": id, "steps": steps })),
                    is_error: false,
                }
            }
            Verdict::Holds => {
                let text =
                    format!("there is no such state: all {states} states (up to symmetry) were searched");
                ToolAnswer { text, structure: Some(json!({ "found": false })), is_error: false }
            }
            Verdict::Unknown(reason) => {
                let text = format!("unknown: {reason}; none among {states} states");
                ToolAnswer {
                    text,
                    structure: Some(json!({ "found": Json::Null, "reason": reason.to_string() })),
                    is_error: false,
                }
            }
        })
    }
}

/// Why a model could not be loaded.
enum Loading {
    Refused(ArgumentRefusal),
    Shoal(Error),
}

impl From<ArgumentRefusal> for Loading {
    fn from(why: ArgumentRefusal) -> Loading {
        Loading::Refused(why)
    }
}

impl From<Error> for Loading {
    fn from(error: Error) -> Loading {
        Loading::Shoal(error)
    }
}

/// Advice in the words of a tool: which argument does it.
fn advise(advice: &Advice) -> String {
    match advice {
        Advice::MoreTime => "allow more `seconds`, or make the model smaller with `set`".into(),
        Advice::MoreMemory => "allow more `memory_mb`, or make the model smaller with `set`".into(),
        Advice::AllProperties => "to decide the others too, name them in `properties`".into(),
        Advice::ChooseNumber => "choose a number of processes with `set`".into(),
        other => other.to_string(),
    }
}

fn told(sources: &SourceMap, diagnostics: &Diagnostics) -> String {
    render_diagnostics(sources, diagnostics, advise, Palette::plain())
}

fn refusal(error: Error) -> ArgumentRefusal {
    match error {
        Error::Source(rejected) => told(&rejected.sources, &rejected.diagnostics),
        other => other.to_string(),
    }
}

fn stopped(reason: &StopReason) -> ArgumentRefusal {
    format!("unknown: {reason}")
}

/// Checks a model and tells how it goes on.
fn run(session: &Session, options: &CheckOptions, tell: Tell<'_>) -> Result<shoal::Report, ArgumentRefusal> {
    let mut engine = "";
    let mut pass_on = |event: Event| match event {
        Event::Phase(phase) => engine = phase.engine.name(),
        Event::Progress(progress) => {
            tell(progress.states, &format!("{engine} engine, {} states", progress.states))
        }
        _ => {}
    };
    session.run(options, &mut pass_on).map_err(|error| error.to_string())
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    // Memory takes everything.
    let _ = write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A violation: why, and the run with a column for each part.
fn violated(
    loaded: &Loaded,
    property: PropertyId,
    violation: &Violation,
    told: Option<&Told>,
    level: u8,
) -> String {
    let (model, causes) = told.map_or((&loaded.model, &[][..]), |told| (&told.model, &told.causes[..]));
    let mut text = String::new();
    for (name, line) in why_violated(model, &loaded.sources, property, violation, causes) {
        let _ = writeln!(text, "  {name:<9}  {line}");
    }
    if let Some(told) = told {
        let level = StoryDetail::of(level).unwrap_or(StoryDetail::Folded);
        let room = LanesRoom { above: text.lines().count(), ..LanesRoom::wide(WIDTH) };
        text += &written(|out| write_lanes(out, &told.model, &told.story, level, room, Palette::plain()));
    }
    text
}

fn size(size: SortSize) -> String {
    match size {
        SortSize::Fixed(size) => size.to_string(),
        SortSize::Growing { limit: Some(limit), .. } => format!("up to {limit}"),
        SortSize::Growing { limit: None, .. } => "growing".into(),
        SortSize::Any => "any number".into(),
    }
}

fn described(loaded: &Loaded, plan: &Plan) -> ToolAnswer {
    let (model, sources) = (&loaded.model, &loaded.sources);
    let mut text = format!("{} model {}\n", loaded.language, model.name);
    let symmetry = shoal::symmetry_of_steps(model);
    let mut sorts = Vec::new();
    for (id, sort) in model.sorts.enumerate() {
        let known = &symmetry.sorts[id];
        let how = if known.is_proved() { "symmetric: proved" } else { "not proved symmetric" };
        let _ = writeln!(text, "sort {} = {}  ({how})", sort.name, size(sort.size));
        let breaks: Vec<String> = known
            .breaks
            .iter()
            .take(3)
            .map(|it| format!("{}: {}", sources.locate(it.span), it.reason))
            .collect();
        for it in &breaks {
            let _ = writeln!(text, "    {it}");
        }
        sorts.push(json!({ "name": sort.name, "size": size(sort.size), "proved": known.is_proved(), "breaks": breaks }));
    }
    for var in model.vars.iter() {
        let _ = writeln!(text, "var {}: {}", var.name, model.show_type(var.ty));
    }
    for rule in model.rules.iter() {
        let _ = writeln!(text, "rule {:?}  {}", rule.name, sources.locate(rule.span));
    }
    let mut properties = Vec::new();
    for id in &loaded.asked {
        let property = &model.properties[*id];
        let _ = writeln!(
            text,
            "{}  {}  {}",
            property.title(),
            sources.locate(property.span),
            one_line(sources.snippet(property.span))
        );
        properties.push(json!({ "name": property.name, "kind": property.kind.noun() }));
    }
    let _ = writeln!(text, "plan: {}", plan.reason);
    let rules: Vec<&str> = model.rules.iter().map(|rule| rule.name.as_str()).collect();
    let vars: Vec<Json> = model
        .vars
        .iter()
        .map(|var| json!({ "name": var.name, "type": model.show_type(var.ty).to_string() }))
        .collect();
    let structure = json!({ "language": loaded.language, "sorts": sorts, "variables": vars, "rules": rules,
        "properties": properties, "plan": plan.reason });
    ToolAnswer { text, structure: Some(structure), is_error: false }
}

/// `0.4.1`: the numbers of moves.
fn path(text: &str) -> Result<Vec<usize>, ArgumentRefusal> {
    let parts: Vec<&str> = text.split('.').filter(|part| !part.is_empty()).collect();
    if parts.len() > LONGEST_WALK {
        return Err(format!("a walk has at most {LONGEST_WALK} moves"));
    }
    let number =
        |part: &&str| part.trim().parse().map_err(|_| format!("{part:?} in `path` is no number of a move"));
    parts.iter().map(number).collect()
}

fn follow(simulation: &mut Simulation<'_>, path: &[usize], loaded: &Loaded) -> Result<(), ArgumentRefusal> {
    for (at, number) in path.iter().enumerate() {
        let moves = simulation.moves();
        let Some(next) = moves.get(*number) else {
            return Err(format!(
                "move {at} of the path is {number}, but there are {} moves there",
                moves.len()
            ));
        };
        if next.result.is_err() {
            return Err(format!(
                "move {at} of the path, {}, ends in an error",
                move_name(&loaded.model, simulation.state(), next)
            ));
        }
        simulation.take(next);
    }
    Ok(())
}

/// A move and what it changes.
fn shown(loaded: &Loaded, before: Option<&State>, next: &Move) -> String {
    let name = move_name(&loaded.model, before, next);
    match (before, &next.result) {
        (_, Err(fault)) => format!("{name}  ✗ {}", fault.kind),
        (None, Ok(_)) => name,
        (Some(before), Ok(after)) => {
            let all: Vec<String> =
                changes(&loaded.model, before, after).iter().map(ToString::to_string).collect();
            format!("{name}  {}", all.join(", "))
        }
    }
}

fn wrong(loaded: &Loaded, property: PropertyId, reason: &Reason) -> String {
    let title = loaded.model.properties[property].title();
    format!("✗ {title}: {}", reason_in_words(&loaded.model, &loaded.sources, reason))
}

fn value(loaded: &Loaded, found: Result<Value, Fault>) -> String {
    match found {
        Ok(value) => loaded.model.show(&value).to_string(),
        Err(fault) => format!("✗ {}", fault.kind),
    }
}

/// A value for each state, those that are the same together.
fn rows(values: &[String]) -> String {
    let mut text = String::new();
    let mut at = 0;
    for same in values.chunk_by(|one, other| one == other) {
        let last = at + same.len() - 1;
        let states = if last == at { format!("state {at}") } else { format!("states {at} to {last}") };
        let _ = writeln!(text, "{states}: {}", same[0]);
        at += same.len();
    }
    text
}

fn explain(given: &mut Arguments) -> Result<ToolAnswer, ArgumentRefusal> {
    let what = given.needed("what")?;
    given.end()?;
    let chapter = book::chapter(&what.to_lowercase()).map(String::from);
    let text = error_page(&what.to_uppercase()).or(chapter).or_else(|| {
        let (name, text) = book::section(&what)?;
        Some(format!("from the chapter {name}\n\n{text}"))
    });
    let text =
        text.ok_or_else(|| format!("nothing is said of {what:?}; the chapters are {}", book::chapters()))?;
    Ok(ToolAnswer { text, structure: None, is_error: false })
}

fn examples(given: &mut Arguments) -> Result<ToolAnswer, ArgumentRefusal> {
    let query = given.text("query")?.unwrap_or_default();
    given.end()?;
    let found = book::examples(&query);
    let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
    let text = match found.first() {
        None => "no example has all of these words; without a query all are listed".to_string(),
        Some(_) if query.trim().is_empty() => names.join("\n"),
        Some((name, model)) => format!("{name}\n\n{model}\n\nalso: {}", names[1..].join(", ")),
    };
    Ok(ToolAnswer { text, structure: Some(json!({ "models": names })), is_error: false })
}

/// What the tools say of themselves.
pub(crate) fn list() -> Json {
    let text = |what: &str| json!({ "type": "string", "description": what });
    let number = |what: &str| json!({ "type": "integer", "minimum": 0, "description": what });
    let seconds = number("give up after so many seconds (30 if nothing is said)");
    let memory = number("give up when the states take so many megabytes (1024 if nothing is said)");
    let model = |more: Json| {
        let mut properties = json!({
            "file": text("the model: a path below the folder of the server"),
            "text": text("the model itself, in place of a file"),
            "language": text("for a text: the ending that its files have, such as m, pml, xta, vpl, red, bp (m if nothing is said)"),
            "set": { "type": "object", "description": "other values for constants: numbers, or \"any\" for any number of elements" },
            "seconds": seconds,
            "memory_mb": memory,
        });
        if let (Some(own), Json::Object(more)) = (properties.as_object_mut(), more) {
            own.extend(more);
        }
        properties
    };
    let expression = text(
        "an expression in the language of the model; of nets and threads, about the variables that a state shows",
    );
    let level = number("how much of the run is folded, 0 to 3");
    let moves = text("moves by number, such as 0.4.1; the first chooses a start");
    let tool = |name: &str, what: &str, properties: Json, required: &[&str]| {
        json!({ "name": name, "description": what, "inputSchema": {
            "type": "object", "properties": properties, "required": required, "additionalProperties": false } })
    };
    json!([
        tool("diagnose", "Errors and warnings of a model, with places and hints", model(json!({})), &[]),
        tool(
            "describe",
            "Sorts and whether they are symmetric, variables, rules, properties, and how it would be checked",
            model(json!({})),
            &[]
        ),
        tool(
            "check",
            "Decides the properties of a model. A violated one comes with the reason, the run in columns, and the id of its trace. `unknown` is not `holds`",
            model(json!({
                "properties": { "type": "array", "items": { "type": "string" }, "description": "names of properties (all if nothing is said)" },
                "level": level,
            })),
            &[]
        ),
        tool(
            "trace",
            "A run that `check` or `find_state` found",
            json!({
            "id": text("the trace, such as t1"),
            "as": { "type": "string", "enum": ["steps", "lanes", "states"], "description": "what each step changes, a column for each part, or whole states" },
            "from": number("the first step"), "to": number("the last step"), "level": level }),
            &["id"]
        ),
        tool(
            "walk",
            "Walks through a model by hand: the state after some moves, what is wrong there, and the moves there are",
            model(json!({ "path": moves })),
            &[]
        ),
        tool(
            "evaluate",
            "The value of an expression in every state of a trace, or in the state after some moves",
            model(
                json!({ "expression": expression, "trace": text("the trace, such as t1, in place of a model"), "path": moves })
            ),
            &["expression"]
        ),
        tool(
            "find_state",
            "A shortest run to a state in which a condition holds, or that there is none",
            model(json!({ "expression": expression })),
            &["expression"]
        ),
        tool(
            "explain",
            "What is written about an error code (E0201), a construct or a chapter (murphi, promela, properties, symmetry, …)",
            json!({ "what": text("a code, a word of a heading, or a chapter") }),
            &["what"]
        ),
        tool(
            "examples",
            "Models to learn from, with what Shoal says of them in their first lines",
            json!({ "query": text("words that are in it; all are listed without") }),
            &[]
        ),
    ])
}
