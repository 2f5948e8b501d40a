//! Runs the tasks of a plan under one watch, and merges what they find in one place.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet, HashMap},
    panic::{AssertUnwindSafe, catch_unwind},
};

use shoal_interpret::{Blame, Claim, ReplayError, under};
use shoal_model::{
    Failing, Job, MirrorSearch, Model, Observer, Outcome, PartialOrder, PropertyId, PropertyKind,
    PropertyResult, Reason, SortId, Statistics, StopReason, Unsupported, Verdict, Violation, Watch,
};

mod behind;

use crate::{
    CheckOptions, Decided, Error, Event, Loaded, Plan, Proved, Report, Task, check,
    engines::{Engine, Extras, engine},
    extremes::ExtremeFound,
    inactive, ranges, symmetric,
};

/// What is known so far.
pub(crate) struct Ledger {
    entries: Vec<DriverEntry>,
    work: Vec<Statistics>,
    extras: Extras,
    /// What the options of the call ask in vain of an engine, and what an engine lacks.
    refused: Option<Error>,
    causes: BTreeMap<PropertyId, Vec<Blame>>,
    claims: BTreeMap<PropertyId, Vec<Claim>>,
    unsettled: BTreeSet<PropertyId>,
    /// Whether some step fails: nothing was seen of what is behind it.
    failed: bool,
    /// Properties that say which steps fail, and are known to hold.
    secured: BTreeSet<PropertyId>,
}

struct DriverEntry {
    property: PropertyId,
    verdict: Option<Verdict>,
    by: Option<usize>,
    /// What it holds by as far as no step fails, which was not found out: the property that says it, if it is one, and why.
    rests_on: Option<(Option<PropertyId>, StopReason)>,
    /// Whether nothing can change it any more: a violation that was replayed, or that is a mistake of ours.
    is_final: bool,
    /// Whether it was announced.
    told: bool,
}

impl DriverEntry {
    /// A verdict that no other engine can better.
    fn is_settled(&self) -> bool {
        let decided = matches!(self.verdict, Some(Verdict::Holds | Verdict::Violated(_)));
        self.is_final || decided && self.rests_on.is_none()
    }

    /// Whether what is said rests on what is not known, and nothing better comes of this.
    fn is_kept(&self, verdict: &Verdict) -> bool {
        self.rests_on.is_some() && matches!(verdict, Verdict::Unknown(_))
    }

    fn is_refused(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Unknown(StopReason::Unsupported(_))))
    }
}

impl Ledger {
    pub(crate) fn new(asked: &[PropertyId]) -> Ledger {
        let entry = |property: &PropertyId| DriverEntry {
            property: *property,
            verdict: None,
            by: None,
            rests_on: None,
            is_final: false,
            told: false,
        };
        Ledger {
            entries: asked.iter().map(entry).collect(),
            work: Vec::new(),
            extras: Extras::default(),
            refused: None,
            causes: BTreeMap::new(),
            claims: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            failed: false,
            secured: BTreeSet::new(),
        }
    }

    /// The properties that say which steps fail and are neither among these nor known to hold.
    fn noticed(&self, model: &Model, properties: &[PropertyId]) -> Vec<PropertyId> {
        let open = |id: &PropertyId| !properties.contains(id) && !self.secured.contains(id);
        let fails = |id: &PropertyId| model.properties[*id].kind.says_what_fails();
        model.properties.ids().filter(fails).filter(open).collect()
    }

    /// Whether there is anything left to do and time to do it in; what is open is unknown if not.
    pub(crate) fn goes_on(&mut self, watch: &Watch) -> bool {
        let Err(reason) = watch.check() else {
            return self.entries.iter().any(|entry| !entry.is_settled());
        };
        for entry in self.entries.iter_mut().filter(|entry| !entry.is_settled()) {
            // What a first try says of its own limits is of no use to anybody.
            let spent = matches!(entry.verdict, None | Some(Verdict::Unknown(StopReason::States(_))));
            if spent || entry.is_refused() {
                entry.verdict = Some(Verdict::Unknown(reason.clone()));
            }
        }
        false
    }

