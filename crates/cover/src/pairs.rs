//! Views of systems with many places, pair by pair.
//!
//! The fixpoint of [`crate::views`] looks at all transitions of a shared state whenever something in it is new, in whole rows
//! of bits. Where there are many places and pairs come one after the other, as in threads of a thousand statements, that is
//! far too often. Here each new pair is looked at once: what it is to the transitions that take one of the two, and whether
//! some transition leaves both alone. Each look costs a few rows.

use std::collections::BTreeMap;

use shoal_certificate::{PlaceTokens, System, Views, get, ones, put};

use crate::{
    meter::{Meter, MeterStop},
    views::{TransitionGroup, groups},
};

/// From so many places on it pays.
const MANY: u32 = 256;

/// Beginnings with more tokens are crowded.
const CROWD: usize = 64;

/// Transitions that take more than one token are looked at one by one for every pair: so many are few.
const FEW: usize = 8;

/// Whether views are better found pair by pair.
pub(crate) fn pays(system: &System) -> bool {
    let mut several: BTreeMap<u32, usize> = BTreeMap::new();
    for transition in &system.transitions {
        if taken(&transition.take) > 1 {
            *several.entry(transition.from).or_default() += 1;
        }
    }
    // Tokens in the beginning are pairs all at once.
    let crowded = system.initial.iter().any(|initial| initial.tokens.len() > CROWD);
    system.places >= MANY
        && !crowded
        && system.transitions.iter().all(|transition| transition.transfers.is_empty())
        && several.values().all(|count| *count <= FEW)
}

fn taken(take: &[PlaceTokens]) -> u64 {
    take.iter().map(|token| u64::from(token.1)).sum()
}

/// The least views of a system.
pub(crate) fn of(system: &System, meter: &mut Meter<'_>) -> Result<Views, MeterStop> {
    let mut pairwise = Pairwise::new(system);
    for initial in &system.initial {
        pairwise.reach(initial.shared);
        pairwise.tokens(initial.shared, &initial.tokens);
    }
    while let Some(news) = pairwise.open.pop() {
        meter.tick()?;
        match news {
            News::Shared(shared) => pairwise.shared(shared),
            News::Single(shared, place) => pairwise.single(shared, place),
            News::Pair(shared, one, other) => pairwise.pair(shared, one, other),
        }
    }
    Ok(pairwise.views)
}

/// What has not been looked at yet.
enum News {
    Shared(u32),
    Single(u32, u32),
    Pair(u32, u32, u32),
}

/// The groups of transitions that leave a shared state, by what they take.
#[derive(Default)]
struct Leaving {
    nothing: Vec<TransitionGroup>,
    one: BTreeMap<u32, Vec<TransitionGroup>>,
    several: Vec<TransitionGroup>,
    /// For each other shared state that taking one token leads to, the places it may be taken from.
    takers: BTreeMap<u32, Vec<u64>>,
}

struct Pairwise {
    views: Views,
    leaving: Vec<Leaving>,
    open: Vec<News>,
}

impl Pairwise {
    fn new(system: &System) -> Pairwise {
        let views = Views::empty(system.shared, system.places);
        let mut leaving: Vec<Leaving> = Vec::new();
        for (from, list) in groups(system, views.words).into_iter().enumerate() {
            let mut here = Leaving::default();
            for group in list {
                match (taken(&group.take), group.take.first()) {
                    (1, Some((place, _))) => {
                        if group.to != from as u32 {
                            let takers = here.takers.entry(group.to).or_insert_with(|| vec![0; views.words]);
                            put(takers, *place);
                        }
                        here.one.entry(*place).or_default().push(group);
                    }
                    (0, _) => here.nothing.push(group),
                    _ => here.several.push(group),
                }
            }
            leaving.push(here);
        }
        Pairwise { views, leaving, open: Vec::new() }
    }

    fn reach(&mut self, shared: u32) {
        if !self.views.occurs(shared) {
            self.views.put_shared(shared);
            self.open.push(News::Shared(shared));
        }
    }

    fn mark(&mut self, shared: u32, place: u32) {
        let words = self.views.words;
        if put(&mut self.views.single[shared as usize * words..][..words], place) {
            self.open.push(News::Single(shared, place));
        }
    }

    /// Two tokens that can be there at once.
    fn join(&mut self, shared: u32, one: u32, other: u32) {
        let words = self.views.words;
        let Some(rows) = &mut self.views.pairs[shared as usize] else { return };
        if put(&mut rows[one as usize * words..][..words], other) {
            put(&mut rows[other as usize * words..][..words], one);
            self.mark(shared, one);
            self.mark(shared, other);
            self.open.push(News::Pair(shared, one, other));
        }
    }

