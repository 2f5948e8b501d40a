//! The machine's own code for a model, made with Cranelift when the search begins.
//!
//! Each rule (with its loop through the instances, and its body inside) and each condition becomes one function; the
//! functions they call are inlined. Code that needs no cells is made at once; of the rest a unit is translated when it has run
//! for a while, and of it only what has run ([`tiers`]): instruction by instruction at first (`direct`), by Cranelift when a run is long. The [`crate::exec::Machine`] behaves exactly as when it interprets: native code works
//! on the same memory and can be left for the interpreter at any instruction. When a body has run to its end, a
//! [`Sink`] is told, and the state is as before.

// The only module that calls code which the compiler has not seen.
#![allow(unsafe_code)]

mod arithmetic;
mod bags;
#[cfg(all(target_arch = "x86_64", unix))]
mod direct;
mod emit;
mod expand;
mod fire;
mod flow;
mod held;
mod operands;
mod places;
mod run;
mod tiers;
mod unpack;
mod unroll;

use std::{
    mem::ManuallyDrop,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicPtr},
    },
};

use cranelift_codegen::{
    ir::{AbiParam, types::I64},
    settings::{self, Configurable},
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};

use crate::{
    code::{Areas, Op, Pc, Program},
    exec::{CodeEnd, Machine, Return, Sink},
    layout::Layout,
};
use emit::{Emitter, NativeContext, TRAPPED, parameters};
use expand::{EXIT_MASK, NOT_YET, THROUGH};
use flow::Flow;
use places::Places;
pub(crate) use run::Runner;
use run::{Judgement, NativeJudge, RunFunction};
use tiers::{ExitNumber, Made, RanInstructions, Tiers, Unit, UnitKind, UnitRoot, Units};
pub(crate) use tiers::{Heat, LONG_RUN, MANY_STATES, NOTED};
use unpack::Unpack;
use unroll::Loops;

/// More instructions than this are not translated before a search begins, for code that works on packed states alone.
const MOST_INSTRUCTIONS: usize = 50_000;

/// Registers that a machine has room for at least. A unit that needs more is not called by the code that runs through all rules.
const REGISTERS: u32 = 1 << 12;

/// Where interpretation goes on.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) pc: Pc,
    pub(crate) frame: usize,
    pub(crate) stack: Vec<Return>,
    /// Whether the cells must be made first, from the packed form.
    pub(crate) held: bool,
    /// Whether a body is to be run again from its beginning, whatever it has done so far.
    pub(crate) again: bool,
}

/// How native code ends.
#[derive(Clone, Debug)]
pub(crate) enum Exit<P = Point> {
    /// As the interpreter would, at an instruction.
    Done(CodeEnd, Pc),
    /// The interpreter must take over.
    Interpret(P),
    /// An instruction that the interpreter was asked to run trapped; the machine knows why.
    Trapped,
}

/// Where native code begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    function: NativeFunction,
    number: u32,
    held: bool,
    frame: u32,
    /// Where the instances of a rule end.
    end: Pc,
}

impl Entry {
    /// Whether the state is read from its packed form.
    pub(crate) fn held(self) -> bool {
        self.held
    }

    /// How many registers it needs.
    pub(crate) fn frame(self) -> u32 {
        self.frame
    }
}

