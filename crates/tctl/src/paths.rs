//! Where a path begins on which something is so: fixpoints of sets of states.
//!
//! A set of states has a federation for each location. All sets of one computation are over the same clocks: those of the
//! model and perhaps some of our own behind them. Every set is a union of regions, of which there are finitely many, and
//! nothing is abstracted, so the fixpoints are exact and come to an end.

use std::collections::VecDeque;

use shoal_dbm::{Bound, Constraint, Federation, Zone};
use shoal_model::{Runs, StopReason, Watch};

use super::arena::Arena;
use crate::halt::TctlHalt;

/// A set of states: what the clocks are in each location.
pub type ZoneSet = Vec<Federation>;

/// Computes sets.
pub(crate) struct PathSets<'a> {
    pub(super) arena: &'a Arena,
    /// Which runs count.
    pub(super) runs: Runs,
    pub(super) watch: &'a Watch,
}

/// A set, or why it was not computed.
pub type Computed<T = ZoneSet> = Result<T, TctlHalt>;

/// How a state of an until comes to its goal: the set grew by these zones in this order.
pub(super) struct Layers {
    /// The zones that were added, each with its location; the first are those that wait for the goal itself.
    pub(super) added: Vec<(usize, Federation)>,
}

/// Locations that are to be looked at, each once, in the order in which they came.
struct LocationWorklist {
    queue: VecDeque<usize>,
    waits: Vec<bool>,
}

impl LocationWorklist {
    fn empty(locations: usize) -> LocationWorklist {
        LocationWorklist { queue: VecDeque::new(), waits: vec![false; locations] }
    }

    fn add(&mut self, at: usize) {
        if !std::mem::replace(&mut self.waits[at], true) {
            self.queue.push_back(at);
        }
    }

    fn next(&mut self) -> Option<usize> {
        let at = self.queue.pop_front()?;
        self.waits[at] = false;
        Some(at)
    }
}

/// With more zones than this in a location, memory is what gives out first.
const MOST_ZONES: usize = 20_000;

