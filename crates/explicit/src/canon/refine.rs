//! Colours of elements, and their refinement.

use super::structure::{Cell, Group, Structure};
use crate::store::fold;

/// An ordered partition of the elements. The colour of an element is the position where its cell begins in
/// `order`, so splitting a cell changes no other colour, and an element alone in its cell keeps its place.
#[derive(Clone, Default)]
pub(super) struct Colouring {
    /// The colour of each element.
    colours: Vec<u32>,
    /// The elements by colour.
    order: Vec<u32>,
    /// How many colours there are.
    count: usize,
}

impl Colouring {
    pub(super) fn new(structure: &Structure) -> Colouring {
        let mut colouring =
            Colouring { colours: vec![0; structure.elements], order: vec![0; structure.elements], count: 0 };
        colouring.reset(structure);
        colouring
    }

    /// One colour for the free elements of each sort, one for each that stays.
    pub(super) fn reset(&mut self, structure: &Structure) {
        self.count = 0;
        for sort in &structure.sorts {
            let mut next = sort.first;
            let mut add = |element: u32, colour: u32| {
                self.colours[element as usize] = colour;
                self.order[next as usize] = element;
                next += 1;
            };
            sort.free.iter().for_each(|element| add(*element, sort.first));
            self.count += usize::from(!sort.free.is_empty()) + sort.pinned.len();
            let free = sort.free.len() as u32;
            for (position, element) in sort.pinned.iter().enumerate() {
                add(*element, sort.first + free + position as u32);
            }
        }
    }

    pub(super) fn is_discrete(&self) -> bool {
        self.count == self.order.len()
    }

    /// Where the cell that begins at a position ends.
    pub(super) fn end(&self, start: usize) -> usize {
        let inside = |element: &&u32| self.colours[**element as usize] == start as u32;
        start + self.order[start..].iter().take_while(inside).count()
    }

    pub(super) fn members(&self, start: usize, end: usize) -> &[u32] {
        &self.order[start..end]
    }

    /// The first of the smallest cells with more than one element.
    pub(super) fn smallest_cell(&self) -> (usize, usize) {
        let mut best = (0, usize::MAX);
        let mut start = 0;
        while start < self.order.len() {
            let end = self.end(start);
            if end - start > 1 && end - start < best.1 - best.0 {
                best = (start, end);
            }
            start = end;
        }
        best
    }

    /// Each element of a cell gets a colour of its own.
    pub(super) fn split_all(&mut self, start: usize, end: usize) {
        for position in start..end {
            self.colours[self.order[position] as usize] = position as u32;
        }
        self.count += end - start - 1;
    }

    /// One element of a cell gets a colour of its own, before the rest.
    pub(super) fn individualise(&mut self, start: usize, end: usize, element: u32) {
        if let Some(position) = self.order[start..end].iter().position(|other| *other == element) {
            self.order.swap(start, start + position);
        }
        for position in start + 1..end {
            self.colours[self.order[position] as usize] = start as u32 + 1;
        }
        self.count += 1;
    }

    /// Where each element goes if elements are put in the order of colours. Those that stay, stay.
    pub(super) fn permutation(&self, structure: &Structure, permutation: &mut [u32]) {
        for sort in &structure.sorts {
            let first = sort.first as usize;
            let ordered = &self.order[first..first + sort.size as usize];
            for (element, place) in ordered.iter().zip(sort.free.iter().chain(&sort.pinned)) {
                permutation[*element as usize] = *place;
            }
        }
    }

    /// Splits every cell by what was accumulated for its elements.
    fn split(&mut self, accumulated: &[u64]) {
        let mut start = 0;
        while start < self.order.len() {
            let end = self.end(start);
            if end - start > 1 {
                self.order[start..end].sort_unstable_by_key(|element| accumulated[*element as usize]);
                let mut colour = start;
                for position in start + 1..end {
                    let (last, element) = (self.order[position - 1], self.order[position]);
                    if accumulated[last as usize] != accumulated[element as usize] {
                        colour = position;
                        self.count += 1;
                    }
                    self.colours[element as usize] = colour as u32;
                }
            }
            start = end;
        }
    }
}

/// Refines a colouring by a state until it is stable.
pub(super) fn refine(
    structure: &Structure,
    cells: &[i64],
    colouring: &mut Colouring,
    accumulated: &mut [u64],
) {
    while !colouring.is_discrete() {
        let before = colouring.count;
        accumulated.fill(0);
        let mut round = Round { structure, cells, colours: &colouring.colours, accumulated };
        structure.cells.iter().for_each(|cell| round.cell(cell));
        structure.groups.iter().for_each(|group| round.group(group));
        colouring.split(accumulated);
        if colouring.count == before || !structure.interacts {
            return;
        }
    }
}

