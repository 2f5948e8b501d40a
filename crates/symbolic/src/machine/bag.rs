//! Multisets: bags of elements.
//!
//! A bag is an array of slots, each of them a flag that says whether it is occupied and an element. Between steps it has
//! a normal form, so that equal bags are the same bits: occupied slots first, in an order of their elements, and nothing in
//! free slots. Within a step slots have positions. Afterwards the bags that were changed are put in order again; of the
//! states before only those matter where they were in order, so only what was changed is out of place.

use shoal_model::{Domain, Expr, FaultKind, LocalId, Model, Place, Rule, Type, TypeId, TypedId, Value};
use shoal_syntax::Span;

use super::{LocalContent, SymbolicAddress, SymbolicHop, SymbolicMachine, same};
use crate::{
    bits::{self, BitVector},
    dd::{Bdd, DdResult, lacks},
    value::{ScalarData, SymbolicScalar, SymbolicValue},
};

/// Where the flag and the element of a slot are.
const FLAG: usize = 0;
const ELEMENT: usize = 1;

/// The type of flags.
pub(crate) fn flag_type(model: &Model) -> Option<TypeId> {
    model.types.enumerate().find(|(_, def)| def.kind == Type::Bool).map(|(id, _)| id)
}

/// Whether there is a multiset in a type.
pub(crate) fn has_bags(model: &Model, ty: TypeId) -> bool {
    model.type_contains(ty, &|kind| matches!(kind, Type::Multiset { .. }))
}

/// The value with slots for its multisets.
pub(crate) fn spread(model: &Model, ty: TypeId, value: &Value) -> Value {
    match (model.kind(ty), value) {
        (Type::Record { fields }, Value::Record(parts)) => {
            let parts = fields.iter().zip(parts);
            Value::Record(parts.map(|(field, part)| spread(model, field.ty, part)).collect())
        }
        (Type::Array { element, .. }, Value::Array(parts)) => {
            Value::Array(parts.iter().map(|part| spread(model, *element, part)).collect())
        }
        (Type::Multiset { capacity, element }, Value::Multiset(slots)) => {
            let slot = |at: usize| match slots.get(at).and_then(Option::as_ref) {
                Some(value) => Value::Record(vec![Value::Bool(true), value.clone()]),
                None => Value::Record(vec![Value::Bool(false), model.undefined(*element)]),
            };
            Value::Array((0..*capacity as usize).map(slot).collect())
        }
        (_, value) => value.clone(),
    }
}

/// The value with multisets for their slots.
pub(crate) fn gather(model: &Model, ty: TypeId, value: Value) -> Value {
    match (model.kind(ty), value) {
        (Type::Record { fields }, Value::Record(parts)) => {
            let parts = fields.iter().zip(parts);
            Value::Record(parts.map(|(field, part)| gather(model, field.ty, part)).collect())
        }
        (Type::Array { element, .. }, Value::Array(parts)) => {
            Value::Array(parts.into_iter().map(|part| gather(model, *element, part)).collect())
        }
        (Type::Multiset { .. }, Value::Array(slots)) => {
            let element = |slot: Value| match slot {
                Value::Record(mut parts) if parts.first() == Some(&Value::Bool(true)) => parts.pop(),
                _ => None,
            };
            let mut elements: Vec<Value> = slots.into_iter().filter_map(element).collect();
            elements.sort();
            Value::Multiset(elements.into_iter().map(Some).collect())
        }
        (_, value) => value,
    }
}

/// The value of a type with all its multisets empty.
pub(crate) fn empty(machine: &SymbolicMachine<'_>, ty: TypeId, value: &mut SymbolicValue) {
    match (machine.model.kind(ty), value) {
        (Type::Record { fields }, SymbolicValue::Record(parts)) => {
            fields.iter().zip(parts).for_each(|(field, part)| empty(machine, field.ty, part));
        }
        (Type::Array { element, .. }, SymbolicValue::Array(parts)) => {
            parts.iter_mut().for_each(|part| empty(machine, *element, part));
        }
        (Type::Multiset { .. }, SymbolicValue::Array(slots)) => {
            for slot in slots {
                if let SymbolicValue::Record(parts) = slot {
                    parts[FLAG] = SymbolicValue::Scalar(SymbolicScalar::truth(&machine.dd, machine.dd.no()));
                    undefine(machine, &mut parts[ELEMENT]);
                }
            }
        }
        _ => {}
    }
}

fn undefine(machine: &SymbolicMachine<'_>, value: &mut SymbolicValue) {
    match value {
        SymbolicValue::Scalar(scalar) => *scalar = SymbolicScalar::undefined(&machine.dd),
        SymbolicValue::Record(parts) | SymbolicValue::Array(parts) => {
            parts.iter_mut().for_each(|part| undefine(machine, part))
        }
        SymbolicValue::Family(..) => {}
    }
}

