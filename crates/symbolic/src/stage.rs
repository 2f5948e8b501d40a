//! What relations are made of: small changes, any one of several or one after another.

use std::{cell::OnceCell, rc::Rc};

use crate::{
    dd::{Bdd, Dd, DdResult, DdVar, Renaming},
    layout::{Bit, next, now},
};

/// One change to a set of states.
#[derive(Clone)]
pub(crate) enum ImageStage {
    /// Any of these, in every way it can happen.
    Either(Rc<[RelationPart]>),
    /// Some bits get the same values wherever a condition holds; elsewhere nothing happens.
    Put(Rc<BitAssignment>),
}

/// What relates the bits now to some of the bits next; the others stay.
pub(crate) struct RelationPart {
    dd: Dd,
    relation: Bdd,
    written: Vec<Bit>,
    forwards: OnceCell<(Bdd, Renaming)>,
    backwards: OnceCell<(Bdd, Renaming)>,
}

/// Some bits get values.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct BitAssignment {
    /// Where they have others.
    wrong: Bdd,
    bits: Bdd,
    values: Bdd,
}

impl PartialEq for ImageStage {
    fn eq(&self, other: &ImageStage) -> bool {
        match (self, other) {
            (ImageStage::Either(a), ImageStage::Either(b)) => Rc::ptr_eq(a, b),
            (ImageStage::Put(a), ImageStage::Put(b)) => a == b,
            _ => false,
        }
    }
}

impl ImageStage {
    /// Any of some relations.
    pub(crate) fn either(parts: Vec<RelationPart>) -> ImageStage {
        ImageStage::Either(parts.into())
    }

    /// A change of these bits that happens in these states; elsewhere nothing happens.
    pub(crate) fn change(dd: &Dd, moves: &Bdd, changes: &[(Bit, Bdd)]) -> DdResult<ImageStage> {
        let mut literals = Vec::new();
        for (bit, digit) in changes {
            match moves.meets(digit)? {
                false => literals.push((now(*bit), false)),
                true if moves.within(digit)? => literals.push((now(*bit), true)),
                true => break,
            }
        }
        if literals.len() < changes.len() {
            let (still, step) = (moves.not()?, moves.clone());
            return Ok(ImageStage::either(vec![
                RelationPart::new(dd, still, &[]),
                RelationPart::function(dd, step, changes)?,
            ]));
        }
        let bits = dd.cube(&literals.iter().map(|(var, _)| *var).collect::<Vec<_>>())?;
        Ok(ImageStage::Put(Rc::new(BitAssignment {
            wrong: moves.clone(),
            bits,
            values: dd.minterm(&literals)?,
        })))
    }

    pub(crate) fn image(&self, set: &Bdd) -> DdResult<Bdd> {
        match self {
            ImageStage::Either(parts) => {
                let mut images = parts.iter().map(|part| part.image(set));
                let first = images.next().unwrap_or_else(|| set.minus(set))?;
                images.try_fold(first, |all, image| all.or(&image?))
            }
            ImageStage::Put(put) => {
                let wrong = set.and(&put.wrong)?;
                match wrong.is_false() {
                    true => Ok(set.clone()),
                    false => set.minus(&put.wrong)?.or(&wrong.exists(&put.bits)?.and(&put.values)?),
                }
            }
        }
    }

    /// The states, of `before` if that is given, that one of the set follows.
    pub(crate) fn preimage(&self, set: &Bdd, before: Option<&Bdd>) -> DdResult<Bdd> {
        match self {
            ImageStage::Either(parts) => {
                let mut all = set.minus(set)?;
                for part in parts.iter() {
                    all = all.or(&part.preimage(set, before)?)?;
                }
                Ok(all)
            }
            ImageStage::Put(put) => {
                let changed = set.and_exists(&put.values, &put.bits)?.and(&put.wrong)?;
                let all = set.minus(&put.wrong)?.or(&changed)?;
                before.map_or(Ok(all.clone()), |before| all.and(before))
            }
        }
    }

    /// The bits that its condition speaks of; of a choice, none.
    pub(crate) fn condition(&self) -> Vec<Bit> {
        match self {
            ImageStage::Either(_) => Vec::new(),
            ImageStage::Put(put) => put.wrong.support().into_iter().map(|var| var / 2).collect(),
        }
    }

    pub(crate) fn nodes(&self) -> usize {
        match self {
            ImageStage::Either(parts) => parts.iter().map(|part| part.relation.nodes()).sum(),
            ImageStage::Put(put) => put.wrong.nodes(),
        }
    }
}

impl BitAssignment {
    /// Where the bits have other values than they should.
    pub(crate) fn wrong(&self) -> &Bdd {
        &self.wrong
    }

    /// Whether what was not wrong is not made wrong by a change that follows.
    pub(crate) fn survives(&self, change: &ImageStage) -> DdResult<bool> {
        change.preimage(&self.wrong, None)?.within(&self.wrong)
    }
}

impl RelationPart {
    pub(crate) fn new(dd: &Dd, relation: Bdd, written: &[Bit]) -> RelationPart {
        let (dd, written) = (dd.clone(), written.to_vec());
        RelationPart { dd, relation, written, forwards: OnceCell::new(), backwards: OnceCell::new() }
    }

    /// Where this holds, each of these bits becomes what is said of it.
    pub(crate) fn function(dd: &Dd, holds: Bdd, changes: &[(Bit, Bdd)]) -> DdResult<RelationPart> {
        Ok(RelationPart::new(dd, function(dd, holds, changes)?, &written(changes)))
    }

    fn image(&self, set: &Bdd) -> DdResult<Bdd> {
        let (written, back) = self.aid(&self.forwards, now, next)?;
        set.and_exists(&self.relation, written)?.rename(back)
    }

    fn preimage(&self, set: &Bdd, before: Option<&Bdd>) -> DdResult<Bdd> {
        let (written, forth) = self.aid(&self.backwards, next, now)?;
        let goal = set.rename(forth)?;
        match before {
            None => goal.and_exists(&self.relation, written),
            Some(before) => goal.and_exists(&self.relation.and(before)?, written),
        }
    }

    /// The variables to forget, and how those that are left are renamed into them; made when needed.
    fn aid<'p>(
        &self,
        aid: &'p OnceCell<(Bdd, Renaming)>,
        forgotten: fn(Bit) -> DdVar,
        left: fn(Bit) -> DdVar,
    ) -> DdResult<&'p (Bdd, Renaming)> {
        if let Some(made) = aid.get() {
            return Ok(made);
        }
        let cube: Vec<DdVar> = self.written.iter().map(|bit| forgotten(*bit)).collect();
        let pairs = self.written.iter().map(|bit| Ok((left(*bit), self.dd.var(forgotten(*bit))?)));
        let made = (self.dd.cube(&cube)?, Renaming::new(pairs.collect::<DdResult<Vec<_>>>()?));
        Ok(aid.get_or_init(|| made))
    }
}

/// The bits that are changed.
pub fn written(changes: &[(Bit, Bdd)]) -> Vec<Bit> {
    changes.iter().map(|(bit, _)| *bit).collect()
}

/// The relation that makes of each of these bits what is said of it, where something holds.
pub fn function(dd: &Dd, holds: Bdd, changes: &[(Bit, Bdd)]) -> DdResult<Bdd> {
    let digits = changes.iter().rev();
    digits.into_iter().try_fold(holds, |all, (bit, digit)| all.and(&dd.var(next(*bit))?.equiv(digit)?))
}
