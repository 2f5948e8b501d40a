//! From the Model to [`Program`]: once, before the search.
//!
//! Each piece of code (a rule with its guard, a function, a condition) gets a frame. Registers are given out
//! like a stack: what a statement needs is free again after it. Jumps name labels until the very end, when
//! labels become instruction numbers.

mod agents;
mod call;
mod condition;
mod domain;
mod expr;
mod parts;
mod place;
mod population;
mod rule;
mod scalar;
mod stmt;

use std::collections::HashMap;

use shoal_model::{
    FaultKind, FunctionId, IndexVec, Local, LocalId, LocalKind, Model, OrInternal, Parts, PropertyKind, Type,
    TypeId, TypedId, Unsupported,
};
use shoal_syntax::Span;

use crate::{
    code::{Areas, Op, Outside, Pc, Program, Reg, Shown, Site},
    layout::Layout,
    support::unsupported,
};

pub(crate) use population::has_growing_array;

/// Compiles all rules, starts, functions and conditions of a model, for an engine of this name.
pub fn compile(model: &Model, layout: &Layout, engine: &'static str) -> Result<Program, Unsupported> {
    compile_for(model, layout, None, engine)
}

/// The same, where rules are gone through by parts if there are any. The model then has no agents.
pub fn compile_for(
    model: &Model,
    layout: &Layout,
    parts: Option<Parts>,
    engine: &'static str,
) -> Result<Program, Unsupported> {
    let mut compiler = Compiler::new(model, layout);
    compiler.program.tables = model.tables.iter().map(|table| table.entries.clone()).collect();
    compiler.program.areas = Areas::new(layout.cells(), layout.words());
    for function in model.functions.ids() {
        compiler.function(function);
    }
    for start in model.starts.iter() {
        let code = compiler.rule(start, 0);
        compiler.program.starts.push(code);
    }
    let given = parts.as_ref().map_or_else(|| agents::given(model), |parts| parts.given.clone());
    for (rule, given) in model.rules.iter().zip(given) {
        let code = compiler.rule(rule, given);
        compiler.program.rules.push(code);
    }
    for property in model.properties.iter() {
        let condition = match &property.kind {
            PropertyKind::Temporal(..) => None,
            kind => kind.conditions().into_iter().next(),
        };
        let pc = condition.map(|condition| compiler.condition(condition));
        compiler.program.conditions.push(pc);
    }
    compiler.agents();
    if let Some(parts) = parts {
        compiler.parts(parts);
    }
    compiler.finish().map_err(|lacking| Unsupported { engine, ..lacking })
}

/// So many instructions may run before anybody looks at the watch.
const UNWATCHED: u64 = 1 << 16;

/// Where a jump goes; becomes an instruction number at the end.
#[derive(Clone, Copy, Debug)]
struct JumpLabel(Pc);

/// What the code being compiled knows of a local.
#[derive(Clone, Copy, Debug)]
enum LocalBinding {
    /// Not bound yet.
    Nothing,
    /// A bound value.
    Bound(Reg, Shown),
    /// The cells of a variable.
    Cells(Reg),
    /// The address that a reference holds. If it may lead into a multiset, the next register holds the address
    /// of the occupied cell.
    Address { reg: Reg, into_bag: bool },
}

/// What `return` does.
#[derive(Clone, Copy, Debug)]
enum Leave {
    /// It goes to the end of the rule.
    Rule(JumpLabel),
    /// It returns from a function, whose result stands in the first registers.
    Function(Option<TypeId>),
}

struct Compiler<'m> {
    model: &'m Model,
    layout: &'m Layout,
    program: Program,
    sites: HashMap<Span, Site>,
    labels: Vec<Pc>,
    locals: &'m IndexVec<LocalId, Local>,
    slots: Vec<LocalBinding>,
    /// The first register that is free.
    next: u32,
    /// The most that was ever used.
    high: u32,
    /// Registers that were given out together, the last ones last.
    given: Vec<(u32, u32)>,
    leave: Leave,
    /// Whether references may lead into multisets.
    slots_referred: bool,
    failed: Option<Unsupported>,
    /// The most instructions that the present unit runs so far, but for what is ticked off in its loops.
    work: u64,
    /// The same of the functions that are compiled.
    works: Vec<u64>,
}

impl<'m> Compiler<'m> {
    fn new(model: &'m Model, layout: &'m Layout) -> Self {
        static NO_LOCALS: std::sync::LazyLock<IndexVec<LocalId, Local>> =
            std::sync::LazyLock::new(IndexVec::new);
        Compiler {
            model,
            layout,
            program: Program::default(),
            sites: HashMap::new(),
            labels: Vec::new(),
            locals: &NO_LOCALS,
            slots: Vec::new(),
            next: 0,
            high: 0,
            given: Vec::new(),
            leave: Leave::Rule(JumpLabel(0)),
            slots_referred: place::refers_to_slots(model),
            failed: None,
            work: 0,
            works: Vec::new(),
        }
    }

    /// Begins a new frame for code with these locals.
    fn begin(&mut self, locals: &'m IndexVec<LocalId, Local>) {
        self.locals = locals;
        self.slots = vec![LocalBinding::Nothing; locals.len()];
        self.next = 0;
        self.high = 0;
        self.given.clear();
        self.work = 0;
    }

