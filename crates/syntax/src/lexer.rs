//! Text to tokens, for languages that differ in their comments and symbols only.

use crate::{Diagnostic, Diagnostics, SourceId, Span, codes};

/// What a language's text is made of, apart from names and numbers.
#[derive(Clone, Copy, Debug)]
pub struct Lexicon {
    /// What begins a comment that ends with the line.
    pub line_comment: &'static str,
    /// Whether `/*` begins a comment that `*/` ends.
    pub block_comments: bool,
    /// The symbols, longer ones before those they begin with.
    pub symbols: &'static [&'static str],
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Token<'s> {
    /// What it is.
    pub kind: TokenKind<'s>,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TokenKind<'s> {
    /// A name or a keyword.
    Word(&'s str),
    /// A number that is not negative.
    Number(i64),
    /// A text in double quotes, without them.
    Text(&'s str),
    /// One of the symbols of the language.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

/// Splits a text into tokens; the last is always the end. What cannot be read is reported and left out.
/// Spans begin at `offset`: the text may be a part of a file.
pub fn lex<'s>(
    source: SourceId,
    text: &'s str,
    offset: usize,
    lexicon: &Lexicon,
) -> (Vec<Token<'s>>, Diagnostics) {
    let mut tokens = Vec::new();
    let mut diagnostics = Diagnostics::new();
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let span = |length: usize| Span::new(source, offset + at, offset + at + length);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut length = next.len_utf8();
        let mut push = |kind: TokenKind<'s>, length: usize| tokens.push(Token { kind, span: span(length) });
        if next.is_whitespace() || next == '\u{feff}' {
        } else if rest.starts_with(lexicon.line_comment) {
            length = rest.find('\n').unwrap_or(rest.len());
        } else if lexicon.block_comments && rest.starts_with("/*") {
            length = match rest.find("*/") {
                Some(end) => end + 2,
                None => {
                    let message = "a comment is never closed";
                    diagnostics.push(Diagnostic::error(codes::UNCLOSED, span(2), message));
                    rest.len()
                }
            };
        } else if next.is_ascii_digit() {
            length = rest.find(|c: char| !word(c)).unwrap_or(rest.len());
            match rest[..length].parse() {
                Ok(number) => push(TokenKind::Number(number), length),
                Err(_) => {
                    let message = format!("`{}` is no number of 64 bits", &rest[..length]);
                    diagnostics.push(Diagnostic::error(codes::BAD_NUMBER, span(length), message));
                }
            }
        } else if next.is_ascii_alphabetic() || next == '_' {
            length = rest.find(|c: char| !word(c)).unwrap_or(rest.len());
            push(TokenKind::Word(&rest[..length]), length);
        } else if next == '"' {
            match rest[1..].find(['"', '\n']).filter(|end| rest[1 + end..].starts_with('"')) {
                Some(end) => {
                    length = end + 2;
                    push(TokenKind::Text(&rest[1..=end]), length);
                }
                None => {
                    let message = "a text has no closing quote";
                    diagnostics.push(Diagnostic::error(codes::UNCLOSED, span(1), message));
                    length = rest.find('\n').unwrap_or(rest.len());
                }
            }
        } else if let Some(symbol) = lexicon.symbols.iter().find(|symbol| rest.starts_with(**symbol)) {
            length = symbol.len();
            push(TokenKind::Symbol(symbol), length);
        } else {
            let message = format!("`{next}` means nothing here");
            diagnostics.push(Diagnostic::error(codes::UNKNOWN_CHARACTER, span(length), message));
        }
        at += length;
    }
    tokens.push(Token { kind: TokenKind::End, span: Span::new(source, offset + at, offset + at) });
    (tokens, diagnostics)
}
