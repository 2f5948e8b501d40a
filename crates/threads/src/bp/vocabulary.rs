//! The words of the language, for editors.

use shoal_syntax::{
    LayoutWords, Vocabulary,
    WordRole::{self, Constant, Control, Declaration, Operator},
};

const WORDS: &[(WordRole, &[&str])] = &[
    (Declaration, &["decl", "thread_local", "void", "bool"]),
    (
        Control,
        &[
            "abortif",
            "assert",
            "assume",
            "atomic_begin",
            "atomic_end",
            "begin",
            "broadcast",
            "constrain",
            "dead",
            "dfs",
            "do",
            "else",
            "elsif",
            "end",
            "end_thread",
            "enforce",
            "fi",
            "goto",
            "if",
            "od",
            "return",
            "skip",
            "start_thread",
            "sync",
            "then",
            "wait",
            "while",
        ],
    ),
    (Operator, &["schoose"]),
    (Constant, &["F", "T"]),
];

/// What the text of a boolean program is made of.
pub const VOCABULARY: Vocabulary = Vocabulary {
    name: "Boolean program",
    id: "boolean-program",
    endings: &["bp", "nbp"],
    line_comment: "//",
    block_comments: true,
    ignores_case: false,
    words: WORDS,
    symbols: &[":=", "=>", "!=", "||", "&&", "=="],
    layout: LayoutWords {
        openers: &["begin", "if", "while"],
        closers: &["end", "fi", "od"],
        middles: &["else", "elsif"],
        breaks: &[";", "begin", "do", "then"],
        ..LayoutWords::BRACES
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Words in the parser that are none of the language.
    const OTHERS: &[&str] = &[];

    #[test]
    fn the_words_are_those_of_the_parser() {
        let sources = [include_str!("parser.rs")].concat();
        let looked_for = shoal_syntax::words_in_literals(&sources);
        let known = VOCABULARY.all_words();
        for word in looked_for.iter().filter(|word| !OTHERS.contains(word)) {
            assert!(known.contains(word), "`{word}` is not in the vocabulary");
        }
        for word in known.iter().filter(|word| word.len() > 1) {
            assert!(looked_for.contains(word), "the parser does not look for `{word}`");
        }
    }
}
