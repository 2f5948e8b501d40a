//! The states that a search in depth has seen.

use std::sync::Arc;

use shoal_code::Layout;
use shoal_model::Storage;

use crate::store::{Inserted, NONE, Store, StoreBudget, fold};

/// Which states were seen.
pub(crate) enum Visited {
    /// By themselves, or by their hashes if there is only one word of them.
    Store {
        store: Store,
        hashes: bool,
    },
    Bits(Bits),
}

/// What became of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visit {
    New,
    Known,
    /// There is no memory for it.
    Full,
}

impl Visited {
    pub(crate) fn new(
        layout: &Layout,
        storage: Storage,
        limit: Option<u64>,
        budget: Arc<StoreBudget>,
    ) -> Visited {
        let store = |words, last_bits| Store::within(words, last_bits, budget.clone(), true);
        match storage {
            Storage::Exact | Storage::Tree => {
                Visited::Store { store: store(layout.words(), layout.last_bits()), hashes: false }
            }
            Storage::Hashes => Visited::Store { store: store(1, u64::BITS), hashes: true },
            Storage::Bits => Visited::Bits(Bits::new(limit)),
        }
    }

    /// Whether a state was seen.
    pub(crate) fn knows(&self, state: &[u64], hash: u64) -> bool {
        match self {
            Visited::Store { store, hashes } => {
                if *hashes {
                    store.contains(&[hash])
                } else {
                    store.contains_hashed(state, hash)
                }
            }
            Visited::Bits(bits) => bits.places(hash).into_iter().all(|place| bits.get(place)),
        }
    }

    /// Remembers a state.
    pub(crate) fn insert(&mut self, state: &[u64], hash: u64) -> Visit {
        match self {
            Visited::Store { store, hashes } => {
                let inserted = match hashes {
                    true => store.insert(&[hash], NONE, 0),
                    false => store.insert_hashed(state, hash, NONE, 0),
                };
                match inserted {
                    Inserted::New(_) => Visit::New,
                    Inserted::Known(_) => Visit::Known,
                    Inserted::Full => Visit::Full,
                }
            }
            Visited::Bits(bits) => bits.insert(hash),
        }
    }

    /// How many states were mistaken for others, as is to be expected.
    pub(crate) fn omissions(&self) -> f64 {
        match self {
            Visited::Store { store, hashes: true } => collisions(store.len() as u64),
            Visited::Store { .. } => 0.0,
            Visited::Bits(bits) => bits.omissions,
        }
    }

    /// Bytes in use beside the budget's.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Visited::Store { .. } => 0,
            Visited::Bits(bits) => bits.words.len() as u64 * 8,
        }
    }
}

/// How many of so many states have the hash of one before, as is to be expected of hashes of 64 bits.
pub(crate) fn collisions(states: u64) -> f64 {
    let states = states as f64;
    states * states / 2.0 / 2f64.powi(64)
}

/// The probability that some state was missed if so many are to be expected.
pub(crate) fn probability(expected: f64) -> f64 {
    -(-expected).exp_m1()
}

/// Three bits for each state.
pub(crate) struct Bits {
    words: Vec<u64>,
    set: u64,
    omissions: f64,
}

/// More memory than this is not used: untouched, it costs nothing, but some systems count it.
const MOST_BYTES: u64 = 8 << 30;

impl Bits {
    /// A table that takes half of the memory that is allowed; the rest is for the way.
    fn new(limit: Option<u64>) -> Bits {
        let bytes = (limit.unwrap_or(MOST_BYTES) / 2).clamp(1 << 10, MOST_BYTES);
        Bits { words: vec![0; (bytes / 8) as usize], set: 0, omissions: 0.0 }
    }

    fn size(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    /// Where the bits of a hash are.
    fn places(&self, hash: u64) -> [u64; 3] {
        // Mixed once more: neighbouring states have hashes that are spread too evenly to be taken for random ones.
        let first = fold(hash, 0xd6e8_feb8_6659_fd93);
        let second = fold(first, 0xa076_1d64_78bd_642f);
        [first, second, fold(second, 0xe703_7ed1_a0b4_28db)]
            .map(|it| ((u128::from(it) * u128::from(self.size())) >> 64) as u64)
    }

    fn get(&self, place: u64) -> bool {
        self.words[(place / 64) as usize] >> (place % 64) & 1 == 1
    }

    fn insert(&mut self, hash: u64) -> Visit {
        let mut visit = Visit::Known;
        // How likely it was that a new state would have been taken for known.
        let full = self.set as f64 / self.size() as f64;
        for place in self.places(hash) {
            if !self.get(place) {
                self.words[(place / 64) as usize] |= 1 << (place % 64);
                self.set += 1;
                visit = Visit::New;
            }
        }
        if visit == Visit::New {
            self.omissions += full.powi(3);
        }
        visit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::hash;

    #[test]
    fn as_many_states_are_missed_as_expected() {
        // 1 MiB for 1,000,000 states.
        let mut bits = Bits::new(Some(2 << 20));
        let missed = (0..1_000_000u64).filter(|state| bits.insert(hash(&[*state])) == Visit::Known).count();
        assert!((missed as f64 / bits.omissions - 1.0).abs() < 0.05, "{missed} {}", bits.omissions);
        assert!(missed > 1000);
    }

    #[test]
    fn probabilities_are_as_they_should_be() {
        assert_eq!(probability(0.0), 0.0);
        assert!((probability(1e-9) - 1e-9).abs() < 1e-15);
        assert_eq!(probability(1e9), 1.0);
    }
}
