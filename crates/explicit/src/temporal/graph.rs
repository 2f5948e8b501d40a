//! The graph of all states and steps, with the truth of some conditions in each state.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use shoal_code::{Halt, Layout, Machine, Pc, Program, Stepper, Steps, Visitor};
use shoal_model::{
    Fault, Job, Model, Observer, Progress, PropertyId, Reduction, Statistics, StopReason, Value,
};

use crate::{
    canon::Canon,
    monitor::Monitors,
    search::store_for,
    store::{Inserted, NONE, Store},
    support::ENGINE,
};

/// How often the observer hears of the search.
const REPORT_EVERY: Duration = Duration::from_millis(200);
/// How much happens between two looks at the clock.
const LOOK_EVERY: u32 = 1 << 10;

/// The reachable states and steps; with symmetry, of representatives.
pub(crate) struct Graph {
    pub(crate) store: Store,
    /// For each condition, the first state in which it faults.
    pub(crate) faults: Vec<Option<(u32, Fault)>>,
    /// Why states are missing, if some are.
    pub(crate) stop: Option<StopReason>,
    pub(crate) initial: Vec<u32>,
    /// For each state, the conditions that hold.
    labels: Vec<u64>,
    /// The states after each state, one after another, and where those of each state end.
    targets: Vec<u32>,
    ends: Vec<u64>,
    levels: Vec<u64>,
    fired: Vec<u64>,
    /// How many states each rule was the first to lead to.
    fresh: Vec<u64>,
    transitions: u64,
    states_full: Option<u128>,
}

impl Graph {
    /// How many states there are.
    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// The conditions that hold in a state.
    pub(crate) fn label(&self, state: u32) -> u64 {
        self.labels[state as usize]
    }

    /// The states after a state. A state in which nothing can happen is followed by itself; see [`build`].
    pub(crate) fn after(&self, state: u32) -> &[u32] {
        let state = state as usize;
        let Some(end) = self.ends.get(state) else { return &[] };
        let start = if state == 0 { 0 } else { self.ends[state - 1] };
        &self.targets[start as usize..*end as usize]
    }

    /// Bytes in use beside the store.
    pub(crate) fn bytes(&self) -> u64 {
        (self.labels.len() * 8 + self.ends.len() * 8 + self.targets.len() * 4) as u64
    }

    pub(crate) fn statistics(&self, layout: &Layout, reductions: Vec<Reduction>) -> Statistics {
        Statistics {
            engine: ENGINE,
            reductions,
            exhaustive: self.stop.is_none(),
            states: self.len() as u64,
            states_full: self.states_full,
            transitions: self.transitions,
            depth: Some((self.levels.len() as u64).saturating_sub(1)),
            levels: self.levels.clone(),
            fired: self.fired.clone(),
            fresh: self.fresh.clone(),
            time: Duration::ZERO,
            memory_bytes: self.store.bytes() + self.bytes(),
            state_bits: layout.bits(),
            compiled: false,
            threads: 1,
            ..Statistics::default()
        }
    }
}

/// What may be spent.
pub(crate) struct Budget<'s> {
    job: &'s Job,
    began: Instant,
    give_up_at: Option<u64>,
    observer: &'s mut dyn Observer,
    reported: Instant,
    until_look: u32,
}

impl<'s> Budget<'s> {
    pub(crate) fn new(
        job: &'s Job,
        began: Instant,
        give_up_at: Option<u64>,
        observer: &'s mut dyn Observer,
    ) -> Self {
        // The first look comes soon: there may be nothing left.
        Budget { job, began, give_up_at, observer, reported: began, until_look: 1 }
    }

    /// Looks at the clock and at the user from time to time; why to stop, if it is to be.
    pub(crate) fn look(&mut self, progress: impl FnOnce() -> Progress) -> Option<StopReason> {
        self.until_look -= 1;
        if self.until_look > 0 {
            return None;
        }
        self.until_look = LOOK_EVERY;
        let elapsed = self.began.elapsed();
        if self.reported.elapsed() >= REPORT_EVERY {
            self.reported = Instant::now();
            self.observer.progress(&Progress { elapsed, ..progress() });
        }
        self.job.watch.check().err()
    }

