//! What nothing leads to any more: the elements of growing sorts that are gone when a step ends.

use std::collections::BTreeSet;

use shoal_model::{FaultKind, Lost, Model, SortId, SortSize, Type, TypeId, TypedId, Value};
use shoal_syntax::Span;

use crate::{
    machine::{Executed, ReferenceMachine, fault},
    values::GrowingIndex,
};

/// What becomes of the elements of a sort that nothing leads to.
fn lost(model: &Model, sort: SortId) -> Lost {
    match model.sorts[sort].size {
        SortSize::Growing { lost, .. } => lost,
        SortSize::Fixed(_) | SortSize::Any => Lost::Stays,
    }
}

/// The numbers that elements which were deleted still have: something refers to them.
pub(crate) fn held(model: &Model, vars: &[Value], live: &[Vec<bool>]) -> Vec<BTreeSet<u32>> {
    if model.sorts.ids().all(|sort| lost(model, sort) == Lost::Stays) {
        return vec![BTreeSet::new(); model.sorts.len()];
    }
    let mut reached = reached(model, vars);
    for sort in model.sorts.ids() {
        let stays = lost(model, sort) == Lost::Stays;
        let exists = |element: &u32| live[sort.index()].get(*element as usize) == Some(&true);
        reached[sort.index()].retain(|element| !stays && !exists(element));
    }
    reached
}

impl ReferenceMachine<'_> {
    /// A step ends: what nothing leads to is gone, or is a fault.
    pub(crate) fn collect(&mut self, span: Span) -> Executed {
        let model = self.model;
        let growing: Vec<SortId> =
            model.sorts.ids().filter(|sort| lost(model, *sort) != Lost::Stays).collect();
        if growing.is_empty() {
            return Ok(());
        }
        let reached = reached(model, self.vars());
        for sort in growing {
            let elements: Vec<u32> = self.shapes().elements(sort).collect();
            for element in elements.into_iter().filter(|element| !reached[sort.index()].contains(element)) {
                if lost(model, sort) == Lost::Faults {
                    return fault(FaultKind::LostElement, span);
                }
                self.delete(sort, element);
            }
        }
        Ok(())
    }
}

/// The elements that variables lead to.
fn reached(model: &Model, vars: &[Value]) -> Vec<BTreeSet<u32>> {
    let mut reach = ReachableElements { model, found: vec![BTreeSet::new(); model.sorts.len()], more: true };
    while std::mem::take(&mut reach.more) {
        for (value, var) in vars.iter().zip(model.vars.iter()) {
            reach.visit(value, var.ty);
        }
    }
    reach.found
}

struct ReachableElements<'a> {
    model: &'a Model,
    found: Vec<BTreeSet<u32>>,
    more: bool,
}

impl ReachableElements<'_> {
    fn visit(&mut self, value: &Value, ty: TypeId) {
        match (self.model.kind(ty), value) {
            (Type::Record { fields }, Value::Record(values)) => {
                values.iter().zip(fields).for_each(|(value, field)| self.visit(value, field.ty));
            }
            (Type::Array { index, element }, Value::Array(values)) => {
                let sort = self.model.growing_index(*index);
                for (value, number) in values.iter().zip(0..) {
                    // What belongs to an element counts once something leads there.
                    if sort.is_none_or(|sort| self.found[sort.index()].contains(&number)) {
                        self.visit(value, *element);
                    }
                }
            }
            (Type::Sequence { element, .. }, Value::Sequence(values)) => {
                values.iter().for_each(|value| self.visit(value, *element));
            }
            (Type::Multiset { element, .. }, Value::Multiset(slots)) => {
                slots.iter().flatten().for_each(|value| self.visit(value, *element));
            }
            (_, Value::Elem(sort, element)) => self.more |= self.found[sort.index()].insert(*element),
            _ => {}
        }
    }
}
