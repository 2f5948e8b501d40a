//! Where a run stops, and what is assumed so that it can go on.

use shoal_model::{Fault, FaultKind};
use shoal_syntax::Span;

use crate::cell::{Cell, Scalar};

/// Which evaluation of a quantifier or loop: its place in memory, and the calls and rounds around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SiteKey {
    pub(crate) site: usize,
    pub(crate) around: Vec<(usize, Scalar)>,
}

impl SiteKey {
    pub(crate) fn substitute(&mut self, from: Scalar, to: Scalar) {
        self.around.iter_mut().filter(|(_, value)| *value == from).for_each(|(_, value)| *value = to);
    }
}

/// What has been assumed so far, so that a run can go on where it stopped before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Of the elements that were not known then, none decides the quantifier (or has an effect beyond its own entries).
    Nobody { key: SiteKey, known: Vec<usize> },
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

/// Why a run does not come to its end.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    Fault(Fault),
    /// The step does not exist: a guard or an assumption is false.
    Dead,
    /// What was assumed contradicts what is known: there is no such state.
    Contradiction,
    /// A cell of this star is read.
    Resolve(Cell),
    /// Elements that are not known may matter.
    Quantify {
        key: SiteKey,
        sorts: Vec<usize>,
        may_assume: bool,
    },
    /// After the step, elements that are not known may satisfy a context predicate.
    After(usize),
    /// One of these has to be chosen.
    Choose(Vec<Scalar>),
    /// The engine cannot go on.
    Lacking(String, Span),
}

pub(crate) type Run<T = ()> = Result<T, Stop>;

/// The fault of a step.
pub(crate) fn fault<T>(kind: FaultKind, span: Span) -> Run<T> {
    Err(Stop::Fault(Fault { kind, span }))
}

/// The fault of using a value where another kind of value is needed.
pub(crate) fn unfit<T>(value: Scalar, span: Span) -> Run<T> {
    match value {
        Scalar::Null => fault(FaultKind::NullReference, span),
        _ => fault(FaultKind::Undefined, span),
    }
}
