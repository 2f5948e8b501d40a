//! The search: all views that the states of all instances can have, or a few more.

use std::{collections::BTreeMap, hash::Hasher, rc::Rc};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use shoal_analysis::ArrivalList;
use shoal_certificate::{OpenInvariant, OpenPredicate};
use shoal_model::{Model, PropertyId, PropertyKind, Rule, SortSize, State, TypedId};
use shoal_syntax::Span;
use smallvec::SmallVec;

use crate::mutant::{self, Mutant};
use crate::{
    branch::branch,
    cell::Cell,
    decision::{SiteLocals, Stop},
    expand::{Siblings, Universe},
    layout::Lacking,
    machine::Scratch,
    sieve::{Answer, Sifter},
    step::RunSubject,
    store::{Dependent, ViewId, ViewStore},
    structure::{Structure, ViewKey},
    system::OpenSystem,
    task::{RunGroup, RunTask, ViewNode},
    words::{self, ViewInWords},
};

/// How much of a state a view shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewConfig {
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
    pub stop: &'a dyn Fn() -> bool,
}

pub(crate) struct ViewSearch<'s, 'm, 'b> {
    pub(crate) system: &'s OpenSystem<'m>,
    pub(crate) store: ViewStore,
    pub(crate) failed: BTreeMap<PropertyId, String>,
    pub(crate) scratch: Scratch<'m>,
    /// Whether the step that is being taken has looked at other views.
    expanded: bool,
    runs: u64,
    /// How often a guard was decided without a run.
    sifted: u64,
    budget: Budget<'b>,
    give_up: GiveUp,
    /// Which views are due, and how far closing has come: a search that was broken off can be gone on with.
    work: Worklist,
    started: bool,
    /// So many leaders have had their first steps.
    new: usize,
    /// Whether all is being done once more.
    whole: bool,
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

pub(crate) enum SearchHalt {
    Lacking(String, Span),
    Stopped,
    /// So much has failed that it was given up.
    GivenUp,
}

impl From<SearchHalt> for Failure {
    fn from(halt: SearchHalt) -> Failure {
        match halt {
            SearchHalt::Lacking(what, span) => Failure::Lacking(Lacking { what, span }),
            SearchHalt::Stopped | SearchHalt::GivenUp => Failure::Stopped,
        }
    }
}

/// Finds the views of a model in which some sorts have any number of elements, and says which of the properties asked
/// they prove for all instances that have at least as many elements as a view. All those sorts are symmetric; the caller
/// has had that proved.
pub fn abstraction(
    model: &Model,
    asked: &[PropertyId],
    config: &ViewConfig,
    budget: &mut Budget<'_>,
) -> Result<Abstraction, Failure> {
    abstraction_and_test(model, asked, config, budget, &[]).map(|(found, _)| found)
}

/// The same, and the first view of one of these states that is not among those found: there must be none where the states
/// are reachable ones of instances. For tests.
pub fn abstraction_and_test(
    model: &Model,
    asked: &[PropertyId],
    config: &ViewConfig,
    budget: &mut Budget<'_>,
    states: &[(Model, State)],
) -> Result<(Abstraction, Option<String>), Failure> {
    let roomy = Roomy::new(model, config)?;
    let system = roomy.system(config, asked)?;
    let budget = Budget { runs: budget.runs, stop: budget.stop };
    let mut search = ViewSearch::new(&system, asked, config, budget);
    let found = search.abstraction(&roomy, config, asked)?;
    let missing = search.missing(states)?;
    Ok((found, missing))
}

/// What an attempt comes to.
pub(crate) enum Attempt {
    Closed(Box<Abstraction>),
    /// Why properties cannot be proved with such views.
    GivenUp(BTreeMap<PropertyId, String>),
    Failed(Failure),
}

/// A model with as many elements as there is room for in structures, and with the order of elements if views show it.
pub(crate) struct Roomy {
    model: Model,
    any: Vec<bool>,
    view: Vec<usize>,
    order: Option<(ArrivalList, OpenPredicate)>,
}