/// Memory, machine, number of the entry, sink; gives the number of an exit.
pub(crate) type NativeFunction =
    unsafe extern "C" fn(*mut i64, *mut Machine<'_>, u64, *mut &mut dyn Sink) -> i64;

/// Native code.
pub(crate) struct Native {
    /// By instruction: one more than the root's number, or 0.
    numbers: Vec<u32>,
    roots: Vec<UnitRoot>,
    /// The rules, then conditions.
    units: Vec<Tiers>,
    /// By rule: the function that fires its instances, or one that says that there is none yet. Code has its address.
    table: Box<[AtomicPtr<u8>]>,
    frame: u32,
    /// Whether all rules, and all conditions, do without cells.
    held: Held,
    /// Whether units are translated when they have run for a while, and not at once.
    tiered: bool,
    /// How many words a packed state has.
    width: usize,
    /// Runs through all rules.
    expander: Option<NativeFunction>,
    /// Expands states one after the other.
    runner: Option<Runner>,
    /// Says which conditions hold.
    judge: OnceLock<Option<NativeJudge>>,
    /// Takes packed states apart, if they are not too large: the one that is expanded, and the one in work.
    unpack: OnceLock<[Unpack; 2]>,
    /// Makes more of it, and keeps the code in memory.
    workshop: Mutex<UnitTranslators>,
    /// Whether what is translated from now on is for a long run.
    settled: AtomicBool,
}

impl Native {
    /// The unit that an instruction is a root of, if it is one, and whether instances of a rule fire there.
    #[inline]
    pub(crate) fn root(&self, pc: Pc) -> Option<UnitRoot> {
        let number = self.numbers[pc as usize];
        (number > 0).then(|| self.roots[number as usize - 1])
    }

    /// Where to call for code that begins at a root, if it is translated.
    #[inline]
    pub(crate) fn entry(&self, root: UnitRoot) -> Option<Entry> {
        let tiers = &self.units[root.unit as usize];
        let unit = tiers.latest()?;
        let Unit { function, held, frame, .. } = *unit;
        Some(Entry { function, number: root.number, held, frame, end: tiers.end })
    }

    /// How many registers a machine must have room for.
    pub(crate) fn frame(&self) -> u32 {
        self.frame
    }

    /// Whether it is to be noted what is interpreted, as more may be translated: how many units there are.
    pub(crate) fn tiers(&self) -> Option<usize> {
        self.tiered.then_some(self.units.len())
    }

    /// Runs code. The machine is one for this program.
    pub(crate) fn call(
        &self,
        entry: Entry,
        machine: &mut Machine<'_>,
        mut sink: &mut dyn Sink,
    ) -> Exit<&Point> {
        let memory = machine.memory();
        // SAFETY: the function was made for this program and has the signature of `NativeFunction`. It reads and writes
        // cells of the state, for which the compiler has checked or emitted checks of every index, and cells of
        // frames, for which `Machine::new` has made room (`Native::frame`). `step` tells it when the memory moves. The
        // sink is only passed on to `fired`.
        let number = unsafe { (entry.function)(memory, machine, u64::from(entry.number), &raw mut sink) };
        if number == THROUGH {
            return Exit::Done(CodeEnd::End, entry.end);
        }
        self.exit(number)
    }

    fn exit(&self, number: i64) -> Exit<&Point> {
        if number >= TRAPPED {
            return Exit::Trapped;
        }
        match self.exits(number) {
            Some(Exit::Done(event, at)) => Exit::Done(*event, *at),
            Some(Exit::Interpret(point)) => Exit::Interpret(point),
            Some(Exit::Trapped) | None => Exit::Trapped,
        }
    }

    /// The exit with a number.
    fn exits(&self, number: i64) -> Option<&Exit> {
        let ExitNumber { unit, generation, exit } = ExitNumber::of(number);
        self.units.get(unit)?.generation(generation)?.exits.get(exit)
    }

    /// Whether there is code that makes the cells of packed states.
    pub(crate) fn unpacks(&self) -> bool {
        self.unpack.get().is_some()
    }

    /// Makes the cells of the packed state that a machine of this program is to expand. False if there is no code for it.
    pub(crate) fn unpack(&self, machine: &mut Machine<'_>) -> bool {
        let Some([unpack, _]) = self.unpack.get() else { return false };
        // SAFETY: the function reads the words at `Areas::base_words` and writes the cells at 0 and at `Areas::base`,
        // all of which `Machine::new` has made room for.
        unsafe { unpack(machine.memory()) };
        true
    }

    /// Makes the cells of the state in work from its packed form.
    pub(crate) fn unpack_work(&self, machine: &mut Machine<'_>) {
        if let Some([_, unpack]) = self.unpack.get() {
            // SAFETY: as above, but for the words at `Areas::words` and the cells at 0.
            unsafe { unpack(machine.memory()) };
        }
    }

    /// What does without cells.
    pub(crate) fn held(&self) -> Held {
        self.held
    }

    /// The code that runs through all rules.
    pub(crate) fn expander(&self) -> Option<NativeFunction> {
        self.expander
    }

    /// The code that expands states one after the other.
    pub(crate) fn runner(&self) -> Option<Runner> {
        self.runner
    }

    /// Whether all these conditions hold in the packed state that a machine has, and nothing faults there. Nothing if there
    /// is no code that says so of all of them at once.
    #[inline]
    pub(crate) fn all_hold(&self, state: &[u64], conditions: &[Pc]) -> Option<bool> {
        let judge = self.judge.get()?.as_ref().filter(|_| state.len() == self.width)?;
        let bits = judge.bits(conditions)?;
        // SAFETY: the function was made for states of this width, and only reads one.
        Some(unsafe { (judge.function)(state.as_ptr()) } & bits == bits)
    }

    /// Expands packed states one after the other, while there are no more than so many words of successors, and up to the
    /// first where something faults. Gives how many it has done; it needs room for the successors of one more.
    pub(crate) fn run(
        &self,
        runner: Runner,
        states: &[u64],
        found: &mut [u64],
        enough: usize,
        ends: &mut [u64],
    ) -> usize {
        if found.len() < enough + runner.most || states.len() < ends.len() * self.width {
            return 0;
        }
        // (Where every step fails no state has successors, and the limit may be the very end.)
        let (count, limit) = (ends.len() as u64, found[enough..].as_ptr());
        // SAFETY: the function was made for states of this width. It reads `count` of them, writes as many ends, and
        // writes successors only while it is not beyond the limit before a state, of which there are at most as
        // many words as there is room for behind it.
        let done = unsafe {
            (runner.function)(states.as_ptr(), count, found.as_mut_ptr(), limit, ends.as_mut_ptr())
        };
        done as usize
    }

    /// Runs through all rules from one on in their order. The rule where it ended, and how, unless it was through; nothing
    /// if the rule is not translated yet.
    pub(crate) fn expand(
        &self,
        expander: NativeFunction,
        from: usize,
        machine: &mut Machine<'_>,
        mut sink: &mut dyn Sink,
    ) -> Option<(usize, Option<Exit<&Point>>)> {
        let memory = machine.memory();
        // SAFETY: as in `call`; the functions that it calls in turn get what it was given.
        let number = unsafe { expander(memory, machine, from as u64, &raw mut sink) };
        if number == THROUGH {
            return None;
        }
        let (rule, number) = ((number >> expand::RULE_SHIFT) as usize, number & EXIT_MASK);
        Some((rule, (number != NOT_YET).then(|| self.exit(number))))
    }

    /// The point with a number.
    pub(crate) fn point(&self, number: u64) -> Option<&Point> {
        match self.exits(number as i64) {
            Some(Exit::Interpret(point)) => Some(point),
            _ => None,
        }
    }
}

impl Drop for Translator {
    fn drop(&mut self) {
        // SAFETY: whoever runs the code holds the program that this belongs to; the module is not used after this.
        unsafe { ManuallyDrop::take(&mut self.module).free_memory() };
    }
}

/// Interprets an instruction for native code; gives the memory, which may have moved, or null if it trapped.
unsafe extern "C" fn step(machine: *mut Machine<'_>, point: u64) -> *mut i64 {
    // SAFETY: native code passes on the pointer that `Native::call` has made of an exclusive reference, and uses
    // nothing of the machine itself while this function runs.
    let machine = unsafe { &mut *machine };
    if machine.step(point) { machine.memory() } else { std::ptr::null_mut() }
}

/// Tells the sink that a body has run to its end.
unsafe extern "C" fn fired(sink: *mut &mut dyn Sink, machine: *mut Machine<'_>, step: u64) -> u64 {
    // SAFETY: native code passes on the pointers that `Native::call` has made of exclusive references, and uses nothing
    // of the machine itself while this function runs. The memory does not move: only calls that are interpreted make
    // it larger, and a sink runs no code.
    let (sink, machine) = unsafe { (&mut *sink, &mut *machine) };
    sink.fired((step >> 1) as usize, machine, step & 1 != 0) as u64
}

/// What works on packed states, and needs no cells.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) rules: bool,
    pub(crate) conditions: bool,
}

