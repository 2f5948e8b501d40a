//! Steps in native code: the body of a rule changes the state in place, with its packed form; a sink is told; then
//! what was changed is put back.
//!
//! Which fixed cells a body writes is known beforehand; the addresses of the others are kept in a journal. A packed form
//! of few words is not in memory meanwhile, but in values; it goes from there to the successors that wait for a visitor,
//! and only if none may wait is the sink told at once. Where all this is not worth the trouble (multisets, which must be
//! brought in normal form, choices, long copies), the sink packs and restores the *whole* state.

use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, condcodes::IntCC};
use cranelift_frontend::Variable;

use super::{
    Exit,
    emit::{Emitter, SHORT},
    flow::{Flow, FlowNode},
};
use crate::{
    code::{Areas, Op, Program},
    exec::{After, CodeEnd},
};

/// A body that writes more cells than this, or than a part of the state, is dealt with as a whole.
const MOST_WRITES: usize = 48;
const MOST_PART: usize = 4;
/// As many words of packed states are put back in line; a loop puts back more.
const IN_LINE: usize = 16;

/// How the steps of a rule are dealt with.
pub(super) struct StepHandling {
    pub(super) whole: bool,
    /// Whether the machine must know when a body begins: it has choices, or covers that may come from guards.
    announced: bool,
    /// The fixed cells that the body writes.
    fixed: Vec<u32>,
    /// Whether it writes others.
    journal: bool,
}

impl StepHandling {
    /// Whether the machine must know when a body begins.
    pub(super) fn is_announced(&self) -> bool {
        self.announced
    }

    /// The fixed cells that the body writes.
    pub(super) fn fixed(&self) -> &[u32] {
        &self.fixed
    }

    /// Whether it writes others, whose addresses are kept.
    pub(super) fn has_journal(&self) -> bool {
        self.journal
    }

    /// How the steps of a unit that does without cells are dealt with: nothing is put back, however much it writes. (A body
    /// that is unrolled may write more often than [`held::fits`](super::held::fits) saw.)
    pub(super) fn held(self) -> StepHandling {
        StepHandling { whole: false, ..self }
    }

    pub(super) fn new(program: &Program, flow: &Flow<'_>, has_bags: bool, has_covers: bool) -> StepHandling {
        let (mut whole, mut announced, mut journal) = (false, has_covers, false);
        let mut fixed = Vec::new();
        let mut writes = 0;
        for node in &flow.nodes {
            announced |= matches!(node.op, Op::Choose { .. });
            if !flow.in_body(node) {
                continue;
            }
            let length = match node.op {
                Op::Store { base, .. } => {
                    fixed.push(base);
                    1
                }
                Op::StoreIndexed { .. } | Op::StoreAt { .. } => {
                    journal = true;
                    1
                }
                Op::Fill { length, .. } | Op::Copy { length, .. } => {
                    journal = true;
                    whole |= has_bags || length > SHORT;
                    length
                }
                Op::Template { template, .. } => {
                    let length = program.templates[template as usize].len() as u32;
                    journal = true;
                    whole |= has_bags || length > SHORT;
                    length
                }
                Op::BagScan { .. }
                | Op::BagElement { .. }
                | Op::BagAdd { .. }
                | Op::BagRemove { .. }
                | Op::BagSweep { .. } => {
                    whole = true;
                    0
                }
                Op::Call { .. } => {
                    whole |= flow.calls_out(node);
                    0
                }
                _ => 0,
            };
            writes += length as usize;
        }
        whole |= announced || writes > MOST_WRITES.max(program.areas.cells / MOST_PART);
        fixed.sort_unstable();
        fixed.dedup();
        StepHandling { whole, announced, fixed, journal }
    }
}

