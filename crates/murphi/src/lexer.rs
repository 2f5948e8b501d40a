//! Text to tokens.

use shoal_syntax::{Diagnostic, Diagnostics, SourceId, Span};

use crate::codes;
use crate::token::{Keyword, Token, TokenKind};

/// Splits a text into tokens; the last is always [`TokenKind::Eof`]. What cannot be read is reported and left out.
pub fn lex(source: SourceId, text: &str) -> (Vec<Token>, Diagnostics) {
    let mut lexer = Lexer { source, text, pos: 0, tokens: Vec::new(), diagnostics: Diagnostics::new() };
    lexer.run();
    (lexer.tokens, lexer.diagnostics)
}

struct Lexer<'s> {
    source: SourceId,
    text: &'s str,
    pos: usize,
    tokens: Vec<Token>,
    diagnostics: Diagnostics,
}

/// Symbols of more than one character first, so that the longest match wins. The second half are Rumur's synonyms:
/// `∧` and `∨` are the logical operators there, not the ambiguous `&` and `|`.
const SYMBOLS: &[(&str, TokenKind)] = &[
    ("==>", TokenKind::Arrow),
    (":=", TokenKind::Assign),
    ("..", TokenKind::DotDot),
    ("->", TokenKind::Implies),
    ("||", TokenKind::BarBar),
    ("&&", TokenKind::AmpAmp),
    ("==", TokenKind::EqualEqual),
    ("!=", TokenKind::NotEqual),
    ("<=", TokenKind::LessEqual),
    (">=", TokenKind::GreaterEqual),
    ("<<", TokenKind::ShiftLeft),
    (">>", TokenKind::ShiftRight),
    ("∧", TokenKind::AmpAmp),
    ("∨", TokenKind::BarBar),
    ("¬", TokenKind::Bang),
    ("∀", TokenKind::Keyword(Keyword::Forall)),
    ("∃", TokenKind::Keyword(Keyword::Exists)),
    ("≤", TokenKind::LessEqual),
    ("≥", TokenKind::GreaterEqual),
    ("≠", TokenKind::NotEqual),
    ("→", TokenKind::Implies),
    ("⇒", TokenKind::Arrow),
    ("≔", TokenKind::Assign),
    ("÷", TokenKind::Slash),
    ("∕", TokenKind::Slash),
    ("×", TokenKind::Star),
    ("−", TokenKind::Minus),
];

