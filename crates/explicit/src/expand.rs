//! Takes what happens in a state and makes records of successors from it.

use std::ops::ControlFlow;

use shoal_code::{Halt, Layout, Machine, Program, Visitor, args};
use shoal_model::{
    During, Fault, FaultKind, Model, PropertyId, Reason, RuleId, StartId, TypedId, Value, Violation,
};

use crate::{
    apart::ApartRound,
    batch::{Batch, SuccessorStep},
    canon::{self, Canon, Representative},
    kripke::StepSink,
    monitor::{MonitorKind, Monitors, Stuck},
    recent::{Recent, RecentRoom},
    report::{Problem, Where},
    shards::{SHARDS, ShardReader, shard, split},
    store::{NONE, hash},
    worker::{EventKind, note},
};

/// Finds representatives of successors and packs them.
pub(crate) struct Expander<'m> {
    model: &'m Model,
    layout: &'m Layout,
    program: &'m Program,
    canon: Option<Canon>,
    /// What need not be handed to the store again, unless it must know all steps.
    recent: Recent,
    all_steps: bool,
    /// Evaluates properties while the stepper is busy.
    judge: Machine<'m>,
    words: Vec<u64>,
    /// Successors of the present state that are looked up together: hash, rule and packed form of each, and what is found.
    waiting: Vec<u64>,
    found: Vec<Lookup>,
}

/// What is known of a successor that waits.
#[derive(Clone, Copy)]
enum Lookup {
    /// It need not be stored.
    Known,
    /// It may be this state of its shard, or [`NONE`].
    Like(u32),
}

impl<'m> Expander<'m> {
    pub(crate) fn new(
        model: &'m Model,
        layout: &'m Layout,
        program: &'m Program,
        canon: Option<Canon>,
        all_steps: bool,
    ) -> Self {
        let room = match &canon {
            Some(canon) if canon.needs_no_cells() => RecentRoom::REMEMBERED,
            Some(_) => RecentRoom::REPRESENTATIVES,
            None => RecentRoom::LOOKS,
        };
        Expander {
            model,
            layout,
            program,
            recent: Recent::new(layout.words(), room),
            canon,
            all_steps,
            judge: Machine::new(program),
            words: vec![0; layout.words()],
            waiting: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Remembers as much as is in keeping with so many states in the store.
    pub(crate) fn fit(&mut self, states: u64) {
        self.recent.fit(states);
    }

    /// Whether all successors are wanted from now on.
    pub(crate) fn take_all_steps(&mut self, all: bool) {
        self.all_steps = all;
    }

    /// Forgets what was reached a moment ago: it was not handed to the store.
    pub(crate) fn forget_recent(&mut self) {
        self.recent.forget();
    }

    /// A visitor that fills a batch.
    pub(crate) fn filling<'w, 's>(
        &'w mut self,
        monitors: &'w Monitors,
        batch: &'w mut Batch,
    ) -> Filling<'w, 's, 'm> {
        Filling {
            expander: self,
            monitors,
            batch,
            current: NONE,
            steps: false,
            moves: false,
            seen: None,
            stored: None,
            together: false,
            suffices: true,
            faulted: false,
            sink: None,
            keeps: false,
            apart: None,
            starts_left: u64::MAX,
        }
    }
}

/// A batch that is being filled.
pub(crate) struct Filling<'w, 's, 'm> {
    expander: &'w mut Expander<'m>,
    monitors: &'w Monitors,
    batch: &'w mut Batch,
    /// The state that is expanded; [`NONE`] while the starts run.
    current: u32,
    /// Whether something happens in it, and whether that changes it.
    steps: bool,
    moves: bool,
    /// What was stored before, where steps of one agent suffice only if they lead to a state that is still to be expanded.
    seen: Option<KnownStates<'w, 's>>,
    /// The shards, where it is worth a look whether a successor is stored as it is before its representative is looked for. It
    /// may be looked for together with the other successors of its state: so the processor waits for all of them at the same time.
    stored: Option<&'w ShardReader<'s>>,
    together: bool,
    /// Whether the steps of the present agent do.
    suffices: bool,
    /// Whether something has faulted in the state. What faults leads nowhere, so the others are not put off for it.
    faulted: bool,
    /// What is kept beside states, and whether the steps of the present state are.
    sink: Option<(&'w StepSink, &'w ShardReader<'s>)>,
    keeps: bool,
    /// The states of the round, where they are known by what they are.
    apart: Option<&'w ApartRound>,
    /// How many starts more there is room for.
    starts_left: u64,
}

/// The states that were stored before.
#[derive(Clone, Copy)]
pub(crate) struct KnownStates<'w, 's> {
    pub(crate) shards: &'w ShardReader<'s>,
    /// Those of these numbers and above are not expanded yet.
    pub(crate) ends: &'w [u32; SHARDS],
}

/// Whether a state is stored, as far as that is known: then it is a representative.
#[inline]
fn is_stored(shards: Option<&ShardReader<'_>>, words: &[u64], hash: u64) -> bool {
    shards.is_some_and(|shards| shards.get(shard(hash)).store.contains_hashed(words, hash))
}

/// Whether a state is still to be expanded, and not in the present round.
fn comes_later(seen: Option<KnownStates<'_, '_>>, words: &[u64], hash: u64) -> bool {
    let Some(seen) = seen else { return true };
    let shard = shard(hash);
    let number = seen.shards.get(shard).store.number(words, hash);
    number.is_none_or(|number| number >= seen.ends[shard])
}

impl<'w, 's> Filling<'w, 's, '_> {
    /// From now on, steps of one agent suffice only if they lead to a state that comes later.
    pub(crate) fn put_off_to_later(&mut self, seen: KnownStates<'w, 's>) {
        self.seen = Some(seen);
    }

