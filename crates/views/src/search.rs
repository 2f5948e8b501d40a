//! The search: all views that the states of all instances can have, or a few more.

use std::{collections::BTreeMap, hash::Hasher, rc::Rc};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use shoal_analysis::ArrivalList;
use shoal_certificate::{OpenInvariant, OpenPredicate};
use shoal_model::{Model, PropertyId, PropertyKind, SortSize, State, TypedId};
use shoal_syntax::Span;
use smallvec::SmallVec;

use crate::mutant::{self, Mutant};
use crate::{
    branch::branch,
    decision::Stop,
    expand::{Siblings, Universe},
    layout::Lacking,
    machine::Scratch,
    step::{Read, Step},
    store::{Store, ViewId},
    structure::{Structure, ViewKey},
    system::System,
    task::{Group, Node, Task},
    words::{self, ViewInWords},
};

/// How much of a state a view shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// For each sort of the model, how many elements a view has; only sorts with any number count.
    pub elements: Vec<usize>,
    /// For each sort, how many elements every instance has at least, as far as that is known; the elements of a view are
    /// there in any case.
    pub least: Vec<usize>,
    /// Whether views say what other elements satisfy.
    pub bits: bool,
    /// Whether views show the order in which elements came to satisfy a predicate: its position in
    /// [`shoal_analysis::arrivals`].
    pub order: Option<usize>,
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
    /// The first of the views, in words; for people.
    pub shown: Vec<ViewInWords>,
    /// What views say about others: the predicates of their bits, in words.
    pub bits: Vec<String>,
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
    give_up: GiveUp,
    /// How many elements of each sort there are at least; nothing is known of sorts beyond.
    pub(crate) least: Vec<usize>,
    /// What was asked and could be proved.
    pub(crate) hoped: Vec<PropertyId>,
}

/// When a search is not worth going on with, because finer views are needed anyway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GiveUp {
    Never,
    /// When no property can be proved any more.
    AllFailed,
    /// When some property cannot be proved any more.
    OneFailed,
}

pub(crate) enum Halt {
    Lacking(String, Span),
    Stopped,
    /// So much has failed that it was given up.
    GivenUp,
}

