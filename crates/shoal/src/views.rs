//! Any number of elements, by views: instances are searched by the explicit engine, everything else is proved or left open.

use std::collections::BTreeMap;

use shoal_analysis::{Refreshed, SortedRanges, refresh};
use shoal_certificate::OpenInvariant;
use shoal_model::{
    Job, Model, Observer, Outcome, PropertyId, PropertyKind, PropertyResult, SortId, SortSize, Statistics,
    StopReason, Verdict, Watch,
};
use shoal_verify::{Doubt, Looked};
use shoal_views::{Climb, Finding, Instances, Obstacle, Searched};

pub use shoal_views::ViewInWords;

use crate::{
    Error, LoadOptions, Loaded, Proved,
    inactive::{again, no_faults},
    load::load_again,
};

/// Decides the properties of a model with any number of elements.
pub(crate) fn check(
    loaded: &Loaded,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<(Outcome, Vec<Proved>), Error> {
    let model = &loaded.model;
    let mut instances = Reloaded { loaded, job, observer, models: BTreeMap::new(), refreshes: false };
    let (mut climb, fresh) = climb(loaded, job, &mut instances);
    for (_, found) in &mut climb.proofs {
        found.invariant.refreshed = fresh.is_some();
    }
    let models = instances.models;
    let model_of_proofs = fresh.as_ref().unwrap_or(model);
    let checks = check_proofs(model_of_proofs, &climb, &job.watch);
    let (mut results, mut proved) = (Vec::new(), Vec::new());
    for property in &job.properties {
        let Some(finding) = climb.findings.get(property) else {
            return Err(Error::Internal("a property was asked and not answered".into()));
        };
        let mut note = Proved::nothing(*property);
        let verdict = match finding {
            Finding::Proved { proof, searched } => {
                let (config, found) =
                    climb.proofs.get(*proof).ok_or_else(|| Error::Internal("a proof is missing".into()))?;
                let invariant = &found.invariant;
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
                note.note =
                    Some(format!("{} ({counted}){below}; {}", config.words(model_of_proofs), check.words()));
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
            Finding::Unknown(up_to, why) => Verdict::Unknown(unknown(loaded, *up_to, why, &job.watch)),
        };
        results.push(PropertyResult { property: *property, verdict });
        proved.push(note);
    }
    let outcome = Outcome { results, statistics: statistics(&climb, job) };
    Ok((outcome, proved))
}

/// Climbs, on the model with stale values reset if that is the same model: then that is given, too.
fn climb(loaded: &Loaded, job: &Job, instances: &mut Reloaded<'_>) -> (Climb, Option<Model>) {
    let broken = broken(loaded);
    let fresh = refresh(&loaded.model).filter(|_| broken.is_none());
    if let (Some(Refreshed { model: fresh, .. }), Some(no_faults)) = (fresh, no_faults(&loaded.model)) {
        let mut asked = job.properties.clone();
        asked.extend(Some(no_faults).filter(|it| !asked.contains(it)));
        instances.refreshes = true;
        let climb = shoal_views::climb(&fresh, &asked, None, instances, &job.watch);
        instances.refreshes = false;
        if climb.proves(no_faults) || job.watch.check().is_err() {
            let rests_on = Some(no_faults).filter(|_| !climb.proves(no_faults));
            return (climb.without(rests_on, "values that seem to be stale may be read"), Some(fresh));
        }
    }
    let rests_on = no_faults_of_ranges(loaded);
    let mut asked = job.properties.clone();
    asked.extend(rests_on.filter(|it| !asked.contains(it)));
    let climb = shoal_views::climb(&loaded.model, &asked, broken, instances, &job.watch);
    let rests_on = rests_on.filter(|it| !climb.proves(*it));
    let why = "a range is taken for a scalarset, which is the same only if nothing faults";
    (climb.without(rests_on, why), None)
}

/// Where ranges are sorts that are none in the source: that nothing faults, on which it rests that both are the same. A
/// quantifier over a sort looks at elements that one over a range does not come to.
fn no_faults_of_ranges(loaded: &Loaded) -> Option<PropertyId> {
    no_faults(&loaded.model).filter(|_| !loaded.model.range_sorts.is_empty())
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
        let Some((_, found)) = climb.proofs.get(key.0) else { continue };
        let found =
            shoal_verify::check_windows(model, &found.invariant, &properties, Some(CHECK_RUNS), watch);
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
#[non_exhaustive]
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
    // What the proof rests on has to be proved, too.
    let mut claimed = properties.to_vec();
    let fresh = match invariant.refreshed {
        true => match refresh(&loaded.model) {
            Some(fresh) => Some(fresh.model),
            None => return Ok(Err("there are no stale values to be reset".into())),
        },
        false => None,
    };
    let rests_on =
        no_faults(&loaded.model).filter(|_| fresh.is_some() || !loaded.model.range_sorts.is_empty());
    claimed.extend(rests_on.filter(|it| !properties.contains(it)));
    let model = fresh.as_ref().unwrap_or(&loaded.model);
    let looked = match shoal_verify::check_windows(model, invariant, &claimed, runs, watch) {
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
        let Some(numbered) = load_again(loaded, number) else {
            if number > 64 {
                return Ok(Err("there is no instance with as many elements as a view".into()));
            }
            continue;
        };
        let instance = numbered.model;
        let sizes = numbered.sorted.as_ref().map_or(&instance, |sorted| &sorted.model).sorts.iter();
        let sizes = sizes.zip(&invariant.elements);
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

/// How the elements of a model are looked at where there are any number of them.
#[derive(Clone, Debug)]
pub struct Abstracted {
    /// The views that prove something.
    pub proofs: Vec<AbstractedProof>,
    /// What is not proved, and why.
    pub open: Vec<(PropertyId, String)>,
    /// What is violated or covered, and with how many.
    pub decided: Vec<(PropertyId, u32)>,
}

/// Views that prove something.
#[derive(Clone, Debug)]
pub struct AbstractedProof {
    /// How much they show, in words.
    pub words: String,
    /// What they prove.
    pub properties: Vec<PropertyId>,
    /// What they say about elements that they do not show.
    pub bits: Vec<String>,
    /// How many there are.
    pub count: usize,
    /// The first of them.
    pub views: Vec<ViewInWords>,
}

/// Looks for views that prove what is asked of a model with any number of elements; nothing if it has none.
pub fn abstracted(loaded: &Loaded, watch: &Watch) -> Option<Abstracted> {
    let model = &loaded.model;
    if model.has_clocks() || !model.sorts.iter().any(|sort| sort.size == SortSize::Any) {
        return None;
    }
    let job = Job { watch: watch.clone(), ..Job::new(loaded.asked.clone()) };
    let observer = &mut shoal_model::Quiet;
    let mut instances = Reloaded { loaded, job: &job, observer, models: BTreeMap::new(), refreshes: false };
    let (climb, fresh) = climb(loaded, &job, &mut instances);
    let model = fresh.as_ref().unwrap_or(model);
    let proof = |(at, (config, found)): (usize, &(shoal_views::Config, shoal_views::Abstraction))| {
        let proves = |of: &Finding| matches!(of, Finding::Proved { proof, .. } if *proof == at);
        AbstractedProof {
            words: config.words(model),
            properties: climb.findings.iter().filter(|it| proves(it.1)).map(|it| *it.0).collect(),
            bits: found.bits.clone(),
            count: found.views,
            views: found.shown.clone(),
        }
    };
    let (mut open, mut decided) = (Vec::new(), Vec::new());
    for (property, finding) in &climb.findings {
        match finding {
            Finding::Proved { .. } => {}
            Finding::Covered(number) | Finding::Violated(number, _) => decided.push((*property, *number)),
            Finding::Unknown(up_to, why) => {
                open.push((*property, unknown(loaded, *up_to, why, watch).to_string()))
            }
        }
    }
    Some(Abstracted { proofs: climb.proofs.iter().enumerate().map(proof).collect(), open, decided })
}

fn unknown(loaded: &Loaded, up_to: u32, obstacle: &Obstacle, watch: &Watch) -> StopReason {
    if let Err(stopped) = watch.check() {
        return stopped;
    }
    let place = obstacle.span.map(|span| format!(" ({})", loaded.sources.locate(span)));
    let why = format!("{}{}", obstacle.why, place.unwrap_or_default());
    let names = parameters(&loaded.options);
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
    /// Whether stale values are reset.
    refreshes: bool,
}

impl Instances for Reloaded<'_> {
    fn search(&mut self, number: u32, states: u64, asked: &[PropertyId]) -> Option<Searched> {
        let numbered = load_again(self.loaded, number)?;
        let sizes = numbered.alike().sorts.iter().map(|sort| sort.fixed_size().unwrap_or(0)).collect();
        let results = match &numbered.sorted {
            Some(sorted) => self.search_sorted(&numbered.model, sorted, number, states, asked),
            None => self.search_model(&numbered.model, number, states, asked),
        };
        self.models.insert(number, numbered.model);
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

impl Reloaded<'_> {
    /// Searches an instance. Where ranges are sorts, it is the same only if nothing faults.
    fn search_sorted(
        &mut self,
        model: &Model,
        sorted: &SortedRanges,
        number: u32,
        states: u64,
        asked: &[PropertyId],
    ) -> Vec<PropertyResult> {
        let mut all = asked.to_vec();
        let rests_on = no_faults_of_ranges(self.loaded);
        all.extend(rests_on.filter(|it| !asked.contains(it)));
        let mut results = self.search_model(&sorted.model, number, states, &all);
        let mut is_same = results
            .iter()
            .any(|result| Some(result.property) == rests_on && matches!(result.verdict, Verdict::Holds));
        for result in &mut results {
            if let Verdict::Violated(violation) = &mut result.verdict {
                match crate::ranges::tell(model, sorted, violation) {
                    Some(told) => **violation = told,
                    None => is_same = false,
                }
            }
        }
        if !is_same {
            return self.search_model(model, number, states, asked);
        }
        results.retain(|result| asked.contains(&result.property));
        results
    }

    /// Searches an instance, with stale values reset if that is the same model.
    fn search_model(
        &mut self,
        model: &Model,
        number: u32,
        states: u64,
        asked: &[PropertyId],
    ) -> Vec<PropertyResult> {
        if self.refreshes
            && let Some(Refreshed { model: fresh, .. }) = refresh(model)
            && let Some(no_faults) = no_faults(model)
        {
            let mut all = asked.to_vec();
            all.extend(Some(no_faults).filter(|it| !asked.contains(it)));
            let mut results = self.search_plain(&fresh, number, states, &all);
            let mut is_same = results
                .iter()
                .any(|result| result.property == no_faults && matches!(result.verdict, Verdict::Holds));
            for result in &mut results {
                if let Verdict::Violated(violation) = &mut result.verdict
                    && let Some(trace) = &mut violation.trace
                {
                    match again(model, trace) {
                        Some(run) => *trace = run,
                        None => is_same = false,
                    }
                }
            }
            if is_same {
                results.retain(|result| asked.contains(&result.property));
                return results;
            }
        }
        self.search_plain(model, number, states, asked)
    }

    fn search_plain(
        &mut self,
        model: &Model,
        number: u32,
        states: u64,
        asked: &[PropertyId],
    ) -> Vec<PropertyResult> {
        let symmetry = shoal_analysis::symmetry(model);
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
        match shoal_explicit::check(model, &job, self.observer) {
            Ok(outcome) => outcome.results,
            // Nothing is known of it.
            Err(_) => {
                let unknown = |property: &PropertyId| PropertyResult {
                    property: *property,
                    verdict: Verdict::Unknown(StopReason::States(0)),
                };
                asked.iter().map(unknown).collect()
            }
        }
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
