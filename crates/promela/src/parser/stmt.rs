//! Statements.

use std::{collections::HashMap, rc::Rc};

use shoal_model::BinaryOp;
use shoal_syntax::{Span, Spanned};

use super::{Entity, MOST_ERRORS, OrReported, Parser, is_reserved, unit::BEGINNINGS};
use crate::{
    ast::{
        Callee, Expr, ExprKind, Init, Label, Name, Pattern, Query, Receive, Stmt, StmtKind, Type, Use,
        VarRef, Variable,
    },
    codes,
    token::{Token, TokenKind},
};

/// `select` over at most so many values is one step.
const ONE_STEP_SELECT: i64 = 33;

impl Parser {
    /// Statements up to one of the words or symbols that close a sequence.
    pub(super) fn sequence(&mut self, close: &str) -> OrReported<Vec<Stmt>> {
        let mut all = Vec::new();
        loop {
            while self.accept(";") || self.accept("->") {}
            if self.closes(close) {
                return Ok(all);
            }
            if self.begins_decl() {
                all.extend(self.local_decl()?);
            } else {
                let (depth, scopes) = (self.depth, self.scopes.len());
                match self.deeper(Self::stmt) {
                    Ok(stmt) => {
                        self.begin();
                        all.push(stmt);
                    }
                    // What an inline stands for cannot be left in its middle.
                    Err(reported) if !self.active_inlines.is_empty() => return Err(reported),
                    Err(reported) => {
                        self.depth = depth;
                        self.scopes.truncate(scopes);
                        self.skip_statement(close).map_err(|()| reported)?;
                        continue;
                    }
                }
            }
            if !(self.is(";") || self.is("->") || self.closes(close) || self.separated()) {
                return self.unexpected("`;` or `->`");
            }
        }
    }

    /// After a mistake: goes on behind the statement, so that those after it are read, too. An error if the sequence has lost
    /// its end, or there are too many mistakes already.
    fn skip_statement(&mut self, close: &str) -> Result<(), ()> {
        let mut open = 0_usize;
        loop {
            let token = self.peek();
            let lost = token.kind == TokenKind::End || BEGINNINGS.iter().any(|word| token.is_word(word));
            if lost || self.diagnostics.len() >= MOST_ERRORS {
                return Err(());
            }
            if open == 0 && (self.is(";") || self.is("->") || self.closes(close)) {
                return Ok(());
            }
            let opens = ["{", "("].iter().any(|symbol| token.is(symbol))
                || token.is_word("if")
                || token.is_word("do");
            let closes = ["}", ")"].iter().any(|symbol| token.is(symbol))
                || token.is_word("fi")
                || token.is_word("od");
            open = if opens { open + 1 } else { open.saturating_sub(usize::from(closes)) };
            self.advance();
        }
    }

    /// A line that ends where a statement can end separates statements, and so does a closing brace or word.
    fn separated(&self) -> bool {
        let last = &self.tokens[self.at.saturating_sub(1)];
        let closed = last.is("}") || last.is_word("fi") || last.is_word("od") || last.is_word("else");
        self.peek().first || closed
    }

    fn closes(&self, close: &str) -> bool {
        self.is(close)
            || self.is_word(close)
            || (close != "}" && self.is("::"))
            || self.peek().kind == TokenKind::End
    }

    /// A statement was read: declarations that follow are steps.
    fn begin(&mut self) {
        if let Some(current) = &mut self.proctype {
            current.begun = true;
        }
    }

    fn scoped<T>(&mut self, parse: impl FnOnce(&mut Self) -> OrReported<T>) -> OrReported<T> {
        self.scopes.push(HashMap::new());
        self.begin();
        let result = parse(self);
        self.scopes.pop();
        result
    }

    /// `{ ... }`.
    fn block(&mut self) -> OrReported<Vec<Stmt>> {
        self.expect("{")?;
        self.labels.enter();
        let body = self.scoped(|parser| parser.sequence("}"));
        self.labels.leave();
        let body = body?;
        let end = self.expect("}")?;
        Ok(if body.is_empty() { vec![skip(end)] } else { body })
    }

