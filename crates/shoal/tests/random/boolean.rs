//! Boolean programs, and what they mean, written a second time: programs are made as trees, printed for Shoal, and run here on
//! the trees, with a call stack for each thread. Nothing is inlined, flattened or simplified, and no code of Shoal is used.

use std::fmt::Write;

pub(crate) use self::run::{Shown, run};
use super::choices::Choices;

mod run;

/// An expression.
#[derive(Clone, Debug)]
enum Expr {
    Const(bool),
    Star,
    Var(Var),
    /// The value after the assignment.
    Next(Var),
    Not(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Schoose(Box<Expr>, Box<Expr>),
}

/// A variable, by who has it and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Var {
    Global(usize),
    /// A global of which every thread has its own.
    Own(usize),
    /// Parameters come first.
    Local(usize),
}

#[derive(Clone, Debug)]
struct Stmt {
    label: Option<String>,
    kind: Kind,
}

/// The number of a block in its program.
type Block = usize;

#[derive(Clone, Debug)]
enum Kind {
    Skip(&'static str),
    Goto(Vec<String>),
    Assign(Vec<Option<Var>>, Vec<Expr>, Option<Expr>),
    Call(Vec<Option<Var>>, usize, Vec<Expr>),
    Return(Vec<Expr>),
    If(Vec<(Expr, Block)>, Option<Block>),
    While(Expr, Block),
    Assume(Expr),
    AbortIf(Expr),
    Assert(Expr),
    Enforce(Expr),
    SpawnGoto(String),
    /// The older spelling is a label of the call.
    SpawnCall(usize, Vec<Expr>, bool),
    EndThread,
    AtomicBegin,
    AtomicEnd,
    Wait,
    Broadcast,
}

struct Function {
    params: usize,
    /// The initial values of its variables, where they have one.
    decls: Vec<Option<bool>>,
    results: usize,
    body: Block,
}

/// A program. The first function is `main`; functions call only those after them.
pub(crate) struct Program {
    globals: Vec<Option<bool>>,
    own: usize,
    functions: Vec<Function>,
    blocks: Vec<Vec<Stmt>>,
    /// Whether it has nothing but numbered statements and jumps, as BoPP reads it.
    numbered: bool,
}

// ---------------------------------------------------------------------------------------------------------------- printing

const NAMES: [&str; 6] = ["main", "f", "g", "h", "worker", "other"];

impl Program {
    /// The file's name and its text.
    pub(crate) fn text(&self) -> (&'static str, String) {
        let mut text = String::new();
        for (at, init) in self.globals.iter().enumerate() {
            writeln!(text, "decl {}{};", self.var(Var::Global(at)), initial(*init)).unwrap();
        }
        for at in 0..self.own {
            writeln!(text, "decl thread_local {};", self.var(Var::Own(at))).unwrap();
        }
        for (at, function) in self.functions.iter().enumerate() {
            let results = match function.results {
                0 => "void".to_string(),
                1 => "bool".to_string(),
                more => format!("bool<{more}>"),
            };
            let params: Vec<String> = (0..function.params).map(|param| self.var(Var::Local(param))).collect();
            writeln!(text, "{results} {}({}) begin", NAMES[at], params.join(", ")).unwrap();
            for (decl, init) in function.decls.iter().enumerate() {
                let name = self.var(Var::Local(function.params + decl));
                writeln!(text, "  decl {name}{};", initial(*init)).unwrap();
            }
            self.block(function.body, 1, &mut text);
            writeln!(text, "end").unwrap();
        }
        (if self.numbered { "a.nbp" } else { "a.bp" }, text)
    }

    fn var(&self, var: Var) -> String {
        match var {
            Var::Global(at) => format!("g{at}"),
            Var::Own(at) => format!("own{at}"),
            Var::Local(at) => format!("x{at}"),
        }
    }

    fn block(&self, block: Block, depth: usize, text: &mut String) {
        for stmt in &self.blocks[block] {
            let label = stmt.label.as_ref().map_or(String::new(), |label| format!("{label}: "));
            writeln!(text, "{:1$}{label}{2};", "", depth * 2, self.stmt(&stmt.kind, depth)).unwrap();
        }
    }

    fn inner(&self, block: Block, depth: usize) -> String {
        let mut text = String::from("\n");
        self.block(block, depth + 1, &mut text);
        format!("{text}{:1$}", "", depth * 2)
    }

