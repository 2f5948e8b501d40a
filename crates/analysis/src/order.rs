//! Which steps of agents conditions can notice.

use std::collections::BTreeMap;

use shoal_model::{
    Condition, Expr, ExprKind, Model, Node, Place, Projection, Root, RuleId, Value, VarId, walk_condition,
};

use crate::effects::{
    AbstractValue, AccessBase, AccessKind, AccessPath, AccessStep, CodeEffect, Written, of_condition, of_rule,
};

/// A variable, or a field of it where it is a record or an array of records.
type OrderPart = (VarId, Option<u32>);

/// What conditions read: the parts, each with the constants it is compared with, if that is all that is done with it.
struct ReadParts(BTreeMap<OrderPart, Option<Vec<Value>>>);

/// For each location of each family of agents, whether no step at it changes what conditions read.
pub fn unseen(model: &Model, conditions: &[&Condition]) -> Vec<Vec<bool>> {
    let seen = ReadParts::new(model, conditions);
    let of_family = |agents: &shoal_model::Agents| {
        let at = |position: usize, rules: &[RuleId]| {
            let control = (agents.var, Some(agents.field));
            let here = control_value(model, control, position);
            rules.iter().all(|rule| seen.misses(model, *rule, control, here.as_ref()))
        };
        let locations = agents.locations.iter().enumerate();
        locations.map(|(position, location)| at(position, &location.rules)).collect()
    };
    model.agents.iter().map(of_family).collect()
}

/// The value of the control at a location.
pub(crate) fn control_value(model: &Model, (var, field): OrderPart, position: usize) -> Option<Value> {
    let ty = model.vars[var].ty;
    let record = match model.kind(ty) {
        shoal_model::Type::Array { element, .. } => *element,
        _ => ty,
    };
    let shoal_model::Type::Record { fields } = model.kind(record) else { return None };
    model.value_at(fields.get(field? as usize)?.ty, position as u64)
}

impl ReadParts {
    fn new(model: &Model, conditions: &[&Condition]) -> ReadParts {
        let mut seen = ReadParts(BTreeMap::new());
        for condition in conditions {
            // Places that are compared with constants, by where they stand.
            let mut compared: Vec<&Place> = Vec::new();
            walk_condition(condition, &mut |node| {
                if let Node::Expr(Expr { kind: ExprKind::Equal(left, right), .. }) = node
                    && let (ExprKind::Read(place), ExprKind::Const(value))
                    | (ExprKind::Const(value), ExprKind::Read(place)) = (&left.kind, &right.kind)
                    && let Some(part) = part_of_place(place)
                {
                    if let Some(values) = seen.0.entry(part).or_insert_with(|| Some(Vec::new())) {
                        values.push(value.clone());
                    }
                    compared.push(place);
                }
            });
            for access in of_condition(model, condition).accesses {
                let is_compared = compared.iter().any(|place| std::ptr::eq(*place, access.place));
                if let Some(part) = part_of(&access.location).filter(|_| !is_compared) {
                    seen.0.insert(part, None);
                    // The whole variable is read, or a part of what is read as a whole.
                    if part.1.is_none() {
                        seen.0.iter_mut().filter(|(it, _)| it.0 == part.0).for_each(|(_, it)| *it = None);
                    }
                }
            }
        }
        seen
    }

    /// Whether a rule changes nothing that is read.
    fn misses(&self, model: &Model, rule: RuleId, control: OrderPart, here: Option<&Value>) -> bool {
        let footprint = of_rule(model, &model.rules[rule]);
        let unknown = |event: &CodeEffect| matches!(event, CodeEffect::TooLarge | CodeEffect::Recursion(_));
        if footprint.events.iter().any(|(event, _)| unknown(event)) {
            return false;
        }
        footprint.accesses.iter().filter(|access| access.is_write()).all(|access| {
            let part = match (&access.location.base, part_of(&access.location)) {
                (AccessBase::Var(_), Some(part)) => part,
                (AccessBase::Local(_), _) => return true,
                _ => return false,
            };
            let value = match &access.action {
                AccessKind::Write(Written::Value(AbstractValue::Const(value))) => Some(value),
                _ => None,
            };
            let concerned = |(it, values): (&OrderPart, &Option<Vec<Value>>)| {
                let same = it.0 == part.0 && (it.1 == part.1 || it.1.is_none() || part.1.is_none());
                if !same {
                    return false;
                }
                // From one value that is not asked for to another.
                match (values, value, here) {
                    (Some(values), Some(value), Some(here)) if part == control => {
                        values.contains(value) || values.contains(here)
                    }
                    _ => true,
                }
            };
            !self.0.iter().any(concerned)
        })
    }
}

fn part_of(location: &AccessPath) -> Option<OrderPart> {
    let AccessBase::Var(var) = location.base else { return None };
    let field = location.path.iter().find_map(|step| match step {
        AccessStep::Field(field) => Some(Some(*field)),
        AccessStep::Index(_) => None,
        _ => Some(None),
    });
    Some((var, field.flatten()))
}

pub(crate) fn part_of_place(place: &Place) -> Option<OrderPart> {
    let Root::Var(var) = place.root else { return None };
    let field = place.path.iter().find_map(|step| match step {
        Projection::Field(field) => Some(Some(*field)),
        Projection::Index(_) => None,
        _ => Some(None),
    });
    Some((var, field.flatten()))
}
