//! Whether a permutation of cells and values is an automorphism: every step becomes a step, and every condition itself.
//!
//! The image of a path says which values the permuted cells have on it and what is written to them. It is compared with the
//! paths of another step, piece by piece: what is left of it outside of one path must be found on others, and what is inside
//! must come to the same. If the images of all steps are so found within steps, no two within the same, they *are* those
//! steps: some power of the permutation leads every step back to itself.

use std::{collections::BTreeMap, rc::Rc};

use crate::{
    cells::UNDEFINED,
    run::{CellValues, CodePath, PathEnd},
    space::{CellSpace, GuardedTransition},
    value::{CellTerm, Val},
};

/// A permutation of cells, and of the values in them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Permutation {
    /// Where the content of each cell goes.
    pub(crate) to: Vec<u32>,
    /// What becomes of its values, where they do not all stay as they are.
    pub(crate) values: Vec<Option<BTreeMap<i64, i64>>>,
}

impl Permutation {
    pub(crate) fn identity(cells: usize) -> Permutation {
        Permutation { to: (0..cells as u32).collect(), values: vec![None; cells] }
    }

    /// Whether a cell and its values stay as they are.
    pub(crate) fn keeps(&self, cell: u32) -> bool {
        self.to[cell as usize] == cell && self.values[cell as usize].is_none()
    }

    pub(crate) fn is_identity(&self) -> bool {
        (0..self.to.len() as u32).all(|cell| self.keeps(cell))
    }

    pub(crate) fn value(&self, cell: u32, value: i64) -> i64 {
        match &self.values[cell as usize] {
            Some(renamed) => renamed.get(&value).copied().unwrap_or(value),
            None => value,
        }
    }

    /// This one, and then another.
    pub(crate) fn then(&self, next: &Permutation, values: &[CellValues]) -> Permutation {
        let to: Vec<u32> = self.to.iter().map(|cell| next.to[*cell as usize]).collect();
        let renamed = |cell: usize| {
            let CellValues::Some(listed) = &values[cell] else { return None };
            let image = |value: &i64| next.value(self.to[cell], self.value(cell as u32, *value));
            let all: BTreeMap<i64, i64> = listed.iter().map(|value| (*value, image(value))).collect();
            all.iter().any(|(from, to)| from != to).then_some(all)
        };
        let values = (0..to.len()).map(renamed).collect();
        Permutation { to, values }
    }

    fn term(&self, term: &Rc<CellTerm>) -> Rc<CellTerm> {
        Rc::new(match &**term {
            CellTerm::Const(value) => CellTerm::Const(*value),
            CellTerm::Cell(cell) => CellTerm::Cell(self.to[*cell as usize]),
            CellTerm::Of(cell, table) => {
                let mut table: Vec<(i64, i64)> =
                    table.iter().map(|(from, to)| (self.value(*cell, *from), *to)).collect();
                table.sort_unstable();
                CellTerm::Of(self.to[*cell as usize], table.into())
            }
            CellTerm::Op(op, of) => CellTerm::Op(*op, of.iter().map(|of| self.term(of)).collect()),
        })
    }

    /// What is written to the image of a cell.
    fn written(&self, cell: u32, value: &Val) -> Val {
        match value {
            Val::Const(value) => Val::Const(self.value(cell, *value)),
            Val::Of(of, table) => {
                let mut table: Vec<(i64, i64)> =
                    table.iter().map(|(from, to)| (self.value(*of, *from), self.value(cell, *to))).collect();
                table.sort_unstable();
                Val::of(self.to[*of as usize], table)
            }
            Val::Term(term) => Val::Term(self.term(term)),
        }
    }

    fn path(&self, path: &CodePath) -> CodePath {
        let set = |(cell, set): (&u32, &Rc<[i64]>)| {
            let mut image: Vec<i64> = set.iter().map(|value| self.value(*cell, *value)).collect();
            image.sort_unstable();
            (self.to[*cell as usize], image.into())
        };
        let write = |(cell, value): (&u32, &Val)| (self.to[*cell as usize], self.written(*cell, value));
        CodePath {
            given: path.given.iter().map(set).collect(),
            atoms: path.atoms.iter().map(|(term, truth)| (self.term(term), *truth)).collect(),
            end: path.end,
            writes: path.writes.iter().map(write).collect(),
            covered: path.covered.clone(),
            choices: Vec::new(),
        }
    }

    /// Whether nothing that a path has to do with is changed.
    fn keeps_path(&self, path: &CodePath) -> bool {
        let mut kept = path.given.keys().all(|cell| self.keeps(*cell));
        let mut keeps_term = |term: &CellTerm| term.each_cell(&mut |cell| kept &= self.keeps(cell));
        path.atoms.iter().for_each(|(term, _)| keeps_term(term));
        for value in path.writes.values() {
            match value {
                Val::Const(_) => {}
                Val::Of(of, _) => keeps_term(&CellTerm::Cell(*of)),
                Val::Term(term) => keeps_term(term),
            }
        }
        kept && path.writes.keys().all(|cell| self.keeps(*cell))
    }
}

/// What was proved of a permutation: which transition becomes which.
pub(crate) type Matching = Vec<usize>;

impl CellSpace {
    /// Proves that a permutation is an automorphism; nothing if that fails.
    pub(crate) fn prove(&self, types: &[shoal_model::TypeId], by: &Permutation) -> Option<Matching> {
        self.is_permutation(types, by).then_some(())?;
        let conditions_stay =
            self.conditions.iter().all(|paths| paths.iter().all(|path| self.is_among(by.path(path), paths)));
        conditions_stay.then_some(())?;
        let mut taken = vec![false; self.transitions.len()];
        let mut matching = Vec::with_capacity(self.transitions.len());
        for (at, transition) in self.transitions.iter().enumerate() {
            let stays = transition.paths.iter().all(|path| by.keeps_path(path));
            let found = if stays && !taken[at] { at } else { self.image_of(transition, by, &taken)? };
            taken[found] = true;
            matching.push(found);
        }
        Some(matching)
    }

