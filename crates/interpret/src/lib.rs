//! The reference interpreter: what a [`Model`] means, slowly and obviously; trace replay; used by no engine.
//!
//! Every engine is tested against this crate, and a violation is shown only after its trace has replayed here.
//! So nothing in it is clever: a step copies the state, runs the code on the copy and puts the result into
//! normal form. Evaluation is deterministic; where a body chooses, it is run again for each combination of
//! choices (see [`Branch`]).
//!
//! What the documentation of the Model leaves open, this crate decides:
//!
//! - **Order.** Every statement that writes evaluates the value first, then finds the place from left to right,
//!   then evaluates any position, then checks. Arguments are passed from left to right.
//! - **Spans.** A fault carries the span of the expression that faulted: the read, the operation or the call;
//!   for an index, a slot or a position, that expression; for a value that does not fit, the value. Where a
//!   statement itself fails (an assertion, a loop limit, a full bag, a sort's limit) it is the statement's.
//! - **Slots.** A quantifier over the slots of a multiset looks at all of them, as over elements of a sort:
//!   their order depends on how elements are numbered. Two rule parameters over one multiset can take two equal
//!   elements: only slots that no earlier parameter has taken are merged.
//! - **Growing sorts.** A new element takes the lowest free number. When a step ends, elements
//!   that nothing leads to are gone, where the sort says so, and free numbers at the end are forgotten: a state in which an element was created and deleted again is the state before.
//! - **Undefined results.** A function may not return an undefined scalar.
//! - **Checks outside steps.** In a guard a failed assumption makes it false; in a property it does nothing.
//!   Only steps cover.
//! - **A rule whose domains, bindings or guard fault** is not enabled: it violates `NoFaults` (or only disables the rule, if the
//!   model says so).
//! - **A step that faults** is none: where there is no other, the state is a deadlock. A check that fails is no fault in this
//!   sense ([`shoal_model::FaultKind::goes_on`]).

mod blame;
mod branching;
mod claims;
mod collect;
mod eval;
mod exec;
pub mod explore;
mod lasso;
mod machine;
mod reads;
mod regions;
mod replay;
mod step;
mod values;

use std::{fmt, sync::Mutex};

use shoal_model::{Model, Ratio, SortId, SortSize};
use shoal_syntax::Span;

pub use blame::{Blame, blame};
pub use branching::{Branching, decide_branching};
pub use claims::{Claim, claims};
pub use explore::{Exploration, StateFold, explore, explore_folded};
pub use lasso::Lasso;
pub use reads::StateCell;
pub use regions::{Regions, Undecided, regions};
pub use replay::{BUDGET, ReplayError, StepError, confirm, confirm_within, replay};
pub use shoal_model::under;
pub use step::{Branch, Enabled, Firing, Instance, NextSteps};

/// Runs a model step by step.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter<'m> {
    model: &'m Model,
    /// Is told after how much time each comparison of a clock that is evaluated comes out otherwise, if ever.
    turning: Option<&'m Mutex<Vec<Ratio>>>,
}

impl<'m> Interpreter<'m> {
    /// An interpreter of a well-formed model.
    pub fn new(model: &'m Model) -> Result<Self, NotRunnable> {
        match model.sorts.enumerate().find(|(_, sort)| sort.size == SortSize::Any) {
            None => Ok(Interpreter { model, turning: None }),
            Some((id, sort)) => Err(NotRunnable { sort: id, name: sort.name.clone(), span: sort.span }),
        }
    }

    /// The model it runs.
    pub fn model(&self) -> &'m Model {
        self.model
    }
}

/// A model cannot be run because one of its sorts has any number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRunnable {
    /// The sort.
    pub sort: SortId,
    /// Its name.
    pub name: String,
    /// Where it was declared.
    pub span: Span,
}

impl fmt::Display for NotRunnable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a model cannot be run while its sort `{}` has any number of elements", self.name)
    }
}

impl std::error::Error for NotRunnable {}
