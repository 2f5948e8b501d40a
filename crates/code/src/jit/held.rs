//! Units that need no cells: they read and write the packed form of the state, which is held in few values.
//!
//! Where a cell stands in the packed form is mostly known beforehand, so reading one is a shift and a mask. Then a state
//! need not be taken apart before it is expanded, and nothing need be put back after a body. The cells are made when the
//! code is left for the interpreter, from the packed form as it is then.

use cranelift_codegen::ir::{InstBuilder, Value, condcodes::IntCC};

use super::{emit::Emitter, fire::StepHandling, flow::Flow};
use crate::code::{Areas, Op, Program};

/// Whether a unit can do without cells: its packed form has few words, and no instruction takes addresses or must be
/// interpreted on cells.
pub(super) fn fits(program: &Program, flow: &Flow<'_>, has_bags: bool, has_covers: bool) -> bool {
    let few = program.areas.width <= Areas::FEW_WORDS;
    few && !StepHandling::new(program, flow, has_bags, has_covers).whole
        && flow.nodes.iter().all(|node| match node.op {
            Op::Call { .. } => !flow.calls_out(node),
            op => keeps_to_registers(op),
        })
}

/// Whether an instruction is about registers and single cells of the state alone.
fn keeps_to_registers(op: Op) -> bool {
    !matches!(
        op,
        Op::PeekAt { .. }
            | Op::LoadAt { .. }
            | Op::StoreAt { .. }
            | Op::FrameAddress { .. }
            | Op::Fill { .. }
            | Op::Copy { .. }
            | Op::Template { .. }
            | Op::Same { .. }
            | Op::Occupied { .. }
            | Op::BagScan { .. }
            | Op::BagMerge { .. }
            | Op::JumpUnmarked { .. }
            | Op::CountMarks { .. }
            | Op::SelectMark { .. }
            | Op::BagElement { .. }
            | Op::BagAdd { .. }
            | Op::BagRemove { .. }
            | Op::BagSweep { .. }
            | Op::BagLen { .. }
            | Op::Choose { .. }
            | Op::Chosen { .. }
            | Op::Cover { .. }
    )
}

/// Where a cell stands that is known when the code runs: see [`Places`](super::places::Places).
#[derive(Clone, Copy)]
struct CellSource {
    place: Value,
    mask: Value,
    bias: Value,
    /// Divisor and radix, if some cells are put together.
    group: Option<(Value, Value)>,
}

impl Emitter<'_, '_, '_> {
    /// The content of a cell.
    pub(super) fn read_held(&mut self, cell: u32) -> Value {
        let places = self.outside.places;
        let word = self.builder.use_var(self.packed[places.word(cell as usize)]);
        places.read(&mut self.builder, cell as usize, word)
    }

    /// The content of the cell `index * stride + base`.
    pub(super) fn read_held_at(&mut self, index: Value, stride: u16, base: i32) -> Value {
        let field = self.field_at(index, stride, base);
        self.extract(field)
    }

    /// Writes the cell `index * stride + base`.
    pub(super) fn write_held_at(&mut self, index: Value, stride: u16, base: i32, value: Value) {
        let field = self.field_at(index, stride, base);
        let old = self.extract(field);
        let mut change = self.builder.ins().isub(value, old);
        if let Some((divisor, _)) = field.group {
            change = self.builder.ins().imul(change, divisor);
        }
        // Only the lowest six bits count.
        let change = self.builder.ins().ishl(change, field.place);
        self.change_word(field.place, change);
    }

    /// Where the cell `index * stride + base` stands in the packed form.
    fn field_at(&mut self, index: Value, stride: u16, base: i32) -> CellSource {
        let bytes = self.builder.ins().imul_imm_s(index, i64::from(stride) * 8);
        let places = self.outside.places;
        let mut entry = |table: &[u64]| {
            let table = self.constant(table.as_ptr() as i64);
            let entry = self.builder.ins().iadd(table, bytes);
            self.load(entry, i64::from(base))
        };
        CellSource {
            place: entry(&places.fields),
            mask: entry(&places.masks),
            bias: entry(&places.biases),
            group: places.grouped.then(|| (entry(&places.divisors), entry(&places.radices))),
        }
    }

    fn extract(&mut self, field: CellSource) -> Value {
        let mut word = self.builder.use_var(self.packed[0]);
        if self.packed.len() > 1 {
            let number = self.builder.ins().ushr_imm_u(field.place, 6);
            for at in 1..self.packed.len() {
                let here = self.builder.ins().icmp_imm_s(IntCC::Equal, number, at as i64);
                let other = self.builder.use_var(self.packed[at]);
                word = self.builder.ins().select(here, other, word);
            }
        }
        let shifted = self.builder.ins().ushr(word, field.place);
        let mut content = self.builder.ins().band(shifted, field.mask);
        if let Some((divisor, radix)) = field.group {
            content = self.builder.ins().udiv(content, divisor);
            content = self.builder.ins().urem(content, radix);
        }
        self.builder.ins().iadd(content, field.bias)
    }

    /// The packed form goes to memory: the cells are made from it there.
    pub(super) fn write_packed(&mut self) {
        let memory = self.builder.use_var(self.memory);
        for word in 0..self.packed.len() {
            let value = self.builder.use_var(self.packed[word]);
            self.store(value, memory, (self.program.areas.words + word) as i64);
        }
    }
}
