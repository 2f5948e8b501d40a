//! The words of the language, for editors.

use shoal_syntax::{
    LayoutWords, Vocabulary,
    WordRole::{self, Constant, Control, Declaration, Function, Operator, Type},
};

const WORDS: &[(WordRole, &[&str])] = &[
    (
        Declaration,
        &[
            "D_proctype",
            "active",
            "c_code",
            "c_decl",
            "c_expr",
            "c_state",
            "c_track",
            "function",
            "init",
            "inline",
            "ltl",
            "never",
            "notrace",
            "proctype",
            "trace",
            "typedef",
        ],
    ),
    (
        Control,
        &[
            "assert", "atomic", "break", "d_step", "delete", "do", "else", "fi", "for", "goto", "if", "od",
            "printf", "printm", "priority", "provided", "return", "run", "select", "timeout", "unless", "xr",
            "xs", "new",
        ],
    ),
    (
        Operator,
        &[
            "always",
            "eventually",
            "equivalent",
            "implies",
            "next",
            "release",
            "stronguntil",
            "until",
            "weakuntil",
            "U",
            "V",
            "W",
            "X",
            "in",
            "of",
        ],
    ),
    (
        Type,
        &[
            "bit", "bool", "byte", "chan", "ftype", "hidden", "int", "local", "mtype", "pid", "short",
            "show", "unsigned",
        ],
    ),
    (Constant, &["_last", "_nr_pr", "_pid", "_priority", "false", "np_", "null", "skip", "true"]),
    (
        Function,
        &[
            "empty",
            "enabled",
            "eval",
            "full",
            "get_priority",
            "len",
            "nempty",
            "nfull",
            "pc_value",
            "set_priority",
        ],
    ),
];

/// What the text of a Promela model is made of.
pub const VOCABULARY: Vocabulary = Vocabulary {
    name: "Promela",
    id: "promela",
    endings: &["pml", "prom", "promela", "prm", "pr", "pm", "spin", "dpml"],
    line_comment: "//",
    block_comments: true,
    ignores_case: false,
    words: WORDS,
    symbols: &[
        "<->", "...", "->", "++", "--", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "::", "..", "!!",
        "??", "##", "[]", "<>",
    ],
    layout: LayoutWords {
        openers: &["if", "do"],
        closers: &["fi", "od"],
        breaks: &[";", "{", "}", "->", "::"],
        ..LayoutWords::BRACES
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Words in the parser that are none of the language, or are refused by name.
    const OTHERS: &[&str] = &["STDIN"];

    #[test]
    fn the_words_are_those_of_the_parser() {
        let sources = [
            include_str!("parser.rs"),
            include_str!("parser/decl.rs"),
            include_str!("parser/expr.rs"),
            include_str!("parser/stmt.rs"),
            include_str!("parser/unit.rs"),
            include_str!("parser/labels.rs"),
            include_str!("parser/record_channels.rs"),
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
