//! Timed formulas of branching time by brute force, on the region graph.
//!
//! Two states are in one region if their clocks agree in their integral parts, up to the greatest constant that a clock is
//! compared with, and in the order of their fractional parts: no formula tells them apart. A region is kept as one of its
//! states, with the smallest fractions that keep the order, and its steps are those of that state.
//!
//! Paths are those on which time diverges. A clock of our own, reset whenever it comes to 1, ticks on them again and again.
//! A bound on time is a bound on a second clock of our own, which starts at 0 where the formula is evaluated.

mod clocks;
mod formulas;
mod run;

use std::collections::{HashMap, HashSet};

use shoal_model::{Fault, Formula, Model, OrInternal, Ratio, Runs, State};

use self::clocks::{compared, drawn_together, each_clock, fraction, map_clocks, whole};
use crate::{Branch, Firing, Interpreter};

pub(crate) use self::{
    clocks::{half, minus},
    run::{confirm, diverges_from, holds_from},
};

/// A state, and the clocks of our own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RegionPoint {
    pub(crate) state: State,
    tick: Ratio,
    bound: Option<Ratio>,
}

/// A graph of regions.
struct RegionGraph {
    points: Vec<RegionPoint>,
    after: Vec<Vec<usize>>,
    /// Whether time ticks on each of these steps.
    ticks: Vec<Vec<bool>>,
    /// For each point, its number in the graph without bounds.
    base: Vec<usize>,
    /// Where time can diverge; everywhere, where other runs count too.
    diverges: Vec<bool>,
    /// Which runs count.
    runs: Runs,
}

/// A graph, the numbers of its points, and those it began with.
type RegionExploration = (RegionGraph, HashMap<RegionPoint, usize>, Vec<usize>);

/// Why a formula is not decided by brute force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// There are more regions than allowed, or constants are not known.
    TooLarge,
    /// Something faults.
    Fault(Fault),
}

impl From<Fault> for Undecided {
    fn from(fault: Fault) -> Undecided {
        Undecided::Fault(fault)
    }
}

/// All regions that can be reached from some states.
pub struct Regions<'m> {
    interpreter: Interpreter<'m>,
    greatest: u64,
    /// Whether clocks are compared with each other: then their fractions and distances are kept beyond it too.
    apart: bool,
    limit: usize,
    graph: RegionGraph,
    index: HashMap<RegionPoint, usize>,
    roots: Vec<usize>,
    /// The steps between regions that are looked at; all, if nothing is said.
    only: Option<HashSet<(usize, usize)>>,
}

