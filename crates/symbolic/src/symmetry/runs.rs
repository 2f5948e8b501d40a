//! Shortest runs through representatives, and runs of the model that go the same way.

use super::RepresentativeChoice;
use crate::{
    dd::{Bdd, DdResult},
    decide::{BitRun, DecideReporter},
    sets::Sets,
    system::TransitionSystem,
    witness::{self, Rings},
};

impl RepresentativeChoice {
    /// A shortest run from a start into a set, or with its last step into states that assumptions drop. Both sets are the
    /// same for all states of an orbit.
    pub(crate) fn way(
        &self,
        system: &TransitionSystem<'_>,
        to: &Sets,
        beyond: &Bdd,
        watch: &mut DecideReporter<'_>,
    ) -> DdResult<Option<BitRun>> {
        let form = |set: &Bdd| self.representatives(set);
        match witness::rings(system, to, beyond, watch, &form)? {
            Some(Rings { rings, goal }) => self.lift(system, &rings, &goal),
            None => Ok(None),
        }
    }

    /// A run whose states are in the orbits of a state of `last`, of one before it in the ring before, and so on.
    fn lift(&self, system: &TransitionSystem<'_>, rings: &[Bdd], last: &Bdd) -> DdResult<Option<BitRun>> {
        let one = |set: &Bdd| match system.pick(set) {
            Some(bits) => self.orbits(&system.state(&bits)?),
            None => Ok(system.dd.no()),
        };
        let mut orbits = vec![one(last)?];
        for ring in rings[..rings.len() - 1].iter().rev() {
            let before = system.some_before(&orbits[orbits.len() - 1], ring)?;
            orbits.push(one(&before)?);
        }
        orbits.reverse();
        let starts = system.init.or(&system.refused)?;
        let Some(first) = system.pick(&starts.and(&orbits[0])?) else { return Ok(None) };
        let mut states = vec![first];
        for orbit in &orbits[1..] {
            let here = system.state(&states[states.len() - 1])?;
            let Some(next) = system.pick(&system.image_all(&here)?.and(orbit)?) else { return Ok(None) };
            states.push(next);
        }
        Ok(Some(BitRun { states, loops_to: None }))
    }
}
