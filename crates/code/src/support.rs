//! What cannot be run, found before anything starts.

use shoal_model::{
    Argument, Domain, Expr, ExprKind, LocalKind, Lost, Model, Node, Root, SortSize, Stmt, StmtKind, Type,
    TypeId, Unsupported,
};
use shoal_syntax::Span;

use crate::{
    compile::has_growing_array,
    layout::{Layout, MAX_CELLS},
};

/// Whether a model can be run, for an engine of this name; the layout if it can.
pub fn accept(model: &Model, engine: &'static str) -> Result<Layout, Unsupported> {
    accept_model(model).map_err(|lacking| Unsupported { engine, ..lacking })
}

/// What is lacking; whoever knows the engine says its name.
pub(crate) fn unsupported(construct: impl Into<String>, span: Option<Span>) -> Unsupported {
    Unsupported { engine: "", construct: construct.into(), span }
}

fn accept_model(model: &Model) -> Result<Layout, Unsupported> {
    for sort in model.sorts.iter() {
        let construct = match sort.size {
            SortSize::Fixed(_) => continue,
            SortSize::Growing { limit: None, .. } => "sorts that grow without a limit",
            SortSize::Growing { lost: Lost::Stays, .. } => "sorts that grow and whose lost elements stay",
            SortSize::Growing { limit: Some(_), .. } if lacks_types(model) => {
                "a sort that grows, without an array over it"
            }
            SortSize::Growing { limit: Some(_), .. } => continue,
            SortSize::Any => "sorts of any size",
        };
        return Err(unsupported(construct, Some(sort.span)));
    }
    // Without clocks no state is another for waiting.
    if let Some(condition) = model.while_time_passes.as_ref().filter(|_| model.has_clocks()) {
        return Err(unsupported("clocks", Some(condition.expr.span)));
    }
    for var in model.vars.iter() {
        accept_type(model, var.ty, var.span)?;
    }
    accept_code(model)?;
    accept_growing(model)?;
    let layout = Layout::new(model)
        .ok_or_else(|| unsupported(format!("states of more than {MAX_CELLS} values"), None))?;
    accept_sizes(model, &layout)?;
    Ok(layout)
}

/// Whether there is no way to say what became of the elements of a growing sort.
fn lacks_types(model: &Model) -> bool {
    let has = |kind: &Type| model.types.iter().any(|def| def.kind == *kind);
    let mut growing = model.sorts.ids().filter(|sort| model.sorts[*sort].fixed_size().is_none());
    !has(&Type::Bool) || !growing.all(|sort| has(&Type::Ref { sort, nullable: false }))
}

/// Elements that come and go are used one by one: what is done to all of them at a time, or to parts of them from afar, is
/// not followed.
fn accept_growing(model: &Model) -> Result<(), Unsupported> {
    if model.sorts.iter().all(|sort| sort.fixed_size().is_some()) {
        return Ok(());
    }
    let mut found = None;
    let mut visit = |node: Node<'_>| {
        found = found.take().or_else(|| growing_construct(model, node));
    };
    let rules = || model.rules.iter().chain(model.starts.iter());
    let functions = || model.functions.iter().map(|function| &function.code);
    for code in rules().map(|rule| &rule.code).chain(functions()) {
        shoal_model::walk_code(code, &mut visit);
    }
    for condition in model.properties.iter().flat_map(|property| property.kind.conditions()) {
        shoal_model::walk_condition(condition, &mut visit);
    }
    rules().flat_map(|rule| &rule.guard).for_each(|guard| shoal_model::walk_expr(guard, &mut visit));
    let param =
        rules().find(|rule| rule.params.iter().any(|param| ranges_over_growing(model, &param.domain)));
    let param = param.map(|rule| (LOOP, rule.span));
    let bound =
        rules().flat_map(|rule| &rule.bindings).find_map(|binding| part_of_growing(model, &binding.to));
    let locals = rules().map(|rule| &rule.code).chain(functions()).flat_map(|code| code.locals.iter());
    let local = locals.into_iter().find(|local| has_growing_array(model, local.ty));
    let local = local.map(|local| ("local arrays over a sort that grows", local.span));
    match found.or(param).or(bound).or(local) {
        Some((construct, span)) => Err(unsupported(construct, Some(span))),
        None => Ok(()),
    }
}

