//! Finding, reading and writing places.

use std::rc::Rc;

use shoal_model::{Expr, FaultKind, OrInternal, Place, Projection, Root, Type, TypeId, TypedId, Value};
use shoal_syntax::Span;

use super::{LocalContent, SymbolicAddress, SymbolicBase, SymbolicHop, SymbolicMachine};
use crate::{
    bits,
    dd::{Bdd, DdResult, lacks},
    value::{ScalarData, SymbolicScalar, SymbolicValue},
};

/// The places that are meant, and where each of them is.
type MeantPlaces = Vec<(Bdd, SymbolicAddress)>;

impl<'a> SymbolicMachine<'a> {
    /// The value at a place, undefined or not.
    pub(crate) fn peek(&mut self, place: &'a Place) -> DdResult<SymbolicValue> {
        let found = self.locate(place)?;
        let mut value: Option<SymbolicValue> = None;
        for (condition, location) in &found {
            let here = self.get(location);
            value = match (here, value) {
                (Some(here), Some(other)) => Some(here.merge(&self.dd, condition, &other)?),
                (Some(here), None) => Some(here.clone()),
                (None, other) => other,
            };
        }
        match value {
            Some(value) => Ok(value),
            None => self.blank(place.ty),
        }
    }

    /// Writes a value where the path leads.
    pub(crate) fn write(&mut self, found: &MeantPlaces, value: &SymbolicValue) -> DdResult<()> {
        for (condition, location) in found {
            let here = condition.and(&self.path)?;
            let Some(old) = self.get(location).filter(|_| !here.is_false()) else { continue };
            let new = value.merge(&self.dd, &here, old)?;
            if let Some(old) = self.get_mut(location) {
                *old = new;
            }
        }
        Ok(())
    }

    /// Finds a place: evaluates its indices from left to right and checks that each leads somewhere.
    pub(crate) fn locate(&mut self, place: &'a Place) -> DdResult<MeantPlaces> {
        let (mut found, mut ty) = match place.root {
            Root::Var(var) => {
                let location = SymbolicAddress { base: SymbolicBase::Var(var), hops: Vec::new() };
                (vec![(self.dd.yes(), location)], self.model.vars[var].ty)
            }
            Root::Local(local) => {
                let frame = self.height().saturating_sub(1);
                let Some(top) = self.frames.last() else { return Ok(Vec::new()) };
                let Some(declared) = top.locals.get(local) else { return Ok(Vec::new()) };
                let ty = declared.ty;
                match &top.cells[local.index()] {
                    LocalContent::Unbound => {
                        let everywhere = self.dd.yes();
                        self.fault(&everywhere, FaultKind::Undefined, place.span)?;
                        return Ok(Vec::new());
                    }
                    LocalContent::Value(_) => {
                        let location =
                            SymbolicAddress { base: SymbolicBase::Local { frame, local }, hops: Vec::new() };
                        (vec![(self.dd.yes(), location)], ty)
                    }
                    LocalContent::Refers(found) => (found.clone(), ty),
                }
            }
        };
        for projection in &place.path {
            (found, ty) = self.step(found, projection, ty, place.span)?;
        }
        Ok(found)
    }

    fn step(
        &mut self,
        found: MeantPlaces,
        projection: &'a Projection,
        ty: TypeId,
        whole: Span,
    ) -> DdResult<(MeantPlaces, TypeId)> {
        match (projection, self.model.kind(ty)) {
            (Projection::Field(at), Type::Record { fields }) => {
                let next =
                    fields.get(*at as usize).or_internal("a projection names a field of its record").ty;
                let all = found.into_iter().map(|(condition, mut location)| {
                    location.hops.push(SymbolicHop::Entry(*at as usize));
                    (condition, location)
                });
                Ok((all.collect(), next))
            }
            (Projection::Index(index), Type::Array { index: of, element }) => {
                let hops = self.index(index, *of)?;
                let mut all = Vec::new();
                for (condition, location) in found {
                    for (place, hop) in &hops {
                        let condition = condition.and(place)?;
                        if !condition.is_false() {
                            let mut location = location.clone();
                            location.hops.push(*hop);
                            all.push((condition, location));
                        }
                    }
                }
                Ok((all, *element))
            }
            (Projection::Slot(slot), Type::Multiset { element, .. }) => {
                Ok((self.enter_slot(found, slot)?, *element))
            }
            (Projection::Item(_), _) => lacks("sequences", whole),
            _ => lacks("a place of this kind", whole),
        }
    }

