//! Permuting a state: which rows of cells go where, and which cells hold names to change.

use std::collections::{HashMap, HashSet};

use shoal_code::Layout;

use super::structure::{Coordinate, ElementCell, References};

/// So many cells are compared at a time.
const ROW: usize = 8;

/// Cells in a row that one element alone indexes.
struct Block {
    start: u32,
    len: u32,
    stride: u32,
}

/// Single cells, one for each element of a row of elements: the first lies at `start`, the next `stride` further.
struct Column {
    start: u32,
    stride: u32,
    /// The first element.
    first: u32,
    count: u32,
    /// The elements that they may hold, if these are of one sort.
    of: Option<References>,
}

impl Column {
    /// Where the cell of an element lies.
    fn at(&self, element: u32) -> usize {
        let distance = i64::from(element) - i64::from(self.first);
        (i64::from(self.start) + distance * i64::from(self.stride)) as usize
    }

    fn goes_on(&self, element: u32, start: u32, stride: u32, of: Option<References>) -> bool {
        (element, stride, of) == (self.first + self.count, self.stride, self.of)
            && start as usize == self.at(element)
    }

    /// Moves the cells, and renames what they hold.
    fn apply(&self, cells: &[i64], permutation: &[u32], image: &mut [i64]) {
        if stay(permutation, self.first, self.count)
            && self.of.is_none_or(|of| stay(permutation, of.element, of.count as u32))
        {
            return;
        }
        let elements = self.first as usize..(self.first + self.count) as usize;
        let from = cells[self.start as usize..].iter().step_by(self.stride as usize);
        let moves = permutation[elements].iter().zip(from);
        match self.of {
            None => moves.for_each(|(to, code)| image[self.at(*to)] = *code),
            Some(of) => moves.for_each(|(to, code)| image[self.at(*to)] = of.renamed(*code, permutation)),
        }
    }
}

/// Cells in a row that the same elements index, several of them.
struct Wide {
    at: u32,
    len: u32,
    coordinates: Box<[Coordinate]>,
}

impl Wide {
    /// How far its cells go.
    fn distance(&self, permutation: &[u32]) -> i64 {
        let distance = |coordinate: &Coordinate| {
            let moved = i64::from(permutation[coordinate.element as usize]);
            (moved - i64::from(coordinate.element)) * i64::from(coordinate.stride)
        };
        self.coordinates.iter().map(distance).sum()
    }
}

/// What a permutation moves and renames.
#[derive(Default)]
pub(crate) struct Moves {
    /// For each element, the rows of cells that it alone indexes, but for single ones.
    blocks: Vec<Vec<Block>>,
    /// The single ones.
    columns: Vec<Column>,
    wide: Vec<Wide>,
    /// For each first element of a sort, the cells that may hold elements of that sort.
    holders: Vec<(u32, Vec<(u32, References)>)>,
}

impl Moves {
    pub(super) fn new(elements: usize) -> Moves {
        Moves { blocks: std::iter::repeat_with(Vec::new).take(elements).collect(), ..Moves::default() }
    }

    /// Adds a cell. Cells are added in order.
    pub(super) fn add(&mut self, cell: &ElementCell, coordinates: &[Coordinate], references: &[References]) {
        for of in references {
            match self.holders.iter_mut().find(|(first, _)| *first == of.element) {
                Some((_, holders)) => holders.push((cell.at, *of)),
                None => self.holders.push((of.element, vec![(cell.at, *of)])),
            }
        }
        match coordinates {
            [] => {}
            [coordinate] => {
                let blocks = &mut self.blocks[coordinate.element as usize];
                match blocks.last_mut() {
                    Some(last) if last.start + last.len == cell.at && last.stride == coordinate.stride => {
                        last.len += 1;
                    }
                    _ => blocks.push(Block { start: cell.at, len: 1, stride: coordinate.stride }),
                }
            }
            _ => match self.wide.last_mut() {
                Some(last) if last.at + last.len == cell.at && *last.coordinates == *coordinates => {
                    last.len += 1;
                }
                _ => self.wide.push(Wide { at: cell.at, len: 1, coordinates: coordinates.into() }),
            },
        }
    }