    /// Those of the properties that are open.
    pub(crate) fn open(&self, of: &[PropertyId]) -> Vec<PropertyId> {
        let open = self.entries.iter().filter(|entry| !entry.is_settled() && of.contains(&entry.property));
        open.map(|entry| entry.property).collect()
    }

    /// Takes down what a task found out about properties of a model.
    fn enter(&mut self, model: &Model, outcome: Outcome, extras: Extras) {
        let by = self.work.len();
        let empty = outcome.statistics.exhaustive && outcome.statistics.states == 0;
        self.work.push(outcome.statistics);
        let open = match outcome.failing {
            Failing::Nothing => None,
            Failing::Step => {
                self.failed = true;
                None
            }
            Failing::Open(of, reason) => Some((of, reason)),
        };
        for PropertyResult { property, mut verdict } in outcome.results {
            if empty && matches!(verdict, Verdict::Holds) {
                verdict = Verdict::Unknown(StopReason::NoStart);
            }
            let kind = &model.properties[property].kind;
            if matches!(verdict, Verdict::Holds) && kind.says_what_fails() {
                self.secured.insert(property);
            }
            let rests_on = open.clone().filter(|_| behind::is_of_all(kind, &verdict));
            let own = self.entries.iter_mut().filter(|entry| entry.property == property);
            for entry in own.filter(|entry| !entry.is_settled() && !entry.is_kept(&verdict)) {
                entry.verdict = Some(verdict.clone());
                entry.by = Some(by);
                entry.rests_on = rests_on.clone();
            }
        }
        let is_secured = |of: &(Option<PropertyId>, StopReason)| {
            of.0.is_some_and(|property| self.secured.contains(&property))
        };
        for entry in &mut self.entries {
            entry.rests_on.take_if(|rests_on| is_secured(rests_on));
        }
        self.extras.unsaved = extras.unsaved.or(self.extras.unsaved.take());
        self.extras.proved.extend(extras.proved);
    }

    /// The values that are asked for and not known yet.
    pub(crate) fn values(&self, model: &Model) -> Vec<PropertyId> {
        let is_value =
            |entry: &&DriverEntry| matches!(model.properties[entry.property].kind, PropertyKind::Extreme(_));
        let open = self.entries.iter().filter(|entry| !entry.is_settled());
        open.filter(is_value).map(|entry| entry.property).collect()
    }

    /// Takes down a value that was asked for.
    pub(crate) fn answer(&mut self, property: PropertyId, found: ExtremeFound) {
        let by = self.work.len();
        self.work.push(found.statistics);
        for entry in self.entries.iter_mut().filter(|entry| entry.property == property) {
            entry.verdict = Some(found.verdict.clone());
            entry.by = Some(by);
        }
        self.extras.proved.extend(found.words.map(|words| Proved::noted(property, words)));
    }

    /// Takes down that an engine does not take a property; what another said of it stays.
    fn refuse(&mut self, property: PropertyId, unsupported: &Unsupported) {
        let open = |entry: &&mut DriverEntry| entry.property == property && entry.verdict.is_none();
        for entry in self.entries.iter_mut().filter(open) {
            entry.verdict = Some(Verdict::Unknown(StopReason::Unsupported(unsupported.to_string())));
        }
        self.refused.get_or_insert_with(|| Error::Unsupported(unsupported.clone()));
    }

    /// Takes down that an engine made a mistake when it was to decide a property; what another said of it stays.
    fn fail(&mut self, property: PropertyId, why: &str) {
        let open = |entry: &&mut DriverEntry| entry.property == property && !entry.is_settled();
        for entry in self.entries.iter_mut().filter(open) {
            entry.verdict = Some(Verdict::Unknown(StopReason::Internal(why.into())));
        }
    }