impl From<Halt> for Failure {
    fn from(halt: Halt) -> Failure {
        match halt {
            Halt::Lacking(what, span) => Failure::Lacking(Lacking { what, span }),
            Halt::Stopped | Halt::GivenUp => Failure::Stopped,
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

/// What a search comes to that may be given up.
pub(crate) enum Attempt {
    Closed(Box<Abstraction>),
    /// Why properties cannot be proved with such views, and how many runs it took.
    GivenUp(BTreeMap<PropertyId, String>, u64),
    Failed(Failure),
}

/// Finds views for what is asked. Of what is judged it is asked besides whether evaluating it faults.
pub(crate) fn attempt<'b>(
    model: &Model,
    (asked, judged): (&[PropertyId], &[PropertyId]),
    config: &Config,
    budget: &'b mut Budget<'b>,
    give_up: GiveUp,
) -> Attempt {
    let mut failed = (BTreeMap::new(), 0);
    match search(model, (asked, judged), config, budget, &[], give_up, &mut failed) {
        Ok((found, _)) => Attempt::Closed(Box::new(found)),
        Err(Halt::GivenUp) => Attempt::GivenUp(failed.0, failed.1),
        Err(halt) => Attempt::Failed(halt.into()),
    }
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
    let mut failed = (BTreeMap::new(), 0);
    Ok(search(model, (asked, asked), config, budget, states, GiveUp::Never, &mut failed)?)
}

/// Where it is given up, `failed` says what has failed and how many runs there were.
fn search<'b>(
    model: &Model,
    (asked, judged): (&[PropertyId], &[PropertyId]),
    config: &Config,
    budget: &'b mut Budget<'b>,
    states: &[(Model, State)],
    give_up: GiveUp,
    failed: &mut (BTreeMap<PropertyId, String>, u64),
) -> Result<(Abstraction, Option<String>), Halt> {
    let ordered = config.order.map(|at| with_order(model, at)).transpose()?;
    let (model, list) = match &ordered {
        Some((model, list, _)) => (model, Some(list)),
        None => (model, None),
    };
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
    let system = System::new(&sized, &any, &view, config.bits, judged, list)
        .map_err(|lacking| Halt::Lacking(lacking.what, lacking.span))?;
    let store = Store::new(any.len());
    let mut search = Search {
        system: &system,
        store,
        failed: BTreeMap::new(),
        scratch: Scratch::default(),
        expanded: false,
        runs: 0,
        budget,
        give_up,
        least: config.least.clone(),
        hoped: asked.iter().copied().filter(|it| is_by_views(&model.properties[*it].kind)).collect(),
    };
    let closed = search.close().and_then(|()| search.judge());
    if let Err(Halt::GivenUp) = closed {
        *failed = (std::mem::take(&mut search.failed), search.runs);
    }
    closed?;
    search.deadlocks(asked)?;
    let proved = search.proved(asked);
    let shown = search.store.leaders.iter().take(words::MOST_SHOWN).map(|id| {
        let view = &search.store.views[*id as usize];
        words::view_in_words(&system, view)
    });
    let missing = search.missing(states)?;
    let found = Abstraction {
        views: search.store.leaders.len(),
        invariant: system
            .invariant(&search.store, config, asked, &proved, ordered.as_ref().map(|it| it.2.clone()))
            .map_err(|lacking| Halt::Lacking(lacking.what, lacking.span))?,
        proved,
        shown: shown.collect(),
        bits: (0..system.predicates.len()).map(|at| words::predicate(&system, at)).collect(),
        failed: search.failed,
        runs: search.runs,
    };
    Ok((found, missing))
}

/// The model with the order in which elements came. They must still be interchangeable.
fn with_order(model: &Model, at: usize) -> Result<(Model, ArrivalList, OpenPredicate), Halt> {
    let lacking = |what: &str| Halt::Lacking(what.into(), Span::default());
    let arrivals = shoal_analysis::arrivals(model);
    let no_order = || lacking("internal error: an order that is not there");
    let arrival = arrivals.get(at).ok_or_else(no_order)?;
    let predicate = OpenPredicate {
        sort: arrival.sort.index() as u32,
        negated: arrival.negated,
        element: arrival.locals[arrival.local].name.clone(),
        body: shoal_model::print_expr(model, &arrival.locals, &arrival.body),
    };
    let (model, list) = shoal_analysis::with_arrivals(model, arrival).ok_or_else(no_order)?;
    let symmetry = shoal_analysis::symmetry(&model);
    let is_alike = |id| symmetry.sorts[id].breaks.is_empty() && symmetry.sorts[id].pinned.is_empty();
    match model.sorts.ids().all(|id| model.sorts[id].size != SortSize::Any || is_alike(id)) {
        true => Ok((model, list, predicate)),
        false => Err(lacking("the order in which elements come where several come at once")),
    }
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
        let (mut whole, mut new) = (false, 0);
        loop {
            let before = self.store.leaders.len();
            let mut at = 0;
            while at < self.store.leaders.len() {
                // Those that are new come first: what has been woken is done again when there are no more of them.
                while let Some(id) = self.store.leaders.get(new).copied() {
                    new += 1;
                    work.take(id);
                    self.steps_of(id, Some((id, true)), &mut work)?;
                    if self.give_up != GiveUp::Never {
                        self.judge_view(id)?;
                    }
                    self.store.woken.drain(..).for_each(|woken| work.wake(woken));
                }
                let id = self.store.leaders[at];
                match (whole, work.take(id)) {
                    (true, _) => self.steps_of(id, None, &mut work)?,
                    (false, Some(_)) => self.steps_of(id, Some((id, false)), &mut work)?,
                    (false, None) => {}
                }
                self.store.woken.drain(..).for_each(|woken| work.wake(woken));
                at += 1;
            }
            let leaders = &self.store.leaders;
            let done = leaders.len() == before && leaders.iter().all(|id| work.is_done(*id));
            match (done, whole) {
                (true, false)
                    if mutant::is(Mutant::AbsenceIsForgotten) || mutant::is(Mutant::PresenceIsForgotten) =>
                {
                    return Ok(());
                }
                // Once more from scratch: dependencies are for speed, and nothing is to rest on them.
                (true, false) => whole = true,
                (true, true) => return Ok(()),
                (false, _) => whole = false,
            }
        }
    }

