//! Data: values that are only copied and compared.
//!
//! How many of them there are cannot matter much: what holds for any number of them holds for as many as the model has, and
//! for any number it is shown with fewer cases, as it does not matter which value is which.

use shoal_model::{
    Domain, Expr, ExprKind, Model, Node, SortId, SortSize, Stmt, StmtKind, Type, TypeDef, Value, verify,
    walk_argument, walk_code, walk_condition, walk_domain, walk_expr,
};

use crate::{hints, ranges::with_sorts, symmetry};

/// Whether the elements of a sort are only copied and compared: nothing is kept for each of them, and nothing looks at all
/// of them.
pub fn is_data(model: &Model, sort: SortId) -> bool {
    let is_of = |ty| model.sorts_of(ty).contains(&sort);
    let indexes = |part: &TypeDef| matches!(part.kind, Type::Array { index, .. } if is_of(index));
    if model.types.iter().any(indexes) {
        return false;
    }
    let ranges = |domain: &Domain| matches!(domain, Domain::Type(ty) if is_of(*ty));
    let mut found = false;
    let mut visit = |node: Node<'_>| {
        found |= match node {
            Node::Stmt(Stmt { kind: StmtKind::For { domain, .. }, .. }) => ranges(domain),
            Node::Expr(Expr { kind: ExprKind::Quantified { domain, .. }, .. }) => ranges(domain),
            Node::Stmt(_) | Node::Expr(_) | Node::Place(_) => false,
        };
    };
    everything(model, &mut visit);
    !found
}

/// Every part of the code and of the properties of a model.
fn everything<'m>(model: &'m Model, visit: &mut dyn FnMut(Node<'m>)) {
    for rule in model.starts.iter().chain(model.rules.iter()) {
        rule.guard.iter().for_each(|guard| walk_expr(guard, visit));
        rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, visit));
        rule.params.iter().for_each(|param| walk_domain(&param.domain, visit));
        walk_code(&rule.code, visit);
    }
    model.functions.iter().for_each(|function| walk_code(&function.code, visit));
    for property in model.properties.iter() {
        property.kind.conditions().into_iter().for_each(|condition| walk_condition(condition, visit));
    }
    model.fairness.iter().for_each(|condition| walk_condition(condition, visit));
}

/// Whether nothing compares elements of a sort, neither by themselves nor as parts of something: then nothing can tell one of
/// them from another.
fn is_opaque(model: &Model, sort: SortId) -> bool {
    let is_of = |part: &Type| matches!(part, Type::Ref { sort: of, .. } if *of == sort);
    let has = |ty| model.type_contains(ty, &is_of);
    let mut found = false;
    everything(model, &mut |node| {
        found |= match node {
            Node::Expr(Expr { kind: ExprKind::Equal(a, b), .. }) => has(a.ty) || has(b.ty),
            Node::Expr(Expr { kind: ExprKind::Ordinal(of) | ExprKind::Exists(of), .. }) => has(of.ty),
            Node::Expr(Expr { kind: ExprKind::ElementAt(of, _), .. }) => *of == sort,
            Node::Expr(Expr { kind: ExprKind::Const(value), .. }) => {
                matches!(value, Value::Elem(of, _) if *of == sort)
            }
            Node::Stmt(Stmt { kind: StmtKind::Clear(place), .. }) => has(place.ty),
            Node::Stmt(_) | Node::Expr(_) | Node::Place(_) => false,
        };
    });
    !found
}

/// The model with any number of values in each sort that is data, whether or not it has a fixed size, and in each range that is
/// data if it is made a sort; with one value where nothing compares them. Nothing if that is the same model. What holds in it
/// holds in the model, with one exception: where a range is a sort, that nothing faults must have been shown
/// ([`crate::ranges_as_sorts`] says why).
///
/// One value is as good as many that nothing compares: put in the place of all of them, it takes every step to a step, every
/// value of a condition to the same value, and every fault to the same fault. Only whether a step changes anything may
/// be seen less often.
pub fn open_data(model: &Model) -> Option<Model> {
    let mut opened = opened(model);
    let of = opened.as_ref().unwrap_or(model);
    let is_any = |id: &SortId| of.sorts[*id].size == SortSize::Any;
    let (merged, others): (Vec<SortId>, Vec<SortId>) =
        of.sorts.ids().filter(is_any).partition(|id| is_data(of, *id) && is_opaque(of, *id));
    if merged.is_empty() || others.is_empty() {
        return opened;
    }
    let mut model = opened.take().unwrap_or_else(|| model.clone());
    for id in merged {
        model.sorts[id].size = SortSize::Fixed(1);
    }
    Some(model)
}

fn opened(model: &Model) -> Option<Model> {
    let grows = |ty: &shoal_model::TypeId| model.open_bounds.iter().any(|(open, _)| open == ty);
    let mut classes = hints::classes(model);
    classes.retain(|class| !class.types.iter().any(grows) && model.cardinality(class.types[0]).is_some());
    let mut sorts: Vec<SortId> = model.sorts.ids().collect();
    sorts.retain(|id| matches!(model.sorts[*id].size, SortSize::Fixed(_)) && is_data(model, *id));
    loop {
        let made = with_sorts(model, &classes).filter(|made| verify(&made.model).is_ok());
        if made.is_none() {
            classes.clear();
        }
        let ranges = made.as_ref().map_or(Vec::new(), crate::SortedRanges::ids);
        let mut opened = made.map_or_else(|| model.clone(), |made| made.model);
        if sorts.is_empty() && ranges.is_empty() {
            return None;
        }
        let is_data = |id: &SortId| is_data(&opened, *id);
        let plain: Vec<bool> = ranges.iter().map(is_data).collect();
        for id in sorts.iter().chain(&ranges) {
            opened.sorts[*id].size = SortSize::Any;
        }
        opened.range_sorts.extend(&ranges);
        let symmetry = symmetry(&opened);
        let is_alike = |id: &SortId| {
            let about = &symmetry.sorts[*id];
            about.is_proved() && about.pinned.is_empty()
        };
        let before = (classes.len(), sorts.len());
        let mut kept = ranges.iter().zip(plain).map(|(id, plain)| plain && is_alike(id));
        classes.retain(|_| kept.next() == Some(true));
        sorts.retain(is_alike);
        if (classes.len(), sorts.len()) == before {
            return Some(opened);
        }
    }
}