    /// After the last cell: finds the columns. Their cells, if what they hold is of one sort, are no holders any more.
    pub(super) fn finish(&mut self) {
        let mut held: HashMap<u32, Vec<References>> = HashMap::new();
        for (at, of) in self.holders.iter().flat_map(|(_, holders)| holders) {
            held.entry(*at).or_default().push(*of);
        }
        let mut single: Vec<(u32, Block)> = Vec::new();
        for (blocks, element) in self.blocks.iter_mut().zip(0..) {
            single.extend(blocks.extract_if(.., |block| block.len == 1).map(|block| (element, block)));
        }
        let base = |element: u32, block: &Block| {
            i64::from(block.start) - i64::from(element) * i64::from(block.stride)
        };
        single.sort_by_key(|(element, block)| (base(*element, block), block.stride, *element));
        let mut renamed = HashSet::new();
        for (element, Block { start, stride, .. }) in single {
            let of = match held.get(&start).map(Vec::as_slice) {
                Some([of]) => Some(*of),
                _ => None,
            };
            if of.is_some() {
                renamed.insert(start);
            }
            match self.columns.last_mut() {
                Some(last) if last.goes_on(element, start, stride, of) => last.count += 1,
                _ => self.columns.push(Column { start, stride, first: element, count: 1, of }),
            }
        }
        self.holders.iter_mut().for_each(|(_, holders)| holders.retain(|(at, _)| !renamed.contains(at)));
    }

    /// Permutes a state: contents move and values are renamed. Multisets are left unsorted.
    pub(super) fn apply(&self, cells: &[i64], permutation: &[u32], image: &mut [i64]) {
        image.copy_from_slice(cells);
        for (element, (to, blocks)) in permutation.iter().zip(&self.blocks).enumerate() {
            if element as u32 == *to {
                continue;
            }
            for block in blocks {
                let from = block.start as usize;
                let into = moved(block, element as u32, *to);
                let len = block.len as usize;
                if len == 1 {
                    image[into] = cells[from];
                } else {
                    image[into..into + len].copy_from_slice(&cells[from..from + len]);
                }
            }
        }
        self.columns.iter().for_each(|column| column.apply(cells, permutation, image));
        for wide in &self.wide {
            let distance = wide.distance(permutation);
            if distance != 0 {
                let (from, len) = (wide.at as usize, wide.len as usize);
                let into = (i64::from(wide.at) + distance) as usize;
                image[into..into + len].copy_from_slice(&cells[from..from + len]);
            }
        }
        // A name stays within its run of codes, so that no other run of the cell changes it again.
        for (first, holders) in &self.holders {
            let count = holders.first().map_or(0, |(_, of)| of.count as usize);
            if stay(permutation, *first, count as u32) {
                continue;
            }
            for (at, of) in holders {
                let code = &mut image[*at as usize];
                *code = of.renamed(*code, permutation);
            }
        }
    }

    /// Moves contents in the packed form of a state without multisets. Names stay as they are.
    pub(super) fn apply_packed(
        &self,
        layout: &Layout,
        cells: &[i64],
        permutation: &[u32],
        words: &mut [u64],
    ) {
        let mut put = |from: usize, into: usize, len: usize| {
            let rows = cells[from..from + len].chunks(ROW).zip(cells[into..into + len].chunks(ROW));
            for ((new, old), start) in rows.zip((into..).step_by(ROW)) {
                // Most cells of two elements are alike: several are compared at a time.
                if new.iter().zip(old).fold(0, |all, (new, old)| all | (new ^ old)) == 0 {
                    continue;
                }
                for ((new, old), cell) in new.iter().zip(old).zip(start..) {
                    if new != old {
                        layout.add(words, cell, new.wrapping_sub(*old));
                    }
                }
            }
        };
        for (element, (to, blocks)) in permutation.iter().zip(&self.blocks).enumerate() {
            if element as u32 != *to {
                for block in blocks {
                    put(block.start as usize, moved(block, element as u32, *to), block.len as usize);
                }
            }
        }
        for column in &self.columns {
            for element in column.first..column.first + column.count {
                let to = permutation[element as usize];
                if element != to {
                    put(column.at(element), column.at(to), 1);
                }
            }
        }
        for wide in &self.wide {
            let distance = wide.distance(permutation);
            if distance != 0 {
                put(wide.at as usize, (i64::from(wide.at) + distance) as usize, wide.len as usize);
            }
        }
    }

    /// Whether the cells that either of two elements alone indexes have the same contents, names taken as they are.
    pub(super) fn same_blocks(&self, cells: &[i64], left: u32, right: u32) -> bool {
        let same = |column: &Column| {
            left.wrapping_sub(column.first) >= column.count
                || cells[column.at(left)] == cells[column.at(right)]
        };
        self.columns.iter().all(same)
            && self.blocks[left as usize].iter().all(|block| {
                let (from, len) = (block.start as usize, block.len as usize);
                let other = moved(block, left, right);
                cells[from..from + len] == cells[other..other + len]
            })
    }
}

/// Whether a permutation leaves so many elements from one on where they are.
fn stay(permutation: &[u32], first: u32, count: u32) -> bool {
    (first..).zip(&permutation[first as usize..][..count as usize]).all(|(element, to)| element == *to)
}

/// Where a block of one element lies for another.
fn moved(block: &Block, from: u32, to: u32) -> usize {
    let distance = i64::from(to) - i64::from(from);
    (i64::from(block.start) + distance * i64::from(block.stride)) as usize
}
