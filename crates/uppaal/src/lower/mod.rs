//! A network to a Model.
//!
//! A process is a variable for its location and the variables of its template. Processes that a scalar type tells apart
//! are a family: the type is a sort, and each variable of the template is an array over it. A synchronisation is one
//! rule of all its processes.

mod alike;
mod broadcast;
mod code;
mod declare;
mod edges;
mod effects;
mod expr;
mod invariants;
mod priorities;
mod processes;
mod queries;
mod rates;
mod tables;
mod types;
mod written;

use std::{collections::BTreeMap, rc::Rc};

use shoal_model::{
    Code, Domain, Expr, FunctionEffect, FunctionId, LocalId, LocalKind, Model, Parameter, Place, Projection,
    Property, PropertyId, PropertyKind, Root, Runs, SortId, Stmt, TypeId, VarId,
};
use shoal_syntax::{
    Diagnostic, Diagnostics, SourceId, Span,
    cursor::{Parsed, error, unknown},
};
use shoal_template::{
    Options,
    build::{TemplateBuilder, plain_rule},
    codes,
};

use self::{
    alike::Trial,
    priorities::Priorities,
    processes::ProcessFamily,
    types::{Constant, ValueKind},
};
use super::ast::{self, Nta, Query};

/// What a name means.
#[derive(Clone, Debug)]
enum Meaning<'n> {
    Type(ValueKind),
    Constant(Constant),
    /// A constant that may have any value: only a scalar type may have that size.
    AnyNumber,
    Variable(StateVariable),
    /// A variable of a `select`, a quantifier or a function.
    Local(LocalId),
    Channel(Channel),
    Function(&'n ast::Function),
    /// The process itself, in the so many-th of the scalar types that tell its family apart.
    Member(usize),
}

/// A state variable, or a part of one.
#[derive(Clone, Debug)]
struct StateVariable {
    var: VarId,
    /// Whether the process's own indices come first.
    own: bool,
    /// What leads to the part, all of it constant.
    path: Vec<Projection>,
    ty: TypeId,
}

/// A channel, or an array of them.
#[derive(Clone, Debug)]
struct Channel {
    number: usize,
    /// Indices that are given already.
    given: Vec<Expr>,
    indices: Vec<TypeId>,
    urgent: bool,
    broadcast: bool,
}

/// Shared: every view of an edge or an expression has one.
type NameScope<'n> = Rc<BTreeMap<String, Meaning<'n>>>;

/// Where an expression stands: what names mean, and which member of its family the process is.
#[derive(Clone, Debug, Default)]
struct ExprView<'n> {
    scope: NameScope<'n>,
    members: Vec<Expr>,
    /// Which process's, for finding functions again.
    home: Option<usize>,
    /// In a function: the type of its result.
    result: Option<TypeId>,
}

impl<'n> ExprView<'n> {
    /// The same with one more name.
    fn with(&self, name: &str, meaning: Meaning<'n>) -> ExprView<'n> {
        let mut view = self.clone();
        view.name(name.to_string(), meaning);
        view
    }

    /// Gives a name a meaning.
    fn name(&mut self, name: String, meaning: Meaning<'n>) {
        Rc::make_mut(&mut self.scope).insert(name, meaning);
    }
}

struct Lowerer<'n> {
    b: TemplateBuilder,
    options: &'n Options,
    globals: NameScope<'n>,
    processes: Vec<ProcessFamily<'n>>,
    channels: usize,
    priorities: Priorities,
    /// What the start does.
    start: Vec<Stmt>,
    /// The locals of the start: while it is being made, other code may be made too.
    start_params: Vec<(SortId, Parameter)>,
    /// Functions that have been lowered, by the process they belong to and their name.
    functions: BTreeMap<(Option<usize>, String), FunctionId>,
    /// By function: what it changes.
    effects: Vec<FunctionEffect>,
    /// Functions that are being lowered, for finding recursion.
    lowering: Vec<&'n ast::Function>,
    /// Statements that must run before the expression that is being lowered; nothing where none may.
    prelude: Option<Vec<Stmt>>,
    assumption: Option<PropertyId>,
    /// Clocks that do not run as others do, and where that is said.
    rated: Vec<(VarId, Span)>,
    in_invariant: bool,
    /// A range of integers that is tried as a sort.
    trial: Option<Trial>,
    /// What `deadlock` is in the query that is being lowered, if it may stand there.
    deadlock: Option<bool>,
    span: Span,
}

