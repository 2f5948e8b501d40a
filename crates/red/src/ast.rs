//! What a Red text says, as it says it.

use shoal_syntax::{Span, Spanned};

pub use shoal_template::InfixOp;

/// A name and where it stood.
pub type Name = Spanned<String>;

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// `connectives strict;`: an operand that faults makes the whole condition fault.
    pub strict: bool,
    /// `const M = 3;`
    pub constants: Vec<(Name, Expr)>,
    /// `global ...;` and `local ...;`
    pub variables: Vec<Variable>,
    /// `process node : M { ... }`
    pub families: Vec<Family>,
    /// `initially ...;`
    pub initially: Option<Initially>,
    /// `safe "name": ...;`
    pub properties: Vec<Property>,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Whether every process has its own.
    pub local: bool,
    /// The least and the greatest value of a discrete variable; a pointer has none.
    pub range: Option<(Expr, Expr)>,
}

/// Processes that run the same part of the program. Those without modes are passive data.
#[derive(Clone, Debug)]
pub struct Family {
    /// Its name.
    pub name: Name,
    /// How many there are.
    pub count: Expr,
    /// Their modes; the first is where they begin.
    pub modes: Vec<Mode>,
}

/// A mode.
#[derive(Clone, Debug)]
pub struct Mode {
    /// Its name or number.
    pub label: Label,
    /// What may happen in it.
    pub moves: Vec<Move>,
}

/// The name or the number of a mode, as it is written.
pub type Label = Spanned<String>;

/// `when ... may ...; goto ...;`
#[derive(Clone, Debug)]
pub struct Move {
    /// When it may happen.
    pub when: Expr,
    /// What it does, one after the other.
    pub actions: Vec<Act>,
    /// The next mode.
    pub target: Label,
    /// Where it stands.
    pub span: Span,
}

/// What a transition does.
#[derive(Clone, Debug)]
pub enum Act {
    /// `y->x = ...;`
    Assign(Action),
    /// `swap(x, y);`: each gets what the other had.
    Swap(Chain, Chain),
}

/// `y->x = ...;`
#[derive(Clone, Debug)]
pub struct Action {
    /// What is assigned to.
    pub target: Chain,
    /// The new value.
    pub value: Expr,
    /// Where it stands.
    pub span: Span,
}

/// What holds at the beginning, apart from every process being in its first mode.
#[derive(Clone, Debug)]
pub struct Initially {
    /// Whether variables are 0 or NULL; otherwise they are anything.
    pub zero: bool,
    /// `but free x, y = 3`
    pub but: Vec<But>,
    /// `where ...`
    pub given: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// An exception to how variables begin.
#[derive(Clone, Debug)]
pub enum But {
    /// This one is anything.
    Free(Name),
    /// This one has a value; of a local one, every process's.
    Set(Action),
}

/// `safe "name": ...;`
#[derive(Clone, Debug)]
pub struct Property {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// What holds in every state.
    pub condition: Expr,
    /// Where it stands.
    pub span: Span,
}

/// An expression or a condition.
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
    /// `TRUE` or `FALSE`: a condition, or 1 or 0.
    Truth(bool),
    /// `NULL`
    Null,
    /// `P`, the process itself.
    Own,
    /// A variable, perhaps of another process.
    Chain(Chain),
    /// Minus.
    Minus(Box<Expr>),
    /// Not.
    Not(Box<Expr>),
    /// `a <= b < c`: each with the next.
    Comparison(Box<Expr>, Vec<(InfixOp, Expr)>),
    /// An operator between two that is no comparison.
    Binary(InfixOp, Box<Expr>, Box<Expr>),
    /// `forall p, q : node (...)`, or `exists`; of all processes where no family is named.
    Quantified(bool, Vec<Name>, Option<Name>, Box<Expr>),
}

/// `x`, `x[p]`, `y->x`, `y[p]->z->x`
#[derive(Clone, Debug)]
pub struct Chain {
    /// What it begins with.
    pub head: Name,
    /// Whose, if it is said.
    pub index: Option<Box<Expr>>,
    /// The variables after each arrow.
    pub hops: Vec<Name>,
    /// Where it stands.
    pub span: Span,
}
