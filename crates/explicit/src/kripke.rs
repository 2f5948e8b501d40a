//! What a search keeps beside states where somebody asks for more than single states: the steps between them, and in each the
//! truth of some conditions. With the states of the store that is a Kripke structure, which formulas of linear and branching
//! time read, and AG EF.
//!
//! Steps are found in three phases of a round. Who expands a state makes a [`Sketch`]: into which shard each successor
//! went. Who stores successors in a shard writes down, in the same order, which numbers they have. Then both are put together
//! ([`Sketch::link`]): all is read and written from front to end, and nothing has to be sorted but the few steps of one state.
//!
//! Steps are kept only of states whose label says that a reader can make use of them ([`WantedSteps`]): of `[] <> p`, of those where `p`
//! fails. Of the others only the way back to a start is known, which the store has.

use std::io::{self, Read, Write};

use shoal_code::Pc;
use shoal_model::Fault;

use crate::{
    bytes::{damaged, get, get_all, put, put_all},
    shards::{SHARDS, join, split},
    store::{NONE, StoreBudget},
};

/// What is kept of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepSink {
    /// The conditions whose truth is kept: the first bits of a label.
    pub(crate) conditions: Vec<Pc>,
    /// How many goals there are, of which the bits come after.
    pub(crate) goals: usize,
    pub(crate) wanted: WantedSteps,
}

impl StepSink {
    /// Whether there is nothing to keep.
    pub(crate) fn is_empty(&self) -> bool {
        self.conditions.is_empty() && self.goals == 0 && self.wanted.cubes.is_empty()
    }

    fn bytes_of_label(&self) -> usize {
        (self.conditions.len() + self.goals).div_ceil(8)
    }
}

/// The labels of states whose steps are wanted: all conditions of one of the first masks hold, and none of the second.
#[derive(Clone, Debug, Default)]
pub(crate) struct WantedSteps {
    pub(crate) cubes: Vec<(u64, u64)>,
}

impl WantedSteps {
    /// Steps of all states.
    pub(crate) fn all() -> WantedSteps {
        WantedSteps { cubes: vec![(0, 0)] }
    }

    #[inline]
    pub(crate) fn has(&self, label: u64) -> bool {
        self.cubes.iter().any(|(holds, fails)| label & holds == *holds && label & fails == 0)
    }
}

/// The labels of a shard's states, in the order of their numbers.
pub(crate) struct ShardLabels {
    /// Bytes of each.
    width: usize,
    conditions: usize,
    bytes: Vec<u8>,
    /// For each condition, the first of the latest states in which it faults.
    pub(crate) faults: Vec<(usize, u32, Fault)>,
}

