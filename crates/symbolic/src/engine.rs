//! The engine: a job in, an outcome out.

use shoal_model::{
    Asks, DeadlockKind, During, Failing, Fault, FaultKind, Job, Logic, Model, Observer, Order, Outcome,
    PropertyId, PropertyKind, PropertyResult, Reason, Statistics, StopReason, TypedId, Unsupported, Verdict,
    Violation,
};

use crate::{
    concrete::Concrete,
    dd::{Bdd, DdHalt, DdResult},
    decide::{BitRun, DecideReporter, Lift, QuestionDecider, Why},
    encode::{self, Encoded},
    layout::{Bit, BitLayout},
    question::{Failures, QuestionKind, questions},
    starts::SymbolicStarts,
    symmetry::{self, RepresentativeChoice},
    worlds::Worlds,
};

/// The name of the engine.
const ENGINE: &str = "symbolic";

/// Decides the properties of a job on sets of states.
pub fn check(model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Unsupported> {
    accept(model)?;
    match run(model, job, observer) {
        Ok(outcome) => Ok(outcome),
        Err(halt) => stopped(ENGINE, job, halt),
    }
}

/// What comes of a job that ended before there were any states.
pub fn stopped(engine: &'static str, job: &Job, halt: DdHalt) -> Result<Outcome, Unsupported> {
    let reason = match halt {
        DdHalt::Lacks { construct, span } => return Err(Unsupported { engine, construct, span }),
        DdHalt::Stop(reason) => reason,
        DdHalt::Memory => StopReason::Memory(job.limits().memory.unwrap_or(0)),
    };
    let mut outcome = Outcome::unknown(&job.properties, &reason);
    outcome.statistics = Statistics { engine, threads: 1, ..Statistics::default() };
    Ok(outcome)
}

/// Whether the engine decides a property of a model, as far as that can be seen without translating it.
pub fn supports(model: &Model, id: PropertyId) -> Result<(), Unsupported> {
    accept(model)?;
    decides(ENGINE, model, id)
}

/// Whether a property is decided on sets of states, by the engine of this name.
pub fn decides(engine: &'static str, model: &Model, id: PropertyId) -> Result<(), Unsupported> {
    let property = &model.properties[id];
    let lacks =
        |construct: &str| Err(Unsupported { engine, construct: construct.into(), span: Some(property.span) });
    if model.has_clocks() {
        return lacks("clocks");
    }
    match property.kind.asks() {
        Asks::States | Asks::Formula(Logic::Ctl) => Ok(()),
        asks @ (Asks::Timelocks
        | Asks::Formula(Logic::Ltl | Logic::Tctl)
        | Asks::Extreme
        | Asks::Unclear(_)) => lacks(asks.words()),
    }
}

/// What is refused before anything starts.
fn accept(model: &Model) -> Result<(), Unsupported> {
    let unsupported =
        |construct: &str, span| Unsupported { engine: ENGINE, construct: construct.into(), span: Some(span) };
    if let Some(sort) = model.sorts.iter().find(|sort| sort.fixed_size().is_none()) {
        return Err(unsupported("sorts that have no fixed size", sort.span));
    }
    if let Some(condition) = model.while_time_passes.as_ref().filter(|_| model.has_clocks()) {
        return Err(unsupported("clocks", condition.expr.span));
    }
    Ok(())
}

fn run(model: &Model, job: &Job, observer: &mut dyn Observer) -> DdResult<Outcome> {
    let mut watch = DecideReporter::new(job, observer);
    let Encoded { layout, system, worlds, fires, mut trouble, starts } =
        encode::encode(model, !asks_for_changes(model, job), &mut watch)?;
    let failures = Failures::of(&trouble, &system)?;
    let questions = questions(&worlds, model, &system, &mut trouble, job)?;
    let fairness = fairness(&worlds, model)?;
    let valid = layout.valid(&system.dd)?.and(&worlds.base.given)?;
    let mut lift = Concretely { model, layout: &layout, starts: &starts, concrete: Concrete::new(model)? };
    let representatives = symmetry::is_enough(model, job) && job.strategy.order != Order::Backward;
    let symmetry = match representatives {
        true => RepresentativeChoice::new(model, job, &layout, &system.dd)?,
        false => None,
    };
    let mut decider =
        QuestionDecider::new(&system, &questions, (&trouble, &failures), fairness, job, watch, &mut lift)?;
    decider.symmetry = symmetry.as_ref();
    let decided = match job.strategy.order {
        Order::Backward => decider.backward(&questions, &valid)?,
        Order::BreadthFirst | Order::DepthFirst | Order::Walk { .. } => decider.decide(&questions),
    };
    let fires: Vec<(usize, Bdd)> = fires.into_iter().map(|(rule, place)| (rule.index(), place)).collect();
    let mut statistics = decider.statistics(&decided, &fires, model.rules.len());
    if job.strategy.order == Order::Backward {
        // What may happen in states that lead somewhere says nothing about what does happen.
        statistics.fired.clear();
        statistics.fresh.clear();
    }
    let mut results = decided.results;
    for (result, question) in results.iter_mut().zip(&questions) {
        if matches!(question.ask, QuestionKind::Reached(_)) && starts.covered.contains(&result.property) {
            result.verdict = Verdict::Holds;
        }
    }
    let failing = start_faults(model, &starts.faults, &mut results).or(decided.failing);
    Ok(Outcome { results, failing, statistics: Statistics { engine: ENGINE, ..statistics } })
}

/// Whether it matters if a step changes anything.
fn asks_for_changes(model: &Model, job: &Job) -> bool {
    let stuttering = PropertyKind::Deadlock(DeadlockKind::Stuttering);
    job.properties.iter().any(|id| model.properties[*id].kind == stuttering)
}

/// The sets of states of the fairness constraints.
pub fn fairness<'m>(worlds: &Worlds<'m>, model: &'m Model) -> DdResult<Vec<Bdd>> {
    let all = worlds.base.dd.yes();
    model.fairness.iter().map(|condition| Ok(worlds.ask(condition, &all)?.holds)).collect()
}

