//! The machine that runs the code.

mod packed;
mod parts;

use std::ops::Range;

use bytemuck::{cast_slice, cast_slice_mut};
use shoal_model::{CALL_DEPTH, Fault, FaultKind, Model, PropertyId, Value};
use shoal_syntax::Span;

use crate::{
    code::{Areas, FALSE, Op, Outside, Pc, Program, Reg, Shown, TRUE},
    jit::{Entry, Exit, Heat, NOTED, Native, Point},
    layout::Layout,
};
use parts::{arithmetic, group, indexed, mapped, outside, range_length};

/// How code ends, or pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CodeEnd {
    /// An instance may fire; [`Machine::resume`] goes on with the next.
    Fire,
    /// The end.
    End,
    /// The value of a condition.
    Truth(bool),
    /// The sink does not want to be told more.
    Stopped,
}

/// Is told when the body of a rule has run to its end in the machine's own code.
pub(crate) trait Sink {
    /// The machine has the state after a step. If it is `whole`, anything may have changed and the packed form must
    /// be made and the state restored; otherwise the code looks after both.
    fn fired(&mut self, rule: usize, machine: &mut Machine<'_>, whole: bool) -> After;
}

/// Where native code ends before it is through all rules, and how; nothing if there is none for the rule.
pub(crate) type Expanded = Option<(usize, Option<Result<CodeEnd, Trap>>)>;

/// What follows after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// The next instance.
    GoOn = 0,
    /// The body once more, with other choices.
    Again = 1,
    /// Nothing.
    Stop = 2,
}

/// For code that fires nothing.
struct Nobody;

impl Sink for Nobody {
    fn fired(&mut self, _: usize, _: &mut Machine<'_>, _: bool) -> After {
        After::Stop
    }
}

/// Why code does not come to its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Trap {
    /// Something is wrong.
    Fault(Fault),
    /// The step does not exist.
    Discard,
    /// A choice has nothing to choose from: there is no such run.
    NoRun,
    /// The watch says that it is time to end.
    Stopped,
}

/// Why a condition has no value.
#[derive(Clone, Debug, PartialEq)]
pub enum Halt {
    /// Something is wrong.
    Fault(Fault),
    /// The watch says that it is time to end: see [`Program::stopped`].
    Stopped,
}

/// Instructions between two looks at the watch, some milliseconds.
const FUEL: i64 = 1 << 20;

fn fault<T>(kind: FaultKind, span: Span) -> Result<T, Trap> {
    Err(Trap::Fault(Fault { kind, span }))
}

/// One choice of a run.
#[derive(Clone, Copy, Debug)]
struct Choice {
    taken: i64,
    count: i64,
}

/// Is told which instructions are interpreted.
trait Notes {
    fn runs(&mut self, pc: usize);
}

/// Notes nothing.
struct NoHeat;

impl Notes for NoHeat {
    #[inline(always)]
    fn runs(&mut self, _: usize) {}
}

impl Notes for Heat {
    #[inline(always)]
    fn runs(&mut self, pc: usize) {
        self.ran += 1;
        self.seen[pc] = true;
    }
}

/// The memory, and what a run leaves behind.
pub struct Machine<'p> {
    program: &'p Program,
    /// What [`Areas`] say.
    mem: Vec<i64>,
    areas: Areas,
    stack: Vec<Return>,
    /// Where the run that ended last would go on, seen from outside all functions.
    at: Pc,
    choices: Vec<Choice>,
    made: usize,
    chosen: Vec<(Shown, i64)>,
    covered: Vec<PropertyId>,
    /// Whether a failed assumption ends the run; it does not in a property.
    pub assumes: bool,
    scratch: [Vec<i64>; 2],
    /// What went wrong in an instruction that native code had interpreted.
    trap: Option<Trap>,
    /// Whether the cells of the state were given, and not its packed form.
    given: bool,
    /// Whether there are cells beside the packed form.
    has_cells: bool,
    /// Whether the last step has changed them.
    steps_on_cells: bool,
    /// Whether the cells of the state that is expanded are there and are those that its packed form tells. (What starts
    /// begin with has none that does.)
    unpacked: bool,
    /// The pieces of the state in which a step that was settled may have changed it, where that is known.
    touched: Option<u64>,
    /// Conditions of which there is native code for each.
    translated: Vec<Pc>,
    /// What is interpreted of each unit, while more of it may be translated, and the unit that runs.
    heats: Vec<Option<Heat>>,
    /// Decides which runs are noted there.
    dice: u64,
    unit: usize,
    /// How many states were begun, whether there is better code since there are many, and how many were judged.
    begun: u64,
    settled: bool,
    judged: u64,
}

