//! Adding an element to a structure, in every way that the views allow.
//!
//! If the structure is a part of some state whose views have all been found, then one of the ways is what is there.

use std::rc::Rc;

use crate::mutant::{self, Mutant};
use crate::{
    cell::{Cell, Scalar},
    decision::{Run, Stop},
    store::{Member, Store, ViewId, meaning},
    structure::{Pick, Satisfied, StandsFor, Structure, ViewKey},
    system::System,
    task::{Expansion, ExpansionKey, Group, Node, Task},
};
use shoal_model::{SortId, Type, TypeId, TypedId};
use shoal_syntax::Span;

/// Where elements come from.
pub(crate) enum Universe<'a> {
    /// Before a start: all elements are blank.
    Blank,
    /// The views found so far, and for the steps of which view they are looked at.
    Views(&'a mut Store, Option<ViewId>),
}

/// More ways than this to fill the cells between a new element and the others are refused.
const MOST_FILLINGS: usize = 4096;

/// A structure with one more element, of which it is not known yet whether the views allow it.
#[derive(Clone)]
struct Candidate {
    cells: Vec<Cell>,
    stars: Vec<u32>,
    /// The star that the new element was.
    name: Option<Cell>,
}

/// What does not change while an element is added.
struct Joining<'a> {
    node: &'a Node,
    key: &'a ExpansionKey,
    sort: usize,
    /// The elements that are known afterwards.
    known: Vec<usize>,
    /// The stars of each sort that occur.
    stars: Vec<Vec<Cell>>,
}

impl<'m> System<'m> {
    /// Whether there is room for one more element of a sort.
    pub(crate) fn has_room(&self, node: &Node, sort: usize) -> bool {
        node.structure.known[sort] < self.room[sort]
    }

    /// The task with one more known element of a sort: the one that a star stands for, or any.
    pub(crate) fn expand(
        &self,
        universe: &mut Universe<'_>,
        task: Task,
        sort: usize,
        wanted: Option<Cell>,
    ) -> Run<Group> {
        let key = task.expansion_key(sort, wanted);
        let cached = task.node.expansions.borrow().get(&key).cloned();
        let expansions = match cached {
            Some(expansions) => expansions,
            None => {
                let found: Rc<[Expansion]> = match universe {
                    Universe::Blank => self.blank_elements(&task, &key)?.into(),
                    Universe::Views(store, whom) => self.elements(store, *whom, &task.node, &key)?.into(),
                };
                task.node.expansions.borrow_mut().insert(key, found.clone());
                found
            }
        };
        Ok(Group::Siblings { task, sort, expansions })
    }

    fn elements(
        &self,
        store: &mut Store,
        whom: Option<ViewId>,
        node: &Node,
        key: &ExpansionKey,
    ) -> Run<Vec<Expansion>> {
        let sort = key.sort;
        let Some((pivot, pick)) = &self.pivots[sort] else {
            let name = &self.model.sorts[SortId::from_index(sort)].name;
            let what = format!("internal error: an element of the data sort `{name}` is looked at");
            return Err(Stop::Lacking(what, Span::default()));
        };
        let structure = &node.structure;
        let seen = self.project(pivot, &structure.cells, structure.bits, &node.satisfied, pick);
        let mut known = structure.known.clone();
        known[sort] += 1;
        let stars = (0..self.any.len()).map(|sort| key.stars_of(node, sort)).collect();
        let joining = Joining { node, key, sort, known, stars };
        let picks = self.picks(&joining.known, sort);
        let (mut found, mut missed) = (Vec::new(), Vec::new());
        for member in store.members(sort, &seen.view) {
            // No element that is not known satisfies any other predicate.
            if member.satisfied & !structure.bits != 0 {
                continue;
            }
            let mut candidates = Vec::new();
            for outside in &seen.ways {
                self.join(&joining, member, &store.views[member.view as usize], outside, &mut candidates)?;
            }
            for candidate in candidates {
                self.keep_allowed(&joining, store, member, &picks, candidate, &mut found, &mut missed);
            }
        }
        if let Some(whom) = whom {
            store.depend(whom, sort, seen.view, missed);
        }
        let mut at = 0;
        found.retain(|_| {
            at += 1;
            at % 3 != 0 || !mutant::is(Mutant::WaysAreDropped)
        });
        Ok(found)
    }

