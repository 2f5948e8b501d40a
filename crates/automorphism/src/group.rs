//! The group that proved permutations make, in the form in which representatives are found fast.
//!
//! Where every two of some parts may be exchanged, alone, they are the *elements* of a family: each has cells, in the same
//! order as the others, and values of other cells name it. All orders of the elements make up a group. What else there is (a
//! ring turned, two groups of parts exchanged as a whole) is a list of *images*: every member of the whole group is one of
//! them and then a new order of elements. So the least of the representatives of all images of a state, by the order of
//! elements, is one for the whole group.

use std::{collections::BTreeMap, ops::Range};

use crate::{prove::Permutation, run::CellValues};

/// A cell whose values may name elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamingCell {
    /// The cell.
    pub cell: u32,
    /// Values, the element that each names, and in which of several ways.
    pub named: Vec<(i64, u32, u32)>,
}

/// The elements of all families, and what names them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elements {
    pub(crate) families: Vec<Range<usize>>,
    /// The cells of each element.
    pub(crate) blocks: Vec<Vec<u32>>,
    pub(crate) names: BTreeMap<u32, Vec<(i64, u32, u32)>>,
}

/// More images are not made of each state.
const MOST_IMAGES: usize = 128;

impl Elements {
    /// Adds a family: an element, and the permutations that exchange it with each of the others. Not if these are no
    /// mere exchanges of cells and names.
    pub(crate) fn add(
        &mut self,
        swaps: &[Permutation],
        values: &[CellValues],
        is_first: &dyn Fn(u32) -> bool,
    ) -> bool {
        let Some(more) = self.with(swaps, values, is_first) else { return false };
        // Each exchange must be what the elements say, now that all are known.
        let first = more.families.last().map_or(0, |family| family.start);
        let says = |(at, swap): (usize, &Permutation)| {
            let mut order: Vec<u32> = (0..more.blocks.len() as u32).collect();
            order.swap(first, first + 1 + at);
            more.permutation(&order, values).as_ref() == Some(swap)
        };
        if !swaps.iter().enumerate().all(says) || !more.is_uniform() {
            return false;
        }
        *self = more;
        true
    }

    fn with(
        &self,
        swaps: &[Permutation],
        values: &[CellValues],
        is_first: &dyn Fn(u32) -> bool,
    ) -> Option<Elements> {
        let cells = values.len() as u32;
        // The element that something belongs to, by the exchanges that move it.
        let element = |moved: Vec<usize>, lesser: bool| match (moved.as_slice(), swaps.len()) {
            ([], _) => Some(None),
            ([_], 1) => Some(Some(if lesser { 0 } else { 1 })),
            ([one], _) => Some(Some(one + 1)),
            (all, count) if all.len() == count => Some(Some(0)),
            _ => None,
        };
        let moved = |moves: &dyn Fn(&Permutation) -> bool| -> Vec<usize> {
            (0..swaps.len()).filter(|at| moves(&swaps[*at])).collect()
        };
        let mut first: Vec<u32> = Vec::new();
        let mut of_cell: Vec<Option<usize>> = Vec::new();
        for cell in 0..cells {
            let to = swaps[0].to[cell as usize];
            let lesser = is_first(cell) || !is_first(to) && cell < to;
            let of = element(moved(&|swap| swap.to[cell as usize] != cell), lesser)?;
            of_cell.push(of);
            if of == Some(0) {
                first.push(cell);
            }
        }
        let known = |cell: &u32| self.blocks.iter().any(|block| block.contains(cell));
        let mut made = self.clone();
        let start = made.blocks.len();
        made.blocks.push(first.clone());
        for swap in swaps {
            made.blocks.push(first.iter().map(|cell| swap.to[*cell as usize]).collect());
        }
        made.families.push(start..made.blocks.len());
        if first.is_empty() || made.blocks[start..].iter().flatten().any(known) {
            return None;
        }
        for cell in (0..cells).filter(|cell| matches!(of_cell[*cell as usize], None | Some(0))) {
            let CellValues::Some(listed) = &values[cell as usize] else { continue };
            let mut named: Vec<(i64, u32, u32)> = Vec::new();
            let mut ways = 0;
            for value in listed.iter() {
                let image = swaps[0].value(cell, *value);
                let of = element(moved(&|swap| swap.value(cell, *value) != *value), *value < image)?;
                if of == Some(0) {
                    named.push((*value, start as u32, ways));
                    for (at, swap) in swaps.iter().enumerate() {
                        named.push((swap.value(cell, *value), (start + 1 + at) as u32, ways));
                    }
                    ways += 1;
                }
            }
            if named.is_empty() {
                continue;
            }
            // What one element's cell names, those of the others name in the same way.
            let row: Vec<u32> = match first.iter().position(|it| *it == cell) {
                Some(slot) => made.blocks[start..].iter().map(|block| block[slot]).collect(),
                None => vec![cell],
            };
            for cell in row {
                let known = made.names.entry(cell).or_default();
                if named.iter().any(|(value, ..)| known.iter().any(|(other, ..)| other == value)) {
                    return None;
                }
                known.extend(&named);
                known.sort_unstable();
            }
        }
        Some(made)
    }

