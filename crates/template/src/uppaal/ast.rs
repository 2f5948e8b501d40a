//! What an UPPAAL model says, whether it stands in `.xta` or `.xml`.

use shoal_syntax::{Span, Spanned};

/// A name and where it stood.
pub(crate) type Name = Spanned<String>;

/// A whole model.
#[derive(Debug, Default)]
pub(crate) struct Nta {
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) templates: Vec<Template>,
    /// `P1 = P(1);`
    pub(crate) instances: Vec<(Name, Name, Vec<Expr>)>,
    /// `system P1, P2;`
    pub(crate) system: Vec<Name>,
    pub(crate) queries: Vec<(String, Span)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Const,
    /// Integers, with a range or without.
    Int(Option<(Expr, Expr)>),
    Bool,
    Clock,
    Channel {
        urgent: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Declaration {
    pub(crate) name: Name,
    pub(crate) kind: Kind,
    pub(crate) size: Option<Expr>,
    pub(crate) start: Option<Expr>,
}

#[derive(Debug, Default)]
pub(crate) struct Template {
    pub(crate) name: Option<Name>,
    pub(crate) parameters: Vec<Name>,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) locations: Vec<Location>,
    pub(crate) start: Option<String>,
    pub(crate) edges: Vec<Edge>,
}

#[derive(Debug)]
pub(crate) struct Location {
    /// What edges call it.
    pub(crate) id: String,
    pub(crate) name: Name,
    pub(crate) invariant: Option<Expr>,
    /// Committed or urgent: time does not pass.
    pub(crate) urgent: bool,
    pub(crate) committed: bool,
}

#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) select: Vec<(Name, Expr, Expr)>,
    pub(crate) guard: Option<Expr>,
    /// The channel, and whether it sends.
    pub(crate) sync: Option<(Expr, bool)>,
    pub(crate) assigns: Vec<Expr>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Number(i64),
    Bool(bool),
    Name(String),
    Index(Box<Expr>, Box<Expr>),
    /// `P.x`
    Dot(String, String),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The operator is empty for plain assignment.
    Assign(&'static str, Box<Expr>, Box<Expr>),
}
