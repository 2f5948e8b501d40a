//! What the engine does not take, found before it starts.

use shoal_model::{
    Job, LocalKind, Model, Node, PropertyKind, SortSize, StmtKind, Type, TypeId, TypedId, Unsupported,
};
use shoal_syntax::Span;

use crate::layout::{Layout, MAX_CELLS};

/// The name of the engine.
pub(crate) const ENGINE: &str = "explicit";

pub(crate) fn unsupported(construct: impl Into<String>, span: Option<Span>) -> Unsupported {
    Unsupported { engine: ENGINE, construct: construct.into(), span }
}

/// Whether the engine can do the job; the layout if it can.
pub(crate) fn accept(model: &Model, job: &Job) -> Result<Layout, Unsupported> {
    for property in &job.properties {
        let property = &model.properties[*property];
        if matches!(property.kind, PropertyKind::Temporal(..)) {
            return Err(unsupported("temporal formulas", Some(property.span)));
        }
    }
    accept_model(model)
}

/// Whether the engine can run the model; the layout if it can.
pub(crate) fn accept_model(model: &Model) -> Result<Layout, Unsupported> {
    for sort in model.sorts.iter() {
        let construct = match sort.size {
            SortSize::Fixed(_) => continue,
            SortSize::Growing { .. } => "sorts that grow",
            SortSize::Any => "sorts of any size",
        };
        return Err(unsupported(construct, Some(sort.span)));
    }
    if let Some(condition) = &model.while_time_passes {
        return Err(unsupported("clocks", Some(condition.expr.span)));
    }
    for var in model.vars.iter() {
        accept_type(model, var.ty, var.span)?;
    }
    accept_code(model)?;
    let layout = Layout::new(model)
        .ok_or_else(|| unsupported(format!("states of more than {MAX_CELLS} values"), None))?;
    accept_sizes(model, &layout)?;
    Ok(layout)
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
                    StmtKind::Create(..) => "creation of elements",
                    StmtKind::Delete(_) => "deletion of elements",
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

/// For each sort, which of its elements the model names: those stay where they are.
pub(crate) fn pinned(model: &Model) -> Vec<Vec<bool>> {
    let size = |sort: &shoal_model::Sort| sort.fixed_size().unwrap_or(0) as usize;
    let mut pinned: Vec<Vec<bool>> = model.sorts.iter().map(|sort| vec![false; size(sort)]).collect();
    let mut visit = |node: Node<'_>| {
        if let Node::Expr(expr) = node
            && let shoal_model::ExprKind::Const(shoal_model::Value::Elem(sort, element)) = &expr.kind
            && let Some(pin) = pinned[sort.index()].get_mut(*element as usize)
        {
            *pin = true;
        }
    };
    for rule in model.rules.iter().chain(model.starts.iter()) {
        rule.params.iter().for_each(|param| shoal_model::walk_domain(&param.domain, &mut visit));
        rule.bindings.iter().for_each(|binding| shoal_model::walk_argument(&binding.to, &mut visit));
        rule.guard.iter().for_each(|guard| shoal_model::walk_expr(guard, &mut visit));
        shoal_model::walk_code(&rule.code, &mut visit);
    }
    for function in model.functions.iter() {
        shoal_model::walk_code(&function.code, &mut visit);
    }
    for property in model.properties.iter() {
        for condition in property.kind.conditions() {
            shoal_model::walk_condition(condition, &mut visit);
        }
    }
    pinned
}