/// Where a slot is occupied.
fn occupied(machine: &SymbolicMachine<'_>, slot: &SymbolicValue) -> Bdd {
    match slot {
        SymbolicValue::Record(parts) => match parts.first().and_then(SymbolicValue::scalar) {
            Some(SymbolicScalar { data: ScalarData::Bool(flag), .. }) => flag.clone(),
            _ => machine.dd.no(),
        },
        _ => machine.dd.no(),
    }
}

impl<'a> SymbolicMachine<'a> {
    /// The place of a multiset, which has to be the same in all states.
    fn bag(&mut self, place: &'a Place) -> DdResult<Option<SymbolicAddress>> {
        let found = self.locate(place)?;
        match found.as_slice() {
            [] => Ok(None),
            [(condition, location)] if condition.is_true() => Ok(Some(location.clone())),
            _ => lacks("a multiset whose place depends on the state", place.span),
        }
    }

    fn slots(&self, bag: &SymbolicAddress) -> Vec<SymbolicValue> {
        match self.get(bag) {
            Some(SymbolicValue::Array(slots)) => slots.clone(),
            _ => Vec::new(),
        }
    }

    /// Where each slot of a multiset is occupied.
    pub(crate) fn occupied(&mut self, place: &'a Place) -> DdResult<Vec<Bdd>> {
        let Some(bag) = self.bag(place)? else { return Ok(Vec::new()) };
        Ok(self.slots(&bag).iter().map(|slot| occupied(self, slot)).collect())
    }

    /// How many elements a multiset has.
    pub(crate) fn population(&mut self, place: &'a Place) -> DdResult<BitVector> {
        let mut count = bits::constant(&self.dd, 0);
        for flag in self.occupied(place)? {
            let one = bits::choose(&flag, &bits::constant(&self.dd, 1), &bits::constant(&self.dd, 0))?;
            count = bits::add(&self.dd, &count, &one)?;
        }
        Ok(count)
    }

    /// The position that a slot is named by, which has to be the same in all states.
    fn position(&mut self, slot: &'a Expr) -> DdResult<usize> {
        let number = self.integer(slot)?;
        match bits::known(&number) {
            Some(at) => Ok(usize::try_from(at).unwrap_or(usize::MAX)),
            None => lacks("a slot whose position depends on the state", slot.span),
        }
    }

    /// Goes on into the element of a slot; faults where it is free.
    pub(crate) fn enter_slot(
        &mut self,
        found: Vec<(Bdd, SymbolicAddress)>,
        slot: &'a Expr,
    ) -> DdResult<Vec<(Bdd, SymbolicAddress)>> {
        let at = self.position(slot)?;
        let mut all = Vec::new();
        for (condition, mut location) in found {
            let flag = match self.slots(&location).get(at) {
                Some(slot) => occupied(self, slot),
                None => self.dd.no(),
            };
            self.fault(&condition.minus(&flag)?, FaultKind::EmptySlot, slot.span)?;
            location.hops.extend([SymbolicHop::Entry(at), SymbolicHop::Entry(ELEMENT)]);
            if !flag.is_false() {
                all.push((condition, location));
            }
        }
        Ok(all)
    }

    /// Puts an element into the first slot that is free.
    pub(crate) fn add_to_bag(&mut self, place: &'a Place, value: &'a Expr, span: Span) -> DdResult<()> {
        let Type::Multiset { element, .. } = self.model.kind(place.ty) else { return Ok(()) };
        let value_span = value.span;
        let value = self.eval(value)?;
        let Some(bag) = self.bag(place)? else { return Ok(()) };
        let value = self.fit(value, *element, value_span)?;
        let mut slots = self.slots(&bag);
        let full = SymbolicValue::Record(vec![
            SymbolicValue::Scalar(SymbolicScalar::truth(&self.dd, self.dd.yes())),
            value,
        ]);
        let mut left = self.path.clone();
        for slot in &mut slots {
            let flag = occupied(self, slot);
            let here = left.minus(&flag)?;
            left = left.and(&flag)?;
            *slot = full.merge(&self.dd, &here, slot)?;
        }
        self.fault(&left, FaultKind::Full, span)?;
        self.put_slots(&bag, slots);
        Ok(())
    }

    /// Frees a slot.
    pub(crate) fn take_from_bag(&mut self, place: &'a Place, slot: &'a Expr) -> DdResult<()> {
        let Some(bag) = self.bag(place)? else { return Ok(()) };
        let at = self.position(slot)?;
        let mut slots = self.slots(&bag);
        let flag = slots.get(at).map_or(self.dd.no(), |slot| occupied(self, slot));
        self.fault(&flag.not()?, FaultKind::EmptySlot, slot.span)?;
        if let Some(slot) = slots.get_mut(at) {
            self.free(slot, &self.path.clone())?;
        }
        self.put_slots(&bag, slots);
        Ok(())
    }

