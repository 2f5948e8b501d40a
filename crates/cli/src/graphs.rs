//! `shoal script` and `shoal graphs`.

use std::{collections::BTreeMap, time::Duration};

use shoal::{
    ScriptEvent, ScriptStep, Workshop,
    graphs::{self, Reducer, StateGraph, sequence, system::ProcessSystem},
};

use shoal_report::{GraphStep, graph_event};

use crate::{
    args::{GraphsArgs, LimitArgs, ScriptArgs, StateGraphFormat},
    exit::{CommandFailure, ExitKind},
    lines::{LineSource, Typed},
    output::Console,
    progress::listen,
};

/// Runs a manipulation part, or merges everything with one sequence of reducers.
pub(crate) fn script(console: &Console, args: &ScriptArgs) -> Result<ExitKind, CommandFailure> {
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.file);
    let workshop = shoal::load_workshop(&args.file, &args.model.load_options(&watch))?;
    if let Some(reducers) = &args.reducers {
        let work = || folded(console, args, &workshop, reducers);
        return shoal::under(&watch, work).map_err(shoal::Error::Stopped)?;
    }
    if !workshop.has_script() {
        return Err(CommandFailure::wrong(
            "the file has no manipulation part; `--reducers rw,sc,sm` does without",
        ));
    }
    let mut exit = ExitKind::Good;
    let mut problem = Ok(());
    workshop.run(&mut |system, event| {
        if let ScriptEvent::Checked(_, _, holds, _) = &event {
            exit = exit.worse(exit_of(*holds));
        }
        let told = tell(console, args, system, &event);
        if problem.is_ok() {
            problem = told;
        }
    })?;
    problem?;
    Ok(exit)
}

/// The exit code of an answer, if it is known.
fn exit_of(holds: Option<bool>) -> ExitKind {
    match holds {
        Some(true) => ExitKind::Good,
        Some(false) => ExitKind::Violated,
        None => ExitKind::Inconclusive,
    }
}

fn tell(
    console: &Console,
    args: &ScriptArgs,
    system: &ProcessSystem<'_>,
    event: &ScriptEvent,
) -> Result<(), CommandFailure> {
    match event {
        ScriptEvent::Made(done) => console.line(line(done, args.json)),
        ScriptEvent::Checked(done, property, holds, text) if args.json => {
            console.line(graph_event(step(done), Some((property, *holds, text))))
        }
        ScriptEvent::Checked(done, property, _, text) => {
            console.line(format!("{}: {property:?} {text}", done.name))
        }
        ScriptEvent::Print(done, graph) => {
            if args.json {
                console.line(graph_event(step(done), None))?;
            }
            console.write(|out| write!(out, "{}", print(system, graph, args.format)))
        }
    }
}

fn print(system: &ProcessSystem<'_>, graph: &StateGraph, format: StateGraphFormat) -> String {
    match format {
        StateGraphFormat::Text => graphs::to_text(system, graph),
        StateGraphFormat::Dot => graphs::to_dot(system, graph),
        StateGraphFormat::Aut => graphs::to_aut(system, graph),
    }
}

fn step(done: &ScriptStep) -> GraphStep<'_> {
    GraphStep {
        name: &done.name,
        operation: &done.operation,
        nodes: done.nodes,
        arcs: done.arcs,
        time: done.time,
    }
}

fn line(done: &ScriptStep, as_json: bool) -> String {
    match as_json {
        true => graph_event(step(done), None),
        false => format!(
            "{:<8} {:<26} {:>8} nodes {:>9} arcs  {:.3} s",
            done.name,
            done.operation,
            done.nodes,
            done.arcs,
            done.time.as_secs_f64()
        ),
    }
}