    fn stmt(&mut self) -> OrReported<Stmt> {
        let start = self.peek().span;
        let stmt = self.simple()?;
        if !self.is_word("unless") {
            return Ok(stmt);
        }
        self.advance();
        while self.accept(";") {}
        let escape = self.deeper(Self::stmt)?;
        let body = |stmt: Stmt| match stmt.kind {
            StmtKind::Block(body) => body,
            _ => vec![stmt],
        };
        let span = self.span_from(start);
        // A label of the first part is one of the whole.
        Ok(match stmt.kind {
            StmtKind::Label(label, inner) => {
                let kind = StmtKind::Unless(body(*inner), body(escape));
                Stmt { kind: StmtKind::Label(label, Box::new(Stmt { kind, span })), span }
            }
            _ => Stmt { kind: StmtKind::Unless(body(stmt), body(escape)), span },
        })
    }

    fn simple(&mut self) -> OrReported<Stmt> {
        let token = self.peek().clone();
        let start = token.span;
        let kind = match token.word().map(|word| word.to_string()).as_deref() {
            None if token.is("{") => StmtKind::Block(self.block()?),
            Some("if") => StmtKind::If(self.options("if", "fi")?),
            Some("do") => StmtKind::Do(self.options("do", "od")?),
            Some("atomic") => {
                self.advance();
                StmtKind::Atomic(self.block()?)
            }
            Some("d_step") => {
                self.advance();
                StmtKind::DStep(self.block()?)
            }
            Some("for") => return self.for_loop(),
            Some("select") => return self.select(),
            Some("goto") => {
                self.advance();
                let label = self.name("a label")?;
                StmtKind::Goto(self.labels.jump(label))
            }
            Some("break") => {
                self.advance();
                StmtKind::Break
            }
            Some("else") => {
                self.advance();
                StmtKind::Else
            }
            Some("assert") => {
                self.advance();
                StmtKind::Assert(self.expr()?)
            }
            Some("printf" | "printm") => self.print()?,
            Some("return") => return self.return_stmt(),
            Some("c_code" | "c_expr") => {
                return self.no_c(start, &token.text());
            }
            Some("set_priority") if self.lookup("set_priority").is_none() => {
                self.with_priorities(start);
                self.advance();
                self.expect("(")?;
                let pid = self.expr()?;
                self.expect(",")?;
                let value = self.expr()?;
                self.expect(")")?;
                StmtKind::SetPriority(Some(pid), value)
            }
            Some("_priority") if self.lookup("_priority").is_none() && self.sets_priority() => {
                self.with_priorities(start);
                self.own_priority()?
            }
            Some("delete") if self.dynamic && self.lookup("delete").is_none() => {
                self.advance();
                let bracket = self.accept("(");
                let place = self.var_ref()?;
                if bracket {
                    self.expect(")")?;
                }
                StmtKind::Delete(place)
            }
            Some(word) if !is_reserved(word) => return self.named_stmt(),
            _ => StmtKind::Expr(self.expr()?),
        };
        Ok(Stmt { kind, span: self.span_from(start) })
    }

