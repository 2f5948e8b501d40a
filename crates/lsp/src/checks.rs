//! Properties that the user wants to have decided.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use shoal::{
    CheckOptions, Loaded, Observer, Progress, Verdict,
    model::{Cancel, Limits, Model, Trace, Watch},
    syntax::Span,
};

/// What a check from an editor may take, unless it is asked for otherwise on the command line.
const TIME: Duration = Duration::from_secs(60);
const MEMORY: u64 = 2 << 30;
/// So many steps of a run are shown as places; a longer one is for `shoal trace show`.
const STEPS_SHOWN: usize = 20;

/// What is known of a property since it was checked.
#[derive(Clone, Debug)]
pub(crate) enum PropertyStanding {
    Holds,
    Violated(ShownViolation),
    Unknown(String),
}

/// A violation, as far as an editor shows it.
#[derive(Clone, Debug)]
pub(crate) struct ShownViolation {
    /// How many steps the run has; none where there is no run to be shown.
    pub(crate) length: Option<usize>,
    /// The part of the condition that fails, and why.
    pub(crate) parts: Vec<(Span, String)>,
    /// The rules that fire, one after the other.
    pub(crate) steps: Vec<(Span, String)>,
}

/// What came out of a check, or why there is nothing.
pub(crate) type CheckOutcome = Result<CheckResult, String>;

/// What came out of a check.
pub(crate) struct CheckResult {
    /// By the name of the property.
    pub(crate) known: BTreeMap<String, PropertyStanding>,
    /// How often each rule fired, where everything was searched.
    pub(crate) fired: Option<Vec<u64>>,
}

/// A check that is running.
pub(crate) struct RunningCheck {
    pub(crate) cancel: Cancel,
    /// By which the editor knows it.
    pub(crate) token: i64,
}

/// Decides some properties, or all; `tell` hears how it goes on.
pub(crate) fn run(
    loaded: &Arc<Loaded>,
    properties: Vec<String>,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&Progress),
) -> CheckOutcome {
    let limits = Limits { time: Some(TIME), memory: Some(MEMORY), ..Limits::default() };
    let options = CheckOptions {
        properties,
        watch: Watch::start(limits).cancelled_by(cancel),
        ..CheckOptions::default()
    };
    let report =
        shoal::check(loaded, &options, &mut ProgressListener(tell)).map_err(|error| error.to_string())?;
    let model = &loaded.model;
    let known = report.outcome.results.iter().map(|result| {
        let known = match &result.verdict {
            Verdict::Holds => PropertyStanding::Holds,
            Verdict::Unknown(reason) => PropertyStanding::Unknown(reason.to_string()),
            Verdict::Violated(violation) => {
                let causes = report.causes.get(&result.property).map(Vec::as_slice).unwrap_or_default();
                PropertyStanding::Violated(ShownViolation {
                    length: violation.trace.as_ref().map(|trace| trace.steps.len()),
                    parts: causes.iter().map(|cause| (cause.span, why(model, cause))).collect(),
                    steps: violation.trace.as_ref().map(|trace| steps(model, trace)).unwrap_or_default(),
                })
            }
        };
        (model.properties[result.property].name.clone(), known)
    });
    let statistics = &report.outcome.statistics;
    let fired = (statistics.exhaustive && !statistics.fired.is_empty()).then(|| statistics.fired.clone());
    Ok(CheckResult { known: known.collect(), fired })
}

struct ProgressListener<'t>(&'t mut dyn FnMut(&Progress));

impl Observer for ProgressListener<'_> {
    fn progress(&mut self, progress: &Progress) {
        (self.0)(progress);
    }
}

fn why(model: &Model, cause: &shoal::Blame) -> String {
    let shown = |pairs: &[(String, shoal::model::Value)]| {
        let pairs = pairs.iter().map(|(name, value)| format!("{name} = {}", model.show(value)));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let mut text = format!("`{}` is {}", cause.text, cause.value);
    if !cause.bindings.is_empty() {
        text += &format!(" for {}", shown(&cause.bindings));
    }
    if !cause.reads.is_empty() {
        text += &format!(" where {}", shown(&cause.reads));
    }
    text
}

fn steps(model: &Model, trace: &Trace) -> Vec<(Span, String)> {
    let shown = trace.steps.iter().take(STEPS_SHOWN).enumerate().map(|(at, step)| {
        let rule = &model.rules[step.rule];
        let arguments = rule.params.iter().zip(&step.args).map(|(parameter, value)| {
            format!("{} = {}", rule.code.locals[parameter.local].name, model.show(value))
        });
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let arguments = if arguments.is_empty() { String::new() } else { format!(" ({arguments})") };
        (rule.span, format!("step {}: {}{arguments}", at + 1, rule.name))
    });
    shown.collect()
}
