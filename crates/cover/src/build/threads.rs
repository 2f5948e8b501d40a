//! From a model with a sort of any size to a counter system, by running its rules on every local state that can occur.
//!
//! Which local states can occur in which shared state is found on the way: a local state that can occur stays possible in
//! every shared state that a step leads to. That is the view abstraction for single threads (a sign analysis), so what it
//! leaves out is unreachable and the system is sliced before it is made.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use shoal_certificate::{Arcs, Config, System, Transfer, Transition};
use shoal_code::Stepper;
use shoal_model::{Fault, FaultKind, Model, PropertyId, PropertyKind, RuleId, TypedId, Unsupported, Value};

use super::{
    dispatch::{Dispatch, Wanted, wanted},
    instance::{CellNumbers, EventSink, FixedInstance, StepEvent, SuccessorSink, elements, rule_id},
    shape::{CountedShape, unsupported},
    starts::StartChoice,
};
use crate::meter::{Meter, MeterStop};

/// A model as a counter system, and what its numbers mean.
pub(crate) struct Threads<'m> {
    pub(crate) model: &'m Model,
    pub(crate) shape: CountedShape,
    pub(crate) shared: CellNumbers,
    pub(crate) locals: CellNumbers,
    pub(crate) beginnings: Vec<StartChoice>,
    pub(crate) system: System,
    /// The local states that can occur in each shared state.
    pub(crate) occur: Vec<Vec<u32>>,
    /// Where faults happen: the property that is violated and what must be there.
    pub(crate) faults: BTreeSet<(PropertyId, Config)>,
    pub(crate) kinds: Kinds,
}

/// The rules by how many elements they touch.
pub(crate) struct Kinds {
    /// Rules that name none.
    pub(crate) none: FixedInstance,
    /// Rules that name one or two, with one element.
    pub(crate) one: FixedInstance,
    /// Rules that name two, with two elements.
    pub(crate) two: FixedInstance,
    /// Broadcasts of no or one element, alone and with one more.
    pub(crate) casts: Vec<BroadcastRule>,
}

/// A rule that goes through all elements.
pub(crate) struct BroadcastRule {
    pub(crate) actors: u32,
    pub(crate) alone: FixedInstance,
    pub(crate) with: FixedInstance,
}

/// Either way it ends early.
pub(crate) enum EarlyEnd {
    Unsupported(Unsupported),
    Stop(MeterStop),
}

impl From<Unsupported> for EarlyEnd {
    fn from(unsupported: Unsupported) -> EarlyEnd {
        EarlyEnd::Unsupported(unsupported)
    }
}

impl From<MeterStop> for EarlyEnd {
    fn from(stop: MeterStop) -> EarlyEnd {
        EarlyEnd::Stop(stop)
    }
}

impl<'m> Threads<'m> {
    pub(crate) fn new(model: &'m Model, meter: &mut Meter<'_>) -> Result<Threads<'m>, EarlyEnd> {
        let shape = CountedShape::of(model)?;
        let kinds = kinds(model, &shape)?;
        let (mut shared, mut locals) = (CellNumbers::default(), CellNumbers::default());
        let beginnings = super::starts::beginnings(model, &shape, &mut shared, &mut locals, meter)?;
        let explored = {
            let mut explorer = Explorer::new(model, &shape, &kinds, shared, locals);
            explorer.run(&beginnings, meter)?;
            explorer.finish()
        };
        let mut threads = Threads {
            model,
            shared: explored.shared,
            locals: explored.locals,
            occur: explored.occur,
            faults: explored.faults,
            system: System::default(),
            shape,
            beginnings,
            kinds,
        };
        threads.system = System {
            shared: threads.shared.len(),
            places: threads.locals.len(),
            transitions: explored.transitions,
            initial: threads.beginnings.iter().map(|beginning| beginning.config.clone()).collect(),
            least: threads.beginnings.iter().map(StartChoice::least).collect(),
        };
        Ok(threads)
    }
}

