//! The code that runs: a flat array of small instructions on cells.
//!
//! There is one memory of 64-bit cells. The state stands at its beginning; far above it is a stack of frames.
//! A *register* is a cell of the current frame. Locals of composite types live in frames too, and an *address*
//! (what a reference local holds) is an index into the memory, so a reference to a part of the state and one
//! to a local are the same thing.
//!
//! A register holds one of three things, known when the code is made: an integer as it is (*raw*), a code as in
//! a cell (see [`crate::layout`]), or an address. Truth values are codes: 1 is false, 2 is true.
//!
//! Every instruction that can fault names its place in the source. Nothing else is dynamic: jumps have fixed
//! targets and there are no indirect calls, so the same code can be translated to a machine's.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use shoal_model::{
    BinaryOp, Fault, FaultKind, FunctionId, Model, Parts, PropertyId, SortId, StopReason, TypeId, TypedId,
    Watch,
};
use shoal_syntax::Span;

use crate::{
    bag::Bag,
    jit::{self, Native},
    layout::{Layout, piece_of},
};

/// A register: a cell of the current frame.
pub(crate) type Reg = u16;
/// The number of an instruction.
pub type Pc = u32;
/// The number of a source span.
pub(crate) type Site = u32;

/// The codes of the truth values.
pub(crate) const FALSE: i64 = 1;
/// See [`FALSE`].
pub(crate) const TRUE: i64 = 2;

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// A constant.
    Const { dst: Reg, value: i64 },
    /// A copy.
    Move { dst: Reg, src: Reg },
    /// The cell at a fixed address, undefined or not.
    Peek { dst: Reg, base: u32 },
    /// The cell at `base + index * stride`.
    PeekIndexed { dst: Reg, index: Reg, stride: u16, base: i32 },
    /// The cell at an address plus an offset.
    PeekAt { dst: Reg, address: Reg, offset: u32 },
    /// Like `Peek`; faults if it is undefined.
    Load { dst: Reg, base: u32, site: Site },
    /// Like `PeekIndexed`; faults if it is undefined.
    LoadIndexed { dst: Reg, index: Reg, stride: u16, base: i32, site: Site },
    /// Like `PeekAt`; faults if it is undefined.
    LoadAt { dst: Reg, address: Reg, offset: u32, site: Site },
    /// Faults if the code is 0.
    Defined { src: Reg, site: Site },
    /// Writes the cell at a fixed address.
    Store { src: Reg, base: u32 },
    /// Writes the cell at `base + index * stride`.
    StoreIndexed { src: Reg, index: Reg, stride: u16, base: i32 },
    /// Writes the cell at an address plus an offset.
    StoreAt { src: Reg, address: Reg, offset: u32 },
    /// `dst = index * stride + bias`: a part of an address.
    Scale { dst: Reg, index: Reg, stride: u32, bias: i32 },
    /// `dst = left + right`, of parts of addresses.
    Join { dst: Reg, left: Reg, right: Reg },
    /// The address of a cell of the frame. What is reached from it lies in the `length` registers from `first` on.
    FrameAddress { dst: Reg, offset: Reg, first: Reg, length: u32 },
    /// The position from 0 of a raw integer in a range; faults if it is outside.
    Index { dst: Reg, src: Reg, range: u32 },
    /// `dst = src + add`, wrapping: between codes, positions and raw integers.
    Offset { dst: Reg, src: Reg, add: i64 },
    /// The code of a raw integer in a range; outside, what the range says.
    Encode { dst: Reg, src: Reg, range: u32 },
    /// The code of a value in another type.
    Map { dst: Reg, src: Reg, map: u32 },
    /// Arithmetic on raw integers.
    Add { dst: Reg, left: Reg, right: Reg, site: Site },
    /// Difference.
    Sub { dst: Reg, left: Reg, right: Reg, site: Site },
    /// The other operators.
    Binary { op: BinaryOp, dst: Reg, left: Reg, right: Reg, site: Site },
    /// Negation; faults on overflow.
    Negate { dst: Reg, src: Reg, site: Site },
    /// Complement.
    Complement { dst: Reg, src: Reg },
    /// The entry of a table; faults if there is none.
    Entry { dst: Reg, index: Reg, table: u32, site: Site },
    /// Goes on elsewhere.
    Jump { to: Pc },
    /// Goes on elsewhere if the registers are equal.
    JumpEqual { left: Reg, right: Reg, to: Pc },
    /// If they differ.
    JumpDiffer { left: Reg, right: Reg, to: Pc },
    /// If the left is less.
    JumpLess { left: Reg, right: Reg, to: Pc },
    /// If the left is not greater.
    JumpAtMost { left: Reg, right: Reg, to: Pc },
    /// If the register is the constant.
    JumpIs { src: Reg, value: i32, to: Pc },
    /// If it is not.
    JumpIsNot { src: Reg, value: i32, to: Pc },
    /// If it is less than the constant.
    JumpBelow { src: Reg, value: i32, to: Pc },
    /// If it is greater than the constant.
    JumpAbove { src: Reg, value: i32, to: Pc },
    /// Counts up to `last` and goes back if it is not yet reached.
    Next { counter: Reg, last: i32, to: Pc },
    /// Faults if the step is 0.
    CheckStep { step: Reg, site: Site },
    /// Leaves a loop whose counter has passed its end; the registers are end and step after the counter.
    LeaveRange { counter: Reg, to: Pc },
    /// Adds the step to the counter (registers as above) and goes back, or leaves if it does not fit.
    NextInRange { counter: Reg, to: Pc },
    /// How many values a range has (registers as above).
    CountRange { dst: Reg, counter: Reg },
    /// Uses up fuel for so many instructions, which have run since the last tick. When there is none left the watch is
    /// looked at.
    Tick { cost: u32 },
    /// Counts the rounds of a loop; faults at the limit.
    Round { counter: Reg, limit: u32 },
    /// Fills cells at an address.
    Fill { address: Reg, length: u32, value: i32 },
    /// Fills cells of the frame with 0.
    Zero { first: Reg, length: u32 },
    /// Copies cells from address to address; the cells may overlap.
    Copy { to: Reg, from: Reg, length: u32 },
    /// Writes fixed cells to an address.
    Template { to: Reg, template: u32 },
    /// Whether two composite values are the same, as a truth value.
    Same { dst: Reg, left: Reg, right: Reg, shape: u32 },
    /// Faults if the occupied cell at an address is 0; -1 is no address. For references into multisets, which
    /// may outlive the element they refer to.
    Occupied { flag: Reg, site: Site },
    /// Marks the occupied groups of a multiset in `marks..`, as the domain of a loop.
    BagScan { marks: Reg, address: Reg, bag: u32 },
    /// Keeps only the first mark of equal elements; those that parameters before have taken keep theirs.
    BagMerge { marks: Reg, address: Reg, bag: u32, taken: u32 },
    /// Goes on elsewhere if there is no mark at the position.
    JumpUnmarked { marks: Reg, position: Reg, to: Pc },
    /// How many marks there are.
    CountMarks { dst: Reg, marks: Reg, length: u32 },
    /// The position of the mark with number `index`; `index` is replaced by it.
    SelectMark { index: Reg, marks: Reg, length: u32 },
    /// The address of the element in a group; faults if the group is free.
    BagElement { dst: Reg, address: Reg, position: Reg, bag: u32, site: Site },
    /// Occupies a free group and gives the address of its element; faults if there is none.
    BagAdd { dst: Reg, address: Reg, bag: u32, site: Site },
    /// Empties a group; faults if it is free.
    BagRemove { address: Reg, position: Reg, bag: u32, site: Site },
    /// Empties the marked groups.
    BagSweep { marks: Reg, address: Reg, bag: u32 },
    /// How many groups are occupied.
    BagLen { dst: Reg, address: Reg, bag: u32 },
    /// Calls a function whose frame begins at register `window`.
    Call { function: FunctionId, window: Reg, site: Site },
    /// Returns from a function.
    Return,
    /// A function ends without a result: a fault of the call.
    NoResult,
    /// Takes one of `count` alternatives; the step does not exist if there are none.
    Choose { dst: Reg, count: Reg },
    /// Notes the value that a choice took.
    Chosen { src: Reg, choice: u32 },
    /// A fault in any case.
    Fault { fault: u32 },
    /// The step does not exist.
    Discard,
    /// A property is covered.
    Cover { property: PropertyId },
    /// An instance of the rule may fire; the search goes on from here for the next one.
    Fire,
    /// The end: of a body, or of the instances of a rule.
    End,
    /// The end of a condition.
    Truth { value: bool },
}