    /// Confirms the violations that were found and finds what is to blame for them. One that is not confirmed is a mistake in
    /// Shoal, or in what its user answers for, and becomes unknown: the verdicts on other properties stay. One for which there is no
    /// time is not shown either.
    pub(crate) fn confirm(&mut self, loaded: &Loaded, plan: &Plan, ended: Option<StopReason>, watch: &Watch) {
        for entry in self.entries.iter_mut().filter(|entry| !entry.is_final) {
            let property = entry.property;
            let Some(Verdict::Violated(violation)) = &entry.verdict else { continue };
            // That a bound was reached violates nothing: see `within_bounds`.
            if is_bound(&loaded.model, property) {
                continue;
            }
            entry.is_final = true;
            // The search was ended before it had found the run to what it saw.
            let is_cut = violation.trace.is_none() && violation.reason != Reason::NeverCovered;
            if let (true, Some(reason)) = (is_cut, &ended) {
                entry.verdict = Some(Verdict::Unknown(reason.clone()));
                continue;
            }
            let mut proved = self.extras.proved.iter().filter(|it| it.property == property);
            let instance = proved.find_map(|it| it.instance.as_deref().cloned());
            let sized = instance.or_else(|| check::sized(loaded, violation));
            let model = sized.as_ref().unwrap_or(&loaded.model);
            let wrong = match contain(|| under(watch, || confirm(model, property, violation))) {
                Ok(Ok(Ok(true))) => None,
                Ok(Ok(Ok(false))) => {
                    self.unsettled.insert(property);
                    None
                }
                // The moment that was left is nobody's limit.
                Ok(Err(reason)) => Some(ended.clone().unwrap_or(reason)),
                Ok(Ok(Err(why))) if !plan.trusted.is_empty() => Some(StopReason::Granted(why)),
                Ok(Ok(Err(why))) | Err(why) => Some(StopReason::Internal(why)),
            };
            if let Some(reason) = wrong {
                entry.verdict = Some(Verdict::Unknown(reason));
                continue;
            }
            let causes = under(watch, || check::blame(model, property, violation)).unwrap_or_default();
            self.causes.insert(property, causes);
            let claims = under(watch, || shoal_interpret::claims(model, property, violation, BUDGET));
            self.claims.insert(property, claims.unwrap_or_default());
        }
    }

    /// Tells the verdicts that nothing can change any more.
    pub(crate) fn announce(&mut self, loaded: &Loaded, tell: &mut dyn FnMut(Event)) {
        let may_change = |entry: &DriverEntry| {
            is_bound(&loaded.model, entry.property) && !matches!(entry.verdict, Some(Verdict::Holds))
        };
        // Where a bound of the model is reached, or a step fails, what seemed to hold is not known.
        let says_what_fails = |entry: &DriverEntry| {
            loaded.model.properties[entry.property].kind.says_what_fails()
                && !matches!(entry.verdict, Some(Verdict::Holds))
        };
        let bounded =
            self.failed || self.entries.iter().any(|entry| may_change(entry) || says_what_fails(entry));
        for at in 0..self.entries.len() {
            let DriverEntry { property, verdict, by, rests_on, is_final, told } = &self.entries[at];
            let Some(verdict) = verdict else { continue };
            let kind = &loaded.model.properties[*property].kind;
            let doubted = (bounded || rests_on.is_some()) && behind::is_of_all(kind, verdict);
            let known = *is_final || matches!(verdict, Verdict::Holds) && !bounded;
            if known && !doubted && !*told {
                tell(self.decided(*property, verdict, *by));
                self.entries[at].told = true;
            }
        }
    }

    fn decided(&self, property: PropertyId, verdict: &Verdict, by: Option<usize>) -> Event {
        Event::Verdict(Box::new(Decided {
            property,
            verdict: verdict.clone(),
            causes: self.causes.get(&property).cloned().unwrap_or_default(),
            engine: by.map(|by| self.work[by].engine),
        }))
    }

