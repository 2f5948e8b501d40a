//! Reading tokens one after the other, and saying what was expected.

use crate::{
    Diagnostic, DiagnosticCode, Diagnostics, SourceId, Span, Spanned, codes, did_you_mean,
    lexer::{Lexicon, Token, TokenKind, lex},
};

/// What a parser gives: something, or the message that says why not.
pub type Parsed<T> = Result<T, Box<Diagnostic>>;

/// An error as what a parser gives.
pub fn error<T>(code: DiagnosticCode, span: Span, message: impl Into<String>) -> Parsed<T> {
    Err(Box::new(Diagnostic::error(code, span, message)))
}

/// Something that must be known before the model runs, and is not.
pub fn not_constant<T>(span: Span) -> Parsed<T> {
    error(codes::NOT_CONSTANT, span, "a number is needed that is known before the model runs")
}

/// A name that is not declared, and the one that was perhaps meant.
pub fn unknown<'a, T>(name: &str, span: Span, known: impl Iterator<Item = &'a str>) -> Parsed<T> {
    let mut diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, span, format!("`{name}` is not declared"));
    if let Some(near) = did_you_mean(name, known) {
        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    }
    Err(Box::new(diagnostic))
}

/// The text at a span, on one line and not too long: a name for what has none.
pub fn text_as_name(text: &str, span: Span) -> String {
    let text = text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Reads a whole text. There is a result unless there is an error; errors that the reader has recovered from are among them.
pub fn read_all<'s, T>(
    source: SourceId,
    text: &'s str,
    lexicon: &Lexicon,
    read: impl FnOnce(&mut Cursor<'s>) -> Parsed<T>,
) -> (Option<T>, Diagnostics) {
    read_part(source, text, 0, lexicon, read)
}

/// The same for a text that stands inside of its source, at an offset.
pub fn read_part<'s, T>(
    source: SourceId,
    text: &'s str,
    offset: usize,
    lexicon: &Lexicon,
    read: impl FnOnce(&mut Cursor<'s>) -> Parsed<T>,
) -> (Option<T>, Diagnostics) {
    let (tokens, mut diagnostics) = lex(source, text, offset, lexicon);
    let mut cursor = Cursor::new(tokens);
    let read = read(&mut cursor);
    cursor.errors.into_iter().for_each(|error| diagnostics.push(error));
    match read {
        Ok(found) if !diagnostics.has_errors() => (Some(found), diagnostics),
        Ok(_) => (None, diagnostics),
        Err(error) => {
            diagnostics.push(*error);
            (None, diagnostics)
        }
    }
}

/// A place in a list of tokens.
pub struct Cursor<'s> {
    tokens: Vec<Token<'s>>,
    at: usize,
    depth: usize,
    /// What was recovered from.
    errors: Vec<Diagnostic>,
}

/// Where an item begins, to come back to its level when it cannot be read.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    at: usize,
    depth: usize,
}

/// How deeply constructs may be nested.
const DEEPEST: usize = 200;
/// After so many errors the rest is not read.
const MOST_ERRORS: usize = 20;

impl<'s> Cursor<'s> {
    /// At the first of the tokens, the last of which is the end.
    pub fn new(tokens: Vec<Token<'s>>) -> Self {
        Cursor { tokens, at: 0, depth: 0, errors: Vec::new() }
    }

    /// Where the next item begins.
    pub fn mark(&self) -> Mark {
        Mark { at: self.at, depth: self.depth }
    }

    /// Keeps the error of an item that began at a mark, if it has one, and skips the rest of the item: to a word that begins an
    /// item (where no words do, to behind its `;`), or to the `}` that closes what the item stands in. Gives up after many errors.
    pub fn recovered<T>(&mut self, mark: Mark, read: Parsed<T>, begins: &[&str]) -> Parsed<Option<T>> {
        let error = match read {
            Ok(item) => return Ok(Some(item)),
            Err(error) => error,
        };
        if self.errors.len() >= MOST_ERRORS {
            return Err(error);
        }
        self.errors.push(*error);
        self.depth = mark.depth;
        // Something is read in any case, or the same error would come again.
        if self.at == mark.at {
            self.bump();
        }
        // The error may stand inside of braces that the item has opened.
        let mut open = self.opened_since(mark);
        loop {
            match self.peek() {
                TokenKind::End => return Ok(None),
                TokenKind::Word(word) if begins.contains(&word) => return Ok(None),
                TokenKind::Symbol("}") if open == 0 => return Ok(None),
                TokenKind::Symbol("{") => open += 1,
                TokenKind::Symbol("}") => {
                    open -= 1;
                    if open == 0 {
                        self.bump();
                        return Ok(None);
                    }
                }
                TokenKind::Symbol(";") if open == 0 && begins.is_empty() => {
                    self.bump();
                    return Ok(None);
                }
                TokenKind::Word(_) | TokenKind::Number(_) | TokenKind::Text(_) | TokenKind::Symbol(_) => {}
            }
            self.bump();
        }
    }

