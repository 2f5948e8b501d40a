//! Scalarsets of any size: a constant that is nothing but their size may be any number.
//!
//! The model is made with two different numbers: the sorts whose sizes differ are meant. That nothing else depends on the
//! number is seen in the text, where each use of the constant (as scopes have it) must be the size of a scalarset, the end
//! of a range or how many places a multiset has: a comparison could have the same answer for both numbers and another one for
//! others. A range that becomes wider with the number may only hold values, or nothing orders its values: then it is made a
//! scalarset. A name may also be that of a scalarset or a range whose size is a literal.

use shoal_model::{
    Domain, Expr, ExprKind, Model, Node, SortSize, Stmt, StmtKind, Type, TypeId, walk_block, walk_expr,
};
use shoal_syntax::{Diagnostic, Diagnostics, SourceId, SourceMap, Span};

use crate::{Options, codes, file_start, load_and_trace};

/// The number with which the model is made; bounds that grow with the number are those of this one.
const FROM: u32 = 3;

/// Makes a model in which the sorts have any size whose size is a constant that is set to `any`.
pub(crate) fn load(sources: &SourceMap, id: SourceId, options: &Options) -> (Option<Model>, Diagnostics) {
    let with = |number: u32| {
        let any = options.any.iter().map(|name| (name.clone(), i64::from(number)));
        let set = options.set.iter().cloned().chain(any).collect();
        load_and_trace(sources, id, &Options { set, any: Vec::new(), ..options.clone() }, &options.any)
    };
    let (Some(mut model), mut diagnostics, uses) = with(FROM) else { return (None, with(FROM).1) };
    let (Some(other), _, _) = with(FROM + 1) else { return (None, with(FROM + 1).1) };
    let mut some = false;
    for (sort, twin) in model.sorts.iter_mut().zip(other.sorts.iter()) {
        if sort.size != twin.size {
            sort.size = SortSize::Any;
            some = true;
        }
    }
    // What people call `Node: 1..N` is a scalarset where nothing orders it.
    let mut bounds = shoal_analysis::open_ranges(&mut model, &uses.bounds);
    some |= bounds.len() < uses.bounds.len();
    bounds.extend(uses.falling.iter().chain(&uses.capacities));
    let mut refuse = |span: Span, problem: String| {
        let message = format!("{problem}, so it cannot be any number");
        let help = "a name that is set to `any` stands for nothing but the size of a scalarset or of a range that nothing orders, the end of a range that holds a count, or the places of a multiset";
        diagnostics.push(Diagnostic::error(codes::NOT_ANY, span, message).help(help));
    };
    let names = options.any.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if let Some(span) = uses.elsewhere.first() {
        refuse(*span, format!("{names} is more than the size of a scalarset"));
    } else if !some {
        refuse(file_start(id), format!("{names} is the size of no scalarset"));
    } else if let Some((span, ty)) = ranged_over(&model, &bounds) {
        let range = model.show_type(ty).to_string();
        refuse(
            span.unwrap_or_else(|| file_start(id)),
            format!(
                "something ranges over {range}, which depends on {names} and whose values are used as numbers; {names} is more than the size of a scalarset"
            ),
        );
    } else if let Some((span, ty)) = cleared(&model, &uses.falling) {
        let range = model.show_type(ty).to_string();
        refuse(span, format!("the least value of {range}, which this sets, depends on {names}"));
    }
    model.open_bounds = bounds.iter().map(|ty| (*ty, FROM)).collect();
    (Some(model).filter(|_| !diagnostics.has_errors()), diagnostics)
}

/// Where something is set to the least value of one of these types.
fn cleared(model: &Model, falling: &[TypeId]) -> Option<(Span, TypeId)> {
    let mut found = None;
    let mut visit = |node: Node<'_>| {
        if let Node::Stmt(Stmt { kind: StmtKind::Clear(place), span }) = node {
            let is_part = |ty: &TypeId| {
                model.type_contains(place.ty, &|part: &Type| std::ptr::eq(part, model.kind(*ty)))
            };
            found = found.or(falling.iter().copied().find(is_part).map(|ty| (*span, ty)));
        }
    };
    for rule in model.starts.iter().chain(model.rules.iter()) {
        walk_block(&rule.code.body, &mut visit);
    }
    model.functions.iter().for_each(|function| walk_block(&function.code.body, &mut visit));
    found
}

/// Where something ranges over one of these types: then it has to do with how many values there are.
fn ranged_over(model: &Model, bounds: &[TypeId]) -> Option<(Option<Span>, TypeId)> {
    let is_one = |ty: TypeId| match model.kind(ty) {
        Type::Union { members } => members.iter().find(|member| bounds.contains(member)).copied(),
        _ => bounds.contains(&ty).then_some(ty),
    };
    for def in model.types.iter() {
        if let Type::Array { index, .. } = &def.kind
            && let Some(ty) = is_one(*index)
        {
            return Some((None, ty));
        }
    }
    let of_domain = |domain: &Domain| match domain {
        Domain::Type(ty) => is_one(*ty),
        Domain::Range { .. } | Domain::Slots(_) => None,
    };
    let mut found = None;
    let mut visit = |node: Node<'_>| {
        let (domain, span) = match node {
            Node::Stmt(Stmt {
                kind: StmtKind::For { domain, .. } | StmtKind::Choose { domain, .. },
                span,
            }) => (domain, *span),
            Node::Expr(Expr { kind: ExprKind::Quantified { domain, .. }, span, .. }) => (domain, *span),
            Node::Expr(Expr { kind: ExprKind::IsMember(_, ty), span, .. }) if is_one(*ty).is_some() => {
                found = found.or(is_one(*ty).map(|ty| (Some(*span), ty)));
                return;
            }
            Node::Stmt(_) | Node::Expr(_) | Node::Place(_) => return,
        };
        found = found.or(of_domain(domain).map(|ty| (Some(span), ty)));
    };
    for rule in model.starts.iter().chain(model.rules.iter()) {
        if let Some(ty) = rule.params.iter().find_map(|param| of_domain(&param.domain)) {
            return Some((Some(rule.span), ty));
        }
        rule.guard.iter().for_each(|guard| walk_expr(guard, &mut visit));
        rule.bindings.iter().for_each(|binding| shoal_model::walk_argument(&binding.to, &mut visit));
        walk_block(&rule.code.body, &mut visit);
    }
    model.functions.iter().for_each(|function| walk_block(&function.code.body, &mut visit));
    for property in model.properties.iter() {
        property.kind.conditions().into_iter().for_each(|condition| walk_expr(&condition.expr, &mut visit));
    }
    model.fairness.iter().for_each(|condition| walk_expr(&condition.expr, &mut visit));
    found
}