    /// The report; tells the verdicts that are left. An error if an engine was asked for, or options, with which nothing at
    /// all can be decided.
    pub(crate) fn finish(
        mut self,
        loaded: &Loaded,
        plan: Plan,
        options: &CheckOptions,
        tell: &mut dyn FnMut(Event),
    ) -> Result<Report, Error> {
        // Who asks for an engine asks for what the author wrote; some things are asked of every model. A violation is told all the same.
        let is_written = |entry: &&DriverEntry| {
            let kind = &loaded.model.properties[entry.property].kind;
            let implied = matches!(kind, PropertyKind::NoFaults | PropertyKind::Bound);
            !implied && loaded.model.implied_deadlock != Some(entry.property)
        };
        let mut written = self.entries.iter().filter(is_written).peekable();
        let is_violated = |entry: &DriverEntry| matches!(entry.verdict, Some(Verdict::Violated(_)));
        let nothing_written = written.peek().is_some()
            && written.all(DriverEntry::is_refused)
            && !self.entries.iter().any(is_violated);
        let nothing = !self.entries.is_empty() && self.entries.iter().all(DriverEntry::is_refused);
        if let Some(error) = self.refused.take()
            && match options.engine {
                Some(_) => nothing || nothing_written,
                None => nothing && matches!(error, Error::Call(_)),
            }
        {
            return Err(error);
        }
        let result = |entry: &DriverEntry| {
            let doubted = entry.rests_on.as_ref().map(|it| behind::doubted(&loaded.model, it));
            let verdict = doubted.or_else(|| entry.verdict.clone()).unwrap_or_else(|| {
                Verdict::Unknown(match &loaded.model.properties[entry.property].kind {
                    PropertyKind::Unclear(why) => StopReason::Unclear(why.clone()),
                    _ => StopReason::Internal("no engine was asked".into()),
                })
            });
            PropertyResult { property: entry.property, verdict }
        };
        let results = self.entries.iter().map(result).collect();
        let failing = if self.failed { Failing::Step } else { Failing::Nothing };
        let mut outcome = Outcome { results, failing, statistics: self.principal() };
        within_bounds(loaded, &mut outcome);
        if self.failed {
            behind::not_followed(&loaded.model, &mut outcome.results);
        }
        for (result, entry) in outcome.results.iter().zip(&self.entries).filter(|(_, entry)| !entry.told) {
            tell(self.decided(result.property, &result.verdict, entry.by));
        }
        Ok(Report {
            plan,
            outcome,
            decided_by: self.entries.iter().map(|entry| entry.by).collect(),
            work: self.work,
            causes: self.causes,
            claims: self.claims,
            unsettled: self.unsettled,
            unsaved: self.extras.unsaved,
            proved: self.extras.proved,
        })
    }

    /// The statistics of the work that decided most, with what all together say of the rules.
    fn principal(&self) -> Statistics {
        let decided = |at: usize| self.entries.iter().filter(|entry| entry.by == Some(at)).count();
        let most = (0..self.work.len()).rev().max_by_key(|at| decided(*at));
        let mut statistics = most.map(|at| self.work[at].clone()).unwrap_or_default();
        for other in &self.work {
            statistics.exhaustive |= other.exhaustive;
            for (fired, more) in statistics.fired.iter_mut().zip(&other.fired) {
                *fired = (*fired).max(*more);
            }
        }
        statistics
    }
}

/// Where the model had no room for what came next, nothing was seen beyond, and what was not violated is not known.
fn within_bounds(loaded: &Loaded, outcome: &mut Outcome) {
    let is_bound = |id: PropertyId| is_bound(&loaded.model, id);
    let reached = outcome
        .results
        .iter()
        .find(|result| is_bound(result.property) && matches!(result.verdict, Verdict::Violated(_)));
    let Some(bound) = reached.map(|result| result.property) else { return };
    for result in &mut outcome.results {
        // A mistake of ours is not explained by a bound.
        let stays =
            matches!(result.verdict, Verdict::Violated(_) | Verdict::Unknown(StopReason::Internal(_)));
        if is_bound(result.property) || !stays {
            result.verdict = Verdict::Unknown(StopReason::Bound(bound));
        }
    }
    outcome.statistics.exhaustive = false;
}

fn is_bound(model: &Model, property: PropertyId) -> bool {
    matches!(model.properties[property].kind, PropertyKind::Bound)
}

/// How many states the interpreter may look at to see that something cannot be reached: about a second's worth.
const BUDGET: usize = 10_000;