impl Roomy {
    pub(crate) fn new(model: &Model, config: &ViewConfig) -> Result<Roomy, SearchHalt> {
        let (mut model, order) = match config.order {
            Some(at) => {
                let (model, list, predicate) = with_order(model, at)?;
                (model, Some((list, predicate)))
            }
            None => (model.clone(), None),
        };
        let any: Vec<bool> = model.sorts.iter().map(|sort| sort.size == SortSize::Any).collect();
        let mut view = Vec::new();
        for (at, sort) in model.sorts.iter_mut().enumerate() {
            if any[at] {
                view.push(config.elements[at]);
                sort.size = SortSize::Fixed((config.elements[at] + config.more) as u32);
            } else {
                view.push(sort.fixed_size().unwrap_or(0) as usize);
            }
        }
        Ok(Roomy { model, any, view, order })
    }

    /// Of what is judged it is asked whether evaluating it faults, whether or not it is to be proved.
    pub(crate) fn system(
        &self,
        config: &ViewConfig,
        judged: &[PropertyId],
    ) -> Result<OpenSystem<'_>, SearchHalt> {
        let list = self.order.as_ref().map(|(list, _)| list);
        OpenSystem::new(&self.model, &self.any, &self.view, config.bits, judged, list)
            .map_err(|lacking| SearchHalt::Lacking(lacking.what, lacking.span))
    }
}

impl<'s, 'm, 'b> ViewSearch<'s, 'm, 'b> {
    pub(crate) fn new(
        system: &'s OpenSystem<'m>,
        asked: &[PropertyId],
        config: &ViewConfig,
        budget: Budget<'b>,
    ) -> Self {
        let is_hoped = |it: &PropertyId| is_by_views(&system.model.properties[*it].kind);
        ViewSearch {
            system,
            store: ViewStore::new(system),
            failed: BTreeMap::new(),
            scratch: Scratch::default(),
            expanded: false,
            runs: 0,
            sifted: 0,
            budget,
            give_up: GiveUp::Never,
            work: Worklist::default(),
            started: false,
            new: 0,
            whole: false,
            least: config.least.clone(),
            hoped: asked.iter().copied().filter(is_hoped).collect(),
        }
    }

    /// Goes on until so many runs have been made in all, or it is given up.
    pub(crate) fn attempt(
        &mut self,
        roomy: &Roomy,
        config: &ViewConfig,
        asked: &[PropertyId],
        runs: u64,
        give_up: GiveUp,
    ) -> Attempt {
        self.budget.runs = runs;
        self.give_up = give_up;
        if self.is_hopeless() {
            return Attempt::GivenUp(self.failed.clone());
        }
        match self.abstraction(roomy, config, asked) {
            Ok(found) => Attempt::Closed(Box::new(found)),
            Err(SearchHalt::GivenUp) => Attempt::GivenUp(self.failed.clone()),
            Err(halt) => Attempt::Failed(halt.into()),
        }
    }

    fn abstraction(
        &mut self,
        roomy: &Roomy,
        config: &ViewConfig,
        asked: &[PropertyId],
    ) -> Result<Abstraction, SearchHalt> {
        self.close()?;
        self.judge()?;
        // What the views prove by being closed stands, however long it takes to see that something can always happen.
        let limit = std::mem::replace(&mut self.budget.runs, u64::MAX);
        let looked = self.deadlocks(asked);
        self.budget.runs = limit;
        match looked {
            Err(SearchHalt::Stopped) => self.out_of_time(asked),
            looked => looked?,
        }
        let proved = self.proved(asked);
        let system = self.system;
        let shown = self.store.leaders.iter().take(words::MOST_SHOWN);
        let shown = shown.map(|id| words::view_in_words(system, &self.store.views[*id as usize])).collect();
        let order = roomy.order.as_ref().map(|(_, predicate)| predicate.clone());
        let invariant = system
            .invariant(&self.store, config, asked, &proved, order)
            .map_err(|lacking| SearchHalt::Lacking(lacking.what, lacking.span))?;
        Ok(Abstraction {
            views: self.store.leaders.len(),
            invariant,
            proved,
            shown,
            bits: (0..system.predicates.len()).map(|at| words::predicate(system, at)).collect(),
            failed: self.failed.clone(),
            runs: self.runs,
        })
    }
}

