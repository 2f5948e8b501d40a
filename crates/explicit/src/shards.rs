//! The states that were seen, in parts that can be filled at the same time.
//!
//! The hash of a state says in which shard it is. A state's number is its number in the shard and the shard. What
//! is found in a level of the search stands together in each shard, so that a level is a range in each.

use std::{
    cell::OnceCell,
    io::{self, Read, Write},
    ops::Range,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use shoal_code::Layout;
use shoal_model::Storage;

use crate::{
    bytes::{damaged, get, get_list, put, put_all},
    kept::Kept,
    kripke::{ShardLabels, StepSink},
    store::{NONE, Store, StoreBudget, hash},
    tree::Tree,
    worker::PropertyEvent,
};

/// How many shards there are, whatever the number of threads: what is found must not depend on that.
pub(crate) const SHARDS: usize = 1 << SHARD_BITS;
const SHARD_BITS: u32 = 6;

/// The states that have certain hashes, and what was noticed when they were stored. Aligned as [`crate::batch::Batch`] is.
#[repr(align(128))]
pub(crate) struct Shard {
    pub(crate) store: Store,
    pub(crate) form: StoredForm,
    /// What holds in these states, if that is kept.
    pub(crate) labels: Option<ShardLabels>,
    /// The numbers of the states that this round's steps lead to, where these are kept.
    pub(crate) numbers: Vec<u32>,
    /// Bytes beside the store's that are taken of the budget.
    taken: u64,
    /// How many states of the unreduced system these stand for, if that is known.
    pub(crate) full: Option<u128>,
    /// How many states each rule was the first to lead to.
    pub(crate) fresh: Vec<u64>,
    /// Whether what is stored here may be on the disk already; see [`crate::runs`].
    pub(crate) unsure: bool,
    /// What was noticed since the search last asked.
    pub(crate) events: Vec<PropertyEvent>,
    /// A state could not be stored: for lack of memory, or because there were to be no more.
    pub(crate) refused: Option<StoreRefused>,
    /// The first new state in which elements are not treated alike.
    pub(crate) asymmetry: Option<Box<shoal_model::Asymmetry>>,
}

/// What the store has of states.
pub(crate) enum StoredForm {
    /// The packed states.
    Whole,
    /// What a tree makes of them.
    Tree(Tree),
    /// Their hashes; beside them, the states that are still to be expanded.
    Hashes(Kept),
}

/// Why a state was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreRefused {
    /// There was no time left to check it.
    Time,
    Memory,
    Number,
}

impl Shard {
    /// Copies out a state that is not expanded yet.
    pub(crate) fn state(&self, local: u32, words: &mut [u64]) {
        match &self.form {
            StoredForm::Whole => self.store.get(local, words),
            StoredForm::Tree(tree) => tree.state(self.store.key(local)[0], words),
            StoredForm::Hashes(kept) => kept.get(local, words),
        }
    }

    /// Adds states that are not expanded yet, of so many words, to others.
    pub(crate) fn states(&self, locals: Range<u32>, words: usize, packed: &mut Vec<u64>) {
        match &self.form {
            StoredForm::Whole => self.store.get_all(locals, packed),
            StoredForm::Tree(_) | StoredForm::Hashes(_) => {
                let before = packed.len();
                packed.resize(before + locals.len() * words, 0);
                let states = packed[before..].chunks_exact_mut(words);
                states.zip(locals).for_each(|(state, local)| self.state(local, state));
            }
        }
    }

    /// Bytes in use beside the store's.
    pub(crate) fn bytes_beside(&self) -> u64 {
        let form = match &self.form {
            StoredForm::Whole => 0,
            StoredForm::Tree(tree) => tree.bytes(),
            StoredForm::Hashes(kept) => kept.bytes(),
        };
        form + self.labels.as_ref().map_or(0, ShardLabels::bytes) + self.numbers.capacity() as u64 * 4
    }

    /// Takes of the budget what was used beside the store since, or gives back what is not used any more. False if there is
    /// not so much.
    pub(crate) fn account(&mut self, budget: &StoreBudget) -> bool {
        let now = self.bytes_beside();
        if now > self.taken && !budget.take(now - self.taken, 0) {
            return false;
        }
        if now < self.taken {
            budget.give(self.taken - now);
        }
        self.taken = now;
        true
    }

    /// Forgets the states before one, where only hashes are kept for good.
    fn forget_before(&mut self, local: u32, budget: &StoreBudget) {
        let StoredForm::Hashes(kept) = &mut self.form else { return };
        kept.forget_before(local);
        self.account(budget);
    }

    /// Writes the states and steps.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.store.write(out)?;
        let full = self.full.unwrap_or(u128::MAX);
        put(out, full as u64)?;
        put(out, (full >> 64) as u64)?;
        put_all(out, self.fresh.len(), self.fresh.iter().copied())?;
        self.labels.as_ref().map_or(Ok(()), |labels| labels.write(out))
    }

    /// Reads what was written into a shard that is empty.
    pub(crate) fn read(&mut self, input: &mut dyn Read, budget: &StoreBudget) -> io::Result<()> {
        self.store.read(input)?;
        let full = u128::from(get(input)?) | u128::from(get(input)?) << 64;
        self.full = (full != u128::MAX).then_some(full);
        let rules = self.fresh.len();
        self.fresh.clear();
        get_list(input, &mut self.fresh)?;
        if self.fresh.len() != rules {
            return Err(damaged());
        }
        let Some(labels) = &mut self.labels else { return Ok(()) };
        labels.read(input, self.store.len())?;
        match self.account(budget) {
            true => Ok(()),
            false => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }
}

