//! Configurations: a shared state and how many tokens lie in each place, sparse.

use smallvec::SmallVec;

/// A count that stands for "as many as anybody wants".
pub const OMEGA: u32 = u32::MAX;

/// Tokens of one place: the place and how many, never 0.
pub type PlaceTokens = (u32, u32);

/// A list of tokens, sorted by place, without zeros.
pub type Tokens = SmallVec<[PlaceTokens; 4]>;

/// A shared state and the tokens in each place. With [`OMEGA`] among the counts it stands for all configurations below it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Config {
    /// The shared state.
    pub shared: u32,
    /// The tokens.
    pub tokens: Tokens,
}

/// A number of tokens as a count, if it fits: the number that means any number is none.
pub fn counted(number: i64) -> Option<u32> {
    u32::try_from(number).ok().filter(|count| *count != OMEGA)
}

/// A count left the range of 32 bits: the search gives up rather than be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

impl Config {
    /// From counts in any order; several for one place are added.
    pub fn new(shared: u32, tokens: impl IntoIterator<Item = PlaceTokens>) -> Config {
        let mut config = Config { shared, tokens: Tokens::new() };
        for (place, count) in tokens {
            config.set(place, plus(config.count(place), count).unwrap_or(OMEGA - 1));
        }
        config
    }

    /// How many tokens lie in a place.
    pub fn count(&self, place: u32) -> u32 {
        count_in(&self.tokens, place)
    }

    /// Gives a place another count.
    pub fn set(&mut self, place: u32, count: u32) {
        match self.tokens.binary_search_by_key(&place, |token| token.0) {
            Ok(at) if count == 0 => {
                self.tokens.remove(at);
            }
            Ok(at) => self.tokens[at].1 = count,
            Err(_) if count == 0 => {}
            Err(at) => self.tokens.insert(at, (place, count)),
        }
    }

    /// Adds tokens to a place.
    pub fn add(&mut self, place: u32, count: u32) -> Result<(), Overflow> {
        let sum = plus(self.count(place), count)?;
        self.set(place, sum);
        Ok(())
    }

    /// Whether it has no more of anything, in the same shared state.
    pub fn is_below(&self, other: &Config) -> bool {
        self.shared == other.shared && below(&self.tokens, &other.tokens)
    }

    /// A bit for each place modulo 64: where a bit of the one is missing in the other, it is not below it.
    pub fn mask(&self) -> u64 {
        self.tokens.iter().fold(0, |mask, (place, _)| mask | 1 << (place & 63))
    }

    /// All tokens; omegas count as nothing.
    pub fn size(&self) -> u64 {
        self.tokens.iter().filter(|token| token.1 != OMEGA).map(|token| u64::from(token.1)).sum()
    }

    /// How many places hold omega.
    pub fn omegas(&self) -> usize {
        self.tokens.iter().filter(|token| token.1 == OMEGA).count()
    }
}

/// How many tokens a sorted list has of a place.
pub fn count_in(tokens: &[PlaceTokens], place: u32) -> u32 {
    tokens.binary_search_by_key(&place, |token| token.0).map_or(0, |at| tokens[at].1)
}

/// Whether the left has no more of anything.
pub fn below(left: &[PlaceTokens], right: &[PlaceTokens]) -> bool {
    if left.len() > right.len() {
        return false;
    }
    let mut rest = right.iter();
    left.iter().all(|(place, count)| {
        rest.by_ref()
            .find(|other| other.0 >= *place)
            .is_some_and(|other| other.0 == *place && *count <= other.1)
    })
}

/// The sum of two counts; omega and anything is omega.
pub fn plus(left: u32, right: u32) -> Result<u32, Overflow> {
    if left == OMEGA || right == OMEGA {
        return Ok(OMEGA);
    }
    left.checked_add(right).filter(|sum| *sum != OMEGA).ok_or(Overflow)
}

/// The difference of two counts, at least 0; omega minus anything finite is omega.
pub fn minus(left: u32, right: u32) -> u32 {
    if left == OMEGA { OMEGA } else { left.saturating_sub(right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_ordered_place_by_place() {
        let small = Config::new(0, [(3, 1), (1, 2)]);
        let large = Config::new(0, [(1, OMEGA), (2, 1), (3, 1)]);
        assert!(small.is_below(&large) && !large.is_below(&small) && small.is_below(&small));
        assert!(!small.is_below(&Config { shared: 1, ..large.clone() }));
        assert_eq!((small.size(), large.size(), large.omegas()), (3, 2, 1));
        assert_eq!(plus(OMEGA - 1, 1), Err(Overflow));
        assert_eq!((plus(OMEGA, 7), minus(OMEGA, 7), minus(2, 7)), (Ok(OMEGA), OMEGA, 0));
    }
}