/// A range of raw integers.
#[derive(Clone, Debug)]
pub(crate) struct IntRange {
    pub(crate) lo: i64,
    pub(crate) hi: i64,
    /// What to add to have the code.
    pub(crate) add: i64,
    pub(crate) outside: Outside,
}

/// What happens to a value that does not belong to the type it is converted to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outside {
    /// A fault.
    Fault(FaultKind, Span),
    /// The code -1, which is no value's: for comparisons.
    Nothing,
}

/// How the codes of one type become codes of another. Undefined stays undefined.
#[derive(Clone, Debug)]
pub(crate) struct CodeMap {
    /// From, to (both included) and what to add.
    pub(crate) pieces: Vec<(u64, u64, i64)>,
    /// The code of null, if it is a fault of its own.
    pub(crate) null: Option<u64>,
    pub(crate) outside: Outside,
}

/// The cells of a composite value, for comparisons.
pub(crate) struct CellsShape {
    pub(crate) length: u32,
    pub(crate) bags: Vec<Bag>,
}

/// How a value in a register is shown outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A raw integer.
    Raw,
    /// A code of a type.
    Code(TypeId),
}

impl Shown {
    /// The value.
    pub(crate) fn value(self, model: &Model, content: i64) -> shoal_model::Value {
        match self {
            Shown::Raw => shoal_model::Value::Int(content),
            Shown::Code(ty) => crate::layout::decode_scalar(model, ty, content),
        }
    }
}