    /// A statement that begins with a name.
    fn named_stmt(&mut self) -> OrReported<Stmt> {
        let start = self.peek().span;
        let word = self.peek().word().cloned().unwrap_or_default();
        if self.peek_at(1).is(":") {
            return self.labelled();
        }
        if self.inlines.contains_key(&word) && self.peek_at(1).is("(") {
            let kind = StmtKind::Block(self.inline_call(None)?);
            return Ok(Stmt { kind, span: start });
        }
        if self.functions.contains(&word) && self.peek_at(1).is("(") {
            let name = self.name("a function")?;
            let arguments = self.arguments()?;
            let kind = StmtKind::Call(None, Callee::Named(name), arguments);
            return Ok(Stmt { kind, span: self.span_from(start) });
        }
        let scratch = &*word == "_" && self.lookup("_").is_none();
        if !scratch && !matches!(self.lookup(&word), Some(Entity::Variable(_))) {
            return self.expr_stmt(start);
        }
        let before = self.at;
        let place = if scratch {
            self.advance();
            None
        } else {
            Some(self.var_ref()?)
        };
        let kind = match (self.peek().kind.clone(), place) {
            (TokenKind::Symbol("="), place) => {
                self.advance();
                self.assigned(place)?
            }
            (TokenKind::Symbol(op @ ("++" | "--")), Some(place)) => {
                self.advance();
                let span = self.span_from(start);
                let op = if op == "++" { BinaryOp::Add } else { BinaryOp::Sub };
                step(place, op, span)
            }
            (TokenKind::Symbol(op @ ("!" | "?")), Some(channel)) if self.in_trace => {
                self.advance();
                let parts = self.patterns(";")?;
                let what = if op == "!" { Use::Send } else { Use::Receive };
                StmtKind::Event(what, Receive { channel, random: false, copy: false, parts })
            }
            (TokenKind::Symbol(op @ ("!" | "!!")), Some(channel)) => {
                self.advance();
                StmtKind::Send { channel, sorted: op == "!!", message: self.message()? }
            }
            (TokenKind::Symbol(op @ ("?" | "??")), Some(channel)) if !self.peek_at(1).is("[") => {
                self.advance();
                let copy = self.accept("<");
                let parts = self.patterns(if copy { ">" } else { ";" })?;
                if copy {
                    self.expect(">")?;
                }
                StmtKind::Receive(Receive { channel, random: op == "??", copy, parts })
            }
            (TokenKind::Symbol("("), Some(callee)) if self.is_function(&callee) => {
                let arguments = self.arguments()?;
                StmtKind::Call(None, Callee::Variable(callee), arguments)
            }
            _ => {
                self.at = before;
                return self.expr_stmt(start);
            }
        };
        Ok(Stmt { kind, span: self.span_from(start) })
    }

    /// Whether `_priority` is assigned here.
    fn sets_priority(&self) -> bool {
        ["=", "++", "--"].iter().any(|symbol| self.peek_at(1).is(symbol))
    }

    /// `_priority = e`, `_priority++`, `_priority--`.
    fn own_priority(&mut self) -> OrReported<StmtKind> {
        let span = self.advance().span;
        let symbol = self.advance();
        if symbol.is("=") {
            return Ok(StmtKind::SetPriority(None, self.expr()?));
        }
        let op = if symbol.is("++") { BinaryOp::Add } else { BinaryOp::Sub };
        let own = Expr { kind: ExprKind::Priority(None), span };
        let one = Expr { kind: ExprKind::Int(1), span: symbol.span };
        let kind = ExprKind::Binary(op, Box::new(own), Box::new(one));
        Ok(StmtKind::SetPriority(None, Expr { kind, span: self.span_from(span) }))
    }

    fn is_function(&self, var: &VarRef) -> bool {
        self.program.variables[var.variable].ty == Type::Function && var.fields.is_empty()
    }

    fn expr_stmt(&mut self, start: Span) -> OrReported<Stmt> {
        let expr = self.expr()?;
        Ok(Stmt { kind: StmtKind::Expr(expr), span: self.span_from(start) })
    }

    /// What follows `x =`.
    fn assigned(&mut self, place: Option<VarRef>) -> OrReported<StmtKind> {
        let word = self.peek().word().cloned().unwrap_or_default();
        let call = self.peek_at(1).is("(");
        if let (true, Some(place)) = (self.inlines.contains_key(&word) && call, &place) {
            return Ok(StmtKind::Block(self.inline_call(Some(place.clone()))?));
        }
        if self.functions.contains(&word) && call {
            let name = self.name("a function")?;
            return Ok(StmtKind::Call(place, Callee::Named(name), self.arguments()?));
        }
        if self.dynamic && &*word == "new" && self.lookup("new").is_none() {
            return self.allocation(place);
        }
        if self.dynamic && matches!(self.lookup(&word), Some(Entity::Variable(_))) {
            let before = self.at;
            let callee = self.var_ref()?;
            if self.is_function(&callee) && self.is("(") {
                return Ok(StmtKind::Call(place, Callee::Variable(callee), self.arguments()?));
            }
            self.at = before;
        }
        Ok(StmtKind::Assign(place, self.expr()?))
    }

    /// `new T` and `new T[n]`.
    fn allocation(&mut self, place: Option<VarRef>) -> OrReported<StmtKind> {
        let span = self.advance().span;
        let ty = self.type_name()?;
        let mut length = None;
        if self.accept("[") {
            length = Some(self.object_count()?);
            self.expect("]")?;
        }
        match place {
            Some(place) => Ok(StmtKind::New(place, ty, length)),
            None => {
                self.error(codes::NOT_A_VARIABLE, span, "an object that nothing refers to is lost at once")
            }
        }
    }