/// One round: for each element, the sum of what all cells say of it.
struct Round<'a> {
    structure: &'a Structure,
    cells: &'a [i64],
    colours: &'a [u32],
    accumulated: &'a mut [u64],
}

const KEY: u64 = 0xe703_7ed1_a0b4_28db;

fn mix(state: u64, word: u64) -> u64 {
    fold(state ^ word.wrapping_mul(KEY), 0x8ebc_6af0_9c88_c6e3 ^ state.rotate_left(23))
}

impl Round<'_> {
    fn colour(&self, element: u32) -> u64 {
        u64::from(self.colours[element as usize]) + 1
    }

    fn add(&mut self, element: u32, word: u64) {
        let sum = &mut self.accumulated[element as usize];
        *sum = sum.wrapping_add(word);
    }

    fn cell(&mut self, cell: &Cell) {
        let code = self.cells[cell.at as usize];
        let coordinates = self.structure.coordinates(cell);
        let value = self.structure.element(cell, code);
        if let ([coordinate], None) = (coordinates, value) {
            return self.add(coordinate.element, mix(cell.salt, code as u64));
        }
        let signature = self.signature(cell, code);
        // Which of the elements are the same one is not told by colours.
        let same = |element: u32| {
            let mut pattern = u64::from(value == Some(element));
            for coordinate in coordinates {
                pattern = pattern << 1 | u64::from(coordinate.element == element);
            }
            pattern
        };
        for (position, coordinate) in coordinates.iter().enumerate() {
            let element = coordinate.element;
            self.add(element, mix(mix(signature, position as u64 + 1), same(element)));
        }
        if let Some(element) = value {
            self.add(element, mix(mix(signature, 0x7f), same(element)));
        }
    }

    /// What a cell says without naming elements.
    fn signature(&self, cell: &Cell, code: i64) -> u64 {
        let value = match self.structure.element(cell, code) {
            Some(element) => mix(0x51, self.colour(element)),
            None => code as u64,
        };
        let coordinates = self.structure.coordinates(cell).iter();
        coordinates
            .fold(mix(cell.salt, value), |state, coordinate| mix(state, self.colour(coordinate.element)))
    }

    fn group(&mut self, group: &Group) {
        if self.cells[group.occupied as usize] == 0 {
            return;
        }
        let structure = self.structure;
        let grouped = &structure.grouped[group.cells.0 as usize..group.cells.1 as usize];
        // The sum over the cells: those of an array over elements have no order.
        let mut whole: u64 = group.salt;
        for (position, cell) in grouped.iter().enumerate() {
            let code = self.cells[cell.at as usize];
            let mut signature = self.signature(cell, code);
            if cell.coordinates.1 - cell.coordinates.0 == cell.outer
                && let Some(element) = structure.element(cell, code)
            {
                signature = mix(signature, self.first_holder(grouped, position, element));
            }
            whole = whole.wrapping_add(mix(signature, 0x33));
        }
        let outer = &structure.coordinates[group.coordinates.0 as usize..group.coordinates.1 as usize];
        for (position, coordinate) in outer.iter().enumerate() {
            self.add(coordinate.element, mix(mix(whole, position as u64 + 1), 0x0f));
        }
        for cell in grouped {
            let code = self.cells[cell.at as usize];
            let signature = mix(whole, self.signature(cell, code));
            if let Some(element) = structure.element(cell, code) {
                self.add(element, mix(signature, 0x7f));
            }
            let inner = structure.coordinates(cell).iter().skip(cell.outer as usize);
            for (position, coordinate) in inner.enumerate() {
                self.add(coordinate.element, mix(signature, position as u64 + 1));
            }
        }
    }

    /// The first cell of a group, among those that no element of the group's arrays indexes, that holds the
    /// same element.
    fn first_holder(&self, grouped: &[Cell], before: usize, element: u32) -> u64 {
        let holds = |cell: &Cell| {
            cell.coordinates.1 - cell.coordinates.0 == cell.outer
                && self.structure.element(cell, self.cells[cell.at as usize]) == Some(element)
        };
        let first = grouped[..before].iter().find(|cell| holds(cell));
        first.map_or(0, |cell| cell.salt)
    }
}
