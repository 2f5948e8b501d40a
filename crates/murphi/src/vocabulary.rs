//! The words of the language, for editors.

use shoal_syntax::{
    LayoutWords, Vocabulary,
    WordRole::{self, Constant, Control, Declaration, Function, Operator, Type},
};

const WORDS: &[(WordRole, &[&str])] = &[
    (
        Declaration,
        &[
            "assume",
            "const",
            "cover",
            "ctl",
            "externfun",
            "externproc",
            "fairness",
            "function",
            "invariant",
            "liveness",
            "ltl",
            "pctl",
            "procedure",
            "rule",
            "ruleset",
            "startstate",
            "type",
            "var",
        ],
    ),
    (
        Control,
        &[
            "alias",
            "assert",
            "begin",
            "by",
            "case",
            "choose",
            "clear",
            "do",
            "else",
            "elsif",
            "end",
            "endalias",
            "endchoose",
            "endexists",
            "endfor",
            "endforall",
            "endfunction",
            "endif",
            "endprocedure",
            "endrecord",
            "endrule",
            "endruleset",
            "endstartstate",
            "endswitch",
            "endwhile",
            "error",
            "for",
            "if",
            "put",
            "return",
            "switch",
            "then",
            "to",
            "undefine",
            "while",
        ],
    ),
    (Operator, &["always", "eventually", "exists", "forall", "next"]),
    (Type, &["array", "boolean", "enum", "multiset", "of", "real", "record", "scalarset", "union"]),
    (Constant, &["false", "true", "undefined"]),
    (
        Function,
        &["ismember", "isundefined", "multisetadd", "multisetcount", "multisetremove", "multisetremovepred"],
    ),
];

/// What the text of a Murphi model is made of.
pub const VOCABULARY: Vocabulary = Vocabulary {
    name: "Murphi",
    id: "murphi",
    endings: &["m"],
    line_comment: "--",
    block_comments: true,
    ignores_case: true,
    words: WORDS,
    symbols: &["==>", ":=", "..", "->", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "=>"],
    layout: LayoutWords {
        openers: &[
            "rule",
            "startstate",
            "ruleset",
            "for",
            "if",
            "while",
            "switch",
            "alias",
            "forall",
            "exists",
            "choose",
            "record",
            "procedure",
            "function",
            "∀",
            "∃",
        ],
        closers: &[
            "end",
            "endalias",
            "endchoose",
            "endexists",
            "endfor",
            "endforall",
            "endfunction",
            "endif",
            "endprocedure",
            "endrecord",
            "endrule",
            "endruleset",
            "endstartstate",
            "endswitch",
            "endwhile",
        ],
        middles: &["begin", "else", "elsif", "case", "==>"],
        sections: &["const", "type", "var"],
        parts: &[
            "invariant",
            "assume",
            "cover",
            "liveness",
            "ltl",
            "ctl",
            "fairness",
            "externfun",
            "externproc",
        ],
        heads: &["rule", "startstate"],
        breaks: &[";", "do", "then", "==>", "record", ":"],
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::{Keyword, SOFT_WORDS};

    #[test]
    fn the_words_are_those_of_the_lexer() {
        let own = VOCABULARY.all_words();
        let mut lexer: Vec<&str> = Keyword::ALL.iter().map(|keyword| keyword.text()).collect();
        lexer.extend(SOFT_WORDS);
        lexer.sort_unstable();
        assert_eq!(own, lexer);
        for word in VOCABULARY.layout.closers {
            assert!(*word == "endchoose" || Keyword::lookup(word).is_some_and(Keyword::is_closer));
        }
    }

    #[test]
    fn a_text_is_laid_out_once_and_for_all() {
        let text = "const N:3;\ntype proc:scalarset( N );\n\n\n\nvar x:array[proc]of 0..3;   -- a column\n\
            startstate for p:proc do x[p]:=0;end;end;\nruleset p:proc do\nrule \"up\"\nx[p]<3 &\ntrue\n==>\n\
            x[p]:=x[p]+1;\nif x[p]=2 then\nx[p]:=0;\nelse\nclear x;\nend;\nend;\n-- about what follows\nend;\n\
            invariant \"small\"\nforall p:proc do\nx[p]<=3\nend\n& true;\n";
        let expected = "const N: 3;\ntype proc: scalarset(N);\n\nvar x: array[proc]of 0..3;  -- a column\n\
            startstate for p: proc do x[p] := 0; end; end;\nruleset p: proc do\n  rule \"up\"\n    x[p] < 3 &\n    true\n\
            \x20 ==>\n    x[p] := x[p]+1;\n    if x[p] = 2 then\n      x[p] := 0;\n    else\n      clear x;\n    end;\n  end;\n\
            \x20 -- about what follows\nend;\ninvariant \"small\"\n  forall p: proc do\n    x[p] <= 3\n  end\n  & true;\n";
        let once = VOCABULARY.laid_out(text).unwrap();
        assert_eq!(once, expected);
        assert_eq!(VOCABULARY.laid_out(&once).unwrap(), once);
    }

    #[test]
    fn blocks_and_comments_fold_as_far_as_they_are_closed() {
        let text = "-- one\n-- two\nruleset p: proc do\n  rule \"x\"\n    true\n  ==>\n    y := 1;\n  end;\nend;\nrule\n";
        let folds = VOCABULARY.folds(text);
        let found: Vec<_> = folds.iter().map(|fold| (fold.first, fold.last, fold.comment)).collect();
        assert_eq!(found, [(0, 1, true), (2, 7, false), (3, 6, false)]);
        for end in 0..text.len() {
            VOCABULARY.folds(&text[..end]);
        }
    }
}