    fn stmt(&self, kind: &Kind, depth: usize) -> String {
        let targets = |list: &[Option<Var>]| -> String {
            list.iter().map(|var| var.map_or("_".into(), |var| self.var(var))).collect::<Vec<_>>().join(", ")
        };
        let exprs = |list: &[Expr]| list.iter().map(|expr| self.expr(expr, 0)).collect::<Vec<_>>().join(", ");
        match kind {
            Kind::Skip(text) => text.to_string(),
            Kind::Goto(labels) => format!("goto {}", labels.join(", ")),
            Kind::Assign(left, right, constrain) => {
                let constrain =
                    constrain.as_ref().map_or(String::new(), |of| format!(" constrain {}", self.expr(of, 0)));
                format!("{} := {}{constrain}", targets(left), exprs(right))
            }
            Kind::Call(left, function, args) if left.is_empty() => {
                format!("{}({})", NAMES[*function], exprs(args))
            }
            Kind::Call(left, function, args) => {
                format!("{} := {}({})", targets(left), NAMES[*function], exprs(args))
            }
            Kind::Return(values) => format!("return {}", exprs(values)),
            Kind::If(arms, other) => {
                let mut text = String::new();
                for (at, (condition, block)) in arms.iter().enumerate() {
                    let word = if at == 0 { "if" } else { "elsif" };
                    write!(text, "{word} {} then{}", self.expr(condition, 0), self.inner(*block, depth))
                        .unwrap();
                }
                if let Some(block) = other {
                    write!(text, "else{}", self.inner(*block, depth)).unwrap();
                }
                text + "fi"
            }
            Kind::While(condition, block) => {
                format!("while {} do{}od", self.expr(condition, 0), self.inner(*block, depth))
            }
            Kind::Assume(of) => format!("assume({})", self.expr(of, 0)),
            Kind::AbortIf(of) => format!("abortif {}", self.expr(of, 0)),
            Kind::Assert(of) => format!("assert({})", self.expr(of, 0)),
            Kind::Enforce(of) => format!("enforce {}", self.expr(of, 0)),
            Kind::SpawnGoto(label) => format!("start_thread goto {label}"),
            Kind::SpawnCall(function, args, true) => {
                format!("ASYNC_1: {}({})", NAMES[*function], exprs(args))
            }
            Kind::SpawnCall(function, args, false) => {
                format!("start_thread {}({})", NAMES[*function], exprs(args))
            }
            Kind::EndThread => "end_thread".into(),
            Kind::AtomicBegin => "atomic_begin".into(),
            Kind::AtomicEnd => "atomic_end".into(),
            Kind::Wait => "wait".into(),
            Kind::Broadcast => "broadcast".into(),
        }
    }

    /// How tightly an operator binds, and whether it binds to the right.
    fn level(&self, op: &str) -> (usize, bool) {
        match (self.numbered, op) {
            (false, "=>" | "=" | "!=") => (1, true),
            (false, "^") => (2, false),
            (false, "|" | "||") => (3, false),
            (false, "&" | "&&") => (4, false),
            (true, "|" | "||") => (1, false),
            (true, "^") => (2, false),
            (true, "&" | "&&") => (3, false),
            (true, "=" | "!=") => (4, false),
            _ => panic!("no operator {op}"),
        }
    }

    /// With no more parentheses than are needed where things of at least this level may stand.
    fn expr(&self, expr: &Expr, least: usize) -> String {
        match expr {
            Expr::Const(true) => if self.numbered { "1" } else { "T" }.into(),
            Expr::Const(false) => if self.numbered { "0" } else { "F" }.into(),
            Expr::Star => "*".into(),
            Expr::Var(var) => self.var(*var),
            Expr::Next(var) => format!("'{}", self.var(*var)),
            Expr::Not(of) => format!("!{}", self.expr(of, 5)),
            Expr::Binary(op, left, right) => {
                let (level, to_the_right) = self.level(op);
                let (left_least, right_least) =
                    if to_the_right { (level + 1, level) } else { (level, level + 1) };
                let text = format!("{} {op} {}", self.expr(left, left_least), self.expr(right, right_least));
                if level < least { format!("({text})") } else { text }
            }
            Expr::Schoose(a, b) => format!("schoose[{}, {}]", self.expr(a, 0), self.expr(b, 0)),
        }
    }
}

fn initial(init: Option<bool>) -> &'static str {
    match init {
        None => "",
        Some(true) => " := 1",
        Some(false) => " := 0",
    }
}

// ------------------------------------------------------------------------------------------------------------------ making

struct Maker<'a, 'b> {
    choices: &'a mut Choices<'b>,
    program: Program,
    /// The function that is being made, its variables, and its labels so far.
    function: usize,
    locals: usize,
    labels: usize,
    /// Gotos to labels whose number is known only at the end.
    depth: usize,
}

