//! What nothing reads: who wrote last, kept beside a protocol for those who argue about it.
//!
//! A part of the state is a variable, or a field of a record wherever such records are. It is *read* where a place that leads
//! through it is more than the target of an assignment. Copies of whole records read nothing by themselves: what they copy into
//! has the same fields. What nothing reads is never written in the Model that is made, so it stays undefined.
//!
//! Both Models do the same: by induction their states agree on all else, so guards, values, faults and properties do. A write
//! that is left out has no fault of its own, and a value that might have one is still evaluated. Only whether a step
//! changes anything may be seen less often: who looks for steps that change nothing must know.
//!
//! Loops that keep their last element in such a part (`for p: Node do if acked[p] then lastAck := p end end`) are symmetric
//! without it.

use std::collections::BTreeSet;

use shoal_model::{
    Argument, Binding, Domain, Expr, ExprKind, FunctionId, IndexVec, Local, LocalId, LocalKind, Model, Node,
    OutputItem, Place, Projection, PropertyKind, Root, Stmt, StmtKind, Type, TypeId, UnaryOp, VarId,
    internal, walk_argument, walk_block, walk_condition, walk_domain, walk_expr,
};

/// A model in which nothing is kept that nothing reads. Its starts, rules and properties have the same numbers as before.
#[derive(Clone, Debug)]
pub struct WithoutUnread {
    /// The model.
    pub model: Model,
    /// What it does not keep, by name.
    pub parts: Vec<String>,
}

/// A part of the state, in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TextPart {
    Var(VarId),
    /// A field of a type of records.
    Field(TypeId, u32),
}

/// The model without what nothing reads; nothing if all that is written is read.
pub fn without_unread(model: &Model) -> Option<WithoutUnread> {
    let is_extreme = |kind: &PropertyKind| matches!(kind, PropertyKind::Extreme(_));
    if model.while_time_passes.is_some()
        || !model.agents.is_empty()
        || model.properties.iter().any(|property| is_extreme(&property.kind))
    {
        return None;
    }
    let mut left = model.clone();
    let mut gone: BTreeSet<TextPart> = BTreeSet::new();
    // What only a value reads that is not kept is not read, either.
    loop {
        let mut removal = Removal { read: Reads::of(&left).found, gone: BTreeSet::new() };
        let from = left.clone();
        for rule in left.starts.iter_mut().chain(left.rules.iter_mut()) {
            removal.block(&from, &rule.code.locals, &mut rule.code.body);
        }
        for function in left.functions.iter_mut() {
            removal.block(&from, &function.code.locals, &mut function.code.body);
        }
        if removal.gone.is_empty() {
            break;
        }
        gone.append(&mut removal.gone);
    }
    let parts: Vec<String> = gone.iter().map(|part| part.name(model)).collect();
    (!parts.is_empty())
        .then(|| WithoutUnread { model: left.made_by("leaving out what nothing reads"), parts })
}

impl TextPart {
    fn name(self, model: &Model) -> String {
        match self {
            TextPart::Var(var) => model.vars[var].name.clone(),
            TextPart::Field(ty, at) => match model.kind(ty) {
                Type::Record { fields } => fields[at as usize].name.clone(),
                other => internal!("a field of {other:?}"),
            },
        }
    }
}

type CodeLocals = IndexVec<LocalId, Local>;

/// The parts that a place leads through.
fn parts_of(model: &Model, locals: &CodeLocals, place: &Place) -> Vec<TextPart> {
    let (mut parts, mut ty) = match place.root {
        Root::Var(var) => (vec![TextPart::Var(var)], model.vars[var].ty),
        Root::Local(local) => (Vec::new(), locals[local].ty),
    };
    for projection in &place.path {
        match (projection, model.kind(ty)) {
            (Projection::Field(at), Type::Record { fields }) => {
                parts.push(TextPart::Field(ty, *at));
                ty = fields[*at as usize].ty;
            }
            (
                Projection::Index(_) | Projection::Slot(_) | Projection::Item(_),
                Type::Array { element, .. } | Type::Multiset { element, .. } | Type::Sequence { element, .. },
            ) => ty = *element,
            (projection, other) => internal!("{projection:?} of {other:?}"),
        }
    }
    parts
}

