//! What code computes of a packed state, as terms: each is there once, and simplified when it is made.
//!
//! A term is a number, or a truth value (0 and 1). The cells of the state that is expanded are its variables. Its range is
//! known, so that many checks are known to succeed.

use rustc_hash::FxHashMap;

use crate::fields::PackedField;

/// The number of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Term(u32);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Const(i64),
    /// The content of a cell.
    Cell(u32),
    /// The content of the cell that is so many times `step` after `first`; the cells that it may be stand in the word at
    /// equal distances, each with bits of its own.
    Element {
        index: Term,
        first: u32,
        step: u32,
    },
    /// Wrapping.
    Add(Term, Term),
    Mul(Term, Term),
    /// A number that is not negative by a constant that is positive.
    Div(Term, i64),
    /// The second if the first holds, otherwise the third.
    Select(Term, Term, Term),
    /// Whether a number is a constant.
    Is(Term, i64),
    Equal(Term, Term),
    /// Signed.
    Less(Term, Term),
    Not(Term),
    /// Whether all of several hold.
    All(Box<[Term]>),
}

/// The least and the greatest number that a term can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) lo: i64,
    pub(super) hi: i64,
}

const ANY: Range = Range { lo: i64::MIN, hi: i64::MAX };
const TRUTH: Range = Range { lo: 0, hi: 1 };

const PATIENCE: usize = 500_000;

/// All terms.
pub(super) struct Terms<'f> {
    pub(super) fields: &'f [PackedField],
    kinds: Vec<Kind>,
    ranges: Vec<Range>,
    index: FxHashMap<Kind, Term>,
    /// How much may still be looked at to simplify terms: those that share much would take long.
    patience: usize,
}

impl<'f> Terms<'f> {
    pub(super) const FALSE: Term = Term(0);
    pub(super) const TRUE: Term = Term(1);

    pub(super) fn new(fields: &'f [PackedField]) -> Self {
        let (kinds, ranges, index) = (Vec::new(), Vec::new(), FxHashMap::default());
        let mut terms = Terms { fields, kinds, ranges, index, patience: PATIENCE };
        terms.constant(0);
        terms.constant(1);
        terms
    }

    /// Whether there are more than so many, or they take too long.
    pub(super) fn are_many(&self, most: usize) -> bool {
        self.kinds.len() > most || self.patience == 0
    }

    pub(super) fn kind(&self, term: Term) -> &Kind {
        &self.kinds[term.0 as usize]
    }

    pub(super) fn range(&self, term: Term) -> Range {
        self.ranges[term.0 as usize]
    }

    fn make(&mut self, kind: Kind, range: Range) -> Term {
        if range.lo == range.hi && !matches!(kind, Kind::Const(_)) {
            return self.constant(range.lo);
        }
        if let Some(term) = self.index.get(&kind) {
            return *term;
        }
        let term = Term(self.kinds.len() as u32);
        self.kinds.push(kind.clone());
        self.ranges.push(range);
        self.index.insert(kind, term);
        term
    }

    pub(super) fn constant(&mut self, value: i64) -> Term {
        self.make(Kind::Const(value), Range { lo: value, hi: value })
    }