/// A start that faults is the shortest violation there is.
pub fn start_faults(model: &Model, faults: &[(During, Fault)], results: &mut [PropertyResult]) -> Failing {
    for (during, fault) in faults.iter().rev() {
        let property = match fault.kind {
            FaultKind::Assertion(property) => Some(property),
            _ => model
                .properties
                .enumerate()
                .find(|(_, it)| it.kind == PropertyKind::NoFaults)
                .map(|(id, _)| id),
        };
        for result in results.iter_mut().filter(|result| Some(result.property) == property) {
            let reason = Reason::Fault(during.clone(), fault.clone());
            result.verdict = Verdict::Violated(Box::new(Violation { reason, trace: None }));
        }
    }
    if faults.is_empty() { Failing::Nothing } else { Failing::Step }
}

/// States are states of the model, bit by bit.
struct Concretely<'m, 's> {
    model: &'m Model,
    layout: &'s BitLayout,
    starts: &'s SymbolicStarts,
    concrete: Concrete<'m>,
}

impl Lift for Concretely<'_, '_> {
    fn violation(&mut self, property: PropertyId, run: &BitRun, why: Why) -> DdResult<Violation> {
        let decode = |bits: &Vec<bool>| self.layout.decode(self.model, &|bit: Bit| bits[bit as usize]);
        let states: Vec<_> = run.states.iter().map(decode).collect();
        let first = run.states.first().zip(states.first());
        let first = first.map(|(bits, state)| self.starts.find(self.model, self.layout, bits, state));
        let starts: Vec<_> = first.transpose()?.flatten().into_iter().collect();
        match self.concrete.trace(&starts, &states, run.loops_to)? {
            Some(trace) => self.concrete.violation(property, trace, why),
            None => Err(DdHalt::Lacks { construct: "a run that cannot be found again".into(), span: None }),
        }
    }
}
