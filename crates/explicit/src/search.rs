//! The search: breadth first, so that counterexamples are shortest.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use shoal_model::{
    Fault, Job, Model, Observer, Outcome, Progress, PropertyId, PropertyResult, Reason, Reduction, StartId,
    Statistics, StopReason, TypedId, Unsupported, Value, Verdict, Violation,
};

use crate::{
    canon::Canon,
    code::Program,
    compile::compile,
    exec::Machine,
    jit,
    layout::Layout,
    monitor::{Monitors, Stuck, Watch},
    possible::Edges,
    report::{Problem, Reporter, Where},
    step::{Stepper, Visitor, args},
    store::{Inserted, NONE, Origin, Store},
    support::{ENGINE, accept, unsupported},
};

/// How often the observer hears of the search.
const REPORT_EVERY: Duration = Duration::from_millis(200);
/// How many steps pass between two looks at the clock.
const LOOK_EVERY: u64 = 1 << 10;

/// Decides the properties of a job that are not temporal.
pub(crate) fn check(model: &Model, job: &Job, observer: &mut dyn Observer) -> Result<Outcome, Unsupported> {
    let began = Instant::now();
    let layout = accept(model, job)?;
    let mut program = compile(model, &layout)?;
    if job.jit {
        program.native = jit::translate(&program, layout.cells());
    }
    let canon = canon_for(model, &layout, &job.symmetric)?;
    let mut stepper = Stepper::new(model, &layout, &program);
    let mut search = Search::new(model, &layout, &program, canon, job, observer, began);
    search.statistics.exhaustive = search.run(&mut stepper).is_continue();
    Ok(search.finish())
}

/// Finds representatives for the symmetric sorts, if there is something to permute.
pub(crate) fn canon_for(
    model: &Model,
    layout: &Layout,
    symmetric: &[shoal_model::SortId],
) -> Result<Option<Canon>, Unsupported> {
    Canon::new(model, layout, symmetric)
        .map_err(|_| unsupported("more than 65,536 elements in symmetric sorts", None))
}

/// A store for the states of a layout.
pub(crate) fn store_for(layout: &Layout, limit: Option<u64>) -> Store {
    Store::new(layout.words(), layout.last_bits(), limit)
}

struct Search<'s, 'm> {
    model: &'m Model,
    layout: &'m Layout,
    program: &'m Program,
    job: &'s Job,
    observer: &'s mut dyn Observer,
    canon: Option<Canon>,
    store: Store,
    monitors: Monitors,
    edges: Option<Edges>,
    /// Evaluates properties while the stepper is busy.
    judge: Machine<'m>,
    cells: Vec<i64>,
    words: Vec<u64>,
    /// The state that is expanded; [`NONE`] while the starts run.
    current: u32,
    /// Whether something happens in it, and whether that changes it.
    steps: bool,
    moves: bool,
    statistics: Statistics,
    stop: Option<StopReason>,
    /// The first fault of a property in a state that the present level leads to, and which monitor it concerns.
    late: Option<(usize, Where, Problem)>,
    /// Once there is a violation: how many states may be stored in all.
    give_up_at: Option<u64>,
    began: Instant,
    reported: Instant,
    until_look: u64,
}

impl<'s, 'm> Search<'s, 'm> {
    fn new(
        model: &'m Model,
        layout: &'m Layout,
        program: &'m Program,
        canon: Option<Canon>,
        job: &'s Job,
        observer: &'s mut dyn Observer,
        began: Instant,
    ) -> Self {
        let monitors = Monitors::new(model, program, job);
        let symmetric = canon.is_some().then(|| Reduction::Symmetry(job.symmetric.clone()));
        let statistics = Statistics {
            engine: ENGINE,
            reductions: symmetric.into_iter().collect(),
            states_full: Some(0),
            fired: vec![0; model.rules.len()],
            state_bits: layout.bits(),
            compiled: program.native.as_ref().is_some_and(|native| native.left_out() == 0),
            ..Statistics::default()
        };
        Search {
            model,
            layout,
            program,
            job,
            observer,
            canon,
            store: store_for(layout, job.limits.memory),
            edges: (monitors.goals > 0).then(|| Edges::new(monitors.goals)),
            monitors,
            judge: Machine::new(program, layout.cells()),
            cells: vec![0; layout.cells()],
            words: vec![0; layout.words()],
            current: NONE,
            steps: false,
            moves: false,
            statistics,
            stop: None,
            late: None,
            give_up_at: None,
            began,
            reported: began,
            until_look: LOOK_EVERY,
        }
    }

