//! How native code reads cells from words of the packed form, and what it adds to them.

use cranelift_codegen::ir::{
    InstBuilder, Value,
    types::{I32, I64},
};
use cranelift_frontend::FunctionBuilder;

use crate::{fields::PackedField, layout::Layout};

/// The fields of all cells, as tables: code has their addresses.
pub(super) struct Places {
    all: Box<[PackedField]>,
    /// The number of the word times 64 plus the shift.
    pub(super) fields: Box<[u64]>,
    /// The bits, once they are shifted to the right.
    pub(super) masks: Box<[u64]>,
    /// See [`crate::fields::PackedField`].
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
            all: fields.into(),
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
        read_field(builder, self.all[cell], word)
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

/// The content of a field of a word.
pub(super) fn read_field(builder: &mut FunctionBuilder<'_>, field: PackedField, word: Value) -> Value {
    let mut content = builder.ins().ushr_imm_u(word, i64::from(field.shift));
    if field.mask.leading_zeros() != field.shift {
        content = builder.ins().band_imm_u(content, field.mask as i64);
    }
    if field.radix > 0 {
        content = digit(builder, content, field.divisor(), field.radix);
    }
    match field.bias {
        0 => content,
        bias => builder.ins().iadd_imm_s(content, bias as i64),
    }
}

/// A digit of a number of 16 bits. Divided by what the digits up to this one count, the number has it right behind the point:
/// so it comes out of what is behind the point, times the radix. The reciprocal is off by less than makes a difference.
fn digit(builder: &mut FunctionBuilder<'_>, number: Value, divisor: u64, radix: u64) -> Value {
    let number = builder.ins().ireduce(I32, number);
    let behind_the_point = builder.ins().imul_imm_u(number, reciprocal(divisor * radix) as i64);
    let behind_the_point = builder.ins().uextend(I64, behind_the_point);
    let product = builder.ins().imul_imm_s(behind_the_point, radix as i64);
    builder.ins().ushr_imm_u(product, 32)
}

/// What is behind the point if one is divided by a number, in 32 bits.
fn reciprocal(of: u64) -> u64 {
    (1u64 << 32).div_ceil(of)
}

#[cfg(test)]
mod tests {
    use super::reciprocal;

    /// What [`super::digit`] has computed, on all numbers that may be.
    #[test]
    fn digits_are_exact() {
        for radix in 3..=12u64 {
            let divisors =
                (0..).map(|digit| radix.pow(digit)).take_while(|divisor| divisor * radix <= 1 << 16);
            for divisor in divisors {
                let reciprocal = reciprocal(divisor * radix) as u32;
                for number in 0..1u32 << 16 {
                    let behind_the_point = u64::from(number.wrapping_mul(reciprocal));
                    let digit = (behind_the_point * radix) >> 32;
                    assert_eq!(digit, u64::from(number) / divisor % radix, "{number} / {divisor} % {radix}");
                }
            }
        }
    }
}
