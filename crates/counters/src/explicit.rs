//! Counters one state at a time, breadth first.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use shoal_model::{
    Failing, Job, Observer, Progress, PropertyResult, Reason, Statistics, StopReason, TypedId, Verdict,
    Violation,
};
use shoal_symbolic::{
    dd::{Bdd, DdHalt, DdResult, FlatDiagram},
    decide::{BitRun, Lift, Why},
    question::{Failures, PropertyQuestion, QuestionKind},
    system::TransitionSystem,
};

use crate::{
    compile::Compiled,
    lift::Lifter,
    points::{BitPositions, CounterState, PointMove, flat},
};

/// A question, ready to be asked of single states.
struct ReadyQuestion<'q> {
    question: &'q PropertyQuestion,
    /// What is looked for: bad states, or good ones.
    states: Option<FlatDiagram>,
    dropped: Option<FlatDiagram>,
    /// The first state found.
    found: Option<(u32, bool)>,
}

/// Decides the questions by visiting every state.
pub(crate) fn decide(
    compiled: &Compiled<'_>,
    places: &BitPositions,
    system: &TransitionSystem<'_>,
    (questions, failures): (&[PropertyQuestion], &Failures),
    job: &Job,
    observer: &mut dyn Observer,
    lifter: &mut Lifter<'_, '_>,
) -> DdResult<(Vec<PropertyResult>, Failing, Statistics)> {
    let mut search = CounterSearch::new(compiled, places, system, job, (questions, failures))?;
    let stop = search.run(observer)?;
    let results = search.verdicts(&stop, observer, lifter)?;
    let failing = if search.failures.seen { Failing::Step } else { Failing::Nothing };
    Ok((results, failing, search.statistics(stop.is_none())))
}

/// Where a step fails, ready to be asked of single states.
struct FlatFailures {
    steps: Option<FlatDiagram>,
    dropped: Option<FlatDiagram>,
    /// Whether there was one.
    seen: bool,
}

impl FlatFailures {
    fn new(failures: &Failures, system: &TransitionSystem<'_>) -> DdResult<FlatFailures> {
        let (steps, dropped) = failures.sets(&system.dd)?;
        let some = |set: Bdd| (!set.is_false()).then(|| flat(&set));
        Ok(FlatFailures { steps: some(steps), dropped: some(dropped), seen: false })
    }

    fn look(&mut self, places: &BitPositions, point: &CounterState, dropped: bool) {
        let set = if dropped { &self.dropped } else { &self.steps };
        self.seen = self.seen || set.as_ref().is_some_and(|set| places.holds(set, point));
    }
}

struct CounterSearch<'s, 'm> {
    compiled: &'s Compiled<'m>,
    places: &'s BitPositions,
    job: &'s Job,
    began: Instant,
    moves: Vec<PointMove>,
    keep: Option<FlatDiagram>,
    states: Vec<CounterState>,
    /// The state before each; itself for a start.
    parents: Vec<u32>,
    index: FxHashMap<CounterState, u32>,
    /// States that assumptions drop and that show a fault, with the state before.
    beyond: Vec<(CounterState, u32)>,
    open: Vec<ReadyQuestion<'s>>,
    failures: FlatFailures,
    /// Steps, where they are needed.
    edges: Option<Vec<(u32, u32)>>,
    levels: Vec<u64>,
    fired: Vec<u64>,
}

