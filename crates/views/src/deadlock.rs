//! Whether something can happen in every state.

use shoal_model::{DeadlockKind, PropertyId, PropertyKind, Rule, TypedId};

use crate::{
    branch::branch,
    cell::{Cell, ViewScalar},
    decision::{RunResult, Stop},
    expand::Universe,
    machine::ViewMachine,
    search::{SearchHalt, ViewSearch, halt},
    sieve::Answer,
    structure::Structure,
    system::OpenSystem,
    task::RunTask,
    words,
};

/// How many elements are added to a structure to see that something can happen in it.
const LIVELY_DEPTH: usize = 3;
/// How many questions are asked about it at most.
const LIVELY_WAYS: usize = 6;
/// How many runs may be spent beyond as many as finding the views took.
const LIVELY_RUNS: u64 = 50_000;

/// What may be asked about a structure: what is true of some unknown element, and then has to be lively whatever the answer
/// is.
enum Question<'m> {
    /// Who is it that satisfies a context predicate?
    Witness(usize),
    /// What does an element look like that something refers to?
    Resolve(Cell),
    /// How does a quantifier of this rule come out?
    Quantify(&'m Rule, Box<RunTask>, Stop),
}

/// How much a question promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum QuestionPromise {
    /// Who satisfies a predicate, and who came first: that is mostly who can go on.
    Best,
    /// What the step of a known element reads.
    Good,
    /// What the step of another element reads.
    Some,
    /// Who else is in the list.
    Little,
    /// What a step needs to go on with: its answer tells nothing about other steps.
    Least,
}

/// What may be asked, each question once.
#[derive(Default)]
struct Questions<'m>(Vec<(QuestionPromise, Question<'m>)>);

impl<'m> Questions<'m> {
    fn add(&mut self, promise: QuestionPromise, question: Question<'m>) {
        let is_same = |(_, known): &&mut (QuestionPromise, Question<'m>)| match (known, &question) {
            (Question::Resolve(known), Question::Resolve(star)) => known == star,
            (Question::Resolve(_) | Question::Witness(_) | Question::Quantify(..), _) => false,
        };
        match self.0.iter_mut().find(is_same) {
            Some((known, _)) => *known = promise.min(*known),
            None => self.0.push((promise, question)),
        }
    }

    /// What promises most first.
    fn in_order(mut self) -> impl Iterator<Item = Question<'m>> {
        self.0.sort_by_key(|(promise, _)| *promise);
        self.0.into_iter().map(|(_, question)| question)
    }
}

