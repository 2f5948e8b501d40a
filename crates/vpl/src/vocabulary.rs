//! The words of the language, for editors.

use shoal_syntax::{
    LayoutWords, Vocabulary,
    WordRole::{self, Constant, Control, Declaration, Operator},
};

const WORDS: &[(WordRole, &[&str])] = &[
    (
        Declaration,
        &[
            "automata",
            "automaton",
            "clock",
            "invariant",
            "initially",
            "manipulation",
            "mode",
            "register",
            "verify",
        ],
    ),
    (Control, &["do", "else", "for", "goto", "graph", "if", "may", "then", "to", "when"]),
    (
        Operator,
        &[
            "all_paths",
            "and",
            "eventually",
            "exists",
            "exists_path",
            "forall",
            "henceforth",
            "implies",
            "not",
            "or",
            "until",
        ],
    ),
    (Constant, &["False", "True", "false", "true"]),
];

/// What the text of a VPL model is made of.
pub const VOCABULARY: Vocabulary = Vocabulary {
    name: "VPL",
    id: "vpl",
    endings: &["vpl"],
    line_comment: "--",
    block_comments: true,
    ignores_case: false,
    words: WORDS,
    symbols: &[":=", "..", "<=", ">=", "<>", "/=", "!=", "++", "->", "&&", "||"],
    layout: LayoutWords { sections: &["manipulation"], ..LayoutWords::BRACES },
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