    /// The entries of an array that an index means, and where each of them; faults where it means none.
    fn index(&mut self, index: &'a Expr, of: TypeId) -> DdResult<Vec<(Bdd, SymbolicHop)>> {
        let scalar = self.scalar(index)?;
        self.fault(&scalar.undefined, FaultKind::Undefined, index.span)?;
        let counted = match self.model.kind(of) {
            Type::Ref { sort, nullable: false } => self.counted.contains_key(sort),
            _ => false,
        };
        let mut hops = Vec::new();
        let mut nulls = self.dd.no();
        let mut inside = self.dd.no();
        if let (ScalarData::Int(number), Type::Int { lo, hi }) = (&scalar.data, self.model.kind(of)) {
            // A number is compared with each index: it may have many more values than there are.
            match bits::known(number) {
                Some(value) => {
                    if let Some(at) = self.model.ordinal(of, &Value::Int(value)) {
                        hops.push((self.dd.yes(), SymbolicHop::Entry(at as usize)));
                    }
                }
                None => {
                    for (at, value) in (*lo..=*hi).enumerate() {
                        let here = bits::equal(&self.dd, number, &bits::constant(&self.dd, value))?;
                        if here.and(&self.path)?.meets(&self.given)? {
                            hops.push((here, SymbolicHop::Entry(at)));
                        }
                    }
                }
            }
        } else {
            let under = self.path.and(&self.given)?;
            for (value, place) in scalar.cases(&self.dd, &under)? {
                // The conditions are only needed where this code runs, but smaller ones are easier to read.
                let place = if place == under { self.dd.yes() } else { place };
                match &value {
                    Value::Elem(_, id) if counted => hops.push((place, SymbolicHop::Member(*id))),
                    _ => match self.model.ordinal(of, &value) {
                        Some(at) => hops.push((place, SymbolicHop::Entry(at as usize))),
                        None if value == Value::Null => nulls = nulls.or(&place)?,
                        None => {}
                    },
                }
            }
        }
        if self.splits {
            hops = self.split(hops)?;
        }
        self.fault(&nulls, FaultKind::NullReference, index.span)?;
        for (place, _) in &hops {
            inside = inside.or(place)?;
        }
        let outside = inside.not()?;
        self.fault(&outside, FaultKind::IndexOutOfRange, index.span)?;
        Ok(hops)
    }

    /// Takes one of the entries that an index can mean, and goes on where it means that one. The last case is where it
    /// means none, or where this code is not run.
    fn split(&mut self, hops: Vec<(Bdd, SymbolicHop)>) -> DdResult<Vec<(Bdd, SymbolicHop)>> {
        if hops.len() < 2 {
            return Ok(hops);
        }
        let here = self.path.and(&self.given)?;
        let mut rest = self.given.clone();
        let mut cases = Vec::new();
        for (place, hop) in hops {
            let case = here.and(&place)?;
            rest = rest.minus(&case)?;
            cases.push((case, Some(hop)));
        }
        if !rest.is_false() {
            cases.push((rest, None));
        }
        let taken = self.take((0..cases.len() as i64).map(Value::Int).collect());
        let Some((case, hop)) = taken.and_then(|taken| cases.into_iter().nth(taken)) else {
            return Ok(Vec::new());
        };
        self.given = case;
        Ok(hop.map(|hop| (self.dd.yes(), hop)).into_iter().collect())
    }