/// Where a function returns to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Return {
    pub(crate) pc: Pc,
    pub(crate) frame: usize,
}

impl<'p> Machine<'p> {
    /// A machine for a program.
    pub fn new(program: &'p Program) -> Self {
        let frame = program.native.as_ref().map_or(0, Native::frame).max(program.frame);
        let mut mem = vec![0; program.areas.frames + frame as usize];
        mem[program.areas.dirty] = -1;
        Machine {
            program,
            mem,
            areas: program.areas,
            stack: Vec::new(),
            at: 0,
            choices: Vec::new(),
            made: 0,
            chosen: Vec::new(),
            covered: Vec::new(),
            assumes: true,
            scratch: [Vec::new(), Vec::new()],
            trap: None,
            given: false,
            has_cells: true,
            steps_on_cells: true,
            unpacked: false,
            touched: None,
            translated: Vec::new(),
            dice: 0,
            heats: vec![None; program.native.as_ref().and_then(Native::tiers).unwrap_or(0)],
            unit: usize::MAX,
            begun: 0,
            settled: false,
            judged: 0,
        }
    }

    /// The cells of the state.
    #[inline]
    pub fn state(&self) -> &[i64] {
        &self.mem[..self.areas.cells]
    }

    /// The cells of the state, to change them.
    pub fn state_mut(&mut self) -> &mut [i64] {
        (self.given, self.has_cells) = (true, true);
        &mut self.mem[..self.areas.cells]
    }

    /// The packed form of the state, where it was asked for: in a [`crate::Visitor`].
    #[inline]
    pub fn words(&self) -> &[u64] {
        cast_slice(&self.mem[self.areas.words..][..self.areas.width])
    }

    /// The state that is expanded.
    pub fn base(&self) -> &[i64] {
        &self.mem[self.areas.base..][..self.areas.cells]
    }

    /// Whether the state differs from the one that is expanded, by their packed forms.
    #[inline]
    pub(crate) fn moved(&self) -> bool {
        // Word by word: native code has just written them so, and the processor would wait to read more at once.
        let Areas { words, base_words, width, .. } = self.areas;
        (0..width).any(|word| self.mem[words + word] != self.mem[base_words + word])
    }

    /// After a step that may have changed any cells: brings multisets into normal form and packs the state. What is as in
    /// the state that is expanded is left alone.
    pub(crate) fn settle(&mut self, layout: &Layout) {
        let Areas { cells, width, base, base_words, dirty, .. } = self.areas;
        (self.given, self.has_cells) = (true, true);
        let dirty = std::mem::replace(&mut self.mem[dirty], -1) as u64;
        let dirty = (dirty != u64::MAX).then_some(dirty);
        let (work, expanded) = self.mem.split_at_mut(base);
        let (state, words) = work.split_at_mut(cells);
        let (expanded, expanded_words) = expanded.split_at(base_words - base);
        let before = (expanded, cast_slice(&expanded_words[..width]));
        self.touched = layout.settle(before, state, cast_slice_mut(words), dirty);
    }

    /// The packed form of the state that is expanded.
    #[inline]
    pub fn base_words(&self) -> &[u64] {
        cast_slice(&self.mem[self.areas.base_words..][..self.areas.width])
    }

    /// In a [`crate::Visitor`]: the cells of the state that is expanded, and of the state, if there are any.
    #[inline]
    pub fn cells(&self) -> Option<(&[i64], &[i64])> {
        self.steps_on_cells.then(|| (self.base(), self.state()))
    }