    /// Whether the cells that elements of a family have in the same place name alike.
    fn is_uniform(&self) -> bool {
        self.families.iter().all(|family| {
            let first = &self.blocks[family.start];
            (0..first.len()).all(|slot| {
                let names = |element: usize| self.names.get(&self.blocks[element][slot]);
                family.clone().all(|element| names(element) == names(family.start))
            })
        })
    }

    /// What a new order of elements does to cells and values; nothing if a value has no image.
    fn permutation(&self, order: &[u32], values: &[CellValues]) -> Option<Permutation> {
        let mut found = Permutation::identity(values.len());
        for (element, block) in self.blocks.iter().enumerate() {
            let to = &self.blocks[order[element] as usize];
            block.iter().zip(to).for_each(|(from, to)| found.to[*from as usize] = *to);
        }
        for (cell, named) in &self.names {
            let CellValues::Some(listed) = &values[*cell as usize] else { return None };
            let mut renamed = BTreeMap::new();
            for value in listed.iter() {
                let to = match named.iter().find(|(name, ..)| name == value) {
                    Some((_, element, way)) => {
                        let to = order[*element as usize];
                        named.iter().find(|(_, it, its)| (*it, *its) == (to, *way))?.0
                    }
                    None => *value,
                };
                renamed.insert(*value, to);
            }
            if renamed.iter().any(|(from, to)| from != to) {
                found.values[*cell as usize] = Some(renamed);
            }
        }
        Some(found)
    }

    /// Whether a permutation is nothing but a new order of elements.
    fn reorders(&self, by: &Permutation, values: &[CellValues]) -> bool {
        let mut order: Vec<u32> = Vec::new();
        for family in &self.families {
            for element in family.clone() {
                let to = by.to[self.blocks[element][0] as usize];
                match family.clone().find(|other| self.blocks[*other][0] == to) {
                    Some(other) => order.push(other as u32),
                    None => return false,
                }
            }
        }
        self.permutation(&order, values).as_ref() == Some(by)
    }

    /// The images that are needed beside new orders of elements to make the whole group, the identity first; nothing if
    /// there are too many.
    pub(crate) fn images(
        &self,
        generators: &[Permutation],
        values: &[CellValues],
    ) -> Option<Vec<Permutation>> {
        let mut found = vec![Permutation::identity(values.len())];
        let mut inverses = vec![found[0].clone()];
        let mut at = 0;
        while at < found.len() {
            for generator in generators {
                let new = generator.then(&found[at], values);
                if inverses.iter().any(|inverse| self.reorders(&inverse.then(&new, values), values)) {
                    continue;
                }
                if found.len() == MOST_IMAGES {
                    return None;
                }
                inverses.push(inverse(&new, values));
                found.push(new);
            }
            at += 1;
        }
        Some(found)
    }
}

fn inverse(of: &Permutation, values: &[CellValues]) -> Permutation {
    let mut found = Permutation::identity(values.len());
    for (cell, to) in of.to.iter().enumerate() {
        found.to[*to as usize] = cell as u32;
        found.values[*to as usize] =
            of.values[cell].as_ref().map(|renamed| renamed.iter().map(|(from, to)| (*to, *from)).collect());
    }
    found
}
