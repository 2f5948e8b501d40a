//! The truth of formulas in every region.

use shoal_model::{Condition, Fault, Formula, Interval, OrInternal, Ratio, Runs};

use super::{RegionGraph, RegionPoint, Regions, Undecided, clocks::whole};
use crate::branching::{components, not};

impl Regions<'_> {
    fn truth(&self, condition: &Condition) -> Result<Vec<bool>, Fault> {
        self.graph.points.iter().map(|point| self.interpreter.holds(&point.state, condition)).collect()
    }

    pub(super) fn eval(&self, formula: &Formula) -> Result<Vec<bool>, Undecided> {
        let all = |of: &[Formula]| of.iter().map(|of| self.eval(of)).collect::<Result<Vec<_>, _>>();
        let each = |of: &dyn Fn(usize) -> bool| (0..self.graph.points.len()).map(of).collect::<Vec<bool>>();
        let everywhere = each(&|_| true);
        Ok(match formula {
            Formula::Atom(condition) => self.truth(condition)?,
            Formula::Not(of) => not(&self.eval(of)?),
            Formula::And(of) => {
                let of = all(of)?;
                each(&|at| of.iter().all(|it| it[at]))
            }
            Formula::Or(of) => {
                let of = all(of)?;
                each(&|at| of.iter().any(|it| it[at]))
            }
            Formula::SomePath(path) => match path.as_ref() {
                Formula::Eventually(interval, of) => self.until(interval, &everywhere, &self.eval(of)?)?,
                Formula::Until(interval, a, b) => self.until(interval, &self.eval(a)?, &self.eval(b)?)?,
                Formula::Always(interval, of) => self.avoid(interval, &everywhere, &not(&self.eval(of)?))?,
                Formula::Release(interval, a, b) => {
                    self.avoid(interval, &not(&self.eval(a)?), &not(&self.eval(b)?))?
                }
                _ => return Err(Undecided::TooLarge),
            },
            Formula::AllPaths(path) => not(&match path.as_ref() {
                Formula::Always(interval, of) => self.until(interval, &everywhere, &not(&self.eval(of)?))?,
                Formula::Release(interval, a, b) => {
                    self.until(interval, &not(&self.eval(a)?), &not(&self.eval(b)?))?
                }
                Formula::Eventually(interval, of) => self.avoid(interval, &everywhere, &self.eval(of)?)?,
                Formula::Until(interval, a, b) => self.avoid(interval, &self.eval(a)?, &self.eval(b)?)?,
                _ => return Err(Undecided::TooLarge),
            }),
            _ => return Err(Undecided::TooLarge),
        })
    }

    /// The regions with the clock of a bound, which starts at 0 in every region; for each, where it starts, and whether
    /// the bound is met.
    fn within<T>(
        &self,
        interval: &Interval,
        decide: impl FnOnce(&RegionGraph, &[bool]) -> T,
    ) -> Result<(T, Vec<usize>), Undecided> {
        if *interval == Interval::default() {
            let all = (0..self.graph.points.len()).collect();
            return Ok((decide(&self.graph, &vec![true; self.graph.points.len()]), all));
        }
        let cap = interval.from.map_or(0, |from| from.0).max(interval.to.map_or(0, |to| to.0));
        let zero = |point: &RegionPoint| RegionPoint { bound: Some(Ratio::ZERO), ..point.clone() };
        let (graph, _, roots) = self.explore(self.graph.points.iter().map(zero).collect(), cap)?;
        let met = |point: &RegionPoint| {
            let bound = point.bound.or_internal("points of a bounded formula have a bound");
            let early = |(from, strict): (u64, bool)| bound < whole(from) || strict && bound == whole(from);
            let late = |(to, strict): (u64, bool)| bound > whole(to) || strict && bound == whole(to);
            !interval.from.is_some_and(early) && !interval.to.is_some_and(late)
        };
        let met: Vec<bool> = graph.points.iter().map(met).collect();
        Ok((decide(&graph, &met), roots))
    }

    /// On some path, the first (or the second) until the second, which comes within the interval.
    fn until(&self, interval: &Interval, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Undecided> {
        let (truth, roots) = self.within(interval, |graph, met| {
            let stay: Vec<bool> = graph.base.iter().map(|at| a[*at] || b[*at]).collect();
            let goal = (0..met.len()).map(|at| b[graph.base[at]] && met[at]).collect::<Vec<bool>>();
            graph.until(&stay, &goal)
        })?;
        Ok(roots.iter().map(|root| truth[*root]).collect())
    }

    /// On some path, never within the interval the second with the first (or the second) before.
    fn avoid(&self, interval: &Interval, a: &[bool], b: &[bool]) -> Result<Vec<bool>, Undecided> {
        let (truth, roots) = self.within(interval, |graph, met| {
            let away = (0..met.len()).map(|at| !(met[at] && b[graph.base[at]])).collect::<Vec<bool>>();
            let lost = (0..met.len()).map(|at| away[at] && !a[graph.base[at]] && !b[graph.base[at]]);
            let lost: Vec<bool> = lost.collect();
            let (for_ever, until) = (graph.always(&away), graph.until(&away, &lost));
            (0..met.len()).map(|at| for_ever[at] || until[at]).collect::<Vec<bool>>()
        })?;
        Ok(roots.iter().map(|root| truth[*root]).collect())
    }
}

