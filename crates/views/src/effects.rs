//! What the rounds of a loop over a sort with any number of elements may do, found without running them.

use std::collections::{BTreeMap, BTreeSet};

use shoal_model::{
    Argument, Domain, Expr, ExprKind, FunctionId, IndexVec, Local, LocalId, LocalKind, Model, Node, Place,
    Projection, Root, Stmt, StmtKind, VarId, walk_block, walk_expr, walk_place,
};

use crate::layout::ViewLayout;

/// What is known of a loop.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopFacts {
    /// The families of cells that a round may write.
    pub(crate) written: BTreeSet<usize>,
    /// Whether a round may write something that could not be followed: any family.
    pub(crate) anything: bool,
    /// Whether a round writes only entries of its own element, and locals that every round begins anew.
    pub(crate) own_only: bool,
    /// The locals that every round writes before it reads them.
    pub(crate) private: Vec<LocalId>,
    /// Why rounds cannot be taken one by one.
    pub(crate) trouble: Option<&'static str>,
}

/// Where a place leads, as far as the text tells.
#[derive(Clone, Debug)]
struct PlaceTarget {
    root: TargetRoot,
    /// Fields by position; `None` for an index.
    path: Vec<Option<usize>>,
    /// Whether it is an entry of the loop's own element.
    own: bool,
}

#[derive(Clone, Copy, Debug)]
enum TargetRoot {
    Var(VarId),
    /// A local of the code that the loop is in.
    Here(LocalId),
    /// A local of a function that the loop calls.
    Inside,
    /// What a reference leads to that was bound before the loop.
    Unknown,
}

/// What locals stand for in the code that is looked at.
#[derive(Clone, Debug, Default)]
struct Env {
    /// Locals that hold the loop's element.
    own: BTreeSet<LocalId>,
    references: BTreeMap<LocalId, PlaceTarget>,
    /// Functions that are being looked at; empty in the code that the loop is in.
    calls: Vec<FunctionId>,
}

struct Effects<'m> {
    model: &'m Model,
    layout: &'m ViewLayout,
    facts: LoopFacts,
    /// The locals of the code that the loop is in.
    locals: &'m IndexVec<LocalId, Local>,
}

/// Looks at a loop over elements in a piece of code with these locals.
pub(crate) fn loop_facts(
    model: &Model,
    layout: &ViewLayout,
    locals: &IndexVec<LocalId, Local>,
    local: LocalId,
    body: &[Stmt],
) -> LoopFacts {
    let private = locals.ids().filter(|id| is_private(locals, *id, body)).collect();
    let facts = LoopFacts { own_only: true, private, ..LoopFacts::default() };
    let mut effects = Effects { model, layout, facts, locals };
    let mut env = Env { own: BTreeSet::from([local]), ..Env::default() };
    effects.block(body, &mut env);
    effects.facts
}

/// Whether every round begins by giving a variable a value that does not depend on it.
fn is_private(locals: &IndexVec<LocalId, Local>, local: LocalId, body: &[Stmt]) -> bool {
    if locals[local].kind != LocalKind::Variable {
        return false;
    }
    let mentions_place = |place: &Place| {
        let mut found = false;
        walk_place(place, &mut |node| found |= is_of(node, local));
        found
    };
    let mentions_expr = |expr: &Expr| {
        let mut found = false;
        walk_expr(expr, &mut |node| found |= is_of(node, local));
        found
    };
    for stmt in body {
        match &stmt.kind {
            StmtKind::Assign(place, value)
                if place.root == Root::Local(local) && place.path.is_empty() && !mentions_expr(value) =>
            {
                return true;
            }
            StmtKind::Undefine(place) | StmtKind::Clear(place)
                if place.root == Root::Local(local) && place.path.is_empty() =>
            {
                return true;
            }
            StmtKind::Assign(place, value) if !mentions_place(place) && !mentions_expr(value) => {}
            _ => {
                let mut found = false;
                walk_block(std::slice::from_ref(stmt), &mut |node| found |= is_of(node, local));
                if found {
                    return false;
                }
            }
        }
    }
    false
}

