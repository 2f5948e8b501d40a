//! From a state that was found to a run with the names of elements and the times of its steps.
//!
//! The steps are taken again, this time with the members of each class by name. Every guard and invariant on the way is a
//! bound on the difference of two points in time: that of a step and that of the last reset of the clock. The earliest
//! times that satisfy all of them are found by relaxation. A strict bound leaves out its end by a small amount: with more
//! parts to a unit of time than there are bounds on a cycle, that never makes a solvable system unsolvable. No abstraction
//! is involved, so this also checks that the run exists.

use std::collections::HashMap;

use shoal_dbm::{ClockEvent, Constraint};
use shoal_model::{During, Reason, RuleId, Step, Trace, Type, TypeId, TypedId, Value, Violation};
use shoal_tctl::{TctlHalt, unsupported};

use super::{
    layout::Room,
    machine::ZoneMachine,
    search::{Faulting, ZoneSearch},
    state::{ZoneState, clocks},
    steps::{RunEnd, ZoneSteps},
};

/// The number of a step of a state: which rule (or start), and which of its results.
pub(crate) fn ordinal(group: usize, at: usize) -> usize {
    group << 24 | at
}

/// A clock of the model: a global one, or one of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ModelClock {
    Global(usize),
    Of(usize, u32, usize),
}

/// `T_late - T_early` is at least `least` (in parts of a unit).
struct TimeBound {
    early: usize,
    late: usize,
    least: i64,
}

/// Points in time and what is known about them.
struct Times {
    edges: Vec<TimeBound>,
    parts: i64,
    /// For each clock, the point of its last reset and its value then.
    resets: HashMap<ModelClock, (usize, i64)>,
}

impl Times {
    fn last_reset(&self, clock: ModelClock) -> (usize, i64) {
        self.resets.get(&clock).copied().unwrap_or((0, 0))
    }

    /// A constraint at a point in time, on clocks that zone clocks stand for.
    fn holds(&mut self, at: usize, constraint: &Constraint, named: &dyn Fn(usize) -> Vec<ModelClock>) {
        let Some(c) = constraint.bound.constant() else { return };
        let most = i64::from(c) * self.parts - i64::from(constraint.bound.is_strict());
        if constraint.right == 0 && constraint.left > 0 {
            for clock in named(constraint.left) {
                let (reset, value) = self.last_reset(clock);
                // T_at - T_reset <= most - value
                self.edges.push(TimeBound { early: at, late: reset, least: value * self.parts - most });
            }
        } else if constraint.left == 0 && constraint.right > 0 {
            for clock in named(constraint.right) {
                let (reset, value) = self.last_reset(clock);
                // T_reset - T_at <= most + value
                self.edges.push(TimeBound { early: reset, late: at, least: -(most + value * self.parts) });
            }
        } else {
            for (left, right) in named(constraint.left)
                .into_iter()
                .flat_map(|left| named(constraint.right).into_iter().map(move |right| (left, right)))
            {
                let ((to, value), (from, other)) = (self.last_reset(left), self.last_reset(right));
                // T_from - T_to <= most - (value - other)
                self.edges.push(TimeBound {
                    early: from,
                    late: to,
                    least: (value - other) * self.parts - most,
                });
            }
        }
    }

    /// The earliest times; nothing if there are none.
    fn solve(&self, points: usize) -> Option<Vec<i64>> {
        let mut times = vec![0; points];
        for _ in 0..=points {
            let mut changed = false;
            for edge in &self.edges {
                let least = times[edge.early] + edge.least;
                if least > times[edge.late] {
                    times[edge.late] = least;
                    changed = true;
                }
            }
            if !changed {
                return (times[0] == 0).then_some(times);
            }
        }
        None
    }
}

