//! Tokens to a [`Program`].

use shoal_syntax::{
    Diagnostic, Diagnostics, SourceId,
    cursor::{Cursor, Parsed, read_all},
    lexer::{Lexicon, TokenKind},
};
use shoal_template::codes;

use super::ast::{
    Automaton, Bounds, Expr, ExprKind, Family, Goal, InfixOp, Mode, Move, Name, Program, Stmt, StmtKind,
    Variable,
};

const LEXICON: Lexicon = Lexicon {
    line_comment: "--",
    block_comments: true,
    symbols: &[
        ":=", "..", "<=", ">=", "<>", "/=", "!=", "++", "->", "&&", "||", "(", ")", "[", "]", "{", "}", ",",
        ";", ":", "=", "<", ">", "+", "-", "*", "/", "%", "~", "!",
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
const BEGINS: &[&str] = &["automata", "clock", "register", "automaton", "verify", "manipulation"];

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
        match self.cursor.peek() {
            TokenKind::Word("automata") => program.families.push(self.family()?),
            TokenKind::Word("clock") => self.variables(true, &mut program.variables)?,
            TokenKind::Word("register") => self.variables(false, &mut program.variables)?,
            TokenKind::Word("automaton") => program.automata.push(self.automaton()?),
            TokenKind::Word("verify") => program.goals.push(self.goal()?),
            TokenKind::Word("manipulation") => {
                self.cursor.bump();
                while !self.cursor.at_end() {
                    let mark = self.cursor.mark();
                    let read = self.statement();
                    program.manipulation.extend(self.cursor.recovered(mark, read, &[])?);
                }
            }
            _ => {
                return Err(self
                    .cursor
                    .expected("`automata`, `clock`, `register`, `automaton`, `verify` or `manipulation`"));
            }
        }
        Ok(())
    }

    /// `automata A : i = 1..11;`
    fn family(&mut self) -> Parsed<Family> {
        self.cursor.expect_word("automata")?;
        let name = self.cursor.name()?;
        self.cursor.expect(":")?;
        let index = self.cursor.name()?;
        self.cursor.expect("=")?;
        let first = self.sum()?;
        self.cursor.expect("..")?;
        let last = self.sum()?;
        self.cursor.expect(";")?;
        Ok(Family { name, index, first, last })
    }

    /// `clock x[1..total(A)], y;` and `register lock : 0..3;`
    fn variables(&mut self, clock: bool, into: &mut Vec<Variable>) -> Parsed<()> {
        self.cursor.bump();
        loop {
            let name = self.cursor.name()?;
            let range = if self.cursor.eat("[") { Some(self.range("]")?) } else { None };
            let values = if self.cursor.eat(":") {
                let first = self.sum()?;
                self.cursor.expect("..")?;
                Some((first, self.sum()?))
            } else {
                None
            };
            into.push(Variable { name, clock, range, values });
            if !self.cursor.eat(",") {
                self.cursor.expect(";")?;
                return Ok(());
            }
        }
    }

    fn range(&mut self, close: &'static str) -> Parsed<(Expr, Expr)> {
        let first = self.sum()?;
        self.cursor.expect("..")?;
        let last = self.sum()?;
        self.cursor.expect(close)?;
        Ok((first, last))
    }

    fn automaton(&mut self) -> Parsed<Automaton> {
        self.cursor.expect_word("automaton")?;
        let name = self.cursor.name()?;
        self.cursor.expect("[")?;
        let index = self.cursor.name()?;
        self.cursor.expect("]")?;
        self.cursor.expect("{")?;
        let mut automaton = Automaton { name, index, initially: None, modes: Vec::new() };
        while !self.cursor.eat("}") {
            let mark = self.cursor.mark();
            let read = self.part(&mut automaton);
            self.cursor.recovered(mark, read, &["initially", "mode"])?;
            if self.cursor.at_end() {
                return Err(self.cursor.expected("`}`"));
            }
        }
        Ok(automaton)
    }

    fn part(&mut self, automaton: &mut Automaton) -> Parsed<()> {
        if self.cursor.eat_word("initially") {
            automaton.initially = Some(self.expr()?);
            self.cursor.expect(";")?;
        } else if self.cursor.eat_word("mode") {
            automaton.modes.push(self.mode()?);
        } else {
            return Err(self.cursor.expected("`initially`, `mode` or `}`"));
        }
        Ok(())
    }

    fn mode(&mut self) -> Parsed<Mode> {
        let name = self.cursor.name()?;
        self.cursor.expect("{")?;
        let mut mode = Mode { name, invariant: None, moves: Vec::new() };
        while !self.cursor.eat("}") {
            let mark = self.cursor.mark();
            let read = self.behaviour(&mut mode);
            self.cursor.recovered(mark, read, &["invariant", "when", "mode"])?;
            if self.cursor.at_end() || self.cursor.is_word("mode") {
                return Err(self.cursor.expected("`}`"));
            }
        }
        Ok(mode)
    }

    fn behaviour(&mut self, mode: &mut Mode) -> Parsed<()> {
        if self.cursor.eat_word("invariant") {
            mode.invariant = Some(self.expr()?);
            self.cursor.expect(";")?;
        } else if self.cursor.is_word("when") {
            mode.moves.push(self.transition()?);
        } else {
            return Err(self.cursor.expected("`invariant`, `when` or `}`"));
        }
        Ok(())
    }

    /// `when ... may goto M; x := 0; y := 1;`
    fn transition(&mut self) -> Parsed<Move> {
        let start = self.cursor.expect_word("when")?;
        let when = self.expr()?;
        self.cursor.expect_word("may")?;
        self.cursor.expect_word("goto")?;
        let target = self.cursor.name()?;
        self.cursor.expect(";")?;
        let span = start.to(self.cursor.last_span());
        let mut assigns = Vec::new();
        while matches!(self.cursor.peek(), TokenKind::Word(word) if !["when", "invariant"].contains(&word)) {
            let target = self.primary()?;
            self.cursor.expect(":=")?;
            assigns.push((target, self.expr()?));
            self.cursor.expect(";")?;
        }
        Ok(Move { when, target, assigns, span })
    }

    fn goal(&mut self) -> Parsed<Goal> {
        let start = self.cursor.expect_word("verify")?;
        let name = match self.cursor.peek() {
            TokenKind::Text(text) => {
                self.cursor.bump();
                self.cursor.eat(":");
                Some(text.to_string())
            }
            _ => None,
        };
        let formula = self.expr()?;
        self.cursor.expect(";")?;
        Ok(Goal { name, formula, span: start.to(self.cursor.last_span()) })
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        self.cursor.enter()?;
        let start = self.cursor.span();
        let kind = match self.cursor.peek() {
            TokenKind::Word("graph") => {
                self.cursor.bump();
                let mut graphs = Vec::new();
                loop {
                    let name = self.cursor.name()?;
                    let range = if self.cursor.eat("[") { Some(self.range("]")?) } else { None };
                    graphs.push((name, range));
                    if !self.cursor.eat(",") {
                        break;
                    }
                }
                self.cursor.expect(";")?;
                StmtKind::Graphs(graphs)
            }
            TokenKind::Word("for") => self.for_loop()?,
            TokenKind::Word("if") => {
                self.cursor.bump();
                let condition = self.expr()?;
                self.cursor.eat_word("then");
                let then = self.block()?;
                let other = if self.cursor.eat_word("else") { self.block()? } else { Vec::new() };
                StmtKind::If(condition, then, other)
            }
            _ => {
                let left = self.primary()?;
                let kind = if self.cursor.eat(":=") {
                    StmtKind::Assign(left, self.expr()?)
                } else {
                    StmtKind::Call(left)
                };
                self.cursor.expect(";")?;
                kind
            }
        };
        self.cursor.leave();
        Ok(Stmt { kind, span: start.to(self.cursor.last_span()) })
    }

    /// `for (i := 1; i < 5; i++) {...}` or `for i := 1 to 4 do {...}`
    fn for_loop(&mut self) -> Parsed<StmtKind> {
        self.cursor.expect_word("for")?;
        let parens = self.cursor.eat("(");
        let variable = self.cursor.name()?;
        self.cursor.expect(":=")?;
        let from = self.sum()?;
        let mut by = 1;
        let condition = if parens {
            self.cursor.expect(";")?;
            let condition = self.expr()?;
            self.cursor.expect(";")?;
            let again = self.cursor.name()?;
            if again.node != variable.node {
                let message = format!("the loop counts `{}`, not `{}`", variable.node, again.node);
                return Err(Box::new(Diagnostic::error(codes::UNEXPECTED, again.span, message)));
            }
            if !self.cursor.eat("++") {
                self.cursor.expect("-")?;
                self.cursor.expect("-")?;
                by = -1;
            }
            self.cursor.expect(")")?;
            condition
        } else {
            self.cursor.expect_word("to")?;
            let to = self.sum()?;
            let span = variable.span.to(to.span);
            let name = Expr { kind: ExprKind::Name(variable.node.clone()), span: variable.span };
            Expr { kind: ExprKind::Binary(InfixOp::Le, Box::new(name), Box::new(to)), span }
        };
        self.cursor.eat(",");
        self.cursor.eat_word("do");
        let body = self.block()?;
        Ok(StmtKind::For { variable, from, condition, by, body })
    }

    fn block(&mut self) -> Parsed<Vec<Stmt>> {
        if !self.cursor.eat("{") {
            return Ok(vec![self.statement()?]);
        }
        let mut body = Vec::new();
        while !self.cursor.eat("}") {
            body.push(self.statement()?);
        }
        Ok(body)
    }

    /// A formula or an expression: the weakest operators are `until`, then `implies`.
    fn expr(&mut self) -> Parsed<Expr> {
        self.cursor.enter()?;
        let left = self.implication()?;
        let expr = if self.cursor.eat_word("until") {
            let bounds = self.bounds()?;
            let right = self.implication()?;
            let span = left.span.to(right.span);
            Expr { kind: ExprKind::Until(bounds, Box::new(left), Box::new(right)), span }
        } else {
            left
        };
        self.cursor.leave();
        Ok(expr)
    }

    fn implication(&mut self) -> Parsed<Expr> {
        let left = self.disjunction()?;
        if self.cursor.eat_word("implies") || self.cursor.eat("->") {
            self.cursor.enter()?;
            let right = self.implication()?;
            self.cursor.leave();
            return Ok(binary(InfixOp::Implies, left, right));
        }
        Ok(left)
    }

    fn disjunction(&mut self) -> Parsed<Expr> {
        let mut left = self.conjunction()?;
        while self.cursor.eat_word("or") || self.cursor.eat("||") {
            left = binary(InfixOp::Or, left, self.conjunction()?);
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed<Expr> {
        let mut left = self.negation()?;
        while self.cursor.eat_word("and") || self.cursor.eat("&&") {
            left = binary(InfixOp::And, left, self.negation()?);
        }
        Ok(left)
    }

    fn negation(&mut self) -> Parsed<Expr> {
        let start = self.cursor.span();
        if self.cursor.eat_word("not") || self.cursor.eat("~") || self.cursor.eat("!") {
            self.cursor.enter()?;
            let of = self.negation()?;
            self.cursor.leave();
            let span = start.to(of.span);
            return Ok(Expr { kind: ExprKind::Not(Box::new(of)), span });
        }
        for (word, always) in [("henceforth", true), ("eventually", false)] {
            if self.cursor.eat_word(word) {
                let bounds = self.bounds()?;
                // It reaches as far as it can.
                let of = self.expr()?;
                let span = start.to(of.span);
                return Ok(Expr { kind: ExprKind::Temporal(always, bounds, Box::new(of)), span });
            }
        }
        for (word, all) in [("forall", true), ("exists", false)] {
            if self.cursor.eat_word(word) {
                let mut names = vec![self.cursor.name()?];
                while self.cursor.eat(",") {
                    names.push(self.cursor.name()?);
                }
                self.cursor.expect(":")?;
                let family = self.cursor.name()?;
                let of = self.negation()?;
                let span = start.to(of.span);
                return Ok(Expr { kind: ExprKind::Quantified(all, names, family, Box::new(of)), span });
            }
        }
        self.comparison()
    }

    /// `[<= 5]`, `[> 3]`, `[2, 5]`, or nothing.
    fn bounds(&mut self) -> Parsed<Bounds> {
        let mut bounds = Bounds::default();
        if !self.cursor.eat("[") {
            return Ok(bounds);
        }
        let number = |parser: &mut Self| match parser.cursor.peek() {
            TokenKind::Number(number) => {
                parser.cursor.bump();
                Ok(number.unsigned_abs())
            }
            _ => Err(parser.cursor.expected("a number")),
        };
        if self.cursor.eat("<=") {
            bounds.to = Some((number(self)?, false));
        } else if self.cursor.eat("<") {
            bounds.to = Some((number(self)?, true));
        } else if self.cursor.eat(">=") {
            bounds.from = Some((number(self)?, false));
        } else if self.cursor.eat(">") {
            bounds.from = Some((number(self)?, true));
        } else {
            bounds.from = Some((number(self)?, false));
            self.cursor.expect(",")?;
            bounds.to = Some((number(self)?, false));
        }
        self.cursor.expect("]")?;
        Ok(bounds)
    }

    fn comparison(&mut self) -> Parsed<Expr> {
        const COMPARE: [(&str, InfixOp); 8] = [
            ("=", InfixOp::Eq),
            ("<>", InfixOp::Ne),
            ("/=", InfixOp::Ne),
            ("!=", InfixOp::Ne),
            ("<=", InfixOp::Le),
            ("<", InfixOp::Lt),
            (">=", InfixOp::Ge),
            (">", InfixOp::Gt),
        ];
        let left = self.sum()?;
        match COMPARE.iter().find(|(symbol, _)| self.cursor.is_symbol(symbol)) {
            Some((_, op)) => {
                self.cursor.bump();
                Ok(binary(*op, left, self.sum()?))
            }
            None => Ok(left),
        }
    }

    fn sum(&mut self) -> Parsed<Expr> {
        let mut left = self.product()?;
        loop {
            let op = match self.cursor.peek() {
                TokenKind::Symbol("+") => InfixOp::Add,
                TokenKind::Symbol("-") => InfixOp::Sub,
                _ => return Ok(left),
            };
            self.cursor.bump();
            left = binary(op, left, self.product()?);
        }
    }

    fn product(&mut self) -> Parsed<Expr> {
        let mut left = self.primary()?;
        loop {
            let op = match self.cursor.peek() {
                TokenKind::Symbol("*") => InfixOp::Mul,
                TokenKind::Symbol("/") => InfixOp::Div,
                TokenKind::Symbol("%") => InfixOp::Rem,
                _ => return Ok(left),
            };
            self.cursor.bump();
            left = binary(op, left, self.primary()?);
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.cursor.span();
        for (open, close) in [("(", ")"), ("{", "}")] {
            if self.cursor.eat(open) {
                let inner = self.expr()?;
                self.cursor.expect(close)?;
                return Ok(Expr { kind: inner.kind, span: start.to(self.cursor.last_span()) });
            }
        }
        if self.cursor.eat("-") {
            self.cursor.enter()?;
            let of = self.primary()?;
            self.cursor.leave();
            let span = start.to(of.span);
            return Ok(Expr { kind: ExprKind::Minus(Box::new(of)), span });
        }
        let kind = match self.cursor.peek() {
            TokenKind::Number(number) => {
                self.cursor.bump();
                ExprKind::Number(number)
            }
            TokenKind::Word("True" | "true") => {
                self.cursor.bump();
                ExprKind::Bool(true)
            }
            TokenKind::Word("False" | "false") => {
                self.cursor.bump();
                ExprKind::Bool(false)
            }
            TokenKind::Word(word @ ("all_paths" | "exists_path")) => {
                self.cursor.bump();
                let of = self.primary_group()?;
                ExprKind::Paths(word == "all_paths", Box::new(of))
            }
            TokenKind::Word(_) => self.named()?,
            _ => return Err(self.cursor.expected("an expression")),
        };
        Ok(Expr { kind, span: start.to(self.cursor.last_span()) })
    }

    /// What stands in parentheses or braces.
    fn primary_group(&mut self) -> Parsed<Expr> {
        if self.cursor.is_symbol("(") || self.cursor.is_symbol("{") {
            return self.primary();
        }
        Err(self.cursor.expected("`(`"))
    }

    /// `a`, `a[i]` or `f(a, b)`
    fn named(&mut self) -> Parsed<ExprKind> {
        let name: Name = self.cursor.name()?;
        if self.cursor.eat("[") {
            let index = self.expr()?;
            self.cursor.expect("]")?;
            return Ok(ExprKind::Index(name, Box::new(index)));
        }
        if self.cursor.eat("(") {
            let mut arguments = Vec::new();
            if !self.cursor.eat(")") {
                loop {
                    arguments.push(self.expr()?);
                    if !self.cursor.eat(",") {
                        break;
                    }
                }
                self.cursor.expect(")")?;
            }
            return Ok(ExprKind::Call(name, arguments));
        }
        Ok(ExprKind::Name(name.node))
    }
}

fn binary(op: InfixOp, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}
