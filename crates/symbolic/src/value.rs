//! Values that depend on the state.

use std::{collections::BTreeMap, rc::Rc};

use shoal_model::{Model, OrInternal, SortId, Type, TypeId, Value};

use crate::{
    bits::{self, Bits},
    dd::{Bdd, Dd, Done},
    machine::bag::flag_type,
    members::Members,
};

/// A value that depends on the state.
#[derive(Clone, Debug)]
pub enum Sym {
    /// Not made of other values.
    Scalar(Scalar),
    /// The fields of a record.
    Record(Vec<Sym>),
    /// The entries of an array in the order of the index type.
    Array(Vec<Sym>),
    /// The entries of an array over a sort whose elements are counted: one for each that is told apart at the moment.
    Family(SortId, Members),
}

/// A scalar, and where it is undefined.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalar {
    /// Where it has no value. What the data say there does not matter.
    pub undefined: Bdd,
    /// Its value elsewhere.
    pub data: Data,
}

/// The value of a scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// A truth value.
    Bool(Bdd),
    /// An integer.
    Int(Bits),
    /// One of several values, and where; at most one at a time.
    Cases(Vec<(Value, Bdd)>),
}

/// More values than this are not told apart one by one.
pub const MOST_VALUES: usize = 1 << 16;

impl Scalar {
    /// No value anywhere.
    pub fn undefined(dd: &Dd) -> Scalar {
        Scalar { undefined: dd.yes(), data: Data::Cases(Vec::new()) }
    }

    /// A value that does not depend on anything.
    pub fn constant(dd: &Dd, value: &Value) -> Scalar {
        let data = match value {
            Value::Undefined => return Scalar::undefined(dd),
            Value::Bool(value) => Data::Bool(dd.constant(*value)),
            Value::Int(value) => Data::Int(bits::constant(dd, *value)),
            other => Data::Cases(vec![(other.clone(), dd.yes())]),
        };
        Scalar::defined(dd, data)
    }

    /// Defined everywhere.
    pub fn defined(dd: &Dd, data: Data) -> Scalar {
        Scalar { undefined: dd.no(), data }
    }

    /// A truth value.
    pub fn truth(dd: &Dd, truth: Bdd) -> Scalar {
        Scalar::defined(dd, Data::Bool(truth))
    }

