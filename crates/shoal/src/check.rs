//! Deciding properties: select, plan, run the engine, confirm what it says.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use shoal_interpret::{Blame, Claim, Instance, Interpreter};
use shoal_model::{
    Condition, During, Fault, FaultKind, Limits, Model, Observer, Outcome, PartialOrder, PropertyId,
    PropertyKind, Reason, SortSize, State, Statistics, StopReason, Strategy, Verdict, Violation, Watch,
};
use shoal_syntax::Advice;

use crate::{
    Beyond, Checkpoints, EngineKind, Error, Event, Loaded, Phase, Plan, Proved,
    driver::{self, Ledger},
    extremes, plan, vacuous,
};

/// What is asked of a model.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The names of the properties to decide; all that the model asks if empty.
    pub properties: Vec<String>,
    /// The engine; the plan chooses one if there is none.
    pub engine: Option<EngineKind>,
    /// How the engine of counters goes about it.
    pub counters: shoal_counters::Options,
    /// Whether to reduce by the symmetries that can be proved or checked.
    pub symmetry: bool,
    /// Whether to look for automorphisms of a model without sorts before the search, to reduce by those that are proved. Of
    /// processes they are looked for once a search is large, if symmetry is to be used.
    pub automorphisms: bool,
    /// Whether to reduce by all that the model declares symmetric, unproved and unchecked.
    pub trust: bool,
    /// Whether to reset variables of elements where they cannot be read before they are written again; if nothing is
    /// said, only where the language has no peers whose counts one would compare with.
    pub dead_variables: Option<bool>,
    /// When to give up. Its clock runs since it was started.
    pub watch: Watch,
    /// How many states may still be stored after the first violation, to decide the other properties; no number is no
    /// limit.
    pub patience: Option<u64>,
    /// Whether to make machine code of the model; without, it is interpreted.
    pub jit: bool,
    /// How many threads may search. What is found does not depend on it.
    pub threads: usize,
    /// How to search and what to keep.
    pub strategy: Strategy,
    /// Where to save the search and where to find one to go on with.
    pub checkpoints: Checkpoints,
    /// What there is beside the memory of this process.
    pub beyond: Beyond,
}

/// A model with a mistake can have far more states than it was meant to have, and nobody wants to wait for all of them.
/// So many take a second or less.
pub const PATIENCE: u64 = 100_000;

impl Default for CheckOptions {
    /// All properties, with symmetry and partial order reduction by agents, with most of the memory that is free.
    fn default() -> Self {
        CheckOptions {
            properties: Vec::new(),
            engine: None,
            counters: shoal_counters::Options::default(),
            symmetry: true,
            automorphisms: false,
            trust: false,
            dead_variables: None,
            watch: Watch::start(Limits { memory: crate::default_memory_limit(), ..Limits::default() }),
            patience: Some(PATIENCE),
            jit: true,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            strategy: Strategy { partial_order: PartialOrder::Agents, ..Strategy::default() },
            checkpoints: Checkpoints::default(),
            beyond: Beyond::default(),
        }
    }
}

/// What was found out, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// How it was found out.
    pub plan: Plan,
    /// A verdict for each property asked. Every violation has been replayed by the reference interpreter. Its statistics are
    /// those of the work that decided most.
    pub outcome: Outcome,
    /// What each engine that ran did, in the order they ran.
    pub work: Vec<Statistics>,
    /// Whose verdict it is: for each property, in the order asked, the place in `work`; nothing if no engine took it.
    pub decided_by: Vec<Option<usize>>,
    /// For conditions that are false at the end of a trace: the part to blame.
    pub causes: BTreeMap<PropertyId, Vec<Blame>>,
    /// What the runs of violated formulas of branching time show of their parts.
    pub claims: BTreeMap<PropertyId, Vec<Claim>>,
    /// Violations whose trace replays, but of which the interpreter could not confirm within its budget that no
    /// state that satisfies the property can be reached from the end.
    pub unsettled: BTreeSet<PropertyId>,
    /// Why the search could not be saved, if it was to be.
    pub unsaved: Option<String>,
    /// For any number of elements: what more is known of each property, and certificates, which have been checked.
    pub proved: Vec<Proved>,
}

/// What a report says of one property.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PropertyReport<'r> {
    /// The property.
    pub property: PropertyId,
    /// The verdict.
    pub verdict: &'r Verdict,
    /// What the engine did that it came from; nothing if no engine took the property.
    pub statistics: Option<&'r Statistics>,
    /// The parts of a condition that are to blame for a violation.
    pub causes: &'r [Blame],
    /// What the run of a violated formula of branching time shows of its parts.
    pub claims: &'r [Claim],
    /// For any number of elements: what more is known.
    pub proved: Option<&'r Proved>,
    /// False if a violation replays, but the interpreter could not confirm within its budget that nothing better can be
    /// reached from its end.
    pub confirmed: bool,
}

