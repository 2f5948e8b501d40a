//! Views: which single tokens, and which pairs of tokens, can occur in a shared state.
//!
//! The reachable configurations are abstracted to their parts of at most two tokens (Flanagan and Qadeer's thread-modular
//! sets for one; for two, the view abstraction of Abdulla, Haziza and Holík). The fixpoint is a set of bits for each shared
//! state, it always ends, and what it excludes is unreachable for any number of tokens. It proves many thread systems alone,
//! and prunes the backward search for the others.

use std::collections::VecDeque;

use shoal_certificate::{Arcs, Config, PlaceTokens, System, Views, get, ones, put};

use crate::{
    meter::{Meter, MeterStop},
    pairs,
};

/// A set of places as bits.
type PlaceBits = Vec<u64>;

/// From so many words in a row on, the limits are looked at before every transition.
const MANY_WORDS: usize = 32;

fn join(into: &mut [u64], from: &[u64]) -> bool {
    let mut changed = false;
    for (into, from) in into.iter_mut().zip(from) {
        changed |= from & !*into != 0;
        *into |= from;
    }
    changed
}

/// How many bytes the views of a system may take.
pub(crate) fn bytes(system: &System) -> u64 {
    let words = u64::from(system.places).div_ceil(64).max(1);
    u64::from(system.shared) * (1 + u64::from(system.places)) * words * 8
}

/// The least views of a system.
pub(crate) fn of(system: &System, meter: &mut Meter<'_>) -> Result<Views, MeterStop> {
    if pairs::pays(system) {
        return pairs::of(system, meter);
    }
    let mut fixpoint = ViewFixpoint::new(system);
    fixpoint.run(meter)?;
    Ok(fixpoint.views)
}

/// Transitions that differ only in what they give.
pub(crate) struct TransitionGroup {
    pub(crate) take: Arcs,
    pub(crate) to: u32,
    /// All places that some of them gives to.
    pub(crate) given: PlaceBits,
    /// Pairs among what one of them gives.
    pub(crate) pairs: Vec<(u32, u32)>,
}

struct ViewFixpoint<'a> {
    system: &'a System,
    views: Views,
    groups: Vec<Vec<TransitionGroup>>,
    /// Transitions with transfers, by shared state.
    transfers: Vec<Vec<u32>>,
    /// For each shared state, the places whose row has changed since it was looked at.
    changed: PlaceBits,
    waiting: VecDeque<u32>,
    is_waiting: Vec<bool>,
}

