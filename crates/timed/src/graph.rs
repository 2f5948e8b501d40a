//! The graph of zones: what a timed model can do, for pictures and for other tools.
//!
//! Only equal zones are one node, and elements have names: so every way through the graph is one that a run can take, which is not so
//! where a larger zone stands for the smaller ones in it.

use std::{collections::HashMap, fmt};

use shoal_dbm::{Bound, Zone};
use shoal_model::{
    Job, Model, OrInternal, Ratio, RuleId, SortId, Trace, Type, TypeId, TypedId, Unsupported, Value, Watch,
};
use shoal_tctl::{TctlHalt, unsupported};

use super::{
    machine::ZoneMachine,
    search::{steps_by_name, steps_folded},
    state::ZoneState,
    steps::{RunEnd, ZoneSteps},
    trace::{ModelClock, concrete, named, parameters},
};

/// The zones that can be reached and the steps between them. With symmetry, one of those that differ in the names of elements, mostly.
#[derive(Clone, Debug, Default)]
pub struct ZoneGraph {
    /// The nodes, nearest to a start first.
    pub nodes: Vec<ZoneNode>,
    /// The nodes that are starts.
    pub initial: Vec<usize>,
    /// The steps: before, after, the rule and the values of its parameters.
    pub edges: Vec<(usize, usize, RuleId, Vec<Value>)>,
    /// Whether all is there: no limit was reached.
    pub complete: bool,
    /// The sorts whose elements changed places.
    pub symmetric: Vec<SortId>,
}

/// States that differ only in what their clocks show.
#[derive(Clone, Debug)]
pub struct ZoneNode {
    /// What everything but the clocks is; clocks have no value.
    pub state: shoal_model::State,
    /// What is known of the clocks. Of one that is not named anything can be.
    pub clocks: Vec<ClockFact>,
}

/// Something that is known of clocks in a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockFact {
    /// What a clock shows is between two numbers, or from one number on.
    Range {
        /// The clock.
        clock: String,
        /// The least, and whether that is left out.
        least: (i32, bool),
        /// The most, and whether that is left out.
        most: Option<(i32, bool)>,
    },
    /// How much more one clock shows than another, at most.
    Apart {
        /// The clock that shows more.
        clock: String,
        /// The other.
        than: String,
        /// The most, and whether that is left out.
        most: (i32, bool),
    },
}

impl ClockFact {
    /// Whether it is so where clocks show this. It is not of a clock that is not there.
    pub fn holds(&self, shows: &dyn Fn(&str) -> Option<Ratio>) -> bool {
        // In parts of a unit of time: over and under.
        let parts = |clock: &str| {
            shows(clock).map(Ratio::parts).map(|(over, under)| (i128::from(over), i128::from(under)))
        };
        let at_most = |(over, under): (i128, i128), (most, strict): (i32, bool)| {
            let most = i128::from(most) * under;
            if strict { over < most } else { over <= most }
        };
        match self {
            ClockFact::Range { clock, least, most } => parts(clock).is_some_and(|(over, under)| {
                at_most((-over, under), (-least.0, least.1))
                    && most.is_none_or(|most| at_most((over, under), most))
            }),
            ClockFact::Apart { clock, than, most } => {
                parts(clock).zip(parts(than)).is_some_and(|(one, other)| {
                    at_most((one.0 * other.1 - other.0 * one.1, one.1 * other.1), *most)
                })
            }
        }
    }
}

impl fmt::Display for ClockFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |strict: bool| if strict { "<" } else { "<=" };
        match self {
            ClockFact::Range { clock, least: (least, false), most: Some((most, false)) } if least == most => {
                write!(f, "{clock} = {least}")
            }
            ClockFact::Range { clock, least: (least, strict), most: None } => {
                write!(f, "{clock} {} {least}", if *strict { ">" } else { ">=" })
            }
            ClockFact::Range { clock, least: (least, above), most: Some((most, below)) } => {
                write!(f, "{least} {} {clock} {} {most}", sign(*above), sign(*below))
            }
            ClockFact::Apart { clock, than, most: (most, strict) } => {
                write!(f, "{clock} - {than} {} {most}", sign(*strict))
            }
        }
    }
}

