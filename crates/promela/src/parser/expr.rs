//! Expressions and formulas.

use shoal_model::BinaryOp;
use shoal_syntax::Spanned;

use super::{Entity, OrReported, Parser, is_reserved};
use crate::{
    ast::{Expr, ExprKind, Name, Pattern, Query, Receive, Temporal, Temporal2, VarRef},
    codes,
    token::{LEVELS, TokenKind},
};

/// The level of `|`: temporal operators stand just above.
const UNTIL: usize = 2;

impl Parser {
    /// An expression; in a formula, a formula.
    pub(super) fn expr(&mut self) -> OrReported<Expr> {
        if self.in_formula { self.formula() } else { self.level(0) }
    }

    fn make(&self, kind: ExprKind, start: shoal_syntax::Span) -> Expr {
        Expr { kind, span: self.span_from(start) }
    }

    /// `a -> b` and `a <-> b`, loosest of all.
    pub(super) fn formula(&mut self) -> OrReported<Expr> {
        let start = self.peek().span;
        let left = self.level(0)?;
        let op = if self.is("->") || self.is_word("implies") {
            Temporal2::Implies
        } else if self.is("<->") || self.is_word("equivalent") {
            Temporal2::Equivalent
        } else {
            return Ok(left);
        };
        self.advance();
        let right = self.deeper(Self::formula)?;
        Ok(self.make(ExprKind::Temporal2(op, Box::new(left), Box::new(right)), start))
    }

    fn level(&mut self, level: usize) -> OrReported<Expr> {
        if level == UNTIL && self.in_formula {
            return self.until();
        }
        let Some(symbols) = LEVELS.get(level) else { return self.unary() };
        let start = self.peek().span;
        let mut left = self.deeper(|parser| parser.level(level + 1))?;
        while let Some(symbol) = symbols.iter().find(|symbol| self.is(symbol)) {
            self.advance();
            let right = self.deeper(|parser| parser.level(level + 1))?;
            let (a, b) = (Box::new(left), Box::new(right));
            let kind = match (*symbol, BinaryOp::of_symbol(symbol)) {
                ("||", _) => ExprKind::Or(a, b),
                ("&&", _) => ExprKind::And(a, b),
                ("==", _) => ExprKind::Equal(a, b),
                ("!=", _) => ExprKind::NotEqual(a, b),
                (_, Some(op)) => ExprKind::Binary(op, a, b),
                (_, None) => return self.unexpected("an operator"),
            };
            left = self.make(kind, start);
        }
        Ok(left)
    }

    /// `[] p`, `<> p`, `p U q`: between `&&` and `|`.
    fn until(&mut self) -> OrReported<Expr> {
        let start = self.peek().span;
        if let Some(op) = self.temporal_prefix() {
            self.advance();
            let of =
                self.deeper(|parser| if op == Temporal::Next { parser.unary() } else { parser.until() })?;
            let of = self.make(ExprKind::Temporal(op, Box::new(of)), start);
            return if op == Temporal::Next { self.until_rest(of) } else { Ok(of) };
        }
        let left = self.above_until()?;
        self.until_rest(left)
    }

    /// The levels above `U`.
    fn above_until(&mut self) -> OrReported<Expr> {
        let start = self.peek().span;
        let mut left = self.deeper(|parser| parser.level(UNTIL + 1))?;
        while self.accept("|") {
            let right = self.deeper(|parser| parser.level(UNTIL + 1))?;
            left = self.make(ExprKind::Binary(BinaryOp::BitOr, Box::new(left), Box::new(right)), start);
        }
        Ok(left)
    }

    fn until_rest(&mut self, left: Expr) -> OrReported<Expr> {
        let op = match self.peek().word().map(|word| word.to_string()).as_deref() {
            Some("U" | "until" | "stronguntil") => Temporal2::Until,
            Some("W" | "weakuntil") => Temporal2::WeakUntil,
            Some("V" | "release") => Temporal2::Release,
            _ => return Ok(left),
        };
        self.advance();
        let start = left.span;
        let right = self.deeper(Self::until)?;
        Ok(self.make(ExprKind::Temporal2(op, Box::new(left), Box::new(right)), start))
    }

