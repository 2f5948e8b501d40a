//! What transitions do, a second time.

use std::collections::BTreeMap;

use shoal_certificate::{Config, OMEGA, System, Transition};

use crate::ProofRejected;

/// Counts by place; what is missing is 0.
type Counts = BTreeMap<u32, u64>;

/// Omega as a count that nothing adds up to.
const MANY: u64 = u64::MAX;

fn counts(config: &Config) -> Counts {
    config
        .tokens
        .iter()
        .map(|(place, count)| (*place, if *count == OMEGA { MANY } else { u64::from(*count) }))
        .collect()
}

fn config(shared: u32, counts: &Counts) -> Result<Config, ProofRejected> {
    let mut result = Config { shared, tokens: Default::default() };
    for (place, count) in counts.iter().filter(|(_, count)| **count > 0) {
        let count = match *count {
            MANY => OMEGA,
            count => {
                u32::try_from(count).ok().filter(|count| *count != OMEGA).ok_or(ProofRejected::Overflow)?
            }
        };
        result.tokens.push((*place, count));
    }
    Ok(result)
}

fn add(counts: &mut Counts, place: u32, count: u64) {
    let here = counts.entry(place).or_default();
    *here = here.saturating_add(count);
}

/// Whether the first has no more of anything than the second, in the same shared state.
pub(crate) fn below(first: &Config, second: &Config) -> bool {
    let found = |place: u32| second.tokens.iter().find(|token| token.0 == place).map_or(0, |token| token.1);
    first.shared == second.shared && first.tokens.iter().all(|(place, count)| *count <= found(*place))
}

/// The configurations of each shared state.
pub(crate) fn by_shared<'a>(system: &System, configs: &'a [Config]) -> Vec<Vec<&'a Config>> {
    let mut here = vec![Vec::new(); system.shared as usize];
    for config in configs {
        here[config.shared as usize].push(config);
    }
    here
}

/// Everything that a transition leads to from a configuration; nothing if it may not fire.
pub(crate) fn successors(transition: &Transition, from: &Config) -> Result<Vec<Config>, ProofRejected> {
    let mut now = counts(from);
    if transition.from != from.shared {
        return Ok(Vec::new());
    }
    for (place, count) in &transition.take {
        match now.get_mut(place) {
            Some(here) if *here == MANY => {}
            Some(here) if *here >= u64::from(*count) => *here -= u64::from(*count),
            _ => return Ok(Vec::new()),
        }
    }
    let mut stay = now.clone();
    for transfer in &transition.transfers {
        stay.remove(&transfer.place);
    }
    let mut all = vec![stay];
    for transfer in transition.transfers.iter().filter(|transfer| !transfer.targets.is_empty()) {
        let count = now.get(&transfer.place).copied().unwrap_or(0);
        all = all.iter().flat_map(|counts| spread(counts, count, &transfer.targets)).collect();
    }
    for counts in &mut all {
        for (place, count) in &transition.give {
            add(counts, *place, u64::from(*count));
        }
    }
    all.iter().map(|counts| config(transition.to, counts)).collect()
}

/// The least configurations from which a transition leads to a configuration or above it.
pub(crate) fn predecessors(transition: &Transition, to: &Config) -> Result<Vec<Config>, ProofRejected> {
    if transition.to != to.shared {
        return Ok(Vec::new());
    }
    let mut needed = counts(to);
    for (place, count) in &transition.give {
        if let Some(here) = needed.get_mut(place) {
            *here = here.saturating_sub(u64::from(*count));
        }
    }
    let mut all = vec![Counts::new()];
    for (place, count) in needed.iter().filter(|(_, count)| **count > 0) {
        let mut sources: Vec<u32> = Vec::new();
        if transition.transfers.iter().all(|transfer| transfer.place != *place) {
            sources.push(*place);
        }
        let moved = transition.transfers.iter().filter(|transfer| transfer.targets.contains(place));
        sources.extend(moved.map(|transfer| transfer.place));
        all = all.iter().flat_map(|counts| spread(counts, *count, &sources)).collect();
    }
    for counts in &mut all {
        for (place, count) in &transition.take {
            add(counts, *place, u64::from(*count));
        }
    }
    all.iter().map(|counts| config(transition.from, counts)).collect()
}

/// All ways to put tokens into some places. Omega goes into all of them.
fn spread(counts: &Counts, count: u64, places: &[u32]) -> Vec<Counts> {
    match (count, places) {
        (0, _) => vec![counts.clone()],
        (_, []) => Vec::new(),
        (MANY, _) => {
            let mut all = counts.clone();
            places.iter().for_each(|place| add(&mut all, *place, MANY));
            vec![all]
        }
        (_, [only]) => {
            let mut all = counts.clone();
            add(&mut all, *only, count);
            vec![all]
        }
        (_, [first, rest @ ..]) => {
            let here = |number: u64| {
                let mut some = counts.clone();
                add(&mut some, *first, number);
                spread(&some, count - number, rest)
            };
            (0..=count).flat_map(here).collect()
        }
    }
}
