//! Scalars of the open world: the values of the Model, and *stars*, which stand for elements that are not known.

use shoal_model::{SortId, TypeId, TypedId, Value};

/// A scalar value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ViewScalar {
    Undefined,
    Null,
    Bool(bool),
    Int(i64),
    Enum(TypeId, u32),
    /// A known element.
    Elem(SortId, u32),
    /// An element that is not known. Two stars are the same element if and only if their numbers are equal.
    Star(SortId, u32),
}

impl ViewScalar {
    /// A scalar constant of the Model. Nothing for a value that is not one.
    pub(crate) fn of(value: &Value) -> Option<ViewScalar> {
        Some(match value {
            Value::Undefined => ViewScalar::Undefined,
            Value::Null => ViewScalar::Null,
            Value::Bool(value) => ViewScalar::Bool(*value),
            Value::Int(value) => ViewScalar::Int(*value),
            Value::Enum(ty, position) => ViewScalar::Enum(*ty, *position),
            Value::Elem(sort, element) => ViewScalar::Elem(*sort, *element),
            Value::Clock(_)
            | Value::Record(_)
            | Value::Array(_)
            | Value::Multiset(_)
            | Value::Sequence(_) => return None,
        })
    }
}

/// A scalar in 32 bits: what structures are made of. The order of cells without stars is the order of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Cell(pub(crate) u32);

const TAG: u32 = 29;
const BOOL: u32 = 1;
const INT: u32 = 2;
const ENUM: u32 = 3;
const ELEM: u32 = 4;
const STAR: u32 = 5;
/// Integers are kept with this added.
const BIAS: i64 = 1 << 28;

impl Cell {
    pub(crate) const UNDEFINED: Cell = Cell(0);
    /// The cell of an element that is not known: never read.
    pub(crate) const ABSENT: Cell = Cell(2);
    /// A slot of a bag that is in use.
    pub(crate) const TAKEN: Cell = Cell(BOOL << TAG | 1);

    /// Nothing if the scalar does not fit.
    pub(crate) fn pack(scalar: ViewScalar) -> Option<Cell> {
        let two = |tag: u32, high: usize, low: u32| {
            (high < 1 << 13 && low < 1 << 16).then_some(Cell(tag << TAG | (high as u32) << 16 | low))
        };
        match scalar {
            ViewScalar::Undefined => Some(Cell(0)),
            ViewScalar::Null => Some(Cell(1)),
            ViewScalar::Bool(value) => Some(Cell(BOOL << TAG | u32::from(value))),
            ViewScalar::Int(value) => {
                let biased = value.checked_add(BIAS).filter(|biased| (0..2 * BIAS).contains(biased))?;
                Some(Cell(INT << TAG | biased as u32))
            }
            ViewScalar::Enum(ty, position) => two(ENUM, ty.index(), position),
            ViewScalar::Elem(sort, element) => two(ELEM, sort.index(), element),
            ViewScalar::Star(sort, number) => two(STAR, sort.index(), number),
        }
    }

    /// A known element. Sorts and elements are few: see `Layout::new`.
    pub(crate) fn elem(sort: usize, element: usize) -> Cell {
        Cell(ELEM << TAG | (sort as u32) << 16 | element as u32)
    }

    /// An element that is not known.
    pub(crate) fn star(sort: usize, number: u32) -> Cell {
        Cell(STAR << TAG | (sort as u32) << 16 | number)
    }

    /// Whether it is an element or a star.
    pub(crate) fn is_reference(self) -> bool {
        self.0 >> TAG >= ELEM
    }

    /// The sort and the number, if it is an element.
    pub(crate) fn as_elem(self) -> Option<(usize, usize)> {
        (self.0 >> TAG == ELEM).then(|| self.parts())
    }

    /// The sort and the number, if it is a star.
    pub(crate) fn as_star(self) -> Option<(usize, usize)> {
        (self.0 >> TAG == STAR).then(|| self.parts())
    }

    fn parts(self) -> (usize, usize) {
        (((self.0 >> 16) & 0x1fff) as usize, (self.0 & 0xffff) as usize)
    }

    /// Nothing for the cell of an element that is not known.
    pub(crate) fn unpack(self) -> Option<ViewScalar> {
        let (high, low) = self.parts();
        Some(match (self.0 >> TAG, self.0) {
            (0, 0) => ViewScalar::Undefined,
            (0, 1) => ViewScalar::Null,
            (BOOL, _) => ViewScalar::Bool(low == 1),
            (INT, cell) => ViewScalar::Int(i64::from(cell & ((1 << TAG) - 1)) - BIAS),
            (ENUM, _) => ViewScalar::Enum(TypeId::from_index(high), low as u32),
            (ELEM, _) => ViewScalar::Elem(SortId::from_index(high), low as u32),
            (STAR, _) => ViewScalar::Star(SortId::from_index(high), low as u32),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_exact_and_keeps_the_order() {
        let (ty, sort) = (TypeId::from_index(7), SortId::from_index(3));
        let scalars = [
            ViewScalar::Undefined,
            ViewScalar::Null,
            ViewScalar::Bool(false),
            ViewScalar::Bool(true),
            ViewScalar::Int(-5),
            ViewScalar::Int(0),
            ViewScalar::Int(9),
            ViewScalar::Enum(ty, 0),
            ViewScalar::Enum(ty, 4),
            ViewScalar::Elem(sort, 2),
            ViewScalar::Star(sort, 1),
        ];
        let cells: Vec<Cell> = scalars.iter().filter_map(|scalar| Cell::pack(*scalar)).collect();
        assert!(cells.is_sorted());
        let back: Vec<ViewScalar> = cells.iter().filter_map(|cell| cell.unpack()).collect();
        assert_eq!(back, scalars);
        assert_eq!(Cell::pack(ViewScalar::Int(1 << 40)), None);
        assert_eq!(Cell::ABSENT.unpack(), None);
    }
}
