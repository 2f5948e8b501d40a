//! Zones: convex sets of clock valuations, kept as difference bound matrices.
//!
//! Entry (i, j) bounds `x_i - x_j` from above; clock 0 is the constant 0. A [`Bound`] is one integer: `2c + 1` for
//! `<= c`, `2c` for `< c`, so that a smaller integer is a tighter bound. A [`Zone`] is always closed (every entry is
//! the tightest that follows from the others) and never empty: what can become empty gives an `Option` or a `bool`.

use std::fmt;

/// An upper bound on a difference of two clocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bound(i32);

/// Constants beyond this are refused, so that sums of bounds never overflow.
pub const LARGEST_CONSTANT: i64 = 1 << 24;

impl Bound {
    /// No bound.
    pub const NONE: Bound = Bound(i32::MAX);
    /// At most 0.
    pub const ZERO: Bound = Bound(1);
    /// Less than 0: what no difference with itself can be.
    pub const BELOW_ZERO: Bound = Bound(0);

    /// At most `c`.
    pub fn at_most(c: i32) -> Bound {
        Bound(2 * c + 1)
    }

    /// Less than `c`.
    pub fn less(c: i32) -> Bound {
        Bound(2 * c)
    }

    /// The number, if there is a bound.
    pub fn constant(self) -> Option<i32> {
        (self != Bound::NONE).then_some(self.0 >> 1)
    }

    /// A number that is greater for a weaker bound; the greatest if there is no bound.
    pub fn weakness(self) -> i64 {
        if self == Bound::NONE { i64::MAX } else { self.0.into() }
    }

    /// Whether the number itself is excluded.
    pub fn is_strict(self) -> bool {
        self.0 & 1 == 0
    }

    /// What is left out by this bound, as a bound on the opposite difference.
    pub fn opposite(self) -> Bound {
        Bound(1 - self.0)
    }
}

/// A bound on the sum of two differences.
impl std::ops::Add for Bound {
    type Output = Bound;
    fn add(self, other: Bound) -> Bound {
        if self == Bound::NONE || other == Bound::NONE {
            Bound::NONE
        } else {
            Bound(self.0 + other.0 - ((self.0 | other.0) & 1))
        }
    }
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.constant() {
            None => f.write_str("inf"),
            Some(c) => write!(f, "{}{c}", if self.is_strict() { "<" } else { "<=" }),
        }
    }
}

/// A constraint `x_left - x_right` within a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Constraint {
    /// The clock that is bounded from above.
    pub left: usize,
    /// The clock that is taken off.
    pub right: usize,
    /// The bound.
    pub bound: Bound,
}

impl Constraint {
    /// What it leaves out.
    pub fn negated(self) -> Constraint {
        Constraint { left: self.right, right: self.left, bound: self.bound.opposite() }
    }
}

/// The constraints that a clock has a value.
pub fn exactly(clock: usize, value: i32) -> [Constraint; 2] {
    [
        Constraint { left: clock, right: 0, bound: Bound::at_most(value) },
        Constraint { left: 0, right: clock, bound: Bound::at_most(-value) },
    ]
}

/// The greatest constants a clock is compared with from below and from above from now on; nothing if it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClockBounds {
    /// In `x > c` and `x >= c`.
    pub lower: Option<i32>,
    /// In `x < c` and `x <= c`.
    pub upper: Option<i32>,
}

impl ClockBounds {
    /// Both at least as great as in either.
    #[must_use]
    pub fn join(self, other: ClockBounds) -> ClockBounds {
        ClockBounds { lower: self.lower.max(other.lower), upper: self.upper.max(other.upper) }
    }

    /// Whether the clock is never compared again.
    pub fn is_dead(self) -> bool {
        self.lower.is_none() && self.upper.is_none()
    }
}

/// A closed, non-empty difference bound matrix.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Zone {
    dim: usize,
    bounds: Vec<Bound>,
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.bounds.chunks(self.dim)).finish()
    }
}

impl Zone {
    /// All clocks are 0.
    pub fn zero(clocks: usize) -> Zone {
        Zone { dim: clocks + 1, bounds: vec![Bound::ZERO; (clocks + 1) * (clocks + 1)] }
    }

    /// Every valuation.
    pub fn universe(clocks: usize) -> Zone {
        let dim = clocks + 1;
        let mut bounds = vec![Bound::NONE; dim * dim];
        for i in 0..dim {
            bounds[i * dim + i] = Bound::ZERO;
            bounds[i] = Bound::ZERO;
        }
        Zone { dim, bounds }
    }

    /// The number of clocks and one.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Whether some clock has a greatest value, so that time cannot pass in it for ever.
    pub fn is_bounded(&self) -> bool {
        (1..self.dim()).any(|clock| self.get(clock, 0).constant().is_some())
    }

    /// The bound on `x_i - x_j`.
    pub fn get(&self, i: usize, j: usize) -> Bound {
        self.bounds[i * self.dim + j]
    }

