//! From syntax tree to Model: names are resolved, types are checked, dialects are decided.
//!
//! Every function here that returns a [`OrReported`] value has reported what is wrong when it returns [`Reported`];
//! the caller just goes on with the next thing, so that one run reports several mistakes.
//!
//! Where the dialects differ in meaning, the difference is written out in the Model (`Read` against `Peek`,
//! references against copies), so nothing after this crate knows that there are dialects.

mod call;
mod decl;
mod expr;
mod formula;
mod place;
mod rule;
mod scope;
mod stmt;
mod types;

use std::collections::HashMap;

use shoal_model::{
    DeadlockKind, IndexVec, Local, LocalId, LocalKind, Model, Place, Property, PropertyKind, Type, TypeDef,
    TypeId, fold,
};
use shoal_syntax::{
    Advice, Diagnostic, DiagnosticCode, Diagnostics, OrReported, Reported, Settable, SourceMap, Span,
};

use crate::{Dialect, Options, ast, codes};
use scope::Scopes;

/// Makes a model of a program, and says what some constants are used for.
pub(crate) fn lower_and_trace(
    program: &ast::Program,
    sources: &SourceMap,
    options: &Options,
    names: &[String],
) -> (Model, Diagnostics, NumberUses) {
    let mut lowerer = Lowerer::new(sources, options);
    lowerer.uses.names = names.to_vec();
    for item in &program.items {
        lowerer.item(item);
    }
    lowerer.finish(program)
}

/// What constants are used for that are to be any number.
#[derive(Clone, Debug, Default)]
pub(crate) struct NumberUses {
    /// Their names.
    names: Vec<String>,
    /// Where they are declared, and constants that are made of them.
    declared: Vec<Span>,
    /// Uses other than those below.
    pub(crate) elsewhere: Vec<Span>,
    /// Sizes of scalarsets.
    pub(crate) sizes: Vec<Span>,
    /// Ranges that end with them, and begin with a number.
    pub(crate) bounds: Vec<TypeId>,
    /// Ranges that begin with their contrary.
    pub(crate) falling: Vec<TypeId>,
    /// Multisets that have as many places.
    pub(crate) capacities: Vec<TypeId>,
}

/// The model so far and what is needed to go on.
pub(crate) struct Lowerer<'a> {
    sources: &'a SourceMap,
    options: &'a Options,
    model: Model,
    diagnostics: Diagnostics,
    scopes: Scopes,
    /// The type of truth values.
    boolean: TypeId,
    /// The type of all integer results.
    integer: TypeId,
    /// Types already made, by where they stand: the head of a ruleset is visited once for each rule in it.
    types_by_span: HashMap<Span, TypeId>,
    /// Names of constants that `--set` has been applied to.
    constants_set: Vec<String>,
    /// Locals of the code that is being lowered.
    locals: IndexVec<LocalId, Local>,
    /// What the aliases among them stand for.
    aliases: HashMap<LocalId, Place>,
    /// The result of the function that is being lowered; `None` outside functions.
    result: Option<Option<TypeId>>,
    /// Places where only pure functions may be called, with what they are.
    pure_calls: Vec<(shoal_model::FunctionId, Span)>,
    /// Whether the code that is being lowered must not change the state.
    in_pure: bool,
    /// What constants are used for that are to be any number.
    uses: NumberUses,
}

impl<'a> Lowerer<'a> {
    fn new(sources: &'a SourceMap, options: &'a Options) -> Self {
        let mut model = Model::default();
        let boolean = model.types.push(TypeDef { name: Some("boolean".into()), kind: Type::Bool });
        let integer = model.types.push(TypeDef { name: None, kind: Type::INTEGER });
        Lowerer {
            sources,
            options,
            model,
            diagnostics: Diagnostics::new(),
            scopes: Scopes::new(),
            boolean,
            integer,
            types_by_span: HashMap::new(),
            constants_set: Vec::new(),
            locals: IndexVec::new(),
            aliases: HashMap::new(),
            result: None,
            pure_calls: Vec::new(),
            in_pure: false,
            uses: NumberUses::default(),
        }
    }

    fn item(&mut self, item: &ast::Item) {
        match item {
            ast::Item::Decl(decl) => self.global_decl(decl),
            ast::Item::Procedure(procedure) => self.procedure(procedure),
            ast::Item::Extern(external) => {
                let message = format!("`{}` is C++ code, which Shoal does not run", external.name.node);
                let diagnostic = Diagnostic::error(codes::UNSUPPORTED, external.span, message)
                    .help("write it as a Murphi function or procedure");
                self.diagnostics.push(diagnostic);
            }
            ast::Item::Rule(rule) => self.rule_group(rule, &mut Vec::new()),
        }
    }

