//! Tokens to a [`Program`].

use shoal_syntax::{
    Diagnostics, SourceId, Spanned,
    cursor::{Cursor, Parsed, error, read_all},
    lexer::{Lexicon, TokenKind},
};
use shoal_template::codes;

use super::ast::{
    Act, Action, But, Chain, Expr, ExprKind, Family, InfixOp, Initially, Label, Mode, Move, Name, Program,
    Property, Variable,
};

const LEXICON: Lexicon = Lexicon {
    line_comment: "--",
    block_comments: true,
    symbols: &[
        "->", "=>", ":=", "==", "!=", "<=", ">=", "&&", "||", "..", "(", ")", "[", "]", "{", "}", ",", ";",
        ":", "=", "<", ">", "+", "-", "*", "/", "%", "!",
    ],
};

/// Reads a text. There is a program unless there is an error.
pub(crate) fn parse(source: SourceId, text: &str) -> (Option<Program>, Diagnostics) {
    read_all(source, text, &LEXICON, |cursor| Parser { cursor }.program())
}

struct Parser<'c, 's> {
    cursor: &'c mut Cursor<'s>,
}

/// What begins an item, wherever an error has led.
const BEGINS: &[&str] = &["connectives", "const", "global", "local", "process", "initially", "safe"];

impl Parser<'_, '_> {
    fn program(&mut self) -> Parsed<Program> {
        let mut program = Program::default();
        while !self.cursor.at_end() {
            let mark = self.cursor.mark();
            let read = self.item(&mut program);
            self.cursor.recovered(mark, read, BEGINS)?;
        }
        Ok(program)
    }

    fn item(&mut self, program: &mut Program) -> Parsed<()> {
        let span = self.cursor.span();
        match self.cursor.peek() {
            TokenKind::Word("connectives") => program.strict = self.connectives()?,
            TokenKind::Word("const") => program.constants.push(self.constant()?),
            TokenKind::Word("global" | "local") => self.variables(&mut program.variables)?,
            TokenKind::Word("process") => program.families.push(self.family()?),
            TokenKind::Word("initially") if program.initially.is_some() => {
                return error(codes::REDECLARED, span, "`initially` stands twice");
            }
            TokenKind::Word("initially") => program.initially = Some(self.initially()?),
            TokenKind::Word("safe") => program.properties.push(self.property()?),
            _ => {
                return Err(self.cursor.expected(
                    "`const`, `global`, `local`, `process`, `initially`, `safe` or `connectives`",
                ));
            }
        }
        Ok(())
    }

    /// `connectives strict;`
    fn connectives(&mut self) -> Parsed<bool> {
        self.cursor.bump();
        let strict = self.cursor.eat_word("strict");
        if !strict && !self.cursor.eat_word("short") {
            return Err(self.cursor.expected("`strict` or `short`"));
        }
        self.cursor.expect(";")?;
        Ok(strict)
    }

    /// `const M = 3;`
    fn constant(&mut self) -> Parsed<(Name, Expr)> {
        self.cursor.bump();
        let name = self.cursor.name()?;
        self.cursor.expect("=")?;
        let value = self.sum()?;
        self.cursor.expect(";")?;
        Ok((name, value))
    }

    /// `global pointer L;` and `local discrete x, y : 0..5;`
    fn variables(&mut self, into: &mut Vec<Variable>) -> Parsed<()> {
        let local = self.cursor.is_word("local");
        self.cursor.bump();
        let pointer = self.cursor.eat_word("pointer");
        if !pointer && !self.cursor.eat_word("discrete") {
            return Err(self.cursor.expected("`pointer` or `discrete`"));
        }
        let names = self.names()?;
        let range = if pointer {
            None
        } else {
            self.cursor.expect(":")?;
            let first = self.sum()?;
            self.cursor.expect("..")?;
            Some((first, self.sum()?))
        };
        self.cursor.expect(";")?;
        into.extend(names.into_iter().map(|name| Variable { name, local, range: range.clone() }));
        Ok(())
    }

    fn names(&mut self) -> Parsed<Vec<Name>> {
        let mut names = vec![self.cursor.name()?];
        while self.cursor.eat(",") {
            names.push(self.cursor.name()?);
        }
        Ok(names)
    }

    /// `process node : M { mode 0 {...} ... }` and `process cell : 3;`
    fn family(&mut self) -> Parsed<Family> {
        self.cursor.bump();
        let name = self.cursor.name()?;
        self.cursor.expect(":")?;
        let count = self.sum()?;
        let mut modes = Vec::new();
        if !self.cursor.eat(";") {
            self.cursor.expect("{")?;
            while !self.cursor.eat("}") {
                let mark = self.cursor.mark();
                let read = self.cursor.expect_word("mode").and_then(|_| self.mode());
                modes.extend(self.cursor.recovered(mark, read, &["mode"])?);
                if self.cursor.at_end() {
                    return Err(self.cursor.expected("`}`"));
                }
            }
        }
        Ok(Family { name, count, modes })
    }

