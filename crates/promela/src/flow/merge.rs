//! Merging of statements: steps that nobody else can notice are one with the step before them.
//!
//! This is what SPIN does where it is not told otherwise (`-o3`), so the numbers of states can be compared with its defaults.
//! Assignments, assertions, output and jumps that touch no global variable, or stand in an atomic sequence, follow each
//! other in one step, unless they have a label or can be escaped from. A condition or a receive may begin such a chain.
//! What counts as global is SPIN's notion: it does not look at the index of a local array nor at the branches of a
//! conditional expression, and a channel that nobody else receives from, or sends to, is not global to who does, if that was
//! promised (`xr`, `xs`).

use std::collections::HashMap;

use super::{ElementId, ElementKind, ProctypeFlow};
use crate::ast::{Expr, ExprKind, Program, Promise, Query, StmtKind, Use, VarRef};

/// What merging asks of the whole program.
pub(crate) struct Merging<'p> {
    pub(crate) program: &'p Program,
    /// Whether only `init` makes processes.
    pub(crate) only_init_runs: bool,
    /// Whether some channel is a rendezvous.
    pub(crate) meets: bool,
    /// Whether everything counts as global: the proctype is `provided` something.
    pub(crate) all_global: bool,
    /// What the proctype promises of channels.
    pub(crate) promises: Vec<&'p Promise>,
}

impl ProctypeFlow {
    /// Finds the chains. Labels that others ask for are locations of their own.
    pub(crate) fn merge(&mut self, merging: &Merging<'_>) {
        let mut merged = HashMap::new();
        for id in 0..self.elements.len() {
            if self.may_begin(id, merging) {
                let chain = self.chain(id, merging);
                if !chain.is_empty() {
                    merged.insert(id, chain);
                }
            }
        }
        self.merged = merged;
    }

    /// The steps that follow one and can be merged with it.
    fn chain(&self, from: ElementId, merging: &Merging<'_>) -> Vec<ElementId> {
        let mut chain = Vec::new();
        let mut at = self.target(from);
        while self.may_follow(at, merging) && at != from && !chain.contains(&at) {
            chain.push(at);
            at = self.target(at);
        }
        chain
    }

    /// Whether a step can be merged with the one before it.
    fn may_follow(&self, id: ElementId, merging: &Merging<'_>) -> bool {
        let element = &self.elements[id];
        let kind = match &element.kind {
            ElementKind::Basic(kind) => {
                matches!(**kind, StmtKind::Assign(..) | StmtKind::Assert(_) | StmtKind::Print(..))
            }
            ElementKind::Goto(_) | ElementKind::Leave(_) | ElementKind::Meet => true,
            _ => false,
        };
        // Where a loop is left has a label in SPIN.
        let left = |other: &super::FlowElement| matches!(other.kind, ElementKind::Leave(to) if to == id);
        let labelled = self.labels.iter().any(|(_, at)| *at == id) || self.elements.iter().any(left);
        kind && !labelled && self.is_unnoticed(id, merging)
    }

    /// Whether others can be merged with a step.
    fn may_begin(&self, id: ElementId, merging: &Merging<'_>) -> bool {
        let blocks = match &self.elements[id].kind {
            ElementKind::Basic(kind) => match &**kind {
                StmtKind::Expr(expr) => !matches!(expr.kind, ExprKind::Run(..)),
                StmtKind::Receive(_) => true,
                StmtKind::Send { .. } => !merging.meets,
                _ => false,
            },
            _ => false,
        };
        (blocks && self.is_unnoticed(id, merging)) || self.may_follow(id, merging)
    }

    /// Whether nobody can see the difference between before and after a step, as far as that is asked.
    fn is_unnoticed(&self, id: ElementId, merging: &Merging<'_>) -> bool {
        let element = &self.elements[id];
        let inside = element.atomic || element.last_of_atomic;
        let global = || match &element.kind {
            ElementKind::Basic(kind) => merging.all_global || merging.is_global(kind),
            _ => merging.all_global,
        };
        element.escapes.is_empty() && !self.in_d_step.contains(&id) && (inside || !global())
    }
}

impl Merging<'_> {
    fn is_global(&self, kind: &StmtKind) -> bool {
        match kind {
            StmtKind::Expr(expr) | StmtKind::Assert(expr) => self.reads(expr),
            StmtKind::Assign(place, value) => {
                place.as_ref().is_some_and(|place| self.touches(place)) || self.reads(value)
            }
            StmtKind::Print(_, values) => values.iter().any(|value| self.reads(value)),
            StmtKind::Receive(receive) => !self.is_own(&receive.channel, &[Use::Receive]),
            StmtKind::Send { channel, .. } => !self.is_own(channel, &[Use::Send]),
            _ => true,
        }
    }

    /// Whether others have promised not to use a channel in some ways.
    fn is_own(&self, channel: &VarRef, uses: &[Use]) -> bool {
        let is_promised = |never: &Use| {
            let same = |promise: &&Promise| promise.channel.variable == channel.variable;
            self.promises.iter().any(|promise| promise.never == *never && same(promise))
        };
        uses.iter().all(is_promised)
    }

    fn touches(&self, var: &VarRef) -> bool {
        self.program.variables[var.variable].is_global
    }

    fn reads(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Int(_) | ExprKind::Mtype(..) | ExprKind::Pid => false,
            ExprKind::Var(var) => self.touches(var),
            ExprKind::Not(of) | ExprKind::Neg(of) | ExprKind::BitNot(of) => self.reads(of),
            ExprKind::Binary(_, a, b)
            | ExprKind::Equal(a, b)
            | ExprKind::NotEqual(a, b)
            | ExprKind::And(a, b)
            | ExprKind::Or(a, b) => self.reads(a) || self.reads(b),
            ExprKind::Cond(condition, ..) => self.reads(condition),
            ExprKind::Run(..) => !self.only_init_runs,
            ExprKind::Query(Query::NotEmpty, channel) => !self.is_own(channel, &[Use::Receive]),
            ExprKind::Query(Query::NotFull, channel) => !self.is_own(channel, &[Use::Send]),
            ExprKind::Query(_, channel) => !self.is_own(channel, &[Use::Receive, Use::Send]),
            ExprKind::Poll(receive) => !self.is_own(&receive.channel, &[Use::Receive, Use::Send]),
            _ => true,
        }
    }
}