    fn set(&mut self, i: usize, j: usize, bound: Bound) {
        self.bounds[i * self.dim + j] = bound;
    }

    /// All later valuations too.
    pub fn up(&mut self) {
        for i in 1..self.dim {
            self.set(i, 0, Bound::NONE);
        }
    }

    /// All earlier valuations too.
    pub fn down(&mut self) {
        for j in 1..self.dim {
            let least = (1..self.dim).map(|i| self.get(i, j)).min().unwrap_or(Bound::ZERO);
            self.set(0, j, least.min(Bound::ZERO));
        }
    }

    /// The clock gets a value.
    pub fn reset(&mut self, clock: usize, value: i32) {
        let (above, below) = (Bound::at_most(value), Bound::at_most(-value));
        for j in 0..self.dim {
            if j != clock {
                self.set(clock, j, above + self.get(0, j));
                self.set(j, clock, self.get(j, 0) + below);
            }
        }
    }

    /// The clock may have any value.
    pub fn free(&mut self, clock: usize) {
        for j in 0..self.dim {
            if j != clock {
                self.set(clock, j, Bound::NONE);
                self.set(j, clock, self.get(j, 0));
            }
        }
    }

    /// Only the valuations that satisfy a constraint; false if there are none, and then the zone is of no use.
    #[must_use]
    pub fn constrain(&mut self, constraint: Constraint) -> bool {
        let Constraint { left, right, bound } = constraint;
        if bound >= self.get(left, right) {
            return true;
        }
        if bound + self.get(right, left) < Bound::ZERO {
            return false;
        }
        self.set(left, right, bound);
        for i in 0..self.dim {
            let through = self.get(i, left) + bound;
            if through == Bound::NONE {
                continue;
            }
            for j in 0..self.dim {
                let sum = through + self.get(right, j);
                if sum < self.get(i, j) {
                    self.set(i, j, sum);
                }
            }
        }
        true
    }

    /// The same with all of them.
    #[must_use]
    pub fn constrain_all(&mut self, constraints: impl IntoIterator<Item = Constraint>) -> bool {
        constraints.into_iter().all(|constraint| self.constrain(constraint))
    }

    /// What is in both.
    pub fn intersection(&self, other: &Zone) -> Option<Zone> {
        let mut both = self.clone();
        both.constrain_all(other.constraints()).then_some(both)
    }

