//! States as trees: the parts that many states have in common are kept once.
//!
//! The words of a state are numbered, then pairs of numbers are, and so on, until two numbers are left; these are what
//! is kept of the state. It is exact: numbers and what they stand for are the same thing. Large states differ in few
//! places from those before, so most pairs are known.

use crate::store::fold;

/// Numbers the words of states and pairs of numbers.
pub(crate) struct Tree {
    /// How many words a state has.
    words: usize,
    /// What is numbered: at each level, for each position, words or pairs of numbers.
    levels: Vec<Vec<Numbers>>,
    /// The numbers of one level.
    row: Vec<u64>,
}

impl Tree {
    pub(crate) fn new(words: usize) -> Tree {
        let mut levels = Vec::new();
        let mut width = words;
        while width > 1 {
            levels.push((0..width).map(|_| Numbers::default()).collect());
            width = width.div_ceil(2);
        }
        Tree { words, levels, row: Vec::new() }
    }

    /// What is to be kept of a state.
    pub(crate) fn key(&mut self, state: &[u64]) -> u64 {
        self.row.clear();
        self.row.extend_from_slice(state);
        for level in &mut self.levels {
            for (part, numbers) in self.row.iter_mut().zip(level) {
                *part = u64::from(numbers.number(*part));
            }
            let pairs = self.row.len().div_ceil(2);
            for pair in 0..pairs {
                let right = self.row.get(2 * pair + 1).copied().unwrap_or(0);
                self.row[pair] = self.row[2 * pair] << 32 | right;
            }
            self.row.truncate(pairs);
        }
        self.row[0]
    }

    /// The state that was kept so.
    pub(crate) fn state(&self, key: u64, state: &mut [u64]) {
        let mut row = vec![key];
        for level in self.levels.iter().rev() {
            let parts = row.iter().flat_map(|pair| [*pair >> 32, *pair & u64::from(u32::MAX)]);
            let parts = parts.zip(level).map(|(number, numbers)| numbers.parts[number as usize]);
            row = parts.collect();
        }
        state[..self.words].copy_from_slice(&row);
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> u64 {
        self.levels.iter().flatten().map(Numbers::bytes).sum()
    }
}

/// Numbers things in the order they come.
#[derive(Default)]
struct Numbers {
    parts: Vec<u64>,
    /// By hash: one more than a number, or 0.
    table: Vec<u32>,
}

impl Numbers {
    fn number(&mut self, part: u64) -> u32 {
        if self.parts.len() * 4 >= self.table.len() * 3 {
            self.grow();
        }
        let slot = self.find(part);
        if self.table[slot] == 0 {
            self.parts.push(part);
            self.table[slot] = self.parts.len() as u32;
        }
        self.table[slot] - 1
    }

    /// The slot of a part, or the free one for it.
    fn find(&self, part: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = fold(part ^ 0x243f_6a88_85a3_08d3, 0x9e37_79b9_7f4a_7c15) as usize & mask;
        while self.table[slot] != 0 && self.parts[self.table[slot] as usize - 1] != part {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.table = vec![0; (self.table.len() * 2).max(16)];
        for number in 0..self.parts.len() {
            let slot = self.find(self.parts[number]);
            self.table[slot] = number as u32 + 1;
        }
    }

    fn bytes(&self) -> u64 {
        (self.parts.capacity() * size_of::<u64>() + self.table.capacity() * size_of::<u32>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_back_as_they_were_and_have_different_keys() {
        for words in 1..12 {
            let mut tree = Tree::new(words);
            let state = |number: u64| (0..words as u64).map(move |at| (number >> (2 * at) & 3) * (at + 7));
            let count = 4u64.pow(words.min(6) as u32);
            let keys: Vec<u64> =
                (0..count).map(|number| tree.key(&state(number).collect::<Vec<_>>())).collect();
            let mut back = vec![0; words];
            for (number, key) in (0..count).zip(&keys) {
                tree.state(*key, &mut back);
                assert!(state(number).eq(back.iter().copied()));
                assert_eq!(tree.key(&back), *key);
            }
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), keys.len());
        }
    }
}
