//! The machine's own code for a model, made with Cranelift when the search begins.
//!
//! Each rule (with its loop through the instances, and its body inside) and each condition becomes one function; the
//! functions they call are inlined. The [`crate::exec::Machine`] behaves exactly as when it interprets: native code works
//! on the same memory and can be left for the interpreter at any instruction. When a body has run to its end, a
//! [`Sink`] is told, and the state is as before.

// The only module that calls code which the compiler has not seen.
#![allow(unsafe_code)]

mod bags;
mod emit;
mod expand;
mod fire;
mod flow;
mod held;
mod operands;
mod places;
mod run;
mod unpack;
mod unroll;

use std::{mem::ManuallyDrop, sync::Mutex};

use cranelift_codegen::{
    ir::{AbiParam, types::I64},
    settings::{self, Configurable},
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};

use crate::{
    code::{Areas, Op, Pc, Program},
    exec::{Event, Machine, Return, Sink},
    layout::Layout,
};
use emit::{Emitter, Outside, TRAPPED, parameters};
use expand::{EXIT_MASK, THROUGH};
use flow::Flow;
use places::Places;
pub(crate) use run::Runner;
use run::{Judge, Judgement, Run};
use unpack::Unpack;
use unroll::Loops;

/// More instructions than this, in all, are not translated: the rest is interpreted. Some 50,000 are translated in a
/// second, and nobody should wait longer for a search to begin; only large generated models have more.
const MOST_INSTRUCTIONS: usize = 50_000;

/// Where interpretation goes on.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) pc: Pc,
    pub(crate) frame: usize,
    pub(crate) stack: Vec<Return>,
    /// Whether the cells must be made first, from the packed form.
    pub(crate) held: bool,
}

/// How native code ends.
#[derive(Clone, Debug)]
pub(crate) enum Exit<P = Point> {
    /// As the interpreter would, at an instruction.
    Done(Event, Pc),
    /// The interpreter must take over.
    Interpret(P),
    /// An instruction that the interpreter was asked to run trapped; the machine knows why.
    Trapped,
}

/// Where native code begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    function: Function,
    number: u32,
    fires: bool,
    held: bool,
}

impl Entry {
    /// Whether instances of a rule fire there.
    pub(crate) fn fires(self) -> bool {
        self.fires
    }

    /// Whether the state is read from its packed form.
    pub(crate) fn held(self) -> bool {
        self.held
    }
}

