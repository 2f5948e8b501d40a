//! State-graphs as objects: a workshop that holds them by name, and scripts that say what to do with them.

use std::{collections::BTreeMap, fmt, path::Path, time::Duration};

use shoal_model::{Model, PropertyId, PropertyKind, Watch, under};
use shoal_stategraphs::{
    graphs::{self, GraphAnswer, Reducer, StateGraph},
    system::ProcessSystem,
};
use shoal_syntax::{Diagnostic, DiagnosticCode, SourceMap, Span};
use shoal_vpl::{
    ast::{Expr, ExprKind, InfixOp, Name, Stmt, StmtKind},
    script::Script,
};

use crate::{Error, LoadOptions, Rejected, load::template_options, read_text};

/// A mistake in a script that is found when it runs.
const SCRIPT: DiagnosticCode = DiagnosticCode("E0320");

/// A VPL file whose graphs are to be manipulated.
#[derive(Clone, Debug)]
pub struct Workshop {
    /// The model.
    pub model: Model,
    /// Its sources.
    pub sources: SourceMap,
    pub(crate) script: Script,
    watch: Watch,
}

/// What a step of a script did.
#[derive(Clone, Debug)]
pub struct ScriptStep {
    /// The graph it is about.
    pub name: String,
    /// `merge_graph`, a reducer, `model_check`, `print_graph`.
    pub operation: String,
    /// Its nodes.
    pub nodes: usize,
    /// Its arcs.
    pub arcs: usize,
    /// How long the step took.
    pub time: Duration,
}

/// What happens while a script runs.
#[derive(Clone, Debug)]
pub enum ScriptEvent {
    /// A graph was made or changed.
    Made(ScriptStep),
    /// A property was decided on a graph: its name, and what was found in words; whether it holds, if known.
    Checked(ScriptStep, String, Option<bool>, String),
    /// A graph is to be printed.
    Print(ScriptStep, Box<StateGraph>),
}

/// Loads the file of a workshop.
pub fn load_workshop(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Workshop, Error> {
    let path = path.as_ref();
    load_workshop_text(&path.display().to_string(), read_text(path)?, options)
}

/// The same from a text.
pub fn load_workshop_text(
    name: &str,
    text: impl Into<String>,
    options: &LoadOptions,
) -> Result<Workshop, Error> {
    let mut sources = SourceMap::new();
    let id = sources.add(name, text.into());
    let (loaded, diagnostics) = shoal_vpl::load(&sources, id, &template_options(options));
    match loaded {
        Some((model, script)) if !diagnostics.has_errors() => {
            Ok(Workshop { model, sources, script, watch: options.watch.clone() })
        }
        _ => Err(Error::Source(Box::new(Rejected { sources, diagnostics }))),
    }
}

impl Workshop {
    /// The processes of the model, taken apart.
    pub fn system(&self) -> Result<ProcessSystem<'_>, Error> {
        ProcessSystem::new(&self.model).map_err(Error::Unsupported)
    }

    /// The properties that can be asked.
    pub fn properties(&self) -> Vec<PropertyId> {
        // Nothing can fault in what a state-graph is made of.
        let given = |kind: &PropertyKind| matches!(kind, PropertyKind::Assume(_) | PropertyKind::NoFaults);
        let asked = |kind: &PropertyKind| !given(kind);
        self.model
            .properties
            .enumerate()
            .filter(|(_, property)| asked(&property.kind))
            .map(|(id, _)| id)
            .collect()
    }

    /// Whether the file has a manipulation part.
    pub fn has_script(&self) -> bool {
        !self.script.statements.is_empty()
    }

    /// Runs the manipulation part and tells what happens, until the watch that it was loaded under says that it is to end.
    pub fn run(&self, tell: &mut dyn FnMut(&ProcessSystem<'_>, ScriptEvent)) -> Result<(), Error> {
        let system = self.system()?;
        let mut runner =
            ScriptRunner { workshop: self, system: &system, values: BTreeMap::new(), steps: 0, tell };
        let ran = under(&self.watch, || runner.block(&self.script.statements));
        ran.map_err(Error::Stopped)?.map_err(|diagnostic| self.rejected(*diagnostic))
    }

    fn rejected(&self, diagnostic: Diagnostic) -> Error {
        let mut diagnostics = shoal_syntax::Diagnostics::new();
        diagnostics.push(diagnostic);
        Error::Source(Box::new(Rejected { sources: self.sources.clone(), diagnostics }))
    }

    /// The answer of a graph to a property, in words. What cannot be decided on it is not known, and says why.
    pub fn check(
        &self,
        system: &ProcessSystem<'_>,
        graph: &StateGraph,
        property: PropertyId,
    ) -> (Option<bool>, String) {
        let moves = |moves: &[(usize, usize)]| {
            let name = |(process, rule): &(usize, usize)| {
                let process = &system.processes[*process];
                format!("{}: {}", process.name, self.model.rules[process.rules[*rule].rule].name)
            };
            moves.iter().map(name).collect::<Vec<_>>().join("; ")
        };
        match graphs::check(system, graph, property) {
            Ok(GraphAnswer::Holds) => (Some(true), "holds".into()),
            Ok(GraphAnswer::Violated(path)) if path.is_empty() => (Some(false), "violated".into()),
            Ok(GraphAnswer::Violated(path)) => (Some(false), format!("violated by {}", moves(&path))),
            Ok(GraphAnswer::Unknown(path)) if path.is_empty() => {
                (None, "not known: the graph is open".into())
            }
            Ok(GraphAnswer::Unknown(path)) => {
                (None, format!("not known: the graph is open; in it, {}", moves(&path)))
            }
            Ok(GraphAnswer::GaveUp(why)) => (None, format!("not known: {why}")),
            Err(refusal) => (None, format!("not known: {refusal}")),
        }
    }
}

/// A value in a script.
#[derive(Clone)]
enum ScriptValue {
    Number(f64),
    Graph(StateGraph),
    /// A declared graph that has not been made.
    Nothing,
}

struct ScriptRunner<'w, 's, 't> {
    workshop: &'w Workshop,
    system: &'s ProcessSystem<'w>,
    /// Variables, arrays by name and index.
    values: BTreeMap<(String, Option<i64>), ScriptValue>,
    steps: usize,
    tell: &'t mut dyn FnMut(&ProcessSystem<'_>, ScriptEvent),
}

