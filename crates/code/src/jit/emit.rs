//! From a flow to Cranelift's intermediate code.
//!
//! Only what always succeeds, and the checks, is translated. Where a check fails, the code ends and the interpreter
//! repeats the instruction, so that there is one place that knows what faults are like. Instructions that are rare
//! or long are interpreted one by one, in the middle of native code.

use cranelift_codegen::{
    ir::{
        AbiParam, Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, Value, condcodes::IntCC, types::I64,
    },
    isa::TargetFrontendConfig,
};
use cranelift_frontend::{FunctionBuilder, Switch, Variable};
use shoal_model::BinaryOp;

use super::{
    Exit, Point,
    expand::THROUGH,
    fire::StepHandling,
    flow::{Flow, FlowNode},
    places::Places,
};
use crate::{
    code::{self, Areas, CodeMap, FALSE, IntRange, Op, Program, TRUE},
    exec::CodeEnd,
};

/// Added to the number of an exit if an instruction that was interpreted trapped there.
pub(super) const TRAPPED: i64 = 1 << 38;
/// As many cells are copied, compared or filled in line.
pub(super) const SHORT: u32 = 16;
/// As many pieces of a map are tried in line.
pub(super) const FEW: usize = 4;

pub(super) struct Emitter<'a, 'b, 'p> {
    pub(super) program: &'p Program,
    pub(super) flow: &'a Flow<'p>,
    pub(super) builder: FunctionBuilder<'b>,
    pub(super) outside: NativeContext<'a>,
    pub(super) steps: StepHandling,
    /// The exits of the unit.
    pub(super) exits: &'a mut Vec<Exit>,
    points: Vec<Option<usize>>,
    values: Vec<Variable>,
    blocks: Vec<Option<Block>>,
    pub(super) memory: Variable,
    pub(super) machine: Variable,
    pub(super) sink: Variable,
    /// How many addresses there are in the journal.
    pub(super) count: Variable,
    /// A bit for each piece of the state that a body may have written to, if it is dealt with as a whole.
    pub(super) dirty: Variable,
    /// Where a body is given up.
    given_up: Option<Block>,
    /// The words of the packed form while a body runs, if they are few.
    pub(super) packed: Vec<Variable>,
}

/// What native code knows of the rest.
pub(super) struct NativeContext<'a> {
    /// Interprets one instruction.
    pub(super) step: FuncRef,
    /// Tells the sink of a step.
    pub(super) fired: FuncRef,
    /// The number of the rule.
    pub(super) number: usize,
    /// Where cells stand in the packed form.
    pub(super) places: &'a Places,
    /// Which cells are never undefined; of the others nothing is known.
    pub(super) defined: &'a [bool],
    /// Whether the unit does without cells.
    pub(super) held: bool,
    pub(super) has_bags: bool,
    pub(super) has_covers: bool,
    pub(super) target: TargetFrontendConfig,
    /// The number of the unit's first exit.
    pub(super) first_exit: i64,
}

/// The signature of all functions: memory, machine, number of the entry and sink to the number of an exit.
pub(super) fn parameters() -> [AbiParam; 4] {
    [AbiParam::new(I64); 4]
}

impl<'a, 'b, 'p> Emitter<'a, 'b, 'p> {
    pub(super) fn new(
        program: &'p Program,
        flow: &'a Flow<'p>,
        mut builder: FunctionBuilder<'b>,
        outside: NativeContext<'a>,
        exits: &'a mut Vec<Exit>,
    ) -> Self {
        let values = (0..flow.count).map(|_| builder.declare_var(I64)).collect();
        let [memory, machine, sink, count, dirty] = [0; 5].map(|_| builder.declare_var(I64));
        let width = program.areas.width;
        let few = if width > Areas::FEW_WORDS { 0 } else { width };
        let packed = (0..few).map(|_| builder.declare_var(I64)).collect();
        let nodes = flow.nodes.len();
        let steps = StepHandling::new(program, flow, outside.has_bags, outside.has_covers);
        Emitter {
            program,
            flow,
            builder,
            packed,
            steps: if outside.held { steps.held() } else { steps },
            outside,
            exits,
            points: vec![None; nodes],
            values,
            blocks: vec![None; nodes],
            memory,
            machine,
            sink,
            count,
            dirty,
            given_up: None,
        }
    }