/// What a report comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Every property asked holds.
    Holds,
    /// Some property is violated.
    Violated,
    /// None is violated, but some could not be decided, or nothing was asked.
    Unknown,
    /// The user stopped the search before a violation was found.
    Interrupted,
    /// Some verdict was not confirmed: a mistake in Shoal.
    Internal,
}

impl Report {
    /// The whole report in a word.
    pub fn status(&self) -> Status {
        let verdicts = || self.outcome.results.iter().map(|result| &result.verdict);
        if verdicts().any(|verdict| matches!(verdict, Verdict::Unknown(StopReason::Internal(_)))) {
            Status::Internal
        } else if verdicts().any(|verdict| matches!(verdict, Verdict::Violated(_))) {
            Status::Violated
        } else if verdicts().any(|verdict| matches!(verdict, Verdict::Unknown(StopReason::Interrupted))) {
            Status::Interrupted
        } else if self.outcome.results.is_empty()
            || verdicts().any(|verdict| matches!(verdict, Verdict::Unknown(_)))
        {
            // Where nothing is asked, nothing is known.
            Status::Unknown
        } else {
            Status::Holds
        }
    }

    /// What the engine did that the verdict on the property at this place came from.
    pub fn statistics_of(&self, at: usize) -> Option<&Statistics> {
        self.work.get(self.decided_by.get(at).copied().flatten()?)
    }

    /// All that is known of a property; nothing if it was not asked.
    pub fn of(&self, property: PropertyId) -> Option<PropertyReport<'_>> {
        let at = self.outcome.results.iter().position(|result| result.property == property)?;
        Some(PropertyReport {
            property,
            verdict: &self.outcome.results[at].verdict,
            statistics: self.statistics_of(at),
            causes: self.causes.get(&property).map_or(&[], Vec::as_slice),
            claims: self.claims.get(&property).map_or(&[], Vec::as_slice),
            proved: self.proved.iter().find(|proved| proved.property == property),
            confirmed: !self.unsettled.contains(&property),
        })
    }

    /// What can be done about the first property that is not decided.
    pub fn advice(&self) -> Option<Advice> {
        let stopped = self.outcome.results.iter().find_map(|result| match &result.verdict {
            Verdict::Unknown(reason) => Some(reason),
            Verdict::Holds | Verdict::Violated(_) => None,
        })?;
        match stopped {
            StopReason::Time(_) => Some(Advice::MoreTime),
            StopReason::Memory(_) => Some(Advice::MoreMemory),
            StopReason::Depth(_) => Some(Advice::Deeper),
            StopReason::OtherViolation => Some(Advice::AllProperties),
            StopReason::Omission(_) => Some(Advice::WholeStates),
            StopReason::Walks(_) => Some(Advice::SearchEverything),
            StopReason::Counts(_) | StopReason::AnyNumber(_) => Some(Advice::ChooseNumber),
            StopReason::Bound(_) => Some(Advice::RaiseBounds),
            StopReason::Elements(_) => Some(Advice::MoreObjects),
            StopReason::States(_)
            | StopReason::Disk(_)
            | StopReason::Lost(_)
            | StopReason::Overflow
            | StopReason::Interrupted
            | StopReason::NoStart
            | StopReason::NotFollowed
            | StopReason::Unclear(_)
            | StopReason::Granted(_)
            | StopReason::Unsupported(_)
            | StopReason::Internal(_) => None,
        }
    }

    /// The violations, in the order of the properties.
    pub fn violations(&self) -> impl Iterator<Item = (PropertyId, &Violation)> {
        self.outcome.results.iter().filter_map(|result| match &result.verdict {
            Verdict::Violated(violation) => Some((result.property, violation.as_ref())),
            _ => None,
        })
    }
}

/// Decides the properties of a model. The observer is told how the search goes on.
pub fn check(loaded: &Loaded, options: &CheckOptions, observer: &mut dyn Observer) -> Result<Report, Error> {
    let plan = plan(loaded, options);
    check_as_planned(loaded, plan, options, observer)
}

/// Decides the properties of a model as a plan says.
pub fn check_as_planned(
    loaded: &Loaded,
    plan: Plan,
    options: &CheckOptions,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    run(loaded, plan, options, observer, &mut |_| {})
}

/// The same, telling what happens.
pub(crate) fn run(
    loaded: &Loaded,
    plan: Plan,
    options: &CheckOptions,
    observer: &mut dyn Observer,
    tell: &mut dyn FnMut(Event),
) -> Result<Report, Error> {
    let mut report = decide(loaded, plan, options, observer, tell)?;
    vacuous::note(loaded, options, observer, &mut report);
    Ok(report)
}