    /// Frees the slots whose elements satisfy a condition, all at once.
    pub(crate) fn filter_bag(
        &mut self,
        place: &'a Place,
        local: LocalId,
        condition: &'a Expr,
    ) -> DdResult<()> {
        let Some(bag) = self.bag(place)? else { return Ok(()) };
        let mut slots = self.slots(&bag);
        let outer = self.path.clone();
        let held = self.set(local, LocalContent::Unbound);
        let mut removed = Vec::new();
        for (at, slot) in slots.iter().enumerate() {
            let flag = occupied(self, slot);
            self.path = self.path.and(&flag)?;
            self.assign_bound(local, &Value::Int(at as i64));
            let truth = if self.is_idle()? { self.dd.no() } else { self.truth(condition)? };
            removed.push(flag.and(&truth)?);
            self.resume(&outer)?;
        }
        self.set(local, held);
        for (slot, removed) in slots.iter_mut().zip(removed) {
            self.free(slot, &removed.and(&self.path)?)?;
        }
        self.put_slots(&bag, slots);
        Ok(())
    }

    fn free(&self, slot: &mut SymbolicValue, condition: &Bdd) -> DdResult<()> {
        let mut blank = slot.clone();
        undefine(self, &mut blank);
        if let SymbolicValue::Record(parts) = &mut blank {
            parts[FLAG] = SymbolicValue::Scalar(SymbolicScalar::truth(&self.dd, self.dd.no()));
        }
        *slot = blank.merge(&self.dd, condition, slot)?;
        Ok(())
    }

    fn put_slots(&mut self, bag: &SymbolicAddress, slots: Vec<SymbolicValue>) {
        if let Some(held) = self.get_mut(bag) {
            *held = SymbolicValue::Array(slots);
        }
    }

    /// Where the slots exist that a rule's arguments name. Of slots with equal elements the first is meant that is not
    /// taken by an earlier argument, or one that is.
    pub(crate) fn chosen(&mut self, rule: &'a Rule, args: &[Value]) -> DdResult<Bdd> {
        let mut present = self.dd.yes();
        let mut taken: Vec<(SymbolicAddress, usize)> = Vec::new();
        for (param, arg) in rule.params.iter().zip(args) {
            let (Domain::Slots(place), Some(at)) = (&param.domain, arg.as_int()) else { continue };
            let (Some(bag), Ok(at)) = (self.bag(place)?, usize::try_from(at)) else { continue };
            let slots = self.slots(&bag);
            let Some(slot) = slots.get(at) else { return Ok(self.dd.no()) };
            present = present.and(&occupied(self, slot))?;
            let is_taken = |at: usize| taken.contains(&(bag.clone(), at));
            if let (Some(other), false) = ((0..at).rev().find(|at| !is_taken(*at)), is_taken(at)) {
                present = present.minus(&slot.equal(&self.dd, &slots[other])?)?;
            }
            taken.push((bag, at));
        }
        Ok(present)
    }

    /// Where all multisets are in their normal form.
    pub(crate) fn bags_in_order(&self) -> DdResult<Bdd> {
        let mut all = self.dd.yes();
        for slots in self.bags() {
            let Some(SymbolicValue::Array(slots)) = self.get(&slots) else { continue };
            for slot in slots {
                let mut blank = slot.clone();
                self.free(&mut blank, &self.dd.yes())?;
                let free = self.dd.yes().minus(&occupied(self, slot))?;
                all = all.minus(&free.minus(&slot.equal(&self.dd, &blank)?)?)?;
            }
            for pair in slots.windows(2) {
                all = all.minus(&self.less(&pair[1], &pair[0])?)?;
            }
        }
        Ok(all)
    }

    /// Puts the multisets in order that are not what they were.
    pub(crate) fn order_bags(&mut self, before: &[SymbolicValue]) -> DdResult<()> {
        let care = self.given.minus(&self.dead)?;
        for bag in self.bags() {
            let mut slots = self.slots(&bag);
            let var = match bag.base {
                super::SymbolicBase::Var(var) => var,
                super::SymbolicBase::Local { .. } => continue,
            };
            let old = bag.hops.iter().try_fold(&before[var.index()], |value, hop| match (value, hop) {
                (SymbolicValue::Record(parts) | SymbolicValue::Array(parts), SymbolicHop::Entry(at)) => {
                    parts.get(*at)
                }
                _ => None,
            });
            if old.is_some_and(|old| same(old, &SymbolicValue::Array(slots.clone()), None)) {
                continue;
            }
            for last in 1..slots.len() {
                for at in (1..=last).rev() {
                    let wrong = self.less(&slots[at], &slots[at - 1])?.and(&care)?;
                    if wrong.is_false() {
                        break;
                    }
                    let left = slots[at].merge(&self.dd, &wrong, &slots[at - 1])?;
                    let right = slots[at - 1].merge(&self.dd, &wrong, &slots[at])?;
                    (slots[at - 1], slots[at]) = (left, right);
                }
            }
            self.put_slots(&bag, slots);
        }
        Ok(())
    }

