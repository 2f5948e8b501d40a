//! States that were reached a moment ago.
//!
//! Most steps lead to states that are known, and many of them to states that a neighbour has just led to: what two
//! elements do independently of each other can be done in either order. A small table of such states, which fits in
//! the processor's cache, spares them the way through the store. It forgets, but never errs: what it knows was handed
//! to the store before.

use crate::store::hash;

/// How many states there is room for.
const SLOTS: usize = 1 << 13;

/// Remembers states.
pub(crate) struct Recent {
    words: usize,
    states: Vec<u64>,
}

impl Recent {
    /// An empty table for packed states of so many words.
    pub(crate) fn new(words: usize) -> Recent {
        // At first all slots have the zero state, which belongs in one of them; that one has another state, which
        // does not belong there.
        let mut recent = Recent { words, states: vec![0; words * SLOTS] };
        let zero = slot(hash(&vec![0; words]));
        let mut other = vec![0; words];
        while slot(hash(&other)) == zero {
            other[0] += 1;
        }
        recent.states[zero * words..][..words].copy_from_slice(&other);
        recent
    }

    /// Whether a state is there; it is then.
    pub(crate) fn knows(&mut self, state: &[u64], hash: u64) -> bool {
        let there = &mut self.states[slot(hash) * self.words..][..self.words];
        // Word by word: the state has just been written so, and the processor would have to wait to read more at once.
        if let ([first, second], [one, two]) = (&mut *there, state) {
            let known = first == one && second == two;
            (*first, *second) = (*one, *two);
            return known;
        }
        let mut change = 0;
        for (there, word) in there.iter_mut().zip(state) {
            change |= *there ^ word;
            *there = *word;
        }
        change == 0
    }
}

fn slot(hash: u64) -> usize {
    (hash >> 40) as usize % SLOTS
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
