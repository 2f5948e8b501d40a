//! Parts: instances of rules one by one, and what is known of the order of their steps.
//!
//! An analysis fills this in ([`Parts`] are no part of a Model), and an engine may use it to leave out orders of steps that
//! make no difference: partial order reduction, by stubborn sets.

use crate::{RuleId, Value};

/// A set of small numbers, below a bound that is given when it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet(Vec<u64>);

impl BitSet {
    /// No numbers below a bound.
    pub fn new(bound: usize) -> Self {
        BitSet(vec![0; bound.div_ceil(64)])
    }

    /// Adds a number; false if it was there.
    pub fn insert(&mut self, number: usize) -> bool {
        let (word, bit) = (&mut self.0[number / 64], 1 << (number % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Whether a number is there.
    pub fn contains(&self, number: usize) -> bool {
        self.0[number / 64] & (1 << (number % 64)) != 0
    }

    /// Whether there is a number in both.
    pub fn meets(&self, other: &BitSet) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    /// Adds all numbers of another set.
    pub fn unite(&mut self, other: &BitSet) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// How many of this set are not in another.
    pub fn count_beyond(&self, other: &BitSet) -> usize {
        self.0.iter().zip(&other.0).map(|(a, b)| (a & !b).count_ones() as usize).sum()
    }

    /// All, least first.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| ones(at, *word))
    }

    /// Those of this set that are not in another, least first.
    pub fn beyond<'s>(&'s self, other: &'s BitSet) -> impl Iterator<Item = usize> + 's {
        self.0.iter().zip(&other.0).enumerate().flat_map(|(at, (a, b))| ones(at, a & !b))
    }
}

impl Extend<usize> for BitSet {
    fn extend<T: IntoIterator<Item = usize>>(&mut self, numbers: T) {
        for number in numbers {
            self.insert(number);
        }
    }
}

/// The numbers that the bits of a word stand for.
fn ones(at: usize, word: u64) -> impl Iterator<Item = usize> {
    let rest = |word: &u64| Some(word & (word - 1)).filter(|rest| *rest != 0);
    std::iter::successors(Some(word).filter(|word| *word != 0), rest)
        .map(move |word| at * 64 + word.trailing_zeros() as usize)
}

/// All instances of all rules, each of which belongs to one part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// By rule: how many of its first parameters have a value in its parts. The others run through theirs in each part.
    pub given: Vec<usize>,
    /// The parts, those of a rule in a row.
    pub all: Vec<Part>,
    /// Those that properties may notice: a step of another makes no difference to any condition asked of states.
    pub visible: BitSet,
}

/// Some instances of a rule: one, if all its parameters are given.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The rule.
    pub rule: RuleId,
    /// The values of the parameters that are given.
    pub args: Vec<Value>,
    /// While the guard holds, any other part may fire or fault before or after this one with the same results, but these.
    pub conflicts: BitSet,
    /// For each conjunct of the guard, as [`crate::Expr::conjuncts`] has them, if all parameters are given: where it is
    /// false, the guard neither holds nor faults before one of these has fired. The last is for the whole guard, wherever
    /// it does not hold.
    pub enablers: Vec<BitSet>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_know_their_numbers() {
        let (mut some, mut others) = (BitSet::new(200), BitSet::new(200));
        for number in [0, 63, 64, 199] {
            assert!(some.insert(number) && !some.insert(number));
        }
        others.insert(64);
        assert!(some.meets(&others) && some.contains(199) && !some.contains(198));
        assert_eq!(some.iter().collect::<Vec<_>>(), [0, 63, 64, 199]);
        assert_eq!(some.beyond(&others).collect::<Vec<_>>(), [0, 63, 199]);
        assert_eq!((some.count(), some.count_beyond(&others)), (4, 3));
    }
}