    fn run(&mut self, stepper: &mut Stepper<'m>) -> ControlFlow<()> {
        stepper.starts(self)?;
        self.settle()?;
        let mut cells = vec![0; self.layout.cells()];
        let mut words = vec![0; self.layout.words()];
        let mut level = 0..self.store.len();
        while !level.is_empty() {
            self.statistics.levels.push(level.len() as u64);
            let depth = self.statistics.levels.len() as u64 - 1;
            if let Some(limit) = self.job.limits.depth.filter(|limit| depth >= *limit) {
                return self.stop(StopReason::Depth(limit));
            }
            for number in level.clone() {
                self.current = number as u32;
                self.store.get(self.current, &mut words);
                self.layout.unpack(&words, &mut cells);
                (self.steps, self.moves) = (false, false);
                stepper.expand(&cells, self)?;
                self.look_for_deadlock(&cells)?;
                self.look_around()?;
            }
            self.settle()?;
            level = level.end..self.store.len();
        }
        ControlFlow::Continue(())
    }

    fn stop(&mut self, reason: StopReason) -> ControlFlow<()> {
        self.stop = Some(reason);
        ControlFlow::Break(())
    }

    /// Looks at the clock and at the user from time to time.
    fn look_around(&mut self) -> ControlFlow<()> {
        self.until_look -= 1;
        if self.until_look > 0 {
            return ControlFlow::Continue(());
        }
        self.until_look = LOOK_EVERY;
        let now = Instant::now();
        if let Some(limit) = self.job.limits.time.filter(|limit| now.duration_since(self.began) >= *limit) {
            return self.stop(StopReason::Time(limit));
        }
        if now.duration_since(self.reported) < REPORT_EVERY {
            return ControlFlow::Continue(());
        }
        self.reported = now;
        let states = self.store.len() as u64;
        let expanded = if self.current == NONE { 0 } else { u64::from(self.current) };
        self.observer.progress(&Progress {
            states,
            transitions: self.statistics.transitions,
            frontier: states.saturating_sub(expanded),
            depth: (self.statistics.levels.len() as u64).saturating_sub(1),
            memory_bytes: self.memory(),
            elapsed: now.duration_since(self.began),
        });
        if self.observer.cancelled() {
            return self.stop(StopReason::Interrupted);
        }
        ControlFlow::Continue(())
    }

    fn memory(&self) -> u64 {
        self.store.bytes() + self.edges.as_ref().map_or(0, Edges::bytes)
    }

    /// A state is reached by a step or a start.
    fn reach(&mut self, rule: usize, machine: &Machine<'_>) -> ControlFlow<()> {
        self.cells.copy_from_slice(machine.state());
        let orbit = match &mut self.canon {
            Some(canon) => canon.canonicalise(&mut self.cells),
            None => Some(1),
        };
        self.layout.pack(&self.cells, &mut self.words);
        if !self.monitors.assumptions.is_empty() && !self.store.contains(&self.words) && self.drops(rule)? {
            return ControlFlow::Continue(());
        }
        if let Some(limit) = self.job.limits.states
            && self.store.len() as u64 >= limit
            && !self.store.contains(&self.words)
        {
            return self.stop(StopReason::States(limit));
        }
        let origin = Origin { parent: self.current, rule: rule as u32 };
        let spent = self.edges.as_ref().map_or(0, Edges::bytes);
        let number = match self.store.insert(&self.words, origin, spent) {
            Inserted::Known(number) => number,
            Inserted::Full => return self.out_of_memory(),
            Inserted::New(number) => {
                let full = &mut self.statistics.states_full;
                *full = full.zip(orbit).and_then(|(full, orbit)| full.checked_add(orbit));
                self.look_at(number)?;
                self.keep_patience()?;
                number
            }
        };
        if self.current != NONE
            && let Some(edges) = &mut self.edges
            && !edges.push(self.current, number)
        {
            return self.out_of_memory();
        }
        ControlFlow::Continue(())
    }

    fn out_of_memory(&mut self) -> ControlFlow<()> {
        let limit = self.job.limits.memory.unwrap_or_else(|| self.memory());
        self.stop(StopReason::Memory(limit))
    }

    /// Whether an assumption drops the state in `cells`. One that faults does, too.
    fn drops(&mut self, rule: usize) -> ControlFlow<(), bool> {
        self.judge.state_mut().copy_from_slice(&self.cells);
        for at in 0..self.monitors.assumptions.len() {
            let (property, pc) = self.monitors.assumptions[at];
            match self.judge.holds(pc) {
                Ok(true) => {}
                Ok(false) => return ControlFlow::Continue(true),
                Err(fault) => {
                    let place = Where::Dropped(self.current, rule, self.words.clone());
                    self.fault(place, Problem::Property(property, fault))?;
                    return ControlFlow::Continue(true);
                }
            }
        }
        ControlFlow::Continue(false)
    }

