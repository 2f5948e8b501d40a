//! Counter systems: what every prover here works on.
//!
//! One of finitely many shared states, and any number of tokens in each of finitely many places. A token is a thread in a
//! local state, or a unit of an integer without bound. Transitions take tokens, move all that are left in some places
//! (transfers), and give tokens. More tokens never hinder a transition: that is what makes the questions decidable.

use smallvec::SmallVec;

use crate::config::{Config, OMEGA, Overflow, PlaceTokens, Tokens, count_in, minus, plus};

/// A counter system: plain data.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// How many shared states there are.
    pub shared: u32,
    /// How many places there are.
    pub places: u32,
    /// The transitions.
    pub transitions: Vec<Transition>,
    /// Where it begins: below one of these (omega: as many as anybody wants).
    pub initial: Vec<Config>,
    /// What each of these has at least, in the same order: runs that are shown begin with no less. It decides nothing, for
    /// more tokens never hinder a transition.
    pub least: Vec<Config>,
}

/// One transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The shared state before.
    pub from: u32,
    /// The shared state after.
    pub to: u32,
    /// The tokens it takes; sorted, no zeros, no omegas.
    pub take: Arcs,
    /// The tokens it gives, after all else; sorted, no zeros, no omegas.
    pub give: Arcs,
    /// What happens to the tokens that are left in a place; each chooses one of the targets. Without a target they vanish.
    /// Sorted by place. Tokens of places that are not listed stay.
    pub transfers: Vec<Transfer>,
}

/// Tokens on the arcs of a transition.
pub type Arcs = SmallVec<[PlaceTokens; 1]>;

/// Where the tokens of a place go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transfer {
    /// From.
    pub place: u32,
    /// To one of these; sorted.
    pub targets: SmallVec<[u32; 2]>,
}

/// How many ways of distributing tokens among the targets of transfers are looked at before giving up.
const MOST_SPLITS: usize = 100_000;

impl Transition {
    /// Whether it may fire.
    pub fn enabled(&self, config: &Config) -> bool {
        self.from == config.shared && self.take.iter().all(|(place, count)| config.count(*place) >= *count)
    }

    /// Everything that firing it may lead to: one configuration, but for transfers with several targets. Tokens of a place
    /// with omega go to all targets at once. The transition must be enabled.
    pub fn successors(&self, config: &Config) -> Result<Vec<Config>, Overflow> {
        let mut rest = config.clone();
        rest.shared = self.to;
        for (place, count) in &self.take {
            rest.set(*place, minus(rest.count(*place), *count));
        }
        let mut all = vec![rest.clone()];
        if !self.transfers.is_empty() {
            for transfer in &self.transfers {
                all[0].set(transfer.place, 0);
            }
            for transfer in &self.transfers {
                if !transfer.targets.is_empty() {
                    all = distribute(all, rest.count(transfer.place), &transfer.targets)?;
                }
            }
            all.sort();
            all.dedup();
        }
        for next in &mut all {
            for (place, count) in &self.give {
                next.add(*place, *count)?;
            }
        }
        Ok(all)
    }

    /// The least configurations from which it leads to the given one or above it. Empty if it leads to other shared states.
    pub fn predecessors(&self, config: &Config) -> Result<Vec<Config>, Overflow> {
        if self.to != config.shared {
            return Ok(Vec::new());
        }
        let mut rest = Config { shared: self.from, tokens: Tokens::new() };
        let mut moved = Tokens::new();
        for (place, count) in &config.tokens {
            let left = minus(*count, count_in(&self.give, *place));
            if left == 0 {
                continue;
            }
            if self.transfers.is_empty() {
                rest.tokens.push((*place, left));
            } else {
                moved.push((*place, left));
            }
        }
        let mut all = vec![rest];
        for (place, count) in &moved {
            all = distribute(all, *count, &self.sources(*place))?;
        }
        for before in &mut all {
            for (place, count) in &self.take {
                before.add(*place, *count)?;
            }
        }
        if !self.transfers.is_empty() {
            all.sort();
            all.dedup();
        }
        Ok(all)
    }

    /// Whether it does something for a requirement after it: gives a part of it, moves tokens, or leads to its shared state.
    pub fn helps(&self, config: &Config) -> bool {
        self.from != self.to
            || !self.transfers.is_empty()
            || self.give.iter().any(|(place, _)| config.count(*place) > 0)
    }

    /// Where the tokens that transfers leave in a place may have been before.
    fn sources(&self, place: u32) -> SmallVec<[u32; 2]> {
        let stays = self.transfer(place).is_none();
        let from = self.transfers.iter().filter(|transfer| transfer.targets.contains(&place));
        stays.then_some(place).into_iter().chain(from.map(|transfer| transfer.place)).collect()
    }

    /// The transfer of a place, if it has one.
    pub fn transfer(&self, place: u32) -> Option<&Transfer> {
        let at = self.transfers.binary_search_by_key(&place, |transfer| transfer.place);
        at.ok().map(|at| &self.transfers[at])
    }

