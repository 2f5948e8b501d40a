//! Forward search with omegas: the family of Karp and Miller.
//!
//! Where a configuration is strictly above one of its ancestors, what has grown can grow without bound. Which elements may
//! be dropped is where the classic algorithms go wrong: Finkel's minimal coverability tree (1993), and Beacon's figure 1
//! with it, deletes whole subtrees below a node that is covered, and then a configuration can be missing for a reason that
//! was itself deleted. Here, as Valmari and Hansen do (2012), a covered element alone is dropped: its successors stay, and
//! ancestors are remembered even if they are covered. So nothing is ever lost, and the set is checked afterwards besides.

use std::{cmp::Reverse, collections::BinaryHeap};

use shoal_certificate::{Config, OMEGA, System, Tokens};

use crate::{
    antichain::Antichain,
    index::TransitionIndex,
    meter::{Meter, MeterStop},
    run::{self, CoveringRun},
};

/// A forward search that can be continued.
pub(crate) struct ForwardSearch<'a> {
    system: &'a System,
    leaving: &'a TransitionIndex,
    target: Option<&'a [Config]>,
    nodes: Vec<TreeNode>,
    /// Greatest elements.
    reached: Antichain,
    /// Whether a node is still worth to be expanded.
    live: Vec<bool>,
    queue: BinaryHeap<(usize, u64, Reverse<u32>)>,
    found: Option<(u32, usize)>,
}

struct TreeNode {
    config: Config,
    /// The node before and the transition from there.
    parent: Option<(u32, u32)>,
    /// Ancestors that this node was strictly above, with the places that became omega and what they held before.
    jumps: Vec<(u32, Tokens)>,
    /// The last transition with transfers on the way here happened after this many nodes.
    rigid: u32,
    depth: u32,
}

/// What came of some steps.
pub(crate) enum Forwarded {
    /// There is more to do.
    More,
    /// Everything is covered by these.
    Done(Vec<Config>),
    /// A target can be covered.
    Found(CoveringRun),
}

/// Ancestors further up than this are not compared when there is a target: the search may then take longer, but loses nothing.
const LOOK_BACK: usize = 2_000;

