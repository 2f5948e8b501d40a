//! Adding an element to a structure, in every way that the views allow.
//!
//! If the structure is a part of some state whose views have all been found, then one of the ways is what is there. The ways
//! are first listed by what a view that has the element suggests; whether all other views are there is asked of those that
//! are to be followed.

use std::{cell::OnceCell, rc::Rc};

use shoal_model::{SortId, Type, TypeId, TypedId};
use shoal_syntax::Span;
use smallvec::SmallVec;

use crate::mutant::{self, Mutant};
use crate::{
    cell::{Cell, ViewScalar},
    chain::Side,
    decision::{RunResult, Stop},
    store::{Dependent, Member, ViewStore, meaning},
    structure::{Glance, Known, NextStars, Pick, StandsFor, Structure, ViewKey},
    system::OpenSystem,
    task::{ExpansionKey, RunGroup, RunTask, ViewNode},
};

/// Where elements come from.
pub(crate) enum Universe<'a> {
    /// Before a start: all elements are blank.
    Blank,
    /// The views found so far, and for whose steps they are looked at.
    Views(&'a mut ViewStore, Option<Dependent>),
}

impl Universe<'_> {
    /// Whoever looks at the siblings depends on the views that suggest them.
    fn depend(&mut self, siblings: &Siblings) {
        if let (Universe::Views(store, Some(whom)), Some(bucket)) = (self, &siblings.bucket) {
            store.depend(*whom, siblings.sort, bucket);
        }
    }

    /// Whoever looks at a sibling that is not allowed depends on the view that it lacks.
    fn miss(&mut self, lacks: Option<&ViewKey>) {
        if let (Universe::Views(store, Some(whom)), Some(view)) = (self, lacks) {
            store.miss(*whom, view);
        }
    }
}

/// More ways than this to fill the cells between a new element and the others are refused.
const MOST_FILLINGS: usize = 4096;

/// Structures that differ in nothing but their newest element: what that one is like. The rest is made when it is needed.
#[derive(Debug)]
pub(crate) struct Siblings {
    pub(crate) sort: usize,
    /// What the views that suggest them have in common.
    bucket: Option<ViewKey>,
    /// The elements that are known in each of them.
    known: Known,
    /// The cells of the newest element, and what each sibling has there, one after another.
    own: Vec<usize>,
    cells: Vec<Cell>,
    classes: Vec<SiblingClass>,
    stars: Vec<NextStars>,
    all: Vec<Sibling>,
}

/// All in which siblings may differ besides cells and stars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SiblingClass {
    /// The star that the element was.
    name: Option<Cell>,
    bits: u32,
    /// The context predicates that the element satisfies.
    satisfied: u32,
}

#[derive(Debug)]
struct Sibling {
    class: u32,
    stars: u32,
    /// What it is, once it has been looked at.
    node: OnceCell<Allowed>,
}

/// Whether the views allow a sibling.
#[derive(Debug)]
enum Allowed {
    Yes(Rc<ViewNode>),
    /// The view that is not there; nothing if there cannot be one.
    No(Option<ViewKey>),
}

