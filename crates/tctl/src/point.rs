//! Single states with rational clocks, and how long they have to wait.

use shoal_dbm::{Constraint, Zone};
use shoal_model::OrInternal;

/// Values of clocks: numerators over a common denominator. The first is clock 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClockPoint {
    pub(super) clocks: Vec<i64>,
    pub(super) parts: i64,
}

/// A rational number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rational(pub(super) i64, pub(super) i64);

/// Denominators beyond this are given up.
const MOST_PARTS: i64 = 1 << 20;

impl Rational {
    pub(super) const ZERO: Rational = Rational(0, 1);

    fn less(self, other: Rational) -> bool {
        i128::from(self.0) * i128::from(other.1) < i128::from(other.0) * i128::from(self.1)
    }

    pub(super) fn plus(self, other: Rational) -> Option<Rational> {
        let top = self.0.checked_mul(other.1)?.checked_add(other.0.checked_mul(self.1)?)?;
        Some(lowest(top, self.1.checked_mul(other.1)?))
    }
}

fn lowest(top: i64, bottom: i64) -> Rational {
    let divisor = gcd(top.abs(), bottom).max(1);
    Rational(top / divisor, bottom / divisor)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The end of an interval of delays, and whether it is left out itself.
#[derive(Clone, Copy, Debug)]
struct DelayEnd {
    at: Rational,
    open: bool,
}

/// An interval of delays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    from: DelayEnd,
    to: Option<DelayEnd>,
}

impl Delays {
    /// No delay at all.
    pub(super) const NONE: Delays = Delays {
        from: DelayEnd { at: Rational::ZERO, open: false },
        to: Some(DelayEnd { at: Rational::ZERO, open: false }),
    };

    fn is_empty(&self) -> bool {
        match self.to {
            None => false,
            Some(to) => {
                to.at.less(self.from.at) || (!self.from.at.less(to.at) && (to.open || self.from.open))
            }
        }
    }

    fn not_before(&mut self, end: DelayEnd) {
        if self.from.at.less(end.at) || (self.from.at == end.at && end.open) {
            self.from = end;
        }
    }

    fn not_after(&mut self, end: DelayEnd) {
        match self.to {
            Some(to) if to.at.less(end.at) || (to.at == end.at && !end.open) => {}
            _ => self.to = Some(end),
        }
    }

    /// What is in both.
    pub(super) fn and(mut self, other: Delays) -> Option<Delays> {
        self.not_before(other.from);
        other.to.into_iter().for_each(|to| self.not_after(to));
        (!self.is_empty()).then_some(self)
    }

    /// Only those that end before others begin.
    pub(super) fn ahead_of(mut self, other: Delays) -> Option<Delays> {
        self.not_after(DelayEnd { at: other.from.at, open: !other.from.open });
        (!self.is_empty()).then_some(self)
    }

    /// Whether its delays begin earlier.
    pub(super) fn begins_before(&self, other: &Delays) -> bool {
        self.from.at.less(other.from.at)
    }

    /// A delay with a small denominator, an early one: the first, if there is one.
    pub(super) fn pick(&self) -> Option<Rational> {
        if !self.from.open {
            return Some(self.from.at);
        }
        let mut parts = 1;
        while parts <= MOST_PARTS {
            let Rational(top, bottom) = self.from.at;
            let next = top.checked_mul(parts)?.div_euclid(bottom) + 1;
            let candidate = lowest(next, parts);
            let fits = self.to.is_none_or(|to| {
                candidate.less(to.at) || (candidate == lowest(to.at.0, to.at.1) && !to.open)
            });
            if fits {
                return Some(candidate);
            }
            parts += 1;
        }
        None
    }
}

impl ClockPoint {
    /// The point of integers.
    pub(super) fn whole(clocks: &[i32]) -> ClockPoint {
        ClockPoint { clocks: clocks.iter().map(|clock| i64::from(*clock)).collect(), parts: 1 }
    }

    pub(super) fn is_in(&self, zone: &Zone) -> bool {
        zone.contains(&self.clocks, self.parts)
    }

    pub(super) fn clock(&self, clock: usize) -> Rational {
        lowest(self.clocks[clock - 1], self.parts)
    }

