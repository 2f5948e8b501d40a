//! States that were reached a moment ago.
//!
//! Most steps lead to states that are known, and many of them to states that a neighbour has just led to: what two
//! elements do independently of each other can be done in either order. A small table of such states, which fits in
//! the processor's cache, spares them the way through the store. It forgets, but never errs: what it knows was handed
//! to the store before.

use crate::{cpu::fetch, store::hash};

/// How many states there must be for one more state in the table: it is small beside the store.
const SHARE: usize = 16;
/// Slots of the smallest table.
const LEAST: usize = 1 << 4;

/// For how many words there is room at first, and at most: more are slower to reach than what they spare is worth.
#[derive(Clone, Copy)]
pub(crate) struct RecentRoom {
    few: usize,
    most: usize,
}

impl RecentRoom {
    /// Where a look into the store is spared.
    pub(crate) const LOOKS: RecentRoom = RecentRoom { few: 1 << 12, most: 1 << 17 };
    /// Where the way to a representative is spared, too, which is ten times as long.
    pub(crate) const REPRESENTATIVES: RecentRoom = RecentRoom { few: 1 << 15, most: 1 << 19 };
    /// Where that way is shorter, as most of it is remembered: more would have more pages than the processor finds at once.
    pub(crate) const REMEMBERED: RecentRoom = RecentRoom { few: 1 << 15, most: 1 << 17 };
}

/// Remembers states.
pub(crate) struct Recent {
    words: usize,
    room: RecentRoom,
    slots: usize,
    states: Vec<u64>,
    /// A part of the hash of each state, for states of many words: mostly it tells that a state is not there, and nobody waits
    /// for the state itself.
    tags: Vec<u32>,
}

impl Recent {
    /// An empty table for packed states of so many words.
    pub(crate) fn new(words: usize, room: RecentRoom) -> Recent {
        let mut recent = Recent { words, room, slots: 0, states: Vec::new(), tags: Vec::new() };
        recent.resize((room.few / words).next_power_of_two().max(LEAST));
        recent
    }

    /// Makes room that is in keeping with so many states in the store. What was remembered is forgotten if there is more.
    pub(crate) fn fit(&mut self, states: u64) {
        let wanted = (states as usize / SHARE).min(self.room.most / self.words).next_power_of_two();
        if wanted > self.slots {
            self.resize(wanted);
        }
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        self.resize(self.slots);
    }

    /// Forgets everything, and makes room for so many. At first all slots have the zero state, which belongs in one of them; that one has another state,
    /// which does not belong there.
    fn resize(&mut self, slots: usize) {
        self.slots = slots;
        self.states.clear();
        self.states.resize(self.words * slots, 0);
        let zero = slot(hash(&vec![0; self.words]), slots);
        let mut other = vec![0; self.words];
        while slot(hash(&other), slots) == zero {
            other[0] += 1;
        }
        self.states[zero * self.words..][..self.words].copy_from_slice(&other);
        if self.words > ALONE {
            self.tags.clear();
            self.tags.resize(slots, 0);
        }
    }

    /// Whether a state is there; it is then.
    #[inline]
    pub(crate) fn knows(&mut self, state: &[u64], hash: u64) -> bool {
        let slot = slot(hash, self.slots);
        let there = &mut self.states[slot * self.words..][..self.words];
        if state.len() > ALONE {
            let known = std::mem::replace(&mut self.tags[slot], hash as u32) == hash as u32 && there == state;
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

    /// Asks for what tells whether a state of many words with this hash may be there.
    #[inline]
    pub(crate) fn ask(&self, hash: u64) {
        fetch(&self.tags, slot(hash, self.slots));
    }

    /// Asks for the places of successors, each the number of its rule and its packed form.
    #[inline]
    pub(crate) fn fetch<const WORDS: usize, const RECORD: usize>(&self, successors: &[u64]) {
        let states = self.states.as_chunks::<WORDS>().0;
        for successor in successors.as_chunks::<RECORD>().0 {
            fetch(states, slot(hash(&successor[1..]), states.len()));
        }
    }

    /// The table for states of so many words.
    #[inline]
    pub(crate) fn few<const WORDS: usize>(&mut self) -> RecentFew<'_, WORDS> {
        RecentFew { states: self.states.as_chunks_mut().0 }
    }
}

/// A [`Recent`] for states of so many words.
pub(crate) struct RecentFew<'r, const WORDS: usize> {
    states: &'r mut [[u64; WORDS]],
}

impl<const WORDS: usize> RecentFew<'_, WORDS> {
    /// Whether a state is there; it is then.
    #[inline]
    pub(crate) fn knows(&mut self, state: [u64; WORDS], hash: u64) -> bool {
        let slot = slot(hash, self.states.len());
        let there = &mut self.states[slot];
        let known = *there == state;
        *there = state;
        known
    }
}

/// The slot of a state, of so many: a power of two.
#[inline]
fn slot(hash: u64, slots: usize) -> usize {
    (hash >> 40) as usize & (slots - 1)
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
        for room in [RecentRoom::LOOKS, RecentRoom::REPRESENTATIVES, RecentRoom::REMEMBERED] {
            knows_nothing_at_first_and_never_errs(Recent::new(1, room));
        }
    }

    fn knows_nothing_at_first_and_never_errs(mut recent: Recent) {
        for states in [0, 1 << 18, 1 << 30] {
            recent.fit(states);
            for state in 0..100_000u64 {
                assert!(!recent.knows(&[state], hash(&[state])));
                assert!(recent.knows(&[state], hash(&[state])));
            }
            // As when there is more room, but without it.
            recent.resize(recent.slots);
        }
        assert_eq!(recent.slots, recent.room.most);
    }
}
