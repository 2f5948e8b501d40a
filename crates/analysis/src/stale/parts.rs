//! The parts of the state that can be told apart in the text, and which of them may be reset.

use std::collections::BTreeSet;

use shoal_model::{
    Expr, ExprKind, LocalId, Model, Node, Place, Projection, Root, Rule, SortId, Stmt, StmtKind, Type,
    TypeId, VarId, walk_argument, walk_block, walk_code, walk_condition, walk_domain, walk_expr,
};

use crate::{FieldPath, undefinable};

/// One step from a variable to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartStep {
    Field(u32),
    /// The entry of an element, in an array over a sort.
    Element,
}

/// A scalar part of a variable: of each element of a sort, or of none.
#[derive(Clone, Debug)]
pub(super) struct VarPart {
    pub(super) var: VarId,
    pub(super) path: Vec<PartStep>,
    pub(super) ty: TypeId,
    /// The index type and the sort whose elements have one each.
    pub(super) of: Option<(TypeId, SortId)>,
}

#[derive(Clone, Debug)]
pub(super) struct VarParts {
    pub(super) all: Vec<VarPart>,
    pub(super) resettable: Vec<usize>,
    /// What is used in a way that is not followed: by functions, through references.
    pub(super) opaque: BTreeSet<usize>,
    /// The parts that are never undefined.
    pub(super) defined: BTreeSet<usize>,
}

impl VarParts {
    pub(super) fn new(model: &Model) -> VarParts {
        let mut all = Vec::new();
        for (var, decl) in model.vars.enumerate() {
            collect(model, decl.ty, &mut VarPart { var, path: Vec::new(), ty: decl.ty, of: None }, &mut all);
        }
        let mut parts =
            VarParts { all, resettable: Vec::new(), opaque: BTreeSet::new(), defined: BTreeSet::new() };
        parts.opaque = parts.find_opaque(model);
        parts.defined = parts.find_defined(model);
        let kept = parts.kept(model);
        let may_go = |part: &usize| {
            parts.defined.contains(part) && !parts.opaque.contains(part) && !kept.contains(part)
        };
        parts.resettable = (0..parts.all.len()).filter(may_go).collect();
        parts
    }

    /// The parts that a place leads to or contains.
    pub(super) fn under(&self, place: &Place) -> Vec<usize> {
        let Root::Var(var) = place.root else { return Vec::new() };
        let fits = |part: &VarPart| {
            part.var == var
                && place.path.iter().zip(&part.path).all(|(step, hop)| match (step, hop) {
                    (Projection::Field(a), PartStep::Field(b)) => a == b,
                    (Projection::Index(_), PartStep::Element) => true,
                    _ => false,
                })
        };
        (0..self.all.len()).filter(|at| fits(&self.all[*at])).collect()
    }

