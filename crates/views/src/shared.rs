//! Which references of two elements can lead to the same one.
//!
//! Of two elements that are known together there is a view, and that has to be among those found. So where no view has two elements
//! whose references agree (no two threads own the same node), a new element whose reference agrees with that of a known one is
//! turned down before the rest of it is thought of. All such are turned down later anyway; it is only sooner.

use rustc_hash::FxHashMap;
use shoal_model::{Model, TypedId};
use smallvec::SmallVec;

use crate::mutant::{self, Mutant};
use crate::{
    cell::Cell,
    layout::{Hop, ViewLayout},
    store::Dependent,
    structure::{Structure, StructureShape},
};

/// The families of references that elements have, by number: a set of them is a number.
#[derive(Debug, Default)]
pub(crate) struct ReferenceFamilies {
    /// By family of the layout.
    numbers: Vec<Option<u8>>,
    /// For each the others of which views tell whether they agree with it: those of another element of the view.
    told: Vec<u64>,
    /// The cells, and whose they are.
    cells: Vec<ReferenceCell>,
}

#[derive(Clone, Copy, Debug)]
struct ReferenceCell {
    at: usize,
    number: u8,
    /// The sort and the number of the element.
    of: (usize, usize),
}

/// With more families than this nothing is told.
const MOST_FAMILIES: usize = 64;

impl ReferenceFamilies {
    pub(crate) fn new(model: &Model, layout: &ViewLayout, any: &[bool], view: &[usize]) -> Self {
        let mut numbers = vec![None; layout.families.len()];
        let (mut sorts, mut cells): (Vec<usize>, Vec<ReferenceCell>) = (Vec::new(), Vec::new());
        for (at, cell) in layout.cells.iter().enumerate() {
            // Slots have no order: which is which says nothing.
            let family = &layout.families[cell.family];
            let in_slot = family.path.iter().any(|hop| matches!(hop, Hop::Slot(_) | Hop::InUse(_)));
            let refers = !in_slot && model.sorts_of(cell.ty).iter().any(|sort| any[sort.index()]);
            let ([dim], true) = (&cell.dims[..], refers) else { continue };
            let number = *numbers[cell.family].get_or_insert_with(|| {
                sorts.push(dim.sort);
                sorts.len() - 1
            });
            if number >= MOST_FAMILIES {
                return ReferenceFamilies { numbers: vec![None; layout.families.len()], ..Self::default() };
            }
            cells.push(ReferenceCell { at, number: number as u8, of: (dim.sort, dim.element) });
        }
        let told = |sort: &usize| {
            let is_told = |other: &usize| other != sort || view[*sort] > 1;
            let numbers = (0..sorts.len()).filter(|at| is_told(&sorts[*at]));
            numbers.fold(0_u64, |set, number| set | 1 << number)
        };
        let told = sorts.iter().map(told).collect();
        let numbers = numbers.into_iter().map(|number| number.map(|number| number as u8)).collect();
        ReferenceFamilies { numbers, told, cells }
    }

    /// The number of a family of the layout, if it is one.
    pub(crate) fn number(&self, family: usize) -> Option<u8> {
        self.numbers[family]
    }

    /// What known elements refer to, each with the families that do.
    pub(crate) fn referred(&self, structure: &Structure) -> SmallVec<[(Cell, u64); 16]> {
        let mut found: SmallVec<[(Cell, u64); 16]> = SmallVec::new();
        for ReferenceCell { at, number, .. } in &self.cells {
            let cell = structure.cells[*at];
            if !cell.is_reference() {
                continue;
            }
            match found.iter_mut().find(|(of, _)| *of == cell) {
                Some((_, families)) => *families |= 1 << number,
                None => found.push((cell, 1 << number)),
            }
        }
        found
    }
}

/// The families of references that agree in some view, and whose steps depend on it that others do not.
#[derive(Debug, Default)]
pub(crate) struct SharedReferences {
    /// By number: the families of which another element of the same view has one that agrees.
    agree: Vec<u64>,
    waiting: FxHashMap<(u8, u8), Vec<Dependent>>,
}

impl SharedReferences {
    pub(crate) fn new(families: &ReferenceFamilies) -> Self {
        SharedReferences { agree: vec![0; families.told.len()], waiting: FxHashMap::default() }
    }

    /// Takes in a view. Gives whose steps may have become more.
    pub(crate) fn take_in(
        &mut self,
        families: &ReferenceFamilies,
        shape: &StructureShape,
        view: &[u32],
        woken: &mut Vec<Dependent>,
    ) {
        let shown = |cell: &ReferenceCell| Some((*cell, Cell(view[shape.position(cell.at)?])));
        let refers = |(_, is): &(ReferenceCell, Cell)| is.is_reference();
        let cells: SmallVec<[(ReferenceCell, Cell); 16]> =
            families.cells.iter().filter_map(shown).filter(refers).collect();
        for (at, (one, is)) in cells.iter().enumerate() {
            for (other, _) in cells[at + 1..].iter().filter(|(other, cell)| cell == is && other.of != one.of)
            {
                for (a, b) in [(one.number, other.number), (other.number, one.number)] {
                    if self.agree[usize::from(a)] >> b & 1 == 0 {
                        self.agree[usize::from(a)] |= 1 << b;
                        woken.extend(self.waiting.remove(&(a, b)).into_iter().flatten());
                    }
                }
            }
        }
    }

    /// Those of some families of known elements that cannot agree with one of a new element.
    pub(crate) fn clashes(&self, families: &ReferenceFamilies, number: u8, others: u64) -> u64 {
        let at = usize::from(number);
        others & families.told[at] & !self.agree[at]
    }

    /// Steps depend on it that these do not agree.
    pub(crate) fn depend(&mut self, whom: Dependent, number: u8, others: u64) {
        if mutant::is(Mutant::AbsenceIsForgotten) {
            return;
        }
        for other in (0..64_u8).filter(|other| others >> other & 1 == 1) {
            let waiting = self.waiting.entry((number, other)).or_default();
            if waiting.last() != Some(&whom) {
                waiting.push(whom);
            }
        }
    }
}
