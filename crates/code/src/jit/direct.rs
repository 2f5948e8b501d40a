//! Direct translation: each instruction becomes a few of the processor's, and registers stay in their cells.
//!
//! It takes a hundredth of the time that Cranelift needs, so that code which has run for a moment is worth it; what it makes is somewhat
//! slower, and long runs have theirs made again. As nothing is held anywhere but in memory, the code can be left for the
//! interpreter at any instruction, and instructions that are rare or long are interpreted one by one.
//!
//! What the code does, how steps are taken and how it is left is as in [`super::emit`].

mod arithmetic;
mod assembler;
mod bags;
mod steps;

use shoal_model::BinaryOp;

use super::{
    Exit,
    emit::{FEW, SHORT, TRAPPED, may_write},
    expand::THROUGH,
    fire::StepHandling,
    flow::{Flow, FlowNode},
    places::Places,
};
use crate::{
    code::{CodeMap, IntRange, Op, Outside, Program},
    exec::CodeEnd,
};
use assembler::{
    Assembler, Binary, CodeLabel, MemoryCell,
    Register::{self, R12, R13, R14, R15, Rax, Rbx, Rcx, Rdi, Rdx, Rsi},
    When,
};

/// Registers of the processor that keep their contents while functions are called: the memory, the machine, the sink, a bit for each
/// piece of the state that was written to, the length of the journal.
const SAVED: [Register; 5] = [Rbx, R12, R13, R14, R15];
const MEMORY: Register = Rbx;
const MACHINE: Register = R12;
const SINK: Register = R13;
const DIRTY: Register = R14;
const COUNT: Register = R15;

/// What the code of a unit knows of the rest.
pub(super) struct DirectContext<'a> {
    /// The number of the rule.
    pub(super) number: usize,
    /// Where cells stand in the packed form, and which are never undefined.
    pub(super) places: &'a Places,
    pub(super) defined: &'a [bool],
    pub(super) has_bags: bool,
    pub(super) has_covers: bool,
    /// The number of the unit's first exit.
    pub(super) first_exit: i64,
}

/// The code of a unit, and its exits; nothing if it is too long.
pub(super) fn translate(
    program: &Program,
    flow: &Flow<'_>,
    outside: DirectContext<'_>,
) -> Option<(Vec<u8>, Vec<Exit>)> {
    let steps = StepHandling::new(program, flow, outside.has_bags, outside.has_covers);
    let mut code = Assembler::default();
    let blocks: Vec<Option<CodeLabel>> =
        flow.leaders().into_iter().map(|leads| leads.then(|| code.label())).collect();
    let end = code.label();
    let direct = Direct {
        program,
        flow,
        outside,
        steps,
        exits: Vec::new(),
        points: vec![None; flow.nodes.len()],
        ways_out: Vec::new(),
        left: vec![None; flow.nodes.len()],
        blocks,
        end,
        code,
        cached: None,
    };
    direct.run()
}

struct Direct<'a, 'p> {
    program: &'p Program,
    flow: &'a Flow<'p>,
    outside: DirectContext<'a>,
    steps: StepHandling,
    exits: Vec<Exit>,
    points: Vec<Option<usize>>,
    /// Where the code is left, with the numbers of exits.
    ways_out: Vec<(CodeLabel, i64)>,
    /// By instruction: where it is left to the interpreter.
    left: Vec<Option<CodeLabel>>,
    blocks: Vec<Option<CodeLabel>>,
    /// Where the function returns what is in rax.
    end: CodeLabel,
    code: Assembler,
    /// The register of the machine whose content is in rax.
    cached: Option<usize>,
}