    /// Looks at the properties of a new state, which is in `cells`.
    fn look_at(&mut self, number: u32) -> ControlFlow<()> {
        self.judge.state_mut().copy_from_slice(&self.cells);
        for at in 0..self.monitors.all.len() {
            let monitor = &self.monitors.all[at];
            // A property that is decided may still fault.
            let decided = monitor.verdict.is_some();
            if decided && !self.monitors.faults_matter() {
                continue;
            }
            let (watch, property) = (monitor.watch, monitor.property);
            let (Watch::Invariant(pc) | Watch::Cover(pc) | Watch::Possible(pc, _)) = watch else { continue };
            match (self.judge.holds(pc), watch) {
                (Ok(_), _) if decided => {}
                (Ok(false), Watch::Invariant(_)) => self.violated(at, Where::At(number), Problem::False)?,
                (Ok(true), Watch::Cover(_)) => self.decide(at, Verdict::Holds)?,
                (Ok(true), Watch::Possible(_, goal)) => {
                    self.edges.iter_mut().for_each(|edges| edges.reached(goal, number));
                }
                (Ok(_), _) => {}
                (Err(fault), _) => self.fault(Where::At(number), Problem::Property(property, fault))?,
            }
        }
        ControlFlow::Continue(())
    }

    fn look_for_deadlock(&mut self, cells: &[i64]) -> ControlFlow<()> {
        if self.moves {
            return ControlFlow::Continue(());
        }
        for at in 0..self.monitors.all.len() {
            let monitor = &self.monitors.all[at];
            let (Watch::Deadlock(stuck), None) = (monitor.watch, &monitor.verdict) else { continue };
            let (property, place) = (monitor.property, Where::At(self.current));
            let dead = match stuck {
                Stuck::Stuttering => true,
                Stuck::Fully => !self.steps,
                Stuck::Unless(_) if self.steps => false,
                Stuck::Unless(pc) => {
                    self.judge.state_mut().copy_from_slice(cells);
                    match self.judge.holds(pc) {
                        Ok(holds) => !holds,
                        Err(fault) => {
                            self.fault(place.clone(), Problem::Property(property, fault))?;
                            false
                        }
                    }
                }
            };
            if dead {
                self.violated(at, place, Problem::Deadlock)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Something faults; a violation if the property it belongs to is asked for.
    fn fault(&mut self, place: Where, problem: Problem) -> ControlFlow<()> {
        let kind = match &problem {
            Problem::Guard(_, fault) | Problem::Body(_, fault) | Problem::Property(_, fault) => &fault.kind,
            _ => return ControlFlow::Continue(()),
        };
        let Some(at) = self.monitors.of_fault(kind) else { return ControlFlow::Continue(()) };
        match (&problem, &place) {
            (Problem::Property(..), Where::At(number)) if *number == self.current => {}
            // In a state one step further on: something that faults in this level has a shorter trace.
            (Problem::Property(..), _) => {
                self.late.get_or_insert((at, place, problem));
                return ControlFlow::Continue(());
            }
            _ => {}
        }
        self.violated(at, place, problem)
    }

    /// After a level: what faults in the states it leads to, unless something faulted in the level itself.
    fn settle(&mut self) -> ControlFlow<()> {
        match self.late.take() {
            Some((at, place, problem)) if self.monitors.all[at].verdict.is_none() => {
                self.violated(at, place, problem)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn violated(&mut self, at: usize, place: Where, problem: Problem) -> ControlFlow<()> {
        let violation = self.reporter().violation(place, problem);
        self.violation(at, violation)
    }

    fn violation(&mut self, at: usize, violation: Violation) -> ControlFlow<()> {
        self.observer.violation(self.monitors.all[at].property, &violation);
        self.decide(at, Verdict::Violated(Box::new(violation)))?;
        if let (Some(patience), None) = (self.job.patience, self.give_up_at) {
            self.give_up_at = Some(self.store.len() as u64 + patience);
        }
        self.keep_patience()
    }

    /// After a violation the search goes on only for so long.
    fn keep_patience(&mut self) -> ControlFlow<()> {
        match self.give_up_at {
            Some(limit) if self.store.len() as u64 >= limit => self.stop(StopReason::OtherViolation),
            _ => ControlFlow::Continue(()),
        }
    }

    fn decide(&mut self, at: usize, verdict: Verdict) -> ControlFlow<()> {
        self.monitors.all[at].verdict = Some(verdict);
        if self.monitors.all_decided() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn reporter(&mut self) -> Reporter<'_, 'm> {
        Reporter::new(self.model, self.layout, self.program, &self.store, self.canon.as_mut())
    }

    fn finish(mut self) -> Outcome {
        // The search may have been stopped within a level.
        let _ = self.settle();
        if self.stop.is_none() {
            self.decide_by_all_states();
        }
        let stop = self.stop.take();
        let result = |monitor: crate::monitor::Monitor| {
            let verdict = match (monitor.verdict, monitor.watch, &stop) {
                (Some(verdict), ..) => verdict,
                (None, Watch::Given, _) | (None, _, None) => Verdict::Holds,
                (None, _, Some(reason)) => Verdict::Unknown(reason.clone()),
            };
            PropertyResult { property: monitor.property, verdict }
        };
        self.statistics.memory_bytes = self.memory();
        self.statistics.states = self.store.len() as u64;
        let seen: u64 = self.statistics.levels.iter().sum();
        if seen < self.statistics.states {
            // The search ended within a level.
            self.statistics.levels.push(self.statistics.states - seen);
        }
        self.statistics.depth = (self.statistics.levels.len() as u64).saturating_sub(1);
        self.statistics.time = self.began.elapsed();
        Outcome { results: self.monitors.all.into_iter().map(result).collect(), statistics: self.statistics }
    }

    /// Decides what only all states can decide.
    fn decide_by_all_states(&mut self) {
        let states = self.store.len();
        let hopeless = self.edges.as_ref().map_or(Vec::new(), |edges| edges.hopeless(states));
        for at in 0..self.monitors.all.len() {
            let monitor = &self.monitors.all[at];
            if monitor.verdict.is_some() {
                continue;
            }
            let _ = match monitor.watch {
                Watch::Cover(_) | Watch::CoverCheck => {
                    self.violation(at, Violation { reason: Reason::NeverCovered, trace: None })
                }
                Watch::Possible(_, goal) => match hopeless.get(goal).copied().flatten() {
                    Some(state) => self.violated(at, Where::At(state), Problem::NotPossible),
                    None => ControlFlow::Continue(()),
                },
                _ => ControlFlow::Continue(()),
            };
        }
        // The search was complete, whatever it found in the end.
        self.stop = None;
    }
}

impl Visitor for Search<'_, '_> {
    fn fired(&mut self, rule: usize, machine: &Machine<'_>, moves: bool) -> ControlFlow<()> {
        if self.current != NONE {
            self.statistics.transitions += 1;
            self.statistics.fired[rule] += 1;
            self.steps = true;
            self.moves |= moves;
        }
        self.look_around()?;
        self.reach(rule, machine)
    }

    fn body_fault(&mut self, rule: usize, machine: &Machine<'_>, fault: Fault) -> ControlFlow<()> {
        // What faults is no deadlock, whatever it would have led to.
        (self.steps, self.moves) = (true, true);
        if self.monitors.of_fault(&fault.kind).is_none() {
            return ControlFlow::Continue(());
        }
        if self.current == NONE {
            let args = args(self.model, &self.program.starts[rule], machine);
            return self.start_fault(rule, args, machine.chosen(self.model), fault);
        }
        self.fault(Where::At(self.current), Problem::Body(rule, fault))
    }

    fn guard_fault(&mut self, rule: usize, args: Vec<Value>, fault: Fault) -> ControlFlow<()> {
        (self.steps, self.moves) = (true, true);
        if self.current == NONE {
            return self.start_fault(rule, args, Vec::new(), fault);
        }
        self.fault(Where::At(self.current), Problem::Guard(rule, fault))
    }

    fn covered(&mut self, property: PropertyId) {
        let monitor = self.monitors.all.iter_mut().find(|monitor| monitor.property == property);
        if let Some(monitor) = monitor {
            monitor.verdict.get_or_insert(Verdict::Holds);
        }
    }
}

impl Search<'_, '_> {
    fn start_fault(
        &mut self,
        start: usize,
        args: Vec<Value>,
        choices: Vec<Value>,
        fault: Fault,
    ) -> ControlFlow<()> {
        let Some(at) = self.monitors.of_fault(&fault.kind) else { return ControlFlow::Continue(()) };
        let during = shoal_model::During::Start(StartId::from_index(start), args, choices);
        self.violation(at, Violation { reason: Reason::Fault(during, fault), trace: None })
    }
}
