//! Runs that show why a formula is false, with rational times.
//!
//! A formula that is false on all paths is shown by a path, whose end may need a path of its own to be understood; a formula
//! that is false because there is no path has nothing to show. Every run goes on for ever: it ends in a loop that leads
//! back into the same region after at least one unit of time, and so can be repeated, or it waits.

use shoal_dbm::{ClockEvent, Federation, Zone};
use shoal_model::{Condition, Formula, Interval, Ratio, Reason, Runs};

use super::{
    Bounded, Evaluation,
    arena::Arena,
    opposite,
    paths::{Computed, Layers, PathSets, ZoneSet, both, either},
    point::{ClockPoint, Delays, Rational},
    widened,
};
use crate::halt::{TctlHalt, unsupported};

/// A run under way.
pub struct TimedRun {
    start: usize,
    location: usize,
    /// The clocks of the model now.
    now: ClockPoint,
    /// Who everybody in the location is. Empty if names never change.
    names: Vec<usize>,
    steps: Vec<TakenEdge>,
    /// How long it has been waiting since the last of them.
    waiting: Rational,
    /// The step after which it goes on for ever; the number of steps if it waits for ever.
    back: Option<usize>,
}

/// A step of a run, as it is told.
#[derive(Clone, Debug)]
pub struct RunStep {
    /// How long the run waited before it.
    pub delay: Ratio,
    /// The edge that it takes.
    pub edge: usize,
    /// The clocks after it, with those of the formula behind.
    pub after: Vec<Ratio>,
    /// Who everybody is after it. Empty if names never change.
    pub names: Vec<usize>,
}

/// A step of a run under way.
struct TakenEdge {
    /// How long it waited before.
    waited: Rational,
    edge: usize,
    /// The clocks after it, with those of our own behind.
    after: ClockPoint,
    /// Who everybody is after it.
    names: Vec<usize>,
}

/// A state right after a step, and in which round that was.
struct Passed {
    step: usize,
    location: usize,
    region: Vec<i64>,
    names: Vec<usize>,
    round: usize,
}

/// Who everybody is after a change of names.
fn renamed(before: &[usize], change: &[usize]) -> Vec<usize> {
    let mut after: Vec<usize> = (0..change.len()).collect();
    for (from, to) in change.iter().enumerate() {
        after[*to] = before.get(from).copied().unwrap_or(from);
    }
    if change.is_empty() { before.to_vec() } else { after }
}

/// After so many units of time without a loop a run is given up.
const MOST_ROUNDS: usize = 2_000;

impl Evaluation<'_, '_> {
    /// Why a formula is false in a start.
    pub(super) fn why_false(&mut self, start: usize, formula: &Formula) -> Computed<TimedRun> {
        let arena = self.paths.arena;
        let mut run = TimedRun::new(arena, start);
        match self.show(formula, false, &mut run) {
            Ok(()) => {}
            // Without a run to show, it is still false where it starts.
            Err(TctlHalt::Lost) => run = TimedRun::new(arena, start),
            Err(halt) => return Err(halt),
        }
        Ok(run)
    }

    /// Why something is not always possible: the run to where it is not.
    pub(super) fn impossible(&mut self, start: usize, condition: &Condition) -> Computed<(Reason, TimedRun)> {
        let mut run = TimedRun::new(self.paths.arena, start);
        let all = self.paths.all(0);
        let possible = self.states(&Formula::Atom(condition.clone()))?;
        let possible = self.until(&Interval::default(), &all, &possible)?;
        let goal = both(&self.paths.not(&possible, 0), &self.diverges()?);
        self.walk(&all, &goal, &self.bound(&Interval::default()), &mut run)?;
        Ok((Reason::NotPossible.after(ratio(run.waiting)), run))
    }

