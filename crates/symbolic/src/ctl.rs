//! Formulas of branching time, decided by fixpoints.
//!
//! Paths are infinite: where nothing can happen, the state stays for ever; where all that can happen faults or is
//! dropped by an assumption, no path begins. Of the paths only the fair ones count. Both are told by one set, the
//! states from which a fair path begins.

use crate::{
    dd::{Bdd, Done},
    decide::Watch,
    system::System,
};

/// A formula of branching time. Operators over all paths are written with those over some path.
#[derive(Clone, Debug)]
pub enum Ctl {
    /// These states.
    Atom(Bdd),
    /// Not.
    Not(Box<Ctl>),
    /// All.
    And(Vec<Ctl>),
    /// One.
    Or(Vec<Ctl>),
    /// On some path, in the next state: EX.
    Next(Box<Ctl>),
    /// On some path, the first until the second: E(a U b).
    Until(Box<Ctl>, Box<Ctl>),
    /// On some path, always: EG.
    Always(Box<Ctl>),
}

impl Ctl {
    fn not(of: Ctl) -> Ctl {
        match of {
            Ctl::Not(of) => *of,
            of => Ctl::Not(Box::new(of)),
        }
    }

    /// AX or EX.
    pub fn next(all: bool, of: Ctl) -> Ctl {
        if all { Ctl::not(Ctl::next(false, Ctl::not(of))) } else { Ctl::Next(Box::new(of)) }
    }

    /// AG or EG.
    pub fn always(all: bool, of: Ctl) -> Ctl {
        if all { Ctl::not(Ctl::eventually(false, Ctl::not(of))) } else { Ctl::Always(Box::new(of)) }
    }

    /// AF or EF.
    pub fn eventually(all: bool, of: Ctl) -> Ctl {
        match all {
            true => Ctl::not(Ctl::always(false, Ctl::not(of))),
            // True until it holds.
            false => Ctl::Until(Box::new(Ctl::And(Vec::new())), Box::new(of)),
        }
    }

    /// A(a U b) or E(a U b).
    pub fn until(all: bool, a: Ctl, b: Ctl) -> Ctl {
        if !all {
            return Ctl::Until(Box::new(a), Box::new(b));
        }
        // No path on which b never comes, nor one on which a ends before b comes.
        let neither = Ctl::And(vec![Ctl::not(a), Ctl::not(b.clone())]);
        let broken = Ctl::Until(Box::new(Ctl::not(b.clone())), Box::new(neither));
        Ctl::And(vec![Ctl::not(broken), Ctl::not(Ctl::Always(Box::new(Ctl::not(b))))])
    }

    /// A(a R b) or E(a R b).
    pub fn release(all: bool, a: Ctl, b: Ctl) -> Ctl {
        Ctl::not(Ctl::until(!all, Ctl::not(a), Ctl::not(b)))
    }
}

/// Evaluates formulas on the reachable states of a system.
pub struct Evaluator<'s, 'w> {
    system: &'s System<'s>,
    reached: &'s Bdd,
    /// Where nothing can happen, so that the state stays.
    stuck: Bdd,
    /// Each holds again and again on a fair path.
    fairness: Vec<Bdd>,
    /// Where a fair path begins.
    fair: Bdd,
    watch: &'s mut Watch<'w>,
}

impl<'s, 'w> Evaluator<'s, 'w> {
    /// For the states reached, of which some are stuck, under fairness constraints.
    pub fn new(
        system: &'s System<'s>,
        reached: &'s Bdd,
        stuck: &Bdd,
        fairness: &[Bdd],
        watch: &'s mut Watch<'w>,
    ) -> Done<Self> {
        let stuck = stuck.and(reached)?;
        let fairness = fairness.to_vec();
        let fair = system.dd.no();
        let mut evaluator = Evaluator { system, reached, stuck, fairness, fair, watch };
        evaluator.fair = evaluator.always_on_a_fair_path(reached)?;
        Ok(evaluator)
    }

    /// Where the formula holds, of the states reached.
    pub fn holds(&mut self, formula: &Ctl) -> Done<Bdd> {
        match formula {
            Ctl::Atom(states) => states.and(self.reached),
            Ctl::Not(of) => self.reached.minus(&self.holds(of)?),
            Ctl::And(of) => {
                let mut all = self.reached.clone();
                for of in of {
                    all = all.and(&self.holds(of)?)?;
                }
                Ok(all)
            }
            Ctl::Or(of) => {
                let mut any = self.system.dd.no();
                for of in of {
                    any = any.or(&self.holds(of)?)?;
                }
                Ok(any)
            }
            Ctl::Next(of) => {
                let goal = self.holds(of)?.and(&self.fair)?;
                self.before(&goal)
            }
            Ctl::Until(a, b) => {
                let (a, b) = (self.holds(a)?, self.holds(b)?);
                let goal = b.and(&self.fair)?;
                self.until(&a, &goal)
            }
            Ctl::Always(of) => {
                let of = self.holds(of)?;
                self.always_on_a_fair_path(&of)
            }
        }
    }

    /// Where a fair path begins.
    pub fn fair(&self) -> &Bdd {
        &self.fair
    }

    /// The fairness constraints.
    pub fn fairness(&self) -> &[Bdd] {
        &self.fairness
    }

    /// The states from which one step leads into the set.
    pub fn before(&mut self, set: &Bdd) -> Done<Bdd> {
        self.watch.look(&self.system.dd)?;
        let moving = self.system.preimage(set, self.reached)?;
        moving.or(&set.and(&self.stuck)?)
    }

    /// The states that follow one of the set in one step.
    pub fn after(&mut self, set: &Bdd) -> Done<Bdd> {
        self.watch.look(&self.system.dd)?;
        self.system.image(set)?.or(&set.and(&self.stuck)?)
    }

    /// From where, through states of `through`, the goal is reached: the least fixpoint, relation by relation.
    pub fn until(&mut self, through: &Bdd, goal: &Bdd) -> Done<Bdd> {
        let through = &through.and(self.reached)?;
        let mut found = goal.and(self.reached)?;
        loop {
            let before = found.clone();
            for relation in self.system.relations()? {
                self.watch.look(&self.system.dd)?;
                let target = found.and(&self.system.keep)?;
                found = found.or(&relation.preimage(&target, through)?)?;
            }
            if found == before {
                return Ok(found);
            }
        }
    }

    /// Where a fair path begins that stays in the set: the greatest set from which, for each constraint, a step and a
    /// way inside lead back to the set where the constraint holds (Emerson and Lei).
    pub fn always_on_a_fair_path(&mut self, set: &Bdd) -> Done<Bdd> {
        let mut states = set.and(self.reached)?;
        loop {
            let before = states.clone();
            if self.fairness.is_empty() {
                states = states.and(&self.before(&before)?)?;
            }
            for at in 0..self.fairness.len() {
                let goal = states.and(&self.fairness[at])?;
                let ways = self.until(&before, &goal)?;
                states = states.and(&self.before(&ways)?)?;
            }
            if states == before {
                return Ok(states);
            }
        }
    }
}
