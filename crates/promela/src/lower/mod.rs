//! From syntax tree to Model: one rule a step of a proctype.
//!
//! A proctype is a variable: an array with an entry for each process of it that can run at a time (a single entry where
//! there is at most one). An entry holds the control location, the process number where it is not known beforehand, and
//! the local variables; all are 0 where no process runs. Only the youngest process can be removed, so processes of a
//! proctype always take the first entries, and states are the same as SPIN's.

mod access;
mod build;
mod channels;
mod claims;
mod code;
mod dead;
mod declare;
mod entries;
mod everybody;
mod exists;
mod expr;
mod fairness;
mod functions;
mod heap;
mod instances;
mod message;
mod order;
mod own;
mod places;
mod priorities;
mod promises;
mod remote;
mod rules;
mod sequence;
mod trace;

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use shoal_model::{
    DeadlockKind, IndexVec, Local, LocalId, LocalKind, Model, Property, PropertyId, PropertyKind, Type,
    TypeDef, TypeId, VarId,
};
use shoal_syntax::{
    Diagnostic, DiagnosticCode, Diagnostics, OrReported, Reported, SourceId, SourceMap, Span,
};

use crate::{Options, ast, codes, flow::ProctypeFlow};
use channels::Channels;

/// Makes a model of a program; none if there are errors.
pub(crate) fn lower(
    program: &ast::Program,
    sources: &SourceMap,
    id: SourceId,
    options: &Options,
) -> (Option<Model>, Diagnostics) {
    let mut style = Style::default();
    let mut lowerer = Lowerer::new(program, sources, options, style);
    lowerer.program(id);
    // Each mixture is found once at most, and ends the work on what is not enough.
    while lowerer.needed != style {
        style = lowerer.needed;
        lowerer = Lowerer::new(program, sources, options, style);
        lowerer.program(id);
    }
    let model = (!lowerer.diagnostics.has_errors()).then_some(lowerer.model);
    (model, lowerer.diagnostics)
}

/// How values are stored that some models use as numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// Symbolic constants are an enumeration and shown by name, unless somewhere numbers are used in their place.
    pub(crate) named_constants: bool,
    /// Channel variables hold channels and nothing else.
    pub(crate) pure_channels: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { named_constants: true, pure_channels: true }
    }
}

/// A proctype as it is stored.
pub(crate) struct Proc {
    pub(crate) flow: ProctypeFlow,
    /// Its locations; the first is where a process begins.
    pub(crate) locations: Vec<crate::flow::ElementId>,
    /// How many of it can run at a time.
    pub(crate) capacity: u32,
    /// Whether the capacity is a guess.
    pub(crate) guessed: bool,
    /// Whether a process of it can come to its end.
    pub(crate) ends: bool,
    /// The process numbers of its entries, where they are known.
    pub(crate) pids: Option<Vec<u32>>,
    /// The field of an entry that leads to the frame the process is in.
    pub(crate) frame: usize,
    /// The type of its entries, where they are the elements of a sort.
    pub(crate) entries: Option<TypeId>,
    /// The type of its locations.
    pub(crate) location_type: TypeId,
    /// The type of an entry.
    pub(crate) record: TypeId,
    /// Where its entries are stored.
    pub(crate) var: VarId,
    /// The procedure that goes on with an atomic sequence, if it is needed.
    pub(crate) atomic: Option<shoal_model::FunctionId>,
    priority: priorities::ProcessPriority,
}

/// Where a variable is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum VarStorage {
    /// Nowhere: it always holds the channels that it declares.
    Channel,
    Global(VarId),
    /// The field of the entry of a process.
    Field(usize),
    /// The field of the frame that a process is in.
    Frame(usize),
    /// It is written and never read.
    Nowhere,
}

/// The process that code belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Me {
    pub(crate) proc: usize,
    /// Which entry, if there are several.
    pub(crate) entry: Option<shoal_model::Expr>,
}

