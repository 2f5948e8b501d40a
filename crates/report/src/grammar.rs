//! What editors colour a text by, made from the vocabularies of the languages: grammars for VS Code (TextMate), syntax files for Vim,
//! modes for Emacs.

use std::fmt::Write;

use serde_json::{Value as Json, json};
use shoal_syntax::{Vocabulary, WordRole};

/// A file for an editor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditorFile {
    /// Where it stands, below the folder of all editors.
    pub path: String,
    /// What it holds.
    pub text: String,
}

/// All files that are made from the vocabularies.
pub fn editor_files(vocabularies: &[Vocabulary]) -> Vec<EditorFile> {
    let mut files = Vec::new();
    for it in vocabularies {
        let id = it.id;
        files.push(EditorFile {
            path: format!("vscode/syntaxes/{id}.tmLanguage.json"),
            text: format!("{:#}\n", textmate(it)),
        });
        files.push(EditorFile {
            path: format!("vscode/languages/{id}.json"),
            text: format!("{:#}\n", configuration(it)),
        });
        files.push(EditorFile { path: format!("vim/syntax/{}.vim", vim_name(it)), text: vim(it) });
    }
    files.push(EditorFile { path: "vim/ftdetect/shoal.vim".into(), text: vim_endings(vocabularies) });
    files.push(EditorFile { path: "emacs/shoal-modes.el".into(), text: emacs(vocabularies) });
    files
}

const MADE: &str = "Made by `cargo xtask grammars` from the words of the front ends.";

/// What each kind of word is called in the scopes of TextMate, the groups of Vim and the faces of Emacs.
fn names_of(role: WordRole) -> (&'static str, &'static str, &'static str) {
    match role {
        WordRole::Declaration => ("keyword.declaration", "Structure", "font-lock-keyword-face"),
        WordRole::Control => ("keyword.control", "Statement", "font-lock-keyword-face"),
        WordRole::Operator => ("keyword.operator.word", "Operator", "font-lock-builtin-face"),
        WordRole::Type => ("storage.type", "Type", "font-lock-type-face"),
        WordRole::Constant => ("constant.language", "Constant", "font-lock-constant-face"),
        WordRole::Function => ("support.function", "Function", "font-lock-builtin-face"),
    }
}

/// A regular expression for one of some characters' sequences.
fn one_of(symbols: &[&str]) -> String {
    let escape = |symbol: &&str| -> String {
        symbol
            .chars()
            .flat_map(|it| if it.is_ascii_punctuation() { vec!['\\', it] } else { vec![it] })
            .collect()
    };
    symbols.iter().map(escape).collect::<Vec<_>>().join("|")
}

fn textmate(it: &Vocabulary) -> Json {
    let id = it.id;
    let comment = one_of(&[it.line_comment]);
    let mut patterns =
        vec![json!({"name": format!("comment.line.{id}"), "match": format!("(?:{comment}).*$")})];
    if it.block_comments {
        let name = format!("comment.block.{id}");
        patterns.push(json!({"name": name, "begin": "/\\*", "end": "\\*/"}));
    }
    patterns
        .push(json!({"name": format!("string.quoted.double.{id}"), "match": "\"(?:[^\"\\\\\\n]|\\\\.)*\"?"}));
    for (role, words) in it.words {
        let case = if it.ignores_case { "(?i)" } else { "" };
        let (scope, ..) = names_of(*role);
        let pattern = format!("{case}\\b(?:{})\\b", words.join("|"));
        patterns.push(json!({"name": format!("{scope}.{id}"), "match": pattern}));
    }
    patterns.push(
        json!({"name": format!("constant.numeric.{id}"), "match": "\\b(?:0[xX][0-9a-fA-F]+|[0-9]+)\\b"}),
    );
    patterns.push(json!({"name": format!("keyword.operator.{id}"), "match": one_of(it.symbols)}));
    json!({
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": it.name, "scopeName": format!("source.{id}"), "comment": MADE,
        "fileTypes": it.endings, "patterns": patterns,
    })
}

/// Comments and brackets, for VS Code.
fn configuration(it: &Vocabulary) -> Json {
    let mut comments = json!({"lineComment": it.line_comment});
    if it.block_comments {
        comments["blockComment"] = json!(["/*", "*/"]);
    }
    let pairs = json!([["(", ")"], ["[", "]"], ["{", "}"]]);
    let closing: Vec<Json> = [("(", ")"), ("[", "]"), ("{", "}"), ("\"", "\"")]
        .iter()
        .map(|(open, close)| json!({"open": open, "close": close}))
        .collect();
    let mut made = json!({"comments": comments, "brackets": pairs, "autoClosingPairs": closing});
    if !it.layout.openers.is_empty() {
        let words = |words: &[&str]| {
            let plain: Vec<_> = words
                .iter()
                .copied()
                .filter(|word| word.chars().all(|it| it.is_ascii_alphanumeric()))
                .collect();
            format!("^\\s*(?:{})\\b", plain.join("|"))
        };
        let closers: Vec<&str> = [it.layout.closers, it.layout.middles].concat();
        made["indentationRules"] = json!({
            "increaseIndentPattern": words(&[it.layout.openers, it.layout.middles].concat()),
            "decreaseIndentPattern": words(&closers),
        });
    }
    made
}

