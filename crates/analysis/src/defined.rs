//! Which parts of the state may be undefined after some step.
//!
//! A *slot* is a scalar part of a variable, with the elements of an array taken together. Whatever is computed is defined:
//! reading an undefined value is a fault. So a slot is undefined only where a start leaves it so, where that is said, or
//! where something is copied as it is, from a slot that may be undefined or from a local.

use std::collections::{BTreeMap, BTreeSet};

use shoal_model::{
    Argument, Binding, Code, Expr, ExprKind, FunctionId, LocalId, LocalKind, Model, Node, Place, Projection,
    Root, Stmt, StmtKind, Type, TypeId, Value, VarId, walk_argument, walk_code, walk_domain, walk_expr,
};

/// A scalar part of a variable: the fields on the way to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// The variable.
    pub var: VarId,
    /// The fields of records on the way.
    pub fields: Vec<u32>,
}

/// The slots that may be undefined, if these are after the starts. Nothing if that cannot be known; parts of multisets and
/// sequences are never spoken of.
pub fn undefinable(model: &Model, starts: BTreeSet<Slot>) -> Option<BTreeSet<Slot>> {
    let codes = model.rules.iter().map(|rule| &rule.code);
    if codes.chain(model.functions.iter().map(|function| &function.code)).any(selects) {
        return None;
    }
    let mut found = Found { model, undefined: starts, copies: Vec::new(), calls: Calls::default() };
    for rule in model.rules.iter() {
        let mut targets = Targets::new();
        found.bind(&rule.code, &mut targets, &rule.bindings)?;
        found.walk(&rule.code, &mut targets, |visit| {
            rule.params.iter().for_each(|param| walk_domain(&param.domain, visit));
            rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, visit));
            rule.guard.iter().for_each(|guard| walk_expr(guard, visit));
            walk_code(&rule.code, visit);
        })?;
    }
    while let Some((function, targets)) = found.calls.waiting.pop() {
        let code = &model.functions[function].code;
        found.walk(code, &mut targets.into_iter().collect(), |visit| walk_code(code, visit))?;
    }
    Some(found.close())
}

/// Whether a value is assigned that is one of two, and may be undefined: footprints do not say from where it is.
fn selects(code: &Code) -> bool {
    let mut found = false;
    walk_code(code, &mut |node| {
        if let Node::Stmt(Stmt { kind: StmtKind::Assign(_, value), .. }) = node {
            found |= matches!(value.kind, ExprKind::Cond(..)) && peeks(value);
        }
    });
    found
}

fn peeks(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Peek(_) => true,
        ExprKind::Cond(_, then, other) => peeks(then) || peeks(other),
        _ => false,
    }
}

/// What a place is, as far as slots are concerned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// A part of a variable: a slot, or what has slots.
    Part(Slot),
    /// A local, or a part of one.
    Local,
}

/// What the references of a piece of code may stand for.
type Targets = BTreeMap<LocalId, BTreeSet<Target>>;

/// Functions, and what their references may stand for where they are called.
type Called = (FunctionId, Vec<(LocalId, BTreeSet<Target>)>);

/// What is called, each once: nothing here depends on what is known where it is.
#[derive(Default)]
struct Calls {
    known: BTreeSet<Called>,
    waiting: Vec<Called>,
}

struct Found<'m> {
    model: &'m Model,
    undefined: BTreeSet<Slot>,
    /// To, from.
    copies: Vec<(Slot, Slot)>,
    calls: Calls,
}

