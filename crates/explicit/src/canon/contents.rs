//! What multisets say of elements, and what becomes of them when elements are permuted, by their contents.
//!
//! A search sees few contents of a multiset, again and again: messages that wait for one node. What each says is worked out
//! once, and so is what becomes of it under a permutation. What is remembered is known by all bits of the multiset, so it is exact.

use std::ops::Range;

use shoal_code::Layout;

use super::{
    facts::StateFacts,
    structure::{Codes, StateStructure},
};
use crate::store::hash;

/// The bits of a multiset: words of the packed form, and its bits in each.
struct BagBits {
    words: Vec<(u32, u64)>,
}

/// What is remembered of contents.
#[derive(Default)]
pub(super) struct BagContents {
    /// The multisets that have to do with elements, unless nothing can be remembered of them.
    bags: Vec<BagBits>,
    /// All their bits, by word.
    mask: Vec<u64>,
    statements: WordMemo,
    images: WordMemo,
    key: Vec<u64>,
    /// Room to listen, to speak, and to pack.
    facts: StateFacts,
    said: Vec<u64>,
    packed: Vec<u64>,
}

impl BagContents {
    /// Nothing is remembered if cells share bits, or if a multiset is within another.
    pub(super) fn new(structure: &StateStructure, layout: &Layout) -> BagContents {
        let mut mask = vec![0; layout.words()];
        let nested = structure.bags.len() != structure.outer.len();
        let bags: Option<Vec<BagBits>> =
            structure.outer.iter().map(|bag| bits(layout, bag.cells())).collect();
        let Some(bags) = bags.filter(|_| !nested) else { return BagContents::default() };
        for (word, bits) in bags.iter().flat_map(|bag| &bag.words) {
            mask[*word as usize] |= bits;
        }
        let longest = bags.iter().map(|bag| bag.words.len()).max().unwrap_or(0);
        BagContents {
            bags,
            mask,
            statements: WordMemo::new(1 + longest),
            images: WordMemo::new(1 + longest),
            key: vec![0; 1 + longest],
            facts: StateFacts::new(structure.elements),
            said: Vec::new(),
            packed: vec![0; layout.words()],
        }
    }

    /// How many multisets there are of which contents are remembered.
    pub(super) fn count(&self) -> usize {
        self.bags.len()
    }

    /// The bits of a word that belong to these.
    #[inline]
    pub(super) fn mask(&self, word: usize) -> u64 {
        self.mask.get(word).copied().unwrap_or(0)
    }

    /// Visits those in which two packed states differ.
    #[inline]
    pub(super) fn each_difference(&self, left: &[u64], right: &[u64], mut visit: impl FnMut(usize)) {
        for (number, bag) in self.bags.iter().enumerate() {
            let differs =
                |(word, mask): &(u32, u64)| (left[*word as usize] ^ right[*word as usize]) & mask != 0;
            if bag.words.iter().any(differs) {
                visit(number);
            }
        }
    }

    /// What a multiset says, as [`StateFacts::repeat`] reads it, where that is remembered: of a state of which the packed form is known.
    #[inline]
    pub(super) fn statement<C: Codes>(
        &mut self,
        structure: &StateStructure,
        bag: usize,
        cells: C,
    ) -> Option<&[u64]> {
        let (words, place) = (cells.words()?, self.bags.get(bag)?);
        if !place.fill(words, bag as u64, &mut self.key) {
            return Some(&[]);
        }
        let found = self.statements.find(&self.key).unwrap_or_else(|| {
            self.facts.said_by_bag(structure, bag, cells, &mut self.said);
            self.statements.add(&self.key, &self.said)
        });
        self.statements.records.get(found)
    }

    /// Takes the multisets out of a packed state.
    pub(super) fn take_out(&self, words: &mut [u64]) {
        words.iter_mut().zip(&self.mask).for_each(|(word, mask)| *word &= !mask);
    }

    /// Puts what becomes of a multiset of a state under the permutation with a number into its image, where there are no multisets
    /// yet. False if that is not remembered.
    #[inline]
    pub(super) fn put_image(&mut self, bag: usize, number: usize, state: &[u64], words: &mut [u64]) -> bool {
        if !self.bags[bag].fill(state, (number * self.bags.len() + bag) as u64, &mut self.key) {
            return true;
        }
        let Some(found) = self.images.find(&self.key) else { return false };
        let [target, image @ ..] = &self.images.records[found] else { return false };
        for ((word, _), bits) in self.bags[*target as usize].words.iter().zip(image) {
            words[*word as usize] |= bits;
        }
        true
    }