/// The model so far and what is needed to go on.
pub(crate) struct Lowerer<'a> {
    program: &'a ast::Program,
    sources: &'a SourceMap,
    options: &'a Options,
    model: Model,
    diagnostics: Diagnostics,
    style: Style,
    /// The style that the program needs, as far as it is known.
    needed: Style,
    boolean: TypeId,
    integer: TypeId,
    /// Types of integers by their range.
    ranges: HashMap<(i64, i64), TypeId>,
    /// Types of symbolic constants by their set.
    mtypes: HashMap<usize, TypeId>,
    /// Types of records.
    records: HashMap<usize, TypeId>,
    channels: Channels,
    /// One more than the greatest value of a channel variable.
    channel_numbers: i64,
    procs: Vec<Proc>,
    heaps: Vec<heap::ObjectHeap>,
    frames: Option<functions::Frames>,
    homes: HashMap<ast::VariableId, VarStorage>,
    /// How many processes run, where that changes.
    processes: Option<VarId>,
    /// How many processes there are while one begins, which is one of them by then.
    born: Option<shoal_model::Expr>,
    /// Which process moved last, where somebody asks.
    last: Option<VarId>,
    /// Where it is noted who moved, where runs are to be fair.
    moved: Option<fairness::Moved>,
    /// The function that says whether a channel exists, where it is needed.
    exists: Option<shoal_model::FunctionId>,
    /// Whether some processes may have higher priorities than others.
    ranked: bool,
    /// The functions that say whether a process of a proctype can move, before a timeout and at one.
    movers: HashMap<(usize, bool), priorities::Mover>,
    /// What is said of the messages of channels, if something is.
    trace: Option<trace::TraceAutomaton>,
    /// Locals of the code that is being made.
    locals: IndexVec<LocalId, Local>,
    /// What `timeout` means at the moment.
    timeout: bool,
    /// Whether `timeout` was asked for since this was last cleared.
    timeout_seen: bool,
    /// Whether code is made for the middle of an atomic sequence, where processes are not where states say.
    in_sequence: bool,
    /// For each proctype, how many steps lead to each of its locations.
    inline: Vec<HashMap<crate::flow::ElementId, usize>>,
    assertions: Option<PropertyId>,
    assumption: Option<PropertyId>,
}

impl<'a> Lowerer<'a> {
    fn new(program: &'a ast::Program, sources: &'a SourceMap, options: &'a Options, style: Style) -> Self {
        let mut model = Model::default();
        let boolean = model.types.push(TypeDef { name: Some("bool".into()), kind: Type::Bool });
        let integer = model.types.push(TypeDef { name: None, kind: Type::INTEGER });
        Lowerer {
            program,
            sources,
            options,
            model,
            diagnostics: Diagnostics::new(),
            style,
            needed: style,
            boolean,
            integer,
            ranges: HashMap::new(),
            mtypes: HashMap::new(),
            records: HashMap::new(),
            channels: Channels::default(),
            channel_numbers: 1,
            procs: Vec::new(),
            heaps: Vec::new(),
            frames: None,
            homes: HashMap::new(),
            processes: None,
            born: None,
            last: None,
            moved: None,
            exists: None,
            ranked: false,
            movers: HashMap::new(),
            trace: None,
            locals: IndexVec::new(),
            timeout: false,
            timeout_seen: false,
            in_sequence: false,
            inline: Vec::new(),
            assertions: None,
            assumption: None,
        }
    }

    fn program(&mut self, id: SourceId) {
        let head = Span::new(id, 0, 0);
        if self.program.proctypes.iter().all(|proctype| proctype.active == 0) {
            let message = "no process ever runs";
            let diagnostic = Diagnostic::error(codes::NO_PROCESS, head, message);
            self.diagnostics.push(diagnostic.help("write `active` before a proctype, or add `init { ... }`"));
            return;
        }
        self.flows();
        if self.diagnostics.has_errors() {
            return;
        }
        self.find_channels();
        self.count_processes();
        self.class_channels();
        self.find_priorities();
        self.refuse_beside_priorities();
        self.find_trace();
        self.merge_steps();
        self.declare_all(head);
        if self.diagnostics.has_errors() {
            return;
        }
        self.start(head);
        self.all_rules();
        if self.needed == self.style {
            self.properties(head);
        }
    }

    fn flows(&mut self) {
        for proctype in &self.program.proctypes {
            let seen = self.labels_seen(&proctype.name.node);
            match crate::flow::flow(proctype, self.program, &seen) {
                Ok(flow) => {
                    let locations = flow.locations();
                    let ends = locations.contains(&flow.end);
                    self.procs.push(Proc {
                        flow,
                        locations,
                        capacity: 0,
                        guessed: false,
                        ends,
                        pids: None,
                        entries: None,
                        frame: 0,
                        location_type: self.integer,
                        record: self.integer,
                        var: shoal_model::TypedId::from_index(0),
                        atomic: None,
                        priority: priorities::ProcessPriority::Fixed(1),
                    });
                }
                Err(wrong) => self.diagnostics.extend(wrong),
            }
        }
    }

