//! Priorities of processes, and who can take a step (`enabled`).
//!
//! As in SPIN 6, a process takes no step, not even inside an atomic sequence, while another of higher priority could. What is asked
//! for that is what the other could do if it were alone: its own priority does not matter, nor what others have to say.

use shoal_model::{
    Argument, BinaryOp, CheckKind, Code, Expr, ExprKind as K, Function, FunctionId, IndexVec, LocalKind,
    PropertyKind, Stmt, StmtKind, Value,
};
use shoal_syntax::Span;

use super::{Lowerer, Me, OrReported, Reported};
use crate::{
    ast::{self, ExprKind},
    codes,
    walk::SyntaxNode,
};

/// The priority of the processes of a proctype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessPriority {
    /// All have this one, always.
    Fixed(u8),
    /// Each has its own, in a field of its entry.
    Stored(usize),
}

/// A function that says whether a process can take a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mover {
    /// It is being made.
    Open,
    /// It is made; whether what it says depends on a timeout.
    Made(FunctionId, bool),
}

impl Lowerer<'_> {
    /// Finds out what priority processes have; what has to be stored is declared later.
    pub(super) fn find_priorities(&mut self) {
        let mut changes = false;
        let mut all: Vec<Vec<u8>> = Vec::new();
        for proctype in &self.program.proctypes {
            all.push(if proctype.active > 0 { vec![proctype.priority] } else { Vec::new() });
        }
        self.walk_program(&mut |node| match node {
            SyntaxNode::Stmt(stmt) => changes |= matches!(stmt.kind, ast::StmtKind::SetPriority(..)),
            SyntaxNode::Expr(expr) => {
                if let ExprKind::Run(name, _, priority) = &expr.kind
                    && let Some(proc) = self.program.proctypes.iter().position(|it| it.name.node == name.node)
                {
                    all[proc].push(*priority);
                }
            }
        });
        for (proc, given) in all.iter().enumerate() {
            let first = given.first().copied().unwrap_or(1);
            let fixed = !changes && given.iter().all(|priority| *priority == first);
            // Which field that is, is not known before its proctype is declared.
            self.procs[proc].priority =
                if fixed { ProcessPriority::Fixed(first) } else { ProcessPriority::Stored(0) };
        }
        self.ranked = match self.procs[0].priority {
            first @ ProcessPriority::Fixed(_) => self.procs.iter().any(|proc| proc.priority != first),
            ProcessPriority::Stored(_) => true,
        };
    }

    /// Whether it matters to others that a process takes a step: what they can do depends on it, or what is said of all messages.
    pub(super) fn minds_others(&self) -> bool {
        self.ranked || self.trace.is_some() || self.asks_enabled().is_some()
    }

    /// Where it is first asked whether another process can move.
    fn asks_enabled(&self) -> Option<Span> {
        self.first_expr(|kind| matches!(kind, ExprKind::Enabled(_)))
    }

    /// Where an expression of a kind first stands.
    fn first_expr(&self, is_so: impl Fn(&ExprKind) -> bool) -> Option<Span> {
        let mut first = None;
        self.walk_program(&mut |node| {
            if let SyntaxNode::Expr(expr) = node
                && is_so(&expr.kind)
            {
                first.get_or_insert(expr.span);
            }
        });
        first
    }

    fn has_unless(&self) -> bool {
        let mut found = false;
        self.walk_program(&mut |node| {
            found |= matches!(node, SyntaxNode::Stmt(stmt) if matches!(stmt.kind, ast::StmtKind::Unless(..)));
        });
        found
    }

    /// What has no meaning together with priorities and `enabled`, or another in SPIN, is refused.
    pub(super) fn refuse_beside_priorities(&mut self) {
        let priorities = self.program.priorities.filter(|_| self.ranked);
        let enabled = self.asks_enabled();
        let asked = [(priorities, "process priorities"), (enabled, "`enabled`")];
        let merged = (self.options.merge, "merged steps");
        let objects = (self.options.dynamic, "objects and functions");
        for (span, what) in asked {
            let Some(span) = span else { continue };
            let refused = [
                (self.channels.sites.iter().any(|site| site.capacity == 0), "rendezvous channels"),
                merged,
                (self.options.weak_fairness && self.ranked, "weak fairness"),
                objects,
            ];
            self.refuse_together(span, what, &refused);
        }
        // Which of the two parts of an `unless` SPIN numbers first depends on the brackets around them.
        if let Some(span) = self.first_expr(|kind| matches!(kind, ExprKind::Location(_))) {
            let unless = (self.has_unless(), "`unless`");
            self.refuse_together(span, "`pc_value`", &[merged, objects, unless]);
        }
    }

    fn refuse_together(&mut self, span: Span, what: &str, refused: &[(bool, &str)]) {
        for (_, with) in refused.iter().filter(|(is_so, _)| *is_so) {
            let message = format!("not supported: {what} together with {with}");
            let _ = self.error::<()>(codes::UNSUPPORTED, span, message);
        }
    }

    /// The priority of a process; 0 where there is none.
    pub(super) fn priority_of(&self, who: &Me, span: Span) -> Expr {
        match self.procs[who.proc].priority {
            ProcessPriority::Fixed(priority) => self.int(i64::from(priority), span),
            ProcessPriority::Stored(field) => self.read(self.field(self.entry(who, span), field)),
        }
    }

    /// Gives a process that begins its priority.
    pub(super) fn first_priority(&self, who: &Me, priority: u8, span: Span) -> Option<Stmt> {
        let ProcessPriority::Stored(field) = self.procs[who.proc].priority else { return None };
        let place = self.field(self.entry(who, span), field);
        Some(self.assign(place, self.int(i64::from(priority), span)))
    }

    /// That no process of higher priority could move, where there may be one.
    pub(super) fn highest(&mut self, me: &Me, span: Span) -> OrReported<Vec<Expr>> {
        let mut parts = Vec::new();
        for proc in 0..self.procs.len() {
            let never = match (self.procs[proc].priority, self.procs[me.proc].priority) {
                (ProcessPriority::Fixed(theirs), ProcessPriority::Fixed(mine)) => theirs <= mine,
                _ => false,
            };
            if never || self.is_alone(proc, me) {
                continue;
            }
            let lets = self.for_all_others(proc, me, span, |lowerer, you| {
                let (theirs, mine) = (lowerer.priority_of(you, span), lowerer.priority_of(me, span));
                let mut moves = vec![lowerer.binary(BinaryOp::Gt, theirs, mine)];
                moves.push(lowerer.can_move_alone(you, span).ok()?);
                if let Some(provided) = &lowerer.program.proctypes[proc].provided {
                    moves.push(lowerer.condition(provided, Some(you)).ok()?);
                }
                let moves = lowerer.and(moves, span);
                Some(lowerer.not(moves))
            });
            parts.push(lets.ok_or(Reported)?);
        }
        Ok(parts)
    }

    /// Whether a process has a step that could be taken, whatever it is provided: a call of a function that says so.
    fn can_move_alone(&mut self, who: &Me, span: Span) -> OrReported<Expr> {
        let function = self.mover(who.proc, span)?;
        let arguments = who.entry.iter().map(|entry| Argument::Value(entry.clone())).collect();
        Ok(Expr { kind: K::Call(function, arguments), ty: self.boolean, span })
    }

    /// The function that says whether a process of a proctype can move, at a timeout or before.
    fn mover(&mut self, proc: usize, span: Span) -> OrReported<FunctionId> {
        let key = (proc, self.timeout);
        match self.movers.get(&key) {
            Some(Mover::Made(function, waits)) => {
                self.timeout_seen |= waits;
                return Ok(*function);
            }
            Some(Mover::Open) => {
                let message = "not supported: to ask whether a process is enabled whose steps depend on the same question";
                return self.error(codes::UNSUPPORTED, span, message);
            }
            None => {}
        }
        self.movers.insert(key, Mover::Open);
        let name = &self.program.proctypes[proc].name;
        let (name, at) = (format!("{} can move", name.node), name.span);
        let locals = std::mem::replace(&mut self.locals, IndexVec::new());
        let several = self.procs[proc].capacity > 1;
        let param = several.then(|| self.entry_local(proc, "i", LocalKind::Variable, at));
        let who = Me { proc, entry: param.map(|param| self.read_local(param, at)) };
        let before = std::mem::replace(&mut self.timeout_seen, false);
        let moves = self.has_step(&who, at);
        let waits = std::mem::replace(&mut self.timeout_seen, before);
        self.timeout_seen |= waits;
        let locals = std::mem::replace(&mut self.locals, locals);
        let body = vec![Stmt { kind: StmtKind::Return(Some(moves?)), span: at }];
        let code = Code { locals, body };
        let params = param.into_iter().collect();
        let function = Function { name, params, result: Some(self.boolean), code, span: at };
        let function = self.model.functions.push(function);
        self.movers.insert(key, Mover::Made(function, waits));
        Ok(function)
    }

    /// Whether the process with a number has a step that could be taken. To ask that of oneself is an error.
    pub(super) fn enabled(&mut self, of: &ast::Expr, me: Option<&Me>, span: Span) -> OrReported<Expr> {
        let number = self.integer_expr(of, me)?;
        let mut parts = Vec::new();
        for proc in 0..self.procs.len() {
            if me.is_some_and(|me| self.is_alone(proc, me)) || !self.may_be_one_of(proc, &number) {
                continue;
            }
            let several = self.procs[proc].capacity > 1;
            let local = several.then(|| self.entry_local(proc, "j", LocalKind::Bound, span));
            let who = Me { proc, entry: local.map(|local| self.read_local(local, span)) };
            let is_it = self.equal(self.pid(&who, span), number.clone());
            let moves = self.can_move_alone(&who, span)?;
            let found = self.and(vec![is_it, moves], span);
            parts.push(match local {
                Some(local) => self.exists(local, self.all_entries(proc, span), found),
                None => found,
            });
        }
        let moves = self.or(parts, span);
        let Some(me) = me.filter(|me| self.may_be_one_of(me.proc, &number)) else { return Ok(moves) };
        let itself = self.equal(self.pid(me, span), number);
        let wrong = self.wrong_question("no process asks whether itself is enabled", span);
        Ok(self.cond(itself, wrong, moves))
    }

    /// Whether a number may be that of a process of a proctype.
    fn may_be_one_of(&self, proc: usize, number: &Expr) -> bool {
        match (&self.procs[proc].pids, &number.kind) {
            (Some(pids), K::Const(Value::Int(number))) => pids.iter().any(|pid| i64::from(*pid) == *number),
            _ => true,
        }
    }

    /// `_priority` and `get_priority(e)`, which is 0 if there is no such process.
    pub(super) fn priority(
        &mut self,
        pid: Option<&ast::Expr>,
        me: Option<&Me>,
        span: Span,
    ) -> OrReported<Expr> {
        let Some(pid) = pid else {
            return match me {
                Some(me) => Ok(self.priority_of(me, span)),
                None => self.error(codes::MISPLACED, span, "`_priority` is that of a process; here is none"),
            };
        };
        let number = self.integer_expr(pid, me)?;
        let mut value = self.int(0, span);
        for proc in 0..self.procs.len() {
            for entry in 0..self.procs[proc].capacity {
                let who = Me { proc, entry: self.numbered_entry(proc, entry, span) };
                let is_it = self.runs_with(&who, &number, span);
                value = self.cond(is_it, self.priority_of(&who, span), value);
            }
        }
        Ok(value)
    }

    /// Whether a process runs and has a number.
    pub(super) fn runs_with(&self, who: &Me, number: &Expr, span: Span) -> Expr {
        let lives = self.not(self.equal(self.read(self.at(who, span)), self.nowhere(who.proc, span)));
        self.and(vec![lives, self.equal(self.pid(who, span), number.clone())], span)
    }

    /// `_priority = e`, which is cut to its bits, and `set_priority(p, e)`, which is checked if there is such a process.
    pub(super) fn set_priority(
        &mut self,
        pid: Option<&ast::Expr>,
        value: &ast::Expr,
        me: &Me,
        span: Span,
    ) -> OrReported<Vec<Stmt>> {
        let Some(pid) = pid else {
            let value = self.converted(value, &ast::Type::Byte, Some(me))?;
            let ProcessPriority::Stored(field) = self.procs[me.proc].priority else { return Err(Reported) };
            return Ok(vec![self.assign(self.field(self.entry(me, span), field), value)]);
        };
        let (pid, value) = (self.integer_expr(pid, Some(me))?, self.integer_expr(value, Some(me))?);
        let mut body = Vec::new();
        let mut held = |lowerer: &mut Self, name: &str, value: Expr| {
            let local = lowerer.new_local(name, lowerer.integer, LocalKind::Variable, span);
            body.push(lowerer.bind(local, value));
            lowerer.read_local(local, span)
        };
        let pid = held(self, "$pid", pid);
        let value = held(self, "$priority", value);
        let property = self.named_property("priorities are 1 to 255", PropertyKind::Assertion, span);
        let within = vec![
            self.binary(BinaryOp::Ge, value.clone(), self.int(1, span)),
            self.binary(BinaryOp::Le, value.clone(), self.int(255, span)),
        ];
        let condition = Some(self.and(within, span));
        let check = Stmt { kind: StmtKind::Check { kind: CheckKind::Assert, condition, property }, span };
        for proc in 0..self.procs.len() {
            let ProcessPriority::Stored(field) = self.procs[proc].priority else { return Err(Reported) };
            for entry in 0..self.procs[proc].capacity {
                let who = Me { proc, entry: self.numbered_entry(proc, entry, span) };
                let place = self.field(self.entry(&who, span), field);
                let set = vec![check.clone(), self.assign(place, value.clone())];
                let is_it = self.runs_with(&who, &pid, span);
                body.extend(self.when(is_it, set, Vec::new()));
            }
        }
        Ok(body)
    }
}
