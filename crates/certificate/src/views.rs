//! Views: which single tokens, and which pairs of tokens, can occur in a shared state.

use crate::Config;

/// For each shared state the places that can be marked, and for each of those the places that can be marked at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Views {
    /// How many words a set of places takes.
    pub words: usize,
    /// How many places there are.
    pub places: usize,
    /// The places that can be marked, as bits: `words` for each shared state.
    pub single: Vec<u64>,
    /// For each shared state that can occur: a row for each place. Empty where pairs are not known.
    pub pairs: Vec<Option<Box<[u64]>>>,
}

/// Whether a bit is set.
pub fn get(bits: &[u64], at: u32) -> bool {
    bits[at as usize / 64] >> (at % 64) & 1 == 1
}

/// Sets a bit; whether it was not.
pub fn put(bits: &mut [u64], at: u32) -> bool {
    let word = &mut bits[at as usize / 64];
    let before = *word;
    *word |= 1 << (at % 64);
    *word != before
}

/// The positions of the bits that are set.
pub fn ones(bits: &[u64]) -> impl Iterator<Item = u32> + '_ {
    bits.iter().enumerate().flat_map(|(at, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let bit = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(at as u32 * 64 + bit)
        })
    })
}

impl Views {
    /// Views without anything in them; from a certificate.
    pub fn empty(shared: u32, places: u32) -> Views {
        let words = (places as usize).div_ceil(64).max(1);
        Views {
            words,
            places: places as usize,
            single: vec![0; shared as usize * words],
            pairs: vec![None; shared as usize],
        }
    }

    /// Puts a place, and the places that go with it, into a shared state.
    pub fn put_row(&mut self, shared: u32, place: u32, partners: impl IntoIterator<Item = u32>) {
        let words = self.words;
        self.put_shared(shared);
        put(&mut self.single[shared as usize * words..][..words], place);
        let Some(rows) = &mut self.pairs[shared as usize] else { return };
        for partner in partners {
            put(&mut rows[place as usize * words..][..words], partner);
        }
    }

    /// The places that can be marked in a shared state.
    pub fn places(&self, shared: u32) -> impl Iterator<Item = u32> + '_ {
        ones(self.single(shared))
    }

    /// The places that can be marked together with a place (the place itself: twice).
    pub fn partners(&self, shared: u32, place: u32) -> impl Iterator<Item = u32> + '_ {
        ones(self.row(shared, place))
    }

    /// The places that can be marked in a shared state, as bits.
    pub fn single(&self, shared: u32) -> &[u64] {
        &self.single[shared as usize * self.words..][..self.words]
    }

    /// The places that can be marked together with a place, as bits; empty if the shared state does not occur.
    pub fn row(&self, shared: u32, place: u32) -> &[u64] {
        match &self.pairs[shared as usize] {
            Some(rows) => &rows[place as usize * self.words..][..self.words],
            None => &[],
        }
    }

    /// Whether a shared state occurs.
    pub fn occurs(&self, shared: u32) -> bool {
        self.pairs[shared as usize].is_some()
    }

    /// Whether they are views of a system of this size.
    pub fn fits(&self, shared: u32, places: u32) -> bool {
        self.pairs.len() == shared as usize && self.places == places as usize
    }

    /// Makes a shared state occur; for a certificate.
    pub fn put_shared(&mut self, shared: u32) {
        let size = self.words * self.places;
        self.pairs[shared as usize].get_or_insert_with(|| vec![0; size].into());
    }

    /// Whether two tokens can lie there at the same time.
    pub fn together(&self, shared: u32, one: u32, other: u32) -> bool {
        self.pairs[shared as usize].is_some() && get(self.row(shared, one), other)
    }

    /// Whether no configuration above it can be reached.
    pub fn exclude(&self, config: &Config) -> bool {
        let single = self.single(config.shared);
        let tokens = &config.tokens;
        // A shared state without tokens excludes itself if it does not occur at all.
        if tokens.is_empty() {
            return self.pairs[config.shared as usize].is_none();
        }
        tokens.iter().enumerate().any(|(at, (place, count))| {
            !get(single, *place)
                || *count > 1 && !self.together(config.shared, *place, *place)
                || tokens[at + 1..].iter().any(|(other, _)| !self.together(config.shared, *place, *other))
        })
    }
}
