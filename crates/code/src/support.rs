//! What cannot be run, found before anything starts.

use shoal_model::{LocalKind, Model, Node, SortSize, StmtKind, Type, TypeId, Unsupported};
use shoal_syntax::Span;

use crate::layout::{Layout, MAX_CELLS};

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