impl Emitter<'_, '_, '_> {
    /// A body begins.
    pub(super) fn fire(&mut self, at: usize) {
        if self.steps.announced {
            self.interpret(at);
        }
        let zero = self.constant(0);
        self.builder.def_var(self.count, zero);
        self.builder.def_var(self.dirty, zero);
        self.begin_packed();
    }

    /// Cells from an address on are written, in a body that is dealt with as a whole. (If they are not of the state, some
    /// piece of it is looked at in vain.)
    pub(super) fn mark(&mut self, node: &FlowNode, address: Value, offset: i64, length: u32) {
        if !self.steps.whole || !self.flow.in_body(node) {
            return;
        }
        let piece = self.program.areas.piece();
        let pieces = (length.saturating_sub(1) >> piece) + if length > 1 { 2 } else { 1 };
        if pieces >= u64::BITS {
            return self.mark_all();
        }
        let first = self.builder.ins().iadd_imm_s(address, offset);
        let first = self.builder.ins().ushr_imm_u(first, i64::from(piece));
        let pieces = self.constant((1 << pieces) - 1);
        // Only the lowest six bits count.
        let bits = self.builder.ins().ishl(pieces, first);
        self.mark_bits(bits);
    }

    /// A cell of the state is written, in a body that is dealt with as a whole.
    fn mark_fixed(&mut self, node: &FlowNode, cell: u32) {
        if self.steps.whole && self.flow.in_body(node) {
            let bit = self.constant(1 << (cell >> self.program.areas.piece()));
            self.mark_bits(bit);
        }
    }

    fn mark_bits(&mut self, bits: Value) {
        let dirty = self.builder.use_var(self.dirty);
        let dirty = self.builder.ins().bor(dirty, bits);
        self.builder.def_var(self.dirty, dirty);
    }

    /// Anything may be written.
    pub(super) fn mark_all(&mut self) {
        let all = self.constant(-1);
        self.builder.def_var(self.dirty, all);
    }

    /// The packed form is that of the state that is expanded.
    pub(super) fn begin_packed(&mut self) {
        let memory = self.builder.use_var(self.memory);
        for word in 0..self.packed.len() {
            let value = self.load(memory, (self.program.areas.base_words + word) as i64);
            self.builder.def_var(self.packed[word], value);
        }
    }

    /// A body has ended: the sink is told and the state put back.
    pub(super) fn fired(&mut self, node: &FlowNode) {
        if self.steps.whole || self.packed.is_empty() {
            let after = self.tell();
            if !self.steps.whole {
                self.put_back();
            } else if let Some(body) = self.flow.body.filter(|_| self.steps.announced) {
                let again = self.builder.ins().icmp_imm_s(IntCC::Equal, after, After::Again as i64);
                self.jump_if(again, body);
            }
            return self.stop_if_asked(node, after);
        }
        let [wait, tell, done] = [0; 3].map(|_| self.builder.create_block());
        let memory = self.builder.use_var(self.memory);
        let waiting = self.program.areas.waiting as i64;
        let (count, room) = (self.load(memory, waiting), self.load(memory, waiting + 1));
        let fits = self.builder.ins().icmp(IntCC::UnsignedLessThan, count, room);
        self.builder.ins().brif(fits, wait, &[] as &[BlockArg], tell, &[] as &[BlockArg]);
        self.builder.switch_to_block(wait);
        self.builder.seal_block(wait);
        self.let_wait(count);
        self.builder.ins().jump(done, &[] as &[BlockArg]);
        self.builder.switch_to_block(tell);
        self.builder.seal_block(tell);
        self.write_packed();
        let after = self.tell();
        self.stop_if_asked(node, after);
        self.builder.ins().jump(done, &[] as &[BlockArg]);
        self.builder.switch_to_block(done);
        self.builder.seal_block(done);
        if self.outside.held {
            self.begin_packed();
        } else {
            self.put_back();
        }
    }

    /// Adds a successor to those that wait, of which there are so many cells.
    fn let_wait(&mut self, count: Value) {
        let waiting = self.program.areas.waiting as i64;
        let entry = self.pointer(count);
        let rule = self.constant(self.outside.number as i64);
        self.store(rule, entry, waiting + 2);
        for (word, offset) in (0..self.packed.len()).zip(waiting + 3..) {
            let value = self.builder.use_var(self.packed[word]);
            self.store(value, entry, offset);
        }
        let count = self.builder.ins().iadd_imm_s(count, self.program.areas.record() as i64);
        let memory = self.builder.use_var(self.memory);
        self.store(count, memory, waiting);
    }

    /// Tells the sink; gives what is to follow.
    fn tell(&mut self) -> Value {
        if self.steps.whole {
            let (memory, dirty) = (self.builder.use_var(self.memory), self.builder.use_var(self.dirty));
            self.store(dirty, memory, self.program.areas.dirty as i64);
        }
        let (sink, machine) = (self.builder.use_var(self.sink), self.builder.use_var(self.machine));
        let step = self.constant((self.outside.number as i64) << 1 | i64::from(self.steps.whole));
        let call = self.builder.ins().call(self.outside.fired, &[sink, machine, step]);
        self.builder.inst_results(call)[0]
    }

    fn stop_if_asked(&mut self, node: &FlowNode, after: Value) {
        let (stop, go_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(stop);
        let stops = self.builder.ins().icmp_imm_s(IntCC::Equal, after, After::Stop as i64);
        self.builder.ins().brif(stops, stop, &[] as &[BlockArg], go_on, &[] as &[BlockArg]);
        self.builder.switch_to_block(stop);
        self.builder.seal_block(stop);
        self.exit(Exit::Done(CodeEnd::Stopped, node.pc));
        self.builder.switch_to_block(go_on);
        self.builder.seal_block(go_on);
    }

    fn put_back(&mut self) {
        let Areas { base, .. } = self.program.areas;
        let memory = self.builder.use_var(self.memory);
        for cell in self.steps.fixed.clone() {
            let value = self.load(memory, base as i64 + i64::from(cell));
            self.store(value, memory, i64::from(cell));
        }
        if self.steps.journal {
            self.put_back_journal();
        }
        if self.packed.is_empty() {
            self.put_back_words();
        }
    }

    fn put_back_words(&mut self) {
        let Areas { words, base_words, width, .. } = self.program.areas;
        if width > IN_LINE {
            let length = self.constant(width as i64);
            return self.down_to_zero(length, |this, word| {
                let word = this.pointer(word);
                let value = this.load(word, base_words as i64);
                this.store(value, word, words as i64);
            });
        }
        let memory = self.builder.use_var(self.memory);
        for word in 0..width {
            let value = self.load(memory, (base_words + word) as i64);
            self.store(value, memory, (words + word) as i64);
        }
    }

    fn put_back_journal(&mut self) {
        let Areas { base, journal, .. } = self.program.areas;
        let count = self.builder.use_var(self.count);
        self.down_to_zero(count, |this, count| {
            let entry = this.pointer(count);
            let address = this.load(entry, journal as i64);
            let cell = this.pointer(address);
            let value = this.load(cell, base as i64);
            this.store(value, cell, 0);
        });
    }

    /// Does something for all numbers below one, the greatest first. The count of the journal is 0 then.
    fn down_to_zero(&mut self, count: Value, each: impl FnOnce(&mut Self, Value)) {
        let [head, body, done] = [0; 3].map(|_| self.builder.create_block());
        self.builder.def_var(self.count, count);
        self.builder.ins().jump(head, &[] as &[BlockArg]);
        self.builder.switch_to_block(head);
        let count = self.builder.use_var(self.count);
        self.builder.ins().brif(count, body, &[] as &[BlockArg], done, &[] as &[BlockArg]);
        self.builder.switch_to_block(body);
        self.builder.seal_block(body);
        let count = self.builder.ins().iadd_imm_s(count, -1);
        self.builder.def_var(self.count, count);
        each(self, count);
        self.builder.ins().jump(head, &[] as &[BlockArg]);
        self.builder.seal_block(head);
        self.builder.switch_to_block(done);
        self.builder.seal_block(done);
    }

    /// Whether writes are to be followed.
    pub(super) fn followed(&self, node: &FlowNode) -> bool {
        !self.steps.whole && self.flow.in_body(node)
    }

    /// Writes a fixed cell of the state.
    pub(super) fn write_fixed(&mut self, node: &FlowNode, cell: u32, value: Value) {
        let memory = self.builder.use_var(self.memory);
        if self.followed(node) {
            let old = self.cell(cell);
            let places = self.outside.places;
            let change = self.builder.ins().isub(value, old);
            let change = places.change(&mut self.builder, cell as usize, change);
            let word = places.word(cell as usize);
            if let Some(variable) = self.packed.get(word).copied() {
                self.change_packed(variable, change);
            } else {
                let word = (self.program.areas.words + word) as i64;
                let packed = self.load(memory, word);
                let packed = self.builder.ins().iadd(packed, change);
                self.store(packed, memory, word);
            }
        }
        if !self.outside.held {
            self.store(value, memory, i64::from(cell));
            self.mark_fixed(node, cell);
        }
    }

    fn change_packed(&mut self, word: Variable, change: Value) {
        let packed = self.builder.use_var(word);
        let packed = self.builder.ins().iadd(packed, change);
        self.builder.def_var(word, packed);
    }

    /// Changes the word of the packed form that a field says.
    pub(super) fn change_word(&mut self, field: Value, change: Value) {
        let word = self.builder.ins().ushr_imm_u(field, 6);
        match self.packed[..] {
            [] => {
                let words = self.program.areas.words as i64;
                let word = self.pointer(word);
                let packed = self.load(word, words);
                let packed = self.builder.ins().iadd(packed, change);
                self.store(packed, word, words);
            }
            [only] => self.change_packed(only, change),
            _ => {
                let zero = self.constant(0);
                for at in 0..self.packed.len() {
                    let here = self.builder.ins().icmp_imm_s(IntCC::Equal, word, at as i64);
                    let change = self.builder.ins().select(here, change, zero);
                    self.change_packed(self.packed[at], change);
                }
            }
        }
    }

    /// Writes cells of the state at an address and above.
    pub(super) fn write_cells(&mut self, at: usize, address: Value, offset: i64, values: &[Value]) {
        let node = &self.flow.nodes[at];
        let pointer = self.pointer(address);
        if !self.followed(node) {
            for (value, offset) in values.iter().zip(offset..) {
                self.store(*value, pointer, offset);
            }
            return self.mark(node, address, offset, values.len() as u32);
        }
        let room = self.program.areas.room as i64 - values.len() as i64;
        let count = self.builder.use_var(self.count);
        let full = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThan, count, room);
        self.leave_and_go_on_if(at, full);
        for (value, offset) in values.iter().zip(offset..) {
            self.write_cell(address, pointer, offset, *value);
        }
    }

    fn write_cell(&mut self, address: Value, pointer: Value, offset: i64, value: Value) {
        let Areas { journal, .. } = self.program.areas;
        let old = self.load(pointer, offset);
        let mut change = self.builder.ins().isub(value, old);
        let bytes = self.builder.ins().ishl_imm_u(address, 3);
        let places = self.outside.places;
        let mut entry = |table: &[u64]| {
            let table = self.constant(table.as_ptr() as i64);
            let entry = self.builder.ins().iadd(table, bytes);
            self.load(entry, offset)
        };
        let field = entry(&places.fields);
        if places.grouped {
            let divisor = entry(&places.divisors);
            change = self.builder.ins().imul(change, divisor);
        }
        // Only the lowest six bits count.
        let change = self.builder.ins().ishl(change, field);
        self.change_word(field, change);
        let count = self.builder.use_var(self.count);
        let entry = self.pointer(count);
        let cell = self.builder.ins().iadd_imm_s(address, offset);
        self.store(cell, entry, journal as i64);
        let count = self.builder.ins().iadd_imm_s(count, 1);
        self.builder.def_var(self.count, count);
        self.store(value, pointer, offset);
    }

    /// Writes cells at the address in a register, of the state or of a frame.
    pub(super) fn write_anywhere(&mut self, at: usize, register: u16, offset: i64, values: &[Value]) {
        let node = &self.flow.nodes[at];
        let address = self.get(node, register);
        if !self.followed(node) {
            return self.write_cells(at, address, offset, values);
        }
        let [state, frame, done] = [0; 3].map(|_| self.builder.create_block());
        let cells = self.program.areas.cells as i64;
        let inside = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, address, cells);
        self.builder.ins().brif(inside, state, &[] as &[BlockArg], frame, &[] as &[BlockArg]);
        self.builder.switch_to_block(state);
        self.builder.seal_block(state);
        self.write_cells(at, address, offset, values);
        self.builder.ins().jump(done, &[] as &[BlockArg]);
        self.builder.switch_to_block(frame);
        self.builder.seal_block(frame);
        let pointer = self.pointer(address);
        for (value, offset) in values.iter().zip(offset..) {
            self.store(*value, pointer, offset);
        }
        self.builder.ins().jump(done, &[] as &[BlockArg]);
        self.builder.switch_to_block(done);
        self.builder.seal_block(done);
    }
}
