//! Operators on raw integers: the left one is in rax, the right one in a cell, the result in rax.

use shoal_model::BinaryOp;

use super::{
    Direct,
    assembler::{
        Binary, MemoryCell,
        Register::{Rax, Rcx, Rdx},
        When,
    },
};

impl Direct<'_, '_> {
    /// What faults, and what is seldom, is left to the interpreter.
    pub(super) fn operator(&mut self, at: usize, op: BinaryOp, right: MemoryCell) {
        match op {
            BinaryOp::Add => self.fitting(at, Binary::Add, right),
            BinaryOp::Sub => self.fitting(at, Binary::Sub, right),
            BinaryOp::Mul => {
                self.code.multiply_by(Rax, right);
                self.leave_when(at, When::Overflow);
            }
            BinaryOp::Div => self.divide(at, right),
            BinaryOp::Rem => {
                self.divide(at, right);
                self.code.copy(Rax, Rdx);
            }
            BinaryOp::BitAnd => self.code.binary(Binary::And, Rax, right),
            BinaryOp::BitOr => self.code.binary(Binary::Or, Rax, right),
            BinaryOp::BitXor => self.code.binary(Binary::Xor, Rax, right),
            BinaryOp::Shl => {
                self.load_count(at, right);
                self.code.shift_left_by_rcx(Rax);
            }
            BinaryOp::Shr => {
                self.load_count(at, right);
                self.code.shift_right_by_rcx(Rax);
            }
            BinaryOp::Lt => self.truth(When::Less, right),
            BinaryOp::Le => self.truth(When::LessOrEqual, right),
            BinaryOp::Gt => self.truth(When::Greater, right),
            BinaryOp::Ge => self.truth(When::GreaterOrEqual, right),
        }
    }

    fn fitting(&mut self, at: usize, op: Binary, right: MemoryCell) {
        self.code.binary(op, Rax, right);
        self.leave_when(at, When::Overflow);
    }

    /// The quotient in rax, the remainder in rdx. Dividing by 0 faults, and dividing the least integer by -1 overflows.
    fn divide(&mut self, at: usize, right: MemoryCell) {
        self.code.load(Rcx, right);
        for odd in [0, -1] {
            self.code.compare_constant(Rcx, odd);
            self.leave_when(at, When::Equal);
        }
        self.code.divide_by_rcx();
    }

    /// A count of bits in rcx, of which the processor looks at the lowest six only.
    fn load_count(&mut self, at: usize, right: MemoryCell) {
        self.code.load(Rcx, right);
        self.code.compare_constant(Rcx, 63);
        self.leave_when(at, When::Above);
    }

    fn truth(&mut self, when: When, right: MemoryCell) {
        self.code.binary(Binary::Compare, Rax, right);
        self.code.truth(when);
        // 1 is false, 2 is true.
        self.code.add_constant(Rax, 1);
    }
}
