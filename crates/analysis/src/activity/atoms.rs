//! The view of an element: its own variables, and the plain variables of the model seen from it.

use std::collections::BTreeSet;

use shoal_model::{
    Argument, Expr, ExprKind, Model, Node, Place, Projection, Root, SortId, Stmt, StmtKind, Type, TypeId,
    Value, VarId, walk_argument, walk_block, walk_code, walk_condition, walk_domain, walk_expr,
};

use super::cube::{Cube, CubeUnion};

/// What a view tells of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueClass {
    /// Undefined.
    Undefined,
    /// This value, which is no element.
    Value(Value),
    /// The element whose view it is.
    Me,
    /// Another element of the sort.
    Another,
    /// Any value.
    Any,
}

/// A part of a view.
#[derive(Clone, Debug)]
pub(crate) struct ViewAtom {
    /// The variable.
    pub(crate) var: VarId,
    /// Whether the variable is an array with an entry for each element; else it is a plain variable.
    pub(crate) own: bool,
    /// The way into the entry.
    pub(crate) fields: Vec<u32>,
    /// The type of the value.
    pub(crate) ty: TypeId,
    /// The classes of its values; the first is that it is undefined.
    pub(crate) classes: Vec<ValueClass>,
}

impl ViewAtom {
    pub(crate) fn full(&self) -> u64 {
        (1 << self.classes.len()) - 1
    }

    /// The bit of being undefined.
    pub(crate) const UNDEFINED: u64 = 1;

    /// The classes of a mask.
    pub(crate) fn of_mask(&self, mask: u64) -> impl Iterator<Item = &ValueClass> {
        self.classes.iter().enumerate().filter(move |(at, _)| mask >> at & 1 == 1).map(|(_, class)| class)
    }

    /// The mask of the classes that satisfy something.
    pub(crate) fn mask(&self, of: impl Fn(&ValueClass) -> bool) -> u64 {
        self.classes.iter().enumerate().filter(|(_, class)| of(class)).map(|(at, _)| 1 << at).sum()
    }
}

/// All parts of the view of an element: of a sort, or of several whose elements index the same arrays.
#[derive(Clone, Debug)]
pub(crate) struct Atoms {
    /// The type of the index.
    pub(crate) index: TypeId,
    /// The sorts.
    pub(crate) sorts: Vec<SortId>,
    /// All elements, in the order of the index.
    pub(crate) elements: Vec<Value>,
    pub(crate) atoms: Vec<ViewAtom>,
}

/// The types that index arrays of what elements hold, one of each set of sorts.
pub(crate) fn indices(model: &Model) -> Vec<TypeId> {
    let mut found: Vec<(Vec<SortId>, TypeId)> = Vec::new();
    for var in model.vars.iter() {
        if let Type::Array { index, .. } = model.kind(var.ty)
            && let Some(sorts) = sorts(model, *index)
            && !found.iter().any(|(known, _)| *known == sorts)
        {
            found.push((sorts, *index));
        }
    }
    found.into_iter().map(|(_, index)| index).collect()
}

/// The sorts of fixed size whose elements are all there is of a type.
fn sorts(model: &Model, index: TypeId) -> Option<Vec<SortId>> {
    let mut sorts = match model.kind(index) {
        Type::Ref { sort, nullable: false } => vec![*sort],
        Type::Union { members } => {
            let of_members: Option<Vec<_>> = members.iter().map(|member| sorts(model, *member)).collect();
            of_members?.concat()
        }
        _ => return None,
    };
    sorts.sort_unstable();
    sorts.iter().all(|sort| model.sorts[*sort].fixed_size().is_some()).then_some(sorts)
}

/// More classes than this are not told apart.
const MOST_CLASSES: u64 = 62;

impl Atoms {
    /// The view of what indexes arrays by this type.
    pub(crate) fn new(model: &Model, index: TypeId) -> Atoms {
        let sorts = sorts(model, index).unwrap_or_default();
        let opaque = opaque(model, &sorts);
        let mut atoms = Vec::new();
        for (id, var) in model.vars.enumerate().filter(|(id, _)| !opaque.contains(id)) {
            match model.kind(var.ty) {
                Type::Array { element, .. } if is_over(model, var.ty, &sorts) => {
                    leaves(model, *element, &mut Vec::new(), &mut |fields, ty| {
                        let classes = classes(model, ty, &sorts);
                        atoms.push(ViewAtom { var: id, own: true, fields: fields.to_vec(), ty, classes });
                    });
                }
                kind if kind.is_scalar() => {
                    let classes = classes(model, var.ty, &sorts);
                    atoms.push(ViewAtom { var: id, own: false, fields: Vec::new(), ty: var.ty, classes });
                }
                _ => {}
            }
        }
        let elements = model.values(index).collect();
        Atoms { index, elements, atoms, sorts }
    }

    /// Every view.
    pub(crate) fn all(&self) -> Cube {
        Cube(self.atoms.iter().map(ViewAtom::full).collect())
    }

    pub(crate) fn always(&self) -> CubeUnion {
        CubeUnion(vec![self.all()])
    }

    /// The plain variable at a place.
    pub(crate) fn global(&self, place: &Place) -> Option<usize> {
        let plain = |atom: &ViewAtom| !atom.own && place.path.is_empty() && place.root == Root::Var(atom.var);
        self.atoms.iter().position(plain)
    }

