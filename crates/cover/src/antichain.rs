//! Sets of configurations of which none is below another, by shared state.
//!
//! Small sets are looked through one by one: a [`Config::mask`] rejects nearly all before any count is looked at. Large sets
//! have two indexes. Whatever is below a configuration has no place that this one has not, so it is filed under one of its
//! places, the one with the fewest others; whatever is above it has all of its places, so it is filed under each of them.

use shoal_certificate::Config;

/// The generators of a set that is closed upwards (its least elements) or downwards (its greatest).
#[derive(Clone, Debug)]
pub(crate) struct Antichain {
    upwards: bool,
    places: usize,
    buckets: Vec<GeneratorBucket>,
}

/// The generators of one shared state. An entry that is gone stays as a gap until there are too many of them.
#[derive(Clone, Debug, Default)]
struct GeneratorBucket {
    masks: Vec<u64>,
    entries: Vec<Option<(u32, Config)>>,
    gaps: usize,
    index: Option<Box<PlaceIndex>>,
}

/// Entries by the places of their configurations; masks stand beside them, so that looking at many is quick.
#[derive(Clone, Debug)]
struct PlaceIndex {
    /// By one place; without tokens, under the last number.
    one: Vec<List>,
    /// By every place.
    every: Vec<List>,
}

/// Masks and positions of entries.
type List = Vec<(u64, u32)>;

/// Sets larger than this have an index.
const SMALL: usize = 48;

impl Antichain {
    /// A set closed upwards: holds least elements.
    pub(crate) fn upwards(shared: u32, places: u32) -> Antichain {
        let buckets = vec![GeneratorBucket::default(); shared as usize];
        Antichain { upwards: true, places: places as usize, buckets }
    }

    /// A set closed downwards: holds greatest elements.
    pub(crate) fn downwards(shared: u32, places: u32) -> Antichain {
        Antichain { upwards: false, ..Antichain::upwards(shared, places) }
    }

    /// Whether the closed set has the configuration.
    pub(crate) fn has(&self, config: &Config) -> bool {
        let bucket = &self.buckets[config.shared as usize];
        match self.upwards {
            true => bucket.below(config, |_| true),
            false => bucket.above(config, |_| true),
        }
    }

    /// Adds a generator that the closed set does not have yet; gives the ids of those that it makes superfluous.
    pub(crate) fn insert(&mut self, config: Config, id: u32) -> Vec<u32> {
        let (upwards, places) = (self.upwards, self.places);
        let bucket = &mut self.buckets[config.shared as usize];
        let mut covered = Vec::new();
        let note = |at: usize| {
            covered.push(at);
            false
        };
        let _ = match upwards {
            true => bucket.above(&config, note),
            false => bucket.below(&config, note),
        };
        let gone = covered.into_iter().filter_map(|at| bucket.remove(at)).collect();
        bucket.push(config, id, places);
        gone
    }

    /// How many generators a question about a configuration may have to look at.
    pub(crate) fn around(&self, config: &Config) -> usize {
        let bucket = &self.buckets[config.shared as usize];
        match &bucket.index {
            None => bucket.masks.len(),
            Some(index) => config.tokens.iter().map(|token| index.one[token.0 as usize].len()).sum(),
        }
    }

    /// The generators, by shared state.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Config> {
        let entries = self.buckets.iter().flat_map(|bucket| bucket.entries.iter().flatten());
        entries.map(|entry| &entry.1)
    }
}

impl GeneratorBucket {
    /// Tells of the entries below a configuration until one is enough; whether one was.
    fn below(&self, config: &Config, mut enough: impl FnMut(usize) -> bool) -> bool {
        let others = !config.mask();
        let is_below = |at: usize| self.entries[at].as_ref().is_some_and(|entry| entry.1.is_below(config));
        let mut look = |at: usize| is_below(at) && enough(at);
        let Some(index) = &self.index else {
            return self.masks.iter().enumerate().any(|(at, mask)| mask & others == 0 && look(at));
        };
        let mut within = |list: &List| list.iter().any(|(mask, at)| mask & others == 0 && look(*at as usize));
        let last = index.one.len() - 1;
        config.tokens.iter().any(|token| within(&index.one[token.0 as usize])) || within(&index.one[last])
    }

    /// Tells of the entries above a configuration until one is enough; whether one was.
    fn above(&self, config: &Config, mut enough: impl FnMut(usize) -> bool) -> bool {
        let own = config.mask();
        let is_above = |at: usize| self.entries[at].as_ref().is_some_and(|entry| config.is_below(&entry.1));
        let mut look = |at: usize| is_above(at) && enough(at);
        let fewest = self.index.as_ref().and_then(|index| {
            let lists = config.tokens.iter().map(|token| &index.every[token.0 as usize]);
            lists.min_by_key(|list| list.len())
        });
        match fewest {
            Some(list) => list.iter().any(|(mask, at)| own & !mask == 0 && look(*at as usize)),
            None => self.masks.iter().enumerate().any(|(at, mask)| own & !mask == 0 && look(at)),
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
            let mut index = PlaceIndex { one: vec![Vec::new(); places + 1], every: vec![Vec::new(); places] };
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

impl PlaceIndex {
    fn put(&mut self, config: &Config, at: u32) {
        let entry = (config.mask(), at);
        let places = config.tokens.iter().map(|token| token.0 as usize);
        let fewest = places.min_by_key(|place| self.one[*place].len()).unwrap_or(self.one.len() - 1);
        self.one[fewest].push(entry);
        for (place, _) in &config.tokens {
            self.every[*place as usize].push(entry);
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