/// A program from choices.
pub(crate) fn program(choices: &mut Choices<'_>) -> Program {
    let numbered = choices.pick(5) == 4;
    let globals =
        (0..1 + choices.pick(3)).map(|_| [Some(false), Some(true), None][choices.pick(3)]).collect();
    let own = if numbered { 0 } else { choices.pick(4) / 3 };
    let functions = if numbered { 1 } else { 1 + choices.pick(4) };
    let program = Program { globals, own, functions: Vec::new(), blocks: Vec::new(), numbered };
    let mut maker = Maker { choices, program, function: 0, locals: 0, labels: 0, depth: 0 };
    // The heads first, so that calls know them.
    for at in 0..functions {
        let (params, results) = if at == 0 { (0, 0) } else { (maker.choices.pick(3), maker.choices.pick(3)) };
        let decls = (0..maker.choices.pick(3))
            .map(|_| [None, Some(false), Some(true)][maker.choices.pick(3)])
            .collect();
        maker.program.functions.push(Function { params, decls, results, body: 0 });
    }
    for at in 0..functions {
        maker.function = at;
        maker.locals = maker.program.functions[at].params + maker.program.functions[at].decls.len();
        maker.labels = 0;
        let body = maker.body();
        maker.program.functions[at].body = body;
    }
    maker.program
}

impl Maker<'_, '_> {
    /// The statements of a function: some of them have labels, and jumps go to those.
    fn body(&mut self) -> Block {
        let mut body = Vec::new();
        for _ in 0..2 + self.choices.pick(6) {
            self.stmts(&mut body);
        }
        let results = self.program.functions[self.function].results;
        if results > 0 {
            let values = (0..results).map(|_| self.expr(2, false)).collect();
            body.push(Stmt { label: None, kind: Kind::Return(values) });
        }
        if self.program.numbered {
            body.push(Stmt { label: None, kind: Kind::Skip("skip") });
            for (at, stmt) in body.iter_mut().enumerate() {
                stmt.label = Some(at.to_string());
            }
            self.labels = body.len();
        }
        let block = self.put(body);
        self.aim(block);
        block
    }

    fn put(&mut self, block: Vec<Stmt>) -> Block {
        self.program.blocks.push(block);
        self.program.blocks.len() - 1
    }

    /// Jumps were made to numbers; now there are that many labels.
    fn aim(&mut self, block: Block) {
        let labels = self.labels.max(1);
        let numbered = self.program.numbered;
        let name = |label: &str| {
            let number: usize = label.parse::<usize>().unwrap() % labels;
            if numbered { number.to_string() } else { format!("L{number}") }
        };
        for at in 0..self.program.blocks[block].len() {
            let mut inner = Vec::new();
            let any = self.labels > 0;
            match &mut self.program.blocks[block][at].kind {
                kind @ (Kind::Goto(_) | Kind::SpawnGoto(_)) if !any => *kind = Kind::Skip("skip"),
                Kind::Goto(labels) => labels.iter_mut().for_each(|label| *label = name(label)),
                Kind::SpawnGoto(label) => *label = name(label),
                Kind::If(arms, other) => inner.extend(arms.iter().map(|arm| arm.1).chain(*other)),
                Kind::While(_, body) => inner.push(*body),
                _ => {}
            }
            inner.into_iter().for_each(|block| self.aim(block));
        }
    }

    /// One statement, or a few that belong together.
    fn stmts(&mut self, into: &mut Vec<Stmt>) {
        let label = (!self.program.numbered && self.choices.pick(3) == 2).then(|| {
            self.labels += 1;
            format!("L{}", self.labels - 1)
        });
        let first = into.len();
        match self.choices.pick(20) {
            0 => into.push(plain(Kind::Assert(self.expr(2, false)))),
            1 => {
                into.push(plain(Kind::AtomicBegin));
                for _ in 0..1 + self.choices.pick(2) {
                    into.push(plain(self.simple()));
                }
                into.push(plain(Kind::AtomicEnd));
            }
            2 => into.push(plain(self.jump())),
            3 if self.function == 0 || self.program.functions[self.function].results == 0 => {
                into.push(plain(self.spawn()));
            }
            4 if !self.program.numbered && self.depth < 2 => {
                let arms =
                    (0..1 + self.choices.pick(2)).map(|_| (self.expr(1, false), self.nested())).collect();
                let other = (self.choices.pick(2) == 1).then(|| self.nested());
                into.push(plain(Kind::If(arms, other)));
            }
            4 => into.push(plain(self.branch())),
            5 if !self.program.numbered && self.depth < 2 => {
                let condition = self.expr(1, false);
                into.push(plain(Kind::While(condition, self.nested())));
            }
            6 | 7 if !self.program.numbered => into.push(plain(self.call())),
            8 => into.push(plain(if self.choices.pick(2) == 0 { Kind::Wait } else { Kind::Broadcast })),
            9 if self.choices.pick(3) == 0 => into.push(plain(Kind::EndThread)),
            10 if !self.program.numbered && self.choices.pick(2) == 0 => {
                into.push(plain(Kind::Enforce(self.expr(1, false))));
            }
            11 if !self.program.numbered && self.choices.pick(2) == 0 => {
                let results = self.program.functions[self.function].results;
                into.push(plain(Kind::Return((0..results).map(|_| self.expr(1, false)).collect())));
            }
            _ => into.push(plain(self.simple())),
        }
        into[first].label = label;
    }

