//! Values.

use std::fmt;

use crate::{SortId, TypeId};

/// A value. The derived order is the one that multisets are sorted by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// No value yet.
    Undefined,
    /// The reference to nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A constant of an enumeration, by position.
    Enum(TypeId, u32),
    /// An element of a sort, by position (from 0).
    Elem(SortId, u32),
    /// The value of a clock.
    Clock(Ratio),
    /// The fields of a record.
    Record(Vec<Value>),
    /// The elements of an array in the order of the index type. For an array over a growing sort the entry
    /// of a deleted element is [`Value::Undefined`].
    Array(Vec<Value>),
    /// The slots of a bag; `None` is a free slot. In a state only the normal form occurs: no free slots, sorted.
    Multiset(Vec<Option<Value>>),
    /// The elements of a list.
    Sequence(Vec<Value>),
}

impl Value {
    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The element of a sort with the greatest number that it refers to.
    pub(crate) fn greatest_element(&self, sort: SortId) -> Option<u32> {
        match self {
            Value::Elem(of, element) => (*of == sort).then_some(*element),
            Value::Record(parts) | Value::Array(parts) | Value::Sequence(parts) => {
                parts.iter().filter_map(|part| part.greatest_element(sort)).max()
            }
            Value::Multiset(slots) => {
                slots.iter().flatten().filter_map(|part| part.greatest_element(sort)).max()
            }
            Value::Undefined
            | Value::Null
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Enum(..)
            | Value::Clock(_) => None,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

/// A non-negative rational number in lowest terms: a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// Nought.
    pub const ZERO: Ratio = Ratio { numerator: 0, denominator: 1 };

    /// `numerator / denominator` in lowest terms; nothing if the denominator is 0.
    pub fn new(numerator: u64, denominator: u64) -> Option<Ratio> {
        if denominator == 0 {
            return None;
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        Some(Ratio { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// Numerator and denominator.
    pub fn parts(self) -> (u64, u64) {
        (self.numerator, self.denominator)
    }

    /// The sum; nothing if it does not fit.
    pub fn checked_add(self, other: Ratio) -> Option<Ratio> {
        let left = self.numerator.checked_mul(other.denominator)?;
        let right = other.numerator.checked_mul(self.denominator)?;
        Ratio::new(left.checked_add(right)?, self.denominator.checked_mul(other.denominator)?)
    }

    /// How it compares with an integer.
    pub fn cmp_int(self, other: i64) -> std::cmp::Ordering {
        i128::from(self.numerator).cmp(&(i128::from(other) * i128::from(self.denominator)))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let left = u128::from(self.numerator) * u128::from(other.denominator);
        left.cmp(&(u128::from(other.numerator) * u128::from(self.denominator)))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_kept_in_lowest_terms_and_ordered() {
        let half = Ratio::new(2, 4).unwrap();
        assert_eq!(half.to_string(), "1/2");
        assert_eq!(half.checked_add(half).unwrap().to_string(), "1");
        assert!(half > Ratio::ZERO && half.cmp_int(1).is_lt() && half.cmp_int(-1).is_gt());
        assert_eq!(Ratio::new(1, 0), None);
    }
}