    /// The blank structure. Of each sort there may be elements outside, blank as well, or none: sorts need not have the same
    /// size.
    fn blank_bits(&self, blank: &Structure) -> Result<Vec<Structure>, Halt> {
        let satisfied = self.system.satisfied(blank).map_err(halt)?;
        let mut all = vec![blank.clone()];
        if mutant::is(Mutant::NothingElseAtStart) {
            return Ok(all);
        }
        for mask in satisfied.iter().filter_map(|masks| masks.first().copied()).filter(|mask| *mask != 0) {
            let mut more = all.clone();
            more.iter_mut().for_each(|structure| structure.bits |= mask);
            all.append(&mut more);
        }
        Ok(all)
    }

    /// Takes all steps from a view where it is new, otherwise those that looked at other views before. `whom` is nothing where
    /// no dependencies are to be noted.
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
            // What did not look at other views does the same again.
            if !matches!(whom, Some((_, true))) && !work.looks(id, at) {
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
        let mut found: FxHashSet<ViewKey> = FxHashSet::default();
        let mut stack: Vec<Group> = system.openings(step, from).into_iter().rev().map(Group::One).collect();
        while let Some(group) = stack.pop() {
            match group {
                Group::One(task) => drop(self.try_task(step, &task, whom, &mut found, &mut stack)?),
                Group::Siblings { task, siblings } => {
                    let mut seen = Signatures::default();
                    for at in 0..siblings.len() {
                        if seen.has(&siblings, at) {
                            continue;
                        }
                        let mut universe = universe(&mut self.store, whom);
                        let node = system.sibling(&mut universe, &task.node, &siblings, at).map_err(halt)?;
                        let Some(node) = node else { continue };
                        let task = task.expanded(siblings.sort, node, siblings.name(at));
                        if let Some(read) = self.try_task(step, &task, whom, &mut found, &mut stack)? {
                            seen.add(&read, &siblings, at);
                        }
                    }
                }
            }
        }
        // In an order that does not hang on hashes.
        let mut found: Vec<ViewKey> = found.into_iter().collect();
        found.sort_unstable();
        Ok(found)
    }

    /// Makes a run. If it comes to its end, gives what it depends on; otherwise the ways to go on are on the stack.
    fn try_task(
        &mut self,
        step: Step<'s, 'm>,
        task: &Task,
        whom: Option<Option<ViewId>>,
        found: &mut FxHashSet<ViewKey>,
        stack: &mut Vec<Group>,
    ) -> Result<Option<Read>, Halt> {
        self.tick()?;
        let ended = self.system.run(&mut self.scratch, step, task);
        match ended.outcome {
            Ok(view) => {
                found.extend(view);
            }
            Err(Stop::Dead | Stop::Contradiction) => {}
            Err(Stop::Fault(fault)) => self.fails(step, &fault, task)?,
            Err(
                stop @ (Stop::Resolve(_)
                | Stop::Quantify(_)
                | Stop::After(_)
                | Stop::Choose(_)
                | Stop::Lacking(_)),
            ) => {
                self.expanded |= !matches!(stop, Stop::Choose(_));
                let mut universe = universe(&mut self.store, whom);
                let next = branch(self.system, &mut universe, task, stop).map_err(halt)?;
                stack.extend(next.into_iter().filter(|group| !group.is_empty()));
                return Ok(None);
            }
        }
        Ok(Some(ended.read))
    }

