//! The search: all views that the states of all instances can have, or a few more.

use std::collections::BTreeMap;

use shoal_certificate::OpenInvariant;
use shoal_model::{
    DeadlockKind, Fault, FaultKind, GuardFaults, Model, PropertyId, PropertyKind, Rule, SortId, SortSize,
    State, TypedId,
};
use shoal_syntax::Span;

use crate::{
    cell::Scalar,
    expand::{Task, Universe},
    layout::Lacking,
    machine::{Decision, Machine, Run, Stop},
    store::{Store, ViewId},
    structure::{Pick, Structure, ViewKey, project},
    system::{Claim, System},
    words,
};

/// How much of a state a view shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// For each sort of the model, how many elements a view has; only sorts with any number count.
    pub elements: Vec<usize>,
    /// Whether views say what other elements satisfy.
    pub bits: bool,
    /// How many elements beyond those of a view may be looked at together.
    pub more: usize,
}

/// What a search comes to.
#[derive(Clone, Debug)]
pub struct Abstraction {
    /// How many views there are, in one order of their elements each.
    pub views: usize,
    /// The invariants that hold in all structures that the views allow, and the properties that no run violates.
    pub proved: Vec<PropertyId>,
    /// Those that do not, and why in words.
    pub failed: BTreeMap<PropertyId, String>,
    /// The views, in words; for people.
    pub shown: Vec<String>,
    /// How many runs it took.
    pub runs: u64,
    /// The views as plain data.
    pub invariant: OpenInvariant,
}

/// Why there is no abstraction.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The engine cannot take the model this way.
    Lacking(Lacking),
    /// There was too little time, or too many views.
    Stopped,
}

/// When to stop.
pub struct Budget<'a> {
    /// So many runs at most.
    pub runs: u64,
    /// Is asked from time to time whether to stop.
    pub stop: &'a mut dyn FnMut() -> bool,
}

/// What a run is of.
#[derive(Clone, Copy)]
enum Step<'s, 'm> {
    Rule(&'m Rule),
    Claim(&'s Claim<'m>),
}

/// How a run ends that comes to its end.
struct Ended {
    /// What the elements of the view look like now. Nothing where it is a claim, which holds.
    view: Option<ViewKey>,
    reads: Vec<usize>,
}

struct Search<'s, 'm, 'b> {
    system: &'s System<'m>,
    store: Store,
    failed: BTreeMap<PropertyId, String>,
    runs: u64,
    budget: &'b mut Budget<'b>,
}

enum Halt {
    Lacking(String, Span),
    Stopped,
}

impl From<Halt> for Failure {
    fn from(halt: Halt) -> Failure {
        match halt {
            Halt::Lacking(what, span) => Failure::Lacking(Lacking { what, span }),
            Halt::Stopped => Failure::Stopped,
        }
    }
}

/// Finds the views of a model in which some sorts have any number of elements, and says which of the properties asked
/// they prove for all instances that have at least as many elements as a view. All those sorts are symmetric; the caller
/// has had that proved.
pub fn abstraction<'b>(
    model: &Model,
    asked: &[PropertyId],
    config: &Config,
    budget: &'b mut Budget<'b>,
) -> Result<Abstraction, Failure> {
    abstraction_and_test(model, asked, config, budget, &[]).map(|(found, _)| found)
}

/// The same, and the first view of one of these states that is not among those found: there must be none where the states
/// are reachable ones of instances. For tests.
pub fn abstraction_and_test<'b>(
    model: &Model,
    asked: &[PropertyId],
    config: &Config,
    budget: &'b mut Budget<'b>,
    states: &[(Model, State)],
) -> Result<(Abstraction, Option<String>), Failure> {
    let any: Vec<bool> = model.sorts.iter().map(|sort| sort.size == SortSize::Any).collect();
    let mut sized = model.clone();
    let mut view = Vec::new();
    for (at, sort) in sized.sorts.iter_mut().enumerate() {
        if any[at] {
            view.push(config.elements[at]);
            sort.size = SortSize::Fixed((config.elements[at] + config.more) as u32);
        } else {
            view.push(sort.fixed_size().unwrap_or(0) as usize);
        }
    }
    let system = System::new(&sized, &any, &view, config.bits, asked).map_err(Failure::Lacking)?;
    let store = Store::new(any.len());
    let mut search = Search { system: &system, store, failed: BTreeMap::new(), runs: 0, budget };
    search.close()?;
    search.judge()?;
    search.deadlocks(asked)?;
    let proved = search.proved(asked);
    let shown = search.store.leaders.iter().take(words::MOST_SHOWN).map(|id| {
        let view = &search.store.views[*id as usize];
        words::view(&system, view)
    });
    let missing = search.missing(states)?;
    let found = Abstraction {
        views: search.store.leaders.len(),
        invariant: system.invariant(&search.store, config, asked, &proved)?,
        proved,
        shown: shown.collect(),
        failed: search.failed,
        runs: search.runs,
    };
    Ok((found, missing))
}

