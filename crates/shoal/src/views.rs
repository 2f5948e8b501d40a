//! Any number of elements, by views: instances are searched by the explicit engine, everything else is proved or left open.

use std::{borrow::Cow, collections::BTreeMap, rc::Rc};

use shoal_analysis::{
    Refreshed, SortedRanges, WithoutUnread, is_data, loosen, open_data, refresh, with_spare, without_unread,
};
use shoal_certificate::OpenInvariant;
use shoal_model::{
    Failing, Job, Model, Observer, Outcome, PropertyId, PropertyKind, PropertyResult, SortId, SortSize,
    Statistics, StopReason, TypedId, Verdict, Watch,
};
use shoal_verify::{Doubt, Looked};
use shoal_views::{Climb, Finding, Instances, ProofObstacle, Searched};

pub use shoal_views::ViewInWords;

use crate::{
    Error, LoadOptions, Loaded, Proved,
    inactive::{again, moves_on, no_faults},
    load::{Again, NumberedModel, load_again},
};

/// Decides the properties of a model with any number of elements.
pub(crate) fn check(
    loaded: &Loaded,
    job: &Job,
    observer: &mut dyn Observer,
) -> Result<(Outcome, Vec<Proved>), Error> {
    let model = &loaded.model;
    // What holds of all runs does so only if no step fails: that is proved with it.
    let properties = [&job.properties[..], &job.noticed].concat();
    let job = &Job { properties, noticed: Vec::new(), ..job.clone() };
    let mut instances = Reloaded { loaded, job, observer, models: BTreeMap::new(), refreshes: false };
    let stages = climb(loaded, job, &mut instances);
    let fails = stages.iter().any(|stage| stage.climb.fails);
    let models = instances.models;
    let checks: Vec<_> = stages.iter().map(|stage| check_proofs(loaded, stage, &job.watch)).collect();
    let (mut results, mut proved) = (Vec::new(), Vec::new());
    for property in &job.properties {
        let Some((at, finding)) = finding(&stages, *property) else {
            return Err(Error::Internal("a property was asked and not answered".into()));
        };
        let ViewsStage { climb, model: model_of_proofs, .. } = &stages[at];
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
                let check = checks[at]
                    .get(&(*proof, is_deadlock(model, *property)))
                    .ok_or_else(|| Error::Internal("a proof was not checked".into()))?;
                note.note = Some(format!(
                    "{} ({counted}){}{below}; {}",
                    config.words(model_of_proofs),
                    stages[at].words(),
                    check.words()
                ));
                match check {
                    ProofCheck::Rejected(why) => Verdict::Unknown(StopReason::Internal(format!(
                        "it is said to hold, but the checker says of its proof: {why}"
                    ))),
                    ProofCheck::Accepted(_) | ProofCheck::Not(_) => Verdict::Holds,
                }
            }
            Finding::Alike(number) => {
                let (names, number) = (parameters(&loaded.options), number);
                note.note = Some(format!(
                    "{names} = 1..{number} searched; no state holds all values, so more of them change nothing"
                ));
                Verdict::Holds
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
            Finding::Unknown(..) if fails => Verdict::Unknown(StopReason::NotFollowed),
            Finding::Unknown(up_to, why) => Verdict::Unknown(unknown(loaded, *up_to, why, &job.watch)),
        };
        results.push(PropertyResult { property: *property, verdict });
        proved.push(note);
    }
    let failing = if fails { Failing::Step } else { Failing::among(model, &results) };
    let outcome = Outcome { results, failing, statistics: statistics(&stages, job) };
    Ok((outcome, proved))
}

/// What was found with one of the models that mean the same.
struct ViewsStage<'a> {
    model: Cow<'a, Model>,
    climb: Climb,
    /// Whether loops that keep their last element keep any in the model.
    loosened: bool,
    /// What the model does not keep, as nothing reads it.
    unread: Rc<[String]>,
}