/// Memory, machine, number of the entry, sink; gives the number of an exit.
pub(crate) type Function = unsafe extern "C" fn(*mut i64, *mut Machine<'_>, u64, *mut &mut dyn Sink) -> i64;

/// Native code.
pub(crate) struct Native {
    /// By instruction: one more than the entry's number, or 0.
    numbers: Vec<u32>,
    entries: Vec<Entry>,
    exits: Vec<Exit>,
    frame: u32,
    /// Tables of which the code has the addresses.
    _places: Places,
    /// Whether all rules, and all conditions, do without cells.
    held: Held,
    /// How many rules and conditions are interpreted.
    left_out: usize,
    /// How many words a packed state has.
    width: usize,
    /// Runs through all rules, if they are all translated.
    expander: Option<Function>,
    /// Expands states one after the other.
    runner: Option<Runner>,
    /// Says which conditions hold.
    judge: Option<Judge>,
    /// Takes packed states apart, if they are not too large: the one that is expanded, and the one in work.
    unpack: Option<[Unpack; 2]>,
    /// Keeps the code in memory. Nobody uses it while the code is, so the lock is only to share it.
    module: Mutex<ManuallyDrop<JITModule>>,
}

impl Native {
    /// Where to call for code that begins at an instruction.
    pub(crate) fn entry(&self, pc: Pc) -> Option<Entry> {
        let number = self.numbers[pc as usize];
        (number > 0).then(|| self.entries[number as usize - 1])
    }

    /// How many registers a machine must have room for.
    pub(crate) fn frame(&self) -> u32 {
        self.frame
    }

    /// How many rules and conditions are not translated.
    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Runs code. The machine is one for this program.
    pub(crate) fn call(
        &self,
        entry: Entry,
        machine: &mut Machine<'_>,
        mut sink: &mut dyn Sink,
    ) -> Exit<&Point> {
        let memory = machine.memory();
        // SAFETY: the function was made for this program and has the signature of `Function`. It reads and writes
        // cells of the state, for which the compiler has checked or emitted checks of every index, and cells of
        // frames, for which `Machine::new` has made room (`Native::frame`). `step` tells it when the memory moves. The
        // sink is only passed on to `fired`.
        let number = unsafe { (entry.function)(memory, machine, u64::from(entry.number), &raw mut sink) };
        self.exit(number)
    }

    fn exit(&self, number: i64) -> Exit<&Point> {
        if number >= TRAPPED {
            return Exit::Trapped;
        }
        match &self.exits[number as usize] {
            Exit::Done(event, at) => Exit::Done(*event, *at),
            Exit::Interpret(point) => Exit::Interpret(point),
            Exit::Trapped => Exit::Trapped,
        }
    }

    /// Whether there is code that makes the cells of packed states.
    pub(crate) fn unpacks(&self) -> bool {
        self.unpack.is_some()
    }

    /// Makes the cells of the packed state that a machine of this program is to expand. False if there is no code for it.
    pub(crate) fn unpack(&self, machine: &mut Machine<'_>) -> bool {
        let Some([unpack, _]) = self.unpack else { return false };
        // SAFETY: the function reads the words at `Areas::base_words` and writes the cells at 0 and at `Areas::base`,
        // all of which `Machine::new` has made room for.
        unsafe { unpack(machine.memory()) };
        true
    }

    /// Makes the cells of the state in work from its packed form.
    pub(crate) fn unpack_work(&self, machine: &mut Machine<'_>) {
        if let Some([_, unpack]) = self.unpack {
            // SAFETY: as above, but for the words at `Areas::words` and the cells at 0.
            unsafe { unpack(machine.memory()) };
        }
    }

    /// What does without cells.
    pub(crate) fn held(&self) -> Held {
        self.held
    }

    /// The code that runs through all rules.
    pub(crate) fn expander(&self) -> Option<Function> {
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
        let judge = self.judge.as_ref().filter(|_| state.len() == self.width)?;
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
        let (count, limit) = (ends.len() as u64, &raw const found[enough]);
        // SAFETY: the function was made for states of this width. It reads `count` of them, writes as many ends, and
        // writes successors only while it is not beyond the limit before a state, of which there are at most as
        // many words as there is room for behind it.
        let done = unsafe {
            (runner.function)(states.as_ptr(), count, found.as_mut_ptr(), limit, ends.as_mut_ptr())
        };
        done as usize
    }

    /// Runs through all rules from one on in their order. The rule where it ended, and how, unless it was through.
    pub(crate) fn expand(
        &self,
        expander: Function,
        from: usize,
        machine: &mut Machine<'_>,
        mut sink: &mut dyn Sink,
    ) -> Option<(usize, Exit<&Point>)> {
        let memory = machine.memory();
        // SAFETY: as in `call`; the functions that it calls in turn get what it was given.
        let number = unsafe { expander(memory, machine, from as u64, &raw mut sink) };
        (number != THROUGH).then(|| ((number >> expand::RULE_SHIFT) as usize, self.exit(number & EXIT_MASK)))
    }

    /// The point with a number.
    pub(crate) fn point(&self, number: u64) -> Option<&Point> {
        match self.exits.get(number as usize) {
            Some(Exit::Interpret(point)) => Some(point),
            _ => None,
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        let module = self.module.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: it is taken once, here, and nothing that has a pointer into the code outlives `self`: entries are
        // private to this module and the machine, which borrows the program that owns this.
        unsafe { ManuallyDrop::take(module).free_memory() };
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

/// Translates a program. If it is asked for, and possible, rules do without cells. Nothing if this machine is not
/// supported.
pub(crate) fn translate(program: &Program, layout: &Layout, held: bool) -> Option<Native> {
    // Offsets from the memory's beginning must fit in 31 bits.
    if program.areas.frames > 1 << 24 {
        return None;
    }
    Translator::new(program, layout)?.run(program, layout, held).ok()
}

struct Translator {
    module: JITModule,
    context: cranelift_codegen::Context,
    builder: FunctionBuilderContext,
    step: FuncId,
    fired: FuncId,
    places: Places,
    /// Which cells are never undefined.
    defined: Vec<bool>,
    has_bags: bool,
    has_covers: bool,
    exits: Vec<Exit>,
    /// The functions, where they are entered, whether they fire, and whether they do without cells.
    functions: Vec<(FuncId, Vec<Pc>, bool, bool)>,
    /// Whether the next units do.
    held: bool,
    instructions: usize,
    frame: u32,
    /// Whether the machine's memory stays where it is.
    stays: bool,
    left_out: usize,
}

impl Translator {
    fn new(program: &Program, layout: &Layout) -> Option<Self> {
        let mut flags = settings::builder();
        flags.set("opt_level", "speed").ok()?;
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
            context: module.make_context(),
            module,
            builder: FunctionBuilderContext::new(),
            step,
            fired,
            places: Places::new(layout),
            defined: layout.defined().collect(),
            has_bags: !layout.bags().is_empty(),
            has_covers: program.ops.iter().any(|op| matches!(op, Op::Cover { .. })),
            exits: Vec::new(),
            functions: Vec::new(),
            held: false,
            instructions: 0,
            frame: 0,
            stays: true,
            left_out: 0,
        })
    }

    /// Whether all units can do without cells, and there are not so many that it takes long to see.
    fn fits<'p>(&self, program: &'p Program, mut flows: impl Iterator<Item = Flow<'p>>) -> bool {
        let (has_bags, has_covers) = (self.has_bags, self.has_covers);
        program.ops.len() < MOST_INSTRUCTIONS / 4
            && program.areas.cells <= unpack::MOST_CELLS
            && flows.all(|flow| held::fits(program, &flow, has_bags, has_covers))
    }

    fn run(mut self, program: &Program, layout: &Layout, held: bool) -> Result<Native, Box<ModuleError>> {
        // Starts run once, and find everything undefined.
        let (none, loops) = (&Loops::none(), &Loops::new(program));
        let defined = std::mem::take(&mut self.defined);
        for (number, rule) in program.starts.iter().enumerate() {
            self.unit(program, number, &|| Flow::rule(program, rule, none))?;
        }
        self.defined = defined;
        let rules = program.rules.iter().map(|rule| Flow::rule(program, rule, none));
        self.held = held && program.agents.is_empty() && !program.has_parts() && self.fits(program, rules);
        let mut held = Held { rules: self.held, conditions: false };
        let runner = if self.held { self.runner(program, layout, &Loops::all(program))? } else { None };
        // With that, the rules one by one are for states where something faults, and need not be fast.
        let unrolled = if self.held && runner.is_none() { loops } else { none };
        for (number, rule) in program.rules.iter().enumerate() {
            self.unit(program, number, &|| Flow::rule(program, rule, unrolled))?;
        }
        let expander = self.expander(program)?;
        let locations = program.agents.iter().flat_map(|agents| &agents.locations);
        let of_agents = locations.filter_map(|location| location.goes_first.as_ref());
        let conditions = program.conditions.iter().flatten();
        let flows = conditions.clone().map(|entry| Flow::condition(program, *entry, none));
        self.held = program.agents.is_empty() && self.fits(program, flows);
        held.conditions = self.held;
        let judge = if self.held { Some(self.judge(program, layout, &Loops::all(program))?) } else { None };
        let known = |entry: &Pc| judge.as_ref().is_some_and(|judge| judge.bits(&[*entry]).is_some());
        let unrolled = if self.held && !conditions.clone().all(known) { loops } else { none };
        for entry in conditions.chain(of_agents) {
            self.unit(program, 0, &|| Flow::condition(program, *entry, unrolled))?;
        }
        // Guards are looked at where rules work on cells.
        self.held = false;
        for entry in program.parts.iter().flat_map(|parts| &parts.guards).flatten() {
            self.unit(program, 0, &|| Flow::condition(program, *entry, none))?;
        }
        let Areas { base, words, base_words, .. } = program.areas;
        let unpack = match program.areas.cells <= unpack::MOST_CELLS {
            true => Some([self.unpack(base_words, Some(base))?, self.unpack(words, None)?]),
            false => None,
        };
        held.rules &= self.left_out == 0;
        held.conditions &= self.left_out == 0;
        self.module.finalize_definitions()?;
        // SAFETY: the function was declared with the signature of `Function`.
        let function = |code| unsafe { std::mem::transmute::<*const u8, Function>(code) };
        let expander = expander.map(|id| function(self.module.get_finalized_function(id)));
        let runner = runner.map(|Runner { function, most }| {
            let code = self.module.get_finalized_function(function);
            // SAFETY: the function was declared with the signature of `Run`.
            Runner { function: unsafe { std::mem::transmute::<*const u8, Run>(code) }, most }
        });
        let judge = judge.map(|judge| {
            let code = self.module.get_finalized_function(judge.function);
            // SAFETY: the function was declared with the signature of `Judgement`.
            judge.with(unsafe { std::mem::transmute::<*const u8, Judgement>(code) })
        });
        let unpack = unpack.map(|ids| {
            // SAFETY: the functions were declared with the signature of `Unpack`.
            let function = |code| unsafe { std::mem::transmute::<*const u8, Unpack>(code) };
            ids.map(|id| function(self.module.get_finalized_function(id)))
        });
        let mut numbers = vec![0; program.ops.len()];
        let mut entries = Vec::new();
        for (id, roots, fires, held) in &self.functions {
            let function = function(self.module.get_finalized_function(*id));
            for (number, pc) in roots.iter().enumerate() {
                entries.push(Entry { function, number: number as u32, fires: *fires, held: *held });
                numbers[*pc as usize] = entries.len() as u32;
            }
        }
        Ok(Native {
            numbers,
            entries,
            exits: self.exits,
            frame: self.frame,
            _places: self.places,
            held,
            expander,
            runner,
            judge,
            width: layout.words(),
            unpack,
            left_out: self.left_out,
            module: Mutex::new(ManuallyDrop::new(self.module)),
        })
    }

    fn unit<'p>(
        &mut self,
        program: &'p Program,
        number: usize,
        flow: &dyn Fn() -> Flow<'p>,
    ) -> Result<(), Box<ModuleError>> {
        if self.instructions > MOST_INSTRUCTIONS {
            self.left_out += 1;
            return Ok(());
        }
        let flow = flow();
        self.instructions += flow.nodes.len();
        if let Some(loops) = flow.loops {
            loops.spend(flow.nodes.len());
        }
        self.frame = self.frame.max(flow.frame);
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
        let outside = Outside { step, fired, number, places, defined, held, has_bags, has_covers, target };
        let builder = Emitter::new(program, &flow, builder, outside, &mut self.exits).run();
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut self.context)?;
        self.module.clear_context(&mut self.context);
        let roots = flow.roots.iter().map(|root| flow.nodes[*root].pc).collect();
        self.stays &=
            !flow.nodes.iter().any(|node| matches!(node.op, Op::Call { .. }) && flow.calls_out(node));
        self.functions.push((id, roots, flow.body.is_some(), self.held));
        Ok(())
    }
}
