//! What is known of a run: the input of every format.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use shoal::{Blame, Loaded, Report};
use shoal_model::{
    During, Model, Outcome, Property, PropertyId, PropertyResult, Reason, Rule, RuleId, Statistics, TypedId,
    Verdict, print_formula,
};
use shoal_syntax::{Advice, Diagnostics, SourceMap, Words};

use crate::ShownClaim;

/// What is said of a model without properties.
pub const NOTHING_ASKED: &str = "nothing is asked of the model";

/// One model that was checked, and what came of it.
///
/// ```
/// use shoal::{CheckOptions, LoadOptions, Quiet};
/// use shoal_report::{Palette, Run, write_run};
///
/// let text = "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end; invariant \"small\" x < 3;";
/// let loaded = shoal::load_text("small.m", text, &LoadOptions::default())?;
/// let report = shoal::check(&loaded, &CheckOptions::default(), &mut Quiet)?;
/// let mut page = Vec::new();
/// write_run(&mut page, &Run::new(&loaded, &report), Palette::plain()).unwrap();
/// assert!(String::from_utf8(page).unwrap().contains("✗ violated  invariant \"small\""));
/// # Ok::<(), shoal::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The file as the user named it.
    pub(crate) file: &'a str,
    /// The model and its sources.
    pub(crate) loaded: &'a Loaded,
    /// What was found out.
    pub(crate) report: &'a Report,
    /// Where things were saved.
    saved: &'a Saved,
    /// How wide violations are drawn with a column for each part of the model, if they are to be shown so.
    pub(crate) lanes: Option<usize>,
    words: Words,
}

/// Where what belongs to a run was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Traces of violations.
    pub traces: BTreeMap<PropertyId, String>,
    /// Certificates of properties that hold.
    pub certificates: BTreeMap<PropertyId, String>,
}

static NOTHING_SAVED: Saved = Saved { traces: BTreeMap::new(), certificates: BTreeMap::new() };

