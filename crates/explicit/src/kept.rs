//! Whole states while they are wanted: where the store keeps only hashes, until they are expanded.

use std::collections::VecDeque;

/// States by number, from some number on.
pub(crate) struct Kept {
    words: usize,
    /// The number of the first.
    first: u32,
    states: VecDeque<u64>,
}

impl Kept {
    pub(crate) fn new(words: usize) -> Kept {
        Kept { words, first: 0, states: VecDeque::new() }
    }

    /// Adds the state with the next number.
    pub(crate) fn push(&mut self, state: &[u64]) {
        self.states.extend(state);
    }

    /// Copies out a state.
    pub(crate) fn get(&self, number: u32, state: &mut [u64]) {
        let start = (number - self.first) as usize * self.words;
        for (word, kept) in state.iter_mut().zip(self.states.range(start..)) {
            *word = *kept;
        }
    }

    /// Forgets the states before one.
    pub(crate) fn forget_before(&mut self, number: u32) {
        self.states.drain(..(number - self.first) as usize * self.words);
        self.first = number;
        self.states.shrink_to(2 * self.states.len());
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> u64 {
        (self.states.capacity() * size_of::<u64>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_forgotten_is_there() {
        let mut kept = Kept::new(2);
        (0..100).for_each(|state| kept.push(&[state, state + 1]));
        kept.forget_before(60);
        let mut state = [0; 2];
        kept.get(60, &mut state);
        assert_eq!(state, [60, 61]);
        kept.push(&[100, 101]);
        kept.get(100, &mut state);
        assert_eq!(state, [100, 101]);
    }
}