fn unsupported<T>(what: &str, span: Span) -> Parsed<T> {
    error(codes::UNSUPPORTED, span, format!("not supported: {what}"))
}

/// The model of a network, or all that is wrong with it.
pub(super) fn lower(
    id: SourceId,
    nta: &Nta,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Result<Model, Vec<Diagnostic>> {
    let mut lowerer = Lowerer::new(id, options, None);
    let left_out = lowerer.whole(nta)?;
    for (query, problem) in left_out {
        let message = format!("the query `{}` is not decided: {}", query.text, problem.message);
        diagnostics.push(Diagnostic::warning(codes::QUERY_LEFT_OUT, problem.primary.span, message));
    }
    lowerer.b.finish()
}

/// Models of the same network in which a range of integers that only tells processes apart is a sort, with that sort.
pub(super) fn lower_alike(id: SourceId, nta: &Nta, options: &Options) -> Vec<(Model, SortId)> {
    let mut found = Vec::new();
    for mut trial in Trial::candidates(nta) {
        loop {
            let mut lowerer = Lowerer::new(id, options, Some(trial));
            let done = lowerer.whole(nta).is_ok_and(|left_out| left_out.is_empty());
            let Some(tried) = lowerer.trial.take() else { break };
            match (tried.again(), tried.sort()) {
                (Some(next), _) => trial = next,
                (None, Some(sort)) if done && tried.nobody_fits() => {
                    found.extend(lowerer.b.finish().ok().map(|model| (model, sort)));
                    break;
                }
                (None, _) => break,
            }
        }
    }
    found
}

impl<'n> Lowerer<'n> {
    fn new(id: SourceId, options: &'n Options, trial: Option<Trial>) -> Self {
        Lowerer {
            b: TemplateBuilder::new(),
            options,
            globals: NameScope::default(),
            processes: Vec::new(),
            channels: 0,
            priorities: Priorities::default(),
            start: Vec::new(),
            start_params: Vec::new(),
            functions: BTreeMap::new(),
            effects: Vec::new(),
            lowering: Vec::new(),
            prelude: None,
            assumption: None,
            rated: Vec::new(),
            in_invariant: false,
            trial,
            deadlock: None,
            span: Span::new(id, 0, 0),
        }
    }

    /// Everything; gives the queries that are left out, each a property that says why.
    fn whole(&mut self, nta: &'n Nta) -> Result<Vec<(&'n Query, Box<Diagnostic>)>, Vec<Diagnostic>> {
        self.network(nta).map_err(|error| self.b.errors_and(*error))?;
        let mut left_out = Vec::new();
        for query in &nta.queries {
            if let Err(problem) = self.query(query) {
                let kind = PropertyKind::Unclear(problem.message.clone());
                self.b.model.properties.push(Property { name: query.text.clone(), kind, span: query.span });
                left_out.push((query, problem));
            }
        }
        self.settle_rates().map_err(|error| self.b.errors_and(*error))?;
        self.b.no_faults(self.span);
        self.b.model.runs = if self.options.divergent { Runs::Divergent } else { Runs::Maximal };
        Ok(left_out)
    }

    /// What was made of an item; what is wrong with it is kept.
    fn item<T>(&mut self, made: Parsed<T>) -> Option<T> {
        let made = self.b.item(made);
        if made.is_none() {
            self.prelude = None;
        }
        made
    }

    fn item_or_true(&mut self, made: Parsed<Expr>, span: Span) -> Expr {
        self.item(made).unwrap_or_else(|| self.b.truth(true, span))
    }

    /// Everything but the queries. Without declarations or processes nothing can be said about the rest.
    fn network(&mut self, nta: &'n Nta) -> Parsed<()> {
        self.globals(nta)?;
        for (name, level) in &nta.system {
            self.instantiate(nta, name, *level)?;
        }
        if self.processes.is_empty() {
            return error(codes::MISSING, self.span, "there is no `system` line with processes");
        }
        self.finish_start()?;
        self.rank_steps()?;
        self.rules()?;
        self.time_passes(nta.queries.iter().any(Query::is_temporal))
    }

    fn globals(&mut self, nta: &'n Nta) -> Parsed<()> {
        for (name, _) in &self.options.set {
            let declared = nta.declarations.iter().any(|declaration| match declaration {
                ast::Declaration::Variable(variable) => {
                    variable.shape.base.constant && variable.name.node == *name
                }
                _ => false,
            });
            if !declared {
                return error(codes::BAD_SET, self.span, format!("there is no global constant `{name}`"));
            }
        }
        let mut view = ExprView::default();
        for declaration in &nta.declarations {
            self.declare("", declaration, &mut view)?;
        }
        self.globals = view.scope;
        Ok(())
    }

    /// Ends the work when its time is up: the caller asks the watch why.
    fn go_on(&self) -> Parsed<()> {
        match self.options.watch.check() {
            Ok(()) => Ok(()),
            Err(reason) => error(codes::INTERNAL, self.span, reason.to_string()),
        }
    }

    /// The start: all initial values, and what must hold of them.
    fn finish_start(&mut self) -> Parsed<()> {
        let mut body = std::mem::take(&mut self.start);
        let held = self.first_invariants()?;
        body.extend(self.b.holds_at_start(held, self.span));
        let params = std::mem::take(&mut self.start_params).into_iter().map(|(_, param)| param).collect();
        let code = Code { locals: self.b.take_locals(), body };
        self.b.model.starts.push(plain_rule("start", params, None, code, self.span));
        Ok(())
    }

    /// The element that variables of a scalar type begin with. A scalar type has no first element that could be told
    /// from the others, so any one of them is the first.
    fn first_element(&mut self, sort: SortId) -> Expr {
        let known = self.start_params.iter().find(|(of, _)| *of == sort).map(|(_, param)| param.local);
        let local = match known {
            Some(local) => local,
            None => {
                let ty = self.b.reference(sort, false);
                let name = format!("first {}", self.b.model.sorts[sort].name);
                let local = self.b.local(&name, ty, LocalKind::Bound, self.span);
                self.start_params.push((sort, Parameter { local, domain: Domain::Type(ty) }));
                local
            }
        };
        self.b.read_local(local, self.span)
    }

    /// The property that checks inside of steps belong to: a step that does not satisfy them does not exist.
    fn assumption(&mut self) -> PropertyId {
        match self.assumption {
            Some(id) => id,
            None => {
                let kind = PropertyKind::Assume(None);
                let name = "invariants of locations".to_string();
                let id = self.b.model.properties.push(Property { name, kind, span: self.span });
                self.assumption = Some(id);
                id
            }
        }
    }

    /// The place of a variable, as its process sees it.
    fn variable_place(&self, variable: &StateVariable, view: &ExprView<'n>, span: Span) -> Place {
        let members = if variable.own { view.members.clone() } else { Vec::new() };
        let mut path: Vec<Projection> = members.into_iter().map(Projection::Index).collect();
        path.extend(variable.path.iter().cloned());
        Place { root: Root::Var(variable.var), path, ty: variable.ty, span }
    }

    fn unknown<T>(&self, name: &str, view: &ExprView<'n>, span: Span) -> Parsed<T> {
        unknown(name, span, view.scope.keys().map(String::as_str))
    }
}