/// Translates a program. If it is asked for, and possible, rules do without cells, and everything is translated at once; other
/// code is translated piece by piece, when it has run for a while. Nothing if this machine is not supported.
pub(crate) fn translate(program: &Program, layout: &Layout, held: bool) -> Option<Native> {
    // Offsets from the memory's beginning must fit in 31 bits.
    if program.areas.frames > 1 << 24 {
        return None;
    }
    let held = held && program.agents.is_empty() && !program.has_parts();
    if held
        && let Some(native) = Translator::new(program, layout, Effort::Full)?.held(program, layout).ok()?
    {
        return Some(native);
    }
    Translator::new(program, layout, Effort::Little)?.in_tiers(program, layout).ok()
}

/// Whether there is a translation that costs next to nothing.
const DIRECT: bool = cfg!(all(target_arch = "x86_64", unix));

/// How much translation may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// Next to nothing where there is `direct`, otherwise two thirds of [`Effort::Full`]. The code is somewhat slower.
    Little,
    Full,
}

/// What translates units at first, and once a run is known to be long.
struct UnitTranslators {
    first: Translator,
    better: Option<Translator>,
}

struct Translator {
    effort: Effort,
    module: ManuallyDrop<JITModule>,
    context: cranelift_codegen::Context,
    builder: FunctionBuilderContext,
    step: FuncId,
    fired: FuncId,
    places: Places,
    /// Which cells are never undefined.
    defined: Vec<bool>,
    has_bags: bool,
    has_covers: bool,
    /// Whether the next units do without cells.
    held: bool,
    instructions: usize,
    /// Units whose code is still to be finished.
    pending: Vec<Pending>,
    /// By unit: the instructions that have run.
    seen: Vec<RanInstructions>,
}