/// A parameter of a rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Param {
    pub(crate) reg: Reg,
    pub(crate) shown: Shown,
    /// The first value, where the domain is fixed and not empty.
    pub(crate) first: Option<i64>,
}

/// Where the parts of a machine's memory begin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Areas {
    /// How many cells a state has. The state in work stands at the very beginning.
    pub(crate) cells: usize,
    /// How many words its packed form has.
    pub(crate) width: usize,
    /// The packed form of the state in work.
    pub(crate) words: usize,
    /// The state that is expanded, and its packed form.
    pub(crate) base: usize,
    pub(crate) base_words: usize,
    /// Addresses of cells of the state that a body has written to, and for how many there is room.
    pub(crate) journal: usize,
    pub(crate) room: usize,
    /// Successors that wait for a visitor: how many cells of them there are, for how many there is room, and then the
    /// successors, each the number of its rule and its packed form.
    pub(crate) waiting: usize,
    /// How many more instructions may run before the watch is looked at.
    pub(crate) fuel: usize,
    /// A bit for each [piece](Areas::piece) of the state that a body may have written to, where that is known; all otherwise.
    pub(crate) dirty: usize,
    /// The frames.
    pub(crate) frames: usize,
}

impl Areas {
    /// For how many addresses there is room in the journal at least and at most: a body that shifts a queue writes many
    /// cells of a large state. Few in debug builds, so that tests see it full.
    const JOURNAL: (usize, usize) = if cfg!(debug_assertions) { (16, 16) } else { (32, 1024) };

    /// Packed states of as many words are kept in the processor's registers while a body runs.
    pub(crate) const FEW_WORDS: usize = 4;
    /// So many successors may wait; few in debug builds, so that tests see it full.
    const WAITING: usize = if cfg!(debug_assertions) { 7 } else { 256 };

    /// Cells of a successor that waits.
    pub(crate) fn record(&self) -> usize {
        1 + self.width
    }

    /// The most cells of successors that may wait.
    pub(crate) fn most_waiting(&self) -> usize {
        if self.width > Areas::FEW_WORDS { 0 } else { Areas::WAITING * self.record() }
    }