    /// Merges steps, if that is wanted.
    fn merge_steps(&mut self) {
        if !self.options.merge {
            return;
        }
        let program = self.program;
        let runs = |proctype: &ast::Proctype| {
            let mut found = false;
            crate::walk::walk_block(&proctype.body, &mut |node| {
                found |= matches!(node, crate::walk::SyntaxNode::Expr(expr) if matches!(expr.kind, ast::ExprKind::Run(..)));
            });
            found
        };
        let others = program.proctypes.iter().filter(|proctype| &*proctype.name.node != "init");
        let only_init_runs = !others.into_iter().any(runs);
        let meets = self.channels.sites.iter().any(|site| site.capacity == 0);
        for (at, proctype) in program.proctypes.iter().enumerate() {
            let all_global = proctype.provided.is_some();
            let promises = self.promises_relied_on(at);
            let proc = &mut self.procs[at];
            proc.flow.merge(&crate::flow::Merging { program, only_init_runs, meets, all_global, promises });
            proc.locations = proc.flow.locations();
        }
    }

    /// The labels of a proctype that others ask for.
    fn labels_seen(&self, proctype: &str) -> HashSet<Rc<str>> {
        let mut seen = HashSet::new();
        self.walk_program(&mut |node| {
            if let crate::walk::SyntaxNode::Expr(expr) = node
                && let ast::ExprKind::At(name, _, label) = &expr.kind
                && *name.node == *proctype
            {
                seen.insert(label.node.clone());
            }
        });
        seen
    }

    /// What SPIN asks of every model.
    fn properties(&mut self, head: Span) {
        let mut add = |name: &str, kind: PropertyKind| {
            self.model.properties.push(Property { name: name.into(), kind, span: head });
        };
        add("no run-time errors", PropertyKind::NoFaults);
        let condition = self.all_may_end(head);
        let kind = PropertyKind::Deadlock(DeadlockKind::StuckUnless(condition));
        let name = "invalid end states".into();
        let deadlock = self.model.properties.push(Property { name, kind, span: head });
        self.model.implied_deadlock = Some(deadlock);
        self.formulas();
        self.weak_fairness(head);
    }

    fn error<T>(&mut self, code: DiagnosticCode, span: Span, message: impl Into<String>) -> OrReported<T> {
        self.report(Diagnostic::error(code, span, message))
    }

    fn report<T>(&mut self, diagnostic: Diagnostic) -> OrReported<T> {
        if !self.diagnostics.iter().any(|known| *known == diagnostic) {
            self.diagnostics.push(diagnostic);
        }
        Err(Reported)
    }

    fn new_local(&mut self, name: impl Into<String>, ty: TypeId, kind: LocalKind, span: Span) -> LocalId {
        self.locals.push(Local { name: name.into(), ty, kind, span })
    }

    /// A local that takes each value of a range.
    fn bound(&mut self, name: &str, span: Span) -> LocalId {
        self.new_local(name, self.integer, LocalKind::Bound, span)
    }

    /// The property of all assertions.
    fn assertions(&mut self, span: Span) -> PropertyId {
        *self.assertions.get_or_insert_with(|| {
            self.model.properties.push(Property {
                name: "assertions".into(),
                kind: PropertyKind::Assertion,
                span,
            })
        })
    }

    /// The property of choices that cannot be made.
    fn assumption(&mut self, span: Span) -> PropertyId {
        *self.assumption.get_or_insert_with(|| {
            let kind = PropertyKind::Assume(None);
            self.model.properties.push(Property { name: "executable".into(), kind, span })
        })
    }

    /// The text at a span, on one line and not too long: a name for what has none.
    fn text_as_name(&self, span: Span) -> String {
        let words: Vec<&str> = self.sources.snippet(span).split_whitespace().collect();
        let text = words.join(" ");
        match text.char_indices().nth(60) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    fn line(&self, span: Span) -> usize {
        self.sources.file(span.source).position(span.start).line
    }
}
