//! Mistakes that the engine could have, for tests of those who would notice. In the product there are none.
#![cfg_attr(not(feature = "mutants"), allow(dead_code, unreachable_pub))]

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Writes through references to elements that are not known change no bit.
    WatchedWritesAreIgnored,
    /// Bits stay as they are.
    BitsNeverChange,
    /// What rounds of unknown elements do to others is not asked.
    LoopsAreNotAsked,
    /// Only known elements take steps.
    NobodyOutsideMoves,
    /// Quantifiers are decided by known elements.
    QuantifiersByWhatIsKnown,
    /// Every third way to add an element is forgotten.
    WaysAreDropped,
    /// A new element is never one that something refers to already.
    WitnessesAreNoStars,
    /// What a new element refers to is never known before.
    NewStarsAreFresh,
    /// What forgotten elements satisfy is forgotten too.
    BitsOfForgottenAreLost,
    /// References to elements that are not known are all equal.
    StarsAreOne,
    /// No unknown element decides a quantifier or matters in a loop.
    NobodyMatters,
    /// An element that satisfies a predicate is the only one.
    TheOnlyOne,
    /// An element that satisfies a predicate is never the only one.
    NeverTheOnlyOne,
    /// Before a start there are no elements but those of a view.
    NothingElseAtStart,
    /// Writes of what belongs to no element change no bit.
    SharedWritesChangeNoBit,
    /// Writes of whole arrays change no bit.
    WholeWritesChangeNoBit,
    /// Runs are taken for alike whatever they read.
    ReadsAreForgotten,
    /// Properties are asked about elements of a view only.
    ClaimsOfOneView,
    /// Loops change no bit.
    LoopsChangeNoBit,
    /// It is forgotten who depends on it that a view is not there, and nothing is done once more at the end.
    AbsenceIsForgotten,
    /// It is forgotten who depends on which views there are, and nothing is done once more at the end.
    PresenceIsForgotten,
    /// A list has no more elements than are known.
    ListsAreKnown,
    /// Who decides a quantifier is asked of elements as they were before the step, though the step has changed them.
    SiftedAfterWrites,
    /// That a write changes nothing does not depend on what was there.
    ChangesAreNotReads,
}

impl Mutant {
    /// All but those about what is remembered for speed, which small models do not show.
    pub const ALL: [Mutant; 22] = [
        Mutant::WatchedWritesAreIgnored,
        Mutant::BitsNeverChange,
        Mutant::LoopsAreNotAsked,
        Mutant::NobodyOutsideMoves,
        Mutant::QuantifiersByWhatIsKnown,
        Mutant::WaysAreDropped,
        Mutant::WitnessesAreNoStars,
        Mutant::NewStarsAreFresh,
        Mutant::BitsOfForgottenAreLost,
        Mutant::StarsAreOne,
        Mutant::NobodyMatters,
        Mutant::TheOnlyOne,
        Mutant::NeverTheOnlyOne,
        Mutant::NothingElseAtStart,
        Mutant::SharedWritesChangeNoBit,
        Mutant::WholeWritesChangeNoBit,
        Mutant::ReadsAreForgotten,
        Mutant::ClaimsOfOneView,
        Mutant::LoopsChangeNoBit,
        Mutant::ListsAreKnown,
        Mutant::SiftedAfterWrites,
        Mutant::ChangesAreNotReads,
    ];
}

#[cfg(feature = "mutants")]
thread_local! {
    static CURRENT: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// What the engine does if it makes a mistake.
#[cfg(feature = "mutants")]
pub fn with_mutant<T>(mutant: Mutant, run: impl FnOnce() -> T) -> T {
    CURRENT.with(|current| current.set(Some(mutant)));
    let result = run();
    CURRENT.with(|current| current.set(None));
    result
}

/// Whether the engine makes this mistake.
#[cfg(feature = "mutants")]
pub(crate) fn is(mutant: Mutant) -> bool {
    CURRENT.with(std::cell::Cell::get) == Some(mutant)
}

#[cfg(not(feature = "mutants"))]
pub(crate) const fn is(_: Mutant) -> bool {
    false
}
