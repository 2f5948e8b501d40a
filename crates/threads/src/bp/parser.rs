//! From words to statements.

use shoal_syntax::{Diagnostic, SourceId, Span, Spanned, cursor::Parsed};

use super::{
    Precedence,
    ast::{Decl, Expr, ExprKind, Function, Name, Op, Program, Stmt, StmtKind},
    lexer::{Token, is_name, tokens},
};
use crate::codes;

/// How deeply statements and expressions may be nested.
const DEEPEST: usize = 500;

const KEYWORDS: [&str; 34] = [
    "decl",
    "begin",
    "end",
    "void",
    "bool",
    "dfs",
    "skip",
    "goto",
    "constrain",
    "return",
    "if",
    "then",
    "else",
    "elsif",
    "fi",
    "while",
    "do",
    "od",
    "enforce",
    "abortif",
    "dead",
    "start_thread",
    "end_thread",
    "sync",
    "atomic_begin",
    "atomic_end",
    "schoose",
    "thread_local",
    "T",
    "F",
    "assert",
    "assume",
    "wait",
    "broadcast",
];

/// After so many errors the rest is not read.
const MOST_ERRORS: usize = 20;

/// The program, or all that is wrong with its text.
pub(super) fn parse(text: &str, id: SourceId, dialect: Precedence) -> Result<Program, Vec<Diagnostic>> {
    let tokens = tokens(text, id).map_err(|error| vec![*error])?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, dialect, errors: Vec::new() };
    let read = parser.program();
    let mut errors = parser.errors;
    match read {
        Ok(program) if errors.is_empty() => Ok(program),
        Ok(_) => Err(errors),
        Err(error) => {
            errors.push(*error);
            Err(errors)
        }
    }
}

