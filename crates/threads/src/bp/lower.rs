//! From flat code to a Model: one rule an instruction.

use std::collections::{BTreeMap, HashMap};

use shoal_model::{
    BinaryOp, CheckKind, Condition, Domain, Expr, ExprKind, LocalId, Model, Place, Property, PropertyId,
    PropertyKind, Stmt, StmtKind, Type, TypeId, Value, VarId,
};
use shoal_syntax::{Advice, Diagnostic, Diagnostics, SourceId, SourceMap, Span};

use super::{
    ast::Op,
    flat::{BpPc, BpVar, E, EKind, FlatProgram, Instr, InstructionKind},
    flow::{self, BpLocals, has},
};
use crate::{
    Options, codes,
    make::{Maker, RuleLocals},
};

/// Where a thread is that has not begun, and one that has ended.
const ABSENT: u32 = 0;
const ENDED: u32 = 1;

pub(super) fn lower(
    flat: &FlatProgram,
    sources: &SourceMap,
    id: SourceId,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<Model> {
    let whole = Span::new(id, 0, 0);
    let threads = match options.threads() {
        Ok(threads) => threads,
        Err(message) => {
            diagnostics.push(Diagnostic::error(codes::BAD_SETTING, whole, message));
            return None;
        }
    };
    let atomic = match flow::atomic(flat) {
        Ok(atomic) => atomic,
        Err(error) => {
            diagnostics.push(*error);
            return None;
        }
    };
    let mut lowering = ProgramLowering::new(flat, sources, whole, threads, atomic);
    lowering.properties(diagnostics);
    lowering.start();
    for pc in lowering.order.clone() {
        lowering.instr(pc);
    }
    Some(lowering.maker.model)
}

struct ProgramLowering<'a> {
    flat: &'a FlatProgram,
    sources: &'a SourceMap,
    whole: Span,
    maker: Maker,
    thread: TypeId,
    location: TypeId,
    globals: Vec<VarId>,
    /// The array of a local, if it is ever read.
    locals: Vec<Option<VarId>>,
    pc: VarId,
    atomic_var: Option<VarId>,
    /// Instructions that are locations, in order, and their numbers.
    order: Vec<BpPc>,
    numbers: HashMap<BpPc, u32>,
    atomic: Vec<bool>,
    live: Vec<BpLocals>,
    assertions: Option<PropertyId>,
    assumption: PropertyId,
}

