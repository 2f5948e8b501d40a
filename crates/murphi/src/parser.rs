//! Tokens to tree: a recursive-descent parser that reports an error, finds its feet again and goes on.
//!
//! A parsing function returns `Err(Reported)` after it has put a diagnostic on the list; whoever can tell where the next
//! thing begins (a list of statements, of declarations, of rules) skips to it. Two errors are never reported at one token,
//! so an error that several levels stumble over is told once.

mod decl;
mod expr;
mod formula;
mod message;
mod rule;
mod stmt;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use shoal_syntax::{Diagnostic, Diagnostics, OrReported, Reported, SourceId, Span, Spanned};

use crate::ast::{Name, Program, Text};
use crate::codes;
use crate::lexer::lex;
use crate::token::{Keyword, SOFT_WORDS, Token, TokenKind};

/// How many constructs (statements, rules, types, operators, parentheses) may stand inside one another.
///
/// The deepest text parses within half of the 2 MiB stack of a thread, in a debug build too (see the tests).
pub const MAX_DEPTH: usize = 256;

/// Parses a model. The tree is complete if there are no errors; see [`crate::ast`] for what it is otherwise.
pub fn parse(source: SourceId, text: &str) -> (Program, Diagnostics) {
    let (tokens, diagnostics) = lex(source, text);
    let mut parser = Parser {
        source,
        text,
        tokens,
        pos: 0,
        diagnostics,
        open: Vec::new(),
        depth: 0,
        reach: 0,
        last_error: None,
        else_if: None,
        declared: HashSet::new(),
        branching: false,
    };
    let program = parser.program();
    (program, parser.diagnostics)
}

struct Parser<'s> {
    source: SourceId,
    text: &'s str,
    tokens: Vec<Token>,
    pos: usize,
    diagnostics: Diagnostics,
    /// What is open around the current token, outermost first.
    open: Vec<OpenConstruct>,
    /// How many constructs are open.
    depth: usize,
    /// How deep the tree of the current expression goes: `x + y = z` puts `x` under the `=`, which was not open then.
    reach: usize,
    /// The token of the last error.
    last_error: Option<usize>,
    /// The last `else if` of this rule or procedure: the usual reason for a missing `end`.
    else_if: Option<Span>,
    /// Soft words that the model uses as names.
    declared: HashSet<String>,
    /// Whether the formula that is read is of branching time.
    branching: bool,
}

/// A construct that needs a closing word.
#[derive(Clone, Copy, Debug)]
struct OpenConstruct {
    block: BlockKind,
    /// Its first word.
    opener: Span,
}

/// The constructs that end with `end` or a word of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    Alias,
    Choose,
    Exists,
    For,
    Forall,
    If,
    Procedure,
    Record,
    Rule,
    Ruleset,
    StartState,
    Switch,
    While,
}

impl BlockKind {
    /// What opens it, and after `end` closes it.
    fn word(self) -> &'static str {
        match self {
            BlockKind::Alias => "alias",
            BlockKind::Choose => "choose",
            BlockKind::Exists => "exists",
            BlockKind::For => "for",
            BlockKind::Forall => "forall",
            BlockKind::If => "if",
            BlockKind::Procedure => "procedure",
            BlockKind::Record => "record",
            BlockKind::Rule => "rule",
            BlockKind::Ruleset => "ruleset",
            BlockKind::StartState => "startstate",
            BlockKind::Switch => "switch",
            BlockKind::While => "while",
        }
    }

    /// Whether a closing word in small letters, other than plain `end`, is its own. Rumur does not tell procedures from
    /// functions here.
    fn closed_by(self, word: &str) -> bool {
        match word.strip_prefix("end") {
            Some("function") => self == BlockKind::Procedure,
            Some(rest) => rest == self.word(),
            None => false,
        }
    }
}

