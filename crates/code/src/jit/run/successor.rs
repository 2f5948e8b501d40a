//! What the writes of a body make of the words of a packed state.
//!
//! A packed state is a sum: what is written where the old content is known is added at once. Other cells are taken out,
//! all with one mask, and what is new is added; cells that are copied over the same distance, with one shift.

use std::collections::BTreeMap;

use super::terms::{Kind, Term, Terms};

/// What becomes of a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WordChange {
    /// The bits that are taken out.
    pub(super) clear: u64,
    pub(super) add: u64,
    /// By how far they go to the left: bits that are added there.
    pub(super) moves: BTreeMap<i64, u64>,
    /// Terms that are added, each times a factor.
    pub(super) terms: Vec<(Term, u64)>,
}

impl WordChange {
    /// By word, for what is written to cells where some truth values are known to hold.
    pub(super) fn of(terms: &mut Terms<'_>, known: &[Term], cells: &BTreeMap<u32, Term>) -> Vec<WordChange> {
        let words = terms.fields.last().map_or(1, |last| last.word as usize + 1);
        let mut changes = vec![WordChange::default(); words];
        for (cell, new) in cells {
            let old = terms.cell(*cell);
            let old = terms.number_under(known, old);
            let new = terms.number_under(known, *new);
            if new != old {
                let word = terms.fields[*cell as usize].word as usize;
                changes[word].write(terms, *cell, old, new);
            }
        }
        changes
    }

    fn write(&mut self, terms: &Terms<'_>, cell: u32, old: Term, new: Term) {
        let field = terms.fields[cell as usize];
        if let (None, 0) = (terms.known(old), field.radix) {
            self.clear |= field.mask << field.shift;
            self.add = self.add.wrapping_sub(field.bias.wrapping_mul(field.weight));
        } else {
            self.add_term(terms, old, field.weight.wrapping_neg());
        }
        if let Kind::Cell(from) = terms.kind(new)
            && let from = terms.fields[*from as usize]
            && from.word == field.word
            && (from.radix, field.radix) == (0, 0)
        {
            let bits = self.moves.entry(i64::from(field.shift) - i64::from(from.shift)).or_default();
            // Bits that go to two places over the same distance would be one.
            if *bits & from.mask << from.shift == 0 {
                *bits |= from.mask << from.shift;
                self.add = self.add.wrapping_add(from.bias.wrapping_mul(field.weight));
                return;
            }
        }
        self.add_term(terms, new, field.weight);
    }

    fn add_term(&mut self, terms: &Terms<'_>, term: Term, factor: u64) {
        match terms.known(term) {
            Some(value) => self.add = self.add.wrapping_add((value as u64).wrapping_mul(factor)),
            None => self.terms.push((term, factor)),
        }
    }
}
