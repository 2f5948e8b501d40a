//! Proofs that can be checked without trust in the prover.

use crate::{Config, Views, Weights};

/// Why targets cannot be covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Everything that can be reached is below one of these, and no target is.
    Covering(Vec<Config>),
    /// Every target is above one of `bad` or excluded by an invariant; nothing initial is above one of `bad`; and whatever
    /// leads to above one of `bad` is itself above one of them, or excluded by an invariant.
    Excluding {
        /// Least elements.
        bad: Vec<Config>,
        /// An invariant.
        views: Option<Views>,
        /// More invariants.
        weights: Vec<Weights>,
    },
}

impl Proof {
    /// A proof by invariants alone.
    pub fn invariants(views: Option<Views>, weights: Vec<Weights>) -> Proof {
        Proof::Excluding { bad: Vec::new(), views, weights }
    }
}
