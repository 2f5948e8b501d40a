//! From tokens to the syntax tree. Variables are declared before they are used, so they are resolved here; `inline`
//! works on tokens, so it is expanded here too.

mod decl;
mod expr;
mod labels;
mod record_channels;
mod stmt;
mod unit;

use std::{collections::HashMap, rc::Rc};

use shoal_syntax::{
    Diagnostic, DiagnosticCode, Diagnostics, OrReported, Reported, Span, Spanned, did_you_mean,
};

use crate::{
    ast::{Init, Mtype, Name, Program, Promise, Type, VarRef, VariableId},
    codes,
    token::{Token, TokenKind},
};

/// So deeply may statements and expressions be nested.
const MOST_DEPTH: usize = 400;
/// So many tokens may there be when all inlines are expanded.
const MOST_TOKENS: usize = 4_000_000;
/// After so many errors the rest is not read.
const MOST_ERRORS: usize = 20;

/// Reads a source. `dynamic`: with pointers, objects and functions.
pub(crate) fn parse(tokens: Vec<Token>, dynamic: bool) -> (Program, Diagnostics) {
    let mut parser = Parser {
        tokens,
        at: 0,
        dynamic,
        program: Program { mtypes: vec![Mtype { name: None, constants: Vec::new() }], ..Program::default() },
        diagnostics: Diagnostics::new(),
        scopes: vec![HashMap::new()],
        inlines: HashMap::new(),
        active_inlines: Vec::new(),
        results: Vec::new(),
        proctype: None,
        in_function: false,
        in_trace: false,
        formulas: Vec::new(),
        functions: Vec::new(),
        depth: 0,
        in_formula: false,
        record_channels: HashMap::new(),
        labels: labels::Labels::default(),
    };
    parser.find_functions();
    parser.units();
    parser.late_formulas();
    (parser.program, parser.diagnostics)
}

/// What a name stands for.
#[derive(Clone, Debug)]
enum Entity {
    Variable(VariableId),
    /// A constant of a set, with its place.
    Mtype(usize, Rc<str>),
    Typedef(usize),
}

#[derive(Clone, Debug)]
struct Inline {
    params: Vec<Rc<str>>,
    body: Vec<Token>,
}

/// The variables of the proctype that is being read.
#[derive(Default)]
struct Current {
    variables: Vec<VariableId>,
    promises: Vec<Promise>,
    /// Whether a statement was read already.
    begun: bool,
}

/// What a declaration declares before it is known where it goes.
struct DeclaredItem {
    name: Name,
    ty: Type,
    length: Option<u32>,
    init: Option<Init>,
    hidden: bool,
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    dynamic: bool,
    program: Program,
    diagnostics: Diagnostics,
    scopes: Vec<HashMap<Rc<str>, Entity>>,
    inlines: HashMap<Rc<str>, Inline>,
    active_inlines: Vec<Rc<str>>,
    /// Where `return` in an inline puts its value.
    results: Vec<Option<Option<VarRef>>>,
    proctype: Option<Current>,
    in_function: bool,
    /// Whether what is sent and received is told of, not done.
    in_trace: bool,
    /// Formulas are read when all variables are known.
    formulas: Vec<(Option<Name>, Vec<Token>)>,
    /// The names of functions, which may be used before they are declared.
    functions: Vec<Rc<str>>,
    depth: usize,
    in_formula: bool,
    /// The channels that fields of variables declare.
    record_channels: HashMap<(VariableId, record_channels::ChannelPath), VariableId>,
    /// The labels and jumps of the proctype that is being read.
    labels: labels::Labels,
}

