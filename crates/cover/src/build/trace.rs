//! From a run of the counter system to a trace of the model with that many elements.

use std::collections::{BTreeMap, VecDeque};

use shoal_certificate::{Config, OMEGA, Transition};
use shoal_model::{During, PropertyId, Ratio, Reason, RuleId, State, Step, Trace, TypedId, Value, Violation};

use super::{
    instance::{EventSink, FixedInstance, StepEvent, elements, rule_id},
    threads::{BroadcastRule, Threads, fault_property},
};
use crate::run::CoveringRun;

/// The elements of a run: where each is now.
struct Crowd {
    locals: Vec<u32>,
    /// The elements in each local state, the one that came first in front.
    queues: BTreeMap<u32, VecDeque<u32>>,
}

impl Crowd {
    fn take(&mut self, local: u32) -> Option<u32> {
        self.queues.get_mut(&local)?.pop_front()
    }

    fn put(&mut self, element: u32, local: u32) {
        self.locals[element as usize] = local;
        self.queues.entry(local).or_default().push_back(element);
    }
}

/// What a step of the model is.
struct TraceMove {
    rule: RuleId,
    args: Vec<Value>,
    choices: Vec<Value>,
    /// The elements named by the arguments, by the number they had when it was looked up.
    named: Vec<usize>,
}

