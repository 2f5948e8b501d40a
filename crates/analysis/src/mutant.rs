//! Mistakes that the analysis of loops could have, for tests of those who would notice. In the product there are none.
#![cfg_attr(not(feature = "mutants"), allow(dead_code, unreachable_pub))]

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnalysisMutant {
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

impl AnalysisMutant {
    /// All of them.
    pub const ALL: [AnalysisMutant; 15] = [
        AnalysisMutant::ReadsAreNotSeen,
        AnalysisMutant::NobodyReadsLater,
        AnalysisMutant::RoundsHandNothingOn,
        AnalysisMutant::FactsOfAllRounds,
        AnalysisMutant::LeavingEarlyIsFine,
        AnalysisMutant::BagsDoNotMeet,
        AnalysisMutant::LoopsForgetNothing,
        AnalysisMutant::ReturnsAreForgotten,
        AnalysisMutant::SignsDoNotMatter,
        AnalysisMutant::UnknownIsTheSame,
        AnalysisMutant::CallersAreNotAsked,
        AnalysisMutant::WritesForgetNothing,
        AnalysisMutant::IndicesDiffer,
        AnalysisMutant::ExtremesKeepMore,
        AnalysisMutant::ArmsAreNotTaken,
    ];
}

#[cfg(feature = "mutants")]
thread_local! {
    static CURRENT: std::cell::Cell<Option<AnalysisMutant>> = const { std::cell::Cell::new(None) };
}

/// What the analysis finds if it makes a mistake.
#[cfg(feature = "mutants")]
pub fn with_mutant<T>(mutant: AnalysisMutant, run: impl FnOnce() -> T) -> T {
    CURRENT.with(|current| current.set(Some(mutant)));
    let result = run();
    CURRENT.with(|current| current.set(None));
    result
}

/// Whether the analysis makes this mistake.
#[cfg(feature = "mutants")]
pub(crate) fn is(mutant: AnalysisMutant) -> bool {
    CURRENT.with(std::cell::Cell::get) == Some(mutant)
}

#[cfg(not(feature = "mutants"))]
pub(crate) const fn is(_: AnalysisMutant) -> bool {
    false
}
