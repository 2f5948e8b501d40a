//! Temporal properties: formulas of linear time under the fairness constraints of the model.
//!
//! A property that is a conjunction is decided by its conjuncts, and of conjuncts that are mirror images of each
//! other (`forall i: P`, written out) only one is looked at. For the rest, one way after another:
//!
//! - `shoal_analysis::mirror`: which conjuncts to look at, and which elements they name. Elements that a formula names stay put, so
//!   conjuncts that name the same elements share one graph; other properties do not notice.
//! - `graph`: all states and steps, with the truth of every condition in every state.
//! - `automaton`: an automaton of the runs that violate the conjunct.
//! - `emptiness`: a cycle in the product of both that is accepted and fair.
//! - `lasso`: from a cycle of representatives to an infinite run of concrete states.
//!
//! Runs are infinite: where nothing can happen, the state stays for ever. Where all that can happen faults or is
//! dropped by an assumption, there is no run.

mod automaton;
mod emptiness;
mod graph;
mod lasso;
#[cfg(test)]
mod tests;

use std::time::Instant;

use shoal_code::compile;
use shoal_model::{
    Condition, During, Fault, Formula, Interval, Job, Logic, Model, Observer, OrInternal, Outcome, Property,
    PropertyId, PropertyKind, PropertyResult, Reason, Reduction, Statistics, StopReason, Unsupported,
    Verdict, Violation,
};

use crate::{
    canon::Canon,
    order,
    report::{Problem, Reporter, Where},
    room::with_room,
    search::{self, Keeper, Nowhere, Refusal},
    support::{ENGINE, reaches_whole_orbits, unsupported},
};
use automaton::Automaton;
use emptiness::{Answer, Product};
use graph::Budget;
use shoal_analysis::mirror::{self, Pins};

/// Conditions that one graph can keep the truth of.
const MOST_CONDITIONS: usize = 64;

/// Decides the properties of a job by visiting every reachable state, or one of each orbit.
pub fn check(model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Unsupported> {
    check_and_keep(model, job, observer, &mut Nowhere).map_err(|refusal| match refusal {
        Refusal::Unsupported(unsupported) => unsupported,
        Refusal::Saved(error) => unsupported(error.to_string(), None),
    })
}

/// Decides the properties of a job as [`check`] does, saves the search from time to time, and goes on with a saved
/// one. The keeper must see to it that this was a search for the same properties of the same model. Temporal
/// properties are decided after the others, and that part is not saved.
pub fn check_and_keep(
    model: &Model,
    job: &Job,
    observer: &mut dyn Observer,
    keeper: &mut dyn Keeper,
) -> Result<Outcome, Refusal> {
    with_room(model, job, observer, keeper, decide)
}

fn decide(
    model: &Model,
    job: &Job,
    observer: &mut dyn Observer,
    keeper: &mut dyn Keeper,
) -> Result<Outcome, Refusal> {
    let is_temporal = |id: &PropertyId| matches!(model.properties[*id].kind, PropertyKind::Temporal(..));
    if !model.properties.ids().any(|id| is_temporal(&id)) {
        return search::check_and_keep(model, job, observer, keeper);
    }
    let began = Instant::now();
    let (temporal, others): (Vec<PropertyId>, Vec<PropertyId>) =
        job.properties.iter().copied().partition(is_temporal);
    let tasks = temporal.iter().map(|id| tasks(model, job, *id)).collect::<Result<Vec<_>, _>>()?.concat();
    let mut outcome = Outcome { results: Vec::new(), statistics: Statistics::default() };
    if !others.is_empty() || temporal.is_empty() {
        // What temporal formulas name is no concern of the others.
        let plain = without(model, |kind| matches!(kind, PropertyKind::Temporal(..)));
        outcome =
            search::check_and_keep(&plain, &Job { properties: others, ..job.clone() }, observer, keeper)?;
    }
    let mut decider = Decider {
        model,
        job,
        observer,
        began,
        give_up_at: give_up_at(job, &outcome),
        verdicts: temporal.iter().map(|id| (*id, None)).collect(),
        statistics: None,
    };
    decider.run(tasks)?;
    Ok(decider.finish(outcome))
}

/// A conjunct of a property, and how it can be violated.
#[derive(Clone)]
struct Task {
    property: PropertyId,
    /// The conditions its automaton reads, then those of fairness.
    conditions: Vec<Condition>,
    automaton: Automaton,
    pins: Pins,
}

/// The formula that a task comes from.
fn formula<'m>(model: &'m Model, task: &Task) -> Option<&'m Formula> {
    match &model.properties[task.property].kind {
        PropertyKind::Temporal(_, formula) => Some(formula),
        _ => None,
    }
}

