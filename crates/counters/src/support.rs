//! Which sorts can be counted, and what stands against the others.

use std::collections::BTreeMap;

use shoal_model::{Job, LocalKind, Model, Node, SortId, Type, TypeId, TypedId, Unsupported, Value};
use shoal_syntax::Span;

/// The name of the engine.
pub(crate) const ENGINE: &str = "counters";

/// The counted sorts with their tracked elements: those that the model or a property names.
pub(crate) type Tracked = BTreeMap<SortId, Vec<u32>>;

/// The sorts that can be counted, of those that are proved symmetric; what is in the way if there are none.
pub(crate) fn countable(model: &Model, job: &Job) -> Result<Tracked, Unsupported> {
    let mut tracked = BTreeMap::new();
    let mut first = None;
    for (id, sort) in model.sorts.enumerate() {
        let why = match (job.symmetric.contains(&id), sort.fixed_size()) {
            (_, None) => Some((format!("the sort `{}`, which has no fixed size", sort.name), sort.span)),
            (false, _) => Some((format!("the sort `{}`, which is not symmetric", sort.name), sort.span)),
            (true, Some(_)) => obstacle(model, id),
        };
        match why {
            None => {
                tracked.insert(id, named(model, id));
            }
            Some(why) => first = first.or(Some(why)),
        }
    }
    // Values indexed by two counted sorts belong to a pair of elements, not to one: the later sort is not counted.
    while let Some((inner, span)) =
        model.vars.iter().find_map(|var| pair(model, var.ty, &tracked, false).map(|it| (it, var.span)))
    {
        tracked.remove(&inner);
        first = first.or(Some((
            format!("an array over two sorts (`{}` is the second)", model.sorts[inner].name),
            span,
        )));
    }
    match (tracked.is_empty(), first) {
        (false, _) => Ok(tracked),
        (true, Some((construct, span))) => Err(Unsupported { engine: ENGINE, construct, span: Some(span) }),
        (true, None) => {
            Err(Unsupported { engine: ENGINE, construct: "models without sorts".into(), span: None })
        }
    }
}

/// What keeps a sort from being counted.
fn obstacle(model: &Model, sort: SortId) -> Option<(String, Span)> {
    let name = &model.sorts[sort].name;
    let holds = |kind: &Type| matches!(kind, Type::Ref { sort: of, .. } if *of == sort);
    for var in model.vars.iter() {
        // One element at a time can be told by a mark; one for each element, or many, cannot.
        if model.type_contains(var.ty, &holds) && !is_plain(model, var.ty) {
            let what = format!("the variable `{}`, which holds an element of `{name}`", var.name);
            return Some((what, var.span));
        }
        if indexed_otherwise(model, var.ty, sort) {
            let what = format!("the array `{}`, whose index is more than an element of `{name}`", var.name);
            return Some((what, var.span));
        }
    }
    let codes = model.rules.iter().chain(model.starts.iter()).map(|rule| &rule.code);
    for code in codes.chain(model.functions.iter().map(|function| &function.code)) {
        for local in code.locals.iter().filter(|local| local.kind == LocalKind::Variable) {
            if is_indexed_by(model, local.ty, sort) {
                let what = format!("the local variable `{}`, an array over `{name}`", local.name);
                return Some((what, local.span));
            }
        }
    }
    None
}

/// Whether a type has a fixed number of scalar parts, none of which belongs to an element of a sort.
fn is_plain(model: &Model, ty: TypeId) -> bool {
    match model.kind(ty) {
        Type::Record { fields } => fields.iter().all(|field| is_plain(model, field.ty)),
        Type::Array { index, element } => model.sorts_of(*index).is_empty() && is_plain(model, *element),
        Type::Multiset { .. } | Type::Sequence { .. } | Type::Clock => false,
        Type::Bool | Type::Int { .. } | Type::Enum { .. } | Type::Ref { .. } | Type::Union { .. } => true,
    }
}

/// Whether some array in a type has an index of which the elements of a sort are only a part.
fn indexed_otherwise(model: &Model, ty: TypeId, sort: SortId) -> bool {
    any_index(model, ty, &|index| {
        model.sorts_of(index).contains(&sort)
            && !matches!(model.kind(index), Type::Ref { nullable: false, .. })
    })
}

fn is_indexed_by(model: &Model, ty: TypeId, sort: SortId) -> bool {
    any_index(model, ty, &|index| model.sorts_of(index).contains(&sort))
}

fn any_index(model: &Model, ty: TypeId, test: &dyn Fn(TypeId) -> bool) -> bool {
    match model.kind(ty) {
        Type::Record { fields } => fields.iter().any(|field| any_index(model, field.ty, test)),
        Type::Array { index, element } => test(*index) || any_index(model, *element, test),
        Type::Multiset { element, .. } | Type::Sequence { element, .. } => any_index(model, *element, test),
        _ => false,
    }
}

/// The second of two counted sorts that index one array.
fn pair(model: &Model, ty: TypeId, counted: &Tracked, inside: bool) -> Option<SortId> {
    match model.kind(ty) {
        Type::Record { fields } => fields.iter().find_map(|field| pair(model, field.ty, counted, inside)),
        Type::Array { index, element } => {
            let sort = model.sorts_of(*index).into_iter().find(|sort| counted.contains_key(sort));
            match sort {
                Some(sort) if inside => Some(sort),
                sort => pair(model, *element, counted, inside || sort.is_some()),
            }
        }
        _ => None,
    }
}

/// The elements of a sort that the model names.
fn named(model: &Model, sort: SortId) -> Vec<u32> {
    let mut found = Vec::new();
    let mut visit = |node: Node<'_>| {
        if let Node::Expr(expr) = node
            && let shoal_model::ExprKind::Const(Value::Elem(of, element)) = &expr.kind
            && *of == sort
        {
            found.push(*element);
        }
    };
    for rule in model.rules.iter().chain(model.starts.iter()) {
        rule.params.iter().for_each(|param| shoal_model::walk_domain(&param.domain, &mut visit));
        rule.bindings.iter().for_each(|binding| shoal_model::walk_argument(&binding.to, &mut visit));
        rule.guard.iter().for_each(|guard| shoal_model::walk_expr(guard, &mut visit));
        shoal_model::walk_code(&rule.code, &mut visit);
    }
    model.functions.iter().for_each(|function| shoal_model::walk_code(&function.code, &mut visit));
    let conditions = model.properties.iter().flat_map(|property| property.kind.conditions());
    conditions.chain(&model.fairness).for_each(|it| shoal_model::walk_condition(it, &mut visit));
    found.sort_unstable();
    found.dedup();
    let _ = sort.index();
    found
}
