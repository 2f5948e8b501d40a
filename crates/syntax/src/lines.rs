//! Where the lines of a text begin.

use crate::Vocabulary;

/// The beginnings of the lines of a text.
pub(crate) struct LineStarts(Vec<usize>);

impl LineStarts {
    pub(crate) fn of(text: &str) -> LineStarts {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        LineStarts(std::iter::once(0).chain(after).collect())
    }

    /// The line of a byte, from 0.
    pub(crate) fn of_offset(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// Where a line begins.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.0.get(line).copied().unwrap_or_default()
    }
}

/// Whether a word is one of some words.
pub(crate) fn matches_word(vocabulary: &Vocabulary, words: &[&str], word: &str) -> bool {
    words.iter().any(|known| match vocabulary.ignores_case {
        true => known.eq_ignore_ascii_case(word),
        false => *known == word,
    })
}