    /// From now on, successors that are stored as they are need no representatives, where those are dear: otherwise one is
    /// found sooner than the store is reached.
    pub(crate) fn look_into_store(&mut self, shards: &'w ShardReader<'s>) {
        let whole = shards.are_whole();
        let dear = self.expander.canon.as_ref().is_some_and(Canon::is_dear);
        self.stored = (whole && dear).then_some(shards);
        self.together = self.expander.canon.as_ref().is_some_and(Canon::needs_no_cells);
    }

    /// From now on, the present state is one of a round, and is known by its words.
    pub(crate) fn tell_states_of(&mut self, apart: &'w ApartRound) {
        self.apart = Some(apart);
    }

    /// From now on, steps are kept of the states that a sink wants them of.
    pub(crate) fn keep_steps(&mut self, sink: &'w StepSink, shards: &'w ShardReader<'s>) {
        self.sink = Some((sink, shards));
    }
}

impl Filling<'_, '_, '_> {
    /// Where the present state is.
    fn place(&self) -> Where {
        match self.apart {
            Some(apart) => apart.place(self.current),
            None => Where::At(self.current),
        }
    }

    /// After so many starts it breaks off.
    pub(crate) fn leave_room_for(&mut self, starts: u64) {
        self.starts_left = starts;
    }

    /// What comes now happens in this state.
    pub(crate) fn begin(&mut self, current: u32) {
        self.current = current;
        if let Some(canon) = &mut self.expander.canon {
            canon.begin(current == NONE);
        }
        (self.steps, self.moves, self.faulted) = (false, false, false);
        self.keeps = self.sink.is_some_and(|(sink, shards)| {
            let (shard, local) = split(current);
            let label = shards.get(shard).labels.as_ref().map_or(0, |labels| labels.get(local));
            sink.wanted.has(label)
        });
    }

    /// Asks for the places where it is remembered which of these successors were reached.
    pub(crate) fn look_ahead(&self, successors: &[u64]) {
        let recent = &self.expander.recent;
        match self.expander.words.len() {
            1 => recent.fetch::<1, 2>(successors),
            2 => recent.fetch::<2, 3>(successors),
            3 => recent.fetch::<3, 4>(successors),
            _ => recent.fetch::<4, 5>(successors),
        }
    }

    /// After all that can happen in the present state: whether it is a deadlock.
    #[inline]
    pub(crate) fn finish(&mut self, state: &[u64]) {
        self.look_up_waiting(state);
        if self.keeps {
            self.batch.sketch.close(self.current, !self.steps);
        }
        if !self.moves {
            self.look_for_deadlock_in(state);
        }
    }

    fn look_for_deadlock_in(&mut self, state: &[u64]) {
        self.cover_deadlocks(state);
        for (at, monitor) in self.monitors.all.iter().enumerate() {
            let (MonitorKind::Deadlock(stuck), None) = (monitor.watch, &monitor.verdict) else { continue };
            let dead = match stuck {
                Stuck::Stuttering => true,
                Stuck::Fully => !self.steps,
                Stuck::Unless(_) if self.steps => false,
                Stuck::Unless(pc) => {
                    let Expander { layout, judge, .. } = &mut *self.expander;
                    layout.unpack(state, judge.state_mut());
                    match judge.holds(pc) {
                        Ok(holds) => !holds,
                        Err(Halt::Stopped) => false,
                        Err(Halt::Fault(fault)) => {
                            let problem = Problem::Property(monitor.property, fault);
                            self.fault(problem.clone());
                            let place = self.place();
                            note(&mut self.batch.events, at, || EventKind::Wrong(place, problem));
                            false
                        }
                    }
                }
            };
            if dead {
                let place = self.place();
                note(&mut self.batch.events, at, || EventKind::Wrong(place, Problem::Deadlock));
            }
        }
    }

    /// Where nothing can happen: notes the covers of deadlocks whose conditions hold.
    fn cover_deadlocks(&mut self, state: &[u64]) {
        let monitors = self.monitors;
        if self.steps {
            return;
        }
        for monitor in monitors.all.iter().filter(|monitor| monitor.verdict.is_none()) {
            let MonitorKind::CoverDeadlock(pc) = monitor.watch else { continue };
            let Expander { layout, judge, .. } = &mut *self.expander;
            layout.unpack(state, judge.state_mut());
            match judge.holds(pc) {
                Ok(true) => self.covered(monitor.property),
                Ok(false) | Err(Halt::Stopped) => {}
                Err(Halt::Fault(fault)) => self.fault(Problem::Property(monitor.property, fault)),
            }
        }
    }

    /// What faults is no step, unless only a check fails.
    fn faults(&mut self, kind: &FaultKind) {
        self.faulted = true;
        self.steps |= kind.goes_on();
        self.moves |= kind.goes_on();
    }

    /// Something faults in the present state; a violation if the property it belongs to is asked for.
    fn fault(&mut self, problem: Problem) {
        let Some(fault) = problem.fault() else { return };
        if !matches!(problem, Problem::Property(..)) {
            self.failing(&fault.kind);
        }
        if let Some(at) = self.monitors.of_fault(&fault.kind) {
            let place = self.place();
            note(&mut self.batch.events, at, || EventKind::Wrong(place, problem));
        }
    }

    /// A step or a start fails, and nothing is seen of what is behind it.
    fn failing(&mut self, kind: &FaultKind) {
        if let Some(at) = self.monitors.of_failing(kind) {
            note(&mut self.batch.events, at, || EventKind::Holds);
        }
    }

    fn start_fault(&mut self, start: usize, args: Vec<Value>, choices: Vec<Value>, fault: Fault) {
        self.failing(&fault.kind);
        let Some(at) = self.monitors.of_fault(&fault.kind) else { return };
        let during = During::Start(StartId::from_index(start), args, choices);
        let violation = Violation { reason: Reason::Fault(during, fault), trace: None };
        note(&mut self.batch.events, at, || EventKind::Start(violation));
    }
}

