//! The states that were seen: exact, in little memory.
//!
//! Packed states lie one after another in chunks of an arena and are numbered from 0 in the order they were
//! found. A table with open addressing finds the number of a state: an entry has 32 bits of the state's hash
//! and its number, so that most probes that fail do not touch the arena, and the table grows without it.
//! Beside each state stands where it came from.

/// Where a state was first reached from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The state before; [`NONE`] for a start state.
    pub(crate) parent: u32,
    /// The rule that led here, or the start.
    pub(crate) rule: u32,
}

/// No state.
pub(crate) const NONE: u32 = u32::MAX;

/// What became of a state that was to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    /// It is new and has this number.
    New(u32),
    /// It was there, with this number.
    Known(u32),
    /// There is no memory for it.
    Full,
}

/// Bytes of packed states in one chunk of the arena, about.
const CHUNK_BYTES: usize = 1 << 18;
/// Entries of the smallest table.
const LEAST: usize = 1 << 12;

pub(crate) struct Store {
    /// Words of 64 bits of a packed state.
    words: usize,
    /// Halves of words that are kept: the last one is left out if it is never used.
    halves: usize,
    /// States in one chunk of the arena.
    chunk: usize,
    chunks: Vec<Vec<u32>>,
    origins: Vec<Vec<Origin>>,
    len: usize,
    table: Vec<u64>,
    /// Bytes that may be used.
    limit: u64,
}

