//! What timers are compared with: anywhere, and by a process from one of its modes on.
//!
//! A zone need not tell apart what no comparison will. A process in a mode compares a timer with the constants of the rules
//! and invariants that it can come to before it sets the timer; how it gets there through the values of other cells is left out, which
//! only adds constants.

use shoal_dbm::ClockBounds;
use shoal_model::PropertyKind;

use super::{Conjunction, Process, ProcessSystem, ValueMask, conditions::note_limit};

/// What a process compares timers with, by the value of one of its cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct ControlLimits {
    /// The cell, which nobody else writes: its mode. Nothing if there is none.
    cell: Option<usize>,
    /// For each value of the cell, the limits of each timer; one entry where there is no cell.
    by_value: Vec<Vec<ClockBounds>>,
}

impl ControlLimits {
    /// Adds what the process compares timers with, if no more is known than what cells may be.
    pub(crate) fn join(&self, facts: impl Fn(usize) -> ValueMask, limits: &mut [ClockBounds]) {
        let mask = self.cell.map_or(ValueMask::MAX, facts);
        for (value, from_here) in self.by_value.iter().enumerate() {
            if mask >> value & 1 == 1 {
                join_all(limits, from_here);
            }
        }
    }
}

fn join_all(limits: &mut [ClockBounds], more: &[ClockBounds]) -> bool {
    let mut changed = false;
    for (limit, more) in limits.iter_mut().zip(more) {
        let joined = limit.join(*more);
        changed |= joined != *limit;
        *limit = joined;
    }
    changed
}

impl ProcessSystem<'_> {
    /// Finds what each timer is compared with.
    pub(super) fn limits(&mut self) {
        let mut common = vec![ClockBounds::default(); self.timers.len()];
        note_all(&mut common, self.invariant.iter().flatten());
        // What is asked about a state must not be lost either. A condition that is no disjunction is refused when it is asked.
        let properties = self.model.properties.iter();
        let asked = properties.filter(|property| !matches!(property.kind, PropertyKind::Assume(_)));
        for condition in asked.flat_map(|property| property.kind.conditions()) {
            // Where it is false timers are compared with the same constants as where it is true; one of the two may be far larger.
            let ways = self.violations(condition).or_else(|_| self.states(condition));
            ways.iter().for_each(|dnf| note_all(&mut common, dnf));
        }
        let found: Vec<ControlLimits> = (0..self.processes.len()).map(|at| self.limits_of(at)).collect();
        let mut whole = common.clone();
        for (process, limits) in self.processes.iter_mut().zip(found) {
            limits.join(|_| ValueMask::MAX, &mut whole);
            process.limits = limits;
        }
        for (timer, limits) in self.timers.iter_mut().zip(whole) {
            timer.limits = limits;
        }
        self.common_limits = common;
    }

    /// The cell that says most about which rules of a process are possible, of those that nobody else writes.
    fn control(&self, process: usize) -> Option<usize> {
        let mut own = vec![true; self.cells.len()];
        for (_, other) in self.processes.iter().enumerate().filter(|(at, _)| *at != process) {
            let written = other.rules.iter().flat_map(|rule| &rule.assigns);
            written.for_each(|(cell, _)| own[*cell] = false);
        }
        let tests = |cell: usize| {
            let guards = self.processes[process].rules.iter().flat_map(|rule| &rule.guard.cells);
            guards.filter(|(tested, _)| *tested == cell).count()
        };
        let tested = (0..own.len()).filter(|cell| own[*cell]).map(|cell| (tests(cell), cell));
        let best =
            tested.filter(|(tests, _)| *tests > 0).max_by_key(|(tests, cell)| (*tests, usize::MAX - cell));
        best.map(|(_, cell)| cell)
    }

    fn limits_of(&self, at: usize) -> ControlLimits {
        let process = &self.processes[at];
        let cell = self.control(at);
        let values = cell.map_or(1, |cell| self.cells[cell].size as usize);
        let mut by_value: Vec<Vec<ClockBounds>> =
            (0..values).map(|value| self.read_at(process, cell, value)).collect();
        while self.carry_back(process, cell, &mut by_value) {}
        ControlLimits { cell, by_value }
    }

    /// What a process compares timers with at once where its cell has a value.
    fn read_at(&self, process: &Process, cell: Option<usize>, value: usize) -> Vec<ClockBounds> {
        let mut limits = vec![ClockBounds::default(); self.timers.len()];
        let guards = process.rules.iter().map(|rule| &rule.guard);
        // An invariant that the value satisfies by itself compares nothing.
        let asked = process.invariant.iter().filter(|dnf| !dnf.iter().any(|part| is_sure(part, cell, value)));
        let parts = guards.chain(asked.flatten());
        note_all(&mut limits, parts.filter(|part| is_possible(part, cell, value)));
        limits
    }

    /// Takes what is compared after each rule, and not set by it, back to where it fires; whether anything has changed.
    fn carry_back(&self, process: &Process, cell: Option<usize>, by_value: &mut [Vec<ClockBounds>]) -> bool {
        let mut changed = false;
        for rule in &process.rules {
            let assigned = rule.assigns.iter().find(|(written, _)| Some(*written) == cell);
            for value in (0..by_value.len()).filter(|value| is_possible(&rule.guard, cell, *value)) {
                let to = assigned.map_or(value, |(_, to)| *to as usize);
                let mut carried = by_value[to].clone();
                rule.resets.iter().for_each(|(timer, _)| carried[*timer] = ClockBounds::default());
                changed |= join_all(&mut by_value[value], &carried);
            }
        }
        changed
    }
}

/// Whether a conjunction does not exclude a value of a cell.
fn is_possible(part: &Conjunction, cell: Option<usize>, value: usize) -> bool {
    let of_cell = part.cells.iter().find(|(tested, _)| Some(*tested) == cell);
    of_cell.is_none_or(|(_, mask)| mask >> value & 1 == 1)
}

/// Whether a value of a cell is all that a conjunction asks for.
fn is_sure(part: &Conjunction, cell: Option<usize>, value: usize) -> bool {
    let asks_only = part.cells.iter().all(|(tested, _)| Some(*tested) == cell);
    part.timers.is_empty() && asks_only && is_possible(part, cell, value)
}

fn note_all<'c>(limits: &mut [ClockBounds], parts: impl IntoIterator<Item = &'c Conjunction>) {
    for constraint in parts.into_iter().flat_map(|part| &part.timers) {
        note_limit(limits, constraint);
    }
}
