//! Property-directed search: IC3 for systems that are ordered (Kloos, Majumdar, Niksic and Piskac, 2013).
//!
//! Frame `i` is closed downwards and has everything that can be reached in `i` steps; it is kept as the least elements that
//! it does not have. A requirement to be kept out of a frame is kept out if all that leads to it is kept out of the frame
//! before; what is found so is made as small as possible first, because a smaller element keeps out more. When a frame is
//! the same as the next, it is an invariant. Views and weights are invariants already: what they exclude is in no frame.

use std::{cmp::Reverse, collections::BinaryHeap};

use shoal_certificate::{Config, System};

use crate::{
    antichain::Antichain,
    backward::ReachableBound,
    index::TransitionIndex,
    meter::{Meter, MeterStop},
    run::{self, CoveringRun},
};

/// A search that can be continued.
pub(crate) struct Directed<'a> {
    system: &'a System,
    entering: &'a TransitionIndex,
    targets: &'a [Config],
    /// For each frame, the elements that it is the last one to keep out; frame 0 has what is initial, and nothing here.
    frames: Vec<Antichain>,
    duties: Vec<Duty>,
    /// The lowest frame first, then the smallest.
    queue: BinaryHeap<Reverse<(usize, u64, u32)>>,
}

/// A requirement that must be kept out of a frame, or the target can be covered.
struct Duty {
    config: Config,
    /// The requirement that it leads to, and how.
    next: Option<(u32, u32)>,
}

/// What came of some steps.
pub(crate) enum Directing {
    /// There is more to do.
    More,
    /// These and what the invariants exclude keep the targets out.
    Done(Vec<Config>),
    /// A target can be covered.
    Found(CoveringRun),
}