/// The model with the order in which elements came. They must still be interchangeable.
fn with_order(model: &Model, at: usize) -> Result<(Model, ArrivalList, OpenPredicate), SearchHalt> {
    let lacking = |what: &str| SearchHalt::Lacking(what.into(), Span::default());
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

impl<'s, 'm> ViewSearch<'s, 'm, '_> {
    /// Finds all views: first those of starts, then what rules make of them.
    fn close(&mut self) -> Result<(), SearchHalt> {
        if !self.started {
            self.begin()?;
            self.started = true;
        }
        loop {
            let before = self.store.leaders.len();
            let mut at = 0;
            while at < self.store.leaders.len() {
                // Those that are new come first: what has been woken is done again when there are no more of them.
                while let Some(id) = self.store.leaders.get(self.new).copied() {
                    self.work_on(id, Due::New)?;
                    self.new += 1;
                }
                let id = self.store.leaders[at];
                match (self.whole, self.work.is_done(id)) {
                    (true, _) => self.work_on(id, Due::Again)?,
                    (false, false) => self.work_on(id, Due::Woken)?,
                    (false, true) => {}
                }
                at += 1;
            }
            let leaders = &self.store.leaders;
            let done = leaders.len() == before && leaders.iter().all(|id| self.work.is_done(*id));
            match (done, self.whole) {
                (true, false)
                    if mutant::is(Mutant::AbsenceIsForgotten) || mutant::is(Mutant::PresenceIsForgotten) =>
                {
                    return Ok(());
                }
                // Once more from scratch: dependencies are for speed, and nothing is to rest on them.
                (true, false) => self.whole = true,
                (true, true) => return Ok(()),
                (false, _) => self.whole = false,
            }
        }
    }

    fn begin(&mut self) -> Result<(), SearchHalt> {
        let system = self.system;
        for start in system.model.starts.iter() {
            for first in self.blank_bits(&system.blank())? {
                let node = system.node(first).map_err(halt)?;
                let found = self.explore(RunSubject::Rule(start), &node, None)?;
                self.insert_all(found)?;
            }
        }
        Ok(())
    }

    /// Takes the steps of a view that are due. If it is broken off they stay due.
    fn work_on(&mut self, id: ViewId, due: Due) -> Result<(), SearchHalt> {
        let woken = self.work.take(id);
        let mut done = self.steps_of(id, due, &woken);
        if done.is_ok() && due == Due::New && self.give_up != GiveUp::Never {
            done = self.judge_view(id);
        }
        if done.is_err() {
            woken.into_iter().for_each(|rule| self.work.wake(Dependent { view: id, rule }));
        }
        self.store.woken.drain(..).for_each(|woken| self.work.wake(woken));
        done
    }

    /// The blank structure. Of each sort there may be elements outside, blank as well, or none: sorts need not have the same
    /// size.
    fn blank_bits(&self, blank: &Structure) -> Result<Vec<Structure>, SearchHalt> {
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

    /// Takes steps from a view: all where it is new, those that were woken, or once more those that looked at other views
    /// before. What did not look at other views does the same again.
    fn steps_of(&mut self, id: ViewId, due: Due, woken: &[u32]) -> Result<(), SearchHalt> {
        let system = self.system;
        let node = system.node(Structure::of_view(system, &self.store.views[id as usize])).map_err(halt)?;
        let mut found = Vec::new();
        for (at, rule) in system.model.rules.iter().enumerate() {
            let whom = Dependent { view: id, rule: at as u32 };
            let (is_due, noted) = match due {
                Due::New => (true, Some(whom)),
                Due::Woken => (woken.contains(&whom.rule), Some(whom)),
                Due::Again => (self.work.looks(whom), None),
            };
            if !is_due {
                continue;
            }
            self.expanded = false;
            found.extend(self.explore(RunSubject::Rule(rule), &node, Some(noted))?);
            if self.expanded {
                self.work.note(whom);
            }
        }
        self.insert_all(found)
    }

    fn insert_all(&mut self, found: Vec<ViewKey>) -> Result<(), SearchHalt> {
        for view in found {
            self.store.insert(self.system, &view).map_err(halt)?;
        }
        Ok(())
    }

    /// Takes a step from a structure in every way that the views allow; gives what its elements look like afterwards.
    /// `whom` is nothing for starts.
    pub(crate) fn explore(
        &mut self,
        step: RunSubject<'s, 'm>,
        from: &Rc<ViewNode>,
        whom: Option<Option<Dependent>>,
    ) -> Result<Vec<ViewKey>, SearchHalt> {
        let system = self.system;
        let mut found: FxHashSet<ViewKey> = FxHashSet::default();
        let openings = system.openings(&mut self.scratch, step, from);
        let mut stack: Vec<RunGroup> = openings.into_iter().rev().map(RunGroup::One).collect();
        while let Some(group) = stack.pop() {
            match group {
                RunGroup::One(task) => match sieved(step, &task) {
                    Some(rule) => self.try_sieved(rule, &task, whom, &mut found, &mut stack)?,
                    None => drop(self.try_task(step, &task, whom, &mut found, &mut stack)?),
                },
                RunGroup::Siblings { task, siblings, witness, satisfying } => {
                    let mut seen = Signatures::default();
                    let sieve = match (witness, sieved(step, &task)) {
                        (Some((site, locals)), _) => Some(SiftedBy::Site(site, locals)),
                        (None, rule) => rule.map(SiftedBy::Rule),
                    };
                    let mut sifters =
                        Sifters { system, sieve, task: &task, siblings: &siblings, made: SmallVec::new() };
                    for at in (0..siblings.len()).filter(|at| siblings.satisfies(*at, satisfying)) {
                        if sifters.is_dead(at) {
                            self.sift()?;
                            continue;
                        }
                        if seen.has(&siblings, at) {
                            continue;
                        }
                        let mut universe = universe(&mut self.store, whom);
                        let node = system.sibling(&mut universe, &task.node, &siblings, at).map_err(halt)?;
                        let Some(node) = node else { continue };
                        let task = task.expanded(siblings.sort, node, siblings.name(at));
                        if let Some(stars) = self.try_task(step, &task, whom, &mut found, &mut stack)? {
                            seen.add(&self.scratch.reads, stars, &siblings, at);
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

    /// Takes a step, without a run if it is plain what comes of it.
    fn try_sieved(
        &mut self,
        rule: &'m Rule,
        task: &RunTask,
        whom: Option<Option<Dependent>>,
        found: &mut FxHashSet<ViewKey>,
        stack: &mut Vec<RunGroup>,
    ) -> Result<(), SearchHalt> {
        let system = self.system;
        let structure = &task.node.structure;
        let stop = match system.sieve(rule, structure, &task.script) {
            Answer::No => return self.sift(),
            Answer::Perhaps => {
                return self.try_task(RunSubject::Rule(rule), task, whom, found, stack).map(drop);
            }
            Answer::Asks(star) => Stop::Resolve(star),
            Answer::Chooses(ty) => {
                Stop::Choose(system.values_to_choose(ty, &structure.known, &task.stars).into())
            }
        };
        self.go_on(task, stop, whom, stack)
    }

    /// Puts the ways to go on where a run has stopped on the stack.
    fn go_on(
        &mut self,
        task: &RunTask,
        stop: Stop,
        whom: Option<Option<Dependent>>,
        stack: &mut Vec<RunGroup>,
    ) -> Result<(), SearchHalt> {
        self.expanded |= !matches!(stop, Stop::Choose(_));
        let mut universe = universe(&mut self.store, whom);
        let next = branch(self.system, &mut universe, task, stop).map_err(halt)?;
        stack.extend(next.into_iter().filter(|group| !group.is_empty()));
        Ok(())
    }

    /// Makes a run. If it comes to its end, tells whether it depends on which stars there are; otherwise the ways to go on
    /// are on the stack.
    fn try_task(
        &mut self,
        step: RunSubject<'s, 'm>,
        task: &RunTask,
        whom: Option<Option<Dependent>>,
        found: &mut FxHashSet<ViewKey>,
        stack: &mut Vec<RunGroup>,
    ) -> Result<Option<bool>, SearchHalt> {
        self.tick()?;
        let ended = self.system.run(&mut self.scratch, step, task);
        match ended.outcome {
            Ok(()) => {
                let view = &self.scratch.drawing.view;
                if step.is_rule() && !self.store.contains(view) && !found.contains(view.as_slice()) {
                    found.insert(view.as_slice().into());
                }
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
                self.go_on(task, stop, whom, stack)?;
                return Ok(None);
            }
        }
        Ok(Some(ended.stars))
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

    /// Whether something can always happen is not known for lack of time.
    fn out_of_time(&mut self, asked: &[PropertyId]) {
        for property in asked {
            if matches!(self.system.model.properties[*property].kind, PropertyKind::Deadlock(_)) {
                let why = || "there was too little time".into();
                self.failed.entry(*property).or_insert_with(why);
            }
        }
    }

    pub(crate) fn runs(&self) -> u64 {
        self.runs
    }

    /// Runs, and what is done instead of them: budgets are of both.
    pub(crate) fn work(&self) -> u64 {
        self.runs + self.sifted / SIFTED_AS_ONE
    }

    pub(crate) fn tick(&mut self) -> Result<(), SearchHalt> {
        self.runs += 1;
        self.watch(self.runs.is_multiple_of(1024))
    }

    /// A guard was decided without a run.
    fn sift(&mut self) -> Result<(), SearchHalt> {
        self.sifted += 1;
        self.watch(self.sifted.is_multiple_of(1024 * SIFTED_AS_ONE))
    }

    fn watch(&self, asks: bool) -> Result<(), SearchHalt> {
        if self.work() > self.budget.runs || (asks && (self.budget.stop)()) {
            return Err(SearchHalt::Stopped);
        }
        Ok(())
    }
}

/// So many guards that are decided without a run take about as long as a run.
const SIFTED_AS_ONE: u64 = 64;

/// Which steps are to be taken again.
#[derive(Default)]
struct Worklist {
    /// By view: the rules whose steps may have become more.
    woken: Vec<SmallVec<[u32; 4]>>,
    /// By view and rule: whether its steps looked at other views. Those of others are the same whatever views there are.
    looks: FxHashSet<(ViewId, u32)>,
}

/// Why steps of a view are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    New,
    /// The views that some of them looked at have become more.
    Woken,
    /// To see that nothing was forgotten: no dependencies are noted.
    Again,
}

impl Worklist {
    fn take(&mut self, id: ViewId) -> SmallVec<[u32; 4]> {
        self.woken.get_mut(id as usize).map(std::mem::take).unwrap_or_default()
    }

    fn wake(&mut self, Dependent { view, rule }: Dependent) {
        let at = view as usize;
        if self.woken.len() <= at {
            self.woken.resize_with(at + 1, SmallVec::new);
        }
        if !self.woken[at].contains(&rule) {
            self.woken[at].push(rule);
        }
    }

    fn is_done(&self, id: ViewId) -> bool {
        self.woken.get(id as usize).is_none_or(SmallVec::is_empty)
    }

    fn looks(&self, whom: Dependent) -> bool {
        self.looks.contains(&(whom.view, whom.rule))
    }

    fn note(&mut self, whom: Dependent) {
        self.looks.insert((whom.view, whom.rule));
    }
}

/// The rule whose guard begins in a task, if nothing has been assumed so far.
fn sieved<'m>(step: RunSubject<'_, 'm>, task: &RunTask) -> Option<&'m Rule> {
    match step {
        RunSubject::Rule(rule) if task.decisions.is_empty() => Some(rule),
        RunSubject::Rule(_) | RunSubject::Claim(_) => None,
    }
}

/// What siblings may be sifted by.
enum SiftedBy<'m> {
    /// Whether the guard is false.
    Rule(&'m Rule),
    /// Whether the newest element does not matter to a quantifier or loop to which it is to.
    Site(usize, SiteLocals),
}

/// What decides without a run which siblings need none.
struct Sifters<'a, 'm> {
    system: &'a OpenSystem<'m>,
    sieve: Option<SiftedBy<'m>>,
    task: &'a RunTask,
    siblings: &'a Siblings,
    /// By the star that the newest element was.
    made: SmallVec<[(Option<Cell>, Option<Sifter>); 1]>,
}

impl Sifters<'_, '_> {
    fn is_dead(&mut self, at: usize) -> bool {
        let Some(sieve) = &self.sieve else { return false };
        let name = self.siblings.name(at);
        let made = self.made.iter().position(|(of, _)| *of == name).unwrap_or_else(|| {
            let (system, parent) = (self.system, &self.task.node.structure);
            let sifter = match sieve {
                SiftedBy::Rule(rule) => system.sifter(rule, parent, &self.task.script, self.siblings, name),
                SiftedBy::Site(site, locals) => {
                    system.witness_sifter(*site, locals, parent, self.siblings, name)
                }
            };
            self.made.push((name, sifter));
            self.made.len() - 1
        });
        let sifter = self.made[made].1.as_ref();
        sifter.is_some_and(|sifter| sifter.is_dead(self.siblings.cells(at)))
    }
}

/// Where elements come from in the steps of a view, if it is one.
fn universe(store: &mut ViewStore, whom: Option<Option<Dependent>>) -> Universe<'_> {
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

    fn add(&mut self, read: &[usize], stars: bool, siblings: &Siblings, at: usize) {
        let mut cells = siblings.positions(read);
        cells.sort_unstable();
        cells.dedup();
        let same = |it: &Signature| it.cells == cells && it.stars == stars;
        let found = self.0.iter().position(same).unwrap_or_else(|| {
            self.0.push(Signature { cells: cells.clone(), stars, seen: FxHashMap::default() });
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

impl ViewSearch<'_, '_, '_> {
    /// The first view of some states of instances that is not there.
    fn missing(&self, states: &[(Model, State)]) -> Result<Option<String>, SearchHalt> {
        let system = self.system;
        for (instance, state) in states {
            let structure = system.structure_of(instance, state).ok_or_else(|| {
                SearchHalt::Lacking("internal error: a state that does not fit".into(), Span::default())
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

pub(crate) fn halt(stop: Stop) -> SearchHalt {
    match stop {
        Stop::Lacking(lacking) => SearchHalt::Lacking(lacking.what, lacking.span),
        other => SearchHalt::Lacking(format!("internal error: a run stops at {other:?}"), Span::default()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use shoal_syntax::SourceMap;

    /// Elements that point to each other, so that views depend on each other.
    const LINKS: &str = "
const N: 3;
type P: scalarset(N); s: enum { Out, Waits, In };
var c: array [P] of s; tail: P; ahead: array [P] of P;
startstate \"start\" begin for p: P do c[p] := Out; end; end;
ruleset p: P do
  rule \"come\" c[p] = Out ==> begin if !isundefined(tail) then ahead[p] := tail; end; tail := p; c[p] := Waits; end;
  rule \"enter\" c[p] = Waits & isundefined(ahead[p]) ==> begin c[p] := In; end;
  rule \"leave\" c[p] = In ==> begin c[p] := Out; if tail = p then undefine tail; end;
    for q: P do if !isundefined(ahead[q]) & ahead[q] = p then undefine ahead[q]; end; end; end;
end;
invariant \"one\" forall p: P do forall q: P do p = q | c[p] != In | c[q] != In end end;
";

    fn links() -> Model {
        let mut sources = SourceMap::new();
        let id = sources.add("links.m", LINKS);
        let options = shoal_murphi::Options { any: vec!["N".into()], ..Default::default() };
        let (model, diagnostics) = shoal_murphi::load(&sources, id, &options);
        assert!(!diagnostics.has_errors(), "{diagnostics:?}");
        model.expect("a model")
    }

    /// A search that is broken off again and again comes to the same as one that is not.
    #[test]
    fn a_search_that_was_broken_off_goes_on() {
        let model = links();
        let asked: Vec<PropertyId> = model.properties.ids().collect();
        let config = ViewConfig { elements: vec![2], least: Vec::new(), bits: true, order: None, more: 3 };
        let stop = || false;
        let whole = abstraction(&model, &asked, &config, &mut Budget { runs: 1_000_000, stop: &stop });
        let whole = whole.expect("it is supported");
        assert!(whole.runs > 500, "{} runs are too few to be broken off", whole.runs);
        for length in [31, 60] {
            let roomy = Roomy::new(&model, &config).unwrap_or_else(|_| panic!("it is supported"));
            let system = roomy.system(&config, &asked).unwrap_or_else(|_| panic!("it is supported"));
            let mut search = ViewSearch::new(&system, &asked, &config, Budget { runs: 0, stop: &stop });
            let (mut runs, mut breaks) = (length, 0);
            let found = loop {
                match search.attempt(&roomy, &config, &asked, runs, GiveUp::Never) {
                    Attempt::Closed(found) => break found,
                    Attempt::Failed(Failure::Stopped) => breaks += 1,
                    Attempt::GivenUp(_) | Attempt::Failed(Failure::Lacking(_)) => panic!("it is supported"),
                }
                // Longer each time: what was broken off is begun again.
                runs = search.work() + length * breaks;
            };
            assert!(breaks > 2, "it was broken off {breaks} times");
            assert_eq!((found.views, &found.proved), (whole.views, &whole.proved));
            let (mut a, mut b) = (found.invariant.views.clone(), whole.invariant.views.clone());
            let key = |view: &shoal_certificate::OpenView| format!("{view:?}");
            a.sort_by_key(key);
            b.sort_by_key(key);
            assert_eq!(format!("{a:?}"), format!("{b:?}"));
        }
    }
}