    /// The variable of an element at a place, and the expression for the element.
    pub(crate) fn own<'p>(&self, place: &'p Place) -> Option<(usize, &'p Expr)> {
        let (Projection::Index(index), rest) = place.path.split_first()? else { return None };
        let fields = fields(rest)?;
        let found = |atom: &ViewAtom| atom.own && place.root == Root::Var(atom.var) && atom.fields == fields;
        Some((self.atoms.iter().position(found)?, index))
    }

    /// The atoms of a variable.
    pub(crate) fn of_var(&self, var: VarId) -> impl Iterator<Item = usize> {
        self.atoms.iter().enumerate().filter(move |(_, atom)| atom.var == var).map(|(at, _)| at)
    }

    /// Whether a type has elements among its values.
    pub(crate) fn refers(&self, model: &Model, ty: TypeId) -> bool {
        model.sorts_of(ty).iter().any(|sort| self.sorts.contains(sort))
    }

    /// The class of a value in an atom, seen from an element.
    pub(crate) fn class(&self, atom: usize, value: &Value, me: &Value) -> Option<usize> {
        let is = |class: &ValueClass| match (class, value) {
            (ValueClass::Undefined, Value::Undefined) => true,
            (ValueClass::Undefined, _) | (_, Value::Undefined) => false,
            (ValueClass::Me, value) => value == me,
            (ValueClass::Another, Value::Elem(sort, _)) => self.sorts.contains(sort) && value != me,
            (ValueClass::Value(known), value) => known == value,
            (ValueClass::Any, _) => true,
            (ValueClass::Another, _) => false,
        };
        self.atoms[atom].classes.iter().position(is)
    }
}

fn fields(path: &[Projection]) -> Option<Vec<u32>> {
    let field = |projection: &Projection| match projection {
        Projection::Field(at) => Some(*at),
        _ => None,
    };
    path.iter().map(field).collect()
}

/// Whether a type is an array with an entry for each element of these sorts.
fn is_over(model: &Model, ty: TypeId, of: &[SortId]) -> bool {
    let Type::Array { index, .. } = model.kind(ty) else { return false };
    sorts(model, *index).is_some_and(|sorts| sorts == of)
}

/// The scalar parts of a record, by fields. Other composite parts are left out.
fn leaves(model: &Model, ty: TypeId, way: &mut Vec<u32>, found: &mut dyn FnMut(&[u32], TypeId)) {
    match model.kind(ty) {
        Type::Record { fields } => {
            for (at, field) in fields.iter().enumerate() {
                way.push(at as u32);
                leaves(model, field.ty, way, found);
                way.pop();
            }
        }
        kind if kind.is_scalar() => found(way, ty),
        _ => {}
    }
}

fn classes(model: &Model, ty: TypeId, sorts: &[SortId]) -> Vec<ValueClass> {
    let told = told_apart(model, ty, sorts).filter(|told| told.len() as u64 <= MOST_CLASSES);
    std::iter::once(ValueClass::Undefined).chain(told.unwrap_or(vec![ValueClass::Any])).collect()
}

fn told_apart(model: &Model, ty: TypeId, sorts: &[SortId]) -> Option<Vec<ValueClass>> {
    match model.kind(ty) {
        Type::Ref { sort: of, nullable } => {
            let null = nullable.then_some(ValueClass::Value(Value::Null));
            sorts
                .contains(of)
                .then(|| null.into_iter().chain([ValueClass::Me, ValueClass::Another]).collect())
        }
        Type::Union { members } => {
            let parts: Option<Vec<_>> = members.iter().map(|it| told_apart(model, *it, sorts)).collect();
            let mut classes = Vec::new();
            for class in parts?.into_iter().flatten() {
                if !classes.contains(&class) {
                    classes.push(class);
                }
            }
            Some(classes)
        }
        _ => {
            let few = model.cardinality(ty).is_some_and(|count| count <= MOST_CLASSES);
            few.then(|| model.values(ty).map(ValueClass::Value).collect())
        }
    }
}

/// The variables that are used in a way that is not followed: in functions, through references, as a whole.
fn opaque(model: &Model, sorts: &[SortId]) -> BTreeSet<VarId> {
    let mut opaque = BTreeSet::new();
    let mut mention = |node: Node<'_>| {
        if let Node::Place(Place { root: Root::Var(var), .. }) = node {
            opaque.insert(*var);
        }
    };
    model.functions.iter().for_each(|function| walk_code(&function.code, &mut mention));
    let mut node = |node: Node<'_>| {
        let referred: Vec<&Argument> = match node {
            Node::Stmt(Stmt { kind: StmtKind::Bind(bindings), .. }) => {
                bindings.iter().map(|binding| &binding.to).collect()
            }
            Node::Stmt(Stmt { kind: StmtKind::Call(_, arguments), .. })
            | Node::Expr(Expr { kind: ExprKind::Call(_, arguments), .. }) => arguments.iter().collect(),
            Node::Place(place) => {
                // A part of an entry, or the whole array.
                if let Root::Var(var) = place.root
                    && is_over(model, model.vars[var].ty, sorts)
                    && !model.kind(place.ty).is_scalar()
                {
                    opaque.insert(var);
                }
                return;
            }
            _ => return,
        };
        for argument in referred {
            if let Argument::Place(Place { root: Root::Var(var), .. }) = argument {
                opaque.insert(*var);
            }
        }
    };
    for rule in model.rules.iter() {
        rule.params.iter().for_each(|param| walk_domain(&param.domain, &mut node));
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut node));
        rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut node));
        walk_block(&rule.code.body, &mut node);
    }
    let conditions = model.properties.iter().flat_map(|property| property.kind.conditions());
    conditions.chain(&model.fairness).for_each(|condition| walk_condition(condition, &mut node));
    for binding in model.rules.iter().flat_map(|rule| &rule.bindings) {
        if let Argument::Place(Place { root: Root::Var(var), .. }) = &binding.to {
            opaque.insert(*var);
        }
    }
    opaque
}