impl ShardLabels {
    pub(crate) fn new(sink: &StepSink) -> ShardLabels {
        let conditions = sink.conditions.len();
        ShardLabels { width: sink.bytes_of_label(), conditions, bytes: Vec::new(), faults: Vec::new() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.capacity() as u64
    }

    /// Adds the label of the next state, in which nothing holds; false if there is no memory.
    pub(crate) fn push(&mut self) -> bool {
        if self.bytes.try_reserve(self.width).is_err() {
            return false;
        }
        self.bytes.resize(self.bytes.len() + self.width, 0);
        true
    }

    /// The last state satisfies a condition.
    pub(crate) fn set(&mut self, condition: usize) {
        self.set_bit(condition);
    }

    /// A goal is reached in the last state.
    pub(crate) fn reached(&mut self, goal: usize) {
        self.set_bit(self.conditions + goal);
    }

    /// A condition faults in the last state, which has this number.
    pub(crate) fn fault(&mut self, condition: usize, number: u32, fault: Fault) {
        if !self.faults.iter().any(|known| known.0 == condition) {
            self.faults.push((condition, number, fault));
        }
    }

    fn set_bit(&mut self, bit: usize) {
        let last = self.bytes.len() - self.width;
        self.bytes[last + bit / 8] |= 1 << (bit % 8);
    }

    /// The conditions that hold in a state.
    #[inline]
    pub(crate) fn get(&self, local: u32) -> u64 {
        let at = local as usize * self.width;
        let label = match self.bytes[at..at + self.width] {
            [] => 0,
            [one] => u64::from(one),
            ref many => many.iter().take(8).rev().fold(0, |label, byte| label << 8 | u64::from(*byte)),
        };
        if self.conditions < 64 { label & ((1 << self.conditions) - 1) } else { label }
    }

    /// Whether a goal is reached in a state.
    pub(crate) fn is_goal(&self, local: u32, goal: usize) -> bool {
        let bit = self.conditions + goal;
        self.bytes[local as usize * self.width + bit / 8] >> (bit % 8) & 1 == 1
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        put_all(out, self.bytes.len(), self.bytes.iter().map(|byte| u64::from(*byte)))
    }

    /// Reads the labels of so many states.
    pub(crate) fn read(&mut self, input: &mut dyn Read, states: usize) -> io::Result<()> {
        get_all(input, |bytes| {
            for byte in bytes {
                self.bytes.push(u8::try_from(*byte).map_err(|_| damaged())?);
            }
            Ok(())
        })?;
        if self.bytes.len() == states * self.width { Ok(()) } else { Err(damaged()) }
    }
}

/// The steps from the states of a piece, as far as the one who expands them knows.
pub(crate) struct Sketch {
    /// The states whose steps are kept, and how many steps each has. A state that stays as nothing can happen has [`STAYS`].
    states: Vec<(u32, u32)>,
    /// For each step, in which shard the state after it is.
    shards: Vec<u8>,
    /// How many steps there are to each shard, and how many the pieces before this have.
    pub(crate) counts: [u32; SHARDS],
    pub(crate) firsts: [u32; SHARDS],
    /// How many steps there were when the present state began.
    begun: usize,
    /// What becomes of it: see [`Kripke`].
    linked: Vec<u32>,
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch {
            states: Vec::new(),
            shards: Vec::new(),
            counts: [0; SHARDS],
            firsts: [0; SHARDS],
            begun: 0,
            linked: Vec::new(),
        }
    }
}

/// Instead of the number of steps: nothing can happen.
const STAYS: u32 = u32::MAX;

impl Sketch {
    pub(crate) fn clear(&mut self) {
        self.states.clear();
        self.shards.clear();
        self.counts = [0; SHARDS];
        self.begun = 0;
        self.linked.clear();
    }

    /// A step leads into a shard.
    #[inline]
    pub(crate) fn step(&mut self, shard: usize) {
        self.shards.push(shard as u8);
        self.counts[shard] += 1;
    }

    /// All steps of a state are known.
    pub(crate) fn close(&mut self, state: u32, stays: bool) {
        let steps = (self.shards.len() - self.begun) as u32;
        self.begun = self.shards.len();
        self.states.push((state, if stays { STAYS } else { steps }));
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.states.capacity() * 8 + self.shards.capacity() + self.linked.capacity() * 4) as u64
    }

    /// Puts the numbers of the states after steps in their places. `numbers` are those in each shard, from the first of this
    /// piece on.
    pub(crate) fn link(&mut self, mut numbers: [&[u32]; SHARDS]) {
        let Sketch { states, shards, linked, .. } = self;
        linked.clear();
        linked.reserve(2 * states.len() + shards.len());
        let mut shards = shards.iter();
        for (state, steps) in states {
            linked.extend([*state, 0]);
            let first = linked.len();
            if *steps == STAYS {
                linked.push(*state);
            } else {
                for shard in shards.by_ref().take(*steps as usize) {
                    let numbers = &mut numbers[usize::from(*shard)];
                    let Some((local, others)) = numbers.split_first() else { continue };
                    *numbers = others;
                    // Where an assumption drops a state, no step leads to it.
                    if *local != NONE {
                        linked.extend(join(usize::from(*shard), *local));
                    }
                }
            }
            dedup(linked, first);
            linked[first - 1] = (linked.len() - first) as u32;
        }
    }

    /// Whether there is nothing to put together.
    pub(crate) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// What was put together.
    pub(crate) fn linked(&self) -> &[u32] {
        &self.linked
    }
}

