//! Random functions, arrays, records and parameters of UPPAAL's language, evaluated a second time: the source itself is run by
//! a small evaluator that shares no code with Shoal. The values of all variables after one edge, and faults, must agree.
//!
//! Operands, arguments and parts of a list are evaluated from left to right; of an assignment the place first, then the value.

use std::fmt::Write;

use shoal_model::{Job, PropertyId, PropertyKind, Quiet, Verdict};
use shoal_syntax::SourceMap;
use shoal_template::Options;
use shoal_uppaal as uppaal;

use crate::{
    common::{Random, on_threads},
    random_networks::number,
};

/// Types: an integer of some range, an array of two, a record of an integer and an array.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ty {
    Int(i64, i64),
    Pair,
    Rec,
}

const SMALL: Ty = Ty::Int(0, 3);
const PLAIN: Ty = Ty::Int(-32768, 32767);

impl Ty {
    fn name(self) -> String {
        match self {
            PLAIN => "int".into(),
            Ty::Int(lo, hi) => format!("int[{lo},{hi}]"),
            Ty::Pair => "pair".into(),
            Ty::Rec => "rec".into(),
        }
    }

    fn blank(self) -> Value {
        match self {
            Ty::Int(..) => Value::Int(0),
            Ty::Pair => Value::Parts(vec![Value::Int(0); 2]),
            Ty::Rec => Value::Parts(vec![Value::Int(0), Ty::Pair.blank()]),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Int(i64),
    Parts(Vec<Value>),
}

impl Value {
    fn int(&self) -> i64 {
        match self {
            Value::Int(value) => *value,
            Value::Parts(_) => unreachable!(),
        }
    }
}

#[derive(Clone, Debug)]
enum Expr {
    Number(i64),
    Read(Place),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    Call(usize, Vec<Expr>),
    Assign(&'static str, Place, Box<Expr>),
    /// `++x`, `x--`: by how much, and whether the value is the old one.
    Step(Place, i64, bool),
    /// `forall`, `exists` or `sum` over 0 and 1.
    Over(&'static str, String, Box<Expr>),
}

#[derive(Clone, Debug)]
struct Place {
    name: String,
    path: Vec<Part>,
    ty: Ty,
}

#[derive(Clone, Debug)]
enum Part {
    Index(Box<Expr>),
    A,
    B,
}

#[derive(Clone, Debug)]
enum Stmt {
    Declare(String, Ty, Option<Start>),
    Expr(Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Counts a variable of its own up to a number.
    For(String, i64, Vec<Stmt>),
    Each(String, Vec<Stmt>),
    /// Counts down, in front of the body or behind it.
    While(String, bool, Vec<Stmt>),
    Return(Expr),
}

#[derive(Clone, Debug)]
enum Start {
    Value(Expr),
    /// The fields of a record may be named, and then be in another order.
    List(Vec<(&'static str, Start)>),
}

struct Function {
    name: String,
    result: Ty,
    params: Vec<(String, Ty, bool)>,
    pure: bool,
    body: Vec<Stmt>,
}

const GLOBALS: [(&str, Ty); 7] = [
    ("g", SMALL),
    ("h", PLAIN),
    ("b", Ty::Int(0, 1)),
    ("p", Ty::Pair),
    ("q", Ty::Pair),
    ("r", Ty::Rec),
    ("s", Ty::Rec),
];

/// Where names are known: with their types, and whether they may be changed.
type Scope = Vec<(String, Ty, bool)>;

struct Maker<'r> {
    random: &'r mut Random,
    functions: Vec<Function>,
    names: u64,
}

impl Maker<'_> {
    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// A place of a type in a scope.
    fn place(&mut self, ty: Ty, scope: &Scope, write: bool, effects: bool) -> Option<Place> {
        let fits = |own: &Ty| match (ty, own) {
            (Ty::Int(..), _) => true,
            (Ty::Pair, own) => *own != SMALL && !matches!(own, Ty::Int(..)),
            (Ty::Rec, own) => *own == Ty::Rec,
        };
        let found: Vec<_> =
            scope.iter().filter(|(_, own, free)| fits(own) && (*free || !write)).cloned().collect();
        if found.is_empty() {
            return None;
        }
        let (name, mut own, _) = found[self.random.below(found.len() as u64) as usize].clone();
        let mut path = Vec::new();
        while own != ty && !matches!((ty, own), (Ty::Int(..), Ty::Int(..))) {
            (own, path) = match own {
                Ty::Rec if ty != Ty::Pair && self.random.below(2) == 0 => {
                    (SMALL, [path, vec![Part::A]].concat())
                }
                Ty::Rec => (Ty::Pair, [path, vec![Part::B]].concat()),
                Ty::Pair | Ty::Int(..) => {
                    let index = match self.random.below(3) {
                        0 => Expr::Number(self.random.below(2) as i64),
                        // Sometimes outside.
                        1 => self.int(1, scope, effects),
                        _ => Expr::Binary(
                            "&",
                            Box::new(self.int(1, scope, effects)),
                            Box::new(Expr::Number(1)),
                        ),
                    };
                    (SMALL, [path, vec![Part::Index(Box::new(index))]].concat())
                }
            };
        }
        Some(Place { name, path, ty: own })
    }

    /// A value that is small most of the time.
    fn small(&mut self, depth: u64, scope: &Scope, effects: bool) -> Expr {
        let value = self.int(depth, scope, effects);
        match self.random.below(4) {
            0 => value,
            _ => Expr::Binary("&", Box::new(value), Box::new(Expr::Number(3))),
        }
    }

    fn of_type(&mut self, ty: Ty, depth: u64, scope: &Scope, effects: bool) -> Expr {
        match ty {
            SMALL => self.small(depth, scope, effects),
            Ty::Int(0, 1) => {
                Expr::Binary("&", Box::new(self.int(depth, scope, effects)), Box::new(Expr::Number(1)))
            }
            Ty::Int(..) => self.int(depth, scope, effects),
            Ty::Pair | Ty::Rec => {
                let place = self.place(ty, scope, false, effects).unwrap();
                match self.random.below(6) {
                    0 => self.call(Some(ty), depth, scope, effects).unwrap_or(Expr::Read(place)),
                    1 if depth > 0 => {
                        let other = self.place(ty, scope, false, effects).unwrap();
                        let condition = self.int(depth - 1, scope, effects);
                        Expr::Cond(
                            Box::new(condition),
                            Box::new(Expr::Read(place)),
                            Box::new(Expr::Read(other)),
                        )
                    }
                    _ => Expr::Read(place),
                }
            }
        }
    }

    /// A call of a function that has been made, with a result of a type (an integer if none is said).
    fn call(&mut self, ty: Option<Ty>, depth: u64, scope: &Scope, effects: bool) -> Option<Expr> {
        let fits = |function: &Function| match ty {
            Some(ty) => function.result == ty,
            None => matches!(function.result, Ty::Int(..)),
        };
        let all = 0..self.functions.len();
        let fitting: Vec<usize> =
            all.filter(|at| fits(&self.functions[*at]) && (effects || self.functions[*at].pure)).collect();
        if fitting.is_empty() || depth == 0 {
            return None;
        }
        let at = fitting[self.random.below(fitting.len() as u64) as usize];
        let params: Vec<(Ty, bool)> =
            self.functions[at].params.iter().map(|param| (param.1, param.2)).collect();
        let mut arguments = Vec::new();
        for (ty, reference) in params {
            arguments.push(match reference {
                true => {
                    let place = self.place(ty, scope, true, effects)?;
                    // A reference is to something of the same type.
                    if place.ty != ty {
                        return None;
                    }
                    Expr::Read(place)
                }
                false => self.of_type(ty, depth - 1, scope, effects),
            });
        }
        Some(Expr::Call(at, arguments))
    }

    fn int(&mut self, depth: u64, scope: &Scope, effects: bool) -> Expr {
        let leaf = |maker: &mut Self| match maker.random.below(3) {
            0 => Expr::Number(maker.random.below(4) as i64),
            _ => maker.place(SMALL, scope, false, false).map_or(Expr::Number(1), Expr::Read),
        };
        if depth == 0 {
            return leaf(self);
        }
        let inner = |maker: &mut Self| Box::new(maker.int(depth - 1, scope, effects));
        match self.random.below(16) {
            0..=4 => {
                let op = self.random.one_of(&[
                    "+", "-", "*", "/", "%", "&", "|", "^", "<?", ">?", "<", "<=", "==", "!=", "&&", "||",
                    "imply", "and", "or", "<<", ">>",
                ]);
                let op = OPERATORS.iter().find(|own| **own == op).unwrap();
                let right = match *op {
                    // By how much is small.
                    "<<" | ">>" => Box::new(Expr::Number(self.random.below(3) as i64)),
                    _ => inner(self),
                };
                Expr::Binary(op, inner(self), right)
            }
            5 => Expr::Not(inner(self)),
            6 => Expr::Minus(inner(self)),
            7 => Expr::Cond(inner(self), inner(self), inner(self)),
            8 | 9 => match self.call(None, depth, scope, effects) {
                Some(call) => call,
                None => leaf(self),
            },
            10 if effects => self.assignment(depth - 1, scope, 3),
            11 if effects => match self.place(SMALL, scope, true, true) {
                Some(place) => {
                    let by = if self.random.below(2) == 0 { 1 } else { -1 };
                    Expr::Step(place, by, self.random.below(2) == 0)
                }
                None => leaf(self),
            },
            12 => {
                let name = self.fresh("k");
                let mut scope = scope.clone();
                scope.push((name.clone(), Ty::Int(0, 1), false));
                let word = ["forall", "exists", "sum"][self.random.below(3) as usize];
                Expr::Over(word, name, Box::new(self.int(depth - 1, &scope, false)))
            }
            13 => {
                let ty = if self.random.below(2) == 0 { Ty::Pair } else { Ty::Rec };
                let places = (self.place(ty, scope, false, effects), self.place(ty, scope, false, effects));
                let (Some(left), Some(right)) = places else { return leaf(self) };
                let op = if self.random.below(2) == 0 { "==" } else { "!=" };
                Expr::Binary(op, Box::new(Expr::Read(left)), Box::new(Expr::Read(right)))
            }
            _ => leaf(self),
        }
    }

    /// An assignment to something of one of the first so many types.
    fn assignment(&mut self, depth: u64, scope: &Scope, types: u64) -> Expr {
        let wanted = [SMALL, SMALL, SMALL, Ty::Pair, Ty::Rec][self.random.below(types) as usize];
        let Some(place) = self.place(wanted, scope, true, true) else { return Expr::Number(0) };
        let value = Box::new(self.of_type(place.ty, depth, scope, true));
        match place.ty {
            Ty::Int(..) if self.random.below(4) == 0 => {
                let op = ["+=", "-=", "*=", "|=", "&=", "^="][self.random.below(6) as usize];
                Expr::Assign(op, place, value)
            }
            _ => Expr::Assign("=", place, value),
        }
    }

    fn start(&mut self, ty: Ty, scope: &Scope) -> Start {
        match ty {
            Ty::Pair if self.random.below(2) == 0 => {
                Start::List((0..2).map(|_| ("", Start::Value(self.small(1, scope, true)))).collect())
            }
            Ty::Rec if self.random.below(2) == 0 => {
                let mut parts =
                    vec![("a", Start::Value(self.small(1, scope, true))), ("b", self.start(Ty::Pair, scope))];
                match self.random.below(3) {
                    0 => parts.reverse(),
                    1 => parts.iter_mut().for_each(|part| part.0 = ""),
                    _ => {}
                }
                Start::List(parts)
            }
            _ => Start::Value(self.of_type(ty, 1, scope, true)),
        }
    }

    fn block(&mut self, depth: u64, scope: &mut Scope, result: Option<Ty>) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            stmts.push(match self.random.below(10) {
                0..=3 => Stmt::Expr(self.assignment(2, scope, 5)),
                4 | 5 => {
                    let ty = [SMALL, PLAIN, Ty::Pair, Ty::Rec][self.random.below(4) as usize];
                    // Names may hide others.
                    let name = match self.random.below(4) {
                        0 => GLOBALS[self.random.below(5) as usize].0.to_string(),
                        _ => self.fresh("v"),
                    };
                    let taken =
                        stmts.iter().any(|stmt| matches!(stmt, Stmt::Declare(own, ..) if *own == name));
                    let name = if taken { self.fresh("v") } else { name };
                    let start = (self.random.below(3) > 0).then(|| self.start(ty, scope));
                    scope.retain(|(own, ..)| *own != name);
                    scope.push((name.clone(), ty, true));
                    Stmt::Declare(name, ty, start)
                }
                6 if depth > 0 => {
                    let condition = self.int(2, scope, true);
                    let then = self.block(depth - 1, &mut scope.clone(), result);
                    let other = match self.random.below(2) {
                        0 => Vec::new(),
                        _ => self.block(depth - 1, &mut scope.clone(), result),
                    };
                    Stmt::If(condition, then, other)
                }
                7 if depth > 0 => {
                    let name = self.fresh("i");
                    let mut inner = scope.clone();
                    inner.push((name.clone(), Ty::Int(0, 1), false));
                    match self.random.below(3) {
                        0 => Stmt::For(
                            name,
                            1 + self.random.below(2) as i64,
                            self.block(depth - 1, &mut inner, result),
                        ),
                        1 => Stmt::Each(name, self.block(depth - 1, &mut inner, result)),
                        _ => {
                            let front = self.random.below(2) == 0;
                            Stmt::While(name, front, self.block(depth - 1, &mut inner, result))
                        }
                    }
                }
                8 if depth < 2 => match result {
                    Some(ty) => Stmt::Return(self.of_type(ty, 1, scope, true)),
                    None => Stmt::Expr(self.int(2, scope, true)),
                },
                _ => Stmt::Expr(self.int(2, scope, true)),
            });
        }
        stmts
    }

    fn function(&mut self, pure: bool) {
        let types = [SMALL, SMALL, PLAIN, Ty::Pair, Ty::Rec];
        let result = types[self.random.below(5) as usize];
        let mut params = Vec::new();
        for _ in 0..self.random.below(4) {
            let (name, ty) = (self.fresh("n"), types[self.random.below(5) as usize]);
            params.push((name, ty, !pure && self.random.below(3) == 0));
        }
        let mut scope: Scope = GLOBALS.iter().map(|(name, ty)| (name.to_string(), *ty, !pure)).collect();
        scope.extend(params.iter().map(|(name, ty, _)| (name.clone(), *ty, true)));
        let effects = !pure;
        let mut body = match pure {
            // One that only computes may still change what it was given by value.
            true => {
                let own: Scope = scope.iter().filter(|(_, _, free)| *free).cloned().collect();
                match own.is_empty() {
                    true => Vec::new(),
                    false => match self.place(SMALL, &own, true, false) {
                        Some(place) => {
                            let value = self.of_type(place.ty, 1, &scope, false);
                            vec![Stmt::Expr(Expr::Assign("=", place, Box::new(value)))]
                        }
                        None => Vec::new(),
                    },
                }
            }
            false => self.block(2, &mut scope, Some(result)),
        };
        body.push(Stmt::Return(self.of_type(result, 1, &scope, effects)));
        let name = self.fresh("f");
        self.functions.push(Function { name, result, params, pure, body });
    }
}

const OPERATORS: [&str; 21] = [
    "+", "-", "*", "/", "%", "&", "|", "^", "<?", ">?", "<", "<=", "==", "!=", "&&", "||", "imply", "and",
    "or", "<<", ">>",
];

/// As text.
struct Writer<'f>(&'f [Function]);

impl Writer<'_> {
    fn place(&self, place: &Place) -> String {
        let part = |part: &Part| match part {
            Part::Index(index) => format!("[{}]", self.expr(index)),
            Part::A => ".a".to_string(),
            Part::B => ".b".to_string(),
        };
        place.name.clone() + &place.path.iter().map(part).collect::<String>()
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Number(number) => number.to_string(),
            Expr::Read(place) => self.place(place),
            Expr::Binary(op, left, right) => format!("({} {op} {})", self.expr(left), self.expr(right)),
            Expr::Not(of) => format!("(!{})", self.expr(of)),
            Expr::Minus(of) => format!("(- {})", self.expr(of)),
            Expr::Cond(a, b, c) => format!("({} ? {} : {})", self.expr(a), self.expr(b), self.expr(c)),
            Expr::Call(at, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(|argument| self.expr(argument)).collect();
                format!("{}({})", self.0[*at].name, arguments.join(", "))
            }
            Expr::Assign(op, place, value) => format!("({} {op} {})", self.place(place), self.expr(value)),
            Expr::Step(place, by, old) => {
                let op = if *by > 0 { "++" } else { "--" };
                if *old {
                    format!("({}{op})", self.place(place))
                } else {
                    format!("({op}{})", self.place(place))
                }
            }
            Expr::Over(word, name, of) => format!("({word} ({name} : int[0,1]) {})", self.expr(of)),
        }
    }