impl Filling<'_, '_, '_> {
    /// Adds successors that need no representatives.
    #[inline]
    fn add<const WORDS: usize, const RECORD: usize>(&mut self, state: &[u64], successors: &[u64]) {
        let state: [u64; WORDS] = std::array::from_fn(|word| state[word]);
        let successors = successors.as_chunks::<RECORD>().0;
        let words =
            |successor: &[u64; RECORD]| -> [u64; WORDS] { std::array::from_fn(|word| successor[1 + word]) };
        self.steps |= !successors.is_empty();
        // Mostly the first already does.
        self.moves = self.moves || successors.iter().any(|successor| words(successor) != state);
        let parent = self.current;
        let Expander { recent, all_steps, .. } = &mut *self.expander;
        let mut push = self.batch.pusher();
        if self.keeps {
            for successor in successors {
                let words = words(successor);
                let step = SuccessorStep { parent, rule: successor[0] as u32, kept: true };
                push.kept(words, hash(&words), step);
            }
            return;
        }
        let (mut recent, all_steps) = (recent.few::<WORDS>(), *all_steps);
        for successor in successors {
            let words = words(successor);
            let hash = hash(&words);
            let known = recent.knows(words, hash);
            push.few(
                words,
                hash,
                SuccessorStep { parent, rule: successor[0] as u32, kept: false },
                all_steps | !known,
            );
        }
    }
}

