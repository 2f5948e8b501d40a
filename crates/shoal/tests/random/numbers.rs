//! Numbers that look random, for tests that shrink nothing.

/// SplitMix64.
pub(crate) struct Numbers(u64);

impl Numbers {
    /// The same numbers every time, unless `PROPTEST_RNG_SEED` says which others.
    pub(crate) fn from_environment() -> Numbers {
        Numbers(std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1))
    }

    /// The numbers of a seed.
    pub(crate) fn with_seed(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * bound as u128) >> 64) as usize
    }
}
