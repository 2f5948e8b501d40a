//! Invariants of locations, and when time passes.

use shoal_model::{CheckKind, Expr, LocalKind, Stmt, StmtKind, Type, walk_block, walk_expr};
use shoal_syntax::Span;

use super::Lowerer;
use crate::cursor::Parsed;

impl<'n> Lowerer<'n> {
    /// Goes on only where a condition holds.
    pub(super) fn assume(&mut self, condition: Expr, span: Span) -> Stmt {
        let property = self.assumption();
        Stmt { kind: StmtKind::Check { kind: CheckKind::Assume, condition: Some(condition), property }, span }
    }

    /// A condition on every member of a family.
    pub(super) fn of_every_member(
        &mut self,
        process: usize,
        span: Span,
        body: impl FnOnce(&mut Self, &[Expr]) -> Parsed<Expr>,
    ) -> Parsed<Expr> {
        let family = self.processes[process].family.clone();
        let name = self.processes[process].name.clone();
        let locals: Vec<_> =
            family.iter().map(|ty| self.b.local(&name, *ty, LocalKind::Bound, span)).collect();
        let members: Vec<Expr> = locals.iter().map(|local| self.b.read_local(*local, span)).collect();
        let body = body(self, &members)?;
        Ok(locals.into_iter().rev().fold(body, |body, local| self.b.quantified(true, local, body, span)))
    }

    /// The invariants of those locations that are wanted.
    fn invariants(&mut self, wanted: impl Fn(&Self, usize, usize) -> bool) -> Parsed<Vec<Expr>> {
        let mut held = Vec::new();
        for number in 0..self.processes.len() {
            let template = self.processes[number].template;
            for (at, location) in template.locations.iter().enumerate() {
                let Some(invariant) = location.invariant.as_ref().filter(|_| wanted(self, number, at)) else {
                    continue;
                };
                let span = location.name.span;
                held.push(self.of_every_member(number, span, |lowerer, members| {
                    let view = lowerer.view_of(number, members.to_vec());
                    let invariant = lowerer.truth(invariant, &view)?;
                    let at = lowerer.at(number, members, at, span);
                    Ok(lowerer.b.implies(at, invariant, span))
                })?);
            }
        }
        Ok(held)
    }

    /// Finds out what invariants read.
    pub(super) fn read_invariants(&mut self) -> Parsed<()> {
        let mut all = Vec::new();
        for number in 0..self.processes.len() {
            self.go_on()?;
            let mut of_process = Vec::new();
            for at in 0..self.processes[number].template.locations.len() {
                let invariant =
                    self.invariants(|_, process, location| (process, location) == (number, at))?;
                let mut read = Vec::new();
                for part in &invariant {
                    walk_expr(part, &mut |node| self.note(node, &mut read, false));
                }
                of_process.push((!invariant.is_empty()).then_some(read));
                self.b.take_locals();
            }
            all.push(of_process);
        }
        self.invariant_reads = all;
        Ok(())
    }

    /// The invariants of the locations in which processes begin.
    pub(super) fn first_invariants(&mut self) -> Parsed<Vec<Expr>> {
        let mut held = Vec::new();
        for number in 0..self.processes.len() {
            let first = &self.processes[number].template.locations[self.processes[number].first];
            let Some(invariant) = &first.invariant else { continue };
            held.push(self.of_every_member(number, first.name.span, |lowerer, members| {
                let view = lowerer.view_of(number, members.to_vec());
                lowerer.truth(invariant, &view)
            })?);
        }
        Ok(held)
    }

    /// A step that leads to where an invariant does not hold does not exist. Those that read nothing that the step writes
    /// hold as they did before it.
    pub(super) fn keep_invariants(&mut self, body: &[Stmt]) -> Parsed<Vec<Stmt>> {
        let mut written = Vec::new();
        walk_block(body, &mut |node| self.note(node, &mut written, true));
        let held = self.invariants(|lowerer, process, at| {
            let read = lowerer.invariant_reads[process][at].as_ref();
            read.is_some_and(|read| read.iter().any(|var| written.contains(var)))
        })?;
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let condition = self.b.and(held, self.span);
        Ok(vec![self.assume(condition, self.span)])
    }

    /// Time passes while the invariants hold and nobody is in an urgent location. Without clocks nobody sees it pass, but
    /// formulas about runs ask how long a process may stay where it is.
    pub(super) fn time_passes(&mut self, matters: bool) -> Parsed<()> {
        let model = &self.b.model;
        if !matters && !model.vars.iter().any(|var| model.type_contains(var.ty, &|part| *part == Type::Clock))
        {
            return Ok(());
        }
        let mut held = self.invariants(|_, _, _| true)?;
        for number in 0..self.processes.len() {
            let template = self.processes[number].template;
            for (at, location) in template.locations.iter().enumerate() {
                if location.urgent {
                    held.push(self.nobody_at(number, at, location.name.span));
                }
            }
        }
        let expr = self.b.and(held, self.span);
        self.b.model.while_time_passes = Some(self.b.condition(expr));
        Ok(())
    }
}
