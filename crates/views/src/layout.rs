//! Where the cells of a structure are. The layout has room for a few elements of each sort that has any number; the cells
//! of those that are not known are absent.

use std::collections::HashMap;

use shoal_model::{Model, Type, TypeId, TypedId, VarId};
use shoal_syntax::Span;

use crate::cell::ViewScalar;

/// One step from a variable to a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Hop {
    Field(usize),
    /// The entry of an array at a position that is the same in every structure.
    Entry(usize),
    /// The entry of an element of a sort that has any number of them.
    Elem(usize),
    Slot(usize),
    /// Whether a slot is in use.
    InUse(usize),
}

/// An index of a cell that is an element of a sort with any number of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dim {
    pub(crate) sort: usize,
    pub(crate) element: usize,
    pub(crate) stride: usize,
}

/// What there is to know of a cell.
#[derive(Clone, Debug)]
pub(crate) struct CellInfo {
    /// All cells that differ only in elements are of one family.
    pub(crate) family: usize,
    pub(crate) dims: Vec<Dim>,
    pub(crate) ty: TypeId,
}

/// The cells that differ only in the elements they belong to.
#[derive(Clone, Debug)]
pub(crate) struct CellFamily {
    pub(crate) var: VarId,
    pub(crate) path: Vec<Hop>,
    /// Whether it has a cell for each element of some sort.
    pub(crate) indexed: bool,
}

/// A bag that is a global variable or a part of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BagInfo {
    pub(crate) offset: usize,
    pub(crate) capacity: usize,
    /// Cells of a slot, with the one that says whether it is in use.
    pub(crate) width: usize,
}

#[derive(Debug)]
pub(crate) struct ViewLayout {
    /// Cells of a value of each type.
    pub(crate) sizes: Vec<usize>,
    pub(crate) vars: Vec<usize>,
    pub(crate) cells: Vec<CellInfo>,
    pub(crate) families: Vec<CellFamily>,
    pub(crate) bags: Vec<BagInfo>,
}

/// What the engine lacks, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// The construct.
    pub what: String,
    /// Where it stands.
    pub span: Span,
}

pub(crate) fn lacking<T>(what: impl Into<String>, span: Span) -> Result<T, Lacking> {
    Err(Lacking { what: what.into(), span })
}

/// More cells than this are refused.
const MOST_CELLS: usize = 1 << 16;

impl ViewLayout {
    /// `model` has so many elements in each sort as there is room for; `any` says which sorts have any number.
    pub(crate) fn new(model: &Model, any: &[bool]) -> Result<ViewLayout, Lacking> {
        let mut layout = ViewLayout {
            sizes: vec![0; model.types.len()],
            vars: Vec::new(),
            cells: Vec::new(),
            families: Vec::new(),
            bags: Vec::new(),
        };
        for (id, sort) in model.sorts.enumerate() {
            if sort.fixed_size().is_none() || id.index() >= 1 << 13 {
                return lacking(format!("elements of `{}` that come and go", sort.name), sort.span);
            }
        }
        for id in model.types.ids() {
            layout.sizes[id.index()] = size(model, id).unwrap_or(usize::MAX);
        }
        let mut known = HashMap::new();
        for (id, var) in model.vars.enumerate() {
            layout.vars.push(layout.cells.len());
            if layout.sizes[var.ty.index()] > MOST_CELLS || layout.cells.len() > MOST_CELLS {
                return lacking(format!("the variable `{}`, which is too large", var.name), var.span);
            }
            let mut walk =
                Walk { model, any, layout: &mut layout, known: &mut known, var: id, span: var.span };
            walk.ty(var.ty, &mut Vec::new(), &mut Vec::new())?;
        }
        Ok(layout)
    }

    /// The cells of a type's value; the type is one that variables have.
    pub(crate) fn size(&self, ty: TypeId) -> usize {
        self.sizes[ty.index()]
    }

    /// The families whose cells a place of a variable may lead to or contain: `None` in the path is any index.
    pub(crate) fn families_at(&self, var: VarId, path: &[Option<usize>]) -> Vec<usize> {
        let under = |family: &CellFamily| {
            family.var == var
                && path.iter().zip(&family.path).all(|(step, hop)| match (step, hop) {
                    (Some(field), Hop::Field(at)) => field == at,
                    (Some(_), _) => false,
                    (None, Hop::Field(_)) => false,
                    (None, _) => true,
                })
        };
        (0..self.families.len()).filter(|at| under(&self.families[*at])).collect()
    }
}