    fn temporal_prefix(&self) -> Option<Temporal> {
        if self.is("[]") || self.is_word("always") {
            Some(Temporal::Always)
        } else if self.is("<>") || self.is_word("eventually") {
            Some(Temporal::Eventually)
        } else if self.is_word("X") || self.is_word("next") {
            Some(Temporal::Next)
        } else {
            None
        }
    }

    fn unary(&mut self) -> OrReported<Expr> {
        let start = self.peek().span;
        let operand = |parser: &mut Self| parser.deeper(Self::unary).map(Box::new);
        if self.in_formula && self.temporal_prefix().is_some() {
            return self.deeper(Self::until);
        }
        let kind = if self.accept("!") {
            ExprKind::Not(operand(self)?)
        } else if self.accept("!!") {
            let of = operand(self)?;
            let inner = self.make(ExprKind::Not(of), start);
            ExprKind::Not(Box::new(inner))
        } else if self.accept("-") {
            let of = operand(self)?;
            match of.kind {
                ExprKind::Int(value) => ExprKind::Int(value.wrapping_neg()),
                _ => ExprKind::Neg(of),
            }
        } else if self.accept("--") {
            return self.unary();
        } else if self.accept("~") {
            ExprKind::BitNot(operand(self)?)
        } else {
            return self.primary();
        };
        Ok(self.make(kind, start))
    }

    fn primary(&mut self) -> OrReported<Expr> {
        let token = self.peek().clone();
        let start = token.span;
        match &token.kind {
            TokenKind::Int(value) => {
                self.advance();
                Ok(self.make(ExprKind::Int(*value), start))
            }
            TokenKind::Symbol("(") => self.bracketed(),
            TokenKind::Word(word) => match &**word {
                "true" | "skip" => self.constant_word(1),
                "false" => self.constant_word(0),
                "timeout" => self.word_kind(ExprKind::Timeout),
                "np_" => self.word_kind(ExprKind::NonProgress),
                "_pid" => self.word_kind(ExprKind::Pid),
                "_nr_pr" => self.word_kind(ExprKind::Processes),
                "_last" => self.word_kind(ExprKind::Last),
                "null" if self.dynamic && self.lookup("null").is_none() => self.word_kind(ExprKind::Null),
                "run" => self.run(),
                "len" => self.query(Query::Len),
                "full" => self.query(Query::Full),
                "nfull" => self.query(Query::NotFull),
                "empty" => self.query(Query::Empty),
                "nempty" => self.query(Query::NotEmpty),
                "enabled" => self.of_process(ExprKind::Enabled),
                "pc_value" => self.of_process(ExprKind::Location),
                "_priority" if self.lookup(word).is_none() => {
                    self.with_priorities(start);
                    self.word_kind(ExprKind::Priority(None))
                }
                "get_priority" if self.lookup(word).is_none() => {
                    self.with_priorities(start);
                    self.of_process(|of| ExprKind::Priority(Some(of)))
                }
                "c_expr" | "c_code" => self.no_c(start, word),
                _ => self.named(),
            },
            _ => self.unexpected("an expression"),
        }
    }

    /// A word with the number of a process in brackets.
    fn of_process(&mut self, kind: impl FnOnce(Box<Expr>) -> ExprKind) -> OrReported<Expr> {
        let start = self.advance().span;
        self.expect("(")?;
        let of = self.expr()?;
        self.expect(")")?;
        Ok(self.make(kind(Box::new(of)), start))
    }

    fn constant_word(&mut self, value: i64) -> OrReported<Expr> {
        self.word_kind(ExprKind::Int(value))
    }

    fn word_kind(&mut self, kind: ExprKind) -> OrReported<Expr> {
        let span = self.advance().span;
        Ok(Expr { kind, span })
    }