impl Filling<'_, '_, '_> {
    /// Whether the successors of the present state are looked up together.
    #[inline]
    fn waits(&self) -> bool {
        self.together
            && self.stored.is_some()
            && self.seen.is_none()
            && self.current != NONE
            && !self.keeps
            && !self.expander.all_steps
    }

    /// Lets a successor wait, and asks for the places where it may be known.
    fn let_wait(&mut self, rule: usize, words: &[u64]) {
        let Expander { recent, waiting, .. } = &mut *self.expander;
        let hash = hash(words);
        recent.ask(hash);
        if let Some(shards) = self.stored {
            shards.get(shard(hash)).store.fetch(hash);
        }
        waiting.extend([hash, rule as u64]);
        waiting.extend_from_slice(words);
    }

    /// Adds the representatives of successors that wait, if they are not known. What is stored are representatives.
    fn look_up_waiting(&mut self, base: &[u64]) {
        let Expander { canon: Some(canon), recent, layout, words: image, waiting, found, .. } =
            &mut *self.expander
        else {
            return;
        };
        let Some(shards) = self.stored.filter(|_| !waiting.is_empty()) else { return };
        let record = 2 + base.len();
        found.clear();
        found.extend(waiting.chunks_exact(record).map(|it| match recent.knows(&it[2..], it[0]) {
            true => Lookup::Known,
            false => Lookup::Like(shards.get(shard(it[0])).store.candidate(it[0])),
        }));
        for (it, found) in waiting.chunks_exact(record).zip(&*found) {
            let (hash_of_words, words) = (it[0], &it[2..]);
            let known = match *found {
                Lookup::Known => true,
                Lookup::Like(number) => shards.get(shard(hash_of_words)).store.has_at(number, words),
            };
            if known {
                continue;
            }
            let step = canon::PackedStep { layout, base, state: words };
            let Representative { moved, orbit } = canon.represent_packed(step, image);
            let (words, hash) = if moved { (&**image, hash(image)) } else { (words, hash_of_words) };
            let step = SuccessorStep { parent: self.current, rule: it[1] as u32, kept: false };
            self.batch.push_orbit(words, hash, step, orbit);
        }
        waiting.clear();
    }

    /// Adds the representatives of successors, of which none need be told apart from those that come later.
    fn add_representatives(&mut self, state: &[u64], successors: &[u64]) {
        let Expander { canon: Some(canon), recent, all_steps, layout, words: image, .. } =
            &mut *self.expander
        else {
            return;
        };
        let (parent, kept) = (self.current, self.keeps);
        // A step that is kept leads to a state that is stored.
        let all_steps = *all_steps || kept;
        for successor in successors.chunks_exact(1 + state.len()) {
            let (rule, words) = (successor[0] as u32, &successor[1..]);
            let moves = words != state;
            self.batch.fired[rule as usize] += 1;
            (self.steps, self.moves) = (true, self.moves | moves);
            let hash_of_words = hash(words);
            if !all_steps && (!moves || recent.knows(words, hash_of_words)) {
                continue;
            }
            let step = canon::PackedStep { layout, base: state, state: words };
            let Representative { moved, orbit } = canon.represent_packed(step, image);
            let (words, hash) = if moved { (&**image, hash(image)) } else { (words, hash_of_words) };
            self.batch.push_orbit(words, hash, SuccessorStep { parent, rule, kept }, orbit);
        }
    }
}

