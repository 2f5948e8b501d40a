//! From runs of counters to traces of the model: elements are put back where there were only numbers.

use shoal_model::{
    Model, OrInternal, PropertyId, Ratio, SortId, State, Step, Trace, Type, TypeId, TypedId, Value, Violation,
};
use shoal_symbolic::{
    concrete::Concrete,
    dd::{DdHalt, DdResult},
    decide::{BitRun, Lift, Why},
};

use crate::{
    compile::{Arg, ClassMove, Compiled, CounterStart, LocalState, Normalise, holders::marks},
    points::{BitPositions, CounterState, PointMove},
    support::Tracked,
};

/// Finds traces.
pub(crate) struct Lifter<'m, 'l> {
    pub(crate) compiled: &'l Compiled<'m>,
    pub(crate) tracked: &'l Tracked,
    pub(crate) places: &'l BitPositions,
    pub(crate) normalise: Normalise<'l>,
    pub(crate) concrete: Concrete<'m>,
    moves: Option<Vec<PointMove>>,
}

impl<'m, 'l> Lifter<'m, 'l> {
    pub(crate) fn new(
        compiled: &'l Compiled<'m>,
        tracked: &'l Tracked,
        places: &'l BitPositions,
        normalise: Normalise<'l>,
    ) -> DdResult<Self> {
        let concrete = Concrete::new(compiled.model)?;
        Ok(Lifter { compiled, tracked, places, normalise, concrete, moves: None })
    }

    /// The counters of a state of the model; nothing if an element is in no known local state.
    fn point(&self, state: &State) -> Option<CounterState> {
        let compiled = self.compiled;
        let mut bits = vec![false; compiled.bits as usize];
        for cell in &compiled.layout.cells {
            let value = part(&state.values[cell.var.index()], &cell.way)?;
            for (var, value) in compiled.layout.literals(compiled.model, cell, value) {
                bits[(var / 2) as usize] = value;
            }
        }
        let mut point = self.places.point(&bits);
        for (sort, locals) in &compiled.locals {
            for element in self.elements(*sort) {
                let local = (self.normalise)(*sort, self.local_state(state, *sort, element));
                point[self.places.counter(*sort, locals.find(&local)?)] += 1;
            }
        }
        Some(point)
    }

    fn local_state(&self, state: &State, sort: SortId, element: u32) -> LocalState {
        let mut local = local_state(self.compiled.model, state, sort, element);
        local.extend(marks(&self.compiled.holders, state, sort, element));
        local
    }

    /// The counted elements of a sort.
    fn elements(&self, sort: SortId) -> impl Iterator<Item = u32> + use<'l, 'm> {
        let size = self.compiled.model.sorts[sort].fixed_size().or_internal("a counted sort has a size");
        let tracked = &self.tracked[&sort];
        (0..size).filter(move |element| !tracked.contains(element))
    }

    /// Arguments with elements for the roles; `fits` says whether an element can have a role.
    fn arguments(
        &self,
        args: &[Arg],
        roles: &[(SortId, usize)],
        fits: &dyn Fn(SortId, u32, usize) -> bool,
    ) -> Option<Vec<Value>> {
        let mut cast: Vec<(SortId, u32)> = Vec::new();
        for (sort, class) in roles {
            let free = |element: &u32| !cast.contains(&(*sort, *element)) && fits(*sort, *element, *class);
            let element = self.elements(*sort).find(free)?;
            cast.push((*sort, element));
        }
        let value = |arg: &Arg| match arg {
            Arg::Value(value) => value.clone(),
            Arg::Role(role) => Value::Elem(cast[*role].0, cast[*role].1),
        };
        Some(args.iter().map(value).collect())
    }

    /// The trace through these states.
    fn trace(&mut self, points: &[CounterState], loops_to: Option<usize>) -> DdResult<Option<Trace>> {
        let Some((first, rest)) = points.split_first() else { return Ok(None) };
        let Some(mut trace) = self.start(first)? else { return Ok(None) };
        trace.loops_to = loops_to;
        for (at, target) in rest.iter().enumerate() {
            match self.step(&points[at], trace.last(), target)? {
                Some(step) => trace.steps.push(step),
                None if *target == points[at] => {
                    trace.loops_to = Some(at);
                    break;
                }
                None => return Ok(None),
            }
        }
        self.close(trace)
    }

    fn start(&self, first: &CounterState) -> DdResult<Option<Trace>> {
        for start in &self.compiled.starts.all {
            let CounterStart { start: id, args, choices, .. } = start;
            let sorts: Vec<(SortId, usize)> = self.role_sorts(start);
            let Some(args) = self.arguments(args, &sorts, &|_, _, _| true) else { continue };
            if let Some(state) = self.concrete.start(*id, &args, choices)?
                && self.point(&state).as_ref() == Some(first)
            {
                let (start, choices) = (*id, choices.clone());
                return Ok(Some(Trace { start, args, choices, state, steps: Vec::new(), loops_to: None }));
            }
        }
        Ok(None)
    }

