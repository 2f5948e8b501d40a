//! States of lumped zones.
//!
//! Elements of a lumped sort that are alike (same cells, named by no reference, and exchangeable in the zone) are a
//! *class* with a count. The zone has the clocks of one member of a class, or of two where there are two or more: the
//! second only carries the bound between two different members. More are never needed: a shortest path through a third
//! member costs at least as much, or the zone would be empty. Nothing is approximated; classes that cannot be exchanged
//! simply stay apart.

use std::ops::Range;

use shoal_dbm::{Zone, ranks};
use shoal_model::{SortId, TypedId};

use super::layout::ZoneLayout;

/// Members of a sort that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MemberClass {
    pub(crate) sort: usize,
    /// How many. With a [`ZoneState::cut`], that number means so many or more.
    pub(crate) count: u32,
    /// Their cells. A reference to a lumped sort is the number of its class, which has one member; -1 is nobody.
    pub(crate) cells: Vec<i64>,
    /// Who they are, where somebody wants to know.
    pub(crate) members: Vec<u32>,
}

/// A state, or the whole zone of states with the same cells.
#[derive(Clone, Debug)]
pub(crate) struct ZoneState {
    pub(crate) globals: Vec<i64>,
    pub(crate) classes: Vec<MemberClass>,
    pub(crate) zone: Zone,
}

/// The value of a reference to nobody.
pub(crate) const NOBODY: i64 = -1;
/// A cell without a value.
pub(crate) const UNDEFINED: i64 = i64::MIN;

/// How counts add up: exactly, or up to a cut from which on they are not told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counting {
    /// So many or more; none if counts are exact.
    pub(crate) cut: Option<u32>,
}

impl Counting {
    pub(crate) fn sum(self, a: u32, b: u32) -> u32 {
        let sum = a.saturating_add(b);
        self.cut.map_or(sum, |cut| sum.min(cut))
    }

    /// What is left when one is taken away: with a cut there may be two answers.
    pub(crate) fn less_one(self, count: u32) -> Vec<u32> {
        match self.cut {
            Some(cut) if count >= cut => vec![cut - 1, cut],
            _ => vec![count - 1],
        }
    }
}

impl MemberClass {
    /// How many of its members have clocks in the zone.
    pub(crate) fn shown(&self) -> usize {
        self.count.min(2) as usize
    }

    /// The part that a person could tell it by without looking at others.
    pub(crate) fn is_like(&self, other: &MemberClass) -> bool {
        self.sort == other.sort && self.cells == other.cells
    }
}

impl ZoneState {
    /// Takes the state out of where it stands, and leaves one of nothing.
    pub(crate) fn take(&mut self) -> ZoneState {
        let nothing = ZoneState { globals: Vec::new(), classes: Vec::new(), zone: Zone::zero(0) };
        std::mem::replace(self, nothing)
    }

    /// The cells alone.
    pub(crate) fn without_zone(&self) -> ZoneState {
        ZoneState { globals: self.globals.clone(), classes: self.classes.clone(), zone: Zone::zero(0) }
    }

    /// The first clock of a class's first or second member.
    pub(crate) fn clock_of(&self, layout: &ZoneLayout, class: usize, member: usize) -> usize {
        let before: usize =
            self.classes[..class].iter().map(|class| clocks(layout, class.sort) * class.shown()).sum();
        1 + layout.global.clocks + before + member * clocks(layout, self.classes[class].sort)
    }

    /// Takes one member out of a class of several: it becomes the last class. What is left has so many members. Gives the
    /// clock that each clock was before; where two are left, both were the first.
    pub(crate) fn split(&mut self, layout: &ZoneLayout, class: usize, left: u32) -> Vec<usize> {
        let width = clocks(layout, self.classes[class].sort);
        let (first, second) = (self.clock_of(layout, class, 0), self.clock_of(layout, class, 1));
        let mut order: Vec<usize> = (1..self.zone.dim()).collect();
        // The second member goes; where two or more are left, the first stands for two.
        if left >= 2 {
            for at in 0..width {
                order[second - 1 + at] = first + at;
            }
        } else {
            order.drain(second - 1..second - 1 + width);
        }
        let moved: Vec<usize> = (second..second + width).collect();
        order.extend(&moved);
        let before = self.zone.clone();
        self.zone = self.zone.select(&order);
        if left >= 2 {
            // Two different members are related as two different members were: not as one is to itself.
            self.zone.relate_twins(&before, first, second, width);
        }
        let taken = self.classes[class].members.pop();
        self.classes[class].count = left;
        let (sort, cells) = (self.classes[class].sort, self.classes[class].cells.clone());
        self.classes.push(MemberClass { sort, count: 1, cells, members: taken.into_iter().collect() });
        order
    }