/// `--reducers`: one sequence after every merge.
fn folded(
    console: &Console,
    args: &ScriptArgs,
    workshop: &Workshop,
    reducers: &str,
) -> Result<ExitKind, CommandFailure> {
    let system = workshop.system()?;
    let none = || {
        CommandFailure::wrong("no sequence of reducers can be tried on this model: it needs four processes")
    };
    let numbered: Vec<usize> = (0..system.processes.len()).collect();
    let (reducers, mut order) = match reducers {
        "auto" => sequence::best(&system).map(|trial| (trial.reducers, trial.order)).ok_or_else(none)?,
        "paper" => sequence::paper(&system).map(|trial| (trial.reducers, trial.order)).ok_or_else(none)?,
        list => {
            let reducers = list.split(',').filter(|name| !name.is_empty()).map(reducer);
            (reducers.collect::<Result<Vec<_>, _>>()?, numbered.clone())
        }
    };
    if !args.json {
        let names: Vec<&str> = reducers.iter().map(|reducer| reducer.short()).collect();
        console.line(format!("reducers: {}", names.join(", ")))?;
        if order != numbered {
            let names: Vec<&str> = order.iter().map(|at| system.processes[*at].name.as_str()).collect();
            console.line(format!("merged in this order: {}", names.join(", ")))?;
        }
    }
    let mut problem = Ok(());
    let mut before = Duration::ZERO;
    order.truncate(args.upto.unwrap_or(usize::MAX));
    let graph = sequence::fold_in(&system, &order, &reducers, &mut |processes, graph| {
        let done = ScriptStep {
            name: format!("1..{processes}"),
            operation: "merge and reduce".into(),
            nodes: graph.node_count(),
            arcs: graph.arc_count(),
            time: graph.time.saturating_sub(before),
        };
        before = graph.time;
        let told = console.line(line(&done, args.json));
        if problem.is_ok() {
            problem = told;
        }
    });
    problem?;
    let graph = graph.map_err(CommandFailure::wrong)?;
    if !graph.is_closed(&system) {
        return Ok(ExitKind::Good);
    }
    let mut exit = ExitKind::Good;
    for property in workshop.properties() {
        let (holds, text) = workshop.check(&system, &graph, property);
        let name = &workshop.model.properties[property].name;
        let done = ScriptStep {
            name: format!("1..{}", graph.members.len()),
            operation: "model_check".into(),
            nodes: graph.node_count(),
            arcs: graph.arc_count(),
            time: Duration::ZERO,
        };
        console.line(match args.json {
            true => graph_event(step(&done), Some((name, holds, &text))),
            false => format!("{name:?} {text}"),
        })?;
        exit = exit.worse(exit_of(holds));
    }
    Ok(exit)
}

fn reducer(name: &str) -> Result<Reducer, CommandFailure> {
    let known: Vec<&str> = Reducer::ALL.iter().map(|reducer| reducer.short()).collect();
    Reducer::named(name.trim()).ok_or_else(|| {
        CommandFailure::wrong(format!("there is no reducer `{name}`; there are {}", known.join(", ")))
    })
}

const HELP: &str = "  \
  list                  the graphs there are
  merge G H             the product of two graphs; it becomes a new graph
  reduce G R [R ...]    applies reducers to a graph: rw, sc, sv, sm, bit
  preview G             what each reducer would make of a graph
  check G               decides the properties on a graph
  print G [dot|aut]     prints a graph
  undo                  takes the last change back
  ?                     this help
  quit";

/// The graphs of an interactive session.
struct GraphSession<'w> {
    workshop: &'w Workshop,
    system: ProcessSystem<'w>,
    graphs: BTreeMap<String, StateGraph>,
    /// What was before each change.
    past: Vec<BTreeMap<String, StateGraph>>,
    made: usize,
}