    fn start(&self, start: &Start) -> String {
        match start {
            Start::Value(value) => self.expr(value),
            Start::List(parts) => {
                let part = |(name, part): &(&str, Start)| match name.is_empty() {
                    true => self.start(part),
                    false => format!("{name}: {}", self.start(part)),
                };
                format!("{{ {} }}", parts.iter().map(part).collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn block(&self, stmts: &[Stmt]) -> String {
        let stmt = |stmt: &Stmt| match stmt {
            Stmt::Declare(name, ty, None) => format!("{} {name};", ty.name()),
            Stmt::Declare(name, ty, Some(start)) => format!("{} {name} = {};", ty.name(), self.start(start)),
            Stmt::Expr(expr) => format!("{};", self.expr(expr)),
            Stmt::If(condition, then, other) if other.is_empty() => {
                format!("if ({}) {}", self.expr(condition), self.block(then))
            }
            Stmt::If(condition, then, other) => {
                format!("if ({}) {} else {}", self.expr(condition), self.block(then), self.block(other))
            }
            Stmt::For(name, to, body) => format!(
                "{{ int {name}, {name}_; for ({name} = 0, {name}_ = 1; {name} < {to}; {name}++, {name}_ = {name}) {} }}",
                self.block(body)
            ),
            Stmt::Each(name, body) => format!("for ({name} : int[0,1]) {}", self.block(body)),
            Stmt::While(name, true, body) => {
                format!("{{ int {name} = 2; while ({name}-- > 0) {} }}", self.block(body))
            }
            Stmt::While(name, false, body) => {
                format!("{{ int {name} = 1; do {} while ({name}-- > 0); }}", self.block(body))
            }
            Stmt::Return(value) => format!("return {};", self.expr(value)),
        };
        format!("{{ {} }}", stmts.iter().map(stmt).collect::<Vec<_>>().join(" "))
    }
}

/// Runs a program. A name stands for a cell and what leads on from it.
struct Runner<'f> {
    functions: &'f [Function],
    cells: Vec<Value>,
    /// Names, innermost last; those of a function begin after those of all.
    names: Vec<(String, usize, Vec<usize>, Ty)>,
    /// How much may be done.
    left: u32,
}

/// What faults, or a program that takes too long.
#[derive(Debug, PartialEq)]
enum Stop {
    Fault,
    TooLong,
}

type Run<T> = Result<T, Stop>;

impl Runner<'_> {
    fn declare(&mut self, name: &str, ty: Ty, value: Value) {
        self.cells.push(value);
        self.names.push((name.to_string(), self.cells.len() - 1, Vec::new(), ty));
    }

    /// The cell, what leads on, and the type.
    fn find(&mut self, place: &Place) -> Run<(usize, Vec<usize>, Ty)> {
        let found = self.names.iter().rev().find(|(name, ..)| *name == place.name).unwrap();
        let (cell, mut path, mut ty) = (found.1, found.2.clone(), found.3);
        for part in &place.path {
            match part {
                Part::A => (path.push(0), ty = SMALL).0,
                Part::B => (path.push(1), ty = Ty::Pair).0,
                Part::Index(index) => {
                    let index = self.int(index)?;
                    path.push(usize::try_from(index).ok().filter(|index| *index < 2).ok_or(Stop::Fault)?);
                    ty = SMALL;
                }
            }
        }
        Ok((cell, path, ty))
    }

    fn at(&mut self, cell: usize, path: &[usize]) -> &mut Value {
        path.iter().fold(&mut self.cells[cell], |value, at| match value {
            Value::Parts(parts) => &mut parts[*at],
            Value::Int(_) => unreachable!(),
        })
    }

    fn write(&mut self, (cell, path, ty): (usize, Vec<usize>, Ty), value: Value) -> Run<Value> {
        let value = fits(ty, value)?;
        *self.at(cell, &path) = value.clone();
        Ok(value)
    }

    fn int(&mut self, expr: &Expr) -> Run<i64> {
        self.eval(expr).map(|value| value.int())
    }

    fn eval(&mut self, expr: &Expr) -> Run<Value> {
        self.left = self.left.checked_sub(1).ok_or(Stop::TooLong)?;
        Ok(match expr {
            Expr::Number(number) => Value::Int(*number),
            Expr::Read(place) => {
                let (cell, path, _) = self.find(place)?;
                self.at(cell, &path).clone()
            }
            Expr::Binary(op @ ("&&" | "and"), left, right) => {
                let _ = op;
                Value::Int(i64::from(self.int(left)? != 0 && self.int(right)? != 0))
            }
            Expr::Binary("||" | "or", left, right) => {
                Value::Int(i64::from(self.int(left)? != 0 || self.int(right)? != 0))
            }
            Expr::Binary("imply", left, right) => {
                Value::Int(i64::from(self.int(left)? == 0 || self.int(right)? != 0))
            }
            Expr::Binary(op, left, right) => {
                let (left, right) = (self.eval(left)?, self.eval(right)?);
                Value::Int(apply(op, left, right)?)
            }
            Expr::Not(of) => Value::Int(i64::from(self.int(of)? == 0)),
            Expr::Minus(of) => Value::Int(-self.int(of)?),
            Expr::Cond(condition, then, other) => match self.int(condition)? {
                0 => self.eval(other)?,
                _ => self.eval(then)?,
            },
            Expr::Call(at, arguments) => self.call(*at, arguments)?,
            Expr::Assign(op, place, value) => {
                let found = self.find(place)?;
                let mut value = self.eval(value)?;
                if *op != "=" {
                    let old = self.at(found.0, &found.1).clone();
                    value = Value::Int(apply(&op[..op.len() - 1], old, value)?);
                }
                self.write(found, value)?
            }
            Expr::Step(place, by, old) => {
                let found = self.find(place)?;
                let before = self.at(found.0, &found.1).clone();
                let after = self.write(found, Value::Int(before.int() + by))?;
                if *old { before } else { after }
            }
            Expr::Over(word, name, of) => {
                let mut values = Vec::new();
                for value in 0..2 {
                    self.declare(name, SMALL, Value::Int(value));
                    let found = self.int(of);
                    self.names.pop();
                    values.push(found?);
                    // One that decides ends the question.
                    if *word == "forall" && values[0] == 0 || *word == "exists" && values[0] != 0 {
                        break;
                    }
                }
                Value::Int(match *word {
                    "forall" => i64::from(values.iter().all(|value| *value != 0)),
                    "exists" => i64::from(values.iter().any(|value| *value != 0)),
                    _ => values.iter().sum(),
                })
            }
        })
    }

    fn call(&mut self, at: usize, arguments: &[Expr]) -> Run<Value> {
        let function = &self.functions[at];
        let mut given = Vec::new();
        for ((name, ty, reference), argument) in function.params.iter().zip(arguments) {
            match (reference, argument) {
                (true, Expr::Read(place)) => {
                    let (cell, path, _) = self.find(place)?;
                    given.push((name.clone(), cell, path, *ty));
                }
                _ => {
                    let value = fits(*ty, self.eval(argument)?)?;
                    self.cells.push(value);
                    given.push((name.clone(), self.cells.len() - 1, Vec::new(), *ty));
                }
            }
        }
        let mut names = self.names[..GLOBALS.len()].to_vec();
        names.extend(given);
        let outer = std::mem::replace(&mut self.names, names);
        let result = self.block(&function.body)?.unwrap();
        self.names = outer;
        fits(function.result, result)
    }

    fn start(&mut self, ty: Ty, start: &Start) -> Run<Value> {
        match (start, ty) {
            (Start::Value(value), _) => {
                let value = self.eval(value)?;
                fits(ty, value)
            }
            (Start::List(parts), Ty::Rec) => {
                let mut values = vec![Value::Int(0), Ty::Pair.blank()];
                for (at, (name, part)) in parts.iter().enumerate() {
                    let at = match *name {
                        "a" => 0,
                        "b" => 1,
                        _ => at,
                    };
                    values[at] = self.start([SMALL, Ty::Pair][at], part)?;
                }
                Ok(Value::Parts(values))
            }
            (Start::List(parts), _) => parts
                .iter()
                .map(|(_, part)| self.start(SMALL, part))
                .collect::<Run<Vec<_>>>()
                .map(Value::Parts),
        }
    }

    fn block(&mut self, stmts: &[Stmt]) -> Run<Option<Value>> {
        let names = self.names.len();
        let result = self.stmts(stmts);
        self.names.truncate(names);
        result
    }

    fn stmts(&mut self, stmts: &[Stmt]) -> Run<Option<Value>> {
        for stmt in stmts {
            let done = match stmt {
                Stmt::Declare(name, ty, start) => {
                    let value = match start {
                        Some(start) => self.start(*ty, start)?,
                        None => ty.blank(),
                    };
                    self.declare(name, *ty, value);
                    None
                }
                Stmt::Expr(expr) => {
                    self.eval(expr)?;
                    None
                }
                Stmt::If(condition, then, other) => match self.int(condition)? {
                    0 => self.block(other)?,
                    _ => self.block(then)?,
                },
                Stmt::For(name, rounds, body) => self.rounds(name, (0..*rounds).collect(), body)?,
                Stmt::Each(name, body) => self.rounds(name, vec![0, 1], body)?,
                Stmt::While(name, true, body) => self.rounds(name, vec![1, 0], body)?,
                Stmt::While(name, false, body) => self.rounds(name, vec![1, 0], body)?,
                Stmt::Return(value) => Some(self.eval(value)?),
            };
            if done.is_some() {
                return Ok(done);
            }
        }
        Ok(None)
    }

    fn rounds(&mut self, name: &str, values: Vec<i64>, body: &[Stmt]) -> Run<Option<Value>> {
        for value in values {
            self.declare(name, PLAIN, Value::Int(value));
            let done = self.block(body);
            self.names.pop();
            if let Some(done) = done? {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }
}

fn fits(ty: Ty, value: Value) -> Run<Value> {
    match (ty, &value) {
        (Ty::Int(lo, hi), Value::Int(number)) if !(lo..=hi).contains(number) => Err(Stop::Fault),
        _ => Ok(value),
    }
}

fn apply(op: &str, left: Value, right: Value) -> Run<i64> {
    match op {
        "==" => return Ok(i64::from(left == right)),
        "!=" => return Ok(i64::from(left != right)),
        _ => {}
    }
    let (a, b) = (left.int(), right.int());
    Ok(match op {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" | "%" if b == 0 => return Err(Stop::Fault),
        "/" => a / b,
        "%" => a % b,
        "&" => a & b,
        "|" => a | b,
        "^" => a ^ b,
        "<<" => a << b,
        ">>" => a >> b,
        "<?" => a.min(b),
        ">?" => a.max(b),
        "<" => i64::from(a < b),
        "<=" => i64::from(a <= b),
        other => unreachable!("{other}"),
    })
}

/// A program: its text, and what it comes to.
fn program(random: &mut Random) -> (String, Run<Vec<Value>>, Option<bool>) {
    let mut maker = Maker { random, functions: Vec::new(), names: 0 };
    for number in 0..2 + maker.random.below(3) {
        maker.function(number == 0);
    }
    let scope: Scope = GLOBALS.iter().map(|(name, ty)| (name.to_string(), *ty, true)).collect();
    let updates: Vec<Expr> = (0..1 + maker.random.below(3)).map(|_| maker.assignment(3, &scope, 5)).collect();
    let guard = maker.int(2, &scope, false);
    let functions = maker.functions;
    let writer = Writer(&functions);
    let mut text = "clock x; typedef int[0,3] pair[2]; typedef struct { int[0,3] a; pair b; } rec;\n\
                    int[0,3] g = 1; int h = 2; int[0,1] b; pair p = { 1, 2 }, q; rec r = { 1, { 2, 3 } }, s;\n"
        .to_string();
    for function in &functions {
        let param = |(name, ty, reference): &(String, Ty, bool)| {
            format!("{} {}{name}", ty.name(), if *reference { "&" } else { "" })
        };
        let params: Vec<String> = function.params.iter().map(param).collect();
        let head = format!("{} {}({})", function.result.name(), function.name, params.join(", "));
        writeln!(text, "{head} {}", writer.block(&function.body)).unwrap();
    }
    let shown: Vec<String> = updates.iter().map(|update| writer.expr(update)).collect();
    write!(
        text,
        "process P() {{ state A, B, C; init A; trans A -> B {{ guard x >= 1; assign {}; }}, B -> C {{ guard {}; }}; }}\n\
         system P;\n",
        shown.join(",\n "),
        writer.expr(&guard)
    )
    .unwrap();
    let mut runner = Runner { functions: &functions, cells: Vec::new(), names: Vec::new(), left: 20_000 };
    for (name, ty) in GLOBALS {
        let int = |values: &[i64]| Value::Parts(values.iter().map(|value| Value::Int(*value)).collect());
        let value = match name {
            "g" => Value::Int(1),
            "h" => Value::Int(2),
            "p" => int(&[1, 2]),
            "r" => Value::Parts(vec![Value::Int(1), int(&[2, 3])]),
            _ => ty.blank(),
        };
        runner.declare(name, ty, value);
    }
    let ran = updates.iter().try_for_each(|update| runner.eval(update).map(|_| ()));
    let values = ran.map(|()| runner.cells[..GLOBALS.len()].to_vec());
    let guarded = match &values {
        Ok(_) => runner.int(&guard).ok().map(|value| value != 0),
        Err(_) => None,
    };
    (text, values, guarded)
}

fn equal(name: &str, value: &Value) -> String {
    match value {
        Value::Int(value) => format!("{name} == {value}"),
        Value::Parts(parts)
            if name.len() == 1 && parts.iter().any(|part| matches!(part, Value::Parts(_))) =>
        {
            format!(
                "{} and {}",
                equal(&format!("{name}.a"), &parts[0]),
                equal(&format!("{name}.b"), &parts[1])
            )
        }
        Value::Parts(parts) => {
            let part = |(at, part): (usize, &Value)| equal(&format!("{name}[{at}]"), part);
            parts.iter().enumerate().map(part).collect::<Vec<_>>().join(" and ")
        }
    }
}

#[test]
fn functions_arrays_and_records_are_what_they_say() {
    let count = number(&["SHOAL_RANDOM_MODELS", "SHOAL_RANDOM_SYSTEMS"], 150);
    let first = number(&["PROPTEST_RNG_SEED"], 0).wrapping_mul(1_000_003);
    let (mut ran, mut faulted, mut guards) = (0, 0, 0);
    for seed in (0..count).map(|seed| first.wrapping_add(seed)) {
        let (text, values, guarded) = program(&mut Random::new(seed));
        if values == Err(Stop::TooLong) {
            continue;
        }
        let mut queries = String::from("E<> P.B\n");
        let mut expected = vec![values.is_ok()];
        for ((name, _), value) in GLOBALS.iter().zip(values.iter().flatten()) {
            queries += &format!("E<> P.B and {}\n", equal(name, value));
            expected.push(true);
        }
        queries += "E<> P.C\n";
        expected.push(guarded == Some(true));
        expected.push(guarded.is_some());
        let mut sources = SourceMap::new();
        let id = sources.add("code.xta", text.as_str());
        let queries = sources.add("code.q", queries);
        let (model, diagnostics) = uppaal::load_xta(&sources, id, Some(queries), &Options::default());
        let model = model.unwrap_or_else(|| panic!("seed {seed}: {diagnostics:?}\n{text}"));
        assert!(diagnostics.is_empty(), "seed {seed}: {diagnostics:?}\n{text}");
        let asked = |kind: &PropertyKind| !matches!(kind, PropertyKind::Assume(_));
        let asked = model.properties.enumerate().filter(|(_, property)| asked(&property.kind));
        let asked: Vec<PropertyId> = asked.map(|(id, _)| id).collect();
        on_threads(&model, &Job::new(asked.clone()), &text);
        let outcome = shoal_timed::check(&model, &Job::new(asked), &mut Quiet)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(outcome.results.len(), expected.len());
        for (result, expected) in outcome.results.iter().zip(&expected) {
            let name = &model.properties[result.property].name;
            let holds = match &result.verdict {
                Verdict::Holds => true,
                Verdict::Violated(violation) => {
                    shoal_interpret::confirm(&model, result.property, violation).unwrap_or_else(|error| {
                        panic!("seed {seed}: {name}: {error}\n{violation:?}\n{text}")
                    });
                    false
                }
                Verdict::Unknown(reason) => panic!("seed {seed}: {name}: {reason}\n{text}"),
            };
            assert_eq!(holds, *expected, "seed {seed}: {name}\n{text}\n{values:?} {guarded:?}");
        }
        ran += u64::from(values.is_ok());
        faulted += u64::from(values.is_err());
        guards += u64::from(guarded == Some(true));
    }
    assert!(
        ran > count / 4 && guards > count / 20 && (faulted > 0 || count < 100),
        "{ran} {faulted} {guards} of {count}"
    );
}
