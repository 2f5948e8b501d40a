//! What a VPL text says, as it says it.

use shoal_syntax::{Span, Spanned};

pub use shoal_template::InfixOp;

/// A name and where it stood.
pub type Name = Spanned<String>;

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// `automata A : i = 1..11;`
    pub families: Vec<Family>,
    /// `clock ...;` and `register ...;`
    pub variables: Vec<Variable>,
    /// `automaton A[i] { ... }`
    pub automata: Vec<Automaton>,
    /// `verify ...;`
    pub goals: Vec<Goal>,
    /// `manipulation ...`
    pub manipulation: Vec<Stmt>,
}

/// A family of like automata.
#[derive(Clone, Debug)]
pub struct Family {
    /// Its name.
    pub name: Name,
    /// The index in its description.
    pub index: Name,
    /// The first index.
    pub first: Expr,
    /// The last.
    pub last: Expr,
}

/// A clock or a register, or an array of them.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Whether it is a clock.
    pub clock: bool,
    /// The first and the last index of an array.
    pub range: Option<(Expr, Expr)>,
    /// The least and the greatest value, where they are given.
    pub values: Option<(Expr, Expr)>,
}

/// The description of a family's automata.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// The family.
    pub name: Name,
    /// The index.
    pub index: Name,
    /// `initially ...;`
    pub initially: Option<Expr>,
    /// Its modes.
    pub modes: Vec<Mode>,
}

/// A mode.
#[derive(Clone, Debug)]
pub struct Mode {
    /// Its name.
    pub name: Name,
    /// What holds while an automaton is in it.
    pub invariant: Option<Expr>,
    /// What may happen.
    pub moves: Vec<Move>,
}

/// `when ... may goto ...; ...`
#[derive(Clone, Debug)]
pub struct Move {
    /// When it may happen.
    pub when: Expr,
    /// The next mode.
    pub target: Name,
    /// What it does.
    pub assigns: Vec<(Expr, Expr)>,
    /// Where it stands.
    pub span: Span,
}

/// `verify "name": ...;`
#[derive(Clone, Debug)]
pub struct Goal {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// What is to be verified.
    pub formula: Expr,
    /// Where it stands.
    pub span: Span,
}

/// An expression: of a guard, a formula or the manipulation part.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number.
    Number(i64),
    /// `True` or `False`.
    Bool(bool),
    /// A name.
    Name(String),
    /// `a[i]`
    Index(Name, Box<Expr>),
    /// `f(a, b)`
    Call(Name, Vec<Expr>),
    /// Not.
    Not(Box<Expr>),
    /// Minus.
    Minus(Box<Expr>),
    /// An operator between two.
    Binary(InfixOp, Box<Expr>, Box<Expr>),
    /// `forall j : A (...)`, or `exists`.
    Quantified(bool, Vec<Name>, Name, Box<Expr>),
    /// `all_paths (...)`, or `exists_path`.
    Paths(bool, Box<Expr>),
    /// `henceforth`, or `eventually`, with bounds.
    Temporal(bool, Bounds, Box<Expr>),
    /// `... until ...`
    Until(Bounds, Box<Expr>, Box<Expr>),
}

/// Bounds on time: not before, not after, and whether each is exclusive.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Not before.
    pub from: Option<(u64, bool)>,
    /// Not after.
    pub to: Option<(u64, bool)>,
}

/// A statement of the manipulation part.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `graph g[1..5], h;`
    Graphs(Vec<(Name, Option<(Expr, Expr)>)>),
    /// `target := value;`
    Assign(Expr, Expr),
    /// A call.
    Call(Expr),
    /// `if (...) {...} else {...}`
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// `for (i := 1; i < 5; i++) {...}`
    For {
        /// The variable.
        variable: Name,
        /// Its first value.
        from: Expr,
        /// As long as this holds.
        condition: Expr,
        /// By how much it grows.
        by: i64,
        /// What is done.
        body: Vec<Stmt>,
    },
}