/// Whether a violation is confirmed. One that does not replay is a mistake in the engine and is never shown as a
/// violation; of one that replays, the interpreter may run out of its budget.
fn confirm(model: &Model, property: PropertyId, violation: &Violation) -> Result<bool, String> {
    match shoal_interpret::confirm_within(model, property, violation, BUDGET) {
        Ok(()) => Ok(true),
        Err(ReplayError::NotConfirmed { .. }) => Ok(false),
        Err(error) => {
            let name = &model.properties[property].name;
            Err(format!("{name:?} is said to be violated, but that does not replay: {error}"))
        }
    }
}

/// Runs a task on what is still open of it.
pub(crate) fn run(
    loaded: &Loaded,
    plan: &Plan,
    task: &Task,
    options: &CheckOptions,
    ledger: &mut Ledger,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let sized = match task.size {
        Some((sort, size)) => match loaded.model.instance(sort, size) {
            None => return Ok(()),
            sized => sized,
        },
        None => None,
    };
    let model = sized.as_ref().unwrap_or(&loaded.model);
    let mut engine = engine(task.engine, loaded, options, &task.symmetric);
    let mut properties = Vec::new();
    for property in ledger.open(&task.properties) {
        // What is not understood nobody decides; values are found by bounds on them.
        if matches!(model.properties[property].kind, PropertyKind::Unclear(_) | PropertyKind::Extreme(_)) {
            continue;
        }
        match contain(|| engine.supports(model, property)) {
            Ok(Ok(())) => properties.push(property),
            Ok(Err(unsupported)) => ledger.refuse(property, &unsupported),
            Err(why) => ledger.fail(property, &why),
        }
    }
    if properties.is_empty() {
        return Ok(());
    }
    let watch = match task.states {
        Some(states) => options.watch.with_states(Some(states)),
        None => options.watch.clone(),
    };
    let job = Job {
        noticed: ledger.noticed(model, &properties),
        properties,
        symmetric: task.symmetric.clone(),
        checked: task.checked.clone(),
        automorphisms: looks_for_automorphisms(model, options),
        watch,
        patience: if task.size.is_some() { Some(0) } else { options.patience },
        jit: options.jit,
        threads: options.threads,
        strategy: options.strategy,
        adapts: !saves(options),
    };
    let mut runner =
        TaskRunner { loaded, model, task, trusted: &plan.trusted, options, engine: &mut *engine, observer };
    runner.run(&job, ledger)
}

/// Whether what is so with one number of elements decides a property of any number: a violation does, and for what is to be
/// reached with some number, that it is.
fn tells(kind: &PropertyKind, verdict: &Verdict) -> bool {
    match kind {
        PropertyKind::Cover(_) | PropertyKind::CoverDeadlock(_) => matches!(verdict, Verdict::Holds),
        PropertyKind::Invariant(_)
        | PropertyKind::Assertion
        | PropertyKind::NoFaults
        | PropertyKind::Bound
        | PropertyKind::Deadlock(_)
        | PropertyKind::Assume(_)
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Temporal(..) => matches!(verdict, Verdict::Violated(_)),
        PropertyKind::Extreme(_) | PropertyKind::Unclear(_) => false,
    }
}

/// Whether the search is saved, or one that was.
fn saves(options: &CheckOptions) -> bool {
    options.checkpoints.save.is_some() || options.checkpoints.resume.is_some()
}

/// When the engine looks for automorphisms: of processes, where that may pay, and of anything, if it is asked to. A saved search
/// would have to say by which it was reduced.
fn looks_for_automorphisms(model: &Model, options: &CheckOptions) -> MirrorSearch {
    match () {
        () if !options.symmetry || saves(options) => MirrorSearch::Never,
        () if options.automorphisms => MirrorSearch::First,
        // Who wants all orders of steps wants the states that SPIN counts.
        () if model.agents.is_empty() || options.strategy.partial_order == PartialOrder::Off => {
            MirrorSearch::Never
        }
        () => MirrorSearch::WhenLarge,
    }
}

/// Does work in which there may be a mistake of ours. An internal error is a panic that names its place; it ends here, and is
/// the answer to what was being decided, and to nothing else.
pub(crate) fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let said = |payload: Box<dyn Any + Send>| match payload.downcast::<String>() {
        Ok(said) => *said,
        Err(payload) => payload.downcast::<&str>().map_or_else(|_| "a panic".into(), |said| said.to_string()),
    };
    // What the work leaves behind half done is the engine's own, and is not looked at again.
    catch_unwind(AssertUnwindSafe(work)).map_err(said)
}