impl<'s, 'm> Search<'s, 'm, '_> {
    /// Finds all views: first those of starts, then what rules make of them.
    fn close(&mut self) -> Result<(), Halt> {
        let system = self.system;
        for start in system.model.starts.iter() {
            let blank = system.blank();
            for first in self.blank_bits(&blank)? {
                let found = self.explore(Step::Rule(start), first, None, None)?;
                self.insert_all(found)?;
            }
        }
        let mut dirty: Vec<bool> = Vec::new();
        let mut whole = false;
        loop {
            let before = self.store.leaders.len();
            let mut at = 0;
            while at < self.store.leaders.len() {
                let id = self.store.leaders[at];
                dirty.resize(self.store.views.len(), true);
                if std::mem::take(&mut dirty[id as usize]) || whole {
                    self.steps_of(id, if whole { None } else { Some(id) })?;
                    dirty.resize(self.store.views.len(), true);
                    for woken in self.store.woken.drain(..) {
                        dirty[woken as usize] = true;
                    }
                }
                at += 1;
            }
            let leaders = &self.store.leaders;
            let done = leaders.len() == before && leaders.iter().all(|id| !dirty[*id as usize]);
            match (done, whole) {
                // Once more from scratch: dependencies are for speed, and nothing is to rest on them.
                (true, false) => whole = true,
                (true, true) => return Ok(()),
                (false, _) => whole = false,
            }
        }
    }

    /// The blank structure, with nothing outside and with something: elements outside are blank as well.
    fn blank_bits(&self, blank: &Structure) -> Result<Vec<Structure>, Halt> {
        let mut outside = blank.clone();
        let satisfied = self.system.satisfied(blank).map_err(halt)?;
        for masks in &satisfied {
            outside.bits |= masks.first().copied().unwrap_or(0);
        }
        Ok(if outside.bits == 0 { vec![outside] } else { vec![blank.clone(), outside] })
    }

    fn steps_of(&mut self, id: ViewId, whom: Option<ViewId>) -> Result<(), Halt> {
        let system = self.system;
        let view = self.store.views[id as usize].clone();
        let structure = Structure::of_view(&system.layout, &system.shape, &system.any_sizes(), &view);
        let mut found = Vec::new();
        for rule in system.model.rules.iter() {
            found.extend(self.explore(Step::Rule(rule), structure.clone(), Some(whom), Some(id))?);
        }
        self.insert_all(found)
    }

    fn insert_all(&mut self, found: Vec<ViewKey>) -> Result<(), Halt> {
        for view in found {
            self.store.insert(self.system, view).map_err(halt)?;
        }
        Ok(())
    }

    /// Takes a step from a structure in every way that the views allow; gives what its elements look like afterwards.
    /// `whom` is nothing for starts.
    fn explore(
        &mut self,
        step: Step<'s, 'm>,
        from: Structure,
        whom: Option<Option<ViewId>>,
        shown: Option<ViewId>,
    ) -> Result<Vec<ViewKey>, Halt> {
        let system = self.system;
        let satisfied = system.satisfied(&from).map_err(halt)?;
        let first = Task { structure: from, satisfied, script: Vec::new(), decisions: Vec::new() };
        let mut found: Vec<ViewKey> = Vec::new();
        // Tasks that differ only in an element that was just added go together.
        let mut stack: Vec<Vec<Task>> = vec![vec![first]];
        while let Some(siblings) = stack.pop() {
            let mut seen: Vec<(Vec<usize>, Task)> = Vec::new();
            for task in siblings {
                if is_like_one_of(system, &task, &seen) {
                    continue;
                }
                self.tick()?;
                match self.run(step, &task) {
                    Ok(ended) => {
                        if let Some(view) = ended.view.filter(|view| !found.contains(view)) {
                            found.push(view);
                        }
                        seen.push((ended.reads, task));
                    }
                    Err((Stop::Dead | Stop::Contradiction, reads)) => seen.push((reads, task)),
                    Err((Stop::Fault(fault), reads)) => {
                        self.fails(step, &fault, shown, &task);
                        seen.push((reads, task));
                    }
                    Err((stop, _)) => {
                        let mut universe = match whom {
                            Some(whom) => Universe::Views(&mut self.store, whom),
                            None => Universe::Blank,
                        };
                        let next = branch(system, &mut universe, &task, stop).map_err(halt)?;
                        stack.extend(next.into_iter().filter(|tasks| !tasks.is_empty()));
                    }
                }
            }
        }
        Ok(found)
    }

    fn tick(&mut self) -> Result<(), Halt> {
        self.runs += 1;
        if self.runs > self.budget.runs || (self.runs.is_multiple_of(1024) && (self.budget.stop)()) {
            return Err(Halt::Stopped);
        }
        Ok(())
    }

    fn run(&self, step: Step<'s, 'm>, task: &Task) -> Result<Ended, (Stop, Vec<usize>)> {
        let mut machine = Machine::new(self.system, &task.structure, &task.script, &task.decisions);
        match self.run_on(&mut machine, step, task) {
            Ok(view) => Ok(Ended { view, reads: machine.reads }),
            Err(stop) => Err((stop, machine.reads)),
        }
    }

    fn run_on(&self, machine: &mut Machine<'_, 'm>, step: Step<'s, 'm>, task: &Task) -> Run<Option<ViewKey>> {
        match step {
            Step::Rule(rule) => {
                self.fire(machine, rule)?;
                machine.settle_bits()?;
                let satisfied = self.system.satisfied_on(machine)?;
                let system = self.system;
                let pick: Pick = system.view.iter().map(|count| (0..*count).collect()).collect();
                let seen = project(
                    &system.layout,
                    &system.any,
                    &system.shape,
                    &machine.structure,
                    &satisfied,
                    &pick,
                );
                Ok(Some(seen.view))
            }
            Step::Claim(claim) => {
                self.claim(machine, claim, task)?;
                Ok(None)
            }
        }
    }

    fn fire(&self, machine: &mut Machine<'_, 'm>, rule: &'m Rule) -> Run {
        let disables = self.system.model.guard_faults == GuardFaults::Disable;
        let disabled = |stop: Stop| match stop {
            Stop::Fault(_) if disables => Stop::Dead,
            stop => stop,
        };
        machine.phase(0);
        machine.push(&rule.code.locals, None);
        let mut arguments = Vec::new();
        for param in &rule.params {
            let options = machine.options(&param.domain).map_err(disabled)?;
            let value = machine.choose(|_| options)?;
            machine.set(param.local, value);
            arguments.push((param.local, value));
        }
        machine.bind(&rule.bindings).map_err(disabled)?;
        if let Some(guard) = &rule.guard
            && !machine.truth(guard).map_err(disabled)?
        {
            return Err(Stop::Dead);
        }
        machine.pop();
        machine.phase(1);
        machine.push(&rule.code.locals, None);
        for (local, value) in arguments {
            machine.set(local, value);
        }
        machine.bind(&rule.bindings)?;
        machine.body(&rule.code.body)?;
        machine.pop();
        Ok(())
    }

    /// Whether a claim holds for what the script chooses. Where nothing but the parameters can matter, those that are
    /// elements of the view come first: there is a view for every choice of them.
    fn claim(&self, machine: &mut Machine<'_, 'm>, claim: &Claim<'m>, task: &Task) -> Run {
        machine.phase(0);
        machine.push(claim.locals, None);
        let plain = claim.depth.iter().all(|depth| *depth == 0);
        for (at, (local, ty)) in claim.params.iter().enumerate() {
            let value = machine.choose(|machine| {
                let options = machine.values_to_choose(*ty);
                let before = &task.script[..at.min(task.script.len())];
                if plain { self.narrowed(options, before) } else { options }
            })?;
            machine.set(*local, value);
        }
        let holds = machine.truth(claim.body)?;
        machine.pop();
        if holds {
            Ok(())
        } else {
            Err(Stop::Fault(Fault { kind: FaultKind::Assertion(claim.property), span: claim.body.span }))
        }
    }

    /// Of these values, those that are needed after the values before: an element that is not in the view only if all
    /// that are have been taken.
    fn narrowed(&self, options: Vec<Scalar>, before: &[Scalar]) -> Vec<Scalar> {
        let is_needed = |value: &Scalar| match value {
            Scalar::Star(sort, _) => {
                let at = sort.index();
                (0..self.system.view[at]).all(|element| before.contains(&Scalar::Elem(*sort, element as u32)))
            }
            _ => true,
        };
        options.into_iter().filter(is_needed).collect()
    }

    fn fails(&mut self, step: Step<'s, 'm>, fault: &Fault, shown: Option<ViewId>, task: &Task) {
        let model = self.system.model;
        let no_faults = || {
            let mut properties = model.properties.enumerate();
            properties.find(|(_, property)| property.kind == PropertyKind::NoFaults).map(|(id, _)| id)
        };
        let mut violated: Vec<PropertyId> = match (&fault.kind, step) {
            (FaultKind::Assertion(property), _) => vec![*property],
            (_, Step::Claim(claim)) => vec![claim.property],
            (_, Step::Rule(_)) => Vec::new(),
        };
        if !matches!(fault.kind, FaultKind::Assertion(_)) {
            violated.extend(no_faults());
        }
        let _ = shown;
        for property in violated {
            let system = self.system;
            self.failed
                .entry(property)
                .or_insert_with(|| words::failure(system, step_name(step), fault, &task.structure));
        }
    }

    /// Asks every claim of every view.
    fn judge(&mut self) -> Result<(), Halt> {
        let system = self.system;
        for claim in &system.claims {
            for at in 0..self.store.leaders.len() {
                if self.failed.contains_key(&claim.property) {
                    break;
                }
                let id = self.store.leaders[at];
                let view = self.store.views[id as usize].clone();
                let structure = Structure::of_view(&system.layout, &system.shape, &system.any_sizes(), &view);
                match self.explore(Step::Claim(claim), structure, Some(None), Some(id)) {
                    Ok(_) => {}
                    Err(Halt::Lacking(what, _)) => {
                        self.failed.insert(claim.property, what);
                    }
                    Err(Halt::Stopped) => return Err(Halt::Stopped),
                }
            }
        }
        Ok(())
    }

    /// The properties asked that nothing speaks against. Of faults that show only where several elements meet in nested
    /// quantifiers or loops nothing is known, unless views have as many.
    fn proved(&mut self, asked: &[PropertyId]) -> Vec<PropertyId> {
        let system = self.system;
        let shallow = |depth: &[usize]| {
            (0..depth.len()).all(|sort| !system.any[sort] || depth[sort] <= system.view[sort])
        };
        let deep = !shallow(&system.depth) || system.claims.iter().any(|claim| !shallow(&claim.depth));
        let mut proved = Vec::new();
        for property in asked {
            match &system.model.properties[*property].kind {
                PropertyKind::Invariant(_) => {}
                PropertyKind::NoFaults | PropertyKind::Assertion => {
                    if deep {
                        let what = "more elements meet in nested loops or quantifiers than a view shows";
                        self.failed.entry(*property).or_insert_with(|| what.into());
                    }
                }
                // See `lively`.
                PropertyKind::Deadlock(_) => {}
                PropertyKind::Bound
                | PropertyKind::Assume(_)
                | PropertyKind::Cover(_)
                | PropertyKind::CoverDeadlock(_)
                | PropertyKind::Unclear(_)
                | PropertyKind::AlwaysPossible(_)
                | PropertyKind::Temporal(..) => {
                    let what = "this kind of property is not decided for any number of elements";
                    self.failed.entry(*property).or_insert_with(|| what.into());
                }
            }
            if !self.failed.contains_key(property) {
                proved.push(*property);
            }
        }
        proved
    }
}