    /// The value at a location.
    pub(crate) fn get(&self, location: &SymbolicAddress) -> Option<&SymbolicValue> {
        let base = match location.base {
            SymbolicBase::Var(var) => self.vars.get(var.index())?,
            SymbolicBase::Local { frame, local } => match self.frames.get(frame)?.cells.get(local.index())? {
                LocalContent::Value(value) => value,
                _ => return None,
            },
        };
        location.hops.iter().try_fold(base, |value, hop| match (value, hop) {
            (SymbolicValue::Record(parts) | SymbolicValue::Array(parts), SymbolicHop::Entry(at)) => {
                parts.get(*at)
            }
            (SymbolicValue::Family(_, entries), SymbolicHop::Member(id)) => entries.get(*id).map(Rc::as_ref),
            _ => None,
        })
    }

    pub(crate) fn get_mut(&mut self, location: &SymbolicAddress) -> Option<&mut SymbolicValue> {
        let base = match location.base {
            SymbolicBase::Var(var) => self.vars.get_mut(var.index())?,
            SymbolicBase::Local { frame, local } => {
                match self.frames.get_mut(frame)?.cells.get_mut(local.index())? {
                    LocalContent::Value(value) => value,
                    _ => return None,
                }
            }
        };
        location.hops.iter().try_fold(base, |value, hop| match (value, hop) {
            (SymbolicValue::Record(parts) | SymbolicValue::Array(parts), SymbolicHop::Entry(at)) => {
                parts.get_mut(*at)
            }
            (SymbolicValue::Family(_, entries), SymbolicHop::Member(id)) => entries.get_mut(*id),
            _ => None,
        })
    }

    /// The value as one of a type; faults where a part is outside. Undefined fits every scalar.
    pub(crate) fn fit(&mut self, value: SymbolicValue, ty: TypeId, span: Span) -> DdResult<SymbolicValue> {
        Ok(match (value, self.model.kind(ty)) {
            (SymbolicValue::Record(parts), Type::Record { fields }) => {
                let mut all = Vec::with_capacity(parts.len());
                for (part, field) in parts.into_iter().zip(fields) {
                    all.push(self.fit(part, field.ty, span)?);
                }
                SymbolicValue::Record(all)
            }
            (SymbolicValue::Array(parts), Type::Array { element, .. }) => {
                let mut all = Vec::with_capacity(parts.len());
                for part in parts {
                    all.push(self.fit(part, *element, span)?);
                }
                SymbolicValue::Array(all)
            }
            (SymbolicValue::Scalar(scalar), _) => SymbolicValue::Scalar(self.fit_scalar(scalar, ty, span)?),
            (other, _) => other,
        })
    }

    fn fit_scalar(&mut self, scalar: SymbolicScalar, ty: TypeId, span: Span) -> DdResult<SymbolicScalar> {
        let outside = match (&scalar.data, self.model.kind(ty)) {
            (ScalarData::Bool(_), Type::Bool) => return Ok(scalar),
            (ScalarData::Int(number), Type::Int { lo, hi }) => {
                let (lo, hi) = (bits::constant(&self.dd, *lo), bits::constant(&self.dd, *hi));
                bits::less(&self.dd, number, &lo)?.or(&bits::less(&self.dd, &hi, number)?)?
            }
            _ => {
                let mut outside = self.dd.no();
                for (value, place) in scalar.cases(&self.dd, &self.path.clone())? {
                    if !self.belongs(&value, ty) {
                        outside = outside.or(&place)?;
                    }
                }
                outside
            }
        };
        let outside = outside.minus(&scalar.undefined)?;
        self.fault(&outside, FaultKind::OutOfRange, span)?;
        Ok(scalar)
    }

    /// Whether a value is one of a scalar type. Members of a counted sort have numbers of their own.
    pub(crate) fn belongs(&self, value: &Value, ty: TypeId) -> bool {
        match (value, self.model.kind(ty)) {
            (_, Type::Union { members }) => members.iter().any(|member| self.belongs(value, *member)),
            (Value::Elem(of, _), Type::Ref { sort, .. }) if self.counted.contains_key(of) => of == sort,
            _ => self.model.ordinal(ty, value).is_some(),
        }
    }
}
