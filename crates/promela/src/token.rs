//! Tokens.

use std::rc::Rc;

use shoal_syntax::Span;

/// A token with its place and what stood before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands. A token of a macro's body stands where the macro is used.
    pub span: Span,
    /// Whether it is the first of its line. A line that ends in `\` goes on in the next.
    pub first: bool,
    /// Whether a blank stands before it.
    pub spaced: bool,
}

/// The kinds of token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A name or a keyword.
    Word(Rc<str>),
    /// A number or a character.
    Int(i64),
    /// A string, without its quotes.
    Text(Rc<str>),
    /// A symbol.
    Symbol(&'static str),
    /// The end of the source.
    End,
}

impl Token {
    /// The word, if it is one.
    pub fn word(&self) -> Option<&Rc<str>> {
        match &self.kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Whether it is this word.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, TokenKind::Word(known) if **known == *word)
    }

    /// Whether it is this symbol.
    pub fn is(&self, symbol: &str) -> bool {
        matches!(&self.kind, TokenKind::Symbol(known) if *known == symbol)
    }

    /// How it is written.
    pub fn text(&self) -> String {
        match &self.kind {
            TokenKind::Word(word) => word.to_string(),
            TokenKind::Int(value) => value.to_string(),
            TokenKind::Text(text) => format!("\"{text}\""),
            TokenKind::Symbol(symbol) => (*symbol).to_string(),
            TokenKind::End => "the end of the file".to_string(),
        }
    }
}

/// The symbols, longer ones before their beginnings.
pub const SYMBOLS: &[&str] = &[
    "<->", "...", "->", "++", "--", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "::", "..", "!!", "??",
    "##", "[]", "<>", "+", "-", "*", "/", "%", "=", "<", ">", "!", "~", "&", "|", "^", "(", ")", "[", "]",
    "{", "}", ",", ";", ":", "?", ".", "@", "#", "$", "'", "\"",
];

/// Operators with two operands, the loosest first.
pub(crate) const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", ">", "<=", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];
