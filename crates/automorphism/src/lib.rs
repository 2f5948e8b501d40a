//! Automorphisms of a Model: permutations of the cells of its states, and of the values in them, under which it does the same.
//!
//! Sorts say which elements are interchangeable. Most models have none: processes have numbers, which index arrays and are
//! stored, channels belong to processes, a ring is an array and `(i + 1) % N`. What such a model does is the same all the same
//! if processes 1 and 2 are exchanged together with everything that belongs to them. Here this is found, and proved of
//! the steps themselves, whatever the source looks like:
//!
//! - `run` follows the code of each step on all its paths, as functions of the state before.
//! - `space` finds which values cells can have, and which steps there are, once the model has begun.
//! - `refine` suggests permutations.
//! - `prove` shows that one of them takes every step to a step and every condition to itself.
//! - `group` makes a group of those that are proved.
//!
//! Models with sorts, multisets, sequences, objects or clocks are left alone, as are steps with too many ways to go.

mod cells;
mod group;
mod prove;
mod refine;
mod run;
mod space;
mod value;

use std::{cmp::Reverse, ops::Range};

use shoal_model::{Model, PropertyId, RuleId, Type, TypeId, TypedId, Watch};

use cells::{StateCells, UNDEFINED, bounds};
use group::Elements;
pub use group::NamingCell;
use prove::{Matching, Permutation};
use refine::Colours;
use run::CellValues;
use space::CellSpace;

/// The automorphisms that were found. Cells are numbered in the order of variables, fields and indices; values are positions in
/// their type from 1 on, and 0 is undefined.
#[derive(Clone, Debug, Default)]
pub struct Automorphisms {
    /// Elements that may stand in any order among those of their family.
    pub families: Vec<Range<usize>>,
    /// The cells of each element; those of a family have as many, in the same order.
    pub blocks: Vec<Vec<u32>>,
    /// The cells whose values name elements.
    pub names: Vec<NamingCell>,
    /// What else there is: every automorphism is none or one of these, and then a new order of elements.
    pub images: Vec<Image>,
    /// The cells, with the values that they must have for all this to be so. In other states nothing is permuted; once a
    /// state is of this kind, all that follow are.
    pub given: Vec<(u32, Vec<i64>)>,
    /// For each rule the first of those that it may become.
    pub rules: Vec<RuleId>,
    /// What there is, in words.
    pub which: Vec<String>,
}

/// A permutation of cells and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// From where to where contents move; others stay.
    pub moves: Vec<(u32, u32)>,
    /// What becomes of the values of a cell, by where they were.
    pub renames: Vec<(u32, Vec<(i64, i64)>)>,
}

/// A family of arrays that may be permuted: the first cell of each entry, and how many cells it has.
struct PermutedEntries {
    name: String,
    first: Vec<u32>,
    size: u32,
}

impl PermutedEntries {
    fn cells(&self, entry: usize) -> Range<u32> {
        self.first[entry]..self.first[entry] + self.size
    }
}

/// More entries of an array are not tried.
const MOST_ENTRIES: u64 = 64;

/// So much is done at most to find automorphisms.
pub const MOST_EFFORT: u64 = 2_000_000;

/// Finds automorphisms of a model under which the conditions of some properties stay what they are, with so much effort at most.
/// Says why if there is none.
pub fn automorphisms(
    model: &Model,
    properties: &[PropertyId],
    watch: &Watch,
    effort: u64,
) -> Result<Automorphisms, &'static str> {
    let lacking = model.has_clocks() || !model.sorts.is_empty() || !model.fairness.is_empty();
    if lacking || model.while_time_passes.is_some() {
        return Err("there are sorts, clocks or fairness");
    }
    let cells = StateCells::new(model).ok_or("a state holds more than numbers, or very many")?;
    let arrays = arrays(model, &cells);
    if arrays.is_empty() {
        return Err("there is no array");
    }
    let space = space::explore(model, &cells, properties, watch, effort)?;
    let mut finder = AutomorphismFinder {
        like: space.refine(space.first_colours(model, &cells)),
        types: &cells.types,
        space: &space,
        elements: Elements::default(),
        others: Vec::new(),
        moved: vec![false; cells.types.len()],
        rules: model.rules.ids().collect(),
        which: Vec::new(),
    };
    for entries in &arrays {
        if watch.check().is_err() {
            return Err("there was no time");
        }
        finder.search(entries);
    }
    finder.finish(model, &cells)
}

