//! The loops of a piece of code, each with what is known where it stands.

use shoal_model::{Domain, LocalId, Model, Stmt, StmtKind};

use crate::{
    commute::{Conflict, conflicts},
    effects::{Footprint, Source, Walker},
};

/// A `For` in some code.
pub(crate) struct Loop<'w, 'a> {
    pub(crate) domain: &'a Domain,
    model: &'a Model,
    source: Source<'a>,
    stmt: &'a Stmt,
    local: LocalId,
    body: &'a [Stmt],
    /// Knows the bindings in force.
    walker: &'w Walker<'a>,
}

impl<'a> Loop<'_, 'a> {
    /// What one round does.
    pub(crate) fn round(&self) -> Footprint<'a> {
        self.walker.round(self.local, self.body)
    }

    /// Why the rounds do not commute.
    pub(crate) fn conflicts(&self, round: &Footprint<'a>) -> Vec<Conflict> {
        let mut is_live = |variable| Walker::live_after(self.model, self.source, self.stmt, variable);
        conflicts(self.model, round, self.walker.local(self.local), &mut is_live)
    }
}

/// Visits all loops of a piece of code, outer ones first.
pub(crate) fn for_each_loop<'a>(model: &'a Model, source: Source<'a>, visit: &mut dyn FnMut(Loop<'_, 'a>)) {
    let mut walker = Walker::new(model, source);
    block(model, source, &mut walker, &source.code.body, visit);
}

fn block<'a>(
    model: &'a Model,
    source: Source<'a>,
    walker: &mut Walker<'a>,
    stmts: &'a [Stmt],
    visit: &mut dyn FnMut(Loop<'_, 'a>),
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
                visit(Loop { domain, model, source, stmt, local: *local, body, walker });
                block(model, source, walker, body, visit);
            }
            _ => {}
        }
    }
}
