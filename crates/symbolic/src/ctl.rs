//! Formulas of branching time, decided by fixpoints.
//!
//! Paths are infinite: where nothing can happen, the state stays for ever; where all that can happen faults or is
//! dropped by an assumption, no path begins. Of the paths only the fair ones count. Both are told by one set, the
//! states from which a fair path begins.

use crate::{
    dd::{Bdd, DdResult},
    decide::DecideReporter,
    system::{CounterFlow, Relation, TransitionSystem},
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

    /// The formula that says of a system in which some steps are taken bit by bit what this one says of the system in
    /// which they are whole: the paper's theorem 6, for operators over some path. It is to be asked of states of the
    /// model; in the midst of a step the truth of its parts means nothing, and they are always asked with that excluded.
    pub fn serial(self, midst: &Bdd) -> DdResult<Ctl> {
        let outside =
            |of: Ctl| -> DdResult<Ctl> { Ok(Ctl::And(vec![of.serial(midst)?, Ctl::Atom(midst.not()?)])) };
        let or_midst =
            |of: Ctl| -> DdResult<Ctl> { Ok(Ctl::Or(vec![of.serial(midst)?, Ctl::Atom(midst.clone())])) };
        let all = |of: Vec<Ctl>| of.into_iter().map(|of| of.serial(midst)).collect::<DdResult<Vec<_>>>();
        Ok(match self {
            Ctl::Atom(states) => Ctl::Atom(states),
            Ctl::Not(of) => Ctl::Not(Box::new(of.serial(midst)?)),
            Ctl::And(of) => Ctl::And(all(of)?),
            Ctl::Or(of) => Ctl::Or(all(of)?),
            Ctl::Next(of) => {
                let end = Ctl::Until(Box::new(Ctl::Atom(midst.clone())), Box::new(outside(*of)?));
                Ctl::Next(Box::new(end))
            }
            Ctl::Until(a, b) => Ctl::Until(Box::new(or_midst(*a)?), Box::new(outside(*b)?)),
            Ctl::Always(of) => Ctl::Always(Box::new(or_midst(*of)?)),
        })
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
    system: &'s TransitionSystem<'s>,
    reached: &'s Bdd,
    /// Where nothing can happen, so that the state stays.
    stuck: Bdd,
    /// Each holds again and again on a fair path.
    fairness: Vec<Bdd>,
    /// Where a fair path begins.
    fair: Bdd,
    watch: &'s mut DecideReporter<'w>,
}

impl<'s, 'w> Evaluator<'s, 'w> {
    /// For the states reached, of which some are stuck, under fairness constraints.
    pub fn new(
        system: &'s TransitionSystem<'s>,
        reached: &'s Bdd,
        stuck: &Bdd,
        fairness: &[Bdd],
        watch: &'s mut DecideReporter<'w>,
    ) -> DdResult<Self> {
        let stuck = stuck.and(reached)?;
        let fairness = fairness.to_vec();
        let fair = system.dd.no();
        let mut evaluator = Evaluator { system, reached, stuck, fairness, fair, watch };
        evaluator.fair = evaluator.always_on_a_fair_path(reached)?;
        Ok(evaluator)
    }

    /// Where the formula holds, of the states reached.
    pub fn holds(&mut self, formula: &Ctl) -> DdResult<Bdd> {
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
    pub fn before(&mut self, set: &Bdd) -> DdResult<Bdd> {
        self.watch.look(&self.system.dd)?;
        let relations: Vec<&Relation> = self.system.relations()?.iter().collect();
        self.steps_into(set, self.reached, &relations)
    }

    /// The states that follow one of the set in one step.
    pub fn after(&mut self, set: &Bdd) -> DdResult<Bdd> {
        self.watch.look(&self.system.dd)?;
        self.system.follow(set)?.and(&self.system.keep)?.or(&set.and(&self.stuck)?)
    }

    /// From where, through states of `through`, the goal is reached: the least fixpoint, relation by relation.
    pub fn until(&mut self, through: &Bdd, goal: &Bdd) -> DdResult<Bdd> {
        let every = self.reached.within(through)?;
        let (system, watch) = (self.system, &mut *self.watch);
        let (goal, through) = (goal.and(self.reached)?, through.and(self.reached)?);
        system.backwards(&goal, &through, every, &mut || watch.look(&system.dd))
    }

    /// Where a fair path begins that stays in the set: the greatest set from which, for each constraint, a step and a
    /// way inside lead back to the set where the constraint holds (Emerson and Lei).
    ///
    /// Steps that can be taken only so often on a path inside the set are not among those of its last, endless part: that
    /// part is found without them, and then the ways to it. What is left is often nothing, where the fixpoint alone would
    /// take as many rounds as there are steps on the longest path.
    pub fn always_on_a_fair_path(&mut self, set: &Bdd) -> DdResult<Bdd> {
        let set = set.and(self.reached)?;
        let relations = self.system.relations()?;
        let mut inside = Vec::new();
        for relation in relations {
            self.watch.look(&self.system.dd)?;
            if relation.image(&set)?.meets(&set)? {
                inside.push(relation);
            }
        }
        let endless = endless(&inside);
        let tail = self.endless_part(&set, &endless)?;
        match endless.len() == inside.len() {
            true => Ok(tail),
            false => self.until(&set, &tail),
        }
    }

    /// The same for paths by these relations alone, and for states that stay.
    fn endless_part(&mut self, set: &Bdd, relations: &[&Relation]) -> DdResult<Bdd> {
        let mut states = set.clone();
        loop {
            let before = states.clone();
            if self.fairness.is_empty() {
                states = self.steps_into(&before, &before, relations)?.and(&states)?;
            }
            for at in 0..self.fairness.len() {
                let mut ways = states.and(&self.fairness[at])?;
                loop {
                    let known = ways.clone();
                    for relation in relations {
                        self.watch.look(&self.system.dd)?;
                        ways = ways.or(&relation.preimage(&ways.and(&self.system.keep)?, &before)?)?;
                    }
                    if ways == known {
                        break;
                    }
                }
                states = self.steps_into(&ways, &states, relations)?.and(&states)?;
            }
            if states == before {
                return Ok(states);
            }
        }
    }

    /// The states of `within` from which one of these relations leads into the set, and those of it that stay.
    fn steps_into(&mut self, set: &Bdd, within: &Bdd, relations: &[&Relation]) -> DdResult<Bdd> {
        let mut found = set.and(&self.stuck)?;
        let set = set.and(&self.system.keep)?;
        for relation in relations {
            self.watch.look(&self.system.dd)?;
            found = found.or(&relation.preimage(&set, within)?)?;
        }
        Ok(found)
    }
}

/// The relations that a path can take again and again for ever. A step that takes something from a place to which nothing
/// ever comes back from where it goes cannot: there is only so much of it.
fn endless<'r>(relations: &[&'r Relation]) -> Vec<&'r Relation> {
    let mut left = relations.to_vec();
    loop {
        let flows: Vec<CounterFlow> =
            left.iter().flat_map(|it| it.flows().iter().flatten()).copied().collect();
        let spent = |flow: &CounterFlow| flow.sure && !leads(&flows, flow.to, flow.from);
        let before = left.len();
        left.retain(|relation| !relation.flows().iter().all(|step| step.iter().any(spent)));
        if left.len() == before {
            return left;
        }
    }
}

/// Whether flows lead from one place to another.
fn leads(flows: &[CounterFlow], from: u32, to: u32) -> bool {
    let mut seen = vec![from];
    let mut at = 0;
    while at < seen.len() {
        let here = seen[at];
        at += 1;
        if here == to {
            return true;
        }
        for flow in flows.iter().filter(|flow| flow.from == here) {
            if !seen.contains(&flow.to) {
                seen.push(flow.to);
            }
        }
    }
    false
}