impl Siblings {
    fn new(sort: usize, known: Known, own: Vec<usize>) -> Siblings {
        let (cells, classes, stars, all) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Siblings { sort, bucket: None, known, own, cells, classes, stars, all }
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The star that the newest element of one of them was.
    pub(crate) fn name(&self, at: usize) -> Option<Cell> {
        self.classes[self.all[at].class as usize].name
    }

    /// The same for all that differ in cells and stars only.
    pub(crate) fn class(&self, at: usize) -> u32 {
        self.all[at].class
    }

    /// The same for those that have the same stars.
    pub(crate) fn stars(&self, at: usize) -> u32 {
        self.all[at].stars
    }

    /// The cells of the newest element.
    pub(crate) fn cells(&self, at: usize) -> &[Cell] {
        &self.cells[at * self.own.len()..(at + 1) * self.own.len()]
    }

    /// The newest element.
    pub(crate) fn newest(&self) -> Cell {
        Cell::elem(self.sort, self.known[self.sort] - 1)
    }

    /// Where a cell of the layout is among those of the newest element.
    pub(crate) fn position(&self, at: usize) -> Option<usize> {
        self.own.binary_search(&at).ok()
    }

    /// Where these cells of the layout are among those of the newest element; those of others are left out.
    pub(crate) fn positions(&self, cells: &[usize]) -> SmallVec<[usize; 8]> {
        cells.iter().filter_map(|at| self.own.binary_search(at).ok()).collect()
    }

    fn reserve(&mut self, more: usize) {
        self.cells.reserve(more * self.own.len());
        self.all.reserve(more);
    }

    fn push(&mut self, class: SiblingClass, stars: &NextStars, cells: &[Cell]) {
        self.cells.extend_from_slice(cells);
        let class = position_or_push(&mut self.classes, &class);
        let stars = position_or_push(&mut self.stars, stars);
        self.all.push(Sibling { class, stars, node: OnceCell::new() });
    }
}

fn position_or_push<T: PartialEq + Clone>(all: &mut Vec<T>, one: &T) -> u32 {
    let at = all.iter().position(|it| it == one).unwrap_or_else(|| {
        all.push(one.clone());
        all.len() - 1
    });
    at as u32
}

/// What does not change while an element is added, and what comes of it.
struct Joining<'a> {
    node: &'a ViewNode,
    key: &'a ExpansionKey,
    /// The stars of each sort that occur.
    stars: Vec<Vec<Cell>>,
    /// For each cell of the new element, where the view shows it.
    shown: Vec<Option<usize>>,
    /// Where the view shows who is before and after the new element in the list, if there is one.
    beside: SmallVec<[(Side, usize); 2]>,
    found: Siblings,
}

/// How the last element of a view is seen as the new element.
struct Meant<'a> {
    view: &'a [u32],
    /// The context predicates that the element satisfies.
    satisfied: u32,
    /// The star that the element was.
    name: Option<Cell>,
    /// What the stars of the view are in the structure.
    meanings: SmallVec<[(Cell, Cell); 6]>,
    /// How many stars are left to be given a meaning when it is known who is before and after the element in the list.
    unlisted: usize,
}

impl<'m> OpenSystem<'m> {
    /// Whether there is room for one more element of a sort.
    pub(crate) fn has_room(&self, node: &ViewNode, sort: usize) -> bool {
        node.structure.known[sort] < self.room[sort]
    }

    /// The task with one more known element of a sort: the one that a star stands for, or any.
    pub(crate) fn expand(
        &self,
        universe: &mut Universe<'_>,
        task: RunTask,
        sort: usize,
        wanted: Option<Cell>,
    ) -> RunResult<RunGroup> {
        let key = task.expansion_key(sort, wanted);
        let cached = task.node.expansions.borrow().get(&key).cloned();
        let siblings = match cached {
            Some(siblings) => siblings,
            None => {
                let found = Rc::new(match universe {
                    Universe::Blank => self.blank_elements(&task, &key)?,
                    Universe::Views(store, _) => self.elements(store, &task.node, &key)?,
                });
                task.node.expansions.borrow_mut().insert(key, found.clone());
                found
            }
        };
        universe.depend(&siblings);
        Ok(RunGroup::Siblings { task, siblings, witness: None })
    }

    /// The ways to add an element that views suggest.
    fn elements(&self, store: &ViewStore, node: &ViewNode, key: &ExpansionKey) -> RunResult<Siblings> {
        let sort = key.sort;
        let Some((pivot, glance)) = &self.pivots[sort] else {
            let name = &self.model.sorts[SortId::from_index(sort)].name;
            let what = format!("internal error: an element of the data sort `{name}` is looked at");
            return Err(Stop::lacking(what, Span::default()));
        };
        let structure = &node.structure;
        let seen = self.project(pivot, &structure.cells, structure.bits, &node.satisfied, glance, true)?;
        let mut known = structure.known.clone();
        known[sort] += 1;
        let own: Vec<usize> = self.cells_of(&known, sort, known[sort] - 1).collect();
        let mut joining = Joining {
            node,
            key,
            stars: (0..self.any.len()).map(|sort| key.stars_of(node, sort)).collect(),
            shown: own.iter().map(|at| self.shown_at(&known, sort, *at)).collect(),
            beside: self.shown_beside(sort),
            found: Siblings::new(sort, known, own),
        };
        let members = store.members(sort, &seen.view);
        // Mostly each suggests one.
        joining.found.reserve(members.len());
        for member in members {
            // No element that is not known satisfies any other predicate.
            if member.satisfied & !structure.bits != 0 {
                continue;
            }
            for outside in &seen.ways {
                self.join(&mut joining, member, &store.views[member.view as usize], outside)?;
            }
        }
        Ok(Siblings { bucket: Some(seen.view), ..joining.found })
    }