fn tasks(model: &Model, job: &Job, id: PropertyId) -> Result<Vec<Task>, Unsupported> {
    let property = &model.properties[id];
    let PropertyKind::Temporal(Logic::Ltl, formula) = &property.kind else {
        return Err(unsupported("formulas of branching time", Some(property.span)));
    };
    if bounded(formula) {
        return Err(unsupported("temporal operators with bounds on time", Some(property.span)));
    }
    let task = |conjunct: &Formula| {
        let too_large = || unsupported("a temporal formula of this size", Some(property.span));
        let fairness = model.fairness.len();
        let (mut conditions, automaton) =
            Automaton::of_violations(conjunct, fairness).ok_or_else(too_large)?;
        conditions.extend(model.fairness.iter().cloned());
        if conditions.len() > MOST_CONDITIONS {
            return Err(too_large());
        }
        let pins = mirror::pins(&conditions);
        Ok(Task { property: id, conditions, automaton, pins })
    };
    mirror::conjuncts(model, &job.symmetric, formula).into_iter().map(task).collect()
}

/// Whether an operator has a bound.
fn bounded(formula: &Formula) -> bool {
    let bound = |interval: &Interval| *interval != Interval::default();
    match formula {
        Formula::Atom(_) | Formula::Never(_) => false,
        Formula::Not(of) | Formula::AllPaths(of) | Formula::SomePath(of) | Formula::Next(of) => bounded(of),
        Formula::And(of) | Formula::Or(of) => of.iter().any(bounded),
        Formula::Always(interval, of) | Formula::Eventually(interval, of) => bound(interval) || bounded(of),
        Formula::Until(interval, a, b) | Formula::Release(interval, a, b) => {
            bound(interval) || bounded(a) || bounded(b)
        }
    }
}

/// The model without the conditions of some of its properties, whose numbers stay the same.
fn without(model: &Model, drop: impl Fn(&PropertyKind) -> bool) -> Model {
    let mut model = model.clone();
    for property in model.properties.iter_mut().filter(|property| drop(&property.kind)) {
        property.kind = PropertyKind::Assertion;
    }
    model
}

/// After a violation of another property, patience is limited here as well.
fn give_up_at(job: &Job, outcome: &Outcome) -> Option<u64> {
    let violated = outcome.results.iter().any(|result| matches!(result.verdict, Verdict::Violated(_)));
    job.patience.filter(|_| violated).map(|patience| outcome.statistics.states + patience)
}

struct Decider<'s> {
    model: &'s Model,
    job: &'s Job,
    observer: &'s mut dyn Observer,
    began: Instant,
    give_up_at: Option<u64>,
    verdicts: Vec<(PropertyId, Option<Verdict>)>,
    /// Of the largest graph.
    statistics: Option<Statistics>,
}

