//! Permuting a state: which rows of cells go where, and which cells hold names to change.

use super::structure::{Cell, Coordinate, References};

/// Cells in a row that one element alone indexes.
struct Block {
    start: u32,
    len: u32,
    stride: u32,
}

/// A cell that several elements index.
struct Wide {
    at: u32,
    coordinates: (u32, u32),
}

/// What a permutation moves and renames.
#[derive(Default)]
pub(crate) struct Moves {
    /// For each element, the rows of cells that it alone indexes.
    blocks: Vec<Vec<Block>>,
    wide: Vec<Wide>,
    /// For each first element of a sort, the cells that may hold elements of that sort.
    holders: Vec<(u32, Vec<(u32, References)>)>,
}

impl Moves {
    pub(super) fn new(elements: usize) -> Moves {
        Moves { blocks: std::iter::repeat_with(Vec::new).take(elements).collect(), ..Moves::default() }
    }

    /// Adds a cell. Cells are added in order.
    pub(super) fn add(&mut self, cell: &Cell, coordinates: &[Coordinate], references: &[References]) {
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
            _ => self.wide.push(Wide { at: cell.at, coordinates: cell.coordinates }),
        }
    }

    /// Permutes a state: contents move and values are renamed. Multisets are left unsorted.
    pub(super) fn apply(
        &self,
        coordinates: &[Coordinate],
        cells: &[i64],
        permutation: &[u32],
        image: &mut [i64],
    ) {
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
        for cell in &self.wide {
            let mut to = i64::from(cell.at);
            for coordinate in &coordinates[cell.coordinates.0 as usize..cell.coordinates.1 as usize] {
                let moved = i64::from(permutation[coordinate.element as usize]);
                to += (moved - i64::from(coordinate.element)) * i64::from(coordinate.stride);
            }
            image[to as usize] = cells[cell.at as usize];
        }
        // A name stays within its run of codes, so that no other run of the cell changes it again.
        for (first, holders) in &self.holders {
            let count = holders.first().map_or(0, |(_, of)| of.count as usize);
            if (*first..).zip(&permutation[*first as usize..][..count]).all(|(element, to)| element == *to) {
                continue;
            }
            for (at, of) in holders {
                let code = &mut image[*at as usize];
                if let Some(element) = of.element(*code) {
                    *code += i64::from(permutation[element as usize]) - i64::from(element);
                }
            }
        }
    }

    /// Whether the cells that either of two elements alone indexes have the same contents, names taken as they are.
    pub(super) fn same_blocks(&self, cells: &[i64], left: u32, right: u32) -> bool {
        self.blocks[left as usize].iter().all(|block| {
            let (from, len) = (block.start as usize, block.len as usize);
            let other = moved(block, left, right);
            cells[from..from + len] == cells[other..other + len]
        })
    }
}

/// Where a block of one element lies for another.
fn moved(block: &Block, from: u32, to: u32) -> usize {
    let distance = i64::from(to) - i64::from(from);
    (i64::from(block.start) + distance * i64::from(block.stride)) as usize
}