/// Whether code may change a local, itself or through a reference.
fn may_write(body: &[Stmt], local: LocalId) -> bool {
    let is_it = |place: &Place| place.root == Root::Local(local);
    let passed = |arguments: &[Argument]| {
        arguments.iter().any(|argument| matches!(argument, Argument::Place(place) if is_it(place)))
    };
    let mut found = false;
    walk_block(body, &mut |node| {
        found |= match node {
            Node::Stmt(Stmt { kind: StmtKind::Call(_, arguments), .. })
            | Node::Expr(Expr { kind: ExprKind::Call(_, arguments), .. }) => passed(arguments),
            Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) => {
                bindings.iter().any(|binding| matches!(&binding.to, Argument::Place(place) if is_it(place)))
            }
            Node::Stmt(stmt) => stmt.kind.written().is_some_and(is_it),
            Node::Expr(_) | Node::Place(_) => false,
        };
    });
    found
}

fn is_of(node: Node<'_>, local: LocalId) -> bool {
    matches!(node, Node::Place(place) if place.root == Root::Local(local))
}

/// The local that an expression is a plain read of.
pub(crate) fn plain_local(expr: &Expr) -> Option<LocalId> {
    match &expr.kind {
        ExprKind::Read(place) | ExprKind::Peek(place) => plain_place(place),
        _ => None,
    }
}

fn plain_place(place: &Place) -> Option<LocalId> {
    match place.root {
        Root::Local(local) if place.path.is_empty() => Some(local),
        Root::Local(_) | Root::Var(_) => None,
    }
}

impl<'m> Effects<'m> {
    fn block(&mut self, block: &'m [Stmt], env: &mut Env) {
        for stmt in block {
            self.stmt(stmt, env);
        }
    }

    fn stmt(&mut self, stmt: &'m Stmt, env: &mut Env) {
        match &stmt.kind {
            StmtKind::If(arms, other) => {
                for (condition, block) in arms {
                    self.expr(condition, env);
                    self.block(block, &mut env.clone());
                }
                self.block(other, &mut env.clone());
            }
            StmtKind::While { condition, body, .. } => {
                self.expr(condition, env);
                self.block(body, &mut env.clone());
            }
            StmtKind::For { local, domain, body } => {
                self.domain(domain, env);
                let mut inner = env.clone();
                inner.own.remove(local);
                self.block(body, &mut inner);
            }
            StmtKind::Bind(bindings) => {
                for binding in bindings {
                    self.argument(&binding.to, env);
                    self.bind(binding.local, &binding.to, env);
                }
            }
            StmtKind::Choose { .. } => self.facts.trouble = Some("a choice"),
            StmtKind::Return(value) => {
                value.iter().for_each(|value| self.expr(value, env));
                if env.calls.is_empty() {
                    self.facts.trouble = Some("a `return`");
                }
            }
            StmtKind::Call(function, arguments) => {
                arguments.iter().for_each(|argument| self.argument(argument, env));
                self.call(*function, arguments, env);
            }
            StmtKind::Create(..) | StmtKind::Delete(_) => {
                self.facts.trouble = Some("the creation or deletion of elements");
            }
            StmtKind::Check { condition, .. } => {
                condition.iter().for_each(|condition| self.expr(condition, env));
            }
            StmtKind::Output(_)
            | StmtKind::Assign(..)
            | StmtKind::Clear(_)
            | StmtKind::Undefine(_)
            | StmtKind::MultisetAdd(..)
            | StmtKind::MultisetRemove(..)
            | StmtKind::MultisetRemoveIf { .. }
            | StmtKind::Insert { .. }
            | StmtKind::Remove(..) => {
                // The calls in any part of it, then what it writes itself.
                let mut calls = Vec::new();
                walk_block(std::slice::from_ref(stmt), &mut |node| {
                    if let Node::Expr(Expr { kind: ExprKind::Call(function, arguments), .. }) = node {
                        calls.push((*function, arguments));
                    }
                });
                calls.into_iter().for_each(|(function, arguments)| self.call(function, arguments, env));
                if let Some(place) = stmt.kind.written() {
                    self.write(place, env);
                    if let Some(local) = plain_place(place) {
                        env.own.remove(&local);
                    }
                }
            }
        }
    }