/// Looking at tokens.
impl Parser<'_> {
    fn token(&self) -> Token {
        self.tokens[self.pos]
    }

    fn kind(&self) -> TokenKind {
        self.tokens[self.pos].kind
    }

    /// The kind of the token `ahead` places on; the end of the text repeats for ever.
    fn peek(&self, ahead: usize) -> TokenKind {
        self.tokens[(self.pos + ahead).min(self.tokens.len() - 1)].kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// The last token taken; the start of the text if there is none.
    fn previous(&self) -> Span {
        match self.pos.checked_sub(1) {
            Some(pos) => self.tokens[pos].span,
            None => Span::new(self.source, 0, 0),
        }
    }

    /// From the start of one place to the last token taken.
    fn since(&self, start: Span) -> Span {
        if self.previous().end < start.end { start } else { start.to(self.previous()) }
    }

    fn slice(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn at_keyword(&self, keyword: Keyword) -> bool {
        self.at(TokenKind::Keyword(keyword))
    }

    /// The soft word the current token is, in small letters, unless the model has declared it.
    fn soft_word(&self) -> Option<&'static str> {
        if !self.at(TokenKind::Ident) {
            return None;
        }
        let word = self.slice(self.span());
        let soft = SOFT_WORDS.iter().find(|soft| soft.eq_ignore_ascii_case(word))?;
        (!self.declared.contains(word)).then_some(*soft)
    }

    fn at_soft(&self, word: &str) -> bool {
        self.soft_word() == Some(word)
    }

    /// The closing word at the current token, in small letters.
    fn closer(&self) -> Option<&'static str> {
        match self.kind() {
            TokenKind::Keyword(keyword) if keyword.is_closer() => Some(keyword.text()),
            TokenKind::Ident if self.at_soft("endchoose") && !self.designator_follows() => Some("endchoose"),
            _ => None,
        }
    }

    /// Whether what follows makes the current word the beginning of an assignment or call.
    fn designator_follows(&self) -> bool {
        use TokenKind::{Assign, Dot, LeftBracket, LeftParen};
        matches!(self.peek(1), Assign | Dot | LeftBracket | LeftParen)
    }
}

/// Taking tokens.
impl Parser<'_> {
    /// Takes the current token; the end of the text is never passed.
    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::Eof {
            self.pos += 1;
        }
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn eat_keyword(&mut self, keyword: Keyword) -> bool {
        self.eat(TokenKind::Keyword(keyword))
    }

    fn eat_semicolons(&mut self) {
        while self.eat(TokenKind::Semicolon) {}
    }

    fn expect(&mut self, kind: TokenKind, context: &str) -> OrReported<Span> {
        if self.at(kind) {
            return Ok(self.bump().span);
        }
        let text = kind.text().unwrap_or("a token");
        Err(self.unexpected(&format!("`{text}` {context}"), &[text]))
    }

    fn expect_keyword(&mut self, keyword: Keyword, context: &str) -> OrReported<Span> {
        self.expect(TokenKind::Keyword(keyword), context)
    }

    /// A name, declared here or used.
    fn name(&mut self, what: &str) -> OrReported<Name> {
        if self.at(TokenKind::Ident) {
            let span = self.bump().span;
            return Ok(Spanned::new(self.slice(span).to_string(), span));
        }
        if let TokenKind::Keyword(_) = self.kind() {
            return Err(self.keyword_as_name(what));
        }
        Err(self.unexpected(what, &[]))
    }

    /// A name that is declared here: a soft word among them is no keyword from now on.
    fn new_name(&mut self, what: &str) -> OrReported<Name> {
        let name = self.name(what)?;
        self.declare(&name);
        Ok(name)
    }

    fn declare(&mut self, name: &Name) {
        if SOFT_WORDS.iter().any(|soft| soft.eq_ignore_ascii_case(&name.node)) {
            self.declared.insert(name.node.clone());
        }
    }

    /// Names that are declared here, up to the `:`.
    fn new_names(&mut self, what: &str) -> OrReported<Vec<Name>> {
        let names = self.names(what)?;
        names.iter().for_each(|name| self.declare(name));
        Ok(names)
    }

    /// `a, b, c` and perhaps a last comma. A keyword in the place of a name is reported and taken as one.
    fn names(&mut self, what: &str) -> OrReported<Vec<Name>> {
        let mut names = vec![self.name_or_keyword(what)?];
        while self.eat(TokenKind::Comma) && !self.at(TokenKind::Colon) {
            names.push(self.name_or_keyword(what)?);
        }
        Ok(names)
    }

    fn name_or_keyword(&mut self, what: &str) -> OrReported<Name> {
        let is_keyword = matches!(self.kind(), TokenKind::Keyword(_));
        if is_keyword && matches!(self.peek(1), TokenKind::Colon | TokenKind::Comma) {
            self.keyword_as_name(what);
            let span = self.bump().span;
            return Ok(Spanned::new(self.slice(span).to_string(), span));
        }
        self.name(what)
    }

    fn text_opt(&mut self) -> Option<Text> {
        self.at(TokenKind::String).then(|| self.take_text())
    }

    fn expect_text(&mut self, context: &str) -> OrReported<Text> {
        match self.text_opt() {
            Some(text) => Ok(text),
            None => Err(self.unexpected(&format!("a string {context}"), &[])),
        }
    }

    fn take_text(&mut self) -> Text {
        let span = self.bump().span;
        let quoted = self.slice(span);
        let inner = quoted.strip_prefix(['"', '“']).unwrap_or(quoted);
        let inner = inner.strip_suffix(['"', '”']).unwrap_or(inner);
        Spanned::new(inner.to_string(), span)
    }
}

