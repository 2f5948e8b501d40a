//! From text to tokens. Directives of the preprocessor are tokens like all others here.

use shoal_syntax::{Diagnostic, Diagnostics, SourceId, Span};

use crate::{
    codes,
    token::{SYMBOLS, Token, TokenKind},
};

/// The tokens of a text, without an end.
pub fn lex(source: SourceId, text: &str) -> (Vec<Token>, Diagnostics) {
    let mut lexer = Lexer {
        source,
        text,
        pos: 0,
        first: true,
        spaced: false,
        tokens: Vec::new(),
        diagnostics: Diagnostics::new(),
    };
    while lexer.pos < text.len() {
        lexer.next();
    }
    (lexer.tokens, lexer.diagnostics)
}

struct Lexer<'t> {
    source: SourceId,
    text: &'t str,
    pos: usize,
    first: bool,
    spaced: bool,
    tokens: Vec<Token>,
    diagnostics: Diagnostics,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.pos..]
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(self.source, start, self.pos)
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = self.span_from(start);
        self.tokens.push(Token { kind, span, first: self.first, spaced: self.spaced });
        self.first = false;
        self.spaced = false;
    }

    fn error(&mut self, code: shoal_syntax::DiagnosticCode, start: usize, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(code, self.span_from(start), message));
    }

    fn skip_while(&mut self, keep: impl Fn(char) -> bool) {
        let rest = self.rest();
        let length = rest.find(|c: char| !keep(c)).unwrap_or(rest.len());
        self.pos += length;
    }

    fn next(&mut self) {
        let start = self.pos;
        let rest = self.rest();
        let Some(character) = rest.chars().next() else { return };
        if character == '\n' {
            self.pos += 1;
            self.first = true;
            self.spaced = true;
        } else if rest.starts_with("\\\n") || rest.starts_with("\\\r\n") {
            self.pos += rest.find('\n').unwrap_or(0) + 1;
            self.spaced = true;
        } else if character.is_whitespace() || character == '\u{feff}' {
            self.pos += character.len_utf8();
            self.spaced = true;
        } else if rest.starts_with("//") {
            self.skip_while(|c| c != '\n');
            self.spaced = true;
        } else if rest.starts_with("/*") {
            self.comment();
        } else if character.is_ascii_digit() {
            self.number();
        } else if character.is_alphabetic() || character == '_' {
            self.skip_while(|c| c.is_alphanumeric() || c == '_');
            let word = self.text[start..self.pos].into();
            self.push(TokenKind::Word(word), start);
        } else if character == '"' {
            self.string();
        } else if character == '\'' {
            self.character();
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            self.pos += symbol.len();
            self.push(TokenKind::Symbol(symbol), start);
        } else {
            self.pos += character.len_utf8();
            let message = format!("the character `{}` means nothing in Promela", character.escape_debug());
            self.error(codes::UNKNOWN_CHARACTER, start, message);
        }
    }

    fn comment(&mut self) {
        let start = self.pos;
        let Some(length) = self.rest()[2..].find("*/") else {
            self.pos += 2;
            self.error(codes::UNCLOSED_COMMENT, start, "this comment is never closed");
            self.pos = self.text.len();
            return;
        };
        self.pos += 2 + length + 2;
        // A line that begins within a comment begins nevertheless, but a directive may hold a comment of many lines.
        if self.text[start..self.pos].contains('\n') && !self.in_directive() {
            self.first = true;
        }
        self.spaced = true;
    }

    /// Whether the line that the last token stands on is a directive.
    fn in_directive(&self) -> bool {
        let line = self.tokens.iter().rposition(|token| token.first);
        !self.first && line.is_some_and(|first| self.tokens[first].is("#"))
    }

    fn number(&mut self) {
        let start = self.pos;
        let hexadecimal = self.rest().starts_with("0x") || self.rest().starts_with("0X");
        let digits = if hexadecimal {
            self.pos += 2;
            self.skip_while(|c| c.is_ascii_hexdigit());
            i64::from_str_radix(&self.text[start + 2..self.pos], 16)
        } else {
            self.skip_while(|c| c.is_ascii_digit());
            self.text[start..self.pos].parse()
        };
        let value = digits.unwrap_or_else(|_| {
            self.error(codes::NUMBER_TOO_LARGE, start, "this number does not fit 64 bits");
            0
        });
        self.push(TokenKind::Int(value), start);
    }

    fn string(&mut self) {
        let start = self.pos;
        let mut escaped = false;
        let end = self.rest()[1..].char_indices().find_map(|(at, character)| {
            let closes = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            closes.then_some(at)
        });
        // A quote that is never closed may stand in text that the preprocessor leaves out.
        let closed = end.filter(|end| !self.rest()[1..=*end].contains('\n'));
        let Some(end) = closed else {
            self.pos += 1;
            return self.push(TokenKind::Symbol("\""), start);
        };
        let text = self.text[start + 1..start + 1 + end].into();
        self.pos += end + 2;
        self.push(TokenKind::Text(text), start);
    }

    fn character(&mut self) {
        let start = self.pos;
        let mut characters = self.rest()[1..].chars();
        let value = match characters.next() {
            Some('\\') => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('0') => '\0',
                Some(other) => other,
                None => '\0',
            },
            Some(other) => other,
            None => '\0',
        };
        if characters.next() != Some('\'') {
            self.pos += 1;
            return self.push(TokenKind::Symbol("'"), start);
        }
        self.pos = self.text.len() - characters.as_str().len();
        self.push(TokenKind::Int(i64::from(u32::from(value))), start);
    }
}