impl<'m> Regions<'m> {
    /// The regions that can be reached from these states; fails if there are more than a number.
    pub fn new(
        interpreter: Interpreter<'m>,
        roots: Vec<State>,
        limit: usize,
    ) -> Result<Regions<'m>, Undecided> {
        let mut regions = Regions::empty(interpreter, limit)?;
        let points: Vec<RegionPoint> =
            roots.into_iter().map(|state| RegionPoint { state, tick: Ratio::ZERO, bound: None }).collect();
        let (graph, index, roots) = regions.explore(points, 0)?;
        (regions.graph, regions.index, regions.roots) = (graph, index, roots);
        Ok(regions)
    }

    fn empty(interpreter: Interpreter<'m>, limit: usize) -> Result<Regions<'m>, Undecided> {
        let clocks::Compared { greatest, apart } =
            compared(interpreter.model()).ok_or(Undecided::TooLarge)?;
        let graph = RegionGraph::empty(interpreter.model().runs);
        let (index, roots) = (HashMap::new(), Vec::new());
        Ok(Regions { interpreter, greatest, apart, limit, graph, index, roots, only: None })
    }

    /// The region of a state, without clocks of our own.
    fn plain(&self, state: State) -> State {
        // A tick at 1 has no fraction.
        self.canonical(RegionPoint { state, tick: whole(1), bound: None }, 0).state
    }

    /// Whether a formula holds in all states it began with.
    pub fn holds(&self, formula: &Formula) -> Result<bool, Undecided> {
        let truth = self.eval(formula)?;
        Ok(self.roots.iter().all(|root| truth[*root]))
    }

    /// Whether time can diverge from every state that can be reached.
    pub fn diverges(&self) -> bool {
        self.graph.time_diverges(&vec![true; self.graph.points.len()]).iter().all(|it| *it)
    }

    /// Whether time can diverge from all states it began with.
    pub(crate) fn starts_diverge(&self) -> bool {
        let diverges = self.graph.time_diverges(&vec![true; self.graph.points.len()]);
        self.roots.iter().all(|root| diverges[*root])
    }

    /// Whether a state can be reached in which nothing can happen, however long one waits.
    pub fn has_deadlock(&self) -> bool {
        self.graph.points.iter().any(|point| self.is_stuck(point.clone()))
    }

    /// Whether nothing can happen, however long one waits. A step into a state that an assumption drops is none.
    pub(crate) fn is_stuck(&self, point: RegionPoint) -> bool {
        let fires = |(_, branch): &(_, Branch)| match &branch.result {
            Firing::State(state) => self.interpreter.dropped_by(state) == Ok(None),
            _ => false,
        };
        let mut later = vec![self.canonical(point, 0)];
        loop {
            let now = &later[later.len() - 1];
            if self.interpreter.steps(&now.state).branches.iter().any(fires) {
                return false;
            }
            match self.delayed(now, 0) {
                Some((next, _)) if !later.contains(&next) => later.push(next),
                _ => return true,
            }
        }
    }

    /// The regions that can be reached from points, and the numbers of these.
    fn explore(&self, roots: Vec<RegionPoint>, cap: u64) -> Result<RegionExploration, Undecided> {
        let mut graph = RegionGraph::empty(self.interpreter.model().runs);
        let mut index = HashMap::new();
        let mut add = |point: RegionPoint, points: &mut Vec<RegionPoint>| -> usize {
            *index.entry(point).or_insert_with_key(|point| {
                points.push(point.clone());
                points.len() - 1
            })
        };
        let starts: Vec<usize> =
            roots.into_iter().map(|point| add(self.canonical(point, cap), &mut graph.points)).collect();
        while graph.after.len() < graph.points.len() {
            if graph.points.len() > self.limit {
                return Err(Undecided::TooLarge);
            }
            let point = graph.points[graph.after.len()].clone();
            let (mut after, mut ticks) = (Vec::new(), Vec::new());
            for (next, tick) in self.successors(&point, cap)? {
                after.push(add(next, &mut graph.points));
                ticks.push(tick);
            }
            graph.after.push(after);
            graph.ticks.push(ticks);
        }
        graph.base = match graph.points.iter().any(|point| point.bound.is_some()) {
            false => (0..graph.points.len()).collect(),
            true => graph
                .points
                .iter()
                .map(|point| {
                    let plain = self.canonical(RegionPoint { bound: None, ..point.clone() }, 0);
                    self.index.get(&plain).copied().ok_or(Undecided::TooLarge)
                })
                .collect::<Result<_, _>>()?,
        };
        graph.diverges = graph.runs_that_count();
        Ok((graph, index, starts))
    }

    /// The regions that follow, and whether time ticks on the way: after the shortest delay that leaves the region, and
    /// after each step. A step that faults leads nowhere.
    fn successors(&self, point: &RegionPoint, cap: u64) -> Result<Vec<(RegionPoint, bool)>, Undecided> {
        let mut next = Vec::new();
        next.extend(self.delayed(point, cap));
        for (_, branch) in self.interpreter.steps(&point.state).branches {
            match branch.result {
                Firing::State(state) if self.interpreter.dropped_by(&state) == Ok(None) => {
                    next.push((self.canonical(RegionPoint { state, ..point.clone() }, cap), false));
                }
                _ => {}
            }
        }
        if let Some(only) = &self.only {
            let base = |point: &RegionPoint| {
                self.index.get(&self.canonical(RegionPoint { bound: None, ..point.clone() }, 0)).copied()
            };
            let from = base(point);
            next.retain(|(to, _)| {
                let to = base(to);
                from == to || from.zip(to).is_some_and(|step| only.contains(&step))
            });
        }
        Ok(next)
    }

    /// The region after the shortest delay that leaves this one, and whether time ticks then.
    fn delayed(&self, point: &RegionPoint, cap: u64) -> Option<(RegionPoint, bool)> {
        let later = self.later(point, cap)?;
        let ticks = later.tick == whole(1);
        let tick = if ticks { Ratio::ZERO } else { later.tick };
        Some((self.canonical(RegionPoint { tick, ..later }, cap), ticks))
    }

    /// The point after the shortest delay that leaves the region, if so much time may pass.
    fn later(&self, point: &RegionPoint, cap: u64) -> Option<RegionPoint> {
        let fractions = self.fractions(point, cap);
        let (most, one) = (fractions.iter().max().copied().unwrap_or(Ratio::ZERO), whole(1));
        let rest = minus(one, most)?;
        // From an integer on, a little; else up to the next integer.
        let delay = match fractions.contains(&Ratio::ZERO) {
            true => half(rest)?,
            false => rest,
        };
        let state = self.interpreter.delay(&point.state, delay)?;
        let bound = match point.bound {
            Some(bound) => Some(bound.checked_add(delay)?),
            None => None,
        };
        Some(RegionPoint { state, tick: point.tick.checked_add(delay)?, bound })
    }

    /// The fractional parts of the clocks that are not beyond their greatest constant.
    fn fractions(&self, point: &RegionPoint, cap: u64) -> Vec<Ratio> {
        let mut fractions = Vec::new();
        let mut note = |value: Ratio, most: u64| {
            if value <= whole(most) {
                fractions.push(fraction(value));
            }
        };
        point
            .state
            .values
            .iter()
            .for_each(|value| each_clock(value, &mut |clock| note(clock, self.farthest())));
        note(point.tick, 1);
        point.bound.iter().for_each(|bound| note(*bound, cap));
        fractions
    }

    /// Up to where clocks are told apart one by one.
    fn farthest(&self) -> u64 {
        if self.apart { u64::MAX / 4 } else { self.greatest }
    }

    /// Clocks that are farther apart than any constant are drawn together.
    fn near(&self, mut point: RegionPoint) -> RegionPoint {
        let mut clocks = Vec::new();
        point.state.values.iter().for_each(|value| each_clock(value, &mut |clock| clocks.push(clock)));
        let map = drawn_together(clocks, self.greatest);
        let drawn = |clock: Ratio| map.iter().find(|(own, _)| *own == clock).map_or(clock, |(_, new)| *new);
        let values = point.state.values.into_iter().map(|value| map_clocks(value, &drawn));
        point.state.values = values.collect();
        point
    }

    /// The state that stands for a point's region.
    fn canonical(&self, point: RegionPoint, cap: u64) -> RegionPoint {
        let point = if self.apart { self.near(point) } else { point };
        let mut fractions = self.fractions(&point, cap);
        fractions.sort();
        fractions.dedup();
        fractions.retain(|fraction| *fraction != Ratio::ZERO);
        let place = |value: Ratio, most: u64| {
            if value > whole(most) {
                return whole(most + 1);
            }
            let (integer, rest) = (value.parts().0 / value.parts().1, fraction(value));
            // Whole numbers have no fraction, and rank before all that have one.
            let rank = fractions.iter().position(|fraction| *fraction == rest).map_or(0, |at| at as u64 + 1);
            debug_assert!(rank > 0 || rest == Ratio::ZERO, "every fraction has a rank");
            let parts = fractions.len() as u64 + 1;
            Ratio::new(integer * parts + rank, parts).or_internal("a number of parts is not zero")
        };
        let values = point.state.values.into_iter();
        let values = values.map(|value| map_clocks(value, &|clock| place(clock, self.farthest()))).collect();
        RegionPoint {
            state: State { values, live: point.state.live },
            tick: place(point.tick, 1),
            bound: point.bound.map(|bound| place(bound, cap)),
        }
    }
}

/// All regions that can be reached in a model; fails if there are more than a number or something faults.
pub fn regions(model: &Model, limit: usize) -> Result<Regions<'_>, Undecided> {
    let interpreter = Interpreter::new(model).map_err(|_| Undecided::TooLarge)?;
    Regions::new(interpreter, interpreter.starts(), limit)
}
