//! Lvalues: where they lead, what is read and written there.

use shoal_model::{FaultKind, LocalId, Place, Projection, Root, Type, TypeId, TypedId};
use shoal_syntax::Span;

use super::{Base, CellAddress, Data, ViewMachine, ViewSlot};
use crate::mutant::{self, Mutant};
use crate::{
    cell::{Cell, ViewScalar},
    decision::{RunResult, Stop, fault},
    layout::{belongs, position},
};

impl<'m> ViewMachine<'_, 'm> {
    /// The cells of a slot and how many slots there are.
    pub(super) fn bag(&self, place: &Place) -> RunResult<(usize, usize)> {
        match self.system.model.kind(place.ty) {
            Type::Multiset { capacity, element } => {
                Ok((1 + self.system.layout.size(*element), *capacity as usize))
            }
            _ => Err(Stop::lacking("slots of what is no multiset".into(), place.span)),
        }
    }

    pub(super) fn peek(&mut self, place: &'m Place) -> RunResult<Data> {
        let location = self.locate(place)?;
        self.read(&location, place.ty, place.span)
    }

    pub(super) fn locate(&mut self, place: &'m Place) -> RunResult<CellAddress> {
        let model = self.system.model;
        let frame = self.frames.len().wrapping_sub(1);
        let (mut location, mut ty) = match place.root {
            Root::Var(var) => {
                let offset = self.system.layout.vars[var.index()];
                (CellAddress { base: Base::Var, offset, outside: None, in_use: None }, model.vars[var].ty)
            }
            Root::Local(local) => {
                self.settle(local)?;
                let Some(top) = self.frames.last() else { return fault(FaultKind::Undefined, place.span) };
                let location = match &top.slots[local.index()] {
                    ViewSlot::Unbound | ViewSlot::Open(_) => return fault(FaultKind::Undefined, place.span),
                    ViewSlot::Refers(location) => location.clone(),
                    ViewSlot::Data(_) | ViewSlot::Left => CellAddress {
                        base: Base::Local { frame, local },
                        offset: 0,
                        outside: None,
                        in_use: None,
                    },
                };
                (location, top.locals[local].ty)
            }
        };
        for projection in &place.path {
            match (projection, model.kind(ty)) {
                (Projection::Field(at), Type::Record { fields }) => {
                    let before = fields.iter().take(*at as usize);
                    location.offset += before.map(|field| self.system.layout.size(field.ty)).sum::<usize>();
                    ty = fields[*at as usize].ty;
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    let value = self.scalar(index)?;
                    let at = match value {
                        ViewScalar::Undefined => return fault(FaultKind::Undefined, index.span),
                        ViewScalar::Star(sort, _) => {
                            let Some(star) = Cell::pack(value) else {
                                return Err(Stop::lacking("so many elements".into(), index.span));
                            };
                            location.outside = location.outside.or(Some(star));
                            position(model, *of, ViewScalar::Elem(sort, 0))
                        }
                        _ => position(model, *of, value),
                    };
                    match (at, value) {
                        (Some(at), _) => location.offset += at * self.system.layout.size(*element),
                        (None, ViewScalar::Null) => return fault(FaultKind::NullReference, index.span),
                        (None, _) => return fault(FaultKind::IndexOutOfRange, index.span),
                    }
                    ty = *element;
                }
                (Projection::Slot(slot), Type::Multiset { capacity, element }) => {
                    let at = usize::try_from(self.integer(slot)?).unwrap_or(usize::MAX);
                    if at >= *capacity as usize {
                        return fault(FaultKind::EmptySlot, slot.span);
                    }
                    location.offset += at * (1 + self.system.layout.size(*element));
                    if self.cell(&location, 0)? != Cell::TAKEN {
                        return fault(FaultKind::EmptySlot, slot.span);
                    }
                    if matches!(location.base, Base::Local { .. }) {
                        return Err(Stop::lacking("a multiset that is a local".into(), place.span));
                    }
                    location.in_use = Some(location.offset);
                    location.offset += 1;
                    ty = *element;
                }
                _ => return Err(Stop::lacking("this way into a value".into(), place.span)),
            }
        }
        Ok(location)
    }

    /// One cell of what is at a location.
    pub(super) fn cell(&mut self, location: &CellAddress, further: usize) -> RunResult<Cell> {
        if let Some(star) = location.outside {
            return Err(Stop::Resolve(star));
        }
        let offset = location.offset + further;
        Ok(match location.base {
            Base::Var => {
                self.note_read(offset);
                self.now()[offset]
            }
            Base::Local { frame, local } => match &self.frames[frame].slots[local.index()] {
                ViewSlot::Data(Data::Block(cells)) => cells[offset],
                ViewSlot::Data(Data::Scalar(scalar)) => {
                    return Cell::pack(*scalar).map_or_else(|| self.too_large(), Ok);
                }
                ViewSlot::Left => return Err(self.left(frame, local)),
                ViewSlot::Unbound | ViewSlot::Open(_) | ViewSlot::Refers(_) => {
                    return fault(FaultKind::Undefined, self.frames[frame].locals[local].span);
                }
            },
        })
    }

    /// Something depends on what a cell of the state holds.
    fn note_read(&mut self, at: usize) {
        if self.system.is_beyond_view(at) && !mutant::is(Mutant::ReadsAreForgotten) {
            self.reads.push(at);
        }
    }

    /// Whether writing this changes a cell. Where somebody asks whether anything has changed (a bit whose question reads the cell, a
    /// round of a loop that is to have an effect), what the cell held before is as good as read: for another element, which held something else, the
    /// answer may be another.
    pub(super) fn changes(&mut self, at: usize, cell: Cell) -> bool {
        let is_asked = self.rounds_compared > 0 || self.system.watchers(at) != 0;
        if is_asked && !mutant::is(Mutant::ChangesAreNotReads) {
            self.note_read(at);
        }
        self.now()[at] != cell
    }

    fn left(&self, frame: usize, local: LocalId) -> Stop {
        let local = &self.frames[frame].locals[local];
        Stop::lacking(
            format!("`{}`, which holds what the last round of a loop has left", local.name),
            local.span,
        )
    }

    pub(super) fn too_large<T>(&self) -> RunResult<T> {
        Err(Stop::lacking("a number beyond 2^28".into(), Span::default()))
    }

    pub(super) fn read(&mut self, location: &CellAddress, ty: TypeId, span: Span) -> RunResult<Data> {
        if let Some(in_use) = location.in_use
            && self.now()[in_use] != Cell::TAKEN
        {
            return fault(FaultKind::EmptySlot, span);
        }
        if self.system.model.kind(ty).is_scalar() {
            // A scalar local may hold any integer.
            if let (Base::Local { frame, local }, None) = (location.base, location.outside)
                && let ViewSlot::Data(Data::Scalar(scalar)) = &self.frames[frame].slots[local.index()]
            {
                return Ok(Data::Scalar(*scalar));
            }
            return match self.cell(location, 0)?.unpack() {
                Some(scalar) => Ok(Data::Scalar(scalar)),
                None => Err(Stop::lacking("internal error: a cell that is not there is read".into(), span)),
            };
        }
        let cells = (0..self.system.layout.size(ty)).map(|at| self.cell(location, at));
        cells.collect::<RunResult<Vec<Cell>>>().map(Data::Block)
    }

    /// The data as a value of a type.
    pub(super) fn fit(&self, data: Data, from: TypeId, to: TypeId, span: Span) -> RunResult<Data> {
        match &data {
            Data::Scalar(ViewScalar::Undefined) => Ok(data),
            Data::Scalar(scalar) if belongs(self.system.model, to, *scalar) => Ok(data),
            // For larger numbers of elements it may fit.
            Data::Scalar(_) if self.system.grows(to) => {
                let what = "a number that grows with the number of elements";
                Err(Stop::lacking(what.into(), span))
            }
            Data::Scalar(_) => fault(FaultKind::OutOfRange, span),
            Data::Block(_) if self.system.model.same_values(from, to) => Ok(data),
            Data::Block(_) => Err(Stop::lacking("a composite value of another type".into(), span)),
        }
    }

    pub(super) fn write(&mut self, location: &CellAddress, ty: TypeId, data: Data, span: Span) -> RunResult {
        if let Some(in_use) = location.in_use
            && self.now()[in_use] != Cell::TAKEN
        {
            return fault(FaultKind::EmptySlot, span);
        }
        let system = self.system;
        let size = system.layout.size(ty);
        self.wrote |= location.base == Base::Var;
        if let Some(star) = location.outside {
            let watched = location.base == Base::Var
                && (location.offset..location.offset + size).any(|at| system.watchers(at) != 0);
            let watched = watched && !mutant::is(Mutant::WatchedWritesAreIgnored);
            return if watched { Err(Stop::Resolve(star)) } else { Ok(()) };
        }
        match location.base {
            Base::Var => {
                let whole = system.is_open(ty);
                match data {
                    Data::Scalar(scalar) => {
                        let Some(cell) = Cell::pack(scalar) else { return self.too_large() };
                        self.write_cell(location.offset, cell, whole);
                    }
                    Data::Block(cells) => {
                        for (at, cell) in (location.offset..).zip(cells) {
                            self.write_cell(at, cell, whole);
                        }
                    }
                }
            }
            Base::Local { frame, local } => {
                let name = self.frames[frame].locals[local].span;
                let slot = &mut self.frames[frame].slots[local.index()];
                match (slot, data) {
                    (ViewSlot::Data(Data::Block(cells)), Data::Block(block)) => {
                        cells[location.offset..location.offset + size].copy_from_slice(&block);
                    }
                    (ViewSlot::Data(Data::Block(cells)), Data::Scalar(scalar)) => {
                        let Some(cell) = Cell::pack(scalar) else { return self.too_large() };
                        cells[location.offset] = cell;
                    }
                    (slot, data) if location.offset == 0 && size == system.layout.size(ty) => {
                        if matches!(slot, ViewSlot::Left) && !system.model.kind(ty).is_scalar() {
                            return Err(Stop::lacking("a composite local after a loop".into(), name));
                        }
                        *slot = ViewSlot::Data(data);
                    }
                    _ => return Err(Stop::lacking("this way into a local".into(), name)),
                }
            }
        }
        Ok(())
    }

    /// Writes a cell of the state. `whole`: as a part of an array over a sort with any number of elements.
    fn write_cell(&mut self, at: usize, cell: Cell, whole: bool) {
        let changes = self.changes(at, cell);
        // Of an array, entries of elements that are not known may have changed too.
        let whole = whole && !mutant::is(Mutant::WholeWritesChangeNoBit);
        let shared = changes && !self.system.is_indexed(at) && !mutant::is(Mutant::SharedWritesChangeNoBit);
        if whole || shared {
            self.disturbed |= self.system.watchers(at);
        }
        if changes && self.now()[at] != Cell::ABSENT {
            self.put_cell(at, cell);
        }
    }
}