    /// Keeps a candidate with those bits for which all views that have its newest element are there. A new element that
    /// satisfies a predicate may have been the only unknown one that did.
    #[allow(clippy::too_many_arguments)]
    fn keep_allowed(
        &self,
        joining: &Joining<'_>,
        store: &Store,
        member: &Member,
        picks: &[Pick],
        candidate: Candidate,
        found: &mut Vec<Expansion>,
        missed: &mut Vec<ViewKey>,
    ) {
        if let Some(chain) = self.chain
            && !chain.allows(&candidate.cells, joining.known[chain.sort])
        {
            return;
        }
        let mut satisfied = joining.node.satisfied.clone();
        if !self.predicates.is_empty() {
            satisfied[joining.sort].push(member.satisfied);
        }
        let expansion = |bits: u32, satisfied: Satisfied| {
            let Candidate { cells, stars, name } = candidate.clone();
            let structure = Structure { known: joining.known.clone(), cells, bits, stars };
            Expansion { node: Node::new(structure, satisfied), name }
        };
        let (mut raw, mut view) = (Vec::new(), Vec::new());
        // All subsets of the bits that may go.
        let mut gone = if mutant::is(Mutant::NeverTheOnlyOne) { 0 } else { member.satisfied };
        loop {
            let bits = joining.node.structure.bits & !gone;
            let is_there = |pick: &Pick| {
                self.view_of(&candidate.cells, pick, &mut raw, &mut view);
                view.push(bits | self.forgotten(&satisfied, pick));
                store.contains(&view)
            };
            // The first is a part of the view that proposes the element, so it is there.
            match picks.iter().rev().all(is_there) {
                true => found.push(expansion(bits, satisfied.clone())),
                false => missed.push(view.as_slice().into()),
            }
            if gone == 0 || mutant::is(Mutant::TheOnlyOne) {
                return;
            }
            gone = (gone - 1) & member.satisfied;
        }
    }

