//! Expressions.

use shoal_syntax::{Spanned, cursor::Parsed, lexer::TokenKind};

use super::Parser;
use crate::ast::{Assign, Expr, ExprKind, Name, Quantifier};

/// Operators and what they are called in the tree, weakest first. A word binds as its symbol does.
const LEVELS: [&[(&str, &str)]; 12] = [
    &[("||", "||"), ("or", "||"), ("imply", "imply")],
    &[("&&", "&&"), ("and", "&&")],
    &[("|", "|")],
    &[("^", "^")],
    &[("&", "&")],
    &[("==", "=="), ("!=", "!=")],
    &[("<=", "<="), (">=", ">="), ("<", "<"), (">", ">")],
    &[("<?", "<?"), (">?", ">?")],
    &[("<<", "<<"), (">>", ">>")],
    &[("+", "+"), ("-", "-")],
    &[("*", "*"), ("/", "/"), ("%", "%")],
    &[("**", "**")],
];

/// Assignments and the operators in them.
const ASSIGNMENTS: [(&str, Option<&str>); 12] = [
    (":=", None),
    ("=", None),
    ("+=", Some("+")),
    ("-=", Some("-")),
    ("*=", Some("*")),
    ("/=", Some("/")),
    ("%=", Some("%")),
    ("&=", Some("&")),
    ("|=", Some("|")),
    ("^=", Some("^")),
    ("<<=", Some("<<")),
    (">>=", Some(">>")),
];

impl Parser<'_, '_> {
    /// An expression.
    pub(crate) fn expr(&mut self) -> Parsed<Expr> {
        self.cursor.enter()?;
        let expr = self.assigned()?;
        self.cursor.leave();
        Ok(expr)
    }

    fn assigned(&mut self) -> Parsed<Expr> {
        let left = self.conditional()?;
        let Some((_, op)) = ASSIGNMENTS.iter().find(|(symbol, _)| self.cursor.is_symbol(symbol)) else {
            return Ok(left);
        };
        self.cursor.enter()?;
        self.cursor.bump();
        let value = self.assigned()?;
        self.cursor.leave();
        Ok(assignment(*op, left, value, false))
    }

    fn conditional(&mut self) -> Parsed<Expr> {
        let condition = self.level(&LEVELS, Self::unary)?;
        if !self.cursor.eat("?") {
            return Ok(condition);
        }
        let then = self.expr()?;
        self.cursor.expect(":")?;
        self.cursor.enter()?;
        let other = self.assigned()?;
        self.cursor.leave();
        let span = condition.span.to(other.span);
        Ok(Expr { kind: ExprKind::Cond(Box::new(condition), Box::new(then), Box::new(other)), span })
    }

