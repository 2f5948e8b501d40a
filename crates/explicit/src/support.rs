//! What the engine does not take, found before it starts.

use shoal_code::Layout;
use shoal_model::{
    Asks, Job, Logic, Model, Node, OrInternal, PropertyId, PropertyKind, SortSize, TypedId, Unsupported,
};
use shoal_syntax::Span;

/// The name of the engine.
pub(crate) const ENGINE: &str = "explicit";

pub(crate) fn unsupported(construct: impl Into<String>, span: Option<Span>) -> Unsupported {
    Unsupported { engine: ENGINE, construct: construct.into(), span }
}

/// Whether the engine decides a property of a model, as far as that can be seen without translating it.
pub fn supports(model: &Model, id: PropertyId) -> Result<(), Unsupported> {
    let property = &model.properties[id];
    let lacks = |construct: &str| Err(unsupported(construct, Some(property.span)));
    if let Some(sort) = model.sorts.iter().find(|sort| sort.size == SortSize::Any) {
        return Err(unsupported(format!("any number of `{}`", sort.name), Some(sort.span)));
    }
    if model.has_clocks() {
        return lacks("clocks");
    }
    match property.kind.asks() {
        Asks::States | Asks::Formula(Logic::Ltl | Logic::Ctl) => Ok(()),
        asks @ (Asks::Timelocks | Asks::Formula(Logic::Tctl) | Asks::Extreme | Asks::Unclear(_)) => {
            lacks(asks.words())
        }
    }
}

/// Whether the engine can do the job; the layout if it can.
pub(crate) fn accept(model: &Model, job: &Job) -> Result<Layout, Unsupported> {
    for property in &job.properties {
        let property = &model.properties[*property];
        if matches!(property.kind, PropertyKind::Temporal(..)) {
            return Err(unsupported("temporal formulas", Some(property.span)));
        }
        if let PropertyKind::Extreme(_) = &property.kind {
            return Err(unsupported(property.kind.asks().words(), Some(property.span)));
        }
        if let PropertyKind::Unclear(why) = &property.kind {
            return Err(unsupported(why, Some(property.span)));
        }
    }
    shoal_code::accept(model, ENGINE)
}

/// For each sort, which of its elements the model names in its rules and properties: those stay where they are.
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
    for rule in model.rules.iter() {
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

/// Whether every state of a reached orbit is reached: not only the steps treat elements alike, as is known of these sorts, the starts do
/// as well.
pub(crate) fn reaches_whole_orbits(model: &Model, symmetric: &[shoal_model::SortId]) -> bool {
    let named = pinned(model);
    // Mostly the starts can be looked at by themselves: the steps were looked at when the search was planned.
    let symmetry =
        shoal_analysis::symmetry_of_starts(model).unwrap_or_else(|| shoal_analysis::symmetry(model));
    symmetric.iter().all(|sort| {
        let known = &symmetry.sorts[*sort];
        let stays = |element: &u32| {
            named[sort.index()].get(*element as usize).copied().or_internal("an element of its sort")
        };
        known.is_proved() && known.pinned.iter().all(stays)
    })
}
