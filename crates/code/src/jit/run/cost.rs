//! About how many instructions terms take.

use std::collections::HashSet;

use super::{
    follow::{OutcomeKind, PathOutcome},
    successor::WordChange,
    terms::{Kind, Term, Terms},
};

/// Counts instructions, each term once.
pub(super) struct Cost<'a, 'f> {
    terms: &'a Terms<'f>,
    seen: HashSet<Term>,
    total: usize,
}

impl<'a, 'f> Cost<'a, 'f> {
    fn new(terms: &'a Terms<'f>) -> Self {
        Cost { terms, seen: HashSet::new(), total: 0 }
    }

    /// Of several truth values.
    pub(super) fn of_conditions(terms: &'a Terms<'f>, conditions: &[Term]) -> usize {
        let mut cost = Cost::new(terms);
        conditions.iter().for_each(|term| cost.count(*term));
        cost.total
    }

    /// Of a successor.
    pub(super) fn of_changes(terms: &'a Terms<'f>, changes: &[WordChange]) -> usize {
        let mut cost = Cost::new(terms);
        changes.iter().for_each(|change| cost.change(change));
        cost.total
    }

    /// Of what happens, where some of its first conditions are known to hold.
    pub(super) fn of_outcome(terms: &'a Terms<'f>, outcome: &PathOutcome, known: usize) -> usize {
        let changes = match &outcome.what {
            OutcomeKind::Step(_, changes) => Self::of_changes(terms, changes),
            OutcomeKind::Leave | OutcomeKind::Truth(_) => 0,
        };
        Self::of_conditions(terms, &outcome.when[known..]) + changes + 2
    }

    fn change(&mut self, change: &WordChange) {
        self.total += usize::from(change.clear > 0) + 3 * change.moves.len() + usize::from(change.add > 0);
        for (term, _) in &change.terms {
            self.total += 2;
            self.count(*term);
        }
    }

    fn count(&mut self, term: Term) {
        if !self.seen.insert(term) {
            return;
        }
        let terms = self.terms;
        match terms.kind(term) {
            Kind::Const(_) => {}
            Kind::Cell(cell) => self.total += if terms.fields[*cell as usize].radix > 0 { 6 } else { 2 },
            Kind::Element { index, .. } => {
                self.total += 4;
                self.count(*index);
            }
            Kind::Add(left, right)
            | Kind::Mul(left, right)
            | Kind::Equal(left, right)
            | Kind::Less(left, right) => {
                self.total += 1;
                self.count(*left);
                self.count(*right);
            }
            Kind::Div(number, _) => {
                self.total += 12;
                self.count(*number);
            }
            Kind::Select(when, yes, no) => {
                self.total += 1;
                [when, yes, no].into_iter().for_each(|part| self.count(*part));
            }
            Kind::Is(number, _) => {
                self.total += 1;
                if !matches!(terms.kind(*number), Kind::Cell(cell) if terms.fields[*cell as usize].radix == 0)
                {
                    self.count(*number);
                }
            }
            Kind::Not(inner) => self.count(*inner),
            Kind::All(parts) => parts.iter().for_each(|part| self.count(*part)),
        }
    }
}
