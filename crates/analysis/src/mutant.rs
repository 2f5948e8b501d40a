//! Mistakes that the analysis of loops could have, for tests of those who would notice. In the product there are none.
#![cfg_attr(not(feature = "mutants"), allow(dead_code, unreachable_pub))]

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// What one round writes and another reads is no conflict.
    ReadsAreNotSeen,
    /// What is read after a loop may be left by any round.
    NobodyReadsLater,
    /// What a round reads before it writes it is its own.
    RoundsHandNothingOn,
    /// What is known of one round is known of all.
    FactsOfAllRounds,
    /// A loop may be left early.
    LeavingEarlyIsFine,
    /// Bags that are filled in one round and emptied in another do not meet.
    BagsDoNotMeet,
    /// What is known before a loop stays so in all its rounds.
    LoopsForgetNothing,
    /// What is known at the end of a function is known wherever it was left.
    ReturnsAreForgotten,
    /// Sums commute with differences.
    SignsDoNotMatter,
    /// A value that is not known is the same in all rounds.
    UnknownIsTheSame,
    /// What is not proved of a function by itself is not asked where it is called.
    CallersAreNotAsked,
    /// What is known of a place stays known when it is written.
    WritesForgetNothing,
    /// Two entries of an array are never the same.
    IndicesDiffer,
    /// What goes with the highest value may be kept with it.
    ExtremesKeepMore,
    /// What is done before a function is left is not looked at.
    ArmsAreNotTaken,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 15] = [
        Mutant::ReadsAreNotSeen,
        Mutant::NobodyReadsLater,
        Mutant::RoundsHandNothingOn,
        Mutant::FactsOfAllRounds,
        Mutant::LeavingEarlyIsFine,
        Mutant::BagsDoNotMeet,
        Mutant::LoopsForgetNothing,
        Mutant::ReturnsAreForgotten,
        Mutant::SignsDoNotMatter,
        Mutant::UnknownIsTheSame,
        Mutant::CallersAreNotAsked,
        Mutant::WritesForgetNothing,
        Mutant::IndicesDiffer,
        Mutant::ExtremesKeepMore,
        Mutant::ArmsAreNotTaken,
    ];
}

#[cfg(feature = "mutants")]
thread_local! {
    static CURRENT: std::cell::Cell<Option<Mutant>> = const { std::cell::Cell::new(None) };
}

/// What the analysis finds if it makes a mistake.
#[cfg(feature = "mutants")]
pub fn with_mutant<T>(mutant: Mutant, run: impl FnOnce() -> T) -> T {
    CURRENT.with(|current| current.set(Some(mutant)));
    let result = run();
    CURRENT.with(|current| current.set(None));
    result
}

/// Whether the analysis makes this mistake.
#[cfg(feature = "mutants")]
pub(crate) fn is(mutant: Mutant) -> bool {
    CURRENT.with(std::cell::Cell::get) == Some(mutant)
}

#[cfg(not(feature = "mutants"))]
pub(crate) const fn is(_: Mutant) -> bool {
    false
}
