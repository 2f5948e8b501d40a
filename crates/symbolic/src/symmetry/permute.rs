//! Permutations of the elements of sorts, applied to sets of states.

use shoal_model::{Model, SortId, Type, TypeId, Value};

use crate::{
    dd::{Bdd, Dd, DdResult, DdVar, Renaming},
    layout::{BitLayout, LayoutCell, now},
};

/// What permutations are applied to.
#[derive(Clone, Copy)]
pub(crate) struct PermuteGround<'s> {
    pub(crate) model: &'s Model,
    pub(crate) layout: &'s BitLayout,
    pub(crate) dd: &'s Dd,
}

/// A permutation of the elements of some sorts: where each goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElementPermutation {
    parts: Vec<(SortId, Vec<u32>)>,
}

impl ElementPermutation {
    /// The exchange of two elements.
    pub(crate) fn swap(sort: SortId, size: u32, i: u32, j: u32) -> ElementPermutation {
        let mut to: Vec<u32> = (0..size).collect();
        to.swap(i as usize, j as usize);
        ElementPermutation::default().with(sort, to)
    }

    /// The same, and a permutation of another sort.
    pub(crate) fn with(&self, sort: SortId, to: Vec<u32>) -> ElementPermutation {
        ElementPermutation { parts: [self.parts.as_slice(), &[(sort, to)]].concat() }
    }

    /// Whether everything stays where it is.
    pub(crate) fn is_identity(&self) -> bool {
        self.parts.iter().all(|(_, to)| to.iter().enumerate().all(|(from, at)| from == *at as usize))
    }

    pub(crate) fn inverse(&self) -> ElementPermutation {
        let invert = |(sort, to): &(SortId, Vec<u32>)| {
            let mut from = to.clone();
            to.iter().enumerate().for_each(|(element, at)| from[*at as usize] = element as u32);
            (*sort, from)
        };
        ElementPermutation { parts: self.parts.iter().map(invert).collect() }
    }

    fn value(&self, value: Value) -> Value {
        let part = |sort| self.parts.iter().find(|(of, _)| *of == sort);
        match value {
            Value::Elem(sort, element) => {
                Value::Elem(sort, part(sort).map_or(element, |(_, to)| to[element as usize]))
            }
            other => other,
        }
    }
}

/// The elements of a sort that are indices on the way to a cell, each with its position and the type of the index.
pub(crate) fn indices(model: &Model, cell: &LayoutCell, sort: SortId) -> Vec<(usize, TypeId, u32)> {
    let mut ty = model.vars[cell.var].ty;
    let mut found = Vec::new();
    for (at, step) in cell.way.iter().enumerate() {
        ty = match model.kind(ty) {
            Type::Record { fields } => fields[*step as usize].ty,
            Type::Array { index, element } => {
                if let Some(Value::Elem(of, number)) = model.value_at(*index, u64::from(*step))
                    && of == sort
                {
                    found.push((at, *index, number));
                }
                *element
            }
            _ => ty,
        };
    }
    found
}

/// Whether the values of a cell may be elements of a sort.
pub(crate) fn refers(model: &Model, cell: &LayoutCell, sort: SortId) -> bool {
    model.sorts_of(cell.ty).contains(&sort)
}

impl PermuteGround<'_> {
    /// The bits of a state after a permutation, as functions of those before; only of the cells that it concerns.
    /// Nothing where cells that should be alike are not.
    pub(crate) fn after(&self, permutation: &ElementPermutation) -> DdResult<Option<Vec<(DdVar, Bdd)>>> {
        let from = permutation.inverse();
        let mut bits = Vec::new();
        for cell in &self.layout.cells {
            let mut way = cell.way.clone();
            for (sort, from) in &from.parts {
                for (at, index, element) in indices(self.model, cell, *sort) {
                    let source = Value::Elem(*sort, from[element as usize]);
                    let Some(step) = self.model.ordinal(index, &source) else { return Ok(None) };
                    way[at] = step as u32;
                }
            }
            let refers = permutation.parts.iter().any(|(sort, _)| refers(self.model, cell, *sort));
            if way == cell.way && !refers {
                continue;
            }
            let source = self.layout.cells.iter().find(|it| it.var == cell.var && it.way == way);
            let Some(source) = source.filter(|it| (it.values, it.optional) == (cell.values, cell.optional))
            else {
                return Ok(None);
            };
            let digits = match refers {
                true => self.renamed(source, permutation)?,
                false => source.bits.iter().map(|bit| self.dd.var(now(*bit))).collect::<DdResult<_>>()?,
            };
            bits.extend(cell.bits.iter().map(|bit| now(*bit)).zip(digits));
        }
        Ok(Some(bits))
    }

    /// The bits of the value of a cell with its elements permuted.
    fn renamed(&self, cell: &LayoutCell, permutation: &ElementPermutation) -> DdResult<Vec<Bdd>> {
        let mut digits = vec![self.dd.no(); cell.bits.len()];
        // Numbers that stand for nothing stay: else a state would come from one that does not exist.
        for code in 0..1_u64 << cell.bits.len() {
            let value = self.model.value_at(cell.ty, code);
            let renamed = value.and_then(|value| self.model.ordinal(cell.ty, &permutation.value(value)));
            let here = self.is(cell, code)?;
            for (at, digit) in digits.iter_mut().enumerate() {
                if renamed.unwrap_or(code) >> at & 1 == 1 {
                    *digit = digit.or(&here)?;
                }
            }
        }
        Ok(digits)
    }

    /// Where a cell holds a value, given by its number.
    pub(crate) fn is(&self, cell: &LayoutCell, code: u64) -> DdResult<Bdd> {
        let literal = |(at, bit): (usize, &u32)| (now(*bit), code >> at & 1 == 1);
        self.dd.minterm(&cell.bits.iter().enumerate().map(literal).collect::<Vec<_>>())
    }

    /// Where a cell holds an element.
    pub(crate) fn points_to(&self, cell: &LayoutCell, sort: SortId, element: u32) -> DdResult<Bdd> {
        match self.model.ordinal(cell.ty, &Value::Elem(sort, element)) {
            Some(code) => self.is(cell, code),
            None => Ok(self.dd.no()),
        }
    }

    /// The renaming that takes a set of states to the set of the permuted states: a state is in that if the permutation
    /// undone leads into the set.
    pub(crate) fn renaming(&self, permutation: &ElementPermutation) -> DdResult<Option<Renaming>> {
        Ok(self.after(&permutation.inverse())?.map(Renaming::new))
    }
}
