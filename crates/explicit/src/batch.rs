//! What comes out of expanding some states: successors, sorted by the shard they belong to, and what was noticed.

use shoal_model::PropertyId;

use crate::{
    cpu::fetch,
    kripke::Sketch,
    recent::{ALONE, alone},
    shards::{SHARDS, shard},
    store::{LookupKeys, NONE, hash},
    worker::PropertyEvent,
};

/// The result of a piece of work. Two threads that fill neighbours do not write to the same lines of the cache, nor to
/// those that the processor fetches together.
#[repr(align(128))]
pub(crate) struct Batch {
    pub(crate) shape: RecordShape,
    /// Successors by shard.
    buckets: Box<[Bucket; SHARDS]>,
    pub(crate) events: Vec<PropertyEvent>,
    pub(crate) covered: Vec<PropertyId>,
    /// How often each rule fired.
    pub(crate) fired: Vec<u64>,
    /// Nanoseconds that each rule took where it was timed.
    pub(crate) spent: Vec<u64>,
    /// In how many states steps were put off.
    pub(crate) put_off: u64,
    /// The steps that are kept.
    pub(crate) sketch: Sketch,
    /// In a search of several processes, what each of them gets.
    pub(crate) parcels: Vec<Vec<u64>>,
    /// The least state found on the way back from another; see [`crate::apart`].
    pub(crate) before: Option<Vec<u64>>,
}

/// What records of successors look like: step, hash if the state is not short, two words for the size of the orbit if orbits
/// have sizes, and the packed state. Records for other processes have no step and no hash, and one word for the orbit.
#[derive(Clone, Copy)]
pub(crate) struct RecordShape {
    stepped: bool,
    hashed: bool,
    /// Where the state begins.
    head: usize,
    words: usize,
}

/// The hash of states of so few words is sooner found again than read: records go a long way through memory.
const SHORT: usize = 2;

/// Records, and behind them room for more.
#[derive(Clone, Default)]
struct Bucket {
    records: Vec<u64>,
    used: usize,
}

/// See [`Batch::pusher`].
pub(crate) struct Pusher<'b> {
    buckets: &'b mut [Bucket; SHARDS],
    fired: &'b mut [u64],
    sketch: &'b mut Sketch,
}

/// So many words before they are written, memory is asked for: buckets are too many for the processor to follow.
const AHEAD: usize = 16;
/// How many words a bucket gets more when it is full.
const MORE: usize = 64;

/// How a successor was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SuccessorStep {
    /// The state before; [`crate::store::NONE`] for a start state.
    pub(crate) parent: u32,
    /// The rule that led here, or the start.
    pub(crate) rule: u32,
    /// Whether the step is kept beside the state.
    pub(crate) kept: bool,
}

/// The bit of a rule that says that the step is kept.
const KEPT: u32 = 1 << 31;

/// A successor.
pub(crate) struct Record<'b> {
    pub(crate) hash: u64,
    pub(crate) step: SuccessorStep,
    /// How many states the orbit has, if that is known.
    pub(crate) orbit: Option<u128>,
    pub(crate) state: &'b [u64],
}

impl Batch {
    pub(crate) fn new(words: usize, orbits: bool, rules: usize) -> Batch {
        Batch {
            shape: RecordShape::new(words, orbits),
            buckets: Box::new(std::array::from_fn(|_| Bucket::default())),
            events: Vec::new(),
            covered: Vec::new(),
            fired: vec![0; rules],
            spent: vec![0; rules],
            put_off: 0,
            sketch: Sketch::default(),
            parcels: Vec::new(),
            before: None,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.buckets.iter_mut().for_each(|bucket| bucket.used = 0);
        self.events.clear();
        self.covered.clear();
        self.fired.fill(0);
        self.spent.fill(0);
        self.put_off = 0;
        self.sketch.clear();
    }

    /// Adds a successor if it is wanted. Whether it is comes as by chance, and the processor could not guess: so a
    /// record is written in any case, and only counts if it is wanted.
    #[inline]
    pub(crate) fn push(&mut self, state: &[u64], hash: u64, step: SuccessorStep, wanted: bool) {
        debug_assert!(wanted || !step.kept, "a step that is kept leads to a state that is stored");
        if step.kept {
            self.sketch.step(shard(hash));
        }
        let bucket = &mut self.buckets[shard(hash)];
        let length = self.shape.length();
        let record = bucket.room(length);
        record[0] = step.packed();
        if self.shape.hashed {
            record[1] = hash;
        }
        let there = &mut record[self.shape.head..];
        if state.len() > ALONE {
            there.copy_from_slice(state);
        } else {
            there.iter_mut().zip(state).for_each(|(there, word)| *there = alone(word));
        }
        bucket.used += length * usize::from(wanted);
    }

    /// Adds successors that are in registers, and counts for each that its rule has fired.
    #[inline]
    pub(crate) fn pusher(&mut self) -> Pusher<'_> {
        Pusher { buckets: &mut self.buckets, fired: &mut self.fired, sketch: &mut self.sketch }
    }

