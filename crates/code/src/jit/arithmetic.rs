//! Operators on raw integers. What faults, and what is seldom, is left to the interpreter.

use cranelift_codegen::ir::{InstBuilder, Value, condcodes::IntCC};
use shoal_model::BinaryOp;

use super::emit::Emitter;
use crate::code::{FALSE, TRUE};

impl Emitter<'_, '_, '_> {
    /// The result of an operator at an instruction.
    pub(super) fn operator(&mut self, at: usize, op: BinaryOp, left: Value, right: Value) -> Value {
        match op {
            BinaryOp::Add => {
                let (value, overflow) = self.builder.ins().sadd_overflow(left, right);
                self.fitting(at, value, overflow)
            }
            BinaryOp::Sub => {
                let (value, overflow) = self.builder.ins().ssub_overflow(left, right);
                self.fitting(at, value, overflow)
            }
            BinaryOp::Mul => {
                let (value, overflow) = self.builder.ins().smul_overflow(left, right);
                self.fitting(at, value, overflow)
            }
            BinaryOp::Div => {
                self.leave_at_odd_divisors(at, right);
                self.builder.ins().sdiv(left, right)
            }
            BinaryOp::Rem => {
                self.leave_at_odd_divisors(at, right);
                self.builder.ins().srem(left, right)
            }
            BinaryOp::BitAnd => self.builder.ins().band(left, right),
            BinaryOp::BitOr => self.builder.ins().bor(left, right),
            BinaryOp::BitXor => self.builder.ins().bxor(left, right),
            BinaryOp::Shl => {
                self.leave_at_odd_counts(at, right);
                self.builder.ins().ishl(left, right)
            }
            BinaryOp::Shr => {
                self.leave_at_odd_counts(at, right);
                self.builder.ins().sshr(left, right)
            }
            BinaryOp::Lt => self.comparison(IntCC::SignedLessThan, left, right),
            BinaryOp::Le => self.comparison(IntCC::SignedLessThanOrEqual, left, right),
            BinaryOp::Gt => self.comparison(IntCC::SignedGreaterThan, left, right),
            BinaryOp::Ge => self.comparison(IntCC::SignedGreaterThanOrEqual, left, right),
        }
    }

    /// A value, unless it does not fit.
    fn fitting(&mut self, at: usize, value: Value, overflow: Value) -> Value {
        self.leave_if(at, overflow, 0);
        value
    }

    /// Dividing by 0 faults, and dividing the least integer by -1 overflows.
    fn leave_at_odd_divisors(&mut self, at: usize, divisor: Value) {
        let above = self.builder.ins().iadd_imm_s(divisor, 1);
        let odd = self.builder.ins().icmp_imm_u(IntCC::UnsignedLessThanOrEqual, above, 1);
        self.leave_if(at, odd, 0);
    }

    /// The processor looks at the lowest six bits of a count only.
    fn leave_at_odd_counts(&mut self, at: usize, count: Value) {
        let odd = self.builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThan, count, 63);
        self.leave_if(at, odd, 0);
    }

    fn comparison(&mut self, how: IntCC, left: Value, right: Value) -> Value {
        let holds = self.builder.ins().icmp(how, left, right);
        let (yes, no) = (self.constant(TRUE), self.constant(FALSE));
        self.builder.ins().select(holds, yes, no)
    }
}