/// The clocks that a clock of a state's zone stands for.
pub(crate) fn named(steps: &ZoneSteps<'_>, state: &ZoneState, clock: usize) -> Vec<ModelClock> {
    let layout = &steps.layout;
    if clock <= layout.global.clocks {
        return vec![ModelClock::Global(clock - 1)];
    }
    let mut before = 1 + layout.global.clocks;
    for class in &state.classes {
        let width = clocks(layout, class.sort);
        let all = width * class.shown();
        if clock < before + all {
            let at = (clock - before) % width;
            // What is so of one shown member is so of all: where they differ, they are classes of their own.
            return class.members.iter().map(|member| ModelClock::Of(class.sort, *member, at)).collect();
        }
        before += all;
    }
    Vec::new()
}

/// One step taken again.
struct TakenStep {
    state: ZoneState,
    args: Vec<Value>,
    choices: Vec<Value>,
}

/// The run to a kept state, taken again, and what is known of its times.
struct Retraced {
    path: Vec<usize>,
    times: Times,
    taken: Vec<TakenStep>,
    /// When each clock was last set, after each step.
    readings: Vec<HashMap<ModelClock, (usize, i64)>>,
    /// The last state, after time has passed.
    last: ZoneState,
}

impl Retraced {
    /// The point in time at which the run ends, after the last step.
    fn end(&self) -> usize {
        self.path.len()
    }

    /// What happens to the clocks of a state at a point in time.
    fn note(&mut self, steps: &ZoneSteps<'_>, state: &ZoneState, events: &[ClockEvent], point: usize) {
        let own = |clock: usize| named(steps, state, clock);
        for event in events {
            match event {
                ClockEvent::Holds(constraint) => self.times.holds(point, constraint, &own),
                ClockEvent::Set(clock, value) => {
                    for clock in own(*clock) {
                        self.times.resets.insert(clock, (point, i64::from(*value)));
                    }
                }
            }
        }
    }

    /// Finds times for the run; gives it, and the time that passes after its last step.
    fn timed(self, search: &ZoneSearch<'_>) -> Result<(Trace, shoal_model::Ratio), TctlHalt> {
        let Some(found) = self.times.solve(self.end() + 1) else {
            return unsupported("a run for which no times are found", None);
        };
        assemble(search, &self.path, self.taken, &self.readings, &found, self.times.parts)
    }
}

/// The run to a state, with times, at whose end some constraints hold after some more time; and how much. Constraints on
/// the clocks of a class are on one of its members, or on all.
pub(crate) fn rebuild(
    search: &ZoneSearch<'_>,
    at: usize,
    constraints: &[Constraint],
    of_all: bool,
) -> Result<(Trace, shoal_model::Ratio), TctlHalt> {
    let mut run = retrace(search, at)?;
    let (end, last) = (run.end(), run.last.clone());
    for constraint in constraints {
        run.times.holds(end, constraint, &|clock| {
            let most = if of_all { usize::MAX } else { 1 };
            named(&search.steps, &last, clock).into_iter().take(most).collect()
        });
    }
    run.timed(search)
}

/// The run to a step that faults.
pub(crate) fn to_fault(
    search: &ZoneSearch<'_>,
    at: usize,
    faulting: &Faulting,
) -> Result<Violation, TctlHalt> {
    let (steps, mut run) = (&search.steps, retrace(search, at)?);
    let (mut count, mut found) = (0, None);
    steps.fire(&run.last, faulting.rule, true, &mut |machine, end| {
        let (fault, guard) = match end {
            RunEnd::State => return,
            RunEnd::GuardFault(fault) => (fault, true),
            RunEnd::Fault(fault) => (fault, false),
        };
        if count == faulting.nth {
            let args = parameters(steps, machine, false, faulting.rule.index());
            let during = match guard {
                true => During::Guard(faulting.rule, args),
                false => During::Body(faulting.rule, args, machine.choices.clone()),
            };
            let events = machine.events.take().unwrap_or_default();
            found = Some((Reason::Fault(during, fault), machine.state.clone(), events));
        }
        count += 1;
    })?;
    let Some((reason, state, events)) = found else {
        return unsupported("a fault that is lost when its step is taken again", None);
    };
    let end = run.end();
    run.note(steps, &state, &events, end);
    let (trace, rest) = run.timed(search)?;
    Ok(Violation { reason: reason.after(rest), trace: Some(trace) })
}