/// Leaves out what is there twice, from one place on. Mostly that is very little.
fn dedup(list: &mut Vec<u32>, first: usize) {
    list[first..].sort_unstable();
    let mut kept = first;
    for at in first..list.len() {
        if at == first || list[at] != list[kept - 1] {
            list[kept] = list[at];
            kept += 1;
        }
    }
    list.truncate(kept);
}

/// Words of the first chunk and of the largest.
const CHUNK: (usize, usize) = (1 << 10, 1 << 20);

/// The steps that are kept. An entry has the number of a state, that of its steps, and the states after them in order.
#[derive(Default)]
pub(crate) struct Kripke {
    chunks: Vec<Vec<u32>>,
    /// For each shard and each of its states the chunk of its entry, and the place there. [`NOWHERE`] if its steps are not kept;
    /// states behind the last are not expanded, or not kept either.
    positions: Vec<Vec<u64>>,
    /// Bytes that are taken of the budget.
    bytes: u64,
}

const NOWHERE: u64 = u64::MAX;

impl Kripke {
    /// Adds entries; false if there is no memory.
    pub(crate) fn add(&mut self, entries: &[u32], budget: &StoreBudget) -> bool {
        if entries.is_empty() {
            return true;
        }
        if self.positions.is_empty() {
            self.positions.resize(SHARDS, Vec::new());
        }
        if !self.has_room(entries.len(), budget) {
            return false;
        }
        let number = self.chunks.len() - 1;
        let chunk = &mut self.chunks[number];
        let mut at = chunk.len();
        chunk.extend_from_slice(entries);
        while let [state, steps, ..] = chunk[at..] {
            let (shard, local) = split(state);
            let positions = &mut self.positions[shard];
            debug_assert!(positions.len() <= local as usize, "states of a shard are expanded in order");
            let before = positions.capacity();
            positions.resize(local as usize, NOWHERE);
            positions.push((number as u64) << 32 | at as u64);
            let more = (positions.capacity() - before) as u64 * 8;
            if more > 0 {
                if !budget.take(more, 0) {
                    return false;
                }
                self.bytes += more;
            }
            at += 2 + steps as usize;
        }
        true
    }

    fn has_room(&mut self, words: usize, budget: &StoreBudget) -> bool {
        if self.chunks.last().is_some_and(|chunk| chunk.capacity() - chunk.len() >= words) {
            return true;
        }
        let size = (CHUNK.0 << self.chunks.len().min(16)).min(CHUNK.1).max(words);
        if !budget.take(size as u64 * 4, 0) {
            return false;
        }
        self.bytes += size as u64 * 4;
        let mut chunk = Vec::new();
        if chunk.try_reserve_exact(size).is_err() {
            return false;
        }
        self.chunks.push(chunk);
        true
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self, budget: &StoreBudget) {
        budget.give(self.bytes);
        *self = Kripke::default();
    }

    /// The states after a state, if they are kept.
    #[inline]
    pub(crate) fn after(&self, number: u32) -> &[u32] {
        let (shard, local) = split(number);
        let position = self.positions.get(shard).and_then(|positions| positions.get(local as usize));
        match position.copied() {
            None | Some(NOWHERE) => &[],
            Some(position) => {
                let entry = &self.chunks[(position >> 32) as usize][position as u32 as usize..];
                &entry[2..][..entry[1] as usize]
            }
        }
    }

