//! Timed formulas of branching time, on paths on which time diverges.
//!
//! A formula is evaluated on an [`Arena`]: locations with clocks, and edges between them. An edge may say how clocks change
//! places, and who is who then. The states that satisfy a formula are computed inside out, as federations of zones for each
//! location. `E a U b` is a least fixpoint of what comes before by waiting or by a step;
//! that time diverges inside a set is a greatest fixpoint with a clock of our own that measures one unit; a bound on time is
//! a constraint on another clock of our own, which is 0 where the formula is evaluated; the formulas about all paths are
//! the opposites of formulas about some.
//!
//! Where the model says so, all runs count that cannot be made longer: then a run may end where nothing can happen any more,
//! and may take infinitely many steps in bounded time; there are no bounds on time.
//!
//! `a U b` asks for a moment in which `b` holds, with `a` or `b` in all moments before it; steps that take no time count
//! as moments. (With `a` alone nothing that begins to hold after a moment, as `x > 1` does, could be reached.)

mod arena;
mod halt;
mod paths;
mod point;
mod witness;

use shoal_dbm::{Bound, Constraint, Federation, LARGEST_CONSTANT};
use shoal_model::{
    DeadlockKind, Formula, Interval, Logic, Model, OrInternal, PropertyId, PropertyKind, Reason, Runs,
    Unsupported, Watch,
};

use self::{
    paths::{PathSets, both, either},
    point::ClockPoint,
};

pub use self::{
    arena::{Arena, ArenaEdge, ArenaLocation, Space},
    halt::{ENGINE, TctlHalt, unsupported},
    paths::{Computed, ZoneSet},
    witness::{RunStep, TimedRun},
};

/// Whether a property is decided here.
pub fn is_temporal(kind: &PropertyKind) -> bool {
    matches!(
        kind,
        PropertyKind::Temporal(Logic::Ctl | Logic::Tctl, _)
            | PropertyKind::AlwaysPossible(_)
            | PropertyKind::Deadlock(DeadlockKind::Timelock)
    )
}

/// The formula that a property asks.
pub fn formula(kind: &PropertyKind) -> Formula {
    match kind {
        PropertyKind::Temporal(_, formula) => formula.clone(),
        PropertyKind::AlwaysPossible(condition) => {
            let possible =
                Formula::Eventually(Interval::default(), Box::new(Formula::Atom(condition.clone())));
            let possible = Formula::SomePath(Box::new(possible));
            Formula::AllPaths(Box::new(Formula::Always(Interval::default(), Box::new(possible))))
        }
        // It is asked without a formula.
        PropertyKind::Deadlock(DeadlockKind::Timelock) => Formula::And(Vec::new()),
        PropertyKind::Invariant(_)
        | PropertyKind::Assertion
        | PropertyKind::NoFaults
        | PropertyKind::Bound
        | PropertyKind::Deadlock(
            DeadlockKind::Stuck | DeadlockKind::Stuttering | DeadlockKind::StuckUnless(_),
        )
        | PropertyKind::Assume(_)
        | PropertyKind::Cover(_)
        | PropertyKind::CoverDeadlock(_)
        | PropertyKind::Extreme(_)
        | PropertyKind::Unclear(_) => shoal_model::internal!("a property without a formula"),
    }
}

/// Says what is lacking for a property.
pub fn support(model: &Model, property: PropertyId) -> Result<(), Unsupported> {
    let property = &model.properties[property];
    let mut stack = vec![formula(&property.kind)];
    while let Some(formula) = stack.pop() {
        match formula {
            Formula::Atom(_) => {}
            Formula::Not(of) => stack.push(*of),
            Formula::And(of) | Formula::Or(of) => stack.extend(of),
            Formula::AllPaths(path) | Formula::SomePath(path) => match *path {
                Formula::Always(interval, of) | Formula::Eventually(interval, of) => {
                    small(&interval, property.span)?;
                    stack.push(*of);
                }
                Formula::Until(interval, a, b) | Formula::Release(interval, a, b) => {
                    small(&interval, property.span)?;
                    stack.extend([*a, *b]);
                }
                Formula::Atom(_)
                | Formula::Not(_)
                | Formula::And(_)
                | Formula::Or(_)
                | Formula::AllPaths(_)
                | Formula::SomePath(_)
                | Formula::Next(_)
                | Formula::Never(_) => {
                    return unsupported("a next moment in dense time", Some(property.span));
                }
            },
            Formula::Next(_)
            | Formula::Always(..)
            | Formula::Eventually(..)
            | Formula::Until(..)
            | Formula::Release(..)
            | Formula::Never(_) => {
                return unsupported("a temporal formula of linear time", Some(property.span));
            }
        }
    }
    Ok(())
}

