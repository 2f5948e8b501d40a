//! A transition system as diagrams: its states, the relations that lead from one to the next, images.

use std::cell::OnceCell;

use crate::{
    dd::{Bdd, Dd, DdResult, DdVar},
    layout::{Bit, now},
    sets::Sets,
    stage::{ImageStage, RelationPart},
};

pub use crate::stage::{function, written};

/// Makes relations when they are needed.
pub type RelationMaker<'s> = Box<dyn Fn() -> DdResult<Vec<Relation>> + 's>;
/// Makes relations of which each leads any number of steps on, through states of a set (but for the last).
pub type Hasten<'s> = Box<dyn Fn(&Bdd) -> DdResult<Vec<Relation>> + 's>;

/// Everything an engine needs to know of a system, whatever its states stand for.
pub struct TransitionSystem<'s> {
    /// Where all diagrams live.
    pub dd: Dd,
    /// How many bits a state has.
    pub bits: Bit,
    /// The states at the start, those that assumptions drop not among them.
    pub init: Bdd,
    /// Those that assumptions drop: something may fault there all the same.
    pub refused: Bdd,
    /// The states that no assumption drops.
    pub keep: Bdd,
    /// Relations that lead to the same states in the end, though not step by step: for reachability alone. The single
    /// steps will do if there are none.
    pub fast: Vec<Relation>,
    /// Makes more of these, for ways that do not leave a set of states.
    pub hasten: Option<Hasten<'s>>,
    /// Makes the single steps.
    pub make: RelationMaker<'s>,
    /// The single steps, once they were made.
    pub made: OnceCell<Vec<Relation>>,
    /// The states where something happens, dropped or faulty as it may be.
    pub progress: Sets,
    /// The states where something happens that changes the state, or faults.
    pub changes: Sets,
    /// States in the midst of a step of the model, if some of its steps are taken bit by bit. They are no states of the
    /// model; relations lead to them, through them and away from them, images do not show them.
    pub midst: Bdd,
}

/// Steps that are taken as one, or several that are taken one right after another.
pub struct Relation {
    stages: Vec<ImageStage>,
    flows: Vec<Vec<CounterFlow>>,
}

/// Something that a step takes from one place to another. Places are whatever the maker of the system counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CounterFlow {
    /// Where it was.
    pub from: u32,
    /// Where it comes to.
    pub to: u32,
    /// Whether there is really something that goes, at each such step.
    pub sure: bool,
}

impl Relation {
    /// A relation between the bits of a state and some bits of the next; the others stay as they are.
    pub fn new(dd: &Dd, relation: Bdd, written: &[Bit]) -> DdResult<Relation> {
        Ok(Relation::either(vec![RelationPart::new(dd, relation, written)]))
    }

    /// Any of these.
    pub(crate) fn either(parts: Vec<RelationPart>) -> Relation {
        Relation { stages: vec![ImageStage::either(parts)], flows: vec![Vec::new()] }
    }

    /// The same, with what flows in each kind of step that it has.
    pub fn with_flows(self, flows: Vec<Vec<CounterFlow>>) -> Relation {
        Relation { flows, ..self }
    }

    /// Adds a relation that follows right after.
    pub fn then(mut self, dd: &Dd, relation: Bdd, written: &[Bit]) -> DdResult<Relation> {
        self.stages.push(ImageStage::either(vec![RelationPart::new(dd, relation, written)]));
        Ok(self)
    }

    /// Adds what follows right after.
    pub(crate) fn followed_by(mut self, stages: &[ImageStage]) -> Relation {
        self.stages.extend_from_slice(stages);
        self
    }

    /// The states that follow one of the set.
    pub fn image(&self, set: &Bdd) -> DdResult<Bdd> {
        self.stages.iter().try_fold(set.clone(), |set, stage| stage.image(&set))
    }

    /// The states of `within` that one of the set follows.
    ///
    /// Backwards through a sequence there are far more ways than forwards: a sum can come about in many ways. So what is
    /// in between is first found from the states that are of interest.
    pub fn preimage(&self, set: &Bdd, within: &Bdd) -> DdResult<Bdd> {
        if let [stage] = self.stages.as_slice() {
            return stage.preimage(set, None)?.and(within);
        }
        let mut between = vec![within.clone()];
        for stage in &self.stages[..self.stages.len() - 1] {
            let image = stage.image(&between[between.len() - 1])?;
            between.push(image);
        }
        let stages = self.stages.iter().zip(&between).rev();
        stages.into_iter().try_fold(set.clone(), |set, (stage, before)| stage.preimage(&set, Some(before)))
    }

    /// What flows in each kind of step.
    pub fn flows(&self) -> &[Vec<CounterFlow>] {
        &self.flows
    }

