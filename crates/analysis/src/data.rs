//! Data: values that are only copied and compared.
//!
//! How many of them there are cannot matter much: what holds for any number of them holds for as many as the model has, and
//! for any number it is shown with fewer cases, as it does not matter which value is which.

use shoal_model::{
    Domain, Expr, ExprKind, Model, Node, SortId, SortSize, Stmt, StmtKind, Type, TypeDef, verify,
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
    for rule in model.starts.iter().chain(model.rules.iter()) {
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
        rule.bindings.iter().for_each(|binding| walk_argument(&binding.to, &mut visit));
        rule.params.iter().for_each(|param| walk_domain(&param.domain, &mut visit));
        walk_code(&rule.code, &mut visit);
    }
    model.functions.iter().for_each(|function| walk_code(&function.code, &mut visit));
    for property in model.properties.iter() {
        property.kind.conditions().into_iter().for_each(|condition| walk_condition(condition, &mut visit));
    }
    !found
}

/// The model with any number of values in each sort of a fixed size that is data, and in each range that is data if it is made a
/// sort; nothing if there are none. What holds in it holds in the model, with one exception: where a range is a sort, that
/// nothing faults must have been shown ([`crate::ranges_as_sorts`] says why).
pub fn open_data(model: &Model) -> Option<Model> {
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