    /// A run to a state from which time cannot diverge.
    pub(super) fn timelock(&mut self) -> Computed<Option<(Reason, TimedRun)>> {
        if self.paths.runs == Runs::Maximal {
            return unsupported("timelocks where all maximal runs count", None);
        }
        let all = self.paths.all(0);
        let stuck = self.paths.not(&self.diverges()?, 0);
        let Some(start) = self.start_in(&self.paths.until(&all, &stuck, 0)?) else { return Ok(None) };
        let mut run = TimedRun::new(self.paths.arena, start);
        self.walk(&all, &stuck, &self.bound(&Interval::default()), &mut run)?;
        Ok(Some((Reason::Deadlock.after(ratio(run.waiting)), run)))
    }

    /// Follows what makes a formula true (or false) where the run is.
    fn show(&mut self, formula: &Formula, truth: bool, run: &mut TimedRun) -> Computed<()> {
        match formula {
            Formula::Not(of) => self.show(of, !truth, run),
            Formula::And(of) | Formula::Or(of) => {
                // A part that has this truth value, with a path if there is one.
                let mut chosen = None;
                for part in of {
                    let holds = run.is_in(&self.states(part)?);
                    if holds == truth && (chosen.is_none() || has_path(part, truth)) {
                        chosen = Some(part);
                    }
                }
                match chosen {
                    Some(part) => self.show(part, truth, run),
                    None => self.go_on(run),
                }
            }
            Formula::SomePath(path) if truth => self.show_path(path, run),
            Formula::AllPaths(path) if !truth => self.show_path(&opposite(path), run),
            _ => self.go_on(run),
        }
    }

    /// Follows a path on which a formula is true.
    fn show_path(&mut self, path: &Formula, run: &mut TimedRun) -> Computed<()> {
        let paths = self.paths;
        match path {
            Formula::Eventually(interval, of) => self.reach(interval, &paths.all(0), of, run),
            Formula::Until(interval, a, b) => {
                let a = self.states(a)?;
                self.reach(interval, &a, b, run)
            }
            Formula::Always(interval, of) => {
                let wrong = paths.not(&self.states(of)?, 0);
                self.stay_away(interval, None, &wrong, run)
            }
            Formula::Release(interval, a, b) => {
                let wrong = paths.not(&self.states(b)?, 0);
                self.stay_away(interval, Some(a), &wrong, run)
            }
            _ => self.go_on(run),
        }
    }

    /// `a` or `b` until `b`, and why `b`.
    fn reach(&mut self, interval: &Interval, a: &ZoneSet, b: &Formula, run: &mut TimedRun) -> Computed<()> {
        let (bound, reached) = (self.bound(interval), self.states(b)?);
        let goal = bound.met(&both(&reached, &self.diverges()?));
        self.walk(&bound.lift(&either(a, &reached)), &goal, &bound, run)?;
        self.show(b, true, run)
    }

    /// Never something within the interval, unless another thing has come before.
    fn stay_away(
        &mut self,
        interval: &Interval,
        freed: Option<&Formula>,
        wrong: &ZoneSet,
        run: &mut TimedRun,
    ) -> Computed<()> {
        let (paths, bound) = (self.paths, self.bound(interval));
        let away = paths.not(&bound.met(wrong), bound.own());
        if paths.runs == Runs::Maximal && freed.is_none() {
            return self.stay(&away, run);
        }
        let for_ever = paths.always(&away, bound.own())?;
        if contains(&for_ever[run.location], &bound.start(&run.now)) {
            return self.loop_in(&away, &for_ever, &bound, run);
        }
        let Some(freed) = freed else { return Err(TctlHalt::Lost) };
        let goal = both(&self.states(freed)?, &paths.not(wrong, 0));
        let goal = both(&goal, &self.diverges()?);
        self.walk(&away, &both(&bound.lift(&goal), &away), &bound, run)?;
        self.show(freed, true, run)
    }