    /// The areas for states of so many cells that pack to so many words.
    pub(crate) fn new(cells: usize, width: usize) -> Areas {
        let (words, base) = (cells, cells + width);
        let (base_words, journal) = (base + cells, base + cells + width);
        let room = cells.clamp(Areas::JOURNAL.0, Areas::JOURNAL.1);
        let waiting = journal + room;
        let areas = Areas {
            cells,
            width,
            words,
            base,
            base_words,
            journal,
            room,
            waiting,
            fuel: 0,
            dirty: 0,
            frames: 0,
        };
        let fuel = waiting + 2 + areas.most_waiting();
        Areas { fuel, dirty: fuel + 1, frames: fuel + 2, ..areas }
    }

    /// The cells of a state are taken in pieces of so many, as a power of two: there are at most 64 pieces.
    pub(crate) fn piece(&self) -> u32 {
        piece_of(self.cells)
    }
}

/// The code of a rule or a start.
#[derive(Clone, Debug)]
pub struct RuleCode {
    /// Runs through the instances that may fire.
    pub(crate) instances: Pc,
    /// Where an instance may fire, if there are any.
    pub(crate) fire: Option<Pc>,
    /// Fires the instance whose parameters stand in the registers.
    pub(crate) body: Pc,
    pub(crate) params: Vec<Param>,
    pub(crate) priority: i64,
    /// Where to go on after a fault in `instances`; innermost last.
    pub(crate) handlers: Vec<Handler>,
}

/// Where to go on after a fault between two instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handler {
    pub(crate) from: Pc,
    pub(crate) to: Pc,
    pub(crate) resume: Pc,
    /// How many parameters have a value there.
    pub(crate) depth: usize,
}

impl RuleCode {
    /// Where to go on after a fault at an instruction, and how many parameters have a value there.
    pub(crate) fn handler(&self, pc: Pc) -> Option<Handler> {
        self.handlers.iter().rev().find(|handler| handler.from <= pc && pc < handler.to).copied()
    }
}

/// A family of agents, by the cells of a state.
#[derive(Clone, Debug)]
pub(crate) struct AgentsCode {
    /// The cell with the control location of the first agent, and how far it is to the next agent's.
    pub(crate) control: u32,
    pub(crate) stride: u32,
    /// What the register of the first parameter holds for the first agent, if rules have it.
    pub(crate) first: i64,
    pub(crate) count: u32,
    /// By the content of the cell.
    pub(crate) locations: Vec<LocationCode>,
}

/// A control location.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocationCode {
    pub(crate) rules: Vec<usize>,
    /// Says whether an agent may go first; its first register is the agent.
    pub(crate) goes_first: Option<Pc>,
    pub(crate) cuts_loops: bool,
}

/// The parts of a model.
#[derive(Clone, Debug)]
pub(crate) struct PartsCode {
    pub(crate) parts: Parts,
    /// What the registers of the parameters that are given hold, by part.
    pub(crate) contents: Vec<Vec<i64>>,
    /// The conjuncts of guards as conditions, by rule; none if not all parameters are given.
    pub(crate) guards: Vec<Vec<Pc>>,
}

impl PartsCode {
    /// The rule that a part belongs to.
    pub(crate) fn rule(&self, part: usize) -> usize {
        self.parts.all[part].rule.index()
    }
}

/// The code of a function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FunctionCode {
    pub(crate) entry: Pc,
    pub(crate) frame: u32,
}