    /// Why so many bytes are too many, if they are.
    pub(crate) fn memory(&self, bytes: u64) -> Option<StopReason> {
        self.job.limits().memory.filter(|limit| bytes > *limit).map(StopReason::Memory)
    }

    fn states(&self, states: u64) -> Option<StopReason> {
        let patience = self.give_up_at.filter(|limit| states >= *limit).map(|_| StopReason::OtherViolation);
        let limit = self.job.limits().states.filter(|limit| states >= *limit).map(StopReason::States);
        limit.or(patience)
    }

    fn depth(&self, depth: u64) -> Option<StopReason> {
        self.job.limits().depth.filter(|limit| depth >= *limit).map(StopReason::Depth)
    }
}

/// Visits all states, or those that the steps to be taken lead to. In each, the conditions of some properties are evaluated; one that faults does not hold.
pub(crate) fn build(
    model: &Model,
    layout: &Layout,
    program: &Program,
    canon: Option<&mut Canon>,
    conditions: &[PropertyId],
    taken: Steps,
    budget: &mut Budget<'_>,
) -> Graph {
    let mut builder = Builder {
        layout,
        program,
        taken,
        canon,
        conditions: conditions.iter().filter_map(|property| program.condition(*property)).collect(),
        assumptions: Monitors::new(model, program, budget.job).assumptions.iter().map(|it| it.1).collect(),
        judge: Machine::new(program),
        cells: vec![0; layout.cells()],
        words: vec![0; layout.words()],
        current: NONE,
        steps: false,
        faulted: false,
        budget,
        graph: Graph {
            store: store_for(layout, None),
            faults: vec![None; conditions.len()],
            stop: None,
            initial: Vec::new(),
            labels: Vec::new(),
            targets: Vec::new(),
            ends: Vec::new(),
            levels: Vec::new(),
            fired: vec![0; model.rules.len()],
            fresh: vec![0; model.rules.len()],
            transitions: 0,
            states_full: Some(0),
        },
    };
    let stopped = builder.run(&mut Stepper::new(model, layout, program));
    debug_assert_eq!(stopped.is_break(), builder.graph.stop.is_some());
    builder.graph
}

struct Builder<'s, 'o, 'm> {
    layout: &'m Layout,
    program: &'m Program,
    /// Which steps are taken.
    taken: Steps,
    canon: Option<&'s mut Canon>,
    conditions: Vec<Pc>,
    assumptions: Vec<Pc>,
    judge: Machine<'m>,
    cells: Vec<i64>,
    words: Vec<u64>,
    /// The state that is expanded; [`NONE`] while the starts run.
    current: u32,
    /// Whether something happens in it, and whether something faults.
    steps: bool,
    faulted: bool,
    budget: &'s mut Budget<'o>,
    graph: Graph,
}

impl<'m> Builder<'_, '_, 'm> {
    fn run(&mut self, stepper: &mut Stepper<'m>) -> ControlFlow<()> {
        let watch = self.budget.job.watch.clone();
        match stepper.starts_within(&watch, self) {
            Ok(flow) => flow?,
            Err(reason) => self.stop_for(Some(reason))?,
        }
        let mut words = vec![0; self.layout.words()];
        let mut level = 0..self.graph.len();
        while !level.is_empty() {
            let depth = self.graph.levels.len() as u64;
            self.graph.levels.push(level.len() as u64);
            self.stop_for(self.budget.depth(depth))?;
            for number in level.clone() {
                self.current = number as u32;
                self.graph.store.get(self.current, &mut words);
                (self.steps, self.faulted) = (false, false);
                let first = self.graph.targets.len();
                let expanded = stepper.expand_steps(&words, self.taken, self);
                self.stop_for(self.program.stopped().cloned())?;
                expanded?;
                self.close(first);
            }
            level = level.end..self.graph.len();
        }
        ControlFlow::Continue(())
    }

    /// The steps of the state are complete.
    fn close(&mut self, first: usize) {
        if !self.steps {
            self.graph.targets.push(self.current);
        }
        let targets = &mut self.graph.targets;
        targets[first..].sort_unstable();
        let mut kept = first;
        for at in first..targets.len() {
            if at == first || targets[at] != targets[kept - 1] {
                targets[kept] = targets[at];
                kept += 1;
            }
        }
        targets.truncate(kept);
        self.graph.ends.push(kept as u64);
    }

