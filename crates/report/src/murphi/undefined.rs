//! Which variables may hold something undefined: the tools differ in what it means to copy or to compare that.
//!
//! A variable cannot if each start gives it a value as a whole, and everything that is written to it later is computed, or copied
//! from what cannot either. Whoever does not know says that it can: then the text is longer, and means the same.

use shoal_model::{
    Argument, Binding, Code, Domain, Expr, ExprKind, LocalId, LocalKind, Model, Node, Place, Projection,
    Root, Stmt, StmtKind, Type, TypeId, TypedId, VarId, walk_code,
};

use super::survey::{codes, copied};

/// What is known of undefined values.
pub(crate) struct MaybeUndefined<'m> {
    model: &'m Model,
    vars: Vec<bool>,
}

impl<'m> MaybeUndefined<'m> {
    pub(crate) fn new(model: &'m Model) -> MaybeUndefined<'m> {
        let begins = |var: VarId| model.starts.iter().all(|start| is_given(model, &start.code, var));
        let mut known = MaybeUndefined { model, vars: model.vars.ids().map(|var| !begins(var)).collect() };
        loop {
            let before = known.vars.clone();
            for code in codes(model) {
                walk_code(code, &mut |node| known.note(code, node));
            }
            if known.vars == before {
                return known;
            }
        }
    }

    /// Whether what is at a place may be undefined, or have a part that is.
    pub(crate) fn may_be(
        &self,
        code: &shoal_model::IndexVec<LocalId, shoal_model::Local>,
        place: &Place,
    ) -> bool {
        match place.root {
            Root::Var(var) => self.vars[var.index()] || has_slot(place),
            Root::Local(local) => match code.get(local).map(|local| local.kind) {
                Some(LocalKind::Bound) => false,
                Some(LocalKind::Variable | LocalKind::Reference { .. }) | None => true,
            },
        }
    }

    fn may_value_be(&self, code: &Code, value: &Expr) -> bool {
        match &value.kind {
            // What is read is defined if it is a scalar.
            ExprKind::Read(place) => {
                !self.model.kind(place.ty).is_scalar() && self.may_be(&code.locals, place)
            }
            ExprKind::Peek(place) => self.may_be(&code.locals, place),
            ExprKind::Call(function, _) => {
                let result = self.model.functions[*function].result;
                result.is_none_or(|ty| !self.model.kind(ty).is_scalar())
            }
            _ => copied(value).is_some(),
        }
    }

    /// Takes note of a write of something that may be undefined.
    fn note(&mut self, code: &Code, node: Node<'_>) {
        match node {
            Node::Stmt(Stmt { kind: StmtKind::Undefine(place), .. }) => self.lose(code, place.root),
            Node::Stmt(Stmt { kind: StmtKind::Assign(place, value), .. })
                if self.may_value_be(code, value) =>
            {
                self.lose(code, place.root);
            }
            // What can be written through a reference is not followed.
            Node::Stmt(Stmt { kind: StmtKind::Call(_, arguments), .. })
            | Node::Expr(Expr { kind: ExprKind::Call(_, arguments), .. }) => {
                for argument in arguments {
                    if let Argument::Place(place) = argument {
                        self.lose_if_lent(code, place);
                    }
                }
            }
            Node::Stmt(Stmt { kind: StmtKind::Create(..), .. }) => self.vars.fill(true),
            Node::Stmt(_) | Node::Expr(_) | Node::Place(_) => {}
        }
    }

    /// An argument may be undefined afterwards if some parameter may be written.
    fn lose_if_lent(&mut self, code: &Code, place: &Place) {
        let writes = |kind| kind == LocalKind::Reference { writable: true };
        let lends =
            self.model.functions.iter().any(|function| {
                function.params.iter().any(|param| writes(function.code.locals[*param].kind))
            });
        if lends {
            self.lose(code, place.root);
        }
    }

    /// What is written through a reference may be any place that some reference of the code is bound to.
    fn lose(&mut self, code: &Code, root: Root) {
        match root {
            Root::Var(var) => self.vars[var.index()] = true,
            Root::Local(local) => match code.locals[local].kind {
                LocalKind::Reference { .. } => {
                    for bound in bound_to(self.model, code, local) {
                        self.lose(code, bound);
                    }
                }
                LocalKind::Variable | LocalKind::Bound => {}
            },
        }
    }
}

/// The roots of places that a local reference is bound to: by its code, and by the rule around it.
fn bound_to(model: &Model, code: &Code, local: LocalId) -> Vec<Root> {
    let mut roots = Vec::new();
    let mut note = |binding: &Binding| {
        if let (true, Argument::Place(place)) = (binding.local == local, &binding.to) {
            roots.push(place.root);
        }
    };
    walk_code(code, &mut |node| {
        if let Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) = node {
            bindings.iter().for_each(&mut note);
        }
    });
    let rules = model.starts.iter().chain(model.rules.iter());
    rules.filter(|rule| std::ptr::eq(&rule.code, code)).flat_map(|rule| &rule.bindings).for_each(note);
    roots
}

/// What is in a multiset may be undefined.
fn has_slot(place: &Place) -> bool {
    place.path.iter().any(|step| matches!(step, Projection::Slot(_)))
}

/// Whether a start gives a variable a value as a whole. One that may end before its end is not followed.
fn is_given(model: &Model, code: &Code, var: VarId) -> bool {
    let mut returns = false;
    walk_code(code, &mut |node| {
        returns |= matches!(node, Node::Stmt(Stmt { kind: StmtKind::Return(_), .. }));
    });
    let begin = GivenIndices { model, var, indices: Vec::new() };
    !returns && code.body.iter().any(|stmt| begin.given_by(stmt))
}

/// Loops through all indices, around a statement that may give a variable a value.
struct GivenIndices<'m> {
    model: &'m Model,
    var: VarId,
    indices: Vec<(LocalId, TypeId)>,
}

impl GivenIndices<'_> {
    fn given_by(&self, stmt: &Stmt) -> bool {
        match &stmt.kind {
            StmtKind::Clear(place) | StmtKind::Assign(place, _) => self.is_whole(place),
            StmtKind::For { local, domain: Domain::Type(ty), body } => {
                let indices = self.indices.iter().copied().chain([(*local, *ty)]).collect();
                let inner = GivenIndices { model: self.model, var: self.var, indices };
                body.iter().any(|stmt| inner.given_by(stmt))
            }
            _ => false,
        }
    }

    /// Whether a place is, in all rounds together, the whole variable.
    fn is_whole(&self, place: &Place) -> bool {
        if place.root != Root::Var(self.var) || place.path.len() != self.indices.len() {
            return false;
        }
        let mut ty = self.model.vars[self.var].ty;
        place.path.iter().zip(&self.indices).all(|(step, (local, domain))| {
            let Type::Array { index, element } = self.model.kind(ty) else { return false };
            ty = *element;
            self.model.same_values(*index, *domain) && is_index(step, *local)
        })
    }
}

/// Whether a step into an array is by a local.
fn is_index(step: &Projection, local: LocalId) -> bool {
    let Projection::Index(index) = step else { return false };
    let ExprKind::Read(place) = &index.kind else { return false };
    place.root == Root::Local(local) && place.path.is_empty()
}
