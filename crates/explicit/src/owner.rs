//! Who owns a state: a part of it, chosen from a sample, decides.
//!
//! A step changes little of a state. If what it leaves alone decides who owns the state, most steps stay with one process; if a
//! hash of all of it did, hardly any would.

use crate::store::fold;

/// Virtual shards, which are dealt to processes.
pub(crate) const BUCKETS: usize = 1 << BUCKET_BITS;
const BUCKET_BITS: u32 = 12;
/// How many times the mean a process may have of the sample, and of its last level.
const BALANCE: f64 = 1.10;
/// How many buckets, were they all of one size, a process has at least of the last level. A few large ones would be dealt evenly
/// today, and not when some of them have grown.
const SPREAD: f64 = 64.0;
/// Into how many parts a state is cut to find those that decide.
const CUTS: [usize; 4] = [2, 3, 4, 6];

/// Mixes what decides.
pub(crate) const KEY: u64 = 0xd6e8_feb8_6659_fd93;

/// Who owns which states.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// Of each word, the bits that decide.
    masks: Vec<u64>,
    /// Whose each bucket is.
    table: Vec<u16>,
    processes: usize,
}

impl Owner {
    /// One process owns all states.
    pub(crate) fn alone() -> Owner {
        Owner { masks: Vec::new(), table: Vec::new(), processes: 1 }
    }

    /// Bits that decide, and buckets dealt in turn.
    fn by(masks: Vec<u64>, processes: usize) -> Owner {
        let table = (0..BUCKETS).map(|bucket| (bucket % processes) as u16).collect();
        Owner { masks, table, processes }
    }

    pub(crate) fn processes(&self) -> usize {
        self.processes
    }

    /// The bucket of a state.
    #[inline]
    fn bucket(&self, state: &[u64]) -> usize {
        let parts = state.iter().zip(&self.masks).filter(|(_, mask)| **mask != 0);
        let hash = parts.fold(KEY, |hash, (word, mask)| fold(hash ^ (word & mask), KEY));
        (hash >> (u64::BITS - BUCKET_BITS)) as usize
    }

    /// The process that owns a state.
    #[inline]
    pub(crate) fn of(&self, state: &[u64]) -> usize {
        if self.processes == 1 { 0 } else { usize::from(self.table[self.bucket(state)]) }
    }

    /// Deals buckets so that each process has about as many of these states: the fullest bucket first, to who has least.
    fn deal(&mut self, words: usize, states: &[u64]) {
        let sizes = self.sizes(words, states);
        let mut order: Vec<usize> = (0..BUCKETS).collect();
        order.sort_by_key(|bucket| (std::cmp::Reverse(sizes[*bucket]), *bucket));
        let mut loads = vec![(0u64, 0u64); self.processes];
        for bucket in order {
            let least = (0..self.processes).min_by_key(|process| (loads[*process], *process)).unwrap_or(0);
            // Empty ones are dealt in turn.
            loads[least].0 += sizes[bucket];
            loads[least].1 += 1;
            self.table[bucket] = least as u16;
        }
    }

    /// How many buckets of one size are as uneven as these states make them: one over the chance that two states share one.
    fn spread(&self, words: usize, states: &[u64]) -> f64 {
        let sizes = self.sizes(words, states);
        let (sum, squares) = sizes.iter().fold((0.0, 0.0), |(sum, squares), size| {
            let size = *size as f64;
            (sum + size, squares + size * size)
        });
        if squares > 0.0 { sum * sum / squares } else { 0.0 }
    }

    /// How many of these states each bucket has.
    fn sizes(&self, words: usize, states: &[u64]) -> Vec<u64> {
        let mut sizes = vec![0u64; BUCKETS];
        states.chunks_exact(words).for_each(|state| sizes[self.bucket(state)] += 1);
        sizes
    }

    /// How many times the mean the fullest process has of some states.
    fn balance(&self, words: usize, states: &[u64]) -> f64 {
        let mut loads = vec![0u64; self.processes];
        states.chunks_exact(words).for_each(|state| loads[self.of(state)] += 1);
        let mean = (states.len() / words) as f64 / self.processes as f64;
        loads.into_iter().max().unwrap_or(0) as f64 / mean.max(1.0)
    }