/// The graph of a model with clocks, up to a number of nodes and as far as the watch allows. Steps that fault are not in it.
pub fn graph(
    model: &Model,
    symmetric: &[SortId],
    limit: usize,
    watch: &Watch,
) -> Result<ZoneGraph, Unsupported> {
    if super::any::is_any(model) {
        return unsupported("the graph of any number of elements", None);
    }
    let job = Job { symmetric: symmetric.to_vec(), watch: watch.clone(), ..Job::new(Vec::new()) };
    let stopped = |halt: TctlHalt| halt.reason().map(|_| ZoneGraph::default());
    let mut steps = match steps_folded(model, &job) {
        Ok(steps) => steps,
        Err(halt) => return stopped(halt),
    };
    // What is shown of the clocks is as near to what they can be as a graph with an end allows.
    steps.futures = true;
    let names = clock_names(&steps);
    let symmetric = symmetric.iter().copied().filter(|sort| steps.free[sort.index()].len() > 1).collect();
    let mut unfolding = Unfolding {
        steps: &steps,
        names,
        limit,
        watch,
        bytes: 0,
        index: HashMap::new(),
        open: Vec::new(),
        graph: ZoneGraph { symmetric, ..ZoneGraph::default() },
    };
    unfolding.graph.complete = match unfolding.run() {
        Ok(complete) => complete,
        Err(halt) => {
            halt.reason()?;
            false
        }
    };
    Ok(unfolding.graph)
}

/// What the clocks can show after each step of a run, and while time passes then: as any run that takes the same steps at other times
/// could have them. The first is the start's. Nothing if the steps are not found again or a limit is reached.
pub fn zones_along(
    model: &Model,
    trace: &Trace,
    watch: &Watch,
) -> Result<Option<Vec<Vec<ClockFact>>>, Unsupported> {
    if super::any::is_any(model) {
        return unsupported("zones of any number of elements", None);
    }
    match along(model, trace, watch) {
        Ok(found) => Ok(found),
        Err(halt) => halt.reason().map(|_| None),
    }
}

fn along(model: &Model, trace: &Trace, watch: &Watch) -> Result<Option<Vec<Vec<ClockFact>>>, TctlHalt> {
    let steps = steps_by_name(model, watch)?;
    let names = clock_names(&steps);
    let mut found = Vec::new();
    for ordinal in 0.. {
        let mut keep = |machine: &mut ZoneMachine<'_>, end: RunEnd| {
            if let RunEnd::State = end {
                found.push(machine.state.clone());
            }
        };
        if !steps.start_with(ordinal, false, &mut keep)? {
            break;
        }
    }
    let Some(mut now) = one_of(&steps, found, &trace.state)? else { return Ok(None) };
    let mut zones = vec![facts(&steps, &names, &now)];
    for step in &trace.steps {
        watch.check()?;
        let mut found = Vec::new();
        steps.fire(&now, step.rule, false, &mut |machine, end| {
            let args = parameters(&steps, machine, false, step.rule.index());
            if matches!(end, RunEnd::State) && args == step.args && machine.choices == step.choices {
                found.push(machine.state.clone());
            }
        })?;
        let Some(next) = one_of(&steps, found, &step.state)? else { return Ok(None) };
        now = next;
        zones.push(facts(&steps, &names, &now));
    }
    Ok(Some(zones))
}

/// Those of some states that have just been reached that differ from a state of a run in their clocks alone, as one, after time has passed.
fn one_of(
    steps: &ZoneSteps<'_>,
    found: Vec<ZoneState>,
    wanted: &shoal_model::State,
) -> Result<Option<ZoneState>, TctlHalt> {
    let wanted = without_clocks(steps.model, wanted);
    let mut one: Option<ZoneState> = None;
    for state in found {
        if concrete(steps, &state, &|_| Ok(Value::Undefined))?.values != wanted.values {
            continue;
        }
        let mut machine = steps.machine(state, Vec::new());
        steps.elapse(&mut machine)?;
        let mut state = machine.state;
        state.normalise(&steps.layout, steps.counting);
        match &mut one {
            Some(known) => known.zone = known.zone.hull(&state.zone),
            None => one = Some(state),
        }
    }
    Ok(one)
}