impl<'a> ProgramLowering<'a> {
    fn new(
        flat: &'a FlatProgram,
        sources: &'a SourceMap,
        whole: Span,
        threads: Option<u32>,
        atomic: Vec<bool>,
    ) -> ProgramLowering<'a> {
        let mut maker = Maker::new(whole);
        let (_, thread) = maker.threads(threads);
        let reached = flow::reachable(flat);
        let order: Vec<BpPc> =
            reached.into_iter().filter(|pc| !matches!(flat.code[*pc].kind, InstructionKind::End)).collect();
        let numbers = order.iter().enumerate().map(|(at, pc)| (*pc, at as u32 + 2)).collect();
        let location = maker.ty(Type::Enum { variants: names(flat, sources, &order) });
        let pcs = maker.ty(Type::Array { index: thread, element: location });
        let truths = maker.ty(Type::Array { index: thread, element: maker.truth });
        let truth = maker.truth;
        let globals =
            flat.globals.iter().map(|global| maker.at(global.span).var(&global.name, truth)).collect();
        maker.at(whole);
        let has_atomic = order.iter().any(|pc| matches!(flat.code[*pc].kind, InstructionKind::AtomicBegin));
        let atomic_var = has_atomic.then(|| maker.var("$atomic", truth));
        let pc = maker.var("pc", pcs);
        let live = flow::live(flat);
        let read = |local: usize| order.iter().any(|pc| has(&live[*pc], local));
        let locals = (0..flat.locals.len())
            .map(|local| read(local).then(|| maker.var(&flat.locals[local], truths)))
            .collect();
        let kind = PropertyKind::Assume(None);
        let assumption = Property { name: "assumptions".into(), kind, span: whole };
        let assumption = maker.model.properties.push(assumption);
        ProgramLowering {
            flat,
            sources,
            whole,
            maker,
            thread,
            location,
            globals,
            locals,
            pc,
            atomic_var,
            order,
            numbers,
            atomic,
            live,
            assertions: None,
            assumption,
        }
    }

    fn properties(&mut self, diagnostics: &mut Diagnostics) {
        if let Some((label, found, span)) = &self.flat.target {
            self.maker.at(*span);
            let maker = &self.maker;
            let mut head = RuleLocals::default();
            let mut parts = Vec::new();
            for pc in found {
                let Some(number) = self.numbers.get(pc) else { continue };
                let thread = head.bound("thread", self.thread, *span);
                let here = maker.equal(maker.read(self.pc_of(thread)), self.place(*number));
                let many = maker.count(thread, self.thread, here);
                parts.push(maker.binary(BinaryOp::Ge, many, maker.number(1)));
            }
            let condition = Condition { locals: head.locals, expr: maker.not(maker.or(parts)) };
            let kind = PropertyKind::Invariant(condition);
            let property = Property { name: format!("{label} is unreachable"), kind, span: *span };
            self.maker.model.properties.push(property);
            self.maker.at(self.whole);
            return;
        }
        let Some(span) = self.flat.assertion else {
            let message = "nothing is asked: the program has no assertion";
            let warning = Diagnostic::warning(codes::NOTHING_ASKED, self.whole, message);
            diagnostics.push(warning.advise(Advice::AskForLabel));
            return;
        };
        if !self.order.iter().any(|pc| matches!(self.flat.code[*pc].kind, InstructionKind::Assert(_))) {
            let message = "no assertion can be reached, or none can fail, whatever the threads do";
            diagnostics.push(Diagnostic::note(codes::NOTHING_ASKED, span, message));
        }
        let kind = PropertyKind::Assertion;
        let property = Property { name: "no assertion fails".into(), kind, span };
        self.assertions = Some(self.maker.model.properties.push(property));
    }

    fn pc_of(&self, thread: LocalId) -> Place {
        self.maker.of_thread(self.pc, thread, self.thread)
    }

    fn place(&self, number: u32) -> Expr {
        self.maker.expr(ExprKind::Const(Value::Enum(self.location, number)), self.location)
    }

    /// The location of an instruction.
    fn number(&self, pc: BpPc) -> u32 {
        self.numbers.get(&pc).copied().unwrap_or(ENDED)
    }

    fn start(&mut self) {
        let flat = self.flat;
        let mut head = RuleLocals::default();
        let settled = flow::settled(flat);
        let mut body = Vec::new();
        for (at, global) in flat.globals.iter().enumerate() {
            let value = match global.init {
                Some(value) => self.maker.constant(value),
                None if settled[at] => self.maker.constant(false),
                None => {
                    let truth = self.maker.truth;
                    let param = head.param(&global.name, truth, Domain::Type(truth), global.span);
                    self.maker.read(self.maker.local(param, truth))
                }
            };
            body.push(self.maker.assign(self.maker.global(self.globals[at]), value));
        }
        if let Some(var) = self.atomic_var {
            body.push(self.maker.assign(self.maker.global(var), self.maker.constant(false)));
        }
        let spawns = self.order.iter().any(|pc| matches!(flat.code[*pc].kind, InstructionKind::Spawn(..)));
        let first =
            (!flat.any).then(|| head.param("first", self.thread, Domain::Type(self.thread), self.whole));
        let each = head.bound("thread", self.thread, self.whole);
        let maker = &self.maker;
        let begin = |thread: LocalId, number: u32| maker.assign(self.pc_of(thread), self.place(number));
        let entry = self.number(flat.entry);
        let mut round = Vec::new();
        match (flat.any, spawns) {
            (true, false) => round.push(begin(each, entry)),
            (false, _) => round.push(begin(each, ABSENT)),
            (true, true) => {
                let begun = head.bound("begun", maker.truth, self.whole);
                let domain = Domain::Type(maker.truth);
                round.push(maker.stmt(StmtKind::Choose { local: begun, domain }));
                let condition = maker.read(maker.local(begun, maker.truth));
                let arms = vec![(condition, vec![begin(each, entry)])];
                round.push(maker.stmt(StmtKind::If(arms, vec![begin(each, ABSENT)])));
            }
        }
        for var in self.locals.iter().flatten() {
            round.push(maker.assign(maker.of_thread(*var, each, self.thread), maker.constant(false)));
        }
        body.push(maker.stmt(StmtKind::For { local: each, domain: Domain::Type(self.thread), body: round }));
        body.extend(first.map(|first| begin(first, entry)));
        let mut words =
            if flat.any { "any number of threads starting in main" } else { "one thread starting in main" }
                .to_string();
        if spawns {
            words.push_str(", plus spawns");
        }
        let rule = maker.rule(&words, head, None, body);
        self.maker.model.starts.push(rule);
    }

    /// The rules of an instruction.
    fn instr(&mut self, pc: BpPc) {
        let flat = self.flat;
        let instr = &flat.code[pc];
        self.maker.at(instr.span);
        match &instr.kind {
            InstructionKind::Goto(targets) => {
                for target in targets {
                    let step = RuleDraft::new(self, pc);
                    self.finish(step, *target, Vec::new());
                }
            }
            // Others move a thread that waits.
            InstructionKind::End | InstructionKind::Wait => {}
            InstructionKind::Broadcast => self.broadcast(pc, instr),
            InstructionKind::Nop => {
                let step = RuleDraft::new(self, pc);
                self.finish(step, instr.next, Vec::new());
            }
            InstructionKind::Assume(condition) => {
                let mut step = RuleDraft::new(self, pc);
                step.require(self, condition);
                self.finish(step, instr.next, Vec::new());
            }
            InstructionKind::Assert(condition) => {
                let mut step = RuleDraft::new(self, pc);
                let condition = step.expr(self, condition);
                if let Some(property) = self.assertions {
                    let kind =
                        StmtKind::Check { kind: CheckKind::Assert, condition: Some(condition), property };
                    step.body.push(self.maker.stmt(kind));
                }
                self.finish(step, instr.next, Vec::new());
            }
            InstructionKind::Branch(condition, then, other) => {
                let mut step = RuleDraft::new(self, pc);
                let condition = step.expr(self, condition);
                let arms = vec![(condition, self.arrive(pc, step.thread, *then, &[]))];
                let other = self.arrive(pc, step.thread, *other, &[]);
                step.body.push(self.maker.stmt(StmtKind::If(arms, other)));
                self.push(step);
            }
            InstructionKind::AtomicBegin | InstructionKind::AtomicEnd => {
                let mut step = RuleDraft::new(self, pc);
                if let Some(var) = self.atomic_var {
                    let value = self.maker.constant(matches!(instr.kind, InstructionKind::AtomicBegin));
                    step.body.push(self.maker.assign(self.maker.global(var), value));
                }
                self.finish(step, instr.next, Vec::new());
            }
            InstructionKind::Assign(parts, constrain) => self.assign(pc, instr, parts, constrain.as_ref()),
            InstructionKind::Spawn(entry, values, copies) => self.spawn(pc, instr, *entry, values, *copies),
        }
    }

    fn assign(&mut self, pc: BpPc, instr: &Instr, parts: &[(Option<BpVar>, E)], constrain: Option<&E>) {
        let mut step = RuleDraft::new(self, pc);
        let wanted = |var: &Option<BpVar>| match var {
            Some(BpVar::Global(_)) => true,
            Some(BpVar::Local(local)) => has(&self.live[instr.next], *local),
            None => false,
        };
        let parts: Vec<&(Option<BpVar>, E)> =
            parts.iter().filter(|part| constrain.is_some() || wanted(&part.0)).collect();
        let mut written = Vec::new();
        match (&parts[..], constrain) {
            ([(Some(var), value)], None) => {
                let value = step.expr(self, value);
                step.body.push(self.maker.assign(self.var(*var, step.thread), value));
                written.push(*var);
            }
            _ => {
                let mut after: BTreeMap<BpVar, LocalId> = BTreeMap::new();
                for (var, value) in parts {
                    let value = step.expr(self, value);
                    let name = format!("new_{}", step.head.locals.len());
                    let local = step.head.variable(&name, self.maker.truth, instr.span);
                    step.body.push(self.maker.assign(self.maker.local(local, self.maker.truth), value));
                    if let Some(var) = var {
                        after.insert(*var, local);
                    }
                }
                step.after = after;
                if let Some(constrain) = constrain {
                    let condition = step.expr(self, constrain);
                    step.body.push(self.maker.assume(condition, self.assumption));
                }
                for (var, local) in &step.after {
                    if wanted(&Some(*var)) {
                        let value = self.maker.read(self.maker.local(*local, self.maker.truth));
                        step.body.push(self.maker.assign(self.var(*var, step.thread), value));
                        written.push(*var);
                    }
                }
            }
        }
        self.finish(step, instr.next, written);
    }

    fn spawn(&mut self, pc: BpPc, instr: &Instr, entry: BpPc, values: &[(usize, E)], copies: bool) {
        let mut step = RuleDraft::new(self, pc);
        let new = step.head.param("new", self.thread, Domain::Type(self.thread), instr.span);
        let free = self.maker.equal(self.maker.read(self.pc_of(new)), self.place(ABSENT));
        step.guard.push(free);
        for (local, value) in values {
            if let Some(var) = self.locals[*local]
                && has(&self.live[entry], *local)
            {
                let value = step.expr(self, value);
                step.body.push(self.maker.assign(self.maker.of_thread(var, new, self.thread), value));
            }
        }
        for (local, var) in self.locals.iter().enumerate().filter(|_| copies) {
            if let Some(var) = var
                && has(&self.live[entry], local)
            {
                let value = self.maker.read(self.maker.of_thread(*var, step.thread, self.thread));
                step.body.push(self.maker.assign(self.maker.of_thread(*var, new, self.thread), value));
            }
        }
        step.body.push(self.maker.assign(self.pc_of(new), self.place(self.number(entry))));
        self.finish(step, instr.next, Vec::new());
    }

    fn broadcast(&mut self, pc: BpPc, instr: &Instr) {
        let mut step = RuleDraft::new(self, pc);
        let other = step.head.bound("other", self.thread, instr.span);
        let maker = &self.maker;
        let mut arms = Vec::new();
        for waiting in &self.order {
            let wait = &self.flat.code[*waiting];
            if matches!(wait.kind, InstructionKind::Wait) {
                let here = maker.equal(maker.read(self.pc_of(other)), self.place(self.number(*waiting)));
                arms.push((here, self.arrive(*waiting, other, wait.next, &[])));
            }
        }
        if !arms.is_empty() {
            let read = |thread: LocalId| maker.read(maker.local(thread, self.thread));
            let differ = maker.not(maker.equal(read(other), read(step.thread)));
            let moved = vec![maker.stmt(StmtKind::If(arms, Vec::new()))];
            let body = vec![maker.stmt(StmtKind::If(vec![(differ, moved)], Vec::new()))];
            let domain = Domain::Type(self.thread);
            step.body.push(maker.stmt(StmtKind::For { local: other, domain, body }));
        }
        self.finish(step, instr.next, Vec::new());
    }

    fn var(&self, var: BpVar, thread: LocalId) -> Place {
        match var {
            BpVar::Global(global) => self.maker.global(self.globals[global]),
            BpVar::Local(local) => match self.locals[local] {
                Some(var) => self.maker.of_thread(var, thread, self.thread),
                // A local that nobody reads is not asked for.
                None => self.maker.global(self.pc),
            },
        }
    }

    /// Goes on at an instruction: locals that nobody reads there are forgotten.
    fn arrive(&self, from: BpPc, thread: LocalId, to: BpPc, written: &[BpVar]) -> Vec<Stmt> {
        let mut stmts = Vec::new();
        let ended = self.number(to) == ENDED;
        for (local, var) in self.locals.iter().enumerate() {
            let Some(var) = var else { continue };
            let known = has(&self.live[from], local) || written.contains(&BpVar::Local(local));
            if known && (ended || !has(&self.live[to], local)) {
                stmts.push(
                    self.maker
                        .assign(self.maker.of_thread(*var, thread, self.thread), self.maker.constant(false)),
                );
            }
        }
        if self.number(to) != self.number(from) {
            stmts.push(self.maker.assign(self.pc_of(thread), self.place(self.number(to))));
        }
        stmts
    }

    fn finish(&mut self, mut step: RuleDraft, to: BpPc, written: Vec<BpVar>) {
        step.body.extend(self.arrive(step.pc, step.thread, to, &written));
        self.push(step);
    }

    fn push(&mut self, step: RuleDraft) {
        let instr = &self.flat.code[step.pc];
        let name = text(self.sources, instr.span);
        let guard = self.maker.and(step.guard);
        let rule = self.maker.rule(&name, step.head, Some(guard), step.body);
        self.maker.model.rules.push(rule);
    }
}

