//! Permuting a packed state: which bits go where.
//!
//! A permutation moves the contents of cells. Most cells that stand next to each other in the packed form go the same way,
//! so a few masks and shifts for each word do it. A search sees few permutations, again and again: for each, what it
//! moves is worked out once.

use std::{
    collections::{BTreeMap, HashMap},
    hash::BuildHasherDefault,
};

use rustc_hash::FxHasher;
use shoal_code::Layout;

use super::structure::StateStructure;

/// So many parts of permutations are kept in all. Where there are more of them, they are not worked out.
const MOST_PARTS: usize = 1 << 16;

/// Bits that come from one word.
struct WordBits {
    from: u32,
    rotation: u32,
    /// Where they are in the word that they come to.
    mask: u64,
}

/// A word that some bits come to.
struct TargetWord {
    word: u32,
    /// Its own bits that stay.
    kept: u64,
    /// Where its parts end.
    end: u32,
}

/// What a permutation does to packed states.
pub(super) struct Shuffle {
    targets: Vec<TargetWord>,
    parts: Vec<WordBits>,
}

impl Shuffle {
    /// Nothing if cells share bits.
    fn new(structure: &StateStructure, layout: &Layout, permutation: &[u32]) -> Option<Shuffle> {
        let mut masks: BTreeMap<(usize, usize, u32), u64> = BTreeMap::new();
        let mut gone = vec![0; layout.words()];
        for cell in &structure.cells {
            let (at, into) = (cell.at as usize, structure.moved(cell, permutation));
            if at == into {
                continue;
            }
            let ((from, old), (to, new)) = (layout.bits_of(at)?, layout.bits_of(into)?);
            if !layout.stand_alike(at, into) {
                return None;
            }
            if new != 0 {
                let rotation = (new.trailing_zeros() + u64::BITS - old.trailing_zeros()) % u64::BITS;
                *masks.entry((to, from, rotation)).or_default() |= new;
                gone[to] |= new;
            }
        }
        let mut shuffle = Shuffle { targets: Vec::new(), parts: Vec::new() };
        for ((to, from, rotation), mask) in masks {
            shuffle.parts.push(WordBits { from: from as u32, rotation, mask });
            let end = shuffle.parts.len() as u32;
            match shuffle.targets.last_mut().filter(|last| last.word as usize == to) {
                Some(last) => last.end = end,
                None => shuffle.targets.push(TargetWord { word: to as u32, kept: !gone[to], end }),
            }
        }
        Some(shuffle)
    }

    /// Moves the contents of a state. Names stay as they are.
    pub(super) fn apply(&self, state: &[u64], image: &mut [u64]) {
        image.copy_from_slice(state);
        let mut first = 0;
        for TargetWord { word, kept, end } in &self.targets {
            let parts = &self.parts[first..*end as usize];
            let kept = state[*word as usize] & kept;
            image[*word as usize] = parts.iter().fold(kept, |word, part| {
                word | state[part.from as usize].rotate_left(part.rotation) & part.mask
            });
            first = *end as usize;
        }
    }
}

/// The permutations that were met.
#[derive(Default)]
pub(super) struct Shuffles {
    known: HashMap<Box<[u32]>, usize, BuildHasherDefault<FxHasher>>,
    all: Vec<Option<Shuffle>>,
    parts: usize,
}

impl Shuffles {
    /// What a permutation does, and its number, unless it takes too much room to say so.
    pub(super) fn of(
        &mut self,
        structure: &StateStructure,
        layout: &Layout,
        permutation: &[u32],
    ) -> Option<(usize, &Shuffle)> {
        if let Some(number) = self.known.get(permutation) {
            return Some((*number, self.all[*number].as_ref()?));
        }
        if self.parts >= MOST_PARTS {
            return None;
        }
        let shuffle = Shuffle::new(structure, layout, permutation);
        self.parts += 1 + shuffle.as_ref().map_or(0, |shuffle| shuffle.parts.len());
        let number = self.all.len();
        self.known.insert(permutation.into(), number);
        self.all.push(shuffle);
        Some((number, self.all[number].as_ref()?))
    }
}