/// Takes the steps to a kept state again.
fn retrace(search: &ZoneSearch<'_>, at: usize) -> Result<Retraced, TctlHalt> {
    let steps = &search.steps;
    let mut path = vec![at];
    while let Some(from) = search.kept[path[path.len() - 1]].from {
        path.push(from);
    }
    path.reverse();
    let parts = 2 * path.len() as i64 + 4;
    let mut run = Retraced {
        times: Times { edges: Vec::new(), parts, resets: HashMap::new() },
        taken: Vec::new(),
        readings: Vec::new(),
        last: search.kept[at].state.clone(),
        path,
    };
    for point in 0..run.path.len() {
        let (step, events) = again(search, run.path[point], (point > 0).then_some(&run.last))?;
        if point > 0 {
            run.times.edges.push(TimeBound { early: point - 1, late: point, least: 0 });
        }
        run.note(steps, &step.state, &events, point);
        run.readings.push(run.times.resets.clone());
        // Until the next step, time passes.
        let mut machine = steps.machine(step.state.clone(), Vec::new());
        let before = machine.state.zone.clone();
        steps.elapse(&mut machine)?;
        if machine.state.zone == before {
            run.times.edges.push(TimeBound { early: point + 1, late: point, least: 0 });
        } else if let Some(condition) = &steps.model.while_time_passes {
            let own = |clock: usize| named(steps, &step.state, clock);
            for constraint in steps.judge(&machine.state, condition, true)?.ways.first().into_iter().flatten()
            {
                run.times.holds(point, constraint, &own);
                run.times.holds(point + 1, constraint, &own);
            }
        }
        run.last = machine.state;
        steps.settle(&mut run.last);
        run.taken.push(step);
    }
    let end = run.end();
    run.times.edges.push(TimeBound { early: end - 1, late: end, least: 0 });
    Ok(run)
}

/// The step to a kept state, taken again from the state before it (a start, if there is none), and what happened to clocks.
fn again(
    search: &ZoneSearch<'_>,
    kept: usize,
    before: Option<&ZoneState>,
) -> Result<(TakenStep, Vec<ClockEvent>), TctlHalt> {
    let (steps, number) = (&search.steps, search.kept[kept].ordinal);
    let (group, which) = (number >> 24, number & 0xff_ffff);
    let (mut count, mut found) = (0, None);
    let mut done = |machine: &mut ZoneMachine<'_>, end: RunEnd| {
        let RunEnd::State = end else { return };
        if count == which {
            let args = parameters(steps, machine, before.is_none(), group);
            let events = machine.events.take().unwrap_or_default();
            let taken = TakenStep { state: machine.state.clone(), args, choices: machine.choices.clone() };
            found = Some((taken, events));
        }
        count += 1;
    };
    match before {
        None => drop(steps.start_with(group, true, &mut done)?),
        Some(state) => steps.fire(state, RuleId::from_index(group), true, &mut done)?,
    }
    match found {
        Some(found) => Ok(found),
        None => unsupported("a step that is lost when it is taken again", None),
    }
}

/// The values that the parameters of the last rule (or start) had.
pub(crate) fn parameters(
    steps: &ZoneSteps<'_>,
    machine: &ZoneMachine<'_>,
    start: bool,
    group: usize,
) -> Vec<Value> {
    let rule = match start {
        true => steps.model.starts.get(steps.start_of(group)),
        false => steps.model.rules.get(RuleId::from_index(group)),
    };
    let Some(rule) = rule else { return Vec::new() };
    let value =
        |local: shoal_model::LocalId| machine.decode(rule.code.locals[local].ty, machine.bottom_local(local));
    rule.params.iter().map(|param| value(param.local)).collect()
}