    /// Whether it is worth going on after a property has failed.
    pub(crate) fn is_hopeless(&self) -> bool {
        let mut hoped = self.hoped.iter();
        match self.give_up {
            GiveUp::Never => false,
            GiveUp::AllFailed => hoped.all(|property| self.failed.contains_key(property)),
            GiveUp::OneFailed => hoped.any(|property| self.failed.contains_key(property)),
        }
    }

    pub(crate) fn runs(&self) -> u64 {
        self.runs
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

/// Where elements come from in the steps of a view, if it is one.
fn universe(store: &mut Store, whom: Option<Option<ViewId>>) -> Universe<'_> {
    match whom {
        Some(whom) => Universe::Views(store, whom),
        None => Universe::Blank,
    }
}

/// What was read in runs of siblings: one that agrees with an earlier one on all that was read does the same. Siblings of one
/// class differ in nothing but the cells of the newest element and which stars there are.
#[derive(Default)]
struct Signatures(Vec<Signature>);

/// The siblings that were run and read the same: which cells of the newest element, and whether it mattered which stars
/// there are.
struct Signature {
    cells: SmallVec<[usize; 8]>,
    stars: bool,
    /// By the hash of what they have there.
    seen: FxHashMap<u64, SmallVec<[u32; 2]>>,
}

impl Signatures {
    fn has(&self, siblings: &Siblings, at: usize) -> bool {
        self.0.iter().any(|read| {
            let like = |other: &u32| read.alike(siblings, *other as usize, at);
            read.seen.get(&read.hash(siblings, at)).is_some_and(|others| others.iter().any(like))
        })
    }

    fn add(&mut self, read: &Read, siblings: &Siblings, at: usize) {
        let mut cells = siblings.positions(&read.cells);
        cells.sort_unstable();
        cells.dedup();
        let same = |it: &Signature| it.cells == cells && it.stars == read.stars;
        let found = self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push(Signature { cells: cells.clone(), stars: read.stars, seen: FxHashMap::default() });
            self.0.len() - 1
        });
        let found = &mut self.0[found];
        let hash = found.hash(siblings, at);
        found.seen.entry(hash).or_default().push(at as u32);
    }
}

impl Signature {
    /// Whether siblings agree on all that may differ between them and was read.
    fn alike(&self, siblings: &Siblings, a: usize, b: usize) -> bool {
        let (left, right) = (siblings.cells(a), siblings.cells(b));
        siblings.class(a) == siblings.class(b)
            && (!self.stars || siblings.stars(a) == siblings.stars(b))
            && self.cells.iter().all(|at| left[*at] == right[*at])
    }

    /// The same for all that are alike.
    fn hash(&self, siblings: &Siblings, at: usize) -> u64 {
        let cells = siblings.cells(at);
        let mut hasher = FxHasher::default();
        hasher.write_u32(siblings.class(at));
        self.cells.iter().for_each(|at| hasher.write_u32(cells[*at].0));
        hasher.finish()
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
            for pick in system.all_picks(&structure.known) {
                let glance = system.glance(&system.shape, &pick);
                let seen = system.project(
                    &system.shape,
                    &structure.cells,
                    structure.bits,
                    &satisfied,
                    &glance,
                    false,
                );
                let seen = seen.map_err(halt)?;
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
        Stop::Lacking(lacking) => Halt::Lacking(lacking.what, lacking.span),
        other => Halt::Lacking(format!("internal error: a run stops at {other:?}"), Span::default()),
    }
}

/// Whether views prove such a property by being closed. Nothing else is a reason to look for finer ones.
pub(crate) fn is_by_views(kind: &PropertyKind) -> bool {
    match kind {
        PropertyKind::Invariant(_) | PropertyKind::Assertion | PropertyKind::NoFaults => true,
        PropertyKind::Deadlock(_)
        | PropertyKind::Bound
        | PropertyKind::Assume(_)
        | PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::AlwaysPossible(_)
        | PropertyKind::Temporal(..)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_) => false,
    }
}
