//! Sets of configurations of which none is below another, by shared state.
//!
//! A [`Config::mask`] and the sizes reject nearly all comparisons before any count is looked at.

use crate::config::Config;

/// The generators of a set that is closed upwards (its least elements) or downwards (its greatest).
#[derive(Clone, Debug)]
pub(crate) struct Antichain {
    upwards: bool,
    buckets: Vec<Vec<Entry>>,
}

#[derive(Clone, Debug)]
struct Entry {
    mask: u64,
    id: u32,
    config: Config,
}

impl Antichain {
    /// A set closed upwards: holds least elements.
    pub(crate) fn upwards(shared: u32) -> Antichain {
        Antichain { upwards: true, buckets: vec![Vec::new(); shared as usize] }
    }

    /// A set closed downwards: holds greatest elements.
    pub(crate) fn downwards(shared: u32) -> Antichain {
        Antichain { upwards: false, ..Antichain::upwards(shared) }
    }

    /// Whether the closed set has the configuration; the id of a generator that shows it.
    pub(crate) fn find(&self, config: &Config) -> Option<u32> {
        let mask = config.mask();
        let bucket = &self.buckets[config.shared as usize];
        let found = match self.upwards {
            true => bucket.iter().find(|entry| entry.mask & !mask == 0 && entry.config.is_below(config)),
            false => bucket.iter().find(|entry| mask & !entry.mask == 0 && config.is_below(&entry.config)),
        };
        found.map(|entry| entry.id)
    }

    /// Adds a generator that the closed set does not have yet; gives the ids of those that it makes superfluous.
    pub(crate) fn insert(&mut self, config: Config, id: u32) -> Vec<u32> {
        let mask = config.mask();
        let bucket = &mut self.buckets[config.shared as usize];
        let mut gone = Vec::new();
        let upwards = self.upwards;
        bucket.retain(|entry| {
            let covered = match upwards {
                true => mask & !entry.mask == 0 && config.is_below(&entry.config),
                false => entry.mask & !mask == 0 && entry.config.is_below(&config),
            };
            if covered {
                gone.push(entry.id);
            }
            !covered
        });
        bucket.push(Entry { mask, id, config });
        gone
    }

    /// How many generators a question about a configuration may have to look at.
    pub(crate) fn around(&self, config: &Config) -> usize {
        self.buckets[config.shared as usize].len()
    }

    /// The generators, by shared state.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Config> {
        self.buckets.iter().flatten().map(|entry| &entry.config)
    }
}