impl<'s, 'm> CounterSearch<'s, 'm> {
    fn new(
        compiled: &'s Compiled<'m>,
        places: &'s BitPositions,
        system: &TransitionSystem<'_>,
        job: &'s Job,
        (questions, failures): (&'s [PropertyQuestion], &Failures),
    ) -> DdResult<Self> {
        let mut open = Vec::new();
        let mut edges = None;
        for question in questions {
            let (states, dropped) = match &question.ask {
                QuestionKind::Never(bad, dropped) => {
                    (Some(flat(&bad.whole(&system.dd)?)), (!dropped.is_false()).then(|| flat(dropped)))
                }
                QuestionKind::Reached(goal) => (Some(flat(goal)), None),
                QuestionKind::Possible(_, faults) if !faults.is_false() => {
                    let construct = "what is always possible where it may fault, without diagrams".into();
                    return Err(DdHalt::Lacks { construct, span: None });
                }
                QuestionKind::Possible(goal, _) => {
                    edges = Some(Vec::new());
                    (Some(flat(goal)), None)
                }
                QuestionKind::Formula(..) => {
                    let construct = "formulas of branching time without diagrams".into();
                    return Err(DdHalt::Lacks { construct, span: None });
                }
                QuestionKind::Given => (None, None),
            };
            open.push(ReadyQuestion { question, states, dropped, found: None });
        }
        let mut search = CounterSearch {
            compiled,
            places,
            job,
            began: Instant::now(),
            moves: places.prepare_all(compiled),
            keep: (!system.keep.is_true()).then(|| flat(&system.keep)),
            states: Vec::new(),
            parents: Vec::new(),
            index: FxHashMap::default(),
            beyond: Vec::new(),
            open,
            failures: FlatFailures::new(failures, system)?,
            edges,
            levels: Vec::new(),
            fired: vec![0; compiled.model.rules.len()],
        };
        for start in &compiled.starts.all {
            let mut bits = vec![false; compiled.bits as usize];
            for (cell, value) in compiled.layout.cells.iter().zip(&start.cells) {
                for (var, value) in compiled.layout.literals(compiled.model, cell, value) {
                    bits[(var / 2) as usize] = value;
                }
            }
            let mut point = places.point(&bits);
            for ((sort, class), count) in &start.counts {
                point[places.counter(*sort, *class)] = *count;
            }
            search.reach(point, None);
        }
        Ok(search)
    }

    fn reach(&mut self, point: CounterState, parent: Option<u32>) -> Option<u32> {
        if let Some(known) = self.index.get(&point) {
            return Some(*known);
        }
        if self.keep.as_ref().is_some_and(|keep| !self.places.holds(keep, &point)) {
            self.failures.look(self.places, &point, true);
            let number = self.beyond.len() as u32;
            let mut shows = false;
            for open in self.open.iter_mut().filter(|open| open.found.is_none()) {
                if open.dropped.as_ref().is_some_and(|set| self.places.holds(set, &point)) {
                    open.found = Some((number, true));
                    shows = true;
                }
            }
            if shows {
                self.beyond.push((point, parent.unwrap_or(u32::MAX)));
            }
            return None;
        }
        self.failures.look(self.places, &point, false);
        let number = self.states.len() as u32;
        for open in self.open.iter_mut().filter(|open| open.found.is_none()) {
            let wanted = matches!(open.question.ask, QuestionKind::Never(..) | QuestionKind::Reached(_));
            if wanted && open.states.as_ref().is_some_and(|set| self.places.holds(set, &point)) {
                open.found = Some((number, false));
            }
        }
        self.index.insert(point.clone(), number);
        self.states.push(point);
        self.parents.push(parent.unwrap_or(number));
        Some(number)
    }

    fn bytes(&self) -> u64 {
        let point = self.states.first().map_or(0, |point| point.len() as u64 * 4);
        self.states.len() as u64 * (2 * point + 64) + self.edges.as_ref().map_or(0, |it| it.len() as u64 * 8)
    }

    /// Visits states until there are no more; says what ended it otherwise.
    fn run(&mut self, observer: &mut dyn Observer) -> DdResult<Option<StopReason>> {
        let mut next = 0;
        let mut give_up_at = None;
        let mut told = Instant::now();
        while next < self.states.len() {
            let end = self.states.len();
            let depth = self.levels.len() as u64;
            self.levels.push((end - next) as u64);
            if self.job.limits().depth.is_some_and(|limit| depth >= limit) {
                return Ok(self.job.limits().depth.map(StopReason::Depth));
            }
            while next < end {
                if next.is_multiple_of(1024) {
                    let is_bad = |open: &ReadyQuestion<'_>| {
                        matches!(open.question.ask, QuestionKind::Never(..)) && open.found.is_some()
                    };
                    if let (None, Some(patience)) = (give_up_at, self.job.patience)
                        && self.open.iter().any(is_bad)
                    {
                        give_up_at = Some(self.states.len() as u64 + patience);
                    }
                    if give_up_at.is_some_and(|limit| self.states.len() as u64 > limit) {
                        return Ok(Some(StopReason::OtherViolation));
                    }
                    if let Some(stop) = self.stop(observer, &mut told, depth, end - next) {
                        return Ok(Some(stop));
                    }
                }
                self.expand(next as u32);
                next += 1;
            }
        }
        Ok(None)
    }