/// A rule in the making.
struct RuleDraft {
    pc: BpPc,
    head: RuleLocals,
    thread: LocalId,
    guard: Vec<Expr>,
    body: Vec<Stmt>,
    /// The new values of variables, while they are not yet written.
    after: BTreeMap<BpVar, LocalId>,
}

impl RuleDraft {
    fn new(lowering: &ProgramLowering<'_>, pc: BpPc) -> RuleDraft {
        let instr = &lowering.flat.code[pc];
        let maker = &lowering.maker;
        let mut head = RuleLocals::default();
        let thread = head.param("thread", lowering.thread, Domain::Type(lowering.thread), instr.span);
        let here = maker.equal(maker.read(lowering.pc_of(thread)), lowering.place(lowering.number(pc)));
        let mut step =
            RuleDraft { pc, head, thread, guard: vec![here], body: Vec::new(), after: BTreeMap::new() };
        if let Some(var) = lowering.atomic_var
            && !lowering.atomic[pc]
        {
            step.guard.push(maker.not(maker.read(maker.global(var))));
        }
        for enforced in &instr.enforce {
            step.require(lowering, enforced);
        }
        step
    }

    /// What must hold: in the guard, unless there is a choice in it.
    fn require(&mut self, lowering: &ProgramLowering<'_>, condition: &E) {
        let mut chooses = false;
        condition.visit(&mut |part| chooses |= matches!(part.kind, EKind::Star | EKind::Schoose(..)));
        let condition = self.expr(lowering, condition);
        match chooses {
            true => self.body.push(lowering.maker.assume(condition, lowering.assumption)),
            false => self.guard.push(condition),
        }
    }