    /// A step is over, which native code may have taken without cells.
    pub(crate) fn stepped(&mut self, natively: bool) {
        let held = self.program.native.as_ref().is_some_and(|native| native.held().rules);
        self.steps_on_cells = !(natively && held);
    }

    /// Makes the state again the one that is expanded, whatever has become of it.
    pub(crate) fn restore(&mut self) {
        let Areas { base, journal, .. } = self.areas;
        self.mem.copy_within(base..journal, 0);
    }

    /// The same for a state that is packed: only what differs is put back.
    pub(crate) fn restore_packed(&mut self, layout: &Layout) {
        if !self.unpacked {
            return self.restore();
        }
        let Areas { cells, width, base, base_words, .. } = self.areas;
        let (work, expanded) = self.mem.split_at_mut(base);
        let (state, words) = work.split_at_mut(cells);
        let (expanded, expanded_words) = expanded.split_at(base_words - base);
        let expanded_words = &expanded_words[..width];
        let put_back = |cells: Range<usize>| state[cells.clone()].copy_from_slice(&expanded[cells]);
        match self.touched {
            Some(pieces) => layout.each_run(pieces, put_back),
            None => layout.each_changed(cast_slice(words), cast_slice(expanded_words), put_back),
        }
        words.copy_from_slice(expanded_words);
        debug_assert_eq!(state, expanded, "a step is undone by the words it has changed");
    }

    /// The content of a register of the outermost code.
    pub(crate) fn register(&self, reg: Reg) -> i64 {
        self.mem[self.areas.frames + reg as usize]
    }

    /// Fills a register of the outermost code.
    pub(crate) fn set_register(&mut self, reg: Reg, content: i64) {
        self.mem[self.areas.frames + reg as usize] = content;
    }

    /// The instruction of the outermost code where the last run ended or trapped.
    pub(crate) fn at(&self) -> Pc {
        self.at
    }

    /// Whether runs have covered properties since they were taken last.
    #[inline]
    pub(crate) fn has_covered(&self) -> bool {
        !self.covered.is_empty()
    }

