//! States without room for what never happens: cells that are undefined in no state need no code for it.
//!
//! A cell is defined in all states if it is after all starts, and no rule makes it undefined, nor copies to it what may be
//! ([`undefinable`]). Elements of an array are taken together, as representatives may have them in another order.

use std::{collections::BTreeSet, ops::ControlFlow};

use shoal_analysis::{FieldPath, undefinable};
use shoal_code::{CellStep, Layout, Machine, Program, Stepper, Visitor};
use shoal_model::{Fault, Model, Value, VarId, Watch};

/// If there are more start states than this, nothing is known of them.
const MOST_STARTS: usize = 10_000;

/// The slots that may be undefined in some state; nothing if that is not known. The program is for the layout.
pub(crate) fn blank(
    model: &Model,
    layout: &Layout,
    program: &Program,
    watch: &Watch,
) -> Option<BTreeSet<FieldPath>> {
    let mut starts = Starts { undefined: vec![false; layout.cells()], count: 0 };
    let all = Stepper::new(model, layout, program).starts_within(watch, &mut starts);
    if all != Ok(ControlFlow::Continue(())) {
        return None;
    }
    let slots = slots(model, layout);
    let blank = slots.iter().zip(&starts.undefined).filter(|(_, undefined)| **undefined);
    undefinable(model, blank.filter_map(|(slot, _)| slot.clone()).collect())
}

/// The layout for states in which only these slots may be undefined; nothing if it would be the same.
pub(crate) fn narrowed(model: &Model, layout: &Layout, blank: &BTreeSet<FieldPath>) -> Option<Layout> {
    let slots = slots(model, layout);
    let defined = |cell: u32| slots[cell as usize].as_ref().is_some_and(|slot| !blank.contains(slot));
    let narrowed = layout.narrowed(model, defined);
    (narrowed.bits() < layout.bits()).then_some(narrowed)
}

/// The slot of each cell; nothing for cells of multisets.
fn slots(model: &Model, layout: &Layout) -> Vec<Option<FieldPath>> {
    let firsts: Vec<(u32, VarId)> = model.vars.ids().map(|var| (layout.var(var), var)).collect();
    let mut slots = vec![None; layout.cells()];
    layout.each_cell(model, &mut |cell, ty, path| {
        let inside = path.iter().any(|step| matches!(step, CellStep::Group | CellStep::Population));
        let before = firsts.partition_point(|(first, _)| *first <= cell);
        let Some((_, var)) = before.checked_sub(1).map(|at| firsts[at]).filter(|_| ty.is_some() && !inside)
        else {
            return;
        };
        let fields = path.iter().filter_map(|step| match step {
            CellStep::Field(field) => Some(*field),
            _ => None,
        });
        slots[cell as usize] = Some(FieldPath { var, fields: fields.collect() });
    });
    slots
}

/// Looks at start states.
struct Starts {
    /// Which cells are undefined in one.
    undefined: Vec<bool>,
    count: usize,
}

impl Visitor for Starts {
    const ARGS: bool = false;

    fn fired(&mut self, _: usize, machine: &Machine<'_>, _: bool) -> ControlFlow<()> {
        self.undefined.iter_mut().zip(machine.state()).for_each(|(undefined, code)| *undefined |= *code == 0);
        self.count += 1;
        if self.count > MOST_STARTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn body_fault(&mut self, _: usize, _: &Machine<'_>, _: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, _: usize, _: Vec<Value>, _: Fault) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}
