//! What is known of a value while a step is followed: a number, a function of one cell, or a term over cells.

use std::rc::Rc;

use shoal_model::BinaryOp;

/// A function of the values of a cell, in their order.
pub(crate) type ValueTable = Rc<[(i64, i64)]>;

/// A value after some steps of a path, in terms of the state before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Val {
    Const(i64),
    /// What a function makes of the value of a cell.
    Of(u32, ValueTable),
    /// A term: some cell in it has too many values to look at each.
    Term(Rc<CellTerm>),
}

/// A term over cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CellTerm {
    Const(i64),
    Cell(u32),
    Of(u32, ValueTable),
    Op(TermOp, Vec<Rc<CellTerm>>),
}

/// What a term does to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TermOp {
    Binary(BinaryOp),
    Equal,
    Not,
    BitNot,
}

impl Val {
    /// The value as a term.
    pub(crate) fn term(&self) -> Rc<CellTerm> {
        match self {
            Val::Const(value) => Rc::new(CellTerm::Const(*value)),
            Val::Of(cell, table) => Rc::new(CellTerm::Of(*cell, table.clone())),
            Val::Term(term) => term.clone(),
        }
    }

    /// The value where a cell has one of these values alone, least first.
    pub(crate) fn given(self, cell: u32, values: &[i64]) -> Val {
        match self {
            Val::Of(of, table) if of == cell => {
                let kept: Vec<(i64, i64)> =
                    table.iter().copied().filter(|(value, _)| values.binary_search(value).is_ok()).collect();
                Val::of(cell, kept)
            }
            other => other,
        }
    }

    /// A function of a cell, or the number that it always gives.
    pub(crate) fn of(cell: u32, table: Vec<(i64, i64)>) -> Val {
        match table.split_first() {
            Some((first, rest)) if rest.iter().all(|(_, to)| *to == first.1) => Val::Const(first.1),
            _ => Val::Of(cell, table.into()),
        }
    }
}

impl CellTerm {
    /// Visits the cells in it.
    pub(crate) fn each_cell(&self, visit: &mut dyn FnMut(u32)) {
        match self {
            CellTerm::Const(_) => {}
            CellTerm::Cell(cell) | CellTerm::Of(cell, _) => visit(*cell),
            CellTerm::Op(_, of) => of.iter().for_each(|of| of.each_cell(visit)),
        }
    }
}
