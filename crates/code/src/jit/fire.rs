//! Steps in native code: the body of a rule changes the state in place, with its packed form; a sink is told; then
//! what was changed is put back.
//!
//! Which fixed cells a body writes is known beforehand; the addresses of the others are kept in a journal. Where it is
//! not worth the trouble (multisets, which must be brought in normal form, choices, long copies), the sink packs and
//! restores the *whole* state.

use cranelift_codegen::ir::{BlockArg, InstBuilder, Value, condcodes::IntCC};

use super::{
    Exit,
    emit::{Emitter, SHORT},
    flow::{Flow, Node},
};
use crate::{
    code::{Areas, Op, Program},
    exec::{After, Event},
};

/// A body that writes more cells than this, or than a part of the state, is dealt with as a whole.
const MOST_WRITES: usize = 48;
const MOST_PART: usize = 4;
/// As many words of packed states are put back in line; a loop puts back more.
const FEW_WORDS: usize = 16;

/// How the steps of a rule are dealt with.
pub(super) struct Steps {
    pub(super) whole: bool,
    /// Whether the machine must know when a body begins: it has choices, or covers that may come from guards.
    announced: bool,
    /// The fixed cells that the body writes.
    fixed: Vec<u32>,
    /// Whether it writes others.
    journal: bool,
}

impl Steps {
    pub(super) fn new(program: &Program, flow: &Flow<'_>, has_bags: bool, has_covers: bool) -> Steps {
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
        Steps { whole, announced, fixed, journal }
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
    }

    /// A body has ended: the sink is told and the state put back.
    pub(super) fn fired(&mut self, node: &Node) {
        let (sink, machine) = (self.builder.use_var(self.sink), self.builder.use_var(self.machine));
        let step = self.constant((self.outside.number as i64) << 1 | i64::from(self.steps.whole));
        let call = self.builder.ins().call(self.outside.fired, &[sink, machine, step]);
        let after = self.builder.inst_results(call)[0];
        if self.steps.whole {
            if let Some(body) = self.flow.body.filter(|_| self.steps.announced) {
                let again = self.builder.ins().icmp_imm_s(IntCC::Equal, after, After::Again as i64);
                self.jump_if(again, body);
            }
        } else {
            self.put_back();
        }
        let (stop, go_on) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(stop);
        let stops = self.builder.ins().icmp_imm_s(IntCC::Equal, after, After::Stop as i64);
        self.builder.ins().brif(stops, stop, &[] as &[BlockArg], go_on, &[] as &[BlockArg]);
        self.builder.switch_to_block(stop);
        self.builder.seal_block(stop);
        self.exit(Exit::Done(Event::Stopped, node.pc));
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
        self.put_back_words();
    }

    fn put_back_words(&mut self) {
        let Areas { words, base_words, width, .. } = self.program.areas;
        if width > FEW_WORDS {
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
    fn followed(&self, node: &Node) -> bool {
        !self.steps.whole && self.flow.in_body(node)
    }

    /// Writes a fixed cell of the state.
    pub(super) fn write_fixed(&mut self, node: &Node, cell: u32, value: Value) {
        let memory = self.builder.use_var(self.memory);
        if self.followed(node) {
            let old = self.load(memory, i64::from(cell));
            let field = self.outside.fields[cell as usize];
            let change = self.builder.ins().bxor(old, value);
            let change = self.builder.ins().ishl_imm_u(change, (field & 63) as i64);
            let word = (self.program.areas.words as u64 + (field >> 6)) as i64;
            let packed = self.load(memory, word);
            let packed = self.builder.ins().bxor(packed, change);
            self.store(packed, memory, word);
        }
        self.store(value, memory, i64::from(cell));
    }

    /// Writes cells of the state at an address and above.
    pub(super) fn write_cells(&mut self, at: usize, address: Value, offset: i64, values: &[Value]) {
        let node = &self.flow.nodes[at];
        let pointer = self.pointer(address);
        if !self.followed(node) {
            for (value, offset) in values.iter().zip(offset..) {
                self.store(*value, pointer, offset);
            }
            return;
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
        let Areas { words, journal, .. } = self.program.areas;
        let old = self.load(pointer, offset);
        let change = self.builder.ins().bxor(old, value);
        let fields = self.constant(self.outside.fields.as_ptr() as i64);
        let bytes = self.builder.ins().ishl_imm_u(address, 3);
        let field = self.builder.ins().iadd(fields, bytes);
        let field = self.load(field, offset);
        // Only the lowest six bits count.
        let change = self.builder.ins().ishl(change, field);
        let word = self.builder.ins().ushr_imm_u(field, 6);
        let word = self.pointer(word);
        let packed = self.load(word, words as i64);
        let packed = self.builder.ins().bxor(packed, change);
        self.store(packed, word, words as i64);
        let count = self.builder.use_var(self.count);
        let entry = self.pointer(count);
        let cell = self.builder.ins().iadd_imm_s(address, offset);
        self.store(cell, entry, journal as i64);
        let count = self.builder.ins().iadd_imm_s(count, 1);
        self.builder.def_var(self.count, count);
        self.store(value, pointer, offset);
    }

    /// Writes cells at an address, of the state or of a frame.
    pub(super) fn write_anywhere(&mut self, at: usize, address: Value, offset: i64, values: &[Value]) {
        let node = &self.flow.nodes[at];
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