/// All the code of a model.
#[derive(Default)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    pub(crate) spans: Vec<Span>,
    pub(crate) ranges: Vec<IntRange>,
    pub(crate) maps: Vec<CodeMap>,
    pub(crate) bags: Vec<Bag>,
    pub(crate) shapes: Vec<CellsShape>,
    pub(crate) templates: Vec<Vec<i64>>,
    /// The tables of the model.
    pub(crate) tables: Vec<Vec<i64>>,
    pub(crate) faults: Vec<(FaultKind, Span)>,
    pub(crate) limits: Vec<(u64, Span)>,
    pub(crate) choices: Vec<Shown>,
    /// Where elements of growing sorts are created.
    pub(crate) creations: Vec<(Span, SortId)>,
    /// One more than the number of a growing sort that had no room for another element when code ran.
    pub(crate) full: AtomicUsize,
    /// What ends a run that takes long, and why one was ended.
    pub(crate) watch: Watch,
    pub(crate) stopped: OnceLock<StopReason>,
    /// The addresses of multisets and the positions in them that parameters have taken.
    pub(crate) taken: Vec<Vec<(Reg, Reg)>>,
    pub(crate) functions: Vec<FunctionCode>,
    /// The code of the rules.
    pub rules: Vec<RuleCode>,
    /// The code of the starts.
    pub starts: Vec<RuleCode>,
    /// The condition of each property that has one.
    pub(crate) conditions: Vec<Option<Pc>>,
    /// The agents, and the rules that belong to none.
    pub(crate) agents: Vec<AgentsCode>,
    pub(crate) others: Vec<usize>,
    /// The parts by which rules are gone through, if they are.
    pub(crate) parts: Option<PartsCode>,
    /// Where everything is in memory.
    pub(crate) areas: Areas,
    /// The most registers that code outside functions needs.
    pub(crate) frame: u32,
    /// The same code as the machine's own, if it is to be used.
    pub(crate) native: Option<Native>,
}

impl Program {
    /// Translates the code to the machine's own, as far as that is possible. If most successors will be taken
    /// [packed](crate::Visitor::packed), the code may be such that it makes no others without trouble.
    pub fn translate(&mut self, layout: &Layout, packed: bool) {
        self.native = jit::translate(self, layout, packed);
    }

    /// Whether it is translated, at once or as it runs.
    pub fn is_native(&self) -> bool {
        self.native.is_some()
    }

    /// Whether all rules, and all conditions, work on packed states alone.
    pub fn works_on_packed(&self) -> (bool, bool) {
        self.native.as_ref().map_or((false, false), |native| (native.held().rules, native.held().conditions))
    }

    /// A growing sort that had no room for another element when this code ran.
    pub fn full(&self) -> Option<SortId> {
        self.full.load(Ordering::Relaxed).checked_sub(1).map(SortId::from_index)
    }

    /// The same program, whose runs end when the watch says so, also in the middle of a step or of a condition.
    #[must_use]
    pub fn under(mut self, watch: &Watch) -> Program {
        self.watch = watch.clone();
        self
    }

    /// Why a run of this code was ended before its time. The state in which it was has not been expanded, or judged.
    pub fn stopped(&self) -> Option<&StopReason> {
        self.stopped.get()
    }

    /// Whether the watch lets runs go on.
    pub(crate) fn goes_on(&self) -> bool {
        match self.watch.check() {
            Ok(()) => true,
            Err(reason) => {
                self.stopped.get_or_init(|| reason);
                false
            }
        }
    }

    /// Takes notice of a fault.
    pub(crate) fn heed(&self, fault: &Fault) {
        if fault.kind == FaultKind::SortLimit
            && let Some((_, sort)) = self.creations.iter().find(|(at, _)| *at == fault.span)
        {
            self.full.store(sort.index() + 1, Ordering::Relaxed);
        }
    }

    /// Whether rules are gone through by parts.
    pub fn has_parts(&self) -> bool {
        self.parts.is_some()
    }

    /// Whether some agent may go first somewhere.
    pub fn has_order(&self) -> bool {
        self.agents.iter().flat_map(|agents| &agents.locations).any(|location| location.goes_first.is_some())
    }

    /// No agent may go first any more where `keep` says no of a family and a location of it.
    pub fn keep_order(&mut self, keep: impl Fn(usize, usize) -> bool) {
        for (family, agents) in self.agents.iter_mut().enumerate() {
            for (location, code) in agents.locations.iter_mut().skip(1).enumerate() {
                if !keep(family, location) {
                    code.goes_first = None;
                }
            }
        }
    }

    /// The code of a property's condition.
    pub fn condition(&self, property: PropertyId) -> Option<Pc> {
        self.conditions[property.index()]
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_instruction_is_small() {
        assert!(size_of::<super::Op>() <= 16);
    }
}
