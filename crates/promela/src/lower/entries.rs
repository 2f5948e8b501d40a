//! The entries of a proctype: numbers, or the elements of a sort where its processes are to be interchangeable.
//!
//! Processes can be told apart by their numbers alone: who uses `_pid`, `_last`, or asks another process by its number turns
//! an element into a number, and that breaks the sort for whoever proves symmetry. What is left to see to here is that
//! nothing else does. A new process takes any entry that is free instead of the first. Processes that come to their end do so
//! in the order of their numbers, and channels that they own are numbered with them: their proctypes keep numbers.

use shoal_model::{
    CheckKind, Domain, Expr, ExprKind as K, LocalId, LocalKind, Sort, SortSize, Stmt, StmtKind, Type, Value,
};
use shoal_syntax::{Diagnostic, Span};

use super::{Lowerer, Me};
use crate::{
    ast, codes,
    walk::{SyntaxNode, walk_expr},
};

impl Lowerer<'_> {
    /// Makes the entries of a proctype the elements of a sort, if that is wanted and can be. Where there are to be any number
    /// of processes they have to be.
    pub(super) fn declare_entries(&mut self, proc: usize) {
        let proctype = &self.program.proctypes[proc];
        let name = &proctype.name;
        let is_any = proctype.count.is_some_and(|span| self.program.any_counts.contains(&span));
        let ordered = self.options.ordered.iter().any(|it| **it == *name.node);
        let wanted = is_any || self.options.symmetric_processes && !ordered;
        let why = self.why_numbered(proc);
        if let (true, Some(why)) = (is_any, why) {
            let message = format!("there cannot be any number of processes of `{}`: {why}", name.node);
            let diagnostic = Diagnostic::error(codes::NOT_ANY, name.span, message);
            drop(self.report::<()>(diagnostic));
        }
        if !wanted || why.is_some() {
            return;
        }
        let size = SortSize::Fixed(self.procs[proc].capacity);
        let sort =
            self.model.sorts.push(Sort { name: name.node.to_string(), size, first: 1, span: name.span });
        self.procs[proc].entries = Some(self.add_type(None, Type::Ref { sort, nullable: false }));
    }

    /// Why the processes of a proctype keep numbers.
    fn why_numbered(&self, proc: usize) -> Option<&'static str> {
        let (proctype, of) = (&self.program.proctypes[proc], &self.procs[proc]);
        let reasons = [
            (of.capacity < 2, "there is one of it"),
            (of.ends, "they come to their end, in the order of their numbers"),
            (
                self.channels.sites.iter().any(|site| site.owner == Some(proc)),
                "each of them has a channel of its own",
            ),
            (proctype.active != 0 && proctype.active != of.capacity, "more of it are run later"),
            (of.pids.is_none() || of.guessed, "it is not known how many of it are run"),
            (self.counts_at_birth(proc), "what they begin with depends on how many there are"),
            (self.minds_others(), "who moves depends on which others can"),
            (self.options.weak_fairness, "runs are to be fair, so it matters who moves"),
        ];
        reasons.into_iter().find(|(is_so, _)| *is_so).map(|(_, why)| why)
    }

    /// Whether a variable of a process begins with something that depends on `_nr_pr`.
    fn counts_at_birth(&self, proc: usize) -> bool {
        let mut counts = false;
        let mut look = |expr: &ast::Expr| {
            walk_expr(expr, &mut |node| {
                counts |=
                    matches!(node, SyntaxNode::Expr(expr) if matches!(expr.kind, ast::ExprKind::Processes));
            });
        };
        for id in &self.program.proctypes[proc].variables {
            match &self.program.variables[*id].init {
                Some(ast::Init::Value(value)) => look(value),
                Some(ast::Init::List(values)) => values.iter().for_each(&mut look),
                Some(ast::Init::New(_) | ast::Init::Channel { .. }) | None => {}
            }
        }
        counts
    }

    /// All entries of a proctype.
    pub(super) fn all_entries(&self, proc: usize, span: Span) -> Domain {
        match self.procs[proc].entries {
            Some(ty) => Domain::Type(ty),
            None => {
                let last = i64::from(self.procs[proc].capacity) - 1;
                self.range_domain(self.int(0, span), self.int(last, span))
            }
        }
    }

    /// A local that holds an entry of a proctype.
    pub(super) fn entry_local(&mut self, proc: usize, name: &str, kind: LocalKind, span: Span) -> LocalId {
        let ty = self.procs[proc].entries.unwrap_or(self.integer);
        self.new_local(name, ty, kind, span)
    }

    /// An entry by its number, if there are several.
    pub(super) fn numbered_entry(&self, proc: usize, number: u32, span: Span) -> Option<Expr> {
        if self.procs[proc].capacity < 2 {
            return None;
        }
        let Some(ty) = self.procs[proc].entries else { return Some(self.int(i64::from(number), span)) };
        let value = self.model.value_at(ty, u64::from(number)).unwrap_or(Value::Undefined);
        Some(Expr { kind: K::Const(value), ty, span })
    }

    /// The number of an entry.
    pub(super) fn entry_number(&self, proc: usize, entry: &Expr) -> Expr {
        match self.procs[proc].entries {
            Some(_) => Expr { kind: K::Ordinal(Box::new(entry.clone())), ty: self.integer, span: entry.span },
            None => entry.clone(),
        }
    }

    /// An entry that no process has: the first, or any.
    pub(super) fn free_entry(&mut self, proc: usize, body: &mut Vec<Stmt>, span: Span) -> Me {
        if self.procs[proc].entries.is_none() {
            let local = self.new_local("$new", self.integer, LocalKind::Variable, span);
            let running = self.running(proc, span);
            body.push(self.bind(local, running));
            return Me { proc, entry: Some(self.read_local(local, span)) };
        }
        let local = self.entry_local(proc, "$new", LocalKind::Bound, span);
        body.push(Stmt { kind: StmtKind::Choose { local, domain: self.all_entries(proc, span) }, span });
        let who = Me { proc, entry: Some(self.read_local(local, span)) };
        let condition = Some(self.equal(self.read(self.at(&who, span)), self.nowhere(proc, span)));
        let property = self.assumption(span);
        body.push(Stmt { kind: StmtKind::Check { kind: CheckKind::Assume, condition, property }, span });
        who
    }
}