    fn is_permutation(&self, types: &[shoal_model::TypeId], by: &Permutation) -> bool {
        let mut hit = vec![false; self.values.len()];
        for cell in 0..self.values.len() {
            let to = by.to[cell] as usize;
            if std::mem::replace(&mut hit[to], true) || types[cell] != types[to] {
                return false;
            }
            let onto = match (&self.values[cell], &self.values[to]) {
                (CellValues::Any, CellValues::Any) => by.values[cell].is_none(),
                (CellValues::Some(from), CellValues::Some(onto)) => {
                    let mut image: Vec<i64> = from.iter().map(|it| by.value(cell as u32, *it)).collect();
                    image.sort_unstable();
                    image[..] == onto[..] && by.value(cell as u32, UNDEFINED) == UNDEFINED
                }
                _ => false,
            };
            if !onto {
                return false;
            }
        }
        true
    }

    /// A transition that nobody has taken, and that is the image of another.
    fn image_of(&self, of: &GuardedTransition, by: &Permutation, taken: &[bool]) -> Option<usize> {
        let images: Vec<CodePath> = of.paths.iter().map(|path| by.path(path)).collect();
        let written = written(&images);
        let fits = |(at, other): &(usize, &GuardedTransition)| {
            !taken[*at]
                && other.priority == of.priority
                && self::written(&other.paths) == written
                && self.spend(images.len() * other.paths.len())
                && images.iter().all(|image| self.is_among(image.clone(), &other.paths))
        };
        // Rules of the same name first: most steps become steps of the same rule.
        let all = || self.transitions.iter().enumerate();
        all()
            .filter(|(_, other)| other.rule == of.rule)
            .find(&fits)
            .or_else(|| all().filter(|(_, other)| other.rule != of.rule).find(&fits))
            .map(|(at, _)| at)
    }

    /// Whether there is effort left for some more comparisons.
    fn spend(&self, comparisons: usize) -> bool {
        let left = self.effort.get().checked_sub(comparisons as u64);
        self.effort.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Whether all of a path is found on others, with the same result.
    fn is_among(&self, mut path: CodePath, others: &[CodePath]) -> bool {
        for (at, other) in others.iter().enumerate() {
            if !self.meets(&path, other) {
                continue;
            }
            for (cell, values) in &other.given {
                let Some(mine) = self.on(&path, *cell) else { return false };
                let (inside, outside): (Vec<i64>, Vec<i64>) =
                    mine.iter().partition(|value| values.contains(value));
                if !outside.is_empty() {
                    let mut rest = path.clone();
                    rest.given.insert(*cell, outside.into());
                    if !self.is_among(rest, &others[at + 1..]) {
                        return false;
                    }
                    path.given.insert(*cell, inside.into());
                }
            }
            for (term, truth) in &other.atoms {
                if !path.atoms.iter().any(|(mine, _)| mine == term) {
                    let mut rest = path.clone();
                    rest.atoms.push((term.clone(), !truth));
                    if !self.is_among(rest, &others[at + 1..]) {
                        return false;
                    }
                    path.atoms.push((term.clone(), *truth));
                }
            }
            return self.does_the_same(&path, other);
        }
        false
    }

    /// The values that a cell can have on a path, if they are listed.
    fn on(&self, path: &CodePath, cell: u32) -> Option<Rc<[i64]>> {
        match (path.given.get(&cell), &self.values[cell as usize]) {
            (Some(given), _) => Some(given.clone()),
            (None, CellValues::Some(values)) => Some(values.clone()),
            (None, CellValues::Any) => None,
        }
    }

    /// Whether some state is on both paths, as far as single cells and terms tell.
    fn meets(&self, path: &CodePath, other: &CodePath) -> bool {
        let cells = other.given.iter().all(|(cell, values)| {
            path.given.get(cell).is_none_or(|mine| mine.iter().any(|value| values.contains(value)))
        });
        cells
            && other
                .atoms
                .iter()
                .all(|(term, truth)| path.atoms.iter().all(|(mine, holds)| mine != term || holds == truth))
    }

    /// Whether two paths come to the same in the states of the first, all of which are on the second.
    fn does_the_same(&self, path: &CodePath, other: &CodePath) -> bool {
        if path.end != other.end || path.covered != other.covered {
            return false;
        }
        let stays = |cell: u32| match self.on(path, cell) {
            Some(values) => Val::of(cell, values.iter().map(|value| (*value, *value)).collect()),
            None => Val::Term(Rc::new(CellTerm::Cell(cell))),
        };
        let after = |of: &CodePath, cell: u32| match of.writes.get(&cell) {
            Some(Val::Of(from, table)) => match self.on(path, *from) {
                Some(values) => Val::Of(*from, table.clone()).given(*from, &values),
                None => Val::Of(*from, table.clone()),
            },
            Some(value) => value.clone(),
            None => stays(cell),
        };
        let written = path.writes.keys().chain(other.writes.keys());
        written.into_iter().all(|cell| after(path, *cell) == after(other, *cell))
    }
}

/// The cells that steps on some paths write.
fn written(paths: &[CodePath]) -> Vec<u32> {
    let goes = paths.iter().filter(|path| path.end == PathEnd::Goes);
    let mut cells: Vec<u32> = goes.flat_map(|path| path.writes.keys().copied()).collect();
    cells.sort_unstable();
    cells.dedup();
    cells
}
