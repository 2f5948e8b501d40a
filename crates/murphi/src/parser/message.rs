//! What the parser says when it did not find what it expected.

use shoal_syntax::{Diagnostic, Span, did_you_mean};

use super::{Parser, Reported};
use crate::codes;
use crate::token::TokenKind;

impl Parser<'_> {
    /// Puts an error on the list, unless one was reported at this very token.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if self.last_error != Some(self.pos) {
            self.diagnostics.push(diagnostic);
            self.last_error = Some(self.pos);
        }
        Reported
    }

    /// Reports that something else was expected here; `words` are the keywords and symbols that would have done.
    pub(super) fn unexpected(&mut self, expected: &str, words: &[&str]) -> Reported {
        let message = format!("expected {expected}, found {}", self.describe());
        let mut diagnostic = Diagnostic::error(codes::UNEXPECTED, self.span(), message);
        if self.at(TokenKind::Assign) {
            diagnostic.code = codes::ASSIGN_OR_EQUAL;
        }
        if let Some(help) = self.misspelt(words).or_else(|| self.slip()) {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic)
    }

    pub(super) fn keyword_as_name(&mut self, what: &str) -> Reported {
        let word = self.slice(self.span()).to_string();
        let message = format!("expected {what}, found the keyword `{word}`");
        let diagnostic = Diagnostic::error(codes::KEYWORD_AS_NAME, self.span(), message)
            .help("a keyword cannot be a name, whatever the case of its letters");
        self.report(diagnostic)
    }

    /// Reports that there is no `;` after the last token.
    pub(super) fn missing_semicolon(&mut self, after: &str) -> Reported {
        let end = self.previous().end as usize;
        let place = Span::new(self.source, end, end);
        let message = format!("expected `;` after {after}, found {}", self.describe());
        let mut diagnostic = Diagnostic::error(codes::MISSING_SEMICOLON, place, message)
            .at("a `;` is missing here")
            .also(self.span(), "before this");
        if let Some(help) = self.slip() {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic)
    }

    /// The current token in human words.
    pub(super) fn describe(&self) -> String {
        let text = self.slice(self.span());
        match self.kind() {
            TokenKind::Ident => format!("the name `{}`", shorten(text)),
            TokenKind::Int | TokenKind::Real => format!("the number `{}`", shorten(text)),
            TokenKind::String => format!("the string {}", shorten(text)),
            TokenKind::Keyword(_) => format!("the keyword `{text}`"),
            TokenKind::Eof => "the end of the file".to_string(),
            _ => format!("`{text}`"),
        }
    }

    /// "Did you mean" for a name that is nearly one of the words expected.
    fn misspelt(&self, words: &[&str]) -> Option<String> {
        let word = self.at(TokenKind::Ident).then(|| self.slice(self.span()))?;
        let words = words.iter().copied().filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
        did_you_mean(word, words).map(|near| format!("did you mean `{near}`?"))
    }

    /// A hint for habits of other languages, by the current token and the one before it.
    pub(super) fn slip(&self) -> Option<String> {
        let before = self.pos.checked_sub(1).map(|pos| self.tokens[pos]);
        let joined = before.filter(|token| token.span.end == self.span().start);
        let pair = (joined.map(|token| token.kind), self.kind());
        if self.at(TokenKind::Slash) && self.peek(1) == TokenKind::Slash {
            return Some("a comment begins with `--`".to_string());
        }
        if let Some(help) = slip_of_symbols(pair) {
            return Some(help.to_string());
        }
        let word_before =
            before.filter(|token| token.kind == TokenKind::Ident).map(|token| self.slice(token.span));
        let word = self.at(TokenKind::Ident).then(|| self.slice(self.span()));
        word.and_then(slip_of_word).or_else(|| word_before.and_then(slip_of_word)).map(str::to_string)
    }
}

fn slip_of_symbols(pair: (Option<TokenKind>, TokenKind)) -> Option<&'static str> {
    use TokenKind::{Assign, Equal, Greater, LeftBrace, Less, Minus, Plus, RightBrace, Slash, Star};
    Some(match pair {
        (_, Assign) => "`:=` assigns; to compare, write `=`",
        (Some(Less), Greater) => "`not equal` is written `!=`",
        (Some(Equal), Less) => "`less or equal` is written `<=`",
        (Some(Plus | Minus | Star | Slash), Equal) => "there is no such assignment: write `x := x + 1`",
        (Some(Plus), Plus) => "there is no `++`: write `x := x + 1`",
        (Some(Slash), Slash) => "a comment begins with `--`",
        (_, LeftBrace | RightBrace) => {
            "braces enclose only the members of `enum` and `union`; blocks close with `end`"
        }
        _ => return None,
    })
}

fn slip_of_word(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "and" => "`and` is written `&`",
        "or" => "`or` is written `|`",
        "not" => "`not` is written `!`",
        "mod" => "`mod` is written `%`",
        "div" => "`div` is written `/`",
        "xor" => "for booleans, `xor` is written `!=`",
        "implies" => "`implies` is written `->`",
        "default" | "otherwise" => "the last case of a `switch` is written `else`, without `:`",
        "elif" | "elseif" => "did you mean `elsif`?",
        "in" => "a variable ranges over a type with `:`, as in `i: Node`",
        "int" | "integer" => "there is no unbounded integer: give a range such as `0..255`",
        "bool" => "did you mean `boolean`?",
        _ => return None,
    })
}

fn shorten(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end])
}