impl RegionGraph {
    pub(super) fn empty(runs: Runs) -> RegionGraph {
        RegionGraph {
            runs,
            points: Vec::new(),
            after: Vec::new(),
            ticks: Vec::new(),
            base: Vec::new(),
            diverges: Vec::new(),
        }
    }

    /// From where a goal in which time can diverge is reached inside a set.
    fn until(&self, stay: &[bool], goal: &[bool]) -> Vec<bool> {
        let found = goal.iter().zip(&self.diverges).map(|(goal, diverges)| *goal && *diverges).collect();
        self.backwards(stay, found)
    }

    fn backwards(&self, stay: &[bool], mut found: Vec<bool>) -> Vec<bool> {
        loop {
            let mut changed = false;
            for at in (0..found.len()).rev() {
                if !found[at] && stay[at] && self.after[at].iter().any(|to| found[*to]) {
                    found[at] = true;
                    changed = true;
                }
            }
            if !changed {
                return found;
            }
        }
    }

    /// From where there is a run that counts.
    pub(super) fn runs_that_count(&self) -> Vec<bool> {
        let all = vec![true; self.points.len()];
        match self.runs {
            Runs::Divergent => self.time_diverges(&all),
            Runs::Maximal => all,
        }
    }

    /// From where a run that counts stays in a set.
    fn always(&self, set: &[bool]) -> Vec<bool> {
        if self.runs == Runs::Divergent {
            return self.time_diverges(set);
        }
        // One that goes on for ever, by steps or by waiting, or that ends where nothing follows.
        let mut found = set.to_vec();
        loop {
            let goes_on = |at: usize| self.after[at].is_empty() || self.after[at].iter().any(|to| found[*to]);
            let next: Vec<bool> = (0..found.len()).map(|at| found[at] && goes_on(at)).collect();
            if next == found {
                return found;
            }
            found = next;
        }
    }

    /// From where, inside a set, time can diverge: a component is reached in which it ticks.
    pub(super) fn time_diverges(&self, set: &[bool]) -> Vec<bool> {
        let mut found = vec![false; set.len()];
        let mut number = vec![usize::MAX; set.len()];
        let components = components(&self.after, set);
        for (component, points) in components.iter().enumerate() {
            points.iter().for_each(|at| number[*at] = component);
        }
        for (component, points) in components.iter().enumerate() {
            let ticks = |at: &usize| {
                let steps = self.after[*at].iter().zip(&self.ticks[*at]);
                steps.into_iter().any(|(to, tick)| *tick && number[*to] == component)
            };
            if points.iter().any(ticks) {
                points.iter().for_each(|at| found[*at] = true);
            }
        }
        self.backwards(set, found)
    }
}