    fn stop_for(&mut self, reason: Option<StopReason>) -> ControlFlow<()> {
        match reason {
            None => ControlFlow::Continue(()),
            reason => {
                self.graph.stop = reason;
                ControlFlow::Break(())
            }
        }
    }

    fn look_around(&mut self) -> ControlFlow<()> {
        let (graph, current) = (&self.graph, self.current);
        let reason = self.budget.look(|| Progress {
            states: graph.len() as u64,
            transitions: graph.transitions,
            frontier: (graph.len() as u64).saturating_sub(if current == NONE { 0 } else { current.into() }),
            depth: graph.levels.len() as u64,
            memory_bytes: graph.store.bytes() + graph.bytes(),
            elapsed: Duration::ZERO,
        });
        self.stop_for(reason)
    }

    /// The state in `cells` is reached.
    fn reach(&mut self, rule: usize) -> ControlFlow<()> {
        let orbit = match &mut self.canon {
            Some(canon) => canon.canonicalise(&mut self.cells),
            None => Some(1),
        };
        self.layout.pack(&self.cells, &mut self.words);
        if !self.graph.store.contains(&self.words) {
            self.judge.state_mut().copy_from_slice(&self.cells);
            if !self.assumptions.iter().all(|pc| self.judge.holds(*pc) == Ok(true)) {
                return ControlFlow::Continue(());
            }
            let bytes = self.graph.store.bytes() + self.graph.bytes();
            let reason = self.budget.states(self.graph.len() as u64).or(self.budget.memory(bytes));
            self.stop_for(reason)?;
        }
        let number = match self.graph.store.insert(&self.words, self.current, 0) {
            Inserted::Known(number) => number,
            Inserted::Full => {
                let bytes = self.graph.store.bytes() + self.graph.bytes();
                return self.stop_for(Some(StopReason::Memory(bytes)));
            }
            Inserted::New(number) => {
                let full = &mut self.graph.states_full;
                *full = full.zip(orbit).and_then(|(full, orbit)| full.checked_add(orbit));
                if self.current != NONE {
                    self.graph.fresh[rule] += 1;
                }
                self.judge_state(number);
                number
            }
        };
        if self.current != NONE {
            self.graph.targets.push(number);
        } else if !self.graph.initial.contains(&number) {
            self.graph.initial.push(number);
        }
        ControlFlow::Continue(())
    }

    /// Evaluates the conditions in a new state, which is in `judge` and `cells`.
    fn judge_state(&mut self, number: u32) {
        self.judge.state_mut().copy_from_slice(&self.cells);
        let mut label = 0;
        for at in 0..self.conditions.len() {
            match self.judge.holds(self.conditions[at]) {
                Ok(holds) => label |= u64::from(holds) << at,
                Err(Halt::Fault(fault)) => {
                    self.graph.faults[at].get_or_insert((number, fault));
                }
                // The graph ends here.
                Err(Halt::Stopped) => break,
            }
        }
        self.graph.labels.push(label);
    }
}

impl Visitor for Builder<'_, '_, '_> {
    const ARGS: bool = false;

    fn fired(&mut self, rule: usize, machine: &Machine<'_>, _moves: bool) -> ControlFlow<()> {
        self.steps = true;
        if self.canon.as_mut().is_some_and(|canon| canon.loses(machine.state())) {
            return ControlFlow::Continue(());
        }
        if self.current != NONE {
            self.graph.transitions += 1;
            self.graph.fired[rule] += 1;
        }
        self.look_around()?;
        self.cells.copy_from_slice(machine.state());
        self.reach(rule)
    }

    // What faults is no step, unless only a check fails.
    fn body_fault(&mut self, _rule: usize, _machine: &Machine<'_>, fault: Fault) -> ControlFlow<()> {
        (self.steps, self.faulted) = (self.steps | fault.kind.goes_on(), true);
        self.stop_for(self.program.full().map(StopReason::Elements))
    }

    fn guard_fault(&mut self, _rule: usize, _args: Vec<Value>, fault: Fault) -> ControlFlow<()> {
        (self.steps, self.faulted) = (self.steps | fault.kind.goes_on(), true);
        ControlFlow::Continue(())
    }

    /// What faults leads nowhere: the others are not put off for it.
    fn suffices(&mut self) -> bool {
        !self.faulted
    }
}