/// Why properties that were to be decided together are not.
#[derive(PartialEq)]
enum Spoilt {
    Unsupported(Unsupported),
    /// An internal error.
    Mistake(String),
}

impl Spoilt {
    fn note(&self, property: PropertyId, ledger: &mut Ledger) {
        match self {
            Spoilt::Unsupported(unsupported) => ledger.refuse(property, unsupported),
            Spoilt::Mistake(why) => ledger.fail(property, why),
        }
    }
}

struct TaskRunner<'a, 'e> {
    loaded: &'a Loaded,
    model: &'a Model,
    task: &'a Task,
    trusted: &'a [SortId],
    options: &'a CheckOptions,
    engine: &'e mut dyn Engine,
    observer: &'e mut dyn Observer,
}

impl TaskRunner<'_, '_> {
    /// Where an engine refuses all properties together, or makes a mistake, each is tried alone: one is not to take the others
    /// with it.
    fn run(&mut self, job: &Job, ledger: &mut Ledger) -> Result<(), Error> {
        let Some(spoilt) = self.attempt(job, ledger)? else { return Ok(()) };
        if let [property] = job.properties[..] {
            spoilt.note(property, ledger);
            return Ok(());
        }
        let mut same: HashMap<&str, usize> = HashMap::new();
        for property in &job.properties {
            let kind = self.model.properties[*property].kind.noun();
            // After two of a kind that are refused for the same reason, a third is, too; another kind may not be.
            if same.get(kind) == Some(&2) {
                spoilt.note(*property, ledger);
                continue;
            }
            if !ledger.goes_on(&job.watch) {
                break;
            }
            let noticed = ledger.noticed(self.model, &[*property]);
            let alone = Job { properties: vec![*property], noticed, ..job.clone() };
            if let Some(alone) = self.attempt(&alone, ledger)? {
                *same.entry(kind).or_default() += usize::from(alone == spoilt);
                alone.note(*property, ledger);
            }
        }
        Ok(())
    }

    /// Decides properties together, if that can be done.
    fn attempt(&mut self, job: &Job, ledger: &mut Ledger) -> Result<Option<Spoilt>, Error> {
        match contain(|| self.decide(job)) {
            Ok(Ok(outcome)) => {
                self.enter(outcome, ledger);
                Ok(None)
            }
            Ok(Err(Error::Unsupported(unsupported))) => Ok(Some(Spoilt::Unsupported(unsupported))),
            Ok(Err(Error::Call(unsupported))) if self.options.engine.is_none() => {
                job.properties.iter().for_each(|property| ledger.refuse(*property, &unsupported));
                ledger.refused = Some(Error::Call(unsupported));
                Ok(None)
            }
            Ok(Err(error)) => Err(error),
            Err(why) => Ok(Some(Spoilt::Mistake(why))),
        }
    }

    fn enter(&mut self, mut outcome: Outcome, ledger: &mut Ledger) {
        let mut extras = self.engine.extras();
        if let Some((sort, size)) = self.task.size {
            let name = &self.loaded.model.sorts[sort].name;
            // What is so with one number says nothing of the others.
            outcome.failing = Failing::Nothing;
            outcome
                .results
                .retain(|result| tells(&self.model.properties[result.property].kind, &result.verdict));
            for result in &outcome.results {
                match &result.verdict {
                    Verdict::Violated(violation) => {
                        let words = format!("violated with {size} of {name}");
                        // A start that fails has no state that tells how many elements there are.
                        if violation.trace.is_none() {
                            let instance = Some(Box::new(self.model.clone()));
                            extras
                                .proved
                                .push(Proved { instance, ..Proved::noted(result.property, words.clone()) });
                        }
                        outcome.statistics.notes = vec![words];
                    }
                    Verdict::Holds | Verdict::Unknown(_) => {
                        let words = format!("reached with {size} of {name}");
                        extras.proved.push(Proved::noted(result.property, words));
                    }
                }
            }
        }
        if self.loaded.options.promela.symmetric_processes {
            // An orbit has states in which like processes stand in an order that they are never started in.
            outcome.statistics.states_full = None;
        }
        symmetric::name_trusted(&mut outcome.statistics, self.trusted);
        // An engine that was stopped before it began has nothing to tell, not even who it is.
        if outcome.statistics.engine.is_empty() {
            outcome.statistics.engine = self.task.engine.name();
        }
        ledger.enter(self.model, outcome, extras);
    }