    /// Where a view shows who is before and after its last element, if elements of the sort are kept in a list.
    fn shown_beside(&self, sort: usize) -> SmallVec<[(Side, usize); 2]> {
        let Some(chain) = self.chain.filter(|chain| chain.sort == sort) else { return SmallVec::new() };
        let beside = chain.beside(self.view[sort] - 1).into_iter();
        beside.filter_map(|(side, at)| Some((side, self.shape.position(at)?))).collect()
    }

    /// Whether a star of a view may stand for this, as far as the list tells.
    fn may_be(&self, joining: &Joining<'_>, meant: &Meant<'_>, star: Cell, is: Cell) -> bool {
        let Some(chain) = self.chain else { return true };
        let Structure { known, cells, .. } = &joining.node.structure;
        let fits = |side: Side| chain.may_be_beside(cells, known[chain.sort], meant.name, side, is);
        joining.beside.iter().all(|(side, at)| Cell(meant.view[*at]) != star || fits(*side))
    }

    /// Whether the new element may have those before and after it in the list that it has.
    fn may_be_listed(&self, joining: &Joining<'_>, meant: &Meant<'_>) -> bool {
        let (Some(chain), [before, after]) = (self.chain, &joining.beside[..]) else { return true };
        let Structure { known, cells, .. } = &joining.node.structure;
        let known = known[chain.sort];
        let last = Cell::elem(chain.sort, self.view[chain.sort] - 1);
        let cell = |(_, at): &(Side, usize)| match Cell(meant.view[*at]) {
            cell if cell == last => Cell::elem(chain.sort, known),
            cell => meaning(&meant.meanings, cell).unwrap_or(cell),
        };
        chain.allows_one_more(cells, known, meant.name, (cell(before), cell(after)))
    }

    /// Where a view shows a cell of a new element, if it does.
    fn shown_at(&self, known: &Known, sort: usize, at: usize) -> Option<usize> {
        let (element, last) = (known[sort] - 1, self.view[sort] - 1);
        let mut from = at;
        for dim in &self.layout.cells[at].dims {
            if dim.sort == sort && dim.element == element {
                from = from - dim.element * dim.stride + last * dim.stride;
            } else {
                let common = if dim.sort == sort { last } else { self.view[dim.sort] };
                if dim.element >= common {
                    return None;
                }
            }
        }
        self.shape.position(from)
    }

    /// One of some siblings, if the views allow it: all views that have its newest element must be there.
    pub(crate) fn sibling(
        &self,
        universe: &mut Universe<'_>,
        parent: &ViewNode,
        siblings: &Siblings,
        at: usize,
    ) -> RunResult<Option<Rc<ViewNode>>> {
        let sibling = &siblings.all[at];
        match sibling.node.get() {
            Some(Allowed::Yes(node)) => return Ok(Some(node.clone())),
            Some(Allowed::No(lacks)) => {
                universe.miss(lacks.as_ref());
                return Ok(None);
            }
            None => {}
        }
        let SiblingClass { name, bits, satisfied: new } = siblings.classes[sibling.class as usize];
        let Siblings { sort, known, own, stars, .. } = siblings;
        let mut cells = parent.structure.cells.clone();
        if let Some(star) = name {
            let element = Cell::elem(*sort, known[*sort] - 1);
            cells.iter_mut().filter(|cell| **cell == star).for_each(|cell| *cell = element);
        }
        own.iter().zip(siblings.cells(at)).for_each(|(at, cell)| cells[*at] = *cell);
        let mut satisfied = parent.satisfied.clone();
        if !self.predicates.is_empty() {
            satisfied[*sort].push(new);
        }
        let stars = stars[sibling.stars as usize].clone();
        let structure = Structure { known: known.clone(), cells, bits, stars };
        let node = ViewNode { structure, satisfied, expansions: Default::default() };
        let allowed = self.allowed(universe, node, *sort)?;
        let result = match &allowed {
            Allowed::Yes(node) => Some(node.clone()),
            Allowed::No(lacks) => {
                universe.miss(lacks.as_ref());
                None
            }
        };
        sibling.node.get_or_init(|| allowed);
        Ok(result)
    }

