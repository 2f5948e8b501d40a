//! What permutations of processes do to cells, timers and values.

use shoal_model::{SortId, Value};

use super::{ProcessSystem, ValueMask};

/// Where the cells and timers of each process are, and which values name a process: what a permutation moves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kinship {
    /// For each cell, its process and its place among that process's cells.
    cell: Vec<Option<(usize, usize)>>,
    timer: Vec<Option<(usize, usize)>>,
    /// For each process, its cells and timers.
    cells: Vec<Vec<usize>>,
    timers: Vec<Vec<usize>>,
    /// For each cell whose values can name processes: the process of each value.
    named: Vec<Vec<(u32, usize)>>,
}

impl Kinship {
    pub(super) fn new(system: &ProcessSystem<'_>) -> Kinship {
        let mut kinship = Kinship {
            cells: vec![Vec::new(); system.processes.len()],
            timers: vec![Vec::new(); system.processes.len()],
            ..Kinship::default()
        };
        let process =
            |owner: Option<(SortId, u32)>| owner.and_then(|(sort, element)| system.process(sort, element));
        for (number, cell) in system.cells.iter().enumerate() {
            let own = process(cell.owner);
            kinship.cell.push(own.map(|own| (own, kinship.cells[own].len())));
            own.into_iter().for_each(|own| kinship.cells[own].push(number));
            let values = (0..cell.size).filter_map(|at| match system.model.value_at(cell.ty, at.into()) {
                Some(Value::Elem(sort, element)) => Some((at, system.process(sort, element)?)),
                _ => None,
            });
            kinship.named.push(values.collect());
        }
        for (number, timer) in system.timers.iter().enumerate() {
            let own = process(timer.owner);
            kinship.timer.push(own.map(|own| (own, kinship.timers[own].len())));
            own.into_iter().for_each(|own| kinship.timers[own].push(number));
        }
        kinship
    }

    /// The cell that a permutation makes of another.
    pub(crate) fn image_cell(&self, cell: usize, permutation: &[usize]) -> usize {
        self.cell[cell].map_or(cell, |(process, at)| self.cells[permutation[process]][at])
    }

    /// The timer that a permutation makes of another.
    pub(crate) fn image_timer(&self, timer: usize, permutation: &[usize]) -> usize {
        self.timer[timer].map_or(timer, |(process, at)| self.timers[permutation[process]][at])
    }

    /// The value that a permutation makes of another.
    pub(crate) fn image_value(&self, cell: usize, value: u32, permutation: &[usize]) -> u32 {
        let named = &self.named[cell];
        let process = named.iter().find(|(at, _)| *at == value).map(|(_, process)| permutation[*process]);
        let image = process.and_then(|process| named.iter().find(|(_, other)| *other == process));
        image.map_or(value, |(at, _)| *at)
    }

    /// The same for a set of values.
    pub(crate) fn image_mask(&self, cell: usize, mask: ValueMask, permutation: &[usize]) -> ValueMask {
        let mut image = mask;
        for (at, process) in &self.named[cell] {
            if mask & (1 << at) != 0 && permutation[*process] != *process {
                image &= !(1 << at);
            }
        }
        for (at, process) in &self.named[cell] {
            if mask & (1 << at) != 0 && permutation[*process] != *process {
                image |= 1 << self.image_value(cell, *at, permutation);
            }
        }
        image
    }

    /// The value of a cell that names a process.
    pub(crate) fn value_of(&self, cell: usize, process: usize) -> Option<u32> {
        self.named[cell].iter().find(|(_, named)| *named == process).map(|(at, _)| *at)
    }

    pub(crate) fn cells_of(&self, process: usize) -> &[usize] {
        &self.cells[process]
    }

    pub(crate) fn cell_owner(&self, cell: usize) -> Option<usize> {
        self.cell[cell].map(|(process, _)| process)
    }

    pub(crate) fn timer_owner(&self, timer: usize) -> Option<usize> {
        self.timer[timer].map(|(process, _)| process)
    }
}