impl Visitor for Filling<'_, '_, '_> {
    const ARGS: bool = false;

    fn takes_packed(&self) -> bool {
        self.expander.canon.as_ref().is_none_or(Canon::takes_packed)
            && self.seen.is_none()
            && self.current != NONE
    }

    fn packed(&mut self, state: &[u64], successors: &[u64]) {
        if self.expander.canon.is_some() {
            return self.add_representatives(state, successors);
        }
        match state.len() {
            1 => self.add::<1, 2>(state, successors),
            2 => self.add::<2, 3>(state, successors),
            3 => self.add::<3, 4>(state, successors),
            // More never wait.
            _ => self.add::<4, 5>(state, successors),
        }
    }

    fn fired(&mut self, rule: usize, machine: &Machine<'_>, moves: bool) -> ControlFlow<()> {
        if self.expander.canon.as_mut().is_some_and(|canon| canon.loses(machine.state())) {
            let Model { rules, starts, .. } = self.expander.model;
            let of = if self.current == NONE {
                &starts[StartId::from_index(rule)]
            } else {
                &rules[RuleId::from_index(rule)]
            };
            return self.body_fault(rule, machine, Fault { kind: FaultKind::LostElement, span: of.span });
        }
        if self.current == NONE {
            let Some(left) = self.starts_left.checked_sub(1) else { return ControlFlow::Break(()) };
            self.starts_left = left;
        } else {
            self.batch.fired[rule] += 1;
            self.steps = true;
            self.moves |= moves;
        }
        let expander = &mut *self.expander;
        // A step that leads nowhere leads to a state that is stored.
        let all_steps = expander.all_steps || self.keeps;
        if !moves && self.current != NONE && !all_steps {
            return ControlFlow::Continue(());
        }
        let words = machine.words();
        if self.waits() {
            self.let_wait(rule, words);
            return ControlFlow::Continue(());
        }
        let expander = &mut *self.expander;
        let hash_of_words = hash(words);
        let recent = !all_steps
            && (expander.recent.knows(words, hash_of_words) || is_stored(self.stored, words, hash_of_words));
        let step = SuccessorStep { parent: self.current, rule: rule as u32, kept: self.keeps };
        let Some(canon) = &mut expander.canon else {
            self.suffices = self.suffices || comes_later(self.seen, words, hash_of_words);
            self.batch.push(words, hash_of_words, step, !recent);
            return ControlFlow::Continue(());
        };
        let kept = self.current != NONE && canon.keeps(rule);
        if recent && self.suffices {
            return ControlFlow::Continue(());
        }
        let Representative { moved, orbit } = match kept {
            true => Representative { moved: false, orbit: canon.orbit_kept() },
            false => canon.represent(expander.layout, machine, &mut expander.words),
        };
        let (words, hash) =
            if moved { (&*expander.words, hash(&expander.words)) } else { (words, hash_of_words) };
        self.suffices = self.suffices || comes_later(self.seen, words, hash);
        if !recent {
            self.batch.push_orbit(words, hash, step, orbit);
        }
        ControlFlow::Continue(())
    }

    fn tries(&mut self) {
        self.suffices = self.seen.is_none();
    }

    fn suffices(&mut self) -> bool {
        let suffices = std::mem::replace(&mut self.suffices, true) && !self.faulted;
        self.batch.put_off += u64::from(suffices);
        suffices
    }

    fn body_fault(&mut self, rule: usize, machine: &Machine<'_>, fault: Fault) -> ControlFlow<()> {
        self.faults(&fault.kind);
        if self.current == NONE {
            let Expander { model, program, .. } = *self.expander;
            let args = args(model, &program.starts[rule], machine);
            self.start_fault(rule, args, machine.chosen(model), fault);
        } else {
            self.fault(Problem::Body(rule, fault));
        }
        ControlFlow::Continue(())
    }

    fn guard_fault(&mut self, rule: usize, args: Vec<Value>, fault: Fault) -> ControlFlow<()> {
        self.faults(&fault.kind);
        if self.current == NONE {
            self.start_fault(rule, args, Vec::new(), fault);
        } else {
            self.fault(Problem::Guard(rule, fault));
        }
        ControlFlow::Continue(())
    }

    fn covered(&mut self, property: PropertyId) {
        if !self.batch.covered.contains(&property) {
            self.batch.covered.push(property);
        }
    }
}
