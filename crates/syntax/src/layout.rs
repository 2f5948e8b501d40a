//! Laying out a text: how far each line stands to the right, and what stands between two words.
//!
//! Lines stay lines. The pieces of a text stay the same and in the same order, so a text means after it what it meant before;
//! that is checked at the end, and a text that would not keep its pieces is left as it is.

use crate::{
    Piece, PieceKind, Vocabulary,
    fold::fits,
    lines::{LineStarts, matches_word},
};

/// Blanks a level.
const STEP: usize = 2;

impl Vocabulary {
    /// The text, laid out. Nothing if that would change what it says.
    pub fn laid_out(&self, text: &str) -> Option<String> {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let pieces = self.pieces(text);
        let lines = lines_of(&pieces, text);
        let mut writer =
            LayoutWriter { vocabulary: self, text, open: Vec::new(), last: None, out: String::new() };
        let levels = writer.levels(&lines);
        writer.write(&lines, &levels, newline);
        let out = writer.out;
        let same = |one: &Piece, other: &Piece| {
            (one.kind, one.text(text).trim_end()) == (other.kind, other.text(&out).trim_end())
        };
        let after = self.pieces(&out);
        let kept =
            pieces.len() == after.len() && pieces.iter().zip(&after).all(|(one, other)| same(one, other));
        kept.then_some(out)
    }
}

/// A line that is not blank: its pieces, and whether one that is blank stands before it.
struct LayoutLine<'p> {
    pieces: &'p [Piece],
    spaced: bool,
    /// Where the line begins in the text.
    start: usize,
}

/// The pieces by the lines that they begin on.
fn lines_of<'p>(pieces: &'p [Piece], text: &str) -> Vec<LayoutLine<'p>> {
    let places = LineStarts::of(text);
    let mut lines = Vec::new();
    let (mut from, mut end) = (0, 0);
    while from < pieces.len() {
        let line = places.of_offset(pieces[from].start);
        let same = pieces[from..].iter().take_while(|piece| places.of_offset(piece.start) == line);
        let to = from + same.count();
        let spaced = from > 0 && line > end + 1;
        lines.push(LayoutLine { pieces: &pieces[from..to], spaced, start: places.start(line) });
        end = places.of_offset(pieces[to - 1].end.saturating_sub(1));
        from = to;
    }
    lines
}

/// A block that has begun.
#[derive(Clone, Copy)]
struct OpenBlock<'t> {
    word: &'t str,
    /// How far to the right the line stands that it begins on.
    level: usize,
    section: bool,
    /// Whether its head goes on: up to a symbol.
    head: bool,
}

struct LayoutWriter<'a> {
    vocabulary: &'a Vocabulary,
    text: &'a str,
    open: Vec<OpenBlock<'a>>,
    /// The last piece that is no comment.
    last: Option<Piece>,
    out: String,
}