impl<'a> ViewFixpoint<'a> {
    fn new(system: &'a System) -> ViewFixpoint<'a> {
        let views = Views::empty(system.shared, system.places);
        let mut fixpoint = ViewFixpoint {
            system,
            groups: groups(system, views.words),
            transfers: vec![Vec::new(); system.shared as usize],
            changed: vec![0; views.single.len()],
            waiting: VecDeque::new(),
            is_waiting: vec![false; system.shared as usize],
            views,
        };
        for (id, transition) in system.transitions.iter().enumerate() {
            if !transition.transfers.is_empty() {
                fixpoint.transfers[transition.from as usize].push(id as u32);
            }
        }
        for initial in &system.initial {
            fixpoint.reach(initial.shared);
            fixpoint.add_tokens(initial.shared, &initial.tokens);
        }
        fixpoint
    }

    fn run(&mut self, meter: &mut Meter<'_>) -> Result<(), MeterStop> {
        while let Some(shared) = self.waiting.pop_front() {
            self.is_waiting[shared as usize] = false;
            let words = self.views.words;
            let changed = &mut self.changed[shared as usize * words..][..words];
            let news: PlaceBits = changed.to_vec();
            changed.fill(0);
            let groups = std::mem::take(&mut self.groups[shared as usize]);
            for group in &groups {
                // With many places one transition takes as long as hundreds of others.
                if words < MANY_WORDS {
                    meter.tick()?
                } else {
                    meter.look()?
                }
                self.fire(shared, group, &news);
            }
            self.groups[shared as usize] = groups;
            for at in 0..self.transfers[shared as usize].len() {
                meter.tick()?;
                self.broadcast(self.transfers[shared as usize][at]);
            }
        }
        Ok(())
    }

    /// Makes a shared state occur.
    fn reach(&mut self, shared: u32) {
        let size = self.views.words * self.views.places;
        if self.views.pairs[shared as usize].is_none() {
            self.views.pairs[shared as usize] = Some(vec![0; size].into());
            self.wake(shared);
        }
    }

    fn wake(&mut self, shared: u32) {
        if !std::mem::replace(&mut self.is_waiting[shared as usize], true) {
            self.waiting.push_back(shared);
        }
    }

    /// Adds to the row of a place; the place then can be marked too.
    fn add_row(&mut self, shared: u32, place: u32, partners: &[u64]) {
        let words = self.views.words;
        let Some(rows) = &mut self.views.pairs[shared as usize] else { return };
        let changed = join(&mut rows[place as usize * words..][..words], partners);
        let first = put(&mut self.views.single[shared as usize * words..][..words], place);
        if changed || first {
            put(&mut self.changed[shared as usize * words..][..words], place);
            self.wake(shared);
        }
    }

    fn add_pair(&mut self, shared: u32, one: u32, other: u32) {
        let mut bits = vec![0; self.views.words];
        put(&mut bits, other);
        self.add_row(shared, one, &bits);
        bits.fill(0);
        put(&mut bits, one);
        self.add_row(shared, other, &bits);
    }

    /// Adds all tokens as places that are marked together: a net may begin with thousands.
    fn add_tokens(&mut self, shared: u32, tokens: &[PlaceTokens]) {
        let mut all = vec![0; self.views.words];
        for (place, _) in tokens {
            put(&mut all, *place);
        }
        let mut row = all.clone();
        for (place, count) in tokens {
            if *count < 2 {
                row[*place as usize / 64] &= !(1 << (place % 64));
            }
            self.add_row(shared, *place, &row);
            row[*place as usize / 64] = all[*place as usize / 64];
        }
    }

    /// Whether all tokens that are taken can lie there at once, as far as pairs tell.
    fn enabled(&self, shared: u32, take: &[PlaceTokens]) -> bool {
        !self.views.exclude(&Config { shared, tokens: take.iter().copied().collect() })
    }

    /// The places where other tokens may lie while these are taken.
    fn others(&self, shared: u32, take: &[PlaceTokens]) -> PlaceBits {
        let mut others = self.views.single(shared).to_vec();
        for (place, _) in take {
            let row = self.views.row(shared, *place);
            others.iter_mut().zip(row).for_each(|(word, row)| *word &= row);
        }
        others
    }

    fn fire(&mut self, shared: u32, group: &TransitionGroup, news: &[u64]) {
        if !self.enabled(shared, &group.take) {
            return;
        }
        let others = self.others(shared, &group.take);
        let take_changed = group.take.iter().any(|(place, _)| get(news, *place));
        let others_changed = others.iter().zip(news).any(|(others, news)| others & news != 0);
        let first = self.views.pairs[group.to as usize].is_none();
        if !take_changed && !others_changed && !first && !group.take.is_empty() {
            return;
        }
        self.reach(group.to);
        let given: Vec<u32> = ones(&group.given).collect();
        for place in &given {
            self.add_row(group.to, *place, &others);
        }
        for (one, other) in &group.pairs {
            self.add_pair(group.to, *one, *other);
        }
        let mut row = vec![0; self.views.words];
        for other in ones(&others) {
            // A row that has not changed was added before, unless the others are not the same as then.
            if !take_changed && !get(news, other) && !first && !group.take.is_empty() {
                continue;
            }
            if group.to == shared {
                row.copy_from_slice(&group.given);
            } else {
                let known = self.views.row(shared, other);
                for (at, word) in row.iter_mut().enumerate() {
                    *word = known[at] & others[at] | group.given[at];
                }
            }
            self.add_row(group.to, other, &row);
        }
    }

    /// A transition with transfers: every other token moves as its place says.
    fn broadcast(&mut self, id: u32) {
        let transition = &self.system.transitions[id as usize];
        if !self.enabled(transition.from, &transition.take) {
            return;
        }
        let others = self.others(transition.from, &transition.take);
        let known: Vec<(u32, PlaceBits)> =
            ones(&others).map(|place| (place, self.views.row(transition.from, place).to_vec())).collect();
        let to = transition.to;
        self.reach(to);
        let moved = |place: u32| match transition.transfer(place) {
            Some(transfer) => transfer.targets.to_vec(),
            None => vec![place],
        };
        self.add_tokens(to, &transition.give);
        for (place, row) in &known {
            for target in moved(*place) {
                self.add_row(to, target, &vec![0; self.views.words]);
                for (given, _) in &transition.give {
                    self.add_pair(to, target, *given);
                }
                for (other, _) in known.iter().filter(|(other, _)| get(row, *other)) {
                    for other in moved(*other) {
                        self.add_pair(to, target, other);
                    }
                }
            }
        }
    }
}

/// The transitions without transfers, by shared state, those together that take the same and lead to the same shared state.
pub(crate) fn groups(system: &System, words: usize) -> Vec<Vec<TransitionGroup>> {
    let plain = |id: &u32| system.transitions[*id as usize].transfers.is_empty();
    let mut ids: Vec<u32> = (0..system.transitions.len() as u32).filter(plain).collect();
    let key = |id: &u32| {
        let transition = &system.transitions[*id as usize];
        (transition.from, transition.to, &transition.take)
    };
    ids.sort_by(|left, right| key(left).cmp(&key(right)));
    let mut groups: Vec<Vec<TransitionGroup>> = (0..system.shared).map(|_| Vec::new()).collect();
    for same in ids.chunk_by(|left, right| key(left) == key(right)) {
        let first = &system.transitions[same[0] as usize];
        let mut group = TransitionGroup {
            take: first.take.clone(),
            to: first.to,
            given: vec![0; words],
            pairs: Vec::new(),
        };
        for id in same {
            let give = &system.transitions[*id as usize].give;
            for (at, (place, count)) in give.iter().enumerate() {
                put(&mut group.given, *place);
                if *count > 1 {
                    group.pairs.push((*place, *place));
                }
                group.pairs.extend(give[at + 1..].iter().map(|(other, _)| (*place, *other)));
            }
        }
        groups[first.from as usize].push(group);
    }
    groups
}