    /// Adds a successor with the size of its orbit.
    pub(crate) fn push_orbit(&mut self, state: &[u64], hash: u64, step: SuccessorStep, orbit: Option<u128>) {
        if step.kept {
            self.sketch.step(shard(hash));
        }
        let bucket = &mut self.buckets[shard(hash)];
        let length = self.shape.length();
        let record = bucket.room(length);
        let orbit = orbit.unwrap_or(0);
        record[0] = step.packed();
        if self.shape.hashed {
            record[1] = hash;
        }
        let (head, there) = record.split_at_mut(self.shape.head);
        head[self.shape.head - 2..].copy_from_slice(&[orbit as u64, (orbit >> 64) as u64]);
        there.copy_from_slice(state);
        bucket.used += length;
    }

    /// How many successors there are.
    pub(crate) fn reached(&self) -> u64 {
        (self.buckets.iter().map(|bucket| bucket.used).sum::<usize>() / self.shape.length()) as u64
    }

    /// Bytes that successors have room in. Never less than before.
    pub(crate) fn bytes(&self) -> u64 {
        let words: usize = self.buckets.iter().map(|bucket| bucket.records.capacity()).sum();
        (words * size_of::<u64>()) as u64 + self.sketch.bytes()
    }

    /// Marks the shards that have successors here.
    pub(crate) fn mark(&self, shards: &mut [bool; SHARDS]) {
        for (mark, bucket) in shards.iter_mut().zip(&*self.buckets) {
            *mark |= bucket.used > 0;
        }
    }

    /// A shard's successors, some at a time, as [`RecordShape::each`] reads them.
    pub(crate) fn groups(&self, shard: usize, most: usize) -> impl Iterator<Item = &[u64]> {
        self.raw(shard).chunks(most * self.shape.length())
    }

    /// What a shard's successors are written as.
    pub(crate) fn raw(&self, shard: usize) -> &[u64] {
        let bucket = &self.buckets[shard];
        &bucket.records[..bucket.used]
    }

    /// A shard's successors.
    pub(crate) fn records(&self, shard: usize) -> impl Iterator<Item = Record<'_>> {
        self.shape.each(self.raw(shard)).map(|record| self.shape.record(record))
    }
}

impl Pusher<'_> {
    /// Adds a successor to which the step is kept.
    #[inline(always)]
    pub(crate) fn kept<const WORDS: usize>(&mut self, state: [u64; WORDS], hash: u64, step: SuccessorStep) {
        self.sketch.step(shard(hash));
        self.few(state, hash, step, true);
    }

    /// Adds a successor if it is wanted; see [`Batch::push`].
    #[inline(always)]
    pub(crate) fn few<const WORDS: usize>(
        &mut self,
        state: [u64; WORDS],
        hash: u64,
        step: SuccessorStep,
        wanted: bool,
    ) {
        self.fired[step.rule as usize] += 1;
        let bucket = &mut self.buckets[shard(hash)];
        let head = if WORDS > SHORT { 2 } else { 1 };
        let length = head + WORDS;
        let record = bucket.room(length);
        record[0] = step.packed();
        if WORDS > SHORT {
            record[1] = hash;
        }
        record[head..].copy_from_slice(&state);
        bucket.used += length * usize::from(wanted);
    }
}