impl ViewsStage<'_> {
    /// What is said of its proofs.
    fn words(&self) -> String {
        let loose = if self.loosened { "; whichever element its loops keep" } else { "" };
        let unread = match &self.unread[..] {
            [] => String::new(),
            names => format!("; without {}, which nothing reads", names.join(", ")),
        };
        format!("{loose}{unread}")
    }
}

/// Climbs: first with any number of data and with stale values reset, if that is the same model, then as the model is, or
/// loosened where it has to be.
fn climb<'a>(loaded: &'a Loaded, job: &Job, instances: &mut Reloaded<'_>) -> Vec<ViewsStage<'a>> {
    let (whole, unread): (Cow<'a, Model>, Rc<[String]>) = match without_unread(&loaded.model) {
        Some(WithoutUnread { model, parts }) => (Cow::Owned(model), parts.into()),
        None => (Cow::Borrowed(&loaded.model), Rc::from([])),
    };
    let (base, broken, loosened) = match broken(loaded, &whole) {
        None => (whole, None, false),
        Some(why) => match loosen(&whole) {
            Some(loose) => (Cow::Owned(loose), None, true),
            None => (whole, Some(why), false),
        },
    };
    let mut stages: Vec<ViewsStage<'a>> = Vec::new();
    let mut open = job.properties.clone();
    let opened = open_data(&base).filter(|_| broken.is_none());
    let fresh = refresh(opened.as_ref().unwrap_or(&base)).filter(|_| broken.is_none());
    let is_opened = opened.is_some();
    let fresh = fresh.map(|Refreshed { model, .. }| (Cow::Owned(model), true, is_opened));
    let opened = opened.map(|model| (Cow::Owned(model), false, true));
    let mut variants: Vec<(Cow<'a, Model>, bool, bool)> = fresh.into_iter().chain(opened).collect();
    variants.push((base, false, false));
    let last = variants.len() - 1;
    for (at, (model, refreshed, opened)) in variants.into_iter().enumerate() {
        let rests_on = no_faults(&model).filter(|_| refreshed || !model.range_sorts.is_empty());
        if refreshed && rests_on.is_none() {
            continue;
        }
        let mut asked = open.clone();
        asked.extend(rests_on.filter(|it| !asked.contains(it)));
        instances.refreshes = refreshed;
        let broken = broken.clone().filter(|_| at == last);
        let mut climb = shoal_views::climb(&model, &asked, broken, instances, &job.watch);
        instances.refreshes = false;
        for (_, found) in &mut climb.proofs {
            (found.invariant.refreshed, found.invariant.opened) = (refreshed, opened);
            (found.invariant.loosened, found.invariant.unread) = (loosened, !unread.is_empty());
        }
        let rests_on = rests_on.filter(|it| !climb.proves(*it));
        let why = match refreshed {
            true => "values that seem to be stale may be read",
            false => "a range is taken for a scalarset, which is the same only if nothing faults",
        };
        let climb = climb.without(|_| rests_on.is_some(), why);
        let climb = climb.without(|property| loosened && is_deadlock(&model, property), DOUBTED);
        let is_open =
            |property: &PropertyId| matches!(climb.findings.get(property), None | Some(Finding::Unknown(..)));
        open.retain(is_open);
        let is_wrong = climb.is_wrong(&model);
        // Whether something can always happen is not seen better in a model that tells more states apart.
        let is_closed = !climb.proofs.is_empty() && rests_on.is_none();
        let is_done = is_closed && open.iter().all(|it| is_deadlock(&model, *it));
        stages.push(ViewsStage { model, climb, loosened, unread: Rc::clone(&unread) });
        // What else holds of a model that is known to be wrong is not worth another climb.
        if open.is_empty() || is_done || is_wrong && rests_on.is_none() || job.watch.check().is_err() {
            break;
        }
    }
    stages
}

/// A model that does more than another may go on where that one does not.
const DOUBTED: &str =
    "a loop keeps its last element, and whether something can always happen is not decided then";

/// What is known of a property: what decides it, or what was tried last.
fn finding<'s>(stages: &'s [ViewsStage<'_>], property: PropertyId) -> Option<(usize, &'s Finding)> {
    let all = stages.iter().enumerate();
    let mut found = all.filter_map(|(at, stage)| Some((at, stage.climb.findings.get(&property)?)));
    let decided = found.clone().find(|(_, finding)| !matches!(finding, Finding::Unknown(..)));
    decided.or_else(|| found.next_back())
}

/// How many elements of a sort every instance of a model has, at least: as many as it says. A range that was made a sort has a
/// value.
fn least(model: &Model, sort: SortId) -> usize {
    match model.sorts.get(sort) {
        Some(sort) => sort.fixed_size().unwrap_or(0) as usize,
        None => 1,
    }
}

/// How many elements each sort of a model has, at least, in the instances that a proof is about: those that are not smaller than a
/// view.
fn all_least(loaded: &Loaded, model: &Model, small: &SmallInstances) -> Vec<usize> {
    let of_others = |sort: SortId| small.least.get(sort.index()).copied().unwrap_or(0) as usize;
    model.sorts.ids().map(|sort| least(&loaded.model, sort).max(of_others(sort))).collect()
}

/// The instances that views of so many elements are not about.
struct SmallInstances {
    models: Vec<(u32, Model)>,
    /// How many elements each sort has in all others, at least.
    least: Vec<u32>,
}

/// Instances are counted up to this number until one has as many elements as a view.
const LAST_SMALL: u32 = 64;

/// Reads the instances that are smaller than a view, or that have lower bounds than the model. Sizes do not shrink with the number,
/// so no other instance has fewer elements than the first that is large enough. The error says why that is not known.
fn small_instances(loaded: &Loaded, elements: &[Option<u32>]) -> Result<SmallInstances, String> {
    let bound = loaded.model.open_bounds.iter().map(|(_, from)| *from).max().unwrap_or(1);
    let several = loaded.options.any.len() > 1;
    let (mut models, mut least) = (Vec::new(), None);
    for number in 1..=LAST_SMALL {
        let NumberedModel { model, sizes, .. } = match load_again(loaded, number) {
            Again::Model(numbered) => *numbered,
            Again::None => continue,
            Again::Unlike => return Err(format!("the instance with {number} is unlike the model")),
        };
        let is_small = sizes.iter().zip(elements).any(|(size, count)| Some(*size) < *count);
        if several && (is_small || number < bound) {
            return Err("several numbers are any, and instances smaller than a view are many".into());
        }
        if several {
            return Ok(SmallInstances { models, least: Vec::new() });
        }
        if !is_small {
            least.get_or_insert(sizes);
        }
        if let Some(least) = least.take_if(|_| number >= bound) {
            return Ok(SmallInstances { models, least });
        }
        models.push((number, model));
    }
    Err("there is no instance with as many elements as a view".into())
}

/// Where ranges are sorts that are none in the source: that nothing faults, on which it rests that both are the same. A
/// quantifier over a sort looks at elements that one over a range does not come to.
fn no_faults_of_ranges(loaded: &Loaded) -> Option<PropertyId> {
    no_faults(&loaded.model).filter(|_| !loaded.model.range_sorts.is_empty())
}

/// Runs that the check of a proof may take before anything is said: some hundredths of a second.
const CHECK_RUNS: u64 = 1_000;

/// What the checker says of a proof.
enum ProofCheck {
    Accepted(Looked),
    Rejected(String),
    /// It was not checked, for this reason.
    Not(String),
}

impl ProofCheck {
    fn words(&self) -> String {
        match self {
            ProofCheck::Accepted(looked) if looked.windows == looked.all => "checked".into(),
            ProofCheck::Accepted(looked) => format!("checked in {} of them", looked.windows),
            ProofCheck::Rejected(_) => "rejected by the checker".into(),
            ProofCheck::Not(why) => format!("not checked: {why}"),
        }
    }
}

/// That something can always happen is shown in another way than the rest, which the checker may not follow.
fn is_deadlock(model: &Model, property: PropertyId) -> bool {
    matches!(model.properties[property].kind, PropertyKind::Deadlock(_))
}

/// Checks each proof, for all properties that rest on it, in as many views as is cheap.
fn check_proofs(
    loaded: &Loaded,
    stage: &ViewsStage<'_>,
    watch: &Watch,
) -> BTreeMap<(usize, bool), ProofCheck> {
    let ViewsStage { model, climb, .. } = stage;
    let mut proved: BTreeMap<usize, Vec<PropertyId>> = BTreeMap::new();
    for (property, finding) in &climb.findings {
        if let Finding::Proved { proof, .. } = finding {
            proved.entry(*proof).or_default().push(*property);
        }
    }
    let mut checks = BTreeMap::new();
    for (proof, properties) in proved {
        let Some((_, found)) = climb.proofs.get(proof) else { continue };
        let check = |properties: &[PropertyId]| {
            let runs = Some(CHECK_RUNS);
            // Nothing else asks how many elements there are.
            let least = match properties.iter().any(|property| is_deadlock(model, *property)) {
                true => small_instances(loaded, &found.invariant.elements)
                    .map_or_else(|_| Vec::new(), |small| all_least(loaded, model, &small)),
                false => Vec::new(),
            };
            match shoal_verify::check_windows(model, &found.invariant, properties, &least, runs, watch) {
                Ok(looked) => ProofCheck::Accepted(looked),
                Err(Doubt::Rejected(why)) => ProofCheck::Rejected(why),
                Err(Doubt::Lacking(what)) => ProofCheck::Not(format!("the checker does not support {what}")),
                Err(Doubt::Stopped(why)) => ProofCheck::Not(why.to_string()),
            }
        };
        let (deadlock, others): (Vec<PropertyId>, Vec<PropertyId>) =
            properties.iter().partition(|property| is_deadlock(model, **property));
        let groups = [(true, deadlock), (false, others)].into_iter().filter(|(_, group)| !group.is_empty());
        // Mostly all is accepted at once; if not, it is told of what.
        match check(&properties) {
            ProofCheck::Accepted(looked) => {
                checks.extend(groups.map(|(kind, _)| ((proof, kind), ProofCheck::Accepted(looked))));
            }
            ProofCheck::Rejected(_) | ProofCheck::Not(_) => {
                checks.extend(groups.map(|(kind, group)| ((proof, kind), check(&group))));
            }
        }
    }
    checks
}

/// How much of a proof by views was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewsAudit {
    /// The views.
    pub looked: Looked,
    /// The smaller instances that the interpreter has searched, from 1.
    pub searched: u32,
    /// Properties that say which steps fail, and which these views do not prove: the rest holds only as far as they do.
    pub rests_on: Vec<PropertyId>,
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
    let mut model = Cow::Borrowed(&loaded.model);
    if invariant.unread {
        model = match without_unread(&model) {
            Some(without) => Cow::Owned(without.model),
            None => return Ok(Err("all that is written is read".into())),
        };
    }
    if invariant.loosened {
        model = match loosen(&model) {
            Some(loose) => Cow::Owned(loose),
            None => return Ok(Err("there is no loop that keeps its last element".into())),
        };
        if properties.iter().any(|property| is_deadlock(&model, *property)) {
            return Ok(Err(DOUBTED.into()));
        }
    } else if let Some(why) = broken(loaded, &model) {
        return Ok(Err(why));
    }
    let runs = if full { None } else { Some(VERIFY_RUNS) };
    // What the proof rests on has to be proved, too.
    let mut claimed = properties.to_vec();
    // Where the proof is for any number of data as well, it is for the number that the model has.
    if invariant.opened {
        model = match open_data(&model) {
            Some(opened) => Cow::Owned(opened),
            None => return Ok(Err("there is no data of any number".into())),
        };
    }
    if invariant.refreshed {
        model = match refresh(&model) {
            Some(fresh) => Cow::Owned(fresh.model),
            None => return Ok(Err("there are no stale values to be reset".into())),
        };
    }
    let rests_on = no_faults(&model).filter(|_| invariant.refreshed || !model.range_sorts.is_empty());
    claimed.extend(rests_on.filter(|it| !properties.contains(it)));
    let small = match small_instances(loaded, &invariant.elements) {
        Ok(small) => small,
        Err(why) => return Ok(Err(why)),
    };
    let least = all_least(loaded, &model, &small);
    let looked = match shoal_verify::check_windows(&model, invariant, &claimed, &least, runs, watch) {
        Ok(looked) => looked,
        Err(Doubt::Rejected(why)) => return Ok(Err(why)),
        Err(Doubt::Lacking(what)) => return Ok(Err(format!("the checker does not support {what}"))),
        Err(Doubt::Stopped(why)) => return Err(Error::Stopped(why)),
    };
    // Steps that fail are looked for by themselves, as other views may prove that there are none.
    let fails = |id: &PropertyId| !claimed.contains(id) && model.properties[*id].kind.says_what_fails();
    let mut rests_on: Vec<PropertyId> = model.properties.ids().filter(fails).collect();
    if !rests_on.is_empty() {
        match shoal_verify::check_windows(&model, invariant, &rests_on, &least, runs, watch) {
            Ok(_) => rests_on.clear(),
            Err(Doubt::Rejected(_) | Doubt::Lacking(_)) => {}
            Err(Doubt::Stopped(why)) => return Err(Error::Stopped(why)),
        }
    }
    let searched = small.models.last().map_or(0, |(number, _)| *number);
    let wrong = search_small(loaded, &small, properties, watch)?;
    Ok(wrong.map_or(Ok(ViewsAudit { looked, searched, rests_on }), Err))
}