    /// The sorts of the roles of a start, in order.
    fn role_sorts(&self, start: &CounterStart) -> Vec<(SortId, usize)> {
        let rule = &self.compiled.model.starts[start.start];
        let mut roles = Vec::new();
        for (arg, param) in start.args.iter().zip(&rule.params) {
            if let Arg::Role(role) = arg
                && *role == roles.len()
            {
                let ty = rule.code.locals[param.local].ty;
                roles.extend(self.compiled.model.sorts_of(ty).first().map(|sort| (*sort, 0)));
            }
        }
        roles
    }

    fn step(&mut self, from: &CounterState, state: &State, target: &CounterState) -> DdResult<Option<Step>> {
        let moves = match self.moves.take() {
            Some(moves) => moves,
            None => self.places.prepare_all(self.compiled),
        };
        let mut found = None;
        for ready in &moves {
            if self.places.after(from, ready).as_ref() != Some(target) {
                continue;
            }
            found = self.fire(&self.compiled.moves[ready.number], state, target)?;
            if found.is_some() {
                break;
            }
        }
        self.moves = Some(moves);
        Ok(found)
    }

    fn fire(&self, moved: &ClassMove, state: &State, target: &CounterState) -> DdResult<Option<Step>> {
        let roles: Vec<(SortId, usize)> = moved.roles.iter().map(|role| (role.sort, role.from)).collect();
        let fits = |sort: SortId, element: u32, class: usize| {
            let local = (self.normalise)(sort, self.local_state(state, sort, element));
            self.compiled.locals[&sort].find(&local) == Some(class)
        };
        let Some(args) = self.arguments(&moved.args, &roles, &fits) else { return Ok(None) };
        let wanted = |next: &State| self.point(next).as_ref() == Some(target);
        let taken = self.concrete.fire(state, moved.rule, &args, &wanted)?;
        Ok(taken.map(|(choices, state)| Step { delay: Ratio::ZERO, rule: moved.rule, args, choices, state }))
    }

    /// A loop of counters need not be a loop of states: the elements may have changed places. It is gone round again
    /// until a state comes again, which happens because there are only so many ways to place the elements.
    fn close(&mut self, mut trace: Trace) -> DdResult<Option<Trace>> {
        let Some(to) = trace.loops_to.filter(|to| *to < trace.steps.len()) else { return Ok(Some(trace)) };
        /// More rounds than this are not tried.
        const MOST_ROUNDS: usize = 10_000;
        let length = trace.steps.len() - to;
        let points: Option<Vec<CounterState>> =
            trace.states().skip(to).map(|state| self.point(state)).collect();
        let Some(points) = points else { return Ok(None) };
        for _ in 0..MOST_ROUNDS {
            let heads = (to..trace.steps.len()).step_by(length);
            let head = heads.into_iter().find(|at| trace.states().nth(*at) == Some(trace.last()));
            if let Some(head) = head {
                trace.loops_to = Some(head);
                return Ok(Some(trace));
            }
            for at in 0..length {
                match self.step(&points[at], trace.last(), &points[at + 1])? {
                    Some(step) => trace.steps.push(step),
                    None => return Ok(None),
                }
            }
        }
        Ok(None)
    }
}

impl Lift for Lifter<'_, '_> {
    fn violation(&mut self, property: PropertyId, run: &BitRun, why: Why) -> DdResult<Violation> {
        let points: Vec<CounterState> = run.states.iter().map(|bits| self.places.point(bits)).collect();
        match self.trace(&points, run.loops_to)? {
            Some(trace) => self.concrete.violation(property, trace, why),
            None => Err(DdHalt::Lacks { construct: "a run that cannot be found again".into(), span: None }),
        }
    }
}

pub(crate) fn part<'v>(value: &'v Value, way: &[u32]) -> Option<&'v Value> {
    way.iter().try_fold(value, |value, at| match value {
        Value::Record(parts) | Value::Array(parts) => parts.get(*at as usize),
        _ => None,
    })
}

/// The values of an element's cells in a state, in the order of the variables.
pub(crate) fn local_state(model: &Model, state: &State, sort: SortId, element: u32) -> LocalState {
    let mut found = Vec::new();
    for (var, value) in model.vars.iter().zip(&state.values) {
        collect(model, var.ty, value, Some((sort, element)), &mut found);
    }
    found
}

fn collect(model: &Model, ty: TypeId, value: &Value, of: Option<(SortId, u32)>, found: &mut LocalState) {
    match (model.kind(ty), value) {
        (Type::Record { fields }, Value::Record(parts)) => {
            fields.iter().zip(parts).for_each(|(field, part)| collect(model, field.ty, part, of, found));
        }
        (Type::Array { index, element }, Value::Array(parts)) => match (model.kind(*index), of) {
            (Type::Ref { sort, nullable: false }, Some((wanted, id))) if *sort == wanted => {
                if let Some(part) = parts.get(id as usize) {
                    collect(model, *element, part, None, found);
                }
            }
            _ => parts.iter().for_each(|part| collect(model, *element, part, of, found)),
        },
        (_, value) if of.is_none() => found.push(value.clone()),
        _ => {}
    }
}