    /// This where the condition holds, elsewhere the other.
    pub fn merge(&self, dd: &Dd, condition: &Bdd, other: &Scalar) -> Done<Scalar> {
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
            (Data::Bool(a), Data::Bool(b)) => Data::Bool(condition.ite(a, b)?),
            (Data::Int(a), Data::Int(b)) => Data::Int(bits::choose(condition, a, b)?),
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
                Data::Cases(cases.into_iter().filter(|(_, place)| !place.is_false()).collect())
            }
        };
        Ok(Scalar { undefined, data })
    }

    /// Its values one by one, each with where it has it, as far as the condition reaches; where it is undefined is not
    /// among them.
    pub fn cases(&self, dd: &Dd, under: &Bdd) -> Done<Vec<(Value, Bdd)>> {
        let under = under.minus(&self.undefined)?;
        let all = match &self.data {
            Data::Bool(truth) => {
                vec![(Value::Bool(false), under.minus(truth)?), (Value::Bool(true), under.and(truth)?)]
            }
            Data::Int(number) => match bits::values(number, &under, MOST_VALUES)? {
                Some(values) => values.into_iter().map(|(value, place)| (Value::Int(value), place)).collect(),
                None => {
                    return Err(crate::dd::Halt::Lacks {
                        construct: format!("a choice between more than {MOST_VALUES} values"),
                        span: None,
                    });
                }
            },
            Data::Cases(cases) => {
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
    pub fn equal(&self, dd: &Dd, other: &Scalar) -> Done<Bdd> {
        let both_undefined = self.undefined.and(&other.undefined)?;
        let defined = dd.yes().minus(&self.undefined)?.minus(&other.undefined)?;
        let same = match (&self.data, &other.data) {
            _ if defined.is_false() => dd.no(),
            (Data::Bool(a), Data::Bool(b)) => a.equiv(b)?,
            (Data::Int(a), Data::Int(b)) => bits::equal(dd, a, b)?,
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
            (false, Data::Bool(truth)) => truth.known().map(Value::Bool),
            (false, Data::Int(number)) => bits::known(number).map(Value::Int),
            (false, Data::Cases(cases)) => {
                cases.iter().find(|(_, place)| place.is_true()).map(|(value, _)| value.clone())
            }
        }
    }
}

impl Sym {
    /// The scalar, if it is one.
    pub fn scalar(&self) -> Option<&Scalar> {
        match self {
            Sym::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// This where the condition holds, elsewhere the other, which has the same shape.
    pub fn merge(&self, dd: &Dd, condition: &Bdd, other: &Sym) -> Done<Sym> {
        let all = |a: &[Sym], b: &[Sym]| -> Done<Vec<Sym>> {
            a.iter().zip(b).map(|(a, b)| a.merge(dd, condition, b)).collect()
        };
        Ok(match (self, other) {
            _ if condition.is_true() => self.clone(),
            _ if condition.is_false() => other.clone(),
            (Sym::Scalar(a), Sym::Scalar(b)) => Sym::Scalar(a.merge(dd, condition, b)?),
            (Sym::Record(a), Sym::Record(b)) => Sym::Record(all(a, b)?),
            (Sym::Array(a), Sym::Array(b)) => Sym::Array(all(a, b)?),
            (Sym::Family(sort, a), Sym::Family(_, b)) => {
                let mut merged = b.clone();
                for member in a.different(b) {
                    if let (Some(a), Some(b)) = (a.get(member), b.get(member)) {
                        merged.insert(member, Rc::new(a.merge(dd, condition, b)?));
                    }
                }
                Sym::Family(*sort, merged)
            }
            _ => self.clone(),
        })
    }

    /// Where the two are the same.
    pub fn equal(&self, dd: &Dd, other: &Sym) -> Done<Bdd> {
        let all = |pairs: &mut dyn Iterator<Item = (&Sym, &Sym)>| -> Done<Bdd> {
            let mut same = dd.yes();
            for (a, b) in pairs {
                same = same.and(&a.equal(dd, b)?)?;
            }
            Ok(same)
        };
        match (self, other) {
            (Sym::Scalar(a), Sym::Scalar(b)) => a.equal(dd, b),
            (Sym::Record(a), Sym::Record(b)) | (Sym::Array(a), Sym::Array(b)) => all(&mut a.iter().zip(b)),
            // A class that has no element would count as well.
            (Sym::Family(..), Sym::Family(..)) => Err(crate::dd::Halt::Lacks {
                construct: "comparison of whole arrays over a counted sort".into(),
                span: None,
            }),
            (Sym::Scalar(_) | Sym::Record(_) | Sym::Array(_) | Sym::Family(..), _) => {
                shoal_model::internal!("values of different shapes are compared")
            }
        }
    }

    /// From here on the entries of arrays over counted sorts are shared with all copies.
    pub fn settle(&mut self) {
        match self {
            Sym::Scalar(_) => {}
            Sym::Record(parts) | Sym::Array(parts) => parts.iter_mut().for_each(Sym::settle),
            Sym::Family(_, entries) => entries.settle(),
        }
    }

    /// A value that does not depend on anything.
    pub fn constant(dd: &Dd, value: &Value) -> Sym {
        let all = |values: &[Value]| values.iter().map(|value| Sym::constant(dd, value)).collect();
        match value {
            Value::Record(values) => Sym::Record(all(values)),
            Value::Array(values) => Sym::Array(all(values)),
            scalar => Sym::Scalar(Scalar::constant(dd, scalar)),
        }
    }

    /// The value, where it does not depend on anything.
    pub fn known(&self) -> Option<Value> {
        let all = |values: &[Sym]| values.iter().map(Sym::known).collect::<Option<Vec<Value>>>();
        match self {
            Sym::Scalar(scalar) => scalar.known(),
            Sym::Record(values) => all(values).map(Value::Record),
            Sym::Array(values) => all(values).map(Value::Array),
            Sym::Family(..) => None,
        }
    }

    /// A value of a type with this in every scalar part. Arrays over a counted sort get the members that it has.
    pub fn build(
        model: &Model,
        ty: TypeId,
        members: &dyn Fn(TypeId) -> Option<(SortId, Vec<u32>)>,
        scalar: &mut dyn FnMut(TypeId) -> Done<Scalar>,
    ) -> Done<Sym> {
        Ok(match model.kind(ty) {
            Type::Record { fields } => {
                let parts = fields.iter().map(|field| Sym::build(model, field.ty, members, scalar));
                Sym::Record(parts.collect::<Done<_>>()?)
            }
            Type::Array { index, element } => match members(*index) {
                Some((sort, members_of)) => {
                    let mut family = Members::default();
                    for member in members_of {
                        family.insert(member, Rc::new(Sym::build(model, *element, members, scalar)?));
                    }
                    Sym::Family(sort, family)
                }
                None => {
                    let count = model.cardinality(*index).or_internal("an array has a finite index");
                    let parts = (0..count).map(|_| Sym::build(model, *element, members, scalar));
                    Sym::Array(parts.collect::<Done<_>>()?)
                }
            },
            Type::Multiset { capacity, element } => {
                let flag = flag_type(model).or_internal("a model with multisets has truth values");
                let slot = |_| -> Done<Sym> {
                    let flag = Sym::Scalar(scalar(flag)?);
                    Ok(Sym::Record(vec![flag, Sym::build(model, *element, members, scalar)?]))
                };
                Sym::Array((0..*capacity).map(slot).collect::<Done<_>>()?)
            }
            _ => Sym::Scalar(scalar(ty)?),
        })
    }
}