    /// `(e)` or `(c -> a : b)`.
    fn bracketed(&mut self) -> OrReported<Expr> {
        let start = self.expect("(")?;
        let inner = self.deeper(Self::expr)?;
        if self.in_formula || !self.is("->") {
            self.expect(")")?;
            return Ok(Expr { span: self.span_from(start), ..inner });
        }
        self.advance();
        let yes = self.deeper(Self::expr)?;
        self.expect(":")?;
        let no = self.deeper(Self::expr)?;
        self.expect(")")?;
        Ok(self.make(ExprKind::Cond(Box::new(inner), Box::new(yes), Box::new(no)), start))
    }

    fn run(&mut self) -> OrReported<Expr> {
        let start = self.expect_word("run")?;
        let name = self.name("the name of a proctype")?;
        let arguments = self.arguments()?;
        let priority = self.priority()?;
        Ok(self.make(ExprKind::Run(name, arguments, priority), start))
    }

    /// `priority n`, if it stands here; without it, and for 0, the priority is 1.
    pub(super) fn priority(&mut self) -> OrReported<u8> {
        if !self.is_word("priority") {
            return Ok(1);
        }
        let span = self.advance().span;
        self.with_priorities(span);
        let value = self.unary()?;
        match self.fold(&value).map(u8::try_from) {
            Some(Ok(priority)) => Ok(priority.max(1)),
            _ => self.error(codes::BAD_CONSTANT, value.span, "a priority is a constant from 1 to 255"),
        }
    }

