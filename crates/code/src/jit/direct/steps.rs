//! Steps: a body changes the state in place, a sink is told, and what was changed is put back.

use super::{
    COUNT, DIRTY, Direct, MACHINE, SINK,
    assembler::{
        Binary, MemoryCell,
        Register::{R8, Rax, Rcx, Rdi, Rdx, Rsi},
        When,
    },
};
use crate::{
    code::Areas,
    exec::{After, CodeEnd},
    jit::{Exit, flow::FlowNode},
};

/// What is written to cells.
#[derive(Clone, Copy)]
pub(super) enum CellContents<'c> {
    /// The content of a register of the machine, to one cell.
    Register(u16),
    /// The same value to all.
    Constant(i32),
    /// What is in the cells at the address in a register of the machine. It is all read before any of it is written.
    Cells(u16),
    Fixed(&'c [i64]),
}

impl Direct<'_, '_> {
    /// A body begins.
    pub(super) fn fire(&mut self, at: usize) {
        if self.steps.is_announced() {
            self.interpret(at);
        }
        if self.steps.whole {
            return self.code.binary_registers(Binary::Xor, DIRTY, DIRTY);
        }
        self.code.binary_registers(Binary::Xor, COUNT, COUNT);
        let Areas { words, base_words, width, .. } = self.program.areas;
        // Packed states of many words are put back after each step.
        if width <= Areas::FEW_WORDS {
            self.copy_fixed(base_words, words, width);
        }
    }

    /// Copies cells that lie apart.
    fn copy_fixed(&mut self, from: usize, to: usize, length: usize) {
        for cell in 0..length {
            self.code.load(Rax, MemoryCell::at(from + cell));
            self.code.store(MemoryCell::at(to + cell), Rax);
        }
    }

    /// A body has ended: the sink is told and the state put back.
    pub(super) fn fired(&mut self, node: &FlowNode) {
        if self.steps.whole {
            self.code.store(MemoryCell::at(self.program.areas.dirty), DIRTY);
            self.tell();
            if let Some(body) = self.flow.body.filter(|_| self.steps.is_announced())
                && let Some(body) = self.blocks[body]
            {
                self.code.compare_constant(Rax, After::Again as i32);
                self.code.jump_when(When::Equal, body);
            }
            return self.stop_if_asked(node);
        }
        let Areas { waiting, words, width, .. } = self.program.areas;
        let done = self.code.label();
        if width <= Areas::FEW_WORDS {
            let tell = self.code.label();
            self.code.load(Rax, MemoryCell::at(waiting));
            self.code.binary(Binary::Compare, Rax, MemoryCell::at(waiting + 1));
            self.code.jump_when(When::AboveOrEqual, tell);
            self.code.store_constant(MemoryCell::behind(Rax, waiting as i64 + 2), self.outside.number as i32);
            for word in 0..width {
                self.code.load(Rcx, MemoryCell::at(words + word));
                self.code.store(MemoryCell::behind(Rax, (waiting + 3 + word) as i64), Rcx);
            }
            self.code.add_constant_to(MemoryCell::at(waiting), self.program.areas.record() as i32);
            self.code.jump(done);
            self.code.place(tell);
        }
        self.tell();
        self.stop_if_asked(node);
        self.code.place(done);
        self.put_back();
    }

    /// Tells the sink; what is to follow is in rax.
    fn tell(&mut self) {
        self.code.copy(Rdi, SINK);
        self.code.copy(Rsi, MACHINE);
        self.code.constant(Rdx, (self.outside.number as i64) << 1 | i64::from(self.steps.whole));
        self.code.constant(Rax, crate::jit::fired as *const () as i64);
        self.code.call_rax();
    }

    fn stop_if_asked(&mut self, node: &FlowNode) {
        let stop = self.exit(Exit::Done(CodeEnd::Stopped, node.pc));
        self.code.compare_constant(Rax, After::Stop as i32);
        self.code.jump_when(When::Equal, stop);
    }

    fn put_back(&mut self) {
        let Areas { base, words, base_words, width, journal, .. } = self.program.areas;
        for cell in self.steps.fixed().to_vec() {
            self.copy_fixed(base + cell as usize, cell as usize, 1);
        }
        if self.steps.has_journal() {
            let [head, done] = [0; 2].map(|_| self.code.label());
            self.code.place(head);
            self.code.test(COUNT);
            self.code.jump_when(When::Equal, done);
            self.code.add_constant(COUNT, -1);
            self.code.load(Rax, MemoryCell::behind(COUNT, journal as i64));
            self.code.load(Rcx, MemoryCell::behind(Rax, base as i64));
            self.code.store(MemoryCell::behind(Rax, 0), Rcx);
            self.code.jump(head);
            self.code.place(done);
        }
        if width > Areas::FEW_WORDS {
            self.copy_fixed(base_words, words, width);
        }
    }

    /// Whether writes are to be followed.
    pub(super) fn followed(&self, node: &FlowNode) -> bool {
        !self.steps.whole && self.flow.in_body(node)
    }

    /// Whether it is noted which pieces are written to.
    fn marked(&self, node: &FlowNode) -> bool {
        self.steps.whole && self.flow.in_body(node)
    }

