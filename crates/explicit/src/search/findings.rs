//! What a search has found, for those who read its states and steps: formulas of linear and branching time, and AG EF.

use std::{
    sync::RwLockReadGuard,
    time::{Duration, Instant},
};

use shoal_code::{Layout, Program, Steps};
use shoal_model::{Fault, Job, Model, Observer, OrInternal, Progress, PropertyId, StopReason};

use crate::{
    canon::Canon,
    kripke::{Kripke, WantedSteps},
    shards::{SHARDS, Shard, Shards, join, shard, split},
    store::{NONE, hash},
};

/// Reads the states and steps of a search: so far, from time to time, and all in the end.
pub(crate) trait SearchReader {
    /// The properties of the model whose conditions are the bits of labels.
    fn conditions(&self) -> &[PropertyId];
    /// The states whose steps it wants.
    fn wanted(&self) -> WantedSteps;
    /// Which steps are enough for it, of a program that it may restrict to them.
    fn steps(&self, program: &mut Program) -> Steps;
    /// Reads what there is.
    fn read(&mut self, explored: &mut Findings<'_, '_>) -> ReadOutcome;
    /// With how many states the search is to end, as something else is wrong already.
    fn give_up_at(&self) -> Option<u64>;
}

/// What came of reading.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadOutcome {
    /// Whether something is wrong that was not known before.
    pub(crate) violated: bool,
    /// Whether no more is wanted.
    pub(crate) done: bool,
}

/// What a search has found, and all that is needed to make traces of it.
pub(crate) struct Findings<'e, 'm> {
    pub(crate) model: &'m Model,
    pub(crate) layout: &'m Layout,
    pub(crate) program: &'m Program,
    pub(crate) shards: &'e Shards,
    pub(crate) canon: Option<&'e mut Canon>,
    pub(crate) graph: KripkeView<'e>,
    /// For each condition, a state nearest to a start in which it faults.
    pub(crate) faults: &'e [Option<(u32, Fault)>],
    /// Whether the search is at its end, and if so, why not all was found.
    pub(crate) end: Option<Option<StopReason>>,
    pub(crate) budget: Spending<'e>,
}

/// The states, their labels, and the steps that were kept.
pub(crate) struct KripkeView<'e> {
    guards: Vec<RwLockReadGuard<'e, Shard>>,
    kripke: &'e Kripke,
    /// How many states the shards before each have.
    before: [usize; SHARDS],
    states: usize,
}

impl<'e> KripkeView<'e> {
    pub(crate) fn new(shards: &'e Shards, kripke: &'e Kripke) -> KripkeView<'e> {
        let guards: Vec<_> = (0..SHARDS).map(|shard| shards.read(shard)).collect();
        let mut before = [0; SHARDS];
        let mut states = 0;
        for (before, guard) in before.iter_mut().zip(&guards) {
            *before = states;
            states += guard.store.len();
        }
        KripkeView { guards, kripke, before, states }
    }

    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.states
    }

    /// The position of a state among all of them.
    #[inline]
    pub(crate) fn dense(&self, number: u32) -> usize {
        let (shard, local) = split(number);
        self.before[shard] + local as usize
    }

    /// The number of a packed state, if it was found.
    pub(crate) fn find(&self, words: &[u64]) -> Option<u32> {
        let hash = hash(words);
        let shard = shard(hash);
        join(shard, self.guards[shard].store.number(words, hash)?)
    }

    /// The state at a position.
    pub(crate) fn number(&self, at: usize) -> u32 {
        let shard = self.before.partition_point(|before| *before <= at) - 1;
        join(shard, (at - self.before[shard]) as u32).or_internal("a state that is stored has a number")
    }

    /// All states, in the order of their positions.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let locals = |shard: usize| 0..self.guards[shard].store.len() as u32;
        (0..SHARDS).flat_map(move |shard| locals(shard).filter_map(move |local| join(shard, local)))
    }

    /// The start states.
    pub(crate) fn initial(&self) -> impl Iterator<Item = u32> + '_ {
        // They were stored before all others.
        let starts = |shard: usize| {
            let store = &self.guards[shard].store;
            (0..store.len() as u32).take_while(|local| store.parent(*local) == NONE)
        };
        (0..SHARDS).flat_map(move |shard| starts(shard).filter_map(move |local| join(shard, local)))
    }

    /// The conditions that hold in a state.
    #[inline]
    pub(crate) fn label(&self, number: u32) -> u64 {
        let (shard, local) = split(number);
        self.guards[shard].labels.as_ref().map_or(0, |labels| labels.get(local))
    }

    /// Whether a goal is reached in a state.
    pub(crate) fn is_goal(&self, number: u32, goal: usize) -> bool {
        let (shard, local) = split(number);
        self.guards[shard].labels.as_ref().is_some_and(|labels| labels.is_goal(local, goal))
    }

    /// The states after a state, if its steps are kept. A state in which nothing can happen is followed by itself.
    #[inline]
    pub(crate) fn after(&self, number: u32) -> &'e [u32] {
        self.kripke.after(number)
    }

    /// The states whose steps are kept, and the states after each.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (u32, &'e [u32])> {
        self.kripke.entries()
    }

    /// The state that a state was first reached from, or [`NONE`].
    pub(crate) fn parent(&self, number: u32) -> u32 {
        let (shard, local) = split(number);
        self.guards[shard].store.parent(local)
    }

    /// A shortest way from a start to a state.
    pub(crate) fn way(&self, number: u32) -> Vec<u32> {
        let mut way = vec![number];
        let mut at = self.parent(number);
        while at != NONE {
            way.push(at);
            at = self.parent(at);
        }
        way.reverse();
        way
    }

    /// How many steps lead to each state, at least.
    pub(crate) fn depths(&self) -> Vec<u32> {
        let mut depths = vec![NONE; self.states];
        let mut way = Vec::new();
        for number in self.numbers() {
            let mut at = number;
            while at != NONE && depths[self.dense(at)] == NONE {
                way.push(at);
                at = self.parent(at);
            }
            let mut depth = if at == NONE { 0 } else { depths[self.dense(at)] + 1 };
            while let Some(at) = way.pop() {
                depths[self.dense(at)] = depth;
                depth += 1;
            }
        }
        depths
    }

    /// The states from which one of these can be reached, by the steps that are kept.
    pub(crate) fn before_some(&self, goals: impl Iterator<Item = usize>, backwards: &Backwards) -> Vec<bool> {
        let mut found = vec![false; self.states];
        let mut queue: Vec<usize> = goals.collect();
        while let Some(at) = queue.pop() {
            if !std::mem::replace(&mut found[at], true) {
                queue.extend(backwards.before(at).iter().map(|before| *before as usize));
            }
        }
        found
    }
}