    /// `(e, ...)`.
    pub(super) fn arguments(&mut self) -> OrReported<Vec<Expr>> {
        self.expect("(")?;
        let mut arguments = Vec::new();
        while !self.is(")") {
            arguments.push(self.expr()?);
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(arguments)
    }

    fn query(&mut self, query: Query) -> OrReported<Expr> {
        let start = self.advance().span;
        self.expect("(")?;
        let channel = self.var_ref()?;
        self.expect(")")?;
        Ok(self.make(ExprKind::Query(query, channel), start))
    }

    /// A variable, a symbolic constant, a poll, or something of another process.
    fn named(&mut self) -> OrReported<Expr> {
        let start = self.peek().span;
        let remote = self.remote();
        if let Some(remote) = remote {
            return remote;
        }
        let word = self.peek().word().cloned().unwrap_or_default();
        match self.lookup(&word).cloned() {
            Some(Entity::Mtype(set, name)) => {
                self.advance();
                let number = self.mtype_number(set, &name);
                Ok(self.make(ExprKind::Mtype(set, number), start))
            }
            Some(Entity::Variable(_)) => {
                let var = self.var_ref()?;
                if (self.is("?") || self.is("??")) && self.peek_at(1).is("[") {
                    return self.poll(var);
                }
                Ok(self.make(ExprKind::Var(var), start))
            }
            _ if self.functions.contains(&word) => {
                let name = self.name("a function")?;
                Ok(self.make(ExprKind::Function(name), start))
            }
            _ => {
                let name = self.name("an expression")?;
                self.unknown(&name)
            }
        }
    }

    /// `P@label`, `P[e]@label`, `P:variable`, `P[e]:variable`; nothing if it is none of them.
    fn remote(&mut self) -> Option<OrReported<Expr>> {
        let word = self.peek().word().cloned()?;
        if is_reserved(&word) && &*word != "init" {
            return None;
        }
        let before = self.at;
        let start = self.peek().span;
        let known = matches!(self.lookup(&word), Some(Entity::Variable(_)));
        self.advance();
        let mut pid = None;
        if self.is("[") {
            let close = self.closing_bracket()?;
            let after = &self.tokens[(close + 1).min(self.tokens.len() - 1)];
            if known || !(after.is("@") || after.is(":")) {
                self.at = before;
                return None;
            }
            self.advance();
            match self.expr() {
                Ok(expr) => pid = Some(Box::new(expr)),
                Err(reported) => return Some(Err(reported)),
            }
            if let Err(reported) = self.expect("]") {
                return Some(Err(reported));
            }
        }
        let name: Name = Spanned::new(word, start);
        let label = self.is("@");
        let variable = self.is(":") && !known && self.lookup(&name.node).is_none();
        if !(label || variable) {
            self.at = before;
            return None;
        }
        self.advance();
        Some(self.remote_part(name, pid, label))
    }

    fn remote_part(&mut self, name: Name, pid: Option<Box<Expr>>, label: bool) -> OrReported<Expr> {
        let start = name.span;
        let part = self.name(if label { "a label" } else { "a variable" })?;
        if label {
            return Ok(self.make(ExprKind::At(name, pid, part), start));
        }
        let mut index = None;
        if self.accept("[") {
            index = Some(Box::new(self.expr()?));
            self.expect("]")?;
        }
        Ok(self.make(ExprKind::Remote(name, pid, part, index), start))
    }

    /// Where the bracket that opens here closes.
    fn closing_bracket(&self) -> Option<usize> {
        let mut depth = 0;
        for (at, token) in self.tokens.iter().enumerate().skip(self.at) {
            depth += i32::from(token.is("[")) - i32::from(token.is("]"));
            if depth == 0 {
                return Some(at);
            }
        }
        None
    }

    fn poll(&mut self, channel: VarRef) -> OrReported<Expr> {
        let start = channel.span;
        let random = self.advance().is("??");
        self.expect("[")?;
        let parts = self.patterns("]")?;
        self.expect("]")?;
        let receive = Receive { channel, random, copy: true, parts };
        Ok(self.make(ExprKind::Poll(receive), start))
    }

    /// What the parts of a message are matched with, up to a closing symbol or the end of the statement.
    pub(super) fn patterns(&mut self, close: &str) -> OrReported<Vec<Pattern>> {
        if self.is("(") && self.bracketed_list() {
            self.advance();
            let parts = self.patterns(")")?;
            self.expect(")")?;
            return Ok(parts);
        }
        let mut parts = Vec::new();
        loop {
            parts.push(self.pattern()?);
            if self.is("(") && !self.peek().first && parts.len() == 1 {
                self.advance();
                while !self.is(")") {
                    parts.push(self.pattern()?);
                    if !self.accept(",") {
                        break;
                    }
                }
                self.expect(")")?;
                return Ok(parts);
            }
            if self.is(close) || !self.accept(",") {
                return Ok(parts);
            }
        }
    }

    fn pattern(&mut self) -> OrReported<Pattern> {
        if self.accept_word("_") {
            return Ok(Pattern::Any);
        }
        if self.accept_word("eval") {
            self.expect("(")?;
            let value = self.expr()?;
            self.expect(")")?;
            return Ok(Pattern::Equal(value));
        }
        let word = self.peek().word().cloned();
        if let Some(word) = word
            && matches!(self.lookup(&word), Some(Entity::Variable(_)))
        {
            return Ok(Pattern::Store(self.var_ref()?));
        }
        Ok(Pattern::Equal(self.unary()?))
    }

    /// A variable or a part of one.
    pub(super) fn var_ref(&mut self) -> OrReported<VarRef> {
        let name = self.name("a variable")?;
        let variable = match self.lookup(&name.node) {
            Some(Entity::Variable(variable)) => *variable,
            Some(_) => {
                let message = format!("`{}` is not a variable", name.node);
                return self.error(codes::NOT_A_VARIABLE, name.span, message);
            }
            None => return self.unknown(&name),
        };
        let index = self.index()?.map(Box::new);
        let mut fields = Vec::new();
        while self.is(".") {
            self.advance();
            let field = self.name("a field")?;
            let index = self.index()?;
            fields.push((field, index));
        }
        Ok(self.channel_of_record(VarRef { variable, index, fields, span: self.span_from(name.span) }))
    }

    fn index(&mut self) -> OrReported<Option<Expr>> {
        if !self.is("[") {
            return Ok(None);
        }
        self.advance();
        let before = std::mem::replace(&mut self.in_formula, false);
        let index = self.deeper(Self::expr);
        self.in_formula = before;
        let index = index?;
        self.expect("]")?;
        Ok(Some(index))
    }
}
