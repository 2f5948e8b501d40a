//! Formulas that hold of nothing: where no run is fair, or assumptions leave none that goes on, whatever is said of all runs is true. A
//! constraint that can never be met is a slip as easily made as it is overlooked.

use shoal_model::{Formula, Logic, Observer, OnlyProgress, Property, PropertyKind, Verdict};
use shoal_syntax::Span;

use crate::{CheckOptions, Checkpoints, EngineKind, Loaded, Report, check, plan};

/// A search of more states than this is not done a second time for a note.
const MOST_STATES: u64 = 200_000;

/// Tells with a report that formulas hold because no run is fair, if that is so and soon found out.
pub(crate) fn note(
    loaded: &Loaded,
    options: &CheckOptions,
    observer: &mut dyn Observer,
    report: &mut Report,
) {
    let model = &loaded.model;
    let assumes = model.properties.iter().any(|property| matches!(property.kind, PropertyKind::Assume(_)));
    let words = match (model.fairness.is_empty(), assumes) {
        (true, false) => return,
        (false, _) => "no run is fair: what temporal formulas say of all runs is said of none",
        (true, true) => "assumptions leave no run: what temporal formulas say of all runs is said of none",
    };
    if options.watch.check().is_ok()
        && holds_of_all_runs(loaded, report)
        && there_is_no_run(loaded, options, observer)
    {
        report.outcome.statistics.notes.push(words.into());
    }
}

/// Whether a formula was found to hold, in a search that can be done again.
fn holds_of_all_runs(loaded: &Loaded, report: &Report) -> bool {
    report.outcome.results.iter().enumerate().any(|(at, result)| {
        let kind = &loaded.model.properties[result.property].kind;
        let is_formula = matches!(kind, PropertyKind::Temporal(Logic::Ltl | Logic::Ctl, _));
        let is_small = report.statistics_of(at).is_some_and(|it| it.states <= MOST_STATES);
        is_formula && is_small && matches!(result.verdict, Verdict::Holds)
    })
}

/// Whether what is false holds of every run that counts. Where that is not known, nothing is said.
fn there_is_no_run(loaded: &Loaded, options: &CheckOptions, observer: &mut dyn Observer) -> bool {
    let mut asked = loaded.clone();
    let falsehood = PropertyKind::Temporal(Logic::Ltl, Formula::Or(Vec::new()));
    let property = Property { name: "there is no run".into(), kind: falsehood, span: Span::default() };
    asked.asked = vec![asked.model.properties.push(property)];
    let options = CheckOptions {
        properties: Vec::new(),
        engine: Some(EngineKind::Explicit),
        checkpoints: Checkpoints::default(),
        watch: options.watch.with_states(Some(MOST_STATES)),
        ..options.clone()
    };
    let found =
        check::decide(&asked, plan(&asked, &options), &options, &mut OnlyProgress(observer), &mut |_| {});
    found.is_ok_and(|report| {
        let verdicts = report.outcome.results.iter().map(|result| &result.verdict);
        report.outcome.results.len() == 1 && verdicts.into_iter().all(|it| matches!(it, Verdict::Holds))
    })
}
