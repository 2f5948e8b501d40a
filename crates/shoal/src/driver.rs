//! Runs the tasks of a plan under one watch, and merges what they find in one place.

use std::collections::{BTreeMap, BTreeSet};

use shoal_model::{
    Job, Model, Observer, Outcome, PropertyId, PropertyKind, PropertyResult, SortId, SortSize, Statistics,
    StopReason, Unsupported, Verdict, Watch,
};

use crate::{
    CheckOptions, Error, Loaded, Plan, Report, Task,
    engines::{Engine, Extras, engine},
    inactive, symmetric,
};

/// What is known so far.
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    work: Vec<Statistics>,
    extras: Extras,
    /// What the options of the call ask in vain of an engine, and what an engine lacks.
    refused: Option<Error>,
}

struct Entry {
    property: PropertyId,
    verdict: Option<Verdict>,
    by: Option<usize>,
}

impl Entry {
    /// A verdict that no other engine can better.
    fn is_settled(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Holds | Verdict::Violated(_)))
    }

    fn is_refused(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Unknown(StopReason::Unsupported(_))))
    }
}

impl Ledger {
    pub(crate) fn new(asked: &[PropertyId]) -> Ledger {
        let entry = |property: &PropertyId| Entry { property: *property, verdict: None, by: None };
        let entries = asked.iter().map(entry).collect();
        Ledger { entries, work: Vec::new(), extras: Extras::default(), refused: None }
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
    fn open(&self, of: &[PropertyId]) -> Vec<PropertyId> {
        let open = self.entries.iter().filter(|entry| !entry.is_settled() && of.contains(&entry.property));
        open.map(|entry| entry.property).collect()
    }

    /// Takes down what a task found out.
    fn enter(&mut self, task: &Task, outcome: Outcome, extras: Extras) {
        let by = self.work.len();
        let empty = outcome.statistics.exhaustive && outcome.statistics.states == 0;
        self.work.push(outcome.statistics);
        for PropertyResult { property, mut verdict } in outcome.results {
            if empty && matches!(verdict, Verdict::Holds) {
                verdict = Verdict::Unknown(StopReason::NoStart);
            }
            // With one number of elements of any, only a violation tells something.
            let tells = task.size.is_none() || matches!(verdict, Verdict::Violated(_));
            let own = self.entries.iter_mut().filter(|entry| entry.property == property);
            for entry in own.filter(|entry| tells && !entry.is_settled()) {
                entry.verdict = Some(verdict.clone());
                entry.by = Some(by);
            }
        }
        self.extras.unsaved = extras.unsaved.or(self.extras.unsaved.take());
        self.extras.proved.extend(extras.proved);
    }

    /// Takes down that an engine does not take a property; what another said of it stays.
    fn refuse(&mut self, property: PropertyId, unsupported: &Unsupported) {
        let open = |entry: &&mut Entry| entry.property == property && entry.verdict.is_none();
        for entry in self.entries.iter_mut().filter(open) {
            entry.verdict = Some(Verdict::Unknown(StopReason::Unsupported(unsupported.to_string())));
        }
        self.refused.get_or_insert_with(|| Error::Unsupported(unsupported.clone()));
    }

    /// The report, but for what has to be confirmed. An error if an engine was asked for, or options, with which nothing at
    /// all can be decided.
    pub(crate) fn finish(
        mut self,
        loaded: &Loaded,
        plan: Plan,
        options: &CheckOptions,
    ) -> Result<Report, Error> {
        // Errors and deadlocks are asked by every model; what its author wrote is what the call is about.
        let is_written = |entry: &&Entry| {
            let kind = &loaded.model.properties[entry.property].kind;
            !matches!(kind, PropertyKind::NoFaults | PropertyKind::Deadlock(_) | PropertyKind::Bound)
        };
        let written: Vec<&Entry> = self.entries.iter().filter(is_written).collect();
        let asked = if written.is_empty() { self.entries.iter().collect() } else { written };
        let nothing = !asked.is_empty() && asked.iter().all(|entry| entry.is_refused());
        if let Some(error) = self.refused.take()
            && nothing
            && (options.engine.is_some() || matches!(error, Error::Call(_)))
        {
            return Err(error);
        }
        let result = |entry: &Entry| {
            let verdict = entry.verdict.clone().unwrap_or_else(|| {
                Verdict::Unknown(match &loaded.model.properties[entry.property].kind {
                    PropertyKind::Unclear(why) => StopReason::Unclear(why.clone()),
                    _ => StopReason::Internal("no engine was asked".into()),
                })
            });
            PropertyResult { property: entry.property, verdict }
        };
        let results = self.entries.iter().map(result).collect();
        let statistics = self.principal();
        Ok(Report {
            plan,
            outcome: Outcome { results, statistics },
            decided_by: self.entries.iter().map(|entry| entry.by).collect(),
            work: self.work,
            causes: BTreeMap::new(),
            claims: BTreeMap::new(),
            unsettled: BTreeSet::new(),
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

/// Runs a task on what is still open of it.
pub(crate) fn run(
    loaded: &Loaded,
    plan: &Plan,
    task: &Task,
    options: &CheckOptions,
    ledger: &mut Ledger,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    let sized = task.size.map(|(sort, size)| {
        let mut model = loaded.model.clone();
        model.sorts[sort].size = SortSize::Fixed(size);
        model
    });
    let model = sized.as_ref().unwrap_or(&loaded.model);
    let mut engine = engine(task.engine, loaded, options, &task.symmetric);
    let mut properties = Vec::new();
    for property in ledger.open(&task.properties) {
        if matches!(model.properties[property].kind, PropertyKind::Unclear(_)) {
            continue;
        }
        match engine.supports(model, property) {
            Ok(()) => properties.push(property),
            Err(unsupported) => ledger.refuse(property, &unsupported),
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
        properties,
        symmetric: task.symmetric.clone(),
        checked: task.checked.clone(),
        watch,
        patience: if task.size.is_some() { Some(0) } else { options.patience },
        jit: options.jit,
        threads: options.threads,
        strategy: options.strategy,
    };
    let mut runner =
        Runner { loaded, model, task, trusted: &plan.trusted, options, engine: &mut *engine, observer };
    runner.run(&job, ledger)
}

struct Runner<'a, 'e> {
    loaded: &'a Loaded,
    model: &'a Model,
    task: &'a Task,
    trusted: &'a [SortId],
    options: &'a CheckOptions,
    engine: &'e mut dyn Engine,
    observer: &'e mut dyn Observer,
}

impl Runner<'_, '_> {
    /// Where an engine refuses all properties together, each is tried alone: one that it lacks something for is not to take
    /// the others with it.
    fn run(&mut self, job: &Job, ledger: &mut Ledger) -> Result<(), Error> {
        let refused = match self.decide(job) {
            Ok(outcome) => {
                self.enter(outcome, ledger);
                return Ok(());
            }
            Err(Error::Unsupported(unsupported)) => unsupported,
            Err(Error::Call(unsupported)) if self.options.engine.is_none() => {
                job.properties.iter().for_each(|property| ledger.refuse(*property, &unsupported));
                ledger.refused = Some(Error::Call(unsupported));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let mut same = 0;
        for property in &job.properties {
            // After a few that are all refused for the same reason, it is the model and not the property.
            if job.properties.len() == 1 || same == 2 {
                ledger.refuse(*property, &refused);
                continue;
            }
            let alone = Job { properties: vec![*property], ..job.clone() };
            match self.decide(&alone) {
                Ok(outcome) => self.enter(outcome, ledger),
                Err(Error::Unsupported(unsupported)) => {
                    same += usize::from(unsupported == refused);
                    ledger.refuse(*property, &unsupported);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn enter(&mut self, mut outcome: Outcome, ledger: &mut Ledger) {
        let violated = |result: &PropertyResult| matches!(result.verdict, Verdict::Violated(_));
        if let (Some((sort, size)), true) = (self.task.size, outcome.results.iter().any(violated)) {
            let name = &self.loaded.model.sorts[sort].name;
            outcome.statistics.notes.push(format!("violated with {size} of {name}"));
        }
        if self.loaded.options.promela.symmetric_processes {
            // An orbit has states in which like processes stand in an order that they are never started in.
            outcome.statistics.states_full = None;
        }
        symmetric::name_trusted(&mut outcome.statistics.reductions, self.trusted);
        ledger.enter(self.task, outcome, self.engine.extras());
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
        self.engine.check(self.model, job, self.observer)
    }
}