/// Blocks and depth.
impl Parser<'_> {
    /// Parses something that is nested in what is being parsed.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> OrReported<T>) -> OrReported<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.too_deep());
        }
        self.depth += 1;
        self.reach = self.reach.max(self.depth);
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Gives up on the whole text: whatever follows is inside the same nest.
    fn too_deep(&mut self) -> Reported {
        let message = format!("this is nested more than {MAX_DEPTH} levels deep");
        let diagnostic = Diagnostic::error(codes::TOO_DEEP, self.span(), message)
            .help("name a part of it: a function, a constant or an alias");
        let reported = self.report(diagnostic);
        self.pos = self.tokens.len() - 1;
        self.last_error = Some(self.pos);
        reported
    }

    fn open(&mut self, block: BlockKind, opener: Span) {
        self.open.push(OpenConstruct { block, opener });
    }

    /// Takes the word that closes the innermost block. If it is missing that is reported, and the block is closed there.
    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        match self.closer() {
            Some("end") => {
                self.bump();
            }
            Some(word) if open.block.closed_by(word) => {
                self.bump();
            }
            Some(word) => self.wrong_closer(open, word),
            None => self.missing_end(open),
        }
    }

    /// The closer of another block: if that block is open, ours was forgotten; otherwise the word itself is wrong.
    fn wrong_closer(&mut self, open: OpenConstruct, word: &str) {
        if self.open.iter().any(|outer| outer.block.closed_by(word)) {
            return self.missing_end(open);
        }
        let opened = open.block.word();
        let message = format!("`{word}` cannot close this `{opened}`");
        let diagnostic = Diagnostic::error(codes::WRONG_CLOSER, self.span(), message)
            .at(format!("expected `end{opened}` or `end`"))
            .also(open.opener, "opened here");
        self.report(diagnostic);
        self.bump();
    }

    fn missing_end(&mut self, open: OpenConstruct) {
        let opened = open.block.word();
        let found = self.describe();
        let message = format!("expected `end{opened}` or `end`, found {found}");
        let mut diagnostic = Diagnostic::error(codes::MISSING_END, self.span(), message)
            .at(format!("the `{opened}` is still open here"))
            .also(open.opener, "opened here");
        if self.at_keyword(Keyword::Begin) {
            diagnostic = diagnostic.help("`begin` stands only before the statements of a rule or procedure");
        } else if self.at_outer_item() && open.block != BlockKind::Record {
            diagnostic = diagnostic.help("declarations and procedures stand outside of rules and rulesets");
        } else if let Some(else_if) = self.else_if {
            diagnostic = diagnostic
                .also(else_if, "this `if` needs an `end` of its own")
                .help("to add a condition to an `if`, write `elsif` instead of `else if`");
        } else if let Some(help) = self.slip() {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic);
    }
}