    /// Remembers the image that was asked for last: of the multiset that became another one in the image of its state.
    #[cold]
    pub(super) fn remember(
        &mut self,
        layout: &Layout,
        (target, cells): (usize, Range<usize>),
        image: &[i64],
        words: &mut [u64],
    ) {
        self.packed.fill(0);
        cells.for_each(|cell| layout.add(&mut self.packed, cell, image[cell]));
        self.said.clear();
        self.said.push(target as u64);
        for (word, _) in &self.bags[target].words {
            let bits = self.packed[*word as usize];
            self.said.push(bits);
            words[*word as usize] |= bits;
        }
        self.images.add(&self.key, &self.said);
    }
}

impl BagBits {
    /// What a multiset is known by, in some role; false if it is empty.
    #[inline]
    fn fill(&self, words: &[u64], role: u64, key: &mut [u64]) -> bool {
        key[0] = role;
        let mut any = 0;
        for (place, (word, mask)) in key[1..].iter_mut().zip(&self.words) {
            *place = words[*word as usize] & mask;
            any |= *place;
        }
        key[1 + self.words.len()..].fill(0);
        any != 0
    }
}

/// The bits of some cells; nothing if they share them with others, or if an empty cell is not 0 there.
fn bits(layout: &Layout, cells: Range<usize>) -> Option<BagBits> {
    let mut words: Vec<(u32, u64)> = Vec::new();
    for cell in cells {
        let place = layout.place_of(cell).filter(|place| place.may_be_undefined())?;
        let (word, bits) = place.bits();
        match words.last_mut().filter(|(last, _)| *last as usize == word) {
            Some((_, mask)) => *mask |= bits,
            None => words.push((word as u32, bits)),
        }
    }
    Some(BagBits { words })
}

/// Words by words, in little room: what is remembered lies beside what it is known by. It forgets, but never errs.
#[derive(Default)]
struct WordMemo {
    /// Where the record of a hash is, and one more; or 0.
    slots: Vec<u32>,
    /// The key of each record, how many words are remembered, and these.
    records: Vec<u64>,
    count: usize,
    key: usize,
}

/// Slots at first and at most, of which a quarter are in use before there are more; and words of all records. Few in debug builds, so
/// that tests see how it forgets.
const FEW_SLOTS: usize = if cfg!(debug_assertions) { 1 << 2 } else { 1 << 8 };
const MOST_SLOTS: usize = if cfg!(debug_assertions) { 1 << 5 } else { 1 << 15 };
const MOST_WORDS: usize = if cfg!(debug_assertions) { 1 << 9 } else { 1 << 18 };

impl WordMemo {
    /// For keys of so many words.
    fn new(key: usize) -> WordMemo {
        WordMemo { slots: vec![0; FEW_SLOTS], records: Vec::new(), count: 0, key }
    }

    #[inline]
    fn slot(&self, key: &[u64]) -> usize {
        hash(key) as usize & (self.slots.len() - 1)
    }

    /// Where that is which is remembered for a key.
    #[inline]
    fn find(&self, key: &[u64]) -> Option<Range<usize>> {
        let at = self.slots[self.slot(key)].checked_sub(1)? as usize;
        let record = &self.records[at..];
        let first = at + self.key + 1;
        let same =
            record[..self.key].iter().zip(key).fold(0, |change, (there, here)| change | (there ^ here)) == 0;
        same.then(|| first..first + record[self.key] as usize)
    }

    fn add(&mut self, key: &[u64], remembered: &[u64]) -> Range<usize> {
        let crowded = 4 * self.count >= self.slots.len() && self.slots.len() < MOST_SLOTS;
        if crowded || self.records.len() + self.key + 1 + remembered.len() > MOST_WORDS {
            let slots = if crowded { 2 * self.slots.len() } else { self.slots.len() };
            self.slots.clear();
            self.slots.resize(slots, 0);
            self.records.clear();
            self.count = 0;
        }
        let slot = self.slot(key);
        self.slots[slot] = self.records.len() as u32 + 1;
        self.records.extend_from_slice(key);
        self.records.push(remembered.len() as u64);
        self.records.extend_from_slice(remembered);
        self.count += 1;
        self.records.len() - remembered.len()..self.records.len()
    }
}
