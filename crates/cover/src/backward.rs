//! Backward search: the least configurations from which a target can be covered.
//!
//! Each step replaces a requirement by what must hold before it (Abdulla and others, 1996); least elements only, so it ends.
//! Requirements that a known invariant excludes need not be looked at: nothing above them can be reached. The smallest are
//! looked at first.

use std::{cmp::Reverse, collections::BinaryHeap};

use shoal_certificate::{Config, System, Views};

use crate::{
    antichain::Antichain,
    index::TransitionIndex,
    linear::Inequations,
    meter::{Meter, MeterStop},
    run::{self, CoveringRun},
};

/// What is known of everything that can be reached.
pub(crate) struct ReachableBound<'a> {
    pub(crate) views: Option<&'a Views>,
    pub(crate) inequations: Inequations<'a>,
}

impl ReachableBound<'_> {
    /// Whether nothing above a configuration can be reached.
    pub(crate) fn exclude(&mut self, config: &Config, meter: &mut Meter<'_>) -> Result<bool, MeterStop> {
        let excluded = self.views.is_some_and(|views| views.exclude(config));
        Ok(excluded || self.inequations.exclude(config, meter)?)
    }

    /// The same, as far as it is known without solving anything.
    pub(crate) fn exclude_cheaply(&self, config: &Config) -> bool {
        let weights = || self.inequations.known.iter().any(|weights| weights.exclude(config));
        self.views.is_some_and(|views| views.exclude(config)) || weights()
    }
}

/// A backward search that can be continued.
pub(crate) struct Backward<'a> {
    system: &'a System,
    entering: &'a TransitionIndex,
    nodes: Vec<BasisNode>,
    /// Least elements.
    bad: Antichain,
    live: Vec<bool>,
    queue: BinaryHeap<Reverse<(u64, u32)>>,
    found: Option<u32>,
    /// Requirements of more tokens, and beginnings with more, are left out: the search is then for a run with few.
    bound: Option<u64>,
    /// How many elements were compared, about.
    pub(crate) work: u64,
}

struct BasisNode {
    config: Config,
    /// The requirement after it and the transition to there.
    next: Option<(u32, u32)>,
}

/// What came of some steps.
pub(crate) enum Backed {
    /// There is more to do.
    More,
    /// No initial configuration is above one of these, and nothing that can be reached leads to them from elsewhere.
    Done(Vec<Config>),
    /// A target can be covered.
    Found(CoveringRun),
}

impl<'a> Backward<'a> {
    /// A search from the targets.
    pub(crate) fn new(
        system: &'a System,
        entering: &'a TransitionIndex,
        targets: &[Config],
        bound: Option<u64>,
        known: &mut ReachableBound<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Backward<'a>, MeterStop> {
        let mut backward = Backward {
            system,
            entering,
            nodes: Vec::new(),
            bad: Antichain::upwards(system.shared, system.places),
            live: Vec::new(),
            queue: BinaryHeap::new(),
            found: None,
            bound,
            work: 0,
        };
        for target in targets {
            backward.push(target.clone(), None, known, meter)?;
        }
        Ok(backward)
    }

    /// Expands up to so many elements.
    pub(crate) fn advance(
        &mut self,
        elements: usize,
        known: &mut ReachableBound<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Backed, MeterStop> {
        for _ in 0..elements {
            if let Some(found) = self.found {
                return self.run(found).map(Backed::Found);
            }
            let Some(Reverse((_, id))) = self.queue.pop() else {
                return Ok(Backed::Done(self.bad.iter().cloned().collect()));
            };
            if self.live[id as usize] {
                self.expand(id, known, meter)?;
            }
        }
        Ok(Backed::More)
    }

    fn expand(
        &mut self,
        id: u32,
        known: &mut ReachableBound<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<(), MeterStop> {
        let config = self.nodes[id as usize].config.clone();
        for transition in self.entering.of(config.shared) {
            meter.tick()?;
            let rule = &self.system.transitions[*transition as usize];
            if !rule.helps(&config) {
                continue;
            }
            meter.steps += 1;
            for before in rule.predecessors(&config)? {
                if self.push(before, Some((id, *transition)), known, meter)? {
                    let config = &self.nodes[self.nodes.len() - 1].config;
                    meter.stored += 1;
                    meter.bytes += 120 + 8 * config.tokens.len() as u64;
                }
                if self.found.is_some() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Whether it is a requirement that was not known.
    fn push(
        &mut self,
        config: Config,
        next: Option<(u32, u32)>,
        known: &mut ReachableBound<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<bool, MeterStop> {
        let size = config.size();
        self.work += 1 + self.bad.around(&config) as u64;
        let beyond = self.bound.is_some_and(|bound| size > bound);
        if beyond || self.bad.has(&config) || known.exclude(&config, meter)? {
            return Ok(false);
        }
        let id = self.nodes.len() as u32;
        let begins = self.system.beginning(&config);
        if begins.is_some_and(|(_, start)| self.bound.is_none_or(|bound| start.size() <= bound)) {
            self.found.get_or_insert(id);
        }
        for gone in self.bad.insert(config.clone(), id) {
            self.live[gone as usize] = false;
        }
        self.queue.push(Reverse((size, id)));
        self.nodes.push(BasisNode { config, next });
        self.live.push(true);
        Ok(true)
    }

    /// The run from a requirement that holds in the beginning.
    fn run(&self, found: u32) -> Result<CoveringRun, MeterStop> {
        run::backwards(self.system, found, |id| {
            let node = &self.nodes[id as usize];
            (&node.config, node.next)
        })
    }
}