    /// How many objects an array has.
    fn object_count(&mut self) -> OrReported<Expr> {
        let count = self.expr()?;
        match self.fold(&count) {
            Some(value @ 1..=255) => Ok(Expr { kind: ExprKind::Int(value), ..count }),
            _ => {
                let message = "an array of objects has a constant number of them, from 1 to 255";
                self.error(codes::BAD_CONSTANT, count.span, message)
            }
        }
    }

    fn labelled(&mut self) -> OrReported<Stmt> {
        let name = self.name("a label")?;
        self.expect(":")?;
        let id = self.labels.name(name.clone());
        // A label may stand without a statement.
        let bare = self.is("}") || self.is("::") || self.is_word("fi") || self.is_word("od") || self.is(";");
        let stmt = if bare || self.begins_decl() { skip(name.span) } else { self.deeper(Self::simple)? };
        let span = self.span_from(name.span);
        let label = Label { name, id };
        Ok(Stmt { kind: StmtKind::Label(label, Box::new(stmt)), span })
    }

    fn options(&mut self, open: &'static str, close: &'static str) -> OrReported<Vec<Vec<Stmt>>> {
        let start = self.expect_word(open)?;
        while self.accept(";") {}
        let mut options = Vec::new();
        while self.accept("::") {
            let option = self.scoped(|parser| parser.sequence(close))?;
            options.push(if option.is_empty() { vec![skip(self.last_span())] } else { option });
        }
        if !self.is_word(close) {
            return self.unexpected(&format!("`::` or `{close}`"));
        }
        self.advance();
        if options.is_empty() {
            return self.error(codes::UNEXPECTED, start, format!("this `{open}` has no option"));
        }
        Ok(options)
    }

    fn message(&mut self) -> OrReported<Vec<Expr>> {
        if self.is("(") && self.bracketed_list() {
            return self.arguments();
        }
        let mut message = vec![self.expr()?];
        if self.is("(") && !self.peek().first {
            message.extend(self.arguments()?);
            return Ok(message);
        }
        while self.accept(",") {
            message.push(self.expr()?);
        }
        Ok(message)
    }

    /// Whether the bracket that opens here holds a list.
    pub(super) fn bracketed_list(&self) -> bool {
        let mut depth = 0;
        for token in &self.tokens[self.at..] {
            match &token.kind {
                TokenKind::Symbol("(" | "[" | "{") => depth += 1,
                TokenKind::Symbol(")" | "]" | "}") => depth -= 1,
                TokenKind::Symbol(",") if depth == 1 => return true,
                TokenKind::End => return false,
                _ => {}
            }
            if depth == 0 {
                return false;
            }
        }
        false
    }

