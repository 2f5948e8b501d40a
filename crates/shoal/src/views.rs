//! Any number of elements, by views: instances are searched by the explicit engine, everything else is proved or left open.

use std::collections::BTreeMap;

use shoal_certificate::OpenInvariant;
use shoal_model::{
    Job, Model, Observer, Outcome, PropertyId, PropertyKind, PropertyResult, SortId, SortSize, Statistics,
    StopReason, Verdict, Watch,
};
use shoal_verify::{Doubt, Looked};
use shoal_views::{Climb, Finding, Instances, Searched};

use crate::{Error, LoadOptions, Loaded, Proved, load::load_again};

/// Decides the properties of a model with any number of elements.
pub(crate) fn check(
    loaded: &Loaded,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<(Outcome, Vec<Proved>), Error> {
    let model = &loaded.model;
    let mut instances = Reloaded { loaded, job, observer, models: BTreeMap::new() };
    let climb = shoal_views::climb(model, &job.properties, broken(loaded), &mut instances, &job.watch);
    let models = instances.models;
    let checks = check_proofs(model, &climb, &job.watch);
    let (mut results, mut proved) = (Vec::new(), Vec::new());
    for property in &job.properties {
        let Some(finding) = climb.findings.get(property) else {
            return Err(Error::Internal("a property was asked and not answered".into()));
        };
        let mut note = Proved::nothing(*property);
        let verdict = match finding {
            Finding::Proved { proof, searched } => {
                let (config, invariant) =
                    climb.proofs.get(*proof).ok_or_else(|| Error::Internal("a proof is missing".into()))?;
                let views = invariant.views.len();
                let counted = if views == 1 { "1 view".into() } else { format!("{views} views") };
                let below = match searched {
                    0 => String::new(),
                    1 => format!("; {} = 1 searched", parameters(&loaded.options)),
                    n => format!("; {} = 1..{n} searched", parameters(&loaded.options)),
                };
                note.views = Some(invariant.clone().into());
                let check = checks
                    .get(&(*proof, is_deadlock(model, *property)))
                    .ok_or_else(|| Error::Internal("a proof was not checked".into()))?;
                note.note = Some(format!("{} ({counted}){below}; {}", config.words(model), check.words()));
                match check {
                    Check::Rejected(why) => Verdict::Unknown(StopReason::Internal(format!(
                        "it is said to hold, but the checker says of its proof: {why}"
                    ))),
                    Check::Accepted(_) | Check::Not(_) => Verdict::Holds,
                }
            }
            Finding::Covered(number) => {
                note.note = Some(format!("reached with {} = {number}", parameters(&loaded.options)));
                Verdict::Holds
            }
            Finding::Violated(number, violation) => {
                note.note = Some(format!("{} = {number}, and no smaller", parameters(&loaded.options)));
                note.number = Some(*number);
                note.elements = Some((u64::from(*number), true));
                note.instance = models.get(number).cloned().map(Box::new);
                Verdict::Violated(violation.clone())
            }
            Finding::Unknown(up_to, why) => {
                Verdict::Unknown(unknown(&loaded.options, *up_to, why, &job.watch))
            }
        };
        results.push(PropertyResult { property: *property, verdict });
        proved.push(note);
    }
    let outcome = Outcome { results, statistics: statistics(&climb, job) };
    Ok((outcome, proved))
}

/// Runs that the check of a proof may take before anything is said: some hundredths of a second.
const CHECK_RUNS: u64 = 1_000;

/// What the checker says of a proof.
enum Check {
    Accepted(Looked),
    Rejected(String),
    /// It was not checked, for this reason.
    Not(String),
}

impl Check {
    fn words(&self) -> String {
        match self {
            Check::Accepted(looked) if looked.windows == looked.all => "checked".into(),
            Check::Accepted(looked) => format!("checked in {} of them", looked.windows),
            Check::Rejected(_) => "rejected by the checker".into(),
            Check::Not(why) => format!("not checked: {why}"),
        }
    }
}

/// That something can always happen is shown in another way than the rest, which the checker may not follow.
fn is_deadlock(model: &Model, property: PropertyId) -> bool {
    matches!(model.properties[property].kind, PropertyKind::Deadlock(_))
}

/// Checks each proof, for all properties that rest on it, in as many views as is cheap.
fn check_proofs(model: &Model, climb: &Climb, watch: &Watch) -> BTreeMap<(usize, bool), Check> {
    let mut properties: BTreeMap<(usize, bool), Vec<PropertyId>> = BTreeMap::new();
    for (property, finding) in &climb.findings {
        if let Finding::Proved { proof, .. } = finding {
            properties.entry((*proof, is_deadlock(model, *property))).or_default().push(*property);
        }
    }
    let mut checks = BTreeMap::new();
    for (key, properties) in properties {
        let Some((_, invariant)) = climb.proofs.get(key.0) else { continue };
        let found = shoal_verify::check_windows(model, invariant, &properties, Some(CHECK_RUNS), watch);
        checks.insert(
            key,
            match found {
                Ok(looked) => Check::Accepted(looked),
                Err(Doubt::Rejected(why)) => Check::Rejected(why),
                Err(Doubt::Lacking(what)) => Check::Not(format!("the checker does not support {what}")),
                Err(Doubt::Stopped(why)) => Check::Not(why.to_string()),
            },
        );
    }
    checks
}

/// How much of a proof by views was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewsAudit {
    /// The views.
    pub looked: Looked,
    /// The smaller instances that the interpreter has searched, from 1.
    pub searched: u32,
}

