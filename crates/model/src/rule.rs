//! Rules, start states and functions: code with locals.

use shoal_syntax::Span;

use crate::{Domain, Expr, IndexVec, LocalId, Place, Stmt, TypeId};

/// A rule, or the code of a start state. With a value for each parameter it is an instance; an instance
/// whose guard holds may fire as one atomic step.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name; need not be unique.
    pub name: String,
    /// Its parameters. The domain of each may use the parameters before it.
    pub params: Vec<Parameter>,
    /// Locals bound before the guard is evaluated, again before the body runs.
    pub bindings: Vec<Binding>,
    /// May fire where it holds; `None` is always. A start has none.
    pub guard: Option<Expr>,
    /// What firing does, and its locals. All its variables are undefined when it begins.
    pub code: Code,
    /// Only enabled instances of the least number may fire in a state.
    pub priority: i64,
    /// While an instance is enabled, time does not pass.
    pub urgent: bool,
    /// Where it stood in the source.
    pub span: Span,
}

/// A parameter of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Holds its value.
    pub local: LocalId,
    /// What it ranges over.
    pub domain: Domain,
}

/// A function (with a result) or a procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// The locals that receive the arguments, in order. A local of kind [`LocalKind::Reference`] refers to the
    /// argument's place; one of kind [`LocalKind::Variable`] gets a copy, checked against its type.
    pub params: Vec<LocalId>,
    /// The type of its result. Falling off the end of a function that has one is a fault.
    pub result: Option<TypeId>,
    /// Its body. All its variables that are not parameters are undefined when it begins.
    pub code: Code,
    /// Where it stood in the source.
    pub span: Span,
}

/// Locals and statements. `Return` leaves it early; what was done is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Code {
    /// All locals of the code, its bindings, its parameters and its bound variables.
    pub locals: IndexVec<LocalId, Local>,
    /// The statements.
    pub body: Vec<Stmt>,
}

/// A local of a piece of code.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Its name in the source (or a made-up one that no source can have, beginning with `$`).
    pub name: String,
    /// Its type. For the position of a multiset slot, [`crate::Type::INTEGER`].
    pub ty: TypeId,
    /// What it is.
    pub kind: LocalKind,
    /// Where it was declared.
    pub span: Span,
}

/// What a local is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LocalKind {
    /// Bound by a rule parameter, a quantifier, a loop or a choice: never assigned.
    Bound,
    /// Has a value of its own.
    Variable,
    /// Stands for another place: a `var` parameter, an alias.
    Reference {
        /// Whether it may be written through.
        writable: bool,
    },
}

/// Makes a local of kind `Reference` stand for a place (found once, now), or gives a local of kind `Variable`
/// a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The local.
    pub local: LocalId,
    /// What it is bound to. A value for a reference lives in a temporary that is not writable.
    pub to: Argument,
}

/// What is passed to a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A place, for a reference.
    Place(Place),
    /// A value. For a reference that is not writable, a temporary holds it.
    Value(Expr),
}

/// What a fault in a guard means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GuardFaults {
    /// It is a violation, as in Murphi.
    #[default]
    Violate,
    /// The rule may not fire, as in templates with pointers.
    Disable,
}
