//! The states that were seen: exact, in little memory.
//!
//! Packed states lie one after another in chunks of an arena and are numbered from 0 in the order they were found. Beside
//! each stands the state it was first reached from, unless nobody asks for that. A [`HashTable`] finds the number of a state.

use std::{
    io::{self, Read, Write},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use shoal_model::internal;

use crate::{
    bytes::{damaged, get_all, put_all},
    cpu::fetch,
    table::{Free, HashTable},
};

/// No state: where a start state was reached from.
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

/// Bytes of packed states in one chunk of the arena, about. Few: a chunk per shard is not full.
const CHUNK_BYTES: usize = 1 << 14;
/// States that the first chunk has room for at first.
const FEW: usize = 16;
/// The memory that stores may use together.
#[derive(Debug)]
pub(crate) struct StoreBudget {
    limit: u64,
    used: AtomicU64,
}

impl StoreBudget {
    pub(crate) fn new(limit: Option<u64>) -> Arc<StoreBudget> {
        Arc::new(StoreBudget { limit: limit.unwrap_or(u64::MAX), used: AtomicU64::new(0) })
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
    /// What stands before the halves of a state: the state before it, or nothing.
    head: usize,
    /// States in one chunk of the arena: a power of two, of which this is the exponent.
    chunk_bits: u32,
    /// For each state, the one before it, if that is kept, and its halves.
    chunks: Vec<Vec<u32>>,
    len: usize,
    /// How many states the chunks have room for.
    room: usize,
    table: HashTable,
    budget: Arc<StoreBudget>,
}

impl Store {
    /// A store for packed states of so many words, of which the last has so many bits in use.
    #[cfg(test)]
    pub(crate) fn new(words: usize, last_bits: u32, limit: Option<u64>) -> Store {
        Store::within(words, last_bits, StoreBudget::new(limit), true)
    }

    /// A store that shares its memory with others, with or without the state that each was reached from.
    pub(crate) fn within(words: usize, last_bits: u32, budget: Arc<StoreBudget>, parents: bool) -> Store {
        let halves = if last_bits <= 32 { 2 * words - 1 } else { 2 * words };
        let head = usize::from(parents);
        let chunk =
            (CHUNK_BYTES / ((head + halves) * size_of::<u32>())).clamp(FEW, 1 << 14).next_power_of_two();
        Store {
            words,
            halves,
            head,
            chunk_bits: chunk.trailing_zeros(),
            chunks: Vec::new(),
            len: 0,
            room: 0,
            table: HashTable::default(),
            budget,
        }
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Stores a state unless it is there. So many bytes are spent elsewhere.
    pub(crate) fn insert(&mut self, state: &[u64], parent: u32, spent: u64) -> Inserted {
        self.insert_hashed(state, hash(&state[..self.words]), parent, spent)
    }

    /// Stores a state of which the hash is known.
    pub(crate) fn insert_hashed(&mut self, state: &[u64], hash: u64, parent: u32, spent: u64) -> Inserted {
        if self.len >= self.table.grow_at() && !self.grow(spent) {
            return match self.find(state, hash) {
                Ok(number) => Inserted::Known(number),
                Err(_) => Inserted::Full,
            };
        }
        match self.find(state, hash) {
            Ok(number) => Inserted::Known(number),
            Err(free) => {
                let number = self.len as u32;
                if !self.push(state, parent, spent) {
                    return Inserted::Full;
                }
                self.table.set(free, hash, number);
                Inserted::New(number)
            }
        }
    }

    /// Whether a state is there.
    pub(crate) fn contains(&self, state: &[u64]) -> bool {
        self.contains_hashed(state, hash(&state[..self.words]))
    }

    /// The number of a state of which the hash is known, if it is there.
    pub(crate) fn number(&self, state: &[u64], hash: u64) -> Option<u32> {
        self.find(state, hash).ok()
    }

    /// Whether a state is there of which the hash is known.
    pub(crate) fn contains_hashed(&self, state: &[u64], hash: u64) -> bool {
        self.find(state, hash).is_ok()
    }

    /// Asks for the place where a state with this hash will be looked for.
    #[inline]
    pub(crate) fn fetch(&self, hash: u64) {
        self.table.fetch(hash);
    }

    /// The number of a state that may have this hash, or [`NONE`], and asks for its place.
    #[inline]
    pub(crate) fn candidate(&self, hash: u64) -> u32 {
        let found = self.table.candidate(hash);
        let (chunk, at) = self.place(found);
        if let Some(chunk) = self.chunks.get(chunk) {
            fetch(chunk, at);
        }
        found
    }

    /// Whether the state with a number is this one. None has the number [`NONE`].
    #[inline]
    pub(crate) fn has_at(&self, number: u32, state: &[u64]) -> bool {
        number != NONE && is(self.stored(number), state)
    }

    /// Finds some states: the number of each that is there, and for the others [`NONE`]; that for some that are there,
    /// too, if another is like them.
    ///
    /// Each loop is short and without branches, and asks for what the next one needs: so the processor waits for many
    /// places in memory at the same time. A search for one state must end before that for the next begins.
    pub(crate) fn look_up(&self, hashes: &[u64], keys: LookupKeys<'_>, found: &mut [u32]) {
        for (hash, found) in hashes.iter().zip(&mut *found) {
            *found = self.candidate(*hash);
        }
        for (at, found) in found.iter_mut().enumerate() {
            let same = self.has_at(*found, keys.get(at));
            *found = if same { *found } else { NONE };
        }
    }

    /// Copies out a state.
    pub(crate) fn get(&self, number: u32, state: &mut [u64]) {
        unpack(self.stored(number), state);
    }

    /// Adds states to others.
    pub(crate) fn get_all(&self, numbers: Range<u32>, states: &mut Vec<u64>) {
        let (length, whole) = (self.head + self.halves, 1 << self.chunk_bits);
        let mut from = numbers.start;
        while from < numbers.end {
            let to = (from / whole + 1).saturating_mul(whole).min(numbers.end);
            let at = (from % whole) as usize;
            let stored =
                &self.chunks[(from / whole) as usize][at * length..][..(to - from) as usize * length];
            match (self.head, self.halves) {
                (1, 2) => states.extend(stored.as_chunks().0.iter().map(|[_, low, high]| pair(*low, *high))),
                (0, 2) => states.extend(stored.as_chunks().0.iter().map(|[low, high]| pair(*low, *high))),
                _ => stored.chunks_exact(length).for_each(|stored| {
                    let before = states.len();
                    states.resize(before + self.words, 0);
                    unpack(&stored[self.head..], &mut states[before..]);
                }),
            }
            from = to;
        }
    }

    /// A state, or whatever it was stored as.
    pub(crate) fn key(&self, number: u32) -> Vec<u64> {
        let mut key = vec![0; self.words];
        self.get(number, &mut key);
        key
    }

    /// The state that a state was first reached from.
    pub(crate) fn parent(&self, number: u32) -> u32 {
        if self.head == 0 {
            internal!("a store without them is asked where a state was reached from");
        }
        let (chunk, at) = self.place(number);
        self.chunks[chunk][at]
    }

    /// Forgets all states, and gives their memory back.
    pub(crate) fn clear(&mut self) {
        let states = self.room * (self.head + self.halves) * size_of::<u32>();
        self.budget.give(states as u64 + self.table.bytes());
        (self.chunks, self.len, self.room, self.table) = (Vec::new(), 0, 0, HashTable::default());
    }

    /// Writes the states with those they were reached from.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut state = vec![0; self.words];
        let numbers = (0..self.len as u32).flat_map(|number| {
            self.get(number, &mut state);
            let mut record = vec![u64::from(self.parent(number))];
            record.extend_from_slice(&state);
            record
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
                match self.insert(&record[1..], record[0] as u32, 0) {
                    Inserted::New(_) => record.clear(),
                    Inserted::Known(_) => return Err(damaged()),
                    Inserted::Full => return Err(io::ErrorKind::OutOfMemory.into()),
                }
            }
            Ok(())
        })?;
        if record.is_empty() { Ok(()) } else { Err(damaged()) }
    }

    /// A state as it is kept.
    #[inline]
    fn stored(&self, number: u32) -> &[u32] {
        let (chunk, at) = self.place(number);
        &self.chunks[chunk][at + self.head..][..self.halves]
    }

    /// Where a state is kept: in which chunk, and where there.
    #[inline]
    fn place(&self, number: u32) -> (usize, usize) {
        let at = number as usize & ((1 << self.chunk_bits) - 1);
        ((number >> self.chunk_bits) as usize, at * (self.head + self.halves))
    }

    /// The number of a state, or the free entry for it.
    #[inline]
    fn find(&self, state: &[u64], hash: u64) -> Result<u32, Free> {
        self.table.find(hash, |number| is(self.stored(number), state))
    }

    fn push(&mut self, state: &[u64], parent: u32, spent: u64) -> bool {
        if self.len == self.room && !self.make_room(spent) {
            return false;
        }
        let Some(chunk) = self.chunks.last_mut() else { return false };
        match *state {
            // Most states are short.
            [one] if (self.head, self.halves) == (1, 2) => {
                chunk.extend_from_slice(&[parent, one as u32, (one >> 32) as u32]);
            }
            [one] if (self.head, self.halves) == (0, 2) => {
                chunk.extend_from_slice(&[one as u32, (one >> 32) as u32]);
            }
            [one] if (self.head, self.halves) == (1, 1) => chunk.extend_from_slice(&[parent, one as u32]),
            [one, two] if (self.head, self.halves) == (1, 3) => {
                chunk.extend_from_slice(&[parent, one as u32, (one >> 32) as u32, two as u32]);
            }
            _ => {
                chunk.extend((self.head == 1).then_some(parent));
                let halves = state.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
                chunk.extend(halves.take(self.halves));
            }
        }
        self.len += 1;
        true
    }

    /// Makes room for more states: the first chunk grows, so that small stores are small; the others do not.
    fn make_room(&mut self, spent: u64) -> bool {
        let whole = 1 << self.chunk_bits;
        let more = if self.room < whole { self.room.max(FEW) } else { whole };
        let length = more * (self.head + self.halves);
        // Numbers must fit in an entry of the table, and must not be `NONE`.
        if self.len + more >= NONE as usize || !self.budget.take((length * size_of::<u32>()) as u64, spent) {
            return false;
        }
        if self.room == 0 || self.room >= whole {
            self.chunks.push(Vec::new());
        }
        let Some(chunk) = self.chunks.last_mut() else { return false };
        if chunk.try_reserve_exact(length).is_err() {
            return false;
        }
        self.room += more;
        true
    }

    /// Makes the table larger; false if there is no memory for it and no free entry to spare.
    fn grow(&mut self, spent: u64) -> bool {
        let more = self.table.more_bytes() - self.table.bytes();
        if self.budget.take(more, spent) {
            let mut table = std::mem::take(&mut self.table);
            let mut state = vec![0; self.words];
            let hash = |number| match *self.stored(number) {
                [low, high] if self.words == 1 => hash(&[pair(low, high)]),
                _ => {
                    self.get(number, &mut state);
                    hash(&state)
                }
            };
            let grown = table.grow((0..self.len as u32).map(hash));
            self.table = table;
            if grown {
                return true;
            }
            self.budget.give(more);
        }
        // It may get fuller: that is slower, but works as long as some entries are free.
        self.len < self.table.most()
    }
}

/// What is to be found, at equal distances.
#[derive(Clone, Copy)]
pub(crate) struct LookupKeys<'k> {
    pub(crate) all: &'k [u64],
    /// Where the first is, and how far the next one is from it.
    pub(crate) first: usize,
    pub(crate) stride: usize,
    /// How many words each has.
    pub(crate) words: usize,
}

