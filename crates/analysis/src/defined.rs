//! Which parts of the state may be undefined after some step.
//!
//! A *slot* is a scalar part of a variable, with the elements of an array taken together. Whatever is computed is defined:
//! reading an undefined value is a fault. So a slot is undefined only where a start leaves it so, where that is said, or
//! where something is copied as it is that may be undefined.
//!
//! What is copied from where is collected statement by statement ([`flow`]), each piece of code once: locals, results and what is in
//! multisets are slots, too, and a reference stands for everything that it is ever bound to. Only of locals it matters what
//! came before: they begin undefined, and most are given a value before anybody looks.

mod flow;

use std::collections::BTreeSet;

use shoal_model::{FunctionId, LocalId, Model, Type, TypeId, Value, VarId};

use flow::UndefinedFlow;

/// A scalar part of a variable: the fields on the way to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath {
    /// The variable.
    pub var: VarId,
    /// The fields of records on the way.
    pub fields: Vec<u32>,
}

/// The slots that may be undefined, if these are after the starts. Nothing if that cannot be known.
pub fn undefinable(model: &Model, starts: BTreeSet<FieldPath>) -> Option<BTreeSet<FieldPath>> {
    let of_var = |slot: FieldPath| ValueSlot { base: SlotBase::Var(slot.var), fields: slot.fields };
    let undefined = UndefinedFlow::new(model)?.close(starts.into_iter().map(of_var));
    let of_state = |slot: ValueSlot| match slot.base {
        SlotBase::Var(var) => Some(FieldPath { var, fields: slot.fields }),
        SlotBase::Local(..) | SlotBase::Result(_) => None,
    };
    Some(undefined.into_iter().filter_map(of_state).collect())
}

/// Where a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SlotBase {
    Var(VarId),
    /// A local of the piece of code with a number: of all its activations.
    Local(usize, LocalId),
    /// What a function returns.
    Result(FunctionId),
}

/// A slot, or something composite that has some.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ValueSlot {
    base: SlotBase,
    fields: Vec<u32>,
}

impl ValueSlot {
    fn whole(base: SlotBase) -> ValueSlot {
        ValueSlot { base, fields: Vec::new() }
    }

    /// A part of it.
    fn part(&self, fields: &[u32]) -> ValueSlot {
        ValueSlot { base: self.base, fields: [&self.fields, fields].concat() }
    }

    /// Whether it is a part of the state, but not of what is in a multiset or a sequence.
    fn is_of_state(&self, model: &Model) -> bool {
        let SlotBase::Var(var) = self.base else { return false };
        let (mut ty, mut fields) = (model.vars[var].ty, self.fields.iter());
        loop {
            ty = match model.kind(ty) {
                Type::Array { element, .. } => *element,
                Type::Multiset { .. } | Type::Sequence { .. } => return false,
                Type::Record { fields: parts } => {
                    match fields.next().and_then(|at| parts.get(*at as usize)) {
                        Some(part) => part.ty,
                        None => return true,
                    }
                }
                _ => return true,
            };
        }
    }
}

/// Which parts of a type are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartsOf {
    /// Those that it has in any case.
    Itself,
    /// Those of what may be in its multisets and sequences, too.
    Contents,
}

/// The scalar parts of a type, by the fields on the way.
fn each_part(model: &Model, ty: TypeId, which: PartsOf, visit: &mut dyn FnMut(&[u32])) {
    fn walk(model: &Model, ty: TypeId, which: PartsOf, fields: &mut Vec<u32>, visit: &mut dyn FnMut(&[u32])) {
        match model.kind(ty) {
            Type::Record { fields: parts } => {
                for (at, part) in (0..).zip(parts) {
                    fields.push(at);
                    walk(model, part.ty, which, fields, visit);
                    fields.pop();
                }
            }
            Type::Array { element, .. } => walk(model, *element, which, fields, visit),
            Type::Multiset { element, .. } | Type::Sequence { element, .. } => {
                if which == PartsOf::Contents {
                    walk(model, *element, which, fields, visit);
                }
            }
            _ => visit(fields),
        }
    }
    walk(model, ty, which, &mut Vec::new(), visit);
}

fn has_undefined(value: &Value) -> bool {
    match value {
        Value::Undefined => true,
        Value::Record(parts) | Value::Array(parts) => parts.iter().any(has_undefined),
        Value::Multiset(_) | Value::Sequence(_) => true,
        _ => false,
    }
}