    pub(super) fn known(&self, term: Term) -> Option<i64> {
        match self.kind(term) {
            Kind::Const(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn cell(&mut self, cell: u32) -> Term {
        let range = self.range_of(cell);
        self.make(Kind::Cell(cell), range)
    }

    fn range_of(&self, cell: u32) -> Range {
        let PackedField { most, defined, .. } = self.fields[cell as usize];
        match most.map(i64::try_from) {
            Some(Ok(hi)) => Range { lo: i64::from(defined).min(hi), hi },
            _ => ANY,
        }
    }

    /// The content of one of the cells at equal distances, of which the index is not known. Nothing if their bits are not.
    pub(super) fn element(&mut self, index: Term, first: u32, step: u32, cells: &[u32]) -> Option<Term> {
        let field = |cell: u32| self.fields[cell as usize];
        let alike = |cell: &u32| {
            let (here, other) = (field(cells[0]), field(*cell));
            (here.word, here.mask, here.bias, here.radix) == (other.word, other.mask, other.bias, 0)
        };
        let apart = |pair: &[u32]| i64::from(field(pair[1]).shift) - i64::from(field(pair[0]).shift);
        let even = cells.windows(3).all(|three| apart(&three[..2]) == apart(&three[1..]));
        if cells.is_empty() || !cells.iter().all(alike) || !even {
            return None;
        }
        let ranges = cells.iter().map(|cell| self.range_of(*cell));
        let range = ranges.reduce(Range::join).unwrap_or(ANY);
        Some(self.make(Kind::Element { index, first, step }, range))
    }

    pub(super) fn add(&mut self, left: Term, right: Term) -> Term {
        match (self.known(left), self.known(right)) {
            (Some(left), Some(right)) => self.constant(left.wrapping_add(right)),
            (Some(_), None) => self.add(right, left),
            (None, Some(0)) => left,
            (None, Some(by)) => match *self.kind(left) {
                Kind::Add(inner, other) if self.known(other).is_some() => {
                    let by = by.wrapping_add(self.known(other).unwrap_or(0));
                    let by = self.constant(by);
                    self.add(inner, by)
                }
                Kind::Select(when, yes, no) if self.are_known(yes, no) => {
                    let (yes, no) = (self.add(yes, right), self.add(no, right));
                    self.select(when, yes, no)
                }
                _ => self.sum(left, right),
            },
            _ if left > right => self.add(right, left),
            _ => self.sum(left, right),
        }
    }

    fn sum(&mut self, left: Term, right: Term) -> Term {
        let range = self.range(left).add(self.range(right)).unwrap_or(ANY);
        self.make(Kind::Add(left, right), range)
    }

    fn are_known(&self, left: Term, right: Term) -> bool {
        self.known(left).is_some() && self.known(right).is_some()
    }

    pub(super) fn add_constant(&mut self, term: Term, by: i64) -> Term {
        let by = self.constant(by);
        self.add(term, by)
    }

    pub(super) fn mul(&mut self, left: Term, right: Term) -> Term {
        match (self.known(left), self.known(right)) {
            (Some(left), Some(right)) => self.constant(left.wrapping_mul(right)),
            (Some(_), None) => self.mul(right, left),
            (None, Some(1)) => left,
            (None, Some(0)) => right,
            _ => {
                let range = self.range(left).mul(self.range(right)).unwrap_or(ANY);
                self.make(Kind::Mul(left, right), range)
            }
        }
    }

    /// The quotient, if the one is never negative and the other is known and positive.
    pub(super) fn div(&mut self, term: Term, by: Term) -> Option<Term> {
        let (range, by) = (self.range(term), self.known(by).filter(|by| *by > 0)?);
        if range.lo < 0 {
            return None;
        }
        let range = Range { lo: range.lo / by, hi: range.hi / by };
        Some(if by == 1 { term } else { self.make(Kind::Div(term, by), range) })
    }

    /// The sum, if it never overflows.
    pub(super) fn checked_add(&mut self, left: Term, right: Term) -> Option<Term> {
        self.range(left).add(self.range(right))?;
        Some(self.add(left, right))
    }

    /// The difference, if it never overflows.
    pub(super) fn checked_sub(&mut self, left: Term, right: Term) -> Option<Term> {
        let minus = self.constant(-1);
        let right = self.checked_mul(right, minus)?;
        self.checked_add(left, right)
    }

    /// The product, if it never overflows.
    pub(super) fn checked_mul(&mut self, left: Term, right: Term) -> Option<Term> {
        self.range(left).mul(self.range(right))?;
        Some(self.mul(left, right))
    }

    pub(super) fn select(&mut self, when: Term, yes: Term, no: Term) -> Term {
        let otherwise = self.not(when);
        let (yes, no) = (self.number_under(&[when], yes), self.number_under(&[otherwise], no));
        match *self.kind(when) {
            _ if yes == no => yes,
            Kind::Const(0) => no,
            Kind::Const(_) => yes,
            Kind::Not(when) => self.select(when, no, yes),
            _ => {
                if let Some((less, more)) = self.two(yes, no) {
                    // Which of two numbers it is, is a truth value.
                    let (yes, no) = (self.is(yes, more), self.is(no, more));
                    let when = self.either(when, yes, no);
                    let (more, less) = (self.constant(more), self.constant(less));
                    let range = self.range(less).join(self.range(more));
                    return match *self.kind(when) {
                        Kind::Const(0) => less,
                        Kind::Const(_) => more,
                        Kind::Not(when) => self.make(Kind::Select(when, less, more), range),
                        _ => self.make(Kind::Select(when, more, less), range),
                    };
                }
                let range = self.range(yes).join(self.range(no));
                self.make(Kind::Select(when, yes, no), range)
            }
        }
    }

    /// The two numbers, if two terms together can only be these.
    fn two(&self, left: Term, right: Term) -> Option<(i64, i64)> {
        let leaves = |term: Term| match *self.kind(term) {
            Kind::Const(value) => Some((value, value)),
            Kind::Select(_, yes, no) => {
                let (yes, no) = (self.known(yes)?, self.known(no)?);
                Some((yes.min(no), yes.max(no)))
            }
            _ => None,
        };
        let (left, right) = (leaves(left)?, leaves(right)?);
        let (less, more) = (left.0.min(right.0), left.1.max(right.1));
        let all = [left.0, left.1, right.0, right.1];
        (less < more && all.iter().all(|it| [less, more].contains(it))).then_some((less, more))
    }

    pub(super) fn is(&mut self, term: Term, value: i64) -> Term {
        let range = self.range(term);
        if value < range.lo || range.hi < value {
            return Self::FALSE;
        }
        match *self.kind(term) {
            // The range is one of a single number.
            Kind::Const(_) => Self::TRUE,
            Kind::Add(inner, by) if self.known(by).is_some() => {
                let by = self.known(by).unwrap_or(0);
                self.is(inner, value.wrapping_sub(by))
            }
            Kind::Select(when, yes, no) if self.known(yes).is_some() || self.known(no).is_some() => {
                let (yes, no) = (self.is(yes, value), self.is(no, value));
                self.either(when, yes, no)
            }
            _ => self.make(Kind::Is(term, value), TRUTH),
        }
    }

    /// The one truth value or the other.
    fn either(&mut self, when: Term, yes: Term, no: Term) -> Term {
        let other = self.not(when);
        let (yes, no) = (self.all(&[when, yes]), self.all(&[other, no]));
        self.any(&[yes, no])
    }

    pub(super) fn equal(&mut self, left: Term, right: Term) -> Term {
        let (here, there) = (self.range(left), self.range(right));
        match (self.known(left), self.known(right)) {
            _ if left == right => Self::TRUE,
            _ if here.hi < there.lo || there.hi < here.lo => Self::FALSE,
            (_, Some(value)) => self.is(left, value),
            (Some(value), _) => self.is(right, value),
            _ if left > right => self.equal(right, left),
            _ => self.make(Kind::Equal(left, right), TRUTH),
        }
    }

    pub(super) fn less(&mut self, left: Term, right: Term) -> Term {
        let (here, there) = (self.range(left), self.range(right));
        if here.hi < there.lo {
            return Self::TRUE;
        }
        if here.lo >= there.hi {
            return Self::FALSE;
        }
        // At an end of the range it is an equation.
        match (self.known(left), self.known(right)) {
            (_, Some(above)) if above == here.lo + 1 => self.is(left, here.lo),
            (_, Some(above)) if above == here.hi => {
                let most = self.is(left, above);
                self.not(most)
            }
            (Some(below), _) if below == there.lo => {
                let least = self.is(right, below);
                self.not(least)
            }
            (Some(below), _) if below == there.hi - 1 => self.is(right, there.hi),
            _ => self.make(Kind::Less(left, right), TRUTH),
        }
    }

    /// Whether a number is in a range.
    pub(super) fn inside(&mut self, term: Term, lo: i64, hi: i64) -> Term {
        let (least, most) = (self.constant(lo), self.constant(hi));
        let (below, above) = (self.less(term, least), self.less(most, term));
        let (below, above) = (self.not(below), self.not(above));
        self.all(&[below, above])
    }

    pub(super) fn not(&mut self, term: Term) -> Term {
        match *self.kind(term) {
            Kind::Const(value) => self.constant(1 - value),
            Kind::Not(inner) => inner,
            Kind::Is(inner, value) => {
                // Of two numbers it is the other.
                let Range { lo, hi } = self.range(inner);
                match lo.checked_add(1) == Some(hi) {
                    true => self.is(inner, if value == lo { hi } else { lo }),
                    false => self.make(Kind::Not(term), TRUTH),
                }
            }
            _ => self.make(Kind::Not(term), TRUTH),
        }
    }

    /// Whether all of these hold.
    pub(super) fn all(&mut self, terms: &[Term]) -> Term {
        let mut held = Vec::new();
        for term in terms {
            match self.kind(*term) {
                Kind::All(inner) => held.extend_from_slice(inner),
                _ => held.push(*term),
            }
        }
        // Each is simplified by what the others say, until nothing changes.
        let mut at = 0;
        while at < held.len() {
            let term = held.remove(at);
            let simple = self.under(&held, term);
            if simple == Self::FALSE {
                return Self::FALSE;
            }
            let changed = simple != term;
            match self.kind(simple).clone() {
                Kind::Const(_) => {}
                Kind::All(inner) => held.splice(at..at, inner).for_each(drop),
                _ => held.insert(at, simple),
            }
            at = if changed { 0 } else { at + 1 };
        }
        match held[..] {
            [] => Self::TRUE,
            [only] => only,
            _ => self.make(Kind::All(held.into()), TRUTH),
        }
    }

    /// Whether one of these holds.
    pub(super) fn any(&mut self, terms: &[Term]) -> Term {
        let lists: Vec<Vec<Term>> = terms.iter().map(|term| self.parts(*term)).collect();
        let common: Vec<Term> = match lists.split_first() {
            Some((first, others)) if !others.is_empty() => {
                first.iter().filter(|part| others.iter().all(|list| list.contains(part))).copied().collect()
            }
            _ => Vec::new(),
        };
        if !common.is_empty() {
            // What all of them ask for is asked for once.
            let rests: Vec<Term> = lists
                .into_iter()
                .map(|list| {
                    let rest: Vec<Term> = list.into_iter().filter(|part| !common.contains(part)).collect();
                    self.all(&rest)
                })
                .collect();
            let rest = self.any(&rests);
            return self.all(&[&common[..], &[rest]].concat());
        }
        let none: Vec<Term> = terms.iter().map(|term| self.not(*term)).collect();
        let none = self.all(&none);
        self.not(none)
    }

    /// What a truth value asks for.
    fn parts(&self, term: Term) -> Vec<Term> {
        match self.kind(term) {
            Kind::All(parts) => parts.to_vec(),
            Kind::Const(1) => Vec::new(),
            _ => vec![term],
        }
    }

    /// A truth value, where others are known to hold.
    pub(super) fn under(&mut self, held: &[Term], term: Term) -> Term {
        self.patience = self.patience.saturating_sub(1 + held.len());
        if self.patience == 0 {
            return term;
        }
        if let Some(value) = self.follows(held, term) {
            return self.constant(i64::from(value));
        }
        match self.kind(term).clone() {
            Kind::Not(inner) => {
                let inner = self.under(held, inner);
                self.not(inner)
            }
            Kind::All(inner) => {
                let inner: Vec<Term> = inner.iter().map(|term| self.under(held, *term)).collect();
                self.all(&inner)
            }
            _ => term,
        }
    }

    fn follows(&self, held: &[Term], term: Term) -> Option<bool> {
        held.iter().find_map(|fact| match (self.kind(*fact), self.kind(term)) {
            _ if *fact == term => Some(true),
            (Kind::Not(fact), _) if *fact == term => Some(false),
            (_, Kind::Not(term)) if fact == term => Some(false),
            (Kind::Is(this, value), Kind::Is(that, other)) if this == that => Some(value == other),
            _ => None,
        })
    }

    /// A number, where some truth values are known to hold.
    pub(super) fn number_under(&mut self, held: &[Term], term: Term) -> Term {
        let is = held.iter().find_map(|fact| match self.kind(*fact) {
            Kind::Is(this, value) if *this == term => Some(*value),
            _ => None,
        });
        match is {
            Some(value) => self.constant(value),
            None => term,
        }
    }
}

impl Range {
    fn join(self, other: Range) -> Range {
        Range { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    fn add(self, other: Range) -> Option<Range> {
        Some(Range { lo: self.lo.checked_add(other.lo)?, hi: self.hi.checked_add(other.hi)? })
    }

    fn mul(self, other: Range) -> Option<Range> {
        let mut ends = [self.lo, self.hi].into_iter().flat_map(|end| [(end, other.lo), (end, other.hi)]);
        let first = ends.next().and_then(|(left, right)| left.checked_mul(right))?;
        ends.try_fold(Range { lo: first, hi: first }, |range, (left, right)| {
            let end = left.checked_mul(right)?;
            Some(Range { lo: range.lo.min(end), hi: range.hi.max(end) })
        })
    }
}

#[cfg(test)]
mod tests;
