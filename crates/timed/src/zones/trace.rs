//! From a state that was found to a run with the names of elements and the times of its steps.
//!
//! The steps are taken again, this time with the members of each class by name. Every guard and invariant on the way is a
//! bound on the difference of two points in time: that of a step and that of the last reset of the clock. The earliest
//! times that satisfy all of them are found by relaxation. A strict bound leaves out its end by a small amount: with more
//! parts to a unit of time than there are bounds on a cycle, that never makes a solvable system unsolvable. No abstraction
//! is involved, so this also checks that the run exists.

use std::collections::HashMap;

use shoal_model::{RuleId, StartId, Step, Trace, Type, TypeId, TypedId, Unsupported, Value};

use super::{
    layout::{Room, unsupported},
    machine::{Event, Machine, Stop},
    search::Search,
    state::{State, clocks},
    steps::{Steps, Trouble},
};
use crate::dbm::Constraint;

/// The number of a step of a state: which rule (or start), and which of its results.
pub(crate) fn ordinal(group: usize, at: usize) -> usize {
    group << 24 | at
}

/// A clock of the model: a global one, or one of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Clock {
    Global(usize),
    Of(usize, u32, usize),
}

/// `T_late - T_early` is at least `least` (in parts of a unit).
struct Edge {
    early: usize,
    late: usize,
    least: i64,
}

/// Points in time and what is known about them.
struct Times {
    edges: Vec<Edge>,
    parts: i64,
    /// For each clock, the point of its last reset and its value then.
    resets: HashMap<Clock, (usize, i64)>,
}

impl Times {
    fn last_reset(&self, clock: Clock) -> (usize, i64) {
        self.resets.get(&clock).copied().unwrap_or((0, 0))
    }

