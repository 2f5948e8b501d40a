//! Single states of counters: a row of numbers, and what a move does to it.

use shoal_model::TypedId;
use shoal_symbolic::{
    dd::{Bdd, DdVar, FlatDiagram},
    layout::Bit,
};

use crate::compile::{ClassMove, Compiled};

/// A state: the number of the value of each cell, then the counters.
pub(crate) type CounterState = Box<[u32]>;

/// Where the bits of a state are found in a row of numbers.
pub(crate) struct BitPositions {
    bits: Vec<(u32, u32)>,
    slots: usize,
    /// The slot of each counter, by sort.
    counters: Vec<Vec<usize>>,
}

/// A move, ready to be applied to rows of numbers.
pub(crate) struct PointMove {
    /// Which move it is.
    pub(crate) number: usize,
    ends: FlatDiagram,
    changes: Vec<(Bit, FlatDiagram)>,
    deltas: Vec<(usize, i64)>,
    transfers: Vec<(usize, usize)>,
    arrivals: Vec<usize>,
}

impl BitPositions {
    pub(crate) fn new(compiled: &Compiled<'_>) -> BitPositions {
        let cells = compiled.layout.cells.len();
        let mut bits = vec![(0, 0); compiled.bits as usize];
        for (slot, cell) in compiled.layout.cells.iter().enumerate() {
            for (at, bit) in cell.bits.iter().enumerate() {
                bits[*bit as usize] = (slot as u32, at as u32);
            }
        }
        let mut slots = cells;
        let mut counters = vec![Vec::new(); compiled.model.sorts.len()];
        for (sort, locals) in &compiled.locals {
            for counter in &locals.bits {
                for (at, bit) in counter.iter().enumerate() {
                    bits[*bit as usize] = (slots as u32, at as u32);
                }
                counters[sort.index()].push(slots);
                slots += 1;
            }
        }
        BitPositions { bits, slots, counters }
    }

    /// The number of a bit's variable in a state.
    fn bit(&self, point: &[u32], var: DdVar) -> bool {
        let (slot, at) = self.bits[(var / 2) as usize];
        point[slot as usize] >> at & 1 == 1
    }

    /// Whether a state is in a set.
    pub(crate) fn holds(&self, set: &FlatDiagram, point: &[u32]) -> bool {
        set.holds(|var| self.bit(point, var))
    }

    /// The state with these bits.
    pub(crate) fn point(&self, bits: &[bool]) -> CounterState {
        let mut point = vec![0; self.slots].into_boxed_slice();
        for ((slot, at), value) in self.bits.iter().zip(bits) {
            point[*slot as usize] |= u32::from(*value) << at;
        }
        point
    }

    /// The bits of a state.
    pub(crate) fn bits(&self, point: &[u32]) -> Vec<bool> {
        self.bits.iter().map(|(slot, at)| point[*slot as usize] >> at & 1 == 1).collect()
    }

    pub(crate) fn counter(&self, sort: shoal_model::SortId, class: usize) -> usize {
        self.counters[sort.index()][class]
    }

    /// Makes a move ready.
    pub(crate) fn prepare(&self, number: usize, moved: &ClassMove) -> PointMove {
        let mut deltas: std::collections::BTreeMap<usize, i64> = std::collections::BTreeMap::new();
        let mut arrivals = Vec::new();
        for role in &moved.roles {
            *deltas.entry(self.counter(role.sort, role.from)).or_default() -= 1;
            let to = self.counter(role.sort, role.to);
            if moved.transfers.is_empty() {
                *deltas.entry(to).or_default() += 1;
            } else {
                arrivals.push(to);
            }
        }
        PointMove {
            number,
            ends: moved.ends.flat(),
            changes: moved.changes.iter().map(|(bit, digit)| (*bit, digit.flat())).collect(),
            deltas: deltas.into_iter().filter(|(_, delta)| *delta != 0).collect(),
            transfers: moved
                .transfers
                .iter()
                .map(|(sort, from, to)| (self.counter(*sort, *from), self.counter(*sort, *to)))
                .collect(),
            arrivals,
        }
    }

    /// All moves, ready.
    pub(crate) fn prepare_all(&self, compiled: &Compiled<'_>) -> Vec<PointMove> {
        compiled.moves.iter().enumerate().map(|(number, moved)| self.prepare(number, moved)).collect()
    }

    /// The state after a move, if it can be made.
    pub(crate) fn after(&self, point: &[u32], moved: &PointMove) -> Option<CounterState> {
        if !self.holds(&moved.ends, point) {
            return None;
        }
        let mut next: CounterState = point.into();
        for (bit, digit) in &moved.changes {
            let (slot, at) = self.bits[*bit as usize];
            let value = u32::from(self.holds(digit, point));
            next[slot as usize] = next[slot as usize] & !(1 << at) | value << at;
        }
        for (slot, delta) in &moved.deltas {
            next[*slot] = next[*slot].wrapping_add_signed(*delta as i32);
        }
        if !moved.transfers.is_empty() {
            let left = next.clone();
            moved.transfers.iter().for_each(|(from, _)| next[*from] = 0);
            moved.transfers.iter().for_each(|(from, to)| next[*to] += left[*from]);
            moved.arrivals.iter().for_each(|to| next[*to] += 1);
        }
        Some(next)
    }
}

/// Sets that are asked for often.
pub(crate) fn flat(set: &Bdd) -> FlatDiagram {
    set.flat()
}
