//! A transition system as diagrams: its states, the relations that lead from one to the next, images.

use crate::{
    dd::{Bdd, Dd, Done, Renaming, Var},
    layout::{Bit, next, now},
};

/// Everything an engine needs to know of a system, whatever its states stand for.
pub struct System {
    /// Where all diagrams live.
    pub dd: Dd,
    /// How many bits a state has.
    pub bits: Bit,
    /// The states at the start, those that assumptions drop not among them.
    pub init: Bdd,
    /// The states that no assumption drops.
    pub keep: Bdd,
    /// The steps: what any of these leads to.
    pub relations: Vec<Relation>,
    /// Many steps at once: may be used where only reachability counts.
    pub shortcuts: Vec<Relation>,
    /// The states where something happens, dropped or faulty as it may be.
    pub progress: Bdd,
    /// The states where something happens that changes the state, or faults.
    pub changes: Bdd,
}

/// Steps that change the same bits, as one relation; or several that are taken one right after another.
pub struct Relation {
    parts: Vec<Part>,
}

/// What relates the bits now to some of the bits next; the others stay.
struct Part {
    relation: Bdd,
    written_now: Bdd,
    written_next: Bdd,
    back: Renaming,
    forth: Renaming,
}

impl Relation {
    /// A relation between the bits of a state and some bits of the next; the others stay as they are.
    pub fn new(dd: &Dd, relation: Bdd, written: &[Bit]) -> Done<Relation> {
        Ok(Relation { parts: vec![Part::new(dd, relation, written)?] })
    }

    /// Adds a relation that follows right after.
    pub fn then(mut self, dd: &Dd, relation: Bdd, written: &[Bit]) -> Done<Relation> {
        self.parts.push(Part::new(dd, relation, written)?);
        Ok(self)
    }

    /// The states that follow one of the set.
    pub fn image(&self, set: &Bdd) -> Done<Bdd> {
        self.parts.iter().try_fold(set.clone(), |set, part| {
            set.and_exists(&part.relation, &part.written_now)?.rename(&part.back)
        })
    }

    /// The states that one of the set follows.
    pub fn preimage(&self, set: &Bdd) -> Done<Bdd> {
        self.parts.iter().rev().try_fold(set.clone(), |set, part| {
            set.rename(&part.forth)?.and_exists(&part.relation, &part.written_next)
        })
    }

    /// Nodes of its diagrams.
    pub fn nodes(&self) -> usize {
        self.parts.iter().map(|part| part.relation.nodes()).sum()
    }
}

impl Part {
    fn new(dd: &Dd, relation: Bdd, written: &[Bit]) -> Done<Part> {
        let vars = |of: fn(Bit) -> Var| written.iter().map(|bit| of(*bit)).collect::<Vec<Var>>();
        let pairs = |from: fn(Bit) -> Var, to: fn(Bit) -> Var| -> Done<Renaming> {
            let pairs = written.iter().map(|bit| Ok((from(*bit), dd.var(to(*bit))?)));
            Ok(Renaming::new(pairs.collect::<Done<Vec<_>>>()?))
        };
        Ok(Part {
            relation,
            written_now: dd.cube(&vars(now))?,
            written_next: dd.cube(&vars(next))?,
            back: pairs(next, now)?,
            forth: pairs(now, next)?,
        })
    }
}

impl System {
    /// All states that follow one of the set, those that assumptions drop included.
    pub fn image_all(&self, set: &Bdd) -> Done<Bdd> {
        let mut image = self.dd.no();
        for relation in &self.relations {
            image = image.or(&relation.image(set)?)?;
        }
        Ok(image)
    }

    /// The states that follow one of the set.
    pub fn image(&self, set: &Bdd) -> Done<Bdd> {
        self.image_all(set)?.and(&self.keep)
    }

    /// The states from which a step leads into the set.
    pub fn preimage(&self, set: &Bdd) -> Done<Bdd> {
        let set = set.and(&self.keep)?;
        let mut preimage = self.dd.no();
        for relation in &self.relations {
            preimage = preimage.or(&relation.preimage(&set)?)?;
        }
        preimage.and(&self.keep)
    }

    /// Nodes of all relations.
    pub fn relation_nodes(&self) -> u64 {
        self.relations.iter().map(|relation| relation.nodes() as u64).sum()
    }

    /// The set with one state, given by its bits.
    pub fn state(&self, bits: &[bool]) -> Done<Bdd> {
        let literals: Vec<(Var, bool)> =
            bits.iter().enumerate().map(|(bit, value)| (now(bit as Bit), *value)).collect();
        self.dd.minterm(&literals)
    }

    /// Some state of a set, as its bits.
    pub fn pick(&self, set: &Bdd) -> Option<Vec<bool>> {
        let valuation = set.pick()?;
        Some((0..self.bits).map(|bit| valuation[now(bit) as usize]).collect())
    }
}