impl Decider<'_> {
    fn run(&mut self, mut tasks: Vec<Task>) -> Result<(), Unsupported> {
        while let Some(first) = tasks.first() {
            // All that name the same elements, as far as there is room for their conditions.
            let pins = first.pins.clone();
            let mut conditions: Vec<Condition> = Vec::new();
            let (mut now, mut later) = (Vec::new(), Vec::new());
            for task in tasks {
                let mut union = conditions.clone();
                union.extend(task.conditions.iter().filter(|it| !conditions.contains(it)).cloned());
                if task.pins == pins && union.len() <= MOST_CONDITIONS {
                    conditions = union;
                    now.push(task);
                } else {
                    later.push(task);
                }
            }
            self.group(&now, &conditions)?;
            tasks = later;
        }
        Ok(())
    }

    /// Decides the tasks that share a graph.
    fn group(&mut self, tasks: &[Task], conditions: &[Condition]) -> Result<(), Unsupported> {
        let mut derived = without(self.model, |kind| !matches!(kind, PropertyKind::Assume(_)));
        derived.fairness.clear();
        let asked: Vec<PropertyId> = conditions
            .iter()
            .map(|condition| {
                let (name, span) = (String::new(), condition.expr.span);
                let kind = PropertyKind::Invariant(condition.clone());
                derived.properties.push(Property { name, kind, span })
            })
            .collect();
        let layout = shoal_code::accept(&derived, ENGINE)?;
        let mut program = compile(&derived, &layout, ENGINE)?.under(&self.job.watch);
        let formulas: Vec<&Formula> = tasks.iter().filter_map(|task| formula(self.model, task)).collect();
        let steps = order::for_formulas(self.model, self.job, conditions, &formulas, &mut program);
        let mut canon =
            search::canon_for(&derived, &layout, &self.job.symmetric, self.job.strategy.representatives)?;
        let mut budget = Budget::new(self.job, self.began, self.give_up_at, self.observer);
        let reduces = canon.as_ref().is_some_and(Canon::reduces);
        let symmetric = reduces.then(|| Reduction::Symmetry(self.job.symmetric.clone()));
        let graph = graph::build(&derived, &layout, &program, canon.as_mut(), &asked, steps, &mut budget);
        let reductions = symmetric.into_iter().chain(order::reduction(steps)).collect();
        let mut statistics = graph.statistics(&layout, reductions);
        if reduces && !reaches_whole_orbits(&derived, &self.job.symmetric) {
            statistics.states_full = None;
        }
        self.keep_statistics(statistics);
        for task in tasks {
            let at = |condition: &Condition| {
                conditions
                    .iter()
                    .position(|it| it == condition)
                    .or_internal("a condition of the task's graph")
            };
            let bits: Vec<u32> = task.conditions.iter().map(|condition| at(condition) as u32).collect();
            let fault = bits.iter().find_map(|bit| graph.faults[*bit as usize].clone().map(|it| (*bit, it)));
            if self.is_violated(task.property) {
                continue;
            }
            if let Some((bit, (state, fault))) = fault {
                let mut reporter = Reporter::new(&derived, &layout, &program, &graph.store, canon.as_mut());
                let problem = Problem::Property(asked[bit as usize], fault);
                let violation = reporter.violation(Where::At(state), problem);
                self.violated(task.property, of_property(violation, task.property));
                continue;
            }
            let mut budget = Budget::new(self.job, self.began, None, self.observer);
            let answer = Product::new(&graph, &task.automaton, &bits).search(&mut budget);
            let stop = match answer {
                Answer::Empty => graph.stop.clone(),
                Answer::Stopped(reason) => Some(reason),
                Answer::Cycles(cycles) => {
                    let mut unroll = lasso::Unroll::new(&derived, &layout, &program, &graph, canon.as_mut());
                    let traces = cycles.iter().filter_map(|it| unroll.run(&it.stem, &it.cycle));
                    let trace = traces.min_by_key(|trace| trace.steps.len());
                    self.violated(task.property, Violation { reason: Reason::FormulaFalse, trace });
                    continue;
                }
            };
            if let Some(reason) = stop {
                self.unknown(task.property, reason);
            }
        }
        Ok(())
    }

    fn keep_statistics(&mut self, statistics: Statistics) {
        if self.statistics.as_ref().is_none_or(|known| known.states < statistics.states) {
            self.statistics = Some(statistics);
        }
    }

    fn verdict(&mut self, property: PropertyId) -> Option<&mut Option<Verdict>> {
        self.verdicts.iter_mut().find(|(id, _)| *id == property).map(|(_, verdict)| verdict)
    }

    fn is_violated(&mut self, property: PropertyId) -> bool {
        matches!(self.verdict(property), Some(Some(Verdict::Violated(_))))
    }

    fn violated(&mut self, property: PropertyId, violation: Violation) {
        self.observer.violation(property, &violation);
        if let Some(verdict) = self.verdict(property) {
            *verdict = Some(Verdict::Violated(Box::new(violation)));
        }
    }

    fn unknown(&mut self, property: PropertyId, reason: StopReason) {
        if let Some(verdict) = self.verdict(property) {
            verdict.get_or_insert(Verdict::Unknown(reason));
        }
    }

    /// All results in the order asked.
    fn finish(self, others: Outcome) -> Outcome {
        let results = self.job.properties.iter().map(|id| {
            let other = others.results.iter().find(|result| result.property == *id);
            let own = self.verdicts.iter().find(|(property, _)| property == id);
            let verdict = match (other, own) {
                (Some(other), _) => other.verdict.clone(),
                (None, Some((_, Some(verdict)))) => verdict.clone(),
                (None, _) => Verdict::Holds,
            };
            PropertyResult { property: *id, verdict }
        });
        let results = results.collect();
        let mut statistics = match self.statistics {
            Some(own) if others.results.is_empty() => own,
            Some(own) => Statistics {
                memory_bytes: others.statistics.memory_bytes.max(own.memory_bytes),
                ..others.statistics
            },
            None => others.statistics,
        };
        statistics.time = self.began.elapsed();
        Outcome { results, statistics }
    }
}

/// A fault in a condition of a property is the property's.
fn of_property(violation: Violation, property: PropertyId) -> Violation {
    let reason = match violation.reason {
        Reason::Fault(During::Property(_), Fault { kind, span }) => {
            Reason::Fault(During::Property(property), Fault { kind, span })
        }
        other => other,
    };
    Violation { reason, ..violation }
}