    /// Nodes of its diagrams.
    pub fn nodes(&self) -> usize {
        self.stages.iter().map(ImageStage::nodes).sum()
    }
}

impl TransitionSystem<'_> {
    /// The steps: what any of these leads to.
    pub fn relations(&self) -> DdResult<&[Relation]> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let made = (self.make)()?;
        Ok(self.made.get_or_init(|| made))
    }

    /// What to take for reachability.
    pub fn ways(&self) -> DdResult<&[Relation]> {
        if self.fast.is_empty() { self.relations() } else { Ok(&self.fast) }
    }

    /// What is reached if one relation after the other is applied to all that was reached before.
    pub fn sweep(&self, from: &Bdd, look: &mut dyn FnMut() -> DdResult<()>) -> DdResult<Bdd> {
        let mut reached = from.clone();
        for relation in self.ways()? {
            look()?;
            reached = reached.or(&relation.image(&reached)?.and(&self.keep)?)?;
        }
        Ok(reached)
    }

    /// The states of `through` from which, inside it, a way of any length leads into the set; the set included.
    /// `every` is whether all of what is reached is in `through`.
    pub fn backwards(
        &self,
        set: &Bdd,
        through: &Bdd,
        every: bool,
        look: &mut dyn FnMut() -> DdResult<()>,
    ) -> DdResult<Bdd> {
        /// Rounds of single steps before steps of any length are made, which is some work.
        const PLAIN_ROUNDS: usize = 6;
        let mut found = set.clone();
        let mut quick = None;
        for round in 0.. {
            if round == PLAIN_ROUNDS && !every {
                quick = self.hasten.as_ref().map(|hasten| hasten(through)).transpose()?;
            }
            let relations = match &quick {
                Some(quick) => quick,
                None if every => self.ways()?,
                None => self.relations()?,
            };
            let before = found.clone();
            for relation in relations {
                look()?;
                found = found.or(&relation.preimage(&found.and(&self.keep)?, through)?)?;
            }
            if found == before {
                break;
            }
        }
        Ok(found)
    }

    /// What the relations lead to from a set.
    pub(crate) fn follow(&self, set: &Bdd) -> DdResult<Bdd> {
        let mut image = self.dd.no();
        for relation in self.relations()? {
            image = image.or(&relation.image(set)?)?;
        }
        Ok(image)
    }

    /// The states in the midst of steps that begin in a set.
    pub(crate) fn midst_of(&self, set: &Bdd) -> DdResult<Bdd> {
        let mut found = self.dd.no();
        if self.midst.is_false() {
            return Ok(found);
        }
        let mut new = self.follow(set)?.and(&self.midst)?;
        while !new.is_false() {
            found = found.or(&new)?;
            new = self.follow(&new)?.and(&self.midst)?.minus(&found)?;
        }
        Ok(found)
    }

    /// All states that follow one of the set, those that assumptions drop included.
    pub fn image_all(&self, set: &Bdd) -> DdResult<Bdd> {
        self.follow(&set.or(&self.midst_of(set)?)?)?.minus(&self.midst)
    }

    /// The states that follow one of the set.
    pub fn image(&self, set: &Bdd) -> DdResult<Bdd> {
        self.image_all(set)?.and(&self.keep)
    }

    /// States of `within` from which a step leads into the set: some of them, if there are any.
    pub fn some_before(&self, set: &Bdd, within: &Bdd) -> DdResult<Bdd> {
        let through = within.or(&self.midst_of(within)?)?;
        let mut known = set.clone();
        let mut last = set.clone();
        while !last.is_false() {
            let mut midst = self.dd.no();
            for relation in self.relations()? {
                let before = relation.preimage(&last, &through)?;
                let found = before.and(within)?;
                if !found.is_false() {
                    return Ok(found);
                }
                midst = midst.or(&before)?;
            }
            last = midst.minus(&known)?;
            known = known.or(&last)?;
        }
        Ok(last)
    }

    /// Nodes of the relations: of the single steps if they were needed, else of those for reachability.
    pub fn relation_nodes(&self) -> u64 {
        let used = self.made.get().map_or(self.fast.as_slice(), Vec::as_slice);
        used.iter().map(|relation| relation.nodes() as u64).sum()
    }

    /// The set with one state, given by its bits.
    pub fn state(&self, bits: &[bool]) -> DdResult<Bdd> {
        let literals: Vec<(DdVar, bool)> =
            bits.iter().enumerate().map(|(bit, value)| (now(bit as Bit), *value)).collect();
        self.dd.minterm(&literals)
    }

    /// Some state of a set, as its bits.
    pub fn pick(&self, set: &Bdd) -> Option<Vec<bool>> {
        let valuation = set.pick()?;
        Some((0..self.bits).map(|bit| valuation[now(bit) as usize]).collect())
    }
}
