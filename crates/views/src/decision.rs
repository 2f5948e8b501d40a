//! Where a run stops, and what is assumed so that it can go on.

use std::rc::Rc;

use shoal_model::{Fault, FaultKind};
use shoal_syntax::Span;

use crate::{
    cell::{Cell, ViewScalar},
    layout::Lacking,
};

/// Which evaluation of a quantifier or loop: its place in memory, and the calls and rounds around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SiteKey {
    pub(crate) site: usize,
    pub(crate) around: Rc<[(usize, ViewScalar)]>,
}

impl SiteKey {
    pub(crate) fn substitute(&mut self, from: ViewScalar, to: ViewScalar) {
        if self.around.iter().any(|(_, value)| *value == from) {
            let put = |(at, value): &(usize, ViewScalar)| (*at, if *value == from { to } else { *value });
            self.around = self.around.iter().map(put).collect();
        }
    }
}

/// What has been assumed so far, so that a run can go on where it stopped before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Of the elements that were not known then, none decides the quantifier (or has an effect beyond its own entries).
    Nobody { key: SiteKey, known: Rc<[usize]> },
    /// This element does.
    Witness { key: SiteKey, sort: usize, element: usize },
    /// Some element does, whichever.
    Somebody { key: SiteKey },
    /// After the step no element that is not known satisfies the context predicate.
    NobodyAfter(usize),
    /// After the step this element does.
    WitnessAfter { predicate: usize, sort: usize, element: usize },
    /// After the step some element that is not known does, whichever.
    SomebodyAfter(usize),
}

/// Why a run does not come to its end. It is small, as every part of a run may give it.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    Fault(Box<Fault>),
    /// The step does not exist: a guard or an assumption is false.
    Dead,
    /// What was assumed contradicts what is known: there is no such state.
    Contradiction,
    /// A cell of this star is read.
    Resolve(Cell),
    /// Elements that are not known may matter.
    Quantify(Box<UnknownQuestion>),
    /// After the step, elements that are not known may satisfy a context predicate.
    After(usize),
    /// One of these has to be chosen.
    Choose(Box<[ViewScalar]>),
    /// The engine cannot go on.
    Lacking(Box<Lacking>),
}

/// Where elements that are not known may matter.
#[derive(Clone, Debug)]
pub(crate) struct UnknownQuestion {
    pub(crate) key: SiteKey,
    pub(crate) sorts: Vec<usize>,
    /// Whether it is enough to know that there is one.
    pub(crate) may_assume: bool,
    /// What the locals are there, if that tells who may matter: see `sieve`.
    pub(crate) locals: Option<SiteLocals>,
}

/// What locals are where a quantifier or loop was evaluated: those of the tests of its sieve, in their order; nothing for
/// those that have no value.
pub(crate) type SiteLocals = Rc<[Option<ViewScalar>]>;

impl Stop {
    pub(crate) fn lacking(what: String, span: Span) -> Stop {
        Stop::Lacking(Box::new(Lacking { what, span }))
    }

    pub(crate) fn asks(
        key: SiteKey,
        sorts: Vec<usize>,
        may_assume: bool,
        locals: Option<SiteLocals>,
    ) -> Stop {
        Stop::Quantify(Box::new(UnknownQuestion { key, sorts, may_assume, locals }))
    }
}

pub(crate) type RunResult<T = ()> = Result<T, Stop>;

/// The fault of a step.
pub(crate) fn fault<T>(kind: FaultKind, span: Span) -> RunResult<T> {
    Err(Stop::Fault(Box::new(Fault { kind, span })))
}

/// The fault of using a value where another kind of value is needed.
pub(crate) fn unfit<T>(value: ViewScalar, span: Span) -> RunResult<T> {
    match value {
        ViewScalar::Null => fault(FaultKind::NullReference, span),
        _ => fault(FaultKind::Undefined, span),
    }
}