    /// Tokens that are there at once.
    fn tokens(&mut self, shared: u32, tokens: &[PlaceTokens]) {
        for (at, (place, count)) in tokens.iter().enumerate() {
            self.mark(shared, *place);
            if *count > 1 {
                self.join(shared, *place, *place);
            }
            for (other, _) in &tokens[at + 1..] {
                self.join(shared, *place, *other);
            }
        }
    }

    /// What a group gives is there after it.
    fn give(&mut self, group: &TransitionGroup) {
        self.reach(group.to);
        ones(&group.given).for_each(|place| self.mark(group.to, place));
        group.pairs.iter().for_each(|(one, other)| self.join(group.to, *one, *other));
    }

    /// A token that a group leaves alone is there after it, beside what it gives.
    fn pass(&mut self, group: &TransitionGroup, place: u32) {
        self.reach(group.to);
        self.mark(group.to, place);
        ones(&group.given).for_each(|given| self.join(group.to, given, place));
    }

    /// The same, and beside the other tokens that it leaves alone.
    fn pass_with_others(&mut self, from: u32, group: &TransitionGroup, place: u32) {
        self.pass(group, place);
        if group.to == from {
            return;
        }
        let others = self.others(from, group);
        let (before, after) = (self.views.row(from, place), self.views.row(group.to, place));
        let new: Vec<u64> = others
            .iter()
            .zip(before)
            .zip(after)
            .map(|((others, before), after)| others & before & !after)
            .collect();
        ones(&new).for_each(|other| self.join(group.to, place, other));
    }

    /// The places of tokens that a group may leave alone.
    fn others(&self, from: u32, group: &TransitionGroup) -> Vec<u64> {
        let mut others = self.views.single(from).to_vec();
        for (place, _) in &group.take {
            others.iter_mut().zip(self.views.row(from, *place)).for_each(|(word, row)| *word &= row);
        }
        others
    }

    /// Whether all that a group takes can be there at once.
    fn enabled(&self, from: u32, group: &TransitionGroup) -> bool {
        let take = &group.take;
        take.iter().enumerate().all(|(at, (place, count))| {
            get(self.views.single(from), *place)
                && (*count < 2 || self.views.together(from, *place, *place))
                && take[at + 1..].iter().all(|(other, _)| self.views.together(from, *place, *other))
        })
    }

    fn shared(&mut self, shared: u32) {
        let nothing = std::mem::take(&mut self.leaving[shared as usize].nothing);
        nothing.iter().for_each(|group| self.give(group));
        self.leaving[shared as usize].nothing = nothing;
    }

    fn single(&mut self, shared: u32, place: u32) {
        let here = std::mem::take(&mut self.leaving[shared as usize]);
        here.one.get(&place).into_iter().flatten().for_each(|group| self.give(group));
        here.nothing.iter().for_each(|group| self.pass(group, place));
        self.leaving[shared as usize] = here;
    }

    fn pair(&mut self, shared: u32, one: u32, other: u32) {
        let here = std::mem::take(&mut self.leaving[shared as usize]);
        let ways = [(one, other), (other, one)];
        for (taken, left) in &ways[..if one == other { 1 } else { 2 }] {
            for group in here.one.get(taken).into_iter().flatten() {
                self.pass_with_others(shared, group, *left);
            }
        }
        for group in &here.nothing {
            self.reach(group.to);
            self.join(group.to, one, other);
        }
        for (to, takers) in &here.takers {
            if !self.views.together(*to, one, other) {
                let rows = self.views.row(shared, one).iter().zip(self.views.row(shared, other));
                if takers.iter().zip(rows).any(|(takers, (one, other))| takers & one & other != 0) {
                    self.reach(*to);
                    self.join(*to, one, other);
                }
            }
        }
        for group in &here.several {
            self.several(shared, group, one, other);
        }
        self.leaving[shared as usize] = here;
    }

    /// What a new pair is to a group that takes several tokens.
    fn several(&mut self, shared: u32, group: &TransitionGroup, one: u32, other: u32) {
        if !self.enabled(shared, group) {
            return;
        }
        let takes = |place: u32| group.take.iter().any(|token| token.0 == place);
        let others = self.others(shared, group);
        if takes(one) && takes(other) {
            // It may have been this pair that was missing.
            self.give(group);
            ones(&others).for_each(|left| self.pass_with_others(shared, group, left));
            return;
        }
        let passed = [(one, other), (other, one)].into_iter().filter(|(taken, _)| takes(*taken));
        for (_, left) in passed.filter(|(_, left)| get(&others, *left)) {
            self.pass_with_others(shared, group, left);
        }
        if group.to != shared && get(&others, one) && get(&others, other) {
            self.join(group.to, one, other);
        }
    }
}