    fn stop(
        &self,
        observer: &mut dyn Observer,
        told: &mut Instant,
        depth: u64,
        frontier: usize,
    ) -> Option<StopReason> {
        let limits = self.job.limits();
        if told.elapsed() > Duration::from_millis(300) {
            *told = Instant::now();
            observer.progress(&Progress {
                states: self.states.len() as u64,
                transitions: self.fired.iter().sum(),
                frontier: frontier as u64,
                depth,
                memory_bytes: self.bytes(),
                elapsed: self.began.elapsed(),
            });
        }
        if limits.memory.is_some_and(|limit| self.bytes() > limit) {
            return limits.memory.map(StopReason::Memory);
        }
        if limits.states.is_some_and(|limit| self.states.len() as u64 > limit) {
            return limits.states.map(StopReason::States);
        }
        self.job.watch.check().err()
    }

    fn expand(&mut self, number: u32) {
        let point = self.states[number as usize].clone();
        for at in 0..self.moves.len() {
            let moved = &self.moves[at];
            let Some(next) = self.places.after(&point, moved) else { continue };
            self.fired[self.compiled.moves[moved.number].rule.index()] += 1;
            let reached = self.reach(next, Some(number));
            if let (Some(edges), Some(to)) = (&mut self.edges, reached) {
                edges.push((number, to));
            }
        }
    }

    /// The states on the way to one.
    fn run_to(&self, number: u32) -> Vec<Vec<bool>> {
        let mut states = vec![self.places.bits(&self.states[number as usize])];
        let mut at = number;
        while self.parents[at as usize] != at {
            at = self.parents[at as usize];
            states.push(self.places.bits(&self.states[at as usize]));
        }
        states.reverse();
        states
    }

    fn verdicts(
        &self,
        stop: &Option<StopReason>,
        observer: &mut dyn Observer,
        lifter: &mut Lifter<'_, '_>,
    ) -> DdResult<Vec<PropertyResult>> {
        let mut results = Vec::new();
        for open in &self.open {
            let property = open.question.property;
            let shown = match (&open.question.ask, open.found) {
                (QuestionKind::Never(..), Some((number, false))) => Some((self.run_to(number), Why::Bad)),
                (QuestionKind::Never(..), Some((number, true))) => {
                    let (point, before) = &self.beyond[number as usize];
                    let mut states = if *before == u32::MAX { Vec::new() } else { self.run_to(*before) };
                    states.push(self.places.bits(point));
                    Some((states, Why::Bad))
                }
                (QuestionKind::Possible(..), _) if stop.is_none() => {
                    self.hopeless(open).map(|number| (self.run_to(number), Why::NotPossible))
                }
                _ => None,
            };
            let verdict = match (shown, &open.question.ask, stop) {
                (Some((states, why)), _, _) => {
                    let violation = lifter.violation(property, &BitRun { states, loops_to: None }, why)?;
                    observer.violation(property, &violation);
                    Verdict::Violated(Box::new(violation))
                }
                (None, QuestionKind::Reached(_), None) if open.found.is_none() => {
                    let violation = Violation { reason: Reason::NeverCovered, trace: None };
                    Verdict::Violated(Box::new(violation))
                }
                (None, QuestionKind::Reached(_), Some(_)) if open.found.is_some() => Verdict::Holds,
                (None, QuestionKind::Given, _) | (None, _, None) => Verdict::Holds,
                (None, _, Some(reason)) => Verdict::Unknown(reason.clone()),
            };
            results.push(PropertyResult { property, verdict });
        }
        Ok(results)
    }

    /// The first state from which no good one can be reached.
    fn hopeless(&self, open: &ReadyQuestion<'_>) -> Option<u32> {
        let (edges, goal) = (self.edges.as_ref()?, open.states.as_ref()?);
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.states.len()];
        edges.iter().for_each(|(from, to)| before[*to as usize].push(*from));
        let mut hopeful = vec![false; self.states.len()];
        let mut queue: Vec<u32> = (0..self.states.len() as u32)
            .filter(|at| self.places.holds(goal, &self.states[*at as usize]))
            .collect();
        while let Some(at) = queue.pop() {
            if !std::mem::replace(&mut hopeful[at as usize], true) {
                queue.extend(&before[at as usize]);
            }
        }
        hopeful.iter().position(|hopeful| !hopeful).map(|at| at as u32)
    }

    fn statistics(&self, exhaustive: bool) -> Statistics {
        Statistics {
            exhaustive,
            states: self.states.len() as u64,
            transitions: self.fired.iter().sum(),
            depth: Some((self.levels.len() as u64).saturating_sub(1)),
            levels: self.levels.clone(),
            fired: self.fired.clone(),
            fresh: vec![0; self.fired.len()],
            time: self.began.elapsed(),
            memory_bytes: self.bytes(),
            state_bits: u64::from(self.compiled.bits),
            threads: 1,
            ..Statistics::default()
        }
    }
}