impl<'a> Directed<'a> {
    /// A search for any of the targets.
    pub(crate) fn new(
        system: &'a System,
        entering: &'a TransitionIndex,
        targets: &'a [Config],
    ) -> Directed<'a> {
        let none = Antichain::upwards(system.shared, system.places);
        Directed {
            system,
            entering,
            targets,
            frames: vec![none.clone(), none],
            duties: Vec::new(),
            queue: BinaryHeap::new(),
        }
        .begin()
    }

    fn last(&self) -> usize {
        self.frames.len() - 1
    }

    /// The targets must be kept out of the last frame.
    fn begin(mut self) -> Self {
        self.demand();
        self
    }

    fn demand(&mut self) {
        self.duties.clear();
        for target in self.targets {
            self.push(target.clone(), None, self.last());
        }
    }

    fn push(&mut self, config: Config, next: Option<(u32, u32)>, frame: usize) {
        let id = self.duties.len() as u32;
        self.queue.push(Reverse((frame, config.size(), id)));
        self.duties.push(Duty { config, next });
    }

    /// Looks at up to so many requirements.
    pub(crate) fn advance(
        &mut self,
        duties: usize,
        known: &mut ReachableBound<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Directing, MeterStop> {
        for _ in 0..duties {
            let Some(Reverse((frame, _, id))) = self.queue.pop() else {
                if let Some(bad) = self.propagate(known, meter)? {
                    return Ok(Directing::Done(bad));
                }
                let none = Antichain::upwards(self.system.shared, self.system.places);
                self.frames.push(none);
                self.demand();
                continue;
            };
            if let Some(found) = self.keep_out(frame, id, known, meter)? {
                return self.run(found).map(Directing::Found);
            }
        }
        Ok(Directing::More)
    }

    /// Whether a frame does not have a configuration. Frame 0 has what is initial.
    fn is_out(&self, config: &Config, frame: usize, known: &ReachableBound<'_>) -> bool {
        known.exclude_cheaply(config)
            || match frame {
                0 => !self.system.is_initial(config),
                _ => self.frames[frame..].iter().any(|frame| frame.has(config)),
            }
    }

    /// Keeps a requirement out of a frame, or asks for what must be kept out before. Gives a requirement that is initial.
    fn keep_out(
        &mut self,
        frame: usize,
        id: u32,
        known: &mut ReachableBound<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Option<u32>, MeterStop> {
        meter.tick()?;
        let config = self.duties[id as usize].config.clone();
        if self.system.is_initial(&config) {
            return Ok(Some(id));
        }
        if !self.is_out(&config, frame, known) {
            if known.exclude(&config, meter)? {
                return Ok(None);
            }
            if let Some((before, transition)) = self.leads_to(&config, frame, known, meter)? {
                self.queue.push(Reverse((frame, config.size(), id)));
                if frame == 1 {
                    // What leads there is initial.
                    self.duties.push(Duty { config: before, next: Some((id, transition)) });
                    return Ok(Some(self.duties.len() as u32 - 1));
                }
                self.push(before, Some((id, transition)), frame - 1);
                return Ok(None);
            }
            let small = self.shrink(config.clone(), frame, known, meter)?;
            let mut level = frame;
            while level < self.last() && self.leads_to(&small, level + 1, known, meter)?.is_none() {
                level += 1;
            }
            self.add(small, level, meter);
        }
        if frame < self.last() {
            self.queue.push(Reverse((frame + 1, config.size(), id)));
        }
        Ok(None)
    }

    fn add(&mut self, config: Config, frame: usize, meter: &mut Meter<'_>) {
        meter.stored += 1;
        meter.bytes += 100 + 8 * config.tokens.len() as u64;
        // Ids do not matter: nobody asks who is gone.
        drop(self.frames[frame].insert(config, 0));
    }

    /// Something that the frame before has and that leads to a configuration from elsewhere; nothing if there is none.
    fn leads_to(
        &self,
        config: &Config,
        frame: usize,
        known: &ReachableBound<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Option<(Config, u32)>, MeterStop> {
        for id in self.entering.of(config.shared) {
            meter.tick()?;
            let rule = &self.system.transitions[*id as usize];
            if !rule.helps(config) {
                continue;
            }
            meter.steps += 1;
            for before in rule.predecessors(config)? {
                if !config.is_below(&before) && !self.is_out(&before, frame - 1, known) {
                    return Ok(Some((before, *id)));
                }
            }
        }
        Ok(None)
    }

    /// A smaller configuration that can be kept out of the frame, too.
    fn shrink(
        &self,
        mut config: Config,
        frame: usize,
        known: &ReachableBound<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Config, MeterStop> {
        let places: Vec<u32> = config.tokens.iter().map(|token| token.0).collect();
        for place in places {
            let count = config.count(place);
            // None at all, or one less, and one less again.
            for fewer in std::iter::once(0).chain((1..count).rev()) {
                let mut smaller = config.clone();
                smaller.set(place, fewer);
                let fits = !self.system.is_initial(&smaller)
                    && self.leads_to(&smaller, frame, known, meter)?.is_none();
                if fits {
                    config = smaller;
                } else if fewer > 0 {
                    break;
                }
                if fewer == 0 && config.count(place) == 0 {
                    break;
                }
            }
        }
        Ok(config)
    }

    /// Moves elements to later frames where they can be kept out, too. Gives an invariant if two frames are the same.
    fn propagate(
        &mut self,
        known: &ReachableBound<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Option<Vec<Config>>, MeterStop> {
        for frame in 1..self.last() {
            let here: Vec<Config> = self.frames[frame].iter().cloned().collect();
            let mut rest = Antichain::upwards(self.system.shared, self.system.places);
            for config in here {
                if self.frames[frame + 1..].iter().any(|later| later.has(&config)) {
                    continue;
                }
                match self.leads_to(&config, frame + 1, known, meter)? {
                    None => drop(self.frames[frame + 1].insert(config, 0)),
                    Some(_) => drop(rest.insert(config, 0)),
                }
            }
            let empty = rest.iter().next().is_none();
            self.frames[frame] = rest;
            if empty {
                let later = self.frames[frame + 1..].iter().flat_map(Antichain::iter);
                return Ok(Some(later.cloned().collect()));
            }
        }
        Ok(None)
    }

    /// The run from a requirement that holds in the beginning.
    fn run(&self, found: u32) -> Result<CoveringRun, MeterStop> {
        run::backwards(self.system, found, |id| {
            let duty = &self.duties[id as usize];
            (&duty.config, duty.next)
        })
    }
}
