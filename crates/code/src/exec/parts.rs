//! What single instructions do, where it takes more than a line.

use shoal_model::{BinaryOp, Fault, FaultKind, Value, internal};

use super::{Machine, Trap, fault};
use crate::{
    bag::{Bag, normalise},
    code::{CodeMap, FALSE, IntRange, Outside, TRUE},
};

impl Machine<'_> {
    /// Whether two composite values are the same. Where in a multiset an element lies does not matter.
    pub(super) fn same(&mut self, left: usize, right: usize, shape: u32) -> bool {
        let shape = &self.program.shapes[shape as usize];
        let length = shape.length as usize;
        let (left, right) = (&self.mem[left..left + length], &self.mem[right..right + length]);
        if shape.bags.is_empty() {
            return left == right;
        }
        for (scratch, cells) in self.scratch.iter_mut().zip([left, right]) {
            scratch.clear();
            scratch.extend_from_slice(cells);
            normalise(&shape.bags, scratch);
        }
        self.scratch[0] == self.scratch[1]
    }

    pub(super) fn merge(&mut self, bag: &Bag, frame: usize, marks: usize, address: i64, taken: u32) {
        let group = bag.group as usize;
        let start = address as usize;
        let registers = &self.program.taken[taken as usize];
        let is_taken = |mem: &[i64], position: usize| {
            registers.iter().any(|(of, at)| {
                mem[frame + *of as usize] == address && mem[frame + *at as usize] == position as i64
            })
        };
        for position in 1..bag.capacity as usize {
            if self.mem[frame + marks + position] == 0 || is_taken(&self.mem, position) {
                continue;
            }
            let element = |at: usize| start + at * group..start + (at + 1) * group;
            let seen = (0..position).any(|before| {
                self.mem[start + before * group] != 0
                    && self.mem[element(before)] == self.mem[element(position)]
                    && !is_taken(&self.mem, before)
            });
            if seen {
                self.mem[frame + marks + position] = 0;
            }
        }
    }
}

pub(super) fn indexed(base: i32, index: i64, stride: u16) -> usize {
    i64::from(base).wrapping_add(index.wrapping_mul(i64::from(stride))) as usize
}

pub(super) fn group(bag: &Bag, address: i64, position: i64) -> Option<usize> {
    let inside = (0..i64::from(bag.capacity)).contains(&position);
    inside.then(|| (address + position * i64::from(bag.group)) as usize)
}

pub(super) fn outside(range: &IntRange) -> Trap {
    match &range.outside {
        Outside::Fault(kind, span) => Trap::Fault(Fault { kind: kind.clone(), span: *span }),
        Outside::Nothing => Trap::Discard,
    }
}

pub(super) fn mapped(map: &CodeMap, code: i64) -> Result<i64, Trap> {
    if code == 0 {
        return Ok(0);
    }
    let unsigned = code as u64;
    if let Some((_, _, add)) =
        map.pieces.iter().find(|(first, last, _)| *first <= unsigned && unsigned <= *last)
    {
        return Ok(code.wrapping_add(*add));
    }
    match &map.outside {
        Outside::Nothing => Ok(-1),
        Outside::Fault(_, span) if map.null == Some(unsigned) => fault(FaultKind::NullReference, *span),
        Outside::Fault(kind, span) => fault(kind.clone(), *span),
    }
}

pub(super) fn arithmetic(op: BinaryOp, left: i64, right: i64) -> Result<i64, FaultKind> {
    match op.apply(left, right)? {
        Value::Int(value) => Ok(value),
        Value::Bool(value) => Ok(if value { TRUE } else { FALSE }),
        other => internal!("an operator gives {other:?}"),
    }
}

/// How many values a range has.
pub(super) fn range_length(from: i64, to: i64, by: i64) -> i64 {
    let (from, to, by) = (i128::from(from), i128::from(to), i128::from(by));
    let length =
        if (by > 0 && from > to) || (by < 0 && from < to) || by == 0 { 0 } else { (to - from) / by + 1 };
    i64::try_from(length).unwrap_or(i64::MAX)
}