    fn expr(&mut self, expr: &'m Expr, env: &Env) {
        let mut calls = Vec::new();
        walk_expr(expr, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Call(function, arguments), .. }) = node {
                calls.push((*function, arguments));
            }
        });
        calls.into_iter().for_each(|(function, arguments)| self.call(function, arguments, env));
    }

    fn domain(&mut self, domain: &'m Domain, env: &Env) {
        match domain {
            Domain::Type(_) => {}
            Domain::Range { from, to, by } => [from, to, by].iter().for_each(|part| self.expr(part, env)),
            Domain::Slots(place) => self.place(place, env),
        }
    }

    fn place(&mut self, place: &'m Place, env: &Env) {
        for projection in &place.path {
            match projection {
                Projection::Field(_) => {}
                Projection::Index(expr) | Projection::Slot(expr) | Projection::Item(expr) => {
                    self.expr(expr, env);
                }
            }
        }
    }

    fn argument(&mut self, argument: &'m Argument, env: &Env) {
        match argument {
            Argument::Place(place) => self.place(place, env),
            Argument::Value(value) => self.expr(value, env),
        }
    }

    fn call(&mut self, function: FunctionId, arguments: &'m [Argument], env: &Env) {
        if env.calls.contains(&function) || env.calls.len() > 20 {
            self.facts.anything = true;
            self.facts.own_only = false;
            return;
        }
        let callee = &self.model.functions[function];
        let mut inner = Env { calls: env.calls.clone(), ..Env::default() };
        inner.calls.push(function);
        for (param, argument) in callee.params.iter().zip(arguments) {
            let kind = callee.code.locals[*param].kind;
            match (kind, argument) {
                (LocalKind::Reference { .. }, Argument::Place(place)) => {
                    inner.references.insert(*param, self.target(place, env));
                }
                // A temporary.
                (LocalKind::Reference { .. }, Argument::Value(value)) => {
                    let target = PlaceTarget { root: TargetRoot::Inside, path: Vec::new(), own: false };
                    inner.references.insert(*param, target);
                    if plain_local(value).is_some_and(|local| env.own.contains(&local)) {
                        inner.own.insert(*param);
                    }
                }
                (LocalKind::Variable | LocalKind::Bound, Argument::Value(value)) => {
                    if plain_local(value).is_some_and(|local| env.own.contains(&local))
                        && !may_write(&callee.code.body, *param)
                    {
                        inner.own.insert(*param);
                    }
                }
                (LocalKind::Variable | LocalKind::Bound, Argument::Place(place)) => {
                    if plain_place(place).is_some_and(|local| env.own.contains(&local))
                        && !may_write(&callee.code.body, *param)
                    {
                        inner.own.insert(*param);
                    }
                }
            }
        }
        self.block(&callee.code.body, &mut inner);
    }

    fn bind(&mut self, local: LocalId, to: &'m Argument, env: &mut Env) {
        let own = match to {
            Argument::Place(place) => plain_place(place),
            Argument::Value(value) => plain_local(value),
        }
        .is_some_and(|local| env.own.contains(&local));
        let fixed =
            env.calls.is_empty() && self.locals[local].kind == (LocalKind::Reference { writable: false });
        if own && fixed {
            env.own.insert(local);
        } else {
            env.own.remove(&local);
        }
        if let Argument::Place(place) = to {
            let target = self.target(place, env);
            env.references.insert(local, target);
        }
    }

    fn target(&self, place: &Place, env: &Env) -> PlaceTarget {
        let mut target = match place.root {
            Root::Var(var) => PlaceTarget { root: TargetRoot::Var(var), path: Vec::new(), own: false },
            Root::Local(local) => match env.references.get(&local) {
                Some(target) => target.clone(),
                None if !env.calls.is_empty() => {
                    PlaceTarget { root: TargetRoot::Inside, path: Vec::new(), own: false }
                }
                None if matches!(self.locals[local].kind, LocalKind::Reference { .. }) => {
                    PlaceTarget { root: TargetRoot::Unknown, path: Vec::new(), own: false }
                }
                None => PlaceTarget { root: TargetRoot::Here(local), path: Vec::new(), own: false },
            },
        };
        for projection in &place.path {
            match projection {
                Projection::Field(at) => target.path.push(Some(*at as usize)),
                Projection::Index(index) => {
                    target.own |= plain_local(index).is_some_and(|local| env.own.contains(&local));
                    target.path.push(None);
                }
                Projection::Slot(_) | Projection::Item(_) => target.path.push(None),
            }
        }
        target
    }

    fn write(&mut self, place: &'m Place, env: &Env) {
        let target = self.target(place, env);
        match target.root {
            TargetRoot::Var(var) => {
                self.facts.written.extend(self.layout.families_at(var, &target.path));
                self.facts.own_only &= target.own;
            }
            TargetRoot::Here(local) => {
                self.facts.own_only &= target.own || self.facts.private.contains(&local);
            }
            TargetRoot::Inside => {}
            TargetRoot::Unknown => {
                self.facts.anything = true;
                self.facts.own_only &= target.own;
            }
        }
    }
}