/// A unit that is translated, and which generation of it.
struct Pending {
    unit: usize,
    generation: usize,
    function: FuncId,
    exits: Vec<Exit>,
    frame: u32,
    held: bool,
    stays: bool,
    instructions: usize,
}

impl Translator {
    fn new(program: &Program, layout: &Layout, effort: Effort) -> Option<Self> {
        let mut flags = settings::builder();
        let optimise = match effort {
            Effort::Little => "none",
            Effort::Full => "speed",
        };
        flags.set("opt_level", optimise).ok()?;
        flags.set("is_pic", "false").ok()?;
        flags.set("use_colocated_libcalls", "false").ok()?;
        flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        builder.symbol("step", step as *const u8);
        builder.symbol("fired", fired as *const u8);
        let mut module = JITModule::new(builder);
        let mut signature = module.make_signature();
        signature.params = vec![AbiParam::new(I64); 2];
        signature.returns = vec![AbiParam::new(I64)];
        let step = module.declare_function("step", Linkage::Import, &signature).ok()?;
        signature.params.push(AbiParam::new(I64));
        let fired = module.declare_function("fired", Linkage::Import, &signature).ok()?;
        // Pointers are 64 bits wide in all the code.
        if module.target_config().pointer_type() != I64 {
            return None;
        }
        Some(Translator {
            effort,
            context: module.make_context(),
            module: ManuallyDrop::new(module),
            builder: FunctionBuilderContext::new(),
            step,
            fired,
            places: Places::new(layout),
            defined: layout.defined().collect(),
            has_bags: !layout.bags().is_empty(),
            has_covers: program.ops.iter().any(|op| matches!(op, Op::Cover { .. })),
            held: false,
            instructions: 0,
            pending: Vec::new(),
            seen: Vec::new(),
        })
    }