impl Threads<'_> {
    /// The least configurations that violate a property.
    pub(crate) fn targets(&self, property: PropertyId) -> Result<Vec<Config>, Unsupported> {
        super::property::targets(self, property)
    }

    /// The values of the shared variables in a shared state.
    pub(crate) fn shared_name(&self, shared: u32) -> String {
        let instance = &self.kinds.none;
        let state = instance.decode(&instance.compose(self.shared.cells(shared), &[]));
        self.shape.globals.iter().map(|var| self.show(state.value(*var), *var)).collect::<Vec<_>>().join(" ")
    }

    /// The values of an element's variables in a local state.
    pub(crate) fn local_name(&self, local: u32) -> String {
        let instance = &self.kinds.one;
        let blank = vec![0; self.shared.cells(0).len()];
        let state = instance.decode(&instance.compose(&blank, &[self.locals.cells(local)]));
        let entry = |value: &Value| match value {
            Value::Array(entries) => entries.first().cloned().unwrap_or(Value::Undefined),
            other => other.clone(),
        };
        self.shape
            .locals
            .iter()
            .map(|var| self.show(&entry(state.value(*var)), *var))
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn show(&self, value: &Value, var: shoal_model::VarId) -> String {
        format!("{}={}", self.model.vars[var].name, self.model.show(value))
    }
}

fn kinds(model: &Model, shape: &CountedShape) -> Result<Kinds, Unsupported> {
    let pick = |test: &dyn Fn(usize) -> bool| -> Vec<RuleId> {
        let plain = shape.rules.iter().filter(|rule| !rule.broadcasts && test(rule.elements.len()));
        plain.map(|rule| rule.rule).collect()
    };
    let mut casts = Vec::new();
    for rule in shape.rules.iter().filter(|rule| rule.broadcasts) {
        let actors = rule.elements.len() as u32;
        casts.push(BroadcastRule {
            actors,
            alone: FixedInstance::new(model, shape, actors, vec![rule.rule])?,
            with: FixedInstance::new(model, shape, actors + 1, vec![rule.rule])?,
        });
    }
    Ok(Kinds {
        none: FixedInstance::new(model, shape, 0, pick(&|elements| elements == 0))?,
        one: FixedInstance::new(model, shape, 1, pick(&|elements| elements > 0))?,
        two: FixedInstance::new(model, shape, 2, pick(&|elements| elements == 2))?,
        casts,
    })
}

/// The result of an exploration.
struct ThreadExploration {
    shared: CellNumbers,
    locals: CellNumbers,
    occur: Vec<Vec<u32>>,
    faults: BTreeSet<(PropertyId, Config)>,
    transitions: Vec<Transition>,
}

/// A broadcast: its number, the shared state before, the actor before, the shared state after, the actor after.
type CastKey = (usize, u32, Option<u32>, u32, Option<u32>);

struct Explorer<'a> {
    model: &'a Model,
    shape: &'a CountedShape,
    kinds: &'a Kinds,
    shared: CellNumbers,
    locals: CellNumbers,
    /// The local states of each shared state, as a list and as bits.
    occur: Vec<Vec<u32>>,
    bits: Vec<Vec<u64>>,
    /// Where steps lead to from each shared state.
    after: Vec<Vec<u32>>,
    links: HashSet<(u32, u32)>,
    /// Local states to be looked at; none is for the shared state alone.
    queue: VecDeque<(u32, Option<u32>)>,
    edges: Vec<(u32, Arcs, u32, Arcs)>,
    casts: BTreeMap<CastKey, BTreeMap<u32, BTreeSet<u32>>>,
    /// Who has been looked at as the one that broadcasts.
    acted: HashSet<(usize, u32, u32)>,
    faults: BTreeSet<(PropertyId, Config)>,
    refused: Option<Unsupported>,
    /// For rules of two elements, what each element must have in a cell.
    wanted: Vec<Wanted>,
    /// The rules of one element by what it has in a cell.
    dispatch: Dispatch,
    scratch: Vec<i64>,
}