/// The states before each state, by position.
pub(crate) struct Backwards {
    starts: Vec<u64>,
    sources: Vec<u32>,
}

impl Backwards {
    /// Bytes that it will take.
    pub(crate) fn bytes(graph: &KripkeView<'_>) -> u64 {
        let steps: usize = graph.entries().map(|(_, after)| after.len()).sum();
        (graph.len() as u64 + 1) * 8 + steps as u64 * 4
    }

    pub(crate) fn new(graph: &KripkeView<'_>) -> Backwards {
        let mut starts = vec![0u64; graph.len() + 1];
        for (_, after) in graph.entries() {
            after.iter().for_each(|to| starts[graph.dense(*to)] += 1);
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        // Each is filled from its end, so that in the end the starts are where they belong.
        let mut sources = vec![0; sum as usize];
        for (from, after) in graph.entries() {
            for to in after {
                let place = &mut starts[graph.dense(*to)];
                *place -= 1;
                sources[*place as usize] = graph.dense(from) as u32;
            }
        }
        Backwards { starts, sources }
    }

    /// The states before a state.
    pub(crate) fn before(&self, state: usize) -> &[u32] {
        &self.sources[self.starts[state] as usize..self.starts[state + 1] as usize]
    }
}

/// How often the observer hears of what is done with what was found.
const REPORT_EVERY: Duration = Duration::from_millis(200);
/// How much happens between two looks at the clock.
const LOOK_EVERY: u32 = 1 << 10;

/// What may be spent on reading.
pub(crate) struct Spending<'e> {
    pub(crate) job: &'e Job,
    pub(crate) observer: &'e mut dyn Observer,
    pub(crate) progress: Progress,
    pub(crate) began: Instant,
    reported: Instant,
    until_look: u32,
}

impl<'e> Spending<'e> {
    pub(crate) fn new(
        job: &'e Job,
        observer: &'e mut dyn Observer,
        progress: Progress,
        began: Instant,
    ) -> Spending<'e> {
        Spending { job, observer, progress, began, reported: Instant::now(), until_look: 1 }
    }

    /// Looks at the clock and at the user from time to time; why to stop, if it is to be.
    #[inline]
    pub(crate) fn look(&mut self) -> Option<StopReason> {
        self.until_look -= 1;
        if self.until_look > 0 { None } else { self.look_now() }
    }

    fn look_now(&mut self) -> Option<StopReason> {
        self.until_look = LOOK_EVERY;
        if self.reported.elapsed() >= REPORT_EVERY {
            self.reported = Instant::now();
            self.observer.progress(&Progress { elapsed: self.began.elapsed(), ..self.progress });
        }
        self.job.watch.check().err()
    }

    /// Why so many bytes beside those of the search are too many, if they are.
    pub(crate) fn memory(&self, bytes: u64) -> Option<StopReason> {
        let limit = self.job.watch.memory().filter(|limit| self.progress.memory_bytes + bytes > *limit);
        limit.map(StopReason::Memory)
    }
}