    /// Gives registers to the locals that have none yet, all undefined.
    fn place_locals(&mut self) {
        let first = self.next;
        for (id, local) in self.locals.enumerate() {
            if !matches!(self.slots[id.index()], LocalBinding::Nothing) {
                continue;
            }
            self.slots[id.index()] = match local.kind {
                LocalKind::Variable => {
                    let size = self.size(local.ty);
                    LocalBinding::Cells(self.alloc(size))
                }
                // The others get theirs where they are bound.
                LocalKind::Reference { .. } | LocalKind::Bound => LocalBinding::Nothing,
            };
        }
        let length = self.next - first;
        if length > 0 {
            self.emit(Op::Zero { first: first.min(u32::from(Reg::MAX)) as Reg, length });
        }
    }

    /// Registers in a row.
    fn alloc(&mut self, count: u32) -> Reg {
        let first = self.next;
        self.next = first.saturating_add(count);
        self.high = self.high.max(self.next);
        self.given.push((first, count));
        if self.next > u32::from(Reg::MAX) {
            let what = format!("local variables of more than {} values", Reg::MAX);
            self.failed.get_or_insert_with(|| unsupported(what, None));
            return 0;
        }
        first as Reg
    }

    fn temp(&mut self) -> Reg {
        self.alloc(1)
    }

    fn size(&self, ty: TypeId) -> u32 {
        self.layout.size(ty).or_internal("a type that the layout has taken")
    }

    fn is_scalar(&self, ty: TypeId) -> bool {
        self.model.kind(ty).is_scalar()
    }

    fn emit(&mut self, op: Op) {
        self.program.ops.push(op);
        self.work = self.work.saturating_add(1);
    }

    /// A loop ends that began after so much work. If all its rounds together (nothing if nobody knows how many) take long,
    /// each ticks off what it costs.
    fn end_round(&mut self, before: u64, rounds: Option<u64>) {
        let round = self.work - before;
        match rounds.and_then(|rounds| rounds.checked_mul(round)).filter(|all| *all <= UNWATCHED) {
            Some(all) => self.work = before.saturating_add(all),
            None => self.tick(round),
        }
    }

    fn tick(&mut self, cost: u64) {
        self.emit(Op::Tick { cost: u32::try_from(cost).unwrap_or(u32::MAX) });
    }

    fn here(&self) -> Pc {
        self.program.ops.len() as Pc
    }

    fn label(&mut self) -> JumpLabel {
        self.labels.push(Pc::MAX);
        JumpLabel(self.labels.len() as Pc - 1)
    }

    /// The label stands for the next instruction.
    fn bind(&mut self, label: JumpLabel) {
        self.labels[label.0 as usize] = self.here();
    }

    fn bound_label(&mut self) -> JumpLabel {
        let label = self.label();
        self.bind(label);
        label
    }

    fn jump(&mut self, to: JumpLabel) {
        self.emit(Op::Jump { to: to.0 });
    }

    fn site(&mut self, span: Span) -> Site {
        let spans = &mut self.program.spans;
        *self.sites.entry(span).or_insert_with(|| {
            spans.push(span);
            spans.len() as Site - 1
        })
    }

    fn fault(&mut self, kind: FaultKind, span: Span) {
        self.program.faults.push((kind, span));
        let fault = self.program.faults.len() as u32 - 1;
        self.emit(Op::Fault { fault });
    }

    fn constant(&mut self, value: i64) -> Reg {
        let dst = self.temp();
        self.emit(Op::Const { dst, value });
        dst
    }

    /// The table entry of a multiset type.
    fn bag(&mut self, ty: TypeId) -> u32 {
        let mut bags = Vec::new();
        self.layout.bags_in(self.model, ty, 0, &mut bags);
        // Those within it come before it.
        self.program.bags.extend(bags.pop());
        self.program.bags.len() as u32 - 1
    }

    fn function(&mut self, id: FunctionId) {
        let function = &self.model.functions[id];
        self.begin(&function.code.locals);
        let entry = self.here();
        self.leave = Leave::Function(function.result);
        self.place_parameters(id);
        self.place_locals();
        self.block(&function.code.body);
        match function.result {
            Some(_) => self.emit(Op::NoResult),
            None => self.emit(Op::Return),
        }
        let code = crate::code::FunctionCode { entry, frame: self.high };
        self.program.functions.push(code);
        self.works.push(self.work);
    }

    fn finish(mut self) -> Result<Program, Unsupported> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let labels = self.labels;
        for op in &mut self.program.ops {
            if let Some(to) = target(op) {
                *to = labels[*to as usize];
            }
        }
        for rule in self.program.rules.iter_mut().chain(&mut self.program.starts) {
            for handler in &mut rule.handlers {
                handler.resume = labels[handler.resume as usize];
            }
        }
        Ok(self.program)
    }
}

/// The element type of a multiset or an array.
fn element(model: &Model, ty: TypeId) -> TypeId {
    match model.kind(ty) {
        Type::Multiset { element, .. } | Type::Array { element, .. } => *element,
        _ => ty,
    }
}

fn out_of_range(span: Span) -> Outside {
    Outside::Fault(FaultKind::OutOfRange, span)
}

/// Where an instruction may jump.
pub(crate) fn target(op: &mut Op) -> Option<&mut Pc> {
    match op {
        Op::Jump { to }
        | Op::JumpEqual { to, .. }
        | Op::JumpDiffer { to, .. }
        | Op::JumpLess { to, .. }
        | Op::JumpAtMost { to, .. }
        | Op::JumpIs { to, .. }
        | Op::JumpIsNot { to, .. }
        | Op::JumpBelow { to, .. }
        | Op::JumpAbove { to, .. }
        | Op::Next { to, .. }
        | Op::LeaveRange { to, .. }
        | Op::NextInRange { to, .. }
        | Op::JumpUnmarked { to, .. } => Some(to),
        _ => None,
    }
}