    /// Whether all views of a structure that have its newest element of a sort are there.
    fn allowed(&self, universe: &Universe<'_>, node: ViewNode, sort: usize) -> RunResult<Allowed> {
        let Universe::Views(store, _) = universe else { return Ok(Allowed::Yes(Rc::new(node))) };
        let Structure { known, cells, bits, .. } = &node.structure;
        if let Some(chain) = self.chain
            && !chain.allows(cells, known[chain.sort])
        {
            return Ok(Allowed::No(None));
        }
        let drawing = &mut *self.drawing.borrow_mut();
        // The first is a part of the view that proposes the element, so it is there.
        for glance in self.glances(known, sort).iter().rev() {
            self.draw(cells, bits | glance.forgotten(&node.satisfied), glance, drawing)?;
            if !store.contains(&drawing.view) {
                return Ok(Allowed::No(Some(drawing.view.as_slice().into())));
            }
        }
        Ok(Allowed::Yes(Rc::new(node)))
    }

    /// Elements before a start: all are alike.
    fn blank_elements(&self, task: &RunTask, key: &ExpansionKey) -> RunResult<Siblings> {
        let (sort, node) = (key.sort, &*task.node);
        let mut names: Vec<Option<Cell>> = vec![key.wanted];
        if key.wanted.is_none() {
            names.extend(key.stars_of(node, sort).into_iter().map(Some));
        }
        let mut structure = node.structure.clone();
        let element = structure.known[sort];
        structure.known[sort] += 1;
        let own: Vec<usize> = self.cells_of(&structure.known, sort, element).collect();
        own.iter().for_each(|at| structure.cells[*at] = Cell::UNDEFINED);
        let satisfied = self.satisfied(&structure)?;
        let new = satisfied[sort].last().copied().unwrap_or(0);
        let mut found = Siblings::new(sort, structure.known.clone(), own);
        if new & !structure.bits != 0 {
            return Ok(found);
        }
        let blank = vec![Cell::UNDEFINED; found.own.len()];
        for name in names {
            for bits in subsets_gone(structure.bits, new) {
                let class = SiblingClass { name, bits, satisfied: new };
                found.push(class, &key.stars, &blank);
            }
        }
        Ok(found)
    }

    /// The cells that belong to an element and otherwise to known ones.
    fn cells_of(&self, known: &[usize], sort: usize, element: usize) -> impl Iterator<Item = usize> {
        let is_there = |at: &usize| {
            let dims = &self.layout.cells[*at].dims;
            dims.iter().all(|dim| dim.element < known[dim.sort])
        };
        self.own[sort][element].iter().copied().filter(is_there)
    }

    /// The ways in which the last element of a view can be a new element of a structure. The member and `outside` say
    /// which stars of the part that both have are which.
    fn join(
        &self,
        joining: &mut Joining<'_>,
        member: &Member,
        view: &[u32],
        outside: &StandsFor,
    ) -> RunResult {
        let (sort, wanted) = (joining.key.sort, joining.key.wanted);
        let last = Cell::elem(sort, self.view[sort] - 1);
        // What each star of the view is in the structure, as far as the common part tells.
        let mut known: SmallVec<[(Cell, Cell); 6]> = SmallVec::new();
        let mut named = None;
        for (star, in_view) in &member.way {
            let Some(in_structure) = meaning(outside, *star) else { return Ok(()) };
            if *in_view == last {
                // The new element is a star of the structure, not one of its known elements.
                if in_structure.as_star().is_none() {
                    return Ok(());
                }
                named = Some(in_structure);
            } else {
                known.push((*in_view, in_structure));
            }
        }
        let is_seen = |cell: &Cell| outside.iter().any(|(_, it)| it == cell);
        let names: SmallVec<[Option<Cell>; 4]> = match (named, wanted) {
            (Some(named), Some(wanted)) if named != wanted => return Ok(()),
            (Some(named), _) => SmallVec::from_slice(&[Some(named)]),
            (None, Some(wanted)) if is_seen(&wanted) => return Ok(()),
            (None, Some(wanted)) => SmallVec::from_slice(&[Some(wanted)]),
            (None, None) => {
                let hidden = joining.stars[sort].iter().filter(|star| !is_seen(star)).copied().map(Some);
                let hidden = hidden.filter(|_| !mutant::is(Mutant::WitnessesAreNoStars));
                std::iter::once(None).chain(hidden).collect()
            }
        };
        let is_free = |cell: &Cell| cell.as_star().is_some() && known.iter().all(|(of, _)| of != cell);
        let mut free: SmallVec<[Cell; 8]> =
            view[..view.len() - 1].iter().map(|cell| Cell(*cell)).filter(is_free).collect();
        free.sort_unstable();
        free.dedup();
        // What no list looks like is turned down before the rest of the element is thought of.
        let is_listed = |star: &Cell| joining.beside.iter().any(|(_, at)| Cell(view[*at]) == *star);
        free.sort_by_key(|star| !is_listed(star));
        let unlisted = free.iter().filter(|star| !is_listed(star)).count();
        for name in names {
            let mut meant =
                Meant { view, satisfied: member.satisfied, name, meanings: known.clone(), unlisted };
            self.assign(joining, &mut meant, &free, outside)?;
        }
        Ok(())
    }

