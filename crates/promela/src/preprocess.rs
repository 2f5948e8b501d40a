//! The preprocessor: macros with and without parameters, conditions, included files.
//!
//! It works on tokens and is a part of the C preprocessor large enough for models: `#define`, `#undef`, `#include`,
//! `#if`, `#ifdef`, `#ifndef`, `#elif`, `#else`, `#endif`, `#error`; `#` and `##` in the bodies of macros. Other
//! directives (`#pragma`, `#line`) are passed over.

mod condition;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    rc::Rc,
};

use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap, Span};

use crate::{
    codes,
    lexer::lex,
    token::{Token, TokenKind},
};

/// So many tokens may come out: a macro that names itself through others cannot go on for ever.
const MOST_TOKENS: usize = 4_000_000;
/// So many files may be included in all.
const MOST_INCLUDED: usize = 10_000;
/// So deeply may files include files.
const MOST_INCLUDES: usize = 64;

/// What the preprocessor hands on.
#[derive(Debug, Default)]
pub(crate) struct Preprocessed {
    /// The tokens, with an end.
    pub(crate) tokens: Vec<Token>,
    /// What was wrong.
    pub(crate) diagnostics: Diagnostics,
    /// The names that were defined or asked for, by a condition or by standing in the text: those that `set` may name.
    pub(crate) names: HashSet<Rc<str>>,
    /// The macros whose values conditions were decided by.
    pub(crate) decisive: HashSet<Rc<str>>,
}

/// The tokens of a file with all macros expanded. `set` defines macros that the file cannot define anew.
pub(crate) fn preprocess(sources: &SourceMap, id: SourceId, set: &[(String, i64)]) -> Preprocessed {
    let mut preprocessor = Preprocessor {
        sources,
        macros: HashMap::new(),
        fixed: HashSet::new(),
        out: Preprocessed::default(),
        included: 0,
        full: false,
        deciding: false,
    };
    for (name, value) in set {
        let name: Rc<str> = name.as_str().into();
        let span = Span::new(id, 0, 0);
        let body = vec![Token { kind: TokenKind::Int(*value), span, first: false, spaced: true }];
        preprocessor.macros.insert(name.clone(), Macro { params: None, body });
        preprocessor.fixed.insert(name);
    }
    preprocessor.file(id, 0);
    let end = sources.file(id).text().len();
    let end = Token { kind: TokenKind::End, span: Span::new(id, end, end), first: true, spaced: true };
    preprocessor.out.tokens.push(end);
    preprocessor.out
}

/// The files that a text includes, conditions or not, as they are named there.
pub fn includes(text: &str) -> Vec<String> {
    let named = |line: &str| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
        let close = if rest.starts_with('<') { '>' } else { '"' };
        rest.get(1..)?.split(close).next().map(str::to_string)
    };
    text.lines().filter_map(named).collect()
}