impl<'k> LookupKeys<'k> {
    #[inline]
    pub(crate) fn get(self, at: usize) -> &'k [u64] {
        &self.all[at * self.stride + self.first..][..self.words]
    }
}

/// Copies out what is stored.
fn unpack(stored: &[u32], state: &mut [u64]) {
    let (pairs, last) = stored.as_chunks();
    for (word, [low, high]) in state.iter_mut().zip(pairs) {
        *word = pair(*low, *high);
    }
    if let (Some(word), [low]) = (state.last_mut(), last) {
        *word = u64::from(*low);
    }
}

/// Whether what is stored is this state.
#[inline]
fn is(stored: &[u32], state: &[u64]) -> bool {
    match (stored, state) {
        // Most states are short.
        ([low], [one]) => u64::from(*low) == *one,
        ([low, high], [one]) => pair(*low, *high) == *one,
        ([low, high, last], [one, two]) => (pair(*low, *high) == *one) & (*two == u64::from(*last)),
        ([low, high, low2, high2], [one, two]) => (pair(*low, *high) == *one) & (pair(*low2, *high2) == *two),
        _ => is_long(stored, state),
    }
}

fn is_long(stored: &[u32], state: &[u64]) -> bool {
    let (pairs, last) = stored.as_chunks();
    pairs.iter().zip(state).all(|([low, high], word)| pair(*low, *high) == *word)
        && last.first().is_none_or(|low| state.last().is_some_and(|word| *word == u64::from(*low)))
}