    /// Joins two classes that are alike and exchangeable: the second goes.
    fn join(&mut self, layout: &ZoneLayout, counting: Counting, into: usize, from: usize) {
        let width = clocks(layout, self.classes[into].sort);
        let (a, b) = (self.clock_of(layout, into, 0), self.clock_of(layout, from, 0));
        let mut order: Vec<usize> = Vec::new();
        for class in 0..self.classes.len() {
            let start = self.clock_of(layout, class, 0);
            if class == into {
                order.extend(a..a + width);
                order.extend(b..b + width);
            } else if class != from {
                order.extend(
                    start..start + clocks(layout, self.classes[class].sort) * self.classes[class].shown(),
                );
            }
        }
        let globals: Vec<usize> = (1..=layout.global.clocks).collect();
        self.zone = self.zone.select(&[globals, order].concat());
        let gone = self.classes.remove(from);
        let class = &mut self.classes[into];
        class.count = counting.sum(class.count, gone.count);
        class.members.extend(gone.members);
        let renumber = |cell: &mut i64, holds: bool| {
            if holds && *cell > from as i64 {
                *cell -= 1;
            }
        };
        self.each_reference(layout, renumber);
    }

    /// Applies a change to every cell that may be a reference to a lumped sort.
    fn each_reference(&mut self, layout: &ZoneLayout, change: impl Fn(&mut i64, bool)) {
        for (cell, sort) in self.globals.iter_mut().zip(&layout.global_refs) {
            change(cell, sort.is_some());
        }
        for class in &mut self.classes {
            for (cell, sort) in class.cells.iter_mut().zip(&layout.local_refs[class.sort]) {
                change(cell, sort.is_some());
            }
        }
    }

    /// The classes that references name.
    fn named(&self, layout: &ZoneLayout) -> Vec<bool> {
        let mut named = vec![false; self.classes.len()];
        let mut note = |cell: i64, sort: &Option<SortId>| {
            if sort.is_some() && cell >= 0 {
                named[cell as usize] = true;
            }
        };
        self.globals.iter().zip(&layout.global_refs).for_each(|(cell, sort)| note(*cell, sort));
        for class in &self.classes {
            class.cells.iter().zip(&layout.local_refs[class.sort]).for_each(|(cell, sort)| note(*cell, sort));
        }
        named
    }

    /// Whether exchanging a member of one class with one of another leaves the zone as it is.
    fn exchangeable(&self, layout: &ZoneLayout, left: usize, right: usize) -> bool {
        let width = clocks(layout, self.classes[left].sort);
        let (a, b) = (self.clock_of(layout, left, 0), self.clock_of(layout, right, 0));
        let swap = |clock: usize| match clock {
            clock if (a..a + width).contains(&clock) => clock - a + b,
            clock if (b..b + width).contains(&clock) => clock - b + a,
            clock => clock,
        };
        (a..a + width).all(|i| {
            (0..self.zone.dim()).all(|j| {
                self.zone.get(i, j) == self.zone.get(swap(i), swap(j))
                    && self.zone.get(j, i) == self.zone.get(swap(j), swap(i))
            })
        })
    }

    /// Joins what can be joined and puts the classes in order: states that differ only in the names of elements become
    /// equal (but for classes that are alike and that only their relations to others like them tell apart).
    pub(crate) fn normalise(&mut self, layout: &ZoneLayout, counting: Counting) {
        let mut left = 0;
        while left < self.classes.len() {
            let mut right = left + 1;
            while right < self.classes.len() {
                let named = self.named(layout);
                if !named[left]
                    && !named[right]
                    && self.classes[left].is_like(&self.classes[right])
                    && self.exchangeable(layout, left, right)
                {
                    self.join(layout, counting, left, right);
                } else {
                    right += 1;
                }
            }
            left += 1;
        }
        self.sort(layout);
    }

    /// Where every element is a class: elements that may be exchanged change places, so that states which differ only in
    /// their names become equal, mostly. Gives for each class which it was.
    pub(crate) fn fold(&mut self, layout: &ZoneLayout, free: &[Vec<u32>]) -> Vec<usize> {
        for (at, class) in self.classes.iter_mut().enumerate() {
            class.members = vec![at as u32];
            let is_free = |name: u32| free[class.sort].contains(&name);
            if u32::try_from(class.cells[0]).is_ok_and(is_free) {
                class.cells[0] = -1;
            }
        }
        self.sort(layout);
        let was = self.classes.iter().map(|class| class.members[0] as usize).collect();
        let mut names: Vec<_> = free.iter().map(|names| names.iter().copied()).collect();
        for class in &mut self.classes {
            if class.cells[0] < 0 {
                class.cells[0] = names[class.sort].next().map_or(-1, i64::from);
            }
            class.members = u32::try_from(class.cells[0]).into_iter().collect();
        }
        was
    }

    /// Puts the classes in an order that does not depend on the names of elements: by what can be said of each alone and, where that
    /// does not tell all apart, by how each stands to all others.
    ///
    /// That is one round of colour refinement and no search, so it is not canonical: classes that are still equal stay in the order they are
    /// in, and two states that differ only in names may stay two. It costs states, never a verdict. More rounds would be paid for in every
    /// step, and what is exchangeable has been joined to one class before.
    fn sort(&mut self, layout: &ZoneLayout) {
        let count = self.classes.len();
        let own: Vec<Vec<i64>> = (0..count).map(|class| self.own_key(layout, class)).collect();
        let ranks = ranks::ranks(&own);
        let mut order: Vec<usize> = (0..count).collect();
        if ranks::count(&ranks) == count {
            order.sort_by_key(|class| ranks[*class]);
        } else {
            let around = ranks::around(&ranks, |class, other| self.relation(layout, class, other));
            let key = |class: usize| (ranks[class], &around[class], self.named_ranks(layout, class, &ranks));
            order.sort_by_cached_key(|class| key(*class));
        }
        if !order.is_sorted() {
            self.reorder(layout, &order);
        }
    }

