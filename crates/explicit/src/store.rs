//! The states that were seen: exact, in little memory.
//!
//! Packed states lie one after another in chunks of an arena and are numbered from 0 in the order they were
//! found. A table with open addressing finds the number of a state: an entry has 32 bits of the state's hash
//! and its number, so that most probes that fail do not touch the arena, and the table grows without it. Entries stand
//! in lines as long as those of the processor's cache; an entry is in the line that the hash says, or, if that is full,
//! in the next that is not.
//! Beside each state stands where it came from.

use std::{
    io::{self, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crate::bytes::{damaged, get_all, put_all};

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
const CHUNK_BYTES: usize = 1 << 16;
/// States that the first chunk has room for at first.
const FEW: usize = 16;
/// Lines of the smallest table.
const LEAST: usize = 1 << 3;
/// Entries of a line.
const ENTRIES: usize = 8;

/// Some entries of the table: a hash and one more than a number, or 0. Those in use come first.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; ENTRIES]);

impl Line {
    /// The number of a state that has this hash, if there is one here.
    fn like(&self, hash: u32) -> Option<u32> {
        let like = |entry: &&u64| **entry != 0 && (**entry >> 32) as u32 == hash;
        self.0.iter().find(like).map(|entry| (*entry as u32) - 1)
    }

    fn is_full(&self) -> bool {
        self.0[ENTRIES - 1] != 0
    }
}

/// The memory that stores may use together.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    used: AtomicU64,
}

impl Budget {
    pub(crate) fn new(limit: Option<u64>) -> Arc<Budget> {
        Arc::new(Budget { limit: limit.unwrap_or(u64::MAX), used: AtomicU64::new(0) })
    }

    /// Bytes in use.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// Takes so many bytes; false if there are not so many left.
    pub(crate) fn take(&self, bytes: u64, spent: u64) -> bool {
        let before = self.used.fetch_add(bytes, Relaxed);
        let fits = before.saturating_add(bytes).saturating_add(spent) <= self.limit;
        if !fits {
            self.give(bytes);
        }
        fits
    }

    /// Gives back so many bytes.
    pub(crate) fn give(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Relaxed);
    }
}

pub(crate) struct Store {
    /// Words of 64 bits of a packed state.
    words: usize,
    /// Halves of words that are kept: the last one is left out if it is never used.
    halves: usize,
    /// States in one chunk of the arena: a power of two, of which this is the exponent.
    chunk_bits: u32,
    chunks: Vec<Vec<u32>>,
    origins: Vec<Vec<Origin>>,
    len: usize,
    /// How many states the chunks have room for.
    room: usize,
    table: Vec<Line>,
    /// With how many states the table should grow.
    grow_at: usize,
    budget: Arc<Budget>,
}

impl Store {
    /// A store for packed states of so many words, of which the last has so many bits in use.
    pub(crate) fn new(words: usize, last_bits: u32, limit: Option<u64>) -> Store {
        Store::within(words, last_bits, Budget::new(limit))
    }

    /// A store that shares its memory with others.
    pub(crate) fn within(words: usize, last_bits: u32, budget: Arc<Budget>) -> Store {
        let halves = if last_bits <= 32 { 2 * words - 1 } else { 2 * words };
        let chunk = (CHUNK_BYTES / (halves * size_of::<u32>())).clamp(FEW, 1 << 14).next_power_of_two();
        Store {
            words,
            halves,
            chunk_bits: chunk.trailing_zeros(),
            chunks: Vec::new(),
            origins: Vec::new(),
            len: 0,
            room: 0,
            table: Vec::new(),
            grow_at: 0,
            budget,
        }
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes in use, by all that share its memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.budget.used()
    }

    /// Stores a state unless it is there. So many bytes are spent elsewhere.
    pub(crate) fn insert(&mut self, state: &[u64], origin: Origin, spent: u64) -> Inserted {
        self.insert_hashed(state, self.hash(state), origin, spent)
    }

    /// Stores a state of which the hash is known.
    pub(crate) fn insert_hashed(&mut self, state: &[u64], hash: u32, origin: Origin, spent: u64) -> Inserted {
        if self.len >= self.grow_at && !self.grow(spent) {
            return match self.find(state, hash) {
                Ok(number) => Inserted::Known(number),
                Err(_) => Inserted::Full,
            };
        }
        match self.find(state, hash) {
            Ok(number) => Inserted::Known(number),
            Err(slot) => {
                let number = self.len as u32;
                if !self.push(state, origin, spent) {
                    return Inserted::Full;
                }
                self.table[slot.0].0[slot.1] = entry(hash, number);
                Inserted::New(number)
            }
        }
    }