fn assemble(
    search: &ZoneSearch<'_>,
    path: &[usize],
    taken: Vec<TakenStep>,
    readings: &[HashMap<ModelClock, (usize, i64)>],
    times: &[i64],
    parts: i64,
) -> Result<(Trace, shoal_model::Ratio), TctlHalt> {
    let steps = &search.steps;
    let ratio = |numerator: i64| {
        let ratio =
            u64::try_from(numerator).ok().and_then(|n| shoal_model::Ratio::new(n, parts.unsigned_abs()));
        ratio.ok_or(TctlHalt::Lost)
    };
    let mut states = Vec::new();
    for (point, step) in taken.iter().enumerate() {
        let value = |clock: ModelClock| {
            let (reset, value) = readings[point].get(&clock).copied().unwrap_or((0, 0));
            ratio(times[point] - times[reset] + value * parts).map(Value::Clock)
        };
        states.push(concrete(steps, &step.state, &value)?);
    }
    let rest = ratio(times[times.len() - 1] - times[times.len() - 2])?;
    let mut taken = taken.into_iter().zip(states);
    let Some((first, state)) = taken.next() else { return unsupported("a run without a start", None) };
    let start = steps.start_of(search.kept[path[0]].ordinal >> 24);
    let mut trace =
        Trace { start, args: first.args, choices: first.choices, state, steps: Vec::new(), loops_to: None };
    for (point, (step, state)) in taken.enumerate() {
        let delay = ratio(times[point + 1] - times[point])?;
        let rule = RuleId::from_index(search.kept[path[point + 1]].ordinal >> 24);
        trace.steps.push(Step { delay, rule, args: step.args, choices: step.choices, state });
    }
    Ok((trace, rest))
}

/// What a clock shows.
pub(crate) type ClockReading<'r> = &'r dyn Fn(ModelClock) -> Result<Value, TctlHalt>;

/// The state of the model: every element with its own cells and clocks.
pub(crate) fn concrete(
    steps: &ZoneSteps<'_>,
    state: &ZoneState,
    reading: ClockReading<'_>,
) -> Result<shoal_model::State, TctlHalt> {
    let model = steps.model;
    let machine = steps.machine(state.clone(), Vec::new());
    let mut values = Vec::new();
    for (id, var) in model.vars.enumerate() {
        let home = steps.layout.home(id);
        values.push(match (home.sort, model.kind(var.ty)) {
            (Some(sort), Type::Array { element, .. }) => {
                let size = model.sorts[sort].fixed_size().unwrap_or(0);
                let mut entries = Vec::new();
                for name in 0..size {
                    let own = |class: &&super::state::MemberClass| {
                        class.sort == sort.index() && class.members.contains(&name)
                    };
                    let Some(class) = state.classes.iter().find(own) else {
                        return unsupported("a lost element", None);
                    };
                    let mut at = home.at;
                    let clock = |at: usize| ModelClock::Of(sort.index(), name, at);
                    entries.push(value(steps, &machine, *element, &class.cells, &mut at, &clock, reading)?);
                }
                Value::Array(entries)
            }
            _ => {
                let mut at = home.at;
                value(steps, &machine, var.ty, &state.globals, &mut at, &ModelClock::Global, reading)?
            }
        });
    }
    Ok(shoal_model::State { values, live: vec![Vec::new(); model.sorts.len()] })
}

fn value(
    steps: &ZoneSteps<'_>,
    machine: &ZoneMachine<'_>,
    ty: TypeId,
    cells: &[i64],
    at: &mut Room,
    clock: &dyn Fn(usize) -> ModelClock,
    reading: ClockReading<'_>,
) -> Result<Value, TctlHalt> {
    let model = steps.model;
    Ok(match model.kind(ty) {
        Type::Clock => {
            at.clocks += 1;
            reading(clock(at.clocks - 1))?
        }
        Type::Array { index, element } => {
            let mut entries = Vec::new();
            for _ in 0..model.cardinality(*index).unwrap_or(0) {
                entries.push(value(steps, machine, *element, cells, at, clock, reading)?);
            }
            Value::Array(entries)
        }
        Type::Record { fields } => {
            let mut entries = Vec::new();
            for field in fields {
                entries.push(value(steps, machine, field.ty, cells, at, clock, reading)?);
            }
            Value::Record(entries)
        }
        _ => {
            at.cells += 1;
            machine.decode(ty, cells[at.cells - 1])
        }
    })
}