    /// Whether all units can do without cells, and there are not so many that it takes long to see.
    fn fits<'p>(&self, program: &'p Program, mut flows: impl Iterator<Item = Flow<'p>>) -> bool {
        let (has_bags, has_covers) = (self.has_bags, self.has_covers);
        program.ops.len() < MOST_INSTRUCTIONS / 4
            && program.areas.width <= Areas::FEW_WORDS
            && program.areas.cells <= unpack::MOST_CELLS
            && flows.all(|flow| held::fits(program, &flow, has_bags, has_covers))
    }

    /// Everything at once, with rules that do without cells; nothing if that cannot be.
    fn held(mut self, program: &Program, layout: &Layout) -> Result<Option<Native>, Box<ModuleError>> {
        let none = &Loops::none();
        let rules = program.rules.iter().map(|rule| Flow::rule(program, rule, none));
        if !self.fits(program, rules) {
            return Ok(None);
        }
        let loops = &Loops::new(program);
        self.held = true;
        let mut units = Units::new(program);
        let runner = self.runner(program, layout, &Loops::all(program))?;
        // With that, the rules one by one are for states where something faults, and need not be fast.
        let unrolled = if runner.is_none() { loops } else { none };
        for (number, rule) in program.rules.iter().enumerate() {
            self.unit(program, number, 0, &Flow::rule(program, rule, unrolled))?;
        }
        let conditions = program.conditions.iter().flatten();
        let flows = conditions.clone().map(|entry| Flow::condition(program, *entry, none));
        self.held = self.fits(program, flows);
        let held = Held { rules: true, conditions: self.held };
        let judge = if self.held { Some(self.judge(program, layout, &Loops::all(program))?) } else { None };
        let known = |entry: &Pc| judge.as_ref().is_some_and(|judge| judge.bits(&[*entry]).is_some());
        let unrolled = if self.held && !conditions.clone().all(known) { loops } else { none };
        for (number, unit) in units.all.iter().enumerate() {
            if let UnitKind::Condition(entry) = unit.what {
                self.unit(program, number, 0, &Flow::condition(program, entry, unrolled))?;
            }
        }
        if self.instructions > MOST_INSTRUCTIONS {
            return Ok(None);
        }
        let expander = self.expander(program, &units.table)?;
        let unpack = self.unpack_both(program)?;
        self.module.finalize_definitions()?;
        let runner = runner.map(|Runner { function, most }| {
            let code = self.module.get_finalized_function(function);
            // SAFETY: the function was declared with the signature of `RunFunction`.
            Runner { function: unsafe { std::mem::transmute::<*const u8, RunFunction>(code) }, most }
        });
        let judge = judge.map(|judge| self.finished_judge(judge));
        let unpack = unpack.map(|ids| self.finished_unpack(ids));
        let expander = expander.map(|id| function(self.module.get_finalized_function(id)));
        let frame = self.pending.iter().map(|unit| unit.frame).max().unwrap_or(0);
        self.install(&mut units);
        Ok(Some(Native {
            numbers: units.numbers,
            roots: units.roots,
            units: units.all,
            table: units.table,
            frame,
            held,
            tiered: false,
            width: layout.words(),
            expander,
            runner,
            judge: OnceLock::from(judge),
            unpack: unpack.map_or_else(OnceLock::new, OnceLock::from),
            workshop: Mutex::new(UnitTranslators { first: self, better: None }),
            settled: AtomicBool::new(false),
        }))
    }

    /// Nothing yet but what runs through the rules.
    fn in_tiers(mut self, program: &Program, layout: &Layout) -> Result<Native, Box<ModuleError>> {
        let units = Units::new(program);
        let given = !program.agents.is_empty() || program.has_parts();
        let expander = if given { None } else { self.expander(program, &units.table)? };
        self.module.finalize_definitions()?;
        self.seen = vec![RanInstructions::default(); units.all.len()];
        let expander = expander.map(|id| function(self.module.get_finalized_function(id)));
        Ok(Native {
            numbers: units.numbers,
            roots: units.roots,
            units: units.all,
            table: units.table,
            frame: REGISTERS,
            held: Held::default(),
            tiered: true,
            width: layout.words(),
            expander,
            runner: None,
            judge: OnceLock::new(),
            unpack: OnceLock::new(),
            workshop: Mutex::new(UnitTranslators { first: self, better: None }),
            settled: AtomicBool::new(false),
        })
    }

    fn finished_judge(&self, judge: NativeJudge<FuncId>) -> NativeJudge {
        let code = self.module.get_finalized_function(judge.function);
        // SAFETY: the function was declared with the signature of `Judgement`.
        judge.with(unsafe { std::mem::transmute::<*const u8, Judgement>(code) })
    }

    fn finished_unpack(&self, ids: [FuncId; 2]) -> [Unpack; 2] {
        // SAFETY: the functions were declared with the signature of `Unpack`.
        let function = |code| unsafe { std::mem::transmute::<*const u8, Unpack>(code) };
        ids.map(|id| function(self.module.get_finalized_function(id)))
    }

    fn unpack_both(&mut self, program: &Program) -> Result<Option<[FuncId; 2]>, Box<ModuleError>> {
        let Areas { base, words, base_words, .. } = program.areas;
        Ok(match program.areas.cells <= unpack::MOST_CELLS {
            true => Some([self.unpack(base_words, Some(base))?, self.unpack(words, None)?]),
            false => None,
        })
    }

    /// Translates a unit.
    fn unit(
        &mut self,
        program: &Program,
        unit: usize,
        generation: usize,
        flow: &Flow<'_>,
    ) -> Result<(), Box<ModuleError>> {
        #[cfg(all(target_arch = "x86_64", unix))]
        if self.effort == Effort::Little {
            return self.unit_directly(program, unit, generation, flow);
        }
        self.instructions += flow.nodes.len();
        if let Some(loops) = flow.loops {
            loops.spend(flow.nodes.len());
        }
        let mut signature = self.module.make_signature();
        signature.params = parameters().to_vec();
        signature.returns = vec![AbiParam::new(I64)];
        let id = self.module.declare_anonymous_function(&signature)?;
        self.context.func.signature = signature;
        let step = self.module.declare_func_in_func(self.step, &mut self.context.func);
        let fired = self.module.declare_func_in_func(self.fired, &mut self.context.func);
        let builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let (has_bags, has_covers) = (self.has_bags, self.has_covers);
        let (places, defined, held) = (&self.places, &self.defined, self.held);
        let target = self.module.target_config();
        let first_exit = ExitNumber { unit, generation, exit: 0 }.number();
        let outside = NativeContext {
            step,
            fired,
            number: unit,
            places,
            defined,
            held,
            has_bags,
            has_covers,
            target,
            first_exit,
        };
        let mut exits = Vec::new();
        let builder = Emitter::new(program, flow, builder, outside, &mut exits).run();
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut self.context)?;
        self.module.clear_context(&mut self.context);
        let (stays, frame, instructions) = (flow.stays(), flow.frame, flow.nodes.len());
        self.pending.push(Pending {
            unit,
            generation,
            function: id,
            exits,
            frame,
            held,
            stays,
            instructions,
        });
        Ok(())
    }

    /// Translates a unit without Cranelift.
    #[cfg(all(target_arch = "x86_64", unix))]
    fn unit_directly(
        &mut self,
        program: &Program,
        unit: usize,
        generation: usize,
        flow: &Flow<'_>,
    ) -> Result<(), Box<ModuleError>> {
        let outside = direct::DirectContext {
            number: unit,
            places: &self.places,
            defined: &self.defined,
            has_bags: self.has_bags,
            has_covers: self.has_covers,
            first_exit: ExitNumber { unit, generation, exit: 0 }.number(),
        };
        let (code, exits) = direct::translate(program, flow, outside)
            .ok_or(ModuleError::Compilation(cranelift_codegen::CodegenError::CodeTooLarge))?;
        let mut signature = self.module.make_signature();
        signature.params = parameters().to_vec();
        signature.returns = vec![AbiParam::new(I64)];
        let id = self.module.declare_anonymous_function(&signature)?;
        self.module.define_function_bytes(id, 16, &code, &[])?;
        let (stays, frame, instructions) = (flow.stays(), flow.frame, flow.nodes.len());
        self.pending.push(Pending {
            unit,
            generation,
            function: id,
            exits,
            frame,
            held: false,
            stays,
            instructions,
        });
        Ok(())
    }

    /// Puts the code of units that is finished where it is found.
    fn install(&mut self, units: &mut Units) {
        for pending in std::mem::take(&mut self.pending) {
            let (number, made) = self.made(pending);
            units.all[number].add(made, units.table.get(number));
        }
    }

    fn made(&self, pending: Pending) -> (usize, Made) {
        let Pending { unit, generation, function: id, exits, frame, held, stays, instructions } = pending;
        let function = function(self.module.get_finalized_function(id));
        (unit, Made { generation, unit: Unit { function, exits, frame, held, instructions }, stays })
    }
}

fn function(code: *const u8) -> NativeFunction {
    // SAFETY: only functions that were declared with the signature of `NativeFunction` are asked for.
    unsafe { std::mem::transmute::<*const u8, NativeFunction>(code) }
}