impl Store {
    /// A store for packed states of so many words, of which the last has so many bits in use.
    pub(crate) fn new(words: usize, last_bits: u32, limit: Option<u64>) -> Store {
        let halves = if last_bits <= 32 { 2 * words - 1 } else { 2 * words };
        Store {
            words,
            halves,
            chunk: (CHUNK_BYTES / (halves * size_of::<u32>())).clamp(16, 1 << 14).next_power_of_two(),
            chunks: Vec::new(),
            origins: Vec::new(),
            len: 0,
            table: Vec::new(),
            limit: limit.unwrap_or(u64::MAX),
        }
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> u64 {
        (self.table.len() * size_of::<u64>()) as u64 + self.chunks.len() as u64 * self.chunk_bytes()
    }

    fn chunk_bytes(&self) -> u64 {
        (self.chunk * (self.halves * size_of::<u32>() + size_of::<Origin>())) as u64
    }

    /// Stores a state unless it is there.
    pub(crate) fn insert(&mut self, state: &[u64], origin: Origin, spent: u64) -> Inserted {
        if self.len * 4 >= self.table.len() * 3 && !self.grow(spent) {
            return match self.find(state) {
                Ok(number) => Inserted::Known(number),
                Err(_) => Inserted::Full,
            };
        }
        match self.find(state) {
            Ok(number) => Inserted::Known(number),
            Err((slot, hash)) => {
                let number = self.len as u32;
                if !self.push(state, origin, spent) {
                    return Inserted::Full;
                }
                self.table[slot] = entry(hash, number);
                Inserted::New(number)
            }
        }
    }

    /// Whether a state is there.
    pub(crate) fn contains(&self, state: &[u64]) -> bool {
        self.find(state).is_ok()
    }

    /// Copies out a state.
    pub(crate) fn get(&self, number: u32, state: &mut [u64]) {
        let stored = self.stored(number);
        for (word, halves) in state.iter_mut().zip(stored.chunks(2)) {
            *word = u64::from(halves[0]) | halves.get(1).map_or(0, |high| u64::from(*high) << 32);
        }
    }

    /// Where a state came from.
    pub(crate) fn origin(&self, number: u32) -> Origin {
        self.origins[number as usize / self.chunk][number as usize % self.chunk]
    }

    fn stored(&self, number: u32) -> &[u32] {
        let start = number as usize % self.chunk * self.halves;
        &self.chunks[number as usize / self.chunk][start..start + self.halves]
    }

    fn is(&self, number: u32, state: &[u64]) -> bool {
        let halves = self.stored(number).chunks(2);
        halves.zip(state).all(|(halves, word)| {
            halves[0] == *word as u32 && halves.get(1).is_none_or(|high| *high == (*word >> 32) as u32)
        })
    }

    /// The number of a state, or the free slot and the hash for it.
    fn find(&self, state: &[u64]) -> Result<u32, (usize, u32)> {
        let hash = hash(&state[..self.words]);
        if self.table.is_empty() {
            return Err((0, hash));
        }
        let mask = self.table.len() - 1;
        let mut slot = first_slot(hash, self.table.len());
        loop {
            let entry = self.table[slot];
            if entry == 0 {
                return Err((slot, hash));
            }
            if (entry >> 32) as u32 == hash {
                let number = (entry as u32) - 1;
                if self.is(number, state) {
                    return Ok(number);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    fn push(&mut self, state: &[u64], origin: Origin, spent: u64) -> bool {
        if self.len == self.chunks.len() * self.chunk && !self.add_chunk(spent) {
            return false;
        }
        let (Some(chunk), Some(origins)) = (self.chunks.last_mut(), self.origins.last_mut()) else {
            return false;
        };
        let halves = state.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        chunk.extend(halves.take(self.halves));
        origins.push(origin);
        self.len += 1;
        true
    }

    fn add_chunk(&mut self, spent: u64) -> bool {
        // Numbers must fit in an entry of the table, and must not be `NONE`.
        let numbered = self.len + self.chunk < NONE as usize;
        if !numbered || self.bytes() + self.chunk_bytes() + spent > self.limit {
            return false;
        }
        let (mut chunk, mut origins) = (Vec::new(), Vec::new());
        if chunk.try_reserve_exact(self.chunk * self.halves).is_err()
            || origins.try_reserve_exact(self.chunk).is_err()
        {
            return false;
        }
        self.chunks.push(chunk);
        self.origins.push(origins);
        true
    }

    /// Doubles the table; false if there is no memory for it (then it may get fuller, up to a point).
    fn grow(&mut self, spent: u64) -> bool {
        let entries = (self.table.len() * 2).max(LEAST);
        let bytes = (entries * size_of::<u64>()) as u64;
        let mut table = Vec::new();
        if self.bytes() + bytes + spent > self.limit || table.try_reserve_exact(entries).is_err() {
            // A fuller table is slower, but works as long as some entries are free.
            return self.len * 16 < self.table.len() * 15;
        }
        table.resize(entries, 0);
        for old in self.table.iter().filter(|entry| **entry != 0) {
            let mut slot = first_slot((old >> 32) as u32, entries);
            while table[slot] != 0 {
                slot = (slot + 1) & (entries - 1);
            }
            table[slot] = *old;
        }
        self.table = table;
        true
    }
}

fn entry(hash: u32, number: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(number + 1)
}

/// The slot where a probe begins: the high bits of the hash.
fn first_slot(hash: u32, entries: usize) -> usize {
    ((u64::from(hash) * entries as u64) >> 32) as usize
}

/// A hash of 32 bits: multiply and fold, word by word.
fn hash(words: &[u64]) -> u32 {
    const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut state = 0x243f_6a88_85a3_08d3;
    for word in words {
        state = fold(state ^ word, KEY);
    }
    (fold(state, 0xd6e8_feb8_6659_fd93) >> 16) as u32
}

/// The two halves of a product, mixed.
pub(crate) fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Origin = Origin { parent: NONE, rule: 0 };

    #[test]
    fn states_are_found_again_after_the_table_has_grown() {
        let mut store = Store::new(2, 20, None);
        for round in 0..2 {
            for number in 0..20_000u64 {
                let state = [number.wrapping_mul(0x1234_5678_9abc_def1), number % 7];
                let expected =
                    if round == 0 { Inserted::New(number as u32) } else { Inserted::Known(number as u32) };
                assert_eq!(store.insert(&state, START, 0), expected);
                let mut copy = [0; 2];
                store.get(number as u32, &mut copy);
                assert_eq!(copy, state);
            }
        }
        assert_eq!(store.len(), 20_000);
    }

    #[test]
    fn a_full_store_says_so() {
        let mut store = Store::new(1, 64, Some(400_000));
        let mut number = 0;
        while let Inserted::New(_) = store.insert(&[number], START, 0) {
            number += 1;
        }
        assert!(number > 1000 && store.bytes() <= 400_000);
        assert_eq!(store.insert(&[number], START, 0), Inserted::Full);
        assert_eq!(store.insert(&[0], START, 0), Inserted::Known(0));
    }
}
