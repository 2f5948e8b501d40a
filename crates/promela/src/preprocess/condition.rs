//! The conditions of `#if`.

use shoal_model::{BinaryOp, Value};
use shoal_syntax::Span;

use super::Preprocessor;
use crate::token::{LEVELS, Token, TokenKind};

impl Preprocessor<'_> {
    /// Whether the condition of `#if`, `#ifdef` or `#ifndef` holds.
    pub(super) fn condition(&mut self, directive: &str, rest: &[Token], span: Span) -> bool {
        if directive == "if" {
            let plain = self.answer_defined(rest);
            self.deciding = true;
            let tokens = self.expand(plain);
            self.deciding = false;
            let mut parser = ConditionReader { tokens: &tokens, at: 0 };
            let value = parser.level(0);
            return match value {
                Some(value) if parser.at == tokens.len() => value != 0,
                _ => {
                    self.error(span, "this condition cannot be read");
                    false
                }
            };
        }
        let Some(name) = rest.first().and_then(Token::word) else {
            self.error(span, format!("`#{directive}` needs a name"));
            return false;
        };
        self.out.names.insert(name.clone());
        self.macros.contains_key(name) == (directive == "ifdef")
    }

    /// `defined X` and `defined(X)` are answered before macros are expanded.
    fn answer_defined(&mut self, tokens: &[Token]) -> Vec<Token> {
        let mut output = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let token = &tokens[at];
            if let Some(word) = token.word() {
                self.out.names.insert(word.clone());
            }
            if !token.is_word("defined") {
                output.push(token.clone());
                at += 1;
                continue;
            }
            let bracket = usize::from(tokens.get(at + 1).is_some_and(|token| token.is("(")));
            let name = tokens.get(at + 1 + bracket).and_then(Token::word);
            let known = name.is_some_and(|name| self.macros.contains_key(name));
            if let Some(name) = name {
                self.out.names.insert(name.clone());
            }
            output.push(Token { kind: TokenKind::Int(i64::from(known)), ..token.clone() });
            at += 2 + 2 * bracket;
        }
        output
    }
}

/// Reads a condition and evaluates it.
struct ConditionReader<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl ConditionReader<'_> {
    fn level(&mut self, level: usize) -> Option<i64> {
        let Some(symbols) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some(symbol) =
            symbols.iter().find(|symbol| self.tokens.get(self.at).is_some_and(|it| it.is(symbol)))
        {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = apply(symbol, left, right)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i64> {
        let token = self.tokens.get(self.at)?;
        self.at += 1;
        match &token.kind {
            TokenKind::Int(value) => Some(*value),
            // A name that is no macro counts as 0.
            TokenKind::Word(word) => Some(i64::from(**word == *"true")),
            TokenKind::Symbol("!") => Some(i64::from(self.unary()? == 0)),
            TokenKind::Symbol("-") => self.unary()?.checked_neg(),
            TokenKind::Symbol("(") => {
                let value = self.level(0)?;
                let closed = self.tokens.get(self.at).is_some_and(|token| token.is(")"));
                self.at += 1;
                closed.then_some(value)
            }
            _ => None,
        }
    }
}

fn apply(symbol: &str, left: i64, right: i64) -> Option<i64> {
    let op = match symbol {
        "||" => return Some(i64::from(left != 0 || right != 0)),
        "&&" => return Some(i64::from(left != 0 && right != 0)),
        "==" => return Some(i64::from(left == right)),
        "!=" => return Some(i64::from(left != right)),
        symbol => BinaryOp::of_symbol(symbol)?,
    };
    match BinaryOp::apply(op, left, right).ok()? {
        Value::Bool(value) => Some(i64::from(value)),
        Value::Int(value) => Some(value),
        _ => None,
    }
}