/// All shards.
pub(crate) struct Shards {
    shards: Vec<RwLock<Shard>>,
    pub(crate) budget: Arc<StoreBudget>,
    storage: Storage,
    /// How many words a packed state has.
    words: usize,
}

/// What traces need to know of states.
pub(crate) trait History {
    /// What is kept of a state.
    fn key(&self, number: u32) -> Vec<u64>;
    /// What would be kept of a packed state.
    fn key_of(&self, words: Vec<u64>) -> Vec<u64>;
    /// The state that a state was first reached from; [`NONE`] for a start state.
    fn parent(&self, number: u32) -> u32;
}

impl Shards {
    /// Shards for the states of a layout, with what is kept beside them.
    pub(crate) fn new(
        layout: &Layout,
        rules: usize,
        limit: Option<u64>,
        sink: &StepSink,
        storage: Storage,
        parents: bool,
    ) -> Shards {
        let budget = StoreBudget::new(limit);
        let shard = |_| {
            let (form, words, last_bits) = match storage {
                Storage::Hashes => (StoredForm::Hashes(Kept::new(layout.words())), 1, u64::BITS),
                Storage::Tree => (StoredForm::Tree(Tree::new(layout.words())), 1, u64::BITS),
                Storage::Exact | Storage::Bits => (StoredForm::Whole, layout.words(), layout.last_bits()),
            };
            let store = Store::within(words, last_bits, budget.clone(), parents);
            let labels = (!sink.is_empty()).then(|| ShardLabels::new(sink));
            // With room behind it, so that it shares no line of the cache with that of another shard.
            let mut fresh = Vec::with_capacity(rules + 16);
            fresh.resize(rules, 0);
            RwLock::new(Shard {
                store,
                form,
                labels,
                numbers: Vec::new(),
                taken: 0,
                full: Some(0),
                fresh,
                unsure: false,
                events: Vec::new(),
                refused: None,
                asymmetry: None,
            })
        };
        Shards { shards: (0..SHARDS).map(shard).collect(), budget, storage, words: layout.words() }
    }

    /// Whether packed states are kept as they are.
    pub(crate) fn are_whole(&self) -> bool {
        match self.storage {
            Storage::Exact | Storage::Bits => true,
            Storage::Hashes | Storage::Tree => false,
        }
    }

    pub(crate) fn read(&self, shard: usize) -> RwLockReadGuard<'_, Shard> {
        self.shards[shard].read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self, shard: usize) -> RwLockWriteGuard<'_, Shard> {
        self.shards[shard].write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the states before these, where only hashes are kept for good.
    pub(crate) fn forget_before(&self, starts: &[u32; SHARDS]) {
        if self.storage == Storage::Hashes {
            starts.iter().enumerate().for_each(|(shard, local)| {
                self.write(shard).forget_before(*local, &self.budget);
            });
        }
    }

    /// Forgets what is kept beside states.
    pub(crate) fn drop_labels(&self) {
        for shard in 0..SHARDS {
            let mut shard = self.write(shard);
            (shard.labels, shard.numbers) = (None, Vec::new());
            shard.account(&self.budget);
        }
    }

    /// How many states each shard has.
    pub(crate) fn lengths(&self) -> [u32; SHARDS] {
        std::array::from_fn(|shard| self.read(shard).store.len() as u32)
    }
}

/// Shards for who reads them for a while. Each is locked when it is first looked at: a round of few states looks at few of them.
pub(crate) struct ShardReader<'s> {
    shards: &'s Shards,
    guards: [OnceCell<RwLockReadGuard<'s, Shard>>; SHARDS],
}

impl<'s> ShardReader<'s> {
    pub(crate) fn new(shards: &'s Shards) -> ShardReader<'s> {
        ShardReader { shards, guards: [const { OnceCell::new() }; SHARDS] }
    }

    #[inline]
    pub(crate) fn get(&self, shard: usize) -> &Shard {
        self.guards[shard].get_or_init(|| self.shards.read(shard))
    }

    /// Whether packed states are kept as they are.
    pub(crate) fn are_whole(&self) -> bool {
        self.shards.are_whole()
    }
}

impl History for Shards {
    fn key(&self, number: u32) -> Vec<u64> {
        let (shard, local) = split(number);
        let shard = self.read(shard);
        match &shard.form {
            StoredForm::Whole | StoredForm::Hashes(_) => shard.store.key(local),
            StoredForm::Tree(_) => {
                let mut words = vec![0; self.words];
                shard.state(local, &mut words);
                words
            }
        }
    }

    fn key_of(&self, words: Vec<u64>) -> Vec<u64> {
        if self.storage == Storage::Hashes { vec![hash(&words)] } else { words }
    }

    fn parent(&self, number: u32) -> u32 {
        let (shard, local) = split(number);
        self.read(shard).store.parent(local)
    }
}

/// The shard of a state with this hash.
pub(crate) fn shard(hash: u64) -> usize {
    // Other bits than those that the shard's table uses.
    (hash >> 32) as usize % SHARDS
}

/// The number of a state from its number in the shard; nothing if the shard can have no more states.
pub(crate) fn join(shard: usize, local: u32) -> Option<u32> {
    let number = local.checked_mul(SHARDS as u32)? | shard as u32;
    (number != NONE).then_some(number)
}

/// The shard of a state and its number there.
pub(crate) fn split(number: u32) -> (usize, u32) {
    (number as usize % SHARDS, number >> SHARD_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_can_be_taken_apart() {
        for (shard, local) in [(0, 0), (5, 7), (SHARDS - 1, (1 << 26) - 2)] {
            assert_eq!(join(shard, local).map(split), Some((shard, local)));
        }
        assert_eq!(join(SHARDS - 1, (1 << 26) - 1), None);
        assert_eq!(join(0, 1 << 26), None);
    }
}