fn small(interval: &Interval, span: shoal_syntax::Span) -> Result<(), Unsupported> {
    let ends = [interval.from, interval.to].into_iter().flatten();
    match ends.map(|(end, _)| end).max() {
        Some(end) if end > LARGEST_CONSTANT.unsigned_abs() => {
            unsupported(format!("a bound beyond {LARGEST_CONSTANT}"), Some(span))
        }
        _ => Ok(()),
    }
}

/// Why a property is violated, and a run that shows it; nothing if it holds.
pub fn violation(
    arena: &Arena,
    space: &dyn Space,
    runs: Runs,
    kind: &PropertyKind,
    watch: &Watch,
) -> Computed<Option<(Reason, TimedRun)>> {
    let paths = PathSets { arena, runs, watch };
    Evaluation::new(&paths, space, &formula(kind)).violation(kind)
}

/// What is to be known of runs on which time does not diverge, for they are not counted. Says nothing when time is up.
pub fn notes(arena: &Arena, space: &dyn Space, runs: Runs, watch: &Watch) -> Vec<String> {
    let paths = PathSets { arena, runs, watch };
    let mut evaluation = Evaluation::new(&paths, space, &Formula::And(Vec::new()));
    let mut notes = Vec::new();
    if let Ok(true) = evaluation.has_timelock() {
        notes.push(TIMELOCK.into());
    }
    if let Ok(true) = evaluation.has_zeno_run() {
        notes.push(ZENO.into());
    }
    notes
}

const TIMELOCK: &str =
    "a state can be reached from which time cannot diverge (a timelock); no run that is counted goes there";
const ZENO: &str =
    "infinitely many steps can be taken in bounded time (a Zeno run); such runs are not counted";

/// Computes the states that satisfy formulas.
struct Evaluation<'p, 'a> {
    paths: &'p PathSets<'a>,
    space: &'p dyn Space,
    /// From where time can diverge, once it is known.
    diverges: Option<ZoneSet>,
    /// The states of formulas that were computed before.
    known: Vec<(Formula, ZoneSet)>,
    /// The greatest constant that a clock is compared with.
    greatest: i64,
    /// Whether clocks are compared with each other.
    apart: bool,
}

impl<'p, 'a> Evaluation<'p, 'a> {
    fn new(paths: &'p PathSets<'a>, space: &'p dyn Space, formula: &Formula) -> Self {
        let greatest = space.greatest().max(greatest_end(formula));
        let apart = space.compares_clocks();
        Evaluation { paths, space, diverges: None, known: Vec::new(), greatest, apart }
    }

    /// Why a property is violated, and a run that shows it; nothing if it holds.
    fn violation(&mut self, kind: &PropertyKind) -> Computed<Option<(Reason, TimedRun)>> {
        if let PropertyKind::Deadlock(_) = kind {
            return self.timelock();
        }
        let formula = formula(kind);
        let set = self.states(&formula)?;
        let Some(start) = self.start_in(&self.paths.not(&set, 0)) else { return Ok(None) };
        Ok(Some(match kind {
            PropertyKind::AlwaysPossible(condition) => self.impossible(start, condition)?,
            _ => {
                let run = self.why_false(start, &formula)?;
                (Reason::FormulaFalse.after(run.end()), run)
            }
        }))
    }

    /// A start that is in a set.
    fn start_in(&self, set: &ZoneSet) -> Option<usize> {
        self.paths.arena.starts.iter().position(|(location, clocks, _)| {
            let point: Vec<i64> = clocks.iter().map(|clock| i64::from(*clock)).collect();
            set[*location].contains(&point, 1)
        })
    }

