//! Context predicates: which elements satisfy them, and what they come to after a step.

use shoal_model::{SortId, TypedId};
use smallvec::{SmallVec, smallvec};

use super::{Scratch, ViewMachine};
use crate::mutant::{self, Mutant};
use crate::{
    cell::ViewScalar,
    decision::{Decision, RunResult, Stop},
    structure::{Satisfied, Structure},
    system::OpenSystem,
};

impl<'m> ViewMachine<'_, 'm> {
    /// Whether a known element satisfies a context predicate now. A fault is as good as no.
    pub(crate) fn satisfies(&mut self, predicate: usize, element: usize) -> RunResult<bool> {
        let of = &self.system.predicates[predicate];
        let outer = self.frames.len();
        self.push_blank(of.locals);
        self.set(of.local, ViewScalar::Elem(SortId::from_index(of.sort), element as u32));
        let truth = self.truth(of.body);
        // A fault in a function leaves the frame of its call, too.
        while self.frames.len() > outer {
            self.pop();
        }
        match truth {
            Ok(holds) => Ok(holds != of.forall),
            Err(Stop::Fault(_)) => Ok(false),
            Err(stop) => Err(stop),
        }
    }

    /// What the bits are after the step: those of predicates that were disturbed are decided anew.
    pub(crate) fn settle_bits(&mut self) -> RunResult {
        let system = self.system;
        for (predicate, of) in system.predicates.iter().enumerate() {
            if self.disturbed >> predicate & 1 == 0 || mutant::is(Mutant::BitsNeverChange) {
                continue;
            }
            let mut satisfied = Vec::new();
            for element in system.view[of.sort]..self.from.known[of.sort] {
                if self.satisfies(predicate, element)? {
                    satisfied.push(element);
                }
            }
            self.bits &= !(1 << predicate);
            let (mut nobody, mut somebody) = (false, false);
            for decision in self.decisions {
                match decision {
                    Decision::NobodyAfter(of) if *of == predicate => nobody = true,
                    Decision::SomebodyAfter(of) if *of == predicate => somebody = true,
                    Decision::WitnessAfter { predicate: of, element, .. }
                        if *of == predicate && !satisfied.contains(element) =>
                    {
                        return Err(Stop::Contradiction);
                    }
                    Decision::Nobody { .. }
                    | Decision::Witness { .. }
                    | Decision::Somebody { .. }
                    | Decision::NobodyAfter(_)
                    | Decision::WitnessAfter { .. }
                    | Decision::SomebodyAfter(_) => {}
                }
            }
            match (satisfied.is_empty(), nobody, somebody) {
                (false, true, _) => return Err(Stop::Contradiction),
                (false, false, _) | (true, true, _) => {}
                (true, false, true) => self.bits |= 1 << predicate,
                (true, false, false) => return Err(Stop::After(predicate)),
            }
        }
        Ok(())
    }
}

impl<'m> OpenSystem<'m> {
    /// The context predicates that each known element satisfies.
    pub(crate) fn satisfied(&self, structure: &Structure) -> RunResult<Satisfied> {
        if self.predicates.is_empty() {
            return Ok(smallvec![SmallVec::new(); self.any.len()]);
        }
        let mut machine = ViewMachine::new(self, Scratch::default(), structure, &structure.stars, &[], &[]);
        machine.touched = u32::MAX;
        machine.satisfied(&Satisfied::new())
    }
}

impl ViewMachine<'_, '_> {
    /// The context predicates that each known element satisfies now; `before` at the beginning of the run.
    pub(crate) fn satisfied(&mut self, before: &Satisfied) -> RunResult<Satisfied> {
        let system = self.system;
        if self.touched & system.all_predicates() == 0 {
            return Ok(before.clone());
        }
        let mut satisfied = Satisfied::new();
        for (sort, any) in system.any.iter().enumerate() {
            let known = if *any { self.from.known[sort] } else { 0 };
            let mut masks: SmallVec<[u32; 6]> = smallvec![0; known];
            for (at, _) in system.predicates.iter().enumerate().filter(|(_, it)| it.sort == sort) {
                for (element, mask) in masks.iter_mut().enumerate() {
                    let holds = match self.touched >> at & 1 == 1 {
                        true => self.satisfies(at, element)?,
                        false => before.get(sort).is_some_and(|masks| masks[element] >> at & 1 == 1),
                    };
                    *mask |= u32::from(holds) << at;
                }
            }
            satisfied.push(masks);
        }
        Ok(satisfied)
    }
}