/// The symbol of one ASCII character.
fn single(byte: u8) -> Option<TokenKind> {
    Some(match byte {
        b'(' => TokenKind::LeftParen,
        b')' => TokenKind::RightParen,
        b'[' => TokenKind::LeftBracket,
        b']' => TokenKind::RightBracket,
        b'{' => TokenKind::LeftBrace,
        b'}' => TokenKind::RightBrace,
        b',' => TokenKind::Comma,
        b';' => TokenKind::Semicolon,
        b':' => TokenKind::Colon,
        b'.' => TokenKind::Dot,
        b'?' => TokenKind::Question,
        b'|' => TokenKind::Bar,
        b'^' => TokenKind::Caret,
        b'&' => TokenKind::Amp,
        b'!' => TokenKind::Bang,
        b'~' => TokenKind::Tilde,
        b'=' => TokenKind::Equal,
        b'<' => TokenKind::Less,
        b'>' => TokenKind::Greater,
        b'+' => TokenKind::Plus,
        b'-' => TokenKind::Minus,
        b'*' => TokenKind::Star,
        b'/' => TokenKind::Slash,
        b'%' => TokenKind::Percent,
        _ => return None,
    })
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

impl Lexer<'_> {
    fn run(&mut self) {
        self.skip("\u{feff}");
        while let Some(next) = self.rest().chars().next() {
            match next {
                _ if next.is_whitespace() => self.pos += next.len_utf8(),
                '-' if self.rest().starts_with("--") => self.line_comment(),
                '/' if self.rest().starts_with("/*") => self.block_comment(),
                '"' | '“' => self.string(next),
                '0'..='9' => self.number(),
                _ if is_word(next) => self.word(),
                _ => self.symbol(),
            }
        }
        self.push(TokenKind::Eof, self.pos);
    }

    fn rest(&self) -> &str {
        &self.text[self.pos..]
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.pos += prefix.len();
        }
        found
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.pos += rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(self.source, start, self.pos)
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = self.span_from(start);
        self.tokens.push(Token { kind, span });
    }

    fn line_comment(&mut self) {
        self.skip_while(|c| c != '\n');
    }

    fn block_comment(&mut self) {
        let start = self.pos;
        match self.rest()[2..].find("*/") {
            Some(length) => self.pos += length + 4,
            None => {
                self.pos = self.text.len();
                let opener = Span::new(self.source, start, start + 2);
                self.diagnostics.push(
                    Diagnostic::error(codes::UNCLOSED_COMMENT, opener, "this comment is never closed")
                        .help("a comment that begins with `/*` ends at the first `*/`"),
                );
            }
        }
    }

    /// A string ends on its line: Rumur would read on, but then one forgotten quote spoils the rest of the file.
    fn string(&mut self, quote: char) {
        let start = self.pos;
        self.pos += quote.len_utf8();
        let line = self.rest().split(['\n', '\r']).next().unwrap_or("");
        let closer = closing_quote(line, quote);
        let line_length = line.len();
        match closer {
            Some(end) => self.pos += end,
            None => {
                self.pos += line_length;
                self.diagnostics.push(
                    Diagnostic::error(
                        codes::UNCLOSED_STRING,
                        self.span_from(start),
                        "this string is never closed",
                    )
                    .help("a string ends with `\"` on the line it begins on"),
                );
            }
        }
        self.push(TokenKind::String, start);
    }

    /// `1..3` is a range and not the real number `1.` followed by something.
    fn number(&mut self) {
        let start = self.pos;
        let mut kind = TokenKind::Int;
        let bytes = self.text.as_bytes();
        let at = |offset: usize| bytes.get(offset).copied().unwrap_or(0);
        let hexadecimal =
            at(start) == b'0' && at(start + 1) | 0x20 == b'x' && at(start + 2).is_ascii_hexdigit();
        if hexadecimal {
            self.pos += 2;
            self.skip_while(|c| c.is_ascii_hexdigit());
        } else {
            self.skip_while(|c| c.is_ascii_digit());
            if at(self.pos) == b'.' && at(self.pos + 1).is_ascii_digit() {
                kind = TokenKind::Real;
                self.pos += 1;
                self.skip_while(|c| c.is_ascii_digit());
                self.exponent();
            }
        }
        self.push(kind, start);
        self.name_after_number(start);
    }

    fn exponent(&mut self) {
        let bytes = self.rest().as_bytes();
        let sign = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
        let marked = matches!(bytes.first(), Some(b'e' | b'E'));
        if marked && bytes.get(1 + sign).is_some_and(u8::is_ascii_digit) {
            self.pos += 1 + sign;
            self.skip_while(|c| c.is_ascii_digit());
        }
    }

    /// `0to 3` is a number and a keyword, but `2pc` can only be meant as a name.
    fn name_after_number(&mut self, start: usize) {
        let number_end = self.pos;
        self.skip_while(is_word);
        if self.pos == number_end {
            return;
        }
        if Keyword::lookup(&self.text[number_end..self.pos]).is_some() {
            self.pos = number_end;
            return;
        }
        self.tokens.pop();
        self.bad_name(start, "a name cannot begin with a digit");
        self.push(TokenKind::Ident, start);
    }

    fn word(&mut self) {
        let start = self.pos;
        self.skip_while(is_word);
        let word = &self.text[start..self.pos];
        if word.starts_with('_') {
            self.bad_name(start, "a name cannot begin with `_`");
        }
        self.push(Keyword::lookup(word).map_or(TokenKind::Ident, TokenKind::Keyword), start);
    }

    fn bad_name(&mut self, start: usize, message: &str) {
        self.diagnostics.push(
            Diagnostic::error(codes::BAD_NAME, self.span_from(start), message)
                .help("names consist of letters, digits and `_`, and begin with a letter"),
        );
    }

    fn symbol(&mut self) {
        let start = self.pos;
        for (text, kind) in SYMBOLS {
            if self.skip(text) {
                return self.push(*kind, start);
            }
        }
        // `=>` is no symbol and no sequence of symbols that could stand in a model: it is a slip.
        if self.skip("=>") {
            let diagnostic = Diagnostic::error(
                codes::RULE_HEADER,
                self.span_from(start),
                "`=>` means nothing in Murphi",
            )
            .help("write `==>` between a guard and its statements, `->` for \"implies\", `>=` to compare");
            self.diagnostics.push(diagnostic);
            return self.push(TokenKind::Arrow, start);
        }
        match self.rest().bytes().next().and_then(single) {
            Some(kind) => {
                self.pos += 1;
                self.push(kind, start);
            }
            None => self.unknown(),
        }
    }

    /// Reports a run of unknown characters once.
    fn unknown(&mut self) {
        let start = self.pos;
        self.skip_while(|c| {
            let known = SYMBOLS.iter().any(|(text, _)| text.starts_with(c));
            let ascii = u8::try_from(c).ok().filter(u8::is_ascii).and_then(single).is_some();
            !(known || ascii || c.is_whitespace() || is_word(c) || c == '"' || c == '“')
        });
        let run = &self.text[start..self.pos];
        let message = match run.chars().count() {
            1 => format!("the character `{}` means nothing in Murphi", run.escape_debug()),
            _ => format!("the characters `{}` mean nothing in Murphi", shorten(run).escape_debug()),
        };
        let mut diagnostic = Diagnostic::error(codes::UNKNOWN_CHARACTER, self.span_from(start), message);
        if run.starts_with('\'') {
            diagnostic = diagnostic.help("strings stand in double quotes");
        } else if run.starts_with('#') {
            diagnostic = diagnostic.help("a comment begins with `--`");
        }
        self.diagnostics.push(diagnostic);
    }
}