    /// The properties that runs have covered since this was last called.
    pub fn take_covered(&mut self) -> impl Iterator<Item = PropertyId> + '_ {
        self.covered.drain(..)
    }

    /// The values that the last run's choices took.
    pub fn chosen(&self, model: &Model) -> Vec<Value> {
        self.chosen.iter().map(|(shown, content)| shown.value(model, *content)).collect()
    }

    /// Runs a body for the first time: all choices take their first value.
    pub(crate) fn run(&mut self, pc: Pc) -> Result<CodeEnd, Trap> {
        self.choices.clear();
        self.go(pc, None)
    }

    /// Makes the next combination of choices the one to run, by [`Machine::resume`] at the body; false if there is none.
    pub(crate) fn next_choices(&mut self) -> bool {
        self.choices.truncate(self.made);
        while let Some(last) = self.choices.last_mut() {
            if last.taken + 1 < last.count {
                last.taken += 1;
                return true;
            }
            self.choices.pop();
        }
        false
    }

    /// Before a body runs with the present combination of choices.
    pub(crate) fn begin_choices(&mut self) {
        self.chosen.clear();
        self.made = 0;
    }

    /// Runs through the instances of a rule from an instruction on, or from the body of one with the choices that are made.
    pub(crate) fn resume(&mut self, pc: Pc, sink: Option<&mut dyn Sink>) -> Result<CodeEnd, Trap> {
        self.go(pc, sink)
    }

    /// Whether the condition holds in the state.
    pub fn holds(&mut self, pc: Pc) -> Result<bool, Halt> {
        self.assumes = false;
        let result = self.go(pc, None);
        self.assumes = true;
        self.covered.clear();
        match result {
            Ok(event) => Ok(event == CodeEnd::Truth(true)),
            Err(Trap::Fault(fault)) => Err(Halt::Fault(fault)),
            Err(Trap::Stopped) => Err(Halt::Stopped),
            Err(Trap::Discard | Trap::NoRun) => Ok(false),
        }
    }

    /// Runs code. The machine's own code of a rule fires what may fire and tells the sink, so there must be one.
    fn go(&mut self, start: Pc, sink: Option<&mut dyn Sink>) -> Result<CodeEnd, Trap> {
        self.stack.clear();
        self.covered.clear();
        self.begin_choices();
        if let Some(native) = &self.program.native
            && let Some(root) = native.root(start)
        {
            self.unit = root.unit as usize;
            if (sink.is_some() || !root.fires)
                && let Some(entry) = native.entry(root)
                && !(entry.held() && self.given)
            {
                return self.go_natively(native, entry, sink.unwrap_or(&mut Nobody));
            }
        }
        self.make();
        self.interpret(start, self.areas.frames)
    }

    /// Runs the machine's own code. What is not worth translating, faults above all, is left to the interpreter.
    fn go_natively(
        &mut self,
        native: &'p Native,
        entry: Entry,
        sink: &mut dyn Sink,
    ) -> Result<CodeEnd, Trap> {
        self.make_room(entry);
        let exit = native.call(entry, self, sink);
        self.after(exit)
    }

    /// Makes room for the registers of native code.
    fn make_room(&mut self, entry: Entry) {
        let registers = self.areas.frames + entry.frame() as usize;
        if self.mem.len() < registers {
            self.mem.resize(registers, 0);
        }
    }

    /// Fires everything that may fire, from a rule on in their order. Nothing if that cannot be done at once; otherwise
    /// the position of the rule where the machine's own code ends before it is through, and how it ends.
    pub(crate) fn expand(&mut self, from: usize, sink: &mut dyn Sink) -> Option<Expanded> {
        let native = self.program.native.as_ref()?;
        let expander = native.expander()?;
        self.stack.clear();
        self.covered.clear();
        self.begin_choices();
        let ended = native.expand(expander, from, self, sink);
        Some(ended.map(|(rule, exit)| {
            self.unit = rule;
            (rule, exit.map(|exit| self.after(exit)))
        }))
    }

    fn after(&mut self, exit: Exit<&Point>) -> Result<CodeEnd, Trap> {
        match exit {
            Exit::Done(event, at) => {
                self.at = at;
                Ok(event)
            }
            Exit::Interpret(point) => {
                if let Some(native) = self.program.native.as_ref().filter(|_| point.held) {
                    native.unpack(self);
                    native.unpack_work(self);
                    self.has_cells = true;
                }
                if point.again {
                    self.restore();
                    self.choices.clear();
                    self.begin_choices();
                }
                self.stack.clear();
                self.stack.extend_from_slice(&point.stack);
                self.interpret(point.pc, point.frame)
            }
            // Only `step` makes native code end so, and it has left the reason.
            Exit::Trapped => match self.trap.take() {
                Some(trap) => Err(trap),
                None => unreachable!("internal error in code::exec: native code trapped without a reason"),
            },
        }
    }

    /// For native code: interprets one instruction, or one call. False if it trapped.
    pub(crate) fn step(&mut self, point: u64) -> bool {
        let Some(point) = self.program.native.as_ref().and_then(|native| native.point(point)) else {
            return false;
        };
        self.stack.clear();
        self.stack.extend_from_slice(&point.stack);
        let (mut pc, mut heat) = (point.pc, NoHeat);
        let result = self.execute::<true, _>(&mut pc, point.frame, &mut heat);
        self.ended_at(pc);
        match result {
            Ok(_) => true,
            Err(trap) => {
                self.trap = Some(trap);
                false
            }
        }
    }

    /// The memory, for native code.
    pub(crate) fn memory(&mut self) -> *mut i64 {
        self.mem.as_mut_ptr()
    }

    /// Runs code of the present unit from an instruction on.
    fn interpret(&mut self, start: Pc, frame: usize) -> Result<CodeEnd, Trap> {
        let mut pc = start;
        // At random: units come in turns.
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let noted = (self.dice >> 32).is_multiple_of(NOTED);
        let Some(heat) = self.heats.get_mut(self.unit).filter(|_| noted) else {
            let result = self.execute::<false, _>(&mut pc, frame, &mut NoHeat);
            self.ended_at(pc);
            return result;
        };
        let mut heat = heat.take().unwrap_or_else(|| Heat::new(self.program));
        let before = heat.ran;
        let result = self.execute::<false, _>(&mut pc, frame, &mut heat);
        heat.ran += (heat.ran - before) * (NOTED - 1);
        self.ended_at(pc);
        if heat.ran >= heat.enough
            && let Some(native) = &self.program.native
        {
            native.consider(self.program, self.unit, &mut heat);
        }
        self.heats[self.unit] = Some(heat);
        result
    }

    /// The interpreter has ended at an instruction.
    fn ended_at(&mut self, pc: Pc) {
        self.at = self.stack.first().map_or(pc, |outermost| outermost.pc - 1);
    }

    /// The hot loop. `pc` is left at the instruction that ended it. `ONE` is to stop after one instruction, with
    /// what it calls; it must not be a jump.
    fn execute<const ONE: bool, N: Notes>(
        &mut self,
        at: &mut Pc,
        mut frame: usize,
        notes: &mut N,
    ) -> Result<CodeEnd, Trap> {
        let program = self.program;
        let ops = &program.ops[..];
        let depth = self.stack.len();
        let mut pc = *at as usize;
        macro_rules! reg {
            ($reg:expr) => {
                self.mem[frame + $reg as usize]
            };
        }
        macro_rules! trap {
            ($kind:expr, $site:expr) => {{
                *at = pc as Pc;
                return fault($kind, program.spans[$site as usize]);
            }};
        }
        macro_rules! attempt {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(trap) => {
                        *at = pc as Pc;
                        return Err(trap);
                    }
                }
            };
        }
        macro_rules! jump_if {
            ($condition:expr, $to:expr) => {
                if $condition {
                    pc = $to as usize;
                    continue;
                }
            };
        }
        loop {
            notes.runs(pc);
            match ops[pc] {
                Op::Const { dst, value } => reg!(dst) = value,
                Op::Move { dst, src } => reg!(dst) = reg!(src),
                Op::Peek { dst, base } => reg!(dst) = self.mem[base as usize],
                Op::PeekIndexed { dst, index, stride, base } => {
                    reg!(dst) = self.mem[indexed(base, reg!(index), stride)];
                }
                Op::PeekAt { dst, address, offset } => {
                    reg!(dst) = self.mem[(reg!(address) as usize).wrapping_add(offset as usize)];
                }
                Op::Load { dst, base, site } => {
                    let code = self.mem[base as usize];
                    if code == 0 {
                        trap!(FaultKind::Undefined, site);
                    }
                    reg!(dst) = code;
                }
                Op::LoadIndexed { dst, index, stride, base, site } => {
                    let code = self.mem[indexed(base, reg!(index), stride)];
                    if code == 0 {
                        trap!(FaultKind::Undefined, site);
                    }
                    reg!(dst) = code;
                }
                Op::LoadAt { dst, address, offset, site } => {
                    let code = self.mem[(reg!(address) as usize).wrapping_add(offset as usize)];
                    if code == 0 {
                        trap!(FaultKind::Undefined, site);
                    }
                    reg!(dst) = code;
                }
                Op::Defined { src, site } => {
                    if reg!(src) == 0 {
                        trap!(FaultKind::Undefined, site);
                    }
                }
                Op::Store { src, base } => self.mem[base as usize] = reg!(src),
                Op::StoreIndexed { src, index, stride, base } => {
                    let address = indexed(base, reg!(index), stride);
                    self.mem[address] = reg!(src);
                }
                Op::StoreAt { src, address, offset } => {
                    let address = (reg!(address) as usize).wrapping_add(offset as usize);
                    self.mem[address] = reg!(src);
                }
                Op::Scale { dst, index, stride, bias } => {
                    reg!(dst) = reg!(index).wrapping_mul(i64::from(stride)).wrapping_add(i64::from(bias));
                }
                Op::Join { dst, left, right } => reg!(dst) = reg!(left).wrapping_add(reg!(right)),
                Op::FrameAddress { dst, offset, .. } => reg!(dst) = (frame + offset as usize) as i64,
                Op::Index { dst, src, range } => {
                    let (value, range) = (reg!(src), &program.ranges[range as usize]);
                    if value < range.lo || value > range.hi {
                        *at = pc as Pc;
                        return Err(outside(range));
                    }
                    reg!(dst) = value.wrapping_sub(range.lo);
                }
                Op::Offset { dst, src, add } => reg!(dst) = reg!(src).wrapping_add(add),
                Op::Encode { dst, src, range } => {
                    let (value, range) = (reg!(src), &program.ranges[range as usize]);
                    reg!(dst) = if range.lo <= value && value <= range.hi {
                        value.wrapping_add(range.add)
                    } else if range.outside == Outside::Nothing {
                        -1
                    } else {
                        *at = pc as Pc;
                        return Err(outside(range));
                    };
                }
                Op::Map { dst, src, map } => {
                    let code = reg!(src);
                    reg!(dst) = attempt!(mapped(&program.maps[map as usize], code));
                }
                Op::Add { dst, left, right, site } => match reg!(left).checked_add(reg!(right)) {
                    Some(sum) => reg!(dst) = sum,
                    None => trap!(FaultKind::Overflow, site),
                },
                Op::Sub { dst, left, right, site } => match reg!(left).checked_sub(reg!(right)) {
                    Some(difference) => reg!(dst) = difference,
                    None => trap!(FaultKind::Overflow, site),
                },
                Op::Binary { op, dst, left, right, site } => match arithmetic(op, reg!(left), reg!(right)) {
                    Ok(value) => reg!(dst) = value,
                    Err(kind) => trap!(kind, site),
                },
                Op::Negate { dst, src, site } => match reg!(src).checked_neg() {
                    Some(value) => reg!(dst) = value,
                    None => trap!(FaultKind::Overflow, site),
                },
                Op::Complement { dst, src } => reg!(dst) = !reg!(src),
                Op::Entry { dst, index, table, site } => {
                    let position = usize::try_from(reg!(index)).unwrap_or(usize::MAX);
                    match self.program.tables[table as usize].get(position) {
                        Some(entry) => reg!(dst) = *entry,
                        None => trap!(FaultKind::IndexOutOfRange, site),
                    }
                }
                Op::Jump { to } => {
                    pc = to as usize;
                    continue;
                }
                Op::JumpEqual { left, right, to } => jump_if!(reg!(left) == reg!(right), to),
                Op::JumpDiffer { left, right, to } => jump_if!(reg!(left) != reg!(right), to),
                Op::JumpLess { left, right, to } => jump_if!(reg!(left) < reg!(right), to),
                Op::JumpAtMost { left, right, to } => jump_if!(reg!(left) <= reg!(right), to),
                Op::JumpIs { src, value, to } => jump_if!(reg!(src) == i64::from(value), to),
                Op::JumpIsNot { src, value, to } => jump_if!(reg!(src) != i64::from(value), to),
                Op::JumpBelow { src, value, to } => jump_if!(reg!(src) < i64::from(value), to),
                Op::JumpAbove { src, value, to } => jump_if!(reg!(src) > i64::from(value), to),
                Op::Next { counter, last, to } => {
                    if reg!(counter) < i64::from(last) {
                        reg!(counter) += 1;
                        pc = to as usize;
                        continue;
                    }
                }
                Op::CheckStep { step, site } => {
                    if reg!(step) == 0 {
                        trap!(FaultKind::ZeroStep, site);
                    }
                }
                Op::LeaveRange { counter, to } => {
                    let (value, end, step) = (reg!(counter), reg!(counter + 1), reg!(counter + 2));
                    jump_if!(if step > 0 { value > end } else { value < end }, to);
                }
                Op::NextInRange { counter, to } => {
                    if let Some(value) = reg!(counter).checked_add(reg!(counter + 2)) {
                        reg!(counter) = value;
                        pc = to as usize;
                        continue;
                    }
                }
                Op::CountRange { dst, counter } => {
                    reg!(dst) = range_length(reg!(counter), reg!(counter + 1), reg!(counter + 2));
                }
                Op::Tick { cost } => {
                    let fuel = &mut self.mem[self.areas.fuel];
                    *fuel -= i64::from(cost);
                    if *fuel < 0 {
                        *fuel = FUEL;
                        if !program.goes_on() {
                            *at = pc as Pc;
                            return Err(Trap::Stopped);
                        }
                    }
                }
                Op::Round { counter, limit } => {
                    let (limit, span) = program.limits[limit as usize];
                    if reg!(counter) as u64 >= limit {
                        *at = pc as Pc;
                        return fault(FaultKind::LoopLimit, span);
                    }
                    reg!(counter) += 1;
                }
                Op::Fill { address, length, value } => {
                    let address = reg!(address) as usize;
                    self.mem[address..address + length as usize].fill(i64::from(value));
                }
                Op::Zero { first, length } => {
                    let first = frame + first as usize;
                    self.mem[first..first + length as usize].fill(0);
                }
                Op::Copy { to, from, length } => {
                    let (to, from) = (reg!(to) as usize, reg!(from) as usize);
                    self.mem.copy_within(from..from + length as usize, to);
                }
                Op::Template { to, template } => {
                    let (to, template) = (reg!(to) as usize, &program.templates[template as usize]);
                    self.mem[to..to + template.len()].copy_from_slice(template);
                }
                Op::Same { dst, left, right, shape } => {
                    let same = self.same(reg!(left) as usize, reg!(right) as usize, shape);
                    reg!(dst) = if same { TRUE } else { FALSE };
                }
                Op::Occupied { flag, site } => {
                    let flag = reg!(flag);
                    if flag >= 0 && self.mem[flag as usize] == 0 {
                        trap!(FaultKind::EmptySlot, site);
                    }
                }
                Op::BagScan { marks, address, bag } => {
                    let (bag, address) = (&program.bags[bag as usize], reg!(address) as usize);
                    for position in 0..bag.capacity as usize {
                        reg!(marks as usize + position) = self.mem[address + position * bag.group as usize];
                    }
                }
                Op::BagMerge { marks, address, bag, taken } => {
                    let address = reg!(address);
                    self.merge(&program.bags[bag as usize], frame, marks as usize, address, taken);
                }
                Op::JumpUnmarked { marks, position, to } => {
                    jump_if!(reg!(marks as usize + reg!(position) as usize) == 0, to);
                }
                Op::CountMarks { dst, marks, length } => {
                    let first = frame + marks as usize;
                    let marks = &self.mem[first..first + length as usize];
                    reg!(dst) = marks.iter().filter(|mark| **mark != 0).count() as i64;
                }
                Op::SelectMark { index, marks, length } => {
                    let first = frame + marks as usize;
                    let marks = self.mem[first..first + length as usize].iter().enumerate();
                    let mut marked = marks.filter(|(_, mark)| **mark != 0);
                    let position = marked.nth(reg!(index) as usize).map_or(0, |(position, _)| position);
                    reg!(index) = position as i64;
                }
                Op::BagElement { dst, address, position, bag, site } => {
                    let group = group(&program.bags[bag as usize], reg!(address), reg!(position));
                    match group.filter(|group| self.mem[*group] != 0) {
                        Some(group) => reg!(dst) = group as i64 + 1,
                        None => trap!(FaultKind::EmptySlot, site),
                    }
                }
                Op::BagAdd { dst, address, bag, site } => {
                    let (bag, address) = (&program.bags[bag as usize], reg!(address) as usize);
                    let mut groups =
                        (0..bag.capacity as usize).map(|position| address + position * bag.group as usize);
                    match groups.find(|group| self.mem[*group] == 0) {
                        Some(group) => {
                            self.mem[group] = 1;
                            reg!(dst) = group as i64 + 1;
                        }
                        None => trap!(FaultKind::Full, site),
                    }
                }
                Op::BagRemove { address, position, bag, site } => {
                    let bag = &program.bags[bag as usize];
                    let group = group(bag, reg!(address), reg!(position));
                    match group.filter(|group| self.mem[*group] != 0) {
                        Some(group) => self.mem[group..group + bag.group as usize].fill(0),
                        None => trap!(FaultKind::EmptySlot, site),
                    }
                }
                Op::BagSweep { marks, address, bag } => {
                    let (bag, address) = (&program.bags[bag as usize], reg!(address) as usize);
                    for position in 0..bag.capacity as usize {
                        if reg!(marks as usize + position) != 0 {
                            let group = address + position * bag.group as usize;
                            self.mem[group..group + bag.group as usize].fill(0);
                        }
                    }
                }
                Op::BagLen { dst, address, bag } => {
                    let (bag, address) = (&program.bags[bag as usize], reg!(address) as usize);
                    let occupied = (0..bag.capacity as usize)
                        .filter(|position| self.mem[address + position * bag.group as usize] != 0);
                    reg!(dst) = occupied.count() as i64;
                }
                Op::Call { function, window, site } => {
                    if self.stack.len() >= CALL_DEPTH {
                        trap!(FaultKind::CallDepth, site);
                    }
                    self.stack.push(Return { pc: pc as Pc + 1, frame });
                    let code = program.functions[shoal_model::TypedId::index(function)];
                    frame += window as usize;
                    if frame + code.frame as usize > self.mem.len() {
                        self.mem.resize(frame + code.frame as usize, 0);
                    }
                    pc = code.entry as usize;
                    continue;
                }
                Op::Return => {
                    if let Some(caller) = self.stack.pop() {
                        frame = caller.frame;
                        pc = caller.pc as usize;
                        if ONE && self.stack.len() == depth {
                            return Ok(CodeEnd::End);
                        }
                        continue;
                    }
                }
                Op::NoResult => {
                    *at = pc as Pc;
                    return fault(FaultKind::NoResult, self.call_site());
                }
                Op::Choose { dst, count } => {
                    let count = reg!(count);
                    reg!(dst) = attempt!(self.choose(count));
                }
                Op::Chosen { src, choice } => {
                    self.chosen.push((program.choices[choice as usize], reg!(src)));
                }
                Op::Fault { fault: number } => {
                    *at = pc as Pc;
                    let (kind, span) = program.faults[number as usize].clone();
                    return fault(kind, span);
                }
                Op::Discard => {
                    if self.assumes {
                        *at = pc as Pc;
                        return Err(Trap::Discard);
                    }
                }
                Op::Cover { property } => {
                    if !self.covered.contains(&property) {
                        self.covered.push(property);
                    }
                }
                Op::Fire => {
                    // Only steps cover and choose, guards do not.
                    self.covered.clear();
                    self.choices.clear();
                    self.begin_choices();
                    *at = pc as Pc;
                    return Ok(CodeEnd::Fire);
                }
                Op::End => {
                    *at = pc as Pc;
                    return Ok(CodeEnd::End);
                }
                Op::Truth { value } => {
                    *at = pc as Pc;
                    return Ok(CodeEnd::Truth(value));
                }
            }
            pc += 1;
            if ONE && self.stack.len() == depth {
                return Ok(CodeEnd::End);
            }
        }
    }

    /// Where the function that runs was called.
    fn call_site(&self) -> Span {
        let call = self.stack.last().map(|caller| self.program.ops[caller.pc as usize - 1]);
        match call {
            Some(Op::Call { site, .. }) => self.program.spans[site as usize],
            _ => Span::default(),
        }
    }

    fn choose(&mut self, count: i64) -> Result<i64, Trap> {
        if self.made == self.choices.len() {
            if count == 0 {
                return Err(Trap::NoRun);
            }
            self.choices.push(Choice { taken: 0, count });
        }
        self.made += 1;
        Ok(self.choices[self.made - 1].taken)
    }
}