/// The arrays among the variables: those of agents first, then those with many or large entries. Where groups of processes are
/// exchanged with what they belong to, those in the groups come before those that they belong to.
fn arrays(model: &Model, cells: &StateCells) -> Vec<PermutedEntries> {
    let mut found: Vec<(bool, u32, PermutedEntries)> = Vec::new();
    for (id, var) in model.vars.enumerate() {
        let Type::Array { index, element } = model.kind(var.ty) else { continue };
        let Some(count) = model.cardinality(*index).filter(|count| (2..=MOST_ENTRIES).contains(count)) else {
            continue;
        };
        let Some(size) = cells.size(*element).filter(|size| *size > 0) else { continue };
        let is_agent = model.agents.iter().any(|agents| agents.var == id);
        let first = (0..count as u32).map(|entry| cells.var(id) + entry * size).collect();
        found.push((is_agent, size, PermutedEntries { name: var.name.clone(), first, size }));
    }
    found.sort_by_key(|(is_agent, size, entries)| (!is_agent, Reverse(entries.first.len()), Reverse(*size)));
    found.into_iter().map(|(.., entries)| entries).collect()
}

struct AutomorphismFinder<'s> {
    space: &'s CellSpace,
    types: &'s [TypeId],
    like: Colours,
    elements: Elements,
    /// Automorphisms that are no mere exchanges of elements.
    others: Vec<Permutation>,
    /// The cells that some automorphism moves.
    moved: Vec<bool>,
    rules: Vec<RuleId>,
    which: Vec<String>,
}

