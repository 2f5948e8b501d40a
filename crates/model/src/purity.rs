//! Functions that only compute.

use crate::{Code, Expr, ExprKind, LocalKind, Model, Node, Place, Root, StmtKind, TypedId, walk_code};

impl Model {
    /// For each function, whether it writes nothing but its own locals, chooses, creates and deletes nothing, and
    /// calls only such functions. A greatest fixpoint, so recursion is no obstacle.
    pub fn pure_functions(&self) -> Vec<bool> {
        let mut pure = vec![true; self.functions.len()];
        loop {
            let before = pure.clone();
            for (id, function) in self.functions.enumerate() {
                pure[id.index()] = before[id.index()] && is_pure(&function.code, &before);
            }
            if pure == before {
                return pure;
            }
        }
    }
}

/// Whether code writes nothing but its own locals, where it is known which functions do so.
pub fn is_pure(code: &Code, pure: &[bool]) -> bool {
    let own = |place: &Place| match place.root {
        Root::Var(_) => false,
        Root::Local(local) => code.locals.get(local).is_some_and(|local| local.kind == LocalKind::Variable),
    };
    let mut result = true;
    walk_code(code, &mut |node| match node {
        Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Choose { .. } | StmtKind::Create(..) | StmtKind::Delete(_) => result = false,
            StmtKind::Call(function, _) => result &= pure[function.index()],
            other => result &= other.written().is_none_or(own),
        },
        Node::Expr(Expr { kind: ExprKind::Call(function, _), .. }) => result &= pure[function.index()],
        _ => {}
    });
    result
}
