//! Counter abstraction: of a symmetric sort, only how many elements are in each local state.
//!
//! [`check`] decides the properties of a job. The parts, in the order a model passes them:
//!
//! - `support`: which sorts can be counted, and what stands against the others.
//! - `compile`: local states, and the rules as moves between them.
//! - `diagrams`: moves as relations, many firings as one, loops over all elements.
//! - `serial`: loops over all elements, one element after another.
//! - `reduce`: local states without what cannot matter any more.
//! - `points`, `explicit`: the same one state at a time.
//! - `lift`: from runs of counters to traces of the model.

mod compile;
mod diagrams;
mod explicit;
mod lift;
mod points;
mod reduce;
mod serial;
mod support;

use shoal_analysis::mirror;
use shoal_model::{
    DeadlockKind, Failing, Formula, Job, Model, Observer, OrInternal, Outcome, PropertyId, PropertyKind,
    PropertyResult, SortId, Statistics, TypedId, Unsupported, Value, VarId, Verdict,
};
use shoal_symbolic::{
    Trouble,
    dd::{Bdd, Dd, DdHalt, DdResult},
    decide::{DecideReporter, QuestionDecider},
    fairness,
    question::{Failures, QuestionKind, questions},
    start_faults, stopped,
};

pub use compile::{CountedLocals, LocalState};
pub use diagrams::BroadcastMode;

use compile::Making;
use lift::Lifter;
use points::BitPositions;
use reduce::LivenessReduction;
use support::{ENGINE, countable};

/// How to go about it.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether states are visited one by one, without diagrams.
    pub explicit: bool,
    /// How loops over all elements become relations.
    pub broadcast: BroadcastMode,
    /// Whether many firings of a move are taken as one.
    pub accelerate: bool,
    /// Whether local states that differ in dead variables only are one.
    pub reduce: bool,
    /// Whether models with hundreds of local states are worth the work: where elements can be is found out then.
    pub thorough: bool,
}

impl Default for Options {
    /// Diagrams, with everything that makes them smaller.
    fn default() -> Self {
        Options {
            explicit: false,
            broadcast: BroadcastMode::default(),
            accelerate: true,
            reduce: true,
            thorough: true,
        }
    }
}

/// Whether the engine decides a property of a model, as far as that can be seen without translating it.
pub fn supports(model: &Model, symmetric: &[SortId], id: PropertyId) -> Result<(), Unsupported> {
    let job = Job { symmetric: symmetric.to_vec(), ..Job::new(vec![id]) };
    shoal_symbolic::decides(ENGINE, model, id)?;
    countable(model, &job).map(|_| ())
}

/// Decides the properties of a job on counters.
pub fn check(
    model: &Model,
    job: &Job,
    options: Options,
    observer: &mut dyn Observer,
) -> Result<Outcome, Unsupported> {
    if let Some(condition) = model.while_time_passes.as_ref().filter(|_| model.has_clocks()) {
        let span = Some(condition.expr.span);
        return Err(Unsupported { engine: ENGINE, construct: "clocks".into(), span });
    }
    let mut outcomes = Vec::new();
    for task in tasks(model, job) {
        let job = Job { properties: task.properties, ..job.clone() };
        let tracked = countable(&task.model, &job)?;
        outcomes.push(match run(&task.model, &job, options, &tracked, observer) {
            Ok(outcome) => outcome,
            Err(halt) => stopped(ENGINE, &job, halt)?,
        });
    }
    Ok(join(job, outcomes))
}

/// Properties that are decided on the same counters.
struct CounterTask {
    /// The model with no formulas but theirs.
    model: Model,
    properties: Vec<PropertyId>,
}

/// What names no element is decided at once. A formula that names some is decided by its conjuncts, with those elements
/// tracked; of conjuncts that say the same of other elements, one is enough.
fn tasks(model: &Model, job: &Job) -> Vec<CounterTask> {
    let plain = without_names(model);
    let mut tasks = Vec::new();
    let mut together = Vec::new();
    for id in &job.properties {
        match &model.properties[*id].kind {
            PropertyKind::Temporal(logic, formula) if names_elements(formula) => {
                for conjunct in mirror::conjuncts(model, &job.symmetric, formula) {
                    let mut model = plain.clone();
                    model.properties[*id].kind = PropertyKind::Temporal(*logic, conjunct.clone());
                    tasks.push(CounterTask { model, properties: vec![*id] });
                }
            }
            _ => together.push(*id),
        }
    }
    if !together.is_empty() || tasks.is_empty() {
        tasks.insert(0, CounterTask { model: plain, properties: together });
    }
    tasks
}

/// The model without formulas that name elements.
fn without_names(model: &Model) -> Model {
    let mut plain = model.clone();
    for property in plain.properties.iter_mut() {
        if let PropertyKind::Temporal(_, formula) = &property.kind
            && names_elements(formula)
        {
            property.kind = PropertyKind::Assertion;
        }
    }
    plain
}

fn names_elements(formula: &Formula) -> bool {
    formula.atoms().into_iter().any(|condition| !mirror::pins(std::slice::from_ref(condition)).is_empty())
}