    /// Elements before a start: all are alike.
    fn blank_elements(&self, task: &Task, key: &ExpansionKey) -> Run<Vec<Expansion>> {
        let (sort, node) = (key.sort, &*task.node);
        let mut names: Vec<Option<Cell>> = vec![key.wanted];
        if key.wanted.is_none() {
            names.extend(key.stars_of(node, sort).into_iter().map(Some));
        }
        let mut found = Vec::new();
        for name in names {
            let mut structure = node.structure.clone();
            let element = structure.known[sort];
            structure.known[sort] += 1;
            for at in self.cells_of(&structure.known, sort, element) {
                structure.cells[at] = Cell::UNDEFINED;
            }
            if let Some(star) = name {
                substitute(&mut structure.cells, star, Cell::elem(sort, element));
            }
            structure.stars.clone_from(&key.stars);
            let satisfied = self.satisfied(&structure)?;
            let new = satisfied[sort].last().copied().unwrap_or(0);
            if new & !structure.bits != 0 {
                continue;
            }
            let mut gone = new;
            loop {
                let bits = structure.bits & !gone;
                let structure = Structure { bits, ..structure.clone() };
                found.push(Expansion { node: Node::new(structure, satisfied.clone()), name });
                if gone == 0 {
                    break;
                }
                gone = (gone - 1) & new;
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
        joining: &Joining<'_>,
        member: &Member,
        view: &[u32],
        outside: &StandsFor,
        candidates: &mut Vec<Candidate>,
    ) -> Run {
        let (sort, wanted) = (joining.sort, joining.key.wanted);
        let last = Cell::elem(sort, self.view[sort] - 1);
        // What each star of the view is in the structure, as far as the common part tells.
        let mut known: Vec<(Cell, Cell)> = Vec::new();
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
        let names: Vec<Option<Cell>> = match (named, wanted) {
            (Some(named), Some(wanted)) if named != wanted => return Ok(()),
            (Some(named), _) => vec![Some(named)],
            (None, Some(wanted)) if is_seen(&wanted) => return Ok(()),
            (None, Some(wanted)) => vec![Some(wanted)],
            (None, None) => {
                let hidden = joining.stars[sort].iter().filter(|star| !is_seen(star)).copied().map(Some);
                let hidden = hidden.filter(|_| !mutant::is(Mutant::WitnessesAreNoStars));
                std::iter::once(None).chain(hidden).collect()
            }
        };
        let mut free: Vec<Cell> = view[..view.len() - 1].iter().map(|cell| Cell(*cell)).collect();
        free.retain(|cell| cell.as_star().is_some() && known.iter().all(|(of, _)| of != cell));
        free.sort_unstable();
        free.dedup();
        for name in names {
            let mut meanings = known.clone();
            self.assign(joining, name, view, &free, outside, &mut meanings, candidates)?;
        }
        Ok(())
    }

    /// Gives the stars that only the new element refers to every meaning they can have.
    #[allow(clippy::too_many_arguments)]
    fn assign(
        &self,
        joining: &Joining<'_>,
        name: Option<Cell>,
        view: &[u32],
        free: &[Cell],
        outside: &StandsFor,
        meanings: &mut Vec<(Cell, Cell)>,
        candidates: &mut Vec<Candidate>,
    ) -> Run {
        let Some((star, rest)) = free.split_first() else {
            return self.fill(joining, name, view, meanings, candidates);
        };
        let Some((of, _)) = star.as_star() else { return Ok(()) };
        let common = if of == joining.sort { self.view[of] - 1 } else { self.view[of] };
        let elements = (common..joining.node.structure.known[of]).map(|element| Cell::elem(of, element));
        let next = joining.key.stars[of];
        let fresh = meanings
            .iter()
            .filter(|(_, is)| is.as_star().is_some_and(|(s, n)| s == of && n >= next as usize))
            .count();
        let fresh = Cell::star(of, next + fresh as u32);
        for option in elements.chain(joining.stars[of].iter().copied()).chain([fresh]) {
            let taken = Some(option) == name
                || option != fresh && mutant::is(Mutant::NewStarsAreFresh)
                || meanings.iter().any(|(_, is)| *is == option)
                || outside.iter().any(|(_, is)| *is == option);
            if !taken {
                meanings.push((*star, option));
                self.assign(joining, name, view, rest, outside, meanings, candidates)?;
                meanings.pop();
            }
        }
        Ok(())
    }

    /// Writes the cells of the new element.
    fn fill(
        &self,
        joining: &Joining<'_>,
        name: Option<Cell>,
        view: &[u32],
        meanings: &[(Cell, Cell)],
        candidates: &mut Vec<Candidate>,
    ) -> Run {
        let sort = joining.sort;
        let element = joining.known[sort] - 1;
        let last = self.view[sort] - 1;
        let mut cells = joining.node.structure.cells.clone();
        let mut open = Vec::new();
        for at in self.cells_of(&joining.known, sort, element) {
            let (mut from, mut shown) = (at, true);
            for dim in &self.layout.cells[at].dims {
                if dim.sort == sort && dim.element == element {
                    from = from - dim.element * dim.stride + last * dim.stride;
                } else {
                    let common = if dim.sort == sort { last } else { self.view[dim.sort] };
                    shown &= dim.element < common;
                }
            }
            match self.shape.position(from) {
                Some(position) if shown => {
                    let cell = Cell(view[position]);
                    cells[at] = match (cell.as_star(), cell.as_elem()) {
                        (Some(_), _) => match meaning(meanings, cell) {
                            Some(cell) => cell,
                            None => {
                                let what = "internal error: a star without a meaning".to_string();
                                return Err(Stop::Lacking(what, Span::default()));
                            }
                        },
                        (None, Some((of, number))) if of == sort && self.any[of] && number == last => {
                            Cell::elem(sort, element)
                        }
                        (None, _) => cell,
                    };
                }
                _ => open.push(at),
            }
        }
        let mut stars = joining.key.stars.clone();
        for (_, is) in meanings {
            if let Some((of, number)) = is.as_star() {
                stars[of] = stars[of].max(number as u32 + 1);
            }
        }
        if let Some(star) = name {
            substitute(&mut cells, star, Cell::elem(sort, element));
        }
        self.fill_open(Candidate { cells, stars, name }, &open, candidates)
    }

    /// Cells between the new element and known ones that the view does not show may hold anything.
    fn fill_open(&self, candidate: Candidate, open: &[usize], candidates: &mut Vec<Candidate>) -> Run {
        if open.is_empty() {
            candidates.push(candidate);
            return Ok(());
        }
        let mut options = Vec::new();
        let mut ways = 1_usize;
        for at in open {
            let values = self.finite_values(self.layout.cells[*at].ty)?;
            ways = ways.saturating_mul(values.len());
            options.push(values);
        }
        if ways > MOST_FILLINGS {
            return Err(Stop::Lacking("arrays over two sorts with so many values".into(), Span::default()));
        }
        for mut number in 0..ways {
            let mut filled = candidate.clone();
            for (at, values) in open.iter().zip(&options) {
                filled.cells[*at] = values[number % values.len()];
                number /= values.len();
            }
            candidates.push(filled);
        }
        Ok(())
    }

    fn finite_values(&self, ty: TypeId) -> Run<Vec<Cell>> {
        let open = self.model.sorts_of(ty).iter().any(|sort| self.any[sort.index()]);
        let many = self.model.cardinality(ty).is_none_or(|count| count > 64);
        if open || many || matches!(self.model.kind(ty), Type::Multiset { .. }) {
            let what = "arrays over two sorts that hold elements, or large numbers";
            return Err(Stop::Lacking(what.into(), Span::default()));
        }
        let values = self.model.values(ty).filter_map(|value| Cell::pack(Scalar::of(&value)?));
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

/// Puts an element in the place of a star.
fn substitute(cells: &mut [Cell], star: Cell, element: Cell) {
    cells.iter_mut().filter(|cell| **cell == star).for_each(|cell| *cell = element);
}