impl<'a> LayoutWriter<'a> {
    /// How far to the right each line stands.
    fn levels(&mut self, lines: &[LayoutLine<'_>]) -> Vec<usize> {
        let mut levels = Vec::new();
        for line in lines {
            let level = self.level(line);
            levels.push(level);
            for piece in line.pieces.iter().filter(|piece| !piece.kind.is_comment()) {
                self.take(piece, level);
            }
        }
        // A comment belongs to what follows it, unless that is the end of something.
        for at in (0..lines.len()).rev() {
            let is_comment = lines[at].pieces.iter().all(|piece| piece.kind.is_comment());
            let Some(next) = lines.get(at + 1).filter(|_| is_comment) else { continue };
            let first = &next.pieces[0];
            let ends = self.vocabulary.closes(first, first.text(self.text)) || self.is_middle(first);
            if !ends {
                levels[at] = levels[at + 1];
            }
        }
        levels
    }

    fn is(&self, words: &[&str], piece: &Piece) -> bool {
        let word = piece.text(self.text);
        match piece.kind {
            PieceKind::Word(_) => matches_word(self.vocabulary, words, word),
            PieceKind::Symbol => words.contains(&word),
            _ => false,
        }
    }

    fn is_middle(&self, piece: &Piece) -> bool {
        self.is(self.vocabulary.layout.middles, piece)
    }

    /// Whether a list of declarations ends here.
    fn ends_section(&self, piece: &Piece) -> bool {
        let layout = &self.vocabulary.layout;
        self.begins()
            && [layout.sections, layout.parts, layout.openers, layout.middles]
                .iter()
                .any(|words| self.is(words, piece))
            || self.is(layout.closers, piece)
    }

    /// Whether a statement or a declaration begins after what was read last.
    fn begins(&self) -> bool {
        let Some(last) = &self.last else { return true };
        let layout = &self.vocabulary.layout;
        let words = [layout.breaks, layout.sections, layout.middles];
        words.iter().any(|words| self.is(words, last))
            || self.vocabulary.closes(last, last.text(self.text)) && self.is(layout.closers, last)
    }

    /// How far to the right a line stands that begins with its first piece.
    fn level(&self, line: &LayoutLine<'_>) -> usize {
        let first = &line.pieces[0];
        let word = first.text(self.text);
        let mut open = self.open.as_slice();
        if self.ends_section(first)
            && let [before @ .., last] = open
            && last.section
        {
            open = before;
        }
        let layout = &self.vocabulary.layout;
        if self.vocabulary.closes(first, word) {
            let own = open.iter().rposition(|it| !it.section && fits(it.word, word));
            return own.map_or(0, |own| open[own].level);
        }
        let goes_on = !first.kind.is_comment() && (!self.begins() || is_between(first, word));
        let Some(block) = open.last() else { return usize::from(goes_on) };
        let in_brackets = matches!(block.word, "(" | "[" | "{") && !layout.breaks.contains(&"{");
        let bracket = matches!(block.word, "(" | "[") || in_brackets;
        if self.is_middle(first) || !bracket && !block.section && self.is(layout.sections, first) {
            return block.level;
        }
        block.level + 1 + usize::from(goes_on && !bracket && !block.head)
    }

    /// Reads a piece on a line that stands so far to the right.
    fn take(&mut self, piece: &Piece, level: usize) {
        let word = piece.text(self.text);
        let layout = &self.vocabulary.layout;
        let in_bracket = self.open.last().is_some_and(|it| matches!(it.word, "(" | "["));
        if self.ends_section(piece) && self.open.last().is_some_and(|it| it.section) {
            self.open.pop();
        }
        if self.is(&["==>", "begin", ";"], piece)
            && let Some(block) = self.open.iter_mut().rev().find(|it| it.head)
        {
            block.head = false;
        }
        if self.vocabulary.closes(piece, word) {
            if let Some(own) = self.open.iter().rposition(|it| !it.section && fits(it.word, word)) {
                self.open.truncate(own);
            }
        } else if self.vocabulary.opens(piece, word) {
            let head = self.is(layout.heads, piece);
            self.open.push(OpenBlock { word, level, section: false, head });
        } else if self.is(layout.sections, piece) && !in_bracket && self.begins() {
            self.open.push(OpenBlock { word, level, section: true, head: false });
        }
        self.last = Some(*piece);
    }

    fn write(&mut self, lines: &[LayoutLine<'_>], levels: &[usize], newline: &str) {
        for (line, level) in lines.iter().zip(levels) {
            if line.spaced {
                self.out += newline;
            }
            let begins = self.out.len();
            self.out += &" ".repeat(level * STEP);
            for (at, piece) in line.pieces.iter().enumerate() {
                if at > 0 {
                    let before = &line.pieces[at - 1];
                    let blanks = self.blanks(line, before, piece, begins);
                    self.out += &" ".repeat(blanks);
                }
                self.out += piece.text(self.text).trim_end();
            }
            self.out += newline;
        }
    }

    /// How many blanks stand between two pieces of a line.
    fn blanks(&self, line: &LayoutLine<'_>, before: &Piece, piece: &Piece, begins: usize) -> usize {
        let own = usize::from(piece.start > before.end);
        if piece.kind.is_comment() {
            // Comments stand in a column, where there is room for it.
            let column = self.text[line.start..piece.start].chars().count();
            let now = self.out[begins..].chars().count();
            let whole =
                before.kind == PieceKind::BlockComment || self.text[before.start..piece.start].contains('\n');
            return if whole { own } else { column.saturating_sub(now).max(own.max(1)) };
        }
        let (left, right) = (before.text(self.text), piece.text(self.text));
        let is_symbol = |piece: &Piece| piece.kind == PieceKind::Symbol;
        match (left, right) {
            (_, ";" | ",") if is_symbol(piece) => 0,
            ("," | ";", _) if is_symbol(before) => 1,
            ("(" | "[", _) if is_symbol(before) => 0,
            (_, ")" | "]") if is_symbol(piece) => 0,
            _ if is_symbol(before) && is_relation(left) || is_symbol(piece) && is_relation(right) => 1,
            (":", _) if is_symbol(before) => 1,
            _ => own,
        }
    }
}

/// Whether a line that begins so goes on with what was begun before.
fn is_between(first: &Piece, word: &str) -> bool {
    first.kind == PieceKind::Symbol
        && !matches!(word, "(" | "[" | "{" | "!" | "~" | "¬" | "-" | ":" | "::" | "#")
}

/// Symbols that always have two sides, and blanks on both.
fn is_relation(symbol: &str) -> bool {
    matches!(
        symbol,
        ":=" | "==>"
            | "->"
            | "="
            | "=="
            | "!="
            | "<="
            | ">="
            | "<"
            | ">"
            | "&"
            | "&&"
            | "|"
            | "||"
            | "<>"
            | "/="
    )
}
