//! The loops of a piece of code, each with what is known where it stands.

use std::cell::OnceCell;

use shoal_model::{Condition, Domain, LocalId, Model, Rule, Stmt, StmtKind};

use crate::{
    commute::{Conflict, LoopRound, conflicts},
    effects::{AccessPath, CodeEffect, Footprint, LeftInLocals, Source, Walker},
};

/// A `For` in some code.
pub(crate) struct ForLoop<'w, 'a> {
    pub(crate) domain: &'a Domain,
    model: &'a Model,
    source: Source<'a>,
    stmt: &'a Stmt,
    local: LocalId,
    body: &'a [Stmt],
    /// Knows the bindings in force.
    walker: &'w Walker<'a>,
}

impl<'a> ForLoop<'_, 'a> {
    /// What one round does.
    pub(crate) fn round(&self) -> Footprint<'a> {
        self.walker.round(self.local, self.body)
    }

    /// The loop itself.
    pub(crate) fn stmt(&self) -> &'a Stmt {
        self.stmt
    }

    /// Why the rounds do not commute.
    pub(crate) fn conflicts(&self, round: &Footprint<'a>) -> Vec<Conflict> {
        let source = self.source;
        let after = OnceCell::new();
        let mut is_live = |location: &AccessPath| {
            let walk = || {
                let walker = Walker::new(self.model, source);
                walker.after(self.stmt, |walker| walker.block(&source.code.body))
            };
            after.get_or_init(walk).reads(location)
        };
        let round = LoopRound { footprint: round, local: self.walker.local(self.local), own: 1 };
        conflicts(self.model, &round, &mut is_live)
    }
}

/// Code that is executed from the outside.
#[derive(Clone, Copy)]
pub(crate) enum CodeEntry<'a> {
    Rule(&'a Rule),
    Condition(&'a Condition),
}

impl<'a> CodeEntry<'a> {
    fn walker(self, model: &'a Model) -> Walker<'a> {
        match self {
            CodeEntry::Rule(rule) => Walker::new(model, Source::rule(rule)),
            CodeEntry::Condition(condition) => Walker::of_locals(model, &condition.locals),
        }
    }

    fn walk(self, walker: &mut Walker<'a>) {
        match self {
            CodeEntry::Rule(rule) => {
                rule.guard.iter().for_each(|guard| walker.condition(guard));
                walker.block(&rule.code.body);
            }
            CodeEntry::Condition(condition) => walker.condition(&condition.expr),
        }
    }
}

/// What some loops of functions do where the functions are called from the outside, directly or not.
pub(crate) struct Calls<'a> {
    /// Each loop that was met, what it goes through, what a round does, and why rounds do not commute.
    pub(crate) loops: Vec<(&'a Stmt, &'a Domain, Footprint<'a>, Vec<Conflict>)>,
    /// Whether all calls were followed.
    pub(crate) complete: bool,
}

/// Looks at some loops of functions wherever they are executed from here. So many accesses may still be walked, as far as
/// they are counted: a walk is taken to be as long as the first.
pub(crate) fn loops_called<'a>(
    model: &'a Model,
    entry: CodeEntry<'a>,
    wanted: &'a [&'a Stmt],
    fuel: &mut usize,
) -> Calls<'a> {
    let mut walker = entry.walker(model);
    walker.look_at(wanted);
    entry.walk(&mut walker);
    let (met, footprint) = walker.met();
    let length = footprint.accesses.len() + 1;
    *fuel = fuel.saturating_sub(length);
    let lost = |event: &CodeEffect| matches!(event, CodeEffect::TooLarge | CodeEffect::Recursion(_));
    let followed = !footprint.events.iter().any(|(event, _)| lost(event));
    let mut known: Vec<(&Stmt, LeftInLocals<'_>)> = Vec::new();
    let mut loops = Vec::new();
    for met in met {
        let mut is_live = |location: &AccessPath| {
            if let Some((_, after)) = known.iter().find(|(stmt, _)| std::ptr::eq(*stmt, met.stmt)) {
                return after.reads(location);
            }
            if *fuel < length {
                *fuel = 0;
                return true;
            }
            *fuel -= length;
            let after = entry.walker(model).after(met.stmt, |walker| entry.walk(walker));
            let reads = after.reads(location);
            known.push((met.stmt, after));
            reads
        };
        let round = LoopRound { footprint: &met.round, local: met.local, own: met.own };
        let conflicts = conflicts(model, &round, &mut is_live);
        loops.push((met.stmt, met.domain, met.round, conflicts));
    }
    Calls { loops, complete: followed && *fuel > 0 }
}

/// Visits all loops of a piece of code, outer ones first.
pub(crate) fn for_each_loop<'a>(
    model: &'a Model,
    source: Source<'a>,
    visit: &mut dyn FnMut(ForLoop<'_, 'a>),
) {
    let mut walker = Walker::new(model, source);
    block(model, source, &mut walker, &source.code.body, visit);
}

fn block<'a>(
    model: &'a Model,
    source: Source<'a>,
    walker: &mut Walker<'a>,
    stmts: &'a [Stmt],
    visit: &mut dyn FnMut(ForLoop<'_, 'a>),
) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::If(arms, other) => {
                arms.iter().for_each(|(_, arm)| block(model, source, walker, arm, visit));
                block(model, source, walker, other, visit);
            }
            StmtKind::While { body, .. } => block(model, source, walker, body, visit),
            StmtKind::Bind(bindings) => walker.bind(bindings),
            StmtKind::For { local, domain, body } => {
                visit(ForLoop { domain, model, source, stmt, local: *local, body, walker });
                block(model, source, walker, body, visit);
            }
            _ => {}
        }
    }
}
