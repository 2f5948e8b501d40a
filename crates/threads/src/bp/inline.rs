//! From procedures to flat code: every call gets a copy of the procedure, with locals of its own.

use std::collections::{BTreeMap, HashMap, HashSet};

use shoal_syntax::{Diagnostic, Diagnostics, SourceId, Span, cursor::Parsed, did_you_mean};

use super::{
    Precedence,
    ast::{Decl, Expr, ExprKind, Function, Name, Program, Stmt, StmtKind},
    flat::{BpPc, BpVar, E, EKind, FlatProgram, Global, Instr, InstructionKind},
    flow,
};
use crate::{Options, codes};

/// Programs of more instructions than this after inlining are refused.
const LARGEST: usize = 100_000;

pub(super) fn inline(
    program: &Program,
    id: SourceId,
    dialect: Precedence,
    options: &Options,
    diagnostics: &mut Diagnostics,
) -> Option<FlatProgram> {
    let mut errors = Vec::new();
    let result = Inliner::new(program).and_then(|mut inliner| {
        let whole = inliner.whole(id, options);
        errors.append(&mut inliner.errors);
        whole?;
        if errors.is_empty() {
            inliner.resolve_missing(dialect, diagnostics)?;
        }
        Ok(inliner.flat)
    });
    errors.into_iter().for_each(|error| diagnostics.push(error));
    match result {
        Ok(flat) if !diagnostics.has_errors() => Some(flat),
        Ok(_) => None,
        Err(error) => {
            diagnostics.push(*error);
            None
        }
    }
}

struct Inliner<'a> {
    program: &'a Program,
    flat: FlatProgram,
    globals: HashMap<&'a str, BpVar>,
    /// The copies that threads begin in: where, and the parameters once there is need of it.
    roots: BTreeMap<&'a str, (BpPc, Option<Vec<usize>>)>,
    /// Functions that still need a copy for threads to begin in.
    waiting: Vec<&'a Function>,
    /// The calls that are open.
    stack: Vec<&'a str>,
    /// The label that must not be reached.
    wanted: Option<&'a str>,
    /// Jumps to labels that nobody declares.
    missing: Vec<(BpPc, Box<Diagnostic>)>,
    /// What is wrong with single statements: all of it is told.
    errors: Vec<Diagnostic>,
}

/// One copy of a function.
struct Copy<'a> {
    function: &'a Function,
    names: HashMap<&'a str, BpVar>,
    labels: HashMap<&'a str, BpPc>,
    /// Gotos to be resolved at the end: the instruction, and the labels it names.
    gotos: Vec<(BpPc, Vec<&'a Name>)>,
    /// Where results go and where to go on; none for a thread's own function.
    results: Option<Vec<Option<BpVar>>>,
    /// Instructions that go on after the call.
    returns: Vec<BpPc>,
    enforce: Vec<E>,
}