impl Threads<'_> {
    /// The violation that a run ends in, and how many elements there are.
    pub(crate) fn violation(
        &self,
        property: PropertyId,
        target: &Config,
        run: &CoveringRun,
    ) -> Option<(Violation, u64)> {
        let run = &self.populated(run)?;
        let mut crowd = self.crowd(run)?;
        let beginning = &self.beginnings[run.initial];
        let sized = self.sized(crowd.locals.len() as u32)?;
        let mut args = beginning.args.clone();
        for (element, at) in beginning.positions.iter().enumerate() {
            args[*at] = Value::Elem(self.shape.sort, element as u32);
        }
        let mut choices = beginning.choices.before.clone();
        for (element, local) in crowd.locals.iter().enumerate() {
            match element < beginning.fixed.len() {
                true => choices.extend(beginning.choices.fixed.iter().cloned()),
                false => choices.extend(beginning.choices.each.get(local)?.iter().cloned()),
            }
        }
        let state = self.state(&sized, run.start.shared, &crowd);
        let mut trace =
            Trace { start: beginning.start, args, choices, state, steps: Vec::new(), loops_to: None };
        let mut shared = run.start.shared;
        for (id, after) in &run.steps {
            let step =
                self.step(&sized, shared, &self.system.transitions[*id as usize], &mut crowd, after)?;
            trace.steps.push(step);
            shared = after.shared;
        }
        let reason = self.reason(property, target, shared, &mut crowd)?;
        Some((Violation { reason, trace: Some(trace) }, crowd.locals.len() as u64))
    }

    /// The run with at least one element: a state without any cannot be run, and one more never hinders. Broadcasts move it
    /// as they move everybody.
    fn populated(&self, run: &CoveringRun) -> Option<CoveringRun> {
        if run.start.size() > 0 {
            return Some(run.clone());
        }
        let beginning = &self.beginnings[run.initial];
        let place = beginning.config.tokens.iter().find(|token| token.1 == OMEGA)?.0;
        let start = Config::new(run.start.shared, [(place, 1)]);
        let mut now = start.clone();
        let mut steps = Vec::new();
        for (id, after) in &run.steps {
            let next = self.system.transitions[*id as usize].successors(&now).ok()?;
            now = next.into_iter().find(|next| after.is_below(next))?;
            steps.push((*id, now.clone()));
        }
        Some(CoveringRun { initial: run.initial, start, steps })
    }

    /// The elements in the beginning: those that are parameters of the start first.
    fn crowd(&self, run: &CoveringRun) -> Option<Crowd> {
        let beginning = &self.beginnings[run.initial];
        let mut rest = run.start.clone();
        let mut locals = beginning.fixed.clone();
        for local in &beginning.fixed {
            // A fixed element may lie where there is omega too.
            rest.set(*local, rest.count(*local).saturating_sub(1));
        }
        for (local, count) in &rest.tokens {
            locals.extend(std::iter::repeat_n(*local, *count as usize));
        }
        let mut crowd = Crowd { locals: vec![0; locals.len()], queues: BTreeMap::new() };
        for (element, local) in locals.into_iter().enumerate() {
            crowd.put(element as u32, local);
        }
        Some(crowd)
    }

    /// The model with so many elements and no rules, to show states of it.
    fn sized(&self, size: u32) -> Option<FixedInstance> {
        FixedInstance::new(self.model, &self.shape, size, Vec::new()).ok()
    }

    fn state(&self, sized: &FixedInstance, shared: u32, crowd: &Crowd) -> State {
        let cells: Vec<&[i64]> = crowd.locals.iter().map(|local| self.locals.cells(*local)).collect();
        sized.decode(&sized.compose(self.shared.cells(shared), &cells))
    }

    fn step(
        &self,
        sized: &FixedInstance,
        shared: u32,
        transition: &Transition,
        crowd: &mut Crowd,
        after: &Config,
    ) -> Option<Step> {
        let taken: Vec<u32> = expand(&transition.take);
        let given: Vec<u32> = expand(&transition.give);
        let plain = match transition.transfers.is_empty() {
            true => self.find(shared, &taken, transition.to, &given),
            false => None,
        };
        let (step, actors) = match plain {
            Some((step, order, results)) => {
                let actors: Vec<u32> = order.iter().map(|local| crowd.take(*local)).collect::<Option<_>>()?;
                for (element, local) in actors.iter().zip(results) {
                    crowd.put(*element, local);
                }
                (step, actors)
            }
            // A broadcast that moves nobody is one too.
            None => self.broadcast(shared, transition, &taken, &given, crowd, after)?,
        };
        let mut args = step.args;
        let positions = &self.shape.rules[step.rule.index()].elements;
        for (at, named) in positions.iter().zip(&step.named) {
            args[*at] = Value::Elem(self.shape.sort, actors[*named]);
        }
        let state = self.state(sized, transition.to, crowd);
        Some(Step { delay: Ratio::ZERO, rule: step.rule, args, choices: step.choices, state })
    }

    /// The rule behind a transition: what it is called with, the local states of its elements in order, and after it.
    fn find(
        &self,
        shared: u32,
        taken: &[u32],
        to: u32,
        given: &[u32],
    ) -> Option<(TraceMove, Vec<u32>, Vec<u32>)> {
        let orders: Vec<Vec<u32>> = match taken {
            [one, other] => vec![vec![*one, *other], vec![*other, *one]],
            _ => vec![taken.to_vec()],
        };
        let instance = match taken.len() {
            0 => &self.kinds.none,
            1 => &self.kinds.one,
            _ => &self.kinds.two,
        };
        orders.into_iter().find_map(|order| {
            self.happens(instance, shared, &order).into_iter().find_map(|event| {
                let StepEvent::Fired { rule, args, choices, state } = event else { return None };
                let rule = rule_id(instance, rule);
                let named = elements(&args, &self.shape.rules[rule.index()].elements);
                let in_order = order.len() < 2 || named == [0, 1];
                let results = self.results(instance, &state, order.len() as u32)?;
                let mut sorted = results.1.clone();
                sorted.sort_unstable();
                let fits = in_order && results.0 == to && sorted == given;
                let named = named.into_iter().map(|element| element as usize).collect();
                fits.then(|| (TraceMove { rule, args, choices, named }, order.clone(), results.1))
            })
        })
    }

    fn happens(&self, instance: &FixedInstance, shared: u32, locals: &[u32]) -> Vec<StepEvent> {
        let cells: Vec<&[i64]> = locals.iter().map(|local| self.locals.cells(*local)).collect();
        let state = instance.compose(self.shared.cells(shared), &cells);
        let mut collect = EventSink { only_moves: false, ..EventSink::new(instance) };
        let _ = instance.stepper().expand(&state, &mut collect);
        collect.events
    }

    /// The numbers of the shared and the local states in a state.
    fn results(&self, instance: &FixedInstance, state: &[i64], count: u32) -> Option<(u32, Vec<u32>)> {
        let mut scratch = Vec::new();
        instance.shared_of(state, &mut scratch);
        let shared = self.shared.find(&scratch)?;
        let mut locals = Vec::new();
        for element in 0..count {
            instance.local_of(state, element, &mut scratch);
            locals.push(self.locals.find(&scratch)?);
        }
        Some((shared, locals))
    }

    fn broadcast(
        &self,
        shared: u32,
        transition: &Transition,
        taken: &[u32],
        given: &[u32],
        crowd: &mut Crowd,
        after: &Config,
    ) -> Option<(TraceMove, Vec<u32>)> {
        let actors: Vec<u32> = taken.iter().map(|local| crowd.take(*local)).collect::<Option<_>>()?;
        // How many may still come to each place.
        let mut room = after.clone();
        for local in given {
            room.set(*local, room.count(*local).saturating_sub(1));
        }
        let before = crowd.locals.clone();
        let mut next = before.clone();
        for (element, local) in before.iter().enumerate() {
            if actors.contains(&(element as u32)) {
                continue;
            }
            let target = match transition.transfer(*local) {
                Some(transfer) => *transfer.targets.iter().find(|target| room.count(**target) > 0)?,
                None => *local,
            };
            room.set(target, room.count(target).saturating_sub(1));
            next[element] = target;
        }
        let found = self.kinds.casts.iter().find_map(|cast| {
            let base = self.cast_base(cast, shared, taken, transition.to, given)?;
            let mut choices = Vec::new();
            for (element, local) in
                before.iter().enumerate().filter(|(element, _)| !actors.contains(&(*element as u32)))
            {
                choices.extend(self.cast_choices(
                    cast,
                    shared,
                    taken,
                    *local,
                    transition.to,
                    given,
                    next[element],
                )?);
            }
            Some(TraceMove { choices, ..base })
        })?;
        for (element, local) in actors.iter().zip(given) {
            next[*element as usize] = *local;
        }
        crowd.queues.clear();
        for (element, local) in next.into_iter().enumerate() {
            crowd.put(element as u32, local);
        }
        Some((found, actors))
    }

    fn cast_base(
        &self,
        cast: &BroadcastRule,
        shared: u32,
        taken: &[u32],
        to: u32,
        given: &[u32],
    ) -> Option<TraceMove> {
        if cast.actors as usize != taken.len() {
            return None;
        }
        self.happens(&cast.alone, shared, taken).into_iter().find_map(|event| {
            let StepEvent::Fired { rule, args, choices, state } = event else { return None };
            let fits = self.results(&cast.alone, &state, cast.actors)? == (to, given.to_vec());
            let named = (0..cast.actors as usize).collect();
            fits.then(|| TraceMove { rule: rule_id(&cast.alone, rule), args, choices, named })
        })
    }

    /// The choices of one element in a broadcast.
    #[allow(clippy::too_many_arguments)]
    fn cast_choices(
        &self,
        cast: &BroadcastRule,
        shared: u32,
        taken: &[u32],
        local: u32,
        to: u32,
        given: &[u32],
        next: u32,
    ) -> Option<Vec<Value>> {
        let locals: Vec<u32> = taken.iter().copied().chain([local]).collect();
        let wanted = (to, given.iter().copied().chain([next]).collect::<Vec<u32>>());
        self.happens(&cast.with, shared, &locals).into_iter().find_map(|event| {
            let StepEvent::Fired { rule, args, choices, state } = event else { return None };
            let rule = rule_id(&cast.with, rule);
            let named = elements(&args, &self.shape.rules[rule.index()].elements);
            let own = named.iter().copied().eq(0..cast.actors);
            (own && self.results(&cast.with, &state, cast.actors + 1)? == wanted).then_some(choices)
        })
    }

    /// What is wrong in the last state: the condition is false, or something faults.
    fn reason(
        &self,
        property: PropertyId,
        target: &Config,
        shared: u32,
        crowd: &mut Crowd,
    ) -> Option<Reason> {
        if !self.faults.contains(&(property, target.clone())) {
            return Some(Reason::ConditionFalse);
        }
        let tokens = expand(&target.tokens);
        let mut orders = vec![tokens.clone()];
        if let [one, other] = tokens[..] {
            orders.push(vec![other, one]);
        }
        let casts = self.kinds.casts.iter().flat_map(|cast| [&cast.alone, &cast.with]);
        let instances: Vec<&FixedInstance> =
            [&self.kinds.none, &self.kinds.one, &self.kinds.two].into_iter().chain(casts).collect();
        for order in orders {
            let fitting = instances.iter().filter(|instance| instance.size() as usize == order.len());
            for instance in fitting {
                for event in self.happens(instance, shared, &order) {
                    let (rule, args, fault, body) = match event {
                        StepEvent::Fired { .. } => continue,
                        StepEvent::Body { rule, args, choices, fault } => (rule, args, fault, Some(choices)),
                        StepEvent::Guard { rule, args, fault } => (rule, args, fault, None),
                    };
                    if fault_property(self.model, &fault) != Some(property) {
                        continue;
                    }
                    let rule = rule_id(instance, rule);
                    let actors: Vec<u32> =
                        order.iter().map(|local| crowd.take(*local)).collect::<Option<_>>()?;
                    let rename = |value: Value| match value {
                        Value::Elem(sort, element) if sort == self.shape.sort => {
                            Value::Elem(sort, actors.get(element as usize).copied().unwrap_or(element))
                        }
                        other => other,
                    };
                    let args = args.into_iter().map(rename).collect();
                    let during = match body {
                        Some(choices) => During::Body(rule, args, choices),
                        None => During::Guard(rule, args),
                    };
                    return Some(Reason::Fault(during, fault));
                }
            }
        }
        None
    }
}

/// The tokens one by one.
fn expand(tokens: &[(u32, u32)]) -> Vec<u32> {
    tokens.iter().flat_map(|(place, count)| std::iter::repeat_n(*place, *count as usize)).collect()
}
