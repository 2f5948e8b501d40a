//! The locals of a piece of code that is running.

use shoal_model::{IndexVec, Local, LocalId, Model, OrInternal, Type, TypeId, TypedId};

use super::{CellsValue, places::ZoneSpot};
use crate::{layout::ZoneLayout, state::UNDEFINED};

/// What the locals of one piece of code are.
pub(super) struct ZoneFrame {
    /// By local: its value, if it has no parts.
    pub(super) scalars: Vec<i64>,
    /// The types and the cells of those with parts.
    composites: Vec<(LocalId, TypeId, Vec<i64>)>,
    /// What references stand for: a place that was found when they were made.
    references: Vec<(LocalId, ZoneSpot, TypeId)>,
    /// In a function: the type of its result.
    pub(super) result: Option<TypeId>,
}

impl ZoneFrame {
    pub(super) fn new(
        model: &Model,
        layout: &ZoneLayout,
        locals: &IndexVec<LocalId, Local>,
        result: Option<TypeId>,
    ) -> ZoneFrame {
        let composite =
            |local: &Local| matches!(model.kind(local.ty), Type::Array { .. } | Type::Record { .. });
        let composites = locals.enumerate().filter(|(_, local)| composite(local));
        ZoneFrame {
            scalars: vec![UNDEFINED; locals.len()],
            composites: composites
                .map(|(id, local)| (id, local.ty, vec![UNDEFINED; layout.room(local.ty).cells]))
                .collect(),
            references: Vec::new(),
            result,
        }
    }

    /// The type of a local with parts.
    pub(super) fn composite(&self, local: LocalId) -> Option<TypeId> {
        self.composites.iter().find(|(of, ..)| *of == local).map(|(_, ty, _)| *ty)
    }

    /// The cells of a local with parts.
    pub(super) fn parts(&mut self, local: LocalId) -> &mut Vec<i64> {
        let found = self.composites.iter_mut().find(|(of, ..)| *of == local);
        &mut found.or_internal("a local with parts has cells").2
    }

    pub(super) fn set(&mut self, local: LocalId, cells: CellsValue) {
        match cells {
            CellsValue::None => self.scalars[local.index()] = UNDEFINED,
            CellsValue::One(number) => self.scalars[local.index()] = number,
            CellsValue::Many(cells) => *self.parts(local) = cells,
        }
    }

    /// Makes a local stand for a place.
    pub(super) fn refer(&mut self, local: LocalId, ty: TypeId, spot: ZoneSpot) {
        self.references.retain(|(of, ..)| *of != local);
        self.references.push((local, spot, ty));
    }

    /// The place that a local stands for, if it is a reference.
    pub(super) fn referred(&self, local: LocalId) -> Option<(ZoneSpot, TypeId)> {
        let found = self.references.iter().find(|(of, ..)| *of == local);
        found.map(|(_, spot, ty)| (*spot, *ty))
    }
}
