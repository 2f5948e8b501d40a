//! Where scalars are, and writing them.

use shoal_dbm::ClockEvent;
use shoal_dbm::LARGEST_CONSTANT;
use shoal_model::{
    Expr, ExprKind, FaultKind, LocalId, Place, Projection, Root, Type, TypeId, TypedId, Value,
};
use shoal_syntax::Span;

use super::{CellsValue, ZoneMachine, ZoneResult, fault, refuse};
use crate::{
    layout::Room,
    state::{NOBODY, UNDEFINED},
};

/// Where a value is: of whom, and its first cell and clock there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ZoneSpot {
    owner: SpotOwner,
    at: Room,
}

#[derive(Clone, Copy, Debug)]
enum SpotOwner {
    Globals,
    /// An element of a lumped sort: its class, and which of the members it is.
    Class(usize, usize),
    /// A local without parts, in the frame with this number.
    Scalar(usize, LocalId),
    /// A local with parts.
    Composite(usize, LocalId),
}

impl ZoneMachine<'_> {
    /// Where a place begins, the type of what is there, and what leads on from there.
    fn root<'p>(&mut self, place: &'p Place) -> ZoneResult<(ZoneSpot, TypeId, &'p [Projection])> {
        let path = place.path.as_slice();
        let var = match place.root {
            Root::Local(local) => {
                let number = self.frames.len() - 1;
                let frame = self.frame();
                if let Some((spot, ty)) = frame.referred(local) {
                    return Ok((spot, ty, path));
                }
                let (owner, ty) = match frame.composite(local) {
                    Some(ty) => (SpotOwner::Composite(number, local), ty),
                    None => (SpotOwner::Scalar(number, local), place.ty),
                };
                return Ok((ZoneSpot { owner, at: Room::default() }, ty, path));
            }
            Root::Var(var) => var,
        };
        let (home, ty) = (self.layout.home(var), self.model.vars[var].ty);
        match (home.sort, path.split_first(), self.model.kind(ty)) {
            (None, _, _) => Ok((ZoneSpot { owner: SpotOwner::Globals, at: home.at }, ty, path)),
            (Some(_), Some((Projection::Index(index), rest)), Type::Array { element, .. }) => {
                let element = *element;
                let handle = self.eval(index)?;
                if handle == NOBODY {
                    return fault(FaultKind::NullReference, index.span);
                }
                let (class, member) = Self::class(handle);
                Ok((ZoneSpot { owner: SpotOwner::Class(class, member), at: home.at }, element, rest))
            }
            _ => refuse("whole arrays over a sort", place.span),
        }
    }

    /// Where the value of a place is.
    pub(super) fn spot(&mut self, place: &Place) -> ZoneResult<ZoneSpot> {
        let (ZoneSpot { owner, mut at }, mut ty, mut path) = self.root(place)?;
        while let Some((projection, rest)) = path.split_first() {
            path = rest;
            match (projection, self.model.kind(ty)) {
                (Projection::Field(field), Type::Record { fields }) => {
                    for before in &fields[..*field as usize] {
                        let room = self.layout.room(before.ty);
                        at = Room { cells: at.cells + room.cells, clocks: at.clocks + room.clocks };
                    }
                    ty = fields[*field as usize].ty;
                }
                (Projection::Index(index), Type::Array { index: of, element }) => {
                    let (of, element) = (*of, *element);
                    if self.model.sorts_of(of).iter().any(|sort| self.is_lumped(*sort)) {
                        return refuse("an array over a sort inside of something else", place.span);
                    }
                    let value = self.eval(index)?;
                    let value = self.decode(of, value);
                    let Some(position) = self.model.ordinal(of, &value) else {
                        return fault(FaultKind::IndexOutOfRange, index.span);
                    };
                    let room = self.layout.room(element);
                    let position = position as usize;
                    at = Room {
                        cells: at.cells + room.cells * position,
                        clocks: at.clocks + room.clocks * position,
                    };
                    ty = element;
                }
                _ => return refuse("slots and items", place.span),
            }
        }
        Ok(ZoneSpot { owner, at })
    }

    /// The clock at a spot; of the second member of a class too, where there is one.
    pub(super) fn clock_at(&self, spot: ZoneSpot, span: Span) -> ZoneResult<(usize, Option<usize>)> {
        match spot.owner {
            SpotOwner::Globals => Ok((1 + spot.at.clocks, None)),
            SpotOwner::Class(class, member) => {
                let shown = self.state.classes[class].shown();
                if member >= shown {
                    return refuse("clocks of three different elements in one condition", span);
                }
                let of = |member| self.state.clock_of(self.layout, class, member) + spot.at.clocks;
                Ok((of(member), (shown == 2).then(|| of(1 - member))))
            }
            SpotOwner::Scalar(..) | SpotOwner::Composite(..) => refuse("clocks inside of functions", span),
        }
    }

    /// The cells from a spot on.
    fn cells_at(&mut self, spot: ZoneSpot, count: usize) -> &mut [i64] {
        let first = spot.at.cells;
        match spot.owner {
            SpotOwner::Globals => &mut self.state.globals[first..first + count],
            SpotOwner::Class(class, _) => &mut self.state.classes[class].cells[first..first + count],
            SpotOwner::Scalar(frame, local) => {
                std::slice::from_mut(&mut self.frames[frame].scalars[local.index()])
            }
            SpotOwner::Composite(frame, local) => &mut self.frames[frame].parts(local)[first..first + count],
        }
    }

    pub(super) fn peek(&mut self, place: &Place) -> ZoneResult<i64> {
        if matches!(self.model.kind(place.ty), Type::Clock) {
            return refuse("the value of a clock", place.span);
        }
        if self.is_composite(place.ty) {
            return refuse("a whole array or record as a number", place.span);
        }
        let spot = self.spot(place)?;
        Ok(self.cells_at(spot, 1)[0])
    }

    /// All parts of a value that has parts.
    pub(super) fn parts(&mut self, place: &Place) -> ZoneResult<CellsValue> {
        let room = self.layout.room(place.ty);
        if room.clocks > 0 {
            return refuse("the values of clocks", place.span);
        }
        let spot = self.spot(place)?;
        Ok(CellsValue::Many(self.cells_at(spot, room.cells).to_vec()))
    }

    /// A value of a type of which nothing is defined.
    pub(super) fn undefined(&self, ty: TypeId) -> CellsValue {
        match self.is_composite(ty) {
            true => CellsValue::Many(vec![UNDEFINED; self.layout.room(ty).cells]),
            false => CellsValue::One(UNDEFINED),
        }
    }

    /// That a value belongs to a type. Values with parts only meet places of the same type.
    pub(super) fn belongs(&self, cells: &CellsValue, ty: TypeId, span: Span) -> ZoneResult {
        let CellsValue::One(number) = *cells else { return Ok(()) };
        let inside = match self.model.kind(ty) {
            Type::Int { lo, hi } => number == UNDEFINED || (*lo..=*hi).contains(&number),
            Type::Ref { nullable: false, .. } => number != NOBODY,
            _ => true,
        };
        if inside { Ok(()) } else { fault(FaultKind::OutOfRange, span) }
    }

    /// Writes a value to a place, if it belongs to its type.
    pub(super) fn write(&mut self, place: &Place, cells: &CellsValue, span: Span) -> ZoneResult {
        let spot = self.spot(place)?;
        self.belongs(cells, place.ty, span)?;
        match cells {
            CellsValue::One(number) if *self.model.kind(place.ty) == Type::Clock => {
                self.set_clock(spot, *number, span)?;
            }
            CellsValue::One(number) => self.cells_at(spot, 1)[0] = *number,
            CellsValue::Many(cells) => {
                if self.layout.room(place.ty).clocks > 0 {
                    return refuse("the values of clocks", place.span);
                }
                self.cells_at(spot, cells.len()).copy_from_slice(cells);
            }
            CellsValue::None => return refuse("a call without a result as a value", span),
        }
        Ok(())
    }

    fn set_clock(&mut self, spot: ZoneSpot, number: i64, span: Span) -> ZoneResult {
        if number < 0 {
            return fault(FaultKind::OutOfRange, span);
        }
        let Some(value) = i32::try_from(number).ok().filter(|value| i64::from(*value) <= LARGEST_CONSTANT)
        else {
            return refuse(format!("a clock that is set to more than {LARGEST_CONSTANT}"), span);
        };
        let (clock, twin) = self.clock_at(spot, span)?;
        for clock in [Some(clock), twin].into_iter().flatten() {
            self.state.zone.reset(clock, value);
            if let Some(events) = &mut self.events {
                events.push(ClockEvent::Set(clock, value));
            }
        }
        Ok(())
    }

    /// Gives every scalar part its least value.
    pub(super) fn clear(&mut self, place: &Place, ty: TypeId) -> ZoneResult {
        match self.model.kind(ty) {
            Type::Array { index, element } => {
                let (index, element) = (*index, *element);
                let lumped =
                    matches!(self.model.kind(index), Type::Ref { sort, .. } if self.is_lumped(*sort));
                let keys: Vec<Value> = if lumped { Vec::new() } else { self.model.values(index).collect() };
                if lumped {
                    return self.clear_lumped(place, index, element);
                }
                for key in keys {
                    let constant = Expr { kind: ExprKind::Const(key), ty: index, span: place.span };
                    let mut inner = place.clone();
                    inner.path.push(Projection::Index(constant));
                    inner.ty = element;
                    self.clear(&inner, element)?;
                }
                Ok(())
            }
            Type::Record { fields } => {
                for (at, field) in fields.iter().enumerate() {
                    let mut inner = place.clone();
                    inner.path.push(Projection::Field(at as u32));
                    inner.ty = field.ty;
                    self.clear(&inner, field.ty)?;
                }
                Ok(())
            }
            Type::Clock => self.write(place, &CellsValue::One(0), place.span),
            _ => {
                let least = self.model.least(ty);
                let least = self.encode(&least);
                self.write(place, &CellsValue::One(least), place.span)
            }
        }
    }

    /// The same for the entries of every class.
    pub(super) fn clear_lumped(&mut self, place: &Place, index: TypeId, element: TypeId) -> ZoneResult {
        let Root::Var(var) = place.root else { return refuse("local arrays", place.span) };
        if *self.model.kind(element) == Type::Clock {
            return refuse("clearing an array of clocks", place.span);
        }
        let (sorts, home) = (self.model.sorts_of(index), self.layout.home(var));
        let room = self.layout.room(element);
        for class in 0..self.state.classes.len() {
            if sorts.iter().any(|sort| sort.index() == self.state.classes[class].sort) {
                for cell in home.at.cells..home.at.cells + room.cells {
                    let ty = self.layout.local_types[self.state.classes[class].sort][cell];
                    let least = self.model.least(ty);
                    let least = self.encode(&least);
                    self.state.classes[class].cells[cell] = least;
                }
            }
        }
        Ok(())
    }
}
