//! States that were reached a moment ago.
//!
//! Most steps lead to states that are known, and many of them to states that a neighbour has just led to: what two
//! elements do independently of each other can be done in either order. A small table of such states, which fits in
//! the processor's cache, spares them the way through the store. It forgets, but never errs: what it knows was handed
//! to the store before.

use crate::store::hash;

/// For how many states and for how many words of them there is room, so that they stay in the cache.
const SLOTS: usize = 1 << 13;
const WORDS: usize = 1 << 15;

/// Remembers states.
pub(crate) struct Recent {
    words: usize,
    slots: usize,
    states: Vec<u64>,
}

impl Recent {
    /// An empty table for packed states of so many words.
    pub(crate) fn new(words: usize) -> Recent {
        // At first all slots have the zero state, which belongs in one of them; that one has another state, which
        // does not belong there.
        let slots = (WORDS / words).next_power_of_two().clamp(1 << 4, SLOTS);
        let mut recent = Recent { words, slots, states: vec![0; words * slots] };
        let zero = recent.slot(hash(&vec![0; words]));
        let mut other = vec![0; words];
        while recent.slot(hash(&other)) == zero {
            other[0] += 1;
        }
        recent.states[zero * words..][..words].copy_from_slice(&other);
        recent
    }

    /// Whether a state is there; it is then.
    #[inline]
    pub(crate) fn knows(&mut self, state: &[u64], hash: u64) -> bool {
        let slot = self.slot(hash);
        let there = &mut self.states[slot * self.words..][..self.words];
        if state.len() > ALONE {
            let known = there == state;
            there.copy_from_slice(state);
            return known;
        }
        let mut change = 0;
        for (there, word) in there.iter_mut().zip(state) {
            let word = alone(word);
            change |= *there ^ word;
            *there = word;
        }
        change == 0
    }

    /// The same for a state in registers.
    #[inline]
    pub(crate) fn knows_few<const WORDS: usize>(&mut self, state: [u64; WORDS], hash: u64) -> bool {
        let slot = self.slot(hash);
        let there = &mut self.states[slot * WORDS..][..WORDS];
        let known = *there == state;
        there.copy_from_slice(&state);
        known
    }

    #[inline]
    fn slot(&self, hash: u64) -> usize {
        (hash >> 40) as usize & (self.slots - 1)
    }
}

/// States of more words than this are read as a whole: by then it is cheaper to wait; see [`alone`].
pub(crate) const ALONE: usize = 4;

/// A word of a state that native code has just written, word by word, read by itself: if the compiler read two at once,
/// the processor would have to wait until both have reached the cache.
#[inline]
pub(crate) fn alone(word: &u64) -> u64 {
    std::hint::black_box(*word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_knows_nothing_at_first_and_never_errs() {
        let mut recent = Recent::new(1);
        for state in 0..100_000u64 {
            assert!(!recent.knows(&[state], hash(&[state])));
            assert!(recent.knows(&[state], hash(&[state])));
        }
    }
}