    /// Gives the stars that only the new element refers to every meaning they can have.
    fn assign(
        &self,
        joining: &mut Joining<'_>,
        meant: &mut Meant<'_>,
        free: &[Cell],
        outside: &StandsFor,
    ) -> RunResult {
        if free.len() == meant.unlisted && !self.may_be_listed(joining, meant) {
            return Ok(());
        }
        let Some((star, rest)) = free.split_first() else { return self.fill(joining, meant) };
        let Some((of, _)) = star.as_star() else { return Ok(()) };
        let common = if of == joining.key.sort { self.view[of] - 1 } else { self.view[of] };
        let elements = (common..joining.node.structure.known[of]).map(|element| Cell::elem(of, element));
        let next = joining.key.stars[of];
        let is_new = |cell: &Cell| cell.as_star().is_some_and(|(s, n)| s == of && n >= next as usize);
        let fresh = meant.meanings.iter().filter(|(_, is)| is_new(is)).count();
        let fresh = Cell::star(of, next + fresh as u32);
        let stars = joining.stars[of].iter().copied();
        let options: SmallVec<[Cell; 8]> = elements.chain(stars).chain([fresh]).collect();
        for option in options {
            let taken = Some(option) == meant.name
                || option != fresh && mutant::is(Mutant::NewStarsAreFresh)
                || meant.meanings.iter().any(|(_, is)| *is == option)
                || outside.iter().any(|(_, is)| *is == option);
            if !taken && self.may_be(joining, meant, *star, option) {
                meant.meanings.push((*star, option));
                self.assign(joining, meant, rest, outside)?;
                meant.meanings.pop();
            }
        }
        Ok(())
    }

    /// Finds the cells of the new element.
    fn fill(&self, joining: &mut Joining<'_>, meant: &Meant<'_>) -> RunResult {
        let Joining { node, key, shown, found, .. } = joining;
        let sort = key.sort;
        let (element, last) = (found.known[sort] - 1, self.view[sort] - 1);
        let mut cells: SmallVec<[Cell; 32]> = SmallVec::new();
        let mut open: SmallVec<[usize; 8]> = SmallVec::new();
        for (at, shown) in shown.iter().enumerate() {
            let Some(position) = shown else {
                open.push(at);
                cells.push(Cell::ABSENT);
                continue;
            };
            let cell = Cell(meant.view[*position]);
            let cell = match (cell.as_star(), cell.as_elem()) {
                (Some(_), _) => meaning(&meant.meanings, cell).ok_or_else(|| {
                    let what = "internal error: a star without a meaning".to_string();
                    Stop::lacking(what, Span::default())
                })?,
                (None, Some((of, number))) if of == sort && self.any[of] && number == last => {
                    Cell::elem(sort, element)
                }
                (None, _) => cell,
            };
            cells.push(if Some(cell) == meant.name { Cell::elem(sort, element) } else { cell });
        }
        let mut stars = key.stars.clone();
        for (of, number) in meant.meanings.iter().filter_map(|(_, is)| is.as_star()) {
            stars[of] = stars[of].max(number as u32 + 1);
        }
        // Cells between the new element and known ones that the view does not show may hold anything.
        let mut options = Vec::new();
        let mut ways = 1_usize;
        for at in &open {
            let values = self.finite_values(self.layout.cells[found.own[*at]].ty)?;
            ways = ways.saturating_mul(values.len());
            options.push(values);
        }
        if ways > MOST_FILLINGS {
            return Err(Stop::lacking("arrays over two sorts with so many values".into(), Span::default()));
        }
        for mut number in 0..ways {
            for (at, values) in open.iter().zip(&options) {
                cells[*at] = values[number % values.len()];
                number /= values.len();
            }
            for bits in subsets_gone(node.structure.bits, meant.satisfied) {
                if found.cells.len() / found.own.len().max(1) % 3 == 2 && mutant::is(Mutant::WaysAreDropped) {
                    continue;
                }
                let class = SiblingClass { name: meant.name, bits, satisfied: meant.satisfied };
                found.push(class, &stars, &cells);
            }
        }
        Ok(())
    }