impl PathSets<'_> {
    fn tick(&self, zones: usize) -> Computed<()> {
        self.watch.check()?;
        if zones > MOST_ZONES {
            return Err(StopReason::Overflow.into());
        }
        Ok(())
    }

    /// The clocks that a location may have, and where time may pass in it, with so many clocks of our own.
    pub(super) fn room(&self, location: usize, own: usize) -> (Zone, Option<Zone>) {
        let location = &self.arena.locations[location];
        let widen = |zone: &Zone| (0..own).fold(zone.clone(), |zone, _| zone.widened());
        (widen(&location.domain), location.invariant.as_ref().map(widen))
    }

    /// All states.
    pub(super) fn all(&self, own: usize) -> ZoneSet {
        (0..self.arena.locations.len()).map(|at| self.room(at, own).0.into()).collect()
    }

    /// No state.
    pub(super) fn none(&self) -> ZoneSet {
        vec![Federation::empty(); self.arena.locations.len()]
    }

    /// The states that are not in a set.
    pub(super) fn not(&self, set: &ZoneSet, own: usize) -> ZoneSet {
        let all = self.all(own);
        let mut rest: ZoneSet = all.iter().zip(set).map(|(all, set)| all.minus(set)).collect();
        self.tidy(&mut rest, own);
        rest
    }

    pub(super) fn tidy(&self, set: &mut ZoneSet, own: usize) {
        for (at, federation) in set.iter_mut().enumerate() {
            federation.tidy(&self.room(at, own).0);
        }
    }

    /// Where time may pass outside of a set.
    pub(super) fn avoided(&self, stay: &ZoneSet, own: usize) -> ZoneSet {
        let outside = |(at, stay): (usize, &Federation)| {
            let (room, invariant) = self.room(at, own);
            let Some(invariant) = invariant else { return Federation::empty() };
            let mut outside = Federation::from(invariant).minus(stay);
            outside.tidy(&room);
            outside
        };
        stay.iter().enumerate().map(outside).collect()
    }

    /// The states from which a goal is reached without leaving a set, which includes the goal.
    pub(super) fn until(&self, stay: &ZoneSet, goal: &ZoneSet, own: usize) -> Computed {
        self.until_in_layers(stay, goal, own, None)
    }

    /// The same; tells how it grows.
    pub(super) fn until_in_layers(
        &self,
        stay: &ZoneSet,
        goal: &ZoneSet,
        own: usize,
        mut layers: Option<&mut Layers>,
    ) -> Computed {
        let locations = self.arena.locations.len();
        let rooms: Vec<(Zone, Option<Zone>)> = (0..locations).map(|at| self.room(at, own)).collect();
        let avoid = self.avoided(stay, own);
        let wait = |at: usize, set: &Federation| match &rooms[at].1 {
            Some(invariant) => {
                let invariant = Federation::from(invariant.clone());
                let mut all = set.intersection(&invariant).before(&avoid[at]).intersection(&invariant);
                all.extend(set);
                all
            }
            None => set.clone(),
        };
        let mut found: ZoneSet = vec![Federation::empty(); locations];
        // What is new in a location, and not looked at yet: in one piece, all of which leads into what was looked at before.
        let mut fresh: ZoneSet = vec![Federation::empty(); locations];
        let mut worklist = LocationWorklist::empty(locations);
        for at in 0..locations {
            let reached = wait(at, &goal[at]);
            if !reached.is_empty() {
                found[at] = reached.clone();
                fresh[at] = reached;
                worklist.add(at);
            }
        }
        // To where nothing can be added no edge has to be followed back.
        let is_full = |at: usize, found: &ZoneSet| found[at].covers(std::slice::from_ref(&rooms[at].0));
        let mut full: Vec<bool> =
            (0..locations).map(|at| is_full(at, &found) || stay[at].is_empty()).collect();
        while let Some(at) = worklist.next() {
            let to = std::mem::replace(&mut fresh[at], Federation::empty());
            for edge in &self.arena.locations[at].entering {
                let edge = &self.arena.edges[*edge];
                let from = edge.from;
                if full[from] {
                    continue;
                }
                self.tick(found[from].zones().len())?;
                let before = edge.before(&to).intersection(&stay[from]);
                // Whole zones, not what is new of them: differences fall into many pieces.
                let more = wait(from, &before.not_inside(&found[from])).not_inside(&found[from]);
                if more.is_empty() {
                    continue;
                }
                found[from].extend(&more);
                found[from].tidy(&rooms[from].0);
                full[from] = is_full(from, &found);
                fresh[from].extend(&more);
                worklist.add(from);
            }
            if let Some(layers) = layers.as_deref_mut() {
                layers.added.push((at, to));
            }
        }
        Ok(found)
    }

    /// The states from which time can diverge without leaving a set: the greatest set from each state of which it is
    /// reached again inside, after at least one unit of time (Henzinger and others, 1994).
    pub(super) fn always(&self, set: &ZoneSet, own: usize) -> Computed {
        let stay: ZoneSet = set.iter().map(Federation::widened).collect();
        let mut now = set.clone();
        loop {
            let goal = self.after_a_unit(&now, own);
            let reached = self.until(&stay, &goal, own + 1)?;
            let mut next: ZoneSet = reached.iter().map(Federation::at_zero).collect();
            self.tidy(&mut next, own);
            // What is reached is inside of the set, and only shrinks.
            if now.iter().zip(&next).all(|(now, next)| next.includes(now)) {
                return Ok(next);
            }
            now = next.iter().zip(&now).map(|(next, now)| next.intersection(now)).collect();
            self.tidy(&mut now, own);
        }
    }

    /// The states that get into a set by waiting alone, without meeting what is to be avoided on the way.
    fn waits_for(&self, at: usize, set: &Federation, avoid: &Federation) -> Federation {
        let mut all = set.clone();
        if let (_, Some(invariant)) = self.room(at, 0) {
            let invariant = Federation::from(invariant);
            all.extend(&set.intersection(&invariant).before(avoid).intersection(&invariant));
        }
        all
    }

    /// The states in which a run may end without leaving a set: time passes in it for ever; or as long as it may, and no step
    /// can be taken.
    pub(super) fn ends(&self, set: &ZoneSet) -> Computed {
        let outside = self.not(set, 0);
        let mut ends = self.none();
        for (at, location) in self.arena.locations.iter().enumerate() {
            self.tick(set[at].zones().len())?;
            let leaves = self.waits_for(at, &outside[at], &Federation::empty());
            let mut steps = Federation::empty();
            for edge in &location.leaving {
                let edge = &self.arena.edges[*edge];
                let there = Federation::from(self.room(edge.to, 0).0);
                steps.extend(&edge.before(&there).intersection(&Federation::from(location.domain.clone())));
                if steps.covers(std::slice::from_ref(&location.domain)) {
                    break;
                }
            }
            let steps = self.waits_for(at, &steps, &Federation::empty());
            let mut stuck = Federation::from(location.domain.clone()).minus(&steps);
            if let Some(invariant) = location.invariant.as_ref().filter(|invariant| !invariant.is_bounded()) {
                stuck.extend(&Federation::from(invariant.clone()));
            }
            ends[at] = stuck.minus(&leaves);
        }
        self.tidy(&mut ends, 0);
        Ok(ends)
    }

    /// The states from which a run that cannot be made longer stays in a set: the greatest set from each state of which,
    /// after waiting, a step leads back into it, or a run may end.
    pub(super) fn stays(&self, set: &ZoneSet) -> Computed {
        let (ends, avoid) = (self.ends(set)?, self.avoided(set, 0));
        self.greatest(set.clone(), 0, |at, now| {
            // Where all of it goes on at once nothing is lost, and no more steps have to be looked at.
            let goal = self.goes_on(at, now, &ends)?.intersection(&set[at]);
            Ok(self.waits_for(at, &goal, &avoid[at]))
        })
    }

    /// The greatest set inside of one that is kept by a function, which gives for a location what can stay of it: it grows
    /// with the set, and looks at no other locations than those that a step leads to. A location is looked at again when one of
    /// these has shrunk.
    fn greatest(
        &self,
        mut now: ZoneSet,
        own: usize,
        keeps: impl Fn(usize, &ZoneSet) -> Computed<Federation>,
    ) -> Computed {
        let mut worklist = LocationWorklist::empty(now.len());
        (0..now.len()).for_each(|at| worklist.add(at));
        while let Some(at) = worklist.next() {
            if now[at].is_empty() {
                continue;
            }
            let mut next = keeps(at, &now)?.intersection(&now[at]);
            next.tidy(&self.room(at, own).0);
            if next.includes(&now[at]) {
                continue;
            }
            now[at] = next;
            for edge in &self.arena.locations[at].entering {
                worklist.add(self.arena.edges[*edge].from);
            }
        }
        Ok(now)
    }

    /// Where in a location a step leads into a set, or a run may end; as far as is needed to see that all of the set does there.
    fn goes_on(&self, at: usize, set: &ZoneSet, ends: &ZoneSet) -> Computed<Federation> {
        let mut goal = ends[at].clone();
        for edge in &self.arena.locations[at].leaving {
            if goal.covers(set[at].zones()) {
                break;
            }
            let edge = &self.arena.edges[*edge];
            goal.extend(&edge.before(&set[edge.to]));
            self.tick(goal.zones().len())?;
        }
        Ok(goal)
    }

    /// The states from which infinitely many steps can be taken in less than a unit of time: the end of every run on which
    /// time does not diverge is such.
    pub(super) fn steps_without_time(&self) -> Computed {
        let clock = self.arena.clocks + 1;
        let soon = [Constraint { left: clock, right: 0, bound: Bound::less(1) }];
        let all = self.all(1).iter().map(|all| all.constrained(&soon)).collect();
        let endless = self.greatest(all, 1, |at, now| {
            let mut steps = Federation::empty();
            for edge in &self.arena.locations[at].leaving {
                let edge = &self.arena.edges[*edge];
                steps.extend(&edge.before(&now[edge.to]));
                self.tick(steps.zones().len())?;
            }
            if let (_, Some(invariant)) = self.room(at, 1) {
                let invariant = Federation::from(invariant);
                let waited = steps.intersection(&invariant).before(&Federation::empty());
                steps.extend(&waited.intersection(&invariant));
            }
            Ok(steps)
        })?;
        Ok(endless.iter().map(Federation::at_zero).collect())
    }

    /// A set with one more clock, which is at least 1.
    pub(super) fn after_a_unit(&self, set: &ZoneSet, own: usize) -> ZoneSet {
        let unit = Constraint { left: 0, right: self.arena.clocks + own + 1, bound: Bound::at_most(-1) };
        set.iter().map(|federation| federation.widened().constrained(&[unit])).collect()
    }
}

/// What is in both of two sets.
pub(super) fn both(left: &ZoneSet, right: &ZoneSet) -> ZoneSet {
    left.iter().zip(right).map(|(left, right)| left.intersection(right)).collect()
}

/// What is in one of two sets.
pub(super) fn either(left: &ZoneSet, right: &ZoneSet) -> ZoneSet {
    let join = |(left, right): (&Federation, &Federation)| {
        let mut all = left.clone();
        all.extend(right);
        all
    };
    left.iter().zip(right).map(join).collect()
}
