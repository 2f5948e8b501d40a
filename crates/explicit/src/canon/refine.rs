//! Colours of elements, and their refinement.

use super::{
    facts::{End, StateFacts, mix},
    structure::StateStructure,
};

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
    pub(super) fn new(structure: &StateStructure) -> Colouring {
        let mut colouring =
            Colouring { colours: vec![0; structure.elements], order: vec![0; structure.elements], count: 0 };
        colouring.reset(structure);
        colouring
    }

    /// One colour for the free elements of each sort, one for each that stays.
    pub(super) fn reset(&mut self, structure: &StateStructure) {
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
        let mut end = start + 1;
        while end < self.order.len() && self.colours[self.order[end] as usize] == start as u32 {
            end += 1;
        }
        end
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
    pub(super) fn permutation(&self, structure: &StateStructure, permutation: &mut [u32]) {
        for sort in &structure.sorts {
            let first = sort.first as usize;
            let ordered = &self.order[first..first + sort.size as usize];
            for (element, place) in ordered.iter().zip(sort.free.iter().chain(&sort.pinned)) {
                permutation[*element as usize] = *place;
            }
        }
    }

    /// Splits every cell by what was accumulated for its elements.
    pub(super) fn split(&mut self, accumulated: &[u64]) {
        let mut start = 0;
        while start < self.order.len() {
            let end = self.end(start);
            if end - start > 1 {
                sort(&mut self.order[start..end], |element| accumulated[element as usize]);
                let mut colour = start;
                let mut last = accumulated[self.order[start] as usize];
                for position in start + 1..end {
                    let element = self.order[position] as usize;
                    let here = accumulated[element];
                    if here != last {
                        (colour, last) = (position, here);
                        self.count += 1;
                    }
                    self.colours[element] = colour as u32;
                }
            }
            start = end;
        }
    }
}

/// Sorts elements by what was accumulated. They are few and almost in order as a rule: one step was made from a
/// state whose elements were.
pub(super) fn sort(elements: &mut [u32], accumulated: impl Fn(u32) -> u64) {
    if elements.len() > 16 {
        return elements.sort_unstable_by_key(|element| accumulated(*element));
    }
    for end in 1..elements.len() {
        let element = elements[end];
        let key = accumulated(element);
        let mut at = end;
        while at > 0 && accumulated(elements[at - 1]) > key {
            elements[at] = elements[at - 1];
            at -= 1;
        }
        elements[at] = element;
    }
}

/// How often what is known of elements is passed on before cells are split by it. Sorting costs more than passing on,
/// and along a chain each round tells one element more apart.
pub(super) const ROUNDS: usize = 4;

/// Room for what is known of elements while a colouring is refined.
pub(super) struct Rounds {
    known: Vec<u64>,
    told: Vec<u64>,
    /// What was said of each element alone, and what it is ordered by.
    alone: Vec<u64>,
    keys: Vec<u64>,
}

impl Rounds {
    pub(super) fn new(elements: usize) -> Rounds {
        let none = || vec![0; elements];
        Rounds { known: none(), told: none(), alone: none(), keys: none() }
    }

    /// This is said of each element alone, and it is ordered by that first.
    pub(super) fn begin_with(&mut self, sums: &[u64]) {
        self.known.copy_from_slice(sums);
        self.alone.copy_from_slice(sums);
        self.keys.copy_from_slice(sums);
    }

    /// What elements are ordered by: what they have themselves, and then all that is known of them.
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Elements tell each other what is known of them, and are ordered by that.
    pub(super) fn pass_on_and_order(&mut self, facts: &StateFacts) {
        self.pass_on(facts);
        for ((key, alone), known) in self.keys.iter_mut().zip(&self.alone).zip(&self.known) {
            *key = alone >> u32::BITS << u32::BITS | known >> u32::BITS;
        }
    }

    /// This is said of each element alone.
    pub(super) fn begin(&mut self, alone: impl Iterator<Item = u64>) {
        self.known.iter_mut().zip(alone).for_each(|(known, alone)| *known = alone);
    }

    /// What is known of each element and of those around it, where this is said of each alone.
    pub(super) fn around(&mut self, facts: &StateFacts, alone: impl Iterator<Item = u64>) -> &[u64] {
        self.begin(alone);
        (0..ROUNDS).for_each(|_| self.pass_on(facts));
        &self.known
    }

    /// Elements tell each other what is known of them.
    pub(super) fn pass_on(&mut self, facts: &StateFacts) {
        let Rounds { known, told, .. } = self;
        told.fill(0);
        for pair in &facts.pairs {
            let (owner, value) = (pair.owner as usize, pair.value as usize);
            let (of_owner, of_value) = pair.says(known[owner], known[value]);
            told[owner] = told[owner].wrapping_add(of_owner);
            told[value] = told[value].wrapping_add(of_value);
        }
        for (word, ends) in facts.ties() {
            let says = |end: &End| mix(end.part, known[end.element as usize]);
            let whole = ends.iter().fold(word, |whole, end| whole.wrapping_add(says(end)));
            for end in ends {
                let sum = &mut told[end.element as usize];
                *sum = sum.wrapping_add(mix(whole, end.part));
            }
        }
        for (known, told) in known.iter_mut().zip(told) {
            *known = known.rotate_left(17).wrapping_mul(SPREAD).wrapping_add(*told);
        }
    }
}

const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Refines a colouring by the ties of a state until it is stable. Tells whether that did anything.
pub(super) fn refine(facts: &StateFacts, colouring: &mut Colouring, rounds: &mut Rounds) -> bool {
    let at_first = colouring.count;
    while !colouring.is_discrete() {
        let before = colouring.count;
        let colours = colouring.colours.iter().map(|colour| u64::from(*colour).wrapping_mul(SPREAD));
        let known = rounds.around(facts, colours);
        colouring.split(known);
        if colouring.count == before {
            break;
        }
    }
    colouring.count > at_first
}
