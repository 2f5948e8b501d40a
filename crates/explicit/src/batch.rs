//! What comes out of expanding some states: successors, sorted by the shard they belong to, and what was noticed.

use shoal_model::PropertyId;

use crate::{
    shards::{SHARDS, shard},
    store::Origin,
    worker::Event,
};

/// The result of a piece of work.
pub(crate) struct Batch {
    /// Successors by shard, each a record: hash, origin, two words for the size of its orbit if orbits have sizes,
    /// and the packed state.
    buckets: Vec<Vec<u64>>,
    head: usize,
    words: usize,
    pub(crate) events: Vec<Event>,
    pub(crate) covered: Vec<PropertyId>,
    /// How often each rule fired.
    pub(crate) fired: Vec<u64>,
    /// How many successors there are.
    pub(crate) reached: u64,
}

/// A successor.
pub(crate) struct Record<'b> {
    pub(crate) hash: u64,
    pub(crate) origin: Origin,
    /// How many states the orbit has, if that is known.
    pub(crate) orbit: Option<u128>,
    pub(crate) state: &'b [u64],
}

impl Batch {
    pub(crate) fn new(words: usize, orbits: bool, rules: usize) -> Batch {
        Batch {
            buckets: vec![Vec::new(); SHARDS],
            head: if orbits { 4 } else { 2 },
            words,
            events: Vec::new(),
            covered: Vec::new(),
            fired: vec![0; rules],
            reached: 0,
        }
    }

    pub(crate) fn clear(&mut self) {
        self.buckets.iter_mut().for_each(Vec::clear);
        self.events.clear();
        self.covered.clear();
        self.fired.fill(0);
        self.reached = 0;
    }

    /// Adds a successor.
    pub(crate) fn push(&mut self, state: &[u64], hash: u64, origin: Origin, orbit: Option<u128>) {
        let shard = shard(hash);
        let bucket = &mut self.buckets[shard];
        let origin = u64::from(origin.parent) << 32 | u64::from(origin.rule);
        match *state {
            // Most states are short.
            [one] if self.head == 2 => bucket.extend_from_slice(&[hash, origin, one]),
            [one, two] if self.head == 2 => bucket.extend_from_slice(&[hash, origin, one, two]),
            _ => {
                bucket.extend_from_slice(&[hash, origin]);
                if self.head > 2 {
                    let orbit = orbit.unwrap_or(0);
                    bucket.extend_from_slice(&[orbit as u64, (orbit >> 64) as u64]);
                }
                bucket.extend_from_slice(state);
            }
        }
        self.reached += 1;
    }

    /// Marks the shards that have successors here.
    pub(crate) fn mark(&self, shards: &mut [bool; SHARDS]) {
        for (mark, bucket) in shards.iter_mut().zip(&self.buckets) {
            *mark |= !bucket.is_empty();
        }
    }

    /// A shard's successors.
    pub(crate) fn records(&self, shard: usize) -> impl Iterator<Item = Record<'_>> {
        self.buckets[shard].chunks_exact(self.head + self.words).map(|record| {
            let orbit = match self.head {
                2 => 1,
                _ => u128::from(record[3]) << 64 | u128::from(record[2]),
            };
            Record {
                hash: record[0],
                origin: Origin { parent: (record[1] >> 32) as u32, rule: record[1] as u32 },
                orbit: (orbit != 0).then_some(orbit),
                state: &record[self.head..],
            }
        })
    }
}
