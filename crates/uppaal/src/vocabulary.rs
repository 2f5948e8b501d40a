//! The words of the language, for editors.

use shoal_syntax::{
    LayoutWords, Vocabulary,
    WordRole::{self, Constant, Control, Declaration, Operator, Type},
};

const WORDS: &[(WordRole, &[&str])] = &[
    (
        Declaration,
        &[
            "IO",
            "after_update",
            "before_update",
            "branchpoint",
            "commit",
            "default",
            "gantt",
            "init",
            "priority",
            "process",
            "progress",
            "state",
            "system",
            "trans",
            "typedef",
        ],
    ),
    (
        Control,
        &[
            "assert",
            "assign",
            "break",
            "continue",
            "do",
            "else",
            "for",
            "guard",
            "if",
            "return",
            "select",
            "switch",
            "sync",
            "while",
            "probability",
        ],
    ),
    (Operator, &["and", "exists", "forall", "imply", "not", "or", "sum", "sup", "inf", "bounds"]),
    (
        Type,
        &[
            "bool",
            "broadcast",
            "chan",
            "clock",
            "const",
            "double",
            "hybrid",
            "int",
            "meta",
            "scalar",
            "string",
            "struct",
            "urgent",
            "void",
        ],
    ),
    (Constant, &["deadlock", "false", "true"]),
];

/// What the text of an UPPAAL model is made of.
pub const VOCABULARY: Vocabulary = Vocabulary {
    name: "UPPAAL",
    id: "uppaal",
    endings: &["xta", "q"],
    line_comment: "//",
    block_comments: true,
    ignores_case: false,
    words: WORDS,
    symbols: &[
        "->", "-->", ":=", "==", "!=", "<=", ">=", "&&", "||", "<<", ">>", "++", "--", "+=", "-=", "<?",
        ">?", "<>", "[]",
    ],
    layout: LayoutWords::BRACES,
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Words in the parser that are none of the language.
    const OTHERS: &[&str] = &["doubles"];

    #[test]
    fn the_words_are_those_of_the_parser() {
        let sources = [
            include_str!("parser/mod.rs"),
            include_str!("parser/code.rs"),
            include_str!("parser/declarations.rs"),
            include_str!("parser/expr.rs"),
            include_str!("parser/queries.rs"),
        ]
        .concat();
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
