//! Models whose agents forget what they will not read any more.

use std::collections::BTreeSet;

use shoal_model::{
    Agents, Expr, ExprKind, Model, Place, Projection, Root, Stmt, StmtKind, Type, TypeId, Value,
};

use crate::order::{control_value, part_of_place};

/// A model with the same rules in which dead fields of agents are reset, and the names of these fields.
pub struct Forgetful {
    /// The model.
    pub model: Model,
    /// `variable.field`, each once.
    pub fields: Vec<String>,
}

/// Resets the dead fields of agents as soon as they come to a location; nothing if there are none.
///
/// Wherever code sends an agent to a location, what the agent does afterwards in the same step is what it does from there.
/// So the fields are reset right behind the statement that changes the control.
pub fn forget(model: &Model) -> Option<Forgetful> {
    let families: Vec<AgentFamily> =
        model.agents.iter().filter_map(|agents| AgentFamily::of(model, agents)).collect();
    let dead = families.iter().flat_map(|family| &family.dead).flat_map(|(_, dead)| dead);
    let fields: BTreeSet<String> = dead.map(|field| field.name.clone()).collect();
    if fields.is_empty() {
        return None;
    }
    let mut model = model.clone();
    let rules = model.rules.iter_mut().chain(model.starts.iter_mut()).map(|rule| &mut rule.code);
    for code in rules.chain(model.functions.iter_mut().map(|function| &mut function.code)) {
        reset(&mut code.body, &families);
    }
    let model = model.made_by("forgetting dead fields");
    Some(Forgetful { model, fields: fields.into_iter().collect() })
}

/// A family of agents that forget.
struct AgentFamily {
    agents: Agents,
    /// The fields that are dead for each value of the control, with their types and what they are set to.
    dead: Vec<(Value, Vec<DeadField>)>,
}

#[derive(Clone)]
struct DeadField {
    number: u32,
    name: String,
    ty: TypeId,
    /// Nothing: the least value.
    value: Option<Value>,
}

impl AgentFamily {
    fn of(model: &Model, agents: &Agents) -> Option<AgentFamily> {
        let ty = model.vars[agents.var].ty;
        let record = match model.kind(ty) {
            Type::Array { element, .. } => *element,
            _ => ty,
        };
        let Type::Record { fields } = model.kind(record) else { return None };
        let mut dead = Vec::new();
        for (position, location) in agents.locations.iter().enumerate() {
            let value = control_value(model, (agents.var, Some(agents.field)), position)?;
            let field = |number: &u32| {
                let field = fields.get(*number as usize)?;
                let name = format!("{}.{}", model.vars[agents.var].name, field.name);
                let (number, ty, value) = (*number, field.ty, zero(model, field.ty));
                is_plain(model, ty).then_some(DeadField { number, name, ty, value })
            };
            dead.push((value, location.dead.iter().filter_map(field).collect()));
        }
        Some(AgentFamily { agents: agents.clone(), dead })
    }

    /// What to reset behind a statement.
    fn behind(&self, stmt: &Stmt) -> Vec<Stmt> {
        let StmtKind::Assign(place, Expr { kind: ExprKind::Const(value), .. }) = &stmt.kind else {
            return Vec::new();
        };
        let is_control =
            matches!(place.path.last(), Some(Projection::Field(field)) if *field == self.agents.field);
        let part = Some((self.agents.var, Some(self.agents.field)));
        if !is_control || !matches!(place.root, Root::Var(_)) || part_of_place(place) != part {
            return Vec::new();
        }
        let dead = self.dead.iter().find(|(location, _)| location == value).map(|(_, dead)| dead);
        let reset = |field: &DeadField| {
            let mut path = place.path.clone();
            path.pop();
            path.push(Projection::Field(field.number));
            let place = Place { path, ty: field.ty, ..place.clone() };
            let kind = match &field.value {
                Some(value) => {
                    let kind = ExprKind::Const(value.clone());
                    StmtKind::Assign(place, Expr { kind, ty: field.ty, span: stmt.span })
                }
                None => StmtKind::Clear(place),
            };
            Stmt { kind, span: stmt.span }
        };
        dead.into_iter().flatten().map(reset).collect()
    }
}

/// Whether a type has no part that is an element of a sort: those have no value that stands for all.
fn is_plain(model: &Model, ty: TypeId) -> bool {
    match model.kind(ty) {
        Type::Bool | Type::Int { .. } | Type::Enum { .. } => true,
        Type::Array { element, .. } => is_plain(model, *element),
        _ => false,
    }
}

/// Zero, where that is not the least value but one.
fn zero(model: &Model, ty: TypeId) -> Option<Value> {
    match model.kind(ty) {
        Type::Int { lo, hi } if *lo < 0 && *hi >= 0 => Some(Value::Int(0)),
        _ => None,
    }
}

fn reset(block: &mut Vec<Stmt>, families: &[AgentFamily]) {
    let mut at = 0;
    while at < block.len() {
        match &mut block[at].kind {
            StmtKind::If(arms, other) => {
                arms.iter_mut().for_each(|(_, block)| reset(block, families));
                reset(other, families);
            }
            StmtKind::While { body, .. } | StmtKind::For { body, .. } => reset(body, families),
            StmtKind::Assign(..) => {
                let behind: Vec<Stmt> =
                    families.iter().flat_map(|family| family.behind(&block[at])).collect();
                let count = behind.len();
                block.splice(at + 1..at + 1, behind);
                at += count;
            }
            _ => {}
        }
        at += 1;
    }
}