/// What is read.
struct Reads<'m> {
    model: &'m Model,
    found: BTreeSet<TextPart>,
    /// The places that are only written, by where they are in memory.
    targets: BTreeSet<usize>,
}

impl<'m> Reads<'m> {
    fn of(model: &'m Model) -> Reads<'m> {
        let mut reads = Reads { model, found: BTreeSet::new(), targets: BTreeSet::new() };
        for rule in model.starts.iter().chain(model.rules.iter()) {
            let locals = &rule.code.locals;
            let mut visit = |node: Node<'m>| reads.node(locals, None, node);
            rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
            rule.params.iter().for_each(|param| walk_domain(&param.domain, &mut visit));
            rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut visit));
            walk_block(&rule.code.body, &mut visit);
            reads.bindings(locals, &rule.bindings);
        }
        for function in model.functions.iter() {
            let (locals, result) = (&function.code.locals, function.result);
            walk_block(&function.code.body, &mut |node| reads.node(locals, result, node));
        }
        let properties = model.properties.iter().flat_map(|property| property.kind.conditions());
        for condition in properties.chain(&model.fairness) {
            walk_condition(condition, &mut |node| reads.node(&condition.locals, None, node));
        }
        reads
    }

    fn node(&mut self, locals: &CodeLocals, result: Option<TypeId>, node: Node<'m>) {
        match node {
            Node::Place(place) => {
                if !self.targets.contains(&(place as *const Place as usize)) {
                    self.found.extend(parts_of(self.model, locals, place));
                }
            }
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Equal(a, b) => {
                    self.whole(a.ty);
                    self.whole(b.ty);
                }
                ExprKind::Call(function, arguments) => self.arguments(*function, arguments),
                // What they read is in their places.
                ExprKind::Const(_)
                | ExprKind::Read(_)
                | ExprKind::Peek(_)
                | ExprKind::IsUndefined(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::And(_)
                | ExprKind::Or(_)
                | ExprKind::Implies(..)
                | ExprKind::Cond(..)
                | ExprKind::Quantified { .. }
                | ExprKind::IsMember(..)
                | ExprKind::Ordinal(_)
                | ExprKind::ElementAt(..)
                | ExprKind::Entry(..)
                | ExprKind::Len(_)
                | ExprKind::Exists(_) => {}
            },
            Node::Stmt(stmt) => self.stmt(locals, result, stmt),
        }
    }

    fn stmt(&mut self, locals: &CodeLocals, result: Option<TypeId>, stmt: &'m Stmt) {
        match &stmt.kind {
            StmtKind::Assign(place, value) => {
                self.copied(value.ty, place.ty);
                self.target(locals, place, Some(value));
            }
            StmtKind::Undefine(place) | StmtKind::Clear(place) => self.target(locals, place, None),
            StmtKind::MultisetAdd(place, value) | StmtKind::Insert { place, value, .. } => {
                match self.model.kind(place.ty) {
                    Type::Multiset { element, .. } | Type::Sequence { element, .. } => {
                        self.copied(value.ty, *element);
                    }
                    _ => self.whole(value.ty),
                }
            }
            StmtKind::Return(Some(value)) => match result {
                Some(result) => self.copied(value.ty, result),
                None => self.whole(value.ty),
            },
            StmtKind::Call(function, arguments) => self.arguments(*function, arguments),
            StmtKind::Bind(bindings) => self.bindings(locals, bindings),
            // What they read is in expressions and places.
            StmtKind::If(..)
            | StmtKind::While { .. }
            | StmtKind::For { .. }
            | StmtKind::Choose { .. }
            | StmtKind::Check { .. }
            | StmtKind::Return(None)
            | StmtKind::Output(_)
            | StmtKind::MultisetRemove(..)
            | StmtKind::MultisetRemoveIf { .. }
            | StmtKind::Remove(..)
            | StmtKind::Create(..)
            | StmtKind::Delete(_) => {}
        }
    }

    /// A place that is written. One that cannot be left out is as good as read.
    fn target(&mut self, locals: &CodeLocals, place: &'m Place, value: Option<&Expr>) {
        if may_go(self.model, locals, place, value) {
            self.targets.insert(place as *const Place as usize);
        }
    }

    fn bindings(&mut self, locals: &CodeLocals, bindings: &[Binding]) {
        for Binding { local, to } in bindings {
            self.copied(argument_type(to), locals[*local].ty);
        }
    }

    fn arguments(&mut self, function: FunctionId, arguments: &[Argument]) {
        let callee = &self.model.functions[function];
        for (param, argument) in callee.params.iter().zip(arguments) {
            self.copied(argument_type(argument), callee.code.locals[*param].ty);
        }
    }

    /// What is copied keeps its fields if the types are the same; otherwise it is not followed.
    fn copied(&mut self, from: TypeId, to: TypeId) {
        if from != to {
            self.whole(from);
            self.whole(to);
        }
    }

    /// All that a value of the type has is read.
    fn whole(&mut self, ty: TypeId) {
        match self.model.kind(ty) {
            Type::Record { fields } => {
                for (at, field) in fields.iter().enumerate() {
                    self.found.insert(TextPart::Field(ty, at as u32));
                    self.whole(field.ty);
                }
            }
            Type::Array { element, .. } | Type::Multiset { element, .. } | Type::Sequence { element, .. } => {
                self.whole(*element);
            }
            Type::Bool
            | Type::Int { .. }
            | Type::Enum { .. }
            | Type::Ref { .. }
            | Type::Union { .. }
            | Type::Clock => {}
        }
    }
}

