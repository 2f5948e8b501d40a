//! Where scalars are, and writing them.

use shoal_model::{
    Expr, ExprKind, FaultKind, LocalId, Place, Projection, Root, Type, TypeId, TypedId, Value,
};
use shoal_syntax::Span;

use super::{Event, Machine, Run, fault, refuse};
use crate::dbm::LARGEST_CONSTANT;
use crate::zones::layout::Room;
use crate::zones::state::{NOBODY, UNDEFINED};

/// Where a scalar is.
pub(super) enum Spot {
    Global(usize),
    Class(usize, usize),
    Local(LocalId),
    /// A clock's number in the zone; of the second member of a class too, where there is one.
    Clock(usize, Option<usize>),
}

impl Machine<'_> {
    pub(super) fn spot(&mut self, place: &Place) -> Run<Spot> {
        let (mut at, class, mut ty, mut path) = match place.root {
            Root::Local(local) if place.path.is_empty() => return Ok(Spot::Local(local)),
            Root::Local(_) => return refuse("local arrays and records", place.span),
            Root::Var(var) => {
                let home = self.layout.home(var);
                let ty = self.model.vars[var].ty;
                match (home.sort, place.path.split_first()) {
                    (None, _) => (home.at, None, ty, place.path.as_slice()),
                    (Some(_), Some((Projection::Index(index), rest))) => {
                        let element = match self.model.kind(ty) {
                            Type::Array { element, .. } => *element,
                            _ => ty,
                        };
                        let handle = self.eval(index)?;
                        if handle == NOBODY {
                            return fault(FaultKind::NullReference, index.span);
                        }
                        (home.at, Some(Self::class(handle)), element, rest)
                    }
                    _ => return refuse("whole arrays over a sort", place.span),
                }
            }
        };
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
        let clock = *self.model.kind(ty) == Type::Clock;
        Ok(match (clock, class) {
            (true, None) => Spot::Clock(1 + at.clocks, None),
            (true, Some((class, member))) => {
                let shown = self.state.classes[class].shown();
                if member >= shown {
                    return refuse("clocks of three different elements in one condition", place.span);
                }
                let own = self.state.clock_of(self.layout, class, member) + at.clocks;
                let twin =
                    (shown == 2).then(|| self.state.clock_of(self.layout, class, 1 - member) + at.clocks);
                Spot::Clock(own, twin)
            }
            (false, None) => Spot::Global(at.cells),
            (false, Some((class, _))) => Spot::Class(class, at.cells),
        })
    }

    pub(super) fn peek(&mut self, place: &Place) -> Run<i64> {
        match self.spot(place)? {
            Spot::Global(cell) => Ok(self.state.globals[cell]),
            Spot::Class(class, cell) => Ok(self.state.classes[class].cells[cell]),
            Spot::Local(local) => Ok(self.local(local)),
            Spot::Clock(..) => refuse("the value of a clock", place.span),
        }
    }

    /// Writes a number to a scalar place, if it belongs to its type.
    pub(super) fn write(&mut self, place: &Place, number: i64, span: Span) -> Run {
        if let Type::Int { lo, hi } = self.model.kind(place.ty)
            && number != UNDEFINED
            && !(*lo..=*hi).contains(&number)
        {
            return fault(FaultKind::OutOfRange, span);
        }
        if let Type::Ref { nullable: false, .. } = self.model.kind(place.ty)
            && number == NOBODY
        {
            return fault(FaultKind::OutOfRange, span);
        }
        match self.spot(place)? {
            Spot::Global(cell) => self.state.globals[cell] = number,
            Spot::Class(class, cell) => self.state.classes[class].cells[cell] = number,
            Spot::Local(local) => self.set_local(local, number),
            Spot::Clock(clock, twin) => {
                let Some(value) = i32::try_from(number)
                    .ok()
                    .filter(|value| *value >= 0 && i64::from(*value) <= LARGEST_CONSTANT)
                else {
                    return fault(FaultKind::OutOfRange, span);
                };
                for clock in [Some(clock), twin].into_iter().flatten() {
                    self.state.zone.reset(clock, value);
                    if let Some(events) = &mut self.events {
                        events.push(Event::Set(clock, value));
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives every scalar part its least value.
    pub(super) fn clear(&mut self, place: &Place, ty: TypeId) -> Run {
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
            Type::Clock => self.write(place, 0, place.span),
            _ => {
                let least = self.model.least(ty);
                let least = self.encode(&least);
                self.write(place, least, place.span)
            }
        }
    }

    /// The same for the entries of every class.
    pub(super) fn clear_lumped(&mut self, place: &Place, index: TypeId, element: TypeId) -> Run {
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
