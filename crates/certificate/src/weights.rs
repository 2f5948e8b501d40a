//! Weights on places whose sum no transition can raise.

use crate::{Config, OMEGA};

/// Weights of shared states and places: an invariant. No transition raises the weight of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    /// The weight of each shared state.
    pub shared: Vec<i64>,
    /// The weight of each place.
    pub places: Vec<i64>,
    /// What no reachable configuration exceeds: the weight of the heaviest initial one.
    pub bound: i64,
}

impl Weights {
    /// Whether nothing above a configuration can be reached.
    pub fn exclude(&self, config: &Config) -> bool {
        self.weight(config).is_some_and(|weight| weight > i128::from(self.bound))
    }

    /// The weight of a configuration; nothing if a place with omega has any.
    pub fn weight(&self, config: &Config) -> Option<i128> {
        let mut sum = i128::from(self.shared[config.shared as usize]);
        for (place, count) in &config.tokens {
            let weight = i128::from(self.places[*place as usize]);
            match (*count, weight) {
                (OMEGA, 0) => {}
                (OMEGA, _) => return None,
                (count, weight) => sum += weight * i128::from(count),
            }
        }
        Some(sum)
    }
}