    fn mode(&mut self) -> Parsed<Mode> {
        let label = self.label()?;
        self.cursor.expect("{")?;
        let mut moves = Vec::new();
        while !self.cursor.eat("}") {
            let mark = self.cursor.mark();
            let read = self.transition();
            moves.extend(self.cursor.recovered(mark, read, &["when", "mode"])?);
            if self.cursor.at_end() || self.cursor.is_word("mode") {
                return Err(self.cursor.expected("`}`"));
            }
        }
        Ok(Mode { label, moves })
    }

    /// The name or the number of a mode.
    fn label(&mut self) -> Parsed<Label> {
        match self.cursor.peek() {
            TokenKind::Number(number) => {
                let span = self.cursor.bump().span;
                Ok(Spanned::new(number.to_string(), span))
            }
            TokenKind::Word(_) => self.cursor.name(),
            _ => Err(self.cursor.expected("the name or the number of a mode")),
        }
    }

    /// `when ... may x = 0; y->x = 1; goto 2;`
    fn transition(&mut self) -> Parsed<Move> {
        let start = self.cursor.expect_word("when")?;
        let when = self.expr()?;
        self.cursor.expect_word("may")?;
        let mut actions = Vec::new();
        while !self.cursor.eat_word("goto") {
            actions.push(self.act()?);
            self.cursor.expect(";")?;
        }
        let target = self.label()?;
        self.cursor.expect(";")?;
        Ok(Move { when, actions, target, span: start.to(self.cursor.last_span()) })
    }

    /// `y->x = ...` or `swap(x, y)`
    fn act(&mut self) -> Parsed<Act> {
        let is_swap = self.cursor.is_word("swap") && self.cursor.peek_after(1) == TokenKind::Symbol("(");
        if !is_swap {
            return self.action().map(Act::Assign);
        }
        self.cursor.bump();
        self.cursor.expect("(")?;
        let first = self.chain()?;
        self.cursor.expect(",")?;
        let second = self.chain()?;
        self.cursor.expect(")")?;
        Ok(Act::Swap(first, second))
    }

    /// `y->x = ...`
    fn action(&mut self) -> Parsed<Action> {
        let TokenKind::Word(_) = self.cursor.peek() else {
            return Err(self.cursor.expected("a variable or `goto`"));
        };
        let target = self.chain()?;
        if !self.cursor.eat("=") && !self.cursor.eat(":=") {
            return Err(self.cursor.expected("`=`"));
        }
        let value = self.sum()?;
        let span = target.span.to(value.span);
        Ok(Action { target, value, span })
    }

    /// `initially zero but free L, mutex = 1 where ...;`
    fn initially(&mut self) -> Parsed<Initially> {
        let start = self.cursor.bump().span;
        let zero = self.cursor.eat_word("zero");
        if !zero {
            self.cursor.eat_word("free");
        }
        let mut but = Vec::new();
        if self.cursor.eat_word("but") {
            loop {
                but.push(match self.cursor.eat_word("free") {
                    true => But::Free(self.cursor.name()?),
                    false => But::Set(self.action()?),
                });
                if !self.cursor.eat(",") {
                    break;
                }
            }
        }
        let given = if self.cursor.eat_word("where") { Some(self.expr()?) } else { None };
        self.cursor.expect(";")?;
        Ok(Initially { zero, but, given, span: start.to(self.cursor.last_span()) })
    }

    /// `safe "name": ...;`
    fn property(&mut self) -> Parsed<Property> {
        let start = self.cursor.bump().span;
        let name = match self.cursor.peek() {
            TokenKind::Text(text) => {
                self.cursor.bump();
                self.cursor.expect(":")?;
                Some(text.to_string())
            }
            _ => None,
        };
        let condition = self.expr()?;
        self.cursor.expect(";")?;
        Ok(Property { name, condition, span: start.to(self.cursor.last_span()) })
    }

    /// A condition: the weakest operator is `implies`.
    fn expr(&mut self) -> Parsed<Expr> {
        self.cursor.enter()?;
        let left = self.disjunction()?;
        let expr = match self.cursor.eat_word("implies") || self.cursor.eat("=>") {
            true => binary(InfixOp::Implies, left, self.expr()?),
            false => left,
        };
        self.cursor.leave();
        Ok(expr)
    }

    fn disjunction(&mut self) -> Parsed<Expr> {
        self.joined(&[("or", InfixOp::Or), ("||", InfixOp::Or)], Self::conjunction)
    }

    fn conjunction(&mut self) -> Parsed<Expr> {
        self.joined(&[("and", InfixOp::And), ("&&", InfixOp::And)], Self::negation)
    }

