//! What bound variables range over.

use shoal_model::{Domain, FaultKind, LocalId, SortId, Type, TypeId, Value};

use super::{LocalContent, MemberKind, SymbolicMachine, tally::LoopTally};
use crate::{
    bits::{self, BitVector},
    dd::{Bdd, DdHalt, DdResult, lacks},
    value::{SymbolicScalar, SymbolicValue},
};

/// The values of a domain, fixed.
pub(crate) enum Items {
    /// These.
    Values(Vec<Value>),
    /// The slots of a multiset, by where they are occupied.
    Slots(Vec<Bdd>),
    /// From the first to the last.
    Range { first: BitVector, last: BitVector, step: i64 },
}

/// One of them.
pub(crate) struct DomainItem {
    /// Where it is in the domain.
    pub(crate) when: Bdd,
    /// Where it exists at all: what a class does that has no element is of no interest anywhere.
    pub(crate) present: Bdd,
    /// How many there are of it.
    pub(crate) weight: BitVector,
}

/// More numbers than this are not written down.
const MANY: u64 = 1 << 12;
/// More rounds than this are not unrolled.
pub(crate) const MOST_ROUNDS: usize = 1 << 20;

/// What is said then.
pub(crate) fn too_many() -> DdHalt {
    DdHalt::Lacks { construct: format!("loops of more than {MOST_ROUNDS} rounds"), span: None }
}

impl<'a> SymbolicMachine<'a> {
    /// Whether a domain is of interchangeable things, so that nothing may depend on their order.
    pub(crate) fn is_unordered(&self, domain: &Domain) -> bool {
        match domain {
            Domain::Type(ty) => !self.model.sorts_of(*ty).is_empty(),
            Domain::Range { .. } => false,
            Domain::Slots(_) => true,
        }
    }

    /// The values of a domain.
    pub(crate) fn items(&mut self, domain: &'a Domain) -> DdResult<Items> {
        match domain {
            Domain::Type(ty) => match self.model.kind(*ty) {
                // Many numbers are counted through, so that the clock is looked at on the way.
                Type::Int { lo, hi } if hi.abs_diff(*lo) > MANY => {
                    let (first, last) = (bits::constant(&self.dd, *lo), bits::constant(&self.dd, *hi));
                    Ok(Items::Range { first, last, step: 1 })
                }
                _ => {
                    self.few(*ty)?;
                    Ok(Items::Values(self.values_of(*ty)))
                }
            },
            Domain::Range { from, to, by } => {
                let (first, last) = (self.integer(from)?, self.integer(to)?);
                let step = self.integer(by)?;
                let Some(step) = bits::known(&step) else {
                    return lacks("loops whose step depends on the state", by.span);
                };
                if step == 0 {
                    let everywhere = self.dd.yes();
                    self.fault(&everywhere, FaultKind::ZeroStep, by.span)?;
                }
                Ok(Items::Range { first, last, step })
            }
            Domain::Slots(place) => self.occupied(place).map(Items::Slots),
        }
    }

    /// Refuses a type that has more values than anybody goes through one by one.
    pub fn few(&self, ty: TypeId) -> DdResult<()> {
        match self.model.cardinality(ty) {
            Some(count) if count > MOST_ROUNDS as u64 => Err(too_many()),
            _ => Ok(()),
        }
    }

    /// All values of a type; of a counted sort, its members.
    pub fn values_of(&self, ty: TypeId) -> Vec<Value> {
        match self.model.kind(ty) {
            Type::Ref { sort, nullable } if self.counted.contains_key(sort) => {
                let members = self.counted[sort].members.iter().map(|it| Value::Elem(*sort, it.id));
                nullable.then_some(Value::Null).into_iter().chain(members).collect()
            }
            Type::Union { members } => members.iter().flat_map(|it| self.values_of(*it)).collect(),
            _ => self.model.values(ty).collect(),
        }
    }

    /// Binds a local to each item in turn. A class of a counted sort takes part by one of its elements; if it `writes`,
    /// what happens to that element happens to all of the class, and to these numbers as often as it has elements.
    pub(crate) fn each(
        &mut self,
        items: Items,
        local: LocalId,
        writes: Option<&[LoopTally]>,
        go: &mut dyn FnMut(&mut Self, &DomainItem) -> DdResult<()>,
    ) -> DdResult<()> {
        // What is given differs from round to round.
        let splits = std::mem::replace(&mut self.splits, false);
        let done = self.each_in_turn(items, local, writes, go);
        self.splits = splits;
        done
    }