    /// Operators of some levels between what binds stronger; all group to the left.
    fn level(
        &mut self,
        levels: &[&[(&str, &'static str)]],
        inner: fn(&mut Self) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let Some((operators, stronger)) = levels.split_first() else { return inner(self) };
        let mut left = self.level(stronger, inner)?;
        while let Some((_, op)) = operators.iter().find(|(symbol, _)| match self.cursor.peek() {
            TokenKind::Symbol(found) | TokenKind::Word(found) => found == *symbol,
            _ => false,
        }) {
            self.cursor.bump();
            let right = self.level(stronger, inner)?;
            left = binary(op, left, right);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        self.cursor.enter()?;
        let expr = self.unary_inside()?;
        self.cursor.leave();
        Ok(expr)
    }

    fn unary_inside(&mut self) -> Parsed<Expr> {
        let start = self.cursor.span();
        if self.cursor.eat("!") || self.cursor.eat_word("not") {
            let of = self.unary()?;
            let span = start.to(of.span);
            return Ok(Expr { kind: ExprKind::Not(Box::new(of)), span });
        }
        if self.cursor.eat("-") {
            let of = self.unary()?;
            let span = start.to(of.span);
            return Ok(Expr { kind: ExprKind::Minus(Box::new(of)), span });
        }
        if self.cursor.eat("+") {
            return self.unary();
        }
        for (symbol, op) in [("++", "+"), ("--", "-")] {
            if self.cursor.eat(symbol) {
                let of = self.unary()?;
                let one = Expr { kind: ExprKind::Number(1), span: start };
                return Ok(assignment(Some(op), of, one, false));
            }
        }
        self.postfix()
    }

    pub(super) fn parenthesised(&mut self) -> Parsed<Expr> {
        self.cursor.expect("(")?;
        let expr = self.expr()?;
        self.cursor.expect(")")?;
        Ok(expr)
    }

    /// The arguments behind a bracket that is already open.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        let mut arguments = Vec::new();
        if self.cursor.eat(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expr()?);
            if !self.cursor.eat(",") {
                self.cursor.expect(")")?;
                return Ok(arguments);
            }
        }
    }

    pub(super) fn postfix(&mut self) -> Parsed<Expr> {
        let start = self.cursor.span();
        let mut expr = self.primary()?;
        loop {
            let kind = if self.cursor.eat("[") {
                let index = self.expr()?;
                self.cursor.expect("]")?;
                ExprKind::Index(Box::new(expr), Box::new(index))
            } else if self.cursor.eat(".") {
                let name = self.cursor.name()?;
                match self.cursor.eat("(") {
                    true => ExprKind::CallOf(Box::new(expr), name, self.arguments()?),
                    false => ExprKind::Dot(Box::new(expr), name),
                }
            } else if self.cursor.is_symbol("++") || self.cursor.is_symbol("--") {
                let op = if self.cursor.is_symbol("++") { "+" } else { "-" };
                let span = self.cursor.bump().span;
                let one = Expr { kind: ExprKind::Number(1), span };
                return Ok(assignment(Some(op), expr, one, true));
            } else if self.cursor.eat("'") {
                ExprKind::Rate(Box::new(expr))
            } else {
                return Ok(expr);
            };
            expr = Expr { kind, span: start.to(self.cursor.last_span()) };
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.cursor.span();
        let kind = match self.cursor.peek() {
            TokenKind::Number(number) => {
                self.cursor.bump();
                if self.cursor.is_symbol(".") {
                    return self.unsupported("doubles");
                }
                ExprKind::Number(number)
            }
            TokenKind::Symbol("(") => return self.parenthesised(),
            TokenKind::Word("true" | "false") => {
                ExprKind::Bool(self.cursor.bump().kind == TokenKind::Word("true"))
            }
            TokenKind::Word("deadlock") => {
                self.cursor.bump();
                ExprKind::Deadlock
            }
            TokenKind::Word("forall") => return self.quantified(Quantifier::Forall),
            TokenKind::Word("exists") => return self.quantified(Quantifier::Exists),
            TokenKind::Word("sum") => return self.quantified(Quantifier::Sum),
            TokenKind::Word(word) => {
                let name: Name = Spanned::new(word.to_string(), start);
                self.cursor.bump();
                match self.cursor.eat("(") {
                    true => ExprKind::Call(name, self.arguments()?),
                    false => ExprKind::Name(name.node),
                }
            }
            _ => return Err(self.cursor.expected("an expression")),
        };
        Ok(Expr { kind, span: start.to(self.cursor.last_span()) })
    }

    fn quantified(&mut self, quantifier: Quantifier) -> Parsed<Expr> {
        let start = self.cursor.bump().span;
        self.cursor.expect("(")?;
        let name = self.cursor.name()?;
        self.cursor.expect(":")?;
        let ty = self.type_expr()?;
        self.cursor.expect(")")?;
        let body = self.expr()?;
        let span = start.to(body.span);
        Ok(Expr { kind: ExprKind::Quantified(quantifier, name, Box::new(ty), Box::new(body)), span })
    }
}

pub(super) fn binary(op: &'static str, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}

fn assignment(op: Option<&'static str>, to: Expr, value: Expr, before: bool) -> Expr {
    let span = to.span.to(value.span);
    Expr { kind: ExprKind::Assign(Box::new(Assign { op, to, value, before })), span }
}