    /// Whether a state can be reached from which time cannot diverge.
    fn has_timelock(&mut self) -> Computed<bool> {
        let stuck = self.paths.not(&self.diverges()?, 0);
        Ok(self.start_in(&self.paths.until(&self.paths.all(0), &stuck, 0)?).is_some())
    }

    /// Whether a state can be reached from which infinitely many steps can be taken in bounded time.
    fn has_zeno_run(&self) -> Computed<bool> {
        let zeno = self.paths.steps_without_time()?;
        Ok(self.start_in(&self.paths.until(&self.paths.all(0), &zeno, 0)?).is_some())
    }

    /// The states in which a formula holds.
    fn states(&mut self, formula: &Formula) -> Computed {
        if let Some((_, set)) = self.known.iter().find(|(known, _)| known == formula) {
            return Ok(set.clone());
        }
        let paths = self.paths;
        let mut set = match formula {
            Formula::Atom(condition) => self.space.atom(condition)?,
            Formula::Not(of) => paths.not(&self.states(of)?, 0),
            Formula::And(of) => {
                let mut all = paths.all(0);
                for of in of {
                    all = both(&all, &self.states(of)?);
                }
                all
            }
            Formula::Or(of) => {
                let mut any = paths.none();
                for of in of {
                    any = either(&any, &self.states(of)?);
                }
                any
            }
            Formula::SomePath(path) => self.some_path(path)?,
            Formula::AllPaths(path) => paths.not(&self.some_path(&opposite(path))?, 0),
            Formula::Next(_)
            | Formula::Always(..)
            | Formula::Eventually(..)
            | Formula::Until(..)
            | Formula::Release(..)
            | Formula::Never(_) => {
                shoal_model::internal!("a formula of one path stands below a quantifier over paths")
            }
        };
        paths.tidy(&mut set, 0);
        self.known.push((formula.clone(), set.clone()));
        Ok(set)
    }

    /// The states in which a path begins on which a formula is true.
    fn some_path(&mut self, path: &Formula) -> Computed {
        let all = self.paths.all(0);
        match path {
            Formula::Eventually(interval, of) => {
                let of = self.states(of)?;
                self.until(interval, &all, &of)
            }
            Formula::Until(interval, a, b) => {
                let (a, b) = (self.states(a)?, self.states(b)?);
                self.until(interval, &a, &b)
            }
            Formula::Always(interval, of) => {
                let wrong = self.paths.not(&self.states(of)?, 0);
                self.avoid(interval, &all, &wrong)
            }
            Formula::Release(interval, a, b) => {
                let (a, b) = (self.states(a)?, self.states(b)?);
                self.avoid(interval, &self.paths.not(&a, 0), &self.paths.not(&b, 0))
            }
            Formula::Atom(_)
            | Formula::Not(_)
            | Formula::And(_)
            | Formula::Or(_)
            | Formula::AllPaths(_)
            | Formula::SomePath(_)
            | Formula::Next(_)
            | Formula::Never(_) => {
                shoal_model::internal!("what stands below a quantifier over paths was looked at before")
            }
        }
    }

    /// From where time can diverge.
    fn diverges(&mut self) -> Computed {
        if let Some(known) = &self.diverges {
            return Ok(known.clone());
        }
        let found = match self.paths.runs {
            Runs::Divergent => self.paths.always(&self.paths.all(0), 0)?,
            // Every run can be made longer until it cannot.
            Runs::Maximal => self.paths.all(0),
        };
        self.diverges = Some(found.clone());
        Ok(found)
    }

    /// On some path, `a` or `b` until `b`, which comes within the interval.
    fn until(&mut self, interval: &Interval, a: &ZoneSet, b: &ZoneSet) -> Computed {
        let bound = self.bound(interval);
        let goal = bound.met(&both(b, &self.diverges()?));
        let found = self.paths.until(&bound.lift(&either(a, b)), &goal, bound.own())?;
        Ok(bound.begun(found))
    }