/// Searches the instances that views are not about with the interpreter; what is wrong with them, if anything.
fn search_small(
    loaded: &Loaded,
    small: &SmallInstances,
    properties: &[PropertyId],
    watch: &Watch,
) -> Result<Option<String>, Error> {
    let names = parameters(&loaded.options);
    for (number, instance) in &small.models {
        watch.check().map_err(Error::Stopped)?;
        let found = shoal_interpret::explore(instance, SMALL_STATES)
            .map_err(|error| Error::NotRunnable(error.to_string()))?;
        if found.fails {
            return Ok(Some(format!("a step fails with {names} = {number}")));
        }
        if let Some(property) = properties.iter().find(|it| found.violated.contains_key(it)) {
            let name = &loaded.model.properties[*property].name;
            return Ok(Some(format!("{name:?} is violated with {names} = {number}")));
        }
        if !found.complete {
            return Ok(Some(format!("the instance with {names} = {number} is too large to be searched")));
        }
    }
    Ok(None)
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
    let stages = climb(loaded, &job, &mut instances);
    let mut shown = Abstracted { proofs: Vec::new(), open: Vec::new(), decided: Vec::new() };
    for (at, stage) in stages.iter().enumerate() {
        for (number, (config, found)) in stage.climb.proofs.iter().enumerate() {
            let proves = |property: &PropertyId| matches!(finding(&stages, *property), Some((of, Finding::Proved { proof, .. })) if (of, *proof) == (at, number));
            let properties: Vec<PropertyId> = stage.climb.findings.keys().copied().filter(proves).collect();
            if !properties.is_empty() {
                let words = format!("{}{}", config.words(&stage.model), stage.words());
                let bits = found.bits.clone();
                let (count, views) = (found.views, found.shown.clone());
                shown.proofs.push(AbstractedProof { words, properties, bits, count, views });
            }
        }
    }
    for property in &job.properties {
        match finding(&stages, *property) {
            None | Some((_, Finding::Proved { .. })) => {}
            Some((_, Finding::Alike(number) | Finding::Covered(number) | Finding::Violated(number, _))) => {
                shown.decided.push((*property, *number));
            }
            Some((_, Finding::Unknown(up_to, why))) => {
                shown.open.push((*property, unknown(loaded, *up_to, why, watch).to_string()));
            }
        }
    }
    Some(shown)
}

