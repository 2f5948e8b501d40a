//! The scalar parts of a state, numbered in the order of variables, fields and indices, and their values as numbers.

use shoal_model::{Model, Type, TypeId, TypedId, Value, VarId};

/// A cell that is undefined.
pub(crate) const UNDEFINED: i64 = i64::MIN;

/// The cells of a state.
pub(crate) struct StateCells {
    /// How many cells a value of each type has; none if it is not made of numbers, names and truth values alone.
    sizes: Vec<Option<u32>>,
    /// The first cell of each variable.
    first: Vec<u32>,
    /// The type of each cell.
    pub(crate) types: Vec<TypeId>,
}

/// States with more cells are left alone.
const MOST_CELLS: u32 = 4096;

impl StateCells {
    /// None if some variable is of another kind, or there are too many cells.
    pub(crate) fn new(model: &Model) -> Option<StateCells> {
        let mut cells = StateCells { sizes: Vec::new(), first: Vec::new(), types: Vec::new() };
        cells.sizes = model.types.ids().map(|ty| size(model, ty)).collect();
        for var in model.vars.iter() {
            cells.first.push(cells.types.len() as u32);
            let size = cells.size(var.ty)?;
            if size.saturating_add(cells.types.len() as u32) > MOST_CELLS {
                return None;
            }
            flatten(model, var.ty, &mut cells.types);
        }
        Some(cells)
    }

    /// How many cells a value of a type has.
    pub(crate) fn size(&self, ty: TypeId) -> Option<u32> {
        self.sizes[ty.index()]
    }

    /// The first cell of a variable.
    pub(crate) fn var(&self, var: VarId) -> u32 {
        self.first[var.index()]
    }
}

fn size(model: &Model, ty: TypeId) -> Option<u32> {
    match model.kind(ty) {
        Type::Bool | Type::Int { .. } | Type::Enum { .. } => Some(1),
        Type::Record { fields } => {
            fields.iter().try_fold(0u32, |sum, field| sum.checked_add(size(model, field.ty)?))
        }
        Type::Array { index, element } => {
            let of_numbers = matches!(model.kind(*index), Type::Bool | Type::Int { .. } | Type::Enum { .. });
            let count = u32::try_from(model.cardinality(*index)?).ok().filter(|_| of_numbers)?;
            count.checked_mul(size(model, *element)?)
        }
        Type::Ref { .. }
        | Type::Union { .. }
        | Type::Multiset { .. }
        | Type::Sequence { .. }
        | Type::Clock => None,
    }
}

fn flatten(model: &Model, ty: TypeId, into: &mut Vec<TypeId>) {
    match model.kind(ty) {
        Type::Record { fields } => fields.iter().for_each(|field| flatten(model, field.ty, into)),
        Type::Array { index, element } => {
            (0..model.cardinality(*index).unwrap_or(0)).for_each(|_| flatten(model, *element, into));
        }
        _ => into.push(ty),
    }
}

/// The least and the greatest number that stands for a value of a scalar type.
pub(crate) fn bounds(model: &Model, ty: TypeId) -> Option<(i64, i64)> {
    match model.kind(ty) {
        Type::Bool => Some((0, 1)),
        Type::Int { lo, hi } => Some((*lo, *hi)),
        Type::Enum { variants } => Some((0, variants.len() as i64 - 1)),
        _ => None,
    }
}

/// The number that stands for a scalar value.
pub(crate) fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Undefined => Some(UNDEFINED),
        Value::Bool(truth) => Some(i64::from(*truth)),
        Value::Int(number) => Some(*number).filter(|number| *number != UNDEFINED),
        Value::Enum(_, position) => Some(i64::from(*position)),
        _ => None,
    }
}