/// A state in which clocks have no value.
pub fn without_clocks(model: &Model, state: &shoal_model::State) -> shoal_model::State {
    let mut state = state.clone();
    for (id, var) in model.vars.enumerate() {
        forget_clocks(model, var.ty, &mut state.values[id.index()]);
    }
    state
}

fn forget_clocks(model: &Model, ty: TypeId, value: &mut Value) {
    match (model.kind(ty), value) {
        (Type::Clock, value) => *value = Value::Undefined,
        (Type::Array { element, .. }, Value::Array(values)) => {
            values.iter_mut().for_each(|value| forget_clocks(model, *element, value));
        }
        (Type::Record { fields }, Value::Record(values)) => {
            let both = fields.iter().zip(values);
            both.for_each(|(field, value)| forget_clocks(model, field.ty, value));
        }
        _ => {}
    }
}

struct Unfolding<'a, 'm> {
    steps: &'a ZoneSteps<'m>,
    names: HashMap<ModelClock, String>,
    limit: usize,
    watch: &'a Watch,
    /// About how much memory is used.
    bytes: u64,
    index: HashMap<(Vec<i64>, Zone), usize>,
    /// The states of the nodes, in order.
    open: Vec<ZoneState>,
    graph: ZoneGraph,
}

impl Unfolding<'_, '_> {
    /// Unfolds all; false if a limit was reached.
    fn run(&mut self) -> Result<bool, TctlHalt> {
        let mut whole = self.starts()?;
        let mut next = 0;
        while next < self.open.len() {
            self.watch.check()?;
            if self.watch.limits().memory.is_some_and(|limit| self.bytes > limit) {
                return Ok(false);
            }
            for rule in self.steps.model.rules.ids() {
                whole &= self.expand(next, rule)?;
            }
            next += 1;
        }
        Ok(whole)
    }

    fn starts(&mut self) -> Result<bool, TctlHalt> {
        let mut whole = true;
        for ordinal in 0.. {
            let mut found = Vec::new();
            let more = self.steps.start_with(ordinal, false, &mut |machine, end| {
                if let RunEnd::State = end {
                    found.push(machine.state.clone());
                }
            })?;
            if !more {
                break;
            }
            for state in found {
                match self.node(state)? {
                    Some(node) if self.graph.initial.contains(&node) => {}
                    Some(node) => self.graph.initial.push(node),
                    None => whole = false,
                }
            }
        }
        Ok(whole)
    }

    /// Takes all steps of a rule.
    fn expand(&mut self, from: usize, rule: RuleId) -> Result<bool, TctlHalt> {
        let mut found = Vec::new();
        let steps = self.steps;
        steps.fire(&self.open[from], rule, false, &mut |machine, end| {
            if let RunEnd::State = end {
                found.push((machine.state.clone(), parameters(steps, machine, false, rule.index())));
            }
        })?;
        let first = self.graph.edges.len();
        let mut whole = true;
        for (state, args) in found {
            let Some(to) = self.node(state)? else {
                whole = false;
                continue;
            };
            let edge = (from, to, rule, args);
            // Choices inside of a step may lead to the same.
            if !self.graph.edges[first..].contains(&edge) {
                self.graph.edges.push(edge);
            }
        }
        Ok(whole)
    }

