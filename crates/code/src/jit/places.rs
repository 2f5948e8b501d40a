//! How native code reads cells from words of the packed form, and what it adds to them.

use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::FunctionBuilder;

use crate::layout::Layout;

/// The fields of all cells, as tables: code has their addresses.
pub(super) struct Places {
    /// The number of the word times 64 plus the shift.
    pub(super) fields: Box<[u64]>,
    /// The bits, once they are shifted to the right.
    pub(super) masks: Box<[u64]>,
    /// See [`crate::fields::Field`].
    pub(super) biases: Box<[u64]>,
    pub(super) divisors: Box<[u64]>,
    /// More than there can be for cells that have bits of their own.
    pub(super) radices: Box<[u64]>,
    /// Whether some cells are put together.
    pub(super) grouped: bool,
}

impl Places {
    pub(super) fn new(layout: &Layout) -> Places {
        let fields = layout.fields();
        Places {
            fields: fields.iter().map(|field| u64::from(field.word) << 6 | u64::from(field.shift)).collect(),
            masks: fields.iter().map(|field| field.mask).collect(),
            biases: fields.iter().map(|field| field.bias).collect(),
            divisors: fields.iter().map(|field| field.divisor()).collect(),
            radices: fields
                .iter()
                .map(|field| if field.radix == 0 { u64::MAX } else { field.radix })
                .collect(),
            grouped: fields.iter().any(|field| field.radix > 0),
        }
    }

    /// The word that a cell is in.
    pub(super) fn word(&self, cell: usize) -> usize {
        (self.fields[cell] >> 6) as usize
    }

    /// The content of a cell in its word.
    pub(super) fn read(&self, builder: &mut FunctionBuilder<'_>, cell: usize, word: Value) -> Value {
        let (shift, mask) = (self.fields[cell] & 63, self.masks[cell]);
        let mut content = builder.ins().ushr_imm_u(word, shift as i64);
        if u64::from(mask.leading_zeros()) != shift {
            content = builder.ins().band_imm_u(content, mask as i64);
        }
        let (divisor, radix) = (self.divisors[cell], self.radices[cell]);
        if radix != u64::MAX {
            let own = divide(builder, content, divisor);
            let above = divide(builder, own, radix);
            let above = builder.ins().imul_imm_s(above, radix as i64);
            content = builder.ins().isub(own, above);
        }
        match self.biases[cell] {
            0 => content,
            bias => builder.ins().iadd_imm_s(content, bias as i64),
        }
    }

    /// What is to be added to the word of a cell if so much is added to its code.
    pub(super) fn change(&self, builder: &mut FunctionBuilder<'_>, cell: usize, change: Value) -> Value {
        let change = match self.divisors[cell] {
            1 => change,
            divisor => builder.ins().imul_imm_s(change, divisor as i64),
        };
        builder.ins().ishl_imm_u(change, (self.fields[cell] & 63) as i64)
    }
}

/// Divides a number of 16 bits by another: the product with the reciprocal is off by less than makes a difference.
fn divide(builder: &mut FunctionBuilder<'_>, number: Value, by: u64) -> Value {
    if by == 1 {
        return number;
    }
    let product = builder.ins().imul_imm_s(number, (1u64 << 32).div_ceil(by) as i64);
    builder.ins().ushr_imm_u(product, 32)
}