    fn finish(mut self, program: &ast::Program) -> (Model, Diagnostics, NumberUses) {
        let head = crate::file_start(program.span.source);
        for (name, _) in &self.options.set {
            if !self.constants_set.contains(name) {
                let constants = self.scopes.global_constants();
                let near = shoal_syntax::did_you_mean(name, constants.iter().map(String::as_str));
                let message = format!("there is no constant `{name}` to set");
                let error = Diagnostic::error(codes::BAD_SET, head, message);
                self.diagnostics.push(match near {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.advise(Advice::SetDeclared(Settable::Constant)),
                });
            }
        }
        if self.model.starts.is_empty() && !self.diagnostics.has_errors() {
            let diagnostic = Diagnostic::error(codes::NO_START, head, "the model has no start state")
                .help("add `startstate begin ... end;`");
            self.diagnostics.push(diagnostic);
        }
        self.check_purity();
        self.model.properties.push(Property {
            name: "no run-time errors".into(),
            kind: PropertyKind::NoFaults,
            span: head,
        });
        let deadlock = self.model.properties.push(Property {
            name: "deadlock".into(),
            kind: PropertyKind::Deadlock(DeadlockKind::Stuttering),
            span: head,
        });
        self.model.implied_deadlock = Some(deadlock);
        (self.model, self.diagnostics, self.uses)
    }

    /// The uses of constants in what has been lowered since there were so many, if the expression is one of them, plus or
    /// minus a number: then it grows with the constant.
    fn taken_back(&mut self, before: usize, expr: &ast::Expr) -> bool {
        let shift = self.uses.elsewhere.len() == before + 1 && is_shift(expr);
        if shift {
            self.uses.elsewhere.truncate(before);
        }
        shift
    }

    /// Both peers let a guard call a function that changes the state, and then explore states that no rule made.
    fn check_purity(&mut self) {
        let pure = self.model.pure_functions();
        for (function, span) in std::mem::take(&mut self.pure_calls) {
            if !pure[shoal_model::TypedId::index(function)] {
                let function = &self.model.functions[function];
                let message =
                    format!("`{}` changes the state, but is called where nothing may change", function.name);
                let diagnostic = Diagnostic::error(codes::IMPURE, span, message)
                    .also(function.span, "it is declared here")
                    .help("guards and properties only look at the state; move the change into the body of a rule");
                self.diagnostics.push(diagnostic);
            }
        }
    }

    /// Reports an error; a second report of the same thing (from another rule of a ruleset) is dropped.
    fn error<T>(&mut self, code: DiagnosticCode, span: Span, message: impl Into<String>) -> OrReported<T> {
        self.report(Diagnostic::error(code, span, message))
    }

    fn report<T>(&mut self, diagnostic: Diagnostic) -> OrReported<T> {
        if !self.diagnostics.iter().any(|known| *known == diagnostic) {
            self.diagnostics.push(diagnostic);
        }
        Err(Reported)
    }

    fn is_cmurphi(&self) -> bool {
        self.options.dialect == Dialect::Cmurphi
    }

    /// Begins a new piece of code, without locals.
    fn begin_code(&mut self) {
        self.locals = IndexVec::new();
        self.aliases.clear();
    }

    /// A new local of the code that is being lowered.
    fn new_local(&mut self, name: impl Into<String>, ty: TypeId, kind: LocalKind, span: Span) -> LocalId {
        self.locals.push(Local { name: name.into(), ty, kind, span })
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
}

/// Whether an expression is a name, plus or minus a number.
fn is_shift(expr: &ast::Expr) -> bool {
    let plain = |expr: &ast::Expr| matches!(&expr.kind, ast::ExprKind::Designator(it) if it.path.is_empty());
    let number = |expr: &ast::Expr| matches!(expr.kind, ast::ExprKind::Int(_));
    match &expr.kind {
        ast::ExprKind::Chain { first, links } => match links.as_slice() {
            [link] => match link.op.node {
                ast::BinaryOp::Add => {
                    (plain(first) && number(&link.operand)) || (number(first) && plain(&link.operand))
                }
                ast::BinaryOp::Sub => plain(first) && number(&link.operand),
                _ => false,
            },
            _ => false,
        },
        _ => plain(expr),
    }
}
