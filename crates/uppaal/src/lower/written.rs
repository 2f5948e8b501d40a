//! Whether a name is ever written in a template: by an assignment, or by a function it may be passed to.

use crate::ast::{Declaration, Expr, ExprKind as K, Start, Stmt, Template};

pub(super) fn in_template(template: &Template, name: &str) -> bool {
    let in_edges = template.edges.iter().flat_map(|edge| &edge.assigns).any(|expr| in_expr(expr, name));
    in_edges
        || template.declarations.iter().any(|declaration| match declaration {
            Declaration::Function(function) => function.body.iter().any(|stmt| in_stmt(stmt, name)),
            _ => false,
        })
}

pub(super) fn in_stmt(stmt: &Stmt, name: &str) -> bool {
    match stmt {
        Stmt::Block(body) => body.iter().any(|stmt| in_stmt(stmt, name)),
        Stmt::Declare(Declaration::Variable(variable)) => {
            variable.start.as_ref().is_some_and(|start| in_start(start, name))
        }
        Stmt::Declare(Declaration::Type(..) | Declaration::Function(_) | Declaration::Priority(..))
        | Stmt::Return(None, _) => false,
        Stmt::Expr(expr) | Stmt::Return(Some(expr), _) => in_expr(expr, name),
        Stmt::If(condition, then, other) => {
            in_expr(condition, name)
                || in_stmt(then, name)
                || other.as_ref().is_some_and(|other| in_stmt(other, name))
        }
        Stmt::While(condition, body) | Stmt::DoWhile(body, condition) => {
            in_expr(condition, name) || in_stmt(body, name)
        }
        Stmt::For(parts, body) => {
            let (first, condition, step) = parts.as_ref();
            first.iter().chain([condition]).chain(step).any(|part| in_expr(part, name)) || in_stmt(body, name)
        }
        Stmt::Each(_, _, body) => in_stmt(body, name),
    }
}

fn in_start(start: &Start, name: &str) -> bool {
    match start {
        Start::Value(value) => in_expr(value, name),
        Start::List(parts, _) => parts.iter().any(|(_, part)| in_start(part, name)),
    }
}

fn in_expr(expr: &Expr, name: &str) -> bool {
    match &expr.kind {
        K::Assign(assign) => root(&assign.to) == Some(name) || in_expr(&assign.value, name),
        // A name that stands alone as an argument may be passed by reference.
        K::Call(_, arguments) => {
            arguments.iter().any(|argument| root(argument) == Some(name) || in_expr(argument, name))
        }
        K::CallOf(of, _, arguments) => {
            let passed = |argument: &Expr| root(argument) == Some(name) || in_expr(argument, name);
            in_expr(of, name) || arguments.iter().any(passed)
        }
        K::Index(of, index) => in_expr(of, name) || in_expr(index, name),
        K::Dot(of, _) | K::Not(of) | K::Minus(of) | K::Rate(of) | K::Quantified(_, _, _, of) => {
            in_expr(of, name)
        }
        K::Binary(_, left, right) => in_expr(left, name) || in_expr(right, name),
        K::Cond(condition, then, other) => {
            [condition, then, other].into_iter().any(|part| in_expr(part, name))
        }
        K::Number(_) | K::Bool(_) | K::Name(_) | K::Deadlock => false,
    }
}

/// The name that a place begins with.
fn root(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        K::Name(name) => Some(name),
        K::Index(of, _) | K::Dot(of, _) => root(of),
        _ => None,
    }
}