    fn print(&mut self) -> OrReported<StmtKind> {
        let printm = self.advance().is_word("printm");
        self.expect("(")?;
        let mut text: Rc<str> = "%e".into();
        if !printm {
            text = match self.advance().kind {
                TokenKind::Text(text) => text,
                _ => return self.unexpected("a string"),
            };
            self.accept(",");
        }
        let mut values = Vec::new();
        while !self.is(")") {
            values.push(self.expr()?);
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(StmtKind::Print(text, values))
    }

    fn return_stmt(&mut self) -> OrReported<Stmt> {
        let start = self.advance().span;
        let bare = self.is(";") || self.is("}") || self.is("::") || self.peek().first;
        let value = if bare { None } else { Some(self.expr()?) };
        let span = self.span_from(start);
        let kind = match (self.results.last().cloned().flatten(), value) {
            (Some(place), Some(value)) => StmtKind::Assign(place, value),
            (Some(_), None) => return self.error(codes::UNEXPECTED, span, "this `return` needs a value"),
            (None, value) if self.in_function => StmtKind::Return(value),
            (None, _) => {
                return self.error(codes::MISPLACED, span, "`return` stands in a function or an inline");
            }
        };
        Ok(Stmt { kind, span })
    }

    /// A call of an inline: its body with the arguments in it.
    fn inline_call(&mut self, result: Option<VarRef>) -> OrReported<Vec<Stmt>> {
        let name = self.name("an inline")?;
        self.expect("(")?;
        let mut arguments: Vec<Vec<Token>> = vec![Vec::new()];
        let mut depth = 0;
        loop {
            let token = self.advance();
            match &token.kind {
                TokenKind::End => return self.unexpected("`)`"),
                TokenKind::Symbol("(" | "[" | "{") => depth += 1,
                TokenKind::Symbol(")") if depth == 0 => break,
                TokenKind::Symbol(")" | "]" | "}") => depth -= 1,
                TokenKind::Symbol(",") if depth == 0 => {
                    arguments.push(Vec::new());
                    continue;
                }
                _ => {}
            }
            if let Some(last) = arguments.last_mut() {
                last.push(token);
            }
        }
        if arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        let body = self.inline_body(&name, &arguments)?;
        self.splice(body)?;
        self.active_inlines.push(name.node);
        self.results.push(result.map(Some));
        let body = self.deeper(Self::block);
        self.results.pop();
        self.active_inlines.pop();
        body
    }

    /// `for (i : a .. b) { ... }` and `for (i in array) { ... }`: what SPIN makes of them.
    fn for_loop(&mut self) -> OrReported<Stmt> {
        let start = self.expect_word("for")?;
        self.expect("(")?;
        let index = self.var_ref()?;
        if self.accept_word("in") {
            return self.for_in(index, start);
        }
        let (from, to) = self.range()?;
        self.counted(index, from, to, start)
    }

    /// `: a .. b )`.
    fn range(&mut self) -> OrReported<(Expr, Expr)> {
        self.expect(":")?;
        let from = self.expr()?;
        self.expect("..")?;
        let to = self.expr()?;
        self.expect(")")?;
        Ok((from, to))
    }

    fn counted(&mut self, index: VarRef, from: Expr, to: Expr, start: Span) -> OrReported<Stmt> {
        let span = self.span_from(start);
        let compare = ExprKind::Binary(BinaryOp::Le, var(&index, span), Box::new(to));
        let mut round = vec![Stmt { kind: StmtKind::Expr(Expr { kind: compare, span }), span }];
        round.push(self.body_of_loop()?);
        round.push(Stmt { kind: step(index.clone(), BinaryOp::Add, span), span });
        let assign = StmtKind::Assign(Some(index), from);
        Ok(loop_of(vec![Stmt { kind: assign, span }], round, span))
    }

    fn body_of_loop(&mut self) -> OrReported<Stmt> {
        while self.accept(";") {}
        let start = self.peek().span;
        let body = self.block()?;
        Ok(Stmt { kind: StmtKind::Several(body), span: self.span_from(start) })
    }

    fn for_in(&mut self, index: VarRef, start: Span) -> OrReported<Stmt> {
        let whole = self.var_ref()?;
        self.expect(")")?;
        let span = self.span_from(start);
        let variable = &self.program.variables[whole.variable];
        if let (Type::Record(_), Type::Chan) = (&self.program.variables[index.variable].ty, &variable.ty) {
            let wide = matches!(&variable.init, Some(Init::Channel { capacity, .. }) if *capacity > 255);
            return self.for_message(index, whole, wide, span);
        }
        let Some(length) = variable.length.filter(|_| whole.fields.is_empty()) else {
            return self.error(codes::BAD_TYPE, whole.span, "this is not an array");
        };
        let number = |value: i64| Expr { kind: ExprKind::Int(value), span };
        self.counted(index, number(0), number(i64::from(length) - 1), start)
    }

    /// For each message of a channel: it is taken out and put back at the end.
    fn for_message(&mut self, message: VarRef, channel: VarRef, wide: bool, span: Span) -> OrReported<Stmt> {
        let name: Name = Spanned::new("$count".into(), span);
        let ty = if wide { Type::Short } else { Type::Byte };
        let variable = self.program.variables.len();
        self.program.variables.push(Variable {
            name,
            ty,
            length: None,
            init: None,
            is_param: false,
            is_late: true,
            is_global: false,
            is_hidden: false,
        });
        if let Some(current) = &mut self.proctype {
            current.variables.push(variable);
        }
        let count = VarRef { variable, index: None, fields: Vec::new(), span };
        let length = Expr { kind: ExprKind::Query(Query::Len, channel.clone()), span };
        let compare = ExprKind::Binary(BinaryOp::Lt, var(&count, span), Box::new(length));
        let parts = vec![Pattern::Store(message.clone())];
        let receive = Receive { channel: channel.clone(), random: false, copy: false, parts };
        let back = StmtKind::Send { channel, sorted: false, message: vec![*var(&message, span)] };
        let mut round = vec![
            Stmt { kind: StmtKind::Expr(Expr { kind: compare, span }), span },
            Stmt { kind: StmtKind::Receive(receive), span },
            Stmt { kind: back, span },
        ];
        round.push(self.body_of_loop()?);
        round.push(Stmt { kind: step(count.clone(), BinaryOp::Add, span), span });
        let zero = Expr { kind: ExprKind::Int(0), span };
        Ok(loop_of(vec![Stmt { kind: StmtKind::Assign(Some(count), zero), span }], round, span))
    }

    /// The first and the last value of a `select` that is one step, from its tokens behind the parenthesis. SPIN's lexer makes it
    /// one, before anything is parsed: a name without `_`, two numbers as they are, all in one line and not in an inline. Every
    /// other one counts from the first value on, step by step, and all see it.
    fn one_step_values(&self) -> Option<(i64, i64)> {
        let ahead: [&Token; 6] = std::array::from_fn(|ahead| self.peek_at(ahead));
        let [name, colon, from, dots, to, end] = ahead;
        let (TokenKind::Int(from), TokenKind::Int(to)) = (&from.kind, &to.kind) else { return None };
        let plain = name.word().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        let signs = colon.is(":") && dots.is("..") && end.is(")");
        let is_one = plain
            && signs
            && !ahead.iter().any(|token| token.first)
            && self.active_inlines.is_empty()
            && from <= to
            && to - from < ONE_STEP_SELECT;
        is_one.then_some((*from, *to))
    }

    /// `select (i : a .. b)`.
    fn select(&mut self) -> OrReported<Stmt> {
        let start = self.expect_word("select")?;
        self.expect("(")?;
        let values = self.one_step_values();
        let index = self.var_ref()?;
        let (from, to) = self.range()?;
        let span = self.span_from(start);
        if let Some((from, to)) = values {
            let option = |value: i64| {
                let value = Expr { kind: ExprKind::Int(value), span };
                vec![Stmt { kind: StmtKind::Assign(Some(index.clone()), value), span }]
            };
            return Ok(Stmt { kind: StmtKind::If((from..=to).map(option).collect()), span });
        }
        let compare = ExprKind::Binary(BinaryOp::Lt, var(&index, span), Box::new(to));
        let round = vec![
            Stmt { kind: StmtKind::Expr(Expr { kind: compare, span }), span },
            Stmt { kind: step(index.clone(), BinaryOp::Add, span), span },
        ];
        let leave = vec![Stmt { kind: StmtKind::Break, span }];
        let all = StmtKind::Do(vec![leave, round]);
        let assign = Stmt { kind: StmtKind::Assign(Some(index), from), span };
        Ok(Stmt { kind: StmtKind::Several(vec![assign, Stmt { kind: all, span }]), span })
    }
}

/// `(1)`.
fn skip(span: Span) -> Stmt {
    Stmt { kind: StmtKind::Expr(Expr { kind: ExprKind::Int(1), span }), span }
}

fn var(of: &VarRef, span: Span) -> Box<Expr> {
    Box::new(Expr { kind: ExprKind::Var(of.clone()), span })
}

/// `x = x + 1` or `x = x - 1`.
fn step(place: VarRef, op: BinaryOp, span: Span) -> StmtKind {
    let one = Box::new(Expr { kind: ExprKind::Int(1), span });
    let value = Expr { kind: ExprKind::Binary(op, var(&place, span), one), span };
    StmtKind::Assign(Some(place), value)
}

/// What comes first, then the round again and again until it cannot begin.
fn loop_of(mut first: Vec<Stmt>, round: Vec<Stmt>, span: Span) -> Stmt {
    let leave = vec![Stmt { kind: StmtKind::Else, span }, Stmt { kind: StmtKind::Break, span }];
    first.push(Stmt { kind: StmtKind::Do(vec![round, leave]), span });
    Stmt { kind: StmtKind::Several(first), span }
}