fn shorten(text: &str) -> &str {
    text.char_indices().nth(20).map_or(text, |(end, _)| &text[..end])
}

/// Where the string ends in the rest of its line, its closing quote included.
///
/// In Rumur `\"` does not close a string, in CMurphi it does: it closes here only if nothing else on the line would.
fn closing_quote(line: &str, opener: char) -> Option<usize> {
    let mut escaped = false;
    let mut fallback = None;
    for (at, character) in line.char_indices() {
        let closes = character == '"' || (opener == '“' && character == '”');
        if closes && !escaped {
            return Some(at + character.len_utf8());
        }
        if closes {
            fallback = Some(at + character.len_utf8());
        }
        escaped = character == '\\' && !escaped;
    }
    fallback
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let (tokens, diagnostics) = lex(SourceId(0), text);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        tokens.iter().map(|token| token.kind).collect()
    }

    fn codes_of(text: &str) -> Vec<&'static str> {
        lex(SourceId(0), text).1.iter().map(|d| d.code.0).collect()
    }

    #[test]
    fn ranges_are_not_reals() {
        use TokenKind::*;
        assert_eq!(kinds("1..3"), [Int, DotDot, Int, Eof]);
        assert_eq!(kinds("1.5..0x1F"), [Real, DotDot, Int, Eof]);
        assert_eq!(kinds("2.5e-3"), [Real, Eof]);
        assert_eq!(kinds("0to"), [Int, Keyword(super::Keyword::To), Eof]);
    }

    #[test]
    fn blanks_comments_and_marks_are_skipped() {
        use TokenKind::*;
        assert_eq!(kinds("\u{feff}x\r\n\t-- “note”\r\ny /* -- */ z -- last"), [Ident, Ident, Ident, Eof]);
        assert_eq!(kinds(""), [Eof]);
        assert_eq!(kinds("/**/"), [Eof]);
    }

    #[test]
    fn synonyms_of_rumur() {
        assert_eq!(
            kinds("∧ ∨ ¬ ∀ ∃ ≤ ≥ ≠ → ⇒ ≔ ÷ × − ∕"),
            kinds("&& || ! forall exists <= >= != -> ==> := / * - /")
        );
        assert_eq!(kinds("== <<>>^~"), kinds("==<<>> ^ ~"));
    }

    #[test]
    fn strings_end_on_their_line() {
        use TokenKind::*;
        assert_eq!(kinds(r#""a \" b" x"#), [String, Ident, Eof]);
        assert_eq!(kinds(r#""a\" x"#), [String, Ident, Eof]);
        assert_eq!(kinds("“a” \"b\""), [String, String, Eof]);
        assert_eq!(codes_of("\"abc\nx"), ["E0103"]);
        assert_eq!(codes_of("\""), ["E0103"]);
    }

    #[test]
    fn what_cannot_be_read_is_reported_once() {
        assert_eq!(codes_of("x $$$ y"), ["E0101"]);
        assert_eq!(codes_of("/* x"), ["E0104"]);
        assert_eq!(codes_of("/*/"), ["E0104"]);
        assert_eq!(codes_of("_x 2pc"), ["E0102", "E0102"]);
    }
}