impl<'a> Run<'a> {
    /// A run of a model that has the name of its main source.
    pub fn new(loaded: &'a Loaded, report: &'a Report) -> Run<'a> {
        let file = loaded.sources.files().next().map_or(loaded.model.name.as_str(), |file| file.name());
        Run { file, loaded, report, saved: &NOTHING_SAVED, lanes: None, words: Advice::to_string }
    }

    /// With the name that the user has for the file.
    #[must_use]
    pub fn named(self, file: &'a str) -> Run<'a> {
        Run { file, ..self }
    }

    /// With files that were written.
    #[must_use]
    pub fn saved(self, saved: &'a Saved) -> Run<'a> {
        Run { saved, ..self }
    }

    /// With violations drawn so wide, a column for each part of the model, where text is written.
    #[must_use]
    pub fn in_lanes(self, width: usize) -> Run<'a> {
        Run { lanes: Some(width), ..self }
    }

    /// With advice in the words of a surface.
    #[must_use]
    pub fn in_words(self, words: Words) -> Run<'a> {
        Run { words, ..self }
    }

    pub(crate) fn model(&self) -> &'a Model {
        &self.loaded.model
    }

    pub(crate) fn sources(&self) -> &'a SourceMap {
        &self.loaded.sources
    }

    pub(crate) fn outcome(&self) -> &'a Outcome {
        &self.report.outcome
    }

    /// What is to blame for a violation.
    pub(crate) fn causes(&self, property: PropertyId) -> &'a [Blame] {
        self.report.causes.get(&property).map_or(&[][..], Vec::as_slice)
    }

    /// What the run of a violation shows of its formula.
    pub(crate) fn shows(&self, property: PropertyId) -> Vec<ShownClaim> {
        let claims = self.report.claims.get(&property).map_or(&[][..], Vec::as_slice);
        let text = |claim: &shoal::Claim| ShownClaim {
            state: claim.state,
            formula: print_formula(self.model(), &claim.formula),
            holds: claim.holds,
        };
        claims.iter().map(text).collect()
    }

    /// What more is known of a verdict, in a line: how it was proved, how many elements a run needs.
    pub(crate) fn note(&self, property: PropertyId) -> Option<String> {
        let own = self.report.proved.iter().filter(|proved| proved.property == property);
        own.filter_map(|proved| proved.words(self.loaded)).next_back()
    }

    /// Where the trace of a violation was saved.
    pub fn trace(&self, property: PropertyId) -> Option<&'a str> {
        self.saved.traces.get(&property).map(String::as_str)
    }

    /// Where the certificate of a property was saved.
    pub(crate) fn certificate(&self, property: PropertyId) -> Option<&'a str> {
        self.saved.certificates.get(&property).map(String::as_str)
    }

    /// Advice in the words of the surface.
    pub(crate) fn advise(&self, advice: &Advice) -> String {
        (self.words)(advice)
    }

    /// What the engine did that a verdict came from; nothing if no engine took the property.
    pub fn statistics(&self, result: &PropertyResult) -> Option<&'a Statistics> {
        let at = self.outcome().results.iter().position(|it| it.property == result.property)?;
        self.report.statistics_of(at)
    }

    /// What the engines did that some verdict came from, in the order they ran.
    pub(crate) fn deciding(&self) -> impl Iterator<Item = &'a Statistics> {
        let report = self.report;
        let counts = |at: &usize| report.decided_by.contains(&Some(*at));
        (0..report.work.len()).filter(counts).map(|at| &report.work[at])
    }

    /// The property of a result.
    pub fn property(&self, result: &PropertyResult) -> &'a Property {
        &self.model().properties[result.property]
    }

    /// The rules that a violation shows at work, though what they did led nowhere: one whose assertion fails has fired.
    fn failed(&self) -> BTreeSet<RuleId> {
        let reasons = self.outcome().results.iter().filter_map(|result| match &result.verdict {
            Verdict::Violated(violation) => Some(&violation.reason),
            Verdict::Holds | Verdict::Unknown(_) => None,
        });
        reasons.filter_map(failed_rule).collect()
    }

    /// The rules that never fired, in the order of the source. What other rules may have done in the middle of a step is not
    /// among them, nor is what failed.
    pub fn never_fired(&self) -> impl Iterator<Item = (RuleId, &'a Rule)> {
        let fired = &self.outcome().statistics.fired;
        let locations = self.model().agents.iter().flat_map(|agents| &agents.locations);
        let mut passed: BTreeSet<RuleId> = locations
            .filter(|location| location.passed)
            .flat_map(|location| &location.rules)
            .copied()
            .collect();
        passed.extend(self.failed());
        self.model().rules.enumerate().filter(move |(id, _)| {
            fired.get(id.index()).is_some_and(|count| *count == 0) && !passed.contains(id)
        })
    }

    /// Results in the order they are shown: violated, unknown, holds.
    pub(crate) fn results_by_weight(&self) -> Vec<&'a PropertyResult> {
        let mut results: Vec<&PropertyResult> = self.outcome().results.iter().collect();
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

/// The rule in whose body something failed.
fn failed_rule(reason: &Reason) -> Option<RuleId> {
    match reason {
        Reason::Fault(During::Body(rule, ..), _) => Some(*rule),
        Reason::After(_, reason) => failed_rule(reason),
        Reason::Fault(During::Start(..) | During::Guard(..) | During::Property(_), _)
        | Reason::ConditionFalse
        | Reason::Deadlock
        | Reason::NeverCovered
        | Reason::NotPossible
        | Reason::FormulaFalse => None,
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
    /// The words for advice.
    pub words: Words,
}

#[cfg(test)]
mod tests {
    use shoal::{CheckOptions, LoadOptions, Quiet};

    use super::Run;

    #[test]
    fn a_rule_whose_assertion_fails_has_fired() {
        let text = "var x: 0..1; startstate x := 0; end; rule \"fails\" true ==> assert \"one\" x = 1; end;
            rule \"never\" x = 1 ==> x := 0; end;";
        let loaded = shoal::load_text("fails.m", text, &LoadOptions::default()).unwrap();
        let report = shoal::check(&loaded, &CheckOptions::default(), &mut Quiet).unwrap();
        let run = Run::new(&loaded, &report);
        assert_eq!(run.never_fired().map(|(_, rule)| rule.name.as_str()).collect::<Vec<_>>(), ["never"]);
    }
}
