//! Sets of configurations of which none is below another, by shared state.
//!
//! Small sets are looked through one by one: a [`Config::mask`] rejects nearly all before any count is looked at. Large sets
//! have two indexes. Whatever is below a configuration has its first place among that configuration's places; whatever is
//! above it has all of its places, so the one that fewest have is enough to look at.

use crate::config::Config;

/// The generators of a set that is closed upwards (its least elements) or downwards (its greatest).
#[derive(Clone, Debug)]
pub(crate) struct Antichain {
    upwards: bool,
    places: usize,
    buckets: Vec<Bucket>,
}

/// The generators of one shared state. An entry that is gone stays as a gap until there are too many of them.
#[derive(Clone, Debug, Default)]
struct Bucket {
    masks: Vec<u64>,
    entries: Vec<Option<(u32, Config)>>,
    gaps: usize,
    index: Option<Box<Index>>,
}

/// Entries by the places of their configurations.
#[derive(Clone, Debug)]
struct Index {
    /// By the first place; without tokens, under the last number.
    first: Vec<Vec<u32>>,
    /// By every place.
    every: Vec<Vec<u32>>,
}

/// Sets larger than this have an index.
const SMALL: usize = 48;

impl Antichain {
    /// A set closed upwards: holds least elements.
    pub(crate) fn upwards(shared: u32, places: u32) -> Antichain {
        let buckets = vec![Bucket::default(); shared as usize];
        Antichain { upwards: true, places: places as usize, buckets }
    }

    /// A set closed downwards: holds greatest elements.
    pub(crate) fn downwards(shared: u32, places: u32) -> Antichain {
        Antichain { upwards: false, ..Antichain::upwards(shared, places) }
    }

    /// Whether the closed set has the configuration.
    pub(crate) fn has(&self, config: &Config) -> bool {
        let bucket = &self.buckets[config.shared as usize];
        let mut found = false;
        let mut stop = |_: usize| {
            found = true;
            true
        };
        match self.upwards {
            true => bucket.below(config, &mut stop),
            false => bucket.above(config, &mut stop),
        }
        found
    }

    /// Adds a generator that the closed set does not have yet; gives the ids of those that it makes superfluous.
    pub(crate) fn insert(&mut self, config: Config, id: u32) -> Vec<u32> {
        let (upwards, places) = (self.upwards, self.places);
        let bucket = &mut self.buckets[config.shared as usize];
        let mut covered = Vec::new();
        let mut note = |at: usize| {
            covered.push(at);
            false
        };
        match upwards {
            true => bucket.above(&config, &mut note),
            false => bucket.below(&config, &mut note),
        }
        let gone = covered.into_iter().filter_map(|at| bucket.remove(at)).collect();
        bucket.push(config, id, places);
        gone
    }

    /// How many generators a question about a configuration may have to look at.
    pub(crate) fn around(&self, config: &Config) -> usize {
        let bucket = &self.buckets[config.shared as usize];
        match &bucket.index {
            None => bucket.masks.len(),
            Some(index) => config.tokens.iter().map(|token| index.first[token.0 as usize].len()).sum(),
        }
    }

    /// The generators, by shared state.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Config> {
        let entries = self.buckets.iter().flat_map(|bucket| bucket.entries.iter().flatten());
        entries.map(|entry| &entry.1)
    }
}

impl Bucket {
    /// Tells of the entries below a configuration, until told to stop.
    fn below(&self, config: &Config, found: &mut dyn FnMut(usize) -> bool) {
        let mask = !config.mask();
        let is_below = |at: usize| {
            let entry = || self.entries[at].as_ref().is_some_and(|entry| entry.1.is_below(config));
            self.masks[at] & mask == 0 && entry()
        };
        let Some(index) = &self.index else {
            let _ = (0..self.masks.len()).any(|at| is_below(at) && found(at));
            return;
        };
        let places = config.tokens.iter().map(|token| token.0 as usize).chain([index.first.len() - 1]);
        let lists = places.map(|place| &index.first[place]);
        let _ = lists.flatten().any(|at| is_below(*at as usize) && found(*at as usize));
    }

    /// Tells of the entries above a configuration, until told to stop.
    fn above(&self, config: &Config, found: &mut dyn FnMut(usize) -> bool) {
        let mask = config.mask();
        let is_above = |at: usize| {
            let entry = || self.entries[at].as_ref().is_some_and(|entry| config.is_below(&entry.1));
            mask & !self.masks[at] == 0 && entry()
        };
        let lists = self.index.as_ref().map(|index| {
            let lists = config.tokens.iter().map(|token| &index.every[token.0 as usize]);
            lists.min_by_key(|list| list.len())
        });
        match lists {
            Some(Some(list)) => drop(list.iter().any(|at| is_above(*at as usize) && found(*at as usize))),
            _ => drop((0..self.masks.len()).any(|at| is_above(at) && found(at))),
        }
    }

    fn remove(&mut self, at: usize) -> Option<u32> {
        let (id, _) = self.entries[at].take()?;
        self.gaps += 1;
        Some(id)
    }

    fn push(&mut self, config: Config, id: u32, places: usize) {
        if self.gaps > SMALL.max(self.entries.len() / 2) {
            self.entries.retain(Option::is_some);
            self.masks = self.entries.iter().flatten().map(|entry| entry.1.mask()).collect();
            self.gaps = 0;
            self.index = None;
        }
        if self.index.is_none() && self.entries.len() > SMALL {
            let mut index = Index { first: vec![Vec::new(); places + 1], every: vec![Vec::new(); places] };
            for (at, entry) in self.entries.iter().enumerate() {
                entry.iter().for_each(|entry| index.put(&entry.1, at as u32));
            }
            self.index = Some(Box::new(index));
        }
        if let Some(index) = &mut self.index {
            index.put(&config, self.entries.len() as u32);
        }
        self.masks.push(config.mask());
        self.entries.push(Some((id, config)));
    }
}

impl Index {
    fn put(&mut self, config: &Config, at: u32) {
        let last = self.first.len() - 1;
        let first = config.tokens.first().map_or(last, |token| token.0 as usize);
        self.first[first].push(at);
        for (place, _) in &config.tokens {
            self.every[*place as usize].push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Large sets with indexes against looking at everything.
    #[test]
    fn indexes_find_the_same() {
        let mut state = 7u64;
        let mut random = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % u64::from(below)) as u32
        };
        for upwards in [true, false] {
            let mut set = match upwards {
                true => Antichain::upwards(1, 12),
                false => Antichain::downwards(1, 12),
            };
            let mut plain: Vec<(u32, Config)> = Vec::new();
            let above = |one: &Config, other: &Config| match upwards {
                true => one.is_below(other),
                false => other.is_below(one),
            };
            for id in 0..3_000 {
                let count = if upwards { 5 } else { 2 } + random(3);
                let config = Config::new(0, (0..count).map(|_| (random(12), 1 + random(2))));
                let known = plain.iter().any(|(_, generator)| above(generator, &config));
                assert_eq!(set.has(&config), known);
                if !known {
                    let (gone, kept) = plain.into_iter().partition(|(_, other)| above(&config, other));
                    plain = kept;
                    let mut ids: Vec<u32> = set.insert(config.clone(), id);
                    ids.sort_unstable();
                    let gone: Vec<(u32, Config)> = gone;
                    assert_eq!(ids, gone.iter().map(|entry| entry.0).collect::<Vec<_>>());
                    plain.push((id, config));
                }
            }
            assert!(plain.len() > 2 * SMALL, "{}", plain.len());
            assert_eq!(set.iter().count(), plain.len());
        }
    }
}