/// The place of both, where they are of one file.
fn join(first: Span, last: Span) -> Span {
    if first.source == last.source { first.to(last) } else { first }
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, symbol: &str) -> bool {
        self.peek().is(symbol)
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek().is_word(word)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: &'static str) -> OrReported<Span> {
        if self.is(symbol) { Ok(self.advance().span) } else { self.unexpected(&format!("`{symbol}`")) }
    }

    fn expect_word(&mut self, word: &'static str) -> OrReported<Span> {
        if self.is_word(word) { Ok(self.advance().span) } else { self.unexpected(&format!("`{word}`")) }
    }

    fn name(&mut self, what: &str) -> OrReported<Name> {
        match self.peek().word().cloned() {
            Some(word) if !is_reserved(&word) => Ok(Spanned::new(word, self.advance().span)),
            _ => self.unexpected(what),
        }
    }

    /// Where the token before stands.
    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn span_from(&self, start: Span) -> Span {
        join(start, self.last_span())
    }

    fn unexpected<T>(&mut self, wanted: &str) -> OrReported<T> {
        let token = self.peek().clone();
        let found = match &token.kind {
            TokenKind::End => "the end of the file".to_string(),
            TokenKind::Symbol("'" | "\"") => {
                let message = "this quote is never closed on its line";
                return self.error(codes::UNCLOSED_STRING, token.span, message);
            }
            _ => format!("`{}`", token.text()),
        };
        self.error(codes::UNEXPECTED, token.span, format!("{wanted} is expected here, not {found}"))
    }

    fn unsupported<T>(&mut self, span: Span, what: &str) -> OrReported<T> {
        self.error(codes::UNSUPPORTED, span, format!("not supported: {what}"))
    }

    /// The same, and what could be done instead.
    fn unsupported_but<T>(&mut self, span: Span, what: &str, help: &str) -> OrReported<T> {
        self.report(Diagnostic::error(codes::UNSUPPORTED, span, format!("not supported: {what}")).help(help))
    }

    /// Processes have priorities.
    fn with_priorities(&mut self, span: Span) {
        self.program.priorities.get_or_insert(span);
    }

    fn no_c<T>(&mut self, span: Span, word: &str) -> OrReported<T> {
        let help = "what it does can be written in Promela, in an `inline` or in `d_step`";
        self.unsupported_but(span, &format!("C code (`{word}`)"), help)
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

    /// Runs a part of the parser one level deeper.
    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> OrReported<T>) -> OrReported<T> {
        if self.depth >= MOST_DEPTH {
            let span = self.peek().span;
            return self.error(codes::TOO_DEEP, span, "this is nested too deeply");
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn lookup(&self, name: &str) -> Option<&Entity> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name))
    }

    fn unknown<T>(&mut self, name: &Name) -> OrReported<T> {
        if &*name.node == STDIN {
            return self.report(no_input(name.span));
        }
        let known: Vec<Rc<str>> = self.scopes.iter().flat_map(|scope| scope.keys().cloned()).collect();
        let near = did_you_mean(&name.node, known.iter().map(|name| &**name)).map(str::to_string);
        let mut diagnostic =
            Diagnostic::error(codes::UNKNOWN_NAME, name.span, format!("`{}` is not declared", name.node));
        if let Some(near) = near {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        self.report(diagnostic)
    }

    /// The number that a constant of a set has: later declarations get higher numbers, so it is looked up at the end.
    fn mtype_number(&self, set: usize, name: &str) -> u32 {
        let constants = &self.program.mtypes[set].constants;
        constants.iter().position(|known| **known == *name).map_or(0, |at| at as u32 + 1)
    }

    /// Puts the tokens of an inline that is called here in the place of the call.
    fn splice(&mut self, tokens: Vec<Token>) -> OrReported<()> {
        if self.tokens.len() + tokens.len() > MOST_TOKENS {
            let span = self.peek().span;
            return self.error(codes::TOO_DEEP, span, "inlines expand to too many tokens");
        }
        self.tokens.splice(self.at..self.at, tokens);
        Ok(())
    }
}

/// Words that cannot be names.
const RESERVED: &[&str] = &[
    "active",
    "assert",
    "atomic",
    "bit",
    "bool",
    "break",
    "byte",
    "c_code",
    "c_decl",
    "c_expr",
    "c_state",
    "c_track",
    "chan",
    "D_proctype",
    "do",
    "d_step",
    "else",
    "empty",
    "enabled",
    "eval",
    "false",
    "fi",
    "for",
    "full",
    "goto",
    "hidden",
    "if",
    "init",
    "inline",
    "int",
    "len",
    "ltl",
    "mtype",
    "nempty",
    "never",
    "nfull",
    "notrace",
    "np_",
    "od",
    "of",
    "pc_value",
    "pid",
    "printf",
    "printm",
    "proctype",
    "provided",
    "run",
    "select",
    "short",
    "skip",
    "timeout",
    "trace",
    "true",
    "typedef",
    "unless",
    "unsigned",
    "xr",
    "xs",
];

/// The channel from which SPIN's simulator reads what is typed.
const STDIN: &str = "STDIN";

fn no_input(span: Span) -> Diagnostic {
    Diagnostic::error(codes::UNSUPPORTED, span, "not supported: `STDIN`, what is typed while the model runs")
}

fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word)
}