    /// Whether a state is there.
    pub(crate) fn contains(&self, state: &[u64]) -> bool {
        self.contains_hashed(state, self.hash(state))
    }

    /// The number of a state of which the hash is known, if it is there.
    pub(crate) fn number(&self, state: &[u64], hash: u32) -> Option<u32> {
        self.find(state, hash).ok()
    }

    /// Whether a state is there of which the hash is known.
    pub(crate) fn contains_hashed(&self, state: &[u64], hash: u32) -> bool {
        self.find(state, hash).is_ok()
    }

    /// Looks where states with these hashes would be, and gives something that depends on all of it.
    ///
    /// This brings what [`Store::insert_hashed`] will need into the cache. The processor waits for many such
    /// looks at the same time, whereas a search for one state must end before that for the next begins.
    pub(crate) fn touch(&self, hashes: impl Iterator<Item = u32> + Clone) -> u32 {
        let mut sum = 0;
        if self.table.is_empty() {
            return sum;
        }
        for hash in hashes.clone() {
            sum ^= self.table[first_line(hash, self.table.len())].0[0] as u32;
        }
        for hash in hashes.clone() {
            let line = first_line(hash, self.table.len());
            sum ^= match self.table[line].like(hash) {
                Some(number) => self.stored(number)[0],
                None if self.table[line].is_full() => self.table[self.line_after(line)].0[0] as u32,
                None => 0,
            };
        }
        for hash in hashes {
            let line = first_line(hash, self.table.len());
            if self.table[line].is_full()
                && self.table[line].like(hash).is_none()
                && let Some(number) = self.table[self.line_after(line)].like(hash)
            {
                sum ^= self.stored(number)[0];
            }
        }
        sum
    }

    /// Copies out a state.
    pub(crate) fn get(&self, number: u32, state: &mut [u64]) {
        let (pairs, last) = self.stored(number).as_chunks();
        for (word, [low, high]) in state.iter_mut().zip(pairs) {
            *word = u64::from(*high) << 32 | u64::from(*low);
        }
        if let (Some(word), [low]) = (state.last_mut(), last) {
            *word = u64::from(*low);
        }
    }

    /// A state, or whatever it was stored as.
    pub(crate) fn key(&self, number: u32) -> Vec<u64> {
        let mut key = vec![0; self.words];
        self.get(number, &mut key);
        key
    }

    /// Where a state came from.
    pub(crate) fn origin(&self, number: u32) -> Origin {
        let (chunk, at) = self.place(number);
        self.origins[chunk][at]
    }

