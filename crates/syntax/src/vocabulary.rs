//! What the text of a language is made of, as plain data: from it editors learn to colour, fold and lay out a text.
//!
//! Each front end has one, with the words of its own tables. A text is split by it into [`Piece`]s, comments and blanks between
//! them included, whatever is wrong with the text: so what is made from pieces works on every beginning of a file.

/// What the text of a language is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// What the language is called.
    pub name: &'static str,
    /// The same as editors name it: small letters.
    pub id: &'static str,
    /// The endings of its files.
    pub endings: &'static [&'static str],
    /// What begins a comment that ends with its line.
    pub line_comment: &'static str,
    /// Whether `/*` begins a comment that `*/` ends.
    pub block_comments: bool,
    /// Whether words mean the same in small and in large letters.
    pub ignores_case: bool,
    /// Its words, by what they are for.
    pub words: &'static [(WordRole, &'static [&'static str])],
    /// Symbols of more than one character, longer ones before those they begin with.
    pub symbols: &'static [&'static str],
    /// How it is laid out.
    pub layout: LayoutWords,
}

/// What a word is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WordRole {
    /// It begins a declaration or a part of the model.
    Declaration,
    /// It belongs to a statement.
    Control,
    /// An operator that is a word.
    Operator,
    /// A type, or a part of one.
    Type,
    /// A value.
    Constant,
    /// Something that is called.
    Function,
}

/// Which words and symbols shape a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayoutWords {
    /// Words that begin a block, which one of the closers ends.
    pub openers: &'static [&'static str],
    /// Words that end a block.
    pub closers: &'static [&'static str],
    /// Words between the parts of a block, which stand as far left as its beginning.
    pub middles: &'static [&'static str],
    /// Words that begin a list of declarations, which ends where another part begins.
    pub sections: &'static [&'static str],
    /// Words that end such a list (each section does, too).
    pub parts: &'static [&'static str],
    /// Openers whose head goes on over lines as their body does: up to this symbol.
    pub heads: &'static [&'static str],
    /// Words and symbols after which a statement begins.
    pub breaks: &'static [&'static str],
}

impl LayoutWords {
    /// Blocks in braces, statements that end with a semicolon.
    pub const BRACES: LayoutWords = LayoutWords {
        openers: &[],
        closers: &[],
        middles: &[],
        sections: &[],
        parts: &[],
        heads: &[],
        breaks: &[";", "{", "}"],
    };
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// Where it begins, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A word of the language.
    Word(WordRole),
    /// A name.
    Name,
    /// A number.
    Number,
    /// A text in quotes.
    Text,
    /// A sign.
    Symbol,
    /// A comment that ends with its line.
    LineComment,
    /// A comment that has an end.
    BlockComment,
}

impl PieceKind {
    /// Whether it means nothing.
    pub fn is_comment(self) -> bool {
        matches!(self, PieceKind::LineComment | PieceKind::BlockComment)
    }
}

impl Piece {
    /// What stands there.
    pub fn text<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// Letters, digits and `_`.
fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

impl Vocabulary {
    /// What a word of the language is for; nothing for a name.
    pub fn role(&self, word: &str) -> Option<WordRole> {
        let same = |known: &str| match self.ignores_case {
            true => known.eq_ignore_ascii_case(word),
            false => known == word,
        };
        self.words.iter().find(|(_, words)| words.iter().any(|known| same(known))).map(|(role, _)| *role)
    }

    /// All words, in the order of the alphabet.
    pub fn all_words(&self) -> Vec<&'static str> {
        let mut words: Vec<_> = self.words.iter().flat_map(|(_, words)| words.iter().copied()).collect();
        words.sort_unstable();
        words
    }

    /// Splits a text into all that is not blank.
    pub fn pieces(&self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut at = 0;
        while let Some(next) = text[at..].chars().next() {
            let length = match self.piece(&text[at..], next) {
                Some((kind, length)) => {
                    pieces.push(Piece { kind, start: at, end: at + length });
                    length
                }
                None => next.len_utf8(),
            };
            at += length;
        }
        pieces
    }

    /// The piece that a text begins with, and how long it is; nothing for a blank.
    fn piece(&self, rest: &str, next: char) -> Option<(PieceKind, usize)> {
        let line = rest.find('\n').unwrap_or(rest.len());
        let of_words = |from: &str| from.find(|it| !is_word(it)).unwrap_or(from.len());
        Some(match next {
            _ if next.is_whitespace() || next == '\u{feff}' => return None,
            _ if rest.starts_with(self.line_comment) => {
                (PieceKind::LineComment, rest[..line].trim_end().len())
            }
            '/' if self.block_comments && rest.starts_with("/*") => {
                let end = rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
                (PieceKind::BlockComment, end)
            }
            '"' | '“' => (PieceKind::Text, text_length(&rest[..line], next)),
            '0'..='9' => (PieceKind::Number, of_words(rest)),
            _ if is_word(next) => {
                let length = of_words(rest);
                (self.role(&rest[..length]).map_or(PieceKind::Name, PieceKind::Word), length)
            }
            _ => {
                let symbol = self.symbols.iter().find(|symbol| rest.starts_with(**symbol));
                (PieceKind::Symbol, symbol.map_or(next.len_utf8(), |symbol| symbol.len()))
            }
        })
    }
}

/// How long a text in quotes is, the quotes included; it ends with its line at the latest.
fn text_length(line: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in line.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' if quote == '"' => return at + 1,
            '”' if quote == '“' => return at + character.len_utf8(),
            _ => {}
        }
    }
    line.trim_end().len().max(quote.len_utf8())
}

/// The words among the string literals of a piece of Rust: what a parser written in it looks for. For tests that hold a vocabulary against
/// its parser.
pub fn words_in_literals(source: &str) -> Vec<&str> {
    // Line by line: a quote that is no string's spoils one line only.
    let literals = source.lines().flat_map(|line| line.split('"').skip(1).step_by(2));
    let is_plain =
        |word: &&str| word.len() > 1 && word.chars().all(|it| it.is_ascii_alphabetic() || it == '_');
    let mut words: Vec<&str> = literals.filter(is_plain).collect();
    words.sort_unstable();
    words.dedup();
    words
}