    /// Writes what is in rax, and stays there, to a fixed cell of the state.
    pub(super) fn write_fixed(&mut self, node: &FlowNode, cell: u32) {
        let at = MemoryCell::at(cell as usize);
        if self.followed(node) {
            let (field, divisor) =
                (self.outside.places.fields[cell as usize], self.outside.places.divisors[cell as usize]);
            self.code.copy(Rcx, Rax);
            self.code.binary(Binary::Sub, Rcx, at);
            if divisor != 1 {
                // Below 2^16, as several cells have their place in so many bits.
                self.code.multiply(Rcx, divisor as i32);
            }
            self.code.shift_left(Rcx, (field & 63) as u8);
            self.code.add_to(MemoryCell::at(self.program.areas.words + (field >> 6) as usize), Rcx);
        }
        self.code.store(at, Rax);
        if self.marked(node) {
            self.code.set_bit(DIRTY, (cell >> self.program.areas.piece()) as u8);
        }
    }

    /// Writes what is in rdx to a cell of the state: the one at the number in rax and an offset.
    pub(super) fn write_indexed(&mut self, at: usize, offset: i64) {
        let node = &self.flow.nodes[at];
        if self.followed(node) {
            self.make_room(at, 1);
            self.write_followed(offset);
        } else {
            self.code.store(MemoryCell::behind(Rax, offset), Rdx);
            self.mark(node, offset, 1);
        }
    }

    /// Writes so many cells, of the state or of a frame, at the address in rax and an offset.
    pub(super) fn write_at(&mut self, at: usize, offset: i64, contents: CellContents<'_>, length: u32) {
        let node = &self.flow.nodes[at];
        if !self.followed(node) {
            self.write_all(node, offset, contents, length, false);
            return self.mark(node, offset, length);
        }
        let [frame, done] = [0; 2].map(|_| self.code.label());
        self.code.compare_constant(Rax, self.program.areas.cells as i32);
        self.code.jump_when(When::GreaterOrEqual, frame);
        self.make_room(at, length);
        self.write_all(node, offset, contents, length, true);
        self.code.jump(done);
        self.code.place(frame);
        self.write_all(node, offset, contents, length, false);
        self.code.place(done);
    }

    /// Leaves if there is no room for so many addresses in the journal.
    fn make_room(&mut self, at: usize, length: u32) {
        self.code.compare_constant(COUNT, self.program.areas.room as i32 - length as i32);
        self.leave_when(at, When::Greater);
    }

    fn write_all(
        &mut self,
        node: &FlowNode,
        offset: i64,
        contents: CellContents<'_>,
        length: u32,
        followed: bool,
    ) {
        if let CellContents::Cells(from) = contents {
            self.get_in(Rcx, node, from);
            (0..i64::from(length)).for_each(|cell| self.code.push_cell(MemoryCell::behind(Rcx, cell)));
        }
        // From the last on, as cells come from the stack.
        for cell in (0..i64::from(length)).rev() {
            match contents {
                CellContents::Register(register) => self.get_in(Rdx, node, register),
                CellContents::Constant(value) => self.code.constant(Rdx, i64::from(value)),
                CellContents::Cells(_) => self.code.pop(Rdx),
                CellContents::Fixed(cells) => self.code.constant(Rdx, cells[cell as usize]),
            }
            if followed {
                self.write_followed(offset + cell);
            } else {
                self.code.store(MemoryCell::behind(Rax, offset + cell), Rdx);
            }
        }
    }

    /// Writes what is in rdx to the cell of the state at the number in rax and an offset; the packed form and the journal follow.
    fn write_followed(&mut self, offset: i64) {
        let Areas { journal, words, .. } = self.program.areas;
        let places = self.outside.places;
        self.code.copy(R8, Rax);
        self.code.add_constant(R8, offset as i32);
        self.code.copy(Rsi, Rdx);
        self.code.binary(Binary::Sub, Rsi, MemoryCell::behind(R8, 0));
        if places.grouped {
            self.code.constant(Rdi, places.divisors.as_ptr() as i64);
            self.code.look_up(Rdi, Rdi, R8);
            self.code.multiply_registers(Rsi, Rdi);
        }
        self.code.constant(Rdi, places.fields.as_ptr() as i64);
        self.code.look_up(Rcx, Rdi, R8);
        self.code.shift_left_by_rcx(Rsi);
        self.code.shift_right(Rcx, 6);
        self.code.add_to(MemoryCell::behind(Rcx, words as i64), Rsi);
        self.code.store(MemoryCell::behind(COUNT, journal as i64), R8);
        self.code.add_constant(COUNT, 1);
        self.code.store(MemoryCell::behind(R8, 0), Rdx);
    }

    /// So many cells at the number in rax, which stays there, and an offset are written, in a body that is dealt with as a whole. (If
    /// they are not of the state, some piece of it is looked at in vain.)
    pub(super) fn mark(&mut self, node: &FlowNode, offset: i64, length: u32) {
        if !self.marked(node) || length == 0 {
            return;
        }
        let piece = self.program.areas.piece();
        let pieces = ((length - 1) >> piece) + if length > 1 { 2 } else { 1 };
        if pieces >= u64::BITS {
            return self.code.constant(DIRTY, -1);
        }
        self.code.copy(Rcx, Rax);
        self.code.add_constant(Rcx, offset as i32);
        self.code.shift_right(Rcx, piece as u8);
        self.code.constant(Rdx, (1 << pieces) - 1);
        self.code.shift_left_by_rcx(Rdx);
        self.code.binary_registers(Binary::Or, DIRTY, Rdx);
    }
}