    /// A constraint at a point in time, on clocks that zone clocks stand for.
    fn holds(&mut self, at: usize, constraint: &Constraint, named: &dyn Fn(usize) -> Vec<Clock>) {
        let Some(c) = constraint.bound.constant() else { return };
        let most = i64::from(c) * self.parts - i64::from(constraint.bound.is_strict());
        if constraint.right == 0 && constraint.left > 0 {
            for clock in named(constraint.left) {
                let (reset, value) = self.last_reset(clock);
                // T_at - T_reset <= most - value
                self.edges.push(Edge { early: at, late: reset, least: value * self.parts - most });
            }
        } else if constraint.left == 0 && constraint.right > 0 {
            for clock in named(constraint.right) {
                let (reset, value) = self.last_reset(clock);
                // T_reset - T_at <= most + value
                self.edges.push(Edge { early: reset, late: at, least: -(most + value * self.parts) });
            }
        } else {
            for (left, right) in named(constraint.left)
                .into_iter()
                .flat_map(|left| named(constraint.right).into_iter().map(move |right| (left, right)))
            {
                let ((to, value), (from, other)) = (self.last_reset(left), self.last_reset(right));
                // T_from - T_to <= most - (value - other)
                self.edges.push(Edge { early: from, late: to, least: (value - other) * self.parts - most });
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
fn named(steps: &Steps<'_>, state: &State, clock: usize) -> Vec<Clock> {
    let layout = &steps.layout;
    if clock <= layout.global.clocks {
        return vec![Clock::Global(clock - 1)];
    }
    let mut before = 1 + layout.global.clocks;
    for class in &state.classes {
        let width = clocks(layout, class.sort);
        let all = width * class.shown();
        if clock < before + all {
            let at = (clock - before) % width;
            // What is so of one shown member is so of all: where they differ, they are classes of their own.
            return class.members.iter().map(|member| Clock::Of(class.sort, *member, at)).collect();
        }
        before += all;
    }
    Vec::new()
}

/// One step taken again.
struct Taken {
    state: State,
    args: Vec<Value>,
    choices: Vec<Value>,
}

/// The run to a state, with times, at whose end some constraints hold after some more time; and how much. Constraints on
/// the clocks of a class are on one of its members, or on all.
pub(crate) fn rebuild(
    search: &Search<'_>,
    at: usize,
    constraints: &[Constraint],
    of_all: bool,
) -> Result<(Trace, shoal_model::Ratio), Unsupported> {
    let steps = &search.steps;
    let mut path = vec![at];
    while let Some(from) = search.kept[path[path.len() - 1]].from {
        path.push(from);
    }
    path.reverse();
    let points = path.len() + 1;
    let mut times = Times { edges: Vec::new(), parts: 2 * points as i64 + 2, resets: HashMap::new() };
    let mut taken: Vec<Taken> = Vec::new();
    let mut readings: Vec<HashMap<Clock, (usize, i64)>> = Vec::new();
    let mut state: Option<State> = None;
    for (point, kept) in path.iter().enumerate() {
        let number = search.kept[*kept].ordinal;
        let (group, which) = (number >> 24, number & 0xff_ffff);
        let mut found = None;
        let mut count = 0;
        let mut done = |machine: &mut Machine<'_>| {
            if count == which {
                let args = parameters(steps, machine, state.is_none(), group);
                let events = machine.events.take().unwrap_or_default();
                found = Some((
                    Taken { state: machine.state.clone(), args, choices: machine.choices.clone() },
                    events,
                ));
            }
            count += 1;
        };
        let ran = match &state {
            None => steps.start_with(group, true, &mut done).map(|_| ()),
            Some(state) => steps.fire(state, RuleId::from_index(group), true, &mut done),
        };
        if let Err(Trouble::Unsupported(unsupported)) = ran {
            return Err(unsupported);
        }
        let Some((step, events)) = found else {
            return unsupported("a step that is lost when it is taken again", None);
        };
        if point > 0 {
            times.edges.push(Edge { early: point - 1, late: point, least: 0 });
        }
        let own = |clock: usize| named(steps, &step.state, clock);
        for event in &events {
            match event {
                Event::Holds(constraint) => times.holds(point, constraint, &own),
                Event::Set(clock, value) => {
                    for clock in own(*clock) {
                        times.resets.insert(clock, (point, i64::from(*value)));
                    }
                }
            }
        }
        readings.push(times.resets.clone());
        // Until the next step, time passes.
        let mut machine =
            Machine::new(steps.model, &steps.layout, steps.counting, step.state.clone(), Vec::new());
        let before = machine.state.zone.clone();
        steps.elapse(&mut machine)?;
        if machine.state.zone == before {
            times.edges.push(Edge { early: point + 1, late: point, least: 0 });
        } else if let Some(condition) = &steps.model.while_time_passes {
            match machine.condition(condition, true) {
                Ok(ways) => {
                    for constraint in ways.first().into_iter().flatten() {
                        times.holds(point, constraint, &own);
                        times.holds(point + 1, constraint, &own);
                    }
                }
                Err(Stop::Unsupported(unsupported)) => return Err(unsupported),
                Err(_) => {}
            }
        }
        let mut after = machine.state;
        steps.settle(&mut after);
        state = Some(after);
        taken.push(step);
    }
    times.edges.push(Edge { early: points - 2, late: points - 1, least: 0 });
    if let Some(state) = &state {
        for constraint in constraints {
            times.holds(points - 1, constraint, &|clock| {
                let most = if of_all { usize::MAX } else { 1 };
                named(steps, state, clock).into_iter().take(most).collect()
            });
        }
    }
    let Some(found) = times.solve(points) else {
        return unsupported("a run for which no times are found", None);
    };
    assemble(search, &path, taken, &readings, &found, times.parts)
}

/// The values that the parameters of the last rule (or start) had.
pub(crate) fn parameters(steps: &Steps<'_>, machine: &Machine<'_>, start: bool, group: usize) -> Vec<Value> {
    let rule = match start {
        true => {
            let blanks = steps.blanks(true).len();
            steps.model.starts.get(StartId::from_index(group / blanks.max(1)))
        }
        false => steps.model.rules.get(RuleId::from_index(group)),
    };
    let Some(rule) = rule else { return Vec::new() };
    let value =
        |local: shoal_model::LocalId| machine.decode(rule.code.locals[local].ty, machine.bottom_local(local));
    rule.params.iter().map(|param| value(param.local)).collect()
}

fn assemble(
    search: &Search<'_>,
    path: &[usize],
    taken: Vec<Taken>,
    readings: &[HashMap<Clock, (usize, i64)>],
    times: &[i64],
    parts: i64,
) -> Result<(Trace, shoal_model::Ratio), Unsupported> {
    let steps = &search.steps;
    let ratio = |numerator: i64| {
        let ratio =
            u64::try_from(numerator).ok().and_then(|n| shoal_model::Ratio::new(n, parts.unsigned_abs()));
        ratio.ok_or(Unsupported { engine: super::layout::ENGINE, construct: "such times".into(), span: None })
    };
    let mut states = Vec::new();
    for (point, step) in taken.iter().enumerate() {
        let value = |clock: Clock| {
            let (reset, value) = readings[point].get(&clock).copied().unwrap_or((0, 0));
            ratio(times[point] - times[reset] + value * parts)
        };
        states.push(concrete(steps, &step.state, &value)?);
    }
    let rest = ratio(times[times.len() - 1] - times[times.len() - 2])?;
    let mut taken = taken.into_iter().zip(states);
    let Some((first, state)) = taken.next() else { return unsupported("a run without a start", None) };
    let blanks = steps.blanks(true).len().max(1);
    let start = StartId::from_index((search.kept[path[0]].ordinal >> 24) / blanks);
    let mut trace =
        Trace { start, args: first.args, choices: first.choices, state, steps: Vec::new(), loops_to: None };
    for (point, (step, state)) in taken.enumerate() {
        let delay = ratio(times[point + 1] - times[point])?;
        let rule = RuleId::from_index(search.kept[path[point + 1]].ordinal >> 24);
        trace.steps.push(Step { delay, rule, args: step.args, choices: step.choices, state });
    }
    Ok((trace, rest))
}

pub(crate) type Reading<'r> = &'r dyn Fn(Clock) -> Result<shoal_model::Ratio, Unsupported>;

/// The state of the model: every element with its own cells and clocks.
pub(crate) fn concrete(
    steps: &Steps<'_>,
    state: &State,
    reading: Reading<'_>,
) -> Result<shoal_model::State, Unsupported> {
    let model = steps.model;
    let machine = Machine::new(model, &steps.layout, steps.counting, state.clone(), Vec::new());
    let mut values = Vec::new();
    for (id, var) in model.vars.enumerate() {
        let home = steps.layout.home(id);
        values.push(match (home.sort, model.kind(var.ty)) {
            (Some(sort), Type::Array { element, .. }) => {
                let size = model.sorts[sort].fixed_size().unwrap_or(0);
                let mut entries = Vec::new();
                for name in 0..size {
                    let own = |class: &&super::state::Class| {
                        class.sort == sort.index() && class.members.contains(&name)
                    };
                    let Some(class) = state.classes.iter().find(own) else {
                        return unsupported("a lost element", None);
                    };
                    let mut at = home.at;
                    let clock = |at: usize| Clock::Of(sort.index(), name, at);
                    entries.push(value(steps, &machine, *element, &class.cells, &mut at, &clock, reading)?);
                }
                Value::Array(entries)
            }
            _ => {
                let mut at = home.at;
                value(steps, &machine, var.ty, &state.globals, &mut at, &Clock::Global, reading)?
            }
        });
    }
    Ok(shoal_model::State { values, live: vec![Vec::new(); model.sorts.len()] })
}

fn value(
    steps: &Steps<'_>,
    machine: &Machine<'_>,
    ty: TypeId,
    cells: &[i64],
    at: &mut Room,
    clock: &dyn Fn(usize) -> Clock,
    reading: Reading<'_>,
) -> Result<Value, Unsupported> {
    let model = steps.model;
    Ok(match model.kind(ty) {
        Type::Clock => {
            at.clocks += 1;
            Value::Clock(reading(clock(at.clocks - 1))?)
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