impl<'a> ForwardSearch<'a> {
    /// A search for any of the targets; without targets, for everything.
    pub(crate) fn new(
        system: &'a System,
        leaving: &'a TransitionIndex,
        target: Option<&'a [Config]>,
    ) -> ForwardSearch<'a> {
        let mut forward = ForwardSearch {
            system,
            leaving,
            target,
            nodes: Vec::new(),
            reached: Antichain::downwards(system.shared, system.places),
            live: Vec::new(),
            queue: BinaryHeap::new(),
            found: None,
        };
        for initial in &system.initial {
            if !forward.reached.has(initial) {
                forward.push(TreeNode {
                    config: initial.clone(),
                    parent: None,
                    jumps: Vec::new(),
                    rigid: 0,
                    depth: 0,
                });
            }
        }
        forward
    }

    /// Expands up to so many elements.
    pub(crate) fn advance(&mut self, elements: usize, meter: &mut Meter<'_>) -> Result<Forwarded, MeterStop> {
        for _ in 0..elements {
            if let Some((node, target)) = self.found {
                return self.concretise(node, target).map(Forwarded::Found);
            }
            let Some((.., Reverse(id))) = self.queue.pop() else {
                return Ok(Forwarded::Done(self.reached.iter().cloned().collect()));
            };
            if self.live[id as usize] {
                self.expand(id, meter)?;
            }
        }
        Ok(Forwarded::More)
    }

    fn expand(&mut self, id: u32, meter: &mut Meter<'_>) -> Result<(), MeterStop> {
        let config = self.nodes[id as usize].config.clone();
        for transition in self.leaving.of(config.shared) {
            meter.tick()?;
            let rule = &self.system.transitions[*transition as usize];
            if !rule.enabled(&config) {
                continue;
            }
            meter.steps += 1;
            for next in rule.successors(&config)? {
                if self.reached.has(&next) {
                    continue;
                }
                let rigid = match rule.transfers.is_empty() {
                    true => self.nodes[id as usize].rigid,
                    false => self.nodes[id as usize].depth + 1,
                };
                let depth = self.nodes[id as usize].depth + 1;
                let node = TreeNode {
                    config: next,
                    parent: Some((id, *transition)),
                    jumps: Vec::new(),
                    rigid,
                    depth,
                };
                let node = self.accelerate(node);
                meter.stored += 1;
                meter.bytes += 160 + 8 * node.config.tokens.len() as u64;
                self.push(node);
                if self.found.is_some() || !self.live[id as usize] {
                    // What has made this node superfluous can do all that it can.
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Puts omega wherever the node is strictly above an ancestor, by a way without transfers.
    fn accelerate(&self, mut node: TreeNode) -> TreeNode {
        let mut ancestor = node.parent;
        for _ in 0..if self.target.is_some() { LOOK_BACK } else { usize::MAX } {
            let Some((id, _)) = ancestor else { break };
            let above = &self.nodes[id as usize];
            if above.depth < node.rigid {
                break;
            }
            if above.config.is_below(&node.config) && above.config != node.config {
                let mut grown = Tokens::new();
                for (place, count) in &mut node.config.tokens {
                    if *count != OMEGA && *count > above.config.count(*place) {
                        grown.push((*place, *count));
                        *count = OMEGA;
                    }
                }
                if !grown.is_empty() {
                    node.jumps.push((id, grown));
                }
            }
            ancestor = above.parent;
        }
        node
    }

    fn push(&mut self, node: TreeNode) {
        let id = self.nodes.len() as u32;
        if let Some(targets) = self.target
            && let Some(target) = targets.iter().position(|target| target.is_below(&node.config))
        {
            self.found = Some((id, target));
        }
        for gone in self.reached.insert(node.config.clone(), id) {
            self.live[gone as usize] = false;
        }
        self.queue.push((node.config.omegas(), node.config.size(), Reverse(id)));
        self.nodes.push(node);
        self.live.push(true);
    }

    /// Turns the way to a node into transitions that can be run: omegas become as many rounds as are needed.
    fn concretise(&self, node: u32, target: usize) -> Result<CoveringRun, MeterStop> {
        let Some(targets) = self.target else { return Err(MeterStop::Overflow) };
        let mut back = Back { forward: self, steps: Vec::new(), needed: vec![targets[target].clone()] };
        back.walk(node, None)?;
        back.steps.reverse();
        back.needed.reverse();
        run::execute(self.system, &back.steps, &back.needed)
    }
}

/// Walks a way back and collects, in reverse, the transitions and what must be there before each.
struct Back<'a, 'b> {
    forward: &'b ForwardSearch<'a>,
    steps: Vec<u32>,
    needed: Vec<Config>,
}

impl Back<'_, '_> {
    fn now(&self) -> &Config {
        &self.needed[self.needed.len() - 1]
    }

    /// From a node back to an ancestor, or to the root.
    fn walk(&mut self, from: u32, until: Option<u32>) -> Result<(), MeterStop> {
        let mut at = from;
        while Some(at) != until {
            let node = &self.forward.nodes[at as usize];
            self.unroll(at, node.jumps.len())?;
            let Some((parent, transition)) = node.parent else { return Ok(()) };
            self.step(parent, transition)?;
            at = parent;
        }
        Ok(())
    }

    /// Goes round the first `count` loops that end in a node, last first, until no more is needed in the places that became
    /// omega than there was before. What else the way needs does not change: a round gives back what it takes.
    fn unroll(&mut self, node: u32, count: usize) -> Result<(), MeterStop> {
        let way = &self.forward.nodes[node as usize];
        for jump in (0..count).rev() {
            let (ancestor, grown) = &way.jumps[jump];
            while grown.iter().any(|(place, before)| self.now().count(*place) > *before) {
                self.unroll(node, jump)?;
                let Some((parent, transition)) = way.parent else { return Err(MeterStop::Overflow) };
                self.step(parent, transition)?;
                self.walk(parent, Some(*ancestor))?;
            }
        }
        Ok(())
    }

    fn step(&mut self, parent: u32, transition: u32) -> Result<(), MeterStop> {
        if self.steps.len() >= run::LONGEST {
            return Err(MeterStop::Overflow);
        }
        let rule = &self.forward.system.transitions[transition as usize];
        let config = &self.forward.nodes[parent as usize].config;
        let before = rule.predecessors(self.now())?;
        // Without transfers there is exactly one, and on a loop it may be above what the first round had.
        let fits = |before: &Config| rule.transfers.is_empty() || before.is_below(config);
        let before = before.into_iter().find(fits).ok_or(MeterStop::Overflow)?;
        self.steps.push(transition);
        self.needed.push(before);
        Ok(())
    }
}