    /// The places of all multisets of the state.
    fn bags(&self) -> Vec<SymbolicAddress> {
        let mut found = Vec::new();
        for (var, def) in self.model.vars.enumerate() {
            if has_bags(self.model, def.ty) {
                let start = SymbolicAddress { base: super::SymbolicBase::Var(var), hops: Vec::new() };
                self.bags_in(&self.vars[var.index()], def.ty, start, &mut found);
            }
        }
        found
    }

    fn bags_in(
        &self,
        value: &SymbolicValue,
        ty: TypeId,
        at: SymbolicAddress,
        found: &mut Vec<SymbolicAddress>,
    ) {
        let mut go = |part: &SymbolicValue, ty: TypeId, entry: usize| {
            let mut at = at.clone();
            at.hops.push(SymbolicHop::Entry(entry));
            self.bags_in(part, ty, at, found);
        };
        match (self.model.kind(ty), value) {
            (Type::Record { fields }, SymbolicValue::Record(parts)) => {
                let parts = fields.iter().zip(parts).enumerate();
                parts.for_each(|(entry, (field, part))| go(part, field.ty, entry));
            }
            (Type::Array { element, .. }, SymbolicValue::Array(parts)) => {
                parts.iter().enumerate().for_each(|(entry, part)| go(part, *element, entry));
            }
            (Type::Multiset { .. }, _) => found.push(at),
            _ => {}
        }
    }

    /// Where one slot comes before another: occupied ones first, then by the element, part by part.
    fn less(&self, a: &SymbolicValue, b: &SymbolicValue) -> DdResult<Bdd> {
        match (a, b) {
            (SymbolicValue::Record(a), SymbolicValue::Record(b)) => {
                // A flag that is on comes first.
                self.less_parts(&[&b[FLAG], &a[ELEMENT]], &[&a[FLAG], &b[ELEMENT]])
            }
            _ => shoal_model::internal!("a slot is a record"),
        }
    }

    fn less_parts(&self, a: &[&SymbolicValue], b: &[&SymbolicValue]) -> DdResult<Bdd> {
        let mut less = self.dd.no();
        for (a, b) in a.iter().zip(b).rev() {
            let (first, same) = (self.less_value(a, b)?, a.equal(&self.dd, b)?);
            less = first.or(&less.and(&same)?)?;
        }
        Ok(less)
    }

    fn less_value(&self, a: &SymbolicValue, b: &SymbolicValue) -> DdResult<Bdd> {
        match (a, b) {
            (SymbolicValue::Scalar(a), SymbolicValue::Scalar(b)) => less_scalar(self, a, b),
            (SymbolicValue::Record(a), SymbolicValue::Record(b))
            | (SymbolicValue::Array(a), SymbolicValue::Array(b)) => {
                self.less_parts(&a.iter().collect::<Vec<_>>(), &b.iter().collect::<Vec<_>>())
            }
            _ => shoal_model::internal!("elements of one bag have one shape"),
        }
    }
}

/// Any order will do. What is undefined comes last.
fn less_scalar(machine: &SymbolicMachine<'_>, a: &SymbolicScalar, b: &SymbolicScalar) -> DdResult<Bdd> {
    let dd = &machine.dd;
    let only_b = b.undefined.minus(&a.undefined)?;
    let both = dd.yes().minus(&a.undefined)?.minus(&b.undefined)?;
    let less = match (&a.data, &b.data) {
        _ if both.is_false() => dd.no(),
        (ScalarData::Bool(a), ScalarData::Bool(b)) => b.minus(a)?,
        (ScalarData::Int(a), ScalarData::Int(b)) => bits::less(dd, a, b)?,
        _ => {
            let (first, second) = (a.cases(dd, &both)?, b.cases(dd, &both)?);
            let mut less = dd.no();
            for (value, place) in &first {
                let greater = second.iter().filter(|(other, _)| other > value);
                less = less.or(&place.and(&dd.any(greater.map(|(_, place)| place.clone()))?)?)?;
            }
            less
        }
    };
    only_b.or(&less.and(&both)?)
}