    /// The part at a place, and the expression for the element whose it is.
    pub(super) fn at<'p>(&self, place: &'p Place) -> Option<(usize, Option<&'p Expr>)> {
        let under = self.under(place);
        let [part] = under[..] else { return None };
        if self.all[part].path.len() != place.path.len() {
            return None;
        }
        let element = place.path.iter().find_map(|step| match step {
            Projection::Index(element) => Some(element),
            _ => None,
        });
        Some((part, element))
    }

    pub(super) fn name(&self, model: &Model, part: usize) -> String {
        let VarPart { var, path, .. } = &self.all[part];
        let (mut name, mut ty) = (model.vars[*var].name.clone(), model.vars[*var].ty);
        for hop in path {
            match (hop, model.kind(ty)) {
                (PartStep::Field(at), Type::Record { fields }) => {
                    name = format!("{name}.{}", fields[*at as usize].name);
                    ty = fields[*at as usize].ty;
                }
                (PartStep::Element, Type::Array { element, .. }) => {
                    name += "[]";
                    ty = *element;
                }
                _ => return name,
            }
        }
        name
    }

    fn find_opaque(&self, model: &Model) -> BTreeSet<usize> {
        let mut opaque = BTreeSet::new();
        let mut mention = |node: Node<'_>| {
            if let Node::Place(place) = node {
                opaque.extend(self.under(place));
            }
        };
        model.functions.iter().for_each(|function| walk_code(&function.code, &mut mention));
        for rule in model.starts.iter().chain(model.rules.iter()) {
            rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut mention));
            rule.params.iter().for_each(|param| walk_domain(&param.domain, &mut mention));
        }
        let mut node = |node: Node<'_>| match node {
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::Bind(bindings) => {
                    bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut mention));
                }
                StmtKind::Call(_, arguments) => {
                    arguments.iter().for_each(|argument| walk_argument(argument, &mut mention));
                }
                // What is written whole is written; what is read whole may be compared or kept.
                StmtKind::Assign(..)
                | StmtKind::Clear(_)
                | StmtKind::Undefine(_)
                | StmtKind::If(..)
                | StmtKind::For { .. }
                | StmtKind::Choose { .. }
                | StmtKind::Check { .. }
                | StmtKind::Return(_) => {}
                StmtKind::While { .. }
                | StmtKind::Output(_)
                | StmtKind::MultisetAdd(..)
                | StmtKind::MultisetRemove(..)
                | StmtKind::MultisetRemoveIf { .. }
                | StmtKind::Insert { .. }
                | StmtKind::Remove(..)
                | StmtKind::Create(..)
                | StmtKind::Delete(_) => {
                    walk_block(std::slice::from_ref(stmt), &mut mention);
                }
            },
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Read(place) | ExprKind::Peek(place) if self.at(place).is_none() => {
                    mention(Node::Place(place));
                }
                ExprKind::IsUndefined(_)
                | ExprKind::IsMember(..)
                | ExprKind::Call(..)
                | ExprKind::Ordinal(_)
                | ExprKind::ElementAt(..)
                | ExprKind::Entry(..)
                | ExprKind::Len(_)
                | ExprKind::Exists(_) => walk_expr(expr, &mut mention),
                ExprKind::Const(_)
                | ExprKind::Read(_)
                | ExprKind::Peek(_)
                | ExprKind::Unary(..)
                | ExprKind::Binary(..)
                | ExprKind::Equal(..)
                | ExprKind::And(_)
                | ExprKind::Or(_)
                | ExprKind::Implies(..)
                | ExprKind::Cond(..)
                | ExprKind::Quantified { .. } => {}
            },
            Node::Place(_) => {}
        };
        for rule in model.starts.iter().chain(model.rules.iter()) {
            rule.guard.iter().for_each(|guard| walk_expr(guard, &mut node));
            walk_block(&rule.code.body, &mut node);
        }
        opaque
    }

    /// What properties read.
    fn kept(&self, model: &Model) -> BTreeSet<usize> {
        let mut kept = BTreeSet::new();
        let conditions = model.properties.iter().flat_map(|property| property.kind.conditions());
        for condition in conditions.chain(&model.fairness) {
            walk_condition(condition, &mut |node| {
                if let Node::Place(place) = node {
                    kept.extend(self.under(place));
                }
            });
        }
        kept
    }

    /// What every start defines for everybody and nothing makes undefined again.
    fn find_defined(&self, model: &Model) -> BTreeSet<usize> {
        let mut begun: Option<BTreeSet<usize>> = None;
        for start in model.starts.iter() {
            let here = self.assigned(model, start);
            begun = Some(match begun {
                Some(so_far) => so_far.intersection(&here).copied().collect(),
                None => here,
            });
        }
        let begun = begun.unwrap_or_default();
        let slot = |part: &VarPart| {
            let field = |hop: &PartStep| match hop {
                PartStep::Field(at) => Some(*at),
                PartStep::Element => None,
            };
            FieldPath { var: part.var, fields: part.path.iter().filter_map(field).collect() }
        };
        let left = (0..self.all.len()).filter(|at| !begun.contains(at)).map(|at| slot(&self.all[at]));
        let Some(undefined) = undefinable(model, left.collect()) else { return BTreeSet::new() };
        begun.into_iter().filter(|at| !undefined.contains(&slot(&self.all[*at]))).collect()
    }

    /// The parts that a start surely writes: in its body, or for each element in a loop over all of them.
    fn assigned(&self, model: &Model, start: &Rule) -> BTreeSet<usize> {
        let mut assigned = BTreeSet::new();
        self.assigned_by(model, &start.code.body, &mut Vec::new(), &mut assigned);
        assigned
    }

    fn assigned_by(
        &self,
        model: &Model,
        block: &[Stmt],
        around: &mut Vec<(LocalId, TypeId)>,
        assigned: &mut BTreeSet<usize>,
    ) {
        for stmt in block {
            match &stmt.kind {
                StmtKind::Assign(place, _) => {
                    if let Some((part, element)) = self.at(place)
                        && is_everybodys(model, self.all[part].of, element, around)
                    {
                        assigned.insert(part);
                    }
                }
                StmtKind::Clear(place) if place.path.is_empty() => assigned.extend(self.under(place)),
                StmtKind::For { local, domain: shoal_model::Domain::Type(ty), body } => {
                    around.push((*local, *ty));
                    self.assigned_by(model, body, around, assigned);
                    around.pop();
                }
                // What follows may not be reached.
                StmtKind::Return(_) => return,
                StmtKind::Undefine(place) => {
                    let gone = self.under(place);
                    assigned.retain(|part| !gone.contains(part));
                }
                _ => {}
            }
        }
    }
}

/// Whether a place that is written in loops over all values of some locals is written for every element.
fn is_everybodys(
    model: &Model,
    of: Option<(TypeId, SortId)>,
    element: Option<&Expr>,
    around: &[(LocalId, TypeId)],
) -> bool {
    match (of, element) {
        (None, None) => true,
        (Some((_, sort)), Some(element)) => around.iter().any(|(local, ty)| {
            let all = matches!(model.kind(*ty), Type::Ref { sort: over, .. } if *over == sort);
            all && is_local(element, *local)
        }),
        _ => false,
    }
}

pub(super) fn is_local(expr: &Expr, local: LocalId) -> bool {
    match &expr.kind {
        ExprKind::Read(place) | ExprKind::Peek(place) => {
            place.path.is_empty() && place.root == Root::Local(local)
        }
        _ => false,
    }
}

fn collect(model: &Model, ty: TypeId, part: &mut VarPart, all: &mut Vec<VarPart>) {
    match model.kind(ty) {
        Type::Record { fields } => {
            for (at, field) in (0..).zip(fields) {
                part.path.push(PartStep::Field(at));
                collect(model, field.ty, part, all);
                part.path.pop();
            }
        }
        Type::Array { index, element } => {
            if let (Type::Ref { sort, nullable: false }, None) = (model.kind(*index), part.of) {
                part.path.push(PartStep::Element);
                part.of = Some((*index, *sort));
                collect(model, *element, part, all);
                part.of = None;
                part.path.pop();
            }
        }
        Type::Multiset { .. } | Type::Sequence { .. } | Type::Clock => {}
        Type::Bool | Type::Int { .. } | Type::Enum { .. } | Type::Ref { .. } | Type::Union { .. } => {
            all.push(VarPart { ty, ..part.clone() });
        }
    }
}
