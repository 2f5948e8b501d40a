//! Values that depend on the state.

use std::{collections::BTreeMap, rc::Rc};

use shoal_model::{Model, OrInternal, SortId, Type, TypeId, Value};

use crate::{
    bits::{self, BitVector},
    dd::{Bdd, Dd, DdResult},
    machine::bag::flag_type,
    members::Members,
};

/// A value that depends on the state.
#[derive(Clone, Debug)]
pub enum SymbolicValue {
    /// Not made of other values.
    Scalar(SymbolicScalar),
    /// The fields of a record.
    Record(Vec<SymbolicValue>),
    /// The entries of an array in the order of the index type.
    Array(Vec<SymbolicValue>),
    /// The entries of an array over a sort whose elements are counted: one for each that is told apart at the moment.
    Family(SortId, Members),
}

/// A scalar, and where it is undefined.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolicScalar {
    /// Where it has no value. What the data say there does not matter.
    pub undefined: Bdd,
    /// Its value elsewhere.
    pub data: ScalarData,
}

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarData {
    /// A truth value.
    Bool(Bdd),
    /// An integer.
    Int(BitVector),
    /// One of several values, and where; at most one at a time.
    Cases(Vec<(Value, Bdd)>),
}

/// More values than this are not told apart one by one.
pub const MOST_VALUES: usize = 1 << 16;

impl SymbolicScalar {
    /// No value anywhere.
    pub fn undefined(dd: &Dd) -> SymbolicScalar {
        SymbolicScalar { undefined: dd.yes(), data: ScalarData::Cases(Vec::new()) }
    }

    /// A value that does not depend on anything.
    pub fn constant(dd: &Dd, value: &Value) -> SymbolicScalar {
        let data = match value {
            Value::Undefined => return SymbolicScalar::undefined(dd),
            Value::Bool(value) => ScalarData::Bool(dd.constant(*value)),
            Value::Int(value) => ScalarData::Int(bits::constant(dd, *value)),
            other => ScalarData::Cases(vec![(other.clone(), dd.yes())]),
        };
        SymbolicScalar::defined(dd, data)
    }

    /// Defined everywhere.
    pub fn defined(dd: &Dd, data: ScalarData) -> SymbolicScalar {
        SymbolicScalar { undefined: dd.no(), data }
    }

    /// A truth value.
    pub fn truth(dd: &Dd, truth: Bdd) -> SymbolicScalar {
        SymbolicScalar::defined(dd, ScalarData::Bool(truth))
    }

    /// This where the condition holds, elsewhere the other.
    pub fn merge(&self, dd: &Dd, condition: &Bdd, other: &SymbolicScalar) -> DdResult<SymbolicScalar> {
        match condition.known() {
            Some(true) => return Ok(self.clone()),
            Some(false) => return Ok(other.clone()),
            None => {}
        }
        let undefined = condition.ite(&self.undefined, &other.undefined)?;
        let data = match (&self.data, &other.data) {
            // Where a side is undefined altogether, its data do not matter.
            _ if self.undefined.is_true() => other.data.clone(),
            _ if other.undefined.is_true() => self.data.clone(),
            (ScalarData::Bool(a), ScalarData::Bool(b)) => ScalarData::Bool(condition.ite(a, b)?),
            (ScalarData::Int(a), ScalarData::Int(b)) => ScalarData::Int(bits::choose(condition, a, b)?),
            _ => {
                let (here, there) = (self.cases(dd, &dd.yes())?, other.cases(dd, &dd.yes())?);
                let mut cases: BTreeMap<Value, Bdd> = BTreeMap::new();
                let elsewhere = condition.not()?;
                for (of, part) in [(here, condition), (there, &elsewhere)] {
                    for (value, place) in of {
                        let place = place.and(part)?;
                        let place = match cases.get(&value) {
                            Some(known) => known.or(&place)?,
                            None => place,
                        };
                        cases.insert(value, place);
                    }
                }
                ScalarData::Cases(cases.into_iter().filter(|(_, place)| !place.is_false()).collect())
            }
        };
        Ok(SymbolicScalar { undefined, data })
    }

