//! Federations: finite unions of zones, for what is not convex.
//!
//! Operations on many zones may take long: they look at the watch that the work of this thread is under ([`shoal_model::under`]).

use shoal_model::look;

use crate::zone::{Bound, Constraint, Zone};

/// A union of zones over the same clocks. No zone is inside another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Federation {
    zones: Vec<Zone>,
}

impl From<Zone> for Federation {
    fn from(zone: Zone) -> Federation {
        Federation { zones: vec![zone] }
    }
}

impl FromIterator<Zone> for Federation {
    fn from_iter<T: IntoIterator<Item = Zone>>(zones: T) -> Federation {
        let mut all = Federation::empty();
        zones.into_iter().for_each(|zone| all.add(zone));
        all
    }
}

/// Federations of more zones than this are not searched for pairs to join.
const MOST_JOINED: usize = 48;

impl Federation {
    /// Nothing.
    pub fn empty() -> Federation {
        Federation { zones: Vec::new() }
    }

    /// Its zones.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.zones.is_empty()
    }

    /// Adds a zone.
    pub fn add(&mut self, zone: Zone) {
        if self.zones.iter().any(|known| known.includes(&zone)) {
            return;
        }
        self.zones.retain(|known| !zone.includes(known));
        self.zones.push(zone);
    }

    /// Adds what is in another.
    pub fn extend(&mut self, other: &Federation) {
        other.zones.iter().for_each(|zone| self.add(zone.clone()));
    }

    /// What is in both.
    #[must_use]
    pub fn intersection(&self, other: &Federation) -> Federation {
        let pairs = self.zones.iter().flat_map(|a| other.zones.iter().map(move |b| (a, b)));
        pairs.inspect(|_| look()).filter_map(|(a, b)| a.intersection(b)).collect()
    }

    /// What is in it and satisfies a constraint.
    #[must_use]
    pub fn constrained(&self, constraints: &[Constraint]) -> Federation {
        let cut = |zone: &Zone| {
            let mut zone = zone.clone();
            zone.constrain_all(constraints.iter().copied()).then_some(zone)
        };
        self.zones.iter().filter_map(cut).collect()
    }

    /// What is in it and not in another.
    #[must_use]
    pub fn minus(&self, other: &Federation) -> Federation {
        let mut left = self.zones.clone();
        for zone in &other.zones {
            left = left.iter().inspect(|_| look()).flat_map(|part| part.minus(zone)).collect();
            if left.is_empty() {
                break;
            }
        }
        left.into_iter().collect()
    }

    /// Its zones that are not inside of another.
    #[must_use]
    pub fn not_inside(&self, other: &Federation) -> Federation {
        let outside = |zone: &&Zone| !other.has(zone);
        Federation { zones: self.zones.iter().filter(outside).cloned().collect() }
    }

    /// Whether each of some zones is inside of one of its zones. Soon seen; that it is not says nothing.
    pub fn covers(&self, zones: &[Zone]) -> bool {
        zones.iter().all(|zone| self.zones.iter().any(|known| known.includes(zone)))
    }

    /// Whether everything in another is in it.
    pub fn includes(&self, other: &Federation) -> bool {
        other.zones.iter().all(|zone| self.has(zone))
    }

    /// Whether a zone is inside: mostly of one of its zones, which is soon seen.
    fn has(&self, zone: &Zone) -> bool {
        self.zones.iter().any(|known| known.includes(zone))
            || Federation::from(zone.clone()).minus(self).is_empty()
    }

    /// Whether a valuation with numerators over a common denominator is inside. The first is clock 1.
    pub fn contains(&self, point: &[i64], denominator: i64) -> bool {
        self.zones.iter().any(|zone| zone.contains(point, denominator))
    }

    /// What reaches it by waiting without meeting another: not even at the end, nor at the start.
    ///
    /// For one zone `b` and one zone `g` to be avoided, that is what can wait for `b` and not for `g`, and what can wait for
    /// the part of `b` that comes before `g`. What avoids several zones avoids each of them, for the earliest moment in `b`
    /// will do (Cassez and others, 2005).
    #[must_use]
    pub fn before(&self, avoid: &Federation) -> Federation {
        let mut all = Federation::empty();
        for zone in &self.zones {
            let mut part = Federation::from(past(zone));
            for other in &avoid.zones {
                look();
                let (until, early) = (past(other), past(zone));
                if early.intersection(&until).is_none() {
                    continue;
                }
                let mut found: Federation = early.minus(&until).into_iter().collect();
                if let Some(both) = zone.intersection(&until) {
                    both.minus(other).iter().for_each(|zone| found.add(past(zone)));
                }
                part = part.intersection(&found);
                if part.is_empty() {
                    break;
                }
            }
            all.extend(&part);
        }
        all
    }

    /// The same with one more clock, the last, of any value.
    #[must_use]
    pub fn widened(&self) -> Federation {
        Federation { zones: self.zones.iter().map(Zone::widened).collect() }
    }

    /// Where the last clock is 0, without that clock.
    #[must_use]
    pub fn at_zero(&self) -> Federation {
        let cut = |zone: &Zone| {
            let (mut zone, last) = (zone.clone(), zone.dim() - 1);
            let zero = Constraint { left: last, right: 0, bound: Bound::ZERO };
            zone.constrain(zero).then(|| zone.select(&(1..last).collect::<Vec<_>>()))
        };
        self.zones.iter().filter_map(cut).collect()
    }

    /// The same set with fewer zones, where that is easy to see: all of a zone that it is known to be inside of, or two zones
    /// whose union is one.
    pub fn tidy(&mut self, within: &Zone) {
        if self.zones.len() < 2 {
            return;
        }
        if self.includes(&within.clone().into()) {
            self.zones = vec![within.clone()];
            return;
        }
        if self.zones.len() > MOST_JOINED {
            return;
        }
        let mut at = 0;
        while at < self.zones.len() {
            let joined = (at + 1..self.zones.len())
                .inspect(|_| look())
                .find_map(|other| Some((other, union(&self.zones[at], &self.zones[other])?)));
            match joined {
                Some((other, zone)) => {
                    self.zones.remove(other);
                    self.zones.remove(at);
                    self.add(zone);
                    at = 0;
                }
                None => at += 1,
            }
        }
    }
}

fn past(zone: &Zone) -> Zone {
    let mut past = zone.clone();
    past.down();
    past
}

/// The union of two zones, if it is a zone.
fn union(a: &Zone, b: &Zone) -> Option<Zone> {
    let hull = a.hull(b);
    let rest = hull.minus(a);
    rest.iter().all(|part| b.includes(part)).then_some(hull)
}
