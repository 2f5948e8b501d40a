//! Temporal formulas, which neither of the two tools has.

use shoal_syntax::Span;

use super::{Expr, Quantifier, QuantifierKind, Text};

/// `ltl "name" formula` or `ctl "name" formula`.
#[derive(Clone, Debug, PartialEq)]
pub struct Temporal {
    /// Its name.
    pub name: Option<Text>,
    /// What must be true of every run, or at the start.
    pub formula: Formula,
    /// Whether it is of branching time: `ctl`.
    pub branching: bool,
    /// From the word to the end of the formula.
    pub span: Span,
}

/// A temporal formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    /// What it says.
    pub kind: FormulaKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of a formula. What has no temporal operator in it is always one [`FormulaKind::Atom`], so that its parts
/// guard each other from run-time errors as they do everywhere else.
#[derive(Clone, Debug, PartialEq)]
pub enum FormulaKind {
    /// A condition on one state.
    Atom(Expr),
    /// `!f`.
    Not(Box<Formula>),
    /// `f & g`.
    And(Vec<Formula>),
    /// `f | g`.
    Or(Vec<Formula>),
    /// `f -> g`.
    Implies(Box<Formula>, Box<Formula>),
    /// `[] f` or `always f`.
    Always(Box<Formula>),
    /// `<> f` or `eventually f`.
    Eventually(Box<Formula>),
    /// `next f`.
    Next(Box<Formula>),
    /// `f until g` or `f U g`.
    Until(Box<Formula>, Box<Formula>),
    /// `f release g` or `f R g`.
    Release(Box<Formula>, Box<Formula>),
    /// On all paths: what follows `A`.
    AllPaths(Box<Formula>),
    /// On some path: what follows `E`.
    SomePath(Box<Formula>),
    /// `forall i: T do f end`.
    Quantified {
        /// Which.
        kind: QuantifierKind,
        /// The variables; at least one.
        quantifiers: Vec<Quantifier>,
        /// What is said of each.
        body: Box<Formula>,
    },
}