impl<'a> Inliner<'a> {
    fn new(program: &'a Program) -> Parsed<Inliner<'a>> {
        let mut inliner = Inliner {
            program,
            flat: FlatProgram::default(),
            globals: HashMap::new(),
            roots: BTreeMap::new(),
            waiting: Vec::new(),
            stack: Vec::new(),
            wanted: None,
            missing: Vec::new(),
            errors: Vec::new(),
        };
        for decl in &program.globals {
            let var = match decl.thread_local {
                true => BpVar::Local(inliner.local(&decl.name.node)),
                false => {
                    let global =
                        Global { name: decl.name.node.clone(), init: decl.init, span: decl.name.span };
                    inliner.flat.globals.push(global);
                    BpVar::Global(inliner.flat.globals.len() - 1)
                }
            };
            if inliner.globals.insert(&decl.name.node, var).is_some() {
                return Err(twice(&decl.name));
            }
        }
        for function in &program.functions {
            // A place holder for a thread's own copy: it goes on wherever the code will be.
            let pc = inliner.flat.code.len();
            let (name, span) = (function.name.node.clone(), function.name.span);
            inliner.flat.code.push(Instr {
                kind: InstructionKind::Nop,
                next: pc,
                enforce: Vec::new(),
                function: name,
                span,
            });
            inliner.roots.insert(&function.name.node, (pc, None));
        }
        Ok(inliner)
    }

    fn whole(&mut self, id: SourceId, options: &'a Options) -> Parsed<()> {
        let whole = Span::new(id, 0, 0);
        self.flat.any = match options.init.as_deref() {
            None | Some("single") => false,
            Some("unbounded") => true,
            Some(other) => {
                let message = format!("{other:?} is no way to begin a program");
                let help =
                    "write `single` (one thread, in main) or `unbounded` (any number of threads, in main)";
                return Err(Box::new(Diagnostic::error(codes::BAD_INIT, whole, message).help(help)));
            }
        };
        self.flat.assertion = self.program.functions.iter().find_map(|function| assertion(&function.body));
        self.wanted = options.target.as_deref();
        if let Some(label) = &options.target {
            self.flat.target = Some((label.clone(), Vec::new(), whole));
        }
        let Some(main) = self.find("main") else {
            return Err(Box::new(Diagnostic::error(
                codes::UNKNOWN_NAME,
                whole,
                "the program has no function `main`",
            )));
        };
        self.flat.entry = self.root(main).0;
        while let Some(function) = self.waiting.pop() {
            self.root_body(function)?;
        }
        match &self.flat.target {
            Some((label, found, _)) if found.is_empty() => {
                let message = format!("no label `{label}` can be reached by any call");
                Err(Box::new(Diagnostic::error(codes::UNKNOWN_NAME, whole, message)))
            }
            _ => Ok(()),
        }
    }

    /// Labels that nobody declares are an error. But programs that were translated for BoPP have such labels where nobody
    /// ever jumps, as in `if 0 then goto 170; fi`.
    fn resolve_missing(&mut self, dialect: Precedence, diagnostics: &mut Diagnostics) -> Parsed<()> {
        let reachable: HashSet<BpPc> = flow::reachable(&self.flat).into_iter().collect();
        for (pc, error) in std::mem::take(&mut self.missing) {
            if dialect == Precedence::Satabs || reachable.contains(&pc) {
                return Err(error);
            }
            let message = format!("{}, and nobody jumps there", error.message);
            let span = self.flat.code[pc].span;
            diagnostics.push(Diagnostic::note(codes::IGNORED, span, message));
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Option<&'a Function> {
        self.program.functions.iter().find(|function| function.name.node == name)
    }

    fn local(&mut self, name: &str) -> usize {
        let same = |known: &&String| known.as_str() == name || known.starts_with(&format!("{name}#"));
        let number = self.flat.locals.iter().filter(same).count();
        self.flat.locals.push(if number == 0 { name.into() } else { format!("{name}#{}", number + 1) });
        self.flat.locals.len() - 1
    }

    fn emit(&mut self, copy: &Copy<'a>, kind: InstructionKind, span: Span) -> Parsed<BpPc> {
        let pc = self.flat.code.len();
        if pc >= LARGEST {
            let message = format!("not supported: more than {LARGEST} instructions after inlining");
            return Err(Box::new(Diagnostic::error(codes::TOO_LARGE, span, message)));
        }
        let function = copy.function.name.node.clone();
        self.flat.code.push(Instr { kind, next: pc + 1, enforce: copy.enforce.clone(), function, span });
        Ok(pc)
    }

    /// A step that is no statement of the program, and so nothing is enforced there.
    fn emit_between(&mut self, copy: &Copy<'a>, kind: InstructionKind, span: Span) -> Parsed<BpPc> {
        let pc = self.emit(copy, kind, span)?;
        self.flat.code[pc].enforce.clear();
        Ok(pc)
    }

    /// Where threads begin that run a function; its copy is made later. The parameters have their locals at once.
    fn root(&mut self, function: &'a Function) -> (BpPc, Vec<usize>) {
        let name = function.name.node.as_str();
        let (pc, known) = self.roots[name].clone();
        let params = known.unwrap_or_else(|| {
            let locals: Vec<usize> = function.params.iter().map(|param| self.local(&param.node)).collect();
            self.roots.insert(name, (pc, Some(locals.clone())));
            self.waiting.push(function);
            locals
        });
        (pc, params)
    }

    fn root_body(&mut self, function: &'a Function) -> Parsed<()> {
        let name = function.name.node.as_str();
        let (entry, locals) = self.root(function);
        let mut copy = Copy::new(function, None);
        for (param, local) in function.params.iter().zip(locals) {
            if copy.names.insert(&param.node, BpVar::Local(local)).is_some() {
                return Err(twice(param));
            }
        }
        self.flat.code[entry].next = self.flat.code.len();
        if name == "main" {
            // Variables that every thread has for itself are anything in the first.
            let own: Vec<BpVar> =
                self.globals.values().copied().filter(|var| matches!(var, BpVar::Local(_))).collect();
            self.havoc(&copy, &own, function.name.span)?;
            let params: Vec<BpVar> = copy.names.values().copied().collect();
            self.havoc(&copy, &params, function.name.span)?;
        }
        self.stack.push(name);
        self.body(&mut copy)?;
        self.stack.pop();
        Ok(())
    }

    /// Makes variables anything.
    fn havoc(&mut self, copy: &Copy<'a>, vars: &[BpVar], span: Span) -> Parsed<()> {
        if vars.is_empty() {
            return Ok(());
        }
        let mut vars = vars.to_vec();
        vars.sort_unstable();
        let any = |var: BpVar| (Some(var), E { kind: EKind::Star, span });
        self.emit(copy, InstructionKind::Assign(vars.into_iter().map(any).collect(), None), span)?;
        Ok(())
    }

    /// The statements of a copy, and its end.
    fn body(&mut self, copy: &mut Copy<'a>) -> Parsed<()> {
        self.block(copy, &copy.function.body)?;
        self.leave(copy, copy.function.end)?;
        for (pc, names) in std::mem::take(&mut copy.gotos) {
            let mut targets = Vec::new();
            for name in names {
                match copy.labels.get(name.node.as_str()) {
                    Some(target) => targets.push(*target),
                    None => {
                        let error = unknown("label", name, copy.labels.keys().copied());
                        // Somewhere to point at, until it is known whether anybody jumps.
                        targets.push(pc);
                        self.missing.push((pc, error));
                    }
                }
            }
            match &mut self.flat.code[pc].kind {
                InstructionKind::Goto(known) => *known = targets,
                InstructionKind::Spawn(known, ..) => *known = targets[0],
                _ => {}
            }
        }
        Ok(())
    }

    /// Leaves a copy: the thread ends, or it goes on after the call.
    fn leave(&mut self, copy: &mut Copy<'a>, span: Span) -> Parsed<()> {
        match copy.results {
            None => {
                self.emit(copy, InstructionKind::End, span)?;
            }
            Some(_) => {
                let pc = self.emit(copy, InstructionKind::Goto(Vec::new()), span)?;
                copy.returns.push(pc);
            }
        }
        Ok(())
    }

    fn block(&mut self, copy: &mut Copy<'a>, block: &'a [Stmt]) -> Parsed<()> {
        let enforced = copy.enforce.len();
        for stmt in block {
            let calls = self.stack.len();
            match self.stmt(copy, stmt) {
                Ok(()) => {}
                // What is too large gets no better by going on.
                Err(error) if error.code == codes::TOO_LARGE => return Err(error),
                Err(error) => {
                    self.stack.truncate(calls);
                    self.keep_error(error);
                }
            }
        }
        copy.enforce.truncate(enforced);
        Ok(())
    }

    fn stmt(&mut self, copy: &mut Copy<'a>, stmt: &'a Stmt) -> Parsed<()> {
        let here = self.flat.code.len();
        for label in &stmt.labels {
            let again = copy.labels.insert(&label.node, here);
            // Generated programs repeat a label in one place.
            if again.is_some_and(|known| known != here) {
                return Err(twice(label));
            }
            if Some(label.node.as_str()) == self.wanted
                && let Some((_, found, span)) = &mut self.flat.target
            {
                found.push(here);
                *span = label.span;
            }
        }
        let is_target = stmt.labels.iter().any(|label| Some(label.node.as_str()) == self.wanted);
        if is_target {
            // A location of its own, that is not merged with another.
            self.emit(copy, InstructionKind::Nop, stmt.span)?;
        }
        let span = stmt.span;
        match &stmt.kind {
            StmtKind::Skip => {
                self.emit(copy, InstructionKind::Nop, span)?;
            }
            StmtKind::Goto(names) => {
                let pc = self.emit(copy, InstructionKind::Goto(Vec::new()), span)?;
                copy.gotos.push((pc, names.iter().collect()));
            }
            StmtKind::Assign(left, right, constrain) => {
                self.assign(copy, left, right, constrain.as_ref(), span)?
            }
            StmtKind::Call(left, name, arguments) => {
                // The older spelling of a new thread.
                match stmt.labels.iter().any(|label| label.node.starts_with("ASYNC_")) {
                    true => self.spawn_call(copy, name, arguments, span)?,
                    false => self.call(copy, left, name, arguments, span)?,
                }
            }
            StmtKind::Return(values) => self.return_from(copy, values, span)?,
            StmtKind::If(arms, other) => self.branches(copy, arms, other, span)?,
            StmtKind::While(condition, body) => {
                let condition = self.condition(copy, condition);
                let test = self.emit(copy, InstructionKind::Branch(condition, 0, 0), span)?;
                self.block(copy, body)?;
                self.emit_between(copy, InstructionKind::Goto(vec![test]), span)?;
                self.patch_branch(test, test + 1, self.flat.code.len());
            }
            StmtKind::Decl(decls) => self.decl(copy, decls, span)?,
            StmtKind::Assume(of) => {
                let of = self.expr(copy, of, false)?;
                self.emit(copy, InstructionKind::Assume(of), span)?;
            }
            StmtKind::Assert(of) => {
                let of = self.expr(copy, of, false)?;
                self.emit(copy, InstructionKind::Assert(of), span)?;
            }
            StmtKind::Enforce(of) => {
                let of = self.expr(copy, of, false)?;
                if of.known() != Some(true) {
                    copy.enforce.push(of);
                }
            }
            StmtKind::StartThread(what) => self.start_thread(copy, what, span)?,
            StmtKind::EndThread => {
                self.emit(copy, InstructionKind::End, span)?;
            }
            StmtKind::Wait => {
                self.emit(copy, InstructionKind::Wait, span)?;
            }
            StmtKind::Broadcast => {
                self.emit(copy, InstructionKind::Broadcast, span)?;
            }
            StmtKind::AtomicBegin => {
                self.emit(copy, InstructionKind::AtomicBegin, span)?;
            }
            StmtKind::AtomicEnd => {
                self.emit(copy, InstructionKind::AtomicEnd, span)?;
            }
        }
        Ok(())
    }

    fn patch_branch(&mut self, at: BpPc, to: BpPc, or: BpPc) {
        if let InstructionKind::Branch(_, then, other) = &mut self.flat.code[at].kind {
            (*then, *other) = (to, or);
        }
    }

    fn branches(
        &mut self,
        copy: &mut Copy<'a>,
        arms: &'a [(Expr, Vec<Stmt>)],
        other: &'a [Stmt],
        span: Span,
    ) -> Parsed<()> {
        let mut leave = Vec::new();
        for (condition, block) in arms {
            let span = span.to(condition.span);
            let condition_span = condition.span;
            let condition = self.condition(copy, condition);
            let test = self.emit(
                copy,
                InstructionKind::Branch(condition, 0, 0),
                Span { end: condition_span.end, ..span },
            )?;
            self.block(copy, block)?;
            leave.push(self.emit_between(copy, InstructionKind::Goto(Vec::new()), condition_span)?);
            self.patch_branch(test, test + 1, self.flat.code.len());
        }
        self.block(copy, other)?;
        let end = self.flat.code.len();
        for pc in leave {
            self.flat.code[pc].kind = InstructionKind::Goto(vec![end]);
        }
        // The end must exist even if nothing follows.
        self.emit_between(copy, InstructionKind::Nop, span)?;
        Ok(())
    }

    fn decl(&mut self, copy: &mut Copy<'a>, decls: &'a [Decl], span: Span) -> Parsed<()> {
        let mut parts = Vec::new();
        for decl in decls {
            let local = self.local(&decl.name.node);
            if copy.names.insert(&decl.name.node, BpVar::Local(local)).is_some() {
                return Err(twice(&decl.name));
            }
            let kind = decl.init.map_or(EKind::Star, EKind::Const);
            parts.push((Some(BpVar::Local(local)), E { kind, span: decl.name.span }));
        }
        self.emit(copy, InstructionKind::Assign(parts, None), span)?;
        Ok(())
    }

    fn assign(
        &mut self,
        copy: &Copy<'a>,
        left: &[Name],
        right: &[Expr],
        constrain: Option<&Expr>,
        span: Span,
    ) -> Parsed<()> {
        if left.len() != right.len() {
            return Err(arity(span, "assigned", left.len(), right.len()));
        }
        let mut parts: Vec<(Option<BpVar>, E)> = Vec::new();
        for (name, value) in left.iter().zip(right) {
            let var = self.target(copy, name)?;
            if var.is_some() && parts.iter().any(|(known, _)| *known == var) {
                let message = format!("`{}` is assigned twice", name.node);
                return Err(Box::new(Diagnostic::error(codes::REDECLARED, name.span, message)));
            }
            parts.push((var, self.expr(copy, value, false)?));
        }
        let constrain = constrain.map(|constrain| self.expr(copy, constrain, true)).transpose()?;
        self.emit(copy, InstructionKind::Assign(parts, constrain), span)?;
        Ok(())
    }

    /// A variable to write; none for `_`.
    fn target(&self, copy: &Copy<'a>, name: &Name) -> Parsed<Option<BpVar>> {
        if name.node == "_" { Ok(None) } else { self.var(copy, &name.node, name.span).map(Some) }
    }

    fn var(&self, copy: &Copy<'a>, name: &str, span: Span) -> Parsed<BpVar> {
        let found = copy.names.get(name).or_else(|| self.globals.get(name));
        found.copied().ok_or_else(|| {
            let known = copy.names.keys().chain(self.globals.keys()).copied();
            unknown("variable", &Name::new(name.into(), span), known)
        })
    }

    /// The condition of a branch. One that is wrong may be anything, so that what it guards is looked at, too.
    fn condition(&mut self, copy: &Copy<'a>, expr: &Expr) -> E {
        self.expr(copy, expr, false).unwrap_or_else(|error| {
            self.keep_error(error);
            E { kind: EKind::Star, span: expr.span }
        })
    }

    /// Every copy of a procedure has its mistakes: each is kept once.
    fn keep_error(&mut self, error: Box<Diagnostic>) {
        if !self.errors.contains(&error) {
            self.errors.push(*error);
        }
    }

    fn expr(&self, copy: &Copy<'a>, expr: &Expr, ticks: bool) -> Parsed<E> {
        let inner = |of: &Expr| self.expr(copy, of, ticks).map(Box::new);
        let kind = match &expr.kind {
            ExprKind::Const(value) => EKind::Const(*value),
            ExprKind::Star => EKind::Star,
            ExprKind::Var(name) if name == "_" => EKind::Star,
            ExprKind::Var(name) => EKind::Var(self.var(copy, name, expr.span)?),
            ExprKind::Next(name) if ticks => EKind::Next(self.var(copy, name, expr.span)?),
            ExprKind::Next(_) => {
                let message = "the value after an assignment is known only in `constrain`";
                return Err(Box::new(Diagnostic::error(codes::UNEXPECTED, expr.span, message)));
            }
            ExprKind::Not(of) => EKind::Not(inner(of)?),
            ExprKind::Binary(op, left, right) => EKind::Binary(*op, inner(left)?, inner(right)?),
            ExprKind::Schoose(first, second) => EKind::Schoose(inner(first)?, inner(second)?),
        };
        Ok(E { kind, span: expr.span })
    }

    fn callee(&self, name: &Name) -> Parsed<&'a Function> {
        let names = self.program.functions.iter().map(|function| function.name.node.as_str());
        self.find(&name.node).ok_or_else(|| unknown("function", name, names))
    }

    fn call(
        &mut self,
        copy: &mut Copy<'a>,
        left: &[Name],
        name: &Name,
        arguments: &[Expr],
        span: Span,
    ) -> Parsed<()> {
        let function = self.callee(name)?;
        if function.params.len() != arguments.len() {
            return Err(arity(span, "passed", function.params.len(), arguments.len()));
        }
        if !left.is_empty() && function.results != left.len() {
            return Err(arity(span, "returned", left.len(), function.results));
        }
        let open = function.name.node.as_str();
        if let Some(at) = self.stack.iter().position(|known| *known == open) {
            let cycle: Vec<&str> = self.stack[at..].iter().copied().chain([open]).collect();
            let message = format!("recursion is not supported: {}", cycle.join(" calls "));
            let help = "with any number of threads and recursion, reachability is undecidable";
            return Err(Box::new(Diagnostic::error(codes::RECURSION, span, message).help(help)));
        }
        let results = left.iter().map(|name| self.target(copy, name)).collect::<Parsed<Vec<_>>>()?;
        let mut inner = Copy::new(function, Some(results));
        let mut parts = Vec::new();
        for (param, value) in function.params.iter().zip(arguments) {
            let value = self.expr(copy, value, false)?;
            let local = self.local(&param.node);
            if inner.names.insert(&param.node, BpVar::Local(local)).is_some() {
                return Err(twice(param));
            }
            parts.push((Some(BpVar::Local(local)), value));
        }
        if !parts.is_empty() {
            self.emit(copy, InstructionKind::Assign(parts, None), span)?;
        }
        self.stack.push(open);
        self.body(&mut inner)?;
        self.stack.pop();
        let after = self.flat.code.len();
        for pc in inner.returns {
            match &mut self.flat.code[pc].kind {
                InstructionKind::Goto(targets) => *targets = vec![after],
                _ => self.flat.code[pc].next = after,
            }
        }
        // The place after the call must exist even if nothing follows.
        self.emit_between(copy, InstructionKind::Nop, span)?;
        Ok(())
    }

    fn return_from(&mut self, copy: &mut Copy<'a>, values: &[Expr], span: Span) -> Parsed<()> {
        if copy.function.results != values.len() {
            return Err(arity(span, "returned", copy.function.results, values.len()));
        }
        let results = copy.results.clone().unwrap_or_default();
        if !results.is_empty() {
            let mut parts = Vec::new();
            for (var, value) in results.into_iter().zip(values) {
                parts.push((var, self.expr(copy, value, false)?));
            }
            let pc = self.emit(copy, InstructionKind::Assign(parts, None), span)?;
            copy.returns.push(pc);
            return Ok(());
        }
        for value in values {
            self.expr(copy, value, false)?;
        }
        self.leave(copy, span)
    }

    fn start_thread(&mut self, copy: &mut Copy<'a>, what: &'a Stmt, span: Span) -> Parsed<()> {
        match &what.kind {
            StmtKind::Goto(names) if names.len() == 1 => {
                let pc = self.emit(copy, InstructionKind::Spawn(0, Vec::new(), true), span)?;
                copy.gotos.push((pc, names.iter().collect()));
                Ok(())
            }
            StmtKind::Call(left, name, arguments) if left.is_empty() => {
                self.spawn_call(copy, name, arguments, span)
            }
            _ => {
                let message = "not supported: a new thread that begins with anything but `goto` or a call";
                Err(Box::new(Diagnostic::error(codes::UNSUPPORTED, what.span, message)))
            }
        }
    }

    fn spawn_call(&mut self, copy: &Copy<'a>, name: &Name, arguments: &[Expr], span: Span) -> Parsed<()> {
        let function = self.callee(name)?;
        if function.params.len() != arguments.len() {
            return Err(arity(span, "passed", function.params.len(), arguments.len()));
        }
        let (entry, locals) = self.root(function);
        let values =
            arguments.iter().map(|value| self.expr(copy, value, false)).collect::<Parsed<Vec<_>>>()?;
        // Variables that every thread has for itself are inherited.
        let own = self.globals.values().filter_map(|var| match var {
            BpVar::Local(local) => Some((*local, E { kind: EKind::Var(*var), span })),
            BpVar::Global(_) => None,
        });
        let mut parts: Vec<(usize, E)> = locals.into_iter().zip(values).chain(own).collect();
        parts.sort_by_key(|part| part.0);
        self.emit(copy, InstructionKind::Spawn(entry, parts, false), span)?;
        Ok(())
    }
}

impl<'a> Copy<'a> {
    fn new(function: &'a Function, results: Option<Vec<Option<BpVar>>>) -> Copy<'a> {
        Copy {
            function,
            names: HashMap::new(),
            labels: HashMap::new(),
            gotos: Vec::new(),
            results,
            returns: Vec::new(),
            enforce: Vec::new(),
        }
    }
}

/// The first assertion in a block.
fn assertion(block: &[Stmt]) -> Option<Span> {
    block.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Assert(_) => Some(stmt.span),
        StmtKind::If(arms, other) => {
            arms.iter().find_map(|arm| assertion(&arm.1)).or_else(|| assertion(other))
        }
        StmtKind::While(_, body) => assertion(body),
        StmtKind::StartThread(of) => assertion(std::slice::from_ref(of)),
        StmtKind::Skip
        | StmtKind::Goto(_)
        | StmtKind::Assign(..)
        | StmtKind::Call(..)
        | StmtKind::Return(_)
        | StmtKind::Decl(_)
        | StmtKind::Assume(_)
        | StmtKind::Enforce(_)
        | StmtKind::EndThread
        | StmtKind::AtomicBegin
        | StmtKind::AtomicEnd
        | StmtKind::Wait
        | StmtKind::Broadcast => None,
    })
}

fn twice(name: &Name) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(codes::REDECLARED, name.span, format!("`{}` is declared twice", name.node)))
}

fn arity(span: Span, done: &str, expected: usize, found: usize) -> Box<Diagnostic> {
    let message = format!("{expected} values are expected, and {found} are {done}");
    Box::new(Diagnostic::error(codes::ARITY, span, message))
}

fn unknown<'n>(kind: &str, name: &Name, known: impl Iterator<Item = &'n str>) -> Box<Diagnostic> {
    let message = format!("the {kind} `{}` is not declared", name.node);
    let error = Diagnostic::error(codes::UNKNOWN_NAME, name.span, message);
    Box::new(match did_you_mean(&name.node, known) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error,
    })
}