impl Direct<'_, '_> {
    fn run(mut self) -> Option<(Vec<u8>, Vec<Exit>)> {
        SAVED.into_iter().for_each(|register| self.code.push(register));
        self.code.copy(MEMORY, Rdi);
        self.code.copy(MACHINE, Rsi);
        self.code.copy(SINK, Rcx);
        // A body that is entered by itself has written nothing yet.
        self.code.binary_registers(Binary::Xor, DIRTY, DIRTY);
        for (number, root) in self.flow.roots.iter().enumerate().skip(1) {
            self.code.compare_constant(Rdx, number as i32);
            if let Some(block) = self.blocks[*root] {
                self.code.jump_when(When::Equal, block);
            }
        }
        let leaders: Vec<usize> = (0..self.blocks.len()).filter(|at| self.blocks[*at].is_some()).collect();
        let first = *self.flow.roots.first()?;
        self.go_to(first, leaders.first().copied());
        for (position, at) in leaders.iter().enumerate() {
            if let Some(block) = self.blocks[*at] {
                self.code.place(block);
                self.straight(*at, leaders.get(position + 1).copied());
            }
        }
        for (label, number) in std::mem::take(&mut self.ways_out) {
            self.code.place(label);
            self.code.constant(Rax, number);
            self.code.jump(self.end);
        }
        self.code.place(self.end);
        SAVED.into_iter().rev().for_each(|register| self.code.pop(register));
        self.code.ret();
        Some((self.code.finish()?, self.exits))
    }

    /// Goes to an instruction that has a block, unless its block comes next anyway.
    fn go_to(&mut self, to: usize, comes_next: Option<usize>) {
        if let Some(block) = self.blocks[to].filter(|_| comes_next != Some(to)) {
            self.code.jump(block);
        }
    }

    /// Translates from an instruction on, up to the next that has a block of its own.
    fn straight(&mut self, mut at: usize, comes_next: Option<usize>) {
        let flow = self.flow;
        self.cached = None;
        loop {
            let node = &flow.nodes[at];
            if !flow.has_run(node) {
                let way_out = self.way_out(at);
                return self.code.jump(way_out);
            }
            let goes_on = self.instruction(at, node);
            let Some(next) = node.next.filter(|_| goes_on) else { return };
            if self.blocks[next].is_some() {
                return self.go_to(next, comes_next);
            }
            at = next;
        }
    }

    /// The cell of a register of the machine.
    fn register(&self, node: &FlowNode, reg: u16) -> MemoryCell {
        MemoryCell::at(self.program.areas.frames + self.flow.register(node, reg))
    }

    /// The content of a register of the machine in rax.
    fn get(&mut self, node: &FlowNode, reg: u16, cached: Option<usize>) {
        if cached != Some(self.flow.register(node, reg)) {
            let cell = self.register(node, reg);
            self.code.load(Rax, cell);
        }
    }

    /// The content of a register of the machine in one of the processor's.
    fn get_in(&mut self, to: Register, node: &FlowNode, reg: u16) {
        let cell = self.register(node, reg);
        self.code.load(to, cell);
    }

    /// What is in rax becomes the content of a register of the machine.
    fn set(&mut self, node: &FlowNode, reg: u16) {
        let cell = self.register(node, reg);
        self.code.store(cell, Rax);
        self.cached = Some(self.flow.register(node, reg));
    }

    /// A way out of the code.
    fn leave_with(&mut self, number: i64) -> CodeLabel {
        let label = self.code.label();
        self.ways_out.push((label, number));
        label
    }

    fn exit(&mut self, exit: Exit) -> CodeLabel {
        self.exits.push(exit);
        self.leave_with(self.outside.first_exit + self.exits.len() as i64 - 1)
    }

    /// The number of the point of an instruction, from where it can be interpreted.
    fn point(&mut self, at: usize) -> i64 {
        let point = self.points[at].unwrap_or_else(|| {
            self.exits.push(Exit::Interpret(self.flow.point(at, false)));
            self.exits.len() - 1
        });
        self.points[at] = Some(point);
        self.outside.first_exit + point as i64
    }

    /// Where an instruction, and all that follows, is left to the interpreter.
    fn way_out(&mut self, at: usize) -> CodeLabel {
        if let Some(label) = self.left[at] {
            return label;
        }
        let number = self.point(at);
        let label = self.leave_with(number);
        self.left[at] = Some(label);
        label
    }