/// The same, without asking whether what holds says anything.
pub(crate) fn decide(
    loaded: &Loaded,
    plan: Plan,
    options: &CheckOptions,
    observer: &mut dyn Observer,
    tell: &mut dyn FnMut(Event),
) -> Result<Report, Error> {
    let asked = select(loaded, &options.properties)?;
    let mut ledger = Ledger::new(&asked);
    for (at, task) in plan.tasks.iter().enumerate() {
        if !ledger.goes_on(&options.watch) {
            break;
        }
        let properties = ledger.open(&task.properties);
        if !properties.is_empty() {
            let phase = Phase { task: at, tasks: plan.tasks.len(), engine: task.engine, properties };
            tell(Event::Phase(phase));
        }
        driver::run(loaded, &plan, task, options, &mut ledger, observer)?;
        let ended = options.watch.check().err();
        ledger.confirm(loaded, &plan, ended, &time_to_confirm(&options.watch));
        ledger.announce(loaded, tell);
    }
    for property in ledger.values(&loaded.model) {
        if !ledger.goes_on(&options.watch) {
            break;
        }
        let found = extremes::find(loaded, property, options, observer)?;
        ledger.answer(property, found);
        ledger.announce(loaded, tell);
    }
    ledger.finish(loaded, plan, options, tell)
}

/// What was found just before the end has a moment to be confirmed; the wish to stop does not take that from it.
pub(crate) fn time_to_confirm(watch: &Watch) -> Watch {
    let moment = |limit: Duration| MOMENT + limit / 20;
    let time = watch.limits().time.map(|limit| moment(limit).max(watch.time_left().unwrap_or_default()));
    Watch::start(Limits { time, ..Limits::default() })
}

/// The time to confirm what was found, beside a twentieth of the time that there was.
const MOMENT: Duration = Duration::from_millis(400);

/// The model that a trace runs on: with as many elements as the trace has, where the model has any number.
pub(crate) fn sized(loaded: &Loaded, violation: &Violation) -> Option<Model> {
    let any = loaded.model.sorts.iter().any(|sort| sort.size == SortSize::Any);
    let trace = violation.trace.as_ref().filter(|_| any)?;
    Some(loaded.model.sized_as(&trace.state))
}

/// The properties with these names; all that are asked if there are no names.
pub fn select(loaded: &Loaded, names: &[String]) -> Result<Vec<PropertyId>, Error> {
    if names.is_empty() {
        return Ok(loaded.asked.clone());
    }
    let name_of = |id: &PropertyId| loaded.model.properties[*id].name.as_str();
    // By its name, or as it is printed.
    let is =
        |id: &PropertyId, name: &str| name_of(id) == name || loaded.model.properties[*id].title() == name;
    for name in names {
        if !loaded.asked.iter().any(|id| is(id, name)) {
            let known: Vec<String> = loaded.asked.iter().map(|id| name_of(id).to_string()).collect();
            let near = shoal_syntax::did_you_mean(name, known.iter().map(String::as_str)).map(String::from);
            return Err(Error::UnknownProperty { name: name.clone(), near, known });
        }
    }
    // What says whether the search saw everything is always asked.
    let is_bound = |id: &PropertyId| matches!(loaded.model.properties[*id].kind, PropertyKind::Bound);
    let chosen = |id: &&PropertyId| names.iter().any(|name| is(id, name)) || is_bound(id);
    Ok(loaded.asked.iter().filter(chosen).copied().collect())
}

pub(crate) fn blame(model: &Model, property: PropertyId, violation: &Violation) -> Vec<Blame> {
    let Some(trace) = &violation.trace else { return Vec::new() };
    blame_in(model, property, trace.last(), &violation.reason)
}

fn blame_in(model: &Model, property: PropertyId, state: &State, reason: &Reason) -> Vec<Blame> {
    match reason {
        Reason::ConditionFalse => match condition(&model.properties[property].kind) {
            Some(condition) => shoal_interpret::blame(model, state, condition),
            None => Vec::new(),
        },
        Reason::Fault(During::Body(rule, args, choices), Fault { kind: FaultKind::Assertion(_), .. }) => {
            let instance = Instance { rule: *rule, args: args.clone() };
            let interpreter = Interpreter::new(model).ok();
            let blame = interpreter.and_then(|it| it.why_asserted(state, &instance, choices));
            blame.into_iter().collect()
        }
        Reason::After(delay, reason) => {
            let interpreter = Interpreter::new(model).ok();
            let later = interpreter.and_then(|it| it.delay(state, *delay));
            later.map_or_else(Vec::new, |later| blame_in(model, property, &later, reason))
        }
        Reason::Fault(..)
        | Reason::Deadlock
        | Reason::NeverCovered
        | Reason::NotPossible
        | Reason::FormulaFalse => Vec::new(),
    }
}

fn condition(kind: &PropertyKind) -> Option<&Condition> {
    match kind {
        PropertyKind::Invariant(condition)
        | PropertyKind::AlwaysPossible(condition)
        | PropertyKind::Assume(Some(condition))
        | PropertyKind::Cover(Some(condition))
        | PropertyKind::CoverDeadlock(condition) => Some(condition),
        _ => None,
    }
}