/// One outcome of several: a property is violated if one of its conjuncts is.
fn join(job: &Job, outcomes: Vec<Outcome>) -> Outcome {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Holds => 0,
        Verdict::Unknown(_) => 1,
        Verdict::Violated(_) => 2,
    };
    let results = job.properties.iter().map(|property| {
        let found =
            outcomes.iter().flat_map(|outcome| &outcome.results).filter(|it| it.property == *property);
        let worst = found.max_by_key(|result| rank(&result.verdict));
        let verdict = worst.or_internal("every property is in some task").verdict.clone();
        PropertyResult { property: *property, verdict }
    });
    let results = results.collect();
    let failing = outcomes.iter().fold(Failing::Nothing, |all, it| all.or(it.failing.clone()));
    let time = outcomes.iter().map(|outcome| outcome.statistics.time).sum();
    let peak = outcomes.iter().filter_map(|outcome| outcome.statistics.nodes_peak).max();
    let statistics = outcomes.into_iter().next().or_internal("there is a task").statistics;
    Outcome { results, failing, statistics: Statistics { time, nodes_peak: peak, ..statistics } }
}

fn run(
    model: &Model,
    job: &Job,
    options: Options,
    tracked: &support::Tracked,
    observer: &mut dyn Observer,
) -> DdResult<Outcome> {
    let mut reduction =
        if options.reduce { LivenessReduction::new(model, tracked) } else { LivenessReduction::none() };
    let serial = options.broadcast == BroadcastMode::Serial;
    if serial && options.explicit {
        let construct = "serialised broadcast without diagrams".into();
        return Err(DdHalt::Lacks { construct, span: None });
    }
    let mut watch = DecideReporter::new(job, &mut *observer);
    let limits = job.watch.clone();
    let mut look = |dd: &Dd| watch.look(dd);
    let mut make = |reduction: &LivenessReduction| {
        let normalise = |sort: SortId, state: LocalState| reduction.apply(sort, state);
        let thorough = options.thorough;
        Making { model, tracked, normalise: &normalise, watch: &limits, serial, thorough }.compile(&mut look)
    };
    let mut compiled = make(&reduction)?;
    let stuttering = |id: &PropertyId| {
        matches!(model.properties[*id].kind, PropertyKind::Deadlock(DeadlockKind::Stuttering))
    };
    if compiled.ambiguous && job.properties.iter().any(stuttering) {
        // Whether a step changes anything depends on values that were forgotten.
        reduction = LivenessReduction::none();
        compiled = make(&reduction)?;
    }
    let normalise = |sort: SortId, state: LocalState| reduction.apply(sort, state);
    let mut trouble = std::mem::replace(&mut compiled.trouble, Trouble::new(&compiled.dd));
    let compiled = compiled;
    let system = diagrams::system(&compiled, options)?;
    let failures = Failures::of(&trouble, &system)?;
    let questions = questions(&compiled.worlds, model, &system, &mut trouble, job)?;
    let places = BitPositions::new(&compiled);
    let mut lifter = Lifter::new(&compiled, tracked, &places, &normalise)?;
    let (mut results, failing, mut statistics) = if options.explicit {
        explicit::decide(
            &compiled,
            &places,
            &system,
            (&questions[..], &failures),
            job,
            observer,
            &mut lifter,
        )?
    } else {
        let fairness = fairness(&compiled.worlds, model)?;
        let noted = (&trouble, &failures);
        let mut decider =
            QuestionDecider::new(&system, &questions, noted, fairness, job, watch, &mut lifter)?;
        let decided = decider.decide(&questions);
        let fires: Vec<(usize, Bdd)> =
            compiled.moves.iter().map(|moved| (moved.rule.index(), moved.ends.clone())).collect();
        let statistics = decider.statistics(&decided, &fires, model.rules.len());
        (decided.results, decided.failing, statistics)
    };
    for (result, question) in results.iter_mut().zip(&questions) {
        if matches!(question.ask, QuestionKind::Reached(_))
            && compiled.starts.covered.contains(&result.property)
        {
            result.verdict = Verdict::Holds;
        }
    }
    let failing = start_faults(model, &compiled.starts.faults, &mut results).or(failing);
    statistics.engine = ENGINE;
    statistics.reductions = vec![shoal_model::Reduction::Symmetry(tracked.keys().copied().collect())];
    Ok(Outcome { results, failing, statistics })
}

/// The variable that each value of a local state belongs to; marks that say who is held come after these.
pub fn cells(model: &Model, sort: SortId) -> Vec<VarId> {
    reduce::cells(model, sort)
}

/// What can be found out about the parts of a model.
pub struct PartsFound {
    /// The local states of each counted sort.
    pub locals: Vec<(SortId, Vec<LocalState>)>,
    /// The values that plain variables with few values take.
    pub plain: Vec<(VarId, Value)>,
}

/// What is found out about local states and plain variables, for people who want to see them.
pub fn local_states(model: &Model, job: &Job) -> Result<PartsFound, Unsupported> {
    let model = &without_names(model);
    let tracked = countable(model, job)?;
    let reduction = LivenessReduction::new(model, &tracked);
    let normalise = |sort: SortId, state: LocalState| reduction.apply(sort, state);
    let making = Making {
        model,
        tracked: &tracked,
        normalise: &normalise,
        watch: &job.watch,
        serial: false,
        thorough: true,
    };
    let mut look = |dd: &Dd| {
        dd.tidy();
        Ok(())
    };
    match making.compile(&mut look) {
        Ok(compiled) => {
            // Where there are too many states for that, nothing is said of plain variables.
            let plain = compiled.plain_values(&mut look).unwrap_or_default();
            let locals = compiled.locals.into_iter().map(|(sort, locals)| (sort, locals.states));
            Ok(PartsFound { locals: locals.collect(), plain })
        }
        Err(DdHalt::Lacks { construct, span }) => Err(Unsupported { engine: ENGINE, construct, span }),
        Err(_) => Err(Unsupported { engine: ENGINE, construct: "models of this size".into(), span: None }),
    }
}
