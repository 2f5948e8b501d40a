//! Adding an element to a structure, in every way that the views allow.
//!
//! If the structure is a part of some state whose views have all been found, then one of the ways is what is there. The ways
//! are first listed by what a view that has the element suggests; whether all other views are there is asked of those that
//! are to be followed.

use std::{cell::OnceCell, rc::Rc};

use shoal_model::{Type, TypeId, TypedId};
use shoal_syntax::Span;
use smallvec::SmallVec;

use crate::mutant::{self, Mutant};
use crate::{
    cell::{Cell, ViewScalar},
    decision::{RunResult, Stop},
    store::{Dependent, ViewStore},
    structure::{Glance, Known, NextStars, Pick, Structure, ViewKey},
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
            siblings.clashes.iter().for_each(|(of, others)| store.shared.depend(*whom, *of, *others));
        }
    }

    /// Whoever looks at a sibling that is not allowed depends on the view that it lacks.
    fn miss(&mut self, lacks: Option<&ViewKey>) {
        if let (Universe::Views(store, Some(whom)), Some(view)) = (self, lacks) {
            store.miss(*whom, view);
        }
    }
}

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
    /// What others were turned down for: references that agree in no view.
    clashes: Vec<(u8, u64)>,
}

/// All in which siblings may differ besides cells and stars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SiblingClass {
    /// The star that the element was.
    pub(crate) name: Option<Cell>,
    pub(crate) bits: u32,
    /// The context predicates that the element satisfies.
    pub(crate) satisfied: u32,
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
    pub(crate) fn new(sort: usize, known: Known, own: Vec<usize>) -> Siblings {
        let (cells, classes, stars, all) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let clashes = Vec::new();
        Siblings { sort, bucket: None, known, own, cells, classes, stars, all, clashes }
    }

    /// The same, suggested by views that have this in common.
    pub(crate) fn in_bucket(self, bucket: ViewKey) -> Siblings {
        Siblings { bucket: Some(bucket), ..self }
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

    /// Whether the newest element of one of them satisfies a context predicate, if it has to.
    pub(crate) fn satisfies(&self, at: usize, predicate: Option<usize>) -> bool {
        let satisfied = self.classes[self.all[at].class as usize].satisfied;
        predicate.is_none_or(|predicate| satisfied >> predicate & 1 == 1)
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

    /// Which cell of the layout one of the newest element is.
    pub(crate) fn own_cell(&self, at: usize) -> usize {
        self.own[at]
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.cells.reserve(more * self.own.len());
        self.all.reserve(more);
    }

    /// Others are turned down for this.
    pub(crate) fn clash(&mut self, number: u8, others: u64) {
        match self.clashes.iter_mut().find(|(of, _)| *of == number) {
            Some((_, all)) => *all |= others,
            None => self.clashes.push((number, others)),
        }
    }

    pub(crate) fn push(&mut self, class: SiblingClass, stars: &NextStars, cells: &[Cell]) {
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
        Ok(RunGroup::Siblings { task, siblings, witness: None, satisfying: None })
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
    pub(crate) fn cells_of(
        &self,
        known: &[usize],
        sort: usize,
        element: usize,
    ) -> impl Iterator<Item = usize> {
        let is_there = |at: &usize| {
            let dims = &self.layout.cells[*at].dims;
            dims.iter().all(|dim| dim.element < known[dim.sort])
        };
        self.own[sort][element].iter().copied().filter(is_there)
    }

    pub(crate) fn finite_values(&self, ty: TypeId) -> RunResult<Vec<Cell>> {
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
pub(crate) fn subsets_gone(bits: u32, satisfied: u32) -> impl Iterator<Item = u32> {
    let only = if mutant::is(Mutant::NeverTheOnlyOne) { 0 } else { satisfied };
    let next = move |gone: &u32| {
        let done = *gone == 0 || mutant::is(Mutant::TheOnlyOne);
        (!done).then(|| (gone - 1) & only)
    };
    std::iter::successors(Some(only), next).map(move |gone| bits & !gone)
}
