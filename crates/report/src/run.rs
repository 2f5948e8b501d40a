//! What is known of a run: the input of every format.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use shoal_model::{
    Model, Outcome, Property, PropertyId, PropertyResult, Rule, RuleId, SortId, Statistics, TypedId, Value,
    Verdict,
};
use shoal_syntax::{Diagnostics, SourceMap, Span};

use crate::Shown;

/// What is said of a model without properties.
pub const NOTHING_ASKED: &str = "nothing is asked of the model";

/// A part of a condition that is to blame for it, for which elements, and what it read.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The part of the condition.
    pub span: Span,
    /// The variables of quantifiers around it.
    pub bindings: Vec<(String, Value)>,
    /// The places it read and what was there.
    pub reads: Vec<(String, Value)>,
}

/// One model that was checked, and what came of it.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// The model.
    pub model: &'a Model,
    /// Its sources.
    pub sources: &'a SourceMap,
    /// What the engine found out; every violation has been replayed.
    pub outcome: &'a Outcome,
    /// What each engine that ran did.
    pub work: &'a [Statistics],
    /// Whose verdict it is: for each result, the place in `work`.
    pub decided_by: &'a [Option<usize>],
    /// The sorts that the engine was told to reduce by.
    pub symmetric: &'a [SortId],
    /// Why conditions failed.
    pub causes: &'a BTreeMap<PropertyId, Vec<Cause>>,
    /// What runs show of formulas of branching time.
    pub shows: &'a BTreeMap<PropertyId, Vec<Shown>>,
    /// Where traces were saved.
    pub traces: &'a BTreeMap<PropertyId, String>,
    /// Violations whose trace replays, but of which the interpreter could not confirm within its budget that
    /// nothing better can be reached from the end.
    pub unsettled: &'a BTreeSet<PropertyId>,
    /// What more is known of a verdict, in a line: how it was proved, how many elements a run needs.
    pub notes: &'a BTreeMap<PropertyId, String>,
    /// Where certificates were saved.
    pub certificates: &'a BTreeMap<PropertyId, String>,
    /// Violations as text in columns, where they are to be shown so.
    pub lanes: &'a BTreeMap<PropertyId, String>,
}

impl<'a> Run<'a> {
    /// What the run of a violation shows of its formula.
    pub(crate) fn shows(&self, property: PropertyId) -> &'a [Shown] {
        self.shows.get(&property).map_or(&[][..], Vec::as_slice)
    }

    /// What the engine did that a verdict came from; nothing if no engine took the property.
    pub fn statistics(&self, result: &PropertyResult) -> Option<&'a Statistics> {
        let at = self.outcome.results.iter().position(|it| it.property == result.property)?;
        self.work.get(self.decided_by.get(at).copied().flatten()?)
    }

    /// What the engines did that some verdict came from, in the order they ran.
    pub(crate) fn deciding(&self) -> impl Iterator<Item = &'a Statistics> {
        let counts = |at: &usize| self.decided_by.contains(&Some(*at));
        let work = self.work;
        (0..work.len()).filter(counts).map(move |at| &work[at]).collect::<Vec<_>>().into_iter()
    }

    /// The property of a result.
    pub fn property(&self, result: &PropertyResult) -> &'a Property {
        &self.model.properties[result.property]
    }

    /// The rules that never fired, in the order of the source. What other rules may have done in the middle of a step is not
    /// among them.
    pub fn never_fired(&self) -> impl Iterator<Item = (RuleId, &'a Rule)> {
        let fired = &self.outcome.statistics.fired;
        let locations = self.model.agents.iter().flat_map(|agents| &agents.locations);
        let passed: BTreeSet<RuleId> = locations
            .filter(|location| location.passed)
            .flat_map(|location| &location.rules)
            .copied()
            .collect();
        self.model.rules.enumerate().filter(move |(id, _)| {
            fired.get(id.index()).is_some_and(|count| *count == 0) && !passed.contains(id)
        })
    }

    /// Results in the order they are shown: violated, unknown, holds.
    pub(crate) fn results_by_weight(&self) -> Vec<&'a PropertyResult> {
        let mut results: Vec<&PropertyResult> = self.outcome.results.iter().collect();
        results.sort_by_key(|result| match result.verdict {
            Verdict::Violated(_) => 0,
            Verdict::Unknown(_) => 1,
            Verdict::Holds => 2,
        });
        results
    }

    /// `invariant "mutual exclusion"`.
    pub(crate) fn title(&self, property: &Property) -> String {
        property.title()
    }
}

/// One file of a call, for the formats that report on all files of a call at once.
#[derive(Clone, Debug)]
pub struct Suite<'a> {
    /// The file as the user named it.
    pub file: &'a str,
    /// Its run, if it came to that.
    pub run: Option<&'a Run<'a>>,
    /// Why it did not, in a few words.
    pub error: Option<&'a str>,
    /// What was said of the sources.
    pub diagnostics: Option<(&'a SourceMap, &'a Diagnostics)>,
    /// How long it took.
    pub time: Duration,
}
