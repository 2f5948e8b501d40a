//! Shortest runs through representatives, and runs of the model that go the same way.

use super::Symmetry;
use crate::{
    dd::{Bdd, Done},
    decide::{Run, Watch},
    sets::Sets,
    system::System,
};

impl Symmetry {
    /// A shortest run from a start into a set, or with its last step into states that assumptions drop. Both sets are the
    /// same for all states of an orbit.
    pub(crate) fn way(
        &self,
        system: &System<'_>,
        to: &Sets,
        beyond: &Bdd,
        watch: &mut Watch<'_>,
    ) -> Done<Option<Run>> {
        let single = |set: &Bdd| system.pick(set).map(|state| Run { states: vec![state], loops_to: None });
        let refused = system.refused.and(beyond)?;
        if !refused.is_false() && !to.meets(&system.init)? {
            return Ok(single(&refused));
        }
        let mut rings = vec![self.representatives(&system.init)?];
        let mut reached = rings[0].clone();
        loop {
            watch.look(&system.dd)?;
            let ring = rings[rings.len() - 1].clone();
            let here = to.and(&system.dd, &ring)?;
            if !here.is_false() {
                return self.lift(system, &rings, &here);
            }
            if ring.is_false() {
                return Ok(None);
            }
            let image = system.image_all(&ring)?;
            let dropped = image.and(beyond)?;
            if !dropped.is_false() {
                rings.push(dropped.clone());
                return self.lift(system, &rings, &dropped);
            }
            let new = self.representatives(&image.and(&system.keep)?)?.minus(&reached)?;
            reached = reached.or(&new)?;
            rings.push(new);
        }
    }

    /// A run whose states are in the orbits of a state of `last`, of one before it in the ring before, and so on.
    fn lift(&self, system: &System<'_>, rings: &[Bdd], last: &Bdd) -> Done<Option<Run>> {
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
        let Some(first) = system.pick(&system.init.and(&orbits[0])?) else { return Ok(None) };
        let mut states = vec![first];
        for orbit in &orbits[1..] {
            let here = system.state(&states[states.len() - 1])?;
            let Some(next) = system.pick(&system.image_all(&here)?.and(orbit)?) else { return Ok(None) };
            states.push(next);
        }
        Ok(Some(Run { states, loops_to: None }))
    }
}