/// The name of a file that another includes: beside it, and without steps into folders and out again. Files that include each
/// other by such ways would have ever longer names otherwise, and be read under each of them.
pub fn included(by: &str, name: &str) -> String {
    if name.starts_with('/') {
        return name.into();
    }
    let folder = by.rfind(['/', '\\']).map_or("", |end| &by[..=end]);
    let whole = format!("{folder}{name}");
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        let leaves = part == ".." && parts.last().is_some_and(|last| !["", ".", ".."].contains(last));
        if leaves {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[derive(Clone, Debug)]
struct Macro {
    params: Option<Vec<Rc<str>>>,
    body: Vec<Token>,
}

struct Preprocessor<'s> {
    sources: &'s SourceMap,
    macros: HashMap<Rc<str>, Macro>,
    /// Macros that the file cannot change.
    fixed: HashSet<Rc<str>>,
    out: Preprocessed,
    /// How many files were included.
    included: usize,
    /// Whether there is too much already.
    full: bool,
    /// Whether a condition is being expanded.
    deciding: bool,
}

/// One `#if` that is open.
struct OpenIf {
    span: Span,
    /// Whether the tokens that follow count.
    active: bool,
    /// Whether a part of it was taken already, or none may be.
    done: bool,
}

/// A token to be expanded, or the end of a macro's expansion.
enum MacroItem {
    Token(Token),
    Leave(Rc<str>),
}

impl Preprocessor<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.out.diagnostics.push(Diagnostic::error(codes::DIRECTIVE, span, message));
    }

    fn file(&mut self, id: SourceId, depth: usize) {
        let (tokens, found) = lex(id, self.sources.file(id).text());
        self.out.diagnostics.extend(found);
        let mut branches: Vec<OpenIf> = Vec::new();
        let mut at = 0;
        let mut text = Vec::new();
        while at < tokens.len() {
            if tokens[at].first && tokens[at].is("#") {
                let taken = std::mem::take(&mut text);
                self.expand_to_output(taken);
                let end = at + 1 + tokens[at + 1..].iter().take_while(|token| !token.first).count();
                self.directive(&tokens[at..end], &mut branches, depth);
                at = end;
            } else {
                if branches.iter().all(|branch| branch.active) {
                    text.push(tokens[at].clone());
                }
                at += 1;
            }
        }
        self.expand_to_output(text);
        if let Some(open) = branches.last() {
            self.error(open.span, "this `#if` has no `#endif`");
        }
    }

    fn expand_to_output(&mut self, tokens: Vec<Token>) {
        let expanded = self.expand(tokens);
        self.out.tokens.extend(expanded);
    }

    fn directive(&mut self, line: &[Token], branches: &mut Vec<OpenIf>, depth: usize) {
        let span = line[0].span;
        let Some(name) = line.get(1).and_then(Token::word) else { return };
        let rest = &line[2..];
        let active = branches.iter().all(|branch| branch.active);
        match &**name {
            "if" | "ifdef" | "ifndef" => {
                let holds = active && self.condition(name, rest, span);
                branches.push(OpenIf { span, active: holds, done: holds || !active });
            }
            "elif" | "else" => {
                let Some(branch) = branches.pop() else {
                    return self.error(span, format!("`#{name}` without `#if`"));
                };
                let wanted = !branch.done && (**name == *"else" || self.condition("if", rest, span));
                branches.push(OpenIf { active: wanted, done: branch.done || wanted, ..branch });
            }
            "endif" if branches.pop().is_none() => self.error(span, "`#endif` without `#if`"),
            "endif" => {}
            _ if !active => {}
            "define" => self.define(rest, span),
            "undef" => {
                if let Some(name) =
                    rest.first().and_then(Token::word).filter(|name| !self.fixed.contains(*name))
                {
                    self.macros.remove(name);
                }
            }
            "include" => self.include(rest, span, depth),
            "error" => {
                let words: Vec<String> = rest.iter().map(Token::text).collect();
                self.error(span, format!("#error {}", words.join(" ")));
            }
            _ => {}
        }
    }

    fn define(&mut self, rest: &[Token], span: Span) {
        let Some(name) = rest.first().and_then(Token::word) else {
            return self.error(span, "`#define` needs a name");
        };
        self.out.names.insert(name.clone());
        if self.fixed.contains(name) {
            return;
        }
        let mut body = &rest[1..];
        let mut params = None;
        if body.first().is_some_and(|token| token.is("(") && !token.spaced) {
            let Some(close) = body.iter().position(|token| token.is(")")) else {
                return self.error(span, "the parameters of this macro have no `)`");
            };
            params = Some(body[1..close].iter().filter_map(Token::word).cloned().collect());
            body = &body[close + 1..];
        }
        self.macros.insert(name.clone(), Macro { params, body: body.to_vec() });
    }

    fn include(&mut self, rest: &[Token], span: Span, depth: usize) {
        let name = match rest.first().map(|token| &token.kind) {
            Some(TokenKind::Text(name)) => name.to_string(),
            Some(TokenKind::Symbol("<")) => {
                rest[1..].iter().take_while(|token| !token.is(">")).map(Token::text).collect()
            }
            _ => return self.error(span, "`#include` needs the name of a file between quotes"),
        };
        // What includes itself twice, or two that include two that include two, goes on for ever.
        if depth >= MOST_INCLUDES || self.included >= MOST_INCLUDED {
            if !std::mem::replace(&mut self.full, true) {
                self.error(span, "files include each other without end");
            }
            return;
        }
        if self.full {
            return;
        }
        self.included += 1;
        let wanted = included(self.sources.file(span.source).name(), &name);
        let found = self.sources.files().position(|file| file.name() == wanted);
        match found {
            Some(index) => self.file(SourceId(index as u32), depth + 1),
            None => self.error(span, format!("the file {wanted:?} cannot be found")),
        }
    }

    /// All tokens with macros expanded.
    fn expand(&mut self, tokens: Vec<Token>) -> Vec<Token> {
        let mut input: VecDeque<MacroItem> = tokens.into_iter().map(MacroItem::Token).collect();
        let mut active: Vec<Rc<str>> = Vec::new();
        let mut output = Vec::new();
        while let Some(item) = input.pop_front() {
            let token = match item {
                MacroItem::Token(token) => token,
                MacroItem::Leave(name) => {
                    active.retain(|known| *known != name);
                    continue;
                }
            };
            let known = token.word().filter(|name| !active.contains(name)).and_then(|name| {
                let found = self.macros.get(name)?;
                Some((name.clone(), found.clone()))
            });
            // What is set need not be defined by the text as well: where it stands, it is asked for.
            if let Some((name, _)) = known.as_ref().filter(|(name, _)| self.fixed.contains(name)) {
                self.out.names.insert(name.clone());
            }
            let Some((name, found)) = known else {
                output.push(token);
                if output.len() > MOST_TOKENS && !self.full {
                    self.full = true;
                    self.error(Span::default(), "macros expand to too many tokens");
                }
                if self.full {
                    return output;
                }
                continue;
            };
            let arguments = match &found.params {
                None => Vec::new(),
                Some(params) => match self.arguments(&mut input, params.len(), &token) {
                    Some(arguments) => arguments,
                    None => {
                        output.push(token);
                        continue;
                    }
                },
            };
            if self.deciding {
                self.out.decisive.insert(name.clone());
            }
            let body = self.substitute(&found, &arguments, &token);
            active.push(name.clone());
            input.push_front(MacroItem::Leave(name));
            for token in body.into_iter().rev() {
                input.push_front(MacroItem::Token(token));
            }
        }
        output
    }

    /// The arguments of a macro that is used with some; nothing if it is not followed by any.
    fn arguments(
        &mut self,
        input: &mut VecDeque<MacroItem>,
        count: usize,
        name: &Token,
    ) -> Option<Vec<Vec<Token>>> {
        let next = input.iter().find_map(|item| match item {
            MacroItem::Token(token) => Some(token.is("(")),
            MacroItem::Leave(_) => None,
        });
        if next != Some(true) {
            return None;
        }
        let mut arguments = vec![Vec::new()];
        let mut depth = 0;
        while let Some(item) = input.pop_front() {
            let MacroItem::Token(token) = item else { continue };
            if token.is("(") || token.is("[") || token.is("{") {
                depth += 1;
                if depth == 1 {
                    continue;
                }
            } else if token.is(")") || token.is("]") || token.is("}") {
                depth -= 1;
                if depth == 0 {
                    if count == 0 && arguments.len() == 1 && arguments[0].is_empty() {
                        arguments.clear();
                    }
                    if arguments.len() != count {
                        let given = arguments.len();
                        let message =
                            format!("the macro `{}` takes {count} arguments, not {given}", name.text());
                        self.error(name.span, message);
                        arguments.resize(count, Vec::new());
                    }
                    return Some(arguments);
                }
            } else if token.is(",") && depth == 1 {
                arguments.push(Vec::new());
                continue;
            }
            if let Some(last) = arguments.last_mut() {
                last.push(token);
            }
        }
        self.error(name.span, format!("the arguments of the macro `{}` have no `)`", name.text()));
        Some(vec![Vec::new(); count])
    }

    fn substitute(&mut self, found: &Macro, arguments: &[Vec<Token>], site: &Token) -> Vec<Token> {
        let params = found.params.as_deref().unwrap_or_default();
        let argument = |token: &Token| {
            let word = token.word()?;
            params.iter().position(|param| param == word).map(|at| arguments[at].clone())
        };
        let mut body: Vec<Token> = Vec::new();
        let mut at = 0;
        while at < found.body.len() {
            let token = &found.body[at];
            let next = found.body.get(at + 1);
            if token.is("#")
                && let Some(raw) = next.and_then(argument)
            {
                let words: Vec<String> = raw.iter().map(Token::text).collect();
                let text = TokenKind::Text(words.join(" ").as_str().into());
                body.push(Token { kind: text, ..token.clone() });
                at += 2;
            } else if token.is("##")
                && let (Some(left), Some(next)) = (body.pop(), next)
            {
                let mut right = argument(next).unwrap_or_else(|| vec![next.clone()]).into_iter();
                let text = left.text() + &right.next().map_or(String::new(), |token| token.text());
                let (mut pasted, _) = lex(left.span.source, &text);
                pasted.iter_mut().for_each(|token| token.span = left.span);
                body.extend(pasted);
                body.extend(right);
                at += 2;
            } else if let Some(raw) = argument(token) {
                let pasted = next.is_some_and(|next| next.is("##"));
                body.extend(if pasted { raw } else { self.expand(raw) });
                at += 1;
            } else {
                body.push(Token { span: site.span, ..token.clone() });
                at += 1;
            }
        }
        for (position, token) in body.iter_mut().enumerate() {
            token.first = position == 0 && site.first;
        }
        if let Some(first) = body.first_mut() {
            first.spaced = site.spaced;
        }
        body
    }
}