fn unknown(loaded: &Loaded, up_to: u32, obstacle: &ProofObstacle, watch: &Watch) -> StopReason {
    let stopped = watch.check().err();
    if let Some(stopped) = &stopped
        && (up_to == 0 || matches!(stopped, StopReason::Interrupted))
    {
        return stopped.clone();
    }
    let place = obstacle.span.map(|span| format!(" ({})", loaded.sources.locate(span)));
    let why = format!("{}{}", obstacle.why, place.unwrap_or_default());
    let names = parameters(&loaded.options);
    let so_far = match up_to {
        0 => String::new(),
        1 => format!("holds for {names} = 1; "),
        n => format!("holds for {names} = 1..{n}; "),
    };
    let stopped = stopped.map_or(String::new(), |stopped| format!("{stopped}; so far "));
    StopReason::AnyNumber(format!("{so_far}not proved beyond: {stopped}{why}"))
}

fn parameters(options: &LoadOptions) -> String {
    options.any.join(", ")
}

fn statistics(stages: &[ViewsStage<'_>], job: &Job) -> Statistics {
    Statistics {
        engine: "views",
        states: stages.iter().map(|stage| stage.climb.views as u64).sum(),
        transitions: stages.iter().map(|stage| stage.climb.runs).sum(),
        time: job.watch.elapsed(),
        threads: 1,
        ..Statistics::default()
    }
}

/// Why the elements of a sort with any number cannot be interchanged, if that is so.
fn broken(loaded: &Loaded, model: &Model) -> Option<String> {
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
        let numbered = match load_again(self.loaded, number) {
            Again::Model(numbered) => *numbered,
            Again::None => return None,
            // As if it was smaller than any view and could not be searched.
            Again::Unlike => {
                let sizes = vec![0; self.loaded.model.sorts.len()];
                return Some(Searched { results: nothing_known(asked), sizes, fails: false });
            }
        };
        let sizes = numbered.sizes;
        let (results, fails) = match &numbered.sorted {
            Some(sorted) => self.search_sorted(&numbered.model, sorted, number, states, asked),
            None => self.search_model(&numbered.model, number, states, asked),
        };
        self.models.insert(number, numbered.model);
        Some(Searched { results, sizes, fails })
    }

    fn search_data(&mut self, number: u32, states: u64, asked: &[PropertyId]) -> Option<(Searched, bool)> {
        let numbered = match load_again(self.loaded, number) {
            Again::Model(numbered) if numbered.sorted.is_none() => *numbered,
            Again::Model(_) | Again::None | Again::Unlike => return None,
        };
        let (model, sizes) = (numbered.model, numbered.sizes);
        let spare = self.search_spare(&model, number, states, asked);
        let (results, is_alike, fails) = match spare {
            Some((results, is_alike)) => (results, is_alike, false),
            None => {
                let (results, fails) = self.search_model(&model, number, states, asked);
                (results, false, fails)
            }
        };
        self.models.insert(number, model);
        Some((Searched { results, sizes, fails }, is_alike))
    }

    fn least(&self, sort: SortId) -> usize {
        least(&self.loaded.model, sort)
    }

    fn is_one_number(&self) -> bool {
        let open = |id: &SortId| {
            let model = &self.loaded.model;
            model.sorts[*id].size == SortSize::Any && !shoal_analysis::is_data(model, *id)
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
    ) -> (Vec<PropertyResult>, bool) {
        let mut all = asked.to_vec();
        let rests_on = no_faults_of_ranges(self.loaded);
        all.extend(rests_on.filter(|it| !asked.contains(it)));
        let (mut results, fails) = self.search_model(&sorted.model, number, states, &all);
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
        (results, fails)
    }

    /// Searches an instance of which only data has any number, and whether larger ones do nothing else. Nothing if not all holds
    /// that is asked, or if a step fails: what lies behind it was not seen.
    fn search_spare(
        &mut self,
        model: &Model,
        number: u32,
        states: u64,
        asked: &[PropertyId],
    ) -> Option<(Vec<PropertyResult>, bool)> {
        let open = &self.loaded.model;
        let is_any = |sort: &SortId| open.sorts[*sort].size == SortSize::Any;
        let data: Vec<SortId> = open.sorts.ids().filter(is_any).collect();
        if !open.open_bounds.is_empty() || !data.iter().all(|sort| is_data(open, *sort)) {
            return None;
        }
        let no_faults = no_faults(model);
        let fresh = refresh(model).filter(|_| self.refreshes && no_faults.is_some());
        let rests_on = no_faults.filter(|_| fresh.is_some());
        let fresh = fresh.map(|Refreshed { model, .. }| model);
        let (bounded, spare) = with_spare(fresh.as_ref().unwrap_or(model), &data)?;
        let mut all = asked.to_vec();
        all.extend(rests_on.into_iter().chain([spare]).filter(|it| !asked.contains(it)));
        let (mut results, fails) = self.search_plain(&bounded, number, states, &all);
        let holds = |property: PropertyId| {
            let result = results.iter().find(|result| result.property == property);
            result.is_some_and(|result| matches!(result.verdict, Verdict::Holds))
        };
        let is_alike = holds(spare);
        let all_hold = !fails && asked.iter().copied().chain(rests_on).all(holds);
        results.retain(|result| asked.contains(&result.property));
        all_hold.then_some((results, is_alike))
    }

    /// Searches an instance, without what nothing reads and with stale values reset, if that is the same model.
    fn search_model(
        &mut self,
        model: &Model,
        number: u32,
        states: u64,
        asked: &[PropertyId],
    ) -> (Vec<PropertyResult>, bool) {
        let whole = without_unread(model).map(|WithoutUnread { model, .. }| model);
        let no_faults = no_faults(model).filter(|_| self.refreshes);
        let fresh = no_faults.and_then(|_| refresh(whole.as_ref().unwrap_or(model)));
        let rests_on = no_faults.filter(|_| fresh.is_some());
        if let Some(reduced) = fresh.map(|Refreshed { model, .. }| model).or(whole) {
            let mut all = asked.to_vec();
            all.extend(rests_on.filter(|it| !asked.contains(it)));
            let (mut results, fails) = self.search_plain(&reduced, number, states, &all);
            let holds = |it: PropertyId| {
                results.iter().any(|result| result.property == it && matches!(result.verdict, Verdict::Holds))
            };
            let mut is_same = rests_on.is_none_or(holds);
            for result in &mut results {
                if let Verdict::Violated(violation) = &mut result.verdict
                    && let Some(trace) = &mut violation.trace
                {
                    match again(model, trace) {
                        Some(run) if !moves_on(model, result.property, &run) => *trace = run,
                        _ => is_same = false,
                    }
                }
            }
            if is_same {
                results.retain(|result| asked.contains(&result.property));
                return (results, fails);
            }
        }
        self.search_plain(model, number, states, asked)
    }

    /// Searches an instance: what is found of the properties, and whether a step is seen to fail.
    fn search_plain(
        &mut self,
        model: &Model,
        number: u32,
        states: u64,
        asked: &[PropertyId],
    ) -> (Vec<PropertyResult>, bool) {
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
            Ok(outcome) => (outcome.results, outcome.failing == Failing::Step),
            // Nothing is known of it.
            Err(_) => (nothing_known(asked), false),
        }
    }
}

/// Nothing is known of any of these.
fn nothing_known(asked: &[PropertyId]) -> Vec<PropertyResult> {
    let unknown = |property: &PropertyId| PropertyResult {
        property: *property,
        verdict: Verdict::Unknown(StopReason::States(0)),
    };
    asked.iter().map(unknown).collect()
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