    /// Translates everything; the function is to be finished by the caller.
    pub(super) fn run(mut self) -> FunctionBuilder<'b> {
        self.leaders();
        let first = self.builder.create_block();
        self.builder.append_block_params_for_function_params(first);
        self.builder.switch_to_block(first);
        self.builder.seal_block(first);
        let [memory, machine, entry, sink] = [0, 1, 2, 3].map(|at| self.builder.block_params(first)[at]);
        let zero = self.constant(0);
        for (variable, value) in [
            (self.memory, memory),
            (self.machine, machine),
            (self.sink, sink),
            (self.count, zero),
            (self.dirty, zero),
        ] {
            self.builder.def_var(variable, value);
        }
        self.begin_packed();
        let entries: Vec<Block> = self.flow.roots.iter().map(|_| self.builder.create_block()).collect();
        if let [only] = entries[..] {
            self.builder.ins().jump(only, &[] as &[BlockArg]);
        } else {
            // Mostly at the beginning, which is then not looked up in a table.
            let elsewhere = self.builder.create_block();
            self.builder.set_cold_block(elsewhere);
            self.builder.ins().brif(entry, elsewhere, &[] as &[BlockArg], entries[0], &[] as &[BlockArg]);
            self.builder.switch_to_block(elsewhere);
            self.builder.seal_block(elsewhere);
            let mut switch = Switch::new();
            entries.iter().enumerate().skip(1).for_each(|(at, block)| switch.set_entry(at as u128, *block));
            switch.emit(&mut self.builder, entry, entries[0]);
        }
        for (at, block) in entries.into_iter().enumerate() {
            self.builder.switch_to_block(block);
            let root = self.flow.roots[at];
            for register in self.flow.to_read(root) {
                let value = self.load_register(register);
                self.write(register, value);
            }
            self.go_to(root);
        }
        for at in 0..self.flow.nodes.len() {
            if let Some(block) = self.blocks[at] {
                self.builder.switch_to_block(block);
                self.straight(at);
            }
        }
        self.give_up();
        self.builder.seal_all_blocks();
        self.builder
    }

    /// Makes blocks for the instructions that are entered from more than one place, or by a jump.
    fn leaders(&mut self) {
        for (at, leads) in self.flow.leaders().into_iter().enumerate() {
            if leads {
                self.blocks[at] = Some(self.builder.create_block());
            }
        }
    }

    fn go_to(&mut self, node: usize) {
        if let Some(block) = self.blocks[node] {
            self.builder.ins().jump(block, &[] as &[BlockArg]);
        }
    }

    /// Translates from an instruction on, up to the next that has a block of its own.
    fn straight(&mut self, mut at: usize) {
        let flow = self.flow;
        loop {
            let node = &flow.nodes[at];
            if !flow.has_run(node) {
                return self.leave(at, true, 0);
            }
            let goes_on = self.instruction(at, node);
            let Some(next) = node.next.filter(|_| goes_on) else { return };
            if self.blocks[next].is_some() {
                return self.go_to(next);
            }
            at = next;
        }
    }

    fn register_offset(&self, register: usize) -> i32 {
        ((self.program.areas.frames + register) * 8) as i32
    }

    fn load_register(&mut self, register: usize) -> Value {
        let (memory, offset) = (self.builder.use_var(self.memory), self.register_offset(register));
        self.builder.ins().load(I64, MemFlagsData::trusted(), memory, offset)
    }

    fn store_register(&mut self, register: usize, value: Value) {
        let (memory, offset) = (self.builder.use_var(self.memory), self.register_offset(register));
        self.builder.ins().store(MemFlagsData::trusted(), value, memory, offset);
    }

    fn read(&mut self, register: usize) -> Value {
        match self.flow.values[register] {
            Some(value) => self.builder.use_var(self.values[value as usize]),
            None => self.load_register(register),
        }
    }

    fn write(&mut self, register: usize, value: Value) {
        match self.flow.values[register] {
            Some(number) => self.builder.def_var(self.values[number as usize], value),
            None => self.store_register(register, value),
        }
    }

    pub(super) fn constant(&mut self, value: i64) -> Value {
        self.builder.ins().iconst(I64, value)
    }

    /// Where the cell at an address is.
    pub(super) fn pointer(&mut self, address: Value) -> Value {
        let bytes = self.builder.ins().ishl_imm_s(address, 3);
        let memory = self.builder.use_var(self.memory);
        self.builder.ins().iadd(memory, bytes)
    }

    pub(super) fn load(&mut self, pointer: Value, offset: i64) -> Value {
        self.builder.ins().load(I64, MemFlagsData::trusted(), pointer, (offset * 8) as i32)
    }

    pub(super) fn store(&mut self, value: Value, pointer: Value, offset: i64) {
        self.builder.ins().store(MemFlagsData::trusted(), value, pointer, (offset * 8) as i32);
    }

    /// The content of a cell of the state.
    pub(super) fn cell(&mut self, cell: u32) -> Value {
        if self.outside.held {
            return self.read_held(cell);
        }
        let memory = self.builder.use_var(self.memory);
        self.load(memory, i64::from(cell))
    }

    /// Whether a cell is never undefined.
    fn is_defined(&self, cell: u32) -> bool {
        self.outside.defined.get(cell as usize).is_some_and(|defined| *defined)
    }

    /// The content of the cell of the state at `base + index * stride`.
    fn indexed_cell(&mut self, node: &FlowNode, index: u16, stride: u16, base: i32) -> Value {
        if let Some(cell) = indexed_cell(self.flow, node, index, stride, base) {
            return self.cell(cell);
        }
        let index = self.get(node, index);
        if self.outside.held {
            return self.read_held_at(index, stride, base);
        }
        let bytes = self.builder.ins().imul_imm_s(index, i64::from(stride) * 8);
        let memory = self.builder.use_var(self.memory);
        let pointer = self.builder.ins().iadd(memory, bytes);
        self.load(pointer, i64::from(base))
    }

    pub(super) fn exit(&mut self, exit: Exit) {
        self.exits.push(exit);
        let number = self.outside.first_exit + self.exits.len() as i64 - 1;
        let number = self.constant(number);
        self.builder.ins().return_(&[number]);
    }

    /// The number of the point of an instruction, from where it can be interpreted.
    fn point(&mut self, at: usize) -> i64 {
        let first = self.outside.first_exit;
        if let Some(point) = self.points[at] {
            return first + point as i64;
        }
        self.exits.push(Exit::Interpret(self.flow.point(at, self.outside.held)));
        self.points[at] = Some(self.exits.len() - 1);
        first + self.exits.len() as i64 - 1
    }

    /// Where to go if a body cannot go on at an instruction: it is interpreted from its beginning, so that nothing of what it
    /// has done so far is wanted. Nothing if it has to be interpreted from there, as it has choices or covers something.
    fn given_up(&mut self, at: usize) -> Option<Block> {
        if !self.flow.in_body(&self.flow.nodes[at]) || self.steps.is_announced() {
            return None;
        }
        if self.given_up.is_none() {
            let block = self.builder.create_block();
            self.builder.set_cold_block(block);
            self.given_up = Some(block);
        }
        self.given_up
    }

    /// Leaves a body that was given up.
    fn give_up(&mut self) {
        let (Some(block), Some(body)) = (self.given_up, self.flow.body) else { return };
        self.builder.switch_to_block(block);
        for register in self.flow.to_begin_again() {
            let value = self.read(register);
            self.store_register(register, value);
        }
        if self.outside.held {
            self.write_packed();
        }
        let (pc, held) = (self.flow.nodes[body].pc, self.outside.held);
        let frame = self.program.areas.frames;
        self.exit(Exit::Interpret(Point { pc, frame, stack: Vec::new(), held, again: true }));
    }

    /// Writes what is still wanted to the cells and leaves.
    fn leave(&mut self, at: usize, goes_on: bool, add: i64) {
        if add == 0
            && let Some(block) = self.given_up(at)
        {
            self.builder.ins().jump(block, &[] as &[BlockArg]);
            return;
        }
        for register in self.flow.to_write(at, goes_on) {
            let value = self.read(register);
            self.store_register(register, value);
        }
        if self.outside.held {
            self.write_packed();
        }
        let number = self.point(at) + add;
        let number = self.constant(number);
        self.builder.ins().return_(&[number]);
    }

    /// Leaves the instruction to the interpreter if the condition holds: it faults.
    pub(super) fn leave_if(&mut self, at: usize, condition: Value, add: i64) {
        self.leave_when(at, condition, false, add);
    }

    /// Leaves the instruction and all that follows to the interpreter if the condition holds.
    pub(super) fn leave_and_go_on_if(&mut self, at: usize, condition: Value) {
        self.leave_when(at, condition, true, 0);
    }

    fn leave_when(&mut self, at: usize, condition: Value, goes_on: bool, add: i64) {
        if add == 0
            && let Some(block) = self.given_up(at)
        {
            let stay = self.builder.create_block();
            self.builder.ins().brif(condition, block, &[] as &[BlockArg], stay, &[] as &[BlockArg]);
            self.builder.switch_to_block(stay);
            self.builder.seal_block(stay);
            return;
        }
        let (leave, stay) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(leave);
        self.builder.ins().brif(condition, leave, &[] as &[BlockArg], stay, &[] as &[BlockArg]);
        self.builder.switch_to_block(leave);
        self.builder.seal_block(leave);
        self.leave(at, goes_on, add);
        self.builder.switch_to_block(stay);
        self.builder.seal_block(stay);
    }

    pub(super) fn leave_if_zero(&mut self, at: usize, value: Value) {
        let zero = self.builder.ins().icmp_imm_s(IntCC::Equal, value, 0);
        self.leave_if(at, zero, 0);
    }

    /// Has one instruction interpreted.
    pub(super) fn interpret(&mut self, at: usize) {
        let (uses, defs) = self.flow.around(&self.flow.nodes[at]);
        for register in uses {
            let value = self.read(register);
            self.store_register(register, value);
        }
        let (machine, point) = (self.builder.use_var(self.machine), self.point(at));
        let point = self.constant(point);
        let call = self.builder.ins().call(self.outside.step, &[machine, point]);
        let memory = self.builder.inst_results(call)[0];
        let trapped = self.builder.ins().icmp_imm_s(IntCC::Equal, memory, 0);
        self.leave_if(at, trapped, TRAPPED);
        self.builder.def_var(self.memory, memory);
        if may_write(self.flow.nodes[at].op) {
            self.mark_all();
        }
        for register in defs {
            let value = self.load_register(register);
            self.write(register, value);
        }
    }

    fn branch(&mut self, node: &FlowNode, condition: Value) {
        if let Some(jump) = node.jump {
            self.jump_if(condition, jump);
        }
    }

    /// Goes on at an instruction that has a block if the condition holds.
    pub(super) fn jump_if(&mut self, condition: Value, to: usize) {
        let (Some(to), next) = (self.blocks[to], self.builder.create_block()) else { return };
        self.builder.ins().brif(condition, to, &[] as &[BlockArg], next, &[] as &[BlockArg]);
        self.builder.switch_to_block(next);
        self.builder.seal_block(next);
    }

    fn compare(&mut self, node: &FlowNode, how: IntCC, left: u16, right: u16) {
        let (left, right) = (self.get(node, left), self.get(node, right));
        let condition = self.builder.ins().icmp(how, left, right);
        self.branch(node, condition);
    }

    fn compare_with(&mut self, node: &FlowNode, how: IntCC, src: u16, value: i32) {
        let src = self.get(node, src);
        let condition = self.builder.ins().icmp_imm_s(how, src, i64::from(value));
        self.branch(node, condition);
    }

    pub(super) fn get(&mut self, node: &FlowNode, reg: u16) -> Value {
        if let Some(value) = self.flow.known(node, reg) {
            return self.constant(value);
        }
        self.read(self.flow.register(node, reg))
    }

    pub(super) fn set(&mut self, node: &FlowNode, reg: u16, value: Value) {
        self.write(self.flow.register(node, reg), value);
    }

    fn binary(&mut self, at: usize, op: BinaryOp, [dst, left, right]: [u16; 3]) {
        let node = &self.flow.nodes[at];
        let (left, right) = (self.get(node, left), self.get(node, right));
        let value = self.operator(at, op, left, right);
        self.set(node, dst, value);
    }

    /// Translates an instruction; false if nothing runs after it.
    fn instruction(&mut self, at: usize, node: &FlowNode) -> bool {
        let program = self.program;
        match node.op {
            Op::Const { dst, value } => {
                let value = self.constant(value);
                self.set(node, dst, value);
            }
            Op::Move { dst, src } => {
                let value = self.get(node, src);
                self.set(node, dst, value);
            }
            Op::Peek { dst, base } => {
                let value = self.cell(base);
                self.set(node, dst, value);
            }
            Op::PeekIndexed { dst, index, stride, base } => {
                let value = self.indexed_cell(node, index, stride, base);
                self.set(node, dst, value);
            }
            Op::PeekAt { dst, address, offset } => {
                let address = self.get(node, address);
                let pointer = self.pointer(address);
                let value = self.load(pointer, i64::from(offset));
                self.set(node, dst, value);
            }
            Op::Load { dst, base, .. } => {
                let value = self.cell(base);
                if !self.is_defined(base) {
                    self.leave_if_zero(at, value);
                }
                self.set(node, dst, value);
            }
            Op::LoadIndexed { dst, index, stride, base, .. } => {
                let value = self.indexed_cell(node, index, stride, base);
                let cell = indexed_cell(self.flow, node, index, stride, base);
                if !cell.is_some_and(|cell| self.is_defined(cell)) {
                    self.leave_if_zero(at, value);
                }
                self.set(node, dst, value);
            }
            Op::LoadAt { dst, address, offset, .. } => {
                let address = self.get(node, address);
                let pointer = self.pointer(address);
                let value = self.load(pointer, i64::from(offset));
                self.leave_if_zero(at, value);
                self.set(node, dst, value);
            }
            Op::Defined { src, .. } => {
                let value = self.get(node, src);
                self.leave_if_zero(at, value);
            }
            Op::Store { src, base } => {
                let value = self.get(node, src);
                self.write_fixed(node, base, value);
            }
            Op::StoreIndexed { src, index, stride, base } => {
                let value = self.get(node, src);
                if let Some(cell) = indexed_cell(self.flow, node, index, stride, base) {
                    self.write_fixed(node, cell, value);
                } else if self.outside.held {
                    let index = self.get(node, index);
                    self.write_held_at(index, stride, base, value);
                } else {
                    let index = self.get(node, index);
                    let address = self.builder.ins().imul_imm_s(index, i64::from(stride));
                    self.write_cells(at, address, i64::from(base), &[value]);
                }
            }
            Op::StoreAt { src, address, offset } => {
                let value = self.get(node, src);
                self.write_anywhere(at, address, i64::from(offset), &[value]);
            }
            Op::Scale { dst, index, stride, bias } => {
                let index = self.get(node, index);
                let scaled = self.builder.ins().imul_imm_s(index, i64::from(stride));
                let value = self.builder.ins().iadd_imm_s(scaled, i64::from(bias));
                self.set(node, dst, value);
            }
            Op::Join { dst, left, right } => {
                let (left, right) = (self.get(node, left), self.get(node, right));
                let value = self.builder.ins().iadd(left, right);
                self.set(node, dst, value);
            }
            Op::FrameAddress { dst, offset, .. } => {
                let address = self.program.areas.frames + self.flow.register(node, offset);
                let value = self.constant(address as i64);
                self.set(node, dst, value);
            }
            Op::Index { dst, src, range } => {
                if let Some(index) = self.flow.known(node, src).and_then(|it| self.flow.index(it, range)) {
                    let index = self.constant(index);
                    self.set(node, dst, index);
                    return true;
                }
                let (value, range) = (self.get(node, src), &program.ranges[range as usize]);
                let inside = self.inside(value, range);
                let outside = self.builder.ins().icmp_imm_s(IntCC::Equal, inside, 0);
                self.leave_if(at, outside, 0);
                let value = self.builder.ins().iadd_imm_s(value, range.lo.wrapping_neg());
                self.set(node, dst, value);
            }
            Op::Offset { dst, src, add } => {
                let value = self.get(node, src);
                let value = self.builder.ins().iadd_imm_s(value, add);
                self.set(node, dst, value);
            }
            Op::Encode { dst, src, range } => {
                let (value, range) = (self.get(node, src), &program.ranges[range as usize]);
                let inside = self.inside(value, range);
                let code = self.builder.ins().iadd_imm_s(value, range.add);
                let code = self.or_outside(at, inside, code, &range.outside);
                self.set(node, dst, code);
            }
            Op::Map { dst, src, map } if program.maps[map as usize].pieces.len() <= FEW => {
                let (code, map) = (self.get(node, src), &program.maps[map as usize]);
                let code = self.map(at, code, map);
                self.set(node, dst, code);
            }
            Op::Add { dst, left, right, .. } => self.binary(at, BinaryOp::Add, [dst, left, right]),
            Op::Sub { dst, left, right, .. } => self.binary(at, BinaryOp::Sub, [dst, left, right]),
            Op::Binary { op, dst, left, right, .. } => self.binary(at, op, [dst, left, right]),
            Op::Negate { dst, src, .. } => {
                let (zero, value) = (self.constant(0), self.get(node, src));
                let value = self.operator(at, BinaryOp::Sub, zero, value);
                self.set(node, dst, value);
            }
            Op::Complement { dst, src } => {
                let value = self.get(node, src);
                let value = self.builder.ins().bnot(value);
                self.set(node, dst, value);
            }
            Op::Jump { .. } | Op::Return => {}
            Op::JumpEqual { left, right, .. } => self.compare(node, IntCC::Equal, left, right),
            Op::JumpDiffer { left, right, .. } => self.compare(node, IntCC::NotEqual, left, right),
            Op::JumpLess { left, right, .. } => self.compare(node, IntCC::SignedLessThan, left, right),
            Op::JumpAtMost { left, right, .. } => {
                self.compare(node, IntCC::SignedLessThanOrEqual, left, right);
            }
            Op::JumpIs { src, value, .. } => self.compare_with(node, IntCC::Equal, src, value),
            Op::JumpIsNot { src, value, .. } => self.compare_with(node, IntCC::NotEqual, src, value),
            Op::JumpBelow { src, value, .. } => self.compare_with(node, IntCC::SignedLessThan, src, value),
            Op::JumpAbove { src, value, .. } => {
                self.compare_with(node, IntCC::SignedGreaterThan, src, value);
            }
            Op::Next { counter, last, .. } => {
                if let Some(value) = self.flow.counted(node) {
                    let value = self.constant(value);
                    self.set(node, counter, value);
                    return true;
                }
                let value = self.get(node, counter);
                let more = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, value, i64::from(last));
                let up = self.builder.ins().iadd_imm_s(value, 1);
                let counted = self.builder.ins().select(more, up, value);
                self.set(node, counter, counted);
                self.branch(node, more);
            }
            Op::CheckStep { step, .. } => {
                let step = self.get(node, step);
                self.leave_if_zero(at, step);
            }
            Op::LeaveRange { counter, .. } => {
                let [value, end, step] = [0, 1, 2].map(|more| self.get(node, counter + more));
                let up = self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThan, step, 0);
                let above = self.builder.ins().icmp(IntCC::SignedGreaterThan, value, end);
                let below = self.builder.ins().icmp(IntCC::SignedLessThan, value, end);
                let past = self.builder.ins().select(up, above, below);
                self.branch(node, past);
            }
            Op::NextInRange { counter, .. } => {
                let (value, step) = (self.get(node, counter), self.get(node, counter + 2));
                let (sum, overflow) = self.builder.ins().sadd_overflow(value, step);
                let value = self.builder.ins().select(overflow, value, sum);
                self.set(node, counter, value);
                let fits = self.builder.ins().icmp_imm_s(IntCC::Equal, overflow, 0);
                self.branch(node, fits);
            }
            Op::Tick { cost } => {
                let (memory, fuel) = (self.builder.use_var(self.memory), program.areas.fuel as i64);
                let left = self.load(memory, fuel);
                let left = self.builder.ins().iadd_imm_s(left, -i64::from(cost));
                let none = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, left, 0);
                self.leave_and_go_on_if(at, none);
                let memory = self.builder.use_var(self.memory);
                self.store(left, memory, fuel);
            }
            Op::Round { counter, limit } => {
                let value = self.get(node, counter);
                let limit = self.constant(program.limits[limit as usize].0 as i64);
                let over = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, value, limit);
                self.leave_if(at, over, 0);
                let value = self.builder.ins().iadd_imm_s(value, 1);
                self.set(node, counter, value);
            }
            Op::Fill { address, length, value } if length <= SHORT => {
                let value = self.constant(i64::from(value));
                self.write_anywhere(at, address, 0, &vec![value; length as usize]);
            }
            Op::Zero { first, length } if length <= 16 * SHORT => {
                let zero = self.constant(0);
                (0..length).for_each(|offset| self.set(node, first + offset as u16, zero));
            }
            Op::Fill { address, length, value: 0 } if !self.followed(node) => {
                let address = self.get(node, address);
                let to = self.pointer(address);
                let zero = self.builder.ins().iconst(cranelift_codegen::ir::types::I8, 0);
                let bytes = self.constant(i64::from(length) * 8);
                self.builder.call_memset(self.outside.target, to, zero, bytes);
                self.mark(node, address, 0, length);
            }
            Op::Copy { to, from, length } if length <= SHORT => {
                let from = self.get(node, from);
                let from = self.pointer(from);
                // The cells may overlap: all are read first.
                let values: Vec<Value> =
                    (0..length).map(|offset| self.load(from, i64::from(offset))).collect();
                self.write_anywhere(at, to, 0, &values);
            }
            Op::Copy { to, from, length } if !self.followed(node) => {
                let (address, from) = (self.get(node, to), self.get(node, from));
                let (to, from) = (self.pointer(address), self.pointer(from));
                let bytes = self.constant(i64::from(length) * 8);
                self.builder.call_memmove(self.outside.target, to, from, bytes);
                self.mark(node, address, 0, length);
            }
            Op::Same { dst, left, right, shape }
                if program.shapes[shape as usize].bags.is_empty()
                    && program.shapes[shape as usize].length <= SHORT =>
            {
                let (left, right) = (self.get(node, left), self.get(node, right));
                let (left, right) = (self.pointer(left), self.pointer(right));
                let mut differ = self.constant(0);
                for cell in 0..i64::from(program.shapes[shape as usize].length) {
                    let (left, right) = (self.load(left, cell), self.load(right, cell));
                    let differs = self.builder.ins().bxor(left, right);
                    differ = self.builder.ins().bor(differ, differs);
                }
                let (yes, no) = (self.constant(TRUE), self.constant(FALSE));
                let value = self.builder.ins().select(differ, no, yes);
                self.set(node, dst, value);
            }
            Op::Template { to, template } if program.templates[template as usize].len() <= SHORT as usize => {
                let cells = program.templates[template as usize].iter();
                let cells: Vec<Value> = cells.map(|cell| self.constant(*cell)).collect();
                self.write_anywhere(at, to, 0, &cells);
            }
            Op::JumpUnmarked { marks, position, .. } => {
                let position = self.get(node, position);
                let pointer = self.pointer(position);
                let marks = self.program.areas.frames + self.flow.register(node, marks);
                let mark = self.load(pointer, marks as i64);
                let unmarked = self.builder.ins().icmp_imm_s(IntCC::Equal, mark, 0);
                self.branch(node, unmarked);
            }
            Op::Call { .. } if !self.flow.calls_out(node) => {}
            Op::Fault { .. } | Op::NoResult => {
                self.leave(at, false, 0);
                return false;
            }
            Op::Fire => self.fire(at),
            Op::End if self.flow.in_body(node) => self.fired(node),
            Op::End => {
                let through = self.constant(THROUGH);
                self.builder.ins().return_(&[through]);
                return false;
            }
            Op::Truth { value } => {
                self.exit(Exit::Done(CodeEnd::Truth(value), node.pc));
                return false;
            }
            _ => {
                if !self.bag_instruction(at, node) {
                    self.interpret(at);
                }
            }
        }
        true
    }

    /// Whether a value is in a range.
    fn inside(&mut self, value: Value, range: &IntRange) -> Value {
        if range.lo > range.hi {
            return self.builder.ins().iconst(cranelift_codegen::ir::types::I8, 0);
        }
        self.between(value, range.lo, range.hi.wrapping_sub(range.lo))
    }

    /// Whether a value is one of the `length + 1` from `first` on.
    fn between(&mut self, value: Value, first: i64, length: i64) -> Value {
        let from_first = self.builder.ins().iadd_imm_s(value, first.wrapping_neg());
        self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThanOrEqual, from_first, length)
    }

    fn or_outside(&mut self, at: usize, inside: Value, code: Value, outside: &code::Outside) -> Value {
        match outside {
            code::Outside::Nothing => {
                let nothing = self.constant(-1);
                self.builder.ins().select(inside, code, nothing)
            }
            code::Outside::Fault(..) => {
                let outside = self.builder.ins().icmp_imm_s(IntCC::Equal, inside, 0);
                self.leave_if(at, outside, 0);
                code
            }
        }
    }

    fn map(&mut self, at: usize, code: Value, map: &CodeMap) -> Value {
        let mut inside = self.builder.ins().icmp_imm_s(IntCC::Equal, code, 0);
        let mut result = code;
        // The first piece that fits counts: later ones are put below it.
        for (first, last, add) in map.pieces.iter().rev().filter(|(first, last, _)| first <= last) {
            let fits = self.between(code, *first as i64, last.wrapping_sub(*first) as i64);
            let mapped = self.builder.ins().iadd_imm_s(code, *add);
            result = self.builder.ins().select(fits, mapped, result);
            inside = self.builder.ins().bor(inside, fits);
        }
        let zero = self.builder.ins().icmp_imm_s(IntCC::Equal, code, 0);
        result = self.builder.ins().select(zero, code, result);
        self.or_outside(at, inside, result, &map.outside)
    }
}

/// The cell that is written at `base + index * stride`, if the index is known.
pub(super) fn indexed_cell(
    flow: &Flow<'_>,
    node: &FlowNode,
    index: u16,
    stride: u16,
    base: i32,
) -> Option<u32> {
    let index = flow.known(node, index)?;
    let cell = u32::try_from(i64::from(base) + index * i64::from(stride)).ok()?;
    ((cell as usize) < flow.program.areas.cells).then_some(cell)
}

/// Whether an instruction that is interpreted may write to the state.
pub(super) fn may_write(op: Op) -> bool {
    !matches!(
        op,
        Op::Entry { .. }
            | Op::Map { .. }
            | Op::Zero { .. }
            | Op::CountRange { .. }
            | Op::CountMarks { .. }
            | Op::SelectMark { .. }
            | Op::Same { .. }
            | Op::BagScan { .. }
            | Op::BagMerge { .. }
            | Op::BagLen { .. }
            | Op::Choose { .. }
            | Op::Chosen { .. }
            | Op::Cover { .. }
            | Op::Fire
    )
}