impl Bucket {
    /// Where the next record goes.
    #[inline]
    fn room(&mut self, length: usize) -> &mut [u64] {
        let end = self.used + length;
        if end > self.records.len() {
            self.grow(end);
        }
        fetch(&self.records, end + AHEAD);
        &mut self.records[self.used..end]
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        self.records.resize((2 * self.records.len()).max(end + MORE), 0);
    }
}

impl RecordShape {
    pub(crate) fn new(words: usize, orbits: bool) -> RecordShape {
        let hashed = words > SHORT;
        RecordShape {
            stepped: true,
            hashed,
            head: 1 + usize::from(hashed) + if orbits { 2 } else { 0 },
            words,
        }
    }

    /// The records that other processes get.
    pub(crate) fn thin(self) -> RecordShape {
        let orbit = self.head > 1 + usize::from(self.hashed);
        RecordShape { stepped: false, hashed: false, head: usize::from(orbit), words: self.words }
    }

    /// Adds a record as other processes get it.
    #[inline]
    pub(crate) fn put_thin(self, record: &[u64], to: &mut Vec<u64>) {
        if let [low, high] = record[1 + usize::from(self.hashed)..self.head] {
            // Where it does not fit, it is not known.
            to.push(if high == 0 { low } else { 0 });
        }
        to.extend_from_slice(&record[self.head..]);
    }

    /// Adds a state as a record for other processes. The size of its orbit is not known.
    pub(crate) fn put_bare(self, state: &[u64], to: &mut Vec<u64>) {
        to.extend(std::iter::repeat_n(0, self.head));
        to.extend_from_slice(state);
    }

    /// Words of a record.
    pub(crate) fn length(self) -> usize {
        self.head + self.words
    }

    /// The records of a group.
    #[inline]
    pub(crate) fn each(self, group: &[u64]) -> std::slice::ChunksExact<'_, u64> {
        group.chunks_exact(self.length())
    }

    /// Reads a record.
    #[inline]
    pub(crate) fn record(self, record: &[u64]) -> Record<'_> {
        let orbit = match record[usize::from(self.stepped) + usize::from(self.hashed)..self.head] {
            [low, high] => u128::from(high) << 64 | u128::from(low),
            [low] => u128::from(low),
            _ => 1,
        };
        let step = match self.stepped {
            true => SuccessorStep {
                parent: (record[0] >> 32) as u32,
                rule: record[0] as u32 & !KEPT,
                kept: is_kept(record),
            },
            false => SuccessorStep { parent: NONE, rule: 0, kept: false },
        };
        Record {
            hash: self.hash(record),
            step,
            orbit: (orbit != 0).then_some(orbit),
            state: &record[self.head..],
        }
    }

    /// Which records of a group have steps that are kept.
    pub(crate) fn kept(self, group: &[u64]) -> impl Iterator<Item = bool> + '_ {
        self.each(group).map(is_kept)
    }

    /// The packed states of a group.
    pub(crate) fn states(self, group: &[u64]) -> LookupKeys<'_> {
        LookupKeys { all: group, first: self.head, stride: self.length(), words: self.words }
    }

    /// The hashes of the states of a group; gives how many there are.
    #[inline]
    pub(crate) fn hashes(self, group: &[u64], hashes: &mut [u64]) -> usize {
        let hashes = hashes.iter_mut();
        match (self.head, self.words) {
            (0, 1) => hashes.zip(group).map(|(place, one)| *place = hash(&[*one])).count(),
            (1, 1) => hashes.zip(group.as_chunks().0).map(|(place, [_, one])| *place = hash(&[*one])).count(),
            _ => hashes.zip(self.each(group)).map(|(place, record)| *place = self.hash(record)).count(),
        }
    }

    /// The hash of the state of a record.
    #[inline]
    fn hash(self, record: &[u64]) -> u64 {
        if self.hashed { record[1] } else { hash(self.state(record)) }
    }

    /// The packed state of a record.
    #[inline]
    pub(crate) fn state(self, record: &[u64]) -> &[u64] {
        &record[self.head..]
    }
}

impl SuccessorStep {
    fn packed(self) -> u64 {
        let kept = if self.kept { KEPT } else { 0 };
        u64::from(self.parent) << 32 | u64::from(self.rule | kept)
    }
}

/// Whether the step of a record is kept.
#[inline]
fn is_kept(record: &[u64]) -> bool {
    record[0] as u32 & KEPT != 0
}