    /// What can be said of a class without telling other classes apart.
    fn own_key(&self, layout: &ZoneLayout, number: usize) -> Vec<i64> {
        let class = &self.classes[number];
        let mut key = vec![class.sort as i64];
        // Of a reference, whether there is one.
        let anonymous =
            |(cell, sort): (&i64, &Option<SortId>)| if sort.is_some() { (*cell).min(0) } else { *cell };
        key.extend(class.cells.iter().zip(&layout.local_refs[class.sort]).map(anonymous));
        let names_it =
            |(cell, sort): (&i64, &Option<SortId>)| i64::from(sort.is_some() && *cell == number as i64);
        key.extend(self.globals.iter().zip(&layout.global_refs).map(names_it));
        key.push(class.count.into());
        for clock in self.clocks_of(layout, number) {
            for other in 0..=layout.global.clocks {
                key.push(self.zone.get(clock, other).weakness());
                key.push(self.zone.get(other, clock).weakness());
            }
        }
        key
    }

    /// The bounds between the clocks of two classes' first members.
    fn relation(&self, layout: &ZoneLayout, class: usize, other: usize) -> Vec<i64> {
        let first = |class: usize| {
            let start = self.clock_of(layout, class, 0);
            start..start + clocks(layout, self.classes[class].sort)
        };
        let pairs = first(class).flat_map(|i| first(other).map(move |j| (i, j)));
        pairs.flat_map(|(i, j)| [self.zone.get(i, j).weakness(), self.zone.get(j, i).weakness()]).collect()
    }

    /// The ranks of the classes that a class refers to.
    fn named_ranks(&self, layout: &ZoneLayout, class: usize, ranks: &[usize]) -> Vec<usize> {
        let class = &self.classes[class];
        let cells = class.cells.iter().zip(&layout.local_refs[class.sort]);
        let named = cells.filter(|(cell, sort)| sort.is_some() && **cell >= 0);
        named.map(|(cell, _)| ranks[*cell as usize]).collect()
    }

    /// All clocks that a class has in the zone.
    fn clocks_of(&self, layout: &ZoneLayout, class: usize) -> Range<usize> {
        let start = self.clock_of(layout, class, 0);
        start..start + clocks(layout, self.classes[class].sort) * self.classes[class].shown()
    }

    /// Gives the classes new numbers: for each, which it was.
    fn reorder(&mut self, layout: &ZoneLayout, order: &[usize]) {
        let mut clock_order: Vec<usize> = (1..=layout.global.clocks).collect();
        clock_order.extend(order.iter().flat_map(|old| self.clocks_of(layout, *old)));
        self.zone = self.zone.select(&clock_order);
        let mut new = vec![0; order.len()];
        order.iter().enumerate().for_each(|(to, from)| new[*from] = to as i64);
        self.classes = order.iter().map(|old| self.classes[*old].clone()).collect();
        self.each_reference(layout, |cell, holds| {
            if holds && *cell >= 0 {
                *cell = new[*cell as usize];
            }
        });
    }

    /// Whether everything but the zone is the same, whoever the members of classes are.
    pub(crate) fn is_like(&self, other: &ZoneState) -> bool {
        let alike =
            |(class, other): (&MemberClass, &MemberClass)| class.count == other.count && class.is_like(other);
        self.globals == other.globals
            && self.classes.len() == other.classes.len()
            && self.classes.iter().zip(&other.classes).all(alike)
    }

    /// Everything but the zone, as a key.
    pub(crate) fn key(&self) -> Vec<i64> {
        let mut key = self.globals.clone();
        for class in &self.classes {
            key.push(class.sort as i64);
            key.push(class.count.into());
            key.extend(&class.cells);
        }
        key
    }

    /// How many states it stands for: the ways to say which element is in which class. Nothing if that is too many.
    pub(crate) fn orbit(&self, sorts: usize) -> Option<u128> {
        let mut orbit: u128 = 1;
        for sort in 0..sorts {
            let mut so_far: u128 = 0;
            for class in self.classes.iter().filter(|class| class.sort == sort && class.cells[0] < 0) {
                // Choose `count` of so_far + count, one factor at a time so that every quotient is exact.
                for taken in 1..=u128::from(class.count) {
                    so_far += 1;
                    orbit = orbit.checked_mul(so_far)? / taken;
                }
            }
        }
        Some(orbit)
    }
}

/// How many clocks each element of a sort has.
pub(crate) fn clocks(layout: &ZoneLayout, sort: usize) -> usize {
    layout.local[SortId::from_index(sort).index()].map_or(0, |room| room.clocks)
}
