//! Multisets in a row of cells: their normal form.

use std::{cmp::Ordering, ops::Range, sync::Arc};

use shoal_model::{Model, TypeId};

use crate::layout::{Atom, atoms};

/// A multiset that begins at a cell.
#[derive(Clone)]
pub struct Bag {
    /// The first cell.
    pub base: u32,
    /// How many groups it has.
    pub capacity: u32,
    /// How many cells a group has: the occupied cell and the element.
    pub group: u32,
    /// How to compare each cell of an element; nothing if all codes compare as they are.
    keys: Option<Arc<[Option<Keys>]>>,
}

/// How the codes of a union compare: its members need not be declared in the order of `Value`.
#[derive(Clone)]
pub(crate) struct Keys {
    /// For codes from the first number on, up to the next entry's, what to add to have the order of values.
    shifts: Vec<(u64, i64)>,
}

impl Keys {
    /// The keys of a scalar type; nothing if its codes are in the order of values.
    pub(crate) fn of(model: &Model, ty: TypeId) -> Option<Keys> {
        let atoms = atoms(model, ty);
        let mut sorted: Vec<Atom> = atoms.clone();
        sorted.sort_by_key(|atom| atom.kind);
        if sorted == atoms {
            return None;
        }
        let mut next = 1;
        let mut shifts = Vec::new();
        for atom in sorted {
            shifts.push((atom.first, (next as i64).wrapping_sub(atom.first as i64)));
            next += atom.count;
        }
        shifts.sort_unstable();
        Some(Keys { shifts })
    }

    fn key(&self, code: i64) -> i64 {
        let entry = self.shifts.iter().rev().find(|(first, _)| *first <= code as u64);
        entry.map_or(code, |(_, shift)| code.wrapping_add(*shift))
    }
}

impl Bag {
    pub(crate) fn new(base: u32, capacity: u32, group: u32, keys: Vec<Option<Keys>>) -> Bag {
        let keys = keys.iter().any(Option::is_some).then(|| keys.into());
        Bag { base, capacity, group, keys }
    }

    /// Brings the multiset into normal form: occupied groups first, sorted. Gives the cells among which some were moved.
    pub fn normalise(&self, cells: &mut [i64]) -> Range<usize> {
        let group = self.group as usize;
        let cells = &mut cells[self.base as usize..][..self.capacity as usize * group];
        let (mut least, mut most) = (self.capacity as usize, 0);
        for end in 1..self.capacity as usize {
            let mut at = end;
            // Insertion, group by group: a step changes little, so this is a scan as a rule.
            while at > 0 {
                let (left, right) = cells.split_at_mut(at * group);
                let left = &mut left[(at - 1) * group..];
                let right = &mut right[..group];
                if self.compare(left, right) != Ordering::Greater {
                    break;
                }
                left.swap_with_slice(right);
                at -= 1;
            }
            if at < end {
                (least, most) = (least.min(at), end + 1);
            }
        }
        let first = self.base as usize;
        first + least.min(most) * group..first + most * group
    }

    fn compare(&self, left: &[i64], right: &[i64]) -> Ordering {
        let occupied = right[0].cmp(&left[0]);
        // What is free is all zero.
        if occupied != Ordering::Equal || left[0] == 0 {
            return occupied;
        }
        match &self.keys {
            None => left[1..].iter().map(|code| *code as u64).cmp(right[1..].iter().map(|code| *code as u64)),
            Some(keys) => {
                let key = |(code, keys): (&i64, &Option<Keys>)| match keys {
                    Some(keys) => keys.key(*code) as u64,
                    None => *code as u64,
                };
                left[1..].iter().zip(keys.iter()).map(key).cmp(right[1..].iter().zip(keys.iter()).map(key))
            }
        }
    }

    /// Where its cells are.
    pub fn range(&self) -> Range<usize> {
        let first = self.base as usize;
        first..first + (self.capacity * self.group) as usize
    }
}

/// Brings all the multisets into normal form.
pub fn normalise(bags: &[Bag], cells: &mut [i64]) {
    for bag in bags {
        bag.normalise(cells);
    }
}

/// Brings all the multisets into normal form that are not as in another state, which is in normal form.
pub fn normalise_changed(bags: &[Bag], other: &[i64], cells: &mut [i64]) {
    for bag in bags {
        if cells[bag.range()] != other[bag.range()] {
            bag.normalise(cells);
        }
    }
}