impl<'m> ViewSearch<'_, 'm, '_> {
    /// Whether something can happen in every state, as far as each of its views tells by itself.
    pub(crate) fn deadlocks(&mut self, asked: &[PropertyId]) -> Result<(), SearchHalt> {
        let system = self.system;
        for property in asked {
            let PropertyKind::Deadlock(kind) = &system.model.properties[*property].kind else { continue };
            let moves = match kind {
                DeadlockKind::Stuck | DeadlockKind::StuckUnless(_) => false,
                DeadlockKind::Stuttering => true,
                DeadlockKind::Timelock => {
                    self.failed.insert(*property, "time".into());
                    continue;
                }
            };
            let prioritised = system
                .model
                .rules
                .iter()
                .any(|rule| rule.priority != system.model.rules.as_slice()[0].priority);
            let assumes = system.model.properties.iter().any(|it| matches!(it.kind, PropertyKind::Assume(_)));
            let most = self.runs() * 2 + LIVELY_RUNS;
            for at in 0..self.store.leaders.len() {
                let view = self.store.views[self.store.leaders[at] as usize].clone();
                let structure = Structure::of_view(system, &view);
                let task = RunTask::plain(system.node(structure).map_err(halt)?);
                // The less has to be asked the better.
                let mut lively = false;
                for depth in 0..=LIVELY_DEPTH {
                    lively =
                        lively || !prioritised && !assumes && self.lively(&task, None, moves, depth, most)?;
                }
                if !lively {
                    let shown = words::view(system, &view);
                    self.failed.insert(*property, format!("perhaps nothing can happen where {shown}"));
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether in every state that a structure is a part of some rule can fire (and, if asked, change something that is
    /// known). `begun` is a step that has been followed so far.
    fn lively(
        &mut self,
        task: &RunTask,
        begun: Option<(&'m Rule, RunTask)>,
        moves: bool,
        depth: usize,
        most: u64,
    ) -> Result<bool, SearchHalt> {
        let system = self.system;
        let mut questions = Questions::default();
        for predicate in 0..system.predicates.len() {
            if task.node.structure.bits >> predicate & 1 == 1 {
                questions.add(QuestionPromise::Best, Question::Witness(predicate));
            }
        }
        if let Some(chain) = system.chain {
            let structure = &task.node.structure;
            let stars = chain.stars(&structure.cells, structure.known[chain.sort]);
            for (at, star) in stars.into_iter().enumerate() {
                let promise = if at == 0 { QuestionPromise::Best } else { QuestionPromise::Little };
                questions.add(promise, Question::Resolve(star));
            }
        }
        let mut tries: Vec<(&'m Rule, RunTask)> = Vec::new();
        for rule in system.model.rules.iter().rev() {
            tries.push((rule, RunTask::plain(task.node.clone())));
        }
        tries.extend(begun);
        while let Some((rule, task)) = tries.pop() {
            let structure = &task.node.structure;
            // The first parameter is chosen before a guard can be sieved.
            let is_begun = !task.script.is_empty() || rule.params.is_empty();
            if is_begun
                && task.decisions.is_empty()
                && system.sieve(rule, structure, &task.script) == Answer::No
            {
                continue;
            }
            self.tick()?;
            let scratch = std::mem::take(&mut self.scratch);
            let mut machine =
                ViewMachine::new(system, scratch, structure, &task.stars, &task.script, &task.decisions);
            let fired = system.fire(&mut machine, rule);
            let is_step = fired.is_ok() && (!moves || system.differ(machine.now(), &structure.cells));
            self.scratch = machine.into_scratch();
            match fired {
                Ok(()) if is_step => return Ok(true),
                // There is no such state.
                Err(Stop::Contradiction) if !task.decisions.is_empty() => return Ok(true),
                // What faults is no step, unless only a check fails.
                Err(Stop::Fault(fault)) if fault.kind.goes_on() => return Ok(true),
                Ok(()) | Err(Stop::Dead | Stop::Contradiction | Stop::Fault(_)) => {}
                Err(Stop::Choose(options)) => {
                    // Whether there is one more element is not known, unless there must be more than have been met.
                    let is_there = |value: &ViewScalar| match value {
                        ViewScalar::Star(sort, _) => {
                            let met = stars_met(&task, sort.index());
                            let least = self.least.get(sort.index()).copied().unwrap_or(0);
                            least > structure.known[sort.index()] + met.len()
                                || Cell::pack(*value).is_some_and(|star| met.contains(&star))
                        }
                        _ => true,
                    };
                    let there = options.iter().copied().filter(is_there);
                    tries.extend(there.map(|it| (rule, task.choosing(it))));
                }
                Err(Stop::Resolve(star)) => {
                    let is_star = |value: &ViewScalar| matches!(value, ViewScalar::Star(..));
                    let by_others = task.script.iter().any(is_star);
                    let promise = if by_others { QuestionPromise::Some } else { QuestionPromise::Good };
                    questions.add(promise, Question::Resolve(star));
                }
                Err(stop @ Stop::Quantify(_)) => {
                    questions.add(QuestionPromise::Least, Question::Quantify(rule, Box::new(task), stop));
                }
                Err(Stop::After(_) | Stop::Lacking(_)) => {}
            }
        }
        if depth == 0 || self.runs() > most {
            return Ok(false);
        }
        for question in questions.in_order().take(LIVELY_WAYS) {
            if self.is_lively_whatever(task, question, moves, depth - 1, most)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a structure is lively whatever the answer to a question is.
    fn is_lively_whatever(
        &mut self,
        task: &RunTask,
        question: Question<'m>,
        moves: bool,
        depth: usize,
        most: u64,
    ) -> Result<bool, SearchHalt> {
        let system = self.system;
        let mut universe = Universe::Views(&mut self.store, None);
        let plain = RunTask::plain(task.node.clone());
        let (rule, next) = match question {
            Question::Witness(predicate) => {
                let sort = system.predicates[predicate].sort;
                if !system.has_room(&task.node, sort) {
                    return Ok(false);
                }
                let Ok(group) = system.expand(&mut universe, plain, sort, None) else { return Ok(false) };
                let Ok(mut tasks) = group.tasks(system, &mut universe) else { return Ok(false) };
                let satisfied = |task: &RunTask| task.node.satisfied[sort].last().copied().unwrap_or(0);
                tasks.retain(|task| satisfied(task) >> predicate & 1 == 1);
                (None, Ok(tasks))
            }
            Question::Resolve(star) => (None, followed(system, &mut universe, &plain, Stop::Resolve(star))),
            Question::Quantify(rule, task, stop) => {
                (Some(rule), followed(system, &mut universe, &task, stop))
            }
        };
        let Ok(next) = next else { return Ok(false) };
        for task in next {
            let begun = rule.map(|rule| (rule, task.clone()));
            if !self.lively(&task, begun, moves, depth, most)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// All that there is to be tried where a run has stopped.
fn followed(
    system: &OpenSystem<'_>,
    universe: &mut Universe<'_>,
    task: &RunTask,
    stop: Stop,
) -> RunResult<Vec<RunTask>> {
    let mut tasks = Vec::new();
    for group in branch(system, universe, task, stop)? {
        tasks.append(&mut group.tasks(system, universe)?);
    }
    Ok(tasks)
}

/// The stars of a sort that something refers to, or that have been chosen.
fn stars_met(task: &RunTask, sort: usize) -> Vec<Cell> {
    let chosen = task.script.iter().filter_map(|value| Cell::pack(*value));
    let mut stars: Vec<Cell> = task.node.structure.cells.iter().copied().chain(chosen).collect();
    stars.retain(|cell| cell.as_star().is_some_and(|(of, _)| of == sort));
    stars.sort_unstable();
    stars.dedup();
    stars
}