    /// With one more clock, the last, which is 0.
    pub(super) fn widened(&self) -> ClockPoint {
        let mut clocks = self.clocks.clone();
        clocks.push(0);
        ClockPoint { clocks, parts: self.parts }
    }

    /// Without its last clocks.
    pub(super) fn narrowed(&self, clocks: usize) -> ClockPoint {
        ClockPoint { clocks: self.clocks[..clocks].to_vec(), parts: self.parts }
    }

    /// Some time later.
    pub(super) fn later(&self, delay: Rational) -> Option<ClockPoint> {
        let parts = self.parts.checked_mul(delay.1 / gcd(self.parts, delay.1))?;
        if parts > MOST_PARTS {
            return None;
        }
        let wait = delay.0.checked_mul(parts / delay.1)?;
        let clocks = self.clocks.iter().map(|clock| clock.checked_mul(parts / self.parts)?.checked_add(wait));
        Some(ClockPoint { clocks: clocks.collect::<Option<_>>()?, parts }.reduced())
    }

    pub(super) fn set(&mut self, clock: usize, value: i32) {
        self.clocks[clock - 1] = i64::from(value) * self.parts;
    }

    /// Clock `i + 1` becomes `places[i]`; those behind stay.
    pub(super) fn move_clocks(&mut self, places: &[usize]) {
        let before = self.clocks.clone();
        places.iter().zip(before).for_each(|(place, clock)| self.clocks[place - 1] = clock);
    }

    fn reduced(mut self) -> ClockPoint {
        let divisor = self.clocks.iter().fold(self.parts, |divisor, clock| gcd(clock.abs(), divisor)).max(1);
        self.clocks.iter_mut().for_each(|clock| *clock /= divisor);
        self.parts /= divisor;
        self
    }

    /// The delays after which it is in a zone.
    pub(super) fn delays(&self, zone: &Zone) -> Option<Delays> {
        let mut delays = Delays { from: DelayEnd { at: Rational::ZERO, open: false }, to: None };
        let value = |clock: usize| if clock == 0 { 0 } else { self.clocks[clock - 1] };
        for Constraint { left, right, bound } in zone.constraints() {
            let c = i64::from(bound.constant()?) * self.parts;
            let (rest, open) = (c - (value(left) - value(right)), bound.is_strict());
            if right == 0 {
                delays.not_after(DelayEnd { at: lowest(rest, self.parts), open });
            } else if left == 0 {
                delays.not_before(DelayEnd { at: lowest(-rest, self.parts), open });
            } else if rest < 0 || (rest == 0 && open) {
                return None;
            }
        }
        (!delays.is_empty()).then_some(delays)
    }

    /// Its region: integral parts up to a constant for each clock, and the order of fractional parts. Where clocks are compared
    /// with each other (`apart`), how far they are apart stays, up to the constant, however great they are.
    pub(super) fn region(&self, greatest: i64, apart: bool) -> Vec<i64> {
        if apart {
            return self.drawn_together(greatest).region(i64::MAX / self.parts, false);
        }
        let inside = |clock: &&i64| **clock <= greatest * self.parts;
        let mut fractions: Vec<i64> = self.clocks.iter().filter(inside).map(|it| it % self.parts).collect();
        fractions.push(0);
        fractions.sort_unstable();
        fractions.dedup();
        let place = |clock: &i64| match *clock <= greatest * self.parts {
            true => {
                let rank = fractions.binary_search(&(clock % self.parts));
                let rank = rank.ok().or_internal("the part of a clock is among the parts");
                [clock / self.parts, rank as i64]
            }
            false => [-1, -1],
        };
        self.clocks.iter().flat_map(place).collect()
    }

    /// The same clocks, nearer to each other and to 0 where they are farther apart than a number: by whole numbers, so that all
    /// that is within it stays as it is.
    fn drawn_together(&self, most: i64) -> ClockPoint {
        let mut order: Vec<usize> = (0..self.clocks.len()).collect();
        order.sort_by_key(|clock| self.clocks[*clock]);
        let (mut last, mut drawn) = (0, 0);
        let mut clocks = self.clocks.clone();
        for clock in order {
            let gap = (self.clocks[clock] - last) / self.parts;
            drawn += (gap - most - 1).max(0) * self.parts;
            last = self.clocks[clock];
            clocks[clock] = last - drawn;
        }
        ClockPoint { clocks, parts: self.parts }
    }
}