    /// Leaves an instruction to the interpreter on a condition.
    fn leave_when(&mut self, at: usize, when: When) {
        let way_out = self.way_out(at);
        self.code.jump_when(when, way_out);
    }

    /// Has one instruction interpreted.
    fn interpret(&mut self, at: usize) {
        let point = self.point(at);
        self.code.copy(Rdi, MACHINE);
        self.code.constant(Rsi, point);
        self.code.constant(Rax, super::step as *const () as i64);
        self.code.call_rax();
        self.code.test(Rax);
        let trapped = self.leave_with(point + TRAPPED);
        self.code.jump_when(When::Equal, trapped);
        self.code.copy(MEMORY, Rax);
        if self.steps.whole && may_write(self.flow.nodes[at].op) {
            self.code.constant(DIRTY, -1);
        }
    }

    fn jump_when(&mut self, node: &FlowNode, when: When) {
        if let Some(to) = node.jump.and_then(|jump| self.blocks[jump]) {
            self.code.jump_when(when, to);
        }
    }

    fn compare(&mut self, node: &FlowNode, when: When, (left, right): (u16, u16), cached: Option<usize>) {
        self.get(node, left, cached);
        self.cached = Some(self.flow.register(node, left));
        let right = self.register(node, right);
        self.code.binary(Binary::Compare, Rax, right);
        self.jump_when(node, when);
    }

    fn compare_with(&mut self, node: &FlowNode, when: When, (src, value): (u16, i32), cached: Option<usize>) {
        self.cached = cached;
        if cached == Some(self.flow.register(node, src)) {
            self.code.compare_constant(Rax, value);
        } else {
            let cell = self.register(node, src);
            self.code.compare_cell(cell, value);
        }
        self.jump_when(node, when);
    }

    /// Leaves an instruction to the interpreter if rax is 0.
    fn leave_if_zero(&mut self, at: usize) {
        self.code.test(Rax);
        self.leave_when(at, When::Equal);
    }

    /// The cell of the state at `base + index * stride`: its number without the base in rax.
    fn indexed(
        &mut self,
        node: &FlowNode,
        index: u16,
        stride: u16,
        base: i32,
        cached: Option<usize>,
    ) -> MemoryCell {
        if cached == Some(self.flow.register(node, index)) {
            self.code.multiply(Rax, i32::from(stride));
        } else {
            let index = self.register(node, index);
            self.code.multiply_cell(Rax, index, i32::from(stride));
        }
        MemoryCell::behind(Rax, i64::from(base))
    }

    fn is_defined(&self, cell: u32) -> bool {
        self.outside.defined.get(cell as usize).is_some_and(|defined| *defined)
    }

    fn binary(&mut self, at: usize, op: BinaryOp, [dst, left, right]: [u16; 3], cached: Option<usize>) {
        let node = &self.flow.nodes[at];
        self.get(node, left, cached);
        let right = self.register(node, right);
        self.operator(at, op, right);
        self.set(node, dst);
    }