    /// The node of a state that has just been reached; none if there are enough.
    fn node(&mut self, state: ZoneState) -> Result<Option<usize>, TctlHalt> {
        let state = self.steps.settled(state)?;
        let key = (state.key(), state.zone.clone());
        if let Some(known) = self.index.get(&key) {
            return Ok(Some(*known));
        }
        let number = self.open.len();
        if number >= self.limit {
            return Ok(None);
        }
        let node = ZoneNode {
            state: concrete(self.steps, &state, &|_| Ok(Value::Undefined))?,
            clocks: facts(self.steps, &self.names, &state),
        };
        self.bytes += (16 * key.0.len() + 8 * state.zone.dim() * state.zone.dim() + 400) as u64;
        self.graph.nodes.push(node);
        self.index.insert(key, number);
        self.open.push(state);
        Ok(Some(number))
    }
}

/// What is known of the clocks of a state: of each by itself, and what does not follow from that.
fn facts(steps: &ZoneSteps<'_>, names: &HashMap<ModelClock, String>, state: &ZoneState) -> Vec<ClockFact> {
    let zone = &state.zone;
    let name = |clock: usize| {
        let clock = named(steps, state, clock).first().copied();
        clock.and_then(|clock| names.get(&clock)).cloned().or_internal("every clock has a name")
    };
    let pair = |bound: Bound| bound.constant().map(|most| (most, bound.is_strict()));
    let least = |clock: usize| pair(zone.get(0, clock)).map_or((0, false), |(most, strict)| (-most, strict));
    let mut facts = Vec::new();
    for clock in 1..zone.dim() {
        let (least, most) = (least(clock), pair(zone.get(clock, 0)));
        if most.is_some() || least != (0, false) {
            facts.push(ClockFact::Range { clock: name(clock), least, most });
        }
    }
    for left in 1..zone.dim() {
        for right in (1..zone.dim()).filter(|right| *right != left) {
            let Some(most) = pair(zone.get(left, right)) else { continue };
            let (from, without) = least(right);
            let implied = pair(zone.get(left, 0)).map(|(upper, strict)| (upper - from, !(strict || without)));
            // A bound without its end is the smaller one.
            if implied.is_none_or(|implied| (most.0, !most.1) < implied) {
                facts.push(ClockFact::Apart { clock: name(left), than: name(right), most });
            }
        }
    }
    facts
}

/// What each clock is called.
fn clock_names(steps: &ZoneSteps<'_>) -> HashMap<ModelClock, String> {
    let model = steps.model;
    let mut names = HashMap::new();
    for (id, var) in model.vars.enumerate() {
        let home = steps.layout.home(id);
        match (home.sort, model.kind(var.ty)) {
            (Some(sort), Type::Array { index, element }) => {
                for name in 0..model.sorts[sort].fixed_size().unwrap_or(0) {
                    let mut at = home.at.clocks;
                    let place = entry(model, &var.name, *index, name.into());
                    name_clocks(model, *element, &place, &mut at, &mut |at, place| {
                        names.insert(ModelClock::Of(sort.index(), name, at), place);
                    });
                }
            }
            _ => {
                let mut at = home.at.clocks;
                name_clocks(model, var.ty, &var.name, &mut at, &mut |at, place| {
                    names.insert(ModelClock::Global(at), place);
                });
            }
        }
    }
    names
}

fn entry(model: &Model, place: &str, index: TypeId, at: u64) -> String {
    match model.value_at(index, at) {
        Some(value) => format!("{place}[{}]", model.show(&value)),
        None => format!("{place}[{at}]"),
    }
}

fn name_clocks(model: &Model, ty: TypeId, place: &str, at: &mut usize, found: &mut dyn FnMut(usize, String)) {
    match model.kind(ty) {
        Type::Clock => {
            found(*at, place.to_string());
            *at += 1;
        }
        Type::Array { index, element } => {
            for position in 0..model.cardinality(*index).unwrap_or(0) {
                name_clocks(model, *element, &entry(model, place, *index, position), at, found);
            }
        }
        Type::Record { fields } => {
            for field in fields {
                name_clocks(model, field.ty, &format!("{place}.{}", field.name), at, found);
            }
        }
        Type::Bool
        | Type::Int { .. }
        | Type::Enum { .. }
        | Type::Ref { .. }
        | Type::Multiset { .. }
        | Type::Sequence { .. }
        | Type::Union { .. } => {}
    }
}
