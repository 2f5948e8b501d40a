//! The statements of functions.

use super::Parser;
use crate::ast::{Expr, ExprKind, Stmt};
use shoal_syntax::{cursor::Parsed, lexer::TokenKind};

impl Parser<'_, '_> {
    pub(super) fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.cursor.expect("{")?;
        let mut stmts = Vec::new();
        while !self.cursor.eat("}") {
            if self.starts_declaration() {
                let mut declarations = Vec::new();
                self.declaration(&mut declarations)?;
                stmts.extend(declarations.into_iter().map(Stmt::Declare));
            } else {
                stmts.push(self.stmt()?);
            }
        }
        Ok(stmts)
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        self.cursor.enter()?;
        let stmt = self.stmt_inside()?;
        self.cursor.leave();
        Ok(stmt)
    }

    fn stmt_inside(&mut self) -> Parsed<Stmt> {
        let span = self.cursor.span();
        if self.cursor.is_symbol("{") {
            return Ok(Stmt::Block(self.block()?));
        }
        if self.cursor.eat(";") {
            return Ok(Stmt::Block(Vec::new()));
        }
        if self.cursor.eat_word("if") {
            let condition = self.parenthesised()?;
            let then = Box::new(self.stmt()?);
            let other = if self.cursor.eat_word("else") { Some(Box::new(self.stmt()?)) } else { None };
            return Ok(Stmt::If(condition, then, other));
        }
        if self.cursor.eat_word("while") {
            let condition = self.parenthesised()?;
            return Ok(Stmt::While(condition, Box::new(self.stmt()?)));
        }
        if self.cursor.eat_word("do") {
            let body = Box::new(self.stmt()?);
            self.cursor.expect_word("while")?;
            let condition = self.parenthesised()?;
            self.cursor.expect(";")?;
            return Ok(Stmt::DoWhile(body, condition));
        }
        if self.cursor.eat_word("for") {
            return self.for_loop();
        }
        if self.cursor.eat_word("return") {
            let value = if self.cursor.is_symbol(";") { None } else { Some(self.expr()?) };
            self.cursor.expect(";")?;
            return Ok(Stmt::Return(value, span));
        }
        for word in ["break", "continue", "switch", "assert"] {
            if self.cursor.is_word(word) {
                return self.unsupported(&format!("`{word}`"));
            }
        }
        let expr = self.expr()?;
        self.cursor.expect(";")?;
        Ok(Stmt::Expr(expr))
    }

    fn for_loop(&mut self) -> Parsed<Stmt> {
        self.cursor.expect("(")?;
        if matches!(
            (self.cursor.peek(), self.cursor.peek_after(1)),
            (TokenKind::Word(_), TokenKind::Symbol(":"))
        ) {
            let name = self.cursor.name()?;
            self.cursor.expect(":")?;
            let ty = self.type_expr()?;
            self.cursor.expect(")")?;
            return Ok(Stmt::Each(name, ty, Box::new(self.stmt()?)));
        }
        let first = self.expr_list(";")?;
        let condition = match self.cursor.eat(";") {
            true => Expr { kind: ExprKind::Bool(true), span: self.cursor.last_span() },
            false => {
                let condition = self.expr()?;
                self.cursor.expect(";")?;
                condition
            }
        };
        let step = self.expr_list(")")?;
        Ok(Stmt::For(Box::new((first, condition, step)), Box::new(self.stmt()?)))
    }

    /// Expressions with commas between them, up to a symbol.
    fn expr_list(&mut self, end: &'static str) -> Parsed<Vec<Expr>> {
        let mut list = Vec::new();
        if self.cursor.eat(end) {
            return Ok(list);
        }
        loop {
            list.push(self.expr()?);
            if !self.cursor.eat(",") {
                self.cursor.expect(end)?;
                return Ok(list);
            }
        }
    }
}
