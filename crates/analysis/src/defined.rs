//! Which parts of the state may be undefined after some step.
//!
//! A *slot* is a scalar part of a variable, with the elements of an array taken together. Whatever is computed is defined:
//! reading an undefined value is a fault. So a slot is undefined only where a start leaves it so, where that is said, or
//! where something is copied as it is, from a slot that may be undefined or from a local.

use std::collections::BTreeSet;

use shoal_model::{
    Code, Expr, ExprKind, IndexVec, Local, LocalId, LocalKind, Model, Node, Stmt, StmtKind, Type, TypeId,
    Value, VarId, walk_code,
};

use crate::effects::{
    AbstractValue, AccessBase, AccessKind, AccessPath, AccessStep, CodeEffect, Footprint, Written, of_rule,
};

/// A scalar part of a variable: the fields on the way to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath {
    /// The variable.
    pub var: VarId,
    /// The fields of records on the way.
    pub fields: Vec<u32>,
}

/// The slots that may be undefined, if these are after the starts. Nothing if that cannot be known; parts of multisets and
/// sequences are never spoken of.
pub fn undefinable(model: &Model, starts: BTreeSet<FieldPath>) -> Option<BTreeSet<FieldPath>> {
    let codes = model.rules.iter().map(|rule| &rule.code);
    if codes.chain(model.functions.iter().map(|function| &function.code)).any(selects) {
        return None;
    }
    let mut found = UndefinedFlow { undefined: starts, copies: Vec::new() };
    for rule in model.rules.iter() {
        found.look_at(model, &rule.code.locals, &of_rule(model, rule))?;
    }
    Some(found.close())
}

/// Whether a value is assigned that is one of two, and may be undefined: footprints do not say from where it is.
fn selects(code: &Code) -> bool {
    let mut found = false;
    walk_code(code, &mut |node| {
        if let Node::Stmt(Stmt { kind: StmtKind::Assign(_, value), .. }) = node {
            found |= matches!(value.kind, ExprKind::Cond(..)) && peeks(value);
        }
    });
    found
}

fn peeks(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Peek(_) => true,
        ExprKind::Cond(_, then, other) => peeks(then) || peeks(other),
        _ => false,
    }
}

struct UndefinedFlow {
    undefined: BTreeSet<FieldPath>,
    /// To, from.
    copies: Vec<(FieldPath, FieldPath)>,
}

impl UndefinedFlow {
    fn look_at(
        &mut self,
        model: &Model,
        locals: &IndexVec<LocalId, Local>,
        footprint: &Footprint<'_>,
    ) -> Option<()> {
        let unknown = |event: &CodeEffect| {
            matches!(
                event,
                CodeEffect::Recursion(_) | CodeEffect::TooLarge | CodeEffect::Create | CodeEffect::Delete
            )
        };
        if footprint.events.iter().any(|(event, _)| unknown(event)) {
            return None;
        }
        for access in &footprint.accesses {
            let AccessKind::Write(written) = &access.action else { continue };
            match access.location.base {
                AccessBase::Local(_) => {}
                AccessBase::Referent(_) => return None,
                AccessBase::Var(var) => match written {
                    // Bound locals have values; others may have got something undefined.
                    Written::Value(AbstractValue::Fixed(local))
                        if local.activation == 0 && locals[local.local].kind == LocalKind::Bound => {}
                    _ => self.write(model, var, &access.location, written),
                },
            }
        }
        Some(())
    }

    fn write(&mut self, model: &Model, var: VarId, to: &AccessPath, written: &Written) {
        let Some(ty) = to.end(model) else { return };
        match written {
            Written::Copy(from) => {
                let source = match from.base {
                    AccessBase::Var(source) if from.end(model).is_some_and(|other| other == ty) => {
                        Some(source)
                    }
                    _ => None,
                };
                each_part(model, ty, &mut |part| {
                    let slot = slot(var, to, part);
                    if let Some(source) = source {
                        self.copies.push((slot, self::slot(source, from, part)));
                    } else {
                        self.undefined.insert(slot);
                    }
                });
            }
            Written::Value(AbstractValue::Const(value)) if !has_undefined(value) => {}
            // A result. Of something composite, it is not known what it was put together from.
            Written::Value(AbstractValue::Unknown) if model.kind(ty).is_scalar() => {}
            Written::Increased
            | Written::Decreased
            | Written::Raised
            | Written::Lowered
            | Written::Highest
            | Written::Lowest => {}
            Written::Least => {}
            Written::Value(_) | Written::Undefined | Written::Added | Written::Removed | Written::Changed => {
                each_part(model, ty, &mut |part| {
                    self.undefined.insert(slot(var, to, part));
                });
            }
        }
    }

    /// What is copied from a slot that may be undefined may be, too.
    fn close(mut self) -> BTreeSet<FieldPath> {
        loop {
            let before = self.undefined.len();
            for (to, from) in &self.copies {
                if self.undefined.contains(from) {
                    self.undefined.insert(to.clone());
                }
            }
            if self.undefined.len() == before {
                return self.undefined;
            }
        }
    }
}

fn has_undefined(value: &Value) -> bool {
    match value {
        Value::Undefined => true,
        Value::Record(parts) | Value::Array(parts) => parts.iter().any(has_undefined),
        Value::Multiset(_) | Value::Sequence(_) => true,
        _ => false,
    }
}

fn slot(var: VarId, location: &AccessPath, part: &[u32]) -> FieldPath {
    let before = location.path.iter().filter_map(|step| match step {
        AccessStep::Field(field) => Some(*field),
        AccessStep::Index(_)
        | AccessStep::Slot(_)
        | AccessStep::Item(_)
        | AccessStep::Entry(_)
        | AccessStep::Room => None,
    });
    FieldPath { var, fields: before.chain(part.iter().copied()).collect() }
}

/// The scalar parts of a type, by the fields on the way.
fn each_part(model: &Model, ty: TypeId, visit: &mut dyn FnMut(&[u32])) {
    fn walk(model: &Model, ty: TypeId, fields: &mut Vec<u32>, visit: &mut dyn FnMut(&[u32])) {
        match model.kind(ty) {
            Type::Record { fields: parts } => {
                for (at, part) in (0..).zip(parts) {
                    fields.push(at);
                    walk(model, part.ty, fields, visit);
                    fields.pop();
                }
            }
            Type::Array { element, .. } => walk(model, *element, fields, visit),
            Type::Multiset { .. } | Type::Sequence { .. } => {}
            _ => visit(fields),
        }
    }
    walk(model, ty, &mut Vec::new(), visit);
}
