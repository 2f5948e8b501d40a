//! Which lines of a text belong together.

use crate::{
    Piece, PieceKind, Vocabulary,
    lines::{LineStarts, matches_word},
};

/// Lines that can be hidden behind the first of them, numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The line that stays.
    pub first: usize,
    /// The last line that goes.
    pub last: usize,
    /// Whether it is a comment.
    pub comment: bool,
}

impl Vocabulary {
    /// The blocks and comments of a text that take more than one line. A block that is not closed is none.
    pub fn folds(&self, text: &str) -> Vec<Fold> {
        let lines = LineStarts::of(text);
        let pieces = self.pieces(text);
        let mut folds = Vec::new();
        let mut open: Vec<(&str, usize)> = Vec::new();
        for piece in pieces.iter().filter(|piece| !piece.kind.is_comment()) {
            let (word, line) = (piece.text(text), lines.of_offset(piece.start));
            if self.opens(piece, word) {
                open.push((word, line));
            } else if self.closes(piece, word) {
                let closes = |(opener, _): &(&str, usize)| fits(opener, word);
                // What is not closed in between is none.
                if let Some(at) = open.iter().rposition(closes) {
                    let (_, first) = open[at];
                    open.truncate(at);
                    // The line of the closer stays, if something follows it there or not: it says where the block ends.
                    if line > first + 1 {
                        folds.push(Fold { first, last: line - 1, comment: false });
                    }
                }
            }
        }
        folds.extend(comments(&pieces, text, &lines));
        folds.sort_by_key(|fold| (fold.first, fold.last));
        // One a line: an editor shows the first.
        folds.dedup_by_key(|fold| fold.first);
        folds
    }

    /// Whether a piece begins a block.
    pub(crate) fn opens(&self, piece: &Piece, word: &str) -> bool {
        match piece.kind {
            PieceKind::Symbol => matches!(word, "(" | "[" | "{") || self.layout.openers.contains(&word),
            PieceKind::Word(_) => matches_word(self, self.layout.openers, word),
            _ => false,
        }
    }

    /// Whether a piece ends a block.
    pub(crate) fn closes(&self, piece: &Piece, word: &str) -> bool {
        match piece.kind {
            PieceKind::Symbol => matches!(word, ")" | "]" | "}"),
            PieceKind::Word(_) => matches_word(self, self.layout.closers, word),
            _ => false,
        }
    }
}

/// Whether a closer is one of an opener: brackets by their shape, words by nothing.
pub(crate) fn fits(opener: &str, closer: &str) -> bool {
    match opener {
        "(" => closer == ")",
        "[" => closer == "]",
        "{" => closer == "}",
        _ => !matches!(closer, ")" | "]" | "}"),
    }
}

/// Comments of more than one line, and comments on lines that follow each other.
fn comments(pieces: &[Piece], text: &str, lines: &LineStarts) -> Vec<Fold> {
    let mut folds: Vec<Fold> = Vec::new();
    let mut fold = |first: usize, last: usize| {
        if last > first {
            folds.push(Fold { first, last, comment: true });
        }
    };
    let mut run: Option<(usize, usize)> = None;
    for piece in pieces {
        let (first, last) = (lines.of_offset(piece.start), lines.of_offset(piece.end.saturating_sub(1)));
        let alone = text[lines.start(first)..piece.start].trim().is_empty();
        match (piece.kind, run) {
            (PieceKind::BlockComment, _) => fold(first, last),
            (PieceKind::LineComment, Some((start, end))) if alone && first == end + 1 => {
                run = Some((start, first));
                continue;
            }
            _ => {}
        }
        if let Some((start, end)) = run.take() {
            fold(start, end);
        }
        if piece.kind == PieceKind::LineComment && alone {
            run = Some((first, first));
        }
    }
    if let Some((start, end)) = run {
        fold(start, end);
    }
    folds
}