    /// The best part of the state to decide who owns it; all of it if no part deals the states evenly.
    pub(crate) fn choose(sample: &Sample<'_>, processes: usize) -> Owner {
        let words = sample.words;
        let whole = Owner::by(vec![u64::MAX; words], processes);
        let mut best = (sample.leaving(&whole), whole);
        for masks in candidates(words, sample.bits) {
            let mut owner = Owner::by(masks, processes);
            owner.deal(words, sample.states);
            if owner.spread(words, sample.last) < SPREAD * processes as f64 {
                continue;
            }
            let even = [sample.states, sample.last].into_iter().all(|it| owner.balance(words, it) <= BALANCE);
            let leaving = sample.leaving(&owner);
            if even && leaving < best.0 {
                best = (leaving, owner);
            }
        }
        best.1
    }

    /// A number that tells owners apart.
    pub(crate) fn fingerprint(&self) -> u64 {
        let numbers = self.masks.iter().copied().chain(self.table.iter().map(|process| u64::from(*process)));
        numbers.fold(self.processes as u64, |sum, number| fold(sum ^ number, KEY).rotate_left(1))
    }

    /// In words.
    pub(crate) fn describe(&self) -> String {
        let bits: u32 = self.masks.iter().map(|mask| mask.count_ones()).sum();
        match bits as usize == 64 * self.masks.len() {
            true => "a hash of the whole state says which process owns it".into(),
            false => {
                let first = self.masks.iter().enumerate().find(|(_, mask)| **mask != 0);
                let first = first.map_or(0, |(word, mask)| 64 * word as u32 + mask.trailing_zeros());
                format!("{bits} bits of a state, from bit {first} on, say which process owns it")
            }
        }
    }
}

/// States to choose by.
pub(crate) struct Sample<'s> {
    pub(crate) words: usize,
    /// Bits of a packed state in use.
    pub(crate) bits: usize,
    pub(crate) states: &'s [u64],
    /// Those of the last level.
    pub(crate) last: &'s [u64],
    /// Steps: a state, and one that it leads to.
    pub(crate) steps: &'s [u64],
}

impl Sample<'_> {
    /// How many steps lead from one process to another.
    fn leaving(&self, owner: &Owner) -> usize {
        let leaves = |step: &&[u64]| owner.of(&step[..self.words]) != owner.of(&step[self.words..]);
        self.steps.chunks_exact(2 * self.words).filter(leaves).count()
    }
}

/// Neighbouring bits of a state, about a half, a third and so on of them.
fn candidates(words: usize, bits: usize) -> Vec<Vec<u64>> {
    let mut found = Vec::new();
    for cuts in CUTS {
        let width = bits / cuts;
        if width < 8 {
            continue;
        }
        for from in (0..=bits - width).step_by((width / 3).max(1)) {
            found.push(window(words, from, from + width));
        }
    }
    found
}

/// The masks of the bits from one to another.
fn window(words: usize, from: usize, to: usize) -> Vec<u64> {
    let below = |bits: usize| if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    let mask = |word: usize| {
        let start = 64 * word;
        below(to.saturating_sub(start)) & !below(from.saturating_sub(start))
    };
    (0..words).map(mask).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_bits() {
        assert_eq!(window(2, 0, 8), [255, 0]);
        assert_eq!(window(2, 60, 68), [15 << 60, 15]);
        assert_eq!(window(2, 64, 128), [0, u64::MAX]);
        assert!(candidates(1, 63).len() < 64);
    }

    #[test]
    fn a_part_that_steps_leave_alone_decides() {
        // The upper half never changes, and has many values.
        let state = |number: u64| (fold(number, 0x9e37_79b9_7f4a_7c15) << 32) | (number % 97);
        let states: Vec<u64> = (0..5000).map(state).collect();
        let steps: Vec<u64> = states.iter().flat_map(|state| [*state, state ^ 1]).collect();
        let sample = Sample { words: 1, bits: 64, states: &states, last: &states[4000..], steps: &steps };
        let owner = Owner::choose(&sample, 4);
        assert_eq!(sample.leaving(&owner), 0);
        assert!(owner.balance(1, &states) <= BALANCE);
        assert_eq!(Owner::alone().of(&states[..1]), 0);
    }
}
