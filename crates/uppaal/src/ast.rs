//! What an UPPAAL model says, whether it stands in `.xta` or `.xml`.

use shoal_syntax::{
    Span, Spanned,
    cursor::{Parsed, error},
};
use shoal_template::codes;

/// A name and where it stood.
pub(crate) type Name = Spanned<String>;

/// A whole model.
#[derive(Debug, Default)]
pub(crate) struct Nta {
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) templates: Vec<Template>,
    pub(crate) instances: Vec<Instance>,
    /// `system P1, P2 < P3;`: the processes, each with its priority.
    pub(crate) system: Vec<(Name, usize)>,
    pub(crate) queries: Vec<Query>,
}

/// A question about the model.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) span: Span,
    pub(crate) asked: Parsed<Asked>,
}

impl Query {
    /// Whether it is about runs, not only about states.
    pub(crate) fn is_temporal(&self) -> bool {
        match self.asked {
            Ok(Asked::Inevitably(_) | Asked::Potentially(_) | Asked::LeadsTo(..)) => true,
            Ok(Asked::Always(_) | Asked::Possibly(_) | Asked::Values { .. }) | Err(_) => false,
        }
    }
}

#[derive(Debug)]
pub(crate) enum Asked {
    /// `A[] p`
    Always(Expr),
    /// `E<> p`
    Possibly(Expr),
    /// `A<> p`
    Inevitably(Expr),
    /// `E[] p`
    Potentially(Expr),
    /// `p --> q`
    LeadsTo(Expr, Expr),
    /// `sup{p}: x, y`, `inf{p}: x`, `bounds{p}: x`
    Values { asks: Values, given: Option<(String, Expr)>, of: Vec<(String, Expr)> },
}

/// Which values of something are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    Least,
    Greatest,
    Both,
}

/// `Q(const int i) = P(i, 3);`
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) name: Name,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) template: Name,
    pub(crate) arguments: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) enum Declaration {
    Type(Name, Shape),
    Variable(Variable),
    Function(Function),
    /// `chan priority a, b[0] < default < c;`: the channels with their priorities; nothing is all the others, and steps without
    /// a channel.
    Priority(Vec<(Option<Expr>, usize)>, Span),
}

/// A type as it is written before a name and with the dimensions behind it.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) base: TypeExpr,
    pub(crate) dimensions: Vec<Dimension>,
}

#[derive(Clone, Debug)]
pub(crate) struct TypeExpr {
    pub(crate) constant: bool,
    pub(crate) urgent: bool,
    pub(crate) broadcast: bool,
    pub(crate) kind: TypeKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeKind {
    /// Integers, with a range or without.
    Int(Option<Box<(Expr, Expr)>>),
    Bool,
    Clock,
    Channel,
    Void,
    Scalar(Box<Expr>),
    Struct(Vec<(Name, Shape)>),
    Name(String),
}

/// What an array is indexed by: a number of elements, or a type. (A name may be either.)
#[derive(Clone, Debug)]
pub(crate) enum Dimension {
    Size(Expr),
    Type(TypeExpr),
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: Name,
    pub(crate) shape: Shape,
    pub(crate) start: Option<Start>,
}

/// An initial value.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    Value(Expr),
    /// In braces; the fields of a record may be named.
    List(Vec<(Option<Name>, Start)>, Span),
}

#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Name,
    pub(crate) shape: Shape,
    pub(crate) reference: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: Name,
    pub(crate) result: TypeExpr,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Vec<Stmt>,
}

#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Block(Vec<Stmt>),
    Declare(Declaration),
    Expr(Expr),
    If(Expr, Box<Stmt>, Option<Box<Stmt>>),
    While(Expr, Box<Stmt>),
    DoWhile(Box<Stmt>, Expr),
    For(Box<(Vec<Expr>, Expr, Vec<Expr>)>, Box<Stmt>),
    /// `for (i : int[0,3])`
    Each(Name, TypeExpr, Box<Stmt>),
    Return(Option<Expr>, Span),
}

#[derive(Debug, Default)]
pub(crate) struct Template {
    pub(crate) name: Option<Name>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) locations: Vec<Location>,
    pub(crate) start: Option<String>,
    pub(crate) edges: Vec<Edge>,
    /// Points at which an edge goes on in one of several ways.
    pub(crate) branchpoints: Vec<String>,
}

impl Template {
    /// Makes edges of those to branch points and those from there: one for each way. Weights are for simulations; what is
    /// asked of all runs, or of some, does not depend on them.
    pub(crate) fn join_branches(&mut self) -> Parsed<()> {
        let points = std::mem::take(&mut self.branchpoints);
        if points.is_empty() {
            return Ok(());
        }
        let is_point = |end: &String| points.contains(end);
        let (branches, edges): (Vec<Edge>, Vec<Edge>) =
            std::mem::take(&mut self.edges).into_iter().partition(|edge| is_point(&edge.from));
        let strange =
            |branch: &&Edge| branch.guard.is_some() || branch.sync.is_some() || is_point(&branch.to);
        if let Some(branch) = branches.iter().find(strange) {
            let what = "not supported: guards, synchronisation or branch points behind a branch point";
            return error(codes::UNSUPPORTED, branch.span, what);
        }
        for edge in edges {
            if !is_point(&edge.to) {
                self.edges.push(edge);
                continue;
            }
            for branch in branches.iter().filter(|branch| branch.from == edge.to) {
                let mut joined = Edge { to: branch.to.clone(), ..edge.clone() };
                joined.select.extend(branch.select.iter().cloned());
                joined.assigns.extend(branch.assigns.iter().cloned());
                self.edges.push(joined);
            }
        }
        Ok(())
    }
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

#[derive(Clone, Debug)]
pub(crate) struct Edge {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) select: Vec<(Name, TypeExpr)>,
    pub(crate) guard: Option<Expr>,
    pub(crate) sync: Option<Sync>,
    pub(crate) assigns: Vec<Expr>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Sync {
    pub(crate) channel: Expr,
    pub(crate) sends: bool,
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
    /// `P.x`, or a field of a record.
    Dot(Box<Expr>, Name),
    /// A function, or an instance of a template.
    Call(Name, Vec<Expr>),
    /// `P.f(1)`: a function of a process.
    CallOf(Box<Expr>, Name, Vec<Expr>),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    Assign(Box<Assign>),
    Quantified(Quantifier, Name, Box<TypeExpr>, Box<Expr>),
    /// In queries: the state is a deadlock.
    Deadlock,
    /// `x'`: how fast a clock runs.
    Rate(Box<Expr>),
}

/// `x = 1`, `x += 1`, `x++`
#[derive(Clone, Debug)]
pub(crate) struct Assign {
    /// The operator, for all but `=`.
    pub(crate) op: Option<&'static str>,
    pub(crate) to: Expr,
    pub(crate) value: Expr,
    /// Whether its value is the one from before, as of `x++`.
    pub(crate) before: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantifier {
    Forall,
    Exists,
    Sum,
}