    fn nested(&mut self) -> Block {
        self.depth += 1;
        let mut block = Vec::new();
        for _ in 0..1 + self.choices.pick(2) {
            self.stmts(&mut block);
        }
        self.depth -= 1;
        self.put(block)
    }

    /// A statement that neither jumps nor ends anything.
    fn simple(&mut self) -> Kind {
        match self.choices.pick(8) {
            0 => Kind::Assume(self.expr(2, false)),
            1 if !self.program.numbered => Kind::AbortIf(self.expr(1, false)),
            2 if !self.program.numbered => Kind::Skip(["skip", "dead g0", "sync e"][self.choices.pick(3)]),
            2 => Kind::Skip("skip"),
            _ => {
                let mut left: Vec<Option<Var>> = Vec::new();
                for _ in 0..1 + self.choices.pick(5) / 4 {
                    let var = self.var();
                    if !left.contains(&Some(var)) {
                        left.push(Some(var));
                    }
                }
                if !self.program.numbered && self.choices.pick(8) == 7 {
                    left.push(None);
                }
                let right = left.iter().map(|_| self.expr(2, false)).collect();
                let constrain = (self.choices.pick(5) == 4).then(|| self.expr(2, true));
                Kind::Assign(left, right, constrain)
            }
        }
    }

    fn jump(&mut self) -> Kind {
        Kind::Goto((0..1 + self.choices.pick(2)).map(|_| self.choices.pick(16).to_string()).collect())
    }

    /// As numbered programs branch.
    fn branch(&mut self) -> Kind {
        let condition = self.expr(1, false);
        let jump = Kind::Goto(vec![self.choices.pick(16).to_string()]);
        let block = self.put(vec![plain(jump)]);
        Kind::If(vec![(condition, block)], None)
    }

    fn spawn(&mut self) -> Kind {
        let later = self.program.functions.len() - self.function - 1;
        if later == 0 || self.choices.pick(2) == 0 {
            // A thread that another one starts by a jump has no caller to go back to.
            return match self.function {
                0 => Kind::SpawnGoto(self.choices.pick(16).to_string()),
                _ => Kind::Skip("skip"),
            };
        }
        let function = self.function + 1 + self.choices.pick(later);
        let args = (0..self.program.functions[function].params).map(|_| self.expr(1, false)).collect();
        Kind::SpawnCall(function, args, self.choices.pick(4) == 3)
    }

    fn call(&mut self) -> Kind {
        let later = self.program.functions.len() - self.function - 1;
        if later == 0 {
            return self.simple();
        }
        let function = self.function + 1 + self.choices.pick(later);
        let args = (0..self.program.functions[function].params).map(|_| self.expr(1, false)).collect();
        let results = self.program.functions[function].results;
        let mut left: Vec<Option<Var>> = Vec::new();
        if results > 0 && self.choices.pick(4) > 0 {
            for _ in 0..results {
                let var = self.var();
                left.push((!left.contains(&Some(var)) && self.choices.pick(6) > 0).then_some(var));
            }
        }
        Kind::Call(left, function, args)
    }

    fn var(&mut self) -> Var {
        let (globals, own) = (self.program.globals.len(), self.program.own);
        match self.choices.pick(globals + own + self.locals) {
            at if at < globals => Var::Global(at),
            at if at < globals + own => Var::Own(at - globals),
            at => Var::Local(at - globals - own),
        }
    }

    fn expr(&mut self, depth: usize, ticks: bool) -> Expr {
        let inner = |maker: &mut Self| Box::new(maker.expr(depth.saturating_sub(1), ticks));
        match self.choices.pick(if depth == 0 { 4 } else { 9 }) {
            0 | 1 if ticks && self.choices.pick(2) == 0 => Expr::Next(self.var()),
            0 | 1 => Expr::Var(self.var()),
            2 => Expr::Const(self.choices.pick(2) == 1),
            3 => Expr::Star,
            4 => Expr::Not(inner(self)),
            5 if !self.program.numbered => Expr::Schoose(inner(self), inner(self)),
            _ => {
                let ops: &[&'static str] = match self.program.numbered {
                    true => &["&", "|", "^", "=", "!=", "&&", "||"],
                    false => &["&", "|", "^", "=", "!=", "=>", "&&", "||"],
                };
                let op = ops[self.choices.pick(ops.len())];
                Expr::Binary(op, inner(self), inner(self))
            }
        }
    }
}

fn plain(kind: Kind) -> Stmt {
    Stmt { label: None, kind }
}