    /// What it adds to a place, apart from transfers.
    pub fn effect(&self, place: u32) -> i64 {
        i64::from(count_in(&self.give, place)) - i64::from(count_in(&self.take, place))
    }
}

/// Distributes tokens among places in all ways. Without places there is none.
fn distribute(all: Vec<Config>, count: u32, places: &[u32]) -> Result<Vec<Config>, Overflow> {
    match (count, places) {
        (0, _) => Ok(all),
        (_, []) => Ok(Vec::new()),
        (_, [only]) => {
            let add = |mut config: Config| config.add(*only, count).map(|()| config);
            all.into_iter().map(add).collect()
        }
        (OMEGA, many) => {
            let add = |mut config: Config| {
                many.iter().for_each(|place| config.set(*place, OMEGA));
                config
            };
            Ok(all.into_iter().map(add).collect())
        }
        (_, [first, rest @ ..]) => {
            let mut result = Vec::new();
            for here in 0..=count {
                let mut some = all.clone();
                for config in &mut some {
                    config.add(*first, here)?;
                }
                result.extend(distribute(some, count - here, rest)?);
                if result.len() > MOST_SPLITS {
                    return Err(Overflow);
                }
            }
            Ok(result)
        }
    }
}

impl System {
    /// Whether a configuration lies below one of those where the system begins.
    pub fn is_initial(&self, config: &Config) -> bool {
        self.initial.iter().any(|initial| config.is_below(initial))
    }

    /// The smallest beginning that has what is needed, and the number of the initial configuration it lies below.
    pub fn beginning(&self, needed: &Config) -> Option<(usize, Config)> {
        let above = self.initial.iter().zip(&self.least).enumerate();
        let fitting = above.filter(|(_, (most, _))| needed.is_below(most));
        let larger = |(at, (_, least)): (usize, (&Config, &Config))| {
            let mut start = least.clone();
            needed
                .tokens
                .iter()
                .for_each(|(place, count)| start.set(*place, start.count(*place).max(*count)));
            (at, start)
        };
        fitting.map(larger).min_by_key(|(_, start)| start.size())
    }

    /// Arcs from counts in any order; several for one place are added.
    pub fn arcs(tokens: impl IntoIterator<Item = PlaceTokens>) -> Arcs {
        let mut arcs: Arcs = tokens.into_iter().filter(|token| token.1 > 0).collect();
        arcs.sort_unstable();
        let mut merged = Arcs::new();
        for (place, count) in arcs {
            match merged.last_mut() {
                Some(last) if last.0 == place => last.1 = plus(last.1, count).unwrap_or(OMEGA - 1),
                _ => merged.push((place, count)),
            }
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broadcast() -> Transition {
        let targets = |list: &[u32]| list.iter().copied().collect();
        Transition {
            from: 0,
            to: 1,
            take: System::arcs([(0, 1)]),
            give: System::arcs([(1, 1)]),
            transfers: vec![
                Transfer { place: 2, targets: targets(&[2, 3]) },
                Transfer { place: 4, targets: targets(&[]) },
            ],
        }
    }

    #[test]
    fn transfers_split_and_reset() {
        let before = Config::new(0, [(0, 1), (2, 2), (4, 5)]);
        let after = broadcast().successors(&before).unwrap();
        let expected = [
            Config::new(1, [(1, 1), (2, 2)]),
            Config::new(1, [(1, 1), (2, 1), (3, 1)]),
            Config::new(1, [(1, 1), (3, 2)]),
        ];
        assert_eq!(after.len(), 3);
        assert!(expected.iter().all(|config| after.contains(config)), "{after:?}");
        let many = broadcast().successors(&Config::new(0, [(0, OMEGA), (2, OMEGA)])).unwrap();
        assert_eq!(many, [Config::new(1, [(0, OMEGA), (1, 1), (2, OMEGA), (3, OMEGA)])]);
    }

    #[test]
    fn predecessors_are_the_least_that_lead_there() {
        let wanted = Config::new(1, [(1, 1), (3, 2)]);
        // Three tokens come from place 3, which keeps its own, or from place 2.
        let before = broadcast().predecessors(&wanted).unwrap();
        let expected = [
            Config::new(0, [(0, 1), (3, 2)]),
            Config::new(0, [(0, 1), (2, 1), (3, 1)]),
            Config::new(0, [(0, 1), (2, 2)]),
        ];
        assert_eq!(before.len(), 3);
        assert!(expected.iter().all(|config| before.contains(config)), "{before:?}");
        for config in before {
            let after = broadcast().successors(&config).unwrap();
            assert!(after.iter().any(|config| wanted.is_below(config)));
        }
        assert_eq!(broadcast().predecessors(&Config::new(1, [(4, 1)])).unwrap(), []);
    }
}
