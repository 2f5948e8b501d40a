//! Adding an element to a structure, in every way that the views allow.
//!
//! If the structure is a part of some state whose views have all been found, then one of the ways is what is there.

use crate::{
    cell::{Cell, Scalar},
    machine::{Decision, Run, Stop},
    store::{Store, ViewId, meaning},
    structure::{Pick, Satisfied, StandsFor, Structure, project},
    system::System,
};
use shoal_model::{SortId, Type, TypeId, TypedId};
use shoal_syntax::Span;

/// A run that is to be made: from where, with which choices, under which assumptions.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) structure: Structure,
    pub(crate) satisfied: Satisfied,
    pub(crate) script: Vec<Scalar>,
    pub(crate) decisions: Vec<Decision>,
}

impl Task {
    /// Puts an element in the place of a star.
    fn substitute(&mut self, star: Cell, element: Cell) {
        self.structure.substitute(star, element);
        let (Some(from), Some(to)) = (star.unpack(), element.unpack()) else { return };
        self.script.iter_mut().filter(|value| **value == from).for_each(|value| *value = to);
        for decision in &mut self.decisions {
            match decision {
                Decision::Nobody { key, .. } | Decision::Witness { key, .. } | Decision::Somebody { key } => {
                    key.substitute(from, to);
                }
                Decision::NobodyAfter(_) | Decision::WitnessAfter { .. } | Decision::SomebodyAfter(_) => {}
            }
        }
    }

    /// The stars of a sort that occur.
    fn stars(&self, sort: usize) -> Vec<Cell> {
        let in_cells = self.structure.cells.iter().copied();
        let in_script = self.script.iter().filter_map(|value| Cell::pack(*value));
        let mut stars: Vec<Cell> = in_cells
            .chain(in_script)
            .filter(|cell| cell.as_star().is_some_and(|(of, _)| of == sort))
            .collect();
        stars.sort_unstable();
        stars.dedup();
        stars
    }
}

/// Where elements come from.
pub(crate) enum Universe<'a> {
    /// Before a start: all elements are blank.
    Blank,
    /// The views found so far, and for the steps of which view they are looked at.
    Views(&'a mut Store, Option<ViewId>),
}

/// More ways than this to fill the cells between a new element and the others are refused.
const MOST_FILLINGS: usize = 4096;

impl<'m> System<'m> {
    /// Whether there is room for one more element of a sort.
    pub(crate) fn has_room(&self, structure: &Structure, sort: usize) -> bool {
        structure.known[sort] < self.room[sort]
    }