    /// An expression; each choice in it is made before.
    fn expr(&mut self, lowering: &ProgramLowering<'_>, expr: &E) -> Expr {
        let maker = &lowering.maker;
        match &expr.kind {
            EKind::Const(value) => maker.constant(*value),
            EKind::Star => self.choose(lowering, expr.span),
            EKind::Var(var) => maker.read(lowering.var(*var, self.thread)),
            EKind::Next(var) => match self.after.get(var) {
                Some(local) => maker.read(maker.local(*local, maker.truth)),
                None => maker.read(lowering.var(*var, self.thread)),
            },
            EKind::Not(of) => maker.not(self.expr(lowering, of)),
            EKind::Binary(op, left, right) => {
                let (left, right) = (self.expr(lowering, left), self.expr(lowering, right));
                match op {
                    Op::And => maker.and(vec![left, right]),
                    Op::Or => maker.or(vec![left, right]),
                    Op::Xor | Op::Differ => maker.not(maker.equal(left, right)),
                    Op::Equal => maker.equal(left, right),
                    Op::Implies => maker.or(vec![maker.not(left), right]),
                }
            }
            EKind::Schoose(first, second) => {
                let (first, second) = (self.expr(lowering, first), self.expr(lowering, second));
                // Where one of the two is true for certain there is no choice: the first is the answer.
                let known = |expr: &Expr| matches!(expr.kind, ExprKind::Const(Value::Bool(true)));
                if known(&first) || known(&second) {
                    return first;
                }
                let any = self.choose(lowering, expr.span);
                let free = maker.and(vec![any, maker.not(second)]);
                maker.or(vec![first, free])
            }
        }
    }

    fn choose(&mut self, lowering: &ProgramLowering<'_>, span: Span) -> Expr {
        let maker = &lowering.maker;
        let name = format!("any_{}", self.head.locals.len());
        let local = self.head.bound(&name, maker.truth, span);
        self.body.push(maker.stmt(StmtKind::Choose { local, domain: Domain::Type(maker.truth) }));
        maker.read(maker.local(local, maker.truth))
    }
}

/// A statement in one line.
fn text(sources: &SourceMap, span: Span) -> String {
    const LONGEST: usize = 60;
    let words: Vec<&str> = sources.snippet(span).split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The names of the locations: the function and the line, and a number where that is not enough.
fn names(flat: &FlatProgram, sources: &SourceMap, order: &[BpPc]) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut names = vec!["-".to_string(), "end".to_string()];
    for pc in order {
        let instr = &flat.code[*pc];
        let line = sources.file(instr.span.source).position(instr.span.start).line;
        let name = format!("{}:{line}", instr.function);
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        names.push(if *count == 1 { name } else { format!("{name}#{count}") });
    }
    names
}
