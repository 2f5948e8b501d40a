//! Stubborn sets: parts of a model whose steps are enough in a state.
//!
//! A set of parts is stubborn (Valmari) if
//!
//! - for each part in it whose guard holds, all that conflict with it are in it;
//! - for each part in it whose guard does not hold, all are in it that could change that, for one reason why it does not;
//! - either none of its parts that may fire is visible, or all visible parts are in it.
//!
//! Such a set is found by closing a single part under these rules. It is done for each part that may fire, and the set with
//! the fewest of those is taken. What takes in a part whose own set had too many of them is given up: it would grow as large.

use shoal_model::{BitSet, Part, Parts};

/// What is known of the guard of a part in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardKnowledge {
    /// It holds.
    Holds,
    /// These conjuncts are false, as far as each is looked at by itself.
    Fails(u64),
    /// It does not hold, or faults, and no conjunct alone is to blame.
    Unknown,
}

/// Finds stubborn sets.
#[derive(Debug, Default)]
pub(crate) struct Stubborn {
    /// The guards of all parts in the present state.
    pub(crate) guards: Vec<GuardKnowledge>,
    /// Those that hold.
    enabled: BitSet,
    /// The set that is being closed, those in it that are still to be looked at, and how many of it may fire.
    set: BitSet,
    open: Vec<usize>,
    fires: usize,
    /// The best set so far, and the parts whose sets were no better.
    best: BitSet,
    worse: BitSet,
}

impl Stubborn {
    pub(crate) fn new(parts: &Parts) -> Self {
        let none = BitSet::new(parts.all.len());
        Stubborn {
            guards: Vec::with_capacity(parts.all.len()),
            enabled: none.clone(),
            set: none.clone(),
            open: Vec::new(),
            fires: 0,
            best: none.clone(),
            worse: none,
        }
    }

    /// Finds a stubborn set for the guards as they are; false if only sets with everything that may fire are found.
    pub(crate) fn find(&mut self, parts: &Parts) -> bool {
        self.enabled.clear();
        let holding = (0..).zip(&self.guards).filter(|(_, guard)| **guard == GuardKnowledge::Holds);
        self.enabled.extend(holding.map(|(part, _)| part));
        self.worse.clear();
        let all = self.enabled.count();
        let mut least = all;
        for part in 0..self.guards.len() {
            if least <= 1 {
                break;
            }
            if !self.enabled.contains(part) {
                continue;
            }
            if self.close(parts, part, least) {
                least = self.fires;
                std::mem::swap(&mut self.best, &mut self.set);
            } else {
                self.worse.insert(part);
            }
        }
        least < all
    }

    /// Whether a part is in the set that was found.
    pub(crate) fn has(&self, part: usize) -> bool {
        self.best.contains(part)
    }

    /// The least set around a part; false if not fewer than `most` of it may fire.
    fn close(&mut self, parts: &Parts, part: usize, most: usize) -> bool {
        self.set.clear();
        self.open.clear();
        self.fires = 0;
        let mut seen = false;
        self.add(part);
        while let Some(part) = self.open.pop() {
            let of = &parts.all[part];
            match self.guards[part] {
                GuardKnowledge::Holds => {
                    self.unite(&of.conflicts);
                    if parts.visible.contains(part) && !std::mem::replace(&mut seen, true) {
                        self.unite(&parts.visible);
                    }
                }
                guard => {
                    if let Some(enablers) = self.cheapest(of, guard) {
                        self.unite(enablers);
                    }
                }
            }
            if self.fires >= most || self.set.meets(&self.worse) {
                return false;
            }
        }
        true
    }

    /// Of the sets of which one must be in the set for a part whose guard does not hold, the one that adds least.
    fn cheapest<'p>(&self, part: &'p Part, guard: GuardKnowledge) -> Option<&'p BitSet> {
        let GuardKnowledge::Fails(conjuncts) = guard else { return part.enablers.last() };
        if conjuncts.is_power_of_two() {
            return part.enablers.get(conjuncts.trailing_zeros() as usize);
        }
        let failing = part.enablers.iter().enumerate().filter(|(at, _)| *at < 64 && conjuncts >> at & 1 != 0);
        failing.map(|(_, enablers)| enablers).min_by_key(|enablers| {
            let more = enablers.beyond(&self.set).filter(|part| self.enabled.contains(*part)).count();
            (more, enablers.count_beyond(&self.set))
        })
    }

    fn unite(&mut self, others: &BitSet) {
        let Stubborn { set, open, enabled, fires, .. } = self;
        let before = open.len();
        open.extend(others.beyond(set));
        for part in &open[before..] {
            set.insert(*part);
            *fires += usize::from(enabled.contains(*part));
        }
    }

    fn add(&mut self, part: usize) {
        self.set.insert(part);
        self.open.push(part);
        self.fires += usize::from(self.enabled.contains(part));
    }
}

#[cfg(test)]
mod tests {
    use shoal_model::{RuleId, TypedId};

    use super::*;

    fn set(numbers: &[usize]) -> BitSet {
        let mut set = BitSet::new(4);
        set.extend(numbers.iter().copied());
        set
    }

    /// Two parts that fire, each with one behind it that its step makes able to fire.
    fn parts(visible: &[usize]) -> Parts {
        let part = |conflicts: &[usize], enablers: &[&[usize]]| Part {
            rule: RuleId::from_index(0),
            args: Vec::new(),
            conflicts: set(conflicts),
            enablers: enablers.iter().map(|enablers| set(enablers)).collect(),
        };
        let all = vec![
            part(&[2], &[&[], &[]]),
            part(&[3], &[&[], &[]]),
            part(&[0], &[&[0], &[0, 1]]),
            part(&[1], &[&[1], &[0, 1]]),
        ];
        Parts { given: vec![0], all, visible: set(visible) }
    }

    fn found(visible: &[usize], guards: [GuardKnowledge; 4]) -> Option<Vec<usize>> {
        let parts = parts(visible);
        let mut stubborn = Stubborn::new(&parts);
        stubborn.guards.extend(guards);
        stubborn.find(&parts).then(|| stubborn.best.iter().collect())
    }

    #[test]
    fn one_of_two_independent_parts_suffices() {
        use GuardKnowledge::{Fails, Holds, Unknown};
        assert_eq!(found(&[], [Holds, Holds, Fails(1), Fails(1)]), Some(vec![0, 2]));
        // If it is not known why the third may not fire, the fourth comes in as well.
        assert_eq!(found(&[], [Holds, Holds, Unknown, Fails(1)]), Some(vec![1, 3]));
        assert_eq!(found(&[], [Holds, Holds, Unknown, Unknown]), None);
    }

    #[test]
    fn visible_parts_stay_together() {
        use GuardKnowledge::{Fails, Holds};
        assert_eq!(found(&[0, 1], [Holds, Holds, Fails(1), Fails(1)]), None);
        assert_eq!(found(&[0, 3], [Holds, Holds, Fails(1), Fails(1)]), Some(vec![1, 3]));
        assert_eq!(found(&[1], [Holds, Holds, Fails(1), Fails(1)]), Some(vec![0, 2]));
    }
}