    fn decide(&mut self, job: &Job) -> Result<Outcome, Error> {
        let resets = self.options.dead_variables;
        let resets = resets.unwrap_or_else(|| inactive::by_default(self.loaded, self.options));
        if resets && self.task.engine.takes_reduced_models() {
            let asked_for = self.options.dead_variables.is_some();
            let reduced = inactive::run(self.model, self.engine, job, asked_for, self.observer)?;
            if let Some(outcome) = reduced {
                return Ok(outcome);
            }
        }
        if ranges::apply(self.loaded, self.options, self.task.engine, job)
            && let Some(outcome) = ranges::run(self.model, self.engine, job, self.observer)?
        {
            return Ok(outcome);
        }
        self.engine.check(self.model, job, self.observer)
    }
}

#[cfg(test)]
mod tests {
    use shoal_model::{Quiet, internal};

    use super::*;
    use crate::{EngineKind, LoadOptions, load_text};

    /// The explicit engine with a mistake: it cannot be asked for one property.
    struct Mistaken<'o> {
        sound: Box<dyn Engine + 'o>,
        about: PropertyId,
        threads: bool,
    }

    impl Engine for Mistaken<'_> {
        fn supports(&self, model: &Model, property: PropertyId) -> Result<(), Unsupported> {
            self.sound.supports(model, property)
        }

        fn check(&mut self, model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Error> {
            match job.properties.contains(&self.about) {
                true if self.threads => std::thread::scope(|scope| {
                    scope.spawn(|| internal!("somewhere else"));
                }),
                true => internal!("here"),
                false => {}
            }
            self.sound.check(model, job, observer)
        }
    }

    #[test]
    fn a_mistake_is_the_answer_to_what_was_being_decided_and_to_nothing_else() {
        let text = "var x: 0..3; startstate x := 0 end; rule x < 3 ==> x := x + 1 end;
            invariant \"first\" x < 9; invariant \"second\" x < 8; invariant \"third\" x < 3;";
        let loaded = load_text("model.m", text, &LoadOptions::default()).unwrap();
        let options = CheckOptions::default();
        let plan = crate::plan(&loaded, &options);
        let named = |name: &str| {
            let mut all = loaded.model.properties.enumerate();
            all.find(|(_, property)| property.name == name).unwrap().0
        };
        for threads in [false, true] {
            let mut ledger = Ledger::new(&loaded.asked);
            let task = Task { engine: EngineKind::Explicit, ..plan.tasks[0].clone() };
            let mut mistaken = Mistaken {
                sound: engine(EngineKind::Explicit, &loaded, &options, &task.symmetric),
                about: named("second"),
                threads,
            };
            let mut runner = TaskRunner {
                loaded: &loaded,
                model: &loaded.model,
                task: &task,
                trusted: &[],
                options: &options,
                engine: &mut mistaken,
                observer: &mut Quiet,
            };
            runner.run(&Job::new(loaded.asked.clone()), &mut ledger).unwrap();
            let report = ledger.finish(&loaded, plan.clone(), &options, &mut |_| {}).unwrap();
            let verdict = |name: &str| {
                let found = report.outcome.results.iter().find(|result| result.property == named(name));
                found.unwrap().verdict.clone()
            };
            assert!(matches!(verdict("first"), Verdict::Holds));
            assert!(matches!(verdict("third"), Verdict::Violated(_)));
            let Verdict::Unknown(StopReason::Internal(why)) = verdict("second") else { panic!("no mistake") };
            assert!(threads || why.contains("here") && why.contains("driver.rs"), "{why}");
        }
    }
}
