//! As much of the x86-64 as is needed to write code on cells: operands are registers, constants and cells of the machine's
//! memory.

/// A register of the processor. Numbers are the processor's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    Rax = 0,
    Rcx = 1,
    Rdx = 2,
    /// Always the beginning of the memory.
    Rbx = 3,
    Rsi = 6,
    Rdi = 7,
    R8 = 8,
    R12 = 12,
    R13 = 13,
    R14 = 14,
    R15 = 15,
}

impl Register {
    fn low(self) -> u8 {
        self as u8 & 7
    }

    fn high(self) -> u8 {
        self as u8 >> 3
    }
}

/// A cell of the memory: so many behind the one whose number a register has, or behind the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryCell {
    pub(super) index: Option<Register>,
    pub(super) offset: i64,
}

impl MemoryCell {
    pub(super) fn at(offset: usize) -> MemoryCell {
        MemoryCell { index: None, offset: offset as i64 }
    }

    pub(super) fn behind(index: Register, offset: i64) -> MemoryCell {
        MemoryCell { index: Some(index), offset }
    }
}

/// Operations on a register and a register or a cell, by their codes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Binary {
    Add = 0x03,
    Or = 0x0b,
    And = 0x23,
    Sub = 0x2b,
    Xor = 0x33,
    Compare = 0x3b,
}

/// When to jump, by the processor's numbers of conditions.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Overflow = 0x0,
    AboveOrEqual = 0x3,
    Equal = 0x4,
    Differ = 0x5,
    BelowOrEqual = 0x6,
    Above = 0x7,
    Negative = 0x8,
    Less = 0xc,
    GreaterOrEqual = 0xd,
    LessOrEqual = 0xe,
    Greater = 0xf,
}

/// A place in the code that may be jumped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeLabel(u32);

/// Code that is being written.
#[derive(Default)]
pub(super) struct Assembler {
    bytes: Vec<u8>,
    /// Where labels are, once they are.
    places: Vec<Option<usize>>,
    /// Distances to labels that are to be filled in: where they stand.
    jumps: Vec<(usize, CodeLabel)>,
}

