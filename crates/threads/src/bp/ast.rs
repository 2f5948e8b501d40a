//! Boolean programs as they are written.

use shoal_syntax::{Span, Spanned};

pub(super) type Name = Spanned<String>;

#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) globals: Vec<Decl>,
    pub(super) functions: Vec<Function>,
}

/// A declared variable.
#[derive(Clone, Debug)]
pub(super) struct Decl {
    pub(super) name: Name,
    /// Its initial value, if it has one.
    pub(super) init: Option<bool>,
    /// Whether every thread has its own.
    pub(super) thread_local: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: Name,
    /// How many values it returns.
    pub(super) results: usize,
    pub(super) params: Vec<Name>,
    pub(super) body: Vec<Stmt>,
    pub(super) end: Span,
}

#[derive(Clone, Debug)]
pub(super) struct Stmt {
    pub(super) labels: Vec<Name>,
    pub(super) kind: StmtKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum StmtKind {
    Skip,
    Goto(Vec<Name>),
    /// Values, and what must hold of them.
    Assign(Vec<Name>, Vec<Expr>, Option<Expr>),
    Call(Vec<Name>, Name, Vec<Expr>),
    Return(Vec<Expr>),
    If(Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
    While(Expr, Vec<Stmt>),
    Decl(Vec<Decl>),
    Assume(Expr),
    Assert(Expr),
    Enforce(Expr),
    StartThread(Box<Stmt>),
    EndThread,
    AtomicBegin,
    AtomicEnd,
    Wait,
    Broadcast,
}

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) kind: ExprKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Const(bool),
    /// Either value.
    Star,
    Var(String),
    /// The value after the assignment.
    Next(String),
    Not(Box<Expr>),
    Binary(Op, Box<Expr>, Box<Expr>),
    /// True if the first is, else false if the second is, else either.
    Schoose(Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    And,
    Or,
    Xor,
    Implies,
    Equal,
    Differ,
}