    /// Goes on for ever, anyhow. Where time cannot diverge there is nothing more to show.
    fn go_on(&mut self, run: &mut TimedRun) -> Computed<()> {
        if self.paths.runs == Runs::Maximal {
            return Ok(());
        }
        let diverges = self.diverges()?;
        match run.is_in(&diverges) {
            true => self.loop_in(&self.paths.all(0), &diverges, &self.bound(&Interval::default()), run),
            false => Ok(()),
        }
    }

    /// Stays in a set on a run that cannot be made longer: to where it may end, or round and round.
    fn stay(&mut self, stay: &ZoneSet, run: &mut TimedRun) -> Computed<()> {
        let (paths, arena) = (self.paths, self.paths.arena);
        let (stays, ends) = (paths.stays(stay)?, paths.ends(stay)?);
        let way = GoalPath {
            paths,
            stay,
            goal: &ends,
            own: 0,
            layers: Layers { added: Vec::new() },
            avoid: paths.avoided(stay, 0),
        };
        let mut seen: Vec<Passed> = Vec::new();
        for round in 0..MOST_ROUNDS {
            let (at, mut point) = (run.location, run.now.clone());
            if run.waiting == Rational::ZERO {
                let (region, names) = (point.region(self.greatest, self.apart), run.names.clone());
                let again = |passed: &&Passed| {
                    passed.location == at && passed.region == region && passed.names == names
                };
                if let Some(passed) = seen.iter().find(again) {
                    run.back = Some(passed.step);
                    return Ok(());
                }
                seen.push(Passed { step: run.steps.len(), location: at, region, names, round });
            }
            if let Some(delays) = way.soonest(at, &point, &ends[at]) {
                let delay = delays.pick().ok_or(TctlHalt::Lost)?;
                run.waiting = run.waiting.plus(delay).ok_or(TctlHalt::Lost)?;
                run.now = point.later(delay).ok_or(TctlHalt::Lost)?;
                let invariant = arena.locations[at].invariant.as_ref();
                run.back = invariant.filter(|zone| !zone.is_bounded()).map(|_| run.steps.len());
                return Ok(());
            }
            let leaving = arena.locations[at].leaving.iter().find_map(|number| {
                let edge = &arena.edges[*number];
                let zones = edge.before(&stays[edge.to]).intersection(&stay[at]);
                Some((*number, way.soonest(at, &point, &zones)?))
            });
            let (edge, delays) = leaving.ok_or(TctlHalt::Lost)?;
            let delay = delays.pick().ok_or(TctlHalt::Lost)?;
            point = point.later(delay).ok_or(TctlHalt::Lost)?;
            run.waiting = run.waiting.plus(delay).ok_or(TctlHalt::Lost)?;
            run.take(arena, edge, &mut point);
        }
        Err(TctlHalt::Lost)
    }

    /// Goes to a goal without leaving a set.
    fn walk(&mut self, stay: &ZoneSet, goal: &ZoneSet, bound: &Bounded, run: &mut TimedRun) -> Computed<()> {
        let mut point = bound.start(&run.now);
        GoalPath::new(self.paths, stay, goal, bound.own())?.follow(&mut point, run)
    }

