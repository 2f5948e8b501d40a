//! Only local states that are reached.
//!
//! What is known of one element at a time does not say that two of them are never both the owner of something: so more
//! local states seem possible than are, and from these still more. So a local state gets a counter only when a state is
//! reached from which an element really comes to it. States are found with the counters there are; where no more than
//! these are needed, nothing was left out.

use std::collections::{BTreeMap, BTreeSet};

use shoal_model::{SortId, Value, VarId};
use shoal_symbolic::{
    dd::{Bdd, DdResult},
    worlds::Worlds,
};

use super::{
    ClassMove, Compiled, CounterStarts, LocalState, Look, SortClass,
    compiler::{CompileRound, CounterCompiler},
};
use crate::{Options, diagrams};

impl<'m> CounterCompiler<'m, '_> {
    /// Ends a round: with the local states that are reached and have no counter yet, with more that is known, or with
    /// all that there is.
    pub(super) fn settle(
        mut self,
        worlds: Worlds<'m>,
        keep: Bdd,
        starts: &CounterStarts,
        look: Look<'_>,
    ) -> DdResult<CompileRound<'m>> {
        let fresh = self.forget_fresh();
        let (inside, leaving) = std::mem::take(&mut self.moves).into_iter().partition(|it| self.stays(it));
        self.moves = inside;
        let mut within = self.moves.clone();
        for moved in &leaving {
            within.extend(self.without_leaving(moved)?);
        }
        let compiled = self.compiled(worlds, keep, starts, within);
        let reached = compiled.reached(look)?;
        let mut found = BTreeSet::new();
        for moved in leaving {
            self.moves.extend(self.as_reached(moved, &reached, &mut found)?);
        }
        let more = self.know_more()?;
        if found.is_empty() && more.is_none() {
            return Ok(CompileRound::Done(Box::new(compiled)));
        }
        let mut numbers = BTreeMap::new();
        for (sort, class) in found {
            let Some(locals) = self.locals.get_mut(&sort) else { continue };
            let state = fresh[&sort][class - self.classes[&sort]].clone();
            numbers.insert((sort, class), (sort, locals.class(state)));
        }
        Ok(CompileRound::Found(self.locals, more.map(|more| more.renumbered(&numbers))))
    }

    /// Takes the local states away that have no counter.
    fn forget_fresh(&mut self) -> BTreeMap<SortId, Vec<LocalState>> {
        let classes = &self.classes;
        self.locals.iter_mut().map(|(sort, locals)| (*sort, locals.split_off(classes[sort]))).collect()
    }

    fn has_counter(&self, (sort, class): SortClass) -> bool {
        class < self.classes[&sort]
    }

    /// Whether a move leads to local states that have counters only.
    fn stays(&self, moved: &ClassMove) -> bool {
        moved.roles.iter().all(|role| self.has_counter((role.sort, role.to)))
            && moved.transfers.iter().all(|(sort, _, to)| self.has_counter((*sort, *to)))
    }

    /// What is left of a move where nobody goes to a local state without a counter.
    fn without_leaving(&self, moved: &ClassMove) -> DdResult<Option<ClassMove>> {
        self.as_reached(moved.clone(), &self.dd.no(), &mut BTreeSet::new())
    }

    /// What is left of a move if there are no states but these. Local states without a counter that somebody comes to
    /// are noted.
    fn as_reached(
        &self,
        mut moved: ClassMove,
        states: &Bdd,
        found: &mut BTreeSet<SortClass>,
    ) -> DdResult<Option<ClassMove>> {
        let mut transfers = Vec::new();
        for (sort, from, to) in std::mem::take(&mut moved.transfers) {
            let somebody = match self.has_counter((sort, to)) {
                true => None,
                false => self.beside(&moved, (sort, from))?,
            };
            if let Some(somebody) = somebody {
                if !moved.ends.and(&somebody)?.meets(states)? {
                    moved.ends = moved.ends.minus(&somebody)?;
                    continue;
                }
                found.insert((sort, to));
            }
            transfers.push((sort, from, to));
        }
        moved.transfers = transfers;
        let leaving = moved.roles.iter().map(|role| (role.sort, role.to)).filter(|to| !self.has_counter(*to));
        let leaving: Vec<SortClass> = leaving.collect();
        if !leaving.is_empty() && !moved.ends.meets(states)? || moved.ends.is_false() {
            return Ok(None);
        }
        found.extend(leaving);
        Ok(Some(moved))
    }
}

impl Compiled<'_> {
    /// The states that are reached.
    fn reached(&self, look: Look<'_>) -> DdResult<Bdd> {
        let system = diagrams::system(self, Options::default())?;
        let mut reached = system.init.clone();
        loop {
            let before = reached;
            reached = system.sweep(&before, &mut || look(&self.dd))?;
            if reached == before {
                return Ok(reached);
            }
        }
    }

    /// The values that plain variables take in states that are reached, where they have few and hold no elements.
    pub(crate) fn plain_values(&self, look: Look<'_>) -> DdResult<Vec<(VarId, Value)>> {
        /// Variables with more values are left out.
        const FEW: u64 = 1_000;
        let reached = self.reached(look)?;
        let mut found = Vec::new();
        let scalars = self.layout.scalars(&self.worlds.base);
        for (cell, scalar) in self.layout.cells.iter().zip(scalars).filter(|(cell, _)| cell.only.is_none()) {
            if self.model.cardinality(cell.ty).is_some_and(|values| values <= FEW) {
                for (value, place) in scalar.cases(&self.dd, &reached)? {
                    found.extend((!place.is_false()).then_some((cell.var, value)));
                }
            }
        }
        Ok(found)
    }
}
