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
//! - `marks`, `tour`: fairness to each of many elements, of which one stands for all.
//!
//! Runs are infinite: where nothing can happen, the state stays for ever. Where all that can happen faults or is
//! dropped by an assumption, there is no run.

mod automaton;
mod branching;
mod emptiness;
mod lasso;
mod marks;
#[cfg(test)]
mod tests;
mod tour;

use std::time::Instant;

use shoal_code::{Program, Steps};
use shoal_model::{
    Condition, During, ExprKind, Failing, Fault, Formula, Interval, Job, Logic, Model, Node, Observer,
    OrInternal, Order, Outcome, PartialOrder, Property, PropertyId, PropertyKind, PropertyResult, Reason,
    Representatives, SortId, Statistics, StopReason, Storage, Strategy, TypedId, Unsupported, Verdict,
    Violation, walk_condition,
};

use crate::{
    kripke::WantedSteps,
    order,
    report::{Problem, Reporter, Where},
    room::with_room,
    search::{self, Findings, Keeper, Nowhere, ReadOutcome, Refusal, SearchReader},
    support::{pinned, unsupported},
};
use automaton::BuchiAutomaton;
use branching::{BranchingEvaluator, BranchingFormula};
use emptiness::{EmptinessAnswer, Product};
use shoal_analysis::mirror::{self, FairMark, FairRepresentatives};

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
/// one. The keeper must see to it that this was a search for the same properties of the same model. Temporal formulas read
/// the search for the other properties where they can, and it is saved with what they need; where they need searches of
/// their own after it, these are not.
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
        return search::check_and_keep(model, job, observer, keeper, None);
    }
    let began = Instant::now();
    let (temporal, others): (Vec<PropertyId>, Vec<PropertyId>) =
        job.properties.iter().copied().partition(is_temporal);
    let mut tasks = temporal.iter().map(|id| tasks(model, job, *id)).collect::<Result<Vec<_>, _>>()?.concat();
    let mut decider = Decider {
        model,
        job,
        give_up_at: None,
        verdicts: temporal.iter().map(|id| (*id, None)).collect(),
        failing: Failing::Nothing,
        statistics: None,
    };
    let mut outcome = Outcome::unknown(&[], &StopReason::NoStart);
    let mut nowhere = Nowhere;
    let mut first = Some(keeper);
    if !others.is_empty() || temporal.is_empty() {
        // What temporal formulas name is no concern of the others.
        let plain = without(model, |kind| matches!(kind, PropertyKind::Temporal(..)));
        let job = Job { properties: others, ..job.clone() };
        let group = TaskGroup::beside(&mut decider, &plain, &job, &mut tasks);
        let keeper = first.take().unwrap_or(&mut nowhere);
        outcome = match group {
            Some((model, mut group)) => {
                search::check_and_keep(&model, &job, observer, keeper, Some(&mut group))?
            }
            None => search::check_and_keep(&plain, &job, observer, keeper, None)?,
        };
    }
    decider.give_up_at = give_up_at(job, &outcome);
    decider.run(tasks, observer, first.unwrap_or(&mut nowhere))?;
    Ok(decider.finish(outcome, began))
}

/// A conjunct of a property, and how it can be violated.
#[derive(Clone)]
struct FormulaTask {
    property: PropertyId,
    /// The conditions it reads, then those of fairness.
    conditions: Vec<Condition>,
    /// How many are those of fairness.
    fairness: usize,
    /// The elements that stand for others in these.
    marks: Vec<TaskMark>,
    asks: TaskKind,
}

/// An element that stands for others, and the constraints about it as numbers among those of fairness.
#[derive(Clone)]
struct TaskMark {
    mark: FairMark,
    constraints: Vec<usize>,
}

/// What a conjunct asks.
#[derive(Clone)]
enum TaskKind {
    /// That no run is accepted.
    Linear(BuchiAutomaton),
    /// That a formula of branching time holds.
    Branching(BranchingFormula),
}

impl FormulaTask {
    fn is_linear(&self) -> bool {
        matches!(self.asks, TaskKind::Linear(_))
    }
}

/// The formula that a task comes from.
fn formula<'m>(model: &'m Model, task: &FormulaTask) -> Option<&'m Formula> {
    match &model.properties[task.property].kind {
        PropertyKind::Temporal(_, formula) => Some(formula),
        _ => None,
    }
}