    /// Keeps an error in what was read to its end: there is nothing to skip.
    pub fn note(&mut self, error: Diagnostic) {
        self.errors.push(error);
    }

    /// How many braces are open that were not at a mark.
    fn opened_since(&self, mark: Mark) -> usize {
        self.tokens[mark.at..self.at].iter().fold(0, |open: usize, token| match token.kind {
            TokenKind::Symbol("{") => open + 1,
            TokenKind::Symbol("}") => open.saturating_sub(1),
            TokenKind::Symbol(_) | TokenKind::Word(_) | TokenKind::Number(_) | TokenKind::Text(_) => open,
            TokenKind::End => open,
        })
    }

    /// Whether the token before is the symbol.
    pub fn is_behind(&self, symbol: &str) -> bool {
        self.at > 0 && matches!(self.tokens[self.at - 1].kind, TokenKind::Symbol(found) if found == symbol)
    }

    /// The next token, which is not taken.
    pub fn peek(&self) -> TokenKind<'s> {
        self.tokens[self.at].kind
    }

    /// The token so many after the next.
    pub fn peek_after(&self, by: usize) -> TokenKind<'s> {
        self.tokens.get(self.at + by).map_or(TokenKind::End, |token| token.kind)
    }

    /// The span of the next token.
    pub fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// The span of the token before.
    pub fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// Takes a token; the end can be taken again and again.
    pub fn bump(&mut self) -> Token<'s> {
        let token = self.tokens[self.at];
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// Whether nothing is left.
    pub fn at_end(&self) -> bool {
        self.peek() == TokenKind::End
    }

    /// Whether the symbol is next.
    pub fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(found) if found == symbol)
    }

    /// Whether the word is next.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Word(found) if found == word)
    }

    /// Takes the symbol if it is next.
    pub fn eat(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.bump();
        }
        found
    }

    /// Takes the word if it is next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// Takes the symbol, which has to be next.
    pub fn expect(&mut self, symbol: &'static str) -> Parsed<Span> {
        let span = self.span();
        if self.eat(symbol) { Ok(span) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }

    /// Takes the word, which has to be next.
    pub fn expect_word(&mut self, word: &str) -> Parsed<Span> {
        let span = self.span();
        if self.eat_word(word) { Ok(span) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// Takes a name, which has to be next.
    pub fn name(&mut self) -> Parsed<Spanned<String>> {
        match self.peek() {
            TokenKind::Word(word) => {
                let span = self.bump().span;
                Ok(Spanned::new(word.to_string(), span))
            }
            _ => Err(self.expected("a name")),
        }
    }

    /// The message that something else was expected here.
    pub fn expected(&self, what: &str) -> Box<Diagnostic> {
        let found = match self.peek() {
            TokenKind::Word(word) => format!("`{word}`"),
            TokenKind::Number(number) => format!("`{number}`"),
            TokenKind::Text(_) => "a text".to_string(),
            TokenKind::Symbol(symbol) => format!("`{symbol}`"),
            TokenKind::End => "the end".to_string(),
        };
        let message = format!("expected {what}, found {found}");
        Box::new(Diagnostic::error(codes::UNEXPECTED, self.span(), message))
    }

    /// Goes one level deeper; [`Cursor::leave`] comes back, and after an error [`Cursor::recovered`].
    pub fn enter(&mut self) -> Parsed<()> {
        if self.depth >= DEEPEST {
            let message = format!("constructs are nested more than {DEEPEST} levels deep");
            return Err(Box::new(Diagnostic::error(codes::TOO_DEEP, self.span(), message)));
        }
        self.depth += 1;
        Ok(())
    }

    /// Comes back from a level.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }
}