impl Found<'_> {
    /// Looks at some of a piece of code. Nothing if it cannot be known what it does.
    fn walk<'a>(
        &mut self,
        code: &'a Code,
        targets: &mut Targets,
        walk: impl FnOnce(&mut dyn FnMut(Node<'a>)),
    ) -> Option<()> {
        let mut known = Some(());
        walk(&mut |node| known = known.and_then(|()| self.node(code, targets, node)));
        known
    }

    fn node(&mut self, code: &Code, targets: &mut Targets, node: Node<'_>) -> Option<()> {
        match node {
            Node::Stmt(stmt) => self.stmt(code, targets, stmt),
            Node::Expr(Expr { kind: ExprKind::Call(function, arguments), .. }) => {
                self.call(code, targets, *function, arguments)
            }
            Node::Expr(_) | Node::Place(_) => Some(()),
        }
    }

    fn stmt(&mut self, code: &Code, targets: &mut Targets, stmt: &Stmt) -> Option<()> {
        match &stmt.kind {
            StmtKind::Create(..) | StmtKind::Delete(_) => None,
            StmtKind::Call(function, arguments) => self.call(code, targets, *function, arguments),
            StmtKind::Bind(bindings) => self.bind(code, targets, bindings),
            StmtKind::Assign(place, value) => self.assign(code, targets, place, value),
            StmtKind::Undefine(place)
            | StmtKind::MultisetAdd(place, _)
            | StmtKind::MultisetRemove(place, _)
            | StmtKind::MultisetRemoveIf { place, .. }
            | StmtKind::Insert { place, .. }
            | StmtKind::Remove(place, _) => {
                self.blank(place.ty, &targets_of(code, targets, place)?);
                Some(())
            }
            // Least values are defined.
            StmtKind::Clear(_) => Some(()),
            StmtKind::If(..)
            | StmtKind::While { .. }
            | StmtKind::For { .. }
            | StmtKind::Choose { .. }
            | StmtKind::Check { .. }
            | StmtKind::Return(_)
            | StmtKind::Output(_) => Some(()),
        }
    }

    fn bind(&mut self, code: &Code, targets: &mut Targets, bindings: &[Binding]) -> Option<()> {
        for binding in bindings {
            if let LocalKind::Reference { .. } = code.locals[binding.local].kind {
                let to = argument(code, targets, &binding.to)?;
                targets.entry(binding.local).or_default().extend(to);
            }
        }
        Some(())
    }

    fn call(
        &mut self,
        code: &Code,
        targets: &Targets,
        function: FunctionId,
        arguments: &[Argument],
    ) -> Option<()> {
        let callee = &self.model.functions[function];
        let mut passed = Vec::new();
        for (param, to) in callee.params.iter().zip(arguments) {
            if let LocalKind::Reference { .. } = callee.code.locals[*param].kind {
                passed.push((*param, argument(code, targets, to)?));
            }
        }
        let called = (function, passed);
        if self.calls.known.insert(called.clone()) {
            self.calls.waiting.push(called);
        }
        Some(())
    }

    fn assign(&mut self, code: &Code, targets: &Targets, place: &Place, value: &Expr) -> Option<()> {
        let to = targets_of(code, targets, place)?;
        match &value.kind {
            // To read a scalar that is undefined is a fault.
            ExprKind::Read(from) | ExprKind::Peek(from)
                if matches!(value.kind, ExprKind::Peek(_)) || !self.model.kind(from.ty).is_scalar() =>
            {
                let bound = |local: LocalId| code.locals[local].kind == LocalKind::Bound;
                if matches!(from.root, Root::Local(local) if bound(local)) {
                    return Some(());
                }
                for source in targets_of(code, targets, from)? {
                    match source {
                        Target::Part(source) if from.ty == place.ty => self.copy(place.ty, &to, &source),
                        Target::Part(_) | Target::Local => self.blank(place.ty, &to),
                    }
                }
            }
            ExprKind::Const(value) if !has_undefined(value) => {}
            // A result. Of something composite, it is not known what it was put together from.
            _ if self.model.kind(place.ty).is_scalar() && !matches!(value.kind, ExprKind::Const(_)) => {}
            _ => self.blank(place.ty, &to),
        }
        Some(())
    }

    /// All parts of something may be undefined.
    fn blank(&mut self, ty: TypeId, targets: &BTreeSet<Target>) {
        for target in targets {
            let Target::Part(of) = target else { continue };
            each_part(self.model, ty, &mut |part| {
                self.undefined.insert(of.part(part));
            });
        }
    }

    fn copy(&mut self, ty: TypeId, targets: &BTreeSet<Target>, from: &Slot) {
        for target in targets {
            let Target::Part(to) = target else { continue };
            each_part(self.model, ty, &mut |part| self.copies.push((to.part(part), from.part(part))));
        }
    }

    /// What is copied from a slot that may be undefined may be, too.
    fn close(mut self) -> BTreeSet<Slot> {
        loop {
            let before = self.undefined.len();
            for (to, from) in &self.copies {
                if self.undefined.contains(from) {
                    self.undefined.insert(to.clone());
                }
            }
            if self.undefined.len() == before {
                return self.undefined;
            }
        }
    }
}

fn has_undefined(value: &Value) -> bool {
    match value {
        Value::Undefined => true,
        Value::Record(parts) | Value::Array(parts) => parts.iter().any(has_undefined),
        Value::Multiset(_) | Value::Sequence(_) => true,
        _ => false,
    }
}

impl Slot {
    /// A part of it.
    fn part(&self, fields: &[u32]) -> Slot {
        Slot { var: self.var, fields: self.fields.iter().chain(fields).copied().collect() }
    }
}

/// What an argument for a reference may be.
fn argument(code: &Code, targets: &Targets, argument: &Argument) -> Option<BTreeSet<Target>> {
    match argument {
        Argument::Place(place) => targets_of(code, targets, place),
        Argument::Value(_) => Some(BTreeSet::from([Target::Local])),
    }
}

/// What a place may be; nothing if it is reached by a reference of which that is not known.
fn targets_of(code: &Code, targets: &Targets, place: &Place) -> Option<BTreeSet<Target>> {
    let roots = match place.root {
        Root::Var(var) => BTreeSet::from([Target::Part(Slot { var, fields: Vec::new() })]),
        Root::Local(local) => match code.locals[local].kind {
            LocalKind::Bound | LocalKind::Variable => BTreeSet::from([Target::Local]),
            LocalKind::Reference { .. } => targets.get(&local)?.clone(),
        },
    };
    let fields: Vec<u32> = place
        .path
        .iter()
        .filter_map(|step| match step {
            Projection::Field(field) => Some(*field),
            Projection::Index(_) | Projection::Slot(_) | Projection::Item(_) => None,
        })
        .collect();
    let part = |target: Target| match target {
        Target::Part(of) => Target::Part(of.part(&fields)),
        Target::Local => Target::Local,
    };
    Some(roots.into_iter().map(part).collect())
}

/// The scalar parts of a type, by the fields on the way.
fn each_part(model: &Model, ty: TypeId, visit: &mut dyn FnMut(&[u32])) {
    fn walk(model: &Model, ty: TypeId, fields: &mut Vec<u32>, visit: &mut dyn FnMut(&[u32])) {
        match model.kind(ty) {
            Type::Record { fields: parts } => {
                for (at, part) in (0..).zip(parts) {
                    fields.push(at);
                    walk(model, part.ty, fields, visit);
                    fields.pop();
                }
            }
            Type::Array { element, .. } => walk(model, *element, fields, visit),
            Type::Multiset { .. } | Type::Sequence { .. } => {}
            _ => visit(fields),
        }
    }
    walk(model, ty, &mut Vec::new(), visit);
}