    /// The task with one more known element of a sort: the one that a star stands for, or any.
    pub(crate) fn expand(
        &self,
        universe: &mut Universe<'_>,
        task: &Task,
        sort: usize,
        wanted: Option<Cell>,
    ) -> Run<Vec<Task>> {
        let mut found = Vec::new();
        match universe {
            Universe::Blank => {
                let mut names: Vec<Option<Cell>> = vec![wanted];
                if wanted.is_none() {
                    names.extend(task.stars(sort).into_iter().map(Some));
                }
                for name in names {
                    let candidate = self.blank_element(task, sort, name);
                    self.with_bits(candidate, sort, &mut |task| {
                        found.push(task);
                        Ok(())
                    })?;
                }
            }
            Universe::Views(store, whom) => {
                let Some(pivot) = &self.pivots[sort] else {
                    let name = &self.model.sorts[SortId::from_index(sort)].name;
                    let what = format!("internal error: an element of the data sort `{name}` is looked at");
                    return Err(Stop::Lacking(what, Span::default()));
                };
                let pick: Pick = pivot.counts.iter().map(|count| (0..*count).collect()).collect();
                let seen = project(&self.layout, &self.any, pivot, &task.structure, &task.satisfied, &pick);
                let members = store.bucket_for(sort, seen.view, *whom);
                for (id, inside) in members {
                    let view = store.views[id as usize].clone();
                    for outside in &seen.ways {
                        let mut candidates = Vec::new();
                        self.join(task, sort, wanted, &view, &inside, outside, &mut candidates)?;
                        for candidate in candidates {
                            self.with_bits(candidate, sort, &mut |candidate| {
                                if self.is_allowed(store, *whom, &candidate, sort) {
                                    found.push(candidate);
                                }
                                Ok(())
                            })?;
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    fn blank_element(&self, task: &Task, sort: usize, name: Option<Cell>) -> Task {
        let mut task = task.clone();
        let element = task.structure.known[sort];
        task.structure.known[sort] += 1;
        for at in self.cells_of(&task.structure, sort, element) {
            task.structure.cells[at] = Cell::UNDEFINED;
        }
        if let Some(star) = name {
            task.substitute(star, Cell::elem(sort, element));
        }
        task
    }

    /// The cells that belong to an element and otherwise to known ones.
    fn cells_of(&self, structure: &Structure, sort: usize, element: usize) -> Vec<usize> {
        let is_there = |at: &usize| {
            let dims = &self.layout.cells[*at].dims;
            dims.iter().any(|dim| dim.sort == sort && dim.element == element)
                && dims.iter().all(|dim| dim.element < structure.known[dim.sort])
        };
        (0..self.layout.cells.len()).filter(is_there).collect()
    }

    /// The ways in which the last element of a view can be a new element of a structure. `inside` and `outside` say which
    /// stars of the part that both have are which.
    #[allow(clippy::too_many_arguments)]
    fn join(
        &self,
        task: &Task,
        sort: usize,
        wanted: Option<Cell>,
        view: &[u32],
        inside: &StandsFor,
        outside: &StandsFor,
        candidates: &mut Vec<Task>,
    ) -> Run {
        let last = Cell::elem(sort, self.view[sort] - 1);
        // What each star of the view is in the structure, as far as the common part tells.
        let mut known: Vec<(Cell, Cell)> = Vec::new();
        let mut named = None;
        for (star, in_view) in inside {
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
                let hidden = task.stars(sort).into_iter().filter(|star| !is_seen(star)).map(Some);
                std::iter::once(None).chain(hidden).collect()
            }
        };
        let mut free: Vec<Cell> = view[..view.len() - 1].iter().map(|cell| Cell(*cell)).collect();
        free.retain(|cell| cell.as_star().is_some() && known.iter().all(|(of, _)| of != cell));
        free.sort_unstable();
        free.dedup();
        for name in names {
            let mut meanings = known.clone();
            self.assign(task, sort, name, view, &free, outside, &mut meanings, candidates)?;
        }
        Ok(())
    }

    /// Gives the stars that only the new element refers to every meaning they can have.
    #[allow(clippy::too_many_arguments)]
    fn assign(
        &self,
        task: &Task,
        sort: usize,
        name: Option<Cell>,
        view: &[u32],
        free: &[Cell],
        outside: &StandsFor,
        meanings: &mut Vec<(Cell, Cell)>,
        candidates: &mut Vec<Task>,
    ) -> Run {
        let Some((star, rest)) = free.split_first() else {
            return self.fill(task, sort, name, view, meanings, candidates);
        };
        let Some((of, _)) = star.as_star() else { return Ok(()) };
        let common = if of == sort { self.view[of] - 1 } else { self.view[of] };
        let elements = (common..task.structure.known[of]).map(|element| Cell::elem(of, element));
        let fresh = meanings
            .iter()
            .filter(|(_, is)| {
                is.as_star().is_some_and(|(s, n)| s == of && n >= task.structure.stars[of] as usize)
            })
            .count();
        let fresh = Cell::star(of, task.structure.stars[of] + fresh as u32);
        let options: Vec<Cell> = elements.chain(task.stars(of)).chain([fresh]).collect();
        for option in options {
            let taken = Some(option) == name
                || meanings.iter().any(|(_, is)| *is == option)
                || outside.iter().any(|(_, is)| *is == option);
            if !taken {
                meanings.push((*star, option));
                self.assign(task, sort, name, view, rest, outside, meanings, candidates)?;
                meanings.pop();
            }
        }
        Ok(())
    }

    /// Writes the cells of the new element.
    fn fill(
        &self,
        task: &Task,
        sort: usize,
        name: Option<Cell>,
        view: &[u32],
        meanings: &[(Cell, Cell)],
        candidates: &mut Vec<Task>,
    ) -> Run {
        let mut task = task.clone();
        let element = task.structure.known[sort];
        let last = self.view[sort] - 1;
        task.structure.known[sort] += 1;
        let mut open = Vec::new();
        for at in self.cells_of(&task.structure, sort, element) {
            let (mut from, mut shown) = (at, true);
            for dim in &self.layout.cells[at].dims {
                if dim.sort == sort && dim.element == element {
                    from = from - dim.element * dim.stride + last * dim.stride;
                } else {
                    let common = if dim.sort == sort { last } else { self.view[dim.sort] };
                    shown &= dim.element < common;
                }
            }
            match self.shape.offsets.binary_search(&from) {
                Ok(position) if shown => {
                    let cell = Cell(view[position]);
                    task.structure.cells[at] = match (cell.as_star(), cell.as_elem()) {
                        (Some(_), _) => match meaning(&meanings.to_vec(), cell) {
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
        for (_, is) in meanings {
            if let Some((of, number)) = is.as_star() {
                let stars = &mut task.structure.stars[of];
                *stars = (*stars).max(number as u32 + 1);
            }
        }
        if let Some(star) = name {
            task.substitute(star, Cell::elem(sort, element));
        }
        self.fill_open(task, &open, candidates)
    }

    /// Cells between the new element and known ones that the view does not show may hold anything.
    fn fill_open(&self, task: Task, open: &[usize], candidates: &mut Vec<Task>) -> Run {
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
            let mut task = task.clone();
            for (at, values) in open.iter().zip(&options) {
                task.structure.cells[*at] = values[number % values.len()];
                number /= values.len();
            }
            candidates.push(task);
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

    /// A new element that satisfies a predicate may have been the only unknown one that did.
    fn with_bits(&self, mut task: Task, sort: usize, keep: &mut dyn FnMut(Task) -> Run) -> Run {
        if self.predicates.is_empty() {
            return keep(task);
        }
        let element = task.structure.known[sort] - 1;
        let satisfied = self.satisfied_by(&task.structure, sort, element)?;
        if satisfied & !task.structure.bits != 0 {
            return Ok(());
        }
        task.satisfied[sort].push(satisfied);
        // All subsets of the bits that may go.
        let mut gone = satisfied;
        loop {
            let mut variant = task.clone();
            variant.structure.bits &= !gone;
            keep(variant)?;
            if gone == 0 {
                return Ok(());
            }
            gone = (gone - 1) & satisfied;
        }
    }

    /// Whether all views of a structure that have its newest element are there.
    fn is_allowed(&self, store: &mut Store, whom: Option<ViewId>, task: &Task, sort: usize) -> bool {
        let element = task.structure.known[sort] - 1;
        self.picks(&task.structure, sort, element).iter().all(|pick| {
            let seen = project(&self.layout, &self.any, &self.shape, &task.structure, &task.satisfied, pick);
            store.contains_for(&seen.view, whom)
        })
    }

    /// All choices of as many elements as a view has; none if there are too few.
    pub(crate) fn all_picks(&self, structure: &Structure) -> Vec<Pick> {
        let mut all: Vec<Pick> = vec![Vec::new()];
        for of in 0..self.any.len() {
            let subsets = match self.any[of] {
                true => subsets(structure.known[of], self.view[of]),
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

    /// The choices of as many elements as a view has, one of them given.
    fn picks(&self, structure: &Structure, sort: usize, element: usize) -> Vec<Pick> {
        let mut all: Vec<Pick> = vec![Vec::new()];
        for of in 0..self.any.len() {
            let subsets: Vec<Vec<usize>> = if !self.any[of] {
                vec![(0..self.view[of]).collect()]
            } else if of == sort {
                let mut others = subsets(element, self.view[of] - 1);
                others.iter_mut().for_each(|subset| subset.push(element));
                others
            } else {
                subsets(structure.known[of], self.view[of])
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
