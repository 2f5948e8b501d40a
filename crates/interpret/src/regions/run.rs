//! One run, and whether it shows that a formula is false.

use std::collections::HashSet;

use shoal_model::{Formula, Ratio, State, Trace, Type};

use super::{
    RegionPoint, Regions, Undecided,
    clocks::{compared, whole},
};
use crate::{Firing, Instance, Interpreter, ReplayError, branching::is_universal};

impl<'m> Regions<'m> {
    /// The regions of one run, which goes on for ever. It must have been replayed.
    pub(crate) fn of_run(
        interpreter: Interpreter<'m>,
        trace: &Trace,
        limit: usize,
    ) -> Result<Regions<'m>, Undecided> {
        let mut regions = Regions::empty(interpreter, limit)?;
        let back = trace.loops_to.ok_or(Undecided::TooLarge)?;
        // The region from which each step is taken.
        let mut sources = Vec::new();
        let mut before = &trace.state;
        for step in &trace.steps {
            let source = interpreter.delay(before, step.delay).ok_or(Undecided::TooLarge)?;
            sources.push(regions.plain(source));
            before = &step.state;
        }
        let mut only = HashSet::new();
        let mut seen = HashSet::new();
        let mut point =
            regions.canonical(RegionPoint { state: trace.state.clone(), tick: Ratio::ZERO, bound: None }, 0);
        let mut at = regions.number(point.clone());
        regions.roots.push(at);
        let mut next = 0;
        while seen.insert((next, at)) {
            let mut path = Vec::new();
            let leaves = |point: &RegionPoint| match sources.get(next) {
                Some(source) => regions.plain(point.state.clone()) == *source,
                None => false,
            };
            // Up to the step; where the run waits for ever, one region a time.
            while !leaves(&point) {
                let (later, tick) = regions.delayed(&point, 0).ok_or(Undecided::TooLarge)?;
                path.push((later.clone(), tick));
                point = later;
                if path.len() > regions.limit {
                    return Err(Undecided::TooLarge);
                }
                if sources.len() <= next {
                    break;
                }
            }
            if let Some(step) = trace.steps.get(next) {
                let instance = Instance { rule: step.rule, args: step.args.clone() };
                let branch = interpreter.fire_with(&point.state, &instance, &step.choices);
                let Some(Firing::State(state)) = branch.map(|branch| branch.result) else {
                    return Err(Undecided::TooLarge);
                };
                point = regions.canonical(RegionPoint { state, ..point }, 0);
                path.push((point.clone(), false));
                next += 1;
                if next == trace.steps.len() && back < next {
                    next = back;
                }
            }
            for (to, tick) in path {
                let to = regions.number(to);
                if only.insert((at, to)) {
                    regions.graph.after[at].push(to);
                    regions.graph.ticks[at].push(tick);
                }
                at = to;
            }
            if regions.graph.points.len() > regions.limit {
                return Err(Undecided::TooLarge);
            }
        }
        regions.graph.base = (0..regions.graph.points.len()).collect();
        regions.graph.diverges = regions.graph.runs_that_count();
        regions.only = Some(only);
        Ok(regions)
    }

    /// The number of a point in the graph; a new one if it has none.
    fn number(&mut self, point: RegionPoint) -> usize {
        let graph = &mut self.graph;
        *self.index.entry(point).or_insert_with_key(|point| {
            graph.points.push(point.clone());
            graph.after.push(Vec::new());
            graph.ticks.push(Vec::new());
            graph.points.len() - 1
        })
    }
}

/// Checks that a formula is false where a trace begins: if it speaks of all paths only, by the run itself; otherwise, or if
/// that shows nothing, in all regions.
pub(crate) fn confirm(
    interpreter: &Interpreter<'_>,
    formula: &Formula,
    trace: &Trace,
    budget: usize,
) -> Result<(), ReplayError> {
    if is_universal(formula, true)
        && let Ok(run) = Regions::of_run(*interpreter, trace, budget)
        && run.holds(formula) == Ok(false)
    {
        return Ok(());
    }
    match holds_from(interpreter, &trace.state, formula, budget)? {
        false => Ok(()),
        true => Err(ReplayError::FormulaHolds),
    }
}

/// Whether a formula holds in a state.
pub(crate) fn holds_from(
    interpreter: &Interpreter<'_>,
    state: &State,
    formula: &Formula,
    budget: usize,
) -> Result<bool, ReplayError> {
    let regions = Regions::new(*interpreter, vec![state.clone()], budget);
    regions.and_then(|regions| regions.holds(formula)).map_err(|undecided| not_confirmed(undecided, budget))
}

/// Whether time can diverge from a state.
pub(crate) fn diverges_from(
    interpreter: &Interpreter<'_>,
    state: &State,
    budget: usize,
) -> Result<bool, ReplayError> {
    let regions = Regions::new(*interpreter, vec![state.clone()], budget);
    regions.map(|regions| regions.starts_diverge()).map_err(|undecided| not_confirmed(undecided, budget))
}

fn not_confirmed(undecided: Undecided, budget: usize) -> ReplayError {
    match undecided {
        Undecided::TooLarge => ReplayError::NotConfirmed { budget },
        Undecided::Fault(fault) => ReplayError::OtherFault(fault),
    }
}

impl Interpreter<'_> {
    /// Whether a model has clocks.
    pub(crate) fn has_clocks(&self) -> bool {
        let is_clock = |part: &Type| *part == Type::Clock;
        self.model().vars.iter().any(|var| self.model().type_contains(var.ty, &is_clock))
    }

    /// Whether two states are in one region; not if that is not known.
    pub(crate) fn in_one_region(&self, left: &State, right: &State) -> bool {
        let regions = Regions::empty(*self, 0);
        regions.is_ok_and(|regions| regions.plain(left.clone()) == regions.plain(right.clone()))
    }

    /// The time after which all clocks are beyond every constant; nothing if that is not known.
    pub(crate) fn settled_after(&self) -> Option<Ratio> {
        compared(self.model()).map(|compared| whole(compared.greatest + 2))
    }

    /// Whether time may pass for ever in a state: beyond every constant, nothing changes any more.
    pub(crate) fn can_wait(&self, state: &State) -> bool {
        let regions = Regions::empty(*self, 0);
        regions.is_ok_and(|regions| self.delay(state, whole(regions.greatest + 1)).is_some())
    }
}
