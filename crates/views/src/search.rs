//! The search: all views that the states of all instances can have, or a few more.

use std::{collections::BTreeMap, rc::Rc};

use rustc_hash::FxHashSet;

use shoal_certificate::OpenInvariant;
use shoal_model::{Model, PropertyId, SortSize, State};
use shoal_syntax::Span;

use crate::{
    branch::branch,
    decision::Stop,
    expand::Universe,
    layout::Lacking,
    machine::Scratch,
    step::Step,
    store::{Store, ViewId},
    structure::{Structure, ViewKey},
    system::System,
    task::{Node, Task},
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

pub(crate) struct Search<'s, 'm, 'b> {
    pub(crate) system: &'s System<'m>,
    pub(crate) store: Store,
    pub(crate) failed: BTreeMap<PropertyId, String>,
    scratch: Scratch<'m>,
    /// Whether the step that is being taken has looked at other views.
    expanded: bool,
    runs: u64,
    budget: &'b mut Budget<'b>,
}

pub(crate) enum Halt {
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
    let mut search = Search {
        system: &system,
        store,
        failed: BTreeMap::new(),
        scratch: Scratch::default(),
        expanded: false,
        runs: 0,
        budget,
    };
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
            for first in self.blank_bits(&system.blank())? {
                let node = system.node(first).map_err(halt)?;
                let found = self.explore(Step::Rule(start), &node, None)?;
                self.insert_all(found)?;
            }
        }
        let mut work = Worklist::default();
        let mut whole = false;
        loop {
            let before = self.store.leaders.len();
            let mut at = 0;
            while at < self.store.leaders.len() {
                let id = self.store.leaders[at];
                match (whole, work.take(id)) {
                    (true, _) => self.steps_of(id, None, &mut work)?,
                    (false, Some(Due::New)) => self.steps_of(id, Some((id, true)), &mut work)?,
                    (false, Some(Due::Woken)) => self.steps_of(id, Some((id, false)), &mut work)?,
                    (false, None) => {}
                }
                self.store.woken.drain(..).for_each(|woken| work.wake(woken));
                at += 1;
            }
            let leaders = &self.store.leaders;
            let done = leaders.len() == before && leaders.iter().all(|id| work.is_done(*id));
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

    /// Takes all steps from a view: all of them where it is new or nothing is to be relied on, otherwise those that
    /// looked at other views before.
    fn steps_of(
        &mut self,
        id: ViewId,
        whom: Option<(ViewId, bool)>,
        work: &mut Worklist,
    ) -> Result<(), Halt> {
        let system = self.system;
        let node = system.node(Structure::of_view(system, &self.store.views[id as usize])).map_err(halt)?;
        let mut found = Vec::new();
        for (at, rule) in system.model.rules.iter().enumerate() {
            if let Some((id, false)) = whom
                && !work.looks(id, at)
            {
                continue;
            }
            self.expanded = false;
            found.extend(self.explore(Step::Rule(rule), &node, Some(whom.map(|(id, _)| id)))?);
            if self.expanded {
                work.note(id, at);
            }
        }
        self.insert_all(found)
    }

    fn insert_all(&mut self, found: Vec<ViewKey>) -> Result<(), Halt> {
        for view in found {
            self.store.insert(self.system, &view).map_err(halt)?;
        }
        Ok(())
    }

    /// Takes a step from a structure in every way that the views allow; gives what its elements look like afterwards.
    /// `whom` is nothing for starts.
    pub(crate) fn explore(
        &mut self,
        step: Step<'s, 'm>,
        from: &Rc<Node>,
        whom: Option<Option<ViewId>>,
    ) -> Result<Vec<ViewKey>, Halt> {
        let system = self.system;
        let mut found: Vec<ViewKey> = Vec::new();
        // Tasks that differ only in an element that was just added go together.
        let mut stack: Vec<Vec<Task>> =
            system.openings(step, from).into_iter().rev().map(|task| vec![task]).collect();
        while let Some(siblings) = stack.pop() {
            let mut seen = Signatures::new(siblings.len() > 1);
            for task in siblings {
                if seen.has(&task) {
                    continue;
                }
                self.tick()?;
                let ended = system.run(&mut self.scratch, step, &task);
                let stop = match ended.outcome {
                    Ok(view) => {
                        if let Some(view) = view.filter(|view| !found.contains(view)) {
                            found.push(view);
                        }
                        seen.add(ended.reads, ended.counted_stars, &task);
                        continue;
                    }
                    Err(stop) => stop,
                };
                match stop {
                    Stop::Dead | Stop::Contradiction => seen.add(ended.reads, ended.counted_stars, &task),
                    Stop::Fault(fault) => {
                        self.fails(step, &fault, &task);
                        seen.add(ended.reads, ended.counted_stars, &task);
                    }
                    stop @ (Stop::Resolve(_)
                    | Stop::Quantify { .. }
                    | Stop::After(_)
                    | Stop::Choose(_)
                    | Stop::Lacking(..)) => {
                        self.expanded |= !matches!(stop, Stop::Choose(_));
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

    pub(crate) fn tick(&mut self) -> Result<(), Halt> {
        self.runs += 1;
        if self.runs > self.budget.runs || (self.runs.is_multiple_of(1024) && (self.budget.stop)()) {
            return Err(Halt::Stopped);
        }
        Ok(())
    }
}

/// Which views are to be worked on.
#[derive(Default)]
struct Worklist {
    states: Vec<Option<Due>>,
    /// By view and rule: whether its steps looked at other views. Those of others are the same whatever views there are.
    looks: FxHashSet<(ViewId, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    New,
    Woken,
}

impl Worklist {
    fn state(&mut self, id: ViewId) -> &mut Option<Due> {
        let at = id as usize;
        if self.states.len() <= at {
            self.states.resize(at + 1, Some(Due::New));
        }
        &mut self.states[at]
    }

    fn take(&mut self, id: ViewId) -> Option<Due> {
        self.state(id).take()
    }

    fn wake(&mut self, id: ViewId) {
        let state = self.state(id);
        *state = state.or(Some(Due::Woken));
    }

    fn is_done(&self, id: ViewId) -> bool {
        self.states.get(id as usize).is_some_and(Option::is_none)
    }

    fn looks(&self, id: ViewId, rule: usize) -> bool {
        self.looks.contains(&(id, rule))
    }

    fn note(&mut self, id: ViewId, rule: usize) {
        self.looks.insert((id, rule));
    }
}

/// What was read in runs of tasks that differ in their newest element alone: one that agrees with an earlier one on all
/// that was read does the same.
struct Signatures {
    /// Whether there is more than one task.
    used: bool,
    seen: Vec<Seen>,
}

/// The runs that read the same cells.
struct Seen {
    reads: Vec<usize>,
    counted_stars: bool,
    values: FxHashSet<Vec<u32>>,
}

impl Signatures {
    fn new(used: bool) -> Self {
        Signatures { used, seen: Vec::new() }
    }

    fn has(&self, task: &Task) -> bool {
        self.seen.iter().any(|seen| seen.values.contains(&signature(task, &seen.reads, seen.counted_stars)))
    }

    fn add(&mut self, mut reads: Vec<usize>, counted_stars: bool, task: &Task) {
        if !self.used {
            return;
        }
        reads.sort_unstable();
        reads.dedup();
        let value = signature(task, &reads, counted_stars);
        let alike = |seen: &&mut Seen| seen.reads == reads && seen.counted_stars == counted_stars;
        match self.seen.iter_mut().find(alike) {
            Some(seen) => drop(seen.values.insert(value)),
            None => {
                let values = std::iter::once(value).collect();
                self.seen.push(Seen { reads, counted_stars, values });
            }
        }
    }
}

/// The cells that were read, and all else that may differ between siblings: the star that the newest element was, the
/// bits, and which context predicates it satisfies.
fn signature(task: &Task, reads: &[usize], counted_stars: bool) -> Vec<u32> {
    let structure = &task.node.structure;
    let mut values = vec![task.name.map_or(0, |name| name.0), structure.bits];
    values.extend(task.node.satisfied.iter().flatten());
    if counted_stars {
        values.extend(&task.stars);
    }
    values.extend(reads.iter().map(|at| structure.cells[*at].0));
    values
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
            for pick in system.all_picks(&structure.known) {
                let seen = system.project(&system.shape, &structure.cells, structure.bits, &satisfied, &pick);
                if !self.store.contains(&seen.view) {
                    return Ok(Some(words::view(system, &seen.view)));
                }
            }
        }
        Ok(None)
    }
}

pub(crate) fn halt(stop: Stop) -> Halt {
    match stop {
        Stop::Lacking(what, span) => Halt::Lacking(what, span),
        other => Halt::Lacking(format!("internal error: a run stops at {other:?}"), Span::default()),
    }
}