fn argument_type(argument: &Argument) -> TypeId {
    match argument {
        Argument::Place(place) => place.ty,
        Argument::Value(value) => value.ty,
    }
}

/// Whether a write can be left out, if its value is evaluated all the same where it might fault: neither finding the place nor
/// putting the value there may.
fn may_go(model: &Model, locals: &CodeLocals, place: &Place, value: Option<&Expr>) -> bool {
    is_found(model, locals, place) && value.is_none_or(|value| always_fits(model, value.ty, place.ty))
}

/// Whether a place is there in any case.
fn is_found(model: &Model, locals: &CodeLocals, place: &Place) -> bool {
    let mut ty = match place.root {
        Root::Var(var) => model.vars[var].ty,
        Root::Local(local) => locals[local].ty,
    };
    for projection in &place.path {
        match (projection, model.kind(ty)) {
            (Projection::Field(at), Type::Record { fields }) => ty = fields[*at as usize].ty,
            (Projection::Index(index), Type::Array { index: of, element }) => {
                if !is_value(locals, index) || !model.same_values(index.ty, *of) {
                    return false;
                }
                ty = *element;
            }
            _ => return false,
        }
    }
    true
}

/// A constant, or what a parameter, a quantifier or a loop binds.
fn is_value(locals: &CodeLocals, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) => true,
        ExprKind::Read(place) | ExprKind::Peek(place) => match place.root {
            Root::Local(local) => place.path.is_empty() && locals[local].kind == LocalKind::Bound,
            Root::Var(_) => false,
        },
        _ => false,
    }
}

/// Whether all values of a type are values of another.
fn always_fits(model: &Model, from: TypeId, to: TypeId) -> bool {
    if model.same_values(from, to) {
        return true;
    }
    match (model.kind(from), model.kind(to)) {
        (Type::Int { lo, hi }, Type::Int { lo: least, hi: most }) => least <= lo && hi <= most,
        (Type::Union { members }, _) => members.iter().all(|member| always_fits(model, *member, to)),
        (_, Type::Union { members }) => members.iter().any(|member| always_fits(model, from, *member)),
        _ => false,
    }
}

