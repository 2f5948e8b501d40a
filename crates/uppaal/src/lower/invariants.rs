//! Invariants of locations, and when time passes.

use shoal_model::{CheckKind, Expr, LocalKind, Stmt, StmtKind, Type};
use shoal_syntax::{Span, cursor::Parsed};

use super::{ExprView, Lowerer};
use crate::ast;

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

    /// An invariant, in which rates may stand.
    pub(super) fn invariant(&mut self, invariant: &'n ast::Expr, view: &ExprView<'n>) -> Parsed<Expr> {
        self.in_invariant = true;
        let holds = self.truth(invariant, view);
        self.in_invariant = false;
        holds
    }

    /// All invariants of locations.
    fn invariants(&mut self) -> Parsed<Vec<Expr>> {
        let mut held = Vec::new();
        for number in 0..self.processes.len() {
            let template = self.processes[number].template;
            for (at, location) in template.locations.iter().enumerate() {
                let Some(invariant) = &location.invariant else { continue };
                let span = location.name.span;
                held.push(self.of_every_member(number, span, |lowerer, members| {
                    let view = lowerer.view_of(number, members.to_vec());
                    let holds = lowerer.invariant(invariant, &view);
                    let invariant = lowerer.item_or_true(holds, invariant.span);
                    let at = lowerer.at(number, members, at, span);
                    Ok(lowerer.b.implies(at, invariant, span))
                })?);
            }
        }
        Ok(held)
    }

    /// The invariants of the locations in which processes begin.
    pub(super) fn first_invariants(&mut self) -> Parsed<Vec<Expr>> {
        let mut held = Vec::new();
        for number in 0..self.processes.len() {
            let first = &self.processes[number].template.locations[self.processes[number].first];
            let Some(invariant) = &first.invariant else { continue };
            held.push(self.of_every_member(number, first.name.span, |lowerer, members| {
                let view = lowerer.view_of(number, members.to_vec());
                let holds = lowerer.invariant(invariant, &view);
                Ok(lowerer.item_or_true(holds, invariant.span))
            })?);
        }
        Ok(held)
    }

    /// A step that leads to where an invariant does not hold does not exist. All of them are said, also of processes that the
    /// step does not touch: the search for deadlocks goes backwards, and takes from here how long one may wait for the step.
    pub(super) fn keep_invariants(&mut self) -> Parsed<Vec<Stmt>> {
        let held = self.invariants()?;
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
        let mut held = self.invariants()?;
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
