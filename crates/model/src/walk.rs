//! Visiting every part of a piece of code once, parents before children.

use crate::{
    Argument, Code, Condition, Domain, Expr, ExprKind, OutputItem, Place, Projection, Stmt, StmtKind,
};

/// What a walk meets.
#[derive(Clone, Copy, Debug)]
pub enum Node<'a> {
    /// A statement.
    Stmt(&'a Stmt),
    /// An expression.
    Expr(&'a Expr),
    /// A place that is read, written or referred to.
    Place(&'a Place),
}

/// Visits all statements of a code and what is in them.
pub fn walk_code<'a>(code: &'a Code, visit: &mut dyn FnMut(Node<'a>)) {
    walk_block(&code.body, visit);
}

/// Visits a condition's expression and what is in it.
pub fn walk_condition<'a>(condition: &'a Condition, visit: &mut dyn FnMut(Node<'a>)) {
    walk_expr(&condition.expr, visit);
}

/// Visits the statements and what is in them.
pub fn walk_block<'a>(block: &'a [Stmt], visit: &mut dyn FnMut(Node<'a>)) {
    for stmt in block {
        walk_stmt(stmt, visit);
    }
}

fn walk_stmt<'a>(stmt: &'a Stmt, visit: &mut dyn FnMut(Node<'a>)) {
    visit(Node::Stmt(stmt));
    match &stmt.kind {
        StmtKind::Assign(place, value) | StmtKind::MultisetAdd(place, value) => {
            walk_expr(value, visit);
            walk_place(place, visit);
        }
        StmtKind::Clear(place) | StmtKind::Undefine(place) | StmtKind::Create(place, _) => {
            walk_place(place, visit)
        }
        StmtKind::If(arms, other) => {
            for (condition, block) in arms {
                walk_expr(condition, visit);
                walk_block(block, visit);
            }
            walk_block(other, visit);
        }
        StmtKind::While { condition, body, .. } => {
            walk_expr(condition, visit);
            walk_block(body, visit);
        }
        StmtKind::For { domain, body, .. } => {
            walk_domain(domain, visit);
            walk_block(body, visit);
        }
        StmtKind::Bind(bindings) => bindings.iter().for_each(|binding| walk_argument(&binding.to, visit)),
        StmtKind::Choose { domain, .. } => walk_domain(domain, visit),
        StmtKind::Check { condition, .. } => {
            condition.iter().for_each(|condition| walk_expr(condition, visit))
        }
        StmtKind::Return(value) => value.iter().for_each(|value| walk_expr(value, visit)),
        StmtKind::Call(_, arguments) => arguments.iter().for_each(|argument| walk_argument(argument, visit)),
        StmtKind::Output(items) => {
            for item in items {
                if let OutputItem::Value(value) = item {
                    walk_expr(value, visit);
                }
            }
        }
        StmtKind::MultisetRemove(place, position) | StmtKind::Remove(place, position) => {
            walk_place(place, visit);
            walk_expr(position, visit);
        }
        StmtKind::MultisetRemoveIf { place, condition, .. } => {
            walk_place(place, visit);
            walk_expr(condition, visit);
        }
        StmtKind::Insert { place, at, value } => {
            walk_place(place, visit);
            at.iter().for_each(|at| walk_expr(at, visit));
            walk_expr(value, visit);
        }
        StmtKind::Delete(element) => walk_expr(element, visit),
    }
}

/// Visits an argument and what is in it.
pub fn walk_argument<'a>(argument: &'a Argument, visit: &mut dyn FnMut(Node<'a>)) {
    match argument {
        Argument::Place(place) => walk_place(place, visit),
        Argument::Value(value) => walk_expr(value, visit),
    }
}

/// Visits a domain and what is in it.
pub fn walk_domain<'a>(domain: &'a Domain, visit: &mut dyn FnMut(Node<'a>)) {
    match domain {
        Domain::Type(_) => {}
        Domain::Range { from, to, by } => {
            walk_expr(from, visit);
            walk_expr(to, visit);
            walk_expr(by, visit);
        }
        Domain::Slots(place) => walk_place(place, visit),
    }
}

/// Visits a place and the expressions in its path.
pub fn walk_place<'a>(place: &'a Place, visit: &mut dyn FnMut(Node<'a>)) {
    visit(Node::Place(place));
    for projection in &place.path {
        match projection {
            Projection::Field(_) => {}
            Projection::Index(expr) | Projection::Slot(expr) | Projection::Item(expr) => {
                walk_expr(expr, visit)
            }
        }
    }
}

/// Visits an expression and what is in it.
pub fn walk_expr<'a>(expr: &'a Expr, visit: &mut dyn FnMut(Node<'a>)) {
    visit(Node::Expr(expr));
    match &expr.kind {
        ExprKind::Const(_) => {}
        ExprKind::Read(place)
        | ExprKind::Peek(place)
        | ExprKind::IsUndefined(place)
        | ExprKind::Len(place) => {
            walk_place(place, visit);
        }
        ExprKind::Unary(_, operand)
        | ExprKind::IsMember(operand, _)
        | ExprKind::Ordinal(operand)
        | ExprKind::ElementAt(_, operand)
        | ExprKind::Entry(_, operand)
        | ExprKind::Exists(operand) => walk_expr(operand, visit),
        ExprKind::Binary(_, left, right) | ExprKind::Equal(left, right) | ExprKind::Implies(left, right) => {
            walk_expr(left, visit);
            walk_expr(right, visit);
        }
        ExprKind::And(operands) | ExprKind::Or(operands) => {
            operands.iter().for_each(|operand| walk_expr(operand, visit));
        }
        ExprKind::Cond(condition, then, other) => {
            walk_expr(condition, visit);
            walk_expr(then, visit);
            walk_expr(other, visit);
        }
        ExprKind::Quantified { domain, body, .. } => {
            walk_domain(domain, visit);
            walk_expr(body, visit);
        }
        ExprKind::Call(_, arguments) => arguments.iter().for_each(|argument| walk_argument(argument, visit)),
    }
}
