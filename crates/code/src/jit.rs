//! The machine's own code for a model, made with Cranelift when the search begins.
//!
//! Each rule (with its loop through the instances) and each condition becomes one function; the functions they call
//! are inlined. The [`crate::exec::Machine`] behaves exactly as when it interprets: native code works on the same
//! memory and can be left for the interpreter at any instruction.

// The only module that calls code which the compiler has not seen.
#![allow(unsafe_code)]

mod emit;
mod flow;
mod operands;

use std::{mem::ManuallyDrop, sync::Mutex};

use cranelift_codegen::{
    ir::{AbiParam, types::I64},
    settings::{self, Configurable},
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};

use crate::{
    code::{Pc, Program},
    exec::{Event, Machine, Return},
};
use emit::{Emitter, TRAPPED, parameters};
use flow::Flow;

/// More instructions than this, in all, are not translated: the rest is interpreted. Some 50,000 are translated in a
/// second, and nobody should wait longer for a search to begin; only large generated models have more.
const MOST_INSTRUCTIONS: usize = 50_000;

/// Where interpretation goes on.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) pc: Pc,
    pub(crate) frame: usize,
    pub(crate) stack: Vec<Return>,
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
}

/// Memory, machine, number of the entry; gives the number of an exit.
type Function = unsafe extern "C" fn(*mut i64, *mut Machine<'_>, u64) -> i64;

/// Native code.
pub(crate) struct Native {
    /// By instruction: one more than the entry's number, or 0.
    numbers: Vec<u32>,
    entries: Vec<Entry>,
    exits: Vec<Exit>,
    frame: u32,
    /// How many rules and conditions are interpreted.
    left_out: usize,
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
    pub(crate) fn call(&self, entry: Entry, machine: &mut Machine<'_>) -> Exit<&Point> {
        let memory = machine.memory();
        // SAFETY: the function was made for this program and has the signature of `Function`. It reads and writes
        // cells of the state, for which the compiler has checked or emitted checks of every index, and cells of
        // frames, for which `Machine::new` has made room (`Native::frame`). `step` tells it when the memory moves.
        let number = unsafe { (entry.function)(memory, machine, u64::from(entry.number)) };
        if number >= TRAPPED {
            return Exit::Trapped;
        }
        match &self.exits[number as usize] {
            Exit::Done(event, at) => Exit::Done(*event, *at),
            Exit::Interpret(point) => Exit::Interpret(point),
            Exit::Trapped => Exit::Trapped,
        }
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

/// Translates a program for states of so many cells. Nothing if this machine is not supported.
pub(crate) fn translate(program: &Program, cells: usize) -> Option<Native> {
    // Offsets from the memory's beginning must fit in 31 bits.
    if cells > 1 << 23 {
        return None;
    }
    Translator::new()?.run(program, cells).ok()
}

struct Translator {
    module: JITModule,
    context: cranelift_codegen::Context,
    builder: FunctionBuilderContext,
    step: FuncId,
    exits: Vec<Exit>,
    functions: Vec<(FuncId, Vec<Pc>)>,
    instructions: usize,
    frame: u32,
    left_out: usize,
}

impl Translator {
    fn new() -> Option<Self> {
        let mut flags = settings::builder();
        flags.set("opt_level", "speed").ok()?;
        flags.set("is_pic", "false").ok()?;
        flags.set("use_colocated_libcalls", "false").ok()?;
        flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        builder.symbol("step", step as *const u8);
        let mut module = JITModule::new(builder);
        let mut signature = module.make_signature();
        signature.params = vec![AbiParam::new(I64); 2];
        signature.returns = vec![AbiParam::new(I64)];
        let step = module.declare_function("step", Linkage::Import, &signature).ok()?;
        // Pointers are 64 bits wide in all the code.
        if module.target_config().pointer_type() != I64 {
            return None;
        }
        Some(Translator {
            context: module.make_context(),
            module,
            builder: FunctionBuilderContext::new(),
            step,
            exits: Vec::new(),
            functions: Vec::new(),
            instructions: 0,
            frame: 0,
            left_out: 0,
        })
    }

    fn run(mut self, program: &Program, cells: usize) -> Result<Native, Box<ModuleError>> {
        for rule in program.starts.iter().chain(&program.rules) {
            self.unit(program, cells, &|| Flow::rule(program, cells, rule))?;
        }
        for entry in program.conditions.iter().flatten() {
            self.unit(program, cells, &|| Flow::condition(program, cells, *entry))?;
        }
        self.module.finalize_definitions()?;
        let mut numbers = vec![0; program.ops.len()];
        let mut entries = Vec::new();
        for (id, roots) in &self.functions {
            let code = self.module.get_finalized_function(*id);
            // SAFETY: the function was declared with the signature of `Function`.
            let function = unsafe { std::mem::transmute::<*const u8, Function>(code) };
            for (number, pc) in roots.iter().enumerate() {
                entries.push(Entry { function, number: number as u32 });
                numbers[*pc as usize] = entries.len() as u32;
            }
        }
        Ok(Native {
            numbers,
            entries,
            exits: self.exits,
            frame: self.frame,
            left_out: self.left_out,
            module: Mutex::new(ManuallyDrop::new(self.module)),
        })
    }

    fn unit<'p>(
        &mut self,
        program: &'p Program,
        cells: usize,
        flow: &dyn Fn() -> Flow<'p>,
    ) -> Result<(), Box<ModuleError>> {
        if self.instructions > MOST_INSTRUCTIONS {
            self.left_out += 1;
            return Ok(());
        }
        let flow = flow();
        self.instructions += flow.nodes.len();
        self.frame = self.frame.max(flow.frame);
        let mut signature = self.module.make_signature();
        signature.params = parameters().to_vec();
        signature.returns = vec![AbiParam::new(I64)];
        let id = self.module.declare_anonymous_function(&signature)?;
        self.context.func.signature = signature;
        let step = self.module.declare_func_in_func(self.step, &mut self.context.func);
        let builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        let builder = Emitter::new(program, &flow, builder, cells, step, &mut self.exits).run();
        builder.finalize(self.module.target_config());
        self.module.define_function(id, &mut self.context)?;
        self.module.clear_context(&mut self.context);
        self.functions.push((id, flow.roots.iter().map(|root| flow.nodes[*root].pc).collect()));
        Ok(())
    }
}