    /// All its bounds that are not trivial.
    pub fn constraints(&self) -> impl Iterator<Item = Constraint> + '_ {
        let trivial =
            |i: usize, j: usize, bound| bound == Bound::NONE || i == j || (i == 0 && bound == Bound::ZERO);
        (0..self.dim).flat_map(move |left| {
            (0..self.dim)
                .map(move |right| Constraint { left, right, bound: self.get(left, right) })
                .filter(move |c| !trivial(c.left, c.right, c.bound))
        })
    }

    /// What is left of it without another zone, as zones that have nothing in common.
    pub fn minus(&self, other: &Zone) -> Vec<Zone> {
        if self.intersection(other).is_none() {
            return vec![self.clone()];
        }
        let mut left = Vec::new();
        let mut rest = self.clone();
        for constraint in other.constraints() {
            // What the bounds so far imply cuts nothing off.
            if rest.get(constraint.left, constraint.right) <= constraint.bound {
                continue;
            }
            let mut outside = rest.clone();
            if outside.constrain(constraint.negated()) {
                left.push(outside);
            }
            if !rest.constrain(constraint) {
                return left;
            }
        }
        left
    }

    /// The smallest zone that includes both.
    #[must_use]
    pub fn hull(&self, other: &Zone) -> Zone {
        let bounds = self.bounds.iter().zip(&other.bounds).map(|(a, b)| *a.max(b)).collect();
        Zone { dim: self.dim, bounds }
    }

    /// The same with one more clock, the last, of any value.
    #[must_use]
    pub fn widened(&self) -> Zone {
        let mut order: Vec<usize> = (1..self.dim).collect();
        order.push(0);
        let mut zone = self.select(&order);
        zone.free(self.dim);
        zone
    }

    /// Whether every valuation of the other is in this one.
    pub fn includes(&self, other: &Zone) -> bool {
        self.dim == other.dim && self.bounds.iter().zip(&other.bounds).all(|(a, b)| a >= b)
    }

    /// Whether a valuation with numerators over a common denominator is inside. The first is clock 1.
    pub fn contains(&self, point: &[i64], denominator: i64) -> bool {
        let value = |i: usize| if i == 0 { 0 } else { point[i - 1] };
        (0..self.dim).all(|i| {
            (0..self.dim).all(|j| match self.get(i, j).constant() {
                None => true,
                Some(c) => {
                    let (difference, c) = (value(i) - value(j), i64::from(c) * denominator);
                    if self.get(i, j).is_strict() { difference < c } else { difference <= c }
                }
            })
        })
    }

    /// The zone with its clocks renumbered: clock `i` of the new one is clock `order[i]` of this one (0 stays).
    /// Clocks that are left out are forgotten; a clock that is named twice becomes two that are equal.
    #[must_use]
    pub fn select(&self, order: &[usize]) -> Zone {
        let dim = order.len() + 1;
        let old = |i: usize| if i == 0 { 0 } else { order[i - 1] };
        let mut bounds = Vec::with_capacity(dim * dim);
        for i in 0..dim {
            bounds.extend((0..dim).map(|j| self.get(old(i), old(j))));
        }
        Zone { dim, bounds }
    }

    /// After `select` has copied a block of clocks at `first` to `second`, and moved what was at `second` to the end: the
    /// copies are related to the originals, and to what was moved, as the two blocks were to each other.
    pub fn relate_twins(&mut self, before: &Zone, first: usize, second: usize, width: usize) {
        let last = self.dim - width;
        for i in 0..width {
            for j in 0..width {
                let (there, back) = (before.get(first + i, second + j), before.get(second + i, first + j));
                self.set(first + i, second + j, there);
                self.set(second + i, first + j, back);
                self.set(second + i, last + j, there);
                self.set(last + i, second + j, back);
            }
        }
    }

    /// Makes the matrix closed again; false if it is empty.
    fn close(&mut self) -> bool {
        for k in 0..self.dim {
            for i in 0..self.dim {
                let through = self.get(i, k);
                if through == Bound::NONE || i == k {
                    continue;
                }
                for j in 0..self.dim {
                    let sum = through + self.get(k, j);
                    if sum < self.get(i, j) {
                        self.set(i, j, sum);
                    }
                }
            }
        }
        (0..self.dim).all(|i| self.get(i, i) >= Bound::ZERO)
    }

    /// The abstraction Extra+LU: what cannot be told apart by the comparisons that are still to come is added. Keeps
    /// reachability, in automata that do not compare two clocks. `limits[0]` is clock 1's.
    pub fn extrapolate_lu(&mut self, limits: &[ClockBounds]) {
        self.extrapolate(limits, true);
    }

    /// The abstraction Extra+M: with one limit for both kinds of comparison, the greater. Keeps what branching time
    /// can tell too.
    pub fn extrapolate_m(&mut self, limits: &[ClockBounds]) {
        self.extrapolate(&greatest(limits), true);
    }

    fn extrapolate(&mut self, limits: &[ClockBounds], plus: bool) {
        let over = |bound: Bound, limit: Option<i32>| match (bound.constant(), limit) {
            (None, _) => true,
            (Some(_), None) => true,
            (Some(c), Some(limit)) => c > limit,
        };
        // Whether the clock is surely beyond a limit: its lower bound is.
        let beyond =
            |zone: &Zone, clock: usize, limit: Option<i32>| match (zone.get(0, clock).constant(), limit) {
                (_, None) => true,
                (Some(c), Some(limit)) => -c > limit,
                (None, Some(_)) => false,
            };
        let limit = |clock: usize| {
            if clock == 0 { ClockBounds { lower: Some(0), upper: Some(0) } } else { limits[clock - 1] }
        };
        let before = self.clone();
        let mut changed = false;
        for i in 0..self.dim {
            for j in 0..self.dim {
                if i == j || before.get(i, j) == Bound::NONE {
                    continue;
                }
                let new = if i == 0 {
                    match limit(j).upper {
                        None => Bound::ZERO,
                        Some(upper) if beyond(&before, j, Some(upper)) => Bound::less(-upper),
                        Some(_) => before.get(i, j),
                    }
                } else if over(before.get(i, j), limit(i).lower)
                    || (plus && beyond(&before, i, limit(i).lower))
                    || (plus && j != 0 && beyond(&before, j, limit(j).upper))
                {
                    Bound::NONE
                } else {
                    match (before.get(i, j).constant(), limit(j).upper) {
                        (Some(c), Some(upper)) if !plus && -c > upper => Bound::less(-upper),
                        // A clock that nothing is compared with may be anything.
                        (Some(_), None) if !plus => Bound::NONE,
                        _ => before.get(i, j),
                    }
                };
                if new != before.get(i, j) {
                    self.set(i, j, new);
                    changed = true;
                }
            }
        }
        if changed {
            // An abstraction only adds, so it stays non-empty.
            self.close();
        }
    }

    /// The classic abstraction by greatest constants: bounds beyond the constant of the clock they bound are dropped.
    pub fn extrapolate_max(&mut self, limits: &[ClockBounds]) {
        self.extrapolate(&greatest(limits), false);
    }
}

/// The greater of each clock's limits for both kinds of comparison.
fn greatest(limits: &[ClockBounds]) -> Vec<ClockBounds> {
    let both = |limit: &ClockBounds| {
        let most = limit.lower.max(limit.upper);
        ClockBounds { lower: most, upper: most }
    };
    limits.iter().map(both).collect()
}