    fn finite_values(&self, ty: TypeId) -> RunResult<Vec<Cell>> {
        let open = self.model.sorts_of(ty).iter().any(|sort| self.any[sort.index()]);
        let many = self.model.cardinality(ty).is_none_or(|count| count > 64);
        if open || many || matches!(self.model.kind(ty), Type::Multiset { .. }) {
            let what = "arrays over two sorts that hold elements, or large numbers";
            return Err(Stop::lacking(what.into(), Span::default()));
        }
        let values = self.model.values(ty).filter_map(|value| Cell::pack(ViewScalar::of(&value)?));
        Ok(std::iter::once(Cell::UNDEFINED).chain(values).collect())
    }

    /// All choices of as many elements as a view has; none if there are too few.
    pub(crate) fn all_picks(&self, known: &[usize]) -> Vec<Pick> {
        let mut all: Vec<Pick> = vec![Vec::new()];
        for (of, known) in known.iter().enumerate() {
            let subsets = match self.any[of] {
                true => subsets(*known, self.view[of]),
                false => vec![(0..self.view[of]).collect()],
            };
            let more = |pick: Pick| {
                subsets
                    .iter()
                    .map(move |subset| [pick.clone(), vec![subset.clone()]].concat())
                    .collect::<Vec<_>>()
            };
            all = all.into_iter().flat_map(more).collect();
        }
        all
    }

    /// Glances at as many elements as a view has, the newest of a sort among them.
    fn glances(&self, known: &Known, sort: usize) -> Rc<[Glance]> {
        let key = (known.clone(), sort);
        if let Some(made) = self.glances.borrow().get(&key) {
            return made.clone();
        }
        let picks = self.picks(known, sort);
        let made: Rc<[Glance]> = picks.iter().map(|pick| self.glance(&self.shape, pick)).collect();
        self.glances.borrow_mut().insert(key, made.clone());
        made
    }

    /// The choices of as many elements as a view has, the newest of a sort among them.
    fn picks(&self, known: &[usize], sort: usize) -> Vec<Pick> {
        let element = known[sort] - 1;
        let mut all: Vec<Pick> = vec![Vec::new()];
        for (of, known) in known.iter().enumerate() {
            let subsets: Vec<Vec<usize>> = if !self.any[of] {
                vec![(0..self.view[of]).collect()]
            } else if of == sort {
                let mut others = subsets(element, self.view[of] - 1);
                others.iter_mut().for_each(|subset| subset.push(element));
                others
            } else {
                subsets(*known, self.view[of])
            };
            all = all
                .into_iter()
                .flat_map(|pick| {
                    subsets.iter().map(move |subset| {
                        let mut pick = pick.clone();
                        pick.push(subset.clone());
                        pick
                    })
                })
                .collect();
        }
        all
    }
}

/// All sets of `size` of the first `count` numbers.
fn subsets(count: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    (size..=count)
        .flat_map(|last| {
            subsets(last - 1, size - 1).into_iter().map(move |mut subset| {
                subset.push(last - 1);
                subset
            })
        })
        .collect()
}

/// The bits that may be left when an element that satisfies some predicates becomes known: it may have been the only unknown
/// one that did.
fn subsets_gone(bits: u32, satisfied: u32) -> impl Iterator<Item = u32> {
    let only = if mutant::is(Mutant::NeverTheOnlyOne) { 0 } else { satisfied };
    let next = move |gone: &u32| {
        let done = *gone == 0 || mutant::is(Mutant::TheOnlyOne);
        (!done).then(|| (gone - 1) & only)
    };
    std::iter::successors(Some(only), next).map(move |gone| bits & !gone)
}
