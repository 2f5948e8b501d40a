//! Visiting every part of a syntax tree.

use crate::ast::{Expr, ExprKind, Pattern, Receive, Stmt, StmtKind, VarRef};

/// A part of a syntax tree.
pub(crate) enum SyntaxNode<'a> {
    Stmt(&'a Stmt),
    Expr(&'a Expr),
}

/// Visits statements and all that they are made of, each before its parts.
pub(crate) fn walk_block<'a>(block: &'a [Stmt], visit: &mut dyn FnMut(SyntaxNode<'a>)) {
    for stmt in block {
        visit(SyntaxNode::Stmt(stmt));
        walk_stmt(&stmt.kind, visit);
    }
}

/// Visits the parts of a statement.
pub(crate) fn walk_stmt<'a>(kind: &'a StmtKind, visit: &mut dyn FnMut(SyntaxNode<'a>)) {
    match kind {
        StmtKind::Expr(expr) | StmtKind::Assert(expr) => walk_expr(expr, visit),
        StmtKind::Assign(place, value) => {
            place.iter().for_each(|place| walk_var(place, visit));
            walk_expr(value, visit);
        }
        StmtKind::SetPriority(pid, value) => pid.iter().chain([value]).for_each(|it| walk_expr(it, visit)),
        StmtKind::Print(_, values) => values.iter().for_each(|value| walk_expr(value, visit)),
        StmtKind::Send { channel, message, .. } => {
            walk_var(channel, visit);
            message.iter().for_each(|part| walk_expr(part, visit));
        }
        StmtKind::Receive(receive) | StmtKind::Event(_, receive) => walk_receive(receive, visit),
        StmtKind::If(options) | StmtKind::Do(options) => {
            options.iter().for_each(|option| walk_block(option, visit));
        }
        StmtKind::Atomic(body) | StmtKind::DStep(body) | StmtKind::Block(body) | StmtKind::Several(body) => {
            walk_block(body, visit)
        }
        StmtKind::Unless(main, escape) => {
            walk_block(main, visit);
            walk_block(escape, visit);
        }
        StmtKind::Label(_, stmt) => {
            visit(SyntaxNode::Stmt(stmt));
            walk_stmt(&stmt.kind, visit);
        }
        StmtKind::New(place, _, length) => {
            walk_var(place, visit);
            length.iter().for_each(|length| walk_expr(length, visit));
        }
        StmtKind::Delete(place) => walk_var(place, visit),
        StmtKind::Call(place, _, arguments) => {
            place.iter().for_each(|place| walk_var(place, visit));
            arguments.iter().for_each(|argument| walk_expr(argument, visit));
        }
        StmtKind::Return(value) => value.iter().for_each(|value| walk_expr(value, visit)),
        StmtKind::Goto(_) | StmtKind::Break | StmtKind::Else => {}
    }
}

fn walk_var<'a>(var: &'a VarRef, visit: &mut dyn FnMut(SyntaxNode<'a>)) {
    var.index.iter().for_each(|index| walk_expr(index, visit));
    var.fields.iter().flat_map(|(_, index)| index).for_each(|index| walk_expr(index, visit));
}

fn walk_receive<'a>(receive: &'a Receive, visit: &mut dyn FnMut(SyntaxNode<'a>)) {
    walk_var(&receive.channel, visit);
    for part in &receive.parts {
        match part {
            Pattern::Equal(value) => walk_expr(value, visit),
            Pattern::Store(place) => walk_var(place, visit),
            Pattern::Any => {}
        }
    }
}

/// Visits an expression and its parts.
pub(crate) fn walk_expr<'a>(expr: &'a Expr, visit: &mut dyn FnMut(SyntaxNode<'a>)) {
    visit(SyntaxNode::Expr(expr));
    match &expr.kind {
        ExprKind::Var(var) | ExprKind::Query(_, var) => walk_var(var, visit),
        ExprKind::Not(of)
        | ExprKind::Neg(of)
        | ExprKind::BitNot(of)
        | ExprKind::Enabled(of)
        | ExprKind::Location(of)
        | ExprKind::Temporal(_, of) => walk_expr(of, visit),
        ExprKind::Binary(_, a, b)
        | ExprKind::Equal(a, b)
        | ExprKind::NotEqual(a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::Temporal2(_, a, b) => {
            walk_expr(a, visit);
            walk_expr(b, visit);
        }
        ExprKind::Cond(c, a, b) => [c, a, b].into_iter().for_each(|it| walk_expr(it, visit)),
        ExprKind::Run(_, arguments, _) => arguments.iter().for_each(|argument| walk_expr(argument, visit)),
        ExprKind::Poll(receive) => walk_receive(receive, visit),
        ExprKind::At(_, pid, _) | ExprKind::Priority(pid) => pid.iter().for_each(|pid| walk_expr(pid, visit)),
        ExprKind::Remote(_, pid, _, index) => pid.iter().chain(index).for_each(|it| walk_expr(it, visit)),
        ExprKind::Int(_)
        | ExprKind::Mtype(..)
        | ExprKind::Timeout
        | ExprKind::NonProgress
        | ExprKind::Pid
        | ExprKind::Processes
        | ExprKind::Last
        | ExprKind::Null
        | ExprKind::Function(_) => {}
    }
}
