//! Sets of configurations of which none is below another, by shared state.
//!
//! A [`Config::mask`] rejects nearly all comparisons before any count is looked at; the masks lie next to each other, so
//! that looking at many is quick.

use crate::config::Config;

/// The generators of a set that is closed upwards (its least elements) or downwards (its greatest).
#[derive(Clone, Debug)]
pub(crate) struct Antichain {
    upwards: bool,
    buckets: Vec<Bucket>,
}

/// The generators of one shared state.
#[derive(Clone, Debug, Default)]
struct Bucket {
    masks: Vec<u64>,
    entries: Vec<(u32, Config)>,
}

impl Antichain {
    /// A set closed upwards: holds least elements.
    pub(crate) fn upwards(shared: u32) -> Antichain {
        Antichain { upwards: true, buckets: vec![Bucket::default(); shared as usize] }
    }

    /// A set closed downwards: holds greatest elements.
    pub(crate) fn downwards(shared: u32) -> Antichain {
        Antichain { upwards: false, ..Antichain::upwards(shared) }
    }

    /// Whether the closed set has the configuration.
    pub(crate) fn has(&self, config: &Config) -> bool {
        let mask = config.mask();
        let bucket = &self.buckets[config.shared as usize];
        let entry = |at: usize| &bucket.entries[at].1;
        let mut masks = bucket.masks.iter().enumerate();
        match self.upwards {
            true => masks.any(|(at, known)| known & !mask == 0 && entry(at).is_below(config)),
            false => masks.any(|(at, known)| mask & !known == 0 && config.is_below(entry(at))),
        }
    }

    /// Adds a generator that the closed set does not have yet; gives the ids of those that it makes superfluous.
    pub(crate) fn insert(&mut self, config: Config, id: u32) -> Vec<u32> {
        let mask = config.mask();
        let upwards = self.upwards;
        let bucket = &mut self.buckets[config.shared as usize];
        let mut gone = Vec::new();
        let mut at = 0;
        while at < bucket.masks.len() {
            let known = bucket.masks[at];
            let covered = match upwards {
                true => mask & !known == 0 && config.is_below(&bucket.entries[at].1),
                false => known & !mask == 0 && bucket.entries[at].1.is_below(&config),
            };
            if covered {
                bucket.masks.swap_remove(at);
                gone.push(bucket.entries.swap_remove(at).0);
            } else {
                at += 1;
            }
        }
        bucket.masks.push(mask);
        bucket.entries.push((id, config));
        gone
    }

    /// How many generators a question about a configuration may have to look at.
    pub(crate) fn around(&self, config: &Config) -> usize {
        self.buckets[config.shared as usize].masks.len()
    }

    /// The generators, by shared state.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Config> {
        self.buckets.iter().flat_map(|bucket| bucket.entries.iter().map(|entry| &entry.1))
    }
}
