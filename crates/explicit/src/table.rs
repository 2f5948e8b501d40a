//! A table with open addressing that finds states by their hashes.
//!
//! An entry has 32 bits: the number of a state, and as much of its hash as there is room for beside it, so that few
//! looks are in vain. Entries stand in lines as long as those of the processor's cache; an entry is in the line that
//! the hash says, or, if that is full, in the next that is not.

use crate::{
    cpu::{fetch, like},
    store::NONE,
};

/// Entries of a line.
const ENTRIES: usize = 16;
/// How many states are put in together: the processor waits for their lines at the same time.
const GROUP: usize = 64;
/// Lines of the smallest table.
const LEAST: usize = 4;

/// Entries: part of a hash and, below, one more than a number; or 0. Those in use come first.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u32; ENTRIES]);

/// Numbers by hashes.
#[derive(Default)]
pub(crate) struct HashTable {
    lines: Vec<Line>,
    /// How many bits of an entry are the number's.
    number_bits: u32,
}

/// A free entry: its line, and its place there.
#[derive(Clone, Copy)]
pub(crate) struct Free(usize, usize);

impl HashTable {
    /// With how many states it should grow.
    pub(crate) fn grow_at(&self) -> usize {
        self.lines.len() * ENTRIES / 4 * 3
    }

    /// How many states it can take if it must not grow, slow as that is.
    pub(crate) fn most(&self) -> usize {
        self.lines.len() * ENTRIES / 32 * 31
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> u64 {
        (self.lines.len() * size_of::<Line>()) as u64
    }

    /// Bytes that would be in use if it were larger by half.
    pub(crate) fn more_bytes(&self) -> u64 {
        (self.more_lines() * size_of::<Line>()) as u64
    }

    fn more_lines(&self) -> usize {
        (self.lines.len() / 2 * 3).max(LEAST)
    }

    /// Makes it larger by half and puts in the states with these hashes, numbered from 0. False, and nothing changes,
    /// if there is no memory.
    pub(crate) fn grow(&mut self, mut hashes: impl Iterator<Item = u64>) -> bool {
        let lines = self.more_lines();
        // In its old place where that is possible: it is never there twice.
        if self.lines.try_reserve_exact(lines - self.lines.len()).is_err() {
            return false;
        }
        self.lines.fill(Line([0; ENTRIES]));
        self.lines.resize(lines, Line([0; ENTRIES]));
        self.number_bits = usize::BITS - (lines * ENTRIES).leading_zeros();
        let mut number = 0;
        let mut group = [0; GROUP];
        loop {
            let count = group.iter_mut().zip(&mut hashes).map(|(place, hash)| *place = hash).count();
            group[..count].iter().for_each(|hash| self.fetch(*hash));
            for hash in &group[..count] {
                let free = self.free(*hash);
                self.set(free, *hash, number);
                number += 1;
            }
            if count < GROUP {
                return true;
            }
        }
    }

    /// The first line where a state may be. In the order of hashes.
    #[inline]
    fn line(&self, hash: u64) -> usize {
        (((hash & u64::from(u32::MAX)) * self.lines.len() as u64) >> 32) as usize
    }

    fn line_after(&self, line: usize) -> usize {
        if line + 1 == self.lines.len() { 0 } else { line + 1 }
    }

    /// What entries have of a hash: other bits than those that say the line, or the shard.
    #[inline]
    fn tag(&self, hash: u64) -> u32 {
        ((hash >> 38) << self.number_bits) as u32
    }

    /// The bits of the number.
    #[inline]
    fn numbers(&self) -> u32 {
        ((1u64 << self.number_bits) - 1) as u32
    }

    /// Asks for the line of a hash.
    #[inline]
    pub(crate) fn fetch(&self, hash: u64) {
        fetch(&self.lines, self.line(hash));
    }

    /// The first state in the line of the hash that may be the one; some other state if there is none, or [`NONE`]. Whether
    /// there is comes as by chance: so there is no branch.
    #[inline]
    pub(crate) fn candidate(&self, hash: u64) -> u32 {
        let Some(line) = self.lines.get(self.line(hash)) else { return NONE };
        let like = line.like(self.tag(hash), !self.numbers());
        let entry = line.0[like.trailing_zeros() as usize % ENTRIES];
        (entry & self.numbers()).wrapping_sub(1) & u32::from(like == 0).wrapping_sub(1)
    }

    /// The state with a hash that is the one, or the free entry for it.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Result<u32, Free> {
        if self.lines.is_empty() {
            return Err(Free(0, 0));
        }
        let (tag, numbers) = (self.tag(hash), self.numbers());
        let mut at = self.line(hash);
        loop {
            let line = &self.lines[at];
            let mut like = line.like(tag, !numbers);
            while like != 0 {
                let entry = line.0[like.trailing_zeros() as usize % ENTRIES];
                match (entry & numbers).checked_sub(1) {
                    Some(number) if is(number) => return Ok(number),
                    _ => like &= like - 1,
                }
            }
            if let Some(free) = line.free() {
                return Err(Free(at, free));
            }
            at = self.line_after(at);
        }
    }

    /// The free entry for a state that is not there.
    fn free(&self, hash: u64) -> Free {
        let mut at = self.line(hash);
        loop {
            if let Some(free) = self.lines[at].free() {
                return Free(at, free);
            }
            at = self.line_after(at);
        }
    }

    /// Fills an entry.
    pub(crate) fn set(&mut self, free: Free, hash: u64, number: u32) {
        self.lines[free.0].0[free.1] = self.tag(hash) | (number + 1);
    }
}

impl Line {
    /// Which entries have this part of a hash, as bits.
    #[inline]
    fn like(&self, tag: u32, mask: u32) -> u32 {
        like(&self.0, tag, mask)
    }

    /// The first entry that is not in use.
    #[inline]
    fn free(&self) -> Option<usize> {
        let first = self.like(0, u32::MAX).trailing_zeros() as usize;
        (first < ENTRIES).then_some(first)
    }
}