impl AutomorphismFinder<'_> {
    /// Looks for automorphisms that move the entries of an array.
    fn search(&mut self, entries: &PermutedEntries) {
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        let colours = |entry: usize| {
            let range = entries.cells(entry);
            &self.like.cells[range.start as usize..range.end as usize]
        };
        for entry in 0..entries.first.len() {
            match kinds.iter_mut().find(|kind| colours(kind[0]) == colours(entry)) {
                Some(kind) => kind.push(entry),
                None => kinds.push(vec![entry]),
            }
        }
        for kind in kinds {
            let is_moved = |entry: &usize| entries.cells(*entry).any(|cell| self.moved[cell as usize]);
            if kind.len() > 1 && !kind.iter().any(is_moved) {
                self.search_kind(entries, &kind);
            }
        }
    }

    /// Looks for automorphisms that move entries of the same colours.
    fn search_kind(&mut self, entries: &PermutedEntries, kind: &[usize]) {
        let mut classes: Vec<(Vec<usize>, Vec<Permutation>)> = Vec::new();
        for entry in kind {
            let mut swap = None;
            for (at, (members, _)) in classes.iter().enumerate() {
                if let Some(found) = self.swap(entries, members[0], *entry) {
                    swap = Some((at, found));
                    break;
                }
            }
            match swap {
                Some((at, found)) => {
                    classes[at].0.push(*entry);
                    classes[at].1.push(found);
                }
                None => classes.push((vec![*entry], Vec::new())),
            }
        }
        for (members, swaps) in &classes {
            if swaps.is_empty() {
                continue;
            }
            let first = entries.cells(members[0]);
            if !self.elements.add(swaps, &self.space.values, &|cell| first.contains(&cell)) {
                self.others.extend(swaps.iter().cloned());
            } else {
                self.which.push(format!("{} of {} in any order", members.len(), entries.name));
            }
        }
        // Whole classes may be exchanged, or turned.
        let (first, rest) = match classes.split_first() {
            Some((first, rest)) if !rest.is_empty() => (first, rest),
            _ => return,
        };
        let alike = |class: &&(Vec<usize>, Vec<Permutation>)| class.0.len() == first.0.len();
        for class in rest.iter().filter(alike) {
            let pairs = [(first.0[0], class.0[0])];
            self.try_pairs(entries, &pairs);
        }
        for class in rest.iter().filter(alike).skip(1) {
            let pairs = [(first.0[0], first.0[0]), (rest[0].0[0], class.0[0])];
            self.try_pairs(entries, &pairs);
        }
    }

    /// An automorphism that exchanges two entries and leaves the others of the array where they are.
    fn swap(&mut self, entries: &PermutedEntries, left: usize, right: usize) -> Option<Permutation> {
        let others = || (0..entries.first.len()).filter(|entry| *entry != left && *entry != right);
        let mut pairs = vec![(left, right), (right, left)];
        pairs.extend(others().map(|entry| (entry, entry)));
        let found = self.space.candidate(&self.like, &marks(entries, &pairs), true)?;
        let stays =
            others().flat_map(|entry| entries.cells(entry)).all(|cell| found.to[cell as usize] == cell);
        if !stays || !found.then(&found, &self.space.values).is_identity() {
            return None;
        }
        self.prove(&found).then_some(found)
    }

    /// Tries to find an automorphism that takes entries to others.
    fn try_pairs(&mut self, entries: &PermutedEntries, pairs: &[(usize, usize)]) {
        let marks = marks(entries, pairs);
        for lazy in [true, false] {
            let Some(found) = self.space.candidate(&self.like, &marks, lazy) else { continue };
            if self.prove(&found) {
                self.others.push(found);
                return;
            }
        }
    }

    /// Proves that a permutation is an automorphism, and notes what it moves.
    fn prove(&mut self, by: &Permutation) -> bool {
        let Some(matching) = self.space.prove(self.types, by) else { return false };
        for (cell, moved) in self.moved.iter_mut().enumerate() {
            *moved |= by.to[cell] != cell as u32;
        }
        self.join_rules(&matching);
        true
    }

    /// Rules whose steps become each other's are of one class.
    fn join_rules(&mut self, matching: &Matching) {
        for (from, to) in matching.iter().enumerate() {
            let rule = |at: usize| self.rules[self.space.transitions[at].rule.index()];
            let (left, right) = (rule(from), rule(*to));
            if left != right {
                let (least, most) = (left.min(right), left.max(right));
                self.rules.iter_mut().filter(|rule| **rule == most).for_each(|rule| *rule = least);
            }
        }
    }

    fn finish(self, model: &Model, cells: &StateCells) -> Result<Automorphisms, &'static str> {
        let values = &self.space.values;
        let images = self.elements.images(&self.others, values).unwrap_or_default();
        let images: Vec<Image> = images.iter().skip(1).map(|image| image_of(model, cells, image)).collect();
        if self.elements.families.is_empty() && images.is_empty() {
            return Err("nothing was found that can be exchanged");
        }
        let mut which = self.which;
        match images.len() {
            0 => {}
            1 => which.push("1 other".into()),
            count => which.push(format!("{count} others")),
        }
        let code = |cell: u32, value: i64| code(model, cells, cell, value);
        let names = self.elements.names.iter().map(|(cell, named)| {
            let named = named.iter().map(|(value, element, way)| (code(*cell, *value), *element, *way));
            NamingCell { cell: *cell, named: named.collect() }
        });
        let mut given: Vec<(u32, Vec<i64>)> = Vec::new();
        for state in &self.space.before {
            let differs = |cell: &usize| match &values[*cell] {
                CellValues::Some(listed) => !listed.contains(&state[*cell]),
                CellValues::Any => false,
            };
            // A state that could as well come later is treated as those are.
            if let Some(cell) = (0..state.len()).find(differs)
                && let CellValues::Some(listed) = &values[cell]
                && given.iter().all(|(known, _)| *known != cell as u32)
            {
                given.push((cell as u32, listed.iter().map(|value| code(cell as u32, *value)).collect()));
            }
        }
        Ok(Automorphisms {
            names: names.collect(),
            families: self.elements.families,
            blocks: self.elements.blocks,
            images,
            given,
            rules: self.rules,
            which,
        })
    }
}

fn marks(entries: &PermutedEntries, pairs: &[(usize, usize)]) -> Vec<(u32, u32)> {
    pairs.iter().flat_map(|(from, to)| entries.cells(*from).zip(entries.cells(*to))).collect()
}

/// The position of a value in the type of a cell, from 1 on; 0 if it is undefined.
fn code(model: &Model, cells: &StateCells, cell: u32, value: i64) -> i64 {
    match bounds(model, cells.types[cell as usize]) {
        Some((least, _)) if value != UNDEFINED => value.wrapping_sub(least).wrapping_add(1),
        _ => 0,
    }
}

fn image_of(model: &Model, cells: &StateCells, of: &Permutation) -> Image {
    let mut image = Image::default();
    for (cell, to) in of.to.iter().enumerate() {
        if *to != cell as u32 {
            image.moves.push((cell as u32, *to));
        }
        if let Some(renamed) = &of.values[cell] {
            let each = |(from, to): (&i64, &i64)| {
                (code(model, cells, cell as u32, *from), code(model, cells, cell as u32, *to))
            };
            image.renames.push((cell as u32, renamed.iter().map(each).collect()));
        }
    }
    image
}