    /// Translates an instruction; false if nothing runs after it.
    fn instruction(&mut self, at: usize, node: &FlowNode) -> bool {
        let program = self.program;
        let cached = self.cached.take();
        match node.op {
            Op::Const { dst, value } => match i32::try_from(value) {
                Ok(value) => {
                    let cell = self.register(node, dst);
                    self.code.store_constant(cell, value);
                    self.cached = cached.filter(|cached| *cached != self.flow.register(node, dst));
                }
                Err(_) => {
                    self.code.constant(Rax, value);
                    self.set(node, dst);
                }
            },
            Op::Move { dst, src } => {
                self.get(node, src, cached);
                self.set(node, dst);
            }
            Op::Peek { dst, base } => {
                self.code.load(Rax, MemoryCell::at(base as usize));
                self.set(node, dst);
            }
            Op::Load { dst, base, .. } => {
                self.code.load(Rax, MemoryCell::at(base as usize));
                if !self.is_defined(base) {
                    self.leave_if_zero(at);
                }
                self.set(node, dst);
            }
            Op::PeekIndexed { dst, index, stride, base } => {
                let cell = self.indexed(node, index, stride, base, cached);
                self.code.load(Rax, cell);
                self.set(node, dst);
            }
            Op::LoadIndexed { dst, index, stride, base, .. } => {
                let cell = self.indexed(node, index, stride, base, cached);
                self.code.load(Rax, cell);
                self.leave_if_zero(at);
                self.set(node, dst);
            }
            Op::PeekAt { dst, address, offset } => {
                self.get(node, address, cached);
                self.code.load(Rax, MemoryCell::behind(Rax, i64::from(offset)));
                self.set(node, dst);
            }
            Op::LoadAt { dst, address, offset, .. } => {
                self.get(node, address, cached);
                self.code.load(Rax, MemoryCell::behind(Rax, i64::from(offset)));
                self.leave_if_zero(at);
                self.set(node, dst);
            }
            Op::Defined { src, .. } => {
                self.get(node, src, cached);
                self.leave_if_zero(at);
                self.cached = Some(self.flow.register(node, src));
            }
            Op::Store { src, base } => {
                self.get(node, src, cached);
                self.write_fixed(node, base);
                self.cached = Some(self.flow.register(node, src));
            }
            Op::StoreIndexed { src, index, stride, base } => {
                self.indexed(node, index, stride, base, cached);
                self.get_in(Rdx, node, src);
                self.write_indexed(at, i64::from(base));
            }
            Op::StoreAt { src, address, offset } => {
                self.get(node, address, cached);
                self.write_at(at, i64::from(offset), steps::CellContents::Register(src), 1);
            }
            Op::Scale { dst, index, stride, bias } => match i32::try_from(stride) {
                Ok(stride) => {
                    let index = self.register(node, index);
                    self.code.multiply_cell(Rax, index, stride);
                    self.code.add_constant(Rax, bias);
                    self.set(node, dst);
                }
                Err(_) => self.interpret(at),
            },
            Op::Join { dst, left, right } => {
                self.get(node, left, cached);
                let right = self.register(node, right);
                self.code.binary(Binary::Add, Rax, right);
                self.set(node, dst);
            }
            Op::FrameAddress { dst, offset, .. } => {
                let address = program.areas.frames + self.flow.register(node, offset);
                self.code.constant(Rax, address as i64);
                self.set(node, dst);
            }
            Op::Index { dst, src, range } => {
                let range = &program.ranges[range as usize];
                match Bounds::of(range) {
                    Some(Bounds { below, length, .. }) => {
                        self.get(node, src, cached);
                        self.code.add_constant(Rax, below);
                        self.code.compare_constant(Rax, length);
                        self.leave_when(at, When::Above);
                        self.set(node, dst);
                    }
                    None => self.interpret(at),
                }
            }
            Op::Offset { dst, src, add } => match i32::try_from(add) {
                Ok(add) => {
                    self.get(node, src, cached);
                    self.code.add_constant(Rax, add);
                    self.set(node, dst);
                }
                Err(_) => self.interpret(at),
            },
            Op::Encode { dst, src, range } => {
                let range = &program.ranges[range as usize];
                match Bounds::of(range) {
                    Some(bounds) => {
                        self.get(node, src, cached);
                        self.encode(at, &bounds, &range.outside);
                        self.set(node, dst);
                    }
                    None => self.interpret(at),
                }
            }
            Op::Map { dst, src, map } => {
                let map = &program.maps[map as usize];
                match pieces(map) {
                    Some(pieces) => {
                        self.get(node, src, cached);
                        self.map(at, &pieces, &map.outside);
                        self.set(node, dst);
                    }
                    None => self.interpret(at),
                }
            }
            Op::Add { dst, left, right, .. } => self.binary(at, BinaryOp::Add, [dst, left, right], cached),
            Op::Sub { dst, left, right, .. } => self.binary(at, BinaryOp::Sub, [dst, left, right], cached),
            Op::Binary { op, dst, left, right, .. } => self.binary(at, op, [dst, left, right], cached),
            Op::Negate { dst, src, .. } => {
                self.get(node, src, cached);
                self.code.negate(Rax);
                self.leave_when(at, When::Overflow);
                self.set(node, dst);
            }
            Op::Complement { dst, src } => {
                self.get(node, src, cached);
                self.code.complement(Rax);
                self.set(node, dst);
            }
            Op::Jump { .. } | Op::Return => self.cached = cached,
            Op::JumpEqual { left, right, .. } => self.compare(node, When::Equal, (left, right), cached),
            Op::JumpDiffer { left, right, .. } => self.compare(node, When::Differ, (left, right), cached),
            Op::JumpLess { left, right, .. } => self.compare(node, When::Less, (left, right), cached),
            Op::JumpAtMost { left, right, .. } => {
                self.compare(node, When::LessOrEqual, (left, right), cached);
            }
            Op::JumpIs { src, value, .. } => self.compare_with(node, When::Equal, (src, value), cached),
            Op::JumpIsNot { src, value, .. } => self.compare_with(node, When::Differ, (src, value), cached),
            Op::JumpBelow { src, value, .. } => self.compare_with(node, When::Less, (src, value), cached),
            Op::JumpAbove { src, value, .. } => self.compare_with(node, When::Greater, (src, value), cached),
            Op::Next { counter, last, .. } => {
                let (counter, done) = (self.register(node, counter), self.code.label());
                self.code.load(Rax, counter);
                self.code.compare_constant(Rax, last);
                self.code.jump_when(When::GreaterOrEqual, done);
                self.code.add_constant_to(counter, 1);
                if let Some(to) = node.jump.and_then(|jump| self.blocks[jump]) {
                    self.code.jump(to);
                }
                self.code.place(done);
            }
            Op::CheckStep { step, .. } => {
                self.get(node, step, cached);
                self.leave_if_zero(at);
            }
            Op::LeaveRange { counter, .. } => self.leave_range(node, counter),
            Op::NextInRange { counter, .. } => {
                let (cell, done) = (self.register(node, counter), self.code.label());
                let step = self.register(node, counter + 2);
                self.code.load(Rax, cell);
                self.code.binary(Binary::Add, Rax, step);
                self.code.jump_when(When::Overflow, done);
                self.code.store(cell, Rax);
                if let Some(to) = node.jump.and_then(|jump| self.blocks[jump]) {
                    self.code.jump(to);
                }
                self.code.place(done);
            }
            Op::Tick { cost } => {
                let fuel = MemoryCell::at(program.areas.fuel);
                match i32::try_from(cost) {
                    Ok(cost) => {
                        self.code.load(Rax, fuel);
                        self.code.add_constant(Rax, -cost);
                        self.code.test(Rax);
                        self.leave_when(at, When::Negative);
                        self.code.store(fuel, Rax);
                    }
                    Err(_) => self.interpret(at),
                }
            }
            Op::Round { counter, limit } => {
                let cell = self.register(node, counter);
                self.code.constant(Rcx, program.limits[limit as usize].0 as i64);
                self.code.load(Rax, cell);
                self.code.binary_registers(Binary::Compare, Rax, Rcx);
                self.leave_when(at, When::AboveOrEqual);
                self.code.add_constant_to(cell, 1);
            }
            Op::Zero { first, length } => {
                let first = self.register(node, first);
                self.fill(first, length, 0);
            }
            Op::Fill { address, length, value } if self.followed(node) || length <= SHORT => {
                self.get(node, address, cached);
                self.write_at(at, 0, steps::CellContents::Constant(value), length);
            }
            Op::Fill { address, length, value } => {
                self.get(node, address, cached);
                self.mark(node, 0, length);
                self.fill(MemoryCell::behind(Rax, 0), length, value);
            }
            Op::Copy { to, from, length } if self.followed(node) || length <= SHORT => {
                self.get(node, to, cached);
                self.write_at(at, 0, steps::CellContents::Cells(from), length);
            }
            Op::Copy { to, from, length } => {
                self.get(node, to, cached);
                self.mark(node, 0, length);
                self.copy_cells(node, from, length);
            }
            Op::Template { to, template } => {
                let cells = &program.templates[template as usize];
                if self.followed(node) || cells.len() <= SHORT as usize {
                    self.get(node, to, cached);
                    self.write_at(at, 0, steps::CellContents::Fixed(cells), cells.len() as u32);
                } else {
                    self.interpret(at);
                }
            }
            Op::Same { dst, left, right, shape } => {
                let shape = &program.shapes[shape as usize];
                if shape.bags.is_empty() && shape.length <= SHORT {
                    self.get(node, left, cached);
                    self.same(node, right, shape.length);
                    self.set(node, dst);
                } else {
                    self.interpret(at);
                }
            }
            Op::JumpUnmarked { marks, position, .. } => {
                self.get(node, position, cached);
                let marks = self.register(node, marks);
                self.code.compare_cell(MemoryCell { index: Some(Rax), ..marks }, 0);
                self.jump_when(node, When::Equal);
                self.cached = Some(self.flow.register(node, position));
            }
            Op::Call { .. } if !self.flow.calls_out(node) => self.cached = cached,
            Op::Fault { .. } | Op::NoResult => {
                let way_out = self.way_out(at);
                self.code.jump(way_out);
                return false;
            }
            Op::Fire => self.fire(at),
            Op::End if self.flow.in_body(node) => self.fired(node),
            Op::End => {
                self.code.constant(Rax, THROUGH);
                self.code.jump(self.end);
                return false;
            }
            Op::Truth { value } => {
                let way_out = self.exit(Exit::Done(CodeEnd::Truth(value), node.pc));
                self.code.jump(way_out);
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

    /// What is in rax becomes a code, or what is said to follow where it is outside.
    fn encode(&mut self, at: usize, bounds: &Bounds, outside: &Outside) {
        self.code.copy(Rcx, Rax);
        self.code.add_constant(Rcx, bounds.below);
        self.code.compare_constant(Rcx, bounds.length);
        match outside {
            Outside::Fault(..) => {
                self.leave_when(at, When::Above);
                self.code.add_constant(Rax, bounds.add);
            }
            Outside::Nothing => {
                let [inside, done] = [0; 2].map(|_| self.code.label());
                self.code.jump_when(When::BelowOrEqual, inside);
                self.code.constant(Rax, -1);
                self.code.jump(done);
                self.code.place(inside);
                self.code.add_constant(Rax, bounds.add);
                self.code.place(done);
            }
        }
    }

    /// The code in rax becomes one of another type.
    fn map(&mut self, at: usize, pieces: &[Bounds], outside: &Outside) {
        let done = self.code.label();
        self.code.test(Rax);
        self.code.jump_when(When::Equal, done);
        for Bounds { below, length, add } in pieces {
            let next = self.code.label();
            self.code.copy(Rcx, Rax);
            self.code.add_constant(Rcx, *below);
            self.code.compare_constant(Rcx, *length);
            self.code.jump_when(When::Above, next);
            self.code.add_constant(Rax, *add);
            self.code.jump(done);
            self.code.place(next);
        }
        match outside {
            Outside::Fault(..) => {
                let way_out = self.way_out(at);
                self.code.jump(way_out);
            }
            Outside::Nothing => self.code.constant(Rax, -1),
        }
        self.code.place(done);
    }

    /// Goes on elsewhere if a counter has passed its end.
    fn leave_range(&mut self, node: &FlowNode, counter: u16) {
        let Some(to) = node.jump.and_then(|jump| self.blocks[jump]) else { return };
        let [end, step] = [1, 2].map(|more| self.register(node, counter + more));
        let [down, done] = [0; 2].map(|_| self.code.label());
        self.get(node, counter, None);
        self.code.compare_cell(step, 0);
        self.code.jump_when(When::LessOrEqual, down);
        self.code.binary(Binary::Compare, Rax, end);
        self.code.jump_when(When::Greater, to);
        self.code.jump(done);
        self.code.place(down);
        self.code.binary(Binary::Compare, Rax, end);
        self.code.jump_when(When::Less, to);
        self.code.place(done);
    }

    /// Whether as many cells at the address in rax and at another are the same, as a truth value in rax.
    fn same(&mut self, node: &FlowNode, other: u16, length: u32) {
        let differ = self.code.label();
        self.get_in(Rdx, node, other);
        // Nothing is the same as nothing.
        self.code.binary_registers(Binary::Compare, Rax, Rax);
        for cell in 0..i64::from(length) {
            self.code.load(Rcx, MemoryCell::behind(Rax, cell));
            self.code.binary(Binary::Compare, Rcx, MemoryCell::behind(Rdx, cell));
            self.code.jump_when(When::Differ, differ);
        }
        // Behind the last comparison, too, that tells.
        self.code.place(differ);
        self.code.truth(When::Equal);
        self.code.add_constant(Rax, 1);
    }

    /// Fills cells with a value.
    fn fill(&mut self, first: MemoryCell, length: u32, value: i32) {
        if length <= SHORT {
            for more in 0..i64::from(length) {
                self.code.store_constant(MemoryCell { offset: first.offset + more, ..first }, value);
            }
            return;
        }
        self.code.address(Rdi, first);
        self.code.constant(Rcx, i64::from(length));
        self.code.constant(Rax, i64::from(value));
        self.code.fill();
    }

    /// Copies many cells from the address in a register of the machine to the one in rax. They may overlap.
    fn copy_cells(&mut self, node: &FlowNode, from: u16, length: u32) {
        self.code.address(Rdi, MemoryCell::behind(Rax, 0));
        self.get_in(Rsi, node, from);
        self.code.address(Rsi, MemoryCell::behind(Rsi, 0));
        self.code.constant(Rdx, i64::from(length));
        self.code.constant(Rax, copy_cells as *const () as i64);
        self.code.call_rax();
    }
}

/// Copies cells for native code.
unsafe extern "C" fn copy_cells(to: *mut i64, from: *const i64, length: u64) {
    // SAFETY: both are cells of the machine's memory: the compiler has checked or emitted checks of every address.
    unsafe { std::ptr::copy(from, to, length as usize) };
}

/// A run of values, as constants for the processor: what to add so that the first is 0, how far it is to the last, and what to add to
/// have codes.
struct Bounds {
    below: i32,
    length: i32,
    add: i32,
}

impl Bounds {
    fn new(first: i64, last: i64, add: i64) -> Option<Bounds> {
        let length = last.checked_sub(first).and_then(|length| u32::try_from(length).ok());
        Some(Bounds {
            below: i32::try_from(first.checked_neg()?).ok()?,
            // The processor extends the sign.
            length: i32::try_from(length?).ok()?,
            add: i32::try_from(add).ok()?,
        })
    }

    fn of(range: &IntRange) -> Option<Bounds> {
        Bounds::new(range.lo, range.hi, range.add)
    }
}

/// The pieces of a map, if they are few and their numbers are small.
fn pieces(map: &CodeMap) -> Option<Vec<Bounds>> {
    if map.pieces.len() > FEW {
        return None;
    }
    let there = map.pieces.iter().filter(|(first, last, _)| first <= last);
    let bounds = there
        .map(|(first, last, add)| Bounds::new(i64::try_from(*first).ok()?, i64::try_from(*last).ok()?, *add));
    bounds.collect()
}