    /// Goes round for ever inside a set, from which time can diverge everywhere in another.
    fn loop_in(
        &mut self,
        stay: &ZoneSet,
        for_ever: &ZoneSet,
        bound: &Bounded,
        run: &mut TimedRun,
    ) -> Computed<()> {
        let (paths, greatest, apart) = (self.paths, self.greatest, self.apart);
        let arena = paths.arena;
        let goal = paths.after_a_unit(for_ever, bound.own());
        let stay = widened(stay);
        let way = GoalPath::new(paths, &stay, &goal, bound.own() + 1)?;
        let clocks = arena.clocks + bound.own();
        let mut now = bound.start(&run.now);
        let mut seen: Vec<Passed> = Vec::new();
        if run.waiting == Rational::ZERO {
            let (step, location, names) = (run.steps.len(), run.location, run.names.clone());
            seen.push(Passed { step, location, region: now.region(greatest, apart), names, round: 0 });
        }
        let mut idle = 0;
        for round in 1..=MOST_ROUNDS {
            let before = run.steps.len();
            let mut point = now.widened();
            way.follow(&mut point, run)?;
            now = point.narrowed(clocks);
            let Some(first) = run.steps.get(before) else {
                idle += 1;
                // All clocks are beyond every constant: it can wait for ever.
                if idle > greatest + 1 {
                    run.back = Some(run.steps.len());
                    return Ok(());
                }
                continue;
            };
            idle = 0;
            let location = arena.edges[first.edge].to;
            let (region, names) = (first.after.narrowed(clocks).region(greatest, apart), first.names.clone());
            // A whole round in between takes a unit of time at least.
            let again = |passed: &&Passed| {
                passed.location == location
                    && passed.region == region
                    && passed.names == names
                    && passed.round + 1 < round
            };
            if let Some(passed) = seen.iter().find(again) {
                run.steps.truncate(before + 1);
                run.back = Some(passed.step);
                return Ok(());
            }
            seen.push(Passed { step: before + 1, location, region, names, round });
        }
        Err(TctlHalt::Lost)
    }
}

/// The way to a goal inside a set, from wherever there is one.
struct GoalPath<'w, 'a> {
    paths: &'w PathSets<'a>,
    stay: &'w ZoneSet,
    goal: &'w ZoneSet,
    own: usize,
    layers: Layers,
    avoid: ZoneSet,
}

impl<'w, 'a> GoalPath<'w, 'a> {
    fn new(paths: &'w PathSets<'a>, stay: &'w ZoneSet, goal: &'w ZoneSet, own: usize) -> Computed<Self> {
        let mut layers = Layers { added: Vec::new() };
        paths.until_in_layers(stay, goal, own, Some(&mut layers))?;
        Ok(GoalPath { paths, stay, goal, own, layers, avoid: paths.avoided(stay, own) })
    }

    /// Follows the layers down to the goal. The point has the clocks of our own.
    fn follow(&self, point: &mut ClockPoint, run: &mut TimedRun) -> Computed<()> {
        let arena = self.paths.arena;
        let mut below = self.layers.added.len();
        while !contains(&self.goal[run.location], point) {
            let (edge, layer, delays) = self.nearest(run.location, point, below).ok_or(TctlHalt::Lost)?;
            let delay = delays.pick().ok_or(TctlHalt::Lost)?;
            *point = point.later(delay).ok_or(TctlHalt::Lost)?;
            run.waiting = run.waiting.plus(delay).ok_or(TctlHalt::Lost)?;
            below = layer;
            match edge {
                Some(edge) => run.take(arena, edge, point),
                None => run.now = point.narrowed(arena.clocks),
            }
        }
        Ok(())
    }

    /// The least layer that can be reached from a point, how, and after which delays; first of all, the goal.
    fn nearest(&self, at: usize, point: &ClockPoint, below: usize) -> Option<(Option<usize>, usize, Delays)> {
        let arena = self.paths.arena;
        if let Some(delays) = self.soonest(at, point, &self.goal[at]) {
            return Some((None, 0, delays));
        }
        for (layer, (to, set)) in self.layers.added[..below].iter().enumerate() {
            for number in &arena.locations[at].leaving {
                let edge = &arena.edges[*number];
                if edge.to == *to
                    && let Some(delays) =
                        self.soonest(at, point, &edge.before(set).intersection(&self.stay[at]))
                {
                    return Some((Some(*number), layer, delays));
                }
            }
        }
        None
    }

    /// The delays after which a point is in one of some zones, as soon as can be.
    fn soonest(&self, at: usize, point: &ClockPoint, zones: &Federation) -> Option<Delays> {
        let waits = zones.zones().iter().filter_map(|zone| self.waits(at, point, zone));
        waits.reduce(|best, other| if other.begins_before(&best) { other } else { best })
    }

