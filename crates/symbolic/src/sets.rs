//! Unions that are not made.
//!
//! Where a step can fault, or is possible at all, is a small diagram; the union over all steps of all processes can be too
//! large to be made, and is hardly ever needed: what is asked is whether it meets the states reached.

use crate::dd::{Bdd, Dd, DdResult};

/// The union of some sets.
#[derive(Clone, Debug, Default)]
pub struct Sets(Vec<Bdd>);

/// Sets are joined as long as they stay small.
const SMALL: usize = 200;

impl From<Bdd> for Sets {
    fn from(set: Bdd) -> Sets {
        Sets(vec![set])
    }
}

impl Sets {
    /// Adds a set.
    pub fn add(&mut self, set: Bdd) -> DdResult<()> {
        match self.0.last_mut() {
            _ if set.is_false() => {}
            Some(last) if last.nodes() < SMALL && set.nodes() < SMALL => *last = last.or(&set)?,
            _ => self.0.push(set),
        }
        Ok(())
    }

    /// Adds all sets of another union.
    pub fn join(&mut self, other: &Sets) {
        self.0.extend(other.0.iter().cloned());
    }

    /// Whether they have something in common.
    pub fn meets(&self, other: &Bdd) -> DdResult<bool> {
        for set in &self.0 {
            if set.meets(other)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What they have in common.
    pub fn and(&self, dd: &Dd, other: &Bdd) -> DdResult<Bdd> {
        self.0.iter().try_fold(dd.no(), |all, set| all.or(&set.and(other)?))
    }

    /// These without the other.
    pub fn minus(&self, other: &Bdd) -> DdResult<Sets> {
        self.0.iter().map(|set| set.minus(other)).collect::<DdResult<_>>().map(Sets)
    }

    /// The other without this.
    pub fn taken_from(&self, other: &Bdd) -> DdResult<Bdd> {
        self.0.iter().try_fold(other.clone(), |rest, set| rest.minus(set))
    }

    /// The union after all.
    pub fn whole(&self, dd: &Dd) -> DdResult<Bdd> {
        dd.any(self.0.iter().cloned())
    }
}