/// Reads commands from standard input until it ends.
pub(crate) fn interactive(console: &Console, args: &GraphsArgs) -> Result<ExitKind, CommandFailure> {
    let watch = args.limits.watch(&listen());
    let _guard = LimitArgs::guard(&watch, &args.file);
    let workshop = shoal::load_workshop(&args.file, &args.model.load_options(&watch))?;
    let system = workshop.system()?;
    let mut graphs = BTreeMap::new();
    for process in 0..system.processes.len() {
        let graph = graphs::base(&system, process).map_err(CommandFailure::wrong)?;
        graphs.insert(system.processes[process].name.clone(), graph);
    }
    let mut session = GraphSession { workshop: &workshop, system, graphs, past: Vec::new(), made: 0 };
    console.line("? for help")?;
    let mut lines = LineSource::of("graphs");
    while let Typed::Line(line) = lines.next(console)? {
        let words: Vec<&str> = line.split_whitespace().collect();
        if matches!(words.as_slice(), ["quit" | "q"]) {
            break;
        }
        let done = shoal::under(&watch, || session.obey(&words)).map_err(shoal::Error::Stopped)?;
        match done {
            Ok(text) => console.write(|out| write!(out, "{text}"))?,
            Err(message) => console.line(message)?,
        }
    }
    Ok(ExitKind::Good)
}

impl GraphSession<'_> {
    /// Does what a line says; gives what is to be printed.
    fn obey(&mut self, words: &[&str]) -> Result<String, String> {
        match words {
            [] => Ok(String::new()),
            ["?" | "help"] => Ok(format!("{HELP}\n")),
            ["list"] => Ok(self.graphs.iter().map(|(name, graph)| self.describe(name, graph)).collect()),
            ["merge", left, right] => {
                let merged = graphs::merge(&self.system, self.find(left)?, self.find(right)?)
                    .map_err(|error| error.to_string())?;
                self.remember();
                self.made += 1;
                let name = format!("g{}", self.made);
                let text = self.describe(&name, &merged);
                self.graphs.insert(name, merged);
                Ok(text)
            }
            ["reduce", name, reducers @ ..] if !reducers.is_empty() => {
                let mut graph = self.find(name)?.clone();
                for short in reducers.iter().flat_map(|list| list.split(',')) {
                    let reducer =
                        Reducer::named(short).ok_or_else(|| format!("there is no reducer `{short}`"))?;
                    graph = reducer.apply(&self.system, &graph).map_err(|error| error.to_string())?;
                }
                self.remember();
                let text = self.describe(name, &graph);
                self.graphs.insert((*name).to_string(), graph);
                Ok(text)
            }
            ["preview", name] => {
                let graph = self.find(name)?;
                let mut text = String::new();
                for reducer in Reducer::ALL {
                    text += &match reducer.apply(&self.system, graph) {
                        Ok(reduced) => self.describe(reducer.short(), &reduced),
                        Err(refusal) => format!("{:<8} {refusal}\n", reducer.short()),
                    };
                }
                Ok(text)
            }
            ["check", name] => {
                let graph = self.find(name)?;
                let mut text = String::new();
                for property in self.workshop.properties() {
                    let (_, found) = self.workshop.check(&self.system, graph, property);
                    text += &format!("{:?} {found}\n", self.workshop.model.properties[property].name);
                }
                Ok(text)
            }
            ["print", name] => Ok(print(&self.system, self.find(name)?, StateGraphFormat::Text)),
            ["print", name, "dot"] => Ok(print(&self.system, self.find(name)?, StateGraphFormat::Dot)),
            ["print", name, "aut"] => Ok(print(&self.system, self.find(name)?, StateGraphFormat::Aut)),
            ["undo"] => match self.past.pop() {
                Some(before) => {
                    self.graphs = before;
                    Ok(String::new())
                }
                None => Err("there is nothing to take back".into()),
            },
            _ => Err("not understood; ? for help".into()),
        }
    }

    fn remember(&mut self) {
        self.past.push(self.graphs.clone());
    }

    fn find(&self, name: &str) -> Result<&StateGraph, String> {
        self.graphs.get(name).ok_or_else(|| format!("there is no graph `{name}`; `list` names them"))
    }

    fn describe(&self, name: &str, graph: &StateGraph) -> String {
        let reducers: Vec<&str> = graph.reducers.iter().map(|reducer| reducer.short()).collect();
        format!(
            "{name:<8} {:>8} nodes {:>9} arcs  {} processes  {}\n",
            graph.node_count(),
            graph.arc_count(),
            graph.members.len(),
            reducers.join(" ")
        )
    }
}