    /// The delays after which a point is in a zone and has not left the set.
    fn waits(&self, at: usize, point: &ClockPoint, zone: &Zone) -> Option<Delays> {
        let delays = point.delays(zone)?;
        let (_, invariant) = self.paths.room(at, self.own);
        let Some(invariant) = invariant.filter(|invariant| point.is_in(invariant)) else {
            return delays.and(Delays::NONE);
        };
        let mut delays = delays.and(point.delays(&invariant)?)?;
        for wrong in self.avoid[at].zones() {
            if let Some(met) = point.delays(wrong) {
                delays = delays.ahead_of(met)?;
            }
        }
        Some(delays)
    }
}

fn contains(set: &Federation, point: &ClockPoint) -> bool {
    set.contains(&point.clocks, point.parts)
}

/// Whether a formula has a path to show for its truth value.
fn has_path(formula: &Formula, truth: bool) -> bool {
    match formula {
        Formula::Not(of) => has_path(of, !truth),
        Formula::And(of) | Formula::Or(of) => of.iter().any(|of| has_path(of, truth)),
        Formula::SomePath(_) => truth,
        Formula::AllPaths(_) => !truth,
        Formula::Atom(_)
        | Formula::Next(_)
        | Formula::Always(..)
        | Formula::Eventually(..)
        | Formula::Until(..)
        | Formula::Release(..)
        | Formula::Never(_) => false,
    }
}

fn ratio(number: Rational) -> Ratio {
    Ratio::new(number.0.unsigned_abs(), number.1.unsigned_abs()).unwrap_or(Ratio::ZERO)
}

impl TimedRun {
    fn new(arena: &Arena, start: usize) -> TimedRun {
        let (location, clocks, names) = &arena.starts[start];
        TimedRun {
            start,
            location: *location,
            now: ClockPoint::whole(clocks),
            names: renamed(&[], names),
            steps: Vec::new(),
            waiting: Rational::ZERO,
            back: None,
        }
    }

    fn is_in(&self, set: &ZoneSet) -> bool {
        contains(&set[self.location], &self.now)
    }

    /// The time that passes after the last step of a run that ends.
    pub fn end(&self) -> Ratio {
        if self.back.is_none() { ratio(self.waiting) } else { Ratio::ZERO }
    }

    /// The edges that it takes.
    pub fn edges(&self) -> Vec<usize> {
        self.steps.iter().map(|step| step.edge).collect()
    }

    /// Takes an edge; the point has clocks of our own behind those of the model.
    fn take(&mut self, arena: &Arena, edge: usize, point: &mut ClockPoint) {
        let taken = &arena.edges[edge];
        for event in &taken.events {
            if let ClockEvent::Set(clock, value) = event {
                point.set(*clock, *value);
            }
        }
        point.move_clocks(&taken.places);
        self.location = taken.to;
        self.now = point.narrowed(arena.clocks);
        self.names = renamed(&self.names, &taken.names);
        let waited = std::mem::replace(&mut self.waiting, Rational::ZERO);
        self.steps.push(TakenEdge { waited, edge, after: point.clone(), names: self.names.clone() });
    }

    /// The start that it begins in.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The step after which it goes on for ever; the number of steps if it waits for ever.
    pub fn loops_to(&self) -> Option<usize> {
        self.back
    }

    /// The clocks where it starts, and who everybody is there.
    pub fn at_start(&self, arena: &Arena) -> (Vec<Ratio>, Vec<usize>) {
        let (_, clocks, names) = &arena.starts[self.start];
        (readings(&ClockPoint::whole(clocks)), renamed(&[], names))
    }

    /// Its steps.
    pub fn steps(&self) -> impl Iterator<Item = RunStep> + '_ {
        self.steps.iter().map(|taken| RunStep {
            delay: ratio(taken.waited),
            edge: taken.edge,
            after: readings(&taken.after),
            names: taken.names.clone(),
        })
    }
}

fn readings(point: &ClockPoint) -> Vec<Ratio> {
    (1..=point.clocks.len()).map(|clock| ratio(point.clock(clock))).collect()
}