struct Parser<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
    dialect: Precedence,
    /// What was wrong with statements that were passed over.
    errors: Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn second(&self) -> Token<'a> {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.peek().text == text;
        if found {
            self.at += 1;
        }
        found
    }

    fn unexpected<T>(&self, token: Token<'_>, expected: &str) -> Parsed<T> {
        let found =
            if token.text.is_empty() { "the end of the file".into() } else { format!("`{}`", token.text) };
        let message = format!("{expected} is expected, not {found}");
        Err(Box::new(Diagnostic::error(codes::UNEXPECTED, token.span, message)))
    }

    fn unsupported<T>(&self, span: Span, what: &str) -> Parsed<T> {
        Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, span, format!("not supported: {what}"))))
    }

    fn expect(&mut self, text: &str) -> Parsed<Token<'a>> {
        let token = self.next();
        if token.text == text { Ok(token) } else { self.unexpected(token, &format!("`{text}`")) }
    }

    /// Something nested; refuses to go too deep.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST {
            return self.unsupported(self.peek().span, "code that is nested more deeply than this");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn is_name(token: Token<'_>) -> bool {
        token.text.starts_with(is_name) && !KEYWORDS.contains(&token.text)
    }

    fn name(&mut self) -> Parsed<Name> {
        let token = self.next();
        if !Self::is_name(token) {
            return self.unexpected(token, "a name");
        }
        if token.text.ends_with('$') {
            return self.unsupported(token.span, "`$`, the variables of all other threads");
        }
        Ok(Spanned::new(token.text.into(), token.span))
    }

    /// A label may be a name or a number.
    fn label(&mut self) -> Parsed<Name> {
        let token = self.peek();
        if token.text.starts_with(|c: char| c.is_ascii_digit()) {
            self.at += 1;
            return Ok(Spanned::new(token.text.into(), token.span));
        }
        self.name()
    }

    fn program(&mut self) -> Parsed<Program> {
        let mut program = Program::default();
        loop {
            match self.peek().text {
                "" if program.functions.is_empty() => return self.unexpected(self.peek(), "a function"),
                "" => return Ok(program),
                "decl" => {
                    program.globals.extend(self.decl()?);
                    self.expect(";")?;
                }
                _ => {
                    let function = self.function()?;
                    if let Some(known) =
                        program.functions.iter().find(|known| known.name.node == function.name.node)
                    {
                        let message = format!("the function `{}` is declared twice", function.name.node);
                        let error = Diagnostic::error(codes::REDECLARED, function.name.span, message);
                        return Err(Box::new(error.also(known.name.span, "here is the first")));
                    }
                    program.functions.push(function);
                }
            }
        }
    }

    fn decl(&mut self) -> Parsed<Vec<Decl>> {
        self.expect("decl")?;
        let thread_local = self.take("thread_local");
        let mut all = Vec::new();
        loop {
            let name = self.name()?;
            let init = match self.take(":=") {
                false => None,
                true => match self.next() {
                    Token { text: "*", .. } => None,
                    Token { text: "0" | "F", .. } => Some(false),
                    Token { text: "1" | "T", .. } => Some(true),
                    other => return self.unexpected(other, "`0`, `1` or `*`"),
                },
            };
            all.push(Decl { name, init, thread_local });
            if !self.take(",") {
                return Ok(all);
            }
        }
    }

    fn function(&mut self) -> Parsed<Function> {
        self.take("dfs");
        let token = self.next();
        let results = match token.text {
            "void" => 0,
            "bool" if self.take("<") => {
                let number = self.next();
                let Ok(results) = number.text.parse() else { return self.unexpected(number, "a number") };
                self.expect(">")?;
                results
            }
            "bool" => 1,
            _ => return self.unexpected(token, "`decl`, `void` or `bool`"),
        };
        let name = self.name()?;
        self.expect("(")?;
        let mut params = Vec::new();
        while !self.take(")") {
            if !params.is_empty() {
                self.expect(",")?;
            }
            params.push(self.name()?);
        }
        self.expect("begin")?;
        let body = self.block(&["end"])?;
        let end = self.expect("end")?.span;
        Ok(Function { name, results, params, body, end })
    }

    /// Statements up to one of the closing words, which is not taken.
    fn block(&mut self, closers: &[&str]) -> Parsed<Vec<Stmt>> {
        let mut block = Vec::new();
        loop {
            while self.take(";") {}
            let token = self.peek();
            if closers.contains(&token.text) {
                return Ok(block);
            }
            if token.text.is_empty() {
                return self.unexpected(token, &format!("`{}`", closers[closers.len() - 1]));
            }
            let (at, depth) = (self.at, self.depth);
            match self.deeper(Parser::stmt).and_then(|stmt| self.separated(closers).map(|()| stmt)) {
                Ok(stmt) => block.push(stmt),
                // At the end of the file there is nothing to go on with.
                Err(error) if self.errors.len() >= MOST_ERRORS || self.peek().text.is_empty() => {
                    return Err(error);
                }
                Err(error) => {
                    self.errors.push(*error);
                    self.depth = depth;
                    self.at = at;
                    self.skip_statement(closers);
                }
            }
        }
    }

    /// After a statement comes `;` or the end of its block; what ends with a word of its own needs neither.
    fn separated(&self, closers: &[&str]) -> Parsed<()> {
        let token = self.peek();
        let closed = matches!(self.tokens[self.at - 1].text, "fi" | "od");
        if token.text == ";" || closers.contains(&token.text) || closed {
            return Ok(());
        }
        self.unexpected(token, "`;`")
    }

    /// Goes behind a statement that cannot be read, to what separates it from the next.
    fn skip_statement(&mut self, closers: &[&str]) {
        let mut open = 0_usize;
        loop {
            match self.peek().text {
                "" => return,
                ";" if open == 0 => return,
                closer if open == 0 && closers.contains(&closer) => return,
                "if" | "while" => open += 1,
                "fi" | "od" => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        let start = self.peek().span;
        let mut labels = Vec::new();
        while self.second().text == ":" {
            labels.push(self.label()?);
            self.expect(":")?;
        }
        // A label may stand at the end of a block.
        let ends = matches!(self.peek().text, ";" | "end" | "fi" | "od" | "else" | "elsif");
        if !labels.is_empty() && ends {
            return Ok(Stmt { labels, kind: StmtKind::Skip, span: start });
        }
        let first = self.peek().span;
        let kind = self.stmt_kind()?;
        let span = first.to(self.tokens[self.at - 1].span);
        Ok(Stmt { labels, kind, span })
    }

    fn stmt_kind(&mut self) -> Parsed<StmtKind> {
        let token = self.peek();
        if Self::is_name(token) {
            return self.assign_or_call();
        }
        match token.text {
            "decl" => return Ok(StmtKind::Decl(self.decl()?)),
            "skip" | "end_thread" | "atomic_begin" | "atomic_end" | "goto" | "return" | "if" | "while"
            | "enforce" | "abortif" | "dead" | "start_thread" | "sync" | "assert" | "assume" | "wait"
            | "broadcast" => {}
            _ => return self.unexpected(token, "a statement"),
        }
        self.at += 1;
        Ok(match token.text {
            "skip" => StmtKind::Skip,
            "end_thread" => StmtKind::EndThread,
            "atomic_begin" => StmtKind::AtomicBegin,
            "atomic_end" => StmtKind::AtomicEnd,
            "wait" => StmtKind::Wait,
            "broadcast" => StmtKind::Broadcast,
            "goto" => StmtKind::Goto(self.list(Parser::label)?),
            "return" => match self.peek().text {
                ";" | "end" | "fi" | "od" | "else" | "elsif" => StmtKind::Return(Vec::new()),
                _ => StmtKind::Return(self.list(Parser::expr)?),
            },
            "if" => self.if_rest()?,
            "while" => {
                let condition = self.expr()?;
                self.expect("do")?;
                let body = self.block(&["od"])?;
                self.expect("od")?;
                StmtKind::While(condition, body)
            }
            "enforce" => StmtKind::Enforce(self.expr()?),
            "abortif" => {
                let expr = self.expr()?;
                let span = expr.span;
                StmtKind::Assume(Expr { kind: ExprKind::Not(Box::new(expr)), span })
            }
            // That variables are never read again is found out, not believed.
            "dead" => {
                self.list(Parser::expr)?;
                StmtKind::Skip
            }
            "sync" => {
                self.name()?;
                StmtKind::Skip
            }
            "start_thread" => StmtKind::StartThread(Box::new(self.deeper(Parser::stmt)?)),
            _ => {
                self.expect("(")?;
                let expr = self.expr()?;
                self.expect(")")?;
                if token.text == "assert" { StmtKind::Assert(expr) } else { StmtKind::Assume(expr) }
            }
        })
    }

    fn if_rest(&mut self) -> Parsed<StmtKind> {
        let mut arms = Vec::new();
        loop {
            let condition = self.expr()?;
            self.expect("then")?;
            arms.push((condition, self.block(&["else", "elsif", "fi"])?));
            match self.next().text {
                "elsif" => {}
                "else" => {
                    let other = self.block(&["fi"])?;
                    self.expect("fi")?;
                    return Ok(StmtKind::If(arms, other));
                }
                _ => return Ok(StmtKind::If(arms, Vec::new())),
            }
        }
    }

    fn list<T>(&mut self, item: fn(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut all = vec![item(self)?];
        while self.take(",") {
            all.push(item(self)?);
        }
        Ok(all)
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect("(")?;
        if self.take(")") {
            return Ok(Vec::new());
        }
        let list = self.list(Parser::expr)?;
        self.expect(")")?;
        Ok(list)
    }

    fn assign_or_call(&mut self) -> Parsed<StmtKind> {
        if self.second().text == "(" {
            let name = self.name()?;
            return Ok(StmtKind::Call(Vec::new(), name, self.arguments()?));
        }
        let left = self.list(Parser::name)?;
        let token = self.next();
        if token.text != ":=" {
            return self.unexpected(token, "`:=`");
        }
        if Self::is_name(self.peek()) && self.second().text == "(" {
            let name = self.name()?;
            return Ok(StmtKind::Call(left, name, self.arguments()?));
        }
        let right = self.list(Parser::expr)?;
        let constrain = if self.take("constrain") { Some(self.expr()?) } else { None };
        Ok(StmtKind::Assign(left, right, constrain))
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| match parser.dialect {
            Precedence::Satabs => parser.loose(),
            Precedence::Bopp => {
                let of = parser.level(0)?;
                match parser.peek() {
                    Token { text: "?", span } => parser.unsupported(span, "`?:`"),
                    _ => Ok(of),
                }
            }
        })
    }

    /// Loosest for SATABS: implication and equality, which bind to the right.
    fn loose(&mut self) -> Parsed<Expr> {
        let left = self.level(0)?;
        let op = match self.peek().text {
            "=>" => Op::Implies,
            "=" | "==" => Op::Equal,
            "!=" => Op::Differ,
            _ => return Ok(left),
        };
        self.at += 1;
        let right = self.expr()?;
        Ok(binary(op, left, right))
    }

    /// What binds to the left; each level binds tighter than the one before.
    fn level(&mut self, level: usize) -> Parsed<Expr> {
        const SATABS: [&[(&str, Op)]; 3] =
            [&[("^", Op::Xor)], &[("|", Op::Or), ("||", Op::Or)], &[("&", Op::And), ("&&", Op::And)]];
        const BOPP: [&[(&str, Op)]; 4] = [
            &[("|", Op::Or), ("||", Op::Or)],
            &[("^", Op::Xor)],
            &[("&", Op::And), ("&&", Op::And)],
            &[("=", Op::Equal), ("==", Op::Equal), ("!=", Op::Differ)],
        ];
        let levels: &[&[(&str, Op)]] = match self.dialect {
            Precedence::Satabs => &SATABS,
            Precedence::Bopp => &BOPP,
        };
        let Some(signs) = levels.get(level) else { return self.deeper(Parser::unary) };
        let mut left = self.level(level + 1)?;
        while let Some((_, op)) = signs.iter().find(|(sign, _)| *sign == self.peek().text) {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = binary(*op, left, right);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let token = self.next();
        let kind = match token.text {
            "!" | "~" => ExprKind::Not(Box::new(self.deeper(Parser::unary)?)),
            "'" => {
                let name = self.name()?;
                return Ok(Expr { span: token.span.to(name.span), kind: ExprKind::Next(name.node) });
            }
            "(" => {
                let inner = self.expr()?;
                let end = self.expect(")")?;
                return Ok(Expr { span: token.span.to(end.span), ..inner });
            }
            "*" => ExprKind::Star,
            "0" | "F" => ExprKind::Const(false),
            "1" | "T" => ExprKind::Const(true),
            "schoose" => {
                self.expect("[")?;
                let first = self.expr()?;
                self.expect(",")?;
                let second = self.expr()?;
                self.expect("]")?;
                ExprKind::Schoose(Box::new(first), Box::new(second))
            }
            _ if Self::is_name(token) => {
                self.at -= 1;
                ExprKind::Var(self.name()?.node)
            }
            text if text.starts_with(|c: char| c.is_ascii_digit()) => {
                let message = format!("the only numbers are 0 and 1, not `{text}`");
                return Err(Box::new(Diagnostic::error(codes::NUMBER, token.span, message)));
            }
            _ => return self.unexpected(token, "an expression"),
        };
        let end = self.tokens[self.at - 1].span;
        Ok(Expr { kind, span: token.span.to(end) })
    }
}

fn binary(op: Op, left: Expr, right: Expr) -> Expr {
    let span = left.span.to(right.span);
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}