#[inline]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

const KEY: u64 = 0x9e37_79b9_7f4a_7c15;
const START: u64 = 0x243f_6a88_85a3_08d3;

/// A hash: multiply and fold, word by word. In line, so that it costs few instructions where the number of words is known.
#[inline(always)]
pub(crate) fn hash(words: &[u64]) -> u64 {
    match words {
        // Most states are short.
        [one] => fold(START ^ one, KEY),
        [one, two] => fold(fold(START ^ one, KEY) ^ two, KEY),
        [one, two, three] => fold(fold(START ^ one, KEY) ^ fold(!START ^ two, KEY) ^ three, KEY),
        [one, two, three, four] => {
            let (left, right) = (fold(START ^ one, KEY) ^ two, fold(!START ^ three, KEY) ^ four);
            fold(fold(left, KEY) ^ right, KEY)
        }
        words => hash_many(words),
    }
}

/// The same for many: four at a time, so that a multiplication need not wait for the one before.
fn hash_many(words: &[u64]) -> u64 {
    let mut lanes = [START, !START, KEY, !KEY];
    let (fours, rest) = words.as_chunks::<4>();
    for four in fours {
        lanes.iter_mut().zip(four).for_each(|(lane, word)| *lane = fold(*lane ^ word, KEY));
    }
    lanes.into_iter().chain(rest.iter().copied()).fold(START, |state, word| fold(state ^ word, KEY))
}

/// The two halves of a product, mixed.
#[inline(always)]
pub(crate) fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_found_again_after_the_table_has_grown() {
        let mut store = Store::new(2, 20, None);
        for round in 0..2 {
            for number in 0..20_000u64 {
                let state = [number.wrapping_mul(0x1234_5678_9abc_def1), number % 7];
                let expected =
                    if round == 0 { Inserted::New(number as u32) } else { Inserted::Known(number as u32) };
                assert_eq!(store.insert(&state, NONE, 0), expected);
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
        while let Inserted::New(_) = store.insert(&[number], NONE, 0) {
            number += 1;
        }
        assert!(number > 1000 && store.budget.used() <= 400_000);
        assert_eq!(store.insert(&[number], NONE, 0), Inserted::Full);
        assert_eq!(store.insert(&[0], NONE, 0), Inserted::Known(0));
    }
}
