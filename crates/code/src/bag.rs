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

    /// Brings the multiset into normal form: occupied groups first, sorted.
    pub fn normalise(&self, cells: &mut [i64]) {
        self.sort(cells, 0..self.capacity as usize);
    }

    /// The same, where only cells among these are not as in another state, which is in normal form. Gives the cells among which some
    /// were moved.
    pub(crate) fn normalise_changed(
        &self,
        changed: Range<usize>,
        before: &[i64],
        cells: &mut [i64],
    ) -> Range<usize> {
        let own = self.range();
        let (first, end) = (changed.start.clamp(own.start, own.end), changed.end.clamp(own.start, own.end));
        let (old, new) = (&before[first..end], &cells[first..end]);
        // Mostly all are as they were, or the first is not.
        if old == new {
            return own.start..own.start;
        }
        let differ = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let group_of = |cell: usize| ((cell - own.start) as u32 / self.group) as usize;
        self.sort(cells, group_of(first + differ)..group_of(end - 1) + 1)
    }

    /// Sorts groups of which those outside some are in order among each other. Gives the cells among which some were moved.
    fn sort(&self, cells: &mut [i64], changed: Range<usize>) -> Range<usize> {
        let group = self.group as usize;
        let cells = &mut cells[self.base as usize..][..self.capacity as usize * group];
        let (mut least, mut most) = (self.capacity as usize, 0);
        for end in changed.start.max(1)..self.capacity as usize {
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
            } else if end >= changed.end {
                // It stands after the changed ones, and so do those behind it.
                break;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A number below one, at random.
    fn below(seed: &mut u64, limit: u64) -> u64 {
        *seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (*seed >> 33) % limit
    }

    /// Whatever is taken away, added or changed: sorting from the first change on is sorting.
    #[test]
    fn what_has_changed_is_sorted_as_all_is() {
        let (group, base, mut seed) = (3, 2, 1);
        for _ in 0..20_000 {
            let capacity = 1 + below(&mut seed, 6) as u32;
            let bag = Bag::new(base, capacity, group, vec![None; group as usize - 1]);
            let mut before = vec![0; bag.range().end + 1];
            let fill = |cells: &mut [i64], seed: &mut u64| {
                let occupied = below(seed, 2) as i64;
                cells[0] = occupied;
                cells[1..].iter_mut().for_each(|cell| *cell = occupied * below(seed, 3) as i64);
            };
            before[bag.range()].chunks_mut(group as usize).for_each(|cells| fill(cells, &mut seed));
            bag.normalise(&mut before);
            let mut cells = before.clone();
            let changes = below(&mut seed, 3);
            for _ in 0..changes {
                let first =
                    bag.range().start + (below(&mut seed, capacity.into()) * u64::from(group)) as usize;
                fill(&mut cells[first..first + group as usize], &mut seed);
            }
            let differ = |cell: &usize| cells[*cell] != before[*cell];
            let first = (0..cells.len()).find(differ).unwrap_or(0);
            let end = (0..cells.len()).rfind(differ).map_or(0, |last| last + 1);
            let (mut all, unsorted) = (cells.clone(), cells.clone());
            bag.normalise(&mut all);
            let moved = bag.normalise_changed(first..end.max(first), &before, &mut cells);
            assert_eq!(cells, all, "{before:?}, then {unsorted:?}");
            let mut others = (0..cells.len()).filter(|cell| !moved.contains(cell));
            assert!(others.all(|cell| cells[cell] == unsorted[cell]), "{moved:?} of {unsorted:?}");
        }
    }
}