/// A script that takes more steps than this does not end.
const MOST_STEPS: usize = 1_000_000;

type ScriptResult<T> = Result<T, Box<Diagnostic>>;

fn wrong<T>(span: Span, message: impl fmt::Display) -> ScriptResult<T> {
    Err(Box::new(Diagnostic::error(SCRIPT, span, message.to_string())))
}

impl ScriptRunner<'_, '_, '_> {
    fn block(&mut self, statements: &[Stmt]) -> ScriptResult<()> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    /// A graph that does not exist yet, or a row of them.
    fn declare(&mut self, name: &Name, range: Option<&(Expr, Expr)>) -> ScriptResult<()> {
        let Some((first, last)) = range else {
            self.values.insert((name.node.clone(), None), ScriptValue::Nothing);
            return Ok(());
        };
        let (first, last) = (self.integer(first)?, self.integer(last)?);
        if last - first > 100_000 {
            return wrong(name.span, "so many graphs are too many");
        }
        for index in first..=last {
            self.values.insert((name.node.clone(), Some(index)), ScriptValue::Nothing);
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Stmt) -> ScriptResult<()> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return wrong(statement.span, "the script takes too many steps");
        }
        match &statement.kind {
            StmtKind::Graphs(graphs) => {
                graphs.iter().try_for_each(|(name, range)| self.declare(name, range.as_ref()))?;
            }
            StmtKind::Assign(target, value) => {
                let key = self.variable(target)?;
                let value = self.value(value, &shown(&key))?;
                self.values.insert(key, value);
            }
            StmtKind::Call(call) => self.call_statement(call)?,
            StmtKind::If(condition, then, other) => {
                let taken = if self.truth(condition)? { then } else { other };
                self.block(taken)?;
            }
            StmtKind::For { variable, from, condition, by, body } => {
                let key = (variable.node.clone(), None);
                let mut value = self.integer(from)?;
                loop {
                    self.values.insert(key.clone(), ScriptValue::Number(value as f64));
                    if !self.truth(condition)? {
                        break;
                    }
                    self.block(body)?;
                    self.steps += 1;
                    value += by;
                    if self.steps > MOST_STEPS {
                        return wrong(statement.span, "the script takes too many steps");
                    }
                }
            }
        }
        Ok(())
    }

    /// `reducer(g);` changes `g`; `model_check(g);` and `print_graph(g);` only look.
    fn call_statement(&mut self, call: &Expr) -> ScriptResult<()> {
        let ExprKind::Call(function, arguments) = &call.kind else {
            return wrong(call.span, "a statement is needed here");
        };
        match (function.node.as_str(), arguments.as_slice()) {
            ("model_check", [argument]) => {
                let (name, graph) = self.graph(argument)?;
                for property in self.workshop.properties() {
                    let began = std::time::Instant::now();
                    let (holds, text) = self.workshop.check(self.system, &graph, property);
                    let done = done(&name, "model_check", &graph, began.elapsed());
                    let property = self.workshop.model.properties[property].name.clone();
                    (self.tell)(self.system, ScriptEvent::Checked(done, property, holds, text));
                }
                Ok(())
            }
            ("print_graph", [argument]) => {
                let (name, graph) = self.graph(argument)?;
                let done = done(&name, "print_graph", &graph, Duration::ZERO);
                (self.tell)(self.system, ScriptEvent::Print(done, Box::new(graph)));
                Ok(())
            }
            (name, [argument]) if Reducer::named(name).is_some() => {
                let key = self.variable(argument)?;
                let value = self.value(call, &shown(&key))?;
                self.values.insert(key, value);
                Ok(())
            }
            (name, _) => {
                wrong(function.span, format!("`{name}` cannot stand here, or not with these arguments"))
            }
        }
    }

    /// The variable that an expression names.
    fn variable(&mut self, expr: &Expr) -> ScriptResult<(String, Option<i64>)> {
        match &expr.kind {
            ExprKind::Name(name) => Ok((name.clone(), None)),
            ExprKind::Index(name, index) => {
                let key = (name.node.clone(), Some(self.integer(index)?));
                match self.values.contains_key(&key) {
                    true => Ok(key),
                    false => wrong(expr.span, format!("`{}` is not declared", shown(&key))),
                }
            }
            _ => wrong(expr.span, "a variable is needed here"),
        }
    }

    fn graph(&mut self, expr: &Expr) -> ScriptResult<(String, StateGraph)> {
        let name = match &expr.kind {
            ExprKind::Name(name) => name.clone(),
            ExprKind::Index(name, index) => format!("{}[{}]", name.node, self.integer(index)?),
            _ => "graph".into(),
        };
        match self.value(expr, &name)? {
            ScriptValue::Graph(graph) => Ok((name, graph)),
            ScriptValue::Nothing => wrong(expr.span, format!("`{name}` has not been made yet")),
            ScriptValue::Number(_) => wrong(expr.span, "a graph is needed here"),
        }
    }

    fn number(&mut self, expr: &Expr) -> ScriptResult<f64> {
        match self.value(expr, "")? {
            ScriptValue::Number(number) => Ok(number),
            _ => wrong(expr.span, "a number is needed here"),
        }
    }

    fn integer(&mut self, expr: &Expr) -> ScriptResult<i64> {
        Ok(self.number(expr)? as i64)
    }

    fn truth(&mut self, expr: &Expr) -> ScriptResult<bool> {
        Ok(match &expr.kind {
            ExprKind::Bool(value) => *value,
            ExprKind::Not(of) => !self.truth(of)?,
            ExprKind::Binary(InfixOp::And, left, right) => self.truth(left)? && self.truth(right)?,
            ExprKind::Binary(InfixOp::Or, left, right) => self.truth(left)? || self.truth(right)?,
            ExprKind::Binary(InfixOp::Implies, left, right) => !self.truth(left)? || self.truth(right)?,
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                match op {
                    InfixOp::Eq => left == right,
                    InfixOp::Ne => left != right,
                    InfixOp::Lt => left < right,
                    InfixOp::Le => left <= right,
                    InfixOp::Gt => left > right,
                    InfixOp::Ge => left >= right,
                    _ => return wrong(expr.span, "a condition is needed here"),
                }
            }
            _ => return wrong(expr.span, "a condition is needed here"),
        })
    }

    fn value(&mut self, expr: &Expr, into: &str) -> ScriptResult<ScriptValue> {
        match &expr.kind {
            ExprKind::Number(number) => Ok(ScriptValue::Number(*number as f64)),
            ExprKind::Minus(of) => Ok(ScriptValue::Number(-self.number(of)?)),
            ExprKind::Binary(
                op @ (InfixOp::Add | InfixOp::Sub | InfixOp::Mul | InfixOp::Div | InfixOp::Rem),
                left,
                right,
            ) => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                Ok(ScriptValue::Number(match op {
                    InfixOp::Add => left + right,
                    InfixOp::Sub => left - right,
                    InfixOp::Mul => left * right,
                    InfixOp::Div => left / right,
                    _ => left % right,
                }))
            }
            ExprKind::Name(name) => match self.values.get(&(name.clone(), None)) {
                Some(value) => Ok(value.clone()),
                None => wrong(expr.span, format!("`{name}` is not declared")),
            },
            ExprKind::Index(name, index) => {
                let index = self.integer(index)?;
                let family =
                    self.workshop.script.families.iter().position(|(family, ..)| *family == name.node);
                match (family, self.values.get(&(name.node.clone(), Some(index)))) {
                    (_, Some(value)) => Ok(value.clone()),
                    (Some(family), None) => self.process(family, index, expr.span),
                    (None, None) => wrong(expr.span, format!("`{}[{index}]` is not declared", name.node)),
                }
            }
            ExprKind::Call(function, arguments) => self.call(&function.node, arguments, into, expr.span),
            _ => wrong(expr.span, "a value is needed here"),
        }
    }

    /// The graph of one process.
    fn process(&mut self, family: usize, index: i64, span: Span) -> ScriptResult<ScriptValue> {
        let (name, first, _) = &self.workshop.script.families[family];
        let sort =
            self.workshop.model.sorts.enumerate().find(|(_, sort)| sort.name == *name).map(|(id, _)| id);
        let element = u32::try_from(index - first).ok();
        let process = sort.zip(element).and_then(|(sort, element)| self.system.process(sort, element));
        match process {
            Some(process) => graphs::base(self.system, process)
                .map(ScriptValue::Graph)
                .or_else(|refusal| wrong(span, refusal)),
            None => wrong(span, format!("there is no `{name}[{index}]`")),
        }
    }

    fn call(
        &mut self,
        function: &str,
        arguments: &[Expr],
        into: &str,
        span: Span,
    ) -> ScriptResult<ScriptValue> {
        let began = std::time::Instant::now();
        match (function.to_ascii_lowercase().as_str(), arguments) {
            ("merge_graph", [left, right]) => {
                let ((_, left), (_, right)) = (self.graph(left)?, self.graph(right)?);
                let merged =
                    graphs::merge(self.system, &left, &right).or_else(|refusal| wrong(span, refusal))?;
                (self.tell)(
                    self.system,
                    ScriptEvent::Made(done(into, "merge_graph", &merged, began.elapsed())),
                );
                Ok(ScriptValue::Graph(merged))
            }
            ("total", [Expr { kind: ExprKind::Name(name), .. }]) => {
                let family = self.workshop.script.families.iter().find(|(family, ..)| family == name);
                match family.and_then(|(.., size)| *size) {
                    Some(size) => Ok(ScriptValue::Number(size.into())),
                    None => wrong(span, format!("there are no automata `{name}`, or any number of them")),
                }
            }
            ("size", [argument]) => Ok(ScriptValue::Number(self.graph(argument)?.1.size() as f64)),
            ("nodecount" | "nodes", [argument]) => {
                Ok(ScriptValue::Number(self.graph(argument)?.1.node_count() as f64))
            }
            ("arccount" | "arcs", [argument]) => {
                Ok(ScriptValue::Number(self.graph(argument)?.1.arc_count() as f64))
            }
            ("time", [argument]) => Ok(ScriptValue::Number(self.graph(argument)?.1.time.as_secs_f64())),
            (name, [argument]) => {
                let Some(reducer) = Reducer::named(name) else {
                    return wrong(span, format!("`{function}` is not known, or not with one argument"));
                };
                let (_, graph) = self.graph(argument)?;
                let began = std::time::Instant::now();
                let reduced = reducer.apply(self.system, &graph).or_else(|refusal| wrong(span, refusal))?;
                (self.tell)(
                    self.system,
                    ScriptEvent::Made(done(into, reducer.name(), &reduced, began.elapsed())),
                );
                Ok(ScriptValue::Graph(reduced))
            }
            _ => wrong(span, format!("`{function}` is not known, or not with these arguments")),
        }
    }
}

pub(crate) fn done(name: &str, operation: &str, graph: &StateGraph, time: Duration) -> ScriptStep {
    ScriptStep {
        name: name.into(),
        operation: operation.into(),
        nodes: graph.node_count(),
        arcs: graph.arc_count(),
        time,
    }
}

fn shown((name, index): &(String, Option<i64>)) -> String {
    index.map_or_else(|| name.clone(), |index| format!("{name}[{index}]"))
}