    fn each_in_turn(
        &mut self,
        items: Items,
        local: LocalId,
        writes: Option<&[LoopTally]>,
        go: &mut dyn FnMut(&mut Self, &DomainItem) -> DdResult<()>,
    ) -> DdResult<()> {
        let one = bits::constant(&self.dd, 1);
        let mut plain = DomainItem { when: self.dd.yes(), present: self.dd.yes(), weight: one };
        match items {
            Items::Values(values) => {
                for value in values {
                    match self.class_of(&value) {
                        Some((sort, class)) => self.each_of_class(sort, class, local, writes, go)?,
                        None => {
                            let value = SymbolicValue::Scalar(SymbolicScalar::constant(&self.dd, &value));
                            self.set(local, LocalContent::Value(value));
                            go(self, &plain)?;
                        }
                    }
                }
            }
            Items::Slots(slots) => {
                for (at, flag) in slots.into_iter().enumerate() {
                    plain.when = flag;
                    self.assign_bound(local, &Value::Int(at as i64));
                    go(self, &plain)?;
                }
            }
            Items::Range { first, last, step } => {
                let step_bits = bits::constant(&self.dd, step);
                let mut value = first;
                let mut inside = self.dd.yes();
                for round in 0.. {
                    let beyond = match step > 0 {
                        true => bits::less(&self.dd, &last, &value)?,
                        false => bits::less(&self.dd, &value, &last)?,
                    };
                    inside = inside.minus(&beyond)?;
                    let runs = inside.and(&self.path)?;
                    if step == 0 || runs.is_false() || !runs.meets(&self.given)? || value.len() > 64 {
                        break;
                    }
                    if round == MOST_ROUNDS {
                        return Err(too_many());
                    }
                    plain.when = inside.clone();
                    let bound = self.number(value.clone())?;
                    self.set(local, LocalContent::Value(bound));
                    go(self, &plain)?;
                    value = bits::add(&self.dd, &value, &step_bits)?;
                }
            }
        }
        Ok(())
    }

    /// The class that a value stands for, if it does.
    pub fn class_of(&self, value: &Value) -> Option<(SortId, usize)> {
        let Value::Elem(sort, id) = value else { return None };
        let member = self.counted.get(sort)?.members.iter().find(|member| member.id == *id)?;
        match member.kind {
            MemberKind::Class { class, .. } => Some((*sort, class)),
            MemberKind::Tracked | MemberKind::Role { .. } => None,
        }
    }

    fn each_of_class(
        &mut self,
        sort: SortId,
        class: usize,
        local: LocalId,
        writes: Option<&[LoopTally]>,
        go: &mut dyn FnMut(&mut Self, &DomainItem) -> DdResult<()>,
    ) -> DdResult<()> {
        let population = &self.counted[&sort];
        let roles = bits::constant(&self.dd, population.roles_in(class));
        let Some((id, count)) = population.class(class) else { return Ok(()) };
        let weight = bits::sub(&self.dd, count, &roles)?;
        let present = bits::less(&self.dd, &roles, count)?;
        if present.is_false() {
            return Ok(());
        }
        let before = writes
            .map(|tallies| (self.vars.clone(), self.frames.clone(), tallies, self.read_tallies(tallies)));
        let Some(role) = self.take_role(sort, class) else { return Ok(()) };
        self.set(
            local,
            LocalContent::Value(SymbolicValue::Scalar(SymbolicScalar::constant(
                &self.dd,
                &Value::Elem(sort, role),
            ))),
        );
        go(self, &DomainItem { when: self.dd.yes(), present, weight: weight.clone() })?;
        if let Some((vars, frames, tallies, numbers)) = before {
            let grown = self.take_back(tallies, &numbers)?;
            self.vars.iter_mut().for_each(|var| super::copy_member(var, sort, role, id));
            self.drop_role(sort, role);
            // Nothing else may have changed: that would happen once for each element of the class.
            let mut pairs = self.vars.iter().zip(&vars);
            let only_itself = pairs.all(|(now, before)| super::same(now, before, Some((sort, id))))
                && super::same_frames(&self.frames, &frames, local);
            if !only_itself {
                return Err(crate::dd::DdHalt::Lacks {
                    construct: format!(
                        "a loop over the counted sort `{}` that changes more than the element itself",
                        self.model.sorts[sort].name
                    ),
                    span: None,
                });
            }
            self.grow(tallies, &grown, &weight)?;
        } else {
            self.drop_role(sort, role);
        }
        Ok(())
    }
}