    /// Its values one by one, each with where it has it, as far as the condition reaches; where it is undefined is not
    /// among them.
    pub fn cases(&self, dd: &Dd, under: &Bdd) -> DdResult<Vec<(Value, Bdd)>> {
        let under = under.minus(&self.undefined)?;
        let all = match &self.data {
            ScalarData::Bool(truth) => {
                vec![(Value::Bool(false), under.minus(truth)?), (Value::Bool(true), under.and(truth)?)]
            }
            ScalarData::Int(number) => match bits::values(number, &under, MOST_VALUES)? {
                Some(values) => values.into_iter().map(|(value, place)| (Value::Int(value), place)).collect(),
                None => {
                    return Err(crate::dd::DdHalt::Lacks {
                        construct: format!("a choice between more than {MOST_VALUES} values"),
                        span: None,
                    });
                }
            },
            ScalarData::Cases(cases) => {
                let mut all = Vec::new();
                for (value, place) in cases {
                    all.push((value.clone(), place.and(&under)?));
                }
                all
            }
        };
        let _ = dd;
        Ok(all.into_iter().filter(|(_, place)| !place.is_false()).collect())
    }

    /// Where the two are the same; undefined is the same as undefined only.
    pub fn equal(&self, dd: &Dd, other: &SymbolicScalar) -> DdResult<Bdd> {
        let both_undefined = self.undefined.and(&other.undefined)?;
        let defined = dd.yes().minus(&self.undefined)?.minus(&other.undefined)?;
        let same = match (&self.data, &other.data) {
            _ if defined.is_false() => dd.no(),
            (ScalarData::Bool(a), ScalarData::Bool(b)) => a.equiv(b)?,
            (ScalarData::Int(a), ScalarData::Int(b)) => bits::equal(dd, a, b)?,
            _ => {
                let (here, there) = (self.cases(dd, &defined)?, other.cases(dd, &defined)?);
                let mut same = dd.no();
                for (value, place) in &here {
                    if let Some((_, other)) = there.iter().find(|(it, _)| it == value) {
                        same = same.or(&place.and(other)?)?;
                    }
                }
                same
            }
        };
        both_undefined.or(&same.and(&defined)?)
    }

    /// The value, where it does not depend on anything.
    pub fn known(&self) -> Option<Value> {
        match (self.undefined.known()?, &self.data) {
            (true, _) => Some(Value::Undefined),
            (false, ScalarData::Bool(truth)) => truth.known().map(Value::Bool),
            (false, ScalarData::Int(number)) => bits::known(number).map(Value::Int),
            (false, ScalarData::Cases(cases)) => {
                cases.iter().find(|(_, place)| place.is_true()).map(|(value, _)| value.clone())
            }
        }
    }
}