fn tasks(model: &Model, job: &Job, id: PropertyId) -> Result<Vec<FormulaTask>, Unsupported> {
    let property = &model.properties[id];
    let PropertyKind::Temporal(logic @ (Logic::Ltl | Logic::Ctl), formula) = &property.kind else {
        return Err(unsupported(property.kind.asks().words(), Some(property.span)));
    };
    if bounded(formula) {
        return Err(unsupported("temporal operators with bounds on time", Some(property.span)));
    }
    // An element stands for others only where nothing else is left out.
    let exact = job.strategy.representatives == Representatives::Exact
        && takes_all_steps(model, job)
        && model.sorts.iter().all(|sort| sort.fixed_size().is_some());
    let like: &[SortId] = if exact { &job.symmetric } else { &[] };
    let task = |conjunct: &Formula| {
        let too_large = || unsupported("a temporal formula of this size", Some(property.span));
        let own = mirror::pins(&conjunct.atoms().into_iter().cloned().collect::<Vec<Condition>>());
        let FairRepresentatives { conditions: fair, marks } = mirror::fair_representatives(model, like, &own);
        let fairness = fair.len();
        let (mut conditions, asks) = match logic {
            Logic::Ctl => {
                let mut conditions = Vec::new();
                let not_ctl = || unsupported("a formula that is not of branching time", Some(property.span));
                let formula = BranchingFormula::of(conjunct, &mut conditions).ok_or_else(not_ctl)?;
                (conditions, TaskKind::Branching(formula))
            }
            Logic::Ltl | Logic::Tctl => {
                let automaton = BuchiAutomaton::of_violations(conjunct, fairness);
                automaton.map(|(conditions, it)| (conditions, TaskKind::Linear(it))).ok_or_else(too_large)?
            }
        };
        let about =
            |mark: usize| -> Vec<usize> { (0..fair.len()).filter(|at| fair[*at].1 == Some(mark)).collect() };
        let marked = |(at, mark): (usize, &FairMark)| TaskMark { mark: mark.clone(), constraints: about(at) };
        let marks = marks.iter().enumerate().map(marked).collect();
        conditions.extend(fair.into_iter().map(|(condition, _)| condition));
        if conditions.len() > MOST_CONDITIONS {
            return Err(too_large());
        }
        Ok(FormulaTask { property: id, conditions, fairness, marks, asks })
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

/// Which elements of the symmetric sorts a model names, so that they stay where they are.
fn pins(model: &Model, symmetric: &[SortId]) -> Vec<Vec<bool>> {
    let pinned = pinned(model);
    symmetric.iter().map(|sort| pinned[sort.index()].clone()).collect()
}

/// A model in which conditions are properties, whose truth can be kept; and these properties.
fn with_conditions(mut model: Model, conditions: &[Condition]) -> (Model, Vec<PropertyId>) {
    model.fairness.clear();
    let ask = |condition: &Condition| {
        let (name, span) = (String::new(), condition.expr.span);
        let kind = PropertyKind::Invariant(condition.clone());
        model.properties.push(Property { name, kind, span })
    };
    let asked = conditions.iter().map(ask).collect();
    (model, asked)
}

struct Decider<'s> {
    model: &'s Model,
    job: &'s Job,
    give_up_at: Option<u64>,
    verdicts: Vec<(PropertyId, Option<Verdict>)>,
    /// Whether a step fails in the graphs.
    failing: Failing,
    /// Of the largest graph.
    statistics: Option<Statistics>,
}

impl Decider<'_> {
    /// Decides what is left, one search after another, of which the first may be kept.
    fn run(
        &mut self,
        mut tasks: Vec<FormulaTask>,
        observer: &mut dyn Observer,
        keeper: &mut dyn Keeper,
    ) -> Result<(), Refusal> {
        let mut nowhere = Nowhere;
        let mut keeper = Some(keeper);
        let strategy = Strategy { order: Order::BreadthFirst, storage: Storage::Exact, ..self.job.strategy };
        let job = Job { properties: Vec::new(), checked: Vec::new(), strategy, ..self.job.clone() };
        let stays = |kind: &PropertyKind| matches!(kind, PropertyKind::Assume(_) | PropertyKind::NoFaults);
        let plain = without(self.model, |kind| !stays(kind));
        let job_takes_all = takes_all_steps(self.model, self.job);
        while let Some(first) = tasks.first() {
            // All that name the same elements.
            let pins_of = |task: &FormulaTask| {
                pins(&with_conditions(plain.clone(), &task.conditions).0, &self.job.symmetric)
            };
            let (same, linear) = (pins_of(first), first.is_linear());
            // Formulas of branching time need all steps, where others may not.
            let alike =
                |task: &FormulaTask| pins_of(task) == same && (job_takes_all || task.is_linear() == linear);
            let (now, conditions) = take(&mut tasks, alike);
            let (derived, asked) = with_conditions(plain.clone(), &conditions);
            let mut group = TaskGroup { decider: self, tasks: now, conditions, asked, alone: true };
            let outcome = search::check_and_keep(
                &derived,
                &job,
                observer,
                keeper.take().unwrap_or(&mut nowhere),
                Some(&mut group),
            )?;
            self.failing = std::mem::replace(&mut self.failing, Failing::Nothing).or(outcome.failing);
            self.keep_statistics(outcome.statistics);
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

    fn violated(&mut self, property: PropertyId, violation: Violation, observer: &mut dyn Observer) {
        observer.violation(property, &violation);
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
    fn finish(self, others: Outcome, began: Instant) -> Outcome {
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
        statistics.time = began.elapsed();
        Outcome { results, failing: self.failing.or(others.failing), statistics }
    }
}

/// Takes the tasks that fit, as far as there is room for their conditions; and gives these.
fn take(
    tasks: &mut Vec<FormulaTask>,
    fits: impl Fn(&FormulaTask) -> bool,
) -> (Vec<FormulaTask>, Vec<Condition>) {
    let mut conditions: Vec<Condition> = Vec::new();
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    for task in tasks.drain(..) {
        let new = task.conditions.iter().filter(|it| !conditions.contains(it)).cloned();
        let union: Vec<Condition> = conditions.iter().cloned().chain(new).collect();
        if union.len() <= MOST_CONDITIONS && fits(&task) {
            conditions = union;
            taken.push(task);
        } else {
            left.push(task);
        }
    }
    *tasks = left;
    (taken, conditions)
}

/// Whether a condition calls a function, which may take for ever.
fn calls(condition: &Condition) -> bool {
    let mut calls = false;
    walk_condition(condition, &mut |node| {
        calls |= matches!(node, Node::Expr(expr) if matches!(expr.kind, ExprKind::Call(..)));
    });
    calls
}

/// Whether no search of a job leaves out orders of steps.
fn takes_all_steps(model: &Model, job: &Job) -> bool {
    match job.strategy.partial_order {
        PartialOrder::Off => true,
        PartialOrder::Stubborn => false,
        PartialOrder::Agents => model.agents.is_empty(),
    }
}

/// Tasks that read one search.
struct TaskGroup<'d, 's> {
    decider: &'d mut Decider<'s>,
    /// Those that are not decided.
    tasks: Vec<FormulaTask>,
    conditions: Vec<Condition>,
    /// The properties of the search's model that these conditions are.
    asked: Vec<PropertyId>,
    /// Whether the search is for them alone.
    alone: bool,
}

impl<'d, 's> TaskGroup<'d, 's> {
    /// The tasks that can read the search which decides the other properties of a job anyway, and the model for both: where neither
    /// leaves out steps, and the tasks name no element that would otherwise change places with others.
    fn beside(
        decider: &'d mut Decider<'s>,
        plain: &Model,
        job: &Job,
        tasks: &mut Vec<FormulaTask>,
    ) -> Option<(Model, TaskGroup<'d, 's>)> {
        let Strategy { order, storage, .. } = job.strategy;
        let keeps_all = order == Order::BreadthFirst && matches!(storage, Storage::Exact | Storage::Tree);
        if !keeps_all || !takes_all_steps(plain, job) || !job.checked.is_empty() {
            return None;
        }
        let named = pins(plain, &job.symmetric);
        let fits = |task: &FormulaTask| {
            let model = with_conditions(plain.clone(), &task.conditions).0;
            // What may never end is not asked before the other properties are decided.
            pins(&model, &job.symmetric) == named && !task.conditions.iter().any(calls)
        };
        let (tasks, conditions) = take(tasks, fits);
        let (model, asked) = with_conditions(plain.clone(), &conditions);
        (!tasks.is_empty()).then_some((model, TaskGroup { decider, tasks, conditions, asked, alone: false }))
    }

    /// The bits of labels that a task's conditions are.
    fn bits(&self, task: &FormulaTask) -> Vec<u32> {
        let at = |condition: &Condition| {
            let at = self.conditions.iter().position(|it| it == condition);
            at.or_internal("a condition of the task's group") as u32
        };
        task.conditions.iter().map(at).collect()
    }

    /// What can be said of a task by what was found.
    fn decide(&self, task: &FormulaTask, explored: &mut Findings<'_, '_>) -> TaskAnswer {
        let bits = self.bits(task);
        let Findings { model, layout, program, shards, ref mut canon, ref graph, faults, .. } = *explored;
        let fault = bits.iter().find_map(|bit| faults[*bit as usize].clone().map(|it| (*bit, it)));
        if let Some((bit, (state, fault))) = fault {
            let mut reporter = Reporter::new(model, layout, program, shards, canon.as_deref_mut());
            let problem = Problem::Property(self.asked[bit as usize], fault);
            let violation = reporter.violation(Where::At(state), problem);
            return TaskAnswer::Violated(of_property(violation, task.property));
        }
        if !task.marks.is_empty() {
            return self.decide_marked(task, &bits, explored);
        }
        let ways: Vec<(Vec<u32>, Vec<u32>)> = match &task.asks {
            TaskKind::Linear(automaton) => {
                match Product::new(graph, automaton, &bits).search(&mut explored.budget) {
                    EmptinessAnswer::Empty => return TaskAnswer::Open(None),
                    EmptinessAnswer::Stopped(reason) => return TaskAnswer::Open(Some(reason)),
                    EmptinessAnswer::Cycles(cycles) => {
                        cycles.into_iter().map(|it| (it.stem, it.cycle)).collect()
                    }
                }
            }
            // Only all states tell which paths there are.
            TaskKind::Branching(_) if explored.end != Some(None) => return TaskAnswer::Open(None),
            TaskKind::Branching(formula) => {
                let (own, fairness) = bits.split_at(bits.len() - task.fairness);
                let found =
                    BranchingEvaluator::new(graph, formula, own, fairness, None, &mut explored.budget)
                        .and_then(|mut evaluator| evaluator.counterexample(formula));
                match found {
                    Ok(None) => return TaskAnswer::Open(None),
                    Err(reason) => return TaskAnswer::Open(Some(reason)),
                    Ok(Some(witness)) => vec![(witness.stem, witness.cycle)],
                }
            }
        };
        let mut unroll = lasso::Unroll::new(model, layout, program, shards, canon.as_deref_mut());
        let traces = ways.iter().filter_map(|(stem, cycle)| unroll.run(stem, cycle));
        let trace = traces.min_by_key(|trace| trace.steps.len());
        TaskAnswer::Violated(Violation { reason: Reason::FormulaFalse, trace })
    }
}

/// What can be said of a task.
enum TaskAnswer {
    Violated(Violation),
    /// Nothing was found; perhaps as something stopped it.
    Open(Option<StopReason>),
}

impl SearchReader for TaskGroup<'_, '_> {
    fn conditions(&self) -> &[PropertyId] {
        &self.asked
    }

    fn wanted(&self) -> WantedSteps {
        let wanted = |task: &FormulaTask| match &task.asks {
            TaskKind::Linear(automaton) => emptiness::wanted(automaton, &self.bits(task)),
            TaskKind::Branching(_) => WantedSteps::all().cubes,
        };
        let mut cubes: Vec<(u64, u64)> = self.tasks.iter().flat_map(wanted).collect();
        cubes.sort_unstable();
        cubes.dedup();
        WantedSteps { cubes }
    }

    fn steps(&self, program: &mut Program) -> Steps {
        if !self.alone {
            return Steps::All;
        }
        let Decider { model, job, .. } = *self.decider;
        let formulas: Vec<&Formula> = self.tasks.iter().filter_map(|task| formula(model, task)).collect();
        order::for_formulas(model, job, &self.conditions, &formulas, program)
    }

    fn give_up_at(&self) -> Option<u64> {
        self.decider.give_up_at
    }

    fn read(&mut self, explored: &mut Findings<'_, '_>) -> ReadOutcome {
        let mut reading = ReadOutcome::default();
        let mut open = Vec::new();
        for task in std::mem::take(&mut self.tasks) {
            // Of a conjunction that is violated the other conjuncts do not matter.
            if self.decider.is_violated(task.property) {
                continue;
            }
            match (self.decide(&task, explored), explored.end.clone()) {
                (TaskAnswer::Violated(violation), _) => {
                    reading.violated = true;
                    self.decider.violated(task.property, violation, explored.budget.observer);
                }
                (TaskAnswer::Open(_), None) => open.push(task),
                (TaskAnswer::Open(stopped), Some(end)) => {
                    if let Some(reason) = end.or(stopped) {
                        self.decider.unknown(task.property, reason);
                    }
                }
            }
        }
        self.tasks = open;
        reading.done = self.tasks.is_empty();
        reading
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