    /// Operands with operators between them that bind to the left. Each makes the tree deeper, and so counts as a level.
    fn joined(&mut self, ops: &[(&str, InfixOp)], operand: fn(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        let mut left = operand(self)?;
        let mut levels = 0;
        while let Some(op) = self.operator(ops) {
            self.cursor.enter()?;
            levels += 1;
            left = binary(op, left, operand(self)?);
        }
        (0..levels).for_each(|_| self.cursor.leave());
        Ok(left)
    }

    /// Takes the operator if one of these is next.
    fn operator(&mut self, ops: &[(&str, InfixOp)]) -> Option<InfixOp> {
        let is_next = |(text, _): &&(&str, InfixOp)| self.cursor.is_symbol(text) || self.cursor.is_word(text);
        let (_, op) = ops.iter().find(is_next)?;
        self.cursor.bump();
        Some(*op)
    }

    fn negation(&mut self) -> Parsed<Expr> {
        let start = self.cursor.span();
        if self.cursor.eat_word("not") || self.cursor.eat("!") {
            self.cursor.enter()?;
            let of = self.negation()?;
            self.cursor.leave();
            let span = start.to(of.span);
            return Ok(Expr { kind: ExprKind::Not(Box::new(of)), span });
        }
        if self.cursor.is_word("forall") || self.cursor.is_word("exists") {
            let all = self.cursor.is_word("forall");
            self.cursor.bump();
            let mut groups = Vec::new();
            loop {
                let names = self.names()?;
                let family = if self.cursor.eat(":") { Some(self.cursor.name()?) } else { None };
                groups.push((names, family));
                if !self.cursor.eat(",") {
                    break;
                }
            }
            self.cursor.enter()?;
            let of = self.negation()?;
            self.cursor.leave();
            let span = start.to(of.span);
            let quantified = |of, (names, family)| Expr {
                kind: ExprKind::Quantified(all, names, family, Box::new(of)),
                span,
            };
            return Ok(groups.into_iter().rev().fold(of, quantified));
        }
        self.comparison()
    }

    /// `a == b`, and `a <= b <= c` for `a <= b and b <= c`.
    fn comparison(&mut self) -> Parsed<Expr> {
        const COMPARE: [(&str, InfixOp); 7] = [
            ("==", InfixOp::Eq),
            ("=", InfixOp::Eq),
            ("!=", InfixOp::Ne),
            ("<=", InfixOp::Le),
            ("<", InfixOp::Lt),
            (">=", InfixOp::Ge),
            (">", InfixOp::Gt),
        ];
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Some(op) = self.operator(&COMPARE) {
            rest.push((op, self.sum()?));
        }
        let Some((_, last)) = rest.last() else { return Ok(first) };
        let span = first.span.to(last.span);
        Ok(Expr { kind: ExprKind::Comparison(Box::new(first), rest), span })
    }

    fn sum(&mut self) -> Parsed<Expr> {
        self.joined(&[("+", InfixOp::Add), ("-", InfixOp::Sub)], Self::product)
    }

    fn product(&mut self) -> Parsed<Expr> {
        self.joined(&[("*", InfixOp::Mul), ("/", InfixOp::Div), ("%", InfixOp::Rem)], Self::primary)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.cursor.span();
        if self.cursor.eat("(") {
            let inner = self.expr()?;
            self.cursor.expect(")")?;
            return Ok(Expr { kind: inner.kind, span: start.to(self.cursor.last_span()) });
        }
        if self.cursor.eat("-") {
            self.cursor.enter()?;
            let of = self.primary()?;
            self.cursor.leave();
            let span = start.to(of.span);
            return Ok(Expr { kind: ExprKind::Minus(Box::new(of)), span });
        }
        let kind = match self.cursor.peek() {
            TokenKind::Number(number) => ExprKind::Number(number),
            TokenKind::Word("TRUE" | "true") => ExprKind::Truth(true),
            TokenKind::Word("FALSE" | "false") => ExprKind::Truth(false),
            TokenKind::Word("NULL") => ExprKind::Null,
            TokenKind::Word("P") => ExprKind::Own,
            TokenKind::Word(_) => {
                let chain = self.chain()?;
                let span = chain.span;
                return Ok(Expr { kind: ExprKind::Chain(chain), span });
            }
            _ => return Err(self.cursor.expected("an expression")),
        };
        self.cursor.bump();
        Ok(Expr { kind, span: start })
    }

    /// `x`, `x[p]`, `y->x`, `y[p]->z->x`
    fn chain(&mut self) -> Parsed<Chain> {
        let head = self.cursor.name()?;
        let mut index = None;
        if self.cursor.eat("[") {
            self.cursor.enter()?;
            index = Some(Box::new(self.sum()?));
            self.cursor.leave();
            self.cursor.expect("]")?;
        }
        let mut hops = Vec::new();
        while self.cursor.eat("->") {
            hops.push(self.cursor.name()?);
        }
        let span = head.span.to(self.cursor.last_span());
        Ok(Chain { head, index, hops, span })
    }
}

fn binary(op: InfixOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}