    /// Writes the states with their origins.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut state = vec![0; self.words];
        let mut records = Vec::new();
        let numbers = (0..self.len as u32).flat_map(|number| {
            self.get(number, &mut state);
            let origin = self.origin(number);
            records.clear();
            records.push(u64::from(origin.parent) << 32 | u64::from(origin.rule));
            records.extend_from_slice(&state);
            records.clone()
        });
        put_all(out, self.len * (self.words + 1), numbers)
    }

    /// Reads what was written into a store that is empty.
    pub(crate) fn read(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let mut record = Vec::with_capacity(self.words + 1);
        get_all(input, |numbers| {
            for number in numbers {
                record.push(*number);
                if record.len() <= self.words {
                    continue;
                }
                let origin = Origin { parent: (record[0] >> 32) as u32, rule: record[0] as u32 };
                match self.insert(&record[1..], origin, 0) {
                    Inserted::New(_) => record.clear(),
                    Inserted::Known(_) => return Err(damaged()),
                    Inserted::Full => return Err(io::ErrorKind::OutOfMemory.into()),
                }
            }
            Ok(())
        })
    }

    /// The hash of a state that its entry in the table has.
    fn hash(&self, state: &[u64]) -> u32 {
        hash(&state[..self.words]) as u32
    }

    /// The chunk of a state and its position in it.
    fn place(&self, number: u32) -> (usize, usize) {
        ((number >> self.chunk_bits) as usize, number as usize & ((1 << self.chunk_bits) - 1))
    }

    fn stored(&self, number: u32) -> &[u32] {
        let (chunk, at) = self.place(number);
        &self.chunks[chunk][at * self.halves..(at + 1) * self.halves]
    }

    fn is(&self, number: u32, state: &[u64]) -> bool {
        let (pairs, last) = self.stored(number).as_chunks();
        let same = |([low, high], word): (&[u32; 2], &u64)| u64::from(*high) << 32 | u64::from(*low) == *word;
        pairs.iter().zip(state).all(same)
            && last.first().is_none_or(|low| state.last().is_some_and(|word| *word as u32 == *low))
    }

    /// The number of a state, or the free entry for it: its line, and its place there.
    fn find(&self, state: &[u64], hash: u32) -> Result<u32, (usize, usize)> {
        if self.table.is_empty() {
            return Err((0, 0));
        }
        let mut line = first_line(hash, self.table.len());
        loop {
            for (at, entry) in self.table[line].0.iter().enumerate() {
                if *entry == 0 {
                    return Err((line, at));
                }
                if (entry >> 32) as u32 == hash {
                    let number = (*entry as u32) - 1;
                    if self.is(number, state) {
                        return Ok(number);
                    }
                }
            }
            line = self.line_after(line);
        }
    }

    fn line_after(&self, line: usize) -> usize {
        if line + 1 == self.table.len() { 0 } else { line + 1 }
    }

    fn push(&mut self, state: &[u64], origin: Origin, spent: u64) -> bool {
        if self.len == self.room && !self.make_room(spent) {
            return false;
        }
        let (Some(chunk), Some(origins)) = (self.chunks.last_mut(), self.origins.last_mut()) else {
            return false;
        };
        match *state {
            [word] if self.halves == 1 => chunk.push(word as u32),
            [one, two] if self.halves == 3 => {
                chunk.extend_from_slice(&[one as u32, (one >> 32) as u32, two as u32]);
            }
            _ => {
                let halves = state.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
                chunk.extend(halves.take(self.halves));
            }
        }
        origins.push(origin);
        self.len += 1;
        true
    }

    /// Makes room for more states: the first chunk grows, so that small stores are small; the others do not.
    fn make_room(&mut self, spent: u64) -> bool {
        let whole = 1 << self.chunk_bits;
        let more = if self.room < whole { self.room.max(FEW) } else { whole };
        let bytes = (more * (self.halves * size_of::<u32>() + size_of::<Origin>())) as u64;
        // Numbers must fit in an entry of the table, and must not be `NONE`.
        if self.len + more >= NONE as usize || !self.budget.take(bytes, spent) {
            return false;
        }
        if self.room == 0 || self.room >= whole {
            self.chunks.push(Vec::new());
            self.origins.push(Vec::new());
        }
        let (Some(chunk), Some(origins)) = (self.chunks.last_mut(), self.origins.last_mut()) else {
            return false;
        };
        if chunk.try_reserve_exact(more * self.halves).is_err() || origins.try_reserve_exact(more).is_err() {
            return false;
        }
        self.room += more;
        true
    }

    /// Makes the table larger by half; false if there is no memory for it and no free entry to spare.
    fn grow(&mut self, spent: u64) -> bool {
        let lines = (self.table.len() / 2 * 3).max(LEAST);
        let bytes = (lines * size_of::<Line>()) as u64;
        let mut table = Vec::new();
        if !self.budget.take(bytes, spent) {
            return self.fill_up();
        }
        if table.try_reserve_exact(lines).is_err() {
            self.budget.give(bytes);
            return self.fill_up();
        }
        table.resize(lines, Line([0; ENTRIES]));
        for old in self.table.iter().flat_map(|line| &line.0).filter(|entry| **entry != 0) {
            let mut line = first_line((old >> 32) as u32, lines);
            let free = loop {
                match table[line].0.iter_mut().find(|entry| **entry == 0) {
                    Some(free) => break free,
                    None => line = if line + 1 == lines { 0 } else { line + 1 },
                }
            };
            *free = *old;
        }
        self.budget.give((self.table.len() * size_of::<Line>()) as u64);
        self.table = table;
        self.grow_at = lines * ENTRIES / 16 * 13;
        true
    }

    /// Lets the table get fuller: that is slower, but works as long as some entries are free.
    fn fill_up(&mut self) -> bool {
        self.len * 16 < self.table.len() * ENTRIES * 15
    }
}

fn entry(hash: u32, number: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(number + 1)
}

/// The line where a probe begins: in the order of hashes, so that a larger table is filled from front to back.
fn first_line(hash: u32, lines: usize) -> usize {
    ((u64::from(hash) * lines as u64) >> 32) as usize
}

/// A hash: multiply and fold, word by word.
pub(crate) fn hash(words: &[u64]) -> u64 {
    const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
    const START: u64 = 0x243f_6a88_85a3_08d3;
    let state = match words {
        // Most states are short.
        [one] => fold(START ^ one, KEY),
        [one, two] => fold(fold(START ^ one, KEY) ^ two, KEY),
        words => words.iter().fold(START, |state, word| fold(state ^ word, KEY)),
    };
    fold(state, 0xd6e8_feb8_6659_fd93)
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
        assert!(number > 1000 && store.budget.used() <= 400_000);
        assert_eq!(store.insert(&[number], START, 0), Inserted::Full);
        assert_eq!(store.insert(&[0], START, 0), Inserted::Known(0));
    }
}