/// Vim and Emacs name file types by letters and digits.
fn vim_name(it: &Vocabulary) -> String {
    it.id.replace('-', "")
}

fn vim(it: &Vocabulary) -> String {
    let name = vim_name(it);
    let mut text = format!(
        "\" Vim syntax file: {}\n\" {MADE}\n\nif exists(\"b:current_syntax\")\n  finish\nendif\n\n",
        it.name
    );
    text += if it.ignores_case { "syntax case ignore\n" } else { "syntax case match\n" };
    for (role, words) in it.words {
        let _ = writeln!(text, "syntax keyword {name}{role:?} {}", words.join(" "));
    }
    let _ = writeln!(text, "syntax match {name}Number \"\\<\\d\\+\\>\"");
    let _ = writeln!(text, "syntax region {name}String start=+\"+ skip=+\\\\.+ end=+\"+ oneline");
    let _ = writeln!(text, "syntax match {name}Comment \"{}.*$\"", it.line_comment.replace('/', "\\/"));
    if it.block_comments {
        let _ = writeln!(text, "syntax region {name}Comment start=\"/\\*\" end=\"\\*/\"");
    }
    text.push('\n');
    for (role, _) in it.words {
        let _ = writeln!(text, "highlight default link {name}{role:?} {}", names_of(*role).1);
    }
    for group in ["Number", "String", "Comment"] {
        let _ = writeln!(text, "highlight default link {name}{group} {group}");
    }
    let comment = it.line_comment;
    let _ = write!(text, "\nsetlocal commentstring={comment}\\ %s\nlet b:current_syntax = \"{name}\"\n");
    text
}

/// Which file is of which type. `.m` is many languages: what begins as Murphi models do is taken as one.
fn vim_endings(vocabularies: &[Vocabulary]) -> String {
    let mut text = format!("\" {MADE}\n");
    for it in vocabularies {
        let endings: Vec<String> = it.endings.iter().map(|ending| format!("*.{ending}")).collect();
        let set = match it.id {
            "murphi" => "call s:Murphi()".to_string(),
            _ => format!("set filetype={}", vim_name(it)),
        };
        let _ = writeln!(text, "autocmd BufNewFile,BufRead {} {set}", endings.join(","));
    }
    text += "\nfunction! s:Murphi()\n  for l:line in getline(1, 60)\n    \
             if l:line =~? '^\\s*\\(--\\|const\\>\\|type\\>\\|var\\>\\|ruleset\\>\\|startstate\\>\\)'\n      \
             set filetype=murphi\n      return\n    endif\n  endfor\nendfunction\n";
    text
}

fn emacs(vocabularies: &[Vocabulary]) -> String {
    let mut text = format!(
        ";;; shoal-modes.el --- modes for the languages that Shoal reads  -*- lexical-binding: t -*-\n\n;; {MADE}\n\n;;; Code:\n"
    );
    for it in vocabularies {
        let mode = format!("shoal-{}-mode", it.id);
        let mut keywords = String::new();
        for (role, words) in it.words {
            let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            let face = names_of(*role).2;
            let _ = write!(keywords, "\n    (cons (regexp-opt '({}) 'symbols) '{face})", words.join(" "));
        }
        let _ = write!(
            text,
            "\n(defvar {mode}-syntax-table\n  (let ((table (make-syntax-table)))\n    (modify-syntax-entry ?_ \"_\" table)\n{}    table))\n",
            comment_syntax(it)
        );
        let fold = if it.ignores_case { "t" } else { "nil" };
        let _ = write!(
            text,
            "\n;;;###autoload\n(define-derived-mode {mode} prog-mode \"{}\"\n  \"Major mode for {}.\"\n  \
             (setq-local comment-start \"{} \")\n  (setq-local font-lock-defaults\n   (list (list{keywords})\n    nil {fold})))\n",
            it.name, it.name, it.line_comment
        );
        for ending in it.endings {
            let _ = write!(
                text,
                "\n;;;###autoload\n(add-to-list 'auto-mode-alist '(\"\\\\.{ending}\\\\'\" . {mode}))\n"
            );
        }
    }
    text += "\n(with-eval-after-load 'eglot\n  (add-to-list 'eglot-server-programs\n   '((";
    text += &vocabularies.iter().map(|it| format!("shoal-{}-mode", it.id)).collect::<Vec<_>>().join(" ");
    text += ") . (\"shoal\" \"lsp\"))))\n\n(provide 'shoal-modes)\n;;; shoal-modes.el ends here\n";
    text
}

/// What begins and ends a comment, in the words of a syntax table.
fn comment_syntax(it: &Vocabulary) -> String {
    let entry =
        |character: &str, what: &str| format!("    (modify-syntax-entry {character} \"{what}\" table)\n");
    let block = it.block_comments;
    match it.line_comment {
        "--" => {
            let mut text = entry("?-", ". 12b") + &entry("?\\n", "> b");
            if block {
                text += &(entry("?/", ". 14") + &entry("?*", ". 23"));
            }
            text
        }
        _ => entry("?/", ". 124b") + &entry("?*", ". 23") + &entry("?\\n", "> b"),
    }
}
