//! The states that are kept, and which of them include which.

use std::{
    collections::{HashMap, hash_map::Entry},
    hash::{Hash, Hasher},
    ops::Index,
};

use rustc_hash::{FxBuildHasher, FxHasher};

use crate::state::ZoneState;

/// A state that is kept.
pub(crate) struct KeptState {
    pub(crate) state: ZoneState,
    /// Where it comes from: the state before and the number of the step among its steps; or the number of the start.
    pub(crate) from: Option<usize>,
    pub(crate) ordinal: usize,
    pub(super) depth: u32,
    /// Whether another state includes it.
    pub(crate) covered: bool,
}

/// The states that are kept, in the order in which they were found.
#[derive(Default)]
pub(crate) struct KeptZones {
    all: Vec<KeptState>,
    /// By a hash of everything but the zone, those that no other includes. Where two have the same hash, the second has the next
    /// one that is free: nothing is ever taken out.
    index: HashMap<u64, Vec<u32>, FxBuildHasher>,
    bytes: u64,
}

/// A state that no state includes that was kept when it was looked up.
pub(crate) struct ReachedZone {
    state: ZoneState,
    hash: u64,
    /// How many states had been kept.
    known: usize,
    /// Those of them that it includes.
    covers: Vec<u32>,
}

impl ReachedZone {
    /// About how much memory it takes.
    pub(super) fn bytes(&self) -> u64 {
        bytes(&self.state)
    }
}

impl KeptZones {
    /// How many there are, with those that others include.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn first(&self) -> Option<&KeptState> {
        self.all.first()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &KeptState> {
        self.all.iter()
    }

    /// About how much memory they take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// About how much memory one of them takes.
    pub(super) fn bytes_of(&self, at: usize) -> u64 {
        bytes(&self.all[at].state)
    }

    /// The states with the same hash and everything but the zone, and the hash under which they are, or would be.
    fn bucket(&self, mut hash: u64, state: &ZoneState) -> (u64, &[u32]) {
        loop {
            match self.index.get(&hash) {
                None => return (hash, &[]),
                Some(bucket) if self.all[bucket[0] as usize].state.is_like(state) => return (hash, bucket),
                Some(_) => hash = hash.wrapping_add(1),
            }
        }
    }

    /// Looks a state up; nothing if one that is kept includes it.
    pub(crate) fn look_up(&self, state: ZoneState) -> Option<ReachedZone> {
        let (hash, bucket) = self.bucket(hash(&state), &state);
        let zone = |other: &&u32| &self.all[**other as usize].state.zone;
        if bucket.iter().any(|other| zone(&other).includes(&state.zone)) {
            return None;
        }
        let covers = bucket.iter().filter(|other| state.zone.includes(zone(other))).copied().collect();
        Some(ReachedZone { state, hash, known: self.all.len(), covers })
    }

    /// Keeps a state, unless one includes it that has been kept since it was looked up. States that it includes are kept no longer.
    pub(crate) fn keep(&mut self, reached: ReachedZone, from: Option<usize>, ordinal: usize) -> bool {
        let ReachedZone { state, hash, known, covers } = reached;
        // Another with this hash may have come in between.
        let (hash, bucket) = self.bucket(hash, &state);
        let is_new = |other: &&u32| **other as usize >= known;
        let newer = bucket.iter().rev().take_while(is_new);
        let (mut included, mut covers_newer) = (false, false);
        for other in newer {
            let zone = &self.all[*other as usize].state.zone;
            included |= zone.includes(&state.zone);
            covers_newer |= state.zone.includes(zone);
        }
        if included {
            return false;
        }
        let all = &mut self.all;
        let number = all.len() as u32;
        match self.index.entry(hash) {
            Entry::Vacant(entry) => drop(entry.insert(vec![number])),
            Entry::Occupied(mut entry) => {
                let bucket = entry.get_mut();
                if covers_newer || !covers.is_empty() {
                    bucket.retain(|other| {
                        let old = &mut all[*other as usize];
                        let covered = match (*other as usize) < known {
                            true => covers.contains(other),
                            false => state.zone.includes(&old.state.zone),
                        };
                        old.covered |= covered;
                        !covered
                    });
                }
                bucket.push(number);
            }
        }
        self.bytes += bytes(&state);
        let depth = from.map_or(0, |from| all[from].depth + 1);
        all.push(KeptState { state, from, ordinal, depth, covered: false });
        true
    }
}

impl Index<usize> for KeptZones {
    type Output = KeptState;

    fn index(&self, at: usize) -> &KeptState {
        &self.all[at]
    }
}

/// A hash of everything but the zone.
fn hash(state: &ZoneState) -> u64 {
    let mut hasher = FxHasher::default();
    state.globals.hash(&mut hasher);
    for class in &state.classes {
        (class.sort, class.count).hash(&mut hasher);
        class.cells.hash(&mut hasher);
    }
    hasher.finish()
}

/// About how much memory a state takes.
fn bytes(state: &ZoneState) -> u64 {
    let classes = state.classes.iter().map(|class| 2 * class.cells.len() + 10).sum::<usize>();
    let words = 2 * state.globals.len() + classes + 20;
    (8 * words + 4 * state.zone.dim() * state.zone.dim()) as u64
}