/// How often a structure is taken apart to see that something can happen in it.
const LIVELY_DEPTH: usize = 3;
/// In how many ways that is tried.
const LIVELY_WAYS: usize = 4;

/// A step that needs more to be known: the rule, what it was tried with, and where it stopped.
type Pending<'m> = (&'m Rule, Task, Stop);

impl<'m> Search<'_, 'm, '_> {
    /// Whether something can happen in every state, as far as each of its views tells by itself.
    fn deadlocks(&mut self, asked: &[PropertyId]) -> Result<(), Halt> {
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
            for at in 0..self.store.leaders.len() {
                let view = self.store.views[self.store.leaders[at] as usize].clone();
                let structure = Structure::of_view(&system.layout, &system.shape, &system.any_sizes(), &view);
                let satisfied = system.satisfied(&structure).map_err(halt)?;
                let task = Task { structure, satisfied, script: Vec::new(), decisions: Vec::new() };
                let lively = match prioritised || assumes {
                    true => false,
                    false => self.lively(&task, None, moves, LIVELY_DEPTH)?,
                };
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
        task: &Task,
        begun: Option<(&'m Rule, Task)>,
        moves: bool,
        depth: usize,
    ) -> Result<bool, Halt> {
        let system = self.system;
        let mut pending: Vec<Pending<'m>> = Vec::new();
        let mut tries: Vec<(&'m Rule, Task)> = Vec::new();
        for rule in system.model.rules.iter().rev() {
            let plain = Task { script: Vec::new(), decisions: Vec::new(), ..task.clone() };
            tries.push((rule, plain));
        }
        tries.extend(begun);
        while let Some((rule, task)) = tries.pop() {
            self.tick()?;
            let mut machine = Machine::new(system, &task.structure, &task.script, &task.decisions);
            match self.fire(&mut machine, rule) {
                Ok(()) if !moves || system.differ(&machine.structure, &task.structure) => return Ok(true),
                // There is no such state.
                Err(Stop::Contradiction) if !task.decisions.is_empty() => return Ok(true),
                // A fault is worse than a deadlock, and told by itself.
                Err(Stop::Fault(_)) => return Ok(true),
                Ok(()) | Err(Stop::Dead | Stop::Contradiction) => {}
                Err(Stop::Choose(options)) => {
                    for value in options {
                        // Whether there is an element that nothing refers to is not known.
                        let fresh = matches!(value, Scalar::Star(sort, number) if number >= task.structure.stars[sort.index()]);
                        if !fresh {
                            let mut task = task.clone();
                            task.script.push(value);
                            tries.push((rule, task));
                        }
                    }
                }
                Err(stop @ (Stop::Resolve(_) | Stop::Quantify { .. })) => pending.push((rule, task, stop)),
                Err(Stop::After(_) | Stop::Lacking(..)) => {}
            }
        }
        if depth == 0 {
            return Ok(false);
        }
        for (rule, task, stop) in pending.into_iter().take(LIVELY_WAYS) {
            let mut universe = Universe::Views(&mut self.store, None);
            let Ok(groups) = branch(system, &mut universe, &task, stop) else { continue };
            let mut all = true;
            for next in groups.into_iter().flatten() {
                all = self.lively(&next, Some((rule, next.clone())), moves, depth - 1)?;
                if !all {
                    break;
                }
            }
            if all {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Search<'_, '_, '_> {
    /// The first view of some states of instances that is not there.
    fn missing(&self, states: &[(Model, State)]) -> Result<Option<String>, Halt> {
        let system = self.system;
        for (instance, state) in states {
            let structure = system.structure_of(instance, state).ok_or_else(|| {
                Halt::Lacking("internal error: a state that does not fit".into(), Span::default())
            })?;
            let satisfied = system.satisfied(&structure).map_err(halt)?;
            for pick in system.all_picks(&structure) {
                let seen = project(&system.layout, &system.any, &system.shape, &structure, &satisfied, &pick);
                if !self.store.contains(&seen.view) {
                    return Ok(Some(words::view(system, &seen.view)));
                }
            }
        }
        Ok(None)
    }
}

fn step_name<'m>(step: Step<'_, 'm>) -> Option<&'m str> {
    match step {
        Step::Rule(rule) => Some(&rule.name),
        Step::Claim(_) => None,
    }
}

fn halt(stop: Stop) -> Halt {
    match stop {
        Stop::Lacking(what, span) => Halt::Lacking(what, span),
        other => Halt::Lacking(format!("internal error: a run stops at {other:?}"), Span::default()),
    }
}

/// Whether a run from here does the same as one before: it reads the same values of elements that views do not have.
fn is_like_one_of(system: &System<'_>, task: &Task, seen: &[(Vec<usize>, Task)]) -> bool {
    seen.iter().any(|(reads, other)| {
        let (a, b) = (&task.structure, &other.structure);
        a.bits == b.bits
            && a.stars == b.stars
            && a.known == b.known
            && system.shape.offsets.iter().all(|at| a.cells[*at] == b.cells[*at])
            && task.script == other.script
            && task.decisions == other.decisions
            && reads.iter().all(|at| a.cells[*at] == b.cells[*at])
    })
}

/// What there is to be tried where a run has stopped. Each of the groups has tasks that differ only in their newest
/// element.
fn branch(system: &System<'_>, universe: &mut Universe<'_>, task: &Task, stop: Stop) -> Run<Vec<Vec<Task>>> {
    let assume = |decision: Decision| {
        let mut task = task.clone();
        task.decisions.push(decision);
        vec![task]
    };
    let newest = |task: &Task, sort: usize| task.structure.known[sort] - 1;
    match stop {
        Stop::Choose(options) => {
            let take = |value: Scalar| {
                let mut task = task.clone();
                task.script.push(value);
                if let Scalar::Star(sort, number) = value {
                    let stars = &mut task.structure.stars[sort.index()];
                    *stars = (*stars).max(number + 1);
                }
                vec![task]
            };
            Ok(options.into_iter().map(take).collect())
        }
        Stop::Resolve(star) => {
            let Some((sort, _)) = star.as_star() else { return Ok(Vec::new()) };
            if !system.has_room(&task.structure, sort) {
                return Err(no_room(system, sort));
            }
            Ok(vec![system.expand(universe, task, sort, Some(star))?])
        }
        Stop::Quantify { key, sorts, may_assume } => {
            let known = task.structure.known.clone();
            let mut groups = vec![assume(Decision::Nobody { key: key.clone(), known })];
            for sort in sorts {
                if system.has_room(&task.structure, sort) {
                    let mut tasks = system.expand(universe, task, sort, None)?;
                    for task in &mut tasks {
                        let (key, element) = (key.clone(), newest(task, sort));
                        task.decisions.push(Decision::Witness { key, sort, element });
                    }
                    groups.push(tasks);
                } else if may_assume {
                    groups.push(assume(Decision::Somebody { key: key.clone() }));
                } else {
                    return Err(no_room(system, sort));
                }
            }
            Ok(groups)
        }
        Stop::After(predicate) => {
            let mut groups = vec![assume(Decision::NobodyAfter(predicate))];
            let sort = system.predicates[predicate].sort;
            if system.has_room(&task.structure, sort) {
                let mut tasks = system.expand(universe, task, sort, None)?;
                for task in &mut tasks {
                    let element = newest(task, sort);
                    task.decisions.push(Decision::WitnessAfter { predicate, sort, element });
                }
                groups.push(tasks);
            } else {
                groups.push(assume(Decision::SomebodyAfter(predicate)));
            }
            Ok(groups)
        }
        Stop::Fault(_) | Stop::Dead | Stop::Contradiction | Stop::Lacking(..) => Err(stop),
    }
}

fn no_room(system: &System<'_>, sort: usize) -> Stop {
    let sort = &system.model.sorts[SortId::from_index(sort)];
    Stop::Lacking(
        format!(
            "a step in which more than {} elements of `{}` play a part",
            sort.fixed_size().unwrap_or(0),
            sort.name
        ),
        sort.span,
    )
}