/// The position of a scalar among those of an index type. Stars have none.
pub(crate) fn position(model: &Model, ty: TypeId, scalar: ViewScalar) -> Option<usize> {
    match (model.kind(ty), scalar) {
        (Type::Bool, ViewScalar::Bool(value)) => Some(usize::from(value)),
        (Type::Int { lo, hi }, ViewScalar::Int(value)) if *lo <= value && value <= *hi => {
            usize::try_from(value.abs_diff(*lo)).ok()
        }
        (Type::Enum { variants }, ViewScalar::Enum(of, at)) if of == ty => {
            Some(at as usize).filter(|at| *at < variants.len())
        }
        (Type::Ref { nullable: true, .. }, ViewScalar::Null) => Some(0),
        (Type::Ref { sort, nullable }, ViewScalar::Elem(of, element)) if *sort == of => {
            Some(element as usize + usize::from(*nullable))
        }
        (Type::Union { members }, scalar) => {
            let mut before = 0;
            for member in members {
                if let Some(at) = position(model, *member, scalar) {
                    return Some(before + at);
                }
                before += usize::try_from(model.cardinality(*member)?).ok()?;
            }
            None
        }
        _ => None,
    }
}

/// Whether a scalar, star or not, is one of a type's.
pub(crate) fn belongs(model: &Model, ty: TypeId, scalar: ViewScalar) -> bool {
    match (model.kind(ty), scalar) {
        (Type::Union { members }, _) => members.iter().any(|member| belongs(model, *member, scalar)),
        (Type::Ref { sort, .. }, ViewScalar::Star(of, _)) => *sort == of,
        _ => position(model, ty, scalar).is_some(),
    }
}

fn size(model: &Model, ty: TypeId) -> Option<usize> {
    match model.kind(ty) {
        Type::Record { fields } => {
            fields.iter().try_fold(0_usize, |sum, field| sum.checked_add(size(model, field.ty)?))
        }
        Type::Array { index, element } => {
            usize::try_from(model.cardinality(*index)?).ok()?.checked_mul(size(model, *element)?)
        }
        Type::Multiset { capacity, element } => {
            (*capacity as usize).checked_mul(size(model, *element)?.checked_add(1)?)
        }
        Type::Sequence { .. } | Type::Clock => None,
        Type::Bool | Type::Int { .. } | Type::Enum { .. } | Type::Ref { .. } | Type::Union { .. } => Some(1),
    }
}

struct Walk<'a> {
    model: &'a Model,
    any: &'a [bool],
    layout: &'a mut ViewLayout,
    known: &'a mut HashMap<(VarId, Vec<Hop>), usize>,
    var: VarId,
    span: Span,
}

impl Walk<'_> {
    fn ty(&mut self, ty: TypeId, path: &mut Vec<Hop>, dims: &mut Vec<Dim>) -> Result<(), Lacking> {
        let model = self.model;
        match model.kind(ty) {
            Type::Record { fields } => {
                for (at, field) in fields.iter().enumerate() {
                    path.push(Hop::Field(at));
                    self.ty(field.ty, path, dims)?;
                    path.pop();
                }
            }
            Type::Array { index, element } => {
                for (at, value) in model.values(*index).enumerate() {
                    let dim = match value {
                        shoal_model::Value::Elem(sort, element_number) if self.any[sort.index()] => {
                            Some((sort.index(), element_number as usize))
                        }
                        _ => None,
                    };
                    path.push(dim.map_or(Hop::Entry(at), |(sort, _)| Hop::Elem(sort)));
                    if let Some((sort, number)) = dim {
                        dims.push(Dim { sort, element: number, stride: self.layout.size(*element) });
                    }
                    self.ty(*element, path, dims)?;
                    if dim.is_some() {
                        dims.pop();
                    }
                    path.pop();
                }
            }
            Type::Multiset { capacity, element } => {
                let is_array = |part: &Type| matches!(part, Type::Array { .. } | Type::Multiset { .. });
                if model.type_contains(*element, &is_array) {
                    return lacking("a multiset of arrays", self.span);
                }
                let width = 1 + self.layout.size(*element);
                let offset = self.layout.cells.len();
                self.layout.bags.push(BagInfo { offset, capacity: *capacity as usize, width });
                for slot in 0..*capacity as usize {
                    path.push(Hop::InUse(slot));
                    self.cell(ty, path, dims);
                    path.pop();
                    path.push(Hop::Slot(slot));
                    self.ty(*element, path, dims)?;
                    path.pop();
                }
            }
            Type::Sequence { .. } => return lacking("sequences", self.span),
            Type::Clock => return lacking("clocks", self.span),
            Type::Bool | Type::Int { .. } | Type::Enum { .. } | Type::Ref { .. } | Type::Union { .. } => {
                self.cell(ty, path, dims);
            }
        }
        Ok(())
    }

    fn cell(&mut self, ty: TypeId, path: &[Hop], dims: &[Dim]) {
        let families = &mut self.layout.families;
        let family = *self.known.entry((self.var, path.to_vec())).or_insert_with(|| {
            let indexed = path.iter().any(|hop| matches!(hop, Hop::Elem(_)));
            families.push(CellFamily { var: self.var, path: path.to_vec(), indexed });
            families.len() - 1
        });
        self.layout.cells.push(CellInfo { family, dims: dims.to_vec(), ty });
    }
}