const LOOP: &str = "loops over the elements of a sort that grows";

fn growing_construct(model: &Model, node: Node<'_>) -> Option<(&'static str, Span)> {
    let all = |domain: &Domain, span: Span| ranges_over_growing(model, domain).then_some((LOOP, span));
    match node {
        Node::Place(place) if has_growing_array(model, place.ty) => {
            Some(("all elements of a sort that grows at a time", place.span))
        }
        Node::Place(_) => None,
        Node::Stmt(Stmt { kind, span }) => match kind {
            StmtKind::For { domain, .. } => all(domain, *span),
            // One of them can be taken, but not one of them or something else.
            StmtKind::Choose { domain: Domain::Type(ty), .. }
                if matches!(model.kind(*ty), Type::Ref { .. }) =>
            {
                None
            }
            StmtKind::Choose { domain, .. } => all(domain, *span),
            StmtKind::Bind(bindings) => bindings.iter().find_map(|it| part_of_growing(model, &it.to)),
            StmtKind::Call(_, arguments) => arguments.iter().find_map(|it| part_of_growing(model, it)),
            _ => None,
        },
        Node::Expr(Expr { kind, span, .. }) => match kind {
            ExprKind::Quantified { domain, .. } => all(domain, *span),
            ExprKind::Call(_, arguments) => arguments.iter().find_map(|it| part_of_growing(model, it)),
            _ => None,
        },
    }
}

fn ranges_over_growing(model: &Model, domain: &Domain) -> bool {
    let Domain::Type(ty) = domain else { return false };
    model.sorts_of(*ty).iter().any(|sort| model.sorts[*sort].fixed_size().is_none())
}

/// A reference to a part of an element, which may be gone when it is used.
fn part_of_growing(model: &Model, argument: &Argument) -> Option<(&'static str, Span)> {
    let Argument::Place(place) = argument else { return None };
    let Root::Var(var) = place.root else { return None };
    has_growing_array(model, model.vars[var].ty)
        .then_some(("references to parts of elements of a sort that grows", place.span))
}

fn accept_type(model: &Model, ty: TypeId, span: Span) -> Result<(), Unsupported> {
    if model.type_contains(ty, &|part| matches!(part, Type::Clock)) {
        return Err(unsupported("clocks", Some(span)));
    }
    if model.type_contains(ty, &|part| matches!(part, Type::Sequence { .. })) {
        return Err(unsupported("sequences", Some(span)));
    }
    Ok(())
}

fn accept_code(model: &Model) -> Result<(), Unsupported> {
    let rules = model.rules.iter().chain(model.starts.iter()).map(|rule| &rule.code);
    for code in rules.chain(model.functions.iter().map(|function| &function.code)) {
        for local in code.locals.iter() {
            accept_type(model, local.ty, local.span)?;
        }
        let mut result = Ok(());
        shoal_model::walk_code(code, &mut |node| {
            if let Node::Stmt(stmt) = node {
                let construct = match stmt.kind {
                    StmtKind::Insert { .. } | StmtKind::Remove(..) => "sequences",
                    _ => return,
                };
                result = Err(unsupported(construct, Some(stmt.span)));
            }
        });
        result?;
    }
    Ok(())
}

/// Locals and results must have a layout too.
fn accept_sizes(model: &Model, layout: &Layout) -> Result<(), Unsupported> {
    let too_large =
        |span| Err(unsupported(format!("local variables of more than {MAX_CELLS} values"), Some(span)));
    let rules = model.rules.iter().chain(model.starts.iter()).map(|rule| &rule.code);
    for code in rules.chain(model.functions.iter().map(|function| &function.code)) {
        for local in code.locals.iter() {
            if local.kind != LocalKind::Bound && layout.size(local.ty).is_none() {
                return too_large(local.span);
            }
        }
    }
    for function in model.functions.iter() {
        if function.result.is_some_and(|ty| layout.size(ty).is_none()) {
            return too_large(function.span);
        }
    }
    Ok(())
}