impl Assembler {
    /// The code, with all labels in their places.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        for (at, label) in std::mem::take(&mut self.jumps) {
            let to = self.places[label.0 as usize]?;
            // The distance is from behind itself.
            let distance = i32::try_from(to as i64 - (at as i64 + 4)).ok()?;
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        Some(self.bytes)
    }

    pub(super) fn label(&mut self) -> CodeLabel {
        self.places.push(None);
        CodeLabel(self.places.len() as u32 - 1)
    }

    /// A label is here.
    pub(super) fn place(&mut self, label: CodeLabel) {
        self.places[label.0 as usize] = Some(self.bytes.len());
    }

    pub(super) fn push(&mut self, register: Register) {
        self.short(0x50, register);
    }

    pub(super) fn pop(&mut self, register: Register) {
        self.short(0x58, register);
    }

    pub(super) fn ret(&mut self) {
        self.bytes.push(0xc3);
    }

    fn short(&mut self, code: u8, register: Register) {
        if register.high() > 0 {
            self.bytes.push(0x41);
        }
        self.bytes.push(code | register.low());
    }

    /// `register = cell`
    pub(super) fn load(&mut self, register: Register, cell: MemoryCell) {
        self.with_cell(&[0x8b], register as u8, cell);
    }

    /// `cell = register`
    pub(super) fn store(&mut self, cell: MemoryCell, register: Register) {
        self.with_cell(&[0x89], register as u8, cell);
    }

    /// `cell = value`
    pub(super) fn store_constant(&mut self, cell: MemoryCell, value: i32) {
        self.with_cell(&[0xc7], 0, cell);
        self.bytes.extend(value.to_le_bytes());
    }

    /// `cell += value`
    pub(super) fn add_constant_to(&mut self, cell: MemoryCell, value: i32) {
        self.with_cell(&[0x81], 0, cell);
        self.bytes.extend(value.to_le_bytes());
    }

    /// `cell += register`
    pub(super) fn add_to(&mut self, cell: MemoryCell, register: Register) {
        self.with_cell(&[0x01], register as u8, cell);
    }

    /// Compares a cell with a constant.
    pub(super) fn compare_cell(&mut self, cell: MemoryCell, value: i32) {
        match i8::try_from(value) {
            Ok(value) => {
                self.with_cell(&[0x83], 7, cell);
                self.bytes.push(value as u8);
            }
            Err(_) => {
                self.with_cell(&[0x81], 7, cell);
                self.bytes.extend(value.to_le_bytes());
            }
        }
    }

    /// Compares a register with a constant.
    pub(super) fn compare_constant(&mut self, register: Register, value: i32) {
        self.with_constant(7, register, value);
    }

    /// `register += value`
    pub(super) fn add_constant(&mut self, register: Register, value: i32) {
        if value != 0 {
            self.with_constant(0, register, value);
        }
    }

    fn with_constant(&mut self, operation: u8, register: Register, value: i32) {
        match i8::try_from(value) {
            Ok(value) => {
                self.with_register(&[0x83], operation, register);
                self.bytes.push(value as u8);
            }
            Err(_) => {
                self.with_register(&[0x81], operation, register);
                self.bytes.extend(value.to_le_bytes());
            }
        }
    }

    /// `register = register op cell`, or compares the two.
    pub(super) fn binary(&mut self, op: Binary, register: Register, cell: MemoryCell) {
        self.with_cell(&[op as u8], register as u8, cell);
    }

    /// `left = left op right`, or compares the two.
    pub(super) fn binary_registers(&mut self, op: Binary, left: Register, right: Register) {
        self.with_register(&[op as u8], left as u8, right);
    }

    /// `to = from`
    pub(super) fn copy(&mut self, to: Register, from: Register) {
        self.with_register(&[0x8b], to as u8, from);
    }

    /// Compares a register with 0.
    pub(super) fn test(&mut self, register: Register) {
        self.with_register(&[0x85], register as u8, register);
    }

    /// `register = cell * factor`
    pub(super) fn multiply_cell(&mut self, register: Register, cell: MemoryCell, factor: i32) {
        self.with_cell(&[0x69], register as u8, cell);
        self.bytes.extend(factor.to_le_bytes());
    }

    /// `register *= factor`
    pub(super) fn multiply(&mut self, register: Register, factor: i32) {
        self.with_register(&[0x69], register as u8, register);
        self.bytes.extend(factor.to_le_bytes());
    }

    /// `register *= cell`, and whether that is too much.
    pub(super) fn multiply_by(&mut self, register: Register, cell: MemoryCell) {
        self.with_cell(&[0x0f, 0xaf], register as u8, cell);
    }

    /// `left *= right`
    pub(super) fn multiply_registers(&mut self, left: Register, right: Register) {
        self.with_register(&[0x0f, 0xaf], left as u8, right);
    }

    /// `register = !register`
    pub(super) fn complement(&mut self, register: Register) {
        self.with_register(&[0xf7], 2, register);
    }

    /// `register = -register`, and whether that is too much.
    pub(super) fn negate(&mut self, register: Register) {
        self.with_register(&[0xf7], 3, register);
    }

    /// `rax /= rcx`, and the remainder in rdx.
    pub(super) fn divide_by_rcx(&mut self) {
        // The sign of rax in all of rdx.
        self.bytes.extend([0x48, 0x99]);
        self.with_register(&[0xf7], 7, Register::Rcx);
    }

    /// `register >>= bits`, filled up with 0.
    pub(super) fn shift_right(&mut self, register: Register, bits: u8) {
        if bits > 0 {
            self.with_register(&[0xc1], 5, register);
            self.bytes.push(bits);
        }
    }

    /// `register <<= bits`
    pub(super) fn shift_left(&mut self, register: Register, bits: u8) {
        if bits > 0 {
            self.with_register(&[0xc1], 4, register);
            self.bytes.push(bits);
        }
    }

    /// `register <<= rcx`, of which the lowest six bits count.
    pub(super) fn shift_left_by_rcx(&mut self, register: Register) {
        self.with_register(&[0xd3], 4, register);
    }

    /// `register >>= rcx`, of which the lowest six bits count, filled up with the sign.
    pub(super) fn shift_right_by_rcx(&mut self, register: Register) {
        self.with_register(&[0xd3], 7, register);
    }

    /// `register |= 1 << bit`
    pub(super) fn set_bit(&mut self, register: Register, bit: u8) {
        self.with_register(&[0x0f, 0xba], 5, register);
        self.bytes.push(bit);
    }

    /// `register = value`
    pub(super) fn constant(&mut self, register: Register, value: i64) {
        match i32::try_from(value) {
            Ok(value) => {
                self.with_register(&[0xc7], 0, register);
                self.bytes.extend(value.to_le_bytes());
            }
            Err(_) => {
                self.bytes.extend([0x48 | register.high(), 0xb8 | register.low()]);
                self.bytes.extend(value.to_le_bytes());
            }
        }
    }

    /// `rax = 1` if the condition holds, and 0 otherwise.
    pub(super) fn truth(&mut self, when: When) {
        // To the lowest byte, which is then widened.
        self.bytes.extend([0x0f, 0x90 | when as u8, 0xc0, 0x0f, 0xb6, 0xc0]);
    }

    /// The address of a cell, as the processor knows it.
    pub(super) fn address(&mut self, register: Register, cell: MemoryCell) {
        self.with_cell(&[0x8d], register as u8, cell);
    }

    /// `register = table[index]`
    pub(super) fn look_up(&mut self, register: Register, table: Register, index: Register) {
        self.bytes.push(0x48 | (register as u8 >> 3) << 2 | index.high() << 1 | table.high());
        self.bytes.extend([0x8b, 0x04 | register.low() << 3, 0xc0 | index.low() << 3 | table.low()]);
    }

    /// Puts a cell on the stack.
    pub(super) fn push_cell(&mut self, cell: MemoryCell) {
        self.with_cell(&[0xff], 6, cell);
    }

    /// Fills as many cells as rcx says, from the address in rdi on, with rax.
    pub(super) fn fill(&mut self) {
        self.bytes.extend([0xf3, 0x48, 0xab]);
    }

    /// Calls the function whose address rax has.
    pub(super) fn call_rax(&mut self) {
        self.bytes.extend([0xff, 0xd0]);
    }

    pub(super) fn jump(&mut self, to: CodeLabel) {
        self.bytes.push(0xe9);
        self.distance(to);
    }

    pub(super) fn jump_when(&mut self, when: When, to: CodeLabel) {
        self.bytes.extend([0x0f, 0x80 | when as u8]);
        self.distance(to);
    }

    fn distance(&mut self, to: CodeLabel) {
        self.jumps.push((self.bytes.len(), to));
        self.bytes.extend([0; 4]);
    }

    /// An operation on 64 bits with a register, or what stands for one in its code, and a cell.
    fn with_cell(&mut self, code: &[u8], register: u8, cell: MemoryCell) {
        let index = cell.index.map_or(0, Register::high);
        self.bytes.push(0x48 | (register >> 3) << 2 | index << 1);
        self.bytes.extend(code);
        let middle = (register & 7) << 3;
        match cell.index {
            None => self.bytes.push(0x80 | middle | Register::Rbx.low()),
            // Numbers of cells are multiplied by 8.
            Some(index) => {
                self.bytes.extend([0x84 | middle, 0xc0 | index.low() << 3 | Register::Rbx.low()]);
            }
        }
        self.bytes.extend(((cell.offset * 8) as i32).to_le_bytes());
    }

    /// The same with another register.
    fn with_register(&mut self, code: &[u8], register: u8, other: Register) {
        self.bytes.push(0x48 | (register >> 3) << 2 | other.high());
        self.bytes.extend(code);
        self.bytes.push(0xc0 | (register & 7) << 3 | other.low());
    }
}