/// So many states of an instance that is smaller than a view are searched.
const SMALL_STATES: usize = 200_000;

/// So many runs the checker takes where nobody asks for more.
const VERIFY_RUNS: u64 = 2_000_000;

/// Checks a proof by views that properties of a model hold for any number of elements: the views by the checker, in all of
/// them if `full`, instances smaller than a view by the interpreter. The inner error says why it is not accepted.
pub fn verify_views(
    loaded: &Loaded,
    invariant: &OpenInvariant,
    properties: &[PropertyId],
    full: bool,
    watch: &Watch,
) -> Result<Result<ViewsAudit, String>, Error> {
    if let Some(why) = broken(loaded) {
        return Ok(Err(why));
    }
    let runs = if full { None } else { Some(VERIFY_RUNS) };
    let looked = match shoal_verify::check_windows(&loaded.model, invariant, properties, runs, watch) {
        Ok(looked) => looked,
        Err(Doubt::Rejected(why)) => return Ok(Err(why)),
        Err(Doubt::Lacking(what)) => return Ok(Err(format!("the checker does not support {what}"))),
        Err(Doubt::Stopped(why)) => return Err(Error::Stopped(why)),
    };
    // The rest are the instances that have fewer elements than a view, or lower bounds than the model.
    let bound = loaded.model.open_bounds.iter().map(|(_, from)| *from).max().unwrap_or(1);
    let several = loaded.options.any.len() > 1;
    let mut searched = 0;
    for number in 1.. {
        watch.check().map_err(Error::Stopped)?;
        let Some(instance) = load_again(loaded, number) else {
            if number > 64 {
                return Ok(Err("there is no instance with as many elements as a view".into()));
            }
            continue;
        };
        let sizes = instance.sorts.iter().zip(&invariant.elements);
        let small = sizes.clone().any(|(sort, count)| sort.fixed_size() < *count);
        if !small && number >= bound {
            break;
        }
        if several && small {
            return Ok(Err("several numbers are any, and instances smaller than a view are many".into()));
        }
        let found = shoal_interpret::explore(&instance, SMALL_STATES)
            .map_err(|error| Error::NotRunnable(error.to_string()))?;
        for property in properties {
            let name = &loaded.model.properties[*property].name;
            if found.violated.contains_key(property) {
                return Ok(Err(format!(
                    "{name:?} is violated with {} = {number}",
                    parameters(&loaded.options)
                )));
            }
            if !found.complete {
                return Ok(Err(format!(
                    "the instance with {} = {number} is too large to be searched",
                    parameters(&loaded.options)
                )));
            }
        }
        searched = number;
    }
    Ok(Ok(ViewsAudit { looked, searched }))
}