impl<'a> Explorer<'a> {
    fn new(
        model: &'a Model,
        shape: &'a CountedShape,
        kinds: &'a Kinds,
        shared: CellNumbers,
        locals: CellNumbers,
    ) -> Explorer<'a> {
        Explorer {
            model,
            shape,
            kinds,
            shared,
            locals,
            occur: Vec::new(),
            bits: Vec::new(),
            after: Vec::new(),
            links: HashSet::new(),
            queue: VecDeque::new(),
            edges: Vec::new(),
            casts: BTreeMap::new(),
            acted: HashSet::new(),
            faults: BTreeSet::new(),
            refused: None,
            wanted: wanted(model, shape, &kinds.two),
            dispatch: Dispatch::new(&wanted(model, shape, &kinds.one)),
            scratch: Vec::new(),
        }
    }

    fn run(&mut self, beginnings: &[StartChoice], meter: &mut Meter<'_>) -> Result<(), EarlyEnd> {
        for beginning in beginnings {
            self.reach(beginning.config.shared);
            for (place, _) in &beginning.config.tokens {
                self.add(beginning.config.shared, *place);
            }
        }
        let kinds = self.kinds;
        let mut one = kinds.one.stepper();
        let mut two = kinds.two.stepper();
        while let Some((shared, local)) = self.queue.pop_front() {
            meter.tick()?;
            match local {
                None => self.alone(shared),
                Some(local) => {
                    for at in 0..self.after[shared as usize].len() {
                        self.add(self.after[shared as usize][at], local);
                    }
                    self.single(shared, local, &mut one);
                    self.pairs(shared, local, &mut two, meter)?;
                    self.broadcasts(shared, Some(local));
                }
            }
            if let Some(refused) = self.refused.take() {
                return Err(refused.into());
            }
        }
        Ok(())
    }

    /// Makes a shared state occur.
    fn reach(&mut self, shared: u32) {
        while self.occur.len() < self.shared.len() as usize {
            self.occur.push(Vec::new());
            self.bits.push(Vec::new());
            self.after.push(Vec::new());
        }
        if self.links.insert((shared, shared)) {
            self.queue.push_back((shared, None));
        }
    }

    /// Makes a local state occur in a shared state.
    fn add(&mut self, shared: u32, local: u32) {
        let bits = &mut self.bits[shared as usize];
        let (word, bit) = (local as usize / 64, 1u64 << (local % 64));
        if bits.len() <= word {
            bits.resize(word + 1, 0);
        }
        if bits[word] & bit == 0 {
            bits[word] |= bit;
            self.occur[shared as usize].push(local);
            self.queue.push_back((shared, Some(local)));
        }
    }

    /// A step leads from one shared state to another: whoever is in the one may be in the other.
    fn link(&mut self, from: u32, to: u32) {
        self.reach(to);
        if self.links.insert((from, to)) {
            self.after[from as usize].push(to);
            for at in 0..self.occur[from as usize].len() {
                self.add(to, self.occur[from as usize][at]);
            }
        }
    }

    fn edge(&mut self, from: u32, take: Arcs, to: u32, give: Arcs) {
        self.link(from, to);
        for (place, _) in &give {
            self.add(to, *place);
        }
        if from != to || take != give {
            self.edges.push((from, take, to, give));
        }
    }

    fn fault(&mut self, fault: &Fault, shared: u32, tokens: &[u32]) {
        if let Some(property) = fault_property(self.model, fault) {
            self.faults.insert((property, Config::new(shared, tokens.iter().map(|place| (*place, 1)))));
        }
    }

    /// Rules and broadcasts that name no element.
    fn alone(&mut self, shared: u32) {
        let instance = &self.kinds.none;
        let state = instance.compose(self.shared.cells(shared), &[]);
        let mut collect = EventSink::new(instance);
        let _ = instance.stepper().expand(&state, &mut collect);
        for event in collect.events {
            match event {
                StepEvent::Fired { state, .. } => {
                    instance.shared_of(&state, &mut self.scratch);
                    let to = self.shared.number(&self.scratch);
                    self.edge(shared, Arcs::new(), to, Arcs::new());
                }
                StepEvent::Body { fault, .. } | StepEvent::Guard { fault, .. } => {
                    self.fault(&fault, shared, &[])
                }
            }
        }
        self.broadcasts(shared, None);
    }

    /// Rules of one element.
    fn single(&mut self, shared: u32, local: u32, stepper: &mut Stepper<'_>) {
        let instance = &self.kinds.one;
        let state = instance.compose(self.shared.cells(shared), &[self.locals.cells(local)]);
        let mut found = SuccessorSink::default();
        let _ = stepper.expand_some(&state, self.dispatch.rules(self.locals.cells(local)), &mut found);
        let SuccessorSink { next, faults } = found;
        for state in next {
            instance.shared_of(&state, &mut self.scratch);
            let to = self.shared.number(&self.scratch);
            instance.local_of(&state, 0, &mut self.scratch);
            let after = self.locals.number(&self.scratch);
            self.edge(shared, System::arcs([(local, 1)]), to, System::arcs([(after, 1)]));
        }
        for fault in faults {
            self.fault(&fault, shared, &[local]);
        }
    }

    /// Rules of two elements, for a local state that is new and all that were there.
    fn pairs(
        &mut self,
        shared: u32,
        local: u32,
        stepper: &mut Stepper<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<(), MeterStop> {
        if self.kinds.two.rules.is_empty() {
            return Ok(());
        }
        for at in 0..self.occur[shared as usize].len() {
            let other = self.occur[shared as usize][at];
            meter.tick()?;
            self.pair(shared, local, other, stepper);
            if other != local {
                self.pair(shared, other, local, stepper);
            }
        }
        Ok(())
    }

    fn pair(&mut self, shared: u32, first: u32, second: u32, stepper: &mut Stepper<'_>) {
        let has = |local: u32, wanted: &Option<(usize, i64)>| {
            wanted.is_none_or(|(cell, code)| self.locals.cells(local)[cell] == code)
        };
        let able =
            self.wanted.iter().enumerate().filter(|(_, [one, other])| has(first, one) && has(second, other));
        let rules: Vec<usize> = able.map(|(rule, _)| rule).collect();
        if rules.is_empty() {
            return;
        }
        let instance = &self.kinds.two;
        let cells = [self.locals.cells(first), self.locals.cells(second)];
        let state = instance.compose(self.shared.cells(shared), &cells);
        let mut collect = EventSink::new(instance);
        let _ = stepper.expand_some(&state, &rules, &mut collect);
        for event in collect.events {
            let (rule, args) = match &event {
                StepEvent::Fired { rule, args, .. }
                | StepEvent::Body { rule, args, .. }
                | StepEvent::Guard { rule, args, .. } => (*rule, args),
            };
            // The other way round, and twice the same, are looked at elsewhere.
            if elements(args, &self.shape.rules[rule_id(instance, rule).index()].elements) != [0, 1] {
                continue;
            }
            match event {
                StepEvent::Fired { state, .. } => {
                    instance.shared_of(&state, &mut self.scratch);
                    let to = self.shared.number(&self.scratch);
                    let mut after = [0; 2];
                    for (element, after) in after.iter_mut().enumerate() {
                        instance.local_of(&state, element as u32, &mut self.scratch);
                        *after = self.locals.number(&self.scratch);
                    }
                    let take = System::arcs([(first, 1), (second, 1)]);
                    self.edge(shared, take, to, System::arcs(after.map(|after| (after, 1))));
                }
                StepEvent::Body { fault, .. } | StepEvent::Guard { fault, .. } => {
                    self.fault(&fault, shared, &[first, second]);
                }
            }
        }
    }

    /// Broadcasts by an element, or by none, and what they do to an element that is new.
    fn broadcasts(&mut self, shared: u32, local: Option<u32>) {
        for number in 0..self.kinds.casts.len() {
            let cast = &self.kinds.casts[number];
            match (cast.actors, local) {
                // The new one acts, or it is moved by one that was there.
                (1, Some(local)) => {
                    self.cast(number, shared, Some(local));
                    self.acted.insert((number, shared, local));
                    for other in self.occur[shared as usize].clone() {
                        self.moved(number, shared, Some(local), other);
                        if other != local && self.acted.contains(&(number, shared, other)) {
                            self.moved(number, shared, Some(other), local);
                        }
                    }
                }
                (0, None) => {
                    self.cast(number, shared, None);
                    for other in self.occur[shared as usize].clone() {
                        self.moved(number, shared, None, other);
                    }
                }
                (0, Some(local)) => self.moved(number, shared, None, local),
                _ => {}
            }
        }
    }

    /// What a broadcast does when nobody else is there.
    fn cast(&mut self, number: usize, shared: u32, actor: Option<u32>) {
        let instance = &self.kinds.casts[number].alone;
        for event in self.events(instance, shared, actor.as_slice()) {
            match event {
                StepEvent::Fired { state, .. } => {
                    let (to, after) = self.outcome(instance, &state, actor.is_some());
                    self.link(shared, to);
                    if let Some(after) = after {
                        self.add(to, after);
                    }
                    self.casts.entry((number, shared, actor, to, after)).or_default();
                }
                StepEvent::Body { fault, .. } | StepEvent::Guard { fault, .. } => {
                    self.fault(&fault, shared, actor.as_slice());
                }
            }
        }
    }

    fn events(&self, instance: &FixedInstance, shared: u32, locals: &[u32]) -> Vec<StepEvent> {
        let cells: Vec<&[i64]> = locals.iter().map(|local| self.locals.cells(*local)).collect();
        let state = instance.compose(self.shared.cells(shared), &cells);
        let mut collect = EventSink { only_moves: false, ..EventSink::new(instance) };
        let _ = instance.stepper().expand(&state, &mut collect);
        collect.events
    }

    fn outcome(&mut self, instance: &FixedInstance, state: &[i64], actor: bool) -> (u32, Option<u32>) {
        instance.shared_of(state, &mut self.scratch);
        let to = self.shared.number(&self.scratch);
        let after = actor.then(|| {
            instance.local_of(state, 0, &mut self.scratch);
            self.locals.number(&self.scratch)
        });
        (to, after)
    }

    /// Where a broadcast moves another element.
    fn moved(&mut self, number: usize, shared: u32, actor: Option<u32>, other: u32) {
        let cast = &self.kinds.casts[number];
        let instance = &cast.with;
        let rule = rule_id(instance, 0);
        let positions = &self.shape.rules[rule.index()].elements;
        let locals: Vec<u32> = actor.into_iter().chain([other]).collect();
        let mut seen = BTreeSet::new();
        for event in self.events(instance, shared, &locals) {
            match event {
                StepEvent::Fired { args, state, .. } => {
                    if elements(&args, positions) != (0..cast.actors).collect::<Vec<_>>() {
                        continue;
                    }
                    let (to, after) = self.outcome(instance, &state, actor.is_some());
                    instance.local_of(&state, cast.actors, &mut self.scratch);
                    let target = self.locals.number(&self.scratch);
                    self.link(shared, to);
                    self.add(to, target);
                    let key = (number, shared, actor, to, after);
                    seen.insert(key);
                    match self.casts.get_mut(&key) {
                        Some(transfers) => {
                            transfers.entry(other).or_default().insert(target);
                        }
                        None => self.refuse_cast(rule),
                    }
                }
                StepEvent::Body { fault, .. } | StepEvent::Guard { fault, .. } => {
                    self.fault(&fault, shared, &locals)
                }
            }
        }
        let first = (number, shared, actor, 0, None);
        let all =
            self.casts.range(first..).take_while(|(key, _)| (key.0, key.1, key.2) == (number, shared, actor));
        if all.count() != seen.len() {
            self.refuse_cast(rule);
        }
    }

    fn refuse_cast(&mut self, rule: RuleId) {
        let rule = &self.model.rules[rule];
        let construct = format!("rule {:?}, whose effect depends on who else is there", rule.name);
        self.refused.get_or_insert_with(|| unsupported(construct, rule.span));
    }

    fn finish(mut self) -> ThreadExploration {
        self.edges.sort_unstable();
        self.edges.dedup();
        let plain = self.edges.drain(..).map(|(from, take, to, give)| Transition {
            from,
            to,
            take,
            give,
            transfers: Vec::new(),
        });
        let mut transitions: Vec<Transition> = plain.collect();
        for ((_, from, before, to, after), moves) in &self.casts {
            let arcs = |place: &Option<u32>| System::arcs(place.map(|place| (place, 1)));
            let moves = moves.iter().filter(|(place, targets)| targets.iter().ne([*place]));
            let transfers: Vec<Transfer> = moves
                .map(|(place, targets)| Transfer {
                    place: *place,
                    targets: targets.iter().copied().collect(),
                })
                .collect();
            let transition =
                Transition { from: *from, to: *to, take: arcs(before), give: arcs(after), transfers };
            if !transitions.contains(&transition) {
                transitions.push(transition);
            }
        }
        self.occur.resize(self.shared.len() as usize, Vec::new());
        ThreadExploration {
            shared: self.shared,
            locals: self.locals,
            occur: self.occur,
            faults: self.faults,
            transitions,
        }
    }
}

/// The property that a fault violates, if there is one.
pub(crate) fn fault_property(model: &Model, fault: &Fault) -> Option<PropertyId> {
    match fault.kind {
        FaultKind::Assertion(property) => Some(property),
        _ => model
            .properties
            .enumerate()
            .find(|(_, property)| property.kind == PropertyKind::NoFaults)
            .map(|(id, _)| id),
    }
}