impl SymbolicValue {
    /// The scalar, if it is one.
    pub fn scalar(&self) -> Option<&SymbolicScalar> {
        match self {
            SymbolicValue::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// This where the condition holds, elsewhere the other, which has the same shape.
    pub fn merge(&self, dd: &Dd, condition: &Bdd, other: &SymbolicValue) -> DdResult<SymbolicValue> {
        let all = |a: &[SymbolicValue], b: &[SymbolicValue]| -> DdResult<Vec<SymbolicValue>> {
            a.iter().zip(b).map(|(a, b)| a.merge(dd, condition, b)).collect()
        };
        Ok(match (self, other) {
            _ if condition.is_true() => self.clone(),
            _ if condition.is_false() => other.clone(),
            (SymbolicValue::Scalar(a), SymbolicValue::Scalar(b)) => {
                SymbolicValue::Scalar(a.merge(dd, condition, b)?)
            }
            (SymbolicValue::Record(a), SymbolicValue::Record(b)) => SymbolicValue::Record(all(a, b)?),
            (SymbolicValue::Array(a), SymbolicValue::Array(b)) => SymbolicValue::Array(all(a, b)?),
            (SymbolicValue::Family(sort, a), SymbolicValue::Family(_, b)) => {
                let mut merged = b.clone();
                for member in a.different(b) {
                    if let (Some(a), Some(b)) = (a.get(member), b.get(member)) {
                        merged.insert(member, Rc::new(a.merge(dd, condition, b)?));
                    }
                }
                SymbolicValue::Family(*sort, merged)
            }
            _ => self.clone(),
        })
    }

    /// Where the two are the same.
    pub fn equal(&self, dd: &Dd, other: &SymbolicValue) -> DdResult<Bdd> {
        let all = |pairs: &mut dyn Iterator<Item = (&SymbolicValue, &SymbolicValue)>| -> DdResult<Bdd> {
            let mut same = dd.yes();
            for (a, b) in pairs {
                same = same.and(&a.equal(dd, b)?)?;
            }
            Ok(same)
        };
        match (self, other) {
            (SymbolicValue::Scalar(a), SymbolicValue::Scalar(b)) => a.equal(dd, b),
            (SymbolicValue::Record(a), SymbolicValue::Record(b))
            | (SymbolicValue::Array(a), SymbolicValue::Array(b)) => all(&mut a.iter().zip(b)),
            // A class that has no element would count as well.
            (SymbolicValue::Family(..), SymbolicValue::Family(..)) => Err(crate::dd::DdHalt::Lacks {
                construct: "comparison of whole arrays over a counted sort".into(),
                span: None,
            }),
            (
                SymbolicValue::Scalar(_)
                | SymbolicValue::Record(_)
                | SymbolicValue::Array(_)
                | SymbolicValue::Family(..),
                _,
            ) => {
                shoal_model::internal!("values of different shapes are compared")
            }
        }
    }

    /// From here on the entries of arrays over counted sorts are shared with all copies.
    pub fn settle(&mut self) {
        match self {
            SymbolicValue::Scalar(_) => {}
            SymbolicValue::Record(parts) | SymbolicValue::Array(parts) => {
                parts.iter_mut().for_each(SymbolicValue::settle)
            }
            SymbolicValue::Family(_, entries) => entries.settle(),
        }
    }

    /// A value that does not depend on anything.
    pub fn constant(dd: &Dd, value: &Value) -> SymbolicValue {
        let all = |values: &[Value]| values.iter().map(|value| SymbolicValue::constant(dd, value)).collect();
        match value {
            Value::Record(values) => SymbolicValue::Record(all(values)),
            Value::Array(values) => SymbolicValue::Array(all(values)),
            scalar => SymbolicValue::Scalar(SymbolicScalar::constant(dd, scalar)),
        }
    }

    /// The value, where it does not depend on anything.
    pub fn known(&self) -> Option<Value> {
        let all = |values: &[SymbolicValue]| {
            values.iter().map(SymbolicValue::known).collect::<Option<Vec<Value>>>()
        };
        match self {
            SymbolicValue::Scalar(scalar) => scalar.known(),
            SymbolicValue::Record(values) => all(values).map(Value::Record),
            SymbolicValue::Array(values) => all(values).map(Value::Array),
            SymbolicValue::Family(..) => None,
        }
    }

    /// A value of a type with this in every scalar part. Arrays over a counted sort get the members that it has.
    pub fn build(
        model: &Model,
        ty: TypeId,
        members: &dyn Fn(TypeId) -> Option<(SortId, Vec<u32>)>,
        scalar: &mut dyn FnMut(TypeId) -> DdResult<SymbolicScalar>,
    ) -> DdResult<SymbolicValue> {
        Ok(match model.kind(ty) {
            Type::Record { fields } => {
                let parts = fields.iter().map(|field| SymbolicValue::build(model, field.ty, members, scalar));
                SymbolicValue::Record(parts.collect::<DdResult<_>>()?)
            }
            Type::Array { index, element } => match members(*index) {
                Some((sort, members_of)) => {
                    let mut family = Members::default();
                    for member in members_of {
                        family
                            .insert(member, Rc::new(SymbolicValue::build(model, *element, members, scalar)?));
                    }
                    SymbolicValue::Family(sort, family)
                }
                None => {
                    let count = model.cardinality(*index).or_internal("an array has a finite index");
                    let parts = (0..count).map(|_| SymbolicValue::build(model, *element, members, scalar));
                    SymbolicValue::Array(parts.collect::<DdResult<_>>()?)
                }
            },
            Type::Multiset { capacity, element } => {
                let flag = flag_type(model).or_internal("a model with multisets has truth values");
                let slot = |_| -> DdResult<SymbolicValue> {
                    let flag = SymbolicValue::Scalar(scalar(flag)?);
                    Ok(SymbolicValue::Record(vec![
                        flag,
                        SymbolicValue::build(model, *element, members, scalar)?,
                    ]))
                };
                SymbolicValue::Array((0..*capacity).map(slot).collect::<DdResult<_>>()?)
            }
            _ => SymbolicValue::Scalar(scalar(ty)?),
        })
    }
}
