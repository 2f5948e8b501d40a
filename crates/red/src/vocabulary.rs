//! The words of the language, for editors.

use shoal_syntax::{
    LayoutWords, Vocabulary,
    WordRole::{self, Constant, Control, Declaration, Operator, Type},
};

const WORDS: &[(WordRole, &[&str])] = &[
    (Declaration, &["const", "global", "initially", "local", "mode", "process", "connectives", "safe"]),
    (Control, &["goto", "may", "when", "but", "where", "free", "swap", "zero"]),
    (Operator, &["and", "exists", "forall", "implies", "not", "or"]),
    (Type, &["discrete", "pointer", "short", "strict"]),
    (Constant, &["FALSE", "NULL", "P", "TRUE", "false", "true"]),
];

/// What the text of a Red model is made of.
pub const VOCABULARY: Vocabulary = Vocabulary {
    name: "Red",
    id: "red",
    endings: &["red"],
    line_comment: "--",
    block_comments: true,
    ignores_case: false,
    words: WORDS,
    symbols: &[":=", "..", "<=", ">=", "<>", "!=", "->"],
    layout: LayoutWords::BRACES,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Words in the parser that are none of the language.
    const OTHERS: &[&str] = &["name"];

    #[test]
    fn the_words_are_those_of_the_parser() {
        let sources = [include_str!("parser.rs"), include_str!("expr.rs")].concat();
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