    /// On some path, never within the interval `b` after only `a` or `b`.
    fn avoid(&mut self, interval: &Interval, a: &ZoneSet, b: &ZoneSet) -> Computed {
        let (paths, bound) = (self.paths, self.bound(interval));
        let away = paths.not(&bound.met(b), bound.own());
        let for_ever = match paths.runs {
            Runs::Divergent => paths.always(&away, bound.own())?,
            Runs::Maximal if bound.own() == 0 => paths.stays(&away)?,
            Runs::Maximal => return unsupported("bounds on time where all maximal runs count", None),
        };
        let lost = both(&paths.not(&either(a, b), 0), &self.diverges()?);
        let until = paths.until(&away, &both(&bound.lift(&lost), &away), bound.own())?;
        Ok(bound.begun(either(&for_ever, &until)))
    }

    fn bound(&self, interval: &Interval) -> Bounded {
        Bounded::new(self.paths.arena.clocks + 1, interval)
    }
}

/// The clock of a bound on time, if there is one: what it has to be within the interval.
struct Bounded(Option<Vec<Constraint>>);

impl Bounded {
    fn new(clock: usize, interval: &Interval) -> Bounded {
        if *interval == Interval::default() {
            return Bounded(None);
        }
        let end = |end: u64| i32::try_from(end).ok().or_internal("bounds on time are small");
        let bound = |end: i32, strict: bool| if strict { Bound::less(end) } else { Bound::at_most(end) };
        let from = interval.from.map(|(from, strict)| Constraint {
            left: 0,
            right: clock,
            bound: bound(-end(from), strict),
        });
        let to = interval.to.map(|(to, strict)| Constraint {
            left: clock,
            right: 0,
            bound: bound(end(to), strict),
        });
        Bounded(Some(from.into_iter().chain(to).collect()))
    }

    /// The number of clocks of our own.
    fn own(&self) -> usize {
        usize::from(self.0.is_some())
    }

    /// A set with the clock.
    fn lift(&self, set: &ZoneSet) -> ZoneSet {
        if self.0.is_some() { widened(set) } else { set.clone() }
    }

    /// The same, where the bound is met.
    fn met(&self, set: &ZoneSet) -> ZoneSet {
        match &self.0 {
            Some(within) => set.iter().map(|set| set.widened().constrained(within)).collect(),
            None => set.clone(),
        }
    }

    /// The states of a set in which the clock starts.
    fn begun(&self, set: ZoneSet) -> ZoneSet {
        if self.0.is_some() { set.iter().map(Federation::at_zero).collect() } else { set }
    }

    /// A point at which the clock starts.
    fn start(&self, point: &ClockPoint) -> ClockPoint {
        if self.0.is_some() { point.widened() } else { point.clone() }
    }
}

fn widened(set: &ZoneSet) -> ZoneSet {
    set.iter().map(Federation::widened).collect()
}

/// The greatest end of an interval in a formula.
fn greatest_end(formula: &Formula) -> i64 {
    let end = |interval: &Interval| {
        let ends = [interval.from, interval.to].into_iter().flatten();
        ends.map(|(end, _)| i64::try_from(end).unwrap_or(i64::MAX)).max().unwrap_or(0)
    };
    match formula {
        Formula::Not(of) | Formula::AllPaths(of) | Formula::SomePath(of) => greatest_end(of),
        Formula::And(of) | Formula::Or(of) => of.iter().map(greatest_end).max().unwrap_or(0),
        Formula::Always(interval, of) | Formula::Eventually(interval, of) => {
            end(interval).max(greatest_end(of))
        }
        Formula::Until(interval, a, b) | Formula::Release(interval, a, b) => {
            end(interval).max(greatest_end(a)).max(greatest_end(b))
        }
        Formula::Atom(_) | Formula::Next(_) | Formula::Never(_) => 0,
    }
}

/// The path formula that is true where another is not.
fn opposite(path: &Formula) -> Formula {
    let not = |of: &Formula| Box::new(Formula::Not(Box::new(of.clone())));
    match path {
        Formula::Always(interval, of) => Formula::Eventually(*interval, not(of)),
        Formula::Eventually(interval, of) => Formula::Always(*interval, not(of)),
        Formula::Until(interval, a, b) => Formula::Release(*interval, not(a), not(b)),
        Formula::Release(interval, a, b) => Formula::Until(*interval, not(a), not(b)),
        other => Formula::Not(Box::new(other.clone())),
    }
}