fn unknown(options: &LoadOptions, up_to: u32, why: &str, watch: &Watch) -> StopReason {
    if let Err(stopped) = watch.check() {
        return stopped;
    }
    let names = parameters(options);
    let so_far = match up_to {
        0 => String::new(),
        1 => format!("holds for {names} = 1; "),
        n => format!("holds for {names} = 1..{n}; "),
    };
    StopReason::AnyNumber(format!("{so_far}not proved beyond: {why}"))
}

fn parameters(options: &LoadOptions) -> String {
    options.any.join(", ")
}

fn statistics(climb: &Climb, job: &Job) -> Statistics {
    Statistics {
        engine: "views",
        states: climb.views as u64,
        transitions: climb.runs,
        time: job.watch.elapsed(),
        threads: 1,
        ..Statistics::default()
    }
}

/// Why the elements of a sort with any number cannot be interchanged, if that is so.
fn broken(loaded: &Loaded) -> Option<String> {
    let model = &loaded.model;
    let symmetry = shoal_analysis::symmetry(model);
    for (id, sort) in model.sorts.enumerate().filter(|(_, sort)| sort.size == SortSize::Any) {
        let found = &symmetry.sorts[id];
        if let Some(first) = found.breaks.first() {
            let (name, place) = (&sort.name, loaded.sources.locate(first.span));
            return Some(format!(
                "the elements of `{name}` cannot be interchanged: {} ({place})",
                first.reason
            ));
        }
        if !found.pinned.is_empty() {
            return Some(format!("the model names an element of `{}`", sort.name));
        }
    }
    None
}

/// The instances of a model, made by reading its source again.
struct Reloaded<'a> {
    loaded: &'a Loaded,
    job: &'a Job,
    observer: &'a mut dyn Observer,
    models: BTreeMap<u32, Model>,
}

impl Instances for Reloaded<'_> {
    fn search(&mut self, number: u32, states: u64, asked: &[PropertyId]) -> Option<Searched> {
        let model = load_again(self.loaded, number)?;
        let symmetry = shoal_analysis::symmetry(&model);
        let symmetric: Vec<SortId> =
            model.sorts.ids().filter(|sort| symmetry.sorts[*sort].is_proved()).collect();
        let job = Job {
            properties: asked.to_vec(),
            symmetric,
            watch: self.job.watch.with_states(Some(states)),
            patience: None,
            // The smallest are searched faster than machine code is made.
            jit: self.job.jit && number > 2,
            ..self.job.clone()
        };
        let sizes = model.sorts.iter().map(|sort| sort.fixed_size().unwrap_or(0)).collect();
        let results = match shoal_explicit::check(&model, &job, self.observer) {
            Ok(outcome) => outcome.results,
            // Nothing is known of it.
            Err(_) => {
                let unknown = |property: &PropertyId| PropertyResult {
                    property: *property,
                    verdict: Verdict::Unknown(StopReason::States(0)),
                };
                asked.iter().map(unknown).collect()
            }
        };
        self.models.insert(number, model);
        Some(Searched { results, sizes })
    }

    fn is_one_number(&self) -> bool {
        let open = |id: &SortId| {
            let model = &self.loaded.model;
            model.sorts[*id].size == SortSize::Any && !shoal_views::is_data(model, *id)
        };
        self.loaded.options.any.len() == 1 || self.loaded.model.sorts.ids().filter(open).count() == 0
    }
}

impl Proved {
    /// Nothing is known of a property but its verdict.
    pub(crate) fn nothing(property: PropertyId) -> Proved {
        Proved {
            property,
            prover: None,
            proof: None,
            targets: 0,
            elements: None,
            note: None,
            number: None,
            instance: None,
            views: None,
        }
    }
}
