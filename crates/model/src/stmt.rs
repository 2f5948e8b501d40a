//! Statements: the small sequential code of rules and functions.

use shoal_syntax::Span;

use crate::{Argument, Binding, Domain, Expr, FunctionId, LocalId, Place, PropertyId, SortId};

/// A statement and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stood in the source.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// Evaluates the value, finds the place, checks that the value belongs to the place's type, writes it.
    Assign(Place, Expr),
    /// Gives every scalar part its least value; empties multisets and sequences. Of a reference into a sort
    /// it breaks the sort (unless the least value is null).
    Clear(Place),
    /// Makes every scalar part undefined; empties multisets and sequences.
    Undefine(Place),
    /// The first arm whose condition holds, or the other.
    If(Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
    /// As long as the condition holds; faults after `limit` rounds.
    While {
        /// Tested before each round.
        condition: Expr,
        /// One round.
        body: Vec<Stmt>,
        /// Rounds allowed.
        limit: u64,
    },
    /// For each value of the domain, in order. The domain is fixed before the first round.
    For {
        /// The bound variable.
        local: LocalId,
        /// What it ranges over.
        domain: Domain,
        /// One round.
        body: Vec<Stmt>,
    },
    /// Binds locals (see [`Binding`]) for the statements that follow in this block.
    Bind(Vec<Binding>),
    /// Takes any value of the domain: the step has one outcome for each.
    Choose {
        /// Takes the value.
        local: LocalId,
        /// What it ranges over.
        domain: Domain,
    },
    /// A check inside a body.
    Check {
        /// What happens if the condition does not hold, or holds.
        kind: CheckKind,
        /// The condition; `None` is false: the statement `error`.
        condition: Option<Expr>,
        /// The property it belongs to.
        property: PropertyId,
    },
    /// Leaves the rule or function, with its result if it has one.
    Return(Option<Expr>),
    /// Calls a procedure, or a function whose result is dropped.
    Call(FunctionId, Vec<Argument>),
    /// Shows something to the user who steps through the model; evaluates its items, so it may fault.
    Output(Vec<OutputItem>),
    /// Puts a copy into a free slot; faults if the bag is full.
    MultisetAdd(Place, Expr),
    /// Empties the slot; faults if it is free.
    MultisetRemove(Place, Expr),
    /// Empties the slots for which the condition holds; all are tested before any is emptied.
    MultisetRemoveIf {
        /// The bag.
        place: Place,
        /// Ranges over the occupied slots.
        local: LocalId,
        /// Which to empty.
        condition: Expr,
    },
    /// Inserts a copy before position `at` (at the end if `None`); faults if the sequence is full.
    Insert {
        /// The sequence.
        place: Place,
        /// The position from 0.
        at: Option<Expr>,
        /// What.
        value: Expr,
    },
    /// Removes the item at a position from 0; faults if there is none.
    Remove(Place, Expr),
    /// Creates an element of a growing sort and writes its reference. Entries for it in arrays over the sort
    /// start undefined. Faults if the sort's limit is reached.
    Create(Place, SortId),
    /// Deletes the element a reference names; faults if it does not exist. References to it dangle.
    Delete(Expr),
}

impl StmtKind {
    /// The place that the statement itself writes. Calls write what their bodies write, and through places they are given.
    pub fn written(&self) -> Option<&Place> {
        match self {
            StmtKind::Assign(place, _)
            | StmtKind::Clear(place)
            | StmtKind::Undefine(place)
            | StmtKind::MultisetAdd(place, _)
            | StmtKind::MultisetRemove(place, _)
            | StmtKind::MultisetRemoveIf { place, .. }
            | StmtKind::Insert { place, .. }
            | StmtKind::Remove(place, _)
            | StmtKind::Create(place, _) => Some(place),
            StmtKind::If(..)
            | StmtKind::While { .. }
            | StmtKind::For { .. }
            | StmtKind::Bind(_)
            | StmtKind::Choose { .. }
            | StmtKind::Check { .. }
            | StmtKind::Return(_)
            | StmtKind::Call(..)
            | StmtKind::Output(_)
            | StmtKind::Delete(_) => None,
        }
    }
}

/// What a check in a body does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckKind {
    /// Faults if the condition does not hold.
    Assert,
    /// The step does not exist if the condition does not hold: it is neither taken nor counted as progress.
    Assume,
    /// The property is covered if the condition holds.
    Cover,
}

/// A part of an output.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputItem {
    /// Text as it is.
    Text(String),
    /// A value.
    Value(Expr),
}