/// Whether evaluating an expression never faults.
fn cannot_fault(model: &Model, locals: &CodeLocals, expr: &Expr) -> bool {
    let safe = |expr: &Expr| cannot_fault(model, locals, expr);
    match &expr.kind {
        ExprKind::Peek(place) | ExprKind::IsUndefined(place) => is_found(model, locals, place),
        // A composite value is copied with its undefined parts.
        ExprKind::Read(place) if !model.kind(place.ty).is_scalar() => is_found(model, locals, place),
        ExprKind::Const(_) | ExprKind::Read(_) => is_value(locals, expr),
        ExprKind::Unary(UnaryOp::Not, of) => safe(of),
        ExprKind::Equal(a, b) | ExprKind::Implies(a, b) => safe(a) && safe(b),
        ExprKind::And(of) | ExprKind::Or(of) => of.iter().all(safe),
        ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, _)
        | ExprKind::Binary(..)
        | ExprKind::Cond(..)
        | ExprKind::Quantified { .. }
        | ExprKind::Call(..)
        | ExprKind::IsMember(..)
        | ExprKind::Ordinal(_)
        | ExprKind::ElementAt(..)
        | ExprKind::Entry(..)
        | ExprKind::Len(_)
        | ExprKind::Exists(_) => false,
    }
}

/// Leaves out what is written and not read.
struct Removal {
    read: BTreeSet<TextPart>,
    gone: BTreeSet<TextPart>,
}

impl Removal {
    fn block(&mut self, model: &Model, locals: &CodeLocals, block: &mut Vec<Stmt>) {
        let stmts = std::mem::take(block);
        block.extend(stmts.into_iter().filter_map(|stmt| self.stmt(model, locals, stmt)));
    }

    fn stmt(&mut self, model: &Model, locals: &CodeLocals, mut stmt: Stmt) -> Option<Stmt> {
        match &mut stmt.kind {
            StmtKind::Assign(..) | StmtKind::Undefine(_) | StmtKind::Clear(_) => {
                return self.write(model, locals, stmt);
            }
            StmtKind::If(arms, other) => {
                arms.iter_mut().for_each(|(_, arm)| self.block(model, locals, arm));
                self.block(model, locals, other);
            }
            StmtKind::While { body, .. } | StmtKind::For { body, .. } => self.block(model, locals, body),
            StmtKind::Bind(_)
            | StmtKind::Choose { .. }
            | StmtKind::Check { .. }
            | StmtKind::Return(_)
            | StmtKind::Call(..)
            | StmtKind::Output(_)
            | StmtKind::MultisetAdd(..)
            | StmtKind::MultisetRemove(..)
            | StmtKind::MultisetRemoveIf { .. }
            | StmtKind::Insert { .. }
            | StmtKind::Remove(..)
            | StmtKind::Create(..)
            | StmtKind::Delete(_) => {}
        }
        (!does_nothing(model, locals, &stmt)).then_some(stmt)
    }

    /// A write. Where nothing reads what it writes its value is left, if it might fault.
    fn write(&mut self, model: &Model, locals: &CodeLocals, stmt: Stmt) -> Option<Stmt> {
        let parts = stmt.kind.written().map_or(Vec::new(), |place| parts_of(model, locals, place));
        let Some(unread) = parts.into_iter().find(|part| !self.read.contains(part)) else {
            return Some(stmt);
        };
        self.gone.insert(unread);
        match stmt.kind {
            StmtKind::Assign(_, value) if !cannot_fault(model, locals, &value) => {
                Some(Stmt { kind: StmtKind::Output(vec![OutputItem::Value(value)]), span: stmt.span })
            }
            _ => None,
        }
    }
}

/// Whether nothing is left of a statement.
fn does_nothing(model: &Model, locals: &CodeLocals, stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::If(arms, other) => {
            let is_idle =
                |(test, arm): &(Expr, Vec<Stmt>)| arm.is_empty() && cannot_fault(model, locals, test);
            other.is_empty() && arms.iter().all(is_idle)
        }
        StmtKind::For { domain: Domain::Type(_), body, .. } => body.is_empty(),
        _ => false,
    }
}