    /// The states whose steps are kept, in the order in which they were expanded, and the states after each.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.chunks.iter().flat_map(|chunk| {
            let mut at = 0;
            std::iter::from_fn(move || {
                let [state, steps, ..] = chunk[at..] else { return None };
                let after = &chunk[at + 2..][..steps as usize];
                at += 2 + steps as usize;
                Some((state, after))
            })
        })
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        put(out, self.chunks.len() as u64)?;
        for chunk in &self.chunks {
            put_all(out, chunk.len(), chunk.iter().map(|word| u64::from(*word)))?;
        }
        Ok(())
    }

    /// Reads what was written, for shards of these lengths.
    pub(crate) fn read(
        &mut self,
        input: &mut dyn Read,
        lengths: &[u32; SHARDS],
        budget: &StoreBudget,
    ) -> io::Result<()> {
        for _ in 0..get(input)? {
            let mut words = Vec::new();
            get_all(input, |numbers| {
                for number in numbers {
                    words.push(u32::try_from(*number).map_err(|_| damaged())?);
                }
                Ok(())
            })?;
            if !is_sound(&words, lengths) {
                return Err(damaged());
            }
            if !self.add(&words, budget) {
                return Err(io::ErrorKind::OutOfMemory.into());
            }
        }
        Ok(())
    }
}

/// Whether words are entries, of states that there are.
fn is_sound(mut words: &[u32], lengths: &[u32; SHARDS]) -> bool {
    let exists = |number: &u32| {
        let (shard, local) = split(*number);
        local < lengths[shard]
    };
    while let [state, steps, rest @ ..] = words {
        let Some((after, others)) = rest.split_at_checked(*steps as usize) else { return false };
        if !exists(state) || !after.iter().all(exists) {
            return false;
        }
        words = others;
    }
    words.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_linked_to_what_was_stored() {
        let mut sketch = Sketch::default();
        sketch.clear();
        for shard in [3, 5, 3, 3] {
            sketch.step(shard);
        }
        sketch.close(7, false);
        sketch.close(8, true);
        sketch.step(5);
        sketch.close(9, false);
        assert_eq!((sketch.counts[3], sketch.counts[5]), (3, 2));
        let mut numbers: [&[u32]; SHARDS] = [&[]; SHARDS];
        numbers[3] = &[4, 4, NONE];
        numbers[5] = &[1, 0];
        sketch.link(numbers);
        let far = |shard, local| join(shard, local).unwrap();
        assert_eq!(sketch.linked(), [7, 2, far(5, 1), far(3, 4), 8, 1, 8, 9, 1, far(5, 0)]);
        let mut kripke = Kripke::default();
        let budget = StoreBudget::new(None);
        assert!(kripke.add(sketch.linked(), &budget));
        assert_eq!(kripke.after(7), [far(5, 1), far(3, 4)]);
        assert_eq!(kripke.after(8), [8]);
        assert_eq!((kripke.after(6), kripke.after(100)), (&[][..], &[][..]));
        assert_eq!(kripke.entries().count(), 3);
        let mut saved = Vec::new();
        kripke.write(&mut saved).unwrap();
        let mut again = Kripke::default();
        again.read(&mut &saved[..], &[100; SHARDS], &budget).unwrap();
        assert_eq!(again.after(9), [far(5, 0)]);
        assert!(Kripke::default().read(&mut &saved[..], &[1; SHARDS], &budget).is_err());
        again.clear(&budget);
        kripke.clear(&budget);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn labels_have_as_many_bits_as_are_asked_for() {
        for (conditions, goals) in [(1, 0), (8, 1), (0, 3), (64, 0), (64, 5), (13, 70)] {
            let sink = StepSink { conditions: vec![0; conditions], goals, wanted: WantedSteps::all() };
            let mut labels = ShardLabels::new(&sink);
            assert!(labels.push());
            assert!(labels.push());
            (0..conditions).step_by(3).for_each(|bit| labels.set(bit));
            (0..goals).step_by(2).for_each(|goal| labels.reached(goal));
            let expected = (0..conditions).step_by(3).fold(0, |label, bit| label | 1 << bit);
            assert_eq!((labels.get(0), labels.get(1)), (0, expected));
            assert!((0..goals).all(|goal| labels.is_goal(1, goal) == (goal % 2 == 0)));
        }
    }
}
